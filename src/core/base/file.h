/* Whole files, written so that they are there whole or not at all. Not installed. */
#ifndef TACIT_BASE_FILE_H
#define TACIT_BASE_FILE_H

#include "tacit/base.h"
#include "base/text.h"

/*
 * Write n bytes to path: temporary name in the same directory, fsync, rename, fsync of the directory.
 * On failure nothing is left behind and the message names path and reason; but where only the last step fails
 * the file is there, and the message says so.
 */
TACIT_MUST_USE tacit_status_t tacit_file_write(const char *path, const char *bytes, size_t n,
                                               tacit_error_t *err);
/* The same; TACIT_ERR_EXISTS if there is anything of that name. */
TACIT_MUST_USE tacit_status_t tacit_file_create(const char *path, const char *bytes, size_t n,
                                                tacit_error_t *err);
/* Is there anything of that name, a link that leads nowhere included? */
bool tacit_file_exists(const char *path);
/* A temporary name of this process beside path; a number is added where a process of the same id once left
 * one behind. False: no memory. */
enum { TACIT_MAX_ATTEMPTS = 100 };
bool tacit_temporary_name(tacit_text_t *name, const char *path, int attempt);
/* Sync the folder in which something was given its name; the message of a failure says that it is there. */
TACIT_MUST_USE tacit_status_t tacit_file_confirm(const char *path, tacit_error_t *err);
/* Does a name end with that, behind something? "model.stan", ".stan" */
bool tacit_file_has_ending(const char *path, const char *ending);
/* 0 or an errno. */
int tacit_folder_sync(const char *path);
/* Read a whole (small) file; returns owned text (tacit_free), NUL-terminated; at most max_bytes. */
TACIT_MUST_USE tacit_status_t tacit_file_read(const char *path, size_t max_bytes, char **bytes, size_t *n,
                                              tacit_error_t *err);

#endif
