"""The measured tables of tests/bench/results/README.md, and their summary in README.md, from what bench.py wrote.

usage: table.py RESULT.json ..                     prints the tables
       table.py --readme FILE.md [RESULT.json ..]  puts the tables between FILE's marks `measured`, the summary between its
                                                   marks `summary`; without results from those that the marks name

A later file's row replaces an earlier one's of the same program, unless it failed.  A row of an earlier day than the last file's says so.
"""
import json, math, os, re, sys, textwrap

MARK = re.compile(r"(<!-- (measured|summary): printed by tests/bench/table.py\s+([^>]*?) -->\n).*?(<!-- end of \2 -->)", re.S)
GROUPS = (("the six benchmarks and the decode step", r"^(rmsnorm_linear|gated_mlp|lora_m|gqa|qknorm|ntrans)"), ("chained products and attention of the MCFuser paper", r"^(gemm_chain_g|attention_s)\d"),
          ("programs that nothing was made for (`tests/bench/programs`)", r""))


def number(v, form="%.2f"):
    return "-" if v is None else form % v


def group(row):
    """Of the groups the first that the row's program is in."""
    return next(k for k, (_, pattern) in enumerate(GROUPS) if re.search(pattern, row["program"]))


def mean(v):
    return math.exp(sum(map(math.log, v)) / len(v))


def read(paths):
    """The runs, and the rows of all of them by group."""
    runs = [json.load(open(p)) for p in paths]
    for h in runs:
        for r in h["rows"]:
            r["of"] = "" if h["date"] == runs[-1]["date"] else " (%s)" % h["date"]
    rows = {}
    for r in (r for h in runs for r in h["rows"]):
        if "error" not in r or r["program"] not in rows:
            rows[r["program"]] = r
    return runs, sorted(rows.values(), key=group)


def machine(head):
    return "One %s, nvcc %s, PyTorch %s, Triton %s, %s" % (head["gpu"], re.sub(r"^.*cuda_([\d.]+?)\.r.*$", r"\1", head["nvcc"] or "?"), head["torch"], head["triton"], head["date"])


def ratios(rows, k):
    """Of a group, cold: (its rows, the best peer's time over ours of each, the same with dependent launches, the peer's too where
    it was timed with them); where there are rows of an earlier run, without them and with them."""
    every = [r for r in rows if "error" not in r and group(r) == k and r.get("best_peer_us_cold")]
    for got in [[r for r in every if not r["of"]]] + ([every] if any(r["of"] for r in every) else []):
        if got:
            yield (got, [r["best_peer_us_cold"] / r["ours_us_cold"] for r in got],
                   [r.get("best_peer_pdl_us_cold", r["best_peer_us_cold"]) / min(r.get("ours_pdl_us_cold") or 1e30, r["ours_us_cold"]) for r in got])


def summary(runs, rows):
    out = ["| %s; cold L2 cache, best peer's time over ours | programs | geometric mean | least | with dependent launches |" % machine(runs[-1]), "|---|---|---|---|---|"]
    for k, (name, _) in enumerate(GROUPS):
        for got, plain, pdl in ratios(rows, k):
            of = ", %d of an earlier run" % sum(bool(r["of"]) for r in got) if any(r["of"] for r in got) else ""
            out.append("| %s | %d%s | %.2fx | %.2fx | %.2fx |" % (name, len(got), of, mean(plain), min(plain), mean(pdl)))
    return "\n".join(out) + "\n"


def section(runs, rows):
    head = runs[-1]
    out = [machine(head) + ":", "", "```"]
    for h in runs:
        words = re.sub(r"(--\w+) ", "\\1\0", h["command"]) # an option and its value stand on one line
        out.append(" \\\n".join(textwrap.wrap(words, 117, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)).replace("\0", " "))
    out += ["```", ""]
    c = head.get("ceilings") or {}
    if c:
        out.append("That machine: copies at %.2f TB/s, fp16 products at %.0f TFLOP/s, %.2f µs an empty call." % (c["copy_TBps"], c["fp16_matmul_TFLOPs"], c["graph_node_us"]))
    for h in runs:
        p = h.get("prediction")
        if p:
            out.append("Rank correlation of predicted and measured times, %d candidates: %.2f." % (p["candidates"], p["spearman"]))
        if h.get("not_run"):
            left = [n for n in h["not_run"] if n not in {r["program"] for r in rows}]
            out += ["Not run within the budget: %s." % ", ".join(left)] if left else []
    out += ["", "| program | hot | cold | pdl, hot | pdl, cold | best peer, hot | cold | cold, against it | pdl | floor, cold | relative error | best peer, cold |", "|---|" + "---|" * 11]
    for r in rows:
        if "error" in r:
            out.append("| %s | %s |%s" % (r["program"], r["error"].replace("|", "/")[:80], " |" * 10))
            continue
        peer, pdl = r.get("best_peer_us_cold"), r.get("ours_pdl_us_cold")
        dependent = r.get("best_peer_pdl_us_cold", peer)
        out.append("| %s%s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |" % (
            r["program"], r["of"], number(r["ours_us_hot"]), number(r["ours_us_cold"]), number(r.get("ours_pdl_us_hot")), number(pdl), number(r.get("best_peer_us_hot")), number(peer),
            number(peer and peer / r["ours_us_cold"], "%.2fx"), number(dependent and pdl and dependent / min(pdl, r["ours_us_cold"]), "%.2fx"), number(r.get("floor_us")), "%.1e" % r["relative_error"], r.get("best_peer", "-")))
    return "\n".join(out) + "\n\n" + summary(runs, rows)


def main():
    if len(sys.argv) < 2 or sys.argv[1:] == ["--readme"]:
        print(__doc__.strip(), file=sys.stderr)
        return 3
    if sys.argv[1] != "--readme":
        print(section(*read(sys.argv[1:])), end="")
        return 0
    path, files = sys.argv[2], sys.argv[3:]
    text = open(path).read()
    if not MARK.search(text):
        print("table.py: %s has no marks" % path, file=sys.stderr)
        return 3

    def filled(m):
        names = files or m.group(3).split()
        mark = m.group(1).replace(m.group(3), "\n  ".join(files)) if files else m.group(1)
        return mark + (section if m.group(2) == "measured" else summary)(*read(names)) + m.group(4)
    new = MARK.sub(filled, text)
    if new != text:
        open(path, "w").write(new)
    return 0


if __name__ == "__main__":
    sys.exit(main())
