"""torch.compile(model, backend="mirage"): programs of a model are superoptimized, proved equal, and run as one.

    backend          what torch.compile calls
    explain          explain(model, *args) says of every node where it went and why, of every program what is known
    superoptimize    one function as one program
    register         a custom operator stands for a row that was added to the operator table
    Options          the options, by name
    wait             until the searches of mode "fast" have ended

Inference only: a graph through which a gradient may be asked for is left to PyTorch, by name."""
import warnings

import torch

from . import graph as _graph
from .execute import CALLS, Call, Options, call, found_for, forget, wait
from .library import MirageError, Program, recheck
from .lower import Declined, register

__all__ = ["backend", "explain", "superoptimize", "register", "recheck", "Options", "Program", "MirageError",
           "Declined", "Report", "wait", "forget"]


class Report:
    """What became of a model: nodes is a list of (graph, name, operator, where, why), programs of their facts."""

    def __init__(self, watched=False):
        self.graphs, self.nodes, self.calls, self.declined, self.watched = 0, [], [], [], watched

    @property
    def programs(self):
        return [_facts(k, c) for k, c in enumerate(self.calls)]

    def __str__(self):
        out = [f"{self.graphs} graph{'s' if self.graphs != 1 else ''}, {len(self.calls)} programs"]
        out += [f"graph {k} is left to PyTorch: {why}" for k, why in self.declined]
        for g, name, op, where, why in self.nodes:
            out.append(f"  {g}  {name:<28} {op:<44} {where}{': ' + why if why else ''}")
        for p in self.programs:
            out.append(f"program {p['number']}: {p['state']}")
            for k, r in enumerate(p["ranges"]):
                delta = f", delta <= 2^{r['log2_delta']:.1f}" if r["log2_delta"] < 0 else ""
                out.append(f"  range {k + 1}: {r['verdict']}{delta}; {r['reason'] or 'nothing was searched'}")
                kernels = f"{r['kernels']} kernel{'s' if r['kernels'] != 1 else ''}"
                out.append(f"    {kernels}, predicted {r['predicted_us']:.2f} us on {p['machine']} (model)"
                           f"; as written {p['written_us']:.2f} us; {r['safety'] or 'safety not looked at'}")
            out.append(f"  link 2: {p['link2']}")
            out.append(f"  measured: {p['measured']}")
            out.append(f"  runs: {p['runs']}")
            out += [f"  {note}" for note in p["notes"]]
            out += ["    " + line for line in p["text"].splitlines()]
        return "\n".join(out)


def _facts(number, c):
    f = c.found
    p = f.program
    state = "ready" if f.ready else "left to PyTorch: " + (f.failed or "its search has not ended")
    if f.ready and f.options.mode == "written":
        state = "as written: no search"
    elif f.ready:
        state += f", searched in {p.seconds:.2f} s" + (", from the cache" if p.cached else "")
        state += "" if p.complete else ", cut short"
    notes = [f"{i.name} is not dense: a copy of it is made at each call" for i in c.inputs if i.copied]
    notes += [f"{i.name} is given as {i.dtype}, of {_type(i.fake)}: a copy is made at each call"
              for i in c.inputs if i.constant is None and (i.dtype == "i32" or _type(i.fake) == "bool")]
    notes += ["a result is copied to the strides that PyTorch gives it" for r in c.results if r[3] is not None]
    if c.untested:
        notes.append(c.untested)
    if c.why_eager:
        notes.append("last left to PyTorch: " + c.why_eager)
    cuda = any(isinstance(t, torch.Tensor) and t.device.type == "cuda" for t in c.fakes)
    how = "emitted kernels on the tensors' device" if cuda else \
        "emitted kernels, emulated on the CPU thread by thread" if f.options.on_cpu == "emulate" else \
        "evaluated by the library over float64 on the CPU, results rounded to their types: no kernel is launched"
    runs = cuda or f.options.on_cpu == "emulate"
    link2 = f.link2 or ("not run (option check)" if runs else "not run, as no kernel is")
    timed = "{:.2f} us a call on {}, in a CUDA graph, what it reads in the cache".format(*c.measured) if c.measured \
        else "no: not timed"
    return {"number": number, "text": f.text, "state": state, "ready": f.ready, "ranges": p.facts() if f.ready else [],
            "written_us": p.written_us, "machine": f.machine or "H200", "notes": notes, "runs": how,
            "measured": timed, "link2": link2, "calls": dict(c.calls), "seconds": p.seconds,
            "cached": p.cached}


def _type(fake):
    return str(fake.dtype)[6:]


def _options(mode, options):
    given = dict(options or {})
    if mode is not None:
        given["mode"] = mode
    return Options(**given)


def _asks_gradient(inputs):
    for k, i in enumerate(inputs):
        if isinstance(i, torch.Tensor) and i.requires_grad:
            return f"input {k}{', a parameter' if isinstance(i, torch.nn.Parameter) else ''}"
    return None


def backend(gm, inputs, mode=None, options=None, report=None):
    """A backend of torch.compile: mode="fast" (the default), "measure" or "written", options as Options says."""
    o = _options(mode, options)
    report = Report() if report is None else report
    number = report.graphs
    report.graphs += 1

    def decline(why):
        report.declined.append((number, why))
        return _rest(gm, inputs, o)

    asks = _asks_gradient(inputs) if torch.is_grad_enabled() else None
    if asks:
        why = f"autograd: {asks} asks for a gradient, and programs are for inference: use torch.no_grad()"
        warnings.warn("mirage: a graph is left to PyTorch: " + why)
        return decline(why)
    try:
        traced, shape_env = _graph.trace(gm)
    except Declined as e:
        return decline(str(e))
    except Exception as e:  # what tracing cannot do is PyTorch's to say
        return decline(f"it was not traced: {type(e).__name__}: {str(e).splitlines()[0] if str(e) else ''}")
    runs, why = _graph.partition(traced.graph, _graph.bounds_of(shape_env, o.most_size), o)
    number_of = {}
    begins = {r.nodes[0]: r.begins for r in runs if r.begins}
    unit = {n: r for r in runs for n in r.nodes}

    def say_nodes():
        for n in traced.graph.nodes:
            if n.op not in ("placeholder", "output"):
                where = f"program {number_of[unit[n]]}" if n in unit else "PyTorch"
                reason = f"begins it, as {begins[n]}" if n in begins else why.get(n, "")
                report.nodes.append((number, n.name, str(n.target), where, reason))
    if not runs:
        say_nodes()
        return _rest(gm, inputs, o)
    root = torch.nn.Module()
    for n in traced.graph.nodes:
        if n.op == "get_attr" and not hasattr(root, n.target):
            t = getattr(traced, n.target)
            if isinstance(t, torch.Tensor):
                root.register_buffer(n.target, t, persistent=False)
            else:
                setattr(root, n.target, t)

    held = []

    def calling(graph, run, taken, operands):
        module = Call(run, taken, _graph.eager_of(run, taken), o, report.watched)
        number_of[run] = len(report.calls)
        report.calls.append(module)
        if o.rest == "inductor":
            held.append(module)
            return graph.call_function(torch.ops.mirage.call.default, module.split(operands))
        root.add_module(f"run_{len(report.calls)}", module)
        return graph.call_module(f"run_{len(report.calls)}", tuple(operands))
    split = _graph.split(traced, runs, calling)
    say_nodes()
    rest = _rest(torch.fx.GraphModule(root, split), inputs, o)
    return (lambda *args, _held=held: rest(*args)) if held else rest


def _rest(gm, inputs, o):
    if o.rest == "inductor":
        from torch._inductor.compile_fx import compile_fx
        return compile_fx(gm, inputs)
    return gm.forward


def explain(model, *args, mode="measure", options=None, **kwargs):
    """Compiles and runs the model on args, and says what became of it: print it, or read its fields. On a GPU its
    programs are timed."""
    report = Report(watched=True)

    def own(gm, inputs):
        return backend(gm, inputs, mode, options, report)
    with torch.no_grad():
        torch.compile(model, backend=own)(*args, **kwargs)
    for c in report.calls:
        c.measure()
    return report


class Superoptimized:
    """One function as one program: call it; .text, .found, .certificate, .facts say what it is."""

    def __init__(self, compiled, report):
        self._compiled, self.report = compiled, report

    def __call__(self, *args):
        with torch.no_grad():
            return self._compiled(*args)

    def _program(self):
        return self.report.calls[0].found.program

    text = property(lambda self: self.report.calls[0].text)
    found = property(lambda self: self._program().found())
    certificate = property(lambda self: self._program().certificate())
    facts = property(lambda self: self.report.programs[0])


def superoptimize(fn, *examples, mode="measure", options=None):
    """fn as one program, searched for the examples' shapes and types. Declined, with the reason, if it is not one."""
    report = Report()
    given = {"least_operators": 1, "most_operators": 64, **(options or {})}

    def own(gm, inputs):
        return backend(gm, inputs, mode, given, report)
    compiled = torch.compile(fn, backend=own, fullgraph=True, dynamic=False)
    with torch.no_grad():
        compiled(*examples)
    outside = [f"{name} ({op}): {why}" for _, name, op, where, why in report.nodes
               if where == "PyTorch" and not why.startswith("a view of")]
    if report.declined:
        raise Declined(report.declined[0][1])
    if outside or len(report.calls) != 1:
        raise Declined("; ".join(outside) if outside else f"it is {len(report.calls)} programs")
    if not report.calls[0].found.ready:
        raise MirageError(report.calls[0].found.failed or "its search has not ended", 2)
    return Superoptimized(compiled, report)


@torch.library.custom_op("mirage::run", mutates_args=())
def _run(program: str, inputs: list[torch.Tensor]) -> list[torch.Tensor]:
    device = inputs[0].device if inputs and inputs[0].is_cuda else None
    f = found_for(program, Options(mode="measure"), device)
    reason = f.elsewhere(device) if f.ready else f.failed
    if reason:
        raise RuntimeError("mirage::run: " + reason)
    sizes = _sizes(f.program, inputs)
    at = f.program.untested(sizes)
    if at:
        warnings.warn(f"mirage::run: the certificate is for {at}, and for no other size: untested at "
                      f"{', '.join(map(str, sizes))}")
    return call(f, _given(f.program, inputs), sizes)


@torch.library.custom_op("mirage::call", mutates_args=())
def _call(number: int, tensors: list[torch.Tensor], sizes: list[int]) -> list[torch.Tensor]:
    """A run of a graph that Inductor compiles."""
    return list(CALLS[number].joined(tensors, sizes))


@_call.register_fake
def _(number, tensors, sizes):
    return list(CALLS[number].eager(*CALLS[number].order(tensors, sizes)))


def _given(p, inputs):
    rest = iter(inputs)
    if len(inputs) != p.n_in - sum(p.filled):
        raise RuntimeError(f"mirage::run: the program takes {p.n_in - sum(p.filled)} tensors, found {len(inputs)}")
    return [None if filled else next(rest) for filled in p.filled]


def _sizes(p, inputs):
    """What its symbols are for these tensors, each of which is as the program says."""
    from .execute import TORCH
    given, sizes = _given(p, inputs), [None] * len(p.bounds)
    for t, dims in zip(given, p.symbol_of):
        for d, s in enumerate(dims[:t.dim()] if t is not None else ()):
            if s >= 0:
                sizes[s] = int(t.shape[d])
    if None in sizes:
        raise RuntimeError(f"mirage::run: size {p.symbol_names[sizes.index(None)]} is no input's dimension by itself")
    for k, t in enumerate(given):
        if t is None:
            continue
        kind, shape = p.input_types[k], p.input_shape(k, sizes)
        exact = (TORCH[kind], torch.bool) + (torch.int64,) * (kind == "i32")  # what its conversion keeps
        if t.dtype not in exact or list(t.shape) != shape or t.device != inputs[0].device or t.layout != torch.strided:
            dense = "" if t.layout == torch.strided else f", {t.layout}"
            raise RuntimeError(f"mirage::run: input {p.input_names[k]}: expected {str(TORCH[kind])[6:]}{shape} on "
                               f"{inputs[0].device}, found {_type(t)}{list(t.shape)} on {t.device}{dense}")
    return sizes


@_run.register_fake
def _(program, inputs):
    from .execute import TORCH
    p = Program(program)
    sizes = _sizes(p, inputs)
    return [torch.empty(p.output_shape(k, sizes), dtype=TORCH[kind], device=inputs[0].device)
            for k, kind in enumerate(p.output_types)]
