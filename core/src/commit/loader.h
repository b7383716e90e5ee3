/* commit/loader.h - many documents through several threads. */
#ifndef GRB_LOADER_H
#define GRB_LOADER_H

#include "commit/part.h"

#define GRB_LOADER_THREADS_MAX 64u

typedef struct grb_loader grb_loader;

/* `threads` from 1; one: documents are added without any other. */
grebe_status grb_loader_new(grb_writer *w, uint32_t threads, bool overwrite,
                            grb_loader **out, grebe_error *err);
/* Takes a copy of the document. DOCUMENT, LIMIT are noted, not returned. Other
 * failures end the load: each later call says the same again. */
grebe_status grb_loader_add(grb_loader *l, const grebe_document *document,
                            grebe_error *err);
/* Waits until everything given is in the index, and ends the threads. */
grebe_status grb_loader_finish(grb_loader *l, uint64_t *added,
                               grebe_error *err);
/* The next document that was refused, in the order given; it is the caller's
 * to free. False: no more are known. */
bool grb_loader_refused(grb_loader *l, uint64_t *position,
                        grebe_document **document, grebe_error *out);
/* What is not in the index yet is dropped. NULL is allowed. */
void grb_loader_free(grb_loader *l);

#endif
