/* segment/out.c - the bytes of a segment file on their way to the store.
 *
 * Sections are streamed one after the other through a buffer of 256 KiB; each
 * 16 KiB page of a section is hashed as it fills. The header is written last,
 * over the place kept for it, so that a torn file never has one.
 *
 * Invariant: `status` is the first failure and nothing is written after it.
 * Threads: one.
 */
#include "segment/write.h"

#define BUFFER ((size_t)256 << 10)
#define FORGET_EVERY ((uint64_t)32 << 20)
#define HEAD                                                                 \
    ((GRB_SEGMENT_HEADER + (GRB_SECTION_END - 1) * GRB_SEGMENT_ENTRY + 63) & \
     ~63u)

grebe_status grb_segout_open(grb_segout *o, grb_directory *d, const char *name,
                             grebe_error *err) {
    memset(o, 0, sizeof *o);
    o->allocator = d->allocator;
    o->directory = d;
    o->err = err;
    grb_buf_init(&o->checksums, o->allocator, 0);
    o->buffer = grb_alloc(o->allocator, BUFFER + GRB_SEGMENT_PAGE);
    if (!o->buffer) return grb_error_memory(err, BUFFER + GRB_SEGMENT_PAGE);
    memset(o->buffer, 0, HEAD);
    o->used = o->page_at = HEAD;
    o->status = d->ops->file_open(d, name, true, true, &o->file, err);
    return o->status;
}

/* A merge touches every page of its sources once: mapped ones would all count
 * as this process's memory. */
static void sources_forget(grb_segout *o) {
    for (size_t i = 0; i < o->source_count; i++)
        grb_segfile_forget(o->sources[i].segment);
    o->forget_at = o->at + FORGET_EVERY;
}

static void flush(grb_segout *o, size_t size) {
    if (o->status != GREBE_OK || size == 0) return;
    o->status =
        o->directory->ops->file_write(o->file, o->at, o->buffer, size, o->err);
    o->at += size;
    memmove(o->buffer, o->buffer + size, o->used - size);
    o->used -= size;
    o->page_at -= size;
    if (o->at >= o->forget_at) sources_forget(o);
}

static void page_end(grb_segout *o) {
    uint64_t hash = grb_hash(o->buffer + o->page_at, o->used - o->page_at, 0);
    grb_buf_u32(&o->checksums, (uint32_t)hash);
    o->page_at = o->used;
    if (o->used >= BUFFER) flush(o, o->used);
}

void grb_segout_begin(grb_segout *o, uint32_t kind) {
    size_t pad = (size_t)(-(o->at + o->used) & 63);
    memset(o->buffer + o->used, 0, pad);
    o->used += pad;
    o->page_at = o->used;
    o->kind = kind;
    o->section_at = o->at + o->used;
    uint8_t *entry = o->table + o->table_count * GRB_SEGMENT_ENTRY;
    memset(entry, 0, GRB_SEGMENT_ENTRY);
    grb_store32(entry, kind);
    grb_store64(entry + 8, o->section_at);
    grb_store64(entry + 24, o->checksums.size / 4);
}

void grb_segout_put(grb_segout *o, const void *bytes, size_t size) {
    const uint8_t *from = bytes;
    while (size && o->status == GREBE_OK) {
        size_t part = GRB_MIN(size, GRB_SEGMENT_PAGE - (o->used - o->page_at));
        memcpy(o->buffer + o->used, from, part);
        o->used += part;
        from += part;
        size -= part;
        if (o->used - o->page_at == GRB_SEGMENT_PAGE) page_end(o);
    }
}

uint64_t grb_segout_at(const grb_segout *o) {
    return o->at + o->used - o->section_at;
}

void grb_segout_end(grb_segout *o) {
    if (o->used > o->page_at) page_end(o);
    grb_store64(o->table + o->table_count * GRB_SEGMENT_ENTRY + 16,
                grb_segout_at(o));
    o->table_count++;
}

grebe_status grb_segout_finish(grb_segout *o,
                               uint8_t header[GRB_SEGMENT_HEADER], bool sync,
                               uint64_t *bytes) {
    grebe_status status = GREBE_OK;
    uint8_t head[HEAD] = {0};
    grb_buf *sums = &o->checksums;
    size_t sums_size = sums->size;
    grb_segout_begin(o, GRB_SECTION_CHECKSUMS);
    grb_segout_put(o, sums->bytes, sums_size);
    grb_segout_end(o);
    flush(o, o->used);
    if (sums->failed) return grb_error_memory(o->err, sums_size);
    GRB_TRY(o->status);
    *bytes = o->at;
    grb_store64(header + GRB_HEADER_FILE_SIZE, o->at);
    grb_store32(header + GRB_HEADER_SECTIONS, o->table_count);
    memcpy(head, header, GRB_SEGMENT_HEADER);
    size_t size = (size_t)o->table_count * GRB_SEGMENT_ENTRY;
    memcpy(head + GRB_SEGMENT_HEADER, o->table, size);
    grb_store64(head + GRB_HEADER_CHECKSUM,
                grb_hash(head, GRB_SEGMENT_HEADER + size, 0));
    GRB_TRY(o->directory->ops->file_write(o->file, 0, head, HEAD, o->err));
    if (sync) GRB_TRY(grb_file_sync(o->file, o->err));
done:
    return status;
}

void grb_segout_close(grb_segout *o) {
    if (o->file) o->directory->ops->file_close(o->file);
    if (o->buffer)
        grb_free(o->allocator, o->buffer, BUFFER + GRB_SEGMENT_PAGE);
    if (o->allocator) grb_buf_deinit(&o->checksums);
}
