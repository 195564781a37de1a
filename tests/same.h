/* When two searches are one.  Include it after cmocka.h and mirage_search.h. */
#ifndef MG_TESTS_SAME_H
#define MG_TESTS_SAME_H

/* The texts, times and verdicts of all results, and everything counted; the seed draws elements, not choices. */
static void same(const mg_search_result *a, const mg_search_result *b) {
  mg_error e;
  assert_int_equal(a->n, b->n);
  for (int k = 0; k < a->n; k++) {
    char *x = NULL, *y = NULL;
    assert_int_equal(mg_print(a->graph[k], &x, &e), MG_OK);
    assert_int_equal(mg_print(b->graph[k], &y, &e), MG_OK);
    assert_string_equal(x, y);
    mg_string_free(x), mg_string_free(y);
    assert_true(a->predicted_us[k] == b->predicted_us[k]);
    assert_int_equal(a->report[k].verdict, b->report[k].verdict);
  }
  const mg_search_stats *s = &a->stats, *t = &b->stats;
  uint64_t x[] = { s->states, s->pruned_pairs, s->pruned_expression, s->pruned_shape, s->pruned_duplicate, s->pruned_limit, s->pruned_bound, s->frames, s->values, s->structures, s->segments, s->candidates, s->verified, s->rejected, (uint64_t)s->complete };
  uint64_t y[] = { t->states, t->pruned_pairs, t->pruned_expression, t->pruned_shape, t->pruned_duplicate, t->pruned_limit, t->pruned_bound, t->frames, t->values, t->structures, t->segments, t->candidates, t->verified, t->rejected, (uint64_t)t->complete };
  for (size_t k = 0; k < sizeof x / sizeof *x; k++) if (x[k] != y[k]) fail_msg("count %zu: %llu and %llu", k, (unsigned long long)x[k], (unsigned long long)y[k]);
}

#endif
