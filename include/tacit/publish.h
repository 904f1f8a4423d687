/**
 * @file publish.h
 * A statistic of records with noise, from settings to the file that tacit infer reads: everything that `tacit
 * release` decides.
 *
 *     tacit_publish_new(&publish, NULL, &err);                         or a formula, for moments and scores
 *     tacit_publish_set(publish, "statistic", "clamped-mean", &err);   by the names of tacit release --help
 *     tacit_publish_read(publish, "records.csv", &err);                records behind the curator; nothing is
 * released tacit_publish_run(publish, &err);                                reserve in the ledger, charge,
 * release, settle tacit_publish_write(publish, "statistic.yaml", &err); tacit_publish_free(publish);
 *
 * Steps come in this order. What these functions return is public, or released. Errors name the setting in
 * tacit_error_t.field.
 */
#ifndef TACIT_PUBLISH_H
#define TACIT_PUBLISH_H

#include "tacit/arrow.h"
#include "tacit/base.h"
#include "tacit/data.h"
#include "tacit/setting.h"

#ifdef __cplusplus
extern "C" {
#endif

/** All settings, shape (*n), in the order of tacit release --help. */
TACIT_API const tacit_setting_t *tacit_publish_settings(size_t *n);

typedef struct tacit_publish tacit_publish_t;

/** Begin; `formula` is NULL for statistics of columns. *publish is NULL on failure, which
 * tacit_publish_free() allows. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_publish_new(tacit_publish_t **publish, const char *formula,
                                                          tacit_error_t *err);
TACIT_API void tacit_publish_free(tacit_publish_t *publish);
/** As tacit_fit_set(). */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_publish_set(tacit_publish_t *publish, const char *name,
                                                          const char *text, tacit_error_t *err);
/** The schema as n bytes of YAML instead of the setting `schema`; `name` stands for its file in messages. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_publish_set_schema(tacit_publish_t *publish, const char *text,
                                                                 size_t n, const char *name,
                                                                 tacit_error_t *err);

/**
 * Read records; NULL: of the setting `data`. Nothing is charged or released.
 * @return as tacit_table_read(); TACIT_ERR_ARGUMENT for settings that do not go together, TACIT_ERR_SCHEMA
 * for columns that do not suit the statistic, TACIT_ERR_EXISTS if there is something at the setting `out`.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_publish_read(tacit_publish_t *publish, const char *path,
                                                           tacit_error_t *err);
/** The same from any source; one without path and stream: the settings `data` and `query`. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_publish_read_source(tacit_publish_t *publish,
                                                                  const tacit_data_source_t *source,
                                                                  tacit_error_t *err);
/**
 * The columns that reading takes, shape (*n), and the schema, for whoever hands out a stream of them; settles
 * all settings. Borrowed from the release.
 */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_publish_columns(tacit_publish_t *publish,
                                                              const tacit_schema_t **schema,
                                                              const char *const **columns, size_t *n,
                                                              tacit_error_t *err);
/** Lines that warn of a budget that says little, from public numbers, or ""; borrowed, there once records are
 * read. */
TACIT_API const char *tacit_publish_warnings(const tacit_publish_t *publish);
/** Reserve in the ledger if there is one, charge, release, settle. @return TACIT_ERR_BUDGET if the ledger has
 * not enough left. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_publish_run(tacit_publish_t *publish, tacit_error_t *err);

/* ---- results: NULL or 0 before tacit_publish_run() has returned TACIT_OK; borrowed ---- */

/** The statistic as YAML, as tacit infer reads it. */
TACIT_API const char *tacit_publish_yaml(const tacit_publish_t *publish);
/** Released sums over the records and the scales of their noise, shape (*n). */
TACIT_API const double *tacit_publish_values(const tacit_publish_t *publish, size_t *n);
TACIT_API const double *tacit_publish_scales(const tacit_publish_t *publish, size_t *n);
/** Lines for a person: what was released, and what it cost. */
TACIT_API const char *tacit_publish_spent(const tacit_publish_t *publish);
/** Write the YAML to a new file; NULL: that of the setting `out`. */
TACIT_API TACIT_MUST_USE tacit_status_t tacit_publish_write(const tacit_publish_t *publish, const char *path,
                                                            tacit_error_t *err);

/** Why the ledger keeps all that was reserved, or "". */
TACIT_API const char *tacit_publish_unsettled(const tacit_publish_t *publish);
#ifdef __cplusplus
}
#endif
#endif
