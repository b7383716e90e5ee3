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
    char *analyzer_name;      /* NULL unless TEXT */
    const void *analyzer;     /* resolved grb_analyzer, see analysis.h */
    bool has_default;
    grebe_value default_value; /* bytes owned by the schema */
} grb_field;

struct grebe_schema {
    _Atomic uint64_t refs;
    const grebe_allocator *allocator;
    bool frozen;
    uint32_t field_count, field_capacity;
    grb_field *fields;
    uint32_t key;             /* GREBE_NO_FIELD */
    uint32_t *slots;          /* open addressing: field id + 1, 0 free */
    uint32_t slot_mask;
};

/* The value a column, a range or a key of this kind is compared by: INT and
 * DATETIME as they are, BOOL 0/1, DOUBLE through grb_double_to_ordered. */
int64_t grb_value_ordered(const grebe_value *value);
void grb_value_from_ordered(grebe_kind kind, int64_t ordered,
                            grebe_value *out);
bool grb_kind_is_text(grebe_kind kind);   /* TEXT, KEYWORD */
bool grb_kind_is_number(grebe_kind kind); /* INT, DOUBLE, BOOL, DATETIME */
const char *grb_kind_name(grebe_kind kind);

void grb_schema_freeze(grebe_schema *schema);
/* Compares what is asked for with what is stored; SCHEMA names each
 * difference. Fields of `asked` that `stored` lacks: collected if
 * `add_fields`, else a difference. `merged` gets a schema (a new reference):
 * stored's fields in their places, new ones behind. */
grebe_status grb_schema_merge(grebe_schema *stored,
                              const grebe_schema *asked, bool add_fields,
                              grebe_schema **merged, grebe_error *err);
void grb_schema_encode(const grebe_schema *schema, grb_buf *out);
grebe_status grb_schema_decode(const grebe_allocator *a, grb_cursor *in,
                               grebe_schema **out, grebe_error *err);
/* Nearest field name by edit distance (for messages), NULL if none is near. */
const char *grb_schema_nearest(const grebe_schema *schema, const char *name,
                               size_t size);

/* An instance: text lies at `at` in the document's bytes. */
typedef struct grb_instance {
    uint32_t field;
    uint8_t kind;    /* grebe_kind; 0: explicit null */
    uint32_t size;   /* of text */
    uint64_t at;     /* text: offset into bytes */
    int64_t number;  /* INT, DATETIME, BOOL; DOUBLE: its bits */
} grb_instance;

struct grebe_document {
    grebe_schema *schema;
    const grebe_allocator *allocator;
    grb_instance *instances;
    uint32_t count, capacity;
    uint32_t null_count;
    grb_buf bytes;
    uint32_t *per_field;    /* values held by each field, schema-sized */
    uint32_t fields_used;
};

void grb_instance_value(const grebe_document *document,
                        const grb_instance *instance, grebe_value *out);

/* The encoding of stored records and of log records: varint count, then per
 * value varint field, kind byte, payload (text: varint size + bytes; INT and
 * DATETIME zigzag varint; DOUBLE 8 bytes; BOOL 1 byte; kind 0: null). */
enum { GRB_ENCODE_ALL, GRB_ENCODE_STORED };
void grb_document_encode(const grebe_document *document, int what,
                         grb_buf *out);
/* Fills a cleared document; every count and size is checked. Fields that the
 * document's schema lacks are skipped. */
grebe_status grb_document_decode(grb_cursor *in, grebe_document *document,
                                 grebe_error *err);

#endif
