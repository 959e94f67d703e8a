/** The server: options, routes, start and stop. */
#ifndef AFTS_SERVER_H
#define AFTS_SERVER_H

#include "script.h"
#include "status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A server on one loopback port. */
typedef struct afts_server afts_server;

/** TLS protocol versions, with their numbers on the wire. */
typedef enum afts_tls_version {
    AFTS_TLS_ANY = 0,
    AFTS_TLS_1_0 = 0x0301,
    AFTS_TLS_1_1 = 0x0302,
    AFTS_TLS_1_2 = 0x0303,
    AFTS_TLS_1_3 = 0x0304
} afts_tls_version;

/** How the server speaks TLS. Zeroed fields mean "default"; everything is copied. */
typedef struct afts_tls {
    /** Required, unless chain_file is set: the certificates to present, leaf first, as PEM text. */
    const char *chain_pem;
    /** Required, unless key_file is set: the leaf's private key as PEM text. */
    const char *key_pem;
    /** Path of a PEM file, in place of chain_pem. */
    const char *chain_file;
    /** Path of a PEM file, in place of key_pem. */
    const char *key_file;
    /** Lowest and highest version spoken; by default TLS 1.2 and whatever OpenSSL knows. */
    afts_tls_version min_version;
    afts_tls_version max_version;
    /**
     * Protocols for ALPN in order of preference, separated by commas ("h2,http/1.1"). NULL: no
     * ALPN. Whatever is agreed on, the server speaks what its scripts say, and HTTP/1.1 without one:
     * the preface of HTTP/2 is answered by GOAWAY with HTTP_1_1_REQUIRED.
     */
    const char *alpn;
    /** OpenSSL cipher list for TLS 1.2 and below. NULL: OpenSSL's default. */
    const char *ciphers;
    /**
     * PEM of the authorities whose client certificates are accepted. Set: a certificate is
     * requested. NULL: none is.
     */
    const char *client_ca_pem;
    /** Refuse a client without a certificate. Needs client_ca_pem. */
    bool client_certificate_required;
    /** Send no stateless tickets: a session resumes by the server's own cache. */
    bool no_tickets;
    /** Make every handshake a full one. */
    bool no_resumption;
    /** DER bytes of an OCSP response to staple when the client asks. NULL: none. */
    const uint8_t *ocsp_response;
    size_t ocsp_response_size;
} afts_tls;

/** How a server is made. A zeroed struct means "all defaults"; everything is copied. */
typedef struct afts_options {
    /** TLS on every connection. NULL: plain text. */
    const afts_tls *tls;
    /** Listen on ::1 in place of 127.0.0.1. */
    bool ipv6;
    /** Never complete a TCP handshake: a client's connect hangs until its own time limit. */
    bool unreachable;
    /**
     * Don't send 100 for "Expect: 100-continue" before reading a body. (Scripts that read the
     * head only never get that automatic 100.)
     */
    bool no_auto_continue;
    /** SO_RCVBUF and SO_SNDBUF of every connection, in bytes. 0: the system's. */
    int receive_buffer;
    int send_buffer;
    /** Received bytes kept per connection; more are only counted. 0: 1 MiB. */
    size_t received_limit;
    /** Body bytes kept per request; more are only counted. 0: 1 MiB. */
    size_t body_limit;
    /** Longest request head; a longer one gets 431. 0: 256 KiB. */
    size_t head_limit;
    /** Requests and connections kept in the record; more are only counted. 0: 4096. */
    size_t record_limit;
} afts_options;

/**
 * Makes a server that doesn't listen yet. `options` may be NULL.
 *
 * @return the server, owned by the caller, or NULL when memory is short.
 */
afts_server *afts_server_new(const afts_options *options);

/**
 * Stops the server (see afts_server_stop) and frees it with its scripts and record. NULL is fine.
 */
void afts_server_free(afts_server *server);

/**
 * Listens on a free port and starts accepting. A server starts once.
 *
 * Raises the process's soft limit of open files to 16,384 if it is lower, as far as the hard limit
 * allows.
 *
 * @return AFTS_OK; AFTS_ESTARTED; AFTS_EINVAL for invalid TLS options; AFTS_ESYSTEM. The reason is
 *         in afts_server_error.
 */
afts_status afts_server_start(afts_server *server);

/**
 * Ends every connection, whatever its script is doing, and joins every thread of the server. The
 * record stays readable, and until the server is freed no other process gets its port: connections to
 * it are refused. Harmless when repeated, and when called by several threads at once: each returns
 * after the server has stopped. Not to be called by a handler: it waits for handlers
 * (see afts_in_handler).
 */
void afts_server_stop(afts_server *server);

/** Returns why afts_server_start failed; "" if it didn't. Borrowed from the server. */
const char *afts_server_error(const afts_server *server);

/** The port, or 0 before a successful start. */
uint16_t afts_server_port(const afts_server *server);

/**
 * Writes the URL of `path`, which begins with a slash: "http://127.0.0.1:40123/path".
 *
 * @return the length of the URL; as with snprintf, `size` or more means that it was cut.
 */
size_t afts_server_url(const afts_server *server, const char *path, char *out, size_t size);

/**
 * Answers requests by a script.
 *
 * `path` is compared with the request target up to its "?" (an absolute target without scheme and
 * authority); "/files/" followed by an asterisk matches every target that begins with "/files/", "*"
 * is the target of OPTIONS, and "host:443" that of CONNECT.
 * `method` NULL matches every method. The most specific route wins: an exact path before a prefix,
 * a longer prefix before a shorter one, a method before none. A route with the same method and
 * path as an earlier one replaces it.
 *
 * Takes over one reference of `script`, also on failure.
 *
 * @return AFTS_OK; AFTS_EINVAL for a method or a path that no request has; AFTS_ENOMEM, also when the script ran out of
 *         memory before.
 */
afts_status afts_route(afts_server *server, const char *method, const char *path,
                       afts_script *script);

/**
 * Like afts_route, for the next `times` requests only. Such routes are used up in the order of
 * their addition before an unlimited route with the same method and path is looked at.
 */
afts_status afts_route_times(afts_server *server, const char *method, const char *path,
                             size_t times, afts_script *script);

/**
 * Answers requests that no route matches. Without it they are echoed (see afts_echo).
 * Takes over one reference of `script`, also on failure.
 */
afts_status afts_fallback(afts_server *server, afts_script *script);

/** For afts_on_accept and afts_on_connection. */
#define AFTS_EVERY_CONNECTION SIZE_MAX

/**
 * Runs a script on the connection accepted as number `index` (from 0), or on every one, before a
 * byte is read and before the TLS handshake. An exact index wins over AFTS_EVERY_CONNECTION.
 * Takes over one reference of `script`, also on failure.
 */
afts_status afts_on_accept(afts_server *server, size_t index, afts_script *script);

/**
 * Runs a script on a connection before its first request is read and after its TLS handshake.
 * Unless the script closes the connection, requests are then served as usual. Otherwise like
 * afts_on_accept.
 */
afts_status afts_on_connection(afts_server *server, size_t index, afts_script *script);

/** For afts_release: opens the gate for all scripts, now and later. */
#define AFTS_OPEN SIZE_MAX

/**
 * Lets `permits` scripts pass a gate, in the order in which they reach it.
 *
 * @return AFTS_OK or AFTS_ENOMEM.
 */
afts_status afts_release(afts_server *server, const char *gate, size_t permits);

#ifdef __cplusplus
}
#endif

#endif
