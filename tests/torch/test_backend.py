"""The package as it is installed: entry point, modes, cache, memory that is changed or shared, its operator."""
import gc
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
import types
import warnings

import pytest
import torch
import torch.nn as nn
import torch.nn.functional as F

import mirage_torch
from mirage_torch import execute, library
from test_modules import compiled

RMSNORM = """program p
input x1 : f32[4, 16]
input x2 : f32[16]
input x3 : f32[16, 8]
t1 = rms_norm(x1, x2, eps=1/1000000)
t2 = matmul(t1, x3)
output t2
"""


def norm_linear(x, g, w):
    return F.rms_norm(x, (16,), g, 1e-6) @ w


def three():
    return torch.randn(4, 16), torch.randn(16), torch.randn(16, 8)


def test_backend_is_registered(options):
    assert "mirage" in torch._dynamo.list_backends(exclude_tags=())
    xs = three()
    run = torch.compile(norm_linear, backend="mirage", options={**options, "mode": "measure"})
    with torch.no_grad():
        torch.testing.assert_close(run(*xs), norm_linear(*xs), rtol=1e-5, atol=1e-5)


def test_modes_are_said_as_others_are():
    xs = three()
    run = torch.compile(norm_linear, backend="mirage", mode="written")
    torch.testing.assert_close(run(*xs), norm_linear(*xs), rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(not os.environ.get("TORCH_SOAK"), reason="Inductor compiles C++: make torch-soak")
@pytest.mark.parametrize("name", ["mlp_prenorm", "vit_block", "moe_top2", "dynamic_batch"])
def test_inductor_runs_the_rest(name, options):
    from modules import MODULES
    case = MODULES[name]
    model, inputs = case.make()
    model.eval()
    report = mirage_torch.Report()
    for k, d in case.dynamic:
        torch._dynamo.mark_dynamic(inputs[k], d, min=2, max=64)
    run = compiled(model, report, {**options, "rest": "inductor"})
    with torch.no_grad():
        for given in [inputs] + ([case.again()] if case.again else []):
            torch.testing.assert_close(run(*given), model(*given), rtol=1e-4, atol=1e-5)
    assert report.calls and all(c.calls["program"] and not c.calls["eager"] for c in report.calls)


def test_explain_says_it_all(options):
    report = mirage_torch.explain(lambda x, g, w: norm_linear(x, g, w).cumsum(0), *three(), options=options)
    text = str(report)
    for part in ("program 0", "EQUAL, delta <= 2^-", "predicted ", "as written ", "no rule for aten.cumsum.default",
                 "evaluated by the library over float64 on the CPU", "measured: no",
                 "t1 = rms_norm(x1, x2, eps=1/1000000)"):
        assert part in text, part
    assert [(op, where) for _, _, op, where, _ in report.nodes] == [
        ("aten.rms_norm.default", "program 0"), ("aten.matmul.default", "program 0"),
        ("aten.cumsum.default", "PyTorch")]
    p = report.programs[0]["ranges"][0]
    assert p["verdict"] == "EQUAL" and p["log2_delta"] < -64
    assert 0 < p["predicted_us"] < report.programs[0]["written_us"]


def test_superoptimize(options):
    xs = three()
    fast = mirage_torch.superoptimize(norm_linear, *xs, options=options)
    torch.testing.assert_close(fast(*xs), norm_linear(*xs), rtol=1e-5, atol=1e-5)
    assert "kernel grid=" in fast.found and fast.found.startswith("# verdict: EQUAL")
    assert library.recheck(fast.certificate) == "EQUAL"
    broken = fast.certificate.replace("scale(", "add_scalar(", 1)
    with pytest.raises(mirage_torch.MirageError):
        library.recheck(broken)
    cu = fast._program().emit()
    assert "_launch(" in cu and "MG_KERNEL(" in cu


def test_operator(options):
    xs = three()
    out, = torch.ops.mirage.run(RMSNORM, list(xs))
    torch.testing.assert_close(out, norm_linear(*xs), rtol=1e-5, atol=1e-5)
    torch.library.opcheck(torch.ops.mirage.run.default, (RMSNORM, list(xs)),
                          test_utils=("test_schema", "test_faketensor"))
    with pytest.raises(RuntimeError, match="the program takes 3 tensors, found 2"):
        torch.ops.mirage.run(RMSNORM, list(xs[:2]))
    sized = "program p\nsym n in 1..64\ninput X : f32[n, 8]\nY = silu(scale(X, 2))\noutput Y\n"
    x = torch.randn(5, 8)
    torch.testing.assert_close(torch.ops.mirage.run(sized, [x])[0], F.silu(x * 2), rtol=1e-5, atol=1e-6)
    with pytest.raises(mirage_torch.MirageError, match="n is in 1..64, got 65"):
        torch.ops.mirage.run(sized, [torch.randn(65, 8)])
    grouped = torch.compile(lambda *x: torch.ops.mirage.run(RMSNORM, list(x))[0] + 1, backend="eager", fullgraph=True)
    torch.testing.assert_close(grouped(*xs), norm_linear(*xs) + 1, rtol=1e-5, atol=1e-5)


WRONG = {  # program, its inputs, what the error names
    "shape": (RMSNORM, [(1,)] * 3, "input x1: expected float32[4, 16] on cpu, found float32[1] on cpu"),
    "rank": (RMSNORM, [(4, 16), (1, 16), (16, 8)], "input x2: expected float32[16] on cpu, found float32[1, 16]"),
    "one size twice": ("program p\nsym n in 1..64\ninput X : f32[n, 4]\ninput Y : f32[n, 4]\nZ = relu(add(X, Y))\n"
                       "output Z\n", [(6, 4), (5, 4)], "input X: expected float32[5, 4] on cpu, found float32[6, 4]"),
}

WRONG["a size of none"] = (WRONG["one size twice"][0].replace("[n,", "[2*n,"), [(6, 4), (6, 4)],
                           "size n is no input's dimension by itself")


@pytest.mark.parametrize("name", WRONG)
def test_operator_looks_at_its_operands(name):
    text, shapes, said = WRONG[name]
    for device in ("cpu", "meta"):
        with pytest.raises(RuntimeError, match=re.escape(said.replace("cpu", device))):
            torch.ops.mirage.run(text, [torch.ones(s, device=device) for s in shapes])


def test_operator_looks_at_types_and_devices():
    xs = three()
    with pytest.raises(RuntimeError, match=re.escape("input x2: expected float32[16] on cpu, found float16[16] on cpu")):
        torch.ops.mirage.run(RMSNORM, [xs[0], xs[1].half(), xs[2]])
    with pytest.raises(RuntimeError, match=re.escape("found float32[16, 8] on cpu, torch.sparse_coo")):
        torch.ops.mirage.run(RMSNORM, [xs[0], xs[1], xs[2].to_sparse()])
    out, = torch.ops.mirage.run(RMSNORM, [xs[0], xs[1], xs[2].t().contiguous().t()])
    torch.testing.assert_close(out, norm_linear(*xs), rtol=1e-5, atol=1e-5)
    picked = "program p\ninput T : f32[8, 4]\ninput I : i32[3]\nG = gather(T, I)\nY = scale(G, 2)\noutput Y\n"
    table, index = torch.randn(8, 4), torch.tensor([7, 0, 7])
    for i in (index, index.int()):
        torch.testing.assert_close(torch.ops.mirage.run(picked, [table, i])[0], table[index] * 2)


def test_what_a_graph_makes_is_its_own(monkeypatch):
    """Zeroing that a CUDA graph captured is of its replays: another graph must not take that workspace."""
    f = execute.Found(RMSNORM, execute.Options("written"), None)
    f.program.workspace, cpu = 64, torch.device("cpu")
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    a, b = f.workspace(cpu, 0), f.workspace(cpu, 0)
    assert a is not b and not f.workspaces and a.numel() == 64 and not a.any()
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    assert f.workspace(cpu, 0) is f.workspace(cpu, 0) is not f.workspace(cpu, 1)


def test_the_row_of_a_gpu(monkeypatch):
    names = iter(["NVIDIA H200", "NVIDIA H100 80GB HBM3", "NVIDIA A100-SXM4-80GB", "NVIDIA Unheard"])
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: next(names))
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (7, 5))
    assert [execute.machine_of(None) for _ in range(4)] == ["H200", "H100", "A100", "sm_75"]


def test_another_device_is_left_to_pytorch(options):
    """Kernels are of one device; said once, and in explain."""
    report, xs = mirage_torch.Report(), three()
    run = compiled(norm_linear, report, {**options, "seed": 11})
    run(*xs)
    found = report.calls[0].found
    found.device = torch.device("cuda:0")
    with pytest.warns(UserWarning, match="its kernels are loaded on cuda:0, and the call is on cpu") as said:
        for _ in range(3):
            torch.testing.assert_close(run(*xs), norm_linear(*xs), rtol=1e-5, atol=1e-5)
    assert len(said) == 1 and report.calls[0].calls == {"program": 1, "eager": 3}
    assert "last left to PyTorch: its kernels are loaded on cuda:0" in str(report)


def test_sizes_that_no_certificate_lists(options):
    """A sum over a size that comes with the call is proved at some values: others are said, or left to PyTorch."""
    def fn(x, y):
        return (x.t() @ y) * 2 + 1
    for who in ("run", "eager"):
        torch._dynamo.reset()
        report = mirage_torch.Report()
        run = compiled(fn, report, {**options, "untested": who, "time_limit": 2.0})

        def at(n):
            x, y = torch.randn(n, 8), torch.randn(n, 8)
            for t in (x, y):
                torch._dynamo.mark_dynamic(t, 0, min=2, max=64)
            torch.testing.assert_close(run(x, y), fn(x, y), rtol=1e-5, atol=1e-5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            at(64)
        facts = report.programs[0]["ranges"]
        assert all(f["verdict"] == "EQUAL" for f in facts) and "64, and at no other" in facts[-1]["reason"]
        with pytest.warns(UserWarning, match="the certificate is for n = [0-9, ]*, and for no other size") as said:
            at(37), at(37), at(38)
        assert len(said) == 1 and ", and for no other size" in str(report)
        assert report.calls[0].calls == ({"program": 4, "eager": 0} if who == "run" else {"program": 1, "eager": 3})
    with pytest.warns(UserWarning, match="untested at 37"):
        torch.ops.mirage.run(report.calls[0].text, [torch.randn(8, 37), torch.randn(37, 8)])
    with pytest.raises(ValueError, match="untested 'no' is none of run, eager"):
        execute.Options(untested="no")


def test_calls_of_inductor_go_with_its_code(options, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch._inductor.compile_fx",
                        types.SimpleNamespace(compile_fx=lambda gm, inputs: gm.forward))
    gc.collect()
    before, xs = len(execute.CALLS), three()
    run = torch.compile(norm_linear, backend="mirage", options={**options, "mode": "written", "rest": "inductor"})
    torch.testing.assert_close(run(*xs), norm_linear(*xs), rtol=1e-5, atol=1e-5)
    assert len(execute.CALLS) == before + 1
    torch.testing.assert_close(run(*xs), norm_linear(*xs), rtol=1e-5, atol=1e-5)
    del run
    torch._dynamo.reset()
    gc.collect()
    assert len(execute.CALLS) == before


def test_what_a_launch_takes():
    """The greatest of a symbol is what a launch takes, where whole chunks go further; a reshape is no kernel."""
    p = library.Program("program p\nsym n in 3..37 of 39\ninput X : f32[n, 8]\nY = silu(X)\noutput Y\n")
    assert p.bounds == [(3, 37)] and p.symbol_names == ["n"] and p.untested([5]) is None
    p = library.Program("program p\ninput X : f32[4, 8]\nY = silu(scale(X, 2))\nZ = reshape(Y, [32])\n"
                        "W = exp(Z)\noutput W\n")
    assert p.facts()[0]["kernels"] == 3


def test_fast_is_eager_until_it_is_ready(options):
    report, xs = mirage_torch.Report(), three()
    gate = threading.Event()
    search = execute.Found.search
    execute.Found.search = lambda self: (gate.wait(20), search(self))
    try:
        run = compiled(norm_linear, report, {**options, "seed": 7}, "fast")
        first = run(*xs)
        assert report.calls[0].calls == {"program": 0, "eager": 1}
        assert "its search has not ended" in str(report)
        gate.set()
        mirage_torch.wait()
    finally:
        execute.Found.search = search
    second = run(*xs)
    assert report.calls[0].calls == {"program": 1, "eager": 1}
    assert torch.equal(first, norm_linear(*xs))
    torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)


def test_interrupt_leaves_an_eager_model(options):
    report, xs = mirage_torch.Report(), three()

    def interrupt(number, frame):
        raise KeyboardInterrupt
    before = signal.signal(signal.SIGALRM, interrupt)
    search = execute.Found.search
    execute.Found.search = lambda self: (time.sleep(1.0), search(self))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.6)
        given = execute.Options("measure", **{**options, "seed": 9})
        with pytest.warns(UserWarning, match="interrupted"):
            f = execute.found_for(RMSNORM, given)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        execute.Found.search = search
    assert not f.ready and f.failed == "its search was interrupted"
    run = compiled(norm_linear, report, options)
    torch.testing.assert_close(run(*xs), norm_linear(*xs), rtol=1e-5, atol=1e-5)


SECOND = """
import json, sys, time
import torch, mirage_torch
import torch.nn.functional as F
t = time.time()
r = mirage_torch.explain(lambda x, g, w: F.rms_norm(x, (64,), g, 1e-6) @ w, torch.randn(16, 64), torch.randn(64),
                         torch.randn(64, 32), options={"cache": sys.argv[1], "time_limit": 30})
p = r.programs[0]
print(json.dumps([p["cached"], p["seconds"], p["ranges"][0]["verdict"], r.calls[0].found.program.found()]))
"""


def test_a_second_process_takes_the_cache(tmp_path):
    said = []
    for _ in range(2):
        out = subprocess.run([sys.executable, "-c", SECOND, str(tmp_path)], capture_output=True, text=True, check=True)
        said.append(json.loads(out.stdout.splitlines()[-1]))
    assert [s[0] for s in said] == [False, True] and said[0][2] == said[1][2] == "EQUAL"
    assert said[0][3] == said[1][3] and said[1][1] < said[0][1] + 1
    assert any(name.endswith(".search") for name in os.listdir(tmp_path))


def test_a_search_that_was_cut_is_kept(tmp_path):
    """By its certificates: checked again, and not what another program's say, or a torn file."""
    text = "program p\n" + "".join(f"input x{k} : f32[64, 64]\n" for k in range(1, 8)) + "t1 = matmul(x1, x2)\n" + \
        "".join(f"t{k} = softmax(matmul(t{k - 1}, x{k + 1}), dim=1)\n" for k in range(2, 7)) + "output t6\n"
    path, one = str(tmp_path / "kept"), library.Program(text)
    assert not one.take(path)
    one.search(0.3)
    one.keep(path)
    two = library.Program(text)
    assert two.take(path) and two.cached and two.complete == one.complete
    assert two.found() == one.found() and two.facts()[0]["verdict"] == "EQUAL"
    assert two.facts()[0]["predicted_us"] == pytest.approx(one.facts()[0]["predicted_us"]) and two.emit("sm_90a") == one.emit("sm_90a")
    assert not library.Program(RMSNORM).take(path)
    kept = open(path).read()
    for wrong in (kept[:-40], kept.replace("matmul(", "add(", 1), '{"complete": true, "certificates": []}'):
        (tmp_path / "wrong").write_text(wrong)
        three = library.Program(text)
        assert not three.take(str(tmp_path / "wrong")) and not three.cached and three.found().startswith("program p")


def test_a_family_is_kept(tmp_path):
    text = "program p\nsym n in 1..300\ninput X : f32[n, 64]\ninput W : f32[64, 64]\nY = silu(matmul(X, W))\noutput Y\n"
    one, two = library.Program(text), library.Program(text)
    one.search(2)
    one.keep(str(tmp_path / "kept"))
    assert two.take(str(tmp_path / "kept")) and two.facts() == one.facts()
    narrow = library.Program(text.replace("1..300", "1..400"))
    assert not narrow.take(str(tmp_path / "kept"))


def test_layers_of_one_text_share_a_search(options):
    class Layers(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList(nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.GELU()) for _ in range(3))

        def forward(self, x):
            for layer in self.layers:
                x = layer(x).cumsum(0)
            return x
    report, m, x = mirage_torch.Report(), Layers().eval(), torch.randn(4, 16)
    with torch.no_grad():
        got = compiled(m, report, options)(x)
        torch.testing.assert_close(got, m(x), rtol=1e-4, atol=1e-5)
    assert len(report.calls) == 3 and len({id(c.found) for c in report.calls}) == 1


def test_threads(options):
    report, xs = mirage_torch.Report(), three()
    run, want = compiled(norm_linear, report, options), norm_linear(*xs)
    run(*xs)
    bad = []

    def many():
        for _ in range(20):
            if not torch.allclose(report.calls[0](*args)[0], want, atol=1e-5):
                bad.append(1)
    order = {n: k for k, n in enumerate(("x", "g", "w"))}
    args = [xs[order_of] for order_of in sorted(order.values())]
    threads = [threading.Thread(target=many) for _ in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not bad


def test_threads_of_emulated_kernels(options):
    program = library.Program(RMSNORM)
    program.search(float(options["time_limit"]), options["cache"])
    program.emulate(execute.INCLUDE if os.path.isdir(execute.INCLUDE) else None)
    bad = []

    def many():
        xs = three()
        want = norm_linear(*xs)
        for _ in range(20):
            got, = execute.call(program, xs, ())
            if not torch.allclose(got, want, rtol=1e-3, atol=1e-3):
                bad.append((got - want).abs().max())
    threads = [threading.Thread(target=many) for _ in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not bad


def test_parameters_may_change_in_place(options):
    m, x = nn.Sequential(nn.Linear(16, 16), nn.SiLU()), torch.randn(4, 16)
    report = mirage_torch.Report()
    with torch.no_grad():
        run = compiled(m, report, options)
        run(x)
        m[0].weight.mul_(2)
        m[0].bias.zero_()
        torch.testing.assert_close(run(x), m(x), rtol=1e-5, atol=1e-5)
    assert report.graphs == 1 and report.calls[0].calls["program"] == 2


def test_memory_that_is_changed_between(options):
    """Reads before and after a change of an input see what they saw in eager; results that are views stay views."""
    def fn(x, cache):
        a = (x * 2).exp()
        cache[1:3] = a[:2] * 3
        b = (cache * 2).exp() + x
        y = F.silu(b) * 2
        return a, b, y, y.view(-1), cache.t()
    x, report = torch.randn(4, 8), mirage_torch.Report()
    one, two = torch.zeros(4, 8), torch.zeros(4, 8)
    got, want = compiled(fn, report, options)(x, one), fn(x, two)
    for a, b in zip(got, want):
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5)
    torch.testing.assert_close(one, two)
    assert got[4].data_ptr() == one.data_ptr() and got[3].data_ptr() == got[2].data_ptr()
    assert len(report.calls) >= 2 and any("it mutates its operand" == why for *_, why in report.nodes)


def test_a_row_hidden_by_infinities(options):
    """README: a mask of truth values gives 0 there (attention_mask_row_hidden), an additive one NaN, and there alone."""
    q, mask = torch.randn(1, 2, 4, 8), torch.zeros(4, 4)
    mask[1], mask[2, 3] = float("-inf"), float("-inf")
    report = mirage_torch.Report()
    got = compiled(lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m), report, options)(q, mask)
    want = F.scaled_dot_product_attention(q, q, q, attn_mask=mask)
    assert got[:, :, 1].isnan().all()
    rows = [0, 2, 3]
    torch.testing.assert_close(got[:, :, rows], want[:, :, rows], rtol=1e-5, atol=1e-5)


def test_one_tensor_as_two_inputs(options):
    x, report = torch.randn(8, 8), mirage_torch.Report()
    got = compiled(lambda a, b: (a @ b.t()).relu() + a, report, options)(x, x)
    torch.testing.assert_close(got, (x @ x.t()).relu() + x, rtol=1e-5, atol=1e-5)


def test_no_break_of_ours(options):
    """As many graphs as with PyTorch's own backend."""
    def fn(x):
        y = (x * 2).exp()
        torch._dynamo.graph_break()
        return y + 1, (y * 3).cumsum(0)
    report, x = mirage_torch.Report(), torch.randn(4)
    compiled(fn, report, options, "written")(x)
    torch._dynamo.reset()
    counted = []
    torch.compile(fn, backend=lambda g, i: counted.append(g) or g.forward)(x)
    assert report.graphs == len(counted) == 2


def test_sizes_are_specialised_as_dynamo_does(options):
    """One size, another, then any: three calls, two graphs; 1 is a size of its own."""
    report = mirage_torch.Report()
    run = compiled(lambda x: F.silu(x) * 2 + x, report, options, "written")
    for n in (4, 6, 9, 1):
        x = torch.randn(n, 8)
        torch.testing.assert_close(run(x), F.silu(x) * 2 + x, rtol=1e-5, atol=1e-6)
    texts = [c.text for c in report.calls]
    assert ["sym" in t for t in texts] == [False, True, False] and "[1, 8]" in texts[2] and "sym n in 2.." in texts[1]


def test_a_registered_operator(options):
    """A custom operator of torch.library that stands for a row of the table; here one that is there."""
    @torch.library.custom_op("mirage_test::bend", mutates_args=())
    def bend(x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x)

    @bend.register_fake
    def _(x):
        return torch.empty_like(x)
    mirage_torch.register(torch.ops.mirage_test.bend.default, "tanh")
    x, w, report = torch.randn(4, 8), torch.randn(8, 8), mirage_torch.Report()
    got = compiled(lambda x, w: torch.ops.mirage_test.bend(x @ w) * 2, report, options)(x, w)
    torch.testing.assert_close(got, torch.tanh(x @ w) * 2, rtol=1e-5, atol=1e-5)
    assert len(report.calls) == 1 and "tanh(" in report.calls[0].text


def test_the_tool_is_in_it(tmp_path):
    """mirage, as the package installs it, is the command line tool."""
    path = tmp_path / "p.mg"
    path.write_text(RMSNORM)
    tool = [sys.executable, "-m", "mirage_torch", "print"]
    out = subprocess.run(tool + [str(path)], capture_output=True, text=True)
    assert out.returncode == 0 and out.stdout.startswith("program p")
    out = subprocess.run(tool + [str(tmp_path / "none.mg")], capture_output=True, text=True)
    assert out.returncode == 3 and "cannot be opened" in out.stderr


WITHIN = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin without it
from mirage_torch import library
for k in range(2):
    assert library.tool(["search", sys.argv[1], "--no-measure", "--time-limit", "1"]) == 0, k
program = library.Program(open(sys.argv[1]).read())
program.emulate(sys.argv[2] or None)
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(1)
except KeyboardInterrupt:
    print("interrupted")
"""


def test_the_tool_leaves_the_process_as_it_was(tmp_path):
    """Twice, then an emulation and Ctrl-C: temporary directories and signals are the process's own."""
    path, include = tmp_path / "p.mg", execute.INCLUDE if os.path.isdir(execute.INCLUDE) else ""
    path.write_text(RMSNORM)
    out = subprocess.run([sys.executable, "-c", WITHIN, str(path), include], capture_output=True, text=True)
    assert out.returncode == 0, out.stderr
    assert out.stdout.count("# verdict: EQUAL") == 2 and out.stdout.endswith("interrupted\n")


@pytest.mark.parametrize("name", ["rms_norm_linear_f16", "attention_causal", "dynamic_mlp"] +
                         ["mlp_swiglu", "transposed_input", "embedding_head"] * bool(os.environ.get("TORCH_SOAK")))
def test_emulated_kernels(name, options):
    """The emitted kernels, compiled by g++ and run thread by thread."""
    from modules import MODULES
    case = MODULES[name]
    model, inputs = case.make()
    model, inputs = model.eval().to(case.dtype), [x.to(case.dtype) if x.is_floating_point() else x for x in inputs]
    report = mirage_torch.Report()
    for k, d in case.dynamic:
        torch._dynamo.mark_dynamic(inputs[k], d, min=2, max=64)
    run = compiled(model, report, {**options, "on_cpu": "emulate", "time_limit": 4.0})
    with torch.no_grad():
        for given in [inputs] + ([case.again()] if case.again else []):
            near = 2e-3 if case.dtype == torch.float32 else 2e-2
            torch.testing.assert_close(run(*given), model(*given), rtol=near, atol=near)
    assert report.calls and all(c.calls["program"] and not c.calls["eager"] for c in report.calls), str(report)
    assert "emulated on the CPU thread by thread" in str(report)


def checked(options, tmp_path):
    """norm_linear by emulated kernels that link 2 has to see first, with a cache of their own; and what explain says."""
    xs = three()
    own = {**options, "cache": str(tmp_path), "on_cpu": "emulate", "check": True}
    execute.forget()
    torch._dynamo.reset()
    return mirage_torch.explain(norm_linear, *xs, options=own)


def test_link_2_comes_before_a_kernel_runs(options, tmp_path, monkeypatch):
    report = checked(options, tmp_path)
    assert "link 2: SAME over 2 fields" in str(report) and report.programs[0]["calls"] == {"program": 1, "eager": 0}
    monkeypatch.setattr(library.Program, "check", None)  # what holds once is kept, and not run again
    report = checked(options, tmp_path)
    assert "link 2: SAME over 2 fields" in str(report) and report.programs[0]["calls"] == {"program": 1, "eager": 0}


def test_a_kernel_that_link_2_refuses_never_runs(options, tmp_path, monkeypatch):
    emit = library.Program.emit
    monkeypatch.setattr(library.Program, "emit", lambda self, arch=None: re.sub(r"mg_bid\(\d\)", "0", emit(self, arch)))
    report = checked(options, tmp_path)
    assert "link 2: DIFFERS: " in str(report) and report.programs[0]["calls"] == {"program": 0, "eager": 1}
    assert not list(tmp_path.glob("*.link2"))


def test_a_program_known_to_be_unsafe_never_runs(options, tmp_path, monkeypatch):
    monkeypatch.setattr(library.LIB, "mt_unsafe", lambda handle, k: 1)
    report = checked(options, tmp_path)
    assert report.programs[0]["state"].startswith("left to PyTorch: as safe as written")
    assert report.programs[0]["calls"] == {"program": 0, "eager": 1}


def test_kernels_compile_and_name_what_is_missing(options):
    """Compiled by nvcc and loaded; a launch without a GPU says so. What runs on a GPU is not tested here."""
    nvcc = os.environ.get("NVCC") or "/usr/local/cuda/bin/nvcc"
    if not os.path.exists(nvcc):
        pytest.skip("no nvcc: emitted kernels are not compiled")
    if torch.cuda.is_available():
        pytest.skip("a GPU is here: this is about a machine without one")
    program = library.Program(RMSNORM)
    program.search(float(options["time_limit"]), options["cache"])
    top = os.path.dirname(os.path.abspath(__file__)) + "/../.."
    include = execute.INCLUDE if os.path.isdir(execute.INCLUDE) else top
    program.compile("sm_90a", include)
    assert program.compiled and program.workspace >= 0
    xs = [torch.randn(4, 16), torch.randn(16), torch.randn(16, 8)]
    out = torch.empty(4, 8)
    with pytest.raises(mirage_torch.MirageError, match="CUDA error") as e:
        program.launch([x.data_ptr() for x in xs], [out.data_ptr()], None, None)
    assert e.value.status == 4
