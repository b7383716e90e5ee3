/* segment/order_read.c - documents of a column in the order of their values.
 *
 * A run of 65,536 documents has its places sorted by value where zone maps
 * would not tell much. A range is two binary searches a run: over every 64th
 * value, which lie together, and then over 64 places, whose values are looked
 * up in the column. So a range is counted without reading what is inside.
 *
 * Invariant: a place from the file is only ever a bit of a run's bitmap or
 * looked up by a function that checks it; a wrong order gives wrong answers
 * (grb_order_check finds it), never a read outside.
 * Threads: one a column.
 * Owns: nothing.
 */
#include "segment/column_file.h"

/* With more documents in the range, comparing all values is faster. */
#define SPARSE_PART 16u

grebe_status grb_order_open(grb_column_file *c, uint32_t run,
                            grb_order_run *out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    const uint8_t *entry = c->orders + (size_t)run * GRB_ORDER_ENTRY, *bytes;
    memset(out, 0, sizeof *out);
    out->first = run * GRB_ORDER_RUN;
    if (!c->orders) return GREBE_OK;
    uint64_t at = grb_load64(entry);
    uint32_t count = grb_load32(entry + 8);
    if (count == 0) return GREBE_OK;
    if (count > GRB_ORDER_RUN || count > c->f->max_doc - out->first)
        return grb_segfile_corrupt(c->f, GRB_SECTION_COLUMNS, at, err,
                                   "the size of an order");
    GRB_TRY(grb_segfile_view(c->f, GRB_SECTION_COLUMNS, at,
                             grb_order_size(count), c->arena, &bytes, err));
    out->count = count;
    out->samples = bytes;
    out->places = bytes + (size_t)grb_order_samples(count) * 8;
done:
    return status;
}

static inline uint32_t order_doc(const grb_order_run *r, uint32_t i) {
    return r->first + grb_load16(r->places + (size_t)i * 2);
}

/* Values of the run below `value`. */
static grebe_status order_rank(grb_column_file *c, const grb_order_run *r,
                               int64_t value, bool exact, uint32_t *rank,
                               grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t low = 0, high = grb_order_samples(r->count);
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((int64_t)grb_load64(r->samples + (size_t)middle * 8) < value)
            low = middle + 1;
        else
            high = middle;
    }
    *rank = low * GRB_ORDER_STEP;
    if (low == 0) return GREBE_OK;
    /* The sample before is below, the next one is not. */
    low = (low - 1) * GRB_ORDER_STEP + 1;
    high = GRB_MIN(low + GRB_ORDER_STEP - 1, r->count);
    while (exact && low < high) {
        uint32_t middle = low + (high - low) / 2;
        int64_t there;
        GRB_TRY(grb_column_file_value(c, order_doc(r, middle), &there, err));
        if (there < value)
            low = middle + 1;
        else
            high = middle;
    }
    *rank = low;
done:
    return status;
}

grebe_status grb_order_range(grb_column_file *c, const grb_order_run *r,
                             int64_t lower, int64_t upper, bool exact,
                             grb_order_part *out, grebe_error *err) {
    grebe_status status;
    uint32_t to = r->count;
    out->count = 0;
    GRB_TRY(order_rank(c, r, lower, exact, &out->from, err));
    if (upper < INT64_MAX)
        GRB_TRY(order_rank(c, r, upper + 1, exact, &to, err));
    if (to > out->from) out->count = to - out->from;
done:
    return status;
}

/* Looks for the range in a run once for all of its windows. */
static grebe_status order_find(grb_column_file *c, uint32_t run, int64_t lower,
                               int64_t upper, grebe_error *err) {
    grebe_status status;
    grb_order_found *found = &c->found;
    grb_order_run r;
    grb_order_part part;
    found->known = found->sparse = false;
    GRB_TRY(grb_order_open(c, run, &r, err));
    found->run = run;
    found->lower = lower;
    found->upper = upper;
    if (r.count > 0) {
        GRB_TRY(grb_order_range(c, &r, lower, upper, false, &part, err));
        found->sparse = part.count < r.count / SPARSE_PART;
    }
    if (found->sparse) {
        if (!found->bits)
            found->bits = grb_arena_line(c->arena, GRB_ORDER_RUN / 8);
        if (!found->bits) return grb_error_memory(err, GRB_ORDER_RUN / 8);
        memset(found->bits, 0, GRB_ORDER_RUN / 8);
        GRB_TRY(grb_order_range(c, &r, lower, upper, true, &part, err));
        for (uint32_t i = part.from; i < part.from + part.count; i++)
            grb_bit_set(found->bits, order_doc(&r, i) - r.first);
    }
    found->known = true;
done:
    return status;
}

grebe_status grb_order_between(grb_column_file *c, uint32_t base,
                               int64_t lower, int64_t upper, uint64_t *bits,
                               bool *done, grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_order_found *found = &c->found;
    uint32_t run = base / GRB_ORDER_RUN;
    *done = false;
    if (!c->orders) return GREBE_OK;
    if (!found->known || found->run != run || found->lower != lower ||
        found->upper != upper)
        GRB_TRY(order_find(c, run, lower, upper, err));
    if (!found->sparse) return GREBE_OK;
    const uint64_t *from = found->bits + base % GRB_ORDER_RUN / 64;
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) bits[i] &= from[i];
    *done = true;
done:
    return status;
}

/* Documents of the run that have a value. */
static grebe_status run_having(grb_column_file *c, uint32_t first,
                               uint32_t *having, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t end = GRB_MIN(c->f->max_doc - first, GRB_ORDER_RUN);
    *having = 0;
    for (uint32_t at = 0; at < end; at += GRB_WINDOW) {
        uint64_t bits[GRB_WINDOW_WORDS] = {0};
        for (uint32_t i = at; i < end && i < at + GRB_WINDOW; i++)
            grb_bit_set(bits, i - at);
        GRB_TRY(c->base.between(&c->base, first + at, INT64_MIN, INT64_MAX,
                                bits, err));
        for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++)
            *having += grb_popcount64(bits[i]);
    }
done:
    return status;
}

grebe_status grb_order_check(grb_column_file *c, uint32_t run, bool *sane,
                             grebe_error *err) {
    grebe_status status;
    grb_order_run r;
    uint32_t before = 0, having;
    int64_t last = INT64_MIN;
    GRB_TRY(grb_order_open(c, run, &r, err));
    GRB_TRY(run_having(c, r.first, &having, err));
    *sane = r.count == 0 || r.count == having;
    for (uint32_t i = 0; i < r.count && *sane; i++) {
        uint32_t doc = order_doc(&r, i);
        int64_t value;
        GRB_TRY(grb_column_file_value(c, doc, &value, err));
        *sane = value > last || (i && value == last && doc > before) ||
                (i == 0 && value == last);
        if (i % GRB_ORDER_STEP == 0)
            *sane &= value == (int64_t)grb_load64(
                                  r.samples + (size_t)i / GRB_ORDER_STEP * 8);
        last = value;
        before = doc;
    }
done:
    return status;
}
