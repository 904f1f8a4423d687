#define _GNU_SOURCE /* madvise, mremap, explicit_bzero */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/memory.h"

static const size_t huge_page = (size_t)1 << 21, large = (size_t)1 << 23;

/*
 * The hook of the allocation-failure tests: with the start of libsodium (random/key.c) and the number of
 * forks (random/noise.c) and the instruction set (base/isa.c) the only mutable global of the library.
 */
static atomic_size_t fail_countdown;

void tacit_alloc_fail_at(size_t k) { atomic_store(&fail_countdown, k); }

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

static size_t round_up(size_t total, size_t alignment) { return (total + alignment - 1) & ~(alignment - 1); }

/* A wish: fewer pages, and fetching ahead does not stop at their ends. */
static void wish_huge_pages(void *p, size_t total) {
#if defined(MADV_HUGEPAGE)
  (void)madvise(p, total, MADV_HUGEPAGE);
#else
  (void)p, (void)total;
#endif
}

void *tacit_alloc_zero(size_t n, size_t size) {
  size_t total;
  if (!total_size(n, size, &total) || must_fail()) {
    return NULL;
  }
  size_t alignment = total >= large ? huge_page : 64;
  total = round_up(total, alignment);
  void *p = aligned_alloc(alignment, total);
  if (p != NULL) {
    if (alignment == huge_page) {
      wish_huge_pages(p, total);
    }
    memset(p, 0, total);
  }
  return p;
}

double *tacit_alloc_arrays(size_t n, double **const *arrays, const size_t *sizes) {
  size_t total = 0;
  for (size_t i = 0; i < n; i++) {
    total += sizes[i];
  }
  double *memory = tacit_alloc_zero(total, sizeof *memory), *next = memory;
  for (size_t i = 0; memory != NULL && i < n; i++) {
    *arrays[i] = next;
    next += sizes[i];
  }
  return memory;
}

/* A sanitizer knows where an array of the heap ends, and nothing of pages. */
#if defined(__SANITIZE_ADDRESS__)
static const bool is_watched = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
static const bool is_watched = true;
#else
static const bool is_watched = false;
#endif
#else
static const bool is_watched = false;
#endif

/* Straight from the system: zeros, and given back to nobody else before the system has made them zeros again.
 * In no core dump. */
static void *map_private(size_t total) {
  void *p = mmap(NULL, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) {
    return NULL;
  }
#if defined(MADV_DONTDUMP)
  (void)madvise(p, total, MADV_DONTDUMP);
#endif
  return p;
}

/* Pages that are nowhere before they are written to; of the last huge page, which is not filled, small ones.
 */
static void *map_pages(size_t n_bytes) {
  size_t total = round_up(n_bytes, huge_page);
  char *whole = map_private(total + huge_page);
  if (whole == NULL) {
    return NULL;
  }
  size_t before = -(size_t)(uintptr_t)whole & (huge_page - 1); /* to the next multiple of a huge page */
  if (before > 0) {
    munmap(whole, before);
  }
  munmap(whole + before + total, huge_page - before);
  wish_huge_pages(whole + before, n_bytes - n_bytes % huge_page);
  return whole + before;
}

void *tacit_alloc_pages(size_t n, size_t size) {
  size_t total;
  if (!total_size(n, size, &total)) {
    return NULL;
  }
  if (total < large && is_watched) {
    return tacit_alloc_zero(n, size);
  }
  return must_fail() ? NULL : total < large ? map_private(total) : map_pages(total);
}

void tacit_free_pages(void *p, size_t n, size_t size) {
  size_t total = n * size > 0 ? n * size : 1;
  if (total < large && is_watched) {
    tacit_free(p);
  } else if (p != NULL) {
    munmap(p, total < large ? total : round_up(total, huge_page));
  }
}

void *tacit_grow_private(void *p, size_t n_old, size_t n, size_t size) {
  size_t total;
  if (!total_size(n, size, &total) || must_fail()) {
    return NULL;
  }
  if (is_watched) {
    return realloc(p, total);
  }
  if (p == NULL) {
    return map_private(total);
  }
#if defined(MREMAP_MAYMOVE)
  void *grown = mremap(p, n_old * size, total, MREMAP_MAYMOVE);
  return grown != MAP_FAILED ? grown : NULL;
#else
  void *grown = map_private(total);
  if (grown != NULL) {
    memcpy(grown, p, n_old * size);
    munmap(p, n_old * size);
  }
  return grown;
#endif
}

void tacit_free_private(void *p, size_t n, size_t size) {
  if (is_watched) {
    tacit_free(p);
  } else if (p != NULL) {
    munmap(p, n * size);
  }
}

void tacit_wipe_on_fork(void *p, size_t n) {
#if defined(MADV_WIPEONFORK)
  if (!is_watched) { /* whole pages of its own */
    (void)madvise(p, n, MADV_WIPEONFORK);
  }
#else
  (void)p, (void)n;
#endif
}

void tacit_wipe(void *p, size_t n) {
  if (p != NULL) {
    explicit_bzero(p, n);
  }
}

void *tacit_realloc(void *p, size_t n, size_t size) {
  size_t total;
  if (!total_size(n, size, &total) || must_fail()) {
    return NULL;
  }
  return realloc(p, total);
}

void *tacit_grow(void *items, size_t n, size_t *capacity, size_t size) {
  if (n < *capacity) {
    return items;
  }
  size_t more = *capacity < 8 ? 16 : 2 * *capacity;
  void *grown = tacit_realloc(items, more, size);
  *capacity = grown != NULL ? more : *capacity;
  return grown;
}

char *tacit_strdup(const char *text) {
  size_t n = strlen(text) + 1;
  char *copy = tacit_alloc(n, 1);
  if (copy != NULL) {
    memcpy(copy, text, n);
  }
  return copy;
}

void tacit_free(void *p) { free(p); }
