/* Labels and Stan CSV names of reported quantities. Not installed. */
#ifndef TACIT_NAMES_H
#define TACIT_NAMES_H

#include "tacit/base.h"

typedef struct tacit_names {
  const char **labels, **names; /* owned texts, shape (n) */
  size_t n, capacity;
  size_t *slots, n_slots; /* open addressing: index + 1 of the name, 0 if free; n_slots a power of 2 */
} tacit_names_t;

/* Room for `capacity` quantities. Clear in either case. */
TACIT_MUST_USE tacit_status_t tacit_names_init(tacit_names_t *names, size_t capacity, tacit_error_t *err);
void tacit_names_clear(tacit_names_t *names);
/* Add a quantity; a name that is taken gets the suffix _2, _3, ... */
TACIT_MUST_USE tacit_status_t tacit_names_add(tacit_names_t *names, const char *label, const char *name,
                                              tacit_error_t *err);
/*
 * Add a coefficient: "age:sexM" is named b_age_sexM; of class "B" (NULL: none) it is labelled
 * "[B] age:sexM" and named b_B_age_sexM. What is not a letter or digit becomes one '_'. Latin letters
 * with marks (U+00C0 to U+017F) lose them: "größe", "café" give groesse, cafe.
 */
TACIT_MUST_USE tacit_status_t tacit_names_add_coefficient(tacit_names_t *names, const char *class_label,
                                                          const char *label, tacit_error_t *err);
/* Is `name` legal in Stan CSV: [A-Za-z][A-Za-z0-9_]*, no "__", then indices ".1.2"? */
bool tacit_name_is_legal(const char *name);

#endif
