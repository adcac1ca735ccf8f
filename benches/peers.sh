#!/usr/bin/env bash
# Lazuli beside torch.compile, JAX and CuPy on one GPU, in one run: benches/peers and benches/peers/peers.py take turns over
# two halves of the workloads, and one table gives the medians and how many times as long the best peer takes.
#
#   benches/peers.sh [WORKLOAD,WORKLOAD...]          (default: all; about five minutes on an H200)
#
# PEERS_BENCH=path/to/binary   takes a built bench: the GPU machine may have no Rust. Else cargo builds it.
# PEERS_KINDS=compile,jax,fuse the peers to run (torch and cupy, which fuse nothing, are known too)
# PEERS_DEVICES=cuda:0,opencl:0, PEERS_SECONDS=0.2 (for each line), PEERS_SCALE=1, PEERS_JSON=folder (to keep the figures in)
# PEERS=path/to/another/peers.py takes that script instead.
set -euo pipefail
binary=${PEERS_BENCH:+$(realpath "$PEERS_BENCH")}
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
peers=${PEERS:-benches/peers/peers.py}
kinds=${PEERS_KINDS:-compile,jax,fuse}
IFS=, read -ra devices <<<"${PEERS_DEVICES:-cuda:0,opencl:0}"
settings=(--seconds "${PEERS_SECONDS:-0.2}" --scale "${PEERS_SCALE:-1}")

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
results=${PEERS_JSON:-$scratch/results}
mkdir -p "$results"
rm -f "$results"/{peers,lazuli}-*.json

if [ -z "$binary" ]; then
  cargo build --quiet --profile bench --bench peers
  binary=$(ls -t "$target"/release/deps/peers-* | grep -v '\.d$' | sed -n 1p)
fi

# A machine with NVIDIA's OpenCL may not have it registered.
if [ -z "${OCL_ICD_VENDORS:-}" ] && ! ls /etc/OpenCL/vendors/*nvidia* >/dev/null 2>&1 && command -v nvidia-smi >/dev/null; then
  mkdir "$scratch/vendors"
  echo libnvidia-opencl.so.1 >"$scratch/vendors/nvidia.icd"
  export OCL_ICD_VENDORS="$scratch/vendors"
fi
# First calls compile: nobody finds what an earlier run left. (Lazuli's bench sees to its own.)
export CUPY_CACHE_DIR="$scratch/cupy" TORCHINDUCTOR_CACHE_DIR="$scratch/inductor" TRITON_CACHE_DIR="$scratch/triton"
export CUDA_CACHE_DISABLE=1

halves=(
  triad,chain10,transcend,black_scholes,sum_sq_diff,softmax_4096,softmax_128,softmax_1M,first_chain10
  layernorm_4096,col_sum,mean_var,pairwise_rbf,stencil5,add_transposed,gather_scale,small_chain10,small_softmax
)
[ $# -eq 0 ] || halves=("$1")
known=$("$binary" --workloads)
started=$SECONDS
for half in "${!halves[@]}"; do
  only=${halves[$half]}
  ours=$(tr , '\n' <<<"$only" | grep -xF "$known" | paste -sd,) || true
  for device in "${devices[@]}"; do
    if [ -n "$ours" ]; then
      "$binary" --device "$device" "${settings[@]}" --only "$ours" --json "$results/lazuli-$device-$half.json" >&2 ||
        echo "# lazuli on $device: not all of it ran, or was right" >&2
    fi
  done
  python3 "$peers" --peers "$kinds" "${settings[@]}" --only "$only" --json "$results/peers-$half.json" >&2 ||
    echo "# peers: not run" >&2
done
echo "# $((SECONDS - started)) s" >&2

python3 - "$results" "${devices[@]}" <<'PY'
import glob, json, os, sys

results, devices = sys.argv[1], sys.argv[2:]
rows = {}
for path in sorted(glob.glob(os.path.join(results, "*.json"))):
    for row in json.load(open(path)):
        rows.setdefault(row["workload"], {})[row["peer"]] = row
# What a peer's first call takes is a column of its chain10.
for kind in ("cold", "warm"):
    first = rows.get(f"first_chain10_{kind}")
    if first is not None:
        for peer, row in rows.get("chain10", {}).items():
            if peer not in devices:
                first[peer] = dict(row, median_ms=row["first_ms"])

def text(row, width):
    return f"{'-':>{width}s}" if row is None else f"{row['median_ms']:{width}.4f}" + ("" if row["ok"] else "!")

print("\nmedian ms; ratio = best peer / lazuli on the first device, above 1 where lazuli is faster; kernels are lazuli's")
print(f"{'workload':20s} " + " ".join(f"{d:>10s}" for d in devices) + f" {'best peer':>18s} {'ratio':>7s} {'kernels':>7s}")
for workload, by_peer in rows.items():
    own = [by_peer.get(device) for device in devices]
    others = [(row["median_ms"], name) for name, row in by_peer.items() if name not in devices and row["ok"]]
    best = min(others) if others else None
    peer = f"{best[0]:10.4f} {best[1]:>7s}" if best else f"{'-':>18s}"
    ratio = f"{best[0] / own[0]['median_ms']:7.2f}" if best and own[0] else f"{'-':>7s}"
    kernels = next((row["kernels"] for row in own if row), "-")
    print(f"{workload:20s} " + " ".join(text(row, 10) for row in own) + f" {peer} {ratio} {kernels:>7}")
print("first_chain10: the peers' first call with empty caches, in a process that has compiled triad before (which helps them)")
if any(not row["ok"] for by_peer in rows.values() for row in by_peer.values()):
    print("! a wrong result: its time does not count")
PY
