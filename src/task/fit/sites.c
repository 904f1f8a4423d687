/* Several sites' releases under one prior: the product of their likelihoods, and what they cost together. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "fit/fit_internal.h"
#include "report/report.h"

enum { MAX_SITE_NAME = 30 }; /* of labels in a table */

/* Of a site: its budget as its settings have it; NaN where they have none. */
static double number_of(const tacit_released_t *site, const char *name) {
  double value = NAN;
  for (size_t i = 0; i < site->n_settings; i++) {
    if (strcmp(site->names[i], name) == 0) {
      tacit_number_scan(site->values[i], &value);
    }
  }
  return value;
}

/* The k-th value of a setting, or NULL. */
static const char *value_of(const tacit_released_t *site, const char *name, size_t k) {
  for (size_t i = 0; i < site->n_settings; i++) {
    if (strcmp(site->names[i], name) == 0 && k-- == 0) {
      return site->values[i];
    }
  }
  return NULL;
}

static bool has_same(const tacit_released_t *a, const tacit_released_t *b, const char *name) {
  for (size_t k = 0;; k++) {
    const char *x = value_of(a, name, k), *y = value_of(b, name, k);
    if (x == NULL || y == NULL) {
      return x == y;
    }
    if (strcmp(x, y) != 0) {
      return false;
    }
  }
}

/* But for lines that name the data set. */
static bool has_same_schema(const char *a, const char *b) {
  static const char name[] = "dataset:";
  while (*a != '\0' || *b != '\0') {
    size_t n = strcspn(a, "\n"), m = strcspn(b, "\n");
    bool skips_a = strncmp(a, name, sizeof name - 1) == 0, skips_b = strncmp(b, name, sizeof name - 1) == 0;
    if (!skips_a && !skips_b && (n != m || strncmp(a, b, n) != 0)) {
      return false;
    }
    a += skips_a || !skips_b ? n + (a[n] == '\n') : 0;
    b += skips_b || !skips_a ? m + (b[m] == '\n') : 0;
  }
  return true;
}

/* Texts may differ in priors, if one is given for all. */
static tacit_status_t check_program(const tacit_fit_t *fit, size_t i, tacit_error_t *err) {
  const char *first = fit->of->program, *text = fit->of[i].program;
  tacit_error_t why;
  if ((first == NULL) != (text == NULL)) {
    return tacit_error_set(
        err, TACIT_ERR_DATA, "program",
        "site %zu has another program than the first: only fits of one model, by one schema, go together",
        i + 1);
  }
  if (first == NULL || strcmp(first, text) == 0) {
    return TACIT_OK;
  }
  tacit_status_t status = tacit_fit_compare_program(fit, text, &why);
  if (status != TACIT_OK) {
    return tacit_error_set(err, status, "program", "site %zu has another program than the first: %s", i + 1,
                           why.message);
  }
  return tacit_fit_has(fit, "program") || fit->has_own_prior
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "program",
                               "site %zu has another text of the program than the first, and one prior must "
                               "do for all: say it with --program, or --prior of a formula",
                               i + 1);
}

/* Sites have the same model, and whatever the prior is, it is one. */
static tacit_status_t check_site(const tacit_fit_t *fit, size_t i, bool has_own_prior, tacit_error_t *err) {
  static const char *const of_model[] = {"method", "family", "sd", "followed-to-bound"}, *const of_prior[] = {
                                                                                             "prior",
                                                                                             "prior-scale",
                                                                                             "prior-basis"};
  const tacit_released_t *first = fit->of, *site = &fit->of[i];
  const char *what = strcmp(site->formula, first->formula) != 0      ? "formula"
                     : !has_same_schema(site->schema, first->schema) ? "schema"
                                                                     : NULL;
  for (size_t k = 0; k < sizeof of_model / sizeof of_model[0]; k++) {
    what = what == NULL && !has_same(site, first, of_model[k]) ? of_model[k] : what;
  }
  if (what != NULL || site->relation != first->relation || site->releases.dim != first->releases.dim) {
    what = what != NULL ? what : site->relation != first->relation ? "relation" : "number of features";
    return tacit_error_set(
        err, TACIT_ERR_DATA, what,
        "site %zu has another %s than the first: only fits of one model, by one schema, go together", i + 1,
        what);
  }
  for (size_t k = 0; k < sizeof of_prior / sizeof of_prior[0] && !has_own_prior; k++) {
    if (!has_same(site, first, of_prior[k])) {
      return tacit_error_set(
          err, TACIT_ERR_ARGUMENT, "prior",
          "site %zu has another prior than the first, and one must do for all: say it with --prior", i + 1);
    }
  }
  return check_program(fit, i, err);
}

/* Their noise makes releases differ from all others: equal ones are one fit's, refits included. */
static bool are_same_releases(const tacit_releases_t *a, const tacit_releases_t *b) {
  const tacit_kept_release_t *x = a->items, *y = b->items;
  return x->n_values == y->n_values && memcmp(x->values, y->values, x->n_values * sizeof *x->values) == 0;
}

/* Its releases within its budget; what that is. */
static tacit_status_t check_budget(const tacit_released_t *site, double *epsilon, double *delta, double *rho,
                                   tacit_error_t *err) {
  tacit_budget_t *budget;
  *epsilon = number_of(site, "epsilon");
  *delta = number_of(site, "delta");
  tacit_status_t status = tacit_budget_new(&budget, *epsilon, *delta, site->relation, err);
  if (status == TACIT_OK) {
    *rho = tacit_budget_rho(budget) * TACIT_PLANNED_SHARE;
    status = tacit_fit_charge_again(budget, &site->releases, err);
  }
  tacit_budget_free(budget);
  return status;
}

static double together(bool is_disjoint, double sum, double next) {
  return is_disjoint ? fmax(sum, next) : sum + next;
}

tacit_status_t tacit_fit_settle_sites(tacit_fit_t *fit, tacit_error_t *err) {
  double epsilon = 0, delta = 0, rho;
  bool has_own_prior = fit->has_own_prior;
  tacit_status_t status = fit->effects == NULL
                              ? TACIT_OK
                              : tacit_error_set(err, TACIT_ERR_ARGUMENT, "formula",
                                                "fits with (1 | g) are not combined: fit the formula with '+ "
                                                "g' in its place (of slopes '+ g + x:g'), at the same price");
  for (size_t i = 0; i < fit->n_of && status == TACIT_OK; i++) {
    double its_epsilon, its_delta;
    for (size_t k = 0; k < i && status == TACIT_OK; k++) {
      status = !are_same_releases(&fit->of[i].releases, &fit->of[k].releases)
                   ? TACIT_OK
                   : tacit_error_set(err, TACIT_ERR_ARGUMENT, "sites",
                                     "sites %zu and %zu are the same fit: its releases would count twice",
                                     k + 1, i + 1);
    }
    TACIT_THEN(status, check_site(fit, i, has_own_prior, err));
    TACIT_THEN(status, check_budget(&fit->of[i], &its_epsilon, &its_delta, &rho, err));
    if (status == TACIT_OK) {
      epsilon = together(fit->is_disjoint, epsilon, its_epsilon);
      delta = together(fit->is_disjoint, delta, its_delta);
    }
  }
  tacit_text_printf(&fit->sites_text, "%s of %zu fits by method noise-aware",
                    tacit_fit_kind(fit)->words(fit).released, fit->n_of);
  fit->sites = (tacit_report_release_t){
      .statistic = fit->sites_text.data,
      .noise = "Gaussian, as the releases.json of each says",
      .epsilon = epsilon,
      .delta = delta,
      .relation = fit->of->relation,
      .composition = fit->is_disjoint
                         ? "The sites were declared disjoint: nobody's records are at two of them. A change "
                           "of one person's records then touches the releases of one site alone, and the "
                           "cost is that of the dearest site (parallel composition). Whoever declared it "
                           "answers for it: of somebody at two sites the costs add up."
                         : "Nothing was declared of who is at which site: somebody's records may be at all "
                           "of them, so that epsilons and deltas add up.",
      .has_own_effects = fit->between > 0};
  fit->epsilon = epsilon;
  fit->delta = delta;
  return status == TACIT_OK && fit->sites_text.failed ? tacit_error_memory(err) : status;
}

/* ---- what is reported of sites ---- */

/* The folder's name: "north" of "data/north/" and of "data/north/releases.json". */
static tacit_status_t name_site(const char *path, char **name, tacit_error_t *err) {
  static const char file[] = "releases.json";
  size_t n = strlen(path), m = sizeof file - 1;
  n -= n >= m && strcmp(path + n - m, file) == 0 ? m : 0;
  while (n > 0 && path[n - 1] == '/') {
    n--;
  }
  size_t from = n;
  while (from > 0 && path[from - 1] != '/') {
    from--;
  }
  tacit_text_t text = {0};
  tacit_text_printf(&text, "%.*s", (int)(n - from), path + from);
  return tacit_text_take(&text, TACIT_OK, name, err);
}

/* Names that tell sites apart, or none. */
static bool do_names_serve(const tacit_fit_t *fit) {
  for (size_t i = 0; i < fit->n_of; i++) {
    const char *name = fit->sites_called[i];
    size_t n = strlen(name);
    bool serves = n > 0 && n <= MAX_SITE_NAME && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    for (const char *c = name; *c != '\0'; c++) {
      serves = serves && (unsigned char)*c >= ' ' && *c != '\177';
    }
    for (size_t k = 0; k < i; k++) {
      serves = serves && strcmp(name, fit->sites_called[k]) != 0;
    }
    if (!serves) {
      return false;
    }
  }
  return true;
}

/* Of a program's unconstrained parameters: "phi", or "b[2]" where a declaration has several. */
static void name_spread(const tacit_fit_t *fit, size_t j, tacit_text_t *label, tacit_text_t *name) {
  const char *declared = tacit_program_parameter(fit->program, j);
  size_t n = 0, place = 0;
  for (size_t k = 0; k < fit->model.parameters.dim; k++) {
    bool is_of = strcmp(tacit_program_parameter(fit->program, k), declared) == 0;
    n += is_of;
    place += is_of && k <= j;
  }
  tacit_text_printf(label, "sd between sites of unconstrained %s", declared);
  tacit_text_printf(name, "sites_sd_%s", declared);
  if (n > 1) {
    tacit_text_printf(label, "[%zu]", place);
    tacit_text_printf(name, ".%zu", place);
  }
}

/* The model's, then sds between sites, then what is each site's own: labels, and names for Stan CSV. */
static void name_column(const tacit_fit_t *fit, size_t j, tacit_text_t *label, tacit_text_t *name) {
  const tacit_parameters_t *of = &fit->model.parameters;
  size_t n = of->n_reported, own = tacit_fit_n_own(fit),
         n_sds = fit->between > 0 ? tacit_fit_aware_dim(fit) : 0;
  if (j < n) {
    tacit_text_printf(label, "%s", of->labels[j]);
    tacit_text_printf(name, "%s", of->names[j]);
  } else if (j < n + n_sds && fit->program != NULL) {
    name_spread(fit, j - n, label, name);
  } else if (j < n + n_sds) {
    tacit_text_printf(label, "sd between sites of %s", of->labels[j - n]);
    tacit_text_printf(name, "sites_sd_%s", of->names[j - n]);
  } else {
    size_t site = (j - n - n_sds) / own, k = n - own + (j - n - n_sds) % own;
    if (do_names_serve(fit)) {
      tacit_text_printf(label, "%s at %s", of->labels[k], fit->sites_called[site]);
    } else {
      tacit_text_printf(label, "%s at site %zu", of->labels[k], site + 1);
    }
    tacit_text_printf(name, "site%zu_%s", site + 1, of->names[k]);
  }
}

size_t tacit_fit_n_own(const tacit_fit_t *fit) {
  const tacit_parameters_t *of = &fit->model.parameters;
  return fit->n_of < 2 ? 0 : fit->between > 0 ? of->n_reported : tacit_fit_kind(fit)->n_beside(fit);
}

static tacit_status_t name_columns(tacit_fit_t *fit, tacit_error_t *err) {
  size_t n = fit->draws.n_reported;
  fit->site_labels = tacit_alloc_zero(n, sizeof *fit->site_labels);
  fit->site_names = tacit_alloc_zero(n, sizeof *fit->site_names);
  bool ok = fit->site_labels != NULL && fit->site_names != NULL;
  fit->n_site_labels = ok ? n : 0;
  for (size_t j = 0; j < n && ok; j++) {
    tacit_text_t label = {0}, name = {0};
    name_column(fit, j, &label, &name);
    fit->site_labels[j] = label.data;
    fit->site_names[j] = name.data;
    ok = !label.failed && !name.failed;
  }
  return ok ? TACIT_OK : tacit_error_memory(err);
}

tacit_status_t tacit_fit_sample_sites(tacit_fit_t *fit, tacit_error_t *err) {
  tacit_noise_aware_settings_t *sites = tacit_alloc(fit->n_of, sizeof *sites);
  tacit_status_t status = sites != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t i = 0; i < fit->n_of && status == TACIT_OK; i++) {
    double epsilon, delta, n = fit->of[i].releases.n_units;
    sites[i] = fit->aware;
    sites[i].releases = &fit->of[i].releases;
    sites[i].n_units =
        n > 0 ? n : number_of(&fit->of[i], "n-public"); /* by which its budget was shared out */
    status = check_budget(&fit->of[i], &epsilon, &delta, &sites[i].rho, err);
    if (i > 0) {
      memcpy(sites[i].key, fit->of[i].key, sizeof sites[i].key);
    }
  }
  TACIT_THEN(status, tacit_noise_aware_combine(sites, fit->n_of, fit->between, &fit->model.parameters,
                                               &fit->draws, err));
  TACIT_THEN(status, name_columns(fit, err));
  tacit_free(sites);
  return status;
}

void tacit_fit_clear_sites(tacit_fit_t *fit) {
  for (size_t j = 0; j < fit->n_site_labels; j++) {
    tacit_free(fit->site_labels[j]);
    tacit_free(fit->site_names[j]);
  }
  for (size_t i = 0; fit->sites_called != NULL && i < fit->n_of; i++) {
    tacit_free(fit->sites_called[i]);
  }
  tacit_free(fit->site_labels);
  tacit_free(fit->site_names);
  tacit_free(fit->sites_called);
}

tacit_status_t tacit_fit_set_exchangeable(tacit_fit_t *fit, double between, tacit_error_t *err) {
  if (fit->n_of < 2 || fit->stage != TACIT_FIT_STAGE_SETTINGS) {
    return tacit_error_set(
        err, TACIT_ERR_STATE, "between",
        "effects differ between the sites of tacit_fit_combine(), before anything is drawn");
  }
  if (!(between >= 0.01 && between <= 100)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "between-sd",
        "the prior's scale of effects' sds between sites must be a number from 0.01 to 100");
  }
  fit->between = between;
  return TACIT_OK;
}

tacit_status_t tacit_fit_combine(tacit_fit_t **fit, const char *const *paths, size_t n, bool is_disjoint,
                                 tacit_error_t *err) {
  *fit = NULL;
  if (n < 2) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "sites", "two fits at least are combined");
  }
  tacit_status_t status = tacit_fit_open_kept(fit, paths, n, err);
  if (status == TACIT_OK) {
    (*fit)->sites_called = tacit_alloc_zero(n, sizeof *(*fit)->sites_called);
    status = (*fit)->sites_called != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  for (size_t i = 0; i < n && status == TACIT_OK; i++) {
    status = name_site(paths[i], &(*fit)->sites_called[i], err);
  }
  if (status != TACIT_OK) {
    tacit_fit_free(*fit);
    *fit = NULL;
    return status;
  }
  (*fit)->is_disjoint = is_disjoint;
  return TACIT_OK;
}
