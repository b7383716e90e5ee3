/* segment/block.h - the encoding of one block of postings (block.c). */
#ifndef GRB_SEGMENT_BLOCK_H
#define GRB_SEGMENT_BLOCK_H

#include "segment/reader.h"

typedef enum grb_block_encoding {
    GRB_ENCODING_RUN,
    GRB_ENCODING_BITMAP,
    GRB_ENCODING_FOR,
    GRB_ENCODING_TAIL
} grb_block_encoding;

/* What is known of a block before it is decoded. */
typedef struct grb_block_source {
    const uint8_t *at, *end;    /* of its bytes, behind the count */
    uint32_t count, base, last; /* base: last document of the block before,
                                   UINT32_MAX for the first block */
    uint32_t max_doc;
    bool impacts; /* the field has lengths: pairs are kept */
} grb_block_source;

/* A block taken apart. Arrays have room for 16 more. */
typedef struct grb_block_decoded {
    grb_block_encoding encoding;
    uint32_t first;
    uint32_t word_count;
    const uint8_t *docs_at;  /* behind the pairs */
    const uint8_t *freqs_at; /* NULL: all 1 */
    bool patched;            /* documents with exceptions */
    const uint8_t *end;
    grb_impact impacts[GRB_IMPACTS_MAX];
    uint32_t impact_count;
} grb_block_decoded;

/* Appends the bytes of a block of 1-256 postings. `freqs` NULL: all 1. */
grb_block_encoding grb_block_encode(const uint32_t *docs,
                                    const uint32_t *freqs, uint32_t count,
                                    uint32_t base, const grb_impact *impacts,
                                    uint32_t impact_count, grb_buf *out);
/* So few postings get one pair. */
#define GRB_IMPACTS_SHORT 8u
/* Pareto pairs of (tf, length code), rising tf; at most GRB_IMPACTS_MAX. */
uint32_t grb_impacts_make(const uint32_t *freqs, const uint8_t *lengths,
                          uint32_t count, grb_impact *out);

/* All give false for bytes that no writer makes. */
bool grb_block_impacts(const grb_block_source *in, grb_block_decoded *out);
/* `docs` (aligned, 272) or, for a bitmap, `words` (64) are filled. */
bool grb_block_docs(const grb_block_source *in, grb_block_decoded *out,
                    uint32_t *docs, uint64_t *words);
/* `after` gets the first byte behind. Frequencies are >= 1. */
bool grb_block_freqs(const grb_block_source *in, const grb_block_decoded *b,
                     uint32_t *freqs, const uint8_t **after);

#endif
