"""Programs at work: their search, now or in the background, and their calls."""
import atexit
import ctypes
import hashlib
import itertools
import os
import queue
import re
import sys
import threading
import warnings
import weakref

import sympy
import torch
from torch._subclasses.fake_tensor import FakeTensor

from .library import HERE, MirageError, Program, build, machine_named

TORCH = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32, "i32": torch.int32}
INCLUDE = os.path.join(HERE, "include")
PLAIN = {torch.Tensor, torch.nn.Parameter, int}  # an argument of another type may be a fake tensor
_empty = torch._C._dynamo.guards._empty_strided_cuda  # on the current device; no dispatcher: as Inductor does


class Options:
    """What torch.compile(.., options={..}) takes, and mode= beside it.

    mode             "measure": waits for the search; "fast": eager until it has ended, in the background;
                     "written": no search, the program as PyTorch wrote it
    time_limit       seconds for a program's search, and as many for its certificate
    cache            a directory for results, as `mirage search --cache`; "" for none
    machine          a GPU of the table that kernels are found for; "": the first, an H200
    threads, seed    of a search
    on_cpu           "evaluate": over float64, or "emulate": the emitted kernels, thread by thread, compiled by g++
    check            True: no kernel runs before link 2 holds and runs have settled what bounds leave open of numerics, by
                     g++, a minute of two cores; False: it runs unchecked, and explain says so. None: True on a GPU
    rest             "eager", or "inductor": who runs what is in no program
    least_operators  a program of fewer is left to PyTorch
    most_operators   a program has at most so many
    most_size        the greatest value of a size that comes with the call, where PyTorch bounds it no lower
    most_symbols     how many such sizes a program may have
    untested         "run" or "eager": what becomes of a call at a size that the certificate does not list"""

    def __init__(self, mode="fast", **given):
        base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
        self.mode, self.time_limit, self.machine = mode, 60.0, ""
        self.cache = os.environ.get("MIRAGE_TORCH_CACHE", os.path.join(base, "mirage", "search"))
        self.threads, self.seed, self.rest, self.on_cpu = 2, 0, "eager", "evaluate"
        self.least_operators, self.most_operators, self.most_size, self.most_symbols = 2, 24, 4096, 2
        self.devices, self.untested, self.check = ("cpu", "cuda"), "run", None
        for name, value in given.items():
            if name not in vars(self):
                raise ValueError(f"mirage has no option '{name}': " + ", ".join(sorted(vars(self))))
            setattr(self, name, value)
        if self.mode not in ("fast", "measure", "written"):
            raise ValueError(f"mode '{self.mode}' is none of fast, measure, written")
        if self.rest not in ("eager", "inductor"):
            raise ValueError(f"rest '{self.rest}' is none of eager, inductor")
        if self.on_cpu not in ("evaluate", "emulate"):
            raise ValueError(f"on_cpu '{self.on_cpu}' is none of evaluate, emulate")
        if self.untested not in ("run", "eager"):
            raise ValueError(f"untested '{self.untested}' is none of run, eager")

    def key(self):
        return (self.mode == "written", self.time_limit, self.cache, self.machine, self.seed, self.on_cpu,
                self.check)


class Found:
    """A program and what its search found; several runs of one text share one."""

    def __init__(self, text, options, device):
        self.text, self.options, self.device, self.program = text, options, device, Program(text)
        self.machine = options.machine or (machine_of(device) if device is not None else "")
        self.ready, self.done, self.failed, self.link2 = False, threading.Event(), None, None
        self.checks = device is not None if options.check is None else bool(options.check)
        self.stop, self.lock, self.launching, self.workspaces = ctypes.c_int(0), threading.Lock(), threading.Lock(), {}

    def search(self):
        """Ends with `ready`, or with `failed` saying why: then PyTorch's own operators stay."""
        o = self.options
        try:
            if o.mode != "written":
                kept = self.kept() if o.cache else None
                if not (kept and self.program.take(kept, self.machine or None)):
                    self.searched(kept)
            if self.checks and not self.stop.value:
                self.checked()
            if self.device is not None and not self.stop.value:
                self.on_device(self.device)
            elif o.on_cpu == "emulate" and not self.stop.value:
                self.program.emulate(_include())
            if self.stop.value:
                self.failed = "its search was interrupted"
            else:
                self.ready = True
        except (MirageError, OSError, RuntimeError) as e:
            self.failed = str(e)
        finally:
            self.done.set()

    def kept(self):
        """The file of its certificates, made by this build under these options."""
        o = self.options
        os.makedirs(o.cache, exist_ok=True)
        said = _digest(build(), self.machine, str(o.seed), str(o.time_limit), str(self.checks), self.text)
        return os.path.join(o.cache, said + ".found")

    def searched(self, kept):
        o = self.options
        show = _line if sys.stderr.isatty() and o.mode == "measure" else None
        self.program.search(o.time_limit, o.cache or None, self.machine or None, o.threads, o.seed, self.stop, show,
                            self.checks)
        if show:
            sys.stderr.write("\r\033[K")
        if kept and not self.stop.value:
            self.program.keep(kept)

    def checked(self):
        """Link 2 of the text that will be compiled, once for each build and text in the cache; or MirageError."""
        unsafe = self.program.unsafe()
        if unsafe:
            raise MirageError(unsafe, 1)
        text = self.program.emit(arch_of(self.device) if self.device is not None else None)
        kept = os.path.join(self.options.cache, _digest(build(), text) + ".link2") if self.options.cache else None
        if kept and os.path.exists(kept):
            with open(kept, encoding="utf-8") as f:
                self.link2 = f.read()
            return
        self.link2 = self.program.check(text, _include())
        if kept:
            os.makedirs(self.options.cache, exist_ok=True)
            own = f"{kept}.{os.getpid()}.{threading.get_ident()}"
            with open(own, "w", encoding="utf-8") as f:
                f.write(self.link2)
            os.replace(own, kept)

    def on_device(self, device):
        """Its kernels, compiled once for a CUDA device."""
        with self.lock:
            if not self.program.compiled:
                self.program.compile(arch_of(device), _include())

    def elsewhere(self, device):
        """Why it cannot run there: kernels are of the device that they were loaded for."""
        if self.device in (None, device):
            return None
        return f"its kernels are loaded on {self.device}, and the call is on {device}"

    def workspace(self, device, stream):
        """Zeroed once; each launch leaves it ready. One a stream, as concurrent launches need one each. What is made while
        a CUDA graph is captured is that graph's: its replays zero it, in its own pool, and no other graph's do."""
        if not self.program.workspace:
            return None
        if torch.cuda.is_current_stream_capturing():
            return torch.zeros(self.program.workspace, dtype=torch.uint8, device=device)
        room = self.workspaces.get((device, stream))
        if room is None:
            with self.lock:
                if (device, stream) not in self.workspaces:
                    made = torch.zeros(self.program.workspace, dtype=torch.uint8, device=device)
                    self.workspaces[device, stream] = made
                room = self.workspaces[device, stream]
        return room


def _include():
    return INCLUDE if os.path.isdir(INCLUDE) else None


def _digest(*words):
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:32]


def arch_of(device):
    major, minor = torch.cuda.get_device_capability(device)
    return f"sm_{major}{minor}" + ("a" if major >= 9 else "")


def machine_of(device):
    """The row of the table that is this GPU, "NVIDIA H100 80GB HBM3", or is of its architecture."""
    return machine_named(re.split("[ -]", torch.cuda.get_device_name(device))) or arch_of(device)


def _line(text):
    sys.stderr.write("\r\033[K" + text[:os.get_terminal_size(2).columns - 1])
    sys.stderr.flush()


_found, _queue, _worker, _guard = {}, queue.Queue(), None, threading.Lock()


def _work():
    while True:
        f = _queue.get()
        if f is None:
            return
        f.search()


def _end():
    for f in list(_found.values()):
        f.stop.value = 1
    _queue.put(None)
    if _worker is not None:
        _worker.join(5)


atexit.register(_end)


def found_for(text, options, device=None):
    """Starts the search of a program, or finds the one that was started; mode measure waits for it. Ctrl-C while it
    waits ends this search: the model then runs eager where the program would stand. device: a CUDA device that its
    kernels are compiled for at once, so that nothing is compiled within a call."""
    global _worker
    with _guard:
        key = (text, device and torch.cuda.get_device_capability(device)) + options.key()
        f, new = _found.get(key), False
        if f is None or f.failed:
            f, new = Found(text, options, device), True
            _found[key] = f
    if options.mode == "written":
        if new:
            f.search()
        f.done.wait()
        return f
    if new and options.mode == "fast":
        with _guard:
            if _worker is None:
                _worker = threading.Thread(target=_work, name="mirage search", daemon=True)
                _worker.start()
        _queue.put(f)
    elif new:
        threading.Thread(target=f.search, name="mirage search", daemon=True).start()
    if options.mode == "measure":
        try:
            while not f.done.wait(0.05):
                pass
        except KeyboardInterrupt:
            f.stop.value = 1
            f.done.wait(5)  # a compilation for link 2 ends by itself, and what it says comes too late
            f.failed = f.failed or "its search was interrupted"
            f.ready = False
            warnings.warn("mirage: interrupted: the model runs eager where this program would stand")
    return f


def wait():
    """Until all searches in the background have ended."""
    for f in list(_found.values()):
        f.done.wait()


def forget():
    """Results of this process: a test, or somebody who changed the operator table, starts anew."""
    with _guard:
        _found.clear()


def call(found, tensors, sizes):
    """Runs its program on tensors that stand in its inputs' order, None for what is filled; a tensor for each output."""
    program = found.program
    device, outputs = next(t.device for t in tensors if t is not None), _outputs(program, sizes, {})
    if device.type == "cpu":
        return _evaluate(program, tensors, outputs, sizes)
    held = [t if t is None else dense(program, k, t) for k, t in enumerate(tensors)]
    return _launch(found, held, outputs, sizes, device)


def _evaluate(program, tensors, outputs, sizes):
    """Without a GPU: over float64, each result rounded to its type; or by emulated kernels."""
    held = []
    for t, kind in zip(tensors, program.input_types):
        held.append(None if t is None else t.to(torch.int32 if kind == "i32" else torch.float64).contiguous())
    out = [torch.empty(shape, dtype=torch.int32 if dtype == torch.int32 else torch.float64)
           for shape, _, dtype in outputs]
    program.evaluate([0 if t is None else t.data_ptr() for t in held], [t.data_ptr() for t in out], sizes)
    return [t.to(dtype) for t, (_, _, dtype) in zip(out, outputs)]


def _outputs(program, sizes, shapes):
    """Shape, strides and type of each output: dense, in the shape that it is asked for in, or else the program's."""
    made = []
    for k, kind in enumerate(program.output_types):
        shape = tuple(shapes.get(k, program.output_shape(k, sizes)))
        made.append((shape, torch.empty(shape, device="meta").stride(), TORCH[kind]))
    return made


def dense(program, k, t):
    """What a kernel reads as input k: dense in its memory order, at an address that it may load 16 bytes from."""
    t, order = t.to(TORCH[program.input_types[k]]), program.orders[k]
    t = (t if order is None else t.permute(order[:t.dim()])).contiguous()
    return t.clone() if t.data_ptr() % 16 else t


def _launch(found, held, outputs, sizes, device):
    """On the current stream of the tensors' device; nothing else happens there, so that a CUDA graph may capture it."""
    if device.index != torch.cuda.current_device():
        with torch.cuda.device(device):
            return _launch(found, held, outputs, sizes, device)
    program = found.program
    if not program.compiled:
        found.on_device(device)
    out = [_empty(*o) for o in outputs]
    stream = torch._C._cuda_getCurrentRawStream(device.index)
    room = found.workspace(device, stream)
    given = [0 if t is None else t.data_ptr() for t in held], [t.data_ptr() for t in out]
    if room is None:
        program.launch(*given, None, stream, sizes)
    else:
        with found.launching:  # kernels of two threads in one workspace do not mix
            program.launch(*given, room.data_ptr(), stream, sizes)
    return out


CALLS = weakref.WeakValueDictionary()  # those that Inductor's code calls, by number; backend() holds them with the code
_number = itertools.count()


class Call(torch.nn.Module):
    """One run within a graph: the program, where it is ready and takes these sizes; else PyTorch's own operators."""

    def __init__(self, run, taken, eager, options, watched=False):
        super().__init__()
        low = run.lowered
        self.eager, self.options, self.text = eager, options, low.text
        cuda = [a.meta["val"].device for a in taken if isinstance(a.meta["val"], torch.Tensor) and a.meta["val"].is_cuda]
        self.found = found_for(low.text, options, cuda[0] if cuda else None)
        self.symbols, self.inputs, self.names = low.symbols, low.inputs, low.names
        self.place = {a: k for k, a in enumerate(taken)}
        self.sources = [self.place.get(i.node) for i in low.inputs]
        self.fakes = [a.meta["val"] for a in taken]
        self.first = next(k for k, f in enumerate(self.fakes) if isinstance(f, torch.Tensor))
        self.reads, self.known = list(_expressions(self.fakes)), {}
        self.results = [(low.names.index(v.name), v.shape, n.meta["val"].dtype, _strides(n.meta["val"]))
                        for n, v in low.outputs]
        self.calls = {"program": 0, "eager": 0}
        self.why_eager, self.untested, self.said_of, self.constants = None, None, None, {}
        self.watched, self.last, self.measured = watched, None, None  # what explain times

    def split(self, operands):
        """Arguments of torch.ops.mirage.call: its number, the tensors, the sizes."""
        number = next(_number)
        CALLS[number] = self
        tensors = [a for a, f in zip(operands, self.fakes) if isinstance(f, torch.Tensor)]
        return number, tensors, [a for a, f in zip(operands, self.fakes) if not isinstance(f, torch.Tensor)]

    def order(self, tensors, sizes):
        tensors, sizes = iter(tensors), iter(sizes)
        return [next(tensors if isinstance(f, torch.Tensor) else sizes) for f in self.fakes]

    def joined(self, tensors, sizes):
        return self(*self.order(tensors, sizes))

    def at(self, args):
        """What follows from the sizes of a call, decided once: why the program is not for them, where it finds what it
        takes, what it makes, and what is given of that."""
        key = tuple([int(args[k] if d is None else args[k].shape[d]) for k, d, _ in self.reads])
        plan = self.known.get(key)
        if plan is None:
            if len(self.known) > 4096:
                self.known.clear()
            plan = self.known[key] = self.planned(key)
        return plan

    def planned(self, key):
        known, program = {e: n for (_, _, e), n in zip(self.reads, key)}, self.found.program
        sizes = [_size(e, known) for e in self.symbols]
        outside = self.outside(sizes)
        if outside is not None:
            return sizes, outside, (), (), ()
        places = [place for place, filled in enumerate(program.filled) if not filled]
        inputs = []
        for k, (place, i) in enumerate(zip(places, self.inputs)):
            views = [(what, how if what == "permute" else _resolved(how, known)) for what, how in i.prep]
            inputs.append((place, k, self.sources[k], views, self.direct(k, known)))
        results = [(k, _resolved(shape, known), dtype, strides and tuple(_size(d, known) for d in strides))
                   for k, shape, dtype, strides in self.results]
        shapes = {k: shape for k, shape, _, _ in reversed(results) if -1 not in shape}
        outputs = _outputs(program, sizes, shapes)
        given = []
        for k, shape, dtype, strides in results:
            as_made = outputs[k] == (shape, strides or outputs[k][1], dtype)
            given.append((k, as_made, shape, dtype, strides))
        return sizes, None, inputs, outputs, given

    def direct(self, k, known):
        """The strides at which what is passed lies as the kernel reads it, whatever its views; None: a copy is made."""
        i = self.inputs[k]
        if i.constant is not None or i.copied or not i.fake.is_cuda:
            return None
        fake = self.fakes[self.sources[k]]
        return tuple(_size(d, known) for d in _extents(fake.stride())) if TORCH.get(i.dtype) == fake.dtype else None

    def outside(self, sizes):
        for v, (least, most), e in zip(sizes, self.found.program.bounds, self.symbols):
            if v is None or not least <= v <= most:
                return f"size {e} is {v}, and the program is for {least}..{most}"
        return None

    def forward(self, *args):
        found, first = self.found, args[self.first]
        device = first.device
        if not found.ready:
            reason = found.failed or "its search has not ended"
        elif not PLAIN.issuperset(map(type, args)) and any(isinstance(a, FakeTensor) for a in args):
            reason = "the call is of fake tensors"
        else:
            reason = found.elsewhere(device)
        if reason is None:
            sizes, reason, inputs, outputs, results = self.at(args)
        if reason is None and sizes:
            reason = self.beyond(sizes)
        if reason is not None:
            return self.left(reason, args)
        self.calls["program"] += 1
        given = [None] * found.program.n_in
        for place, k, source, views, strides in inputs:
            t = None if strides is None else args[source]
            if t is None or t.stride() != strides or t.data_ptr() % 16:
                t = self.tensor(k, args, views, first)
                t = dense(found.program, place, t) if t.is_cuda else t
            given[place] = t
        if self.watched:
            self.last = given, outputs, sizes, device
        if first.is_cuda:
            made = _launch(found, given, outputs, sizes, device)
        else:
            made = _evaluate(found.program, given, outputs, sizes)
        return tuple([made[k] if as_made else _laid(made[k], *how) for k, as_made, *how in results])

    __call__ = forward  # nobody hangs hooks on it, which nn.Module would look for

    def left(self, reason, args):
        """PyTorch's own operators, and why; a program that is ready says it once."""
        if self.why_eager != reason and self.found.ready:
            warnings.warn(f"mirage: a program is left to PyTorch: {reason}")
        self.why_eager = reason
        self.calls["eager"] += 1
        return self.eager(*args)

    def measure(self):
        """Microseconds a call on a GPU, of a CUDA graph of 20 on what the last call took; None where nothing runs on one."""
        if self.last is None or not self.found.ready or not self.found.program.compiled:
            return
        def run():
            for _ in range(20):
                _launch(self.found, *self.last)
        device = self.last[-1]
        with torch.cuda.device(device), torch.no_grad():
            run()
            graph, begin, end = torch.cuda.CUDAGraph(), *(torch.cuda.Event(enable_timing=True) for _ in range(2))
            with torch.cuda.graph(graph):
                run()
            graph.replay()
            begin.record(), graph.replay(), end.record()
            end.synchronize()
        self.measured = 1000 * begin.elapsed_time(end) / 20, torch.cuda.get_device_name(device)
        self.last = None

    def beyond(self, sizes):
        """Why sizes that the certificate does not list are left to PyTorch; else a warning says it, once."""
        at = self.found.program.untested(sizes)
        if at is None or sizes is self.said_of:
            return None
        said = f"the certificate is for {at}, and for no other size"
        if self.options.untested == "eager":
            return said + " (option untested)"
        if self.untested is None:
            warnings.warn(f"mirage: a program runs untested at {', '.join(map(str, sizes))}: {said} (option untested)")
        self.untested = f"last ran untested at {', '.join(map(str, sizes))}: {said} (option untested)"
        self.said_of = sizes
        return None

    def tensor(self, k, args, views, first):
        i = self.inputs[k]
        if i.constant is not None:
            made = self.constants.get((k, first.device))
            if made is None:
                made = torch.full((1,), i.constant[1], dtype=TORCH[i.dtype], device=first.device)
                if not (made.is_cuda and torch.cuda.is_current_stream_capturing()):  # else that graph's, as a workspace
                    self.constants[k, first.device] = made
            return made
        t = args[self.sources[k]]
        for what, how in views:
            t = t.permute(how) if what == "permute" else t.reshape(how)
        return t


def _laid(t, shape, dtype, strides):
    """What a program made, as PyTorch gives it."""
    t = (t if t.shape == shape else t.view(shape)).to(dtype)
    if strides is not None and t.stride() != strides:
        t = torch.empty_strided(t.shape, strides, dtype=dtype, device=t.device).copy_(t)
    return t


def _expressions(fakes):
    """Where a call's sizes stand: the tensor, its dimension, and the expression that it is; of a number no dimension."""
    for k, fake in enumerate(fakes):
        if isinstance(fake, torch.Tensor):
            yield from ((k, d, e) for d, e in enumerate(_extents(fake.shape)) if not isinstance(e, int))
        elif isinstance(fake, torch.SymInt):
            yield from ((k, None, e) for e in _extents((fake,)) if not isinstance(e, int))


def _extents(sizes):
    from .lower import extents
    return extents(sizes)


def _strides(fake):
    return None if fake.is_contiguous() else _extents(fake.stride())


def _size(e, known):
    if isinstance(e, int):
        return e
    if e in known:
        return known[e]
    e = e.subs({s: known[s] for s in e.free_symbols if s in known})
    return int(e) if isinstance(e, sympy.Expr) and e.is_number else None


def _resolved(shape, known):
    return tuple(-1 if d is None else d for d in (_size(d, known) for d in shape))
