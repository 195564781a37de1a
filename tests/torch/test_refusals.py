"""What is left to PyTorch, each with its reason, and right all the same."""
import warnings

import pytest
import torch
import torch.nn.functional as F

import mirage_torch
from test_modules import compiled, flat

X = lambda *shape, dtype=torch.float32: torch.randn(shape).to(dtype)
BOOL = lambda *shape: torch.rand(*shape) > 0.5


def grown(x):
    x.add_(1)
    return x.exp() * 2


REFUSED = {  # name: function, its inputs, what the reason says
    "float64": (lambda x: x.exp() + 1, [X(4, dtype=torch.float64)], "its type is float64"),
    "integers": (lambda x: (x + 1) * 2, [torch.arange(4)], "its type is int64"),
    "integers beside": (lambda x, i: x * i + x, [X(4), torch.arange(4)], "its operand is int64"),
    "mixed 16 bits": (lambda x, y: (x + y) * 2, [X(4, dtype=torch.float16), X(4, dtype=torch.bfloat16)],
                      "it mixes float16 with bfloat16"),
    "complex": (lambda x: x * 2 + 1, [torch.randn(4, dtype=torch.complex64)], "complex"),
    "no rule": (lambda x: x.cumsum(0).exp(), [X(4)], "no rule for aten.cumsum.default"),
    "mutated input": (grown, [X(4)], "it mutates its operand"),
    "random": (lambda x: F.dropout(x, 0.5, True), [X(4)], "it draws random numbers"),
    "attention drops": (lambda q: F.scaled_dot_product_attention(q, q, q, dropout_p=0.5), [X(1, 2, 4, 8)],
                        "it draws random numbers"),
    "rank 6": (lambda x: (x + 1).exp(), [X(1, 2, 1, 2, 1, 2)], "a tensor of rank 6: programs take 5"),
    "no elements": (lambda x: (x + 1).exp(), [X(0, 4)], "a tensor without elements"),
    "infinity": (lambda x: x.exp() + float("inf"), [X(4)], "the constant inf: programs are over the reals"),
    "large constant": (lambda x: x.exp() + 1e12, [X(4)], "numerator or denominator passes 2^31"),
    "exponent": (lambda x: x.exp() ** 1.7, [X(4)], "the exponent 1.7"),
    "exponent of a tensor": (lambda x, y: x.exp() ** y, [X(4), X(4)], "no rule for aten.pow.Tensor_Tensor"),
    "crossed clamp": (lambda x: x.clamp(1, 0) + 1, [X(4)], "a clamp whose lower bound is above its upper one"),
    "floor division": (lambda x: torch.div(x, 2, rounding_mode="floor"), [X(4)], "a division rounded by floor"),
    "division by 0": (lambda x: x / 0, [X(4)], "a division by 0"),
    "steep slope": (lambda x: F.leaky_relu(x, 2.0), [X(4)], "a slope of 2.0"),
    "comparison": (lambda x: (x > 0) & (x < 1), [X(4)], "no rule for aten.gt.Scalar"),
    "training norm": (lambda x, m, v: F.batch_norm(x, m, v, training=True), [X(4, 8), X(8), X(8).abs()],
                      "it mutates its operand"),
    "16 bits without eps": (lambda x: F.rms_norm(x, (8,)), [X(4, 8, dtype=torch.float16)],
                            "an RMS norm of 16 bits without eps"),
    "rms of two dims": (lambda x: F.rms_norm(x, (4, 8), eps=1e-5), [X(2, 4, 8)], "an RMS norm over several dimensions"),
    "attention of rank 5": (lambda q: F.scaled_dot_product_attention(q, q, q), [X(1, 1, 2, 4, 8)],
                            "an attention of rank 5"),
    "causal, other keys": (lambda q, k: F.scaled_dot_product_attention(q, k, k, is_causal=True),
                           [X(2, 4, 8), X(2, 6, 8)],
                           "a causal attention of other queries than keys"),
    "computed mask": (lambda x, m: torch.where(torch.logical_or(m, m), x, x * 2) + 1, [X(4), BOOL(4)],
                      "no rule for aten.logical_or"),
    "argmax of all": (lambda x: (x * 2).argmax(), [X(4, 4)], "an argmax over all elements"),
    "columns picked": (lambda x, i: x.index_select(1, i), [X(4, 4), torch.tensor([1, 2])],
                       "rows picked along another dimension"),
    "vectors": (lambda a, b: torch.matmul(a, b) + 1, [X(4), X(4)], "a product of two vectors"),
    "odd steps": (lambda x: (x * 2)[::3] + 1, [X(7)], "a slice by steps of 3 that no reshape makes"),
    "one alone": (lambda x: x.exp(), [X(4)], "a program of 1 operator alone"),
    "variance of one": (lambda x: (x * 2).var(0), [X(1, 4)],
                        "a variance over a size that comes with the call, or of too few"),
    "interleaved all": (lambda x: (x * 2).repeat_interleave(2), [X(4, 4)], "a repetition of all elements"),
    "log-sum-exp of two": (lambda x: torch.logsumexp(x * 2, (0, 1)), [X(4, 4)],
                           "a log-sum-exp over several dimensions"),
    "masked and shown": (lambda x, m: x.masked_fill(m, float("-inf")).abs() * 0, [X(4), BOOL(4)], "the constant -inf"),
    "scaled elu": (lambda x: torch.ops.aten.elu(x, 1, 1, 2.0) + 1, [X(4)], "an elu whose operand is scaled"),
    "softplus cut early": (lambda x: F.softplus(x, threshold=2) + 1, [X(4)], "a softplus that is linear from 2 on"),
    "norm of order 1": (lambda x: torch.linalg.vector_norm(x, 1) + 1, [X(4)], "a vector norm of order 1"),
    "sum of one": (lambda x: (x * 2).sum() + 1, [X()], "a reduction of one element"),
    "softmax of one": (lambda x: (x * 2).softmax(0) + 1, [X()], "a softmax of one element"),
    "linear of a vector": (lambda x, w: F.linear(x, w) * 2, [X(8), X(4, 8)], "a linear layer of a vector"),
    "nothing of one part": (lambda x, a, b: torch.addmm(x, a, b, beta=0) * 2, [X(4, 4), X(4, 4), X(4, 4)],
                            "a sum of which one part counts nothing"),
    "keys for all samples": (lambda q, k: F.scaled_dot_product_attention(q, k, k), [X(2, 2, 4, 8), X(1, 2, 4, 8)],
                             "an attention whose keys have other leading dimensions"),
    "converted integers": (lambda i: i.to(torch.float32) * 2, [torch.arange(4)], "a conversion from int64"),
    "repeated 0 times": (lambda x: (x * 2).repeat(0, 1) + 1, [X(4, 4)], "a tensor without elements"),
    "values of a max": (lambda x: (x * 2).max(0)[0] + 1, [X(4, 4)], "no rule for aten.max.dim"),
    "no tensors": (lambda: torch.ones(3) * 2, [], "the graph takes no tensors"),
    "types joined": (lambda x, y: torch.cat([x, y]) * 2, [X(4), X(4, dtype=torch.float16)],
                     "a concatenation of several types"),
}


def test_products_of_float32_on_a_gpu(options, monkeypatch):
    """Kernels have them as tf32: PyTorch says whether that may be."""
    monkeypatch.setattr(mirage_torch.graph, "on_cuda", lambda node: True)
    xs = torch.randn(8, 16), torch.randn(16, 8)
    for precision, taken in (("highest", False), ("high", True)):
        torch._dynamo.reset()
        torch.set_float32_matmul_precision(precision)
        try:
            text = str(mirage_torch.explain(lambda x, w: F.silu(x @ w).exp(), *xs, options=options))
        finally:
            torch.set_float32_matmul_precision("highest")
        assert ("matmul(" in text) == taken and ("kernels round its operands to tf32" in text) != taken, text


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, options):
    fn, inputs, reason = REFUSED[name]
    report = mirage_torch.Report()
    run = compiled(fn, report, options, "written")
    torch.manual_seed(3)
    got = flat(run(*[x.clone() for x in inputs]))
    torch.manual_seed(3)
    want = flat(fn(*[x.clone() for x in inputs]))
    said = [why for _, _, _, where, why in report.nodes if where == "PyTorch"] + [why for _, why in report.declined]
    assert said and any(reason in why for why in said), str(report)
    for a, b in zip(got, want):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-5, equal_nan=True)


def autocast(x, w):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y = F.silu(x @ w)
    return y * 2


def condition(x):
    return torch.cond(x.sum() > 0, lambda x: (x * 2).exp(), lambda x: x - 1, (x,))


@pytest.mark.parametrize("fn, inputs, reason", [(autocast, [X(4, 8), X(8, 8)], "it calls _enter_autocast"),
                                                (condition, [X(4, 8)], "it calls cond")])
def test_graphs_that_hold_more_than_operators(fn, inputs, reason, options):
    report = mirage_torch.Report()
    with torch.no_grad():
        torch.testing.assert_close(compiled(fn, report, options, "written")(*inputs), fn(*inputs))
    assert not report.calls and reason in report.declined[0][1]


DYNAMIC = {  # marked dimensions beside
    "a mean over it": (lambda x: (x * 2).mean(0), [X(4, 8)], [(0, 0)], "a mean over n"),
    "three sizes": (lambda x: (x * 2).exp(), [X(3, 4, 5)], [(0, 0), (0, 1), (0, 2)], "3 sizes that come with the call"),
    "a slice of it": (lambda x: (x * 2)[1:] + 1, [X(4, 8)], [(0, 0)], "a slice of a size that comes with the call"),
    "a width": (lambda q: F.scaled_dot_product_attention(q, q, q), [X(2, 4, 8)], [(0, 2)],
                "whose width comes with the call"),
    "queries of groups": (lambda q, k: F.scaled_dot_product_attention(q, k, k, enable_gqa=True),
                          [X(2, 4, 4, 8), X(2, 2, 6, 8)], [(0, 2)],
                          "an attention of groups whose heads or queries come with the call"),
    "an expansion": (lambda x, y: ((x * 2).expand(y.shape[0], 8).reshape(-1) * 2, y), [X(1, 8), X(4, 8)], [(1, 0)],
                     "an expansion to a size that comes with the call"),
    "a size as operand": (lambda x: x * x.shape[0] + 1, [X(4, 8)], [(0, 0)],
                          "a constant that is known only at the call"),
    "joined with others": (lambda x: (x * 2).t().reshape(-1).softmax(0) * 3, [X(4, 8)], [(0, 0)],
                           "a reshape joins it with others"),
}


def test_arguments_of_a_registered_operator(options):
    @torch.library.custom_op("mirage_test::power_of", mutates_args=())
    def power_of(x: torch.Tensor, k: int) -> torch.Tensor:
        return torch.tanh(x) * k

    @power_of.register_fake
    def _(x, k):
        return torch.empty_like(x)
    mirage_torch.register(torch.ops.mirage_test.power_of.default, "tanh")
    x, report = X(4), mirage_torch.Report()
    got = compiled(lambda x: torch.ops.mirage_test.power_of(x * 2, 3) + 1, report, options, "written")(x)
    torch.testing.assert_close(got, torch.tanh(x * 2) * 3 + 1)
    assert "its argument 'k' is none of the row's" in str(report)


@pytest.mark.parametrize("name", DYNAMIC)
def test_refused_dynamic(name, options):
    fn, inputs, marks, reason = DYNAMIC[name]
    report = mirage_torch.Report()
    for k, d in marks:
        torch._dynamo.mark_dynamic(inputs[k], d)
    with torch.no_grad():
        got, want = flat(compiled(fn, report, options, "written")(*inputs)), flat(fn(*inputs))
    said = [why for _, _, _, _, why in report.nodes]
    assert any(reason in why for why in said), str(report)
    torch.testing.assert_close(got, want)


def test_causal_of_a_length_that_comes_with_the_call(options):
    """The length is rows of the queries, and is summed over: one program for all of them."""
    report = mirage_torch.Report()
    run = compiled(lambda q: F.scaled_dot_product_attention(q, q, q, is_causal=True), report, options, "written")
    for n in 4, 7, 2:
        x = torch.randn(2, n, 8)
        torch._dynamo.mark_dynamic(x, 1)
        with torch.no_grad():
            torch.testing.assert_close(run(x), F.scaled_dot_product_attention(x, x, x, is_causal=True))
    assert len(report.calls) == 1 and "causal(" in str(report) and "sym n in 2.." in str(report), str(report)


def test_autograd_is_declined_by_name(options):
    m, report = torch.nn.Linear(4, 4), mirage_torch.Report()
    with pytest.warns(UserWarning, match="autograd"):
        y = compiled(lambda x: F.silu(m(x)), report, options, "written")(X(2, 4))
    assert "autograd: input" in report.declined[0][1] and "asks for a gradient" in report.declined[0][1]
    y.sum().backward()
    assert m.weight.grad is not None


def test_sizes_beyond_the_program(options):
    """Where a size is out of a program's range PyTorch runs it, and says so."""
    x, report = X(4, 8), mirage_torch.Report()
    torch._dynamo.mark_dynamic(x, 0)
    run = compiled(lambda x: F.silu(x) * 2 + x, report, {**options, "most_size": 16}, "written")
    assert torch.allclose(run(x), F.silu(x) * 2 + x, atol=1e-6)
    far = X(40, 8)
    with pytest.warns(UserWarning, match="is 40, and the program is for 2..16"):
        assert torch.allclose(run(far), F.silu(far) * 2 + far, atol=1e-6)
    p = report.programs[0]
    assert p["calls"] == {"program": 1, "eager": 1} and "2..16" in str(report)


def test_many_inputs_and_outputs_are_cut(options):
    """65 inputs, then 9 outputs: more than one program."""
    report = mirage_torch.Report()
    xs = [X(4) for _ in range(66)]
    got = compiled(lambda *x: sum(a * 2 for a in x) + 1, report, {**options, "most_operators": 199}, "written")(*xs)
    assert torch.allclose(got, sum(a * 2 for a in xs) + 1, atol=1e-5)
    assert len(report.calls) == 2 and max(c.found.program.n_in for c in report.calls) == 64
    torch._dynamo.reset()
    report = mirage_torch.Report()
    got = compiled(lambda x: tuple((x * k).exp() for k in range(2, 12)), report, options, "written")(xs[0])
    assert all(torch.allclose(a, (xs[0] * k).exp(), rtol=1e-5) for k, a in zip(range(2, 12), got))
    assert all(c.found.program.n_out <= 8 for c in report.calls)


def test_a_layer_of_many_inputs_is_one_program(options):
    """18 inputs, as a BERT layer with its biases has."""
    report, xs = mirage_torch.Report(), [X(4) for _ in range(18)]
    got = compiled(lambda *x: sum(a * 2 for a in x).exp(), report, {**options, "most_operators": 64}, "written")(*xs)
    torch.testing.assert_close(got, sum(a * 2 for a in xs).exp(), rtol=1e-4, atol=1e-5)
    assert [c.found.program.n_in for c in report.calls] == [18]


def test_options_are_refused_by_name():
    with pytest.raises(ValueError, match="no option 'speed'"):
        mirage_torch.Options(speed=11)
    with pytest.raises(ValueError, match="mode 'best' is none of"):
        mirage_torch.Options(mode="best")
    with pytest.raises(ValueError, match="rest 'triton'"):
        mirage_torch.Options(rest="triton")
    with pytest.raises(ValueError, match="no operator 'nosuch'"):
        mirage_torch.register(torch.ops.aten.sin.default, "nosuch")


def test_superoptimize_wants_one_program(options):
    with pytest.raises(mirage_torch.Declined, match="no rule for aten.cumsum"):
        mirage_torch.superoptimize(lambda x: (x * 2).cumsum(0).exp(), X(4), mode="written", options=options)
    with pytest.raises(mirage_torch.MirageError, match="is no operator"):
        mirage_torch.Program("program p\ninput X : f16[4]\nY = nosuch(X)\noutput Y\n")


def test_fake_tensors_are_not_read(options):
    """A call of fake tensors asks for shapes alone."""
    report = mirage_torch.Report()
    run = compiled(lambda x: F.silu(x) * 2, report, options, "written")
    run(X(4))
    from torch._subclasses.fake_tensor import FakeTensorMode
    with FakeTensorMode() as mode, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        out = report.calls[0](mode.from_tensor(X(4)))
    assert out[0].shape == (4,) and report.calls[0].why_eager == "the call is of fake tensors"
