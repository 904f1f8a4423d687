/* A report directory read back: draws from Stan CSV, the claim of privacy from privacy.json. */
#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/stat.h>

#include <jansson.h>

#include "base/error.h"
#include "base/file.h"
#include "diagnose/diagnose.h"
#include "report/read_internal.h"

enum { MAX_PRIVACY_BYTES = 1 << 26, MAX_PROGRAM_BYTES = 1 << 24 };

static tacit_status_t privacy_path(tacit_text_t *text, const char *folder, tacit_error_t *err) {
  text->length = 0;
  tacit_text_printf(text, "%s/privacy.json", folder);
  return text->failed ? tacit_error_memory(err) : TACIT_OK;
}

static tacit_status_t draws_path(tacit_text_t *text, const char *folder, size_t chain, tacit_error_t *err) {
  text->length = 0;
  tacit_text_printf(text, "%s/draws-%zu.csv", folder, chain + 1);
  return text->failed ? tacit_error_memory(err) : TACIT_OK;
}

/* ---- privacy.json ---- */

tacit_status_t tacit_report_privacy_of(const json_t *root, const char *path, tacit_report_read_t *read,
                                       tacit_error_t *err) {
  const json_t *is_private = json_object_get(root, "private");
  if (!json_is_boolean(is_private)) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "private",
                           "%s: \"private\" must be there and be true or false", path);
  }
  read->is_private = json_is_true(is_private);
  if (!read->is_private) {
    return TACIT_OK;
  }
  const json_t *epsilon = json_object_get(root, "epsilon"), *delta = json_object_get(root, "delta");
  if (json_object_get(root, "epsilon_charged") == NULL &&
      json_is_number(json_object_get(root, "epsilon_budget"))) {
    epsilon =
        json_object_get(root, "epsilon_budget"); /* of builds whose "epsilon" was what had been charged */
  }
  read->epsilon = json_is_number(epsilon) ? json_number_value(epsilon) : NAN;
  read->delta = json_is_number(delta) ? json_number_value(delta) : NAN;
  read->is_post_processing = json_is_true(json_object_get(root, "post_processing"));
  if (read->is_post_processing) {
    return TACIT_OK;
  }
  if (!(read->epsilon >= 0) || !(read->delta >= 0 && read->delta <= 1)) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "epsilon",
                           "%s: a private report needs numbers \"epsilon\" >= 0 and \"delta\" from 0 to 1",
                           path);
  }
  return TACIT_OK;
}

tacit_status_t tacit_report_load_json(const char *path, json_t **root, tacit_error_t *err) {
  char *bytes;
  size_t n;
  tacit_status_t status = tacit_file_read(path, MAX_PRIVACY_BYTES, &bytes, &n, err);
  if (status != TACIT_OK) {
    return status;
  }
  json_error_t problem;
  errno = 0;
  *root = json_loadb(bytes, n, JSON_REJECT_DUPLICATES, &problem);
  tacit_free(bytes);
  if (*root == NULL) {
    return json_error_code(&problem) == json_error_out_of_memory || errno == ENOMEM
               ? tacit_error_memory(err)
               : tacit_error_set(err, TACIT_ERR_SYNTAX, path, "%s:%d:%d: not valid JSON: %s", path,
                                 problem.line, problem.column, problem.text);
  }
  return TACIT_OK;
}

bool tacit_report_exists(const char *path) {
  struct stat info;
  return stat(path, &info) == 0;
}

static tacit_status_t read_privacy(const char *path, tacit_report_read_t *read, tacit_error_t *err) {
  json_t *root;
  tacit_status_t status = tacit_report_load_json(path, &root, err);
  if (status == TACIT_OK) {
    status = tacit_report_privacy_of(root, path, read, err);
    json_decref(root);
  }
  return status;
}

/* ---- the directory ---- */

tacit_status_t tacit_report_check_folder(const char *path, tacit_error_t *err) {
  struct stat info;
  if (stat(path, &info) != 0) {
    return tacit_error_set(err, errno == ENOENT || errno == ENOTDIR ? TACIT_ERR_MISSING : TACIT_ERR_IO,
                           "path", "cannot open %s, the folder of a fit: %s", path, strerror(errno));
  }
  if (!S_ISDIR(info.st_mode)) {
    return tacit_error_set(err, TACIT_ERR_IO, "path",
                           "%s is a file: a report is a folder with draws-1.csv and privacy.json in it",
                           path);
  }
  if (tacit_directory_is_unfinished(path)) {
    return tacit_error_set(
        err, TACIT_ERR_DATA, "path",
        "%s is of a fit that did not end, or is at work: tacit refit %s ends it, and nothing more is spent",
        path, path);
  }
  return TACIT_OK;
}

static tacit_status_t count_chains(const char *path, tacit_text_t *name, size_t *n_chains,
                                   tacit_error_t *err) {
  *n_chains = 0;
  for (;; (*n_chains)++) {
    tacit_status_t status = draws_path(name, path, *n_chains, err);
    if (status != TACIT_OK) {
      return status;
    }
    if (!tacit_report_exists(name->data)) {
      break;
    }
  }
  if (*n_chains == 0) {
    return tacit_error_set(err, TACIT_ERR_MISSING, "path", "%s holds no report: draws-1.csv is missing",
                           path);
  }
  return TACIT_OK;
}

/* Later chains must have the shape and the columns of the first, which `read` has taken. */
static tacit_status_t check_shape(const tacit_report_read_t *read, const tacit_stan_csv_t *csv,
                                  tacit_error_t *err) {
  if (csv->n_kept != read->draws.n_draws || csv->n_names != read->draws.n_reported) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, csv->path,
                           "%s: %zu draws of %zu quantities, but draws-1.csv has %zu of %zu: all chains of a "
                           "report have the same",
                           csv->path, csv->n_kept, csv->n_names, read->draws.n_draws, read->draws.n_reported);
  }
  for (size_t j = 0; j < csv->n_names; j++) {
    if (strcmp(csv->names[j], read->names[j]) != 0) {
      return tacit_error_set(err, TACIT_ERR_SYNTAX, csv->path,
                             "%s:%zu: column %zu is named \"%s\", but \"%s\" in draws-1.csv: all chains of a "
                             "report have the same columns",
                             csv->path, csv->names_line, csv->n_internal + j + 1, csv->names[j],
                             read->names[j]);
    }
  }
  return TACIT_OK;
}

/* Shape, names and labels of the report are those of its first chain. Flags and draws go together: a folder
 * that was copied in part would say something else than the fit did. */
static tacit_status_t take_shape(tacit_report_read_t *read, size_t n_chains, tacit_stan_csv_t *csv,
                                 tacit_error_t *err) {
  if (n_chains < csv->n_chains) {
    return tacit_error_set(err, TACIT_ERR_MISSING, "path",
                           "%s is one of %zu chains, but draws-%zu.csv is missing: copy the whole folder",
                           csv->path, csv->n_chains, n_chains + 1);
  }
  tacit_status_t status = tacit_draws_init(&read->draws, n_chains, 0, csv->n_kept, csv->n_names, err);
  if (status == TACIT_OK) {
    read->names = csv->names;
    read->labels = csv->labels;
    read->formula = csv->formula;
    read->family = csv->family;
    read->method = csv->method;
    csv->names = csv->labels = NULL;
    csv->formula = csv->family = csv->method = NULL;
  }
  return status;
}

static tacit_status_t read_chain(tacit_report_read_t *read, size_t n_chains, size_t chain, const char *path,
                                 tacit_error_t *err) {
  tacit_stan_csv_t csv;
  tacit_status_t status = tacit_stan_csv_open(&csv, path, err);
  TACIT_THEN(status, chain == 0 ? take_shape(read, n_chains, &csv, err) : check_shape(read, &csv, err));
  TACIT_THEN(status, tacit_stan_csv_draws(&csv, &read->draws, chain, err));
  tacit_stan_csv_clear(&csv);
  return status;
}

static tacit_status_t read_chains(tacit_report_read_t *read, const char *path, size_t n_chains,
                                  tacit_text_t *name, tacit_error_t *err) {
  for (size_t c = 0; c < n_chains; c++) {
    tacit_status_t status = draws_path(name, path, c, err);
    TACIT_THEN(status, read_chain(read, n_chains, c, name->data, err));
    if (status != TACIT_OK) {
      return status;
    }
  }
  read->draws.n_saved = read->draws.n_draws;
  return TACIT_OK;
}

/* Kept of fits of programs alone. */
static tacit_status_t read_program(tacit_report_read_t *read, const char *path, tacit_text_t *name,
                                   tacit_error_t *err) {
  size_t n;
  name->length = 0;
  tacit_text_printf(name, "%s/program.stan", path);
  if (name->failed) {
    return tacit_error_memory(err);
  }
  return tacit_report_exists(name->data)
             ? tacit_file_read(name->data, MAX_PROGRAM_BYTES, &read->program, &n, err)
             : TACIT_OK;
}

tacit_status_t tacit_report_read(tacit_report_read_t *read, const char *path, tacit_error_t *err) {
  const tacit_diagnostics_t nothing = tacit_diagnostics_of(&(tacit_sampler_tally_t){0});
  *read =
      (tacit_report_read_t){.epsilon = NAN, .delta = NAN, .published = tacit_diagnostics_publish(&nothing)};
  tacit_text_t name = {0};
  size_t n_chains;
  tacit_status_t status = tacit_report_check_folder(path, err);
  TACIT_THEN(status, count_chains(path, &name, &n_chains, err));
  TACIT_THEN(status, privacy_path(&name, path, err));
  TACIT_THEN(status, read_privacy(name.data, read, err));
  TACIT_THEN(status, read_chains(read, path, n_chains, &name, err));
  TACIT_THEN(status, tacit_report_read_diagnostics(path, &name, read, err));
  TACIT_THEN(status, read_program(read, path, &name, err));
  tacit_text_clear(&name);
  if (status != TACIT_OK) {
    tacit_report_read_clear(read);
  }
  return status;
}

void tacit_report_read_clear(tacit_report_read_t *read) {
  for (size_t j = 0; j < read->draws.n_reported; j++) {
    tacit_free(read->names != NULL ? read->names[j] : NULL);
    tacit_free(read->labels != NULL ? read->labels[j] : NULL);
  }
  tacit_free(read->names);
  tacit_free(read->labels);
  tacit_free(read->formula);
  tacit_free(read->family);
  tacit_free(read->method);
  tacit_free(read->program);
  tacit_draws_clear(&read->draws);
  *read = (tacit_report_read_t){.epsilon = NAN, .delta = NAN};
}
