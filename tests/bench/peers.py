"""What a user would pick instead of an emitted kernel, timed on the GPU: eager PyTorch (cuBLAS), cuDNN and FlashAttention-2
through scaled_dot_product_attention, torch.compile, and torch.compile with max-autotune.

Each workload is timed as a replayed CUDA graph that holds CALLS calls, in two
regimes: hot (one set of buffers, so small inputs stay in L2) and cold (the
calls rotate over enough buffer sets to exceed 4x the L2). Figures are the
median over REPS replays, in microseconds a call. fp16 inputs, randn.

A program that is not among the workloads below is taken from its text: FILE.mg, its operators as PyTorch's.

usage: peers.py [FILE.mg ..] [--only REGEX] [--modes eager,cudnn,flash,compile,autotune] [--runs N] [--out FILE] [--build | --serve]
  --build   only compiles: what this leaves in Triton's cache makes the timed run short.  Choices that inductor's
            autotuning makes meanwhile are not kept where TORCHINDUCTOR_CACHE_DIR differs from the timed run's
  --serve   reads workload names from standard input, a line each, and answers each by its line of JSON; the first
            line out holds the ceilings
"""
import argparse, json, math, os, re, sys, time
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

dev = "cuda"
torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True
L2 = 60 << 20
CALLS, REPS = 32, 15


def r(*s, scale=1.0):
    return torch.randn(*s, device=dev, dtype=torch.float16) * scale


def rms(x, eps=0.0):
    return F.rms_norm(x, (x.shape[-1],), eps=1e-6)


def workloads():
    w = {}
    # Weights as [K, N] in memory, and, under the suffix _wt, as [N, K] (torch.nn.Linear's own): the peer's best counts.
    def wt(k, n, scale=1.0):
        return r(n, k, scale=scale).t()

    for sfx, w_ in (("", r), ("_wt", wt)):
        for m, k, n in [(16, 1024, 4096), (2, 4096, 4096), (16, 4096, 4096), (2, 4096, 6144), (16, 4096, 6144)]:
            w[f"rmsnorm_linear_m{m}_k{k}_n{n}{sfx}"] = (
                lambda m=m, k=k, n=n, w_=w_: [r(m, k), r(k), w_(k, n, scale=k ** -0.5)],
                lambda x, g, W: (F.rms_norm(x, (x.shape[-1],), g, 1e-6)) @ W, None)
        for m in (1, 8, 16):
            w[f"gated_mlp_m{m}{sfx}"] = (
                lambda m=m, w_=w_: [r(m, 4096), w_(4096, 4096, scale=1 / 64), w_(4096, 4096, scale=1 / 64)],
                lambda x, a, b: F.silu(x @ a) * (x @ b), None)
        for k in (256, 4096):
            w[f"lora_m16_k{k}{sfx}"] = (
                lambda k=k, w_=w_: [r(16, k), w_(k, 4096, scale=k ** -.5), w_(k, 16, scale=k ** -.5), w_(16, 4096, scale=.25)],
                lambda x, W, A, B: x @ W + (x @ A) @ B, None)

    def attn(q, k, v):
        return torch.softmax((q @ k) * q.shape[-1] ** -0.5, -1) @ v

    # K is kept as [n, d] in memory and handed over as a [d, n] view: the layout every attention library wants.
    def rk(b, d, n, scale):
        return r(b, n, d, scale=scale).transpose(-1, -2)

    def sdpa(q, k, v):
        return F.scaled_dot_product_attention(q[None], k.transpose(-1, -2)[None], v[None])[0]

    def cudnn(q, k, v):
        with sdpa_kernel(SDPBackend.CUDNN_ATTENTION):
            return sdpa(q, k, v)

    def flash(q, k, v):
        with sdpa_kernel(SDPBackend.FLASH_ATTENTION):
            return sdpa(q, k, v)

    def rms_k(k):  # over d, which is the last dimension in memory
        return rms(k.transpose(-1, -2)).transpose(-1, -2)

    def qknorm(q, k, v):
        return attn(rms(q), rms_k(k), v)

    def qknorm_sdpa(q, k, v):
        return sdpa(rms(q), rms_k(k), v)

    def qknorm_cudnn(q, k, v):
        return cudnn(rms(q), rms_k(k), v)

    def qknorm_flash(q, k, v):
        return flash(rms(q), rms_k(k), v)

    sdpa.cudnn, qknorm_sdpa.cudnn = cudnn, qknorm_cudnn
    sdpa.flash, qknorm_sdpa.flash = flash, qknorm_flash

    for bs in (1, 8):
        mk = lambda bs=bs: [r(2 * bs, 256, 64, scale=.2), rk(2 * bs, 64, 4096, scale=.2), r(2 * bs, 4096, 64)]
        w[f"gqa_bs{bs}"] = (mk, attn, sdpa)
        w[f"qknorm_bs{bs}"] = (mk, qknorm, qknorm_sdpa)
        # LLaMA-3-70B decode, 1 of 4 GPUs: 2 KV heads, 8 query heads each, one new token
        mk2 = lambda bs=bs: [r(2 * bs, 8, 128, scale=.2), rk(2 * bs, 128, 4096, scale=.2), r(2 * bs, 4096, 128)]
        w[f"gqa_decode_bs{bs}"] = (mk2, attn, sdpa)
    for m in (8, 64):
        w[f"ntrans_m{m}"] = (
            lambda m=m: [r(m, 4096), r(m, 4096), r(m, 4096)],
            lambda x, h, a: rms(x + a * (rms(h) - x)), None)
    G = [(1, 512, 256, 64, 64), (1, 512, 256, 64, 128), (1, 512, 256, 64, 256), (1, 512, 512, 256, 256),
         (1, 512, 512, 512, 256), (1, 512, 512, 1024, 256), (1, 512, 512, 128, 128), (1, 1024, 512, 128, 128),
         (1, 2048, 512, 128, 128), (1, 1024, 1024, 128, 128), (4, 1024, 1024, 128, 128), (8, 1024, 1024, 128, 128)]
    for i, (b, M, N, K, H) in enumerate(G, 1):
        w[f"gemm_chain_g{i}"] = (
            lambda b=b, M=M, N=N, K=K, H=H: [r(b, M, K), r(b, K, N, scale=K ** -.5), r(b, N, H, scale=N ** -.5)],
            lambda a, b_, d: (a @ b_) @ d, None)
    S = [(8, 512, 512, 64, 64), (12, 512, 512, 64, 64), (16, 512, 512, 64, 64), (12, 256, 256, 64, 64),
         (16, 256, 256, 64, 64), (16, 256, 256, 80, 80), (1, 512, 256, 64, 64), (1, 768, 384, 64, 64), (1, 1024, 512, 64, 64)]
    for i, (b, M, N, K, H) in enumerate(S, 1):
        w[f"attention_s{i}"] = (
            lambda b=b, M=M, N=N, K=K, H=H: [r(b, M, K, scale=.3), rk(b, K, N, scale=.3), r(b, N, H)],
            attn, sdpa)
    return w


def dim_of(f):
    """An operator over one dimension, which it keeps."""
    return lambda x, dim: f(x, dim, keepdim=True)


def norm(x, g=None, eps=0.0, dim=-1):
    if dim in (-1, x.dim() - 1):
        return F.rms_norm(x, x.shape[-1:], g, eps)
    y = x * torch.rsqrt((x * x).mean(dim, keepdim=True) + eps)
    return y if g is None else y * g


def rope(x, c, s):
    """Rotary embedding by halves."""
    low, high = x.chunk(2, -1)
    return x * c + torch.cat([-high, low], -1) * s


def causal(s):
    """Scores [.., queries, keys] under the causal mask, the last query's key being the last."""
    return s + torch.full(s.shape[-2:], -32768.0, dtype=s.dtype, device=s.device).triu(1 + s.shape[-1] - s.shape[-2])


OPS = {"add": torch.add, "sub": torch.sub, "mul": torch.mul, "div": torch.div, "exp": torch.exp, "sqr": torch.square, "sqrt": torch.sqrt, "log": torch.log,
       "neg": torch.neg, "silu": F.silu, "gelu": F.gelu, "relu": F.relu, "scale": torch.mul, "add_scalar": torch.add, "matmul": torch.matmul,
       "sum": dim_of(torch.sum), "mean": dim_of(torch.mean), "max": dim_of(torch.amax), "softmax": torch.softmax, "rms_norm": norm,
       "repeat": lambda x, dim, n: torch.cat([x] * n, dim), "concat": lambda a, b, dim: torch.cat([a, b], dim),
       "tanh": torch.tanh, "sigmoid": torch.sigmoid, "rsqrt": torch.rsqrt, "abs": torch.abs, "maximum": torch.maximum, "minimum": torch.minimum,
       "clamp_min": torch.clamp_min, "clamp_max": torch.clamp_max, "clamp": torch.clamp, "min": dim_of(torch.amin),
       "slice": lambda x, dim, n, start=0: x.narrow(dim, start, n), "rope": rope, "causal": causal,
       "cast": lambda x, t: x.to(t), "to_f16": lambda x: x.half(), "to_bf16": lambda x: x.bfloat16(), "to_f32": lambda x: x.float(),
       "where": lambda c, a, b: torch.where(c != 0, a, b), "keep": lambda c, a: torch.where(c != 0, a, torch.zeros_like(a)),
       "drop": lambda c, a: torch.where(c != 0, torch.zeros_like(a), a),
       "reshape": torch.reshape, "transpose": torch.permute, "concat_matmul": lambda w, x, y, z: w @ y + x @ z}
TYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32}


def read(path):
    """Of FILE's text, whose lines are Python's: its inputs (name, type, dimensions, order or ""), the names of its outputs, and
    function(matmul), which gives the program as a function of its inputs."""
    with open(path) as f:
        text = re.sub(r"#.*", "", f.read()).replace("from=", "start=")  # from is a word of Python's
    inputs = [(n, TYPES[t], [int(v) for v in d.split(",")], o and [int(v) for v in o.split(",")]) for n, t, d, o in
              re.findall(r"^\s*input\s+(\w+)\s*:\s*(\w+)\s*\[([\d, ]+)\]\s*(?:@\s*\[([\d, ]+)\])?", text, re.M)]
    lines = ["%s = %s" % m for m in re.findall(r"^\s*(\w+)\s*=\s*(.+)$", text, re.M)]
    outputs = [o.strip() for line in re.findall(r"^\s*output\s+(.+)$", text, re.M) for o in line.split(",")]
    source = "def value(%s):\n  %s\n  return %s\n" % (", ".join(i[0] for i in inputs), "\n  ".join(lines), ", ".join(outputs))

    def function(matmul):
        scope = {**OPS, **TYPES, "matmul": matmul}
        exec(compile(source, path, "exec"), scope)
        return scope["value"]
    return inputs, outputs, function


def from_text(path):
    """{name: (inputs, function, None)} of FILE's text; a second time, as name_wt, where matrices that products take on their
    right are inputs: then these are stored as [N, K]."""
    inputs, _, function = read(path)
    right = set()
    given = [torch.empty(d, dtype=t, device="meta") for _, t, d, _ in inputs]
    function(lambda a, b: (right.add(id(b)), a @ b)[1])(*given)
    weight = [id(g) in right and g.dim() == 2 for g in given]

    def made(swap):
        out = []
        for (_, t, d, order), w in zip(inputs, weight):
            order = order or list(range(len(d)))
            order = order[::-1] if w and swap else order
            x = torch.randn([d[i] for i in order], device=dev, dtype=t) * (d[0] ** -0.5 if w else 0.3)
            out.append(x.permute([order.index(i) for i in range(len(d))]))
        return out
    name, value = os.path.basename(path)[:-len(".mg")], function(torch.matmul)
    return {name + sfx: (lambda swap=swap: made(swap), value, None) for sfx, swap in (("", 0), ("_wt", 1)) if any(weight) or not swap}


def timed(fn, sets):
    """us per call, graph replay over the given buffer sets."""
    s = torch.cuda.Stream()
    with torch.cuda.stream(s):
        for a in sets[:2]:
            for _ in range(3):
                fn(*a)
    torch.cuda.synchronize()
    g = torch.cuda.CUDAGraph()
    n = max(CALLS, len(sets))
    with torch.cuda.graph(g):
        for i in range(n):
            fn(*sets[i % len(sets)])
    for _ in range(3):
        g.replay()
    torch.cuda.synchronize()
    ts = []
    for _ in range(REPS):
        a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        a.record(); g.replay(); b.record(); torch.cuda.synchronize()
        ts.append(a.elapsed_time(b) * 1e3 / n)
    ts.sort()
    return ts[len(ts) // 2]


def ceilings():
    out = {}
    a = torch.empty(1 << 32, dtype=torch.uint8, device=dev); b = torch.empty_like(a)
    def t(f, n=5):
        f(); torch.cuda.synchronize(); x, y = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        x.record(); [f() for _ in range(n)]; y.record(); torch.cuda.synchronize(); return x.elapsed_time(y) / n * 1e-3
    out["copy_TBps"] = 2 * a.numel() / t(lambda: b.copy_(a)) / 1e12
    f = a.view(torch.float16)
    f.normal_()
    out["read_sum_TBps"] = a.numel() / t(lambda: f.view(torch.int32).max()) / 1e12
    del a, b, f
    A, B = r(8192, 8192), r(8192, 8192)
    out["fp16_matmul_TFLOPs"] = 2 * 8192 ** 3 / t(lambda: A @ B) / 1e12
    x = r(16)
    out["graph_node_us"] = timed(lambda v: v.add_(1), [[x]])
    out["sms"] = torch.cuda.get_device_properties(0).multi_processor_count
    out["l2"] = torch.cuda.get_device_properties(0).L2_cache_size
    return out


def functions(fn, alt, modes):
    """The modes' callables; torch.compile has not compiled yet."""
    fns = {}
    for m in modes:
        if m == "eager":
            fns[m] = fn
        if m == "sdpa" and alt:
            fns[m] = alt
        if m in ("cudnn", "flash") and alt:
            fns[m] = getattr(alt, m)
        if m == "compile":
            fns[m] = torch.compile(fn, dynamic=False)
            if alt:
                fns["compile_flash"] = torch.compile(alt.flash, dynamic=False)
                fns["compile_cudnn"] = torch.compile(alt.cudnn, dynamic=False)
        if m == "autotune":
            fns[m] = torch.compile(fn, dynamic=False, mode="max-autotune-no-cudagraphs")
            if alt:
                fns["autotune_sdpa"] = torch.compile(alt, dynamic=False, mode="max-autotune-no-cudagraphs")
    return fns


def measured(name, workload, args):
    """A workload's row: {"name", "in_bytes", MODE_hot_us, MODE_cold_us, MODE_build_s, or MODE_err}; medians of args.runs."""
    mk, fn, alt = workload
    base = mk()
    nbytes = sum(t.numel() * t.element_size() for t in base)
    ncold = 1 if args.build else min(512, max(2, math.ceil(4 * L2 / nbytes)))
    sets = [base] + [mk() for _ in range(ncold - 1)]
    row = {"name": name, "in_bytes": nbytes, "ncold": ncold}
    for m, f in functions(fn, alt, args.modes.split(",")).items():
        try:
            t0 = time.time()
            torch._dynamo.reset()
            f(*base); torch.cuda.synchronize()
            row[m + "_build_s"] = round(time.time() - t0, 1)
            if not args.build:
                median = lambda v: round(sorted(v)[len(v) // 2], 2)
                row[m + "_hot_us"] = median([timed(f, [base]) for _ in range(args.runs)])
                row[m + "_cold_us"] = median([timed(f, sets) for _ in range(args.runs)])
        except Exception as e:  # noqa
            row[m + "_err"] = str(e)[:200]
    del sets, base
    torch.cuda.empty_cache()
    return row


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("files", nargs="*")
    ap.add_argument("--only", default=".")
    ap.add_argument("--modes", default="eager,cudnn,flash,compile")
    ap.add_argument("--runs", type=int, default=1)
    ap.add_argument("--out", default="")
    ap.add_argument("--build", action="store_true")
    ap.add_argument("--serve", action="store_true")
    args = ap.parse_args()
    out = open(args.out, "a") if args.out else None

    def emit(d):
        line = json.dumps(d); print(line, flush=True)
        if out:
            out.write(line + "\n"); out.flush()

    if not args.build:
        emit({"ceilings": ceilings()})
    all_ = workloads()
    for path in args.files:
        for name, workload in from_text(path).items():
            all_.setdefault(name, workload)
    names = (line.strip() for line in sys.stdin) if args.serve else [n for n in all_ if re.search(args.only, n)]
    for name in names:
        emit(measured(name, all_[name], args) if name in all_ else {"name": name, "err": "no such workload"})


if __name__ == "__main__":
    with torch.no_grad():
        main()
