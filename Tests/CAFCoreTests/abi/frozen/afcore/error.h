/**
 * The status codes of this library, and the description of a failure.
 */
#ifndef AFCORE_ERROR_H
#define AFCORE_ERROR_H

#include <afcore/base.h>

AFC_BEGIN_DECLS

/**
 * Every status: X(identifier, number, name, text). Numbers never change their meaning; new ones are appended.
 * The names are those that the program `swiftaf` prints as `error.code`.
 */
#define AFC_STATUS_MAP(X)                                                                          \
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

/** The result of a function, or of a task. AFC_OK is 0, errors are negative. */
typedef enum AFC_OPEN_ENUM afc_status {
#define AFC_STATUS_ENUMERATOR(identifier, number, name, text) AFC_##identifier = (number),
    AFC_STATUS_MAP(AFC_STATUS_ENUMERATOR)
#undef AFC_STATUS_ENUMERATOR
} afc_status;

/** Which limit of afc_timeouts ended a task with AFC_ETIMEOUT. */
typedef enum AFC_OPEN_ENUM afc_timeout {
    AFC_TIMEOUT_NONE = 0,
    AFC_TIMEOUT_CONNECT = 1,
    AFC_TIMEOUT_IDLE = 2,
    AFC_TIMEOUT_TOTAL = 3
} afc_timeout;

/** Why a certificate chain was refused. */
typedef enum AFC_OPEN_ENUM afc_trust_reason {
    AFC_TRUST_ACCEPTED = 0,
    AFC_TRUST_EXPIRED = 1,
    AFC_TRUST_NOT_YET_VALID = 2,
    AFC_TRUST_WRONG_HOST = 3,
    AFC_TRUST_SELF_SIGNED = 4,
    AFC_TRUST_UNKNOWN_ISSUER = 5,
    AFC_TRUST_PIN = 6,
    AFC_TRUST_REVOKED = 7,
    AFC_TRUST_WEAK = 8,
    AFC_TRUST_OTHER = 9,
    AFC_TRUST_UNTRUSTED_ROOT = 10, /**< The chain ends in a root certificate that isn't trusted. */
    AFC_TRUST_NAME_CONSTRAINT =
        11, /**< An authority's name constraints exclude the name (RFC 5280 4.2.1.10). */
    AFC_TRUST_PURPOSE = 12,     /**< Key usage doesn't allow TLS servers. */
    AFC_TRUST_PATH_LENGTH = 13, /**< The chain is longer than a path length constraint allows. */
    AFC_TRUST_NOT_AN_AUTHORITY = 14, /**< An issuer isn't a certification authority. */
    AFC_TRUST_BAD_SIGNATURE = 15,
    AFC_TRUST_UNKNOWN_REVOCATION = 16, /**< The revocation status is required but unknown. */
    AFC_TRUST_MALFORMED = 17,
    AFC_TRUST_HANDLER = 18 /**< The policy's handler refused it. */
} afc_trust_reason;

/** Size of afc_failure.text in bytes, including the NUL. Longer texts are truncated. */
enum { AFC_FAILURE_TEXT_SIZE = 192 };

/** The description of a failure. */
typedef struct afc_failure {
    afc_status status;                /**< AFC_OK: nothing failed, and all other fields are 0. */
    afc_timeout timeout;              /**< With AFC_ETIMEOUT: the limit that was reached. */
    afc_trust_reason trust;           /**< With AFC_EUNTRUSTED: the reason. */
    int curl_code;                    /**< The CURLcode that caused it; 0: none. */
    int system_error;                 /**< The errno that caused it; 0: none. */
    char text[AFC_FAILURE_TEXT_SIZE]; /**< One line in English, NUL-terminated, without secrets. */
    uint32_t reserved[3];             /**< 0. */
} afc_failure;

/**
 * Returns the name of a status, such as "timeout"; "unknown" for an unknown number.
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AFC_API const char *afc_status_name(afc_status status);

/**
 * Returns one line in English about a status; "unknown status" for an unknown number.
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AFC_API const char *afc_status_text(afc_status status);

/**
 * Returns the name of a trust reason ("expired", "wrongHost", …); "other" for an unknown number.
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AFC_API const char *afc_trust_reason_name(afc_trust_reason reason);

AFC_END_DECLS

#endif
