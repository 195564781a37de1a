#!/usr/bin/env python3
"""Fits the machine's coefficients to measured candidates, and says how well what was left out is predicted.

usage: fit.py FIT.jsonl[.xz] [--time cold|hot] [--classes] [--out FILE.json] [--prior 0.03]
       fit.py FIT-ugraphs.xz --price [--machine H200]   what the model is worth as it is: lines with a "ugraph" are priced by
                                                build/candidates, and nothing is fitted
       fit.py build/fit --pretend SEED          no measurement: times that the model would give with other coefficients,
                                                and 2 % noise; says how far the fit comes back to them

Needs numpy.  Lines are those of fit_measure.py.  The cost of a kernel is that of mirage_plan.h of that day, put together from the
terms that `mirage explain --json` gave, each times a factor to be fitted; 1 is the coefficient as it is in the table:

  memory  = max(dram, l2, dram + again)         compute = tensor + elements + shared
  body    = max(memory, compute, chain) + unhidden min(memory, compute)
  time    = launch + fill + body + steps + barriers + merge + drain, or library, summed over the kernels

A factor of a term that a coefficient of the machine divides is the inverse of that coefficient's: `coefficients` of the
output has mg_machine's.  With --classes fill, steps and unhidden have a factor for each way to feed a loop.

Least squares of the logarithm of predicted over measured, Huber's beyond 20 %, every program counting the same, and a
candidate less the slower it is; `prior` holds what the data do not tell near 1.  The model's penalty on what should not
be is no time: the prediction before has it, the fit has not.  Every family of programs is left out in turn, and
predicted by a fit to the others.  By program: the first by the prediction against the best measured; Kendall's
correlation over the pairs that differ by more than 5 % measured.  Programs whose candidates all lie within 10 % have no
correlation; they are counted."""
import argparse, glob, json, lzma, math, os, random, subprocess, sys
import numpy as np

LINEAR = ["launch", "fill", "steps", "barriers", "merge", "drain"]
BODY = ["dram", "l2", "again", "tensor", "elements", "shared", "chain", "unhidden"]
OTHER = ["library"]
SPLIT = ["fill", "steps", "unhidden"]
MACHINE = {  # of mg_machine: the term that it is in, its value for the H200, whether it is a rate
    "launch_us": ("launch", 1.1, 0), "barrier_us": ("steps", 0.05, 0), "dram_gbps": ("dram", 4290.0, 1),
    "l2_gbps": ("l2", 6400.0, 1), "tensor_tflops": ("tensor", 560.0, 1), "fp32_tflops": ("elements", 50.0, 1),
    "shared_bytes_us": ("shared", 200000.0, 1)}


def kind(part):
    """How its loop is fed; "none" without one."""
    if part.get("steps", 1) < 2:
        return "none"
    return "group" if part.get("mma") == "warpgroup" else part.get("ring", "block")


class Model:
    """Arrays over the kernels of all candidates; `of` says of which candidate each is."""

    def __init__(self, rows, classes):
        parts = [(i, p) for i, r in enumerate(rows) for p in r["parts"]]
        self.n = len(rows)
        self.of = np.array([i for i, _ in parts])
        us = lambda name: np.array([p["us"].get(name, 0.0) if "library" not in p else 0.0 for _, p in parts])
        self.t = {name: us(name) for name in LINEAR + BODY}
        self.t["again"] = np.maximum(0, self.t["again"] - self.t["dram"])
        self.t["library"] = np.array([p["us"]["total"] if "library" in p else 0.0 for _, p in parts])
        kinds = [kind(p) for _, p in parts]
        self.names, self.index = [], {}
        for name in LINEAR + BODY + OTHER:
            if classes and name in SPLIT:
                used = sorted({k for k in kinds if k != "none" or name == "unhidden"})
                at = {k: len(self.names) + j for j, k in enumerate(used)}
                self.names += ["%s %s" % (name, k) for k in used]
                self.index[name] = np.array([at.get(k, at[used[0]]) for k in kinds])
            else:
                self.index[name] = np.full(len(parts), len(self.names))
                self.names.append(name)

    def us(self, x):
        f = np.exp(x)
        t = {name: self.t[name] * f[self.index[name]] for name in self.t}
        memory = np.maximum(np.maximum(t["dram"], t["l2"]), np.where(t["again"] > 0, t["dram"] + t["again"], 0))
        compute = t["tensor"] + t["elements"] + t["shared"]
        body = np.maximum(np.maximum(memory, compute), t["chain"])
        body += np.minimum(t["unhidden"], 1) * np.minimum(memory, compute)
        return np.bincount(self.of, body + t["library"] + sum(t[name] for name in LINEAR), self.n)


def fitted(m, y, weight, prior):
    """The logarithms of the factors, by Gauss and Newton's steps, damped."""
    n = len(m.names)
    x = np.zeros(n)

    def loss(x):
        r = np.log(m.us(x)) - y
        a = np.abs(r)
        return float(np.sum(weight * np.where(a < 0.2, r * r, 0.4 * a - 0.04)) + prior * x @ x), r
    best, r = loss(x)
    damp = 1e-2
    for _ in range(60):
        base, J = np.log(m.us(x)), np.empty((m.n, n))
        for j in range(n):
            step = x.copy()
            step[j] += 1e-4
            J[:, j] = (np.log(m.us(step)) - base) / 1e-4
        w = weight * np.minimum(1, 0.2 / np.maximum(np.abs(r), 1e-9))
        A, g = J.T @ (w[:, None] * J) + prior * np.eye(n), J.T @ (w * r) + prior * x
        was = best
        for _ in range(8):
            new = np.clip(x - np.linalg.solve(A + damp * np.diag(np.diag(A)), g), -3, 3)
            value, rn = loss(new)
            if value < best:
                x, best, r, damp = new, value, rn, damp / 3
                break
            damp *= 4
        if was - best < 1e-7 * was:
            break
    return x


def kendall(predicted, measured):
    """Over the pairs more than 5 % apart; None where there is none."""
    same = n = 0
    for i in range(len(measured)):
        for j in range(i):
            if abs(math.log(measured[i] / measured[j])) > math.log(1.05):
                d = (predicted[i] - predicted[j]) * (measured[i] - measured[j])
                same, n = same + (d > 0) - (d < 0), n + 1
    return same / n if n else None


def judged(rows, predicted):
    """By program: the first's time over the best's, and the correlation."""
    by = {}
    for r, p in zip(rows, predicted):
        by.setdefault((r["family"], r["program"]), []).append((p, r["us"]))
    out = {}
    for (family, program), c in sorted(by.items()):
        times = [us for _, us in c]
        far = max(times) > 1.1 * min(times)
        out[program] = {"family": family, "candidates": len(c), "first": min(c, key=lambda v: v[0])[1] / min(times),
                        "kendall": kendall([p for p, _ in c], times) if far else None}
    return out


def summary(j):
    first, tau = [v["first"] for v in j.values()], [v["kendall"] for v in j.values() if v["kendall"] is not None]
    return {"programs": len(j), "alike": len(j) - len(tau),
            "first_median": float(np.median(first)), "first_worst": max(first),
            "kendall_median": float(np.median(tau)) if tau else None, "kendall_least": min(tau, default=None)}


def read(path, time):
    rows, errors = [], 0
    for line in lzma.open(path, "rt") if path.endswith(".xz") else open(path):
        r = json.loads(line)
        r["us"] = r.get("us_" + time)
        errors += not r["us"]
        if r["us"]:
            rows.append(r)
    return rows, errors


def priced(rows, machine):
    """What the model of the headers says of every row's µGraph under its own plan, in microseconds."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    text = "".join(r["ugraph"] + "\0" for r in rows)
    args = [os.path.join(root, "build", "candidates"), "--price", machine]
    p = subprocess.run(args, input=text, capture_output=True, text=True, check=True)
    us = [float(line) for line in p.stdout.split()]
    if len(us) != len(rows) or min(us) <= 0:
        sys.exit("fit: %d prices for %d candidates" % (len(us), len(rows)))
    return us


def show_prices(rows, us):
    programs = judged(rows, us)
    for n, v in sorted(programs.items(), key=lambda v: (v[1]["family"], v[0])):
        print("%-36s %3d candidates, first over best %.3f, Kendall %s"
              % (n, v["candidates"], v["first"], "-" if v["kendall"] is None else "%.2f" % v["kendall"]))
    s = summary(programs)
    print("%d programs, %d within 10 %%: first over best %.3f in the median, %.3f at worst; Kendall %.3f in the median, "
          "%.2f at least" % (s["programs"], s["alike"], s["first_median"], s["first_worst"], s["kendall_median"],
                             s["kendall_least"]))


def pretended(folder, seed, classes):
    """Candidates that nobody has measured, their times by other coefficients; and those."""
    rows = []
    for path in sorted(glob.glob(os.path.join(folder, "*", "candidates.json"))):
        d = json.load(open(path))
        rows += [{"program": d["program"], "family": d["family"], **c} for c in d["candidates"]]
    rng = random.Random(seed)
    m = Model(rows, classes)
    true = np.array([math.log(rng.uniform(0.6, 1.7)) for _ in m.names])
    for r, us in zip(rows, m.us(true)):
        r["us"] = us * math.exp(rng.gauss(0, 0.02))
    return rows, true


def main():
    p = argparse.ArgumentParser()
    p.add_argument("data")
    p.add_argument("--time", default="cold", choices=("cold", "hot"))
    p.add_argument("--classes", action="store_true")
    p.add_argument("--prior", type=float, default=0.03)
    p.add_argument("--out", default="")
    p.add_argument("--pretend", type=int)
    p.add_argument("--price", action="store_true")
    p.add_argument("--machine", default="H200")
    a = p.parse_args()
    if a.price:
        rows, _ = read(a.data, a.time)
        return show_prices(rows, priced(rows, a.machine))
    true = None
    if a.pretend is not None:
        rows, true = pretended(a.data, a.pretend, a.classes)
        errors = 0
    else:
        rows, errors = read(a.data, a.time)
    count, least = {}, {}
    for r in rows:
        count[r["program"]] = count.get(r["program"], 0) + 1
        least[r["program"]] = min(r["us"], least.get(r["program"], r["us"]))
    m = Model(rows, a.classes)
    y = np.log([r["us"] for r in rows])
    weight = np.array([least[r["program"]] / r["us"] / count[r["program"]] for r in rows])
    family = np.array([r["family"] for r in rows])
    x = fitted(m, y, weight, a.prior)
    left = np.empty(len(rows))
    folds = {}
    for f in sorted(set(family)):
        out = family == f
        folds[f] = fitted(m, y, np.where(out, 0, weight), a.prior)
        left[out] = m.us(folds[f])[out]
    before, after, within = judged(rows, [r["predicted_us"] for r in rows]), judged(rows, left), judged(rows, m.us(x))
    factor = dict(zip(m.names, np.exp(x)))
    of_folds = np.exp(np.array(list(folds.values())))
    spread = {n: [float(of_folds[:, k].min()), float(of_folds[:, k].max())] for k, n in enumerate(m.names)}
    coefficients = {c: v / factor[t] if rate else v * factor[t] for c, (t, v, rate) in MACHINE.items() if t in factor}
    was = {n: {"first_before": v["first"], "kendall_before": v["kendall"]} for n, v in before.items()}
    programs = {n: {**v, "best_us": least[n], **was[n]} for n, v in after.items()}
    result = {"time": a.time, "gpu": rows[0].get("gpu"), "candidates": len(rows), "errors": errors,
              "families": len(folds), "before": summary(before), "after": summary(after), "without_leaving_out": summary(within),
              "coefficients": coefficients, "factors": {n: float(v) for n, v in factor.items()},
              "factors_least_and_most": spread, "programs": programs}
    show = lambda v, form: "-" if v is None else form % v
    print("%-36s %4s %9s  first over best: before, left out   Kendall: before, left out" % ("program", "n", "best us"))
    for n, v in sorted(programs.items(), key=lambda v: (v[1]["family"], v[0])):
        tau = show(v["kendall_before"], "%.2f"), show(v["kendall"], "%.2f")
        of = n, v["candidates"], v["best_us"], v["first_before"], v["first"]
        print("%-36s %4d %9.2f  %15.3f %9.3f   %18s %9s" % (*of, *tau))
    print("\n%-10s %20s %12s %18s %16s %8s" % ("", "first over best:", "median", "worst", "Kendall: median", "least"))
    for name in ("before", "after", "without_leaving_out"):
        s = result[name]
        tau = show(s["kendall_median"], "%.3f"), show(s["kendall_least"], "%.2f")
        print("%-20s %23.3f %18.3f %16s %8s" % (name, s["first_median"], s["first_worst"], *tau))
    print("%d candidates of %d programs, %d families; %d programs within 10 %%; %d candidates with an error"
          % (len(rows), len(after), len(folds), result["after"]["alike"], errors))
    print("\n%-20s %8s  least and most, a family left out%s" % ("factor", "fitted", "" if true is None else "; true"))
    for k, n in enumerate(m.names):
        was = "" if true is None else "   %.3f" % math.exp(true[k])
        print("%-20s %8.3f  %.3f .. %.3f%s" % (n, factor[n], *spread[n], was))
    print("mg_machine: " + ", ".join("%s %.4g" % v for v in coefficients.items()))
    if a.out:
        json.dump(result, open(a.out, "w"), indent=1)
        print("written: " + a.out)


if __name__ == "__main__":
    sys.exit(main())
