/* doc/pack.c - a document as one block of memory, on its way to another
 * thread.
 *
 * Values were checked when they came into the document: packing and unpacking
 * are copies of what it holds.
 *
 * Invariant: unpacking gives the document as it was before defaults were put
 *   into it.
 * Threads: any that has the block to itself; the schema is borrowed.
 */
#include "doc/doc.h"

struct grb_packed {
    grebe_schema *schema;
    uint64_t size; /* as grebe_document.size */
    uint32_t count, null_count;
    uint64_t bytes;           /* of text behind the instances */
    grb_instance instances[]; /* `count`, then the text */
};

static size_t packed_size(const grb_packed *p) {
    return sizeof *p + p->count * sizeof p->instances[0] + p->bytes;
}

grb_packed *grb_document_pack(const grebe_document *document,
                              grb_arena *arena) {
    grb_packed head = {.schema = document->schema,
                       .size = document->size,
                       .count = document->count - document->default_count,
                       .null_count = document->null_count,
                       .bytes = document->bytes.size};
    grb_packed *p = grb_arena_alloc(arena, packed_size(&head));
    if (!p) return NULL;
    *p = head;
    if (p->count)
        memcpy(p->instances, document->instances,
               p->count * sizeof p->instances[0]);
    if (p->bytes)
        memcpy(p->instances + p->count, document->bytes.bytes, p->bytes);
    return p;
}

grb_packed *grb_packed_copy(const grb_packed *packed, grb_arena *arena) {
    return grb_arena_copy(arena, packed, packed_size(packed));
}

grebe_schema *grb_packed_schema(const grb_packed *packed) {
    return packed->schema;
}

/* An empty document of that schema. */
static grebe_status document_ready(grebe_schema *schema,
                                   const grebe_allocator *a,
                                   grebe_document **document,
                                   grebe_error *err) {
    if (*document && (*document)->schema == schema) {
        grb_document_clear(*document);
        return GREBE_OK;
    }
    grb_document_free(*document);
    *document = NULL;
    return grb_document_new(schema, a, document, err);
}

static grebe_status room_make(grebe_document *d, const grb_packed *p,
                              grebe_error *err) {
    size_t size = p->count * sizeof *d->instances;
    if (p->count > d->capacity) {
        grb_instance *grown =
            grb_resize(d->allocator, d->instances,
                       d->capacity * sizeof *d->instances, size);
        if (!grown) return grb_error_memory(err, size);
        d->instances = grown;
        d->capacity = p->count;
    }
    if (p->bytes && !grb_buf_reserve(&d->bytes, p->bytes)) {
        d->bytes.failed = false;
        return grb_error_memory(err, p->bytes);
    }
    return GREBE_OK;
}

grebe_status grb_document_unpack(const grb_packed *packed,
                                 const grebe_allocator *a,
                                 grebe_document **document, grebe_error *err) {
    grebe_status status;
    GRB_TRY(document_ready(packed->schema, a, document, err));
    grebe_document *d = *document;
    GRB_TRY(room_make(d, packed, err));
    if (packed->count)
        memcpy(d->instances, packed->instances,
               packed->count * sizeof *d->instances);
    grb_buf_put(&d->bytes, packed->instances + packed->count, packed->bytes);
    d->count = packed->count;
    d->null_count = packed->null_count;
    d->size = packed->size;
    for (uint32_t i = 0; i < d->count; i++) {
        uint32_t *held = &d->per_field[d->instances[i].field];
        d->fields_used += *held == 0;
        *held = i < d->null_count ? GRB_FIELD_NULL : *held + 1;
    }
done:
    return status;
}
