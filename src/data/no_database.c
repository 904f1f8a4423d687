/*
 * Built without unixODBC.
 */
#include "base/error.h"
#include "data/data_internal.h"

static tacit_status_t refuse_no_database(tacit_reader_t *reader, tacit_error_t *err) {
  (void)reader;
  return tacit_error_set(err, TACIT_ERR_STATE, "data",
                         "this program was built without unixODBC, which reads databases: pipe CSV to --data "
                         "-, or build with unixodbc-dev");
}

const tacit_reader_kind_t tacit_reader_database = {.open = refuse_no_database};
