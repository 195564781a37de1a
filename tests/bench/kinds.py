"""What kind of program a text is, and the stages that a fused peer would run it in.  Needs nothing but Python.

A program is cut into stages, each of which is one kernel of fused.py:
  product    one or more matrix products of one left operand, RMSNorm of it before them (the gain goes in, the row's divisor
             comes after the sum), adapters (X A) B of few columns beside them, elementwise operators behind them
  attention  softmax over scaled, masked or biased scores, times values; queries and keys may be normalised; elementwise behind
  pair       two products in a row, the middle one kept on the chip
  rows       elementwise operators and reductions along the last dimension, a row a block
`cut` gives the stages, or None where an operator fits none of them: then only PyTorch is a peer.
"""
import ast, math, re

ELEMENTWISE = {  # texts of Triton; {0}, {1} are operands in f32, {c} and {d} constants
    "add": "({0} + {1})", "sub": "({0} - {1})", "mul": "({0} * {1})", "div": "({0} / {1})", "exp": "tl.exp({0})", "sqr": "({0} * {0})",
    "sqrt": "tl.sqrt({0})", "silu": "({0} / (1.0 + tl.exp(-{0})))", "gelu": "(0.5 * {0} * (1.0 + tl.erf({0} * 0.7071067811865476)))",
    "relu": "tl.maximum({0}, 0.0)", "log": "tl.log({0})", "neg": "(-{0})", "scale": "({0} * {c})", "add_scalar": "({0} + {c})",
    "sigmoid": "(1.0 / (1.0 + tl.exp(-{0})))", "tanh": "(2.0 / (1.0 + tl.exp(-2.0 * {0})) - 1.0)", "rsqrt": "(1.0 / tl.sqrt({0}))",
    "abs": "tl.abs({0})", "maximum": "tl.maximum({0}, {1})", "minimum": "tl.minimum({0}, {1})",
    "clamp_min": "tl.maximum({0}, {c})", "clamp_max": "tl.minimum({0}, {c})", "clamp": "tl.minimum(tl.maximum({0}, {c}), {d})"}
REDUCTIONS = {"sum": "tl.sum({0}, 0)", "mean": "(tl.sum({0}, 0) / {n})", "max": "tl.max({0}, 0)", "min": "tl.min({0}, 0)"}
ADAPTER = 64  # columns that a product may have to be computed anew in each block
BYTES = {"f16": 2, "bf16": 2, "f32": 4}


class Unknown(Exception):
    pass


class Node:
    def __init__(self, op, args, attrs, shape, type):
        self.op, self.args, self.attrs, self.shape, self.type = op, args, attrs, shape, type


class Program:
    """nodes: {name: Node} in the order of the text, inputs among them (op "input", attrs order)."""
    def __init__(self, name, nodes, outputs):
        self.name, self.nodes, self.outputs = name, nodes, outputs

    def inputs(self):
        return [n for n, v in self.nodes.items() if v.op == "input"]

    def users(self, name):
        return [n for n, v in self.nodes.items() if name in v.args]

    def inner(self, name, user):
        """Whether nothing but `user` sees the value."""
        return name not in self.outputs and set(self.users(name)) == {user}


def broadcast(shapes):
    rank = max(map(len, shapes))
    full = [(1,) * (rank - len(s)) + tuple(s) for s in shapes]
    out = tuple(max(d) for d in zip(*full))
    if any(d not in (1, o) for s in full for d, o in zip(s, out)):
        raise Unknown("shapes")
    return out


def shape_of(op, shapes, attrs):
    if op in ELEMENTWISE:
        return broadcast(shapes)
    if op == "matmul":
        a, b = shapes
        if a[-1] != b[-2]:
            raise Unknown("matmul")
        lead = broadcast([a[:-2] or (1,), b[:-2] or (1,)]) if len(a) > 2 or len(b) > 2 else ()
        return tuple(lead) + (a[-2], b[-1])
    if op in REDUCTIONS:
        s = list(shapes[0])
        s[attrs["dim"]] = 1
        return tuple(s)
    if op in ("softmax", "causal", "rms_norm"):
        return shapes[0]
    raise Unknown(op)


def parse(text):
    """The Program of a text; Unknown where an operator is none of those above."""
    text = re.sub(r"#.*", "", text)
    nodes = {}
    for n, t, d, o in re.findall(r"^\s*input\s+(\w+)\s*:\s*(\w+)\s*\[([\d, ]+)\]\s*(?:@\s*\[([\d, ]+)\])?", text, re.M):
        dims = tuple(int(v) for v in d.split(","))
        nodes[n] = Node("input", [], {"order": tuple(int(v) for v in o.split(",")) if o else tuple(range(len(dims)))}, dims, t)
    declared = len(re.findall(r"^\s*(?:input|sym)\s", text, re.M))
    if declared != len(nodes):
        raise Unknown("an input's form")

    def number(e):
        return eval(compile(ast.Expression(e), "constant", "eval"), {"__builtins__": {}})

    def value(e, name=None):
        if isinstance(e, ast.Name):
            return e.id
        if not isinstance(e, ast.Call):
            raise Unknown("an operand")
        op, args, attrs = e.func.id, [], {}
        for a in e.args:
            if isinstance(a, (ast.Name, ast.Call)):
                args.append(value(a))
            else:
                attrs["c" if "c" not in attrs else "d"] = number(a)
        for k in e.keywords:
            attrs[k.arg] = number(k.value)
        name = name or "_%d" % len(nodes)
        shape = shape_of(op, [nodes[a].shape for a in args], attrs)
        if attrs.get("dim", 0) < 0:
            attrs["dim"] += len(shape)
        nodes[name] = Node(op, args, attrs, shape, nodes[args[0]].type)
        return name
    for name, e in re.findall(r"^\s*(\w+)\s*=\s*(.+)$", text, re.M):
        made = value(ast.parse(e.replace("from=", "start="), mode="eval").body, name)
        if made != name:
            raise Unknown("a second name")
    outputs = [o.strip() for line in re.findall(r"^\s*output\s+(.+)$", text, re.M) for o in line.split(",")]
    name = re.search(r"^\s*program\s+(\w+)", text, re.M)
    if any(n.type not in BYTES for n in nodes.values()) or not outputs:
        raise Unknown("a type")
    return Program(name and name.group(1), nodes, outputs)


def weights(p):
    """Inputs that are matrices on the right of a product."""
    return {v.args[1] for v in p.nodes.values()
            if v.op == "matmul" and p.nodes[v.args[1]].op == "input" and len(p.nodes[v.args[1]].shape) == 2}


def turned(p):
    """The program with its weights stored as [N, K]."""
    w = weights(p)
    nodes = {n: Node(v.op, v.args, {"order": (1, 0)} if n in w else v.attrs, v.shape, v.type)
             for n, v in p.nodes.items()}
    return Program(p.name, nodes, p.outputs)


def turned_text(text):
    """The text of `turned`; None where it would be the same, or an operator is unknown."""
    try:
        p = parse(text)
    except Unknown:
        return None
    stored = [n for n in weights(p) if p.nodes[n].attrs["order"] == (0, 1)]
    for n in stored:
        text = re.sub(r"(?m)^(\s*input\s+%s\s*:\s*\w+\s*\[[\d, ]+\])(\s*@\s*\[0, 1\])?" % n, r"\1 @ [1, 0]", text)
    return text if stored else None


def reassociated(p, most=4):
    """The program with every (A B) D, whose middle nothing else sees, as A (B D), where that takes at most `most` times the
    operations; None where there is none."""
    nodes, changed = {}, False
    for name, v in p.nodes.items():
        inner = v.args[0] if v.op == "matmul" else None
        if inner and p.nodes[inner].op == "matmul" and p.inner(inner, name):
            a, b = p.nodes[inner].args
            d = v.args[1]
            (m, k), (n, h) = p.nodes[a].shape[-2:], p.nodes[d].shape[-2:]
            if k * n * h + m * k * h > most * (m * k * n + m * n * h):
                nodes[name] = v
                continue
            shape = shape_of("matmul", [p.nodes[b].shape, p.nodes[d].shape], {})
            del nodes[inner]
            nodes[name + "_right"] = Node("matmul", [b, d], {}, shape, v.type)
            nodes[name] = Node("matmul", [a, name + "_right"], {}, v.shape, v.type)
            changed = True
        else:
            nodes[name] = v
    return Program(p.name, nodes, p.outputs) if changed else None


class Stage:
    """kind; what it reads, as names; body: the elementwise operators behind it or the row's operators, as names; stores: its
    results, as names; the rest by kind (products: [(right,)] or [(A, B)] of an adapter, norm: (gain or None, eps); ..)."""
    def __init__(self, kind, **more):
        self.kind, self.body, self.stores = kind, [], []
        self.__dict__.update(more)

    def reads(self):
        return list(dict.fromkeys(self.heads + self.operands))


def epilogue(p, stage, made, ready):
    """Takes what follows the values `made` elementwise, at their shape, into the stage."""
    inside, beside = list(made), []
    shape = p.nodes[made[0]].shape
    for n, v in p.nodes.items():
        if n in ready or n in inside or v.op not in ELEMENTWISE or v.shape != shape or not all(a in inside + beside or a in ready for a in v.args):
            continue
        if any(a in inside for a in v.args):
            for x in [a for a in beside if a in v.args] + [n]:
                inside.append(x)
                stage.body.append(x)
        elif n not in p.outputs and len(p.users(n)) == 1 and all(a in ready for a in v.args):
            beside.append(n)
    stage.stores = [n for n in inside if n in p.outputs or any(u not in inside for u in p.users(n))]
    stage.made = list(made)
    stage.operands = [a for n in stage.body for a in p.nodes[n].args if a not in inside]
    return inside


def attention_of(p, n):
    """The attention that `n` is the end of, as a stage without its epilogue, and the names within it; or None."""
    v = p.nodes[n]
    if v.op != "matmul" or p.nodes[v.args[0]].op != "softmax" or len(v.shape) != 3:
        return None
    soft = v.args[0]
    if p.nodes[soft].attrs.get("dim") != len(v.shape) - 1 or not p.inner(soft, n):
        return None
    at, user, scale, bias, causal, inside = p.nodes[soft].args[0], soft, 1.0, None, False, [soft]
    while p.nodes[at].op in ("scale", "add", "causal"):
        s = p.nodes[at]
        if not p.inner(at, user):
            return None
        inside.append(at)
        if s.op == "scale":
            scale *= s.attrs["c"]
        elif s.op == "causal":
            causal = True
        else:
            if bias or scale != 1.0 or p.nodes[s.args[1]].op != "input" or p.nodes[s.args[1]].shape != s.shape:
                return None
            bias = s.args[1]
        user, at = at, s.args[0]
    if p.nodes[at].op != "matmul" or not p.inner(at, user) or scale <= 0:
        return None
    inside.append(at)
    q, k = p.nodes[at].args
    norms = []
    for x, dim in ((q, 2), (k, 1)):
        s = p.nodes[x]
        normed = s.op == "rms_norm" and len(s.args) == 1 and s.attrs.get("dim", 2) == dim and p.inner(x, at)
        norms.append((s.args[0], s.attrs.get("eps", 0.0)) if normed else (x, None))
        inside += [x] if normed else []
    if any(len(p.nodes[x].shape) != 3 or p.nodes[x].shape[0] != v.shape[0] for x in (norms[0][0], norms[1][0], v.args[1])):
        return None
    return Stage("attention", q=norms[0][0], k=norms[1][0], v=v.args[1], qeps=norms[0][1], keps=norms[1][1], scale=scale, bias=bias, causal=causal,
                 heads=[norms[0][0], norms[1][0], v.args[1]] + ([bias] if bias else [])), inside


def rows_of(p, n):
    """(rows, length) of a value that a stage of rows can hold, a length of 1 being a reduction's; or None."""
    s = p.nodes[n].shape
    return (math.prod(s[:-1]), s[-1]) if s else None


def row_like(p, n):
    v = p.nodes[n]
    last = len(v.shape) - 1
    if v.op in ELEMENTWISE:
        return True
    return v.op in ("softmax", "rms_norm", *REDUCTIONS) and v.attrs.get("dim", last) == last


def cut(p, fused=True, pair=False):
    """The stages of the program in an order in which they can run, or None.  fused=False: products alone, as a library has
    them, and stages of rows between them.  pair: two products in a row are one stage."""
    ready, stages, taken = set(p.inputs()), [], set()
    order = list(p.nodes)

    def emit(stage, inside):
        stages.append(stage)
        ready.update(inside)
        taken.update(inside)

    def product(n):
        """The stage that n, a product whose operands are ready, begins."""
        v = p.nodes[n]
        left, norm, heads, hidden = v.args[0], None, [], []
        if fused and p.nodes[left].op == "rms_norm" and p.nodes[left].attrs.get("dim", len(p.nodes[left].shape) - 1) == len(p.nodes[left].shape) - 1 and \
                left not in ready and left not in p.outputs and all(p.nodes[u].op == "matmul" and p.nodes[u].args[0] == left for u in p.users(left)):
            s = p.nodes[left]
            norm, base = (s.args[1] if len(s.args) > 1 else None, s.attrs.get("eps", 0.0)), s.args[0]
        else:
            base = left
        if base not in ready or (norm and norm[0] and norm[0] not in ready):
            return None

        def of(m):  # the product m of the same left operand, as (right,) or an adapter's (A, B)
            w = p.nodes[m]
            if w.op != "matmul" or m in ready or w.shape != v.shape:
                return None
            if w.args[0] == left and w.args[1] in ready:
                return (w.args[1],)
            inner = p.nodes[w.args[0]]
            if fused and inner.op == "matmul" and inner.args[0] == left and inner.shape[-1] <= ADAPTER and len(inner.shape) == 2 and p.inner(w.args[0], m) and \
                    inner.args[1] in ready and w.args[1] in ready:
                return (inner.args[1], w.args[1])
            return None
        mine = of(n)
        if not mine:
            return None
        group = [n] + [m for m in order if m != n and of(m)] if fused else [n]
        if len(group) > 1 and len(p.nodes[n].shape) > 2:
            group = [n]
        stage = Stage("product", left=base, norm=norm, products=[of(m) for m in group], shape=v.shape, depth=p.nodes[left].shape[-1])
        stage.heads = [base] + ([norm[0]] if norm and norm[0] else []) + [x for q in stage.products for x in q]
        hidden = [p.nodes[m].args[0] for m in group if len(of(m)) > 1]
        if fused:
            inside = epilogue(p, stage, group, ready)
        else:
            stage.stores, stage.made, stage.operands, inside = [n], [n], [], [n]
        if norm:
            later = [u for u in p.users(left) if u not in inside]
            hidden += [] if later else [left]
        return stage, inside + hidden

    def paired(n):
        v = p.nodes[n]
        inner = v.args[0]
        if v.op != "matmul" or p.nodes[inner].op != "matmul" or not p.inner(inner, n):
            return None
        a, b = p.nodes[inner].args
        if not {a, b, v.args[1]} <= ready or len({len(p.nodes[x].shape) for x in (a, b, v.args[1])}) > 1:
            return None
        stage = Stage("pair", a=a, b=b, d=v.args[1], heads=[a, b, v.args[1]], shape=v.shape)
        return stage, epilogue(p, stage, [n], ready) + [inner]

    def rows():
        """A stage of as many operators as can run in blocks of one row."""
        inside, size, stage = [], None, Stage("rows", heads=[])
        for n in order:
            v = p.nodes[n]
            if n in ready or n in waiting or not row_like(p, n) or not all(a in ready or a in inside for a in v.args):
                continue
            full = [rows_of(p, x) for x in v.args + [n]]
            own = max((r for r in full), key=lambda r: r[0] * r[1])
            if size and (own[0] != size[0] or own[1] not in (1, size[1])) or (not size and own[1] == 1):
                continue
            if any(rows_of(p, a) not in ((own[0], size and size[1] or own[1]), (own[0], 1), (1, size and size[1] or own[1]), (1, 1)) for a in v.args):
                continue
            size = size or own
            inside.append(n)
        if not inside:
            return None
        stage.size, stage.body, stage.made = size, inside, []
        stage.operands = list(dict.fromkeys(a for n in inside for a in p.nodes[n].args if a not in inside))
        stage.stores = [n for n in inside if n in p.outputs or any(u not in inside for u in p.users(n))]
        return stage, inside

    waiting = set()  # norms that a product will take
    if fused:
        waiting = {n for n in order if p.nodes[n].op == "rms_norm" and n not in p.outputs and p.users(n) and
                   p.nodes[n].attrs.get("dim", len(p.nodes[n].shape) - 1) == len(p.nodes[n].shape) - 1 and
                   all(p.nodes[u].op == "matmul" and p.nodes[u].args[0] == n for u in p.users(n))}
        ends = [(n, attention_of(p, n)) for n in order]
        held = {m for n, a in ends if a for m in a[1]}
        waiting |= held
    else:
        ends, held = [], set()
    attentions = {n: a for n, a in ends if a}
    while not set(p.outputs) <= ready:
        got = None
        for n in order:
            if n in ready or n in held:
                continue
            if n in attentions:
                stage, inside = attentions[n]
                if set(stage.heads) <= ready:
                    got = stage, epilogue(p, stage, [n], ready) + inside
            elif p.nodes[n].op == "matmul":
                got = (paired(n) if pair else None) or (None if pair and any(paired(u) for u in p.users(n)) else product(n))
                if got and fused and p.nodes[n].shape[-1] <= ADAPTER and any(p.nodes[u].op == "matmul" and p.nodes[u].args[0] == n and
                                                                               any(x != n and p.nodes[x].op == "matmul" and p.nodes[x].args[0] == p.nodes[n].args[0] and
                                                                                   p.nodes[x].shape == p.nodes[u].shape for x in order)
                                                                               for u in p.users(n)):
                    got = None  # an adapter, which the product beside it takes
            if got:
                break
        got = got or rows()
        if not got:
            return None
        emit(*got)
    return stages


def text_of(p, n, names):
    """The Triton text of an elementwise operator over the texts of its operands."""
    v = p.nodes[n]
    c = {k: repr(float(v.attrs[k])) for k in ("c", "d") if k in v.attrs}
    return ELEMENTWISE[v.op].format(*[names[a] for a in v.args], **c)


def rows_text(p, n, names, length):
    """Lines of Triton for an operator of a stage of rows; the value is named `names[n]`."""
    v = p.nodes[n]
    x = names[v.args[0]]
    if v.op in ELEMENTWISE:
        return ["%s = %s" % (names[n], text_of(p, n, names))]
    if v.op == "softmax":
        return ["%s = tl.exp(%s - tl.max(tl.where(mask, %s, float('-inf')), 0))" % (names[n], x, x), "%s = %s / tl.sum(tl.where(mask, %s, 0.0), 0)" % (names[n], names[n], names[n])]
    if v.op == "rms_norm":
        gain = " * " + names[v.args[1]] if len(v.args) > 1 else ""
        return ["%s = %s / tl.sqrt(tl.sum(tl.where(mask, %s * %s, 0.0), 0) / %d + %r)%s" % (names[n], x, x, x, length, float(v.attrs.get("eps", 0.0)), gain)]
    least = {"max": "float('-inf')", "min": "float('inf')"}.get(v.op, "0.0")
    return ["%s = %s" % (names[n], REDUCTIONS[v.op].format("tl.where(mask, %s, %s)" % (x, least), n=length))]


def kind_of(p):
    """In a word or two what the program is, by its fused stages."""
    stages = cut(p)
    return " + ".join(s.kind for s in stages) if stages else "unknown"
