/* search/explain.c - how the score of one document comes about, in words.
 *
 * Every line's number is what the operators themselves give for the node: the
 * node is opened alone and evaluated on the document's window, so that an
 * explanation cannot drift from the score it explains.
 *
 * Invariant: the first number printed is the document's score to the bit.
 * Threads: one search.
 * Owns: nothing.
 * The recursion is as deep as the query, see rewrite.c.
 */
#include "search/matcher.h"

typedef struct teller {
    grb_search_context *c;
    grb_leaf_run *run;
    uint32_t doc;
    grb_buf *out;
} teller;

static void line_begin(const teller *t, uint32_t depth) {
    grb_buf_printf(t->out, "%*s", (int)(2 * GRB_MIN(depth, 40)), "");
}

/* Whether the node alone matches the document, and its score. */
static grebe_status node_score(teller *t, const grb_weight *w, bool *matched,
                               float *score, grebe_error *err) {
    uint64_t bits[GRB_WINDOW_WORDS], only[GRB_WINDOW_WORDS];
    float scores[GRB_WINDOW];
    uint32_t base = t->doc & ~(GRB_WINDOW - 1), at = t->doc - base;
    grb_within within = {only, 1};
    grb_matcher *m;
    bool any = false;
    grebe_status status;
    *matched = false;
    *score = 0.0f;
    GRB_TRY(grb_matcher_make(t->run, w, 0, &m, err));
    if (!m) goto done;
    grb_bits_zero(bits);
    grb_bits_zero(only);
    grb_bit_set(only, at);
    GRB_TRY(m->ops->eval(m, base, &within, bits, w->scored ? scores : NULL,
                         &any, err));
    *matched = any && grb_bit(bits, at);
    if (*matched && w->scored) *score = scores[at];
done:
    return status;
}

/* The document's frequency of one bound term; 0: it is not in it. */
static grebe_status term_freq(teller *t, const grb_bound_term *term,
                              uint32_t *freq, grebe_error *err) {
    grb_segment *s = t->run->leaf.segment;
    const grb_term *found = &term->leaves[t->run->ord];
    grb_postings *p;
    const uint32_t *freqs;
    uint32_t i = 0;
    grebe_status status = GREBE_OK;
    *freq = 0;
    if (found->df == 0) goto done;
    GRB_TRY(s->ops->postings_open(s, &t->run->leaf.bounds, found,
                                  GRB_POSTINGS_FREQS, t->c->arena, &p, err));
    GRB_TRY(p->ops->next_block(p, t->doc, err));
    if (p->block.kind == GRB_BLOCK_END) goto done;
    if (p->block.kind == GRB_BLOCK_DOCS) {
        while (i < p->block.count && p->block.docs[i] < t->doc) i++;
        if (i == p->block.count || p->block.docs[i] != t->doc) goto done;
    } else if (p->block.kind == GRB_BLOCK_RUN) {
        i = t->doc - p->block.first;
    } else {
        for (uint32_t k = 0; k < t->doc - p->block.first; k++)
            i += (uint32_t)grb_bit(p->block.words, k);
    }
    GRB_TRY(p->ops->freqs(p, &freqs, err));
    *freq = freqs[i];
done:
    return status;
}

static grebe_status length_code(teller *t, const grb_weight *w, uint8_t *code,
                                grebe_error *err) {
    grb_lengths *l;
    grebe_status status;
    uint32_t base = t->doc & ~(GRB_WINDOW - 1);
    *code = 1;
    if (w->field->kind != GREBE_TEXT) return GREBE_OK;
    GRB_TRY(grb_lengths_make(t->c, w->field->id, &l, err));
    GRB_TRY(grb_lengths_window(l, t->run, base, err));
    if (l->codes) *code = l->codes[t->doc - base];
done:
    return status;
}

/* The two factors of a term, key or phrase. */
static grebe_status parts_tell(teller *t, const grb_weight *w, uint64_t df,
                               float idf, float freq, uint32_t depth,
                               grebe_error *err) {
    const grb_bm25 *p = t->c->bm25 ? t->c->bm25 : &grb_bm25_default;
    const grb_field_stats *s = w->stats;
    grebe_status status;
    uint8_t code;
    GRB_TRY(length_code(t, w, &code, err));
    line_begin(t, depth);
    grb_buf_printf(t->out, "%.9g weight = boost %.9g * idf %.9g",
                   (double)w->weight, (double)w->boost, (double)idf);
    if (df)
        grb_buf_printf(t->out,
                       ", idf = ln(1 + (N - df + 0.5) / (df + 0.5)) with "
                       "N = %llu, df = %llu",
                       (unsigned long long)GRB_MAX(s->doc_count, df),
                       (unsigned long long)df);
    grb_buf_printf(t->out, "\n");
    line_begin(t, depth);
    grb_buf_printf(
        t->out,
        "%.9g tf part = 1 - 1 / (1 + freq %.9g * %.9g), the latter = 1 / (k1 "
        "%.9g * (1 - b + b %.9g * length %u / average %.9g))\n",
        (double)(1.0f - 1.0f / (1.0f + freq * s->inverse[code])), (double)freq,
        (double)s->inverse[code], (double)p->k1, (double)p->b,
        grb_length_decode[code], (double)s->average);
done:
    return status;
}

static grebe_status phrase_tell(teller *t, const grb_weight *w, uint32_t depth,
                                grebe_error *err) {
    grebe_status status = GREBE_OK;
    float freq;
    GRB_TRY(grb_match_phrase_freq(t->run, w, t->doc, &freq, err));
    GRB_TRY(parts_tell(t, w, 0, w->as.phrase.idf, freq, depth, err));
    for (uint32_t i = 0; i < w->as.phrase.term_count; i++) {
        const grb_bound_term *term = &w->as.phrase.terms[i];
        line_begin(t, depth + 1);
        grb_buf_printf(t->out, "%.9g idf of \"%.*s\", N = %llu, df = %llu\n",
                       (double)term->idf, (int)GRB_MIN(term->size, 100),
                       term->bytes, (unsigned long long)w->stats->doc_count,
                       (unsigned long long)term->df);
    }
done:
    return status;
}

/* ---- names ---- */

static void bytes_name(grb_buf *out, const char *bytes, size_t size) {
    grb_buf_printf(out, "\"");
    grb_buf_put(out, bytes, GRB_MIN(size, 200));
    grb_buf_printf(out, "\"");
}

static void number_name(grb_buf *out, grebe_kind kind, int64_t v) {
    grebe_value value;
    grb_value_from_ordered(kind, v, &value);
    if (kind == GREBE_DOUBLE)
        grb_buf_printf(out, "%.17g", value.as.number);
    else if (kind == GREBE_BOOL)
        grb_buf_printf(out, "%s", value.as.boolean ? "true" : "false");
    else
        grb_buf_printf(out, "%lld", (long long)value.as.integer);
}

static void phrase_name(grb_buf *out, const grb_weight *w) {
    for (uint32_t i = 0; i < w->as.phrase.slot_count; i++) {
        const grb_phrase_slot *slot = &w->as.phrase.slots[i];
        grb_buf_printf(out, i ? " " : "\"");
        for (uint32_t k = 0; k < slot->count; k++) {
            const grb_bound_term *term = &w->as.phrase.terms[slot->first + k];
            if (k) grb_buf_printf(out, "|");
            grb_buf_put(out, term->bytes, term->size);
        }
    }
    grb_buf_printf(out, "\"");
    if (w->as.phrase.slop) grb_buf_printf(out, "~%u", w->as.phrase.slop);
}

static void range_name(grb_buf *out, const grb_byte_range *r) {
    if (r->prefix) {
        bytes_name(out, r->lower, r->lower_size);
        grb_buf_printf(out, "*");
        return;
    }
    grb_buf_printf(out, r->lower_out ? "{" : "[");
    if (r->lower)
        bytes_name(out, r->lower, r->lower_size);
    else
        grb_buf_printf(out, "*");
    grb_buf_printf(out, " to ");
    if (r->upper)
        bytes_name(out, r->upper, r->upper_size);
    else
        grb_buf_printf(out, "*");
    grb_buf_printf(out, r->upper_out ? "}" : "]");
}

/* What a node looks for: `body:"fox"`. */
static void node_name(grb_buf *out, const grb_weight *w) {
    if (w->field) grb_buf_printf(out, "%s:", w->field->name);
    switch (w->kind) {
    case GRB_WEIGHT_TERM:
        bytes_name(out, w->as.term.bytes, w->as.term.size);
        break;
    case GRB_WEIGHT_KEY:
        if (w->field->kind == GREBE_INT)
            grb_buf_printf(out, "this key");
        else
            bytes_name(out, (const char *)w->as.key.key.bytes,
                       w->as.key.key.size);
        break;
    case GRB_WEIGHT_PHRASE:
        phrase_name(out, w);
        break;
    case GRB_WEIGHT_TERMS:
        range_name(out, &w->as.range);
        break;
    case GRB_WEIGHT_COLUMN:
        if (w->as.column.any) {
            grb_buf_printf(out, "any value");
            break;
        }
        grb_buf_printf(out, "[");
        number_name(out, w->field->kind, w->as.column.lower);
        grb_buf_printf(out, " to ");
        number_name(out, w->field->kind, w->as.column.upper);
        grb_buf_printf(out, "]");
        break;
    case GRB_WEIGHT_ALL:
    case GRB_WEIGHT_LENGTH:
        grb_buf_printf(out, w->field ? "any value" : "every document");
        break;
    case GRB_WEIGHT_BOOL:
        grb_buf_printf(out, "sum of the clauses that match");
        break;
    case GRB_WEIGHT_DISMAX:
        grb_buf_printf(out, "best clause + %.9g * the others",
                       (double)w->as.dismax.tie);
        break;
    case GRB_WEIGHT_CONSTANT:
        grb_buf_printf(out, "constant score");
        break;
    default:
        grb_buf_printf(out, "no document");
        break;
    }
}

/* ---- the tree ---- */

static grebe_status node_tell(teller *t, const grb_weight *w, const char *role,
                              uint32_t depth, bool *matched, grebe_error *err);

static grebe_status list_tell(teller *t, const grb_weight_list *list,
                              const char *role, uint32_t depth,
                              uint32_t *count, grebe_error *err) {
    grebe_status status = GREBE_OK;
    for (uint32_t i = 0; i < list->count; i++) {
        bool matched;
        GRB_TRY(node_tell(t, list->items[i], role, depth, &matched, err));
        *count += matched;
    }
done:
    return status;
}

static grebe_status bool_tell(teller *t, const grb_weight *w, uint32_t depth,
                              grebe_error *err) {
    static const char *const roles[] = {
        "must: ", "should: ", "must not: ", "filter: "};
    grebe_status status = GREBE_OK;
    uint32_t counts[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4; i++)
        GRB_TRY(list_tell(t, &w->as.list.lists[i], roles[i], depth, &counts[i],
                          err));
    if (w->as.list.should_min > 1) {
        line_begin(t, depth);
        grb_buf_printf(t->out, "%u of at least %u should clauses match\n",
                       counts[GREBE_SHOULD], w->as.list.should_min);
    }
done:
    return status;
}

static grebe_status scored_tell(teller *t, const grb_weight *w, uint32_t depth,
                                grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t freq = 1;
    if (w->kind == GRB_WEIGHT_KEY)
        return w->stats ? parts_tell(t, w, w->as.key.df, w->as.key.idf, 1.0f,
                                     depth, err)
                        : GREBE_OK;
    if (w->kind == GRB_WEIGHT_PHRASE) return phrase_tell(t, w, depth, err);
    if (w->field->kind == GREBE_TEXT)
        GRB_TRY(term_freq(t, &w->as.term, &freq, err));
    status = parts_tell(t, w, w->as.term.df, w->as.term.idf, (float)freq,
                        depth, err);
done:
    return status;
}

static grebe_status node_tell(teller *t, const grb_weight *w, const char *role,
                              uint32_t depth, bool *matched,
                              grebe_error *err) {
    grebe_status status;
    float score;
    uint32_t count = 0;
    GRB_TRY(node_score(t, w, matched, &score, err));
    line_begin(t, depth);
    if (!*matched)
        grb_buf_printf(t->out, "no match, %s", role);
    else if (w->scored)
        grb_buf_printf(t->out, "%.9g %s", (double)score, role);
    else
        grb_buf_printf(t->out, "matches, %s", role);
    node_name(t->out, w);
    grb_buf_printf(t->out, "\n");
    switch (w->kind) {
    case GRB_WEIGHT_BOOL:
        return bool_tell(t, w, depth + 1, err);
    case GRB_WEIGHT_DISMAX:
        return list_tell(t, &w->as.dismax.queries, "clause: ", depth + 1,
                         &count, err);
    case GRB_WEIGHT_CONSTANT:
        GRB_TRY(node_tell(t, w->as.child, "", depth + 1, &(bool){false}, err));
        break;
    case GRB_WEIGHT_TERM:
    case GRB_WEIGHT_KEY:
    case GRB_WEIGHT_PHRASE:
        if (*matched && w->scored) return scored_tell(t, w, depth + 1, err);
        break;
    default:
        break;
    }
done:
    return status;
}

grebe_status grb_explain(grb_search_context *c, const grb_weight *w,
                         uint32_t leaf, uint32_t doc, bool *matched,
                         grb_buf *out, grebe_error *err) {
    teller t = {c, NULL, doc, out};
    grebe_status status = GREBE_OK;
    *matched = false;
    GRB_TRY(grb_leaf_run_make(c, leaf, &t.run, err));
    if (doc >= t.run->leaf.bounds.max_doc)
        return grb_error(err, GREBE_ARGUMENT, "no document %u", doc);
    GRB_TRY(node_tell(&t, w, "", 0, matched, err));
    if (out->failed) status = grb_error_memory(err, out->size);
done:
    return status;
}
