/* doc/value.c - what a value may be, how two compare, what bytes it takes.
 *
 * Invariant: a value that passed grb_value_check can be stored, indexed and
 *            read back without another look at it.
 * Threads:   functions of their arguments only.
 * Owns:      the payload of a value in records and schemas:
 *              TEXT, KEYWORD, BYTES  varint size, the bytes
 *              INT, DATETIME         zigzag varint
 *              DOUBLE                8 bytes, little endian
 *              BOOL                  1 byte, 0 or 1
 */
#include "doc/doc.h"

#include <math.h>

static const char *const kind_names[] = {
    [GREBE_TEXT] = "text",   [GREBE_KEYWORD] = "keyword",
    [GREBE_INT] = "int",     [GREBE_DOUBLE] = "double",
    [GREBE_BOOL] = "bool",   [GREBE_DATETIME] = "datetime",
    [GREBE_BYTES] = "bytes",
};

const char *grb_kind_name(grebe_kind kind) {
    if ((unsigned)kind >= GRB_COUNT(kind_names) || kind == 0) return "unknown";
    return kind_names[kind];
}

bool grb_kind_is_text(grebe_kind kind) {
    return kind == GREBE_TEXT || kind == GREBE_KEYWORD;
}

bool grb_kind_is_number(grebe_kind kind) {
    return kind >= GREBE_INT && kind <= GREBE_DATETIME;
}

int64_t grb_value_ordered(const grebe_value *value) {
    switch (value->kind) {
    case GREBE_DOUBLE: /* minus zero is zero: it would be another value */
        return value->as.number == 0 ? 0
                                     : grb_double_to_ordered(value->as.number);
    case GREBE_BOOL:
        return value->as.boolean != 0;
    case GREBE_INT:
    case GREBE_DATETIME:
        return value->as.integer;
    default:
        return 0;
    }
}

void grb_value_from_ordered(grebe_kind kind, int64_t ordered,
                            grebe_value *out) {
    out->kind = kind;
    if (kind == GREBE_DOUBLE)
        out->as.number = grb_double_from_ordered(ordered);
    else if (kind == GREBE_BOOL)
        out->as.boolean = ordered != 0;
    else
        out->as.integer = ordered;
}

bool grb_value_equal(const grebe_value *a, const grebe_value *b) {
    if (a->kind != b->kind) return false;
    if (grb_kind_is_number(a->kind))
        return grb_value_ordered(a) == grb_value_ordered(b);
    return a->as.text.size == b->as.text.size &&
           (a->as.text.size == 0 ||
            memcmp(a->as.text.bytes, b->as.text.bytes, a->as.text.size) == 0);
}

static grebe_status text_check(const grb_field *field,
                               const grebe_value *value, grebe_error *err) {
    size_t size = value->as.text.size, bad_at = 0;
    if (size > GREBE_VALUE_SIZE_MAX)
        return grb_error(err, GREBE_LIMIT,
                         "a value of '%s' is %zu bytes, the limit is %u",
                         field->name, size, GREBE_VALUE_SIZE_MAX);
    if (field->kind == GREBE_KEYWORD && size > GREBE_TERM_SIZE_MAX)
        return grb_error(err, GREBE_LIMIT,
                         "the keyword of '%s' is %zu bytes, the limit is %u",
                         field->name, size, GREBE_TERM_SIZE_MAX);
    if (size && !value->as.text.bytes)
        return grb_error(err, GREBE_ARGUMENT,
                         "a value of '%s' has a size but no bytes",
                         field->name);
    if (field->kind != GREBE_BYTES && size &&
        !grb_utf8_valid(value->as.text.bytes, size, &bad_at))
        return grb_error(err, GREBE_DOCUMENT,
                         "the text of '%s' is not UTF-8 at byte %zu",
                         field->name, bad_at);
    return GREBE_OK;
}

static grebe_status value_kind_check(const grb_field *field,
                                     const grebe_value *value,
                                     grebe_error *err) {
    if (GRB_LIKELY(value->kind == field->kind)) return GREBE_OK;
    if (grb_kind_is_text(value->kind) && grb_kind_is_text(field->kind))
        return GREBE_OK;
    return grb_error(
        err, GREBE_DOCUMENT, "'%s' is of kind %s, the value is of kind %s",
        field->name, grb_kind_name(field->kind), grb_kind_name(value->kind));
}

grebe_status grb_value_check(const grb_field *field, const grebe_value *value,
                             grebe_error *err) {
    grebe_status status;
    GRB_TRY(value_kind_check(field, value, err));
    switch (field->kind) {
    case GREBE_DOUBLE:
        if (isnan(value->as.number))
            GRB_TRY(grb_error(err, GREBE_DOCUMENT,
                              "the value of '%s' is not a number (NaN)",
                              field->name));
        break;
    case GREBE_DATETIME:
        if (value->as.integer < GRB_DATE_MIN ||
            value->as.integer > GRB_DATE_MAX)
            GRB_TRY(grb_error(err, GREBE_DOCUMENT,
                              "the date of '%s' is %lld ms, outside the years "
                              "1 to 9999",
                              field->name, (long long)value->as.integer));
        break;
    case GREBE_INT:
    case GREBE_BOOL:
        break;
    default:
        GRB_TRY(text_check(field, value, err));
    }
    return GREBE_OK;
done:
    grb_error_field(err, field->name);
    return status;
}

static uint64_t zigzag(int64_t v) {
    return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static int64_t unzigzag(uint64_t v) {
    return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}

uint8_t *grb_value_put(uint8_t *at, const grebe_value *value) {
    uint64_t bits;
    switch (value->kind) {
    case GREBE_INT:
    case GREBE_DATETIME:
        return grb_varint_put(at, zigzag(value->as.integer));
    case GREBE_DOUBLE:
        memcpy(&bits, &value->as.number, 8);
        for (int i = 0; i < 8; i++) *at++ = (uint8_t)(bits >> (8 * i));
        return at;
    case GREBE_BOOL:
        *at++ = value->as.boolean != 0;
        return at;
    default:
        at = grb_varint_put(at, value->as.text.size);
        if (value->as.text.size)
            memcpy(at, value->as.text.bytes, value->as.text.size);
        return at + value->as.text.size;
    }
}

void grb_value_take(grb_cursor *in, grebe_kind kind, grebe_value *out) {
    uint64_t bits;
    out->kind = kind;
    switch (kind) {
    case GREBE_INT:
    case GREBE_DATETIME:
        out->as.integer = unzigzag(grb_cursor_varint(in));
        break;
    case GREBE_DOUBLE:
        bits = grb_cursor_u64(in);
        memcpy(&out->as.number, &bits, 8);
        break;
    case GREBE_BOOL:
        out->as.boolean = grb_cursor_u8(in) != 0;
        break;
    default:
        out->as.text.bytes =
            (const char *)grb_cursor_bytes(in, &out->as.text.size);
        if (in->failed) out->as.text.size = 0;
    }
}
