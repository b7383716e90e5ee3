/* segment/order_write.c - the order of a column's values, run by run.
 *
 * Where the zone maps of a run's pages overlap, its documents are sorted by
 * value: by digits, from the lowest, which keeps documents of one value in
 * their order. A run is
 *
 *   i64 value of every 64th place    u16 places (document - first of the run)
 *
 * and lies behind the run's last page; an entry of 16 bytes a run {u64 place,
 * u32 values (0: no order), u32 0} follows the column's entries.
 *
 * Threads: one. Owns: the run at work, 1.25 MiB.
 */
#include "segment/write.h"

#define DIGIT_MAX 11u

void grb_order_init(grb_order *o, const grebe_allocator *a) {
    memset(o, 0, sizeof *o);
    o->allocator = a;
    grb_buf_init(&o->directory, a, 0);
}

void grb_order_deinit(grb_order *o) {
    for (int i = 0; i < 2; i++) {
        grb_free(o->allocator, o->values[i],
                 GRB_ORDER_RUN * sizeof *o->values[i]);
        grb_free(o->allocator, o->places[i],
                 GRB_ORDER_RUN * sizeof *o->places[i]);
    }
    grb_buf_deinit(&o->directory);
}

void grb_order_begin(grb_order *o) {
    grb_buf_clear(&o->directory);
    o->count = o->pages = 0;
    o->overlap = 0;
    o->written = false;
}

static grebe_status order_room(grb_order *o, grebe_error *err) {
    for (int i = 0; i < 2; i++) {
        size_t size = GRB_ORDER_RUN * sizeof *o->values[i];
        if (!o->values[i]) o->values[i] = grb_alloc(o->allocator, size);
        if (!o->places[i]) o->places[i] = grb_alloc(o->allocator, size / 4);
        if (!o->values[i] || !o->places[i]) return grb_error_memory(err, size);
    }
    return GREBE_OK;
}

grebe_status grb_order_page(grb_order *o, const int64_t *values,
                            uint32_t count, const uint64_t *present,
                            grebe_error *err) {
    grebe_status status = order_room(o, err);
    uint32_t n = o->count, first = o->pages * GRB_WINDOW;
    int64_t min = INT64_MAX, max = INT64_MIN;
    if (status != GREBE_OK) return status;
    memcpy(o->values[0] + n, values, (size_t)count * sizeof *values);
    for (uint32_t word = 0; word < GRB_WINDOW_WORDS; word++)
        for (uint64_t w = present[word]; w; w &= w - 1)
            o->places[0][n++] =
                (uint16_t)(first + word * 64 + (uint32_t)grb_ctz64(w));
    for (uint32_t i = 0; i < count; i++) {
        min = GRB_MIN(min, values[i]);
        max = GRB_MAX(max, values[i]);
    }
    if (count > 0) {
        o->min = o->count ? GRB_MIN(o->min, min) : min;
        o->max = o->count ? GRB_MAX(o->max, max) : max;
        o->overlap += (double)((uint64_t)max - (uint64_t)min);
    }
    o->count = n;
    o->pages++;
    return GREBE_OK;
}

/* One pass by the `bits` at `shift`; false: all have the same digit. */
static bool digit_sort(grb_order *o, int from, uint32_t shift, uint32_t bits) {
    uint32_t starts[1u << DIGIT_MAX] = {0}, at = 0;
    uint64_t mask = ((uint64_t)1 << bits) - 1, base = (uint64_t)o->min;
    const int64_t *values = o->values[from];
    const uint16_t *places = o->places[from];
    for (uint32_t i = 0; i < o->count; i++)
        starts[((uint64_t)values[i] - base) >> shift & mask]++;
    for (uint32_t digit = 0; digit <= mask; digit++) {
        uint32_t n = starts[digit];
        if (n == o->count) return false;
        starts[digit] = at;
        at += n;
    }
    for (uint32_t i = 0; i < o->count; i++) {
        uint32_t to = starts[((uint64_t)values[i] - base) >> shift & mask]++;
        o->values[!from][to] = values[i];
        o->places[!from][to] = places[i];
    }
    return true;
}

/* Which of the two arrays is sorted. */
static int order_sort(grb_order *o) {
    uint64_t span = (uint64_t)o->max - (uint64_t)o->min;
    uint32_t width = 64u - (uint32_t)grb_clz64(span);
    uint32_t passes = (width + DIGIT_MAX - 1) / DIGIT_MAX;
    uint32_t bits = (width + passes - 1) / passes;
    int from = 0;
    for (uint32_t pass = 0; pass < passes; pass++)
        if (digit_sort(o, from, pass * bits, bits)) from = !from;
    return from;
}

/* Whether zone maps would leave more than two pages for a value. */
static bool order_pays(const grb_order *o) {
    double span = (double)((uint64_t)o->max - (uint64_t)o->min);
    return o->count >= GRB_ORDER_MIN && span > 0 && o->overlap > 2 * span;
}

grebe_status grb_order_run_end(grb_order *o, grb_segout *out) {
    uint8_t entry[GRB_ORDER_ENTRY] = {0};
    if (o->pages == 0) return GREBE_OK;
    if (order_pays(o)) {
        int sorted = order_sort(o);
        const int64_t *values = o->values[sorted];
        grb_store64(entry, grb_segout_at(out));
        grb_store32(entry + 8, o->count);
        for (uint32_t i = 0; i < o->count; i += GRB_ORDER_STEP)
            grb_segout_put(out, values + i, sizeof *values);
        grb_segout_put(out, o->places[sorted],
                       (size_t)o->count * sizeof *o->places[sorted]);
        o->written = true;
    }
    grb_buf_put(&o->directory, entry, sizeof entry);
    o->count = o->pages = 0;
    o->overlap = 0;
    return out->status;
}
