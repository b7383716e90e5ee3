/* segment/docs_write.c - lengths, stored records and unique keys.
 *
 * Lengths: a byte a document for each text field that a document of the
 * segment has, padded to 64.
 * Stored: blocks of about 16 KiB of records (a larger record alone), each
 *   varint raw size, lz4 bytes of { varint size of each record, records };
 *   a raw size of 0: the same bytes uncompressed.
 *   Index entry: u32 first document, u32 size of the block, u64 place.
 * Key offsets (unless all keys have one size): u64 base, 256 u32 ends of
 *   keys relative to it, and so on. Keys: their bytes by document.
 * Key buckets, 64 bytes: u16 fingerprints[10], u32 documents[10], u8 count,
 *   u8 overflow (look in the next bucket too). The bucket is the upper half
 *   of XXH3(key, the segment's seed), the fingerprint its low 16 bits. A
 *   bucket has the newest document of a key.
 * Key prev: pairs {u32 document, u32 next older one with its key}, ascending.
 *
 * Threads: one. Owns: these sections.
 */
#include <lz4.h>

#include "segment/write.h"

/* ---- lengths ---- */

static grebe_status lengths_source(grb_segwriter *w, size_t s, uint32_t field,
                                   uint8_t **out) {
    grebe_status status = GREBE_OK;
    const grb_source *source = &w->sources[s];
    uint8_t scratch[GRB_WINDOW];
    for (uint32_t base = 0; base < source->bounds.max_doc;) {
        const uint8_t *codes;
        uint32_t count = GRB_MIN(GRB_WINDOW, source->bounds.max_doc - base);
        grb_arena_reset(&w->arena);
        GRB_TRY(source->segment->ops->lengths(source->segment, &source->bounds,
                                              field, base, scratch, &codes,
                                              w->err));
        if (codes && !*out) {
            *out = grb_arena_zero(&w->field_arena, w->max_doc + 64u);
            if (!*out) return grb_error_memory(w->err, w->max_doc);
        }
        for (uint32_t i = 0; codes && i < count; i++) {
            uint32_t doc = grb_segwriter_doc(w, s, base + i);
            if (doc != GRB_NO_DOC) (*out)[doc] = codes[i];
        }
        if (source->bounds.max_doc - base <= GRB_WINDOW) break;
        base += GRB_WINDOW;
    }
done:
    return status;
}

grebe_status grb_lengths_join(grb_segwriter *w, uint32_t field,
                              uint8_t **out) {
    grebe_status status = GREBE_OK;
    *out = NULL;
    for (size_t s = 0; s < w->count; s++)
        GRB_TRY(lengths_source(w, s, field, out));
done:
    return status;
}

grebe_status grb_write_lengths(grb_segwriter *w) {
    grebe_status status = GREBE_OK;
    static const uint8_t zeros[64];
    grb_segout_begin(&w->out, GRB_SECTION_LENGTHS);
    for (uint32_t i = 0; i < w->schema->field_count; i++) {
        uint8_t *codes, any = 0;
        if (w->fields[i].kind != GREBE_TEXT) continue;
        grb_arena_reset(&w->field_arena);
        GRB_TRY(grb_lengths_join(w, i, &codes));
        for (uint32_t doc = 0; codes && doc < w->max_doc; doc++)
            any |= codes[doc];
        if (!any) continue;
        w->fields[i].flags |= GRB_FIELD_LENGTHS;
        w->fields[i].lengths_at = grb_segout_at(&w->out);
        grb_segout_put(&w->out, codes, w->max_doc);
        grb_segout_put(&w->out, zeros, -w->max_doc & 63);
    }
    grb_segout_end(&w->out);
    status = w->out.status;
done:
    return status;
}

/* ---- stored records ---- */

typedef struct store {
    grb_segwriter *w;
    grb_buf sizes, records, packed, index, record;
    uint32_t first, count;
} store;

static grebe_status store_flush(store *st) {
    grb_segout *out = &st->w->out;
    uint64_t at = grb_segout_at(out);
    if (st->count == 0) return GREBE_OK;
    /* Sizes and records side by side: what is compressed. */
    grb_buf_put(&st->sizes, st->records.bytes, st->records.size);
    size_t raw = st->sizes.size;
    if (raw > LZ4_MAX_INPUT_SIZE)
        return grb_error(st->w->err, GREBE_LIMIT,
                         "a stored record is %zu bytes, the limit is %d", raw,
                         LZ4_MAX_INPUT_SIZE);
    int bound = LZ4_compressBound((int)raw), packed = 0;
    grb_buf_clear(&st->packed);
    if (st->sizes.failed || st->records.failed ||
        !grb_buf_reserve(&st->packed, (size_t)bound + 5))
        return grb_error_memory(st->w->err, raw);
    grb_buf_varint(&st->packed, raw);
    packed = LZ4_compress_default((const char *)st->sizes.bytes,
                                  (char *)st->packed.bytes + st->packed.size,
                                  (int)raw, bound);
    if (packed > 0 && (size_t)packed < raw) {
        st->packed.size += (size_t)packed;
    } else {
        grb_buf_clear(&st->packed);
        grb_buf_u8(&st->packed, 0);
        grb_buf_put(&st->packed, st->sizes.bytes, raw);
    }
    if (st->packed.failed) return grb_error_memory(st->w->err, raw);
    grb_segout_put(out, st->packed.bytes, st->packed.size);
    grb_buf_u32(&st->index, st->first);
    grb_buf_u32(&st->index, (uint32_t)st->packed.size);
    grb_buf_u64(&st->index, at);
    st->first += st->count;
    st->count = 0;
    grb_buf_clear(&st->sizes);
    grb_buf_clear(&st->records);
    if (st->index.failed) return grb_error_memory(st->w->err, raw);
    return out->status;
}

static grebe_status store_record(store *st, size_t s, uint32_t doc) {
    grebe_status status = GREBE_OK;
    grb_segment *segment = st->w->sources[s].segment;
    grb_buf_clear(&st->record);
    GRB_TRY(segment->ops->stored(segment, doc, &st->record, st->w->err));
    if (st->record.failed)
        return grb_error_memory(st->w->err, st->record.size);
    if (st->count && st->records.size + st->record.size > GRB_STORED_BLOCK)
        GRB_TRY(store_flush(st));
    grb_buf_varint(&st->sizes, st->record.size);
    grb_buf_put(&st->records, st->record.bytes, st->record.size);
    st->count++;
done:
    return status;
}

grebe_status grb_write_stored(grb_segwriter *w) {
    grebe_status status = GREBE_OK;
    store st;
    memset(&st, 0, sizeof st);
    st.w = w;
    grb_buf_init(&st.sizes, w->allocator, 0);
    grb_buf_init(&st.records, w->allocator, 0);
    grb_buf_init(&st.packed, w->allocator, 0);
    grb_buf_init(&st.index, w->allocator, 0);
    grb_buf_init(&st.record, w->allocator, 0);
    grb_segout_begin(&w->out, GRB_SECTION_STORED);
    for (size_t s = 0; s < w->count; s++) {
        for (uint32_t i = 0; i < w->sources[s].bounds.max_doc; i++)
            if (grb_segwriter_doc(w, s, i) != GRB_NO_DOC)
                GRB_TRY(store_record(&st, s, i));
    }
    GRB_TRY(store_flush(&st));
    grb_segout_end(&w->out);
    grb_segout_begin(&w->out, GRB_SECTION_STORED_INDEX);
    grb_segout_put(&w->out, st.index.bytes, st.index.size);
    grb_segout_end(&w->out);
    status = w->out.status;
done:
    grb_buf_deinit(&st.sizes);
    grb_buf_deinit(&st.records);
    grb_buf_deinit(&st.packed);
    grb_buf_deinit(&st.index);
    grb_buf_deinit(&st.record);
    return status;
}

/* ---- keys ---- */

typedef struct keys {
    grb_segwriter *w;
    uint8_t *buckets;
    uint32_t bucket_count, key_count;
    grb_buf prev;
    grb_buf key;    /* a copy of the one being put in */
    uint64_t bytes; /* of all keys */
    bool fixed;
    uint32_t size; /* of each, while fixed */
} keys;

/* The key of an old document; the arena is reset before. */
static grebe_status key_get(grb_segwriter *w, size_t s, uint32_t doc,
                            const uint8_t **bytes, uint32_t *size) {
    grb_segment *segment = w->sources[s].segment;
    grb_arena_reset(&w->arena);
    return segment->ops->key_bytes(segment, doc, &w->arena, bytes, size,
                                   w->err);
}

/* Calls `each` with the key of every kept document, in order. */
static grebe_status
keys_each(keys *k, grebe_status (*each)(keys *k, uint32_t doc,
                                        const uint8_t *bytes, uint32_t size)) {
    grebe_status status = GREBE_OK;
    grb_segwriter *w = k->w;
    for (size_t s = 0; s < w->count; s++) {
        for (uint32_t i = 0; i < w->sources[s].bounds.max_doc; i++) {
            const uint8_t *bytes;
            uint32_t size, doc = grb_segwriter_doc(w, s, i);
            if (doc == GRB_NO_DOC) continue;
            GRB_TRY(key_get(w, s, i, &bytes, &size));
            GRB_TRY(each(k, doc, bytes, size));
        }
    }
    status = w->out.status;
done:
    return status;
}

static grebe_status key_count(keys *k, uint32_t doc, const uint8_t *bytes,
                              uint32_t size) {
    if (doc == 0) k->size = size;
    k->fixed &= size == k->size;
    k->key_count += bytes != NULL; /* "" is a key like any other */
    k->bytes += size;
    return GREBE_OK;
}

static grebe_status key_offset(keys *k, uint32_t doc, const uint8_t *bytes,
                               uint32_t size) {
    uint64_t base = k->bytes;
    if (doc % GRB_KEY_OFFSET_BLOCK == 0) {
        grb_segout_put(&k->w->out, &base, 8);
        k->size = 0;
    }
    k->size += size;
    k->bytes += size;
    grb_segout_put(&k->w->out, &k->size, 4);
    return GREBE_OK;
}

static grebe_status key_put(keys *k, uint32_t doc, const uint8_t *bytes,
                            uint32_t size) {
    grb_segout_put(&k->w->out, bytes, size);
    return GREBE_OK;
}

/* The source and old id of a new document. */
static void doc_trace(const grb_segwriter *w, uint32_t doc, size_t *source,
                      uint32_t *old) {
    size_t s = w->count - 1;
    while (s > 0 && w->offset[s] > doc) s--;
    *source = s;
    *old = doc - w->offset[s];
    if (!w->map[s]) return;
    /* Kept documents keep their order: the first id at or behind which the
     * number of kept ones is reached lies between old and max_doc. */
    uint32_t low = *old, high = w->sources[s].bounds.max_doc - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2, probe = middle;
        while (probe > low && w->map[s][probe] == GRB_NO_DOC) probe--;
        uint32_t there = w->map[s][probe];
        if (there == doc) {
            *old = probe;
            return;
        }
        if (there == GRB_NO_DOC || there < doc)
            low = middle + 1;
        else
            high = probe;
    }
    *old = low;
}

static grebe_status key_equal(keys *k, uint32_t doc, bool *equal) {
    grebe_status status;
    const uint8_t *other;
    uint32_t size, old;
    size_t s;
    doc_trace(k->w, doc, &s, &old);
    GRB_TRY(key_get(k->w, s, old, &other, &size));
    *equal = size == k->key.size && memcmp(other, k->key.bytes, size) == 0;
done:
    return status;
}

/* Puts the document in the place of an older one with its key. */
static grebe_status key_replace(keys *k, uint8_t *bucket, uint16_t print,
                                uint32_t doc, bool *done) {
    grebe_status status = GREBE_OK;
    *done = false;
    for (uint32_t i = 0; i < bucket[GRB_BUCKET_COUNT] && !*done; i++) {
        uint8_t *place = bucket + GRB_BUCKET_DOCS + i * 4;
        uint32_t older = grb_load32(place);
        if (grb_load16(bucket + i * 2) != print) continue;
        GRB_TRY(key_equal(k, older, done));
        if (!*done) continue;
        grb_buf_u32(&k->prev, doc);
        grb_buf_u32(&k->prev, older);
        grb_store32(place, doc);
    }
done:
    return status;
}

static grebe_status key_insert(keys *k, uint32_t doc, const uint8_t *bytes,
                               uint32_t size) {
    grebe_status status = GREBE_OK;
    if (!bytes) return GREBE_OK;
    /* Looking at another key may reuse the memory of this one. */
    grb_buf_clear(&k->key);
    grb_buf_put(&k->key, bytes, size);
    if (k->key.failed) return grb_error_memory(k->w->err, size);
    uint64_t hash = grb_hash(bytes, size, k->w->options->hash_seed);
    uint16_t print = grb_key_print(hash);
    uint32_t at = grb_key_bucket(hash, k->bucket_count);
    for (;;) {
        uint8_t *bucket = k->buckets + (size_t)at * GRB_BUCKET;
        uint32_t count = bucket[GRB_BUCKET_COUNT];
        bool done;
        GRB_TRY(key_replace(k, bucket, print, doc, &done));
        if (done) break;
        if (count < GRB_BUCKET_KEYS) {
            memcpy(bucket + count * 2, &print, 2);
            grb_store32(bucket + GRB_BUCKET_DOCS + count * 4, doc);
            bucket[GRB_BUCKET_COUNT]++;
            break;
        }
        bucket[GRB_BUCKET_OVERFLOW] = 1;
        at = at + 1 == k->bucket_count ? 0 : at + 1;
    }
done:
    return status;
}

/* Sections of offsets, bytes, buckets and older documents. */
static grebe_status keys_sections(keys *k) {
    grebe_status status = GREBE_OK;
    grb_segout *out = &k->w->out;
    uint32_t size = k->size;
    size_t bytes = (size_t)k->bucket_count * GRB_BUCKET;
    if (!k->fixed) {
        k->bytes = 0;
        grb_segout_begin(out, GRB_SECTION_KEY_OFFSETS);
        GRB_TRY(keys_each(k, key_offset));
        grb_segout_end(out);
    } else {
        k->w->flags |= GRB_SEGMENT_KEYS_FIXED;
        k->w->key_size = size;
    }
    grb_segout_begin(out, GRB_SECTION_KEYS);
    GRB_TRY(keys_each(k, key_put));
    grb_segout_end(out);
    k->buckets = grb_alloc_zero(k->w->allocator, bytes);
    if (!k->buckets) return grb_error_memory(k->w->err, bytes);
    GRB_TRY(keys_each(k, key_insert));
    if (k->prev.failed) {
        status = grb_error_memory(k->w->err, k->prev.size);
        goto done;
    }
    grb_segout_begin(out, GRB_SECTION_KEY_BUCKETS);
    grb_segout_put(out, k->buckets, bytes);
    grb_segout_end(out);
    grb_segout_begin(out, GRB_SECTION_KEY_PREV);
    grb_segout_put(out, k->prev.bytes, k->prev.size);
    grb_segout_end(out);
    k->w->key_buckets = k->bucket_count;
    status = out->status;
done:
    if (k->buckets) grb_free(k->w->allocator, k->buckets, bytes);
    return status;
}

grebe_status grb_write_keys(grb_segwriter *w) {
    grebe_status status = GREBE_OK;
    keys k;
    if (w->schema->key == GREBE_NO_FIELD) return GREBE_OK;
    memset(&k, 0, sizeof k);
    k.w = w;
    k.fixed = true;
    grb_buf_init(&k.prev, w->allocator, 0);
    grb_buf_init(&k.key, w->allocator, 0);
    GRB_TRY(keys_each(&k, key_count));
    if (k.key_count == 0) goto done;
    /* Eight keys a bucket: 80 % full. */
    k.bucket_count = k.key_count / 8 + 1;
    status = keys_sections(&k);
done:
    grb_buf_deinit(&k.prev);
    grb_buf_deinit(&k.key);
    return status;
}
