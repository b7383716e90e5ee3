/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* Loading on several threads does what adding one by one does: the same
 * documents, keys, order, refusals and scores, in a batch and out of it; it
 * keeps its memory, survives failures and leaves no thread. */
#include <dirent.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <cmocka.h>

#include "engine_case.h"

typedef struct counting {
    _Atomic int64_t left; /* allocations until the one that fails */
    _Atomic int64_t held, most;
} counting;

static void *counting_resize(void *context, void *block, size_t old_size,
                             size_t new_size) {
    counting *c = context;
    if (new_size > old_size && --c->left == 0) return NULL;
    int64_t held = c->held += (int64_t)new_size - (int64_t)old_size;
    int64_t most = c->most;
    while (held > most &&
           !atomic_compare_exchange_weak(&c->most, &most, held)) {}
    if (new_size == 0) {
        free(block);
        return NULL;
    }
    return realloc(block, new_size);
}

static counting memory;
static const grebe_allocator counted = {counting_resize, &memory};

static void index_open(engine_case *c, int where, uint64_t memory_max,
                       uint64_t docs_max) {
    memset(c, 0, sizeof *c);
    memory.left = INT64_MAX;
    c->where = where;
    c->schema = case_schema();
    strcpy(c->path, "/tmp/grebe-loader-XXXXXX");
    if (where == CASE_FOLDER && !mkdtemp(c->path)) fail_msg("mkdtemp");
    grebe_open_options o = {.allocator = &counted,
                            .memory_max = memory_max,
                            .docs_max = docs_max,
                            .durability = GREBE_DURABILITY_NONE};
    case_ok(grebe_index_open(where == CASE_FOLDER ? c->path : NULL, c->schema,
                             &o, &c->index, &c->error),
            c);
    case_ok(grebe_document_new(c->schema, &c->document, &c->error), c);
}

static void index_close(engine_case *c) {
    case_close(c);
    assert_int_equal(memory.held, 0);
}

/* Every 19th has no key; keys come again after `keys`. */
static void document_make(engine_case *c, int i, int keys) {
    char key[24], title[80];
    grebe_document *d = c->document;
    grebe_document_clear(d);
    snprintf(key, sizeof key, "k%d", i % keys);
    snprintf(title, sizeof title, "word w%d w%d v%d common", i % 7, i % 31, i);
    if (i % 19 != 18) grebe_document_add_text(d, 0, key, strlen(key), NULL);
    grebe_document_add_text(d, 1, title, strlen(title), NULL);
    grebe_document_add_text(d, 2, i % 2 ? "odd" : "even", 4 - i % 2, NULL);
    grebe_document_add_int(d, 3, i, NULL);
}

typedef struct load {
    int first, count, keys, overwrite;
    uint32_t threads; /* 0: one by one */
} load;

/* Loads; what was refused goes into `refused` as numbers. */
static uint64_t load_run(engine_case *c, const load *l, char *refused) {
    uint64_t added = 0, position;
    grebe_loader *loader;
    grebe_document *document;
    *refused = 0;
    if (l->threads)
        case_ok(grebe_loader_new(c->index, l->threads, l->overwrite, &loader,
                                 &c->error),
                c);
    for (int i = 0; i < l->count; i++) {
        document_make(c, l->first + i, l->keys);
        if (l->threads) {
            case_ok(grebe_loader_add(loader, c->document, &c->error), c);
            continue;
        }
        if (grebe_index_add(c->index, c->document, l->overwrite, &c->error) ==
            GREBE_OK)
            added++;
        else
            sprintf(refused + strlen(refused), "%d %s;", i,
                    c->error.message);
    }
    if (!l->threads) return added;
    case_ok(grebe_loader_finish(loader, &added, &c->error), c);
    while (grebe_loader_refused(loader, &position, &document, &c->error)) {
        sprintf(refused + strlen(refused), "%d %s;", (int)position,
                c->error.message);
        grebe_document_free(document);
    }
    grebe_loader_free(loader);
    return added;
}

/* Everything in the order of insertion, then the best of some words. */
static char *index_tell(engine_case *c, bool scores) {
    static const char *const words[] = {NULL, "common", "w3", "w30", "v77"};
    size_t size = 1 << 20, at = 0;
    char *out = malloc(size);
    for (size_t w = 0; w < 5; w++) {
        grebe_query *q = NULL;
        grebe_hits *hits;
        grebe_search_request r = {.limit = words[w] ? 50 : 100000,
                                  .sort = words[w] ? NULL : "_order"};
        if (words[w])
            case_ok(grebe_query_match("title", words[w], strlen(words[w]),
                                      GREBE_OR, &q, &c->error),
                    c);
        r.query = q;
        case_ok(grebe_index_search(c->index, &r, &hits, &c->error), c);
        at += (size_t)snprintf(out + at, size - at, "\n%d:",
                               (int)grebe_hits_total(hits));
        for (uint64_t i = 0; i < grebe_hits_count(hits); i++) {
            grebe_value key;
            case_ok(grebe_hits_key(hits, i, &key, &c->error), c);
            at += (size_t)snprintf(
                out + at, size - at, " %.*s %a", (int)key.as.text.size,
                key.as.text.bytes,
                words[w] && scores ? grebe_hits_scores(hits)[i] : 0.0);
        }
        grebe_hits_release(hits);
        grebe_query_release(q);
    }
    return out;
}

static void same(const char *a, const char *b, const load *l) {
    if (strcmp(a, b) != 0)
        fail_msg("%u threads, overwrite %d, %d keys:\n%.300s\n%.300s",
                 l->threads, l->overwrite, l->keys, a, b);
}

/* One index with some documents, two loads (the second over the first), looked
 * at after a soft commit, a hard one, opening anew and a merge. */
static void life_tell(int where, load l, char **told, char *refused) {
    engine_case c;
    index_open(&c, where, 0, 100);
    for (int i = 0; i < 10; i++) case_add(&c, "k5", "common old", "t", i);
    case_commit(&c, GREBE_SOFT);
    told[0] = malloc(64);
    sprintf(told[0], "%d", (int)load_run(&c, &l, refused));
    case_commit(&c, GREBE_SOFT);
    /* Layouts differ, and with them what merges have dropped. */
    told[1] = index_tell(&c, l.keys > l.count);
    l.first += l.count / 3;
    load_run(&c, &l, refused + strlen(refused));
    case_commit(&c, GREBE_HARD);
    if (where == CASE_FOLDER) {
        case_ok(grebe_index_close(c.index, 0, &c.error), &c);
        grebe_index_free(c.index);
        case_allocator = &counted;
        case_open_again(&c);
        case_allocator = NULL;
    }
    told[2] = index_tell(&c, false);
    case_merge(&c);
    case_commit(&c, GREBE_HARD);
    told[3] = index_tell(&c, true);
    index_close(&c);
}

static void threads_change_nothing(void **unused) {
    (void)unused;
    for (int where = CASE_MEMORY; where <= CASE_FOLDER; where += 2)
        for (int overwrite = 0; overwrite < 2; overwrite++)
            for (int keys = 40; keys <= 100000; keys *= 50) {
                load l = {.count = 1500, .keys = keys, .overwrite = overwrite};
                char *one[4], *other[4];
                static char a[1 << 16], b[1 << 16];
                life_tell(where, l, one, a);
                const uint32_t threads[] = {1, 2, 3, 8};
                for (size_t t = 0; t < 4; t++) {
                    l.threads = threads[t];
                    life_tell(where, l, other, b);
                    same(a, b, &l);
                    for (int i = 0; i < 4; i++) {
                        same(one[i], other[i], &l);
                        free(other[i]);
                    }
                }
                for (int i = 0; i < 4; i++) free(one[i]);
            }
}

static void batches_take_loads_back(void **unused) {
    (void)unused;
    static char refused[1 << 16];
    for (int where = CASE_MEMORY; where <= CASE_FOLDER; where += 2) {
        engine_case c;
        index_open(&c, where, 0, 100);
        load l = {.count = 800, .keys = 300, .overwrite = 1, .threads = 2};
        load_run(&c, &l, refused);
        case_commit(&c, GREBE_HARD);
        char *before = index_tell(&c, true);
        case_ok(grebe_index_batch_begin(c.index, &c.error), &c);
        l.first = 10000;
        load_run(&c, &l, refused);
        case_ok(grebe_index_batch_undo(c.index, &c.error), &c);
        char *after = index_tell(&c, true);
        assert_string_equal(before, after);
        /* And in a batch that ends well. */
        case_ok(grebe_index_batch_begin(c.index, &c.error), &c);
        load_run(&c, &l, refused);
        case_ok(grebe_index_batch_end(c.index, GREBE_HARD, NULL, &c.error),
                &c);
        assert_int_equal(case_count(&c), 300);
        load_run(&c, &l, refused);
        case_ok(grebe_index_rollback(c.index, &c.error), &c);
        assert_int_equal(case_count(&c), 300);
        free(before);
        free(after);
        index_close(&c);
    }
}

static int threads_now(void) {
    int n = 0;
    DIR *dir = opendir("/proc/self/task");
    while (dir && readdir(dir)) n++;
    if (dir) closedir(dir);
    return n;
}

static void few_documents_are_logged(void **unused) {
    (void)unused;
    static char refused[1 << 16];
    engine_case c;
    int before = threads_now();
    index_open(&c, CASE_FOLDER, 0, 0);
    case_commit(&c, GREBE_HARD);
    load l = {.count = 100, .keys = 1000, .overwrite = 1, .threads = 4};
    load_run(&c, &l, refused);
    grebe_index_stats s;
    grebe_commit_info info = case_commit(&c, GREBE_HARD);
    grebe_index_stats_read(c.index, &s, NULL);
    assert_int_equal(s.freezes, 0);
    assert_int_equal(info.generation, 1);
    assert_int_equal(threads_now(), before);
    index_close(&c);
}

static void bad_numbers_are_refused(void **unused) {
    (void)unused;
    engine_case c;
    grebe_loader *loader;
    index_open(&c, CASE_MEMORY, 0, 0);
    for (uint32_t n = 0; n <= 65; n += 65) {
        assert_int_equal(
            grebe_loader_new(c.index, n, 1, &loader, &c.error),
            GREBE_ARGUMENT);
        assert_non_null(strstr(c.error.message, "1 to 64"));
    }
    /* Not to be closed under a load. */
    case_ok(grebe_loader_new(c.index, 2, 1, &loader, &c.error), &c);
    assert_int_equal(grebe_index_close(c.index, 0, NULL), GREBE_STATE);
    grebe_loader_free(loader);
    index_close(&c);
}

/* A load that ends without having finished drops what was not in yet. */
static void unfinished_loads_end(void **unused) {
    (void)unused;
    engine_case c;
    grebe_loader *loader;
    index_open(&c, CASE_FOLDER, 0, 40);
    int before = threads_now();
    case_ok(grebe_loader_new(c.index, 3, 1, &loader, &c.error), &c);
    for (int i = 0; i < 500; i++) {
        document_make(&c, i, 100000);
        case_ok(grebe_loader_add(loader, c.document, &c.error), &c);
    }
    grebe_loader_free(loader);
    assert_int_equal(threads_now(), before);
    case_commit(&c, GREBE_HARD);
    assert_true(case_count(&c) < 500);
    index_close(&c);
}

/* ---- failures ---- */

static bool load_fails_at(int where, int64_t n) {
    engine_case c;
    grebe_loader *loader = NULL;
    grebe_status status = GREBE_OK;
    uint64_t added = 0;
    index_open(&c, where, 0, 12);
    case_commit(&c, GREBE_HARD);
    memory.left = n;
    status = grebe_loader_new(c.index, 2, 1, &loader, &c.error);
    for (int i = 0; i < 60 && status == GREBE_OK; i++) {
        document_make(&c, i, 100000);
        status = grebe_loader_add(loader, c.document, &c.error);
    }
    if (loader) {
        grebe_status end = grebe_loader_finish(loader, &added, &c.error);
        if (status != GREBE_OK) assert_int_equal(end, status);
        status = end;
    }
    if (status != GREBE_OK && status != GREBE_MEMORY)
        fail_msg("%s: %s", grebe_status_word(status), c.error.message);
    grebe_loader_free(loader);
    bool reached = memory.left <= 0;
    memory.left = INT64_MAX;
    case_commit(&c, GREBE_HARD);
    /* A beginning of the documents, and of those the ones with a key. */
    assert_int_equal(case_count(&c), added);
    if (status == GREBE_OK) assert_int_equal(added, 57);
    index_close(&c);
    return reached;
}

static void any_allocation_may_fail(void **unused) {
    (void)unused;
    for (int where = CASE_MEMORY; where <= CASE_FOLDER; where += 2) {
        int64_t n = 1;
        /* Threads decide what the n-th is: ends when three were not there. */
        for (int missed = 0; missed < 3; n++)
            missed = load_fails_at(where, n) ? 0 : missed + 1;
        assert_true(n > 100);
    }
}

/* Files may not grow: freezes fail and are counted, nothing is lost. */
static void freezes_may_fail(void **unused) {
    (void)unused;
    static char refused[1 << 16];
    engine_case c;
    struct rlimit before, none;
    index_open(&c, CASE_FOLDER, 0, 60);
    case_commit(&c, GREBE_HARD);
    getrlimit(RLIMIT_FSIZE, &before);
    none = before;
    none.rlim_cur = 100;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &none);
    load l = {.count = 600, .keys = 100000, .overwrite = 1, .threads = 2};
    uint64_t added = load_run(&c, &l, refused);
    setrlimit(RLIMIT_FSIZE, &before);
    grebe_index_stats s;
    grebe_index_stats_read(c.index, &s, NULL);
    assert_true(s.failures > 0);
    case_commit(&c, GREBE_HARD);
    case_allocator = &counted;
    case_reopen(&c);
    case_allocator = NULL;
    assert_int_equal(case_count(&c), added);
    index_close(&c);
}

/* ---- beside others ---- */

typedef struct beside {
    engine_case *c;
    _Atomic bool stop;
    _Atomic int rounds;
} beside;

static void *others_work(void *context) {
    beside *b = context;
    while (!b->stop) {
        grebe_searcher *s;
        grebe_value key = {.kind = GREBE_KEYWORD};
        key.as.text.bytes = "k7";
        key.as.text.size = 2;
        grebe_index_delete(b->c->index, &key, NULL, NULL);
        grebe_index_commit(b->c->index, b->rounds % 3 ? GREBE_SOFT : GREBE_HARD,
                           NULL, NULL);
        if (grebe_index_searcher(b->c->index, 0, &s, NULL) == GREBE_OK) {
            grebe_hits *hits;
            grebe_search_request r = {.limit = 10, .sort = "_order"};
            if (grebe_searcher_search(s, &r, &hits, NULL) == GREBE_OK)
                grebe_hits_release(hits);
            grebe_searcher_release(s);
        }
        if (b->rounds++ % 5 == 4) grebe_index_merge(b->c->index, NULL);
    }
    return NULL;
}

static void others_may_work_meanwhile(void **unused) {
    (void)unused;
    static char refused[1 << 16];
    for (int where = CASE_MEMORY; where <= CASE_FOLDER; where += 2) {
        engine_case c;
        pthread_t thread;
        index_open(&c, where, 0, 50);
        beside b = {.c = &c};
        pthread_create(&thread, NULL, others_work, &b);
        uint64_t added = 0;
        for (int i = 0; i < 4 || b.rounds < 20; i++) {
            load l = {i * 1000, 1000, 100000, 1, 2};
            added += load_run(&c, &l, refused);
        }
        b.stop = true;
        pthread_join(thread, NULL);
        case_delete(&c, "k7");
        case_commit(&c, GREBE_HARD);
        assert_int_equal(case_count(&c), added - 1);
        index_close(&c);
    }
}

/* ---- memory ---- */

static void memory_is_kept(void **unused) {
    (void)unused;
    const uint64_t limit = 32u << 20;
    char text[1600];
    for (uint32_t threads = 1; threads <= 4; threads *= 2) {
        engine_case c;
        grebe_loader *loader;
        index_open(&c, CASE_FOLDER, limit, 0);
        memory.most = memory.held;
        int64_t before = memory.held;
        case_ok(grebe_loader_new(c.index, threads, 1, &loader, &c.error), &c);
        for (int i = 0; i < 14000; i++) {
            size_t at = 0;
            for (uint32_t w = 0; at < 1400; w++)
                at += (size_t)sprintf(
                    text + at, "w%u ",
                    (uint32_t)((uint64_t)(i + 1) * (w + 7) * 2654435761u >> 7) %
                        (w % 2 ? 300 : 30000));
            document_make(&c, i, 100000);
            grebe_document_clear(c.document);
            char key[16];
            sprintf(key, "%d", i);
            grebe_document_add_text(c.document, 0, key, strlen(key), NULL);
            grebe_document_add_text(c.document, 1, text, at, NULL);
            case_ok(grebe_loader_add(loader, c.document, &c.error), &c);
        }
        case_ok(grebe_loader_finish(loader, NULL, &c.error), &c);
        grebe_loader_free(loader);
        int64_t most = memory.most - before;
        print_message("%u threads: %.2f of memory_max\n", threads,
                      (double)most / (double)limit);
        if (most * 4 > (int64_t)limit * 5)
            fail_msg("%u threads: %lld bytes", threads, (long long)most);
        index_close(&c);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(threads_change_nothing),
        cmocka_unit_test(batches_take_loads_back),
        cmocka_unit_test(few_documents_are_logged),
        cmocka_unit_test(bad_numbers_are_refused),
        cmocka_unit_test(unfinished_loads_end),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(freezes_may_fail),
        cmocka_unit_test(others_may_work_meanwhile),
        cmocka_unit_test(memory_is_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
