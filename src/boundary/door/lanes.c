/*
 * Where units of several records lie. The order of units means nothing to a sum, so a door rearranges its
 * records when it opens: 16 units of equally many records fill as many blocks, a unit a lane, its t-th record
 * in block t. Units are moved within their range of a pass, whose places stay the range's: those that make no
 * group of 16 lie around the groups, record after record.
 */
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/records.h"
#include "door/door_internal.h"

enum { DIGITS = 256, MOST_VALUES = 1 << 24 /* floats of a range that is rearranged: 64 MiB a thread */ };

size_t tacit_door_range_size(const tacit_door_t *door, bool is_by_units) {
  size_t n = is_by_units ? door->n_units : tacit_records_n_blocks(door->records);
  size_t most = is_by_units ? TACIT_BLOCK * TACIT_PART_BLOCKS : TACIT_PART_BLOCKS;
  return tacit_pool_share(n, door->settings.n_threads, most);
}

static size_t up_to_block(size_t record) { return (record + TACIT_BLOCK - 1) / TACIT_BLOCK * TACIT_BLOCK; }

tacit_range_t tacit_door_range(const tacit_door_t *door, size_t first, size_t last) {
  const size_t *offsets = door->unit_offsets;
  if (offsets == NULL) { /* a record each */
    return (tacit_range_t){first, last, (last - first) / 16 * 16, first, first, last};
  }
  size_t n_laned = door->n_laned != NULL ? door->n_laned[first / tacit_door_range_size(door, true)] : 0,
         start = offsets[first], from = n_laned > 0 ? up_to_block(start) : start;
  return (tacit_range_t){first, last, n_laned, start, from, from + offsets[first + n_laned] - start};
}

size_t tacit_door_record(const tacit_door_t *door, const tacit_range_t *r, size_t u, size_t t) {
  const size_t *offsets = door->unit_offsets;
  if (offsets == NULL) {
    return u;
  }
  if (u - r->first < r->n_laned) {
    size_t lane = (u - r->first) % 16;
    return r->from + (offsets[u - lane] - r->start) + 16 * t + lane;
  }
  size_t at = r->start + offsets[u] - offsets[r->first + r->n_laned] + t;
  return at < r->from ? at : at + (r->to - r->from);
}

/* ---- arranging a range ---- */

/* Of a thread. */
typedef struct desk {
  float *records;       /* a range's, as they were, one after another */
  size_t *offsets;      /* of its units, from 0 */
  size_t *order, *next; /* units, from 0 */
} desk_t;

typedef struct arranging {
  tacit_door_t *door;
  desk_t *desks;
  size_t most_values;
} arranging_t;

/* Units in order of one digit of their numbers of records, else as they were. */
static void sort_by_digit(const size_t *offsets, size_t n, unsigned shift, const size_t *order, size_t *out) {
  size_t begins[DIGITS + 1] = {0};
#define DIGIT(u) ((offsets[(u) + 1] - offsets[u]) >> shift & (DIGITS - 1))
  for (size_t i = 0; i < n; i++) {
    begins[DIGIT(i) + 1]++;
  }
  for (size_t digit = 0; digit < DIGITS; digit++) {
    begins[digit + 1] += begins[digit];
  }
  for (size_t i = 0; i < n; i++) {
    out[begins[DIGIT(order[i])]++] = order[i];
  }
#undef DIGIT
}

/* desk->order <- whole groups of equally long units first; how many units are in them. */
static size_t find_groups(desk_t *desk, size_t n) {
  size_t n_laned = 0, n_others = 0, size;
  for (size_t i = 0; i < n; i++) {
    desk->order[i] = i;
  }
  sort_by_digit(desk->offsets, n, 0, desk->order, desk->next);
  sort_by_digit(desk->offsets, n, 8, desk->next, desk->order);
  sort_by_digit(desk->offsets, n, 16, desk->order, desk->next);
  sort_by_digit(desk->offsets, n, 24, desk->next, desk->order);
  for (size_t from = 0, to; from < n; from = to) {
    size = desk->offsets[desk->order[from] + 1] - desk->offsets[desk->order[from]];
    for (to = from; to < n && desk->offsets[desk->order[to] + 1] - desk->offsets[desk->order[to]] == size;
         to++) {
    }
    size_t whole = size > 0 ? (to - from) / 16 * 16 : 0;
    memmove(desk->order + n_laned, desk->order + from, whole * sizeof *desk->order);
    memcpy(desk->next + n_others, desk->order + from + whole, (to - from - whole) * sizeof *desk->next);
    n_laned += whole;
    n_others += to - from - whole;
  }
  memcpy(desk->order + n_laned, desk->next, n_others * sizeof *desk->order);
  return n_laned;
}

static void copy_out(const tacit_door_t *door, size_t start, size_t end, float *out) {
  const size_t n_columns = door->settings.n_columns;
  for (size_t i = start; i < end; i++) {
    const float *from = tacit_door_first_column(door, i);
    for (size_t j = 0; j < n_columns; j++) {
      *out++ = from[j * TACIT_BLOCK];
    }
  }
}

/* Each unit's records to the places of one later in the order; what is between ranges is theirs. */
static void copy_back(tacit_door_t *door, const tacit_range_t *r, const desk_t *desk) {
  const size_t n_columns = door->settings.n_columns;
  for (size_t u = r->first; u < r->last; u++) {
    size_t was = desk->order[u - r->first];
    const float *from = desk->records + desk->offsets[was] * n_columns;
    for (size_t t = 0; t < desk->offsets[was + 1] - desk->offsets[was]; t++, from += n_columns) {
      size_t i = tacit_door_record(door, r, u, t);
      float *to = tacit_records_edit(door->records, i / TACIT_BLOCK) + i % TACIT_BLOCK;
      for (size_t j = 0; j < n_columns; j++) {
        to[j * TACIT_BLOCK] = from[j];
      }
    }
  }
}

/* Do units of one record each fill blocks of their own already? */
static bool is_in_place(const size_t *offsets, size_t n) {
  bool ok = offsets[0] % TACIT_BLOCK == 0;
  for (size_t u = 0; ok && u < n; u++) {
    ok = offsets[u + 1] - offsets[u] == 1;
  }
  return ok;
}

static void arrange_range(const void *of, size_t first, size_t last, size_t thread) {
  const arranging_t *arranging = of;
  tacit_door_t *door = arranging->door;
  desk_t *desk = &arranging->desks[thread];
  size_t *offsets = door->unit_offsets, n = last - first, start = offsets[first], end = offsets[last],
         *n_laned = &door->n_laned[first / tacit_door_range_size(door, true)];
  if (is_in_place(offsets + first, n)) {
    *n_laned = n / 16 * 16;
    return;
  }
  if ((end - start) * door->settings.n_columns > arranging->most_values) {
    return;
  }
  for (size_t u = 0; u <= n; u++) {
    desk->offsets[u] = offsets[first + u] - start;
  }
  *n_laned = find_groups(desk, n);
  for (size_t u = 0; u + 1 < n; u++) { /* the ends are the range's own */
    size_t was = desk->order[u];
    offsets[first + u + 1] = offsets[first + u] + desk->offsets[was + 1] - desk->offsets[was];
  }
  size_t n_others = end - offsets[first + *n_laned];
  *n_laned -= *n_laned > 0 && start + n_others < up_to_block(start) ? 16 : 0; /* too few to lie before them */
  copy_out(door, start, end, desk->records);
  tacit_range_t r = tacit_door_range(door, first, last);
  copy_back(door, &r, desk);
}

/* Records of the longest range that is rearranged. */
static size_t longest_range(const tacit_door_t *door, size_t size, size_t most) {
  size_t longest = 0;
  for (size_t u = 0; u < door->n_units; u += size) {
    size_t last = u + size < door->n_units ? u + size : door->n_units,
           n = door->unit_offsets[last] - door->unit_offsets[u];
    longest = n > longest && n <= most ? n : longest;
  }
  return longest;
}

static bool make_desk(desk_t *desk, size_t n_units, size_t n_values) {
  desk->records = tacit_alloc_pages(n_values + 1, sizeof *desk->records);
  desk->offsets = tacit_alloc(n_units + 1, sizeof *desk->offsets);
  desk->order = tacit_alloc(n_units + 1, sizeof *desk->order);
  desk->next = tacit_alloc(n_units + 1, sizeof *desk->next);
  return desk->records != NULL && desk->offsets != NULL && desk->order != NULL && desk->next != NULL;
}

static void free_desk(desk_t *desk, size_t n_values) {
  if (desk->records != NULL) {
    tacit_free_pages(desk->records, n_values + 1, sizeof *desk->records);
  }
  tacit_free(desk->offsets);
  tacit_free(desk->order);
  tacit_free(desk->next);
}

tacit_status_t tacit_door_arrange(tacit_door_t *door, tacit_error_t *err) {
  const size_t n_threads = door->settings.n_threads, n_columns = door->settings.n_columns;
  if (door->unit_offsets == NULL || door->n_units == 0) {
    return TACIT_OK;
  }
  size_t size = tacit_door_range_size(door, true),
         longest = longest_range(door, size, MOST_VALUES / n_columns);
  arranging_t arranging = {door, tacit_alloc_zero(n_threads, sizeof *arranging.desks), longest * n_columns};
  bool ok = arranging.desks != NULL;
  door->n_laned = tacit_alloc_zero(door->n_units / size + 1, sizeof *door->n_laned);
  for (size_t t = 0; ok && t < n_threads; t++) {
    ok = make_desk(&arranging.desks[t], size, longest * n_columns);
  }
  ok = ok && door->n_laned != NULL;
  if (ok) {
    tacit_door_run_ranges(door, true, arrange_range, &arranging);
  }
  for (size_t t = 0; arranging.desks != NULL && t < n_threads; t++) {
    free_desk(&arranging.desks[t], longest * n_columns);
  }
  tacit_free(arranging.desks);
  return ok ? TACIT_OK : tacit_error_memory(err);
}
