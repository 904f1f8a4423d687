/* releases.json read back: every key must be there, none besides, every number finite and of its size. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/error.h"
#include "base/file.h"
#include "base/memory.h"
#include "report/read_internal.h"
#include "report/report.h"

enum { MAX_BYTES = 1 << 26, MAX_FEATURES = 256, MAX_RELEASES = 64 };

typedef struct reader {
  const char *path;
  tacit_released_t *kept;
  tacit_error_t *err;
} reader_t;

static tacit_status_t wrong(const reader_t *r, const char *key, const char *expected) {
  return tacit_error_set(r->err, TACIT_ERR_SYNTAX, key, "%s: \"%s\" must be %s", r->path, key, expected);
}

/* No key of an object but these. */
static tacit_status_t check_keys(const reader_t *r, const json_t *object, const char *const *keys, size_t n,
                                 const char *what) {
  const char *key;
  json_t *value;
  json_object_foreach((json_t *)object, key, value) {
    bool is_known = false;
    for (size_t i = 0; i < n; i++) {
      is_known = is_known || strcmp(keys[i], key) == 0;
    }
    if (!is_known) {
      return tacit_error_set(r->err, TACIT_ERR_SYNTAX, "releases", "%s: %s has an unknown key \"%.40s\"",
                             r->path, what, key);
    }
  }
  return TACIT_OK;
}

static tacit_status_t take_text(const reader_t *r, const json_t *root, const char *key, char **text) {
  const json_t *value = json_object_get(root, key);
  if (!json_is_string(value) || strlen(json_string_value(value)) != json_string_length(value)) {
    return wrong(r, key, "a text");
  }
  *text = tacit_strdup(json_string_value(value));
  return *text != NULL ? TACIT_OK : tacit_error_memory(r->err);
}

static bool is_number(const json_t *value, double lower, double upper) {
  return json_is_number(value) && json_number_value(value) >= lower && json_number_value(value) <= upper;
}

/* Owned numbers of an array; NULL with *status set where it is none. */
static double *take_numbers(const reader_t *r, const json_t *array, const char *key, size_t *n,
                            tacit_status_t *status) {
  *n = json_array_size(array);
  double *values = json_is_array(array) && *n > 0 ? tacit_alloc(*n, sizeof *values) : NULL;
  if (values == NULL) {
    *status =
        json_is_array(array) && *n > 0 ? tacit_error_memory(r->err) : wrong(r, key, "an array of numbers");
    return NULL;
  }
  for (size_t i = 0; i < *n; i++) {
    values[i] = json_number_value(json_array_get(array, i));
    if (!json_is_number(json_array_get(array, i)) || !isfinite(values[i])) {
      *status = wrong(r, key, "an array of numbers");
    }
  }
  return values;
}

/* What is a length or a radius is positive. */
static bool is_sound(const tacit_release_part_t *part) {
  static const char *const positive[] = {"radius", "scale", "reach"};
  for (size_t i = 0; i < sizeof positive / sizeof positive[0]; i++) {
    if (strcmp(part->name, positive[i]) == 0) {
      return part->n == 1 && part->values[0] > 0;
    }
  }
  return true;
}

static tacit_status_t take_point(const reader_t *r, const json_t *at, tacit_kept_release_t *release) {
  const char *key;
  json_t *value;
  tacit_status_t status = TACIT_OK;
  if (!json_is_object(at) || json_object_size(at) > TACIT_RELEASE_MAX_PARTS) {
    return wrong(r, "at", "an object of arrays of numbers");
  }
  json_object_foreach((json_t *)at, key, value) {
    tacit_release_part_t *part = &release->at[release->n_parts];
    if (strlen(key) >= sizeof part->name) {
      return wrong(r, "at", "an object with short names");
    }
    strcpy(part->name, key);
    part->values = take_numbers(r, value, "at", &part->n, &status);
    release->n_parts += part->values != NULL;
    if (status != TACIT_OK) {
      return status;
    }
    if (!is_sound(part)) {
      return wrong(r, part->name, "one number above 0");
    }
  }
  return TACIT_OK;
}

static tacit_status_t fill_release(const reader_t *r, const json_t *item, tacit_kept_release_t *release) {
  static const char *const keys[] = {"label", "noise_multiplier", "noise_sd", "at", "values"};
  const json_t *label = json_object_get(item, "label"),
               *multiplier = json_object_get(item, "noise_multiplier"),
               *sd = json_object_get(item, "noise_sd");
  tacit_status_t status = json_is_object(item)
                              ? check_keys(r, item, keys, sizeof keys / sizeof keys[0], "a release")
                              : wrong(r, "releases", "objects");
  if (status != TACIT_OK) {
    return status;
  }
  if (!json_is_string(label) || strlen(json_string_value(label)) >= sizeof release->label) {
    return wrong(r, "label", "a short text");
  }
  strcpy(release->label, json_string_value(label));
  if (!is_number(multiplier, 1e-300, 1e300)) {
    return wrong(r, "noise_multiplier", "a number above 0");
  }
  if (!is_number(sd, 0, 1e300)) {
    return wrong(r, "noise_sd", "a number that is not negative");
  }
  release->noise_multiplier = json_number_value(multiplier);
  release->noise_sd = json_number_value(sd);
  status = take_point(r, json_object_get(item, "at"), release);
  if (status == TACIT_OK) {
    release->values = take_numbers(r, json_object_get(item, "values"), "values", &release->n_values, &status);
  }
  return status;
}

static tacit_status_t take_release(const reader_t *r, const json_t *item) {
  tacit_kept_release_t release = {.n_parts = 0};
  tacit_status_t status = fill_release(r, item, &release);
  TACIT_THEN(status, tacit_releases_add(&r->kept->releases, &release, r->err));
  for (size_t i = 0; i < release.n_parts; i++) {
    tacit_free(release.at[i].values);
  }
  tacit_free(release.values);
  return status;
}

static tacit_status_t take_releases(const reader_t *r, const json_t *array) {
  tacit_status_t status = TACIT_OK;
  if (!json_is_array(array) || json_array_size(array) < 1 || json_array_size(array) > MAX_RELEASES) {
    return wrong(r, "releases", "an array of releases");
  }
  for (size_t i = 0; i < json_array_size(array) && status == TACIT_OK; i++) {
    status = take_release(r, json_array_get(array, i));
  }
  return status;
}

static tacit_status_t take_settings(const reader_t *r, const json_t *settings) {
  const char *key;
  json_t *values;
  tacit_status_t status = TACIT_OK;
  if (!json_is_object(settings)) {
    return wrong(r, "settings", "an object");
  }
  json_object_foreach((json_t *)settings, key, values) {
    if (!json_is_array(values) || json_array_size(values) == 0) {
      return wrong(r, "settings", "an object of arrays of texts");
    }
    for (size_t i = 0; i < json_array_size(values) && status == TACIT_OK; i++) {
      const char *text = json_string_value(json_array_get(values, i));
      status = text != NULL ? tacit_released_set(r->kept, key, text, r->err)
                            : wrong(r, "settings", "an object of arrays of texts");
    }
  }
  return status;
}

static tacit_status_t take_key(const reader_t *r, const json_t *root) {
  const char *hex = json_string_value(json_object_get(root, "key"));
  if (hex == NULL || strlen(hex) != 2 * sizeof r->kept->key ||
      strspn(hex, "0123456789abcdef") != strlen(hex)) {
    return wrong(r, "key", "64 hexadecimal digits");
  }
  for (size_t i = 0; i < sizeof r->kept->key; i++) {
    const char pair[] = {hex[2 * i], hex[2 * i + 1], '\0'};
    r->kept->key[i] = (unsigned char)strtoul(pair, NULL, 16);
  }
  return TACIT_OK;
}

/* Format and version before anything else: a later version may have other keys. */
static tacit_status_t check_format(const reader_t *r, const json_t *root) {
  static const char *const keys[] = {"format",   "version",  "tacit",    "formula", "settings",
                                     "private",  "relation", "unit",     "schema",  "n",
                                     "features", "key",      "releases", "program"};
  const char *format = json_string_value(json_object_get(root, "format"));
  const json_t *version = json_object_get(root, "version");
  if (format == NULL || strcmp(format, "tacit releases") != 0) {
    return wrong(r, "format", "\"tacit releases\": is this the releases.json of a fit?");
  }
  if (!json_is_integer(version) || json_integer_value(version) != TACIT_RELEASED_VERSION) {
    return tacit_error_set(r->err, TACIT_ERR_SYNTAX, "version",
                           "%s: this tacit reads version %d of kept releases, and the file is of another",
                           r->path, (int)TACIT_RELEASED_VERSION);
  }
  return check_keys(r, root, keys, sizeof keys / sizeof keys[0], "the file");
}

static tacit_status_t take_numbers_of_fit(const reader_t *r, const json_t *root) {
  const json_t *n = json_object_get(root, "n"), *features = json_object_get(root, "features"),
               *is_private = json_object_get(root, "private");
  const char *relation = json_string_value(json_object_get(root, "relation"));
  if (!json_is_boolean(is_private)) {
    return wrong(r, "private", "true or false");
  }
  if (relation == NULL || (strcmp(relation, "substitute") != 0 && strcmp(relation, "add-remove") != 0)) {
    return wrong(r, "relation", "\"substitute\" or \"add-remove\"");
  }
  r->kept->is_private = json_is_true(is_private);
  r->kept->relation =
      strcmp(relation, "substitute") == 0 ? TACIT_RELATION_SUBSTITUTE : TACIT_RELATION_ADD_REMOVE;
  bool is_public = r->kept->relation == TACIT_RELATION_SUBSTITUTE;
  if (is_public ? !is_number(n, 1, 1e18) : !json_is_null(n)) {
    return wrong(r, "n", is_public ? "the number of units" : "null: it is among the releases");
  }
  if (!json_is_integer(features) || !is_number(features, 1, MAX_FEATURES)) {
    return wrong(r, "features", "a whole number from 1 to 256");
  }
  r->kept->releases.n_units = is_public ? json_number_value(n) : 0;
  r->kept->releases.dim = (size_t)json_integer_value(features);
  return TACIT_OK;
}

static tacit_status_t take_all(const reader_t *r, const json_t *root) {
  tacit_status_t status = json_is_object(root) ? check_format(r, root) : wrong(r, "format", "in an object");
  char **const texts[] = {&r->kept->formula, &r->kept->unit, &r->kept->schema};
  static const char *const keys[] = {"formula", "unit", "schema"};
  for (size_t i = 0; i < sizeof keys / sizeof keys[0] && status == TACIT_OK; i++) {
    status = take_text(r, root, keys[i], texts[i]);
  }
  if (status == TACIT_OK && json_object_get(root, "program") != NULL) {
    status = take_text(r, root, "program", &r->kept->program);
  }
  if (status == TACIT_OK && !json_is_string(json_object_get(root, "tacit"))) {
    status = wrong(r, "tacit", "the version that wrote the file");
  }
  TACIT_THEN(status, take_numbers_of_fit(r, root));
  TACIT_THEN(status, take_settings(r, json_object_get(root, "settings")));
  TACIT_THEN(status, take_key(r, root));
  return status == TACIT_OK ? take_releases(r, json_object_get(root, "releases")) : status;
}

tacit_status_t tacit_released_parse(tacit_released_t *kept, const char *bytes, size_t n, const char *name,
                                    tacit_error_t *err) {
  json_error_t problem;
  *kept = (tacit_released_t){0};
  errno = 0;
  json_t *root = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &problem);
  if (root == NULL) {
    return json_error_code(&problem) == json_error_out_of_memory || errno == ENOMEM
               ? tacit_error_memory(err)
               : tacit_error_set(err, TACIT_ERR_SYNTAX, "releases", "%s:%d:%d: not valid JSON: %s", name,
                                 problem.line, problem.column, problem.text);
  }
  const reader_t reader = {name, kept, err};
  tacit_status_t status = take_all(&reader, root);
  json_decref(root);
  if (status != TACIT_OK) {
    tacit_released_clear(kept);
  }
  return status;
}

tacit_status_t tacit_released_read(tacit_released_t *kept, const char *path, tacit_error_t *err) {
  struct stat info;
  tacit_text_t name = {0};
  char *bytes = NULL;
  size_t n = 0;
  *kept = (tacit_released_t){0};
  bool is_folder = stat(path, &info) == 0 && S_ISDIR(info.st_mode);
  tacit_text_printf(&name, is_folder ? "%s/releases.json" : "%s", path);
  tacit_status_t status = name.failed ? tacit_error_memory(err) : TACIT_OK;
  bool is_missing = status == TACIT_OK && is_folder && stat(name.data, &info) != 0 && errno == ENOENT;
  if (is_missing && tacit_directory_is_unfinished(path)) {
    status = tacit_error_set(err, TACIT_ERR_MISSING, "releases",
                             "%s is of a fit that was stopped before anything was kept, or is at work: "
                             "nothing can be drawn; remove it",
                             path);
  } else if (is_missing) {
    status = tacit_error_set(err, TACIT_ERR_MISSING, "releases",
                             "%s has no releases.json: only fits by method noise-aware keep releases that "
                             "inference can start from; chains pay for every step and leave none, of sites "
                             "together each site has its own, and after tacit infer there is the statistic",
                             path);
  }
  TACIT_THEN(status, tacit_file_read(name.data, MAX_BYTES, &bytes, &n, err));
  TACIT_THEN(status, tacit_released_parse(kept, bytes, n, name.data, err));
  tacit_free(bytes);
  tacit_text_clear(&name);
  return status;
}
