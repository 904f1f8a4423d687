/*
 * What every module may use of base: allocation, error texts, growing texts,
 * whole-file writes, a thread pool. Not installed.
 */
#ifndef TACIT_BASE_INTERNAL_H
#define TACIT_BASE_INTERNAL_H

#include <stdarg.h>

#include "tacit/base.h"

/* ---- errors ---- */

/* Fill err (may be NULL) and return status. field may be NULL. */
tacit_status_t tacit_error_set(tacit_error_t *err, tacit_status_t status, const char *field,
                                         const char *format, ...) TACIT_PRINTF(4, 5);
/* Out of memory, in the words used everywhere. */
tacit_status_t tacit_error_memory(tacit_error_t *err);

/* ---- allocation: overflow-checked; a size of zero gives a valid pointer; NULL on failure ---- */

void *tacit_alloc(size_t n, size_t size);         /* uninitialised */
void *tacit_alloc_zero(size_t n, size_t size);    /* zeroed, 64-byte aligned */
/*
 * As tacit_alloc_zero, for records: in no core dump. From 8 MiB on nothing has been written there yet, so that on a machine with
 * several memory nodes a page comes to be at the thread that first writes to it. Freed by tacit_free_pages with the same numbers alone.
 */
void *tacit_alloc_pages(size_t n, size_t size);
void tacit_free_pages(void *p, size_t n, size_t size);
void *tacit_realloc(void *p, size_t n, size_t size); /* of tacit_alloc only */
/*
 * Room for one item more than n, of which *capacity have room: the items, perhaps elsewhere, and *capacity; NULL, and nothing moved, if memory is
 * out.
 */
TACIT_MUST_USE void *tacit_grow(void *items, size_t n, size_t *capacity, size_t size);
/* An array of records that grows, in no core dump: from nothing (p NULL), or from n_old > 0. Freed with the same numbers alone. */
void *tacit_grow_private(void *p, size_t n_old, size_t n, size_t size);
void tacit_free_private(void *p, size_t n, size_t size);
/* Of memory from tacit_grow_private: a forked child finds zeros there, where the system knows how. */
void tacit_wipe_on_fork(void *p, size_t n);
/* Zeros that no compiler leaves out; p may be NULL. */
void tacit_wipe(void *p, size_t n);
char *tacit_strdup(const char *text);
/* Test hook: the k-th allocation from now (1-based) fails once; 0 switches it off. */
void tacit_alloc_fail_at(size_t k);

/* ---- growing text; after a failed append, `failed` stays set and further appends do nothing ---- */

typedef struct tacit_text {
  char *data; /* NUL-terminated once anything was appended; free with tacit_free */
  size_t length, capacity;
  bool failed;
} tacit_text_t;

void tacit_text_append(tacit_text_t *text, const char *bytes, size_t n);
void tacit_text_printf(tacit_text_t *text, const char *format, ...) TACIT_PRINTF(2, 3);
void tacit_text_vprintf(tacit_text_t *text, const char *format, va_list args) TACIT_PRINTF(2, 0);
void tacit_text_clear(tacit_text_t *text);
/* Hand the text over to *out where all went well; else clear it, *out is NULL. Returns `status`, or that memory was out. */
TACIT_MUST_USE tacit_status_t tacit_text_take(tacit_text_t *text, tacit_status_t status, char **out, tacit_error_t *err);
/* Append a path from the root of the file system: others read it from elsewhere. */
void tacit_text_put_path(tacit_text_t *text, const char *path);

/* ---- numbers and names that people write: independent of the locale ---- */

/*
 * Length of the decimal literal (no sign; digits, optional fraction and exponent) at `text`, 0 if
 * there is none. *value is its correctly rounded value, INFINITY if that overflows or if the
 * literal has more than 63 characters.
 */
size_t tacit_number_scan(const char *text, double *value);

enum { TACIT_NUMBER_SIZE = 32 };
/* Up to 10 significant digits, with a point whatever the locale. */
const char *tacit_number_format(double value, char out[TACIT_NUMBER_SIZE]);
/* As few digits as read back as the same double. */
const char *tacit_number_exact(double value, char out[TACIT_NUMBER_SIZE]);
/* What would do, for messages: x > 0 to two digits, as "%.2g" prints it, and no less (by more than 1e-9 of it); infinity as it is. */
double tacit_number_round_up(double x);
/*
 * All of text[0..n-1] as a decimal number with an optional sign, spaces around it allowed; false if it is none.
 * Hexadecimal, "inf", "nan" and decimal commas are none.
 */
bool tacit_number_parse(const char *text, size_t n, double *value);

/* The known name nearest to a misspelt one: offer candidates, then read `best`. */
typedef struct tacit_nearest {
  const char *name;
  const char *best; /* NULL: none within two edits */
  size_t distance;
} tacit_nearest_t;

void tacit_nearest_offer(tacit_nearest_t *nearest, const char *candidate);
enum { TACIT_HINT_SIZE = 128 };
/* " (did you mean 'age'?)", or "" without a near name. */
const char *tacit_nearest_hint(const tacit_nearest_t *nearest, char out[TACIT_HINT_SIZE]);

/* ---- files ---- */

/*
 * Write n bytes to path: temporary name in the same directory, fsync, rename, fsync of the directory.
 * On failure nothing is left behind and the message names path and reason; but where only the last step fails the file is there, and the
 * message says so.
 */
TACIT_MUST_USE tacit_status_t tacit_file_write(const char *path, const char *bytes, size_t n,
                                                         tacit_error_t *err);
/* The same; TACIT_ERR_EXISTS if there is anything of that name. */
TACIT_MUST_USE tacit_status_t tacit_file_create(const char *path, const char *bytes, size_t n, tacit_error_t *err);
/* A temporary name of this process beside path; a number is added where a process of the same id once left one behind. False: no memory. */
enum { TACIT_MAX_ATTEMPTS = 100 };
bool tacit_temporary_name(tacit_text_t *name, const char *path, int attempt);
/* Sync the folder in which something was given its name; the message of a failure says that it is there. */
TACIT_MUST_USE tacit_status_t tacit_file_confirm(const char *path, tacit_error_t *err);
/* 0 or an errno. */
int tacit_folder_sync(const char *path);
/* Read a whole (small) file; returns owned text (tacit_free), NUL-terminated; at most max_bytes. */
TACIT_MUST_USE tacit_status_t tacit_file_read(const char *path, size_t max_bytes, char **bytes,
                                                        size_t *n, tacit_error_t *err);

/* ---- directories ---- */

#define TACIT_UNFINISHED "unfinished"

/* A directory under construction. Legal to abandon at any time after begin. */
typedef struct tacit_directory {
  tacit_text_t path, temporary, file;
  bool is_private; /* for its owner's eyes only */
  bool is_claimed; /* it has its name already, and TACIT_UNFINISHED in it; temporary is path */
  bool is_kept;    /* claimed: what is in it stays though it is not committed */
  bool has_room;   /* claimed: the room is still there */
  int fd;          /* of the file being written, or -1 */
  int lock;        /* held on the temporary directory while this process is at work, or -1 */
} tacit_directory_t;
static const tacit_directory_t tacit_directory_none = {.fd = -1, .lock = -1};

/* Begin. What a process that has ended left of the same directory is removed first. */
TACIT_MUST_USE tacit_status_t tacit_directory_begin(tacit_directory_t *dir, const char *path, bool is_private,
                                                    tacit_error_t *err);
/*
 * Begin under its own name, with room for so many bytes, which the first file gives up: no full disk later on, if no other program takes what was
 * freed. TACIT_UNFINISHED in it says that it is not whole, until it is committed.
 */
TACIT_MUST_USE tacit_status_t tacit_directory_claim(tacit_directory_t *dir, const char *path, size_t room, tacit_error_t *err);
/* Go on with one that was claimed and kept by a process that has ended. TACIT_ERR_STATE: one is at work on it. */
TACIT_MUST_USE tacit_status_t tacit_directory_take_over(tacit_directory_t *dir, const char *path, tacit_error_t *err);
bool tacit_directory_is_unfinished(const char *path);
/* Write a file of a claimed directory, durably, in the place of one of that name; where the disk is full it gives up the room for that. */
TACIT_MUST_USE tacit_status_t tacit_directory_replace(tacit_directory_t *dir, const char *name, const tacit_text_t *text, tacit_error_t *err);
/* Begin a file. */
TACIT_MUST_USE tacit_status_t tacit_directory_open(tacit_directory_t *dir, const char *name, tacit_error_t *err);
/* Write what the text holds and empty it. */
TACIT_MUST_USE tacit_status_t tacit_directory_put(tacit_directory_t *dir, tacit_text_t *text, tacit_error_t *err);
/* Sync and close the open file. */
TACIT_MUST_USE tacit_status_t tacit_directory_close(tacit_directory_t *dir, tacit_error_t *err);
/*
 * Add n bytes to a file, which is made if need be, and close it: many files can be written by turns. Not synced until
 * tacit_directory_sync.
 */
TACIT_MUST_USE tacit_status_t tacit_directory_append(tacit_directory_t *dir, const char *name, const void *bytes, size_t n,
                                                     tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_directory_sync(tacit_directory_t *dir, const char *name, tacit_error_t *err);
/* dir->file <- where a file is for now. */
TACIT_MUST_USE tacit_status_t tacit_directory_name(tacit_directory_t *dir, const char *name, tacit_error_t *err);
/* Sync the directory and give it its name. */
TACIT_MUST_USE tacit_status_t tacit_directory_commit(tacit_directory_t *dir, tacit_error_t *err);
/* Remove what was not committed or kept, and free; false if something could not be removed. */
bool tacit_directory_clear(tacit_directory_t *dir);

/* ---- functions of lanes ---- */

/*
 * out (n_blocks, n_out, 16), numbers of `size` bytes, float (4) or double or int64_t (8) <- what the function makes of block
 * (n_blocks, n_columns, 16); n_blocks is 1 or 2.
 */
typedef void (*tacit_probe_function)(void *user, const float *block, size_t n_blocks, void *out);
/* *is_pure <- judged on made-up numbers in [0, 1]: is what is in a lane of `out` a function of that lane of the block alone? */
TACIT_MUST_USE tacit_status_t tacit_probe(size_t n_columns, tacit_probe_function function, void *user, size_t n_out, size_t size,
                                          bool *is_pure, tacit_error_t *err);

/* ---- files as memory ---- */

typedef struct tacit_mapping {
  char *data; /* NULL where there is nothing */
  size_t size;
} tacit_mapping_t;

/* An existing file of exactly `size` bytes, to be read; TACIT_ERR_DATA if it is no plain file of that size. */
TACIT_MUST_USE tacit_status_t tacit_mapping_open(tacit_mapping_t *mapping, const char *path, size_t size, tacit_error_t *err);
/* A new file of `size` zeros for its owner's eyes only, all of its room on the disk taken. */
TACIT_MUST_USE tacit_status_t tacit_mapping_create(tacit_mapping_t *mapping, const char *path, size_t size, tacit_error_t *err);
/* The same in a folder, without a name: its room is free again when the mapping or the program ends. */
TACIT_MUST_USE tacit_status_t tacit_mapping_scratch(tacit_mapping_t *mapping, const char *folder, size_t size,
                                                    tacit_error_t *err);
/* Bytes [from, to) are needed soon; are not needed soon, what is near them included. Contents stay as they are. */
void tacit_mapping_need(const tacit_mapping_t *mapping, size_t from, size_t to);
void tacit_mapping_drop(const tacit_mapping_t *mapping, size_t from, size_t to);
void tacit_mapping_close(tacit_mapping_t *mapping);

/* ---- threads ---- */

/*
 * A pool of n_threads - 1 workers and the caller. tacit_pool_run calls task(user, part, thread) for every
 * part in 0 .. n_parts-1, in any order, and returns when all are done; `thread` in 0 .. n_threads-1 names
 * the thread that runs it, so that each can have its own workspace.
 */
typedef struct tacit_pool tacit_pool_t;
typedef void (*tacit_pool_task)(void *user, size_t part, size_t thread);
TACIT_MUST_USE tacit_status_t tacit_pool_new(tacit_pool_t **pool, size_t n_threads,
                                                       tacit_error_t *err);
void tacit_pool_run(tacit_pool_t *pool, size_t n_parts, tacit_pool_task task, void *user);
void tacit_pool_free(tacit_pool_t *pool);
/* How many of n things to make a part: few enough to share among threads, enough to be worth it. A multiple of 16, at most `most`. */
size_t tacit_pool_share(size_t n, size_t n_threads, size_t most);

/* Seconds of a monotonic clock. */
double tacit_clock(void);

#endif
