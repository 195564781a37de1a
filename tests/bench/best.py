"""Ours and the strongest peers of a program in one process on one GPU, the best of all counting.

usage: best.py [FILE.mg ..] --ours DIR [--tune] [--runs N] [--budget S] [--only REGEX] [--modes LIST] [--out STEM] [--jobs N]
       best.py FILE.mg .. --check          every peer's values at these sizes on the CPU, by Triton's interpreter

Without FILEs the programs of examples/programs and tests/bench/programs, by groups, the anchor before each and at the end.
Ours are the shared objects DIR/PROGRAM.*.so that objects.py makes; the fastest counts.  Peers are
  triton     the fused kernels of fused.py by the stages of kinds.py; a pair of products also as one kernel
  library    products by cuBLASLt, the best of what its heuristic lists and of these in parts; stages of rows between them,
             bias, relu and residual by its epilogues
  torch      eager, attention by each backend of scaled_dot_product_attention; torch.compile of what is not one fused kernel
             that is tuned, and around attention
each where it applies, chains in both orders of association, weights of library and torch, and of ours where objects.py was
told --turned, stored as [K, N] and as [N, K].
Every output of each is checked against float64 before it is timed.  --tune times every configuration of fused.py's grids
over cold sets and writes the best five of a stage to tuned.json; without it these five are timed again.

Times are microseconds a call in a replayed CUDA graph, as in peers.py: hot, and cold over sets that exceed four times the
L2 cache; pdl: with programmatic dependent launch, ours and Triton's.  A program that is named again is an anchor: its times
then are beside the first ones.  STEM.json and STEM.txt hold all, STEM-tuned.json what --tune found.
"""
import argparse, concurrent.futures, ctypes, datetime, glob, json, math, os, re, select, subprocess, sys, time

HERE = os.path.dirname(os.path.abspath(__file__))
CHECK = "--check" in sys.argv
if CHECK:
    os.environ["TRITON_INTERPRET"] = "1"
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel
import fused, kinds, peers, table as tables

ROOT = os.path.dirname(os.path.dirname(HERE))
ANCHOR = "rmsnorm_linear_m16_k4096_n4096"
TUNED = os.path.join(HERE, "tuned.json")
DEVICE = "cpu" if CHECK else "cuda"
KEPT = 5
FAULTS = ("illegal", "misaligned", "unspecified launch", "device-side assert", "timed out", "uncorrectable")


def fatal(e):
    return any(w in str(e) for w in FAULTS)


def quick(fn, sets):
    """A cheap cold time to choose by: least of four replays of one graph."""
    n = max(16, min(len(sets), 128))
    torch.cuda.synchronize()
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        fn(*sets[0])
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        for i in range(n):
            fn(*sets[i % len(sets)])
    g.replay()
    times = []
    for _ in range(4):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record(); g.replay(); b.record(); torch.cuda.synchronize()
        times.append(a.elapsed_time(b) * 1e3 / n)
    return min(times)


def drawn(p):
    """Random inputs, in their order in memory."""
    w, out = kinds.weights(p), []
    for n in p.inputs():
        v = p.nodes[n]
        order = v.attrs["order"]
        x = torch.randn([v.shape[i] for i in order], device=DEVICE) * (v.shape[0] ** -0.5 if n in w else 0.3)
        out.append(x.to(fused.TYPES[v.type]).permute([order.index(i) for i in range(len(order))]))
    return out


def by_nodes(p):
    """The program in PyTorch: function(*inputs) -> (output, ..)."""
    def function(*a):
        values = dict(zip(p.inputs(), a))
        for n, v in p.nodes.items():
            if v.op != "input":
                attrs = dict(v.attrs)
                constants = [attrs.pop(c) for c in ("c", "d") if c in attrs]
                values[n] = peers.OPS[v.op](*[values[x] for x in v.args], *constants, **attrs)
        return tuple(values[o] for o in p.outputs)
    return function


def by_attention(p, stages, backend, grouped=False):
    """The program in PyTorch, its attention by one backend; None where it has none."""
    if not any(s.kind == "attention" for s in stages):
        return None

    def function(*a):
        values = dict(zip(p.inputs(), a))
        for s in stages:
            if s.kind == "attention":
                norm = lambda x, eps: x if eps is None else F.rms_norm(x, x.shape[-1:], None, eps)
                q, k, v = norm(values[s.q], s.qeps), norm(values[s.k].transpose(-1, -2), s.keps), values[s.v]
                with sdpa_kernel(backend):
                    if grouped:
                        o = F.scaled_dot_product_attention(q[:, :, None], k[:, None], v[:, None], scale=float(s.scale), enable_gqa=True)[:, :, 0]
                    else:
                        o = F.scaled_dot_product_attention(q[None], k[None], v[None], attn_mask=None if s.bias is None else values[s.bias][None], is_causal=s.causal, scale=float(s.scale))[0]
                values[s.made[0]] = o
            for n in s.body:
                v = p.nodes[n]
                attrs = dict(v.attrs)
                constants = [attrs.pop(c) for c in ("c", "d") if c in attrs]
                values[n] = peers.OPS[v.op](*[values[x] for x in v.args], *constants, **attrs)
        return tuple(values[o] for o in p.outputs)
    return function if all(s.kind in ("attention", "rows") for s in stages) else None


class Staged:
    """Stages in a row as one peer."""
    def __init__(self, p, launches):
        self.p, self.launches = p, launches

    def __call__(self, *a):
        values = dict(zip(self.p.inputs(), a))
        for launch in self.launches:
            launch(values)
        return tuple(values[o] for o in self.p.outputs)

    def pdl(self, on):
        for launch in self.launches:
            launch.pdl = on

    def has_pdl(self):
        return all(isinstance(launch, fused.Launch) for launch in self.launches)


def ways(p):
    """{name: (program, stages)} of the fused kernels."""
    out = {}
    for order, q in (("", p), (" A(BD)", kinds.reassociated(p))):
        stages = q and kinds.cut(q)
        if stages:
            out["triton" + order] = (q, stages)
    paired = kinds.cut(p, pair=True)
    if paired and any(s.kind == "pair" for s in paired):
        out["triton pair"] = (p, paired)
    return out


def library_ways(p):
    """{name: (program, stages, the program whose inputs' layout it takes)} of products by cuBLASLt."""
    out = {}
    for layout, q in (("", p), (", weights [N, K]", kinds.turned(p) if kinds.weights(p) else None)):
        for order, r in (("", q), (" A(BD)", q and kinds.reassociated(q))):
            if not r:
                continue
            stages = kinds.cut(r, fused=False)
            if stages and any(s.kind == "product" for s in stages):
                out["library" + order + layout] = (r, stages, q)
            stages = kinds.cut(r)
            if stages and all(s.kind == "rows" or s.kind == "product" and len(s.products) == 1 and len(s.products[0]) == 1 and not s.norm and fused.library_epilogue(r, s) for s in stages) and \
                    any(s.kind == "product" and s.body for s in stages):
                out["library, its epilogues" + order + layout] = (r, stages, q)
    return out


def key_of(p, s):
    """What a stage is called among the tuned: alike for rows that take the same tiles."""
    rows = s.size if s.kind == "rows" else tuple(fused.flat(s.shape if s.kind != "attention" else p.nodes[s.q].shape))
    if s.kind == "product" and rows[1] <= 16:
        rows = (rows[0], 16, rows[2])
    shapes = ["%s" % (list(p.nodes[n].shape),) for n in (s.heads[1:] if s.kind == "product" else s.heads)]
    return " ".join([s.kind, "x".join(map(str, rows))] + shapes + [p.nodes[n].op for n in s.body] + (["norm"] if getattr(s, "norm", None) else []) +
                    (["qk"] if getattr(s, "qeps", None) is not None else []) + (["causal"] if getattr(s, "causal", False) else []))


def error_of(out, ref):
    worst = 0.0
    for o, r in zip(out, ref):
        e = ((o.double().reshape(r.shape) - r).norm() / r.norm()).item()
        worst = max(worst, e if math.isfinite(e) else 1e30)
    return worst


class Ours:
    """An emitted file's shared object as a function."""
    def __init__(self, path, p):
        lib = ctypes.CDLL(path)
        self.plain, self.dependent = getattr(lib, p.name + "_launch"), getattr(lib, p.name + "_launch_pdl", None)
        size = getattr(lib, p.name + "_workspace_bytes")
        size.restype = ctypes.c_size_t
        self.p, self.path, self.on = p, path, False
        self.work = torch.zeros(max(16, size()), dtype=torch.uint8, device=DEVICE)
        for f in filter(None, (self.plain, self.dependent)):
            f.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]

    def pdl(self, on):
        self.on = on

    def has_pdl(self):
        return self.dependent is not None

    def __call__(self, *a):
        out = [torch.empty(self.p.nodes[o].shape, dtype=fused.TYPES[self.p.nodes[o].type], device=DEVICE) for o in self.p.outputs]
        into = (ctypes.c_void_p * len(a))(*[x.data_ptr() for x in a])
        onto = (ctypes.c_void_p * len(out))(*[x.data_ptr() for x in out])
        rc = (self.dependent if self.on else self.plain)(into, onto, self.work.data_ptr(), torch.cuda.current_stream().cuda_stream)
        if rc:
            raise RuntimeError("launch: %d" % rc)
        return tuple(out)


class Measured:
    """A program's inputs, their float64 values, and the times of what computes it."""
    def __init__(self, p, args):
        self.p, self.args = p, args
        self.bytes = sum(math.prod(p.nodes[n].shape) * kinds.BYTES[p.nodes[n].type] for n in p.inputs())
        self.count = 2 if CHECK or args.build else min(512, max(2, math.ceil(4 * peers.L2 / self.bytes)))
        self.made, self.tolerance = {}, 2e-2 if any(v.type == "bf16" for v in p.nodes.values()) else 1e-2
        self.found, self.errors, self.checked = {}, {}, {}

    def sets(self, q):
        """Sets of inputs in q's layout, the first one's float64 results."""
        at = tuple(q.nodes[n].attrs["order"] for n in q.inputs())
        if at not in self.made:
            sets = [drawn(q) for _ in range(self.count)]
            self.made[at] = sets, [t.double() for t in by_nodes(self.p)(*[x.double() for x in sets[0]])]
        return self.made[at]

    def right(self, name, fn, q, note=None):
        """Whether the values are right, twice; else why not is kept."""
        sets, ref = self.sets(q)
        try:
            e = max(error_of(fn(*sets[0]), ref), error_of(fn(*sets[0]), ref))
            if e <= self.tolerance:
                return e
            self.errors[name] = "wrong: %.1e" % e
        except Exception as x:
            if fatal(x):
                raise
            self.errors[name] = str(x).split("\n")[0][:120]
        return None

    def add(self, name, fn, q, note=None):
        """Times fn once, hot and cold, plain and with dependent launches, if it is right."""
        e = self.right(name, fn, q)
        if e is None or CHECK or self.args.build:
            self.checked[name] = e
            return e
        sets, _ = self.sets(q)
        row = {"error": float("%.2g" % e), **({"note": note} if note else {})}
        try:
            self.times(row, fn, sets)
            if "pdl_cold" in row and not self.overlapping(fn, sets):
                row = {k: v for k, v in row.items() if not k.startswith("pdl")}
                self.errors[name + ", pdl"] = "wrong"
        except Exception as x:
            if fatal(x):
                raise
            self.errors[name] = str(x).split("\n")[0][:120]
            return None
        self.found[name] = (row, fn, sets)
        return e

    def overlapping(self, fn, sets):
        """Whether the values are right when calls follow each other by dependent launches."""
        ref = next(r for t, r in self.made.values() if t is sets)
        fn.pdl(True)
        for k in range(4):
            out = fn(*sets[(k + 1) % 4 % len(sets)])
        e = error_of(fn(*sets[0]), ref)
        fn.pdl(False)
        return e <= self.tolerance

    def times(self, row, fn, sets):
        dependent = hasattr(fn, "pdl") and fn.has_pdl()
        for on in (False, True) if dependent else (False,):
            if dependent:
                fn.pdl(on)
            for how, s in (("hot", sets[:1]), ("cold", sets)):
                row.setdefault(("pdl_" if on else "") + how + "_all", []).append(round(peers.timed(fn, s), 3))
        if dependent:
            fn.pdl(False)
            fn(*sets[0])
        for k in [k for k in row if k.endswith("_all")]:
            row[k[:-4]] = sorted(row[k])[len(row[k]) // 2]

    def again(self, names, runs):
        for name in names:
            row, fn, sets = self.found[name]
            for _ in range(runs - 1):
                self.times(row, fn, sets)


def values_of(q, sets):
    """For each set all values of the program, for stages to be timed alone."""
    out = []
    for a in sets:
        values = dict(zip(q.inputs(), a))
        for n, v in q.nodes.items():
            if v.op != "input":
                attrs = dict(v.attrs)
                constants = [attrs.pop(c) for c in ("c", "d") if c in attrs]
                values[n] = peers.OPS[v.op](*[values[x] for x in v.args], *constants, **attrs)
        out.append((values,))
    return out


def grid_of(m, q, s):
    """The configurations that are tried of a stage, at most --most of them, spread over all."""
    grid = fused.configurations(q, s)
    return grid[::max(1, len(grid) // m.args.most)][:m.args.most]


def tune(m, q, stages, tuned, say):
    """The best configurations of each stage, from `tuned` or by cold times of the whole grid, which go there."""
    for s in stages:
        key = key_of(q, s)
        if CHECK:
            tuned[key] = [[c, 0] for c in grid_of(m, q, s)]
        if key in tuned or not m.args.tune:
            continue
        grid, times, why = grid_of(m, q, s), [], {}
        sets, _ = m.sets(q)
        whole = values_of(q, sets[:64])
        for c in grid:
            try:
                launch = fused.Launch(q, s, c, DEVICE)

                def one(values):
                    own = dict(values)
                    launch(own)
                    return tuple(own[n] for n in s.stores)
                if error_of(one(whole[0][0]), [whole[0][0][n].double() for n in s.stores]) > 2e-2:
                    raise ValueError("wrong")
                times.append((round(quick(one, whole), 3), c))
            except Exception as x:
                if fatal(x):
                    raise
                why[str(x).split("\n")[0][:80]] = why.get(str(x).split("\n")[0][:80], 0) + 1
        times.sort(key=lambda t: t[0])
        tuned[key] = [[c, us] for us, c in times[:KEPT]]
        say({"tuned": key, "best": tuned[key], "of": len(grid), "failed": why})


def library_stage(m, q, s, values):
    """The stage by the fastest algorithm of cuBLASLt."""
    launch, best = fused.Library(q, s), None
    ref = [values[0][0][n].double() for n in s.stores]
    for k in range(len(launch.algorithms)):
        launch.algorithm = k

        def one(v):
            own = dict(v)
            launch(own)
            return tuple(own[n] for n in s.stores)
        try:
            if error_of(one(values[0][0]), ref) < 2e-2:
                us = quick(one, values)
                best = min(best or (us, k), (us, k))
        except RuntimeError as x:
            if fatal(x):
                raise
    if not best:
        raise RuntimeError("no algorithm of %d" % len(launch.algorithms))
    launch.algorithm = best[1]
    return launch


def measured(path, args, tuned, say):
    with open(path) as f:
        text = f.read()
    name = os.path.basename(path)[:-3]
    try:
        p = kinds.parse(text)
    except kinds.Unknown as e:  # PyTorch alone
        return by_torch(name, path, args, str(e))
    m, modes = Measured(p, args), args.modes.split(",")
    begun = time.time()
    row = {"program": name, "in_bytes": m.bytes, "kind": kinds.kind_of(p)}
    ours = {}
    for so in sorted(glob.glob(os.path.join(args.ours, name + ".*.so"))) if args.ours and not args.build else []:
        fn = Ours(so, p)
        label = "ours " + os.path.basename(so)[len(name) + 1:-3]
        q = kinds.turned(p) if label.startswith("ours t") else p
        if m.right(label, fn, q) is not None:
            ours[label] = (quick(fn, m.sets(q)[0]), fn, q)
    for label, (_, fn, q) in sorted(ours.items(), key=lambda t: t[1][0])[:2]:
        m.add(label, fn, q)
    say({"at": name, "ours": time.time() - begun})
    if "triton" in modes:
        for way, (q, stages) in ways(p).items():
            if args.build:
                for s in stages:
                    for k, c in enumerate(grid_of(m, q, s) if args.tune and key_of(q, s) not in tuned else [c for c, _ in tuned.get(key_of(q, s), [])]):
                        if hash_of(key_of(q, s) + str(k)) % args.shares == args.share:
                            build(q, s, c)
                continue
            tune(m, q, stages, tuned, say)
            every = [tuned.get(key_of(q, s), []) for s in stages]
            for k in range(max(map(len, every)) if all(every) else 0):
                picked = [e[min(k, len(e) - 1)][0] for e in every]
                m.add("%s %d" % (way, k) if k else way, Staged(q, [fused.Launch(q, s, c, DEVICE) for s, c in zip(stages, picked)]), q, "; ".join(str(c) for c in picked))
        say({"at": name, "triton": time.time() - begun})
    if "library" in modes and not args.build and not CHECK:
        for way, (q, stages, like) in library_ways(p).items():
            try:
                values = values_of(q, m.sets(like)[0][:64])
                launches = []
                for s in stages:
                    if s.kind == "rows":
                        times = []
                        for c in fused.configurations(q, s):
                            launch = fused.Launch(q, s, c, DEVICE)
                            times.append((quick(lambda v: launch(dict(v)), values), len(times), launch))
                        launches.append(min(times)[2])
                    else:
                        launches.append(library_stage(m, q, s, values))
                m.add(way, Staged(q, launches), like, ", ".join("algorithm %d of %d" % (x.algorithm, len(x.algorithms)) for x in launches if isinstance(x, fused.Library)))
            except (kinds.Unknown, RuntimeError) as e:
                if fatal(e):
                    raise
                m.errors[way] = str(e)[:120]
        say({"at": name, "library": time.time() - begun})
    functions = torch_functions(p, modes)
    for way, (fn, q) in functions.items():
        if not args.build or (way.startswith("compile") and hash_of(name + way) % args.shares == args.share):
            m.add(way, fn, q)
    if CHECK or args.build:
        return {**row, "errors": m.errors, "checked": m.checked}
    return summed(row, m, args, begun)


def hash_of(text):
    return sum(ord(c) * (k + 1) for k, c in enumerate(text))


def build(q, s, c):
    """Compiles a configuration, and its launcher, into Triton's cache."""
    empty = lambda v: torch.empty([v.shape[i] for i in v.attrs["order"]], dtype=fused.TYPES[v.type], device=DEVICE).permute([v.attrs["order"].index(i) for i in range(len(v.shape))]) \
        if v.op == "input" else torch.empty(v.shape, dtype=fused.TYPES[v.type], device=DEVICE)
    try:
        fused.Launch(q, s, c, DEVICE)({n: empty(q.nodes[n]) for n in s.reads()}, warm=True)
    except Exception:  # what does not compile is met again, and counted, where it is timed
        pass


def torch_functions(p, modes):
    """{name: (function, program of the layout)}."""
    out, stages = {}, kinds.cut(p) or []
    single = len(stages) == 1 and stages[0].kind != "rows"  # one fused kernel: torch.compile makes several of it
    backends = (("flash", SDPBackend.FLASH_ATTENTION), ("cudnn", SDPBackend.CUDNN_ATTENTION), ("efficient", SDPBackend.EFFICIENT_ATTENTION))
    for layout, q in (("", p), (", weights [N, K]", kinds.turned(p) if kinds.weights(p) else None)):
        if q and "eager" in modes:
            out["eager" + layout] = by_nodes(q), q
            other = kinds.reassociated(q)
            if other:
                out["eager A(BD)" + layout] = by_nodes(other), q
        if q and "compile" in modes and not CHECK and not (layout or single):
            out["compile" + layout] = torch.compile(by_nodes(q), dynamic=False), q
    for name, backend in backends if "sdpa" in modes and not CHECK else ():
        fn = by_attention(p, stages, backend)
        if fn:
            out["sdpa " + name] = fn, p
            a = [s for s in stages if s.kind == "attention"][0]
            if "compile" in modes and name == "flash" and (a.qeps is not None or len(stages) > 1 or a.body):
                out["compile, sdpa " + name] = torch.compile(by_attention(p, stages, backend), dynamic=False), p
            if p.nodes[a.q].shape[-2] <= 16 and not a.causal and a.bias is None:
                out["sdpa %s, grouped" % name] = by_attention(p, stages, backend, True), p
    return out


def summed(row, m, args, begun):
    """The row of a program: ours, the best peer, plain and with dependent launches, and every peer."""
    cold = lambda n: m.found[n][0]["cold"]
    dependent = lambda n: min(m.found[n][0].get("pdl_cold", 1e30), cold(n))
    for side in (True, False):
        names = sorted((n for n in m.found if n.startswith("ours") == side), key=cold)
        m.again(dict.fromkeys(names[:2] + sorted(names, key=dependent)[:1] + sorted(names, key=lambda n: m.found[n][0]["hot"])[:1]), args.runs)
    mine, others = [n for n in m.found if n.startswith("ours")], [n for n in m.found if not n.startswith("ours")]
    least = lambda names, key: min((m.found[n][0].get(key, 1e30) for n in names), default=None)
    if mine:
        best = min(mine, key=cold)
        row.update({"ours": best[5:], "ours_us_hot": m.found[best][0]["hot"], "ours_us_cold": cold(best), "ours_us_cold_all": m.found[best][0]["cold_all"],
                    "ours_pdl_us_hot": least(mine, "pdl_hot"), "ours_pdl_us_cold": least(mine, "pdl_cold"), "relative_error": m.found[best][0]["error"]})
    else:
        row["error"] = "ours: " + (next((e for n, e in m.errors.items() if n.startswith("ours")), "none in --ours"))
    if others:
        best = min(others, key=cold)
        row.update({"best_peer": best, "best_peer_us_hot": least(others, "hot"), "best_peer_us_cold": cold(best), "best_peer_pdl": min(others, key=dependent),
                    "best_peer_pdl_us_cold": min(map(dependent, others)), "best_peer_pdl_us_hot": min(least(others, "hot"), least(others, "pdl_hot"))})
    row["peers"] = {n: m.found[n][0] for n in sorted(others, key=cold)}
    row["candidates"] = {n: m.found[n][0] for n in mine}
    row["failed"] = m.errors
    row["seconds"] = round(time.time() - begun, 1)
    return row


class Plain:
    """What Measured needs of a program that kinds.py does not know."""
    def __init__(self, name, inputs, outputs):
        self.name, self.names, self.outputs = name, [i[0] for i in inputs], outputs
        self.nodes = {n: kinds.Node("input", [], {"order": tuple(o or range(len(d)))}, tuple(d), t) for n, t, d, o in inputs}

    def inputs(self):
        return self.names


def by_torch(name, path, args, why):
    """A program of other operators: ours against PyTorch alone."""
    inputs, outputs, function = peers.read(path)
    types = {v: k for k, v in fused.TYPES.items()}
    p = Plain(name, [(n, types[t], d, o) for n, t, d, o in inputs], outputs)
    m, begun = Measured(p, args), time.time()
    fn = function(torch.matmul)
    def tupled(f):  # row-major, as ours are: a view would be no work
        def run(*a):
            o = f(*a)
            return tuple(t.contiguous() for t in (o if isinstance(o, tuple) else (o,)))
        return run
    sets = [drawn_plain(p) for _ in range(m.count)]
    m.made[None] = sets, [t.double() for t in tupled(fn)(*[x.double() for x in sets[0]])]
    m.sets = lambda q: m.made[None]
    shapes = tupled(fn)(*sets[0])
    for o, t in zip(outputs, shapes):
        p.nodes[o] = kinds.Node("output", [], {}, tuple(t.shape), types[t.dtype])
    for so in sorted(glob.glob(os.path.join(args.ours, name + ".*.so"))) if args.ours and not args.build else []:
        m.add("ours " + os.path.basename(so)[len(name) + 1:-3], Ours(so, p), p)
    if not args.build or hash_of(name) % args.shares == args.share:
        m.add("eager", tupled(fn), p)
        if not CHECK and "compile" in args.modes:
            m.add("compile", torch.compile(tupled(fn), dynamic=False), p)
    row = {"program": name, "in_bytes": m.bytes, "kind": "unknown: " + why}
    return {**row, "errors": m.errors} if CHECK or args.build else summed(row, m, args, begun)


def drawn_plain(p):
    out = []
    for n in p.inputs():
        v = p.nodes[n]
        order = v.attrs["order"]
        out.append((torch.randn([v.shape[i] for i in order], device=DEVICE) * 0.3).to(fused.TYPES[v.type]).permute([order.index(i) for i in range(len(order))]))
    return out


def work(args):
    """Programs one after the other, a line of JSON each."""
    torch._dynamo.config.cache_size_limit = 512
    tuned = json.load(open(args.tuned)) if os.path.exists(args.tuned) else {}
    tuned = tuned.get(gpu_name(), {})

    def say(d):
        print(json.dumps(d), flush=True)
    for path in args.files:
        t = time.time()
        say({"begin": path})
        try:
            with torch.no_grad():
                row = measured(path, args, tuned, say)
        except Exception as e:
            if fatal(e):
                raise
            row = {"program": os.path.basename(path)[:-3], "error": "peers: " + repr(e)[:200]}
        say({"row": row, "s": round(time.time() - t, 1)})
        if "compile" in args.modes and not CHECK:
            torch._dynamo.reset()
        if DEVICE == "cuda":
            torch.cuda.empty_cache()


def gpu_name():
    return "cpu" if CHECK else torch.cuda.get_device_name()


def last(cmd):
    try:
        return subprocess.run(cmd, capture_output=True, text=True, check=True).stdout.strip().split("\n")[-1]
    except (OSError, subprocess.CalledProcessError):
        return None


def table(head, rows):
    num = lambda v: "-" if v is None else "%.2f" % v
    out = ["# %s: %s" % (k, json.dumps(v) if isinstance(v, (dict, list)) else v) for k, v in head.items()]
    out.append("%-31s %7s %7s %7s %7s %7s %7s %7s %6s %6s %6s  %s" % ("program", "hot", "cold", "pdl", "peer h", "cold", "pdl", "error", "x hot", "x cold", "x pdl", "best peer, cold"))
    for r in rows:
        if "error" in r:
            out.append("%-31s %s; best peer %s %s" % (r["program"], r["error"], num(r.get("best_peer_us_cold")), r.get("best_peer", "")))
            continue
        h, c, ph, pc = r["ours_us_hot"], r["ours_us_cold"], r.get("best_peer_us_hot"), r.get("best_peer_us_cold")
        d, pd = min(r["ours_pdl_us_cold"] or 1e30, c), r.get("best_peer_pdl_us_cold")
        out.append("%-31s %7s %7s %7s %7s %7s %7s %7.1e %6s %6s %6s  %s" % (r["program"], num(h), num(c), num(d), num(ph), num(pc), num(pd), r["relative_error"], num(ph and ph / h), num(pc and pc / c),
                                                                     num(pd and pd / d), r.get("best_peer", "-")))
    return "\n".join(out) + "\n"


def programs():
    """All programs by the groups of table.py, the anchor before each group and at the end."""
    paths = sorted(glob.glob(os.path.join(ROOT, "examples", "programs", "*.mg"))) + sorted(glob.glob(os.path.join(ROOT, "tests", "bench", "programs", "*.mg")))
    paths = [p for p in paths if not os.path.basename(p).startswith("mirage_")]
    anchor = [p for p in paths if os.path.basename(p) == ANCHOR + ".mg"]
    groups = [[] for _ in tables.GROUPS]
    for p in paths:
        if p not in anchor:
            groups[tables.group({"program": os.path.basename(p)[:-3]})].append(p)
    return sum((anchor + g for g in groups), []) + anchor


def lead(args, more):
    """Runs the programs in a process that is begun again, without the program at hand, where it dies or hangs."""
    begun, rows, log, tuned_new = time.time(), [], [], {}
    tuned = json.load(open(args.tuned)) if os.path.exists(args.tuned) else {}
    head = {"date": str(datetime.date.today()), "command": "tests/bench/best.py " + " ".join(sys.argv[1:]),
            "gpu": last(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]), "nvcc": last(["nvcc", "--version"]), "torch": torch.__version__, "triton": fused.triton.__version__}
    files = list(args.files)
    env = {**os.environ, "PYTHONUNBUFFERED": "1"}
    if args.jobs:
        t = time.time()
        def one(k):
            cmd = [sys.executable, os.path.abspath(__file__), *dict.fromkeys(files), *more, "--work", "--build", "--share", str(k), "--shares", str(args.jobs)]
            try:
                return subprocess.run(cmd, env=env, capture_output=True, text=True, timeout=args.build_limit).stderr[-300:]
            except subprocess.TimeoutExpired:
                return "cut"
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            said = list(pool.map(one, range(args.jobs)))
        print("build: %.0f s %s" % (time.time() - t, [s for s in said if s.strip()][:2]), file=sys.stderr, flush=True)

    def write():
        h = {**head, "seconds": round(time.time() - begun, 1)}
        h["anchor"] = [r.get("anchor") for r in anchors]
        if files and time.time() - begun > args.budget:
            h["not_run"] = [os.path.basename(f)[:-3] for f in files]
        for suffix, text in ((".json", json.dumps({**h, "rows": rows}, indent=1)), (".txt", table(h, rows))):
            with open(args.out + suffix, "w") as f:
                f.write(text)
        if tuned_new:
            tuned.setdefault(head["gpu"].split(",")[0], {}).update(tuned_new)
            with open(args.out + "-tuned.json", "w") as f:
                f.write("{" + ",\n".join("%s: {\n%s\n}" % (json.dumps(gpu), ",\n".join(" %s: %s" % (json.dumps(k), json.dumps(v, separators=(",", ":"))) for k, v in sorted(of.items())))
                                         for gpu, of in tuned.items()) + "}\n")
        return table(h, rows)
    anchors, seen = [], set()
    while files and time.time() - begun < args.budget:
        child = subprocess.Popen([sys.executable, os.path.abspath(__file__), *files, *more, "--work"], env=env, stdout=subprocess.PIPE, stderr=open(args.out + ".err", "a"), text=True)
        while True:
            left = args.budget - (time.time() - begun)
            line = child.stdout.readline() if select.select([child.stdout], [], [], max(1, min(args.patience, left)))[0] else ""
            if not line:
                break
            try:
                d = json.loads(line)
            except ValueError:
                continue
            log.append(d)
            if "tuned" in d:
                tuned_new[d["tuned"]] = d["best"]
            if "row" in d:
                r, files = d["row"], files[1:]
                print("[%5.1f s] %s %s ours %s peer %s (%s) %s" % (time.time() - begun, r["program"], d["s"], r.get("ours_us_cold"), r.get("best_peer_us_cold"), r.get("best_peer"), r.get("error", "")),
                      file=sys.stderr, flush=True)
                if r["program"] in seen:
                    anchors.append({"anchor": {"program": r["program"], "ours_us_cold": r.get("ours_us_cold"), "best_peer_us_cold": r.get("best_peer_us_cold")}})
                else:
                    seen.add(r["program"])
                    rows.append(r)
                write()
        child.kill()
        child.wait()
        if files and time.time() - begun < args.budget:  # it died or hung over the first of what is left
            rows.append({"program": os.path.basename(files[0])[:-3], "error": "peers: ended with status %s" % child.returncode})
            files = files[1:]
    print(write())
    with open(args.out + ".log", "w") as f:
        f.write("\n".join(map(json.dumps, log)))


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="*", metavar="FILE.mg")
    ap.add_argument("--ours", help="directory of shared objects")
    ap.add_argument("--only", default=".")
    ap.add_argument("--modes", default="triton,library,eager,sdpa,compile")
    ap.add_argument("--tune", action="store_true")
    ap.add_argument("--tuned", default=TUNED)
    ap.add_argument("--most", type=int, default=3 if CHECK else 24, help="configurations a stage")
    ap.add_argument("--runs", type=int, default=3)
    ap.add_argument("--budget", type=float, default=500)
    ap.add_argument("--build-limit", type=float, default=150)
    ap.add_argument("--patience", type=float, default=60, help="seconds without a line after which the process is begun again")
    ap.add_argument("--jobs", type=int, default=0, help="processes that compile first")
    ap.add_argument("--out", default=os.path.join(HERE, "results", "best-" + datetime.date.today().isoformat()))
    ap.add_argument("--check", action="store_true")
    for hidden in ("--work", "--build"):
        ap.add_argument(hidden, action="store_true", help=argparse.SUPPRESS)
    for hidden in ("--share", "--shares"):
        ap.add_argument(hidden, type=int, default=1, help=argparse.SUPPRESS)
    args = ap.parse_args()
    args.files = [f for f in args.files or programs() if re.search(args.only, os.path.basename(f)[:-3])]
    if args.work or CHECK:
        return work(args)
    more = ["--modes", args.modes, "--tuned", args.tuned, "--runs", str(args.runs), "--most", str(args.most)] + (["--ours", args.ours] if args.ours else []) + (["--tune"] if args.tune else [])
    return lead(args, more)


if __name__ == "__main__":
    sys.exit(main())
