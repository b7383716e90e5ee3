/* api/search.c - one search, from the request to the page.
 *
 * Everything a search needs for itself lies in one arena that is warm from the
 * search before: the fixed cost is what counts for small ones.
 * Arguments are checked before anything runs.
 *
 * Invariant: the answer is built aside; the caller gets a whole page or an
 * error.
 * Threads: any; a searcher is immutable.
 * Owns: the arena of the search.
 */
#include "api/spare.h"
#include "engine/engine.h"
#include "result/result.h"
#include "search/plan.h"

#define SEARCH_MEMORY_MAX ((size_t)64 << 20)

struct grebe_cancel {
    _Atomic int set;
};

typedef struct search_run {
    grebe_searcher *searcher;
    const grebe_search_request *request;
    const grebe_allocator *allocator;
    grb_arena arena;
    grb_search_context context;
    grb_sort_plan plan;
    grb_after after;
    grb_weight *main; /* NULL: all documents */
    const grb_weight **filters;
    size_t filter_count;
    grb_collector collector;
    grb_plan plan_made; /* of the context, if one is asked for */
    bool collecting;    /* the collector is to be freed */
    bool partial;       /* the deadline has passed */
} search_run;

static bool query_is_all(const grebe_query *query) {
    return !query || query->type == GRB_QUERY_ALL;
}

static grebe_status request_check(const search_run *s, grebe_error *err) {
    const grebe_search_request *r = s->request;
    if (r->after && r->offset > 0)
        return grb_error(err, GREBE_ARGUMENT,
                         "search: \"after\" and \"offset\" exclude each "
                         "other");
    if (r->limit != GREBE_LIMIT_ALL &&
        (r->limit > GREBE_WINDOW_MAX ||
         r->offset > GREBE_WINDOW_MAX - r->limit))
        return grb_error(err, GREBE_LIMIT,
                         "search: offset + limit is above %u",
                         GREBE_WINDOW_MAX);
    if ((r->filter_count && !r->filters) || (r->facet_count && !r->facets) ||
        (r->highlight_count && !r->highlights))
        return grb_error(err, GREBE_ARGUMENT,
                         "search: a count without its array");
    return grb_highlight_check(s->context.schema, r->highlights,
                               r->highlight_count, err);
}

static grebe_status run_init(search_run *s, uint64_t begun, grebe_error *err) {
    const grebe_search_request *r = s->request;
    grb_snapshot *snapshot = s->searcher->snapshot;
    grb_search_context *c = &s->context;
    c->snapshot = snapshot;
    c->schema = snapshot->schema;
    c->arena = &s->arena;
    c->filters = s->searcher->counters->filters;
    if (r->plan) {
        grb_plan_init(&s->plan_made);
        c->plan = &s->plan_made;
    }
    if (r->timeout_ns)
        c->budget.deadline_ns = r->timeout_ns > UINT64_MAX - begun
                                    ? UINT64_MAX
                                    : begun + r->timeout_ns;
    c->budget.cancel = r->cancel ? &r->cancel->set : NULL;
    c->budget.work_max = r->work_max;
    grebe_status status = request_check(s, err);
    if (status == GREBE_OK)
        status = grb_sort_parse(c->schema, r->sort, &s->plan, err);
    if (status == GREBE_OK && r->after)
        status =
            grb_after_parse(&s->plan, r->after, &s->arena, &s->after, err);
    return status;
}

static grebe_status weights_new(search_run *s, grebe_error *err) {
    const grebe_search_request *r = s->request;
    grebe_status status = GREBE_OK;
    if (!query_is_all(r->query))
        GRB_TRY(grb_weight_new(&s->context, r->query,
                               s->plan.scored && r->limit > 0, &s->main, err));
    if (r->filter_count == 0) return GREBE_OK;
    size_t size = r->filter_count * sizeof *s->filters;
    s->filters = grb_arena_alloc(&s->arena, size);
    if (!s->filters) return grb_error_memory(err, size);
    for (size_t i = 0; i < r->filter_count; i++) {
        if (query_is_all(r->filters[i])) continue;
        grb_weight *weight;
        GRB_TRY(
            grb_weight_new(&s->context, r->filters[i], false, &weight, err));
        s->filters[s->filter_count++] = weight;
    }
done:
    return status;
}

/* How many places a page of this request can need. */
static uint64_t keep_count(const search_run *s) {
    const grebe_search_request *r = s->request;
    uint64_t live = s->searcher->snapshot->live;
    if (r->limit == 0) return 0;
    if (r->limit >= live || r->offset >= live - r->limit) return live;
    return r->limit + r->offset;
}

static grebe_status collector_new(search_run *s, uint64_t keep,
                                  grebe_error *err) {
    const grebe_search_request *r = s->request;
    grb_collect_request wanted = {
        .plan = &s->plan,
        .after = r->after ? &s->after : NULL,
        .keep = keep,
        .total_max = r->total_max,
        .total_known = !s->main && s->filter_count == 0,
        .constant = !s->main,
        .facets = r->facets,
        .facet_count = r->facet_count,
    };
    s->collecting = true;
    return grb_collector_init(&s->collector, &s->context, s->allocator,
                              &wanted, err);
}

/* A passed deadline is an answer if the caller said so. */
static grebe_status run_forgive(search_run *s, grebe_status status) {
    if (status != GREBE_DEADLINE || !s->request->partial) return status;
    s->partial = true;
    return GREBE_OK;
}

static void total_write(const search_run *s, grebe_hits *hits) {
    uint64_t bound = s->request->total_max;
    hits->partial = s->partial;
    hits->total = s->collector.total;
    if (s->collector.request.total_known && !s->partial)
        hits->total = s->searcher->snapshot->live;
    hits->total_exact = !s->partial;
    if (bound != GREBE_TOTAL_EXACT && hits->total > bound) {
        hits->total = bound;
        hits->total_exact = false;
    }
}

static grebe_status facets_write(search_run *s, grebe_hits *hits,
                                 grebe_error *err) {
    size_t count = s->request->facet_count;
    if (count == 0) return GREBE_OK;
    size_t size = count * sizeof *hits->facets;
    hits->facets = grb_arena_zero(&hits->arena, size);
    if (!hits->facets) return grb_error_memory(err, size);
    hits->facet_count = count;
    for (size_t i = 0; i < count; i++) {
        grebe_status status = grb_facet_finish(
            s->collector.facets[i], &hits->arena, &hits->facets[i], err);
        if (status != GREBE_OK) return status;
    }
    return GREBE_OK;
}

static void owner_release(void *object) {
    grb_counters_release(object);
}

/* Puts what was found in order. A partial answer wants that too, however late
 * it is; a cancelled search does not. */
static grebe_status order_finish(search_run *s, grebe_error *err) {
    grb_budget *budget = &s->context.budget;
    uint64_t deadline = budget->deadline_ns;
    if (s->request->partial) budget->deadline_ns = 0;
    grebe_status status = grb_collector_finish(&s->collector, err);
    budget->deadline_ns = deadline;
    return status;
}

static grebe_status page_write(search_run *s, grebe_hits **out,
                               grebe_error *err) {
    grebe_status status;
    grb_counters *counters = s->searcher->counters;
    grb_hits_owner owner = {.object = counters,
                            .release = owner_release,
                            .allocator = counters->allocator,
                            .stored_blocks = &counters->stored_blocks};
    const grebe_search_request *r = s->request;
    grebe_hits *hits;
    GRB_TRY(order_finish(s, err));
    GRB_TRY(grb_hits_new(&owner, s->searcher->snapshot, &s->collector,
                         r->offset, &hits, err));
    grb_counters_acquire(counters);
    grb_snapshot_acquire(s->searcher->snapshot);
    total_write(s, hits);
    status = facets_write(s, hits, err);
    if (status == GREBE_OK && s->context.plan) {
        grb_plan_end(&s->context);
        status = grb_hits_plan_take(hits, s->context.plan, err);
        s->context.plan = NULL; /* what follows is not of it */
    }
    if (status == GREBE_OK)
        status = run_forgive(s, grb_highlight_page(hits, &s->context, s->main,
                                                   r->highlights,
                                                   r->highlight_count, err));
    hits->partial = s->partial;
    if (status != GREBE_OK) {
        grb_hits_free(hits);
        return status;
    }
    *out = hits;
done:
    return status;
}

grebe_status grb_search(grebe_searcher *searcher,
                        const grebe_search_request *request, grebe_hits **out,
                        grebe_error *err) {
    grb_counters *counters = searcher->counters;
    uint64_t begun = grb_clock_ns();
    grebe_status status;
    search_run s;
    /* The cells of plan, cursor and collector are filled as they are used. */
    memset(&s.context, 0, sizeof s.context);
    s.searcher = searcher;
    s.request = request;
    s.allocator = counters->allocator;
    s.main = NULL;
    s.filters = NULL;
    s.filter_count = 0;
    s.collecting = s.partial = false;
    if (!grb_spare_take(&s.arena, s.allocator, SEARCH_MEMORY_MAX))
        return grb_error_memory(err, SEARCH_MEMORY_MAX);
    GRB_TRY(run_init(&s, begun, err));
    GRB_TRY(run_forgive(&s, weights_new(&s, err)));
    GRB_TRY(collector_new(&s, s.partial ? 0 : keep_count(&s), err));
    if (!s.partial)
        GRB_TRY(
            run_forgive(&s, grb_collector_run(&s.collector, s.main, s.filters,
                                              s.filter_count, err)));
    GRB_TRY(page_write(&s, out, err));
    grb_handle_born();
    (*out)->took_ns = grb_clock_ns() - begun;
    atomic_fetch_add_explicit(&counters->search_ns, (*out)->took_ns,
                              memory_order_relaxed);
done:
    if (s.collecting) grb_collector_deinit(&s.collector);
    grb_search_context_end(&s.context);
    grb_spare_give(&s.arena);
    atomic_fetch_add_explicit(&counters->searches, 1, memory_order_relaxed);
    if (s.context.blocks_decoded > 0)
        atomic_fetch_add_explicit(&counters->blocks_decoded,
                                  s.context.blocks_decoded,
                                  memory_order_relaxed);
    return status;
}

grebe_status grebe_searcher_search(grebe_searcher *searcher,
                                   const grebe_search_request *request,
                                   grebe_hits **out, grebe_error *err) {
    if (!searcher || !request || !out)
        return grb_error(err, GREBE_ARGUMENT, "search: NULL is not allowed");
    if (GRB_UNLIKELY(grb_snapshot_foreign(searcher->snapshot)))
        return grb_error(err, GREBE_FORKED,
                         "search: the searcher belongs to the parent of this "
                         "process");
    *out = NULL;
    return grb_search(searcher, request, out, err);
}

/* A flag belongs to no index, so it lives in the process's own memory. */
grebe_status grebe_cancel_new(grebe_cancel **out, grebe_error *err) {
    if (!out)
        return grb_error(err, GREBE_ARGUMENT, "cancel: NULL is not allowed");
    *out = NULL;
    grebe_cancel *cancel = grb_alloc(&grb_allocator_malloc, sizeof *cancel);
    if (!cancel) return grb_error_memory(err, sizeof *cancel);
    atomic_init(&cancel->set, 0);
    *out = cancel;
    return GREBE_OK;
}

void grebe_cancel_set(grebe_cancel *cancel) {
    if (cancel) atomic_store(&cancel->set, 1);
}

void grebe_cancel_clear(grebe_cancel *cancel) {
    if (cancel) atomic_store(&cancel->set, 0);
}

int grebe_cancel_is_set(const grebe_cancel *cancel) {
    return cancel && atomic_load(&cancel->set);
}

void grebe_cancel_free(grebe_cancel *cancel) {
    grb_free(&grb_allocator_malloc, cancel, cancel ? sizeof *cancel : 0);
}
