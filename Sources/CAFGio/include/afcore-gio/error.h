/* The error domain of this library. */
#ifndef AFGIO_ERROR_H
#define AFGIO_ERROR_H

#include <afcore-gio/base.h>

G_BEGIN_DECLS

/**
 * AFGIO_ERROR:
 *
 * The domain of the errors of requests. A cancelled request is %G_IO_ERROR_CANCELLED of %G_IO_ERROR instead, as
 * everywhere in GIO. A status such as 404 isn't an error: see afgio_response_get_status().
 */
#define AFGIO_ERROR (afgio_error_quark())

/**
 * AfgioError:
 * @AFGIO_ERROR_INVALID_INPUT: an argument or a setting of the session is invalid
 * @AFGIO_ERROR_OUT_OF_MEMORY: out of memory
 * @AFGIO_ERROR_DNS: the host name could not be resolved
 * @AFGIO_ERROR_CONNECT: the connection could not be established
 * @AFGIO_ERROR_CONNECTION_LOST: the connection was lost
 * @AFGIO_ERROR_TRUNCATED: the response ended before it was complete
 * @AFGIO_ERROR_PROTOCOL: the peer violated the protocol, or a digest of a download didn't match
 * @AFGIO_ERROR_REDIRECT: the redirect was not followed
 * @AFGIO_ERROR_TIMEOUT: the request timed out
 * @AFGIO_ERROR_UNTRUSTED: the server certificate was refused, for example because no pin matched
 * @AFGIO_ERROR_TLS: the TLS connection failed
 * @AFGIO_ERROR_TOO_LARGE: a limit was exceeded
 * @AFGIO_ERROR_AUTHENTICATION: credentials are missing or were refused
 * @AFGIO_ERROR_FILE: a local file could not be read or written
 * @AFGIO_ERROR_BODY_NOT_REPLAYABLE: the request body can't be replayed
 * @AFGIO_ERROR_BODY_SOURCE: the reader of the request body failed
 * @AFGIO_ERROR_UNSUPPORTED: not supported by this version, libcurl, OpenSSL or system
 * @AFGIO_ERROR_CLOSED: the session belongs to another process
 * @AFGIO_ERROR_AGAIN: try again later
 * @AFGIO_ERROR_INTERNAL: an internal operation failed unexpectedly
 *
 * Codes of %AFGIO_ERROR. Each is the status of libafcore (afcore/error.h) without its sign. Later versions may have
 * more.
 */
typedef enum {
    AFGIO_ERROR_INVALID_INPUT = 1,
    AFGIO_ERROR_OUT_OF_MEMORY = 2,
    AFGIO_ERROR_DNS = 4,
    AFGIO_ERROR_CONNECT = 5,
    AFGIO_ERROR_CONNECTION_LOST = 6,
    AFGIO_ERROR_TRUNCATED = 7,
    AFGIO_ERROR_PROTOCOL = 8,
    AFGIO_ERROR_REDIRECT = 9,
    AFGIO_ERROR_TIMEOUT = 10,
    AFGIO_ERROR_UNTRUSTED = 11,
    AFGIO_ERROR_TLS = 12,
    AFGIO_ERROR_TOO_LARGE = 13,
    AFGIO_ERROR_AUTHENTICATION = 14,
    AFGIO_ERROR_FILE = 15,
    AFGIO_ERROR_BODY_NOT_REPLAYABLE = 16,
    AFGIO_ERROR_BODY_SOURCE = 17,
    AFGIO_ERROR_UNSUPPORTED = 18,
    AFGIO_ERROR_CLOSED = 19,
    AFGIO_ERROR_AGAIN = 20,
    AFGIO_ERROR_INTERNAL = 21
} AfgioError;

/**
 * afgio_error_quark:
 *
 * Returns the domain: use %AFGIO_ERROR.
 *
 * Thread: any. Owns: nothing. Fails: never.
 *
 * Returns: the quark of the domain
 */
AFGIO_API GQuark afgio_error_quark(void);

G_END_DECLS

#endif
