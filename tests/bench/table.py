"""The measured part of the README from what bench.py wrote.

usage: table.py RESULT.json ..                      prints it
       table.py --readme README.md [RESULT.json ..]  puts it between README's marks; without files from those that the
                                                     first mark names

A later file's row replaces an earlier one's of the same program.  A row of an earlier day than the last file's says so.
"""
import json, math, os, re, sys

MARK = re.compile(r"(<!-- measured: printed by tests/bench/table.py ([^>]*?) -->\n).*?(<!-- end of measured -->)", re.S)
GROUPS = (("the six benchmarks and the decode step", r"^(rmsnorm_linear|gated_mlp|lora_m|gqa|qknorm|ntrans)"), ("chained products and attention of the MCFuser paper", r"^(gemm_chain_g|attention_s)\d"),
          ("programs that nothing was made for (`tests/bench/programs`)", r""))


def number(v, form="%.2f"):
    return "-" if v is None else form % v


def group(row):
    """Of the groups the first that the row's program is in."""
    return next(k for k, (_, pattern) in enumerate(GROUPS) if re.search(pattern, row["program"]))


def mean(v):
    return math.exp(sum(map(math.log, v)) / len(v))


def section(paths):
    runs = [json.load(open(p)) for p in paths]
    head = runs[-1]
    for h in runs:
        for r in h["rows"]:
            r["of"] = "" if h["date"] == head["date"] else " (%s)" % h["date"]
    rows = sorted({r["program"]: r for h in runs for r in h["rows"]}.values(), key=group)
    out = ["One %s, nvcc %s, PyTorch %s, Triton %s, %s; `%s`." % (
        head["gpu"], re.sub(r"^.*cuda_([\d.]+?)\.r.*$", r"\1", head["nvcc"] or "?"), head["torch"], head["triton"], head["date"], "`, `".join(h["command"] for h in runs))]
    c = head.get("ceilings") or {}
    if c:
        out.append("That machine: copies at %.2f TB/s, fp16 products at %.0f TFLOP/s, %.2f µs an empty call." % (c["copy_TBps"], c["fp16_matmul_TFLOPs"], c["graph_node_us"]))
    for h in runs:
        p = h.get("prediction")
        if p:
            out.append("Rank correlation of predicted and measured times, %d candidates: %.2f." % (p["candidates"], p["spearman"]))
        if h.get("not_run"):
            out.append("Not run within the budget: %s." % ", ".join(h["not_run"]))
    out += ["", "| program | hot | cold | pdl, hot | pdl, cold | best peer, hot | cold | cold, against it | pdl | floor, cold | relative error | best peer, cold |", "|---|" + "---|" * 11]
    for r in rows:
        if "error" in r:
            out.append("| %s | %s |%s" % (r["program"], r["error"].replace("|", "/")[:80], " |" * 10))
            continue
        peer, pdl = r.get("best_peer_us_cold"), r.get("ours_pdl_us_cold")
        out.append("| %s%s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |" % (
            r["program"], r["of"], number(r["ours_us_hot"]), number(r["ours_us_cold"]), number(r.get("ours_pdl_us_hot")), number(pdl), number(r.get("best_peer_us_hot")), number(peer),
            number(peer and peer / r["ours_us_cold"], "%.2fx"), number(peer and pdl and peer / pdl, "%.2fx"), number(r.get("floor_us")), "%.1e" % r["relative_error"], r.get("best_peer", "-")))
    out.append("")
    for k, (name, _) in enumerate(GROUPS):
        every = [r for r in rows if "error" not in r and group(r) == k and r.get("best_peer_us_cold")]
        for got in [[r for r in every if not r["of"]]] + ([every] if any(r["of"] for r in every) else []):
            if not got:
                continue
            plain = [r["best_peer_us_cold"] / r["ours_us_cold"] for r in got]
            pdl = [r["best_peer_us_cold"] / min(r.get("ours_pdl_us_cold") or 1e30, r["ours_us_cold"]) for r in got]
            out.append("Cold, %s, %d programs%s: geometric mean %.2fx, least %.2fx; with dependent launches where they pay %.2fx." % (
                name, len(got), ", %d of them of an earlier run" % sum(bool(r["of"]) for r in got) if any(r["of"] for r in got) else "", mean(plain), min(plain), mean(pdl)))
    return "\n".join(out) + "\n"


def main():
    if len(sys.argv) < 2 or sys.argv[1:] == ["--readme"]:
        print(__doc__.strip(), file=sys.stderr)
        return 3
    if sys.argv[1] != "--readme":
        print(section(sys.argv[1:]), end="")
        return 0
    path, files = sys.argv[2], sys.argv[3:]
    text = open(path).read()
    if not MARK.search(text):
        print("table.py: %s has no marks" % path, file=sys.stderr)
        return 3

    def filled(m):
        names = files or m.group(2).split()
        return m.group(1).replace(m.group(2), " ".join(names)) + section(names) + m.group(3)
    new = MARK.sub(filled, text)
    if new != text:
        open(path, "w").write(new)
    return 0


sys.exit(main())
