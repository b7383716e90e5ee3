/* segment/docs_read.c - lengths, stored records and keys of documents.
 *
 * docs_write.c says how they are kept. Decompressed blocks of records stay in
 * a cache of four, so that ten hits of one block decompress it once.
 *
 * Threads: any; the cache has a lock that is held for copying one record,
 * never while a block is read or decompressed.
 * Owns: the cached blocks.
 */
#include <lz4.h>

#include "segment/file.h"

grebe_status grb_segfile_lengths(grb_segment *s, const grb_bounds *b,
                                 uint32_t field, uint32_t base,
                                 uint8_t *scratch, const uint8_t **out,
                                 grebe_error *err) {
    grebe_status status;
    grb_segfile *f = (grb_segfile *)s;
    const grb_segfield *found = grb_segfile_field(f, field);
    const uint8_t *codes;
    grb_arena arena;
    *out = NULL;
    if (!found || !(found->flags & GRB_FIELD_LENGTHS) || base >= f->max_doc)
        return GREBE_OK;
    uint32_t count = GRB_MIN(GRB_WINDOW, f->max_doc - base);
    grb_arena_init(&arena, f->base.allocator, 0);
    GRB_TRY(grb_segfile_view(f, GRB_SECTION_LENGTHS, found->lengths_at + base,
                             count, &arena, &codes, err));
    *out = codes;
    if (!f->region->bytes || count < GRB_WINDOW) {
        memcpy(scratch, codes, count);
        memset(scratch + count, 0, GRB_WINDOW - count);
        *out = scratch;
    }
done:
    grb_arena_deinit(&arena);
    return status;
}

/* ---- stored records ---- */

/* Ends of the records, counted from the block's first byte, lie behind it:
 * made once a block, so that a record is one look-up. */
static inline size_t block_room(const grb_stored_block *b) {
    return (size_t)b->size + (size_t)b->count * sizeof(uint32_t);
}

static bool block_index(grb_stored_block *b) {
    grb_cursor c;
    uint64_t end = 0;
    uint8_t *ends = b->bytes + b->size;
    grb_cursor_init(&c, b->bytes, b->size);
    for (uint32_t i = 0; i < b->count; i++) {
        uint64_t next = grb_cursor_varint(&c);
        if (c.failed || next > b->size || end + next > b->size) return false;
        end += next;
        grb_store32(ends + (size_t)i * 4, (uint32_t)end);
    }
    b->records_at = (uint32_t)(c.at - c.base);
    return end <= grb_cursor_left(&c);
}

/* Appends record `doc` of a decompressed block. */
static grebe_status record_copy(const grb_stored_block *b, uint32_t doc,
                                grb_buf *out, grebe_error *err) {
    const uint8_t *ends = b->bytes + b->size;
    uint32_t place = doc - b->first;
    uint32_t from = place ? grb_load32(ends + (size_t)(place - 1) * 4) : 0;
    uint32_t size = grb_load32(ends + (size_t)place * 4) - from;
    grb_buf_put(out, b->bytes + b->records_at + from, size);
    return out->failed ? grb_error_memory(err, size) : GREBE_OK;
}

static bool cache_hit(const grb_stored_block *b, uint32_t doc) {
    return b->bytes && doc >= b->first && doc - b->first < b->count;
}

static bool cache_copy(grb_segfile *f, uint32_t doc, grb_buf *out,
                       grebe_status *status, grebe_error *err) {
    bool found = false;
    pthread_mutex_lock(&f->cache_lock);
    for (uint32_t i = 0; i < GRB_STORED_CACHE && !found; i++) {
        if (!cache_hit(&f->cache[i], doc)) continue;
        found = true;
        f->cache[i].used = ++f->cache_clock;
        *status = record_copy(&f->cache[i], doc, out, err);
    }
    pthread_mutex_unlock(&f->cache_lock);
    return found;
}

/* Takes the block over, or frees it. */
static void cache_put(grb_segfile *f, grb_stored_block *block) {
    grb_stored_block gone = *block;
    if (block->size <= GRB_STORED_CACHED_MAX) {
        grb_stored_block *oldest = &f->cache[0];
        pthread_mutex_lock(&f->cache_lock);
        for (uint32_t i = 1; i < GRB_STORED_CACHE; i++)
            if (f->cache[i].used < oldest->used) oldest = &f->cache[i];
        gone = *oldest;
        block->used = ++f->cache_clock;
        *oldest = *block;
        pthread_mutex_unlock(&f->cache_lock);
    }
    if (gone.bytes) grb_free(f->base.allocator, gone.bytes, block_room(&gone));
}

/* The index entry of the block with the document. */
static grebe_status block_find(grb_segfile *f, uint32_t doc, grb_arena *arena,
                               grb_stored_block *out, uint64_t *at,
                               uint32_t *size, grebe_error *err) {
    grebe_status status = GREBE_OK;
    const uint8_t *entry;
    uint64_t count =
        f->sections[GRB_SECTION_STORED_INDEX].size / GRB_STORED_ENTRY;
    uint64_t low = 0, high = count;
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        GRB_TRY(grb_segfile_view(f, GRB_SECTION_STORED_INDEX,
                                 middle * GRB_STORED_ENTRY, 4, arena, &entry,
                                 err));
        if (grb_load32(entry) <= doc)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0) goto corrupt;
    GRB_TRY(grb_segfile_view(f, GRB_SECTION_STORED_INDEX,
                             (low - 1) * GRB_STORED_ENTRY, GRB_STORED_ENTRY,
                             arena, &entry, err));
    out->first = grb_load32(entry);
    *size = grb_load32(entry + 4);
    *at = grb_load64(entry + 8);
    uint32_t end = f->max_doc;
    if (low < count) {
        GRB_TRY(grb_segfile_view(f, GRB_SECTION_STORED_INDEX,
                                 low * GRB_STORED_ENTRY, 4, arena, &entry,
                                 err));
        end = grb_load32(entry);
    }
    if (end <= out->first || doc < out->first || doc >= end) goto corrupt;
    out->count = end - out->first;
done:
    return status;
corrupt:
    return grb_segfile_corrupt(f, GRB_SECTION_STORED_INDEX, 0, err,
                               "the index of stored records");
}

static grebe_status block_unpack(grb_segfile *f, uint64_t at, uint32_t size,
                                 grb_arena *arena, grb_stored_block *out,
                                 grebe_error *err) {
    grebe_status status;
    const uint8_t *bytes;
    grb_cursor c;
    GRB_TRY(
        grb_segfile_view(f, GRB_SECTION_STORED, at, size, arena, &bytes, err));
    grb_cursor_init(&c, bytes, size);
    uint64_t raw = grb_cursor_varint(&c);
    size_t left = grb_cursor_left(&c);
    bool plain = raw == 0;
    if (plain) raw = left;
    /* A byte of lz4 never makes more than 255. */
    if (c.failed || raw > (uint64_t)left * 255 + 64 ||
        raw > LZ4_MAX_INPUT_SIZE || raw == 0 || out->count > raw)
        return grb_segfile_corrupt(f, GRB_SECTION_STORED, at, err,
                                   "size of a stored block");
    out->size = (uint32_t)raw;
    out->bytes = grb_alloc(f->base.allocator, block_room(out));
    if (!out->bytes) return grb_error_memory(err, block_room(out));
    bool sane = true;
    if (plain)
        memcpy(out->bytes, c.at, left);
    else
        sane = LZ4_decompress_safe((const char *)c.at, (char *)out->bytes,
                                   (int)left, (int)raw) == (int)raw;
    if (!sane || !block_index(out)) {
        grb_free(f->base.allocator, out->bytes, block_room(out));
        out->bytes = NULL;
        return grb_segfile_corrupt(f, GRB_SECTION_STORED, at, err,
                                   "a stored block does not decompress");
    }
    atomic_fetch_add_explicit(&f->base.stored_blocks, 1, memory_order_relaxed);
done:
    return status;
}

grebe_status grb_segfile_stored(grb_segment *s, uint32_t doc, grb_buf *out,
                                grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_segfile *f = (grb_segfile *)s;
    grb_stored_block block = {0};
    uint64_t at = 0;
    uint32_t size = 0;
    grb_arena arena;
    if (doc >= f->max_doc)
        return grb_error(err, GREBE_INTERNAL, "document %u of %u", doc,
                         f->max_doc);
    if (cache_copy(f, doc, out, &status, err)) return status;
    grb_arena_init(&arena, f->base.allocator, 0);
    GRB_TRY(block_find(f, doc, &arena, &block, &at, &size, err));
    GRB_TRY(block_unpack(f, at, size, &arena, &block, err));
    status = record_copy(&block, doc, out, err);
    cache_put(f, &block);
done:
    grb_arena_deinit(&arena);
    return status;
}

/* ---- keys ---- */

/* Place and size of a document's key. */
static grebe_status key_place(grb_segfile *f, uint32_t doc, grb_arena *arena,
                              uint64_t *at, uint32_t *size, grebe_error *err) {
    grebe_status status = GREBE_OK;
    const uint8_t *bytes;
    if (f->flags & GRB_SEGMENT_KEYS_FIXED) {
        *at = (uint64_t)doc * f->key_size;
        *size = f->key_size;
        return GREBE_OK;
    }
    uint32_t block = doc / GRB_KEY_OFFSET_BLOCK;
    uint32_t place = doc % GRB_KEY_OFFSET_BLOCK;
    uint64_t base_at = (uint64_t)block * GRB_KEY_OFFSET_SIZE;
    GRB_TRY(grb_segfile_view(f, GRB_SECTION_KEY_OFFSETS, base_at,
                             8 + 4 * ((uint64_t)place + 1), arena, &bytes,
                             err));
    uint32_t from = place ? grb_load32(bytes + 4 + 4 * place) : 0;
    uint32_t to = grb_load32(bytes + 8 + 4 * place);
    *at = grb_load64(bytes) + from;
    *size = to - from;
    if (from > to)
        return grb_segfile_corrupt(f, GRB_SECTION_KEY_OFFSETS, base_at, err,
                                   "ends of keys fall");
done:
    return status;
}

grebe_status grb_segfile_key_bytes(grb_segment *s, uint32_t doc,
                                   grb_arena *arena, const uint8_t **bytes,
                                   uint32_t *size, grebe_error *err) {
    grebe_status status;
    grb_segfile *f = (grb_segfile *)s;
    uint64_t at;
    *bytes = NULL;
    *size = 0;
    if (f->key_buckets == 0 || doc >= f->max_doc) return GREBE_OK;
    GRB_TRY(key_place(f, doc, arena, &at, size, err));
    /* A file with keys has one for every document; "" is one of them. */
    *bytes = (const uint8_t *)"";
    if (*size == 0) return GREBE_OK;
    GRB_TRY(
        grb_segfile_view(f, GRB_SECTION_KEYS, at, *size, arena, bytes, err));
done:
    if (status != GREBE_OK) *size = 0;
    return status;
}

/* Bits 15, 31, 47 and 63 are set for 16-bit parts of `word` that are `print`,
 * and perhaps for parts behind such a one. */
static inline uint64_t prints_equal(uint64_t word, uint16_t print) {
    uint64_t ones = 0x0001000100010001u;
    uint64_t zero = word ^ print * ones;
    return (zero - ones) & ~zero & ones << 15;
}

/* Whether a bucket may have the print: four are compared at a time. */
static inline bool bucket_may_have(const uint8_t *bucket, uint16_t print) {
    uint64_t last = grb_load32(bucket + 16);
    return (prints_equal(grb_load64(bucket), print) |
            prints_equal(grb_load64(bucket + 8), print) |
            prints_equal(last << 32 | last, print)) != 0;
}

/* Looks for the key in one bucket. */
static grebe_status bucket_probe(grb_segfile *f, const uint8_t *bucket,
                                 uint16_t print, const grb_key *key,
                                 grb_arena *arena, uint32_t *doc,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t count = GRB_MIN(bucket[GRB_BUCKET_COUNT], GRB_BUCKET_KEYS);
    if (!bucket_may_have(bucket, print)) return GREBE_OK;
    for (uint32_t i = 0; i < count; i++) {
        const uint8_t *bytes;
        uint32_t size;
        if (grb_load16(bucket + i * 2) != print) continue;
        uint32_t there = grb_load32(bucket + GRB_BUCKET_DOCS + i * 4);
        GRB_TRY(
            grb_segfile_key_bytes(&f->base, there, arena, &bytes, &size, err));
        if (size != key->size || memcmp(bytes, key->bytes, size) != 0)
            continue;
        *doc = there;
        break;
    }
done:
    return status;
}

/* Looks for the key in buckets from `at` on. */
static grebe_status buckets_search(grb_segfile *f, uint32_t at, uint16_t print,
                                   const grb_key *key, uint32_t *doc,
                                   grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_arena arena;
    grb_arena_init(&arena, f->base.allocator, 0);
    for (uint32_t n = 0; n < f->key_buckets; n++) {
        const uint8_t *bucket;
        GRB_TRY(grb_segfile_view(f, GRB_SECTION_KEY_BUCKETS,
                                 (uint64_t)at * GRB_BUCKET, GRB_BUCKET, &arena,
                                 &bucket, err));
        GRB_TRY(bucket_probe(f, bucket, print, key, &arena, doc, err));
        if (*doc != GRB_NO_DOC || !bucket[GRB_BUCKET_OVERFLOW]) break;
        at = at + 1 == f->key_buckets ? 0 : at + 1;
    }
done:
    grb_arena_deinit(&arena);
    return status;
}

grebe_status grb_segfile_key_newest(grb_segment *s, const grb_bounds *b,
                                    const grb_key *key, uint32_t *doc,
                                    grebe_error *err) {
    grb_segfile *f = (grb_segfile *)s;
    *doc = GRB_NO_DOC;
    if (f->key_buckets == 0) return GREBE_OK;
    uint64_t hash = grb_hash(key->bytes, key->size, f->seed);
    uint32_t at = grb_key_bucket(hash, f->key_buckets);
    uint16_t print = grb_key_print(hash);
    /* Most look-ups end here: a line of memory, and no. */
    const uint8_t *bucket = grb_segfile_ready(
        f, GRB_SECTION_KEY_BUCKETS, (uint64_t)at * GRB_BUCKET, GRB_BUCKET);
    if (GRB_LIKELY(bucket && !bucket_may_have(bucket, print) &&
                   !bucket[GRB_BUCKET_OVERFLOW]))
        return GREBE_OK;
    return buckets_search(f, at, print, key, doc, err);
}

void grb_segfile_key_touch(const grb_segment *s, const grb_key *key) {
    const grb_segfile *f = (const grb_segfile *)s;
    if (f->key_buckets == 0 || !f->region->bytes) return;
    uint64_t hash = grb_hash(key->bytes, key->size, f->seed);
    uint64_t at = (uint64_t)grb_key_bucket(hash, f->key_buckets) * GRB_BUCKET;
    __builtin_prefetch(f->region->bytes +
                       f->sections[GRB_SECTION_KEY_BUCKETS].at + at);
}

grebe_status grb_segfile_key_older(grb_segment *s, uint32_t doc,
                                   uint32_t *older, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_segfile *f = (grb_segfile *)s;
    const uint8_t *pair;
    grb_arena arena;
    uint64_t low = 0, high = f->sections[GRB_SECTION_KEY_PREV].size / 8;
    *older = GRB_NO_DOC;
    grb_arena_init(&arena, f->base.allocator, 0);
    while (low < high) {
        uint64_t middle = low + (high - low) / 2;
        GRB_TRY(grb_segfile_view(f, GRB_SECTION_KEY_PREV, middle * 8, 8,
                                 &arena, &pair, err));
        if (grb_load32(pair) < doc) {
            low = middle + 1;
        } else if (grb_load32(pair) > doc) {
            high = middle;
        } else {
            *older = grb_load32(pair + 4);
            if (*older >= doc)
                status =
                    grb_segfile_corrupt(f, GRB_SECTION_KEY_PREV, middle * 8,
                                        err, "an older document is younger");
            break;
        }
    }
done:
    grb_arena_deinit(&arena);
    return status;
}
