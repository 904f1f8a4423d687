/* A program that has been unrolled. Not installed. */
#ifndef TACIT_PROGRAM_LANGUAGE_H
#define TACIT_PROGRAM_LANGUAGE_H

#include "program/arena.h"
#include "program/graph.h"
#include "program/program.h"

struct tacit_program {
  tacit_arena_t arena;  /* everything below but the graph */
  tacit_graph_t *graph; /* NULL once it is compiled */
  struct tacit_compiled *compiled;
  const char *records;
  const char **parameters, **labels, **names;
  size_t n_parameters, n_reported;
  const char **columns;
  size_t n_columns;
  char **notes;
  size_t n_notes;
};

/* The text of the library, library.stan. */
extern const char tacit_library[];
extern const unsigned long tacit_library_size;

#endif
