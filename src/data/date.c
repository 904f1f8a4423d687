/*
 * Dates and times as days since 1970-01-01, in the Gregorian calendar without time zones or leap seconds.
 */
#include "data/rules.h"

#include <stdio.h>

/* Years begin in March, so that a leap day ends one; 400 years are 146097 days. */
int64_t tacit_days_of(int64_t year, int64_t month, int64_t day) {
  year -= month <= 2;
  int64_t era = (year >= 0 ? year : year - 399) / 400, of_era = year - era * 400;
  int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
  return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

const char *tacit_date_format(double days, char out[TACIT_DATE_SIZE]) {
  int64_t day = (int64_t)days + 719468, era = (day >= 0 ? day : day - 146096) / 146097,
          of_era = day - era * 146097;
  int64_t year = (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
  int64_t of_year = of_era - (365 * year + year / 4 - year / 100), month = (5 * of_year + 2) / 153;
  day = of_year - (153 * month + 2) / 5 + 1;
  month += month < 10 ? 3 : -9;
  snprintf(out, TACIT_DATE_SIZE, "%04lld-%02lld-%02lld", (long long)(year + era * 400 + (month <= 2)),
           (long long)month, (long long)day);
  return out;
}

static bool is_leap(int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

/* A number of exactly `digits` digits at *at, which moves on. */
static bool take_number(const char *text, size_t n, size_t *at, size_t digits, int64_t *number) {
  *number = 0;
  if (n - *at < digits) {
    return false;
  }
  for (size_t i = 0; i < digits; i++) {
    char c = text[(*at)++];
    if (c < '0' || c > '9') {
      return false;
    }
    *number = 10 * *number + (c - '0');
  }
  return true;
}

static bool take(const char *text, size_t n, size_t *at, char c) {
  bool is_there = *at < n && text[*at] == c;
  *at += is_there;
  return is_there;
}

/* HH:MM, HH:MM:SS, HH:MM:SS.fff as a part of a day. */
static bool parse_time(const char *text, size_t n, double *day) {
  size_t at = 0;
  int64_t hour, minute, second = 0, digit;
  double fraction = 0, unit = 0.1;
  if (!take_number(text, n, &at, 2, &hour) || !take(text, n, &at, ':') ||
      !take_number(text, n, &at, 2, &minute)) {
    return false;
  }
  if (take(text, n, &at, ':') && !take_number(text, n, &at, 2, &second)) {
    return false;
  }
  if (take(text, n, &at, '.')) {
    while (at < n && take_number(text, n, &at, 1, &digit)) {
      fraction += (double)digit * unit;
      unit /= 10;
    }
  }
  *day = ((double)(hour * 3600 + minute * 60 + second) + fraction) / 86400;
  return at == n && hour < 24 && minute < 60 && second < 61 && text[n - 1] != '.' && text[n - 1] != ':';
}

bool tacit_date_parse(const char *text, size_t n, double *days) {
  static const int64_t lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  size_t at = 0;
  int64_t year, month, day;
  double time = 0;
  bool is_date = take_number(text, n, &at, 4, &year) && take(text, n, &at, '-') &&
                 take_number(text, n, &at, 2, &month) && take(text, n, &at, '-') &&
                 take_number(text, n, &at, 2, &day) && month >= 1 && month <= 12 && day >= 1 &&
                 day <= lengths[month - 1] + (month == 2 && is_leap(year));
  if (is_date && at < n) {
    is_date = (take(text, n, &at, 'T') || take(text, n, &at, ' ')) && parse_time(text + at, n - at, &time);
  }
  *days = is_date ? (double)tacit_days_of(year, month, day) + time : 0;
  return is_date;
}
