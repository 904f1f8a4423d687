/* Files of SAS, SPSS and Stata by ReadStat's own writer. */
#ifndef TACIT_TESTS_STAT_TESTING_H
#define TACIT_TESTS_STAT_TESTING_H

#include <readstat.h>
#include <stdio.h>
#include <string.h>

/* Visits of persons: a number, a labelled code, a yes or no, a date, whose it is (a text and a number). */
typedef struct visit {
  double age; /* NaN: missing; -99: missing by the user's rule, where the format has such */
  int sex;    /* 1: F, 2: M */
  int ill;
  double date; /* days since 1970-01-01 */
  int who;
} visit_t;

typedef struct stat_kind {
  const char *ending;
  readstat_error_t (*begin)(readstat_writer_t *writer, void *user, long n);
  const char *date_format;
  double per_day, epoch; /* of the date's numbers; epoch in days since 1970-01-01 */
  int has_labels, has_ranges;
  char tag;     /* of missing values */
  int is_plain; /* names are of upper case */
} stat_kind_t;

static const stat_kind_t stat_kinds[] = {
    {"sas7bdat", readstat_begin_writing_sas7bdat, "DATE9", 1, -3653, 0, 0, 0, 0},
    {"xpt", readstat_begin_writing_xport, "DATETIME20", 86400, -3653, 0, 0, 'A', 0},
    {"sav", readstat_begin_writing_sav, "DATETIME20", 86400, -141428, 1, 1, 0, 0},
    {"por", readstat_begin_writing_por, "DATE11", 86400, -141428, 1, 1, 0, 1},
    {"dta", readstat_begin_writing_dta, "%td", 1, -3653, 1, 0, 'a', 0}};
enum { N_STAT_KINDS = sizeof stat_kinds / sizeof *stat_kinds };

static inline ssize_t write_stat_bytes(const void *data, size_t n, void *user) {
  return (ssize_t)fwrite(data, 1, n, user);
}

/* 0 if all went well. */
static inline int write_stat(const stat_kind_t *kind, const char *path, const visit_t *visits, long n) {
  FILE *out = fopen(path, "wb");
  readstat_writer_t *writer = readstat_writer_init();
  readstat_set_data_writer(writer, write_stat_bytes);
  static const char *const lower[] = {"age", "sex", "ill", "day", "who", "no"}, *const upper[] = {
                                                                                    "AGE", "SEX", "ILL",
                                                                                    "DAY", "WHO", "NO"};
  const char *const *names = kind->is_plain ? upper : lower;
  readstat_variable_t *variables[6];
  for (int i = 0; i < 6; i++) {
    readstat_type_t type = i == 4 ? READSTAT_TYPE_STRING : READSTAT_TYPE_DOUBLE;
    variables[i] = readstat_add_variable(writer, names[i], type, i == 4 ? 24 : 8);
  }
  readstat_variable_set_format(variables[3], kind->date_format);
  readstat_variable_set_label(variables[0], "Age in years");
  if (strcmp(kind->ending, "sas7bdat") == 0 || strcmp(kind->ending, "xpt") == 0) {
    readstat_variable_set_format(variables[1], "SEXES8"); /* labels of a SAS file are in a catalogue */
  }
  if (kind->has_labels) {
    int is_stata = strcmp(kind->ending, "dta") == 0;
    readstat_label_set_t *set =
        readstat_add_label_set(writer, is_stata ? READSTAT_TYPE_INT32 : READSTAT_TYPE_DOUBLE, "SEXES");
    for (int code = 1; code <= 2; code++) {
      if (is_stata) {
        readstat_label_int32_value(set, code, code == 1 ? "F" : "M");
      } else {
        readstat_label_double_value(set, code, code == 1 ? "F" : "M");
      }
    }
    readstat_variable_set_label_set(variables[1], set);
  }
  if (kind->has_ranges) {
    readstat_variable_add_missing_double_value(variables[0], -99);
  }
  int failed = kind->begin(writer, out, n) != READSTAT_OK;
  for (long i = 0; i < n && !failed; i++) {
    char who[24];
    const visit_t *visit = &visits[i];
    snprintf(who, sizeof who, "M\xC3\xBCller %d", visit->who);
    failed = readstat_begin_row(writer) != READSTAT_OK;
    int is_missing = visit->age != visit->age || (visit->age == -99 && !kind->has_ranges);
    failed = failed ||
             (is_missing ? kind->tag && i % 2
                               ? readstat_insert_tagged_missing_value(writer, variables[0], kind->tag)
                               : readstat_insert_missing_value(writer, variables[0])
                         : readstat_insert_double_value(writer, variables[0], visit->age)) != READSTAT_OK;
    failed = failed || readstat_insert_double_value(writer, variables[1], visit->sex) != READSTAT_OK;
    failed = failed || readstat_insert_double_value(writer, variables[2], visit->ill) != READSTAT_OK;
    failed = failed || readstat_insert_double_value(
                           writer, variables[3], (visit->date - kind->epoch) * kind->per_day) != READSTAT_OK;
    failed = failed || readstat_insert_string_value(writer, variables[4], kind->is_plain ? who + 4 : who) !=
                           READSTAT_OK;
    failed = failed || readstat_insert_double_value(writer, variables[5], visit->who) != READSTAT_OK;
    failed = failed || readstat_end_row(writer) != READSTAT_OK;
  }
  failed = readstat_end_writing(writer) != READSTAT_OK || failed;
  readstat_writer_free(writer);
  return fclose(out) != 0 || failed;
}

/* The catalogue of a SAS file of visits, and of others. 0 if all went well. */
static inline int write_catalog(const char *path) {
  FILE *out = fopen(path, "wb");
  readstat_writer_t *writer = readstat_writer_init();
  readstat_set_data_writer(writer, write_stat_bytes);
  readstat_label_set_t *sexes = readstat_add_label_set(writer, READSTAT_TYPE_DOUBLE, "SEXES"),
                       *others = readstat_add_label_set(writer, READSTAT_TYPE_DOUBLE, "OTHERS");
  readstat_label_double_value(sexes, 1, "F");
  readstat_label_double_value(sexes, 2, "M");
  readstat_label_double_value(others, 1, "elsewhere");
  int failed = readstat_begin_writing_sas7bcat(writer, out) != READSTAT_OK;
  failed = readstat_end_writing(writer) != READSTAT_OK || failed;
  readstat_writer_free(writer);
  return fclose(out) != 0 || failed;
}

/* The visit of row i of a file that is the same on every machine. */
static inline visit_t visit_of(long i) {
  visit_t visit = {.age = (double)(i * 7919 % 9000) / 64,
                   .sex = 1 + (int)(i * 31 % 47 % 2),
                   .ill = (int)(i * 17 % 29 % 2),
                   .date = (double)(10957 + i * 13 % 5000),
                   .who = (int)(i * 104729 % 60007 % (1 + i / 3 + 20))};
  visit.age = i % 19 == 3 ? 0.0 / 0.0 : i % 23 == 5 ? -99 : visit.age;
  return visit;
}

#endif
