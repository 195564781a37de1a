"""Fused kernels in Triton for the stages of kinds.py, a grid of configurations for each, and products by cuBLASLt.

A stage's kernel is written out for its program: what is elementwise stands in it as text.  Configurations are of
  product    BM, BN, BK tiles; SK parts of the contraction, which the last block to arrive adds; swap: the weights are the
             left operand, for few rows; tma: the weights come by tensor copies; w, st: warps and stages
  attention  BM queries, BN keys a step, SK parts of the keys
  pair       BM rows, BN columns of the middle, BH columns of the result
  rows       warps
"""
import ctypes, functools, hashlib, importlib.util, itertools, math, os, tempfile
import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor
import kinds

TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}
HEAD = """import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_wait, gdc_launch_dependents


@triton.jit
def kernel(%s):
    if GPU:
        gdc_launch_dependents()
        gdc_wait()
"""


def module(source):
    """The kernel of a source; Triton reads it from a file, whose name is its content's."""
    name = "peer_" + hashlib.sha256(source.encode()).hexdigest()[:16]
    path = os.path.join(os.environ.get("MIRAGE_PEERS_DIR", tempfile.gettempdir()), name + ".py")
    if not os.path.exists(path):
        with open(path + ".%d" % os.getpid(), "w") as f:
            f.write(source)
        os.replace(path + ".%d" % os.getpid(), path)
    spec = importlib.util.spec_from_file_location(name, path)
    m = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(m)
    return m.kernel


def power(n):
    return 1 << max(0, n - 1).bit_length()


def flat(shape):
    """(batch, rows, columns)."""
    return math.prod(shape[:-2]), (shape[-2] if len(shape) > 1 else 1), shape[-1]


def strides_of(p, n):
    """(between matrices, between rows, between columns), in elements, of a value; those of an input by its order in memory."""
    v = p.nodes[n]
    order = v.attrs["order"] if v.op == "input" else tuple(range(len(v.shape)))
    step, out = 1, {}
    for d in reversed(order):
        out[d] = step
        step *= v.shape[d]
    rank = len(v.shape)
    if rank > 3:
        raise kinds.Unknown("rank")
    return out[rank - 3] if rank > 2 and v.shape[0] > 1 else 0, out[rank - 2] if rank > 1 else 0, out[rank - 1]


def at(p, n, rows, columns, z="z"):
    """The text of the address of a value's elements, those of extent 1 repeated."""
    v = p.nodes[n]
    sz, sr, sc = strides_of(p, n)
    shape = (1,) * (2 - len(v.shape)) + tuple(v.shape)
    terms = ([("%s * %d" % (z, sz))] if sz else []) + (["%s * %d" % (rows, sr)] if shape[-2] > 1 else []) + (["%s * %d" % (columns, sc)] if shape[-1] > 1 else [])
    return "%s_p + " % n + (" + ".join(terms) or "0") + ("" if shape[-2] > 1 and shape[-1] > 1 else " + 0 * (%s + %s)" % (rows, columns))


def ending(p, stage, names, rows, columns, mask, indent):
    """Lines: the stage's elementwise operators over the values `names`, and the stores."""
    lines, names = [], dict(names)
    for n in dict.fromkeys(stage.operands):
        lines.append("%s_e = tl.load(%s, mask=%s, other=0).to(tl.float32)" % (n, at(p, n, rows, columns), mask))
        names[n] = n + "_e"
    for n in stage.body:
        lines.append("%s_v = %s" % (n, kinds.text_of(p, n, names)))
        names[n] = n + "_v"
    for n in stage.stores:
        lines.append("tl.store(%s, %s.to(%s_p.dtype.element_ty), mask=%s)" % (at(p, n, rows, columns), names[n], n, mask))
    return "".join(" " * indent + line + "\n" for line in lines)


def merged(values, sums, columns, pid, indent=4):
    """Lines: the parts of a tile, [name, rows, columns] each, in a workspace; the last block to arrive has `sums` of them."""
    size = " + ".join("%s * %s" % (r, c) for _, r, c in values)
    lines, at_ = ["here = WS + ((z * %s + %s) * SK + part) * (%s)" % (columns, pid, size)], "0"
    load = []
    for name, r, c in values:
        index = "%s + tl.arange(0, %s)" % (at_, r) + ("[:, None] * %s + tl.arange(0, %s)[None, :]" % (c, c) if c != "1" else "")
        lines.append("tl.store(here + %s, %s)" % (index, name))
        load.append((name, "tl.load(from_ + %s, cache_modifier='.cg')" % index))
        at_ += " + %s * %s" % (r, c)
    lines += ["tl.debug_barrier()", "arrived = tl.atomic_add(CNT + z * %s + %s, 1, sem='acq_rel')" % (columns, pid), "if arrived == SK - 1:",
              "    first = WS + (z * %s + %s) * SK * (%s)" % (columns, pid, size)]
    lines += ["    " + line for line in sums(load, size)]
    lines += ["    tl.atomic_xchg(CNT + z * %s + %s, 0)" % (columns, pid)]
    return "".join(" " * indent + line + "\n" for line in lines)


def product_source(p, s):
    """One or more products of one left operand."""
    batch, _, _ = flat(s.shape)
    weights = [q[0] for q in s.products if len(q) == 1]
    adapters = [q for q in s.products if len(q) == 2]
    gain = s.norm and s.norm[0]
    args = ["%s_p" % n for n in s.reads()] + ["%s_p" % n for n in s.stores] + ["%s_d" % w for w in weights] + ["X_d"]
    consts = ["M", "N", "K", "MT", "NT", "BM", "BN", "BK", "SK", "SWAP", "TMA", "XTMA", "GPU"]
    t = HEAD % ", ".join(args + ["WS", "CNT"] + [c + ": tl.constexpr" for c in consts])
    t += """    pid = tl.program_id(0)
    part = tl.program_id(1)
    z = tl.program_id(2)
    rm = (pid % MT) * BM + tl.arange(0, BM)
    rn = (pid // MT) * BN + tl.arange(0, BN)
    if SWAP:
        row = rm[None, :]
        column = rn[:, None]
    else:
        row = rm[:, None]
        column = rn[None, :]
    inside = (row < M) & (column < N)
"""
    accs = ["acc%d" % i for i in range(len(s.products))]
    for i, q in enumerate(s.products):
        if len(q) == 1:
            t += "    acc%d = tl.zeros((BN, BM) if SWAP else (BM, BN), tl.float32)\n" % i
        else:
            t += "    low%d = tl.zeros((%d, BM) if SWAP else (BM, %d), tl.float32)\n" % (i, p.nodes[q[0]].shape[-1], p.nodes[q[0]].shape[-1])
    if s.norm:
        t += "    squares = tl.zeros((BM,), tl.float32)\n"
    t += "    for step in range(0, K // SK, BK):\n        k = part * (K // SK) + step\n        rk = k + tl.arange(0, BK)\n"
    xz, xr, xc = strides_of(p, s.left)
    t += "        if XTMA:\n            x = X_d.load([z * M + (pid % MT) * BM, k])\n            if SWAP:\n                x = tl.trans(x)\n"
    t += "        elif SWAP:\n            x = tl.load({0}_p + z * {1} + rm[None, :] * {2} + rk[:, None] * {3}, mask=rm[None, :] < M, other=0)\n".format(s.left, xz, xr, xc)
    t += "        else:\n            x = tl.load({0}_p + z * {1} + rm[:, None] * {2} + rk[None, :] * {3}, mask=rm[:, None] < M, other=0)\n".format(s.left, xz, xr, xc)
    if s.norm:
        t += "        xf = x.to(tl.float32)\n        squares += tl.sum(xf * xf, 0 if SWAP else 1)\n"
    if gain:
        t += "        g = tl.load(%s_p + rk).to(tl.float32)\n        x = (xf * (g[:, None] if SWAP else g[None, :])).to(x.dtype)\n" % gain
    for i, q in enumerate(s.products):
        w = q[0]
        wz, wr, wc = strides_of(p, w)
        if len(q) == 1:
            t += "        if TMA:\n            w = {0}_d.load([{1} + k, (pid // MT) * BN])\n".format(w, "z * K" if wz else "0") if wc == 1 else \
                 "        if TMA:\n            w = tl.trans({0}_d.load([{1} + (pid // MT) * BN, k]))\n".format(w, "z * N" if wz else "0")
            t += "        else:\n            w = tl.load({0}_p + z * {1} + rk[:, None] * {2} + rn[None, :] * {3})\n".format(w, wz, wr, wc)
            t += "        if SWAP:\n            acc{0} = tl.dot(tl.trans(w), x, acc{0})\n        else:\n            acc{0} = tl.dot(x, w, acc{0})\n".format(i)
        else:
            t += "        a = tl.load({0}_p + rk[:, None] * {1} + tl.arange(0, {3})[None, :] * {2})\n".format(w, wr, wc, p.nodes[w].shape[-1])
            t += "        if SWAP:\n            low{0} = tl.dot(tl.trans(a), x, low{0})\n        else:\n            low{0} = tl.dot(x, a, low{0})\n".format(i)
    for i, q in enumerate(s.products):
        if len(q) == 2:
            _, br, bc = strides_of(p, q[1])
            t += "    b = tl.load({0}_p + tl.arange(0, {3})[:, None] * {1} + rn[None, :] * {2})\n".format(q[1], br, bc, p.nodes[q[1]].shape[-2])
            t += "    if SWAP:\n        acc{0} = tl.dot(tl.trans(b), low{0}.to(b.dtype))\n    else:\n        acc{0} = tl.dot(low{0}.to(b.dtype), b)\n".format(i)

    def finish(indent):
        lines = []
        if s.norm:
            lines.append("by = 1.0 / tl.sqrt(squares / K + %r)" % float(s.norm[1]))
            lines += ["%s = %s * (by[None, :] if SWAP else by[:, None])" % (a, a) for a in accs]
        return "".join(" " * indent + line + "\n" for line in lines) + ending(p, s, dict(zip(s.made, accs)), "row", "column", "inside", indent)

    def sums(load, size):
        out = ["for other in tl.static_range(SK):", "    from_ = first + other * (%s)" % size]
        begin = ["%s_t = %s * 0.0" % (name, name) for name, _ in load]
        return begin + out + ["    %s_t += %s" % (name, text) for name, text in load] + ["%s = %s_t" % (name, name) for name, _ in load]
    values = [(a, "R", "C") for a in accs] + ([("squares", "BM", "1")] if s.norm else [])
    t += "    R: tl.constexpr = BN if SWAP else BM\n    C: tl.constexpr = BM if SWAP else BN\n    TILES: tl.constexpr = MT * NT\n"
    t += "    if SK == 1:\n" + finish(8) + "    else:\n" + merged(values, lambda load, size: sums(load, size), "TILES", "pid", 8) + finish(12)
    return t


def padded(n):
    """(d, 0), or (d, e): n as a power of two and the rest of it, of at least 16; else None."""
    a = power(n) if power(n) == n else power(n) // 2
    return (n, 0) if a == n else (a, n - a) if n - a >= 16 and power(n - a) == n - a else None


def attention_source(p, s):
    """Softmax of scaled scores times values, the keys in SK parts; heads of a second part of DB columns where DB is not 0."""
    args = ["%s_p" % n for n in s.reads()] + ["%s_p" % n for n in s.stores] + ["K_d", "V_d"]
    consts = ["M", "N", "D", "DA", "DB", "MT", "BM", "BN", "SK", "TMA", "GPU"]
    t = HEAD % ", ".join(args + ["WS", "CNT"] + [c + ": tl.constexpr" for c in consts])
    qz, qr, _ = strides_of(p, s.q)
    kz, kc, kr = strides_of(p, s.k)
    vz, vr, _ = strides_of(p, s.v)
    t += """    pid = tl.program_id(0)
    part = tl.program_id(1)
    z = tl.program_id(2)
    rm = pid * BM + tl.arange(0, BM)
    da = tl.arange(0, DA)
    db = DA + tl.arange(0, DB if DB else 16)
    q = tl.load({q}_p + z * {qz} + rm[:, None] * {qr} + da[None, :], mask=rm[:, None] < M, other=0)
    accumulated = tl.zeros((BM, DA), tl.float32)
    if DB:
        q2 = tl.load({q}_p + z * {qz} + rm[:, None] * {qr} + db[None, :], mask=rm[:, None] < M, other=0)
        second = tl.zeros((BM, DB if DB else 16), tl.float32)
    most = tl.full((BM,), float('-inf'), tl.float32)
    total = tl.zeros((BM,), tl.float32)
""".format(q=s.q, qz=qz, qr=qr)
    if s.qeps is not None:
        t += "    squares = tl.sum(q.to(tl.float32) * q.to(tl.float32), 1)\n    if DB:\n        squares += tl.sum(q2.to(tl.float32) * q2.to(tl.float32), 1)\n"
        t += "    by_row = 1.0 / tl.sqrt(squares / D + %r)\n    q = (q * by_row[:, None]).to(q.dtype)\n" % float(s.qeps)
        t += "    if DB:\n        q2 = (q2 * by_row[:, None]).to(q2.dtype)\n"
    t += "    for step in range(0, %s, BN):\n" % ("tl.minimum(N, (pid + 1) * BM + N - M)" if s.causal else "N // SK")
    t += """        n = part * (N // SK) + step
        rn = n + tl.arange(0, BN)
        if TMA:
            k = K_d.load([z * N + n, 0])
        else:
            k = tl.load({k}_p + z * {kz} + rn[:, None] * {kr} + da[None, :] * {kc})
        s = tl.dot(q, tl.trans(k))
        if DB:
            k2 = tl.load({k}_p + z * {kz} + rn[:, None] * {kr} + db[None, :] * {kc})
            s = tl.dot(q2, tl.trans(k2), s)
""".format(k=s.k, kz=kz, kr=kr, kc=kc)
    if s.keps is not None:
        t += "        of_keys = tl.sum(k.to(tl.float32) * k.to(tl.float32), 1)\n        if DB:\n            of_keys += tl.sum(k2.to(tl.float32) * k2.to(tl.float32), 1)\n"
        t += "        s = s * (1.0 / tl.sqrt(of_keys / D + %r))[None, :]\n" % float(s.keps)
    by = repr(float(s.scale) * 1.4426950408889634)
    if s.bias:
        t += "        s = s * %s + tl.load(%s, mask=rm[:, None] < M, other=0).to(tl.float32) * 1.4426950408889634\n" % (by, at(p, s.bias, "rm[:, None]", "rn[None, :]"))
        by = "1.0"
    if s.causal:
        t += "        s = tl.where(rn[None, :] <= rm[:, None] + (N - M), s, float('-inf'))\n"
    t += """        higher = tl.maximum(most, tl.max(s, 1) * {by})
        e = tl.exp2(s * {by} - higher[:, None])
        by = tl.exp2(most - higher)
""".format(by=by)
    t += """        total = total * by + tl.sum(e, 1)
        most = higher
        if TMA:
            v = V_d.load([z * N + n, 0])
        else:
            v = tl.load({v}_p + z * {vz} + rn[:, None] * {vr} + da[None, :])
        accumulated = tl.dot(e.to(v.dtype), v, accumulated * by[:, None])
        if DB:
            v2 = tl.load({v}_p + z * {vz} + rn[:, None] * {vr} + db[None, :])
            second = tl.dot(e.to(v2.dtype), v2, second * by[:, None])
    inside = rm[:, None] < M
""".format(v=s.v, vz=vz, vr=vr)

    def finish(indent):
        pad = " " * indent
        text = pad + "result = accumulated / total[:, None]\n" + ending(p, s, {s.made[0]: "result"}, "rm[:, None]", "da[None, :]", "inside", indent)
        text += pad + "if DB:\n" + pad + "    result = second / total[:, None]\n" + ending(p, s, {s.made[0]: "result"}, "rm[:, None]", "db[None, :]", "inside", indent + 4)
        return text

    def sums(load, size):
        texts = dict(load)
        out = ["all = tl.full((BM,), float('-inf'), tl.float32)", "for other in tl.static_range(SK):", "    from_ = first + other * (%s)" % size,
               "    all = tl.maximum(all, %s)" % texts["most"], "total = total * 0.0", "accumulated = accumulated * 0.0",
               "for other in tl.static_range(SK):", "    from_ = first + other * (%s)" % size, "    by = tl.exp2(%s - all)" % texts["most"],
               "    total += by * %s" % texts["total"], "    accumulated += by[:, None] * %s" % texts["accumulated"]]
        return out
    values = [("accumulated", "BM", "DA"), ("most", "BM", "1"), ("total", "BM", "1")]
    t += "    if SK == 1:\n" + finish(8) + "    else:\n" + merged(values, sums, "MT", "pid", 8) + finish(12)
    return t


def pair_source(p, s):
    """(A B) D; a block's rows of A B are on the chip, BN columns at a time."""
    args = ["%s_p" % n for n in s.reads()] + ["%s_p" % n for n in s.stores]
    consts = ["M", "N", "K", "H", "MT", "BM", "BN", "BK", "BH", "GPU"]
    t = HEAD % ", ".join(args + [c + ": tl.constexpr" for c in consts])
    f = dict(a=s.a, b=s.b, d=s.d)
    for c, n in (("a", s.a), ("b", s.b), ("d", s.d)):
        f[c + "z"], f[c + "r"], f[c + "c"] = strides_of(p, n)
    t += """    pid = tl.program_id(0)
    z = tl.program_id(1)
    rm = (pid % MT) * BM + tl.arange(0, BM)
    rh = (pid // MT) * BH + tl.arange(0, BH)
    rk = tl.arange(0, BK)
    if BK == K:
        a = tl.load({a}_p + z * {az} + rm[:, None] * {ar} + rk[None, :] * {ac}, mask=rm[:, None] < M, other=0)
    result = tl.zeros((BM, BH), tl.float32)
    for n in range(0, N, BN):
        rn = n + tl.arange(0, BN)
        if BK == K:
            b = tl.load({b}_p + z * {bz} + rk[:, None] * {br} + rn[None, :] * {bc})
            c = tl.dot(a, b)
        else:
            c = tl.zeros((BM, BN), tl.float32)
            for k in range(0, K, BK):
                a = tl.load({a}_p + z * {az} + rm[:, None] * {ar} + (k + rk)[None, :] * {ac}, mask=rm[:, None] < M, other=0)
                b = tl.load({b}_p + z * {bz} + (k + rk)[:, None] * {br} + rn[None, :] * {bc})
                c = tl.dot(a, b, c)
        d = tl.load({d}_p + z * {dz} + rn[:, None] * {dr} + rh[None, :] * {dc})
        result = tl.dot(c.to(d.dtype), d, result)
""".format(**f)
    return t + ending(p, s, {s.made[0]: "result"}, "rm[:, None]", "rh[None, :]", "rm[:, None] < M", 4)


def rows_source(p, s):
    """A row a block."""
    length = s.size[1]
    args = ["%s_p" % n for n in s.reads()] + ["%s_p" % n for n in s.stores]
    t = HEAD % ", ".join(args + ["BLOCK: tl.constexpr", "GPU: tl.constexpr"])
    t += "    r = tl.program_id(0).to(tl.int64)\n    c = tl.arange(0, BLOCK)\n    mask = c < %d\n" % length
    names = {}

    def where(n):
        rows, columns = kinds.rows_of(p, n)
        if p.nodes[n].op == "input" and p.nodes[n].attrs["order"] != tuple(range(len(p.nodes[n].shape))):
            raise kinds.Unknown("order")
        return "%s_p" % n + (" + r * %d" % columns if rows > 1 else "") + (" + c" if columns > 1 else ""), columns > 1
    for n in s.operands:
        address, wide = where(n)
        t += "    %s_v = tl.load(%s%s).to(tl.float32)\n" % (n, address, ", mask=mask, other=0" if wide else "")
        names[n] = n + "_v"
    for n in s.body:
        names[n] = n + "_v"
        t += "".join("    %s\n" % line for line in kinds.rows_text(p, n, names, length))
    for n in s.stores:
        address, wide = where(n)
        t += "    tl.store(%s, %s.to(%s_p.dtype.element_ty)%s)\n" % (address, names[n], n, ", mask=mask" if wide else "")
    return t


SOURCES = {"product": product_source, "attention": attention_source, "pair": pair_source, "rows": rows_source}


def configurations(p, s, sms=132, most=24):
    """The grid that a stage is tuned over: at most `most` of all below, each number of parts having its share."""
    found, by_parts = every(p, s, sms), {}
    for c in found:
        by_parts.setdefault(c.get("SK", 1), []).append(c)
    turns = [c for together in itertools.zip_longest(*by_parts.values()) for c in together if c]
    return turns[:most]


def every(p, s, sms):
    """All that is tried of a stage."""
    out = []
    if s.kind == "rows":
        return [{"w": w} for w in (4, 8, 16, 32) if w * 32 <= max(128, power(s.size[1]))]
    if s.kind == "product":
        batch, m, n = flat(s.shape)
        k, many = s.depth, len(s.products)
        few = power(max(16, m)) if m <= 64 else 0
        if few and few <= 32:
            shapes = [(few, bn, bk, swap, 1) for bn, bk, swap in ((64, 64, 1), (64, 128, 1), (64, 256, 1), (128, 64, 1), (128, 128, 1), (64, 128, 0))] + [(few, 32, 128, 0, 0), (few, 32, 128, 0, 1)]
        elif few:
            shapes = [(few, bn, bk, 0, 1) for bn, bk in ((32, 128), (64, 64), (64, 128), (128, 64))] + [(few, 64, 128, 1, 1), (few, 128, 64, 1, 1), (32, 64, 128, 1, 1), (few, 32, 128, 0, 0)]
        else:
            shapes = [(bm, bn, bk, 0, tma) for bm, bn, bk, tma in ((128, 128, 64, 1), (128, 256, 64, 1), (128, 64, 64, 1), (64, 128, 64, 1), (64, 256, 64, 1), (64, 64, 64, 1), (64, 64, 128, 1), (64, 32, 128, 1),
                                                                   (64, 32, 128, 0), (64, 64, 64, 0), (64, 128, 64, 0), (32, 64, 64, 0), (16, 32, 128, 0), (16, 64, 64, 0))]
        seen = set()
        for bm, bn, bk, swap, tma in shapes:
            bn, bk = min(bn, power(n)), min(bk, power(k))
            if n % bn or k % bk or bn < 16 or bk < 16:
                continue
            tiles = -(-m // bm) * (n // bn) * batch
            for sk in (1, 2, 4, 8, 16):
                if k % (sk * bk) or sk > 1 and tiles * sk > (4.1 if few else 2.1) * sms or (tiles > 8 * sms and bm * bn < 64 * 64) or \
                        (tiles * sk < 0.4 * sms and k % (2 * sk * bk) == 0 and sk < 16 and k // sk > 256):
                    continue
                for st in (3, 4, 6):
                    bytes_ = st * bk * (many * bn + bm) * 2
                    if bytes_ > 220 << 10 or (st > 3 and k // sk // bk < st) or (st == 6 and (bytes_ < 64 << 10 or not few)) or (st == 3 and bytes_ < 40 << 10 and k // sk // bk >= 4):
                        continue
                    for w in ((4, 8) if bm * bn * many == 128 * 128 else (8,) if bm * bn * many > 128 * 128 else (4,)):
                        key = (bm, bn, bk, sk, swap, st, w, int(tma and bn >= 32))
                        if key not in seen:
                            seen.add(key)
                            out.append(dict(zip(("BM", "BN", "BK", "SK", "swap", "st", "w", "tma"), key)))
        return out
    if s.kind == "attention":
        batch, m, _ = flat(p.nodes[s.q].shape)
        n = p.nodes[s.v].shape[-2]
        for bm in (16, 64, 128):
            if (bm == 16) != (m <= 16) and not (bm == 16 and batch * m < 2048):
                continue
            for bn, w, st in itertools.product((64, 128), (4, 8), (2, 3)):
                if n % bn or (w == 8 and bm < 128) or (w == 4 and bm == 128):
                    continue
                tiles = -(-m // bm) * batch
                for sk in ((1,) if s.causal else (1, 2, 4, 8, 16)):
                    if n % (sk * bn) or tiles * sk > 5 * sms or (tiles * sk < 0.4 * sms and n % (2 * sk * bn) == 0 and sk < 16):
                        continue
                    if sk > 1 and padded(p.nodes[s.q].shape[-1])[1]:
                        continue
                    out += [dict(BM=bm, BN=bn, SK=sk, w=w, st=st, tma=tma) for tma in ((0,) if padded(p.nodes[s.q].shape[-1])[1] else (0, 1))]
        return out
    batch, m, h = flat(s.shape)
    k, n = p.nodes[s.a].shape[-1], p.nodes[s.b].shape[-1]
    for bm, bn, bh, st in itertools.product((16, 64, 128), (64, 128), (64, 128), (2, 3)):
        if m % bm or n % bn or h % bh or h // bh > 4 or -(-m // bm) * batch * (h // bh) < 24 or (bm == 128 and m * batch < 2048):
            continue
        out.append(dict(BM=bm, BN=bn, BK=k if k <= 256 else 128, BH=bh, st=st, w=8 if bm == 128 else 4))
    return [c for c in out if c["st"] == 2 or (c["BK"] * c["BN"] + c["BN"] * c["BH"]) * 2 * c["st"] < 200 << 10]


@functools.cache
def kernel_of(source):
    return module(source)


def descriptor(t, rows, columns, block):
    return TensorDescriptor(t, [rows, columns], [columns, 1], block)


class Launch:
    """A stage with a configuration: call(values) adds the stage's results to the dict; pdl: by dependent launches, from the second
    call on.  Kernels wait for the one before either way, which says nothing in a plain launch."""
    def __init__(self, p, s, c, device="cuda"):
        self.p, self.s, self.c, self.pdl = p, s, c, False
        self.kernel = kernel_of(SOURCES[s.kind](p, s))
        self.device = device
        self.work = self.count = self.compiled = None
        if s.kind == "product":
            batch, m, n = flat(s.shape)
            self.tiles = -(-m // c["BM"]) * (n // c["BN"])
            self.grid = (self.tiles, c["SK"], batch)
            part = c["BM"] * c["BN"] * len(s.products) + c["BM"]
        elif s.kind == "attention":
            batch, m, d = flat(p.nodes[s.q].shape)
            if not padded(d) or (c["tma"] and padded(d)[1]) or strides_of(p, s.k)[1] != 1 or strides_of(p, s.v)[2] != 1 or strides_of(p, s.q)[2] != 1:
                raise kinds.Unknown("heads")
            self.tiles = -(-m // c["BM"])
            self.grid = (self.tiles, c["SK"], batch)
            part = c["BM"] * (d + 2)
        elif s.kind == "pair":
            batch, m, h = flat(s.shape)
            self.tiles = -(-m // c["BM"]) * (h // c["BH"])
            self.grid, part = (self.tiles, batch), 0
        else:
            self.grid, part = (s.size[0],), 0
        if c.get("SK", 1) > 1:
            self.work = torch.empty(self.tiles * self.grid[2] * c["SK"] * part, device=device)
            self.count = torch.zeros(self.tiles * self.grid[2], dtype=torch.int32, device=device)

    def __call__(self, values, warm=False):
        p, s, c = self.p, self.s, self.c
        out = {n: torch.empty(p.nodes[n].shape, dtype=TYPES[p.nodes[n].type], device=self.device) for n in s.stores}
        args = [values[n] for n in s.reads()] + [out[n] for n in s.stores]
        more = {}
        if s.kind == "product":
            batch, m, n = flat(s.shape)
            for q in s.products:
                if len(q) == 1:
                    w, (_, wr, wc) = values[q[0]], strides_of(p, q[0])
                    own = w.numel() // (s.depth * n)
                    args.append((descriptor(w, own * s.depth, n, [c["BK"], c["BN"]]) if wc == 1 else descriptor(w, own * n, s.depth, [c["BN"], c["BK"]])) if c["tma"] else w)
            x = int(bool(c["tma"] and m % c["BM"] == 0 and strides_of(p, s.left)[2] == 1))
            args.append(descriptor(values[s.left], batch * m, s.depth, [c["BM"], c["BK"]]) if x else values[s.left])
            args += [self.work, self.count]
            more = dict(M=m, N=n, K=s.depth, MT=-(-m // c["BM"]), NT=n // c["BN"], BM=c["BM"], BN=c["BN"], BK=c["BK"], SK=c["SK"], SWAP=c["swap"], TMA=c["tma"], XTMA=x)
        elif s.kind == "attention":
            batch, m, d = flat(p.nodes[s.q].shape)
            n = p.nodes[s.v].shape[-2]
            da, db = padded(d)
            args += [descriptor(values[x], batch * n, d, [c["BN"], d]) if c["tma"] else values[x] for x in (s.k, s.v)] + [self.work, self.count]
            more = dict(M=m, N=n, D=d, DA=da, DB=db, MT=-(-m // c["BM"]), BM=c["BM"], BN=c["BN"], SK=c["SK"], TMA=c["tma"])
        elif s.kind == "pair":
            batch, m, h = flat(s.shape)
            more = dict(M=m, N=p.nodes[s.b].shape[-1], K=p.nodes[s.a].shape[-1], H=h, MT=-(-m // c["BM"]), BM=c["BM"], BN=c["BN"], BK=c["BK"], BH=c["BH"])
        else:
            more = dict(BLOCK=power(s.size[1]))
        if self.compiled:
            self.compiled.run.launch_pdl = self.pdl
        run = self.kernel.warmup if warm else self.kernel[self.grid]
        self.compiled = run(*args, GPU=self.device == "cuda", num_warps=c["w"], num_stages=c.get("st", 2), **more, **({"grid": self.grid} if warm else {}))
        if warm:
            self.compiled.run  # its launcher is compiled too
        values.update(out)


class Heuristic(ctypes.Structure):
    _fields_ = [("algorithm", ctypes.c_uint64 * 8), ("workspace", ctypes.c_size_t), ("state", ctypes.c_int), ("waves", ctypes.c_float), ("reserved", ctypes.c_int * 4)]


SPACE = 64 << 20  # bytes that cuBLASLt may use
RELU, BIAS = 2, 4  # of its epilogues


@functools.cache
def library():
    lt = ctypes.CDLL("libcublasLt.so.13" if torch.version.cuda.startswith("13") else "libcublasLt.so.12")
    handle = ctypes.c_void_p()
    if lt.cublasLtCreate(ctypes.byref(handle)):
        raise RuntimeError("cublasLtCreate")
    return lt, handle, torch.empty(SPACE, dtype=torch.uint8, device="cuda")


def library_epilogue(p, s):
    """(epilogue, bias, residual) by which cuBLASLt does what follows the product, or None."""
    value, flags, bias, residual = s.made[0], 0, None, None
    for n in s.body:
        v = p.nodes[n]
        if v.op == "add" and value in v.args and v.args[0] != v.args[1] and not flags & RELU:
            other = v.args[1 - v.args.index(value)]
            if p.nodes[other].shape == s.shape and not residual and not flags:
                residual = other
            elif p.nodes[other].shape == s.shape[-1:] and not flags:
                flags, bias = flags | BIAS, other
            else:
                return None
        elif v.op == "relu" and v.args[0] == value:
            flags |= RELU
        else:
            return None
        value = n
    return (flags or 1, bias, residual) if s.stores == [value] and not (residual and flags) else None


class Library:
    """A product stage of one product by cuBLASLt, its column-major view: result' = weights' left'.  algorithm: which of those that the
    heuristic lists, and of the first of these with the contraction in 2, 4 and 8 parts."""
    def __init__(self, p, s, algorithm=0):
        self.p, self.s, self.algorithm = p, s, algorithm
        self.ending = library_epilogue(p, s)
        if not self.ending or s.norm or len(s.products) > 1 or len(s.products[0]) > 1:
            raise kinds.Unknown("epilogue")
        lt, handle, _ = library()
        batch, m, n = flat(s.shape)
        kind = {"f16": 2, "bf16": 14, "f32": 0}[p.nodes[s.made[0]].type]

        def made(function, *args):
            x = ctypes.c_void_p()
            if function(ctypes.byref(x), *args):
                raise RuntimeError("cublasLt")
            return x

        def put(function, x, attribute, value):
            if function(x, attribute, ctypes.byref(value), ctypes.c_size_t(ctypes.sizeof(value))):
                raise RuntimeError("cublasLt attribute %d" % attribute)
        self.of = made(lt.cublasLtMatmulDescCreate, 68, 0)
        w, x = s.products[0][0], s.left
        wz, wr, wc = strides_of(p, w)
        xz, xr, xc = strides_of(p, x)
        if xc != 1 or 1 not in (wr, wc):
            raise kinds.Unknown("order")
        if wc != 1:
            put(lt.cublasLtMatmulDescSetAttribute, self.of, 3, ctypes.c_int(1))
        put(lt.cublasLtMatmulDescSetAttribute, self.of, 7, ctypes.c_int(self.ending[0]))
        self.put = put
        if batch == 1 or not wz or not xz:
            wz, xz = wz if batch > 1 else 0, xz if batch > 1 else 0

        def layout(rows, columns, ld, step):
            y = made(lt.cublasLtMatrixLayoutCreate, kind, ctypes.c_uint64(rows), ctypes.c_uint64(columns), ctypes.c_int64(ld))
            if batch > 1:
                put(lt.cublasLtMatrixLayoutSetAttribute, y, 5, ctypes.c_int(batch))
                put(lt.cublasLtMatrixLayoutSetAttribute, y, 6, ctypes.c_int64(step))
            return y
        self.a = layout(n, s.depth, wr, wz) if wc == 1 else layout(s.depth, n, wc, wz)
        self.b, self.c = layout(s.depth, m, xr, xz), layout(n, m, n, m * n)
        preference = made(lt.cublasLtMatmulPreferenceCreate)
        put(lt.cublasLtMatmulPreferenceSetAttribute, preference, 1, ctypes.c_size_t(SPACE))
        found, count = (Heuristic * 16)(), ctypes.c_int()
        lt.cublasLtMatmulAlgoGetHeuristic(handle, self.of, self.a, self.b, self.c, self.c, preference, 16, found, ctypes.byref(count))
        self.algorithms = [(found[i], 1) for i in range(count.value) if found[i].state == 0]
        for h, _ in self.algorithms[:3]:
            for parts in (2, 4, 8):
                other, checked = Heuristic(), Heuristic()
                ctypes.memmove(other.algorithm, h.algorithm, 64)
                for attribute, value in ((2, parts), (3, 2)):
                    v = ctypes.c_uint32(value)
                    lt.cublasLtMatmulAlgoConfigSetAttribute(other.algorithm, attribute, ctypes.byref(v), ctypes.c_size_t(4))
                if not lt.cublasLtMatmulAlgoCheck(handle, self.of, self.a, self.b, self.c, self.c, other.algorithm, ctypes.byref(checked)) and checked.workspace <= SPACE:
                    self.algorithms.append((other, parts))
        self.one, self.beta = ctypes.c_float(1), ctypes.c_float(bool(self.ending[2]))

    def __call__(self, values, warm=False):
        p, s = self.p, self.s
        lt, handle, space = library()
        out = torch.empty(s.shape, dtype=TYPES[p.nodes[s.made[0]].type], device="cuda")
        pointer = lambda t: ctypes.c_void_p(t.data_ptr())
        _, bias, residual = self.ending
        if bias:
            self.put(lt.cublasLtMatmulDescSetAttribute, self.of, 8, pointer(values[bias]))
        rc = lt.cublasLtMatmul(handle, self.of, ctypes.byref(self.one), pointer(values[s.products[0][0]]), self.a, pointer(values[s.left]), self.b, ctypes.byref(self.beta),
                               pointer(values[residual] if residual else out), self.c, pointer(out), self.c, self.algorithms[self.algorithm][0].algorithm, pointer(space), ctypes.c_size_t(SPACE),
                               ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if rc:
            raise RuntimeError("cublasLtMatmul: %d" % rc)
        values[s.stores[0]] = out
