/*
 * A disk that is full at a chosen moment, put before a program by LD_PRELOAD: calls that write under the
 * folder FULL_DISK_UNDER are counted. FULL_DISK_AT=K FULL_DISK_HOW=once: call K fails for want of space;
 * full: all from K on, until a file is cut or removed; dead: all from K on. FULL_DISK_COUNT: a file that gets
 * the number of calls.
 */
/* Both names of each function, as they are. */
#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE
#undef _POSIX_C_SOURCE
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#pragma GCC visibility push(default)

static long n_calls;
static int was_cleared;

static long number(const char *name) {
  const char *text = getenv(name);
  return text != NULL ? strtol(text, NULL, 10) : 0;
}

static int is_how(const char *how) {
  const char *text = getenv("FULL_DISK_HOW");
  return text != NULL && strcmp(text, how) == 0;
}

static int is_under(const char *path) {
  const char *under = getenv("FULL_DISK_UNDER");
  return under != NULL && strncmp(path, under, strlen(under)) == 0;
}

static int is_fd_under(int fd) {
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t n = readlink(link, path, sizeof path - 1);
  path[n > 0 ? n : 0] = '\0';
  return is_under(path);
}

/* Does this call fail? */
static int fails(int is_here) {
  if (!is_here) {
    return 0;
  }
  long at = number("FULL_DISK_AT");
  n_calls++;
  return at > 0 && (is_how("once") ? n_calls == at : n_calls >= at && !(is_how("full") && was_cleared));
}

static void clear(int is_here) {
  was_cleared = was_cleared || (is_here && number("FULL_DISK_AT") > 0 && n_calls >= number("FULL_DISK_AT"));
}

__attribute__((destructor)) static void tell(void) {
  const char *path = getenv("FULL_DISK_COUNT");
  FILE *file = path != NULL ? fopen(path, "w") : NULL;
  if (file != NULL) {
    fprintf(file, "%ld\n", n_calls);
    fclose(file);
  }
}

#define REAL(name) ((__typeof__(&name))(uintptr_t)dlsym(RTLD_NEXT, #name))
#define FULL(value) (errno = ENOSPC, (value))

ssize_t write(int fd, const void *bytes, size_t n) {
  return fails(is_fd_under(fd)) ? FULL(-1) : REAL(write)(fd, bytes, n);
}
int fsync(int fd) { return fails(is_fd_under(fd)) ? FULL(-1) : REAL(fsync)(fd); }
int posix_fallocate(int fd, off_t from, off_t n) {
  return fails(is_fd_under(fd)) ? ENOSPC : REAL(posix_fallocate)(fd, from, n);
}
int posix_fallocate64(int fd, off_t from, off_t n) {
  return fails(is_fd_under(fd)) ? ENOSPC : REAL(posix_fallocate)(fd, from, n);
}
int mkdir(const char *path, mode_t mode) {
  return fails(is_under(path)) ? FULL(-1) : REAL(mkdir)(path, mode);
}
int rename(const char *from, const char *to) {
  return fails(is_under(to)) ? FULL(-1) : REAL(rename)(from, to);
}

int unlink(const char *path) {
  clear(is_under(path));
  return REAL(unlink)(path);
}

int truncate(const char *path, off_t n) {
  clear(is_under(path));
  return REAL(truncate)(path, n);
}

int truncate64(const char *path, off_t n) { return truncate(path, n); }

static int open_at(const char *name, const char *path, int flags, mode_t mode) {
  if ((flags & O_CREAT) != 0 && fails(is_under(path))) {
    return FULL(-1);
  }
  return ((int (*)(const char *, int, ...))(uintptr_t)dlsym(RTLD_NEXT, name))(path, flags, mode);
}

static mode_t mode_of(int flags, va_list more) { return (flags & O_CREAT) != 0 ? va_arg(more, mode_t) : 0; }

int open(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_at("open", path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list more;
  va_start(more, flags);
  mode_t mode = mode_of(flags, more);
  va_end(more);
  return open_at("open64", path, flags, mode);
}
