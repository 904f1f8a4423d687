/*
 * tacit-audits [--quick] [--runs N] [--seed N] [--only NAME] [--list] [--out DIR]: lower bounds of epsilon of
 * every private method beside what is charged, and of planted errors. Exit status 0 if every bound is where
 * it must be, 1 if one is not or nothing could be written, 2 for a wrong command line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "audit.h"
#include "output.h"

/*
 * A sound method fails with the probability alpha of a bound: all bounds of a quick run together less than
 * once in 1e6 runs. A planted error must show at the same confidence.
 */
static const double quick_alpha = 2e-8, full_alpha = 1e-3;

/* Least share of the charge that a quick run must demonstrate, of what is asked of a full one: fewer runs,
 * and more confidence, prove less. */
static const double quick_part = 0.6;

typedef struct options {
  bool is_quick;
  size_t n_runs;
  const char *only, *out;
} options_t;

static int usage(const char *what, const char *argument) {
  fprintf(stderr,
          "tacit-audits: %s%s; usage: tacit-audits [--quick] [--runs N] [--seed N] [--only NAME] [--list] "
          "[--out DIR]\n",
          what, argument);
  return 2;
}

static int list(void) {
  for (size_t i = 0; i < n_audit_cases; i++) {
    printf("%-26s %s %s\n", audit_cases[i].name, audit_cases[i].method, audit_cases[i].setting);
  }
  return 0;
}

/* More effort is for planted errors alone: a sound method needs none to pass. */
static size_t n_runs_of(const audit_case_t *of, fault_t fault, const options_t *options) {
  double effort = options->is_quick && of->quick_effort > 0 ? of->quick_effort : 1;
  return (size_t)((double)options->n_runs * (fault == FAULT_NONE ? fmin(effort, 1) : effort));
}

/* An audit that sees nothing finds no error, and passes: what it must see is asked of it. */
static double least_share(const audit_case_t *of, const options_t *options) {
  return !options->is_quick ? of->share : of->share_quick > 0 ? of->share_quick : quick_part * of->share;
}

static void audit_sound(const audit_case_t *of, const options_t *options, audit_row_t *row) {
  double alpha = options->is_quick ? quick_alpha : full_alpha;
  row->charged = audit_charge(of, FAULT_NONE);
  row->lower = audit_run(of, FAULT_NONE, n_runs_of(of, FAULT_NONE, options), alpha);
  row->exact = of->n_bits > 0 ? audit_exact(of) : NAN;
  row->is_replayed =
      of->statistic != NULL || of->rows != ROWS_NONE || audit_replay(of); /* a release alone has no draws */
  row->holds =
      row->lower <= row->charged && row->lower >= least_share(of, options) * row->charged &&
      (of->n_bits == 0 || (row->exact <= row->charged && row->exact >= of->share_exact * row->charged)) &&
      row->is_replayed;
}

static void audit_fault(const audit_case_t *of, fault_t fault, const options_t *options, audit_row_t *row) {
  row->fault = fault;
  row->charged = audit_charge(of, fault);
  row->lower =
      audit_run(of, fault, n_runs_of(of, fault, options), options->is_quick ? quick_alpha : full_alpha);
  row->exact = NAN;
  row->holds = row->lower > row->charged;
}

/* Errors planted in a case. */
static size_t n_planted(const audit_case_t *of, const options_t *options) {
  size_t n = 0, most = !options->is_quick                                     ? AUDIT_MAX_FAULTS
                       : n_runs_of(of, FAULT_NONE, options) < options->n_runs ? 0
                                                                              : 1;
  while (n < most && of->faults[n] != FAULT_NONE) {
    n++;
  }
  return n;
}

static size_t audit_all(const options_t *options, audit_row_t *rows) {
  size_t n = 0;
  for (size_t i = 0; i < n_audit_cases; i++) {
    const audit_case_t *of = &audit_cases[i];
    if (options->only != NULL && strcmp(options->only, of->name) != 0) {
      continue;
    }
    adversary_open(of);
    rows[n] = (audit_row_t){.of = of};
    audit_sound(of, options, &rows[n]);
    print_row(&rows[n++]);
    for (size_t k = 0; k < n_planted(of, options); k++) {
      rows[n] = (audit_row_t){.of = of};
      audit_fault(of, of->faults[k], options, &rows[n]);
      print_row(&rows[n++]);
    }
    adversary_close();
  }
  return n;
}

static int audit(const options_t *options) {
  audit_row_t *rows = calloc((1 + AUDIT_MAX_FAULTS) * n_audit_cases, sizeof *rows);
  if (rows == NULL) {
    fprintf(stderr, "tacit-audits: out of memory\n");
    return 1;
  }
  size_t n = audit_all(options, rows), n_failed = 0;
  for (size_t i = 0; i < n; i++) {
    n_failed += !rows[i].holds;
  }
  printf("%zu bounds, %zu not where they must be\n", n, n_failed);
  bool is_written = options->out == NULL || write_results(options->out, rows, n, options->n_runs);
  free(rows);
  return n == 0 ? usage("no case is named ", options->only) : n_failed > 0 || !is_written ? 1 : 0;
}

int main(int argc, char **argv) {
  options_t options = {.n_runs = 0};
  for (int i = 1; i < argc; i++) {
    bool has_value = i + 1 < argc;
    if (strcmp(argv[i], "--quick") == 0) {
      options.is_quick = true;
    } else if (strcmp(argv[i], "--list") == 0) {
      return list();
    } else if (strcmp(argv[i], "--only") == 0 && has_value) {
      options.only = argv[++i];
    } else if (strcmp(argv[i], "--out") == 0 && has_value) {
      options.out = argv[++i];
    } else if (strcmp(argv[i], "--seed") == 0 && has_value) {
      audit_seed = strtoull(argv[++i], NULL, 10);
    } else if (strcmp(argv[i], "--runs") == 0 && has_value) {
      options.n_runs = (size_t)strtoull(argv[++i], NULL, 10);
    } else {
      return usage("unknown or incomplete argument ", argv[i]);
    }
  }
  if (options.n_runs == 0) {
    options.n_runs = options.is_quick ? 12000 : 100000;
  }
  if (options.n_runs < 1000) {
    return usage("--runs must be at least 1000", "");
  }
  if (options.out != NULL && mkdir(options.out, 0777) != 0 && errno != EEXIST) {
    fprintf(stderr, "tacit-audits: cannot make the folder %s: %s\n", options.out, strerror(errno));
    return 1;
  }
  return audit(&options);
}
