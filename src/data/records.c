#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mapping.h"
#include "base/memory.h"
#include "data/collect.h"
#include "data/pack.h"
#include "data/records.h"

struct tacit_records {
  float *data;
  char *scratch;           /* folder; NULL: in memory */
  tacit_mapping_t mapping; /* of data, in the folder */
  size_t n, n_columns, n_blocks, n_values;
  size_t *unit_offsets; /* NULL: every record is its own unit */
  size_t n_units;
  float *lanes; /* (16 n_blocks), beside the data; NULL: none */
  tacit_mapping_t lane_mapping;
};

tacit_status_t tacit_records_new(tacit_records_t **out, size_t n, size_t n_columns, tacit_error_t *err) {
  return tacit_records_new_in(out, n, n_columns, NULL, err);
}

/* *values <- n zeros, in memory or in a file. */
static tacit_status_t make_room(const char *scratch, size_t n, float **values, tacit_mapping_t *mapping,
                                tacit_error_t *err) {
  size_t n_bytes;
  if (scratch == NULL) {
    *values = tacit_alloc_pages(n, sizeof **values);
    return *values != NULL ? TACIT_OK : tacit_error_memory(err);
  }
  if (__builtin_mul_overflow(n, sizeof **values, &n_bytes)) {
    return tacit_error_memory(err);
  }
  tacit_status_t status = tacit_mapping_scratch(mapping, scratch, n_bytes, err);
  *values = (float *)mapping->data;
  return status;
}

static void free_room(float *values, size_t n, tacit_mapping_t *mapping) {
  if (mapping->data == NULL && values != NULL) {
    tacit_free_pages(values, n, sizeof *values);
  }
  tacit_mapping_close(mapping);
}

tacit_status_t tacit_records_new_lanes(tacit_records_t *records, float **lanes, tacit_error_t *err) {
  free_room(records->lanes, records->n_blocks * TACIT_BLOCK, &records->lane_mapping);
  tacit_status_t status = make_room(records->scratch, records->n_blocks * TACIT_BLOCK, &records->lanes,
                                    &records->lane_mapping, err);
  *lanes = records->lanes;
  return status;
}

tacit_status_t tacit_records_new_in(tacit_records_t **out, size_t n, size_t n_columns, const char *scratch,
                                    tacit_error_t *err) {
  *out = NULL;
  if (n_columns < 1) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "n_columns", "records need at least one column");
  }
  size_t n_blocks = n / TACIT_BLOCK + (n % TACIT_BLOCK != 0), n_lanes, n_values;
  if (__builtin_mul_overflow(n_blocks, (size_t)TACIT_BLOCK, &n_lanes) ||
      __builtin_mul_overflow(n_lanes, n_columns, &n_values)) {
    return tacit_error_memory(err);
  }
  tacit_records_t *records = tacit_alloc_zero(1, sizeof *records);
  if (records == NULL) {
    return tacit_error_memory(err);
  }
  *records = (tacit_records_t){.n = n, .n_columns = n_columns, .n_blocks = n_blocks, .n_values = n_values};
  records->scratch = scratch != NULL ? tacit_strdup(scratch) : NULL;
  tacit_status_t status = scratch != NULL && records->scratch == NULL
                              ? tacit_error_memory(err)
                              : make_room(scratch, n_values, &records->data, &records->mapping, err);
  if (status != TACIT_OK) {
    tacit_records_free(records);
    return status;
  }
  *out = records;
  return TACIT_OK;
}

void tacit_records_free(tacit_records_t *records) {
  if (records != NULL) {
    free_room(records->data, records->n_values, &records->mapping);
    free_room(records->lanes, records->n_blocks * TACIT_BLOCK, &records->lane_mapping);
    tacit_free(records->scratch);
    tacit_free(records->unit_offsets);
    tacit_free(records);
  }
}

void tacit_records_set(tacit_records_t *records, size_t i, const double *x) {
  float *lane = records->data + i / TACIT_BLOCK * records->n_columns * TACIT_BLOCK + i % TACIT_BLOCK;
  for (size_t j = 0; j < records->n_columns; j++) {
    lane[j * TACIT_BLOCK] = tacit_packed(x[j]);
  }
}

void tacit_records_leave_out(tacit_records_t *records, size_t i) {
  float *lane = records->data + i / TACIT_BLOCK * records->n_columns * TACIT_BLOCK + i % TACIT_BLOCK;
  for (size_t j = 0; j < records->n_columns; j++) {
    lane[j * TACIT_BLOCK] = NAN;
  }
}

void tacit_records_set_column(tacit_records_t *records, size_t first, size_t n, size_t j, const double *x) {
  float *column = records->data + j * TACIT_BLOCK;
  size_t stride = records->n_columns * TACIT_BLOCK, i = 0;
  for (; i < n && (first + i) % TACIT_BLOCK != 0; i++) {
    column[(first + i) / TACIT_BLOCK * stride + (first + i) % TACIT_BLOCK] = tacit_packed(x[i]);
  }
  for (; n - i >= TACIT_BLOCK; i += TACIT_BLOCK) {
    float *lanes = column + (first + i) / TACIT_BLOCK * stride;
    for (size_t lane = 0; lane < TACIT_BLOCK; lane++) {
      lanes[lane] = tacit_packed(x[i + lane]);
    }
  }
  for (; i < n; i++) {
    column[(first + i) / TACIT_BLOCK * stride + (first + i) % TACIT_BLOCK] = tacit_packed(x[i]);
  }
}

void tacit_records_copy_blocks(tacit_records_t *records, size_t at, const tacit_records_t *from) {
  if (from->n_values > 0) {
    memcpy(records->data + at * records->n_columns * TACIT_BLOCK, from->data,
           from->n_values * sizeof *from->data);
  }
}

void tacit_records_fill(tacit_records_t *records, const void *values) {
  if (records->n_values > 0) {
    memcpy(records->data, values, records->n_values * sizeof *records->data);
  }
}

const char *tacit_records_scratch(const tacit_records_t *records) { return records->scratch; }

static const size_t lane_bytes = TACIT_BLOCK * sizeof(float);

static size_t block_bytes(const tacit_records_t *records) {
  return records->n_columns * TACIT_BLOCK * sizeof *records->data;
}

void tacit_records_need(const tacit_records_t *records, size_t from, size_t to) {
  tacit_mapping_need(&records->mapping, from * block_bytes(records), to * block_bytes(records));
  tacit_mapping_need(&records->lane_mapping, from * lane_bytes, to * lane_bytes);
}

void tacit_records_drop(const tacit_records_t *records, size_t from, size_t to) {
  tacit_mapping_drop(&records->mapping, from * block_bytes(records), to * block_bytes(records));
  tacit_mapping_drop(&records->lane_mapping, from * lane_bytes, to * lane_bytes);
}

static bool are_offsets(const size_t *offsets, size_t n_units, size_t n) {
  if (offsets[0] != 0 || offsets[n_units] != n) {
    return false;
  }
  for (size_t u = 0; u < n_units; u++) {
    if (offsets[u] > offsets[u + 1]) {
      return false;
    }
  }
  return true;
}

tacit_status_t tacit_records_set_units(tacit_records_t *records, const size_t *offsets, size_t n_units,
                                       tacit_error_t *err) {
  if (!are_offsets(offsets, n_units, records->n)) {
    return tacit_error_set(err, TACIT_ERR_ARGUMENT, "offsets",
                           "unit offsets must rise from 0 to the number of records");
  }
  size_t *copy = n_units < SIZE_MAX ? tacit_alloc(n_units + 1, sizeof *copy) : NULL;
  if (copy == NULL) {
    return tacit_error_memory(err);
  }
  memcpy(copy, offsets, (n_units + 1) * sizeof *copy);
  tacit_free(records->unit_offsets);
  records->unit_offsets = copy;
  records->n_units = n_units;
  return TACIT_OK;
}

size_t tacit_records_n(const tacit_records_t *records) { return records->n; }

size_t tacit_records_n_columns(const tacit_records_t *records) { return records->n_columns; }

size_t tacit_records_n_blocks(const tacit_records_t *records) { return records->n_blocks; }

const float *tacit_records_block(const tacit_records_t *records, size_t b) {
  return records->data + b * records->n_columns * TACIT_BLOCK;
}

float *tacit_records_edit(tacit_records_t *records, size_t b) {
  return records->data + b * records->n_columns * TACIT_BLOCK;
}

size_t *tacit_records_edit_units(tacit_records_t *records) { return records->unit_offsets; }

const size_t *tacit_records_unit_offsets(const tacit_records_t *records, size_t *n_units) {
  *n_units = records->unit_offsets != NULL ? records->n_units : records->n;
  return records->unit_offsets;
}
