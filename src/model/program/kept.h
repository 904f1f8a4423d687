/* A program as it is kept with a fit, in one text: program.stan. Not installed. */
#ifndef TACIT_PROGRAM_KEPT_H
#define TACIT_PROGRAM_KEPT_H

#include "program/program.h"

struct json_t;

/*
 * One line with what the program was fitted with (records, public numbers, labels, the family of a formula or
 * NULL) and its hash, then the text; *kept is owned.
 */
TACIT_MUST_USE tacit_status_t tacit_program_keep(char **kept, const char *text, size_t n,
                                                 const tacit_program_settings_t *settings, const char *family,
                                                 tacit_error_t *err);

typedef struct tacit_program_kept {
  const char *text;       /* borrowed */
  char *family, *records; /* may be NULL */
  tacit_program_constants_t constants;
  tacit_program_label_t *labels; /* shape (n_labels) */
  size_t n_labels;
} tacit_program_kept_t;
/* TACIT_ERR_DATA: the text is not the one that was kept. */
TACIT_MUST_USE tacit_status_t tacit_program_kept_read(tacit_program_kept_t *kept, const char *text,
                                                      tacit_error_t *err);
/* What it was fitted with; borrowed from it. */
tacit_program_settings_t tacit_program_kept_settings(const tacit_program_kept_t *kept,
                                                     const struct tacit_schema *schema);
void tacit_program_kept_clear(tacit_program_kept_t *kept);

/* Add the numbers of a JSON object; `path` is for messages. constants.c */
TACIT_MUST_USE tacit_status_t tacit_program_constants_take(tacit_program_constants_t *constants,
                                                           const struct json_t *root, const char *path,
                                                           tacit_error_t *err);

#endif
