/* commit/order.c - the order in which a merge lays documents.
 *
 * By a column, or so that documents with the same terms stand together. The
 * latter needs the terms by document: those that tell documents apart, neither
 * in almost none of them nor in very many.
 *
 * Invariant: the same segment and wish give the same order. Equal ones, and
 * those of one key, keep the order of insertion.
 * Threads: under the writer's mutex.
 * Owns: while it runs, 4 bytes a posting of those terms and some 30 bytes a
 *   document, at most the memory allowed.
 */
#include "commit/order.h"

#include <stdlib.h>

#include "merge/bisect.h"

/* Terms are looked at if they are in at least DF_MIN documents, and one in
 * DF_RARE of them, and in at most one in DF_OFTEN. */
#define DF_MIN 2u
#define DF_RARE 8192u
#define DF_OFTEN 10u

typedef struct ordering {
    const grebe_allocator *a;
    const grebe_schema *schema;
    grb_segment *segment;
    const grb_bounds *bounds;
    const grb_merge_order *wanted;
    uint32_t *order;
    grb_arena arena; /* cursors */
    grebe_error *err;
} ordering;

/* ---- the wish ---- */

static grebe_status field_refuse(const char *name, const char *why,
                                 grebe_error *err) {
    grb_error(err, GREBE_SCHEMA, "merge: field \"%.*s\" %s",
              GREBE_FIELD_NAME_MAX, name, why);
    grb_error_field(err, name);
    return GREBE_SCHEMA;
}

static grebe_status order_field(const grebe_schema *schema, const char *name,
                                grb_merge_order *out, grebe_error *err) {
    out->field = grb_schema_find(schema, name, strlen(name));
    if (out->field == GREBE_NO_FIELD)
        return field_refuse(name, "is not in the schema", err);
    const grb_field *field = &schema->fields[out->field];
    if (!(field->flags & GREBE_COLUMN))
        return field_refuse(name, "has no column", err);
    if (field->flags & GREBE_MANY)
        return field_refuse(name, "may have several values", err);
    return GREBE_OK;
}

grebe_status grb_merge_order_parse(const grebe_schema *schema,
                                   const char *text, uint64_t memory_max,
                                   grb_merge_order *out, grebe_error *err) {
    memset(out, 0, sizeof *out);
    out->memory_max = memory_max ? memory_max : GRB_ORDER_MEMORY_DEFAULT;
    if (out->memory_max < GRB_ORDER_MEMORY_MIN)
        return grb_error(err, GREBE_ARGUMENT,
                         "merge: a memory limit of %llu bytes, the least is "
                         "%llu",
                         (unsigned long long)memory_max,
                         (unsigned long long)GRB_ORDER_MEMORY_MIN);
    out->graph = strcmp(text, "graph") == 0;
    if (out->graph) return GREBE_OK;
    out->desc = text[0] == '-';
    text += text[0] == '-' || text[0] == '+';
    if (text[0] == 0)
        return grb_error(err, GREBE_ARGUMENT, "merge: an empty order");
    return order_field(schema, text, out, err);
}

static grebe_status memory_allow(const ordering *o, uint64_t bytes) {
    if (bytes <= o->wanted->memory_max) return GREBE_OK;
    return grb_error(o->err, GREBE_LIMIT,
                     "ordering %u documents needs %llu bytes, the limit is "
                     "%llu",
                     o->bounds->max_doc, (unsigned long long)bytes,
                     (unsigned long long)o->wanted->memory_max);
}

/* ---- by one number a document ---- */

typedef struct rank {
    int64_t word;
    uint32_t place; /* in the order before */
    uint32_t missing;
} rank;

static int rank_order(const void *a, const void *b) {
    const rank *x = a, *y = b;
    if (x->missing != y->missing) return x->missing < y->missing ? -1 : 1;
    if (x->word != y->word) return x->word < y->word ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static grebe_status rank_sequence(ordering *o, grb_column *column,
                                  uint32_t doc, rank *out) {
    (void)column;
    out->word = (int64_t)o->segment->ops->sequence(o->segment, doc);
    return GREBE_OK;
}

static grebe_status rank_column(ordering *o, grb_column *column, uint32_t doc,
                                rank *out) {
    const int64_t *values;
    uint32_t count;
    grebe_status status = column->get(column, doc, &values, &count, o->err);
    if (status != GREBE_OK) return status;
    out->missing = count == 0;
    if (count) out->word = o->wanted->desc ? ~values[0] : values[0];
    return GREBE_OK;
}

/* Sorts the order by what `fill` says of each document; equal ones stay. */
static grebe_status ranks_sort(ordering *o, grb_column *column,
                               grebe_status (*fill)(ordering *o,
                                                    grb_column *column,
                                                    uint32_t doc, rank *out)) {
    grebe_status status = GREBE_OK;
    uint32_t count = o->bounds->max_doc;
    size_t size = ((size_t)count + 1) * sizeof(rank);
    GRB_TRY(memory_allow(o, size + (size_t)count * 8));
    rank *ranks = grb_alloc_zero(o->a, size);
    if (!ranks) return grb_error_memory(o->err, size);
    for (uint32_t i = 0; status == GREBE_OK && i < count; i++) {
        ranks[i].place = i;
        status = fill(o, column, o->order[i], &ranks[i]);
    }
    qsort(ranks, count, sizeof *ranks, rank_order);
    /* The place becomes the document, and then the order. */
    for (uint32_t i = 0; i < count; i++)
        ranks[i].place = o->order[ranks[i].place];
    for (uint32_t i = 0; i < count; i++) o->order[i] = ranks[i].place;
    grb_free(o->a, ranks, size);
done:
    return status;
}

static grebe_status column_sort(ordering *o) {
    grebe_status status;
    grb_column *column;
    GRB_TRY(o->segment->ops->column_open(
        o->segment, o->bounds, o->wanted->field, &o->arena, &column, o->err));
    if (column) status = ranks_sort(o, column, rank_column);
done:
    return status;
}

/* ---- by terms ---- */

typedef struct forward {
    ordering *o;
    uint64_t *starts; /* of each document; while filling, its next place */
    uint32_t *terms;
    uint64_t posting_count;
    uint32_t term_count;
    bool filling;
} forward;

static void forward_add(forward *f, uint32_t doc) {
    if (f->filling)
        f->terms[f->starts[doc]++] = f->term_count;
    else
        f->starts[doc + 1]++;
}

static grebe_status forward_term(forward *f, const grb_term *term,
                                 grb_arena *arena) {
    grebe_status status;
    ordering *o = f->o;
    grb_postings *p;
    grb_arena_reset(arena);
    GRB_TRY(o->segment->ops->postings_open(
        o->segment, o->bounds, term, GRB_POSTINGS_DOCS, arena, &p, o->err));
    for (uint32_t min_doc = 0;; min_doc = p->block.last + 1) {
        GRB_TRY(p->ops->next_block(p, min_doc, o->err));
        const grb_block *b = &p->block;
        if (b->kind == GRB_BLOCK_END) break;
        if (b->kind == GRB_BLOCK_RUN)
            for (uint32_t doc = b->first; doc <= b->last; doc++)
                forward_add(f, doc);
        else if (b->kind == GRB_BLOCK_DOCS)
            for (uint32_t i = 0; i < b->count; i++) forward_add(f, b->docs[i]);
        else
            for (uint32_t i = 0; i < b->word_count; i++)
                for (uint64_t w = b->words[i]; w; w &= w - 1)
                    forward_add(f, b->first + i * 64 + (uint32_t)grb_ctz64(w));
    }
    f->posting_count += term->df;
    f->term_count++;
done:
    return status;
}

static grebe_status forward_field(forward *f, uint32_t field,
                                  grb_arena *arena) {
    grebe_status status;
    ordering *o = f->o;
    uint32_t max_doc = o->bounds->max_doc;
    grb_terms *terms;
    grb_arena_reset(&o->arena);
    GRB_TRY(o->segment->ops->terms_open(o->segment, o->bounds, field,
                                        &o->arena, &terms, o->err));
    GRB_TRY(terms->seek(terms, NULL, 0, o->err));
    for (;;) {
        bool found;
        const uint8_t *bytes;
        uint32_t size;
        grb_term term;
        GRB_TRY(terms->next(terms, &found, &bytes, &size, &term, o->err));
        if (!found) break;
        if (term.df >= GRB_MAX(DF_MIN, max_doc / DF_RARE) &&
            term.df <= GRB_MAX(max_doc / DF_OFTEN, DF_MIN))
            GRB_TRY(forward_term(f, &term, arena));
    }
done:
    return status;
}

/* Counts the terms of each document, or fills them in. */
static grebe_status forward_pass(forward *f) {
    grebe_status status = GREBE_OK;
    const grebe_schema *schema = f->o->schema;
    grb_arena arena;
    grb_arena_init(&arena, f->o->a, 0);
    f->term_count = 0;
    f->posting_count = 0;
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const grb_field *field = &schema->fields[i];
        if (grb_kind_is_text(field->kind) && (field->flags & GREBE_INDEXED) &&
            i != schema->key)
            GRB_TRY(forward_field(f, i, &arena));
    }
done:
    grb_arena_deinit(&arena);
    return status;
}

static grebe_status forward_fill(forward *f, size_t starts_size) {
    uint32_t count = f->o->bounds->max_doc;
    for (uint32_t i = 0; i < count; i++) f->starts[i + 1] += f->starts[i];
    f->filling = true;
    grebe_status status = forward_pass(f);
    /* Each start has become the next one. */
    memmove(f->starts + 1, f->starts, starts_size - sizeof *f->starts);
    f->starts[0] = 0;
    return status;
}

static grebe_status graph_sort(ordering *o) {
    grebe_status status;
    uint32_t count = o->bounds->max_doc;
    size_t starts_size = ((size_t)count + 1) * sizeof(uint64_t);
    size_t terms_size = 0;
    forward f = {.o = o, .starts = grb_alloc_zero(o->a, starts_size)};
    if (!f.starts) return grb_error_memory(o->err, starts_size);
    GRB_TRY(forward_pass(&f));
    terms_size = ((size_t)f.posting_count + 1) * sizeof *f.terms;
    GRB_TRY(memory_allow(o, starts_size + terms_size +
                                grb_bisect_memory(count, f.term_count)));
    f.terms = grb_alloc(o->a, terms_size);
    if (!f.terms) {
        status = grb_error_memory(o->err, terms_size);
        goto done;
    }
    GRB_TRY(forward_fill(&f, starts_size));
    grb_doc_terms d = {.doc_count = count,
                       .term_count = f.term_count,
                       .starts = f.starts,
                       .terms = f.terms};
    status = grb_bisect(o->a, &d, o->order, o->err);
done:
    if (f.terms) grb_free(o->a, f.terms, terms_size);
    grb_free(o->a, f.starts, starts_size);
    return status;
}

/* ---- documents of one key ---- */

typedef struct chains {
    ordering *o;
    uint32_t *places; /* in the order, by document */
    uint64_t *later;  /* a bit: a newer document has its key */
    grb_buf docs;     /* of the chain at hand, from the newest */
    grb_buf at;       /* their places */
} chains;

static int place_falls(const void *a, const void *b) {
    const uint32_t *x = a, *y = b;
    return (*x < *y) - (*x > *y);
}

/* Gives the places of a key's documents to them in order of insertion. */
static grebe_status chain_settle(chains *c, uint32_t newest) {
    grebe_status status;
    ordering *o = c->o;
    grb_buf_clear(&c->docs);
    grb_buf_clear(&c->at);
    for (uint32_t doc = newest; doc != GRB_NO_DOC;) {
        grb_buf_put(&c->docs, &doc, sizeof doc);
        grb_buf_put(&c->at, &c->places[doc], sizeof doc);
        GRB_TRY(o->segment->ops->key_older(o->segment, doc, &doc, o->err));
    }
    if (c->docs.failed || c->at.failed)
        return grb_error_memory(o->err, c->docs.size);
    const uint32_t *docs = (const uint32_t *)(const void *)c->docs.bytes;
    uint32_t *at = (uint32_t *)(void *)c->at.bytes;
    size_t count = c->docs.size / sizeof *docs;
    qsort(at, count, sizeof *at, place_falls);
    for (size_t i = 0; i < count; i++) o->order[at[i]] = docs[i];
done:
    return status;
}

static grebe_status chains_run(chains *c) {
    grebe_status status = GREBE_OK;
    ordering *o = c->o;
    uint32_t count = o->bounds->max_doc;
    for (uint32_t i = 0; i < count; i++) c->places[o->order[i]] = i;
    for (uint32_t doc = count; doc-- > 0;) {
        uint32_t older;
        GRB_TRY(o->segment->ops->key_older(o->segment, doc, &older, o->err));
        if (older == GRB_NO_DOC) continue;
        grb_bit_set(c->later, older);
        if (!grb_bit(c->later, doc)) GRB_TRY(chain_settle(c, doc));
    }
done:
    return status;
}

static grebe_status keys_settle(ordering *o) {
    grebe_status status;
    size_t count = o->bounds->max_doc;
    size_t places = (count + 1) * sizeof(uint32_t);
    size_t later = (count / 64 + 1) * sizeof(uint64_t);
    chains c = {.o = o,
                .places = grb_alloc(o->a, places),
                .later = grb_alloc_zero(o->a, later)};
    grb_buf_init(&c.docs, o->a, 0);
    grb_buf_init(&c.at, o->a, 0);
    status = c.places && c.later ? chains_run(&c)
                                 : grb_error_memory(o->err, places + later);
    if (c.places) grb_free(o->a, c.places, places);
    if (c.later) grb_free(o->a, c.later, later);
    grb_buf_deinit(&c.docs);
    grb_buf_deinit(&c.at);
    return status;
}

grebe_status grb_merge_order_make(const grebe_allocator *a,
                                  const grebe_schema *schema,
                                  grb_segment *segment,
                                  const grb_bounds *bounds,
                                  const grb_merge_order *wanted,
                                  uint32_t **out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    size_t size = ((size_t)bounds->max_doc + 1) * sizeof **out;
    ordering o = {.a = a,
                  .schema = schema,
                  .segment = segment,
                  .bounds = bounds,
                  .wanted = wanted,
                  .order = grb_alloc(a, size),
                  .err = err};
    *out = NULL;
    if (!o.order) return grb_error_memory(err, size);
    grb_arena_init(&o.arena, a, 0);
    for (uint32_t i = 0; i < bounds->max_doc; i++) o.order[i] = i;
    if (segment->scattered) GRB_TRY(ranks_sort(&o, NULL, rank_sequence));
    GRB_TRY(wanted->graph ? graph_sort(&o) : column_sort(&o));
    if (schema->key != GREBE_NO_FIELD) GRB_TRY(keys_settle(&o));
    *out = o.order;
done:
    grb_arena_deinit(&o.arena);
    if (status != GREBE_OK) grb_free(a, o.order, size);
    return status;
}
