/* A released statistic as YAML, in the form that `tacit infer --statistic` reads. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/number.h"
#include "publish/publish_internal.h"

/* A double-quoted YAML scalar. */
static void put_quoted(tacit_text_t *text, const char *word) {
  tacit_text_printf(text, "\"");
  for (; *word != '\0'; word++) {
    unsigned char c = (unsigned char)*word;
    if (c == '"' || c == '\\') {
      tacit_text_printf(text, "\\%c", c);
    } else if (c < 0x20 || c == 0x7f) {
      tacit_text_printf(text, "\\x%02x", c);
    } else {
      tacit_text_append(text, word, 1);
    }
  }
  tacit_text_printf(text, "\"");
}

static void put_number(tacit_text_t *text, double value) {
  char number[TACIT_NUMBER_SIZE];
  tacit_text_printf(text, "%s", tacit_number_exact(value, number));
}

static void put_numbers(tacit_text_t *text, const char *key, const double *values, size_t n, double unit,
                        bool is_list) {
  tacit_text_printf(text, "%s: %s", key, is_list ? "[" : "");
  for (size_t j = 0; j < n; j++) {
    tacit_text_printf(text, j == 0 ? "" : j % 8 == 0 ? ",\n      " : ", ");
    put_number(text, values[j] / unit);
  }
  tacit_text_printf(text, is_list ? "]\n" : "\n");
}

static void put_levels(tacit_text_t *text, const tacit_column_schema_t *column) {
  static const char *const bits[] = {"0", "1"};
  bool is_binary = column->type == TACIT_COLUMN_BINARY;
  size_t n = is_binary ? 2 : column->n_levels;
  for (size_t l = 0; l < n; l++) {
    tacit_text_printf(text, l == 0 ? "[" : ", ");
    put_quoted(text, is_binary ? bits[l] : column->levels[l]);
  }
  tacit_text_printf(text, "]");
}

/* Names, and for counts the levels too: in the order of the values. */
static void put_columns(tacit_text_t *text, const tacit_publish_t *publish) {
  bool is_counts =
      publish->statistic.kind == TACIT_STATISTIC_COUNTS || publish->statistic.kind == TACIT_STATISTIC_MARGINS;
  tacit_text_printf(text, is_counts ? "factors: {" : "columns: [");
  for (size_t j = 0; j < publish->statistic.n_columns; j++) {
    tacit_text_printf(text, j == 0 ? "" : ", ");
    put_quoted(text, publish->columns[j]->name);
    if (is_counts) {
      tacit_text_printf(text, ": ");
      put_levels(text, publish->columns[j]);
    }
  }
  tacit_text_printf(text, is_counts ? "}\n" : "]\n");
}

static void put_privacy(tacit_text_t *text, const tacit_publish_t *publish) {
  tacit_text_printf(text, "privacy:\n  epsilon: ");
  put_number(text, publish->epsilon);
  tacit_text_printf(text, "\n  delta: ");
  put_number(text, publish->delta);
  tacit_text_printf(text, "\n  relation: %s\n  unit: row\n  is_private: %s\n",
                    tacit_publish_relation(publish), publish->is_seeded ? "false" : "true");
  tacit_text_printf(text, "  dataset: ");
  put_quoted(text, tacit_schema_dataset(publish->schema));
  tacit_text_printf(text, "\n");
}

/* Each table with its columns, in the order of its values. */
static void put_margins(tacit_text_t *text, const tacit_publish_t *publish) {
  const tacit_statistic_t *s = &publish->statistic;
  const double *values = publish->values;
  tacit_text_printf(text, "statistic: margins\n");
  put_columns(text, publish);
  tacit_text_printf(text, "margins:\n");
  for (size_t m = 0; m < s->n_margins; m++) {
    size_t n = 1;
    const char *separator = "  - columns: [";
    for (size_t j = 0; j < s->n_columns; j++) {
      if ((s->margins[m] >> j & 1) != 0) {
        tacit_text_printf(text, "%s", separator);
        put_quoted(text, publish->columns[j]->name);
        n *= s->n_levels[j];
        separator = ", ";
      }
    }
    tacit_text_printf(text, "]\n    ");
    put_numbers(text, "value", values, n, 1, true);
    values += n;
  }
  if (publish->relation == TACIT_RELATION_SUBSTITUTE) {
    tacit_text_printf(text, "n: %zu\n", publish->n);
  }
  tacit_text_printf(text, "mechanism: %s\n", publish->mechanism);
  put_numbers(text, "scale", publish->scales, 1, 1, false);
}

static void put_statistic(tacit_text_t *text, const tacit_publish_t *publish) {
  const tacit_statistic_t *s = &publish->statistic;
  bool is_counts = s->kind == TACIT_STATISTIC_COUNTS, is_score = s->kind == TACIT_STATISTIC_SCORE;
  bool is_products = is_score || s->kind == TACIT_STATISTIC_PRODUCTS;
  bool is_sum = !is_products && (is_counts || s->step > 0);
  double unit =
      is_sum ? 1
             : (double)
                   publish->n; /* means, but on a lattice the sum itself: a mean may have no exact decimals */
  tacit_text_printf(text, "statistic: %s\n",
                    is_score      ? "logistic-score"
                    : is_products ? "regression-moments"
                    : is_counts   ? "counts"
                    : is_sum      ? "sum"
                                  : "mean");
  put_columns(text, publish);
  put_numbers(text, "value", publish->values, tacit_statistic_n_values(s), unit,
              s->kind != TACIT_STATISTIC_SUM);
  if (!is_counts) {
    put_numbers(text, "lower", publish->lower, s->n_columns, 1, is_products);
    put_numbers(text, "upper", publish->upper, s->n_columns, 1, is_products);
  }
  if (s->step > 0) {
    put_numbers(text, "step", &s->step, 1, 1, false);
  }
  tacit_text_printf(text, "n: %zu\nmechanism: %s\n", publish->n, publish->mechanism);
  put_numbers(text, "scale", publish->scales, is_score ? tacit_statistic_n_values(s) : 1, unit, is_score);
}

/* A line of a program: cells row by row, as tacit infer counts them. */
static void put_line(tacit_text_t *text, const tacit_publish_t *publish) {
  size_t n = tacit_statistic_n_values(&publish->statistic);
  tacit_text_printf(text,
                    "# Of the block 'statistic' of a program: tacit infer PROGRAM.stan --statistic "
                    "THIS\nstatistics:\n  %s:\n    mechanism: %s\n    ",
                    publish->line->name, publish->mechanism);
  put_numbers(text, "scale", publish->scales, 1, 1, false);
  tacit_text_printf(text, "    ");
  put_numbers(text, "value", publish->values, n, 1, n > 1);
  tacit_text_printf(text, "n: %zu\n", publish->n);
}

tacit_status_t tacit_publish_render(tacit_publish_t *publish, tacit_error_t *err) {
  tacit_text_t *text = &publish->yaml;
  tacit_text_printf(text, "# Written by tacit %s release. %s\n", tacit_version(),
                    publish->is_seeded
                        ? "NOT PRIVATE: its noise can be repeated by whoever knows the seed."
                        : "Noise included: what is below may be published at the cost stated under privacy.");
  (publish->line != NULL                                ? put_line
   : publish->statistic.kind == TACIT_STATISTIC_MARGINS ? put_margins
                                                        : put_statistic)(text, publish);
  put_privacy(text, publish);
  return text->failed ? tacit_error_memory(err) : TACIT_OK;
}
