/* A program's data: columns of the schema by name, public constants. Not installed. */
#ifndef TACIT_PROGRAM_BIND_H
#define TACIT_PROGRAM_BIND_H

#include "program/lower.h"
#include "program/program.h"

typedef struct tacit_bind {
  tacit_lower_t *lower;
  const tacit_program_settings_t *settings;
  double assumed_size; /* without a schema */
  tacit_outside_t outside;
} tacit_bind_t;

/* Fill bind->outside, which lower->outside may then be. */
void tacit_bind_init(tacit_bind_t *bind, tacit_lower_t *lower, const tacit_program_settings_t *settings,
                     double assumed_size);

#endif
