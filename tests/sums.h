/* A family whose rows are summed from a place on that FROM says, which may hang on n: right by all that is compared with float64,
   but for the bits. */
#define SUMS_GRAPH                                                                                                            \
  "program sums\nsym n in 1..9\ninput X : f32[n, 64]\n"                                                                      \
  "S = kernel grid=(x=n) threads=32 {\n  x = load X {x->0}\n  s = sum(x, dim=1)\n  store s {x->0}\n}\noutput S\n"
#define SUMS(FROM)                                                                                                             \
  "#include \"mirage_cuda.cuh\"\n"                                                                                           \
  "MG_KERNEL(32) void sums_k0(const mg_f32 *X, mg_f32 *S, int64_t n) {\n  mg_num s = mg_zero();\n  if (mg_tid()) return;\n"  \
  "  for (int k = 0; k < 64; k++) s = s + mg_widen(mg_ldg(X + mg_bid(0) * 64 + (k + " FROM ") % 64));\n"                     \
  "  mg_stg(S + mg_bid(0), mg_narrow<mg_f32>(s));\n}\nextern \"C\" size_t sums_workspace_bytes(void) { return 0; }\n"         \
  "extern \"C\" int sums_launch(const void *const *in, void *const *out, void *workspace, const int64_t *sym, cudaStream_t stream) {\n" \
  "  if (sym[0] < 1 || sym[0] > 9) return 1;\n"                                                                                \
  "  return MG_LAUNCH(sums_k0, sym[0], 1, 1, 32, 0, stream, (const mg_f32 *)in[0], (mg_f32 *)out[0], sym[0]);\n}\n"
/* The same of two symbols beside one that is summed over. */
#define SUMS_BOX_GRAPH                                                                                                         \
  "program sums\nsym m in 1..3\nsym n in 1..5\nsym p in 1..64\ninput X : f32[m, n, p]\n"                                      \
  "S = kernel grid=(x=n, y=m) threads=32 {\n  for i=ceil(p/16) {\n    x = load X {x->1, y->0, i->2}\n    s = sum(x, dim=2)\n  }\n" \
  "  t = accum(s) {i->+}\n  store t {x->1, y->0}\n}\noutput S\n"
#define SUMS_BOX(FROM)                                                                                                         \
  "#include \"mirage_cuda.cuh\"\n"                                                                                           \
  "MG_KERNEL(32) void sums_k0(const mg_f32 *X, mg_f32 *S, int64_t m, int64_t n, int64_t p) {\n  mg_num s = mg_zero();\n"      \
  "  const int64_t row = mg_bid(1) * n + mg_bid(0);\n  if (mg_tid()) return;\n"                                              \
  "  for (int64_t k = 0; k < p; k++) s = s + mg_widen(mg_ldg(X + row * p + (k + " FROM ") % p));\n"                           \
  "  mg_stg(S + row, mg_narrow<mg_f32>(s));\n}\nextern \"C\" size_t sums_workspace_bytes(void) { return 0; }\n"              \
  "extern \"C\" int sums_launch(const void *const *in, void *const *out, void *workspace, const int64_t *sym, cudaStream_t stream) {\n" \
  "  if (sym[0] < 1 || sym[0] > 3 || sym[1] < 1 || sym[1] > 5 || sym[2] < 1 || sym[2] > 64) return 1;\n"                      \
  "  return MG_LAUNCH(sums_k0, sym[1], sym[0], 1, 32, 0, stream, (const mg_f32 *)in[0], (mg_f32 *)out[0], sym[0], sym[1], sym[2]);\n}\n"
