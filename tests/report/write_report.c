/*
 * Write a made-up report for the readers in tests/python:
 *
 *     write_report PATH [parameters=N] [chains=N] [draws=N] [warmup=N] [thin=N] [save] [dense|unit] [exposed]
 *         [stopped]
 */
#include "report/report.h"
#include "report/support.h"

static size_t number_of(int argc, char **argv, const char *key, size_t otherwise) {
  size_t n = strlen(key);
  for (int i = 2; i < argc; i++) {
    if (strncmp(argv[i], key, n) == 0 && argv[i][n] == '=') {
      return (size_t)strtoul(argv[i] + n + 1, NULL, 10);
    }
  }
  return otherwise;
}

static bool has(int argc, char **argv, const char *word) {
  for (int i = 2; i < argc; i++) {
    if (strcmp(argv[i], word) == 0) {
      return true;
    }
  }
  return false;
}

int main(int argc, char **argv) {
  size_t n = number_of(argc, argv, "parameters", 4), n_warmup = number_of(argc, argv, "warmup", 50);
  if (argc < 2 || n > SUPPORT_MAX_NAMES) {
    fprintf(stderr, "usage: write_report PATH [key=value ...]\n");
    return 2;
  }
  sample_run_t *run = sample_run_new(number_of(argc, argv, "chains", 4), n_warmup,
                                     number_of(argc, argv, "draws", 500), n, has(argc, argv, "exposed"));
  tacit_report_setting_t settings[16];
  memcpy(settings, run->report.settings, run->report.n_settings * sizeof *settings);
  settings[run->report.n_settings] =
      (tacit_report_setting_t){"save-warmup", has(argc, argv, "save") ? "true" : "false", false};
  run->report.settings = settings;
  run->report.n_settings++;
  run->report.thin = number_of(argc, argv, "thin", 1);
  if (has(argc, argv, "unit")) {
    run->report.inv_metric = NULL;
  } else if (has(argc, argv, "dense")) {
    memset(run->inv_metric, 0, sizeof run->inv_metric);
    for (size_t j = 0; j < n; j++) {
      run->inv_metric[j * n + j] = 0.01 * (double)(j + 1);
    }
    run->report.inv_metric_is_dense = true;
  }
  if (has(argc, argv, "stopped")) {
    run->draws.n_saved -= run->draws.n_draws / 3;
    run->report.end = "budget";
  }
  tacit_error_t err;
  tacit_status_t status = tacit_report_write(&run->report, argv[1], &err);
  if (status != TACIT_OK) {
    fprintf(stderr, "%s\n", err.message);
  }
  sample_run_clear(run);
  return status == TACIT_OK ? 0 : 1;
}
