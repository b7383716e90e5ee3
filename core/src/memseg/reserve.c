/* memseg/reserve.c - everything of an append that can fail.
 *
 * Finds each term of the document in the table (in batches, so that the cache
 * misses of slots, records and tails overlap), makes pages and tables that
 * are missing, and asks the arena for all bytes the rest will take.
 *
 * Invariant: after a failure readers and writer see what they saw before;
 *   empty pages and larger tables may stay, for the next document.
 * Threads: the writer.
 * Owns: the plan: where the terms of the document lie, NULL for new ones.
 */
#include "memseg/append.h"

#define BATCH 128u
#define TERMS_MAX (UINT32_MAX / 2)

static grebe_status no_memory(grebe_error *err) {
    return grb_error(err, GREBE_MEMORY, "no memory for the growing segment");
}

/* ---- tables ---- */

/* Room for `items` items in all, at a load of at most one half. */
static bool table_reserve(grb_memseg *s, _Atomic(grb_table *) *place,
                          size_t items) {
    grb_table *old = atomic_load_explicit(place, memory_order_relaxed);
    size_t have = old ? (size_t)old->mask + 1 : 0, want = have ? have : 32;
    while (want < items * 2) want *= 2;
    if (GRB_LIKELY(want == have)) return true;
    grb_table *table = grb_memseg_alloc(s, sizeof *table);
    if (!table) return false;
    table->slots = grb_memseg_alloc_line(s, want * 8);
    if (!table->slots) return false;
    table->mask = (uint32_t)(want - 1);
    memset((void *)table->slots, 0, want * 8);
    for (size_t i = 0; i < have; i++) {
        uint64_t slot =
            atomic_load_explicit(&old->slots[i], memory_order_relaxed);
        if (!slot) continue;
        uint32_t at = (uint32_t)(slot >> 32) & table->mask;
        while (atomic_load_explicit(&table->slots[at], memory_order_relaxed))
            at = (at + 1) & table->mask;
        atomic_store_explicit(&table->slots[at], slot, memory_order_relaxed);
    }
    atomic_store_explicit(place, table, memory_order_release);
    return true;
}

/* Record and tail pages for ids below `count`. */
static bool terms_reserve(grb_memseg *s, uint32_t count) {
    uint32_t place, last = grb_page_of(count - 1, &place);
    for (uint32_t page = grb_page_of(s->term_count, &place); page <= last;
         page++)
        if (!grb_memseg_page(s, &s->terms, page,
                             grb_page_size(page) *
                                 (sizeof(grb_record) + sizeof(grb_tail)),
                             0))
            return false;
    return true;
}

/* ---- fields ---- */

static bool log_reserve(grb_memseg *s, grb_mem_field *f, uint32_t count) {
    uint32_t place, width = f->kind == GREBE_KEYWORD ? 4 : 8;
    if (count == 0) return true;
    uint32_t last = grb_page_of(f->log_count + count - 1, &place);
    for (uint32_t page = grb_page_of(f->log_count, &place); page <= last;
         page++)
        if (!grb_memseg_page(s, &f->log, page,
                             (size_t)grb_page_size(page) * width, 0))
            return false;
    return true;
}

static bool ords_reserve(grb_memseg *s, grb_mem_field *f, uint32_t count) {
    uint32_t place, last = grb_page_of(f->ord_count + count - 1, &place);
    for (uint32_t page = grb_page_of(f->ord_count, &place); page <= last;
         page++)
        if (!grb_memseg_page(s, &f->ords, page,
                             (size_t)grb_page_size(page) * 4, 0))
            return false;
    return true;
}

/* A field is filled before readers can find it. */
static grb_mem_field *field_make(grb_memseg *s,
                                 const grb_inverted_field *field) {
    if (!grb_memseg_dir(s, &s->fields, field->field)) return NULL;
    grb_mem_field *f = grb_memseg_alloc_line(s, sizeof *f);
    if (!f) return NULL;
    memset(f, 0, sizeof *f);
    f->kind = field->kind;
    f->many = field->many;
    grb_dir *dir = atomic_load_explicit(&s->fields.dir, memory_order_relaxed);
    atomic_store_explicit(&dir->pages[field->field], f, memory_order_release);
    return f;
}

static bool field_reserve(grb_memseg *s, const grb_inverted_field *field) {
    grb_mem_field *f = grb_memseg_field(s, field->field);
    if (!f && !(f = field_make(s, field))) return false;
    uint32_t place, page = grb_page_of(s->max_doc, &place);
    uint32_t size = grb_page_size(page);
    if (field->length_kept && field->length &&
        !grb_memseg_page(s, &f->lengths, page, size, size))
        return false;
    if (!field->column) return true;
    uint32_t width = !f->many && f->kind == GREBE_KEYWORD ? 4 : 8;
    size_t head = sizeof(grb_values_page) + size / 8;
    if (!grb_memseg_page(s, &f->column, page, head + size * width, head))
        return false;
    if (f->many && !log_reserve(s, f, field->value_count)) return false;
    return f->kind != GREBE_KEYWORD || ords_reserve(s, f, field->value_count);
}

/* ---- terms ---- */

/* Bytes that one more posting of a term takes beyond its last slice. */
static size_t posting_size(const grb_record *record, const grb_tail *tail,
                           bool text) {
    size_t size = 0;
    uint32_t used = tail->used, capacity = tail->capacity;
    if (used == capacity) {
        capacity = grb_slice_next(capacity);
        used = 0;
        size += grb_mem_pad(grb_slice_size(text, capacity), 8);
    }
    if (used + 1 == capacity && capacity >= GRB_BLOCK / 2) {
        const grb_blocks *blocks =
            atomic_load_explicit(&record->blocks, memory_order_relaxed);
        if (!blocks || tail->sealed == blocks->capacity)
            size += grb_blocks_size(blocks ? blocks->capacity * 2 : 1);
    }
    return size;
}

static inline uint64_t slot_load(const grb_table *table, uint32_t at) {
    return atomic_load_explicit(&table->slots[at], memory_order_relaxed);
}

/* Where a term lies, compared with each candidate. */
static grb_plan term_resolve(const grb_memseg *s, const grb_table *table,
                             const grb_inverted_term *term) {
    uint32_t at = term->key.hash & table->mask;
    for (uint64_t slot; (slot = slot_load(table, at)) != 0;
         at = (at + 1) & table->mask) {
        if (slot >> 32 != term->key.hash) continue;
        grb_plan plan = grb_memseg_term_at(s, (uint32_t)slot - 1);
        if (grb_record_is(plan.record, term->field, &term->key)) return plan;
    }
    return (grb_plan){NULL, NULL};
}

/* Where the terms of a batch probably lie (the hash is the same); starts
 * loading their lines. */
static void batch_probe(const grb_memseg *s, const grb_table *table,
                        const grb_inverted_term *terms, grb_plan *plan,
                        uint32_t count) {
    uint32_t mask = table->mask;
    for (uint32_t i = 0; i < count; i++)
        __builtin_prefetch(
            (const void *)&table->slots[terms[i].key.hash & mask]);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t hash = terms[i].key.hash, at = hash & mask;
        uint64_t slot = slot_load(table, at);
        while (slot >> 32 != hash && slot) {
            at = (at + 1) & mask;
            slot = slot_load(table, at);
        }
        if (!slot) {
            plan[i] = (grb_plan){NULL, NULL};
            continue;
        }
        plan[i] = grb_memseg_term_at(s, (uint32_t)slot - 1);
        __builtin_prefetch(plan[i].record, 1);
        __builtin_prefetch(plan[i].tail, 1);
    }
}

/* Checks the plan of a batch and starts loading the words that postings will
 * be written to; the arena bytes that they will take. */
static size_t batch_plan(const grb_memseg *s, const grb_table *table,
                         const grb_inverted_term *terms, grb_plan *plan,
                         uint32_t count) {
    size_t size = 0;
    for (uint32_t i = 0; i < count; i++) {
        const grb_inverted_term *term = &terms[i];
        if (plan[i].record &&
            !grb_record_is(plan[i].record, term->field, &term->key))
            plan[i] = term_resolve(s, table, term);
        if (!plan[i].record) {
            if (term->key.size > GRB_TERM_INLINE)
                size += grb_mem_pad(term->key.size, 8);
            continue;
        }
        if (term->kind == GRB_TERM_VALUE) continue;
        const grb_tail *tail = plan[i].tail;
        uint32_t used = tail->used, capacity = tail->capacity;
        bool text = term->kind == GRB_TERM_TEXT;
        if (used < capacity) {
            __builtin_prefetch((const void *)&tail->slice->docs[used], 1);
            if (text)
                __builtin_prefetch(
                    grb_slice_pairs(tail->slice, capacity) + used, 1);
        }
        if (used + 1 >= capacity)
            size += posting_size(plan[i].record, tail, text);
    }
    return size;
}

/* Fills the plan; the arena bytes that the terms will take. */
static size_t terms_plan(grb_memseg *s, const grb_inverted *inv) {
    const grb_table *table =
        atomic_load_explicit(&s->table, memory_order_relaxed);
    size_t size = 0;
    for (uint32_t from = 0; from < inv->term_count; from += BATCH) {
        const grb_inverted_term *terms = inv->terms + from;
        grb_plan *plan = s->plan + from;
        uint32_t count = GRB_MIN(BATCH, inv->term_count - from);
        batch_probe(s, table, terms, plan, count);
        size += batch_plan(s, table, terms, plan, count);
    }
    return size;
}

static bool plan_reserve(grb_memseg *s, uint32_t count) {
    if (count <= s->plan_capacity) return true;
    uint32_t capacity = GRB_MAX(count, s->plan_capacity * 2);
    grb_plan *plan = grb_memseg_alloc(s, capacity * sizeof *plan);
    if (!plan) return false;
    s->plan = plan;
    s->plan_capacity = capacity;
    return true;
}

/* A run of bytes for all position lists of the document. */
static grebe_status positions_reserve(grb_memseg *s, uint32_t size,
                                      grebe_error *err) {
    if (size <= s->position_room) return GREBE_OK;
    size_t want =
        GRB_MIN(GRB_POSITION_PAGE, 512u << GRB_MIN(s->position_pages, 8u));
    if (want < size) want = grb_mem_pad(size, 64);
    uint32_t pages =
        (uint32_t)((want + GRB_POSITION_PAGE - 1) / GRB_POSITION_PAGE);
    if (s->position_pages + pages > 65536u)
        return grb_error(err, GREBE_LIMIT,
                         "positions of the growing segment are over 4 GiB");
    if (!grb_memseg_dir(s, &s->positions, s->position_pages + pages - 1))
        return no_memory(err);
    uint8_t *block = grb_memseg_alloc(s, want);
    if (!block) return no_memory(err);
    grb_dir *dir =
        atomic_load_explicit(&s->positions.dir, memory_order_relaxed);
    for (uint32_t i = 0; i < pages; i++)
        atomic_store_explicit(&dir->pages[s->position_pages + i],
                              block + (size_t)i * GRB_POSITION_PAGE,
                              memory_order_release);
    s->position_ref = s->position_pages << 16;
    s->position_at = block;
    s->position_room = (uint32_t)want;
    s->position_pages += pages;
    return GREBE_OK;
}

/* ---- the whole ---- */

grebe_status grb_memseg_reserve(grb_memseg *s, const grb_inverted *inv,
                                grebe_error *err) {
    if (s->max_doc >= GRB_SEGMENT_DOCS_MAX)
        return grb_error(err, GREBE_LIMIT,
                         "the growing segment holds %u documents", s->max_doc);
    if (inv->term_count > TERMS_MAX - s->term_count)
        return grb_error(err, GREBE_LIMIT,
                         "the growing segment holds %u terms", s->term_count);
    uint32_t place, page = grb_page_of(s->max_doc, &place);
    size_t size = (size_t)inv->stored_size + inv->key.size + 8;
    if (!grb_memseg_page(s, &s->rows, page,
                         grb_page_size(page) * sizeof(grb_row), 0))
        return no_memory(err);
    if (inv->key.bytes &&
        !table_reserve(s, &s->keys, (size_t)s->key_count + 1))
        return no_memory(err);
    for (uint32_t i = 0; i < inv->field_count; i++) {
        const grb_inverted_field *field = &inv->fields[i];
        grb_mem_field *f = grb_memseg_field(s, field->field);
        if (f && f->log_count > UINT32_MAX / 2 - field->value_count)
            return grb_error(err, GREBE_LIMIT,
                             "the growing segment holds %u values of a field",
                             f->log_count);
        if (!field_reserve(s, field)) return no_memory(err);
    }
    if (inv->term_count) {
        size_t most = (size_t)s->term_count + inv->term_count;
        if (!table_reserve(s, &s->table, most) ||
            !terms_reserve(s, (uint32_t)most) ||
            !plan_reserve(s, inv->term_count))
            return no_memory(err);
        grebe_status status = positions_reserve(s, inv->positions_size, err);
        if (status != GREBE_OK) return status;
        size += terms_plan(s, inv);
    }
    if (!grb_memseg_totals_reserve(s, inv) || !grb_memseg_ensure(s, size))
        return no_memory(err);
    return GREBE_OK;
}
