/* Planted bugs (the third claim of link 2): one line of a template of mirage_cuda.cuh, or of an emitted file, is made
   wrong at a time, and mg_cuda_check must say so.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_plant.c -o build/test_plant -lcmocka -lm -lpthread && build/test_plant [SEED [all | COUNT [TABLE.txt]]]

   How.  A plant is a range of text and what stands there instead.  All plants of a file are put into one copy of it, each
   behind a switch, `(mgt_planted(17) ? (wrong) : (right))`, so that a kernel is compiled once; the switch is an environment
   variable.  The copies with all switches off must pass, and tell which plants they reach: one that no kernel reaches, and a
   pattern that matches nothing, fail the test.  A plant in a template counts as caught if one of the kernels that reach it
   is refused: on some it may change nothing, as an edge mask does where nothing is ragged.  A plant in an emitted file must
   be caught in that file.  Some are no bugs there; `harmless` names them, with the reason, and they are not counted. */
#ifndef _DEFAULT_SOURCE
#define _DEFAULT_SOURCE 1
#endif
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_cuda.cuh"
#include "joined.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>

static uint64_t seed = 1, rng;
static int all = 0, sample = 24;
static const char *table_path;
static uint64_t pick(uint64_t n) { /* below n */
  rng ^= rng << 13;
  rng ^= rng >> 7;
  rng ^= rng << 17;
  return (rng >> 11) % n;
}

/* -------------------------------------------------------------------------------------------------- the plants
   find: what is looked for; `~` matches a run of letters, digits and `_`, a backquote the rest of the line, and `[` `]` enclose what is replaced (all, if
   there are none).  wrong: what stands there instead; $0 is what was replaced, $1 the first `~`, and so on.
   kind: x an expression, s a statement, c at compile time (lines). */
typedef struct plant { int cls, kind; const char *anchor; const char *find, *wrong; int nth; } plant;
#ifndef MGT_PLANTS /* another test's plants, over the same kernels: test_plant_device.c */
#define MGT_KERNELS
enum { MGT_EVERY = 0, MGT_LARGE = -1, MGT_MERGED = -1 };
enum { BARRIER, WAIT, INDEX, LANE, STAGE, EPILOGUE, EDGE, REUSE, SHUFFLE, FRAGMENT, STRIDE, RESET, SCALE, STATISTIC, WORKSPACE, CLUSTER, DROPPED, CLASSES };
static const char *const class_name[CLASSES] = {"barrier", "wait", "off by one", "lane or warp", "stage", "epilogue", "edge", "reuse", "shuffle", "fragment", "stride", "reset", "scale", "statistic", "workspace", "cluster", "dropped part"};
static const plant in_templates[] = {
    {FRAGMENT, 'x', "struct mg_tile {", "TRANS ? offset(c, r) : offset(r, c)", "TRANS ? offset(r, c) : offset(c, r)", 0},
    {STRIDE, 'x', "struct mg_tile {", "return [line * PITCH] + (SWIZZLED", "line * (PITCH - 8)", 0},
    {FRAGMENT, 'x', "struct mg_tile {", "((i / 8 ^ line) & 7) * 8", "(i / 8 & 7) * 8", 0},
    {STRIDE, 'x', "struct mg_tile {", "i / 64 * [(LINES * 64)]", "64", 0},
    {FRAGMENT, 's', "struct mg_tile {", "first = mg_widen(lo);", "first = mg_widen(hi);", 0},
    {FRAGMENT, 's', "struct mg_tile {", "second = mg_widen(hi);", "second = mg_widen(lo);", 0},
    {INDEX, 's', "struct mg_tile {", "second = at(r, c + 1);", "second = at(r, c);", 0},
    {STRIDE, 'x', "struct mg_global {", "r * row + c * col", "r * col + c * row", 0},
    {INDEX, 'x', "struct mg_global {", "r * row + c * col", "r * row + (c + 1) * col", 0},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "u0 / ROW + o < outer ? inner - i : 0", "inner - i", 0},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "u0 / ROW + o < outer ? inner - i : 0", "u0 / ROW + o < outer ? E : 0", 0},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "u0 / ROW + o < outer ? inner - i : 0", "u0 / ROW + o <= outer ? inner - i : 0", 0},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "E : [o < outer ? inner - i : 0]", "inner - i", 0},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "E : [o < outer ? inner - i : 0]", "o < outer ? E : 0", 0},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "E : [o < outer ? inner - i : 0]", "o <= outer ? inner - i : 0", 0},
    {STRIDE, 'x', "MG_DEV void mg_load_tile", "to.p + TILE::offset(o, i)", "to.p + o * INNER + i", 0},
    {INDEX, 'x', "MG_DEV void mg_load_tile", "to.p + TILE::offset(o, i)", "to.p + TILE::offset(0, i) + o * TILE::PITCH", 0},
    {STRIDE, 'x', "MG_DEV void mg_load_tile", "from + o * outer_stride + i", "from + o * INNER + i", 0},
    {STRIDE, 'x', "MG_DEV void mg_load_tile", "from + o * outer_stride + i", "from + o * INNER + i", 1},
    {INDEX, 'x', "MG_DEV void mg_load_tile", "from + o * outer_stride + i", "from + o * outer_stride + i + E", 0},
    {INDEX, 'x', "MG_DEV void mg_load_tile", "from + o * outer_stride + i", "from + o * outer_stride + i + E", 1},
    {STRIDE, 'x', "MG_DEV void mg_load_tile", "TILE::offset(o + u0 / ROW, i)", "(o + u0 / ROW) * INNER + i", 0},
    {INDEX, 'x', "MG_DEV void mg_load_tile", "TILE::offset(o + u0 / ROW, i)", "TILE::offset(o, i) + u0 / ROW * TILE::PITCH", 0},
    {INDEX, 'x', "MG_DEV void mg_load_tile", "get + u0 / ROW * outer_stride", "get", 0},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "n * (int)sizeof(T)", "16", 0},
    {STRIDE, 'x', "MG_DEV void mg_load_tile", "n * (int)sizeof(T)", "n", 0},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "n * (int)sizeof(T)", "16", 1},
    {STRIDE, 'x', "MG_DEV void mg_load_tile", "n * (int)sizeof(T)", "n", 1},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "UNITS % THREADS == 0 || u0 + me < UNITS", "true", 0},
    {DROPPED, 'x', "MG_DEV void mg_load_tile", "UNITS % THREADS == 0 || u0 + me < UNITS", "u0 + me < UNITS - 1", 0},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "UNITS % THREADS == 0 || u < UNITS", "true", 0},
    {DROPPED, 'x', "MG_DEV void mg_load_tile", "UNITS % THREADS == 0 || u < UNITS", "u < UNITS - 1", 0},
    {LANE, 'x', "MG_DEV void mg_load_tile", "THREADS == 32 ? mg_lane() : mg_tid()", "mg_lane()", 0},
    {LANE, 'x', "MG_DEV void mg_load_tile", "THREADS == 32 ? mg_lane() : mg_tid()", "mg_tid()", 0},
    {LANE, 'x', "MG_DEV void mg_load_tile", "OWN ? [mg_tid() % THREADS]", "mg_tid()", 0},
    {LANE, 'x', "MG_DEV void mg_load_tile", "o = [me / ROW]", "me % ROW", 0},
    {DROPPED, 'x', "MG_DEV void mg_load_tile", "u0 += THREADS", "u0 += 2 * THREADS", 0},
    {DROPPED, 'x', "MG_DEV void mg_load_tile", "u0 += THREADS", "u0 += 2 * THREADS", 1},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "o < outer && i < inner", "i < inner", 0},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "o < outer && i < inner", "o < outer", 0},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "o < outer && i < inner", "o <= outer && i < inner", 0},
    {EDGE, 'x', "MG_DEV void mg_load_tile", "o < outer && i < inner", "o < outer && i <= inner", 0},
    {INDEX, 'x', "MG_DEV void mg_load_tile", "i = [u % INNER]", "u % OUTER", 0},
    {STRIDE, 'x', "MG_DEV void mg_load_tile", "o * outer_stride + i * inner_stride", "o * inner_stride + i * outer_stride", 0},
    {STRIDE, 's', "MG_DEV void mg_load_tile", "to.p\\[TILE::offset(o, i)\\] = v;", "to.p[o * INNER + i] = v;", 0},
    {RESET, 'x', "MG_DEV void mg_load_tile", "T v = [mg_narrow<T>(mg_zero())]", "mg_narrow<T>(mg_const(1, 1))", 0},
    {BARRIER, 's', "struct mg_ring {", "mg_phase_expect(p + s, BYTES);", "", 0},
    {BARRIER, 'x', "struct mg_ring {", "mg_phase_expect(p + s, [BYTES]);", "BYTES / 2", 0},
    {STAGE, 'x', "struct mg_ring {", "mg_phase_expect([p + s], BYTES);", "p", 0},
    {BARRIER, 's', "struct mg_ring {", "mg_phase_wait(p + s, turn);", "", 0},
    {STAGE, 'x', "struct mg_ring {", "mg_phase_wait(p + s, [turn]);", "1 - turn", 0},
    {STAGE, 'x', "struct mg_ring {", "mg_phase_wait([p + s], turn);", "p", 0},
    {REUSE, 's', "struct mg_ring {", "mg_phase_wait(p + STAGES + s, turn);", "", 0},
    {REUSE, 'x', "struct mg_ring {", "mg_phase_wait(p + STAGES + s, [turn]);", "1 - turn", 0},
    {REUSE, 'x', "struct mg_ring {", "mg_phase_wait([p + STAGES + s], turn);", "p + STAGES", 0},
    {BARRIER, 's', "struct mg_ring {", "mg_sync_warp();", "", 0},
    {REUSE, 's', "struct mg_ring {", "if (mg_lane() == 0) mg_phase_arrive(p + STAGES + s);", "", 0},
    {REUSE, 'x', "struct mg_ring {", "mg_phase_init(p + STAGES + s, [WARPS]);", "1", 0},
    {BARRIER, 'x', "struct mg_ring {", "mg_phase_init(p + s, [1]);", "2", 0},
    {BARRIER, 's', "struct mg_ring {", "mg_phase_publish();", "", 0},
    {LANE, 'x', "struct mg_ring {", "mg_tid() == 0", "mg_lane() == 0", 0},
    {INDEX, 'x', "struct mg_ring {", "s < [STAGES]; s++", "STAGES - 1", 0},
    {BARRIER, 'x', "struct mg_ring {", "mg_phase_init(p + STAGES + s, [WARPS]);", "WARPS + 1", 0},
    {REUSE, 'x', "struct mg_ring {", "mg_phase_init(p + STAGES + s, [WARPS]);", "WARPS - 1", 0},
    {BARRIER, 'x', "struct mg_ring {", "mg_phase_expect(p + s, [BYTES]);", "BYTES + 16", 0},
    {STAGE, 'x', "struct mg_ring {", "mg_phase_wait([p + s], turn);", "p + (s + 1) % STAGES", 0},
    {STAGE, 'x', "struct mg_ring {", "mg_phase_wait([p + s], turn);", "p + STAGES + s", 0},
    {REUSE, 'x', "struct mg_ring {", "mg_phase_wait([p + STAGES + s], turn);", "p + s", 0},
    {REUSE, 'x', "struct mg_ring {", "if ([mg_lane() == 0]) mg_phase_arrive", "mg_lane() < 2", 0},
    {REUSE, 'x', "struct mg_ring {", "mg_phase_arrive([p + STAGES + s])", "p + s", 0},
    {STAGE, 'x', "struct mg_ring {", "mg_phase_arrive([p + STAGES + s])", "p + STAGES + (s + 1) % STAGES", 0},
    {DROPPED, 'x', "MG_DEV void mg_copy_tile", "i < [TILE::ACROSS]", "TILE::ACROSS - WIDE", 0},
    {DROPPED, 'x', "MG_DEV void mg_copy_tile", "l < [TILE::LINES]", "TILE::LINES - BOX", 0},
    {STRIDE, 'x', "MG_DEV void mg_copy_tile", "i * TILE::LINES", "i", 0},
    {STRIDE, 'x', "MG_DEV void mg_copy_tile", "l * WIDE", "l", 0},
    {INDEX, 'x', "MG_DEV void mg_copy_tile", "d == 1 ? [l]", "0", 0},
    {INDEX, 'x', "MG_DEV void mg_copy_tile", "d == 0 ? [i]", "0", 0},
    {EDGE, 'x', "MG_DEV void mg_zero_outside", "rows == TILE::ROWS && cols == TILE::COLS", "true", 0},
    {EDGE, 'x', "MG_DEV void mg_zero_outside", "r >= rows || c >= cols", "c >= cols", 0},
    {EDGE, 'x', "MG_DEV void mg_zero_outside", "r >= rows || c >= cols", "r >= rows", 0},
    {INDEX, 'x', "MG_DEV void mg_zero_outside", "r >= rows || c >= cols", "r > rows || c > cols", 0},
    {RESET, 's', "MG_DEV void mg_fill", "t.put(u / TILE::COLS, u % TILE::COLS, v);", "", 0},
    {INDEX, 'x', "MG_DEV void mg_fill", "u < TILE::ROWS * TILE::COLS", "u < TILE::ROWS * TILE::COLS - 1", 0},
    {LANE, 'x', "struct mg_acc {", "mg_warp() / (WM * WN)", "0", 0},
    {LANE, 'x', "struct mg_acc {", "CHAIN ? [unit() % WK]", "unit() / WK", 0},
    {LANE, 'x', "struct mg_acc {", "mg_warp() % (WM * WN) / WN", "mg_warp() % WM", 0},
    {LANE, 'x', "struct mg_acc {", "CHAIN ? [mg_warp() / WK]", "mg_warp() % WK", 0},
    {STRIDE, 'x', "struct mg_acc {", "* [(MT * 16)]", "16", 0},
    {STRIDE, 'x', "struct mg_acc {", "warp_n() * (NT * 8)", "warp_n() * 8", 0},
    {LANE, 'x', "struct mg_acc {", "WN == 1 ? 0 : [unit() % WN]", "unit() / WN", 0},
    {LANE, 'x', "struct mg_acc {", "GROUP ? [mg_warp() / 4] : mg_warp()", "mg_warp()", 0},
    {LANE, 'x', "struct mg_acc {", "CHAIN ? [unit() / WK] : unit()", "unit()", 0},
    {LANE, 'x', "struct mg_acc {", "[unit() % (WM / 4 * WN) / WN]) * 64", "0", 0},
    {STRIDE, 'x', "struct mg_acc {", "mg_warp() % 4 * 16", "mg_warp() % 2 * 16", 0},
    {FRAGMENT, 'x', "struct mg_acc {", "i / 4 / NT * 16", "i / 4 % NT * 16", 0},
    {FRAGMENT, 'x', "struct mg_acc {", "mg_lane() / 4 + (i & 2) * 4", "mg_lane() / 4 + (i & 1) * 8", 0},
    {LANE, 'x', "struct mg_acc {", "mg_lane() / 4 + (i & 2) * 4", "mg_lane() % 8 + (i & 2) * 4", 0},
    {FRAGMENT, 'x', "struct mg_acc {", "i / 4 % NT * 8", "i / 4 / NT * 8", 0},
    {LANE, 'x', "struct mg_acc {", "mg_lane() % 4 * 2 + (i & 1)", "mg_lane() % 4 + (i & 1)", 0},
    {FRAGMENT, 'x', "struct mg_acc {", "mg_lane() % 4 * 2 + (i & 1)", "mg_lane() % 4 * 2 + (i >> 1 & 1)", 0},
    {FRAGMENT, 'x', "struct mg_acc {", "i / 4 / NT * 2 + (i >> 1 & 1)", "i / 4 / NT * 2 + (i & 1)", 0},
    {FRAGMENT, 'x', "struct mg_acc {", "i / 4 / NT * 2 + (i >> 1 & 1)", "i >> 1 & 1", 0},
    {EDGE, 'x', "struct mg_acc {", "ALL_ROWS || row(i) < M ? row(i) : M - 1", "row(i)", 0},
    {SCALE, 'x', "struct mg_acc {", "c\\[i >> 2\\]\\[i & 3\\] = [c\\[i >> 2\\]\\[i & 3\\] * f\\[row_of(i)\\]]", "c[i >> 2][i & 3] * f[0]", 0},
    {SCALE, 'x', "struct mg_acc {", "c\\[i >> 2\\]\\[i & 3\\] = [c\\[i >> 2\\]\\[i & 3\\] * f\\[row_of(i)\\]]", "c[i >> 2][i & 3]", 0},
    {RESET, 's', "struct mg_acc {", "c\\[t\\]\\[k\\] = mg_zero();", "", 0},
    {RESET, 'x', "struct mg_acc {", "t < MT * NT", "t < MT * NT - 1", 0},
    {FRAGMENT, 'x', "struct mg_left_tile {", "((l >> 3) & 1) * 8", "((l >> 4) & 1) * 8", 0},
    {FRAGMENT, 'x', "struct mg_left_tile {", "(l & 7) + (l >> 4) * 8", "(l & 7) + ((l >> 3) & 1) * 8", 0},
    {LANE, 'x', "struct mg_left_tile {", "row + (l & 15)", "row + (l & 7)", 0},
    {EDGE, 'x', "struct mg_left_tile {", "m > TILE::ROWS - 1", "false", 0},
    {FRAGMENT, 'x', "struct mg_left_tile {", "m, [k + (l >> 4) * 8]", "k", 0},
    {STRIDE, 'x', "struct mg_left_tile {", "m, [k + (l >> 4) * 8]", "k + (l >> 4) * 4", 0},
    {FRAGMENT, 'x', "struct mg_left_value {", "mg_lane() / 4 + (x & 1) * 8", "mg_lane() / 4 + (x >> 1) * 8", 0},
    {FRAGMENT, 'x', "struct mg_left_value {", "mg_lane() % 4 * 2 + (x >> 1) * 8", "mg_lane() % 4 * 2 + (x & 1) * 8", 0},
    {LANE, 'x', "struct mg_left_value {", "mg_lane() % 4 * 2 + (x >> 1) * 8", "mg_lane() % 8 + (x >> 1) * 8", 0},
    {EDGE, 'x', "struct mg_left_value {", "FULL || kk < end", "true", 0},
    {EDGE, 'x', "struct mg_left_value {", "FULL || kk + 1 < end ? second : mg_zero()", "second", 0},
    {DROPPED, 'x', "struct mg_left_value {", "FULL || kk + 1 < end ? second : mg_zero()", "mg_zero()", 0},
    {LANE, 'x', "struct mg_right_tile {", "n + (l & 7)", "n + (l & 3)", 0},
    {FRAGMENT, 'x', "struct mg_right_tile {", "k + ((l >> 3) & 1) * 8", "k", 0},
    {FRAGMENT, 'x', "struct mg_right_tile {", "k + (l & 15)", "k + (l & 7)", 0},
    {LANE, 'x', "struct mg_right_tile {", "k + (l & 15)", "k + (l >> 1)", 0},
    {LANE, 's', "struct mg_right_tile {", "mg_ldsm_x4(r, place<ALL>(k, n + (mg_lane() >> 4) * 8, mg_lane()));", "mg_ldsm_x4(r, place<ALL>(k, n, mg_lane()));", 0},
    {LANE, 's', "struct mg_right_tile {", "mg_ldsm_x4_trans(r, place<ALL>(k, n + (mg_lane() >> 4) * 8, mg_lane()));", "mg_ldsm_x4_trans(r, place<ALL>(k, n, mg_lane()));", 0},
    {FRAGMENT, 's', "struct mg_right_tile {", "b\\[0\\]\\[1\\] = r\\[1\\];", "b[0][1] = r[2];", 0},
    {FRAGMENT, 's', "struct mg_right_tile {", "b\\[1\\]\\[0\\] = r\\[2\\];", "b[1][0] = r[1];", 0},
    {FRAGMENT, 's', "struct mg_right_tile {", "b\\[1\\]\\[1\\] = r\\[3\\];", "b[1][1] = r[0];", 0},
    {EDGE, 'x', "struct mg_right_value {", "FULL || k < end ? f(k, c, 0) : mg_zero()", "f(k, c, 0)", 0},
    {LANE, 'x', "struct mg_right_value {", "n + mg_lane() / 4", "n + mg_lane() % 8", 0},
    {LANE, 'x', "struct mg_right_value {", "k + mg_lane() % 4 * 2", "k + mg_lane() % 4", 0},
    {INDEX, 'x', "struct mg_right_value {", "kk + 9", "kk + 8", 0},
    {FRAGMENT, 's', "struct mg_right_value {", "one<ALL>(b\\[1\\], k, n + 8);", "one<ALL>(b[1], k, n);", 0},
    {DROPPED, 'x', "MG_DEV void mgi_contract_step", "n + 1 < ACC::NT", "n + 2 < ACC::NT", 0},
    {INDEX, 's', "MG_DEV void mgi_contract_step", "right.template two<ACC::ALL_COLS>(b, k, col0 + n * 8);", "right.template two<ACC::ALL_COLS>(b, k, col0);", 0},
    {LANE, 's', "MG_DEV void mgi_contract_step", "right.template two<ACC::ALL_COLS>(b, k, col0 + n * 8);", "right.template two<ACC::ALL_COLS>(b, k, n * 8);", 0},
    {FRAGMENT, 's', "MG_DEV void mgi_contract_step", "mg_mma_16816<T>(acc.c\\[m * ACC::NT + n + 1\\], a\\[m\\], b\\[1\\]);", "mg_mma_16816<T>(acc.c[m * ACC::NT + n + 1], a[m], b[0]);", 0},
    {DROPPED, 's', "MG_DEV void mgi_contract_step", "mg_mma_16816<T>(acc.c\\[m * ACC::NT + n + 1\\], a\\[m\\], b\\[1\\]);", "", 0},
    {FRAGMENT, 's', "MG_DEV void mgi_contract_step", "mg_mma_16816<T>(acc.c\\[m * ACC::NT + n + 1\\], a\\[m\\], b\\[1\\]);", "mg_mma_16816<T>(acc.c[m * ACC::NT + n], a[m], b[1]);", 0},
    {EDGE, 'x', "MG_DEV void mgi_contract_step", "if ([ACC::NT % 2])", "false", 0},
    {INDEX, 'x', "MG_DEV void mgi_contract_step", "(ACC::NT - 1) * 8", "ACC::NT * 8 - 16", 0},
    {FRAGMENT, 'x', "MG_DEV void mg_contract_chain", "from\\[[(k & 1) * 2]\\]", "(k >> 1) * 2", 0},
    {FRAGMENT, 'x', "MG_DEV void mg_contract_chain", "from\\[[(k & 1) * 2 + 1]\\]", "(k & 1) * 2", 0},
    {FRAGMENT, 'x', "MG_DEV void mg_contract_chain", "j + (k >> 1)", "j + (k & 1)", 0},
    {LANE, 'x', "MG_DEV void mg_contract_chain", "right, 0, [P::col0() + j * 8]", "j * 8", 0},
    {DROPPED, 'x', "MG_DEV void mg_contract_chain", "j += 2", "j += 4", 0},
    {LANE, 'x', "MG_DEV void mg_contract(", "s * ACC::WK + warp_k", "s + warp_k", 0},
    {LANE, 'x', "MG_DEV void mg_contract(", "s * ACC::WK + warp_k", "s * ACC::WK", 0},
    {DROPPED, 'x', "MG_DEV void mg_contract(", "STEPS % ACC::WK == 0 || step < STEPS", "step < STEPS - 1", 0},
    {EDGE, 'x', "MG_DEV void mg_contract(", "STEPS % ACC::WK == 0 || step < STEPS", "true", 0},
    {STRIDE, 'x', "MG_DEV void mg_contract(", "step * 16", "step * 8", 0},
    {INDEX, 'x', "MG_DEV void mg_contract(", "row0 + m * 16", "row0", 0},
    {LANE, 'x', "MG_DEV void mg_contract(", "row0 + m * 16", "m * 16", 0},
    {EDGE, 'c', "MG_DEV void mg_contract(", "constexpr int STEPS = (K + 15) / 16, MINE = (STEPS + ACC::WK - 1) / ACC::WK;", "constexpr int STEPS = K / 16, MINE = (STEPS + ACC::WK - 1) / ACC::WK;", 0},
    {INDEX, 's', "const R &right MG_SITE_AGAIN)", "left.template fragment<ACC::ALL_ROWS>(a\\[s\\]\\[m\\], m * 16, s * 16);", "left.template fragment<ACC::ALL_ROWS>(a[s][m], m * 16, 0);", 0},
    {STAGE, 's', "const R &right MG_SITE_AGAIN)", "mgi_contract_step<T>(acc, a\\[s\\], right, 0, s * 16);", "mgi_contract_step<T>(acc, a[0], right, 0, s * 16);", 0},
    {DROPPED, 's', "const R &right MG_SITE_AGAIN)", "mgi_contract_step<T>(acc, a\\[s\\], right, 0, s * 16);", "if (s) mgi_contract_step<T>(acc, a[s], right, 0, s * 16);", 0},
    {STRIDE, 'x', "::T *mgi_group_place", "i / 64 * (TILE::LINES * 64)", "i / 64 * 64", 0},
    {STRIDE, 'x', "::T *mgi_group_place", "line * 64", "line * 32", 0},
    {INDEX, 'x', "::T *mgi_group_place", "i % 64", "0", 0},
    {FRAGMENT, 'x', "::T *mgi_group_place", "line = [TILE::TRANS ? n : k]", "TILE::TRANS ? k : n", 0},
    {INDEX, 'x', "MG_DEV void mgi_group_columns", "k0 + s * 16", "k0", 0},
    {LANE, 'x', "MG_DEV void mgi_group_columns", "[ACC::col0() + J * 8]", "J * 8", 0},
    {DROPPED, 'x', "MG_DEV void mgi_group_columns", "[ACC::col0() + J * 8]", "ACC::col0()", 0},
    {RESET, 'x', "MG_DEV void mgi_group_columns", "!CLEAR || s > 0", "true", 0},
    {DROPPED, 'x', "MG_DEV void mgi_group_columns", "!CLEAR || s > 0", "s > 0", 0},
    {DROPPED, 'x', "MG_DEV void mgi_group_columns", "s < [STEPS]", "STEPS - 1", 0},
    {WAIT, 's', "MG_DEV void mgi_group_begin", "mg_group_fence();", "", 0},
    {WAIT, 's', "MG_DEV void mgi_group_begin", "mg_group_commit();", "", 0},
    {WAIT, 's', "MG_DEV void mg_group_contract", "mg_group_wait(acc.c);", "", 0},
    {LANE, 'x', "MG_DEV void mg_group_begin", "ACC::row0()", "0", 0},
    {INDEX, 'x', "MG_DEV void mg_group_begin", "s * 16", "0", 0},
    {FRAGMENT, 'x', "struct mg_narrowed", "[j % 2 * 2]\\] = ", "0", 0},
    {FRAGMENT, 'x', "struct mg_narrowed", "mg_narrow2<T>(p.c\\[j\\]\\[[2]\\]", "0", 0},
    {LANE, 'x', "MG_DEV void mg_group_chain", "P::col0()", "0", 0},
    {WAIT, 's', "MG_DEV void mg_group_chain(", "mg_group_wait(acc.c);", "", 0},
    {LANE, 'x', "MG_DEV void mg_contract_fma", "ACC::warp_k()", "0", 0},
    {EDGE, 'x', "MG_DEV void mg_contract_fma", "k < end", "k <= end", 0},
    {DROPPED, 'x', "MG_DEV void mg_contract_fma", "k < end", "k < end - 1", 0},
    {INDEX, 'x', "MG_DEV void mg_contract_fma", "r < ACC::M ? r : ACC::M - 1", "0", 0},
    {INDEX, 'x', "MG_DEV void mg_contract_fma", "c < ACC::N ? c : ACC::N - 1", "0", 0},
    {DROPPED, 'x', "MG_DEV void mg_contract_fma", "k += ACC::WK", "k += 2 * ACC::WK", 0},
    {EDGE, 'x', "struct mg_partial {", "(ACC::ALL_ROWS || r < M) && (ACC::ALL_COLS || c < PITCH - 8)", "ACC::ALL_COLS || c < PITCH - 8", 0},
    {REUSE, 'x', "struct mg_partial {", "(ACC::warp_k() * M + r) * PITCH + c", "r * PITCH + c", 0},
    {STRIDE, 'x', "struct mg_partial {", "(ACC::warp_k() * M + r) * PITCH + c", "(ACC::warp_k() * M + r) * (PITCH - 8) + c", 0},
    {INDEX, 'x', "struct mg_partial {", "[(k * M + r) * PITCH + c]\\]);", "r * PITCH + c", 0},
    {DROPPED, 'x', "struct mg_partial {", "k < WK", "k < WK - 1", 0},
    {RESET, 's', "struct mg_by_max {", "return mg_neg_inf();", "return mg_const(1000, 1);", 0},
    {RESET, 's', "struct mg_by_sum {", "return mg_zero();", "return mg_const(1, 1);", 0},
    {RESET, 's', "struct mg_row_reduce {", "part\\[p\\] = OP::identity();", "", 0},
    {INDEX, 'x', "struct mg_row_reduce {", "p * STEP + mg_tid() / G", "mg_tid() / G", 0},
    {EDGE, 'x', "struct mg_row_reduce {", "mg_tid() / G < STEP && r < rows", "mg_tid() / G < STEP", 0},
    {LANE, 'x', "struct mg_row_reduce {", "mg_tid() % G * 2", "mg_tid() % G", 0},
    {STRIDE, 'x', "struct mg_row_reduce {", "c += 2 * G", "c += G", 0},
    {EDGE, 'x', "struct mg_row_reduce {", "cols % 2 == 0 || c + 1 < cols", "true", 0},
    {STATISTIC, 'x', "struct mg_row_reduce {", "cols % 2 == 0 || c + 1 < cols", "false", 0},
    {STATISTIC, 's', "struct mg_row_reduce {", "part\\[p\\] = OP::join(part\\[p\\], first);", "part[p] = first;", 0},
    {SHUFFLE, 'x', "struct mg_row_reduce {", "mg_shfl_xor(v, [m])", "m / 2", 0},
    {SHUFFLE, 'x', "struct mg_row_reduce {", "int m = [LANES / 2]", "LANES / 4", 0},
    {LANE, 's', "struct mg_row_reduce {", "scratch.put(r, mg_tid() % G / LANES, v);", "scratch.put(r, 0, v);", 0},
    {BARRIER, 's', "struct mg_row_reduce {", "mg_sync(MG_WITHIN);", "", 0},
    {DROPPED, 'x', "struct mg_row_reduce {", "k < PER_ROW", "k < PER_ROW - 1", 0},
    {RESET, 'x', "struct mg_row_reduce {", "mg_num v = [OP::identity()];", "mg_const(3, 1)", 0},
    {SCALE, 'x', "struct mg_row_reduce {", "out.put(r, 0, [f(v)]);", "v", 0},
    {SCALE, 'x', "struct mg_row_reduce {", "out.put(r, 0, [f(v)]);", "v", 1},
    {FRAGMENT, 'x', "MG_DEV void mgi_squares_add", "{[a\\[h\\]], a", "a[1 - h]", 0},
    {FRAGMENT, 'x', "MG_DEV void mgi_squares_add", "a\\[[h + 2]\\]", "3 - h", 0},
    {LANE, 'x', "MG_DEV bool mgi_squares_here", "mg_lane() % 4 == [mg_lane() / 8]", "0", 0},
    {LANE, 'x', "mgi_squares_at(const", "mg_lane() / 4 % 2", "mg_lane() % 2", 0},
    {STATISTIC, 'x', "mgi_squares_at(const", "c\\[[h * 2 + 1]\\]", "h * 2", 0},
    {STATISTIC, 'x', "mgi_squares_at(const", "c\\[[h * 2]\\]", "h * 2 + 1", 0},
    {LANE, 'x', "MG_DEV void mg_row_squares", "r = g * 16 + [mg_lane() / 4]", "mg_lane() % 8", 0},
    {LANE, 'x', "MG_DEV void mg_row_squares", "g0 + [mg_warp()]", "0", 0},
    {LANE, 'x', "MG_DEV void mg_row_squares", "[mg_warpgroup()] * MINE", "0", 0},
    {LANE, 'x', "MG_DEV void mg_row_squares", "[mg_warp() % 4], g =", "0", 0},
    {INDEX, 'x', "MG_DEV void mg_row_squares", "out.put([r + 8], 0", "r", 0},
    {STATISTIC, 'x', "MG_DEV void mg_row_squares", "mgi_squares_at(lower, [1])", "0", 0},
    {DROPPED, 'x', "MG_DEV void mg_row_squares", "k < COLS", "k < COLS - 16", 0},
    {DROPPED, 'x', "MG_DEV void mg_row_squares", "g0 < GROUPS", "g0 < GROUPS - WARPS", 0},
    {INDEX, 'x', "struct mg_strip_row {", "f([S::row_of_part(k)], 0, 0)", "k", 0},
    {INDEX, 'x', "struct mg_strip_row {", "v\\[[S::part(i)]\\]", "0", 0},
    {RESET, 's', "struct mg_own_row_reduce {", "part\\[p\\] = OP::identity();", "", 0},
    {LANE, 'x', "struct mg_own_row_reduce {", "p * 8 + mg_lane() / 4", "p * 8 + mg_lane() % 8", 0},
    {LANE, 'x', "struct mg_own_row_reduce {", "mg_lane() % 4 * 2", "mg_lane() % 4", 0},
    {EDGE, 'x', "struct mg_own_row_reduce {", "r < rows && c < cols", "r < rows", 0},
    {STATISTIC, 'x', "struct mg_own_row_reduce {", "if ([c + 1 < cols])", "false", 0},
    {SHUFFLE, 'x', "struct mg_own_row_reduce {", "mg_shfl_xor(v, [1])", "4", 0},
    {SHUFFLE, 'x', "struct mg_own_row_reduce {", "mg_shfl_xor(v, [2])", "1", 0},
    {LANE, 'x', "struct mg_own_row_reduce {", "[r * WARPS + mg_warp()]", "r * WARPS", 0},
    {LANE, 'x', "struct mg_own_row_reduce {", "mg_lane() % 4 == 0 && r < ROWS", "r < ROWS", 0},
    {BARRIER, 's', "MG_DEV void mgi_join_own", "mg_sync(MG_WITHIN);", "", 0},
    {RESET, 's', "struct mg_own_row_squares {", "c\\[h\\]\\[k\\] = mg_zero();", "", 0},
    {INDEX, 'x', "struct mg_own_row_squares {", "(a, m * 16, [s * 16]);", "0", 0},
    {INDEX, 'x', "struct mg_own_row_squares {", "(a, [m * 16], s * 16);", "0", 0},
    {DROPPED, 'x', "struct mg_own_row_squares {", "s < COLS / 16", "s < COLS / 16 - 1", 0},
    {FRAGMENT, 'x', "struct mg_own_row_squares {", "c\\[[m * 2 + h]\\], a, h", "m * 2", 0},
    {FRAGMENT, 'x', "struct mg_own_row_squares {", "mgi_squares_at(c\\[h\\], [h % 2])", "0", 0},
    {LANE, 'x', "struct mg_own_row_squares {", "[r * WARPS + mg_warp()]", "r * WARPS", 0},
    {FRAGMENT, 'x', "struct mg_left_scaled {", "s\\[[x >> 1]\\]", "x & 1", 0},
    {INDEX, 'x', "struct mg_left_scaled {", "mgi_two(row_of, [at + 8])", "at", 0},
    {INDEX, 'x', "struct mg_left_scaled {", "at = [k + mg_lane() % 4 * 2]", "mg_lane() % 4 * 2", 0},
    {SCALE, 'x', "struct mg_left_scaled {", "x < 4", "x < 3", 0},
    {INDEX, 'x', "struct mg_right_scaled {", "mgi_two(row_of, [at + 8])", "at", 0},
    {INDEX, 'x', "struct mg_right_scaled {", "at = [k + mg_lane() % 4 * 2]", "mg_lane() % 4 * 2", 0},
    {SCALE, 's', "struct mg_right_scaled {", "b\\[0\\] = mg_mul2<typename ROW::T>(b\\[0\\], mgi_two(row_of, at));", "", 0},
    {FRAGMENT, 's', "struct mg_acc_turned ", "return TURNED::row(i);", "return TURNED::col(i);", 0},
    {RESET, 's', "struct mg_col_reduce {", "part\\[p\\] = OP::identity();", "", 0},
    {STRIDE, 'x', "struct mg_col_reduce {", "r += PARTS", "r += 1", 0},
    {STATISTIC, 'x', "struct mg_col_reduce {", "r < rows", "r < rows - 1", 0},
    {LANE, 's', "struct mg_col_reduce {", "scratch.put(mg_tid() / STEP, c, part\\[p\\]);", "scratch.put(0, c, part[p]);", 0},
    {BARRIER, 's', "struct mg_col_reduce {", "mg_sync(MG_WITHIN);", "", 0},
    {DROPPED, 'x', "struct mg_col_reduce {", "k < PARTS", "k < PARTS - 1", 0},
    {LANE, 'x', "struct mg_strip {", "int row(int i) { return [PER_ROW < THREADS ? i / RUN * (THREADS / GROUP) + mg_tid() / GROUP : i / RUN / (PER_ROW / GROUP)]", "i / RUN", 0},
    {LANE, 'x', "struct mg_strip {", "int col(int i) { return ([PER_ROW < THREADS ? mg_tid() % GROUP : i / RUN % (PER_ROW / GROUP) * THREADS + mg_tid()])", "mg_lane()", 0},
    {LANE, 'x', "struct mg_strip {", "int row_of_part(int k) { return [PER_ROW < THREADS ? k * (THREADS / GROUP) + mg_tid() / GROUP : k]", "k", 0},
    {STRIDE, 'x', "struct mg_strip {", "row(p * RUN) * stride + col(p * RUN)", "row(p * RUN) * (stride - RUN) + col(p * RUN)", 0},
    {FRAGMENT, 'x', "struct mg_strip {", "mg_widen(i % 2 ? hi : lo)", "mg_widen(i % 2 ? lo : hi)", 0},
    {FRAGMENT, 'x', "struct mg_strip {", "i % RUN / 2", "i % RUN / 4", 0},
    {FRAGMENT, 'x', "struct mg_strip {", "T{raw\\[i / RUN\\].w\\[[i % RUN]\\]}", "i % 2", 0},
    {INDEX, 'x', "struct mg_row_parts {", "p\\[[r * PARTS]\\]", "0", 0},
    {DROPPED, 'x', "struct mg_row_parts {", "k < PARTS", "k < PARTS - 4", 0},
    {INDEX, 'x', "struct mg_row_parts {", "p + r * PARTS + [k]", "0", 0},
    {STATISTIC, 'x', "struct mg_row_parts {", "mg_widen(mg_f32{four.w\\[[3]\\]})", "2", 0},
    {DROPPED, 'x', "struct mg_row_parts {", "k < PARTS", "k < PARTS - 1", 1},
    {RESET, 's', "struct mg_strip_reduce {", "part\\[k\\] = OP::identity();", "", 0},
    {STATISTIC, 'x', "struct mg_strip_reduce {", "i < S::COUNT", "i < S::COUNT - 1", 0},
    {SHUFFLE, 'x', "struct mg_strip_reduce {", "int m = [LANES / 2]", "LANES / 4", 0},
    {LANE, 'x', "struct mg_strip_reduce {", "if ([mg_tid() % LANES == 0]) out", "true", 0},
    {LANE, 'x', "struct mg_strip_reduce {", "[mg_tid() % S::GROUP / LANES]", "0", 0},
    {EDGE, 'x', "MG_DEV void mg_replace(", "ACC::within(i, cols)", "true", 0},
    {INDEX, 'x', "MG_DEV void mg_replace(", "ACC::within(i, cols)", "ACC::col(i) < cols - 1", 0},
    {RESET, 's', "struct mg_row_shift {", "m\\[k\\] = mg_neg_inf();", "", 0},
    {EDGE, 'x', "struct mg_row_shift {", "[ACC::within(i, cols)] ? mg_shift_exp", "true", 0},
    {SHUFFLE, 'x', "struct mg_row_shift {", "mg_shfl_xor(top\\[k\\], [1])", "2", 0},
    {SHUFFLE, 'x', "struct mg_row_shift {", "mg_shfl_xor(top\\[k\\], [2])", "4", 0},
    {SCALE, 'x', "struct mg_row_shift {", "mg_shift_exp_by<FAR>(acc.c\\[i >> 2\\]\\[i & 3\\], [by], ", "mg_const(1, 1)", 0},
    {SCALE, 's', "struct mg_row_shift {", "factor\\[k\\] = mg_shift_factor(m\\[k\\], top\\[k\\]);", "factor[k] = mg_const(1, 1);", 0},
    {STATISTIC, 's', "struct mg_row_shift {", "m\\[k\\] = top\\[k\\];", "", 0},
    {STATISTIC, 'x', "struct mg_row_shift {", "m\\[ACC::row_of(i)\\]", "m[0]", 0},
    {LANE, 'x', "struct mg_row_shift {", "shared.put([ACC::warp_n()], r, m\\[k\\]);", "0", 0},
    {BARRIER, 's', "struct mg_row_shift {", "mg_sync(MG_WITHIN);", "", 0},
    {DROPPED, 'x', "struct mg_row_shift {", "w < ACC::WN", "w < ACC::WN - 1", 0},
    {SCALE, 'x', "struct mg_shift_back {", "back\\[j\\] = j < n ? [mg_shift_undo(v\\[j\\], m.at(r, 0), LOG)]", "v[j]", 0},
    {INDEX, 'x', "struct mg_shift_back {", "m.at([r], 0)", "0", 0},
    {SCALE, 'x', "struct mg_shift_back {", "m.at(r, 0), [LOG]", "!LOG", 0},
    {SCALE, 's', "struct mg_row_shift {", "factor\\[k\\] = mg_shift_factor(m\\[k\\], top);", "factor[k] = mg_const(1, 1);", 0},
    {STATISTIC, 's', "struct mg_row_shift {", "m\\[k\\] = top;", "", 0},
    {LANE, 'x', "struct mg_row_shift {", "mg_lane() % 4 == 0 && r < rows && ACC::warp_n() == 0", "r < rows", 0},
    {RESET, 's', "struct mg_fragment_sum {", "part\\[k\\] = mg_zero();", "", 0},
    {SCALE, 's', "struct mg_fragment_sum {", "part\\[k\\] = part\\[k\\] * f\\[k\\];", "", 0},
    {FRAGMENT, 'x', "struct mg_fragment_sum {", "part\\[ACC::row_of(i)\\] + [acc.at(i)]", "acc.at(0)", 0},
    {SHUFFLE, 'x', "struct mg_fragment_sum {", "mg_shfl_xor(v, [1])", "8", 0},
    {SHUFFLE, 'x', "struct mg_fragment_sum {", "mg_shfl_xor(v, [2])", "1", 0},
    {LANE, 'x', "struct mg_fragment_sum {", "scratch.put([ACC::warp_n()], r, v);", "0", 0},
    {BARRIER, 's', "struct mg_fragment_sum {", "mg_sync(MG_WITHIN);", "", 0},
    {DROPPED, 'x', "struct mg_fragment_sum {", "w < ACC::WN", "w < ACC::WN - 1", 0},
    {INDEX, 'x', "struct mg_fragment_sum {", "r0 + mg_tid() < ACC::M", "r0 + mg_tid() < ACC::M - 1", 0},
    {DROPPED, 'x', "struct mg_fragment_sum {", "r0 < [ACC::M]; r0", "1", 0},
    {EDGE, 'x', "MG_DEV void mgi_each_in_turn", "((ACC::ALL_ROWS && rows == ACC::M) || r < rows) && ACC::within(i, cols)", "c < cols", 0},
    {EDGE, 'x', "MG_DEV void mgi_each_in_turn", "((ACC::ALL_ROWS && rows == ACC::M) || r < rows) && ACC::within(i, cols)", "r < rows", 0},
    {EDGE, 'x', "MG_DEV void mgi_each_in_turn", "cols % ACC::RUN != 0 && cols - c < ACC::RUN ? cols - c : (int)ACC::RUN", "ACC::RUN", 0},
    {FRAGMENT, 'x', "MG_DEV void mgi_each_in_turn", "f(r, c + j, i + j)", "f(r, c + j, i)", 0},
    {DROPPED, 'x', "MG_DEV void mgi_each_in_turn", "i < ACC::COUNT", "i < ACC::COUNT - 2", 0},
    {EDGE, 'x', "MG_DEV void mg_each_run", "(UNITS % THREADS == 0 || u < UNITS) && r < rows && c < cols", "(UNITS % THREADS == 0 || u < UNITS) && c < cols", 0},
    {EDGE, 'x', "MG_DEV void mg_each_run", "(UNITS % THREADS == 0 || u < UNITS) && r < rows && c < cols", "(UNITS % THREADS == 0 || u < UNITS) && r < rows", 0},
    {EDGE, 'x', "MG_DEV void mg_each_run", "cols % W != 0 && cols - c < W ? cols - c : W", "W", 0},
    {LANE, 'x', "MG_DEV void mg_each_run", "u0 + mg_tid()", "u0 + mg_lane()", 0},
    {INDEX, 'x', "MG_DEV void mg_each_run", "one(r, c + j, j)", "one(r, c, j)", 0},
    {DROPPED, 'x', "MG_DEV void mg_each_run", "u0 += THREADS", "u0 += 2 * THREADS", 0},
    {INDEX, 'x', "MG_DEV void mg_each_run", "f(r, c, n)", "f(r, 0, n)", 0},
    {FRAGMENT, 'x', "struct mg_row_run {", "mg_widen(i % 2 ? hi : lo)", "mg_widen(i % 2 ? lo : hi)", 0},
    {INDEX, 'x', "struct mg_row_run {", "mg_ldg(from + 2 * k * stride)", "mg_ldg(from + k * stride)", 0},
    {INDEX, 'x', "struct mg_row_run {", "word\\[k + j\\] = four.w\\[[j]\\]", "0", 0},
    {INDEX, 'x', " run(int r, int c, int n) const {", "got.word\\[k / E * 4 + j\\] = four.w\\[[j]\\]", "0", 0},
    {INDEX, 'x', " lines(int line, int i, int n) const {", "first\\[[j * PITCH]\\]", "j", 0},
    {INDEX, 'x', " lines(int line, int i, int n) const {", "offset([line + j], i)", "line", 0},
    {FRAGMENT, 'x', "MG_DEV void mgi_each_at_once", "run\\[j\\] = v\\[[i + j]\\]", "i", 0},
    {FRAGMENT, 'x', "struct mg_to_tile {", "mg_words2{{mg_narrow2<T>(v\\[0\\], v\\[1\\]), [mg_narrow2<T>(v\\[2\\], v\\[3\\])]}}", "mg_narrow2<T>(v[0], v[1])", 0},
    {STRIDE, 'x', "struct mg_to_global {", "r * row + c * col", "r * col + c * row", 0},
    {FRAGMENT, 'x', "struct mg_to_global {", "mg_narrow2<T>(v\\[0\\], v\\[1\\])", "mg_narrow2<T>(v[1], v[0])", 0},
    {FRAGMENT, 'x', "struct mg_to_global {", "mg_narrow2<T>(v\\[2\\], v\\[3\\])", "mg_narrow2<T>(v[3], v[2])", 0},
    {FRAGMENT, 'x', "struct mg_to_global {", "mg_narrow2<T>(v\\[0\\], v\\[1\\])", "mg_narrow2<T>(v[1], v[0])", 1},
    {STRIDE, 'x', "struct mg_to_global {", "at + j * col", "at + j * row", 0},
    {EDGE, 'x', "struct mg_to_global {", "if ([j < n]) mg_stg", "true", 0},
    {FRAGMENT, 'x', "struct mg_to_tile {", "mg_narrow<T>(v\\[1\\]).bits, mg_narrow<T>(v\\[2\\]).bits, [mg_narrow<T>(v\\[3\\]).bits]", "mg_narrow<T>(v[0]).bits", 0},
    {FRAGMENT, 'x', "struct mg_to_tile {", "mg_words2{{mg_narrow<T>(v\\[0\\]).bits, [mg_narrow<T>(v\\[1\\]).bits]}}", "mg_narrow<T>(v[0]).bits", 0},
    {INDEX, 's', "struct mg_to_tile {", "t.put(r0 + r, c0 + c + j, v\\[j\\]);", "t.put(r, c + j, v[j]);", 0},
    {INDEX, 's', "struct mg_to_tile {", "t.put(r0 + r, c0 + c + j, v\\[j\\]);", "t.put(r0 + r, c0 + c, v[j]);", 0},
    {EDGE, 'x', "struct mg_to_tile {", "if ([j < n]) t.put", "true", 0},
    {RESET, 'x', "struct mg_join_tile {", "OP::join(t.at(r0 + r, c0 + c + j), v\\[j\\])", "v[j]", 0},
    {INDEX, 'x', "struct mg_join_tile {", "OP::join(t.at(r0 + r, c0 + c + j), v\\[j\\])", "OP::join(t.at(r0 + r, c0 + c), v[j])", 0},
    {DROPPED, 'c', "struct mg_owners {", "PER = (UNITS + Z - 1) / Z", "PER = UNITS / Z", 0},
    {INDEX, 'x', "struct mg_to_owners {", "mg_cluster_rank() * O::BYTES", "0", 0},
    {CLUSTER, 'x', "struct mg_owners {", "before([mg_cluster_rank()] * PER, rows, cols)", "0", 0},
    {CLUSTER, 'x', "struct mg_owners {", "c < cols ? [c] : cols", "c + 1", 0},
    {EDGE, 'x', "struct mg_owners {", "[r < rows] ? r * cols", "true", 0},
    {CLUSTER, 's', "MG_DEV void mg_cluster_opens", "mg_phase_init(all, 1);", "", 0},
    {CLUSTER, 's', "MG_DEV void mg_cluster_opens", "mg_phase_publish();", "", 0},
    {CLUSTER, 's', "MG_DEV void mg_cluster_opens", "mg_cluster_begun();", "", 0},
    {CLUSTER, 's', "MG_DEV void mg_cluster_takes", "mg_phase_wait(all, 0);", "", 0},
    {CLUSTER, 'x', "MG_DEV void mg_cluster_takes", "mg_phase_expect(all, [bytes])", "bytes - 4", 0},
    {CLUSTER, 'x', "MG_DEV void mg_cluster_takes", "if ([mg_tid() == 0])", "mg_lane() == 0", 0},
    {EDGE, 'x', "MG_DEV void mg_push_run", "if ([n == N])", "true", 0},
    {EDGE, 'x', "MG_DEV void mg_push_run", "if ([j < n])", "true", 0},
    {INDEX, 'x', "MG_DEV void mg_push_run", "mg_push<1>(mine + [j]", "0", 0},
    {INDEX, 'x', "struct mg_to_owners {", "[u / O::PER], all, v, n)", "mg_cluster_rank()", 0},
    {CLUSTER, 'x', "struct mg_to_owners {", "[u / O::PER], all, v, n)", "u % O::Z", 0},
    {STRIDE, 'x', "struct mg_to_owners {", "[u % O::PER] * O::W + c % O::W", "u", 0},
    {INDEX, 'x', "struct mg_to_owners {", "r * O::ROW + c / O::W", "r * (O::ROW + 1) + c / O::W", 0},
    {INDEX, 'x', "struct mg_to_owners {", "put<1>(r, c + [j], one, 1)", "0", 0},
    {CLUSTER, 'x', "struct mg_to_all {", "k < Z", "k < Z - 1", 0},
    {STRIDE, 'x', "struct mg_to_all {", "r * [TILE::PITCH] + c + j, k", "TILE::COLS", 0},
    {INDEX, 'x', "struct mg_to_all {", "v\\[j + [i]\\]", "0", 0},
    {EDGE, 'x', "struct mg_to_all {", "[n - j < W ? n - j : W]);", "W", 0},
    {CLUSTER, 'x', "struct mg_to_all {", "+ c + j, [k], all", "0", 0},
    {DROPPED, 'x', "struct mg_merge_owned {", "k < O::Z", "k < O::Z - 1", 0},
    {INDEX, 'x', "struct mg_merge_owned {", "mg_cluster_rank() * O::PER", "0", 0},
    {INDEX, 'x', "struct mg_merge_owned {", "[k] * O::PER", "0", 0},
    {EDGE, 'x', "MG_DEV void mg_each_owned", "r < rows && c < cols", "c < cols", 0},
    {DROPPED, 'x', "MG_DEV void mg_each_owned", "k < O::PER", "k < O::PER - 1", 0},
    {INDEX, 'x', "MG_DEV void mg_each_owned", "mg_cluster_rank() * O::PER", "0", 0},
    {LANE, 'x', "MG_DEV void mg_each_owned", "k = [mg_tid()]", "mg_lane()", 0},
    {INDEX, 'x', "MG_DEV void mg_each_owned", "f(r, c + j, 0)", "f(r, c, 0)", 0},
    {INDEX, 'x', "struct mg_merge_shared {", "p + k * BYTES", "p", 0},
    {DROPPED, 'x', "struct mg_merge_shared {", "k < Z", "k < Z - 1", 0},
    {INDEX, 'x', "struct mg_merge_global {", "(int64_t)k * BYTES", "0", 0},
    {STRIDE, 'x', "struct mg_merge_global {", "r * TILE::PITCH + c", "r * (TILE::PITCH + 1) + c", 0},
    {WORKSPACE, 's', "struct mg_merge_global {", "return mg_widen(mg_ldg_fresh((const mg_f32 *)(p + (int64_t)k * BYTES) + r * TILE::PITCH + c));", "return mg_widen(mg_ldg((const mg_f32 *)(p + (int64_t)k * BYTES) + r * TILE::PITCH + c));", 0},
    {DROPPED, 'x', "struct mg_merge_global {", "k < Z", "k < Z - 1", 0},
    {SCALE, 'x', "struct mg_merge_weighted {", "parts.part(0, r, c) * weights.at(r, 0)", "parts.part(0, r, c)", 0},
    {SCALE, 'x', "struct mg_merge_weighted {", "weights.at(r, k)", "weights.at(r, 0)", 0},
    {DROPPED, 'x', "struct mg_merge_weighted {", "k < PARTS::COUNT", "k < PARTS::COUNT - 1", 0},
    {SCALE, 'x', "struct mg_to_size {", "size > *most", "false", 0},
    {SCALE, 'x', "MG_DEV int mg_block_power", "(int)(most >> 23) - [134]", "154", 0},
    {SCALE, 'x', "MG_DEV int mg_block_power", "do [k--];", "k -= 2", 0},
    {EDGE, 'x', "MG_DEV int mg_block_power", "!mg_sync_or(mine >= [k]", "k + 1", 0},
    {SCALE, 'x', "struct mg_to_split {", "0 : [-8 * p]", "8 * p", 0},
    {STRIDE, 'x', "struct mg_to_split {", "low([to.p + elements],", "to.p", 0},
    {DROPPED, 'x', "struct mg_to_split {", "v\\[j\\] * f - [a\\[j\\]]", "mg_zero()", 0},
    {DROPPED, 's', "struct mg_to_split {", "low.template put<W>(r, c, b, n);", "", 0},
    {INDEX, 'x', "MG_DEV int mg_chunk_of", "at / chunk", "at / chunk + 1", 0},
    {SHUFFLE, 'x', "struct mg_powers {", "mg_shfl_word((uint32_t)top, [mg_lane() ^ m])", "mg_lane()", 0},
    {SCALE, 'x', "struct mg_powers {", "mixed = [top != low]", "false", 0},
    {SCALE, 'x', "struct mg_powers {", "if (mg_any([other]))", "false", 0},
    {SCALE, 'x', "struct mg_powers {", "other = other || [word\\[k\\] != one]", "false", 0},
    {SCALE, 'x', "struct mg_powers {", "mg_power([8 * most])", "-8 * most", 0},
    {STRIDE, 'x', "struct mg_powers {", "z0 + i / XY) * y.n) * [x.n]", "1", 0},
    {SCALE, 'x', "MG_DEV void mg_one_power", "8 * [(p - by.most)]", "(by.most - p)", 0},
    {DROPPED, 'x', "MG_DEV void mg_one_power", "j < [4]; j++", "2", 0},
    {LANE, 'x', "MG_DEV void mg_one_power", "u += [LANES]", "2 * LANES", 0},
    {DROPPED, 's', "MG_DEV void mg_group_contract_both", "mgi_group_begin<T, K / 16, false>(acc, a, low.t, 0);", "", 0},
    {WAIT, 's', "MG_DEV void mg_group_contract_both", "mg_group_wait(acc.c);", "", 0},
    {SHUFFLE, 'x', "MG_DEV void mg_shift_weights", "mg_shfl_xor(top, [d])", "1", 0},
    {SCALE, 'x', "MG_DEV void mg_shift_weights", "mg_shift_factor(m\\[k\\], top)", "mg_const(1, 1)", 0},
    {STRIDE, 'x', "MG_DEV void mg_shift_weights", "from + [(int64_t)r * Z]", "(int64_t)r", 0},
    {LANE, 'x', "MG_DEV void mg_shift_weights", "r0 + [mg_tid() / G]", "mg_tid() % G", 0},
    {INDEX, 'x', "struct mg_reweighted {", "weights.at(r, [first])", "0", 0},
    {INDEX, 'x', "struct mg_reweighted {", "[(first + c) / INNER] % TILE::COLS", "c / INNER", 0},
    {SCALE, 'x', "struct mg_reweighted {", "of.at(r, c) * [weight(r, c)]", "mg_const(1, 1)", 0},
    {SCALE, 's', "struct mg_reweighted {", "a = a * weight(r, c);", "", 0},
    {SCALE, 's', "struct mg_reweighted {", "b = b * weight(r, c + 1);", "", 0},
    {SCALE, 'x', "MG_DEV void mg_merge_weights", "mg_shift_factor(shifts.part(k, r, 0), top)", "mg_shift_factor(shifts.part(0, r, 0), top)", 0},
    {DROPPED, 'x', "MG_DEV void mg_merge_weights", "r < ROWS", "r < ROWS - 1", 0},
    {BARRIER, 's', "MG_DEV bool mg_last_of", "mg_sync(MG_WITHIN);", "", 0},
    {WORKSPACE, 'x', "MG_DEV bool mg_last_of", "(uint32_t)z - 1", "(uint32_t)z - 2", 0},
    {WORKSPACE, 's', "MG_DEV bool mg_last_of", "mg_stg(ticket, (uint32_t)0);", "", 0},
    {WORKSPACE, 's', "MG_DEV bool mg_last_of", "mg_stg(ticket, (uint32_t)0);", "mg_stg(ticket, (uint32_t)1);", 0},
    {WORKSPACE, 'x', "MG_DEV bool mg_last_of", "last && mg_tid() == 0", "mg_tid() == 0", 0},
    {BARRIER, 'x', "MG_DEV bool mg_last_of", "mg_sync_or(mg_tid() == 0 && mg_ticket(ticket) == (uint32_t)z - 1 MG_ALSO_WITHIN)", "mg_tid() == 0 && mg_ticket(ticket) == (uint32_t)z - 1", 0},
    {EDGE, 'x', "MG_DEV void mg_each_element", "e < n", "e <= n", 0},
    {DROPPED, 'x', "MG_DEV void mg_each_element", "e < n", "e < n - 1", 0},
    {LANE, 'x', "MG_DEV void mg_each_element", "[mg_tid()]; e", "mg_lane()", 0},
    {STRIDE, 'x', "MG_DEV void mg_each_element", "(int64_t)mg_bid(0) * 256", "(int64_t)mg_bid(0) * 255", 0},
    {STATISTIC, 'x', "MG_DEV void mg_each_reduction", "k += 32", "k += 64", 0},
    {STATISTIC, 'x', "MG_DEV void mg_each_reduction", "k < extent", "k < extent - 1", 0},
    {SHUFFLE, 'x', "MG_DEV void mg_each_reduction", "mg_shfl_xor(v, [m])", "m ^ 1", 0},
    {LANE, 'x', "MG_DEV void mg_each_reduction", "mg_lane() == 0", "true", 0},
    {RESET, 'x', "MG_DEV void mg_each_reduction", "mg_num v = [OP::identity()];", "mg_const(3, 1)", 0},
    {STRIDE, 'x', "MG_DEV void mg_each_reduction", "(int64_t)mg_bid(0) * 8", "(int64_t)mg_bid(0) * 7", 0},
    {INDEX, 'x', "MG_DEV mg_key mg_key_join", "[b.w\\[0\\] > a.w\\[0\\]] && ", "(b.w[0] && b.w[0] < a.w[0])", 0}, /* of equal numbers the last */
    {INDEX, 'x', "MG_DEV mg_key mg_key_join", "before = [b.w\\[0\\] > a.w\\[0\\]] && ", "false", 0}, /* whichever comes first */
    {STATISTIC, 'x', "MG_DEV mg_key mg_key_join", "(b.w\\[0\\] && [mg_order_above(b.w\\[1\\], a.w\\[1\\])])", "mg_order_above(a.w[1], b.w[1])", 0},
    {SHUFFLE, 'x', "MG_DEV mg_key mg_key_block", "mg_shfl_xor_word(key.w\\[h\\], [m])", "m ^ 1", 0},
    {DROPPED, 'x', "MG_DEV mg_key mg_key_block", "w < [8] && ", "7", 0},
    {BARRIER, 's', "MG_DEV mg_key mg_key_block", "mg_sync(MG_WITHIN);", "", 0},
    {DROPPED, 'x', "MG_DEV mg_key mg_argmax_key", "from + [mg_tid()];", "mg_lane()", 0},
    {EDGE, 'x', "MG_DEV void mg_each_argmax_parts", "[from + size < extent] ? ", "true", 0},
    {DROPPED, 'x', "MG_DEV void mg_each_argmax_parts", "from = [mg_bid(1) * size];", "(mg_bid(1) + 1) * size", 0},
    {STRIDE, 'x', "MG_DEV void mg_each_argmax_parts", "keys + [e * parts];", "0", 0},
    {WORKSPACE, 's', "MG_DEV void mg_each_argmax_parts", "if (mg_tid() == 0) mg_stg(all + mg_bid(1), key);", "", 0},
    {LANE, 'x', "MG_DEV void mg_each_argmax_parts", "if ([mg_tid() == 0]) mg_stg(all", "true", 0},
    {WORKSPACE, 's', "MG_DEV void mg_each_argmax_parts", "if (!last(e)) continue;", "", 0},
    {DROPPED, 'x', "MG_DEV void mg_each_argmax_parts", "p = [mg_tid()]; p < parts", "mg_tid() + 1", 0},
    {DROPPED, 'x', "MG_DEV void mg_each_argmax_parts", "p = mg_tid(); p < [parts];", "parts - 1", 0},
    {RESET, 's', "MG_DEV void mg_each_argmax_parts", "key = mg_no_key();", "if (mg_tid() == 0) key = mg_key{{0xFFFFFFFFu, key.w[1]}};", 0},
    {WORKSPACE, 'x', "MG_DEV void mg_each_argmax_parts", "[mg_ldg_fresh(all + p)]", "mg_ldg(all + p)", 0},
    {WORKSPACE, 'c', "mg_round256", "return ((size_t)bytes + 255) / 256 * 256;", "return (size_t)bytes / 256 * 256;", 0},
};
/* In the kernels of emitted files: every place that matches, on lines that hold the third text. */
static const plant in_files[] = {
    {BARRIER, 's', "", "mg_sync();", "", 0},
    {BARRIER, 's', "", "mg_sync_warp();", "", 0},
    {BARRIER, 's', "", "mg_sync_group();", "", 0},
    {LANE, 'x', "", "[mg_warpgroup()] * ~", "0", 0},
    {SCALE, 's', "", "powers_~.undo(~);", "", 0},
    {SCALE, 'x', "", "[(uint32_t)power_~]", "0u", 0},
    {DROPPED, 's', "", "mg_one_power<~>(low_~, powers_~, mg_~(), of_~);", "", 0},
    {BARRIER, 's', "", "mg_grid_wait();", "", 0},
    {BARRIER, 's', "", "mg_grid_wait();", "if (mg_warp() == 0) mg_grid_wait();", 0},
    {BARRIER, 'x', "", "load_~(s, s, true, [false]);", "true", 0},
    {DROPPED, 'x', "", "load_~(s, s, [!early], true);", "false", 0},
    {DROPPED, 'x', "", "load_~(s, s, !early, [true]);", "!early", 0},
    {DROPPED, 'x', "", "early && [s < ~] && s < ~; s++", "s < 1", 0},
    {WAIT, 's', "", "mg_cp_async_wait<~>();", "", 0},
    {WAIT, 's', "", "mg_cp_async_wait<~>();", "mg_cp_async_wait<$1 + 1>();", 0},
    {WAIT, 's', "", "    mg_cp_async_commit();", "", 0},
    {WAIT, 's', "", "mg_group_publish();", "", 0},
    {WAIT, 's', "", "mg_group_wait(~.c);", "", 0},
    {CLUSTER, 's', "", "mg_cluster_wait();", "", 0},
    {CLUSTER, 's', "", "mg_cluster_opens(all);", "", 0},
    {CLUSTER, 's', "", "mg_cluster_takes(`", "", 0},
    {CLUSTER, 'x', "", "mg_cluster_takes(all, [~] * ", "($0 - 1)", 0},
    {CLUSTER, 's', "", "if (mg_cluster_rank() != 0) return;", "", 0},
    {CLUSTER, 'x', "", "[mg_cluster_rank()] * ~", "0", 0},
    {WORKSPACE, 's', "", "if (!mg_last_of(~, ~)) return;", "", 0},
    {RESET, 's', "", "  ~.zero();", "", 0},
    {RESET, 's', "", "  ~.init();", "", 0},
    {SCALE, 's', "", "  ~.scale_rows(~.factor);", "", 0},
    {SCALE, 's', "", "  shift_~.agree(x_~);", "", 0},
    {WORKSPACE, 's', "", "  shift_~.put(mg_to_global`", "", 0},
    {SCALE, 's', "", "  shift_~.put(mg_to_all<`", "", 0},
    {WORKSPACE, 'x', "", "made_shifts + [b_~]", "0", 0},
    {INDEX, 'x', "", "w_shifts, [(i_~ * (int64_t)~) / ~]", "0", 0},
    {INDEX, 'x', "", "w_shifts, [i_~ * (int64_t)~]);", "0", 0},
    {STAGE, 's', "", "now = now + 1 == ~ ? 0 : now + 1;", "", 0},
    {STAGE, 's', "", "was = now;", "", 0},
    {STAGE, 's', "", "if (now == 0) turn = 1 - turn;", "", 0},
    {STAGE, 'x', "", "was = 0, turn = [0]; i_", "1", 0},
    {STAGE, 's', "", "if (now == 0) turn = 1 - turn;", "turn = 1 - turn;", 0},
    {REUSE, 'x', "", "if ([i_~ + ~ < ~]) phases_~.read(now);", "i_$1 + $2 + 1 < $3", 0},
    {REUSE, 'x', "", "if ([i_~ > 0] && i_", "true", 0},
    {LANE, 'x', "", " && [mg_warp() == 0]) {", "true", 0},
    {LANE, 'x', "", "if ([mg_lane() == 0]) load_~(", "true", 0},
    {LANE, 'x', "", "if ([mg_tid() == 0])\n", "mg_lane() == 0", 0},
    {DROPPED, 'x', "", "for (int s = 0; [s < ~] && s < ~; s++) load_~(s, s);", "s < 1", 0},
    {INDEX, 'x', "", "(int)([i_~ * (int64_t)~])", "0", 0},
    {BARRIER, 's', "", "phases_~.init();", "", 0},
    {BARRIER, 's', "", "phases_~.expect(at);", "", 0},
    {BARRIER, 's', "", "phases_~.filled(now, turn);", "", 0},
    {STAGE, 'x', "", "phases_~.filled([now], turn);", "(now == 0)", 0},
    {STAGE, 'x', "", "phases_~.filled(now, [turn]);", "1 - turn", 0},
    {REUSE, 's', "", "phases_~.drained(was, now == 0 ? 1 - turn : turn);", "", 0},
    {REUSE, 'x', "", "drained(was, [now == 0 ? 1 - turn : turn]);", "turn", 0},
    {REUSE, 's', "", "phases_~.read(now);", "", 0},
    {STAGE, 'x', "", "phases_~.read([now]);", "was", 0},
    {STAGE, 'x', "", "phases_~.p + [at], ", "0", 0},
    {STAGE, 'x', "", "load_~(i_~ + ~, [was]);", "now", 0},
    {STAGE, 's', "", "next = next + 1 == ~ ? 0 : next + 1;", "", 0},
    {REUSE, 'x', "", "load_~(i_~ + ~, [next]);", "now", 0},
    {STAGE, 'x', "", "t_~(ring_~ + [now] * ~ + ~)", "(now == 0)", 0},
    {STAGE, 'x', "", "T_~(ring_~ + [at] * ~ + ~)", "0", 0},
    {STAGE, 'x', "", "t_~(ring_~ + [now] * ~)", "(now == 0)", 0}, /* what stands first in a stage */
    {STAGE, 'x', "", "T_~(ring_~ + [at] * ~)", "0", 0},
    {INDEX, 'x', "", "load_~([i_~ + ~], ", "$0 - 1", 0},
    {INDEX, 'x', "", "return ([step] + ~) % ~; };", "step / 2", 0},
    {STAGE, 'x', "", "load_~(i_~ + ~, [now]", "(now == 0)", 0},
    {DROPPED, 'x', "", "; [i_~ < ~]; i_~++", "$0 - 1", 0},
    {INDEX, 'x', "", "[b_~] * (int64_t)~", "($0 + 1)", 0},
    {INDEX, 'x', "", "[b_~] * (int64_t)~", "0", 0},
    {INDEX, 'x', "", "[i_~] * (int64_t)~", "($0 + 1)", 0},
    {EDGE, 'x', "mg_load_tile<", "[mg_cut(~, ~, ~)]", "$0 + 1", 0},
    {EDGE, 'x', "mg_load_tile<", "mg_cut(~, ~, [~])", "$0 + 1", 0},
    {LANE, 'x', "mg_load_tile<", "[mg_warp()] * ~", "0", 0},
    {STRIDE, 'x', "", ", [(int64_t)~], 1, ", "$0 + 8", 0},
    {STRIDE, 'x', "", ", [(int64_t)~], 1));", "$0 + 1", 0},
    {EPILOGUE, 'x', "", " = [mg_dev_~(~, mg_zero(), mg_zero())];", "$2", 0},
    {EPILOGUE, 'x', "", " = [mg_dev_~(~, ~, mg_zero())];", "$2", 0},
    {SCALE, 'x', "", " = [mg_dev_~(~, mg_zero(), mg_const(~, ~))];", "$2", 0},
    {SCALE, 'x', "", "mg_const([~], ~)", "$0 + 1", 0},
    {LANE, 'x', "", "[b_~ == 0]", "true", 0},
    {WORKSPACE, 'x', "", "parts + (int64_t)([b_~]) * MERGE", "0", 0},
    {EDGE, 's', "", "  mg_zero_outside<`", "", 0},
    {RESET, 's', "", "  mg_fill<`", "", 0},
    {REUSE, 'x', "", "t_~(mg_shared() + [~])", "0", 0},
    {REUSE, 'x', "", " s_~(mg_shared() + [~])", "0", 0},
    {STATISTIC, 's', "", "  red_~.finish(~);", "", 0},
    {STATISTIC, 's', "", "  red_~.put(~);", "", 0},
    {DROPPED, 's', "", "  s_~.spill(acc_~);", "", 0},
};

#else
#include MGT_PLANTS
#endif

/* ------------------------------------------------------------------------------------------------- the kernels */
static const struct { const char *name, *text; } kernels[] = {
    {"parts under maxima of their own, in two kernels",
     "program k\ninput Q : f16[20, 32]\ninput K : f16[32, 1024]\ninput V : f16[1024, 48]\ninput W : f16[48, 24]\nD, L = kernel grid=(x=1, z=4) threads=128 {\n  plan { stages=2 warps_m=1 warps_n=4 warps_k=1 }\n  q = load Q {}\n"
     "  for i=4 {\n    k = load K {z->1, i->1}\n    v = load V {z->0, i->0}\n    p = exp(scale(matmul(q, k), 15/1))\n    d = matmul(p, v)\n    l = sum(p, dim=1)\n  }\n  store accum(d) {i->+} {z->1}\n  store accum(l) {i->+} {z->1}\n}\n"
     "O = kernel grid=(x=5) threads=64 {\n  plan { stages=1 }\n  w = load W {}\n  for i=4 {\n    d = load D {x->0, i->1}\n    e = matmul(d, w)\n  }\n  for j=2 {\n    l = load L {x->0, j->1}\n    s = sum(l, dim=1)\n  }\n  o = div(add(accum(e) {i->+}, sum(accum(d) {i->+}, dim=1)), accum(s) {j->+})\n  store o {x->0}\n}\noutput O\n"},
    {"skinny", /* split over warps, ragged, a ring of three stages */
     "program k\ninput X : f16[7, 440]\ninput G : f16[440]\ninput W : f16[440, 48]\nO = kernel grid=(x=2) threads=128 {\n  plan { stages=3 warps_m=1 warps_n=1 warps_k=4 }\n  for i=7 {\n    a = load X {i->1}\n    g = load G {i->0}\n"
     "    w = load W {x->1, i->0}\n    t = div(a, sqrt(sqr(g)))\n    b = matmul(t, w)\n    s = sum(sqr(t), dim=1)\n  }\n  o = div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/440), 1/1000)))\n  store o {x->1}\n}\noutput O\n"},
    {"own ring", /* a ring for every warp */
     "program k\ninput X : f16[20, 568]\ninput G : f16[568]\ninput W : f16[568, 48]\nO = kernel grid=(x=2) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp }\n  for i=9 {\n    a = load X {i->1}\n    g = load G {i->0}\n"
     "    w = load W {x->1, i->0}\n    b = matmul(mul(a, g), w)\n    s = sum(exp(a), dim=1)\n  }\n  o = div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/568), 1/1000)))\n  store o {x->1}\n}\noutput O\n"},
    {"few rows", /* the same for rows that fill half of a tile, which squares are summed of */
     "program k\ninput X : f16[7, 512]\ninput G : f16[512]\ninput W : f16[512, 48]\nO = kernel grid=(x=2) threads=64 {\n  plan { stages=8 warps_m=1 warps_n=1 warps_k=2 ring=warp }\n  for i=8 {\n    a = load X {i->1}\n    g = load G {i->0}\n"
     "    w = load W {x->1, i->0}\n    b = matmul(mul(a, g), w)\n    s = sum(sqr(a), dim=1)\n  }\n  o = div(accum(b) {i->+}, sqrt(add_scalar(scale(accum(s) {i->+}, 1/512), 1/1000)))\n  store o {x->1}\n}\noutput O\n"},
    {"split products", /* behind such rings a product of the warps' parts, which joins another's; parts of sums in a cluster */
     "program k\ninput X : bf16[27, 768]\ninput A : bf16[768, 16]\ninput B : bf16[16, 80]\ninput W : bf16[768, 80]\nO = kernel grid=(x=2, z=2) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp merge=cluster }\n  for i=6 {\n"
     "    x = load X {z->1, i->1}\n    a = load A {z->0, i->0}\n    w = load W {x->1, z->0, i->0}\n    p = matmul(x, a)\n    q = matmul(x, w)\n    s = sum(mul(x, x), dim=1)\n  }\n  b = load B {x->1}\n"
     "  t = add(accum(q) {i->+}, matmul(accum(p) {i->+}, b))\n  o = div(accum(t) {z->+}, sqrt(add_scalar(accum(s) {z->+, i->+}, 1/1000)))\n  store o {x->1}\n}\noutput O\n"},
    {"transposes", /* across a tile's rows, in groups of whole lines of 128 bytes; beside a tile that is read along its rows */
     "program k\ninput X : f16[56, 120]\ninput Y : f16[120, 56]\ninput Z : f32[40, 20]\nO = kernel grid=(x=2, y=2) threads=64 {\n  plan { y.at=plain }\n  x = load X {x->0, y->1}\n  y = load Y {x->1, y->0}\n"
     "  o = add(transpose(x, [1, 0]), y)\n  store o {x->1, y->0}\n}\nP = kernel grid=(x=2) threads=32 {\n  z = load Z {x->0}\n  p = transpose(z, [1, 0])\n  store p {x->1}\n}\noutput O\noutput P\n"},
    {"gated", /* warps on rows and columns, transposed operands, steps that are not whole */
     "program k\ninput X : bf16[40, 96] @ [1, 0]\ninput A : bf16[96, 112] @ [1, 0]\ninput B : bf16[96, 112]\nO = kernel grid=(x=2) threads=128 {\n  plan { stages=2 warps_m=2 warps_n=2 warps_k=1 }\n  for i=4 {\n"
     "    x = load X {i->1}\n    a = load A {x->1, i->0}\n    b = load B {x->1, i->0}\n    p = matmul(x, a)\n    q = matmul(x, div(b, sqrt(sqr(b))))\n  }\n  o = mul(silu(accum(p) {i->+}), accum(q) {i->+})\n"
     "  store o {x->1}\n}\noutput O\n"},
    {"wide", /* rows over the grid, several tiles of 16 a warp, whole units */
     "program k\ninput X : f16[72, 160]\ninput Y : f16[72, 160]\ninput Z : f16[160, 96]\ninput C : f16[96]\nO = kernel grid=(x=2, y=2) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=2 warps_k=1 }\n  for i=5 {\n"
     "    x = load X {y->0, i->1}\n    y = load Y {y->0, i->1}\n    z = load Z {x->1, i->0}\n    p = matmul(add(x, y), z)\n  }\n  c = load C {x->0}\n  o = add(accum(p) {i->+}, c)\n  store o {x->1, y->0}\n}\noutput O\n"},
    {"low rank", /* a product that goes through shared memory to the next */
     "program k\ninput X : f16[20, 160]\ninput A : f16[160, 20]\ninput B : f16[20, 112]\ninput W : f16[160, 112]\nO = kernel grid=(x=2) threads=96 {\n  plan { stages=2 warps_m=1 warps_n=3 warps_k=1 }\n  for i=5 {\n"
     "    x = load X {i->1}\n    a = load A {i->0}\n    w = load W {x->1, i->0}\n    p = matmul(x, a)\n    q = matmul(x, w)\n  }\n  b = load B {x->1}\n  o = add(accum(q) {i->+}, matmul(accum(p) {i->+}, b))\n"
     "  store o {x->1}\n}\noutput O\n"},
    {"without tensor cores", /* f32; odd strides; parts through the workspace */
     "program k\ninput X : f32[33, 50]\ninput W : f32[50, 23] @ [1, 0]\nO = kernel grid=(x=2, z=2) threads=64 {\n  plan { merge=workspace stages=1 warps_m=1 warps_n=1 warps_k=2 }\n  for i=3 {\n    x = load X {z->1, i->1}\n    w = load W {x->1, z->0, i->0}\n    b = matmul(exp(x), add_scalar(w, 1/2))\n"
     "    s = sum(sqr(x), dim=1)\n  }\n  o = div(accum(b) {z->+, i->+}, sqrt(add_scalar(accum(s) {z->+, i->+}, 1/1000)))\n  store o {x->1}\n}\noutput O\n"},
    {"attention, cluster", /* fragments between two products, a running maximum, parts in a cluster */
     "program k\ninput Q : f16[20, 32]\ninput K : f16[32, 384]\ninput V : f16[384, 40]\nO = kernel grid=(x=2, z=2) threads=128 {\n  plan { stages=2 warps_m=1 warps_n=4 warps_k=1 merge=cluster }\n  q = load Q {}\n  for i=3 {\n    k = load K {z->1, i->1}\n"
     "    v = load V {x->1, z->0, i->0}\n    p = exp(scale(matmul(q, k), 3/1))\n    s = sum(p, dim=1)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {z->+, i->+}, accum(s) {z->+, i->+})\n  store o {x->1}\n}\noutput O\n"},
    {"attention, workspace",
     "program k\ninput Q : f16[40, 32]\ninput K : f16[32, 376] @ [1, 0]\ninput V : f16[376, 24]\nO = kernel grid=(x=1, z=3) threads=128 {\n  plan { stages=1 warps_m=2 warps_n=2 warps_k=1 merge=workspace }\n  q = load Q {}\n  for i=2 {\n    k = load K {z->1, i->1}\n"
     "    v = load V {x->1, z->0, i->0}\n    p = exp(scale(matmul(q, k), 3/1))\n    s = sum(p, dim=1)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {z->+, i->+}, accum(s) {z->+, i->+})\n  store o {x->1}\n}\noutput O\n"},
    {"attention, rings of warps", /* every warp brings its own columns of K and rows of V; K along its rows, V transposed */
     "program k\ninput Q : f16[12, 32]\ninput K : f16[32, 568]\ninput V : f16[568, 24] @ [1, 0]\nO = kernel grid=(x=1) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=2 warps_k=1 ring=warp }\n  q = load Q {}\n  for i=9 {\n    k = load K {i->1}\n"
     "    v = load V {i->0}\n    p = exp(scale(matmul(q, k), 3/1))\n    s = sum(p, dim=1)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {i->+}, accum(s) {i->+})\n  store o {}\n}\noutput O\n"},
    {"attention of norms", /* squares summed on tensor cores, of columns that are no whole tiles of 16; vectors in the place of sums */
     "program k\ninput Q : f16[20, 48]\ninput K : f16[48, 376] @ [1, 0]\ninput V : f16[376, 24]\nO = kernel grid=(x=1) threads=96 {\n  plan { stages=2 warps_m=1 warps_n=3 warps_k=1 }\n  q = load Q {}\n  r = div(q, sqrt(add_scalar(sum(exp(q), dim=1), 1/1000)))\n"
     "  for i=3 {\n    k = load K {i->1}\n    v = load V {i->0}\n    n = sqrt(add_scalar(sum(sqr(k), dim=0), 1/1000))\n    p = exp(scale(div(matmul(r, k), n), 3/1))\n    s = sum(p, dim=1)\n    d = matmul(p, v)\n  }\n"
     "  o = div(accum(d) {i->+}, accum(s) {i->+})\n  store o {}\n}\noutput O\n"},
    {"chain", /* the same without an exponential */
     "program k\ninput A : f16[33, 48]\ninput B : f16[48, 250]\ninput C : f16[33, 1]\ninput D : f16[250, 24]\nO, L = kernel grid=(x=1) threads=64 {\n  plan { warps_m=1 warps_n=2 warps_k=1 stages=2 }\n  a = load A {}\n  g = load C {}\n  for i=4 {\n"
     "    b = load B {i->1}\n    d = load D {i->0}\n    s = silu(mul(matmul(a, b), g))\n    e = matmul(s, d)\n    l = sum(s, dim=1)\n  }\n  o = accum(e) {i->+}\n  store o {}\n  t = accum(l) {i->+}\n  store t {}\n}\noutput O\noutput L\n"},
    {"rows that blocks share", /* each maximum stands in two parts, of two rows; in lanes of one block too */
     "program k\ninput X : f16[2, 8200]\ninput Y : f16[3, 200]\nT = argmax(concat(X, X, dim=1), dim=1)\nU = argmax(concat(Y, Y, dim=1), dim=1)\noutput T\noutput U\n"},
    {"rows that blocks share, each maximum once", "program k\ninput X : f16[12, 16384]\nT = argmax(X, dim=1)\noutput T\n"},
    {"moves", /* a concatenating accumulator, a running maximum, replicas */
     "program k\ninput X : f16[16, 128]\ninput W : f16[128, 60]\nO, S = kernel grid=(x=2, y=2) threads=64 {\n  a = load X {x->0}\n  for i=4 {\n    w = load W {i->1}\n    p = matmul(a, w)\n    c = relu(p)\n"
     "    m = max(p, dim=1)\n  }\n  o = sub(accum(c) {i->1}, accum(m) {i->max})\n  s = sum(o, dim=1)\n  store o {x->0}\n  store s {x->0}\n}\noutput O\noutput S\n"},
    {"operands", /* concatenated, repeated, reshaped; a sum of columns */
     "program k\ninput X : f16[18, 36]\ninput W : f16[60, 36]\ninput V : f16[24, 66]\nO = kernel grid=(x=2) threads=128 {\n  a = load X {x->0}\n  w = load W {}\n  v = load V {}\n  c = matmul(a, transpose(w, [1, 0]))\n"
     "  d = matmul(concat(c, repeat(a, dim=1, n=2), dim=1), transpose(reshape(concat(v, v, dim=0), [24, 132]), [1, 0]))\n  e = sum(d, dim=0)\n  o = mul(d, e)\n  store o {x->0}\n}\noutput O\n"},
    {"rows", /* row-wise, several warps a row */
     "program k\ninput X : f16[6, 521]\ninput H : f16[6, 521]\nO = kernel grid=(x=3) threads=128 {\n  x = load X {x->0}\n  h = load H {x->0}\n  y = add(x, div(h, sqrt(add_scalar(scale(sum(sqr(h), dim=1), 1/521), 1/1000))))\n"
     "  o = div(y, sqrt(add_scalar(scale(sum(sqr(y), dim=1), 1/521), 1/1000)))\n  store o {x->0}\n}\noutput O\n"},
    {"merges", /* two axes, a maximum, a loop behind the merge, stores that do not wait for it */
     "program k\ninput X : f16[24, 64]\ninput W : f16[64, 48]\nO, P, R = kernel grid=(x=2, y=3, z=2) threads=64 {\n  x = load X {x->1, z->1}\n  w = load W {x->0, z->0, y->1}\n  c = load X {}\n  m = accum(max(x, dim=1)) {x->max, z->max}\n"
     "  p = accum(matmul(x, w)) {x->+, z->+}\n  for i=4 {\n    v = load W {i->0}\n    y = load X {i->1}\n    q = matmul(mul(y, m), v)\n  }\n  o = mul(p, sum(accum(q) {i->+}, dim=1))\n  r = sum(c, dim=0)\n  s = exp(x)\n  store o {y->1}\n"
     "  store s {x->1, z->1}\n  store r {}\n}\noutput O\noutput P\noutput R\n"},
    {"two kernels", /* each merges through the workspace, a tensor between them */
     "program k\ninput X : f16[16, 128]\ninput W : f16[128, 64]\ninput V : f16[64, 32]\nH = kernel grid=(x=2, y=4) threads=64 {\n  plan { merge=workspace }\n  x = load X {y->1}\n  w = load W {x->1, y->0}\n  h = relu(accum(matmul(x, w)) {y->+})\n"
     "  store h {x->1}\n}\nO = kernel grid=(x=4) threads=64 {\n  plan { merge=workspace }\n  x = load H {x->1}\n  v = load V {x->0}\n  o = accum(matmul(x, v)) {x->+}\n  store o {}\n}\noutput O\n"},
    {"library", /* operators on whole tensors */
     "program k\ninput X : f16[33, 300]\ninput G : f16[300]\ninput W : f16[300, 100]\ninput T : f16[33, 100] @ [1, 0]\nY = rms_norm(X, G, eps=1/1000)\nO = matmul(Y, W)\n"
     "P = add(transpose(O, [1, 0]), transpose(T, [1, 0]))\nR = max(concat(P, P, dim=1), dim=0)\noutput R\noutput O\noutput P\n"},
    {"odd", /* nothing is a multiple of anything: loads and stores element by element */
     "program k\ninput X : f16[19, 45]\ninput W : f16[45, 37] @ [1, 0]\ninput V : f32[19, 37] @ [1, 0]\nO, P = kernel grid=(x=3) threads=64 {\n  plan { warps_m=1 warps_n=2 warps_k=1 stages=2 }\n  for i=3 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n"
     "    b = matmul(sub(x, sum(x, dim=0)), w)\n    c = sum(w, dim=0)\n  }\n  v = load V {x->1}\n  o = add(accum(b) {i->+}, mul(v, accum(c) {i->+}))\n  p = transpose(o, [1, 0])\n  store o {x->1}\n  store p {x->0}\n}\noutput O\noutput P\n"},
    {"right product", /* its rows are a contraction that is not whole steps */
     "program k\ninput A : f16[24, 18]\ninput B : f16[18, 40]\ninput C : f16[40, 32]\nO = kernel grid=(x=1) threads=64 {\n  plan { warps_m=1 warps_n=2 warps_k=1 }\n  a = load A {}\n  b = load B {}\n  c = load C {}\n"
     "  m = matmul(b, c)\n  o = matmul(a, m)\n  store o {}\n}\noutput O\n"},
    {"strips", /* the last block has fewer columns, in whole words */
     "program k\ninput X : f16[9, 56]\nO = kernel grid=(x=5) threads=64 {\n  x = load X {x->1}\n  o = mul(exp(x), sum(x, dim=0))\n  store o {x->1}\n}\noutput O\n"},
    {"short steps", /* chunks that are not whole steps of 16, on both sides */
     "program k\ninput X : f16[16, 120]\ninput W : f16[120, 128]\nO = kernel grid=(x=2) threads=128 {\n  plan { stages=2 warps_m=1 warps_n=2 warps_k=2 }\n  for i=5 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n    b = matmul(x, w)\n  }\n"
     "  o = accum(b) {i->+}\n  store o {x->1}\n}\noutput O\n"},
    {"short steps, odd rows", /* the same with rows of 5 and 7 pieces */
     "program k\ninput X : f16[40, 120] @ [1, 0]\ninput W : f16[120, 112]\nO = kernel grid=(x=2) threads=128 {\n  plan { stages=2 warps_m=1 warps_n=2 warps_k=2 }\n  for i=5 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n    b = matmul(x, w)\n  }\n"
     "  o = accum(b) {i->+}\n  store o {x->1}\n}\noutput O\n"},
    {"accumulators", /* in shared memory, of what is no product */
     "program k\ninput X : f16[9, 60]\ninput Y : f16[9, 60]\nO, M = kernel grid=(x=1) threads=64 {\n  for i=4 {\n    x = load X {i->1}\n    y = load Y {i->1}\n    p = mul(exp(x), y)\n    q = add(x, y)\n  }\n  o = accum(p) {i->+}\n  m = accum(q) {i->max}\n"
     "  store o {}\n  store m {}\n}\noutput O\noutput M\n"},
    {"a part for all", /* a product reads the whole, whose rows are no whole words */
     "program k\ninput X : f16[7, 96]\ninput A : f16[96, 23]\ninput B : f16[23, 40]\nO = kernel grid=(x=2, z=2) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=2 warps_k=1 merge=cluster }\n  b = load B {x->1}\n  for i=3 {\n    x = load X {z->1, i->1}\n"
     "    a = load A {z->0, i->0}\n    t = matmul(x, a)\n  }\n  o = matmul(accum(t) {z->+, i->+}, b)\n  store o {x->1}\n}\noutput O\n"},
    {"owners of few columns", /* whose units are single elements */
     "program k\ninput X : f16[30, 192]\ninput W : f16[192, 5]\nO = kernel grid=(x=2, z=2) threads=64 {\n  plan { stages=2 warps_m=2 warps_n=1 warps_k=1 merge=cluster }\n  for i=3 {\n    x = load X {z->1, i->1}\n"
     "    w = load W {x->1, z->0, i->0}\n    b = matmul(x, w)\n  }\n  o = accum(b) {z->+, i->+}\n  store o {x->1}\n}\noutput O\n"},
    {"owners", /* every block of a cluster stores its own share, the last a smaller one */
     "program k\ninput X : f16[7, 576]\ninput W : f16[576, 39]\nO = kernel grid=(x=2, z=3) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=2 merge=cluster }\n  for i=3 {\n    x = load X {z->1, i->1}\n"
     "    w = load W {x->1, z->0, i->0}\n    b = matmul(x, w)\n    s = sum(sqr(x), dim=1)\n  }\n  o = div(accum(b) {z->+, i->+}, sqrt(add_scalar(accum(s) {z->+, i->+}, 1/1000)))\n  store o {x->1}\n}\noutput O\n"},
    {"runs", /* read where they are stored: whole runs, by 16 bytes, in two blocks a row; others, whose rows are not aligned, the last one ragged */
     "program k\ninput X : f16[10, 48]\ninput H : f16[10, 48]\ninput Y : f16[10, 50]\ninput G : f16[10, 50]\n"
     "O = kernel grid=(x=2, y=3) threads=64 {\n  x = load X {x->1, y->0}\n  h = load H {x->1, y->0}\n  o = mul(x, exp(h))\n  store o {x->1, y->0}\n}\n"
     "P = kernel grid=(y=3) threads=64 {\n  y = load Y {y->0}\n  g = load G {y->0}\n  p = mul(y, exp(g))\n  store p {y->0}\n}\noutput O, P\n"},
    {"strips of rows", /* rows in registers, two groups of warps a row */
     "program k\ninput X : f16[12, 512]\ninput H : f16[12, 512]\nO = kernel grid=(x=3) threads=128 {\n  x = load X {x->0}\n  h = load H {x->0}\n  y = add(x, div(h, sqrt(add_scalar(scale(sum(sqr(h), dim=1), 1/512), 1/1000))))\n"
     "  o = div(y, sqrt(add_scalar(scale(sum(sqr(y), dim=1), 1/512), 1/1000)))\n  store o {x->0}\n}\noutput O\n"},
    {"strips of f32 rows", /* two passes a row, and a vector */
     "program k\ninput X : f32[6, 512]\ninput G : f32[6, 1]\nO = kernel grid=(x=3) threads=64 {\n  x = load X {x->0}\n  g = load G {x->0}\n  o = mul(g, div(x, sqrt(add_scalar(scale(sum(sqr(x), dim=1), 1/512), 1/1000))))\n  store o {x->0}\n}\noutput O\n"},
    {"strips of long rows", /* all warps on a row, two rows a block */
     "program k\ninput X : f16[4, 2048]\nO = kernel grid=(x=2) threads=256 {\n  x = load X {x->0}\n  o = div(x, sqrt(add_scalar(scale(sum(sqr(x), dim=1), 1/512), 1/1000)))\n  store o {x->0}\n}\noutput O\n"},
    {"warpgroups, attention", /* they split the keys of a step; rows along the contraction in one tile, across it in the other */
     "program k\ninput Q : f16[2, 64, 64]\ninput K : f16[2, 64, 512] @ [0, 2, 1]\ninput V : f16[2, 512, 64]\nO = kernel grid=(x=2) threads=256 {\n  plan { mma=warpgroup stages=2 warps_m=4 warps_n=2 warps_k=1 }\n  q = load Q {x->0}\n  for i=4 {\n    k = load K {x->0, i->2}\n"
     "    v = load V {x->0, i->1}\n    p = exp(scale(matmul(q, k), 3/1))\n    s = sum(p, dim=2)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {i->+}, accum(s) {i->+})\n  store o {x->0}\n}\noutput O\n"},
    {"warpgroups, rings of their own", /* a barrier of each for what it has of the norms of keys, which are summed while it multiplies */
     "program k\ninput Q : f16[2, 64, 64]\ninput K : f16[2, 64, 512] @ [0, 2, 1]\ninput V : f16[2, 512, 64]\nO = kernel grid=(x=2) threads=256 {\n  plan { mma=warpgroup ring=group stages=2 warps_m=4 warps_n=2 warps_k=1 }\n  q = load Q {x->0}\n  for i=4 {\n    k = load K {x->0, i->2}\n"
     "    v = load V {x->0, i->1}\n    c = matmul(q, k)\n    n = sqrt(add_scalar(sum(sqr(k), dim=1), 1/1000))\n    p = exp(scale(div(c, n), 3/1))\n    s = sum(p, dim=2)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {i->+}, accum(s) {i->+})\n  store o {x->0}\n}\noutput O\n"},
    {"warpgroups, chain", /* of 128 rows; several panels, of the right operand's columns and of its rows */
     "program k\ninput A : bf16[256, 128]\ninput B : bf16[128, 384]\ninput D : bf16[384, 192] @ [1, 0]\nE = kernel grid=(x=2) threads=256 {\n  plan { mma=warpgroup stages=2 warps_m=8 warps_n=1 warps_k=1 }\n  a = load A {x->0}\n  for i=3 {\n    b = load B {i->1}\n"
     "    d = load D {i->0}\n    e = matmul(relu(matmul(a, b)), d)\n  }\n  o = accum(e) {i->+}\n  store o {x->0}\n}\noutput E\n"},
    {"warpgroups, parts", /* both ways at once, 32 columns each; element by element into the tile */
     "program k\ninput X : f16[128, 127]\ninput W : f16[127, 127]\nO = kernel grid=(x=2) threads=512 {\n  plan { mma=warpgroup stages=1 warps_m=8 warps_n=2 warps_k=1 }\n  for i=2 {\n    x = load X {i->1}\n    w = load W {x->1, i->0}\n    p = matmul(x, w)\n  }\n"
     "  o = accum(p) {i->+}\n  store o {x->1}\n}\noutput O\n"},
    {"weights asked for early", /* before the kernel that makes the other operand has ended */
     "program k\ninput X : f16[7, 64]\ninput W : f16[64, 640]\ninput V : f16[640, 48]\nH = kernel grid=(x=4) threads=64 {\n  plan { warps_m=1 warps_n=2 warps_k=1 }\n  x = load X {}\n  w = load W {x->1}\n  h = relu(matmul(x, w))\n  store h {x->1}\n}\n"
     "O = kernel grid=(x=2) threads=64 {\n  plan { stages=3 warps_m=1 warps_n=1 warps_k=2 }\n  for i=10 {\n    h = load H {i->1}\n    v = load V {x->1, i->0}\n    b = matmul(h, v)\n  }\n  o = accum(b) {i->+}\n  store o {x->1}\n}\noutput O\n"},
    {"mask", /* of a product that is stored before its exponentials take its place */
     "program k\ninput Q : f16[8, 64]\ninput K : f16[64, 256]\ninput V : f16[256, 32]\ninput M : f16[8, 256]\nO, S, A = kernel grid=(x=2, y=2) threads=128 {\n  plan { stages=2 warps_m=1 warps_n=4 warps_k=1 }\n  q = load Q {y->0}\n  k = load K {}\n  m = load M {y->0}\n"
     "  s = add(scale(matmul(q, k), 8), scale(relu(m), -600))\n  p = exp(s)\n  v = load V {x->1}\n  l = sum(p, dim=1)\n  o = div(matmul(p, v), l)\n  store o {x->1, y->0}\n  store s {y->0}\n  store log(l) {y->0}\n}\noutput O\noutput S\noutput A\n"},
    {"more rows than threads",
     "program k\ninput Q : f16[70, 48]\ninput K : f16[48, 128]\ninput V : f16[128, 16]\nO = kernel grid=(x=2) threads=64 {\n  plan { stages=1 warps_m=1 warps_n=2 warps_k=1 }\n  q = load Q {}\n  k = load K {}\n  p = exp(scale(matmul(q, k), 3))\n  v = load V {x->1}\n"
     "  o = div(matmul(p, v), sum(p, dim=1))\n  store o {x->1}\n}\noutput O\n"},
    {"tensor copies, attention", /* keys in one panel, values in two; rows along the contraction, and across it */
     "program k\ninput Q : f16[2, 128, 64]\ninput K : f16[2, 64, 512] @ [0, 2, 1]\ninput V : f16[2, 512, 128]\nO = kernel grid=(x=2, y=2) threads=128 {\n  plan { copy=tma mma=warpgroup stages=2 warps_m=4 warps_n=1 warps_k=1 }\n"
     "  q = load Q {x->1, y->0}\n  for i=8 {\n    k = load K {y->0, i->2}\n    v = load V {y->0, i->1}\n    p = exp(scale(matmul(q, k), 3/1))\n    s = sum(p, dim=2)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {i->+}, accum(s) {i->+})\n  store o {x->1, y->0}\n}\noutput O\n"},
    {"tensor copies, alone", /* several boxes a tile, lines of 64 and 128 bytes, ragged rows; products of warps */
     "program k\ninput X : bf16[63, 1280]\ninput W : bf16[1280, 64]\ninput U : bf16[1280, 32]\nO, P = kernel grid=(x=2) threads=64 {\n  plan { copy=tma stages=2 warps_m=2 warps_n=1 warps_k=1 }\n  for i=4 {\n    x = load X {x->0, i->1}\n"
     "    w = load W {i->0}\n    u = load U {i->0}\n    p = matmul(x, w)\n    r = matmul(x, u)\n  }\n  o = accum(p) {i->+}\n  store o {x->0}\n  t = accum(r) {i->+}\n  store t {x->0}\n}\noutput O\noutput P\n"},
    {"two of f16, rings of warps",
     "program k\ninput A : f16[40, 96]\ninput B : f16[96, 256]\ninput D : f16[256, 96]\nH = kernel grid=(x=2, y=6) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp h.store=split }\n"
     "  for i=4 {\n    b = load B {y->0, i->1}\n    d = load D {x->1, i->0}\n    t = matmul(b, d)\n  }\n  h = accum(t) {i->+}\n  store h {y->0, x->1}\n}\n"
     "E = kernel grid=(x=3, y=2) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp }\n  for i=3 {\n    a = load A {y->0, i->1}\n    l = load H {x->1, i->0}\n    t = matmul(a, l)\n  }\n  e = accum(t) {i->+}\n  store e {y->0, x->1}\n}\noutput E\n"},
    {"two of f16, warpgroups",
     "program k\ninput A : f16[2, 128, 128]\ninput B : f16[2, 128, 128]\ninput D : f16[2, 128, 128]\nH = kernel grid=(x=4, y=8, z=2) threads=64 {\n  plan { stages=2 warps_m=1 warps_n=1 warps_k=2 ring=warp h.store=split }\n"
     "  for i=4 {\n    b = load B {z->0, y->1, i->2}\n    d = load D {z->0, x->2, i->1}\n    t = matmul(b, d)\n  }\n  h = accum(t) {i->+}\n  store h {z->0, y->1, x->2}\n}\n"
     "E = kernel grid=(x=2, y=2, z=2) threads=128 {\n  plan { stages=2 warps_m=4 warps_n=1 warps_k=1 mma=warpgroup copy=tma }\n  for i=4 {\n    a = load A {z->0, y->1, i->2}\n    l = load H {z->0, x->2, i->1}\n    t = matmul(a, l)\n  }\n"
     "  e = accum(t) {i->+}\n  store e {z->0, y->1, x->2}\n}\noutput E\n"},
    {"turned keys", /* a step's keys, turned once for all rows of warps */
     "program k\ninput Q : f16[64, 32]\ninput K : f16[192, 32]\ninput C : f16[192, 32]\ninput S : f16[192, 32]\ninput V : f16[192, 48]\nO = kernel grid=(x=2) threads=128 {\n"
     "  plan { stages=2 warps_m=2 warps_n=2 warps_k=1 }\n  q = load Q {x->0}\n  for i=6 {\n    k = load K {i->0}\n    c = load C {i->0}\n    s = load S {i->0}\n"
     "    t = add(mul(k, c), mul(concat(neg(slice(k, dim=1, from=16, n=16)), slice(k, dim=1, from=0, n=16), dim=1), s))\n    p = exp(scale(matmul(q, transpose(t, [1, 0])), 3/1))\n"
     "    v = load V {i->0}\n    l = sum(p, dim=1)\n    d = matmul(p, v)\n  }\n  o = div(accum(d) {i->+}, accum(l) {i->+})\n  store o {x->0}\n}\noutput O\n"},
    MGT_KERNELS
};
enum { KERNELS = sizeof kernels / sizeof *kernels, TEMPLATES = sizeof in_templates / sizeof *in_templates, PATTERNS = sizeof in_files / sizeof *in_files, MOST = 4096, FIRST = 1000 };

/* Plants of emitted files that are no bugs: kernel, pattern, what the lines before, with and after it hold, and why. */
#ifndef MGT_PLANTS
static const struct { const char *kernel, *find, *lines, *why; } harmless[] = {
    {"attention, cluster", "mg_sync();", "red_s.finish(t_s);", "the thread that reads a row's sum is the one that wrote it"},
    {"attention, workspace", "mg_sync();", "red_s.finish(t_s);", "the thread that reads a row's sum is the one that wrote it"},
    {"parts under maxima of their own, in two kernels", "    mg_cp_async_commit();", "load_j(i_j, 0);", "rows of four elements are no whole pieces: nothing is copied asynchronously"},
    {"parts under maxima of their own, in two kernels", "mg_cp_async_wait<~>();", "load_j(i_j, 0);", "rows of four elements are no whole pieces: nothing is copied asynchronously"},
    {"few rows", "mg_sync_warp();", "      if (step_i + 8 < ", "the ring holds all iterations: nothing is loaded behind it"},
    {"weights asked for early", "load_~(s, s, [!early], true);", "", "the kernel behind another is always launched early"},
    {"moves", "    mg_cp_async_commit();", "", "the loop copies nothing asynchronously"},
    {"moves", "mg_cp_async_wait<~>();", "    mg_sync();", "the loop copies nothing asynchronously, and the group before is older than two"},
    {"low rank", "mg_cp_async_wait<~>();", "}, mg_into(m_t2, 0, 0));", "the loop has waited for it"},
    {"split products", "mg_cp_async_wait<~>();", "  // t4 = matmul(t3, b)", "the loop has waited for it"},
    {"a part for all", "mg_cp_async_wait<~>();", "}, mg_into(m_t1, 0, 0));", "the loop has waited for it"},
    {"low rank", "  mg_zero_outside<`", "m_t2", "the other operand is zero there, and what lies there are numbers: parts of inputs"},
    {"odd", "  mg_zero_outside<`", "m_t3", "nothing reads outside"},
    {"attention of norms", "  mg_zero_outside<`", "m_r", "rows of a left operand, which are not stored"},
    {"merges", "  mg_zero_outside<`", "m_t3", "rows of a left operand, which are not stored"},
    {"merges", "  mg_zero_outside<`", "m_t4", "nothing reads outside"},
    {"merges", ", [(int64_t)~], 1));", "(p_R, ", "there is one row"},
    {"accumulators", "mg_sync();", "// store o", "the thread that reads an element is the one that added it up"},
    {"library", "[mg_cut(~, ~, ~)]", "p_Y + ", "the other operand is zero there"},
    {"chain", "mg_sync();", "red_l.finish(t_l);", "the thread that reads a row's sum is the one that wrote it"},
    {"tensor copies, attention", "mg_sync_warp();", "if (mg_lane() == 0) load_i(", "it brings the lanes together again, and orders nothing"},
    {"tensor copies, alone", "mg_sync_warp();", "if (mg_lane() == 0) load_i(", "it brings the lanes together again, and orders nothing"},
    {"two of f16, warpgroups", "mg_sync_warp();", "if (mg_lane() == 0) load_i(", "it brings the lanes together again, and orders nothing"},
    {"tensor copies, attention", "mg_sync();", "phases_i.init();", "who makes the barriers asks for the first copies, and the others meet it before the loop"},
    {"tensor copies, attention", "mg_group_publish();", "", "what cp.async brings there is a left operand, which no warpgroup reads in shared memory"},
    {"parts under maxima of their own, in two kernels", "mg_sync();", "shift_p.put(", "the thread that reads a row's sum is the one that wrote it"},
};
static int wanted(const char *name) { return name[0] != 0; }
#endif

/* ---------------------------------------------------------------------------------------------------- planting */
typedef struct site { size_t from, to; int id, kind; const char *find, *wrong_pattern; char wrong[512]; int cls; int pattern, line; char group[9][120]; } site;

static char *templates; /* of mirage_cuda.cuh, with its plants */
static int word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
/* Matches `find` at text + at; the range that its brackets enclose, and what its `~` stand for.  How the templates' lines
   are broken makes no difference: a space stands for any there, and inside braces there may be more. */
static int matches(const char *text, size_t at, const char *find, site *s) {
  const int loose = text == templates;
  int n = 0;
  size_t k = at;
  s->from = at;
  s->to = 0;
  for (const char *f = find; *f; f++) {
    if (*f == '[') s->from = k;
    else if (*f == ']') s->to = k;
    else if (*f == '~') {
      size_t begin = k;
      while (word(text[k])) k++;
      if (k == begin || n == 9 || k - begin >= sizeof s->group[0]) return 0;
      memcpy(s->group[n], text + begin, k - begin);
      s->group[n++][k - begin] = 0;
    } else if (*f == '`') {
      while (text[k] && text[k] != '\n') k++;
    } else {
      if (*f == '\\') f++;
      const int inside = loose && *f != ' ' && k > at && (text[k - 1] == '{' || *f == '}');
      while (inside && (text[k] == ' ' || text[k] == '\n')) k++;
      const int run = loose && *f == ' ' && f > find && f[-1] != ' ' && f[1] != ' ' && (text[k] == ' ' || text[k] == '\n');
      if (text[k] != *f && !run) return 0;
      k++;
      while (run && (text[k] == ' ' || text[k] == '\n')) k++;
    }
  }
  if (!s->to) s->to = k;
  while (s->kind != 'x' && text[s->from] == ' ') s->from++; /* an indentation that a pattern begins with */
  return 1;
}
static void fill(const char *text, const char *wrong, site *s) {
  s->wrong[0] = 0;
  size_t n = 0;
  for (const char *w = wrong; *w; w++) {
    char one[2] = {*w, 0}, whole[400];
    const char *put = one;
    if (*w == '$') {
      w++;
      snprintf(whole, sizeof whole, "%.*s", (int)(s->to - s->from), text + s->from);
      put = *w == '0' ? whole : s->group[*w - '1'];
    }
    n += (size_t)snprintf(s->wrong + n, sizeof s->wrong - n, "%s", put);
    assert_true(n < sizeof s->wrong);
  }
}
static int outer_first(const void *a, const void *b) {
  const site *x = (const site *)a, *y = (const site *)b;
  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  if (x->to != y->to) return x->to > y->to ? -1 : 1;
  return x->id < y->id ? -1 : 1;
}
/* The text with all plants in it: a switch opens where a range begins and closes where it ends, so that ranges nest. */
static char *planted(const char *text, site *s, int n) {
  size_t length = strlen(text), room = length + 1, to = 0;
  site *open[64];
  int depth = 0;
  qsort(s, (size_t)n, sizeof *s, outer_first);
  for (int k = 0; k < n; k++) room += strlen(s[k].wrong) + 200;
  char *out = (char *)malloc(room);
  assert_non_null(out);
  for (size_t at = 0, next = 0; at <= length; at++) {
    for (; depth && open[depth - 1]->to == at; depth--)
      to += (size_t)sprintf(out + to, "%s", open[depth - 1]->kind == 'x' ? "))" : open[depth - 1]->kind == 's' ? " } }" : "\n#endif\n");
    for (; next < (size_t)n && s[next].from == at; next++) {
      const site *p = &s[next];
      if (depth && p->to > open[depth - 1]->to) fail_msg("plants \"%s\" and \"%s\" overlap", p->find, open[depth - 1]->find);
      to += (size_t)sprintf(out + to, p->kind == 'x' ? "(mgt_planted(%d) ? (%s) : (" : p->kind == 's' ? "{ if (mgt_planted(%d)) { %s } else { " : "\n#if MGT_COMPILED == %d\n%s\n#else\n", p->id, p->wrong);
      assert_true(depth < 64);
      open[depth++] = &s[next];
    }
    out[to++] = text[at];
  }
  return out;
}

static const char switch_[] = /* before the first template */
    "\n#ifdef MG_EMULATE\n#include <stdlib.h>\n#include <fcntl.h>\n#include <unistd.h>\n#include <sys/mman.h>\n"
    "static int mgt_plant;\nstatic volatile unsigned char *mgt_hit;\n"
    "static __attribute__((constructor, no_sanitize(\"thread\"))) void mgt_begin(void) {\n"
    "  const char *n = getenv(\"MGT_PLANT\"), *file = getenv(\"MGT_HITS\");\n  mgt_plant = n ? atoi(n) : -1;\n"
    "  int fd = file && *file ? open(file, O_RDWR) : -1;\n"
    "  void *m = fd >= 0 ? mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;\n  if (m != MAP_FAILED) mgt_hit = (volatile unsigned char *)m;\n}\n"
    "static inline __attribute__((unused)) bool mgt_none(float v) { return !(v > -3e38f); }\n"
    "template<class T> static inline __attribute__((unused)) bool mgt_none(const T &) { return true; }\n" /* of a field */
    "static inline __attribute__((unused, no_sanitize(\"thread\"))) bool mgt_planted(int n) {\n  if (mgt_hit) mgt_hit[n] = 1;\n  return n == mgt_plant;\n}\n"
    "#define MGI_PLANTED 1\n#endif\n";

/* ------------------------------------------------------------------------------------------------------ the run */
static char dir[64], hits_path[100], compiler[100];
static unsigned char hits[4096];
static site found[TEMPLATES], in_file[MOST];
static int n_in_file;
/* What all processes count. */
static struct counts { int reached[TEMPLATES], caught[TEMPLATES], matched[PATTERNS], file_planted[PATTERNS], file_caught[PATTERNS], file_harmless[PATTERNS], missed, of_class[CLASSES], seen[CLASSES]; } *count;

static char *read_all(const char *path) {
  FILE *f = fopen(path, "rb");
  if (!f) fail_msg("cannot read %s", path);
  fseek(f, 0, SEEK_END);
  long n = ftell(f);
  rewind(f);
  char *text = (char *)malloc((size_t)n + 1);
  assert_non_null(text);
  assert_int_equal(fread(text, 1, (size_t)n, f), n);
  text[n] = 0;
  fclose(f);
  return text;
}
static void write_all(const char *path, const char *text) {
  FILE *f = fopen(path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(text, 1, strlen(text), f), strlen(text));
  assert_int_equal(fclose(f), 0);
}

/* The copy of mirage_cuda.cuh with all plants of the templates; every pattern must match where it is looked for. */
static void plant_templates(void) {
  char path[100];
  const char *text = templates = read_all("mirage_cuda.cuh");
  int lost = 0;
  for (int k = 0; k < TEMPLATES; k++) {
    const plant *p = &in_templates[k];
    const char *anchor = strstr(text, p->anchor);
    int nth = p->nth, ok = 0;
    size_t at = anchor ? (size_t)(anchor - text) : 0, end = at;
    const char *close = anchor ? strstr(anchor, "\n}") : NULL; /* a function or a struct ends at the margin */
    if (close) end = (size_t)(close - text);
    for (; at < end && !ok; at++) {
      found[k].kind = p->kind;
      ok = matches(text, at, p->find, &found[k]) && nth-- == 0;
    }
    if (!ok) {
      print_message("\"%s\" is not found behind \"%s\": the plant no longer applies\n", p->find, p->anchor);
      lost++;
      continue;
    }
    found[k].find = p->find;
    found[k].id = k;
    found[k].cls = p->cls;
    fill(text, p->wrong, &found[k]);
  }
  if (lost) fail_msg("%d plants no longer apply", lost);
  site sorted[TEMPLATES];
  memcpy(sorted, found, sizeof found);
  char *with = planted(text, sorted, TEMPLATES);
  const char *mark = "#if defined(__CUDACC__) || defined(MG_EMULATE)\n";
  char *at = strstr(with, mark);
  assert_non_null(at);
  at += strlen(mark);
  char *out = (char *)malloc(strlen(with) + sizeof switch_);
  assert_non_null(out);
  sprintf(out, "%.*s%s%s", (int)(at - with), with, switch_, at);
  snprintf(path, sizeof path, "%s/mirage_cuda.cuh", dir);
  write_all(path, out);
  free(out);
  free(with);
  static const char *const needed[] = {"mirage.h", "mirage_plan.h"};
  for (int k = 0; k < 2; k++) {
    char *header = read_all(needed[k]);
    snprintf(path, sizeof path, "%s/%s", dir, needed[k]);
    write_all(path, header);
    free(header);
  }
}
/* The emitted file with all plants of its kernels. */
static char *plant_file(const char *cu) {
  const char *begin = strstr(cu, "\nMG_KERNEL("), *end = strstr(cu, "\nextern \"C\" size_t ");
  n_in_file = 0;
  assert_non_null(begin);
  assert_non_null(end);
  for (int k = 0; k < PATTERNS; k++)
    for (const char *at = begin; at < end; at++) {
      site *s = &in_file[n_in_file];
      s->kind = in_files[k].kind;
      const char *first = in_files[k].find + (in_files[k].find[0] == '[');
      if ((word(*first) || *first == '~') && word(at[-1])) continue;
      if (!matches(cu, (size_t)(at - cu), in_files[k].find, s)) continue;
      const char *line = cu + s->from, *on;
      while (line[-1] != '\n') line--;
      on = strstr(line, in_files[k].anchor);
      if (!on || on > line + strcspn(line, "\n")) continue;
      s->id = FIRST + n_in_file;
      s->find = in_files[k].find;
      s->wrong_pattern = in_files[k].wrong;
      s->cls = in_files[k].cls;
      s->pattern = k;
      s->line = 1;
      fill(cu, in_files[k].wrong, s);
      for (const char *c = cu; c < at; c++) s->line += *c == '\n';
      if (s->to - s->from == strlen(s->wrong) && !memcmp(cu + s->from, s->wrong, s->to - s->from)) continue;
      count->matched[k]++;
      assert_true(n_in_file + 1 < MOST - FIRST);
      n_in_file++;
    }
  return planted(cu, in_file, n_in_file);
}

/* One compilation a kernel: the compiler that link 2 calls keeps what it made under MGT_KEY. */
static void make_compiler(void) {
  char text[1200];
  const char *cxx = getenv("CXX") && *getenv("CXX") && !strchr(getenv("CXX"), ' ') ? getenv("CXX") : "g++";
  snprintf(compiler, sizeof compiler, "%s/cxx", dir);
  snprintf(text, sizeof text,
           "#!/bin/sh\nmade= was=\nfor a in \"$@\"; do [ \"$was\" = -o ] && made=$a; was=$a; done\nkept=%s/$MGT_KEY.${made##*/}\n"
           "[ -f \"$kept\" ] || %s -DMGT_COMPILED=$MGT_COMPILED \"$@\" || exit 1\n[ -f \"$kept\" ] && cp \"$kept\" \"$made\" || cp \"$made\" \"$kept\"\n", dir, cxx);
  write_all(compiler, text);
  assert_int_equal(chmod(compiler, 0700), 0);
}
static void number(const char *name, int n) {
  char text[20];
  snprintf(text, sizeof text, "%d", n);
  setenv(name, text, 1);
}
static int64_t now_ms(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}
static int small; /* what shows at reduced sizes, under few fiber orders */
/* Link 2 on the file of kernel k with plant n, -1: none. */
static mg_status check(const mg_graph *g, const char *cu, int k, int n, int compiled, mg_check_report *r, mg_error *e) {
  mg_check_config c;
  char key[40];
  memset(&c, 0, sizeof c);
  memset(e, 0, sizeof *e);
  c.seed = seed;
  c.include_dir = dir;
  c.work_dir = dir;
  c.cxx = compiler;
  c.samples = small ? -1 : 0, c.seeds = small ? 4 : 0;
  c.timeout_s = n < 0 ? 300 : 60; /* what compiles may be slow; what runs and does not end is refused for that */
  snprintf(key, sizeof key, "%d.%d", k, compiled);
  setenv("MGT_KEY", key, 1);
  number("MGT_PLANT", n);
  number("MGT_COMPILED", compiled);
  return mg_cuda_check(g, cu, &c, r, e);
}
/* 1 if what is replaced is a place in shared memory, and that place is 0. */
static int lies_at_0(const site *s, const char *in) {
  char name[200];
  const char *last = NULL;
  if (strncmp(in + s->from, "AT_", 3)) return 0;
  snprintf(name, sizeof name, "    %.*s = ", (int)(s->to - s->from), in + s->from);
  for (const char *at = in; (at = strstr(at, name)) != NULL && at < in + s->from; at++) last = at + strlen(name);
  return last && last[0] == '0';
}
/* Why the plant is no bug there, or NULL. */
static const char *is_harmless(int k, const site *s, const char *in, int asynchronous) {
  const char *from = in + s->from, *to = in + s->to;
  char text[2000];
  if (s->cls == WAIT && !asynchronous) return "nothing is copied asynchronously";
  if (strstr(s->find, "(mg_shared() + [~])") && lies_at_0(s, in)) return "it lies there";
  if (s->cls == STAGE && !strcmp(s->wrong, "0") && strstr(in, "// 1 stages of")) return "there is one stage";
  if ((strstr(s->find, "s, true, [false]") || strstr(s->find, "!early, [true]")) && !strstr(in, "if (others)")) return "all that is loaded there may be asked for early";
  const char *commit = strstr(to, "mg_cp_async_commit();"), *wait = strstr(to, "mg_cp_async_wait<");
  if (s->cls == WAIT && strstr(s->find, "commit") && commit && wait && commit < wait && !strncmp(wait, "mg_cp_async_wait<0>", 19)) return "the next commit takes the copies along, and the next wait is for all";
  if (s->cls == WAIT && strstr(s->find, "wait") && wait && strspn(to, " \n") == (size_t)(wait - to)) return "a wait for more follows"; /* the next is for fewer left */
  for (int n = 0; n < 3 && from > in + 1; n++)
    for (from--; from[-1] != '\n';) from--;
  for (int n = 0; n < 2 && *to; n++) to += strcspn(to, "\n") + 1;
  snprintf(text, sizeof text, "%.*s", (int)(to - from), from);
  for (size_t h = 0; h < sizeof harmless / sizeof *harmless; h++)
    if (!strcmp(harmless[h].kernel, kernels[k].name) && !strcmp(harmless[h].find, s->find) && strstr(text, harmless[h].lines)) return harmless[h].why;
  return NULL;
}

/* Of kernel k every plant that it reaches, of templates too: each has to be caught there.  In a sample as many of each class as
   are still wanted. */
#ifdef __SANITIZE_ADDRESS__
enum { MGT_OF_CLASS = 1, MGT_OF_KERNEL = 1 }; /* the code that plants is no other */
#else
enum { MGT_OF_CLASS = 5, MGT_OF_KERNEL = 5 };
#endif
static void every_plant(int k, const mg_graph *g, const char *text, const char *cu) {
  int order[TEMPLATES + MOST], n = 0, tried[CLASSES] = {0}, n_run = 0, n_caught = 0;
  mg_check_report r;
  mg_error e;
  for (int p = 0; p < TEMPLATES; p++)
    if (hits[p]) order[n++] = p;
  for (int j = 0; j < n_in_file; j++)
    if (hits[in_file[j].id]) order[n++] = TEMPLATES + j;
  for (int j = n - 1; j > 0; j--) {
    const int other = (int)pick((uint64_t)j + 1), was = order[j];
    order[j] = order[other], order[other] = was;
  }
  for (int j = 0; j < n; j++) {
    const int p = order[j], in = p >= TEMPLATES;
    const site *s = in ? &in_file[p - TEMPLATES] : &found[p];
    if (in && s->pattern >= 0) count->matched[s->pattern]++;
    if (!all && (count->of_class[s->cls] >= MGT_OF_CLASS || tried[s->cls] >= MGT_OF_KERNEL)) continue;
    const char *why = s->cls == (int)MGT_LARGE && strncmp(kernels[k].name, "large", 5) ? "no offset is beyond 32 bits" : is_harmless(k, s, in ? text : templates, 0);
    if (why) {
      if (getenv("VERBOSE")) print_message("%s: \"%s\" -> \"%s\" is no bug here: %s\n", kernels[k].name, s->find, s->wrong, why);
      continue;
    }
    small = s->cls != (int)MGT_LARGE;
    const mg_status st = check(g, cu, k, s->id, -1, &r, &e);
    small = 0;
    count->of_class[s->cls]++, tried[s->cls]++, n_run++;
    if (st == MG_NOT_FOUND) {
      assert_true(r.difference[0]);
      count->seen[s->cls]++, n_caught++;
      if (!in) count->caught[p]++;
      if (getenv("VERBOSE")) print_message("%s, %s -> %s: %s\n", kernels[k].name, s->find, s->wrong, r.difference);
    } else if (st == MG_OK || st == MG_UNSUPPORTED) {
      print_message("MISSED in %s, line %d: \"%s\" -> \"%s\"\n", kernels[k].name, in ? s->line : 0, s->find, s->wrong);
      count->missed++;
    } else fail_msg("%s, \"%s\" -> \"%s\": %s: %s", kernels[k].name, s->find, s->wrong, e.where, e.msg);
  }
  print_message("%s: %d plants tried, %d caught\n", kernels[k].name, n_run, n_caught);
}
static int enough(void) { /* of every class */
  int all_there = 1;
  for (int c = 0; c < CLASSES; c++) all_there &= count->of_class[c] >= MGT_OF_CLASS;
  return all_there;
}
static int useful(int k) { /* for a class that lacks some */
  const int large = !strncmp(kernels[k].name, "large", 5);
  int any = 0;
  for (int c = 0; c < CLASSES; c++)
    if (count->of_class[c] < MGT_OF_CLASS) any |= c == (int)MGT_LARGE ? large : c == (int)MGT_MERGED ? strstr(kernels[k].text, "merge=workspace") != NULL : !large;
  return any;
}
static void one_kernel(int k, int templates_left, int files_left) {
  mg_error e;
  mg_check_report r;
  mg_graph *g = NULL;
  mg_emit_config cfg;
  char *text = NULL;
  int64_t began = now_ms();
  int n_caught = 0, n_run = 0, asynchronous = 0;
  memset(&e, 0, sizeof e);
  memset(&cfg, 0, sizeof cfg);
  snprintf(hits_path, sizeof hits_path, "%s/hits.%d", dir, k);
  if (mg_parse(kernels[k].text, strlen(kernels[k].text), kernels[k].name, NULL, &g, &e) != MG_OK) fail_msg("%s: line %d: %s: %s", kernels[k].name, e.line, e.where, e.msg);
  if (mg_cuda_emit(g, &cfg, &text, &e) != MG_OK) fail_msg("%s: %s: %s", kernels[k].name, e.where, e.msg);
  joined(text);
  char *cu = plant_file(text);
  memset(hits, 0, sizeof hits);
  FILE *f = fopen(hits_path, "wb");
  assert_non_null(f);
  assert_int_equal(fwrite(hits, 1, sizeof hits, f), sizeof hits);
  fclose(f);
  setenv("MGT_HITS", hits_path, 1);
  if (getenv("KEEP")) {
    char path[120];
    snprintf(path, sizeof path, "%s/%d.cu", dir, k);
    write_all(path, text);
  }
  if (check(g, cu, k, -1, -1, &r, &e) != MG_OK) fail_msg("%s, nothing planted: %s: %s\n%s", kernels[k].name, e.where, e.msg, r.difference);
  f = fopen(hits_path, "rb");
  assert_non_null(f);
  assert_int_equal(fread(hits, 1, sizeof hits, f), sizeof hits);
  fclose(f);
  setenv("MGT_HITS", "", 1);
  for (int p = 0; p < TEMPLATES && MGT_EVERY; p++) count->reached[p] += hits[p];
  if (MGT_EVERY) every_plant(k, g, text, cu);
  for (int p = 0; p < TEMPLATES && !MGT_EVERY; p++) {
    const int compiled = in_templates[p].kind == 'c';
    if (!compiled && !hits[p]) continue;
    count->reached[p]++;
    asynchronous |= !strcmp(in_templates[p].find, "n * (int)sizeof(T)");
    if (count->caught[p] || (!all && templates_left <= 0)) continue;
    if (!all && pick(TEMPLATES) >= 30) continue;
    templates_left--;
    n_run++;
    mg_status s = check(g, cu, k, compiled ? -1 : p, compiled ? p : -1, &r, &e);
    if (s == MG_NOT_FOUND) {
      assert_true(r.difference[0]);
      count->caught[p] = 1;
      n_caught++;
      if (getenv("VERBOSE")) print_message("%s, %s -> %s: %s\n", kernels[k].name, in_templates[p].find, in_templates[p].wrong, r.difference);
    } else if (s != MG_OK) fail_msg("%s, \"%s\" -> \"%s\": %s: %s", kernels[k].name, in_templates[p].find, in_templates[p].wrong, e.where, e.msg);
    else if (getenv("VERBOSE")) print_message("%s, %s %s -> %s: nothing seen here\n", kernels[k].name, in_templates[p].anchor, in_templates[p].find, in_templates[p].wrong);
  }
  for (int j = 0; j < n_in_file && !MGT_EVERY; j++) {
    const site *s = &in_file[j];
    if (!hits[s->id] || (!all && (files_left <= 0 || pick((uint64_t)n_in_file) >= 12))) continue;
    const char *why = is_harmless(k, s, text, asynchronous);
    if (why) {
      print_message("%s, line %d: \"%s\" -> \"%s\" is no bug here: %s\n", kernels[k].name, s->line, s->find, s->wrong_pattern, why);
      count->file_harmless[s->pattern]++;
      continue;
    }
    files_left--;
    n_run++;
    count->file_planted[s->pattern]++;
    mg_status st = check(g, cu, k, s->id, -1, &r, &e);
    if (st == MG_NOT_FOUND) {
      assert_true(r.difference[0]);
      count->file_caught[s->pattern]++;
      n_caught++;
      if (getenv("VERBOSE")) print_message("%s, line %d, %s -> %s: %s\n", kernels[k].name, s->line, s->find, s->wrong, r.difference);
    } else if (st == MG_OK || st == MG_UNSUPPORTED) {
      const char *line = text + s->from;
      while (line > text && line[-1] != '\n') line--;
      print_message("MISSED in %s, line %d: \"%s\" -> \"%s\": %.*s%s\n", kernels[k].name, s->line, s->find, s->wrong_pattern, (int)strcspn(line, "\n"), line, st == MG_OK ? "" : " (undecided)");
      count->missed++;
    } else fail_msg("%s, line %d, \"%s\" -> \"%s\": %s: %s", kernels[k].name, s->line, s->find, s->wrong, e.where, e.msg);
  }
  if (!MGT_EVERY) print_message("%s: %d plants tried, %d caught, %.1f s\n", kernels[k].name, n_run, n_caught, (double)(now_ms() - began) / 1000);
  free(cu);
  mg_string_free(text);
  mg_graph_free(g);
}

static void table(FILE *f) {
  int sum_planted = 0, sum_caught = 0;
  for (int c = 0; c < CLASSES && MGT_EVERY; c++) fprintf(f, "%-34s %8d planted, %8d caught\n", class_name[c], count->of_class[c], count->seen[c]);
  if (MGT_EVERY) return;
  fprintf(f, "%-34s %-14s %8s %8s\n", "template", "class", "planted", "caught");
  for (int k = 0; k < TEMPLATES; k++) {
    const char *anchor = in_templates[k].anchor;
    int first = 0; /* an anchor's plants need not stand together */
    while (strcmp(in_templates[first].anchor, anchor)) first++;
    if (first < k) continue;
    char name[40];
    const char *from = strstr(anchor, "mg") ? strstr(anchor, "mg") : anchor;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(from, " ({"), from);
    for (int c = 0; c < CLASSES; c++) {
      int n = 0, m = 0;
      for (int j = 0; j < TEMPLATES; j++)
        if (!strcmp(in_templates[j].anchor, anchor) && in_templates[j].cls == c && count->reached[j]) n++, m += count->caught[j];
      if (n) fprintf(f, "%-34s %-14s %8d %8d\n", name, class_name[c], n, m);
      sum_planted += n;
      sum_caught += m;
    }
  }
  for (int c = 0; c < CLASSES; c++) {
    int n = 0, m = 0;
    for (int k = 0; k < PATTERNS; k++)
      if (in_files[k].cls == c) n += count->file_planted[k], m += count->file_caught[k];
    if (n) fprintf(f, "%-34s %-14s %8d %8d\n", "emitted kernels", class_name[c], n, m);
    sum_planted += n;
    sum_caught += m;
  }
  fprintf(f, "%-34s %-14s %8d %8d\n", "all", "", sum_planted, sum_caught);
}

static void plants(void **state) {
  (void)state;
  snprintf(dir, sizeof dir, "build/plant.%ld", (long)getpid());
  assert_int_equal(mkdir(dir, 0700), 0);
  make_compiler();
  plant_templates();
  const char *only = getenv("ONLY"), *jobs = getenv("SOAK_JOBS");
  const int some = 3, start = (int)pick(KERNELS), n_kernels = all || MGT_EVERY ? KERNELS : some, n_jobs = !all ? 1 : jobs && atoi(jobs) > 0 ? atoi(jobs) : 2;
  void *shared = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(shared != MAP_FAILED);
  count = (struct counts *)shared;
  fflush(NULL);
  for (int j = 0; j < n_jobs; j++) {
    const pid_t child = n_jobs > 1 ? fork() : 0;
    assert_true(child >= 0);
    if (child) continue;
    for (int n = j; n < n_kernels; n += n_jobs) {
      const int k = all ? n : MGT_EVERY ? (start + n) % KERNELS : (start + n * (KERNELS / some)) % KERNELS;
      if (!wanted(kernels[k].name) || (MGT_EVERY && !all && !useful(k))) continue;
      if (only && !strstr(only, kernels[k].name)) continue; /* ONLY="rows;odd" */
      one_kernel(k, (sample / 2 + some - 1 - n) / some, (sample / 2 + some - 1 - n) / some);
    }
    fflush(NULL);
    if (n_jobs > 1) _exit(0);
  }
  for (int j = 0; j < n_jobs && n_jobs > 1; j++) {
    int status;
    assert_true(wait(&status) > 0);
    assert_int_equal(status, 0);
  }
  if (MGT_EVERY && !all && !only && !enough()) fail_msg("a class has fewer than %d plants", (int)MGT_OF_CLASS);
  for (int k = 0; k < TEMPLATES; k++) {
    if (all && !only && !count->reached[k]) print_message("no kernel reaches \"%s\" -> \"%s\" of \"%s\"\n", in_templates[k].find, in_templates[k].wrong, in_templates[k].anchor), count->missed++;
    if (all && !MGT_EVERY && count->reached[k] && !count->caught[k]) print_message("MISSED in a template: \"%s\" -> \"%s\" of \"%s\"\n", in_templates[k].find, in_templates[k].wrong, in_templates[k].anchor), count->missed++;
  }
  for (int k = 0; k < PATTERNS; k++) {
    if (all && !only && !count->matched[k]) print_message("no emitted file has \"%s\"\n", in_files[k].find), count->missed++;
  }
  table(stdout);
  if (table_path) {
    FILE *f = fopen(table_path, "w");
    assert_non_null(f);
    table(f);
    fclose(f);
  }
  if (!getenv("KEEP")) {
    char command[120];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    assert_int_equal(system(command), 0);
  }
  free(templates);
  if (count->missed) fail_msg("%d planted bugs were not caught, seed %llu", count->missed, (unsigned long long)seed);
}

int main(int argc, char **argv) {
  if (argc > 1) seed = strtoull(argv[1], NULL, 0);
  if (argc > 2) all = !strcmp(argv[2], "all"), sample = all ? 0 : atoi(argv[2]);
  if (argc > 3) table_path = argv[3];
  rng = seed * 0x9E3779B97F4A7C15u + 88172645463325252u;
  printf("seed %llu\n", (unsigned long long)seed);
  const struct CMUnitTest tests[] = {cmocka_unit_test(plants)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
