/* grebe/schema.h - the kinds of fields and what is kept of each.
 *
 * A schema is built once and then immutable: handing it to an index or to a
 * document freezes it. Field ids are places in the schema, from 0; an index
 * only ever appends fields, so an id never changes its meaning. Handles are
 * counted: each grebe_schema_new or _acquire is paired with a _release.
 */
#ifndef GREBE_SCHEMA_H
#define GREBE_SCHEMA_H

#include "grebe/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grebe_schema grebe_schema;

typedef enum grebe_kind {
    GREBE_TEXT = 1, /* analysed text, UTF-8 */
    GREBE_KEYWORD,  /* one term, UTF-8, at most 32,766 bytes */
    GREBE_INT,      /* signed 64-bit */
    GREBE_DOUBLE,   /* 64-bit float, NaN refused */
    GREBE_BOOL,
    GREBE_DATETIME, /* int64 milliseconds since 1970 UTC, years 1-9999 */
    GREBE_BYTES     /* any bytes, stored only */
} grebe_kind;

enum {
    GREBE_STORED = 1,  /* values are given back */
    GREBE_INDEXED = 2, /* can be searched */
    GREBE_COLUMN = 4,  /* can be sorted by and counted in facets */
    GREBE_MANY = 8,    /* several values a document, order kept */
    GREBE_REQUIRED = 16,
    GREBE_KEY = 32 /* the unique key: keyword or int, one a schema */
};

/* A value of any kind. TEXT, KEYWORD and BYTES point at `size` bytes that the
 * call only borrows; INT and DATETIME use `integer`; BOOL is 0 or 1. */
typedef struct grebe_value {
    grebe_kind kind;
    union {
        int64_t integer;
        double number;
        int boolean;
        struct {
            const char *bytes;
            size_t size;
        } text;
    } as;
} grebe_value;

/* What a field is. `flags` are GREBE_STORED and so on. `analyzer` names the
 * chain of a TEXT field ("standard", "en", "whitespace", "simple",
 * "keyword"), NULL for "standard" and for other kinds. `default_value` may be
 * NULL; it is copied. */
typedef struct grebe_field {
    const char *name;
    grebe_kind kind;
    uint32_t flags;
    const char *analyzer;
    const grebe_value *default_value;
} grebe_field;

#define GREBE_NO_FIELD UINT32_MAX
#define GREBE_FIELD_NAME_MAX 100
#define GREBE_FIELD_COUNT_MAX 65535

/* Makes an empty schema with one reference. MEMORY. */
GREBE_API grebe_status grebe_schema_new(grebe_schema **out, grebe_error *err);

/* Appends a field; its id is the number of fields before. Names are
 * `[A-Za-z][A-Za-z0-9_.-]*`, at most GREBE_FIELD_NAME_MAX bytes. STATE after
 * the schema is in use; SCHEMA for a bad or repeated name, a second key,
 * flags that do not fit the kind (a column of text or bytes, an index of
 * bytes, a key with several values, a required field with a default of
 * another kind) or an unknown analyzer; LIMIT; MEMORY. Nothing is added on
 * failure. */
GREBE_API grebe_status grebe_schema_add(grebe_schema *schema,
                                        const grebe_field *field,
                                        grebe_error *err);

/* Number of fields. */
GREBE_API uint32_t grebe_schema_count(const grebe_schema *schema);

/* Id of the field of that name, GREBE_NO_FIELD if there is none. O(1). */
GREBE_API uint32_t grebe_schema_find(const grebe_schema *schema,
                                     const char *name, size_t size);

/* Describes field `id` into `out`; its pointers live as long as the schema.
 * ARGUMENT if there is no such field. */
GREBE_API grebe_status grebe_schema_field(const grebe_schema *schema,
                                          uint32_t id, grebe_field *out,
                                          grebe_error *err);

/* Id of the key field, GREBE_NO_FIELD without one. */
GREBE_API uint32_t grebe_schema_key(const grebe_schema *schema);

/* One more reference; returns its argument. Any thread. */
GREBE_API grebe_schema *grebe_schema_acquire(grebe_schema *schema);

/* Gives a reference back; the last one frees. NULL is allowed. Any thread. */
GREBE_API void grebe_schema_release(grebe_schema *schema);

#ifdef __cplusplus
}
#endif
#endif
