/* search/terms.c - the terms that a query looks for, for the highlighter.
 *
 * Clauses that must not match are left out; everything else that is looked up
 * in a text or keyword field is visited, each term once.
 *
 * Invariant: no two visits have the same field, bytes and kind.
 * Threads: one search.
 * Owns: nothing.
 * The recursion is as deep as the query, see rewrite.c.
 */
#include "search/weight.h"

typedef struct gatherer {
    grb_sought_term *terms;
    uint32_t count, capacity;
    uint32_t *slots; /* place + 1; capacity * 2 of them */
} gatherer;

static void term_gather(gatherer *g, const grb_weight *w, const char *bytes,
                        size_t size, bool prefix) {
    grb_sought_term term = {w->field->name, bytes, (uint32_t)size, prefix,
                            w->scored && w->stats ? w->weight : w->boost};
    uint64_t hash = grb_hash(bytes, size, w->field->id * 2 + prefix);
    uint32_t mask = g->capacity * 2 - 1, at = (uint32_t)hash & mask;
    for (; g->slots[at]; at = (at + 1) & mask) {
        const grb_sought_term *old = &g->terms[g->slots[at] - 1];
        if (old->field == term.field && old->prefix == prefix &&
            old->size == size && memcmp(old->bytes, bytes, size) == 0)
            return;
    }
    g->terms[g->count++] = term;
    g->slots[at] = g->count;
}

/* Terms below a node; an upper bound of the visits. */
static uint32_t weight_count(const grb_weight *w) {
    uint32_t n = 0;
    switch (w->kind) {
    case GRB_WEIGHT_PHRASE:
        return w->as.phrase.term_count;
    case GRB_WEIGHT_BOOL:
        for (int i = 0; i < 4; i++)
            for (uint32_t k = 0; k < w->as.list.lists[i].count; k++)
                n += weight_count(w->as.list.lists[i].items[k]);
        return n;
    case GRB_WEIGHT_DISMAX:
        for (uint32_t k = 0; k < w->as.dismax.queries.count; k++)
            n += weight_count(w->as.dismax.queries.items[k]);
        return n;
    case GRB_WEIGHT_CONSTANT:
        return weight_count(w->as.child);
    default:
        return 1;
    }
}

static void weight_gather(gatherer *g, const grb_weight *w) {
    switch (w->kind) {
    case GRB_WEIGHT_TERM:
        term_gather(g, w, w->as.term.bytes, w->as.term.size, false);
        break;
    case GRB_WEIGHT_PHRASE:
        for (uint32_t i = 0; i < w->as.phrase.term_count; i++)
            term_gather(g, w, w->as.phrase.terms[i].bytes,
                        w->as.phrase.terms[i].size, false);
        break;
    case GRB_WEIGHT_TERMS:
        if (w->as.range.prefix)
            term_gather(g, w, w->as.range.lower, w->as.range.lower_size, true);
        break;
    case GRB_WEIGHT_BOOL:
        for (int i = 0; i < 4; i++)
            for (uint32_t k = 0;
                 i != GREBE_MUST_NOT && k < w->as.list.lists[i].count; k++)
                weight_gather(g, w->as.list.lists[i].items[k]);
        break;
    case GRB_WEIGHT_DISMAX:
        for (uint32_t k = 0; k < w->as.dismax.queries.count; k++)
            weight_gather(g, w->as.dismax.queries.items[k]);
        break;
    case GRB_WEIGHT_CONSTANT:
        weight_gather(g, w->as.child);
        break;
    default:
        break;
    }
}

grebe_status grb_weight_terms(
    const grb_weight *w,
    grebe_status (*visit)(void *context, const grb_sought_term *term),
    void *context) {
    grb_arena *arena = w->context->arena;
    gatherer g = {NULL, 0, 8, NULL};
    grebe_status status = GREBE_OK;
    uint32_t count = weight_count(w);
    while (g.capacity < count) g.capacity *= 2;
    g.terms = grb_arena_alloc(arena, g.capacity * sizeof *g.terms);
    g.slots = grb_arena_zero(arena, g.capacity * 2 * sizeof *g.slots);
    if (!g.terms || !g.slots) return GREBE_MEMORY;
    weight_gather(&g, w);
    for (uint32_t i = 0; i < g.count; i++)
        GRB_TRY(visit(context, &g.terms[i]));
done:
    return status;
}
