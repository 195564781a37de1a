#!/usr/bin/env python3
"""A decode step of Llama-3-8B on the GPU that is here: PyTorch as a good engineer writes it, and ours, one after the other.

Everything in bf16, random weights, a cache of CTX tokens of which the last is the step's, n sequences; times are medians of 20 replays
of a CUDA graph that holds the whole step.  Modes: eager; compile (torch.compile, static cache); autotune (max-autotune); ours
(`mirage model run --gpu --time`, its pieces from --pieces, as `mirage model search -o DIR` keeps them).  Beside them the time in which a
load-only kernel (floor.cu) would read the same bytes, weights and cache, by its rate at 2 GiB.
  tests/bench/models.py [--n 1,8] [--ctx 1024] [--modes eager,compile,autotune,ours] [--pieces DIR] [--mirage build/mirage]
                        [--floor build/floor] [--limit S] [--out FILE.json]
Prints a table; FILE.json has it too.  --limit: a mode that would begin after so many seconds is left out, and named."""
import argparse
import json
import os
import re
import subprocess
import sys
import time

LAYERS, HIDDEN, HEADS, GROUPS, HEAD, MIDDLE, WORDS = 32, 4096, 32, 8, 128, 14336, 128256
BASE = 500000


def weights(torch):
    def r(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.02
    one = torch.ones(HIDDEN, device="cuda", dtype=torch.bfloat16)
    layers = [(one.clone(), r((HEADS + 2 * GROUPS) * HEAD, HIDDEN), r(HIDDEN, HEADS * HEAD), one.clone(), r(2 * MIDDLE, HIDDEN),
               r(HIDDEN, MIDDLE)) for _ in range(LAYERS)]
    return layers, one.clone(), r(WORDS, HIDDEN), r(WORDS, HIDDEN)


def step_of(torch, model):
    """One step: tokens, tables and position in, the next tokens out; the cache is written in place."""
    f = torch.nn.functional
    layers, last, head, embedding = model

    def turned(x, c, s):
        a, b = x.chunk(2, -1)
        return torch.cat((a * c - b * s, b * c + a * s), -1)

    def step(tokens, c, s, at, keys, values):
        x = f.embedding(tokens, embedding)
        n = x.shape[0]
        for l, (g1, qkv, out, g2, up, down) in enumerate(layers):
            h = f.linear(f.rms_norm(x, (HIDDEN,), g1, 1e-5), qkv)
            q, k, v = h.split((HEADS * HEAD, GROUPS * HEAD, GROUPS * HEAD), -1)
            q = turned(q.view(n, HEADS, 1, HEAD), c, s)
            keys[l].index_copy_(2, at, turned(k.view(n, GROUPS, 1, HEAD), c, s))
            values[l].index_copy_(2, at, v.view(n, GROUPS, 1, HEAD))
            y = f.scaled_dot_product_attention(q, keys[l], values[l], enable_gqa=True)
            x = x + f.linear(y.view(n, HEADS * HEAD), out)
            gate, wide = f.linear(f.rms_norm(x, (HIDDEN,), g2, 1e-5), up).chunk(2, -1)
            x = x + f.linear(f.silu(gate) * wide, down)
        return f.linear(f.rms_norm(x, (HIDDEN,), last, 1e-5), head).argmax(-1)

    return step


def peer(torch, step, mode, n, ctx, reps=20):
    """Median microseconds of a step, and the seconds until the first graph was there."""
    def r(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.02
    keys = [r(n, GROUPS, ctx, HEAD) for _ in range(LAYERS)]
    values = [r(n, GROUPS, ctx, HEAD) for _ in range(LAYERS)]
    tokens = torch.zeros(n, dtype=torch.long, device="cuda")
    at = torch.tensor([ctx - 1], device="cuda")
    angle = (ctx - 1) * BASE ** (-2 * torch.arange(HEAD // 2, device="cuda") / HEAD)
    c, s = angle.cos().bfloat16()[None], angle.sin().bfloat16()[None]
    began = time.time()
    f = step if mode == "eager" else torch.compile(step, mode=None if mode == "compile" else "max-autotune-no-cudagraphs")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream), torch.no_grad():
        for _ in range(3):
            f(tokens, c, s, at, keys, values)
        stream.synchronize()
        prepared = time.time() - began
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream):
            f(tokens, c, s, at, keys, values)
        for _ in range(3):
            graph.replay()
        e = [torch.cuda.Event(enable_timing=True) for _ in range(reps + 1)]
        e[0].record(stream)
        for k in range(reps):
            graph.replay()
            e[k + 1].record(stream)
        stream.synchronize()
    return 1000 * sorted(e[k].elapsed_time(e[k + 1]) for k in range(reps))[reps // 2], prepared


def ours(a, n):
    began = time.time()
    r = subprocess.run([a.mirage, "model", "run", a.model, "--gpu", "--random", "1", "--sym", f"n={n}", "--sym", f"p={a.ctx - 7}",
                        "--steps", "8", "--time", *(["-o", a.pieces] if a.pieces else [])], capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(r.stderr.strip()[:300] or r.stdout[-300:])
    m = re.search(r"time: ([0-9.]+) us a step.*?; ([0-9.]+) us by the model.*?the host takes ([0-9.]+) us", r.stdout)
    b = re.search(r"read: ([0-9]+) bytes", r.stdout)
    made = [line for line in r.stdout.splitlines() if re.match(r"model |a step:|bytes:|piece |others:", line)]
    return {"us": float(m.group(1)), "predicted_us": float(m.group(2)), "host_us": float(m.group(3)), "bytes": int(b.group(1)),
            "prepare_s": round(time.time() - began, 1), "what": made}


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--n", default="1,8")
    p.add_argument("--ctx", type=int, default=1024)
    p.add_argument("--modes", default="eager,compile,autotune,ours")
    p.add_argument("--model", default="examples/models/llama3_8b.mgm")
    p.add_argument("--pieces")
    p.add_argument("--mirage", default="build/mirage")
    p.add_argument("--floor", default="build/floor")
    p.add_argument("--limit", type=float, default=1e9)
    p.add_argument("--out", default="build/models.json")
    a = p.parse_args()
    began, rows, sizes = time.time(), [], [int(n) for n in a.n.split(",")]
    rate = None
    if os.path.exists(a.floor):
        r = subprocess.run([a.floor, str(1 << 31)], capture_output=True, text=True)
        if not r.returncode:
            rate = (1 << 31) / next(iter(json.loads(r.stdout).values()))[1]  # bytes a microsecond, cold

    def left_out(mode, n):
        if time.time() - began < a.limit:
            return False
        rows.append({"mode": mode, "n": n, "error": "left out: out of time"})
        return True

    result = {"date": time.strftime("%Y-%m-%d"), "command": " ".join(sys.argv), "ctx": a.ctx, "rows": rows,
              "read_TBps": rate and round(rate / 1e6, 3)}

    def kept():
        with open(a.out, "w") as f:
            json.dump(result, f, indent=1)

    def add(row):
        rows.append(row)
        print(json.dumps({k: v for k, v in row.items() if k != "what"}), file=sys.stderr, flush=True)
        kept()

    if "ours" in a.modes.split(","):  # in a process of its own, before PyTorch holds memory
        for n in sizes:
            if left_out("ours", n):
                continue
            try:
                add({"mode": "ours", "n": n, **ours(a, n)})
            except (RuntimeError, AttributeError) as x:
                add({"mode": "ours", "n": n, "error": str(x)[:300]})
    import torch
    gpu = torch.cuda.get_device_name(0)
    modes = [m for m in a.modes.split(",") if m != "ours"]
    model = weights(torch) if modes else None
    for mode in modes:
        for n in sizes:
            if left_out(mode, n):
                continue
            try:
                us, prepared = peer(torch, step_of(torch, model), mode, n, a.ctx)
                add({"mode": mode, "n": n, "us": us, "prepare_s": round(prepared, 1)})
            except Exception as x:  # a peer that fails is a row that says so
                add({"mode": mode, "n": n, "error": str(x)[:300]})
            torch._dynamo.reset()
            torch.cuda.empty_cache()
    per_layer = HIDDEN * (HEADS + 2 * GROUPS) * HEAD + HEADS * HEAD * HIDDEN + 3 * HIDDEN * MIDDLE + 2 * HIDDEN
    result.update(gpu=gpu, torch=torch.__version__)
    kept()
    print(f"# date: {result['date']}\n# gpu: {gpu}; torch {torch.__version__}\n# command: {result['command']}")
    print(f"# a decode step of Llama-3-8B, {a.ctx} tokens in the cache, us; load-only: its bytes at "
          f"{rate / 1e6:.3f} TB/s" if rate else "# load-only: not measured")
    print(f"{'n':>3} {'mode':>10} {'us':>9} {'/ load-only':>12} {'/ best peer':>12}  prepared, s")
    for n in sizes:
        bytes_ = 2 * (LAYERS * per_layer + HIDDEN + WORDS * HIDDEN + n * HIDDEN) + 4 * LAYERS * n * GROUPS * a.ctx * HEAD
        best = min([r["us"] for r in rows if r["n"] == n and r["mode"] != "ours" and "us" in r], default=None)
        if rate:
            print(f"{n:>3} {'load-only':>10} {bytes_ / rate:>9.1f} {1:>12.3f} {bytes_ / rate / best if best else 0:>12.3f}")
        for r in (r for r in rows if r["n"] == n):
            if "us" not in r:
                print(f"{n:>3} {r['mode']:>10} {r['error']}")
                continue
            print(f"{n:>3} {r['mode']:>10} {r['us']:>9.1f} {r['us'] * rate / bytes_ if rate else 0:>12.3f} "
                  f"{r['us'] / best if best else 0:>12.3f}  {r['prepare_s']}")


if __name__ == "__main__":
    main()
