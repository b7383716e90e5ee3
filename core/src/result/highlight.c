/* result/highlight.c - passages of stored texts for a page of hits.
 *
 * The stored text is analysed again with its field's analyzer, so that what
 * is marked is exactly what the index holds of it. Terms come from the bound
 * query; those of phrases and prefixes mark on their own.
 *
 * Invariant: at most GRB_HIGHLIGHT_TEXT_MAX bytes of a document are analysed
 * for a request; what lies behind is not shown.
 * Threads: one search, one thread.
 * Owns: its scratch; passages lie in the arena of the hits.
 */
#include "result/passage.h"
#include "result/result.h"

#define HIGHLIGHT_SIZE 200u
#define HIGHLIGHT_WEIGHT_ONE 65536.0f

typedef struct marked_term {
    const char *bytes;
    uint32_t size;
} marked_term;

/* A passage that may still be displaced by a better one. */
typedef struct kept_passage {
    uint64_t weight;
    uint32_t marks;
    uint32_t value, from; /* place in the document */
    grb_passage text;
} kept_passage;

/* What serves one request on all hits. */
typedef struct highlighter {
    grb_search_context *context;
    grb_arena *arena; /* of the hits */
    const grebe_highlight_request *request;
    const grb_field *field;
    marked_term *terms; /* exact ones by hash, then prefixes */
    uint64_t *weights;
    uint32_t term_count, term_capacity;
    uint32_t *prefixes; /* places of the prefixes in `terms` */
    uint32_t prefix_count;
    uint32_t *slots; /* term + 1 */
    uint32_t slot_count;
    grb_mark_terms mark_terms;
    kept_passage *kept;
    uint32_t kept_count, kept_max, length;
} highlighter;

/* Shared by the requests. */
typedef struct highlight_scratch {
    grb_tokens tokens;
    grb_buf passage, marks;
    grebe_document *document;
} highlight_scratch;

grebe_status grb_highlight_check(const grebe_schema *schema,
                                 const grebe_highlight_request *requests,
                                 size_t count, grebe_error *err) {
    for (size_t i = 0; i < count; i++) {
        const char *name = requests[i].field;
        if (!name)
            return grb_error(err, GREBE_ARGUMENT, "highlight: no field named");
        uint32_t id = grebe_schema_find(schema, name, strlen(name));
        if (id == GREBE_NO_FIELD)
            return grb_field_unknown(schema, name, strlen(name), "highlight",
                                     err);
        const grb_field *field = &schema->fields[id];
        if (field->kind != GREBE_TEXT || !(field->flags & GREBE_STORED)) {
            grb_error(err, GREBE_SCHEMA,
                      "highlight: \"%s\" is not a stored text field", name);
            grb_error_field(err, name);
            return GREBE_SCHEMA;
        }
        if (requests[i].snippets > GRB_SNIPPETS_MAX)
            return grb_error(err, GREBE_LIMIT,
                             "highlight: %u snippets, the limit is %u",
                             requests[i].snippets, GRB_SNIPPETS_MAX);
    }
    return GREBE_OK;
}

static uint32_t *term_slot(const highlighter *h, const char *bytes,
                           uint32_t size) {
    uint32_t mask = h->slot_count - 1;
    uint32_t at = (uint32_t)grb_hash(bytes, size, 0) & mask;
    for (; h->slots[at]; at = (at + 1) & mask) {
        const marked_term *t = &h->terms[h->slots[at] - 1];
        if (t->size == size && memcmp(t->bytes, bytes, size) == 0) break;
    }
    return &h->slots[at];
}

/* Doubles the tables of terms; what is outgrown stays in the arena. */
static grebe_status terms_grow(highlighter *h) {
    grb_arena *arena = h->context->arena;
    uint32_t more = h->term_capacity ? h->term_capacity * 2 : 16;
    marked_term *terms = grb_arena_alloc(arena, more * sizeof *terms);
    uint64_t *weights = grb_arena_alloc(arena, more * sizeof *weights);
    uint32_t *prefixes = grb_arena_alloc(arena, more * sizeof *prefixes);
    uint32_t *slots = grb_arena_zero(arena, more * 2 * sizeof *slots);
    if (!terms || !weights || !prefixes || !slots) return GREBE_MEMORY;
    if (h->term_count > 0) {
        memcpy(terms, h->terms, h->term_count * sizeof *terms);
        memcpy(weights, h->weights, h->term_count * sizeof *weights);
        memcpy(prefixes, h->prefixes, h->prefix_count * sizeof *prefixes);
    }
    h->terms = terms;
    h->weights = weights;
    h->prefixes = prefixes;
    h->slots = slots;
    h->slot_count = more * 2;
    h->term_capacity = more;
    for (uint32_t i = 0, p = 0; i < h->term_count; i++) {
        if (p < h->prefix_count && h->prefixes[p] == i)
            p++;
        else
            *term_slot(h, terms[i].bytes, terms[i].size) = i + 1;
    }
    return GREBE_OK;
}

static grebe_status term_visit(void *context, const grb_sought_term *term) {
    highlighter *h = context;
    if (strcmp(term->field, h->field->name) != 0) return GREBE_OK;
    if (h->term_count == h->term_capacity && terms_grow(h) != GREBE_OK)
        return GREBE_MEMORY;
    if (!term->prefix) {
        uint32_t *slot = term_slot(h, term->bytes, term->size);
        if (*slot) return GREBE_OK;
        *slot = h->term_count + 1;
    } else {
        h->prefixes[h->prefix_count++] = h->term_count;
    }
    /* Whole numbers, so that sums do not depend on the order of adding; one
     * more, so that a term without weight still counts. */
    float weight = GRB_MIN(GRB_MAX(term->weight, 0.0f), 1e6f);
    h->weights[h->term_count] = 1 + (uint64_t)(weight * HIGHLIGHT_WEIGHT_ONE);
    h->terms[h->term_count++] = (marked_term){term->bytes, term->size};
    return GREBE_OK;
}

static grebe_status highlighter_init(highlighter *h, grebe_hits *hits,
                                     grb_search_context *c,
                                     const grb_weight *weight,
                                     const grebe_highlight_request *request,
                                     grebe_error *err) {
    memset(h, 0, sizeof *h);
    h->context = c;
    h->arena = &hits->arena;
    h->request = request;
    uint32_t id =
        grebe_schema_find(c->schema, request->field, strlen(request->field));
    h->field = &c->schema->fields[id];
    h->length = request->size ? request->size : HIGHLIGHT_SIZE;
    h->kept_max = request->snippets ? request->snippets : 1;
    grebe_status status =
        weight ? grb_weight_terms(weight, term_visit, h) : GREBE_OK;
    if (status != GREBE_OK)
        return grb_error(err, status, "highlight: no memory for the terms");
    h->kept = grb_arena_alloc(c->arena, h->kept_max * sizeof *h->kept);
    h->mark_terms.weights = h->weights;
    h->mark_terms.seen = grb_arena_alloc(
        c->arena, (h->term_count + 1) * sizeof *h->mark_terms.seen);
    if (!h->kept || !h->mark_terms.seen)
        return grb_error_memory(err, h->term_count);
    return GREBE_OK;
}

/* The term that a token is, or is a beginning of; UINT32_MAX: none. */
static uint32_t token_term(const highlighter *h, const grb_token *token) {
    uint32_t slot = *term_slot(h, token->bytes, token->size);
    if (slot) return slot - 1;
    for (uint32_t i = 0; i < h->prefix_count; i++) {
        const marked_term *t = &h->terms[h->prefixes[i]];
        if (token->size >= t->size &&
            memcmp(token->bytes, t->bytes, t->size) == 0)
            return h->prefixes[i];
    }
    return UINT32_MAX;
}

static uint32_t chars_between(const char *text, uint32_t from, uint32_t to) {
    uint32_t count = 0;
    for (uint32_t i = from; i < to; i++)
        count += ((unsigned char)text[i] & 0xc0) != 0x80;
    return count;
}

/* Marks of a value, in order; `out` refers to the scratch. */
static grebe_status value_mark(const highlighter *h, highlight_scratch *s,
                               const char *text, uint32_t size,
                               grb_marked *out, grebe_error *err) {
    grebe_status status;
    GRB_TRY(grb_analyze(h->field->analyzer, text, size, &s->tokens, err));
    GRB_TRY(grb_budget_spend(&h->context->budget, s->tokens.count, err));
    grb_buf_clear(&s->marks);
    uint32_t at = 0, chars = 0;
    size_t done = 0;
    for (uint32_t i = 0; i < s->tokens.count; i++) {
        const grb_token *token = &s->tokens.items[i];
        GRB_TRY(grb_budget_poll(&h->context->budget, &done,
                                h->prefix_count + 1, err));
        if (token->start < at || token->end <= token->start ||
            token->end > size)
            continue;
        uint32_t term = token_term(h, token);
        if (term == UINT32_MAX) continue;
        chars += chars_between(text, at, token->start);
        at = token->start;
        grb_mark mark = {token->start, token->end, chars,
                         chars + chars_between(text, at, token->end), term};
        grb_buf_put(&s->marks, &mark, sizeof mark);
    }
    if (s->marks.failed) return grb_error_memory(err, s->marks.size);
    *out = (grb_marked){text, size, &s->tokens, NULL, 0};
    out->count = (uint32_t)(s->marks.size / sizeof(grb_mark));
    out->marks = (const grb_mark *)(const void *)s->marks.bytes;
done:
    return status;
}

static bool kept_better(const kept_passage *a, const kept_passage *b) {
    if (a->weight != b->weight) return a->weight > b->weight;
    if (a->marks != b->marks) return a->marks > b->marks;
    if (a->value != b->value) return a->value < b->value;
    return a->from < b->from;
}

/* Keeps a passage if it is among the best; sorted, best first. */
static grebe_status passage_keep(highlighter *h, highlight_scratch *s,
                                 const grb_marked *m, grb_byte_range range,
                                 kept_passage *passage, grebe_error *err) {
    uint32_t at = h->kept_count;
    if (at == h->kept_max && !kept_better(passage, &h->kept[at - 1]))
        return GREBE_OK;
    grb_buf_clear(&s->passage);
    grb_passage_write(m, range, h->request, &s->passage);
    grb_buf_u8(&s->passage, 0);
    if (s->passage.failed) return grb_error_memory(err, s->passage.size);
    passage->text.size = s->passage.size - 1;
    passage->text.bytes =
        grb_arena_copy(h->arena, s->passage.bytes, s->passage.size);
    if (!passage->text.bytes) return grb_error_memory(err, s->passage.size);
    if (at == h->kept_max)
        at--;
    else
        h->kept_count++;
    for (; at > 0 && kept_better(passage, &h->kept[at - 1]); at--)
        h->kept[at] = h->kept[at - 1];
    h->kept[at] = *passage;
    return GREBE_OK;
}

/* The best passages of one value, none over another. */
static grebe_status value_passages(highlighter *h, highlight_scratch *s,
                                   const grb_marked *m, uint32_t value,
                                   grebe_error *err) {
    grb_byte_range taken[GRB_SNIPPETS_MAX];
    for (uint32_t n = 0; n < h->kept_max; n++) {
        grb_mark_window w;
        memset(h->mark_terms.seen, 0,
               h->term_count * sizeof *h->mark_terms.seen);
        if (!grb_passage_find(m, &h->mark_terms, h->length, taken, n, &w))
            break;
        uint32_t low = 0, high = m->size;
        for (uint32_t i = 0; i < n; i++) {
            if (taken[i].to <= m->marks[w.from].start)
                low = GRB_MAX(low, taken[i].to);
            else
                high = GRB_MIN(high, taken[i].from);
        }
        taken[n] = grb_passage_widen(m, &w, h->length, low, high);
        kept_passage passage = {.weight = w.weight,
                                .marks = w.to - w.from,
                                .value = value,
                                .from = taken[n].from};
        grebe_status status = passage_keep(h, s, m, taken[n], &passage, err);
        if (status != GREBE_OK) return status;
    }
    return GREBE_OK;
}

/* Writes the kept passages in the order of the text. */
static grebe_status passages_write(highlighter *h, grb_passages *out,
                                   grebe_error *err) {
    if (h->kept_count == 0) return GREBE_OK;
    size_t size = h->kept_count * sizeof *out->items;
    out->items = grb_arena_alloc(h->arena, size);
    if (!out->items) return grb_error_memory(err, size);
    for (uint32_t i = 1; i < h->kept_count; i++) {
        kept_passage moved = h->kept[i];
        uint32_t at = i;
        for (; at > 0; at--) {
            const kept_passage *before = &h->kept[at - 1];
            if (before->value < moved.value ||
                (before->value == moved.value && before->from < moved.from))
                break;
            h->kept[at] = *before;
        }
        h->kept[at] = moved;
    }
    for (uint32_t i = 0; i < h->kept_count; i++)
        out->items[i] = h->kept[i].text;
    out->count = h->kept_count;
    return GREBE_OK;
}

static grebe_status document_highlight(highlighter *h, highlight_scratch *s,
                                       grb_passages *out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t left = GRB_HIGHLIGHT_TEXT_MAX;
    h->kept_count = 0;
    if (h->term_count == 0) return GREBE_OK;
    for (uint32_t i = 0; i < s->document->count && left > 0; i++) {
        const grb_instance *instance = &s->document->instances[i];
        if (instance->field != h->field->id || instance->kind == 0) continue;
        grebe_value value;
        grb_instance_value(s->document, instance, &value);
        uint32_t size = (uint32_t)GRB_MIN(value.as.text.size, left);
        const char *text = value.as.text.bytes;
        while (size > 0 && size < value.as.text.size &&
               ((unsigned char)text[size] & 0xc0) == 0x80)
            size--;
        left = size < value.as.text.size ? 0 : left - size;
        grb_marked marked;
        GRB_TRY(value_mark(h, s, text, size, &marked, err));
        if (marked.count > 0) GRB_TRY(value_passages(h, s, &marked, i, err));
    }
    GRB_TRY(passages_write(h, out, err));
done:
    return status;
}

static grebe_status scratch_init(highlight_scratch *s, grebe_hits *hits,
                                 grb_search_context *c, grebe_error *err) {
    const grebe_allocator *a = hits->owner.allocator;
    memset(s, 0, sizeof *s);
    grb_tokens_init(&s->tokens, a);
    grb_buf_init(&s->passage, a, 0);
    grb_buf_init(&s->marks, a, 0);
    return grebe_document_new(c->snapshot->schema, &s->document, err);
}

static void scratch_deinit(highlight_scratch *s) {
    grb_tokens_deinit(&s->tokens);
    grb_buf_deinit(&s->passage);
    grb_buf_deinit(&s->marks);
    grebe_document_free(s->document);
}

grebe_status grb_highlight_page(grebe_hits *hits, grb_search_context *c,
                                const grb_weight *weight,
                                const grebe_highlight_request *requests,
                                size_t count, grebe_error *err) {
    grebe_status status;
    highlight_scratch scratch;
    if (count == 0 || hits->count == 0) return GREBE_OK;
    GRB_TRY(scratch_init(&scratch, hits, c, err));
    size_t size = (size_t)hits->count * count * sizeof *hits->passages;
    size_t each = count * sizeof(highlighter);
    hits->passages = grb_arena_zero(&hits->arena, size);
    highlighter *all = grb_arena_alloc(c->arena, each);
    if (!hits->passages || !all) {
        status = grb_error_memory(err, size + each);
        goto done;
    }
    hits->highlight_count = count;
    for (size_t i = 0; i < count; i++)
        GRB_TRY(highlighter_init(&all[i], hits, c, weight, &requests[i], err));
    for (uint64_t i = 0; i < hits->count; i++) {
        GRB_TRY(grb_hits_fetch(hits, i, scratch.document, err));
        for (size_t k = 0; k < count; k++)
            GRB_TRY(document_highlight(&all[k], &scratch,
                                       &hits->passages[i * count + k], err));
    }
done:
    scratch_deinit(&scratch);
    return status;
}
