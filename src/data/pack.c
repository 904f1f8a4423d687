#include "data/pack.h"

enum { PART_BLOCKS = 2048 }; /* blocks after which memory is given back: two of the largest ranges of a pass over the records */

typedef struct packing {
  const tacit_table_t *table;
  tacit_records_t *records;
  tacit_pack_task task;
  void *user;
  size_t begin, size; /* first row of the table; records in a part, a multiple of TACIT_BLOCK */
  size_t n_threads;
} packing_t;

static size_t first_of(const packing_t *p, size_t part) {
  size_t n = tacit_records_n(p->records);
  return part <= n / p->size ? part * p->size : n;
}

static void pack_part(void *user, size_t part, size_t thread) {
  const packing_t *p = user;
  size_t from = first_of(p, part), to = first_of(p, part + 1), ahead = part + p->n_threads; /* the others are at those between */
  tacit_table_need(p->table, p->begin + first_of(p, ahead), p->begin + first_of(p, ahead + 1));
  p->task(p->user, from, to, thread);
  tacit_table_drop(p->table, p->begin + from, p->begin + to);
  tacit_records_drop(p->records, from / TACIT_BLOCK, (to + TACIT_BLOCK - 1) / TACIT_BLOCK);
}

void tacit_pack_rows(tacit_pool_t *pool, size_t n_threads, const tacit_table_t *table, size_t begin, tacit_records_t *records,
                     tacit_pack_task task, void *user) {
  size_t n_blocks = tacit_records_n_blocks(records), blocks = tacit_pool_share(n_blocks, n_threads, PART_BLOCKS);
  packing_t packing = {table, records, task, user, begin, blocks * TACIT_BLOCK, n_threads};
  tacit_pool_run(pool, (n_blocks + blocks - 1) / blocks, pack_part, &packing);
}

/* ---- columns as they are ---- */

typedef struct columns {
  const double **values; /* shape (n_columns), each (n_rows) */
  size_t n_columns;
  tacit_records_t *records;
} columns_t;

static tacit_status_t find_columns(const tacit_table_t *table, const char *const *names, columns_t *columns, tacit_error_t *err) {
  for (size_t j = 0; j < columns->n_columns; j++) {
    columns->values[j] = tacit_table_column(table, names[j]);
    if (columns->values[j] == NULL) {
      return tacit_error_set(err, TACIT_ERR_UNKNOWN, names[j], "the table was read without column '%.64s'", names[j]);
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

tacit_status_t tacit_table_pack(tacit_records_t **records, const tacit_table_t *table, const char *const *names, size_t n_names,
                                size_t n_threads, const char *scratch, tacit_error_t *err) {
  columns_t columns = {.n_columns = n_names, .values = tacit_alloc(n_names, sizeof *columns.values)};
  tacit_pool_t *pool = NULL;
  *records = NULL;
  tacit_status_t status = columns.values != NULL ? tacit_pool_new(&pool, n_threads, err) : tacit_error_memory(err);
  if (status == TACIT_OK) {
    status = find_columns(table, names, &columns, err);
  }
  if (status == TACIT_OK) {
    status = tacit_records_new_in(records, tacit_table_n_rows(table), n_names, scratch, err);
  }
  if (status == TACIT_OK) {
    columns.records = *records;
    tacit_pack_rows(pool, n_threads, table, 0, *records, pack_columns, &columns);
  }
  tacit_pool_free(pool);
  tacit_free(columns.values);
  return status;
}
