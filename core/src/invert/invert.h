/* invert/invert.h - phase one of adding a document: validate, analyse, hash.
 * Runs outside the writer's mutex and touches no segment. */
#ifndef GRB_INVERT_H
#define GRB_INVERT_H

#include "analysis/analysis.h"
#include "doc/doc.h"
#include "segment/reader.h"

/* A document ready to be appended; reused for the next one. Fields beyond
 * these are invert's own (see inverter.c). */
typedef struct grb_inverted grb_inverted;

grebe_status grb_inverted_new(const grebe_allocator *a, grb_inverted **out,
                              grebe_error *err);
void grb_inverted_free(grb_inverted *inv);

/* Validates (required fields, defaults, key present, limits), analyses every
 * indexed field, groups instances by field (position gap 100 between values,
 * positions < 2^31), hashes, builds the stored record. DOCUMENT, LIMIT or
 * MEMORY with field and key set; then `inv` holds nothing. `want_log`: also
 * the full record for the log. */
grebe_status grb_inverted_build(grb_inverted *inv,
                                const grebe_document *document, bool want_log,
                                grebe_error *err);

/* The key (size 0 and bytes NULL without a key field). */
const grb_key *grb_inverted_key(const grb_inverted *inv);
/* Makes the record for the log of the document that was just built, unless it
 * is there. MEMORY. */
grebe_status grb_inverted_log_make(grb_inverted *inv,
                                   const grebe_document *document,
                                   grebe_error *err);
/* The full document record for the log (after defaults); NULL and 0 unless it
 * was asked for. */
void grb_inverted_log(const grb_inverted *inv, const uint8_t **bytes,
                      size_t *size);
uint64_t grb_inverted_tokens(const grb_inverted *inv);
uint64_t grb_inverted_text_bytes(const grb_inverted *inv);
uint64_t grb_inverted_terms_skipped(const grb_inverted *inv);

/* Makes a grb_key from a value (INT or KEYWORD). `scratch` has 8 bytes for
 * integer keys. */
void grb_key_make(const grebe_value *value, uint8_t scratch[8], grb_key *out);
/* The value back from key bytes (text is borrowed). */
void grb_key_value(grebe_kind kind, const uint8_t *bytes, uint32_t size,
                   grebe_value *out);

#endif
