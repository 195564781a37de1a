#!/usr/bin/env python3
"""make bench-search: the Mirage paper's Table 5 for this search, and the search times of the benchmark programs.

Writes tests/bench/results/search-DATE.json and .txt.  --limit S: seconds a row without pruning (default 30; the others
have twice that); --only REGEX: rows whose name matches; --out DIR."""
import argparse, datetime, json, os, re, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(os.path.dirname(here))


def machine():
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "unknown")
    gcc = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    return {"cores": len(os.sched_getaffinity(0)), "model": model, "gcc": gcc}


def search(program, limit, *options):
    """One run of the tool; its statistics, or what it said instead."""
    with tempfile.TemporaryDirectory() as d:
        stats = os.path.join(d, "stats.json")
        cmd = [os.path.join(top, "build/mirage"), "search", program, "--no-measure", "--stats", stats, "--time-limit", str(limit), *map(str, options)]
        try:
            p = subprocess.run(cmd, capture_output=True, text=True, timeout=3 * limit + 60)
        except subprocess.TimeoutExpired:
            return {"error": "did not end in time"}
        if not os.path.exists(stats):
            return {"error": p.stderr.strip()[-200:]}
        return json.load(open(stats))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--limit", type=float, default=30)
    a.add_argument("--only", default="")
    a.add_argument("--out", default=os.path.join(here, "results"))
    o = a.parse_args()
    programs = os.path.join(top, "examples/programs")
    todo = []
    for ops in range(5, 12):
        for threads in (1, 2):
            todo.append((f"rmsnorm ops={ops} threads={threads}", "rmsnorm_linear_m16_k4096_n4096.mg", 2 * o.limit, ["--max-block-ops", ops, "--threads", threads, "--max-kernel-ops", 1]))
    for ops in (5, 7, 9, 11):
        todo.append((f"rmsnorm ops={ops} threads=2 unpruned", "rmsnorm_linear_m16_k4096_n4096.mg", o.limit, ["--max-block-ops", ops, "--threads", 2, "--max-kernel-ops", 1, "--no-prune"]))
    for f in sorted(os.listdir(programs)):
        if f.endswith(".mg") and not re.match("gemm_chain|attention_s", f):
            todo.append((f[:-3], f, 2 * o.limit, ["--threads", 2]))
    rows, lines = [], []
    host = machine()
    lines.append(f"{host['cores']} cores, {host['model']}, gcc {host['gcc']}")
    lines.append(f"{'search':36} {'seconds':>8} {'states':>9} {'states/s':>9} {'e-graph ms':>10} {'peak MiB':>8} {'us (model)':>10}  complete")
    for line in lines:
        print(line, flush=True)
    for name, f, limit, options in todo:
        if not re.search(o.only, name):
            continue
        s = search(os.path.join(programs, f), limit, *options)
        rows.append({"name": name, "limit_s": limit, "stats": s})
        if "error" in s:
            line = f"{name:36} failed: {s['error']}"
        else:
            line = (f"{name:36} {s['seconds']:8.2f} {s['states']:9} {s['states'] / max(s['seconds'], 1e-9):9.0f} {s['egraph_ms']:10.1f} "
                    f"{s['peak_kib'] / 1024:8.0f} {s['best']['predicted_us']:10.2f}  {'yes' if s['complete'] else 'no'}")
        lines.append(line)
        print(line, flush=True)
    os.makedirs(o.out, exist_ok=True)
    base = os.path.join(o.out, "search-" + datetime.date.today().isoformat())
    json.dump({"machine": host, "rows": rows}, open(base + ".json", "w"), indent=1)
    open(base + ".txt", "w").write("\n".join(lines) + "\n")
    return any("error" in r["stats"] for r in rows)


if __name__ == "__main__":
    sys.exit(main())
