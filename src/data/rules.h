/* The rules of the schema for one column, applied to values wherever they come from. Not installed. */
#ifndef TACIT_DATA_RULES_H
#define TACIT_DATA_RULES_H

#include "data/data_internal.h"

/* What is wrong with a value: fixed words, so that no message can hold anything of it. NULL: nothing is. */
typedef const char *tacit_complaint_t;
static const char tacit_complaint_no_unit[] = "a row without its unit of privacy";

/* The levels by text; their places are those in the schema, which holds no level twice. Clear in either case. */
TACIT_MUST_USE tacit_status_t tacit_rule_init(tacit_rule_t *rule, const tacit_column_schema_t *schema, tacit_error_t *err);
void tacit_rule_clear(tacit_rule_t *rule);

/* Each sets *value; `counts`: whether notes are taken, as of the rows that are kept. */
tacit_complaint_t tacit_rule_missing(tacit_rule_t *rule, bool counts, double *value);
/* Numeric, integer and binary columns; NaN is missing. */
tacit_complaint_t tacit_rule_number(tacit_rule_t *rule, double number, bool counts, double *value);
/* A field of a CSV file; empty and NA are missing. */
tacit_complaint_t tacit_rule_text(tacit_rule_t *rule, const char *text, size_t n, bool counts, double *value);

#endif
