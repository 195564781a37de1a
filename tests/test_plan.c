/* Tests of mirage_plan.h: the rows of the machine table, their text, and who asks them.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_plan.c -o build/test_plan -lcmocka -lm -lpthread -ldl && build/test_plan */
#ifndef _POSIX_C_SOURCE
#define _POSIX_C_SOURCE 200809L
#endif
/* A row from outside: an A100 of another size, under an architecture that no built-in row has. */
#define MG_USER_MACHINES(M)                                                                                           \
  M("ORIN", "sm_87", MG_CAN_ASYNC_COPY, 16, 1536, 16, 166912, 167936, 65536, 4,                                            \
    180.0, 800.0, 40.0, 4.0, 100000.0, 2.0, 0.1, MG_COSTS_H200, "scaled, unmeasured: of this test alone")
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_plan.h"
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "parse.h"
#include "ugraphs.h"

static const char small[] =
    "program small\ninput X : f16[16, 256]\ninput W : f16[256, 64]\nO = silu(matmul(X, W))\noutput O\n";

/* Each row is found by its name, and by its architecture unless an earlier row has that too. */
static void rows_are_found(void **state) {
  (void)state;
#define ONE(...) +1
  assert_int_equal(mg_machine_count(), 0 MG_BUILTIN_MACHINES(ONE) MG_USER_MACHINES(ONE));
#undef ONE
  for (int k = 0; k < mg_machine_count(); k++) {
    const mg_machine *m = mg_machine_at(k);
    int first = k;
    for (int j = k; j-- > 0;) {
      assert_string_not_equal(mg_machine_at(j)->name, m->name);
      if (!strcmp(mg_machine_at(j)->arch, m->arch)) first = j;
    }
    assert_ptr_equal(mg_machine_find(m->name), m);
    assert_ptr_equal(mg_machine_find(m->arch), mg_machine_at(first));
  }
  assert_null(mg_machine_at(-1));
  assert_null(mg_machine_at(mg_machine_count()));
  static const struct { const char *ask, *name; } known[] = {
      {"sm_90a", "H200"}, {"sm_90", "H200"}, {"sm_80", "A100"}, {"sm_86", "RTX3080"}, {"sm_89", "RTX4090"},
      {"sm_100a", "B200"}, {"sm_100", "B200"}, {"sm_120", "RTX5090"}, {"L40S", "L40S"}, {"sm_87", "ORIN"}};
  for (size_t k = 0; k < sizeof known / sizeof *known; k++)
    assert_string_equal(mg_machine_find(known[k].ask)->name, known[k].name);
  static const char *const unknown[] = {
      "", "Z80", "sm_", "sm_9", "sm_70", "sm_80a", "sm_90b", "sm_90aa", "sm_090", "90", "sm_900", "h200", "sm_120a", "sm_90f"};
  for (size_t k = 0; k < sizeof unknown / sizeof *unknown; k++) assert_null(mg_machine_find(unknown[k]));
  assert_null(mg_machine_find(NULL));
}

/* The sizes of a row are possible, and agree with each other; its rates are in their order; its source says what it is. */
static void rows_are_sane(void **state) {
  (void)state;
  for (int k = 0; k < mg_machine_count(); k++) {
    const mg_machine *m = mg_machine_at(k);
    char letter = 0;
    assert_true(mg_arch_number(m->arch, &letter) >= 80);
    assert_true(m->sms >= 1 && m->sms <= 512);
    assert_true(m->threads_per_sm >= 1024 && m->threads_per_sm <= 2048 && m->threads_per_sm % 32 == 0);
    assert_int_equal(m->shared_per_sm, m->shared_per_block + 1024);
    assert_true(m->shared_per_block >= 96 << 10 && m->shared_per_block <= MG_SHARED_MOST);
    assert_int_equal(m->registers_per_sm, 65536);
    assert_true(m->l2_bytes >= 1 << 20 && m->l2_bytes <= 256 << 20);
    assert_true(m->dram_gbps > 0 && m->dram_gbps < m->l2_gbps);
    assert_true(m->fp32_tflops > 0 && m->fp32_tflops < m->tensor_tflops);
    assert_true(m->l2_gbps < m->shared_bytes_us * m->sms / 1e3); /* shared memory of all multiprocessors is faster */
    assert_true(m->launch_us > 0.1 && m->launch_us < 10);
    assert_true(m->barrier_us > 0.001 && m->barrier_us < m->launch_us);
    assert_true(!strncmp(m->source, "measured: ", 10) || !strncmp(m->source, "scaled, unmeasured: ", 20));
    assert_true(mg_machine_can(m, MG_CAN_ASYNC_COPY));
    if (mg_machine_can(m, MG_CAN_WARPGROUP)) assert_int_equal(letter, 'a');
    if (mg_machine_can(m, MG_CAN_TENSOR_COPY)) assert_true(mg_machine_can(m, MG_CAN_WARPGROUP));
    if (mg_machine_can(m, MG_CAN_CLUSTER)) assert_true(mg_machine_can(m, MG_CAN_DEPENDENT_LAUNCH));
    int64_t before = m->sms;
    for (int64_t group = 1; group <= 16; group *= 2) { /* larger groups fill no more of the chip */
      const int64_t filled = mg_machine_filled_sms(m, group);
      assert_true(filled >= 1 && filled <= before);
      before = filled;
    }
    for (int64_t group = 9; group <= 16; group++) { /* one in each part of the chip */
      const int64_t filled = mg_machine_filled_sms(m, group), parts = mg_machine_filled_sms(m, 16) / 16;
      assert_true(filled >= parts * group && filled < (parts + 1) * group + group);
    }
    for (int64_t blocks = 1; blocks <= 32; blocks++)
      assert_int_equal(mg_machine_clusters(m, blocks), mg_machine_can(m, MG_CAN_CLUSTER) && blocks <= 16);
  }
  const mg_machine *h200 = mg_machine_find("H200");
  assert_int_equal(mg_machine_filled_sms(h200, 2), 132);
  assert_int_equal(mg_machine_filled_sms(h200, 4), 120);
  assert_int_equal(mg_machine_filled_sms(h200, 16), 112);
}

static void capabilities(void **state) {
  (void)state;
  uint32_t all = 0;
#define MGI_C(id, bit, letter, text)                              \
  assert_int_equal(all & MG_CAN_##id, 0);                         \
  assert_string_equal(mg_capability_name(MG_CAN_##id), text);     \
  all |= MG_CAN_##id;
  MG_CAPABILITIES(MGI_C)
#undef MGI_C
  assert_string_equal(mg_capability_name(MG_CAN_NOTHING), "nothing");
  for (int k = 0; k < mg_machine_count(); k++) assert_int_equal(mg_machine_at(k)->can & ~all, 0);
  char list[MG_MACHINE_LIST];
  assert_string_equal(mg_machine_list(MG_CAN_WARPGROUP, list), "sm_90a (H200, H100)");
  assert_string_equal(mg_machine_list(MG_CAN_CLUSTER | MG_CAN_DEPENDENT_LAUNCH, list), "sm_90a (H200, H100), sm_100a (B200)");
  assert_string_equal(mg_machine_list(1u << 31, list), "");
  mg_machine_list(0, list);
  for (int k = 0; k < mg_machine_count(); k++) {
    assert_non_null(strstr(list, mg_machine_at(k)->name));
    assert_non_null(strstr(list, mg_machine_at(k)->arch));
  }
}

/* What code for an architecture may use, and where it runs. */
static void architectures(void **state) {
  (void)state;
  mg_machine m;
  char text[MG_ARCH_TEXT];
  assert_true(mg_machine_for(NULL, &m) && !strcmp(m.name, "H200") && !strcmp(m.arch, "sm_90a"));
  assert_true(mg_machine_for("H100", &m) && !strcmp(m.arch, "sm_90a") && mg_machine_can(&m, MG_CAN_WARPGROUP));
  assert_true(mg_machine_for("sm_90", &m) && !strcmp(m.arch, "sm_90") && !strcmp(m.name, "H200"));
  assert_false(mg_machine_can(&m, MG_CAN_WARPGROUP));
  assert_false(mg_machine_can(&m, MG_CAN_TENSOR_COPY));
  assert_true(mg_machine_can(&m, MG_CAN_CLUSTER | MG_CAN_DEPENDENT_LAUNCH));
  assert_false(mg_machine_for("sm_70", &m));
  static const struct { int major, minor; const char *arch; } of_gpu[] = {
      {8, 0, "sm_80"}, {8, 6, "sm_86"}, {9, 0, "sm_90a"}, {10, 0, "sm_100a"}, {10, 3, "sm_103"}, {12, 0, "sm_120"}, {12, 1, "sm_121"}};
  for (size_t k = 0; k < sizeof of_gpu / sizeof *of_gpu; k++)
    assert_string_equal(mg_arch_of_gpu(of_gpu[k].major, of_gpu[k].minor, text), of_gpu[k].arch);
  static const struct { const char *arch, *near_; } nearest[] = {
      {"sm_90a", "sm_90a"}, {"sm_90", "sm_90"}, {"sm_86", "sm_86"}, {"sm_88", "sm_87"}, {"sm_103", "sm_100"}, {"sm_121", "sm_120"},
      {"sm_99", "sm_90"}, {"sm_75", "sm_80"}, {"nonsense", "sm_80"}};
  for (size_t k = 0; k < sizeof nearest / sizeof *nearest; k++)
    assert_string_equal(mg_arch_near(nearest[k].arch, text), nearest[k].near_);
  assert_true(mg_arch_runs_on("sm_90a", 9, 0));
  assert_false(mg_arch_runs_on("sm_90a", 10, 0));
  assert_false(mg_arch_runs_on("sm_100a", 10, 3));
  assert_true(mg_arch_runs_on("sm_80", 8, 6));
}

/* Every row is searched for, and its result is emitted for it and names it. */
static mg_status emittable(void *user, const mg_graph *g, mg_error *why) {
  return mg_cuda_emittable(g, ((const mg_machine *)user)->name, why);
}
static void every_machine_is_emitted_for(void **state) {
  (void)state;
  mg_graph *p = parse(small);
  for (int k = 0; k < mg_machine_count(); k++) {
    const mg_machine *m = mg_machine_at(k);
    mg_search_config c = mg_search_config_default();
    mg_search_result r;
    mg_error e;
    char code[40];
    c.machine = m, c.emittable = emittable, c.user = (void *)(uintptr_t)m, c.top_k = 2, c.max_kernel_ops = 1;
    assert_int_equal(mg_search(p, &c, &r, &e), MG_OK);
    assert_true(r.n > 0);
    for (int by_name = 0; by_name < 2; by_name++) {
      mg_emit_config how;
      char *cu = NULL;
      memset(&how, 0, sizeof how);
      how.arch = by_name ? m->name : m->arch;
      if (mg_cuda_emit(r.graph[0], &how, &cu, &e) != MG_OK) fail_msg("%s: %s: %s", m->name, e.where, e.msg);
      snprintf(code, sizeof code, ",code=%s ", m->arch);
      assert_non_null(strstr(cu, code));
      assert_int_equal(strstr(cu, "small_launch_pdl") != NULL, mg_machine_can(m, MG_CAN_DEPENDENT_LAUNCH));
      if (!by_name) { /* link 2, which holds the launches against the machine's limits */
        mg_check_report report;
        mg_check_config check;
        memset(&check, 0, sizeof check);
        check.seeds = 2;
        if (mg_cuda_check(r.graph[0], cu, &check, &report, &e) != MG_OK) fail_msg("%s: %s: %s", m->name, e.where, e.msg);
      }
      mg_string_free(cu);
    }
    mg_search_result_free(&r);
  }
  mg_graph_free(p);
}

/* A plan that asks for what the machine lacks is refused, with the machine and with those that have it; where it has it the
   same µGraph is emitted. */
#define GROUPS(plan)                                                                                                   \
  "program t\ninput X : f16[64, 256]\ninput W : f16[256, 64]\nO = kernel grid=(x=1) threads=128 {\n  for i=4 {\n"      \
  "    x = load X {i->1}\n    w = load W {i->0}\n    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n  store o {}\n"     \
  "  plan { stages=3 warps_m=4 warps_n=1 warps_k=1 " plan " }\n}\noutput O\n"
#define PARTS                                                                                                          \
  "program t\ninput X : f16[16, 512]\ninput W : f16[512, 64]\nO = kernel grid=(x=1, y=4) threads=128 {\n"              \
  "  a = accum(matmul(load X {x->*, y->1}, load W {x->1, y->0})) {y->+}\n  store a {x->1, y->*}\n"                     \
  "  plan { merge=cluster }\n}\noutput O\n"
static void what_a_machine_lacks_is_refused(void **state) {
  (void)state;
  static const struct { const char *text, *plan; mg_capability needs; } of[] = {
      {GROUPS("mma=warpgroup"), "mma=warpgroup", MG_CAN_WARPGROUP},
      {GROUPS("mma=warpgroup copy=tma"), "mma=warpgroup", MG_CAN_WARPGROUP},
      {GROUPS("copy=tma"), "copy=tma", MG_CAN_TENSOR_COPY},
      {PARTS, "merge=cluster", MG_CAN_CLUSTER},
  };
  for (size_t k = 0; k < sizeof of / sizeof *of; k++) {
    mg_graph *g = parse(of[k].text);
    for (int j = 0; j < mg_machine_count(); j++) {
      const mg_machine *m = mg_machine_at(j);
      mg_error e;
      const mg_status s = mg_cuda_emittable(g, m->name, &e);
      if (mg_machine_can(m, of[k].needs)) {
        if (s != MG_OK) fail_msg("%s, %s: %s", of[k].plan, m->name, e.msg);
        continue;
      }
      assert_int_equal(s, MG_UNSUPPORTED);
      if (!strstr(e.msg, of[k].plan) || !strstr(e.msg, m->name) || !strstr(e.msg, m->arch) || !strstr(e.msg, "H200"))
        fail_msg("%s, %s: said otherwise: %s", of[k].plan, m->name, e.msg);
    }
    mg_graph_free(g);
  }
  mg_graph *g = parse(small);
  mg_error e;
  assert_int_equal(mg_cuda_emittable(g, "sm_70", &e), MG_UNSUPPORTED);
  assert_non_null(strstr(e.msg, "sm_70"));
  assert_non_null(strstr(e.msg, "sm_89 (RTX4090, L40S"));
  for (int j = 0; j < mg_machine_count(); j++) assert_non_null(strstr(e.msg, mg_machine_at(j)->name));
  mg_graph_free(g);
}

/* ---- facts and costs */
#define NORM(plan)                                                                                                     \
  "program n\ninput X : f16[16, 1024]\ninput G : f16[1024]\ninput W : f16[1024, 4096]\n"                              \
  "O = kernel grid=(x=128) threads=128 {\n  for i=4 {\n    x = load X {x->*, i->1}\n    g = load G {x->*, i->0}\n"      \
  "    p = mul(x, g)\n    w = load W {x->1, i->0}\n    y = matmul(p, w)\n    q = sqr(x)\n    s = sum(q, dim=1)\n  }\n"  \
  "  a = accum(y) {i->+}\n  b = accum(s) {i->+}\n  r = sqrt(add_scalar(scale(b, 1/1024), 1/1000000))\n"                \
  "  o = div(a, r)\n  store o {x->1}\n" plan "}\noutput O\n"
static mg_kernel_facts facts_of(const char *text, const char *machine) {
  mg_kernel_facts f;
  mg_graph *g = parse(text);
  assert_int_equal(mg_kernel_facts_of(g, 1, mg_machine_find(machine), &f), 1);
  mg_graph_free(g);
  return f;
}
/* How many blocks share each of so many rows of that length: as many as the machine has room for and parts that are worth it. */
static int64_t parts_of(int64_t rows, int64_t length, const mg_machine *m, double *us) {
  char text[200];
  snprintf(text, sizeof text, "program a\ninput X : f16[%lld, %lld]\nT = argmax(X, dim=1)\noutput T\n", (long long)rows, (long long)length);
  mg_graph *g = parse(text);
  const mg_shares s = mg_library_shares(g, &g->ops[1], m);
  *us = mg_library_us(g, &g->ops[1], m);
  mg_graph_free(g);
  return MG_SHARED_BY(rows, s.blocks, s.most);
}
static void long_rows_are_shared(void **state) {
  (void)state;
  mg_machine m = *mg_machine_find("H200"), few = m, slow = m;
  double us, with_few, with_slow;
  assert_int_equal(parts_of(1, 8 * MG_PART_LEAST - 1, &m, &us), 1);
  assert_int_equal(parts_of(1, 8 * MG_PART_LEAST, &m, &us), 8);
  assert_int_equal(parts_of(1, 128256, &m, &us), 63);
  for (int64_t rows = 1, before = 63; rows < 2 * m.sms + 2; rows++) { /* never more blocks than the machine has room for, unless each has a row */
    const int64_t parts = parts_of(rows, 128256, &m, &us);
    assert_true(parts >= 1 && parts <= before && (parts == 1 || parts * rows <= 2 * m.sms));
    assert_int_equal(parts > 1, rows <= m.sms);
    before = parts;
  }
  few.sms = 1, slow.last_us += 1; /* of the price: parts side by side, and their join */
  assert_int_equal(parts_of(1, 1000000, &m, &us), 264);
  assert_int_equal(parts_of(1, 128256, &few, &with_few), 2);
  parts_of(1, 128256, &m, &us);
  assert_true(us < with_few);
  parts_of(1, 128256, &slow, &with_slow);
  assert_true(with_slow > us + 0.999 && with_slow < us + 1.001);
  parts_of(m.sms + 1, 128256, &m, &us), parts_of(m.sms + 1, 128256, &slow, &with_slow);
  assert_true(with_slow == us);
  mg_graph *g = parse("program a\ninput X : f16[1, 128256]\nT = max(X, dim=1)\noutput T\n"); /* no other operator's are */
  assert_int_equal(mg_library_shares(g, &g->ops[1], &m).most, 1);
  mg_graph_free(g);
}
/* A transpose waits for shared memory as often as its words share banks: four times where a row of the result has 32 runs, which have
   eight places; and where a loop joins what it turned, for that tile too.  Else it is priced as a copy is. */
#define TURNED(grid, loop, load, behind) "program t\ninput X : f16[1024, 1024]\nO = kernel grid=(" grid ") threads=256 {\n" loop "x = load X {x->0, y->1" load "}\n" behind "}\noutput O\n"
static void transposes_wait_for_banks(void **state) {
  static const char *const texts[] = {
    TURNED("x=16, y=16", "", "", "t = transpose(x, [1, 0])\nstore t {x->1, y->0}\n"), TURNED("x=4, y=64", "", "", "t = transpose(x, [1, 0])\nstore t {x->1, y->0}\n"),
    TURNED("x=16, y=8", "for i=2 {\n", ", i->1", "}\no = accum(x) {i->1}\nt = transpose(o, [1, 0])\nstore t {x->1, y->0}\n"), TURNED("x=16, y=16", "", "", "t = relu(x)\nstore t {x->0, y->1}\n")};
  mg_kernel_facts f[4];
  (void)state;
  for (int k = 0; k < 4; k++) f[k] = facts_of(texts[k], "sm_90a");
  assert_true(f[0].cost.shared_us > 0 && f[0].blocks == f[1].blocks);
  assert_true(fabs(f[1].cost.shared_us / f[0].cost.shared_us - 4) < 1e-6);
  assert_true(f[2].cost.shared_us > 2 * f[0].cost.shared_us);
  assert_true(f[3].cost.shared_us == 0 && f[3].cost.barriers_us == 0 && f[0].cost.barriers_us > 0);
  assert_true(f[0].cost.total_us < f[1].cost.total_us && f[0].cost.total_us < f[2].cost.total_us);
}
/* What is said is what is read, of every key and value that the list has; and no other value is taken for one. */
static void keys_say_and_check(void **state) {
  static const char *const of[MG_PLAN_KEY_COUNT] = {
#define K(id, of, key, WORDS, least, most, what) #of,
    MG_PLAN_KEYS(K)
#undef K
  };
  static const int least[] = {
#define K(id, of, key, WORDS, least, most, what) least,
    MG_PLAN_KEYS(K)
#undef K
  }, most[] = {
#define K(id, of, key, WORDS, least, most, what) most,
    MG_PLAN_KEYS(K)
#undef K
  };
  (void)state;
  for (int key = 0; key < MG_PLAN_KEY_COUNT; key++) {
    const char *name = !strcmp(of[key], "KERNEL") ? NULL : !strcmp(of[key], "LOAD") || !strcmp(of[key], "TENSOR") ? "x"
                     : !strcmp(of[key], "PRODUCT") ? "y" : "o";
    const int words = mg_plan_word((mg_plan_key)key, 0) != NULL;
    int values = words ? 0 : most[key] - least[key] + 1;
    while (words && mg_plan_word((mg_plan_key)key, values)) values++;
    assert_true(values > 0);
    for (int k = 0; k < values; k++) {
      const int value = least[key] + k;
      char word[MG_PLAN_TEXT], text[MG_PLAN_TEXT];
      mg_error e;
      mg_graph *g = parse(NORM("")), *block = g->ops[1].sub;
      assert_int_equal(mg_plan_says(block, (mg_plan_key)key, name), -1);
      assert_int_equal(mg_plan_say(block, (mg_plan_key)key, name, value), 1);
      assert_int_equal(mg_plan_says(block, (mg_plan_key)key, name), value);
      assert_int_equal(mg_plan_text((mg_plan_key)key, name, value, word, text), 1);
      assert_string_equal(mg_plan_get(block, word), text);
      if (mg_plan_check(block, "O", &e) != MG_OK) fail_msg("%s=%s: %s", word, text, e.msg);
      mg_plan_set(block, word, "99");
      assert_int_equal(mg_plan_says(block, (mg_plan_key)key, name), -1);
      assert_int_equal(mg_plan_check(block, "O", &e), MG_UNSUPPORTED);
      assert_non_null(strstr(e.msg, "=99: want "));
      if (!words) assert_non_null(strstr(e.msg, key == MG_PLAN_AHEAD ? "want 0 or 1" : "want 1 to "));
      mg_graph_free(g);
    }
  }
}
/* A key of another kind of value, of none, and what is no key. */
static void keys_are_of_values(void **state) {
  static const struct { const char *key, *value, *why; } rows[] = {
    {"y.in", "dense", "the plan's y.in=dense: there is no such load"}, {"x.mma", "wide", "x.mma=wide: there is no such product"},
    {"y.store", "f32", "y.store=f32: there is no such stored value"}, {"z.at", "tile", "z.at=tile: there is no such tensor"},
    {"y.mma", "warp", "y.mma=warp: want wide"}, {"mma", "wide", "mma=wide: want warp or warpgroup"},
    {"at", "tile", "at=tile: there is no such word"}, {"x.stages", "2", "x.stages=2: there is no such word"},
    {"stages", "2x", "stages=2x: want 1 to 8"}, {"stages", "99999999999999999999", "want 1 to 8"},
    {"ring", "thread", "ring=thread: want block, warp or group"}};
  (void)state;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    mg_error e;
    mg_graph *g = parse(NORM(""));
    mg_plan_set(g->ops[1].sub, rows[k].key, rows[k].value);
    assert_int_equal(mg_plan_check(g->ops[1].sub, "O", &e), MG_UNSUPPORTED);
    if (!strstr(e.msg, rows[k].why)) fail_msg("%s=%s: %s", rows[k].key, rows[k].value, e.msg);
    assert_string_equal(e.where, "O");
    mg_graph_free(g);
  }
}
/* The time is the sum of its terms, the body no less than what any unit takes alone, and the bytes are those of the tensors. */
static void a_cost_is_its_terms(void **state) {
  (void)state;
  static const char *const text[] = {NORM(""), NORM("  plan { stages=4 warps_m=1 warps_n=1 warps_k=4 ring=warp }\n"),
                                     NORM("  plan { stages=2 warps_m=1 warps_n=2 warps_k=2 }\n"), GROUPS("mma=warpgroup")};
  for (size_t k = 0; k < sizeof text / sizeof *text; k++)
    for (int j = 0; j < mg_machine_count(); j++) {
      const mg_kernel_facts f = facts_of(text[k], mg_machine_at(j)->name);
      const mg_cost *c = &f.cost;
      double sum = 0;
#define ADD(id, words) sum += c->id##_us;
      MG_COST_TERMS(ADD)
#undef ADD
      const int fits = f.plan.feasible, groups = strstr(text[k], "warpgroup") != NULL;
      assert_int_equal(fits, !groups || mg_machine_can(mg_machine_at(j), MG_CAN_WARPGROUP));
      assert_float_equal(sum * c->penalty + (fits ? 0 : 1e9), c->total_us, fits ? 1e-9 : 1e-5);
      const double memory = fmax(fmax(c->dram_us, c->l2_us), c->again_us), compute = c->tensor_us + c->elements_us + c->shared_us;
      const double worked = fmax(memory, compute) + c->unhidden * fmin(memory, compute);
      assert_float_equal(fmax(worked, c->start_us) + c->chain_us, c->body_us, 1e-9);
      assert_true(c->launch_us == mg_machine_at(j)->launch * mg_machine_at(j)->launch_us && c->drain_us > 0);
    }
  const mg_kernel_facts f = facts_of(NORM(""), "H200");
  assert_int_equal(f.blocks, 128);
  assert_int_equal(f.steps, 4);
  assert_int_equal(f.group, 1);
  const double inputs = 2.0 * (16 * 1024 + 1024 + 1024 * 4096), output = 2.0 * 16 * 4096;
  assert_true(f.dram_bytes >= inputs + output && f.dram_bytes < 1.1 * (inputs + output));
  /* Rings of warps sum the squares on tensor cores: products of 16 by 16 of which the diagonal counts, in every block. */
  const double product = 2.0 * 16 * 1024 * 4096, squares = 128 * 32.0 * 16 * 1024;
  assert_int_equal(f.plan.own, 1);
  assert_float_equal(f.flops, product + squares, 1);
  assert_float_equal(facts_of(NORM("  plan { stages=4 warps_m=1 warps_n=1 warps_k=4 }\n"), "H200").flops, product, 1);
}
/* A large product: rows, rows and columns of a block, stages and copies; stages 0: without a plan. */
static mg_kernel_facts facts_of_large(int rows, int cols, int stages, const char *copy) {
  char text[600], plan[100] = "";
  if (stages)
    snprintf(plan, sizeof plan, "  plan { stages=%d warps_m=8 warps_n=1 warps_k=1 mma=warpgroup copy=%s }\n", stages, copy);
  snprintf(text, sizeof text, "program p\ninput X : f16[%d, 4096]\ninput W : f16[4096, 4096]\nO = kernel grid=(x=%d, y=%d) threads=256 {\n"
           "  for i=64 {\n    x = load X {y->0, i->1}\n    w = load W {x->1, i->0}\n    p = matmul(x, w)\n  }\n  o = accum(p) {i->+}\n"
           "  store o {x->1, y->0}\n%s}\noutput O\n", rows, 4096 / cols, rows / 128, plan);
  return facts_of(text, "H200");
}
/* Products that are under way while the next step begins cost less, with a warp beside that copies still less; that warp's
   registers may leave no room for a second block; stores of all blocks but the last are a term; the best plan has such products. */
static void products_under_way(void **state) {
  (void)state;
  const mg_kernel_facts async = facts_of_large(1024, 256, 4, "async"), tma = facts_of_large(1024, 256, 4, "tma");
  const mg_kernel_facts warp = facts_of_large(1024, 256, 4, "warp"), best = facts_of_large(1024, 256, 0, "");
  assert_int_equal(async.plan.copies, MG_COPY_ASYNC);
  assert_int_equal(warp.plan.copies, MG_COPY_WARP);
  assert_true(warp.cost.steps_us < tma.cost.steps_us && tma.cost.steps_us < async.cost.steps_us);
  assert_true(warp.cost.total_us < tma.cost.total_us && tma.cost.total_us < async.cost.total_us);
  assert_true(facts_of_large(1024, 256, 2, "tma").cost.steps_us == async.cost.steps_us); /* none with two stages */
  assert_true(facts_of_large(2048, 128, 3, "tma").resident == 2 && facts_of_large(2048, 128, 3, "warp").resident == 1);
  assert_true(warp.cost.rounds_us == 0 && facts_of_large(2048, 256, 4, "warp").cost.rounds_us > 1);
  assert_int_equal(best.plan.copies, MG_COPY_WARP);
  assert_int_equal(best.plan.stages, 4);
  assert_true(best.cost.total_us == warp.cost.total_us);
}
/* What the plan says is what is priced; without one it is the best, which is what mg_predict_us says. */
static void facts_are_of_the_plan(void **state) {
  (void)state;
  const mg_kernel_facts best = facts_of(NORM(""), "H200");
  const mg_kernel_facts own = facts_of(NORM("  plan { stages=4 warps_m=1 warps_n=1 warps_k=4 ring=warp }\n"), "H200");
  const mg_kernel_facts shared = facts_of(NORM("  plan { stages=4 warps_m=1 warps_n=1 warps_k=4 }\n"), "H200");
  const mg_kernel_facts other = facts_of(NORM("  plan { stages=2 warps_m=1 warps_n=2 warps_k=2 }\n"), "H200");
  mg_graph *g = parse(NORM(""));
  assert_float_equal(best.cost.total_us, mg_predict_us(g, NULL), 1e-12);
  mg_graph_free(g);
  assert_true(own.plan.own && !shared.plan.own && own.cost.steps_us < shared.cost.steps_us);
  assert_int_equal(other.plan.stages, 2);
  assert_int_equal(other.plan.warps_n, 2);
  assert_int_equal(other.threads, 128);
  assert_true(best.cost.total_us <= own.cost.total_us && best.cost.total_us <= other.cost.total_us);
  const mg_kernel_facts block = facts_of(NORM("  plan { stages=4 warps_m=1 warps_n=1 warps_k=4 ring=block }\n"), "H200");
  assert_float_equal(block.cost.total_us, shared.cost.total_us, 0);
  /* What a plan leaves open is as it is emitted: all warps split the contraction of so few rows; three stages. */
  const mg_kernel_facts open = facts_of(NORM("  plan { stages=4 }\n"), "H200");
  const mg_kernel_facts three = facts_of(NORM("  plan { warps_k=4 }\n"), "H200");
  assert_int_equal(open.plan.warps_k, 4);
  assert_float_equal(open.cost.total_us, shared.cost.total_us, 0);
  assert_int_equal(three.plan.stages, 3);
  assert_int_equal(three.threads, 128);
  /* Numbers that no kernel can have are not taken: the best plan stands in for them. */
  static const char *const wild[] = {
      NORM("  plan { stages=4 warps_m=65536 warps_n=65536 warps_k=1 }\n"), NORM("  plan { stages=4 warps_m=134217728 warps_n=1 warps_k=1 }\n"),
      NORM("  plan { stages=4 warps_m=1 warps_n=1 warps_k=268435456 ring=warp }\n"), NORM("  plan { stages=4 warps_m=1 warps_n=536870912 warps_k=1 }\n"),
      NORM("  plan { stages=4294967298 warps_m=1 warps_n=1 warps_k=4294967300 }\n"), NORM("  plan { stages=9 warps_m=1 warps_n=1 warps_k=1 }\n"),
      NORM("  plan { stages=0 warps_m=1 warps_n=1 warps_k=1 }\n"), NORM("  plan { stages=2 warps_m=8 warps_n=8 warps_k=1 }\n")};
  for (size_t k = 0; k < sizeof wild / sizeof *wild; k++) {
    const mg_kernel_facts w = facts_of(wild[k], "H200");
    assert_int_equal(w.plan.stages, best.plan.stages);
    assert_float_equal(w.cost.total_us, best.cost.total_us, 0);
  }
  g = parse(small);
  mg_kernel_facts f;
  assert_int_equal(mg_kernel_facts_of(g, 1, mg_machine_at(0), &f), 0); /* a library operator is no kernel */
  mg_graph_free(g);
}
/* Warpgroups multiply by both halves of what lies in memory split, whatever plan was there before; what a plan says of values stays. */
static void split_operands_are_planned(void **state) {
  (void)state;
  mg_graph *g = parse("program t\ninput A : f16[8, 1024, 128]\ninput B : f16[8, 128, 1024]\ninput D : f16[8, 1024, 128]\n"
                      "H = kernel grid=(x=2, y=8, z=8) threads=128 {\n  for i=4 {\n    b = load B {x->*, y->1, z->0, i->2}\n    d = load D {x->2, y->*, z->0, i->1}\n"
                      "    t = matmul(b, d)\n  }\n  h = accum(t) {i->+}\n  store h {x->2, y->1, z->0}\n  plan { stages=2 warps_m=1 warps_n=4 warps_k=1 h.store=split }\n}\n"
                      "E = kernel grid=(x=16, y=8) threads=256 {\n  for i=4 {\n    a = load A {x->1, y->0, i->2}\n    h = load H {x->*, y->0, i->1}\n"
                      "    t = matmul(a, h)\n  }\n  e = accum(t) {i->+}\n  store e {x->1, y->0}\n  plan { stages=4 warps_m=4 warps_n=2 warps_k=1 ring=block }\n}\noutput E\n");
  mg_kernel_facts was, is;
  mg_graph *maker = g->ops[1].sub, *reader = g->ops[2].sub;
  assert_int_equal(mg_kernel_facts_of(g, 2, mg_machine_at(0), &was), 1);
  mg_plan_kernel(maker, mg_machine_at(0));
  mg_plan_kernel(reader, mg_machine_at(0));
  assert_int_equal(mg_plan_says(maker, MG_PLAN_STORE, "h"), MG_STORE_SPLIT);
  assert_int_equal(mg_plan_says(maker, MG_PLAN_RING, NULL), MG_RING_WARP);
  assert_int_equal(mg_plan_says(reader, MG_PLAN_MMA, NULL), MG_MMA_WARPGROUP);
  assert_int_equal(mg_plan_says(reader, MG_PLAN_RING, NULL), -1);
  assert_int_equal(mg_kernel_facts_of(g, 2, mg_machine_at(0), &is), 1);
  assert_true(is.plan.group && is.plan.feasible == 1 && is.cost.total_us < was.cost.total_us);
  mg_graph_free(g);
}
/* What lies in memory in f32 no tensor core takes as it is: the emitter multiplies it element by element, and the cost says so. */
static void products_without_tensor_cores(void **state) {
  static const struct { const char *plan, *weight, *product; int tensors; } cases[] = {
    {"", "f16", "matmul(h, w)", 1}, {" h.store=split", "f16", "matmul(h, w)", 1}, {" h.store=f32", "f16", "matmul(h, w)", 0},
    {" h.store=f32", "f16", "matmul(relu(h), w)", 1}, {" h.store=f32", "f16", "transpose(matmul(transpose(w, [1, 0]), transpose(h, [1, 0])), [1, 0])", 1},
    {"", "f32", "matmul(h, w)", 0}};
  double least = 1e9, most = 0;
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[1024], *cu = NULL;
    mg_kernel_facts f;
    mg_emit_config c;
    mg_error e;
    snprintf(text, sizeof text, "program t\ninput A : f16[32, 256]\ninput W : %s[256, 256]\nH = kernel grid=(x=4) threads=128 {\n  a = load A {x->1}\n"
             "  h = exp(a)\n  store h {x->1}\n  plan {%s }\n}\nO = kernel grid=(x=4) threads=128 {\n  for i=4 {\n  h = load H {x->*, i->1}\n  w = load W {x->1, i->0}\n  o = %s\n  }\n"
             "  p = accum(o) {i->+}\n  store p {x->1}\n}\noutput O\n", cases[k].weight, *cases[k].plan ? cases[k].plan : " stages=2", cases[k].product);
    mg_graph *g = parse(text);
    memset(&c, 0, sizeof c);
    c.arch = "sm_90a";
    if (mg_cuda_emit(g, &c, &cu, &e) != MG_OK) fail_msg("%s: %s", text, e.msg);
    assert_int_equal(mg_kernel_facts_of(g, 2, mg_machine_at(0), &f), 1);
    if ((f.flops > 0) != cases[k].tensors || (strstr(cu, "mg_contract_fma(") == NULL) != cases[k].tensors)
      fail_msg("%s of %s with {%s}: %g operations of tensor cores, emitted %s them", cases[k].product, cases[k].weight, cases[k].plan, f.flops, strstr(cu, "mg_contract_fma(") ? "without" : "by");
    if (cases[k].tensors) most = fmax(most, f.cost.elements_us + f.cost.tensor_us);
    else least = fmin(least, f.cost.elements_us);
    mg_string_free(cu), mg_graph_free(g);
  }
  assert_true(least > 5 * most);
  for (int wide = 0; wide < 2; wide++) { /* an operand that a loop takes is made before it for tensor cores alone */
    char text[1024], *cu = NULL;
    mg_kernel_plan p;
    mg_flat flat;
    mg_error e;
    snprintf(text, sizeof text, "program t\ninput A : f16[256, 64]\ninput B : f16[64, 32]\nH = kernel grid=(x=4) threads=128 {\n  a = load A {x->0}\n"
             "  h = exp(a)\n  store h {x->0}\n  plan { h.store=%s }\n}\nO = kernel grid=(x=1) threads=128 {\n  b = load B {}\n  t = exp(b)\n  for i=4 {\n  h = load H {i->0}\n"
             "  o = matmul(h, t)\n  }\n  p = accum(o) {i->0}\n  store p {}\n}\noutput O\n", wide ? "f32" : "split");
    mg_graph *g = parse(text);
    assert_true(mg_flat_of(g->ops[2].sub, &flat) && mg_plan_warps(g->ops[2].sub, &flat, &p));
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s%s", text, e.msg);
    const int once = mg_flat_once(&flat, &p, 1), emitted = strstr(cu, "// t, into a tile") != NULL;
    if (once != !wide || emitted != once) fail_msg("%st is%s made once, and emitted so %d times\n%s", text, once ? "" : " not", emitted, cu);
    mg_string_free(cu), mg_graph_free(g);
  }
}
/* What a step makes by moves or dear operators for a product of several warps is made once a step, by one fact: it is emitted so, costs
   fewer operations and a barrier more a step, and shared memory for the tile is foretold.  What is cheap, or taken by one warp, is not. */
static void steps_compute_once(void **state) {
#define BY_STEP(made, plan) \
  "program t\ninput X : f16[256, 64]\ninput W : f16[512, 64]\ninput G : f16[512, 64]\nO = kernel grid=(x=4) threads=128 {\n  x = load X {x->0}\n  for i=8 {\n" \
  "    w = load W {i->0}\n    g = load G {i->0}\n    t = " made "\n    o = matmul(x, transpose(t, [1, 0]))\n  }\n  store accum(o) {i->1} {x->0}\n  plan { stages=2 " plan " }\n}\noutput O\n"
#define HALVES "mul(g, concat(slice(w, dim=1, from=32, n=32), slice(w, dim=1, from=0, n=32), dim=1))"
  static const struct { const char *text; int once; } cases[] = {
      {BY_STEP(HALVES, "warps_m=4 warps_n=1 warps_k=1"), 1}, {BY_STEP(HALVES, "warps_m=4 warps_n=1 warps_k=1 t.at=plain"), 0},
      {BY_STEP(HALVES, "warps_m=2 warps_n=2 warps_k=1 t.at=tile"), 1}, {BY_STEP(HALVES, "warps_m=1 warps_n=4 warps_k=1"), 0},
      {BY_STEP("exp(w)", "warps_m=4 warps_n=1 warps_k=1"), 1}, {BY_STEP("mul(w, g)", "warps_m=4 warps_n=1 warps_k=1"), 0}};
  mg_kernel_facts f[sizeof cases / sizeof *cases];
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    mg_graph *g = parse(cases[k].text);
    mg_kernel_plan p;
    mg_flat flat;
    mg_error e;
    char *cu = NULL;
    int once = 0;
    assert_true(mg_flat_of(g->ops[1].sub, &flat) && mg_plan_warps(g->ops[1].sub, &flat, &p));
    for (int i = 0; i < flat.n; i++) once += mg_flat_once(&flat, &p, i);
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s%s", cases[k].text, e.msg);
    const int emitted = strstr(cu, "// t, into a tile") != NULL;
    if (once != cases[k].once || emitted != once) fail_msg("%st is%s made once a step, and emitted so %d times\n%s", cases[k].text, once ? "" : " not", emitted, cu);
    assert_int_equal(mg_kernel_facts_of(g, 1, NULL, &f[k]), 1);
    mg_string_free(cu), mg_graph_free(g);
  }
  assert_true(f[0].cost.elements_us < f[1].cost.elements_us / 2);
  assert_true(f[0].cost.barriers_us > f[1].cost.barriers_us);
  assert_true(f[0].cost.total_us < f[1].cost.total_us);
  assert_int_equal(f[0].plan.shared - f[1].plan.shared, mg_copy_bytes(64, 64, 2));
#undef HALVES
#undef BY_STEP
}
/* Where the factor of a running maximum cancels the emitter has one, by the same fact, and the cost asks for nothing more; where it
   does not, an exponential may overflow: most of all, where another form of a quotient has one. */
#define SOFT(tail)                                                                                                     \
  "program t\ninput Q : f16[16, 64]\ninput K : f16[64, 64]\ninput V : f16[64, 64]\nO, L = kernel grid=(x=1) threads=32 {\n" \
  "  q = load Q {}\n  k = load K {}\n  v = load V {}\n  s = matmul(q, k)\n  p = exp(s)\n  d = matmul(p, v)\n"        \
  "  l = sum(p, dim=1)\n" tail "}\noutput O\noutput L\n"
static void maxima_are_facts(void **state) {
  (void)state;
  static const struct { const char *text; int shifted; uint8_t undo[2]; double penalty; } cases[] = {
      {SOFT("  o = div(d, l)\n  store o {}\n  store l {}\n"), 1, {MG_UNDO_NONE, MG_UNDO_FACTOR}, 1},
      {SOFT("  o = div(d, l)\n  g = log(l)\n  store o {}\n  store g {}\n"), 1, {MG_UNDO_NONE, MG_UNDO_LOG}, 1},
      {SOFT("  m = add(l, scale(l, 3))\n  o = div(neg(d), m)\n  g = div(l, m)\n  store o {}\n  store g {}\n"), 1, {0, 0}, 1},
      {SOFT("  o = div(d, mul(l, l))\n  g = mul(l, l)\n  store o {}\n  store g {}\n"), 0, {0, 0}, 8},    /* degrees -1 and 2 */
      {SOFT("  o = div(d, add_scalar(l, 1))\n  store o {}\n  store l {}\n"), 0, {0, 0}, 8},               /* 1 has no factor */
      {SOFT("  o = div(d, add(l, sum(s, dim=1)))\n  store o {}\n  store l {}\n"), 0, {0, 0}, 8},          /* nor has that sum */
      {SOFT("  g = log(l)\n  o = div(d, exp(g))\n  store o {}\n  store l {}\n"), 0, {0, 0}, 8},          /* the logarithm is read */
      {SOFT("  e = sum(exp(scale(s, 1/2)), dim=1)\n  o = div(d, e)\n  store o {}\n  store e {}\n"), 0, {0, 0}, 8}, /* of another */
      {SOFT("  store d {}\n  store l {}\n"), 0, {MG_UNDO_NONE, MG_UNDO_FACTOR}, 1.25}};                    /* d may not stay so */
  int never = 0;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    mg_graph *g = parse(cases[k].text);
    mg_kernel_plan p;
    mg_kernel_facts f;
    mg_chains c;
    mg_maxima m;
    mg_flat flat;
    mg_error e;
    char *cu = NULL;
    assert_int_equal(mg_flat_of(g->ops[1].sub, &flat), 1);
    assert_int_equal(mg_plan_warps(g->ops[1].sub, &flat, &p), 1);
    mg_flat_chains(&flat, &p, &c);
    mg_flat_maxima(&flat, &c, &m);
    for (int i = 0, store = 0; i < flat.n; i++)
      if (flat.op[i].code == MG_OP_STORE && m.undo[i] != (m.of ? cases[k].undo[store++] : 0)) fail_msg("case %d: undo %d of store %d", (int)k, m.undo[i], store);
    if (m.of) assert_int_equal(flat.op[m.of - 1].code, MG_OP_EXP);
    else assert_int_equal(cases[k].shifted, 0);
    if (mg_flat_unshifted(&flat)) never++; /* o could be stored under its maximum if it had one column */
    assert_true(!mg_flat_unshifted(&flat) || cases[k].penalty == 8);
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("case %d: %s", (int)k, e.msg);
    assert_int_equal(strstr(cu, "mg_row_shift<") != NULL, cases[k].shifted);
    assert_int_equal(mg_kernel_facts_of(g, 1, NULL, &f), 1);
    assert_float_equal(f.cost.penalty, cases[k].penalty, 0);
    mg_string_free(cu);
    mg_graph_free(g);
  }
  assert_int_equal(never, 4);
}
/* A loop over keys ends where a causal mask hides the rest if all that such a step adds is 0, and not where it adds something else,
   or where blocks share the keys.  The share of the steps is the average over the blocks, counted key by key. */
static void masked_steps_are_facts(void **state) {
#define KEYS(q, k, x, n, sum) \
  "program t\ninput Q : f16[" #q ", 32]\ninput K : f16[32, " #k "]\ninput V : f16[" #k ", 32]\ninput C : f16[" #q ", " #k "] = causal\n" \
  "O = kernel grid=(x=" #x ") threads=64 {\n  q = load Q {x->0}\n  for n=" #n " {\n    k = load K {n->1}\n" \
  "    c = load C {x->0, n->1}\n    v = load V {n->0}\n    s = matmul(q, k)\n    t = add(s, c)\n" sum "}\noutput O\n"
  static const struct { const char *text; int64_t queries, keys, rows, chunk; } cases[] = {
      {KEYS(96, 160, 3, 5, "    p = exp(t)\n    o = matmul(p, v)\n    l = sum(p, dim=1)\n  }\n  store div(accum(o) {n->+}, accum(l) {n->+}) {x->0}\n"), 96, 160, 32, 32},
      {KEYS(90, 130, 4, 5, "    p = exp(sub(t, s))\n    o = matmul(p, v)\n    l = sum(p, dim=1)\n  }\n  store div(accum(o) {n->+}, accum(l) {n->+}) {x->0}\n"), 90, 130, 23, 26},
      {KEYS(256, 256, 2, 8, "    p = scale(exp(t), 2)\n    o = matmul(p, v)\n  }\n  store accum(o) {n->+} {x->0}\n"), 256, 256, 128, 32},
      /* what takes the mask out again: a maximum, or a sum, of masked scores themselves */
      {KEYS(96, 160, 3, 5, "    p = exp(sub(t, max(t, dim=1)))\n    o = matmul(p, v)\n  }\n  store accum(o) {n->+} {x->0}\n"), 0, 0, 0, 0},
      {KEYS(96, 160, 3, 5, "    e = exp(t)\n    p = div(e, sum(e, dim=1))\n    o = matmul(p, v)\n  }\n  store accum(o) {n->+} {x->0}\n"), 0, 0, 0, 0},
      {KEYS(96, 160, 3, 5, "    p = exp(add(t, neg(t)))\n    o = matmul(p, v)\n  }\n  store accum(o) {n->+} {x->0}\n"), 0, 0, 0, 0},
      {KEYS(96, 160, 3, 5, "    p = exp(sub(t, scale(sum(t, dim=1), 1/32)))\n    o = matmul(p, v)\n  }\n  store accum(o) {n->+} {x->0}\n"), 0, 0, 0, 0},
      /* a score times 1/11 is no more masked than e^-2978 times */
      {KEYS(96, 160, 3, 5, "    p = exp(scale(t, 1/11))\n    o = matmul(p, v)\n  }\n  store accum(o) {n->+} {x->0}\n"), 0, 0, 0, 0},
      {KEYS(96, 160, 3, 5, "    o = matmul(t, v)\n  }\n  store accum(o) {n->+} {x->0}\n"), 0, 0, 0, 0},
      {KEYS(96, 160, 3, 5, "    p = add_scalar(exp(t), 1)\n    o = matmul(p, v)\n  }\n  store accum(o) {n->+} {x->0}\n"), 0, 0, 0, 0},
      {KEYS(96, 160, 3, 5, "    p = exp(t)\n    o = matmul(p, v)\n    m = sum(s, dim=1)\n  }\n  store add(accum(o) {n->+}, accum(m) {n->+}) {x->0}\n"), 0, 0, 0, 0},
      {KEYS(96, 160, 3, 5, "    p = exp(t)\n    o = matmul(p, v)\n    m = max(p, dim=1)\n  }\n  store add(accum(o) {n->+}, accum(m) {n->max}) {x->0}\n"), 0, 0, 0, 0},
      {"program t\ninput Q : f16[96, 32]\ninput K : f16[32, 160]\ninput V : f16[160, 32]\ninput C : f16[96, 160] = causal\n"
       "O = kernel grid=(x=3, z=2) threads=64 {\n  q = load Q {x->0}\n  for n=5 {\n    k = load K {z->1, n->1}\n    c = load C {x->0, z->1, n->1}\n"
       "    v = load V {z->0, n->0}\n    p = exp(add(matmul(q, k), c))\n    o = matmul(p, v)\n  }\n  store accum(accum(o) {n->+}) {z->+} {x->0}\n}\noutput O\n", 0, 0, 0, 0}};
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    mg_graph *g = parse(cases[k].text);
    mg_flat flat;
    mg_error e;
    char *cu = NULL;
    int64_t steps = 0, blocks = 0;
    const int masked = cases[k].queries > 0;
    assert_int_equal(mg_flat_of(g->ops[1].sub, &flat), 1);
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s%s", cases[k].text, e.msg);
    if ((mg_flat_seen(&flat) != 0) != masked || (strstr(cu, "mg_causal_steps(") != NULL) != masked) fail_msg("%zu: %s%s", k, cases[k].text, cu);
    const double share = mg_flat_seen_share(&flat);
    for (int64_t first = 0; masked && first < cases[k].queries; first += cases[k].rows, blocks++) { /* key by key */
      const int64_t most = (cases[k].keys + cases[k].chunk - 1) / cases[k].chunk;
      for (int64_t step = 0; step < most; step++) {
        int sees = 0;
        for (int64_t r = first; r < first + cases[k].rows && r < cases[k].queries; r++)
          for (int64_t c = step * cases[k].chunk; c < (step + 1) * cases[k].chunk && c < cases[k].keys; c++)
            sees |= c <= r + cases[k].keys - cases[k].queries;
        steps += sees;
      }
      if (first + cases[k].rows >= cases[k].queries && fabs(share - (double)steps / (double)(most * (blocks + 1))) > 0.5 / (double)most)
        fail_msg("%zu: a share of %g, not of %lld of %lld steps", k, share, (long long)steps, (long long)(most * (blocks + 1)));
    }
    if (!masked) assert_true(share == 1);
    else assert_true(share >= MG_SEEN_LEAST && share < 1);
    mg_string_free(cu);
    mg_graph_free(g);
  }
#undef KEYS
}

/* The best plan has a late product where its emitter has one, in the memory that it foretells: not where the loop keeps more than
   two tiles.  Registers: never more than a launch deals out, and room for no fewer products than without a warp beside. */
static void late_plans_are_emitted(void **state) {
#define LATE(more, scores, plan) WIDE("128", more, scores, plan)
#define WIDE(d, more, scores, plan) \
  "program t\ninput Q : f16[16, 2048, " d "]\ninput K : f16[16, " d ", 2048] @ [0, 2, 1]\ninput V : f16[16, 2048, " d "]\ninput G : f16[2048, 2048]\n" \
  "O = kernel grid=(x=16, y=16) threads=256 {\n  q = load Q {x->1, y->0}\n  s = scale(q, 1/11)\n  for n=16 {\n    k = load K {y->0, n->2}\n    v = load V {y->0, n->1}\n" more \
  "    p = exp(" scores ")\n    o = matmul(p, v)\n    l = sum(p, dim=2)\n  }\n  r = div(accum(o) {n->+}, accum(l) {n->+})\n  store r {x->1, y->0}\n" plan "}\noutput O\n"
#define SAID "  plan { stages=3 warps_m=8 warps_n=1 warps_k=1 mma=warpgroup copy=warp chain=late }\n"
  static const struct { const char *text, *said; int late; } cases[] = {
      {LATE("", "matmul(s, k)", ""), LATE("", "matmul(s, k)", SAID), 1},
      {WIDE("64", "", "matmul(s, k)", ""), WIDE("64", "", "matmul(s, k)", SAID), 1},
      {LATE("    h = sum(sqr(k), dim=1)\n", "mul(matmul(s, k), h)", ""), LATE("    h = sum(sqr(k), dim=1)\n", "mul(matmul(s, k), h)", SAID), 0},
      {LATE("    h = load G {x->0, n->1}\n", "add(matmul(s, k), h)", ""), LATE("    h = load G {x->0, n->1}\n", "add(matmul(s, k), h)", SAID), 0}};
  const mg_machine *m = mg_machine_at(0);
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    mg_graph *g = parse(cases[k].text), *said = parse(cases[k].said);
    mg_flat flat;
    mg_error e;
    char *cu = NULL;
    double us;
    assert_int_equal(mg_flat_of(g->ops[1].sub, &flat), 1);
    const mg_kernel_plan p = mg_flat_plan(&flat, m, &us, NULL);
    if (p.late != cases[k].late) fail_msg("%zu: late %d", k, p.late);
    assert_int_equal(mg_cuda_emit(said, NULL, &cu, &e) == MG_OK, cases[k].late);
    if (cu) assert_true(p.copies == MG_COPY_WARP && p.stages == 3 && strstr(cu, "mg_group_chain_begin(") != NULL);
    mg_cuda_kernel *facts = NULL;
    int n = 0;
    if (cu) assert_int_equal(mg_cuda_facts(said, NULL, &facts, &n, &e), MG_OK);
    if (n) assert_int_equal(facts[0].takes.blocks, p.at_once);
    mg_cuda_facts_free(facts, n);
    mg_string_free(cu), mg_graph_free(g), mg_graph_free(said);
  }
  for (int threads = 128; threads <= 512; threads += 128) {
    const int all = threads + MG_APART, room = mg_group_room(m, threads, 1), dealt = (int)(m->registers_per_sm / all / 8 * 8);
    for (int registers = 8; registers <= room; registers++) {
      const int takes = mg_group_takes(m, threads, registers);
      if (!takes) assert_true(registers < dealt);
      else assert_true(takes > registers && takes % 8 == 0 && takes <= 240 && takes * threads + MG_COPIER * MG_APART <= dealt * all);
    }
  }
#undef SAID
#undef WIDE
#undef LATE
}
/* A row of 8 KB in registers: 512 threads of a block where a multiprocessor has one, 256 where it works off several, of
   which as many blocks are held at once as registers allow: two rows of a block cost more of these. */
static void rows_take_fewer_threads(void **state) {
  (void)state;
  static const struct { int rows, of; int warps; } cases[] = {{1, 1, 8}, {132, 1, 8}, {133, 1, 8}, {4096, 1, 8}, {4096, 2, 8}, {4096, 8, 16}};
  double resident[6];
  for (int k = 0; k < 6; k++) {
    char text[600];
    snprintf(text, sizeof text, "program n\ninput X : f16[%d, 4096]\ninput G : f16[4096]\nO = kernel grid=(x=%d) threads=512 {\n  x = load X {x->0}\n"
             "  g = load G {}\n  o = div(mul(x, g), sqrt(scale(sum(sqr(x), dim=1), 1/4096)))\n  store o {x->0}\n}\noutput O\n",
             cases[k].rows, cases[k].rows / cases[k].of);
    const mg_kernel_facts f = facts_of(text, "H200");
    assert_int_equal(f.plan.warps_m * f.plan.warps_n, cases[k].warps);
    resident[k] = f.resident;
  }
  assert_true(resident[3] > resident[4]);
  assert_true(resident[4] > resident[5]);
}

/* Whether rows stay in registers is one fact, which the emitter writes by and the cost asks: a kernel whose block may have fewer rows, or
   columns, or a mask, or rows that are no neighbours in memory, or whose text or sender has it otherwise, has no such rows. */
static void strips_are_facts(void **state) {
#define STRIP(in, out, grid, plan, loads, y) "program t\n" in "O = kernel grid=(" grid ") threads=64 {\n" loads "  y = " y "\n  s = sum(sqr(y), dim=1)\n  o = div(y, s)\n  store o {" out "}\n" plan "}\noutput O\n"
#define ROWS(shape, grid, plan) STRIP("input X : f16" shape "\n", "x->0", grid, plan, "  x = load X {x->0}\n", "neg(x)")
  static const struct { const char *text; int strip; } cases[] = {
      {ROWS("[8, 256]", "x=2", ""), 1}, {ROWS("[7, 256]", "x=2", ""), 0}, {ROWS("[8, 256]", "x=3", ""), 0}, {ROWS("[8, 256]", "x=2", "  plan { x.at=plain }\n"), 0},
      {ROWS("[8, 256]", "x=2", "  plan { x.at=registers }\n"), 1}, {ROWS("[8, 256] @ [1, 0]", "x=2", ""), 0},
      {STRIP("input X : f16[4, 8, 256]\n", "x->0, y->1", "x=4, y=2", "", "  x = load X {x->0, y->1}\n", "reshape(x, [4, 256])"), 1},
      {STRIP("input X : f16[4, 8, 256] @ [1, 2, 0]\n", "x->0, y->1", "x=4, y=2", "", "  x = load X {x->0, y->1}\n", "reshape(x, [4, 256])"), 0},
      {STRIP("input X : f16[1, 8, 256] @ [1, 2, 0]\n", "x->0, y->1", "x=1, y=2", "", "  x = load X {x->0, y->1}\n", "reshape(x, [4, 256])"), 1},
      {STRIP("input X : f16[8, 256]\ninput C : f16[1, 256] = causal\n", "x->0", "x=2", "", "  x = load X {x->0}\n  c = load C {}\n", "add(x, c)"), 0},
      {STRIP("sym n in 1..8\ninput X : f16[n, 256]\n", "x->0", "x=ceil(n/4)", "", "  x = load X {x->0}\n", "neg(x)"), 0},
      {STRIP("sym n in 1..8\ninput X : f16[n, 512]\n", "x->0", "x=n", "", "  x = load X {x->0}\n", "neg(x)"), 1}};
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    mg_graph *g = parse(cases[k].text);
    mg_flat flat;
    mg_error e;
    char *cu = NULL;
    assert_int_equal(mg_flat_of(g->ops[1].sub, &flat), 1);
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s%s", cases[k].text, e.msg);
    const int strip = mg_flat_strip(&flat, 64) != 0, emitted = strstr(cu, "mg_strip<") != NULL;
    if (strip != cases[k].strip || emitted != strip) fail_msg("%srows are%s a strip, and emitted %s one", cases[k].text, strip ? "" : " not", emitted ? "as" : "without");
    mg_string_free(cu);
    mg_graph_free(g);
  }
  const mg_kernel_facts rows = facts_of(ROWS("[8192, 256]", "x=2048", "  plan { stages=1 warps_n=2 }\n"), "H200");
  const mg_kernel_facts tiles = facts_of(ROWS("[8192, 256]", "x=2048", "  plan { stages=1 warps_n=2 x.at=plain }\n"), "H200");
  const mg_kernel_facts ragged = facts_of(ROWS("[8191, 256]", "x=2048", "  plan { stages=1 warps_n=2 }\n"), "H200");
  assert_true(rows.cost.fill_us < tiles.cost.fill_us && rows.cost.drain_us < tiles.cost.drain_us);
  assert_true(ragged.cost.fill_us == tiles.cost.fill_us && ragged.cost.drain_us > rows.cost.drain_us);
}
/* What stores alone read is read of device memory where they are, unless the text keeps it in a tile; beside what is read across a tile
   others are read in runs, and a launch bound counts all of them. */
static void loads_in_stores_are_facts(void **state) {
  static const struct { const char *text; int direct, all; } cases[] = {
      {"  x = load X {x->0}\n  y = load Y {x->0}\n  o = add(x, y)\n  store o {x->0}\n", 2, 2},
      {"  x = load X {x->0}\n  y = load Y {x->0}\n  o = add(x, y)\n  store o {x->0}\n  plan { x.at=plain }\n", 1, 0},
      {"  x = load X {x->0}\n  y = load Y {x->0}\n  o = add(mul(x, x), y)\n  store o {x->0}\n", 2, 2},
      {"  x = load X {x->0}\n  y = load Y {x->0}\n  o = add(mul(x, x), mul(x, y))\n  store o {x->0}\n", 1, 0},
      {"  x = load X {x->0}\n  y = load Y {x->0}\n  o = add(x, div(y, max(y, dim=0)))\n  store o {x->0}\n", 1, 0},
      {"  x = load X {x->0}\n  y = load Y {x->0}\n  o = add(transpose(transpose(x, [1, 0]), [1, 0]), y)\n  store o {x->0}\n", 2, 2},
      {"  x = load X {x->1}\n  y = load Y {x->0}\n  o = add(transpose(x, [1, 0]), y)\n  store o {x->0}\n", 1, 2},
      {"  x = load X {x->1}\n  y = load Y {x->0}\n  o = add(transpose(x, [1, 0]), mul(y, mul(y, y)))\n  store o {x->0}\n", 0, 2}};
  (void)state;
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[1024], *cu = NULL;
    mg_flat flat;
    mg_error e;
    int direct = 0, emitted = 0;
    snprintf(text, sizeof text, "program t\ninput X : f16[64, 64]\ninput Y : f16[64, 64]\nO = kernel grid=(x=2) threads=128 {\n%s}\noutput O\n", cases[k].text);
    mg_graph *g = parse(text);
    assert_int_equal(mg_flat_of(g->ops[1].sub, &flat), 1);
    if (mg_cuda_emit(g, NULL, &cu, &e) != MG_OK) fail_msg("%s%s", text, e.msg);
    for (int i = 0; i < flat.n; i++) direct += flat.op[i].direct;
    for (const char *at = cu; (at = strstr(at, "const mg_global<")) != NULL; at++) emitted++;
    if (direct != cases[k].direct || emitted != direct) fail_msg("%s%d loads are direct, %d are emitted so", text, direct, emitted);
    if (mg_flat_read_in_stores(&flat) != cases[k].all) fail_msg("%s%d loads are read in stores", text, mg_flat_read_in_stores(&flat));
    mg_string_free(cu);
    mg_graph_free(g);
  }
}
/* The emitter's facts are what it writes: threads, shared bytes, and a value for every tensor, its bytes within the block's. */
static void facts_are_what_is_emitted(void **state) {
  (void)state;
  static const char *const text[] = {NORM(""), NORM("  plan { stages=4 warps_m=1 warps_n=1 warps_k=4 ring=warp }\n"), GROUPS("mma=warpgroup"), PARTS};
  for (size_t k = 0; k < sizeof text / sizeof *text; k++) {
    mg_graph *g = parse(text[k]);
    mg_cuda_kernel *f = NULL;
    mg_emit_config c;
    mg_error e;
    char *cu = NULL, line[200];
    int n = 0, loads = 0;
    memset(&c, 0, sizeof c);
    if (mg_cuda_facts(g, "sm_90a", &f, &n, &e) != MG_OK) fail_msg("%s", e.msg);
    assert_int_equal(mg_cuda_emit(g, &c, &cu, &e), MG_OK);
    assert_int_equal(n, 1);
    snprintf(line, sizeof line, "%d threads: warps %d x %d x %d (rows, columns, contraction); %lld bytes of shared memory", f->takes.threads, f->warps_m, f->warps_n, f->warps_k, (long long)f->takes.shared_bytes);
    assert_non_null(strstr(cu, line));
    const mg_graph *b = g->ops[g->n_ops - 1].sub;
    assert_int_equal(f->n_values, (int)b->n_tensors - 1);
    for (int t = 0; t < f->n_values; t++) {
      const mg_cuda_value *v = &f->value[t];
      assert_string_equal(v->name, b->tensors[t + 1].name);
      assert_true(v->bytes >= 0 && v->bytes <= f->takes.shared_bytes);
      if (strcmp(v->op, "load")) continue;
      loads++;
      assert_true(v->bytes >= 2LL * v->rows * v->cols * (v->in_loop ? f->takes.stages : 1) || !v->bytes);
    }
    assert_true(loads >= 2);
    mg_string_free(cu);
    mg_cuda_facts_free(f, n);
    mg_graph_free(g);
  }
  mg_graph *g = parse(GROUPS("mma=warpgroup"));
  mg_cuda_kernel *f = (mg_cuda_kernel *)&g;
  mg_error e;
  int n = 7;
  assert_int_equal(mg_cuda_facts(g, "sm_80", &f, &n, &e), MG_UNSUPPORTED);
  assert_true(!f && !n && strstr(e.msg, "warpgroup"));
  mg_graph_free(g);
}

/* An emitted file is for those who read it: lines of at most 120 columns, no second wait for copies behind one that nothing
   follows, no statement that does nothing, no multiplication by 1. */
static void reads_well(const char *cu) {
  int waits = 0;
  for (const char *line = cu, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
    char text[400];
    if (end - line > 120) fail_msg("a line of %d columns: %.*s", (int)(end - line), (int)(end - line), line);
    snprintf(text, sizeof text, "%.*s", (int)(end - line), line);
    const char *is = text + strspn(text, " ");
    const int wait = !strncmp(is, "mg_cp_async_wait<", 17);
    if (waits && wait) fail_msg("a second wait: %s", text);
    waits = wait;
    if (strstr(text, "(void)") && !strstr(text, "(void) {")) fail_msg("a statement that does nothing: %s", text);
    if (strncmp(is, "//", 2) && (strstr(text, " * 1,") || strstr(text, " * 1)") || strstr(text, " * 1;"))) fail_msg("times 1: %s", text);
  }
}

/* The threads, stages and shared bytes of the facts are those of the emitted kernels of the programs' stored µGraphs, as NAME_info
   and the text say them, and within the machine's limits; the blocks that the cost has a multiprocessor hold at once fit it by
   these and by the registers that the launch bound leaves a thread, which are enough for the accumulators. */
static void what_is_planned_is_in_the_file(void **state) {
  int kernels = 0, several = 0;
  ugraphs u = {0};
  (void)state;
  for (mg_graph *g; (g = ugraphs_next(&u)) != NULL; mg_graph_free(g)) {
    const mg_machine *m = mg_machine_find(u.arch);
    mg_cuda_kernel *emitted = NULL;
    mg_emit_config c;
    mg_error e;
    char *cu = NULL;
    int n = 0, number = 0;
    memset(&c, 0, sizeof c);
    c.arch = u.arch;
    if (mg_cuda_emit(g, &c, &cu, &e) != MG_OK) fail_msg("%s: %s", g->name, e.msg);
    if (mg_cuda_facts(g, u.arch, &emitted, &n, &e) != MG_OK) fail_msg("%s: %s", g->name, e.msg);
    reads_well(cu);
    for (uint32_t op = 1; op < g->n_ops; op++) {
      const mg_graph *b = g->ops[op].sub;
      mg_kernel_facts f;
      char row[200];
      long long shared;
      int threads;
      if (g->ops[op].code != MG_OP_GRAPH) continue;
      snprintf(row, sizeof row, "{\"%s_kernel%d\",", g->name, number);
      const char *at = strstr(cu, row), *end = at ? strchr(at, '}') : NULL; /* of its grid; a line may end behind it */
      if (!end || sscanf(end, "}, %d, %lld}", &threads, &shared) != 2) fail_msg("%s is not in NAME_info", row);
      assert_true(number < n);
      assert_int_equal(emitted[number].takes.shared_bytes, shared);
      assert_int_equal(emitted[number].takes.threads, threads);
      assert_true(shared <= m->shared_per_block);
      const mg_kernel_takes *t = &emitted[number].takes;
      const int alone = t->blocks == 1;
      assert_int_equal(mg_kernel_facts_taking(g, op, m, t, &f), 1);
      assert_int_equal(f.plan.shared, shared);
      assert_int_equal(f.plan.stages, t->stages);
      assert_float_equal(f.resident, f.waves < t->blocks ? f.waves : t->blocks, 0);
      assert_true(alone || t->blocks * (shared + 1024) <= m->shared_per_sm);
      assert_true(t->blocks * threads <= m->threads_per_sm && t->blocks * threads * t->registers <= m->registers_per_sm);
      assert_true(t->registers % 8 == 0 || t->registers == MG_REGISTERS_MOST);
      assert_true(t->registers > t->accumulators && (alone || t->registers >= t->accumulators + MG_REGISTERS_BESIDE ||
                                                     t->registers == MG_REGISTERS_MOST));
      if (alone) snprintf(row, sizeof row, "MG_KERNEL(%d) void %s_kernel%d(", threads, g->name, number);
      else snprintf(row, sizeof row, "MG_KERNEL(%d, %d) void %s_kernel%d(", threads, t->blocks, g->name, number);
      assert_non_null(strstr(cu, row));
      several += !alone;
      number++;
      if (mg_plan_says(b, MG_PLAN_STAGES, NULL) < 0 && mg_plan_says(b, MG_PLAN_WARPS_N, NULL) < 0) continue; /* the facts are of another plan */
      assert_int_equal(mg_kernel_facts_of(g, op, m, &f), 1);
      assert_int_equal(f.threads, threads);
      assert_int_equal(f.plan.stages, emitted[number - 1].takes.stages);
      kernels++;
    }
    assert_int_equal(number, n);
    mg_cuda_facts_free(emitted, n);
    mg_string_free(cu);
  }
  assert_true(kernels > 100 && several > 20);
}

/* ---- machines as text */

/* The default row as text, with the line of `key` (NULL: none) replaced by `line`. */
static char *row_text(const char *key, const char *line) {
  char text[MG_MACHINE_TEXT], *out = (char *)calloc(1, MG_MACHINE_TEXT + (line ? strlen(line) : 0) + 2);
  mg_machine_print(mg_machine_at(0), text);
  strchr(strstr(text, "\nsource ") + 1, '\n')[1] = 0; /* the coefficients behind it may be left out */
  for (char *at = text, *end; *at; at = end + 1) {
    end = strchr(at, '\n');
    *end = 0;
    const int it = key && !strncmp(at, key, strlen(key)) && at[strlen(key)] == ' ';
    strcat(strcat(out, it ? line : at), it && !*line ? "" : "\n");
  }
  return out;
}

static void assert_same_row(const mg_machine *a, const mg_machine *b) {
#define MGT_WORD(name) assert_string_equal(a->name, b->name);
#define MGT_LINE(name) assert_string_equal(a->name, b->name);
#define MGT_CAN(name) assert_true(a->name == b->name);
#define MGT_WHOLE(name) assert_true(a->name == b->name);
#define MGT_RATE(name) assert_true(a->name == b->name);
#define MGT_COST(name) assert_true(a->name == b->name);
#define MGI_F(kind, type, name, least, most, text) MGT_##kind(name)
  MG_MACHINE_FIELDS(MGI_F)
#undef MGI_F
}

/* Printed and parsed it is the same row: every row of the table, and ones with every rate and size moved. */
static void text_gives_the_row(void **state) {
  (void)state;
  char text[MG_MACHINE_TEXT], again[MG_MACHINE_TEXT];
  mg_machine_file f;
  mg_error e;
  uint64_t s = 7;
  for (int k = 0; k < 40 * mg_machine_count(); k++) {
    mg_machine m = *mg_machine_at(k % mg_machine_count());
    assert_int_equal(mg_machine_check(&m, &e), MG_OK);
    if (k >= mg_machine_count()) {
      s = s * 6364136223846793005u + 1442695040888963407u;
      const double by = 0.9 + 0.2 * (double)(s >> 11) / 9007199254740992.0;
#define MGI_F(kind, type, name, least, most, text) m.name *= by;
      MG_MACHINE_RATES(MGI_F)
#undef MGI_F
      m.sms = 1 + (int)(s >> 60), m.l2_bytes -= (int64_t)(s >> 50), m.can &= (uint32_t)(s >> 40);
    }
    assert_ptr_equal(mg_machine_print(&m, text), text);
    if (mg_machine_parse(text, strlen(text), "row", &f, &e) != MG_OK) fail_msg("%s: %s\n%s", e.where, e.msg, text);
    assert_same_row(&m, &f.m);
    assert_string_equal(mg_machine_print(&f.m, again), text);
  }
  static const char loose[] = "# a machine\n\n\tname   x-1.2_b+  # what it is called\r\n";
  char *rest = row_text("name", ""), *all = (char *)calloc(1, sizeof loose + strlen(rest));
  strcat(strcpy(all, loose), rest);
  assert_int_equal(mg_machine_parse(all, strlen(all), NULL, &f, &e), MG_OK);
  assert_string_equal(f.m.name, "x-1.2_b+");
  all[strlen(all) - 1] = 0; /* the last line needs no end */
  assert_int_equal(mg_machine_parse(all, strlen(all), NULL, &f, NULL), MG_OK);
  assert_string_equal(f.m.source, mg_machine_at(0)->source);
  free(rest), free(all);
  char *none = row_text("can", "can");
  assert_int_equal(mg_machine_parse(none, strlen(none), NULL, &f, &e), MG_OK);
  assert_int_equal(f.m.can, 0);
  free(none);
}

/* What is wrong is said with its place; lines are counted from 1, as columns are. */
static void text_errors(void **state) {
  (void)state;
  static const struct { const char *key, *line, *where, *msg; } wrong[] = {
      {"sms", "", "m:18:1", "expected a line of sms (multiprocessors (SMs)), found the end of the text"},
      {"source", "", "m:18:1", "expected a line of source"},
      {"sms", "sms 132\nsms 132", "m:5:1", "expected sms once, found it again: the first is in line 4"},
      {"sms", "SMs 132", "m:4:1", "expected a key of sms"},
      {"sms", "smss 132", "m:4:1", "found 'smss'"},
      {"sms", "= 132", "m:4:1", "found '='"},
      {"sms", "sms=132", "m:4:4", "expected a space behind the key, found '=132'"},
      {"sms", "sms", "m:4:4", "expected multiprocessors (SMs), found the end of the line"},
      {"sms", "sms # 132", "m:4:5", "found the end of the line"},
      {"sms", "sms 0", "m:4:5", "expected an integer from 1 to 1024 (multiprocessors (SMs)), found '0'"},
      {"sms", "  sms   1025", "m:4:9", "found '1025'"},
      {"sms", "sms -132", "m:4:5", "found '-132'"},
      {"sms", "sms 132.0", "m:4:5", "found '132.0'"},
      {"sms", "sms 0x84", "m:4:5", "found '0x84'"},
      {"sms", "sms 132 1", "m:4:5", "found '132 1'"},
      {"sms", "sms 99999999999999999999999999", "m:4:5", "expected an integer from 1 to 1024"},
      {"shared_per_block", "shared_per_block 232449", "m:7:18", "found '232449'"},
      {"shared_per_sm", "shared_per_sm 232449", "m:8:15", "expected shared_per_sm of at least 233472"},
      {"threads_per_sm", "threads_per_sm 2047", "m:5:16", "a multiple of 32"},
      {"dram_gbps", "dram_gbps nan", "m:11:11", "expected a number from 1 to 1e+06 (GB/s of the whole chip, from device memory), found 'nan'"},
      {"dram_gbps", "dram_gbps inf", "m:11:11", "found 'inf'"},
      {"dram_gbps", "dram_gbps 1e999", "m:11:11", "found '1e999'"},
      {"dram_gbps", "dram_gbps 1e", "m:11:11", "found '1e'"},
      {"dram_gbps", "dram_gbps .5", "m:11:11", "found '.5'"},
      {"dram_gbps", "dram_gbps 4,290", "m:11:11", "found '4,290'"},
      {"dram_gbps", "dram_gbps 0.5", "m:11:11", "found '0.5'"},
      {"barrier_us", "barrier_us 1e-9", "m:17:12", "found '1e-9'"},
      {"name", "name two words", "m:1:6", "a word of 1 to 40 characters for name, found 'two words'"},
      {"name", "name a\"b", "m:1:6", "a word"},
      {"name", "name 01234567890123456789012345678901234567890", "m:1:6", "at most 40 characters for name"},
      {"arch", "arch sm_1", "m:2:6", "expected an arch of the table, sm_90a (H200, H100), sm_80 (A100)"},
      {"arch", "arch H200", "m:2:6", "found 'H200'"},
      {"can", "can CLUSTERS", "m:3:5", "expected capabilities of ASYNC_COPY CLUSTER"},
      {"can", "can CLUSTER FLOAT8 CLUSTER", "m:3:20", "expected each capability once, found 'CLUSTER'"},
      {"arch", "arch sm_90", "m:3:5", "expected capabilities that sm_90 has, found TENSOR_COPY"},
      {"arch", "arch sm_80", "m:3:5", "expected capabilities that sm_80 has, found CLUSTER"},
      {"source", "source guessed", "m:18:8", "begins with measured or scaled, found 'guessed'"},
      {"sms", "sms 132\001", "m:4:8", "expected text in ASCII, found byte 0x01"},
      {"sms", "\377\376", "m:4:1", "found byte 0xff"}};
  mg_machine_file f;
  mg_error e;
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    char *text = row_text(wrong[k].key, wrong[k].line);
    memset(&e, 0, sizeof e);
    assert_int_equal(mg_machine_parse(text, strlen(text), "m", &f, &e), MG_BAD_INPUT);
    if (strcmp(e.where, wrong[k].where) || !strstr(e.msg, wrong[k].msg)) fail_msg("%s: expected %s, %s; found %s, %s", wrong[k].line, wrong[k].where, wrong[k].msg, e.where, e.msg);
    int line = 0, column = 0;
    assert_int_equal(sscanf(e.where, "m:%d:%d", &line, &column), 2);
    assert_true(e.line == line && e.column == column);
    assert_int_equal(mg_machine_parse(text, strlen(text), "m", &f, NULL), MG_BAD_INPUT);
    free(text);
  }
  char *many = (char *)malloc(MG_MACHINE_FILE + 1);
  memset(many, ' ', MG_MACHINE_FILE + 1);
  assert_int_equal(mg_machine_parse(many, 401, "m", &f, &e), MG_BAD_INPUT);
  assert_string_equal(e.where, "m:1:401");
  assert_non_null(strstr(e.msg, "at most 400 bytes in a line, found 401"));
  for (int k = 400; k < MG_MACHINE_FILE; k += 401) many[k] = '\n';
  assert_int_equal(mg_machine_parse(many, MG_MACHINE_FILE, "m", &f, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "found the end of the text"));
  assert_int_equal(mg_machine_parse(many, MG_MACHINE_FILE + 1, "m", &f, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "at most 65536 bytes"));
  assert_int_equal(mg_machine_parse("", 0, "m", &f, &e), MG_BAD_INPUT);
  assert_string_equal(e.where, "m:1:1");
  assert_int_equal(mg_machine_parse("name \0x", 7, "m", &f, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "byte 0x00"));
  assert_int_equal(mg_machine_read("no such file", &f, &e), MG_BAD_INPUT);
  assert_non_null(strstr(e.msg, "cannot be opened"));
  assert_int_equal(mg_machine_read(".", &f, &e), MG_BAD_INPUT);
  free(many);
  for (int k = 0; k < 6; k++) { /* a row that nobody parsed */
    mg_machine m = *mg_machine_at(0);
    if (k == 0) m.name = NULL;
    if (k == 1) m.source = "measured: two\nlines";
    if (k == 2) m.l2_gbps = 0.0 / (m.l2_gbps - m.l2_gbps); /* NaN */
    if (k == 3) m.can |= 1u << 31;
    if (k == 4) m.arch = "sm_90b";
    if (k == 5) m.blocks_per_sm = -1;
    assert_int_equal(mg_machine_check(&m, &e), MG_BAD_INPUT);
    assert_int_equal(strncmp(e.msg, "expected ", 9), 0);
  }
}

/* Texts with bytes changed, cut out, doubled and moved are taken or refused; what is taken is a row. */
static void text_mutated(void **state) {
  (void)state;
  uint64_t s = 11;
  int taken = 0;
#define DRAW(n) (s = s * 6364136223846793005u + 1442695040888963407u, (size_t)((s >> 33) % (uint64_t)(n)))
  for (int k = 0; k < 20000; k++) {
    char first[MG_MACHINE_TEXT], again[MG_MACHINE_TEXT], *text;
    mg_machine_file f, g;
    mg_error e;
    mg_machine_print(mg_machine_at((int)DRAW(mg_machine_count())), first);
    size_t n = strlen(first);
    for (size_t changes = 1 + DRAW(3); changes-- > 0 && n > 8;) {
      const size_t at = DRAW(n), len = 1 + DRAW(n - at < 80 ? n - at : 80), to = DRAW(n - len + 1);
      switch (DRAW(5)) {
      case 0: first[at] = (char)DRAW(256); break;
      case 1: first[at] = "0123456789.eE-+# \n\tn"[DRAW(20)]; break;
      case 2: memmove(first + at, first + at + len, n - at - len), n -= len; break;
      case 3: memmove(first + to, first + at, len); break;
      default: n -= DRAW(n); break;
      }
    }
    text = (char *)malloc(n ? n : 1); /* of this size: what is read behind it is seen */
    memcpy(text, first, n);
    memset(&e, 0, sizeof e);
    const mg_status got = mg_machine_parse(text, n, "m", &f, &e);
    free(text);
    if (got != MG_OK) {
      assert_int_equal(got, MG_BAD_INPUT);
      assert_true(e.line >= 1 && e.column >= 1 && !strncmp(e.msg, "expected ", 9));
      continue;
    }
    taken++;
    assert_int_equal(mg_machine_check(&f.m, &e), MG_OK);
    mg_machine_print(&f.m, first);
    assert_int_equal(mg_machine_parse(first, strlen(first), "m", &g, &e), MG_OK);
    assert_string_equal(mg_machine_print(&g.m, again), first);
  }
#undef DRAW
  assert_true(taken > 1000 && taken < 19000);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_are_found), cmocka_unit_test(rows_are_sane), cmocka_unit_test(capabilities), cmocka_unit_test(architectures),
      cmocka_unit_test(every_machine_is_emitted_for), cmocka_unit_test(what_a_machine_lacks_is_refused),
      cmocka_unit_test(keys_say_and_check), cmocka_unit_test(keys_are_of_values), cmocka_unit_test(a_cost_is_its_terms), cmocka_unit_test(transposes_wait_for_banks), cmocka_unit_test(long_rows_are_shared), cmocka_unit_test(products_under_way),
      cmocka_unit_test(facts_are_of_the_plan), cmocka_unit_test(facts_are_what_is_emitted),
      cmocka_unit_test(what_is_planned_is_in_the_file), cmocka_unit_test(split_operands_are_planned), cmocka_unit_test(steps_compute_once), cmocka_unit_test(products_without_tensor_cores), cmocka_unit_test(maxima_are_facts), cmocka_unit_test(masked_steps_are_facts), cmocka_unit_test(late_plans_are_emitted), cmocka_unit_test(strips_are_facts), cmocka_unit_test(rows_take_fewer_threads), cmocka_unit_test(loads_in_stores_are_facts), cmocka_unit_test(text_gives_the_row),
      cmocka_unit_test(text_errors), cmocka_unit_test(text_mutated)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
