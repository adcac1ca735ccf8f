#!/usr/bin/env python3
"""Time peer array frameworks on the reference workloads, on a CUDA GPU.

The project's reference program, copied unchanged but for this paragraph so that benches/peers.sh runs wherever the
repository is; benches/peers has the same workloads for Lazuli.

Usage: python3 peers.py [--only NAME,NAME] [--peers torch,compile,jax,cupy,fuse] [--json FILE] [--scale S]

For each workload and peer it prints one line:
    workload  peer  median_ms  min_ms  GB/s  first_call_ms
GB/s counts the floor traffic: each input read once, each output written once.
Every peer's result is compared with a float64 reference on a sample; a wrong
result prints WRONG and the line does not count.  Device events time the
region for torch and CuPy; JAX is timed on the host around block_until_ready.
Small-array workloads (`small_*`) are timed per call on the host, with the
device synchronised once after each batch of 200 calls, and with a sync after
every call (`..._sync`).
"""
import argparse
import json
import os
import statistics
import sys
import time

os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")

import numpy as np

ap = argparse.ArgumentParser()
ap.add_argument("--only", default="")
ap.add_argument("--peers", default="torch,compile,jax,cupy,fuse")
ap.add_argument("--json", default="")
ap.add_argument("--scale", type=float, default=1.0, help="multiply the element counts")
ap.add_argument("--seconds", type=float, default=0.4, help="time spent measuring each line")
args = ap.parse_args()
ONLY = [s for s in args.only.split(",") if s]
PEERS = args.peers.split(",")
ROWS = []


def n_scaled(n):
    return max(1024, int(n * args.scale))


# ---------------------------------------------------------------- workloads
# Each workload: make() -> dict of numpy inputs; f(xp, **inputs) -> output or tuple;
# ref(inputs) -> (index, float64 sample) used to check; bytes = floor traffic.
# f is written once against the names NumPy, CuPy, torch and jax.numpy share.

rng = np.random.default_rng(7)


def f32(*shape, lo=0.1, hi=1.0):
    out = rng.random(shape, dtype=np.float32)
    out *= hi - lo
    out += lo
    return out


class W:
    def __init__(self, name, make, f, small=False, flops=0, tol=2e-4, peers=None, fuse_ok=True, check=True):
        self.name, self.make, self.f, self.small, self.flops = name, make, f, small, flops
        self.tol, self.peers, self.fuse_ok, self.check = tol, peers, fuse_ok, check


def erf_of(xp):
    if xp is np:
        import scipy.special
        return scipy.special.erf
    if xp.__name__ == "torch":
        return xp.special.erf
    if xp.__name__ == "cupy":
        import cupyx.scipy.special
        return cupyx.scipy.special.erf
    import jax
    return jax.scipy.special.erf


def kd(xp):
    return {"keepdim": True} if xp.__name__ == "torch" else {"keepdims": True}


def amax(xp, x, axis, **k):
    return xp.amax(x, axis, **k) if xp.__name__ == "torch" else xp.max(x, axis=axis, **k)


def rsum(xp, x, axis=None, **k):
    if axis is None:
        return xp.sum(x)
    return xp.sum(x, axis, **k) if xp.__name__ == "torch" else xp.sum(x, axis=axis, **k)


def rmean(xp, x, axis, **k):
    return xp.mean(x, axis, **k) if xp.__name__ == "torch" else xp.mean(x, axis=axis, **k)


def triad(xp, a, b, c):
    return a * b + c


def chain10(xp, a, b):
    x = a * 2.0 + b
    x = x * a - b * 0.5
    x = x * x + a
    x = xp.sqrt(xp.abs(x) + 1.0)
    return x * b - a


def transcend(xp, a, b, c):
    return xp.sqrt(a * a + b * b) * xp.exp(-c) + 0.5 * xp.sin(a)


def black_scholes(xp, s, k, t, r, v):
    erf = erf_of(xp)
    sq = v * xp.sqrt(t)
    d1 = (xp.log(s / k) + (r + 0.5 * v * v) * t) / sq
    d2 = d1 - sq
    nd1 = 0.5 * (1.0 + erf(d1 * 0.7071067811865476))
    nd2 = 0.5 * (1.0 + erf(d2 * 0.7071067811865476))
    disc = k * xp.exp(-r * t)
    call = s * nd1 - disc * nd2
    return call, call - s + disc


def sum_sq_diff(xp, a, b):
    d = a - b
    return rsum(xp, d * d)


def softmax(xp, x):
    m = amax(xp, x, -1, **kd(xp))
    e = xp.exp(x - m)
    return e / rsum(xp, e, -1, **kd(xp))


def layernorm(xp, x, g, b):
    mu = rmean(xp, x, -1, **kd(xp))
    d = x - mu
    var = rmean(xp, d * d, -1, **kd(xp))
    return d / xp.sqrt(var + 1e-5) * g + b


def col_sum(xp, a, b):
    return rsum(xp, a * b, 0)


def mean_var(xp, x):
    mu = rmean(xp, x, -1, **kd(xp))
    d = x - mu
    return mu[:, 0], rmean(xp, d * d, -1)


def pairwise(xp, a, b):
    d = a[:, None] - b[None, :]
    return rsum(xp, xp.exp(-(d * d)), 1)


def stencil(xp, u):
    return 0.25 * (u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]) - u[1:-1, 1:-1]


def add_transposed(xp, a, b):
    return a + 2.0 * b.T


def gather_scale(xp, a, i, w):
    return a[i] * w


def cumsum(xp, a):
    return xp.cumsum(a, 0)


def sort(xp, a):
    return xp.sort(a)[0] if xp.__name__ == "torch" else xp.sort(a)


def matmul_gelu(xp, a, b, bias):
    y = a @ b + bias
    return 0.5 * y * (1.0 + erf_of(xp)(y * 0.7071067811865476))


N28, N26 = n_scaled(1 << 28), n_scaled(1 << 26)
WORKLOADS = [
    W("triad", lambda: dict(a=f32(N28), b=f32(N28), c=f32(N28)), triad),
    W("chain10", lambda: dict(a=f32(N28), b=f32(N28)), chain10),
    W("transcend", lambda: dict(a=f32(N28), b=f32(N28), c=f32(N28)), transcend),
    W("black_scholes", lambda: dict(s=f32(N26, lo=10, hi=100), k=f32(N26, lo=10, hi=100), t=f32(N26, lo=0.1, hi=2),
                                    r=f32(N26, lo=0.01, hi=0.05), v=f32(N26, lo=0.1, hi=0.5)), black_scholes, tol=2e-3),
    W("sum_sq_diff", lambda: dict(a=f32(N28), b=f32(N28)), sum_sq_diff, tol=1e-3),
    W("softmax_4096", lambda: dict(x=f32(n_scaled(1 << 14), 4096, lo=-4, hi=4)), softmax),
    W("softmax_128", lambda: dict(x=f32(n_scaled(1 << 19), 128, lo=-4, hi=4)), softmax),
    W("softmax_1M", lambda: dict(x=f32(64, n_scaled(1 << 20), lo=-4, hi=4)), softmax),
    W("layernorm_4096", lambda: dict(x=f32(n_scaled(1 << 14), 4096), g=f32(4096), b=f32(4096)), layernorm, tol=1e-3),
    W("col_sum", lambda: dict(a=f32(n_scaled(1 << 15), 4096), b=f32(n_scaled(1 << 15), 4096)), col_sum, tol=1e-3),
    W("mean_var", lambda: dict(x=f32(n_scaled(1 << 15), 4096)), mean_var, tol=1e-3),
    W("pairwise_rbf", lambda: dict(a=f32(n_scaled(1 << 15)), b=f32(n_scaled(1 << 15))), pairwise, tol=1e-3, fuse_ok=False,
      peers=("torch", "compile", "cupy")),  # XLA compiles this one for minutes
    W("stencil5", lambda: dict(u=f32(n_scaled(1 << 14), 1 << 14)), stencil, tol=1e-3),
    W("add_transposed", lambda: dict(a=f32(1 << 14, 1 << 14), b=f32(1 << 14, 1 << 14)), add_transposed),
    W("gather_scale", lambda: dict(a=f32(N26), i=rng.integers(0, N26, N26), w=f32(N26)), gather_scale, fuse_ok=False),
    W("cumsum", lambda: dict(a=f32(N26, lo=-1, hi=1)), cumsum, tol=5e-2, fuse_ok=False),
    W("sort", lambda: dict(a=f32(N26)), sort, fuse_ok=False),
    W("matmul_gelu_f32", lambda: dict(a=f32(4096, 4096, lo=-1, hi=1), b=f32(4096, 4096, lo=-1, hi=1), bias=f32(4096)),
      matmul_gelu, flops=2 * 4096**3, tol=1e-2, fuse_ok=False),
    W("small_chain10", lambda: dict(a=f32(1000), b=f32(1000)), chain10, small=True),
    W("small_softmax", lambda: dict(x=f32(32, 128)), softmax, small=True),
]


def floor_bytes(inputs, outs):
    return sum(v.nbytes for v in inputs.values()) + sum(o.nbytes for o in outs)


def sample_check(w, inputs, outs):
    """Compare a sample of each output with NumPy in float64."""
    if not w.check:
        return True
    small = {}
    total = sum(v.nbytes for v in inputs.values())
    if total > (1 << 28) and w.name in ("triad", "chain10", "transcend", "black_scholes", "gather_scale"):
        k = 4096
        if w.name == "gather_scale":
            ref = inputs["a"][inputs["i"][:k]].astype(np.float64) * inputs["w"][:k]
            refs = [ref]
        else:
            small = {n: v[:k].astype(np.float64) for n, v in inputs.items()}
            refs = w.f(np, **small)
        outs = [o[:k] for o in outs]
    elif w.name.startswith("softmax") or w.name.startswith("layernorm") or w.name == "mean_var":
        small = {n: (v[:4] if v.ndim == 2 else v).astype(np.float64) for n, v in inputs.items()}
        refs = w.f(np, **small)
        outs = [o[:4] for o in outs]
    elif w.name == "col_sum":
        small = {n: v[:, :8].astype(np.float64) for n, v in inputs.items()}
        refs = w.f(np, **small)
        outs = [o[:8] for o in outs]
    elif w.name == "pairwise_rbf":
        refs = w.f(np, a=inputs["a"][:4].astype(np.float64), b=inputs["b"].astype(np.float64))
        outs = [o[:4] for o in outs]
    elif w.name == "stencil5":
        refs = w.f(np, u=inputs["u"][:16].astype(np.float64))
        outs = [o[:14] for o in outs]
    elif w.name == "add_transposed":
        refs = inputs["a"][:4].astype(np.float64) + 2.0 * inputs["b"][:, :4].T.astype(np.float64)
        outs = [o[:4] for o in outs]
    elif w.name == "matmul_gelu_f32":
        refs = w.f(np, a=inputs["a"][:4].astype(np.float64), b=inputs["b"].astype(np.float64), bias=inputs["bias"].astype(np.float64))
        outs = [o[:4] for o in outs]
    elif w.name == "sort":
        return bool(np.array_equal(np.asarray(outs[0]), np.sort(inputs["a"])))
    else:
        refs = w.f(np, **{n: v.astype(np.float64) for n, v in inputs.items()})
    if not isinstance(refs, (tuple, list)):
        refs = [refs]
    for o, r in zip(outs, refs):
        o, r = np.asarray(o, dtype=np.float64), np.asarray(r)
        err = np.linalg.norm((o - r).ravel()) / max(np.linalg.norm(r.ravel()), 1e-30)
        if not err < w.tol:
            print(f"    error {err:.3g} over {w.tol}", file=sys.stderr)
            return False
    return True


# ------------------------------------------------------------------- peers
def peer_torch(compiled):
    import torch
    torch.backends.cuda.matmul.allow_tf32 = False

    def run(w, inputs):
        dev = {n: torch.from_numpy(v).cuda() for n, v in inputs.items()}
        fn = lambda **k: w.f(torch, **k)
        if compiled:
            torch._dynamo.reset()
            fn = torch.compile(fn, dynamic=False, mode=os.environ.get("TORCH_MODE") or None)

        def events(k):
            s, e = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            s.record()
            for _ in range(k):
                fn(**dev)
            e.record()
            torch.cuda.synchronize()
            return s.elapsed_time(e) / k

        return fn, dev, torch.cuda.synchronize, events, lambda o: o.cpu().numpy()

    return run


def peer_cupy(fused):
    import cupy as cp

    def run(w, inputs):
        if fused and not w.fuse_ok:
            raise RuntimeError("not expressible with cupy.fuse")
        dev = {n: cp.asarray(v) for n, v in inputs.items()}
        fn = lambda **k: w.f(cp, **k)
        if fused:
            names = list(dev)
            g = cp.fuse(kernel_name=w.name)(lambda *a: w.f(cp, *a))
            fn = lambda **k: g(*[k[n] for n in names])
        sync = cp.cuda.Device().synchronize

        def events(k):
            s, e = cp.cuda.Event(), cp.cuda.Event()
            s.record()
            for _ in range(k):
                fn(**dev)
            e.record()
            e.synchronize()
            return cp.cuda.get_elapsed_time(s, e) / k

        return fn, dev, sync, events, cp.asnumpy

    return run


def peer_jax():
    import jax
    import jax.numpy as jnp
    jax.config.update("jax_default_matmul_precision", "highest")

    def run(w, inputs):
        dev = {n: jax.device_put(v) for n, v in inputs.items()}
        fn = jax.jit(lambda **k: w.f(jnp, **k))

        def timed(k):
            t = time.perf_counter()
            for _ in range(k):
                r = fn(**dev)
            jax.block_until_ready(r)
            return (time.perf_counter() - t) * 1e3 / k

        last = {}

        def call(**k):
            last["r"] = fn(**k)
            return last["r"]

        return call, dev, lambda: jax.block_until_ready(last.get("r", 0)), timed, np.asarray

    return run


def measure(w, peer, runner, inputs):
    fn, dev, sync, events, to_np = runner(w, inputs)
    sync()
    t = time.perf_counter()
    out = fn(**dev)
    sync()
    first = (time.perf_counter() - t) * 1e3
    outs = [to_np(o) for o in (out if isinstance(out, (tuple, list)) else [out])]
    ok = sample_check(w, inputs, outs)
    nbytes = floor_bytes(inputs, outs)
    del out
    for _ in range(3):
        fn(**dev)
    sync()
    rows = []
    if w.small:
        def batch(k, each):
            t = time.perf_counter()
            for _ in range(k):
                fn(**dev)
                if each:
                    sync()
            sync()
            return (time.perf_counter() - t) * 1e3 / k
        for suffix, each in (("", False), ("_sync", True)):
            batch(50, each)
            s = [batch(200, each) for _ in range(9)]
            rows.append((w.name + suffix, peer, statistics.median(s), min(s), 0.0, first, ok))
    else:
        one = max(events(2), 1e-3)
        k = max(1, int(args.seconds * 1e3 / 7 / one))
        s = [events(k) for _ in range(7)]
        med = statistics.median(s)
        rows.append((w.name, peer, med, min(s), nbytes / med / 1e6, first, ok))
    return rows


def main():
    runners = {}
    for p in PEERS:
        try:
            runners[p] = {"torch": lambda: peer_torch(False), "compile": lambda: peer_torch(True),
                          "jax": peer_jax, "cupy": lambda: peer_cupy(False), "fuse": lambda: peer_cupy(True)}[p]()
        except Exception as e:  # a peer that is not installed is reported, not fatal
            print(f"# {p}: not available: {type(e).__name__}: {e}")
    print(f"{'workload':18s} {'peer':8s} {'median_ms':>10s} {'min_ms':>10s} {'GB/s':>8s} {'first_ms':>9s}")
    for w in WORKLOADS:
        if ONLY and w.name not in ONLY:
            continue
        inputs = w.make()
        for p, runner in runners.items():
            if w.peers and p not in w.peers:
                continue
            try:
                rows = measure(w, p, runner, inputs)
            except Exception as e:
                print(f"{w.name:18s} {p:8s} not run: {type(e).__name__}: {str(e).splitlines()[0][:90] if str(e) else ''}", flush=True)
                continue
            for (name, peer, med, mn, gbs, first, ok) in rows:
                flag = "" if ok else "  WRONG"
                print(f"{name:18s} {peer:8s} {med:10.4f} {mn:10.4f} {gbs:8.0f} {first:9.0f}{flag}", flush=True)
                ROWS.append(dict(workload=name, peer=peer, median_ms=med, min_ms=mn, gbs=gbs, first_ms=first, ok=ok))
            try:
                import cupy
                cupy.get_default_memory_pool().free_all_blocks()
            except Exception:
                pass
            try:
                import torch
                torch.cuda.empty_cache()
            except Exception:
                pass
        del inputs
    if args.json:
        json.dump(ROWS, open(args.json, "w"), indent=1)


if __name__ == "__main__":
    main()
