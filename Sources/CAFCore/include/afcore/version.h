/**
 * The version of libafcore: as macros, of the headers a program was compiled with; as functions,
 * of the library that it runs with. Versions follow semantic versioning. CMakeLists.txt reads the
 * three numbers below, they stand nowhere else.
 */
#ifndef AFCORE_VERSION_H
#define AFCORE_VERSION_H

#include <afcore/base.h>

#define AFCORE_VERSION_MAJOR 0
#define AFCORE_VERSION_MINOR 1
#define AFCORE_VERSION_PATCH 0

#define AFCORE_STRINGIFY_(value) #value
#define AFCORE_STRINGIFY(value) AFCORE_STRINGIFY_(value)

/** "major.minor.patch" of these headers. */
#define AFCORE_VERSION_STRING                                                                      \
    AFCORE_STRINGIFY(AFCORE_VERSION_MAJOR)                                                         \
    "." AFCORE_STRINGIFY(AFCORE_VERSION_MINOR) "." AFCORE_STRINGIFY(AFCORE_VERSION_PATCH)

/** These headers' version as one number that compares in the order of releases. */
#define AFCORE_VERSION_NUMBER                                                                      \
    (AFCORE_VERSION_MAJOR * 1000000 + AFCORE_VERSION_MINOR * 1000 + AFCORE_VERSION_PATCH)

AF_BEGIN_DECLS

/**
 * The running library's version, "major.minor.patch".
 *
 * Thread: any.    Owns: nothing, the text is static.    Fails: never.
 */
AF_API const char *af_version(void);

/**
 * The running library's version as AFCORE_VERSION_NUMBER counts it.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API int af_version_number(void);

/**
 * The version of the libcurl in use, such as "7.88.1".
 *
 * Thread: any.    Owns: nothing, the text is static.    Fails: never.
 */
AF_API const char *af_curl_version(void);

/**
 * The TLS library that this libcurl uses, and its version, such as "OpenSSL/3.0.15".
 *
 * Thread: any.    Owns: nothing, the text is static.    Fails: never; "none" without TLS.
 */
AF_API const char *af_tls_version(void);

/**
 * What this libcurl was built with ("HTTP2", "brotli", "IPv6", …), and the number of names in `*count`.
 *
 * Thread: any.    Owns: nothing, the names are static.    Fails: never.
 */
AF_API const char *const *af_curl_features(size_t *count);

AF_END_DECLS

#endif
