/* Columns by names that can stand in a program. Not installed. */
#ifndef TACIT_PROGRAM_IDENTIFIER_H
#define TACIT_PROGRAM_IDENTIFIER_H

#include "program/arena.h"
#include "tacit/data.h"

/*
 * The column that a datum means: of that name; else the one that is spelled so, "body mass" body_mass,
 * "größe" groesse, "2nd" x2nd, what has letters that are not Latin column_K, the K-th of the schema (a number
 * is added to what an earlier column has); else, of "phi_column", phi. NULL: there is none.
 */
const tacit_column_schema_t *tacit_identifier_column(const tacit_schema_t *schema, const char *name);
/*
 * A name that tacit_identifier_column() takes for the column and is_taken() has nothing against (NULL: but
 * words of the language). NULL: there is none, or no memory (arena->failed).
 */
const char *tacit_identifier_of(tacit_arena_t *arena, const tacit_schema_t *schema,
                                const tacit_column_schema_t *column,
                                bool (*is_taken)(const void *user, const char *name), const void *user);

#endif
