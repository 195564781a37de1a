"""A call as it is on a GPU, on the CPU: what a launch is given goes to C code that stands in place of the kernels."""
import ctypes
import os
import subprocess
import sys
import threading

import pytest
import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

import mirage_torch
from mirage_torch import execute, library
from test_backend import norm_linear, three
from test_modules import compiled

# norm_linear of N rows; what it is given goes through the workspace first, where another thread's call would be seen.
STAND_IN = """
#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
size_t run_workspace_bytes(void) { return ROOM; }
const char *cudaGetErrorString(int code) { return code == 700 ? "an illegal memory access" : "?"; }
#ifdef SIZED
int run_launch(const void *const *in, void *const *out, void *room, const int64_t *size, void *stream) {
  const int64_t rows = size[0];
#else
int run_launch(const void *const *in, void *const *out, void *room, void *stream) {
  const int64_t rows = 4;
#endif
  const void *given[4] = {in[0], in[1], in[2], out[0]};
  const void *volatile *held = room ? (const void *volatile *)room : (const void *volatile *)given;
  for (int k = 0; k < 4; k++) held[k] = given[k], sched_yield();
  const float *x = (const float *)held[0], *g = (const float *)held[1], *w = (const float *)held[2];
  float *y = (float *)held[3];
  if (stream != (void *)77 || (room == NULL) != (ROOM == 0)) return 700;
  if ((uintptr_t)x % 16 || (uintptr_t)g % 16 || (uintptr_t)w % 16) return 716;
  for (int64_t i = 0; i < rows; i++) {
    double squares = 0;
    for (int k = 0; k < 16; k++) squares += x[i * 16 + k] * x[i * 16 + k];
    for (int j = 0; j < 8; j++) {
      double sum = 0;
      for (int k = 0; k < 16; k++) sum += x[i * 16 + k] * g[k] * w[k * 8 + j];
      y[i * 8 + j] = (float)(sum / sqrt(squares / 16 + 1e-6));
    }
  }
  return 0;
}
"""


def near(got, want):
    torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-5)


@pytest.fixture
def launched(options, tmp_path, monkeypatch):
    """The Call of norm_linear, with the stand-in for kernels, and inputs; now tensors say that a GPU has them."""
    def make(room=0, dynamic=False):
        xs, report = three(), mirage_torch.Report()
        if dynamic:
            torch._dynamo.mark_dynamic(xs[0], 0, min=2, max=64)
        execute.forget()
        compiled(norm_linear, report, options, "written")(*xs)
        c, = report.calls
        (tmp_path / "launch.c").write_text(STAND_IN)
        command = [os.environ.get("CC") or "gcc", "-shared", "-fPIC", f"-DROOM={room}", *["-DSIZED"] * dynamic,
                   "launch.c", "-o", "launch.so", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
        kernel, size = ctypes.c_void_p(), ctypes.c_size_t()
        library._call("mt_load", c.found.program._handle, os.fsencode(tmp_path / "launch.so"), ctypes.byref(kernel),
                      ctypes.byref(size))
        c.found.program._kernel, c.found.program.workspace = kernel, size.value
        monkeypatch.setattr(execute, "_empty", torch._C._dynamo.guards._empty_strided_cpu)
        monkeypatch.setattr(torch.Tensor, "is_cuda", property(lambda t: True))
        monkeypatch.setattr(torch.cuda, "current_device", lambda: None)
        monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
        monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda index: 77, raising=False)
        c.known.clear(), c.calls.update(program=0)
        return c, xs
    return make


class Counted(TorchDispatchMode):
    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        self.seen = getattr(self, "seen", []) + [str(operator)]
        return operator(*args, **(kwargs or {}))


@pytest.mark.parametrize("dynamic", [False, True])
def test_what_is_decided_of_a_call_is_decided_once(launched, monkeypatch, dynamic):
    """The second call of the same sizes: no operator of PyTorch runs, and few functions at all."""
    c, xs = launched(dynamic=dynamic, room=64)
    near(c(*xs)[0], norm_linear(*xs))

    def again(*args):
        raise AssertionError("decided again")
    for owner, name in ((execute.Found, "on_device"), (library.Program, "_shape"), (execute.Call, "direct"),
                        (execute.Call, "outside"), (execute, "_resolved"), (execute, "dense")):
        monkeypatch.setattr(owner, name, again)
    with Counted() as counted:
        y, = c(*xs)
    assert not hasattr(counted, "seen"), counted.seen
    seen = []
    sys.setprofile(lambda frame, event, what: seen.append(event) if "call" in event else None)
    try:
        z, = c(*xs)
    finally:
        sys.setprofile(None)
    assert len(seen) <= 40, f"{len(seen)} functions are called"
    assert c.calls["program"] == 3 and y.data_ptr() != z.data_ptr()
    near(y, norm_linear(*xs)), near(z, norm_linear(*xs))


def test_memory_as_it_lies(launched):
    """In place where it lies as the kernels read it; else a copy of this call's, for the same Call."""
    c, (x, g, w) = launched()
    wide, odd = torch.randn(8, 32), torch.randn(16 * 8 + 1)[1:].view(16, 8)
    turned = torch.randn(8, 16).t()
    for a, b in ((x, w), (wide[::2, :16], w), (x, odd), (x, turned), (wide[0, :16].expand(4, 16), turned), (x, w)):
        near(c(a, g, b)[0], norm_linear(a, g, b))
    x.mul_(2), g.add_(1), w.zero_()
    w[3] = 1
    near(c(x, g, w)[0], norm_linear(x, g, w))
    parameters = torch.nn.Parameter(g, requires_grad=False), torch.nn.Parameter(w, requires_grad=False)
    near(c(x, *parameters)[0], norm_linear(x, *parameters))
    assert c.calls == {"program": 8, "eager": 0}


def test_sizes_come_with_the_call(launched):
    c, (_, g, w) = launched(dynamic=True)
    for n in (4, 64, 3, 64, 17):
        x = torch.randn(n, 16)
        y, = c(*([n] if isinstance(c.fakes[0], torch.SymInt) else []), x, g, w)
        assert y.shape == (n, 8) and y.is_contiguous()
        near(y, norm_linear(x, g, w))
    assert c.calls == {"program": 5, "eager": 0} and len(c.known) == 4
    x = torch.randn(65, 16)
    with pytest.warns(UserWarning, match="size .* is 65, and the program is for 2..64"):
        near(c(*([65] if isinstance(c.fakes[0], torch.SymInt) else []), x, g, w)[0], norm_linear(x, g, w))


def test_what_ran_untested_is_said_of_the_last_sizes(launched, monkeypatch):
    c, (_, g, w) = launched(dynamic=True)
    monkeypatch.setattr(c.found.program, "untested", lambda sizes: "n = 4")
    with pytest.warns(UserWarning, match="runs untested at 5: the certificate is for n = 4") as said:
        for n in (5, 5, 6, 5, 5):
            x = torch.randn(n, 16)
            near(c(*([n] if isinstance(c.fakes[0], torch.SymInt) else []), x, g, w)[0], norm_linear(x, g, w))
            assert c.untested.startswith(f"last ran untested at {n}: the certificate is for n = 4, ")
    assert len(said) == 1 and c.calls == {"program": 5, "eager": 0}


def test_results_as_pytorch_gives_them(options):
    """Made in the shape that PyTorch gives a result, where that is only another view; else laid as PyTorch has it."""
    def fn(x, y):
        return (x * y).tanh().sum()
    x, y, report = torch.randn(4, 16), torch.randn(4, 16), mirage_torch.Report()
    run = compiled(fn, report, options, "written")
    near(run(x, y), fn(x, y))
    c, = report.calls
    _, _, _, outputs, results = c.at((x, y))
    assert c.found.program.output_shape(0) == [1, 1] and outputs == [((), (), torch.float32)]
    assert [as_made for _, as_made, *_ in results] == [True]
    turned = compiled(lambda x: (x * 2).tanh(), report, options, "written")(x.t())
    near(turned, (x.t() * 2).tanh())
    assert turned.stride() == (1, 16)
    t = torch.arange(6.0)
    laid = execute._laid(t, (3, 2), torch.float16, (1, 3))
    assert laid.stride() == (1, 3) and torch.equal(laid, t.half().view(3, 2))
    assert execute._laid(t, (2, 3), torch.float32, None).data_ptr() == t.data_ptr()


def test_fake_tensors_and_other_devices(launched):
    c, xs = launched()
    c(*xs)
    with FakeTensorMode() as mode:
        fakes = [mode.from_tensor(x) for x in xs]
        with pytest.warns(UserWarning, match="the call is of fake tensors"):
            assert c(*fakes)[0].shape == (4, 8)
    c.found.device = torch.device("cuda:1")
    with pytest.warns(UserWarning, match="its kernels are loaded on cuda:1, and the call is on cpu"):
        near(c(*xs)[0], norm_linear(*xs))
    assert c.calls == {"program": 1, "eager": 2}


def test_the_device_of_the_tensors_is_the_current_one(launched, monkeypatch):
    c, xs = launched()
    current, entered = [5], []

    class Entered:
        def __init__(self, device):
            entered.append(device)

        def __enter__(self):
            current.append(None)

        def __exit__(self, *how):
            current.pop()
    monkeypatch.setattr(torch.cuda, "current_device", lambda: current[-1])
    monkeypatch.setattr(torch.cuda, "device", Entered)
    near(c(*xs)[0], norm_linear(*xs))
    assert entered == [torch.device("cpu")] and current == [5]
    current.append(None)
    near(c(*xs)[0], norm_linear(*xs))
    assert len(entered) == 1


def test_a_workspace_a_stream(launched, monkeypatch):
    c, xs = launched(room=64)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    near(c(*xs)[0], norm_linear(*xs))
    assert not c.found.workspaces
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: False)
    near(c(*xs)[0], norm_linear(*xs)), near(c(*xs)[0], norm_linear(*xs))
    assert len(c.found.workspaces) == 1
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda index: 78, raising=False)
    with pytest.raises(mirage_torch.MirageError, match="CUDA error 700: an illegal memory access") as e:
        c(*xs)
    assert e.value.status == 4 and len(c.found.workspaces) == 2


@pytest.mark.parametrize("room", [0, 64])
def test_threads_launch_side_by_side(launched, room):
    """Each is given its own tensors, though all go through one workspace."""
    c, _ = launched(room=room)
    bad = []

    def many():
        xs = three()
        want = norm_linear(*xs)
        bad.extend(1 for _ in range(100) if not torch.allclose(c(*xs)[0], want, rtol=1e-5, atol=1e-5))
    threads = [threading.Thread(target=many) for _ in range(4)]
    [t.start() for t in threads], [t.join() for t in threads]
    assert not bad and len(c.found.workspaces) == bool(room)
