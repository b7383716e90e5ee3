/* api/loader.c - grebe/loader.h: a load is one long call on its handle.
 *
 * Invariant: the index stays open while the loader lives.
 * Threads: one a loader. Owns: the loader and the call on the handle.
 */
#include "commit/loader.h"

#include "engine/engine.h"
#include "grebe/loader.h"

_Static_assert(GREBE_LOADER_THREADS_MAX == GRB_LOADER_THREADS_MAX,
               "one limit");

struct grebe_loader {
    grebe_index *index;
    grb_loader *loader;
};

static grebe_status loader_check(const grebe_loader *loader, bool arguments,
                                 grebe_error *err) {
    if (!loader || !arguments)
        return grb_error(err, GREBE_ARGUMENT, "a required argument is NULL");
    if (GRB_UNLIKELY(grb_index_foreign(loader->index)))
        return grb_error(err, GREBE_FORKED,
                         "the loader belongs to the parent of this process");
    return GREBE_OK;
}

static grebe_status loader_open(grebe_index *index, uint32_t threads,
                                bool overwrite, grebe_loader **out,
                                grebe_error *err) {
    const grebe_allocator *a = index->allocator;
    grebe_loader *loader = grb_alloc_zero(a, sizeof *loader);
    if (!loader) return grb_error_memory(err, sizeof *loader);
    loader->index = index;
    grebe_status status = grb_loader_new(index->writer, threads, overwrite,
                                         &loader->loader, err);
    if (status != GREBE_OK) {
        grb_free(a, loader, sizeof *loader);
        return status;
    }
    grb_handle_born();
    *out = loader;
    return status;
}

grebe_status grebe_loader_new(grebe_index *index, uint32_t threads,
                              int overwrite, grebe_loader **out,
                              grebe_error *err) {
    if (!out)
        return grb_error(err, GREBE_ARGUMENT, "a required argument is NULL");
    *out = NULL;
    if (threads == 0 || threads > GREBE_LOADER_THREADS_MAX)
        return grb_error(err, GREBE_ARGUMENT,
                         "a load has 1 to %u threads, not %u",
                         GREBE_LOADER_THREADS_MAX, threads);
    grebe_status status = grb_index_enter(index, err);
    if (status != GREBE_OK) return status;
    status = loader_open(index, threads, overwrite != 0, out, err);
    if (status != GREBE_OK) grb_index_leave(index);
    return status;
}

grebe_status grebe_loader_add(grebe_loader *loader,
                              const grebe_document *document,
                              grebe_error *err) {
    grebe_status status = loader_check(loader, document != NULL, err);
    if (status != GREBE_OK) return status;
    return grb_loader_add(loader->loader, document, err);
}

grebe_status grebe_loader_finish(grebe_loader *loader, uint64_t *added,
                                 grebe_error *err) {
    uint64_t count = 0;
    grebe_status status = loader_check(loader, true, err);
    if (status != GREBE_OK) return status;
    status = grb_loader_finish(loader->loader, &count, err);
    if (added) *added = count;
    return status;
}

int grebe_loader_refused(grebe_loader *loader, uint64_t *position,
                         grebe_document **document, grebe_error *why) {
    bool given = position && document && why;
    if (loader_check(loader, given, NULL) != GREBE_OK) return 0;
    return grb_loader_refused(loader->loader, position, document, why);
}

void grebe_loader_free(grebe_loader *loader) {
    if (!loader) return;
    grebe_index *index = loader->index;
    grb_handle_died();
    /* A forked child has none of the threads: the memory is left. */
    if (grb_index_foreign(index)) return;
    const grebe_allocator *a = index->allocator;
    grb_loader_free(loader->loader);
    grb_free(a, loader, sizeof *loader);
    grb_index_leave(index);
}
