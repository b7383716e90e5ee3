/* api/spare.h - arenas kept warm between searches. */
#ifndef GRB_API_SPARE_H
#define GRB_API_SPARE_H

#include "base/base.h"

/* An empty arena with memory for a small search, and a ceiling. False: no
 * memory. */
bool grb_spare_take(grb_arena *arena, const grebe_allocator *a,
                    size_t size_max);
/* Gives it back, whatever lies in it. */
void grb_spare_give(grb_arena *arena);

#endif
