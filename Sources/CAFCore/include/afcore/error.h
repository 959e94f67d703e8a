/**
 * Every status of this library, once: number, name and text come from one table.
 */
#ifndef AFCORE_ERROR_H
#define AFCORE_ERROR_H

#include <afcore/base.h>

AF_BEGIN_DECLS

/**
 * X(identifier, number, name, text). Numbers never change their meaning; new ones are appended.
 * The names are those that the program `swiftaf` prints as `error.code`.
 */
#define AF_STATUS_MAP(X)                                                                           \
    X(OK, 0, "ok", "no error")                                                                     \
    X(EINVAL, -1, "invalidInput", "an argument is not valid")                                      \
    X(ENOMEM, -2, "outOfMemory", "out of memory")                                                  \
    X(ECANCELED, -3, "cancelled", "the task was cancelled")                                        \
    X(EDNS, -4, "dns", "the host name could not be resolved")                                      \
    X(ECONNECT, -5, "connect", "the connection could not be made")                                 \
    X(ELOST, -6, "connectionLost", "the connection was lost")                                      \
    X(ETRUNCATED, -7, "truncated", "the response ended before it was complete")                    \
    X(EPROTOCOL, -8, "protocol", "the peer broke the protocol")                                    \
    X(EREDIRECT, -9, "redirect", "the redirect was not followed")                                  \
    X(ETIMEOUT, -10, "timeout", "a time limit was reached")                                        \
    X(EUNTRUSTED, -11, "untrusted", "the server certificate was not accepted")                     \
    X(ETLS, -12, "tls", "the TLS connection failed")                                               \
    X(ETOOBIG, -13, "tooLarge", "a declared limit was passed")                                     \
    X(EAUTH, -14, "authentication", "credentials were needed or refused")                          \
    X(EFILE, -15, "file", "a local file could not be read or written")                             \
    X(EREPLAY, -16, "bodyNotReplayable", "the request body cannot be sent again")                  \
    X(ESOURCE, -17, "bodySource", "the reader of the request body failed")                         \
    X(EUNSUPPORTED, -18, "unsupported", "this build of libcurl or OpenSSL cannot do that")         \
    X(ECLOSED, -19, "closed", "the session is closed or belongs to another process")               \
    X(EAGAIN, -20, "again", "not now")                                                             \
    X(EINTERNAL, -21, "internal", "an operation that cannot fail has failed")

typedef enum AF_OPEN_ENUM af_status {
#define AF_STATUS_ENUMERATOR(identifier, number, name, text) AF_##identifier = (number),
    AF_STATUS_MAP(AF_STATUS_ENUMERATOR)
#undef AF_STATUS_ENUMERATOR
} af_status;

/** Which of the time limits ended a task with AF_ETIMEOUT. */
typedef enum AF_OPEN_ENUM af_timeout {
    AF_TIMEOUT_NONE = 0,
    AF_TIMEOUT_CONNECT = 1,
    AF_TIMEOUT_IDLE = 2,
    AF_TIMEOUT_TOTAL = 3
} af_timeout;

/** Why a certificate chain was not accepted. */
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
    AF_TRUST_UNTRUSTED_ROOT = 10,   /**< The peer sent a chain up to a root that is not trusted. */
    AF_TRUST_NAME_CONSTRAINT = 11,  /**< An authority signed for names that it is not allowed to. */
    AF_TRUST_PURPOSE = 12,          /**< Not made for TLS servers. */
    AF_TRUST_PATH_LENGTH = 13,      /**< More authorities in a row than one of them allows. */
    AF_TRUST_NOT_AN_AUTHORITY = 14, /**< Signed by a certificate that may not sign others. */
    AF_TRUST_BAD_SIGNATURE = 15,
    AF_TRUST_UNKNOWN_REVOCATION = 16, /**< Whether it was revoked must be known, and is not. */
    AF_TRUST_MALFORMED = 17,
    AF_TRUST_HOOK = 18 /**< The user's hook refused it. */
} af_trust_reason;

enum { AF_FAILURE_TEXT_SIZE = 192 };

/** What went wrong, as data that travels with the result. */
typedef struct af_failure {
    af_status status;                /**< AF_OK: nothing failed, and every other field is 0. */
    af_timeout timeout;              /**< With AF_ETIMEOUT: which limit. */
    af_trust_reason trust;           /**< With AF_EUNTRUSTED: why. */
    int curl_code;                   /**< The CURLcode behind it, 0 if none. */
    int system_error;                /**< The errno behind it, 0 if none. */
    char text[AF_FAILURE_TEXT_SIZE]; /**< One line for people, ends in NUL. Holds no secret. */
} af_failure;

/**
 * The name of a status ("timeout"), the words of `error.code`; "unknown" for a foreign number.
 *
 * Thread: any.    Owns: borrowed, lives forever.    Fails: never.
 */
AF_API const char *af_status_name(af_status status);

/**
 * One English line about a status; "unknown status" for a foreign number.
 *
 * Thread: any.    Owns: borrowed, lives forever.    Fails: never.
 */
AF_API const char *af_status_text(af_status status);

/**
 * The name of a trust reason ("expired", "wrongHost", …); "other" for a foreign number.
 *
 * Thread: any.    Owns: borrowed, lives forever.    Fails: never.
 */
AF_API const char *af_trust_reason_name(af_trust_reason reason);

AF_END_DECLS

#endif
