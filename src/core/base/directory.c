/*
 * A directory that appears whole or not at all: files are written and synced under a temporary name
 * beside it, then one rename gives it its own. The temporary directory is locked while its process is at
 * work, so that what a process that was killed left behind (records, perhaps) can be told apart and removed
 * by the next. Or one that has its name from the beginning, with a file in it that says that it is not whole:
 * what has been paid for is kept there at once.
 */
#define _DEFAULT_SOURCE /* flock */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/directory.h"
#include "base/error.h"
#include "base/file.h"
#include "base/number.h"

static tacit_status_t fail(const tacit_directory_t *dir, const char *what, int reason, tacit_error_t *err) {
  tacit_status_t status = reason == EEXIST || reason == ENOTEMPTY ? TACIT_ERR_EXISTS
                          : reason == ENOENT                      ? TACIT_ERR_MISSING
                                                                  : TACIT_ERR_IO;
  return tacit_error_set(err, status, "out", "cannot write %s (%s): %s", dir->path.data, what,
                         strerror(reason));
}

static tacit_status_t exists(const tacit_directory_t *dir, tacit_error_t *err) {
  return tacit_error_set(err, TACIT_ERR_EXISTS, "out",
                         "%s exists and is not overwritten: choose another name or remove it",
                         dir->path.data);
}

static tacit_status_t make_temporary(tacit_directory_t *dir, tacit_error_t *err) {
  for (int attempt = 0; attempt < TACIT_MAX_ATTEMPTS; attempt++) {
    if (!tacit_temporary_name(&dir->temporary, dir->path.data, attempt)) {
      return tacit_error_memory(err);
    }
    if (mkdir(dir->temporary.data, dir->is_private ? 0700 : 0777) == 0) {
      dir->lock = open(dir->temporary.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
      if (dir->lock >= 0) {
        (void)flock(dir->lock,
                    LOCK_EX | LOCK_NB); /* where there are no locks, nothing is taken for left over */
      }
      return TACIT_OK;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  int reason = errno;
  dir->temporary.length = 0; /* nothing of ours to remove */
  if (reason == ENOENT) {
    return tacit_error_set(err, TACIT_ERR_MISSING, "out",
                           "cannot make %s: the folder it should stand in does not exist", dir->path.data);
  }
  if (reason == EEXIST) {
    return tacit_error_set(err, TACIT_ERR_IO, "out",
                           "cannot make %s: remove the left-over folders %s.tmp-* beside it first",
                           dir->path.data, dir->path.data);
  }
  return fail(dir, "make the folder", reason, err);
}

/* Remove the files in the open directory; false if one is left. */
static bool remove_files(int folder) {
  int fd = dup(folder);
  DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
  bool ok = entries != NULL;
  for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
      ok = unlinkat(fd, entry->d_name, 0) == 0 && ok;
    }
  }
  if (entries != NULL) {
    closedir(entries);
  } else if (fd >= 0) {
    close(fd);
  }
  return ok;
}

/* "NAME.tmp-123" or "NAME.tmp-123-4" of a process that is no more. */
static bool is_of_the_dead(const char *entry, const char *name) {
  size_t n = strlen(name);
  static const char mark[] = ".tmp-";
  if (strncmp(entry, name, n) != 0 || strncmp(entry + n, mark, sizeof mark - 1) != 0) {
    return false;
  }
  const char *number = entry + n + sizeof mark - 1;
  char *end;
  long process = strtol(number, &end, 10);
  bool is_ours = *number >= '1' && *number <= '9' &&
                 (*end == '\0' || (*end == '-' && strspn(end + 1, "0123456789") == strlen(end + 1)));
  return is_ours && kill((pid_t)process, 0) != 0 && errno == ESRCH;
}

/* What a process that was killed was about to replace a file by; nobody else writes here. */
static void remove_temporary_files(int folder) {
  int fd = dup(folder);
  DIR *entries = fd >= 0 ? fdopendir(fd) : NULL;
  for (struct dirent *entry; entries != NULL && (entry = readdir(entries)) != NULL;) {
    if (strstr(entry->d_name, ".tmp-") != NULL) {
      (void)unlinkat(fd, entry->d_name, 0);
    }
  }
  if (entries != NULL) {
    closedir(entries);
  } else if (fd >= 0) {
    close(fd);
  }
}

/* A process elsewhere (in another container) may be at work on what looks like that of a dead one: it holds
 * the lock. */
static void remove_left_over(int parent, const char *entry) {
  int fd = openat(parent, entry, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0 && remove_files(fd)) {
    unlinkat(parent, entry, AT_REMOVEDIR);
  }
  if (fd >= 0) {
    close(fd);
  }
}

static void set_file_to_parent(tacit_directory_t *dir) {
  const char *slash = strrchr(dir->path.data, '/');
  dir->file.length = 0;
  if (slash == NULL) {
    tacit_text_append(&dir->file, ".", 1);
  } else {
    tacit_text_append(&dir->file, dir->path.data,
                      slash == dir->path.data ? 1 : (size_t)(slash - dir->path.data));
  }
}

static void sweep(tacit_directory_t *dir) {
  const char *slash = strrchr(dir->path.data, '/'), *name = slash != NULL ? slash + 1 : dir->path.data;
  set_file_to_parent(dir);
  DIR *entries = dir->file.failed ? NULL : opendir(dir->file.data);
  if (entries == NULL) {
    return;
  }
  for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
    if (is_of_the_dead(entry->d_name, name)) {
      remove_left_over(dirfd(entries), entry->d_name);
    }
  }
  closedir(entries);
}

static tacit_status_t set_path(tacit_directory_t *dir, const char *path, tacit_error_t *err) {
  size_t n = strlen(path);
  *dir = tacit_directory_none;
  while (n > 1 && path[n - 1] == '/') {
    n--;
  }
  tacit_text_append(&dir->path, path, n);
  if (dir->path.failed) {
    return tacit_error_memory(err);
  }
  return n > 0 ? TACIT_OK
               : tacit_error_set(err, TACIT_ERR_ARGUMENT, "out", "the name of the folder to write is empty");
}

tacit_status_t tacit_directory_begin(tacit_directory_t *dir, const char *path, bool is_private,
                                     tacit_error_t *err) {
  tacit_status_t status = set_path(dir, path, err);
  dir->is_private = is_private;
  if (status != TACIT_OK) {
    return status;
  }
  if (tacit_file_exists(dir->path.data)) {
    return exists(dir, err);
  }
  sweep(dir);
  return make_temporary(dir, err);
}

/* ---- under its own name ---- */

static const char unfinished_text[] = "This folder is not whole: tacit is at work here, or was stopped. "
                                      "tacit refit FOLDER ends it if releases.json is in it.\n";

/* An errno, or 0. */
static int make_room(const char *path, size_t room) {
  int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (fd < 0) {
    return errno;
  }
  size_t n = sizeof unfinished_text - 1;
  ssize_t written = write(fd, unfinished_text, n);
  int reason = written == (ssize_t)n ? posix_fallocate(fd, 0, (off_t)(n + room))
               : written < 0         ? errno
                                     : ENOSPC;
  reason = reason == 0 && fsync(fd) != 0 ? errno : reason;
  return close(fd) != 0 && reason == 0 ? errno : reason;
}

static void give_room(tacit_directory_t *dir) {
  if (dir->has_room && tacit_directory_name(dir, TACIT_UNFINISHED, NULL) == TACIT_OK) {
    dir->has_room = truncate(dir->file.data, sizeof unfinished_text - 1) != 0;
  }
}

tacit_status_t tacit_directory_claim(tacit_directory_t *dir, const char *path, size_t room,
                                     tacit_error_t *err) {
  tacit_status_t status = set_path(dir, path, err);
  if (status != TACIT_OK) {
    return status;
  }
  sweep(dir);
  tacit_text_append(&dir->temporary, dir->path.data, dir->path.length);
  if (dir->temporary.failed) {
    dir->temporary.length = 0;
    return tacit_error_memory(err);
  }
  if (mkdir(dir->path.data, 0777) != 0) {
    int reason = errno;
    dir->temporary.length = 0; /* nothing of ours to remove */
    return reason == EEXIST ? exists(dir, err) : fail(dir, "make the folder", reason, err);
  }
  dir->is_claimed = dir->has_room = true;
  dir->lock = open(dir->path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir->lock >= 0) {
    (void)flock(dir->lock, LOCK_EX | LOCK_NB);
  }
  status = tacit_directory_name(dir, TACIT_UNFINISHED, err);
  int reason = status == TACIT_OK ? make_room(dir->file.data, room) : 0;
  reason = reason == 0 && status == TACIT_OK ? tacit_folder_sync(dir->path.data) : reason;
  if (reason != 0) {
    status = tacit_error_set(err, TACIT_ERR_IO, "out",
                             "cannot write %s, with room for what is to come (%.3g MB): %s", dir->path.data,
                             tacit_number_round_up((double)room * 1e-6), strerror(reason));
  }
  return status == TACIT_OK ? tacit_file_confirm(dir->path.data, err) : status;
}

bool tacit_directory_is_unfinished(const char *path) {
  int folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  struct stat info;
  bool is_it = folder >= 0 && fstatat(folder, TACIT_UNFINISHED, &info, AT_SYMLINK_NOFOLLOW) == 0;
  if (folder >= 0) {
    (void)close(folder);
  }
  return is_it;
}

tacit_status_t tacit_directory_take_over(tacit_directory_t *dir, const char *path, tacit_error_t *err) {
  tacit_status_t status = set_path(dir, path, err);
  if (status != TACIT_OK) {
    return status;
  }
  dir->lock = open(dir->path.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (dir->lock < 0) {
    return fail(dir, "open the folder", errno, err);
  }
  if (flock(dir->lock, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    return tacit_error_set(err, TACIT_ERR_STATE, "out", "%s is being written by another process",
                           dir->path.data);
  }
  if (!tacit_directory_is_unfinished(dir->path.data)) {
    return exists(dir, err);
  }
  remove_temporary_files(dir->lock);
  tacit_text_append(&dir->temporary, dir->path.data, dir->path.length);
  dir->is_claimed = dir->is_kept = dir->has_room = true;
  return dir->temporary.failed ? tacit_error_memory(err) : TACIT_OK;
}

tacit_status_t tacit_directory_replace(tacit_directory_t *dir, const char *name, const tacit_text_t *text,
                                       tacit_error_t *err) {
  tacit_text_t path = {0};
  tacit_text_printf(&path, "%s/%s", dir->path.data, name);
  tacit_status_t status = text->failed || path.failed
                              ? tacit_error_memory(err)
                              : tacit_file_write(path.data, text->data, text->length, err);
  if (status == TACIT_ERR_IO && dir->has_room) {
    give_room(dir);
    status = tacit_file_write(path.data, text->data, text->length, err);
  }
  tacit_text_clear(&path);
  return status;
}

/* ---- files ---- */

static const char new_end[] = ".tmp-new";

/* Give a file of a claimed directory its name. */
static tacit_status_t give_name(tacit_directory_t *dir, tacit_error_t *err) {
  tacit_text_t name = {0};
  tacit_text_append(&name, dir->file.data, dir->file.length - (sizeof new_end - 1));
  tacit_status_t status = name.failed ? tacit_error_memory(err) : TACIT_OK;
  if (status == TACIT_OK && rename(dir->file.data, name.data) != 0) {
    status = fail(dir, strrchr(name.data, '/') + 1, errno, err);
  }
  tacit_text_clear(&name);
  return status;
}

tacit_status_t tacit_directory_name(tacit_directory_t *dir, const char *name, tacit_error_t *err) {
  dir->file.length = 0;
  tacit_text_printf(&dir->file, "%s/%s", dir->temporary.data, name);
  return dir->file.failed ? tacit_error_memory(err) : TACIT_OK;
}

static tacit_status_t open_file(tacit_directory_t *dir, const char *name, int flags, tacit_error_t *err) {
  tacit_status_t status = tacit_directory_name(dir, name, err);
  if (status != TACIT_OK) {
    return status;
  }
  dir->fd = open(dir->file.data, O_WRONLY | O_CLOEXEC | flags, dir->is_private ? 0600 : 0666);
  return dir->fd >= 0 ? TACIT_OK : fail(dir, name, errno, err);
}

tacit_status_t tacit_directory_open(tacit_directory_t *dir, const char *name, tacit_error_t *err) {
  if (!dir->is_claimed) {
    return open_file(dir, name, O_CREAT | O_EXCL, err);
  }
  give_room(dir);
  char temporary[128]; /* one of that name may have been kept: it stays until this one is whole */
  snprintf(temporary, sizeof temporary, "%s%s", name, new_end);
  return open_file(dir, temporary, O_CREAT | O_TRUNC, err);
}

static tacit_status_t write_bytes(const tacit_directory_t *dir, const char *bytes, size_t n,
                                  tacit_error_t *err) {
  while (n > 0) {
    ssize_t written = write(dir->fd, bytes, n);
    if (written < 0 && errno == EINTR) {
      continue;
    }
    if (written <= 0) {
      return fail(dir, strrchr(dir->file.data, '/') + 1, written < 0 ? errno : EIO, err);
    }
    bytes += written;
    n -= (size_t)written;
  }
  return TACIT_OK;
}

tacit_status_t tacit_directory_put(tacit_directory_t *dir, tacit_text_t *text, tacit_error_t *err) {
  tacit_status_t status =
      text->failed ? tacit_error_memory(err) : write_bytes(dir, text->data, text->length, err);
  text->length = status == TACIT_OK ? 0 : text->length;
  return status;
}

tacit_status_t tacit_directory_append(tacit_directory_t *dir, const char *name, const void *bytes, size_t n,
                                      tacit_error_t *err) {
  tacit_status_t status = open_file(dir, name, O_CREAT | O_APPEND, err);
  if (status != TACIT_OK) {
    return status;
  }
  status = write_bytes(dir, bytes, n, err);
  int fd = dir->fd;
  dir->fd = -1;
  return close(fd) == 0 || status != TACIT_OK ? status : fail(dir, name, errno, err);
}

tacit_status_t tacit_directory_sync(tacit_directory_t *dir, const char *name, tacit_error_t *err) {
  tacit_status_t status = open_file(dir, name, 0, err);
  return status == TACIT_OK ? tacit_directory_close(dir, err) : status;
}

tacit_status_t tacit_directory_close(tacit_directory_t *dir, tacit_error_t *err) {
  const char *name = strrchr(dir->file.data, '/') + 1;
  int fd = dir->fd;
  dir->fd = -1;
  if (fsync(fd) != 0) {
    int reason = errno;
    close(fd);
    return fail(dir, name, reason, err);
  }
  tacit_status_t status = close(fd) == 0 ? TACIT_OK : fail(dir, name, errno, err);
  return status == TACIT_OK && dir->is_claimed ? give_name(dir, err) : status;
}

tacit_status_t tacit_directory_commit(tacit_directory_t *dir, tacit_error_t *err) {
  int reason = tacit_folder_sync(dir->temporary.data);
  if (reason != 0) {
    return fail(dir, "sync the folder", reason, err);
  }
  if (dir->is_claimed) {
    tacit_status_t status = tacit_directory_name(dir, TACIT_UNFINISHED, err);
    if (status == TACIT_OK &&
        (unlink(dir->file.data) != 0 || (reason = tacit_folder_sync(dir->path.data)) != 0)) {
      status = fail(dir, "end the folder", reason != 0 ? reason : errno, err);
    }
    dir->temporary.length = status == TACIT_OK ? 0 : dir->temporary.length;
    return status;
  }
  /* rename would replace an empty directory that appeared meanwhile. */
  if (tacit_file_exists(dir->path.data)) {
    return exists(dir, err);
  }
  if (rename(dir->temporary.data, dir->path.data) != 0) {
    return errno == EEXIST || errno == ENOTEMPTY || errno == ENOTDIR ? exists(dir, err)
                                                                     : fail(dir, "rename", errno, err);
  }
  dir->temporary.length = 0;
  return tacit_file_confirm(dir->path.data, err);
}

bool tacit_directory_clear(tacit_directory_t *dir) {
  bool ok = true;
  if (dir->fd >= 0) {
    close(dir->fd);
  }
  if (dir->temporary.length > 0 && !dir->is_kept) {
    int fd = dir->lock >= 0 ? dir->lock : open(dir->temporary.data, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ok = fd >= 0 && remove_files(fd) && rmdir(dir->temporary.data) == 0;
    dir->lock = fd;
  }
  if (dir->lock >= 0) {
    close(dir->lock);
  }
  tacit_text_clear(&dir->path);
  tacit_text_clear(&dir->temporary);
  tacit_text_clear(&dir->file);
  *dir = tacit_directory_none;
  return ok;
}
