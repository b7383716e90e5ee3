/* segment/columns_read.c - windows and single values of a column.
 *
 * columns_write.c says how a page is kept. The index of a column is read when
 * it is opened, a page when its values are wanted.
 *
 * Invariant: the size of a page is checked against its counts before any of
 * it is read; ordinals are below ord_count.
 * Threads: one a column.
 */
#include "segment/file.h"
#include "segment/kernel.h"

typedef struct column {
    grb_column base;
    grb_segfile *f;
    grb_segfield *field;
    grb_arena *arena;
    const uint8_t *index;
    /* the page whose parts are known */
    uint32_t page; /* UINT32_MAX: none */
    const uint8_t *present, *ends, *packed;
    uint32_t docs;
    /* what windows hand out */
    uint64_t words[GRB_WINDOW_WORDS];
    uint32_t *offsets;
    int64_t *values; /* of a window */
    uint64_t *dense; /* values in the order kept */
    uint64_t room;   /* of values and dense */
    int64_t *few;    /* of one document */
    uint64_t few_room;
} column;

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

/* Counts of an entry against each other and against the page's size. */
static bool entry_sane(const column *c, const entry *e, uint32_t docs) {
    uint64_t size = e->flags & GRB_PAGE_ALL ? 0 : GRB_WINDOW / 8;
    bool many = e->flags & GRB_PAGE_MANY;
    if (many != c->base.many || !width_allowed(e->width) ||
        !width_allowed(e->ends_width) || e->docs_with == 0 ||
        e->docs_with > docs || e->min > e->max ||
        ((e->flags & GRB_PAGE_ALL) && e->docs_with != docs))
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
static inline bool value_sane(const column *c, const entry *e, int64_t v) {
    if (c->base.kind == GREBE_KEYWORD && (uint64_t)v >= c->base.ord_count)
        return false;
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

/* Decodes the page's values in their order; false: outside the bounds. */
static bool dense_make(column *c, const entry *e, int64_t *out) {
    int64_t min = INT64_MAX, max = INT64_MIN;
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
    return value_sane(c, e, min) && value_sane(c, e, max);
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

static grebe_status column_window(grb_column *base, uint32_t first,
                                  bool values_wanted, grb_column_window *out,
                                  grebe_error *err) {
    grebe_status status;
    column *c = (column *)base;
    uint32_t page = first / GRB_WINDOW;
    entry e;
    memset(out, 0, sizeof *out);
    out->base = first;
    if (page >= c->field->page_count || first % GRB_WINDOW) return GREBE_OK;
    out->count = page_docs(c, page);
    entry_get(c, page, &e);
    out->any = e.flags & GRB_PAGE_ANY;
    if (!out->any) {
        memset(c->words, 0, sizeof c->words);
        out->present = c->words;
        return GREBE_OK;
    }
    out->all = e.flags & GRB_PAGE_ALL;
    out->min = e.min;
    out->max = e.max;
    if (!values_wanted) return GREBE_OK;
    GRB_TRY(page_load(c, page, &e, err));
    GRB_TRY(room_make(c, e.count, err));
    memset(c->words, c->present ? 0 : 0xff, sizeof c->words);
    if (c->present) memcpy(c->words, c->present, sizeof c->words);
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

/* Number of documents before `place` that have a value. */
static uint32_t present_rank(const column *c, uint32_t place) {
    uint32_t rank = 0;
    if (!c->present) return place;
    for (uint32_t i = 0; i < place / 64; i++)
        rank += grb_popcount64(grb_load64(c->present + i * 8));
    uint64_t w = grb_load64(c->present + place / 64 * 8);
    return rank + grb_popcount64(w & (((uint64_t)1 << place % 64) - 1));
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
        if (!value_sane(c, &e, c->few[i - from]))
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
    c->f = f;
    c->field = field;
    c->arena = arena;
    c->page = UINT32_MAX;
    c->base.kind = (grebe_kind)field->kind;
    c->base.many = field->flags & GRB_FIELD_MANY;
    c->base.ord_count = field->ord_count;
    c->base.window = column_window;
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
    if (!f->sequence || doc >= f->max_doc) return f->sequence_base + doc;
    /* There is no way to tell of damage here: the place stands in for the
     * sequence; grb_segfile_check reports the page. */
    grb_arena_init(&arena, f->base.allocator, 0);
    if (sequence_get(f, doc, &arena, &out) != GREBE_OK)
        out = (int64_t)(f->sequence_base + doc);
    grb_arena_deinit(&arena);
    return (uint64_t)out;
}
