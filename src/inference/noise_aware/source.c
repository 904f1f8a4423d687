/* Where releases come from: a curator, which makes them at a point, or what was kept of one that made them.
 */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "noise_aware/noise_aware_internal.h"

size_t tacit_aware_n_features(const tacit_curator_t *curator, const tacit_noise_aware_settings_t *settings) {
  return curator != NULL ? tacit_curator_dim(curator) : settings->releases->dim;
}

double tacit_aware_factor(const tacit_noise_aware_settings_t *settings) {
  return settings->relation == TACIT_RELATION_SUBSTITUTE ? 2 : 1;
}

tacit_status_t tacit_aware_n_units(tacit_curator_t *curator, const tacit_noise_aware_settings_t *settings,
                                   double *n, tacit_error_t *err) {
  size_t count = 0;
  if (curator == NULL) {
    *n = settings->releases->n_units;
    return *n >= 1 ? TACIT_OK
                   : tacit_error_set(err, TACIT_ERR_DATA, "n",
                                     "the number of units that goes with the releases is not there");
  }
  tacit_status_t status = tacit_curator_n_units(curator, &count, err);
  *n = (double)count;
  if (status == TACIT_OK && settings->releases != NULL) {
    settings->releases->n_units = *n;
  }
  return status == TACIT_OK && count < 1
             ? tacit_error_set(err, TACIT_ERR_ARGUMENT, "n", "there are no records to fit")
             : status;
}

/* After a curator made it: keep it. Without one: the next of those kept. */
static tacit_status_t settle(const tacit_curator_t *curator, const tacit_noise_aware_settings_t *settings,
                             tacit_kept_release_t *release, double *noise_sd, tacit_error_t *err) {
  release->noise_sd = *noise_sd;
  if (curator == NULL) {
    tacit_status_t status = tacit_releases_take(settings->releases, release, err);
    *noise_sd = release->noise_sd;
    return status;
  }
  tacit_status_t status =
      settings->releases != NULL ? tacit_releases_add(settings->releases, release, err) : TACIT_OK;
  if (status == TACIT_OK && settings->kept != NULL) {
    settings->kept(settings->prior_user);
  }
  return status;
}

/* What a curator elsewhere is to sum (serve.c): the release, and `extra` public numbers that are not kept
 * with it. */
static void ask(const tacit_noise_aware_settings_t *settings, const tacit_kept_release_t *release,
                size_t n_extra, const tacit_release_part_t *extra) {
  tacit_kept_release_t request = *release;
  for (size_t i = 0; i < n_extra; i++) {
    request.at[request.n_parts++] = extra[i];
  }
  if (settings->asked != NULL) {
    settings->asked(settings->prior_user, &request);
  }
}

tacit_status_t tacit_aware_release_moments(tacit_curator_t *curator,
                                           const tacit_noise_aware_settings_t *settings, double multiplier,
                                           double *whiten, double *radius, double *out, double *noise_sd,
                                           tacit_error_t *err) {
  size_t d = tacit_aware_n_features(curator, settings);
  tacit_kept_release_t release = {.label = "second moments",
                                  .noise_multiplier = multiplier,
                                  .n_parts = 1,
                                  .at = {{"radius", 1, radius}},
                                  .n_values = d * (d + 1) / 2,
                                  .values = out};
  if (whiten != NULL) {
    release = (tacit_kept_release_t){.label = "whitened second moments",
                                     .noise_multiplier = multiplier,
                                     .n_parts = 2,
                                     .at = {{"whiten", d * d, whiten}, {"radius", 1, radius}},
                                     .n_values = d * (d + 1) / 2,
                                     .values = out};
  }
  if (curator != NULL) {
    ask(settings, &release, 0, NULL);
    tacit_row_weighting_t rows = {.whiten = whiten, .radius = *radius};
    tacit_status_t status =
        tacit_curator_release_second_moments(curator, &rows, multiplier, out, noise_sd, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return settle(curator, settings, &release, noise_sd, err);
}

typedef tacit_status_t (*release_at)(tacit_curator_t *curator, const tacit_score_point_t *point,
                                     double noise_multiplier, double *out, double *noise_sd,
                                     tacit_error_t *err);

static tacit_status_t release_point(release_at make, tacit_kept_release_t *release, tacit_curator_t *curator,
                                    const tacit_noise_aware_settings_t *settings,
                                    const tacit_aware_point_t *at, double *noise_sd, tacit_error_t *err) {
  size_t d = tacit_aware_n_features(curator, settings);
  const tacit_release_part_t parts[] = {
      {"theta", d, at->theta}, {"whiten", d * d, at->whiten}, {"radius", 1, at->radius}, {"cap", 1, at->cap}};
  release->n_parts = at->cap != NULL ? 4 : 3;
  for (size_t i = 0; i < release->n_parts; i++) {
    release->at[i] = parts[i];
  }
  if (curator != NULL) {
    ask(settings, release, 0, NULL);
    tacit_score_point_t point = {
        (int)settings->family,         settings->upper, at->theta, at->whiten, *at->radius,
        at->cap != NULL ? *at->cap : 0};
    tacit_status_t status = make(curator, &point, release->noise_multiplier, release->values, noise_sd, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return settle(curator, settings, release, noise_sd, err);
}

tacit_status_t tacit_aware_release_score(tacit_curator_t *curator,
                                         const tacit_noise_aware_settings_t *settings, double multiplier,
                                         const tacit_aware_point_t *at, double *out, double *noise_sd,
                                         tacit_error_t *err) {
  tacit_kept_release_t release = {.label = "weighted score",
                                  .noise_multiplier = multiplier,
                                  .n_values = tacit_aware_n_features(curator, settings),
                                  .values = out};
  return release_point(tacit_curator_release_score, &release, curator, settings, at, noise_sd, err);
}

tacit_status_t tacit_aware_release_score_squares(tacit_curator_t *curator,
                                                 const tacit_noise_aware_settings_t *settings,
                                                 double multiplier, const tacit_aware_point_t *at,
                                                 double *out, double *noise_sd, tacit_error_t *err) {
  size_t d = tacit_aware_n_features(curator, settings);
  tacit_kept_release_t release = {.label = "squares of scores",
                                  .noise_multiplier = multiplier,
                                  .n_values = d * (d + 1) / 2,
                                  .values = out};
  return release_point(tacit_curator_release_score_squares, &release, curator, settings, at, noise_sd, err);
}

tacit_status_t tacit_aware_release_information(tacit_curator_t *curator,
                                               const tacit_noise_aware_settings_t *settings,
                                               double multiplier, const tacit_aware_point_t *at, double *out,
                                               double *noise_sd, tacit_error_t *err) {
  size_t d = tacit_aware_n_features(curator, settings);
  tacit_kept_release_t release = {
      .label = "information", .noise_multiplier = multiplier, .n_values = d * (d + 1) / 2, .values = out};
  return release_point(tacit_curator_release_information, &release, curator, settings, at, noise_sd, err);
}

tacit_status_t tacit_aware_release_count(tacit_curator_t *curator,
                                         const tacit_noise_aware_settings_t *settings, double multiplier,
                                         double *n, double *noise_sd, tacit_error_t *err) {
  tacit_kept_release_t release = {
      .label = "number of units", .noise_multiplier = multiplier, .n_values = 1, .values = n};
  if (curator != NULL) {
    ask(settings, &release, 0, NULL);
    tacit_status_t status = tacit_curator_release_count(curator, multiplier, n, noise_sd, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return settle(curator, settings, &release, noise_sd, err);
}

tacit_status_t tacit_aware_release_unit_rows(tacit_curator_t *curator,
                                             const tacit_noise_aware_settings_t *settings, double multiplier,
                                             size_t n, const size_t *first, double *out, double *noise_sd,
                                             tacit_error_t *err) {
  tacit_kept_release_t release = {
      .label = "numbers of rows", .noise_multiplier = multiplier, .n_values = n, .values = out};
  if (curator != NULL) {
    double edges[TACIT_UNIT_ROWS_MAX_CELLS];
    for (size_t i = 0; i < n && i < TACIT_UNIT_ROWS_MAX_CELLS; i++) {
      edges[i] = (double)first[i];
    }
    ask(settings, &release, 1, &(tacit_release_part_t){"first", n, edges});
    tacit_status_t status =
        tacit_curator_release_unit_rows(curator, n, first, multiplier, out, noise_sd, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return settle(curator, settings, &release, noise_sd, err);
}

tacit_status_t tacit_aware_release_residual_shapes(tacit_curator_t *curator,
                                                   const tacit_noise_aware_settings_t *settings,
                                                   double multiplier, double *theta, double *whiten,
                                                   double *out, double *noise_sd, tacit_error_t *err) {
  size_t d = tacit_aware_n_features(curator, settings);
  tacit_kept_release_t release = {.label = "residuals along features",
                                  .noise_multiplier = multiplier,
                                  .n_parts = 2,
                                  .at = {{"theta", d, theta}, {"whiten", d * d, whiten}},
                                  .n_values = 2 * (d - 1),
                                  .values = out};
  if (curator != NULL) {
    ask(settings, &release, 0, NULL);
    const tacit_fit_point_t point = {
        .family = (int)settings->family, .upper = settings->upper, .theta = theta};
    tacit_status_t status =
        tacit_curator_release_residual_shapes(curator, &point, whiten, multiplier, out, noise_sd, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return settle(curator, settings, &release, noise_sd, err);
}

typedef tacit_status_t (*release_linear)(tacit_curator_t *curator, const tacit_row_weighting_t *rows,
                                         const tacit_row_residual_t *residual, double noise_multiplier,
                                         double *out, double *noise_sd, tacit_error_t *err);

static tacit_status_t release_joint(release_linear make, tacit_kept_release_t *release,
                                    tacit_curator_t *curator, const tacit_noise_aware_settings_t *settings,
                                    const tacit_aware_joint_t *at, double *noise_sd, tacit_error_t *err) {
  size_t d = at->n_features;
  const tacit_release_part_t parts[] = {{"radius", 1, at->radius},
                                        {"theta", d, at->theta},
                                        {"scale", 1, at->scale},
                                        {"reach", 1, at->reach},
                                        {"whiten", d * d, at->whiten}};
  release->n_parts = at->whiten != NULL ? 5 : 4;
  memcpy(release->at, parts, release->n_parts * sizeof *parts);
  if (curator != NULL) {
    ask(settings, release, 0, NULL);
    tacit_row_weighting_t rows = {.whiten = at->whiten, .radius = *at->radius};
    tacit_row_residual_t residual = {
        .theta = at->theta, .n_features = d, .scale = *at->scale, .reach = *at->reach};
    tacit_status_t status =
        make(curator, &rows, &residual, release->noise_multiplier, release->values, noise_sd, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return settle(curator, settings, release, noise_sd, err);
}

tacit_status_t tacit_aware_release_joint_moments(tacit_curator_t *curator,
                                                 const tacit_noise_aware_settings_t *settings,
                                                 double multiplier, const tacit_aware_joint_t *at,
                                                 double *out, double *noise_sd, tacit_error_t *err) {
  size_t d = at->n_features;
  tacit_kept_release_t release = {.label = "joint moments",
                                  .noise_multiplier = multiplier,
                                  .n_values = (d + 1) * (d + 2) / 2,
                                  .values = out};
  if (at->whiten != NULL) {
    strcpy(release.label, "whitened joint moments");
  }
  return release_joint(tacit_curator_release_joint_moments, &release, curator, settings, at, noise_sd, err);
}

tacit_status_t tacit_aware_release_cells(tacit_curator_t *curator,
                                         const tacit_noise_aware_settings_t *settings, double multiplier,
                                         const tacit_aware_cells_t *at, double *out, double *noise_sd,
                                         tacit_error_t *err) {
  bool is_residual = at->theta != NULL;
  tacit_kept_release_t release = {.label = "counts of features",
                                  .noise_multiplier = multiplier,
                                  .n_parts = 2,
                                  .at = {{"edges", at->n_edges, at->edges}, {"feature", 1, at->feature}},
                                  .n_values = at->n_edges + 1,
                                  .values = out};
  if (is_residual) {
    strcpy(release.label, "counts of residuals");
    release.at[1] = (tacit_release_part_t){"theta", at->n_features, at->theta};
    release.at[release.n_parts++] = (tacit_release_part_t){"scale", 1, at->scale};
  }
  if (curator != NULL) {
    ask(settings, &release, 0, NULL);
    tacit_row_residual_t residual = {
        .theta = at->theta, .n_features = at->n_features, .scale = is_residual ? *at->scale : 1};
    tacit_row_cells_t cells = {
        .residual = is_residual ? &residual : NULL, .n_edges = at->n_edges, .edges = at->edges};
    cells.feature = is_residual ? 0 : (size_t)*at->feature;
    tacit_status_t status = tacit_curator_release_cells(curator, &cells, multiplier, out, noise_sd, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return settle(curator, settings, &release, noise_sd, err);
}

tacit_status_t tacit_aware_release_centred(tacit_curator_t *curator,
                                           const tacit_noise_aware_settings_t *settings,
                                           tacit_aware_centred_kind_t kind, double multiplier,
                                           const tacit_aware_centred_t *at, double *out, double *noise_sd,
                                           tacit_error_t *err) {
  static const struct {
    const char *label;
    tacit_status_t (*make)(tacit_curator_t *curator, const tacit_centred_point_t *point,
                           double noise_multiplier, double *out, double *noise_sd, tacit_error_t *err);
  } kinds[] = {{"centred score", tacit_curator_release_centred_score},
               {"slope of centred scores", tacit_curator_release_centred_slope}};
  size_t d = tacit_aware_n_features(curator, settings);
  tacit_kept_release_t release = {.noise_multiplier = multiplier,
                                  .n_parts = 4,
                                  .at = {{"theta", d, at->theta},
                                         {"whiten", d * d, at->whiten},
                                         {"clip", 1, at->clip},
                                         {"most", 1, at->most}},
                                  .n_values = kind == TACIT_CENTRED_SLOPE ? d * (d + 1) / 2 : d,
                                  .values = out};
  memcpy(release.label, kinds[kind].label, strlen(kinds[kind].label) + 1);
  if (curator != NULL) {
    double n_simulated = (double)at->n_simulated, seed = (double)at->seed; /* of a few rounds: exact */
    ask(settings, &release, 2,
        (const tacit_release_part_t[]){{"simulated", 1, &n_simulated}, {"seed", 1, &seed}});
    tacit_centred_point_t point = {at->theta, at->whiten, *at->clip, *at->most, at->n_simulated, at->seed};
    tacit_status_t status = kinds[kind].make(curator, &point, multiplier, out, noise_sd, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return settle(curator, settings, &release, noise_sd, err);
}

/* What goes before a name, and the name, into the label. */
static void set_label(tacit_kept_release_t *release, const char *before, const char *name) {
  snprintf(release->label, sizeof release->label, "%s of %s", before, name);
}

tacit_status_t tacit_aware_release_lengths(tacit_curator_t *curator,
                                           const tacit_noise_aware_settings_t *settings, double multiplier,
                                           const tacit_aware_banded_t *at, size_t n_edges, double *edges,
                                           double *out, double *noise_sd, tacit_error_t *err) {
  tacit_kept_release_t release = {.noise_multiplier = multiplier,
                                  .n_parts = 1 + at->n_parts,
                                  .at = {{"edges", n_edges, edges}},
                                  .n_values = n_edges + 1,
                                  .values = out};
  set_label(&release, "lengths", at->of.name);
  memcpy(release.at + 1, at->parts, at->n_parts * sizeof *at->parts);
  if (curator != NULL) {
    ask(settings, &release, 0, NULL);
    tacit_status_t status =
        tacit_curator_release_lengths(curator, &at->of, n_edges, edges, multiplier, out, noise_sd, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return settle(curator, settings, &release, noise_sd, err);
}

tacit_status_t tacit_aware_release_bands(tacit_curator_t *curator,
                                         const tacit_noise_aware_settings_t *settings, double multiplier,
                                         const tacit_aware_banded_t *at, size_t n, double *radii,
                                         bool has_count, double *out, double *noise_sd, tacit_error_t *err) {
  const tacit_bands_t bands = {n, radii, has_count};
  tacit_kept_release_t release = {.noise_multiplier = multiplier,
                                  .n_parts = 1 + at->n_parts,
                                  .at = {{"radii", n, radii}},
                                  .n_values = tacit_bands_n_values(&bands, at->of.dim),
                                  .values = out};
  set_label(&release, "bands", at->of.name);
  memcpy(release.at + 1, at->parts, at->n_parts * sizeof *at->parts);
  if (curator != NULL) {
    double count = has_count;
    ask(settings, &release, 1, &(tacit_release_part_t){"count", 1, &count});
    tacit_status_t status =
        tacit_curator_release_bands(curator, &at->of, &bands, multiplier, out, noise_sd, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
  return settle(curator, settings, &release, noise_sd, err);
}
