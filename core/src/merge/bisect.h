/* merge/bisect.h - an order of documents that puts similar ones together. */
#ifndef GRB_MERGE_BISECT_H
#define GRB_MERGE_BISECT_H

#include "base/base.h"

/* Documents and the terms that they have: those of document d are
 * terms[starts[d]] up to terms[starts[d + 1]], each once. */
typedef struct grb_doc_terms {
    uint32_t doc_count, term_count;
    const uint64_t *starts;
    const uint32_t *terms;
} grb_doc_terms;

/* Bytes that grb_bisect takes for a while. */
uint64_t grb_bisect_memory(uint32_t doc_count, uint32_t term_count);

/* Puts the documents of `order`, each once, into an order in which the gaps of
 * postings are small. Depends on nothing but its arguments. MEMORY. */
grebe_status grb_bisect(const grebe_allocator *a, const grb_doc_terms *d,
                        uint32_t *order, grebe_error *err);

#endif
