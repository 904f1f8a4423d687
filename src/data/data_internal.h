#ifndef TACIT_DATA_INTERNAL_H
#define TACIT_DATA_INTERNAL_H

#include <zlib.h>

#include "base/text.h"
#include "data/encoding.h"
#include "data/records.h"
#include "tacit/arrow.h"

/* One field of a CSV record; text is valid until the next record is read, and is not NUL-terminated. */
typedef struct tacit_csv_field {
  const char *text;
  size_t n;
  size_t line, column; /* where it begins in the file, both from 1; columns in bytes */
} tacit_csv_field_t;

/*
 * A streaming reader of comma- or tab-separated files, plain or gzipped [RFC 4180]. Ours rather than a
 * library's because every message names line and column of the physical file, and because it must not hold
 * the text.
 */
typedef struct tacit_csv {
  char *path;
  gzFile file;
  tacit_recoder_t *recoder; /* NULL: the file is UTF-8 */
  char *buffer;
  const char *next, *end; /* unread bytes of the buffer */
  char separator;
  bool ends_plain[256]; /* bytes that end an unquoted field, or may not be in one */
  size_t line, column;  /* of the next byte */
  tacit_text_t text;    /* the record's fields, one after another */
  tacit_csv_field_t *fields;
  size_t *starts; /* offsets of the fields in text, while it may still move */
  size_t n_fields, capacity;
  bool at_end;
} tacit_csv_t;

/*
 * Open and choose the separator from the first line: that of comma, tab, semicolon and | which it has most
 * often, outside of quotation marks; or `separator`, if it is not '\0'. `encoding` is one that was checked;
 * NULL: UTF-8, or UTF-16 where the file begins with its byte-order mark. Files that are known not to be text
 * are named as what they are.
 */
TACIT_MUST_USE tacit_status_t tacit_csv_open(tacit_csv_t *csv, const char *path, const char *encoding,
                                             char separator, tacit_error_t *err);
/* What the first n bytes of a file say that it is, in words that go on a sentence, with what reads it; NULL:
 * they say nothing. */
const char *tacit_file_kind(const char *bytes, size_t n);
/* The character that "," or "tab" stands for; NULL is '\0'. */
TACIT_MUST_USE tacit_status_t tacit_delimiter_parse(const char *text, char *delimiter, tacit_error_t *err);
/* Read the next record; csv->n_fields == 0 at the end of the file. */
TACIT_MUST_USE tacit_status_t tacit_csv_read(tacit_csv_t *csv, tacit_error_t *err);
void tacit_csv_close(tacit_csv_t *csv);
/* Set an error "path:line:column: ..." for a field. */
tacit_status_t tacit_csv_error(const tacit_csv_t *csv, const tacit_csv_field_t *at, tacit_status_t status,
                               tacit_error_t *err, const char *format, ...) TACIT_PRINTF(5, 6);

/* Texts, each with its place in the order of first appearance. */
typedef struct tacit_dictionary_entry {
  size_t start, length; /* in texts */
} tacit_dictionary_entry_t;

typedef struct tacit_dictionary_slot {
  uint64_t hash;
  size_t entry; /* from 1; 0 is an empty slot */
} tacit_dictionary_slot_t;

typedef struct tacit_dictionary {
  tacit_text_t texts;
  tacit_dictionary_entry_t *entries;
  size_t n_entries;
  tacit_dictionary_slot_t *slots; /* open addressing, at most half full; a power of two */
  size_t n_slots;
} tacit_dictionary_t;

/* Place of a text, or SIZE_MAX. */
size_t tacit_dictionary_find(const tacit_dictionary_t *dictionary, const char *text, size_t n);
/* Place of a text, which is added if it is new. */
TACIT_MUST_USE tacit_status_t tacit_dictionary_add(tacit_dictionary_t *dictionary, const char *text, size_t n,
                                                   size_t *index, bool *is_new, tacit_error_t *err);
void tacit_dictionary_clear(tacit_dictionary_t *dictionary);

/* Read the header row; names end up in the order of the columns. Names are distinct and UTF-8; one may be
 * empty. */
TACIT_MUST_USE tacit_status_t tacit_csv_read_header(tacit_csv_t *csv, tacit_dictionary_t *names,
                                                    tacit_error_t *err);

/* Persons in order of first appearance, and how many rows of each are kept. */
typedef struct tacit_units {
  tacit_dictionary_t ids;
  size_t *n_rows_of;
  size_t capacity;
} tacit_units_t;

/* Count a row for its person, *unit; *is_kept is false if the person has max_rows rows already. */
TACIT_MUST_USE tacit_status_t tacit_units_add(tacit_units_t *units, const char *id, size_t n, size_t max_rows,
                                              size_t *unit, bool *is_kept, tacit_error_t *err);
/* Where the rows of each person begin once they are brought together, shape (n_units + 1); returned owned. */
TACIT_MUST_USE tacit_status_t tacit_units_offsets(const tacit_units_t *units, size_t **offsets,
                                                  tacit_error_t *err);
void tacit_units_clear(tacit_units_t *units);

/* The rules of one column (rules.h); notes are of kept rows alone. */
typedef struct tacit_rule {
  const tacit_column_schema_t *schema; /* borrowed */
  bool is_of_new_rows;                 /* of an analyst, who is told other things */
  tacit_dictionary_t levels;
  char no_level[320]; /* what to say of a value that is none of them */
  char *decimal_mark; /* of a file whose fields semicolons separate: '.' or ',', as the first number with one
                         has it, until then 0; NULL: a point */
  size_t n_clamped, n_far, n_missing; /* far: clamped by more than the width of the bounds */
} tacit_rule_t;

typedef struct tacit_reader_column {
  tacit_rule_t rule;
  size_t field; /* place in a CSV record, or among the stream's columns */
} tacit_reader_column_t;

typedef struct tacit_reader tacit_reader_t;
/* Called where at == room: makes room for at least one more row. */
typedef tacit_status_t (*tacit_room_maker)(void *user, tacit_error_t *err);

/* One kind of source. What a function needs to remember is in reader->state, which `close` frees; NULL before
 * `open`. */
typedef struct tacit_reader_kind {
  tacit_status_t (*open)(tacit_reader_t *reader, tacit_error_t *err); /* names into reader->header */
  tacit_status_t (*check)(tacit_reader_t *reader,
                          tacit_error_t *err); /* the columns, once they are chosen; may be NULL */
  tacit_status_t (*rows)(tacit_reader_t *reader, tacit_room_maker make_room, void *user, tacit_error_t *err);
  void (*describe)(const tacit_reader_t *reader, size_t field,
                   tacit_text_t *text); /* what its metadata say, as a comment of a template; may be NULL */
  void (*close)(tacit_reader_t *reader);
} tacit_reader_kind_t;

extern const tacit_reader_kind_t tacit_reader_csv, tacit_reader_arrow, tacit_reader_stat,
    tacit_reader_database;
static const char tacit_odbc_prefix[] = "odbc:";
/* Does the name of a file end so, in any case? `ending` is of lower-case letters. */
bool tacit_has_ending(const char *path, const char *ending);
/* Does the name say that it is of SAS, SPSS or Stata? */
bool tacit_is_stat_file(const char *path);
const tacit_reader_kind_t *tacit_reader_kind_of(const tacit_data_source_t *source);
/* May it be of SAS, whose labels are in a catalogue? */
bool tacit_is_sas_file(const char *path);

/* What reads rows, from a source. */
struct tacit_reader {
  tacit_data_source_t source;
  const tacit_reader_kind_t *kind;
  void *state;
  const tacit_schema_t *schema;
  tacit_dictionary_t header; /* names of the fields */
  tacit_reader_column_t *columns;
  size_t n_columns;
  double **values; /* of each column, shape (n_columns); rows at .. room - 1 are to be filled; the caller's */
  uint64_t *row_units; /* of each row likewise; not needed where the unit is a row */
  size_t at, room;
  size_t unit_field; /* SIZE_MAX: the unit is a row */
  tacit_units_t units;
  size_t n_rows, n_rows_dropped;
  char decimal_mark;                      /* as in the columns' rules */
  char query_hash[TACIT_QUERY_HASH_SIZE]; /* "": there is none */
};

/* Refuse a catalogue or an encoding of what has none. */
TACIT_MUST_USE tacit_status_t tacit_data_source_check(const tacit_data_source_t *source, tacit_error_t *err);
/* Names of the columns alone. Clear in either case. */
TACIT_MUST_USE tacit_status_t tacit_reader_begin(tacit_reader_t *reader, const tacit_data_source_t *source,
                                                 tacit_error_t *err);
/* Read the header; n_columns == 0 means all of the schema. Clear in either case. */
TACIT_MUST_USE tacit_status_t tacit_reader_open(tacit_reader_t *reader, const tacit_data_source_t *source,
                                                const tacit_schema_t *schema, const char *const *columns,
                                                size_t n_columns, tacit_error_t *err);
/* TACIT_ERR_INTERRUPTED where the watch (may be NULL) says stop. */
TACIT_MUST_USE tacit_status_t tacit_watch_check(const tacit_stream_watch_t *watch, tacit_error_t *err);
/*
 * TACIT_ERR_DATA for no rows at all, which are a mistake where their number is public. Under add-remove they
 * are a neighbour of one row, and a refusal would tell the two apart.
 */
/* Are rows those of an analyst, and no records? */
bool tacit_schema_is_of_new_rows(const tacit_schema_t *schema);

TACIT_MUST_USE tacit_status_t tacit_check_any_rows(const tacit_schema_t *schema, size_t n_rows,
                                                   const char *path, tacit_error_t *err);
/* Read all rows; at least one, as above. */
TACIT_MUST_USE tacit_status_t tacit_reader_rows(tacit_reader_t *reader, tacit_room_maker make_room,
                                                void *user, tacit_error_t *err);
tacit_table_notes_t tacit_reader_notes(const tacit_reader_t *reader);
void tacit_reader_clear(tacit_reader_t *reader);
/* The error for a column that has no values: it is not in the schema (NULL), or identifies persons. */
tacit_status_t tacit_reader_no_column(const tacit_column_schema_t *schema, const char *name,
                                      tacit_error_t *err);
/* Count a row for its person where persons are the unit; whether it is kept. */
TACIT_MUST_USE tacit_status_t tacit_reader_admit(tacit_reader_t *reader, const char *id, size_t n,
                                                 size_t *unit, bool *is_kept, tacit_error_t *err);

enum { TACIT_IDENTIFIER_SIZE = 96 };
/* tacit_table_identifier() of what is being read. */
void tacit_reader_find_identifier(const tacit_reader_t *reader, char out[TACIT_IDENTIFIER_SIZE]);

/* Release a stream that is not released yet. */
void tacit_arrow_release(struct ArrowArrayStream *stream);

/* Empty or NA. */
bool tacit_is_missing(const char *text, size_t n);
/* What a field looks like; what it is to be, the schema says. */
typedef enum tacit_look {
  TACIT_LOOK_TEXT,
  TACIT_LOOK_NUMBER,
  TACIT_LOOK_COMMA, /* a number with a decimal comma, or commas between thousands */
  TACIT_LOOK_DATE,
  TACIT_LOOK_TRUTH, /* TRUE, no, ... */
  TACIT_LOOK_MISSING
} tacit_look_t;
tacit_look_t tacit_look(const char *text, size_t n);
/* "a number" */
const char *tacit_look_string(tacit_look_t look);
/* Bytes of the first code point of text[0..n-1], or 0 if they are not valid UTF-8. */
size_t tacit_data_utf8_decode(const char *text, size_t n, uint32_t *code);
bool tacit_is_utf8(const char *text, size_t n);

#endif
