/*
 * Records that an engine holds in parts. The fit is the first of n + 1 ranks and has no records: to the door
 * a part is a rank, and what ranks tell each other is what an engine adds up. Whoever sums a part makes the
 * same release of its own records, for a budget and with noise that are nobody's, and hands on what it would
 * have told another rank: exact sums. So a pass is a function of request and part, and the fit's door alone
 * charges and adds noise.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/collect.h"
#include "data/records.h"
#include "fit/fit_internal.h"

enum { MAX_PARTS = (1 << 20) - 1 };

/* ---- the fit that asks ---- */

typedef struct tacit_fit_engine {
  tacit_fit_parts_t of;
  tacit_fit_part_t *parts; /* (of.n) */
  tacit_ranks_t ranks;
  unsigned char print[TACIT_FIT_PRINT];
  tacit_text_t request;
  bool has_counted; /* the door has been told how many records there are */
  bool has_failed;
} tacit_fit_engine_t;

/* A tacit_ranks_t's. After a failure the message is no sum of all ranks', which the door notices: it releases
 * nothing of it. */
static void sum_ranks(void *user, size_t n, int64_t *numbers) {
  tacit_fit_engine_t *engine = user;
  size_t n_ranks = engine->of.n + 1;
  if (!engine->has_counted) {
    engine->has_counted = true;
    for (size_t r = 1; r < n_ranks && n == 2 * n_ranks; r++) {
      numbers[r] = (int64_t)engine->parts[r - 1].n_records;
      numbers[n_ranks + r] = (int64_t)engine->parts[r - 1].n_units;
    }
    return;
  }
  bool is_summed = !engine->has_failed && engine->request.length > 0 &&
                   engine->of.sum(engine->of.user, engine->request.data, n, numbers);
  engine->has_failed = !is_summed;
  if (!is_summed) {
    numbers[n - 1] = -1; /* the digest's place */
  }
  tacit_text_clear(&engine->request); /* whatever is summed next must have been asked for */
}

void tacit_fit_ask_parts(void *user, const tacit_kept_release_t *request) {
  tacit_fit_engine_t *engine = ((tacit_fit_t *)user)->engine;
  tacit_text_clear(&engine->request);
  if (!tacit_fit_request_write(request, engine->print, &engine->request)) {
    tacit_text_clear(&engine->request);
  }
}

bool tacit_fit_engine_has_failed(const tacit_fit_t *fit) {
  return fit->engine != NULL && fit->engine->has_failed;
}

tacit_status_t tacit_fit_engine_failed(const tacit_fit_t *fit, tacit_status_t status, tacit_error_t *err) {
  return tacit_fit_engine_has_failed(fit)
             ? tacit_error_set(err, TACIT_ERR_STATE, "data",
                               "a pass over the parts of the data was not finished: nothing of it was "
                               "released, and what was charged stays charged")
             : status;
}

void tacit_fit_engine_free(tacit_fit_engine_t *engine) {
  if (engine != NULL) {
    tacit_text_clear(&engine->request);
    tacit_free(engine->parts);
    tacit_free(engine);
  }
}

static tacit_status_t check_asker(const tacit_fit_t *fit, const tacit_fit_parts_t *parts,
                                  tacit_error_t *err) {
  if (fit->is_exposed || fit->method == NULL || !fit->method->is_one_off || fit->checked != NULL ||
      fit->ranks.ranks != NULL) {
    const char *why = fit->why_not_aware;
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "method",
        "records in parts are fitted by method noise-aware, in one process, not exposed%s%s",
        why[0] != '\0' ? "; here: " : "", why);
  }
  return parts->n >= 1 && parts->n <= MAX_PARTS
             ? TACIT_OK
             : tacit_error_set(err, TACIT_ERR_ARGUMENT, "data", "records come in 1 to %d parts, not in %zu",
                               (int)MAX_PARTS, parts->n);
}

static tacit_status_t make_engine(tacit_fit_t *fit, const tacit_fit_parts_t *parts, tacit_error_t *err) {
  tacit_fit_engine_t *engine = fit->engine = tacit_alloc_zero(1, sizeof *engine);
  if (engine == NULL || (engine->parts = tacit_alloc(parts->n, sizeof *engine->parts)) == NULL) {
    return tacit_error_memory(err);
  }
  memcpy(engine->parts, parts->parts, parts->n * sizeof *engine->parts);
  engine->of = *parts;
  engine->of.parts = NULL;
  engine->ranks = (tacit_ranks_t){.rank = 0, .n_ranks = parts->n + 1, .sum = sum_ranks, .user = engine};
  tacit_fit_print_settings(fit, false, engine->print);
  return TACIT_OK;
}

/* Of n records, which are units of several where the schema has persons. */
static tacit_status_t new_records(const tacit_fit_t *fit, size_t n, tacit_records_t **records,
                                  tacit_error_t *err) {
  const size_t none = 0;
  tacit_status_t status = tacit_records_new(records, n, fit->model.records.n_columns, err);
  return status == TACIT_OK && n == 0 && tacit_schema_unit(fit->schema) != NULL
             ? tacit_records_set_units(*records, &none, 0, err)
             : status;
}

static tacit_status_t open_curator(tacit_fit_t *fit, tacit_records_t *records, const tacit_ranks_t *ranks,
                                   tacit_error_t *err) {
  fit->limits.ranks = ranks;
  fit->limits.max_unit_rows = tacit_schema_max_rows(fit->schema);
  return tacit_curator_new(&fit->curator, records, &fit->model.records, fit->budget, fit->noise, &fit->limits,
                           err);
}

tacit_status_t tacit_fit_read_parts(tacit_fit_t *fit, const tacit_fit_parts_t *parts, tacit_error_t *err) {
  const tacit_schema_t *schema;
  const char *const *columns;
  size_t n_columns;
  tacit_records_t *records;
  tacit_status_t status = tacit_fit_columns(fit, &schema, &columns, &n_columns, err);
  TACIT_THEN(status, check_asker(fit, parts, err));
  if (status != TACIT_OK) {
    return status;
  }
  fit->stage = TACIT_FIT_STAGE_FAILED;
  status = make_engine(fit, parts, err);
  TACIT_THEN(status, new_records(fit, 0, &records, err));
  TACIT_THEN(status, open_curator(fit, records, &fit->engine->ranks, err));
  TACIT_THEN(status, tacit_fit_make_plan(fit, fit->n_public, err));
  fit->stage = status == TACIT_OK ? TACIT_FIT_STAGE_READ : TACIT_FIT_STAGE_FAILED;
  return status;
}

/* ---- who packs and sums a part ---- */

void tacit_fit_be_part(tacit_fit_t *fit) { fit->is_part = true; }

/* What is packed: this, values of the blocks, and, of persons, where each one's records begin, and their
 * number. */
typedef struct packed {
  char magic[16];
  unsigned char print[TACIT_FIT_PRINT];
  uint64_t one; /* 1, in the order of this machine's bytes */
  uint64_t n, n_columns, n_units;
  uint64_t has_units, check; /* of all that follows */
} packed_t;

static const char magic[16] = "tacit-part 1";

/* Bytes that got lost or mixed up on their way; nothing against malice, which is inside of the boundary. */
static uint64_t check_of(const unsigned char *bytes, size_t n) {
  uint64_t hash = 0xcbf29ce484222325u, word = 0;
  for (; n >= sizeof word; bytes += sizeof word, n -= sizeof word) {
    memcpy(&word, bytes, sizeof word);
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 29;
  }
  return hash;
}

/* Bytes of values and of places; false: too many to count. */
static bool sizes_of(const packed_t *head, size_t *values, size_t *places, size_t *all) {
  size_t n_blocks = head->n / TACIT_BLOCK + (head->n % TACIT_BLOCK != 0);
  bool is_fine = !__builtin_mul_overflow(n_blocks * TACIT_BLOCK, head->n_columns * sizeof(float), values) &&
                 head->n <= SIZE_MAX / 2 && head->n_columns <= SIZE_MAX / 8 && head->n_units <= SIZE_MAX / 16;
  *places = is_fine && head->has_units ? (head->n_units + 1) * sizeof(size_t) : 0;
  return is_fine && !__builtin_add_overflow(*values, *places + sizeof *head, all);
}

static tacit_status_t pack(const tacit_fit_t *fit, const tacit_records_t *records, void **packed, size_t *n,
                           tacit_fit_part_t *part, tacit_error_t *err) {
  size_t n_units, values, places;
  const size_t *offsets = tacit_records_unit_offsets(records, &n_units);
  packed_t head = {.one = 1,
                   .n = tacit_records_n(records),
                   .n_columns = tacit_records_n_columns(records),
                   .n_units = n_units,
                   .has_units = offsets != NULL};
  memcpy(head.magic, magic, sizeof magic);
  tacit_fit_print_settings(fit, false, head.print);
  if (!sizes_of(&head, &values, &places, n) || (*packed = tacit_alloc(*n, 1)) == NULL) {
    return tacit_error_memory(err);
  }
  unsigned char *to = *packed;
  if (values > 0) {
    memcpy(to + sizeof head, tacit_records_block(records, 0), values);
  }
  if (places > 0) {
    memcpy(to + sizeof head + values, offsets, places);
  }
  head.check = check_of(to + sizeof head, values + places);
  memcpy(to, &head, sizeof head);
  *part = (tacit_fit_part_t){head.n, n_units};
  return TACIT_OK;
}

tacit_status_t tacit_fit_pack(tacit_fit_t *fit, const tacit_data_source_t *source, void **packed, size_t *n,
                              tacit_fit_part_t *part, tacit_error_t *err) {
  tacit_table_t *table;
  tacit_records_t *records;
  tacit_table_notes_t notes;
  *packed = NULL;
  *n = 0;
  *part = (tacit_fit_part_t){0};
  tacit_status_t status = tacit_fit_collect(fit, source, &records, &table, &notes, err);
  if (status == TACIT_OK) {
    tacit_table_free(table);
    status = pack(fit, records, packed, n, part, err);
    tacit_records_free(records);
  }
  return status;
}

/* The records that were packed. */
static tacit_status_t unpack(const tacit_fit_t *fit, const void *packed, size_t n, tacit_records_t **records,
                             tacit_error_t *err) {
  packed_t head;
  size_t values, places, all;
  unsigned char print[TACIT_FIT_PRINT];
  const unsigned char *from = (const unsigned char *)packed + sizeof head;
  bool is_whole = n >= sizeof head;
  memcpy(&head, packed, is_whole ? sizeof head : 0);
  if (!is_whole || memcmp(head.magic, magic, sizeof magic) != 0 || head.one != 1) {
    return tacit_error_set(
        err, TACIT_ERR_SYNTAX, "data",
        "no packed part of records, or one of another version or kind of machine: pack it again");
  }
  tacit_fit_print_settings(fit, false, print);
  if (memcmp(head.print, print, sizeof print) != 0 || head.n_columns != fit->model.records.n_columns) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "data",
                           "the part was packed for other settings, another schema or program, or by another "
                           "version of tacit: pack it again");
  }
  if (!sizes_of(&head, &values, &places, &all) || n != all || check_of(from, values + places) != head.check) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "data",
                           "the packed part is cut off or damaged: pack it again");
  }
  tacit_status_t status = tacit_records_new(records, head.n, head.n_columns, err);
  size_t *offsets = status == TACIT_OK && places > 0 ? tacit_alloc(head.n_units + 1, sizeof *offsets) : NULL;
  if (status == TACIT_OK && places > 0) {
    status = offsets == NULL ? tacit_error_memory(err) : TACIT_OK;
  }
  if (status == TACIT_OK) {
    tacit_records_fill(*records, from);
  }
  if (status == TACIT_OK && places > 0) {
    memcpy(offsets, from + values, places);
    status = tacit_records_set_units(*records, offsets, head.n_units, err);
  }
  tacit_free(offsets);
  if (status != TACIT_OK) {
    tacit_records_free(*records);
  }
  return status;
}

/* What a rank would have told another: there is one, with the same records, so that both agree. */
typedef struct heard {
  int64_t *sums;
  size_t n, n_times;
} heard_t;

static void hear(void *user, size_t n, int64_t *numbers) {
  heard_t *heard = user;
  heard->n_times++;
  if (heard->n_times == 2) { /* the first are numbers of records */
    heard->sums = tacit_alloc(n, sizeof *heard->sums);
    heard->n = n;
  }
  for (size_t i = 0; i < n; i++) {
    if (heard->n_times == 2 && heard->sums != NULL) {
      heard->sums[i] = numbers[i];
    }
    numbers[i] *= 2;
  }
}

static tacit_status_t sum(tacit_fit_t *fit, tacit_records_t *records, const tacit_kept_release_t *release,
                          heard_t *heard, tacit_error_t *err) {
  const tacit_ranks_t ranks = {.rank = 0, .n_ranks = 2, .sum = hear, .user = heard};
  tacit_noise_aware_settings_t settings = tacit_fit_aware_settings(fit);
  tacit_status_t status = open_curator(fit, records, &ranks, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = tacit_noise_aware_serve(fit->curator, &settings, release, err);
  tacit_curator_free(fit->curator);
  fit->curator = NULL;
  return status == TACIT_OK && (heard->sums == NULL || heard->n_times != 2) ? tacit_error_memory(err)
                                                                            : status;
}

tacit_status_t tacit_fit_sum_part(tacit_fit_t *fit, const char *request, const void *packed, size_t n,
                                  int64_t **sums, size_t *n_sums, tacit_error_t *err) {
  const tacit_schema_t *schema;
  const char *const *columns;
  size_t n_columns;
  unsigned char print[TACIT_FIT_PRINT];
  tacit_kept_release_t release;
  tacit_records_t *records;
  double *numbers = NULL;
  heard_t heard = {0};
  *sums = NULL;
  *n_sums = 0;
  tacit_status_t status = tacit_fit_columns(fit, &schema, &columns, &n_columns, err);
  fit->stage = TACIT_FIT_STAGE_FAILED; /* its budget is used: a pass is made by a fit of its own */
  if (status != TACIT_OK) {
    return status;
  }
  tacit_fit_print_settings(fit, false, print);
  status = tacit_fit_request_read(request, print, &release, &numbers, err);
  TACIT_THEN(status, unpack(fit, packed, n, &records, err));
  TACIT_THEN(status, sum(fit, records, &release, &heard, err));
  if (status == TACIT_OK) {
    *sums = heard.sums;
    *n_sums = heard.n;
  } else {
    tacit_wipe(heard.sums, heard.sums != NULL ? heard.n * sizeof *heard.sums : 0);
    tacit_free(heard.sums);
  }
  tacit_free(numbers);
  return status;
}
