/* memseg/append.c - phase two of adding a document: what cannot fail.
 *
 * All memory has been reserved. Postings, positions, lengths, column values,
 * the stored record and the key go in; at the end max_doc moves, and the next
 * bounds show the document.
 *
 * Invariant: no word that a reader may look at is given a second meaning; tf
 *   and position are written before the document id that makes them reachable.
 * Threads: the writer. Slices, directory entries, slots and pages are
 * published by release; posting words and counts are relaxed, since a reader
 * only uses what its bounds, published later, cover.
 */
#include "memseg/append.h"
#include "segment/block.h"

/* ---- sealing a block ---- */

static uint8_t length_of(const grb_memseg *s, const grb_mem_field *f,
                         uint32_t doc) {
    uint32_t place, page = grb_page_of(doc, &place);
    const uint8_t *codes = grb_paged_page(&f->lengths, page);
    return codes ? codes[place] : 0;
}

/* What the pairs of a block are made from. */
typedef struct block_words {
    uint32_t freqs[GRB_BLOCK];
    uint8_t lengths[GRB_BLOCK];
    uint32_t count;
} block_words;

static void slice_words(const grb_memseg *s, const grb_mem_field *f,
                        const grb_slice *slice, uint32_t capacity,
                        block_words *out) {
    const grb_pair *pairs = grb_slice_pairs(slice, capacity);
    for (uint32_t i = 0; i < capacity; i++) {
        uint32_t doc =
            atomic_load_explicit(&slice->docs[i], memory_order_relaxed);
        out->freqs[out->count] = pairs[i].tf;
        out->lengths[out->count++] = length_of(s, f, doc);
    }
}

static void block_impacts(const grb_memseg *s, const grb_record *record,
                          const grb_tail *tail, const grb_mem_field *f,
                          grb_sealed *out) {
    block_words words;
    words.count = 0;
    if (tail->sealed == 0) {
        words.freqs[0] = record->first_tf;
        words.lengths[0] = length_of(s, f, record->first_doc);
        words.count = 1;
        const grb_slice *slice =
            atomic_load_explicit(&record->slices, memory_order_relaxed);
        for (uint32_t n = GRB_SLICE_FIRST; n < GRB_BLOCK; n *= 2) {
            slice_words(s, f, slice, n, &words);
            slice = atomic_load_explicit(&slice->next, memory_order_relaxed);
        }
    } else {
        slice_words(s, f, tail->slice, GRB_BLOCK, &words);
    }
    out->impact_count = grb_impacts_make(words.freqs, words.lengths,
                                         words.count, out->impacts);
}

/* The block that ends with tail->slice is full: its entry becomes visible. */
static void block_seal(grb_memseg *s, grb_record *record, grb_tail *tail,
                       const grb_mem_field *f, bool text, uint32_t doc) {
    grb_blocks *blocks =
        atomic_load_explicit(&record->blocks, memory_order_relaxed);
    if (!blocks || tail->sealed == blocks->capacity) {
        uint32_t capacity = blocks ? blocks->capacity * 2 : 1;
        grb_blocks *wider = grb_memseg_take(s, grb_blocks_size(capacity));
        wider->capacity = capacity;
        if (blocks)
            memcpy(wider->items, blocks->items,
                   blocks->capacity * sizeof blocks->items[0]);
        for (uint32_t i = tail->sealed; i < capacity; i++)
            atomic_init(&wider->items[i].last, UINT32_MAX);
        atomic_store_explicit(&record->blocks, wider, memory_order_release);
        blocks = wider;
    }
    grb_sealed *sealed = &blocks->items[tail->sealed];
    sealed->slice = tail->slice;
    if (text) {
        block_impacts(s, record, tail, f, sealed);
    } else {
        sealed->impact_count = 1;
        sealed->impacts[0] = (grb_impact){1, 1};
    }
    tail->sealed++;
    atomic_store_explicit(&sealed->last, doc, memory_order_release);
}

/* ---- postings ---- */

static void slice_add(grb_memseg *s, grb_record *record, grb_tail *tail,
                      bool text) {
    uint32_t capacity = grb_slice_next(tail->capacity);
    grb_slice *slice = grb_memseg_take(s, grb_slice_size(text, capacity));
    atomic_init(&slice->next, NULL);
    memset((void *)slice->docs, 0xff, capacity * 4);
    _Atomic(grb_slice *) *link =
        tail->slice ? &tail->slice->next : &record->slices;
    atomic_store_explicit(link, slice, memory_order_release);
    tail->slice = slice;
    tail->used = 0;
    tail->capacity = (uint16_t)capacity;
}

/* The position word of a posting; longer lists are copied. */
static uint32_t position_word(grb_memseg *s, const grb_inverted *inv,
                              const grb_inverted_term *term) {
    if (term->tf == 1) return term->position;
    uint32_t ref = s->position_ref, size = term->positions_size;
    memcpy(s->position_at, inv->positions + term->position, size);
    s->position_at += size;
    s->position_ref += size;
    s->position_room -= size;
    return ref;
}

static inline void count_store(grb_record *record, uint32_t count,
                               uint32_t doc) {
    atomic_store_explicit(&record->count_last, (uint64_t)count << 32 | doc,
                          memory_order_relaxed);
}

static void posting_add(grb_memseg *s, const grb_inverted *inv,
                        const grb_inverted_term *term, grb_plan plan,
                        uint32_t doc) {
    grb_record *record = plan.record;
    grb_tail *tail = plan.tail;
    bool text = term->kind == GRB_TERM_TEXT;
    if (tail->used == tail->capacity) slice_add(s, record, tail, text);
    grb_slice *slice = tail->slice;
    uint32_t at = tail->used++, capacity = tail->capacity;
    if (text) {
        grb_slice_pairs(slice, capacity)[at] =
            (grb_pair){term->tf, position_word(s, inv, term)};
        if (term->tf >
            atomic_load_explicit(&record->tf_max, memory_order_relaxed))
            atomic_store_explicit(&record->tf_max, term->tf,
                                  memory_order_relaxed);
        if (term->length <
            atomic_load_explicit(&record->length_min, memory_order_relaxed))
            atomic_store_explicit(&record->length_min, term->length,
                                  memory_order_relaxed);
    }
    atomic_store_explicit(&slice->docs[at], doc, memory_order_relaxed);
    uint64_t count_last =
        atomic_load_explicit(&record->count_last, memory_order_relaxed);
    count_store(record, (uint32_t)(count_last >> 32) + 1, doc);
    if (at + 1 == capacity && capacity >= GRB_BLOCK / 2)
        block_seal(s, record, tail, grb_memseg_field(s, term->field), text,
                   doc);
}

/* A term seen for the first time: its posting stands in the record. */
static grb_plan term_add(grb_memseg *s, const grb_inverted *inv,
                         const grb_inverted_term *term, uint32_t doc) {
    uint32_t id = s->term_count++;
    grb_plan plan = grb_memseg_term_at(s, id);
    grb_record *record = plan.record;
    *plan.tail = (grb_tail){NULL, 0, 0, 0};
    record->field = (uint16_t)term->field;
    record->size = (uint16_t)term->key.size;
    record->key[0] = term->key.words[0];
    record->key[1] = term->key.words[1];
    if (term->key.size > GRB_TERM_INLINE) {
        void *bytes = grb_memseg_take(s, term->key.size);
        memcpy(bytes, term->key.bytes, term->key.size);
        record->key[1] = (uintptr_t)bytes;
    }
    bool posted = term->kind != GRB_TERM_VALUE;
    record->first_doc = posted ? doc : GRB_NO_DOC;
    record->first_tf = term->tf;
    record->first_position = 0;
    if (term->kind == GRB_TERM_TEXT) {
        record->first_position = position_word(s, inv, term);
    } else {
        grb_mem_field *f = grb_memseg_field(s, term->field);
        uint32_t ord = f->ord_count, place, page = grb_page_of(ord, &place);
        uint32_t *ords = grb_paged_page(&f->ords, page);
        if (ords) { /* the field has a column */
            record->first_tf = ord;
            ords[place] = id;
            f->ord_count++;
            atomic_store_explicit(&f->ords_seen, f->ord_count,
                                  memory_order_release);
        }
    }
    atomic_init(&record->count_last, 0);
    if (posted) count_store(record, 1, doc);
    atomic_init(&record->slices, NULL);
    atomic_init(&record->blocks, NULL);
    atomic_init(&record->tf_max, term->tf);
    atomic_init(&record->length_min, term->length);

    const grb_table *table =
        atomic_load_explicit(&s->table, memory_order_relaxed);
    uint32_t at = term->key.hash & table->mask;
    while (atomic_load_explicit(&table->slots[at], memory_order_relaxed))
        at = (at + 1) & table->mask;
    atomic_store_explicit(&table->slots[at],
                          (uint64_t)term->key.hash << 32 | (id + 1),
                          memory_order_release);
    return plan;
}

#define AHEAD 8u

static void terms_append(grb_memseg *s, const grb_inverted *inv,
                         uint32_t doc) {
    for (uint32_t i = 0; i < inv->term_count; i++) {
        const grb_inverted_term *term = &inv->terms[i];
        /* In a long document reserving was long ago: second-level cache. */
        if (i + AHEAD < inv->term_count) {
            __builtin_prefetch(s->plan[i + AHEAD].record, 1);
            __builtin_prefetch(s->plan[i + AHEAD].tail, 1);
        }
        if (!s->plan[i].record)
            s->plan[i] = term_add(s, inv, term, doc);
        else if (term->kind != GRB_TERM_VALUE)
            posting_add(s, inv, term, s->plan[i], doc);
    }
}

/* ---- fields ---- */

static inline int64_t value_of(const grb_memseg *s, const grb_inverted *inv,
                               const grb_inverted_field *field, uint32_t i) {
    int64_t value = inv->values[field->value_first + i];
    if (field->kind != GREBE_KEYWORD) return value;
    return s->plan[value].record->first_tf;
}

static inline void zone_widen(grb_values_page *p, int64_t value) {
    int64_t min = (int64_t)(GRB_MIN_MASK ^ atomic_load_explicit(
                                               &p->min, memory_order_relaxed));
    int64_t max = (int64_t)(GRB_MAX_MASK ^ atomic_load_explicit(
                                               &p->max, memory_order_relaxed));
    if (value < min)
        atomic_store_explicit(&p->min, GRB_MIN_MASK ^ (uint64_t)value,
                              memory_order_relaxed);
    if (value > max)
        atomic_store_explicit(&p->max, GRB_MAX_MASK ^ (uint64_t)value,
                              memory_order_relaxed);
}

static void log_append(grb_mem_field *f, int64_t value) {
    uint32_t place, page = grb_page_of(f->log_count++, &place);
    void *values = grb_paged_page(&f->log, page);
    if (f->kind == GREBE_KEYWORD)
        ((uint32_t *)values)[place] = (uint32_t)value;
    else
        ((int64_t *)values)[place] = value;
}

static void column_append(grb_memseg *s, const grb_inverted *inv,
                          const grb_inverted_field *field, grb_mem_field *f,
                          uint32_t doc) {
    uint32_t place, page = grb_page_of(doc, &place);
    grb_values_page *p = grb_paged_page(&f->column, page);
    void *values = grb_values_at(p, page);
    if (f->many) {
        ((uint64_t *)values)[place] =
            (uint64_t)f->log_count << 32 | field->value_count;
        for (uint32_t i = 0; i < field->value_count; i++) {
            int64_t value = value_of(s, inv, field, i);
            zone_widen(p, value);
            log_append(f, value);
        }
    } else {
        int64_t value = value_of(s, inv, field, 0);
        zone_widen(p, value);
        if (f->kind == GREBE_KEYWORD)
            ((uint32_t *)values)[place] = (uint32_t)value;
        else
            ((int64_t *)values)[place] = value;
    }
    _Atomic uint64_t *word = &p->present[place / 64];
    atomic_store_explicit(word,
                          atomic_load_explicit(word, memory_order_relaxed) |
                              (uint64_t)1 << (place & 63),
                          memory_order_relaxed);
}

static void fields_append(grb_memseg *s, const grb_inverted *inv,
                          uint32_t doc) {
    for (uint32_t i = 0; i < inv->field_count; i++) {
        const grb_inverted_field *field = &inv->fields[i];
        grb_mem_field *f = grb_memseg_field(s, field->field);
        if (field->column && field->value_count)
            column_append(s, inv, field, f, doc);
        if (!field->counted) continue;
        grb_field_totals *totals =
            &s->totals->pages[field->field / GRB_TOTALS_PAGE]
                 ->fields[field->field % GRB_TOTALS_PAGE];
        totals->doc_count++;
        totals->term_total += field->term_total;
    }
}

/* Before the postings: a block that is sealed looks the lengths up. */
static void lengths_append(grb_memseg *s, const grb_inverted *inv,
                           uint32_t doc) {
    uint32_t place, page = grb_page_of(doc, &place);
    for (uint32_t i = 0; i < inv->field_count; i++) {
        const grb_inverted_field *field = &inv->fields[i];
        if (!field->length_kept || !field->length) continue;
        grb_mem_field *f = grb_memseg_field(s, field->field);
        ((uint8_t *)grb_paged_page(&f->lengths, page))[place] = field->length;
    }
}

/* ---- the row and the key ---- */

static void row_append(grb_memseg *s, const grb_inverted *inv, uint32_t doc,
                       uint64_t sequence) {
    const grb_key *key = &inv->key;
    uint8_t *bytes = grb_memseg_take(s, key->size + inv->stored_size);
    if (key->size) memcpy(bytes, key->bytes, key->size);
    memcpy(bytes + key->size, inv->stored, inv->stored_size);
    grb_row *row = grb_memseg_row(s, doc);
    row->bytes = bytes;
    row->sequence = sequence;
    row->key_size = key->bytes ? key->size : GRB_NO_KEY;
    row->stored_size = inv->stored_size;
    row->prev = GRB_NO_DOC;
    row->unused = 0;
    if (!key->bytes) return;
    const grb_table *table =
        atomic_load_explicit(&s->keys, memory_order_relaxed);
    uint32_t hash = grb_term_hash_key(key->bytes, key->size), slot;
    row->prev =
        grb_memseg_key_doc(s, table, key->bytes, key->size, hash, &slot);
    if (row->prev == GRB_NO_DOC) s->key_count++;
    atomic_store_explicit(&table->slots[slot],
                          (uint64_t)hash << 32 | (doc + 1),
                          memory_order_release);
}

grebe_status grb_memseg_append(grb_segment *core, const grb_inverted *inv,
                               uint64_t sequence, uint32_t *doc,
                               grebe_error *err) {
    grb_memseg *s = (grb_memseg *)core;
    grebe_status status = grb_memseg_reserve(s, inv, err);
    if (GRB_UNLIKELY(status != GREBE_OK)) return status;
    uint32_t id = s->max_doc;
    row_append(s, inv, id, sequence);
    lengths_append(s, inv, id);
    terms_append(s, inv, id);
    fields_append(s, inv, id);
    s->max_doc = id + 1;
    *doc = id;
    return GREBE_OK;
}
