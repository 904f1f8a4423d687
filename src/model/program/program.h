/**
 * @file program.h
 * Record programs: models written in a subset of Stan's language (docs/language.md), for one record or for
 * arrays of records whose record axis is taken off.
 *
 * A program is public: it knows the schema, and no record.
 */
#ifndef TACIT_PROGRAM_H
#define TACIT_PROGRAM_H

#include "tacit/base.h"
#include "tacit/model.h"

struct tacit_schema;
struct tacit_table;
struct tacit_records;
struct tacit_model;

/** A parsed, checked and unrolled program. */
typedef struct tacit_program tacit_program_t;

/** A public number, or several: a datum of the program by its name, row by row; or, n == 1, a function of all
 * records: "mean(x)". */
typedef struct tacit_program_constant {
  const char *name;
  const double *values; /**< shape (n) */
  size_t n;
  bool is_public; /**< somebody said so: outcomes, which are no records then */
} tacit_program_constant_t;

/** Numbers of one name that may be given without a word that they are public: knots, cut points, scales of
 * priors are fewer, records are more. */
enum { TACIT_PROGRAM_MOST_CONSTANTS = 16 };

/** Public numbers as they are collected; zeroed, then cleared. */
typedef struct tacit_program_constants {
  tacit_program_constant_t *items;
  size_t n, capacity;
} tacit_program_constants_t;

/** Add "NAME=V" or "NAME=V,V,..."; TACIT_ERR_ARGUMENT if it is none. */
TACIT_MUST_USE tacit_status_t tacit_program_constants_set(tacit_program_constants_t *constants,
                                                          const char *text, tacit_error_t *err);
/** Add the numbers and (nested) arrays of numbers of a JSON object in a file. TACIT_ERR_SYNTAX; as reading a
 * file. */
TACIT_MUST_USE tacit_status_t tacit_program_constants_read(tacit_program_constants_t *constants,
                                                           const char *path, tacit_error_t *err);
/** Say that the numbers given under a name are public; TACIT_ERR_ARGUMENT if none are. */
TACIT_MUST_USE tacit_status_t tacit_program_constants_public(tacit_program_constants_t *constants,
                                                             const char *name, tacit_error_t *err);
/** TACIT_ERR_ARGUMENT where more than TACIT_PROGRAM_MOST_CONSTANTS numbers of one name were not said to be
 * public: they stand in what is written. */
TACIT_MUST_USE tacit_status_t tacit_program_constants_check(const tacit_program_constants_t *constants,
                                                            tacit_error_t *err);
void tacit_program_constants_clear(tacit_program_constants_t *constants);

/** What a reported value is shown as: "log(flc)" in place of "b_log_flc". */
typedef struct tacit_program_label {
  const char *name; /**< as the program has it, with indices "mu.1" */
  const char *label;
} tacit_program_label_t;

typedef struct tacit_program_settings {
  /** Columns of records, by name; NULL: the language alone is checked, sizes and public data being taken as
   * given. Borrowed. */
  const struct tacit_schema *schema;
  /** The int datum that counts records; NULL: the first size of what has a density; "": none, data are those
   * of one record. */
  const char *records;
  const tacit_program_constant_t *constants; /**< shape (n_constants); borrowed during the call */
  size_t n_constants;
  bool keeps_responses; /**< packed records also hold what other responses are made from
                           (tacit_record_model_t.others) */
  bool keeps_columns;   /**< with that: and every column as it is, for tacit_program_packed() */
  /** Censored responses: nobody was lost before the upper bound of the response's column, which is public
   * knowledge. */
  bool is_followed_to_bound;
  /**
   * Reported values that have labels of their own, in the order in which they stand, before all others; shape
   * (n_labels), borrowed during the call. Names that the program has not are passed over. Another value that
   * would have the same label has it in parentheses, "(sigma)".
   */
  const tacit_program_label_t *labels;
  size_t n_labels;
} tacit_program_settings_t;

/**
 * Parse n bytes of program text and unroll it to one expression of a record and one prior.
 *
 * @param[out] program  owned; free with tacit_program_free().
 * @return TACIT_ERR_SYNTAX: "line L: reason", the line and a caret; TACIT_ERR_SCHEMA, TACIT_ERR_UNKNOWN:
 * program and schema disagree; TACIT_ERR_MEMORY.
 */
TACIT_MUST_USE tacit_status_t tacit_program_parse(tacit_program_t **program, const char *text, size_t n,
                                                  const tacit_program_settings_t *settings,
                                                  tacit_error_t *err);
/** The same with the text of a file, whose name stands before the message. */
TACIT_MUST_USE tacit_status_t tacit_program_read(tacit_program_t **program, const char *path,
                                                 const tacit_program_settings_t *settings,
                                                 tacit_error_t *err);
void tacit_program_free(tacit_program_t *program);

/** The datum that counts records, or NULL: the program is of one record. */
const char *tacit_program_records(const tacit_program_t *program);
/** Unconstrained parameters. */
size_t tacit_program_n_parameters(const tacit_program_t *program);
/** Name of the declaration that unconstrained parameter j belongs to. */
const char *tacit_program_parameter(const tacit_program_t *program, size_t j);
/** Reported values: parameters, transformed parameters and generated quantities that no column enters, in
 * Stan's order. */
size_t tacit_program_n_reported(const tacit_program_t *program);
const char *tacit_program_label(const tacit_program_t *program, size_t i); /**< "mu[1]" */
const char *tacit_program_name(const tacit_program_t *program, size_t i);  /**< "mu.1" */
/** Columns of the table that records are made of, without repetition; shape (*n). Borrowed. */
const char *const *tacit_program_columns(const tacit_program_t *program, size_t *n);
/** What was left out, each with its line and a caret: generated quantities that look at records. */
size_t tacit_program_n_notes(const tacit_program_t *program);
const char *tacit_program_note(const tacit_program_t *program, size_t i);

/**
 * Differentiate, bound and translate. The model borrows the program, and its records have the columns that
 * tacit_program_pack() writes. TACIT_ERR_ARGUMENT for a program beyond the limits.
 */
TACIT_MUST_USE tacit_status_t tacit_program_compile(tacit_program_t *program, struct tacit_model *model,
                                                    tacit_error_t *err);
/**
 * Do two compiled programs say the same of records? Their priors and what they report may differ. The same
 * parameters, columns and expressions, in the same order, are the same; that two texts mean the same, is not
 * found out.
 * @return TACIT_ERR_DATA if they do not, or seem not to: says what differs.
 */
TACIT_MUST_USE tacit_status_t tacit_program_compare_records(const tacit_program_t *a,
                                                            const tacit_program_t *b, tacit_error_t *err);
/**
 * Pack part `part` of n_parts of a table's rows for the model, as tacit_design_pack_part() does: columns by
 * name, moved into their bounds, and what is derived from them, once. After tacit_program_compile().
 */
TACIT_MUST_USE tacit_status_t tacit_program_pack_part(struct tacit_records **records,
                                                      const tacit_program_t *program,
                                                      const struct tacit_table *table, size_t part,
                                                      size_t n_parts, size_t n_threads, const char *scratch,
                                                      tacit_error_t *err);

/**
 * Where packed records hold a column of the table: its value is the sum of factors[i] times column
 * columns[i], less *offset. Of a program with responses and keeps_columns.
 * @param[out] columns, factors  shape (most).
 * @return how many of them; 0: no record of the program has the column, or they are more than `most`.
 */
size_t tacit_program_packed(const tacit_program_t *program, const char *column, size_t most, size_t *columns,
                            double *factors, double *offset);

/* ---- a population: the distribution of records that nobody has, and what was summed over them ---- */

/**
 * A program of one record with a block 'statistic' (docs/language.md): log f(x | theta) of a record x, in
 * double precision and with all that is free of parameters; the prior; and what the statistics see of a
 * record, in numbers called marks.
 */
typedef struct tacit_population tacit_population_t;

/** A number of the record. */
typedef struct tacit_population_column {
  const char *name;
  bool is_integer;
  double lower, upper; /**< as declared; infinite where they are not */
} tacit_population_column_t;

/** What was released: the sum over the records of its marks, or how many have each value of them together. */
typedef struct tacit_population_statistic {
  const char *name;
  bool is_count;
  bool is_integer;            /**< sums: of whole numbers */
  size_t n_values;            /**< sums: marks; counts: cells, the last factor fastest */
  size_t first_mark, n_marks; /**< its marks among all */
  const char *const *
      factors; /**< counts: name of each mark, its least value, and how many values it has; shape (n_marks) */
  const double *first;
  const size_t *extents;
  /**
   * A quantile, which is a count of one value: its cells, extents[0] of them, are the numbers below the first
   * candidate, from it to the second, and so on. `candidates`: shape (extents[0] - 1), rising.
   */
  bool is_quantile;
  double quantile; /**< in (0, 1) */
  const double *candidates;
} tacit_population_statistic_t;

/** As tacit_program_parse(), of what is to be known without records: data that are not among `constants` are
 * numbers of a record. */
TACIT_MUST_USE tacit_status_t tacit_population_parse(tacit_population_t **population, const char *text,
                                                     size_t n, const tacit_program_constant_t *constants,
                                                     size_t n_constants, tacit_error_t *err);
void tacit_population_free(tacit_population_t *population);

const tacit_population_column_t *tacit_population_columns(const tacit_population_t *population, size_t *n);
const tacit_population_statistic_t *tacit_population_statistics(const tacit_population_t *population,
                                                                size_t *n);
size_t tacit_population_n_marks(const tacit_population_t *population);
/** As those of programs: unconstrained parameters, and what is reported. */
size_t tacit_population_n_parameters(const tacit_population_t *population);
size_t tacit_population_n_reported(const tacit_population_t *population);
const char *tacit_population_label(const tacit_population_t *population, size_t i);
const char *tacit_population_name(const tacit_population_t *population, size_t i);

/** What a thread works with. */
typedef struct tacit_population_workspace tacit_population_workspace_t;
TACIT_MUST_USE tacit_status_t tacit_population_workspace_new(tacit_population_workspace_t **workspace,
                                                             const tacit_population_t *population,
                                                             tacit_error_t *err);
void tacit_population_workspace_free(tacit_population_workspace_t *workspace);

/**
 * Sixteen records at a time.
 *
 * @param[in]  theta    shape (n_parameters), unconstrained.
 * @param[in]  x        shape (n_columns, 16).
 * @param[out] log_lik  shape (16): log f(x | theta).
 * @param[out] grad     shape (n_parameters, 16): its derivatives by theta; NULL: not wanted.
 */
void tacit_population_log_lik(tacit_population_workspace_t *workspace, const double *theta, const double *x,
                              double *log_lik, double *grad);
/** Marks of sixteen records, shape (n_marks, 16). */
void tacit_population_marks(tacit_population_workspace_t *workspace, const double *x, double *marks);
/** Intervals that hold the marks of every record with x[j] in [box[2 j], box[2 j + 1]]: shape (n_marks, 2).
 * Infinite ends are allowed. */
void tacit_population_mark_ranges(tacit_population_workspace_t *workspace, const double *box, double *ranges);
/** Log prior of unconstrained theta, and its gradient, shape (n_parameters), or NULL. */
double tacit_population_log_prior(tacit_population_workspace_t *workspace, const double *theta, double *grad);
/**
 * Records as functions of base numbers: independent of each other and of theta, standard normal or uniform on
 * (0, 1). NULL where every number of a record has one statement `outcome ~ distribution(..)` that can be
 * turned around, and nothing else is said of it; else why not, borrowed.
 */
const char *tacit_population_obstacle(const tacit_population_t *population);
bool tacit_population_base_is_normal(const tacit_population_t *population, size_t column);
/** x of base numbers, both shape (n_columns, 16). false: some x is beyond its declared bounds, or no number.
 */
bool tacit_population_make(tacit_population_workspace_t *workspace, const double *theta, const double *base,
                           double *x);
/**
 * Base numbers of x; a whole number has many: v, uniform, shape (n_columns, 16), says which. false:
 * probabilities of whole numbers that end at an upper bound do not add up to 1.
 */
bool tacit_population_unmake(tacit_population_workspace_t *workspace, const double *theta, const double *x,
                             const double *v, double *base);
void tacit_population_report(tacit_population_workspace_t *workspace, const double *theta, double *reported);

/** One function of the library. */
typedef struct tacit_program_entry {
  const char *name;      /**< "normal", "log1p" */
  const char *arguments; /**< "mu, sigma" */
  const char *summary;   /**< a few words, or "" */
  bool is_distribution;
} tacit_program_entry_t;

/** Distributions, then functions, by name. */
typedef struct tacit_program_library {
  const tacit_program_entry_t *entries; /**< shape (n) */
  size_t n;
  void *owner;
} tacit_program_library_t;

/** Fill; clear in either case. */
TACIT_MUST_USE tacit_status_t tacit_program_library_init(tacit_program_library_t *library,
                                                         tacit_error_t *err);
void tacit_program_library_clear(tacit_program_library_t *library);
#endif
