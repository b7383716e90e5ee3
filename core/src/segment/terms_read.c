/* segment/terms_read.c - exact look-up and scans of a field's terms.
 *
 * The index narrows a look-up to one block of 32 terms, which is scanned
 * without building its terms: front coding says how much of a term is shared
 * with the one before, and that against how much of the sought bytes matched
 * so far decides most terms by one comparison of numbers.
 *
 * Invariant: a block's counts and sizes are checked before its bytes are.
 * Threads: any. The index of a field is found once and published.
 */
#include "segment/file.h"

/* ---- index ---- */

/* Counted without a branch: 16 compares cost less than one wrong guess. */
static inline uint32_t level_search(const uint8_t *keys, uint32_t from,
                                    uint32_t to, uint64_t prefix) {
    uint32_t count = from;
    for (; from < to; from++)
        count += grb_load64(keys + (size_t)from * 8) <= prefix;
    return count;
}

/* Bytes of the field's index, valid as long as the segment. */
static grebe_status index_get(grb_segfile *f, grb_segfield *field,
                              const uint8_t **out, grebe_error *err) {
    grebe_status status;
    const uint8_t *bytes, *index, *expected = NULL;
    size_t size = (size_t)field->block_count * 16;
    grb_arena arena;
    *out = atomic_load_explicit(&field->index, memory_order_acquire);
    if (GRB_LIKELY(*out != NULL)) return GREBE_OK;
    grb_arena_init(&arena, f->base.allocator, 0);
    uint64_t whole = size;
    for (uint64_t n = field->block_count; n > GRB_TERM_FANOUT;) {
        n = (n + GRB_TERM_FANOUT - 1) / GRB_TERM_FANOUT;
        whole += n * 8;
    }
    /* Mapped: verified once in whole. Else the two lowest levels are kept. */
    if (!f->region->bytes) whole = size;
    GRB_TRY(grb_segfile_view(f, GRB_SECTION_TERM_INDEX, field->index_at, whole,
                             &arena, &bytes, err));
    index = bytes;
    if (!f->region->bytes) {
        uint8_t *copy = grb_alloc(f->base.allocator, size);
        if (!copy) {
            status = grb_error_memory(err, size);
            goto done;
        }
        memcpy(copy, bytes, size);
        index = copy;
    }
    *out = index;
    if (!atomic_compare_exchange_strong(&field->index, &expected, index)) {
        *out = expected;
        if (!f->region->bytes)
            grb_free(f->base.allocator, (void *)(uintptr_t)index, size);
    }
done:
    grb_arena_deinit(&arena);
    return status;
}

/* Number of blocks whose prefix is <= `prefix`, from the levels above. */
static uint32_t index_count(const uint8_t *index, uint32_t blocks,
                            uint64_t prefix) {
    uint32_t sizes[9], levels = 1, at = 0;
    const uint8_t *keys[9];
    const uint8_t *next = index + (size_t)blocks * 16;
    sizes[0] = blocks;
    keys[0] = index;
    while (sizes[levels - 1] > GRB_TERM_FANOUT) {
        sizes[levels] =
            (sizes[levels - 1] + GRB_TERM_FANOUT - 1) / GRB_TERM_FANOUT;
        keys[levels] = next;
        next += (size_t)sizes[levels] * 8;
        levels++;
    }
    while (levels-- > 0) {
        uint32_t to = GRB_MIN(sizes[levels], at + GRB_TERM_FANOUT);
        uint32_t count = level_search(keys[levels], at, to, prefix);
        if (levels == 0) return count;
        if (count == 0) return 0;
        at = (count - 1) * GRB_TERM_FANOUT;
    }
    return 0;
}

/* The same by halving, where only the lowest level is in memory. */
static uint32_t index_halve(const uint8_t *index, uint32_t blocks,
                            uint64_t prefix) {
    uint32_t low = 0, high = blocks;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (grb_load64(index + (size_t)middle * 8) <= prefix)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* ---- blocks ---- */

grebe_status grb_term_block_get(grb_segfile *f, grb_segfield *field,
                                uint32_t block, grb_arena *arena,
                                grb_term_block *out, grebe_error *err) {
    grebe_status status;
    const uint8_t *index, *bytes;
    grb_cursor c;
    GRB_TRY(index_get(f, field, &index, err));
    uint64_t place =
        grb_load64(index + (size_t)field->block_count * 8 + (size_t)block * 8);
    uint64_t size = (place & (((uint64_t)1 << GRB_TERM_SIZE_BITS) - 1)) * 16;
    out->at = place >> GRB_TERM_SIZE_BITS;
    GRB_TRY(grb_segfile_view(f, GRB_SECTION_POSTINGS, out->at, size, arena,
                             &bytes, err));
    grb_cursor_init(&c, bytes, (size_t)size);
    out->count = grb_cursor_u8(&c);
    out->place_base = grb_cursor_varint(&c);
    uint64_t terms_size = grb_cursor_varint(&c);
    out->ends = grb_cursor_take(&c, (size_t)out->count * 2);
    uint32_t expected =
        GRB_MIN(GRB_TERM_BLOCK, field->term_count - block * GRB_TERM_BLOCK);
    if (c.failed || out->count != expected || terms_size > grb_cursor_left(&c))
        goto corrupt;
    out->terms = grb_cursor_take(&c, (size_t)terms_size);
    out->terms_size = (uint32_t)terms_size;
    out->payload = c.at;
    out->payload_at = (uint32_t)(c.at - bytes);
    out->payload_size = grb_load16(out->ends + (out->count - 1) * 2);
    if (out->payload_size > grb_cursor_left(&c)) goto corrupt;
done:
    return status;
corrupt:
    return grb_segfile_corrupt(f, GRB_SECTION_POSTINGS, out->at, err,
                               "a block of terms");
}

/* Nearly every varint here is one byte. */
static inline uint64_t varint_get(grb_cursor *c) {
    if (GRB_LIKELY(c->at < c->end && *c->at < 0x80)) return *c->at++;
    return grb_cursor_varint(c);
}

/* What the payload of term `i` says. */
static grebe_status payload_get(grb_segfile *f, const grb_segfield *field,
                                const grb_term_block *b, uint32_t i,
                                grb_term *term, grebe_error *err) {
    grb_cursor c;
    uint32_t from = i ? grb_load16(b->ends + (i - 1) * 2) : 0;
    uint32_t to = grb_load16(b->ends + i * 2);
    term->field = field->id;
    if (from > to || to > b->payload_size) goto corrupt;
    grb_cursor_init(&c, b->payload + from, to - from);
    uint64_t head = varint_get(&c);
    uint32_t form = head & 3;
    if (head >> 2 > f->max_doc || (form == GRB_FORM_INLINE && head >> 2 > 1))
        goto corrupt;
    term->df = (uint32_t)(head >> 2);
    term->word[GRB_TERM_FORM] = form;
    if (form == GRB_FORM_INLINE || form == GRB_FORM_NEAR) {
        term->word[GRB_TERM_LENGTH] = grb_cursor_left(&c);
        term->word[GRB_TERM_PLACE] =
            b->at + b->payload_at + (uint64_t)(c.at - b->payload);
    } else {
        term->word[GRB_TERM_PLACE] = b->place_base + grb_cursor_varint(&c);
        term->word[GRB_TERM_LENGTH] = grb_cursor_varint(&c);
    }
    if (c.failed) goto corrupt;
    return GREBE_OK;
corrupt:
    return grb_segfile_corrupt(f, GRB_SECTION_POSTINGS,
                               b->at + b->payload_at + from, err,
                               "what is kept of a term");
}

/* One term of a block; the first shares nothing. False: corrupt. */
static inline bool entry_get(grb_cursor *c, bool first, uint64_t last_size,
                             uint64_t *shared, uint64_t *more,
                             const uint8_t **bytes) {
    if (c->at == c->end) return false;
    uint32_t head = *c->at++;
    *shared = head & GRB_TERM_FAR;
    *more = head >> 4;
    if (*shared == GRB_TERM_FAR) *shared += varint_get(c);
    if (*more == GRB_TERM_FAR) *more += varint_get(c);
    if (first && *shared) return false;
    if (c->failed || *shared > last_size ||
        *more > (uint64_t)(c->end - c->at) || *shared + *more > GRB_TERM_SIZE)
        return false;
    *bytes = c->at;
    c->at += *more;
    return true;
}

/* Scans for the first term >= bytes: its place in the block (count: none)
 * and whether it is equal. */
static bool block_scan(const grb_term_block *b, const uint8_t *bytes,
                       size_t size, uint32_t *place, bool *equal) {
    grb_cursor c;
    uint64_t matched = 0, shared, more, last_size = 0;
    const uint8_t *rest;
    grb_cursor_init(&c, b->terms, b->terms_size);
    *equal = false;
    for (uint32_t i = 0; i < b->count; i++) {
        if (!entry_get(&c, i == 0, last_size, &shared, &more, &rest))
            return false;
        last_size = shared + more;
        *place = i;
        /* The term before was less and matched `matched` bytes. Sharing more
         * than that, this one differs from the sought at the same byte. */
        if (shared > matched) continue;
        if (shared < matched) return true;
        while (more && matched < size && *rest == bytes[matched]) {
            matched++;
            rest++;
            more--;
        }
        if (matched == size) {
            *equal = more == 0;
            return true;
        }
        if (more && *rest > bytes[matched]) return true;
    }
    *place = b->count;
    return true;
}

static int first_order(const grb_term_block *b, const uint8_t *bytes,
                       size_t size, bool *sane) {
    grb_cursor c;
    uint64_t shared, more;
    const uint8_t *first;
    grb_cursor_init(&c, b->terms, b->terms_size);
    *sane = entry_get(&c, true, 0, &shared, &more, &first);
    return *sane ? grb_bytes_order(first, (size_t)more, bytes, size) : 0;
}

/* The last block whose first term is <= bytes (0 if there is none). */
static grebe_status block_find(grb_segfile *f, grb_segfield *field,
                               const uint8_t *bytes, size_t size,
                               grb_arena *arena, uint32_t *block,
                               grebe_error *err) {
    grebe_status status;
    const uint8_t *index;
    uint64_t prefix = grb_term_prefix(bytes, size);
    uint32_t n = field->block_count;
    GRB_TRY(index_get(f, field, &index, err));
    uint32_t count = f->region->bytes ? index_count(index, n, prefix)
                                      : index_halve(index, n, prefix);
    *block = count ? count - 1 : 0;
    /* Blocks that begin with just this prefix must be looked at. */
    if (count == 0 || grb_load64(index + (size_t)*block * 8) != prefix)
        return GREBE_OK;
    uint32_t low = prefix ? index_halve(index, n, prefix - 1) : 0;
    low = low ? low - 1 : 0;
    while (low < *block) {
        uint32_t middle = low + (*block - low + 1) / 2;
        grb_term_block b;
        bool sane;
        GRB_TRY(grb_term_block_get(f, field, middle, arena, &b, err));
        int order = first_order(&b, bytes, size, &sane);
        if (!sane)
            return grb_segfile_corrupt(f, GRB_SECTION_POSTINGS, b.at, err,
                                       "the first term of a block");
        if (order <= 0)
            low = middle;
        else
            *block = middle - 1;
    }
done:
    return status;
}

grebe_status grb_segfile_term_place(grb_segfile *f, grb_segfield *field,
                                    const void *bytes, size_t size,
                                    uint32_t *place, grb_term *term,
                                    grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_arena arena;
    grb_term_block b;
    uint32_t block, at;
    bool equal;
    *place = UINT32_MAX;
    if (!field || field->block_count == 0 || size > GRB_TERM_SIZE)
        return GREBE_OK;
    grb_arena_init(&arena, f->base.allocator, 0);
    GRB_TRY(block_find(f, field, bytes, size, &arena, &block, err));
    GRB_TRY(grb_term_block_get(f, field, block, &arena, &b, err));
    if (!block_scan(&b, bytes, size, &at, &equal)) {
        status = grb_segfile_corrupt(f, GRB_SECTION_POSTINGS, b.at, err,
                                     "a term of a block");
        goto done;
    }
    if (!equal) goto done;
    *place = block * GRB_TERM_BLOCK + at;
    if (term) status = payload_get(f, field, &b, at, term, err);
done:
    grb_arena_deinit(&arena);
    return status;
}

grebe_status grb_segfile_term_find(grb_segment *s, const grb_bounds *b,
                                   uint32_t field, const void *bytes,
                                   size_t size, grb_term *out,
                                   grebe_error *err) {
    grb_segfile *f = (grb_segfile *)s;
    uint32_t place;
    memset(out, 0, sizeof *out);
    out->field = field;
    return grb_segfile_term_place(f, grb_segfile_field(f, field), bytes, size,
                                  &place, out, err);
}

grebe_status grb_segfile_term_bytes(grb_segfile *f, grb_segfield *field,
                                    uint32_t place, grb_arena *arena,
                                    const uint8_t **bytes, uint32_t *size,
                                    grebe_error *err) {
    grebe_status status;
    grb_term_block b;
    grb_cursor c;
    uint64_t shared, more, last_size = 0, most = 0;
    const uint8_t *rest;
    if (place >= field->term_count)
        return grb_error(err, GREBE_INTERNAL, "value %u of %u", place,
                         field->term_count);
    GRB_TRY(
        grb_term_block_get(f, field, place / GRB_TERM_BLOCK, arena, &b, err));
    /* Twice over the block: for the longest, then for the bytes. */
    uint8_t *term = NULL;
    for (int pass = 0; pass < 2; pass++) {
        grb_cursor_init(&c, b.terms, b.terms_size);
        last_size = 0;
        for (uint32_t i = 0; i <= place % GRB_TERM_BLOCK; i++) {
            if (!entry_get(&c, i == 0, last_size, &shared, &more, &rest))
                return grb_segfile_corrupt(f, GRB_SECTION_POSTINGS, b.at, err,
                                           "a term of a block");
            if (pass) memcpy(term + shared, rest, (size_t)more);
            last_size = shared + more;
            most = GRB_MAX(most, last_size);
        }
        if (pass) break;
        term = grb_arena_alloc(arena, (size_t)most + 1);
        if (!term) return grb_error_memory(err, (size_t)most + 1);
    }
    *bytes = term;
    *size = (uint32_t)last_size;
done:
    return status;
}

/* ---- scans ---- */

typedef struct scan {
    grb_terms base;
    grb_segfile *f;
    grb_segfield *field; /* NULL: the segment has none of its terms */
    grb_arena *arena;
    grb_term_block b;
    uint32_t block, at; /* the term that comes next */
    bool loaded;        /* b is `block` and c stands before `at` */
    grb_cursor c;
    uint8_t *term; /* bytes of the term before */
    uint64_t term_size;
    uint32_t term_room;
} scan;

static grebe_status scan_load(scan *t, grebe_error *err) {
    grebe_status status = GREBE_OK;
    if (t->loaded) return GREBE_OK;
    GRB_TRY(
        grb_term_block_get(t->f, t->field, t->block, t->arena, &t->b, err));
    grb_cursor_init(&t->c, t->b.terms, t->b.terms_size);
    t->at = 0;
    t->term_size = 0;
    t->loaded = true;
done:
    return status;
}

/* Reads the term at t->at into t->term. */
static grebe_status scan_term(scan *t, grebe_error *err) {
    uint64_t shared, more;
    const uint8_t *rest;
    if (!entry_get(&t->c, t->at == 0, t->term_size, &shared, &more, &rest))
        return grb_segfile_corrupt(t->f, GRB_SECTION_POSTINGS, t->b.at, err,
                                   "a term of a block");
    if (shared + more > t->term_room || !t->term) {
        uint32_t room = GRB_MAX((uint32_t)(shared + more) * 2, 128u);
        uint8_t *term = grb_arena_alloc(t->arena, room);
        if (!term) return grb_error_memory(err, room);
        if (shared) memcpy(term, t->term, (size_t)shared);
        t->term = term;
        t->term_room = room;
    }
    memcpy(t->term + shared, rest, (size_t)more);
    t->term_size = shared + more;
    t->at++;
    return GREBE_OK;
}

static grebe_status scan_seek(grb_terms *base, const void *bytes, size_t size,
                              grebe_error *err) {
    grebe_status status = GREBE_OK;
    scan *t = (scan *)base;
    uint32_t place = 0;
    bool equal;
    t->block = 0;
    t->loaded = false;
    if (!t->field || size == 0) return GREBE_OK;
    GRB_TRY(block_find(t->f, t->field, bytes, size, t->arena, &t->block, err));
    GRB_TRY(scan_load(t, err));
    if (!block_scan(&t->b, bytes, size, &place, &equal))
        return grb_segfile_corrupt(t->f, GRB_SECTION_POSTINGS, t->b.at, err,
                                   "a term of a block");
    if (place == t->b.count) {
        t->block++;
        t->loaded = false;
    } else {
        while (t->at < place) GRB_TRY(scan_term(t, err));
    }
done:
    return status;
}

static grebe_status scan_next(grb_terms *base, bool *found,
                              const uint8_t **bytes, uint32_t *size,
                              grb_term *term, grebe_error *err) {
    grebe_status status = GREBE_OK;
    scan *t = (scan *)base;
    *found = false;
    while (t->field && t->block < t->field->block_count) {
        GRB_TRY(scan_load(t, err));
        if (t->at == t->b.count) {
            t->block++;
            t->loaded = false;
            continue;
        }
        GRB_TRY(scan_term(t, err));
        GRB_TRY(payload_get(t->f, t->field, &t->b, t->at - 1, term, err));
        if (term->df == 0) continue;
        *found = true;
        *bytes = t->term;
        *size = (uint32_t)t->term_size;
        return GREBE_OK;
    }
done:
    return status;
}

grebe_status grb_segfile_terms_open(grb_segment *s, const grb_bounds *b,
                                    uint32_t field, grb_arena *arena,
                                    grb_terms **out, grebe_error *err) {
    grb_segfile *f = (grb_segfile *)s;
    scan *t = grb_arena_zero(arena, sizeof *t);
    if (!t) return grb_error_memory(err, sizeof *t);
    t->base.seek = scan_seek;
    t->base.next = scan_next;
    t->f = f;
    t->field = grb_segfile_field(f, field);
    if (t->field && t->field->block_count == 0) t->field = NULL;
    t->arena = arena;
    *out = &t->base;
    return GREBE_OK;
}
