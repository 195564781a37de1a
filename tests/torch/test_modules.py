"""Every module of modules.py: compiled and searched, evaluated by the library, against eager in float64."""
import copy

import pytest
import torch

import mirage_torch
from modules import MODULES

SAID = ("a view of", "arithmetic of sizes", "a constant of the graph", "not in the program before it",
        "a program of 1 ")
TOLERANCE = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 8e-2}


def flat(out):
    return list(out) if isinstance(out, (tuple, list)) else [out]


def doubled(x):
    return x.double() if x.is_floating_point() else x


def near(got, want, tolerance):
    """Within a tolerance of the largest magnitude; of indices the same."""
    assert got.shape == want.shape
    if not want.is_floating_point():
        return torch.equal(got, want)
    return (got.double() - want).abs().max() <= tolerance * max(1.0, want.abs().max().item())


def compiled(model, report, options, mode="measure"):
    return torch.compile(model, backend=lambda g, x: mirage_torch.backend(g, x, mode, options, report))


@pytest.mark.parametrize("name", MODULES)
def test_module(name, options):
    case = MODULES[name]
    model, inputs = case.make()
    model.eval()
    model, inputs = model.to(case.dtype), [x.to(case.dtype) if x.is_floating_point() else x for x in inputs]
    exact, report = copy.deepcopy(model).double(), mirage_torch.Report()
    run, plain = compiled(model, report, options), torch.compile(model, backend="eager")
    for k, d in case.dynamic:
        torch._dynamo.mark_dynamic(inputs[k], d, min=2, max=64)
    calls = [inputs] + ([[x.to(case.dtype) for x in case.again()]] if case.again else [])
    with torch.no_grad():
        for given in calls:
            before = [x.clone() for x in given]
            got, want = flat(run(*given)), flat(exact(*[doubled(x) for x in given]))
            eager = flat(plain(*given))
            assert len(got) == len(want)
            for a, b, e in zip(got, want, eager):
                assert a.dtype == e.dtype and a.stride() == e.stride()
                assert near(a, b, TOLERANCE[case.dtype]), (name, (a.double() - b).abs().max())
            assert all(torch.equal(a, b) for a, b in zip(given, before))  # inputs are as they were
    assert report.graphs == 1 and not report.declined, str(report)
    programs = report.programs
    assert programs, str(report)
    for p in programs:
        assert p["ready"] and p["ranges"], p["state"] + "\n" + p["text"]
        assert all(r["verdict"] == "EQUAL" for r in p["ranges"]), str(report)
        assert p["calls"] == {"program": len(calls), "eager": 0}
    rest = {op for _, _, op, where, why in report.nodes if where == "PyTorch" and not why.startswith(SAID)}
    assert rest <= case.rest, str(report)


def test_there_are_forty():
    assert len(MODULES) >= 40
