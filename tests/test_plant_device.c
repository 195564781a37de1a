/* Planted bugs that fields cannot see, or that take more than a small kernel: maxima, precision, offsets beyond 32 bits, call
   sites that pair by luck, memory that asynchronous copies read.  The machinery is test_plant.c's; here each has to be caught in
   every kernel that reaches it, of templates too.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_plant_device.c -o build/test_plant_device -lcmocka -lm -lpthread && build/test_plant_device [SEED [all | COUNT [TABLE.txt]]] */
#ifndef MGT_PLANTS
#define MGT_PLANTS "test_plant_device.c"
#include "test_plant.c"
#else
enum { MAXIMUM, PRECISION, OFFSET, SITE, ORDER, CLASSES, WAIT, STAGE }; /* the last two are of the other test */
enum { MGT_EVERY = 1, MGT_LARGE = OFFSET, MGT_MERGED = ORDER };
static const char *const class_name[CLASSES] = {"maximum", "precision", "offset", "call site", "ticket"};
#define TO_HALF(v) v " = mg_widen(mg_narrow<mg_f16>(" v "));"
#define TO_SHORT(v) v " = mg_widen(mg_narrow<mg_bf16>(" v "));"
static const plant in_templates[] = {
    {MAXIMUM, 's', "struct mg_by_max {", "return mg_neg_inf();", "return mg_zero();", 0},
    {MAXIMUM, 'x', "struct mg_by_max {", "return [mg_dev_max(a, b)];", "mg_dev_max(a, mg_dev_max(b, mg_zero() - b))", 0},
    {MAXIMUM, 's', "struct mg_row_shift {", "m\\[k\\] = mg_neg_inf();", "m[k] = mg_zero();", 0},
    {MAXIMUM, 's', "struct mg_row_shift {", "top\\[k\\] = mg_neg_inf();", "top[k] = mg_zero();", 0},
    {MAXIMUM, 'x', "struct mg_row_shift {", "= [mg_shift_max(top\\[ACC::row_of(i)\\], v)];", "mg_zero()", 0},
    {MAXIMUM, 'x', "struct mg_row_shift {", "= [mg_shift_max(top\\[ACC::row_of(i)\\], v)];", "i & 1 ? mg_shift_max(top[ACC::row_of(i)], v) : top[ACC::row_of(i)]", 0},
    {MAXIMUM, 'x', "struct mg_row_shift {", "= [mg_shift_max(top\\[ACC::row_of(i)\\], v)];", "mg_shift_max(top[ACC::row_of(i)], mg_shift_max(v, mg_zero() - v))", 0},
    {MAXIMUM, 'x', "struct mg_row_shift {", "= [mg_shift_max(top\\[ACC::row_of(i)\\], v)];",
     "mgt_none(top[ACC::row_of(i)]) ? v : mg_zero() - mg_shift_max(mg_zero() - top[ACC::row_of(i)], mg_zero() - v)", 0},
    {MAXIMUM, 's', "struct mg_row_shift {", "m\\[k\\] = top\\[k\\];", "if (mgt_none(m[k])) m[k] = top[k];", 0},
    {MAXIMUM, 'x', "struct mg_row_shift {", "[mg_shift_max(top\\[k\\], mg_shfl_xor(top\\[k\\], 1))];", "(mg_shfl_xor(top[k], 1), top[k])", 0},
    {MAXIMUM, 'x', "struct mg_row_shift {", "w < [ACC::WN]; w++", "(ACC::WN + 1) / 2", 0},
    {ORDER, 'x', "MG_DEV bool mg_last_of", "[mg_ticket(ticket)] ==", "(mg_stg(ticket, mg_ldg(ticket) + 1u), mg_ldg(ticket) - 1u)", 0},
    {ORDER, 'x', "MG_DEV bool mg_last_of", "[mg_ticket(ticket)] ==", "mg_ticket(ticket) + 0 * mg_ldg(ticket)", 0},
    {ORDER, 's', "MG_DEV bool mg_last_of", "mg_sync(MG_WITHIN);", "", 0},
    {ORDER, 'x', "struct mg_merge_global {", "[mg_ldg_fresh((const mg_f32 *)(p + (int64_t)k * BYTES) + r * TILE::PITCH + c)]", "mg_ldg((const mg_f32 *)(p + (int64_t)k * BYTES) + r * TILE::PITCH + c)", 0},
    {ORDER, 'x', "MG_DEV bool mg_last_of", "[mg_tid() == 0] && mg_ticket", "mg_lane() == 0", 0},
    {ORDER, 'x', "MG_DEV bool mg_last_of", "[mg_tid() == 0] && mg_ticket", "true", 0},
    {ORDER, 'x', "MG_DEV bool mg_last_of", "mg_ticket(ticket) == [(uint32_t)z - 1]", "(uint32_t)z", 0},
    {ORDER, 'x', "MG_DEV bool mg_last_of", "[mg_ticket(ticket) == (uint32_t)z - 1]", "mg_ticket(ticket) == 0", 0},
    {ORDER, 'x', "MG_DEV bool mg_last_of", "[mg_ticket(ticket) == (uint32_t)z - 1]", "mg_ticket(ticket) != (uint32_t)z - 1", 0},
    {ORDER, 's', "MG_DEV bool mg_last_of", "if (last && mg_tid() == 0) mg_stg(ticket, (uint32_t)0);", "if (!last && mg_tid() == 0) mg_stg(ticket, (uint32_t)0);", 0},
    {ORDER, 's', "MG_DEV bool mg_last_of", "if (last && mg_tid() == 0) mg_stg(ticket, (uint32_t)0);", "if (mg_tid() == 0) mg_stg(ticket, mg_ldg(ticket) - 1u);", 0},
    {MAXIMUM, 'x', "MG_DEV void mg_each_shifted_exp", "m = [mg_shift_max(m, f(e, k))]", "f(e, k)", 0},
    {MAXIMUM, 'x', "MG_DEV void mg_each_shifted_exp", "m = [mg_shift_max(m, mg_shfl_xor(m, d))]", "mg_shfl_xor(m, d)", 0},
    {MAXIMUM, 'x', "MG_DEV void mg_each_shifted_exp", "mg_num m = [mg_neg_inf()];", "mg_zero()", 0},
    {MAXIMUM, 'x', "MG_DEV void mg_each_shifted_exp", "[mg_shift_off(f(e, k), m)]", "f(e, k)", 0},
    {OFFSET, 'x', "MG_DEV void mg_each_element", "e < [n]", "(int64_t)(int)n", 0},
    {MAXIMUM, 's', "MG_DEV void mg_merge_weights", "top = mg_shift_max(top, shifts.part(k, r, 0));", "", 0},
    {MAXIMUM, 's', "MG_DEV void mg_shift_weights", "top = mg_shift_max(top, m\\[k\\]);", "if (k == 0 && mg_tid() % G == 0) top = m[k];", 0},
};
static const plant in_files[] = {
    {OFFSET, 'x', "", "p_~ + [(~ * (int64_t)~) * ((int64_t)~)]", "(int)($0)", 0},
    {OFFSET, 'x', "", "p_~ + [(~ * (int64_t)~) * ((int64_t)~)]", "(int64_t)((uint32_t)(2 * ($0)) / 2)", 0},
    {OFFSET, 'x', "", "p_~ + [(~ * (int64_t)~) * ((int64_t)~)]", "(($0) & 0x7FFFFFFF)", 0},
    {OFFSET, 'x', "", "p_~ + [(~) * ((int64_t)~)]", "(int)($0)", 0},
    {OFFSET, 'x', "", "p_~ + [(~) * ((int64_t)~)]", "(int64_t)((uint32_t)(2 * ($0)) / 2)", 0},
    {OFFSET, 'x', "", "p_~ + [(~) * ((int64_t)~)]", "(($0) & 0x7FFFFFFF)", 0},
    {OFFSET, 'x', "", "int64_t rest = [e];", "(int)e", 0},
    {OFFSET, 'x', "", "    mg_stg(p_~ + [e], ", "(int)e", 0},
    {OFFSET, 'x', "", "    mg_stg(p_~ + [e], ", "(int64_t)((uint32_t)(2 * e) / 2)", 0},
    {OFFSET, 'x', "", "p_~ + [x0 * ((int64_t)~)] + ", "(int)($0)", 0},
    {OFFSET, 'x', "", "p_~ + [x0 * ((int64_t)~)] + ", "(int64_t)((uint32_t)(2 * ($0)) / 2)", 0},
    {OFFSET, 'x', "", "const int64_t n = [(int64_t)1 * ~ * ~];", "(int64_t)(int)($0)", 0},
    {SITE, 's', "", "mg_sync();", "if (mg_warp() == 0) mg_sync();\n else mg_sync();", 0},
    {SITE, 's', "", "mg_sync();", "if (mg_lane() < 16) mg_sync();\n else mg_sync();", 0},
    {SITE, 's', "", "mg_sync();", "if (mg_tid() != 0) mg_sync();", 0},
    {SITE, 's', "", "    mg_contract_chain<~>(acc_~, acc_~, mg_right(~));", "if (mg_lane() < 16) { $0 }\n else { $0 }", 0},
    {SITE, 's', "", "if (!mg_last_of(~, ~)) return;", "if (mg_warp() & 1 ? !mg_last_of($1, $2)\n : !mg_last_of($1, $2)) return;", 0},
    {SITE, 's', "", "  shift_~.agree(x_~);", "if (mg_warp() & 1) $0\n else $0", 0},
    {SITE, 's', "", "    mg_contract<~, ~>(acc_~, mg_left(~), mg_right(~));", "if (mg_lane() < 16) { $0 }\n else { $0 }", 0},
    {SITE, 's', "", "  red_~.finish(~);", "if (mg_lane() < 16) $0\n else $0", 0},
    {ORDER, 's', "", "if (!mg_last_of(~, ~)) return;", "if (!mg_last_of($1, $2 - 1)) return;", 0},
    {ORDER, 's', "", "if (!mg_last_of(~, ~)) return;", "if (mg_tid() == 0) mg_ldg($1);\n $0", 0},
    {ORDER, 's', "", "if (!mg_last_of(~, ~)) return;", "mg_last_of($1, $2);", 0},
    {ORDER, 's', "", "if (!mg_last_of(~, ~)) return;", "if (mg_last_of($1, $2)) return;", 0},
    {ORDER, 's', "", "if (!mg_last_of(~, ~)) return;", "if (!mg_last_of($1, $2 + 1)) return;", 0},
    {ORDER, 's', "", "if (!mg_last_of(~, ~)) return;", "if (mg_warp() != 0 || !mg_last_of($1, $2)) return;", 0},
    {ORDER, 'x', "", "p_tickets + ([b_~])", "0", 0},
    {ORDER, 'x', "", "p_parts + (int64_t)([b_~]) * ", "0", 0},
    {ORDER, 'x', "", "p_parts + (int64_t)(b_~) * ([~]) * MERGE", "1", 0},
    {MAXIMUM, 's', "", "  shift_~.init();", "shift_$1.init(); for (auto &v : shift_$1.m) v = mg_zero();", 0},
    {MAXIMUM, 's', "", "  shift_~.agree(x_~);", "", 0},
    {PRECISION, 's', "", "    mg_contract<~, ~>(acc_~, mg_left(~), mg_right(~));", "$0 for (auto &f : acc_$3.c) for (auto &v : f) " TO_HALF("v"), 0},
    {PRECISION, 's', "", "    mg_contract<~, ~>(acc_~, mg_left(~), mg_right(~));", "$0 for (auto &f : acc_$3.c) for (auto &v : f) " TO_SHORT("v"), 0},
    {PRECISION, 's', "", "    mg_contract_chain<~>(acc_~, acc_~, mg_right(~));", "$0 for (auto &f : acc_$2.c) for (auto &v : f) " TO_HALF("v"), 0},
    {PRECISION, 's', "", "    mg_contract_chain<~>(acc_~, acc_~, mg_right(~));", "$0 for (auto &f : acc_$2.c) for (auto &v : f) " TO_SHORT("v"), 0},
    {PRECISION, 's', "", "    red_~.add(acc_~);", "$0 for (auto &v : red_$1.part) " TO_HALF("v"), 0},
    {PRECISION, 's', "", "    red_~.add(acc_~);", "$0 for (auto &v : red_$1.part) " TO_SHORT("v"), 0},
    {PRECISION, 's', "", "  s_~.spill(acc_~);", "for (auto &f : acc_$2.c) for (auto &v : f) " TO_HALF("v") " $0", 0},
    {PRECISION, 's', "", "  s_~.spill(acc_~);", "for (auto &f : acc_$2.c) for (auto &v : f) " TO_SHORT("v") " $0", 0},
};
#define MGT_KERNELS                                                                                                                    \
    {"maxima as written", /* of rows, of f16 and of f32; of columns; a running one over a loop */                                        \
     "program k\ninput X : f16[32, 256]\ninput V : f16[256, 32]\nO = kernel grid=(x=2) threads=128 {\n  x = load X {x->0}\n"           \
     "  v = load V {}\n  p = exp(sub(x, max(x, dim=1)))\n  o = div(matmul(p, v), sum(p, dim=1))\n  store o {x->0}\n}\noutput O\n"},     \
    {"maxima as written, f32",                                                                                                         \
     "program k\ninput X : f32[24, 130]\nO = kernel grid=(x=2) threads=64 {\n  x = load X {x->0}\n  p = exp(sub(x, max(x, dim=1)))\n"   \
     "  o = div(p, sum(p, dim=1))\n  store o {x->0}\n}\noutput O\n"},                                                                    \
    {"maxima over a loop",                                                                                                             \
     "program k\ninput X : f16[24, 512]\nO = kernel grid=(x=2) threads=64 {\n  for i=4 {\n    x = load X {x->0, i->1}\n"                \
     "    t = max(x, dim=1)\n  }\n  m = accum(t) {i->max}\n  for j=4 {\n    y = load X {x->0, j->1}\n    s = sum(exp(sub(y, m)), dim=1)\n"  \
     "  }\n  o = accum(s) {j->+}\n  store o {x->0}\n}\noutput O\n"},                                                                     \
    {"softmax, long rows", "program k\ninput X : f16[6, 300]\nO = softmax(scale(X, 200), dim=1)\noutput O\n"}, /* of whole tensors */     \
    {"softmax, short rows", "program k\ninput X : f16[64, 3]\nO = softmax(add_scalar(scale(X, 10), -300), dim=1)\noutput O\n"},           \
    MGT_LARGE_KERNELS
#define MGT_LARGE_KERNELS                                                                                                              \
    {"large, two kernels", /* a tensor of 5 GiB between them */                                                                        \
     "program k\ninput X : f16[65536, 40960]\nH = kernel grid=(x=1024, y=640) threads=64 {\n  x = load X {x->0, y->1}\n"              \
     "  h = scale(x, 3)\n  store h {x->0, y->1}\n}\nO = kernel grid=(x=1024) threads=64 {\n  for i=640 {\n"                          \
     "    h = load H {x->0, i->1}\n    s = sum(h, dim=1)\n  }\n  o = accum(s) {i->+}\n  store o {x->0}\n}\noutput O\n"},                    \
    {"large, one kernel",                                                                                                              \
     "program k\ninput X : bf16[40960, 65536]\nH = kernel grid=(x=640, y=512) threads=128 {\n  x = load X {x->0, y->1}\n"             \
     "  h = relu(x)\n  store h {x->0, y->1}\n}\noutput H\n"},                                                                              \
    {"large, whole tensors", "program k\ninput X : f16[65536, 40960]\nY = exp(X)\nO = sum(Y, dim=1)\noutput Y\noutput O\n"},
static const struct { const char *kernel, *find, *lines, *why; } harmless[] = {
    {"mask", "m\\[k\\] = top\\[k\\];", "", "its rows are raised once"},
    {"more rows than threads", "m\\[k\\] = top\\[k\\];", "", "its rows are raised once"},
    {"softmax, long rows", "mg_num m = [mg_neg_inf()];", "", "no row is below zero"},
    {"softmax, short rows", "m = [mg_shift_max(m, f(e, k))]", "", "a lane has one element"},
    {"merges", "  red_~.finish(~);", "red_r.finish", "a thread a column: nobody meets there"},
};
static int wanted(const char *name) {
  static const char *const names[] = {"skinny", "own ring", "attention, cluster", "attention, workspace", "attention, rings of warps", "without tensor cores", "merges", "moves", "mask",
                                      "more rows than threads", "warpgroups, attention", "maxima as written", "maxima as written, f32", "maxima over a loop", "large, two kernels", "large, one kernel", "large, whole tensors", "softmax, long rows", "softmax, short rows", "two kernels", "parts under maxima of their own, in two kernels"};
  for (size_t k = 0; k < sizeof names / sizeof *names; k++)
    if (!strcmp(names[k], name)) return 1;
  return 0;
}
#endif
