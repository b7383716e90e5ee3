/* api/hits.c - reading a page: grebe_hits_*.
 *
 * Checks arguments and hands on to result; what cannot fail answers 0 or NULL
 * for places that do not exist.
 *
 * Invariant: a page is freed once, by whoever gives the last reference back.
 * Threads: any.
 * Owns: nothing.
 */
#include "result/result.h"

static grebe_status hit_check(const grebe_hits *hits, uint64_t i,
                              grebe_error *err) {
    if (!hits)
        return grb_error(err, GREBE_ARGUMENT, "hits: NULL is not allowed");
    if (GRB_UNLIKELY(grb_snapshot_foreign(hits->snapshot)))
        return grb_error(err, GREBE_FORKED,
                         "hits: they belong to the parent of this process");
    if (i >= hits->count)
        return grb_error(
            err, GREBE_ARGUMENT, "hits: there is no hit %llu of %llu",
            (unsigned long long)i, (unsigned long long)hits->count);
    return GREBE_OK;
}

uint64_t grebe_hits_count(const grebe_hits *hits) {
    return hits ? hits->count : 0;
}

uint64_t grebe_hits_total(const grebe_hits *hits) {
    return hits ? hits->total : 0;
}

int grebe_hits_total_is_exact(const grebe_hits *hits) {
    return hits && hits->total_exact;
}

int grebe_hits_partial(const grebe_hits *hits) {
    return hits && hits->partial;
}

uint64_t grebe_hits_took_ns(const grebe_hits *hits) {
    return hits ? hits->took_ns : 0;
}

const float *grebe_hits_scores(const grebe_hits *hits) {
    return hits ? hits->scores : NULL;
}

grebe_status grebe_hits_key(const grebe_hits *hits, uint64_t i,
                            grebe_value *out, grebe_error *err) {
    grebe_status status = hit_check(hits, i, err);
    if (status != GREBE_OK) return status;
    if (!out)
        return grb_error(err, GREBE_ARGUMENT, "hits: NULL is not allowed");
    if (hits->snapshot->schema->key == GREBE_NO_FIELD)
        return grb_error(err, GREBE_SCHEMA, "hits: the schema has no key");
    return grb_hits_key_read(hits, i, out, err);
}

const int64_t *grebe_hits_int_keys(const grebe_hits *hits) {
    if (!hits || grb_snapshot_foreign(hits->snapshot)) return NULL;
    const grebe_schema *schema = hits->snapshot->schema;
    if (schema->key == GREBE_NO_FIELD ||
        schema->fields[schema->key].kind != GREBE_INT)
        return NULL;
    return grb_hits_int_keys_read(hits);
}

grebe_status grebe_hits_document(const grebe_hits *hits, uint64_t i,
                                 grebe_document *document, grebe_error *err) {
    grebe_status status = hit_check(hits, i, err);
    if (status != GREBE_OK) return status;
    if (!document)
        return grb_error(err, GREBE_ARGUMENT, "hits: NULL is not allowed");
    return grb_hits_fetch(hits, i, document, err);
}

static const grb_passages *passages_of(const grebe_hits *hits, uint64_t i,
                                       size_t request) {
    if (!hits || i >= hits->count || request >= hits->highlight_count)
        return NULL;
    return &hits->passages[i * hits->highlight_count + request];
}

uint32_t grebe_hits_passage_count(const grebe_hits *hits, uint64_t i,
                                  size_t request) {
    const grb_passages *p = passages_of(hits, i, request);
    return p ? p->count : 0;
}

const char *grebe_hits_passage(const grebe_hits *hits, uint64_t i,
                               size_t request, uint32_t j, size_t *size) {
    const grb_passages *p = passages_of(hits, i, request);
    bool found = p && j < p->count;
    if (size) *size = found ? p->items[j].size : 0;
    return found ? p->items[j].bytes : NULL;
}

uint64_t grebe_hits_facet_size(const grebe_hits *hits, size_t facet) {
    return hits && facet < hits->facet_count ? hits->facets[facet].count : 0;
}

grebe_status grebe_hits_facet(const grebe_hits *hits, size_t facet, uint64_t i,
                              grebe_value *value, uint64_t *count,
                              grebe_error *err) {
    if (hits && grb_snapshot_foreign(hits->snapshot))
        return grb_error(err, GREBE_FORKED,
                         "hits: they belong to the parent of this process");
    if (i >= grebe_hits_facet_size(hits, facet))
        return grb_error(err, GREBE_ARGUMENT,
                         "hits: facet %zu has no value %llu", facet,
                         (unsigned long long)i);
    const grb_facet_value *listed = &hits->facets[facet].values[i];
    if (value) *value = listed->value;
    if (count) *count = listed->count;
    return GREBE_OK;
}

uint64_t grebe_hits_facet_missing(const grebe_hits *hits, size_t facet) {
    return hits && facet < hits->facet_count ? hits->facets[facet].missing : 0;
}

uint64_t grebe_hits_plan_size(const grebe_hits *hits) {
    return hits ? hits->plan_count : 0;
}

grebe_status grebe_hits_plan(const grebe_hits *hits, uint64_t i,
                             grebe_plan_step *out, grebe_error *err) {
    if (!hits || !out)
        return grb_error(err, GREBE_ARGUMENT, "plan: NULL is not allowed");
    return grb_hits_plan_read(hits, i, out, err);
}

grebe_status grebe_hits_plan_operator(const grebe_hits *hits, uint64_t i,
                                      uint64_t j, grebe_plan_operator *out,
                                      grebe_error *err) {
    if (!hits || !out)
        return grb_error(err, GREBE_ARGUMENT, "plan: NULL is not allowed");
    return grb_hits_plan_operator_read(hits, i, j, out, err);
}

const char *grebe_hits_cursor(const grebe_hits *hits) {
    return hits && !grb_snapshot_foreign(hits->snapshot)
               ? grb_hits_cursor_read(hits)
               : NULL;
}

grebe_hits *grebe_hits_acquire(grebe_hits *hits) {
    if (hits) atomic_fetch_add_explicit(&hits->refs, 1, memory_order_relaxed);
    return hits;
}

void grebe_hits_release(grebe_hits *hits) {
    if (!hits ||
        atomic_fetch_sub_explicit(&hits->refs, 1, memory_order_acq_rel) != 1)
        return;
    grb_handle_died();
    /* Locks may be held for ever in a forked child: it frees nothing. */
    if (!grb_snapshot_foreign(hits->snapshot)) grb_hits_free(hits);
}
