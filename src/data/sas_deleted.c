/*
 * Are there rows in a SAS file that were deleted and still stand in it? ReadStat (1.1.9 and before) returns
 * them as any other. The format is undocumented; what it takes is from what readers of it have found out
 * (FredHutch/sas7bdat-specification; ReadStat's issue 284, pull request 366): the row size subheader counts
 * them; pages with deleted rows have the bit 128 in their type; and of compressed rows the pointer's kind has
 * the bit 1 beside 4.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "data/stat_file.h"

enum {
  HEADER = 288,
  MOST_POINTERS = 1 << 14,
  PAGE_DELETED = 0x80,
  PAGE_WITHOUT_POINTERS = 0x9000,
  ROW_DELETED = 0x05
};

typedef struct sas_file {
  FILE *file;
  bool is_big_endian, is_wide; /* bytes of numbers; 8 instead of 4 bytes for sizes */
  uint64_t header_size, page_size, n_pages;
} sas_file_t;

static uint64_t number_at(const sas_file_t *sas, const unsigned char *at, size_t n) {
  uint64_t value = 0;
  for (size_t i = 0; i < n; i++) {
    value = value << 8 | at[sas->is_big_endian ? i : n - 1 - i];
  }
  return value;
}

static uint64_t size_at(const sas_file_t *sas, const unsigned char *at) {
  return number_at(sas, at, sas->is_wide ? 8 : 4);
}

/* False where the file is too short, or none of SAS: ReadStat says what is wrong with it. */
static bool read_at(const sas_file_t *sas, uint64_t at, void *to, size_t n) {
  return at <= (uint64_t)INT64_MAX && fseeko(sas->file, (off_t)at, SEEK_SET) == 0 &&
         fread(to, 1, n, sas->file) == n;
}

static bool read_header(sas_file_t *sas) {
  unsigned char header[HEADER];
  if (!read_at(sas, 0, header, sizeof header)) {
    return false;
  }
  size_t pad = header[35] == 0x33 ? 4 : 0;
  sas->is_wide = header[32] == 0x33;
  sas->is_big_endian = header[37] == 0;
  sas->header_size = number_at(sas, header + 196 + pad, 4);
  sas->page_size = number_at(sas, header + 200 + pad, 4);
  sas->n_pages = size_at(sas, header + 204 + pad);
  return sas->header_size >= HEADER && sas->page_size >= 1024;
}

/* The subheader that a pointer leads to counts rows, and some were deleted. */
static bool counts_deleted(const sas_file_t *sas, uint64_t at) {
  static const unsigned char signature[8] = {0xF7, 0xF7, 0xF7, 0xF7};
  unsigned char start[64];
  size_t word = sas->is_wide ? 8 : 4;
  bool is_of_rows = read_at(sas, at, start, 8 * word) &&
                    (memcmp(start, signature, 4) == 0 || memcmp(start + word - 4, signature, 4) == 0);
  return is_of_rows && size_at(sas, start + 7 * word) > 0;
}

static bool page_has_deleted(const sas_file_t *sas, uint64_t page) {
  unsigned char head[40], pointer[24];
  size_t word = sas->is_wide ? 8 : 4, n_head = sas->is_wide ? 40 : 24, n_pointer = 3 * word;
  uint64_t at = sas->header_size + page * sas->page_size;
  if (!read_at(sas, at, head, n_head)) {
    return false;
  }
  uint64_t type = number_at(sas, head + n_head - 8, 2), n = number_at(sas, head + n_head - 4, 2);
  if ((type & PAGE_WITHOUT_POINTERS) == PAGE_WITHOUT_POINTERS) {
    return false;
  }
  if ((type & PAGE_DELETED) != 0) {
    return true;
  }
  n = (type & 0x0F00) == 0x0100 ? 0
      : n < MOST_POINTERS       ? n
                                : MOST_POINTERS; /* a page of data alone has none */
  for (uint64_t i = 0; i < n && n_head + (i + 1) * n_pointer <= sas->page_size; i++) {
    if (!read_at(sas, at + n_head + i * n_pointer, pointer, n_pointer)) {
      return false;
    }
    uint64_t offset = size_at(sas, pointer), length = size_at(sas, pointer + word);
    bool is_there = length >= 8 * word && offset < sas->page_size;
    if ((length > 0 && pointer[2 * word] == ROW_DELETED) ||
        (is_there && pointer[2 * word] == 0 && counts_deleted(sas, at + offset))) {
      return true;
    }
  }
  return false;
}

bool tacit_sas_has_deleted(const char *path) {
  sas_file_t sas = {.file = fopen(path, "rb")};
  bool found = false;
  if (sas.file != NULL && read_header(&sas)) {
    for (uint64_t page = 0; page < sas.n_pages && !found &&
                            sas.header_size + page * sas.page_size <= (uint64_t)INT64_MAX && !feof(sas.file);
         page++) {
      found = page_has_deleted(&sas, page);
    }
  }
  if (sas.file != NULL) {
    fclose(sas.file);
  }
  return found;
}
