/* Labels and Stan CSV names of reported quantities. Not installed. */
#ifndef TACIT_NAMES_H
#define TACIT_NAMES_H

#include "base/text.h"

struct tacit_design;

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
 * with marks (U+00C0 to U+017F) lose them: "größe", "café" give groesse, cafe. "s" is b_s_2, since programs
 * sample b_s.
 */
TACIT_MUST_USE tacit_status_t tacit_names_add_coefficient(tacit_names_t *names, const char *class_label,
                                                          const char *label, tacit_error_t *err);
/* Append a label so spelled, without '_' at its end. False: it has letters that are none of Latin, or signs
 * beyond ASCII. */
bool tacit_name_append_plain(tacit_text_t *name, const char *label);
/*
 * Labels of terms, each its own: where two are the same, levels are written apart, "sex[M]" for "sexM"
 * (apart[i]; NULL: it has no levels). A column thus keeps its name. *twice <- a place whose label is still
 * another's, or SIZE_MAX.
 */
TACIT_MUST_USE tacit_status_t tacit_names_part(size_t n, const char **labels, const char *const *apart,
                                               size_t *twice, tacit_error_t *err);
/* Is it one of the labels? What is no term, and would have a term's label, is written in parentheses:
 * "(Intercept)", "(sigma)". */
bool tacit_names_have(size_t n, const char *const *labels, const char *label);
/* What a gaussian's sd is called beside a design's features: "sigma", or "(sigma)" where a column is called
 * sigma. Static. */
const char *tacit_design_sigma_label(const struct tacit_design *design);
/* Is `name` legal in Stan CSV: [A-Za-z][A-Za-z0-9_]*, no "__", then indices ".1.2"? */
bool tacit_name_is_legal(const char *name);

#endif
