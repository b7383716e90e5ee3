/* rooms: base doc analysis segment snapshot query search api */
/* Every operator against brute force: random documents in several leaves,
 * random trees, random deletes. The brute force knows documents as lists of
 * words and evaluates trees one document at a time. The seed is printed;
 * GREBE_SEED sets it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "search_fixture.h"

enum { BODY, KIND, NUM, KEY, MANY };
#define WORDS 14u
#define LENGTH_MAX 24u

static uint64_t seed = 1;
static uint32_t pick(uint32_t n) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

/* ---- documents ---- */

typedef struct plain_doc {
    uint8_t words[LENGTH_MAX];
    uint32_t length;
    uint8_t kinds[2], kind_count;
    bool has_num, dead;
    int64_t num;
    int64_t many[2];
    uint32_t many_count;
    uint32_t key;
} plain_doc;

typedef struct world {
    fixture f;
    plain_doc *docs;
    uint32_t count, first[FIXTURE_LEAVES + 1];
    uint32_t spread; /* how many documents hold the rare words */
} world;

static void word_name(uint32_t w, char out[8]) {
    snprintf(out, 8, "%c%c%u", 'a' + (char)(w % 3), 'x', w);
}

static void doc_make(world *x, plain_doc *d, uint32_t n) {
    memset(d, 0, sizeof *d);
    d->length = pick(8) ? pick(LENGTH_MAX) : 0;
    for (uint32_t i = 0; i < d->length; i++) {
        uint32_t w = pick(WORDS);
        /* Words from 10 on are rare, word 0 is nearly everywhere. */
        if (w >= 10 && pick(x->spread)) w = 0;
        d->words[i] = (uint8_t)w;
    }
    d->kind_count = (uint8_t)pick(3);
    for (uint32_t i = 0; i < d->kind_count; i++)
        d->kinds[i] = (uint8_t)pick(5);
    d->has_num = pick(4) != 0;
    d->num = (int64_t)pick(100) - 50 + (n / 3000) * 60;
    d->many_count = pick(3);
    for (uint32_t i = 0; i < d->many_count; i++)
        d->many[i] = (int64_t)pick(40);
    d->key = pick(9) ? n : pick(n + 1); /* some share a key */
}

static void doc_add(world *x, model_segment *m, const plain_doc *d) {
    char name[16];
    model_doc(m, x->count);
    for (uint32_t i = 0; i < d->length; i++) {
        word_name(d->words[i], name);
        model_token(m, BODY, name, strlen(name), i);
    }
    for (uint32_t i = 0; i < d->kind_count; i++) {
        int size = snprintf(name, sizeof name, "k%u", d->kinds[i]);
        model_keyword(m, KIND, name, (size_t)size, true, true);
    }
    if (d->has_num) model_number(m, NUM, d->num);
    for (uint32_t i = 0; i < d->many_count; i++)
        model_number(m, MANY, d->many[i]);
    model_key(m, name, (size_t)snprintf(name, sizeof name, "%07u", d->key));
}

static void world_make(world *x, uint32_t leaves, uint32_t per_leaf,
                       uint32_t block) {
    memset(x, 0, sizeof *x);
    fixture_init(&x->f);
    fixture_field(&x->f, "body", GREBE_TEXT, GREBE_INDEXED, "whitespace");
    fixture_field(&x->f, "kind", GREBE_KEYWORD,
                  GREBE_INDEXED | GREBE_COLUMN | GREBE_MANY, NULL);
    fixture_field(&x->f, "num", GREBE_INT, GREBE_INDEXED | GREBE_COLUMN, NULL);
    fixture_field(&x->f, "key", GREBE_KEYWORD, GREBE_INDEXED | GREBE_KEY,
                  NULL);
    fixture_field(&x->f, "many", GREBE_INT,
                  GREBE_INDEXED | GREBE_COLUMN | GREBE_MANY, NULL);
    x->spread = 1 + pick(60);
    x->docs = calloc(leaves * per_leaf, sizeof *x->docs);
    for (uint32_t l = 0; l < leaves; l++) {
        model_segment *m = fixture_leaf(&x->f, block);
        model_field(m, BODY, GREBE_TEXT, false);
        model_field(m, KIND, GREBE_KEYWORD, true);
        model_field(m, NUM, GREBE_INT, false);
        model_field(m, MANY, GREBE_INT, true);
        x->first[l] = x->count;
        for (uint32_t i = 0; i < per_leaf - l; i++, x->count++) {
            doc_make(x, &x->docs[x->count], x->count);
            doc_add(x, m, &x->docs[x->count]);
        }
    }
    x->first[leaves] = x->count;
    fixture_seal(&x->f);
    for (uint32_t l = 0; l < leaves; l++) {
        grb_view *v;
        if (l % 3 == 1) continue;
        v = grb_view_new(&grb_allocator_malloc, 0, NULL);
        assert_non_null(v);
        for (uint32_t d = x->first[l]; d < x->first[l + 1]; d++) {
            if (pick(5)) continue;
            assert_true(grb_view_reserve(v, d - x->first[l]));
            grb_view_kill(v, d - x->first[l], 1);
            x->docs[d].dead = true;
        }
        x->f.list->leaves[l].view = v;
    }
}

static void world_free(world *x) {
    fixture_deinit(&x->f);
    free(x->docs);
}

/* ---- trees ---- */

typedef enum {
    T_ALL,
    T_TERM,
    T_PHRASE,
    T_PREFIX,
    T_TEXT_RANGE,
    T_RANGE,
    T_MANY,
    T_NUM,
    T_KIND,
    T_KEY,
    T_KEY_PREFIX,
    T_EXISTS,
    T_BOOL,
    T_DISMAX,
    T_CONST,
    T_BOOST
} tree_type;
typedef struct tree {
    tree_type type;
    uint32_t word, slop, count, field, mm;
    uint32_t terms[4], places[4];
    int64_t low, high;
    bool low_open, high_open;
    float by;
    struct tree *child[6];
    grebe_occur occur[6];
} tree;

static tree pool[512];
static uint32_t pool_used;

static tree *tree_make(world *x, uint32_t depth) {
    tree *t = &pool[pool_used++];
    memset(t, 0, sizeof *t);
    t->type = (tree_type)pick(depth && pool_used < 300 ? T_BOOST + 5 : T_BOOL);
    if (t->type > T_BOOST) t->type = T_BOOL;
    t->word = pick(WORDS + 1);
    t->slop = pick(2) ? 0 : pick(6);
    t->low = (int64_t)pick(150) - 60;
    t->high = t->low + pick(50);
    t->low_open = pick(2);
    t->high_open = pick(2);
    t->by = (float)pick(5) * 0.75f;
    if (t->type == T_KEY) t->word = pick(x->count);
    if (t->type == T_EXISTS) t->field = pick(5);
    if (t->type == T_PHRASE) {
        uint32_t place = 0;
        t->count = 2 + pick(3);
        for (uint32_t i = 0; i < t->count; i++) {
            t->terms[i] = pick(4) ? pick(4) : pick(WORDS);
            t->places[i] = place;
            place += pick(6) ? 1 : pick(3);
        }
        if (place <= 1) t->places[t->count - 1] = 1;
    }
    if (t->type == T_BOOL || t->type == T_DISMAX) {
        t->count = 1 + pick(5);
        for (uint32_t i = 0; i < t->count; i++) {
            t->child[i] = tree_make(x, depth - 1);
            t->occur[i] = (grebe_occur)(pick(3) ? pick(2) : pick(4));
        }
        t->mm = pick(3) ? 0 : pick(4);
        t->by = (float)pick(5) * 0.25f;
    }
    if (t->type == T_CONST || t->type == T_BOOST)
        t->child[0] = tree_make(x, depth - 1);
    return t;
}

static grebe_query *tree_query(const tree *t);

static grebe_query *leaf_query(const tree *t) {
    static const char *const fields[] = {"body", "kind", "num", "key", "many"};
    char name[16], high[16];
    grebe_value v = {.kind = GREBE_TEXT}, w = {.kind = GREBE_TEXT};
    grebe_range range = {&v, &w, t->low_open, t->high_open};
    grebe_phrase_term terms[4];
    char words[4][8];
    grebe_query *q = NULL;
    v.as.text.bytes = name;
    w.as.text.bytes = high;
    word_name(t->word, name);
    switch (t->type) {
    case T_KIND:
        snprintf(name, sizeof name, "k%u", t->word % 6);
        break;
    case T_KEY:
        snprintf(name, sizeof name, "%07u", t->word);
        break;
    case T_KEY_PREFIX:
        snprintf(name, sizeof name, "000%u", t->word % 5);
        break;
    default:
        break;
    }
    v.as.text.size = strlen(name);
    if (t->type == T_TEXT_RANGE) {
        word_name((uint32_t)(t->high + 60) % WORDS, high);
        w.as.text.size = strlen(high);
    }
    if (t->type == T_RANGE || t->type == T_MANY || t->type == T_NUM) {
        v.kind = w.kind = GREBE_INT;
        v.as.integer = t->low;
        w.as.integer = t->high;
    }
    for (uint32_t i = 0; t->type == T_PHRASE && i < t->count; i++) {
        word_name(t->terms[i], words[i]);
        terms[i].bytes = words[i];
        terms[i].size = strlen(words[i]);
        terms[i].position = t->places[i];
    }
    switch (t->type) {
    case T_ALL:
        grebe_query_all(&q, NULL);
        break;
    case T_PHRASE:
        grebe_query_phrase_terms("body", terms, t->count, t->slop, &q, NULL);
        break;
    case T_PREFIX:
        grebe_query_prefix("body", name, 1 + t->word % 3, &q, NULL);
        break;
    case T_TEXT_RANGE:
        grebe_query_range("body", &range, &q, NULL);
        break;
    case T_RANGE:
        grebe_query_range("num", &range, &q, NULL);
        break;
    case T_MANY:
        grebe_query_range("many", &range, &q, NULL);
        break;
    case T_EXISTS:
        grebe_query_exists(fields[t->field], &q, NULL);
        break;
    case T_KEY_PREFIX:
        grebe_query_prefix("key", name, v.as.text.size, &q, NULL);
        break;
    default:
        grebe_query_term(t->type == T_NUM    ? "num"
                         : t->type == T_KIND ? "kind"
                         : t->type == T_KEY  ? "key"
                                             : "body",
                         &v, &q, NULL);
        break;
    }
    return q;
}

static grebe_query *tree_query(const tree *t) {
    grebe_clause clauses[6];
    grebe_query *items[6], *q = NULL;
    uint32_t n = t->type == T_BOOL || t->type == T_DISMAX   ? t->count
                 : t->type == T_CONST || t->type == T_BOOST ? 1
                                                            : 0;
    if (n == 0) return leaf_query(t);
    for (uint32_t i = 0; i < n; i++) {
        items[i] = tree_query(t->child[i]);
        assert_non_null(items[i]);
        clauses[i].occur = t->occur[i];
        clauses[i].query = items[i];
    }
    if (t->type == T_BOOL)
        grebe_query_bool(clauses, n, t->mm, &q, NULL);
    else if (t->type == T_DISMAX)
        grebe_query_dismax(items, n, t->by, &q, NULL);
    else if (t->type == T_CONST)
        grebe_query_constant(items[0], t->by, &q, NULL);
    else
        grebe_query_boost(items[0], t->by, &q, NULL);
    for (uint32_t i = 0; i < n; i++) grebe_query_release(items[i]);
    return q;
}

/* ---- brute force: does it match, and about which score ---- */

static int name_order(const char *a, const char *b) {
    return strcmp(a, b);
}

static double idf_of(const world *x, uint32_t word, uint64_t *docs,
                     uint64_t *total) {
    uint64_t df = 0;
    *docs = *total = 0;
    for (uint32_t i = 0; i < x->count; i++) {
        const plain_doc *d = &x->docs[i];
        *docs += d->length > 0;
        *total += d->length;
        df += memchr(d->words, (int)word, d->length) != NULL;
    }
    return (double)grb_bm25_idf(df, *docs);
}

static double bm25_of(double w, double tf, uint32_t length, uint64_t docs,
                      uint64_t total) {
    double l = grb_length_decode[grb_length_encode(length)];
    double average = (double)total / (double)docs;
    return w * tf / (tf + 1.2 * (0.25 + 0.75 * l / average));
}

/* Exact phrases only: places where every slot has one of its words. */
static uint32_t phrase_of(const tree *t, const plain_doc *d) {
    uint32_t n = 0;
    for (uint32_t s = 0; s < d->length; s++) {
        bool all = true;
        for (uint32_t i = 0; i < t->count && all; i++) {
            bool one = false;
            for (uint32_t k = 0; k < t->count; k++)
                one |= t->places[k] == t->places[i] &&
                       s + t->places[k] < d->length &&
                       d->words[s + t->places[k]] == t->terms[k];
            all = one;
        }
        n += all;
    }
    return n;
}

static bool plain_match(const world *x, const tree *t, const plain_doc *d);

static bool words_match(const tree *t, const plain_doc *d) {
    char low[8], high[8], name[8];
    word_name(t->word, low);
    word_name((uint32_t)(t->high + 60) % WORDS, high);
    for (uint32_t i = 0; i < d->length; i++) {
        word_name(d->words[i], name);
        if (t->type == T_PREFIX) {
            size_t size = GRB_MIN(strlen(low), 1 + t->word % 3);
            if (strncmp(name, low, size) == 0) return true;
            continue;
        }
        int a = name_order(name, low), b = name_order(name, high);
        if ((a > 0 || (a == 0 && !t->low_open)) &&
            (b < 0 || (b == 0 && !t->high_open)))
            return true;
    }
    return false;
}

static bool number_in(const tree *t, int64_t v) {
    return v >= t->low + t->low_open && v <= t->high - t->high_open;
}

static bool bool_match(const world *x, const tree *t, const plain_doc *d) {
    uint32_t required = 0, should = 0, matched = 0;
    for (uint32_t i = 0; i < t->count; i++) {
        bool m = plain_match(x, t->child[i], d);
        if (t->occur[i] == GREBE_SHOULD) {
            should++;
            matched += m;
        } else if (t->occur[i] == GREBE_MUST_NOT) {
            if (m) return false;
        } else {
            required++;
            if (!m) return false;
        }
    }
    if (required == 0 && should == 0) return false;
    return matched >= (required ? t->mm : GRB_MAX(t->mm, 1));
}

static bool plain_match(const world *x, const tree *t, const plain_doc *d) {
    char name[16], want[16];
    switch (t->type) {
    case T_ALL:
        return true;
    case T_TERM:
        return memchr(d->words, (int)t->word, d->length) != NULL;
    case T_PHRASE:
        return phrase_of(t, d) > 0;
    case T_PREFIX:
    case T_TEXT_RANGE:
        return words_match(t, d);
    case T_RANGE:
        return d->has_num && number_in(t, d->num);
    case T_NUM:
        return d->has_num && d->num == t->low;
    case T_MANY:
        for (uint32_t i = 0; i < d->many_count; i++)
            if (number_in(t, d->many[i])) return true;
        return false;
    case T_KIND:
        return d->kind_count &&
               memchr(d->kinds, (int)(t->word % 6), d->kind_count);
    case T_KEY:
        return d->key == t->word;
    case T_KEY_PREFIX:
        snprintf(name, sizeof name, "%07u", d->key);
        snprintf(want, sizeof want, "000%u", t->word % 5);
        return strncmp(name, want, strlen(want)) == 0;
    case T_EXISTS:
        return t->field == BODY   ? d->length > 0
               : t->field == KIND ? d->kind_count > 0
               : t->field == NUM  ? d->has_num
               : t->field == MANY ? d->many_count > 0
                                  : true;
    case T_BOOL:
        return bool_match(x, t, d);
    case T_DISMAX:
        for (uint32_t i = 0; i < t->count; i++)
            if (plain_match(x, t->child[i], d)) return true;
        return false;
    default:
        return plain_match(x, t->child[0], d);
    }
}

/* Whether the tree has what plain_match or plain_score cannot do. */
static bool tree_sloppy(const tree *t) {
    if (t->type == T_PHRASE) return t->slop > 0;
    for (uint32_t i = 0; i < 6; i++)
        if (t->child[i] && tree_sloppy(t->child[i])) return true;
    return false;
}

static double plain_score(const world *x, const tree *t, const plain_doc *d) {
    uint64_t docs, total;
    double sum = 0, best = 0, w = 0;
    uint32_t tf = 0;
    switch (t->type) {
    case T_TERM:
        w = idf_of(x, t->word, &docs, &total);
        for (uint32_t i = 0; i < d->length; i++) tf += d->words[i] == t->word;
        return bm25_of(w, tf, d->length, docs, total);
    case T_PHRASE:
        for (uint32_t i = 0; i < t->count; i++)
            w += idf_of(x, t->terms[i], &docs, &total);
        return bm25_of(w, phrase_of(t, d), d->length, docs, total);
    case T_BOOL:
        for (uint32_t i = 0; i < t->count; i++)
            if (t->occur[i] <= GREBE_SHOULD && plain_match(x, t->child[i], d))
                sum += plain_score(x, t->child[i], d);
        return sum;
    case T_DISMAX:
        for (uint32_t i = 0; i < t->count; i++) {
            if (!plain_match(x, t->child[i], d)) continue;
            double s = plain_score(x, t->child[i], d);
            sum += s;
            best = GRB_MAX(best, s);
        }
        return best + (sum - best) * (double)t->by;
    case T_CONST:
        return (double)t->by;
    case T_BOOST:
        return (double)t->by * plain_score(x, t->child[0], d);
    default:
        return 1;
    }
}

/* Trees with keywords, keys or alternatives at one place: scored otherwise
 * than above. */
static bool tree_unscored(const tree *t) {
    if (t->type == T_KIND || t->type == T_KEY) return true;
    if (t->type == T_PHRASE)
        for (uint32_t i = 1; i < t->count; i++)
            if (t->places[i] == t->places[i - 1]) return true;
    for (uint32_t i = 0; i < 6; i++)
        if (t->child[i] && tree_unscored(t->child[i])) return true;
    return false;
}

/* ---- comparison ---- */

static void hits_check(world *x, const tree *t, const fixture_hits *h,
                       bool scored, uint64_t from_seed) {
    size_t at = 0;
    bool score = scored && !tree_unscored(t);
    uint32_t sampled = 0;
    for (uint32_t l = 0; l < x->f.leaf_count; l++) {
        for (uint32_t i = x->first[l]; i < x->first[l + 1]; i++) {
            const plain_doc *d = &x->docs[i];
            uint64_t place = (uint64_t)l << 32 | (i - x->first[l]);
            bool want = !d->dead && plain_match(x, t, d);
            bool have = at < h->count && h->places[at] == place;
            if (want != have)
                fail_msg("seed %llu: document %u %s",
                         (unsigned long long)from_seed, i,
                         want ? "is missing" : "should not be there");
            if (!want) continue;
            if (score && sampled < 6 && pick(4) == 0) {
                double s = plain_score(x, t, d);
                double off = s - (double)h->scores[at];
                sampled++;
                if (off > 2e-5 * (s + 1) || off < -2e-5 * (s + 1))
                    fail_msg("seed %llu: document %u scores %g, not %g",
                             (unsigned long long)from_seed, i,
                             (double)h->scores[at], s);
            }
            at++;
        }
    }
    assert_int_equal(at, h->count);
}

static void worlds_check(uint32_t leaves, uint32_t per_leaf, uint32_t block,
                         uint32_t rounds) {
    world x;
    fixture_hits scored = {NULL, NULL, 0, 0}, plain = {NULL, NULL, 0, 0};
    world_make(&x, leaves, per_leaf, block);
    for (uint32_t r = 0; r < rounds; r++) {
        uint64_t from = seed;
        grebe_error err;
        pool_used = 0;
        tree *t = tree_make(&x, 3);
        grebe_query *q = tree_query(t);
        assert_non_null(q);
        if (fixture_search(&x.f, q, NULL, true, &scored, &err))
            fail_msg("seed %llu: %s", (unsigned long long)from, err.message);
        assert_int_equal(fixture_search(&x.f, q, NULL, false, &plain, &err),
                         GREBE_OK);
        if (scored.count != plain.count ||
            (plain.count &&
             memcmp(scored.places, plain.places, plain.count * 8) != 0))
            fail_msg("seed %llu: scored and unscored differ",
                     (unsigned long long)from);
        if (!tree_sloppy(t)) hits_check(&x, t, &scored, true, from);
        grebe_query_release(q);
    }
    fixture_hits_free(&scored);
    fixture_hits_free(&plain);
    world_free(&x);
}

static void blocks_of_one_posting_match_like_brute_force(void **state) {
    worlds_check(3, 150, 1, 600);
}
static void blocks_of_three_postings_match_like_brute_force(void **state) {
    worlds_check(4, 300, 3, 400);
}
static void full_blocks_match_like_brute_force(void **state) {
    worlds_check(2, 400, 256, 400);
}
static void several_windows_match_like_brute_force(void **state) {
    worlds_check(2, 9500, 256, 60);
    worlds_check(1, 13000, 64, 40);
}

/* A filter takes the same documents as the same clause in the query. */
static void filters_match_like_filter_clauses(void **state) {
    world x;
    fixture_hits inside = {NULL, NULL, 0, 0}, beside = {NULL, NULL, 0, 0};
    world_make(&x, 2, 5000, 256);
    for (uint32_t r = 0; r < 60; r++) {
        pool_used = 0;
        grebe_query *main = tree_query(tree_make(&x, 2)), *both;
        grebe_query *filter = tree_query(tree_make(&x, 1));
        grebe_clause clauses[] = {{GREBE_MUST, main}, {GREBE_FILTER, filter}};
        assert_int_equal(grebe_query_bool(clauses, 2, 0, &both, NULL),
                         GREBE_OK);
        assert_int_equal(fixture_search(&x.f, both, NULL, true, &inside, NULL),
                         GREBE_OK);
        grb_search_context *c = fixture_context(&x.f);
        grb_visitor visitor = {.context = &beside, .window = fixture_window};
        grb_weight *w, *fw;
        beside.count = 0;
        assert_int_equal(grb_weight_new(c, main, true, &w, NULL), GREBE_OK);
        assert_int_equal(grb_weight_new(c, filter, false, &fw, NULL),
                         GREBE_OK);
        assert_int_equal(grb_search_run(c, w, (const grb_weight **)&fw, 1,
                                        true, &visitor, NULL),
                         GREBE_OK);
        assert_int_equal(inside.count, beside.count);
        for (size_t i = 0; i < inside.count; i++) {
            assert_int_equal(inside.places[i], beside.places[i]);
            assert_true(inside.scores[i] == beside.scores[i]);
        }
        grebe_query_release(main);
        grebe_query_release(filter);
        grebe_query_release(both);
    }
    fixture_hits_free(&inside);
    fixture_hits_free(&beside);
    world_free(&x);
}

static void explanations_begin_with_the_score(void **state) {
    world x;
    fixture_hits h = {NULL, NULL, 0, 0};
    world_make(&x, 2, 300, 100);
    for (uint32_t r = 0; r < 150; r++) {
        pool_used = 0;
        grebe_query *q = tree_query(tree_make(&x, 2));
        assert_int_equal(fixture_search(&x.f, q, NULL, true, &h, NULL),
                         GREBE_OK);
        for (size_t i = 0; i < h.count && i < 3; i++) {
            grb_search_context *c = fixture_context(&x.f);
            grb_weight *w;
            uint32_t leaf = (uint32_t)(h.places[i] >> 32);
            grb_buf out;
            bool matched;
            grb_buf_init(&out, &grb_allocator_malloc, 0);
            assert_int_equal(grb_weight_new(c, q, true, &w, NULL), GREBE_OK);
            assert_int_equal(grb_explain(c, w, leaf, (uint32_t)h.places[i],
                                         &matched, &out, NULL),
                             GREBE_OK);
            grb_buf_u8(&out, 0);
            assert_true(matched);
            assert_true(strtof((char *)out.bytes, NULL) == h.scores[i]);
            grb_buf_deinit(&out);
        }
        grebe_query_release(q);
    }
    fixture_hits_free(&h);
    world_free(&x);
}

static void spent_budgets_end_a_search(void **state) {
    world x;
    _Atomic int cancel = 1;
    grebe_error err;
    grebe_query *all;
    world_make(&x, 1, 9000, 256);
    grebe_query_all(&all, NULL);
    for (int kind = 0; kind < 3; kind++) {
        static const grebe_status want[] = {GREBE_CANCELLED, GREBE_DEADLINE,
                                            GREBE_LIMIT};
        grb_search_context *c = fixture_context(&x.f);
        fixture_hits h = {NULL, NULL, 0, 0};
        grb_visitor visitor = {.context = &h, .window = fixture_window};
        grb_weight *w;
        if (kind == 0) c->budget.cancel = &cancel;
        if (kind == 1) c->budget.deadline_ns = 1;
        if (kind == 2) c->budget.work_max = 5000;
        grebe_status status = grb_weight_new(c, all, true, &w, &err);
        if (!status)
            status = grb_search_run(c, w, NULL, 0, true, &visitor, &err);
        assert_int_equal(status, want[kind]);
        fixture_hits_free(&h);
    }
    grebe_query_release(all);
    world_free(&x);
}

/* Allocation n fails, for every n until the search passes. */
typedef struct failing {
    uint64_t left;
    int64_t held;
} failing;

static void *failing_resize(void *context, void *block, size_t old_size,
                            size_t new_size) {
    failing *f = (failing *)context;
    if (new_size && f->left-- == 0) {
        f->left = 0;
        return NULL;
    }
    block = grb_allocator_malloc.resize(grb_allocator_malloc.context, block,
                                        old_size, new_size);
    f->held += (int64_t)new_size - (int64_t)old_size;
    return block;
}

static void refused_memory_is_an_error_and_leaks_nothing(void **state) {
    world x;
    fixture_hits h = {NULL, NULL, 0, 0};
    world_make(&x, 2, 300, 16);
    for (uint32_t r = 0; r < 60; r++) {
        pool_used = 0;
        grebe_query *q = tree_query(tree_make(&x, 3));
        grebe_status status = GREBE_MEMORY;
        for (uint64_t n = 0; status != GREBE_OK; n++) {
            failing context = {n, 0};
            grebe_allocator a = {failing_resize, &context};
            grb_search_context *c = fixture_context(&x.f);
            grb_visitor visitor = {.context = &h, .window = fixture_window};
            grb_arena arena;
            grb_weight *w;
            grb_arena_init(&arena, &a, 0);
            c->arena = &arena;
            h.count = 0;
            status = grb_weight_new(c, q, true, &w, NULL);
            if (!status)
                status = grb_search_run(c, w, NULL, 0, true, &visitor, NULL);
            assert_true(status == GREBE_OK || status == GREBE_MEMORY);
            grb_arena_deinit(&arena);
            assert_true(context.held == 0);
            assert_true(n < 10000);
        }
        grebe_query_release(q);
    }
    fixture_hits_free(&h);
    world_free(&x);
}

static grebe_status term_note(void *context, const grb_sought_term *term) {
    grb_buf_printf((grb_buf *)context, "%s:%.*s%s ", term->field,
                   (int)term->size, term->bytes, term->prefix ? "*" : "");
    return GREBE_OK;
}

static void terms_are_visited_once_and_negations_never(void **state) {
    world x;
    grebe_clause clauses[4];
    grebe_query *q;
    grb_weight *w;
    grb_buf out;
    world_make(&x, 1, 20, 16);
    grb_buf_init(&out, &grb_allocator_malloc, 0);
    grebe_query_match("body", "red fox red", 11, GREBE_AND, &clauses[0].query,
                      NULL);
    grebe_query_phrase("body", "fox hole", 8, 0, &clauses[1].query, NULL);
    grebe_query_prefix("body", "ho", 2, &clauses[2].query, NULL);
    grebe_query_match("body", "dog", 3, GREBE_OR, &clauses[3].query, NULL);
    for (int i = 0; i < 4; i++) clauses[i].occur = GREBE_SHOULD;
    clauses[3].occur = GREBE_MUST_NOT;
    grebe_query_bool(clauses, 4, 0, &q, NULL);
    assert_int_equal(grb_weight_new(fixture_context(&x.f), q, true, &w, NULL),
                     GREBE_OK);
    assert_int_equal(grb_weight_terms(w, term_note, &out), GREBE_OK);
    grb_buf_u8(&out, 0);
    assert_string_equal((char *)out.bytes,
                        "body:red body:fox body:hole body:ho* ");
    grb_buf_deinit(&out);
    for (int i = 0; i < 4; i++) grebe_query_release(clauses[i].query);
    grebe_query_release(q);
    world_free(&x);
}

static void unknown_fields_name_the_nearest(void **state) {
    world x;
    grebe_query *q;
    grebe_error err;
    grb_weight *w;
    grebe_value v = {.kind = GREBE_TEXT}, n = {.kind = GREBE_INT};
    v.as.text.bytes = "a";
    v.as.text.size = 1;
    world_make(&x, 1, 10, 256);
    grebe_query_term("bodi", &v, &q, NULL);
    assert_int_equal(grb_weight_new(fixture_context(&x.f), q, true, &w, &err),
                     GREBE_SCHEMA);
    assert_non_null(strstr(err.message, "\"body\""));
    assert_string_equal(err.field, "bodi");
    grebe_query_release(q);
    n.as.integer = 4;
    grebe_query_term("body", &n, &q, NULL);
    assert_int_equal(grb_weight_new(fixture_context(&x.f), q, true, &w, &err),
                     GREBE_SCHEMA);
    grebe_query_release(q);
    world_free(&x);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_of_one_posting_match_like_brute_force),
        cmocka_unit_test(blocks_of_three_postings_match_like_brute_force),
        cmocka_unit_test(full_blocks_match_like_brute_force),
        cmocka_unit_test(several_windows_match_like_brute_force),
        cmocka_unit_test(filters_match_like_filter_clauses),
        cmocka_unit_test(explanations_begin_with_the_score),
        cmocka_unit_test(spent_budgets_end_a_search),
        cmocka_unit_test(refused_memory_is_an_error_and_leaks_nothing),
        cmocka_unit_test(terms_are_visited_once_and_negations_never),
        cmocka_unit_test(unknown_fields_name_the_nearest),
    };
    if (getenv("GREBE_SEED")) seed = strtoull(getenv("GREBE_SEED"), NULL, 10);
    printf("seed %llu\n", (unsigned long long)seed);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
