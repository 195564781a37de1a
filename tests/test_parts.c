/* Test of what a search of the whole owes to its parts: for each single cut of a program, what is found for the whole takes, by the model, no
   longer than what is found for both parts by themselves.  Limits are counts, no clock: any machine says the same.
   gcc -std=c11 -O2 -Wall -Wextra -I. tests/test_parts.c -o build/test_parts -lcmocka -lm -lpthread -ldl && build/test_parts
   SOAK_S=n in the environment: with larger limits and longer programs. */
#ifndef MGT_LINKED
#define MIRAGE_IMPLEMENTATION
#endif
#include <stdio.h>
#include "mirage_search.h"
#include "mirage_cuda.cuh"

#include <setjmp.h>
#include <stdarg.h>
#include <cmocka.h>
#include "parse.h"
#include "sanitized.h"

static mg_status emittable(void *user, const mg_graph *g, mg_error *why) {
  (void)user;
  return mg_cuda_emittable(g, "sm_90a", why);
}

/* unsafe: what a program hands on in 16 bits where it is cut is as it was written in the parts, and costs what keeps it safe in the whole. */
static double best_of(const mg_graph *p) {
  mg_search_config c = mg_search_config_default();
  mg_search_result r;
  mg_error e;
  c.emittable = emittable, c.unsafe = 1, c.top_k = 1;
  c.max_states = getenv("SOAK_S") ? 4096 : 1024, c.max_steps = getenv("SOAK_S") ? 200000 : 20000, c.max_block_ops = 8, c.egraph.seconds = 1000;
  if (mg_search(p, &c, &r, &e) != MG_OK) fail_msg("%s: %s", p->name, e.msg);
  const double us = r.predicted_us[0];
  mg_search_result_free(&r);
  return us;
}

/* The times of kernels are added up, here and there, in another order. */
#define ROUNDING 1e-9
static void no_more_than_its_parts(const char *text) {
  mg_graph *p = parse(text);
  mgi_se_cuts *C = (mgi_se_cuts *)calloc(1, sizeof *C);
  assert_true(C && mgi_se_cuts_of(C, p) && mgi_se_cuts_down(C));
  const double whole = best_of(p);
  int cuts = 0;
  double least = 1e18;
  for (int k = 1; k + 1 < C->n_down; k++) {
    double us = 0;
    int parts = 0;
    for (int part = 0; part < 2; part++) {
      mgi_se_found f;
      mg_error e;
      int none;
      memset(&f, 0, sizeof f);
      f.ops = part ? mgi_se_set_minus(&C->all, &C->down[k], &none) : C->down[k];
      mg_graph *g = mgi_se_cuts_bytes(C, &f.ops) < 0 ? NULL : mgi_se_segment(C, &f, &e);
      if (!g) continue;
      us += best_of(g), parts++;
      mg_graph_free(g);
    }
    if (parts < 2) continue; /* what is not handed on */
    cuts++;
    if (us < least) least = us;
    if (whole > us * (1 + ROUNDING)) fail_msg("%s: %.4f us, but %.4f in two parts, by cut %d of %d", p->name, whole, us, k, C->n_down);
  }
  printf("%s: %.2f us, in two parts %.2f at least, %d cuts\n", p->name, whole, least, cuts);
  assert_true(cuts > 0);
  mgi_se_cuts_free(C);
  free(C);
  mg_graph_free(p);
}

static void products_with_functions_between(void **state) {
  (void)state;
  no_more_than_its_parts("program hardswish\ninput X : f16[64, 512]\ninput A : f16[512, 1024]\ninput B : f16[1024, 512]\nP = matmul(X, A)\n"
                         "H = scale(mul(P, clamp(add_scalar(P, 3), 0, 6)), 1/6)\nO = matmul(H, B)\noutput O\n");
  if (SANITIZED) return; /* the others, too, search what these do */
  no_more_than_its_parts("program gated\ninput X : f16[64, 512]\ninput A : f16[512, 1024]\ninput B : f16[512, 1024]\ninput C : f16[1024, 512]\n"
                         "O = add(X, matmul(mul(silu(matmul(X, A)), matmul(X, B)), C))\noutput O\n");
}
static void a_norm_before_products(void **state) {
  (void)state;
  no_more_than_its_parts("program norms\ninput X : f16[64, 512]\ninput G : f16[512]\ninput A : f16[512, 1024]\ninput B : f16[1024, 512]\n"
                         "O = add(X, matmul(gelu(matmul(rms_norm(X, G), A)), B))\noutput O\n");
}
static void a_chain_of_products(void **state) {
  (void)state;
  if (SANITIZED) skip();
  no_more_than_its_parts("program chain\ninput X : f16[64, 512]\ninput A : f16[512, 512]\ninput B : f16[512, 512]\ninput C : f16[512, 512]\ninput D : f16[512, 512]\n"
                         "O = matmul(relu(matmul(relu(matmul(relu(matmul(X, A)), B)), C)), D)\noutput O\n");
}
static void longer_ones(void **state) {
  (void)state;
  if (!getenv("SOAK_S")) skip();
  no_more_than_its_parts("program layers\ninput X : f16[64, 512]\ninput G : f16[512]\ninput B : f16[512]\ninput W : f16[512, 1024]\ninput w : f16[1024]\n"
                         "input V : f16[1024, 512]\ninput v : f16[512]\nM = mean(X, dim=1)\nD = sub(X, M)\n"
                         "N = add(mul(div(D, sqrt(add_scalar(mean(sqr(D), dim=1), 1/100000))), G), B)\n"
                         "O = add(add(matmul(gelu(add(matmul(N, W), w)), V), v), X)\noutput O\n");
  no_more_than_its_parts("program expert\ninput X : f16[16, 256]\ninput G : f16[256]\ninput R : f16[256, 8]\ninput r : f16[8, 1]\ninput A : f16[256, 512]\n"
                         "input B : f16[256, 512]\ninput C : f16[512, 256]\nN = rms_norm(X, G, eps=1e-6)\n"
                         "W = matmul(softmax(matmul(N, R), dim=1), r)\nO = add(X, mul(matmul(mul(silu(matmul(N, A)), matmul(N, B)), C), W))\noutput O\n");
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(products_with_functions_between), cmocka_unit_test(a_norm_before_products), cmocka_unit_test(a_chain_of_products), cmocka_unit_test(longer_ones) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
