/* commit/join.h - neighbouring leaves become one file, in three steps, of
 * which the long one needs no lock.
 */
#ifndef GRB_JOIN_H
#define GRB_JOIN_H

#include "commit/writer.h"

typedef struct grb_join grb_join;

/* Begins to join leaves [first, first + count) of the live list, none of them
 * growing; `drop`: without the dead of now. Holds what it reads. Under the
 * mutex, like the end. */
grebe_status grb_join_begin(grb_writer *w, uint32_t first, uint32_t count,
                            bool drop, grb_join **out, grebe_error *err);
/* Document i of the file becomes `order[i]` of the only source, none of which
 * is dead; borrowed until the file is written. */
void grb_join_order(grb_join *j, const uint32_t *order);
/* Writes the file and opens it; any thread, no lock. */
grebe_status grb_join_write(grb_join *j, grebe_error *err);
/* Puts the file in the place of the leaves: with the dead of now. Nothing
 * changes where the list went other ways meanwhile. */
grebe_status grb_join_end(grb_join *j, bool *taken, grebe_error *err);
/* Under the mutex. A file that is in no list is removed. NULL is allowed. */
void grb_join_free(grb_join *j);

bool grb_join_drops(const grb_join *j);
uint64_t grb_join_begun(const grb_join *j); /* by grb_clock_ns */
/* Number of the file being written. */
uint64_t grb_join_file(const grb_join *j);
grb_join *grb_join_next(const grb_join *j);
/* Whether it reads this segment. */
bool grb_join_reads(const grb_join *j, const grb_segment *segment);

#endif
