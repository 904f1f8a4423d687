/* Directories that come into being whole. Not installed. */
#ifndef TACIT_BASE_DIRECTORY_H
#define TACIT_BASE_DIRECTORY_H

#include "tacit/base.h"
#include "base/text.h"

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
 * Begin under its own name, with room for so many bytes, which the first file gives up: no full disk later
 * on, if no other program takes what was freed. TACIT_UNFINISHED in it says that it is not whole, until it is
 * committed.
 */
TACIT_MUST_USE tacit_status_t tacit_directory_claim(tacit_directory_t *dir, const char *path, size_t room,
                                                    tacit_error_t *err);
/* Go on with one that was claimed and kept by a process that has ended. TACIT_ERR_STATE: one is at work on
 * it. */
TACIT_MUST_USE tacit_status_t tacit_directory_take_over(tacit_directory_t *dir, const char *path,
                                                        tacit_error_t *err);
bool tacit_directory_is_unfinished(const char *path);
/* Write a file of a claimed directory, durably, in the place of one of that name; where the disk is full it
 * gives up the room for that. */
TACIT_MUST_USE tacit_status_t tacit_directory_replace(tacit_directory_t *dir, const char *name,
                                                      const tacit_text_t *text, tacit_error_t *err);
/* Begin a file. */
TACIT_MUST_USE tacit_status_t tacit_directory_open(tacit_directory_t *dir, const char *name,
                                                   tacit_error_t *err);
/* Write what the text holds and empty it. */
TACIT_MUST_USE tacit_status_t tacit_directory_put(tacit_directory_t *dir, tacit_text_t *text,
                                                  tacit_error_t *err);
/* Sync and close the open file. */
TACIT_MUST_USE tacit_status_t tacit_directory_close(tacit_directory_t *dir, tacit_error_t *err);
/*
 * Add n bytes to a file, which is made if need be, and close it: many files can be written by turns. Not
 * synced until tacit_directory_sync.
 */
TACIT_MUST_USE tacit_status_t tacit_directory_append(tacit_directory_t *dir, const char *name,
                                                     const void *bytes, size_t n, tacit_error_t *err);
TACIT_MUST_USE tacit_status_t tacit_directory_sync(tacit_directory_t *dir, const char *name,
                                                   tacit_error_t *err);
/* dir->file <- where a file is for now. */
TACIT_MUST_USE tacit_status_t tacit_directory_name(tacit_directory_t *dir, const char *name,
                                                   tacit_error_t *err);
/* Sync the directory and give it its name. */
TACIT_MUST_USE tacit_status_t tacit_directory_commit(tacit_directory_t *dir, tacit_error_t *err);
/* Remove what was not committed or kept, and free; false if something could not be removed. */
bool tacit_directory_clear(tacit_directory_t *dir);

#endif
