/* rooms: base store doc segment */
/* Sets of documents are what was put into them, whatever their windows are
 * like; what is kept of filters is bounded, goes with its segment, and may be
 * asked for from several threads. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "segment/filter_cache.h"
#include "strict_allocator.h"

static uint64_t state = 11;
static uint32_t pick(uint32_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % n;
}

static const grebe_allocator *const A = &strict_allocator;

/* ---- sets ---- */

/* One document in `one_of`, or none, or all, a window anew. */
static void words_make(uint64_t *words, uint32_t max_doc) {
    static const uint32_t rates[] = {0, 1, 2, 15, 16, 17, 40, 2000};
    uint32_t one_of = 0;
    memset(words, 0, (max_doc / 64 + 1) * sizeof *words);
    for (uint32_t doc = 0; doc < max_doc; doc++) {
        if (doc % GRB_WINDOW == 0) one_of = rates[pick(GRB_COUNT(rates))];
        if (one_of && pick(one_of) == 0) grb_bit_set(words, doc);
    }
}

static grb_docset *set_make(const uint64_t *words, uint32_t max_doc) {
    grb_docset_maker m;
    grb_docset_begin(&m, A, max_doc);
    for (uint32_t base = 0; base < max_doc; base += GRB_WINDOW) {
        uint64_t bits[GRB_WINDOW_WORDS] = {0};
        uint32_t count = 0;
        for (uint32_t i = 0; i < GRB_WINDOW && base + i < max_doc; i++)
            if (grb_bit(words, base + i)) {
                grb_bit_set(bits, i);
                count++;
            }
        grb_docset_add(&m, base, bits, count);
    }
    return grb_docset_end(&m);
}

static void a_set_is_what_was_put_into_it(void **unused) {
    static const uint32_t sizes[] = {0, 1, 63, 64, 4095, 4096, 4097, 50001};
    for (uint32_t round = 0; round < 64; round++) {
        uint32_t max_doc = sizes[round % GRB_COUNT(sizes)], count = 0;
        uint64_t *words = malloc((max_doc / 64 + 1) * sizeof *words);
        assert_non_null(words);
        words_make(words, max_doc);
        grb_docset *s = set_make(words, max_doc);
        assert_non_null(s);
        for (uint32_t base = 0; base < max_doc; base += GRB_WINDOW) {
            uint64_t bits[GRB_WINDOW_WORDS] = {0};
            uint32_t taken = grb_docset_take(s, base, bits), size = 0;
            for (uint32_t i = 0; i < GRB_WINDOW; i++) {
                bool in = base + i < max_doc && grb_bit(words, base + i);
                assert_int_equal(grb_bit(bits, i), in);
                if (base + i < max_doc)
                    assert_int_equal(grb_docset_has(s, base + i), in);
                size += in;
            }
            assert_int_equal(taken, size);
            count += size;
            uint32_t next = grb_docset_next(s, base);
            if (size)
                assert_int_equal(next, base);
            else
                assert_true(next == GRB_NO_DOC || next >= base + GRB_WINDOW);
        }
        assert_int_equal(s->count, count);
        /* Never much larger than bits, and far smaller where few are set. */
        assert_true(s->size <= sizeof *s + (max_doc / GRB_WINDOW + 1) * 520);
        grb_docset_release(s);
        free(words);
    }
}

/* Fails once, after `left` more blocks. */
static int left;
static void *failing_resize(void *context, void *block, size_t old_size,
                            size_t new_size) {
    if (new_size > old_size && left-- == 0) return NULL;
    return A->resize(A->context, block, old_size, new_size);
}

static void a_set_without_memory_is_none(void **unused) {
    const grebe_allocator failing = {.resize = failing_resize};
    uint64_t bits[GRB_WINDOW_WORDS] = {5};
    for (int at = 0; at < 4; at++) {
        grb_docset_maker m;
        left = at;
        grb_docset_begin(&m, &failing, 9000);
        grb_docset_add(&m, 4096, bits, 2);
        grb_docset *s = grb_docset_end(&m);
        assert_true((s != NULL) == (at == 3));
        grb_docset_release(s);
    }
}

/* ---- the cache ---- */

static uint32_t destroyed;
static void segment_destroy(grb_segment *s) {
    destroyed++;
    free(s);
}
static const grb_segment_ops ops = {.destroy = segment_destroy};

static grb_segment *segment_make(void) {
    static uint64_t id;
    grb_segment *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->ops = &ops;
    s->allocator = A;
    s->id = ++id;
    atomic_init(&s->refs, 1);
    return s;
}

static grb_filter_id id_of(const char *name) {
    uint32_t size = (uint32_t)strlen(name);
    return (grb_filter_id){(const uint8_t *)name, size,
                           grb_hash(name, size, 0)};
}

/* A set of `words` windows of 64 words each. */
static grb_docset *set_of(uint32_t windows) {
    grb_docset_maker m;
    uint64_t bits[GRB_WINDOW_WORDS];
    memset(bits, 0x55, sizeof bits);
    grb_docset_begin(&m, A, windows * GRB_WINDOW);
    for (uint32_t i = 0; i < windows; i++)
        grb_docset_add(&m, i * GRB_WINDOW, bits, GRB_WINDOW / 2);
    grb_docset *s = grb_docset_end(&m);
    assert_non_null(s);
    return s;
}

static bool kept(grb_filter_cache *c, grb_segment *s, uint32_t windows,
                 const char *name) {
    grb_filter_id id = id_of(name);
    grb_docset *set =
        grb_filter_cache_find(c, s, windows * GRB_WINDOW, &id);
    bool found = set != NULL;
    grb_docset_release(set);
    return found;
}

static void put(grb_filter_cache *c, grb_segment *s, uint32_t windows,
                const char *name) {
    grb_filter_id id = id_of(name);
    grb_docset *set = set_of(windows);
    grb_filter_cache_put(c, s, &id, set);
    grb_docset_release(set);
}

static void a_filter_is_seen_the_second_time(void **unused) {
    grb_filter_cache *c = grb_filter_cache_new(A, 1u << 20);
    assert_false(grb_filter_cache_seen(c, 4));
    assert_true(grb_filter_cache_seen(c, 4));
    for (uint64_t i = 0; i < 300; i++) grb_filter_cache_seen(c, 1000 + 2 * i);
    assert_false(grb_filter_cache_seen(c, 4)); /* long ago */
    grb_filter_cache_release(c);
}

static void what_is_kept_is_bounded_and_goes_with_its_segment(void **unused) {
    uint64_t most = 64u << 10;
    grb_filter_cache *c = grb_filter_cache_new(A, most);
    grb_segment *a = segment_make(), *b = segment_make();
    grb_filter_counts n;
    assert_false(kept(c, a, 20, "one"));
    put(c, a, 20, "one");
    assert_true(kept(c, a, 20, "one"));
    assert_false(kept(c, a, 19, "one")); /* of fewer documents */
    assert_false(kept(c, b, 20, "one"));
    assert_false(kept(c, a, 20, "two"));
    put(c, a, 20, "one"); /* again: nothing changes */
    grb_filter_cache_counts(c, &n);
    assert_int_equal(n.hits, 1);
    assert_int_equal(n.misses, 4);
    assert_true(n.bytes > 20 * 512 && n.bytes < 20 * 530 + 300);
    put(c, b, 200, "too large");
    assert_false(kept(c, b, 200, "too large"));
    for (uint32_t i = 0; i < 40; i++) {
        char name[16];
        sprintf(name, "f%u", i);
        put(c, i % 2 ? a : b, 20, name);
        assert_true(kept(c, a, 20, "one")); /* used all the time */
        grb_filter_cache_counts(c, &n);
        assert_true(n.bytes <= most);
    }
    assert_true(n.evictions >= 30);
    assert_true(kept(c, a, 20, "f39"));
    assert_false(kept(c, b, 20, "f0"));
    destroyed = 0;
    grb_segment_release(a);
    assert_int_equal(destroyed, 1);
    grb_filter_cache_release(c); /* `b` holds it */
    assert_true(kept(c, b, 20, "f38"));
    grb_filter_cache_counts(c, &n);
    assert_true(n.bytes > 0 && n.bytes <= most);
    grb_segment_release(b);
    assert_int_equal(destroyed, 2);
}

/* ---- threads ---- */

typedef struct worker {
    grb_filter_cache *cache;
    grb_segment *segments[2];
    uint32_t seed;
} worker;

static void *worker_run(void *context) {
    worker *w = context;
    uint32_t x = w->seed;
    for (uint32_t i = 0; i < 3000; i++) {
        char name[16];
        x = x * 1664525 + 1013904223;
        grb_segment *s = w->segments[x >> 16 & 1];
        sprintf(name, "f%u", (x >> 20) % 12);
        grb_filter_id id = id_of(name);
        grb_filter_cache_seen(w->cache, id.hash);
        grb_docset *set =
            grb_filter_cache_find(w->cache, s, 4 * GRB_WINDOW, &id);
        if (!set) {
            set = set_of(4);
            grb_filter_cache_put(w->cache, s, &id, set);
        }
        assert_int_equal(set->count, 4 * GRB_WINDOW / 2);
        assert_true(grb_docset_has(set, 4));
        grb_docset_release(set);
    }
    for (uint32_t i = 0; i < 2; i++) grb_segment_release(w->segments[i]);
    return NULL;
}

static void threads_share_what_is_kept(void **unused) {
    grb_filter_cache *c = grb_filter_cache_new(A, 16u << 10);
    grb_segment *segments[2] = {segment_make(), segment_make()};
    pthread_t threads[4];
    worker workers[4];
    destroyed = 0;
    for (uint32_t t = 0; t < 4; t++) {
        workers[t] = (worker){c, {segments[0], segments[1]}, t + 1};
        grb_segment_acquire(segments[0]);
        grb_segment_acquire(segments[1]);
        assert_int_equal(
            pthread_create(&threads[t], NULL, worker_run, &workers[t]), 0);
    }
    grb_segment_release(segments[0]);
    grb_segment_release(segments[1]);
    for (uint32_t t = 0; t < 4; t++) pthread_join(threads[t], NULL);
    assert_int_equal(destroyed, 2);
    grb_filter_counts n;
    grb_filter_cache_counts(c, &n);
    assert_int_equal(n.bytes, 0);
    assert_int_equal(n.hits + n.misses, 4 * 3000);
    grb_filter_cache_release(c);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_is_what_was_put_into_it),
        cmocka_unit_test(a_set_without_memory_is_none),
        cmocka_unit_test(a_filter_is_seen_the_second_time),
        cmocka_unit_test(what_is_kept_is_bounded_and_goes_with_its_segment),
        cmocka_unit_test(threads_share_what_is_kept),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    return failed + strict_allocator_left();
}
