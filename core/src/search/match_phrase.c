/* search/match_phrase.c - documents with terms in a row or near each other.
 *
 * The documents that have all slots are found first, by bitmaps, and only
 * their positions are then read, by cursors of their own that jump from
 * candidate to candidate. An exact phrase begins with the rarest slot and
 * gives up as soon as no start is left.
 *
 * Invariant: the positions of a term are read once a document, however many
 * slots it fills.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/matcher.h"
#include "search/phrase.h"

/* A distinct term and where its cursor stands. */
typedef struct phrase_term {
    grb_postings *postings; /* NULL: not in this leaf */
    bool open;
    uint32_t doc; /* whose positions these are */
    const uint32_t *positions;
    uint32_t count; /* 0: not in the document */
} phrase_term;

/* Positions of the alternatives of one slot, joined. */
typedef struct phrase_room {
    uint32_t *items;
    uint32_t capacity;
} phrase_room;

typedef struct phrase_matcher {
    grb_matcher m;
    grb_matcher *docs;
    phrase_term *terms; /* by the term's place in the weight */
    uint32_t *same;     /* that place's first equal term */
    grb_phrase_line *lines;
    uint32_t *order;    /* slots, rarest first */
    phrase_room *rooms; /* by slot */
    phrase_room starts;
    grb_lengths *lengths; /* NULL: not scored */
    grb_frame *frame;
} phrase_matcher;

/* ---- positions ---- */

static grebe_status room_need(grb_arena *arena, phrase_room *room,
                              uint32_t count, grebe_error *err) {
    uint32_t capacity = GRB_MAX(room->capacity, 32);
    if (count <= room->capacity) return GREBE_OK;
    while (capacity < count) capacity *= 2;
    room->items = grb_arena_alloc(arena, capacity * sizeof *room->items);
    if (!room->items) return grb_error_memory(err, (size_t)capacity * 4);
    room->capacity = capacity;
    return GREBE_OK;
}

/* Place of a document in the current block, UINT32_MAX if it is not there. */
static uint32_t block_place(const grb_block *b, uint32_t doc) {
    uint32_t low = 0, high = b->count, at, rank = 0;
    if (b->kind == GRB_BLOCK_RUN)
        return doc >= b->first && doc <= b->last ? doc - b->first : UINT32_MAX;
    if (b->kind == GRB_BLOCK_BITMAP) {
        if (doc < b->first || doc > b->last) return UINT32_MAX;
        at = doc - b->first;
        if (!grb_bit(b->words, at)) return UINT32_MAX;
        for (uint32_t i = 0; i < at >> 6; i++)
            rank += grb_popcount64(b->words[i]);
        return rank + grb_popcount64(b->words[at >> 6] &
                                     (((uint64_t)1 << (at & 63)) - 1));
    }
    while (low < high) {
        uint32_t mid = (low + high) / 2;
        if (b->docs[mid] < doc)
            low = mid + 1;
        else
            high = mid;
    }
    return low < b->count && b->docs[low] == doc ? low : UINT32_MAX;
}

/* Reads the term's positions in a document; none: count 0. */
static grebe_status term_read(phrase_matcher *p, phrase_term *t, uint32_t doc,
                              grebe_error *err) {
    grb_search_context *c = p->m.run->c;
    grebe_status status = GREBE_OK;
    const grb_block *b;
    uint32_t place;
    if (!t->postings || (t->open && t->doc == doc)) return GREBE_OK;
    b = &t->postings->block;
    if (!t->open || (b->kind != GRB_BLOCK_END && b->last < doc)) {
        GRB_TRY(t->postings->ops->next_block(t->postings, doc, err));
        c->blocks_decoded++;
    }
    t->open = true;
    t->doc = doc;
    t->count = 0;
    place = b->kind == GRB_BLOCK_END ? UINT32_MAX : block_place(b, doc);
    if (place != UINT32_MAX) {
        c->positions++;
        GRB_TRY(t->postings->ops->positions(t->postings, place, &t->positions,
                                            &t->count, err));
    }
    status = grb_budget_spend(&c->budget, t->count + 1, err);
done:
    return status;
}

/* Joins a list into the room's, each position once. */
static grebe_status room_join(grb_arena *arena, phrase_room *room,
                              uint32_t *count, const phrase_term *t,
                              grebe_error *err) {
    uint32_t total = *count + t->count, i = *count, k = t->count, out, kept;
    phrase_room old = *room;
    grebe_status status;
    GRB_TRY(room_need(arena, room, total, err));
    if (room->items != old.items && *count)
        memcpy(room->items, old.items, *count * sizeof *room->items);
    for (out = total; k;) {
        if (i && room->items[i - 1] > t->positions[k - 1])
            room->items[--out] = room->items[--i];
        else
            room->items[--out] = t->positions[--k];
    }
    for (kept = 0, i = 0; i < total; i++)
        if (kept == 0 || room->items[kept - 1] != room->items[i])
            room->items[kept++] = room->items[i];
    *count = kept;
done:
    return status;
}

/* The positions of one slot in a document. */
static grebe_status slot_read(phrase_matcher *p, uint32_t slot, uint32_t doc,
                              grebe_error *err) {
    const grb_phrase_slot *s = &p->m.weight->as.phrase.slots[slot];
    grb_phrase_line *line = &p->lines[slot];
    grebe_status status = GREBE_OK;
    line->count = 0;
    for (uint32_t i = s->first; i < s->first + s->count; i++) {
        phrase_term *t = &p->terms[p->same[i]];
        GRB_TRY(term_read(p, t, doc, err));
        if (!t->postings || t->count == 0) continue;
        if (s->count == 1) {
            line->positions = t->positions;
            line->count = t->count;
        } else {
            GRB_TRY(room_join(p->m.run->c->arena, &p->rooms[slot],
                              &line->count, t, err));
            line->positions = p->rooms[slot].items;
        }
    }
done:
    return status;
}

/* ---- frequencies ---- */

static grebe_status exact_freq(phrase_matcher *p, uint32_t doc, float *freq,
                               grebe_error *err) {
    uint32_t slots = p->m.weight->as.phrase.slot_count, count = 0;
    grebe_status status = GREBE_OK;
    *freq = 0.0f;
    for (uint32_t i = 0; i < slots; i++) {
        grb_phrase_line *line = &p->lines[p->order[i]];
        GRB_TRY(slot_read(p, p->order[i], doc, err));
        if (i == 0) {
            GRB_TRY(
                room_need(p->m.run->c->arena, &p->starts, line->count, err));
            for (uint32_t k = 0; k < line->count; k++)
                if (line->positions[k] >= line->place)
                    p->starts.items[count++] =
                        line->positions[k] - line->place;
        } else {
            count = grb_phrase_keep(p->starts.items, count, line);
        }
        if (count == 0) goto done;
    }
    *freq = (float)count;
done:
    return status;
}

static grebe_status phrase_freq(phrase_matcher *p, uint32_t doc, bool first,
                                float *freq, grebe_error *err) {
    const grb_weight *w = p->m.weight;
    uint32_t slots = w->as.phrase.slot_count;
    grebe_status status = GREBE_OK;
    if (w->as.phrase.slop == 0) return exact_freq(p, doc, freq, err);
    for (uint32_t i = 0; i < slots; i++) GRB_TRY(slot_read(p, i, doc, err));
    status = grb_phrase_sloppy(p->lines, slots, w->as.phrase.slop, first,
                               &p->m.run->c->budget, freq, err);
done:
    return status;
}

/* ---- the operator ---- */

static grebe_status phrase_next(grb_matcher *m, uint32_t min_doc,
                                uint32_t *doc, grebe_error *err) {
    grb_matcher *docs = ((phrase_matcher *)m)->docs;
    return docs->ops->next(docs, min_doc, doc, err);
}

static float phrase_score(const phrase_matcher *p, uint32_t i, float freq) {
    const grb_weight *w = p->m.weight;
    const uint8_t *codes = p->lengths->codes;
    return grb_bm25_score(w->weight, freq,
                          w->stats->inverse[codes ? codes[i] : 1]);
}

static grebe_status phrase_eval(grb_matcher *m, uint32_t base,
                                const grb_within *within, uint64_t *bits,
                                float *scores, bool *any, grebe_error *err) {
    phrase_matcher *p = (phrase_matcher *)m;
    uint64_t *candidates = p->frame->bits[0];
    bool some = false;
    grebe_status status;
    grb_bits_zero(candidates);
    GRB_TRY(p->docs->ops->eval(p->docs, base, within, candidates, NULL, &some,
                               err));
    if (!some) goto done;
    if (scores) GRB_TRY(grb_lengths_window(p->lengths, m->run, base, err));
    for (uint32_t at = 0; at < GRB_WINDOW_WORDS; at++) {
        for (uint64_t word = candidates[at]; word; word &= word - 1) {
            uint32_t i = at * 64 + (uint32_t)grb_ctz64(word);
            float freq;
            GRB_TRY(phrase_freq(p, base + i, !scores, &freq, err));
            if (freq <= 0.0f) continue;
            *any = true;
            grb_bit_set(bits, i);
            if (scores) scores[i] = phrase_score(p, i, freq);
        }
    }
done:
    return status;
}

/* ---- without windows ---- */

typedef struct phrase_lists {
    phrase_matcher *phrase;
    grb_visitor *visitor;
    bool scored;
    grb_visitor inner; /* takes the candidates */
} phrase_lists;

static grebe_status phrase_list(void *context, const grb_match_list *in,
                                grebe_error *err) {
    phrase_lists *l = context;
    phrase_matcher *p = l->phrase;
    uint32_t docs[GRB_BLOCK], n = 0;
    float scores[GRB_BLOCK];
    grebe_status status = GREBE_OK;
    for (uint32_t i = 0; i < in->count; i++) {
        uint32_t base = in->docs[i] & ~(GRB_WINDOW - 1);
        float freq;
        GRB_TRY(phrase_freq(p, in->docs[i], !l->scored, &freq, err));
        if (freq <= 0.0f) continue;
        if (l->scored) {
            GRB_TRY(grb_lengths_window(p->lengths, p->m.run, base, err));
            scores[n] = phrase_score(p, in->docs[i] - base, freq);
        }
        docs[n++] = in->docs[i];
    }
    if (n) {
        grb_match_list out = {docs, l->scored ? scores : NULL, n};
        GRB_TRY(l->visitor->list(l->visitor->context, &out, err));
    }
    l->inner.stop = l->visitor->stop;
done:
    return status;
}

static const grb_matcher_ops phrase_ops = {phrase_next, phrase_eval, NULL,
                                           NULL};

bool grb_match_phrase_is(const grb_matcher *m) {
    return m->ops == &phrase_ops;
}

/* Reading a candidate's positions costs as much as passing so many others. */
#define PHRASE_DEAR 8u

uint64_t grb_matcher_rank(const grb_matcher *m) {
    return grb_match_phrase_is(m) ? m->cost * PHRASE_DEAR : m->cost;
}

bool grb_match_phrase_lists_can(const grb_matcher *m) {
    const grb_matcher *docs = ((const phrase_matcher *)m)->docs;
    return grb_match_bool_is(docs) && grb_bool_lists_can(docs);
}

grebe_status grb_match_phrase_lists(grb_matcher *m, bool scored,
                                    grb_visitor *visitor, grebe_error *err) {
    phrase_lists l = {
        (phrase_matcher *)m, visitor, scored, {.list = phrase_list}};
    l.inner.context = &l;
    return grb_bool_lists(l.phrase->docs, false, &l.inner, err);
}

/* ---- opening ---- */

static bool terms_equal(const grb_bound_term *a, const grb_bound_term *b) {
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static grebe_status terms_open(phrase_matcher *p, grebe_error *err) {
    grb_leaf_run *run = p->m.run;
    grb_segment *s = run->leaf.segment;
    const grb_weight *w = p->m.weight;
    const grb_bound_term *terms = w->as.phrase.terms;
    grebe_status status = GREBE_OK;
    for (uint32_t i = 0; i < w->as.phrase.term_count; i++) {
        const grb_term *term = &terms[i].leaves[run->ord];
        uint32_t k = 0;
        while (!terms_equal(&terms[k], &terms[i])) k++;
        p->same[i] = k;
        if (k == i && term->df)
            GRB_TRY(s->ops->postings_open(
                s, &run->leaf.bounds, term, GRB_POSTINGS_POSITIONS,
                run->c->arena, &p->terms[i].postings, err));
    }
done:
    return status;
}

static bool slots_share(const phrase_matcher *p, uint32_t a, uint32_t b) {
    const grb_phrase_slot *x = &p->m.weight->as.phrase.slots[a];
    const grb_phrase_slot *y = &p->m.weight->as.phrase.slots[b];
    for (uint32_t i = x->first; i < x->first + x->count; i++)
        for (uint32_t k = y->first; k < y->first + y->count; k++)
            if (p->same[i] == p->same[k]) return true;
    return false;
}

/* Groups of slots that share a term, directly or through others. */
static void slots_group(phrase_matcher *p) {
    const grb_weight *w = p->m.weight;
    uint32_t count = w->as.phrase.slot_count;
    grb_phrase_line *lines = p->lines;
    for (uint32_t i = 0; i < count; i++) {
        lines[i].place = w->as.phrase.slots[i].place;
        lines[i].group = i;
        for (uint32_t k = 0; k < i; k++) {
            uint32_t from, to;
            if (lines[k].group == lines[i].group || !slots_share(p, k, i))
                continue;
            from = GRB_MAX(lines[k].group, lines[i].group);
            to = GRB_MIN(lines[k].group, lines[i].group);
            for (uint32_t j = 0; j <= i; j++)
                if (lines[j].group == from) lines[j].group = to;
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = 0; k < count; k++) {
            if (lines[k].group != lines[i].group) continue;
            lines[i].repeated |= k != i;
            lines[i].mixed |= w->as.phrase.slots[k].count > 1;
        }
        lines[i].mixed &= lines[i].repeated;
    }
}

static void slots_order(phrase_matcher *p) {
    const grb_weight *w = p->m.weight;
    uint32_t ord = p->m.run->ord;
    for (uint32_t i = 0; i < w->as.phrase.slot_count; i++) {
        uint64_t cost = 0;
        uint32_t k = i;
        const grb_phrase_slot *slot = &w->as.phrase.slots[i];
        for (uint32_t t = slot->first; t < slot->first + slot->count; t++)
            cost += w->as.phrase.terms[t].leaves[ord].df;
        p->lines[i].at = (uint32_t)GRB_MIN(cost, UINT32_MAX);
        for (; k && p->lines[p->order[k - 1]].at > p->lines[i].at; k--)
            p->order[k] = p->order[k - 1];
        p->order[k] = i;
    }
}

grebe_status grb_match_phrase(grb_leaf_run *run, const grb_weight *w,
                              uint32_t depth, grb_matcher **out,
                              grebe_error *err) {
    uint32_t terms = w->as.phrase.term_count, slots = w->as.phrase.slot_count;
    grb_arena *arena = run->c->arena;
    grebe_status status;
    grb_matcher *docs;
    phrase_matcher *p;
    GRB_TRY(grb_matcher_make(run, w->as.phrase.docs, depth + 1, &docs, err));
    if (!docs) goto done;
    p = grb_matcher_alloc(run, w, depth, sizeof *p, &phrase_ops, docs->cost);
    if (!p) return grb_error_memory(err, sizeof *p);
    p->docs = docs;
    p->terms = grb_arena_zero(arena, terms * sizeof *p->terms);
    p->same = grb_arena_alloc(arena, terms * sizeof *p->same);
    p->lines = grb_arena_zero(arena, slots * sizeof *p->lines);
    p->order = grb_arena_alloc(arena, slots * sizeof *p->order);
    p->rooms = grb_arena_zero(arena, slots * sizeof *p->rooms);
    if (!p->terms || !p->same || !p->lines || !p->order || !p->rooms)
        return grb_error_memory(err, terms * sizeof *p->terms);
    GRB_TRY(terms_open(p, err));
    slots_group(p);
    slots_order(p);
    if (w->scored)
        GRB_TRY(grb_lengths_make(run->c, w->field->id, &p->lengths, err));
    GRB_TRY(grb_frame_make(run->c, depth, GRB_FRAME_BITS, &p->frame, err));
    *out = &p->m;
done:
    return status;
}

grebe_status grb_match_phrase_freq(grb_leaf_run *run, const grb_weight *w,
                                   uint32_t doc, float *freq,
                                   grebe_error *err) {
    grb_matcher *m = NULL;
    grebe_status status;
    *freq = 0.0f;
    GRB_TRY(grb_match_phrase(run, w, 0, &m, err));
    if (m) GRB_TRY(phrase_freq((phrase_matcher *)m, doc, false, freq, err));
done:
    return status;
}
