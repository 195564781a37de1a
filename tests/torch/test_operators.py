"""PyTorch's own samples of each operator that has a rule: at most SAMPLES each, without Dynamo, against float64.
A sample that is refused has to say why, and each rule has to take one at least."""
import os

import pytest
import torch
from torch.fx.experimental.proxy_tensor import make_fx
from torch.testing._internal.common_methods_invocations import op_db

import mirage_torch
from mirage_torch.lower import HANDLERS, USER

SAMPLES = int(os.environ.get("TORCH_SAMPLES", "20"))
# OpInfo's name for rules whose packet is called otherwise; "" where OpInfo has no samples of its own.
OTHER = {"alias": "", "detach": "", "lift_fresh_copy": "", "_unsafe_view": "", "_to_copy": "", "native_dropout": "",
         "feature_dropout": "", "to": "float", "type_as": "", "_softmax": "", "_log_softmax": "", "numpy_T": "T",
         "multiply": "mul", "subtract": "sub", "divide": "div", "true_divide": "true_divide", "clip": "clamp",
         "_autocast_to_reduced_precision": "", "relu": "nn.functional.relu", "log_sigmoid": "logsigmoid",
         "linalg_vector_norm": "linalg.vector_norm", "alpha_dropout": "", "squeeze": "squeeze"}


def names():
    found = {}
    for overload in HANDLERS.keys() - USER.keys():
        packet = getattr(overload, "__name__", "").split(".")[0]
        if packet == "getitem":
            continue
        name = OTHER.get(packet, packet)
        for o in op_db:
            if name and o.name in (name, "nn.functional." + name) and torch.float32 in o.dtypes:
                found.setdefault(o.name, []).append(o)
    return found


FOUND = names()


def captured(fn, tensors):
    """As Dynamo would hand it over."""
    gm = make_fx(fn, tracing_mode="fake", pre_dispatch=True)(*tensors)
    for n in gm.graph.nodes:
        if n.op == "placeholder":
            n.meta["example_value"] = n.meta["val"]
    return gm


def tensors_of(x):
    if isinstance(x, torch.Tensor):
        return [x]
    if isinstance(x, dict):
        x = list(x.values())
    return [t for y in x for t in tensors_of(y)] if isinstance(x, (list, tuple)) else []


def replaced(x, rest):
    if isinstance(x, torch.Tensor):
        return next(rest)
    if isinstance(x, dict):
        return {k: replaced(v, rest) for k, v in x.items()}
    return type(x)(replaced(y, rest) for y in x) if type(x) in (list, tuple) else x


def run_sample(op, sample):
    """1: by programs, 0: refused, with a reason."""
    held = [sample.input, list(sample.args), sample.kwargs]
    tensors = tensors_of(held)
    if not tensors:
        return 0

    def fn(*given):
        first, args, kwargs = replaced(held, iter(given))
        out = op(first, *args, **kwargs)
        return tuple(out) if isinstance(out, (list, tuple)) else (out,)
    report = mirage_torch.Report()
    with torch.no_grad():
        try:
            want = fn(*[t.double() if t.is_floating_point() else t.clone() for t in tensors])
            want = want if all(isinstance(w, torch.Tensor) for w in want) else None
        except RuntimeError:  # types that float64 tells apart
            want = None
        torch.manual_seed(42)  # what OpInfo sets, too
        eager = fn(*[t.clone() for t in tensors])
        try:
            gm = captured(fn, tensors)
        except RuntimeError:  # sizes that are read from data: Dynamo breaks the graph there
            return 0
        run = mirage_torch.backend(gm, tensors, "written", {"least_operators": 1, "cache": ""}, report)
        torch.manual_seed(42)  # what OpInfo sets, too
        got = run(*[t.clone() for t in tensors])
    drawn = any(why == "it draws random numbers" for _, _, _, _, why in report.nodes)
    for g, e, w in zip(got, eager, eager if drawn or want is None else want):
        if not isinstance(e, torch.Tensor):
            assert g == e
            continue
        assert g.dtype == e.dtype and g.shape == e.shape and g.stride() == e.stride(), (sample, str(report))
        exact = w if w.dtype == torch.float64 and e.dtype == torch.float32 else e
        torch.testing.assert_close(g.to(exact.dtype), exact, rtol=2e-5, atol=2e-5, equal_nan=True,
                                   msg=lambda m: m + str(report))
    said = [why for _, _, _, where, why in report.nodes if where == "PyTorch"] + [why for _, why in report.declined]
    assert report.calls or not report.nodes or all(said), str(report)
    assert all(c.calls["program"] == 1 for c in report.calls), str(report)
    return len(report.calls) > 0


@pytest.mark.parametrize("name", sorted(FOUND))
def test_samples(name):
    taken = tried = 0
    for op in FOUND[name]:
        for sample in list(op.sample_inputs("cpu", torch.float32))[:SAMPLES - tried]:  # what ends late ends in a trace
            tried += 1
            taken += run_sample(op, sample)
    assert tried and (taken or name in VIEWS_ALONE | OWN), f"{taken} of {tried} by programs"


# Operators that move no data by themselves: PyTorch does them.
VIEWS_ALONE = {n for n in FOUND if n.split(".")[-1] in (
    "view", "reshape", "unsqueeze", "squeeze", "flatten", "unflatten", "view_as", "reshape_as", "contiguous", "clone",
    "dropout", "alpha_dropout", "transpose", "t", "T", "mT", "permute", "movedim", "slice", "narrow", "select", "split",
    "split_with_sizes", "chunk", "unbind", "expand", "expand_as", "float")}
OWN = {"pow", "index_select", "linalg.vector_norm", "nn.functional.softplus"}  # OpInfo has none of the form that has a rule: below


@pytest.mark.parametrize("exponent", [1, 2, 3, 4, 0.5, -0.5, -1])
def test_powers(exponent):
    own(lambda x: x ** exponent, torch.rand(3, 4) + 0.5)


def test_rows_by_index():
    own(lambda x, i: x.index_select(0, i), torch.randn(5, 4), torch.tensor([3, 0, 3]))


def test_norms_of_vectors():
    own(lambda x: torch.linalg.vector_norm(x, dim=-1, keepdim=True), torch.randn(3, 4))
    own(lambda x: torch.linalg.vector_norm(x, dim=(0, 2)), torch.randn(3, 4, 5))


def test_softplus():
    x = torch.tensor([-200.0, -30, -1, 0, 1, 19, 21, 200])
    own(torch.nn.functional.softplus, x)
    own(lambda x: torch.nn.functional.softplus(x, beta=0.5), x)


def own(fn, *tensors):
    report = mirage_torch.Report()
    with torch.no_grad():
        run = mirage_torch.backend(captured(fn, tensors), tensors, "written", {"least_operators": 1}, report)
        got = run(*tensors)
    torch.testing.assert_close(got, fn(*tensors))
    assert len(report.calls) == 1 and report.calls[0].calls["program"] == 1


def test_all_rules_have_samples():
    """A rule without samples is one of OTHER's."""
    known = {o.name for o in op_db}
    for overload in HANDLERS.keys() - USER.keys():
        packet = getattr(overload, "__name__", "getitem").split(".")[0]
        name = OTHER.get(packet, packet)
        assert name == "" or packet == "getitem" or name in known or "nn.functional." + name in known, packet
