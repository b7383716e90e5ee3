/* doc/document_code.c - a document as bytes, and back from bytes nobody
 * trusts.
 *
 * Writing is on the path of every added document: the bytes needed are
 * bounded first, reserved once and written without a further check.
 *
 * Invariant: decoding what was encoded gives the same values in the same
 *            order; whatever else is decoded gives CORRUPT or a document that
 *            grb_document_put would have made.
 * Threads:   as the document.
 * Owns:      the record of stored fields and of the log:
 *
 *   varint count, then for each value
 *     varint  field id
 *     u8      kind, 0: explicit null
 *     payload as doc/value.c lays out, nothing for a null
 *   The checksum is that of the block or log group around it.
 */
#include "doc/doc.h"

#define HEAD_MAX 6u       /* field id and kind */
#define VALUE_SIZE_MIN 2u /* field id and kind of a null */

static bool instance_is_stored(const grebe_document *document,
                               const grb_instance *instance) {
    return instance->kind != 0 &&
           (document->schema->fields[instance->field].flags & GREBE_STORED);
}

static uint32_t stored_count(const grebe_document *document) {
    uint32_t count = document->count - document->null_count;
    if (document->schema->all_stored) return count;
    count = 0;
    for (uint32_t i = 0; i < document->count; i++)
        count += instance_is_stored(document, &document->instances[i]);
    return count;
}

static uint8_t *instance_put(uint8_t *at, const grebe_document *document,
                             const grb_instance *instance) {
    at = grb_varint_put(at, instance->field);
    *at++ = instance->kind;
    if (instance->kind == 0) return at;
    grebe_value value;
    grb_instance_value(document, instance, &value);
    return grb_value_put(at, &value);
}

void grb_document_encode(const grebe_document *document, int what,
                         grb_buf *out) {
    size_t bound = GRB_VALUE_PUT_MAX + document->bytes.size +
                   (size_t)document->count * (HEAD_MAX + GRB_VALUE_PUT_MAX);
    if (!grb_buf_reserve(out, bound)) return;
    bool all = what == GRB_ENCODE_ALL;
    bool plain = all || document->schema->all_stored;
    uint8_t *at = out->bytes + out->size;
    at = grb_varint_put(at, all ? document->count : stored_count(document));
    uint32_t i = all ? 0 : document->null_count;
    for (; i < document->count; i++) {
        const grb_instance *instance = &document->instances[i];
        if (plain || instance_is_stored(document, instance))
            at = instance_put(at, document, instance);
    }
    out->size = (size_t)(at - out->bytes);
}

static grebe_status record_error(grebe_error *err, uint64_t i,
                                 const char *what) {
    return grb_error(err, GREBE_CORRUPT, "value %llu of a document: %.300s",
                     (unsigned long long)i, what);
}

static grebe_status value_decode(grb_cursor *in, uint64_t i,
                                 grebe_document *document, grebe_error *err) {
    uint64_t field = grb_cursor_varint(in);
    uint8_t kind = grb_cursor_u8(in);
    grebe_value value;
    grebe_error why;
    grebe_status status;
    if (kind > GREBE_BYTES) return record_error(err, i, "no such kind");
    if (kind) grb_value_take(in, (grebe_kind)kind, &value);
    if (in->failed) return record_error(err, i, "the bytes end in it");
    if (field > GREBE_FIELD_COUNT_MAX)
        return record_error(err, i, "no such field");
    if (field >= document->schema->field_count) return GREBE_OK;
    if (kind)
        status = grb_document_put(document, (uint32_t)field, &value, &why);
    else
        status = grb_document_put_null(document, (uint32_t)field, &why);
    if (status == GREBE_OK) return GREBE_OK;
    if (status == GREBE_MEMORY) {
        if (err) *err = why;
        return status;
    }
    return record_error(err, i, why.message);
}

grebe_status grb_document_decode(grb_cursor *in, grebe_document *document,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t count = grb_cursor_varint(in);
    if (in->failed || count > grb_cursor_left(in) / VALUE_SIZE_MIN)
        GRB_TRY(grb_error(err, GREBE_CORRUPT,
                          "a document claims %llu values in %zu bytes",
                          (unsigned long long)count, grb_cursor_left(in)));
    for (uint64_t i = 0; i < count; i++)
        GRB_TRY(value_decode(in, i, document, err));
done:
    if (status != GREBE_OK) grb_document_clear(document);
    return status;
}
