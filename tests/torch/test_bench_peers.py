"""tests/bench/peers.py takes a program from its text: every output of every `output` line."""
import importlib.util
import pathlib

import torch

ROOT = pathlib.Path(__file__).resolve().parents[2]


def peers():
    spec = importlib.util.spec_from_file_location("bench_peers", ROOT / "tests" / "bench" / "peers.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_all_outputs_of_a_text(tmp_path):
    text = "program two\ninput X : f32[3, 8]\ninput W : f32[8, 4]\nS = sqr(X)\nO = matmul(S, W)\noutput S\noutput O  # the last\n"
    (tmp_path / "two.mg").write_text(text)
    inputs, outputs, function = peers().read(str(tmp_path / "two.mg"))
    x, w = torch.randn(3, 8), torch.randn(8, 4)
    squares, product = function(torch.matmul)(x, w)
    assert outputs == ["S", "O"] and [i[0] for i in inputs] == ["X", "W"]
    assert torch.equal(squares, x * x)
    assert torch.allclose(product, (x * x) @ w)


def test_a_line_with_several_outputs():
    found = peers().from_text(str(ROOT / "tests" / "bench" / "programs" / "residual_rmsnorm_linear.mg"))
    assert list(found) == ["residual_rmsnorm_linear", "residual_rmsnorm_linear_wt"]
    x, r, g, w = torch.randn(16, 64), torch.randn(16, 64), torch.randn(64), torch.randn(64, 8)
    both = found["residual_rmsnorm_linear"][1](x, r, g, w)
    assert len(both) == 2 and torch.equal(both[0], x + r)
    assert torch.allclose(both[1], torch.nn.functional.rms_norm(x + r, (64,), g, 1e-5) @ w, atol=1e-5)
