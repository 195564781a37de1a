#!/usr/bin/env python3
"""make bench-search: the Mirage paper's Table 5 for this search, and the search times of the benchmark programs.

Writes tests/bench/results/search-DATE.json and .txt.  --limit S: seconds a row without pruning (default 30; the others
have twice that); --only REGEX: rows whose name matches; --out DIR; --lanes N: N rows at once, each on two cores of its own."""
import argparse, concurrent.futures, datetime, json, os, platform, queue, re, subprocess, sys, tempfile

here = os.path.dirname(os.path.abspath(__file__))
top = os.path.dirname(os.path.dirname(here))


def machine():
    model = next((l.split(":", 1)[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), "unknown")
    gcc = subprocess.run(["gcc", "-dumpfullversion"], capture_output=True, text=True).stdout.strip()
    memory = next((int(l.split()[1]) // 1048576 for l in open("/proc/meminfo") if l.startswith("MemTotal")), 0)
    return {"cores": len(os.sched_getaffinity(0)), "model": model, "memory_gib": memory, "system": platform.system() + " " + platform.release(), "gcc": gcc,
            "load": os.getloadavg()[0]}


def search(program, limit, cores, *options):
    """One run of the tool on `cores`; its statistics, or what it said instead."""
    with tempfile.TemporaryDirectory() as d:
        stats = os.path.join(d, "stats.json")
        cmd = [os.path.join(top, "build/mirage"), "search", program, "--no-measure", "--stats", stats, "--time-limit", str(limit), "--no-measure", *map(str, options)]
        try:
            p = subprocess.run(cmd, capture_output=True, text=True, timeout=3 * limit + 60, preexec_fn=lambda: os.sched_setaffinity(0, cores))
        except subprocess.TimeoutExpired:
            return {"error": "did not end in time"}
        if not os.path.exists(stats):
            return {"error": p.stderr.strip()[-200:]}
        return json.load(open(stats))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("--limit", type=float, default=30)
    a.add_argument("--only", default="")
    a.add_argument("--lanes", type=int, default=0)
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
    for threads in (1, 2): # how the largest search scales
        todo.append((f"qknorm_bs1 threads={threads}", "qknorm_bs1.mg", 4 * o.limit, ["--threads", threads]))
    todo = [t for t in todo if re.search(o.only, t[0])]
    all_cores = sorted(os.sched_getaffinity(0))
    lanes = max(1, min(o.lanes, len(all_cores) // 2, len(todo)))
    free = queue.Queue()
    for k in range(lanes):
        free.put(set(all_cores[2 * k : 2 * k + 2]) if o.lanes else set(all_cores))
    host = machine()
    host["lanes"] = lanes if o.lanes else 0
    lines = [f"{host['cores']} cores, {host['model']}, {host['memory_gib']} GiB, {host['system']}, gcc {host['gcc']}; "
             + (f"{lanes} rows at once, each on two cores of its own" if o.lanes else "a row after the other") + f"; load before {host['load']:.1f}",
             f"{'search':36} {'seconds':>8} {'states':>9} {'states/s':>9} {'e-graph ms':>10} {'probe ns':>8} {'peak MiB':>8} {'us (model)':>10}  complete"]
    print("\n".join(lines), flush=True)

    def one(item):
        cores = free.get()
        try:
            return search(os.path.join(programs, item[1]), item[2], cores, *item[3])
        finally:
            free.put(cores)

    rows = []
    with concurrent.futures.ThreadPoolExecutor(lanes) as pool:
        for (name, f, limit, options), s in zip(todo, pool.map(one, todo)):
            rows.append({"name": name, "limit_s": limit, "stats": s})
            if "error" in s:
                line = f"{name:36} failed: {s['error']}"
            else:
                probe = f"{s['probe_ns']:8.1f}" if s.get("probe_ns") else f"{'-':>8}"
                line = (f"{name:36} {s['seconds']:8.2f} {s['states']:9} {s['states'] / max(s['seconds'], 1e-9):9.0f} {s['egraph_ms']:10.1f} {probe} "
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
