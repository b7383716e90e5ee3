/* grebe/loader.h - loading many documents on several threads.
 *
 * A loader belongs to one thread at a time, its worker threads are its own and
 * end with grebe_loader_finish. What it does to the index is what one
 * grebe_index_add a document would do, in the order given: the later of two
 * documents with one key stays, ties go by that order, a batch takes all of it
 * back. Until the end other calls see a beginning of the documents.
 */
#ifndef GREBE_LOADER_H
#define GREBE_LOADER_H

#include "grebe/index.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Threads that a loader may have. */
#define GREBE_LOADER_THREADS_MAX 64u

typedef struct grebe_loader grebe_loader;

/* Begins a load with so many worker threads, 1 to 64 (ARGUMENT). They start
 * when there is enough for two of them. They share the index's memory_max
 * between them; 80 KiB of it is the least for one, a deterministic index has
 * one only. In a batch: on the thread that owns it. The index cannot be closed
 * until grebe_loader_free. CLOSED, MEMORY. */
GREBE_API grebe_status grebe_loader_new(grebe_index *index, uint32_t threads,
                                        int overwrite, grebe_loader **out,
                                        grebe_error *err);

/* Takes a copy of a document; waits while memory is used up. A document that
 * is refused (DOCUMENT, LIMIT) is noted for grebe_loader_refused and the load
 * goes on. Any other failure ends it: what was added before stays, and each
 * later call says the same again. */
GREBE_API grebe_status grebe_loader_add(grebe_loader *loader,
                                        const grebe_document *document,
                                        grebe_error *err);

/* Waits until all documents are in the index and ends the threads. `added`
 * (may be NULL) gets how many, since the beginning. More may follow. */
GREBE_API grebe_status grebe_loader_finish(grebe_loader *loader,
                                           uint64_t *added, grebe_error *err);

/* The next refused document, in the order given: its number from 0, the
 * document (the caller's to free), why. 0: no more; all are known after
 * grebe_loader_finish. */
GREBE_API int grebe_loader_refused(grebe_loader *loader, uint64_t *position,
                                   grebe_document **document,
                                   grebe_error *why);

/* Frees it; documents that are not in the index yet are dropped. NULL is
 * allowed. */
GREBE_API void grebe_loader_free(grebe_loader *loader);

#ifdef __cplusplus
}
#endif
#endif
