/*
 * What tacit_door_shape_add() adds for made-up units, inside of their shapes or not, as examples for Coq:
 * scripts/check-proofs asks whether the definitions of proofs/, which the lemmas are about, add the same.
 */
#include <inttypes.h>
#include <stdio.h>

#include "door/door_internal.h"

enum {
  MAX_ROWS = 3,
  MAX_DIM = 5,
  MAX_BLOCKS = 3,
  MAX_SUMS = MAX_BLOCKS * MAX_DIM * (MAX_DIM + 3),
  N_EXAMPLES = 300
};

static uint64_t state;

static int64_t from_to(int64_t low, int64_t high) { /* SplitMix64 */
  uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return low + (int64_t)((z ^ (z >> 31)) % (uint64_t)(high - low + 1));
}

static tacit_door_shape_t any_shape(tacit_door_shape_kind_t kind) {
  tacit_door_shape_t s = {.kind = kind,
                          .dim = (size_t)from_to(2, MAX_DIM),
                          .radius = from_to(1, from_to(0, 1) == 0 ? 9 : 1 << 22)};
  switch (kind) {
  case TACIT_SHAPE_BOX:
    s.low = -from_to(0, s.radius), s.high = from_to(1, s.radius);
    break;
  case TACIT_SHAPE_CELL:
  case TACIT_SHAPE_SQUARES:
    s.high = from_to(0, MAX_BLOCKS);
    break;
  case TACIT_SHAPE_PRODUCTS:
    s.high = from_to(0, s.radius);
    break;
  default:
    break;
  }
  return s;
}

/* Mostly inside, but for a ball's corners; now and then just beyond. */
static int64_t any_number(const tacit_door_shape_t *s) {
  int64_t some = s->radius / 2 + 1;
  switch (s->kind) {
  case TACIT_SHAPE_BOX:
    return from_to(s->low - (from_to(0, 9) == 0), s->high + (from_to(0, 9) == 0));
  case TACIT_SHAPE_CELL:
    return from_to(-1, (int64_t)s->dim + 1);
  case TACIT_SHAPE_PRODUCTS:
    return from_to(-s->radius, s->radius + (from_to(0, 9) == 0));
  default:
    return from_to(-some, some);
  }
}

static void print_list(size_t n, const int64_t *k) {
  printf("[");
  for (size_t i = 0; i < n; i++) {
    printf("%s%" PRId64, i > 0 ? "; " : "", k[i]);
  }
  printf("]");
}

static void print_rows(const tacit_door_shape_t *s, size_t n_rows, const int64_t *k) {
  bool has_blocks = s->high > 1;
  printf("[");
  for (size_t t = 0; t < n_rows; t++, k += s->dim) {
    printf("%s(%" PRId64 "%%nat, ", t > 0 ? "; " : "", has_blocks ? *k : 0);
    k += has_blocks;
    print_list(s->dim, k);
    printf(")");
  }
  printf("]");
}

/* What proofs/ say that a unit adds. */
static void print_proved(const tacit_door_shape_t *s, size_t n_rows, const int64_t *k) {
  int64_t r = s->radius;
  size_t d = s->dim;
  switch (s->kind) {
  case TACIT_SHAPE_BALL:
    printf("let k := "), print_list(d, k), printf(" in checked (is_in_ball %" PRId64 " k) k", r);
    break;
  case TACIT_SHAPE_BOX:
    printf("let k := "), print_list(d, k),
        printf(" in checked (is_in_box (%" PRId64 ") %" PRId64 " k) k", s->low, s->high);
    break;
  case TACIT_SHAPE_CELL:
    printf("let k := "), print_list(s->high > 0 ? (size_t)s->high : 1, k);
    printf(" in checked (do_cells_rise %zu 0 k) (gains %zu%%nat %" PRId64 " k)", d, d, r);
    break;
  case TACIT_SHAPE_SQUARES:
    printf("let k := "), print_rows(s, n_rows, k),
        printf(" in checked (is_in_ball %" PRId64 " (all_of k)) (squares %zu%%nat k)", r, d);
    break;
  default:
    printf("let k := "), print_list(d - (s->high > 0), k);
    if (s->high > 0) {
      printf(" in let r := %" PRId64 " in checked (is_in_box (-%" PRId64 ") %" PRId64
             " k && is_in_box (-%" PRId64 ") %" PRId64 " [r]) (products %" PRId64 " k r)",
             k[d - 1], r, r, s->high, s->high, r);
    } else {
      printf(" in checked (is_in_box (-%" PRId64 ") %" PRId64 " k) (products_without_response %" PRId64 " k)",
             r, r, r);
    }
  }
}

int main(void) {
  printf("From Tacit Require Import Vectors Shapes Squares Products.\nOpen Scope bool_scope.\nOpen Scope "
         "Z_scope.\n"
         "Definition same (u v : list Z) : bool := forallb (Z.eqb 0) (minus u v).\n");
  size_t n_inside = 0;
  for (size_t i = 0; i < N_EXAMPLES; i++) {
    tacit_door_shape_t s = any_shape((tacit_door_shape_kind_t)(i % 5));
    size_t n_rows = s.kind == TACIT_SHAPE_SQUARES ? (size_t)from_to(0, MAX_ROWS) : 1,
           n = tacit_door_shape_n_written(&s, n_rows);
    int64_t k[MAX_ROWS * (MAX_DIM + 1)] = {0};
    tacit_wide_t totals[MAX_SUMS] = {0};
    for (size_t j = 0; j < n; j++) {
      bool is_block = s.kind == TACIT_SHAPE_SQUARES && s.high > 1 && j % (s.dim + 1) == 0,
           is_response = s.kind == TACIT_SHAPE_PRODUCTS && s.high > 0 && j + 1 == n;
      k[j] = is_block      ? from_to(0, s.high - 1)
             : is_response ? from_to(-s.high, s.high + (from_to(0, 9) == 0))
                           : any_number(&s);
    }
    n_inside += tacit_door_shape_add(&s, n_rows, k, totals);
    printf("Example unit_%zu : same (", i);
    print_proved(&s, n_rows, k);
    printf(") [");
    for (size_t j = 0; j < tacit_door_shape_n_sums(&s); j++) {
      printf("%s%" PRId64, j > 0 ? "; " : "", (int64_t)totals[j]);
    }
    printf("] = true. Proof. vm_compute. reflexivity. Qed.\n");
  }
  printf("(* %zu of %d inside *)\n", n_inside, N_EXAMPLES);
  return n_inside >= N_EXAMPLES / 4 && n_inside <= N_EXAMPLES * 9 / 10 ? 0 : 1;
}
