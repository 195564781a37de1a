#!/usr/bin/env python3
"""Programs of many row counts, for objects.py and best.py.

usage: rows.py DIR [--only REGEX]      DIR/NAME.mg of each; prints their paths

norm + linear (4096 x 4096, 4096 x 6144), gated MLP (4096 x 14336), down projection + residual (14336 x 4096) and
linear + bias + gelu (4096 x 4096) at ROWS rows; attention of 32 heads of 128, four a key-value head, at NEW rows against
4096 keys; causal attention of as many queries as keys, and of 2048 by heads of 64 and 256.
"""
import argparse, os, re

ROWS = (1, 8, 16, 64, 128, 256, 512, 1024, 2048, 4096)
NEW = (1, 16, 128)
PREFILL = (512, 1024, 2048, 4096, 8192)
WIDTHS = (64, 256)


def norm_linear(m, n):
    return f"input X : f16[{m}, 4096]\ninput G : f16[4096]\ninput W : f16[4096, {n}]\n" \
           f"O = matmul(rms_norm(X, G, eps=1/1000000), W)\n"


def gated_mlp(m):
    return f"input X : f16[{m}, 4096]\ninput A : f16[4096, 14336]\ninput B : f16[4096, 14336]\n" \
           f"O = mul(silu(matmul(X, A)), matmul(X, B))\n"


def down_residual(m):
    return f"input X : f16[{m}, 14336]\ninput W : f16[14336, 4096]\ninput R : f16[{m}, 4096]\nO = add(matmul(X, W), R)\n"


def linear_bias_gelu(m):
    return f"input X : f16[{m}, 4096]\ninput W : f16[4096, 4096]\ninput B : f16[4096]\nO = gelu(add(matmul(X, W), B))\n"


def attention(heads, rows, keys, mask="", dim=128):
    scores = f"scale(matmul(Q, K), 1/{round(dim ** 0.5)})"
    masked = f"{mask}({scores})" if mask else scores
    return f"input Q : f16[{heads}, {rows}, {dim}]\ninput K : f16[{heads}, {dim}, {keys}] @ [0, 2, 1]\n" \
           f"input V : f16[{heads}, {keys}, {dim}]\n" \
           f"O = matmul(softmax({masked}, dim=2), V)\n"


def programs():
    made = {}
    for m in ROWS:
        for n in (4096, 6144):
            made[f"rows_norm_linear_n{n}_m{m}"] = norm_linear(m, n)
        made[f"rows_gated_mlp_m{m}"] = gated_mlp(m)
        made[f"rows_down_residual_m{m}"] = down_residual(m)
        made[f"rows_linear_bias_gelu_m{m}"] = linear_bias_gelu(m)
    for rows in NEW:  # the four query heads of a key-value head are rows of one
        made[f"rows_attention_m{rows}"] = attention(8, 4 * rows, 4096)
    for n in PREFILL:
        made[f"rows_prefill_n{n}"] = attention(32, n, n, "causal")
    for dim in WIDTHS:
        made[f"rows_prefill_d{dim}"] = attention(32, 2048, 2048, "causal", dim)
    return made


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("directory")
    ap.add_argument("--only", default="")
    a = ap.parse_args()
    os.makedirs(a.directory, exist_ok=True)
    for name, body in programs().items():
        if not re.search(a.only, name):
            continue
        path = os.path.join(a.directory, name + ".mg")
        with open(path, "w") as f:
            f.write(f"program {name}\n{body}output O\n")
        print(path)


if __name__ == "__main__":
    main()
