/* segment/postings_read.c - a cursor over the postings of one term.
 *
 * list.c writes what is read here. A list of one block is a group of one
 * without a head. Groups are passed over by their heads, blocks by the
 * directory of their group; only the block that is wanted is decoded, its
 * frequencies and positions only when asked for.
 *
 * Invariant: blocks and their documents rise and stay below max_doc; counts
 * add up to df; otherwise CORRUPT.
 * Threads: one a cursor.
 */
#include "segment/file.h"
#include "segment/numbers.h"

/* A loaded group of blocks. */
typedef struct group {
    uint64_t at, end;         /* its place in the section */
    const uint8_t *directory; /* NULL: none loaded */
    const uint8_t *blocks;
    uint32_t block_count, last;
    uint32_t before;      /* last document of the group before */
    uint32_t docs_before; /* postings in the groups before */
    uint32_t blocks_size, positions_size;
    uint64_t positions_at;
    uint32_t block;    /* the block last looked at, */
    uint32_t block_at; /* and its offset in `blocks` */
    bool ended;        /* the list has no more groups */
} group;

typedef struct cursor {
    grb_postings base;
    grb_segfile *f;
    grb_arena *arena;
    uint64_t at, end; /* place and end of the list in the section */
    uint32_t df, form;
    bool impacts, positions;
    group here, ahead; /* of the current block; where shallow looked */
    /* the current block */
    bool current, freqs_known, positions_known;
    grb_block_source in;
    grb_block_decoded decoded, seen; /* seen: for shallow */
    const uint8_t *freqs_end;
    /* positions of the current block */
    grb_numbers numbers;
    uint64_t place;   /* number of the first position */
    uint32_t place_i; /* of this posting */
    uint32_t *places, places_room;
    uint32_t *docs, *freqs;
    uint64_t *words;
} cursor;

static grebe_status list_corrupt(const cursor *p, grebe_error *err,
                                 const char *what) {
    return grb_segfile_corrupt(p->f, GRB_SECTION_POSTINGS, p->at, err, what);
}

/* ---- groups ---- */

/* Inline and single lists: one block and no directory. */
static grebe_status single_load(cursor *p, group *g, grebe_error *err) {
    grebe_status status;
    const uint8_t *bytes;
    grb_cursor c;
    g->at = p->at;
    g->end = p->end;
    GRB_TRY(grb_segfile_view(p->f, GRB_SECTION_POSTINGS, p->at, p->end - p->at,
                             p->arena, &bytes, err));
    grb_cursor_init(&c, bytes, (size_t)(p->end - p->at));
    uint64_t last = grb_cursor_varint(&c);
    if (c.failed || last >= p->f->max_doc)
        return list_corrupt(p, err, "the document of a list");
    g->last = (uint32_t)last;
    g->block_count = 1;
    g->before = UINT32_MAX;
    g->directory = bytes;
    g->blocks = c.at;
    g->blocks_size = (uint32_t)grb_cursor_left(&c);
done:
    return status;
}

static grebe_status group_load(cursor *p, group *g, uint64_t at,
                               grebe_error *err) {
    grebe_status status;
    const uint8_t *head, *bytes;
    if (p->end - at < GRB_GROUP_HEADER)
        return list_corrupt(p, err, "a group is cut off");
    GRB_TRY(grb_segfile_view(p->f, GRB_SECTION_POSTINGS, at, GRB_GROUP_HEADER,
                             p->arena, &head, err));
    uint32_t last = grb_load32(head), size = grb_load32(head + 4);
    uint32_t positions = grb_load32(head + 8), n = grb_load32(head + 12);
    uint32_t entry = p->positions ? 10 : 6;
    uint64_t left = p->end - at - GRB_GROUP_HEADER;
    if (n == 0 || n > GRB_GROUP_BLOCKS || size < n * entry || size > left ||
        positions > left - size || last >= p->f->max_doc ||
        (g->before != UINT32_MAX && last <= g->before))
        return list_corrupt(p, err, "the head of a group");
    GRB_TRY(grb_segfile_view(p->f, GRB_SECTION_POSTINGS, at + GRB_GROUP_HEADER,
                             size, p->arena, &bytes, err));
    if (grb_load32(bytes + (n - 1) * 4) != last)
        return list_corrupt(p, err, "the directory of a group");
    g->at = at;
    g->positions_at = at + GRB_GROUP_HEADER + size;
    g->end = g->positions_at + positions;
    g->positions_size = positions;
    g->last = last;
    g->block_count = n;
    g->directory = bytes;
    g->blocks = bytes + n * entry;
    g->blocks_size = size - n * entry;
done:
    return status;
}

/* Moves `g` to the group that holds the first document >= min_doc. */
static grebe_status group_seek(cursor *p, group *g, uint32_t min_doc,
                               grebe_error *err) {
    grebe_status status = GREBE_OK;
    while (!g->ended && (!g->directory || g->last < min_doc)) {
        uint64_t at = p->at;
        if (g->directory) {
            g->docs_before += g->block_count * GRB_BLOCK;
            g->before = g->last;
            at = g->end;
            g->ended = p->form != GRB_FORM_GROUPS || at == p->end;
            if (g->ended) break;
        }
        g->block = g->block_at = 0;
        if (p->form == GRB_FORM_GROUPS)
            GRB_TRY(group_load(p, g, at, err));
        else
            GRB_TRY(single_load(p, g, err));
    }
done:
    return status;
}

/* True if documents from min_doc on begin in `ahead` or behind it. */
static bool ahead_serves(const cursor *p, uint32_t min_doc) {
    const group *g = &p->ahead;
    return g->directory && (g->before == UINT32_MAX || g->before < min_doc);
}

/* ---- blocks ---- */

static inline uint32_t block_last(const cursor *p, const group *g,
                                  uint32_t block) {
    return p->form == GRB_FORM_GROUPS ? grb_load32(g->directory + block * 4)
                                      : g->last;
}

static inline uint32_t block_size(const cursor *p, const group *g,
                                  uint32_t block) {
    return p->form == GRB_FORM_GROUPS
               ? grb_load16(g->directory + g->block_count * 4 + block * 2)
               : g->blocks_size;
}

/* Makes `in` the block of the loaded group that holds the first document
 * >= min_doc; there is one. */
static grebe_status block_seek(cursor *p, group *g, uint32_t min_doc,
                               grb_block_source *in, grebe_error *err) {
    uint32_t block = g->block, at = g->block_at;
    if (block && block_last(p, g, block - 1) >= min_doc) block = at = 0;
    while (block + 1 < g->block_count && block_last(p, g, block) < min_doc)
        at += block_size(p, g, block++);
    uint32_t size = block_size(p, g, block);
    if (at > g->blocks_size || size > g->blocks_size - at)
        return list_corrupt(p, err, "sizes of blocks");
    uint64_t before = (uint64_t)g->docs_before + block * GRB_BLOCK;
    if (before >= p->df) return list_corrupt(p, err, "too many blocks");
    in->at = g->blocks + at;
    in->end = in->at + size;
    in->count = (uint32_t)GRB_MIN(GRB_BLOCK, p->df - before);
    in->base = block ? block_last(p, g, block - 1) : g->before;
    in->last = block_last(p, g, block);
    in->max_doc = p->f->max_doc;
    in->impacts = p->impacts;
    g->block = block;
    g->block_at = at;
    return GREBE_OK;
}

/* Fields without lengths score as if each document had the length 1. */
static const grb_impact impact_plain = {1, 1};

static void impacts_show(const cursor *p, const grb_block_decoded *d,
                         grb_block *out) {
    if (!p->impacts) {
        out->impacts = &impact_plain;
        out->impact_count = 1;
    } else {
        out->impacts = d->impact_count ? d->impacts : NULL;
        out->impact_count = d->impact_count;
    }
}

static void inline_show(const cursor *p, const group *g, grb_block *out) {
    out->kind = GRB_BLOCK_RUN;
    out->count = 1;
    out->first = out->last = g->last;
    out->docs = NULL;
    out->words = NULL;
    out->impacts = p->impacts ? NULL : &impact_plain;
    out->impact_count = p->impacts ? 0 : 1;
}

static void end_show(grb_block *out) {
    memset(out, 0, sizeof *out);
    out->kind = GRB_BLOCK_END;
    out->first = out->last = GRB_NO_DOC;
}

static void block_show(cursor *p, grb_block *out) {
    static const grb_block_kind kinds[] = {GRB_BLOCK_RUN, GRB_BLOCK_BITMAP,
                                           GRB_BLOCK_DOCS, GRB_BLOCK_DOCS};
    out->kind = kinds[p->decoded.encoding];
    out->count = p->in.count;
    out->first = p->decoded.first;
    out->last = p->in.last;
    out->docs = out->kind == GRB_BLOCK_DOCS ? p->docs : NULL;
    out->words = out->kind == GRB_BLOCK_BITMAP ? p->words : NULL;
    out->word_count = p->decoded.word_count;
    impacts_show(p, &p->decoded, out);
}

/* Zeroes what a vector may read behind the documents. */
static void docs_pad(cursor *p) {
    uint32_t n = p->in.count;
    for (uint32_t i = n; i < ((n + 15) & ~15u); i++) p->docs[i] = p->in.last;
}

static grebe_status cursor_next(grb_postings *base, uint32_t min_doc,
                                grebe_error *err) {
    grebe_status status;
    cursor *p = (cursor *)base;
    group *g = &p->here;
    if (p->current && base->block.last >= min_doc) return GREBE_OK;
    p->current = p->freqs_known = p->positions_known = false;
    if (!g->ended && (!g->directory || g->last < min_doc) &&
        ahead_serves(p, min_doc))
        *g = p->ahead;
    GRB_TRY(group_seek(p, g, min_doc, err));
    if (g->ended) {
        end_show(&base->block);
        return GREBE_OK;
    }
    base->blocks_decoded++;
    if (p->form == GRB_FORM_INLINE) {
        p->in.count = 1;
        inline_show(p, g, &base->block);
        p->current = true;
        return GREBE_OK;
    }
    GRB_TRY(block_seek(p, g, min_doc, &p->in, err));
    if (!grb_block_docs(&p->in, &p->decoded, p->docs, p->words))
        return list_corrupt(p, err, "a block of documents");
    if (p->decoded.encoding >= GRB_ENCODING_FOR) docs_pad(p);
    block_show(p, &base->block);
    p->current = true;
done:
    return status;
}

/* Looks ahead without moving: the current block stays what it is. */
static grebe_status cursor_shallow(grb_postings *base, uint32_t min_doc,
                                   grb_block *out, grebe_error *err) {
    grebe_status status;
    cursor *p = (cursor *)base;
    group *g = &p->ahead;
    grb_block_source in;
    if (p->current && base->block.last >= min_doc) {
        *out = base->block;
        return GREBE_OK;
    }
    if (!ahead_serves(p, min_doc) ||
        (p->here.directory && p->here.last >= min_doc))
        *g = p->here;
    GRB_TRY(group_seek(p, g, min_doc, err));
    if (g->ended) {
        end_show(out);
        return GREBE_OK;
    }
    if (p->form == GRB_FORM_INLINE) {
        inline_show(p, g, out);
        return GREBE_OK;
    }
    memset(out, 0, sizeof *out);
    GRB_TRY(block_seek(p, g, min_doc, &in, err));
    out->kind = GRB_BLOCK_DOCS;
    out->count = in.count;
    out->last = in.last;
    if (p->impacts && !grb_block_impacts(&in, &p->seen))
        return list_corrupt(p, err, "impacts of a block");
    impacts_show(p, &p->seen, out);
done:
    return status;
}

static grebe_status cursor_freqs(grb_postings *base, const uint32_t **out,
                                 grebe_error *err) {
    cursor *p = (cursor *)base;
    *out = p->freqs;
    if (p->freqs_known) return GREBE_OK;
    if (!p->current)
        return grb_error(err, GREBE_INTERNAL, "no block is current");
    if (p->form == GRB_FORM_INLINE)
        p->freqs[0] = 1;
    else if (!grb_block_freqs(&p->in, &p->decoded, p->freqs, &p->freqs_end))
        return list_corrupt(p, err, "frequencies of a block");
    p->freqs_known = true;
    return GREBE_OK;
}

/* ---- positions ---- */

/* Where the positions of the current block lie. */
static grebe_status places_find(cursor *p, grebe_error *err) {
    grebe_status status = GREBE_OK;
    const uint8_t *from, *to;
    if (p->form == GRB_FORM_GROUPS) {
        const group *g = &p->here;
        const uint8_t *ends = g->directory + g->block_count * 6;
        uint32_t at = g->block ? grb_load32(ends + (g->block - 1) * 4) : 0;
        uint32_t end = grb_load32(ends + g->block * 4);
        if (at > end || end > g->positions_size)
            return list_corrupt(p, err, "places of positions");
        GRB_TRY(grb_segfile_view(p->f, GRB_SECTION_POSTINGS,
                                 p->here.positions_at + at, end - at, p->arena,
                                 &from, err));
        to = from + (end - at);
    } else {
        from = p->form == GRB_FORM_INLINE ? p->here.blocks : p->freqs_end;
        to = p->here.blocks + p->here.blocks_size;
    }
    grb_numbers_open(&p->numbers, from, to, p->freqs, p->in.count);
    p->place = p->place_i = 0;
    p->positions_known = true;
done:
    return status;
}

static grebe_status places_room(cursor *p, uint64_t count, grebe_error *err) {
    if (count <= p->places_room) return GREBE_OK;
    if (count > UINT32_MAX / 2 || !grb_numbers_room(&p->numbers, count))
        return list_corrupt(p, err, "positions are cut off");
    uint32_t room = GRB_MAX(64u, (uint32_t)(count + count / 2));
    uint32_t *places =
        grb_arena_alloc(p->arena, (size_t)room * sizeof *places);
    if (!places) return grb_error_memory(err, (size_t)room * sizeof *places);
    p->places = places;
    p->places_room = room;
    return GREBE_OK;
}

/* Makes places_i posting i. */
static grebe_status place_seek(cursor *p, uint32_t i, grebe_error *err) {
    grebe_status status;
    const uint32_t *freqs;
    GRB_TRY(cursor_freqs(&p->base, &freqs, err));
    if (i >= p->in.count)
        return grb_error(err, GREBE_INTERNAL, "posting %u of %u", i,
                         p->in.count);
    if (!p->positions_known) GRB_TRY(places_find(p, err));
    if (i < p->place_i) p->place_i = p->place = 0;
    p->place += grb_numbers_sum(freqs, p->place_i, i);
    p->place_i = i;
done:
    return status;
}

static grebe_status cursor_positions(grb_postings *base, uint32_t i,
                                     const uint32_t **out, uint32_t *count,
                                     grebe_error *err) {
    grebe_status status = GREBE_OK;
    cursor *p = (cursor *)base;
    uint64_t position = 0;
    *count = 0;
    *out = p->places;
    if (!p->positions) return GREBE_OK;
    GRB_TRY(place_seek(p, i, err));
    uint32_t n = p->freqs[i];
    GRB_TRY(places_room(p, n, err));
    bool sane = grb_numbers_get(&p->numbers, p->place, n, p->places);
    for (uint32_t k = 0; sane && k < n; k++) {
        position += p->places[k];
        sane = position >> 31 == 0;
        p->places[k] = (uint32_t)position;
    }
    if (!sane) return list_corrupt(p, err, "positions of a document");
    *out = p->places;
    *count = n;
done:
    return status;
}

/* False if the positions of a document grow beyond their limit. */
static bool gaps_sane(const uint32_t *gaps, const uint32_t *freqs,
                      uint32_t count) {
    for (uint32_t i = 0; i < count; i++) {
        uint64_t position = 0;
        for (uint32_t k = freqs[i]; k; k--) position += *gaps++;
        if (position >> 31) return false;
    }
    return true;
}

static grebe_status cursor_gaps(grb_postings *base, uint32_t from, uint32_t to,
                                const uint32_t **out, uint32_t *count,
                                grebe_error *err) {
    grebe_status status;
    cursor *p = (cursor *)base;
    *count = 0;
    *out = p->places;
    if (!p->positions || from >= to) return GREBE_OK;
    GRB_TRY(place_seek(p, from, err));
    if (to > p->in.count)
        return grb_error(err, GREBE_INTERNAL, "posting %u of %u", to,
                         p->in.count);
    uint64_t total = grb_numbers_sum(p->freqs, from, to);
    GRB_TRY(places_room(p, total, err));
    if (!grb_numbers_get(&p->numbers, p->place, (uint32_t)total, p->places) ||
        !gaps_sane(p->places, p->freqs + from, to - from) ||
        (to == p->in.count && !grb_numbers_done(&p->numbers)))
        return list_corrupt(p, err, "positions of a block");
    *out = p->places;
    *count = (uint32_t)total;
done:
    return status;
}

/* ---- open ---- */

static const grb_postings_ops cursor_ops = {
    cursor_next, cursor_shallow, cursor_freqs, cursor_positions, cursor_gaps};

grebe_status grb_segfile_postings_open(grb_segment *s, const grb_bounds *b,
                                       const grb_term *term, int wanted,
                                       grb_arena *arena, grb_postings **out,
                                       grebe_error *err) {
    const size_t numbers = (GRB_BLOCK + 16) * sizeof(uint32_t);
    grb_segfile *f = (grb_segfile *)s;
    const grb_segfield *field = grb_segfile_field(f, term->field);
    cursor *p = grb_arena_zero(arena, sizeof *p);
    if (!p) return grb_error_memory(err, sizeof *p);
    p->docs = grb_arena_line(arena, numbers * 2 +
                                        GRB_WINDOW_WORDS * sizeof *p->words);
    if (!p->docs) return grb_error_memory(err, numbers * 2);
    p->freqs = p->docs + GRB_BLOCK + 16;
    p->words = (uint64_t *)(void *)(p->freqs + GRB_BLOCK + 16);
    p->base.ops = &cursor_ops;
    p->f = f;
    p->arena = arena;
    p->at = term->word[GRB_TERM_PLACE];
    p->end = p->at + term->word[GRB_TERM_LENGTH];
    p->form = (uint32_t)term->word[GRB_TERM_FORM];
    p->df = term->df;
    p->here.before = p->ahead.before = UINT32_MAX;
    p->positions = p->impacts = field && field->kind == GREBE_TEXT;
    p->here.ended = p->ahead.ended = !field || term->df == 0;
    if (p->end < p->at || (p->form != GRB_FORM_GROUPS && p->df > GRB_BLOCK))
        return list_corrupt(p, err, "what is kept of a term");
    *out = &p->base;
    return GREBE_OK;
}

void grb_segfile_count(const grb_postings *p, grb_segfile_census *out) {
    const cursor *c = (const cursor *)p;
    uint64_t *blocks[] = {&out->block_run, &out->block_bitmap, &out->block_for,
                          &out->block_tail};
    if (c->positions_known)
        out->bytes_positions += (uint64_t)(c->numbers.end - c->numbers.from);
    if (c->form == GRB_FORM_INLINE) {
        out->term_inline++;
        return;
    }
    ++*blocks[c->decoded.encoding];
    out->block_patched += c->decoded.patched;
    out->impacts += p->block.impact_count;
    out->bytes_impacts += (uint64_t)(c->decoded.docs_at - c->in.at) - 1;
    out->bytes_docs += (uint64_t)(c->decoded.end - c->decoded.docs_at) + 1;
    out->bytes_freqs += (uint64_t)(c->freqs_end - c->decoded.end);
}
