/* segment/column_file.h - an open column of a file, as columns_read.c and
 * order_read.c share it. */
#ifndef GRB_SEGMENT_COLUMN_FILE_H
#define GRB_SEGMENT_COLUMN_FILE_H

#include "segment/file.h"

/* What of a run was looked for last; see grb_order_between. */
typedef struct grb_order_found {
    bool known, sparse;
    uint32_t run;
    int64_t lower, upper;
    uint64_t *bits; /* sparse: of the run's documents */
} grb_order_found;

typedef struct grb_column_file {
    grb_column base;
    grb_segfile *f;
    grb_segfield *field;
    grb_arena *arena;
    const uint8_t *index;
    const uint8_t *orders; /* directory of runs; NULL: none */
    /* the page whose parts are known */
    uint32_t page; /* UINT32_MAX: none */
    const uint8_t *present, *ends, *packed;
    uint32_t docs;
    /* what windows hand out */
    uint64_t words[GRB_WINDOW_WORDS];
    uint32_t *offsets;
    int64_t *values;         /* of a window */
    uint64_t *dense;         /* values in the order kept */
    uint64_t room;           /* of values and dense */
    uint32_t *narrow;        /* values of a window less the least */
    uint32_t *packed_narrow; /* the same in the order kept */
    uint32_t narrow_page;    /* whose values these are; UINT32_MAX: none */
    int64_t *few;            /* of one document */
    uint64_t few_room;
    grb_order_found found;
} grb_column_file;

/* columns_read.c: the value of a document of a column of single ones; CORRUPT
 * if it has none: it stands in an order. */
grebe_status grb_column_file_value(grb_column_file *c, uint32_t doc,
                                   int64_t *out, grebe_error *err);

/* ---- order_read.c ---- */

/* A run's places in the order of their values. */
typedef struct grb_order_run {
    uint32_t count; /* 0: it has no order */
    uint32_t first; /* document of place 0 */
    const uint8_t *samples, *places;
} grb_order_run;

typedef struct grb_order_part {
    uint32_t from, count;
} grb_order_part;

grebe_status grb_order_open(grb_column_file *c, uint32_t run,
                            grb_order_run *out, grebe_error *err);
/* The places of the run whose values are in [lower, upper]; not `exact`: by
 * samples alone, which is GRB_ORDER_STEP off at most on either side. */
grebe_status grb_order_range(grb_column_file *c, const grb_order_run *r,
                             int64_t lower, int64_t upper, bool exact,
                             grb_order_part *out, grebe_error *err);
/* Where few documents of the window's run are in the range, keeps these of
 * `bits`; `done` false: there is no order, or they are many. */
grebe_status grb_order_between(grb_column_file *c, uint32_t base,
                               int64_t lower, int64_t upper, uint64_t *bits,
                               bool *done, grebe_error *err);
/* Whether the order holds each value of the run once, rising. */
grebe_status grb_order_check(grb_column_file *c, uint32_t run, bool *sane,
                             grebe_error *err);

#endif
