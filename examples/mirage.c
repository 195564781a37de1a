/* The command line tool over the six headers.  Run from the repository's top directory:
   gcc  -std=c11 -O2 -I. examples/mirage.c -o build/mirage -lm -lpthread -ldl
   nvcc -O2 -I. examples/mirage.c -o build/mirage -lpthread -ldl
   `import` (examples/import.c) takes cJSON besides: -DMIRAGE_CJSON -lcjson.
   `build/mirage help` says what it does.  The GPU's part (run) is compiled by nvcc when it is asked for. */
#define _DEFAULT_SOURCE /* mkdtemp, setenv */
#define MIRAGE_IMPLEMENTATION
#include "mirage.h"
#include "mirage_verify.h"
#include "mirage_plan.h"
#include "mirage_search.h"
#include "mirage_cuda.cuh"
#include "mirage_model.h"
#include "import.c"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: mirage print FILE                       parse, check, lower, print\n"
    "       mirage dot FILE                         Graphviz of all levels\n"
    "       mirage search FILE [-o DIR]             best µGraph to stdout; DIR gets 00.mg, 01.mg .. by rank, 00.cert\n"
    "                                               (of a program with a symbol 00.mg and, by range, 00.1.cert ..)\n"
    "              [--arch sm_90a] [--machine H200|FILE]   an H200 without it; FILE: a machine as calibrate writes it\n"
    "              [--threads N] [--max-kernel-ops N]   2; any: the best for each number of up to 5 kernels\n"
    "              [--max-block-ops N]              11, of tilings 40: loads, stores and unary elementwise operators not counted\n"
    "              [--time-limit S|none]            S seconds, 60 without it; its certificate may end S / 10 + 10 later\n"
    "              [--no-prune] [--seed N] [--stats FILE.json] [--top K] [--delta D] [--max-loops N]\n"
    "                                               seed 1, the 8 best, 2^-64, 1 loop after another\n"
    "              [--no-measure]                   ranked by the model, not by their times on the GPU that is here\n"
    "              [--unsafe]                       what is not as safe as written in floating point may come first, unrepaired\n"
    "              [--batch-invariant]              a row's bits depend on no size and no other row: no library's products, and\n"
    "                                               of a program with a symbol one range\n"
    "              [--checkpoint FILE]              finished parts are kept there; the same search goes on from it\n"
    "              [--cache DIR]                    finished results are kept there; the same search verifies and takes them\n"
    "              [--allow-sampled]                also what agrees in tests of a maximum without a proof, behind all that is\n"
    "                                               EQUAL: it may be wrong; the status is 2\n"
    "              [--numerics]                     says whether the result is as safe as the program is written, by runs\n"
    "              [--sym n=37]                     of a program with the symbol n: at that size alone, as in all commands\n"
    "       mirage verify A B [--delta 2^-64] [--seed N] [--threads N] [--certificate FILE] [--time-limit S]\n"
    "              [--prove | --no-prove]           the solver: always, or never; else where the field tests do not decide\n"
    "              [--full]                         all elements at the sizes as written, and no word of others; else for all\n"
    "                                               extents of the dimensions that are parallel in both\n"
    "              [--allow-sampled]                no complaint where tests agree, but no proof is found: the status is 2 all the same\n"
    "       mirage verify FILE.cert [A B]           checks a certificate again, from its text alone; and that it is of A and B\n"
    "       mirage emit FILE [--arch sm_90a] [--machine H200|FILE] [-o OUT.cu]\n"
    "       mirage explain FILE [--machine H200|FILE] [--json] [--no-measure] [--svg FILE [--program P.mg]]\n"
    "                                               what each kernel is: where values live, what its time is made of,\n"
    "                                               what bounds it; or why the emitter refuses it (status 2); and the time\n"
    "                                               of all on the GPU that is here, its numbers checked, where it runs;\n"
    "                                               --svg: as a picture, with P and FILE drawn where Graphviz is installed\n"
    "       mirage check FILE [--arch sm_90a] [--machine H200|FILE] [--seed N] [--time-limit S]\n"
    "                                               a .mg or an emitted .cu on the CPU: over finite fields and floats,\n"
    "                                               S seconds (300) for its compilation, of processor time for each of these\n"
    "              [--numerics] [--program P.mg]    whether it is as safe as P is written (else as its own kernels), by runs\n"
    "              [--full]                         without the bound on its work, which leaves out what would take minutes\n"
    "       mirage run FILE [--arch sm_90a] [--machine H200|FILE] [--reps N] [--cold] [--seed N] [--stats FILE.json]     on a GPU\n"
    "       mirage run FILE FILE ..                 the same of several for one program, the first's values compared; no link 2\n"
    "              [--no-check] [--no-time]         without link 2 before it; without the times after it\n"
    "              [--sym n=37]                     of a program with the symbol n: its kernels for all n, launched with that one\n"
    "              [--numerics] [--program P.mg]    whether what the GPU computes is as safe as P is written, by the same families\n"
    "       mirage calibrate [-o FILE]              measures the GPU that is here, in at most 60 s: a machine for --machine\n"
    "       mirage import CHECKPOINT.json [-o DIR]  µGraphs that the public Mirage saved, to DIR/00.mg, 01.mg ..\n"
    "       mirage model print FILE                 a whole model (.mgm): parse, print\n"
    "       mirage model plan FILE                  its launches, and the memory of all that they make, for all sizes\n"
    "       mirage model eval FILE --sym n=2 [--sym ..] [--steps K] [--seed N]\n"
    "                                               K steps (1) in float64, weights, states and inputs at random; symbols of\n"
    "                                               the kind `device` grow by one a step; compared with a run in the plan's memory\n"
    "       mirage model run FILE --weights DIR|FILE [--weights ..]|--random SEED [--tokens 5,17,3] [--steps K] --sym n=1 [--sym ..]\n"
    "                                               K steps in float64 on the CPU, weights of safetensors files or at random;\n"
    "                                               the tokens are what its input of type i32 holds step after step, then what\n"
    "                                               its output of that type says; without them inputs are at random; symbols\n"
    "                                               of the kind `device` grow by the tokens of a sequence a step\n"
    "              [--gpu | --emulated] [-o DIR]    by the kernels of its pieces, as they are kept in DIR or as written, on the\n"
    "                                               GPU that is here, in a CUDA graph; or on a stand-in for it, emulated\n"
    "              [--time] [--reps N]              then the last step's median time of N (20) replays, next to the model's\n"
    "              [--svg FILE]                     its time line as a picture, with what bounds each piece; of search: by the model\n"
    "       mirage model search FILE [-o DIR]       cuts it into pieces, searches each distinct one, prints a table of them\n"
    "              [--sym n=2 ..]                   at these sizes alone; without: each as a family, for all sizes\n"
    "              [--time-limit S]                 for everything together; 300 without it; what timing takes is not of it\n"
    "              [--no-measure]                   ranked by the model, not by their times on the GPU that is here\n"
    "              [--arch, --machine, --threads, --seed, --cache as in search]  DIR: what is found is kept there, and taken again\n"
    "       mirage model verify FILE [-o DIR] [--sym ..] [--link2]\n"
    "                                               the chain of trust: of the pieces, as they are kept in DIR or as written, of\n"
    "                                               the cut, and of the whole; runs it in float64 in the plan's poisoned memory;\n"
    "                                               --link2: of each piece's file, too, as `check` does, a minute each at most\n"
    "              [--fold]                         in search, verify, emit, check, plan, and run on a device: gains of bf16 go\n"
    "                                               into the weights behind them, as these are loaded\n"
    "       mirage model emit FILE -o DIR [--sym ..] a .cu file of each distinct piece, as it is kept in DIR or as written, to DIR\n"
    "       mirage model check FILE --sym n=2 .. [-o DIR] [--steps K] [--seed N]\n"
    "                                               K steps by these files, compiled for the CPU and emulated, against float64;\n"
    "                                               link 2 of a file is not in it: check FILE.cu\n"
    "              [--gpu | --emulated]             the whole list of launches so, on a GPU, or on a stand-in for it\n"
    "       mirage help, mirage COMMAND --help      this; what is said here of one command\n"
    "exit:  0 done, equal; 1 nothing found, not equal; 2 unsupported, undecided, sampled only; 3 bad input; 4 a fault of the machine\n";

typedef struct options {
  const mg_machine *machine; /* of --machine: row.m; `arch` is its architecture then */
  mg_machine_file row;
  const char *out, *arch, *stats, *certificate, *checkpoint, *cache, *program, *tokens, *svg;
  int64_t threads, max_kernel_ops, max_block_ops, max_loops, top, reps, steps;
  int no_prune, cold, seeded, prove, no_prove, no_check, no_time, no_measure, allow_sampled, numerics, unsafe, json, full, help, no_limit, random, gpu, emulated, timed, link2, fold, batch_invariant;
  uint64_t seed;
  double time_limit, log2_delta;
  int n_syms;
  const char *sym[MG_MODEL_MAX_SYMBOLS]; /* "n=37" */
  int n_weights;
  const char *weights[8];
  int n_files;
  char **file;
} options;

enum { SEARCH_S = 60, MODEL_S = 300 }; /* the time limit of a search that is given none, of a program and of a model */
enum { TOP = 8, MOST_TOP = 100 };      /* results that are kept, if nobody says how many; at most */
enum { PAST_S = 3 };
/* For the certificate, though the search took all the time there was: without one nothing of what was found comes back. */
enum { CERTIFY_S = 10 };
enum { MODEL_TIMED = 3 }; /* of a model's pieces as many are timed at a size, and of others as many */
#define MODEL_WORK 2.2e10 /* what is expected of a candidate takes a processor some 20 s at most */
#define MODEL_LOSS 0.03   /* what a range of a piece may lose by these times: it runs in every layer of every step */

/* ---- errors: one line on standard error, the exit status back */

static int report(mg_status s, const mg_error *e) {
  char line[512];
  size_t n = (size_t)snprintf(line, sizeof line, "mirage: %s%s%s", e->where, *e->where ? ": " : "", *e->msg ? e->msg : mg_status_text(s));
  for (size_t k = 0; k < n && k < sizeof line && line[k]; k++)
    if (line[k] == '\n' || line[k] == '\r') line[k] = ' ';
  fprintf(stderr, "%s\n", line);
  return mg_exit_code(s);
}
static int fault(mg_status s, const char *where, const char *msg) {
  mg_error e;
  mg_fail(&e, s, where, "%s", msg);
  return report(s, &e);
}

/* ---- files */

static char *read_all(const char *path, size_t *n, int *code) {
  mg_error e;
  size_t cap = 1 << 16, len = 0;
  char *s = NULL, *p;
  FILE *f = fopen(path, "rb");
  if (!f) { mg_fail(&e, MG_BAD_INPUT, path, "cannot be opened: %s", strerror(errno)); *code = report(MG_BAD_INPUT, &e); return NULL; }
  for (;;) {
    p = (char *)realloc(s, cap + 1);
    if (!p) { free(s); fclose(f); *code = fault(MG_NO_MEMORY, path, "no memory for the file"); return NULL; }
    s = p;
    len += fread(s + len, 1, cap - len, f);
    if (len < cap) break;
    if (cap >= (size_t)64 << 20) { free(s); fclose(f); *code = fault(MG_BAD_INPUT, path, "the file has more than 64 MiB"); return NULL; }
    cap *= 2;
  }
  if (ferror(f)) { free(s); fclose(f); *code = fault(MG_BAD_INPUT, path, "the file cannot be read"); return NULL; }
  fclose(f);
  s[len] = 0;
  *n = len;
  return s;
}

/* path NULL: standard output */
/* 1 if the file's name says that it is an emitted one. */
static int is_emitted(const char *path) {
  const size_t n = strlen(path);
  return n > 3 && !strcmp(path + n - 3, ".cu");
}
static int write_all(const char *path, const char *head, const char *text) {
  FILE *f = path ? fopen(path, "wb") : stdout;
  mg_error e;
  if (f) {
    int bad = (head && fputs(head, f) < 0) || fputs(text, f) < 0;
    bad |= path ? fclose(f) != 0 : fflush(f) != 0;
    if (!bad) return 0;
  }
  mg_fail(&e, MG_MACHINE, path ? path : "standard output", "cannot be written: %s", strerror(errno));
  return report(MG_MACHINE, &e);
}

/* ---- arguments */

static int number(const char *s, int64_t least, int64_t most, int64_t *out, char range[64]) {
  char *end;
  if (most == INT64_MAX) snprintf(range, 64, "number from %lld to 2^63-1", (long long)least);
  else snprintf(range, 64, "number from %lld to %lld", (long long)least, (long long)most);
  errno = 0;
  long long v = strtoll(s, &end, 0);
  if (errno || end == s || *end || v < least || v > most) return 0;
  *out = v;
  return 1;
}
/* 2^-64, 2^-64.5, 1e-20, 0.001 */
static int parse_delta(const char *s, double *log2_delta) {
  char *end;
  double v = s[0] == '2' && s[1] == '^' ? strtod(s + 2, &end) : strtod(s, &end);
  if (end == s || *end) return 0;
  if (!(s[0] == '2' && s[1] == '^')) v = v > 0 ? log2(v) : 1;
  if (!(v < 0 && v >= -4096)) return 0;
  *log2_delta = v;
  return 1;
}

enum { O_ARCH = 256, O_FOLD, O_THREADS, O_KERNEL_OPS, O_BLOCK_OPS, O_TIME, O_NO_PRUNE, O_SEED, O_STATS, O_TOP, O_DELTA, O_CERT, O_REPS, O_COLD, O_PROVE, O_NO_PROVE, O_LOOPS, O_CHECKPOINT, O_CACHE, O_NO_CHECK, O_NO_TIME, O_NO_MEASURE, O_ALLOW_SAMPLED, O_NUMERICS, O_PROGRAM, O_UNSAFE, O_BATCH_INVARIANT, O_JSON, O_MACHINE, O_FULL, O_SYM, O_STEPS, O_WEIGHTS, O_RANDOM, O_TOKENS, O_GPU, O_EMULATED, O_TIMED, O_SVG, O_LINK2, O_HELP };
static const struct option long_options[] = {
    {"arch", required_argument, NULL, O_ARCH}, {"threads", required_argument, NULL, O_THREADS},
    {"max-kernel-ops", required_argument, NULL, O_KERNEL_OPS}, {"max-block-ops", required_argument, NULL, O_BLOCK_OPS},
    {"time-limit", required_argument, NULL, O_TIME}, {"no-prune", no_argument, NULL, O_NO_PRUNE},
    {"seed", required_argument, NULL, O_SEED}, {"stats", required_argument, NULL, O_STATS}, {"top", required_argument, NULL, O_TOP},
    {"delta", required_argument, NULL, O_DELTA}, {"certificate", required_argument, NULL, O_CERT},
    {"reps", required_argument, NULL, O_REPS}, {"cold", no_argument, NULL, O_COLD},
    {"max-loops", required_argument, NULL, O_LOOPS}, {"checkpoint", required_argument, NULL, O_CHECKPOINT}, {"cache", required_argument, NULL, O_CACHE},
    {"no-check", no_argument, NULL, O_NO_CHECK}, {"no-time", no_argument, NULL, O_NO_TIME},
    {"no-measure", no_argument, NULL, O_NO_MEASURE}, {"prove", no_argument, NULL, O_PROVE}, {"no-prove", no_argument, NULL, O_NO_PROVE},
    {"allow-sampled", no_argument, NULL, O_ALLOW_SAMPLED}, {"numerics", no_argument, NULL, O_NUMERICS}, {"unsafe", no_argument, NULL, O_UNSAFE}, {"batch-invariant", no_argument, NULL, O_BATCH_INVARIANT}, {"program", required_argument, NULL, O_PROGRAM},
    {"machine", required_argument, NULL, O_MACHINE}, {"json", no_argument, NULL, O_JSON},
    {"sym", required_argument, NULL, O_SYM}, {"steps", required_argument, NULL, O_STEPS}, {"weights", required_argument, NULL, O_WEIGHTS}, {"random", required_argument, NULL, O_RANDOM}, {"tokens", required_argument, NULL, O_TOKENS},
    {"gpu", no_argument, NULL, O_GPU}, {"emulated", no_argument, NULL, O_EMULATED}, {"time", no_argument, NULL, O_TIMED}, {"svg", required_argument, NULL, O_SVG}, {"fold", no_argument, NULL, O_FOLD}, {"link2", no_argument, NULL, O_LINK2}, {"full", no_argument, NULL, O_FULL}, {"help", no_argument, NULL, O_HELP}, {NULL, 0, NULL, 0}};

typedef struct command {
  const char *name;
  int least, most;    /* files */
  int compiles;       /* and so leaves directories if it is interrupted */
  const char *allows; /* its options, by name */
  int (*run)(const options *o);
} command;

static int allowed(const command *c, const char *name) {
  size_t n = strlen(name);
  for (const char *p = c->allows; (p = strstr(p, name)); p += n)
    if ((p == c->allows || p[-1] == ' ') && (p[n] == ' ' || !p[n])) return 1;
  return 0;
}

/* --machine: a name or an architecture of the table, else a file.  0, or the exit status. */
static int pick_machine(const command *c, const char *name, options *o) {
  mg_error e;
  struct stat st;
  if (!mg_machine_for(name, &o->row.m)) {
    char known[MG_MACHINE_LIST], where[96];
    if (stat(name, &st)) {
      snprintf(where, sizeof where, "%s: --machine", c->name);
      mg_fail(&e, MG_BAD_INPUT, where, "'%.40s' is no GPU or architecture of the table, %s, and no file", name, mg_machine_list(0, known));
      return report(MG_BAD_INPUT, &e);
    }
    const mg_status s = mg_machine_read(name, &o->row, &e);
    if (s != MG_OK) return report(s, &e);
  }
  o->machine = &o->row.m, o->arch = o->row.m.arch;
  return 0;
}

static int parse_options(const command *c, int argc, char **argv, options *o) {
  int k, index = 0;
  char msg[200], range[64] = "number";
  const char *machine = NULL;
  opterr = 0;
  optind = 1;
  memset(o, 0, sizeof *o);
  while ((k = getopt_long(argc, argv, ":o:h", long_options, &index)) != -1) {
    const char *name = k == 'o' ? "o" : k >= 256 ? long_options[index].name : "";
    int ok = 1;
    int64_t v = 0;
    if (k == 'h' || k == O_HELP) { o->help = 1; return 0; }
    if (k == '?' || k == ':') {
      const char *bad = argv[optind - 1];
      snprintf(msg, sizeof msg, k == ':' ? "%.100s needs a value" : "%.100s is no option; --help lists them", bad);
      return fault(MG_BAD_INPUT, c->name, msg);
    }
    if (!allowed(c, name)) {
      snprintf(msg, sizeof msg, "takes no option %s%s", k == 'o' ? "-" : "--", name);
      return fault(MG_BAD_INPUT, c->name, msg);
    }
    switch (k) {
      case 'o': o->out = optarg; break;
      case O_ARCH: o->arch = optarg; break;
      case O_MACHINE: machine = optarg; break;
      case O_THREADS: ok = number(optarg, 1, 64, &o->threads, range); break;
      case O_KERNEL_OPS: ok = number(optarg, 1, 64, &o->max_kernel_ops, range); break;
      case O_BLOCK_OPS: ok = number(optarg, 1, 40, &o->max_block_ops, range); break;
      case O_TIME: {
        char *end;
        o->no_limit = !strcmp(optarg, "none") && !strcmp(c->name, "search");
        if (o->no_limit) break;
        snprintf(range, sizeof range, "number of seconds above 0%s", strcmp(c->name, "search") ? "" : ", nor none");
        o->time_limit = strtod(optarg, &end);
        ok = end != optarg && !*end && o->time_limit > 0 && o->time_limit < 1e9;
        break;
      }
      case O_NO_PRUNE: o->no_prune = 1; break;
      case O_SEED: ok = number(optarg, 0, INT64_MAX, &v, range), o->seed = (uint64_t)v, o->seeded = 1; break;
      case O_STATS: o->stats = optarg; break;
      case O_TOP: ok = number(optarg, 1, MOST_TOP, &o->top, range); break;
      case O_DELTA: ok = parse_delta(optarg, &o->log2_delta); break;
      case O_CERT: o->certificate = optarg; break;
      case O_STEPS: ok = number(optarg, 1, 1 << 20, &o->steps, range); break;
      case O_WEIGHTS:
        if (o->n_weights == 8) snprintf(range, sizeof range, "ninth path that is taken"), ok = 0;
        else o->weights[o->n_weights++] = optarg;
        break;
      case O_RANDOM: ok = number(optarg, 0, INT64_MAX, &v, range), o->seed = (uint64_t)v, o->random = 1; break;
      case O_TOKENS: o->tokens = optarg; break;
      case O_GPU: o->gpu = 1; break;
      case O_EMULATED: o->emulated = 1; break;
      case O_TIMED: o->timed = 1; break;
      case O_SVG: o->svg = optarg; break;
      case O_LINK2: o->link2 = 1; break;
      case O_FOLD: o->fold = 1; break;
      case O_REPS: ok = number(optarg, 1, 100000, &o->reps, range); break;
      case O_LOOPS: ok = number(optarg, 1, 2, &o->max_loops, range); break;
      case O_CHECKPOINT: o->checkpoint = optarg; break;
      case O_CACHE: o->cache = optarg; break;
      case O_COLD: o->cold = 1; break;
      case O_NO_CHECK: o->no_check = 1; break;
      case O_NO_TIME: o->no_time = 1; break;
      case O_NO_MEASURE: o->no_measure = 1; break;
      case O_ALLOW_SAMPLED: o->allow_sampled = 1; break;
      case O_NUMERICS: o->numerics = 1; break;
      case O_PROGRAM: o->program = optarg, o->numerics = 1; break;
      case O_UNSAFE: o->unsafe = 1; break;
      case O_BATCH_INVARIANT: o->batch_invariant = 1; break;
      case O_JSON: o->json = 1; break;
      case O_FULL: o->full = 1; break;
      case O_SYM: {
        const char *is = strchr(optarg, '=');
        if (!is || is == optarg || o->n_syms == MG_MODEL_MAX_SYMBOLS || !number(is + 1, 1, INT64_MAX, &v, range)) {
          snprintf(range, sizeof range, "symbol and its size, as in n=37");
          ok = 0;
        } else o->sym[o->n_syms++] = optarg;
        break;
      }
      case O_PROVE: o->prove = 1; break;
      case O_NO_PROVE: o->no_prove = 1; break;
      default: break;
    }
    if (!ok) {
      snprintf(msg, sizeof msg, "--%s: '%.60s' is no %s", name, optarg, k == O_DELTA ? "bound such as 2^-64 or 1e-20" : range);
      return fault(MG_BAD_INPUT, c->name, msg);
    }
  }
  if (machine && o->arch) return fault(MG_BAD_INPUT, c->name, "--machine and --arch exclude each other");
  if (machine && (k = pick_machine(c, machine, o)) != 0) return k;
  if (o->prove && o->no_prove) return fault(MG_BAD_INPUT, c->name, "--prove and --no-prove exclude each other");
  o->n_files = argc - optind;
  if (o->n_files < c->least || o->n_files > c->most) {
    snprintf(msg, sizeof msg, "takes %d file%s%s, found %d", c->least, c->least == 1 ? "" : "s", c->most > 3 ? " or more" : c->most == 3 ? " to 3" : c->most > c->least ? " or 2" : "", o->n_files);
    return fault(MG_BAD_INPUT, c->name, msg);
  }
  o->file = argv + optind;
  return 0;
}

/* The lines of the usage that speak of one command: its own, and those indented below them. */
static int command_help(const char *name) {
  size_t n = strlen(name);
  int on = 0;
  const char *head = usage; /* "usage: " */
  for (const char *line = usage, *next; *line; line = next) {
    next = strchr(line, '\n') + 1;
    if (!strncmp(line + 7, "mirage ", 7)) on = !strncmp(line + 14, name, n) && line[14 + n] == ' ';
    else if (strncmp(line, "        ", 8)) on = 1; /* the exit statuses */
    if (!on) continue;
    if (fprintf(stdout, "%.7s%.*s", head ? head : line, (int)(next - line) - 7, line + 7) < 0) return 4;
    head = NULL;
  }
  return 0;
}

/* A directory for the results, made if it is not there.  0, or the exit status. */
static int make_directory(const char *path) {
  struct stat at;
  if (!mkdir(path, 0777)) return 0;
  int why = errno;
  if (why == EEXIST && !stat(path, &at) && !S_ISDIR(at.st_mode)) return fault(MG_BAD_INPUT, path, "expected a directory for the results, found a file");
  return why == EEXIST ? 0 : fault(MG_MACHINE, path, strerror(why));
}

/* ---- print, dot */

/* The values that --sym gives the symbols of a program, or of its ranges; each has to be named, and no other. */
static mg_status sizes_given(const options *o, const mg_graph *const *range, int ranges, int64_t value[MG_MAX_SYMBOLS], mg_error *e) {
  const mg_graph *g = range[0];
  int named = 0;
  for (uint32_t k = 0; k < g->n_symbols; k++) {
    const size_t n = strlen(g->symbol[k].name);
    int has = 0;
    for (int j = 0; j < o->n_syms; j++)
      if (!strncmp(o->sym[j], g->symbol[k].name, n) && o->sym[j][n] == '=') value[k] = strtoll(o->sym[j] + n + 1, NULL, 10), has = 1;
    const mg_symbol is = mg_range_symbol(range, ranges, k);
    if (!has) return mg_fail(e, MG_BAD_INPUT, o->file[0], "--sym: expected a size of %.60s, in %lld..%lld", is.name, (long long)is.least, (long long)is.last);
    named += has;
  }
  return named == o->n_syms ? MG_OK : mg_fail(e, MG_BAD_INPUT, o->file[0], "--sym: %s is no symbol of the program, which has %u", o->sym[0], g->n_symbols);
}
/* The member at the sizes that --sym gives, which are in `value` then, of a program or of its ranges. */
static mg_status member_given(const options *o, mg_graph *const *range, int ranges, int64_t value[MG_MAX_SYMBOLS], mg_graph **member, mg_error *e) {
  const mg_graph *const *of = (const mg_graph *const *)range;
  int k = 0;
  *member = NULL;
  mg_status s = sizes_given(o, of, ranges, value, e);
  if (s == MG_OK) s = mg_range_at(of, ranges, value, &k, e);
  return s == MG_OK ? mg_at(of[k], value, member, e) : s;
}
/* A program, or its ranges, become with --sym their one member at these sizes; they stay as they are if there is none. */
static mg_status at_given(const options *o, mg_graph **range, int *ranges, mg_error *e) {
  int64_t value[MG_MAX_SYMBOLS] = {0};
  mg_graph *member = NULL;
  if (!o->n_syms) return MG_OK;
  const mg_status s = member_given(o, range, *ranges, value, &member, e);
  while (s == MG_OK && *ranges) mg_graph_free(range[--*ranges]);
  if (s == MG_OK) range[(*ranges)++] = member;
  return s;
}
/* What a .mg file holds: a program, or the ranges of a symbol, one behind the other. */
static mg_status parse_ranges(const char *text, size_t n, const char *file, mg_graph *range[MG_MAX_RANGES], int *ranges, mg_error *e) {
  char name[120];
  mg_status s = mg_parse_all(text, n, file, NULL, MG_MAX_RANGES, range, ranges, e);
  if (s == MG_OK && *ranges > 1) s = mg_ranges_name((const mg_graph *const *)range, *ranges, name, e);
  while (s != MG_OK && *ranges) mg_graph_free(range[--*ranges]);
  return s;
}
/* The same; with --sym its one member at these sizes. */
static mg_status parse_sized(const options *o, const char *text, size_t n, mg_graph *range[MG_MAX_RANGES], int *ranges, mg_error *e) {
  const mg_status s = parse_ranges(text, n, o->file[0], range, ranges, e);
  return s == MG_OK ? at_given(o, range, ranges, e) : s;
}
static int print_or_dot(const options *o, mg_status (*f)(const mg_graph *, char **, mg_error *)) {
  mg_error e;
  mg_graph *range[MG_MAX_RANGES];
  int n = 0, code = 0;
  size_t size;
  char *source = read_all(o->file[0], &size, &code);
  if (!source) return code;
  mg_status s = parse_sized(o, source, size, range, &n, &e);
  for (int k = 0; k < n && s == MG_OK && !code; k++) {
    char *text = NULL;
    s = f(range[k], &text, &e);
    if (s == MG_OK) code = write_all(NULL, NULL, text);
    mg_string_free(text);
  }
  while (n > 0) mg_graph_free(range[--n]);
  free(source);
  return s == MG_OK ? code : report(s, &e);
}
static int do_print(const options *o) { return print_or_dot(o, mg_print); }
static int do_dot(const options *o) { return print_or_dot(o, mg_dot); }

/* ---- verdicts */

static double now(void) {
  struct timespec t;
  timespec_get(&t, TIME_UTC);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Comment lines; the first is `# verdict: ...`.  The hash ties them to the µGraph that they speak of. */
static void verdict_lines(char *buf, size_t n, const mg_verify_report *r, const mg_graph *program, const mg_graph *g) {
  size_t k = (size_t)snprintf(buf, n, "# verdict: %s\n", mg_verdict_name(r->verdict));
  if (r->verdict == MG_EQUAL && r->log2_delta < 0)
    k += (size_t)snprintf(buf + k, n - k, "# delta: <= 2^%.2f, by %s\n", ceil(r->log2_delta * 100) / 100, r->theorem);
  else if (r->verdict == MG_EQUAL) k += (size_t)snprintf(buf + k, n - k, "# delta: none needed, %s\n", r->theorem);
  else if (r->verdict == MG_EQUAL_SAMPLED) k += (size_t)snprintf(buf + k, n - k, "# delta: none, not certified: it may be wrong\n");
  if (r->classes) k += (size_t)snprintf(buf + k, n - k, "# for all: %s: %s\n", r->every, r->members);
  if (*r->domain) k += (size_t)snprintf(buf + k, n - k, "# domain: %s\n", r->domain);
  if (r->proof != MG_PROOF_NONE) k += (size_t)snprintf(buf + k, n - k, "# proof: %s\n", r->reason);
  else k += (size_t)snprintf(buf + k, n - k, "# tests: %d over finite fields, seed %llu (%016llx..); %s\n", r->tests, (unsigned long long)r->seed, (unsigned long long)r->digest[0], r->reason);
  if (r->fresh_tests)
    k += (size_t)snprintf(buf + k, n - k, "# rechecked: %d more, with the seed %016llx%016llx%016llx%016llx of the operating system's\n", r->fresh_tests, (unsigned long long)r->salt[0], (unsigned long long)r->salt[1],
                          (unsigned long long)r->salt[2], (unsigned long long)r->salt[3]);
  if (r->verdict == MG_NOT_EQUAL && r->confirmed)
    k += (size_t)snprintf(buf + k, n - k, "# counterexample: seed %llu, output %d, element %lld: %.17g and %.17g\n", (unsigned long long)r->cx_seed, r->cx_output, (long long)r->cx_element, r->cx_a, r->cx_b);
  if (program && g) snprintf(buf + k, n - k, "# %s: program %.64s %016llx\n# hash: %016llx\n", r->verdict == MG_EQUAL || r->verdict == MG_EQUAL_SAMPLED ? "equal to" : "compared with", program->name, (unsigned long long)mg_hash(program), (unsigned long long)mg_hash(g));
}

static int verdict_code(mg_verdict v) { return v == MG_EQUAL ? 0 : v == MG_NOT_EQUAL ? 1 : 2; }

static volatile int interrupted;
static void on_interrupt(int sig) {
  if (interrupted) _exit(128 + sig);
  interrupted = 1;
  signal(sig, on_interrupt); /* of C alone, one signal ends a handler */
}

/* The line of progress, anew: no wider than the terminal, as a line that wraps is not erased by the next. */
static void progress_line(const char *format, ...) {
  char line[512];
  struct winsize size;
  va_list given;
  va_start(given, format);
  vsnprintf(line, sizeof line, format, given);
  va_end(given);
  const int width = !ioctl(2, TIOCGWINSZ, &size) && size.ws_col > 1 ? size.ws_col - 1 : (int)sizeof line;
  fprintf(stderr, "\r\033[K%.*s", width, line);
  fflush(stderr);
}
static void on_test(void *user, const mg_verify_progress *p) {
  const double *started = (const double *)user;
  progress_line("%.1f s: certifying, %s test %d of %d, part %d of %d", now() - *started, p->kind < 0 ? "float64" : p->kind & 1 ? "two-field" : "field", p->test + 1, p->tests, p->part + 1, p->parts);
}

/* The solver, where it is asked for or the field tests leave something open.  lines[] is what they say; the solver's lines
   are put into it.  Returns the verdict of both, MG_UNDECIDED with a fault on standard error if they contradict. */
static mg_verdict second_opinion(const options *o, const mg_graph *a, const mg_graph *b, const mg_verify_report *r, char *lines, size_t size, const char **reason) {
  static mg_prove_report p;
  mg_error e;
  mg_prove_config c = mg_prove_config_default();
  int open = r->verdict == MG_UNDECIDED || r->verdict == MG_EQUAL_SAMPLED;
  *reason = r->reason;
  if (o->no_prove || interrupted || !(o->prove || open)) return r->verdict;
  c.seed = r->seed, c.stop = &interrupted;
  if (o->time_limit > 0) c.time_limit_s = o->time_limit;
  mg_status s = mg_prove(a, b, &c, &p, &e);
  mg_verdict v = r->verdict;
  if (s == MG_OK && ((p.verdict == MG_EQUAL && v == MG_NOT_EQUAL) || (p.verdict == MG_NOT_EQUAL && v == MG_EQUAL))) {
    v = MG_UNDECIDED;
    *reason = "field tests and solver contradict each other: one of them is at fault, please report it";
  } else if (s == MG_OK && p.verdict != MG_UNDECIDED && open) v = p.verdict, *reason = p.reason;
  char tail[2048], *rest = strchr(lines, '\n');
  snprintf(tail, sizeof tail, "%s", rest ? rest + 1 : "");
  size_t k = (size_t)snprintf(lines, size, "# verdict: %s\n# decided by: %s\n", mg_verdict_name(v), v == MG_UNDECIDED || v == MG_EQUAL_SAMPLED ? "nobody" : open && s == MG_OK && p.verdict == v ? "the solver" : r->proof != MG_PROOF_NONE ? "a proof without a solver" : "the field tests");
  if (s != MG_OK) k += (size_t)snprintf(lines + k, size - k, "# solver: %s\n", e.msg);
  else k += (size_t)snprintf(lines + k, size - k, "# solver: %s, %s; %d question%s, %.2f s; %s\n", p.solver, mg_verdict_name(p.verdict), p.queries, p.queries == 1 ? "" : "s", p.seconds, p.reason);
  if (s == MG_OK && *p.axioms) k += (size_t)snprintf(lines + k, size - k, "# axioms: %s\n", p.axioms);
  const char *odd = v == MG_EQUAL || v == MG_EQUAL_SAMPLED ? "# compared with:" : "# equal to:", *even = odd[2] == 'c' ? "# equal to:" : "# compared with:";
  char *at = strstr(tail, odd);
  if (at) snprintf(lines + k, size - k, "%.*s%s%s", (int)(at - tail), tail, even, at + strlen(odd));
  else snprintf(lines + k, size - k, "%s", tail);
  return v;
}

/* Gives *program the bounds that g's symbols have: those of one range of it. */
static mg_status within_bounds_of(const mg_graph *g, mg_graph **program, mg_error *e) {
  mg_graph *whole = *program;
  if (!whole->n_symbols || whole->n_symbols != g->n_symbols) return MG_OK;
  *program = NULL;
  const mg_status s = mg_within_of(whole, g, program, e);
  mg_graph_free(whole);
  return s;
}
/* MG_OK if each size of program a is one of the range that a launch at it takes.  Which range that is, and where it ends, changes at
   the ranges' bounds alone. */
static mg_status covered(const mg_graph *a, mg_graph *const *range, int n, mg_error *e) {
  enum { EDGES = 4 * MG_MAX_RANGES };
  int64_t edge[2][EDGES], value[MG_MAX_SYMBOLS];
  for (int j = 0; j < 4 * n; j++)
    for (uint32_t v = 0; v < 2; v++) {
      const uint32_t k = v < a->n_symbols ? v : 0;
      const mg_symbol *is = &a->symbol[k], *its = &range[j / 4]->symbol[k];
      const int64_t at[4] = {its->least - 1, its->least, its->last, its->last + 1};
      edge[v][j] = at[j % 4] < is->least ? is->least : at[j % 4] > is->last ? is->last : at[j % 4];
    }
  for (int i = 0; i < 4 * n; i++)
    for (int j = 0; j < 4 * n; j++)
      for (int low = 0; low < 2; low++) {
        for (uint32_t v = 0; v < a->n_symbols; v++) value[v] = v < 2 ? edge[v][v ? j : i] : low ? a->symbol[v].least : a->symbol[v].last;
        const mg_graph *g = range[mg_range_of((const mg_graph *const *)range, n, value)];
        for (uint32_t v = 0; v < a->n_symbols; v++)
          if (value[v] < g->symbol[v].least || value[v] > g->symbol[v].last)
            return mg_fail(e, MG_BAD_INPUT, "verify", "%s is in %lld..%lld in '%.60s', and in %lld..%lld in '%.60s', which a launch at %s = %lld takes", a->symbol[v].name, (long long)a->symbol[v].least,
                           (long long)a->symbol[v].last, a->name, (long long)g->symbol[v].least, (long long)g->symbol[v].last, g->name, a->symbol[v].name, (long long)value[v]);
      }
  return MG_OK;
}

/* MG_OK if a certificate speaks of file[1] and file[2], in this order.  The second file's graph covers the first's sizes, or is one
   range of several: *of_range is its number then, from 1, and 0 else. */
static mg_status certificate_is_of(const char *text, size_t n, char **file, int *of_range, mg_error *e) {
  mg_graph *of[2] = { NULL, NULL }, *whole = NULL, *range[MG_MAX_RANGES];
  *of_range = 0;
  mg_status s = mg_certificate_graphs(text, n, &of[0], &of[1], e);
  if (s == MG_OK) s = mg_parse_file(file[1], NULL, &whole, e);
  for (int k = 0; k < 2 && s == MG_OK; k++) {
    int ranges = 0, is = 0, code = 0;
    size_t size;
    char *source = read_all(file[k + 1], &size, &code);
    if (!source) s = mg_fail(e, MG_BAD_INPUT, file[k + 1], "it is not read");
    if (s == MG_OK) s = parse_ranges(source, size, file[k + 1], range, &ranges, e);
    if (s == MG_OK && !k) s = within_bounds_of(of[k], &range[0], e);
    for (int j = 0; j < ranges && s == MG_OK && !is; j++)
      if (mg_graph_equal(range[j], of[k])) is = j + 1;
    if (s == MG_OK && !is)
      s = mg_fail(e, MG_BAD_INPUT, file[0], "it is no certificate of %.80s: its %s graph is another (%.60s)", file[k + 1], k ? "second" : "first", of[k]->name);
    if (s == MG_OK && k && ranges > 1) *of_range = is;
    if (s == MG_OK && k && ranges == 1 && whole->n_symbols && range[0]->n_symbols == whole->n_symbols) s = covered(whole, range, 1, e);
    while (ranges > 0) mg_graph_free(range[--ranges]);
    free(source);
  }
  mg_graph_free(of[0]), mg_graph_free(of[1]), mg_graph_free(whole);
  return s;
}

/* The first file's program, within g's bounds, against g, which is range k of the second file, or 0: all of it.  The exit status. */
static int verify_pair(const options *o, const mg_graph *g, int k, const mg_verify_config *c) {
  static mg_verify_report r;
  mg_error e;
  char lines[4096];
  const char *reason;
  mg_graph *program = NULL;
  mg_status s = mg_parse_file(o->file[0], NULL, &program, &e);
  int one = 1;
  if (s == MG_OK && program->n_symbols) s = at_given(o, &program, &one, &e);
  if (s == MG_OK) s = within_bounds_of(g, &program, &e);
  memset(&r, 0, sizeof r);
  if (s == MG_OK) s = mg_verify(program, g, c, &r, &e);
  if (c->progress) fputs("\r\033[K", stderr);
  if (s != MG_OK) {
    mg_graph_free(program);
    return report(s, &e);
  }
  verdict_lines(lines, sizeof lines, &r, program, g);
  const mg_verdict v = second_opinion(o, program, g, &r, lines, sizeof lines, &reason);
  if (k) printf("# range %d: ", k);
  for (uint32_t j = 0; k && j < g->n_symbols; j++)
    printf("%s in %lld..%lld%s", g->symbol[j].name, (long long)g->symbol[j].least, (long long)g->symbol[j].last, j + 1 < g->n_symbols ? ", " : "\n");
  int code = write_all(NULL, NULL, lines);
  if (!code) code = verdict_code(v);
  if (code == 1 || code == 2) fault(code == 1 ? MG_NOT_FOUND : MG_UNSUPPORTED, "verify", reason);
  if (!code && o->certificate && r.verdict != MG_EQUAL) code = fault(MG_UNSUPPORTED, "verify", "no certificate: it would speak of field tests, and the solver alone decided");
  else if (!code && o->certificate) { /* 0: EQUAL; of the solver alone above */
    char *text = NULL;
    s = mg_certificate(program, g, &r, &text, &e);
    code = s == MG_OK ? write_all(o->certificate, NULL, text) : report(s, &e);
    mg_string_free(text);
  }
  mg_graph_free(program);
  return code;
}
static int do_verify(const options *o) {
  double started = now();
  mg_verify_config c = mg_verify_config_default();
  c.threads = (int)o->threads, c.stop = &interrupted, c.user = &started;
  if (isatty(2)) c.progress = on_test;
  signal(SIGINT, on_interrupt), signal(SIGTERM, on_interrupt);

  mg_error e;
  mg_verify_report r;
  char lines[4096];
  memset(&r, 0, sizeof r);
  if (o->time_limit > 0) c.time_limit_s = o->time_limit;
  if (o->n_files != 2) {
    if (o->n_syms) return fault(MG_BAD_INPUT, "verify", "--sym belongs to two files: a certificate is of the sizes that it names");
    int code = 0;
    size_t n;
    char *text = read_all(o->file[0], &n, &code);
    if (!text) return code;
    if (strncmp(text, "mirage certificate", 18)) {
      free(text);
      return fault(MG_BAD_INPUT, o->file[0], o->n_files == 1 ? "one file is a certificate, and this is none; two are compared: mirage verify A B"
                                                             : "the first of three files is a certificate, and this is none: mirage verify CERT A B");
    }
    int of_range = 0;
    mg_status s = o->n_files == 3 ? certificate_is_of(text, n, o->file, &of_range, &e) : MG_OK;
    if (s == MG_OK) s = mg_certificate_recheck(text, n, &c, &r, &e);
    if (c.progress) fputs("\r\033[K", stderr);
    free(text);
    if (s != MG_OK) return report(s, &e);
    verdict_lines(lines, sizeof lines, &r, NULL, NULL);
    char holds[128] = "# the certificate holds\n";
    if (of_range) snprintf(holds, sizeof holds, "# the certificate holds, and is of range %d of the second file, and of the first within it\n", of_range);
    else if (o->n_files == 3) snprintf(holds, sizeof holds, "# the certificate holds, and is of these two files\n");
    code = write_all(NULL, lines, holds);
    return code ? code : verdict_code(r.verdict);
  }
  mg_graph *whole = NULL, *range[MG_MAX_RANGES];
  int ranges = 0, code = 0;
  size_t size;
  char *source = read_all(o->file[1], &size, &code);
  if (!source) return code;
  if (o->log2_delta < 0) c.log2_delta = o->log2_delta;
  if (o->seeded) c.seed = o->seed;
  c.full_size = o->full;
  mg_status s = mg_parse_file(o->file[0], NULL, &whole, &e);
  if (s == MG_OK) s = parse_ranges(source, size, o->file[1], range, &ranges, &e);
  /* a file without symbols is taken as it is, unless --sym speaks of neither */
  int one = 1;
  const int sized = s == MG_OK && range[0]->n_symbols > 0;
  if (s == MG_OK && (whole->n_symbols || !sized)) s = at_given(o, &whole, &one, &e);
  if (s == MG_OK && sized) s = at_given(o, range, &ranges, &e);
  int families = s == MG_OK && whole->n_symbols > 0;
  for (int k = 0; k < ranges; k++) families &= range[k]->n_symbols == whole->n_symbols;
  if (families) s = covered(whole, range, ranges, &e);
  if (s == MG_OK && ranges > 1 && o->certificate)
    s = mg_fail(&e, MG_BAD_INPUT, "verify", "%s has %d ranges, and a certificate is of one: search -o DIR writes one for each", o->file[1], ranges);
  if (s != MG_OK) code = report(s, &e);
  for (int k = 0; k < ranges && s == MG_OK && code != 1; k++) {
    const int one = verify_pair(o, range[k], ranges > 1 ? k + 1 : 0, &c);
    code = one == 1 || one > code ? one : code;
  }
  while (ranges > 0) mg_graph_free(range[--ranges]);
  mg_graph_free(whole);
  free(source);
  return code;
}

/* ---- search */

static void on_progress(void *user, const mg_search_stats *s) {
  char left[48] = "";
  double us = s->own_us;
  const char *of = "as written";
  (void)user;
  if (s->structure_us > 0 && s->structure_us < us) us = s->structure_us, of = "unverified";
  if (s->predicted_us > 0 && s->predicted_us <= us) us = s->predicted_us, of = "tested";
  if (s->left_s >= 0) snprintf(left, sizeof left, ", %s %.0f s left", s->left_limit ? "at most" : "about", s->left_s);
  progress_line("%.1f s: frame %llu of %llu in segment %llu%s; %llu states, %llu pruned, %llu verified; best %.2f us (model, %s)", s->seconds, (unsigned long long)s->frames,
          (unsigned long long)s->frames_begun, (unsigned long long)s->segments, left, (unsigned long long)s->states,
          (unsigned long long)(s->pruned_pairs + s->pruned_expression + s->pruned_shape + s->pruned_duplicate + s->pruned_limit + s->pruned_bound), (unsigned long long)s->verified, us, of);
}

static mg_status may_emit(void *user, const mg_graph *g, mg_error *why) { return mg_cuda_emittable(g, (const char *)user, why); }

static void json_string(FILE *f, const char *s) {
  fputc('"', f);
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') fputc('\\', f);
    if ((unsigned char)*s < 32) fprintf(f, "\\u%04x", (unsigned)*s);
    else fputc(*s, f);
  }
  fputc('"', f);
}

static int write_stats(const char *path, const char *program, const char *gpu, const mg_search_stats *s, const mg_verify_report *r, double verify_seconds) {
  FILE *f = fopen(path, "w");
  if (!f) return fault(MG_MACHINE, path, strerror(errno));
  fprintf(f, "{\n  \"program\": ");
  json_string(f, program);
  fprintf(f, ",\n  \"gpu\": ");
  json_string(f, gpu);
  fprintf(f, ",\n  \"seconds\": %.6f,\n  \"egraph_ms\": %.3f,\n  \"probe_ns\": %.0f,\n  \"verify_seconds\": %.3f,\n  \"threads\": %d,\n  \"states\": %llu,\n", s->seconds, s->egraph_ms, s->probe_ns, verify_seconds, s->threads, (unsigned long long)s->states);
  fprintf(f, "  \"pruned\": {\"pairs\": %llu, \"expression\": %llu, \"shape\": %llu, \"duplicate\": %llu, \"limit\": %llu, \"bound\": %llu},\n", (unsigned long long)s->pruned_pairs, (unsigned long long)s->pruned_expression,
          (unsigned long long)s->pruned_shape, (unsigned long long)s->pruned_duplicate, (unsigned long long)s->pruned_limit, (unsigned long long)s->pruned_bound);
  fprintf(f, "  \"closure_us\": {\"normal_forms\": %.1f, \"classes\": %.1f, \"factors\": %.1f, \"terms\": %.1f},\n", s->closure_us[0], s->closure_us[1], s->closure_us[2], s->closure_us[3]);
  fprintf(f, "  \"axiom_us\": {");
  for (int k = 0, n = 0; k < MG_AXIOM_TIMES && mg_axiom_at(k); k++) {
    int seen = 0; /* rows of one name are one */
    double us = s->axiom_us[k];
    for (int j = 0; j < k; j++) seen |= !strcmp(mg_axiom_at(j)->name, mg_axiom_at(k)->name);
    for (int j = k + 1; j < MG_AXIOM_TIMES && mg_axiom_at(j); j++) us += strcmp(mg_axiom_at(j)->name, mg_axiom_at(k)->name) ? 0 : s->axiom_us[j];
    if (seen) continue;
    fputs(n++ ? ", " : "", f), json_string(f, mg_axiom_at(k)->name), fprintf(f, ": %.1f", us);
  }
  struct rusage use;
  char measured[40] = "null";
  if (s->measured_us > 0) snprintf(measured, sizeof measured, "%.4f", s->measured_us);
  fprintf(f, "},\n  \"peak_kib\": %ld,\n  \"resumed\": %llu,\n  \"cached\": %s,\n", getrusage(RUSAGE_SELF, &use) ? 0L : (long)use.ru_maxrss, (unsigned long long)s->resumed, s->cached ? "true" : "false");
  fprintf(f, "  \"frames\": %llu,\n  \"values\": %llu,\n  \"structures\": %llu,\n  \"segments\": %llu,\n  \"refused\": %llu,\n", (unsigned long long)s->frames,
          (unsigned long long)s->values, (unsigned long long)s->structures, (unsigned long long)s->segments, (unsigned long long)s->refused);
  fprintf(f, "  \"candidates\": %llu,\n  \"verified\": %llu,\n  \"rejected\": %llu,\n  \"complete\": %s,\n", (unsigned long long)s->candidates,
          (unsigned long long)s->verified, (unsigned long long)s->rejected, s->complete ? "true" : "false");
  fprintf(f, "  \"egraph\": {\"nodes\": %llu, \"classes\": %llu, \"stop\": \"%s\"},\n", (unsigned long long)s->egraph_nodes, (unsigned long long)s->egraph_classes, s->egraph_stop ? s->egraph_stop : "");
  fprintf(f, "  \"best\": {\"kernels\": %d, \"block_ops\": %d, \"predicted_us\": %.4f, \"measured_us\": %s, \"verdict\": \"%s\", \"log2_delta\": %.3f}\n}\n",
          s->best_kernels, s->best_block_ops, s->predicted_us, measured, r ? mg_verdict_name(r->verdict) : "none", r ? ceil(r->log2_delta * 1000) / 1000 : 0.0);
  int bad = ferror(f);
  bad |= fclose(f);
  return bad ? fault(MG_MACHINE, path, "cannot be written") : 0;
}


/* The hook that times the candidates, and what it found of each: by the hash, as they are ranked anew behind it. */
typedef struct timed { const char *arch; double *until, most_work; int n, quiet; uint64_t hash[100]; mg_status status[100]; mg_error why[100]; mg_run_report r[100]; } timed;
/* What a measurement runs with; the line of progress. */
static mg_run_config measure_begin(const timed *t, int n) {
  mg_run_config c;
  memset(&c, 0, sizeof c);
  c.arch = t->arch, c.most_work = t->most_work;
  if (!t->quiet) progress_line("compiling and timing %d candidates", n);
  return c;
}
static mg_status on_measure(void *user, const mg_graph *program, const mg_graph *const *g, int n, double *us, mg_error *e) {
  timed *t = (timed *)user;
  if (n > 100) n = 100;
  mg_run_config c = measure_begin(t, n);
  c.cold = 1;
  const double began = now();
  mg_status s = mg_cuda_measure(program, g, n, &c, t->r, t->status, t->why, e);
  if (*t->until > 0) *t->until += now() - began; /* the limit is not of the times */
  if (s != MG_OK) return s;
  for (int k = 0; k < n; k++) t->hash[k] = mg_hash(g[k]), us[k] = t->status[k] == MG_OK ? t->r[k].us_cold : 0;
  t->n = n;
  return MG_OK;
}
static mg_status on_measure_all(void *user, const mg_measure_job *job, int n, mg_error *e) {
  timed *t = (timed *)user;
  int all = 0;
  for (int k = 0; k < n; k++) all += job[k].n;
  mg_run_config c = measure_begin(t, all);
  const double began = now();
  const mg_status s = mg_cuda_measure_all(&c, job, n, e);
  if (*t->until > 0) *t->until += now() - began;
  return s;
}
/* What ended the search before it had seen its whole space, and what lets it go on; empty if nothing did. */
static void cut_short(char *buf, size_t n, const options *o, const mg_search_stats *s, const mg_search_config *c, int stopped) {
  *buf = 0;
  if (s->complete || !s->egraph_stop) return;
  size_t k = (size_t)snprintf(buf, n, "; the search was cut short by ");
  if (stopped) snprintf(buf + k, n - k, "the interrupt%s", o->checkpoint ? ": the same command goes on from the checkpoint" : " (--checkpoint FILE would let it go on)");
  else if (!strcmp(s->egraph_stop, "NODES")) snprintf(buf + k, n - k, "the e-graph's limit of terms (no option; egraph.nodes of mg_search_config)");
  else if (!strcmp(s->egraph_stop, "TIME")) snprintf(buf + k, n - k, "the e-graph's limit of %g s (no option; egraph.seconds of mg_search_config)", c->egraph.seconds > 0 ? c->egraph.seconds : 10.0);
  else if (s->late) snprintf(buf + k, n - k, "--time-limit %g%s", o->time_limit > 0 ? o->time_limit : (double)SEARCH_S, o->time_limit > 0 ? "" : ", the default: --time-limit S or none gives it more");
  else if (s->timed) snprintf(buf + k, n - k, "a check of a candidate, which did not end in its ten seconds (no option) or its memory");
  else if (!s->pruned_limit && s->refused) snprintf(buf + k, n - k, "the emitter, which refused all kernels that were kept of a part");
  else snprintf(buf + k, n - k, "a limit without option: max_states, max_structures, max_steps of mg_search_config, or a frame's memory and evaluations, an extent's divisors, a long program's orders");
}

/* Of what no kernel of ours makes if the library is there: its products, and what their calls take besides. */
static void library_line(char *lines, size_t size, const mg_graph *g) {
  size_t n = strlen(lines);
  int products = 0;
  for (uint32_t i = 1; i < g->n_ops && n < size; i++) {
    if (g->ops[i].code != MG_OP_MATMUL) continue;
    const mg_library_product p = mg_library_takes(g, i);
    n += (size_t)snprintf(lines + n, size - n, "%s %.60s", products++ ? "," : "# library: by cuBLASLt where it is found:", mg_tensor_of(g, g->ops[i].out[0])->name);
    for (int k = 0; k < p.taken && n < size; k++) n += (size_t)snprintf(lines + n, size - n, " with %.60s", mg_tensor_of(g, g->ops[p.op[k]].out[0])->name);
  }
  if (products && n < size) snprintf(lines + n, size - n, "; link 2 does not see what it computes, link 3 decides\n");
}
/* How fast it is: predicted, and measured or why not. */
static void time_lines(char *lines, size_t size, const mg_search_result *res, int k, const char *gpu, const timed *t, int certified, const char *cut) {
  size_t n = strlen(lines);
  int m = -1;
  for (int j = 0; j < t->n; j++)
    if (t->hash[j] == mg_hash(res->graph[k])) m = j;
  n += (size_t)snprintf(lines + n, size - n, "# predicted: %.2f us on %s (model); %s%s\n", res->predicted_us[k], gpu,
                        !certified ? "not certified" : m >= 0 ? "link 2 not run: mirage check" : "links 2 and 3 not run: mirage check, mirage run",
                        cut);
  library_line(lines, size, res->graph[k]);
  n = strlen(lines);
  if (m < 0) snprintf(lines + n, size - n, "# measured: no, the order is predicted%s%.250s\n", res->stats.unmeasured[0] ? ": " : "", res->stats.unmeasured);
  else if (t->status[m] != MG_OK) snprintf(lines + n, size - n, "# measured: no: %.300s\n", t->why[m].msg);
  else {
    const mg_run_report *r = &t->r[m];
    n += (size_t)snprintf(lines + n, size - n, "# measured: %.2f us hot, %.2f us cold on %.100s; link 3: SAME, relative error %.3g, seed %llu\n", r->us_hot, r->us_cold, r->gpu, r->relative_error, (unsigned long long)r->seed);
    if (r->us_pdl_cold > 0) snprintf(lines + n, size - n, "# measured: %.2f us hot, %.2f us cold with programmatic dependent launch between the calls\n", r->us_pdl_hot, r->us_pdl_cold);
  }
}

/* ---- exponentials without a bound: exp(a) is at most 1 where a is s - max(s), a square's opposite, or a multiple of these;
   what a clamp or a tanh holds has a bound of its own.
   A tensor of a lower graph is known by what it is a part of: through loads, maxima of parts and other kernels' results.
   `left` bounds the work, as a graph's paths may be many: what was not looked at is not bounded. */

#define LARGEST_LOGIT 11 /* exp of it is the last integer's that f16 holds */
typedef struct value { const mg_graph *g; mg_tensor t; int *left; } value;
static const mg_op_node *made_by(value v) { return mg_op_of(v.g, mg_tensor_of(v.g, v.t)->op); }
static value operand(value v, int k) { v.t = made_by(v)->in[k]; return v; }
static value whole(value v) {
  for (;;) {
    const mg_op_node *n = made_by(v);
    int joins = n->code == MG_OP_ACCUM;
    for (uint32_t a = 1; joins && a < v.g->n_axes; a++) joins = n->map.to[a] != MG_MAP_SUM;
    if (n->code == MG_OP_LOAD) v.t = n->in[0], v.g = v.g->up;
    else if (joins) v.t = n->in[0];
    else if (n->code == MG_OP_GRAPH) {
      int store = 0;
      while (n->out[store].id != v.t.id) store++;
      for (uint32_t k = 1; k < n->sub->n_ops; k++)
        if (n->sub->ops[k].code == MG_OP_STORE && store-- == 0) v.t = n->sub->ops[k].in[0];
      v.g = n->sub;
    } else return v;
  }
}
static int same_value(value a, value b) {
  if (--*a.left < 0) return 0;
  a = whole(a), b = whole(b);
  if (a.g == b.g && a.t.id == b.t.id) return 1;
  const mg_op_node *x = made_by(a), *y = made_by(b);
  int same = x->code && x->code == y->code && x->n_in == y->n_in && x->attr.dim == y->attr.dim && x->attr.n == y->attr.n && x->attr.c.num == y->attr.c.num && x->attr.c.den == y->attr.c.den &&
             !memcmp(x->attr.perm, y->attr.perm, sizeof x->attr.perm);
  for (int k = 0; same && k < x->n_in; k++) same = same_value(operand(a, k), operand(b, k));
  return same;
}
static int is_maximum_of(value m, value s) {
  if (--*m.left < 0) return 0;
  m = whole(m), s = whole(s);
  const mg_op_node *x = made_by(m), *y = made_by(s);
  if (x->code == MG_OP_MAX) return same_value(operand(m, 0), s) || is_maximum_of(operand(m, 0), s);
  return x->code == MG_OP_SCALE && y->code == MG_OP_SCALE && x->attr.c.num > 0 && x->attr.c.num == y->attr.c.num && x->attr.c.den == y->attr.c.den && is_maximum_of(operand(m, 0), operand(s, 0));
}
/* What sign * v never passes, as far as this sees; INFINITY: nothing is seen to bound it. */
static double bound(value v, int sign) {
  if (--*v.left < 0) return INFINITY;
  v = whole(v);
  const mg_op_node *n = made_by(v);
  const double c = n->attr.c.den ? (double)n->attr.c.num / (double)n->attr.c.den : 0;
  double a, b;
  switch (n->code) {
    case MG_OP_SQR: case MG_OP_SQRT: case MG_OP_EXP: case MG_OP_RELU: case MG_OP_ABS: return sign < 0 ? 0 : INFINITY;
    case MG_OP_SIGMOID: return sign < 0 ? 0 : 1;
    case MG_OP_TANH: return 1;
    case MG_OP_NEG: return bound(operand(v, 0), -sign);
    case MG_OP_SCALE: return c ? fabs(c) * bound(operand(v, 0), c > 0 ? sign : -sign) : 0;
    case MG_OP_ADD_SCALAR: return bound(operand(v, 0), sign) + sign * c;
    case MG_OP_CLAMP_MIN: case MG_OP_CLAMP_MAX:
      a = bound(operand(v, 0), sign), b = sign * c;
      return (n->code == MG_OP_CLAMP_MAX) == (sign > 0) ? fmin(a, b) : fmax(a, b);
    case MG_OP_MINIMUM: case MG_OP_MAXIMUM:
      a = bound(operand(v, 0), sign), b = bound(operand(v, 1), sign);
      return (n->code == MG_OP_MINIMUM) == (sign > 0) ? fmin(a, b) : fmax(a, b);
    case MG_OP_MAX: return bound(operand(v, 0), sign);
    case MG_OP_SUM: case MG_OP_ACCUM: return bound(operand(v, 0), sign) <= 0 ? 0 : INFINITY;
    case MG_OP_ADD:
      for (int k = 0; k < 2 && sign > 0; k++) {
        value m = whole(operand(v, k));
        const mg_op_node *x = made_by(m);
        if ((x->code == MG_OP_NEG || (x->code == MG_OP_SCALE && x->attr.c.num == -x->attr.c.den)) && is_maximum_of(operand(m, 0), operand(v, 1 - k))) return 0;
      }
      return bound(operand(v, 0), sign) + bound(operand(v, 1), sign);
    case MG_OP_SUB:
      if (sign > 0 && is_maximum_of(operand(v, 1), operand(v, 0))) return 0;
      return bound(operand(v, 0), sign) + bound(operand(v, 1), -sign);
    default: return INFINITY;
  }
}
/* The first exponential in g and below whose argument nothing is seen to bound, and that the emitted text of its kernel, up to
   `end`, does not give a running maximum; its name, or NULL. */
static const char *open_exponential(const mg_graph *g, const char *cu, const char *end) {
  for (uint32_t k = 1, kernel = 0; k < g->n_ops; k++) {
    const mg_op_node *n = &g->ops[k];
    const char *from = cu, *to = end, *found;
    if (n->sub && cu && g->level == MG_KERNEL) {
      char head[40];
      snprintf(head, sizeof head, "_kernel%u(", (unsigned)kernel++);
      from = strstr(cu, head);
      to = from ? strstr(from, "MG_KERNEL(") : NULL;
    }
    found = n->sub ? open_exponential(n->sub, from, to) : NULL;
    if (found) return found;
    if (n->code != MG_OP_EXP || mg_softmax_dim(g, k) >= 0) continue;
    value a;
    char raise[96];
    int left = 4000;
    a.g = g, a.t = n->in[0], a.left = &left;
    if (bound(a, 1) <= LARGEST_LOGIT) continue;
    int raised = 0;
    for (uint32_t q = k; q < g->n_ops && cu; q++) { /* it is called as what settles: the exponential, or a cast of it */
      const mg_op_node *of = &g->ops[q];
      if (q != k && !(mg_is_cast(of->code, NULL) && of->in[0].id == n->out[0].id)) continue;
      snprintf(raise, sizeof raise, "shift_%.64s.raise(", mg_tensor_of(g, of->out[0])->name);
      const char *at = strstr(cu, raise);
      raised |= at && !(end && at > end);
    }
    if (!raised) return mg_tensor_of(g, n->out[0])->name;
  }
  return NULL;
}
/* 1, and its name in `name`: an exponential of a µGraph that overflows where its argument is large. */
static int overflows(const mg_graph *g, const char *arch, char *name, size_t size) {
  mg_emit_config c;
  mg_error e;
  char *cu = NULL;
  memset(&c, 0, sizeof c);
  c.arch = arch;
  if (!open_exponential(g, NULL, NULL)) return 0;
  if (mg_cuda_emit(g, &c, &cu, &e) != MG_OK) cu = NULL;
  const char *open = open_exponential(g, cu, NULL);
  if (open) snprintf(name, size, "%s", open);
  mg_string_free(cu);
  return open != NULL;
}
/* "# numerics: .." of the emitted text; MG_OK, or what mg_cuda_numerics says. */
/* seconds: of processor time, for the runs; 0: as many as they have by default.  wall: for all, by the clock; 0: any. */
/* first: it ends at the first family that is unsafe. */
static mg_status numerics_line(char *lines, size_t size, const options *o, double seconds, double wall, int first, const mg_graph *program, const mg_graph *g, const char *cu, mg_error *e) {
  mg_check_config c;
  mg_numerics_report r;
  char line[600];
  size_t n = strlen(lines);
  memset(&c, 0, sizeof c);
  c.seed = o->seed, c.timeout_s = seconds < 1e6 ? (int)ceil(seconds) : 0;
  c.wall_s = wall, c.numerics_first = first;
  mg_status s = mg_cuda_numerics(program, g, cu, &c, &r, e);
  if (s == MG_OK || s == MG_NOT_FOUND) mg_numerics_line(&r, line, sizeof line);
  else snprintf(line, sizeof line, "undecided: %.250s", e->msg);
  snprintf(lines + n, size - n, "# numerics: %s%s; %.1f s\n", line, program ? "" : "; the yardstick is its own kernel level: no program is given", r.seconds);
  return s;
}
/* What runs said of results, by their texts, as memory is used again; of more than there is room for the last one.  Past `until`
   (0: never) there are none, before it one has half of what is left. */
typedef struct runs { const options *o; const char *arch; double seconds, until; int n; uint64_t key[100]; mg_status status[100]; int late[100]; char line[100][700]; } runs;
static uint64_t runs_key(const mg_graph *program, const mg_graph *g) {
  uint64_t key = 14695981039346656037u;
  for (int k = 0; k < 2; k++) {
    mg_error e;
    char *text = NULL;
    if (mg_print(k ? g : program, &text, &e) != MG_OK) continue;
    for (const char *c = text; *c; c++) key = (key ^ (unsigned char)*c) * 1099511628211u;
    mg_string_free(text);
  }
  return key;
}
/* Where that has what is said of it; R->n: nothing is. */
static int runs_at(const runs *R, uint64_t key) {
  int k = 0;
  while (k < R->n && R->key[k] != key) k++;
  return k;
}
static const char *runs_of(runs *R, const mg_graph *program, const mg_graph *g, int *at) {
  mg_emit_config c;
  mg_error e;
  char *cu = NULL;
  const uint64_t key = runs_key(program, g);
  int k = runs_at(R, key);
  if (k == 100) k = R->n = 99;
  const double left = R->until > 0 ? (R->until - now()) / 2 : 0;
  if (k == R->n && R->until > 0 && left < 1) {
    snprintf(R->line[k], sizeof R->line[k], "# numerics: not judged: the time limit came first\n");
    R->status[k] = MG_UNSUPPORTED, R->late[k] = 1;
    R->key[R->n++] = key;
  } else if (k == R->n) {
    memset(&c, 0, sizeof c);
    c.arch = R->arch;
    R->line[k][0] = 0;
    R->status[k] = mg_cuda_emit(g, &c, &cu, &e);
    const double began = now();
    if (R->status[k] == MG_OK) R->status[k] = numerics_line(R->line[k], sizeof R->line[k], R->o, R->seconds, left, !R->o->numerics, program, g, cu, &e);
    else snprintf(R->line[k], sizeof R->line[k], "# numerics: undecided: %.250s\n", e.msg);
    R->late[k] = R->status[k] != MG_OK && R->status[k] != MG_NOT_FOUND && left > 0 && now() - began >= left;
    mg_string_free(cu);
    R->key[R->n++] = key;
  }
  if (at) *at = k;
  return R->line[k];
}
static int on_settle(void *user, const mg_graph *program, const mg_graph *g) {
  const runs *R = (const runs *)user;
  int k;
  if (interrupted) return 0;
  runs_of((runs *)user, program, g, &k);
  return R->status[k] == MG_NOT_FOUND ? 1 : R->late[k] ? 2 : 0;
}
/* The operator of g from which on value t is f32, one operand being of 16 bits: t's own or one before it; else 0. */
static uint32_t widens(const mg_graph *g, mg_tensor t) {
  const uint32_t op = mg_tensor_of(g, t)->op;
  int narrow = 0, wide = -1;
  for (int k = 0; op && k < g->ops[op].n_in; k++) {
    if (mg_tensor_shape(mg_tensor_of(g, g->ops[op].in[k])->dtype)) narrow = 1;
    else wide = k;
  }
  if (!op || wide < 0 || mg_is_cast(g->ops[op].code, NULL)) return 0;
  return narrow ? op : widens(g, g->ops[op].in[wide]);
}
/* Products of the program that multiply f32 by 16 bits, as a mask of f32 on scores of f16 makes them: tensor cores do
   not. */
static size_t mixed_lines(char *lines, size_t size, const mg_graph *p) {
  size_t n = 0;
  for (uint32_t k = 1; k < p->n_ops && n < size; k++) {
    const mg_op_node *o = &p->ops[k];
    if (o->code != MG_OP_MATMUL) continue;
    const int first = mg_tensor_shape(mg_tensor_of(p, o->in[0])->dtype) != NULL;
    if (first == (mg_tensor_shape(mg_tensor_of(p, o->in[1])->dtype) != NULL)) continue;
    const mg_tensor wide = o->in[first];
    const uint32_t at = widens(p, wide);
    n += (size_t)snprintf(lines + n, size - n, "# note: %.64s = matmul(..) multiplies %.64s, of f32, by 16 bits: %s",
                          mg_tensor_of(p, o->out[0])->name, mg_tensor_of(p, wide)->name, "without tensor cores");
    if (at && n < size)
      n += (size_t)snprintf(lines + n, size - n, ".  It is f32 since %.64s = %s(..), where f32 meets 16 bits; %s",
                            mg_tensor_of(p, p->ops[at].out[0])->name, mg_op_row(p->ops[at].code)->name,
                            "a cast to f16 of that lets them");
    if (n < size) n += (size_t)snprintf(lines + n, size - n, "\n");
  }
  return n < size ? n : size - 1;
}
/* `best`: g is what the search returns; of others runs say nothing that they have not said, as they may take all of the time. */
static void note_lines(char *lines, size_t size, runs *R, int best, const mg_graph *program, const mg_graph *g, const char *arch) {
  char name[65];
  size_t n = strlen(lines);
  n += mixed_lines(lines + n, size - n, program);
  const int open = overflows(g, arch, name, sizeof name);
  mg_safety_report r;
  mg_error e;
  const char *ran = NULL; /* runs say whether the program's own exponential is any better than one that nothing bounds */
  const int known = runs_at(R, runs_key(program, g));
  if (known < R->n) ran = R->line[known];
  if (best && (R->o->numerics || open)) ran = runs_of(R, program, g, NULL);
  if (ran) n += (size_t)snprintf(lines + n, size - n, "%s", ran);
  else if (mg_safety_of(program, g, open ? name : NULL, &r, &e) == MG_OK)
    n += (size_t)snprintf(lines + n, size - n, r.value[0] ? "# numerics: %s: value %s (%s)\n" : r.why[0] ? "# numerics: %s: %s%s\n" : "# numerics: %s%s%s\n", mg_safety_name(r.verdict), r.value, r.why);
  if (open)
    snprintf(lines + n, size - n, "# note: nothing is seen to bound s in %.64s = exp(s): it overflows where s passes 88 (f32; 11 where it is stored as f16).  A stable softmax: E = exp(sub(S, max(S, dim=D))), O = div(E, sum(E, dim=D))\n", name);
}
static int on_wary(void *user, const mg_graph *g) {
  char name[65];
  return overflows(g, (const char *)user, name, sizeof name);
}

typedef struct { char *s; size_t n; } joined;
static int put_text(joined *t, const char *a, const char *b) {
  const size_t na = strlen(a), nb = strlen(b);
  char *more = (char *)realloc(t->s, t->n + na + nb + 1);
  if (!more) return 0;
  memcpy(more + t->n, a, na), memcpy(more + t->n + na, b, nb + 1);
  t->s = more, t->n += na + nb;
  return 1;
}
/* "n in 1..8, p in 17..64", or "n = 1, p = 64": bounds of symbols, or values of them. */
static void put_symbols(joined *t, const mg_graph *g, const int64_t *least, const int64_t *most) {
  char one[120];
  for (uint32_t k = 0; k < g->n_symbols; k++) {
    if (least == most) snprintf(one, sizeof one, "%.60s = %lld", g->symbol[k].name, (long long)least[k]);
    else snprintf(one, sizeof one, "%.60s in %lld..%lld", g->symbol[k].name, (long long)least[k], (long long)most[k]);
    put_text(t, k ? ", " : "", one);
  }
}
/* ", where no n changes a row's bits": of symbols that nothing sums over, asked for that; "" where there are none. */
static void invariant_text(const mg_graph *g, char *text, size_t size) {
  uint8_t contracted[MG_MAX_SYMBOLS];
  mg_error ignored;
  size_t n = 0;
  text[0] = 0;
  if (mg_contracted(g, contracted, &ignored) != MG_OK) return;
  for (uint32_t k = 0; k < g->n_symbols && n < size; k++)
    if (!contracted[k])
      n += (size_t)snprintf(text + n, size - n, "%s%.60s", n ? " and no " : ", where no ", g->symbol[k].name);
  if (n && n < size) snprintf(text + n, size - n, " changes a row's bits");
}
/* 1 if the file at `path` begins so, and has the program of that name. */
static int is_result_of(const char *path, const char *name, const char *first) {
  struct stat at;
  char line[80];
  size_t n = 0;
  int code = 0;
  if (lstat(path, &at) || !S_ISREG(at.st_mode) || access(path, R_OK)) return 0;
  char *text = read_all(path, &n, &code);
  snprintf(line, sizeof line, "\nprogram %.64s\n", name);
  const int is = text && !strncmp(text, first, strlen(first)) && strstr(text, line);
  free(text);
  return is;
}
/* Removes what an earlier search of a program of this name left in the directory, and this one may not write again. */
static void remove_earlier(const char *directory, const char *name) {
  char path[1024];
  for (int k = 0; k <= MG_MAX_RANGES; k++) {
    if (k) snprintf(path, sizeof path, "%s/00.%d.cert", directory, k);
    else snprintf(path, sizeof path, "%s/00.cert", directory);
    if (is_result_of(path, name, "mirage certificate ")) remove(path);
  }
  for (int k = 1; k < MOST_TOP; k++) {
    snprintf(path, sizeof path, "%s/%02d.mg", directory, k);
    if (is_result_of(path, name, "# verdict: ")) remove(path);
  }
}

/* A program with a symbol: ranges of it with a µGraph each, in one text, and their certificates. */
static int search_family(const options *o, const mg_graph *program, const mg_search_config *c, const mg_verify_config *vc) {
  mg_error e;
  mg_family_result r;
  char lines[4096], path[1024], name[80];
  int code = 0;
  mg_status s = mg_search_family(program, c, vc, &r, &e);
  if (c->progress) fputs("\r\033[K", stderr);
  if (s != MG_OK) return report(s, &e);
  joined all = {NULL, 0}, said = {NULL, 0};
  int64_t least[MG_MAX_SYMBOLS], most[MG_MAX_SYMBOLS];
  if (o->out) remove_earlier(o->out, program->name);
  for (int k = 0; k < r.n && !code; k++) {
    mg_range *range = &r.range[k];
    char *text = NULL;
    size_t n = 0;
    if (r.n > 1) {
      snprintf(name, sizeof name, "%.60s_%d", program->name, k + 1);
      s = mg_rename(range->graph, name, &e);
    }
    for (uint32_t j = 0; j < program->n_symbols; j++)
      least[j] = program->symbol[j].least, most[j] = program->symbol[j].last;
    free(said.s), memset(&said, 0, sizeof said);
    put_symbols(&said, program, least, most);
    if (!k) {
      char few[80] = "", cut[240], invariant[200] = "";
      cut_short(cut, sizeof cut, o, &r.cut, c, interrupted);
      if (c->batch_invariant) invariant_text(program, invariant, sizeof invariant);
      if (r.n > MG_FEW_RANGES) snprintf(few, sizeof few, ", as %d would lose %.1f %%", MG_FEW_RANGES, 100 * r.few_lose);
      n += (size_t)snprintf(lines, sizeof lines, "# ranges: %d of %.300s%s, by %s on %s within %.1f %% of the best found at each size priced%s; ",
                            r.n, said.s ? said.s : "", invariant, r.timed ? "cold times" : "the model", c->machine->name, 100 * r.loss, few);
      n += (size_t)snprintf(lines + n, sizeof lines - n, "%d sizes searched, %d families%s%s%.200s; %.1f s\n", r.searches, r.families, cut,
                            r.unmeasured[0] ? "; not timed: " : "", r.unmeasured, r.seconds);
    }
    n += (size_t)snprintf(lines + n, sizeof lines - n, "# range %d: ", k + 1);
    for (int j = 0; j < 3; j++) {
      free(said.s), memset(&said, 0, sizeof said);
      if (!j) put_symbols(&said, program, range->least, range->most);
      else if (program->n_symbols > 1) put_symbols(&said, program, range->sizes[j - 1], range->sizes[j - 1]);
      else snprintf(name, sizeof name, "%lld", (long long)range->sizes[j - 1][0]), put_text(&said, name, "");
      if (j) n += (size_t)snprintf(lines + n, sizeof lines - n, "%s%.2f us at ", j > 1 ? ", " : "; predicted: ", range->predicted_us[j - 1]);
      n += (size_t)snprintf(lines + n, sizeof lines - n, "%.300s", said.s ? said.s : "");
    }
    if (range->timed_us[0] > 0) n += (size_t)snprintf(lines + n, sizeof lines - n, "; timed: %.2f us, %.2f us", range->timed_us[0], range->timed_us[1]);
    if (mg_library_multiplies(range->graph)) n += (size_t)snprintf(lines + n, sizeof lines - n, "; a row's bits may differ from size to size, by cuBLAS");
    n += (size_t)snprintf(lines + n, sizeof lines - n, "\n# numerics: ");
    free(said.s), memset(&said, 0, sizeof said);
    put_symbols(&said, program, range->safe_at, range->safe_at);
    if (!range->safe_at[0]) n += (size_t)snprintf(lines + n, sizeof lines - n, "the program as it is written\n");
    else n += (size_t)snprintf(lines + n, sizeof lines - n, "%s at %.200s%s\n", mg_safety_name((mg_safety)range->safety), said.s ? said.s : "",
                               range->safety == MG_SAFETY_OPEN ? " by bounds; no run refutes it" : "");
    mg_graph *p = NULL;
    if (s == MG_OK) s = mg_within_of(program, range->graph, &p, &e);
    if (s == MG_OK) verdict_lines(lines + n, sizeof lines - n, &range->report, p, range->graph);
    if (s == MG_OK) s = mg_print(range->graph, &text, &e);
    if (s == MG_OK && !put_text(&all, lines, text)) s = mg_fail(&e, MG_NO_MEMORY, "search", "no memory for the text");
    mg_string_free(text);
    text = NULL;
    if (s == MG_OK && o->out) {
      s = mg_certificate(p, range->graph, &range->report, &text, &e);
      snprintf(path, sizeof path, "%s/00.%d.cert", o->out, k + 1);
      if (s == MG_OK) code = write_all(path, NULL, text);
      mg_string_free(text);
    }
    mg_graph_free(p);
    if (s != MG_OK) code = report(s, &e);
  }
  if (!code) code = write_all(NULL, NULL, all.s);
  if (!code && o->out) {
    snprintf(path, sizeof path, "%s/00.mg", o->out);
    code = write_all(path, NULL, all.s);
  }
  free(all.s), free(said.s);
  mg_family_result_free(&r);
  return code;
}

/* The machine that a search is for; 0, or the exit status. */
static int search_machine(const options *o, const char *where, const mg_machine **m) {
  char known[MG_MACHINE_LIST];
  mg_error e;
  *m = o->machine ? o->machine : o->arch ? mg_machine_find(o->arch) : mg_machine_at(0);
  if (*m) return 0;
  mg_machine_list(0, known);
  mg_fail(&e, MG_BAD_INPUT, where, "--arch: '%.40s' is no GPU or architecture of the table: %s", o->arch, known);
  return report(MG_BAD_INPUT, &e);
}
/* The directory of --cache, made if it is not there; 0, or the exit status. */
static int search_cache(const options *o) {
  struct stat at;
  if (!o->cache) return 0;
  int bad = mkdir(o->cache, 0777) != 0 && errno != EEXIST ? errno : stat(o->cache, &at) ? errno : S_ISDIR(at.st_mode) ? 0 : ENOTDIR;
  return bad ? fault(MG_MACHINE, o->cache, strerror(bad)) : 0;
}
static int do_search(const options *o) {
  static timed times;
  static runs safety;
  mg_error e;
  mg_graph *program = NULL;
  mg_search_config c = mg_search_config_default();
  mg_verify_config vc = mg_verify_config_default();
  mg_search_result res;
  char lines[4096], path[1024], cut[240];
  int code = 0;
  memset(&res, 0, sizeof res), memset(&times, 0, sizeof times), memset(&safety, 0, sizeof safety); /* a process may search twice */
  if ((code = search_machine(o, "search", &c.machine)) != 0) return code;
  if (o->threads) c.threads = (int)o->threads;
  if (o->max_kernel_ops) c.max_kernel_ops = (int)o->max_kernel_ops;
  if (o->max_block_ops) c.max_block_ops = (int)o->max_block_ops;
  if (o->max_loops) c.max_loops = (int)o->max_loops;
  c.checkpoint = o->checkpoint, c.cache = o->cache;
  /* The search leaves a tenth to what comes behind it, certificates and runs, which end a tenth and some seconds past the limit. */
  const double limit = o->no_limit ? 0 : o->time_limit > 0 ? o->time_limit : SEARCH_S;
  c.time_limit_s = limit - fmin(limit / 10, 6);
  safety.until = limit > 0 ? now() + 1.1 * limit + PAST_S : 0;
  if (o->no_prune) c.prune = 0;
  c.allow_sampled = o->allow_sampled;
  if (o->seeded) c.seed = vc.seed = o->seed;
  const int most = o->top > 0 ? (int)o->top : TOP;
  c.top_k = most < TOP ? TOP : most; /* behind the first, that may not pass the tests, there are others */
  if (o->log2_delta < 0) vc.log2_delta = o->log2_delta;
  vc.threads = (int)o->threads;
  c.user = (void *)(uintptr_t)c.machine->arch;
  c.emittable = may_emit;
  times.arch = c.machine->arch, times.quiet = !isatty(2);
  times.until = &safety.until;
  safety.o = o, safety.arch = c.machine->arch, safety.seconds = limit;
  c.wary = on_wary, c.unsafe = o->unsafe, c.batch_invariant = o->batch_invariant, c.settle = on_settle, c.settle_user = &safety;
  if (!o->no_measure) c.measure = on_measure, c.measure_all = on_measure_all, c.measure_user = &times;
  c.stop = &interrupted;
  double started_all = now();
  vc.user = &started_all;
  if (isatty(2)) c.progress = on_progress, vc.progress = on_test;
  mg_status s = mg_parse_file(o->file[0], NULL, &program, &e);
  int one = 1;
  if (s == MG_OK) s = at_given(o, &program, &one, &e); /* at one size, as any program */
  if (s != MG_OK) { mg_graph_free(program); return report(s, &e); }
  if (!mg_is_program(program)) { mg_graph_free(program); return fault(MG_BAD_INPUT, o->file[0], "expected a program without kernels, found a µGraph"); }
  const int family = program->n_symbols > 0;
  if (o->out && (code = make_directory(o->out)) != 0) { mg_graph_free(program); return code; }
  if ((code = search_cache(o)) != 0) { mg_graph_free(program); return code; }
  signal(SIGINT, on_interrupt), signal(SIGTERM, on_interrupt);
  if (family && (o->stats || o->checkpoint || o->numerics)) {
    mg_graph_free(program);
    return fault(MG_BAD_INPUT, "search", "of a program with a symbol there is no --stats, --checkpoint or --numerics: --sym n=N searches it at one size");
  }
  if (family) {
    if (limit > 0) vc.time_limit_s = safety.until - now() - c.time_limit_s;
    code = search_family(o, program, &c, &vc);
    mg_graph_free(program);
    return code;
  }
  s = mg_search(program, &c, &res, &e);
  const int halted = interrupted; /* the next one is the certificate's */
  interrupted = 0;
  cut_short(cut, sizeof cut, o, &res.stats, &c, halted);
  if (c.progress) fputs("\r\033[K", stderr);
  if (res.stats.checkpoint_lost) fprintf(stderr, "mirage: %s: the checkpoint cannot be written; what it held before stands\n", o->checkpoint);
  if (*res.stats.cache_note) fprintf(stderr, "mirage: %s\n", res.stats.cache_note);
  double started = now();
  /* The certificate run, of the full tier.  An interrupt of the search leaves it its time, one of its own ends it. */
  vc.stop = &interrupted;
  if (limit > 0) vc.time_limit_s = fmax(fmax(safety.until - now(), PAST_S), fmin(limit, CERTIFY_S));
  int undecided = 0;
  char why[256] = "";
  if (s == MG_OK) s = mg_search_certify(program, &c, &vc, o->out ? (most < res.n ? most : res.n) : 1, &res, &undecided, why, &e);
  double verify_seconds = now() - started;
  if (vc.progress) fputs("\r\033[K", stderr);
  const mg_verify_report *first = res.n ? &res.report[0] : NULL;
  const int unkept = o->stats ? write_stats(o->stats, program->name, c.machine->name, &res.stats, first, verify_seconds) : 0; /* what cannot take the statistics takes nothing else */
  if (undecided && s == MG_OK) fprintf(stderr, "mirage: search: %d candidate%s left out, not certified: %s\n", undecided, undecided == 1 ? " is" : "s are", why);
  if (s != MG_OK) code = report(s, &e);
  else if (o->out) remove_earlier(o->out, program->name);
  for (int k = 0; s == MG_OK && !code && k < res.n; k++) { /* files by rank: the result comes first */
    const mg_verify_report *r = &res.report[k];
    const int certified = r->verdict == MG_EQUAL;
    char *text = NULL;
    verdict_lines(lines, sizeof lines, r, program, res.graph[k]);
    time_lines(lines, sizeof lines, &res, k, c.machine->name, &times, certified, cut);
    note_lines(lines, sizeof lines, &safety, k == 0, program, res.graph[k], c.machine->arch);
    mg_status p = mg_print(res.graph[k], &text, &e);
    if (p != MG_OK) { code = report(p, &e); break; }
    if (k == 0) code = write_all(NULL, lines, text);
    if (!code && o->out) {
      snprintf(path, sizeof path, "%s/%02d.mg", o->out, k);
      code = write_all(path, lines, text);
    }
    mg_string_free(text);
    if (!code && o->out && k == 0 && certified) {
      text = NULL;
      p = mg_certificate(program, res.graph[k], r, &text, &e);
      snprintf(path, sizeof path, "%s/00.cert", o->out);
      code = p == MG_OK ? write_all(path, NULL, text) : report(p, &e);
      mg_string_free(text);
    }
    if (!o->out) break;
  }
  if (!o->out && !code && res.n > 1 && res.report[res.n - 1].verdict == MG_EQUAL_SAMPLED)
    fprintf(stderr, "mirage: search: a faster one agrees in tests alone (EQUAL_SAMPLED): -o DIR keeps it behind what is EQUAL\n");
  if (first && first->verdict != MG_EQUAL && !code && !unkept) {
    mg_fail(&e, MG_UNSUPPORTED, "search", "%.200s", first->reason);
    code = report(MG_UNSUPPORTED, &e);
  }
  mg_search_result_free(&res);
  mg_graph_free(program);
  return code ? code : unkept;
}

/* ---- import */

/* One .mg a µGraph.  One that our form cannot hold is said and passed over (2 in the end); a malformed one ends it (3). */
static int do_import(const options *o) {
  mg_error e;
  import_file *f = NULL;
  char path[1024], head[400], name[80];
  size_t len;
  int n = 0, code = 0, wrote = 0;
  char *text = read_all(o->file[0], &len, &code);
  if (!text) return code;
  mg_status s = import_open(text, len, o->file[0], &f, &n, &e);
  free(text);
  if (s != MG_OK) return report(s, &e);
  const char *base = strrchr(o->file[0], '/');
  base = base ? base + 1 : o->file[0];
  snprintf(name, sizeof name, "%.*s", (int)strcspn(base, "."), base);
  if (!o->out && n > 1) {
    mg_fail(&e, MG_BAD_INPUT, o->file[0], "holds %d µGraphs: say -o DIR", n);
    code = report(MG_BAD_INPUT, &e);
  } else if (o->out) code = make_directory(o->out);
  for (int k = 0; k < n && (!code || code == 2); k++) {
    mg_graph *g = NULL;
    char *mg = NULL;
    int written;
    s = import_graph(f, k, name, NULL, &g, &e);
    if (s == MG_OK) s = mg_print(g, &mg, &e);
    if (s == MG_OK) {
      snprintf(head, sizeof head, "# verdict: none: imported, not verified\n# source: µGraph %d of %d in ", k, n);
      size_t at = strlen(head);
      for (const char *c = base; *c && at + 2 < sizeof head; c++) head[at++] = (unsigned char)*c < 32 ? '?' : *c;
      head[at++] = '\n', head[at] = 0;
      if (o->out && snprintf(path, sizeof path, "%s/%02d.mg", o->out, k) >= (int)sizeof path) written = fault(MG_BAD_INPUT, "import", "the directory's name is too long");
      else written = write_all(o->out ? path : NULL, head, mg);
      if (written) code = written;
      else wrote++;
    } else code = report(s, &e);
    mg_string_free(mg);
    mg_graph_free(g);
  }
  import_close(f);
  if (o->out && (!code || code == 2)) printf("%d of %d µGraphs written to %s\n", wrote, n, o->out);
  return code;
}

/* ---- emit, check, run: FILE is a .mg, or an emitted file, which holds its µGraph */

/* The comment lines above `program` that speak of a verdict, if their hash is g's; malloc'ed, NULL if there are none. */
static char *known_verdict(const char *text, const mg_graph *g) {
  char hash[40], *out = (char *)malloc(strlen(text) + 2), *w = out;
  int match = 0;
  if (!out) return NULL;
  snprintf(hash, sizeof hash, "# hash: %016llx", (unsigned long long)mg_hash(g));
  while (*text == '#' || *text == '\n') {
    const char *end = strchr(text, '\n');
    size_t n = end ? (size_t)(end - text) : strlen(text);
    if (n == strlen(hash) && !memcmp(text, hash, n)) match = 1;
    if (n > 2 && !strstr(text, "*/")) { memcpy(w, text + 2, n - 2); w += n - 2; *w++ = '\n'; }
    if (!end) break;
    text = end + 1;
  }
  *w = 0;
  if (!match) { free(out); return NULL; }
  return out;
}

/* g and the emitted text of a .mg or .cu file. */
typedef struct loaded { mg_graph *range[MG_MAX_RANGES]; int n; char *cu; } loaded; /* several: ranges of a symbol */
static void unload(loaded *l) {
  while (l->n > 0) mg_graph_free(l->range[--l->n]);
  free(l->cu);
}
/* sized: --sym says which member it is, emitted as any graph; else where to run it. */
static int load(const options *o, int sized, loaded *l, mg_error *e) {
  int code = 0;
  size_t n;
  char *text = read_all(o->file[0], &n, &code);
  memset(l, 0, sizeof *l);
  if (!text) return code;
  mg_status s;
  if (is_emitted(o->file[0])) {
    s = mg_cuda_source_graphs(text, n, l->range, &l->n, e);
    if (s == MG_OK && sized && o->n_syms) s = mg_fail(e, MG_BAD_INPUT, o->file[0], "--sym: an emitted file is checked at the sizes that its chunks ask for");
    if (s == MG_OK) { l->cu = text; return 0; }
  } else {
    options none = *o;
    if (!sized) none.n_syms = 0;
    s = parse_sized(&none, text, n, l->range, &l->n, e);
    if (s == MG_OK) {
      mg_emit_config c;
      char *verdict[MG_MAX_RANGES] = {NULL};
      memset(&c, 0, sizeof c);
      c.arch = o->arch;
      const char *at = strlen(text) == n ? text : NULL;
      for (int k = 0; k < l->n && at && !(sized && o->n_syms); k++) { /* each range has its lines before it */
        verdict[k] = known_verdict(at, l->range[k]);
        at = strstr(at, "\noutput ");
        at = at ? strstr(at, "\n#") : NULL;
        if (at) at++;
      }
      for (int k = 0; k < l->n && s == MG_OK; k++) s = mg_verify_rows(l->range[k], e);
      if (s == MG_OK)
        s = mg_cuda_emit_ranges((const mg_graph *const *)l->range, l->n, &c, (const char *const *)verdict, &l->cu, e);
      for (int k = 0; k < l->n; k++) free(verdict[k]);
    }
  }
  free(text);
  if (s == MG_OK) return 0;
  unload(l);
  return report(s, e);
}

/* ---- explain: of every kernel of a µGraph what it is, where its values live, and what its time is made of */

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

/* Of one kernel, or library operator, alone: call `number` of a launch. */
static void explain_call(FILE *f, int json, const mg_run_report *r, int number) {
  if (!r || number >= r->n_calls) return;
  const double cold = r->call_us_cold[number], hot = r->call_us_hot[number];
  if (json) fprintf(f, ", \"measured_us_cold\": %.4f, \"measured_us_hot\": %.4f", cold, hot);
  else fprintf(f, "  measured alone: %.2f us, %.2f us with a warm L2 cache\n", cold, hot);
}

/* r: its times as call `call` of a launch, or NULL. */
static void explain_kernel(FILE *f, const mg_machine *m, int number, const char *makes, const mg_kernel_facts *p, const mg_cuda_kernel *k,
                           const mg_run_report *r, int call) {
  fprintf(f, "\nkernel %d, makes %s: %.2f us by the model, bound by %s\n", number, makes, p->cost.total_us, bound_by(&p->cost));
  explain_call(f, 0, r, call);
  if (p->cost.total_us >= 1e9) fprintf(f, "  its plan does not fit %s: shared memory %lld bytes of %lld, or registers\n", m->name, (long long)p->plan.shared, (long long)m->shared_per_block);
  fprintf(f, "  floor: %.2f us, %.0f bytes of device memory at %.0f GB/s\n", p->cost.dram_us, p->dram_bytes, m->dram_gbps);
  fprintf(f, "  moves %.0f bytes through L2, %.3g operations of tensor cores\n", p->l2_bytes, p->flops);
  fprintf(f, "  %lld blocks, %lld of them share a result; %lld steps each; %.0f a multiprocessor, %.0f at once\n", (long long)p->blocks, (long long)p->group, (long long)p->steps, p->waves, p->resident);
  explain_cost(f, &p->cost);
  if (!k) return;
  fprintf(f, "  a block: %d threads, warps %d x %d x %d (rows, columns, contraction), %d stages, %lld bytes of shared memory, comes to %lld barriers\n", k->takes.threads, k->warps_m, k->warps_n, k->warps_k, k->takes.stages,
          (long long)k->takes.shared_bytes, (long long)k->takes.barriers);
  fprintf(f, "  ring=%s mma=%s copy=%s chain=%s merge=%s schedule=%s\n", k->ring, k->mma, k->copy, k->chain, k->merge, k->schedule);
  fprintf(f, "  accumulators take %d registers a thread, which has at most %d: %d block%s a multiprocessor by the launch bound\n",
          k->takes.accumulators, k->takes.registers, k->takes.blocks, k->takes.blocks == 1 ? "" : "s");
  if (k->dealt) fprintf(f, "  at most %d once the warpgroup that copies has given up its own\n", k->dealt);
  explain_values(f, k);
}

static void explain_kernel_json(FILE *f, int number, const char *makes, const mg_kernel_facts *p, const mg_cuda_kernel *k,
                                const mg_run_report *r, int call) {
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
  fprintf(f, "\"unhidden\": %.4f, \"penalty\": %.4f, \"total\": %.4f}", p->cost.unhidden, p->cost.penalty, p->cost.total_us);
  if (k) {
    fprintf(f, ", \"threads\": %d, \"stages\": %d, \"warps\": [%d, %d, %d], \"shared_bytes\": %lld, \"barriers\": %lld, \"registers\": %d", k->takes.threads, k->takes.stages, k->warps_m, k->warps_n, k->warps_k,
            (long long)k->takes.shared_bytes, (long long)k->takes.barriers, k->takes.accumulators);
    fprintf(f, ", \"registers_most\": %d, \"blocks_at_once\": %d", k->takes.registers, k->takes.blocks);
    fprintf(f, ", \"ring\": \"%s\", \"mma\": \"%s\", \"copy\": \"%s\", \"chain\": \"%s\", \"merge\": \"%s\", \"schedule\": \"%s\", \"values\": [", k->ring, k->mma, k->copy, k->chain, k->merge, k->schedule);
    for (int t = 0; t < k->n_values; t++) {
      const mg_cuda_value *v = &k->value[t];
      fprintf(f, "%s{\"name\": ", t ? ", " : "");
      json_string(f, v->name);
      fprintf(f, ", \"op\": \"%s\", \"rows\": %d, \"cols\": %d, \"in_loop\": %s, \"lives\": \"%s\", \"bytes\": %lld}", v->op, v->rows, v->cols, v->in_loop ? "true" : "false", v->lives, (long long)v->bytes);
    }
    fputs("]", f);
  }
  explain_call(f, 1, r, call);
  fputs("}", f);
}

/* Microseconds of g, its kernels under their own plans; k: as they are emitted, or NULL. */
static double planned_us(const mg_machine *m, const mg_graph *g, const mg_cuda_kernel *k) {
  double us = 0;
  int number = 0;
  mg_kernel_facts p;
  for (uint32_t i = 1; i < g->n_ops; i++) {
    if (g->ops[i].code != MG_OP_GRAPH) {
      us += mg_library_us(g, &g->ops[i], m);
      continue;
    }
    const int fits = mg_kernel_facts_taking(g, i, m, k ? &k[number].takes : NULL, &p);
    us += fits ? p.cost.total_us : 1e6; /* as mg_predict_us has what is too large */
    number++;
  }
  return us;
}

/* What g takes on the GPU that is here, after its numbers were compared with float64; MG_MACHINE where there is none. */
static mg_status explain_measure(const mg_machine *m, const mg_graph *g, mg_run_report *r, mg_error *e) {
  mg_emit_config how;
  mg_run_config c;
  char *cu = NULL;
  memset(&how, 0, sizeof how);
  memset(&c, 0, sizeof c);
  memset(r, 0, sizeof *r);
  how.arch = c.arch = m->arch;
  c.cold = 1;
  c.calls = 1;
  mg_status s = mg_cuda_emit(g, &how, &cu, e);
  if (s == MG_OK) s = mg_cuda_run(g, cu, &c, r, e);
  mg_string_free(cu);
  return s;
}

/* r NULL: it was not measured, `why` says why. */
static void explain_measured(FILE *f, int json, const mg_run_report *r, const char *why) {
  if (json && r) {
    fputs(", \"measured\": {\"gpu\": ", f);
    json_string(f, r->gpu);
    fprintf(f, ", \"us_cold\": %.4f, \"us_hot\": %.4f}", r->us_cold, r->us_hot);
  } else if (json) {
    fputs(", \"measured\": null, \"not_measured\": ", f);
    json_string(f, why);
  } else if (r) fprintf(f, "measured on %s: %.2f us, %.2f us with a warm L2 cache\n", r->gpu, r->us_cold, r->us_hot);
  else fprintf(f, "not measured: %s\n", why);
}

/* ---- pictures (SVG): a time line that begins at SVG_LEFT, rows of bars from SVG_TOP on */
enum { SVG_LEFT = 430, SVG_WIDTH = 760, SVG_TOP = 64, SVG_ROW = 34, SVG_BAR = 12 };

static void svg_text(FILE *f, int x, int y, const char *class, const char *text) {
  fprintf(f, "<text x='%d' y='%d' class='%s'>", x, y, class);
  for (; *text; text++) {
    const char *as = *text == '&' ? "&amp;" : *text == '<' ? "&lt;" : NULL;
    as ? fputs(as, f) : fputc(*text, f);
  }
  fputs("</text>\n", f);
}
static void svg_bar(FILE *f, double from, double us, double all, int y, const char *class) {
  fprintf(f, "<rect x='%.2f' y='%d' width='%.2f' height='%d' class='%s'/>\n", SVG_LEFT + from / all * SVG_WIDTH, y, us / all * SVG_WIDTH, SVG_BAR, class);
}
/* Ticks at 1, 2 or 5 times a power of ten, at most ten of them. */
static void svg_axis(FILE *f, double all, int y) {
  double tick = pow(10, floor(log10(all / 10)));
  while (all / tick > 10) tick *= all / tick > 20 ? 5 : 2;
  for (double at = 0; at <= all; at += tick) {
    const int x = (int)(SVG_LEFT + at / all * SVG_WIDTH);
    char text[32];
    snprintf(text, sizeof text, "%g us", at);
    fprintf(f, "<path d='M%d %dV%d' class='tick'/>\n", x, SVG_TOP - 6, y);
    svg_text(f, x + 3, y, "small", text);
  }
}
/* The picture that Graphviz makes of g, its <svg> element alone, or NULL; *width and *height in points. */
static char *dot_picture(const mg_graph *g, double *width, double *height) {
  char *text = NULL, *made = NULL, path[] = "/tmp/mirage_dot_XXXXXX", command[100];
  mg_error e;
  size_t n = 0;
  int code = 0;
  const int file = mkstemp(path);
  if (file < 0) return NULL;
  const int put = mg_dot(g, &text, &e) == MG_OK && write(file, text, strlen(text)) == (ssize_t)strlen(text);
  close(file);
  snprintf(command, sizeof command, "dot -Tsvg -o %s.svg %s 2>/dev/null", path, path);
  const int drawn = put && system(command) == 0;
  unlink(path);
  strcpy(command, path), strcat(command, ".svg");
  if (drawn) made = read_all(command, &n, &code);
  unlink(command);
  mg_string_free(text);
  char *begin = made ? strstr(made, "<svg") : NULL;
  if (begin && sscanf(begin, "<svg width=\"%lfpt\" height=\"%lfpt\"", width, height) == 2) memmove(made, begin, strlen(begin) + 1);
  else free(made), made = NULL;
  return made;
}
/* What --svg of explain is drawn from.  program: as written, or NULL; r: measured, or NULL. */
typedef struct explained {
  const mg_machine *m;
  const mg_graph *program, *g;
  const mg_cuda_kernel *k;
  const mg_run_report *r;
} explained;
static const char *const term_class[] = { "launch", "fill", "body", "steps", "barriers", "rounds", "merge", "drain" };
/* A row: the kernel's terms one after the other; below, what was measured of it alone.  The time where it ends. */
static double svg_kernel(FILE *f, const explained *x, int number, const mg_op_node *o, const mg_kernel_facts *p, double at, double span, int call) {
  const int y = SVG_TOP + call * SVG_ROW;
  char line[200];
  int t = 0;
  double end = at;
  snprintf(line, sizeof line, "kernel %d, makes %s: %lld blocks of %d threads, %lld steps", number, x->g->tensors[o->out[0].id].name, (long long)p->blocks, o->sub->threads, (long long)p->steps);
  svg_text(f, 8, y + 11, "name", line);
  int n = snprintf(line, sizeof line, "%.2f us by the model: %s", p->cost.total_us, bound_by(&p->cost));
  if (x->r && call < x->r->n_calls) snprintf(line + n, sizeof line - (size_t)n, "; alone %.2f us", x->r->call_us_cold[call]);
  svg_text(f, 8, y + 24, "small", line);
#define TERM(id, text) svg_bar(f, end, p->cost.id##_us, span, y, term_class[t++]), end += p->cost.id##_us;
  MG_COST_TERMS(TERM)
#undef TERM
  if (x->r && call < x->r->n_calls) svg_bar(f, at, x->r->call_us_cold[call], span, y + SVG_BAR + 2, "measured");
  return end;
}
static double svg_library(FILE *f, const explained *x, const mg_op_node *o, double at, double span, int call) {
  const int y = SVG_TOP + call * SVG_ROW;
  const double us = mg_library_us(x->g, o, x->m);
  char line[200];
  snprintf(line, sizeof line, "%s, makes %s: a library kernel", mg_op_row(o->code)->name, x->g->tensors[o->out[0].id].name);
  svg_text(f, 8, y + 11, "name", line);
  snprintf(line, sizeof line, "%.2f us by the model", us);
  svg_text(f, 8, y + 24, "small", line);
  svg_bar(f, at, us, span, y, "library");
  if (x->r && call < x->r->n_calls) svg_bar(f, at, x->r->call_us_cold[call], span, y + SVG_BAR + 2, "measured");
  return at + us;
}
/* Kernels and library operators as a time line, from SVG_TOP on; the number of its rows. */
static int svg_calls(FILE *f, const explained *x, double span) {
  int call = 0, number = 0;
  double at = 0;
  for (uint32_t i = 1; i < x->g->n_ops; i++) {
    const mg_op_node *o = &x->g->ops[i];
    mg_kernel_facts p;
    if (o->code != MG_OP_GRAPH) {
      if (!mg_renames(x->g, i)) at = svg_library(f, x, o, at, span, call++);
      continue;
    }
    if (mg_kernel_facts_taking(x->g, i, x->m, x->k ? &x->k[number].takes : NULL, &p))
      at = svg_kernel(f, x, number, o, &p, at, span, call);
    number++, call++;
  }
  return call;
}
static void svg_legend(FILE *f, const explained *x) {
  int at = 8, t = 0;
  char line[300];
  snprintf(line, sizeof line, "%.60s on %.60s", x->g->name, x->m->name);
  svg_text(f, 8, 20, "title", line);
#define TERM(id, text) fprintf(f, "<rect x='%d' y='31' width='10' height='10' class='%s'/>\n", at, term_class[t++]), svg_text(f, at + 13, 40, "small", #id), at += 70;
  MG_COST_TERMS(TERM)
#undef TERM
  snprintf(line, sizeof line, x->r ? "measured, each alone, on %.60s" : "not measured%.0s", x->r ? x->r->gpu : "");
  fprintf(f, "<rect x='%d' y='31' width='10' height='10' class='measured'/>\n", at);
  svg_text(f, at + 13, 40, "small", line);
}
/* The time line; below, where Graphviz is installed, the program and what was found. */
static mg_status explain_svg(const char *path, const explained *x, mg_error *e) {
  double size[2][2] = {{0, 0}, {0, 0}}, span = planned_us(x->m, x->g, x->k), measured = 0;
  int rows = 0;
  for (int k = 0; x->r && k < x->r->n_calls; k++) measured += x->r->call_us_cold[k];
  span = fmin(fmax(fmax(span, measured), 1e-3), 1e6);
  for (uint32_t i = 1; i < x->g->n_ops; i++) rows += x->g->ops[i].code == MG_OP_GRAPH || !mg_renames(x->g, i);
  char *drawn[2] = {x->program ? dot_picture(x->program, &size[0][0], &size[0][1]) : NULL, dot_picture(x->g, &size[1][0], &size[1][1])};
  FILE *f = fopen(path, "wb");
  if (!f) {
    free(drawn[0]), free(drawn[1]);
    return mg_fail(e, MG_MACHINE, path, "cannot be written: %s", strerror(errno));
  }
  const int bottom = SVG_TOP + rows * SVG_ROW;
  const double wide = fmax(SVG_LEFT + SVG_WIDTH + 60, (size[0][0] + size[1][0]) * 4 / 3 + 60);
  const double high = bottom + 30 + fmax(size[0][1], size[1][1]) * 4 / 3;
  fprintf(f, "<svg xmlns='http://www.w3.org/2000/svg' xmlns:xlink='http://www.w3.org/1999/xlink' width='%.0f' height='%.0f' font-family='sans-serif'>\n", wide, high);
  fputs("<style>.title{font-size:15px;font-weight:bold}.name{font-size:11px}.small{font-size:10px;fill:#555}.tick{stroke:#ddd}\n"
        ".measured{fill:#2b6cb0}.launch{fill:#999}.fill{fill:#c9b458}.body{fill:#f0a75a}.steps{fill:#7fb685}.barriers{fill:#b07aa1}\n"
        ".rounds{fill:#8c6d46}"
        ".merge{fill:#e15759}.drain{fill:#76b7b2}.library{fill:#ccc}</style>\n", f);
  fprintf(f, "<rect width='%.0f' height='%.0f' fill='white'/>\n", wide, high);
  svg_legend(f, x);
  svg_axis(f, span, bottom);
  svg_calls(f, x, span);
  double left = 20;
  for (int k = 0; k < 2; k++) {
    if (!drawn[k]) continue;
    fprintf(f, "<g transform='translate(%.0f %d)'>\n%s</g>\n", left, bottom + 20, drawn[k]);
    left += size[k][0] * 4 / 3 + 20;
    free(drawn[k]);
  }
  fputs("</svg>\n", f);
  const int bad = ferror(f);
  if (fclose(f) || bad) return mg_fail(e, MG_MACHINE, path, "cannot be written: %s", strerror(errno));
  return MG_OK;
}

static void explain_graph(FILE *f, int json, const mg_machine *m, const mg_graph *g, const mg_cuda_kernel *k, const char *refused,
                          const mg_run_report *r, const char *why) {
  int number = 0, call = 0;
  if (json) {
    fputs("{\"program\": ", f);
    json_string(f, g->name);
    fprintf(f, ", \"machine\": \"%s\", \"arch\": \"%s\", \"source\": ", m->name, m->arch);
    json_string(f, m->source);
    fprintf(f, ", \"predicted_us\": %.4f, \"refused\": ", planned_us(m, g, k));
    if (refused) json_string(f, refused);
    else fputs("null", f);
    if (!refused) explain_measured(f, 1, r, why);
    fputs(", \"parts\": [", f);
  } else {
    fprintf(f, "program %s on %s (%s; its rates: %s): %.2f us by the model\n", g->name, m->name, m->arch, m->source, planned_us(m, g, k));
    if (refused) fprintf(f, "the emitter refuses it: %s\nwhat follows is the price of what would not be written\n", refused);
    else explain_measured(f, 0, r, why);
  }
  for (uint32_t i = 1; i < g->n_ops; i++) {
    const mg_op_node *o = &g->ops[i];
    const char *makes = g->tensors[o->out[0].id].name;
    mg_kernel_facts p;
    if (json) fputs(i > 1 ? ", " : "", f);
    if (o->code != MG_OP_GRAPH) {
      const char *name = mg_op_row(o->code)->name;
      const double us = mg_library_us(g, o, m);
      const int renames = mg_renames(g, i);
      const uint32_t product = mg_library_taker(g, i);
      if (json && renames) fprintf(f, "{\"name\": \"%s\", \"of\": \"%s\"", makes, g->tensors[o->in[0].id].name);
      else if (json) fprintf(f, "{\"library\": \"%s\", \"makes\": \"%s\", \"us\": {\"total\": %.4f}", name, makes, us);
      else if (renames)
        fprintf(f, "\n%s: %s %s, and no kernel\n", makes, mg_slice_is_address(g, i) ? "a part of" : "another name of",
                g->tensors[o->in[0].id].name);
      else if (product)
        fprintf(f, "\n%s, makes %s: by the call that makes %s where cuBLAS is found, else a library kernel; %.2f us by the model\n", name, makes,
                g->tensors[g->ops[product].out[0].id].name, us);
      else fprintf(f, "\n%s, makes %s: a library kernel over whole tensors, %.2f us by the model\n", name, makes, us);
      if (!renames) explain_call(f, json, r, call++);
      fputs(json ? "}" : "", f);
      continue;
    }
    if (!mg_kernel_facts_taking(g, i, m, k ? &k[number].takes : NULL, &p)) {
      if (json) fprintf(f, "{\"kernel\": %d, \"makes\": \"%s\", \"too_large\": true}", number, makes);
      else fprintf(f, "\nkernel %d, makes %s: too large for the model\n", number, makes);
    } else if (json) explain_kernel_json(f, number, makes, &p, k ? &k[number] : NULL, r, call);
    else explain_kernel(f, m, number, makes, &p, k ? &k[number] : NULL, r, call);
    number++, call++;
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
  if (o->machine) m = *o->machine;
  else if (!mg_machine_for(o->arch, &m)) {
    char known[MG_MACHINE_LIST];
    mg_fail(&e, MG_BAD_INPUT, "explain", "'%.40s' is no GPU or architecture of the table: %s", o->arch, mg_machine_list(0, known));
    return report(MG_BAD_INPUT, &e);
  }
  char *text = read_all(o->file[0], &size, &code);
  if (!text) return code;
  mg_graph *range[MG_MAX_RANGES];
  int ranges = 0;
  mg_status s = parse_sized(o, text, size, range, &ranges, &e);
  if (s == MG_OK && ranges > 1) s = mg_fail(&e, MG_BAD_INPUT, o->file[0], "it has %d ranges of %s: --sym %s=N .. says which is explained", ranges, range[0]->symbol[0].name, range[0]->symbol[0].name);
  if (s == MG_OK) g = range[0], ranges = 0;
  while (ranges > 0) mg_graph_free(range[--ranges]);
  if (s == MG_OK && mg_has_threads(g)) s = mg_inline_threads(g, &flat, &e); /* the model and the emitter see them so */
  if (s == MG_OK) {
    const mg_graph *of = flat ? flat : g;
    s = mg_cuda_facts(of, o->arch ? o->arch : m.arch, &k, &n, &e);
    const char *refused = s == MG_OK ? NULL : e.msg;
    mg_run_report times;
    mg_error why = { .msg = "--no-measure" };
    const int timed = !refused && !o->no_measure && explain_measure(&m, of, &times, &why) == MG_OK;
    if (s == MG_OK || s == MG_UNSUPPORTED)
      explain_graph(stdout, o->json, &m, of, k, refused, timed ? &times : NULL, why.msg);
    if (s == MG_OK && o->svg) {
      explained x = { &m, NULL, of, k, timed ? &times : NULL };
      mg_graph *program = NULL;
      if (o->program) s = mg_parse_file(o->program, NULL, &program, &e);
      x.program = program;
      if (s == MG_OK) s = explain_svg(o->svg, &x, &e);
      mg_graph_free(program);
    }
  }
  if (s != MG_OK) code = report(s, &e);
  mg_cuda_facts_free(k, n);
  mg_graph_free(flat);
  mg_graph_free(g);
  free(text);
  return code ? code : ferror(stdout) || fflush(stdout) ? 4 : 0;
}

static int do_emit(const options *o) {
  mg_error e;
  loaded l;
  int code = load(o, 1, &l, &e);
  if (!code) code = write_all(o->out, NULL, l.cu);
  unload(&l);
  return code;
}

static int check_and_print(const options *o, const mg_graph *g, const char *cu, mg_check_report *r, FILE *f) {
  mg_error e;
  mg_check_config c;
  memset(&c, 0, sizeof c);
  c.seed = o->seed, c.timeout_s = (int)ceil(o->time_limit), c.whole = o->full;
  mg_status s = mg_cuda_check(g, cu, &c, r, &e);
  if (s == MG_NOT_FOUND) {
    fprintf(f, "link 2: DIFFERS\n%s\n", r->difference);
    return fault(s, "check", r->difference);
  }
  if (s != MG_OK) return report(s, &e);
  fprintf(f, "link 2: SAME over %d field%s", r->fields, r->fields == 1 ? "" : "s");
  if (!r->apart) fprintf(f, ", %d fiber orders each", r->seeds);
  fprintf(f, ": %llu elements compared, %llu undefined%s%s\n", (unsigned long long)r->compared, (unsigned long long)r->undefined, r->exp_opaque ? "; exp uninterpreted" : "",
          r->apart ? "; at full size alone" : r->reduced ? "; at reduced sizes" : "");
  for (int k = 0; k < r->fields && k < 8; k++) fprintf(f, "  field: p=%llu q=%llu\n", (unsigned long long)r->p[k], (unsigned long long)r->q[k]);
  if (r->sizes[0]) fprintf(f, "  sizes: %s%s%s\n", r->sizes, r->rows > 0 ? "; rows of the same sums and masks have the same bits" : r->rows < 0 ? "; rows of the same sums and masks have not the same bits" : "",
                             r->rows > 0 && r->products ? ", but for what cuBLAS multiplies" : "");
  if (r->apart)
    fprintf(f, "  not run: all kernels one after the other, as the least sizes take %.2g operations a launch: what one hands to the next, and further fiber orders (--full runs them)\n", r->work);
  else if (r->left_orders || r->left_families)
    fprintf(f, "  not run: %d fiber orders and at most %d families of inputs, as a launch takes %.2g operations (--full runs them)\n", r->left_orders, r->left_families, r->work);
  if (r->sampled) fprintf(f, "  full size: %llu blocks, %llu elements compared; %llu blocks over floats\n", (unsigned long long)r->sampled, (unsigned long long)r->sampled_compared, (unsigned long long)r->sampled_floats);
  if (r->unsampled[0]) fprintf(f, "  full size: %s: %s\n", r->sampled ? "no more blocks" : "no blocks", r->unsampled);
  fprintf(f, "  host: %d launches without blocks: other buffers, two threads, calls that fail\n", r->host_calls);
  if (r->products) fprintf(f, "  cuBLAS: %d product%s by definition: what the library computes is not seen; link 3 (mirage run) is required\n", r->products, r->products == 1 ? "" : "s");
  if (r->float_checked) {
    fprintf(f, "  floats: ");
    if (!r->apart) fprintf(f, "%d fiber orders, %d families of inputs%s; ", r->float_seeds, r->families, r->at_last ? " at the last of a range's sizes" : "");
    fprintf(f, "relative error %.3g against float64, tolerance %.3g\n", r->float_error, r->tolerance);
  }
  return 0;
}

/* "# numerics: .." of one graph and its text. */
static int check_numerics(const options *o, const mg_graph *g, const char *cu) {
  mg_error e;
  char lines[1024] = "";
  mg_graph *program = NULL;
  mg_status s = o->program ? mg_parse_file(o->program, NULL, &program, &e) : MG_OK;
  if (s == MG_OK && program) s = within_bounds_of(g, &program, &e);
  if (s == MG_OK) {
    const mg_graph *yardstick = program ? program : mg_is_program(g) ? g : NULL;
    s = numerics_line(lines, sizeof lines, o, o->time_limit, 0, 0, yardstick, g, cu, &e);
    fputs(lines, stdout);
  }
  mg_graph_free(program);
  return s == MG_OK ? 0 : report(s, &e);
}

static int do_check(const options *o) {
  mg_error e;
  loaded l;
  mg_check_report r;
  memset(&r, 0, sizeof r);
  int code = load(o, 1, &l, &e);
  if (!code) code = check_and_print(o, l.n == 1 ? l.range[0] : NULL, l.cu, &r, stdout);
  if (!code && o->numerics && l.n > 1 && is_emitted(o->file[0]))
    code = fault(MG_UNSUPPORTED, "check", "--numerics of an emitted file takes one range; of the .mg it says them all");
  for (int k = 0; k < l.n && !code && o->numerics; k++) {
    mg_emit_config c;
    char *one = NULL;
    memset(&c, 0, sizeof c);
    c.arch = o->arch;
    if (l.n > 1 && mg_cuda_emit(l.range[k], &c, &one, &e) != MG_OK) code = report(e.status, &e);
    else code = check_numerics(o, l.range[k], one ? one : l.cu);
    mg_string_free(one);
  }
  unload(&l);
  return code;
}

static void run_json(FILE *f, const char *program, const mg_run_report *r) {
  fprintf(f, "{\"program\": ");
  json_string(f, program);
  fprintf(f, ", \"gpu\": ");
  json_string(f, r->gpu);
  fprintf(f, ", \"driver\": %d, \"runtime\": %d, \"relative_error\": %.6g, \"tolerance\": %.6g, \"seed\": %llu", r->driver, r->runtime, r->relative_error, r->tolerance, (unsigned long long)r->seed);
  const struct { const char *key; double us; } times[] = {{"us_hot", r->us_hot}, {"us_cold", r->us_cold}, {"us_hot_min", r->us_hot_min}, {"us_cold_min", r->us_cold_min}, {"us_pdl_hot", r->us_pdl_hot}, {"us_pdl_cold", r->us_pdl_cold}};
  for (size_t k = 0; k < sizeof times / sizeof *times; k++) {
    fprintf(f, ", \"%s\": ", times[k].key);
    if (times[k].us > 0) fprintf(f, "%.4f", times[k].us);
    else fputs("null", f); /* not measured */
  }
  fprintf(f, ", \"cold_sets\": %d, \"bytes\": %llu", r->cold_sets, (unsigned long long)r->bytes);
}

/* Several µGraphs of one program: a line each, and with --stats a list of what --stats says of one, or {"error": ..}. */
static int run_several(const options *o) {
  enum { MOST = 200 };
  static mg_run_report r[MOST];
  static mg_error why[MOST];
  static mg_status status[MOST];
  mg_graph *g[MOST];
  mg_run_config c;
  mg_error e;
  int n = 0, code = 0, bad = 0;
  memset(&c, 0, sizeof c);
  for (; n < o->n_files && n < MOST && !code; n++) {
    size_t len;
    char *text = read_all(o->file[n], &len, &code);
    g[n] = NULL;
    if (!text) continue;
    mg_status s = is_emitted(o->file[n]) ? mg_cuda_source_graph(text, len, &g[n], &e) : mg_parse(text, len, o->file[n], NULL, &g[n], &e);
    free(text);
    if (s != MG_OK) code = report(s, &e);
  }
  c.arch = o->arch, c.reps = (int)o->reps, c.cold = o->cold, c.seed = o->seed, c.no_time = o->no_time;
  mg_status s = code ? MG_OK : mg_cuda_measure(g[0], (const mg_graph *const *)g, n, &c, r, status, why, &e);
  if (s != MG_OK) code = report(s, &e);
  FILE *f = !code && o->stats ? fopen(o->stats, "w") : NULL;
  if (!code && o->stats && !f) code = fault(MG_MACHINE, o->stats, strerror(errno));
  for (int k = 0; k < n && !code; k++) {
    if (status[k] != MG_OK) printf("%s: %s\n", o->file[k], why[k].msg), bad = mg_exit_code(status[k]);
    else if (o->no_time) printf("%s: relative error %.3g\n", o->file[k], r[k].relative_error);
    else printf("%s: %.2f us hot, %.2f us cold, relative error %.3g\n", o->file[k], r[k].us_hot, r[k].us_cold, r[k].relative_error);
    if (!f) continue;
    fputs(k ? ",\n" : "[", f);
    if (status[k] == MG_OK) run_json(f, g[k]->name, &r[k]), fputs("}", f);
    else fputs("{\"error\": ", f), json_string(f, why[k].msg), fputs("}", f);
  }
  if (f) {
    fputs("]\n", f);
    if (fclose(f)) code = fault(MG_MACHINE, o->stats, "cannot be written");
  }
  for (int k = 0; k < n; k++) mg_graph_free(g[k]);
  return code ? code : bad;
}

/* "numerics on the GPU: .." */
static int run_numerics(const options *o, const mg_graph *g, const char *cu, mg_run_config *c) {
  mg_error e;
  mg_numerics_report r;
  char line[600];
  mg_graph *program = NULL;
  mg_status s = o->program ? mg_parse_file(o->program, NULL, &program, &e) : MG_OK;
  c->numerics_s = o->time_limit < 1e6 ? o->time_limit : 0;
  const mg_graph *yardstick = program ? program : mg_is_program(g) ? g : NULL;
  if (s == MG_OK) s = mg_cuda_run_numerics(yardstick, g, cu, c, &r, &e);
  if (s == MG_OK || s == MG_NOT_FOUND) {
    mg_numerics_line(&r, line, sizeof line);
    printf("numerics on the GPU: %s%s; %.1f s\n", s == MG_NOT_FOUND && !r.unsafe ? e.msg : line, yardstick ? "" : "; the yardstick is its own kernel level: no program is given", r.seconds);
  }
  mg_graph_free(program);
  return s == MG_OK ? 0 : report(s, &e);
}

static int do_run(const options *o) {
  if (o->n_files > 1) return run_several(o);
  mg_error e;
  loaded l;
  mg_check_report cr;
  mg_run_config c;
  mg_run_report r;
  int64_t value[MG_MAX_SYMBOLS];
  mg_graph *member = NULL;
  memset(&cr, 0, sizeof cr);
  memset(&c, 0, sizeof c);
  memset(&r, 0, sizeof r);
  int code = load(o, 0, &l, &e);
  const mg_graph *const g = l.n == 1 ? l.range[0] : NULL;
  const char *cu = l.cu;
  if (!code && o->n_syms) {
    const mg_status s = member_given(o, l.range, l.n, value, &member, &e);
    if (s != MG_OK) code = report(s, &e); /* out of all bounds, too */
    mg_graph_free(member);
  }
  if (o->n_syms) c.sym = value;
  if (!code && !o->no_check) code = check_and_print(o, g, cu, &cr, stdout); /* nothing is timed before link 2 holds */
  fflush(stdout);
  if (!code) {
    c.arch = o->arch, c.reps = (int)o->reps, c.cold = o->cold, c.seed = o->seed, c.no_time = o->no_time;
    mg_status s = mg_cuda_run(g, cu, &c, &r, &e);
    if (s != MG_OK) code = report(s, &e);
    if (s == MG_OK || (s == MG_NOT_FOUND && r.tolerance > 0))
      printf("link 3: %s, relative error %.3g against float64, tolerance %.3g, seed %llu, %llu elements unwritten\n", s == MG_OK ? "SAME" : "DIFFERS", r.relative_error, r.tolerance, (unsigned long long)r.seed, (unsigned long long)r.unwritten);
    if (s == MG_OK && r.rows) {
      printf("rows: a row has %s bits at", r.rows > 0 ? "the same" : "other");
      for (uint32_t k = 0; k < l.range[0]->n_symbols; k++)
        printf(" %s=%lld", l.range[0]->symbol[k].name, (long long)r.rows_at[k]);
      putchar('\n');
    }
    if (s == MG_OK) {
      printf("gpu: %s, %d SMs, driver %d.%d\n", r.gpu, r.sms, r.driver / 1000, r.driver % 1000 / 10);
      if (!o->no_time) printf("hot: %.2f us (median), %.2f us (least), L2 warm, %d calls a CUDA graph\n", r.us_hot, r.us_hot_min, r.launches);
      if (!o->no_time && o->cold) printf("cold: %.2f us (median), %.2f us (least), %d buffer sets\n", r.us_cold, r.us_cold_min, r.cold_sets);
      if (r.us_pdl_hot > 0) printf("hot, dependent launches: %.2f us (median)\n", r.us_pdl_hot);
      if (r.us_pdl_cold > 0) printf("cold, dependent launches: %.2f us (median)\n", r.us_pdl_cold);
    }
    if (s == MG_OK && o->numerics) code = g ? run_numerics(o, g, cu, &c) : fault(MG_UNSUPPORTED, "run", "--numerics takes one range at a time");
    if (s == MG_OK && o->stats) {
      FILE *f = fopen(o->stats, "w");
      if (!f) code = fault(MG_MACHINE, o->stats, strerror(errno));
      else {
        run_json(f, l.range[0]->name, &r);
        fprintf(f, ", \"fields\": %d, \"compared\": %llu}\n", cr.fields, (unsigned long long)cr.compared);
        if (fclose(f)) code = fault(MG_MACHINE, o->stats, "cannot be written");
      }
    }
  }
  unload(&l);
  return code;
}

/* ---- calibrate */

static int do_calibrate(const options *o) {
  mg_error e;
  mg_run_config c;
  mg_calibration r;
  char text[MG_MACHINE_TEXT], notes[2048];
  size_t n = 0;
  memset(&c, 0, sizeof c);
  const mg_status s = mg_cuda_calibrate(&c, &r, &e);
  if (s != MG_OK) return report(s, &e);
  n += (size_t)snprintf(notes, sizeof notes, "# Each of %d runs, in order.  Rate: median, least, most.\n", r.runs);
#define MGI_F(kind, type, name, least_, most_, text_) \
  n += (size_t)snprintf(notes + n, sizeof notes - n, "# %s %.5g %.5g %.5g\n", #name, r.name.median, r.name.least, r.name.most);
  MG_MACHINE_RATES(MGI_F)
#undef MGI_F
  mg_machine_print(&r.file.m, text);
  return write_all(o->out, notes, text);
}

/* ---- model */

/* The symbols' values that --sym gives; each has to be named, and no other. */
static mg_status model_sizes(const options *o, const mg_model *m, int64_t *value, mg_error *e) {
  int named = 0;
  for (int k = 0; k < m->n_symbols; k++) {
    const mg_model_symbol *y = &m->symbol[k];
    const size_t n = strlen(y->name);
    value[k] = 0;
    for (int j = 0; j < o->n_syms; j++)
      if (!strncmp(o->sym[j], y->name, n) && o->sym[j][n] == '=') value[k] = strtoll(o->sym[j] + n + 1, NULL, 10), named++;
    if (!value[k]) return mg_fail(e, MG_BAD_INPUT, o->file[1], "--sym: expected a size of %.60s, in %lld..%lld", y->name, (long long)y->least, (long long)y->most);
  }
  return named == o->n_syms ? MG_OK : mg_fail(e, MG_BAD_INPUT, o->file[1], "--sym: expected each of the %d symbols once", m->n_symbols);
}
/* Prints a step's outputs; MG_NOT_FOUND where those of a second run, if there is one, are not the same bits. */
static mg_status model_outputs(const mg_model_data *first, const mg_model_data *second, const int64_t *sym, mg_error *e) {
  const mg_model_list *l = first->l;
  for (int k = 0; k < l->m->n_outputs; k++) {
    const mg_value *v = &l->value[l->output[k]];
    const double *x = first->data[l->output[k]];
    mg_shape shape;
    double square = 0;
    const mg_status s = mg_value_shape(l, v, sym, &shape, e);
    if (s != MG_OK) return s;
    const int64_t n = mg_shape_elements(&shape);
    for (int64_t i = 0; i < n; i++) square += x[i] * x[i];
    printf("  %s : %s[", v->name, mg_dtype_name(v->type));
    for (int j = 0; j < shape.rank; j++) printf("%s%lld", j ? ", " : "", (long long)shape.dim[j]);
    if (v->type == MG_I32) printf("],");
    else printf("], norm %.9g, first", sqrt(square));
    for (int64_t i = 0; i < n && i < (v->type == MG_I32 ? 16 : 4); i++) printf(" %.6g", x[i]);
    putchar('\n');
    if (second && memcmp(x, second->data[l->output[k]], (size_t)n * sizeof *x)) return mg_fail(e, MG_NOT_FOUND, l->m->name, "'%s' is another in the plan's memory", v->name);
  }
  return MG_OK;
}
static void model_step_line(const mg_model *m, int64_t t, const int64_t *sym) {
  printf("step %lld:", (long long)t);
  for (int k = 0; k < m->n_symbols; k++) printf(" %s=%lld", m->symbol[k].name, (long long)sym[k]);
  putchar('\n');
}
static int model_eval(const options *o, const mg_model_list *l, const mg_model_plan *p) {
  const mg_model *m = l->m;
  const int64_t steps = o->steps ? o->steps : 1;
  int64_t sym[MG_MODEL_MAX_SYMBOLS], room[MG_MODEL_MAX_SYMBOLS];
  mg_model_data *d[2] = {NULL, NULL};
  mg_model_config c;
  mg_error e;
  const uint64_t seed = o->seeded ? o->seed : 1;
  memset(&c, 0, sizeof c);
  mg_status s = model_sizes(o, m, sym, &e);
  for (int k = 0; k < m->n_symbols && s == MG_OK; k++) room[k] = sym[k] + (m->symbol[k].device ? steps - 1 : 0);
  for (int k = 0; k < 2 && s == MG_OK; k++) s = mg_model_data_new(l, room, seed, &d[k], &e);
  for (int64_t t = 0; t < steps && s == MG_OK; t++) {
    for (int k = 0; k < 2 && s == MG_OK; k++) {
      c.inputs = seed + 1 + (uint64_t)t, c.plan = k ? p : NULL;
      s = mg_model_step(d[k], sym, &c, &e);
    }
    if (s != MG_OK) break;
    model_step_line(m, t, sym);
    s = model_outputs(d[0], d[1], sym, &e);
    for (int k = 0; k < m->n_symbols; k++) sym[k] += m->symbol[k].device;
  }
  if (s == MG_OK) printf("the same bits in the plan's memory; seed %llu\n", (unsigned long long)seed);
  mg_model_data_free(d[0]), mg_model_data_free(d[1]);
  return s == MG_OK ? 0 : report(s, &e);
}
/* "5,17,3": how many, -1 if that is no list of token numbers.  *list is the caller's. */
static int64_t model_tokens(const char *text, double **list) {
  int64_t n = 0;
  *list = (double *)malloc((strlen(text) / 2 + 1) * sizeof **list);
  for (const char *p = text; *list; p++) {
    char *end;
    if (*p < '0' || *p > '9') return -1;
    (*list)[n++] = (double)strtoll(p, &end, 10);
    if (!*end) return n;
    if (*end != ',') return -1;
    p = end;
  }
  return -1;
}
typedef struct model_runner {
  const mg_model_list *l;
  mg_model_data *d;
  uint32_t input, output; /* values: where tokens go, and come from; 0: none */
  double *token;
  int64_t n, at;          /* tokens that are given; that were taken */
  int64_t grow;           /* of symbols of the kind `device` a step: tokens of a sequence, the last size of the input */
  int64_t step;
  double shown;           /* when the line of progress was last written */
} model_runner;
static void model_progress(void *user, uint32_t launch, uint32_t n) {
  model_runner *R = (model_runner *)user;
  const double now = (double)clock() / CLOCKS_PER_SEC;
  if (now - R->shown < 0.2) return;
  R->shown = now;
  progress_line("step %lld: launch %u of %u; its weights are read as it comes", (long long)R->step, launch, n);
}
/* The elements of a value at these sizes; -1 on an error. */
static int64_t model_elements(const mg_model_list *l, uint32_t v, const int64_t *sym, mg_error *e) {
  mg_shape shape;
  return mg_value_shape(l, &l->value[v], sym, &shape, e) == MG_OK ? mg_shape_elements(&shape) : -1;
}
/* Where the tokens go, and that there are enough for all steps. */
static mg_status model_inputs(model_runner *R, const options *o, const int64_t *first, int64_t *steps, mg_error *e) {
  const mg_model_list *l = R->l;
  const char *where = o->file[1];
  int64_t sym[MG_MODEL_MAX_SYMBOLS], need = 0;
  for (int k = l->m->n_outputs; k-- > 0;)
    if (l->value[l->output[k]].type == MG_I32) R->output = l->output[k];
  for (uint32_t v = l->n_values; v-- > 1;)
    if (l->value[v].kind == MG_VALUE_INPUT && l->value[v].type == MG_I32) R->input = v;
  mg_shape shape;
  R->grow = 1;
  if (R->input && mg_value_shape(l, &l->value[R->input], first, &shape, e) != MG_OK) return e->status;
  if (R->input && shape.rank > 1) R->grow = shape.dim[shape.rank - 1];
  if (!o->tokens) return *steps = o->steps ? o->steps : 1, R->input = 0, MG_OK;
  if ((R->n = model_tokens(o->tokens, &R->token)) < 0) return mg_fail(e, MG_BAD_INPUT, "--tokens", "'%.60s' is no list of tokens, as in 5,17,3", o->tokens);
  if (!R->input) return mg_fail(e, MG_BAD_INPUT, where, "--tokens: no input has the type i32");
  for (uint32_t v = 1; v < l->n_values; v++)
    if (l->value[v].kind == MG_VALUE_INPUT && v != R->input && !l->value[v].decl->table)
      return mg_fail(e, MG_BAD_INPUT, where, "--tokens: nothing says what input '%s' holds", l->value[v].name);
  int64_t bound = 0;
  const mg_status s = mg_value_bound(l, R->input, first, &bound, e);
  if (s != MG_OK) return s;
  for (int64_t k = 0; k < R->n; k++)
    if (R->token[k] >= (double)bound)
      return mg_fail(e, MG_BAD_INPUT, where, "--tokens: '%s' takes 0 to %lld, found %.0f", l->value[R->input].name, (long long)bound - 1, R->token[k]);
  memcpy(sym, first, sizeof sym);
  for (int64_t t = 0; o->steps ? t < o->steps : need < R->n; t++, ++*steps) {
    const int64_t n = model_elements(l, R->input, sym, e);
    if (n < 0) return e->status;
    if (need < R->n && need + n > R->n) return mg_fail(e, MG_BAD_INPUT, where, "--tokens: step %lld takes %lld for '%s', found %lld", (long long)t, (long long)n, l->value[R->input].name, (long long)(R->n - need));
    if (need >= R->n && (!R->output || model_elements(l, R->output, sym, e) != n))
      return mg_fail(e, MG_BAD_INPUT, where, "--tokens: expected %lld more: no output says what step %lld takes", (long long)n, (long long)t);
    need += n;
    for (int k = 0; k < l->m->n_symbols; k++) sym[k] += l->m->symbol[k].device * R->grow;
  }
  return MG_OK;
}
static mg_status model_token_step(model_runner *R, const int64_t *sym, mg_error *e) {
  const int64_t n = R->input ? model_elements(R->l, R->input, sym, e) : 0;
  if (!n) return MG_OK;
  double *to = (double *)malloc((size_t)n * sizeof *to);
  if (!to) return mg_fail(e, MG_NO_MEMORY, R->l->m->name, "no memory for tokens");
  memcpy(to, R->at < R->n ? R->token + R->at : R->d->data[R->output], (size_t)n * sizeof *to);
  free(R->d->data[R->input]);
  R->d->data[R->input] = to, R->at += n;
  return MG_OK;
}
static void model_weights_line(const options *o, const mg_weights *w, int rounded) {
  printf("weights: %s%s, %u tensors; %d rounded from F32 to their type\n", o->weights[0], o->n_weights > 1 ? " and others" : "", mg_weights_count(w), rounded);
}
/* What the model on a device is, and what its last step takes. */
static void model_say(const mg_model_loaded *g, const mg_device *d, const mg_model_list *q, const mg_model_found *f) {
  mg_model_loaded_info i;
  uint32_t kept = 0;
  mg_model_loaded_say(g, &i);
  for (uint32_t k = 0; k < q->n_pieces; k++) kept += (uint32_t)f->piece[k].kept;
  printf("model %s on %s: %u files, %u of them foreign; %u of %u pieces as searched, others as written\n", q->m->name, mg_device_name(d), i.files, i.foreign, kept, q->n_pieces);
  printf("a step: %u launches, %u by programmatic dependent launch; of %u updates %u made in place, %u copied\n", i.launches, i.early, i.placed + i.copies, i.placed, i.copies);
  if (i.once) printf("once, as weights were loaded: %u launches\n", i.once);
  printf("bytes: weights %llu, states %llu, arena %llu, workspaces %llu\n", (unsigned long long)i.weights, (unsigned long long)i.states, (unsigned long long)i.arena, (unsigned long long)i.workspaces);
}
/* What graphs were made for, once steps have run. */
static void model_graphs_line(const mg_model_loaded *g, const mg_model *m) {
  mg_model_loaded_info i;
  mg_model_loaded_say(g, &i);
  printf("graphs: %llu captured, each for its grids; changed %llu times for sizes", (unsigned long long)i.captured, (unsigned long long)i.changed);
  for (int k = 0, any = 0; k < m->n_symbols; k++)
    if (i.followed >> k & 1) printf("%s %s", any++ ? "," : "; read in device memory:", m->symbol[k].name);
  printf(i.handed[0] ? "; %s\n" : "%s\n", i.handed);
}
static int by_value(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}
/* ---- a step's time line, as a picture (SVG): a row for each piece, and one for what is none.  In a row, above: its launches as they
   were measured, one after the other; below: by the model, in the same order. */

/* What bounds the longest kernel of a piece, by the model. */
static const char *longest_bound(const mg_graph *u, const mg_machine *m) {
  static const char *const library = "a library kernel";
  const char *by = "";
  double most = 0;
  for (uint32_t i = 1; i < u->n_ops; i++) {
    mg_kernel_facts p;
    const int kernel = u->ops[i].code == MG_OP_GRAPH && mg_kernel_facts_of(u, i, m, &p);
    const double us = kernel ? p.cost.total_us : u->ops[i].code == MG_OP_GRAPH ? 0 : mg_library_us(u, &u->ops[i], m);
    if (us > most) most = us, by = kernel ? bound_by(&p.cost) : library;
  }
  return by;
}
/* What a step is drawn from, in microseconds.  us: by launch, and sum: by piece, measured, or NULL; predicted: by piece. */
typedef struct step_times {
  const mg_model_found *found;
  const mg_machine *m;
  const int64_t *sym;
  const char *device;
  double graph;
  const double *us, *sum, *predicted;
} step_times;

static void svg_label(FILE *f, const step_times *t, uint32_t k, const mg_graph *u, int y) {
  const mg_piece *p = &t->found->l->piece[k];
  const double launches = t->found->piece[k].launches;
  char ops[80] = "", line[200];
  for (uint32_t j = 0, n = 0; j < p->n_nodes && n + 16 < sizeof ops; j++) n += (uint32_t)snprintf(ops + n, sizeof ops - n, "%s%.12s", j ? ", " : "", p->node[j].op->name);
  if (strlen(ops) > 52) snprintf(ops + 52, 3, "..");
  snprintf(line, sizeof line, "piece %u: %s", k, ops);
  svg_text(f, 8, y + 11, "name", line);
  if (!t->found->piece[k].launches) { svg_text(f, 8, y + 24, "small", "once, when weights are loaded"); return; }
  int n = snprintf(line, sizeof line, "%.0f x ", launches);
  if (t->sum) n += snprintf(line + n, sizeof line - (size_t)n, "%.1f us; ", t->sum[k] / launches);
  snprintf(line + n, sizeof line - (size_t)n, "%.1f us by the model: %s", t->predicted[k] / launches, longest_bound(u, t->m));
  svg_text(f, 8, y + 24, "small", line);
}
static void svg_head(FILE *f, const step_times *t, double all, double model, int bottom) {
  const mg_model *m = t->found->l->m;
  char line[400];
  fprintf(f, "<svg xmlns='http://www.w3.org/2000/svg' width='%d' height='%d' font-family='sans-serif'>\n", SVG_LEFT + SVG_WIDTH + 60, bottom + 12);
  fputs("<style>.title{font-size:15px;font-weight:bold}.name{font-size:11px}.small{font-size:10px;fill:#555}\n.measured{fill:#2b6cb0}.model{fill:#f0a75a}.tick{stroke:#ddd}</style>\n", f);
  fprintf(f, "<rect width='%d' height='%d' fill='white'/>\n", SVG_LEFT + SVG_WIDTH + 60, bottom + 12);
  int n = snprintf(line, sizeof line, "%.60s, a step%s", m->name, m->n_symbols ? " at" : "");
  for (int k = 0; k < m->n_symbols; k++) n += snprintf(line + n, sizeof line - (size_t)n, "%s %.24s = %lld", k ? "," : "", m->symbol[k].name, (long long)t->sym[k]);
  svg_text(f, 8, 20, "title", line);
  n = 0;
  if (t->us) n = snprintf(line, sizeof line, "%.60s: in its graph %.0f us; launch by launch %.0f us, each with what launching it takes (blue); ", t->device, t->graph, all);
  snprintf(line + n, sizeof line - (size_t)n, "by the model on %.60s %.0f us (orange)", t->m->name, model);
  svg_text(f, 8, 40, "small", line);
}
static mg_status model_svg(const char *path, const step_times *t, mg_error *e) {
  const mg_model_list *q = t->found->l;
  const int bottom = SVG_TOP + ((int)q->n_pieces + 1) * SVG_ROW;
  double all = 0, model = 0, at = 0, foretold = 0;
  FILE *f = fopen(path, "wb");
  if (!f) return mg_fail(e, MG_MACHINE, path, "cannot be written: %s", strerror(errno));
  for (uint32_t k = 0; k < q->n_launches && t->us; k++) all += t->us[k];
  for (uint32_t k = 0; k < q->n_pieces; k++) model += t->predicted[k];
  const double span = fmax(fmax(all, model), 1e-3);
  svg_head(f, t, all, model, bottom);
  svg_axis(f, span, bottom);
  mg_status s = MG_OK;
  for (uint32_t k = 0; k < q->n_pieces && s == MG_OK; k++) {
    mg_graph *u = NULL;
    s = mg_model_found_at(t->found, k, t->sym, &u, e);
    if (s == MG_OK) svg_label(f, t, k, u, SVG_TOP + (int)k * SVG_ROW);
    mg_graph_free(u);
  }
  svg_text(f, 8, SVG_TOP + (int)q->n_pieces * SVG_ROW + 11, "name", "updates and foreign kernels");
  for (uint32_t k = q->n_once; k < q->n_launches; k++) {
    const mg_launch *a = &q->launch[k];
    const int piece = a->kind == MG_LAUNCH_PIECE, y = SVG_TOP + (int)(piece ? a->piece : q->n_pieces) * SVG_ROW;
    const double would = piece ? t->predicted[a->piece] / t->found->piece[a->piece].launches : 0;
    if (t->us) svg_bar(f, at, t->us[k], span, y, "measured");
    if (piece) svg_bar(f, foretold, would, span, y + SVG_BAR + 2, "model");
    at += t->us ? t->us[k] : 0, foretold += would;
  }
  fputs("</svg>\n", f);
  const int bad = ferror(f);
  if ((fclose(f) || bad) && s == MG_OK) s = mg_fail(e, MG_MACHINE, path, "cannot be written: %s", strerror(errno));
  return s;
}
/* By piece, what the model says of a step at these sizes; the sum in *all.  Free it. */
static mg_status model_predicted(const mg_model_found *f, const int64_t *sym, const mg_machine *m, double **predicted, double *all, mg_error *e) {
  double *us = *predicted = (double *)calloc(f->l->n_pieces + 1, sizeof *us);
  mg_status s = us ? MG_OK : mg_fail(e, MG_NO_MEMORY, f->l->m->name, "no memory for times");
  *all = 0;
  for (uint32_t k = 0; k < f->l->n_pieces && s == MG_OK; k++) {
    mg_graph *u = NULL;
    s = mg_model_found_at(f, k, sym, &u, e);
    if (s == MG_OK) *all += us[k] = mg_predict_us(u, m) * f->piece[k].launches;
    mg_graph_free(u);
  }
  return s;
}
/* --svg of a search: by the model alone, at the sizes given, or at the symbols' least. */
static mg_status model_svg_found(const options *o, const mg_model_found *found, mg_error *e) {
  double *predicted = NULL, all;
  step_times t;
  memset(&t, 0, sizeof t);
  t.found = found, t.sym = found->at[0], t.m = o->machine ? o->machine : mg_machine_at(0);
  mg_status s = model_predicted(found, t.sym, t.m, &predicted, &all, e);
  t.predicted = predicted;
  if (s == MG_OK) s = model_svg(o->svg, &t, e);
  free(predicted);
  return s;
}

/* The least of some runs of each launch, in microseconds, by piece; what is not a piece together. */
static mg_status model_by_piece(const char *svg, mg_model_loaded *g, step_times *t, mg_error *e) {
  enum { RUNS = 5 };
  const mg_model_list *q = t->found->l;
  double *us = (double *)calloc(2 * (size_t)q->n_launches + q->n_pieces + 2, sizeof *us), *least = us + q->n_launches, *sum = least + q->n_launches;
  mg_status s = us ? MG_OK : mg_fail(e, MG_NO_MEMORY, q->m->name, "no memory for times");
  for (int run = 0; run < RUNS && s == MG_OK; run++) {
    s = mg_model_timeline(g, t->sym, us, e);
    for (uint32_t k = 0; k < q->n_launches && s == MG_OK; k++) least[k] = !run || us[k] < least[k] ? us[k] : least[k];
  }
  for (uint32_t k = 0; k < q->n_launches && s == MG_OK; k++) sum[q->launch[k].kind == MG_LAUNCH_PIECE ? q->launch[k].piece : q->n_pieces] += least[k];
  for (uint32_t k = 0; k < q->n_pieces && s == MG_OK; k++)
    printf("piece %u: %u launches, %.1f us a step, launch by launch, each with what launching it takes; %.1f by the model\n", k, t->found->piece[k].launches, sum[k], t->predicted[k]);
  if (s == MG_OK) printf("others: %.1f us a step, launch by launch\n", sum[q->n_pieces]);
  t->us = least, t->sum = sum;
  if (s == MG_OK && svg) s = model_svg(svg, t, e);
  free(us);
  return s;
}
static mg_status model_timed(const options *o, mg_model_loaded *g, const mg_device *d, const mg_model_found *f, const int64_t *sym, double host, mg_error *e) {
  double us[MG_DEVICE_TIMES], all = 0, *predicted = NULL;
  const int n = o->reps ? (int)o->reps : 20;
  const mg_machine *m = o->machine ? o->machine : mg_machine_at(0);
  mg_model_loaded_info i;
  mg_status s = MG_OK;
  for (int k = 0; k < 3 && s == MG_OK; k++) s = mg_model_launch(g, sym, e); /* the same step: it is recorded now */
  if (s == MG_OK) s = mg_model_time(g, n, us, e);
  if (s == MG_OK) s = model_predicted(f, sym, m, &predicted, &all, e);
  if (s == MG_OK) {
    qsort(us, (size_t)n, sizeof *us, by_value);
    mg_model_loaded_say(g, &i);
    printf("time: %.1f us a step in its graph on %s, median of %d replays, least %.1f; %.1f us by the model on %s, without what is foreign; the host takes %.1f us a step\n", us[n / 2], mg_device_name(d), n,
           us[0], all, m->name, host);
    printf("read: %llu bytes of weights and states a step, %.3f TB/s\n", (unsigned long long)i.read, us[n / 2] > 0 ? (double)i.read / us[n / 2] / 1e6 : 0);
    step_times t = { f, m, sym, mg_device_name(d), us[n / 2], NULL, NULL, predicted };
    s = model_by_piece(o->svg, g, &t, e);
  }
  free(predicted);
  return s;
}
/* Steps on a device: host is the mean time in which the host starts one, of those that change the graph. */
static mg_status model_run_steps(const options *o, model_runner *R, mg_model_loaded *g, const mg_device *d, const mg_model_found *f, int64_t *sym, int64_t steps, mg_error *e) {
  const mg_model_list *l = R->l, *q = f->l;
  struct timespec a, b;
  double host = 0;
  mg_status s = MG_OK;
  for (; R->step < steps && s == MG_OK; R->step++) {
    s = R->input ? model_token_step(R, sym, e) : mg_model_put_random(g, sym, o->seed + 1 + (uint64_t)R->step, e);
    if (s == MG_OK && R->input) s = mg_model_put(g, mg_value_find(q, l->value[R->input].name, -1), sym, R->d->data[R->input], e);
    timespec_get(&a, TIME_UTC);
    if (s == MG_OK) s = mg_model_launch(g, sym, e);
    timespec_get(&b, TIME_UTC);
    if (R->step > 2) host += 1e6 * (double)(b.tv_sec - a.tv_sec) + 1e-3 * (double)(b.tv_nsec - a.tv_nsec);
    for (int k = 0; k < l->m->n_outputs && s == MG_OK; k++) {
      const int64_t n = model_elements(l, l->output[k], sym, e);
      double *x = n < 0 ? NULL : (double *)realloc(R->d->data[l->output[k]], (size_t)n * sizeof *x);
      if (!x) return mg_fail(e, MG_NO_MEMORY, l->m->name, "no memory for an output");
      R->d->data[l->output[k]] = x;
      s = mg_model_get(g, q->output[k], sym, x, e);
    }
    if (s != MG_OK) break;
    model_step_line(l->m, R->step, sym);
    s = model_outputs(R->d, NULL, sym, e);
    for (int k = 0; k < l->m->n_symbols && R->step + 1 < steps; k++) sym[k] += l->m->symbol[k].device * R->grow;
  }
  return s == MG_OK && o->timed ? model_timed(o, g, d, f, sym, steps > 3 ? host / (double)(steps - 3) : 0, e) : s;
}
/* By the kernels of its pieces. */
static mg_status model_run_device(const options *o, model_runner *R, mg_weights *w, int64_t *sym, const int64_t *room, int64_t steps, mg_error *e) {
  mg_model_search_config c = mg_model_search_config_default();
  mg_partition_config cut;
  mg_model_load_config how;
  mg_device_config where;
  mg_model_list *q = NULL;
  mg_model_found found;
  mg_model_data none;
  mg_device *d = NULL;
  mg_model_loaded *g = NULL;
  memset(&cut, 0, sizeof cut), memset(&how, 0, sizeof how), memset(&where, 0, sizeof where), memset(&found, 0, sizeof found), memset(&none, 0, sizeof none);
  if (o->machine) c.search.machine = cut.machine = o->machine;
  cut.fold = o->fold;
  c.keep = o->out, c.no_search = 1;
  where.emulated = o->emulated, where.arch = o->arch;
  mg_status s = mg_device_open(&where, &d, e);
  if (s == MG_OK) s = mg_model_partition(R->l, &cut, &q, e);
  if (s == MG_OK) s = mg_model_search(q, &c, &found, e);
  mg_model_data *values = NULL;
  mg_error large;
  how.weights = w, how.seed = o->seed;
  if (s == MG_OK && !w && mg_model_data_new(R->l, room, o->seed, &values, &large) == MG_OK) how.data = values;
  if (s == MG_OK) s = mg_model_load(&found, d, room, &how, &g, e);
  if (s == MG_OK) model_say(g, d, q, &found);
  int rounded = 0;
  if (s == MG_OK && w && mg_weights_fit(w, q, room, &rounded, e) == MG_OK) model_weights_line(o, w, rounded);
  if (s == MG_OK && !w) printf("weights at random, seed %llu%s; the states too\n", (unsigned long long)o->seed, values ? ", as in float64" : ", by copies of a pool: not those of a run in float64");
  if (s == MG_OK && !o->tokens) printf("inputs that no text says at random\n");
  none.l = R->l, none.data = (double **)calloc(R->l->n_values, sizeof *none.data);
  R->d = &none;
  if (s == MG_OK && !none.data) s = mg_fail(e, MG_NO_MEMORY, R->l->m->name, "no memory for the outputs");
  if (s == MG_OK) s = model_run_steps(o, R, g, d, &found, sym, steps, e);
  if (s == MG_OK) model_graphs_line(g, R->l->m);
  for (uint32_t v = 0; none.data && v < R->l->n_values; v++) free(none.data[v]);
  free(none.data);
  R->d = NULL;
  mg_model_unload(g), mg_model_data_free(values), mg_device_close(d);
  mg_model_found_free(found.piece ? &found : NULL), mg_model_list_free(q);
  return s;
}
static int model_run(const options *o, const mg_model_list *l) {
  const mg_model *m = l->m;
  int64_t sym[MG_MODEL_MAX_SYMBOLS] = {0}, room[MG_MODEL_MAX_SYMBOLS], steps = 0;
  model_runner R;
  mg_weights *w = NULL;
  mg_model_config c;
  mg_error e;
  int rounded = 0;
  memset(&R, 0, sizeof R), memset(&c, 0, sizeof c);
  R.l = l;
  if (!o->n_weights == !o->random) return fault(MG_BAD_INPUT, "model", "run takes --weights DIR or --random SEED");
  mg_status s = model_sizes(o, m, sym, &e);
  if (s == MG_OK) s = model_inputs(&R, o, sym, &steps, &e);
  for (int k = 0; k < m->n_symbols; k++) room[k] = sym[k] + (m->symbol[k].device ? (steps - 1) * R.grow : 0);
  if (s == MG_OK && o->n_weights) s = mg_weights_open(o->n_weights, o->weights, &w, &e);
  if (o->gpu || o->emulated) {
    if (s == MG_OK) s = model_run_device(o, &R, w, sym, room, steps, &e);
    free(R.token), mg_weights_close(w);
    return s == MG_OK ? 0 : report(s, &e);
  }
  if (s == MG_OK) s = w ? mg_model_data_open(l, room, w, &R.d, &e) : mg_model_data_new(l, room, o->seed, &R.d, &e);
  if (s == MG_OK && w) s = mg_weights_fit(w, l, room, &rounded, &e);
  if (isatty(2)) c.progress = model_progress, c.user = &R;
  c.elements = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE) / 16; /* half of the memory */
  for (; R.step < steps && s == MG_OK; R.step++) {
    c.inputs = R.input ? 0 : o->seed + 1 + (uint64_t)R.step;
    s = model_token_step(&R, sym, &e);
    if (s == MG_OK) s = mg_model_step(R.d, sym, &c, &e);
    if (c.progress) fprintf(stderr, "\r\033[K");
    if (s != MG_OK) break;
    if (!R.step) printf("model %s, evaluated in float64 on the CPU; no kernel was launched\n", m->name);
    if (!R.step && w) model_weights_line(o, w, rounded);
    else if (!R.step) printf("weights at random, seed %llu; the states too\n", (unsigned long long)o->seed);
    if (!R.step && !o->tokens) printf("inputs that no text says at random\n");
    model_step_line(m, R.step, sym);
    s = model_outputs(R.d, NULL, sym, &e);
    for (int k = 0; k < m->n_symbols; k++) sym[k] += m->symbol[k].device * R.grow;
  }
  free(R.token), mg_model_data_free(R.d), mg_weights_close(w);
  return s == MG_OK ? 0 : report(s, &e);
}
static void on_piece(void *user, const mg_model_found *f, uint32_t piece) {
  (void)user;
  fprintf(stderr, "\r\033[Kpiece %u of %u\n", piece + 1, f->l->n_pieces);
}
/* Runs the list, and the partition with what was found, in float64: that one in its plan's memory, freed storage
   poisoned, in the list's order and in another; at the symbols' least sizes and at some beyond, or at those given. */
static int model_alike(const mg_model_list *l, const mg_model_list *q, const mg_model_found *f) {
  enum { STEPS = 3 };
  const mg_model *m = l->m;
  mg_model_plan *p = NULL;
  mg_model_config plain, with;
  mg_model_distance off;
  mg_error e;
  double worst = 0;
  int64_t sym[MG_MODEL_MAX_SYMBOLS];
  memset(&plain, 0, sizeof plain), memset(&with, 0, sizeof with), memset(&off, 0, sizeof off);
  mg_status s = mg_model_plan_of(q, &p, &e);
  for (int run = 0; run < (f->sized ? 2 : 4) && s == MG_OK; run++) {
    for (int k = 0; k < m->n_symbols; k++) {
      const int64_t beyond = m->symbol[k].least + (m->symbol[k].device ? 4 : 2);
      sym[k] = f->sized || run < 2 ? f->at[0][k] : beyond + STEPS < m->symbol[k].most ? beyond : m->symbol[k].least;
    }
    with.plan = p, with.order = (uint64_t)(run % 2), with.piece = mg_model_found_run, with.piece_user = (void *)(uintptr_t)f;
    int steps = f->sized ? 1 : STEPS;
    for (int k = 0; k < m->n_symbols; k++)
      if (m->symbol[k].device && sym[k] + steps - 1 > m->symbol[k].most) steps = 1;
    s = mg_model_compare(l, q, sym, steps, 1 + (uint64_t)run, &plain, &with, &off, &e);
    if (off.off > worst) worst = off.off;
  }
  mg_model_plan_free(p);
  if (s == MG_LIMIT || s == MG_UNSUPPORTED) return printf("run in float64: no: %s\n", e.msg) < 0 ? 4 : 0;
  if (s != MG_OK) return report(s, &e);
  printf("run in float64, in the plan's memory, freed storage poisoned, two orders: off by %.3g at most\n", worst);
  if (worst < 1e-9) return 0;
  mg_fail(&e, MG_NOT_FOUND, m->name, "the pieces do not make the model: '%s' is off by %.3g", off.of, worst);
  return report(MG_NOT_FOUND, &e);
}
/* The files of all pieces, DIR/MODEL_pK.cu. */
static int model_emit(const options *o, const mg_model_found *f) {
  mg_emit_config c;
  mg_error e;
  char path[1200], *text;
  int code = 0;
  memset(&c, 0, sizeof c);
  c.arch = o->arch;
  for (uint32_t k = 0; k < f->l->n_pieces && !code; k++) {
    const mg_status s = mg_model_emit(f, k, &c, &text, &e);
    if (s != MG_OK) { code = report(s, &e); break; }
    snprintf(path, sizeof path, "%.900s/%.60s_p%u.cu", o->out, f->l->m->name, k);
    code = write_all(path, NULL, text);
    if (!code) printf("%s: %d range%s, %u launches a step%s\n", path, f->piece[k].n, f->piece[k].n == 1 ? "" : "s", f->piece[k].launches, f->piece[k].written ? "; as written" : "");
    mg_string_free(text);
  }
  return code;
}
/* Link 2 of each distinct piece: the file that is emitted of it, against its µGraphs. */
static int model_link2(const options *o, const mg_model_found *f) {
  mg_emit_config c;
  mg_check_report r;
  mg_error e;
  int code = 0;
  memset(&c, 0, sizeof c);
  c.arch = o->arch;
  for (uint32_t k = 0; k < f->l->n_pieces && !code; k++) {
    char *text = NULL;
    memset(&r, 0, sizeof r);
    const mg_status s = mg_model_emit(f, k, &c, &text, &e);
    printf("piece %u: ", k), fflush(stdout);
    code = s != MG_OK ? report(s, &e) : check_and_print(o, f->piece[k].n == 1 ? f->piece[k].graph[0] : NULL, text, &r, stdout);
    mg_string_free(text);
  }
  return code;
}
/* Steps by the emitted kernels, emulated. */
static int model_emulate(const options *o, const mg_model_found *f, const int64_t *sym) {
  mg_model_emulation r;
  mg_error e;
  const int steps = o->steps ? (int)o->steps : 1;
  const mg_status s = mg_model_emulate(f, sym, steps, o->seeded ? o->seed : 1, NULL, &r, &e);
  if (s != MG_OK) return report(s, &e);
  printf("%d step%s by emulated kernels of %u pieces, %u launches a step%s: off from float64 by %.3g, operator by operator in its types by %.3g; %lld and %lld indices differ\n", steps, steps == 1 ? "" : "s",
         r.kernels, r.launches, r.evaluated ? "; others evaluated" : "", r.emulated.off, r.eager.off, (long long)r.emulated.indices, (long long)r.eager.indices);
  return 0;
}
/* Steps by a device's kernels. */
static int model_loaded_check(const options *o, const mg_model_found *f, const int64_t *sym) {
  mg_model_emulation r;
  mg_device_config c;
  mg_device *d = NULL;
  mg_error e;
  const int steps = o->steps ? (int)o->steps : 1;
  memset(&c, 0, sizeof c);
  c.emulated = o->emulated, c.arch = o->arch;
  mg_status s = mg_device_open(&c, &d, &e);
  if (s == MG_OK) s = mg_model_loaded_check(f, d, sym, steps, o->seeded ? o->seed : 1, NULL, &r, &e);
  if (s == MG_OK)
    printf("%d step%s on %s, %u files, %u launches a step: off from float64 by %.3g, operator by operator in its types by %.3g; %lld and %lld indices differ\n", steps, steps == 1 ? "" : "s",
           mg_device_name(d), r.kernels, r.launches, r.emulated.off, r.eager.off, (long long)r.emulated.indices, (long long)r.eager.indices);
  mg_device_close(d);
  return s == MG_OK ? 0 : report(s, &e);
}
static int model_search(const options *o, const mg_model_list *l) {
  const char *what = o->file[0];
  const int verify = !strcmp(what, "verify"), emit = !strcmp(what, "emit"), check = !strcmp(what, "check"), search = !strcmp(what, "search");
  mg_model_search_config c = mg_model_search_config_default();
  mg_partition_config cut;
  mg_model_list *q = NULL;
  mg_model_found found;
  mg_error e;
  int64_t sym[MG_MODEL_MAX_SYMBOLS];
  char *text = NULL;
  static timed times;
  double none = 0;
  int code = search_machine(o, "model", &c.search.machine), equal = 0;
  memset(&found, 0, sizeof found), memset(&cut, 0, sizeof cut);
  mg_status s = code || (!o->n_syms && !check) ? MG_OK : model_sizes(o, l->m, sym, &e);
  if (code || s != MG_OK) return code ? code : report(s, &e);
  if (o->out && (search || emit) && (code = make_directory(o->out)) != 0) return code;
  if ((code = search_cache(o)) != 0) return code;
  if (o->n_syms && !check) c.sym = cut.sym = sym;
  cut.machine = c.search.machine, cut.fold = o->fold;
  c.keep = o->out, c.no_search = !search;
  c.search.time_limit_s = !search ? 0 : o->time_limit > 0 ? o->time_limit : MODEL_S;
  if (o->threads) c.search.threads = c.verify.threads = (int)o->threads;
  if (o->seeded) c.search.seed = c.verify.seed = o->seed;
  c.search.cache = o->cache;
  c.search.user = (void *)(uintptr_t)c.search.machine->arch;
  c.search.emittable = may_emit, c.search.wary = on_wary;
  c.search.stop = &interrupted, c.verify.stop = &interrupted;
  times.arch = c.search.machine->arch, times.until = &none, times.most_work = MODEL_WORK, times.quiet = !isatty(2);
  if (search && !o->no_measure)
    c.search.measure = on_measure, c.search.measure_all = on_measure_all, c.search.measure_user = &times, c.search.measure_few = MODEL_TIMED, c.search.timed_loss = MODEL_LOSS;
  if (isatty(2)) c.progress = on_piece, c.search.progress = on_progress;
  signal(SIGINT, on_interrupt), signal(SIGTERM, on_interrupt);
  s = mg_model_partition(l, &cut, &q, &e);
  if (s == MG_OK) s = mg_model_search(q, &c, &found, &e);
  if (c.progress) fputs("\r\033[K", stderr);
  if (s == MG_OK && verify) s = mg_model_chain_print(&found, &equal, &text, &e);
  if (s == MG_OK && search) s = mg_model_found_print(&found, &text, &e);
  code = s != MG_OK ? report(s, &e) : emit ? model_emit(o, &found) : !check ? write_all(NULL, NULL, text) : o->gpu || o->emulated ? model_loaded_check(o, &found, sym) : model_emulate(o, &found, sym);
  if (!code && search && o->svg && model_svg_found(o, &found, &e) != MG_OK) code = report(e.status, &e);
  if (!code && verify && o->link2) code = model_link2(o, &found);
  else if (!code && verify) printf("link 2 of the pieces' files: not run (--link2)\n");
  if (!code && verify) code = model_alike(l, q, &found);
  if (!code && verify && !equal) code = fault(MG_UNSUPPORTED, "model", "not every piece is EQUAL");
  mg_string_free(text);
  if (s == MG_OK) mg_model_found_free(&found);
  mg_model_list_free(q);
  return code;
}
/* What of a model is made when weights are loaded. */
static mg_status model_once(const options *o, const mg_model_list *l, char **text, mg_error *e) {
  mg_partition_config cut;
  mg_model_list *q = NULL;
  memset(&cut, 0, sizeof cut);
  cut.fold = o->fold;
  mg_status s = mg_model_partition(l, &cut, &q, e);
  if (s == MG_LIMIT) return MG_OK; /* a model of so many operators has a plan, and is not cut */
  if (s == MG_OK) s = mg_model_once_print(q, text, e);
  mg_model_list_free(q);
  return s;
}
static int do_model(const options *o) {
  const char *what = o->file[0];
  const int print = !strcmp(what, "print"), plan = !strcmp(what, "plan"), eval = !strcmp(what, "eval"), run = !strcmp(what, "run");
  const int search = !strcmp(what, "search"), check = !strcmp(what, "check"), emit = !strcmp(what, "emit"), found = search || check || emit || !strcmp(what, "verify");
  mg_model *m = NULL;
  mg_model_list *l = NULL;
  mg_model_plan *p = NULL;
  mg_error e;
  size_t n;
  int code = 0;
  char *out = NULL, *once = NULL, msg[160];
  if (!print && !plan && !eval && !run && !found) {
    snprintf(msg, sizeof msg, "expected print, plan, eval, run, search, verify, emit or check, found '%.60s'", what);
    return fault(MG_BAD_INPUT, "model", msg);
  }
  if ((print || plan) && o->n_syms) return fault(MG_BAD_INPUT, "model", "print and plan are for all sizes: no --sym");
  if (!eval && !run && !check && o->steps) return fault(MG_BAD_INPUT, "model", "--steps belongs to model eval, run and check");
  if (!eval && !found && o->seeded) return fault(MG_BAD_INPUT, "model", "--seed belongs to model eval, search, verify and check");
  if (emit && !o->out) return fault(MG_BAD_INPUT, "model", "emit takes -o DIR");
  if (!run && (o->n_weights || o->random || o->tokens)) return fault(MG_BAD_INPUT, "model", "--weights, --random and --tokens belong to model run");
  const int device = o->gpu || o->emulated;
  if (o->gpu && o->emulated) return fault(MG_BAD_INPUT, "model", "--gpu and --emulated are two devices: expected one");
  if (device && !run && !check) return fault(MG_BAD_INPUT, "model", "--gpu and --emulated belong to model run and check");
  if ((o->timed || o->reps) && !(run && o->gpu)) return fault(MG_BAD_INPUT, "model", "--time and --reps belong to model run --gpu");
  if (o->fold && !plan && !found && !(run && device)) return fault(MG_BAD_INPUT, "model", "--fold belongs to model plan, search, verify, emit, check, and run on a device");
  if (o->link2 && strcmp(what, "verify")) return fault(MG_BAD_INPUT, "model", "--link2 belongs to model verify");
  if (o->svg && !search && !(run && o->timed)) return fault(MG_BAD_INPUT, "model", "--svg belongs to model search and to model run --gpu --time");
  if (o->reps > MG_DEVICE_TIMES) {
    snprintf(msg, sizeof msg, "--reps: expected at most %d replays, found %lld", (int)MG_DEVICE_TIMES, (long long)o->reps);
    return fault(MG_BAD_INPUT, "model", msg);
  }
  if (!found && !(run && device) && (o->out || o->arch || o->threads)) return fault(MG_BAD_INPUT, "model", "-o, --arch, --machine and --threads belong to model search, verify, emit and check");
  if (!search && (o->time_limit > 0 || o->cache || o->no_measure)) return fault(MG_BAD_INPUT, "model", "--time-limit, --cache and --no-measure belong to model search");
  char *text = read_all(o->file[1], &n, &code);
  if (!text) return code;
  mg_status s = mg_model_parse(text, n, o->file[1], NULL, &m, &e);
  if (s == MG_OK) s = mg_model_list_of(m, &l, &e);
  if (s == MG_OK && (plan || eval)) s = mg_model_plan_of(l, &p, &e);
  if (s == MG_OK && (print || plan)) s = print ? mg_model_print(m, &out, &e) : mg_model_plan_print(p, &out, &e);
  if (s == MG_OK && plan) s = model_once(o, l, &once, &e);
  if (s != MG_OK) code = report(s, &e);
  else code = found ? model_search(o, l) : eval ? model_eval(o, l, p) : run ? model_run(o, l) : write_all(NULL, NULL, out);
  if (!code && once) code = write_all(NULL, NULL, once);
  mg_string_free(out), mg_string_free(once), free(text);
  mg_model_plan_free(p), mg_model_list_free(l), mg_model_free(m);
  return code;
}

/* ---- what an interruption leaves */

/* Removes a directory with all that is in it. */
static void remove_all(const char *path) {
  DIR *d = opendir(path);
  for (struct dirent *x; d && (x = readdir(d));) {
    char inside[1024];
    const int n = snprintf(inside, sizeof inside, "%s/%s", path, x->d_name);
    if (!strcmp(x->d_name, ".") || !strcmp(x->d_name, "..") || n >= (int)sizeof inside) continue;
    if (unlink(inside)) remove_all(inside);
  }
  if (d) closedir(d);
  rmdir(path);
}
/* Directories of compilers and emulators stand in one of this process, which TMPDIR names from here on.  A child in a group of its own
   waits for the process to end, however it ends, and removes what it left.  Where that cannot be set up, they stand under TMPDIR as it was. */
#ifndef MIRAGE_TOOL_WITHIN /* 1: within a process that goes on behind it, whose TMPDIR stays as it is */
#define MIRAGE_TOOL_WITHIN 0
#endif
static void swept(char *dir, size_t n) {
  const char *base = getenv("TMPDIR");
  int alive[2];
  char byte;
  const int fits = snprintf(dir, n, "%s/mirage-XXXXXX", base && *base ? base : "/tmp") < (int)n;
  if (!fits || !mkdtemp(dir)) { *dir = 0; return; }
  if (pipe(alive)) { rmdir(dir), *dir = 0; return; }
  const pid_t child = fork();
  if (!child) {
    setpgid(0, 0);
    const int null = open("/dev/null", O_RDWR);
    for (int k = 0; k < 3; k++) dup2(null, k);
    close(alive[1]);
    while (read(alive[0], &byte, 1) < 0 && errno == EINTR) {}
    remove_all(dir);
    _exit(0);
  }
  if (child > 0) setpgid(child, child); /* by both, whoever is first: a signal to this process's group is not the child's */
  close(alive[0]);
  fcntl(alive[1], F_SETFD, FD_CLOEXEC); /* not the compilers': it is closed when this process ends */
  if (child < 0) { close(alive[1]), rmdir(dir), *dir = 0; return; }
  setenv("TMPDIR", dir, 1);
}

int main(int argc, char **argv) {
  static const command commands[] = {
      {"print", 1, 1, 0, "sym", do_print},
      {"dot", 1, 1, 0, "sym", do_dot},
      {"search", 1, 1, 1, "o arch machine threads max-kernel-ops max-block-ops time-limit no-prune seed stats top delta max-loops checkpoint cache no-measure allow-sampled numerics unsafe batch-invariant sym", do_search},
      {"verify", 1, 3, 0, "delta seed certificate threads time-limit prove no-prove allow-sampled full sym", do_verify},
      {"emit", 1, 1, 0, "o arch machine sym", do_emit},
      {"explain", 1, 1, 1, "arch machine json no-measure sym svg program", do_explain},
      {"check", 1, 1, 1, "seed arch machine time-limit numerics program full sym", do_check},
      {"run", 1, 200, 1, "arch machine reps cold seed stats no-check no-time numerics program time-limit sym", do_run},
      {"calibrate", 0, 0, 1, "o", do_calibrate},
      {"import", 1, 1, 0, "o", do_import},
      {"model", 2, 2, 1, "sym steps seed weights random tokens o arch machine threads time-limit cache no-measure gpu emulated time reps svg link2 fold", do_model},
  };
  options o;
  if (argc >= 2 && (!strcmp(argv[1], "help") || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))) return write_all(NULL, NULL, usage);
  if (argc >= 2 && !strcmp(argv[1], "--version")) return printf("mirage %d.%d.%d\n", MG_VERSION / 10000, MG_VERSION / 100 % 100, MG_VERSION % 100) < 0 ? 4 : 0;
  for (size_t k = 0; argc >= 2 && k < sizeof commands / sizeof *commands; k++)
    if (!strcmp(argv[1], commands[k].name)) {
      int code = parse_options(&commands[k], argc - 1, argv + 1, &o);
      if (code || o.help) return code ? code : command_help(argv[1]);
      char dir[1024] = "";
      if (commands[k].compiles && !MIRAGE_TOOL_WITHIN) swept(dir, sizeof dir);
      code = commands[k].run(&o);
      if (*dir) remove_all(dir);
      return code;
    }
  char found[80] = "";
  if (argc >= 2) snprintf(found, sizeof found, ", found '%.60s'", argv[1]);
  fprintf(stderr, "mirage: expected one of print, dot, search, verify, emit, explain, check, run, calibrate, import, model%s; 'mirage help' says more\n", found);
  return 3;
}
