/* segment/column_window.h - what every column can do by its windows. */
#ifndef GRB_SEGMENT_COLUMN_WINDOW_H
#define GRB_SEGMENT_COLUMN_WINDOW_H

#include "segment/reader.h"

/* `pick` and `between` of a column, by whole windows where it has none or
 * `plain` says so (column_window.c). */
grebe_status grb_column_pick(grb_column *c, bool plain, uint32_t base,
                             const uint64_t *bits, grb_column_window *out,
                             grebe_error *err);
grebe_status grb_column_between(grb_column *c, bool plain, uint32_t base,
                                int64_t lower, int64_t upper, uint64_t *bits,
                                grebe_error *err);
/* The same of a window that has its values. */
void grb_column_window_between(const grb_column_window *w, int64_t lower,
                               int64_t upper, uint64_t *bits);

#endif
