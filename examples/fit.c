/*
 * A private regression from a program of one's own: what `tacit fit` does, by tacit/fit.h.
 *
 *     cc fit.c $(pkg-config --cflags --libs tacit) && ./a.out 'death ~ age + sex + log(flc)' flchain.csv
 * flchain.yaml
 */
#include <stdio.h>

#include "tacit/fit.h"

int main(int argc, char **argv) {
  tacit_fit_t *fit = NULL;
  tacit_error_t err = {0};
  if (argc != 4) {
    fprintf(stderr, "usage: fit FORMULA DATA SCHEMA\n");
    return 2;
  }
  const char *const settings[][2] = {
      {"schema", argv[3]}, {"family", "bernoulli"}, {"epsilon", "1"}, {"delta", "1e-6"}};
  tacit_status_t status = tacit_fit_new(&fit, argv[1], &err);
  for (size_t i = 0; i < sizeof settings / sizeof settings[0] && status == TACIT_OK; i++) {
    status = tacit_fit_set(fit, settings[i][0], settings[i][1], &err);
  }
  status = status == TACIT_OK ? tacit_fit_read(fit, argv[2], &err)
                              : status; /* behind the curator; nothing is spent */
  status = status == TACIT_OK ? tacit_fit_run(fit, NULL, NULL, &err) : status;
  if (status == TACIT_OK) {
    const tacit_draws_t *draws = tacit_fit_draws(fit);
    printf("%s%s", tacit_fit_text(fit, TACIT_FIT_TEXT_PLAN), tacit_fit_text(fit, TACIT_FIT_TEXT_SPENT));
    for (size_t j = 0; j < draws->n_reported; j++) {
      printf("%-12s last draw %.4g\n", tacit_fit_labels(fit)[j],
             tacit_draws_row(draws, 0, draws->n_saved - 1)[j]);
    }
  } else {
    fprintf(stderr, "%s: %s\n", err.field, err.message);
  }
  tacit_fit_free(fit);
  return status == TACIT_OK ? 0 : 1;
}
