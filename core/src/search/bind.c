/* search/bind.c - terms are found and weights calculated, once a search.
 *
 * Every term is looked up once in every leaf; its df is the sum over the
 * leaves (dead documents count until they are merged away). Length tables are
 * shared by all terms of a field.
 *
 * Invariant: `boost` is the product of the factors from the root down to the
 * node, multiplied as floats in that order; no factor and no weight is above
 * FACTOR_MAX, so that neither a score nor a sum of many is infinite or NaN.
 * Threads: one search, one tree.
 * Owns: nothing; everything lives in the context's arena.
 * The recursion is as deep as the query, see rewrite.c.
 */
#include "search/weight.h"

#define FACTOR_MAX 0x1p100f

static float factor(float a, float b) {
    return GRB_MIN(a * b, FACTOR_MAX);
}

typedef struct binder {
    grb_search_context *c;
    grb_field_stats *stats; /* one a scored field */
} binder;

static void stats_sum(grb_search_context *c, const grb_field *field,
                      grb_field_totals *out) {
    const grb_statistics *given = c->statistics;
    uint32_t count = grb_snapshot_leaf_count(c->snapshot);
    memset(out, 0, sizeof *out);
    if (given && given->field(given->context, field, out)) return;
    for (uint32_t i = 0; i < count; i++) {
        grb_leaf leaf;
        grb_field_totals totals = {0, 0};
        grb_snapshot_leaf(c->snapshot, i, &leaf);
        leaf.segment->ops->totals(leaf.segment, &leaf.bounds, field->id,
                                  &totals);
        out->doc_count += totals.doc_count;
        out->term_total += totals.term_total;
    }
}

/* No document can be longer than the field's tokens without one for each other
 * document. Statistics from elsewhere say nothing about lengths. */
static uint32_t length_most(const grb_search_context *c,
                            const grb_field_totals *totals) {
    uint64_t most = totals->term_total - totals->doc_count + 1;
    if (c->statistics || totals->term_total < totals->doc_count ||
        most > INT32_MAX)
        return INT32_MAX;
    return (uint32_t)most;
}

static grebe_status stats_bind(binder *b, const grb_field *field,
                               grb_field_stats **out, grebe_error *err) {
    grb_search_context *c = b->c;
    const grb_bm25 *p = c->bm25 ? c->bm25 : &grb_bm25_default;
    grb_field_stats *s = b->stats;
    grb_field_totals totals;
    while (s && s->field != field) s = s->next;
    if (!s) {
        s = grb_arena_line(c->arena, sizeof *s);
        if (!s) return grb_error_memory(err, sizeof *s);
        stats_sum(c, field, &totals);
        s->field = field;
        s->doc_count = totals.doc_count;
        s->term_total = totals.term_total;
        s->average = grb_bm25_average(totals.term_total, totals.doc_count);
        /* Only text has lengths; others use the length 1 everywhere. */
        if (field->kind == GREBE_TEXT)
            grb_bm25_table(p, s->average, length_most(c, &totals), s->inverse);
        else
            s->inverse[1] = grb_bm25_inverse(p, 1.0f, s->average);
        s->next = b->stats;
        b->stats = s;
    }
    *out = s;
    return GREBE_OK;
}

/* Finds a term in every leaf. */
static grebe_status term_find(binder *b, const grb_field *field,
                              grb_bound_term *t, grebe_error *err) {
    grb_search_context *c = b->c;
    grebe_status status = GREBE_OK;
    uint32_t count = grb_snapshot_leaf_count(c->snapshot);
    const grb_statistics *given = c->statistics;
    t->df = 0;
    t->leaves = grb_arena_alloc(c->arena, count * sizeof *t->leaves + 1);
    if (!t->leaves) return grb_error_memory(err, count * sizeof *t->leaves);
    for (uint32_t i = 0; i < count; i++) {
        grb_leaf leaf;
        grb_snapshot_leaf(c->snapshot, i, &leaf);
        t->leaves[i].df = 0;
        GRB_TRY(leaf.segment->ops->term_find(leaf.segment, &leaf.bounds,
                                             field->id, t->bytes, t->size,
                                             &t->leaves[i], err));
        t->df += t->leaves[i].df;
    }
    if (given) given->term(given->context, field, t->bytes, t->size, &t->df);
    status = grb_budget_spend(&c->budget, count, err);
done:
    return status;
}

static grebe_status term_bind(binder *b, grb_weight *w, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_bound_term *t = &w->as.term;
    GRB_TRY(term_find(b, w->field, t, err));
    if (!w->scored) goto done;
    GRB_TRY(stats_bind(b, w->field, &w->stats, err));
    t->idf = grb_bm25_idf(t->df, w->stats->doc_count);
    w->weight = factor(w->boost, t->idf);
done:
    return status;
}

/* A bool over bound terms; nothing is looked up again. */
static grebe_status terms_join(grb_search_context *c, const grb_weight *w,
                               const grb_bound_term *terms, uint32_t count,
                               grb_weight **out, grebe_error *err) {
    grb_weight *all = grb_weight_make(c, GRB_WEIGHT_BOOL, NULL);
    grb_weight **items = grb_arena_alloc(c->arena, count * sizeof *items);
    if (!all || !items) return grb_error_memory(err, count * sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        items[i] = grb_weight_make(c, GRB_WEIGHT_TERM, w->field);
        if (!items[i]) return grb_error_memory(err, sizeof **items);
        items[i]->as.term = terms[i];
        grb_weight_identify(items[i]);
    }
    all->as.list.lists[GREBE_SHOULD].items = items;
    all->as.list.lists[GREBE_SHOULD].count = count;
    return grb_weight_clauses(c, all, out, err);
}

/* The conjunction of the slots, which finds the documents of a phrase. */
static grebe_status phrase_docs(grb_search_context *c, grb_weight *w,
                                grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t count = w->as.phrase.slot_count;
    grb_weight *all = grb_weight_make(c, GRB_WEIGHT_BOOL, NULL);
    grb_weight **items = grb_arena_alloc(c->arena, count * sizeof *items);
    if (!all || !items) return grb_error_memory(err, count * sizeof *items);
    for (uint32_t i = 0; i < count; i++) {
        const grb_phrase_slot *slot = &w->as.phrase.slots[i];
        GRB_TRY(terms_join(c, w, &w->as.phrase.terms[slot->first], slot->count,
                           &items[i], err));
        grb_weight_identify(items[i]);
    }
    all->as.list.lists[GREBE_MUST].items = items;
    all->as.list.lists[GREBE_MUST].count = count;
    status = grb_weight_clauses(c, all, &w->as.phrase.docs, err);
done:
    return status;
}

/* Finds term i, or copies it from the same term before. */
static grebe_status phrase_term_find(binder *b, grb_weight *w, uint32_t i,
                                     grebe_error *err) {
    grb_bound_term *terms = w->as.phrase.terms, *t = &terms[i];
    for (uint32_t k = 0; k < i; k++) {
        if (terms[k].size != t->size ||
            memcmp(terms[k].bytes, t->bytes, t->size) != 0)
            continue;
        *t = terms[k];
        return GREBE_OK;
    }
    return term_find(b, w->field, t, err);
}

static grebe_status phrase_bind(binder *b, grb_weight *w, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_bound_term *terms = w->as.phrase.terms;
    double sum = 0;
    if (w->scored) GRB_TRY(stats_bind(b, w->field, &w->stats, err));
    for (uint32_t i = 0; i < w->as.phrase.term_count; i++) {
        GRB_TRY(phrase_term_find(b, w, i, err));
        if (!w->scored) continue;
        terms[i].idf = grb_bm25_idf(terms[i].df, w->stats->doc_count);
        if (terms[i].df) sum += (double)terms[i].idf;
    }
    w->as.phrase.idf = (float)sum;
    w->weight = factor(w->boost, w->as.phrase.idf);
    status = phrase_docs(b->c, w, err);
done:
    return status;
}

/* The df of a key is counted along the links of its documents. Where keys are
 * unique there is one; its replaced versions are not counted, or a key would
 * cost and weigh by how often it was written. */
/* How many documents of a leaf have the key, beginning with `doc`; where keys
 * are unique all versions count as one. */
static grebe_status key_versions(grb_search_context *c, grb_segment *s,
                                 uint32_t doc, uint64_t *df,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    if (c->snapshot->unique && doc != GRB_NO_DOC) *df = 1;
    while (!c->snapshot->unique && doc != GRB_NO_DOC) {
        ++*df;
        GRB_TRY(grb_budget_spend(&c->budget, 1, err));
        GRB_TRY(s->ops->key_older(s, doc, &doc, err));
    }
done:
    return status;
}

/* Finds the newest document with the key in each leaf; behind the live one of
 * a unique key nothing is looked for. */
static grebe_status key_find(binder *b, grb_weight *w, uint64_t *df,
                             uint64_t *docs, grebe_error *err) {
    grebe_status status = GREBE_OK;
    const grb_snapshot *s = b->c->snapshot;
    uint32_t count = grb_snapshot_leaf_count(s);
    bool found = false;
    *df = *docs = 0;
    w->as.key.newest = grb_arena_alloc(b->c->arena, count * 4 + 4);
    if (!w->as.key.newest) return grb_error_memory(err, count * 4);
    for (uint32_t i = count; i-- > 0;) {
        uint32_t *doc = &w->as.key.newest[i];
        grb_leaf leaf;
        grb_snapshot_leaf(s, i, &leaf);
        *docs += leaf.bounds.max_doc;
        *doc = GRB_NO_DOC;
        if (found) continue;
        GRB_TRY(grb_snapshot_key_newest(s, i, &w->as.key.key, doc, err));
        if (w->scored)
            GRB_TRY(key_versions(b->c, leaf.segment, *doc, df, err));
        found = s->unique && *doc != GRB_NO_DOC &&
                !(leaf.view && grb_view_dead(leaf.view, *doc, s->epoch));
    }
done:
    return status;
}

static grebe_status key_bind(binder *b, grb_weight *w, grebe_error *err) {
    grebe_status status = GREBE_OK;
    const grb_statistics *given = b->c->statistics;
    uint64_t docs, df;
    GRB_TRY(key_find(b, w, &df, &docs, err));
    if (!w->scored || w->field->kind == GREBE_INT) return GREBE_OK;
    GRB_TRY(stats_bind(b, w->field, &w->stats, err));
    if (given)
        given->term(given->context, w->field, w->as.key.key.bytes,
                    w->as.key.key.size, &df);
    if (w->stats->doc_count) docs = w->stats->doc_count;
    w->as.key.df = df;
    w->as.key.idf = grb_bm25_idf(df, docs);
    w->weight = factor(w->boost, w->as.key.idf);
done:
    return status;
}

static grebe_status weight_bind(binder *b, grb_weight *w, float boost,
                                bool scored, grebe_error *err);

static grebe_status list_bind(binder *b, const grb_weight_list *list,
                              float boost, bool scored, grebe_error *err) {
    grebe_status status = GREBE_OK;
    for (uint32_t i = 0; i < list->count; i++)
        GRB_TRY(weight_bind(b, list->items[i], boost, scored, err));
done:
    return status;
}

static grebe_status weight_bind(binder *b, grb_weight *w, float boost,
                                bool scored, grebe_error *err) {
    grebe_status status = GREBE_OK;
    w->scored = scored;
    w->boost = factor(boost, w->own);
    switch (w->kind) {
    case GRB_WEIGHT_TERM:
        return term_bind(b, w, err);
    case GRB_WEIGHT_PHRASE:
        return phrase_bind(b, w, err);
    case GRB_WEIGHT_KEY:
        return key_bind(b, w, err);
    case GRB_WEIGHT_BOOL:
        for (int i = 0; i < 4; i++)
            GRB_TRY(list_bind(b, &w->as.list.lists[i], w->boost,
                              scored && (i == GREBE_MUST || i == GREBE_SHOULD),
                              err));
        break;
    case GRB_WEIGHT_DISMAX:
        return list_bind(b, &w->as.dismax.queries, w->boost, scored, err);
    case GRB_WEIGHT_CONSTANT:
        return weight_bind(b, w->as.child, 1.0f, false, err);
    default:
        break;
    }
done:
    return status;
}

grebe_status grb_weight_new(grb_search_context *c, const grebe_query *query,
                            bool scored, grb_weight **out, grebe_error *err) {
    grebe_status status;
    binder b = {.c = c};
    GRB_TRY(grb_weight_rewrite(c, query, out, err));
    if ((*out)->kind == GRB_WEIGHT_EMPTY) (*out)->kind = GRB_WEIGHT_NONE;
    status = weight_bind(&b, *out, 1.0f, scored, err);
done:
    return status;
}
