/* segment/list.c - the postings of one term on their way into the file.
 *
 * A list of at most 256 postings is one block ("single"): varint last
 * document, the block, positions up to the end of the list. A list of at most
 * 8 lies right in the term's payload. Longer lists are groups of up to 32
 * blocks, whose heads are the skip records:
 *
 *   u32  last document of the group
 *   u32  size of the directory and the blocks behind this head
 *   u32  size of the positions behind those
 *   u32  number of blocks (1-32)
 *   u32  last document of each block      -+
 *   u16  size of each block                | directory
 *   u32  end of each block's positions     | (only if the field keeps them)
 *   blocks (block.c), then positions      -+
 *
 * Every block but the list's last has 256 postings. The positions of a block
 * are packed by numbers.c.
 * A group is closed early when its positions pass 1 MiB: memory is bounded by
 * that and one document, never by the list.
 *
 * Threads: one. Owns: posting lists in the postings section.
 */
#include "segment/write.h"

#define GROUP_POSITIONS ((size_t)1 << 20)

void grb_list_init(grb_list *list, grb_segout *out) {
    memset(list, 0, sizeof *list);
    list->out = out;
    grb_buf_init(&list->blocks, out->allocator, 0);
    grb_buf_init(&list->position_bytes, out->allocator, 0);
}

void grb_list_begin(grb_list *list, const uint8_t *lengths, bool positions) {
    list->lengths = lengths;
    list->positions = positions;
    list->df = list->count = list->block_count = list->place_count = 0;
    list->base = UINT32_MAX;
    list->grouped = false;
    list->term_total = 0;
    grb_buf_rewind(&list->blocks);
    grb_buf_rewind(&list->position_bytes);
}

static void places_flush(grb_list *list) {
    if (list->place_count)
        grb_numbers_put(list->places, list->place_count,
                        &list->position_bytes);
    list->place_count = 0;
}

/* Encodes the open block behind `blocks`. */
static void block_encode(grb_list *list) {
    grb_impact impacts[GRB_IMPACTS_MAX];
    uint32_t impact_count = 0;
    uint8_t lengths[GRB_BLOCK];
    if (list->lengths) {
        for (uint32_t i = 0; i < list->count; i++)
            lengths[i] = list->lengths[list->docs[i]];
        impact_count =
            grb_impacts_make(list->freqs, lengths, list->count, impacts);
    }
    grb_block_encode(list->docs, list->positions ? list->freqs : NULL,
                     list->count, list->base, impacts, impact_count,
                     &list->blocks);
}

static void group_put(grb_list *list) {
    uint32_t n = list->block_count;
    uint32_t directory = n * (list->positions ? 10 : 6);
    uint32_t head[4] = {list->last[n - 1],
                        directory + (uint32_t)list->blocks.size,
                        (uint32_t)list->position_bytes.size, n};
    if (!list->grouped) list->list_at = grb_segout_at(list->out);
    list->grouped = true;
    grb_segout_put(list->out, head, sizeof head);
    grb_segout_put(list->out, list->last, n * sizeof *list->last);
    grb_segout_put(list->out, list->size, n * sizeof *list->size);
    if (list->positions)
        grb_segout_put(list->out, list->positions_end,
                       n * sizeof *list->positions_end);
    grb_segout_put(list->out, list->blocks.bytes, list->blocks.size);
    grb_segout_put(list->out, list->position_bytes.bytes,
                   list->position_bytes.size);
    grb_buf_rewind(&list->blocks);
    grb_buf_rewind(&list->position_bytes);
    list->block_count = 0;
}

static void block_put(grb_list *list) {
    size_t before = list->blocks.size;
    uint32_t n = list->block_count++;
    block_encode(list);
    places_flush(list);
    list->base = list->last[n] = list->docs[list->count - 1];
    list->size[n] = (uint16_t)(list->blocks.size - before);
    list->positions_end[n] = (uint32_t)list->position_bytes.size;
    list->count = 0;
    if (n + 1 == GRB_GROUP_BLOCKS ||
        list->position_bytes.size >= GROUP_POSITIONS)
        group_put(list);
}

/* Frequencies and positions of `n` postings of the open block; how many
 * positions. */
static uint64_t positions_add(grb_list *list, const uint32_t *freqs,
                              uint32_t n, const uint32_t *gaps) {
    uint64_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        list->freqs[list->count + i] = freqs[i];
        total += freqs[i];
    }
    list->term_total += total;
    for (uint64_t left = total; left;) {
        uint32_t part =
            (uint32_t)GRB_MIN(left, GRB_NUMBERS_CHUNK - list->place_count);
        memcpy(list->places + list->place_count, gaps, part * sizeof *gaps);
        list->place_count += part;
        gaps += part;
        left -= part;
        if (list->place_count == GRB_NUMBERS_CHUNK) places_flush(list);
    }
    return total;
}

void grb_list_add(grb_list *list, const uint32_t *docs, const uint32_t *freqs,
                  uint32_t count, uint32_t shift, const uint32_t *gaps) {
    list->df += count;
    if (!list->positions) list->term_total += count;
    while (count) {
        if (list->count == GRB_BLOCK) block_put(list);
        uint32_t n = GRB_MIN(count, GRB_BLOCK - list->count);
        uint32_t *to = list->docs + list->count;
        for (uint32_t i = 0; i < n; i++) to[i] = docs[i] + shift;
        if (list->positions) {
            gaps += positions_add(list, freqs, n, gaps);
            freqs += n;
        }
        list->count += n;
        docs += n;
        count -= n;
    }
}

/* The bytes of a list of one block, built behind `blocks`. */
static void single_make(grb_list *list) {
    grb_buf_varint(&list->blocks, list->docs[list->count - 1]);
    block_encode(list);
    grb_buf_put(&list->blocks, list->position_bytes.bytes,
                list->position_bytes.size);
}

static void place_put(grb_list *list, uint32_t form, uint64_t at,
                      uint64_t size, uint64_t *base, grb_buf *payload) {
    if (*base == UINT64_MAX) *base = at;
    grb_buf_varint(payload, (uint64_t)list->df << 2 | form);
    grb_buf_varint(payload, at - *base);
    grb_buf_varint(payload, size);
}

void grb_list_end(grb_list *list, uint64_t *place_base, grb_buf *payload) {
    grb_buf *blocks = &list->blocks;
    if (list->df <= GRB_BLOCK) places_flush(list);
    if (list->df > GRB_BLOCK) {
        block_put(list);
        if (list->block_count) group_put(list);
        place_put(list, GRB_FORM_GROUPS, list->list_at,
                  grb_segout_at(list->out) - list->list_at, place_base,
                  payload);
    } else if (list->df == 1 && list->term_total == 1) {
        grb_buf_varint(payload, (uint64_t)1 << 2 | GRB_FORM_INLINE);
        grb_buf_varint(payload, list->docs[0]);
        grb_buf_put(payload, list->position_bytes.bytes,
                    list->position_bytes.size);
    } else {
        single_make(list);
        if (list->df <= GRB_NEAR_DF && blocks->size <= GRB_NEAR_SIZE) {
            grb_buf_varint(payload, (uint64_t)list->df << 2 | GRB_FORM_NEAR);
            grb_buf_put(payload, blocks->bytes, blocks->size);
        } else {
            uint64_t at = grb_segout_at(list->out);
            grb_segout_put(list->out, blocks->bytes, blocks->size);
            place_put(list, GRB_FORM_SINGLE, at, blocks->size, place_base,
                      payload);
        }
    }
    if (list->out->status == GREBE_OK &&
        (blocks->failed || list->position_bytes.failed || payload->failed))
        list->out->status = grb_error_memory(list->out->err, blocks->size);
}

void grb_list_deinit(grb_list *list) {
    grb_buf_deinit(&list->blocks);
    grb_buf_deinit(&list->position_bytes);
}
