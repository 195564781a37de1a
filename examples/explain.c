/* `mirage explain FILE`: of every kernel of a µGraph what it is, where its values live, and what its time is made of.
   Part of examples/mirage.c, which includes it. */

/* The terms' sum, without what is put on what should not be. */
static double sum_of_terms(const mg_cost *c) {
  double sum = 0;
#define ADD(id, text) sum += c->id##_us;
  MG_COST_TERMS(ADD)
#undef ADD
  return sum;
}

static const char *bound_by(const mg_cost *c) {
  const double memory = c->dram_us > c->l2_us ? c->dram_us : c->l2_us;
  const double compute = c->tensor_us + c->elements_us + c->shared_us;
  if (sum_of_terms(c) > 2 * c->body_us) return "no unit: launch, waits and ends are most of it";
  if (memory >= compute) return c->dram_us >= c->l2_us ? "device memory" : "the L2 cache";
  if (c->tensor_us >= c->elements_us && c->tensor_us >= c->shared_us) return "tensor cores";
  return c->elements_us >= c->shared_us ? "elementwise operations" : "shared memory";
}

static void explain_cost(FILE *f, const mg_cost *c) {
  const double sum = sum_of_terms(c);
#define LINE(id, text) fprintf(f, "  %8.2f us %4.0f %%  %s\n", c->id##_us, 100 * c->id##_us / sum, text);
#define UNIT(id, text) fprintf(f, "    (%6.2f us alone: %s)\n", c->id##_us, text);
  MG_COST_TERMS(LINE)
  fprintf(f, "  of the body:\n");
  MG_BODY_TERMS(UNIT)
#undef LINE
#undef UNIT
  if (c->penalty > 1) fprintf(f, "  %.2f us, counted %.3g times: an exponential may overflow, or something in the block is no matrix\n", sum, c->penalty);
}

static void explain_values(FILE *f, const mg_cuda_kernel *k) {
  fprintf(f, "  %-16s %-10s %13s %-6s %-32s %s\n", "value", "operator", "rows x cols", "", "lives in", "bytes of shared memory");
  for (int t = 0; t < k->n_values; t++) {
    const mg_cuda_value *v = &k->value[t];
    char size[32], bytes[24] = "-";
    snprintf(size, sizeof size, "%d x %d", v->rows, v->cols);
    if (v->bytes) snprintf(bytes, sizeof bytes, "%lld", (long long)v->bytes);
    fprintf(f, "  %-16s %-10s %13s %-6s %-32s %s\n", v->name, v->op, size, v->in_loop ? "loop" : "", v->lives, bytes);
  }
}

static void explain_kernel(FILE *f, const mg_machine *m, int number, const char *makes, const mg_kernel_facts *p, const mg_cuda_kernel *k) {
  fprintf(f, "\nkernel %d, makes %s: %.2f us by the model, bound by %s\n", number, makes, p->cost.total_us, bound_by(&p->cost));
  if (p->cost.total_us >= 1e9) fprintf(f, "  its plan does not fit %s: shared memory %lld bytes of %lld, or registers\n", m->name, (long long)p->plan.shared, (long long)m->shared_per_block);
  fprintf(f, "  floor: %.2f us, %.0f bytes of device memory at %.0f GB/s\n", p->cost.dram_us, p->dram_bytes, m->dram_gbps);
  fprintf(f, "  moves %.0f bytes through L2, %.3g operations of tensor cores\n", p->l2_bytes, p->flops);
  fprintf(f, "  %lld blocks, %lld of them share a result; %lld steps each; %.0f a multiprocessor, %.0f at once\n", (long long)p->blocks, (long long)p->group, (long long)p->steps, p->waves, p->resident);
  explain_cost(f, &p->cost);
  if (!k) return;
  fprintf(f, "  a block: %d threads, warps %d x %d x %d (rows, columns, contraction), %d stages, %lld bytes of shared memory, comes to %lld barriers\n", k->threads, k->warps_m, k->warps_n, k->warps_k, k->stages,
          (long long)k->shared_bytes, (long long)k->barriers);
  fprintf(f, "  ring=%s mma=%s copy=%s merge=%s schedule=%s; accumulators take %d registers a thread\n", k->ring, k->mma, k->copy, k->merge, k->schedule, k->registers);
  explain_values(f, k);
}

static void explain_kernel_json(FILE *f, int number, const char *makes, const mg_kernel_facts *p, const mg_cuda_kernel *k) {
  fprintf(f, "{\"kernel\": %d, \"makes\": ", number);
  json_string(f, makes);
  fprintf(f, ", \"blocks\": %lld, \"group\": %lld, \"steps\": %lld, \"waves\": %g, \"resident\": %g", (long long)p->blocks, (long long)p->group, (long long)p->steps, p->waves, p->resident);
  fprintf(f, ", \"dram_bytes\": %.0f, \"l2_bytes\": %.0f, \"flops\": %.0f, \"bound_by\": ", p->dram_bytes, p->l2_bytes, p->flops);
  json_string(f, bound_by(&p->cost));
  fprintf(f, ", \"us\": {");
#define FIELD(id, text) fprintf(f, "\"" #id "\": %.4f, ", p->cost.id##_us);
  MG_COST_TERMS(FIELD)
  MG_BODY_TERMS(FIELD)
#undef FIELD
  fprintf(f, "\"penalty\": %.4f, \"total\": %.4f}", p->cost.penalty, p->cost.total_us);
  if (k) {
    fprintf(f, ", \"threads\": %d, \"stages\": %d, \"warps\": [%d, %d, %d], \"shared_bytes\": %lld, \"barriers\": %lld, \"registers\": %d", k->threads, k->stages, k->warps_m, k->warps_n, k->warps_k,
            (long long)k->shared_bytes, (long long)k->barriers, k->registers);
    fprintf(f, ", \"ring\": \"%s\", \"mma\": \"%s\", \"copy\": \"%s\", \"merge\": \"%s\", \"schedule\": \"%s\", \"values\": [", k->ring, k->mma, k->copy, k->merge, k->schedule);
    for (int t = 0; t < k->n_values; t++) {
      const mg_cuda_value *v = &k->value[t];
      fprintf(f, "%s{\"name\": ", t ? ", " : "");
      json_string(f, v->name);
      fprintf(f, ", \"op\": \"%s\", \"rows\": %d, \"cols\": %d, \"in_loop\": %s, \"lives\": \"%s\", \"bytes\": %lld}", v->op, v->rows, v->cols, v->in_loop ? "true" : "false", v->lives, (long long)v->bytes);
    }
    fputs("]", f);
  }
  fputs("}", f);
}

/* Microseconds of g, its kernels under their own plans. */
static double planned_us(const mg_machine *m, const mg_graph *g) {
  double us = 0;
  mg_kernel_facts p;
  for (uint32_t i = 1; i < g->n_ops; i++) {
    if (g->ops[i].code != MG_OP_GRAPH) us += mg_library_us(g, &g->ops[i], m);
    else us += mg_kernel_facts_of(g, i, m, &p) ? p.cost.total_us : 1e6; /* as mg_predict_us has what is too large */
  }
  return us;
}

static void explain_graph(FILE *f, int json, const mg_machine *m, const mg_graph *g, const mg_cuda_kernel *k, const char *refused) {
  int number = 0;
  if (json) {
    fputs("{\"program\": ", f);
    json_string(f, g->name);
    fprintf(f, ", \"machine\": \"%s\", \"arch\": \"%s\", \"source\": ", m->name, m->arch);
    json_string(f, m->source);
    fprintf(f, ", \"predicted_us\": %.4f, \"refused\": ", planned_us(m, g));
    if (refused) json_string(f, refused);
    else fputs("null", f);
    fputs(", \"parts\": [", f);
  } else {
    fprintf(f, "program %s on %s (%s; its rates: %s): %.2f us by the model\n", g->name, m->name, m->arch, m->source, planned_us(m, g));
    if (refused) fprintf(f, "the emitter refuses it: %s\nwhat follows is the price of what would not be written\n", refused);
  }
  for (uint32_t i = 1; i < g->n_ops; i++) {
    const mg_op_node *o = &g->ops[i];
    const char *makes = g->tensors[o->out[0].id].name;
    mg_kernel_facts p;
    if (json) fputs(i > 1 ? ", " : "", f);
    if (o->code != MG_OP_GRAPH) {
      if (json) fprintf(f, "{\"library\": \"%s\", \"makes\": \"%s\", \"us\": {\"total\": %.4f}}", mg_op_row(o->code)->name, makes, mg_library_us(g, o, m));
      else fprintf(f, "\n%s, makes %s: a library kernel over whole tensors, %.2f us by the model\n", mg_op_row(o->code)->name, makes, mg_library_us(g, o, m));
      continue;
    }
    if (!mg_kernel_facts_of(g, i, m, &p)) {
      if (json) fprintf(f, "{\"kernel\": %d, \"makes\": \"%s\", \"too_large\": true}", number, makes);
      else fprintf(f, "\nkernel %d, makes %s: too large for the model\n", number, makes);
    } else if (json) explain_kernel_json(f, number, makes, &p, k ? &k[number] : NULL);
    else explain_kernel(f, m, number, makes, &p, k ? &k[number] : NULL);
    number++;
  }
  fputs(json ? "]}\n" : "", f);
}

static int do_explain(const options *o) {
  mg_error e;
  mg_graph *g = NULL, *flat = NULL;
  mg_cuda_kernel *k = NULL;
  mg_machine m;
  int n = 0, code = 0;
  size_t size;
  if (!mg_machine_for(o->arch, &m)) {
    char known[MG_MACHINE_LIST];
    mg_fail(&e, MG_BAD_INPUT, "explain", "'%.40s' is no GPU or architecture of the table: %s", o->arch, mg_machine_list(0, known));
    return report(MG_BAD_INPUT, &e);
  }
  char *text = read_all(o->file[0], &size, &code);
  if (!text) return code;
  mg_status s = mg_parse(text, size, o->file[0], NULL, &g, &e);
  if (s == MG_OK && mg_has_threads(g)) s = mg_inline_threads(g, &flat, &e); /* the model and the emitter see them so */
  if (s == MG_OK) {
    const mg_graph *of = flat ? flat : g;
    s = mg_cuda_facts(of, o->arch ? o->arch : m.arch, &k, &n, &e);
    if (s == MG_OK || s == MG_UNSUPPORTED) {
      explain_graph(stdout, o->json, &m, of, k, s == MG_OK ? NULL : e.msg);
      s = MG_OK;
    }
  }
  if (s != MG_OK) code = report(s, &e);
  mg_cuda_facts_free(k, n);
  mg_graph_free(flat);
  mg_graph_free(g);
  free(text);
  return code ? code : ferror(stdout) || fflush(stdout) ? 4 : 0;
}
