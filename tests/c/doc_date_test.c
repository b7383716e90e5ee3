/* rooms: base doc */
/* Dates as text: every day of the calendar, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "doc/doc.h"

static bool leap(int year) {
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

static void every_day_of_9999_years_goes_out_and_in(void **state) {
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t ms = GRB_DATE_MIN, back;
    char text[GRB_DATE_SIZE], want[64];
    for (int year = 1; year <= 9999; year++)
        for (int month = 1; month <= 12; month++)
            for (int day = 1;
                 day <= days[month - 1] + (month == 2 && leap(year)); day++) {
                size_t size = grb_date_print(ms, text);
                if (day == 1 || day > 27) {
                    snprintf(want, sizeof want, "%04d-%02d-%02dT00:00:00Z",
                             year, month, day);
                    assert_string_equal(text, want);
                }
                assert_true(grb_date_parse(text, size, &back) && back == ms);
                assert_true(grb_date_parse(text, 10, &back) && back == ms);
                ms += 86400000;
            }
    assert_true(ms - 1 == GRB_DATE_MAX);
}

static void times_go_out_and_in(void **state) {
    static const struct {
        const char *text;
        int64_t ms;
        const char *printed;
    } times[] = {
        {"1970-01-01", 0, "1970-01-01T00:00:00Z"},
        {"1970-01-01T00:00Z", 0, "1970-01-01T00:00:00Z"},
        {"1970-01-01T00:00:00.001Z", 1, "1970-01-01T00:00:00.001Z"},
        {"1969-12-31T23:59:59.9999Z", -1, "1969-12-31T23:59:59.999Z"},
        {"1970-01-01t01:00:00+01:00", 0, "1970-01-01T00:00:00Z"},
        {"1969-12-31 19:00:00-0500", 0, "1970-01-01T00:00:00Z"},
        {"1970-01-01T01:00+01", 0, "1970-01-01T00:00:00Z"},
        {"2000-02-29T12:30:15.5Z", 951827415500, "2000-02-29T12:30:15.500Z"},
        {"9999-12-31T23:59:59.999999Z", GRB_DATE_MAX,
         "9999-12-31T23:59:59.999Z"},
    };
    for (size_t i = 0; i < GRB_COUNT(times); i++) {
        char text[GRB_DATE_SIZE];
        int64_t ms = 7;
        assert_true(grb_date_parse(times[i].text, strlen(times[i].text), &ms));
        assert_true(ms == times[i].ms);
        grb_date_print(ms, text);
        assert_string_equal(text, times[i].printed);
    }
}

static void what_is_no_date_is_refused(void **state) {
    static const char *const bad[] = {
        "",
        "2020",
        "2020-1-1",
        "2020-13-01",
        "2020-00-01",
        "2020-02-30",
        "1900-02-29",
        "0000-01-01",
        "10000-01-01",
        "-001-01-01",
        "2020-01-01T",
        "2020-01-01T00:00:00",
        "2020-01-01T24:00:00Z",
        "2020-01-01T00:60:00Z",
        "2020-01-01T00:00:60Z",
        "2020-01-01T00:00:00.Z",
        "2020-01-01T00:00:00Z ",
        "2020-01-01T00:00:00+24:00",
        "2020-01-01T00Z",
        "2020-01-01T00:00+1",
        "2020-01-01T00:00+01:",
        "2020-01-01T00:00+01:0",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2020-01-0\xc2\xb2",
    };
    for (size_t i = 0; i < GRB_COUNT(bad); i++) {
        int64_t ms;
        if (grb_date_parse(bad[i], strlen(bad[i]), &ms))
            fail_msg("taken: %s", bad[i]);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_day_of_9999_years_goes_out_and_in),
        cmocka_unit_test(times_go_out_and_in),
        cmocka_unit_test(what_is_no_date_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
