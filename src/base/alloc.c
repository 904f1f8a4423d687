#if defined(__linux__)
#  define _DEFAULT_SOURCE /* madvise */
#  include <sys/mman.h>
#endif

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/base_internal.h"

static const size_t huge_page = (size_t)1 << 21, large = (size_t)1 << 23;

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
  if (__builtin_mul_overflow(n, size, total) || *total > PTRDIFF_MAX - huge_page) {
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
  size_t alignment = total >= large ? huge_page : 64;
  total = (total + alignment - 1) & ~(alignment - 1);
  void *p = aligned_alloc(alignment, total);
  if (p != NULL) {
#if defined(MADV_HUGEPAGE)
    if (alignment == huge_page) {
      (void)madvise(p, total, MADV_HUGEPAGE); /* a wish: fewer pages, and fetching ahead does not stop at their ends */
    }
#endif
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
