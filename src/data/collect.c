#include "base/error.h"
#include "base/memory.h"
#include "base/pool.h"
#include "data/collect.h"

#include <string.h>

#include "data/columns.h"
#include "data/records.h"
#include "data/table.h"

/* Rows of a window: of little weight beside the records, and enough to be worth the call; a part of what is
 * read already, so that pieces are few. */
enum { LEAST_ROWS = 1 << 14, SHARE = 64 };

typedef struct collector {
  tacit_reader_t reader;
  tacit_table_t *window;
  const tacit_packer_t *packer;
  tacit_records_t **pieces;
  size_t n_pieces;
} collector_t;

/* The window's rows become a piece; the first may be of none. */
static tacit_status_t pack_window(collector_t *c, tacit_error_t *err) {
  tacit_records_t **pieces = tacit_realloc(c->pieces, c->n_pieces + 1, sizeof *pieces);
  if (pieces == NULL) {
    return tacit_error_memory(err);
  }
  c->pieces = pieces;
  c->window->n_rows = c->reader.at;
  c->reader.at = 0;
  tacit_status_t status = c->packer->pack(c->packer->user, c->window, &c->pieces[c->n_pieces], err);
  c->n_pieces += status == TACIT_OK;
  return status;
}

/* The window is full, or there is none yet. */
static tacit_status_t make_room(void *user, tacit_error_t *err) {
  collector_t *c = user;
  tacit_status_t status = c->reader.room > 0 ? pack_window(c, err) : TACIT_OK;
  size_t room = c->reader.n_rows / SHARE / TACIT_BLOCK * TACIT_BLOCK;
  room = room > LEAST_ROWS ? room : LEAST_ROWS;
  if (status == TACIT_OK && room > c->reader.room) {
    status = tacit_table_make_room(c->window, &c->reader, room, err);
  }
  return status;
}

/* ---- pieces become one ---- */

typedef struct joining {
  tacit_records_t *whole, **pieces;
  size_t *begins; /* block */
} joining_t;

static void join_piece(void *user, size_t i, size_t thread) {
  const joining_t *j = user;
  (void)thread;
  tacit_records_copy_blocks(j->whole, j->begins[i], j->pieces[i]);
  tacit_records_free(j->pieces[i]);
  j->pieces[i] = NULL;
}

/* All pieces but the last are of whole blocks. Each page of the whole is first written to as a piece goes. */
static tacit_status_t join(collector_t *c, tacit_records_t **records, tacit_error_t *err) {
  if (c->n_pieces == 1) {
    *records = c->pieces[0];
    c->pieces[0] = NULL;
    return TACIT_OK;
  }
  size_t n = 0, n_columns = tacit_records_n_columns(c->pieces[0]);
  joining_t joining = {.pieces = c->pieces, .begins = tacit_alloc(c->n_pieces, sizeof *joining.begins)};
  tacit_pool_t *pool = NULL;
  tacit_status_t status =
      joining.begins != NULL ? tacit_pool_new(&pool, c->packer->n_threads, err) : tacit_error_memory(err);
  for (size_t i = 0; status == TACIT_OK && i < c->n_pieces; i++) {
    joining.begins[i] = n / TACIT_BLOCK;
    n += tacit_records_n(c->pieces[i]);
  }
  TACIT_THEN(status, tacit_records_new(&joining.whole, n, n_columns, err));
  if (status == TACIT_OK) {
    tacit_pool_run(pool, c->n_pieces, join_piece, &joining);
  }
  tacit_pool_free(pool);
  tacit_free(joining.begins);
  *records = joining.whole;
  return status;
}

/* ---- sources ---- */

static tacit_status_t collect(collector_t *c, tacit_records_t **records, const tacit_data_source_t *source,
                              const tacit_schema_t *schema, const char *const *columns, size_t n_columns,
                              tacit_error_t *err) {
  tacit_status_t status = tacit_reader_open(&c->reader, source, schema, columns, n_columns, err);
  TACIT_THEN(status, tacit_table_of_reader(&c->window, &c->reader, err));
  TACIT_THEN(status, tacit_reader_rows(&c->reader, make_room, c, err));
  if (status == TACIT_OK && (c->reader.at > 0 || c->n_pieces == 0)) {
    status = pack_window(c, err);
  }
  return status == TACIT_OK ? join(c, records, err) : status;
}

static tacit_status_t by_windows(tacit_records_t **records, tacit_table_t **table,
                                 const tacit_data_source_t *source, const tacit_schema_t *schema,
                                 const char *const *columns, size_t n_columns, const tacit_packer_t *packer,
                                 tacit_table_notes_t *notes, tacit_error_t *err) {
  collector_t c = {.packer = packer};
  tacit_status_t status = collect(&c, records, source, schema, columns, n_columns, err);
  for (size_t i = 0; i < c.n_pieces; i++) {
    tacit_records_free(c.pieces[i]);
  }
  tacit_free(c.pieces);
  if (status == TACIT_OK) {
    tacit_table_drop_columns(c.window);
    c.window->n_rows = c.reader.n_rows;
    tacit_table_note(c.window, &c.reader);
    *table = c.window;
    *notes = tacit_reader_notes(&c.reader);
  } else {
    tacit_table_free(c.window);
  }
  tacit_reader_clear(&c.reader);
  tacit_arrow_release(source->stream);
  return status;
}

static tacit_status_t by_table(tacit_records_t **records, tacit_table_t **table,
                               const tacit_data_source_t *source, const tacit_schema_t *schema,
                               const char *const *columns, size_t n_columns, const tacit_packer_t *packer,
                               tacit_table_notes_t *notes, tacit_error_t *err) {
  tacit_status_t status = tacit_table_read_source(table, source, schema, columns, n_columns, notes, err);
  TACIT_THEN(status, packer->pack(packer->user, *table, records, err));
  if (status != TACIT_OK) {
    tacit_table_free(*table);
    *table = NULL;
  } else {
    tacit_table_drop_columns(*table);
  }
  return status;
}

tacit_status_t tacit_records_collect(tacit_records_t **records, tacit_table_t **table,
                                     const tacit_data_source_t *source, const tacit_schema_t *schema,
                                     const char *const *columns, size_t n_columns,
                                     const tacit_packer_t *packer, tacit_table_notes_t *notes,
                                     tacit_error_t *err) {
  bool is_imported = source->path != NULL && tacit_is_directory(source->path);
  bool is_whole = packer->is_whole || is_imported || tacit_schema_unit(schema) != NULL;
  *records = NULL;
  *table = NULL;
  return (is_whole ? by_table : by_windows)(records, table, source, schema, columns, n_columns, packer, notes,
                                            err);
}
