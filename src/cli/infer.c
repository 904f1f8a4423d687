#include "cli/infer.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/result.h"
#include "tacit/random.h"
#include "tacit/report.h"

static const char *const method_names[] = {"auto", "gibbs", "hmc", "marginal"};

/* ---- options ---- */

static bool read_choice(const cli_args_t *args, const char *name, const char *const *choices, size_t n, size_t *choice) {
  const char *text = cli_value(args, name);
  tacit_nearest_t nearest = {.name = text};
  tacit_text_t list = {0};
  for (size_t i = 0; i < n; i++) {
    if (strcmp(text, choices[i]) == 0) {
      *choice = i;
      tacit_text_clear(&list);
      return true;
    }
    tacit_nearest_offer(&nearest, choices[i]);
    tacit_text_printf(&list, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", choices[i]);
  }
  char hint[TACIT_HINT_SIZE];
  cli_error(args, "option --%s must be %s, not '%s'%s", name, list.failed ? "another word" : list.data, text,
            tacit_nearest_hint(&nearest, hint));
  tacit_text_clear(&list);
  return false;
}

static bool read_key(const cli_args_t *args, tacit_augment_settings_t *settings) {
  size_t seed = 0;
  tacit_error_t err;
  if (!cli_count(args, "seed", 0, 9007199254740992.0, &seed)) {
    return false;
  }
  if (cli_is_given(args, "seed")) {
    tacit_rng_key_from_seed(settings->key, seed);
    return true;
  }
  return tacit_rng_key_from_system(settings->key, &err) == TACIT_OK || (cli_fail(args, &err), false);
}

static int read_settings(const cli_args_t *args, tacit_augment_settings_t *settings, size_t *n) {
  static const char *const paths[] = {"collective", "joint"};
  size_t method = 0, path = 0;
  *settings = tacit_augment_settings_default();
  *n = 0;
  if (cli_value(args, "statistic") == NULL || cli_value(args, "out") == NULL) {
    cli_error(args, "option --%s is needed; see tacit infer --help", cli_value(args, "out") == NULL ? "out" : "statistic");
    return CLI_USAGE;
  }
  if (!read_choice(args, "method", method_names, 4, &method) || !read_choice(args, "path", paths, 2, &path) ||
      !cli_count(args, "n", 1, 2147483647, n) || !cli_count(args, "chains", 1, 1000, &settings->n_chains) ||
      !cli_count(args, "warmup", 0, 1e9, &settings->n_warmup) || !cli_count(args, "draws", 1, 1e9, &settings->n_draws) ||
      !cli_count(args, "thin", 1, 1e9, &settings->thin) || !cli_count(args, "threads", 1, 1024, &settings->n_threads) ||
      !cli_number(args, "step-size", 1e-6, 10, &settings->step_size) ||
      !cli_count(args, "leapfrog", 1, 1e6, &settings->n_leapfrog) || !read_key(args, settings)) {
    return CLI_USAGE;
  }
  settings->method = (tacit_augment_method_t)method;
  settings->path = (tacit_augment_path_t)path;
  settings->interweave = !cli_is_given(args, "no-interweave");
  bool has_path_options = cli_is_given(args, "path") || cli_is_given(args, "step-size") || cli_is_given(args, "leapfrog");
  if (has_path_options && settings->method != TACIT_AUGMENT_HMC) {
    cli_error(args, "--path, --step-size and --leapfrog only go with --method hmc");
    return CLI_USAGE;
  }
  if (access(cli_value(args, "out"), F_OK) == 0) {
    cli_error(args, "%s exists: choose another --out, or remove it", cli_value(args, "out"));
    return CLI_FAILURE;
  }
  return CLI_OK;
}

/* ---- what is written and printed ---- */

enum { max_settings = 16, max_text = 64 };

typedef struct settings_list {
  const cli_args_t *args;
  tacit_report_setting_t items[max_settings];
  char texts[max_settings][max_text];
  size_t n;
} settings_list_t;

static void add_text(settings_list_t *list, const char *name, const char *value) {
  list->items[list->n++] =
      (tacit_report_setting_t){.name = name, .value = value, .is_default = !cli_is_given(list->args, name)};
}

static void add_number(settings_list_t *list, const char *name, double value) {
  char *text = list->texts[list->n];
  add_text(list, name, tacit_number_format(value, text));
}

static void list_settings(settings_list_t *list, const tacit_augment_settings_t *s, const cli_infer_t *infer,
                          const tacit_augment_result_t *result) {
  add_text(list, "method", method_names[result->method]);
  add_number(list, "n", (double)infer->model.n_records);
  add_number(list, "chains", (double)s->n_chains);
  add_number(list, "warmup", (double)s->n_warmup);
  add_number(list, "draws", (double)s->n_draws);
  add_number(list, "thin", (double)s->thin);
  if (result->method == TACIT_AUGMENT_HMC) {
    add_text(list, "path", cli_value(list->args, "path"));
    add_number(list, "step-size", result->step_size);
  }
  if (s->n_leapfrog > 0) {
    add_number(list, "leapfrog", (double)s->n_leapfrog);
  }
  if (cli_is_given(list->args, "no-interweave")) {
    add_text(list, "no-interweave", "true");
  }
  if (cli_is_given(list->args, "seed")) {
    add_text(list, "seed", cli_value(list->args, "seed"));
  }
}

static tacit_status_t write_report(const cli_args_t *args, const cli_infer_t *infer, const tacit_augment_settings_t *s,
                                   const tacit_draws_t *draws, const tacit_augment_result_t *result, tacit_error_t *err) {
  settings_list_t list = {.args = args};
  list_settings(&list, s, infer, result);
  tacit_report_release_t release = {
      .statistic = infer->statistic, .noise = infer->noise, .epsilon = infer->epsilon, .delta = infer->delta};
  tacit_report_t report = {.method = method_names[result->method],
                           .formula = infer->statistic,
                           .family = infer->records,
                           .data_name = "released statistic",
                           .unit = "row",
                           .max_rows = 1,
                           .delta_meaning = "",
                           .is_private = !infer->is_not_private,
                           .not_private_reason = infer->is_not_private ? "the statistic's noise was drawn from a seed" : "",
                           .is_exact = result->is_exact,
                           .release = infer->is_not_private ? NULL : &release,
                           .end = result->is_complete ? "complete" : "interrupted",
                           .labels = (const char *const *)infer->labels,
                           .names = (const char *const *)infer->names,
                           .step_size = result->step_size,
                           .thin = s->thin,
                           .settings = list.items,
                           .n_settings = list.n,
                           .draws = draws};
  return tacit_report_write(&report, cli_value(args, "out"), err);
}

static void print_method(const cli_infer_t *infer, const tacit_augment_settings_t *s,
                         const tacit_augment_result_t *result) {
  size_t n = infer->model.n_records;
  printf("\nmethod %s%s: ", method_names[result->method], s->method == TACIT_AUGMENT_AUTO ? " (chosen)" : "");
  if (result->method == TACIT_AUGMENT_MARGINAL && result->is_exact && infer->model.kind != TACIT_LATENT_CATEGORICAL) {
    printf("%zu records integrated out, exactly\n", n);
  } else if (result->method == TACIT_AUGMENT_MARGINAL && result->is_exact) {
    printf("the cells' counts stand for %zu records, exactly\n", n);
  } else if (result->is_exact && infer->model.kind == TACIT_LATENT_REGRESSION) {
    printf("%zu records drawn along with the parameters, clamping and noise included (exact)\n", n);
  } else if (infer->model.kind == TACIT_LATENT_REGRESSION || infer->model.kind == TACIT_LATENT_LOGISTIC) {
    printf("%zu records replaced by the normal law of sums of their clamped columns and products, features taken as normal "
           "(approximate)\n", n);
  } else if (result->method == TACIT_AUGMENT_MARGINAL) {
    printf("%zu records replaced by the normal law of their sum, clamping included (approximate; exact: --method gibbs)\n",
           n);
  } else if (result->method == TACIT_AUGMENT_HMC) {
    printf("paths of step size %.3g accepted with probability %.2f\n", result->step_size, result->path_accept);
  }
  if (!isnan(result->record_accept)) {
    printf("%s%.4g of proposals for %zu records accepted, the least likely one with probability %.3g\n",
           result->method == TACIT_AUGMENT_HMC ? "sweeps: " : "", result->record_accept, n, result->min_record_accept);
  }
}

static void print_cost(const cli_infer_t *infer) {
  printf("release: %s, noise %s", infer->statistic, infer->noise);
  if (isfinite(infer->epsilon)) {
    printf(" (epsilon %.6g, delta %g, relation substitute)", infer->epsilon, infer->delta);
  }
  printf("; inference from it costs no privacy\n");
}

static void warn(const cli_infer_t *infer) {
  if (infer->is_not_private) {
    fprintf(stderr, "warning: the statistic is not private: its noise can be repeated by whoever knows the seed\n");
  }
  if (infer->true_delta > infer->delta) {
    fprintf(stderr, "warning: classical-gaussian noise is proven for epsilon below 1 only; here its true delta is %.3g, not "
                    "%.3g: the release protected less than it claimed\n", infer->true_delta, infer->delta);
  }
}

/* ---- the run ---- */

typedef struct watch {
  const char *method;
  bool is_shown;
  size_t n_iterations;
  double last;
} watch_t;

/* Progress of the first chain; others come along at the same pace. */
static bool proceed(size_t chain, size_t iteration, void *user) {
  watch_t *w = user;
  if (w->is_shown && chain == 0) {
    double now = tacit_clock();
    bool is_last = iteration + 1 == w->n_iterations;
    if (now - w->last > 0.1 || is_last) {
      fprintf(stderr, "\r%s: %zu of %zu iterations%s", w->method, iteration + 1, w->n_iterations, is_last ? "\n" : "");
      w->last = now;
    }
  }
  return !cli_is_interrupted();
}

static int finish(const cli_args_t *args, const cli_infer_t *infer, const tacit_augment_settings_t *settings,
                  const tacit_draws_t *draws, const tacit_augment_result_t *result) {
  tacit_error_t err;
  if (tacit_draws_n_kept(draws) == 0) {
    cli_error(args, "stopped before the first draw after warm-up: nothing was written");
    return CLI_INTERRUPTED;
  }
  if (write_report(args, infer, settings, draws, result, &err) != TACIT_OK) {
    return cli_fail(args, &err);
  }
  int status = cli_print_summary(args, draws, (const char *const *)infer->labels, NULL, NULL);
  print_method(infer, settings, result);
  print_cost(infer);
  printf("written: %s/ (report.html, privacy.txt, summary.csv, draws-*.csv, run.yaml)\n", cli_value(args, "out"));
  if (status == CLI_OK && !result->is_complete) {
    fprintf(stderr, "interrupted: %zu draws a chain were kept\n", tacit_draws_n_kept(draws));
    return CLI_INTERRUPTED;
  }
  return status;
}

static int sample(const cli_args_t *args, const cli_infer_t *infer, tacit_augment_settings_t *settings) {
  tacit_draws_t draws;
  tacit_augment_result_t result;
  tacit_error_t err;
  watch_t w = {.method = cli_value(args, "method"),
               .is_shown = isatty(STDERR_FILENO) && !cli_is_given(args, "quiet"),
               .n_iterations = settings->n_warmup + settings->n_draws * settings->thin,
               .last = tacit_clock()};
  settings->proceed = proceed;
  settings->user = &w;
  warn(infer);
  cli_catch_signals();
  int status = CLI_OK;
  if (tacit_augment(&infer->model, &infer->release, settings, &draws, &result, &err) == TACIT_OK) {
    cli_infer_unmap(infer, &draws);
    status = finish(args, infer, settings, &draws, &result);
  } else {
    status = cli_fail(args, &err);
  }
  tacit_draws_clear(&draws);
  return status;
}

static int run(const cli_args_t *args) {
  tacit_augment_settings_t settings;
  cli_infer_t infer = {0};
  size_t n;
  tacit_error_t err;
  int status = read_settings(args, &settings, &n);
  if (status == CLI_OK && cli_infer_read(&infer, args->positionals[0], cli_value(args, "statistic"), n, &err) != TACIT_OK) {
    status = cli_fail(args, &err);
  }
  if (status == CLI_OK) {
    status = sample(args, &infer, &settings);
  }
  cli_infer_clear(&infer);
  return status;
}

static const cli_option_t options[] = {
    {"statistic", "FILE", NULL, "The released statistic, YAML."},
    {"n", "N", NULL, "Number of records it was computed from (or n: N in the file)."},
    {"out", "DIR", NULL, "Directory for the results; must not exist."},
    {"method", "M", "auto",
     "gibbs: latent records, any model. hmc: gaussian records under continuous noise. marginal: no latent records, cost free "
     "of n; approximate for Laplace noise and moments, else exact. auto: marginal where it is exact (gaussian: above 1000 "
     "records), and above 20000 records; else gibbs."},
    {"chains", "K", "4", "Number of chains."},
    {"warmup", "W", "1000", "Iterations that are dropped, per chain."},
    {"draws", "D", "1000", "Draws kept, per chain."},
    {"thin", "T", "1", "Iterations for each draw."},
    {"threads", "T", "1", "Chains at a time; results do not depend on it."},
    {"seed", "S", NULL, "Make the run repeatable."},
    {"no-interweave", NULL, NULL, "gibbs: without the moves that carry all records along: the plain algorithm, slower to mix."},
    {"path", "P", "collective", "hmc: collective moves parameters and the records' mean and sweeps the records; joint moves all."},
    {"step-size", "E", NULL, "hmc: fixed step size, in units where a period is 2 pi. Default: adapted during warm-up."},
    {"leapfrog", "L", NULL, "hmc: fixed number of steps. Default: a length around pi/2."},
    {"quiet", NULL, NULL, "No progress."}};

const cli_command_t cli_infer = {
    .name = "infer",
    .positionals = "MODEL",
    .n_positionals = 1,
    .summary = "infer parameters from a statistic that was released with noise",
    .description =
        "Draws parameters from their posterior given a privatized statistic of records that nobody else has, noise and "
        "clamping included. It reads no records and costs no privacy.\n"
        "MODEL is YAML: records: gaussian, poisson, regression, logistic or categorical; and for gaussian mean: normal(0, 1) with sd: 0.5 (known) "
        "or variance: inverse_gamma(2, 1); for poisson rate: gamma(2, 0.5) (shape, rate); for regression coefficients: normal(0, 1) with variance: inverse_gamma(2, 0.1) (of every column given those before it, all "
        "mapped to [-1, 1] by their bounds); for logistic coefficients: normal(0, 2.5) with features: normal(0, 1) and variance: inverse_gamma(2, 0.1) "
        "(of every feature given those before it, mapped alike); for categorical levels: [a, b, c] "
        "or factors: {sex: [F, M], smoker: [no, yes]} (independent factors of a table), with probabilities: dirichlet(1).\n"
        "The statistic is YAML: statistic: mean, sum, moments (means of x and of x^2), counts, regression-moments or logistic-score (as tacit release writes them); value: a number or a list "
        "(counts: the last factor fastest); lower and upper: the clamp bounds of a record; mechanism: gaussian, "
        "classical-gaussian (scale sqrt(2 ln(1.25/delta)) sensitivity / epsilon), laplace, discrete-gaussian or "
        "discrete-laplace; and either scale: the noise's sd or scale in units of the value, or epsilon: and delta:, from which "
        "it follows by the sensitivity under replacing one record (gaussian: the smallest valid noise). sensitivity: sets "
        "another one; step: is the grid to which gaussian records were rounded under discrete noise; n: as --n.",
    .examples = "  printf 'records: gaussian\\nmean: normal(0, 1)\\nsd: 0.5\\n' > model.yaml\n"
                "  printf 'statistic: mean\\nvalue: 0.31\\nlower: -1\\nupper: 1\\nmechanism: laplace\\nepsilon: 1\\n' > s_dp.yaml\n"
                "  tacit infer model.yaml --statistic s_dp.yaml --n 500 --out post/\n"
                "  tacit infer model.yaml --statistic s_dp.yaml --n 500 --method hmc --out post-hmc/\n"
                "  tacit infer model.yaml --statistic s_dp.yaml --n 500 --method hmc --path joint --step-size 0.03 \\\n"
                "        --leapfrog 20 --out as-in-the-paper/\n"
                "  tacit summary post/\n",
    .options = options,
    .n_options = sizeof options / sizeof options[0],
    .run = run};
