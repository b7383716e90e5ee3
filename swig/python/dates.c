/* python/dates.c - datetimes to milliseconds since 1970 UTC and back.
 *
 * No guessing: a datetime without a zone is refused with a hint, a text with a
 * time needs Z or an offset; a day alone is its midnight UTC. The datetime
 * module is imported by the first value that needs it, never at start.
 *
 * Invariant: milliseconds are floored, never rounded.
 * Threads: the GIL is held.
 * Owns: nothing.
 */
#include "binding.h"

#include <datetime.h>

#ifndef PyDateTime_DATE_GET_TZINFO /* new in 3.10 */
#define PyDateTime_DATE_GET_TZINFO(object)           \
    (((PyDateTime_DateTime *)(object))->hastzinfo    \
         ? ((PyDateTime_DateTime *)(object))->tzinfo \
         : Py_None)
#endif

#define MS_A_DAY GRB_PY_MS_A_DAY

static int dates_import(void) {
    if (!PyDateTimeAPI) PyDateTime_IMPORT;
    return PyDateTimeAPI ? 0 : -1;
}

/* Days from 1970-01-01 to a day of the proleptic Gregorian calendar, in eras
 * of 400 years beginning with March. */
static int64_t days_of(int64_t year, int month, int day) {
    year -= month <= 2;
    int64_t era = (year >= 0 ? year : year - 399) / 400;
    int64_t of_era = year - era * 400;
    int64_t of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year -
           719468;
}

static void day_split(int64_t days, int *year, int *month, int *day) {
    days += 719468;
    int64_t era = (days >= 0 ? days : days - 146096) / 146097;
    int64_t of_era = days - era * 146097;
    int64_t years =
        (of_era - of_era / 1460 + of_era / 36524 - of_era / 146096) / 365;
    int64_t of_year = of_era - (365 * years + years / 4 - years / 100);
    int64_t part = (5 * of_year + 2) / 153;
    *day = (int)(of_year - (153 * part + 2) / 5 + 1);
    *month = (int)(part < 10 ? part + 3 : part - 9);
    *year = (int)(years + era * 400 + (*month <= 2));
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b < 0);
}

static int naive_refuse(void) {
    PyErr_SetString(PyExc_ValueError,
                    "the datetime has no time zone; for UTC write "
                    "value.replace(tzinfo=datetime.timezone.utc)");
    return -1;
}

/* Microseconds that local time is ahead of UTC. */
static int offset_of(PyObject *object, int64_t *us) {
    PyObject *zone = PyDateTime_DATE_GET_TZINFO(object);
    *us = 0;
    if (zone == Py_None) return naive_refuse();
    if (zone == PyDateTime_TimeZone_UTC) return 0;
    PyObject *delta = PyObject_CallMethod(object, "utcoffset", NULL);
    if (!delta) return -1;
    if (delta == Py_None) {
        Py_DECREF(delta);
        return naive_refuse();
    }
    *us = ((int64_t)PyDateTime_DELTA_GET_DAYS(delta) * 86400 +
           PyDateTime_DELTA_GET_SECONDS(delta)) *
              1000000 +
          PyDateTime_DELTA_GET_MICROSECONDS(delta);
    Py_DECREF(delta);
    return 0;
}

static int datetime_read(PyObject *object, int64_t *ms) {
    int64_t ahead;
    if (offset_of(object, &ahead)) return -1;
    int64_t days =
        days_of(PyDateTime_GET_YEAR(object), PyDateTime_GET_MONTH(object),
                PyDateTime_GET_DAY(object));
    int64_t seconds = days * 86400 + PyDateTime_DATE_GET_HOUR(object) * 3600 +
                      PyDateTime_DATE_GET_MINUTE(object) * 60 +
                      PyDateTime_DATE_GET_SECOND(object);
    int64_t us =
        seconds * 1000000 + PyDateTime_DATE_GET_MICROSECOND(object) - ahead;
    *ms = floor_div(us, 1000);
    return 0;
}

/* `count` digits at *at as a number, -1 if they are not all digits. */
static int digits_read(const char **at, const char *end, int count) {
    int number = 0;
    if (end - *at < count) return -1;
    for (int i = 0; i < count; i++) {
        char c = (*at)[i];
        if (c < '0' || c > '9') return -1;
        number = number * 10 + (c - '0');
    }
    *at += count;
    return number;
}

static int char_take(const char **at, const char *end, char c) {
    if (*at == end || **at != c) return 0;
    ++*at;
    return 1;
}

/* Z or +hh:mm, +hhmm, +hh. Minutes ahead of UTC. 0, or -1 if missing. */
static int zone_read(const char **at, const char *end, int *minutes) {
    *minutes = 0;
    if (char_take(at, end, 'Z') || char_take(at, end, 'z')) return 0;
    int sign = char_take(at, end, '+') ? 1 : char_take(at, end, '-') ? -1 : 0;
    if (!sign) return -1;
    int hours = digits_read(at, end, 2), rest = 0;
    if (hours < 0 || hours > 23) return -1;
    if (*at != end) {
        char_take(at, end, ':');
        rest = digits_read(at, end, 2);
    }
    if (rest < 0 || rest > 59) return -1;
    *minutes = sign * (hours * 60 + rest);
    return 0;
}

static int month_days(int year, int month) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap);
}

/* hh:mm[:ss[.fraction]] in milliseconds, -1 if it is not one. */
static int64_t time_read(const char **at, const char *end) {
    int hour = digits_read(at, end, 2), minute = -1, second = 0, ms = 0;
    if (hour >= 0 && char_take(at, end, ':')) minute = digits_read(at, end, 2);
    if (minute >= 0 && char_take(at, end, ':')) {
        second = digits_read(at, end, 2);
        if (second >= 0 && char_take(at, end, '.')) {
            int place = 100, figure, seen = 0;
            while ((figure = digits_read(at, end, 1)) >= 0) {
                ms += figure * place;
                place /= 10;
                seen++;
            }
            if (!seen) return -1;
        }
    }
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59 || second < 0 ||
        second > 59)
        return -1;
    return ((int64_t)hour * 3600 + minute * 60 + second) * 1000 + ms;
}

/* YYYY-MM-DD, or with Thh:mm[:ss[.fraction]] and a zone. */
static int iso_read(const char *text, size_t size, int64_t *ms) {
    const char *at = text, *end = text + size;
    int year = digits_read(&at, end, 4), month = -1, day = -1, ahead;
    if (year >= 1 && char_take(&at, end, '-'))
        month = digits_read(&at, end, 2);
    if (month >= 1 && month <= 12 && char_take(&at, end, '-'))
        day = digits_read(&at, end, 2);
    if (day < 1 || day > month_days(year, month)) return -1;
    *ms = days_of(year, month, day) * MS_A_DAY;
    if (at == end) return 0;
    if (!char_take(&at, end, 'T') && !char_take(&at, end, 't') &&
        !char_take(&at, end, ' '))
        return -1;
    int64_t of_day = time_read(&at, end);
    if (of_day < 0) return -1;
    if (zone_read(&at, end, &ahead)) return at == end ? -2 : -1;
    if (at != end) return -1;
    *ms += of_day - (int64_t)ahead * 60000;
    return 0;
}

static int text_read(PyObject *object, int64_t *ms) {
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text) {
        PyErr_Clear();
        PyErr_SetString(PyExc_ValueError, "text holds a lone surrogate");
        return -1;
    }
    int result = iso_read(text, (size_t)size, ms);
    if (result == -2)
        PyErr_Format(PyExc_ValueError,
                     "%R has no time zone; end it with Z for UTC", object);
    else if (result)
        PyErr_Format(PyExc_ValueError,
                     "%R is no ISO 8601 time such as 2026-01-31T12:00:00Z",
                     object);
    return result ? -1 : 0;
}

int grb_py_date_is(PyObject *object) {
    if (!PyDateTimeAPI) {
        /* Whoever made a datetime has imported the module. */
        if (PyUnicode_Check(object) || PyLong_Check(object) ||
            PyFloat_Check(object))
            return 0;
        if (dates_import()) {
            PyErr_Clear();
            return 0;
        }
    }
    return PyDateTime_Check(object) || PyDate_Check(object);
}

int grb_py_day_is(PyObject *object) {
    return grb_py_date_is(object) && !PyDateTime_Check(object);
}

int grb_py_date_read(PyObject *object, int64_t *ms) {
    if (PyUnicode_Check(object)) return text_read(object, ms);
    if (PyBool_Check(object) || PyFloat_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s is not a datetime",
                     Py_TYPE(object)->tp_name);
        return -1;
    }
    if (PyIndex_Check(object)) {
        PyObject *number = PyNumber_Index(object);
        if (!number) return -1;
        *ms = PyLong_AsLongLong(number);
        Py_DECREF(number);
        return *ms == -1 && PyErr_Occurred() ? -1 : 0;
    }
    if (dates_import()) return -1;
    if (PyDateTime_Check(object)) return datetime_read(object, ms);
    if (PyDate_Check(object)) {
        *ms =
            days_of(PyDateTime_GET_YEAR(object), PyDateTime_GET_MONTH(object),
                    PyDateTime_GET_DAY(object)) *
            MS_A_DAY;
        return 0;
    }
    PyErr_Format(PyExc_TypeError, "%s is not a datetime",
                 Py_TYPE(object)->tp_name);
    return -1;
}

PyObject *grb_py_date_write(int64_t ms) {
    int year, month, day;
    if (dates_import()) return NULL;
    int64_t days = floor_div(ms, MS_A_DAY);
    int of_day = (int)(ms - days * MS_A_DAY);
    day_split(days, &year, &month, &day);
    return PyDateTimeAPI->DateTime_FromDateAndTime(
        year, month, day, of_day / 3600000, of_day / 60000 % 60,
        of_day / 1000 % 60, of_day % 1000 * 1000, PyDateTime_TimeZone_UTC,
        PyDateTimeAPI->DateTimeType);
}
