/**
 * Versions. Macros give the version of the headers that a program was compiled with, functions that of the
 * library that it runs with. libafcore uses semantic versioning. CMakeLists.txt reads the three numbers
 * below; they are defined only here.
 */
#ifndef AFCORE_VERSION_H
#define AFCORE_VERSION_H

#include <afcore/base.h>

/** Incremented by changes that require programs to change. */
#define AFCORE_VERSION_MAJOR 0
/** Incremented by new functions. */
#define AFCORE_VERSION_MINOR 1
/** Incremented by corrections. */
#define AFCORE_VERSION_PATCH 0

/** The value as it is written. */
#define AFCORE_STRINGIFY_(value) #value
/** The value of a macro as a string. */
#define AFCORE_STRINGIFY(value) AFCORE_STRINGIFY_(value)

/** Version of these headers, "major.minor.patch". */
#define AFCORE_VERSION_STRING                                                                      \
    AFCORE_STRINGIFY(AFCORE_VERSION_MAJOR)                                                         \
    "." AFCORE_STRINGIFY(AFCORE_VERSION_MINOR) "." AFCORE_STRINGIFY(AFCORE_VERSION_PATCH)

/** Version of these headers as one number, for comparisons. */
#define AFCORE_VERSION_NUMBER                                                                      \
    (AFCORE_VERSION_MAJOR * 1000000 + AFCORE_VERSION_MINOR * 1000 + AFCORE_VERSION_PATCH)

AFC_BEGIN_DECLS

/**
 * Returns the version of the library, "major.minor.patch".
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AFC_API const char *afc_version(void);

/**
 * Returns the version of the library in the format of AFCORE_VERSION_NUMBER.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API int afc_version_number(void);

/**
 * Returns the version of libcurl, such as "7.88.1".
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AFC_API const char *afc_curl_version(void);

/**
 * Returns the name and version of the TLS library that libcurl uses, such as "OpenSSL/3.0.15".
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never; "none" without TLS.
 */
AFC_API const char *afc_tls_version(void);

/**
 * Returns the features that libcurl was built with ("HTTP2", "brotli", "IPv6", …) and their number in
 * `*count`.
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AFC_API const char *const *afc_curl_features(size_t *count);

AFC_END_DECLS

#endif
