/* rooms: base store doc analysis segment invert memseg snapshot merge query search commit collect result engine api */
/* Random sequences of calls against a list of documents, on every place.
 *
 * After each step the public view, uncommitted work, searchers held from
 * earlier steps and snapshots must show what the model says, in insertion
 * order. A failure names its seed and step; GREBE_MODEL_SEED repeats it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine_case.h"

enum { KEYS = 8, WORDS = 4, DOCS_MAX = 48, HELD = 3, PINS = 3 };

static const char *const words[WORDS] = {"red", "green", "blue", "grey"};

typedef struct state {
    int count;
    struct {
        int key, word, version;
    } docs[DOCS_MAX];
} state;

typedef struct world {
    engine_case c;
    uint64_t random;
    int version;
    bool in_batch;
    state now, seen, hard, mark;
    struct {
        grebe_searcher *searcher;
        state state;
    } held[HELD];
    struct {
        grebe_snapshot *snapshot;
        state state;
    } pins[PINS];
    char trail[400];
} world;

static uint32_t roll(world *w, uint32_t below) {
    w->random ^= w->random << 13;
    w->random ^= w->random >> 7;
    w->random ^= w->random << 17;
    return (uint32_t)(w->random >> 20) % below;
}

static void trail_add(world *w, const char *what) {
    size_t at = strlen(w->trail), size = strlen(what);
    if (at + size + 2 > sizeof w->trail) {
        memmove(w->trail, w->trail + 200, at - 200 + 1);
        at -= 200;
    }
    snprintf(w->trail + at, sizeof w->trail - at, " %s", what);
}

/* ---- the model ---- */

static void state_remove(state *s, int key, int word) {
    int kept = 0;
    for (int i = 0; i < s->count; i++)
        if (s->docs[i].key != key && s->docs[i].word != word)
            s->docs[kept++] = s->docs[i];
    s->count = kept;
}

/* What a search for `word` (all: -1) should give, as "key:version ...". */
static void state_text(const state *s, int word, char *out, size_t size) {
    size_t at = 0;
    out[0] = 0;
    for (int i = 0; i < s->count; i++)
        if (word < 0 || s->docs[i].word == word)
            at += (size_t)snprintf(out + at, size - at, "k%d:%d ",
                                   s->docs[i].key, s->docs[i].version);
}

/* ---- what the index shows ---- */

static void searcher_text(world *w, grebe_searcher *s, int word, char *out,
                          size_t size) {
    grebe_query *q = NULL;
    grebe_hits *hits;
    grebe_search_request r = {.limit = 100};
    size_t at = 0;
    const char *text = word < 0 ? "all" : words[word];
    case_ok(
        grebe_query_match("title", text, strlen(text), GREBE_AND, &q, NULL),
        &w->c);
    r.query = q;
    case_ok(grebe_searcher_search(s, &r, &hits, &w->c.error), &w->c);
    out[0] = 0;
    for (uint64_t i = 0; i < grebe_hits_count(hits); i++) {
        grebe_value v[2] = {{0}};
        case_ok(grebe_hits_document(hits, i, w->c.document, &w->c.error),
                &w->c);
        case_ok(grebe_hits_key(hits, i, &v[0], &w->c.error), &w->c);
        uint32_t n = grebe_document_count(w->c.document);
        for (uint32_t j = 0; j < n; j++) {
            uint32_t field;
            grebe_value value;
            case_ok(grebe_document_value(w->c.document, j, &field, &value,
                                         &w->c.error),
                    &w->c);
            if (field == 3) v[1] = value;
        }
        at += (size_t)snprintf(out + at, size - at, "%.*s:%d ",
                               (int)v[0].as.text.size, v[0].as.text.bytes,
                               (int)v[1].as.integer);
    }
    grebe_hits_release(hits);
    grebe_query_release(q);
}

static void searcher_check(world *w, grebe_searcher *s, const state *expected,
                           const char *what) {
    char want[1024], got[1024];
    for (int word = -1; word < WORDS; word++) {
        state_text(expected, word, want, sizeof want);
        searcher_text(w, s, word, got, sizeof got);
        if (strcmp(want, got) != 0)
            fail_msg("place %d, %s, word %d: \"%s\" and not \"%s\";%s",
                     w->c.where, what, word, got, want, w->trail);
    }
    if ((int)grebe_searcher_count(s) != expected->count)
        fail_msg("%s: %d counted, %d there;%s", what,
                 (int)grebe_searcher_count(s), expected->count, w->trail);
}

static void world_check(world *w) {
    grebe_searcher *s;
    case_ok(grebe_index_searcher(w->c.index, 0, &s, &w->c.error), &w->c);
    searcher_check(w, s, &w->seen, "public");
    grebe_searcher_release(s);
    if (roll(w, 3) == 0) { /* it closes an epoch, so not always */
        case_ok(grebe_index_searcher_uncommitted(w->c.index, &s, &w->c.error),
                &w->c);
        searcher_check(w, s, &w->now, "uncommitted");
        grebe_searcher_release(s);
    }
    for (int i = 0; i < HELD; i++)
        if (w->held[i].searcher)
            searcher_check(w, w->held[i].searcher, &w->held[i].state, "held");
}

/* ---- steps ---- */

static void model_add(state *s, int key, int word, int version,
                      bool overwrite) {
    if (overwrite) state_remove(s, key, -1);
    s->docs[s->count].key = key;
    s->docs[s->count].word = word;
    s->docs[s->count++].version = version;
}

static void index_add(world *w, grebe_index *index, int key, int word,
                      bool overwrite) {
    char name[8], title[32];
    grebe_document *d = w->c.document;
    snprintf(name, sizeof name, "k%d", key);
    snprintf(title, sizeof title, "all %s", words[word]);
    grebe_document_clear(d);
    case_ok(grebe_document_add_text(d, 0, name, strlen(name), NULL), &w->c);
    case_ok(grebe_document_add_text(d, 1, title, strlen(title), NULL), &w->c);
    case_ok(grebe_document_add_int(d, 3, w->version, NULL), &w->c);
    case_ok(grebe_index_add(index, d, overwrite, &w->c.error), &w->c);
}

static void step_add(world *w, bool overwrite) {
    int key = (int)roll(w, KEYS), word = (int)roll(w, WORDS);
    if (w->now.count == DOCS_MAX) return;
    w->version++;
    index_add(w, w->c.index, key, word, overwrite);
    model_add(&w->now, key, word, w->version, overwrite);
}

static void delete_word(world *w, grebe_index *index, int word,
                        uint64_t *count) {
    grebe_query *q;
    case_ok(grebe_query_match("title", words[word], strlen(words[word]),
                              GREBE_AND, &q, NULL),
            &w->c);
    case_ok(grebe_index_delete_by_query(index, q, count, &w->c.error), &w->c);
    grebe_query_release(q);
}

static void step_delete(world *w) {
    char name[8];
    int key = (int)roll(w, KEYS), before = w->now.count;
    snprintf(name, sizeof name, "k%d", key);
    state_remove(&w->now, key, -1);
    assert_int_equal(case_delete(&w->c, name), before - w->now.count);
}

static void step_delete_by_query(world *w) {
    uint64_t count;
    int word = (int)roll(w, WORDS), before = w->now.count;
    state_remove(&w->now, -1, word);
    delete_word(w, w->c.index, word, &count);
    assert_int_equal(count, before - w->now.count);
}

static void step_wipe(world *w) {
    int before = w->now.count;
    w->now.count = 0;
    assert_int_equal(case_delete_all(&w->c), before);
}

static void step_commit(world *w, grebe_commit_kind kind) {
    if (w->in_batch) {
        if (kind == GREBE_HARD_UNSEEN) return;
        case_ok(grebe_index_batch_end(w->c.index, kind, NULL, &w->c.error),
                &w->c);
        w->in_batch = false;
    } else {
        case_ok(grebe_index_commit(w->c.index, kind, NULL, &w->c.error),
                &w->c);
    }
    if (kind != GREBE_HARD_UNSEEN) w->seen = w->now;
    if (kind != GREBE_SOFT) w->hard = w->now;
}

static void step_batch(world *w) {
    if (w->in_batch) {
        case_ok(grebe_index_batch_undo(w->c.index, &w->c.error), &w->c);
        w->now = w->mark;
        w->in_batch = false;
    } else {
        case_ok(grebe_index_batch_begin(w->c.index, &w->c.error), &w->c);
        w->mark = w->now;
        w->in_batch = true;
    }
}

static void step_rollback(world *w) {
    if (w->in_batch) return;
    case_ok(grebe_index_rollback(w->c.index, &w->c.error), &w->c);
    w->now = w->seen = w->hard;
}

static void step_pin(world *w) {
    uint32_t i = roll(w, PINS);
    if (w->in_batch) return;
    grebe_snapshot_free(w->pins[i].snapshot);
    case_ok(
        grebe_index_snapshot(w->c.index, &w->pins[i].snapshot, &w->c.error),
        &w->c);
    w->seen = w->pins[i].state = w->now;
}

static void step_restore(world *w) {
    uint32_t i = roll(w, PINS);
    if (w->in_batch || !w->pins[i].snapshot) return;
    case_ok(grebe_index_restore(w->c.index, w->pins[i].snapshot, &w->c.error),
            &w->c);
    w->now = w->seen = w->pins[i].state;
}

static void step_unpin(world *w) {
    uint32_t i = roll(w, PINS);
    grebe_snapshot_free(w->pins[i].snapshot);
    w->pins[i].snapshot = NULL;
}

static void step_hold(world *w) {
    uint32_t i = roll(w, HELD);
    grebe_searcher_release(w->held[i].searcher);
    if (roll(w, 2)) {
        case_ok(grebe_index_searcher_uncommitted(
                    w->c.index, &w->held[i].searcher, &w->c.error),
                &w->c);
        w->held[i].state = w->now;
    } else {
        case_ok(grebe_index_searcher(w->c.index, 0, &w->held[i].searcher,
                                     &w->c.error),
                &w->c);
        w->held[i].state = w->seen;
    }
}

static void step_merge(world *w) {
    if (!w->in_batch) case_merge(&w->c);
}

/* A branch of a branch: both change, neither sees the other. */
static void step_branch(world *w) {
    grebe_index *twin[2];
    grebe_searcher *s;
    state state[2];
    case_ok(grebe_index_branch(w->c.index, &twin[0], &w->c.error), &w->c);
    state[0] = w->seen;
    for (int i = 0; i < 2; i++) {
        int word = (int)roll(w, WORDS), key = (int)roll(w, KEYS);
        if (roll(w, 2)) {
            delete_word(w, twin[i], word, NULL);
            state_remove(&state[i], -1, word);
        }
        w->version++;
        if (state[i].count < DOCS_MAX) {
            index_add(w, twin[i], key, word, true);
            model_add(&state[i], key, word, w->version, true);
        }
        if (roll(w, 2))
            case_ok(grebe_index_merge(twin[i], &w->c.error), &w->c);
        case_ok(grebe_index_commit(twin[i], GREBE_SOFT, NULL, &w->c.error),
                &w->c);
        if (i == 1) break;
        state[1] = state[0];
        case_ok(grebe_index_branch(twin[0], &twin[1], &w->c.error), &w->c);
    }
    for (int i = 0; i < 2; i++) {
        case_ok(grebe_index_searcher(twin[i], 0, &s, &w->c.error), &w->c);
        searcher_check(w, s, &state[i], i ? "branch of a branch" : "branch");
        grebe_index_free(twin[i]);
        searcher_check(w, s, &state[i], "branch, closed");
        grebe_searcher_release(s);
    }
}

static void pins_free(world *w) {
    for (int i = 0; i < PINS; i++) {
        grebe_snapshot_free(w->pins[i].snapshot);
        w->pins[i].snapshot = NULL;
    }
}

static void step_reopen(world *w) {
    bool folder = w->c.where == CASE_FOLDER || w->c.where == CASE_FROZEN;
    bool late = roll(w, 2), commit = roll(w, 2);
    if (!folder || w->in_batch) return;
    if (!late) pins_free(w);
    if (commit) w->hard = w->now;
    case_ok(grebe_index_close(w->c.index, commit, &w->c.error), &w->c);
    if (late) pins_free(w);
    grebe_index_free(w->c.index);
    case_ok(grebe_check(w->c.path, NULL, NULL, &w->c.error), &w->c);
    case_open_again(&w->c);
    w->now = w->seen = w->hard;
}

static void step(world *w) {
    static const struct {
        const char *name;
        int weight;
    } steps[] = {{"add", 30},  {"duplicate", 6}, {"delete", 6}, {"query", 5},
                 {"wipe", 1},  {"soft", 8},      {"hard", 5},   {"unseen", 2},
                 {"batch", 8}, {"rollback", 3},  {"pin", 4},    {"restore", 4},
                 {"unpin", 2}, {"hold", 5},      {"merge", 2},  {"branch", 2},
                 {"reopen", 3}};
    int total = 0, at = 0;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++)
        total += steps[i].weight;
    int left = (int)roll(w, (uint32_t)total);
    while (left >= steps[at].weight) left -= steps[at++].weight;
    trail_add(w, steps[at].name);
    switch (at) {
    case 0:
        step_add(w, true);
        break;
    case 1:
        step_add(w, false);
        break;
    case 2:
        step_delete(w);
        break;
    case 3:
        step_delete_by_query(w);
        break;
    case 4:
        step_wipe(w);
        break;
    case 5:
        step_commit(w, GREBE_SOFT);
        break;
    case 6:
        step_commit(w, GREBE_HARD);
        break;
    case 7:
        step_commit(w, GREBE_HARD_UNSEEN);
        break;
    case 8:
        step_batch(w);
        break;
    case 9:
        step_rollback(w);
        break;
    case 10:
        step_pin(w);
        break;
    case 11:
        step_restore(w);
        break;
    case 12:
        step_unpin(w);
        break;
    case 13:
        step_hold(w);
        break;
    case 14:
        step_merge(w);
        break;
    case 15:
        step_branch(w);
        break;
    default:
        step_reopen(w);
        break;
    }
}

static void world_run(int where, uint64_t seed, int steps) {
    world *w = calloc(1, sizeof *w);
    assert_non_null(w);
    case_open(&w->c, where);
    w->random = seed * 0x9e3779b97f4a7c15ull + 1;
    snprintf(w->trail, sizeof w->trail, "seed %d:", (int)seed);
    for (int i = 0; i < steps; i++) {
        step(w);
        world_check(w);
    }
    pins_free(w);
    for (int i = 0; i < HELD; i++) grebe_searcher_release(w->held[i].searcher);
    case_close(&w->c);
    free(w);
}

static void random_sequences_match_the_model(void **unused) {
    (void)unused;
    const char *only = getenv("GREBE_MODEL_SEED");
    const char *many = getenv("GREBE_MODEL_SEEDS");
    uint64_t first = only ? strtoull(only, NULL, 10) : 1;
    uint64_t count = only ? 1 : many ? strtoull(many, NULL, 10) : 12;
    for (int where = 0; where < CASE_PLACES; where++)
        for (uint64_t seed = first; seed < first + count; seed++) {
            case_store = seed % 2 ? GREBE_STORE_MMAP : GREBE_STORE_PREAD;
            world_run(where, seed, 150);
        }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_sequences_match_the_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
