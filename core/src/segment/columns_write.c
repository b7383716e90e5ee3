/* segment/columns_write.c - columns and the insertion sequence.
 *
 * A column is a row of pages of 4,096 documents. An index entry of a page
 * (56 bytes, so that zone maps are read without the page):
 *
 *   u64 place of the page    u32 its size     u32 values
 *   i64 min   i64 max        i64 base         u64 step
 *   u8 encoding (0 constant, 1 for, 2 ascending)  u8 width
 *   u8 flags (1 any, 2 all, 4 many)  u8 width of ends  u32 documents with one
 *
 * A page is: 512 bytes of presence bits (unless all or none have a value);
 * ends of the documents' values (many: `width of ends` bits each, a document
 * of the page each); values of `width` bits in the order of documents, each
 * less base + step * i (i: place among the values; step 0 unless ascending).
 * Packed numbers are followed by 7 zero bytes.
 *
 * Threads: one. Owns: column pages and index.
 */
#include "segment/kernel.h"
#include "segment/write.h"

typedef struct page {
    grb_segwriter *w;
    grb_buf index; /* entries of all columns */
    grb_buf bytes; /* a page's data */
    bool many;
    uint32_t docs, docs_with, count;
    uint64_t present[GRB_WINDOW_WORDS];
    uint64_t ends[GRB_WINDOW];
    grb_buf values; /* int64 */
    grb_buf rest;   /* values less the base */
    uint32_t page_count;
    bool ordered; /* the column may get an order */
    grb_order order;
} page;

static void page_clear(page *p) {
    p->docs = p->docs_with = p->count = 0;
    memset(p->present, 0, sizeof p->present);
    grb_buf_clear(&p->values);
}

static bool bits_put(grb_buf *out, const uint64_t *v, uint32_t count,
                     uint32_t width) {
    size_t size = (size_t)grb_bits_size(count, width);
    if (!grb_buf_reserve(out, size)) return false;
    memset(out->bytes + out->size, 0, size);
    grb_bits_pack(v, count, width, out->bytes + out->size);
    out->size += size;
    return true;
}

/* How a page's values are kept. */
typedef struct shape {
    int64_t min, max;
    uint64_t base, step;
    uint32_t encoding, width;
} shape;

/* Width of what remains of v[i] - step * i above its least. */
static uint64_t ascending_spread(const int64_t *v, uint32_t n, uint64_t step,
                                 uint64_t *base) {
    int64_t least = INT64_MAX, most = INT64_MIN;
    for (uint32_t i = 0; i < n; i++) {
        int64_t r = (int64_t)((uint64_t)v[i] - step * i);
        least = GRB_MIN(least, r);
        most = GRB_MAX(most, r);
    }
    *base = (uint64_t)least;
    return (uint64_t)most - (uint64_t)least;
}

static void shape_choose(const int64_t *v, uint32_t n, bool many, shape *out) {
    bool rising = true;
    out->min = out->max = v[0];
    for (uint32_t i = 1; i < n; i++) {
        out->min = GRB_MIN(out->min, v[i]);
        out->max = GRB_MAX(out->max, v[i]);
        rising &= v[i] >= v[i - 1];
    }
    out->base = (uint64_t)out->min;
    out->step = 0;
    out->width = grb_bits_width((uint64_t)out->max - out->base);
    out->encoding = out->width ? GRB_PAGE_FOR : GRB_PAGE_CONSTANT;
    /* Several values: a bit each at least, so that the page's size bounds
     * their number for the reader. */
    if (many && out->width == 0) {
        out->width = 1;
        out->encoding = GRB_PAGE_FOR;
    }
    if (!rising || many || n < 2 || out->width < 3) return;
    uint64_t base, step = ((uint64_t)v[n - 1] - (uint64_t)v[0]) / (n - 1);
    uint32_t width = grb_bits_width(ascending_spread(v, n, step, &base));
    if (width + 2 > out->width) return;
    out->encoding = GRB_PAGE_ASCENDING;
    out->base = base;
    out->step = step;
    out->width = width;
}

static bool page_encode(page *p, const shape *s, uint32_t ends_width) {
    const int64_t *v = (const int64_t *)(const void *)p->values.bytes;
    grb_buf_clear(&p->bytes);
    if (p->docs_with < p->docs)
        grb_buf_put(&p->bytes, p->present, sizeof p->present);
    if (p->many && !bits_put(&p->bytes, p->ends, p->docs, ends_width))
        return false;
    if (s->width == 0) return !p->bytes.failed;
    grb_buf_clear(&p->rest);
    if (!grb_buf_reserve(&p->rest, (size_t)p->count * 8)) return false;
    uint64_t *rest = (uint64_t *)(void *)p->rest.bytes;
    for (uint32_t i = 0; i < p->count; i++)
        rest[i] = (uint64_t)v[i] - s->base - s->step * i;
    return bits_put(&p->bytes, rest, p->count, s->width) && !p->bytes.failed;
}

/* Hands the page's values to the column's order; ends a run. */
static grebe_status page_order(page *p) {
    grebe_status status;
    GRB_TRY(grb_order_page(&p->order,
                           (const int64_t *)(const void *)p->values.bytes,
                           p->count, p->present, p->w->err));
    if (p->order.pages * GRB_WINDOW == GRB_ORDER_RUN)
        GRB_TRY(grb_order_run_end(&p->order, &p->w->out));
done:
    return status;
}

static grebe_status page_put(page *p) {
    uint8_t entry[GRB_COLUMN_ENTRY] = {0};
    grb_segout *out = &p->w->out;
    shape s = {0};
    if (p->docs_with && !p->values.failed) {
        uint32_t ends_width = grb_bits_width(p->count);
        shape_choose((const int64_t *)(const void *)p->values.bytes, p->count,
                     p->many, &s);
        if (!page_encode(p, &s, ends_width))
            return grb_error_memory(p->w->err, p->bytes.size);
        grb_store64(entry, grb_segout_at(out));
        grb_store32(entry + 8, (uint32_t)p->bytes.size);
        grb_store32(entry + 12, p->count);
        memcpy(entry + 16, &s.min, 8);
        memcpy(entry + 24, &s.max, 8);
        grb_store64(entry + 32, s.base);
        grb_store64(entry + 40, s.step);
        entry[48] = (uint8_t)s.encoding;
        entry[49] = (uint8_t)s.width;
        entry[50] = (uint8_t)(GRB_PAGE_ANY |
                              (p->docs_with == p->docs ? GRB_PAGE_ALL : 0) |
                              (p->many ? GRB_PAGE_MANY : 0));
        entry[51] = (uint8_t)ends_width;
        grb_store32(entry + 52, p->docs_with);
        grb_segout_put(out, p->bytes.bytes, p->bytes.size);
    }
    grb_buf_put(&p->index, entry, sizeof entry);
    p->page_count++;
    if (p->index.failed || p->values.failed)
        return grb_error_memory(p->w->err, p->index.size);
    grebe_status status = p->ordered ? page_order(p) : GREBE_OK;
    page_clear(p);
    return status == GREBE_OK ? out->status : status;
}

/* One more document with `count` values. */
static grebe_status page_doc(page *p, const int64_t *values, uint32_t count,
                             const uint32_t *ords) {
    if (!p->many && count > 1) count = 1;
    if (count) {
        grb_bit_set(p->present, p->docs);
        p->docs_with++;
    }
    for (uint32_t i = 0; i < count; i++)
        grb_buf_u64(&p->values, ords ? ords[values[i]] : (uint64_t)values[i]);
    p->count += count;
    p->ends[p->docs++] = p->count;
    return p->docs == GRB_WINDOW ? page_put(p) : GREBE_OK;
}

static grebe_status window_join(page *p, size_t s,
                                const grb_column_window *window,
                                const uint32_t *ords, uint32_t ord_count) {
    grebe_status status = GREBE_OK;
    for (uint32_t i = 0; i < window->count; i++) {
        uint32_t from = i, to = i + 1;
        if (grb_segwriter_doc(p->w, s, window->base + i) == GRB_NO_DOC)
            continue;
        if (!window->any || (!window->all && !grb_bit(window->present, i))) {
            from = to = 0;
        } else if (window->offsets) {
            from = window->offsets[i];
            to = window->offsets[i + 1];
        }
        for (uint32_t k = from; ords && k < to; k++)
            if ((uint64_t)window->values[k] >= ord_count)
                return grb_error(p->w->err, GREBE_INTERNAL,
                                 "ordinal %lld of %u",
                                 (long long)window->values[k], ord_count);
        GRB_TRY(page_doc(p, window->any ? window->values + from : NULL,
                         to - from, ords));
    }
done:
    return status;
}

static grebe_status source_join(page *p, size_t s, uint32_t field,
                                const grb_ords *ords) {
    grebe_status status = GREBE_OK;
    grb_segwriter *w = p->w;
    const grb_source *source = &w->sources[s];
    uint32_t max_doc = source->bounds.max_doc;
    grb_column *column;
    grb_arena_reset(&w->arena);
    GRB_TRY(source->segment->ops->column_open(
        source->segment, &source->bounds, field, &w->arena, &column, w->err));
    for (uint32_t base = 0; base < max_doc;) {
        grb_column_window window = {0};
        window.base = base;
        window.count = GRB_MIN(GRB_WINDOW, max_doc - base);
        if (column)
            GRB_TRY(column->window(column, base, true, &window, w->err));
        GRB_TRY(window_join(p, s, &window, ords ? ords->map[s] : NULL,
                            column ? column->ord_count : 0));
        if (max_doc - base <= GRB_WINDOW) break;
        base += GRB_WINDOW;
    }
done:
    return status;
}

static grebe_status column_exists(grb_segwriter *w, uint32_t field,
                                  bool *exists) {
    grebe_status status = GREBE_OK;
    *exists = false;
    for (size_t s = 0; s < w->count && !*exists; s++) {
        const grb_source *source = &w->sources[s];
        grb_column *column;
        grb_arena_reset(&w->arena);
        GRB_TRY(source->segment->ops->column_open(source->segment,
                                                  &source->bounds, field,
                                                  &w->arena, &column, w->err));
        *exists = column != NULL;
    }
done:
    return status;
}

/* Numbers that ranges are asked of. */
static bool column_ordered(const grb_field *field) {
    bool number = field->kind == GREBE_INT || field->kind == GREBE_DOUBLE ||
                  field->kind == GREBE_DATETIME;
    return number && (field->flags & GREBE_INDEXED) &&
           !(field->flags & GREBE_MANY);
}

static grebe_status order_end(page *p, grb_written_field *field) {
    grebe_status status;
    GRB_TRY(grb_order_run_end(&p->order, &p->w->out));
    if (!p->order.written) return GREBE_OK;
    field->flags |= GRB_FIELD_ORDERED;
    p->w->compatible |= GRB_SEGMENT_ORDERS;
    grb_buf_put(&p->index, p->order.directory.bytes, p->order.directory.size);
    if (p->index.failed || p->order.directory.failed)
        return grb_error_memory(p->w->err, p->index.size);
done:
    return status;
}

static grebe_status column_write(page *p, grb_written_field *field) {
    grebe_status status = GREBE_OK;
    grb_segwriter *w = p->w;
    grb_ords ords = {0};
    bool keyword = field->kind == GREBE_KEYWORD;
    p->many = w->schema->fields[field->id].flags & GREBE_MANY;
    p->page_count = 0;
    p->ordered = column_ordered(&w->schema->fields[field->id]);
    page_clear(p);
    grb_order_begin(&p->order);
    field->column_at = p->index.size;
    grb_arena_reset(&w->field_arena);
    if (keyword) {
        GRB_TRY(grb_ords_join(w, field->id, &ords, NULL, NULL));
        if (ords.count != field->term_count)
            return grb_error(w->err, GREBE_INTERNAL,
                             "%u ordinals for %u terms of field %u",
                             ords.count, field->term_count, field->id);
    }
    for (size_t s = 0; s < w->count; s++)
        GRB_TRY(source_join(p, s, field->id, keyword ? &ords : NULL));
    if (p->docs) GRB_TRY(page_put(p));
    if (p->ordered) GRB_TRY(order_end(p, field));
    p->ordered = false;
    field->flags |= GRB_FIELD_HAS_COLUMN | (p->many ? GRB_FIELD_MANY : 0);
    field->page_count = p->page_count;
    field->ord_count = ords.count;
done:
    return status;
}

/* The sequence: nothing while it is base + document, else a column. */
static grebe_status sequence_write(page *p) {
    grebe_status status = GREBE_OK;
    grb_segwriter *w = p->w;
    grb_written_field *field = &w->fields[w->schema->field_count];
    bool contiguous = true, rising = true;
    uint64_t last = 0;
    uint32_t doc = 0;
    for (int pass = 0; pass < 2; pass++) {
        for (size_t s = 0; s < w->count; s++) {
            grb_segment *segment = w->sources[s].segment;
            for (uint32_t i = 0; i < w->sources[s].bounds.max_doc; i++) {
                if (grb_segwriter_doc(w, s, i) == GRB_NO_DOC) continue;
                int64_t v = (int64_t)segment->ops->sequence(segment, i);
                if (pass) GRB_TRY(page_doc(p, &v, 1, NULL));
                if (doc == 0) w->sequence_base = (uint64_t)v;
                rising &= doc == 0 || (uint64_t)v > last;
                last = (uint64_t)v;
                contiguous &= (uint64_t)v == w->sequence_base + doc++;
            }
        }
        if (contiguous) {
            w->flags |= GRB_SEGMENT_CONTIGUOUS;
            return GREBE_OK;
        }
        if (pass) break;
        if (!rising) w->flags |= GRB_SEGMENT_SCATTERED;
        p->many = false;
        p->page_count = 0;
        page_clear(p);
        field->column_at = p->index.size;
        doc = 0;
    }
    if (p->docs) GRB_TRY(page_put(p));
    field->flags |= GRB_FIELD_HAS_COLUMN;
    field->page_count = p->page_count;
done:
    return status;
}

grebe_status grb_write_columns(grb_segwriter *w) {
    grebe_status status = GREBE_OK;
    page *p = grb_alloc_zero(w->allocator, sizeof *p);
    if (!p) return grb_error_memory(w->err, sizeof *p);
    p->w = w;
    grb_buf_init(&p->index, w->allocator, 0);
    grb_buf_init(&p->bytes, w->allocator, 0);
    grb_buf_init(&p->values, w->allocator, 0);
    grb_buf_init(&p->rest, w->allocator, 0);
    grb_order_init(&p->order, w->allocator);
    grb_segout_begin(&w->out, GRB_SECTION_COLUMNS);
    for (uint32_t i = 0; i < w->schema->field_count; i++) {
        bool exists;
        GRB_TRY(column_exists(w, i, &exists));
        if (exists) GRB_TRY(column_write(p, &w->fields[i]));
    }
    GRB_TRY(sequence_write(p));
    grb_segout_end(&w->out);
    grb_segout_begin(&w->out, GRB_SECTION_COLUMN_INDEX);
    grb_segout_put(&w->out, p->index.bytes, p->index.size);
    grb_segout_end(&w->out);
    status = w->out.status;
done:
    grb_buf_deinit(&p->index);
    grb_buf_deinit(&p->bytes);
    grb_buf_deinit(&p->values);
    grb_buf_deinit(&p->rest);
    grb_order_deinit(&p->order);
    grb_free(w->allocator, p, sizeof *p);
    return status;
}
