/* commit/records.c - the records of a log group: redo, in call order.
 *
 *   record: u8 kind, then
 *     1 add, 2 add that replaces its key: varint size, document (doc.h)
 *     3 delete by key:        varint size, key bytes
 *     4 delete of documents:  varint count, then per document varint file
 *                             number (0: an add of this log), varint document
 *     5 delete of everything: nothing
 *     6 schema:               varint size, schema (doc/schema_code.c)
 *
 * What was applied is there, also what died before the commit; what was
 * undone or refused is not; never a query, whose answer may change.
 *
 * Invariant: parsed only from a group whose checksum was right; a crafted one
 * still meets a bound at every step.
 * Threads: any.
 * Owns: the bytes above; the group's mark covers them.
 */
#include "commit/files.h"

enum {
    RECORD_ADD = 1,
    RECORD_REPLACE,
    RECORD_DELETE_KEY,
    RECORD_DELETE_DOCS,
    RECORD_WIPE,
    RECORD_SCHEMA
};

void grb_record_add(grb_buf *out, const uint8_t *doc, size_t size,
                    bool overwrite) {
    grb_buf_u8(out, overwrite ? RECORD_REPLACE : RECORD_ADD);
    grb_buf_bytes(out, doc, size);
}

void grb_record_delete_key(grb_buf *out, const uint8_t *key, size_t size) {
    grb_buf_u8(out, RECORD_DELETE_KEY);
    grb_buf_bytes(out, key, size);
}

void grb_record_delete_docs(grb_buf *out, const grb_address *docs,
                            size_t count) {
    grb_buf_u8(out, RECORD_DELETE_DOCS);
    grb_buf_varint(out, count);
    for (size_t i = 0; i < count; i++) {
        grb_buf_varint(out, docs[i].file_number);
        grb_buf_varint(out, docs[i].doc);
    }
}

void grb_record_wipe(grb_buf *out) {
    grb_buf_u8(out, RECORD_WIPE);
}

void grb_record_schema(grb_buf *out, const grebe_schema *schema) {
    grb_buf encoded;
    grb_buf_init(&encoded, out->allocator, 0);
    grb_schema_encode(schema, &encoded);
    grb_buf_u8(out, RECORD_SCHEMA);
    if (encoded.failed)
        out->failed = true;
    else
        grb_buf_bytes(out, encoded.bytes, encoded.size);
    grb_buf_deinit(&encoded);
}

/* ---- replay ---- */

typedef struct reading {
    const grebe_allocator *allocator;
    const char *file;
    const grb_group *group;
    const grb_replay *replay;
    grb_cursor in;
} reading;

static grebe_status record_corrupt(const reading *r, const char *what,
                                   grebe_error *err) {
    uint64_t at =
        r->group->at + GRB_GROUP_HEADER + (uint64_t)(r->in.at - r->in.base);
    return grb_error_corrupt(err, r->file, at, "%s", what);
}

static grebe_status add_replay(reading *r, bool overwrite, grebe_error *err) {
    size_t size;
    grb_cursor doc;
    const uint8_t *bytes = grb_cursor_bytes(&r->in, &size);
    if (r->in.failed) return record_corrupt(r, "a document is cut", err);
    grb_cursor_init(&doc, bytes, size);
    return r->replay->add(r->replay->context, &doc, overwrite, err);
}

static grebe_status delete_docs_replay(reading *r, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t count = grb_cursor_varint(&r->in);
    if (r->in.failed || count > grb_cursor_left(&r->in) / 2)
        return record_corrupt(r, "a list of documents is cut", err);
    if (count == 0) return GREBE_OK;
    size_t size = (size_t)count * sizeof(grb_address);
    grb_address *docs = grb_alloc(r->allocator, size);
    if (!docs) return grb_error_memory(err, size);
    bool good = true;
    for (uint64_t i = 0; i < count; i++) {
        docs[i].file_number = grb_cursor_varint(&r->in);
        uint64_t doc = grb_cursor_varint(&r->in);
        good = good && doc < GRB_NO_DOC;
        docs[i].doc = (uint32_t)doc;
    }
    if (!good || r->in.failed)
        status = record_corrupt(r, "a document number is too large", err);
    else
        status = r->replay->delete_docs(r->replay->context, docs,
                                        (size_t)count, err);
    grb_free(r->allocator, docs, size);
    return status;
}

static grebe_status schema_replay(reading *r, grebe_error *err) {
    size_t size;
    grb_cursor in;
    grebe_schema *schema = NULL;
    const uint8_t *bytes = grb_cursor_bytes(&r->in, &size);
    if (r->in.failed) return record_corrupt(r, "a schema is cut", err);
    grb_cursor_init(&in, bytes, size);
    grebe_status status = grb_schema_decode(r->allocator, &in, &schema, err);
    if (status == GREBE_OK && grb_cursor_left(&in))
        status = record_corrupt(r, "bytes behind a schema", err);
    if (status == GREBE_OK)
        status = r->replay->schema(r->replay->context, schema, err);
    grb_schema_release(schema);
    return status;
}

static grebe_status record_replay(reading *r, grebe_error *err) {
    size_t size;
    const uint8_t *key;
    switch (grb_cursor_u8(&r->in)) {
    case RECORD_ADD:
        return add_replay(r, false, err);
    case RECORD_REPLACE:
        return add_replay(r, true, err);
    case RECORD_DELETE_KEY:
        key = grb_cursor_bytes(&r->in, &size);
        if (r->in.failed) return record_corrupt(r, "a key is cut", err);
        return r->replay->delete_key(r->replay->context, key, size, err);
    case RECORD_DELETE_DOCS:
        return delete_docs_replay(r, err);
    case RECORD_WIPE:
        return r->replay->wipe(r->replay->context, err);
    case RECORD_SCHEMA:
        return schema_replay(r, err);
    default:
        return record_corrupt(r, "a record of no known kind", err);
    }
}

grebe_status grb_records_replay(const grebe_allocator *a, const char *file,
                                const grb_group *group,
                                const grb_replay *replay, grebe_error *err) {
    grebe_status status = GREBE_OK;
    reading r = {a, file, group, replay, {0}};
    grb_cursor_init(&r.in, group->records, group->size);
    while (grb_cursor_left(&r.in)) GRB_TRY(record_replay(&r, err));
    GRB_TRY(replay->commit(replay->context, group->number, err));
done:
    return status;
}
