/* invert/inverter.c - phase one of adding a document: everything that can be
 * refused is refused here, outside the writer's mutex.
 *
 * The document completes itself (defaults, required fields), instances are
 * chained by field, and each field becomes terms, column values and totals.
 *
 * Invariant: chains are clear between documents; after a failure the object
 *   holds nothing. Memory is kept: in the steady state nothing is allocated.
 * Threads: one an inverted document; others may use theirs meanwhile.
 */
#include "invert/inverter.h"

#define KEEP_ITEMS ((size_t)1 << 17) /* terms, tokens */
#define KEEP_BYTES ((size_t)4 << 20) /* of a record */

grebe_status grb_inverter_grow(const grebe_allocator *a, void **items,
                               size_t *capacity, size_t want, size_t item_size,
                               grebe_error *err) {
    if (GRB_LIKELY(want <= *capacity)) return GREBE_OK;
    size_t wider = *capacity ? *capacity : 16;
    while (wider < want) wider += wider / 2;
    void *grown =
        grb_resize(a, *items, *capacity * item_size, wider * item_size);
    if (!grown) return grb_error_memory(err, wider * item_size);
    *items = grown;
    *capacity = wider;
    return GREBE_OK;
}

grebe_status grb_inverted_new(const grebe_allocator *a, grb_inverted **out,
                              grebe_error *err) {
    grb_inverted *inv = grb_alloc_zero(a, sizeof *inv);
    if (!inv) return grb_error_memory(err, sizeof *inv);
    inv->inverter = grb_alloc_zero(a, sizeof *inv->inverter);
    if (!inv->inverter) {
        grb_free(a, inv, sizeof *inv);
        return grb_error_memory(err, sizeof *inv->inverter);
    }
    inv->allocator = a;
    grb_tokens_init(&inv->inverter->tokens, a);
    grb_arena_init(&inv->inverter->long_terms, a, 0);
    grb_buf_init(&inv->inverter->stored, a, 0);
    grb_buf_init(&inv->inverter->log, a, 0);
    *out = inv;
    return GREBE_OK;
}

/* Frees the arrays; the object is as new. */
static void arrays_free(grb_inverted *inv) {
    const grebe_allocator *a = inv->allocator;
    struct grb_inverter *in = inv->inverter;
    grb_free(a, inv->fields, in->field_capacity * sizeof *inv->fields);
    grb_free(a, inv->terms, in->term_capacity * sizeof *inv->terms);
    grb_free(a, inv->values, in->value_capacity * sizeof *inv->values);
    grb_free(a, inv->positions, in->position_capacity);
    grb_free(a, in->items, in->item_capacity * sizeof *in->items);
    grb_free(a, in->chains, in->chain_capacity * sizeof *in->chains);
    grb_free(a, in->used, in->used_capacity * sizeof *in->used);
    grb_free(a, in->occurrences,
             in->occurrence_capacity * sizeof *in->occurrences);
    grb_free(a, in->slots, in->slot_capacity * sizeof *in->slots);
    grb_buf_deinit(&in->stored);
    grb_buf_deinit(&in->log);
    grb_tokens_deinit(&in->tokens);
    grb_arena_deinit(&in->long_terms);
    grb_schema_release(inv->schema);
    memset(in, 0, sizeof *in);
    memset(inv, 0, sizeof *inv);
    inv->allocator = a;
    inv->inverter = in;
    grb_tokens_init(&in->tokens, a);
    grb_arena_init(&in->long_terms, a, 0);
    grb_buf_init(&in->stored, a, 0);
    grb_buf_init(&in->log, a, 0);
}

void grb_inverted_free(grb_inverted *inv) {
    if (!inv) return;
    const grebe_allocator *a = inv->allocator;
    arrays_free(inv);
    grb_tokens_deinit(&inv->inverter->tokens);
    grb_free(a, inv->inverter, sizeof *inv->inverter);
    grb_free(a, inv, sizeof *inv);
}

/* After a giant the next document begins with nothing: memory for 16 MiB of
 * text is not held for ever by an index of small documents. */
static void giant_forget(grb_inverted *inv) {
    const struct grb_inverter *in = inv->inverter;
    if (GRB_UNLIKELY(in->term_capacity > KEEP_ITEMS ||
                     in->tokens.capacity > KEEP_ITEMS ||
                     in->stored.capacity > KEEP_BYTES ||
                     in->log.capacity > KEEP_BYTES))
        arrays_free(inv);
}

/* ---- instances to chains ---- */

static grebe_status schema_use(grb_inverted *inv, grebe_schema *schema,
                               grebe_error *err) {
    struct grb_inverter *in = inv->inverter;
    if (GRB_LIKELY(inv->schema == schema)) return GREBE_OK;
    size_t before = in->chain_capacity;
    grebe_status status = grb_inverter_grow(
        inv->allocator, (void **)&in->chains, &in->chain_capacity,
        schema->field_count, sizeof *in->chains, err);
    if (status != GREBE_OK) return status;
    if (in->chain_capacity > before)
        memset(in->chains + before, 0,
               (in->chain_capacity - before) * sizeof *in->chains);
    grb_schema_release(inv->schema);
    inv->schema = grb_schema_acquire(schema);
    return GREBE_OK;
}

/* Room for one more item and used field has been made. */
static inline void item_add(struct grb_inverter *in,
                            const grebe_document *document,
                            const grb_instance *instance) {
    grb_chain *chain = &in->chains[instance->field];
    grb_item *item = &in->items[in->item_count++];
    grb_instance_value(document, instance, &item->value);
    item->next = 0;
    uint32_t place = (uint32_t)in->item_count;
    if (chain->last) {
        in->items[chain->last - 1].next = place;
    } else {
        chain->first = place;
        in->used[in->used_count++] = instance->field;
    }
    chain->last = place;
    chain->count++;
}

static grebe_status items_gather(grb_inverted *inv,
                                 const grebe_document *document,
                                 grebe_error *err) {
    grebe_status status = GREBE_OK;
    struct grb_inverter *in = inv->inverter;
    GRB_TRY(grb_inverter_grow(inv->allocator, (void **)&in->items,
                              &in->item_capacity, document->count,
                              sizeof *in->items, err));
    GRB_TRY(grb_inverter_grow(inv->allocator, (void **)&in->used,
                              &in->used_capacity, document->count,
                              sizeof *in->used, err));
    for (uint32_t i = document->null_count; i < document->count; i++)
        item_add(in, document, &document->instances[i]);
    if (in->used_count > GREBE_FIELDS_PER_DOCUMENT_MAX)
        status = grb_error(err, GREBE_LIMIT,
                           "a document has %zu fields with its defaults, the "
                           "limit is %u",
                           in->used_count, GREBE_FIELDS_PER_DOCUMENT_MAX);
done:
    return status;
}

static void chains_clear(struct grb_inverter *in) {
    for (size_t i = 0; i < in->used_count; i++)
        in->chains[in->used[i]] = (grb_chain){0, 0, 0};
    in->used_count = 0;
    in->item_count = 0;
}

/* ---- fields ---- */

/* Column values of a number field. */
static void numbers_invert(grb_inverted *inv, const grb_chain *chain) {
    const grb_item *items = inv->inverter->items;
    for (uint32_t i = chain->first; i; i = items[i - 1].next)
        inv->values[inv->value_count++] =
            grb_value_ordered(&items[i - 1].value);
}

static grebe_status field_invert(grb_inverted *inv, const grb_field *field,
                                 const grb_chain *chain, grebe_error *err) {
    grebe_status status = GREBE_OK;
    if (!(field->flags & (GREBE_INDEXED | GREBE_COLUMN))) return GREBE_OK;
    /* The key table finds keys; only a column asks for more. */
    if (field->id == inv->schema->key && field->kind == GREBE_KEYWORD &&
        !(field->flags & GREBE_COLUMN))
        return GREBE_OK;
    if (field->kind == GREBE_BYTES) return GREBE_OK;
    grb_inverted_field *out = &inv->fields[inv->field_count];
    memset(out, 0, sizeof *out);
    out->field = field->id;
    out->kind = field->kind;
    out->many = (field->flags & GREBE_MANY) != 0;
    out->value_first = inv->value_count;
    if (field->kind == GREBE_TEXT) {
        GRB_TRY(grb_inverter_text(inv, field, chain, out, err));
    } else if (field->kind == GREBE_KEYWORD) {
        out->column = (field->flags & GREBE_COLUMN) != 0;
        GRB_TRY(grb_inverter_keyword(inv, field, chain, out, err));
    } else {
        out->column = true;
        numbers_invert(inv, chain);
    }
    out->value_count = inv->value_count - out->value_first;
    inv->field_count++;
done:
    if (status != GREBE_OK) grb_error_field(err, field->name);
    return status;
}

static grebe_status fields_invert(grb_inverted *inv, grebe_error *err) {
    grebe_status status = GREBE_OK;
    struct grb_inverter *in = inv->inverter;
    GRB_TRY(grb_inverter_grow(inv->allocator, (void **)&inv->fields,
                              &in->field_capacity, in->used_count,
                              sizeof *inv->fields, err));
    GRB_TRY(grb_inverter_grow(inv->allocator, (void **)&inv->values,
                              &in->value_capacity, in->item_count,
                              sizeof *inv->values, err));
    for (size_t i = 0; i < in->used_count; i++) {
        const grb_chain *chain = &in->chains[in->used[i]];
        GRB_TRY(
            field_invert(inv, &inv->schema->fields[in->used[i]], chain, err));
    }
done:
    return status;
}

/* ---- the whole ---- */

static void inverted_clear(grb_inverted *inv) {
    inv->field_count = inv->term_count = inv->value_count = 0;
    inv->positions_size = 0;
    inv->key = (grb_key){NULL, 0, 0};
    inv->stored = inv->log = NULL;
    inv->stored_size = 0;
    inv->log_size = 0;
    inv->tokens = inv->text_bytes = inv->terms_skipped = 0;
    if (inv->inverter->long_terms.size)
        grb_arena_reset(&inv->inverter->long_terms);
}

static grebe_status record_encode(const grebe_document *document, int what,
                                  grb_buf *out, grebe_error *err) {
    grb_buf_clear(out);
    grb_document_encode(document, what, out);
    return out->failed ? grb_error_memory(err, document->bytes.size)
                       : GREBE_OK;
}

/* Stored record and log record; one and the same where everything is
 * stored. */
static grebe_status records_build(grb_inverted *inv,
                                  const grebe_document *document,
                                  bool want_log, grebe_error *err) {
    grebe_status status;
    struct grb_inverter *in = inv->inverter;
    GRB_TRY(record_encode(document, GRB_ENCODE_STORED, &in->stored, err));
    inv->stored = in->stored.bytes;
    inv->stored_size = (uint32_t)in->stored.size;
    if (want_log) status = grb_inverted_log_make(inv, document, err);
done:
    return status;
}

grebe_status grb_inverted_log_make(grb_inverted *inv,
                                   const grebe_document *document,
                                   grebe_error *err) {
    grebe_status status = GREBE_OK;
    struct grb_inverter *in = inv->inverter;
    const grb_buf *record = &in->stored;
    if (inv->log) return GREBE_OK;
    if (!inv->schema->all_stored || document->null_count > 0) {
        GRB_TRY(record_encode(document, GRB_ENCODE_ALL, &in->log, err));
        record = &in->log;
    }
    inv->log = record->bytes;
    inv->log_size = record->size;
done:
    return status;
}

grebe_status grb_inverted_build(grb_inverted *inv,
                                const grebe_document *document, bool want_log,
                                grebe_error *err) {
    grebe_status status;
    grebe_value key;
    giant_forget(inv);
    inverted_clear(inv);
    GRB_TRY(grb_document_complete(document, err));
    GRB_TRY(schema_use(inv, document->schema, err));
    GRB_TRY(items_gather(inv, document, err));
    if (grb_document_key(document, &key))
        grb_key_make(&key, inv->inverter->key_scratch, &inv->key);
    GRB_TRY(fields_invert(inv, err));
    status = records_build(inv, document, want_log, err);
done:
    if (GRB_UNLIKELY(status != GREBE_OK)) {
        grb_document_error_key(document, err);
        inverted_clear(inv);
    }
    chains_clear(inv->inverter);
    return status;
}

const grb_key *grb_inverted_key(const grb_inverted *inv) {
    return &inv->key;
}

void grb_inverted_log(const grb_inverted *inv, const uint8_t **bytes,
                      size_t *size) {
    *bytes = inv->log;
    *size = inv->log_size;
}

uint64_t grb_inverted_tokens(const grb_inverted *inv) {
    return inv->tokens;
}

uint64_t grb_inverted_text_bytes(const grb_inverted *inv) {
    return inv->text_bytes;
}

uint64_t grb_inverted_terms_skipped(const grb_inverted *inv) {
    return inv->terms_skipped;
}
