/*
 * A request as text: public, one line a fact, numbers by as few digits as give them back.
 *
 *     tacit-request 1
 *     print 5d0c...          of the settings and the version, so that parts of another fit refuse
 *     label weighted score
 *     multiplier 12.5
 *     values 3
 *     part theta 3 0.1 0.2 -0.3
 *     end
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <sodium.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/number.h"
#include "fit/fit_internal.h"

enum { MAX_NUMBERS = 1 << 20 };

static const char magic[] = "tacit-request 1";

static void put_hex(tacit_text_t *text, const unsigned char print[TACIT_FIT_PRINT]) {
  char hex[2 * TACIT_FIT_PRINT + 1];
  sodium_bin2hex(hex, sizeof hex, print, TACIT_FIT_PRINT);
  tacit_text_printf(text, "print %s\n", hex);
}

bool tacit_fit_request_write(const tacit_kept_release_t *release, const unsigned char print[TACIT_FIT_PRINT],
                             tacit_text_t *text) {
  char number[TACIT_NUMBER_SIZE];
  tacit_text_printf(text, "%s\n", magic);
  put_hex(text, print);
  tacit_text_printf(text, "label %s\nmultiplier %s\nvalues %zu\n", release->label,
                    tacit_number_exact(release->noise_multiplier, number), release->n_values);
  for (size_t i = 0; i < release->n_parts; i++) {
    const tacit_release_part_t *part = &release->at[i];
    tacit_text_printf(text, "part %s %zu", part->name, part->n);
    for (size_t j = 0; j < part->n; j++) {
      tacit_text_printf(text, " %s", tacit_number_exact(part->values[j], number));
    }
    tacit_text_printf(text, "\n");
  }
  tacit_text_printf(text, "end\n");
  return !text->failed;
}

/* ---- reading ---- */

typedef struct reader {
  const char *at;
  bool is_fine;
} reader_t;

/* What comes next must be this. */
static void expect(reader_t *r, const char *text) {
  size_t n = strlen(text);
  r->is_fine = r->is_fine && strncmp(r->at, text, n) == 0;
  r->at += r->is_fine ? n : 0;
}

/* Up to one of the letters that end it, which is passed; false where it is too long or empty. */
static void read_word(reader_t *r, char end, char *word, size_t size) {
  size_t n = strcspn(r->at, end == '\n' ? "\n" : " \n");
  r->is_fine = r->is_fine && n > 0 && n < size && r->at[n] == end;
  if (r->is_fine) {
    memcpy(word, r->at, n);
    word[n] = '\0';
    r->at += n + 1;
  }
}

/* A number, up to the next space or end of line, which stays. */
static double read_number(reader_t *r) {
  double value = 0;
  size_t n = strcspn(r->at, " \n");
  r->is_fine = r->is_fine && n > 0 && tacit_number_parse(r->at, n, &value);
  r->at += r->is_fine ? n : 0;
  return value;
}

static size_t read_count(reader_t *r, size_t most) {
  double value = read_number(r);
  r->is_fine = r->is_fine && value >= 0 && value <= (double)most && (double)(size_t)value >= value;
  return r->is_fine ? (size_t)value : 0;
}

/* The next part's numbers are put behind those before; *n_numbers: of all so far. */
static void read_part(reader_t *r, tacit_kept_release_t *release, double *numbers, size_t workspace,
                      size_t *n_numbers) {
  r->is_fine = r->is_fine && release->n_parts < TACIT_RELEASE_MAX_PARTS;
  if (!r->is_fine) {
    return;
  }
  tacit_release_part_t *part = &release->at[release->n_parts++];
  expect(r, "part ");
  read_word(r, ' ', part->name, sizeof part->name);
  part->n = read_count(r, workspace - *n_numbers);
  part->values = numbers + *n_numbers;
  for (size_t i = 0; i < part->n && r->is_fine; i++) {
    expect(r, " ");
    numbers[(*n_numbers)++] = read_number(r);
  }
  expect(r, "\n");
}

tacit_status_t tacit_fit_request_read(const char *text, const unsigned char print[TACIT_FIT_PRINT],
                                      tacit_kept_release_t *release, double **numbers, tacit_error_t *err) {
  char hex[2 * TACIT_FIT_PRINT + 1], own[2 * TACIT_FIT_PRINT + 1];
  size_t workspace = strlen(text) / 2 + 1, n_numbers = 0; /* a number and a space */
  reader_t r = {text, workspace <= MAX_NUMBERS * (size_t)TACIT_NUMBER_SIZE};
  *release = (tacit_kept_release_t){0};
  *numbers = NULL;
  expect(&r, magic);
  expect(&r, "\nprint ");
  read_word(&r, '\n', hex, sizeof hex);
  if (!r.is_fine) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "request",
                           "no request for a sum, or one of another version: it begins with '%s'", magic);
  }
  sodium_bin2hex(own, sizeof own, print, TACIT_FIT_PRINT);
  if (strcmp(hex, own) != 0) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "request",
                           "the request is of a fit with other settings, another schema or program, or by "
                           "another version of tacit than this one, %s",
                           TACIT_VERSION);
  }
  *numbers = tacit_alloc(workspace, sizeof **numbers);
  if (*numbers == NULL) {
    return tacit_error_memory(err);
  }
  expect(&r, "label ");
  read_word(&r, '\n', release->label, sizeof release->label);
  expect(&r, "multiplier ");
  release->noise_multiplier = read_number(&r);
  expect(&r, "\nvalues ");
  release->n_values = read_count(&r, MAX_NUMBERS);
  expect(&r, "\n");
  while (r.is_fine && *r.at == 'p') {
    read_part(&r, release, *numbers, workspace, &n_numbers);
  }
  expect(&r, "end\n");
  if (!r.is_fine || *r.at != '\0') {
    tacit_free(*numbers);
    *numbers = NULL;
    return tacit_error_set(err, TACIT_ERR_SYNTAX, "request",
                           "the request is cut off or damaged, %zu bytes from its beginning",
                           (size_t)(r.at - text));
  }
  return TACIT_OK;
}
