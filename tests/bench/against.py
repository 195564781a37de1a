#!/usr/bin/env python3
"""Times what the search finds now against the µGraphs of an earlier tests/programs.ugraphs, on the GPU at hand.

  tests/bench/against.py BEFORE.ugraphs [--programs REGEX] [--runs N] [--out NAME] [--mirage build/mirage]

Of every program of BEFORE for sm_90a the first µGraph is taken, and the same program of examples/programs is searched now.
Where both are one text they are one kernel, and nothing is timed.  Else both run in one process, N times, and the medians
are compared, cold and hot; `mirage run` checks the values of both against float64 first.  Writes NAME.json and NAME.txt."""
import argparse, concurrent.futures, datetime, json, math, os, re, subprocess, sys, tempfile


def firsts(path):
    """The first µGraph of each program for sm_90a."""
    found = {}
    for part in open(path).read().split("\n#@ ")[1:]:
        arch, text = part.split("\n", 1)
        name = re.search(r"^program (\S+)", text, re.M).group(1)
        if arch == "sm_90a" and name not in found:
            found[name] = text.strip() + "\n"
    return found


def median(values):
    v = sorted(values)
    return v[len(v) // 2]


def searched(mirage, name):
    out = subprocess.run([mirage, "search", "examples/programs/%s.mg" % name, "--no-measure", "--top", "1", "--threads", "1", "--time-limit", "none"], capture_output=True, text=True)
    if out.returncode:
        raise SystemExit("%s: %s" % (name, out.stderr.strip()))
    notes = dict(re.findall(r"^# (numerics|predicted): (.*)$", out.stdout, re.M))
    return "".join(line + "\n" for line in out.stdout.splitlines() if not line.startswith("#")), notes


def main():
    a = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    a.add_argument("before")
    a.add_argument("--programs", default=".")
    a.add_argument("--runs", type=int, default=3)
    a.add_argument("--out", default="against")
    a.add_argument("--mirage", default="build/mirage")
    a = a.parse_args()
    before = {k: v for k, v in firsts(a.before).items() if re.search(a.programs, k)}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        now = dict(zip(before, pool.map(lambda name: searched(a.mirage, name), before)))
    gpu = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    head = {"date": str(datetime.date.today()), "gpu": gpu, "command": "tests/bench/against.py %s" % " ".join(sys.argv[1:])}
    rows, lines = [], ["# date: %(date)s\n# gpu: %(gpu)s\n# command: %(command)s" % head, "%-34s %10s %10s %7s %10s %10s %7s  %s" % ("program", "before", "now", "ratio", "hot", "now", "ratio", "")]
    with tempfile.TemporaryDirectory() as tmp:
        for name in sorted(before):
            text, notes = now[name]
            row = {"program": name, "same": text == before[name], "numerics": notes.get("numerics"), "predicted": notes.get("predicted", "").split(" us")[0]}
            if not row["same"]:
                files = []
                for k, t in enumerate((before[name], text)):
                    files.append("%s/%s.%d.mg" % (tmp, name, k))
                    open(files[-1], "w").write(t)
                times = []
                for _ in range(a.runs):
                    stats = tmp + "/stats.json"
                    out = subprocess.run([a.mirage, "run", *files, "--cold", "--stats", stats], capture_output=True, text=True)
                    if out.returncode:
                        row["error"] = (out.stderr.strip() or out.stdout.strip())[-300:]
                        break
                    times.append(json.load(open(stats)))
                if times:
                    for key in ("us_cold", "us_hot", "us_pdl_cold"):
                        row[key] = [median([t[k][key] for t in times]) for k in range(2)] if all(key in t[k] for t in times for k in range(2)) else None
            rows.append(row)
            if row["same"]:
                lines.append("%-34s the same kernel" % name)
            elif "error" in row:
                lines.append("%-34s %s" % (name, row["error"]))
            else:
                c, h = row["us_cold"], row["us_hot"]
                lines.append("%-34s %10.2f %10.2f %7.3f %10.2f %10.2f %7.3f  %s" % (name, c[0], c[1], c[1] / c[0], h[0], h[1], h[1] / h[0], row["numerics"]))
    ratios = [1.0 if r["same"] else r["us_cold"][1] / r["us_cold"][0] for r in rows if r["same"] or "error" not in r]
    if ratios:
        lines.append("cold, now over before, %d programs (%d changed): geometric mean %.4f, most %.3f" % (len(ratios), sum(not r["same"] for r in rows), math.exp(sum(map(math.log, ratios)) / len(ratios)), max(ratios)))
    for suffix, text in ((".json", json.dumps({**head, "rows": rows}, indent=1)), (".txt", "\n".join(lines))):
        with open(a.out + suffix, "w") as f:
            f.write(text + "\n")
    print("\n".join(lines))
    return any("error" in r for r in rows)


if __name__ == "__main__":
    sys.exit(main())
