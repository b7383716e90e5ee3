/* doc/doc.h - schemas, documents and their one encoding. */
#ifndef GRB_DOC_H
#define GRB_DOC_H

#include "base/base.h"
#include "grebe/document.h"
#include "grebe/schema.h"

typedef struct grb_field {
    char *name;
    uint32_t name_size;
    uint32_t id;
    grebe_kind kind;
    uint32_t flags;
    char *analyzer_name;  /* NULL unless TEXT */
    const void *analyzer; /* resolved grb_analyzer, see analysis.h */
    bool has_default;
    grebe_value default_value; /* bytes owned by the schema */
    uint32_t next_completed;   /* the next field with a default or required */
} grb_field;

struct grebe_schema {
    _Atomic uint64_t refs;
    const grebe_allocator *allocator;
    _Atomic bool frozen;
    bool all_stored; /* every field has GREBE_STORED */
    /* The chain of fields with a default or required: see _complete. */
    uint32_t first_completed, last_completed; /* GREBE_NO_FIELD: none */
    uint32_t field_count, field_capacity;
    grb_field *fields;
    uint32_t key;    /* GREBE_NO_FIELD */
    uint32_t *slots; /* open addressing: field id + 1, 0 free */
    uint32_t slot_mask;
};

/* The value a column, a range or a key of this kind is compared by: INT and
 * DATETIME as they are, BOOL 0/1, DOUBLE through grb_double_to_ordered, where
 * minus zero is zero. */
int64_t grb_value_ordered(const grebe_value *value);
void grb_value_from_ordered(grebe_kind kind, int64_t ordered,
                            grebe_value *out);
bool grb_kind_is_text(grebe_kind kind);   /* TEXT, KEYWORD */
bool grb_kind_is_number(grebe_kind kind); /* INT, DOUBLE, BOOL, DATETIME */
const char *grb_kind_name(grebe_kind kind);

/* What a value must be to enter `field`, apart from counts: DOCUMENT, LIMIT
 * (see grebe_document_add). */
grebe_status grb_value_check(const grb_field *field, const grebe_value *value,
                             grebe_error *err);
/* Bytes of a value without field and kind, and back (borrowed from the
 * cursor; `in->failed` if they run out). */
uint8_t *grb_value_put(uint8_t *at, const grebe_value *value);
void grb_value_take(grb_cursor *in, grebe_kind kind, grebe_value *out);
bool grb_value_equal(const grebe_value *a, const grebe_value *b);
#define GRB_VALUE_PUT_MAX 10u /* of grb_value_put beside the text's bytes */

/* ISO 8601 (doc/date.c): "2020-02-29", or with a time and "Z" or an offset;
 * without a time midnight UTC. Fractions are floored to milliseconds. False
 * if it is no such date of the years 1-9999. */
#define GRB_DATE_MIN (-62135596800000) /* 0001-01-01T00:00:00.000Z */
#define GRB_DATE_MAX 253402300799999   /* 9999-12-31T23:59:59.999Z */
#define GRB_DATE_SIZE 32
bool grb_date_parse(const char *text, size_t size, int64_t *ms);
/* How long a date of the query goes on after its first millisecond: one
 * without a time is the whole day (midnight by accident has lost many a last
 * day), any other an instant. `size` is that of a text grb_date_parse reads.
 */
static inline int64_t grb_date_rest(size_t size) {
    return size == 10 ? 86399999 : 0;
}
/* Writes "2020-02-29T12:00:00Z" with NUL; returns its length. */
size_t grb_date_print(int64_t ms, char out[GRB_DATE_SIZE]);

/* The rooms' way to what grebe/schema.h promises; the public functions call
 * these. `analyzer` is the resolved chain of a TEXT field whose stored name
 * is field->analyzer (NULL: not resolved yet, name "standard"). A key is
 * always indexed and required. */
grebe_status grb_schema_new(const grebe_allocator *a, grebe_schema **out,
                            grebe_error *err);
grebe_status grb_schema_append(grebe_schema *schema, const grebe_field *field,
                               const void *analyzer, grebe_error *err);
uint32_t grb_schema_find(const grebe_schema *schema, const char *name,
                         size_t size);
void grb_schema_describe(const grb_field *field, grebe_field *out);
grebe_schema *grb_schema_acquire(grebe_schema *schema);
void grb_schema_release(grebe_schema *schema); /* NULL-safe */
void grb_schema_freeze(grebe_schema *schema);

/* This room knows no analyzers. What decodes a schema calls
 * grb_schema_resolve before anybody else sees it, with a function of three
 * lines around grb_analyzer_find. SCHEMA names an analyzer that is not
 * there. */
typedef const void *(*grb_analyzer_finder)(const char *name, size_t size);
grebe_status grb_schema_resolve(grebe_schema *schema, grb_analyzer_finder find,
                                grebe_error *err);

/* Compares what is asked for with what is stored; SCHEMA names each
 * difference. Fields of `asked` that `stored` lacks: collected if
 * `add_fields`, else a difference. `merged` gets a schema (a new reference):
 * stored's fields in their places, new ones behind. */
grebe_status grb_schema_merge(grebe_schema *stored, const grebe_schema *asked,
                              bool add_fields, grebe_schema **merged,
                              grebe_error *err);
void grb_schema_encode(const grebe_schema *schema, grb_buf *out);
grebe_status grb_schema_decode(const grebe_allocator *a, grb_cursor *in,
                               grebe_schema **out, grebe_error *err);
/* Nearest field name by edit distance (for messages), NULL if none is near. */
const char *grb_schema_nearest(const grebe_schema *schema, const char *name,
                               size_t size);

/* An instance: text lies at `at` in the document's bytes. */
typedef struct grb_instance {
    uint32_t field;
    uint8_t kind;   /* grebe_kind; 0: explicit null */
    uint32_t size;  /* of text */
    uint64_t at;    /* text: offset into bytes */
    int64_t number; /* INT, DATETIME, BOOL; DOUBLE: its bits */
} grb_instance;

/* Instances: `null_count` nulls, then the values as added, then
 * `default_count` defaults that grb_document_complete has put there; `count`
 * is all of them. */
struct grebe_document {
    grebe_schema *schema;
    const grebe_allocator *allocator;
    grb_instance *instances;
    uint32_t count, capacity;
    uint32_t null_count, default_count;
    grb_buf bytes;
    uint64_t size;       /* against GREBE_DOCUMENT_SIZE_MAX: text its
                            bytes, every value at least 8 */
    uint32_t *per_field; /* values held by each field, schema-sized;
                            GRB_FIELD_NULL for an explicit null */
    uint32_t fields_used;
};
#define GRB_FIELD_NULL UINT32_MAX

/* The rooms' way to what grebe/document.h promises. */
grebe_status grb_document_new(grebe_schema *schema, const grebe_allocator *a,
                              grebe_document **out, grebe_error *err);
grebe_status grb_document_put(grebe_document *document, uint32_t field,
                              const grebe_value *value, grebe_error *err);
grebe_status grb_document_put_null(grebe_document *document, uint32_t field,
                                   grebe_error *err);
void grb_document_clear(grebe_document *document);
void grb_document_free(grebe_document *document); /* NULL-safe */
/* A document as one block in an arena, to be given to another thread; NULL: no
 * memory. Its schema is borrowed. */
typedef struct grb_packed grb_packed;
grb_packed *grb_document_pack(const grebe_document *document,
                              grb_arena *arena);
grebe_schema *grb_packed_schema(const grb_packed *packed);
/* The packed document for another arena. NULL: no memory. */
grb_packed *grb_packed_copy(const grb_packed *packed, grb_arena *arena);
/* Makes *document, of any schema or NULL, what was packed. MEMORY. */
grebe_status grb_document_unpack(const grb_packed *packed,
                                 const grebe_allocator *a,
                                 grebe_document **document, grebe_error *err);

/* What a writer calls first: required fields (DOCUMENT with field and key)
 * and defaults of absent fields, which become instances like the others, so
 * that inversion, stored record and log see them. Idempotent; the caller's
 * view (grebe_document_count and _value) stays the same, hence const. */
grebe_status grb_document_complete(const grebe_document *document,
                                   grebe_error *err);
/* The first value of the key field; false without one. */
bool grb_document_key(const grebe_document *document, grebe_value *out);
/* A key in words for grb_error_key. */
void grb_document_error_key(const grebe_document *document, grebe_error *err);

void grb_instance_value(const grebe_document *document,
                        const grb_instance *instance, grebe_value *out);

/* The encoding of stored records and of log records: varint count, then per
 * value varint field, kind byte, payload (text: varint size + bytes; INT and
 * DATETIME zigzag varint; DOUBLE 8 bytes; BOOL 1 byte; kind 0: null). */
enum { GRB_ENCODE_ALL, GRB_ENCODE_STORED };
void grb_document_encode(const grebe_document *document, int what,
                         grb_buf *out);
/* STORED leaves out nulls and fields that are not stored. Fills a cleared
 * document; every count, size and value is checked (CORRUPT). Fields that the
 * document's schema lacks are skipped. */
grebe_status grb_document_decode(grb_cursor *in, grebe_document *document,
                                 grebe_error *err);

#endif
