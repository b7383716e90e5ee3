/* rooms: base doc analysis snapshot segment collect api search */
/* Orders, their texts and cursors, against brute force. */
#include "collect_fixture.h"

/* ---- brute force: the value of each key, compared one by one ---- */

typedef struct want_key {
    char name[12];
    bool desc, missing_first;
} want_key;
static const fixture *want_fixture;
static want_key want_keys[8];
static uint32_t want_count;

static int cell_order(double a, double b) {
    return (a > b) - (a < b);
}

/* -2: missing; otherwise the place of the wanted value */
static int many_best(const test_doc *d, const want_key *k, bool tags) {
    int best = -2;
    uint32_t count = tags ? d->tag_count : d->num_count;
    for (uint32_t i = 0; i < count; i++) {
        int order = 0;
        if (best >= 0)
            order =
                tags ? strcmp(d->tags[i], d->tags[best])
                     : cell_order((double)d->nums[i], (double)d->nums[best]);
        if (best < 0 || (k->desc ? order > 0 : order < 0)) best = (int)i;
    }
    return best;
}

static bool key_missing(const test_doc *d, const want_key *k) {
    if (!strcmp(k->name, "tags")) return d->tag_count == 0;
    if (!strcmp(k->name, "nums")) return d->num_count == 0;
    if (!strcmp(k->name, "cat")) return d->cat[0] == '-';
    if (!strcmp(k->name, "year")) return !d->has_year;
    if (!strcmp(k->name, "price")) return !d->has_price;
    return false;
}

static int key_order(const test_doc *a, const test_doc *b, const want_key *k) {
    if (!strcmp(k->name, "tags"))
        return strcmp(a->tags[many_best(a, k, true)],
                      b->tags[many_best(b, k, true)]);
    if (!strcmp(k->name, "nums"))
        return cell_order((double)a->nums[many_best(a, k, false)],
                          (double)b->nums[many_best(b, k, false)]);
    if (!strcmp(k->name, "cat")) return strcmp(a->cat, b->cat);
    if (!strcmp(k->name, "year"))
        return (a->year > b->year) - (a->year < b->year);
    if (!strcmp(k->name, "price")) return cell_order(a->price, b->price);
    if (!strcmp(k->name, "flag"))
        return (a->flag > b->flag) - (a->flag < b->flag);
    if (!strcmp(k->name, "score"))
        return (a->score > b->score) - (a->score < b->score);
    return (a > b) - (a < b); /* _order */
}

static int want_order(const void *x, const void *y) {
    const test_doc *a = &want_fixture->docs[*(const uint32_t *)x];
    const test_doc *b = &want_fixture->docs[*(const uint32_t *)y];
    for (uint32_t i = 0; i < want_count; i++) {
        const want_key *k = &want_keys[i];
        bool am = key_missing(a, k), bm = key_missing(b, k);
        if (am != bm) return am == k->missing_first ? -1 : 1;
        if (am) continue;
        int order = key_order(a, b, k);
        if (order != 0) return k->desc ? -order : order;
    }
    return (a > b) - (a < b);
}

/* A random order as text, and as keys for brute force. */
static void order_random(fixture *f, char *text, size_t size) {
    static const char *names[] = {"tags",  "cat",  "year",  "nums",
                                  "price", "flag", "score", "_order"};
    want_count = 1 + pick(f, 3);
    text[0] = 0;
    for (uint32_t i = 0; i < want_count; i++) {
        want_key *k = &want_keys[i];
        uint32_t name = pick(f, GRB_COUNT(names)), how = pick(f, 3);
        strcpy(k->name, names[name]);
        k->desc = how == 2 || (how == 0 && name == 6);
        k->missing_first = name < 6 && pick(f, 2);
        size_t at = strlen(text);
        snprintf(text + at, size - at, "%s%s%s%s", i ? " , " : "", k->name,
                 how == 0   ? ""
                 : how == 1 ? " asc"
                            : "  desc",
                 k->missing_first         ? " missing first"
                 : name < 6 && pick(f, 2) ? " missing last"
                                          : "");
    }
}

static uint32_t *order_wanted(const fixture *f, uint32_t *count) {
    uint32_t *all = calloc(f->doc_count + 1, sizeof *all);
    *count = 0;
    for (uint32_t i = 0; i < f->doc_count; i++)
        if (f->docs[i].matches) all[(*count)++] = i;
    want_fixture = f;
    qsort(all, *count, sizeof *all, want_order);
    return all;
}

static uint32_t place_doc(const fixture *f, const grb_place *p) {
    uint32_t per_leaf = f->doc_count / f->leaf_count + 1;
    return p->leaf * per_leaf + p->doc;
}

/* One page; its cursor goes into `cursor` (empty at the end). */
static uint32_t page_check(fixture *f, const grb_sort_plan *plan,
                           const uint32_t *want, uint32_t left, uint64_t keep,
                           grb_buf *cursor) {
    grb_collector c;
    grb_after after;
    grebe_error err;
    grb_collect_request r = {.plan = plan, .keep = keep};
    grb_arena_reset(&f->arena);
    if (cursor->size > 0) {
        assert_int_equal(grb_after_parse(plan, (const char *)cursor->bytes,
                                         &f->arena, &after, &err),
                         GREBE_OK);
        r.after = &after;
    }
    assert_int_equal(
        grb_collector_init(&c, &f->context, &grb_allocator_malloc, &r, &err),
        GREBE_OK);
    assert_int_equal(fixture_run(f, &c, plan->scored, &err), GREBE_OK);
    assert_int_equal(grb_collector_finish(&c, &err), GREBE_OK);
    uint32_t count = (uint32_t)grb_collector_count(&c);
    assert_int_equal(count, GRB_MIN(keep, left));
    for (uint32_t i = 0; i < count; i++) {
        grb_place p;
        grb_collector_place(&c, i, &p);
        assert_int_equal(place_doc(f, &p), want[i]);
        if (plan->scored) assert_true(p.score == f->docs[want[i]].score);
        if (!plan->scored) assert_true(p.score != p.score);
    }
    assert_int_equal(c.total, fixture_matches(f));
    assert_int_equal(grb_collector_more(&c), count < left);
    grb_buf_clear(cursor);
    if (grb_collector_more(&c)) {
        grb_sort_cell cells[GRB_SORT_KEYS_MAX];
        grb_collector_cells(&c, count - 1, cells);
        size_t room = grb_after_size(cells, plan->count);
        assert_true(grb_buf_reserve(cursor, room));
        cursor->size = room;
        grb_after_write(plan->signature, cells, plan->count,
                        f->docs[want[count - 1]].sequence,
                        (char *)cursor->bytes);
    }
    grb_collector_deinit(&c);
    return count;
}

static void order_check(fixture *f, const char *text) {
    grb_sort_plan plan;
    grebe_error err;
    grb_buf cursor;
    uint32_t count, at = 0;
    assert_int_equal(grb_sort_parse(f->schema, text, &plan, &err), GREBE_OK);
    uint32_t *want = order_wanted(f, &count);
    grb_buf_init(&cursor, &grb_allocator_malloc, 0);
    page_check(f, &plan, want, count, 1 + pick(f, 50), &cursor);
    grb_buf_clear(&cursor);
    page_check(f, &plan, want, count, f->doc_count + 1, &cursor);
    assert_int_equal(cursor.size, 0);
    /* The walk by cursors gives the one big page. */
    uint32_t step = count / 5 + 1;
    do {
        at += page_check(f, &plan, want + at, count - at, step, &cursor);
    } while (cursor.size > 0);
    assert_int_equal(at, count);
    grb_buf_deinit(&cursor);
    free(want);
}

static void any_order_over_any_layout_equals_brute_force(void **state) {
    for (uint64_t seed = 1; seed <= 40; seed++) {
        fixture f;
        char text[200];
        fixture_open(&f, seed, seed % 9 == 0 ? 9000 : 30 + seed * 13,
                     1 + seed % LEAVES_MAX);
        for (int i = 0; i < 8; i++) {
            order_random(&f, text, sizeof text);
            order_check(&f, text);
        }
        fixture_close(&f);
    }
}

static void equal_orders_have_equal_signatures(void **state) {
    grebe_schema *s = fixture_schema();
    static const char *same[][2] = {{"score", "score desc"},
                                    {"year", "year asc missing last"},
                                    {"year, _order, cat", "year"},
                                    {"_order desc, year", "_order desc"}};
    static const char *other[][2] = {{"year", "year desc"},
                                     {"year", "nums"},
                                     {"year, cat", "cat, year"},
                                     {"year", "year missing first"},
                                     {"score", "score asc"}};
    grb_sort_plan a, b;
    for (size_t i = 0; i < GRB_COUNT(same); i++) {
        assert_int_equal(grb_sort_parse(s, same[i][0], &a, NULL), GREBE_OK);
        assert_int_equal(grb_sort_parse(s, same[i][1], &b, NULL), GREBE_OK);
        assert_int_equal(a.signature, b.signature);
    }
    for (size_t i = 0; i < GRB_COUNT(other); i++) {
        assert_int_equal(grb_sort_parse(s, other[i][0], &a, NULL), GREBE_OK);
        assert_int_equal(grb_sort_parse(s, other[i][1], &b, NULL), GREBE_OK);
        assert_int_not_equal(a.signature, b.signature);
    }
    assert_int_equal(grb_sort_parse(s, NULL, &a, NULL), GREBE_OK);
    assert_int_equal(grb_sort_parse(s, "score", &b, NULL), GREBE_OK);
    assert_int_equal(a.signature, b.signature);
    grebe_schema_release(s);
}

static void bad_sort_texts_say_where(void **state) {
    static const struct {
        const char *text;
        grebe_status status;
        uint64_t offset;
    } bad[] = {{"", GREBE_SYNTAX, 0},
               {"year,", GREBE_SYNTAX, 5},
               {"year down", GREBE_SYNTAX, 5},
               {"year desc missing", GREBE_SYNTAX, 17},
               {"year missing maybe", GREBE_SYNTAX, 13},
               {"score missing first", GREBE_SYNTAX, 6},
               {"year asc desc", GREBE_SYNTAX, 9},
               {"yaer", GREBE_SCHEMA, GREBE_NO_OFFSET},
               {"body", GREBE_SCHEMA, GREBE_NO_OFFSET}};
    grebe_schema *s = fixture_schema();
    grb_sort_plan plan;
    for (size_t i = 0; i < GRB_COUNT(bad); i++) {
        grebe_error err;
        assert_int_equal(grb_sort_parse(s, bad[i].text, &plan, &err),
                         bad[i].status);
        assert_int_equal(err.offset, bad[i].offset);
    }
    grebe_error err;
    grb_sort_parse(s, "yaer", &plan, &err);
    assert_non_null(strstr(err.message, "\"year\""));
    assert_string_equal(err.field, "yaer");
    char many[17 * 5 + 1] = "";
    for (int i = 0; i < 17; i++) strcat(many, i ? ",year" : "year");
    assert_int_equal(grb_sort_parse(s, many, &plan, &err), GREBE_LIMIT);
    grebe_schema_release(s);
}

static void mangled_cursors_are_refused(void **state) {
    grebe_schema *s = fixture_schema();
    grb_sort_plan plan, other;
    grb_after after;
    grb_buf text;
    grb_arena arena;
    grb_arena_init(&arena, &grb_allocator_malloc, 0);
    grb_buf_init(&text, &grb_allocator_malloc, 0);
    grb_sort_parse(s, "cat desc, year", &plan, NULL);
    grb_sort_parse(s, "cat, year", &other, NULL);
    grb_sort_cell cells[2] = {{.bytes = (const uint8_t *)"caf\xc3\xa9",
                               .size = 5,
                               .state = GRB_CELL_VALUE},
                              {.word = INT64_MIN, .state = GRB_CELL_VALUE}};
    assert_true(grb_buf_reserve(&text, grb_after_size(cells, 2)));
    grb_after_write(plan.signature, cells, 2, 77, (char *)text.bytes);
    char *cursor = (char *)text.bytes;
    assert_int_equal(grb_after_parse(&plan, cursor, &arena, &after, NULL),
                     GREBE_OK);
    assert_int_equal(after.sequence, 77);
    assert_int_equal(after.cells[0].size, 5);
    assert_memory_equal(after.cells[0].bytes, "caf\xc3\xa9", 5);
    assert_true(after.cells[1].word == INT64_MIN);
    assert_int_equal(grb_after_parse(&other, cursor, &arena, &after, NULL),
                     GREBE_ARGUMENT);
    for (size_t i = 0; cursor[i]; i++) {
        char old = cursor[i];
        for (int c = 1; c < 256; c += 7) {
            if ((char)c == old) continue;
            cursor[i] = (char)c;
            assert_int_equal(
                grb_after_parse(&plan, cursor, &arena, &after, NULL),
                GREBE_SYNTAX);
        }
        cursor[i] = 0; /* every shortening too */
        assert_int_equal(grb_after_parse(&plan, cursor, &arena, &after, NULL),
                         GREBE_SYNTAX);
        cursor[i] = old;
    }
    grb_buf_deinit(&text);
    grb_arena_deinit(&arena);
    grebe_schema_release(s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_over_any_layout_equals_brute_force),
        cmocka_unit_test(equal_orders_have_equal_signatures),
        cmocka_unit_test(bad_sort_texts_say_where),
        cmocka_unit_test(mangled_cursors_are_refused)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
