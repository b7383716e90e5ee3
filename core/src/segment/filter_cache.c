/* segment/filter_cache.c - answers of filters, kept with immutable segments.
 *
 * One table by segment and name, one list by last use, one mutex that is held
 * for a look-up: what is found is counted and read without it. A ring of the
 * names used last tells a filter that comes again from one that comes once.
 *
 * Invariant: an entry is in the table, in the list of use and in its
 * segment's list, or nowhere; `bytes` is what all entries hold and never
 * above `bytes_max`. A segment with entries holds a reference to the cache.
 * Threads: any.
 * Owns: entries; each holds its set and its name.
 */
#include <pthread.h>

#include "segment/filter_cache.h"

#define SEEN_COUNT 256u
#define BUCKET_COUNT 1024u

struct grb_filter_entry {
    grb_filter_entry *chain; /* of the bucket */
    grb_filter_entry *newer, *older;
    grb_filter_entry *next, **link; /* of the segment */
    const grb_segment *segment;
    grb_docset *set;
    uint64_t hash;
    uint32_t size; /* of the name */
    uint8_t name[];
};

/* Made when a filter is first used: most indexes never see one. */
typedef struct filter_table {
    uint64_t seen[SEEN_COUNT];
    uint32_t seen_next;
    grb_filter_entry *buckets[BUCKET_COUNT];
} filter_table;

struct grb_filter_cache {
    _Atomic uint64_t refs;
    const grebe_allocator *allocator;
    uint64_t bytes_max;
    pthread_mutex_t mutex;
    filter_table *table;
    grb_filter_entry *newest, *oldest;
    grb_filter_counts counts;
};

grb_filter_cache *grb_filter_cache_new(const grebe_allocator *a,
                                       uint64_t bytes_max) {
    grb_filter_cache *c = grb_alloc_zero(a, sizeof *c);
    if (!c) return NULL;
    atomic_init(&c->refs, 1);
    c->allocator = a;
    c->bytes_max = bytes_max;
    pthread_mutex_init(&c->mutex, NULL);
    return c;
}

grb_filter_cache *grb_filter_cache_acquire(grb_filter_cache *c) {
    if (c) atomic_fetch_add_explicit(&c->refs, 1, memory_order_relaxed);
    return c;
}

/* No entry is left: each is of a segment that holds a reference. */
void grb_filter_cache_release(grb_filter_cache *c) {
    if (!c ||
        atomic_fetch_sub_explicit(&c->refs, 1, memory_order_acq_rel) != 1)
        return;
    pthread_mutex_destroy(&c->mutex);
    grb_free(c->allocator, c->table, c->table ? sizeof *c->table : 0);
    grb_free(c->allocator, c, sizeof *c);
}

static bool table_ready(grb_filter_cache *c) {
    if (!c->table) c->table = grb_alloc_zero(c->allocator, sizeof *c->table);
    return c->table != NULL;
}

bool grb_filter_cache_seen(grb_filter_cache *c, uint64_t hash) {
    bool seen = false;
    hash |= 1; /* 0: a place never used */
    pthread_mutex_lock(&c->mutex);
    if (table_ready(c)) {
        for (uint32_t i = 0; i < SEEN_COUNT; i++)
            seen |= c->table->seen[i] == hash;
        if (!seen) c->table->seen[c->table->seen_next++ % SEEN_COUNT] = hash;
    }
    pthread_mutex_unlock(&c->mutex);
    return seen;
}

/* ---- entries; the mutex is held ---- */

static grb_filter_entry **bucket_of(const grb_filter_cache *c,
                                    const grb_segment *s, uint64_t hash) {
    uint64_t mixed = (hash ^ s->id * 0x9e3779b97f4a7c15u) >> 20;
    return &c->table->buckets[mixed % BUCKET_COUNT];
}

static uint64_t entry_bytes(const grb_filter_entry *e) {
    return sizeof *e + e->size + e->set->size;
}

static void use_unlink(grb_filter_cache *c, grb_filter_entry *e) {
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
}

static void use_link(grb_filter_cache *c, grb_filter_entry *e) {
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

static void entry_drop(grb_filter_cache *c, grb_filter_entry *e) {
    grb_filter_entry **at = bucket_of(c, e->segment, e->hash);
    while (*at != e) at = &(*at)->chain;
    *at = e->chain;
    use_unlink(c, e);
    *e->link = e->next;
    if (e->next) e->next->link = e->link;
    c->counts.bytes -= entry_bytes(e);
    grb_docset_release(e->set);
    grb_free(c->allocator, e, sizeof *e + e->size);
}

static grb_filter_entry *entry_find(const grb_filter_cache *c,
                                    const grb_segment *s, uint32_t max_doc,
                                    const grb_filter_id *id) {
    grb_filter_entry *e;
    if (!c->table) return NULL;
    for (e = *bucket_of(c, s, id->hash); e; e = e->chain)
        if (e->segment == s && e->hash == id->hash && e->size == id->size &&
            e->set->max_doc == max_doc &&
            memcmp(e->name, id->bytes, id->size) == 0)
            break;
    return e;
}

grb_docset *grb_filter_cache_find(grb_filter_cache *c, const grb_segment *s,
                                  uint32_t max_doc, const grb_filter_id *id) {
    grb_docset *set = NULL;
    pthread_mutex_lock(&c->mutex);
    grb_filter_entry *e = entry_find(c, s, max_doc, id);
    if (e) {
        set = grb_docset_acquire(e->set);
        if (e != c->newest) {
            use_unlink(c, e);
            use_link(c, e);
        }
    }
    *(e ? &c->counts.hits : &c->counts.misses) += 1;
    pthread_mutex_unlock(&c->mutex);
    return set;
}

/* A segment's entries are all of one cache, which it holds. */
static bool segment_join(grb_filter_cache *c, grb_segment *s) {
    if (!s->filter_cache) s->filter_cache = grb_filter_cache_acquire(c);
    return s->filter_cache == c;
}

static void entry_add(grb_filter_cache *c, grb_segment *s,
                      grb_filter_entry *e) {
    grb_filter_entry **bucket = bucket_of(c, s, e->hash);
    while (c->oldest && c->counts.bytes + entry_bytes(e) > c->bytes_max) {
        entry_drop(c, c->oldest);
        c->counts.evictions++;
    }
    e->chain = *bucket;
    *bucket = e;
    use_link(c, e);
    e->next = s->filters;
    e->link = &s->filters;
    if (e->next) e->next->link = &e->next;
    s->filters = e;
    c->counts.bytes += entry_bytes(e);
}

void grb_filter_cache_put(grb_filter_cache *c, grb_segment *s,
                          const grb_filter_id *id, grb_docset *set) {
    grb_filter_entry *e = grb_alloc(c->allocator, sizeof *e + id->size);
    if (!e) return;
    e->segment = s;
    e->set = set;
    e->hash = id->hash;
    e->size = id->size;
    memcpy(e->name, id->bytes, id->size);
    pthread_mutex_lock(&c->mutex);
    bool kept = entry_bytes(e) <= c->bytes_max && table_ready(c) &&
                segment_join(c, s) && !entry_find(c, s, set->max_doc, id);
    if (kept) {
        grb_docset_acquire(set);
        entry_add(c, s, e);
    }
    pthread_mutex_unlock(&c->mutex);
    if (!kept) grb_free(c->allocator, e, sizeof *e + id->size);
}

void grb_filter_cache_counts(grb_filter_cache *c, grb_filter_counts *out) {
    pthread_mutex_lock(&c->mutex);
    *out = c->counts;
    pthread_mutex_unlock(&c->mutex);
}

/* Nobody else has the segment any more, so it may be looked at. */
void grb_segment_end(grb_segment *s) {
    grb_filter_cache *c = s->filter_cache;
    if (c) {
        pthread_mutex_lock(&c->mutex);
        while (s->filters) entry_drop(c, s->filters);
        pthread_mutex_unlock(&c->mutex);
        grb_filter_cache_release(c);
    }
    s->ops->destroy(s);
}
