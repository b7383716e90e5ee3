/* merge/bisect.c - recursive graph bisection of documents and terms.
 *
 * The method of Dhulipala, Kabiljo, Karrer, Ottaviano, Pupyrev and Shalita
 * (2016), as Mackenzie, Mallia, Petri, Culpepper and Suel (2019) used it. A
 * row of documents is cut into halves. A term of which d documents lie in a
 * half of n costs about d * log2(n / (d + 1)) bits of gaps there. For each
 * document is estimated what its terms would save if it moved to the other
 * half; both halves are sorted by that, and pairs are exchanged as long as the
 * two together save something. That is repeated until nothing moves, then
 * both halves are cut in turn.
 *
 * Invariant: a part keeps its documents; parts that are not cut any more are
 * in the order that they came in.
 * Threads: pure function.
 * Owns: counters of each term and an item a document while it runs.
 */
#include "merge/bisect.h"

#include <math.h>
#include <stdlib.h>

#define PART_MIN 32u   /* documents: not cut any more */
#define ROUNDS_MAX 20u /* exchanges of one cut */

/* A document of the part at work. */
typedef struct item {
    float gain;     /* bits that moving it saves, estimated */
    uint32_t place; /* in the order that was given */
} item;

/* What is known of a term in the part at work; its gains are those of the
 * round `round`. */
typedef struct term {
    uint32_t left, right; /* documents with it in each half */
    uint32_t round;
    float gain_left, gain_right; /* for moving out of that half */
} term;

typedef struct bisect {
    const grb_doc_terms *d;
    const uint32_t *given; /* documents in the order that was given */
    item *items;
    term *terms;
    uint32_t round;
} bisect;

uint64_t grb_bisect_memory(uint32_t doc_count, uint32_t term_count) {
    return (uint64_t)doc_count * (sizeof(item) + sizeof(uint32_t)) +
           (uint64_t)term_count * sizeof(term);
}

static int gain_order(const void *a, const void *b) {
    const item *x = a, *y = b;
    if (x->gain != y->gain) return x->gain > y->gain ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

static int place_order(const void *a, const void *b) {
    const item *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

/* Adds to the counters of an item's terms. */
static void item_count(bisect *b, const item *i, uint32_t left,
                       uint32_t right) {
    uint32_t doc = b->given[i->place];
    for (uint64_t at = b->d->starts[doc]; at < b->d->starts[doc + 1]; at++) {
        term *t = &b->terms[b->d->terms[at]];
        t->left += left;
        t->right += right;
    }
}

/* Bits of `count` gaps among `docs` documents, `size` their logarithm. */
static float half_cost(uint32_t count, float size) {
    return (float)count * (size - log2f((float)count + 1));
}

static void term_gains(term *t, float left, float right) {
    float now = half_cost(t->left, left) + half_cost(t->right, right);
    t->gain_left = t->gain_right = 0;
    if (t->left)
        t->gain_left = now - half_cost(t->left - 1, left) -
                       half_cost(t->right + 1, right);
    if (t->right)
        t->gain_right = now - half_cost(t->left + 1, left) -
                        half_cost(t->right - 1, right);
}

/* Gains of the items of one half. */
static void half_gains(bisect *b, item *items, uint32_t count, bool is_left,
                       float left, float right) {
    for (uint32_t i = 0; i < count; i++) {
        uint32_t doc = b->given[items[i].place];
        float gain = 0;
        for (uint64_t at = b->d->starts[doc]; at < b->d->starts[doc + 1];
             at++) {
            term *t = &b->terms[b->d->terms[at]];
            if (t->round != b->round) {
                term_gains(t, left, right);
                t->round = b->round;
            }
            gain += is_left ? t->gain_left : t->gain_right;
        }
        items[i].gain = gain;
    }
}

/* One round of exchanges between two halves; whether anything moved. */
static bool halves_exchange(bisect *b, item *items, uint32_t left,
                            uint32_t right) {
    float left_size = log2f((float)left), right_size = log2f((float)right);
    item *others = items + left;
    uint32_t moved = 0;
    b->round++;
    half_gains(b, items, left, true, left_size, right_size);
    half_gains(b, others, right, false, left_size, right_size);
    qsort(items, left, sizeof *items, gain_order);
    qsort(others, right, sizeof *others, gain_order);
    while (moved < left && moved < right &&
           items[moved].gain + others[moved].gain > 0) {
        item swap = items[moved];
        item_count(b, &swap, UINT32_MAX, 1);
        item_count(b, &others[moved], 1, UINT32_MAX);
        items[moved] = others[moved];
        others[moved++] = swap;
    }
    return moved > 0;
}

/* As deep as the logarithm of the documents. */
static void part_bisect(bisect *b, item *items, uint32_t count) {
    uint32_t left = count / 2, right = count - left;
    if (count <= PART_MIN) {
        qsort(items, count, sizeof *items, place_order);
        return;
    }
    for (uint32_t i = 0; i < count; i++)
        item_count(b, &items[i], i < left, i >= left);
    for (uint32_t i = 0; i < ROUNDS_MAX; i++)
        if (!halves_exchange(b, items, left, right)) break;
    for (uint32_t i = 0; i < count; i++)
        item_count(b, &items[i], i < left ? UINT32_MAX : 0,
                   i < left ? 0 : UINT32_MAX);
    part_bisect(b, items, left);
    part_bisect(b, items + left, right);
}

grebe_status grb_bisect(const grebe_allocator *a, const grb_doc_terms *d,
                        uint32_t *order, grebe_error *err) {
    grebe_status status = GREBE_OK;
    size_t items_size = ((size_t)d->doc_count + 1) * sizeof(item);
    size_t terms_size = ((size_t)d->term_count + 1) * sizeof(term);
    size_t given_size = ((size_t)d->doc_count + 1) * sizeof *order;
    uint32_t *given = grb_alloc(a, given_size);
    bisect b = {.d = d,
                .given = given,
                .items = grb_alloc(a, items_size),
                .terms = grb_alloc_zero(a, terms_size)};
    if (!given || !b.items || !b.terms) {
        status = grb_error_memory(err, items_size + terms_size);
        goto done;
    }
    memcpy(given, order, (size_t)d->doc_count * sizeof *order);
    for (uint32_t i = 0; i < d->doc_count; i++) b.items[i] = (item){0, i};
    part_bisect(&b, b.items, d->doc_count);
    for (uint32_t i = 0; i < d->doc_count; i++)
        order[i] = given[b.items[i].place];
done:
    if (given) grb_free(a, given, given_size);
    if (b.items) grb_free(a, b.items, items_size);
    if (b.terms) grb_free(a, b.terms, terms_size);
    return status;
}
