/* rooms: base doc analysis snapshot segment collect api search */
/* Counts of values, against brute force. */
#include "collect_fixture.h"

#include "collect/values.h"

/* ---- brute force ---- */

typedef struct want_value {
    grebe_value value;
    uint64_t count;
    const test_doc *last;
} want_value;
typedef struct want_list {
    want_value items[512];
    size_t count;
    uint64_t missing;
    bool by_value;
} want_list;

static int value_order(const grebe_value *a, const grebe_value *b) {
    switch (a->kind) {
    case GREBE_KEYWORD: {
        size_t least = GRB_MIN(a->as.text.size, b->as.text.size);
        int order = memcmp(a->as.text.bytes, b->as.text.bytes, least);
        return order ? order
                     : (a->as.text.size > b->as.text.size) -
                           (a->as.text.size < b->as.text.size);
    }
    case GREBE_DOUBLE:
        return (a->as.number > b->as.number) - (a->as.number < b->as.number);
    case GREBE_BOOL:
        return a->as.boolean - b->as.boolean;
    default:
        return (a->as.integer > b->as.integer) -
               (a->as.integer < b->as.integer);
    }
}

static bool want_by_value;
static int want_order(const void *x, const void *y) {
    const want_value *a = x, *b = y;
    if (!want_by_value && a->count != b->count)
        return a->count > b->count ? -1 : 1;
    return value_order(&a->value, &b->value);
}

static void want_add(want_list *l, const test_doc *d, grebe_value v,
                     const grebe_facet_request *r) {
    if (r->prefix && (v.as.text.size < r->prefix_size ||
                      memcmp(v.as.text.bytes, r->prefix, r->prefix_size)))
        return;
    size_t i = 0;
    while (i < l->count && value_order(&l->items[i].value, &v) != 0) i++;
    if (i == l->count) l->items[l->count++] = (want_value){.value = v};
    if (l->items[i].last == d) return;
    l->items[i].last = d;
    l->items[i].count++;
}

static grebe_value text_value(const char *text) {
    grebe_value v = {.kind = GREBE_KEYWORD};
    v.as.text.bytes = text;
    v.as.text.size = strlen(text);
    return v;
}

static uint32_t want_doc(want_list *l, const test_doc *d,
                         const grebe_facet_request *r) {
    uint32_t values = 0;
    grebe_value v = {.kind = GREBE_INT};
    if (!strcmp(r->field, "tags"))
        for (; values < d->tag_count; values++)
            want_add(l, d, text_value(d->tags[values]), r);
    else if (!strcmp(r->field, "cat") && d->cat[0] != '-')
        want_add(l, d, text_value(d->cat), r), values++;
    else if (!strcmp(r->field, "nums"))
        for (; values < d->num_count; values++) {
            v.as.integer = d->nums[values];
            want_add(l, d, v, r);
        }
    else if (!strcmp(r->field, "year") && d->has_year) {
        v.as.integer = d->year;
        want_add(l, d, v, r), values++;
    } else if (!strcmp(r->field, "price") && d->has_price) {
        v.kind = GREBE_DOUBLE;
        v.as.number = d->price;
        want_add(l, d, v, r), values++;
    } else if (!strcmp(r->field, "flag")) {
        v.kind = GREBE_BOOL;
        v.as.boolean = (int)d->flag;
        want_add(l, d, v, r), values++;
    }
    return values;
}

static void want_fill(const fixture *f, const grebe_facet_request *r,
                      want_list *l) {
    memset(l, 0, sizeof *l);
    for (uint32_t i = 0; i < f->doc_count; i++)
        if (f->docs[i].matches && want_doc(l, &f->docs[i], r) == 0)
            l->missing++;
    size_t kept = 0;
    for (size_t i = 0; i < l->count; i++)
        if (l->items[i].count >= r->mincount) l->items[kept++] = l->items[i];
    l->count = kept;
    want_by_value = r->sort == GREBE_FACET_BY_VALUE;
    qsort(l->items, l->count, sizeof *l->items, want_order);
}

static grebe_facet_request request_random(fixture *f) {
    static const char *names[] = {"tags", "cat",   "year",
                                  "nums", "price", "flag"};
    static const uint64_t limits[] = {1, 3, 10, GREBE_LIMIT_ALL};
    grebe_facet_request r = {.field = names[pick(f, 6)],
                             .limit = limits[pick(f, 4)],
                             .offset = pick(f, 3) ? 0 : pick(f, 6),
                             .mincount = 1 + pick(f, 3),
                             .sort = pick(f, 2),
                             .missing = (int)pick(f, 2)};
    if ((r.field[0] == 't' || r.field[0] == 'c') && pick(f, 3) == 0) {
        r.prefix = r.field[0] == 't' ? "t1" : "c2";
        r.prefix_size = 2;
    }
    return r;
}

static void facet_check(fixture *f, const grebe_facet_request *r,
                        const grb_facet_result *got) {
    static want_list want;
    want_fill(f, r, &want);
    size_t from = GRB_MIN(r->offset, want.count);
    size_t count = GRB_MIN(want.count - from, r->limit);
    assert_int_equal(got->count, count);
    for (size_t i = 0; i < count; i++) {
        const grb_facet_value *v = &got->values[i];
        assert_int_equal(v->value.kind, want.items[from + i].value.kind);
        assert_int_equal(value_order(&v->value, &want.items[from + i].value),
                         0);
        assert_int_equal(v->count, want.items[from + i].count);
    }
    assert_int_equal(got->missing, r->missing ? want.missing : 0);
}

static void facets_run(fixture *f, grebe_facet_request *requests,
                       size_t count) {
    grb_sort_plan plan;
    grb_collector c;
    grb_arena out;
    grb_sort_parse(f->schema, "_order", &plan, NULL);
    grb_collect_request r = {.plan = &plan,
                             .keep = 1,
                             .total_max = 1,
                             .facets = requests,
                             .facet_count = count};
    grb_arena_reset(&f->arena);
    grb_arena_init(&out, &grb_allocator_malloc, 0);
    assert_int_equal(
        grb_collector_init(&c, &f->context, &grb_allocator_malloc, &r, NULL),
        GREBE_OK);
    assert_int_equal(fixture_run(f, &c, false, NULL), GREBE_OK);
    for (size_t i = 0; i < count; i++) {
        grb_facet_result result;
        assert_int_equal(grb_facet_finish(c.facets[i], &out, &result, NULL),
                         GREBE_OK);
        facet_check(f, &requests[i], &result);
    }
    grb_collector_deinit(&c);
    grb_arena_deinit(&out);
}

static void facets_over_any_layout_equal_brute_force(void **state) {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fixture f;
        fixture_open(&f, seed, seed % 9 == 0 ? 9000 : 4 + seed * 13,
                     1 + seed % LEAVES_MAX);
        for (int n = 0; n < 10; n++) {
            grebe_facet_request r[3];
            for (int i = 0; i < 3; i++) r[i] = request_random(&f);
            facets_run(&f, r, 3);
        }
        fixture_close(&f);
    }
}

static void all_documents_count_as_well_as_few(void **state) {
    for (int share = 0; share < 2; share++) {
        fixture f;
        fixture_open(&f, 77, 9000, 2);
        for (uint32_t i = 0; i < f.doc_count; i++)
            f.docs[i].matches = share || i % 4001 == 5;
        grebe_facet_request r[] = {
            {.field = "flag", .mincount = 1, .limit = 10},
            {.field = "cat", .mincount = 1, .limit = 10, .missing = 1},
            {.field = "tags", .mincount = 1, .limit = GREBE_LIMIT_ALL}};
        facets_run(&f, r, 3);
        fixture_close(&f);
    }
}

static void a_leaf_without_values_leaves_the_counts_alone(void **state) {
    fixture f;
    fixture_open(&f, 3, 600, 4);
    /* A search that begins in the middle sees leaves without any match. */
    for (uint32_t i = 0; i < f.doc_count; i++)
        if (f.docs[i].leaf != 1) f.docs[i].matches = false;
    grebe_facet_request r = {.field = "cat", .mincount = 1, .limit = 5};
    facets_run(&f, &r, 1);
    fixture_close(&f);
}

static void bad_facets_are_refused(void **state) {
    fixture f;
    grb_facet *facet;
    grebe_error err;
    fixture_open(&f, 1, 10, 1);
    grebe_facet_request r = {.field = "tagz"};
    const grebe_allocator *a = &grb_allocator_malloc;
    assert_int_equal(grb_facet_new(&f.context, a, &r, &facet, &err),
                     GREBE_SCHEMA);
    assert_non_null(strstr(err.message, "\"tags\""));
    r.field = "body";
    assert_int_equal(grb_facet_new(&f.context, a, &r, &facet, &err),
                     GREBE_SCHEMA);
    r.field = NULL;
    assert_int_equal(grb_facet_new(&f.context, a, &r, &facet, &err),
                     GREBE_ARGUMENT);
    r = (grebe_facet_request){
        .field = "year", .prefix = "1", .prefix_size = 1};
    assert_int_equal(grb_facet_new(&f.context, a, &r, &facet, &err),
                     GREBE_ARGUMENT);
    fixture_close(&f);
}

static void more_values_than_the_limit_is_an_error(void **state) {
    grb_values v;
    grebe_error err;
    grb_values_init(&v, &grb_allocator_malloc);
    for (int64_t i = 0; i < GRB_FACET_VALUES_MAX; i++)
        if (!grb_values_number(&v, i * 7, &err)) fail();
    assert_non_null(grb_values_number(&v, 7, &err));
    assert_null(grb_values_number(&v, 3, &err));
    assert_int_equal(err.status, GREBE_LIMIT);
    grb_values_deinit(&v);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(facets_over_any_layout_equal_brute_force),
        cmocka_unit_test(all_documents_count_as_well_as_few),
        cmocka_unit_test(a_leaf_without_values_leaves_the_counts_alone),
        cmocka_unit_test(bad_facets_are_refused),
        cmocka_unit_test(more_values_than_the_limit_is_an_error)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
