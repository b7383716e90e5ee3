/* result/passage.h - from marked tokens of a text to the passage to show. */
#ifndef GRB_PASSAGE_H
#define GRB_PASSAGE_H

#include "analysis/analysis.h"
#include "grebe/search.h"

/* A token that the query looks for. Offsets in bytes and in characters. */
typedef struct grb_mark {
    uint32_t start, end;
    uint32_t char_start, char_end;
    uint32_t term;
} grb_mark;

/* A text with its marks in order of start. */
typedef struct grb_marked {
    const char *text;
    uint32_t size;
    const grb_tokens *tokens;
    const grb_mark *marks;
    uint32_t count;
} grb_marked;

/* Weight of each term, and a zeroed counter for each. */
typedef struct grb_mark_terms {
    const uint64_t *weights;
    uint32_t *seen;
} grb_mark_terms;

/* A window of marks: the different terms' weights, then how many marks. */
typedef struct grb_mark_window {
    uint64_t weight;
    uint32_t from, to; /* marks from .. to - 1 */
} grb_mark_window;

typedef struct grb_byte_range {
    uint32_t from, to;
} grb_byte_range;

/* The best window of `length` characters that touches none of the `taken`
 * ranges; false if no mark is left. */
bool grb_passage_find(const grb_marked *m, const grb_mark_terms *terms,
                      uint32_t length, const grb_byte_range *taken,
                      uint32_t taken_count, grb_mark_window *out);
/* Widens it to about `length` characters between `low` and `high`, to the
 * borders of sentences or words; never inside a character. */
grb_byte_range grb_passage_widen(const grb_marked *m, const grb_mark_window *w,
                                 uint32_t length, uint32_t low, uint32_t high);
/* Appends the range with its marks in tags. */
void grb_passage_write(const grb_marked *m, grb_byte_range range,
                       const grebe_highlight_request *request, grb_buf *out);

#endif
