/* grebe/status.h - statuses, the error struct, the allocator hook.
 *
 * Every call that can fail returns a grebe_status and takes a grebe_error
 * last. The error belongs to the caller and may be NULL; it is written only on
 * failure, never allocated, and there is no other error state anywhere.
 */
#ifndef GREBE_STATUS_H
#define GREBE_STATUS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(SWIG)
#define GREBE_API
#else
#define GREBE_API __attribute__((visibility("default")))
#endif

#define GREBE_VERSION_TEXT "0.1.0"

/* The one list of statuses: X(NAME, code, "word", "PythonClass", "meaning").
 * The enum, the texts, the Python exception classes, the Lua words and
 * docs/errors.md are made from it. Codes are stable. */
#define GREBE_STATUS_LIST(X)                                                  \
    X(ARGUMENT, 1, "argument", "ValueError",                                  \
      "an argument has a value that the call does not allow")                 \
    X(TYPE, 2, "type", "TypeError", "an argument has the wrong type")         \
    X(MEMORY, 3, "memory", "MemoryError",                                     \
      "the allocator refused; nothing has changed")                           \
    X(SCHEMA, 4, "schema", "SchemaError",                                     \
      "the schema does not hold or allow what was asked for")                 \
    X(SYNTAX, 5, "syntax", "QuerySyntaxError",                                \
      "a query text cannot be read; the error has the position")              \
    X(DOCUMENT, 6, "document", "DocumentError",                               \
      "a document or a value does not fit the schema; it was not added")      \
    X(MISSING_KEY, 7, "missing_key", "MissingKeyError",                       \
      "no document has that key")                                             \
    X(NOT_FOUND, 8, "not_found", "NotFoundError",                             \
      "no index, core or file of that name")                                  \
    X(STORAGE, 9, "storage", "StorageError",                                  \
      "the operating system refused a read, a write or a sync")               \
    X(CORRUPT, 10, "corrupt", "CorruptIndexError",                            \
      "bytes of an index file are damaged")                                   \
    X(VERSION, 11, "version", "VersionError",                                 \
      "the index was written by a newer, incompatible format")                \
    X(LOCKED, 12, "locked", "LockedError", "another writer holds the folder") \
    X(READ_ONLY, 13, "read_only", "ReadOnlyError",                            \
      "the index was opened for reading")                                     \
    X(CONFLICT, 14, "conflict", "ConflictError",                              \
      "what the call relied on has changed meanwhile")                        \
    X(CLOSED, 15, "closed", "ClosedError", "the handle has been closed")      \
    X(STATE, 16, "state", "StateError",                                       \
      "the call is not allowed in the present state of the handle")           \
    X(POISONED, 17, "poisoned", "PoisonedError",                              \
      "an earlier write or sync failed; reopen the index")                    \
    X(FORKED, 18, "forked", "ForkedError",                                    \
      "the handle belongs to the parent of this forked process")              \
    X(LIMIT, 19, "limit", "LimitError", "a size or count is above its limit") \
    X(DEADLINE, 20, "deadline", "DeadlineError",                              \
      "the time given to the search has passed")                              \
    X(CANCELLED, 21, "cancelled", "CancelledError",                           \
      "the search was cancelled")                                             \
    X(INTERNAL, 22, "internal", "InternalError",                              \
      "a broken invariant inside the library: please report it")

typedef enum grebe_status {
    GREBE_OK = 0,
#define GREBE_STATUS_ENUM(name, code, word, py, text) GREBE_##name = code,
    GREBE_STATUS_LIST(GREBE_STATUS_ENUM)
#undef GREBE_STATUS_ENUM
} grebe_status;

#define GREBE_ERROR_MESSAGE_SIZE 384
#define GREBE_ERROR_NAME_SIZE 128
#define GREBE_NO_OFFSET ((uint64_t)-1)

/* What went wrong and where. Strings end in NUL and are cut, never allocated.
 * `offset` is a byte offset into the query text (SYNTAX) or into `file`
 * (CORRUPT, STORAGE), GREBE_NO_OFFSET if there is none. */
typedef struct grebe_error {
    grebe_status status;
    int os_error; /* errno of a STORAGE error, else 0 */
    int64_t pid;  /* owner of the lock of a LOCKED error, else 0 */
    uint64_t offset;
    char message[GREBE_ERROR_MESSAGE_SIZE];
    char field[GREBE_ERROR_NAME_SIZE];
    char key[GREBE_ERROR_NAME_SIZE];
    char file[GREBE_ERROR_NAME_SIZE];
} grebe_error;

/* The word of a status ("locked"), "ok" for GREBE_OK, "unknown" otherwise.
 * Static string. Any thread. */
GREBE_API const char *grebe_status_word(grebe_status status);

/* One sentence on what a status means. Static string. Any thread. */
GREBE_API const char *grebe_status_meaning(grebe_status status);

/* The library's version, "major.minor.patch". Static string. Any thread. */
GREBE_API const char *grebe_version(void);

/* The allocator hook, one function in the manner of Lua's:
 * new_size 0 frees (and returns NULL); old_size 0 allocates; otherwise
 * resizes. Returns NULL if it cannot serve; then `block` is untouched. Called
 * from any thread; sizes are exact. */
typedef struct grebe_allocator {
    void *(*resize)(void *context, void *block, size_t old_size,
                    size_t new_size);
    void *context;
} grebe_allocator;

/* Number of index, searcher, hits, snapshot, query, schema, document and
 * container handles not yet freed in this process: 0 when everything opened
 * has been closed. Any thread. */
GREBE_API uint64_t grebe_live_handles(void);

#ifdef __cplusplus
}
#endif
#endif
