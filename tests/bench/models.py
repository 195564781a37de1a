#!/usr/bin/env python3
"""A step of a whole model on the GPU that is here: PyTorch as a good engineer writes it, and ours, one after the other.

MODEL is one of examples/models: a decode step of n sequences with CTX tokens in the cache, of which the last is the
step's; a prefill of CTX tokens each (.._prefill); or BERT's one pass over CTX tokens each.  Everything in bf16, weights at
random; times are medians of 20 replays of a CUDA graph that holds the whole step.  Modes: eager; compile (torch.compile,
static cache); autotune (max-autotune); ours (`mirage model run --gpu --time`, its pieces from --pieces, as `mirage model
search -o DIR` keeps them for all sizes; {n} in DIR is n).  Beside a decode step the time in which a load-only kernel
(floor.cu) would read the same bytes, weights and cache, by its rate at 2 GiB.
  tests/bench/models.py [--model examples/models/MODEL.mgm] [--n 1,8] [--ctx 1024]
                        [--modes eager,compile,autotune,ours] [--pieces DIR]
                        [--mirage build/mirage] [--floor build/floor] [--limit S] [--out FILE.json]
Prints a table; FILE.json has it too.  --limit: a mode that would begin after so many seconds is left out, and named."""
import argparse
import json
import os
import re
import subprocess
import sys
import time

LLAMA = {"layers": 32, "hidden": 4096, "heads": 32, "groups": 8, "head": 128, "middle": 14336, "words": 128256,
         "base": 500000, "eps": 1e-5}
MODELS = {
    "llama3_8b": LLAMA,
    "llama3_8b_lora": {**LLAMA, "rank": 16},
    "qwen3_8b": {**LLAMA, "layers": 36, "middle": 12288, "words": 151936, "base": 1000000, "eps": 1e-6, "heads_norm": "rms"},
    "chameleon_7b": {**LLAMA, "groups": 32, "middle": 11008, "words": 65536, "base": 10000, "heads_norm": "layer"},
    "ngpt_1b": {"layers": 36, "hidden": 1280, "heads": 20, "groups": 20, "head": 64, "middle": 5120, "words": 32000, "base": 10000},
    "bert_large": {"layers": 24, "hidden": 1024, "heads": 16, "groups": 16, "head": 64, "middle": 4096, "words": 30522},
}


class Decoder:
    """Llama and its like: norms before, a rotary embedding, a gated MLP."""

    def __init__(self, torch, shape, random):
        self.torch, self.s = torch, shape
        hidden, heads, groups, head, middle = (shape[k] for k in ("hidden", "heads", "groups", "head", "middle"))
        one = torch.ones(hidden, device="cuda", dtype=torch.bfloat16)
        self.layers = [{"g1": one.clone(), "qkv": random((heads + 2 * groups) * head, hidden), "out": random(hidden, heads * head),
                        "g2": one.clone(), "up": random(2 * middle, hidden), "down": random(hidden, middle)}
                       for _ in range(shape["layers"])]
        for layer in self.layers:
            if "rank" in shape:
                layer.update(aq=random(shape["rank"], hidden), bq=random(heads * head, shape["rank"]),
                             av=random(shape["rank"], hidden), bv=random(groups * head, shape["rank"]))
            if shape.get("heads_norm") == "rms":
                layer.update(gq=random(head), gk=random(head))
            if shape.get("heads_norm") == "layer":
                layer.update(gq=random(heads, head), oq=random(heads, head), gk=random(groups, head), ok=random(groups, head))
        self.last, self.head, self.embedding = one.clone(), random(shape["words"], hidden), random(shape["words"], hidden)

    def heads(self, x, layer, which):
        f, s = self.torch.nn.functional, self.s
        if s.get("heads_norm") == "rms":
            return f.rms_norm(x, (s["head"],), layer["g" + which], s["eps"])
        if s.get("heads_norm") == "layer":
            return f.layer_norm(x, (s["head"],), eps=1e-5) * layer["g" + which] + layer["o" + which]
        return x

    def attention(self, q, k, v, layer, c, s, at, keys, values):
        """q, k, v: [n, m, heads, head]; the cache is written in place."""
        n, m, heads, head = q.shape
        turn = lambda x: turned(self.torch, x.transpose(1, 2), c, s)
        q = turn(self.heads(q, layer, "q"))
        keys.index_copy_(2, at, turn(self.heads(k, layer, "k")))
        values.index_copy_(2, at, v.transpose(1, 2))
        y = self.torch.nn.functional.scaled_dot_product_attention(q, keys, values, is_causal=m > 1, enable_gqa=heads > k.shape[2])
        return y.transpose(1, 2).reshape(n * m, heads * head)

    def step(self, tokens, c, s, at, keys, values):
        f, S = self.torch.nn.functional, self.s
        n, m = tokens.shape
        heads, groups, head = S["heads"], S["groups"], S["head"]
        x = f.embedding(tokens, self.embedding).view(n * m, S["hidden"])
        norm = lambda y, gain: f.rms_norm(y, (S["hidden"],), gain, S["eps"])
        for l, layer in enumerate(self.layers):
            h = norm(x, layer["g1"])
            q, k, v = f.linear(h, layer["qkv"]).split((heads * head, groups * head, groups * head), -1)
            if "rank" in S:
                q = q + 2 * f.linear(f.linear(h, layer["aq"]), layer["bq"])
                v = v + 2 * f.linear(f.linear(h, layer["av"]), layer["bv"])
            y = self.attention(q.view(n, m, heads, head), k.view(n, m, groups, head), v.view(n, m, groups, head), layer, c, s, at,
                               keys[l], values[l])
            x = x + f.linear(y, layer["out"])
            gate, up = f.linear(norm(x, layer["g2"]), layer["up"]).chunk(2, -1)
            x = x + f.linear(f.silu(gate) * up, layer["down"])
        x = x.view(n, m, S["hidden"])[:, -1]
        return f.linear(norm(x, self.last), self.head).argmax(-1)


class NGPT(Decoder):
    """Unit vectors in place of norms; a block moves the state towards its own result."""

    def __init__(self, torch, shape, random):
        self.torch, self.s = torch, shape
        hidden, middle = shape["hidden"], shape["middle"]
        self.layers = [{"qkv": random(3 * hidden, hidden), "out": random(hidden, hidden), "up": random(2 * middle, hidden),
                        "down": random(hidden, middle), "sqk": random(shape["heads"], 1, shape["head"]), "suv": random(2 * middle),
                        "aa": random(hidden), "am": random(hidden)} for _ in range(shape["layers"])]
        self.head, self.embedding, self.sz = random(shape["words"], hidden), random(shape["words"], hidden), random(shape["words"])

    def step(self, tokens, c, s, at, keys, values):
        f, S = self.torch.nn.functional, self.s
        n, m = tokens.shape
        hidden, heads, head, root = S["hidden"], S["heads"], S["head"], S["hidden"] ** 0.5
        unit = lambda y: y / y.norm(p=2, dim=-1, keepdim=True)

        def towards(a, b, alpha):
            a = unit(a)
            return unit(a + (alpha * (0.05 * root)).abs() * (unit(b) - a))

        x = f.embedding(tokens, self.embedding).view(n * m, hidden)
        for l, w in enumerate(self.layers):
            q, k, v = (y.view(n, m, heads, head).transpose(1, 2) for y in f.linear(x, w["qkv"]).chunk(3, -1))
            scale = w["sqk"] * root
            keys[l].index_copy_(2, at, unit(turned(self.torch, k, c, s)) * scale)
            values[l].index_copy_(2, at, v)
            y = f.scaled_dot_product_attention(unit(turned(self.torch, q, c, s)) * scale, keys[l], values[l], is_causal=m > 1,
                                               scale=head ** 0.5)
            x = towards(x, f.linear(y.transpose(1, 2).reshape(n * m, hidden), w["out"]), w["aa"])
            u, gate = (f.linear(x, w["up"]) * (w["suv"] * root)).chunk(2, -1)
            x = towards(x, f.linear(u * f.silu(gate), w["down"]), w["am"])
        x = x.view(n, m, hidden)[:, -1]
        return (f.linear(x, self.head) * (self.sz * root)).argmax(-1)


class BERT:
    """Norms behind the sums, no cache: one pass over all tokens."""

    def __init__(self, torch, shape, random):
        self.torch, self.s = torch, shape
        hidden, middle = shape["hidden"], shape["middle"]
        names = {"qkv": (3 * hidden, hidden), "out": (hidden, hidden), "up": (middle, hidden), "down": (hidden, middle)}
        self.layers = [{k: t for name, at in names.items() for k, t in ((name, random(*at)), ("b" + name, random(at[0])))} |
                       {k: random(hidden) for k in ("g1", "o1", "g2", "o2")} for _ in range(shape["layers"])]
        self.embedding, self.place, self.segment = random(shape["words"], hidden), random(512, hidden), random(2, hidden)
        self.first, self.pool = (random(hidden), random(hidden)), (random(hidden, hidden), random(hidden))

    def step(self, tokens, c, s, at, keys, values):
        f, S = self.torch.nn.functional, self.s
        n, m = tokens.shape
        norm = lambda y, gain, offset: f.layer_norm(y, (S["hidden"],), gain, offset, 1e-12)
        x = norm(f.embedding(tokens, self.embedding) + self.place[:m] + self.segment[0], *self.first)
        for w in self.layers:
            q, k, v = (y.view(n, m, S["heads"], S["head"]).transpose(1, 2) for y in f.linear(x, w["qkv"], w["bqkv"]).chunk(3, -1))
            y = f.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, m, S["hidden"])
            x = norm(x + f.linear(y, w["out"], w["bout"]), w["g1"], w["o1"])
            x = norm(x + f.linear(f.gelu(f.linear(x, w["up"], w["bup"])), w["down"], w["bdown"]), w["g2"], w["o2"])
        return x, f.linear(x[:, 0], *self.pool).tanh()


def turned(torch, x, c, s):
    a, b = x.chunk(2, -1)
    return torch.cat((a * c - b * s, b * c + a * s), -1)


def peer(torch, random, model, mode, n, m, ctx, reps=20):
    """Median microseconds of a step, and the seconds until the first graph was there."""
    shape = model.s
    cache = [] if "base" not in shape else [[random(n, shape["groups"], ctx, shape["head"]) for _ in range(shape["layers"])] for _ in "kv"]
    keys, values = cache or (None, None)
    tokens = torch.zeros(n, m, dtype=torch.long, device="cuda")
    at = torch.arange(ctx - m, ctx, device="cuda")
    angle = at[:, None] * shape.get("base", 1) ** (-2 * torch.arange(shape["head"] // 2, device="cuda") / shape["head"])
    c, s = angle.cos().bfloat16(), angle.sin().bfloat16()
    began = time.time()
    f = model.step if mode == "eager" else torch.compile(model.step, mode=None if mode == "compile" else "max-autotune-no-cudagraphs")
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


def ours(a, name, n, m):
    began = time.time()
    sizes = {"n": n}
    if m > 1:
        sizes["m"] = m
    if name != "bert_large":
        sizes["p"] = a.ctx if m > 1 else a.ctx - 7
    r = subprocess.run([a.mirage, "model", "run", a.model, "--gpu", "--random", "1", "--steps", "8" if m == 1 else "1", "--time",
                        *(x for k, v in sizes.items() for x in ("--sym", f"{k}={v}")), *(["-o", a.pieces.replace("{n}", str(n))] if a.pieces else [])],
                       capture_output=True, text=True)
    if r.returncode:
        raise RuntimeError(r.stderr.strip()[:300] or r.stdout[-300:])
    t = re.search(r"time: ([0-9.]+) us a step.*?; ([0-9.]+) us by the model", r.stdout)
    host = re.search(r"the host takes ([0-9.]+) us", r.stdout)
    b = re.search(r"read: ([0-9]+) bytes", r.stdout)
    made = [line for line in r.stdout.splitlines() if re.match(r"model |a step:|bytes:|piece |others:", line)]
    return {"us": float(t.group(1)), "predicted_us": float(t.group(2)), "host_us": host and float(host.group(1)),
            "bytes": b and int(b.group(1)), "prepare_s": round(time.time() - began, 1), "what": made}


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
    name = os.path.splitext(os.path.basename(a.model))[0]
    kind = name.removesuffix("_prefill")
    if kind not in MODELS:
        p.error(f"--model: expected one of {', '.join(MODELS)}, or their _prefill, found {name}")
    m = 1 if name == kind and kind != "bert_large" else a.ctx
    began, rows, sizes = time.time(), [], [int(n) for n in a.n.split(",")]
    rate = None
    if os.path.exists(a.floor) and m == 1:
        r = subprocess.run([a.floor, str(1 << 31)], capture_output=True, text=True)
        if not r.returncode:
            rate = (1 << 31) / next(iter(json.loads(r.stdout).values()))[1]  # bytes a microsecond, cold

    def left_out(mode, n):
        if time.time() - began < a.limit:
            return False
        rows.append({"mode": mode, "n": n, "error": "left out: out of time"})
        return True

    result = {"date": time.strftime("%Y-%m-%d"), "command": " ".join(sys.argv), "model": name, "ctx": a.ctx, "rows": rows,
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
                add({"mode": "ours", "n": n, **ours(a, name, n, m)})
            except (RuntimeError, AttributeError) as x:
                add({"mode": "ours", "n": n, "error": str(x)[:300]})
    import torch
    gpu = torch.cuda.get_device_name(0)
    modes = [mode for mode in a.modes.split(",") if mode != "ours"]

    def random(*shape):
        return torch.randn(*shape, device="cuda", dtype=torch.bfloat16) * 0.02
    model = {"bert_large": BERT, "ngpt_1b": NGPT}.get(kind, Decoder)(torch, MODELS[kind], random) if modes else None
    for mode in modes:
        for n in sizes:
            if left_out(mode, n):
                continue
            try:
                us, prepared = peer(torch, random, model, mode, n, m, a.ctx)
                add({"mode": mode, "n": n, "us": us, "prepare_s": round(prepared, 1)})
            except Exception as x:  # a peer that fails is a row that says so
                add({"mode": mode, "n": n, "error": str(x)[:300]})
            torch._dynamo.reset()
            torch.cuda.empty_cache()
    s = MODELS[kind]
    per_layer = s["hidden"] * ((s["heads"] + 2 * s["groups"]) * s["head"] + s["heads"] * s["head"] + 3 * s["middle"])
    result.update(gpu=gpu, torch=torch.__version__)
    kept()
    print(f"# date: {result['date']}\n# gpu: {gpu}; torch {torch.__version__}\n# command: {result['command']}")
    what = f"a decode step, {a.ctx} tokens in the cache" if m == 1 else f"{m} tokens of each sequence at once"
    print(f"# {name}: {what}, us; load-only: " + (f"its bytes at {rate / 1e6:.3f} TB/s" if rate else "not measured"))
    print(f"{'n':>3} {'mode':>10} {'us':>9} {'/ load-only':>12} {'/ best peer':>12}  prepared, s")
    for n in sizes:
        bytes_ = 2 * (s["layers"] * per_layer + s["words"] * s["hidden"]) + 4 * s["layers"] * n * s["groups"] * a.ctx * s["head"]
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
