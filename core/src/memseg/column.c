/* memseg/column.c - columns of the growing segment, a window at a time.
 *
 * Documents 0 .. 4,095 lie in seven pages and are put together in the cursor's
 * buffer; later windows are one page each, whose numbers are handed out where
 * they lie once the whole window is within the bounds.
 *
 * Invariant: presence bits at or above max_doc are never given out; a value
 *   is read only where a bit below max_doc stands.
 * Threads: a cursor belongs to one; any number beside the writer.
 */
#include "memseg/parts.h"

typedef struct mem_column {
    grb_column c;
    grb_memseg *s;
    grb_mem_field *f;
    grb_arena *arena;
    grb_bounds bounds;
    uint32_t field;
    uint64_t *present; /* GRB_WINDOW_WORDS */
    int64_t *values;
    size_t value_room;
    uint32_t *offsets;
    int64_t *got; /* of get */
    size_t got_room;
    const uint32_t *ranks;
} mem_column;

static bool values_room(mem_column *m, int64_t **values, size_t *room,
                        size_t want) {
    if (want <= *room) return true;
    size_t wider = GRB_MAX(want, *room * 2);
    int64_t *grown = grb_arena_line(m->arena, wider * sizeof *grown);
    if (!grown) return false;
    *values = grown;
    *room = wider;
    return true;
}

static inline uint32_t ord_term(const grb_mem_field *f, uint32_t ord) {
    uint32_t place, page = grb_page_of(ord, &place);
    return ((const uint32_t *)grb_paged_page(&f->ords, page))[place];
}

/* Copies `count` values of the log from `first` on. */
static void log_copy(const grb_mem_field *f, uint32_t first, uint32_t count,
                     int64_t *out) {
    while (count) {
        uint32_t place, page = grb_page_of(first, &place);
        uint32_t n = GRB_MIN(grb_page_size(page) - place, count);
        const void *values = grb_paged_page(&f->log, page);
        if (f->kind == GREBE_KEYWORD)
            for (uint32_t i = 0; i < n; i++)
                out[i] = ((const uint32_t *)values)[place + i];
        else
            memcpy(out, (const int64_t *)values + place, n * 8);
        out += n;
        first += n;
        count -= n;
    }
}

/* ---- windows ---- */

/* Presence bits and zone of one page, documents from `first` on. */
static void page_present(const mem_column *m, const grb_values_page *p,
                         uint32_t page, uint32_t first,
                         grb_column_window *out) {
    uint32_t size = grb_page_size(page);
    uint64_t *words = m->present + (first - out->base) / 64;
    uint64_t any = 0;
    for (uint32_t i = 0; i < size / 64; i++) {
        uint64_t word =
            p ? atomic_load_explicit(&p->present[i], memory_order_relaxed) : 0;
        uint32_t at = first + i * 64;
        if (at >= m->bounds.max_doc)
            word = 0;
        else if (m->bounds.max_doc - at < 64)
            word &= ((uint64_t)1 << (m->bounds.max_doc - at)) - 1;
        words[i] = word;
        any |= word;
    }
    if (!any) return;
    int64_t min = (int64_t)(GRB_MIN_MASK ^ atomic_load_explicit(
                                               &p->min, memory_order_relaxed));
    int64_t max = (int64_t)(GRB_MAX_MASK ^ atomic_load_explicit(
                                               &p->max, memory_order_relaxed));
    if (!out->any || min < out->min) out->min = min;
    if (!out->any || max > out->max) out->max = max;
    out->any = true;
}

/* Values of single columns: by document. */
static void page_values(const mem_column *m, grb_values_page *p, uint32_t page,
                        uint32_t first, uint32_t base) {
    uint32_t count = GRB_MIN(grb_page_size(page), m->bounds.max_doc - first);
    const void *values = grb_values_at(p, page);
    int64_t *to = m->values + (first - base);
    if (m->f->kind != GREBE_KEYWORD) {
        memcpy(to, values, count * sizeof *to);
        return;
    }
    for (uint32_t i = 0; i < count; i++) to[i] = ((const uint32_t *)values)[i];
}

static inline uint64_t span_of(const mem_column *m, uint32_t doc) {
    uint32_t place, page = grb_page_of(doc, &place);
    grb_values_page *p = grb_paged_page(&m->f->column, page);
    return ((const uint64_t *)grb_values_at(p, page))[place];
}

/* Values of many columns: spans of one stretch of the log. */
static grebe_status window_many(mem_column *m, grb_column_window *out,
                                grebe_error *err) {
    uint32_t total = 0, first = UINT32_MAX;
    if (!m->offsets)
        m->offsets = grb_arena_alloc(m->arena, (GRB_WINDOW + 1) * 4);
    if (!m->offsets) return grb_error_memory(err, (GRB_WINDOW + 1) * 4);
    for (uint32_t i = 0; i < out->count; i++) {
        m->offsets[i] = total;
        if (!grb_bit(m->present, i)) continue;
        uint64_t span = span_of(m, out->base + i);
        if (first == UINT32_MAX) first = (uint32_t)(span >> 32);
        total += (uint32_t)span;
    }
    m->offsets[out->count] = total;
    if (!values_room(m, &m->values, &m->value_room,
                     GRB_MAX(total, GRB_WINDOW)))
        return grb_error_memory(err, (size_t)total * 8);
    if (total) log_copy(m->f, first, total, m->values);
    out->values = m->values;
    out->offsets = m->offsets;
    return GREBE_OK;
}

static grebe_status window_single(mem_column *m, grb_column_window *out,
                                  grebe_error *err) {
    uint32_t place, first = out->base, end = out->base + out->count;
    uint32_t page = grb_page_of(first, &place);
    grb_values_page *p = grb_paged_page(&m->f->column, page);
    if (p && out->base && out->count == GRB_WINDOW &&
        m->f->kind != GREBE_KEYWORD) {
        out->values = grb_values_at(p, page);
        return GREBE_OK;
    }
    if (!values_room(m, &m->values, &m->value_room, GRB_WINDOW))
        return grb_error_memory(err, GRB_WINDOW * 8);
    for (; first < end; first += grb_page_size(page), page++) {
        p = grb_paged_page(&m->f->column, page);
        if (p) page_values(m, p, page, first, out->base);
    }
    out->values = m->values;
    return GREBE_OK;
}

static grebe_status column_window(grb_column *c, uint32_t base,
                                  bool values_wanted, grb_column_window *out,
                                  grebe_error *err) {
    mem_column *m = (mem_column *)c;
    memset(out, 0, sizeof *out);
    out->base = base;
    if (base >= m->bounds.max_doc || base % GRB_WINDOW) return GREBE_OK;
    out->count = GRB_MIN(m->bounds.max_doc - base, GRB_WINDOW);
    if (!m->present) m->present = grb_arena_line(m->arena, GRB_WINDOW / 8);
    if (!m->present) return grb_error_memory(err, GRB_WINDOW / 8);
    uint32_t place, page = grb_page_of(base, &place);
    for (uint32_t first = base; first < base + GRB_WINDOW;
         first += grb_page_size(page), page++)
        page_present(m, grb_paged_page(&m->f->column, page), page, first, out);
    if (!out->any || !values_wanted) return GREBE_OK;
    uint32_t held = 0;
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++)
        held += grb_popcount64(m->present[i]);
    out->all = held == out->count;
    out->present = m->present;
    return m->f->many ? window_many(m, out, err) : window_single(m, out, err);
}

static grebe_status column_get(grb_column *c, uint32_t doc,
                               const int64_t **values, uint32_t *count,
                               grebe_error *err) {
    mem_column *m = (mem_column *)c;
    *values = NULL;
    *count = 0;
    if (doc >= m->bounds.max_doc) return GREBE_OK;
    uint32_t place, page = grb_page_of(doc, &place);
    grb_values_page *p = grb_paged_page(&m->f->column, page);
    if (!p || !(atomic_load_explicit(&p->present[place / 64],
                                     memory_order_relaxed) >>
                    (place & 63) &
                1))
        return GREBE_OK;
    const void *items = grb_values_at(p, page);
    uint64_t span = m->f->many ? ((const uint64_t *)items)[place] : 1;
    if (!values_room(m, &m->got, &m->got_room, (uint32_t)span))
        return grb_error_memory(err, (uint32_t)span * sizeof(int64_t));
    if (m->f->many)
        log_copy(m->f, (uint32_t)(span >> 32), (uint32_t)span, m->got);
    else if (m->f->kind == GREBE_KEYWORD)
        m->got[0] = ((const uint32_t *)items)[place];
    else
        m->got[0] = ((const int64_t *)items)[place];
    *values = m->got;
    *count = (uint32_t)span;
    return GREBE_OK;
}

/* ---- ordinals ---- */

static grebe_status column_ord_bytes(grb_column *c, uint32_t ord,
                                     const uint8_t **bytes, uint32_t *size,
                                     grebe_error *err) {
    mem_column *m = (mem_column *)c;
    if (ord >= c->ord_count)
        return grb_error(err, GREBE_INTERNAL, "ordinal %u of %u", ord,
                         c->ord_count);
    const grb_record *r = grb_memseg_record(m->s, ord_term(m->f, ord));
    *bytes = grb_record_bytes(r);
    *size = r->size;
    return GREBE_OK;
}

static grebe_status column_ord_find(grb_column *c, const void *bytes,
                                    size_t size, uint32_t *ord,
                                    grebe_error *err) {
    mem_column *m = (mem_column *)c;
    grb_term_key key;
    *ord = UINT32_MAX;
    if (c->kind != GREBE_KEYWORD || size > GREBE_TERM_SIZE_MAX)
        return GREBE_OK;
    grb_term_key_make(bytes, (uint32_t)size, m->field, &key);
    uint32_t id = grb_memseg_id(m->s, m->bounds.term_count, m->field, &key);
    if (id == UINT32_MAX) return GREBE_OK;
    *ord = grb_memseg_record(m->s, id)->first_tf;
    return GREBE_OK;
}

/* Ranks of all ordinals of the bounds, published for the readers after us. */
static grebe_status ranks_build(mem_column *m, grb_ranks *old,
                                const grb_ranks **out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t n = m->c.ord_count, count = 0;
    uint32_t *ids = grb_alloc(m->s->core.allocator, (size_t)n * 4);
    grb_ranks *made =
        grb_memseg_make(m->s, sizeof *made + (size_t)n * sizeof(uint32_t));
    if (!ids || !made) {
        status = grb_error_memory(err, (size_t)n * 4);
        goto done;
    }
    made->count = n;
    GRB_TRY(grb_memseg_ordered(m->s, m->bounds.term_count, m->field, ids, n,
                               &count, err));
    for (uint32_t i = 0; i < count; i++)
        made->ranks[grb_memseg_record(m->s, ids[i])->first_tf] = i;
    /* A list for more ordinals stays; ours then lives with it. */
    while (!old || old->count < n)
        if (atomic_compare_exchange_strong_explicit(&m->f->ranks, &old, made,
                                                    memory_order_acq_rel,
                                                    memory_order_acquire))
            break;
    grb_memseg_keep(m->s, made);
    *out = made;
    made = NULL;
done:
    grb_free(m->s->core.allocator, ids, (size_t)n * 4);
    grb_memseg_unmake(m->s, made);
    return status;
}

/* Ranks among the first `n` ordinals from ranks among more of them. */
static grebe_status ranks_narrow(mem_column *m, const grb_ranks *wide,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    const grebe_allocator *a = m->s->core.allocator;
    uint32_t n = m->c.ord_count, rank = 0;
    uint32_t *ords = grb_alloc(a, (size_t)wide->count * 4);
    uint32_t *ranks = grb_arena_alloc(m->arena, (size_t)n * 4);
    if (!ords || !ranks) {
        status = grb_error_memory(err, (size_t)wide->count * 4);
        goto done;
    }
    for (uint32_t i = 0; i < wide->count; i++) ords[wide->ranks[i]] = i;
    for (uint32_t i = 0; i < wide->count; i++)
        if (ords[i] < n) ranks[ords[i]] = rank++;
    m->ranks = ranks;
done:
    grb_free(a, ords, (size_t)wide->count * 4);
    return status;
}

static grebe_status column_ord_ranks(grb_column *c, const uint32_t **ranks,
                                     grebe_error *err) {
    grebe_status status = GREBE_OK;
    mem_column *m = (mem_column *)c;
    static const uint32_t none = 0;
    if (c->ord_count == 0) m->ranks = &none;
    if (!m->ranks) {
        grb_ranks *old =
            atomic_load_explicit(&m->f->ranks, memory_order_acquire);
        const grb_ranks *found = old;
        if (!old || old->count < c->ord_count)
            GRB_TRY(ranks_build(m, old, &found, err));
        if (found->count == c->ord_count)
            m->ranks = found->ranks;
        else
            GRB_TRY(ranks_narrow(m, found, err));
    }
    *ranks = m->ranks;
done:
    return status;
}

/* Ordinals whose term the bounds show. */
static uint32_t ords_shown(const grb_mem_field *f, uint32_t term_count) {
    uint32_t low = 0;
    uint32_t high = atomic_load_explicit(&f->ords_seen, memory_order_acquire);
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (ord_term(f, mid) < term_count)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

grebe_status grb_memseg_column(grb_segment *core, const grb_bounds *b,
                               uint32_t field, grb_arena *arena,
                               grb_column **out, grebe_error *err) {
    grb_memseg *s = (grb_memseg *)core;
    grb_mem_field *f = grb_memseg_field(s, field);
    *out = NULL;
    if (!f || b->max_doc == 0 ||
        !atomic_load_explicit(&f->column.dir, memory_order_acquire))
        return GREBE_OK;
    mem_column *m = grb_arena_zero(arena, sizeof *m);
    if (!m) return grb_error_memory(err, sizeof *m);
    m->c.kind = f->kind;
    m->c.many = f->many;
    m->c.ord_count = ords_shown(f, b->term_count);
    m->c.window = column_window;
    m->c.get = column_get;
    m->c.ord_bytes = column_ord_bytes;
    m->c.ord_ranks = column_ord_ranks;
    m->c.ord_find = column_ord_find;
    m->s = s;
    m->f = f;
    m->arena = arena;
    m->bounds = *b;
    m->field = field;
    *out = &m->c;
    return GREBE_OK;
}
