#!/usr/bin/env python3
"""The PyTorch backend on the GPU that is here: every module of modules.py in float16 and bfloat16, called and in a CUDA graph, against
eager in float64; streams, threads, graphs, memory that changes, sizes that come with the call; and, with --time, times.

  tests/torch/gpu.py [--only REGEX] [--jobs N] [--kept DIR]        last line: `N passed, N failed`
  tests/torch/gpu.py --prepare [--only REGEX] [--kept DIR]         searches and compiles into DIR, without a GPU, of fake tensors
  tests/torch/gpu.py --time [--only REGEX] [--kept DIR] [--modes eager,compile,overhead,autotune,mirage]
    [--out FILE] [--limit S] [--budget S]
DIR (build/torch-gpu) holds what was found, by certificates, and compiled; what is not there is searched and compiled first.
Times end after --limit seconds, of one module after --budget; what was left out is in the table, which comes last."""
import argparse
import copy
import gc
import json
import os
import queue
import re
import subprocess
import sys
import threading
import time
import traceback
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
KEPT = os.path.join(HERE, "..", "..", "build", "torch-gpu")


def arguments():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--only", default="")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--kept", default=KEPT)
    p.add_argument("--prepare", action="store_true")
    p.add_argument("--time", action="store_true")
    p.add_argument("--modes", default="eager,compile,overhead,mirage")
    p.add_argument("--out", default="build/torch-gpu.json")
    p.add_argument("--limit", type=float, default=1e9)
    p.add_argument("--budget", type=float, default=1e9)
    p.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    return p.parse_args()


A = arguments()
os.environ["XDG_CACHE_HOME"] = os.path.abspath(A.kept)
warnings.filterwarnings("ignore", message=".*triton not found.*")
sys.path.insert(0, HERE)


def load():
    """PyTorch, late: the process that only hands out the tests needs none of it."""
    global torch, F, nn, mirage_torch, execute, MODULES
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    import mirage_torch
    from mirage_torch import execute
    from modules import MODULES
    torch.set_num_threads(1)


def options(limit=1.0, **more):
    """Link 2 of 67 modules' kernels would take an hour; what is asked for by check=True has it."""
    return {"time_limit": limit, "check": False, "cache": os.path.join(os.path.abspath(A.kept), "search"), **more}


# ---- what is tested

TYPES = ("float16", "bfloat16")
NEAR = {"float16": 2e-3, "bfloat16": 1.6e-2}  # beside twice eager's own distance
TESTS = {}


def test(f):
    TESTS[f.__name__] = f
    return f


def names():
    with open(os.path.join(HERE, "modules.py"), encoding="utf-8") as f:
        modules = re.findall(r"^@case\(.*?^def (\w+)\(", f.read(), re.M | re.S)
    return [f"{m} {t}" for t in TYPES for m in modules] + list(TESTS)


def flat(out):
    return list(out) if isinstance(out, (tuple, list)) else [out]


def placed(x, dtype, device="cuda"):
    """x there, as it lies: its strides and where it begins too."""
    room = x.untyped_storage().nbytes() // x.element_size()
    whole = x.as_strided((room,), (1,), 0).to(device)
    return (whole.to(dtype) if x.is_floating_point() else whole).as_strided(x.shape, x.stride(), x.storage_offset())


def compiled(model, report, mode="measure", **more):
    return torch.compile(model, backend=lambda g, x: mirage_torch.backend(g, x, mode, options(**more), report))


def distance(got, want):
    return ((got.double() - want).abs().max() / max(1.0, want.abs().max().item())).item() if got.numel() else 0.0


def held_against(got, eager, exact, near, what=""):
    got, eager, exact = flat(got), flat(eager), flat(exact)
    assert len(got) == len(eager) == len(exact)
    for k, (g, e, x) in enumerate(zip(got, eager, exact)):
        assert g.dtype == e.dtype and g.shape == e.shape and g.stride() == e.stride(), \
            f"{what} result {k}: {g.dtype} {g.stride()}, eager has {e.dtype} {e.stride()}"
        if not x.is_floating_point():
            assert torch.equal(g, x) or torch.equal(g, e), f"{what} result {k}: other indices"
            continue
        ours, theirs = distance(g, x), distance(e, x)
        assert ours <= near + 2 * theirs, f"{what} result {k}: {ours:.2e} from float64, eager {theirs:.2e}"


def taken_by_programs(report, calls):
    assert not report.declined and report.calls, str(report)
    for p, c in zip(report.programs, report.calls):
        assert p["ready"] and p["calls"] == {"program": calls, "eager": 0}, str(report)
        assert all(r["verdict"] == "EQUAL" for r in p["ranges"]), str(report)
        assert p["runs"] == "emitted kernels on the tensors' device"
        assert c.found.program.compiled


def module_case(name, dtype):
    case = MODULES[name]
    model, inputs = case.make()
    model, inputs = model.eval().to("cuda", dtype), [placed(x, dtype) for x in inputs]
    return case, model, inputs


def marked(case, inputs):
    for k, d in case.dynamic:
        torch._dynamo.mark_dynamic(inputs[k], d, min=2, max=64)


def graphed(run, inputs):
    """A CUDA graph of run(*inputs) after a warm-up, and its results."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        run(*inputs), run(*inputs)
    torch.cuda.current_stream().wait_stream(side)
    g = torch.cuda.CUDAGraph()
    with torch.cuda.graph(g):
        out = run(*inputs)
    return g, flat(out)


def test_module(name, kind):
    dtype = getattr(torch, kind)
    case, model, inputs = module_case(name, dtype)
    exact, report = copy.deepcopy(model).double(), mirage_torch.Report()
    run, plain = compiled(model, report), torch.compile(model, backend="eager")
    marked(case, inputs)
    calls = [inputs] + ([[placed(x, dtype) for x in case.again()]] if case.again else [])
    doubled = lambda xs: [x.double() if x.is_floating_point() else x for x in xs]
    for given in calls:
        before = [x.clone() for x in given]
        held_against(run(*given), plain(*given), exact(*doubled(given)), NEAR[kind])
        assert all(torch.equal(a, b) for a, b in zip(given, before))  # inputs are as they were
    assert report.graphs == 1, str(report)
    taken_by_programs(report, len(calls))
    g, out = graphed(run, inputs)
    for x in inputs:  # a replay is of what stands there now
        if x.is_floating_point():
            x.copy_(torch.randn(x.shape, device="cuda").to(dtype))
    for _ in range(3):
        g.replay()
    again = flat(run(*inputs))
    for k, (a, b) in enumerate(zip(out, again)):
        assert torch.equal(a, b), f"replay and call differ in result {k} by {distance(a, b.double()):.2e}"
    held_against(again, plain(*inputs), exact(*doubled(inputs)), NEAR[kind], "other values:")


def norm_linear(x, g, w):
    return F.rms_norm(x, (x.shape[-1],), g, 1e-6) @ w


def three(m=8, k=256, n=128, dtype=None):
    return [torch.randn(s, device="cuda", dtype=dtype or torch.float16) for s in ((m, k), (k,), (k, n))]


def two_products(x, a, b):
    """As written two kernels and what is between them: a workspace."""
    return ((x @ a).relu() @ b).relu()


def products(dtype=None):
    return [torch.randn(s, device="cuda", dtype=dtype or torch.float16) / 8 for s in ((64, 64), (64, 512), (512, 64))]


def near(got, want, tolerance=1e-2):
    assert distance(got, want.double()) <= tolerance, f"{distance(got, want.double()):.2e}"


@test
def on_the_current_stream():
    """What a side stream has yet to make is what a call there reads, and what it makes is there for what follows on it."""
    xs, report = three(), mirage_torch.Report()
    run = compiled(norm_linear, report)
    run(*xs)
    side, late = torch.cuda.Stream(), torch.randn_like(xs[0])
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
        xs[0].copy_(late)
        got = run(*xs) * 1
    side.synchronize()
    near(got, norm_linear(late, *xs[1:]))
    taken_by_programs(report, 2)


@test
def workspaces_of_streams():
    """Launches that overlap have a workspace each; what a graph captured has its own."""
    report, sets = mirage_torch.Report(), [products() for _ in range(4)]
    run = compiled(two_products, report, "written")
    run(*sets[0])
    found = report.calls[0].found
    assert found.program.workspace, "no workspace: it is to have one"
    streams = [torch.cuda.Stream() for _ in sets]
    torch.cuda.synchronize()
    got = [[] for _ in sets]
    for _ in range(20):
        for k, s in enumerate(streams):
            with torch.cuda.stream(s):
                got[k].append(run(*sets[k]))
    graphs = [graphed(run, xs) for xs in sets[:2]]
    kept = len(found.workspaces)
    torch.cuda.synchronize()
    for _ in range(20):
        for (g, _), s in zip(graphs, streams):
            with torch.cuda.stream(s):
                g.replay()
        with torch.cuda.stream(streams[2]):
            got[2].append(run(*sets[2]))
    torch.cuda.synchronize()
    for k, xs in enumerate(sets):
        for y in got[k]:
            near(y, two_products(*xs))
    for (_, out), xs in zip(graphs, sets):
        near(out[0], two_products(*xs))
    assert kept == len(found.workspaces) >= len(streams) + 1


@test
def threads_on_one_stream():
    """Kernels of two calls in one workspace do not mix."""
    report, sets = mirage_torch.Report(), [products() for _ in range(4)]
    run = compiled(two_products, report, "written")
    run(*sets[0])
    c, bad = report.calls[0], []

    def many(k):
        with torch.no_grad():
            want = two_products(*sets[k])
            for _ in range(200):
                if distance(c(*sets[k])[0], want.double()) > 1e-2:
                    bad.append(k)
    workers = [threading.Thread(target=many, args=(k,)) for k in range(4)]
    [t.start() for t in workers], [t.join() for t in workers]
    assert not bad, f"{len(bad)} of 800 calls"


@test
def parameters_change_in_place():
    m, x = nn.Sequential(nn.Linear(64, 64), nn.SiLU()).half().cuda(), torch.randn(8, 64, device="cuda").half()
    report = mirage_torch.Report()
    run = compiled(m, report)
    run(x)
    g, out = graphed(run, [x])
    m[0].weight.mul_(2), m[0].bias.normal_()
    g.replay()
    near(run(x), m(x)), near(out[0], m(x))
    m[0].weight = nn.Parameter(torch.randn(64, 64, device="cuda").half(), requires_grad=False)
    near(run(x), m(x))
    assert report.graphs <= 2


@test
def sizes_without_recompilation():
    report, (x, g, w) = mirage_torch.Report(), three()
    run = compiled(norm_linear, report)
    for n in (2, 64, 3, 17, 33, 48, 63):
        x = torch.randn(n, 256, device="cuda").half()
        torch._dynamo.mark_dynamic(x, 0, min=2, max=64)
        near(run(x, g, w), norm_linear(x, g, w))
    assert report.graphs == 1 and len(report.calls) == 1
    taken_by_programs(report, 7)
    graphs = []
    for n in (4, 40):
        x = torch.randn(n, 256, device="cuda").half()
        graphs.append((graphed(run, (x, g, w)), x))
    for (graph, out), x in graphs:
        x.normal_()
        graph.replay()
        near(out[0], norm_linear(x, g, w))
    assert report.graphs == 1


@test
def memory_as_it_lies():
    """Transposed, in steps, spread, at an address that is no multiple of 16 bytes."""
    base = torch.randn(40, 300, device="cuda").half()
    g, w = torch.randn(256, device="cuda").half(), torch.randn(256, 128, device="cuda").half()
    w_turned = torch.randn(128, 256, device="cuda").half().t()
    w_odd = torch.randn(256 * 128 + 1, device="cuda").half()[1:].view(256, 128)
    for x in (base[:8, 1:257], base[3:11, 3:259], base[::5, :256], base[0, :256].expand(8, 256),
              torch.randn(256, 8, device="cuda").half().t()):
        for v in (w, w_turned, w_odd):
            torch._dynamo.reset()
            report = mirage_torch.Report()
            near(compiled(norm_linear, report)(x, g, v), norm_linear(x, g, v))
            taken_by_programs(report, 1)
    torch._dynamo.reset()
    report, run = mirage_torch.Report(), None
    run = compiled(norm_linear, report)
    run(base.flatten()[:2048].view(8, 256), g, w)
    x = base.flatten()[1:2049].view(8, 256)  # the same strides, and two bytes further: no guard tells
    near(run(x, g, w), norm_linear(x, g, w))
    graph, out = graphed(run, (x, g, w))
    x.normal_(), graph.replay()
    near(out[0], norm_linear(x, g, w))
    assert report.graphs == 1


@test
def memory_that_is_changed_between():
    def fn(x, cache):
        a = (x * 2).tanh()
        cache[1:3] = a[:2] * 3
        b = (cache * 2).tanh() + x
        y = F.silu(b) * 2
        return a, b, y, y.view(-1), cache.t()
    x, report = torch.randn(4, 8, device="cuda"), mirage_torch.Report()
    one, two = torch.zeros(4, 8, device="cuda"), torch.zeros(4, 8, device="cuda")
    got, want = compiled(fn, report)(x, one), fn(x, two)
    for a, b in zip(got, want):
        near(a, b, 1e-4)
    near(one, two, 1e-4)
    assert got[4].data_ptr() == one.data_ptr() and got[3].data_ptr() == got[2].data_ptr()


@test
def operator():
    text = """program p
input x1 : f16[8, 256]
input x2 : f16[256]
input x3 : f16[256, 128] @ [1, 0]
t1 = rms_norm(x1, x2, eps=1/1000000)
t2 = matmul(t1, x3)
output t2
"""
    x, g, w = three()
    for v in (w, w.t().contiguous().t()):
        near(torch.ops.mirage.run(text, [x, g, v])[0], norm_linear(x, g, v))
    torch.library.opcheck(torch.ops.mirage.run.default, (text, [x, g, w]), test_utils=("test_schema", "test_faketensor"))
    picked = "program p\ninput T : f16[8, 64]\ninput I : i32[3]\nG = gather(T, I)\nY = scale(G, 2)\noutput Y\n"
    table, index = torch.randn(8, 64, device="cuda").half(), torch.tensor([7, 0, 7], device="cuda")
    for i in (index, index.int(), torch.cat([index, index])[1:4].int()):
        near(torch.ops.mirage.run(picked, [table, i])[0], table[i.long()] * 2, 0)
    try:
        torch.ops.mirage.run(text, [x, g.cpu(), w])
    except RuntimeError as e:
        assert "expected float16[256] on cuda:0, found float16[256] on cpu" in str(e), e
    else:
        raise AssertionError("operands of two devices are taken")


@test
def one_function():
    xs = three()
    fast = mirage_torch.superoptimize(norm_linear, *xs, options=options())
    near(fast(*xs), norm_linear(*xs))
    assert mirage_torch.recheck(fast.certificate) == "EQUAL" and "emitted kernels on" in fast.facts["runs"]


@test
def explain_times():
    text = str(mirage_torch.explain(norm_linear, *three(), options=options(check=True)))
    us = re.search(r"measured: ([0-9.]+) us a call on NVIDIA", text)
    assert us and 0.5 < float(us.group(1)) < 500 and "link 2: SAME over" in text, text


@test
def fast_is_eager_until_it_is_ready():
    report, xs, gate = mirage_torch.Report(), three(16), threading.Event()
    search = execute.Found.search
    execute.Found.search = lambda self: (gate.wait(60), search(self))
    try:
        run = compiled(norm_linear, report, "fast")
        first = run(*xs)
        gate.set()
        mirage_torch.wait()
    finally:
        execute.Found.search = search
    near(first, norm_linear(*xs), 0), near(run(*xs), norm_linear(*xs))
    assert report.calls[0].calls == {"program": 1, "eager": 1}, str(report)


@test
def inductor_runs_the_rest():
    for name in ("mlp_prenorm", "moe_top2"):
        torch._dynamo.reset()
        case, model, inputs = module_case(name, torch.float16)
        report = mirage_torch.Report()
        run = compiled(model, report, rest="inductor")
        near(run(*inputs), model(*inputs))
        assert report.calls and all(c.calls["program"] and not c.calls["eager"] for c in report.calls), str(report)
        g, out = graphed(run, inputs)
        g.replay()
        near(out[0], model(*inputs))


@test
def autocast_and_inference_mode():
    m, report = nn.Sequential(nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 64)).cuda(), mirage_torch.Report()
    x = torch.randn(8, 64, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        got, want = compiled(m, report)(x), m(x)
    assert got.dtype == want.dtype
    near(got, want, 3e-2)
    torch._dynamo.reset()
    report, m = mirage_torch.Report(), m.half()
    run = compiled(m, report)
    with torch.inference_mode():
        near(run(x.half()), m(x.half()))
    taken_by_programs(report, 1)


@test
def nothing_waits_and_nothing_grows():
    report, xs = mirage_torch.Report(), products()
    run = compiled(two_products, report, "written")
    run(*xs)
    torch.cuda.synchronize()
    had = torch.cuda.memory_allocated()
    torch.cuda.set_sync_debug_mode("error")
    try:
        for _ in range(50):
            run(*xs)
    finally:
        torch.cuda.set_sync_debug_mode("default")
    assert torch.cuda.memory_allocated() == had


@test
def products_of_float32():
    """Kernels have them as tf32: theirs where PyTorch may, too."""
    xs = three(dtype=torch.float32)
    exact = norm_linear(*[x.double() for x in xs])
    report = mirage_torch.Report()
    near(compiled(norm_linear, report)(*xs), exact, 1e-5)
    assert any("is 'highest'" in why for *_, why in report.nodes), str(report)
    torch._dynamo.reset()
    torch.set_float32_matmul_precision("high")
    try:
        report = mirage_torch.Report()
        near(compiled(norm_linear, report)(*xs), exact, 5e-3)
        taken_by_programs(report, 1)
    finally:
        torch.set_float32_matmul_precision("highest")


@test
def kernels_outlive_their_program():
    """A CUDA graph of a program that nobody holds any more."""
    xs, report = three(24), mirage_torch.Report()
    g, out = graphed(compiled(norm_linear, report), xs)
    torch._dynamo.reset(), mirage_torch.forget()
    report = None
    gc.collect()
    xs[0].normal_()
    g.replay()
    torch.cuda.synchronize()
    near(out[0], norm_linear(*xs))


@test
def autograd_is_declined():
    m, report = nn.Linear(64, 64).cuda(), mirage_torch.Report()
    with torch.enable_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        compiled(nn.Sequential(m, nn.SiLU()), report)(torch.randn(8, 64, device="cuda")).sum().backward()
    assert m.weight.grad is not None and "autograd" in report.declined[0][1]


# ---- Hugging Face's classes, where they are installed: random weights, prefill, and decode with a static cache

def hugging(make, inputs):
    """No graph break that others do not have, and eager's results."""
    import transformers  # noqa: F401: a skip without it
    model = make(transformers).half().cuda().eval()
    exact = copy.deepcopy(model).double()
    seen = lambda out: [t for t in out.values() if isinstance(t, torch.Tensor)][:2]
    counted, report = [], mirage_torch.Report()
    torch.compile(model, backend=lambda g, x: counted.append(g) or g.forward)(**inputs)
    torch._dynamo.reset()
    got = seen(compiled(model, report)(**inputs))
    doubled = {k: v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for k, v in inputs.items()}
    held_against(got, seen(model(**inputs)), seen(exact(**doubled)), NEAR["float16"])
    assert report.graphs == len(counted), f"{report.graphs} graphs, others have {len(counted)}"
    assert report.calls and all(c.calls["program"] for c in report.calls), str(report)[:3000]
    return len(report.calls)


def words(n=12):
    return torch.randint(0, 96, (2, n), device="cuda")


SMALL = dict(vocab_size=96, hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4)


@test
def hugging_llama():
    hugging(lambda t: t.LlamaForCausalLM(t.LlamaConfig(**SMALL, num_key_value_heads=2)),
            {"input_ids": words(), "use_cache": False})


@test
def hugging_qwen3():
    hugging(lambda t: t.Qwen3ForCausalLM(t.Qwen3Config(**SMALL, num_key_value_heads=2, head_dim=16)),
            {"input_ids": words(), "use_cache": False})


@test
def hugging_bert():
    hugging(lambda t: t.BertModel(t.BertConfig(**SMALL)), {"input_ids": words()})


@test
def hugging_vit():
    own = {k: v for k, v in SMALL.items() if k != "vocab_size"}
    hugging(lambda t: t.ViTModel(t.ViTConfig(**own, image_size=32, patch_size=8)),
            {"pixel_values": torch.randn(2, 3, 32, 32, device="cuda").half()})


@test
def hugging_llama_decode():
    """Steps of a static cache, greedy, against eager's."""
    import transformers as t
    model = t.LlamaForCausalLM(t.LlamaConfig(**SMALL, num_key_value_heads=2)).half().cuda().eval()
    prompt, report = words(6), mirage_torch.Report()

    def logits(step):
        cache = t.StaticCache(config=model.config, max_cache_len=16)
        out = [model(prompt, past_key_values=cache, cache_position=torch.arange(6, device="cuda")).logits[:, -1:]]
        for k in range(4):
            tokens = torch.full((2, 1), 5 + k, device="cuda")
            out.append(step(tokens, past_key_values=cache, cache_position=torch.tensor([6 + k], device="cuda")).logits)
        return torch.cat(out, 1)
    want = logits(model)
    near(logits(compiled(model, report)), want)
    assert report.calls and all(c.calls["program"] for c in report.calls), str(report)[:3000]


# ---- hand out the tests, to processes that an error of CUDA ends

def run_test(name):
    torch._dynamo.reset()
    torch.manual_seed(1)
    m = name.split()
    with torch.set_grad_enabled(False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if m[0] == "build":
            build(name[6:])
        elif len(m) == 2:
            test_module(*m)
        else:
            TESTS[name]()
    torch.cuda.synchronize()


def serve():
    load()
    for line in sys.stdin:
        name, said, began = line.strip(), "", time.time()
        try:
            run_test(name)
        except ModuleNotFoundError as e:
            said = f"skipped: {e}"
        except BaseException:
            said = traceback.format_exc()
        sys.__stdout__.write(json.dumps([name, said, time.time() - began]) + "\n")
        sys.__stdout__.flush()
        if "CUDA error" in said or "illegal memory" in said:
            os._exit(1)


class Child:
    def __init__(self):
        command = [sys.executable, os.path.abspath(__file__), "--serve", "--kept", A.kept, "--modes", A.modes]
        self.p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def ask(self, name):
        late = threading.Timer(240, self.p.kill)
        late.start()
        try:
            self.p.stdin.write(name + "\n"), self.p.stdin.flush()
            for line in self.p.stdout:
                if line.startswith("["):
                    return json.loads(line)
        except OSError:
            pass
        finally:
            late.cancel()
        return [name, "its process ended", 0]


def test_all():
    todo, done, lock = queue.Queue(), [], threading.Lock()
    chosen = [n for n in names() if re.search(A.only, n)]
    for n in sorted(chosen, key=lambda n: (" " in n, not n.startswith("hugging"))):  # what takes longest first
        todo.put(n)

    def work():
        child = Child()
        while True:
            try:
                name = todo.get_nowait()
            except queue.Empty:
                child.p.stdin.close()
                return
            result = child.ask(name)
            with lock:
                done.append(result)
            if child.p.poll() is not None or "CUDA error" in result[1] or "its process ended" in result[1]:
                child.p.kill()
                child = Child()
    workers = [threading.Thread(target=work) for _ in range(max(1, min(A.jobs, len(chosen))))]
    [w.start() for w in workers], [w.join() for w in workers]
    failed = 0
    for name, said, seconds in sorted(done):
        if said.startswith("skipped"):
            print(f"skipped {name}: {said[9:]}")
        elif said:
            failed += 1
            print(f"not ok - {name}\n" + "\n".join("    " + line for line in said.splitlines()[-14:]))
    slow = sorted(done, key=lambda d: -d[2])[:5]
    print("slowest: " + ", ".join(f"{n} {s:.1f} s" for n, _, s in slow))
    print(f"{sum(not said for _, said, _ in done)} passed, {failed} failed")
    return failed


# ---- times: a decode step's modules of Llama-3-8B, bf16, each with weights of its own

HIDDEN, MIDDLE, HEADS, GROUPS, WIDTH, CONTEXT = 4096, 14336, 32, 8, 128, 1024
APART = 256 << 20  # bytes that are read before a call reads the same weights again: four times the L2 cache
GRAPH_CALLS = 32  # at least so many in a graph: a model's layers


def timed_modules():
    class NormLinear(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.norm = nn.RMSNorm(HIDDEN, eps=1e-5)
            self.linear = nn.Linear(HIDDEN, (HEADS + 2 * GROUPS) * WIDTH, bias=False)

        def forward(self, x):
            return self.linear(self.norm(x))

    class MLP(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.norm, self.down = nn.RMSNorm(HIDDEN, eps=1e-5), nn.Linear(MIDDLE, HIDDEN, bias=False)
            self.gate, self.up = nn.Linear(HIDDEN, MIDDLE, bias=False), nn.Linear(HIDDEN, MIDDLE, bias=False)

        def forward(self, x):
            h = self.norm(x)
            return x + self.down(F.silu(self.gate(h)) * self.up(h))

    class Attention(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.register_buffer("keys", torch.randn(n, GROUPS, CONTEXT, WIDTH))
            self.register_buffer("values", torch.randn(n, GROUPS, CONTEXT, WIDTH))

        def forward(self, x):
            q = x.view(-1, HEADS, 1, WIDTH)
            return F.scaled_dot_product_attention(q, self.keys, self.values, enable_gqa=True).view(-1, HIDDEN)

    class Block(nn.Module):
        def __init__(self, n):
            super().__init__()
            self.first, self.attention, self.mlp = NormLinear(n), Attention(n), MLP(n)
            self.out = nn.Linear(HIDDEN, HIDDEN, bias=False)
            angle = (CONTEXT - 1) * 5e5 ** (-2 * torch.arange(WIDTH // 2) / WIDTH)
            self.register_buffer("c", angle.cos().repeat(2)), self.register_buffer("s", angle.sin().repeat(2))
            self.register_buffer("place", torch.tensor([CONTEXT - 1]))

        def turned(self, x):
            a, b = x.chunk(2, -1)
            return x * self.c + torch.cat((-b, a), -1) * self.s

        def forward(self, x):
            q, k, v = self.first(x).split((HEADS * WIDTH, GROUPS * WIDTH, GROUPS * WIDTH), -1)
            self.attention.keys.index_copy_(2, self.place, self.turned(k.view(-1, GROUPS, 1, WIDTH)))
            self.attention.values.index_copy_(2, self.place, v.view(-1, GROUPS, 1, WIDTH))
            x = x + self.out(self.attention(self.turned(q.view(-1, HEADS, 1, WIDTH)).flatten(1)))
            return self.mlp(x)
    return {"norm_linear": NormLinear, "attention": Attention, "mlp": MLP, "block": Block}


def weights(model):
    return sum(t.nbytes for t in [*model.parameters(), *model.buffers()])


def timed_set(name):
    """Modules of one kind, enough of them that a call's weights have left the L2 cache, and their input."""
    kind, n = name.split()
    make, n = timed_modules()[kind], int(n)
    torch.manual_seed(1)
    with torch.device("cuda"):
        layers = [make(n).bfloat16().eval()]
        layers += [make(n).bfloat16().eval() for _ in range(-(-APART // weights(layers[0])))]
    return layers, torch.randn(n, HIDDEN, device="cuda").bfloat16()


def timed_names():
    return [f"{k} {n}" for k in ("block", "mlp", "attention", "norm_linear") for n in (1, 8)]


def runner(mode, report):
    f = lambda m, x: m(x)
    if mode == "eager":
        return f
    if mode == "mirage":
        return compiled(f, report, limit=20.0, threads=4)
    how = {"compile": None, "overhead": "reduce-overhead", "autotune": "max-autotune-no-cudagraphs"}
    return torch.compile(f, mode=how[mode])


def build(name):
    """Leaves what compilers keep: the timed process finds it."""
    layers, x = timed_set(name)
    for mode in A.modes.split(","):
        torch._dynamo.reset()
        runner(mode, mirage_torch.Report())(layers[0], x)


def microseconds(go, reps, calls):
    """Medians a call."""
    stream = torch.cuda.current_stream()
    for _ in range(3):
        go()
    e = [torch.cuda.Event(enable_timing=True) for _ in range(reps + 1)]
    torch.cuda.synchronize()
    e[0].record(stream)
    for k in range(reps):
        go()
        e[k + 1].record(stream)
    torch.cuda.synchronize()
    return 1000 * sorted(e[k].elapsed_time(e[k + 1]) for k in range(reps))[reps // 2] / calls


def host_microseconds(go, reps, calls):
    """Of the host alone, medians a call: the device is idle when each begins, and nobody waits for it."""
    took = []
    for _ in range(reps):
        torch.cuda.synchronize()
        began = time.perf_counter()
        go()
        took.append(time.perf_counter() - began)
    torch.cuda.synchronize()
    return 1e6 * sorted(took)[reps // 2] / calls


def timed(name, mode):
    torch._dynamo.reset()
    layers, x = timed_set(name)
    report, began = mirage_torch.Report(), time.time()
    f = runner(mode, report)
    torch.cuda.synchronize()
    out = f(layers[0], x).clone()
    torch.cuda.synchronize()
    row = {"module": name, "mode": mode, "ready_s": round(time.time() - began, 1), "layers": len(layers)}
    exact = copy.deepcopy(layers[0]).double()(x.double())
    row["error"], row["eager_error"] = distance(out, exact), distance(layers[0](x), exact)
    assert row["error"] <= NEAR["bfloat16"] + 2 * row["eager_error"], row
    del exact

    def all_layers():
        for m in layers:
            f(m, x)
    row["call_us"] = microseconds(all_layers, 20, len(layers))
    row["host_us"] = host_microseconds(all_layers, 20, len(layers))
    if mode != "overhead":  # that is a graph already
        rounds = -(-GRAPH_CALLS // len(layers))  # a graph's own launch is no call's time
        g, _ = graphed(lambda: [f(m, x) for _ in range(rounds) for m in layers], ())
        row["graph_us"] = microseconds(g.replay, 20, rounds * len(layers))
    if mode == "mirage":
        row["programs"] = [{**{k: p[k] for k in ("text", "state", "calls", "ranges")},
                            "found": c.found.program.found() if p["ready"] else ""}
                           for p, c in zip(report.programs, report.calls)]
    return row


def time_all():
    """First all compilations, side by side; then the times, one after the other."""
    began, rows = time.time(), []
    chosen = [n for n in timed_names() if re.search(A.only, n)]
    children = [threading.Thread(target=lambda n=n: print_failure(Child().ask("build " + n))) for n in chosen]
    [c.start() for c in children], [c.join() for c in children]
    print(f"compiled in {time.time() - began:.0f} s", flush=True)
    load()
    print(f"# gpu: {torch.cuda.get_device_name()}, torch {torch.__version__}; bf16, {CONTEXT} tokens in the cache; "
          "microseconds a call, medians of 20")
    with torch.set_grad_enabled(False), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in chosen:
            line, started = f"{n:<14}", time.time()
            for mode in A.modes.split(","):
                if time.time() - began > A.limit or time.time() - started > A.budget:
                    line += f"  {mode} left out"
                    rows.append({"module": n, "mode": mode, "failed": "left out"})
                    continue
                try:
                    rows.append(timed(n, mode))
                except Exception as e:
                    print("\n".join(traceback.format_exc().splitlines()[-8:]))
                    rows.append({"module": n, "mode": mode, "failed": str(e)[:300]})
                    continue
                r = rows[-1]
                in_graph = f"{r['graph_us']:.1f} in a graph, " if "graph_us" in r else ""
                line += f"  {mode} {in_graph}{r['call_us']:.1f} called, {r['ready_s']} s, {r['error']:.1e};"
            print(line, flush=True)
            with open(A.out, "w", encoding="utf-8") as f:
                json.dump(rows, f, indent=1)
    print(f"all in {time.time() - began:.0f} s")
    print(table(rows))


def table(rows):
    """A line a module and mode: in a graph, as called, of the host alone; or why not."""
    said = [f"{'module':<14} {'mode':<9} {'graph us':>9} {'call us':>9} {'host us':>9}"]
    for r in rows:
        us = [f"{r[k]:9.1f}" if k in r else f"{'-':>9}" for k in ("graph_us", "call_us", "host_us")]
        said.append(f"{r['module']:<14} {r['mode']:<9} " + (" ".join(us) if "failed" not in r else " ".join(r["failed"].split())[:90]))
    return "\n".join(said)


def print_failure(result):
    if result[1]:
        print(f"not built - {result[0]}\n" + "\n".join(result[1].splitlines()[-10:]))


# ---- without a GPU: what the modules become, searched and compiled

def prepare():
    """On fake tensors of a GPU: their programs are what they are on one."""
    load()
    from torch._subclasses.fake_tensor import FakeTensorMode
    torch.cuda.get_device_capability = lambda device=None: (9, 0)
    torch.cuda.get_device_name = lambda device=None: "NVIDIA H200"

    def fake(t, dtype=None):
        dtype = dtype if dtype and t.is_floating_point() else t.dtype
        return torch.empty_strided(t.shape, t.stride(), dtype=dtype, device="cuda")

    def made(model, inputs, dtype, dynamic, limit):
        report = mirage_torch.Report()
        with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for m in model.modules():
                for k, p in list(m._parameters.items()):
                    m._parameters[k] = p if p is None else nn.Parameter(fake(p, dtype), requires_grad=False)
                for k, p in list(m._buffers.items()):
                    m._buffers[k] = p if p is None else fake(p, dtype)
            inputs = [fake(x, dtype) for x in inputs]
            for k, d in dynamic:
                torch._dynamo.mark_dynamic(inputs[k], d, min=2, max=64)
            compiled(model, report, limit=limit)(*inputs)
        for p in report.programs:
            if not p["ready"]:
                print(f"  {p['state']}\n{p['text']}")
        return report
    for name in names():
        if A.time or " " not in name or not re.search(A.only, name):
            continue
        torch._dynamo.reset()
        torch.manual_seed(1)
        began, case = time.time(), MODULES[name.split()[0]]
        model, inputs = case.make()
        report = made(model.eval(), inputs, getattr(torch, name.split()[1]), case.dynamic, 1.0)
        print(f"{name}: {len(report.calls)} programs, {time.time() - began:.1f} s", flush=True)
    for name in timed_names():
        if not A.time or not re.search(A.only, name):
            continue
        torch._dynamo.reset()
        began, (kind, n) = time.time(), name.split()
        with torch.device("meta"):
            model = timed_modules()[kind](int(n))
        x = torch.empty(int(n), HIDDEN, device="meta")
        report = made(model.eval(), [x], torch.bfloat16, (), min(A.limit, 20.0))
        print(f"{name}: {time.time() - began:.1f} s\n{report}", flush=True)


def main():
    if A.serve:
        return serve()
    if A.prepare:
        return prepare()
    if A.time:
        return time_all()
    return test_all() > 0


if __name__ == "__main__":
    sys.exit(main())
