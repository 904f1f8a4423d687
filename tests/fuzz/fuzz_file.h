/* Bytes as a file that is in no file system. */
#ifndef TACIT_FUZZ_FILE_H
#define TACIT_FUZZ_FILE_H

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A descriptor, and a path that opens it; -1 where there is none. */
static inline int fuzz_file(const void *bytes, size_t n, char path[64]) {
  int file = memfd_create("fuzz", 0);
  if (file >= 0 && write(file, bytes, n) != (ssize_t)n) {
    close(file);
    return -1;
  }
  snprintf(path, 64, "/proc/self/fd/%d", file);
  return file;
}

#endif
