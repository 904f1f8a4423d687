/* Pieces of log-likelihoods, DOUBLE_LANES records at one parameter vector, in the order of
 * tacit_record_model_t.log_lik_blocks. */
#ifndef TACIT_PIECES_H
#define TACIT_PIECES_H

#include "base/vector.h"

typedef struct tacit_pieces {
  const float *block; /* of the next piece */
  const double *theta, *first_theta;
  double *out, *out_end;
  size_t lane, k, n_theta, dim, n_columns;
} tacit_pieces_t;

TACIT_INLINE tacit_pieces_t tacit_pieces(const float *block, size_t n_columns, size_t n_blocks,
                                         const double *theta, size_t dim, size_t n_theta, double *out) {
  return (tacit_pieces_t){.block = block,
                          .theta = theta,
                          .first_theta = theta,
                          .out = out,
                          .out_end = out + n_blocks * n_theta * 16,
                          .n_theta = n_theta,
                          .dim = dim,
                          .n_columns = n_columns};
}

/* The next piece; the last one again when there is no more, so that groups can be filled. */
TACIT_INLINE void tacit_pieces_next(tacit_pieces_t *pieces, const float **block, const double **theta,
                                    double **out) {
  *block = pieces->block + pieces->lane;
  *theta = pieces->theta;
  *out = pieces->out;
  if (pieces->out + DOUBLE_LANES == pieces->out_end) {
    return;
  }
  pieces->out += DOUBLE_LANES;
  pieces->lane += DOUBLE_LANES;
  if (pieces->lane == 16) {
    pieces->lane = 0;
    pieces->theta += pieces->dim;
    if (++pieces->k == pieces->n_theta) {
      pieces->k = 0;
      pieces->theta = pieces->first_theta;
      pieces->block += pieces->n_columns * 16;
    }
  }
}

#endif
