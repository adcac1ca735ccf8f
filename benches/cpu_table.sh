#!/usr/bin/env bash
# Lazuli on the host and on an OpenCL CPU beside NumPy, numexpr, numba and JAX, in one run: benches/peers/cpu_peers.py and
# benches/peers take turns, and the table gives each one's median and how many times as long the peers take.
#
#   benches/cpu_table.sh [N [ROUNDS]]        (default 16777216 elements, 3 rounds)
#
# PEERS=path/to/another/cpu_peers.py takes that script instead; it must print `workload peer median_ms min_ms`. Packages that
# this Python lacks are installed under target/peers; those that cannot be are left out of the table.
set -euo pipefail
cd "$(dirname "$0")/.."
n=${1:-16777216}
rounds=${2:-3}
target=${CARGO_TARGET_DIR:-target}
peers=${PEERS:-benches/peers/cpu_peers.py}
packages=target/peers
results=$(mktemp)
trap 'rm -f "$results"' EXIT

if ! PYTHONPATH=$packages python3 -c 'import numpy, numexpr, numba, jax' 2>/dev/null; then
  install=(python3 -m pip install --quiet --disable-pip-version-check --root-user-action=ignore --target "$packages" --upgrade)
  "${install[@]}" numpy numexpr numba jax || "${install[@]}" numpy numexpr || echo "# peers: not installed" >&2
fi
cargo build --quiet --profile bench --bench peers
binary=$(ls -t "$target"/release/deps/peers-* | grep -v '\.d$' | sed -n 1p)

# Old settings of OpenBLAS slow a current NumPy.
unset OPENBLAS_CORETYPE OPENBLAS_L2_SIZE
for round in $(seq "$rounds"); do
  echo "# round $round of $rounds: peers" >&2
  PYTHONPATH=$packages python3 "$peers" --n "$n" | tee -a "$results" >&2
  for device in host opencl:0; do
    echo "# round $round of $rounds: lazuli on $device" >&2
    "$binary" --cpu --device "$device" --n "$n" |
      sed "s/^\([a-z_0-9]* *\)$device /\1lazuli_$device /" | tee -a "$results" >&2 ||
      echo "# lazuli on $device: not run" >&2
  done
done

python3 - "$results" "$n" <<'PY'
import collections, statistics, sys

times, wrong = collections.defaultdict(list), set()
for line in open(sys.argv[1]):
    words = line.split()
    if line.startswith("#") or len(words) < 4 or words[0] == "workload":
        continue
    workload, rest = words[0], line.replace("out=", "")
    peer = words[1]
    numbers = [w for w in words[2:] if w.replace(".", "", 1).isdigit()]
    times[workload, peer].append(float(numbers[0]))
    if "WRONG" in line:
        wrong.add((workload, peer))
ours = ["lazuli_host", "lazuli_opencl:0"]
peers = [p for p in dict.fromkeys(p for _, p in times) if p not in ours]
print(f"\n{int(sys.argv[2])} elements, f32; median of the rounds' medians, in ms; ratio = peer / lazuli, above 1 where lazuli is faster")
print(f"{'workload':14s} {'lazuli on':12s} {'ms':>9s}  " + "  ".join(f"{p:>9s} {'ratio':>6s}" for p in peers))
for workload in dict.fromkeys(w for w, _ in times):
    for own in ours:
        if (workload, own) not in times:
            continue
        mine = statistics.median(times[workload, own])
        cells = []
        for p in peers:
            if (workload, p) in times:
                theirs = statistics.median(times[workload, p])
                mark = "!" if (workload, p) in wrong else " "
                cells.append(f"{theirs:9.2f}{mark}{theirs / mine:6.2f}")
            else:
                cells.append(f"{'-':>9s} {'':>6s}")
        bad = "  WRONG" if (workload, own) in wrong else ""
        print(f"{workload:14s} {own[7:]:12s} {mine:9.2f}  " + "  ".join(cells) + bad)
if wrong:
    print("! a wrong result: its time does not count")
PY
