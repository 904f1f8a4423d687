#include <math.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "data/columns.h"
#include "data/pack.h"
#include "data/records.h"

enum {
  PART_BLOCKS = 2048
}; /* blocks after which memory is given back: two of the largest ranges of a pass over the records */

typedef struct packing {
  const tacit_table_t *table;
  tacit_records_t *records;
  tacit_pack_task task;
  void *user;
  size_t begin, size; /* first row of the table; records in a part, a multiple of TACIT_BLOCK */
  size_t n_threads, n_gaps;
  const double **gaps; /* columns used in which a missing value leaves its record out */
} packing_t;

static size_t first_of(const packing_t *p, size_t part) {
  size_t n = tacit_records_n(p->records);
  return part <= n / p->size ? part * p->size : n;
}

/* Whatever the task made of a row with a missing value: NaN is no level, and clamps to a bound. */
static void leave_out(const packing_t *p, size_t from, size_t to) {
  for (size_t i = from; p->n_gaps > 0 && i < to; i++) {
    bool is_complete = true;
    for (size_t g = 0; g < p->n_gaps; g++) {
      is_complete = is_complete && !isnan(p->gaps[g][p->begin + i]);
    }
    if (!is_complete) {
      tacit_records_leave_out(p->records, i);
    }
  }
}

static void pack_part(void *user, size_t part, size_t thread) {
  const packing_t *p = user;
  size_t from = first_of(p, part), to = first_of(p, part + 1),
         ahead = part + p->n_threads; /* the others are at those between */
  tacit_table_need(p->table, p->begin + first_of(p, ahead), p->begin + first_of(p, ahead + 1));
  p->task(p->user, from, to, thread);
  leave_out(p, from, to);
  tacit_table_drop(p->table, p->begin + from, p->begin + to);
  tacit_records_drop(p->records, from / TACIT_BLOCK, (to + TACIT_BLOCK - 1) / TACIT_BLOCK);
}

/*
 * Run the task over all records, whose first is row `begin` of the table, on the pool's threads. Ranges of
 * blocks are handed out in rising order to whoever is free, as those of the curator's passes are; each thread
 * is the first to touch what it packs. Where files back table or records, a range is read ahead, and what is
 * done with leaves memory.
 */
static tacit_status_t pack_rows(tacit_pool_t *pool, packing_t *p, const char *const *columns,
                                size_t n_columns, tacit_error_t *err) {
  size_t n_blocks = tacit_records_n_blocks(p->records),
         blocks = tacit_pool_share(n_blocks, p->n_threads, PART_BLOCKS);
  p->size = blocks * TACIT_BLOCK;
  p->gaps = tacit_alloc(n_columns, sizeof *p->gaps);
  if (p->gaps == NULL) {
    return tacit_error_memory(err);
  }
  p->n_gaps = tacit_table_gaps(p->table, columns, n_columns, p->gaps);
  tacit_pool_run(pool, (n_blocks + blocks - 1) / blocks, pack_part, p);
  tacit_free(p->gaps);
  return TACIT_OK;
}

/* ---- columns as they are ---- */

typedef struct columns {
  const double **values; /* shape (n_columns), each (n_rows) */
  size_t n_columns;
  tacit_records_t *records;
} columns_t;

static tacit_status_t find_columns(const tacit_table_t *table, const char *const *names, columns_t *columns,
                                   tacit_error_t *err) {
  for (size_t j = 0; j < columns->n_columns; j++) {
    columns->values[j] = tacit_table_column(table, names[j]);
    if (columns->values[j] == NULL) {
      return tacit_error_set(err, TACIT_ERR_UNKNOWN, names[j], "the table was read without column '%.64s'",
                             names[j]);
    }
  }
  return TACIT_OK;
}

static void pack_columns(void *user, size_t from, size_t to, size_t thread) {
  const columns_t *columns = user;
  (void)thread;
  for (size_t j = 0; j < columns->n_columns; j++) {
    tacit_records_set_column(columns->records, from, to - from, j, columns->values[j] + from);
  }
}

tacit_status_t tacit_table_pack(tacit_records_t **records, const tacit_table_t *table,
                                const char *const *names, size_t n_names, size_t n_threads,
                                const char *scratch, tacit_error_t *err) {
  columns_t columns = {.n_columns = n_names, .values = tacit_alloc(n_names, sizeof *columns.values)};
  tacit_pool_t *pool = NULL;
  *records = NULL;
  tacit_status_t status =
      columns.values != NULL ? tacit_pool_new(&pool, n_threads, err) : tacit_error_memory(err);
  TACIT_THEN(status, find_columns(table, names, &columns, err));
  TACIT_THEN(status, tacit_records_new_in(records, tacit_table_n_rows(table), n_names, scratch, err));
  if (status == TACIT_OK) {
    packing_t packing = {.table = table,
                         .records = columns.records = *records,
                         .task = pack_columns,
                         .user = &columns,
                         .n_threads = n_threads};
    status = pack_rows(pool, &packing, names, n_names, err);
  }
  tacit_pool_free(pool);
  tacit_free(columns.values);
  if (status != TACIT_OK) {
    tacit_records_free(*records);
    *records = NULL;
  }
  return status;
}

/* ---- a share of the table ---- */

/* Where part `part` of n items begins, a multiple of `alignment` but for the end. */
static size_t cut(size_t n, size_t part, size_t n_parts, size_t alignment) {
  size_t n_groups = n / alignment + (n % alignment != 0);
  size_t group = n_groups / n_parts * part + (part < n_groups % n_parts ? part : n_groups % n_parts);
  return group * alignment < n ? group * alignment : n;
}

/* The part's rows and, where units have several, the offsets of its units among them. */
static tacit_status_t set_units(tacit_records_t *records, const size_t *offsets, size_t n_units,
                                tacit_error_t *err) {
  size_t *own = tacit_alloc(n_units + 1, sizeof *own);
  if (own == NULL) {
    return tacit_error_memory(err);
  }
  for (size_t u = 0; u <= n_units; u++) {
    own[u] = offsets[u] - offsets[0];
  }
  tacit_status_t status = tacit_records_set_units(records, own, n_units, err);
  tacit_free(own);
  return status;
}

tacit_status_t tacit_pack_share(tacit_records_t **records, size_t *begin, const tacit_table_t *table,
                                const tacit_pack_share_t *share, tacit_pack_task task, void *user,
                                tacit_error_t *err) {
  size_t n_units = 0;
  const size_t *offsets = tacit_table_unit_offsets(table, &n_units);
  size_t alignment = offsets == NULL ? 64 : 1,
         n_items = offsets == NULL ? tacit_table_n_rows(table) : n_units;
  size_t from = cut(n_items, share->part, share->n_parts, alignment),
         to = cut(n_items, share->part + 1, share->n_parts, alignment);
  tacit_pool_t *pool = NULL;
  *begin = offsets == NULL ? from : offsets[from];
  *records = NULL;
  tacit_status_t status = tacit_pool_new(&pool, share->n_threads, err);
  TACIT_THEN(status, tacit_records_new_in(records, (offsets == NULL ? to : offsets[to]) - *begin,
                                          share->n_columns, share->scratch, err));
  if (status == TACIT_OK) {
    packing_t packing = {.table = table,
                         .records = *records,
                         .task = task,
                         .user = user,
                         .begin = *begin,
                         .n_threads = share->n_threads};
    status = pack_rows(pool, &packing, share->columns, share->n_table_columns, err);
  }
  if (status == TACIT_OK && offsets != NULL) {
    status = set_units(*records, offsets + from, to - from, err);
  }
  tacit_pool_free(pool);
  if (status != TACIT_OK) {
    tacit_records_free(*records);
    *records = NULL;
  }
  return status;
}
