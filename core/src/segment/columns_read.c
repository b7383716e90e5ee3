/* segment/columns_read.c - windows and single values of a column.
 *
 * columns_write.c says how a page is kept. The index of a column is read when
 * it is opened, a page when its values are wanted.
 *
 * Invariant: the size of a page is checked against its counts before any of
 * it is read; ordinals are below ord_count.
 * Threads: one a column.
 */
#include "segment/column_file.h"
#include "segment/column_kernel.h"
#include "segment/column_window.h"

typedef grb_column_file column;

typedef struct entry {
    uint64_t at, base, step;
    uint32_t size, count, docs_with;
    int64_t min, max;
    uint32_t encoding, width, flags, ends_width;
} entry;

static void entry_get(const column *c, uint32_t page, entry *out) {
    const uint8_t *e = c->index + (size_t)page * GRB_COLUMN_ENTRY;
    out->at = grb_load64(e);
    out->size = grb_load32(e + 8);
    out->count = grb_load32(e + 12);
    out->min = (int64_t)grb_load64(e + 16);
    out->max = (int64_t)grb_load64(e + 24);
    out->base = grb_load64(e + 32);
    out->step = grb_load64(e + 40);
    out->encoding = e[48];
    out->width = e[49];
    out->flags = e[50];
    out->ends_width = e[51];
    out->docs_with = grb_load32(e + 52);
}

static inline uint32_t page_docs(const column *c, uint32_t page) {
    return GRB_MIN(GRB_WINDOW, c->f->max_doc - page * GRB_WINDOW);
}

static grebe_status page_corrupt(const column *c, const entry *e,
                                 grebe_error *err, const char *what) {
    return grb_segfile_corrupt(c->f, GRB_SECTION_COLUMNS, e->at, err, what);
}

static bool width_allowed(uint32_t width) {
    return width <= 56 || width == 64;
}

/* Extremes of an entry against its base, and of ordinals against the values
 * there are: single values then need only be compared with the greatest. */
static bool extremes_sane(const column *c, const entry *e) {
    if (e->step == 0 && e->base != (uint64_t)e->min) return false;
    if (e->step == 0 && e->width == 0 && e->min != e->max) return false;
    return c->base.kind != GREBE_KEYWORD ||
           (e->min >= 0 && e->max < (int64_t)c->base.ord_count);
}

/* Counts of an entry against each other and against the page's size. */
static bool entry_sane(const column *c, const entry *e, uint32_t docs) {
    uint64_t size = e->flags & GRB_PAGE_ALL ? 0 : GRB_WINDOW / 8;
    bool many = e->flags & GRB_PAGE_MANY;
    if (many != c->base.many || !width_allowed(e->width) ||
        !width_allowed(e->ends_width) || e->docs_with == 0 ||
        e->docs_with > docs || e->min > e->max ||
        ((e->flags & GRB_PAGE_ALL) && e->docs_with != docs) ||
        !extremes_sane(c, e))
        return false;
    if (many ? e->count < e->docs_with || e->width == 0 || e->ends_width > 32
             : e->count != e->docs_with)
        return false;
    if (many) size += grb_bits_size(docs, e->ends_width);
    if (e->width) size += grb_bits_size(e->count, e->width);
    return size == e->size;
}

/* Presence against the count, so that ranks stay inside. */
static bool present_sane(const column *c, const entry *e) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++)
        count += grb_popcount64(grb_load64(c->present + i * 8));
    uint32_t tail = c->docs;
    for (; tail < GRB_WINDOW && tail % 64; tail++)
        if (c->present[tail / 8] >> tail % 8 & 1) return false;
    for (; tail < GRB_WINDOW; tail += 64)
        if (grb_load64(c->present + tail / 8)) return false;
    return count == e->docs_with;
}

static grebe_status page_load(column *c, uint32_t page, const entry *e,
                              grebe_error *err) {
    grebe_status status = GREBE_OK;
    const uint8_t *bytes;
    if (c->page == page) return GREBE_OK;
    c->page = UINT32_MAX;
    c->docs = page_docs(c, page);
    if (!entry_sane(c, e, c->docs))
        return page_corrupt(c, e, err, "the entry of a column page");
    GRB_TRY(grb_segfile_view(c->f, GRB_SECTION_COLUMNS, e->at, e->size,
                             c->arena, &bytes, err));
    c->present = NULL;
    if (!(e->flags & GRB_PAGE_ALL)) {
        c->present = bytes;
        bytes += GRB_WINDOW / 8;
        if (!present_sane(c, e))
            return page_corrupt(c, e, err, "presence in a column page");
    }
    c->ends = bytes;
    if (c->base.many) bytes += grb_bits_size(c->docs, e->ends_width);
    c->packed = bytes;
    c->page = page;
done:
    return status;
}

static inline int64_t value_get(const column *c, const entry *e, uint32_t i) {
    return (int64_t)(e->base + e->step * i +
                     grb_bits_get(c->packed, i, e->width));
}

/* Hostile values outside the zone map would slip through pruning. */
static inline bool value_sane(const entry *e, int64_t v) {
    return v >= e->min && v <= e->max;
}

static grebe_status room_make(column *c, uint64_t count, grebe_error *err) {
    count = GRB_MAX(count, GRB_WINDOW);
    if (count <= c->room && c->values) return GREBE_OK;
    size_t size = (size_t)count * sizeof *c->values;
    c->values = grb_arena_line(c->arena, size);
    c->dense = grb_arena_line(c->arena, size);
    if (!c->offsets)
        c->offsets = grb_arena_line(c->arena, (GRB_WINDOW + 1) * 4);
    if (!c->values || !c->dense || !c->offsets) {
        c->values = NULL;
        return grb_error_memory(err, size);
    }
    c->room = count;
    return GREBE_OK;
}

static void page_decoded(const column *c) {
    atomic_fetch_add_explicit(&c->f->base.column_pages, 1,
                              memory_order_relaxed);
}

/* Decodes the page's values in their order; false: outside the bounds. */
static bool dense_make(column *c, const entry *e, int64_t *out) {
    int64_t min = INT64_MAX, max = INT64_MIN;
    page_decoded(c);
    if (e->width)
        grb_bits_unpack(c->packed, e->count, e->width, (uint64_t *)out);
    else
        memset(out, 0, (size_t)e->count * 8);
    for (uint32_t i = 0; i < e->count; i++) {
        int64_t v = (int64_t)((uint64_t)out[i] + e->base + e->step * i);
        min = GRB_MIN(min, v);
        max = GRB_MAX(max, v);
        out[i] = v;
    }
    return value_sane(e, min) && value_sane(e, max);
}

/* Spreads the values of documents that have one to their places. */
static void dense_spread(column *c, const int64_t *dense) {
    uint32_t n = 0;
    for (uint32_t word = 0; word < GRB_WINDOW_WORDS; word++)
        for (uint64_t w = c->words[word]; w; w &= w - 1)
            c->values[word * 64 + (uint32_t)grb_ctz64(w)] = dense[n++];
}

static bool offsets_make(column *c, const entry *e) {
    uint32_t before = 0;
    c->offsets[0] = 0;
    for (uint32_t i = 0; i < c->docs; i++) {
        uint32_t end = (uint32_t)grb_bits_get(c->ends, i, e->ends_width);
        bool has = !c->present || grb_bit(c->words, i);
        if (end < before || has != (end > before)) return false;
        c->offsets[i + 1] = before = end;
    }
    return before == e->count;
}

/* What the index says of the window at `first`. */
static void window_begin(const column *c, uint32_t first, entry *e,
                         grb_column_window *out) {
    uint32_t page = first / GRB_WINDOW;
    memset(out, 0, sizeof *out);
    out->base = first;
    if (page >= c->field->page_count || first % GRB_WINDOW) return;
    out->count = page_docs(c, page);
    entry_get(c, page, e);
    out->any = e->flags & GRB_PAGE_ANY;
    out->all = e->flags & GRB_PAGE_ALL;
    if (!out->any) return;
    out->min = e->min;
    out->max = e->max;
}

static void words_make(column *c, const grb_column_window *w) {
    memset(c->words, c->present || !w->any ? 0 : 0xff, sizeof c->words);
    if (w->any && c->present) memcpy(c->words, c->present, sizeof c->words);
}

static grebe_status column_window(grb_column *base, uint32_t first,
                                  bool values_wanted, grb_column_window *out,
                                  grebe_error *err) {
    grebe_status status = GREBE_OK;
    column *c = (column *)base;
    entry e;
    window_begin(c, first, &e, out);
    if (!out->any) {
        words_make(c, out);
        out->present = c->words;
        return GREBE_OK;
    }
    if (!values_wanted) return GREBE_OK;
    GRB_TRY(page_load(c, first / GRB_WINDOW, &e, err));
    GRB_TRY(room_make(c, e.count, err));
    words_make(c, out);
    bool spread = !base->many && c->present;
    int64_t *dense = spread ? (int64_t *)c->dense : c->values;
    if (!dense_make(c, &e, dense))
        return page_corrupt(c, &e, err, "values outside their bounds");
    if (spread) dense_spread(c, dense);
    if (base->many && !offsets_make(c, &e))
        return page_corrupt(c, &e, err, "ends of values");
    out->present = c->words;
    out->values = c->values;
    out->offsets = base->many ? c->offsets : NULL;
done:
    return status;
}

/* ---- a window in part ---- */

/* Looking at one value costs about as much as unpacking so many. */
#define PICK_COST 6u

/* Whether the page's values, less the least, are 32-bit numbers. */
static bool entry_narrow(const column *c, const entry *e) {
    return !c->base.many && e->step == 0 && e->width <= 32;
}

static grebe_status narrow_room(column *c, grebe_error *err) {
    size_t size = GRB_WINDOW * sizeof *c->narrow;
    if (c->packed_narrow) return GREBE_OK;
    c->narrow = grb_arena_line(c->arena, size);
    c->packed_narrow = grb_arena_line(c->arena, size);
    if (c->narrow && c->packed_narrow) return GREBE_OK;
    c->packed_narrow = NULL;
    return grb_error_memory(err, size);
}

/* All of a page's values less the least, in the order kept. */
static grebe_status narrow_make(column *c, const entry *e, grebe_error *err) {
    if (c->narrow_page == c->page) return GREBE_OK;
    c->narrow_page = UINT32_MAX;
    page_decoded(c);
    uint32_t most = grb_column_kernels_best.unpack(c->packed, e->count,
                                                   e->width, c->packed_narrow);
    if (most > (uint64_t)e->max - (uint64_t)e->min)
        return page_corrupt(c, e, err, "values outside their bounds");
    c->narrow_page = c->page;
    return GREBE_OK;
}

static inline uint32_t word_rank(const column *c, uint32_t word, uint32_t bit,
                                 uint32_t before) {
    if (!c->present) return word * 64 + bit;
    return before +
           grb_popcount64(c->words[word] & (((uint64_t)1 << bit) - 1));
}

/* Values of the documents in `bits`, one by one. */
static grebe_status few_pick(column *c, const entry *e, const uint64_t *bits,
                             bool narrow, grebe_error *err) {
    uint32_t rank = 0;
    for (uint32_t word = 0; word < GRB_WINDOW_WORDS; word++) {
        uint64_t w = bits[word] & c->words[word];
        for (; w; w &= w - 1) {
            uint32_t bit = (uint32_t)grb_ctz64(w);
            int64_t v = value_get(c, e, word_rank(c, word, bit, rank));
            if (!value_sane(e, v))
                return page_corrupt(c, e, err, "values outside their bounds");
            if (narrow)
                c->narrow[word * 64 + bit] = (uint32_t)((uint64_t)v - e->base);
            else
                c->values[word * 64 + bit] = v;
        }
        rank += grb_popcount64(c->words[word]);
    }
    return GREBE_OK;
}

static void narrow_spread(column *c) {
    uint32_t n = 0;
    for (uint32_t word = 0; word < GRB_WINDOW_WORDS; word++)
        for (uint64_t w = c->words[word]; w; w &= w - 1)
            c->narrow[word * 64 + (uint32_t)grb_ctz64(w)] =
                c->packed_narrow[n++];
}

/* Makes the page known, its presence in `words` (bits at and above the
 * documents may stand there without one), and says how many of `bits` have a
 * value. */
static grebe_status part_begin(column *c, const grb_column_window *w,
                               const entry *e, const uint64_t *bits,
                               uint32_t *wanted, grebe_error *err) {
    grebe_status status;
    *wanted = 0;
    GRB_TRY(page_load(c, w->base / GRB_WINDOW, e, err));
    GRB_TRY(narrow_room(c, err));
    words_make(c, w);
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++)
        *wanted += grb_popcount64(bits[i] & c->words[i]);
done:
    return status;
}

static grebe_status column_pick(grb_column *base, uint32_t first,
                                const uint64_t *bits, grb_column_window *out,
                                grebe_error *err) {
    grebe_status status;
    column *c = (column *)base;
    entry e;
    uint32_t wanted;
    window_begin(c, first, &e, out);
    if (!out->any || base->many)
        return column_window(base, first, true, out, err);
    GRB_TRY(part_begin(c, out, &e, bits, &wanted, err));
    bool narrow = entry_narrow(c, &e), few = wanted * PICK_COST < e.count;
    if (!narrow && !few) return column_window(base, first, true, out, err);
    if (!narrow) GRB_TRY(room_make(c, e.count, err));
    out->present = c->words;
    out->values = narrow ? NULL : c->values;
    out->narrow = narrow ? c->narrow : NULL;
    out->least = e.min;
    if (few) {
        status = few_pick(c, &e, bits, narrow, err);
        goto done;
    }
    GRB_TRY(narrow_make(c, &e, err));
    if (c->present)
        narrow_spread(c);
    else
        out->narrow = c->packed_narrow;
done:
    return status;
}

/* Takes out of `bits` the documents whose bit in `kept`, which has one a
 * value, is clear. */
static void kept_spread(const column *c, const uint64_t *kept,
                        uint64_t *bits) {
    uint32_t rank = 0;
    for (uint32_t word = 0; word < GRB_WINDOW_WORDS; word++) {
        uint64_t has = c->words[word], out = 0;
        uint32_t at = rank / 64, shift = rank % 64, n = grb_popcount64(has);
        uint64_t stream = n ? kept[at] >> shift : 0;
        if (n && shift && shift + n > 64)
            stream |= kept[at + 1] << (64 - shift);
        for (uint64_t w = has; w; w &= w - 1, stream >>= 1)
            out |= (w & (~w + 1)) & (~(stream & 1) + 1);
        bits[word] &= out;
        rank += n;
    }
}

static grebe_status few_between(column *c, const entry *e, int64_t lower,
                                int64_t upper, uint64_t *bits,
                                grebe_error *err) {
    uint32_t rank = 0;
    for (uint32_t word = 0; word < GRB_WINDOW_WORDS; word++) {
        uint64_t kept = 0;
        for (uint64_t w = bits[word] & c->words[word]; w; w &= w - 1) {
            uint32_t bit = (uint32_t)grb_ctz64(w);
            int64_t v = value_get(c, e, word_rank(c, word, bit, rank));
            if (!value_sane(e, v))
                return page_corrupt(c, e, err, "values outside their bounds");
            kept |= (uint64_t)(v >= lower && v <= upper) << bit;
        }
        bits[word] = kept;
        rank += grb_popcount64(c->words[word]);
    }
    return GREBE_OK;
}

/* The window is decided by its extremes: those with a value, or none. */
static grebe_status zone_between(column *c, const grb_column_window *w,
                                 const entry *e, int64_t lower, int64_t upper,
                                 uint64_t *bits, grebe_error *err) {
    grebe_status status = GREBE_OK;
    if (!w->any || w->max < lower || w->min > upper) {
        memset(bits, 0, GRB_WINDOW / 8);
        return GREBE_OK;
    }
    uint32_t wanted;
    if (w->all) return GREBE_OK;
    GRB_TRY(part_begin(c, w, e, bits, &wanted, err));
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) bits[i] &= c->words[i];
done:
    return status;
}

static grebe_status column_between(grb_column *base, uint32_t first,
                                   int64_t lower, int64_t upper,
                                   uint64_t *bits, grebe_error *err) {
    grebe_status status = GREBE_OK;
    column *c = (column *)base;
    grb_column_window w;
    uint64_t kept[GRB_WINDOW_WORDS + 1];
    uint32_t wanted;
    bool done;
    entry e;
    window_begin(c, first, &e, &w);
    if (!w.any || w.max < lower || w.min > upper ||
        (w.min >= lower && w.max <= upper))
        return zone_between(c, &w, &e, lower, upper, bits, err);
    if (base->many) goto whole;
    GRB_TRY(part_begin(c, &w, &e, bits, &wanted, err));
    if (wanted * PICK_COST < e.count)
        return few_between(c, &e, lower, upper, bits, err);
    GRB_TRY(grb_order_between(c, first, lower, upper, bits, &done, err));
    if (done) return GREBE_OK;
    if (!entry_narrow(c, &e)) goto whole;
    GRB_TRY(narrow_make(c, &e, err));
    lower = GRB_MAX(lower, e.min);
    upper = GRB_MIN(upper, e.max);
    grb_column_kernels_best.within(
        c->packed_narrow, e.count, (uint32_t)((uint64_t)lower - e.base),
        (uint32_t)((uint64_t)upper - (uint64_t)lower), kept);
    if (c->present)
        kept_spread(c, kept, bits);
    else
        for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++)
            bits[i] &= i * 64 < e.count ? kept[i] : 0;
done:
    return status;
whole:
    GRB_TRY(column_window(base, first, true, &w, err));
    grb_column_window_between(&w, lower, upper, bits);
    return status;
}

/* Those of one page whose value is in the range. */
static grebe_status page_count(column *c, uint32_t first, int64_t lower,
                               int64_t upper, bool exact, uint64_t *count,
                               grebe_error *err) {
    grebe_status status = GREBE_OK;
    grb_column_window w;
    uint64_t bits[GRB_WINDOW_WORDS] = {0};
    entry e;
    window_begin(c, first, &e, &w);
    if (!w.any || w.max < lower || w.min > upper) return GREBE_OK;
    if (w.min >= lower && w.max <= upper) {
        *count += e.docs_with;
        return GREBE_OK;
    }
    if (!exact) {
        *count += e.docs_with / 2;
        return GREBE_OK;
    }
    for (uint32_t i = 0; i < w.count; i++) grb_bit_set(bits, i);
    GRB_TRY(column_between(&c->base, first, lower, upper, bits, err));
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++)
        *count += grb_popcount64(bits[i]);
done:
    return status;
}

static grebe_status column_count(grb_column *base, int64_t lower,
                                 int64_t upper, bool exact, uint64_t *count,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    column *c = (column *)base;
    uint32_t max_doc = c->f->max_doc;
    *count = 0;
    for (uint32_t run = 0; run < grb_order_runs(max_doc); run++) {
        grb_order_run r;
        grb_order_part found;
        GRB_TRY(grb_order_open(c, run, &r, err));
        if (r.count > 0) {
            GRB_TRY(grb_order_range(c, &r, lower, upper, exact, &found, err));
            *count += found.count;
            continue;
        }
        uint32_t end = GRB_MIN(max_doc - r.first, GRB_ORDER_RUN);
        for (uint32_t i = 0; i < end; i += GRB_WINDOW)
            GRB_TRY(
                page_count(c, r.first + i, lower, upper, exact, count, err));
    }
done:
    return status;
}

/* Number of documents before `place` that have a value. */
static uint32_t present_rank(const column *c, uint32_t place) {
    uint32_t rank = 0;
    if (!c->present) return place;
    for (uint32_t i = 0; i < place / 64; i++)
        rank += grb_popcount64(grb_load64(c->present + i * 8));
    uint64_t w = grb_load64(c->present + place / 64 * 8);
    return rank + grb_popcount64(w & (((uint64_t)1 << place % 64) - 1));
}

grebe_status grb_column_file_value(grb_column_file *c, uint32_t doc,
                                   int64_t *out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint32_t page = doc / GRB_WINDOW, place = doc % GRB_WINDOW;
    entry e = {0};
    if (doc < c->f->max_doc) entry_get(c, page, &e);
    if (!(e.flags & GRB_PAGE_ANY) || c->base.many) goto corrupt;
    GRB_TRY(page_load(c, page, &e, err));
    if (place >= c->docs) goto corrupt;
    if (c->present && !(c->present[place / 8] >> place % 8 & 1)) goto corrupt;
    *out = value_get(c, &e, present_rank(c, place));
    if (value_sane(&e, *out)) return GREBE_OK;
corrupt:
    return page_corrupt(c, &e, err, "a value of an order");
done:
    return status;
}

static grebe_status few_make(column *c, uint32_t count, grebe_error *err) {
    if (count <= c->few_room) return GREBE_OK;
    uint64_t room = GRB_MAX((uint64_t)count * 2, 8u);
    c->few = grb_arena_alloc(c->arena, (size_t)room * sizeof *c->few);
    c->few_room = c->few ? room : 0;
    return c->few ? GREBE_OK
                  : grb_error_memory(err, (size_t)room * sizeof *c->few);
}

static grebe_status column_get(grb_column *base, uint32_t doc,
                               const int64_t **values, uint32_t *count,
                               grebe_error *err) {
    grebe_status status;
    column *c = (column *)base;
    uint32_t page = doc / GRB_WINDOW, place = doc % GRB_WINDOW;
    entry e;
    *count = 0;
    *values = c->few;
    if (doc >= c->f->max_doc) return GREBE_OK;
    entry_get(c, page, &e);
    if (!(e.flags & GRB_PAGE_ANY)) return GREBE_OK;
    GRB_TRY(page_load(c, page, &e, err));
    if (c->present && !(c->present[place / 8] >> place % 8 & 1))
        return GREBE_OK;
    uint32_t from, to;
    if (base->many) {
        from = place ? (uint32_t)grb_bits_get(c->ends, place - 1, e.ends_width)
                     : 0;
        to = (uint32_t)grb_bits_get(c->ends, place, e.ends_width);
    } else {
        from = present_rank(c, place);
        to = from + 1;
    }
    if (from >= to || to > e.count)
        return page_corrupt(c, &e, err, "ends of values");
    GRB_TRY(few_make(c, to - from, err));
    for (uint32_t i = from; i < to; i++) {
        c->few[i - from] = value_get(c, &e, i);
        if (!value_sane(&e, c->few[i - from]))
            return page_corrupt(c, &e, err, "values outside their bounds");
    }
    *values = c->few;
    *count = to - from;
done:
    return status;
}

static grebe_status column_ord_bytes(grb_column *base, uint32_t ord,
                                     const uint8_t **bytes, uint32_t *size,
                                     grebe_error *err) {
    column *c = (column *)base;
    return grb_segfile_term_bytes(c->f, c->field, ord, c->arena, bytes, size,
                                  err);
}

static grebe_status column_ord_ranks(grb_column *base, const uint32_t **ranks,
                                     grebe_error *err) {
    *ranks = NULL;
    return GREBE_OK;
}

static grebe_status column_ord_find(grb_column *base, const void *bytes,
                                    size_t size, uint32_t *ord,
                                    grebe_error *err) {
    column *c = (column *)base;
    return grb_segfile_term_place(c->f, c->field, bytes, size, ord, NULL, err);
}

grebe_status grb_segfile_field_column(grb_segfile *f, grb_segfield *field,
                                      grb_arena *arena, grb_column **out,
                                      grebe_error *err) {
    grebe_status status;
    *out = NULL;
    if (!field || !(field->flags & GRB_FIELD_HAS_COLUMN)) return GREBE_OK;
    column *c = grb_arena_zero(arena, sizeof *c);
    if (!c) return grb_error_memory(err, sizeof *c);
    GRB_TRY(grb_segfile_view(f, GRB_SECTION_COLUMN_INDEX, field->column_at,
                             (uint64_t)field->page_count * GRB_COLUMN_ENTRY,
                             arena, &c->index, err));
    if (field->flags & GRB_FIELD_ORDERED)
        GRB_TRY(grb_segfile_view(
            f, GRB_SECTION_COLUMN_INDEX,
            field->column_at + (uint64_t)field->page_count * GRB_COLUMN_ENTRY,
            (uint64_t)grb_order_runs(f->max_doc) * GRB_ORDER_ENTRY, arena,
            &c->orders, err));
    c->f = f;
    c->field = field;
    c->arena = arena;
    c->page = c->narrow_page = UINT32_MAX;
    c->base.kind = (grebe_kind)field->kind;
    c->base.many = field->flags & GRB_FIELD_MANY;
    c->base.ord_count = field->ord_count;
    c->base.window = column_window;
    c->base.pick = column_pick;
    c->base.between = column_between;
    c->base.count = column_count;
    c->base.get = column_get;
    c->base.ord_bytes = column_ord_bytes;
    c->base.ord_ranks = column_ord_ranks;
    c->base.ords_ranked = true;
    c->base.ord_find = column_ord_find;
    *out = &c->base;
done:
    return status;
}

grebe_status grb_segfile_column_open(grb_segment *s, const grb_bounds *b,
                                     uint32_t field, grb_arena *arena,
                                     grb_column **out, grebe_error *err) {
    grb_segfile *f = (grb_segfile *)s;
    return grb_segfile_field_column(f, grb_segfile_field(f, field), arena, out,
                                    err);
}

/* One number of a single column without a column object. */
static grebe_status sequence_get(grb_segfile *f, uint32_t doc,
                                 grb_arena *arena, int64_t *out) {
    grebe_status status;
    column c;
    entry e;
    uint32_t page = doc / GRB_WINDOW;
    memset(&c, 0, sizeof c);
    c.f = f;
    c.arena = arena;
    c.page = UINT32_MAX;
    c.base.kind = GREBE_INT;
    GRB_TRY(grb_segfile_view(f, GRB_SECTION_COLUMN_INDEX,
                             f->sequence->column_at +
                                 (uint64_t)page * GRB_COLUMN_ENTRY,
                             GRB_COLUMN_ENTRY, arena, &c.index, NULL));
    entry_get(&c, 0, &e);
    if (!(e.flags & GRB_PAGE_ALL)) return GREBE_CORRUPT;
    GRB_TRY(page_load(&c, page, &e, NULL));
    *out = value_get(&c, &e, doc % GRB_WINDOW);
done:
    return status;
}

uint64_t grb_segfile_sequence(grb_segment *s, uint32_t doc) {
    grb_segfile *f = (grb_segfile *)s;
    int64_t out;
    grb_arena arena;
    if (doc == 0 || !f->sequence || doc >= f->max_doc)
        return f->sequence_base + doc;
    /* There is no way to tell of damage here: the place stands in for the
     * sequence; grb_segfile_check reports the page. */
    grb_arena_init(&arena, f->base.allocator, 0);
    if (sequence_get(f, doc, &arena, &out) != GREBE_OK)
        out = (int64_t)(f->sequence_base + doc);
    grb_arena_deinit(&arena);
    return (uint64_t)out;
}
