/*
 * Streaming CSV [RFC 4180], plain or gzipped; what is legal and what is refused is said in tacit/data.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/memory.h"
#include "data/data_internal.h"

enum { buffer_size = TACIT_RECODER_ROOM, max_field = 1 << 20, max_fields = 1 << 16 };

tacit_status_t tacit_csv_error(const tacit_csv_t *csv, const tacit_csv_field_t *at, tacit_status_t status,
                               tacit_error_t *err, const char *format, ...) {
  char what[512];
  va_list args;
  va_start(args, format);
  vsnprintf(what, sizeof what, format, args);
  va_end(args);
  return tacit_error_set(err, status, csv->path, "%s:%zu:%zu: %s", csv->path, at->line, at->column, what);
}

static tacit_status_t error_here(const tacit_csv_t *csv, tacit_error_t *err, const char *what) {
  tacit_csv_field_t here = {.line = csv->line, .column = csv->column};
  return tacit_csv_error(csv, &here, TACIT_ERR_SYNTAX, err, "%s", what);
}

static tacit_status_t error_nul(const tacit_csv_t *csv, tacit_error_t *err) {
  return error_here(csv, err,
                    "a NUL byte: this is not a text file, or one in UTF-16 that does not say so: --encoding "
                    "utf-16le reads that");
}

static void skip_byte(tacit_csv_t *csv) {
  csv->next++;
  csv->column++;
}

/* Bytes as they are in the file, uncompressed; *n == 0 at its end. */
static tacit_status_t read_bytes(tacit_csv_t *csv, char *to, size_t room, size_t *n, tacit_error_t *err) {
  int got = gzread(csv->file, to, (unsigned)room);
  int code = Z_OK;
  const char *reason = gzerror(csv->file, &code);
  if (got < 0 || code != Z_OK) { /* a truncated gzip file shows up as Z_BUF_ERROR at its end */
    reason = code == Z_ERRNO       ? strerror(errno)
             : code == Z_BUF_ERROR ? "the compressed file is truncated"
                                   : reason;
    return tacit_error_set(err, TACIT_ERR_IO, csv->path, "cannot read %s: %s", csv->path, reason);
  }
  *n = (size_t)got;
  return TACIT_OK;
}

/* The same as UTF-8, into the buffer. */
static tacit_status_t read_recoded(tacit_csv_t *csv, size_t *n, tacit_error_t *err) {
  bool is_end = false, is_wrong = false;
  for (*n = 0; *n == 0 && !is_end;) {
    size_t room, got = 0;
    char *to = tacit_recoder_room(csv->recoder, &room);
    tacit_status_t status = room > 0 ? read_bytes(csv, to, room, &got, err) : TACIT_OK;
    if (status != TACIT_OK) {
      return status;
    }
    tacit_recoder_put(csv->recoder, got);
    is_end = room > 0 && got == 0;
    *n = tacit_recoder_convert(csv->recoder, is_end, csv->buffer, buffer_size, &is_wrong);
    if (is_wrong) {
      return error_here(
          csv, err, "bytes that are no text in the encoding that --encoding or the file's first bytes name");
    }
  }
  return TACIT_OK;
}

/* Make csv->next point at an unread byte, or set at_end. */
static tacit_status_t fill(tacit_csv_t *csv, tacit_error_t *err) {
  size_t n = 0;
  if (csv->next < csv->end || csv->at_end) {
    return TACIT_OK;
  }
  tacit_status_t status =
      csv->recoder != NULL ? read_recoded(csv, &n, err) : read_bytes(csv, csv->buffer, buffer_size, &n, err);
  if (status == TACIT_OK) {
    csv->next = csv->buffer;
    csv->end = csv->buffer + n;
    csv->at_end = n == 0;
  }
  return status;
}

/* UTF-16 says so by its first two bytes: what was read is taken back, to be read as that. */
static tacit_status_t look_for_utf16(tacit_csv_t *csv, tacit_error_t *err) {
  size_t room, n = (size_t)(csv->end - csv->next);
  if (csv->recoder != NULL || n < 2 ||
      (memcmp(csv->next, "\xFF\xFE", 2) != 0 && memcmp(csv->next, "\xFE\xFF", 2) != 0)) {
    return TACIT_OK;
  }
  csv->recoder = tacit_recoder_new("UTF-16");
  if (csv->recoder == NULL) {
    return tacit_error_memory(err);
  }
  memcpy(tacit_recoder_room(csv->recoder, &room), csv->buffer, n);
  tacit_recoder_put(csv->recoder, n);
  csv->next = csv->end;
  return fill(csv, err);
}

/* That of these which stands most often in the header row outside of quotation marks; the first of those that
 * stand as often. */
static char separator_of(const char *header, size_t n) {
  static const char separators[] = ",\t;|";
  size_t counts[sizeof separators] = {0}, most = 0;
  bool is_quoted = false;
  for (size_t i = 0; i < n; i++) {
    is_quoted = is_quoted != (header[i] == '"');
    const char *found = is_quoted || header[i] == '\0' ? NULL : strchr(separators, header[i]);
    counts[found != NULL ? (size_t)(found - separators) : sizeof separators - 1]++;
  }
  for (size_t i = 1; i < sizeof separators - 1; i++) {
    most = counts[i] > counts[most] ? i : most;
  }
  return separators[most];
}

/* The first buffer decides about byte-order mark and separator. */
static tacit_status_t look_at_header(tacit_csv_t *csv, tacit_error_t *err) {
  tacit_status_t status = fill(csv, err);
  TACIT_THEN(status, look_for_utf16(csv, err));
  if (status != TACIT_OK || csv->at_end) {
    return status;
  }
  if (csv->end - csv->next >= 3 && memcmp(csv->next, "\xEF\xBB\xBF", 3) == 0) {
    csv->next += 3;
  }
  size_t n = (size_t)(csv->end - csv->next);
  const char *kind = csv->recoder == NULL ? tacit_file_kind(csv->next, n) : NULL;
  if (kind != NULL) {
    return tacit_error_set(err, TACIT_ERR_SYNTAX, csv->path, "%s is %s", csv->path, kind);
  }
  const char *newline = memchr(csv->next, '\n', n);
  n = newline != NULL ? (size_t)(newline - csv->next) : n;
  if (csv->separator == '\0') {
    csv->separator = separator_of(csv->next, n);
  }
  csv->ends_plain[(unsigned char)csv->separator] = true;
  return TACIT_OK;
}

static tacit_status_t cannot_open(const char *path, int code, tacit_error_t *err) {
  tacit_status_t status = code == 0 ? TACIT_ERR_MEMORY : code == ENOENT ? TACIT_ERR_MISSING : TACIT_ERR_IO;
  return tacit_error_set(err, status, path, "cannot open %s: %s", path,
                         code == 0 ? "out of memory" : strerror(code));
}

static tacit_status_t open_path(tacit_csv_t *csv, tacit_error_t *err) {
  struct stat info;
  if (stat(csv->path, &info) != 0) {
    return cannot_open(csv->path, errno, err);
  }
  if (S_ISDIR(info.st_mode)) {
    return tacit_error_set(err, TACIT_ERR_IO, csv->path, "cannot read %s: it is a directory", csv->path);
  }
  errno = 0;
  csv->file = gzopen(csv->path, "rb");
  return csv->file != NULL ? TACIT_OK : cannot_open(csv->path, errno, err);
}

/* It stays open for whoever called. */
static tacit_status_t open_standard_input(tacit_csv_t *csv, tacit_error_t *err) {
  if (isatty(STDIN_FILENO)) {
    return tacit_error_set(
        err, TACIT_ERR_ARGUMENT, "data",
        "standard input is a terminal: pipe CSV with a header row into it, or name a file");
  }
  int fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 0);
  if (fd < 0) {
    return cannot_open(csv->path, errno, err);
  }
  csv->file = gzdopen(fd, "rb");
  if (csv->file == NULL) {
    close(fd);
  }
  return csv->file != NULL ? TACIT_OK : tacit_error_memory(err);
}

tacit_status_t tacit_csv_open(tacit_csv_t *csv, const char *path, const char *encoding, char separator,
                              tacit_error_t *err) {
  *csv = (tacit_csv_t){.line = 1, .column = 1, .separator = separator};
  csv->ends_plain['\n'] = csv->ends_plain['\r'] = csv->ends_plain['"'] = csv->ends_plain['\0'] = true;
  bool is_standard = strcmp(path, "-") == 0;
  csv->path = tacit_strdup(is_standard ? "standard input" : path);
  csv->buffer = tacit_alloc(buffer_size, 1);
  csv->recoder = encoding != NULL ? tacit_recoder_new(encoding) : NULL;
  if (csv->path == NULL || csv->buffer == NULL || (encoding != NULL && csv->recoder == NULL)) {
    return tacit_error_memory(err);
  }
  csv->next = csv->end = csv->buffer;
  tacit_status_t status = is_standard ? open_standard_input(csv, err) : open_path(csv, err);
  if (status == TACIT_OK) {
    gzbuffer(csv->file, buffer_size);
  }
  return status == TACIT_OK ? look_at_header(csv, err) : status;
}

void tacit_csv_close(tacit_csv_t *csv) {
  if (csv->file != NULL) {
    gzclose(csv->file);
  }
  tacit_recoder_free(csv->recoder);
  tacit_free(csv->path);
  tacit_wipe(csv->buffer, csv->buffer != NULL ? buffer_size : 0);
  tacit_wipe(csv->text.data, csv->text.capacity);
  tacit_free(csv->buffer);
  tacit_free(csv->fields);
  tacit_free(csv->starts);
  tacit_text_clear(&csv->text);
  *csv = (tacit_csv_t){0};
}

/* Note where a new field begins. */
static tacit_status_t begin_field(tacit_csv_t *csv, tacit_error_t *err) {
  if (csv->n_fields == csv->capacity) {
    size_t capacity = csv->capacity > 0 ? 2 * csv->capacity : 32;
    tacit_csv_field_t *fields = tacit_realloc(csv->fields, capacity, sizeof *fields);
    csv->fields = fields != NULL ? fields : csv->fields;
    size_t *starts = tacit_realloc(csv->starts, capacity, sizeof *starts);
    csv->starts = starts != NULL ? starts : csv->starts;
    if (fields == NULL || starts == NULL) {
      return tacit_error_memory(err);
    }
    csv->capacity = capacity;
  }
  if (csv->n_fields == max_fields) {
    return error_here(csv, err,
                      "a row has more than 65536 fields: what stands between them? --delimiter says so");
  }
  csv->starts[csv->n_fields] = csv->text.length;
  csv->fields[csv->n_fields++] = (tacit_csv_field_t){.line = csv->line, .column = csv->column};
  return TACIT_OK;
}

static tacit_status_t append(tacit_csv_t *csv, const char *bytes, size_t n, tacit_error_t *err) {
  tacit_text_append(&csv->text, bytes, n);
  if (csv->text.failed) {
    return tacit_error_memory(err);
  }
  if (csv->text.length - csv->starts[csv->n_fields - 1] > max_field) {
    return tacit_csv_error(csv, &csv->fields[csv->n_fields - 1], TACIT_ERR_SYNTAX, err,
                           "a field is longer than 1 MiB: is a quotation mark left open?");
  }
  return TACIT_OK;
}

/* 0x80 in each byte of x that is zero. */
static inline uint64_t zero_bytes(uint64_t x) {
  const uint64_t low = 0x7F7F7F7F7F7F7F7F;
  return ~(((x & low) + low) | x | low);
}

/* The first byte from p on that ends a plain field, or csv->end; eight at a time, so that a short field takes
 * one branch. */
static const char *plain_end(const tacit_csv_t *csv, const char *p) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  const uint64_t ones = 0x0101010101010101, separators = ones * (unsigned char)csv->separator;
  for (; csv->end - p >= 8; p += 8) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    uint64_t found = zero_bytes(word ^ separators) | zero_bytes(word ^ ones * '\n') |
                     zero_bytes(word ^ ones * '\r') | zero_bytes(word ^ ones * '"') | zero_bytes(word);
    if (found != 0) {
      return p + __builtin_ctzll(found) / 8;
    }
  }
#endif
  while (p < csv->end && !csv->ends_plain[(unsigned char)*p]) {
    p++;
  }
  return p;
}

/* Bytes up to the end of an unquoted field: separator, line end, or quotation mark (an error). */
static tacit_status_t read_plain(tacit_csv_t *csv, tacit_error_t *err) {
  for (;;) {
    const char *p = plain_end(csv, csv->next);
    size_t n = (size_t)(p - csv->next);
    tacit_status_t status = append(csv, csv->next, n, err);
    csv->column += n;
    csv->next = p;
    TACIT_THEN(status, fill(csv, err));
    if (status != TACIT_OK || csv->at_end) {
      return status;
    }
    if (*csv->next == '"') {
      return error_here(csv, err, "a quotation mark inside a field that does not begin with one");
    }
    if (*csv->next == '\0') {
      return error_nul(csv, err);
    }
    if (csv->ends_plain[(unsigned char)*csv->next]) {
      return TACIT_OK;
    }
  }
}

/* The bytes of a quoted field that stand for themselves; leaves a quotation mark unread, or nothing at the
 * end. */
static tacit_status_t read_quoted_run(tacit_csv_t *csv, tacit_error_t *err) {
  const char *p = csv->next;
  while (p < csv->end && *p != '"' && *p != '\0') {
    bool is_newline = *p++ == '\n';
    csv->line += is_newline;
    csv->column = is_newline ? 1 : csv->column + 1;
  }
  tacit_status_t status = append(csv, csv->next, (size_t)(p - csv->next), err);
  csv->next = p;
  return status == TACIT_OK && p < csv->end && *p == '\0' ? error_nul(csv, err) : status;
}

/* A quoted field, the opening mark already consumed; leaves the byte after the closing one unread. */
static tacit_status_t read_quoted(tacit_csv_t *csv, tacit_error_t *err) {
  for (;;) {
    tacit_status_t status = fill(csv, err);
    if (status == TACIT_OK && csv->at_end) {
      return tacit_csv_error(csv, &csv->fields[csv->n_fields - 1], TACIT_ERR_SYNTAX, err,
                             "a quotation mark is never closed");
    }
    TACIT_THEN(status, read_quoted_run(csv, err));
    if (status != TACIT_OK) {
      return status;
    }
    if (csv->next == csv->end) {
      continue; /* the field goes on in the next buffer */
    }
    skip_byte(csv);
    status = fill(csv, err);
    if (status != TACIT_OK || csv->at_end || *csv->next != '"') {
      return status;
    }
    skip_byte(csv); /* a doubled mark stands for one */
    status = append(csv, "\"", 1, err);
    if (status != TACIT_OK) {
      return status;
    }
  }
}

/* Consume what ends a field; *ends_record tells a line end (or the end of the file) from a separator. */
static tacit_status_t end_field(tacit_csv_t *csv, bool *ends_record, tacit_error_t *err) {
  tacit_status_t status = fill(csv, err);
  *ends_record = true;
  if (status != TACIT_OK || csv->at_end) {
    return status;
  }
  char byte = *csv->next;
  if (byte == csv->separator) {
    skip_byte(csv);
    *ends_record = false;
    return TACIT_OK;
  }
  if (byte == '\r') {
    csv->next++; /* the column stays: a lone carriage return is the byte at fault */
    status = fill(csv, err);
    if (status != TACIT_OK || csv->at_end) {
      return status;
    }
    if (*csv->next != '\n') {
      return error_here(csv, err, "a carriage return without a line feed: lines must end in LF or CRLF");
    }
  } else if (byte != '\n') {
    return error_here(csv, err, "expected a separator or the end of the line after a quoted field");
  }
  csv->next++;
  csv->line++;
  csv->column = 1;
  return TACIT_OK;
}

static tacit_status_t read_record(tacit_csv_t *csv, tacit_error_t *err) {
  bool ends_record = false;
  while (!ends_record) {
    tacit_status_t status = begin_field(csv, err);
    TACIT_THEN(status, fill(csv, err));
    if (status != TACIT_OK) {
      return status;
    }
    if (!csv->at_end && *csv->next == '"') {
      skip_byte(csv);
      status = read_quoted(csv, err);
    } else if (!csv->at_end) {
      status = read_plain(csv, err);
    }
    TACIT_THEN(status, end_field(csv, &ends_record, err));
    if (status != TACIT_OK) {
      return status;
    }
  }
  return TACIT_OK;
}

tacit_status_t tacit_csv_read(tacit_csv_t *csv, tacit_error_t *err) {
  csv->n_fields = 0;
  csv->text.length = 0;
  tacit_status_t status = fill(csv, err);
  if (status == TACIT_OK && !csv->at_end) {
    status = read_record(csv, err);
  }
  if (status != TACIT_OK) {
    csv->n_fields = 0;
    return status;
  }
  for (size_t i = 0; i < csv->n_fields; i++) {
    size_t end = i + 1 < csv->n_fields ? csv->starts[i + 1] : csv->text.length;
    csv->fields[i].text = csv->text.data != NULL ? csv->text.data + csv->starts[i] : "";
    csv->fields[i].n = end - csv->starts[i];
  }
  return TACIT_OK;
}

bool tacit_is_missing(const char *text, size_t n) {
  return n == 0 || (n == 2 && text[0] == 'N' && text[1] == 'A');
}
