/* grebe.i - the public headers as the module grebe_core of each language.
 *
 * The C interface is flat, and so is the module: grebe_index_open becomes
 * grebe_core.index_open. What a parameter looks like in a language is decided
 * by typemaps in files of the same names, found by the order of -I:
 *
 *   gil.i        which calls let other threads of the language run
 *   errors.i     grebe_error *err, grebe_status -> the language's errors
 *   text.i       strings, texts with a size, paths
 *   numbers.i    integers, flags, counts handed out
 *   handles.i    who owns a C handle, and what is said of a closed one
 *   documents.i  values, keys, fields, options, what a commit did
 *   buffers.i    callbacks that gather, arrays, calls written by hand
 *
 * A function that no language can use as it stands is ignored here, one that
 * a language serves by hand in its buffers.i; not_wrapped.txt says why.
 */
%module grebe_core

%{
#include "grebe/grebe.h"
%}

%include <stdint.i>

%rename("%(strip:[grebe_])s", %$isfunction) "";
%rename("%(strip:[GREBE_])s", %$isenumitem) "";

/* Handles are counted and freed by the owner that handles.i makes. */
%ignore grebe_schema_acquire;
%ignore grebe_schema_release;
%ignore grebe_query_acquire;
%ignore grebe_query_release;
%ignore grebe_searcher_acquire;
%ignore grebe_searcher_release;
%ignore grebe_hits_acquire;
%ignore grebe_hits_release;
%ignore grebe_index_free;
%ignore grebe_snapshot_free;
%ignore grebe_container_free;
%ignore grebe_cancel_free;
%ignore grebe_document_free;

/* An option of add_many, written by hand. */
%ignore grebe_loader_new;
%ignore grebe_loader_add;
%ignore grebe_loader_finish;
%ignore grebe_loader_refused;
%ignore grebe_loader_free;

/* Structs cross as native values of the language, never as objects. */
%rename("$ignore", %$isclass) "";
%rename("$ignore", %$ismember, %$isvariable) "";

/* Not on the surface of any binding. */
%ignore grebe_query_phrase_terms;

%include "gil.i"
%include "errors.i"
%include "text.i"
%include "numbers.i"
%include "handles.i"
%include "documents.i"
%include "buffers.i"

%include "grebe/status.h"
%include "grebe/schema.h"
%include "grebe/document.h"
%include "grebe/query.h"
%include "grebe/index.h"
%include "grebe/loader.h"
%include "grebe/search.h"
%include "grebe/container.h"
