/*
 * Built without ReadStat: files that it would read are named.
 */
#include "base/error.h"
#include "data/data_internal.h"

static tacit_status_t refuse_no_stat_file(tacit_reader_t *reader, tacit_error_t *err) {
  const char *path = reader->source.path;
  return tacit_error_set(err, TACIT_ERR_STATE, path,
                         "%s: this program was built without ReadStat, which reads SAS, SPSS and Stata "
                         "files: export it as CSV, or build with "
                         "libreadstat-dev",
                         path);
}

bool tacit_is_stat_file(const char *path) {
  static const char *const endings[] = {".sas7bdat", ".xpt", ".sav", ".zsav", ".por", ".dta"};
  bool found = false;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    found = found || tacit_has_ending(path, endings[i]);
  }
  return found;
}

const tacit_reader_kind_t tacit_reader_stat = {.open = refuse_no_stat_file};
