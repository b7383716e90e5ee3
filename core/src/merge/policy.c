/* merge/policy.c - tiers by live size, adjacent segments only.
 *
 * A segment's tier is the number of times its live size can be divided by the
 * factor before it falls below the floor. Neighbours of one tier or lower are
 * joined to one as soon as FACTOR of them are of that tier itself, so each
 * document is rewritten once a tier. Counting lower ones too would join one
 * large segment with a few small ones again and again: a load of 200,000 texts
 * wrote 1.9 times its text so, 1.0 times without. Only where large ones
 * keep too many small ones apart (old segments that shrank), all are counted.
 * Segments more than half dead are rewritten first: they cost most and shrink
 * most.
 *
 * Invariant: list order is insertion order, which joining neighbours keeps;
 * what is chosen fits into one segment.
 */
#include "merge/policy.h"

static uint32_t segment_tier(const grb_merge_candidate *s) {
    uint64_t live = s->max_doc - s->dead, tier = 0;
    uint64_t size = s->max_doc ? s->bytes / s->max_doc * live : 0;
    for (; size >= GRB_MERGE_FLOOR; size /= GRB_MERGE_FACTOR) tier++;
    return (uint32_t)tier;
}

/* Of the rows of neighbours of at most this tier the one with most segments
 * that count, which are those of tier `least` and above: how many it has. */
static uint32_t row_longest(const grb_merge_candidate *segments,
                            uint32_t count, uint32_t least, uint32_t tier,
                            uint32_t *first, uint32_t *joined) {
    uint32_t best = 0, row = 0, counted = 0;
    uint64_t docs = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t own = segment_tier(&segments[i]);
        docs += segments[i].max_doc;
        if (own > tier || docs > GRB_SEGMENT_DOCS_MAX) {
            row = counted = 0;
            docs = segments[i].max_doc;
        }
        row = own <= tier ? row + 1 : 0;
        counted = row == 0 ? 0 : counted + (own >= least);
        /* The row goes on with what follows but counts no more. */
        if (counted < best || counted == 0) continue;
        if (counted == best && *first != i + 1 - row) continue;
        best = counted;
        *first = i + 1 - row;
        *joined = row;
    }
    return best;
}

bool grb_merge_choose(const grb_merge_candidate *segments, uint32_t count,
                      uint32_t *first, uint32_t *joined) {
    uint32_t tier_max = 0;
    for (uint32_t i = 0; i < count; i++) {
        const grb_merge_candidate *s = &segments[i];
        tier_max = GRB_MAX(tier_max, segment_tier(s));
        if (s->max_doc <= GRB_MERGE_DEAD_DOCS || s->dead <= s->max_doc / 2)
            continue;
        *first = i;
        *joined = 1;
        return true;
    }
    bool scattered = count > GRB_MERGE_SCATTERED;
    for (uint32_t tier = 0; tier <= tier_max; tier++)
        if (row_longest(segments, count, scattered ? 0 : tier, tier, first,
                        joined) >= GRB_MERGE_FACTOR)
            return true;
    return false;
}
