/* api/document.c - grebe/document.h: arguments checked, room doc called.
 *
 * Invariant: a failed call leaves the document as it was.
 * Threads:   a document belongs to one thread at a time.
 * Owns:      nothing.
 */
#include "doc/doc.h"

grebe_status grebe_document_new(grebe_schema *schema, grebe_document **out,
                                grebe_error *err) {
    if (!schema || !out)
        return grb_error(err, GREBE_ARGUMENT, "schema or out is NULL");
    *out = NULL;
    return grb_document_new(schema, &grb_allocator_malloc, out, err);
}

grebe_status grebe_document_add(grebe_document *document, uint32_t field,
                                const grebe_value *value, grebe_error *err) {
    if (!document || !value)
        return grb_error(err, GREBE_ARGUMENT, "document or value is NULL");
    return grb_document_put(document, field, value, err);
}

grebe_status grebe_document_add_null(grebe_document *document, uint32_t field,
                                     grebe_error *err) {
    if (!document) return grb_error(err, GREBE_ARGUMENT, "document is NULL");
    return grb_document_put_null(document, field, err);
}

grebe_status grebe_document_add_text(grebe_document *document, uint32_t field,
                                     const char *text, size_t size,
                                     grebe_error *err) {
    grebe_value value = {.kind = GREBE_TEXT};
    value.as.text.bytes = text;
    value.as.text.size = size;
    return grebe_document_add(document, field, &value, err);
}

grebe_status grebe_document_add_int(grebe_document *document, uint32_t field,
                                    int64_t number, grebe_error *err) {
    grebe_value value = {.kind = GREBE_INT, .as.integer = number};
    return grebe_document_add(document, field, &value, err);
}

grebe_status grebe_document_add_double(grebe_document *document,
                                       uint32_t field, double number,
                                       grebe_error *err) {
    grebe_value value = {.kind = GREBE_DOUBLE, .as.number = number};
    return grebe_document_add(document, field, &value, err);
}

grebe_status grebe_document_add_bool(grebe_document *document, uint32_t field,
                                     int truth, grebe_error *err) {
    grebe_value value = {.kind = GREBE_BOOL, .as.boolean = truth != 0};
    return grebe_document_add(document, field, &value, err);
}

grebe_status grebe_document_add_datetime(grebe_document *document,
                                         uint32_t field, int64_t ms,
                                         grebe_error *err) {
    grebe_value value = {.kind = GREBE_DATETIME, .as.integer = ms};
    return grebe_document_add(document, field, &value, err);
}

grebe_status grebe_document_add_bytes(grebe_document *document, uint32_t field,
                                      const void *bytes, size_t size,
                                      grebe_error *err) {
    grebe_value value = {.kind = GREBE_BYTES};
    value.as.text.bytes = bytes;
    value.as.text.size = size;
    return grebe_document_add(document, field, &value, err);
}

uint32_t grebe_document_count(const grebe_document *document) {
    if (!document) return 0;
    return document->count - document->null_count - document->default_count;
}

grebe_status grebe_document_value(const grebe_document *document, uint32_t i,
                                  uint32_t *field, grebe_value *out,
                                  grebe_error *err) {
    if (!document || !field || !out)
        return grb_error(err, GREBE_ARGUMENT,
                         "document, field or out is NULL");
    uint32_t count = grebe_document_count(document);
    if (i >= count)
        return grb_error(err, GREBE_ARGUMENT,
                         "there is no value %u, the document has %u", i,
                         count);
    const grb_instance *instance =
        &document->instances[document->null_count + i];
    *field = instance->field;
    grb_instance_value(document, instance, out);
    return GREBE_OK;
}

grebe_schema *grebe_document_schema(const grebe_document *document) {
    return document ? document->schema : NULL;
}

void grebe_document_clear(grebe_document *document) {
    if (document) grb_document_clear(document);
}

void grebe_document_free(grebe_document *document) {
    grb_document_free(document);
}
