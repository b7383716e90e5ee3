/* grebe/document.h - a bag of (field, value) instances in the order given.
 *
 * A document belongs to one thread at a time and is meant to be reused:
 * clear, add values, hand it to an index (which copies what it needs). The
 * same type carries what is read back.
 */
#ifndef GREBE_DOCUMENT_H
#define GREBE_DOCUMENT_H

#include "grebe/schema.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grebe_document grebe_document;

#define GREBE_VALUE_SIZE_MAX (16u << 20)
#define GREBE_DOCUMENT_SIZE_MAX (64u << 20)
#define GREBE_VALUES_PER_FIELD_MAX 100000u
#define GREBE_FIELDS_PER_DOCUMENT_MAX 1000u
#define GREBE_TERM_SIZE_MAX 32766u

/* Makes an empty document for a schema (usually grebe_index_schema), which
 * it holds a reference to. MEMORY. */
GREBE_API grebe_status grebe_document_new(grebe_schema *schema,
                                          grebe_document **out,
                                          grebe_error *err);

/* Adds one value to field `id`; bytes are copied. The kind must be the
 * field's (a KEYWORD field takes TEXT and the other way round). DOCUMENT with
 * `field` set: wrong kind, broken UTF-8, NaN, a date outside years 1-9999, a
 * second value of a single-valued field. LIMIT: value, document, count of
 * values or fields too large, a keyword over GREBE_TERM_SIZE_MAX bytes.
 * ARGUMENT: no such field. MEMORY. On failure the document is as it was. */
GREBE_API grebe_status grebe_document_add(grebe_document *document,
                                          uint32_t field,
                                          const grebe_value *value,
                                          grebe_error *err);

/* Says that a field has no value and that its default must not be used. */
GREBE_API grebe_status grebe_document_add_null(grebe_document *document,
                                               uint32_t field,
                                               grebe_error *err);

/* Shorthands of grebe_document_add for each kind; `text` serves TEXT and
 * KEYWORD. The same errors. */
GREBE_API grebe_status grebe_document_add_text(grebe_document *document,
                                               uint32_t field,
                                               const char *text, size_t size,
                                               grebe_error *err);
GREBE_API grebe_status grebe_document_add_int(grebe_document *document,
                                              uint32_t field, int64_t value,
                                              grebe_error *err);
GREBE_API grebe_status grebe_document_add_double(grebe_document *document,
                                                 uint32_t field, double value,
                                                 grebe_error *err);
GREBE_API grebe_status grebe_document_add_bool(grebe_document *document,
                                               uint32_t field, int value,
                                               grebe_error *err);
GREBE_API grebe_status grebe_document_add_datetime(grebe_document *document,
                                                   uint32_t field, int64_t ms,
                                                   grebe_error *err);
GREBE_API grebe_status grebe_document_add_bytes(grebe_document *document,
                                                uint32_t field,
                                                const void *bytes, size_t size,
                                                grebe_error *err);

/* Number of values held (nulls not counted). */
GREBE_API uint32_t grebe_document_count(const grebe_document *document);

/* The i-th value in the order added; pointers live until the document is
 * changed, cleared or freed. ARGUMENT if i is out of range. */
GREBE_API grebe_status grebe_document_value(const grebe_document *document,
                                            uint32_t i, uint32_t *field,
                                            grebe_value *out,
                                            grebe_error *err);

/* The schema the field ids of this document belong to; borrowed. */
GREBE_API grebe_schema *grebe_document_schema(const grebe_document *document);

/* Empties the document and keeps its memory for the next one. */
GREBE_API void grebe_document_clear(grebe_document *document);

/* Frees the document. NULL is allowed. */
GREBE_API void grebe_document_free(grebe_document *document);

#ifdef __cplusplus
}
#endif
#endif
