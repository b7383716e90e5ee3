/* merge/policy.h - which adjacent segments to join next. */
#ifndef GRB_MERGE_POLICY_H
#define GRB_MERGE_POLICY_H

#include "base/base.h"

#define GRB_MERGE_FACTOR 8u
#define GRB_MERGE_FLOOR (2ull << 20) /* smaller segments count as this */
#define GRB_MERGE_SCATTERED 32u   /* more segments than tiers should leave */
#define GRB_MERGE_DEAD_DOCS 4096u /* more than half dead: rewritten */

/* A segment file as the policy sees it. */
typedef struct grb_merge_candidate {
    uint64_t bytes;
    uint32_t max_doc, dead;
} grb_merge_candidate;

/* Chooses the next merge; false if all is well. Depends on nothing but its
 * arguments, so that merges depend only on the sequence of operations. */
bool grb_merge_choose(const grb_merge_candidate *segments, uint32_t count,
                      uint32_t *first, uint32_t *joined);

#endif
