/* base/error.c - filling the caller's error struct, and the status texts.
 *
 * An error is a value of the caller: a fixed-size struct, written once on
 * failure. Nothing is allocated and nothing is remembered anywhere else, so a
 * failure report cannot itself fail and cannot race.
 *
 * Invariant: every string of the struct ends in NUL and is cut between code
 *   points, never inside one.
 * Threads: any; the struct belongs to one caller.
 * Owns: nothing.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "base/base.h"

/* The longest prefix of `size` bytes that fits `room` (NUL included) and does
 * not end inside a code point. */
static size_t text_fit(const char *text, size_t size, size_t room) {
    if (size < room) return size;
    size = room - 1;
    while (size > 0 && ((unsigned char)text[size] & 0xC0) == 0x80) size--;
    return size;
}

static void name_set(char *out, const char *text, size_t size) {
    size = text_fit(text, size, GREBE_ERROR_NAME_SIZE);
    memcpy(out, text, size);
    out[size] = '\0';
}

/* A file's name keeps its end, which tells more than the folders before. */
static void file_set(char *out, const char *file) {
    size_t size = strlen(file);
    if (size >= GREBE_ERROR_NAME_SIZE) {
        file += size - (GREBE_ERROR_NAME_SIZE - 1);
        while (((unsigned char)*file & 0xC0) == 0x80) file++;
        size = strlen(file);
    }
    memcpy(out, file, size + 1);
}

/* The message is made in a buffer of its own: the arguments may point into
 * the error that is being replaced. */
static void error_fill(grebe_error *err, grebe_status status,
                       const char *format, va_list args) {
    char message[GREBE_ERROR_MESSAGE_SIZE + 4];
    int length = vsnprintf(message, sizeof message, format, args);
    size_t size = length < 0 ? 0 : strnlen(message, sizeof message);
    size = text_fit(message, size, GREBE_ERROR_MESSAGE_SIZE);
    memcpy(err->message, message, size);
    err->message[size] = '\0';
    err->status = status;
    err->os_error = 0;
    err->pid = 0;
    err->offset = GREBE_NO_OFFSET;
    err->field[0] = err->key[0] = err->file[0] = '\0';
}

grebe_status grb_error(grebe_error *err, grebe_status status,
                       const char *format, ...) {
    if (err) {
        va_list args;
        va_start(args, format);
        error_fill(err, status, format, args);
        va_end(args);
    }
    return status;
}

grebe_status grb_error_storage(grebe_error *err, int os_error,
                               const char *file, const char *what) {
    if (!err) return GREBE_STORAGE;
    char reason[128];
    if (strerror_r(os_error, reason, sizeof reason) != 0)
        snprintf(reason, sizeof reason, "error %d", os_error);
    grb_error(err, GREBE_STORAGE, "%s: %s", what, reason);
    err->os_error = os_error;
    if (file) file_set(err->file, file);
    return GREBE_STORAGE;
}

grebe_status grb_error_corrupt(grebe_error *err, const char *file,
                               uint64_t offset, const char *format, ...) {
    if (err) {
        va_list args;
        va_start(args, format);
        error_fill(err, GREBE_CORRUPT, format, args);
        va_end(args);
        err->offset = offset;
        if (file) file_set(err->file, file);
    }
    return GREBE_CORRUPT;
}

grebe_status grb_error_memory(grebe_error *err, size_t size) {
    if (size == 0) return grb_error(err, GREBE_MEMORY, "out of memory");
    return grb_error(err, GREBE_MEMORY,
                     "out of memory: %zu bytes were refused", size);
}

void grb_error_field(grebe_error *err, const char *field) {
    if (err && field) name_set(err->field, field, strlen(field));
}

void grb_error_key(grebe_error *err, const char *key, size_t size) {
    if (err && key) name_set(err->key, key, size);
}

GREBE_API const char *grebe_status_word(grebe_status status) {
    switch (status) {
    case GREBE_OK:
        return "ok";
#define STATUS_WORD(name, code, word, py, text) \
    case GREBE_##name:                          \
        return word;
        GREBE_STATUS_LIST(STATUS_WORD)
#undef STATUS_WORD
    }
    return "unknown";
}

GREBE_API const char *grebe_status_meaning(grebe_status status) {
    switch (status) {
    case GREBE_OK:
        return "the call succeeded";
#define STATUS_MEANING(name, code, word, py, text) \
    case GREBE_##name:                             \
        return text;
        GREBE_STATUS_LIST(STATUS_MEANING)
#undef STATUS_MEANING
    }
    return "a status that this version of the library does not know";
}

GREBE_API const char *grebe_version(void) {
    return GREBE_VERSION_TEXT;
}
