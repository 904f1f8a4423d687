/*
 * A release as it was asked for somewhere else: the request has the label and the public point, and the same
 * functions make it here (source.c). What a curator elsewhere tells its ranks of it are the sums over its own
 * records.
 */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "noise_aware/program.h"

typedef struct request {
  tacit_curator_t *curator;
  tacit_noise_aware_settings_t settings;
  const tacit_kept_release_t *asked;
  size_t d;              /* features; of programs parameters */
  bool is_whole;         /* all parts that were looked for are there */
  double *out, noise_sd; /* (asked->n_values) */
  tacit_error_t *err;
} request_t;

/* Of a part that may be missing: NULL. */
static const tacit_release_part_t *find(const request_t *r, const char *name) {
  for (size_t i = 0; i < r->asked->n_parts; i++) {
    if (strcmp(r->asked->at[i].name, name) == 0) {
      return &r->asked->at[i];
    }
  }
  return NULL;
}

/* The n numbers of a part that must be there. */
static double *take(request_t *r, const char *name, size_t n) {
  static double none;
  const tacit_release_part_t *part = find(r, name);
  bool is_there = part != NULL && part->n == n;
  r->is_whole = r->is_whole && is_there;
  return is_there ? part->values : &none;
}

static tacit_status_t refuse_serve(const request_t *r) {
  return tacit_error_set(
      r->err, TACIT_ERR_SYNTAX, "request",
      "a pass is asked for, \"%.31s\", that is none of this model and method, or not whole", r->asked->label);
}

/* Are all parts there, and as many values as the release has? */
static bool is_fine(const request_t *r, size_t n_values) {
  return r->is_whole && r->asked->n_values == n_values;
}

static size_t triangle(size_t d) { return d * (d + 1) / 2; }

/* ---- of each kind of release ---- */

static tacit_status_t serve_moments(request_t *r) {
  double *whiten = find(r, "whiten") != NULL ? take(r, "whiten", r->d * r->d) : NULL,
         *radius = take(r, "radius", 1);
  return is_fine(r, triangle(r->d))
             ? tacit_aware_release_moments(r->curator, &r->settings, r->asked->noise_multiplier, whiten,
                                           radius, r->out, &r->noise_sd, r->err)
             : refuse_serve(r);
}

typedef tacit_status_t (*release_at)(tacit_curator_t *curator, const tacit_noise_aware_settings_t *settings,
                                     double multiplier, const tacit_aware_point_t *at, double *out,
                                     double *noise_sd, tacit_error_t *err);

static tacit_status_t serve_point(request_t *r, release_at make, size_t n_values) {
  tacit_aware_point_t at = {.theta = take(r, "theta", r->d),
                            .whiten = take(r, "whiten", r->d * r->d),
                            .radius = take(r, "radius", 1),
                            .cap = find(r, "cap") != NULL ? take(r, "cap", 1) : NULL};
  return is_fine(r, n_values)
             ? make(r->curator, &r->settings, r->asked->noise_multiplier, &at, r->out, &r->noise_sd, r->err)
             : refuse_serve(r);
}

static tacit_status_t serve_score(request_t *r) { return serve_point(r, tacit_aware_release_score, r->d); }
static tacit_status_t serve_information(request_t *r) {
  return serve_point(r, tacit_aware_release_information, triangle(r->d));
}

static tacit_status_t serve_joint(request_t *r) {
  tacit_aware_joint_t at = {.n_features = r->d,
                            .whiten = find(r, "whiten") != NULL ? take(r, "whiten", r->d * r->d) : NULL,
                            .radius = take(r, "radius", 1),
                            .theta = take(r, "theta", r->d),
                            .scale = take(r, "scale", 1),
                            .reach = take(r, "reach", 1)};
  double multiplier = r->asked->noise_multiplier;
  return is_fine(r, triangle(r->d + 1))
             ? tacit_aware_release_joint_moments(r->curator, &r->settings, multiplier, &at, r->out,
                                                 &r->noise_sd, r->err)
             : refuse_serve(r);
}

static tacit_status_t serve_squares(request_t *r) {
  return serve_point(r, tacit_aware_release_score_squares, triangle(r->d));
}

static tacit_status_t serve_count(request_t *r) {
  return is_fine(r, 1) ? tacit_aware_release_count(r->curator, &r->settings, r->asked->noise_multiplier,
                                                   r->out, &r->noise_sd, r->err)
                       : refuse_serve(r);
}

static tacit_status_t serve_unit_rows(request_t *r) {
  size_t n = r->asked->n_values, first[TACIT_UNIT_ROWS_MAX_CELLS];
  const double *from = take(r, "first", n);
  bool is_whole = is_fine(r, n) && n >= 1 && n <= TACIT_UNIT_ROWS_MAX_CELLS;
  for (size_t i = 0; is_whole && i < n; i++) {
    is_whole = from[i] >= 1 && from[i] <= 0x1p32;
    first[i] = is_whole ? (size_t)from[i] : 0;
  }
  return is_whole ? tacit_aware_release_unit_rows(r->curator, &r->settings, r->asked->noise_multiplier, n,
                                                  first, r->out, &r->noise_sd, r->err)
                  : refuse_serve(r);
}

static tacit_status_t serve_residual_shapes(request_t *r) {
  double *theta = take(r, "theta", r->d), *whiten = take(r, "whiten", r->d * r->d);
  return is_fine(r, 2 * (r->d - 1))
             ? tacit_aware_release_residual_shapes(r->curator, &r->settings, r->asked->noise_multiplier,
                                                   theta, whiten, r->out, &r->noise_sd, r->err)
             : refuse_serve(r);
}

static tacit_status_t serve_cells(request_t *r) {
  const tacit_release_part_t *edges = find(r, "edges");
  tacit_aware_cells_t at = {.n_features = r->d};
  bool is_feature = true;
  at.n_edges = edges != NULL ? edges->n : 0;
  at.edges = take(r, "edges", at.n_edges);
  if (find(r, "theta") != NULL) {
    at.theta = take(r, "theta", r->d);
    at.scale = take(r, "scale", 1);
  } else {
    at.feature = take(r, "feature", 1);
    is_feature = *at.feature >= 0 && *at.feature < (double)r->d;
  }
  return is_feature && is_fine(r, at.n_edges + 1)
             ? tacit_aware_release_cells(r->curator, &r->settings, r->asked->noise_multiplier, &at, r->out,
                                         &r->noise_sd, r->err)
             : refuse_serve(r);
}

static tacit_status_t serve_centred(request_t *r, tacit_aware_centred_kind_t kind, size_t n_values) {
  tacit_aware_centred_t at = {.theta = take(r, "theta", r->d),
                              .whiten = take(r, "whiten", r->d * r->d),
                              .clip = take(r, "clip", 1),
                              .most = take(r, "most", 1)};
  double n_simulated = *take(r, "simulated", 1), seed = *take(r, "seed", 1);
  if (!is_fine(r, n_values) || !(n_simulated >= 1 && n_simulated <= 4096 && seed >= 0 && seed <= 0x1p53)) {
    return refuse_serve(r);
  }
  at.n_simulated = (size_t)n_simulated;
  at.seed = (uint64_t)seed;
  return tacit_aware_release_centred(r->curator, &r->settings, kind, r->asked->noise_multiplier, &at, r->out,
                                     &r->noise_sd, r->err);
}

static tacit_status_t serve_centred_score(request_t *r) {
  return serve_centred(r, TACIT_CENTRED_SCORE, r->d);
}
static tacit_status_t serve_centred_slope(request_t *r) {
  return serve_centred(r, TACIT_CENTRED_SLOPE, triangle(r->d));
}
/* Vectors by length: counted, or in bands. */
static tacit_status_t serve_by_length(request_t *r, const tacit_aware_banded_t *at) {
  const tacit_release_part_t *radii = find(r, "radii"), *edges = find(r, "edges");
  double multiplier = r->asked->noise_multiplier;
  if (radii == NULL) {
    bool is_whole = edges != NULL && is_fine(r, edges->n + 1);
    return is_whole ? tacit_aware_release_lengths(r->curator, &r->settings, multiplier, at, edges->n,
                                                  edges->values, r->out, &r->noise_sd, r->err)
                    : refuse_serve(r);
  }
  const tacit_bands_t bands = {.n = radii->n, .radii = radii->values, .has_count = *take(r, "count", 1) > 0};
  return is_fine(r, tacit_bands_n_values(&bands, at->of.dim))
             ? tacit_aware_release_bands(r->curator, &r->settings, multiplier, at, bands.n, radii->values,
                                         bands.has_count, r->out, &r->noise_sd, r->err)
             : refuse_serve(r);
}

/* Rows of a public linear fit, or their scores. */
static tacit_status_t serve_linear(request_t *r, bool is_of_scores) {
  tacit_linear_point_t point = {.n_features = r->d, .whiten = take(r, "whiten", r->d * r->d), .scale = 1};
  if (is_of_scores) {
    point.theta = take(r, "theta", r->d);
    point.scale = *take(r, "scale", 1);
    point.square_weight = find(r, "square weight") != NULL ? *take(r, "square weight", 1) : 0;
  }
  return serve_by_length(r, &(tacit_aware_banded_t){.of = is_of_scores ? tacit_linear_scores(&point)
                                                                       : tacit_linear_rows(&point)});
}

/* A program at a public point; clip: of slopes alone. */
static tacit_status_t take_program_point(request_t *r, bool has_clip, tacit_program_point_t *point) {
  *point = (tacit_program_point_t){r->settings.records,
                                   {.theta = take(r, "theta", r->d),
                                    .whiten = take(r, "whiten", r->d * r->d),
                                    .clip = has_clip ? *take(r, "clip", 1) : 1,
                                    .most = 1,
                                    .n_simulated = TACIT_PROGRAM_SIMULATED,
                                    .seed = TACIT_PROGRAM_LAST_SEED}};
  return r->is_whole ? tacit_program_point_check(r->curator, point, r->err) : refuse_serve(r);
}

/* Slopes of a program at a public point, or its scores. */
static tacit_status_t serve_program(request_t *r, bool is_of_scores) {
  tacit_program_point_t point;
  tacit_status_t status = take_program_point(r, !is_of_scores, &point);
  return status == TACIT_OK
             ? serve_by_length(r, &(tacit_aware_banded_t){.of = is_of_scores ? tacit_program_scores(&point)
                                                                             : tacit_program_slopes(&point)})
             : status;
}

/* Scores of either by numbers of rows. */
static tacit_status_t serve_contrasts(request_t *r, const tacit_aware_banded_t *scores) {
  const tacit_release_part_t *weights = find(r, "weights"), *radii = find(r, "radii");
  size_t n = weights != NULL ? weights->n : 0;
  const tacit_contrast_t contrast = {&scores->of, radii != NULL && radii->n == 1 ? *radii->values : 0, n,
                                     take(r, "first", n), take(r, "weights", n)};
  tacit_status_t status = r->is_whole ? tacit_contrast_check(&contrast, r->err) : refuse_serve(r);
  return status == TACIT_OK ? serve_by_length(r, &(tacit_aware_banded_t){.of = tacit_contrasts(&contrast)})
                            : status;
}

static tacit_status_t serve_program_contrasts(request_t *r) {
  tacit_program_point_t point;
  tacit_status_t status = take_program_point(r, false, &point);
  return status == TACIT_OK ? serve_contrasts(r, &(tacit_aware_banded_t){.of = tacit_program_scores(&point)})
                            : status;
}

static tacit_status_t serve_family_contrasts(request_t *r) {
  const tacit_score_point_t at = {.family = (int)r->settings.family,
                                  .upper = r->settings.upper,
                                  .theta = take(r, "theta", r->d),
                                  .whiten = take(r, "whiten", r->d * r->d),
                                  .radius = 1};
  const tacit_family_point_t point = {&at, r->d};
  tacit_status_t status = r->is_whole ? tacit_family_check(r->curator, &point, r->err) : refuse_serve(r);
  return status == TACIT_OK ? serve_contrasts(r, &(tacit_aware_banded_t){.of = tacit_family_scores(&point)})
                            : status;
}

static tacit_status_t serve_regression_contrasts(request_t *r) {
  if (r->settings.family != TACIT_FAMILY_GAUSSIAN) {
    return serve_family_contrasts(r);
  }
  const tacit_linear_point_t point = {.n_features = r->d,
                                      .whiten = take(r, "whiten", r->d * r->d),
                                      .theta = take(r, "theta", r->d),
                                      .scale = *take(r, "scale", 1)};
  tacit_status_t status = r->is_whole ? tacit_linear_check(r->curator, &point, r->err) : refuse_serve(r);
  return status == TACIT_OK ? serve_contrasts(r, &(tacit_aware_banded_t){.of = tacit_linear_scores(&point)})
                            : status;
}

static tacit_status_t serve_linear_rows(request_t *r) { return serve_linear(r, false); }
static tacit_status_t serve_linear_scores(request_t *r) { return serve_linear(r, true); }
static tacit_status_t serve_program_slopes(request_t *r) { return serve_program(r, false); }
static tacit_status_t serve_program_scores(request_t *r) { return serve_program(r, true); }

static const struct {
  const char *label;
  tacit_status_t (*serve)(request_t *r);
  bool is_of_programs; /* else of regressions; the first two of either */
} kinds[] = {{"number of units", serve_count, false},
             {"numbers of rows", serve_unit_rows, false},
             {"second moments", serve_moments, false},
             {"whitened second moments", serve_moments, false},
             {"weighted score", serve_score, false},
             {"squares of scores", serve_squares, false},
             {"information", serve_information, false},
             {"residuals along features", serve_residual_shapes, false},
             {"joint moments", serve_joint, false},
             {"whitened joint moments", serve_joint, false},
             {"counts of features", serve_cells, false},
             {"counts of residuals", serve_cells, false},
             {"lengths of rows", serve_linear_rows, false},
             {"lengths of scores", serve_linear_scores, false},
             {"bands of rows", serve_linear_rows, false},
             {"bands of scores", serve_linear_scores, false},
             {"bands of contrasts", serve_regression_contrasts, false},
             {"bands of contrasts", serve_program_contrasts, true},
             {"centred score", serve_centred_score, true},
             {"slope of centred scores", serve_centred_slope, true},
             {"lengths of slopes", serve_program_slopes, true},
             {"lengths of scores", serve_program_scores, true},
             {"bands of slopes", serve_program_slopes, true},
             {"bands of scores", serve_program_scores, true}};

tacit_status_t tacit_noise_aware_serve(tacit_curator_t *curator, const tacit_noise_aware_settings_t *settings,
                                       const tacit_kept_release_t *asked, tacit_error_t *err) {
  enum { MOST = 1 << 24, N_OF_EITHER = 2 };
  const tacit_aware_provider_t *of = tacit_aware_provider(settings);
  request_t r = {.curator = curator, .settings = *settings, .asked = asked, .is_whole = true, .err = err};
  r.d = tacit_curator_dim(curator) - tacit_aware_n_extra(settings);
  r.settings.releases = NULL;
  r.settings.asked = NULL;
  r.settings.kept = NULL;
  size_t i = 0, n = sizeof kinds / sizeof kinds[0];
  while (i < n && (strcmp(asked->label, kinds[i].label) != 0 ||
                   (i >= N_OF_EITHER && kinds[i].is_of_programs == of->is_regression))) {
    i++;
  }
  if (i == n || asked->n_values > MOST || r.d > of->most(settings)) {
    return refuse_serve(&r);
  }
  r.out = tacit_alloc_zero(asked->n_values + 1, sizeof *r.out);
  tacit_status_t status = r.out == NULL ? tacit_error_memory(err) : kinds[i].serve(&r);
  tacit_wipe(r.out, r.out != NULL ? asked->n_values * sizeof *r.out : 0);
  tacit_free(r.out);
  return status;
}
