/* rooms: base store doc analysis segment invert memseg snapshot query search collect api */
/* Looking for the best places alone gives the same page as looking at every
 * match: hits, order, scores to the bit, totals. Random trees over random
 * leaves: models with blocks of every size, growing segments, files; with and
 * without deletes. The seed is printed; GREBE_SEED repeats a run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collect/collect.h"
#include "memseg/memseg.h"
#include "model_segment.h"
#include "search/kernel.h"
#include "segment/segfile.h"

enum { BODY, TAG, NUM };
enum {
    LEAVES_MAX = 5,
    FILTERS = 8,
    LAID = 3, /* kind of leaf: a file whose documents lie in another order */
    OFF_ALL = GRB_OFF_PRUNING | GRB_OFF_LISTS | GRB_OFF_COUNTS |
              GRB_OFF_COLUMNS | GRB_OFF_FILTERS
};

static const grebe_allocator *const A = &grb_allocator_malloc;

typedef struct world {
    grebe_schema *schema;
    grb_directory *directory;
    grb_pool *pool;
    grb_list *list;
    grb_snapshot snapshot;
    grb_arena arena;
    grb_search_context context;
    grb_filter_cache *filters;
    uint64_t live, sequence;
    uint64_t decoded; /* blocks, of the last search */
    uint64_t windows; /* likewise */
} world;

static uint64_t state;
static uint32_t pick(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

/* ---- documents ---- */

/* Word w stands in about one of `every[w]` documents. */
static const uint32_t every[] = {1, 2, 2, 3, 4, 8, 20, 60, 300, 1500};

static size_t body_make(char *text) {
    size_t size = 0;
    for (uint32_t n = 1 + pick(2); n; n--)
        for (uint32_t w = 0; w < GRB_COUNT(every); w++) {
            if (pick(every[w])) continue;
            uint32_t tf = 1 + pick(3) + (pick(40) ? 0 : pick(12));
            for (; tf; tf--) size += (size_t)sprintf(text + size, "w%u ", w);
        }
    for (uint32_t n = pick(12) ? pick(20) : pick(200); n; n--)
        size += (size_t)sprintf(text + size, "x ");
    return size;
}

static void document_fill(grebe_document *d, bool bodies) {
    char text[4096];
    grebe_document_clear(d);
    if (bodies && pick(30))
        grebe_document_add_text(d, BODY, text, body_make(text), NULL);
    sprintf(text, "t%u", pick(4));
    grebe_document_add_text(d, TAG, text, 2, NULL);
    grebe_document_add_int(d, NUM, (int64_t)pick(1000), NULL);
}

/* ---- leaves ---- */

static grb_segment *memory_make(world *x, uint32_t docs) {
    grebe_document *d;
    grb_inverted *inv;
    grb_segment *s;
    uint32_t doc;
    assert_int_equal(grb_memseg_new(x->pool, x->schema, &s, NULL), 0);
    assert_int_equal(grebe_document_new(x->schema, &d, NULL), 0);
    assert_int_equal(grb_inverted_new(A, &inv, NULL), 0);
    for (uint32_t i = 0; i < docs; i++) {
        document_fill(d, true);
        assert_int_equal(grb_inverted_build(inv, d, false, NULL), 0);
        assert_int_equal(grb_memseg_append(s, inv, x->sequence++, &doc, NULL),
                         0);
    }
    grb_inverted_free(inv);
    grebe_document_free(d);
    return s;
}

/* A random order of all documents; to be freed. */
static uint32_t *order_make(uint32_t docs) {
    uint32_t *order = malloc((docs + 1) * sizeof *order);
    assert_non_null(order);
    for (uint32_t i = 0; i < docs; i++) {
        uint32_t other = pick(i + 1);
        order[i] = order[other];
        order[other] = i;
    }
    return order;
}

/* The segment as a file; `laid`: with its documents in another order. */
static grb_segment *file_make(world *x, grb_segment *s, uint64_t number,
                              bool laid) {
    uint32_t *order = NULL;
    grb_segfile_options options = {.uuid = "0123456789abcde",
                                   .file_number = number};
    char name[16];
    grb_segment *file;
    grb_source source = {.segment = s};
    grb_segfile_written written;
    sprintf(name, "seg-%u", (unsigned)number);
    grb_memseg_bounds(s, &source.bounds);
    options.schema = x->schema;
    if (laid) {
        order = order_make(source.bounds.max_doc);
        assert_int_equal(grb_reordered_new(A, s, &source.bounds, order,
                                           &source.segment, NULL),
                         0);
    }
    assert_int_equal(grb_segfile_write(x->directory, name, &source, 1,
                                       &options, &written, NULL),
                     0);
    assert_int_equal(grb_segfile_open(x->directory, name, options.uuid, number,
                                      GREBE_VERIFY_TOUCH, &file, NULL),
                     0);
    if (laid) grb_segment_release(source.segment);
    free(order);
    grb_totals_release(source.bounds.totals);
    grb_segment_release(s);
    return file;
}

static grb_segment *model_make(world *x, uint32_t docs) {
    static const uint32_t sizes[] = {8, 64, 128, 256};
    model_segment *m = model_new(A, sizes[pick(4)]);
    model_field(m, BODY, GREBE_TEXT, false);
    model_field(m, TAG, GREBE_KEYWORD, true);
    model_field(m, NUM, GREBE_INT, false);
    m->impacts = pick(3) > 0;
    for (uint32_t i = 0; i < docs; i++) {
        char text[4096], *at = text;
        size_t size = body_make(text);
        text[size] = 0;
        model_doc(m, x->sequence++);
        for (uint32_t place = 0; *at; place++) {
            size_t word = strcspn(at, " ");
            model_token(m, BODY, at, word, place);
            at += word + 1;
        }
        sprintf(text, "t%u", pick(4));
        model_keyword(m, TAG, text, 2, true, true);
        model_number(m, NUM, (int64_t)pick(1000));
    }
    return &m->segment;
}

static void leaf_make(world *x, uint32_t i, uint32_t kind, uint32_t docs) {
    grb_leaf *leaf = &x->list->leaves[i];
    if (kind == 0) {
        leaf->segment = model_make(x, docs);
        model_bounds((model_segment *)leaf->segment, &leaf->bounds);
        return;
    }
    leaf->segment = memory_make(x, docs);
    if (kind == 1) {
        grb_memseg_bounds(leaf->segment, &leaf->bounds);
    } else {
        leaf->segment = file_make(x, leaf->segment, i + 1, kind == LAID);
        grb_segfile_bounds(leaf->segment, &leaf->bounds);
    }
}

/* Kills about one document of `one_of`, 0: gives a view alone. */
static void leaf_kill(world *x, grb_leaf *leaf, uint32_t one_of) {
    leaf->view = grb_view_new(A, 0, NULL);
    assert_non_null(leaf->view);
    for (uint32_t d = 0; one_of && d < leaf->bounds.max_doc; d++) {
        if (pick(one_of)) continue;
        assert_true(grb_view_reserve(leaf->view, d));
        grb_view_kill(leaf->view, d, 1);
        x->live--;
    }
}

static void field_add(world *x, const char *name, grebe_kind kind,
                      uint32_t flags, const char *analyzer) {
    grebe_field field = {name, kind, flags, analyzer, NULL};
    assert_int_equal(grebe_schema_add(x->schema, &field, NULL), 0);
}

static void world_open(world *x, uint32_t leaves) {
    memset(x, 0, sizeof *x);
    assert_int_equal(grebe_schema_new(&x->schema, NULL), 0);
    field_add(x, "body", GREBE_TEXT, GREBE_INDEXED, "whitespace");
    field_add(x, "tag", GREBE_KEYWORD, GREBE_INDEXED | GREBE_COLUMN, NULL);
    field_add(x, "num", GREBE_INT, GREBE_INDEXED | GREBE_COLUMN, NULL);
    assert_int_equal(grb_directory_open_ram(A, &x->directory, NULL), 0);
    assert_int_equal(grb_pool_new(A, &x->pool, NULL), 0);
    grb_arena_init(&x->arena, A, 0);
    x->filters = grb_filter_cache_new(A, 1u << 16);
    assert_non_null(x->filters);
    x->list = calloc(1, sizeof *x->list + leaves * sizeof(grb_leaf));
    assert_non_null(x->list);
    x->list->count = leaves;
    x->snapshot.list = x->list;
    x->snapshot.schema = x->schema;
    x->snapshot.epoch = 1;
}

static void world_close(world *x) {
    for (uint32_t i = 0; i < x->list->count; i++) {
        grb_leaf *leaf = &x->list->leaves[i];
        grb_view_release(leaf->view);
        grb_totals_release(leaf->bounds.totals);
        grb_segment_release(leaf->segment);
    }
    grb_filter_cache_release(x->filters);
    free(x->list);
    grb_arena_deinit(&x->arena);
    grb_pool_release(x->pool);
    grb_directory_close(x->directory);
    grebe_schema_release(x->schema);
}

static void world_make(world *x) {
    static const uint32_t rates[] = {0, 0, 2, 3, 50, 5000};
    uint32_t leaves = 1 + pick(LEAVES_MAX);
    world_open(x, leaves);
    for (uint32_t i = 0; i < leaves; i++) {
        leaf_make(x, i, pick(4), pick(8) ? 1 + pick(3000) : 4000 + pick(9000));
        x->live += x->list->leaves[i].bounds.max_doc;
        if (pick(2))
            leaf_kill(x, &x->list->leaves[i], rates[pick(GRB_COUNT(rates))]);
    }
}

/* ---- queries ---- */

static grebe_query *word_query(void) {
    char text[8];
    grebe_value v = {.kind = GREBE_TEXT};
    grebe_query *q = NULL;
    bool tag = pick(6) == 0;
    v.as.text.bytes = text;
    v.as.text.size = (size_t)sprintf(text, "%c%u", tag ? 't' : 'w',
                                     pick(tag ? 5 : GRB_COUNT(every) + 1));
    grebe_query_term(tag ? "tag" : "body", &v, &q, NULL);
    return q;
}

static grebe_query *range_query(void) {
    grebe_value a = {.kind = GREBE_INT}, b = {.kind = GREBE_INT};
    grebe_range range = {&a, &b, 0, 0};
    grebe_query *q = NULL;
    a.as.integer = (int64_t)pick(1000);
    b.as.integer = a.as.integer + (int64_t)pick(500);
    grebe_query_range("num", &range, &q, NULL);
    return q;
}

static grebe_query *leaf_query(void) {
    char text[32];
    grebe_query *q = NULL;
    int size = sprintf(text, "w%u w%u", pick(6), pick(6));
    switch (pick(12)) {
    case 0:
        grebe_query_phrase("body", text, (size_t)size, pick(3), &q, NULL);
        break;
    case 1:
        q = range_query();
        break;
    case 2:
        if (pick(3))
            grebe_query_prefix("body", "w", 1, &q, NULL);
        else
            grebe_query_all(&q, NULL);
        break;
    default:
        q = word_query();
    }
    return q;
}

static grebe_query *tree(uint32_t depth);

static grebe_query *list_query(uint32_t depth, bool dismax) {
    /* Pure lists come up as often as mixed ones. */
    static const grebe_occur mixes[][4] = {
        {GREBE_SHOULD, GREBE_SHOULD, GREBE_SHOULD, GREBE_SHOULD},
        {GREBE_MUST, GREBE_MUST, GREBE_MUST, GREBE_MUST},
        {GREBE_MUST, GREBE_SHOULD, GREBE_SHOULD, GREBE_SHOULD},
        {GREBE_MUST, GREBE_SHOULD, GREBE_MUST_NOT, GREBE_FILTER},
        {GREBE_SHOULD, GREBE_SHOULD, GREBE_SHOULD, GREBE_MUST_NOT}};
    static const float ties[] = {0.0f, 0.25f, 1.0f};
    const grebe_occur *mix = mixes[pick(GRB_COUNT(mixes))];
    grebe_clause clauses[8];
    grebe_query *items[8], *q = NULL;
    uint32_t n = 1 + pick(6), should = 0;
    for (uint32_t i = 0; i < n; i++) {
        items[i] = tree(depth - 1);
        clauses[i] = (grebe_clause){.occur = mix[pick(4)], .query = items[i]};
        should += clauses[i].occur == GREBE_SHOULD;
    }
    if (dismax)
        grebe_query_dismax(items, n, ties[pick(3)], &q, NULL);
    else
        grebe_query_bool(clauses, n, pick(4) ? 0 : pick(should + 1), &q, NULL);
    assert_non_null(q);
    for (uint32_t i = 0; i < n; i++) grebe_query_release(items[i]);
    return q;
}

static grebe_query *tree(uint32_t depth) {
    static const float factors[] = {0.0f, 1e-6f, 0.5f, 1.0f, 3.0f, 1e5f};
    grebe_query *q, *inner;
    uint32_t what = depth ? pick(10) : 9;
    if (what < 5) return list_query(depth, false);
    if (what == 5) return list_query(depth, true);
    if (what > 7) return leaf_query();
    inner = tree(depth - 1);
    if (what == 6)
        grebe_query_boost(inner, factors[pick(6)], &q, NULL);
    else
        grebe_query_constant(inner, factors[pick(6)], &q, NULL);
    grebe_query_release(inner);
    return q;
}

/* ---- pages ---- */

enum { FACETS = 2, FACET_VALUES = 10 };

typedef struct page {
    size_t count;
    uint64_t total;
    bool more;
    grb_place places[200];
    uint64_t facets[FACETS][FACET_VALUES]; /* counts, rising values */
    uint64_t missing[FACETS];
} page;

typedef struct wish {
    grebe_query *query, *filter; /* filter NULL: none */
    uint64_t keep, total_max;
    size_t facets;
    const grb_after *after; /* NULL: the first page */
} wish;

static const grebe_facet_request facet_requests[FACETS] = {
    {.field = "tag", .sort = GREBE_FACET_BY_VALUE, .missing = 1},
    {.field = "num", .limit = FACET_VALUES, .sort = GREBE_FACET_BY_VALUE}};

static void facets_read(world *x, grb_collector *c, size_t count, page *out) {
    memset(out->facets, 0, sizeof out->facets);
    memset(out->missing, 0, sizeof out->missing);
    for (size_t i = 0; i < count; i++) {
        grb_facet_result r;
        assert_int_equal(grb_facet_finish(c->facets[i], &x->arena, &r, NULL),
                         0);
        assert_true(r.count <= FACET_VALUES);
        for (size_t k = 0; k < r.count; k++)
            out->facets[i][k] = r.values[k].count;
        out->missing[i] = r.missing;
    }
}

static void page_make(world *x, const wish *w, uint32_t off, page *out) {
    grb_sort_plan plan;
    grb_collector collector;
    grb_search_context *c = &x->context;
    grb_weight *main, *filter = NULL;
    grb_arena_reset(&x->arena);
    memset(c, 0, sizeof *c);
    c->snapshot = &x->snapshot;
    c->schema = x->schema;
    c->arena = &x->arena;
    c->off = off;
    c->filters = x->filters;
    assert_int_equal(grb_sort_parse(x->schema, NULL, &plan, NULL), 0);
    assert_int_equal(grb_weight_new(c, w->query, w->keep > 0, &main, NULL), 0);
    if (w->filter)
        assert_int_equal(grb_weight_new(c, w->filter, false, &filter, NULL),
                         0);
    grb_collect_request r = {.plan = &plan,
                             .keep = w->keep,
                             .total_max = w->total_max,
                             .after = w->after,
                             .facets = facet_requests,
                             .facet_count = w->facets};
    const grb_weight *filters[] = {filter};
    assert_int_equal(grb_collector_init(&collector, c, A, &r, NULL), 0);
    assert_int_equal(
        grb_collector_run(&collector, main, filters, w->filter != NULL, NULL),
        0);
    assert_int_equal(grb_collector_finish(&collector, NULL), 0);
    out->count = grb_collector_count(&collector);
    assert_true(out->count <= GRB_COUNT(out->places));
    for (size_t i = 0; i < out->count; i++)
        grb_collector_place(&collector, i, &out->places[i]);
    out->total = collector.total;
    if (w->total_max != GREBE_TOTAL_EXACT)
        out->total = GRB_MIN(out->total, w->total_max + 1);
    out->more = grb_collector_more(&collector);
    facets_read(x, &collector, w->facets, out);
    grb_collector_deinit(&collector);
    grb_search_context_end(c);
    x->decoded = c->blocks_decoded;
    x->windows = c->windows;
}

static void page_fail(const wish *w, uint32_t off, uint64_t from,
                      const char *what) {
    static char text[4096];
    grebe_query_text(w->query, text, sizeof text);
    fail_msg("off %u: %s differs, query %s, keep %u, seed %llu", off, what,
             text, (unsigned)w->keep, (unsigned long long)from);
}

static void pages_compare(const wish *w, uint32_t off, const page *a,
                          const page *b, uint64_t from) {
    if (a->total != b->total) page_fail(w, off, from, "the total");
    if (a->count != b->count) page_fail(w, off, from, "the number of hits");
    if (a->more != b->more) page_fail(w, off, from, "what is left");
    for (size_t i = 0; i < a->count; i++) {
        if (a->places[i].leaf != b->places[i].leaf ||
            a->places[i].doc != b->places[i].doc)
            page_fail(w, off, from, "a hit");
        if (memcmp(&a->places[i].score, &b->places[i].score, 4) != 0)
            page_fail(w, off, from, "a score");
    }
    if (memcmp(a->facets, b->facets, sizeof a->facets) != 0)
        page_fail(w, off, from, "a facet");
    if (memcmp(a->missing, b->missing, sizeof a->missing) != 0)
        page_fail(w, off, from, "what a facet misses");
}

/* Equal scores stand in the order of insertion, and a page begins as a longer
 * one does, whose last place leaves out others. */
static void ties_check(world *x, const wish *w, const page *p, uint64_t from) {
    uint64_t before = 0;
    page longer;
    wish more = *w;
    more.keep = GRB_MIN(GRB_COUNT(longer.places), x->live);
    page_make(x, &more, OFF_ALL, &longer);
    for (size_t i = 0; i < p->count; i++) {
        grb_segment *s = x->list->leaves[p->places[i].leaf].segment;
        uint64_t sequence = s->ops->sequence(s, p->places[i].doc);
        if (i && p->places[i].score == p->places[i - 1].score &&
            sequence <= before)
            page_fail(w, OFF_ALL, from, "a tie");
        if (p->places[i].leaf != longer.places[i].leaf ||
            p->places[i].doc != longer.places[i].doc)
            page_fail(w, OFF_ALL, from, "a longer page");
        before = sequence;
    }
}

static void ways_check(world *x, const wish *w, page *all, uint64_t from) {
    static const uint32_t ways[] = {0,
                                    GRB_OFF_COSTS,
                                    GRB_OFF_COSTS | GRB_OFF_LISTS,
                                    GRB_OFF_COSTS | GRB_OFF_COUNTS,
                                    GRB_OFF_COSTS | GRB_OFF_FILTERS,
                                    GRB_OFF_COSTS | GRB_OFF_PRUNING,
                                    GRB_OFF_PRUNING};
    page best;
    page_make(x, w, OFF_ALL, all);
    ties_check(x, w, all, from);
    for (size_t i = 0; i < GRB_COUNT(ways); i++) {
        page_make(x, w, ways[i], &best);
        pages_compare(w, ways[i], all, &best, from);
    }
}

/* The cursor of a page's last place. */
static grb_after page_end(const world *x, const page *p) {
    const grb_place *last = &p->places[p->count - 1];
    grb_segment *s = x->list->leaves[last->leaf].segment;
    grb_after after = {.sequence = s->ops->sequence(s, last->doc)};
    int32_t bits;
    memcpy(&bits, &last->score, 4);
    after.cells[0] =
        (grb_sort_cell){.word = ~(int64_t)bits, .state = GRB_CELL_VALUE};
    return after;
}

/* A page and the next ones, each behind the cursor of the one before. */
static void wish_check(world *x, const wish *first, uint64_t from) {
    page all;
    wish w = *first;
    grb_after after;
    ways_check(x, &w, &all, from);
    for (uint32_t pages = pick(4); pages && all.more && all.count; pages--) {
        after = page_end(x, &all);
        w.after = &after;
        ways_check(x, &w, &all, from);
    }
}

static void pruned_pages_are_those_of_all_matches(void **unused) {
    static const uint64_t keeps[] = {1, 2, 10, 16, 17, 100, 0};
    static const uint64_t bounds[] = {GREBE_TOTAL_EXACT, GREBE_TOTAL_EXACT, 1,
                                      50, 5000};
    const char *seed = getenv("GREBE_SEED");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : 20260101;
    uint32_t rounds =
        getenv("GREBE_ROUNDS") ? (uint32_t)atoi(getenv("GREBE_ROUNDS")) : 12;
    uint64_t hits = 0;
    printf("seed %llu\n", (unsigned long long)first);
    for (uint32_t round = 0; round < rounds; round++) {
        grebe_query *filters[FILTERS]; /* met again and again */
        grb_filter_counts counts;
        world x;
        state = first + round;
        world_make(&x);
        for (uint32_t i = 0; i < FILTERS; i++)
            filters[i] = i % 2 ? leaf_query() : tree(2);
        for (uint32_t n = 0; n < 80; n++) {
            wish w = {.query = n % 4 == 0   ? word_query()
                               : n % 4 == 1 ? list_query(1, false)
                                            : tree(2),
                      .filter = pick(2) ? NULL : filters[pick(FILTERS)],
                      .keep = keeps[pick(GRB_COUNT(keeps))],
                      .total_max = bounds[pick(GRB_COUNT(bounds))],
                      .facets = pick(3) ? 0 : FACETS};
            w.keep = GRB_MIN(w.keep, x.live);
            wish_check(&x, &w, first + round);
            grebe_query_release(w.query);
        }
        for (uint32_t i = 0; i < FILTERS; i++) grebe_query_release(filters[i]);
        grb_filter_cache_counts(x.filters, &counts);
        hits += counts.hits;
        assert_true(counts.bytes <= 1u << 16);
        world_close(&x);
    }
    printf("filters found kept: %llu\n", (unsigned long long)hits);
    assert_true(hits > 1000);
}

/* ---- what is saved ---- */

static grebe_query *text_query(const world *x, const char *text, float boost) {
    grebe_query *q = NULL;
    grebe_query_field body = {.name = "body", .boost = boost};
    grebe_parse_options options = {.fields = &body, .field_count = 1};
    assert_int_equal(
        grebe_query_parse(x->schema, text, strlen(text), &options, &q, NULL),
        0);
    return q;
}

static const char *const list_texts[] = {"+w7 w2", "+w7 -w4", "+w7 +w4",
                                         "+w7 w2 w4 -w3", "+w6 +w5 w4"};

/* Where all scores are zero, nothing is above the first ones. With scores, the
 * first two texts leave little to look up; of two frequent clauses about as
 * much is looked up as without a floor. In another order equal scores have to
 * be compared. */
static void lists_compare(world *x, uint32_t kind, size_t text, float boost) {
    wish w = {.keep = 10, .total_max = 10};
    page all, best;
    w.query = text_query(x, list_texts[text], boost);
    page_make(x, &w, OFF_ALL & ~GRB_OFF_LISTS, &all);
    uint64_t decoded = x->decoded;
    page_make(x, &w, 0, &best);
    pages_compare(&w, 0, &all, &best, 11);
    printf("%s: %u of %u blocks\n", list_texts[text], (unsigned)x->decoded,
           (unsigned)decoded);
    uint64_t pruned = x->decoded;
    ties_check(x, &w, &all, 11);
    if (boost == 0 && kind != LAID) assert_true(pruned * 2 < decoded);
    if (boost > 0 && text < 2) assert_true(pruned * 3 < decoded * 2);
    grebe_query_release(w.query);
}

/* A rare required term leads; what it cannot bring above the floor with the
 * help of the others is looked up in no other block. */
static void lists_look_up_what_may_come_above_the_floor(void **unused) {
    world x;
    state = 11;
    for (uint32_t kind = 1; kind <= LAID; kind++) {
        world_open(&x, 1);
        leaf_make(&x, 0, kind, 100000);
        x.live = 100000;
        for (size_t i = 0; i < GRB_COUNT(list_texts); i++) {
            lists_compare(&x, kind, i, 0.0f);
            lists_compare(&x, kind, i, 1.0f);
        }
        world_close(&x);
    }
}

/* Once the others together stay below the floor, the rare term's blocks are
 * lists: fewer windows are looked at, and no more blocks. */
static void one_term_leads_a_disjunction(void **unused) {
    static const char *const texts[] = {"w8 w7",    "w7 w5",       "w8 w0",
                                        "w8 w7 w6", "w9 w8 w3 w0", "w6 w5 w2",
                                        "w8 w8 w7"};
    static const uint64_t keeps[] = {1, 10, 100};
    uint64_t windows = 0, fewer = 0;
    world x;
    state = 12;
    for (uint32_t kind = 1; kind <= LAID; kind++) {
        world_open(&x, 1);
        leaf_make(&x, 0, kind, 100000);
        x.live = 100000;
        for (size_t i = 0; i < GRB_COUNT(texts) * GRB_COUNT(keeps); i++) {
            wish w = {.keep = keeps[i % GRB_COUNT(keeps)], .total_max = 1};
            page all, some, best;
            w.query = text_query(&x, texts[i / GRB_COUNT(keeps)], 1.0f);
            page_make(&x, &w, OFF_ALL, &all);
            page_make(&x, &w, GRB_OFF_LISTS, &some);
            windows += x.windows;
            page_make(&x, &w, 0, &best);
            fewer += x.windows;
            pages_compare(&w, GRB_OFF_LISTS, &all, &some, 12);
            pages_compare(&w, 0, &all, &best, 12);
            ties_check(&x, &w, &all, 12);
            grebe_query_release(w.query);
        }
        world_close(&x);
    }
    printf("disjunctions: %u of %u windows\n", (unsigned)fewer,
           (unsigned)windows);
    assert_true(fewer * 4 < windows * 3);
}

static void a_search_for_few_decodes_few_blocks(void **unused) {
    grebe_value v = {.kind = GREBE_TEXT};
    wish w = {.keep = 10, .total_max = GREBE_TOTAL_EXACT};
    page all, best;
    world x;
    state = 7;
    for (uint32_t kind = 1; kind <= LAID; kind++) {
        world_open(&x, 1);
        leaf_make(&x, 0, kind, 100000);
        x.live = 100000;
        v.as.text.bytes = "w0";
        v.as.text.size = 2;
        assert_int_equal(grebe_query_term("body", &v, &w.query, NULL), 0);
        page_make(&x, &w, OFF_ALL, &all);
        uint64_t decoded = x.decoded;
        page_make(&x, &w, 0, &best);
        pages_compare(&w, 0, &all, &best, 7);
        assert_true(decoded > 200);
        printf("one term: %u of %u blocks\n", (unsigned)x.decoded,
               (unsigned)decoded);
        assert_true(x.decoded * 5 < decoded);
        /* So does the page behind it. */
        grb_after after = page_end(&x, &best);
        w.after = &after;
        page_make(&x, &w, OFF_ALL, &all);
        page_make(&x, &w, 0, &best);
        pages_compare(&w, 0, &all, &best, 7);
        assert_true(x.decoded * 3 < decoded);
        w.after = NULL;
        /* A total from statistics decodes nothing at all. */
        w.keep = 0;
        page_make(&x, &w, 0, &best);
        assert_int_equal(x.decoded, 0);
        assert_int_equal(best.total, all.total);
        w.keep = 10;
        grebe_query_release(w.query);
        world_close(&x);
    }
}

/* Document i has "a", "b" or "c" as its number tells. */
static uint64_t numbered_fill(grb_segment *s, const world *x, uint32_t docs) {
    grebe_document *d;
    grb_inverted *inv;
    uint32_t doc;
    uint64_t some = 0;
    assert_int_equal(grebe_document_new(x->schema, &d, NULL), 0);
    assert_int_equal(grb_inverted_new(A, &inv, NULL), 0);
    for (uint32_t i = 0; i < docs; i++) {
        char text[8] = "";
        if (i % 3 == 0) strcat(text, "a ");
        if (i % 70 == 0) strcat(text, "b ");
        if (i > docs - 100) strcat(text, "c ");
        some += text[0] != 0;
        grebe_document_clear(d);
        grebe_document_add_text(d, BODY, text, strlen(text), NULL);
        assert_int_equal(grb_inverted_build(inv, d, false, NULL), 0);
        assert_int_equal(grb_memseg_append(s, inv, i, &doc, NULL), 0);
    }
    grb_inverted_free(inv);
    grebe_document_free(d);
    return some;
}

/* More documents than are counted at once, in memory and in a file. */
static void disjunctions_are_counted_by_bits(void **unused) {
    static const uint64_t bounds[] = {GREBE_TOTAL_EXACT, 3, 1500, 80000};
    enum { DOCS = 270000 };
    page out;
    world x;
    for (uint32_t file = 0; file < 2; file++) {
        world_open(&x, 1);
        grb_leaf *leaf = &x.list->leaves[0];
        assert_int_equal(
            grb_memseg_new(x.pool, x.schema, &leaf->segment, NULL), 0);
        uint64_t some = numbered_fill(leaf->segment, &x, DOCS);
        if (file) {
            leaf->segment = file_make(&x, leaf->segment, 1, false);
            grb_segfile_bounds(leaf->segment, &leaf->bounds);
        } else {
            grb_memseg_bounds(leaf->segment, &leaf->bounds);
        }
        for (size_t i = 0; i < GRB_COUNT(bounds); i++) {
            uint64_t most = bounds[i] + 1;
            if (bounds[i] == GREBE_TOTAL_EXACT) most = UINT64_MAX;
            wish w = {.query = text_query(&x, "a b c", 1.0f),
                      .total_max = bounds[i]};
            page_make(&x, &w, 0, &out);
            assert_int_equal(out.total, GRB_MIN(some, most));
            /* A count that may end early decodes no more than it needs. */
            if (bounds[i] == 3) assert_true(x.decoded <= 3 * 16);
            grebe_query_release(w.query);
            /* What only scores is not looked at. */
            w.query = text_query(&x, "+a b", 1.0f);
            page_make(&x, &w, 0, &out);
            assert_int_equal(x.decoded, 0);
            assert_int_equal(out.total, GRB_MIN(DOCS / 3u, most));
            grebe_query_release(w.query);
        }
        leaf_kill(&x, leaf, 4);
        wish w = {.query = text_query(&x, "a b c", 1.0f),
                  .total_max = GREBE_TOTAL_EXACT};
        page all;
        page_make(&x, &w, OFF_ALL, &all);
        page_make(&x, &w, 0, &out);
        assert_int_equal(out.total, all.total);
        assert_true(out.total < some);
        grebe_query_release(w.query);
        world_close(&x);
    }
}

/* ---- kernels ---- */

/* What `above` has to give, by the plainest loop. */
static uint32_t above_expect(const uint32_t *docs, const float *x,
                             uint32_t count, float least, uint32_t *to,
                             float *kept) {
    uint32_t n = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!(x[i] > least)) continue;
        to[n] = docs[i];
        kept[n++] = x[i];
    }
    return n;
}

static void count_compare(const grb_search_kernels *k, const uint64_t *words) {
    uint64_t total = 0;
    for (uint32_t i = 0; i <= 64; i++) {
        assert_true(k->count(words, i) == total);
        for (uint32_t b = 0; i < 64 && b < 64; b++) total += words[i] >> b & 1;
    }
}

/* Which of a list stand in a block, against looking at each place. */
static void meet_compare(const grb_search_kernels *k) {
    uint32_t block[272], list[256] = {0}, found[257], places[257], listed = 0;
    uint32_t rise = pick(3) ? 0 : 0x7ffffff0u, one_of = 1 + pick(7), met = 0;
    for (uint32_t i = 0; i < 256; i++)
        block[i] = rise += 1 + pick(pick(4) ? 4 : 40);
    for (uint32_t i = 256; i < 272; i++) block[i] = rise;
    for (uint32_t d = block[0] - 1; d <= rise && listed < 256; d++)
        if (pick(one_of) == 0) list[listed++] = d;
    uint32_t from = pick(listed + 1);
    uint32_t n = k->meet(block, list, from, listed, found, places);
    for (uint32_t i = from, place = 0; i < listed; i++) {
        while (block[place] < list[i]) place++;
        if (block[place] != list[i]) continue;
        assert_true(met < n);
        assert_int_equal(found[met], i);
        assert_int_equal(places[met++], place);
    }
    assert_int_equal(met, n);
}

static void kernel_compare(const grb_search_kernels *k) {
    uint32_t docs[256], to[2][256], count = pick(257);
    float x[256], kept[2][256], scores[256];
    double sums[64];
    uint64_t above = 0;
    for (uint32_t i = 0; i < 256; i++) {
        docs[i] = i * 3;
        x[i] = pick(9) ? (float)pick(1000) / 37.0f : 0.0f;
        scores[i] = x[i];
        sums[i % 64] = (double)pick(50) / 7;
    }
    float least = pick(4) ? x[pick(256)] : -1.0f;
    double cut = pick(4) ? sums[pick(64)] : -1.0;
    for (uint32_t i = 0; i < 64; i++) above |= (uint64_t)(sums[i] > cut) << i;
    assert_true(k->sums(sums, cut) == above);
    count_compare(k, (const uint64_t *)(const void *)sums);
    uint32_t n = above_expect(docs, x, count, least, to[0], kept[0]);
    assert_int_equal(k->above(docs, x, count, least, to[1], kept[1]), n);
    assert_memory_equal(to[0], to[1], n * 4);
    assert_memory_equal(kept[0], kept[1], n * 4);
    k->score(scores, count, 2.7f);
    for (uint32_t i = 0; i < 256; i++) {
        float wanted = i < count ? 2.7f - 2.7f / (1.0f + x[i]) : x[i];
        assert_memory_equal(&scores[i], &wanted, 4);
    }
    /* In place. */
    assert_int_equal(k->above(docs, x, count, least, docs, x), n);
    assert_memory_equal(docs, to[0], n * 4);
    assert_memory_equal(x, kept[0], n * 4);
}

static void all_kernels_give_the_same_bits(void **unused) {
    state = 3;
    for (uint32_t n = 0; grb_search_kernels_of(n); n++) {
        printf("kernels: %s\n", grb_search_kernels_of(n)->name);
        for (uint32_t round = 0; round < 2000; round++)
            kernel_compare(grb_search_kernels_of(n));
        for (uint32_t round = 0; round < 500; round++)
            meet_compare(grb_search_kernels_of(n));
    }
    assert_string_equal(grb_search_kernels_of(0)->name, "plain");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pruned_pages_are_those_of_all_matches),
        cmocka_unit_test(a_search_for_few_decodes_few_blocks),
        cmocka_unit_test(one_term_leads_a_disjunction),
        cmocka_unit_test(lists_look_up_what_may_come_above_the_floor),
        cmocka_unit_test(disjunctions_are_counted_by_bits),
        cmocka_unit_test(all_kernels_give_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
