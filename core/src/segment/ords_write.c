/* segment/ords_write.c - ordinals of a keyword column over several sources.
 *
 * Each source numbers its values for itself, in byte order or by arrival. The
 * new segment numbers those that a kept document has, in byte order, which is
 * also their order in the dictionary: no second dictionary is needed.
 *
 * Invariant: a map of a source has UINT32_MAX for values nobody keeps.
 * Threads: one. All memory is of the field arena.
 */
#include "segment/write.h"

typedef struct source_ords {
    grb_column *column;
    uint32_t *sorted; /* kept ordinals in byte order */
    uint32_t count, at;
    const uint8_t *bytes; /* of sorted[at] */
    uint32_t size;
    uint32_t *map;
} source_ords;

static void window_mark(const grb_segwriter *w, size_t s,
                        const grb_column_window *window, uint32_t ord_count,
                        uint32_t *map) {
    for (uint32_t i = 0; i < window->count; i++) {
        uint32_t from = i, to = i + 1;
        if (grb_segwriter_doc(w, s, window->base + i) == GRB_NO_DOC) continue;
        if (!window->all && !grb_bit(window->present, i)) continue;
        if (window->offsets) {
            from = window->offsets[i];
            to = window->offsets[i + 1];
        }
        for (; from < to; from++)
            if ((uint64_t)window->values[from] < ord_count)
                map[window->values[from]] = 0;
    }
}

/* Marks the ordinals of kept documents: 0 in the map. */
static grebe_status ords_mark(grb_segwriter *w, size_t s, source_ords *o) {
    grebe_status status = GREBE_OK;
    uint32_t max_doc = w->sources[s].bounds.max_doc;
    memset(o->map, 0xff, (size_t)o->column->ord_count * sizeof *o->map);
    for (uint32_t base = 0; base < max_doc; base += GRB_WINDOW) {
        grb_column_window window;
        GRB_TRY(o->column->window(o->column, base, true, &window, w->err));
        if (window.any)
            window_mark(w, s, &window, o->column->ord_count, o->map);
        if (max_doc - base <= GRB_WINDOW) break;
    }
done:
    return status;
}

static grebe_status ords_load(source_ords *o, grebe_error *err) {
    if (o->at >= o->count) return GREBE_OK;
    return o->column->ord_bytes(o->column, o->sorted[o->at], &o->bytes,
                                &o->size, err);
}

static grebe_status ords_open(grb_segwriter *w, size_t s, uint32_t field,
                              source_ords *o) {
    grebe_status status = GREBE_OK;
    const grb_source *source = &w->sources[s];
    const uint32_t *ranks;
    GRB_TRY(source->segment->ops->column_open(source->segment, &source->bounds,
                                              field, &w->field_arena,
                                              &o->column, w->err));
    if (!o->column) return GREBE_OK;
    uint32_t n = o->column->ord_count;
    size_t size = ((size_t)n + 1) * sizeof *o->map;
    o->map = grb_arena_alloc(&w->field_arena, size);
    o->sorted = grb_arena_alloc(&w->field_arena, size);
    if (!o->map || !o->sorted) return grb_error_memory(w->err, size);
    GRB_TRY(ords_mark(w, s, o));
    GRB_TRY(o->column->ord_ranks(o->column, &ranks, w->err));
    memset(o->sorted, 0xff, size);
    for (uint32_t ord = 0; ord < n; ord++) {
        uint32_t rank = ranks ? ranks[ord] : ord;
        if (o->map[ord] == 0 && rank < n) o->sorted[rank] = ord;
    }
    for (uint32_t rank = 0; rank < n; rank++)
        if (o->sorted[rank] != UINT32_MAX)
            o->sorted[o->count++] = o->sorted[rank];
    status = ords_load(o, w->err);
done:
    return status;
}

/* Gives the least value of all sources the next number. */
static grebe_status least_take(grb_segwriter *w, source_ords *all,
                               source_ords *least, uint32_t number) {
    grebe_status status = GREBE_OK;
    for (size_t s = 0; s < w->count; s++) {
        source_ords *o = &all[s];
        if (o == least || o->at >= o->count ||
            grb_bytes_order(o->bytes, o->size, least->bytes, least->size))
            continue;
        o->map[o->sorted[o->at++]] = number;
        GRB_TRY(ords_load(o, w->err));
    }
    least->map[least->sorted[least->at++]] = number;
    status = ords_load(least, w->err);
done:
    return status;
}

grebe_status grb_ords_join(grb_segwriter *w, uint32_t field, grb_ords *out,
                           void (*visit)(void *context, const uint8_t *bytes,
                                         uint32_t size),
                           void *context) {
    grebe_status status = GREBE_OK;
    size_t size = (w->count + 1) * sizeof(source_ords);
    source_ords *all = grb_arena_zero(&w->field_arena, size);
    out->count = 0;
    out->map =
        grb_arena_zero(&w->field_arena, (w->count + 1) * sizeof *out->map);
    if (!all || !out->map) return grb_error_memory(w->err, size);
    for (size_t s = 0; s < w->count; s++) {
        GRB_TRY(ords_open(w, s, field, &all[s]));
        out->map[s] = all[s].map;
    }
    for (;;) {
        source_ords *least = NULL;
        for (size_t s = 0; s < w->count; s++) {
            source_ords *o = &all[s];
            if (o->at >= o->count) continue;
            if (!least || grb_bytes_order(o->bytes, o->size, least->bytes,
                                          least->size) < 0)
                least = o;
        }
        if (!least) break;
        if (visit) visit(context, least->bytes, least->size);
        GRB_TRY(least_take(w, all, least, out->count));
        out->count++;
    }
done:
    return status;
}
