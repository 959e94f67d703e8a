/**
 * Types that every other header uses: views of bytes, owned bytes, and the export macro.
 *
 * Words of ownership, the same in every header: `new`/`free` one owner; `retain`/`release` shared;
 * `get` borrows; `take` moves to you; `copy` gives you a reference of your own.
 */
#ifndef AFCORE_BASE_H
#define AFCORE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(AFCORE_STATIC)
#define AF_API
#elif defined(__GNUC__)
#define AF_API __attribute__((visibility("default")))
#else
#define AF_API
#endif

/** An enum that may get further values: bindings must expect ones that they don't know. */
#if defined(__clang__)
#define AF_OPEN_ENUM __attribute__((enum_extensibility(open)))
#else
#define AF_OPEN_ENUM
#endif

#ifdef __cplusplus
#define AF_BEGIN_DECLS extern "C" {
#define AF_END_DECLS }
#else
#define AF_BEGIN_DECLS
#define AF_END_DECLS
#endif

AF_BEGIN_DECLS

/** A view of somebody else's bytes. Not terminated by NUL. `bytes` may be NULL when `size` is 0. */
typedef struct af_slice {
    const char *bytes;
    size_t size;
} af_slice;

/** Bytes that are yours: give `bytes` back with af_free(). */
typedef struct af_bytes {
    void *bytes;
    size_t size;
} af_bytes;

/** A view of a string that ends in NUL; NULL gives the empty view. */
static inline af_slice af_slice_of(const char *text) {
    af_slice slice = {text, text != NULL ? strlen(text) : 0};
    return slice;
}

/**
 * Give back memory that this library handed over (af_bytes.bytes). NULL is fine.
 *
 * Thread: any.    Owns: takes `memory`.    Fails: never.
 */
AF_API void af_free(void *memory);

AF_END_DECLS

#endif
