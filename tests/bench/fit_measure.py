#!/usr/bin/env python3
"""Measures the candidates that draw.py drew, on the first GPU: one line of JSON for each, to OUT/fit.jsonl as it goes.

usage: fit_measure.py [--from build/fit.tar.xz] [--have FILE.jsonl ..] [--out DIR] [--jobs N] [--turns 9] [--seconds 4]
                      [--budget 540] [--programs REGEX] [--dry]

Compilers (nvcc) run side by side, `jobs` of them, while one process at a time measures: all candidates of a program in
one process, in `turns` turns (fit_run.cu), or as many as begin in `seconds`, at least three.  Programs go in the order
that has every family early.  Lines of --have files are taken over, and what they hold is not measured again.  Past
`budget` seconds nothing more is begun: run it again with --have and the lines so far.  A candidate that does not compile,
faults, hangs, has an output that is not finite, or other values than the program's first, has an "error" and no time.
--dry compiles and measures nothing."""
import argparse, concurrent.futures, datetime, glob, json, os, re, shutil, subprocess, sys, tarfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
STARTED = time.time()
FLAGS = ["-O3", "-std=c++17", "-prec-div=false", "-prec-sqrt=false", "-gencode", "arch=compute_90a,code=sm_90a"]
FLAGS += ["-Xcompiler", "-fPIC", "-shared", "-cudart", "shared", "-I", ROOT]


def say(*words):
    print("[%5.1f s]" % (time.time() - STARTED), *words, file=sys.stderr, flush=True)


def nvcc():
    return os.environ.get("NVCC") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"


def compiled(a, cu):
    """The path of the shared object, or what the compiler said."""
    so = cu[:-3] + ".so"
    if time.time() - STARTED > a.budget:
        return None, "late"
    try:
        p = subprocess.run([nvcc(), *FLAGS, "-o", so, cu], capture_output=True, text=True, timeout=180)
        return (so, None) if not p.returncode else (None, "nvcc: " + (p.stderr.strip() or p.stdout.strip())[:150])
    except subprocess.TimeoutExpired:
        return None, "nvcc: no end in time"


def timed(a, runner, name, so):
    """By candidate what fit_run says; and of the GPU.  One that ends the process is left out, the rest run anew."""
    said, gpu, left = {}, {}, dict(so)
    env = dict(os.environ)
    toolkit = os.path.dirname(os.path.dirname(os.path.realpath(nvcc())))
    env["LD_LIBRARY_PATH"] = os.path.join(toolkit, "lib64") + ":" + env.get("LD_LIBRARY_PATH", "")
    for _ in range(6):
        order, at, done = sorted(left), None, False
        if not order:
            break
        try:
            p = subprocess.run([runner, name, str(a.turns), str(a.seconds), *(left[k] for k in order)],
                               capture_output=True, text=True, timeout=60, env=env)
            text, why = p.stdout, p.stderr.strip()[-150:] or "status %d" % p.returncode
        except subprocess.TimeoutExpired as e:
            text, why = e.stdout.decode() if isinstance(e.stdout, bytes) else e.stdout or "", "no end in time"
        for line in text.splitlines():
            try:
                d = json.loads(line)
            except ValueError:
                continue
            if "gpu" in d:
                gpu = d
            elif "candidate" in d:
                said[order[d.pop("candidate")]] = d
                done = True
            elif "error" in d:
                at, why = d["at"], d["error"]
            else:
                at = d["at"]
        if done:
            break
        if at is None:
            sys.exit("fit_measure: %s: %s" % (name, why))
        said[order[at]] = {"error": why}
        del left[order[at]]
    return {k: said.get(k, {"error": "not measured"}) for k in so}, gpu


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--from", dest="source", default=os.path.join(ROOT, "build/fit.tar.xz"))
    p.add_argument("--have", nargs="*", default=[])
    p.add_argument("--out", default=os.path.join(ROOT, "build"))
    p.add_argument("--jobs", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    p.add_argument("--turns", type=int, default=9)
    p.add_argument("--seconds", type=float, default=4)
    p.add_argument("--budget", type=float, default=540)
    p.add_argument("--programs", default="")
    p.add_argument("--dry", action="store_true")
    a = p.parse_args()
    work = os.path.join(ROOT, "build/fit_work")
    os.makedirs(work, exist_ok=True)
    if os.path.isdir(a.source):
        shutil.copytree(a.source, work, dirs_exist_ok=True)
    else:
        with tarfile.open(a.source) as tar:
            tar.extractall(work)
    os.makedirs(a.out, exist_ok=True)
    result = os.path.join(a.out, "fit.jsonl")
    have = set()
    lines = [l for f in a.have if os.path.exists(f) for l in open(f)]
    with open(result, "w") as f:
        for line in lines:
            d = json.loads(line)
            if (d["program"], d["candidate"]) not in have:
                f.write(line)
            have.add((d["program"], d["candidate"]))
    programs, seen = [], {}
    for path in sorted(glob.glob(os.path.join(work, "*", "candidates.json"))):
        d = json.load(open(path))
        d["at"] = seen[d["family"]] = seen.get(d["family"], -1) + 1
        d["todo"] = [c for c in d["candidates"] if (d["program"], c["file"]) not in have]
        if d["todo"] and re.search(a.programs, d["program"]):
            programs.append(d)
    programs.sort(key=lambda d: (d["at"], d["family"]))
    total = sum(len(d["todo"]) for d in programs)
    say("%d programs, %d candidates to measure; %d are there" % (len(programs), total, len(have)))
    runner = os.path.join(work, "fit_run")
    source = os.path.join(HERE, "fit_run.cu")
    host = ["-O2", "-std=c++17", "-cudart", "shared", "-I", ROOT]
    subprocess.run([nvcc(), *host, source, "-o", runner, "-ldl"], check=True)
    n = late = bad = 0
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool, open(result, "a") as f:
        for d in programs:
            d["in"] = os.path.join(work, d["program"])
            d["made"] = [pool.submit(compiled, a, os.path.join(d["in"], c["file"] + ".cu")) for c in d["todo"]]
        for d in programs:
            made = [m.result() for m in d["made"]]
            if any(why == "late" for _, why in made) or time.time() - STARTED > a.budget:
                late += len(made)
                continue
            so = {k: path for k, (path, _) in enumerate(made) if path}
            name = re.search(r"(?m)^program (\w+)", open(os.path.join(d["in"], "program.mg")).read()).group(1)
            said, gpu = ({k: {} for k in so}, {}) if a.dry else timed(a, runner, name, so)
            for k, c in enumerate(d["todo"]):
                ugraph = open(os.path.join(d["in"], c["file"] + ".mg")).read()
                row = {"program": d["program"], "family": d["family"], "candidate": c["file"], "how": c["how"],
                       "ugraph": ugraph, **said.get(k, {"error": made[k][1]}), **gpu, "date": datetime.date.today().isoformat()}
                f.write(json.dumps(row) + "\n")
                n, bad = n + 1, bad + ("error" in row)
            f.flush()
            os.fsync(f.fileno())
            for path in so.values():
                os.unlink(path)
            wrong = sum("error" in s for s in said.values()) + len(made) - len(so)
            say("%-36s %2d of %2d have a time" % (d["program"], len(made) - wrong, len(made)))
    say("%d measured, %d of them have an error, %d are left: %s" % (n, bad, late, result))


if __name__ == "__main__":
    sys.exit(main())
