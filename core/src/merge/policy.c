/* merge/policy.c - tiers by live size, adjacent segments only.
 *
 * A segment's tier is the number of times its live size can be divided by the
 * factor before it falls below the floor. A row of FACTOR adjacent segments of
 * one tier or lower is joined to one, so each document is rewritten once a
 * tier and at most FACTOR - 1 segments stand in each. Segments more than half
 * dead are rewritten first: they cost most and shrink most.
 *
 * Invariant: list order is insertion order, which joining neighbours keeps.
 */
#include "merge/policy.h"

static uint32_t segment_tier(const grb_merge_candidate *s) {
    uint64_t live = s->max_doc - s->dead, tier = 0;
    uint64_t size = s->max_doc ? s->bytes / s->max_doc * live : 0;
    for (; size >= GRB_MERGE_FLOOR; size /= GRB_MERGE_FACTOR) tier++;
    return (uint32_t)tier;
}

/* The longest row of neighbours of at most this tier. */
static uint32_t row_longest(const grb_merge_candidate *segments,
                            uint32_t count, uint32_t tier, uint32_t *first) {
    uint32_t best = 0, row = 0;
    for (uint32_t i = 0; i < count; i++) {
        row = segment_tier(&segments[i]) <= tier ? row + 1 : 0;
        if (row <= best) continue;
        best = row;
        *first = i + 1 - row;
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
    for (uint32_t tier = 0; tier <= tier_max; tier++) {
        *joined = row_longest(segments, count, tier, first);
        if (*joined >= GRB_MERGE_FACTOR) return true;
    }
    return false;
}
