/* A program as it is kept with a fit: its text after one line that says what else it was fitted with, and
 * what it hashes to. */
#include <jansson.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/text.h"
#include "program/kept.h"

static const char mark[] = "// tacit: ";

static void hash_of(const char *text, size_t n, char hex[2 * crypto_hash_sha256_BYTES + 1]) {
  unsigned char bytes[crypto_hash_sha256_BYTES];
  crypto_hash_sha256(bytes, (const unsigned char *)text, n);
  sodium_bin2hex(hex, 2 * crypto_hash_sha256_BYTES + 1, bytes, sizeof bytes);
}

static json_t *describe(const char *text, size_t n, const tacit_program_settings_t *settings,
                        const char *family) {
  char hex[2 * crypto_hash_sha256_BYTES + 1];
  hash_of(text, n, hex);
  json_t *root = json_pack("{s:s, s:s*, s:s*, s:{}}", "sha256", hex, "family", family, "records",
                           settings->records, "constants");
  json_t *constants = json_object_get(root, "constants");
  for (size_t i = 0; i < settings->n_constants && constants != NULL; i++) {
    const tacit_program_constant_t *given = &settings->constants[i];
    json_t *values = json_array();
    for (size_t k = 0; k < given->n; k++) {
      json_array_append_new(values, json_real(given->values[k]));
    }
    json_object_set_new(constants, given->name, values);
  }
  json_t *labels = settings->n_labels > 0 ? json_array() : NULL;
  for (size_t i = 0; i < settings->n_labels; i++) {
    json_array_append_new(labels, json_pack("[ss]", settings->labels[i].name, settings->labels[i].label));
  }
  if (labels != NULL) {
    json_object_set_new(root, "labels", labels);
  }
  return root;
}

tacit_status_t tacit_program_keep(char **kept, const char *text, size_t n,
                                  const tacit_program_settings_t *settings, const char *family,
                                  tacit_error_t *err) {
  tacit_text_t all = {0};
  json_t *root = describe(text, n, settings, family);
  char *line =
      root != NULL ? json_dumps(root, JSON_COMPACT | JSON_REAL_PRECISION(17) | JSON_SORT_KEYS) : NULL;
  json_decref(root);
  tacit_text_printf(&all, "%s%s\n", mark, line != NULL ? line : "");
  tacit_text_append(&all, text, n);
  bool ok = line != NULL && !all.failed;
  free(line);
  if (!ok) {
    tacit_text_clear(&all);
  }
  *kept = all.data;
  return ok ? TACIT_OK : tacit_error_memory(err);
}

static char *copy_of(const json_t *root, const char *key) {
  const char *text = json_string_value(json_object_get(root, key));
  char *copy = text != NULL ? tacit_alloc(strlen(text) + 1, 1) : NULL;
  return copy != NULL ? strcpy(copy, text) : NULL;
}

/* [["b_age", "age"], ...]; what is none is passed over. */
static bool take_labels(tacit_program_kept_t *kept, const json_t *labels) {
  size_t n = json_array_size(labels);
  kept->labels = tacit_alloc_zero(n + 1, sizeof *kept->labels);
  for (size_t i = 0; i < n && kept->labels != NULL; i++) {
    const json_t *pair = json_array_get(labels, i);
    const char *name = json_string_value(json_array_get(pair, 0)),
               *label = json_string_value(json_array_get(pair, 1));
    if (name != NULL && label != NULL) {
      tacit_program_label_t own = {tacit_strdup(name), tacit_strdup(label)};
      kept->labels[kept->n_labels++] = own;
      if (own.name == NULL || own.label == NULL) {
        return false;
      }
    }
  }
  return kept->labels != NULL;
}

tacit_program_settings_t tacit_program_kept_settings(const tacit_program_kept_t *kept,
                                                     const struct tacit_schema *schema) {
  return (tacit_program_settings_t){.schema = schema,
                                    .records = kept->records,
                                    .constants = kept->constants.items,
                                    .n_constants = kept->constants.n,
                                    .labels = kept->labels,
                                    .n_labels = kept->n_labels};
}

tacit_status_t tacit_program_kept_read(tacit_program_kept_t *kept, const char *text, tacit_error_t *err) {
  char hex[2 * crypto_hash_sha256_BYTES + 1];
  size_t before = strlen(mark);
  const char *end = strchr(text, '\n');
  *kept = (tacit_program_kept_t){0};
  json_t *root = end != NULL && strncmp(text, mark, before) == 0
                     ? json_loadb(text + before, (size_t)(end - text) - before, JSON_REJECT_DUPLICATES, NULL)
                     : NULL;
  const char *hash = json_string_value(json_object_get(root, "sha256"));
  if (hash != NULL) {
    hash_of(end + 1, strlen(end + 1), hex);
  }
  if (hash == NULL || strcmp(hash, hex) != 0) {
    json_decref(root);
    return tacit_error_set(err, TACIT_ERR_DATA, "program",
                           "the program was changed after the fit: its draws go with the text that was "
                           "fitted, whose hash is in the first line of "
                           "program.stan; put it back");
  }
  kept->text = end + 1;
  kept->family = copy_of(root, "family");
  kept->records = copy_of(root, "records");
  tacit_status_t status =
      tacit_program_constants_take(&kept->constants, json_object_get(root, "constants"), "program.stan", err);
  if (status == TACIT_OK && !take_labels(kept, json_object_get(root, "labels"))) {
    status = tacit_error_memory(err);
  }
  json_decref(root);
  for (size_t i = 0; i < kept->constants.n; i++) {
    kept->constants.items[i].is_public = true; /* they were published with the fit */
  }
  if (status != TACIT_OK) {
    tacit_program_kept_clear(kept);
  }
  return status;
}

void tacit_program_kept_clear(tacit_program_kept_t *kept) {
  tacit_free(kept->family);
  tacit_free(kept->records);
  tacit_program_constants_clear(&kept->constants);
  for (size_t i = 0; i < kept->n_labels; i++) {
    tacit_free((void *)(uintptr_t)kept->labels[i].name);
    tacit_free((void *)(uintptr_t)kept->labels[i].label);
  }
  tacit_free(kept->labels);
  *kept = (tacit_program_kept_t){0};
}
