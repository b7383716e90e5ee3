/* segment/docset.h - an immutable set of documents of one segment.
 *
 * Each window of 4,096 documents is nothing, everything, a list of 16-bit
 * places or 64 words, whichever is smallest.
 */
#ifndef GRB_SEGMENT_DOCSET_H
#define GRB_SEGMENT_DOCSET_H

#include "base/base.h"

typedef enum grb_docset_kind {
    GRB_DOCSET_NONE,
    GRB_DOCSET_ALL, /* every document that the segment has there */
    GRB_DOCSET_LIST,
    GRB_DOCSET_WORDS
} grb_docset_kind;

typedef struct grb_docset_window {
    uint32_t at; /* of its data, in units of 8 bytes */
    uint16_t count;
    uint8_t kind;
} grb_docset_window;

/* One allocation: windows, then their data. Counted. */
typedef struct grb_docset {
    _Atomic uint64_t refs;
    const grebe_allocator *allocator;
    size_t size; /* of the allocation */
    uint32_t max_doc;
    uint32_t count; /* documents in the set */
    uint32_t window_count;
    const uint64_t *data;
    grb_docset_window windows[];
} grb_docset;

grb_docset *grb_docset_acquire(grb_docset *s);
void grb_docset_release(grb_docset *s); /* NULL-safe */

/* Joins the set's documents of the window at `base` to `bits`; how many. */
uint32_t grb_docset_take(const grb_docset *s, uint32_t base, uint64_t *bits);
bool grb_docset_has(const grb_docset *s, uint32_t doc);
/* Number of its documents in the window at `base`. */
uint32_t grb_docset_size(const grb_docset *s, uint32_t base);
/* A document >= min_doc below which there is none from min_doc on: itself, or
 * the first of a window; GRB_NO_DOC. */
uint32_t grb_docset_next(const grb_docset *s, uint32_t min_doc);

/* Made from windows in rising order; what is left out has no document. */
typedef struct grb_docset_maker {
    const grebe_allocator *allocator;
    grb_buf data;
    grb_docset *set; /* NULL: no memory */
} grb_docset_maker;
void grb_docset_begin(grb_docset_maker *m, const grebe_allocator *a,
                      uint32_t max_doc);
void grb_docset_add(grb_docset_maker *m, uint32_t base, const uint64_t *bits,
                    uint32_t count);
/* The set, one reference; NULL: no memory. Ends the maker. */
grb_docset *grb_docset_end(grb_docset_maker *m);

#endif
