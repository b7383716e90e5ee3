/* api/container.c - grebe/container.h: arguments checked, engine called.
 *
 * Invariant: nothing is decided here. Threads: any. Owns: nothing.
 */
#include "engine/container.h"

static grebe_status container_check(const grebe_container *c,
                                    grebe_error *err) {
    if (!c) return grb_error(err, GREBE_ARGUMENT, "the container is NULL");
    if (grb_container_foreign(c))
        return grb_error(err, GREBE_FORKED,
                         "the container was opened before the process "
                         "forked: open it in the child");
    return GREBE_OK;
}

grebe_status grebe_container_open(const char *path,
                                  const grebe_open_options *options,
                                  grebe_container **out, grebe_error *err) {
    if (!out) return grb_error(err, GREBE_ARGUMENT, "out is NULL");
    *out = NULL;
    return grb_container_open(path, options, out, err);
}

grebe_status grebe_container_core(grebe_container *container, const char *name,
                                  grebe_schema *schema, grebe_index **out,
                                  grebe_error *err) {
    if (!out) return grb_error(err, GREBE_ARGUMENT, "out is NULL");
    *out = NULL;
    grebe_status status = container_check(container, err);
    if (status != GREBE_OK) return status;
    return grb_container_core(container, name, schema, out, err);
}

int grebe_container_has(grebe_container *container, const char *name) {
    return container && !grb_container_foreign(container) &&
           grb_container_has(container, name);
}

grebe_status grebe_container_names(grebe_container *container,
                                   grebe_name_visit visit, void *context,
                                   grebe_error *err) {
    if (!visit) return grb_error(err, GREBE_ARGUMENT, "visit is NULL");
    grebe_status status = container_check(container, err);
    if (status != GREBE_OK) return status;
    return grb_container_names(container, visit, context, err);
}

grebe_status grebe_container_drop(grebe_container *container, const char *name,
                                  grebe_error *err) {
    grebe_status status = container_check(container, err);
    if (status != GREBE_OK) return status;
    return grb_container_drop(container, name, err);
}

grebe_status grebe_container_close(grebe_container *container, int commit,
                                   grebe_error *err) {
    grebe_status status = container_check(container, err);
    if (status != GREBE_OK) return status;
    return grb_container_close(container, commit, err);
}

void grebe_container_free(grebe_container *container) {
    if (!container) return;
    if (grb_container_foreign(container))
        grb_handle_died();
    else
        grb_container_free(container);
}
