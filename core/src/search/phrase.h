/* search/phrase.h - how often a phrase stands in one document. */
#ifndef GRB_SEARCH_PHRASE_H
#define GRB_SEARCH_PHRASE_H

#include "search/search.h"

/* A slot: a place in the phrase and the positions of its terms in the
 * document, rising. Slots of one `group` share a term and must stand on
 * different occurrences. */
typedef struct grb_phrase_line {
    const uint32_t *positions;
    uint32_t count, at; /* `at`: the present occurrence */
    uint32_t place;     /* slots are in order of their places */
    uint32_t group;     /* the first slot of the group */
    bool repeated;      /* the group has other slots */
    bool mixed;         /* a slot of the group has alternatives */
} grb_phrase_line;

/* Leaves of `starts` (rising) those from which the slot stands at its place;
 * returns how many. */
uint32_t grb_phrase_keep(uint32_t *starts, uint32_t count,
                         const grb_phrase_line *line);

/* Into *freq the sum of 1 / (1 + spread) over the places where the slots stand
 * within `slop` moves of each other; `first`: stops at the first one. Many
 * slots that repeat can take long: `budget` is polled. */
grebe_status grb_phrase_sloppy(grb_phrase_line *lines, uint32_t count,
                               uint32_t slop, bool first, grb_budget *budget,
                               float *freq, grebe_error *err);

#endif
