/* Files as memory. Not installed. */
#ifndef TACIT_BASE_MAPPING_H
#define TACIT_BASE_MAPPING_H

#include "tacit/base.h"

typedef struct tacit_mapping {
  char *data; /* NULL where there is nothing */
  size_t size;
} tacit_mapping_t;

/* An existing file of exactly `size` bytes, to be read; TACIT_ERR_DATA if it is no plain file of that size.
 */
TACIT_MUST_USE tacit_status_t tacit_mapping_open(tacit_mapping_t *mapping, const char *path, size_t size,
                                                 tacit_error_t *err);
/* A new file of `size` zeros for its owner's eyes only, all of its room on the disk taken. */
TACIT_MUST_USE tacit_status_t tacit_mapping_create(tacit_mapping_t *mapping, const char *path, size_t size,
                                                   tacit_error_t *err);
/* The same in a folder, without a name: its room is free again when the mapping or the program ends. */
TACIT_MUST_USE tacit_status_t tacit_mapping_scratch(tacit_mapping_t *mapping, const char *folder, size_t size,
                                                    tacit_error_t *err);
/* Bytes [from, to) are needed soon; are not needed soon, what is near them included. Contents stay as they
 * are. */
void tacit_mapping_need(const tacit_mapping_t *mapping, size_t from, size_t to);
void tacit_mapping_drop(const tacit_mapping_t *mapping, size_t from, size_t to);
void tacit_mapping_close(tacit_mapping_t *mapping);

#endif
