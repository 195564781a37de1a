#!/usr/bin/env python3
"""Ranges of a symbol against kernels made for each of its sizes, on the GPU that is here.

For each program below `mirage search` makes the ranges of n, and a µGraph for each of SIZES by itself (--sym n=N).
  tests/bench/ranges.py --search DIR   searches all that, and keeps it in DIR; needs no GPU
  tests/bench/ranges.py --timed DIR    takes what is in DIR: the searches time their candidates; what they rank first is compared with
                                       float64 on the GPU and timed, in one process each, one after the other.  Prints a table, and
                                       writes it as JSON
  tests/bench/ranges.py                both by the model alone: candidates are not timed
Options: [--out FILE.json] [--limit S] [--top K] [--reps N] [--programs REGEX].  --top: candidates of each search, as many for both steps.  Programs that --programs leaves out keep what FILE.json has of
them."""
import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import time

SIZES = [1, 2, 7, 16, 33, 64, 100, 128]
PROGRAMS = {
    "norm_linear": "sym n in 1..128\ninput X : f16[n, 4096]\ninput G : f16[4096]\ninput W : f16[4096, 4096]\n"
                   "O = matmul(rms_norm(X, G, eps=1/1000000), W)\noutput O\n",
    "gated_mlp": "sym n in 1..128\ninput X : f16[n, 4096]\ninput A : f16[4096, 4096]\ninput B : f16[4096, 4096]\n"
                 "O = mul(silu(matmul(X, A)), matmul(X, B))\noutput O\n",
    "attention": "sym n in 1..128\ninput Q : f16[16, n, 128]\ninput K : f16[16, 128, 2048] @ [0, 2, 1]\ninput V : f16[16, 2048, 128]\n"
                 "O = matmul(softmax(scale(matmul(Q, K), 1/11), dim=2), V)\noutput O\n",
}


def mirage(*args):
    r = subprocess.run(["build/mirage", *args], capture_output=True, text=True)
    if r.returncode:
        raise SystemExit(f"mirage {' '.join(args)}: {r.stderr.strip() or r.stdout.strip()}")
    return r.stdout


def number(text, what):
    m = re.search(what + r": ([0-9.]+) us", text)
    return float(m.group(1)) if m else None


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--out", default="build/ranges.json")
    p.add_argument("--limit", default="30")
    p.add_argument("--top", default="4")
    p.add_argument("--reps", default="15")
    p.add_argument("--search", metavar="DIR")
    p.add_argument("--timed", metavar="DIR")
    p.add_argument("--programs", default="")
    a = p.parse_args()
    d = a.search or a.timed or "build/ranges"
    os.makedirs(d, exist_ok=True)
    programs = {name: text for name, text in PROGRAMS.items() if re.search(a.programs, name)}
    for name, text in programs.items():
        with open(f"{d}/{name}.mg", "w") as f:
            f.write(f"program {name}\n{text}")

    def make(name, n):
        best = f"{d}/{name}.{n or 'all'}.best.mg"
        began = time.time()
        text = mirage("search", f"{d}/{name}.mg", "--time-limit", a.limit, "--top", a.top, "--cache", f"{d}/cache",
                      *([] if a.timed else ["--no-measure"]), *(["--sym", f"n={n}"] if n else []))
        with open(best, "w") as f:
            f.write(text)
        if not a.search:
            mirage("run", best, "--no-check", "--no-time", *([] if n else ["--sym", "n=1"]))  # compiled
        print(f"{best}: {time.time() - began:.0f} s", flush=True)
        return best

    began = time.time()
    side = max(1, (os.cpu_count() or 2) // 2)
    with concurrent.futures.ThreadPoolExecutor(min(side, 6)) as pool:  # a family's search times several sizes at once
        made = {(name, n): pool.submit(make, name, n) for n in [None] + SIZES[::-1] for name in programs}
        best = {k: v.result() for k, v in made.items()}
    print(f"searched{' and timed candidates' if a.timed else ''}: {time.time() - began:.0f} s", flush=True)
    if a.search:
        return
    # Expected values are found side by side; runs take turns on the GPU, by a lock in the cache of kernels.
    pool = concurrent.futures.ThreadPoolExecutor(side)
    ran = {(name, of, n): pool.submit(mirage, "run", best[name, of], *([] if of else ["--sym", f"n={n}"]), "--no-check", "--cold",
                                      "--reps", a.reps) for name in programs for n in SIZES for of in (n, None)}
    result = {"date": time.strftime("%Y-%m-%d"), "command": "tests/bench/ranges.py" + (" --timed DIR" if a.timed else ""), "programs": {}}
    if a.programs and os.path.exists(a.out):
        with open(a.out) as f:
            result["programs"] = json.load(f)["programs"]
    for name, text in programs.items():
        with open(best[name, None]) as f:
            ranges = re.findall(r"# range \d+: (n in \S+?);", f.read())
        rows = []
        for n in SIZES:
            one, all_n = ran[name, n, n].result(), ran[name, None, n].result()
            assert "link 3: SAME" in one and "link 3: SAME" in all_n
            result["gpu"] = re.search(r"gpu: ([^,]+)", one).group(1)
            rows.append({"n": n, "own_hot": number(one, "hot"), "family_hot": number(all_n, "hot"),
                         "own_cold": number(one, "cold"), "family_cold": number(all_n, "cold")})
        result["programs"][name] = {"text": text, "ranges": ranges, "times_us": rows}
    pool.shutdown()
    print(f"all: {time.time() - began:.0f} s")
    with open(a.out, "w") as f:
        json.dump(result, f, indent=1)
    print(f"{result['gpu']}, {result['date']}: µs hot (cold) of the kernels for all n, and of those for one n")
    for name, r in result["programs"].items():
        print(f"\n{name}: {', '.join(r['ranges'])}\n   n    for all n        for this n       ratio hot, cold")
        for t in r["times_us"]:
            print(f"{t['n']:4d}  {t['family_hot']:6.2f} ({t['family_cold']:6.2f})  {t['own_hot']:6.2f} ({t['own_cold']:6.2f})"
                  f"  {t['family_hot'] / t['own_hot']:.3f}, {t['family_cold'] / t['own_cold']:.3f}")


if __name__ == "__main__":
    main()
