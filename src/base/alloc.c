#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_internal.h"

/* The hook of the allocation-failure tests: the one mutable global of the library. */
static atomic_size_t fail_countdown;

void tacit_alloc_fail_at(size_t k) {
  atomic_store(&fail_countdown, k);
}

static bool must_fail(void) {
  size_t left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
  while (left != 0) {
    if (atomic_compare_exchange_weak(&fail_countdown, &left, left - 1)) {
      return left == 1;
    }
  }
  return false;
}

static bool total_size(size_t n, size_t size, size_t *total) {
  if (__builtin_mul_overflow(n, size, total) || *total > PTRDIFF_MAX - 64) {
    return false;
  }
  if (*total == 0) {
    *total = 1;
  }
  return true;
}

void *tacit_alloc(size_t n, size_t size) {
  size_t total;
  if (!total_size(n, size, &total) || must_fail()) {
    return NULL;
  }
  return malloc(total);
}

void *tacit_alloc_zero(size_t n, size_t size) {
  size_t total;
  if (!total_size(n, size, &total) || must_fail()) {
    return NULL;
  }
  total = (total + 63) & ~(size_t)63;
  void *p = aligned_alloc(64, total);
  if (p != NULL) {
    memset(p, 0, total);
  }
  return p;
}

void *tacit_realloc(void *p, size_t n, size_t size) {
  size_t total;
  if (!total_size(n, size, &total) || must_fail()) {
    return NULL;
  }
  return realloc(p, total);
}

char *tacit_strdup(const char *text) {
  size_t n = strlen(text) + 1;
  char *copy = tacit_alloc(n, 1);
  if (copy != NULL) {
    memcpy(copy, text, n);
  }
  return copy;
}

void tacit_free(void *p) {
  free(p);
}
