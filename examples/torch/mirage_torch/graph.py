"""From what Dynamo captured to programs and what runs around them.

trace() gives ATen operators as PyTorch dispatches them before any decomposition. Runs of operators that lower.py covers
become programs: a node joins a run if none of its operands hangs on the run through a node outside, and if the library
parses the program with it. Views at a run's edges stay outside: they are free, and keep their aliases."""
import inspect
import operator
import sys

import torch
from torch.fx import Graph, GraphModule, Node
from torch.fx.experimental.proxy_tensor import make_fx

from .library import MirageError, Program
from .lower import Declined, HANDLERS, VIEWS, Writer, extents

aten = torch.ops.aten
SIZE = {aten.sym_size.int, aten.sym_stride.int, aten.sym_numel.default, aten.sym_storage_offset.default}


def trace(gm):
    """The graph in ATen operators, each node with the fake tensor that it makes in meta["val"]."""
    inputs = [n.meta["example_value"] for n in gm.graph.nodes if n.op == "placeholder"]
    modes = [i.fake_mode for i in inputs if isinstance(i, torch.Tensor) and hasattr(i, "fake_mode")]
    if not modes:
        raise Declined("the graph takes no tensors")
    made_of = {}  # operators without a rule that PyTorch itself has as others: einsum, outer
    for _ in range(4):
        with modes[0], torch.no_grad():
            traced = make_fx(gm, made_of, pre_dispatch=True, _allow_non_fake_inputs=True)(*inputs)
        more = {n.target for n in traced.graph.nodes if is_composite(n)} - made_of.keys()
        if not more:
            break
        made_of = {**made_of, **{t: t.decompose for t in more}}
    for n in traced.graph.nodes:
        if n.op == "get_attr" and "val" not in n.meta:
            t = getattr(traced, n.target)
            n.meta["val"] = modes[0].from_tensor(t) if isinstance(t, torch.Tensor) else t
    for n in list(traced.graph.nodes):
        plain = isinstance(n.target, torch._ops.OpOverload) or getattr(n.target, "__module__", "") in \
            ("_operator", "math", "torch", "torch.fx.experimental.symbolic_shapes", "torch.utils._sympy.functions")
        if n.target is torch._C._set_grad_enabled:
            traced.graph.erase_node(n)  # nobody asks for a gradient here
        elif n.op == "call_function" and not plain or n.op == "call_module":
            raise Declined(f"it calls {getattr(n.target, '__name__', n.target)}, which is no operator")
    functional(traced.graph)
    traced.graph.eliminate_dead_code(is_impure_node=lambda n: n.op in ("placeholder", "output") or mutates(n))
    return traced, modes[0].shape_env


def is_composite(node):
    return isinstance(node.target, torch._ops.OpOverload) and node.target not in HANDLERS and not mutates(node) and \
        node.target not in SIZE and node.target._can_decompose()


def mutates(node):
    schema = getattr(node.target, "_schema", None)
    if node.op != "call_function" or node.target is operator.getitem or node.target in SIZE:
        return False
    if schema is None:
        return not getattr(node.target, "__module__", "").startswith(("_operator", "math", "torch"))
    if schema.name in ("aten::batch_norm", "aten::instance_norm") and not is_still(node):
        return True  # the running statistics, whatever the schema says
    return schema.is_mutable or draws(node)


def is_still(node):
    said = dict(zip((a.name for a in node.target._schema.arguments), node.args)) | dict(node.kwargs)
    return said.get("training", said.get("use_input_stats")) is False


def draws(node):
    """It draws random numbers: a dropout does so in training alone, an attention where it drops."""
    if torch.Tag.nondeterministic_seeded not in node.target.tags:
        return False
    said = dict(zip((a.name for a in node.target._schema.arguments), node.args)) | dict(node.kwargs)
    if "train" in said:
        return said["train"] is not False
    return node.target is not aten.scaled_dot_product_attention.default or said.get("dropout_p", 0) != 0


def may_alias(node):
    """Its result may be its operand's memory."""
    schema = getattr(node.target, "_schema", None)
    names = ("contiguous", "reshape", "to", "type_as", "flatten", "dropout", "expand_as", "reshape_as")
    return node.target is operator.getitem or schema is None or any(r.alias_info for r in schema.returns) or \
        node.target._schema.name.split("::")[1] in names


def functional(graph):
    """x.add_(y) becomes x = x.add(y) where x is a value of the graph's own that nothing else sees."""
    order = {n: k for k, n in enumerate(graph.nodes)}
    for n in list(graph.nodes):
        schema = getattr(n.target, "_schema", None)
        if n.op != "call_function" or schema is None or not schema.is_mutable or not n.args:
            continue
        x, name = n.args[0], schema.name.split("::")[1]
        if not name.endswith("_") or not hasattr(aten, name[:-1]) or not isinstance(x, Node):
            continue
        packet = getattr(aten, name[:-1])
        if x.op != "call_function" or may_alias(x) or any(may_alias(u) for u in x.users if u is not n):
            continue
        types = {a.meta["val"].dtype for a in n.all_input_nodes if isinstance(a.meta.get("val"), torch.Tensor)}
        if n.target._overloadname not in packet.overloads() or len(types - {torch.bool}) != 1 or \
                n.meta["val"].shape != x.meta["val"].shape:
            continue
        n.target = getattr(packet, n.target._overloadname)
        for u in list(x.users):
            if order[u] > order[n]:
                u.replace_input_with(x, n)


class Run:
    """Nodes that are one program."""

    def __init__(self):
        self.nodes, self.members, self.takes = [], set(), set()


OPEN = 8  # runs that may still grow


def join(run, node, where):
    run.nodes.append(node)
    run.takes |= {a for a in node.all_input_nodes if isinstance(a.meta.get("val"), torch.Tensor)}
    where[node] = run


class Lowered:
    """The program of a run: text, symbols, the Writer's inputs, and for each output node its Value."""

    def __init__(self, text, symbols, inputs, outputs, computes):
        self.text, self.symbols, self.inputs, self.outputs, self.computes = text, symbols, inputs, outputs, computes
        names = []
        for _, v in outputs:
            if v.name not in names:
                names.append(v.name)
        self.names = names


def is_view(node):
    """What the run does with it, if it needs it, moves no data: outside it is done again."""
    if node.target in (aten.to.dtype, aten.to.dtype_layout, aten.to.other, aten.type_as.default, aten._to_copy.default):
        source = node.args[0].meta["val"]
        return source.dtype == node.meta["val"].dtype
    return node.target in VIEWS


def on_cuda(node):
    made = node.meta["val"]
    return any(isinstance(t, torch.Tensor) and t.is_cuda for t in (made if isinstance(made, (list, tuple)) else [made]))


def needed(run, members):
    """The nodes of a run that somebody outside takes, views followed to what they see."""
    wanted = {}
    for n in reversed(run):
        if n in wanted or any(u not in members for u in n.users):
            if is_view(n):
                for a in n.all_input_nodes:
                    if a in members:
                        wanted[a] = True
            else:
                wanted[n] = True
    return [n for n in run if n in wanted and not is_view(n)]


def lowered(run, bounds, options, trial=False):
    """Raises Declined or MirageError where there is no such program."""
    exact = on_cuda(run[0]) and torch.get_float32_matmul_precision() == "highest"
    w, values, members = Writer(bounds, options.most_symbols, exact), {}, set(run)

    def value(a):
        if isinstance(a, Node):
            if a in values:
                return values[a]
            fake = a.meta.get("val")
            if isinstance(fake, torch.Tensor):
                values[a] = w.input(a)
                return values[a]
            if isinstance(fake, (torch.SymInt, torch.SymFloat)):
                e = extents((fake,))[0]
                return e if isinstance(e, int) else fake
            return fake
        if isinstance(a, (list, tuple)):
            return [value(x) for x in a]
        return a

    for n in run:
        args, kwargs = [value(a) for a in n.args], {k: value(a) for k, a in n.kwargs.items()}
        try:
            inspect.signature(HANDLERS[n.target]).bind(w, n, *args, **kwargs)
        except TypeError as e:
            raise Declined(f"arguments that its rule does not take: {e}") from None
        values[n] = HANDLERS[n.target](w, n, *args, **kwargs)
    wanted = needed(run, members)
    if trial:
        wanted = wanted[:8]
        if not wanted:  # a view alone, so far
            return None
    outputs = []
    for n in wanted:
        v = values[n]
        want = str(n.meta["val"].dtype)[6:]
        kinds = {"f16": "float16", "bf16": "bfloat16", "f32": "float32", "i32": "int64"}
        if kinds.get(v.dtype) != want:
            raise Declined(f"its result is {want}, and a program's {v.dtype}")
        if v.name and v.name.startswith("_"):
            v = w.scale(v, 1)
        outputs.append((n, v))
    text, symbols = w.finish([v for _, v in outputs])
    if w.computes > options.most_operators:
        raise Declined(f"more than {options.most_operators} operators in one program (option most_operators)")
    Program(text)  # what the text form refuses it refuses here
    return Lowered(text, symbols, w.inputs, outputs, w.computes)


def blocked(node, devices):
    """Why a node is left to PyTorch whatever stands around it; None: nothing does."""
    if node.op != "call_function":
        return {"get_attr": "a constant of the graph"}.get(node.op, f"a {node.op}")
    if node.target in SIZE or not isinstance(node.meta.get("val"), (torch.Tensor, list, tuple)):
        return "arithmetic of sizes"
    if mutates(node):
        return "it draws random numbers" if draws(node) else "it mutates its operand"
    if node.target not in HANDLERS:
        return f"no rule for {node.target}"
    for t in [node.meta["val"]] if isinstance(node.meta["val"], torch.Tensor) else node.meta["val"]:
        if isinstance(t, torch.Tensor) and t.device.type not in devices:
            return f"it is on the device {t.device.type}: programs run on {' and '.join(devices)}"
        if isinstance(t, torch.Tensor) and t.device.type == "cuda" and len({a.meta["val"].device for a in
                node.all_input_nodes if isinstance(a.meta.get("val"), torch.Tensor)}) > 1:
            return "its operands are on several devices"
    return None


def waits(nodes, runs, where):
    """1 if what these nodes take from outside hangs, each program as a whole, on one of the runs."""
    inside = set(nodes)
    seen, left = set(), [a for n in nodes for a in n.all_input_nodes if a not in inside]
    while left:
        n = left.pop()
        unit = where.get(n, n)
        if unit in runs:
            return True
        if unit in seen:
            continue
        seen.add(unit)
        for m in unit.nodes if isinstance(unit, Run) else (n,):
            left += m.all_input_nodes
    return False


def partition(graph, bounds, options):
    """Runs in order, and why[node] for each other node. Several runs may be open at a time: a node joins one that makes
    or takes an operand of it; what changes memory closes all."""
    runs, why, where, opened, after = [], {}, {}, [], {}
    index = {n: k for k, n in enumerate(graph.nodes)}

    def fits(nodes, node):
        try:
            lowered(nodes + [node], bounds, options, trial=True)
            return None
        except (Declined, MirageError) as e:
            return str(e)

    for n in graph.nodes:
        if n.op in ("placeholder", "output"):
            continue
        why[n] = blocked(n, options.devices)
        if why[n] is not None:
            if n.op == "call_function" and mutates(n):
                opened = []
            continue
        makers = [where[a] for a in n.all_input_nodes if a in where]
        if is_view(n) and not makers:
            why[n] = "a view of what no program makes: no data moves"
            continue
        near = [[r] for r in reversed(opened) if r in makers]
        if len(near) > 1:  # as one
            near.insert(0, [r for r in opened if r in makers])
        if not is_view(n):
            near += [[r] for r in reversed(opened) if [r] not in near and r.takes & set(n.all_input_nodes)]
        reasons, joined = [], False
        for some in near:
            nodes = sorted((m for r in some for m in r.nodes), key=index.get)
            reason = "a part of it waits for what is computed of the program before it" \
                if waits(nodes + [n], some, where) else fits(nodes, n)
            joined = reason is None
            if joined:
                some[0].nodes = nodes
                for r in some[1:]:
                    opened.remove(r)
                    runs.remove(r)
                    some[0].takes |= r.takes
                for m in nodes:
                    where[m] = some[0]
                join(some[0], n, where)
                break
            reasons.append(reason)
        if joined:
            continue
        if is_view(n):
            why[n] = "not in the program before it: " + (reasons[0] if reasons else "memory is changed between")
            continue
        why[n] = fits([], n)
        if why[n] is not None:
            continue
        if reasons:
            after[n] = reasons[0]
        runs.append(Run())
        opened = opened[1 - OPEN:] + runs[-1:]
        join(runs[-1], n, where)
    out = []
    for run in runs:
        for n in reversed(list(run.nodes)):  # views that no operator of the run takes are done on its result
            if is_view(n) and not any(where.get(u) is run for u in n.users):
                run.nodes.remove(n)
                del where[n]
                why[n] = "a view of a program's result: no data moves"
        while run.nodes:
            reason = None
            try:
                run.lowered = lowered(run.nodes, bounds, options)
                if run.lowered.computes >= options.least_operators:
                    break
                reason = f"a program of {run.lowered.computes} operator alone: PyTorch's own is as good " \
                         "(option least_operators)"
                for n in run.nodes:
                    why[n] = reason
                run.nodes = []
            except (Declined, MirageError) as e:
                why[run.nodes.pop()] = str(e)
        if run.nodes:
            run.members, run.begins = set(run.nodes), after.get(run.nodes[0])
            out.append(run)
    return out, {n: r for n, r in why.items() if r is not None}


def split(traced, runs, calling):
    """A graph in which each run is what calling(graph, run, its operands, those on the graph) adds."""
    unit = {n: r for r in runs for n in r.nodes}
    nodes = list(traced.graph.nodes)
    index, graph, new, done = {n: k for k, n in enumerate(nodes)}, Graph(), {}, set()
    barrier, before, parts = None, {}, []
    for n in nodes:
        u = unit.get(n, n)
        if u not in before:
            before[u] = set()
            parts.append(u)
        before[u] |= {unit.get(a, a) for a in n.all_input_nodes} - {u}
        if barrier is not None and u is not barrier:
            before[u].add(barrier)
        if n.op == "call_function" and mutates(n):
            before[u] |= set(parts) - {u}
            barrier = u
        elif n.op == "output":
            before[u] |= set(parts) - {u}

    def again(n):
        """A node as it stands, on the new graph; views of a run's results too."""
        if n not in new:
            for a in n.all_input_nodes:
                again(a)
            new[n] = graph.node_copy(n, lambda a: new[a])
        return new[n]

    def emit(u):
        if u in done:
            return
        done.add(u)
        for b in sorted(before[u], key=lambda b: index[b.nodes[0] if isinstance(b, Run) else b]):
            emit(b)
        if isinstance(u, Node):
            if u.op == "output":
                graph.output(torch.fx.map_arg(u.args[0], again))
            else:
                again(u)
            return
        taken = []
        for n in u.nodes:
            taken += [a for a in n.all_input_nodes if a not in u.members and a not in taken]
        call = calling(graph, u, taken, [again(a) for a in taken])
        for k, (n, _) in enumerate(u.lowered.outputs):
            new[n] = graph.call_function(operator.getitem, (call, k))
            new[n].meta = dict(n.meta)

    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(max(depth, 20000))
    try:
        for n in nodes:  # inputs first, in their order
            if n.op == "placeholder":
                emit(n)
        for u in parts:
            emit(u)
    finally:
        sys.setrecursionlimit(depth)
    return graph


def eager_of(run, taken):
    """The run's own nodes, as PyTorch runs them."""
    graph, new = Graph(), {}
    for k, a in enumerate(taken):
        new[a] = graph.placeholder(f"a{k}")
    for n in run.nodes:
        new[n] = graph.node_copy(n, lambda a: new[a])
    graph.output(tuple(new[n] for n, _ in run.lowered.outputs))
    return GraphModule(torch.nn.Module(), graph)


def bounds_of(shape_env, most):
    """bounds(expression): the least and the greatest value, as the shape environment has them, and at most `most`."""
    def bounds(e):
        if shape_env is None:
            return 1, most
        r = shape_env.bound_sympy(e)
        least = int(r.lower) if r.lower.is_finite else 1
        upper = int(r.upper) if r.upper.is_Integer and r.upper.is_finite else most
        return max(least, 1), max(min(upper, most), max(least, 1))
    return bounds
