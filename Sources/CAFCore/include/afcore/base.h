/**
 * Types that every other header uses: borrowed bytes, owned bytes, and the export macro.
 *
 * Function names say who owns what, in every header: `new` and `free` are for objects with one owner,
 * `retain` and `release` for objects with a reference count; `get` returns something borrowed, `take`
 * moves ownership to the caller, `copy` returns a copy or a reference that the caller owns.
 *
 * Each function documents three things. "Thread": the threads that may call it; "owner" means one thread at
 * a time. "Owns": who owns arguments and results afterwards. "Fails": the errors.
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

/** Marks an enum that may get more values in later versions: bindings must accept unknown ones. */
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

/** Borrowed bytes, not terminated by NUL. `bytes` may be NULL if `size` is 0. */
typedef struct af_slice {
    const char *bytes;
    size_t size;
} af_slice;

/** Owned bytes: release `bytes` with af_free(). */
typedef struct af_bytes {
    void *bytes;
    size_t size;
} af_bytes;

/** Returns a slice of a string that ends in NUL, without the NUL; an empty slice for NULL. */
static inline af_slice af_slice_of(const char *text) {
    af_slice slice = {text, text != NULL ? strlen(text) : 0};
    return slice;
}

/**
 * Frees memory that this library returned, such as af_bytes.bytes. NULL is allowed.
 *
 * Thread: any.    Owns: takes `memory`.    Fails: never.
 */
AF_API void af_free(void *memory);

AF_END_DECLS

#endif
