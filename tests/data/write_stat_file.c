/* write_stat_file ENDING FILE ROWS: the visits of stat_testing.h as a file of SAS, SPSS or Stata; sas7bcat:
 * the catalogue of SAS's labels. */
#include <stdlib.h>

#include "stat_testing.h"

int main(int argc, char **argv) {
  long n = argc == 4 ? strtol(argv[3], NULL, 10) : 0;
  visit_t *visits = malloc(((size_t)n + 1) * sizeof *visits);
  for (long i = 0; visits != NULL && i < n; i++) {
    visits[i] = visit_of(i);
  }
  int status = argc == 4 && strcmp(argv[1], "sas7bcat") == 0 ? write_catalog(argv[2]) : 1;
  for (size_t k = 0; argc == 4 && visits != NULL && k < N_STAT_KINDS; k++) {
    if (strcmp(stat_kinds[k].ending, argv[1]) == 0) {
      status = write_stat(&stat_kinds[k], argv[2], visits, n);
    }
  }
  free(visits);
  return status;
}
