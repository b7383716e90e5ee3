/* search/identity.c - the name of a filter: bytes that say what it matches.
 *
 * Two bound queries with equal bytes match the same documents of a segment,
 * whatever the snapshot. Factors are left out, clauses stand in the order of
 * their hashes: the same filter written in another order is the same.
 *
 * Invariant: what depends on the snapshot has no name: a key's documents are
 * looked up among the living.
 * Threads: one search.
 * Owns: nothing.
 */
#include "search/matcher.h"

static bool weight_put(grb_buf *out, const grb_weight *w);

static void bytes_put(grb_buf *out, const void *bytes, size_t size) {
    grb_buf_u8(out, bytes != NULL);
    grb_buf_bytes(out, bytes, bytes ? size : 0);
}

/* The clauses with the least hash first; equal hashes in any order. */
static bool list_put(grb_buf *out, const grb_weight_list *list) {
    uint64_t last = 0;
    uint32_t done = 0;
    grb_buf_u32(out, list->count);
    while (done < list->count) {
        uint64_t next = UINT64_MAX;
        for (uint32_t i = 0; i < list->count; i++)
            if (list->items[i]->hash > last || done == 0)
                next = GRB_MIN(next, list->items[i]->hash);
        for (uint32_t i = 0; i < list->count; i++) {
            if (list->items[i]->hash != next) continue;
            if (!weight_put(out, list->items[i])) return false;
            done++;
        }
        last = next;
    }
    return true;
}

static void phrase_put(grb_buf *out, const grb_weight *w) {
    grb_buf_u32(out, w->as.phrase.slop);
    grb_buf_u32(out, w->as.phrase.slot_count);
    for (uint32_t i = 0; i < w->as.phrase.slot_count; i++) {
        const grb_phrase_slot *slot = &w->as.phrase.slots[i];
        grb_buf_u32(out, slot->place);
        grb_buf_u32(out, slot->count);
        for (uint32_t k = 0; k < slot->count; k++) {
            const grb_bound_term *t = &w->as.phrase.terms[slot->first + k];
            grb_buf_bytes(out, t->bytes, t->size);
        }
    }
}

static void range_put(grb_buf *out, const grb_byte_range *r) {
    grb_buf_u8(out,
               (uint8_t)(r->lower_out << 2 | r->upper_out << 1 | r->prefix));
    bytes_put(out, r->lower, r->lower_size);
    bytes_put(out, r->upper, r->upper_size);
}

static bool bool_put(grb_buf *out, const grb_weight *w) {
    grb_buf_u32(out, w->as.list.should_min);
    for (int i = 0; i < 4; i++)
        if (!list_put(out, &w->as.list.lists[i])) return false;
    return true;
}

static bool weight_put(grb_buf *out, const grb_weight *w) {
    grb_buf_u8(out, (uint8_t)w->kind);
    grb_buf_u32(out, w->field ? w->field->id + 1 : 0);
    switch (w->kind) {
    case GRB_WEIGHT_KEY:
        return false;
    case GRB_WEIGHT_TERM:
        grb_buf_bytes(out, w->as.term.bytes, w->as.term.size);
        break;
    case GRB_WEIGHT_PHRASE:
        phrase_put(out, w);
        break;
    case GRB_WEIGHT_TERMS:
        range_put(out, &w->as.range);
        break;
    case GRB_WEIGHT_COLUMN:
        grb_buf_u8(out, w->as.column.any);
        grb_buf_u64(out, (uint64_t)w->as.column.lower);
        grb_buf_u64(out, (uint64_t)w->as.column.upper);
        break;
    case GRB_WEIGHT_BOOL:
        return bool_put(out, w);
    case GRB_WEIGHT_DISMAX:
        return list_put(out, &w->as.dismax.queries);
    case GRB_WEIGHT_CONSTANT:
        return weight_put(out, w->as.child);
    default:
        break;
    }
    return true;
}

bool grb_weight_name(const grb_weight *w, grb_arena *arena,
                     grb_filter_id *out) {
    grb_buf buf;
    grb_buf_init(&buf, arena->allocator, 1u << 16);
    bool named = weight_put(&buf, w) && !buf.failed;
    if (named) {
        out->size = (uint32_t)buf.size;
        out->bytes = grb_arena_copy(arena, buf.bytes, buf.size);
        out->hash = grb_hash(buf.bytes, buf.size, 0);
        named = out->bytes != NULL;
    }
    grb_buf_deinit(&buf);
    return named;
}
