/**
 * The status codes of this library, and the description of a failure.
 */
#ifndef AFCORE_ERROR_H
#define AFCORE_ERROR_H

#include <afcore/base.h>

AF_BEGIN_DECLS

/**
 * Every status: X(identifier, number, name, text). Numbers never change their meaning; new ones are appended.
 * The names are those that the program `swiftaf` prints as `error.code`.
 */
#define AF_STATUS_MAP(X)                                                                           \
    X(OK, 0, "ok", "no error")                                                                     \
    X(EINVAL, -1, "invalidInput", "an argument is invalid")                                        \
    X(ENOMEM, -2, "outOfMemory", "out of memory")                                                  \
    X(ECANCELED, -3, "cancelled", "the task was cancelled")                                        \
    X(EDNS, -4, "dns", "the host name could not be resolved")                                      \
    X(ECONNECT, -5, "connect", "the connection could not be established")                          \
    X(ELOST, -6, "connectionLost", "the connection was lost")                                      \
    X(ETRUNCATED, -7, "truncated", "the response ended before it was complete")                    \
    X(EPROTOCOL, -8, "protocol", "the peer violated the protocol")                                 \
    X(EREDIRECT, -9, "redirect", "the redirect was not followed")                                  \
    X(ETIMEOUT, -10, "timeout", "the request timed out")                                           \
    X(EUNTRUSTED, -11, "untrusted", "the server certificate was refused")                          \
    X(ETLS, -12, "tls", "the TLS connection failed")                                               \
    X(ETOOBIG, -13, "tooLarge", "a limit was exceeded")                                            \
    X(EAUTH, -14, "authentication", "credentials are missing or were refused")                     \
    X(EFILE, -15, "file", "a local file could not be read or written")                             \
    X(EREPLAY, -16, "bodyNotReplayable", "the request body can't be replayed")                     \
    X(ESOURCE, -17, "bodySource", "the reader of the request body failed")                         \
    X(EUNSUPPORTED, -18, "unsupported", "not supported by this build of libcurl or OpenSSL")       \
    X(ECLOSED, -19, "closed", "the session is closed or belongs to another process")               \
    X(EAGAIN, -20, "again", "try again later")                                                     \
    X(EINTERNAL, -21, "internal", "an internal operation failed unexpectedly")

/** The result of a function, or of a task. AF_OK is 0, errors are negative. */
typedef enum AF_OPEN_ENUM af_status {
#define AF_STATUS_ENUMERATOR(identifier, number, name, text) AF_##identifier = (number),
    AF_STATUS_MAP(AF_STATUS_ENUMERATOR)
#undef AF_STATUS_ENUMERATOR
} af_status;

/** Which limit of af_timeouts ended a task with AF_ETIMEOUT. */
typedef enum AF_OPEN_ENUM af_timeout {
    AF_TIMEOUT_NONE = 0,
    AF_TIMEOUT_CONNECT = 1,
    AF_TIMEOUT_IDLE = 2,
    AF_TIMEOUT_TOTAL = 3
} af_timeout;

/** Why a certificate chain was refused. */
typedef enum AF_OPEN_ENUM af_trust_reason {
    AF_TRUST_ACCEPTED = 0,
    AF_TRUST_EXPIRED = 1,
    AF_TRUST_NOT_YET_VALID = 2,
    AF_TRUST_WRONG_HOST = 3,
    AF_TRUST_SELF_SIGNED = 4,
    AF_TRUST_UNKNOWN_ISSUER = 5,
    AF_TRUST_PIN = 6,
    AF_TRUST_REVOKED = 7,
    AF_TRUST_WEAK = 8,
    AF_TRUST_OTHER = 9,
    AF_TRUST_UNTRUSTED_ROOT = 10, /**< The chain ends in a root certificate that isn't trusted. */
    AF_TRUST_NAME_CONSTRAINT =
        11, /**< An authority's name constraints exclude the name (RFC 5280 4.2.1.10). */
    AF_TRUST_PURPOSE = 12,     /**< Key usage doesn't allow TLS servers. */
    AF_TRUST_PATH_LENGTH = 13, /**< The chain is longer than a path length constraint allows. */
    AF_TRUST_NOT_AN_AUTHORITY = 14, /**< An issuer isn't a certification authority. */
    AF_TRUST_BAD_SIGNATURE = 15,
    AF_TRUST_UNKNOWN_REVOCATION = 16, /**< The revocation status is required but unknown. */
    AF_TRUST_MALFORMED = 17,
    AF_TRUST_HOOK = 18 /**< The policy's hook refused it. */
} af_trust_reason;

/** Size of af_failure.text in bytes, including the NUL. Longer texts are truncated. */
enum { AF_FAILURE_TEXT_SIZE = 192 };

/** The description of a failure. */
typedef struct af_failure {
    af_status status;                /**< AF_OK: nothing failed, and all other fields are 0. */
    af_timeout timeout;              /**< With AF_ETIMEOUT: the limit that was reached. */
    af_trust_reason trust;           /**< With AF_EUNTRUSTED: the reason. */
    int curl_code;                   /**< The CURLcode that caused it; 0: none. */
    int system_error;                /**< The errno that caused it; 0: none. */
    char text[AF_FAILURE_TEXT_SIZE]; /**< One line in English, NUL-terminated, without secrets. */
} af_failure;

/**
 * Returns the name of a status, such as "timeout"; "unknown" for an unknown number.
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AF_API const char *af_status_name(af_status status);

/**
 * Returns one line in English about a status; "unknown status" for an unknown number.
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AF_API const char *af_status_text(af_status status);

/**
 * Returns the name of a trust reason ("expired", "wrongHost", …); "other" for an unknown number.
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AF_API const char *af_trust_reason_name(af_trust_reason reason);

AF_END_DECLS

#endif
