/**
 * Types that every other header uses: borrowed bytes, owned bytes, and the export macro.
 *
 * Function names show the ownership, in every header. `new` and `open` create an object that the caller owns: it is
 * destroyed with `free`, or, if it has a reference count and a function `retain`, given up with `release`. `get`
 * returns something borrowed, `take` moves ownership to the caller, `copy` returns a copy or a reference that the
 * caller owns.
 *
 * The layout of structs is part of the ABI, and grows in these ways only:
 *
 * - A struct that begins with `size` is sized. Initialise it with its …_INIT macro, or set `size` to its sizeof and all
 *   other fields to 0. Zeros aren't always the defaults of the macro: for many limits 0 means no limit. New fields are
 *   appended. A program that was built with older headers gets the defaults of the fields that it doesn't have. A
 *   program that was built with newer headers than the library may leave the new fields 0; if it sets one, the call
 *   fails with AFC_EUNSUPPORTED.
 * - A struct with the field `reserved`, and without `size`, never changes its size, because it is embedded in others,
 *   is an element of an array or lies in the caller's memory. `reserved` must be 0. A new field takes space of
 *   `reserved`, and its default is 0. Setting it with an older library fails with AFC_EUNSUPPORTED.
 * - A struct that only the library makes, and passes by pointer, may get new fields at its end.
 * - Other structs (afc_slice, afc_bytes, afc_header, afc_head, afc_url_field, afc_url_parts, afc_reader, afc_executor,
 *   handlers) never change.
 *
 * `out`, which receives a result, is the first parameter; in functions named `get`, `next` and `export` the object is
 * the first and `out` the second. `failure` is the last one.
 *
 * Pointers must not be NULL unless their comment says so. `failure`, which receives the text of an error, may be NULL
 * in every function.
 *
 * Each function documents three things. "Thread": the threads that may call it; "owner" means one thread at a time,
 * "loop" the loop thread of the session. "Owns": the ownership of arguments and results afterwards; "yours" means the
 * caller's, followed by the function that gives it up. "Fails": the errors.
 */
#ifndef AFCORE_BASE_H
#define AFCORE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(AFCORE_STATIC)
#define AFC_API
#elif defined(__GNUC__)
#define AFC_API __attribute__((visibility("default")))
#else
#define AFC_API
#endif

/** Marks an enum that may get more values in later versions: bindings must accept unknown ones. */
#if defined(__clang__)
#define AFC_OPEN_ENUM __attribute__((enum_extensibility(open)))
#else
#define AFC_OPEN_ENUM
#endif

#ifdef __cplusplus
#define AFC_BEGIN_DECLS extern "C" {
#define AFC_END_DECLS }
#else
#define AFC_BEGIN_DECLS
#define AFC_END_DECLS
#endif

AFC_BEGIN_DECLS

/** Borrowed bytes, not terminated by NUL. `bytes` may be NULL if `size` is 0. */
typedef struct afc_slice {
    const char *bytes;
    size_t size;
} afc_slice;

/** Owned bytes: release `bytes` with afc_free(). */
typedef struct afc_bytes {
    void *bytes;
    size_t size;
} afc_bytes;

/** An unknown length in bytes. Over HTTP/1.1, a body of unknown length is sent with chunked transfer coding. */
#define AFC_LENGTH_UNKNOWN ((int64_t)-1)

/**
 * Initialises a slice with a string literal, also in the initialiser of a constant: `{AFC_SLICE_INIT("Accept"),
 * AFC_SLICE_INIT("text/html"), 0}`.
 */
#define AFC_SLICE_INIT(literal)                                                                    \
    { "" literal, sizeof(literal) - 1 }

/** Returns a slice of a string that ends in NUL, without the NUL; an empty slice for NULL. */
static inline afc_slice afc_slice_of(const char *text) {
    afc_slice slice = {text, text != NULL ? strlen(text) : 0};
    return slice;
}

/**
 * Frees memory that this library returned, such as afc_bytes.bytes. NULL is allowed.
 *
 * Thread: any.    Owns: takes `memory`.    Fails: never.
 */
AFC_API void afc_free(void *memory);

AFC_END_DECLS

#endif
