/*
 * Turns at a ledger: a file beside it, LEDGER-turns, hands out numbers, and whoever holds a number holds a
 * lock on the byte at its place. It is one's turn when no lower byte is locked. The kernel drops the locks of
 * a process that ends, however it ends; the file's contents are a counter and nothing else, and any contents
 * will do.
 */
#define _GNU_SOURCE /* for locks of open files, which threads do not share */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/pool.h"
#include "ledger/ledger_internal.h"

static const off_t first_place = 16;
static const uint64_t last_place = UINT64_C(1) << 60;

void tacit_sleep(double seconds) {
  struct timespec left = {.tv_sec = (time_t)seconds,
                          .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)};
  nanosleep(&left, NULL); /* shorter if a signal comes: everybody looks at the clock again */
}

static bool lock(int fd, short type, off_t start) {
  struct flock at = {.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = 1};
  return fcntl(fd, F_OFD_SETLK, &at) == 0;
}

/* Is any place before this one taken? */
static bool is_waiting(int fd, off_t place) {
  struct flock at = {
      .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = first_place, .l_len = place - first_place};
  return at.l_len > 0 && fcntl(fd, F_OFD_GETLK, &at) == 0 && at.l_type != F_UNLCK;
}

/* The same people may open it as may open the ledger. */
static int open_turns(const char *path) {
  struct stat info;
  tacit_text_t name = {0};
  tacit_text_printf(&name, "%s-turns", path);
  int fd = name.failed || stat(path, &info) != 0
               ? -1
               : open(name.data, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, info.st_mode & 0666);
  if (fd >= 0 && fchmod(fd, info.st_mode & 0666) != 0) {
    errno = 0; /* another's file, with the mode that they gave it */
  }
  tacit_text_clear(&name);
  return fd;
}

/* With the counter's byte locked: the next number that nobody holds; 0 if the file cannot be written. */
static off_t draw(int fd) {
  uint64_t number = 0;
  if (pread(fd, &number, sizeof number, 0) != (ssize_t)sizeof number || number >= last_place) {
    number = 0;
  }
  do {
    number++;
  } while (!lock(fd, F_WRLCK, first_place + (off_t)number) && number < last_place);
  return pwrite(fd, &number, sizeof number, 0) == (ssize_t)sizeof number ? first_place + (off_t)number : 0;
}

void tacit_turn_take(tacit_turn_t *turn, const char *path, double deadline) {
  tacit_turn_give_up(turn);
  turn->fd = open_turns(path);
  off_t place = 0;
  while (turn->fd >= 0 && place == 0 && tacit_clock() < deadline) {
    if (lock(turn->fd, F_WRLCK, 0)) {
      place = draw(turn->fd);
      lock(turn->fd, F_UNLCK, 0);
      if (place == 0) {
        tacit_turn_give_up(turn);
      }
    } else if (errno == EAGAIN || errno == EACCES || errno == EINTR) {
      tacit_sleep(0.0005);
    } else {
      tacit_turn_give_up(turn); /* a file system without such locks */
    }
  }
  while (turn->fd >= 0 && is_waiting(turn->fd, place) && tacit_clock() < deadline) {
    tacit_sleep(0.002);
  }
}

void tacit_turn_give_up(tacit_turn_t *turn) {
  if (turn->fd >= 0) {
    close(turn->fd);
  }
  turn->fd = -1;
}
