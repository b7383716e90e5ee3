/* engine/container.h - what stands behind grebe/container.h. */
#ifndef GRB_CONTAINER_H
#define GRB_CONTAINER_H

#include "engine/engine.h"

grebe_status grb_container_open(const char *path,
                                const grebe_open_options *options,
                                grebe_container **out, grebe_error *err);
grebe_status grb_container_core(grebe_container *c, const char *name,
                                grebe_schema *schema, grebe_index **out,
                                grebe_error *err);
bool grb_container_has(grebe_container *c, const char *name);
grebe_status grb_container_names(grebe_container *c, grebe_name_visit visit,
                                 void *context, grebe_error *err);
grebe_status grb_container_drop(grebe_container *c, const char *name,
                                grebe_error *err);
grebe_status grb_container_close(grebe_container *c, int commit,
                                 grebe_error *err);
bool grb_container_foreign(const grebe_container *c);
void grb_container_free(grebe_container *c);

/* Whether a folder holds an index (engine/check.c). */
bool grb_index_exists(const char *path);
/* Reads every byte of a folder's index (engine/check.c). */
grebe_status grb_index_check(const char *path, grebe_line_visit visit,
                             void *context, grebe_error *err);

#endif
