"""Emitted kernels next to the peers' in one run on one GPU: search, links 1 to 3 and the time of every program, then
peers.py on the same programs.  Prints a table; writes bench-<date>.json and .txt.

usage: bench.py [--only REGEX] [--modes eager,compile,autotune] [--out DIR] [--time-limit S] [--mirage PATH]
Needs nvcc, PyTorch and a GPU.  Figures are microseconds a call in a replayed CUDA graph, median of 15 replays; hot: one
set of buffers; cold: rotating sets that exceed four times the L2 cache.  A peer's best counts, weights stored as
[K, N] or as [N, K].
"""
import argparse, datetime, glob, json, math, os, re, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
DEFAULT = r"^(rmsnorm_linear|gated_mlp|lora_m16)"


def ours(mirage, path, tmp, limit):
    """The row of one program: search, then run with cold timing."""
    name = os.path.basename(path)[:-3]
    row = {"program": name}
    stats = os.path.join(tmp, name + ".json")
    s = subprocess.run([mirage, "search", path, "--time-limit", str(limit), "--stats", stats, "-o", os.path.join(tmp, name)],
                       capture_output=True, text=True)
    if s.returncode:
        return {**row, "error": s.stderr.strip()[:200]}
    best = os.path.join(tmp, name + ".mg")
    with open(best, "w") as f:
        f.write(s.stdout)
    row["verdict"] = s.stdout.split("\n", 1)[0].replace("# verdict:", "").strip()
    m = re.search(r"# delta: (.*)", s.stdout)
    row["delta"] = m.group(1).split(",")[0] if m else None
    with open(stats) as f:
        st = json.load(f)
    row["search_s"], row["predicted_us"] = st["seconds"], st["best"]["predicted_us"]
    row["kernels"] = len(re.findall(r"^\S.* = ", s.stdout, re.M))
    r = subprocess.run([mirage, "run", best, "--cold"], capture_output=True, text=True)
    text = r.stdout
    if r.returncode:
        return {**row, "error": (r.stderr.strip() or text.strip())[-200:]}
    for key, pat in (("relative_error", r"link 3: SAME, relative error (\S+)"), ("ours_us_hot", r"hot: (\S+) us"),
                     ("ours_us_cold", r"cold: (\S+) us"), ("gpu", r"gpu: (.*)")):
        m = re.search(pat, text)
        row[key] = m.group(1) if m else None
        if m and key != "gpu":
            row[key] = float(row[key])
    return row


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
    ap.add_argument("--mirage", default=os.path.join(ROOT, "build", "mirage"))
    a = ap.parse_args()
    os.makedirs(a.out, exist_ok=True)
    rows, tmp = [], tempfile.mkdtemp(prefix="mirage-bench-")
    for path in sorted(glob.glob(os.path.join(ROOT, "examples", "programs", "*.mg"))):
        if re.search(a.only, os.path.basename(path)[:-3]):
            rows.append({**ours(a.mirage, path, tmp, a.time_limit), "in_bytes": program_bytes(path)})
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
            "triton": version([sys.executable, "-c", "import triton; print(triton.__version__)"]), "ceilings": ceilings}
    text = "\n".join(["# %s: %s" % (k, json.dumps(v) if isinstance(v, dict) else v) for k, v in head.items()] + lines) + "\n"
    stem = os.path.join(a.out, "bench-" + head["date"])
    with open(stem + ".json", "w") as f:
        json.dump({**head, "rows": rows}, f, indent=1)
    with open(stem + ".txt", "w") as f:
        f.write(text)
    print(text)
    return 1 if any("error" in r for r in rows) or p.returncode else 0


sys.exit(main())
