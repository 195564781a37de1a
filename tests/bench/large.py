#!/usr/bin/env python3
"""Large products: kernels of ours, by plans, next to the library, in one process on one GPU.

    python3 tests/bench/large.py emit DIR --tool build/mirage      writes the kernels as CUDA text, where there is no GPU
    python3 tests/bench/large.py run DIR --headers . -o OUT.json   compiles them with nvcc, checks them, times them (PyTorch)
    python3 tests/bench/large.py table OUT.json ..                 the best of ours and of the peers
    python3 tests/bench/large.py lines OUT.json ..                 ours as lines for fit.py; --date: when they were measured

Programs: a linear layer of 256 to 4096 rows (4096 x 4096) and square products of 4096 and 8192; linear + bias + gelu; norm + linear,
whose norm is a kernel of its own (its gain multiplies what it normalises, so that the product's operands lie as they are).  A kernel's
numbers are compared with float64 on fresh random inputs, outputs poisoned with NaN, before it is timed.  A time is of one call in a
replayed CUDA graph, the median of 15, inputs in turn from sets of more than four times 60 MB.  All are timed one after the other, the
best peer first and last, and the less of both counts: a warm chip is slower, by up to a tenth.  Peers: torch.mm (cuBLAS), with the weight in both memory
orders; for several operators cuBLASLt's epilogue, eager kernels, torch.compile.
"""
import argparse, concurrent.futures, ctypes, json, os, re, subprocess, sys

SHAPES = [(256, 4096, 4096), (512, 4096, 4096), (1024, 4096, 4096), (2048, 4096, 4096), (4096, 4096, 4096), (8192, 8192, 8192)]
# rows and columns of a block, chunk, warps along rows and columns, stages, rounds of columns, more keys
TILES = [(128, 256, 64, 8, 1, 4, 1), (128, 256, 64, 8, 1, 4, 2), (128, 256, 64, 8, 1, 4, 4), (128, 256, 64, 8, 1, 4, 8), (128, 128, 64, 8, 1, 6, 1), (128, 128, 64, 8, 1, 6, 2), (128, 128, 64, 8, 1, 3, 1),
         (128, 128, 128, 8, 1, 3, 1), (128, 64, 128, 8, 1, 4, 1), (128, 64, 64, 8, 1, 8, 1)]
COPIES = ["copy=warp", "copy=tma"]
KINDS = {"linear": SHAPES, "linear_bias_gelu": [s for s in SHAPES if s[0] in (256, 1024, 4096)], "norm_linear": [s for s in SHAPES if s[0] in (256, 1024, 4096)][:3]}
NORM = """H = kernel grid=(x=%d) threads=512 {
  g = load G {}
  x = load X {x->0}
  h = mul(g, div(x, sqrt(add_scalar(scale(sum(sqr(x), dim=1), 1/%d), 1/1000000))))
  store h {x->0}
  plan { warps_m=1 warps_n=16 warps_k=1 }
}
"""

def text(kind, name, shape, tile, copy):
    m, n, k = shape
    bm, bn, bk, wm, wn, stages, rounds = tile
    x = {"linear": "X", "linear_bias_gelu": "X", "norm_linear": "H"}[kind]
    cols = "x->1, z->1" if rounds > 1 else "x->1"
    more = {"linear": "", "linear_bias_gelu": f"input B : f16[{n}]\n", "norm_linear": f"input G : f16[{k}]\n"}[kind] + f"input W : f16[{k}, {n}]\n"
    bias = f"  b = load B {{{cols.replace('->1', '->0')}}}\n" if kind == "linear_bias_gelu" else ""
    result = "gelu(add(accum(p) {i->+}, b))" if bias else "accum(p) {i->+}"
    grid = f"x={n // bn // rounds}, y={m // bm}" + (f", z={rounds}" if rounds > 1 else "")
    return (f"program {name}\ninput X : f16[{m}, {k}]\n{more}" + (NORM % (m, k) if kind == "norm_linear" else "") +
            f"Y = kernel grid=({grid}) threads={32 * wm * wn} {{\n{bias}  for i={k // bk} {{\n    x = load {x} {{y->0, i->1}}\n    w = load W {{{cols}, i->0}}\n    p = matmul(x, w)\n  }}\n"
            f"  o = {result}\n  store o {{{cols}, y->0}}\n  plan {{ {copy} mma=warpgroup stages={stages} warps_m={wm} warps_n={wn} warps_k=1 }}\n}}\noutput Y\n")

def emit(directory, tool):
    os.makedirs(directory, exist_ok=True)
    rows = []
    for kind, shapes in KINDS.items():
        for shape in shapes:
            for tile in TILES:
                blocks = shape[0] // tile[0] * (shape[1] // tile[1])
                if blocks < 64 or (shape[1] // tile[1]) % tile[6] or (tile[1] == 64 and blocks > 256) or (tile[6] > 1 and blocks < 512): continue
                for copy in COPIES:
                    name = f"p{len(rows)}"
                    path = os.path.join(directory, name)
                    with open(path + ".mg", "w") as f: f.write(text(kind, name, shape, tile, copy))
                    subprocess.run([tool, "emit", path + ".mg", "--arch", "sm_90a", "-o", path + ".cu"], check=True)
                    rows.append({"name": name, "kind": kind, "shape": shape, "tile": tile, "copy": copy})
    with open(os.path.join(directory, "rows.json"), "w") as f: json.dump(rows, f)
    print(f"{len(rows)} kernels")

def build(directory, headers, row):
    path = os.path.join(directory, row["name"])
    made = subprocess.run(["nvcc", "-O3", "-std=c++17", "-prec-div=false", "-prec-sqrt=false", "-gencode", "arch=compute_90a,code=sm_90a", "-Xptxas", "-v", "-Xcompiler", "-fPIC", "-shared", "-I" + headers, "-o", path + ".so", path + ".cu"],
                          capture_output=True, text=True)
    if made.returncode: sys.exit(made.stderr)
    row["registers"] = max(int(r) for r in re.findall(r"Used (\d+) registers", made.stderr))
    row["spilled"] = max(int(r) for r in re.findall(r"(\d+) bytes spill stores", made.stderr))
    return row

def run(directory, headers, out):
    import torch
    import torch.nn.functional as F
    with open(os.path.join(directory, "rows.json")) as f: rows = json.load(f)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool: rows = list(pool.map(lambda r: build(directory, headers, r), rows))
    half = torch.float16

    def timed(calls, n):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(2):
                for c in calls: c()
        stream.synchronize()
        graph, times = torch.cuda.CUDAGraph(), []
        with torch.cuda.graph(graph, stream=stream):
            for k in range(n): calls[k % len(calls)]()
        graph.replay()
        for _ in range(15):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1000 / n)
        return sorted(times)[len(times) // 2]

    def peer(kind, x, w, b, g):
        if kind == "linear": return x @ w
        if kind == "linear_bias_gelu": return F.gelu(x @ w + b)
        return (x.float() * torch.rsqrt((x.float() * x.float()).mean(1, keepdim=True) + 1e-6) * g).to(x.dtype) @ w

    def exact(kind, x, w, b, g):
        x, w, b, g = x.double(), w.double(), b.double(), g.double()
        if kind == "linear": return x @ w
        if kind == "linear_bias_gelu": return F.gelu(x @ w + b)
        return (x * torch.rsqrt((x * x).mean(1, keepdim=True) + 1e-6) * g) @ w

    results = []
    for kind, shapes in KINDS.items():
        for shape in shapes:
            m, n, k = shape
            torch._dynamo.reset()
            compiled = torch.compile(lambda x, w, b, g, kind=kind: peer(kind, x, w, b, g), dynamic=False) if kind != "linear" else None
            count = max(2, -(-260_000_000 // (2 * (m * k + k * n + m * n))))
            sets = [(torch.randn(m, k, device="cuda", dtype=half), (torch.randn(k, n, device="cuda") / k ** 0.5).half(), torch.randn(n, device="cuda", dtype=half), torch.randn(k, device="cuda", dtype=half),
                     torch.empty(m, n, device="cuda", dtype=half)) for _ in range(count)]
            turned = [w.t().contiguous().t() for _, w, _, _, _ in sets]
            calls = -(-max(count, min(32, int(4e12 / (2 * m * n * k)) + 1)) // count) * count
            peers = {}
            for order, weights in (("rows", [s[1] for s in sets]), ("columns", turned)):
                if kind == "linear": peers["torch.mm, W by " + order] = [lambda s=s, w=w: torch.mm(s[0], w, out=s[4]) for s, w in zip(sets, weights)]
                else:
                    if kind == "linear_bias_gelu":
                        peers["addmm + gelu, W by " + order] = [lambda s=s, w=w: F.gelu(torch.addmm(s[2], s[0], w)) for s, w in zip(sets, weights)]
                        peers["cuBLASLt's epilogue (tanh), W by " + order] = [lambda s=s, w=w: torch._addmm_activation(s[2], s[0], w, use_gelu=True) for s, w in zip(sets, weights)]
                    else: peers["rms_norm + mm, W by " + order] = [lambda s=s, w=w: torch.mm(F.rms_norm(s[0], (k,), s[3], 1e-6), w, out=s[4]) for s, w in zip(sets, weights)]
                    peers["torch.compile, W by " + order] = [lambda s=s, w=w: compiled(s[0], w, s[2], s[3]) for s, w in zip(sets, weights)]
            lib = {}
            for name, of in peers.items():
                try: lib[name] = timed(of, calls)
                except Exception as e: print("peer", name, repr(e)[:100])
            want = exact(kind, *sets[0][:4])
            ours = []
            for r in rows:
                if r["kind"] != kind or tuple(r["shape"]) != shape: continue
                so = ctypes.CDLL(os.path.abspath(os.path.join(directory, r["name"] + ".so")))
                launch, room = getattr(so, r["name"] + "_launch"), getattr(so, r["name"] + "_workspace_bytes")
                launch.argtypes, room.restype = [ctypes.c_void_p] * 4, ctypes.c_size_t
                space = torch.zeros(max(16, room()), device="cuda", dtype=torch.uint8)
                def call(s, launch=launch, space=space, name=r["name"]):
                    t = {"linear": (s[0], s[1]), "linear_bias_gelu": (s[0], s[2], s[1]), "norm_linear": (s[0], s[3], s[1])}[kind]
                    given, made = (ctypes.c_void_p * len(t))(*[x.data_ptr() for x in t]), (ctypes.c_void_p * 1)(s[4].data_ptr())
                    def go():
                        if launch(given, made, space.data_ptr(), torch.cuda.current_stream().cuda_stream): raise RuntimeError(name + ": a launch fails")
                    return go
                mine = [call(s) for s in sets]
                sets[0][4].fill_(float("nan"))
                mine[0]()
                torch.cuda.synchronize()
                r["error"] = float((sets[0][4].double() - want).norm() / want.norm())
                if not r["error"] < 2e-3: sys.exit(f"{r}: the numbers are wrong")
                r["us"] = timed(mine, calls)
                ours.append(r)
            name = min(lib, key=lib.get)
            results.append({"kind": kind, "shape": shape, "library": lib, "library_us": timed(peers[name], calls), "ours": ours}) # once more, on a warm chip
            print(line(results[-1]), flush=True)
            del sets, turned, want, ours, peers
            torch.cuda.empty_cache()
    with open(out, "w") as f: json.dump({"gpu": torch.cuda.get_device_name(), "torch": torch.__version__, "results": results}, f, indent=1)

def line(r):
    (m, n, k), best, name = r["shape"], min(r["ours"], key=lambda o: o["us"]), min(r["library"], key=r["library"].get)
    library, rate = min(r["library"][name], r["library_us"]), 2 * m * n * k / 1e6
    bm, bn, bk, wm, wn, stages, rounds = best["tile"]
    return (f"{r['kind']:17} {m:5} x {n} x {k}  ours {best['us']:7.1f} us {rate / best['us']:4.0f} TFLOP/s  library {library:7.1f} us {rate / library:4.0f} TFLOP/s  {library / best['us']:.2f}x"
            f"  {bm} x {bn}, {bk} deep, {stages} stages, {rounds} rounds, {best['copy']} | {name}")

def table(files):
    for name in files:
        with open(name) as f: d = json.load(f)
        print(f"{os.path.basename(name)}: {d['gpu']}, PyTorch {d['torch']}")
        for r in d["results"]: print(line(r))

def lines(files, date):
    for name in files:
        with open(name) as f: d = json.load(f)
        for r in d["results"]:
            for o in r["ours"]:
                program = "%s_%d_%d" % (r["kind"], *r["shape"][:2])
                row = {"program": program, "family": r["kind"], "gpu": d["gpu"], "date": date, "us_cold": o["us"]}
                print(json.dumps({**row, "ugraph": text(r["kind"], program, r["shape"], o["tile"], o["copy"])}))

if __name__ == "__main__":
    a = argparse.ArgumentParser()
    a.add_argument("what", choices=["emit", "run", "table", "lines"])
    a.add_argument("directory", nargs="+")
    a.add_argument("--tool", default="build/mirage")
    a.add_argument("--headers", default=".")
    a.add_argument("-o", default="large.json")
    a.add_argument("--date", default="")
    o = a.parse_args()
    if o.what == "emit": emit(o.directory[0], o.tool)
    elif o.what == "run": run(o.directory[0], o.headers, o.o)
    elif o.what == "lines": lines(o.directory, o.date)
    else: table(o.directory)
