/* What the tests of links 2 and 3 share: a µGraph by hand, and its kernel, which has the bug that BUG names (0: none).
   Include it after cmocka.h and mirage.h. */
#ifndef MG_TESTS_COPY_H
#define MG_TESTS_COPY_H

#include <stdlib.h>
#include "parse.h"

/* prefix + body, as an emitted file would stand. */
static char *join(const char *prefix, const char *body) {
  char *s = (char *)malloc(strlen(prefix) + strlen(body) + 1);
  assert_non_null(s);
  strcpy(s, prefix);
  return strcat(s, body);
}

static const char copy_graph[] =
    "program copy\n"
    "input X : f16[24, 40]\n"
    "O = kernel grid=(x=3) threads=64 {\n"
    "  a = load X {x->0}\n"
    "  o = bend(scale(a, 1/3))\n"
    "  store o {x->0}\n"
    "}\n"
    "output O\n";
static const char copy_kernel[] =
    "#define MG_USER_OPS(E, T) E(BEND, \"bend\", 1, MG_KBT, NONE, OPAQUE, FF_OPAQUE(BEND, a), MG_TANH(a))\n"
    "#include \"mirage_cuda.cuh\"\n"
    "MG_KERNEL(64) void copy_k0(const mg_f16 *X, mg_f16 *O) {\n"
    "  for (int k = mg_tid(); k < 320; k += 64) {\n"
    "    mg_num a = mg_widen(mg_ldg(X + mg_bid(0) * 320 + k + (BUG == 9)));\n"
    "    mg_num s = mg_dev_SCALE(a, mg_zero(), mg_const(1, BUG == 2 ? 4 : 3));\n"
    "    if (BUG == 3 && k == 319) continue;\n"
    "    mg_stg(O + mg_bid(0) * 320 + k, mg_narrow<mg_f16>(BUG == 1 ? s : mg_dev_BEND(s, mg_zero(), mg_zero())));\n"
    "  }\n"
    "  if (BUG == 4) mg_stg((mg_f16 *)X, mg_narrow<mg_f16>(mg_zero()));\n"
    "  if (BUG == 5) *(volatile int *)16 = 1;\n"
    "  if (BUG == 6) for (volatile int k = 0;;) k = k + 1;\n"
    "  if (BUG == 7) mg_shared()[200] = 0;\n"
    "}\n"
    "extern \"C\" size_t copy_workspace_bytes(void) { return 0; }\n"
    "extern \"C\" int copy_launch(const void *const *in, void *const *out, void *workspace, cudaStream_t stream) {\n"
    "  (void)workspace;\n"
    "  return MG_LAUNCH(copy_k0, BUG == 8 ? 2 : 3, 1, 1, BUG == 10 ? 2048 : 64, BUG == 11 ? 300000 : BUG == 7 ? 200 : 0, stream, (const mg_f16 *)in[0], (mg_f16 *)out[0]);\n"
    "}\n";

#endif
