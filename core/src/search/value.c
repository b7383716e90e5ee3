/* search/value.c - reads the text of a query as a number, boolean or date.
 *
 * A match on a field that is not text takes the whole text as one value of
 * the field's kind: 42, 1.5, true, 2026-11-30, 2026-11-30T08:00:00.250Z or
 * milliseconds since 1970.
 *
 * Invariant: the whole text is used up, or nothing is read.
 * Threads: any.
 * Owns: nothing.
 */
#include "search/weight.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define VALUE_TEXT_MAX 64

static bool int_read(const char *text, int64_t *out) {
    char *end;
    errno = 0;
    *out = strtoll(text, &end, 10);
    return *text != '\0' && *text != ' ' && *end == '\0' && errno == 0;
}

/* `width` digits; returns behind them, NULL if there are not so many. */
static const char *digits_read(const char *at, int width, int64_t *out) {
    *out = 0;
    for (int i = 0; i < width; i++, at++) {
        if (*at < '0' || *at > '9') return NULL;
        *out = *out * 10 + (*at - '0');
    }
    return at;
}

static const char *sign_skip(const char *at, char sign) {
    return at && *at == sign ? at + 1 : NULL;
}

/* Days since 1970-01-01 in the proleptic Gregorian calendar, counted in years
 * that begin in March so that the leap day comes last. */
static int64_t days_from_date(int64_t year, int64_t month, int64_t day) {
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t m = month <= 2 ? month + 9 : month - 3;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 -
           719468;
}

static bool date_valid(int64_t year, int64_t month, int64_t day) {
    static const int8_t days[] = {31, 28, 31, 30, 31, 30,
                                  31, 31, 30, 31, 30, 31};
    bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    if (year < 1 || month < 1 || month > 12 || day < 1) return false;
    return day <= days[month - 1] + (month == 2 && leap);
}

/* "08:00:00", "08:00" with an optional fraction and Z; false if broken. */
static bool time_read(const char *at, int64_t *ms) {
    int64_t hour, minute, second = 0, fraction = 0, scale = 100, digit;
    at = digits_read(at, 2, &hour);
    at = sign_skip(at, ':');
    if (!at || !(at = digits_read(at, 2, &minute))) return false;
    if (*at == ':' && !(at = digits_read(at + 1, 2, &second))) return false;
    if (*at == '.') {
        at++;
        if (*at < '0' || *at > '9') return false;
        for (; digits_read(at, 1, &digit); at++, scale /= 10)
            fraction += digit * scale;
    }
    if (*at == 'Z') at++;
    *ms = ((hour * 60 + minute) * 60 + second) * 1000 + fraction;
    return *at == '\0' && hour < 24 && minute < 60 && second < 60;
}

static bool date_read(const char *text, int64_t *out) {
    int64_t year, month, day, ms = 0;
    const char *at = digits_read(text, 4, &year);
    at = sign_skip(at, '-');
    if (at) at = digits_read(at, 2, &month);
    at = sign_skip(at, '-');
    if (at) at = digits_read(at, 2, &day);
    if (!at) return int_read(text, out);
    if (!date_valid(year, month, day)) return false;
    if (*at == 'T' && !time_read(at + 1, &ms)) return false;
    if (*at != 'T' && *at != '\0') return false;
    *out = days_from_date(year, month, day) * 86400000 + ms;
    return true;
}

static bool bool_read(const char *text, int *out) {
    *out = strcmp(text, "true") == 0 || strcmp(text, "1") == 0;
    return *out || strcmp(text, "false") == 0 || strcmp(text, "0") == 0;
}

bool grb_value_read(grebe_kind kind, const char *text, size_t size,
                    grebe_value *out) {
    char copy[VALUE_TEXT_MAX], *end;
    if (size == 0 || size >= sizeof copy || memchr(text, 0, size))
        return false;
    memcpy(copy, text, size);
    copy[size] = '\0';
    out->kind = kind;
    switch (kind) {
    case GREBE_INT:
        return int_read(copy, &out->as.integer);
    case GREBE_DATETIME:
        return date_read(copy, &out->as.integer);
    case GREBE_BOOL:
        return bool_read(copy, &out->as.boolean);
    case GREBE_DOUBLE:
        out->as.number = strtod(copy, &end);
        return *end == '\0' && copy[0] != ' ' && !isnan(out->as.number);
    default:
        return false;
    }
}
