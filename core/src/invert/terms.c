/* invert/terms.c - from tokens to the distinct terms of one field.
 *
 * The distinct terms of a document are found here, outside the writer's
 * mutex, in a table that stays in the first-level cache; the segment then
 * sees each term once, with its frequency and its positions already encoded.
 *
 * Invariant: terms of a field are contiguous and distinct; positions of a
 *   term never fall and stay below 2^31.
 * Threads: one an inverted document.
 * Owns: the position gap between the values of a field.
 */
#include "invert/inverter.h"

#define SMALL_FIELD 512u /* terms */
#define POSITION_GAP 100u
#define POSITION_MAX ((uint64_t)INT32_MAX)

static void table_insert(uint64_t *slots, uint32_t mask, uint32_t hash,
                         uint32_t place) {
    uint32_t at = hash & mask;
    while (slots[at]) at = (at + 1) & mask;
    slots[at] = (uint64_t)hash << 32 | (place + 1);
}

/* Makes room for `more` terms behind those from `first` on; the table holds
 * the terms of one field. The load is at most one quarter while that keeps
 * it in the first-level cache, because each collision is a wrong guess of the
 * processor; else at most one half. */
static grebe_status table_reserve(grb_inverted *inv, uint32_t first,
                                  size_t more, bool fresh, grebe_error *err) {
    struct grb_inverter *in = inv->inverter;
    size_t held = inv->term_count - first;
    size_t want = 16;
    size_t load = held + more <= SMALL_FIELD ? 4 : 2;
    while (want < (held + more) * load) want *= 2;
    if (!fresh && want <= (size_t)in->slot_mask + 1) return GREBE_OK;
    grebe_status status =
        grb_inverter_grow(inv->allocator, (void **)&in->slots,
                          &in->slot_capacity, want, sizeof *in->slots, err);
    if (status != GREBE_OK) return status;
    memset(in->slots, 0, want * sizeof *in->slots);
    in->slot_mask = (uint32_t)(want - 1);
    for (uint32_t i = first; i < inv->term_count; i++)
        table_insert(in->slots, in->slot_mask, inv->terms[i].key.hash, i);
    return GREBE_OK;
}

static inline bool key_same(const grb_term_key *a, const grb_term_key *b) {
    if (a->size != b->size || a->words[0] != b->words[0]) return false;
    if (a->size <= GRB_TERM_INLINE) return a->words[1] == b->words[1];
    return memcmp(a->bytes, b->bytes, a->size) == 0;
}

/* Place of the term with this key; a new one has tf 0 and stands in
 * inv->terms already. Room has been made. */
static inline uint32_t term_place(grb_inverted *inv, uint32_t field,
                                  const grb_term_key *key) {
    struct grb_inverter *in = inv->inverter;
    uint32_t at = key->hash & in->slot_mask;
    for (uint64_t slot; (slot = in->slots[at]) != 0;
         at = (at + 1) & in->slot_mask) {
        uint32_t place = (uint32_t)slot - 1;
        if (slot >> 32 == key->hash && key_same(&inv->terms[place].key, key))
            return place;
    }
    uint32_t place = inv->term_count++;
    in->slots[at] = (uint64_t)key->hash << 32 | (place + 1);
    grb_inverted_term *term = &inv->terms[place];
    term->key = *key;
    term->field = field;
    term->tf = 0;
    term->positions_size = 0;
    return place;
}

static grebe_status terms_reserve(grb_inverted *inv, size_t more,
                                  grebe_error *err) {
    size_t want = inv->term_count + more;
    if (want >= UINT32_MAX / 2)
        return grb_error(err, GREBE_LIMIT, "a document has too many terms");
    return grb_inverter_grow(inv->allocator, (void **)&inv->terms,
                             &inv->inverter->term_capacity, want,
                             sizeof *inv->terms, err);
}

/* A second or later occurrence. Room has been made. */
static inline void occurrence_add(struct grb_inverter *in,
                                  grb_inverted_term *term, uint32_t position) {
    grb_occurrence *o = &in->occurrences[in->occurrence_count++];
    o->position = position;
    o->next = 0;
    uint32_t place = (uint32_t)in->occurrence_count;
    if (term->last_occurrence)
        in->occurrences[term->last_occurrence - 1].next = place;
    else
        term->positions_size = place; /* the first, until encoded */
    term->last_occurrence = place;
    term->tf++;
}

#define BATCH 64u

/* Adds the tokens of one value; positions start at `base`. Unchanged tokens
 * point into the text. */
static grebe_status tokens_add(grb_inverted *inv, const grb_field *field,
                               uint64_t base, const grebe_value *text,
                               grebe_error *err) {
    struct grb_inverter *in = inv->inverter;
    const char *from = text->as.text.bytes, *to = from + text->as.text.size;
    grb_term_key keys[BATCH];
    for (uint32_t i = 0; i < in->tokens.count; i++) {
        const grb_token *token = &in->tokens.items[i];
        if (i % BATCH == 0)
            grb_term_keys_make(token, GRB_MIN(BATCH, in->tokens.count - i),
                               field->id, from, keys);
        const grb_term_key *key = &keys[i % BATCH];
        uint32_t before = inv->term_count;
        uint32_t place = term_place(inv, field->id, key);
        grb_inverted_term *term = &inv->terms[place];
        uint32_t position = (uint32_t)(base + token->position);
        if (place != before) {
            occurrence_add(in, term, position);
            continue;
        }
        /* Only a filter's output dies with the next value's analysis. */
        if (GRB_UNLIKELY(key->size > GRB_TERM_INLINE) &&
            (token->bytes < from || token->bytes >= to)) {
            term->key.bytes =
                grb_arena_copy(&in->long_terms, key->bytes, key->size);
            if (!term->key.bytes) return grb_error_memory(err, key->size);
        }
        term->kind = GRB_TERM_TEXT;
        term->position = position;
        term->last_occurrence = 0;
        term->tf = 1;
    }
    return GREBE_OK;
}

/* Writes the positions of terms that occur more than once. */
static grebe_status positions_encode(grb_inverted *inv, uint32_t first,
                                     uint8_t length, grebe_error *err) {
    struct grb_inverter *in = inv->inverter;
    size_t want = inv->positions_size + in->occurrence_count * 10;
    if (want > UINT32_MAX)
        return grb_error(err, GREBE_LIMIT, "a document has too many tokens");
    grebe_status status =
        grb_inverter_grow(inv->allocator, (void **)&inv->positions,
                          &in->position_capacity, want, 1, err);
    if (status != GREBE_OK) return status;
    uint8_t *begin = inv->positions, *at = begin + inv->positions_size;
    for (uint32_t i = first; i < inv->term_count; i++) {
        grb_inverted_term *term = &inv->terms[i];
        term->length = length;
        if (term->tf == 1) continue;
        uint32_t before = term->position, next = term->positions_size;
        term->position = (uint32_t)(at - begin);
        at = grb_varint_put(at, before);
        while (next) {
            const grb_occurrence *o = &in->occurrences[next - 1];
            at = grb_varint_put(at, o->position - before);
            before = o->position;
            next = o->next;
        }
        term->positions_size = (uint32_t)(at - begin) - term->position;
    }
    inv->positions_size = (uint32_t)(at - begin);
    return GREBE_OK;
}

/* Tokens that stand on a place of their own: what the length byte counts. */
static uint32_t tokens_length(const grb_tokens *tokens) {
    uint32_t count = tokens->count;
    for (uint32_t i = 1; i < tokens->count; i++)
        count -= tokens->items[i].position == tokens->items[i - 1].position;
    return count;
}

grebe_status grb_inverter_text(grb_inverted *inv, const grb_field *field,
                               const grb_chain *chain, grb_inverted_field *out,
                               grebe_error *err) {
    grebe_status status = GREBE_OK;
    struct grb_inverter *in = inv->inverter;
    uint32_t first = inv->term_count;
    uint64_t base = 0, length = 0;
    in->occurrence_count = 0;
    for (uint32_t i = chain->first; i; i = in->items[i - 1].next) {
        const grebe_value *value = &in->items[i - 1].value;
        GRB_TRY(grb_analyze(field->analyzer, value->as.text.bytes,
                            value->as.text.size, &in->tokens, err));
        uint32_t count = in->tokens.count;
        inv->terms_skipped += in->tokens.skipped;
        if (base + in->tokens.end_position >= POSITION_MAX)
            return grb_error(err, GREBE_LIMIT,
                             "positions of a field go beyond %u",
                             (unsigned)POSITION_MAX);
        GRB_TRY(terms_reserve(inv, count, err));
        GRB_TRY(table_reserve(inv, first, count, i == chain->first, err));
        GRB_TRY(grb_inverter_grow(inv->allocator, (void **)&in->occurrences,
                                  &in->occurrence_capacity,
                                  in->occurrence_count + count,
                                  sizeof *in->occurrences, err));
        GRB_TRY(tokens_add(inv, field, base, value, err));
        base += in->tokens.end_position + POSITION_GAP;
        length += tokens_length(&in->tokens);
        out->term_total += count;
        inv->text_bytes += value->as.text.size;
    }
    inv->tokens += out->term_total;
    out->counted = out->term_total > 0;
    out->length_kept = true;
    if (length) out->length = grb_length_encode((uint32_t)length);
    status = positions_encode(inv, first, out->length, err);
done:
    return status;
}

grebe_status grb_inverter_keyword(grb_inverted *inv, const grb_field *field,
                                  const grb_chain *chain,
                                  grb_inverted_field *out, grebe_error *err) {
    grebe_status status = GREBE_OK;
    struct grb_inverter *in = inv->inverter;
    uint32_t first = inv->term_count;
    bool key_field = field->id == inv->schema->key;
    bool posted = (field->flags & GREBE_INDEXED) && !key_field;
    GRB_TRY(terms_reserve(inv, chain->count, err));
    if (chain->count > 1)
        GRB_TRY(table_reserve(inv, first, chain->count, true, err));
    for (uint32_t i = chain->first; i; i = in->items[i - 1].next) {
        const grebe_value *value = &in->items[i - 1].value;
        if (value->as.text.size > GREBE_TERM_SIZE_MAX)
            return grb_error(err, GREBE_LIMIT,
                             "a keyword is %zu bytes, the limit is %u",
                             value->as.text.size, GREBE_TERM_SIZE_MAX);
        grb_term_key key;
        grb_term_key_make(value->as.text.bytes, (uint32_t)value->as.text.size,
                          field->id, &key);
        uint32_t place = first;
        if (chain->count > 1) {
            place = term_place(inv, field->id, &key);
        } else {
            inv->terms[first].key = key;
            inv->terms[first].field = field->id;
            inv->term_count++;
        }
        grb_inverted_term *term = &inv->terms[place];
        term->kind = posted ? GRB_TERM_KEYWORD : GRB_TERM_VALUE;
        term->tf = 1;
        term->position = 0;
        term->positions_size = 0;
        term->length = 1;
        if (out->column) inv->values[inv->value_count++] = place;
        inv->text_bytes += value->as.text.size;
    }
    if (posted) {
        out->counted = true;
        out->term_total = inv->term_count - first;
    }
done:
    return status;
}
