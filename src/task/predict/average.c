/* Average effects of a column by its name: which comparisons there are, and what they are called. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "predict/predict_internal.h"

typedef struct effect {
  const tacit_predictor_t *predictor;
  const tacit_new_rows_t *rows;
  size_t column;
  tacit_effect_fn take;
  void *user;
} effect_t;

/* One comparison; a row for each class. */
static tacit_status_t take_level(const effect_t *effect, size_t level, const char *label, double *draws,
                                 tacit_error_t *err) {
  const tacit_predictor_t *p = effect->predictor;
  size_t n_outcomes = tacit_predictor_n_outcomes(p, TACIT_PREDICT_MEAN);
  tacit_status_t status = tacit_average_effect(p, effect->rows, effect->column, level, draws, err);
  for (size_t c = 0; c < n_outcomes && status == TACIT_OK; c++) {
    const char *outcome = tacit_predictor_outcome(p, TACIT_PREDICT_MEAN, c);
    tacit_text_t name = {0};
    tacit_text_printf(&name, outcome[0] != '\0' ? "[%s] %s" : "%s%s", outcome, label);
    status = name.failed ? tacit_error_memory(err)
                         : effect->take(effect->user, name.data, draws + c * tacit_predictor_n_draws(p), err);
    tacit_text_clear(&name);
  }
  return status;
}

static tacit_status_t find_column(const tacit_predictor_t *p, const char *name, size_t *column,
                                  tacit_error_t *err) {
  size_t n;
  const char *const *names = tacit_predictor_columns(p, &n);
  tacit_nearest_t nearest = {.name = name};
  char hint[TACIT_HINT_SIZE];
  for (*column = 0; *column < n && strcmp(names[*column], name) != 0; (*column)++) {
    tacit_nearest_offer(&nearest, names[*column]);
  }
  return *column < n
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_UNKNOWN, "effect", "the fit's formula has no column '%.64s'%s",
                               name, tacit_nearest_hint(&nearest, hint));
}

tacit_status_t tacit_average_effects(const tacit_predictor_t *p, const tacit_new_rows_t *rows,
                                     const char *name, tacit_effect_fn take, void *user, tacit_error_t *err) {
  effect_t effect = {.predictor = p, .rows = rows, .take = take, .user = user};
  tacit_status_t status = find_column(p, name, &effect.column, err);
  if (status != TACIT_OK) {
    return status;
  }
  const tacit_column_schema_t *schema = tacit_schema_find(tacit_predictor_schema(p), name);
  bool is_factor = schema->type == TACIT_COLUMN_CATEGORICAL, is_binary = schema->type == TACIT_COLUMN_BINARY;
  double *draws = tacit_alloc(tacit_predictor_n_outcomes(p, TACIT_PREDICT_MEAN) * tacit_predictor_n_draws(p),
                              sizeof *draws);
  status = draws != NULL ? TACIT_OK : tacit_error_memory(err);
  for (size_t level = 1; level < (is_factor ? schema->n_levels : 2) && status == TACIT_OK; level++) {
    tacit_text_t label = {0};
    if (is_factor) {
      tacit_text_printf(&label, "%s: %s - %s", name, schema->levels[level], schema->levels[0]);
    } else {
      tacit_text_printf(&label, "%s: %s", name, is_binary ? "1 - 0" : "slope");
    }
    status = label.failed ? tacit_error_memory(err)
                          : take_level(&effect, is_factor || is_binary ? level : 0, label.data, draws, err);
    tacit_text_clear(&label);
  }
  tacit_free(draws);
  return status;
}
