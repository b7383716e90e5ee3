/* query/number.c - numbers, truths and dates of the query language as text.
 *
 * Invariant: what is printed here reads back to the same value; the locale of
 *            the process plays no part.
 * Threads:   functions of their arguments only.
 * Owns:      nothing.
 */
#define _GNU_SOURCE /* strtod_l, uselocale */
#include "query/parser.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* The C locale is a constant of the C library: this allocates nothing. */
static locale_t c_locale(void) {
    return newlocale(LC_ALL_MASK, "C", 0);
}

static bool digit(char c) {
    return c >= '0' && c <= '9';
}

static bool int_parse(const char *text, size_t size, int64_t *out) {
    bool negative = size && text[0] == '-';
    size_t i = negative || (size && text[0] == '+');
    uint64_t v = 0, most = (uint64_t)INT64_MAX + negative;
    if (i == size) return false;
    for (; i < size; i++) {
        if (!digit(text[i])) return false;
        uint64_t d = (uint64_t)(text[i] - '0');
        if (v > (most - d) / 10) return false;
        v = 10 * v + d;
    }
    *out = negative ? (int64_t)(0 - v) : (int64_t)v;
    return true;
}

/* [+-] digits [. digits] [e [+-] digits], with digits on one side of the
 * point at least; or "inf". */
static bool double_is_good(const char *text, size_t size) {
    size_t i = size && (text[0] == '-' || text[0] == '+'), digits = 0;
    if (size - i == 3 && memcmp(text + i, "inf", 3) == 0) return true;
    for (; i < size && digit(text[i]); i++) digits++;
    if (i < size && text[i] == '.')
        for (i++; i < size && digit(text[i]); i++) digits++;
    if (digits == 0) return false;
    if (i < size && (text[i] == 'e' || text[i] == 'E')) {
        i++;
        if (i < size && (text[i] == '-' || text[i] == '+')) i++;
        size_t from = i;
        while (i < size && digit(text[i])) i++;
        if (i == from) return false;
    }
    return i == size;
}

static bool double_parse(const char *text, size_t size, double *out) {
    char copy[512];
    if (size >= sizeof copy || !double_is_good(text, size)) return false;
    memcpy(copy, text, size);
    copy[size] = 0;
    *out = strtod_l(copy, NULL, c_locale());
    return true;
}

static bool word_is(const char *text, size_t size, const char *word) {
    return size == strlen(word) && memcmp(text, word, size) == 0;
}

bool grb_value_parse(grebe_kind kind, const char *text, size_t size,
                     grebe_value *out) {
    out->kind = kind;
    switch (kind) {
    case GREBE_INT:
        return int_parse(text, size, &out->as.integer);
    case GREBE_DOUBLE:
        return double_parse(text, size, &out->as.number);
    case GREBE_DATETIME:
        return grb_date_parse(text, size, &out->as.integer);
    case GREBE_BOOL:
        out->as.boolean = word_is(text, size, "true");
        return out->as.boolean || word_is(text, size, "false");
    default:
        return false;
    }
}

static size_t double_print(double v, char out[GRB_NUMBER_SIZE]) {
    locale_t before = uselocale(c_locale());
    int n = 0;
    for (int digits = 15; digits <= 17; digits++) {
        n = snprintf(out, GRB_NUMBER_SIZE, "%.*g", digits, v);
        if (isinf(v) || strtod(out, NULL) == v) break;
    }
    uselocale(before);
    return (size_t)n;
}

size_t grb_value_print(const grebe_value *value, char out[GRB_NUMBER_SIZE]) {
    switch (value->kind) {
    case GREBE_DOUBLE:
        return double_print(value->as.number, out);
    case GREBE_DATETIME:
        return grb_date_print(value->as.integer, out);
    case GREBE_BOOL:
        return (size_t)snprintf(out, GRB_NUMBER_SIZE, "%s",
                                value->as.boolean ? "true" : "false");
    default:
        return (size_t)snprintf(out, GRB_NUMBER_SIZE, "%lld",
                                (long long)value->as.integer);
    }
}

/* Floats need at most 9 digits; below 1e-45 there is none but 0. */
size_t grb_factor_print(float factor, char out[GRB_NUMBER_SIZE]) {
    locale_t before = uselocale(c_locale());
    int n = 0;
    for (int digits = 0; digits <= 55; digits++) {
        n = snprintf(out, GRB_NUMBER_SIZE, "%.*f", digits, (double)factor);
        if (strtof(out, NULL) == factor) break;
    }
    uselocale(before);
    return (size_t)n;
}

float grb_factor_parse(const char *text, size_t size) {
    double v = 0;
    size_t zeros = 0;
    while (zeros < size && text[zeros] == '0') zeros++;
    text += zeros;
    size -= zeros;
    if (size == 0) return 0;
    char copy[512];
    size = GRB_MIN(size, sizeof copy - 1); /* past these digits: infinity, or
                                              a fraction too small to tell */
    memcpy(copy, text, size);
    copy[size] = 0;
    v = strtof_l(copy, NULL, c_locale());
    return (float)v;
}
