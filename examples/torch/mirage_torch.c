/* libmirage.so: what Python calls through ctypes.  The package's setup.py compiles it, without a GPU and without nvcc:
   gcc -std=c11 -O2 -shared -fPIC -fvisibility=hidden -I../.. mirage_torch.c -o libmirage.so -lm -lpthread -ldl
   -include myops.h before it adds rows of one's own to the operator table, as for the tool.

   Each call returns an mg_status, 0 being OK, and puts what failed into err.  Strings are freed by mt_string_free.  The
   command line tool is in it whole (mt_tool), as what it says of verdicts and what it refuses to rank first is said here
   by the same functions.  Distinct handles are independent; one may be evaluated and launched by several threads at once,
   an emulated one by one at a time.  mt_tool is for one thread. */
#define MIRAGE_TOOL_WITHIN 1
#define main mt_tool_main
#include "../mirage.c"
#undef main

#define MT_API __attribute__((visibility("default")))
static_assert(MG_MAX_IN == 64 && MG_MAX_OUT == 8, "library.py has these numbers");
static_assert(MG_MAX_RANK == 5 && MG_MAX_SYMBOLS == 8, "library.py has these numbers");

/* A program: as written, or what a search found for it, by ranges of its symbols. */
typedef struct mt_graphs {
  mg_graph *program; /* as written */
  mg_graph *range[MG_MAX_RANGES];
  int n;
  mg_verify_report report[MG_MAX_RANGES];
  double predicted_us[MG_MAX_RANGES], written_us;
  int certified[MG_MAX_RANGES], cached, complete;
  double seconds;
  char safety[MG_MAX_RANGES][400];
  int unsafe[MG_MAX_RANGES]; /* 1: it is known not to be as safe as written */
} mt_graphs;

typedef struct mt_options {
  const char *machine; /* a name or an architecture of the table; NULL: its first row */
  const char *cache;   /* a directory, made if it is not there, or NULL: results are kept there as by `mirage search --cache` */
  double time_limit;   /* seconds for the search, and as many for the certificate */
  int threads;
  uint64_t seed;
  volatile int *stop;  /* set to end the search with its best; may be NULL */
  int settle;          /* 1: what bounds leave open of numerics is settled by runs of the emitted kernels, by g++ */
  void (*progress)(void *user, const char *line);
  void *user;
} mt_options;

static int mt_failed(mg_status s, const mg_error *e, char *err, size_t n) {
  if (s != MG_OK && n) snprintf(err, n, "%s%s%s", e->where, *e->where ? ": " : "", *e->msg ? e->msg : mg_status_text(s));
  return (int)s;
}
MT_API int mt_version(void) { return MG_VERSION; }
/* Signals are the process's own again behind it. */
MT_API int mt_tool(int argc, char **argv) {
  struct sigaction on_int, on_term;
  interrupted = 0;
  sigaction(SIGINT, NULL, &on_int), sigaction(SIGTERM, NULL, &on_term);
  const int code = mt_tool_main(argc, argv);
  sigaction(SIGINT, &on_int, NULL), sigaction(SIGTERM, &on_term, NULL);
  fflush(stdout);
  return code;
}
MT_API void mt_string_free(char *s) { mg_string_free(s); }
MT_API int mt_exit_code(int status) { return mg_exit_code((mg_status)status); }
/* 1 if the table of machines has a row of that name or architecture; and the operator table one of that name: a user's rows, too. */
MT_API int mt_has_machine(const char *name) { return mg_machine_find(name) != NULL; }
MT_API int mt_has_operator(const char *name) { return mg_op_find(name, strlen(name)) != MG_OP_NONE; }

MT_API void mt_free(mt_graphs *p) {
  if (!p) return;
  while (p->n > 0) mg_graph_free(p->range[--p->n]);
  mg_graph_free(p->program);
  free(p);
}

/* Parses a program without kernels; its one range is the program itself until a search finds others. */
MT_API int mt_parse(const char *text, mt_graphs **out, char *err, size_t n) {
  mg_error e;
  memset(&e, 0, sizeof e);
  *out = NULL;
  mt_graphs *p = (mt_graphs *)calloc(1, sizeof *p);
  if (!p) return mt_failed(mg_fail(&e, MG_NO_MEMORY, "parse", "no memory for a program"), &e, err, n);
  mg_status s = mg_parse(text, strlen(text), "program", NULL, &p->program, &e);
  if (s == MG_OK && !mg_is_program(p->program)) s = mg_fail(&e, MG_BAD_INPUT, p->program->name, "expected a program without kernels, found a µGraph");
  if (s == MG_OK) s = mg_parse(text, strlen(text), "program", NULL, &p->range[0], &e);
  p->n = s == MG_OK;
  if (s == MG_OK) p->predicted_us[0] = p->written_us = mg_predict_us(p->program, mg_machine_at(0));
  if (s != MG_OK) mt_free(p);
  else *out = p;
  return mt_failed(s, &e, err, n);
}

typedef struct mt_hooks { const char *arch; const mt_options *o; } mt_hooks;
static mg_status mt_may_emit(void *user, const mg_graph *g, mg_error *why) { return mg_cuda_emittable(g, ((mt_hooks *)user)->arch, why); }
static int mt_on_wary(void *user, const mg_graph *g) {
  char name[65];
  return overflows(g, ((mt_hooks *)user)->arch, name, sizeof name);
}
static void mt_on_progress(void *user, const mg_search_stats *s) {
  const mt_options *o = ((mt_hooks *)user)->o;
  char line[200];
  int k = snprintf(line, sizeof line, "%.1f s: frame %llu of %llu, %llu states", s->seconds, (unsigned long long)s->frames, (unsigned long long)s->frames_begun, (unsigned long long)s->states);
  if (s->predicted_us > 0) snprintf(line + k, sizeof line - (size_t)k, ", best %.2f us (model)", s->predicted_us);
  o->progress(o->user, line);
}
static void mt_take(mt_graphs *p, mg_graph *g, const mg_verify_report *r, double us) {
  p->range[p->n] = g;
  p->report[p->n] = *r;
  p->certified[p->n] = r->verdict == MG_EQUAL;
  p->predicted_us[p->n++] = us;
}
static void mt_let_go(mt_graphs *p) {
  while (p->n > 0) mg_graph_free(p->range[--p->n]);
}
/* The program within the bounds of a range: what its certificate is about.  The caller's. */
static mg_status mt_written(const mt_graphs *p, const mg_graph *range, mg_graph **out, mg_error *e) {
  char *text = NULL;
  mg_status s = mg_print(p->program, &text, e);
  if (s == MG_OK) s = mg_parse(text, strlen(text), "program", NULL, out, e);
  mg_string_free(text);
  return s == MG_OK ? within_bounds_of(range, out, e) : s;
}
/* Are they as safe as written?  By bounds; what these leave open runs have settled in the search, with o->settle. */
static void mt_judge(mt_graphs *p) {
  for (int k = 0; k < p->n; k++) {
    mg_safety_report r;
    mg_graph *own = NULL;
    mg_error why;
    p->unsafe[k] = 0;
    if (mt_written(p, p->range[k], &own, &why) == MG_OK && mg_safety_of(own, p->range[k], NULL, &r, &why) == MG_OK) {
      p->unsafe[k] = r.verdict == MG_UNSAFE;
      snprintf(p->safety[k], sizeof p->safety[k], r.value[0] ? "%s: value %s (%s)" : r.why[0] ? "%s: %s%s" : "%s%s%s", mg_safety_name(r.verdict), r.value, r.why);
    }
    mg_graph_free(own);
  }
}

/* Searches; what is found takes the place of p's ranges.  On an error they stay as they are. */
MT_API int mt_search(mt_graphs *p, const mt_options *o, char *err, size_t n) {
  mg_error e;
  mt_hooks hooks;
  mg_search_config c = mg_search_config_default();
  mg_verify_config v = mg_verify_config_default();
  memset(&e, 0, sizeof e);
  c.machine = o->machine ? mg_machine_find(o->machine) : mg_machine_at(0);
  if (!c.machine) return mt_failed(mg_fail(&e, MG_BAD_INPUT, "search", "'%.40s' is no GPU or architecture of the table", o->machine), &e, err, n);
  if (o->cache && mkdir(o->cache, 0777) && errno != EEXIST)
    return mt_failed(mg_fail(&e, MG_MACHINE, o->cache, "%s", strerror(errno)), &e, err, n);
  hooks.arch = c.machine->arch, hooks.o = o;
  c.user = &hooks, c.emittable = mt_may_emit, c.wary = mt_on_wary;
  c.cache = o->cache, c.threads = v.threads = o->threads, c.time_limit_s = v.time_limit_s = o->time_limit, c.stop = o->stop, v.stop = o->stop;
  if (o->settle) c.settle = mg_cuda_settle, c.settle_user = (void *)(uintptr_t)hooks.arch;
  if (o->seed) c.seed = v.seed = o->seed;
  if (o->progress) c.progress = mt_on_progress;
  p->written_us = mg_predict_us(p->program, c.machine);
  const double started = now();
  mg_status s;
  if (p->program->n_symbols) {
    mg_family_result r;
    char name[80];
    s = mg_search_family(p->program, &c, &v, &r, &e);
    if (s == MG_OK) {
      mt_let_go(p);
      p->complete = r.complete;
      for (int k = 0; k < r.n; k++) {
        snprintf(name, sizeof name, "%.60s_%d", p->program->name, k + 1);
        if (s == MG_OK && r.n > 1) s = mg_rename(r.range[k].graph, name, &e);
        mt_take(p, r.range[k].graph, &r.range[k].report, r.range[k].predicted_us[1]);
        r.range[k].graph = NULL;
      }
      mg_family_result_free(&r);
    }
  } else {
    mg_search_result r;
    int undecided = 0;
    char why[256] = "";
    memset(&r, 0, sizeof r);
    s = mg_search(p->program, &c, &r, &e);
    if (s == MG_OK) s = mg_search_certify(p->program, &c, &v, 1, &r, &undecided, why, &e);
    if (s == MG_OK && !r.n) s = mg_fail(&e, MG_NOT_FOUND, p->program->name, "nothing was found");
    if (s == MG_OK) {
      mt_let_go(p);
      p->complete = r.stats.complete, p->cached = r.stats.cached;
      mt_take(p, r.graph[0], &r.report[0], r.predicted_us[0]);
      r.graph[0] = NULL;
    }
    mg_search_result_free(&r);
  }
  if (s == MG_OK) mt_judge(p);
  p->seconds = now() - started;
  return mt_failed(s, &e, err, n);
}

/* What another search found for this program, by its certificates, a range each: checked again, each from its text.  They take the
   place of p's ranges.  On an error these stay as they are. */
MT_API int mt_take_found(mt_graphs *p, const char *const *certificate, int n_ranges, int complete, const char *gpu, char *err, size_t n) {
  mg_error e;
  mt_graphs taken;
  memset(&e, 0, sizeof e), memset(&taken, 0, sizeof taken);
  const double started = now();
  const mg_machine *machine = gpu ? mg_machine_find(gpu) : mg_machine_at(0);
  mg_status s = MG_OK;
  if (!machine || n_ranges < 1 || n_ranges > MG_MAX_RANGES) s = mg_fail(&e, MG_BAD_INPUT, "certificates", "expected 1 to %d, of a GPU of the table", MG_MAX_RANGES);
  for (int k = 0; k < n_ranges && s == MG_OK; k++) {
    const size_t length = strlen(certificate[k]);
    mg_graph *a = NULL, *b = NULL, *own = NULL;
    mg_verify_report r;
    s = mg_certificate_recheck(certificate[k], length, NULL, &r, &e);
    if (s == MG_OK) s = mg_certificate_graphs(certificate[k], length, &a, &b, &e);
    r.fresh_tests = 0; /* what is said of it, and so the emitted text, is what its certificate says */
    if (s == MG_OK) mt_take(&taken, b, &r, mg_predict_us(b, machine));
    if (s == MG_OK) s = mg_cuda_emittable(b, machine->arch, &e);
    if (s == MG_OK) s = mt_written(p, b, &own, &e);
    if (s == MG_OK && !mg_graph_equal(own, a)) s = mg_fail(&e, MG_BAD_INPUT, "certificates", "range %d is of another program", k + 1);
    mg_graph_free(a), mg_graph_free(own);
  }
  if (s == MG_OK && p->program->n_symbols) s = covered(p->program, taken.range, taken.n, &e);
  if (s != MG_OK) {
    mt_let_go(&taken);
    return mt_failed(s, &e, err, n);
  }
  mt_let_go(p);
  for (int k = 0; k < taken.n; k++) mt_take(p, taken.range[k], &taken.report[k], taken.predicted_us[k]);
  p->written_us = mg_predict_us(p->program, machine), p->complete = complete, p->cached = 1;
  mt_judge(p);
  p->seconds = now() - started;
  return (int)MG_OK;
}

/* What is known of it. */
MT_API int mt_ranges(const mt_graphs *p) { return p->n; }
MT_API const char *mt_verdict(const mt_graphs *p, int k) { return p->certified[k] ? mg_verdict_name(p->report[k].verdict) : "AS WRITTEN"; }
MT_API double mt_log2_delta(const mt_graphs *p, int k) { return p->report[k].log2_delta; }
MT_API const char *mt_reason(const mt_graphs *p, int k) { return p->report[k].reason; }
MT_API const char *mt_safety(const mt_graphs *p, int k) { return p->safety[k]; }
MT_API int mt_unsafe(const mt_graphs *p, int k) { return p->unsafe[k]; }
MT_API double mt_predicted_us(const mt_graphs *p, int k) { return p->predicted_us[k]; }
MT_API double mt_written_us(const mt_graphs *p) { return p->written_us; }
MT_API double mt_seconds(const mt_graphs *p) { return p->seconds; }
MT_API int mt_complete(const mt_graphs *p) { return p->complete; }
MT_API int mt_cached(const mt_graphs *p) { return p->cached; }
MT_API int mt_kernels(const mt_graphs *p, int k) { return mg_kernels(p->range[k]); }
MT_API int mt_inputs(const mt_graphs *p) { return (int)p->program->n_in; }
MT_API int mt_outputs(const mt_graphs *p) { return (int)p->program->n_out; }
/* 1 if nobody passes input k: a causal mask. */
MT_API int mt_filled(const mt_graphs *p, int k) { return mg_tensor_of(p->program, p->program->in[k])->fill != MG_FILL_NONE; }
MT_API const char *mt_input_type(const mt_graphs *p, int k) { return mg_dtype_name(mg_tensor_of(p->program, p->program->in[k])->dtype); }
MT_API const char *mt_output_type(const mt_graphs *p, int k) { return mg_dtype_name(mg_tensor_of(p->program, p->program->out[k])->dtype); }
MT_API const char *mt_input_name(const mt_graphs *p, int k) { return mg_tensor_of(p->program, p->program->in[k])->name; }
MT_API int mt_symbols(const mt_graphs *p) { return (int)p->program->n_symbols; }
/* bounds[2 * k], bounds[2 * k + 1]: of symbol k, what a launch takes. */
MT_API void mt_bounds(const mt_graphs *p, int64_t *bounds) {
  for (uint32_t k = 0; k < p->program->n_symbols; k++) bounds[2 * k] = p->program->symbol[k].least, bounds[2 * k + 1] = p->program->symbol[k].last;
}
MT_API const char *mt_symbol_name(const mt_graphs *p, int k) { return p->program->symbol[k].name; }
/* The values of contracted symbols that alone the certificate for these sizes is about, as mg_verify_report's `at`; "": all. */
MT_API const char *mt_certified_at(const mt_graphs *p, const int64_t *sym) {
  const int k = p->program->n_symbols ? mg_range_of((const mg_graph *const *)p->range, p->n, sym) : 0;
  return p->certified[k] && p->report[k].values ? p->report[k].at : "";
}
/* The symbol that dimension d of input k is, counted from 0; -1: it is none. */
MT_API int mt_input_symbol(const mt_graphs *p, int k, int d) {
  const int at = p->program->in_symbol[k][d];
  return at && at <= (int)p->program->n_symbols ? at - 1 : -1;
}
/* Inputs: 1 if dense in the order of its dimensions; order[] is that order. */
MT_API int mt_input_order(const mt_graphs *p, int k, int32_t *order) {
  const mg_tensor_info *t = mg_tensor_of(p->program, p->program->in[k]);
  int plain = 1;
  for (int d = 0; d < t->shape.rank; d++) order[d] = t->order[d], plain &= t->order[d] == d;
  return plain;
}
/* The rank of input or output k at these sizes, and its extents. */
static int mt_shape(const mt_graphs *p, const int64_t *sym, int out, int k, int64_t dim[MG_MAX_RANK], int *rank, char *err, size_t n) {
  mg_error e;
  mg_graph *member = NULL;
  const mg_graph *g = p->program;
  mg_status s = MG_OK;
  memset(&e, 0, sizeof e);
  if (g->n_symbols && (s = mg_at(g, sym, &member, &e)) == MG_OK) g = member;
  if (s == MG_OK) {
    const mg_shape *shape = &mg_tensor_of(g, out ? g->out[k] : g->in[k])->shape;
    *rank = shape->rank;
    memcpy(dim, shape->dim, sizeof shape->dim);
  }
  mg_graph_free(member);
  return mt_failed(s, &e, err, n);
}
MT_API int mt_input_shape(const mt_graphs *p, const int64_t *sym, int k, int64_t dim[MG_MAX_RANK], int *rank, char *err, size_t n) {
  return mt_shape(p, sym, 0, k, dim, rank, err, n);
}
MT_API int mt_output_shape(const mt_graphs *p, const int64_t *sym, int k, int64_t dim[MG_MAX_RANK], int *rank, char *err, size_t n) {
  return mt_shape(p, sym, 1, k, dim, rank, err, n);
}

/* The text of the program as written (k < 0), or of range k with the lines that speak of its verdict. */
MT_API int mt_text(const mt_graphs *p, int k, char **out, char *err, size_t n) {
  mg_error e;
  char lines[4096] = "", *text = NULL;
  mg_graph *own = NULL;
  memset(&e, 0, sizeof e);
  *out = NULL;
  mg_status s = mg_print(k < 0 ? p->program : p->range[k], &text, &e);
  if (s == MG_OK && k >= 0 && p->certified[k]) s = mt_written(p, p->range[k], &own, &e);
  if (own) verdict_lines(lines, sizeof lines, &p->report[k], own, p->range[k]);
  joined all = {NULL, 0};
  if (s == MG_OK && !put_text(&all, lines, text)) s = mg_fail(&e, MG_NO_MEMORY, "text", "no memory for it");
  mg_string_free(text), mg_graph_free(own);
  if (s == MG_OK) *out = all.s; /* both come from malloc */
  return mt_failed(s, &e, err, n);
}
MT_API int mt_certificate(const mt_graphs *p, int k, char **out, char *err, size_t n) {
  mg_error e;
  mg_graph *own = NULL;
  memset(&e, 0, sizeof e);
  *out = NULL;
  mg_status s = p->certified[k] ? mt_written(p, p->range[k], &own, &e) : mg_fail(&e, MG_UNSUPPORTED, "certificate", "the program stands as written: nothing was searched");
  if (s == MG_OK) s = mg_certificate(own, p->range[k], &p->report[k], out, &e);
  mg_graph_free(own);
  return mt_failed(s, &e, err, n);
}
/* Checks a certificate from its text alone, with tests that are new. */
MT_API int mt_recheck(const char *text, char *verdict, size_t room, char *err, size_t n) {
  mg_error e;
  mg_verify_report r;
  memset(&e, 0, sizeof e), memset(&r, 0, sizeof r);
  const mg_status s = mg_certificate_recheck(text, strlen(text), NULL, &r, &e);
  if (s == MG_OK) snprintf(verdict, room, "%s", mg_verdict_name(r.verdict));
  return mt_failed(s, &e, err, n);
}

/* What p holds for these sizes, and its inputs with those filled in that nobody passes; mt_given_free frees. */
typedef struct mt_given {
  mg_graph *member;
  const mg_graph *g;
  const void *in[MG_MAX_IN];
  double *filled[MG_MAX_IN];
} mt_given;
static mg_status mt_give(const mt_graphs *p, const int64_t *sym, const void *const *in, mt_given *to, mg_error *e) {
  mg_status s = MG_OK;
  memset(e, 0, sizeof *e), memset(to, 0, sizeof *to);
  to->g = p->range[0];
  if (to->g->n_symbols) {
    s = mg_at(p->range[mg_range_of((const mg_graph *const *)p->range, p->n, sym)], sym, &to->member, e);
    to->g = to->member;
  }
  for (uint32_t k = 0; s == MG_OK && k < to->g->n_in; k++) {
    const mg_tensor_info *t = mg_tensor_of(to->g, to->g->in[k]);
    to->in[k] = in[k];
    if (t->fill == MG_FILL_NONE) continue;
    const int64_t count = mg_shape_elements(&t->shape);
    to->in[k] = to->filled[k] = count > 0 ? (double *)calloc((size_t)count, sizeof *to->filled[k]) : NULL;
    if (!to->filled[k]) s = mg_fail(e, MG_NO_MEMORY, to->g->name, "no memory for a mask of %lld elements", (long long)count);
    for (int64_t j = 0; to->filled[k] && j < count; j++) to->filled[k][j] = (double)mg_filled(t, j);
  }
  return s;
}
static void mt_given_free(mt_given *given) {
  for (int k = 0; k < MG_MAX_IN; k++) free(given->filled[k]);
  mg_graph_free(given->member);
}
/* Evaluates it over float64.  in and out: dense, row-major; of i32 int32_t, else double; the place of an input that nobody
   passes is not looked at. */
MT_API int mt_eval(const mt_graphs *p, const int64_t *sym, const void *const *in, void *const *out, char *err, size_t n) {
  mg_error e;
  mt_given given;
  const mg_domain d = mg_domain_real();
  mg_status s = mt_give(p, sym, in, &given, &e);
  if (s == MG_OK) s = mg_eval(given.g, &d, given.in, out, &e);
  mt_given_free(&given);
  return mt_failed(s, &e, err, n);
}

/* ---- CUDA: the emitted text, its compilation by nvcc or NVRTC, its launch */

static const char *mt_entry(const mt_graphs *p, char name[120], mg_error *e) {
  if (p->n == 1) return p->range[0]->name;
  return mg_ranges_name((const mg_graph *const *)p->range, p->n, name, e) == MG_OK ? name : NULL;
}
MT_API int mt_emit(const mt_graphs *p, const char *arch, char **out, char *err, size_t n) {
  mg_error e;
  mg_emit_config c;
  char *said[MG_MAX_RANGES] = {NULL}, *text = NULL;
  memset(&e, 0, sizeof e), memset(&c, 0, sizeof c);
  *out = NULL;
  c.arch = arch;
  mg_status s = MG_OK;
  for (int k = 0; k < p->n && s == MG_OK; k++)
    if (mt_text(p, k, &text, err, n) == (int)MG_OK) said[k] = known_verdict(text, p->range[k]), mg_string_free(text);
  s = mg_cuda_emit_ranges((const mg_graph *const *)p->range, p->n, &c, (const char *const *)said, out, &e);
  for (int k = 0; k < p->n; k++) free(said[k]);
  return mt_failed(s, &e, err, n);
}
/* The shared object of an emitted text, in the tool's cache; path has room for MG_SO_PATH bytes. */
MT_API int mt_compile(const char *cu, const char *arch, const char *include_dir, char *path, char *err, size_t n) {
  mg_error e;
  mg_compile_config c;
  memset(&e, 0, sizeof e), memset(&c, 0, sizeof c);
  c.arch = arch, c.include_dir = include_dir;
  return mt_failed(mg_cuda_compile(cu, &c, path, MG_SO_PATH, &e), &e, err, n);
}

/* Link 2 of the emitted text: compiled by g++ for the CPU, run thread by thread, a minute of two cores at most.  said: what it says of
   a text that holds; on an error err has what differs, or why that is not decided. */
MT_API int mt_check(const mt_graphs *p, const char *cu, const char *include_dir, char *said, size_t room, char *err, size_t n) {
  mg_error e;
  mg_check_config c;
  mg_check_report r;
  memset(&e, 0, sizeof e), memset(&c, 0, sizeof c), memset(&r, 0, sizeof r);
  c.include_dir = include_dir;
  const mg_status s = mg_cuda_check(p->n == 1 ? p->range[0] : NULL, cu, &c, &r, &e);
  if (s == MG_NOT_FOUND) snprintf(err, n, "link 2: DIFFERS: %s", r.difference);
  if (s == MG_NOT_FOUND) return (int)s;
  if (s == MG_OK)
    snprintf(said, room, "SAME over %d field%s, %llu elements compared%s%s", r.fields, r.fields == 1 ? "" : "s", (unsigned long long)r.compared,
             r.exp_opaque ? ", exp uninterpreted" : "", r.products ? "; products of cuBLAS are not seen" : "");
  return mt_failed(s, &e, err, n);
}

/* The emitted text compiled for the CPU, to be run there thread by thread; and such a run, of arrays as mt_eval takes them. */
MT_API int mt_emulate(const mt_graphs *p, const char *cu, const char *include_dir, mg_emulated **out, char *err, size_t n) {
  mg_error e;
  mg_check_config c;
  char own[120];
  memset(&e, 0, sizeof e), memset(&c, 0, sizeof c);
  *out = NULL;
  c.include_dir = include_dir, c.jobs = 1;
  const char *entry = mt_entry(p, own, &e);
  return mt_failed(entry ? mg_cuda_emulate(&cu, &entry, 1, &c, out, &e) : e.status, &e, err, n);
}
MT_API void mt_emulated_free(mg_emulated *m) { mg_emulated_free(m); }
MT_API int mt_emulated_run(mg_emulated *m, const mt_graphs *p, const int64_t *sym, const void *const *in, void *const *out, char *err, size_t n) {
  mg_error e;
  mt_given given;
  mg_status s = mt_give(p, sym, in, &given, &e);
  if (s == MG_OK) s = mg_emulated_launch(m, 0, given.g, p->program->n_symbols ? sym : NULL, given.in, out, &e);
  mt_given_free(&given);
  return mt_failed(s, &e, err, n);
}

typedef struct mt_kernel {
  void *so;
  int inputs, outputs, symbols;
  union { void *raw; int (*plain)(const void *const *, void *const *, void *, void *); int (*sized)(const void *const *, void *const *, void *, const int64_t *, void *); } launch;
  const char *(*error)(int);
} mt_kernel;
/* Its code stays loaded: a CUDA graph may have captured it. */
MT_API void mt_kernel_free(mt_kernel *k) { free(k); }
MT_API int mt_load(const mt_graphs *p, const char *path, mt_kernel **out, size_t *workspace, char *err, size_t n) {
  mg_error e;
  char name[160], own[120];
  size_t (*bytes)(void) = NULL;
  memset(&e, 0, sizeof e);
  *out = NULL;
  const char *entry = mt_entry(p, own, &e);
  if (!entry) return mt_failed(e.status, &e, err, n);
  mt_kernel *k = (mt_kernel *)calloc(1, sizeof *k);
  mg_status s = k ? MG_OK : mg_fail(&e, MG_NO_MEMORY, "load", "no memory for a kernel");
  if (s == MG_OK && !(k->so = dlopen(path, RTLD_NOW | RTLD_LOCAL))) s = mg_fail(&e, MG_MACHINE, path, "cannot load it: %.180s", dlerror());
  if (s == MG_OK) {
    snprintf(name, sizeof name, "%s_launch", entry);
    k->launch.raw = dlsym(k->so, name);
    snprintf(name, sizeof name, "%s_workspace_bytes", entry);
    *(void **)&bytes = dlsym(k->so, name);
    *(void **)&k->error = dlsym(k->so, "cudaGetErrorString");
    if (!k->launch.raw || !bytes) s = mg_fail(&e, MG_BAD_INPUT, path, "expected the entry points of %.80s", entry);
  }
  if (s == MG_OK) {
    k->inputs = (int)p->program->n_in, k->outputs = (int)p->program->n_out, k->symbols = (int)p->program->n_symbols;
    *workspace = bytes();
    *out = k;
  } else mt_kernel_free(k);
  return mt_failed(s, &e, err, n);
}
/* given, in one array, so that a call costs Python little: the workspace, zeroed once by the caller; a stream (a
   cudaStream_t; NULL: the default one) of the current device; the inputs; the outputs; the sizes, as int64_t.  A CUDA
   error's code, or 0. */
static_assert(sizeof(void *) == sizeof(int64_t), "sizes stand behind pointers in one array");
MT_API int mt_launch(const mt_kernel *k, void *const *given) {
  const void *const *in = (const void *const *)(given + 2);
  void *const *out = given + 2 + k->inputs;
  if (!k->symbols) return k->launch.plain(in, out, given[0], given[1]);
  return k->launch.sized(in, out, given[0], (const int64_t *)(out + k->outputs), given[1]);
}
/* What mt_launch's code says. */
MT_API int mt_launch_error(const mt_kernel *k, int code, char *err, size_t n) {
  mg_error e;
  memset(&e, 0, sizeof e);
  return mt_failed(mg_fail(&e, MG_MACHINE, "launch", "CUDA error %d%s%.150s", code, k->error ? ": " : "", k->error ? k->error(code) : ""), &e, err, n);
}
