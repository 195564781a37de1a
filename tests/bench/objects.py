"""Shared objects of programs' µGraphs for best.py: what tests/programs.ugraphs has of a program, and the first of a search.

usage: objects.py FILE.mg .. --out DIR [--top K] [--turned] [--arch sm_90a] [--jobs N] [--mirage build/mirage] [--nvcc nvcc]

DIR/PROGRAM.N.so from the stored µGraphs, DIR/PROGRAM.sN.so from the first K, unlike one another, of a search that measures
nothing, each compiled by the command that its emitted file opens with; the .mg and .cu lie beside it.  --turned: and
DIR/PROGRAM.tN.so, of a search of the program whose products' weights are stored as [N, K].  Needs no GPU.
What DIR has already is kept.
"""
import argparse, concurrent.futures, glob, os, re, shlex, subprocess, sys
import bench, kinds

ROOT = bench.ROOT


def stored(arch):
    """{program: [text]} of tests/programs.ugraphs."""
    found = {}
    with open(os.path.join(ROOT, "tests", "programs.ugraphs")) as f:
        for part in f.read().split("\n#@ ")[1:]:
            of, text = part.split("\n", 1)
            if of == arch:
                found.setdefault(re.search(r"^program (\S+)", text, re.M).group(1), []).append(text.strip() + "\n")
    return found


def searched(a, path, name, failed):
    """The first µGraphs of a search, those of the same grids, loops and plans once; a search that fails is one of `failed`."""
    out = os.path.join(a.out, "search", os.path.basename(path)[:-3])
    if not os.path.isdir(out):
        _, err, rc = bench.run([a.mirage, "search", path, "--no-measure", "--top", str(4 * a.top), "--threads", "1", "--arch", a.arch, "-o", out])
        if rc:
            failed.append(name)
            bench.say(name, err.strip()[-200:])
    return bench.unlike(sorted(glob.glob(os.path.join(out, "[0-9][0-9].mg"))), a.top, 1)


def turned(a, path):
    """The program's file with its weights stored as [N, K]; None without --turned, and where there are none."""
    if not a.turned:
        return None
    with open(path) as f:
        text = kinds.turned_text(f.read())
    file = os.path.join(a.out, "search", os.path.basename(path)[:-3] + ".turned.mg")
    if text:
        with open(file, "w") as f:
            f.write(text)
    return text and file


def command(cu, so, nvcc):
    """The command that an emitted file opens with, for these paths."""
    with open(cu) as f:
        text = f.read().split("*/")[0].split("\n *\n")[0]
    words = shlex.split(text.lstrip("/* ").replace("\\\n", " "))
    words = [w for k, w in enumerate(words) if w != "-o" and words[k - 1] != "-o" and not w.endswith(".cu")]
    return [nvcc] + [w.replace("<mirage>", ROOT) for w in words[1:]] + ["-o", so, cu]


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("files", nargs="+", metavar="FILE.mg")
    ap.add_argument("--out", required=True)
    ap.add_argument("--top", type=int, default=3)
    ap.add_argument("--turned", action="store_true")
    ap.add_argument("--arch", default="sm_90a")
    ap.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    ap.add_argument("--mirage", default=os.path.join(ROOT, "build", "mirage"))
    ap.add_argument("--nvcc", default="nvcc")
    a = ap.parse_args()
    os.makedirs(os.path.join(a.out, "search"), exist_ok=True)
    kept, failed = stored(a.arch), []

    def one(path):
        name = os.path.basename(path)[:-3]
        texts = {"%d" % k: t for k, t in enumerate(kept.get(name, []))}
        for kind, file in (("s", path), ("t", turned(a, path))) if a.top else ():
            for k, mg in enumerate(searched(a, file, name, failed) if file else []):
                with open(mg) as f:
                    texts["%s%d" % (kind, k)] = f.read()
        for k, text in texts.items():
            stem = os.path.join(a.out, "%s.%s" % (name, k))
            if os.path.exists(stem + ".so"):
                continue
            with open(stem + ".mg", "w") as f:
                f.write(text)
            _, err, rc = bench.run([a.mirage, "emit", stem + ".mg", "--arch", a.arch, "-o", stem + ".cu"])
            if not rc:
                _, err, rc = bench.run(command(stem + ".cu", stem + ".so", a.nvcc))
            if rc:
                failed.append(stem)
                bench.say(stem, err.strip()[-200:])
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        list(pool.map(one, a.files))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
