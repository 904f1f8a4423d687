/*
 * The privacy profile of the events as a table and as a picture.
 */
#include <string.h>

#include "base/error.h"
#include "base/file.h"
#include "base/number.h"
#include "cli/account.h"
#include "tacit/report.h"

enum { n_points = 49 };

static tacit_status_t write_csv(const tacit_profile_point_t *points, const char *path, tacit_error_t *err) {
  tacit_text_t text = {0};
  tacit_text_printf(&text, "epsilon,delta,delta_lower\n");
  for (size_t i = 0; i < n_points; i++) {
    char numbers[3][TACIT_NUMBER_SIZE];
    tacit_text_printf(&text, "%s,%s,%s\n", tacit_number_exact(points[i].epsilon, numbers[0]),
                      tacit_number_exact(points[i].delta, numbers[1]),
                      tacit_number_exact(points[i].delta_lower, numbers[2]));
  }
  tacit_status_t status =
      text.failed ? tacit_error_memory(err) : tacit_file_create(path, text.data, text.length, err);
  tacit_text_clear(&text);
  return status;
}

tacit_status_t account_curve_write(const tacit_event_t *events, size_t n_events,
                                   const tacit_account_options_t *options, const char *csv, const char *svg,
                                   tacit_error_t *err) {
  tacit_profile_point_t points[n_points];
  tacit_status_t status = tacit_account_profile(events, n_events, options, n_points, points, err);
  if (status == TACIT_OK && csv != NULL) {
    status = write_csv(points, csv, err);
  }
  if (status == TACIT_OK && svg != NULL) {
    char *picture;
    status = tacit_report_profile_svg(points, n_points, &picture, err);
    if (status == TACIT_OK) {
      status = tacit_file_create(svg, picture, strlen(picture), err);
      tacit_report_text_free(picture);
    }
  }
  return status;
}
