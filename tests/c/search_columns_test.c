/* rooms: base store doc analysis segment invert memseg snapshot query search collect api */
/* Columns looked at in part - zones, packed values, single values, their order
 * - answer as whole windows do: ranges, sorts with and without a cursor,
 * facets, over random columns of every encoding, with and without deletes. The
 * seed is printed; GREBE_SEED repeats a run. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "collect/collect.h"
#include "memseg/memseg.h"
#include "segment/column_kernel.h"
#include "segment/segfile.h"

enum { BODY, NUM, TIES, PRICE, CAT, NUMS, TAGS, FIELDS };
enum { LEAVES_MAX = 4, KEEP_MAX = 60, VALUES_MAX = 400 };

static const grebe_field fields[FIELDS] = {
    {"body", GREBE_TEXT, GREBE_INDEXED, "whitespace", NULL},
    {"num", GREBE_INT, GREBE_INDEXED | GREBE_COLUMN, NULL, NULL},
    {"ties", GREBE_INT, GREBE_INDEXED | GREBE_COLUMN, NULL, NULL},
    {"price", GREBE_DOUBLE, GREBE_INDEXED | GREBE_COLUMN, NULL, NULL},
    {"cat", GREBE_KEYWORD, GREBE_INDEXED | GREBE_COLUMN, NULL, NULL},
    {"nums", GREBE_INT, GREBE_INDEXED | GREBE_COLUMN | GREBE_MANY, NULL, NULL},
    {"tags", GREBE_KEYWORD, GREBE_INDEXED | GREBE_COLUMN | GREBE_MANY, NULL,
     NULL}};

static const grebe_allocator *const A = &grb_allocator_malloc;

typedef struct world {
    grebe_schema *schema;
    grb_directory *directory;
    grb_pool *pool;
    grb_list *list;
    grb_snapshot snapshot;
    grb_arena arena;
    grb_search_context context;
    uint64_t live;
    uint32_t shape; /* of the numbers */
    uint32_t rare;  /* one document of so many has no value; 0: all have */
} world;

static uint64_t state;
static uint32_t pick(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}
static uint64_t pick64(void) {
    return (uint64_t)pick(1u << 31) << 33 ^ (uint64_t)pick(1u << 31) << 15 ^
           pick(1u << 15);
}

/* ---- documents ---- */

static int64_t number_make(const world *x, uint32_t i) {
    switch (x->shape) {
    case 0:
        return (int64_t)pick64();
    case 1:
        return (int64_t)i * 1000 + pick(1500);
    case 2:
        return 7;
    case 3:
        return (int64_t)pick(86400);
    case 4:
        return (int64_t)(pick(4) ? i * 7 : pick(1u << 30)) - 5000;
    default:
        return pick(20)  ? (int64_t)pick(200) - 100
               : pick(2) ? INT64_MAX
                         : INT64_MIN;
    }
}

static double price_make(void) {
    static const double edges[] = {INFINITY, -INFINITY, 0.0, -0.0, 1e308};
    return pick(30) ? (double)pick(5000) / 16 - 100 : edges[pick(5)];
}

static void document_fill(const world *x, grebe_document *d, uint32_t i) {
    char text[64];
    int size = sprintf(text, "w0%s%s%s", pick(2) ? " w1" : "",
                       pick(20) ? "" : " w2", pick(300) ? "" : " w3");
    grebe_document_clear(d);
    grebe_document_add_text(d, BODY, text, (size_t)size, NULL);
    if (!x->rare || pick(x->rare))
        grebe_document_add_int(d, NUM, number_make(x, i), NULL);
    grebe_document_add_int(d, TIES, (int64_t)pick(4), NULL);
    if (!x->rare || pick(x->rare))
        grebe_document_add_double(d, PRICE, price_make(), NULL);
    if (!x->rare || pick(x->rare)) {
        size = sprintf(text, "c%u", pick(pick(2) ? 5 : 3000));
        grebe_document_add_text(d, CAT, text, (size_t)size, NULL);
    }
    for (uint32_t n = pick(4); n; n--) {
        grebe_document_add_int(d, NUMS, (int64_t)pick(30) - 9, NULL);
        size = sprintf(text, "t%u", pick(40));
        grebe_document_add_text(d, TAGS, text, (size_t)size, NULL);
    }
}

/* ---- leaves ---- */

static void file_make(world *x, grb_leaf *leaf, uint64_t number) {
    grb_segfile_options options = {.uuid = "0123456789abcde",
                                   .file_number = number};
    char name[16];
    grb_source source = {.segment = leaf->segment, .bounds = leaf->bounds};
    grb_segfile_written written;
    sprintf(name, "seg-%u", (unsigned)number);
    options.schema = x->schema;
    assert_int_equal(grb_segfile_write(x->directory, name, &source, 1,
                                       &options, &written, NULL),
                     0);
    grb_totals_release(leaf->bounds.totals);
    grb_segment_release(leaf->segment);
    assert_int_equal(grb_segfile_open(x->directory, name, options.uuid, number,
                                      GREBE_VERIFY_TOUCH, &leaf->segment,
                                      NULL),
                     0);
    grb_segfile_bounds(leaf->segment, &leaf->bounds);
}

static void leaf_make(world *x, uint32_t i, bool file, uint32_t docs) {
    grb_leaf *leaf = &x->list->leaves[i];
    grebe_document *d;
    grb_inverted *inv;
    uint32_t doc;
    assert_int_equal(grb_memseg_new(x->pool, x->schema, &leaf->segment, NULL),
                     0);
    assert_int_equal(grebe_document_new(x->schema, &d, NULL), 0);
    assert_int_equal(grb_inverted_new(A, &inv, NULL), 0);
    for (uint32_t n = 0; n < docs; n++) {
        document_fill(x, d, n);
        assert_int_equal(grb_inverted_build(inv, d, false, NULL), 0);
        assert_int_equal(grb_memseg_append(leaf->segment, inv,
                                           (uint64_t)i << 32 | n, &doc, NULL),
                         0);
    }
    grb_inverted_free(inv);
    grebe_document_free(d);
    grb_memseg_bounds(leaf->segment, &leaf->bounds);
    if (file) file_make(x, leaf, i + 1);
    x->live += docs;
}

static void leaf_kill(world *x, grb_leaf *leaf, uint32_t one_of) {
    leaf->view = grb_view_new(A, 0, NULL);
    assert_non_null(leaf->view);
    for (uint32_t d = 0; d < leaf->bounds.max_doc; d++) {
        if (pick(one_of)) continue;
        assert_true(grb_view_reserve(leaf->view, d));
        grb_view_kill(leaf->view, d, 1);
        x->live--;
    }
}

static void world_open(world *x, uint32_t leaves) {
    memset(x, 0, sizeof *x);
    assert_int_equal(grebe_schema_new(&x->schema, NULL), 0);
    for (uint32_t i = 0; i < FIELDS; i++)
        assert_int_equal(grebe_schema_add(x->schema, &fields[i], NULL), 0);
    assert_int_equal(grb_directory_open_ram(A, &x->directory, NULL), 0);
    assert_int_equal(grb_pool_new(A, &x->pool, NULL), 0);
    grb_arena_init(&x->arena, A, 0);
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
    free(x->list);
    grb_arena_deinit(&x->arena);
    grb_pool_release(x->pool);
    grb_directory_close(x->directory);
    grebe_schema_release(x->schema);
}

static void world_make(world *x) {
    static const uint32_t rares[] = {0, 0, 2, 5, 40};
    uint32_t leaves = 1 + pick(LEAVES_MAX);
    world_open(x, leaves);
    x->shape = pick(6);
    x->rare = rares[pick(5)];
    for (uint32_t i = 0; i < leaves; i++) {
        leaf_make(x, i, pick(4) > 0,
                  pick(3) == 0   ? 1 + pick(300)
                  : pick(8) == 0 ? 60000 + pick(30000)
                                 : 1 + pick(25000));
        if (pick(3) == 0) leaf_kill(x, &x->list->leaves[i], pick(2) ? 3 : 200);
    }
}

static void context_make(world *x, uint32_t off) {
    grb_arena_reset(&x->arena);
    memset(&x->context, 0, sizeof x->context);
    x->context.snapshot = &x->snapshot;
    x->context.schema = x->schema;
    x->context.arena = &x->arena;
    x->context.off = off;
}

/* ---- queries ---- */

static grebe_query *range_query(world *x) {
    grebe_value a = {.kind = GREBE_INT}, b = {.kind = GREBE_INT};
    grebe_range range = {&a, &b, pick(2), pick(2)};
    uint32_t field = pick(4) ? NUM : pick(2) ? TIES : NUMS;
    grebe_query *q = NULL;
    a.as.integer = number_make(x, pick(9000));
    b.as.integer = pick(2) ? number_make(x, pick(9000))
                           : (int64_t)((uint64_t)a.as.integer + pick(500));
    if (field != NUM) a.as.integer = (int64_t)pick(12) - 8;
    if (field != NUM) b.as.integer = (int64_t)pick(9) - 3;
    if (pick(4) == 0) range.lower = NULL;
    if (range.lower && pick(4) == 0) range.upper = NULL;
    if (pick(8))
        assert_int_equal(
            grebe_query_range(fields[field].name, &range, &q, NULL), 0);
    else
        assert_int_equal(
            grebe_query_exists(fields[1 + pick(6)].name, &q, NULL), 0);
    return q;
}

static grebe_query *leaf_query(world *x) {
    grebe_query *q = NULL;
    grebe_value v = {.kind = GREBE_TEXT};
    char text[8];
    if (pick(3) == 0) return range_query(x);
    if (pick(6) == 0) {
        bool cat = pick(2);
        int size = sprintf(text, cat ? "c%u" : "w", pick(30));
        assert_int_equal(grebe_query_prefix(cat ? "cat" : "body", text,
                                            (size_t)size, &q, NULL),
                         0);
        return q;
    }
    v.as.text.bytes = text;
    v.as.text.size = (size_t)sprintf(text, "w%u", pick(5));
    assert_int_equal(grebe_query_term("body", &v, &q, NULL), 0);
    return q;
}

static grebe_query *query_make(world *x) {
    grebe_query *q = NULL;
    if (pick(8) == 0) return NULL; /* all documents */
    if (pick(2)) return leaf_query(x);
    grebe_query *a = leaf_query(x), *b = leaf_query(x);
    grebe_clause clauses[] = {
        {.occur = pick(2) ? GREBE_MUST : GREBE_SHOULD, .query = a},
        {.occur = pick(3) ? GREBE_FILTER : GREBE_MUST_NOT, .query = b}};
    assert_int_equal(grebe_query_bool(clauses, 2, 0, &q, NULL), 0);
    grebe_query_release(a);
    grebe_query_release(b);
    return q;
}

/* ---- pages ---- */

typedef struct page {
    size_t count;
    uint64_t total;
    bool more;
    grb_place places[KEEP_MAX];
    grb_after after; /* behind the last place */
    uint8_t bytes[GRB_SORT_KEYS_MAX][64];
    grb_facet_result facets[2];
    grb_arena arena; /* of the facets */
} page;

typedef struct wish {
    const char *sort; /* NULL: by score */
    grebe_query *query, *filter;
    const grb_after *after;
    uint64_t keep, total_max;
    grebe_facet_request facets[2];
    size_t facet_count;
} wish;

static void after_make(world *x, const grb_collector *c,
                       const grb_sort_plan *plan, page *out) {
    const grb_place *last = &out->places[out->count - 1];
    grb_segment *s = x->list->leaves[last->leaf].segment;
    grb_collector_cells(c, out->count - 1, out->after.cells);
    out->after.sequence = s->ops->sequence(s, last->doc);
    for (uint32_t k = 0; k < plan->count; k++) {
        grb_sort_cell *cell = &out->after.cells[k];
        if (!cell->bytes || !plan->keys[k].keyword) continue;
        memcpy(out->bytes[k], cell->bytes, cell->size);
        cell->bytes = out->bytes[k];
    }
}

static void page_make(world *x, const wish *w, uint32_t off, page *out) {
    grb_sort_plan plan;
    grb_collector collector;
    grb_weight *main = NULL, *filter = NULL;
    context_make(x, off);
    memset(out, 0, sizeof *out);
    grb_arena_init(&out->arena, A, 0);
    assert_int_equal(grb_sort_parse(x->schema, w->sort, &plan, NULL), 0);
    if (w->query)
        assert_int_equal(
            grb_weight_new(&x->context, w->query, w->keep > 0, &main, NULL),
            0);
    if (w->filter)
        assert_int_equal(
            grb_weight_new(&x->context, w->filter, false, &filter, NULL), 0);
    grb_collect_request r = {.plan = &plan,
                             .after = w->after,
                             .keep = w->keep,
                             .total_max = w->total_max,
                             .total_known = !w->query && !w->filter,
                             .constant = !w->query,
                             .facets = w->facets,
                             .facet_count = w->facet_count};
    const grb_weight *filters[] = {filter};
    assert_int_equal(grb_collector_init(&collector, &x->context, A, &r, NULL),
                     0);
    assert_int_equal(
        grb_collector_run(&collector, main, filters, w->filter != NULL, NULL),
        0);
    assert_int_equal(grb_collector_finish(&collector, NULL), 0);
    out->count = grb_collector_count(&collector);
    for (size_t i = 0; i < out->count; i++)
        grb_collector_place(&collector, i, &out->places[i]);
    out->total = r.total_known ? x->live : collector.total;
    if (w->total_max != GREBE_TOTAL_EXACT)
        out->total = GRB_MIN(out->total, w->total_max + 1);
    out->more = grb_collector_more(&collector);
    if (out->count && !w->after) after_make(x, &collector, &plan, out);
    for (size_t i = 0; i < w->facet_count; i++)
        assert_int_equal(grb_facet_finish(collector.facets[i], &out->arena,
                                          &out->facets[i], NULL),
                         0);
    grb_collector_deinit(&collector);
}

static void wish_fail(const wish *w, uint32_t off, uint64_t seed,
                      const char *what) {
    static char text[4096] = "all";
    if (w->query) grebe_query_text(w->query, text, sizeof text);
    fail_msg("off %u: %s differs, query %s, sort %s%s, keep %u, seed %llu",
             off, what, text, w->sort ? w->sort : "score",
             w->after ? " after" : "", (unsigned)w->keep,
             (unsigned long long)seed);
}

static bool facets_same(const grb_facet_result *a, const grb_facet_result *b) {
    if (a->count != b->count || a->missing != b->missing) return false;
    for (uint64_t i = 0; i < a->count; i++) {
        const grebe_value *x = &a->values[i].value, *y = &b->values[i].value;
        if (a->values[i].count != b->values[i].count || x->kind != y->kind)
            return false;
        if (x->kind != GREBE_KEYWORD
                ? x->as.integer != y->as.integer
                : x->as.text.size != y->as.text.size ||
                      memcmp(x->as.text.bytes, y->as.text.bytes,
                             x->as.text.size) != 0)
            return false;
    }
    return true;
}

static void pages_compare(const wish *w, uint32_t off, const page *a,
                          const page *b, uint64_t seed) {
    if (a->total != b->total) wish_fail(w, off, seed, "the total");
    if (a->count != b->count) wish_fail(w, off, seed, "the number of hits");
    if (a->more != b->more) wish_fail(w, off, seed, "what is left");
    for (size_t i = 0; i < a->count; i++) {
        const grb_place *x = &a->places[i], *y = &b->places[i];
        if (x->leaf != y->leaf || x->doc != y->doc)
            wish_fail(w, off, seed, "a hit");
        if (memcmp(&x->score, &y->score, 4) != 0)
            wish_fail(w, off, seed, "a score");
    }
    for (size_t i = 0; i < w->facet_count; i++)
        if (!facets_same(&a->facets[i], &b->facets[i]))
            wish_fail(w, off, seed, "a facet");
}

static void ways_check(world *x, const wish *w, page *all, uint64_t seed) {
    static const uint32_t ways[] = {0, GRB_OFF_COSTS, GRB_OFF_COUNTS,
                                    GRB_OFF_PRUNING};
    page part;
    page_make(x, w, UINT32_MAX, all);
    for (size_t i = 0; i < GRB_COUNT(ways); i++) {
        page_make(x, w, ways[i], &part);
        pages_compare(w, ways[i], all, &part, seed);
        grb_arena_deinit(&part.arena);
    }
    grb_arena_deinit(&all->arena);
}

/* A page, and the one behind its last hit. */
static void wish_check(world *x, const wish *w, uint64_t seed) {
    static page first, second;
    wish next = *w;
    ways_check(x, w, &first, seed);
    if (first.count == 0) return;
    next.after = &first.after;
    ways_check(x, &next, &second, seed);
}

static void sort_make(char *text) {
    static const char *const names[] = {"num", "num",  "ties", "price",
                                        "cat", "nums", "tags", "_order",
                                        "cat", "price"};
    uint32_t count = 1 + pick(3), used = 0;
    *text = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = pick(GRB_COUNT(names));
        bool twice = false;
        for (uint32_t n = 0; n < GRB_COUNT(names); n++)
            twice |= (used >> n & 1) && !strcmp(names[n], names[at]);
        if (twice) continue;
        used |= 1u << at;
        text += sprintf(
            text, "%s%s%s%s", i ? ", " : "", names[at], pick(2) ? " desc" : "",
            names[at][0] != '_' && pick(3) == 0 ? " missing first" : "");
    }
}

static void facets_make(wish *w) {
    static const uint64_t limits[] = {1, 3, 10, GREBE_LIMIT_ALL};
    w->facet_count = pick(3) ? 0 : 1 + pick(2);
    for (size_t i = 0; i < w->facet_count; i++)
        w->facets[i] = (grebe_facet_request){
            .field = fields[1 + pick(6)].name,
            .limit = limits[pick(4)],
            .offset = pick(3) ? 0 : pick(20),
            .mincount = pick(3),
            .sort = pick(3) ? GREBE_FACET_BY_COUNT : GREBE_FACET_BY_VALUE,
            .missing = (int)pick(2)};
}

static void parts_answer_as_whole_windows(void **unused) {
    static const uint64_t keeps[] = {1, 2, 10, 10, 50, 0};
    static const uint64_t bounds[] = {GREBE_TOTAL_EXACT, GREBE_TOTAL_EXACT, 1,
                                      50, 5000};
    const char *seed = getenv("GREBE_SEED");
    uint64_t first = seed ? strtoull(seed, NULL, 10) : 20260202;
    uint32_t rounds =
        getenv("GREBE_ROUNDS") ? (uint32_t)atoi(getenv("GREBE_ROUNDS")) : 25;
    printf("seed %llu\n", (unsigned long long)first);
    for (uint32_t round = 0; round < rounds; round++) {
        world x;
        state = first + round;
        world_make(&x);
        for (uint32_t n = 0; n < 60; n++) {
            char sort[200];
            wish w = {.keep = keeps[pick(GRB_COUNT(keeps))],
                      .total_max = bounds[pick(GRB_COUNT(bounds))]};
            sort_make(sort);
            w.sort = pick(5) ? sort : NULL;
            w.query = query_make(&x);
            w.filter = pick(4) ? NULL : leaf_query(&x);
            facets_make(&w);
            w.keep = GRB_MIN(w.keep, x.live);
            wish_check(&x, &w, first + round);
            grebe_query_release(w.query);
            grebe_query_release(w.filter);
        }
        world_close(&x);
    }
}

/* ---- what is saved ---- */

static uint64_t pages_decoded(world *x) {
    return atomic_load(&x->list->leaves[0].segment->column_pages);
}

/* Pages that a search decodes in whole. */
static uint64_t search_decodes(world *x, const wish *w) {
    uint64_t before = pages_decoded(x);
    page p;
    page_make(x, w, 0, &p);
    grb_arena_deinit(&p.arena);
    return pages_decoded(x) - before;
}

static grebe_query *num_between(int64_t lower, int64_t upper) {
    grebe_value a = {.kind = GREBE_INT}, b = {.kind = GREBE_INT};
    grebe_range range = {&a, &b, 0, 0};
    grebe_query *q = NULL;
    a.as.integer = lower;
    b.as.integer = upper;
    assert_int_equal(grebe_query_range("num", &range, &q, NULL), 0);
    return q;
}

/* A file of one leaf, its numbers of a shape. */
static void world_file(world *x, uint32_t shape, uint32_t docs) {
    state = 11;
    world_open(x, 1);
    x->shape = shape;
    leaf_make(x, 0, true, docs);
}

static void rising_numbers_are_found_by_their_extremes(void **unused) {
    wish w = {.sort = "num desc", .keep = 10, .total_max = 10};
    world x;
    world_file(&x, 1, 81920);
    /* 20 pages: those behind the first that fills the page, and no more. */
    assert_true(search_decodes(&x, &w) <= 20);
    w.sort = "num";
    assert_true(search_decodes(&x, &w) <= 2);
    w.sort = NULL;
    w.keep = 0;
    w.total_max = GREBE_TOTAL_EXACT;
    w.query = num_between(2000000, 60000000);
    assert_true(search_decodes(&x, &w) <= 2);
    grebe_query_release(w.query);
    world_close(&x);
}

static void ranges_are_counted_by_the_order_of_values(void **unused) {
    wish w = {.total_max = GREBE_TOTAL_EXACT};
    page all, part;
    world x;
    world_file(&x, 3, 80000);
    grb_segment *s = x.list->leaves[0].segment;
    grb_segfile_census census = {0};
    assert_int_equal(grb_segfile_check(s, &census, NULL), 0);
    for (int64_t from = -10; from < 86500; from += 7001) {
        w.query = num_between(from, from + 9000);
        page_make(&x, &w, UINT32_MAX, &all);
        uint64_t before = pages_decoded(&x);
        page_make(&x, &w, 0, &part);
        assert_int_equal(part.total, all.total);
        /* As a filter of few, too. */
        grebe_query_release(w.query);
        w.filter = num_between(from, from + 3000);
        w.query = NULL;
        page_make(&x, &w, 0, &part);
        assert_int_equal(pages_decoded(&x), before);
        page_make(&x, &w, UINT32_MAX, &all);
        assert_int_equal(part.total, all.total);
        grebe_query_release(w.filter);
        w.filter = NULL;
    }
    world_close(&x);
}

static void few_matches_decode_no_page(void **unused) {
    grebe_value v = {.kind = GREBE_TEXT};
    wish w = {.sort = "price desc, cat", .keep = 10};
    world x;
    world_file(&x, 3, 40000);
    v.as.text.bytes = "w3";
    v.as.text.size = 2;
    assert_int_equal(grebe_query_term("body", &v, &w.query, NULL), 0);
    w.facets[0].field = "cat";
    w.facet_count = 1;
    assert_int_equal(search_decodes(&x, &w), 0);
    w.filter = num_between(100, 5000);
    assert_int_equal(search_decodes(&x, &w), 0);
    grebe_query_release(w.query);
    grebe_query_release(w.filter);
    world_close(&x);
}

/* ---- kernels ---- */

static void vectors_unpack_and_compare_as_scalar_loops(void **unused) {
    const grb_column_kernels *v = grb_column_kernels_avx2();
    const grb_column_kernels *s = &grb_column_kernels_scalar;
    static const uint32_t widths[] = {0,  1,  2,  3,  4,  5,  6,
                                      7,  8,  9,  10, 11, 12, 13,
                                      14, 15, 16, 20, 24, 28, 32};
    if (!v) {
        printf("this machine has no AVX2\n");
        skip();
    }
    state = 3;
    for (uint32_t round = 0; round < 3000; round++) {
        static uint64_t in[600];
        uint32_t width = widths[round % GRB_COUNT(widths)], to[2][600];
        uint32_t count = 1 + pick(round % 3 ? 600 : 20);
        uint64_t bits[2][10] = {0};
        size_t size = (size_t)grb_bits_size(count, width);
        uint8_t *bytes = calloc(1, size); /* nothing behind it */
        for (uint32_t i = 0; i < count; i++)
            in[i] = width == 32 ? (uint32_t)pick64()
                                : pick64() & (((uint64_t)1 << width) - 1);
        grb_bits_pack(in, count, width, bytes);
        uint32_t most = s->unpack(bytes, count, width, to[0]);
        assert_int_equal(v->unpack(bytes, count, width, to[1]), most);
        assert_memory_equal(to[0], to[1], count * 4);
        for (uint32_t i = 0; i < count; i++) assert_int_equal(to[0][i], in[i]);
        uint32_t lower = to[0][pick(count)];
        uint32_t span = (uint32_t)pick64() >> pick(32);
        v->within(to[0], count, lower, span, bits[1]);
        s->within(to[0], count, lower, span, bits[0]);
        assert_memory_equal(bits[0], bits[1], sizeof bits[0]);
        free(bytes);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_answer_as_whole_windows),
        cmocka_unit_test(rising_numbers_are_found_by_their_extremes),
        cmocka_unit_test(ranges_are_counted_by_the_order_of_values),
        cmocka_unit_test(few_matches_decode_no_page),
        cmocka_unit_test(vectors_unpack_and_compare_as_scalar_loops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
