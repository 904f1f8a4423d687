/* releases.json: docs/releases.md says what stands there. */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "report/report.h"
#include "report/report_internal.h"

static void put_numbers(tacit_text_t *text, const double *values, size_t n) {
  tacit_text_append(text, "[", 1);
  for (size_t i = 0; i < n; i++) {
    tacit_text_append(text, ", ", i > 0 ? 2 : 0);
    tacit_text_shortest(text, values[i]);
  }
  tacit_text_append(text, "]", 1);
}

static void put_release(tacit_text_t *text, const tacit_kept_release_t *release) {
  tacit_text_printf(text, "\n    {\"label\": ");
  tacit_text_json_string(text, release->label);
  tacit_text_printf(text, ", \"noise_multiplier\": ");
  tacit_text_shortest(text, release->noise_multiplier);
  tacit_text_printf(text, ", \"noise_sd\": ");
  tacit_text_shortest(text, release->noise_sd);
  tacit_text_printf(text, ",\n     \"at\": {");
  for (size_t i = 0; i < release->n_parts; i++) {
    tacit_text_append(text, ", ", i > 0 ? 2 : 0);
    tacit_text_json_string(text, release->at[i].name);
    tacit_text_append(text, ": ", 2);
    put_numbers(text, release->at[i].values, release->at[i].n);
  }
  tacit_text_printf(text, "},\n     \"values\": ");
  put_numbers(text, release->values, release->n_values);
  tacit_text_append(text, "}", 1);
}

/* Each name once, with all its values in their order. */
static void put_settings(tacit_text_t *text, const tacit_released_t *kept) {
  bool is_first = true;
  for (size_t i = 0; i < kept->n_settings; i++) {
    bool is_later = false;
    for (size_t k = 0; k < i; k++) {
      is_later = is_later || strcmp(kept->names[k], kept->names[i]) == 0;
    }
    if (is_later) {
      continue;
    }
    tacit_text_printf(text, is_first ? "\n    " : ",\n    ");
    tacit_text_json_string(text, kept->names[i]);
    tacit_text_printf(text, ": [");
    for (size_t k = i, n = 0; k < kept->n_settings; k++) {
      if (strcmp(kept->names[k], kept->names[i]) == 0) {
        tacit_text_append(text, ", ", n++ > 0 ? 2 : 0);
        tacit_text_json_string(text, kept->values[k]);
      }
    }
    tacit_text_append(text, "]", 1);
    is_first = false;
  }
}

void tacit_released_json(const tacit_released_t *kept, tacit_text_t *text) {
  const tacit_releases_t *releases = &kept->releases;
  tacit_text_printf(text, "{\n  \"format\": \"tacit releases\",\n  \"version\": %d,\n  \"tacit\": ",
                    (int)TACIT_RELEASED_VERSION);
  tacit_text_json_string(text, tacit_version());
  tacit_text_printf(text, ",\n  \"formula\": ");
  tacit_text_json_string(text, kept->formula);
  tacit_text_printf(text, ",\n  \"settings\": {");
  put_settings(text, kept);
  tacit_text_printf(text, "},\n  \"private\": %s,\n  \"relation\": \"%s\",\n  \"unit\": ",
                    kept->is_private ? "true" : "false", tacit_relation_string(kept->relation));
  tacit_text_json_string(text, kept->unit);
  tacit_text_printf(text, ",\n  \"schema\": ");
  tacit_text_json_string(text, kept->schema);
  if (kept->program != NULL) {
    tacit_text_printf(text, ",\n  \"program\": ");
    tacit_text_json_string(text, kept->program);
  }
  tacit_text_printf(text, ",\n  \"n\": ");
  if (releases->n_units > 0) {
    tacit_text_shortest(text, releases->n_units);
  } else {
    tacit_text_printf(text, "null");
  }
  tacit_text_printf(text, ",\n  \"features\": %zu,\n  \"key\": \"", releases->dim);
  for (size_t i = 0; i < sizeof kept->key; i++) {
    tacit_text_printf(text, "%02x", kept->key[i]);
  }
  tacit_text_printf(text, "\",\n  \"releases\": [");
  for (size_t i = 0; i < releases->n; i++) {
    tacit_text_append(text, ",", i > 0);
    put_release(text, &releases->items[i]);
  }
  tacit_text_printf(text, "\n  ]\n}\n");
}

void tacit_released_clear(tacit_released_t *kept) {
  for (size_t i = 0; i < kept->n_settings; i++) {
    tacit_free(kept->names[i]);
    tacit_free(kept->values[i]);
  }
  tacit_free(kept->names);
  tacit_free(kept->values);
  tacit_free(kept->formula);
  tacit_free(kept->schema);
  tacit_free(kept->unit);
  tacit_free(kept->program);
  tacit_releases_clear(&kept->releases);
  *kept = (tacit_released_t){0};
}

tacit_status_t tacit_released_set(tacit_released_t *kept, const char *name, const char *value,
                                  tacit_error_t *err) {
  char **names = tacit_realloc(kept->names, kept->n_settings + 1, sizeof *names);
  kept->names = names != NULL ? names : kept->names;
  char **values = tacit_realloc(kept->values, kept->n_settings + 1, sizeof *values);
  kept->values = values != NULL ? values : kept->values;
  if (names == NULL || values == NULL) {
    return tacit_error_memory(err);
  }
  names[kept->n_settings] = tacit_strdup(name);
  values[kept->n_settings++] = tacit_strdup(value);
  return names[kept->n_settings - 1] != NULL && values[kept->n_settings - 1] != NULL
             ? TACIT_OK
             : tacit_error_memory(err);
}
