/* doc/date.c - dates as ISO 8601 text, in and out.
 *
 * The proleptic Gregorian calendar in UTC, years 1 to 9999, milliseconds.
 * Days are counted from 1 March of year 0, so that the leap day ends a year
 * and four centuries repeat exactly (146,097 days).
 *
 * Invariant: what grb_date_print wrote, grb_date_parse reads to the same
 *            number; neither depends on locale, time zone or C library.
 * Threads:   functions of their arguments only.
 * Owns:      nothing.
 */
#include "doc/doc.h"

#define DAY_MS 86400000
#define ERA_DAYS 146097
#define EPOCH_DAYS 719468 /* from 0000-03-01 to 1970-01-01 */

static int64_t days_from_date(int year, int month, int day) {
    int64_t y = year - (month <= 2);
    int64_t era = y / 400, of_era = y % 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 +
           of_year - EPOCH_DAYS;
}

static void date_from_days(int64_t days, int *year, int *month, int *day) {
    days += EPOCH_DAYS; /* never negative from year 1 on */
    int64_t era = days / ERA_DAYS, d = days % ERA_DAYS;
    int64_t y = (d - d / 1460 + d / 36524 - d / 146096) / 365;
    int64_t of_year = d - (365 * y + y / 4 - y / 100);
    int64_t m = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * m + 2) / 5 + 1);
    *month = (int)(m < 10 ? m + 3 : m - 9);
    *year = (int)(y + era * 400 + (*month <= 2));
}

static int month_days(int year, int month) {
    static const uint8_t days[] = {31, 28, 31, 30, 31, 30,
                                   31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* What is left of the text; every step says whether it was there. */
typedef struct scan {
    const char *at, *end;
} scan;

static bool char_take(scan *s, char c) {
    if (s->at == s->end || *s->at != c) return false;
    s->at++;
    return true;
}

static bool digits_take(scan *s, int count, int least, int most, int *out) {
    int v = 0;
    if (s->end - s->at < count) return false;
    for (int i = 0; i < count; i++, s->at++) {
        if (*s->at < '0' || *s->at > '9') return false;
        v = 10 * v + (*s->at - '0');
    }
    *out = v;
    return v >= least && v <= most;
}

/* ".123456" floored to milliseconds; nothing is 0. */
static bool fraction_take(scan *s, int *ms) {
    *ms = 0;
    if (!char_take(s, '.')) return true;
    int count = 0;
    for (; s->at < s->end && *s->at >= '0' && *s->at <= '9'; s->at++, count++)
        if (count < 3) *ms = 10 * *ms + (*s->at - '0');
    for (int i = count; i < 3; i++) *ms *= 10;
    return count > 0;
}

/* "Z", "+01:00", "+0100" or "+01"; minutes to the east. */
static bool zone_take(scan *s, int *minutes) {
    int h, m;
    *minutes = 0;
    if (char_take(s, 'Z') || char_take(s, 'z')) return true;
    int sign = char_take(s, '+') ? 1 : char_take(s, '-') ? -1 : 0;
    if (!sign || !digits_take(s, 2, 0, 23, &h)) return false;
    m = 0;
    if (s->at < s->end) {
        char_take(s, ':');
        if (!digits_take(s, 2, 0, 59, &m)) return false;
    }
    *minutes = sign * (60 * h + m);
    return true;
}

static bool time_take(scan *s, int64_t *ms) {
    int hour, minute, second = 0, fraction = 0, east;
    if (!digits_take(s, 2, 0, 23, &hour) || !char_take(s, ':') ||
        !digits_take(s, 2, 0, 59, &minute))
        return false;
    if (char_take(s, ':') &&
        (!digits_take(s, 2, 0, 59, &second) || !fraction_take(s, &fraction)))
        return false;
    if (!zone_take(s, &east)) return false;
    *ms =
        ((int64_t)(hour * 60 + minute - east) * 60 + second) * 1000 + fraction;
    return true;
}

bool grb_date_parse(const char *text, size_t size, int64_t *ms) {
    scan s = {text, text + size};
    int year, month, day;
    int64_t of_day = 0;
    if (!digits_take(&s, 4, 1, 9999, &year) || !char_take(&s, '-') ||
        !digits_take(&s, 2, 1, 12, &month) || !char_take(&s, '-') ||
        !digits_take(&s, 2, 1, 31, &day) || day > month_days(year, month))
        return false;
    if (s.at < s.end) {
        if (!char_take(&s, 'T') && !char_take(&s, 't') && !char_take(&s, ' '))
            return false;
        if (!time_take(&s, &of_day) || s.at < s.end) return false;
    }
    *ms = days_from_date(year, month, day) * DAY_MS + of_day;
    return *ms >= GRB_DATE_MIN && *ms <= GRB_DATE_MAX;
}

static char *digits_put(char *at, int count, int v) {
    for (int i = count - 1; i >= 0; i--, v /= 10) at[i] = (char)('0' + v % 10);
    return at + count;
}

size_t grb_date_print(int64_t ms, char out[GRB_DATE_SIZE]) {
    int64_t days = ms / DAY_MS, rest = ms % DAY_MS;
    int year, month, day, of_day;
    if (rest < 0) {
        days--;
        rest += DAY_MS;
    }
    of_day = (int)rest;
    date_from_days(days, &year, &month, &day);
    char *at = digits_put(out, 4, year);
    *at++ = '-';
    at = digits_put(at, 2, month);
    *at++ = '-';
    at = digits_put(at, 2, day);
    *at++ = 'T';
    at = digits_put(at, 2, of_day / 3600000);
    *at++ = ':';
    at = digits_put(at, 2, of_day / 60000 % 60);
    *at++ = ':';
    at = digits_put(at, 2, of_day / 1000 % 60);
    if (of_day % 1000) {
        *at++ = '.';
        at = digits_put(at, 3, of_day % 1000);
    }
    *at++ = 'Z';
    *at = 0;
    return (size_t)(at - out);
}
