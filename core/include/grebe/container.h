/* grebe/container.h - named cores (indexes) in memory or in one folder. */
#ifndef GREBE_CONTAINER_H
#define GREBE_CONTAINER_H

#include "grebe/index.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct grebe_container grebe_container;

#define GREBE_CORE_NAME_MAX 64u

/* Opens a container: cores are folders below `path`, or in memory for NULL
 * and ":memory:". A missing folder is made. `options` (may be NULL) serve its
 * cores. */
GREBE_API grebe_status grebe_container_open(const char *path,
                                            const grebe_open_options *options,
                                            grebe_container **out,
                                            grebe_error *err);

/* Opens or creates the core `name` (`[A-Za-z0-9_][A-Za-z0-9_.-]{0,63}`, else
 * ARGUMENT). Each call gives a handle of its own to the same index; closing
 * one leaves the others. The index closes with its last handle; in memory
 * its content stays until it is dropped or the container is closed. */
GREBE_API grebe_status grebe_container_core(grebe_container *container,
                                            const char *name,
                                            grebe_schema *schema,
                                            grebe_index **out,
                                            grebe_error *err);

/* Nonzero if the core exists. */
GREBE_API int grebe_container_has(grebe_container *container,
                                  const char *name);

typedef void (*grebe_name_visit)(void *context, const char *name);

/* Names of all cores in byte order. */
GREBE_API grebe_status grebe_container_names(grebe_container *container,
                                             grebe_name_visit visit,
                                             void *context, grebe_error *err);

/* Deletes a core and its files; open handles to it are closed. NOT_FOUND. */
GREBE_API grebe_status grebe_container_drop(grebe_container *container,
                                            const char *name,
                                            grebe_error *err);

/* Closes every handle it gave, hard-committing first if `commit`. Twice: OK.
 * The first failure is returned and the container stays open. */
GREBE_API grebe_status grebe_container_close(grebe_container *container,
                                             int commit, grebe_error *err);

/* Frees the handle; an open container is closed without a commit. */
GREBE_API void grebe_container_free(grebe_container *container);

#ifdef __cplusplus
}
#endif
#endif
