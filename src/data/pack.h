/* Rows of a table become records, on several threads. Not installed. */
#ifndef TACIT_DATA_PACK_H
#define TACIT_DATA_PACK_H

#include <float.h>
#include <math.h>

#include "tacit/data.h"

/* What a record holds of x: a float that is no denormal, with which a pass would take some hundred
 * nanoseconds longer and tell that it is there. */
static inline float tacit_packed(double x) {
  float y = (float)x;
  return fabsf(y) < FLT_MIN ? 0 : y;
}

/*
 * *lanes (n_blocks, 16) <- zeros, a float for each lane, where the records are, in memory or in a file of
 * their folder. What was there before is gone; freed with the records, read ahead and dropped with their
 * blocks.
 */
TACIT_MUST_USE tacit_status_t tacit_records_new_lanes(tacit_records_t *records, float **lanes,
                                                      tacit_error_t *err);

/* Rows from .. to - 1, counted from the first that is packed, become the records of these numbers; `from` is
 * a multiple of 256. */
typedef void (*tacit_pack_task)(void *user, size_t from, size_t to, size_t thread);

/* Part `part` of n_parts, which follow each other and together are the table: whole units; where a unit is a
 * row, multiples of 64 rows. */
typedef struct tacit_pack_share {
  size_t part, n_parts, n_threads, n_columns; /* columns: of the records */
  const char *scratch;
  const char *const *columns; /* of the table, that are used: a missing value there leaves its record out */
  size_t n_table_columns;
} tacit_pack_share_t;

/*
 * Make the records of a share and run the task over them; *records and *begin, the first row of the table,
 * are set before it runs. Units of privacy are carried over.
 */
TACIT_MUST_USE tacit_status_t tacit_pack_share(tacit_records_t **records, size_t *begin,
                                               const tacit_table_t *table, const tacit_pack_share_t *share,
                                               tacit_pack_task task, void *user, tacit_error_t *err);

#endif
