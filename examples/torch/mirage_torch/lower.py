"""Operators of PyTorch as the statements of a program.

A Writer makes the text of one program. A Value is what a node of the graph became: the name of a statement's result, or
an input that nothing has read yet. `shape` is the extents that PyTorch sees, `base` those of the program's tensor. If
they differ the value is seen through a reshape, which is written only if somebody needs it, as rows of [n, 8, 64] are
computed as [8*n, 64]. Views of inputs (`prep`) are done on the tensor at the call, where they cost nothing.
HANDLERS has a function for each operator; what it cannot say it declines with a reason, in words."""
import math
import operator
from fractions import Fraction

import sympy
import torch

from .library import MAX_INPUTS, MAX_OUTPUTS, MAX_RANK, has_operator

aten = torch.ops.aten
NAMES = {torch.float16: "f16", torch.bfloat16: "bf16", torch.float32: "f32", torch.int32: "i32"}
MASKED = -32768  # what mirage adds where a mask hides: exp of it is 0 in floats
LARGEST = 2**31 - 1  # of a constant's numerator and denominator


class Declined(Exception):
    """Why an operator, or a program, is left to PyTorch."""


def extents(sizes):
    """Extents as integers or expressions of sympy."""
    out = []
    for s in sizes:
        if isinstance(s, torch.SymInt):
            s = s.node.expr
        if isinstance(s, sympy.Expr):
            s = int(s) if s.is_number else sympy.expand(s)
        out.append(s)
    return tuple(out)


def product(dims):
    p = 1
    for d in dims:
        p = p * d
    return sympy.expand(p) if isinstance(p, sympy.Expr) else p


def type_name(dtype):
    if dtype not in NAMES or dtype == torch.int32:
        raise Declined(f"its type is {str(dtype)[6:]}: programs compute in float16, bfloat16 and float32")
    return NAMES[dtype]


def rational(value):
    """The text of a constant, exact or so near that a double does not tell it; None: there is none below 2^31."""
    if isinstance(value, (torch.SymInt, torch.SymFloat)) or not isinstance(value, (int, float)):
        raise Declined("a constant that is known only at the call")
    if not math.isfinite(value):
        raise Declined(f"the constant {value}: programs are over the reals")
    for limit in (1000, 10**6, 10**9, LARGEST):
        f = Fraction(value).limit_denominator(limit)
        near = float(f) == value or (limit == LARGEST and abs(float(f) - value) <= 2**-45 * abs(value))
        if near and abs(f.numerator) <= LARGEST and (f or not value):
            return str(f)
    return None


class Value:
    def __init__(self, dtype, shape, base=None, name=None, node=None, fake=None, prep=(), constant=None):
        self.dtype, self.shape, self.base = dtype, shape, shape if base is None else base
        self.name, self.node, self.fake, self.prep, self.constant = name, node, fake, prep, constant

    def seen(self, shape):
        """The same, seen in another shape of as many elements."""
        return Value(self.dtype, shape, self.base, self.name)


class Input:
    """node: what the graph passes, or constant: (value, dtype), or a mask; prep: the views done on it first."""

    def __init__(self, node, constant, prep, name, dims, order, dtype, copied, fake):
        self.node, self.constant, self.prep, self.name = node, constant, prep, name
        self.dims, self.order, self.dtype, self.copied, self.fake = dims, order, dtype, copied, fake


def dense_order(fake):
    """The memory order of the dimensions, outermost first, of a tensor that is dense; None: it is not."""
    sizes, strides = extents(fake.shape), extents(fake.stride())
    def guess(e):
        return e if isinstance(e, int) else int(e.subs({s: 97 for s in e.free_symbols}))
    order = sorted(range(len(sizes)), key=lambda d: (-guess(strides[d]), d))
    order = [d for d in order if sizes[d] != 1] if any(s == 1 for s in sizes) else order
    step = 1
    for d in reversed(order):
        if product((strides[d],)) != product((step,)):
            return None
        step = product((step, sizes[d]))
    for d, s in enumerate(sizes):  # where an extent of 1 stands does not matter
        if s == 1 and d not in order:
            after = [k for k, o in enumerate(order) if o > d]
            order.insert(after[0] if after else len(order), d)
    return order


class Writer:
    def __init__(self, bounds, most_symbols=2, exact_products=False):
        self.bounds, self.most_symbols = bounds, most_symbols  # bounds(expr): least and most
        self.exact_products = exact_products  # of float32: what kernels have is as tf32
        self.inputs, self.lines, self.count, self.computes = [], [], 0, 0

    # ---- inputs

    def input(self, node):
        fake = node.meta["val"]
        if not isinstance(fake, torch.Tensor):
            raise Declined("it takes what is no tensor")
        if fake.is_sparse or fake.is_quantized or fake.is_complex():
            raise Declined("it takes a sparse, quantized or complex tensor")
        return Value(NAMES.get(fake.dtype, str(fake.dtype)[6:]), extents(fake.shape), node=node, fake=fake)

    def constant(self, value, dtype):
        """One element that the call passes: the operator table has no constants as operands."""
        return Value(dtype, (1,), constant=("full", float(value)), fake=torch.empty(1))

    def viewed(self, v, what, how):
        """An input nobody has read, after a view that is done at the call."""
        if what == "reshape" and not self.free(v, how):
            what = "copy"
        fake = v.fake.permute(how) if what == "permute" else v.fake.reshape(self.torch_sizes(v, how))
        shape = tuple(v.shape[d] for d in how) if what == "permute" else tuple(how)
        return Value(v.dtype, shape, node=v.node, fake=fake, prep=v.prep + ((what, tuple(how)),), constant=v.constant)

    def free(self, v, how):
        try:
            v.fake.view(self.torch_sizes(v, how))
        except (RuntimeError, ValueError):
            return False
        return True

    def torch_sizes(self, v, how):
        known = {e: s for e, s in zip(v.shape, v.fake.shape)}
        out, unknown = [], 0
        for d in how:
            if not isinstance(d, int) and d not in known:
                d, unknown = -1, unknown + 1
            out.append(known.get(d, d))
        if unknown > 1:
            raise Declined("a view with two extents that its tensor does not have")
        return out

    def text(self, v, as_type=None):
        """The name of what v is in the program: of its tensor of shape v.base."""
        if v.name is not None:
            return v.name
        dtype = as_type or v.dtype
        if dtype not in ("f16", "bf16", "f32", "i32"):
            raise Declined(f"its operand is {dtype}: programs compute in float16, bfloat16 and float32")
        if not v.shape:
            v = self.viewed(v, "reshape", (1,))
        for known in self.inputs:
            if (known.node, known.constant, known.prep, known.dtype) == (v.node, v.constant, v.prep, dtype):
                return known.name
        if len(v.shape) > MAX_RANK:
            raise Declined(f"a tensor of rank {len(v.shape)}: programs take {MAX_RANK}")
        if any(d == 0 for d in v.shape):
            raise Declined("a tensor without elements")
        if len(self.inputs) == MAX_INPUTS:
            raise Declined(f"more than {MAX_INPUTS} inputs")
        order = dense_order(v.fake)
        name = f"x{len(self.inputs) + 1}"
        self.inputs.append(Input(v.node, v.constant, v.prep, name, v.shape, order, dtype,
                                 order is None or any(what == "copy" for what, _ in v.prep), v.fake))
        return name

    # ---- statements

    def line(self, *parts, inner=False):
        """Appends NAME = parts; a tuple among them is a list of extents."""
        self.count += 1
        name = ("_t" if inner else "t") + str(self.count)
        self.lines.append((name, parts))
        return name

    def say(self, op, values, attributes, shape, dtype, base=None, inner=False, costs=1):
        parts = [op, "("]
        for k, v in enumerate(values):
            parts += [", "] * (k > 0) + [v if isinstance(v, str) else self.text(v)]
        name = self.line(*parts, *attributes, ")", inner=inner)
        self.computes += costs
        return Value(dtype, shape, base, name)

    def cast(self, v, dtype, inner=False):
        if v.dtype == dtype:
            return v
        if v.name is None and v.dtype == "bool":
            return Value(dtype, v.shape, v.shape if v.shape else (1,), self.text(v, dtype))
        return self.say("cast", [v], [", ", dtype], v.shape, dtype, v.base if v.name else v.shape or (1,), inner)

    def solid(self, v):
        """v, with nothing between its shape and its tensor's; of rank 0 that is one of rank 1."""
        shape = v.shape or (1,)
        if v.name is None:
            return Value(v.dtype, v.shape, shape, self.text(v))
        if v.base == shape:
            return v
        return self.say("reshape", [v], [", ", shape], v.shape, v.dtype, shape, v.name[0] == "_", 0)

    def rebased(self, v, of):
        """The name of v as an operand beside tensors of shape of.base that are seen as of.shape; None: it is none."""
        if v.shape == of.shape:
            if v.name is None:
                return self.text(self.viewed(v, "reshape", of.base))
            if v.base == of.base:
                return v.name
            return self.say("reshape", [v], [", ", of.base], v.shape, v.dtype, of.base, v.name[0] == "_", 0).name
        own = v.shape
        while own and own[0] == 1:
            own = own[1:]
        alike = 0  # dimensions at the end that the tensor has as it is seen
        while alike < min(len(of.base), len(of.shape)) and of.base[-1 - alike] == of.shape[-1 - alike]:
            alike += 1
        rows = alike > 0
        if len(own) <= alike:
            if v.name is None:
                return self.text(self.viewed(v, "reshape", own or (1,)))
            return self.solid(v.seen(own or (1,))).name
        if rows and v.shape[:-1] == of.shape[:-1] and v.shape[-1] == 1:
            to = of.base[:-1] + (1,)
            if v.name is None:
                return self.text(self.viewed(v, "reshape", to))
            return v.name if v.base == to else self.solid(v.seen(to)).name
        return None

    def operands(self, values, shape):
        """The names of values as operands of one elementwise operator whose result has `shape`; its tensor's shape."""
        for of in values:
            if of.name is None or of.base == of.shape or of.shape != shape or not shape:
                continue
            mark = len(self.lines), len(self.inputs), self.count, self.computes
            names = [self.rebased(v, of) for v in values]
            if all(names):
                return names, of.base
            self.lines, self.inputs = self.lines[:mark[0]], self.inputs[:mark[1]]
            self.count, self.computes = mark[2:]
        solid = [self.solid(v) for v in values]
        rank = max(len(s.base) for s in solid)
        return [s.name for s in solid], shape or (1,) * max(rank, 1)

    def typed(self, values, want):
        """The values in types that one operator may take, and the type of its result."""
        kinds = {v.dtype for v in values if v.dtype != "bool"}
        for k in kinds:
            if k not in ("f16", "bf16", "f32"):
                raise Declined(f"its operand is {k}: programs compute in float16, bfloat16 and float32")
        if len(kinds) == 0:
            raise Declined("its operands are truth values")
        if {"f16", "bf16"} <= kinds:
            raise Declined("it mixes float16 with bfloat16")
        have = "f32" if "f32" in kinds else kinds.pop()
        if want == "f32" and have != "f32":
            values, have = [self.cast(v, "f32") for v in values], "f32"
        return [self.cast(v, have) if v.dtype == "bool" else v for v in values], have

    def map(self, op, values, shape, want=None, attributes=(), inner=False):
        """An elementwise operator; its result has type `want`, or that of its operands."""
        values, have = self.typed(values, want)
        names, base = self.operands(values, shape)
        inner = inner and have != "f32"
        v = self.say(op, names, attributes, shape, have, base, inner)
        return v if want is None or want == have else self.cast(v, want)

    def scale(self, v, c, inner=False):
        text = rational(c)
        if text is not None:
            return self.map("scale", [v], v.shape, None, (", ", text), inner)
        root = math.sqrt(abs(c))
        first, second = rational(root), rational(c / root)
        if first is None or second is None:
            raise Declined(f"the constant {c}: its numerator or denominator passes 2^31")
        return self.scale(self.scale(v, root, True), c / root, inner)

    def add_scalar(self, v, c, inner=False):
        text = rational(c)
        if text is not None:
            return self.map("add_scalar", [v], v.shape, None, (", ", text), inner)
        for k in (10**6, 10**9):
            if rational(c * k) is not None and abs(c) < 1e-6:  # x + c = (k x + k c) / k
                return self.scale(self.add_scalar(self.scale(v, k, True), c * k, True), 1 / k, inner)
        raise Declined(f"the constant {c}: its numerator or denominator passes 2^31")

    def reduce(self, op, v, dim, want=None, inner=False):
        """Along one dimension, which stays with extent 1."""
        (v,), have = self.typed([v], want)
        shape = v.shape[:dim] + (1,) + v.shape[dim + 1:]
        if v.name is None or v.base == v.shape or dim != len(v.shape) - 1 or v.base[-1] != v.shape[-1]:
            v = self.solid(v)
        at = len(v.base) - 1 if dim == len(v.shape) - 1 else dim
        base = v.base[:at] + (1,) + v.base[at + 1:]
        inner = inner and have != "f32"
        r = self.say(op, [v], [f", dim={at}"], shape, have, base, inner)
        return r if want is None or want == have else self.cast(r, want)

    def along(self, op, v, dim, more=(), shape=None):
        """softmax and slices: one operand, one dimension."""
        (v,), have = self.typed([v], None)
        if v.name is None or v.base == v.shape or dim != len(v.shape) - 1 or v.base[-1] != v.shape[-1]:
            v = self.solid(v)
        at = len(v.base) - 1 if dim == len(v.shape) - 1 else dim
        shape = v.shape if shape is None else shape
        base = v.base if shape == v.shape else v.base[:at] + shape[dim:dim + 1] + v.base[at + 1:]
        return self.say(op, [v], [f", dim={at}", *more], shape, have, base)

    def transpose(self, v, perm):
        if list(perm) == list(range(len(v.shape))):
            return v
        if v.name is None:
            return self.viewed(v, "permute", perm)
        v = self.solid(v)
        to = tuple(v.shape[d] for d in perm)
        return self.say("transpose", [v], [", ", list(perm)], to, v.dtype, to, v.name[0] == "_", 0)

    def reshape(self, v, shape):
        if v.shape == shape:
            return v
        return self.viewed(v, "reshape", shape) if v.name is None else v.seen(shape)

    def rows(self, v):
        """v as a matrix: its last dimension, and all others as one."""
        if len(v.shape) == 2 and (v.name is None or v.base == v.shape):
            return v
        to = (product(v.shape[:-1]), v.shape[-1])
        return self.solid(self.reshape(v, to)) if v.name else self.reshape(v, to)

    def matmul(self, a, b, want=None, inner=False):
        """Of tensors of rank 2 and more."""
        shape = broadcast(a.shape[:-2], b.shape[:-2]) + (a.shape[-2], b.shape[-1])
        (a, b), have = self.typed([a, b], None)
        if have == "f32" and self.exact_products:
            raise Declined("a product of float32: kernels round its operands to tf32, and "
                           "torch.get_float32_matmul_precision() is 'highest'")
        if len(b.shape) == 2 and len(a.shape) > 2:
            a = self.rows(a)
        base = shape if len(a.shape) > 2 or len(b.shape) > 2 else (a.shape[0], b.shape[1])
        if len(a.shape) != len(b.shape):
            lead = (1,) * abs(len(a.shape) - len(b.shape))
            a, b = (self.reshape(v, lead + v.shape) if len(v.shape) < len(base) else v for v in (a, b))
        inner = inner and have != "f32"
        if len(base) > 3 and a.shape[:-2] == b.shape[:-2]:  # kernels multiply matrices, or a list of them
            many = (product(a.shape[:-2]),)
            flat = [(v, many + v.shape[-2:]) for v in (a, b)]
            if isinstance(many[0], int) or all(v.name is None or v.base == to for v, to in flat):
                a, b = (self.reshape(v, to) for v, to in flat)
                base = many + shape[-2:]
        v = self.say("matmul", [self.solid(a), self.solid(b)], [], shape, have, base, inner)
        return v if want is None or want == have else self.cast(v, want)

    # ---- the text

    def finish(self, outputs, name="run"):
        """The text; the symbols' expressions; and of each output its name and its tensor's extents."""
        if not self.lines:
            raise Declined("it computes nothing")
        if len({v.name for v in outputs}) > MAX_OUTPUTS:
            raise Declined(f"more than {MAX_OUTPUTS} outputs")
        read, lines = {v.name for v in outputs}, []
        for n, parts in reversed(self.lines):  # a cut may leave statements that nobody reads
            if n in read:
                lines.append((n, parts))
                read |= {p for p in parts if isinstance(p, str)}
        self.inputs = [i for i in self.inputs if i.name in read]
        found = [d for i in self.inputs for d in i.dims if not isinstance(d, int)]
        plain = sorted({d for d in found if d.is_Symbol}, key=str)
        symbols = sorted(plain, key=found.index)
        fresh = {}
        for d in found:
            if d in symbols or d in fresh or (d.free_symbols <= set(plain) and polynomial(d)):
                continue
            fresh[d] = sympy.Symbol(f"mirage_fresh_{len(fresh)}", integer=True, positive=True)
        symbols = symbols + list(fresh)
        if len(symbols) > self.most_symbols:
            raise Declined(f"{len(symbols)} sizes that come with the call: a search takes {self.most_symbols}")
        names = dict(zip(symbols, ("n", "m", "p", "q", "r", "s", "u", "v")))

        def size(d):
            if isinstance(d, int):
                return str(d)
            if d in names:
                return names[d]
            if not d.free_symbols <= set(plain) or not polynomial(d):
                raise Declined(f"an extent, {d}, that no input has")
            return written(d, names)

        def put(part):
            if isinstance(part, tuple):
                return "[" + ", ".join(size(d) for d in part) + "]"
            return str(part)

        text = [f"program {name}"]
        for e in symbols:
            least, most = self.bounds(e)
            text.append(f"sym {names[e]} in {least}..{most}")
        for i in self.inputs:
            plainly = i.order is None or i.order == list(range(len(i.dims)))
            text.append(f"input {i.name} : {i.dtype}{put(tuple(i.dims))}" + ("" if plainly else f" @ {i.order}"))
        for n, parts in reversed(lines):
            text.append(f"{n} = " + "".join(put(p) for p in parts))
        outs = []
        for v in outputs:
            if v.name is None or v.name[0] == "x":
                raise Declined("its result is its operand, unchanged")
            outs.append(v.name)
        text.append("output " + ", ".join(dict.fromkeys(outs)))
        return "\n".join(text) + "\n", symbols


def polynomial(d):
    terms = sympy.Poly(d, *sorted(d.free_symbols, key=str)).terms() if d.is_polynomial() else []
    return bool(terms) and all(c.is_Integer and c > 0 for _, c in terms)


def written(d, names):
    """A polynomial as the text form has it: 8*n, n*m, n + 1."""
    free = sorted(d.free_symbols, key=str)
    out = []
    for powers, c in sympy.Poly(d, *free).terms():
        factors = [str(c)] * (int(c) != 1 or not any(powers))
        factors += [names[s] for s, p in zip(free, powers) for _ in range(p)]
        out.append("*".join(factors))
    return " + ".join(out)


def broadcast(a, b):
    out = []
    for k in range(max(len(a), len(b))):
        x = a[len(a) - 1 - k] if k < len(a) else 1
        y = b[len(b) - 1 - k] if k < len(b) else 1
        out.append(y if x == 1 else x)
    return tuple(reversed(out))


# ---- one function an operator: h(w, node, *arguments) gives a Value, or a list of them

HANDLERS = {}
USER = {}  # overloads that registered rows stand for: name of the row, and what of the arguments its attribute is


def handles(*names):
    def add(h):
        for name in names:
            packet, _, overload = name.partition(".")
            if hasattr(aten, packet) and (overload or "default") in getattr(aten, packet).overloads():
                HANDLERS[getattr(getattr(aten, packet), overload or "default")] = h
        return h
    return add


def result(node):
    fake = node.meta["val"]
    return type_name(fake.dtype), extents(fake.shape)


def is_value(x):
    return isinstance(x, Value)


def dim_of(dim, rank):
    return dim + rank if dim < 0 else dim


def unary(row):
    def h(w, node, x):
        want, shape = result(node)
        return w.map(row, [x], shape, want)
    return h


for _row in ("silu", "exp", "sqrt", "relu", "log", "neg", "tanh", "sigmoid", "rsqrt", "abs"):
    handles(_row)(unary(_row))
handles("square")(unary("sqr"))


@handles("gelu")
def gelu(w, node, x, approximate="none"):
    want, shape = result(node)
    if approximate == "none":
        return w.map("gelu", [x], shape, want)
    cube = w.map("mul", [w.map("sqr", [x], shape, inner=True), x], shape, inner=True)
    inner = w.map("add", [x, w.scale(cube, 0.044715, True)], shape, inner=True)
    up = w.map("tanh", [w.scale(inner, 0.7978845608028654, True)], shape, inner=True)
    return w.scale(w.map("mul", [x, w.add_scalar(up, 1, True)], shape, inner=True), 0.5)


@handles("relu6")
def relu6(w, node, x):
    return clamp(w, node, x, 0, 6)


@handles("hardtanh")
def hardtanh(w, node, x, low=-1, high=1):
    return clamp(w, node, x, low, high)


@handles("hardsigmoid")
def hardsigmoid(w, node, x):
    y = w.add_scalar(x, 3, True)
    y = w.map("clamp", [y], y.shape, None, (", 0, 6",), True)
    return w.scale(y, 1 / 6)


@handles("hardswish")
def hardswish(w, node, x):
    y = w.add_scalar(x, 3, True)
    y = w.map("clamp", [y], y.shape, None, (", 0, 6",), True)
    return w.scale(w.map("mul", [x, y], x.shape, inner=True), 1 / 6)


@handles("leaky_relu")
def leaky_relu(w, node, x, slope=0.01):
    if not 0 <= slope <= 1:
        raise Declined(f"a slope of {slope}: programs say it as a maximum, between 0 and 1")
    return w.map("maximum", [x, w.scale(x, slope, True)], x.shape)


def soft_plus(w, x, shape):
    """log(1 + e^x) as max(x, 0) + log(1 + e^-|x|), which does not overflow."""
    down = w.map("neg", [w.map("abs", [x], shape, inner=True)], shape, inner=True)
    more = w.add_scalar(w.map("exp", [down], shape, inner=True), 1, True)
    return w.map("add", [w.map("relu", [x], shape, inner=True), w.map("log", [more], shape, inner=True)], shape, inner=True)


@handles("softplus")
def softplus(w, node, x, beta=1, threshold=20):
    if threshold < 15:
        raise Declined(f"a softplus that is linear from {threshold} on")
    return w.scale(soft_plus(w, x if beta == 1 else w.scale(x, beta, True), x.shape), 1 / beta)


@handles("mish")
def mish(w, node, x):
    return w.map("mul", [x, w.map("tanh", [soft_plus(w, x, x.shape)], x.shape, inner=True)], x.shape)


@handles("log_sigmoid")
def log_sigmoid(w, node, x):
    return w.map("neg", [soft_plus(w, w.map("neg", [x], x.shape, inner=True), x.shape)], x.shape)


@handles("elu")
def elu(w, node, x, alpha=1, scale=1, input_scale=1):
    """relu(x) + alpha (e^min(x, 0) - 1)"""
    if input_scale != 1:
        raise Declined("an elu whose operand is scaled")
    low = w.map("clamp_max", [x], x.shape, None, (", 0",), True)
    low = w.scale(w.add_scalar(w.map("exp", [low], x.shape, inner=True), -1, True), alpha * scale, True)
    high = w.map("relu", [x], x.shape, inner=True)
    return w.map("add", [high if scale == 1 else w.scale(high, scale, True), low], x.shape)


@handles("linalg_vector_norm")
def vector_norm(w, node, x, order=2, dim=None, keepdim=False, dtype=None):
    want, shape = result(node)
    if order != 2 or dtype is not None or not x.shape:
        raise Declined(f"a vector norm of order {order}, or of another type than its operand")
    y = w.map("sqr", [x], x.shape, inner=True)
    for k in reversed(dims_of(dim, len(x.shape))):
        y = w.reduce("sum", y, k, inner=True)
    return w.reshape(w.map("sqrt", [y], y.shape), shape)


@handles("reciprocal")
def reciprocal(w, node, x):
    want, shape = result(node)
    return w.map("div", [w.constant(1, "f32" if x.dtype == "f32" else x.dtype), x], shape, want)


def binary(row):
    def h(w, node, a, b, alpha=1, rounding_mode=None):
        want, shape = result(node)
        if rounding_mode is not None:
            raise Declined(f"a division rounded by {rounding_mode}")
        if not is_value(a):
            if row in ("add", "mul", "maximum", "minimum"):
                a, b = b, a
            else:
                a = w.constant(a, b.dtype)
        if is_value(b):
            if alpha != 1:
                b = w.scale(b, alpha, True)
            return w.map(row, [a, b], shape, want)
        if isinstance(b, (bool, complex)):
            raise Declined(f"the constant {b}")
        if want != a.dtype:
            a = w.cast(a, want)
        if row in ("add", "sub"):
            return w.add_scalar(a, (b if row == "add" else -b) * alpha)
        if row == "div" and b == 0:
            raise Declined("a division by 0")
        return w.scale(a, b if row == "mul" else 1 / b)
    return h


for _row, _names in (("add", ("add.Tensor", "add.Scalar")), ("sub", ("sub.Tensor", "sub.Scalar", "subtract.Tensor")),
                     ("mul", ("mul.Tensor", "mul.Scalar", "multiply.Tensor")),
                     ("div", ("div.Tensor", "div.Scalar", "div.Tensor_mode", "true_divide.Tensor", "divide.Tensor"))):
    handles(*_names)(binary(_row))


@handles("maximum", "max.other")
def maximum(w, node, a, b):
    want, shape = result(node)
    return w.map("maximum", [a, b], shape, want)


@handles("minimum", "min.other")
def minimum(w, node, a, b):
    want, shape = result(node)
    return w.map("minimum", [a, b], shape, want)


@handles("rsub.Scalar", "rsub.Tensor")
def rsub(w, node, a, b, alpha=1):
    if is_value(b):
        return binary("sub")(w, node, b, a, alpha)
    return w.add_scalar(w.scale(a, -alpha), b)


@handles("addcmul")
def addcmul(w, node, x, a, b, value=1):
    want, shape = result(node)
    y = w.map("mul", [a, b], broadcast(a.shape, b.shape), inner=True)
    return w.map("add", [x, y if value == 1 else w.scale(y, value, True)], shape, want)


@handles("lerp.Scalar")
def lerp(w, node, a, b, weight):
    want, shape = result(node)
    y = w.scale(w.map("sub", [b, a], shape, inner=True), weight, True)
    return w.map("add", [a, y], shape, want)


@handles("pow.Tensor_Scalar")
def power(w, node, x, exponent):
    want, shape = result(node)
    if x.dtype != want:
        x = w.cast(x, want)
    square = lambda y, inner: w.map("sqr", [y], shape, inner=inner)
    if exponent == 1:
        return w.scale(x, 1)
    if exponent == 2:
        return square(x, False)
    if exponent == 3:
        return w.map("mul", [square(x, True), x], shape)
    if exponent == 4:
        return square(square(x, True), False)
    if exponent == 0.5:
        return w.map("sqrt", [x], shape)
    if exponent == -0.5:
        return w.map("rsqrt", [x], shape)
    if exponent == -1:
        return reciprocal(w, node, x)
    raise Declined(f"the exponent {exponent}: programs have 1, 2, 3, 4, 1/2, -1/2 and -1")


@handles("clamp", "clip", "clamp_min", "clamp_max")
def clamp(w, node, x, low=None, high=None):
    want, shape = result(node)
    if node.target is aten.clamp_max.default:
        low, high = None, low
    if low is not None and high is not None:
        if rational(low) is None or rational(high) is None:
            raise Declined("a bound whose numerator or denominator passes 2^31")
        if low > high:
            raise Declined("a clamp whose lower bound is above its upper one")
        return w.map("clamp", [x], shape, want, (", ", rational(low), ", ", rational(high)))
    bound, row = (low, "clamp_min") if low is not None else (high, "clamp_max")
    if bound is not None and rational(bound) is None and abs(bound) < 1e-6 and rational(bound * 10**6):
        x = w.map(row, [w.scale(x, 10**6, True)], shape, None, (", ", rational(bound * 10**6)), True)
        return w.scale(x, 1e-6)
    if bound is None or rational(bound) is None:
        raise Declined("a bound whose numerator or denominator passes 2^31")
    return w.map(row, [x], shape, want, (", ", rational(bound)))


@handles("clamp.Tensor", "clamp_min.Tensor", "clamp_max.Tensor")
def clamp_between(w, node, x, low=None, high=None):
    want, shape = result(node)
    if node.target is aten.clamp_max.Tensor:
        low, high = None, low
    if low is not None:
        x = w.map("maximum", [x, low], broadcast(x.shape, low.shape), want, inner=high is not None)
    return x if high is None else w.map("minimum", [x, high], shape, want)


def choose(w, c, a, b, shape, want):
    """c != 0 ? a : b; of scalars one element that the call passes."""
    if c.dtype != "bool" or c.name is not None:
        raise Declined("its condition is computed in the program: comparisons have no row")
    dtype = want
    a, b = (v if is_value(v) else w.constant(finite(v), dtype) for v in (a, b))
    a, b = (w.cast(v, dtype) for v in (a, b))
    c = w.cast(c, dtype)
    left = w.map("keep", [c, a], broadcast(c.shape, a.shape))
    right = w.map("drop", [c, b], broadcast(c.shape, b.shape))
    return w.map("add", [left, right], shape)


def finite(value):
    if not isinstance(value, (int, float)) or isinstance(value, bool):
        raise Declined("a constant that is known only at the call")
    if not math.isfinite(value):
        raise Declined(f"the constant {value}: programs are over the reals")
    return value


@handles("where.self", "where.ScalarOther", "where.ScalarSelf", "where.Scalar")
def where(w, node, c, a, b):
    want, shape = result(node)
    return choose(w, c, a, b, shape, want)


@handles("masked_fill.Scalar")
def masked_fill(w, node, x, mask, value):
    want, shape = result(node)
    if value <= MASKED and only_softmax(node):
        value = MASKED  # its exponential is 0 as that of less is
    return choose(w, mask, value, x, shape, want)


def only_softmax(node):
    return bool(node.users) and all(u.target in (aten.softmax.int, aten._softmax.default) for u in node.users)


def dims_of(dim, rank):
    if dim is None or dim == []:
        return list(range(rank))
    return sorted(dim_of(d, rank) for d in (dim if isinstance(dim, (list, tuple)) else [dim]))


def reduction(row):
    def h(w, node, x, dim=None, keepdim=False, dtype=None):
        want, shape = result(node)
        if x.dtype != want and x.dtype in ("f16", "bf16", "f32"):
            x = w.cast(x, want)
        if not x.shape:
            raise Declined("a reduction of one element")
        for k in reversed(dims_of(dim, len(x.shape))):
            x = w.reduce(row, x, k)
        return w.reshape(x, shape) if x.shape != shape else x
    return h


for _row, _names in (("sum", ("sum.dim_IntList", "sum")), ("mean", ("mean.dim", "mean")), ("max", ("amax", "max")),
                     ("min", ("amin", "min"))):
    handles(*_names)(reduction(_row))


def summed(w, node, x, *rest, dtype=None, **more):
    return reduction("sum")(w, node, x, *rest, **more)


for _packet in ("sum", "mean"):  # sum(x, dtype=..) has no dimension between
    HANDLERS[getattr(aten, _packet).default] = (
        lambda row: lambda w, node, x, dtype=None: reduction(row)(w, node, x, None, False))(_packet)


@handles("std.correction", "std.dim")
def deviation(w, node, x, dim=None, correction=1, keepdim=False):
    v = variance(w, node, x, dim, correction, keepdim, inner=True)
    return w.map("sqrt", [v], v.shape)


@handles("var.correction", "var.dim")
def variance(w, node, x, dim=None, correction=1, keepdim=False, inner=False):
    want, shape = result(node)
    correction = 1 if correction is None else correction  # var.dim's is a truth value
    at = dims_of(dim, len(x.shape))
    count = product(x.shape[d] for d in at)
    if not isinstance(count, int) or count <= correction:
        raise Declined("a variance over a size that comes with the call, or of too few")
    m = x
    for k in reversed(at):
        m = w.reduce("mean", m, k, inner=True)
    y = w.map("sqr", [w.map("sub", [x, m], x.shape, inner=True)], x.shape, inner=True)
    for k in reversed(at):
        y = w.reduce("sum", y, k, inner=True)
    return w.reshape(w.scale(y, 1 / (count - correction), inner), shape)


def converted(w, x, dtype):
    return w.cast(x, type_name(dtype)) if dtype is not None else x


@handles("softmax.int", "_softmax")
def softmax(w, node, x, dim, dtype=None):
    want, shape = result(node)
    if dtype is True and x.dtype != want:
        dtype = torch.float32
    x = converted(w, x, dtype if isinstance(dtype, torch.dtype) else None)
    if not x.shape:
        raise Declined("a softmax of one element")
    return w.along("softmax", x, dim_of(dim, len(x.shape)))


@handles("log_softmax.int", "_log_softmax")
def log_softmax(w, node, x, dim, dtype=None):
    want, shape = result(node)
    x = converted(w, x, dtype if isinstance(dtype, torch.dtype) else None)
    if not x.shape:
        raise Declined("a softmax of one element")
    k = dim_of(dim, len(x.shape))
    d = w.map("sub", [x, w.reduce("max", x, k, inner=True)], x.shape, inner=True)
    total = w.reduce("sum", w.map("exp", [d], x.shape, inner=True), k, inner=True)
    return w.map("sub", [d, w.map("log", [total], total.shape, inner=True)], shape, want)


@handles("logsumexp")
def logsumexp(w, node, x, dim, keepdim=False):
    want, shape = result(node)
    at = dims_of(dim, len(x.shape))
    if len(at) != 1 or not x.shape:
        raise Declined("a log-sum-exp over several dimensions")
    top = w.reduce("max", x, at[0], inner=True)
    e = w.map("exp", [w.map("sub", [x, top], x.shape, inner=True)], x.shape, inner=True)
    total = w.map("log", [w.reduce("sum", e, at[0], inner=True)], top.shape, inner=True)
    return w.reshape(w.map("add", [top, total], top.shape, want), shape)


def last_dims(x, normalized):
    return list(range(len(x.shape) - len(normalized), len(x.shape)))


@handles("layer_norm")
def layer_norm(w, node, x, normalized, weight=None, bias=None, eps=1e-5, cudnn=True):
    want, shape = result(node)
    m = x
    for k in reversed(last_dims(x, normalized)):
        m = w.reduce("mean", m, k, inner=True)
    d = w.map("sub", [x, m], shape, inner=True)
    v = w.map("sqr", [d], shape, inner=True)
    for k in reversed(last_dims(x, normalized)):
        v = w.reduce("mean", v, k, inner=True)
    root = w.map("sqrt", [w.add_scalar(v, eps, True)], v.shape, inner=True)
    y = w.map("div", [d, root], shape, None, inner=weight is not None or bias is not None)
    if weight is not None:
        y = w.map("mul", [y, weight], shape, inner=bias is not None)
    if bias is not None:
        y = w.map("add", [y, bias], shape)
    return w.cast(y, want)


@handles("rms_norm")
def rms_norm(w, node, x, normalized, weight=None, eps=None):
    want, shape = result(node)
    if len(normalized) != 1:
        raise Declined("an RMS norm over several dimensions")
    if eps is None:
        if x.dtype != "f32":
            raise Declined("an RMS norm of 16 bits without eps: what it stands for changes with the device")
        eps = 2.0**-23
    text = rational(eps)
    if text is None:
        v = w.reduce("mean", w.map("sqr", [x], shape, inner=True), len(shape) - 1, inner=True)
        root = w.map("sqrt", [w.add_scalar(v, eps, True)], v.shape, inner=True)
        y = w.map("div", [x, root], shape, inner=weight is not None)
        return w.cast(y if weight is None else w.map("mul", [y, weight], shape), want)
    values, have = w.typed([x] + [weight] * (weight is not None), None)
    x = values[0]
    if x.name is None or x.base == x.shape or x.base[-1] != x.shape[-1]:
        x = w.solid(x)
    y = w.say("rms_norm", [x] + values[1:], [", eps=", text], shape, have, x.base, costs=2)
    return w.cast(y, want)


@handles("batch_norm")
def batch_norm(w, node, x, weight, bias, mean, var, training, momentum, eps, cudnn):
    want, shape = result(node)
    if training or mean is None:
        raise Declined("a batch norm in training")
    per = lambda v: w.reshape(v, v.shape + (1,) * (len(shape) - 2))
    root = w.map("sqrt", [w.add_scalar(per(var), eps, True)], per(var).shape, inner=True)
    y = w.map("div", [w.map("sub", [x, per(mean)], shape, inner=True), root], shape, inner=True)
    if weight is not None:
        y = w.map("mul", [y, per(weight)], shape, inner=bias is not None)
    if bias is not None:
        y = w.map("add", [y, per(bias)], shape)
    return w.cast(y, want)


@handles("linear")
def linear(w, node, x, weight, bias=None):
    want, shape = result(node)
    if len(x.shape) < 2 or len(weight.shape) != 2:
        raise Declined("a linear layer of a vector")
    y = w.matmul(x, w.transpose(weight, (1, 0)), want, bias is not None)
    return y if bias is None else w.map("add", [y, bias], shape, want)


@handles("mm", "bmm", "matmul")
def matmul(w, node, a, b):
    want, shape = result(node)
    if len(a.shape) < 2 and len(b.shape) < 2:
        raise Declined("a product of two vectors")
    if len(a.shape) == 1:
        a = w.reshape(a, (1,) + a.shape)
    if len(b.shape) == 1:
        b = w.reshape(b, b.shape + (1,))
    return w.reshape(w.matmul(a, b, want), shape)


@handles("addmm", "baddbmm")
def addmm(w, node, x, a, b, beta=1, alpha=1):
    want, shape = result(node)
    y = w.matmul(a, b, want, inner=True)
    if alpha != 1:
        y = w.scale(y, alpha, True)
    if beta == 0:
        raise Declined("a sum of which one part counts nothing")
    return w.map("add", [x if beta == 1 else w.scale(x, beta, True), y], shape, want)


@handles("scaled_dot_product_attention")
def attention(w, node, q, k, v, mask=None, dropout=0.0, is_causal=False, scale=None, enable_gqa=False):
    want, shape = result(node)
    if dropout:
        raise Declined("an attention with dropout")
    if len(q.shape) < 3 or len(q.shape) > 4:
        raise Declined(f"an attention of rank {len(q.shape)}: programs say 3 and 4")
    if {q.dtype, k.dtype, v.dtype} != {want}:
        raise Declined("an attention of several types")
    lead, (length, width), keys = q.shape[:-2], q.shape[-2:], k.shape[-2]
    if k.shape[:-2] != v.shape[:-2] or (k.shape[:-2] != lead and not enable_gqa):
        raise Declined("an attention whose keys have other leading dimensions")
    if not isinstance(width, int):
        raise Declined("an attention whose width comes with the call")
    if is_causal and (mask is not None or length != keys):
        raise Declined("a causal attention of other queries than keys, or with a mask beside")
    factor = 1 / math.sqrt(width) if scale is None else scale
    groups, own = 1, None
    if enable_gqa and k.shape[-3] != q.shape[-3]:
        heads, own = q.shape[-3], k.shape[-3]
        if not all(isinstance(d, int) for d in (heads, own, length)):
            raise Declined("an attention of groups whose heads or queries come with the call")
        groups = heads // own
        q = w.reshape(q, lead[:-1] + (own, groups * length, width))
    rank = len(k.shape)
    turned = w.transpose(k, tuple(range(rank - 2)) + (rank - 1, rank - 2))
    s = w.scale(w.matmul(q, turned, inner=True), factor, True)
    rows, whole = s.shape, lead + (length, keys)
    hidden = None
    if groups > 1 and (is_causal or mask is not None):  # a query's row of the mask is the same in each group
        s = w.reshape(s, whole)
    if is_causal:
        s = w.solid(s) if s.base[-2:] != whole[-2:] else s
        s = w.say("causal", [s], [], whole, s.dtype, s.base, s.dtype != "f32")
    elif mask is not None and mask.dtype == "bool":
        if mask.name is not None:
            raise Declined("its mask is computed in the program: comparisons have no row")
        hidden = w.cast(mask, want)
        under = w.constant(MASKED, want)
        shown = w.map("keep", [hidden, s], whole, inner=True)
        s = w.map("add", [shown, w.map("drop", [hidden, under], mask.shape, inner=True)], whole, inner=True)
    elif mask is not None:
        s = w.map("add", [s, mask], whole, inner=True)
    p = w.along("softmax", s, len(s.shape) - 1)
    if hidden is not None:  # a row that sees no key is 0
        p = w.map("keep", [hidden, p], whole)
    o = w.matmul(w.reshape(w.cast(p, want), rows), v, want)
    return w.reshape(o, shape)


# ---- what moves elements

def as_shape(node):
    return extents(node.meta["val"].shape)


@handles("view", "reshape", "_unsafe_view", "unsqueeze", "squeeze", "squeeze.dim", "squeeze.dims", "flatten.using_ints",
         "unflatten.int", "view_as", "reshape_as")
def view(w, node, x, *_, **__):
    return w.reshape(x, as_shape(node))


@handles("contiguous", "clone", "alias", "detach", "lift_fresh_copy")
def same(w, node, x, memory_format=None):
    return x


@handles("dropout", "native_dropout", "feature_dropout", "alpha_dropout")
def dropout(w, node, x, p, train):
    if train:
        raise Declined("a dropout in training")
    return x


@handles("to.dtype", "_to_copy", "to.dtype_layout", "type_as", "to.other", "_autocast_to_reduced_precision")
def to(w, node, x, *_, **__):
    fake = node.meta["val"]
    if x.dtype in ("f16", "bf16", "f32"):
        return w.cast(x, type_name(fake.dtype))
    raise Declined(f"a conversion from {x.dtype}")


@handles("transpose.int")
def transpose(w, node, x, a, b):
    perm = list(range(len(x.shape)))
    a, b = dim_of(a, len(perm)), dim_of(b, len(perm))
    perm[a], perm[b] = perm[b], perm[a]
    return w.transpose(x, tuple(perm))


@handles("t", "numpy_T", "mT")
def turn(w, node, x):
    rank = len(x.shape)
    if rank < 2:
        return x
    perm = tuple(range(rank - 2)) + (rank - 1, rank - 2)
    if node.target is aten.numpy_T.default:
        perm = tuple(reversed(range(rank)))
    return w.transpose(x, perm)


@handles("permute")
def permute(w, node, x, dims):
    return w.transpose(x, tuple(dim_of(d, len(x.shape)) for d in dims))


@handles("movedim.intlist", "movedim.int")
def movedim(w, node, x, source, destination):
    rank = len(x.shape)
    source = [dim_of(d, rank) for d in (source if isinstance(source, (list, tuple)) else [source])]
    to_ = [dim_of(d, rank) for d in (destination if isinstance(destination, (list, tuple)) else [destination])]
    rest = [d for d in range(rank) if d not in source]
    return w.transpose(x, tuple(source[to_.index(d)] if d in to_ else rest.pop(0) for d in range(rank)))


def sliced(w, x, dim, start, count):
    if not all(isinstance(n, int) for n in (start, count, x.shape[dim])):
        raise Declined("a slice of a size that comes with the call")
    if (start, count) == (0, x.shape[dim]):
        return x
    if count == 0:
        raise Declined("a tensor without elements")
    shape = x.shape[:dim] + (count,) + x.shape[dim + 1:]
    return w.along("slice", x, dim, (f", from={start}, n={count}",), shape)


@handles("slice.Tensor")
def slice_(w, node, x, dim=0, start=None, end=None, step=1):
    rank = len(x.shape)
    dim = dim_of(dim, rank)
    full = x.shape[dim]
    if not isinstance(full, int):
        if as_shape(node) == x.shape:
            return x
        raise Declined("a slice of a size that comes with the call")
    start, end, step = slice(start, end, step).indices(full)
    if step == 1:
        return sliced(w, x, dim, start, max(end - start, 0))
    if full % step or start >= step or end <= full - step + start:
        raise Declined(f"a slice by steps of {step} that no reshape makes")
    x = w.reshape(x, x.shape[:dim] + (full // step, step) + x.shape[dim + 1:])
    return w.reshape(sliced(w, x, dim + 1, start, 1), as_shape(node))


@handles("narrow")
def narrow(w, node, x, dim, start, length):
    return sliced(w, x, dim_of(dim, len(x.shape)), start, length)


@handles("select.int")
def select(w, node, x, dim, index):
    dim = dim_of(dim, len(x.shape))
    if isinstance(index, int) and isinstance(x.shape[dim], int):
        index = dim_of(index, x.shape[dim])
    return w.reshape(sliced(w, x, dim, index, 1), as_shape(node))


@handles("split.Tensor", "split_with_sizes", "chunk", "split.sizes", "unbind.int")
def split(w, node, x, sizes=None, dim=0):
    if node.target is aten.unbind.int:
        dim = sizes or 0
    dim, start, out = dim_of(dim, len(x.shape)), 0, []
    for fake in node.meta["val"]:
        shape = extents(fake.shape)
        count = 1 if node.target is aten.unbind.int else shape[dim]
        out.append(w.reshape(sliced(w, x, dim, start, count), shape))
        start += count
    return out


@handles("cat")
def cat(w, node, tensors, dim=0):
    want, shape = result(node)
    tensors = [t for t in tensors if t.shape != (0,)]
    if not tensors:
        raise Declined("a tensor without elements")
    if any(t.dtype != want for t in tensors):
        raise Declined("a concatenation of several types")
    dim, out = dim_of(dim, len(shape)), tensors[0]
    for t in tensors[1:]:
        to_ = shape[:dim] + (out.shape[dim] + t.shape[dim],) + shape[dim + 1:]
        out = w.say("concat", [w.solid(out), w.solid(t)], [f", dim={dim}"], to_, want, to_)
    return out if len(tensors) > 1 else w.scale(out, 1)


@handles("stack")
def stack(w, node, tensors, dim=0):
    dim = dim_of(dim, len(tensors[0].shape) + 1)
    return cat(w, node, [w.reshape(t, t.shape[:dim] + (1,) + t.shape[dim:]) for t in tensors], dim)


def spread(w, x, shape):
    """Elements along dimensions of extent 1, again and again."""
    own = (1,) * (len(shape) - len(x.shape)) + x.shape
    x = w.reshape(x, own)
    for d, (a, b) in enumerate(zip(own, shape)):
        if a == b:
            continue
        if a != 1 or not isinstance(b, int):
            raise Declined("an expansion to a size that comes with the call")
        x = w.solid(x)
        to_ = x.shape[:d] + (b,) + x.shape[d + 1:]
        x = w.say("repeat", [x], [f", dim={d}, n={b}"], to_, x.dtype, to_)
    return x


@handles("expand", "expand_as")
def expand(w, node, x, *_, **__):
    if x.dtype not in ("f16", "bf16", "f32"):
        raise Declined(f"an expansion of {x.dtype}")
    return spread(w, x, as_shape(node))


@handles("repeat")
def repeat(w, node, x, repeats):
    x = w.reshape(x, (1,) * (len(repeats) - len(x.shape)) + x.shape)
    for d, n in enumerate(repeats):
        if not isinstance(n, int) or n < 1:
            raise Declined("a repetition by what comes with the call, or by 0")
        if n > 1:
            x = w.solid(x)
            to_ = x.shape[:d] + (product((n, x.shape[d])),) + x.shape[d + 1:]
            x = w.say("repeat", [x], [f", dim={d}, n={n}"], to_, x.dtype, to_)
    return x


@handles("repeat_interleave.self_int")
def repeat_interleave(w, node, x, repeats, dim=None, output_size=None):
    if dim is None or not isinstance(repeats, int):
        raise Declined("a repetition of all elements, or by what comes with the call")
    dim = dim_of(dim, len(x.shape))
    apart = x.shape[:dim + 1] + (1,) + x.shape[dim + 1:]
    if len(apart) > MAX_RANK:
        raise Declined(f"a tensor of rank {len(apart)}: programs take {MAX_RANK}")
    return w.reshape(spread(w, w.reshape(x, apart), apart[:dim + 1] + (repeats,) + apart[dim + 2:]), as_shape(node))


# ---- indices

def index(w, i):
    if i.dtype == "i32":
        return i if i.name is None else w.solid(i)
    if i.name is None and i.dtype == "int64":
        return Value("i32", i.shape, i.shape or (1,), w.text(i, "i32"))
    raise Declined(f"indices of {i.dtype}")


@handles("embedding")
def embedding(w, node, table, i, *_, **__):
    want, shape = result(node)
    i = index(w, i)
    return w.say("gather", [w.solid(table), i], [], shape, want, shape)


@handles("index_select")
def index_select(w, node, x, dim, i):
    want, shape = result(node)
    if dim_of(dim, len(x.shape) or 1) or len(x.shape) < 2:
        raise Declined("rows picked along another dimension than the first, or of a vector")
    return w.say("gather", [w.solid(x), index(w, i)], [], shape, want, shape)


@handles("argmax")
def argmax(w, node, x, dim=None, keepdim=False):
    if dim is None or not x.shape:
        raise Declined("an argmax over all elements")
    shape = as_shape(node)
    k = dim_of(dim, len(x.shape))
    (x,), _ = w.typed([x], None)
    x = w.solid(x)
    kept = x.shape[:k] + (1,) + x.shape[k + 1:]
    return w.reshape(w.say("argmax", [x], [f", dim={k}"], kept, "i32", kept), shape)


def getitem(w, node, x, k):
    return x[k]


HANDLERS[operator.getitem] = getitem


def register(overload, row, constant=None):
    """A custom operator of torch.library stands for a row of the operator table that MIRAGE_OPS added: an elementwise
    one, or one that moves elements along `dim`. constant: the name of the argument that is the row's constant."""
    if not has_operator(row):
        raise ValueError(f"the library has no operator '{row}': installed with MIRAGE_OPS=FILE.h it has a file's rows")

    def h(w, node, *values, **more):
        want, shape = result(node)
        tensors = [v for v in values if is_value(v)]
        said = [(n.name, v) for n, v in zip(node.target._schema.arguments, values) if not is_value(v)]
        said += list(more.items())
        attributes = []
        for name, v in said:
            if name == constant:
                attributes += [", ", rational(v)]
            elif name == "dim":
                attributes += [f", dim={dim_of(v, len(shape))}"]
            else:
                raise Declined(f"its argument '{name}' is none of the row's")
        if "dim" in dict(said):
            return w.say(row, [w.solid(t) for t in tensors], attributes, shape, want, shape)
        return w.map(row, tensors, shape, want, attributes)
    HANDLERS[overload] = USER[overload] = h


VIEWS = {h for h in HANDLERS if HANDLERS[h] in (view, same, dropout, transpose, turn, permute, movedim, getitem, slice_,
                                                narrow, select, split, expand)}
