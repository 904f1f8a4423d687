/* Constant tables of the generators, written by tables.py at build. */
#ifndef TACIT_RANDOM_TABLES_H
#define TACIT_RANDOM_TABLES_H

#include <stdint.h>

enum {
  TACIT_CDF_WORDS = 8,        /* 512 bits a number, most significant word first */
  TACIT_N_INTEGER_PARTS = 27, /* k = 0 .. 26; P(k > 26) < 2^-525 */
  TACIT_POISSON_MEAN = 16,
  TACIT_N_POISSON = 212, /* k = 0 .. 211; P(k > 211) < 2^-512 */
  TACIT_N_LAYERS = 256
};

/* Word i of floor(2^512 F(k)), F(k) = sum_{j <= k} exp(-j^2/2) / sum_{j >= 0} exp(-j^2/2), at [i][k]. */
extern const uint64_t tacit_integer_part_cdf[TACIT_CDF_WORDS][TACIT_N_INTEGER_PARTS];

/* Word i of floor(2^512 F(k)), F(k) the probability that a Poisson number of mean 16 is at most k, at [i][k].
 */
extern const uint64_t tacit_poisson_cdf[TACIT_CDF_WORDS][TACIT_N_POISSON];

/*
 * Edges x_0 .. x_256 and densities exp(-x_i^2/2) of the ziggurat of the half-normal density: layer i lies
 * between densities i and i + 1 and has the area x_i (f_{i+1} - f_i), the same for all; x_1 is where the
 * tail begins, x_256 = 0, and x_0 is the width of a rectangle with the area of the base and its tail.
 */
extern const double tacit_ziggurat_edge[TACIT_N_LAYERS + 1];
extern const double tacit_ziggurat_density[TACIT_N_LAYERS + 1];

#endif
