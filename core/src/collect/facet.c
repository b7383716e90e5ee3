/* collect/facet.c - how many matches have each value of a column.
 *
 * Keywords are counted by ordinal, one increment a document, in an array of
 * the leaf; only where several leaves have matches are the values that were
 * met joined by their bytes. Numbers go into one table for all leaves. A
 * document with the same value twice counts once.
 *
 * Invariant: `counts` belongs to `column`; it is joined into `values` before
 * another leaf's column takes its place.
 * Threads: one search, one thread.
 * Owns: counts, stamps, the table.
 */
#include "collect/values.h"
#include "segment/column_window.h"

struct grb_facet {
    grb_search_context *context;
    const grebe_allocator *allocator;
    const grebe_facet_request *request;
    const grb_field *field;
    bool keyword;
    grb_column *present; /* of this leaf; NULL: nobody has a value */
    grb_column *column;  /* the one that `counts` belong to */
    uint32_t leaf_number;
    uint32_t *counts; /* by ordinal */
    uint32_t *stamps; /* last document + 1 counted for it; many only */
    uint32_t ord_count, ord_capacity;
    bool stamped;
    bool counted; /* counts hold something */
    bool joined;  /* values hold something: ordinals alone will not do */
    uint64_t missing;
    grb_values values;
};

static grebe_status request_check(const grebe_facet_request *request,
                                  const grb_field *field, grebe_error *err) {
    if (!(field->flags & GREBE_COLUMN)) {
        grb_error(err, GREBE_SCHEMA, "facet: %s field \"%s\" has no column",
                  grb_kind_name(field->kind), field->name);
        grb_error_field(err, field->name);
        return GREBE_SCHEMA;
    }
    if (request->prefix && request->prefix_size > 0 &&
        field->kind != GREBE_KEYWORD) {
        grb_error(err, GREBE_ARGUMENT,
                  "facet: a prefix needs a keyword field, \"%s\" is %s",
                  field->name, grb_kind_name(field->kind));
        grb_error_field(err, field->name);
        return GREBE_ARGUMENT;
    }
    return GREBE_OK;
}

grebe_status grb_facet_new(grb_search_context *c, const grebe_allocator *a,
                           const grebe_facet_request *request, grb_facet **out,
                           grebe_error *err) {
    if (!request->field)
        return grb_error(err, GREBE_ARGUMENT, "facet: no field named");
    size_t size = strlen(request->field);
    uint32_t id = grebe_schema_find(c->schema, request->field, size);
    if (id == GREBE_NO_FIELD)
        return grb_field_unknown(c->schema, request->field, size, "facet",
                                 err);
    const grb_field *field = &c->schema->fields[id];
    grebe_status status = request_check(request, field, err);
    if (status != GREBE_OK) return status;
    grb_facet *f = grb_arena_zero(c->arena, sizeof *f);
    if (!f) return grb_error_memory(err, sizeof *f);
    f->context = c;
    f->allocator = a;
    f->request = request;
    f->field = field;
    f->keyword = field->kind == GREBE_KEYWORD;
    grb_values_init(&f->values, a);
    *out = f;
    return GREBE_OK;
}

static void counts_free(grb_facet *f) {
    size_t size = (size_t)f->ord_capacity * sizeof *f->counts;
    grb_free(f->allocator, f->counts, size);
    grb_free(f->allocator, f->stamps, f->stamped ? size : 0);
    f->counts = f->stamps = NULL;
    f->ord_capacity = 0;
    f->stamped = false;
}

void grb_facet_free(grb_facet *f) {
    if (!f) return;
    counts_free(f);
    grb_values_deinit(&f->values);
}

static bool prefix_fits(const grebe_facet_request *request,
                        const uint8_t *bytes, uint32_t size) {
    return !request->prefix || request->prefix_size == 0 ||
           (size >= request->prefix_size &&
            memcmp(bytes, request->prefix, request->prefix_size) == 0);
}

/* Joins the leaf's counts into the table. */
static grebe_status counts_join(grb_facet *f, grebe_error *err) {
    f->joined = true;
    for (uint32_t ord = 0; ord < f->ord_count; ord++) {
        if (f->counts[ord] == 0) continue;
        const uint8_t *bytes;
        uint32_t size;
        grebe_error local;
        grebe_error *where = err ? err : &local;
        grebe_status status =
            f->column->ord_bytes(f->column, ord, &bytes, &size, where);
        if (status != GREBE_OK) return status;
        if (!prefix_fits(f->request, bytes, size)) continue;
        grb_counted *item = grb_values_bytes(&f->values, bytes, size, where);
        if (!item) return where->status;
        item->count += f->counts[ord];
    }
    f->counted = false;
    return GREBE_OK;
}

/* Zeroed counts for a keyword column. */
static grebe_status counts_ready(grb_facet *f, grebe_error *err) {
    uint32_t count = f->column->ord_count;
    size_t size = (size_t)count * sizeof *f->counts;
    f->ord_count = count;
    if (count > f->ord_capacity || (f->column->many && !f->stamped)) {
        counts_free(f);
        if (count == 0) return GREBE_OK;
        f->counts = grb_alloc_zero(f->allocator, size);
        if (!f->counts) return grb_error_memory(err, size);
        f->ord_capacity = count;
        if (!f->column->many) return GREBE_OK;
        f->stamps = grb_alloc_zero(f->allocator, size);
        if (!f->stamps) return grb_error_memory(err, size);
        f->stamped = true;
        return GREBE_OK;
    }
    if (count == 0) return GREBE_OK;
    memset(f->counts, 0, size);
    if (f->stamped) memset(f->stamps, 0, size);
    return GREBE_OK;
}

static grebe_status facet_leaf(grb_facet *f, const grb_leaf *leaf,
                               grebe_error *err) {
    grebe_status status;
    GRB_TRY(leaf->segment->ops->column_open(leaf->segment, &leaf->bounds,
                                            f->field->id, f->context->arena,
                                            &f->present, err));
    f->leaf_number++;
    if (!f->present || !f->keyword) return GREBE_OK;
    if (f->counted) GRB_TRY(counts_join(f, err));
    f->column = f->present;
    GRB_TRY(counts_ready(f, err));
done:
    return status;
}

static inline void ord_count_one(grb_facet *f, int64_t ord) {
    if (GRB_LIKELY((uint64_t)ord < f->ord_count)) f->counts[ord]++;
}

/* Ordinals as 32-bit numbers from `counts` on; all are known to be inside. */
static void ords_narrow(uint32_t *counts, uint64_t bits,
                        const uint32_t *values) {
    if (bits == UINT64_MAX) {
        for (uint32_t k = 0; k < 64; k += 4) {
            counts[values[k]]++;
            counts[values[k + 1]]++;
            counts[values[k + 2]]++;
            counts[values[k + 3]]++;
        }
        return;
    }
    for (; bits; bits &= bits - 1) counts[values[grb_ctz64(bits)]]++;
}

/* One value a document: the loop that a facet spends its time in. */
static void ords_single(grb_facet *f, const grb_match_window *w,
                        const grb_column_window *c) {
    bool narrow = c->narrow && c->min >= 0 && c->least == c->min &&
                  c->max < (int64_t)f->ord_count;
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
        uint64_t bits = w->bits[i];
        if (!c->all) bits &= c->present[i];
        if (narrow)
            ords_narrow(f->counts + c->least, bits, c->narrow + i * 64);
        else
            for (; bits; bits &= bits - 1)
                ord_count_one(f, grb_column_value(
                                     c, i * 64 + (uint32_t)grb_ctz64(bits)));
    }
}

static void ords_many(grb_facet *f, const grb_match_window *w,
                      const grb_column_window *c) {
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
        uint64_t bits = w->bits[i];
        if (!c->all) bits &= c->present[i];
        for (; bits; bits &= bits - 1) {
            uint32_t at = i * 64 + (uint32_t)grb_ctz64(bits);
            uint32_t stamp = w->base + at + 1;
            for (uint32_t k = c->offsets[at]; k < c->offsets[at + 1]; k++) {
                uint64_t ord = (uint64_t)c->values[k];
                if (ord >= f->ord_count || f->stamps[ord] == stamp) continue;
                f->stamps[ord] = stamp;
                f->counts[ord]++;
            }
        }
    }
}

static grebe_status numbers_count(grb_facet *f, const grb_match_window *w,
                                  const grb_column_window *c,
                                  grebe_error *err) {
    grb_counted *item = NULL;
    grebe_error local;
    grebe_error *where = err ? err : &local;
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
        uint64_t bits = w->bits[i];
        if (!c->all) bits &= c->present[i];
        for (; bits; bits &= bits - 1) {
            uint32_t at = i * 64 + (uint32_t)grb_ctz64(bits);
            uint32_t from = c->offsets ? c->offsets[at] : at;
            uint32_t to = c->offsets ? c->offsets[at + 1] : at + 1;
            uint64_t stamp = (uint64_t)f->leaf_number << 32 | (w->base + at);
            for (uint32_t k = from; k < to; k++) {
                int64_t v = grb_column_value(c, k);
                if (!item || item->word != v)
                    item = grb_values_number(&f->values, v, where);
                if (!item) return where->status;
                item->count += item->stamp != stamp;
                item->stamp = stamp;
            }
        }
    }
    return GREBE_OK;
}

/* Matches of the window that have a value. */
static uint64_t window_having(const grb_match_window *w,
                              const grb_column_window *c) {
    if (c->all && !c->offsets) return w->count;
    uint64_t having = 0;
    for (uint32_t i = 0; i < GRB_WINDOW_WORDS; i++) {
        uint64_t bits = w->bits[i];
        if (!c->all) bits &= c->present[i];
        having += grb_popcount64(bits);
        for (; c->offsets && bits; bits &= bits - 1) {
            uint32_t at = i * 64 + (uint32_t)grb_ctz64(bits);
            having -= c->offsets[at] == c->offsets[at + 1];
        }
    }
    return having;
}

static grebe_status facet_window(grb_facet *f, const grb_match_window *w,
                                 grebe_error *err) {
    grb_column_window c = {.any = false};
    if (f->present) {
        grebe_status status =
            grb_column_pick(f->present, f->context->off & GRB_OFF_COLUMNS,
                            w->base, w->bits, &c, err);
        if (status != GREBE_OK) return status;
    }
    if (!c.any) {
        f->missing += w->count;
        return GREBE_OK;
    }
    if (f->request->missing) f->missing += w->count - window_having(w, &c);
    if (!f->keyword) return numbers_count(f, w, &c, err);
    f->counted = true;
    if (c.offsets)
        ords_many(f, w, &c);
    else
        ords_single(f, w, &c);
    return GREBE_OK;
}

grebe_status grb_facets_leaf(grb_facet *const *facets, size_t count,
                             const grb_leaf *leaf, grebe_error *err) {
    grebe_status status = GREBE_OK;
    for (size_t i = 0; i < count; i++)
        GRB_TRY(facet_leaf(facets[i], leaf, err));
done:
    return status;
}

grebe_status grb_facets_window(grb_facet *const *facets, size_t count,
                               const grb_match_window *w, grebe_error *err) {
    grebe_status status = GREBE_OK;
    for (size_t i = 0; i < count; i++)
        GRB_TRY(facet_window(facets[i], w, err));
done:
    return status;
}

/* Offers the values of the only leaf that has any. Where ordinals are not in
 * the order of bytes the values' bytes are compared: making ranks would sort
 * every value for the few that are listed. */
static grebe_status ords_list(grb_facet *f, grb_listing *l, grebe_error *err) {
    grebe_status status = GREBE_OK;
    uint64_t mincount = GRB_MAX(f->request->mincount, 1), held = 0;
    bool prefixed = f->request->prefix && f->request->prefix_size > 0;
    bool resolved = !f->column->ords_ranked;
    for (uint32_t ord = 0; ord < f->ord_count; ord++) {
        grb_counted item = {.count = f->counts[ord], .word = ord, .ord = ord};
        const uint8_t *bytes;
        uint32_t size;
        if (item.count == 0) continue;
        if (prefixed || resolved)
            GRB_TRY(f->column->ord_bytes(f->column, ord, &bytes, &size, err));
        if (prefixed && !prefix_fits(f->request, bytes, size)) continue;
        if (++held > GRB_FACET_VALUES_MAX) return grb_values_full(err);
        if (item.count < mincount) continue;
        item.bytes = resolved ? bytes : NULL;
        item.size = resolved ? size : 0;
        GRB_TRY(grb_listing_offer(l, &item, err));
    }
done:
    return status;
}

static grebe_status values_list(grb_facet *f, grb_listing *l,
                                grebe_error *err) {
    uint64_t mincount = GRB_MAX(f->request->mincount, 1);
    for (size_t i = 0; i < f->values.count; i++) {
        if (f->values.items[i].count < mincount) continue;
        grebe_status status = grb_listing_offer(l, &f->values.items[i], err);
        if (status != GREBE_OK) return status;
    }
    return GREBE_OK;
}

/* Writes the listed values behind `offset` for the caller. */
static grebe_status listing_write(grb_facet *f, const grb_listing *l,
                                  grb_arena *arena, grb_facet_result *out,
                                  grebe_error *err) {
    size_t offset = (size_t)GRB_MIN(f->request->offset, l->count);
    size_t count = l->count - offset;
    if (count == 0) return GREBE_OK;
    out->values = grb_arena_alloc(arena, count * sizeof *out->values);
    if (!out->values)
        return grb_error_memory(err, count * sizeof *out->values);
    for (size_t i = 0; i < count; i++) {
        const grb_counted *item = &l->items[offset + i];
        grb_facet_value *value = &out->values[i];
        value->count = item->count;
        if (!f->keyword) {
            grb_value_from_ordered(f->field->kind, item->word, &value->value);
            continue;
        }
        const uint8_t *bytes = item->bytes;
        uint32_t size = item->size;
        if (!bytes) {
            grebe_status status =
                f->column->ord_bytes(f->column, item->ord, &bytes, &size, err);
            if (status != GREBE_OK) return status;
        }
        char *copy = grb_arena_alloc(arena, (size_t)size + 1);
        if (!copy) return grb_error_memory(err, (size_t)size + 1);
        if (size) memcpy(copy, bytes, size);
        copy[size] = 0;
        value->value.kind = GREBE_KEYWORD;
        value->value.as.text.bytes = copy;
        value->value.as.text.size = size;
    }
    out->count = count;
    return GREBE_OK;
}

grebe_status grb_facet_finish(grb_facet *f, grb_arena *arena,
                              grb_facet_result *out, grebe_error *err) {
    const grebe_facet_request *request = f->request;
    uint64_t limit = request->limit ? request->limit : 10, keep = limit;
    if (request->offset > UINT64_MAX - limit)
        keep = UINT64_MAX;
    else
        keep += request->offset;
    grebe_status status;
    grb_listing listing;
    memset(out, 0, sizeof *out);
    out->missing = request->missing ? f->missing : 0;
    grb_listing_init(&listing, f->allocator, request->sort, keep);
    if (f->counted && f->joined) GRB_TRY(counts_join(f, err));
    if (f->counted)
        GRB_TRY(ords_list(f, &listing, err));
    else
        GRB_TRY(values_list(f, &listing, err));
    grb_listing_sort(&listing);
    GRB_TRY(listing_write(f, &listing, arena, out, err));
done:
    grb_listing_deinit(&listing);
    return status;
}
