/* search/match_terms.c - documents with any term or key of a range of bytes.
 *
 * The postings of all terms of the range are joined in a bitmap of the leaf:
 * for its first window when the matcher is first asked, for the others when
 * one of them is wanted, so that a page of the first few matches does not read
 * long lists to their ends. Keys stand in no term table: their
 * bytes are compared one document after the other, and one exact key follows
 * the links of the key table.
 *
 * Invariant: the bitmap has every match below `made`.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/matcher.h"

struct bitmap_matcher;
/* Completes the bitmap up to `made` at least, which it may raise. */
typedef grebe_status (*bitmap_maker)(struct bitmap_matcher *b,
                                     grebe_error *err);

/* Terms whose lists were not read to their ends. */
#define RESTS 64u
typedef struct term_rests {
    struct term_rests *next;
    uint32_t count;
    struct {
        grb_term term;
        uint32_t from; /* documents before it are in the bitmap */
    } items[RESTS];
} term_rests;

typedef struct bitmap_matcher {
    grb_matcher m;
    bitmap_maker make;
    const grb_byte_range *range;
    uint64_t *words; /* NULL: not made yet */
    uint32_t word_count;
    uint32_t made;
    term_rests *rests; /* terms alone */
} bitmap_matcher;

bool grb_byte_range_has(const grb_byte_range *r, const uint8_t *bytes,
                        size_t size, bool *behind) {
    size_t common;
    int order;
    *behind = false;
    if (r->prefix) {
        common = GRB_MIN(size, r->lower_size);
        order = common ? memcmp(bytes, r->lower, common) : 0;
        *behind = order > 0;
        return order == 0 && size >= r->lower_size;
    }
    if (r->lower) {
        common = GRB_MIN(size, r->lower_size);
        order = common ? memcmp(bytes, r->lower, common) : 0;
        if (order == 0)
            order = (size > r->lower_size) - (size < r->lower_size);
        if (order < 0 || (order == 0 && r->lower_out)) return false;
    }
    if (r->upper) {
        common = GRB_MIN(size, r->upper_size);
        order = common ? memcmp(bytes, r->upper, common) : 0;
        if (order == 0)
            order = (size > r->upper_size) - (size < r->upper_size);
        *behind = order > 0 || (order == 0 && r->upper_out);
    }
    return !*behind;
}

/* ---- making the bitmap ---- */

/* A term's documents from *from on, whole blocks, up to `made` at least; *from
 * is where it went on, GRB_NO_DOC at the end. The cursor lives in `arena`. */
static grebe_status postings_join(bitmap_matcher *b, const grb_term *term,
                                  uint32_t *from, grb_arena *arena,
                                  grebe_error *err) {
    grb_leaf_run *run = b->m.run;
    grb_segment *s = run->leaf.segment;
    grb_postings *p;
    const grb_block *block;
    grebe_status status;
    GRB_TRY(s->ops->postings_open(s, &run->leaf.bounds, term,
                                  GRB_POSTINGS_DOCS, arena, &p, err));
    block = &p->block;
    for (uint32_t left = *from ? UINT32_MAX : term->df; *from < b->made;) {
        GRB_TRY(p->ops->next_block(p, *from, err));
        if (block->kind == GRB_BLOCK_END) {
            *from = GRB_NO_DOC;
            break;
        }
        run->c->blocks_decoded++;
        GRB_TRY(grb_budget_spend(&run->c->budget, block->count, err));
        if (block->kind == GRB_BLOCK_DOCS) {
            for (uint32_t i = 0; i < block->count; i++)
                grb_bit_set(b->words, block->docs[i]);
        } else if (block->kind == GRB_BLOCK_BITMAP) {
            uint64_t *to = b->words + (block->first >> 6);
            for (uint32_t i = 0; i < block->word_count; i++)
                if (block->words[i]) to[i] |= block->words[i];
        } else {
            grb_bits_fill(b->words, block->first, block->last + 1);
        }
        /* Most lists are one block: its end need not be looked for. */
        left -= GRB_MIN(left, block->count);
        *from = left ? block->last + 1 : GRB_NO_DOC;
    }
done:
    return status;
}

static grebe_status rest_keep(bitmap_matcher *b, const grb_term *term,
                              uint32_t from, grebe_error *err) {
    term_rests *r = b->rests;
    if (!r || r->count == RESTS) {
        r = grb_arena_alloc(b->m.run->c->arena, sizeof *r);
        if (!r) return grb_error_memory(err, sizeof *r);
        r->next = b->rests;
        r->count = 0;
        b->rests = r;
    }
    r->items[r->count].term = *term;
    r->items[r->count++].from = from;
    return GREBE_OK;
}

/* The lists that were left, to their ends. */
static grebe_status rests_make(bitmap_matcher *b, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_arena one;
    grb_arena_init(&one, b->m.run->c->arena->allocator, 0);
    b->made = b->m.run->leaf.bounds.max_doc;
    for (term_rests *r = b->rests; r; r = r->next)
        for (uint32_t i = 0; i < r->count; i++) {
            GRB_TRY(postings_join(b, &r->items[i].term, &r->items[i].from,
                                  &one, err));
            grb_arena_reset(&one);
        }
    b->rests = NULL;
done:
    grb_arena_deinit(&one);
    return status;
}

static grebe_status terms_make(bitmap_matcher *b, grebe_error *err) {
    grb_leaf_run *run = b->m.run;
    grb_segment *s = run->leaf.segment;
    const grb_byte_range *r = b->range;
    grb_terms *terms;
    grebe_status status;
    grb_arena one; /* a term's cursor: there may be very many terms */
    if (b->rests) return rests_make(b, err);
    grb_arena_init(&one, run->c->arena->allocator, 0);
    GRB_TRY(s->ops->terms_open(s, &run->leaf.bounds, b->m.weight->field->id,
                               run->c->arena, &terms, err));
    if (!terms) goto done;
    GRB_TRY(terms->seek(terms, r->lower, r->lower ? r->lower_size : 0, err));
    for (;;) {
        const uint8_t *bytes;
        uint32_t size;
        grb_term term;
        bool found, behind;
        GRB_TRY(terms->next(terms, &found, &bytes, &size, &term, err));
        if (!found) break;
        GRB_TRY(grb_budget_spend(&run->c->budget, 1, err));
        if (grb_byte_range_has(r, bytes, size, &behind)) {
            uint32_t from = 0;
            GRB_TRY(postings_join(b, &term, &from, &one, err));
            if (from < run->leaf.bounds.max_doc)
                GRB_TRY(rest_keep(b, &term, from, err));
        }
        if (behind) break;
        grb_arena_reset(&one);
    }
    if (!b->rests) b->made = run->leaf.bounds.max_doc;
done:
    grb_arena_deinit(&one);
    return status;
}

static grebe_status keys_make(bitmap_matcher *b, grebe_error *err) {
    grb_leaf_run *run = b->m.run;
    grb_segment *s = run->leaf.segment;
    grebe_status status = GREBE_OK;
    uint32_t max_doc = run->leaf.bounds.max_doc;
    grb_arena one; /* one key's bytes */
    grb_arena_init(&one, run->c->arena->allocator, 0);
    for (uint32_t doc = 0; doc < max_doc; doc++) {
        const uint8_t *bytes;
        uint32_t size;
        bool behind;
        GRB_TRY(grb_budget_spend(&run->c->budget, 1, err));
        GRB_TRY(s->ops->key_bytes(s, doc, &one, &bytes, &size, err));
        if (bytes && grb_byte_range_has(b->range, bytes, size, &behind))
            grb_bit_set(b->words, doc);
        grb_arena_reset(&one);
    }
done:
    grb_arena_deinit(&one);
    return status;
}

/* Ordinals of the column that lie in the range, then documents with one. */
static grebe_status ords_choose(bitmap_matcher *b, grb_column *column,
                                uint64_t *chosen, grebe_error *err) {
    grebe_status status = GREBE_OK;
    for (uint32_t ord = 0; ord < column->ord_count; ord++) {
        const uint8_t *bytes;
        uint32_t size;
        bool behind;
        GRB_TRY(grb_budget_spend(&b->m.run->c->budget, 1, err));
        GRB_TRY(column->ord_bytes(column, ord, &bytes, &size, err));
        if (grb_byte_range_has(b->range, bytes, size, &behind))
            grb_bit_set(chosen, ord);
    }
done:
    return status;
}

static bool value_chosen(const grb_column_window *w, uint32_t i,
                         const uint64_t *chosen) {
    uint32_t from = w->offsets ? w->offsets[i] : i;
    uint32_t to = w->offsets ? w->offsets[i + 1] : i + 1;
    for (; from < to; from++)
        if (grb_bit(chosen, (uint32_t)w->values[from])) return true;
    return false;
}

static grebe_status key_column_make(bitmap_matcher *b, grebe_error *err) {
    grb_leaf_run *run = b->m.run;
    grb_column *column;
    uint64_t *chosen;
    grebe_status status;
    uint32_t max_doc = run->leaf.bounds.max_doc;
    GRB_TRY(grb_run_column(run, b->m.weight->field->id, &column, err));
    if (!column || column->kind != GREBE_KEYWORD) return keys_make(b, err);
    chosen = grb_arena_zero(run->c->arena, (column->ord_count / 64 + 1) * 8);
    if (!chosen) return grb_error_memory(err, column->ord_count / 8);
    GRB_TRY(ords_choose(b, column, chosen, err));
    for (uint32_t base = 0; base < max_doc; base += GRB_WINDOW) {
        grb_column_window w;
        GRB_TRY(column->window(column, base, true, &w, err));
        GRB_TRY(grb_budget_spend(&run->c->budget, w.count, err));
        for (uint32_t i = 0; w.any && i < w.count; i++)
            if ((w.all || grb_bit(w.present, i)) &&
                value_chosen(&w, i, chosen))
                grb_bit_set(b->words, base + i);
    }
done:
    return status;
}

static grebe_status key_make(bitmap_matcher *b, grebe_error *err) {
    const grb_leaf *leaf = &b->m.run->leaf;
    grb_segment *s = leaf->segment;
    grebe_status status = GREBE_OK;
    uint32_t doc = b->m.weight->as.key.newest[b->m.run->ord];
    while (doc != GRB_NO_DOC) {
        grb_bit_set(b->words, doc);
        GRB_TRY(grb_budget_spend(&b->m.run->c->budget, 1, err));
        GRB_TRY(s->ops->key_older(s, doc, &doc, err));
    }
done:
    return status;
}

/* ---- the operator ---- */

/* Makes the bitmap complete for `doc` and the rest of its window. */
static grebe_status bitmap_need(bitmap_matcher *b, uint32_t doc,
                                grebe_error *err) {
    const grb_leaf_run *run = b->m.run;
    uint32_t max_doc = run->leaf.bounds.max_doc;
    bool first = !b->words;
    grebe_status status;
    if (b->words && doc < b->made) return GREBE_OK;
    if (first) {
        /* Whole windows, so that a window never reads past the end. */
        b->word_count = (max_doc / GRB_WINDOW + 1) * GRB_WINDOW_WORDS;
        b->words = grb_arena_zero(run->c->arena, b->word_count * 8);
        if (!b->words) return grb_error_memory(err, b->word_count * 8);
    }
    b->made = max_doc;
    if (first && b->make == terms_make && !(run->c->off & GRB_OFF_PRUNING))
        b->made = GRB_MIN(max_doc, (doc & ~(GRB_WINDOW - 1)) + GRB_WINDOW);
    status = b->make(b, err);
    if (status != GREBE_OK) b->made = 0;
    return status;
}

static grebe_status bitmap_next(grb_matcher *m, uint32_t min_doc,
                                uint32_t *doc, grebe_error *err) {
    bitmap_matcher *b = (bitmap_matcher *)m;
    uint32_t max_doc = m->run->leaf.bounds.max_doc;
    grebe_status status = GREBE_OK;
    *doc = GRB_NO_DOC;
    while (min_doc < max_doc && *doc == GRB_NO_DOC) {
        GRB_TRY(bitmap_need(b, min_doc, err));
        uint32_t w = min_doc >> 6, end = (b->made + 63) >> 6;
        uint64_t word = b->words[w] & (~(uint64_t)0 << (min_doc & 63));
        while (!word && ++w < end) word = b->words[w];
        if (word) *doc = w * 64 + (uint32_t)grb_ctz64(word);
        min_doc = b->made;
    }
done:
    return status;
}

static grebe_status bitmap_eval(grb_matcher *m, uint32_t base,
                                const grb_within *within, uint64_t *bits,
                                float *scores, bool *any, grebe_error *err) {
    bitmap_matcher *b = (bitmap_matcher *)m;
    const grb_weight *w = m->weight;
    grebe_status status = GREBE_OK;
    const uint64_t *from;
    if (base >= m->run->leaf.bounds.max_doc) goto done;
    GRB_TRY(bitmap_need(b, base, err));
    from = b->words + (base >> 6);
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++)
        bits[i] = within ? from[i] & within->bits[i] : from[i];
    if (!grb_bits_any(bits)) goto done;
    *any = true;
    if (scores)
        grb_scores_fill(
            bits, scores,
            w->stats ? grb_bm25_score(w->weight, 1.0f, w->stats->inverse[1])
                     : w->boost);
done:
    return status;
}

static grebe_status bitmap_open(grb_leaf_run *run, const grb_weight *w,
                                uint32_t depth, uint64_t cost,
                                bitmap_maker make, bitmap_matcher **out,
                                grebe_error *err) {
    static const grb_matcher_ops ops = {bitmap_next, bitmap_eval, NULL, NULL};
    *out = grb_matcher_alloc(run, w, depth, sizeof **out, &ops, cost);
    if (!*out) return grb_error_memory(err, sizeof **out);
    (*out)->make = make;
    (*out)->range = &w->as.range;
    return GREBE_OK;
}

grebe_status grb_match_terms(grb_leaf_run *run, const grb_weight *w,
                             uint32_t depth, grb_matcher **out,
                             grebe_error *err) {
    bitmap_matcher *b;
    grebe_status status = bitmap_open(
        run, w, depth, run->leaf.bounds.max_doc / 2 + 1,
        grb_weight_is_key(w) ? key_column_make : terms_make, &b, err);
    if (status == GREBE_OK) *out = &b->m;
    return status;
}

grebe_status grb_match_key_range(grb_leaf_run *run, const grb_weight *w,
                                 uint32_t depth, const grb_byte_range *range,
                                 grb_matcher **out, grebe_error *err) {
    bitmap_matcher *b;
    grebe_status status = bitmap_open(
        run, w, depth, run->leaf.bounds.max_doc / 2 + 1, keys_make, &b, err);
    if (status) return status;
    b->range = range;
    *out = &b->m;
    return GREBE_OK;
}

/* ---- one exact key ---- */

/* A key with more documents is like any other set. */
#define KEY_DOCS_MAX 64u

/* A key is nearly always one document: no bitmap, its documents in order. */
typedef struct key_matcher {
    grb_matcher m;
    uint32_t *docs; /* rising */
    uint32_t count;
} key_matcher;

static grebe_status key_next(grb_matcher *m, uint32_t min_doc, uint32_t *doc,
                             grebe_error *err) {
    const key_matcher *k = (const key_matcher *)m;
    *doc = GRB_NO_DOC;
    for (uint32_t i = k->count; i-- > 0 && k->docs[i] >= min_doc;)
        *doc = k->docs[i];
    return GREBE_OK;
}

static grebe_status key_eval(grb_matcher *m, uint32_t base,
                             const grb_within *within, uint64_t *bits,
                             float *scores, bool *any, grebe_error *err) {
    const key_matcher *k = (const key_matcher *)m;
    const grb_weight *w = m->weight;
    for (uint32_t i = 0; i < k->count; i++) {
        uint32_t at = k->docs[i] - base;
        if (k->docs[i] < base || at >= GRB_WINDOW) continue;
        if (within && !grb_bit(within->bits, at)) continue;
        grb_bit_set(bits, at);
        *any = true;
        if (scores)
            scores[at] = w->stats ? grb_bm25_score(w->weight, 1.0f,
                                                   w->stats->inverse[1])
                                  : w->boost;
    }
    return GREBE_OK;
}

/* Whether the matcher needs a document: the dead would be taken out later. */
static bool key_alive(const grb_leaf_run *run, uint32_t doc) {
    return !run->leaf.view ||
           !grb_view_dead(run->leaf.view, doc, run->c->snapshot->epoch);
}

/* Living documents with the key, newest first, up to `most` into `docs`; the
 * first is all where keys are unique. */
static grebe_status key_docs(const grb_leaf_run *run, const grb_weight *w,
                             uint32_t *docs, uint32_t most, uint32_t *count,
                             grebe_error *err) {
    grb_segment *s = run->leaf.segment;
    grebe_status status = GREBE_OK;
    uint32_t doc = w->as.key.newest[run->ord];
    *count = 0;
    while (doc != GRB_NO_DOC) {
        GRB_TRY(grb_budget_spend(&run->c->budget, 1, err));
        if (key_alive(run, doc)) {
            if (*count < most) docs[*count] = doc;
            ++*count;
            if (run->c->snapshot->unique || *count > most) break;
        }
        GRB_TRY(s->ops->key_older(s, doc, &doc, err));
    }
done:
    return status;
}

grebe_status grb_match_key(grb_leaf_run *run, const grb_weight *w,
                           uint32_t depth, grb_matcher **out,
                           grebe_error *err) {
    static const grb_matcher_ops ops = {key_next, key_eval, NULL, NULL};
    uint32_t docs[KEY_DOCS_MAX], count;
    grebe_status status;
    bitmap_matcher *b;
    key_matcher *k;
    GRB_TRY(key_docs(run, w, docs, KEY_DOCS_MAX, &count, err));
    if (count == 0) goto done;
    if (count > KEY_DOCS_MAX) {
        GRB_TRY(bitmap_open(run, w, depth, count, key_make, &b, err));
        *out = &b->m;
        goto done;
    }
    k = grb_matcher_alloc(run, w, depth, sizeof *k, &ops, count);
    if (!k) return grb_error_memory(err, sizeof *k);
    k->docs = grb_arena_alloc(run->c->arena, count * sizeof *k->docs);
    if (!k->docs) return grb_error_memory(err, count * sizeof *k->docs);
    for (uint32_t i = 0; i < count; i++) k->docs[i] = docs[count - 1 - i];
    k->count = count;
    *out = &k->m;
done:
    return status;
}
