#!/usr/bin/env python3
"""Fits a machine's coefficients to measured candidates, and says how well what was left out is predicted.

usage: fit.py FIT.jsonl[.xz] .. [--machine H200 | FILE.machine] [--time cold|hot] [--prior 0.01] [--level 0.6] [--gpu REGEX]
              [--out FILE.machine] [--write H200|H100] [--price] [--fixed NAME,NAME] [--top N]

Needs numpy, and build/price, which prices by the headers alone: what is fitted are the MG_MACHINE_COSTS of the machine's row,
and no formula of the cost stands here.  Lines are those of fit_measure.py, of one GPU: program, family, ugraph, us_cold, us_hot.
Of one program and µGraph that several files have the first counts.

Least squares of the logarithm of predicted over measured, Huber's beyond 15 %, every program counting the same, and a candidate
less the slower it is; of what all candidates of a program have in common a share `level` counts, since it is the order of
candidates that the search needs.  `prior` holds what the data do not tell near the row's coefficient.  Gauss and Newton's
steps, damped.  Then every family of programs is left out in turn, and predicted by a fit to the others.  By program: the first
by the prediction against the best measured; Kendall's correlation over the pairs that differ by more than 5 % measured.
Programs whose candidates all lie within 10 % have no correlation; they are counted.

--price: fits nothing; the row as it is.  --out: the fitted row, for --machine.  --write: puts the coefficients into that column of
mirage_plan.h.  --fixed: names that keep the row's coefficient."""
import argparse, json, lzma, math, os, re, subprocess, sys
import numpy as np

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(ROOT, "build")
FLYING = "2026-11-26 17"  # kernels measured before had no product under way while a step began, whoever copied


def read(paths, time, gpu):
    """Lines with a time, by program and µGraph; how many have none.  Runs differ by some percent: of a program that an earlier
    file has too, times are scaled by what the candidates took that both have."""
    rows, errors = {}, 0
    for path in paths:
        own = {}
        for line in lzma.open(path, "rt") if path.endswith(".xz") else open(path):
            r = json.loads(line)
            if not re.search(gpu, r.get("gpu", "")):
                continue
            r["us"] = r.get("us_" + time)
            errors += not r["us"]
            if r["us"]:
                own[r["program"], r["ugraph"]] = r
        scales = {}
        for key in own.keys() & rows.keys():
            scales.setdefault(key[0], []).append(rows[key]["us"] / own[key]["us"])
        for key, r in own.items():
            r["us"] *= np.median(scales.get(key[0], [1]))
            rows.setdefault(key, r)
    for r in rows.values():
        if r["date"] < FLYING:
            r["ugraph"] = r["ugraph"].replace(" copy=tma", "")
    return list(rows.values()), errors


def coefficients():
    """The names of MG_MACHINE_COSTS, in the order of the row."""
    text = open(os.path.join(ROOT, "mirage_plan.h")).read()
    block = text[text.index("#define MG_MACHINE_COSTS(C, F)"):text.index("#define MGI_COST_FIELD")]
    return re.findall(r"(?m)^  C\(F, (\w+),", block)


def write_column(which, values):
    """The coefficients into a column of MG_MACHINE_COSTS; C(F, name, H200, H100, text) and perhaps a backslash."""
    path = os.path.join(ROOT, "mirage_plan.h")
    lines = open(path).read().split("\n")
    for i, line in enumerate(lines):
        m = re.match(r'  C\(F, (\w+),\s*([^,]+), \s*([^,]+), (".*"\))\s*(\\?)$', line)
        if m and m.group(1) in values:
            two = [m.group(2), m.group(3)]
            two[which == "H100"] = "%.4g" % values[m.group(1)]
            line = "  C(F, %-20s %8s, %8s, %s" % (m.group(1) + ",", two[0], two[1], m.group(4))
            lines[i] = line.ljust(119) + "\\" if m.group(5) else line
    open(path, "w").write("\n".join(lines))


def machine_text(name):
    """A row as lines of key and value: a file's, or what build/price says of one of the table."""
    if os.path.exists(name):
        return open(name).read()
    return subprocess.run([os.path.join(BUILD, "price"), "--print", name], capture_output=True, text=True, check=True).stdout


def number_of(text, key):
    m = re.search(r"(?m)^%s (\S+)" % key, text)
    return float(m.group(1)) if m else None


class Model:
    """build/price with the µGraphs of all rows, and the row of which it varies the coefficients `names`."""

    def __init__(self, rows, text, arch):
        self.p = subprocess.Popen([os.path.join(BUILD, "price"), arch], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.p.stdin.write("".join(r["ugraph"] + "\0" for r in rows).encode() + b"\0")
        self.text, self.n = text, len(rows)

    def with_values(self, values):
        lines = [l for l in self.text.splitlines() if l.split(" ")[0] not in values]
        return "\n".join(lines + ["%s %.9g" % v for v in values.items()]) + "\n"

    def us(self, values):
        self.p.stdin.write(self.with_values(values).encode() + b"\0")
        self.p.stdin.flush()
        us = np.array([float(self.p.stdout.readline()) for _ in range(self.n)])
        if not (us > 0).all():
            sys.exit("fit: a price that is none, by %s" % values)
        return us


class Fit:
    def __init__(self, rows, model, start, prior, level):
        self.model, self.names = model, list(start)
        self.start = np.log(np.array([start[n] for n in self.names]))
        self.prior, self.level = prior, level
        self.y = np.log([r["us"] for r in rows])
        of = {}
        self.program = np.array([of.setdefault(r["program"], len(of)) for r in rows])
        self.n_programs = len(of)
        least = np.full(len(of), np.inf)
        np.minimum.at(least, self.program, self.y)
        slow = np.exp(1.5 * (least[self.program] - self.y))
        self.weight = slow / np.bincount(self.program, slow)[self.program]

    def values(self, x):
        return dict(zip(self.names, np.exp(self.start + x)))

    def log_us(self, x):
        return np.log(self.model.us(self.values(x)))

    def within(self, r):
        """Residuals, of which what a program's candidates have in common counts less."""
        common = np.bincount(self.program, self.weight * r, self.n_programs)
        return r - (1 - self.level) * common[self.program]

    def loss(self, x, weight):
        r = self.within(self.log_us(x) - self.y)
        a = np.abs(r)
        return float(np.sum(weight * np.where(a < 0.15, r * r, 0.3 * a - 0.0225)) + self.prior * x @ x), r

    def jacobian(self, x):
        base, columns = self.log_us(x), []
        for j in range(len(x)):
            step = x.copy()
            step[j] += 1e-3
            columns.append(self.within((self.log_us(step) - base) / 1e-3))
        return np.array(columns).T

    def fitted(self, x=None, weight=None, most=40):
        weight = self.weight if weight is None else weight
        x = np.zeros(len(self.names)) if x is None else x.copy()
        best, r = self.loss(x, weight)
        damp = 1e-2
        for _ in range(most):
            J = self.jacobian(x)
            w = weight * np.minimum(1, 0.15 / np.maximum(np.abs(r), 1e-9))
            A, g = J.T @ (w[:, None] * J) + self.prior * np.eye(len(x)), J.T @ (w * r) + self.prior * x
            was = best
            for _ in range(7):
                step = np.linalg.solve(A + damp * np.diag(np.diag(A)), g)
                new = np.clip(x - np.clip(step, -0.7, 0.7), -4, 4)
                value, rn = self.loss(new, weight)
                if value < best:
                    x, best, r, damp = new, value, rn, damp / 3
                    break
                damp *= 4
            if was - best < 1e-5 * was:
                break
        return x


def kendall(predicted, measured):
    """Over the pairs more than 5 % apart; None where all are within 10 %."""
    if max(measured) <= 1.1 * min(measured):
        return None
    m, p = np.log(measured), np.asarray(predicted)
    far = np.abs(m[:, None] - m[None, :]) > math.log(1.05)
    same = np.sign(m[:, None] - m[None, :]) * np.sign(p[:, None] - p[None, :])
    return float(same[far].sum() / far.sum())


def judged(rows, predicted):
    """By program: the first's time over the best's, and the correlation."""
    by = {}
    for r, p in zip(rows, predicted):
        by.setdefault((r["family"], r["program"]), []).append((p, r["us"]))
    out = {}
    for (family, program), c in sorted(by.items()):
        times = [us for _, us in c]
        out[program] = {"family": family, "candidates": len(c), "best": min(times), "first": min(c)[1] / min(times),
                        "kendall": kendall([p for p, _ in c], times)}
    return out


def summary(j):
    first, tau = [v["first"] for v in j.values()], [v["kendall"] for v in j.values() if v["kendall"] is not None]
    return ("first over best %.3f in the median, %.3f at worst, %d above 1.25; Kendall %.3f in the median, %.2f at least; "
            "%d programs, %d of them within 10 %%" % (np.median(first), max(first), sum(f > 1.25 for f in first),
                                                     np.median(tau), min(tau), len(j), len(j) - len(tau)))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("data", nargs="+")
    p.add_argument("--machine", default="H200")
    p.add_argument("--arch", default="H200")
    p.add_argument("--time", default="cold", choices=("cold", "hot"))
    p.add_argument("--prior", type=float, default=0.01)
    p.add_argument("--level", type=float, default=0.6)
    p.add_argument("--gpu", default="")
    p.add_argument("--fixed", default="")
    p.add_argument("--out", default="")
    p.add_argument("--write", default="", choices=("", "H200", "H100"))
    p.add_argument("--price", action="store_true")
    p.add_argument("--quick", action="store_true", help="no family is left out")
    p.add_argument("--top", type=int, default=0, help="programs to show, the worst; 0: all")
    a = p.parse_args()
    rows, errors = read(a.data, a.time, a.gpu)
    text = machine_text(a.machine)
    model = Model(rows, text, a.arch)
    start = {n: number_of(text, n) or number_of(machine_text(a.arch), n) for n in coefficients()}
    free = {n: v for n, v in start.items() if n not in a.fixed.split(",")}
    before = judged(rows, model.us(start))
    after, said = before, {"as it is": before}
    if not a.price:
        fit = Fit(rows, model, free, a.prior, a.level)
        x = fit.fitted()
        print("loss as it is %.4f, fitted %.4f" % (fit.loss(np.zeros(len(free)), fit.weight)[0], fit.loss(x, fit.weight)[0]))
        said["fitted"] = after = judged(rows, model.us(fit.values(x)))
        family = np.array([r["family"] for r in rows])
        left, folds = np.empty(len(rows)), []
        for f in [] if a.quick else sorted(set(family)):
            folds.append(fit.fitted(x, np.where(family == f, 0, fit.weight), 8))
            left[family == f] = model.us(fit.values(folds[-1]))[family == f]
        if folds:
            said["left out"] = after = judged(rows, left)
    show = lambda v: "-" if v is None else "%.2f" % v
    worst = sorted(after.items(), key=lambda v: -v[1]["first"])[:a.top] if a.top else \
        sorted(after.items(), key=lambda v: (v[1]["family"], v[0]))
    print("%-36s %4s %9s  first over best: as it is, then   Kendall: as it is, then" % ("program", "n", "best us"))
    for n, v in worst:
        b = before[n]
        print("%-36s %4d %9.2f %16.3f %14.3f %15s %14s" % (n, v["candidates"], v["best"], b["first"], v["first"],
                                                         show(b["kendall"]), show(v["kendall"])))
    if a.top:
        low = sorted((v["kendall"], n) for n, v in after.items() if v["kendall"] is not None)[:a.top]
        print("least correlation: " + ", ".join("%s %.2f" % (n, k) for k, n in low))
    print("%d candidates of %d families, %d without a time" % (len(rows), len({r["family"] for r in rows}), errors))
    for name, j in said.items():
        print("%-9s %s" % (name + ":", summary(j)))
    if a.price:
        return
    values = fit.values(x)
    print("\n%-20s %10s %10s  least and most, a family left out" % ("coefficient", "was", "fitted"))
    for k, n in enumerate(fit.names):
        of = [float(np.exp(fit.start[k] + f[k])) for f in folds] or [values[n]]
        print("%-20s %10.4g %10.4g  %.4g .. %.4g" % (n, start[n], values[n], min(of), max(of)))
    if a.write:
        write_column(a.write, values)
    if a.out:
        open(a.out, "w").write(model.with_values({n: float("%.4g" % v) for n, v in {**start, **values}.items()}))


if __name__ == "__main__":
    sys.exit(main())
