/* Where records come from: file, query, schema, and the public numbers of a program. */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "data/records.h"
#include "request/request.h"
#include "tacit/arrow.h"

void tacit_request_clear(tacit_request_t *request) {
  tacit_text_free(request->query);
  request->query = NULL;
}

/* How many units a query selects is private, unless somebody says beforehand how many there are. */
static tacit_status_t check_count(const tacit_request_t *request, bool is_public, tacit_error_t *err) {
  return is_public ? TACIT_OK
                   : tacit_error_set(err, TACIT_ERR_ARGUMENT, "n-public",
                                     "the number of %s that a query selects is private: say how many there "
                                     "are, if that is public, with --n-public N%s",
                                     request->units, request->or_else);
}

tacit_status_t tacit_request_read_query(tacit_request_t *request, const tacit_settings_t *given,
                                        bool is_public, tacit_error_t *err) {
  const char *text = tacit_settings_text(given, "query");
  tacit_data_source_t source = {.path = tacit_settings_text(given, "data")};
  if (text == NULL) {
    return TACIT_OK;
  }
  if (source.path != NULL && !tacit_data_source_is_query(&source)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "query",
                           "--query only goes with a database, --data odbc:NAME");
  }
  tacit_status_t status = tacit_query_read(text, &request->query, err);
  if (status != TACIT_OK) {
    return status;
  }
  tacit_query_hash(request->query, request->query_hash);
  return check_count(request, is_public, err);
}

tacit_status_t tacit_request_take_query(tacit_request_t *request, const tacit_table_t *table, bool is_free,
                                        double n_public, tacit_error_t *err) {
  const char *hash = tacit_table_query_hash(table);
  size_t n_units;
  if (hash[0] == '\0') {
    return TACIT_OK;
  }
  memcpy(request->query_hash, hash, sizeof request->query_hash);
  tacit_table_unit_offsets(table, &n_units);
  tacit_status_t status = check_count(request, is_free || n_public > 0, err);
  bool is_stated = is_free || (double)n_units == n_public; /* whole */
  return status != TACIT_OK || is_stated
             ? status
             : tacit_error_set(err, TACIT_ERR_DATA, "n-public",
                               "the query selects another number of %s than --n-public says: %sit is public "
                               "and must be known beforehand; nothing was spent",
                               request->units,
                               request->or_else[0] != '\0' ? "under relation substitute " : "");
}

tacit_data_source_t tacit_request_source(const tacit_request_t *request, const tacit_data_source_t *source,
                                         const tacit_settings_t *given) {
  tacit_data_source_t settled = *source;
  if (settled.path == NULL && settled.stream == NULL) {
    settled.path = tacit_settings_text(given, "data");
  }
  settled.query = source->query != NULL ? source->query : request->query;
  settled.catalog = source->catalog != NULL ? source->catalog : tacit_settings_text(given, "catalog");
  settled.encoding = source->encoding != NULL ? source->encoding : tacit_settings_text(given, "encoding");
  settled.delimiter = source->delimiter != NULL ? source->delimiter : tacit_settings_text(given, "delimiter");
  return settled;
}

tacit_status_t tacit_request_check_source(const tacit_request_t *request, const tacit_data_source_t *source,
                                          tacit_error_t *err) {
  return source->path != NULL || source->stream != NULL
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "data",
                               "option --data is needed; see tacit %s --help", request->task);
}

void tacit_request_leave_source(const tacit_data_source_t *source) {
  if (source->stream != NULL && source->stream->release != NULL) {
    source->stream->release(source->stream);
  }
}

tacit_status_t tacit_request_schema(const tacit_request_t *request, const tacit_settings_t *given,
                                    char **text, size_t *n, tacit_error_t *err) {
  const char *path = tacit_settings_text(given, "schema");
  *text = NULL;
  return path != NULL ? tacit_file_read(path, TACIT_SCHEMA_MAX_BYTES, text, n, err)
                      : tacit_error_set(err, TACIT_ERR_ARGUMENT, "schema",
                                        "option --schema is needed; see tacit %s --help", request->task);
}

tacit_status_t tacit_request_constants(const tacit_settings_t *given, tacit_program_constants_t *constants,
                                       tacit_error_t *err) {
  tacit_status_t status = TACIT_OK;
  for (size_t i = 0; i < given->n_given && status == TACIT_OK; i++) {
    const char *name = given->given[i].setting->name, *text = given->given[i].text;
    status = strcmp(name, "set") == 0         ? tacit_program_constants_set(constants, text, err)
             : strcmp(name, "constants") == 0 ? tacit_program_constants_read(constants, text, err)
                                              : TACIT_OK;
  }
  const char *name;
  for (size_t i = 0; status == TACIT_OK && (name = tacit_settings_next(given, "public", &i)) != NULL;) {
    status = tacit_program_constants_public(constants, name, err);
  }
  return status == TACIT_OK ? tacit_program_constants_check(constants, err) : status;
}
