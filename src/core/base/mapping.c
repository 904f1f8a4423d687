/*
 * Files as memory. What a file backs can leave memory at any time and is read again when it is looked at, so
 * that telling the system what is not needed soon changes where bytes are, and nothing else.
 */
#define _GNU_SOURCE /* O_TMPFILE, madvise */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mapping.h"
#include "base/text.h"

/* The system maps up to so much around a page that is looked at; what is dropped is dropped so far around. */
static const size_t margin = 1 << 16;

static tacit_status_t fail(const char *path, const char *what, int reason, tacit_error_t *err) {
  tacit_status_t status = reason == ENOENT   ? TACIT_ERR_MISSING
                          : reason == ENOMEM ? TACIT_ERR_MEMORY
                                             : TACIT_ERR_IO;
  return tacit_error_set(err, status, path, "cannot %s %s: %s", what, path, strerror(reason));
}

/* Map `size` bytes of a descriptor, which is closed. */
static tacit_status_t map(tacit_mapping_t *mapping, int fd, size_t size, int protection, const char *path,
                          tacit_error_t *err) {
  void *data = size > 0 ? mmap(NULL, size, protection, MAP_SHARED, fd, 0) : NULL;
  int reason = errno;
  close(fd);
  if (data == MAP_FAILED) {
    return fail(path, "map", reason, err);
  }
  *mapping = (tacit_mapping_t){.data = data, .size = size};
  return TACIT_OK;
}

tacit_status_t tacit_mapping_open(tacit_mapping_t *mapping, const char *path, size_t size,
                                  tacit_error_t *err) {
  struct stat info;
  *mapping = (tacit_mapping_t){0};
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe in its place must not be waited for */
  if (fd < 0 || fstat(fd, &info) != 0) {
    int reason = errno;
    if (fd >= 0) {
      close(fd);
    }
    return fail(path, "open", reason, err);
  }
  if (!S_ISREG(info.st_mode) || (uint64_t)info.st_size != size) {
    close(fd);
    return tacit_error_set(err, TACIT_ERR_DATA, path,
                           "%s is damaged: it is not of the size that it was written with", path);
  }
  return map(mapping, fd, size, PROT_READ, path, err);
}

/* Room on the disk is taken now: a page that finds none later could only end the program. How much, no
 * message tells: it counts records. */
static tacit_status_t reserve(int fd, size_t size, const char *path, tacit_error_t *err) {
  int reason = size == 0 ? 0 : size > (size_t)INT64_MAX ? EFBIG : posix_fallocate(fd, 0, (off_t)size);
  return reason == 0 ? TACIT_OK
                     : tacit_error_set(err, TACIT_ERR_IO, path,
                                       "cannot take the room that the records need in %s: %s", path,
                                       strerror(reason));
}

static tacit_status_t map_new(tacit_mapping_t *mapping, int fd, size_t size, const char *path,
                              tacit_error_t *err) {
  tacit_status_t status = reserve(fd, size, path, err);
  if (status != TACIT_OK) {
    close(fd);
    return status;
  }
  return map(mapping, fd, size, PROT_READ | PROT_WRITE, path, err);
}

tacit_status_t tacit_mapping_create(tacit_mapping_t *mapping, const char *path, size_t size,
                                    tacit_error_t *err) {
  *mapping = (tacit_mapping_t){0};
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  return fd >= 0 ? map_new(mapping, fd, size, path, err) : fail(path, "make", errno, err);
}

/* A file that never has a name; -1 where the file system has none of the kind. */
static int open_unnamed(const char *folder) {
#if defined(O_TMPFILE)
  return open(folder, O_TMPFILE | O_RDWR | O_EXCL | O_CLOEXEC, 0600);
#else
  (void)folder;
  return -1;
#endif
}

tacit_status_t tacit_mapping_scratch(tacit_mapping_t *mapping, const char *folder, size_t size,
                                     tacit_error_t *err) {
  *mapping = (tacit_mapping_t){0};
  int unnamed = open_unnamed(folder);
  if (unnamed >= 0) {
    return map_new(mapping, unnamed, size, folder, err);
  }
  tacit_text_t path = {0};
  tacit_text_printf(&path, "%s/tacit-XXXXXX", folder);
  if (path.failed) {
    tacit_text_clear(&path);
    return tacit_error_memory(err);
  }
  int fd = mkstemp(path.data), reason = errno; /* mode 0600 */
  if (fd >= 0 && unlink(path.data) != 0) {
    tacit_status_t status = tacit_error_set(err, TACIT_ERR_IO, folder,
                                            "cannot take the name from %s, and records are not written to a "
                                            "file with one: %s",
                                            path.data, strerror(errno));
    close(fd);
    tacit_text_clear(&path);
    return status;
  }
  tacit_text_clear(&path);
  return fd >= 0 ? map_new(mapping, fd, size, folder, err) : fail(folder, "make a file in", reason, err);
}

static void advise(const tacit_mapping_t *mapping, size_t from, size_t to, int advice) {
  size_t page = (size_t)sysconf(_SC_PAGESIZE);
  from = from / page * page;
  to = to < mapping->size ? to : mapping->size;
  if (from < to) {
    (void)madvise(mapping->data + from, to - from, advice);
  }
}

void tacit_mapping_need(const tacit_mapping_t *mapping, size_t from, size_t to) {
  advise(mapping, from, to, MADV_WILLNEED);
}

void tacit_mapping_drop(const tacit_mapping_t *mapping, size_t from, size_t to) {
  size_t end = to < mapping->size ? to + margin : to;
  advise(mapping, from > margin ? from - margin : 0, end, MADV_DONTNEED);
}

void tacit_mapping_close(tacit_mapping_t *mapping) {
  if (mapping->data != NULL) {
    munmap(mapping->data, mapping->size);
  }
  *mapping = (tacit_mapping_t){0};
}
