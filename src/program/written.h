/* A formula as a program, with what its coefficients are called. Not installed. */
#ifndef TACIT_PROGRAM_WRITTEN_H
#define TACIT_PROGRAM_WRITTEN_H

#include "model/names.h"
#include "tacit/data.h"
#include "tacit/program.h"

typedef struct tacit_written {
  char *text;          /* owned */
  tacit_names_t names; /* of coefficients on the scale of the columns: labels as of all formulas, names as the program has them */
} tacit_written_t;

/* As tacit_program_of_formula(); clear in either case. */
TACIT_MUST_USE tacit_status_t tacit_written_new(tacit_written_t *written, const char *formula, const char *family, const tacit_schema_t *schema,
                                                tacit_error_t *err);
void tacit_written_clear(tacit_written_t *written);

#endif
