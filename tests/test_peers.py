"""The peers' kinds and stages (tests/bench/kinds.py) without PyTorch: which stages the programs' texts are cut into, and that
these compute what the text does, in plain Python, by the very texts that the Triton kernels hold.  Prints `ok - ..` a step."""
import glob, itertools, math, os, random, shlex, subprocess, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "tests", "bench"))
import kinds, objects

KINDS = {"rmsnorm_linear_m16_k4096_n4096": "product", "gated_mlp_m8": "product", "lora_m16_k4096": "product", "gqa_bs1": "attention",
         "qknorm_bs8": "attention", "gqa_decode_bs8": "attention", "ntrans_m8": "rows", "gemm_chain_g12": "product + product",
         "attention_s6": "attention", "attention_causal": "attention", "attention_gated": "attention", "cross_attention_bias": "attention",
         "linear_bias_relu": "product", "linear_bf16": "product", "moe_two": "product", "two_adapters": "product", "batched_skinny": "product",
         "gelu_mlp": "product + product", "swiglu_mlp": "product + product", "squared_relu_mlp": "product + product",
         "classifier": "product + rows", "bilinear": "product + rows", "layernorm": "rows", "layernorm_linear": "rows + product",
         "residual_rmsnorm_linear": "rows + product", "rmsnorm_qkv": "product + product", "softmax_rows": "rows", "logsumexp": "rows",
         "rmsnorm_f32": "rows", "cosine_similarity": "unknown"}


class Vector(list):
    """A row, as Triton's values are: operators by element, numbers repeated."""
    def by(self, other, f):
        return Vector(f(x, y) for x, y in zip(self, other if isinstance(other, list) else itertools.repeat(other)))

    def __add__(self, o): return self.by(o, lambda x, y: x + y)
    def __sub__(self, o): return self.by(o, lambda x, y: x - y)
    def __mul__(self, o): return self.by(o, lambda x, y: x * y)
    def __truediv__(self, o): return self.by(o, lambda x, y: x / y)
    def __radd__(self, o): return self.by(o, lambda x, y: y + x)
    def __rsub__(self, o): return self.by(o, lambda x, y: y - x)
    def __rmul__(self, o): return self.by(o, lambda x, y: y * x)
    def __rtruediv__(self, o): return self.by(o, lambda x, y: y / x)
    def __neg__(self): return Vector(-x for x in self)


class tl:
    """Of triton.language what the texts call, over numbers and Vectors."""
    @staticmethod
    def each(f, *a):
        n = next((len(x) for x in a if isinstance(x, Vector)), None)
        return f(*a) if n is None else Vector(f(*[x[i] if isinstance(x, Vector) else x for x in a]) for i in range(n))

    exp = staticmethod(lambda x: tl.each(math.exp, x))
    log = staticmethod(lambda x: tl.each(math.log, x))
    sqrt = staticmethod(lambda x: tl.each(math.sqrt, x))
    erf = staticmethod(lambda x: tl.each(math.erf, x))
    abs = staticmethod(lambda x: tl.each(abs, x))
    maximum = staticmethod(lambda x, y: tl.each(max, x, y))
    minimum = staticmethod(lambda x, y: tl.each(min, x, y))
    where = staticmethod(lambda c, x, y: tl.each(lambda a, b: a if c else b, x, y))
    sum = staticmethod(lambda x, axis: sum(x))
    max = staticmethod(lambda x, axis: max(x))
    min = staticmethod(lambda x, axis: min(x))


def strides(shape):
    return [math.prod(shape[d + 1:]) for d in range(len(shape))]


def element(value, shape, at):
    """The element of a tensor, a flat list, at an index of a shape that it is repeated to."""
    return value[sum(i * s for i, s, d in zip(at[len(at) - len(shape):], strides(shape), shape) if d > 1)]


def indices(shape):
    return itertools.product(*map(range, shape))


def plain(p, inputs):
    """Every value of the program, operator by operator, as its definition says."""
    values = dict(inputs)
    own = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b, "div": lambda a, b: a / b, "exp": math.exp, "sqr": lambda a: a * a,
           "sqrt": math.sqrt, "log": math.log, "neg": lambda a: -a, "silu": lambda a: a / (1 + math.exp(-a)), "relu": lambda a: max(a, 0.0),
           "gelu": lambda a: a * 0.5 * (1 + math.erf(a / math.sqrt(2))), "tanh": math.tanh, "sigmoid": lambda a: 1 / (1 + math.exp(-a)), "abs": abs,
           "rsqrt": lambda a: 1 / math.sqrt(a), "maximum": max, "minimum": min}
    for n, v in p.nodes.items():
        if v.op == "input":
            continue
        shapes, args = [p.nodes[a].shape for a in v.args], [values[a] for a in v.args]
        at = lambda k, i: element(args[k], shapes[k], i)
        if v.op == "matmul":
            depth = shapes[0][-1]
            values[n] = [sum(at(0, i[:-1] + (k,)) * at(1, i[:-2] + (k, i[-1])) for k in range(depth)) for i in indices(v.shape)]
        elif v.op in own:
            values[n] = [own[v.op](*[at(k, i) for k in range(len(args))]) for i in indices(v.shape)]
        elif v.op in ("scale", "add_scalar", "clamp_min", "clamp_max", "clamp"):
            c, d = v.attrs["c"], v.attrs.get("d")
            f = {"scale": lambda a: a * c, "add_scalar": lambda a: a + c, "clamp_min": lambda a: max(a, c), "clamp_max": lambda a: min(a, c), "clamp": lambda a: min(max(a, c), d)}[v.op]
            values[n] = [f(x) for x in args[0]]
        elif v.op == "causal":
            values[n] = [at(0, i) if i[-1] <= i[-2] + v.shape[-1] - v.shape[-2] else float("-inf") for i in indices(v.shape)]
        else:
            dim = v.attrs.get("dim", len(v.shape) - 1)
            line = lambda i: [at(0, i[:dim] + (k,) + i[dim + 1:]) for k in range(shapes[0][dim])]
            if v.op == "softmax":
                values[n] = [math.exp(at(0, i)) / sum(map(math.exp, line(i))) for i in indices(v.shape)]
            elif v.op == "rms_norm":
                values[n] = [at(0, i) / math.sqrt(sum(x * x for x in line(i)) / shapes[0][dim] + v.attrs.get("eps", 0.0)) * (at(1, i) if len(args) > 1 else 1.0) for i in indices(v.shape)]
            else:
                f = {"sum": sum, "max": max, "min": min, "mean": lambda x: sum(x) / len(x)}[v.op]
                values[n] = [f(line(i)) for i in indices(v.shape)]
    return values


def behind(p, s, values, shape, at, made):
    """A stage's elementwise operators at one index, and what it stores there."""
    names = {**{n: n for n in made}, **{n: n for n in list(s.operands) + s.body}}
    scope = {"tl": tl, **made, **{n: element(values[n], p.nodes[n].shape, at) for n in s.operands}}
    for n in s.body:
        scope[n] = eval(kinds.text_of(p, n, names), {}, scope)
    return {n: scope[n] for n in s.stores}


def staged(p, stages, inputs, parts):
    """The stages one after the other, each computed as its kernel does: contractions and keys in `parts`."""
    values = dict(inputs)
    for s in stages:
        out = {n: [] for n in s.stores}
        get = lambda n, i: element(values[n], p.nodes[n].shape, i)
        if s.kind == "rows":
            rows, length = s.size
            for r in range(rows):
                scope, names = {"tl": tl, "mask": True, "float": float}, {n: n for n in list(s.operands) + s.body}
                for n in s.operands:
                    many, wide = kinds.rows_of(p, n)
                    part = values[n][(r if many > 1 else 0) * wide:][:wide]
                    scope[n] = Vector(part) if wide > 1 else part[0]
                for n in s.body:
                    for line in kinds.rows_text(p, n, names, length):
                        exec(line, scope)
                for n in s.stores:
                    out[n].extend(scope[n] if isinstance(scope[n], Vector) else [scope[n]])
        elif s.kind == "attention":
            keys, d = p.nodes[s.v].shape[-2:]
            eps = lambda row, e: [x / math.sqrt(sum(y * y for y in row) / len(row) + e) for x in row] if e is not None else row
            for i in indices(p.nodes[s.made[0]].shape):
                z, m, h = i
                q = eps([get(s.q, (z, m, k)) for k in range(p.nodes[s.q].shape[-1])], s.qeps)
                merged = []
                for part in range(parts):
                    most, total, sum_ = float("-inf"), 0.0, 0.0
                    for n in range(part * keys // parts, (part + 1) * keys // parts):
                        k = eps([get(s.k, (z, c, n)) for c in range(len(q))], s.keps)
                        x = sum(a * b for a, b in zip(q, k)) * s.scale + (get(s.bias, (z, m, n)) if s.bias else 0.0)
                        if s.causal and n > m + keys - p.nodes[s.q].shape[-2]:
                            continue
                        higher = max(most, x)
                        by, e = math.exp(most - higher), math.exp(x - higher)
                        most, total, sum_ = higher, total * by + e, sum_ * by + e * get(s.v, (z, n, h))
                    merged.append((most, total, sum_))
                top = max(t[0] for t in merged)
                result = sum(math.exp(t[0] - top) * t[2] for t in merged) / sum(math.exp(t[0] - top) * t[1] for t in merged)
                for n, x in behind(p, s, values, s.stores, i, {s.made[0]: result}).items():
                    out[n].append(x)
        elif s.kind == "pair":
            for i in indices(s.shape):
                middle = range(p.nodes[s.b].shape[-1])
                c = [sum(get(s.a, i[:-1] + (k,)) * get(s.b, i[:-2] + (k, n)) for k in range(p.nodes[s.a].shape[-1])) for n in middle]
                result = sum(c[n] * get(s.d, i[:-2] + (n, i[-1])) for n in middle)
                for n, x in behind(p, s, values, s.shape, i, {s.made[0]: result}).items():
                    out[n].append(x)
        else:
            for i in indices(s.shape):
                made = {}
                for name, q in zip(s.made, s.products):
                    result, squares = 0.0, 0.0
                    for part in range(parts):
                        ks = range(part * s.depth // parts, (part + 1) * s.depth // parts)
                        x = [get(s.left, i[:-1] + (k,)) for k in ks]
                        squares += sum(y * y for y in x)
                        if s.norm and s.norm[0]:
                            x = [y * get(s.norm[0], (k,)) for y, k in zip(x, ks)]
                        if len(q) == 1:
                            result += sum(y * get(q[0], i[:-2] + (k, i[-1])) for y, k in zip(x, ks))
                        else:  # an adapter: each part goes through both of its matrices
                            result += sum(sum(y * get(q[0], (k, c)) for y, k in zip(x, ks)) * get(q[1], (c, i[-1])) for c in range(p.nodes[q[0]].shape[-1]))
                    made[name] = result / math.sqrt(squares / s.depth + s.norm[1]) if s.norm else result
                for n, x in behind(p, s, values, s.shape, i, made).items():
                    out[n].append(x)
        values.update(out)
    return values


NORM = "input X : f16[3, 8]\ninput G : f16[8]\n"
ATTENTION = "input Q : f16[2, 4, 8]\ninput K : f16[2, 8, 8] @ [0, 2, 1]\ninput V : f16[2, 8, 4]\n"
TEXTS = {
    "norm, several outputs on lines of their own": NORM + "input A : f16[8, 4]\ninput B : f16[8, 6]\nN = rms_norm(X, G, eps=1/100)\nO = matmul(N, A)\nP = matmul(N, B)\noutput O\noutput P",
    "norm of a sum, both handed out": NORM + "input R : f16[3, 8]\ninput W : f16[8, 4]\nS = add(X, R)\nO = matmul(rms_norm(S, G, eps=1/100), W)\noutput S, O",
    "gates": "input X : f16[3, 8]\ninput A : f16[8, 4]\ninput B : f16[8, 4]\ninput u : f16[3, 1]\nO = add(mul(silu(matmul(X, A)), u), gelu(matmul(X, B)))\noutput O",
    "adapters": "input X : f16[3, 8]\ninput W : f16[8, 64]\ninput A : f16[8, 2]\ninput B : f16[2, 64]\ninput C : f16[8, 3]\ninput D : f16[3, 64]\nO = add(add(matmul(X, W), matmul(matmul(X, A), B)), matmul(matmul(X, C), D))\noutput O",
    "bias, activation, residual": "input X : f16[3, 8]\ninput W : f16[8, 4]\ninput b : f16[4]\ninput R : f16[3, 4]\nO = add(relu(add(matmul(X, W), b)), R)\noutput O",
    "batched": "input X : f16[2, 3, 8]\ninput W : f16[2, 8, 4]\nO = scale(matmul(X, W), 1/4)\noutput O",
    "chain": "input A : f16[2, 3, 4]\ninput B : f16[2, 4, 6]\ninput D : f16[2, 6, 2]\nC = matmul(A, B)\nE = matmul(C, D)\noutput E",
    "chain, its middle handed out": "input A : f16[3, 4]\ninput B : f16[4, 6]\ninput D : f16[6, 2]\nC = matmul(A, B)\nE = matmul(C, D)\noutput C, E",
    "attention": ATTENTION + "O = matmul(softmax(scale(matmul(Q, K), 1/3), dim=2), V)\noutput O",
    "attention of norms, gated": ATTENTION + "input G : f16[2, 4, 4]\nO = mul(matmul(softmax(scale(matmul(rms_norm(Q, eps=1/10, dim=2), rms_norm(K, eps=1/10, dim=1)), 1/2), dim=2), V), silu(G))\noutput O",
    "attention, biased": ATTENTION + "input B : f16[2, 4, 8]\nO = matmul(softmax(add(scale(matmul(Q, K), 1/3), B), dim=2), V)\noutput O",
    "attention, causal": ATTENTION + "O = matmul(softmax(causal(scale(matmul(Q, K), 1/3)), dim=2), V)\noutput O",
    "rows": "input X : f16[3, 8]\ninput H : f16[3, 8]\nN = rms_norm(H, eps=1/10)\nM = mean(X, dim=1)\nD = sub(X, M)\nV = sqrt(add_scalar(mean(sqr(D), dim=1), 1/10))\nO = add(div(D, V), N)\nL = log(sum(exp(sub(X, max(X, dim=1))), dim=1))\noutput O, L",
}
failed = 0


def ok(good, what, why=""):
    global failed
    failed += not good
    print(("ok - " if good else "not ok - ") + what, *([why] if not good else []), flush=True)


def near(p, got, want):
    return all(len(got[o]) == len(want[o]) and all(abs(a - b) <= 1e-9 * (1 + abs(b)) for a, b in zip(got[o], want[o])) for o in p.outputs)


paths = {os.path.basename(f)[:-3]: f for d in ("examples/programs", "tests/bench/programs") for f in glob.glob(os.path.join(ROOT, d, "*.mg"))}
wrong = {n: kinds.kind_of(kinds.parse(open(paths[n]).read())) for n in KINDS}
wrong = {n: k for n, k in wrong.items() if k != KINDS[n]}
ok(not wrong, "the kinds of %d programs by their texts" % len(KINDS), wrong)
try:
    kinds.parse(open(paths["rope"]).read())
    ok(False, "an operator of no kind is refused")
except kinds.Unknown:
    ok(True, "an operator of no kind is refused")
texts = {n: open(paths[n]).read() for n in KINDS}
turned = {n: kinds.turned_text(t) for n, t in texts.items()}
orders = lambda p: [(n, p.nodes[n].shape, p.nodes[n].attrs["order"]) for n in p.inputs()]
wrong = [n for n in KINDS if orders(kinds.parse(turned[n] or texts[n])) != orders(kinds.turned(kinds.parse(texts[n])))]
ok(not wrong and sum(t is not None for t in turned.values()) > 10, "the text of weights stored as [N, K] is that program's", wrong)
paired = [n for n in paths if n.startswith("gemm_chain") and [s.kind for s in kinds.cut(kinds.parse(open(paths[n]).read()), pair=True)] != ["pair"]]
ok(not paired, "a chain is also one kernel", paired)
def has_other_order(n):
    try:
        return bool(kinds.reassociated(kinds.parse(open(paths[n]).read())))
    except kinds.Unknown:
        return False


other = [n for n in paths if has_other_order(n) != n.startswith(("gemm_chain", "chain_vector", "linear_attention"))]
ok(not other, "chains have a second order, an adapter has none", other)

draw = random.Random(1)
for what, text in TEXTS.items():
    p = kinds.parse("program p\n" + text)
    inputs = {n: [draw.uniform(-1, 1) for _ in range(math.prod(p.nodes[n].shape))] for n in p.inputs()}
    want = plain(p, inputs)
    ways = {"fused": (p, kinds.cut(p)), "products alone": (p, kinds.cut(p, fused=False)), "pair": (p, kinds.cut(p, pair=True))}
    q = kinds.reassociated(p)
    if q:
        ways["other order"] = q, kinds.cut(q)
    if "norms" in what or "causal" in what:  # their norm along another dimension and their mask are attention's own
        del ways["products alone"]
    bad = [w for w, (r, stages) in ways.items() for parts in (1, 2) if not stages or not near(p, staged(r, stages, inputs, parts), want)]
    ok(not bad and list(want) and set(p.outputs) <= set(want), "the stages compute the text: " + what, bad)
p = kinds.parse("program p\n" + TEXTS["norm, several outputs on lines of their own"])
ok(p.outputs == ["O", "P"] and {n for s in kinds.cut(p) for n in s.stores} == {"O", "P"}, "every output of a text is computed", p.outputs)
ok(kinds.reassociated(kinds.parse("program p\n" + TEXTS["chain, its middle handed out"])) is None, "a middle that is an output is computed", "")

os.makedirs(os.path.join(ROOT, "build"), exist_ok=True)
cu = os.path.join(ROOT, "build", "peers.cu")
done = subprocess.run([os.path.join(ROOT, "build", "mirage"), "emit", paths["ntrans_m8"], "--arch", "sm_90a", "-o", cu], capture_output=True, text=True)
words = objects.command(cu, "here.so", "mynvcc") if not done.returncode else []
with open(cu) as f:
    said = shlex.split(f.read().split("-I<mirage>")[0].lstrip("/* ").replace("\\\n", " "))
ok(words[:1] == ["mynvcc"] and set(said[1:]) <= set(words) and "-prec-div=false" in words and words[-3:] == ["-o", "here.so", cu], "ours are compiled by the command of their file", words)
sys.exit(failed > 0)
