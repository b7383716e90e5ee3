/* search/matcher.c - weights become matchers, and what matchers share.
 *
 * A matcher is opened once a leaf. Its frame and the length codes of the
 * window at work are shared by all leaves of a search, because no operator
 * keeps anything in them from one window to the next.
 *
 * Invariant: frames are complete before the first window, so that evaluation
 * allocates only where a kind says so.
 * Threads: one search.
 * Owns: nothing; everything lives in the context's arena.
 */
#include "search/matcher.h"

static grebe_status scratch_make(grb_search_context *c, grebe_error *err) {
    uint32_t count = grb_snapshot_leaf_count(c->snapshot), most = 0;
    if (c->scratch) return GREBE_OK;
    c->scratch = grb_arena_zero(c->arena, sizeof *c->scratch);
    if (!c->scratch) return grb_error_memory(err, sizeof *c->scratch);
    for (uint32_t i = 0; i < count && most < GRB_WINDOW; i++) {
        grb_leaf leaf;
        grb_snapshot_leaf(c->snapshot, i, &leaf);
        most = GRB_MAX(most, leaf.bounds.max_doc);
    }
    c->scratch->window = (GRB_MIN(most, GRB_WINDOW) + 63) & ~63u;
    return GREBE_OK;
}

static bool part_make(grb_search_context *c, bool wanted, void *part,
                      size_t size) {
    void *block;
    memcpy(&block, part, sizeof block);
    if (!wanted || block) return true;
    block = grb_arena_line(c->arena, size);
    memcpy(part, &block, sizeof block);
    return block != NULL;
}

grebe_status grb_frame_make(grb_search_context *c, uint32_t depth, int parts,
                            grb_frame **out, grebe_error *err) {
    grb_frame *f;
    size_t sums;
    grebe_status status = scratch_make(c, err);
    if (status) return status;
    sums = c->scratch->window * sizeof(double);
    if (depth >= GRB_FRAMES)
        return grb_error(err, GREBE_LIMIT, "the query is %u deep", depth);
    if (!c->scratch->frames) {
        size_t size = GRB_FRAMES * sizeof *c->scratch->frames;
        c->scratch->frames = grb_arena_zero(c->arena, size);
        if (!c->scratch->frames) return grb_error_memory(err, size);
    }
    f = c->scratch->frames[depth];
    if (!f) {
        f = grb_arena_line(c->arena, sizeof *f);
        if (!f) return grb_error_memory(err, sizeof *f);
        memset(f, 0, sizeof *f);
        c->scratch->frames[depth] = f;
    }
    if (!part_make(c, parts & GRB_FRAME_OUT, &f->out_scores, sums / 2) ||
        !part_make(c, parts & GRB_FRAME_BEST, &f->best, sums / 2) ||
        !part_make(c, parts & GRB_FRAME_MUST, &f->must, sums) ||
        !part_make(c, parts & GRB_FRAME_SHOULD, &f->should, sums) ||
        !part_make(c, parts & GRB_FRAME_PLANES, &f->planes,
                   GRB_PLANES * sizeof *f->planes))
        return grb_error_memory(err, sums);
    *out = f;
    return GREBE_OK;
}

grebe_status grb_lengths_make(grb_search_context *c, uint32_t field,
                              grb_lengths **out, grebe_error *err) {
    grb_lengths *l;
    grebe_status status = scratch_make(c, err);
    if (status) return status;
    for (l = c->scratch->lengths; l && l->field != field;) l = l->next;
    if (!l) {
        l = grb_arena_alloc(c->arena, sizeof *l);
        if (!l) return grb_error_memory(err, sizeof *l);
        l->field = field;
        l->leaf = NULL;
        l->next = c->scratch->lengths;
        c->scratch->lengths = l;
    }
    *out = l;
    return GREBE_OK;
}

grebe_status grb_lengths_window(grb_lengths *l, const grb_leaf_run *run,
                                uint32_t base, grebe_error *err) {
    grb_segment *s = run->leaf.segment;
    grebe_status status;
    if (l->leaf == run && l->base == base) return GREBE_OK;
    l->leaf = NULL;
    status = s->ops->lengths(s, &run->leaf.bounds, l->field, base, l->scratch,
                             &l->codes, err);
    if (status) return status;
    l->leaf = run;
    l->base = base;
    return GREBE_OK;
}

grebe_status grb_leaf_run_make(grb_search_context *c, uint32_t ord,
                               grb_leaf_run **out, grebe_error *err) {
    grb_leaf_run *run = grb_arena_alloc(c->arena, sizeof *run);
    if (!run) return grb_error_memory(err, sizeof *run);
    run->c = c;
    run->ord = ord;
    grb_snapshot_leaf(c->snapshot, ord, &run->leaf);
    run->columns = NULL;
    *out = run;
    return GREBE_OK;
}

struct grb_run_column {
    struct grb_run_column *next;
    uint32_t field;
    grb_column *column;
};

grebe_status grb_run_column(grb_leaf_run *run, uint32_t field,
                            grb_column **out, grebe_error *err) {
    grb_segment *s = run->leaf.segment;
    struct grb_run_column *kept = run->columns;
    grebe_status status = GREBE_OK;
    while (kept && kept->field != field) kept = kept->next;
    if (!kept) {
        kept = grb_arena_alloc(run->c->arena, sizeof *kept);
        if (!kept) return grb_error_memory(err, sizeof *kept);
        GRB_TRY(s->ops->column_open(s, &run->leaf.bounds, field, run->c->arena,
                                    &kept->column, err));
        kept->field = field;
        kept->next = run->columns;
        run->columns = kept;
    }
    *out = kept->column;
done:
    return status;
}

void *grb_matcher_alloc(grb_leaf_run *run, const grb_weight *w, uint32_t depth,
                        size_t size, const grb_matcher_ops *ops,
                        uint64_t cost) {
    grb_matcher *m = grb_arena_zero(run->c->arena, size);
    if (!m) return NULL;
    m->ops = ops;
    m->run = run;
    m->weight = w;
    m->cost = cost;
    m->depth = depth;
    m->floor = GRB_FLOOR_NONE;
    return m;
}

grebe_status grb_matcher_bound(grb_matcher *m, uint32_t base, uint32_t *last,
                               float *bound, grebe_error *err) {
    if (m->ops->bound) return m->ops->bound(m, base, last, bound, err);
    const grb_weight *w = m->weight;
    bool ranked = w->kind == GRB_WEIGHT_PHRASE || w->kind == GRB_WEIGHT_KEY;
    *last = base + (GRB_WINDOW - 1);
    *bound = ranked && w->stats ? w->weight : w->boost;
    return GREBE_OK;
}

grebe_status grb_matcher_make(grb_leaf_run *run, const grb_weight *w,
                              uint32_t depth, grb_matcher **out,
                              grebe_error *err) {
    static grb_matcher_opener *const openers[] = {
        [GRB_WEIGHT_ALL] = grb_match_all,
        [GRB_WEIGHT_TERM] = grb_match_term,
        [GRB_WEIGHT_KEY] = grb_match_key,
        [GRB_WEIGHT_PHRASE] = grb_match_phrase,
        [GRB_WEIGHT_TERMS] = grb_match_terms,
        [GRB_WEIGHT_COLUMN] = grb_match_column,
        [GRB_WEIGHT_LENGTH] = grb_match_length,
        [GRB_WEIGHT_BOOL] = grb_match_bool,
        [GRB_WEIGHT_DISMAX] = grb_match_dismax,
        [GRB_WEIGHT_CONSTANT] = grb_match_constant,
    };
    grb_matcher_opener *opener = openers[w->kind];
    *out = NULL;
    if (!opener || run->leaf.bounds.max_doc == 0) return GREBE_OK;
    return opener(run, w, depth, out, err);
}

grebe_status grb_matcher_add(grb_matcher *m, uint32_t base,
                             const grb_within *within, uint64_t *bits,
                             grb_sum *sum, bool *any, grebe_error *err) {
    grb_frame *f;
    bool some = false;
    grebe_status status;
    if (m->ops->add) return m->ops->add(m, base, within, bits, sum, any, err);
    GRB_TRY(grb_frame_make(m->run->c, m->depth, GRB_FRAME_OUT, &f, err));
    grb_bits_zero(f->out_bits);
    GRB_TRY(
        m->ops->eval(m, base, within, f->out_bits, f->out_scores, &some, err));
    if (!some) goto done;
    *any = true;
    for (uint32_t w = 0; w < GRB_WINDOW_WORDS; w++) {
        uint64_t word = f->out_bits[w];
        if (!word) continue;
        bits[w] |= word;
        for (; word; word &= word - 1) {
            uint32_t i = w * 64 + (uint32_t)grb_ctz64(word);
            grb_sum_add(sum, i, (double)f->out_scores[i]);
        }
    }
done:
    return status;
}

/* ---- the room's contract ---- */

grebe_status grb_matcher_next(grb_matcher *m, uint32_t min_doc, uint32_t *doc,
                              grebe_error *err) {
    if (min_doc >= m->run->leaf.bounds.max_doc) {
        *doc = GRB_NO_DOC;
        return GREBE_OK;
    }
    return m->ops->next(m, min_doc, doc, err);
}
