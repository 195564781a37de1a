"""Emitted kernels next to the peers' in one run on one GPU: search, links 1 to 3 and the time of every program, then
peers.py on the same programs.  Prints a table; writes bench-<date>.json and .txt.

usage: bench.py [--only REGEX] [--modes eager,compile,autotune] [--out DIR] [--time-limit S] [--top K] [--mirage PATH]
Needs nvcc, PyTorch and a GPU.  Figures are microseconds a call in a replayed CUDA graph, median of 15 replays; hot: one
set of buffers; cold: rotating sets that exceed four times the L2 cache.  A peer's best counts, weights stored as
[K, N] or as [N, K].
"""
import argparse, concurrent.futures, datetime, glob, json, math, os, re, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DEFAULT = r"^(rmsnorm_linear|gated_mlp|lora_m16)"


def ours(mirage, path, tmp, limit, top):
    """The row of one program: search; links 2 and 3 and the times of the best few; the fastest, cold, is the result."""
    name = os.path.basename(path)[:-3]
    row = {"program": name}
    stats = os.path.join(tmp, name + ".json")
    out = os.path.join(tmp, name)
    s = subprocess.run([mirage, "search", path, "--time-limit", str(limit), "--top", str(top), "--stats", stats, "-o", out], capture_output=True, text=True)
    if s.returncode:
        return {**row, "error": s.stderr.strip()[:200]}
    with open(stats) as f:
        st = json.load(f)
    row["search_s"], row["search_complete"] = st["seconds"], st["complete"]
    files = sorted(glob.glob(os.path.join(out, "[0-9][0-9].mg")))
    with concurrent.futures.ThreadPoolExecutor(max(1, (os.cpu_count() or 2) - 1)) as pool:  # compiled side by side, timed one by one
        list(pool.map(lambda f: subprocess.run([mirage, "run", f, "--reps", "1"], capture_output=True), files))
    row["candidates"] = [timed(mirage, f) for f in files]
    good = [c for c in row["candidates"] if "ours_us_cold" in c]
    if not good:
        return {**row, "error": row["candidates"][0]["error"]}
    best = min(good, key=lambda c: c["ours_us_cold"])
    row.update(best)
    v = subprocess.run([mirage, "verify", path, os.path.join(out, best["file"])], capture_output=True, text=True)
    row["verdict"] = v.stdout.split("\n", 1)[0].replace("# verdict:", "").strip()
    m = re.search(r"# delta: (.*)", v.stdout)
    row["delta"] = m.group(1).split(",")[0] if m else None
    if not row["verdict"].startswith("EQUAL"):
        row["error"] = "link 1: " + row["verdict"]
    return row


def timed(mirage, path):
    """One candidate: links 2 and 3, then the time."""
    with open(path) as f:
        text = f.read()
    m = re.search(r"# predicted: (\S+) us", text)
    c = {"file": os.path.basename(path), "predicted_us": float(m.group(1)) if m else None, "kernels": len(re.findall(r"= kernel ", text))}
    r = subprocess.run([mirage, "run", path, "--cold"], capture_output=True, text=True)
    if r.returncode:
        return {**c, "error": (r.stderr.strip() or r.stdout.strip())[-200:]}
    for key, pat in (("relative_error", r"link 3: SAME, relative error (\S+)"), ("ours_us_hot", r"hot: (\S+) us"), ("ours_us_cold", r"cold: (\S+) us")):
        m = re.search(pat, r.stdout)
        if m:
            c[key] = float(m.group(1))
    return c


def correlation(rows):
    """Rank correlation (Spearman) of predicted and measured cold times over all candidates measured."""
    pairs = [(c["predicted_us"], c["ours_us_cold"]) for r in rows for c in r.get("candidates", []) if c.get("ours_us_cold") and c.get("predicted_us")]
    if len(pairs) < 3:
        return None
    rank = lambda v: [sorted(v).index(x) for x in v]
    a, b = rank([p[0] for p in pairs]), rank([p[1] for p in pairs])
    ma, mb = sum(a) / len(a), sum(b) / len(b)
    var = lambda v, m: sum((x - m) ** 2 for x in v) or 1
    return {"candidates": len(pairs), "spearman": round(sum((x - ma) * (y - mb) for x, y in zip(a, b)) / math.sqrt(var(a, ma) * var(b, mb)), 3)}


def program_bytes(path):
    """Bytes of the inputs of a program (2 an element for f16 and bf16, 4 for f32)."""
    total = 0
    for m in re.finditer(r"^input\s+\w+\s*:\s*(\w+)\s*\[([\d, ]+)\]", open(path).read(), re.M):
        total += math.prod(int(x) for x in m.group(2).split(",")) * (4 if m.group(1) == "f32" else 2)
    return total


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("--only", default=DEFAULT)
    ap.add_argument("--modes", default="eager,compile")
    ap.add_argument("--out", default=os.path.join(HERE, "results"))
    ap.add_argument("--time-limit", default="20")
    ap.add_argument("--top", default=6, type=int, help="candidates measured a program")
    ap.add_argument("--mirage", default=os.path.join(ROOT, "build", "mirage"))
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    rows, tmp = [], tempfile.mkdtemp(prefix="mirage-bench-")
    for path in sorted(glob.glob(os.path.join(ROOT, "examples", "programs", "*.mg"))):
        if re.search(a.only, os.path.basename(path)[:-3]):
            rows.append({**ours(a.mirage, path, tmp, a.time_limit, a.top), "in_bytes": program_bytes(path)})
            print(json.dumps(rows[-1]), flush=True)
    names = "|".join(r["program"] for r in rows)
    peers = os.path.join(tmp, "peers.jsonl")
    p = subprocess.run([sys.executable, os.path.join(HERE, "peers.py"), "--only", f"^({names})(_wt)?$", "--modes", a.modes, "--out", peers],
                       stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    ceilings, best = {}, {}
    for line in open(peers) if os.path.exists(peers) else []:
        d = json.loads(line)
        ceilings = d.get("ceilings", ceilings)
        if "name" not in d:
            continue
        for k, v in d.items():
            m = re.match(r"(\w+)_(hot|cold)_us$", k)
            if m:
                key = (re.sub("_wt$", "", d["name"]), m.group(2))
                mode = m.group(1) + (", weights [N, K]" if d["name"].endswith("_wt") else "")
                if key not in best or v < best[key][0]:
                    best[key] = (v, mode)
    if p.returncode:
        print("peers.py failed: " + p.stderr[-500:], file=sys.stderr)
    for r in rows:
        for t in ("hot", "cold"):
            if (r["program"], t) in best:
                r["best_peer_us_" + t], r["best_peer_" + t] = best[(r["program"], t)]
        if ceilings:
            r["floor_us"] = round(r["in_bytes"] / ceilings["copy_TBps"] / 1e6, 2)
    lines = ["%-34s %8s %8s %9s %9s %7s %7s %8s %s" % ("program", "hot", "cold", "peer hot", "peer cold", "x hot", "x cold", "error", "best peer, cold")]
    for r in rows:
        if "error" in r:
            lines.append("%-34s %s" % (r["program"], r["error"]))
            continue
        ph, pc = r.get("best_peer_us_hot"), r.get("best_peer_us_cold")
        lines.append("%-34s %8.2f %8.2f %9s %9s %7s %7s %8.1e %s" % (
            r["program"], r["ours_us_hot"], r["ours_us_cold"], ph or "-", pc or "-", "%.2f" % (ph / r["ours_us_hot"]) if ph else "-",
            "%.2f" % (pc / r["ours_us_cold"]) if pc else "-", r["relative_error"], r.get("best_peer_cold", "-")))
    def version(cmd):
        try:
            return subprocess.run(cmd, capture_output=True, text=True).stdout.strip().split("\n")[-1]
        except OSError:
            return None
    head = {"date": datetime.date.today().isoformat(), "command": " ".join(["tests/bench/bench.py"] + sys.argv[1:]),
            "gpu": version(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]), "nvcc": version(["nvcc", "--version"]),
            "torch": version([sys.executable, "-c", "import torch; print(torch.__version__)"]),
            "triton": version([sys.executable, "-c", "import triton; print(triton.__version__)"]), "ceilings": ceilings, "prediction": correlation(rows)}
    text = "\n".join(["# %s: %s" % (k, json.dumps(v) if isinstance(v, dict) else v) for k, v in head.items()] + lines) + "\n"
    stem = os.path.join(a.out, "bench-" + head["date"])
    with open(stem + ".json", "w") as f:
        json.dump({**head, "rows": rows}, f, indent=1)
    with open(stem + ".txt", "w") as f:
        f.write(text)
    print(text)
    return 1 if any("error" in r for r in rows) or p.returncode else 0


sys.exit(main())
