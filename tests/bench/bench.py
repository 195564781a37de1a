"""Emitted kernels next to their peers and to the floor in one run on one GPU.

usage: bench.py [FILE.mg ..] [--programs REGEX] [--modes eager,cudnn,flash,compile,autotune] [--top K] [--runs N] [--budget S]
                [--time-limit S] [--ops N] [--out DIR] [--name STEM] [--mirage PATH] [--work DIR] [--prepare]

Programs are those of examples/programs that REGEX matches, or FILEs, whose peers are their text in PyTorch.

First, with the GPU idle as far as anyone's choice depends on it: every program is searched, its best K candidates are
compiled, and peers.py --build compiles the peers into Triton's cache, all in parallel.  Then, one after the other: the
machine's ceilings and load-only floors; and for each program link 3 and the time of its candidates, the winner again
(--runs), then the peers, whose autotuning chooses anew on the idle GPU.  Links 1 and 2 of the winner run beside.

With --prepare only the first part is done, its results left in --work DIR; with --work DIR of such a run only the second.

Writes STEM.json and STEM.txt after every program, so that a run which is cut keeps its rows.  Past --budget seconds no
further program is begun; those left out are listed.  Needs nvcc, PyTorch and a GPU.  Figures are microseconds a call in
a replayed CUDA graph, median of 15 replays; hot: one set of buffers; cold: rotating sets that exceed four times the L2
cache, at most 512.  A peer's best counts, over all modes, weights stored as [K, N] or as [N, K].  pdl: with programmatic dependent
launch between the calls, which no peer has, of the candidate that is fastest so.  floor: a kernel that only loads the bytes of the inputs, cold.
"""
import argparse, concurrent.futures, ctypes, datetime, glob, importlib.util, json, math, os, re, select, subprocess, sys, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DEFAULT = r"^(rmsnorm_linear|gated_mlp|lora_m16|gqa|qknorm|ntrans)"
STARTED = time.time()


def say(*words):
    print("[%5.1f s]" % (time.time() - STARTED), *words, file=sys.stderr, flush=True)


def run(args, env=None, timeout=None):
    """stdout, stderr, status; never raises on a failing command."""
    try:
        p = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env, timeout=timeout)
        return p.stdout, p.stderr, p.returncode
    except (OSError, subprocess.TimeoutExpired) as e:
        return "", str(e)[:200], 4


def program_bytes(path):
    """Bytes of the inputs of a program (2 an element for f16 and bf16, 4 for f32)."""
    total = 0
    for m in re.finditer(r"^input\s+\w+\s*:\s*(\w+)\s*\[([\d, ]+)\]", open(path).read(), re.M):
        total += math.prod(int(x) for x in m.group(2).split(",")) * (4 if m.group(1) == "f32" else 2)
    return total


def search(a, path, tmp):
    """(row, candidate files): the best `top` µGraphs of a program by the model."""
    name = os.path.basename(path)[:-3]
    row = {"program": name, "in_bytes": program_bytes(path)}
    stats, out = os.path.join(tmp, name + ".json"), os.path.join(tmp, name)
    _, err, rc = run([a.mirage, "search", path, "--no-measure", "--time-limit", str(a.time_limit), "--top", str(min(96, 4 * a.top)), "--max-block-ops", str(a.ops), "--threads", str(max(2, (os.cpu_count() or 2) // 2)), "--stats", stats, "-o", out])
    if rc:
        return {**row, "error": "search: " + err.strip()[:200]}, []
    with open(stats) as f:
        st = json.load(f)
    row["search_s"], row["search_complete"] = st["seconds"], st["complete"]
    text, _, rc = run([a.mirage, "print", path])  # the program itself: library kernels, cuBLAS for its matmuls
    if not rc:
        with open(os.path.join(out, "program.mg"), "w") as f:
            f.write(text)
    return row, ([] if rc else [os.path.join(out, "program.mg")]) + unlike(sorted(glob.glob(os.path.join(out, "[0-9][0-9].mg"))), a.top)


def unlike(files, most, alike=2):
    """The first `most` of ranked candidates, at most `alike` of the same grids, loops and plans: they take the same time."""
    seen, kept = {}, []
    for path in files:
        with open(path) as f:
            shape = tuple(re.findall(r"grid=\([^)]*\)|=\d+ \{|plan \{[^}]*\}", re.sub(r"(?m)^#.*$", "", f.read())))
        seen[shape] = seen.get(shape, 0) + 1
        if seen[shape] <= alike and len(kept) < most:
            kept.append(path)
    return kept


def timed(a, files, tmp):
    """Link 3 and the times of several µGraphs of one program, against the values of the first: a dict each, or {"error"}."""
    stats = os.path.join(tmp, "run.json")
    files = files if len(files) > 1 else files * 2
    if os.path.exists(stats):
        os.unlink(stats)
    _, err, rc = run([a.mirage, "run", *files, "--cold", "--stats", stats], timeout=120)
    if not os.path.exists(stats):
        return [{"error": err.strip()[-200:] or "status %d" % rc}] * len(files)
    with open(stats) as f:
        return [d if "error" in d else {"ours_us_hot": d["us_hot"], "ours_us_cold": d["us_cold"], "ours_pdl_us_hot": d["us_pdl_hot"],
                                        "ours_pdl_us_cold": d["us_pdl_cold"], "relative_error": d["relative_error"]} for d in json.load(f)]


def candidates(a, files, tmp):
    rows = []
    for path, times in zip(files, timed(a, files, tmp)):
        with open(path) as f:
            text = f.read()
        m = re.search(r"# predicted: (\S+) us", text)
        rows.append({"file": os.path.basename(path), "predicted_us": float(m.group(1)) if m else None, "kernels": len(re.findall(r"^[^#\s].* = ", text, re.M)),
                     "plan": re.findall(r"plan \{ (.*) \}", text), "grid": re.findall(r"grid=\(([^)]*)\)", text),
                     "overflows": "# note: nothing is seen to bound" in text, **times})
    return rows


def median(values):
    v = sorted(x for x in values if x is not None)
    return round(v[len(v) // 2], 3) if v else None


def links(a, program, best):
    """Links 1 and 2 of the winner."""
    out, err, _ = run([a.mirage, "verify", program, best], timeout=240)
    d = {"verdict": out.split("\n", 1)[0].replace("# verdict:", "").strip() or "none: " + err.strip()[-100:]}
    m = re.search(r"# delta: (.*)", out)
    d["delta"] = m.group(1).split(",")[0] if m else None
    out, err, rc = run([a.mirage, "check", best], timeout=240)
    d["link2"] = "SAME" if not rc else (err.strip() or out.strip())[-160:]
    return d


def correlation(rows):
    """Rank correlation (Spearman) of predicted and measured cold times over all candidates measured, ties at their mean rank."""
    pairs = [(c["predicted_us"], c["ours_us_cold"]) for r in rows for c in r.get("candidates", []) if c.get("ours_us_cold") and c.get("predicted_us")]
    if len(pairs) < 3:
        return None

    def rank(v):
        at = {x: [] for x in v}
        for k, x in enumerate(sorted(v)):
            at[x].append(k)
        return [sum(at[x]) / len(at[x]) for x in v]
    x, y = rank([p[0] for p in pairs]), rank([p[1] for p in pairs])
    mx, my = sum(x) / len(x), sum(y) / len(y)
    spread = lambda v, m: sum((t - m) ** 2 for t in v) or 1
    return {"candidates": len(pairs), "spearman": round(sum((s - mx) * (t - my) for s, t in zip(x, y)) / math.sqrt(spread(x, mx) * spread(y, my)), 3)}


class Peers:
    """peers.py, compiling in several processes, then serving one program after the other."""
    def __init__(self, a, names, paths, tmp):
        self.a, self.names, self.paths, self.tmp, self.ceilings, self.child = a, names, paths, tmp, {}, None
        self.env = {**os.environ, "TRITON_CACHE_DIR": os.path.join(tmp, "triton")}

    def command(self, *more):
        return [sys.executable, os.path.join(HERE, "peers.py"), *self.paths, "--modes", self.a.modes, *more]

    def build(self, workers):
        """Fills Triton's cache.  Choices made here, on a busy GPU, go with the inductor cache of their own."""
        def one(k):
            mine = self.names[k::workers]
            env = {**self.env, "TORCHINDUCTOR_CACHE_DIR": os.path.join(self.tmp, "build-%d" % k), "TORCHINDUCTOR_COMPILE_THREADS": "2"}
            out, err, rc = run(self.command("--build", "--only", "^(%s)(_wt)?$" % "|".join(mine)), env, timeout=self.a.budget * 0.6)
            return rc and "peers --build: " + err[-200:]
        workers = max(1, min(workers, len(self.names)))
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for failed in pool.map(one, range(workers)):
                if failed:
                    say(failed)

    def serve(self):
        env = {**self.env, "TORCHINDUCTOR_CACHE_DIR": os.path.join(self.tmp, "timed")}
        self.child = subprocess.Popen(self.command("--serve", "--runs", str(self.a.runs)), env=env, text=True, bufsize=1,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(os.path.join(self.tmp, "peers.err"), "w"))
        try:
            self.ceilings = self.answer().get("ceilings", {})
        except (OSError, ValueError):
            say("peers.py failed:", open(os.path.join(self.tmp, "peers.err")).read()[-300:])

    def answer(self, seconds=150):
        """The next line that the child says; one that says nothing for so long is ended."""
        if not select.select([self.child.stdout], [], [], seconds)[0]:
            self.child.kill()
        return json.loads(self.child.stdout.readline())

    def ask(self, name):
        """Best peer of a program, hot and cold, and all of them."""
        found = {}
        for full in (name, name + "_wt"):
            try:
                self.child.stdin.write(full + "\n")
                d = self.answer()
            except (OSError, ValueError):
                return {"peers_error": open(os.path.join(self.tmp, "peers.err")).read()[-200:]}
            for k, v in d.items():
                m = re.match(r"(\w+)_(hot|cold)_us$", k)
                if m:
                    found.setdefault(m.group(1) + (", weights [N, K]" if full != name else ""), {})[m.group(2)] = v
        if not found:
            return {}
        hot, cold = (min(found, key=lambda m: found[m].get(t, 1e30)) for t in ("hot", "cold"))
        return {"best_peer": cold, "best_peer_us_hot": found[hot]["hot"], "best_peer_us_cold": found[cold]["cold"], "best_peer_hot": hot, "peers": found}


def table(head, rows):
    num = lambda v, f="%.2f": "-" if v is None else f % v
    out = ["# %s: %s" % (k, json.dumps(v) if isinstance(v, (dict, list)) else v) for k, v in head.items()]
    out.append("%-31s %7s %7s %7s %7s %7s %7s %6s %6s %6s %8s %2s %-6s %s" % (
        "program", "hot", "cold", "pdl hot", "cold", "peer h", "cold", "x hot", "x cold", "floor", "error", "k", "link 1", "best peer, cold"))
    for r in rows:
        if "error" in r:
            out.append("%-31s %s" % (r["program"], r["error"]))
            continue
        h, c, ph, pc = r["ours_us_hot"], r["ours_us_cold"], r.get("best_peer_us_hot"), r.get("best_peer_us_cold")
        out.append("%-31s %7.2f %7.2f %7s %7s %7s %7s %6s %6s %6s %8.1e %2d %-6s %s" % (
            r["program"], h, c, num(r.get("ours_pdl_us_hot")), num(r.get("ours_pdl_us_cold")), num(ph), num(pc), num(ph and ph / h), num(pc and pc / c),
            num(r.get("floor_us")), r["relative_error"], r["kernels"], r.get("verdict", "...")[:6], r.get("best_peer", "-")))
    ratio = [r["best_peer_us_cold"] / r["ours_us_cold"] for r in rows if r.get("best_peer_us_cold") and r.get("ours_us_cold")]
    if ratio:
        out.append("# cold, %d programs: geometric mean %.3f, least %.3f" % (len(ratio), math.exp(sum(map(math.log, ratio)) / len(ratio)), min(ratio)))
    return "\n".join(out) + "\n"


def gpu_here():
    try:
        return ctypes.CDLL("libcuda.so.1").cuInit(0) == 0
    except OSError:
        return False


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="*", metavar="FILE.mg")
    ap.add_argument("--programs", "--only", default=DEFAULT)
    ap.add_argument("--modes", default="eager,cudnn,flash,compile,autotune")
    ap.add_argument("--top", default=12, type=int, help="candidates measured a program, of the four times as many that the search ranks first")
    ap.add_argument("--runs", default=5, type=int, help="runs of the winner and of every peer, of which the median counts")
    ap.add_argument("--budget", default=540, type=float, help="seconds")
    ap.add_argument("--time-limit", default=60, type=float, help="of a search, seconds")
    ap.add_argument("--ops", default=12, type=int, help="operators in a block")
    ap.add_argument("--out", default=os.path.join(HERE, "results"))
    ap.add_argument("--name", default="bench-" + datetime.date.today().isoformat())
    ap.add_argument("--mirage", default=os.path.join(ROOT, "build", "mirage"))
    ap.add_argument("--work", help="directory of what is searched and compiled")
    ap.add_argument("--prepare", action="store_true")
    a = ap.parse_args()
    if a.prepare and not a.work:
        ap.error("--prepare needs --work DIR")
    missing = ["PyTorch"] * (importlib.util.find_spec("torch") is None) + ["a GPU and its driver"] * (not gpu_here())
    if missing:
        print("bench.py: needs " + ", ".join(missing), file=sys.stderr)
        return 4
    os.makedirs(a.out, exist_ok=True)
    tmp = os.path.abspath(a.work) if a.work else tempfile.mkdtemp(prefix="mirage-bench-")
    os.makedirs(tmp, exist_ok=True)
    prepared = os.path.join(tmp, "prepared.json")
    paths = a.files or [p for p in sorted(glob.glob(os.path.join(ROOT, "examples", "programs", "*.mg"))) if re.search(a.programs, os.path.basename(p)[:-3])]
    names = [os.path.basename(p)[:-3] for p in paths]
    if not paths:
        print("bench.py: no program in examples/programs matches " + a.programs, file=sys.stderr)
        return 3
    cores = os.cpu_count() or 2
    peers = Peers(a, names, paths, tmp)

    def last(cmd):
        out, _, rc = run(cmd)
        return out.strip().split("\n")[-1] if not rc else None
    floor = os.path.join(tmp, "floor")
    if os.path.exists(prepared):
        with open(prepared) as f:
            kept = json.load(f)
        found = [kept[n] for n in names if n in kept]
        paths = [p for p, n in zip(paths, names) if n in kept]
    else:
        with concurrent.futures.ThreadPoolExecutor(2) as side:
            built = side.submit(run, ["nvcc", "-O3", "-std=c++17", "-arch=native", os.path.join(HERE, "floor.cu"), "-o", floor])
            building = side.submit(peers.build, max(1, cores // 2)) if a.modes else None
            with concurrent.futures.ThreadPoolExecutor(max(1, cores // 2)) as pool:
                found = list(pool.map(lambda p: search(a, p, tmp), paths))
            say("searched")
            with concurrent.futures.ThreadPoolExecutor(max(1, cores - 1)) as pool:
                list(pool.map(lambda fs: run([a.mirage, "run", *fs, *fs[:1], "--no-time"], timeout=a.budget * 0.6), [fs for _, fs in found if fs]))
            say("candidates compiled")
            with open(prepared, "w") as f:
                json.dump(dict(zip(names, found)), f)
            if built.result()[2]:
                say("floor.cu:", built.result()[1][-200:])
            if building:
                building.result()
                say("peers compiled")
    if a.prepare:
        return 0
    with concurrent.futures.ThreadPoolExecutor(max(1, cores // 2)) as side:
        if a.modes:
            peers.serve()
        out, err, rc = run([floor] + [str(b) for b in sorted({r["in_bytes"] for r, _ in found})], timeout=120)
        floors = json.loads(out) if not rc else say("floor:", err) or {}
        say("ceilings and floors measured")
        head = {"date": datetime.date.today().isoformat(), "runs": a.runs,
                "command": "tests/bench/bench.py %s --modes %s --top %d --runs %d" % (" ".join(a.files) or "--programs '%s'" % a.programs, a.modes, a.top, a.runs),
                "gpu": last(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]), "nvcc": last(["nvcc", "--version"]),
                "torch": last([sys.executable, "-c", "import torch; print(torch.__version__)"]),
                "triton": last([sys.executable, "-c", "import triton; print(triton.__version__)"]), "ceilings": peers.ceilings}
        rows, open_, left_out = [], [], []

        def write():
            for r, job in list(open_):
                if job.done():
                    r.update(job.result())
                    open_.remove((r, job))
                    if r["verdict"] != "EQUAL":
                        r["error"] = "link 1: " + r["verdict"]
                    elif r["link2"] != "SAME":
                        r["error"] = "link 2: " + r["link2"]
            h = {**head, "prediction": correlation(rows), "seconds": round(time.time() - STARTED, 1)}
            if left_out:
                h["not_run"] = left_out
            for suffix, text in ((".json", json.dumps({**h, "rows": rows}, indent=1)), (".txt", table(h, rows))):
                with open(os.path.join(a.out, a.name + suffix + ".part"), "w") as f:
                    f.write(text)
                os.replace(os.path.join(a.out, a.name + suffix + ".part"), os.path.join(a.out, a.name + suffix))
            return table(h, rows)
        for path, (row, files) in zip(paths, found):
            if time.time() - STARTED > a.budget:
                left_out.append(row["program"])
                continue
            begun = time.time()
            rows.append(row)
            if str(row["in_bytes"]) in floors:
                row["floor_us_hot"], row["floor_us"] = floors[str(row["in_bytes"])]
            if files:
                row["candidates"] = candidates(a, files, tmp)
                good = [c for c in row["candidates"] if "error" not in c]
                if good:
                    # one that overflows at large arguments (and the program, operator by operator, where there is one) wins over none that does not
                    risky = any(c["overflows"] for c in good)
                    safe = [c for c in good if not (risky and (c["overflows"] or c["file"] == "program.mg"))]
                    best = min(safe or good, key=lambda c: c["ours_us_cold"])
                    with_pdl = min(safe or good, key=lambda c: c["ours_pdl_us_cold"] or 1e30)  # whoever lets calls overlap picks by that
                    row.update(best)
                    row["pdl_file"] = with_pdl["file"]
                    for c, keys in ((best, ("ours_us_hot", "ours_us_cold")), (with_pdl, ("ours_pdl_us_hot", "ours_pdl_us_cold"))):
                        mg = os.path.join(os.path.dirname(files[0]), c["file"])
                        if c is best or with_pdl is not best:
                            again = [c] + (timed(a, [mg] * (a.runs - 1), tmp) if a.runs > 1 else [])
                            open_.append((row, side.submit(links, a, path, mg)))
                        for k in keys:
                            row[k] = median([r.get(k) for r in again])
                        row[keys[1] + "_all"] = [r.get(keys[1]) for r in again]
                        row["relative_error"] = max([r.get("relative_error", 0) for r in again] + [row["relative_error"]])
                        failed = [r["error"] for r in again if "error" in r]
                        if failed:
                            row["error"] = failed[0]
                else:
                    row["error"] = row["candidates"][0]["error"]
            row["seconds"] = [round(time.time() - begun, 1)]
            if peers.child:
                row.update(peers.ask(row["program"]))
            row["seconds"].append(round(time.time() - begun, 1))
            say(row["program"], row.get("ours_us_cold"), row.get("best_peer_us_cold"), row.get("error", ""))
            write()
        while open_:
            open_[0][1].result()
            write()
    if peers.child and peers.child.poll() is None:
        peers.child.stdin.close()
        peers.child.wait()
    print(write())
    return 1 if any("error" in r for r in rows) or left_out else 0


if __name__ == "__main__":
    sys.exit(main())
