#!/usr/bin/env python3
"""Draws the candidates that the model is fitted to: no GPU is needed.

usage: draw.py [--programs REGEX] [--sizes 44] [--first 16] [--drawn 16] [--within 4] [--tries 160] [--time-limit 12] [--jobs 2]
               [--seed 1] [--out build/fit] [--pack FILE.tar.xz] [--list]

Needs build/mirage and build/candidates.

Programs are those of examples/programs, of tests/bench/programs, and `sizes` more: one of these with other rows (1 to
128) and another width, head or length.  Each is searched by the model.  Its candidates are the first of the ranking,
and as many drawn of what is predicted to take up to `within` times the best: the further results, and forms of them
with other grids, loops, stages and warps, evenly over the logarithm of the prediction.
What the emitter refuses is counted.

OUT/NAME holds program.mg, for each candidate NN.mg and NN.cu, and candidates.json: name, family, seed, counts, and of
each candidate its file, how it was got ("first" or "drawn"), the prediction and the parts that `mirage explain --json`
says.  A program whose candidates.json is there is not drawn again.  Two candidates never have the same code.  --pack
writes all of it to an archive, for fit_measure.py."""
import argparse, concurrent.futures, glob, json, math, os, random, re, shutil, subprocess, sys, tarfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
ROWS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128)
MOST_BYTES = 256 << 20  # of the inputs of a drawn size
FAMILY = [(r"attention_[sd]\d|gqa", "attention"), (r"(mirage_)?lora", "lora"), (r"(mirage_)?qknorm", "qknorm"),
          (r"mirage_rmsnorm|rmsnorm_linear", "rmsnorm_linear"), (r"gated_mlp", "gated_mlp"),
          (r"gemm_chain", "gemm_chain"), (r"ntrans", "ntrans")]


def family(name):
    return next((f for pattern, f in FAMILY if re.match(pattern, name)), re.sub(r"_z\d+$", "", name))


def shapes(text):
    return [[int(d) for d in m.split(",")] for m in re.findall(r"^input\s+\w+\s*:\s*\w+\s*\[([\d, ]+)\]", text, re.M)]


def in_bytes(text):
    return sum(math.prod(s) for s in shapes(text)) * (4 if "f32[" in text else 2)


def resized(text, old, new):
    """The program with every extent `old` of its inputs made `new`."""
    swap = lambda m: m.group(1) + re.sub(r"\b%d\b" % old, str(new), m.group(2))
    return re.sub(r"(?m)^(input\s+\w+\s*:\s*\w+\s*)(\[[\d, ]+\])", swap, text)


def tool(name, *args, timeout=120):
    try:
        path = os.path.join(ROOT, "build", name)
        return subprocess.run([path, *args], capture_output=True, text=True, timeout=timeout)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(args, 4, "", "no end in time")


def sizes(a, base, rng):
    """More sizes of the base programs: every family in turn, name and text each."""
    by_family = {}
    for name, text in base:
        by_family.setdefault(family(name), []).append((name, text))
    bare = lambda text: re.sub(r"(?m)^(#|program ).*\n", "", text)
    made, seen = [], {bare(t) for _, t in base}
    for k in range(40 * a.sizes):
        if len(made) >= a.sizes:
            break
        of = sorted(by_family)[k % len(by_family)]
        name, text = rng.choice(by_family[of])
        first = shapes(text)[0]
        rows = rng.choice(ROWS)
        length = any(s[-1] == first[-2] for s in shapes(text))
        if first[-2] <= 16 or (first[-2] <= 512 and not length):
            text = resized(text, first[-2], rows)
        wide = sorted({d for s in shapes(text) for d in s if d >= 64 and d != rows})
        if wide and rng.random() < 0.7:
            d = rng.choice(wide)
            text = resized(text, d, {64: 128, 128: 64}.get(d) or d * rng.choice((2, 3, 6, 8)) // 4)
        if len(first) == 3 and rng.random() < 0.5:
            text = resized(text, first[0], rng.choice((1, 2, 4, 8, 16, 32)))
        new = "%s_z%d" % (of, sum(n.startswith(of + "_z") for n, _ in made))
        text = re.sub(r"(?m)^#.*\n", "", re.sub(r"(?m)^program .*$", "program " + new, text))
        path = os.path.join(a.out, "size.mg")
        open(path, "w").write(text)
        if bare(text) in seen or in_bytes(text) > MOST_BYTES or tool("mirage", "print", path).returncode:
            continue
        seen.add(bare(text))
        made.append((new, text))
    return made


def explained(a, text, path, program):
    """(text, prediction, parts) of a µGraph of the program, planned where it is not; (None, None, why) where it is refused."""
    open(path, "w").write(text)
    p = tool("candidates", path, program)
    text = p.stdout
    open(path, "w").write(text)
    if p.returncode:
        return None, None, p.stderr.strip()[:120]
    p = tool("mirage", "explain", path, "--machine", a.machine, "--json")
    if p.returncode:
        return None, None, p.stderr.strip()[:120]
    d = json.loads(p.stdout)
    if d["refused"] or d["predicted_us"] >= 1e5:
        return None, None, d["refused"] or "does not fit"
    for part in d["parts"]:
        part.pop("values", None)
    return text, d["predicted_us"], d["parts"]


KERNEL = re.compile(r"(?ms)^(?:[\w, ]+ = )?kernel grid=.*?^\}")


def with_plan(kernel, stages, warps):
    """The kernel's text with so many stages and warps, at most 16."""
    for word, n in zip(("stages", "warps_m", "warps_n", "warps_k"), (stages, *warps)):
        kernel = re.sub(r"\b%s=\d+" % word, "%s=%d" % (word, n), kernel)
    return re.sub(r"threads=\d+", "threads=%d" % (32 * math.prod(warps)), kernel, count=1)


def reformed(text, rng):
    """A form of the µGraph: one of its kernels with another grid or other steps of its loop, another plan, or both."""
    kernels = list(KERNEL.finditer(text))
    if not kernels:
        return None
    at = rng.choice(kernels)
    k = at.group(0)
    counts = list(re.finditer(r"(?<=[xyz]=)\d+|(?<=for \w=)\d+", k))
    if counts and rng.random() < 0.8:
        c = rng.choice(counts)
        n = max(1, int(c.group(0)) * rng.choice((1, 2, 3, 4, 8, 16)) // rng.choice((1, 2, 4)))
        k = k[:c.start()] + str(n) + k[c.end():]
    if rng.random() < 0.4:
        k = re.sub(r" (stages|warps_[mnk]|ring|mma)=\w+", "", k)
        return text[:at.start()] + k + text[at.end():]
    plan = re.search(r"stages=(\d+) warps_m=(\d+) warps_n=(\d+) warps_k=(\d+)", k)
    if plan and rng.random() < 0.7:
        stages, *warps = map(int, plan.groups())
        if rng.random() < 0.5:
            stages = rng.choice((2, 3, 4, 5, 6))
        if rng.random() < 0.7 and "mma=warpgroup" not in k:
            j = rng.randrange(3)
            warps[j] = max(1, warps[j] * rng.choice((1, 2, 4)) // rng.choice((1, 2, 4)))
        if math.prod(warps) > 16:
            return None
        k = with_plan(k, stages, warps)
        if "ring=warp" in k and rng.random() < 0.15:
            k = k.replace(" ring=warp", "")
    return text[:at.start()] + k + text[at.end():]


def code_of(cu):
    """What of an emitted file is compiled."""
    return cu[cu.index("*/"):]


def draw(a, name, text):
    out = os.path.join(a.out, name)
    done = os.path.join(out, "candidates.json")
    if os.path.exists(done):
        return name, None
    shutil.rmtree(out, ignore_errors=True)
    os.makedirs(os.path.join(out, "found"))
    program, scratch = os.path.join(out, "program.mg"), os.path.join(out, "form.mg")
    open(program, "w").write(text)
    p = tool("candidates", program, os.path.join(out, "found"), str(a.time_limit), timeout=10 * a.time_limit + 60)
    rng = random.Random("%d %s" % (a.seed, name))
    ranked, priced, refused = [], {}, 0
    for path in sorted(glob.glob(os.path.join(out, "found", "*.mg"))):
        t = re.sub(r"(?m)^#.*\n", "", open(path).read())
        t, us, parts = explained(a, t, scratch, program)
        refused += t is None
        if t is not None and t not in priced:
            ranked.append(t)
            priced[t] = us, parts
    bases = [t for t in ranked if "kernel grid=" in t]
    best = min((us for us, _ in priced.values()), default=0)
    for _ in range(a.tries if bases else 0):
        t = reformed(rng.choice(bases[:24] if rng.random() < 0.7 else bases), rng)
        if t is None or t in priced:
            continue
        t, us, parts = explained(a, t, scratch, program)
        refused += t is None
        if t is not None and t not in priced:
            priced[t] = us, parts
    kept, codes = [], set()

    def keep(t, how):
        nonlocal refused
        file = "%02d.mg" % len(kept)
        open(os.path.join(out, file), "w").write(t)
        cu = os.path.join(out, file[:-3] + ".cu")
        e = tool("mirage", "emit", os.path.join(out, file), "--arch", "sm_90a", "-o", cu)
        code = code_of(open(cu).read()) if not e.returncode else None
        if e.returncode or code in codes:
            refused += e.returncode != 0
            os.unlink(os.path.join(out, file))
            if os.path.exists(cu):
                os.unlink(cu)
            return 0
        codes.add(code)
        kept.append({"file": file[:-3], "how": how, "predicted_us": priced[t][0], "parts": priced[t][1]})
        return 1
    n = 0
    for t in ranked:
        if n < a.first and priced[t][0] <= a.within * best:
            n += keep(t, "first")
    taken = set(ranked[:len(kept)])
    rest = sorted(t for t in priced if t not in taken and priced[t][0] <= a.within * best)
    bins = [[] for _ in range(max(1, a.drawn))]
    for t in rest:
        bins[min(len(bins) - 1, int(math.log(max(1, priced[t][0] / best)) / math.log(a.within) * len(bins)))].append(t)
    for b in bins:
        rng.shuffle(b)
    n = 0
    while n < a.drawn and any(bins):
        for b in bins:
            if b and n < a.drawn:
                n += keep(b.pop(), "drawn")
    shutil.rmtree(os.path.join(out, "found"))
    if os.path.exists(scratch):
        os.unlink(scratch)
    row = {"program": name, "family": family(name), "seed": a.seed, "priced": len(priced), "refused": refused,
           "search": p.stderr.strip()[-120:] if p.returncode else "", "candidates": kept}
    json.dump(row, open(done + ".new", "w"))
    os.rename(done + ".new", done)
    return name, row


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--programs", default="")
    p.add_argument("--sizes", type=int, default=44)
    p.add_argument("--first", type=int, default=16)
    p.add_argument("--drawn", type=int, default=16)
    p.add_argument("--within", type=float, default=4)
    p.add_argument("--tries", type=int, default=160, help="forms that are priced, of each program")
    p.add_argument("--time-limit", type=float, default=12)
    p.add_argument("--jobs", type=int, default=2)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--machine", default="H200")
    p.add_argument("--out", default=os.path.join(ROOT, "build/fit"))
    p.add_argument("--pack", default="")
    p.add_argument("--list", action="store_true")
    a = p.parse_args()
    os.makedirs(a.out, exist_ok=True)
    folders = [os.path.join(ROOT, d) for d in ("examples/programs", "tests/bench/programs")]
    files = [f for d in folders for f in sorted(glob.glob(os.path.join(d, "*.mg")))]
    base = [(os.path.basename(f)[:-3], open(f).read()) for f in files]
    todo = base + sizes(a, base, random.Random(a.seed))
    todo = [t for t in todo if re.search(a.programs, t[0])]
    if a.list:
        for name, text in todo:
            print("%-36s %-24s %s" % (name, family(name), " ".join(map(str, shapes(text)))))
        return
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        for name, row in pool.map(lambda t: draw(a, *t), todo):
            if row:
                of = name, len(row["candidates"]), row["priced"], row["refused"], row["search"]
                print("%-36s %3d of %d, %d refused %s" % of, flush=True)
    if a.pack:
        with tarfile.open(a.pack, "w:xz") as tar:
            for name, _ in todo:
                tar.add(os.path.join(a.out, name), name)


if __name__ == "__main__":
    sys.exit(main())
