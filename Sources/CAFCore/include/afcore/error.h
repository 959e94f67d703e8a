/**
 * The status codes of this library, and the description of a failure.
 */
#ifndef AFCORE_ERROR_H
#define AFCORE_ERROR_H

#include <afcore/base.h>

AFC_BEGIN_DECLS

/**
 * Every status: X(identifier, number, name, text). Numbers never change their meaning; new ones are appended.
 * The program `swiftaf` groups some of the names that it prints as `error.code`; see docs/cli.md.
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
    X(EUNSUPPORTED, -18, "unsupported",                                                            \
      "not supported by this version, libcurl, OpenSSL or system")                                 \
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
    /** An authority's name constraints exclude the name (RFC 5280 4.2.1.10). */
    AFC_TRUST_NAME_CONSTRAINT = 11,
    AFC_TRUST_PURPOSE = 12,     /**< Key usage doesn't allow TLS servers. */
    AFC_TRUST_PATH_LENGTH = 13, /**< The chain is longer than a path length constraint allows. */
    AFC_TRUST_NOT_AN_AUTHORITY = 14, /**< An issuer isn't a certification authority. */
    AFC_TRUST_BAD_SIGNATURE = 15,
    AFC_TRUST_UNKNOWN_REVOCATION = 16, /**< The revocation status is required but unknown. */
    AFC_TRUST_MALFORMED = 17,
    AFC_TRUST_HANDLER = 18 /**< The policy's handler refused it. */
} afc_trust_reason;

/**
 * The party that a failure with AFC_EDNS, AFC_ECONNECT, AFC_ETLS, AFC_EUNTRUSTED, AFC_EAUTH or AFC_EREPLAY is about, if
 * it is known. With AFC_EREPLAY, the party that requires credentials.
 */
typedef enum AFC_OPEN_ENUM afc_party {
    AFC_PARTY_NONE = 0,    /**< This machine, or unknown. */
    AFC_PARTY_SERVER = 1,  /**< The server, or the connection to it. */
    AFC_PARTY_PROXY = 2,   /**< The proxy, its name, or the connection to it. */
    AFC_PARTY_RESOLVER = 3 /**< The system's resolver, or a DNS server, also over HTTPS. */
} afc_party;

/**
 * The reasons within a status that a program may react to: X(identifier, number, name). Numbers and names never change;
 * later versions may add more.
 *
 * AFC_EINVAL
 * - NO_SCHEME: the URL has no scheme.
 * - IPV6_ZONE: the URL names an IPv6 zone, which URLs can't (RFC 9844).
 * - HOST_OVERRIDE: an entry of afc_network_options.overrides is invalid.
 * - KEY_PASSWORD: a client certificate or its key can't be read, perhaps for lack of its password.
 * - CLIENT_CERTIFICATE: the bytes of a client certificate aren't a valid certificate.
 * - CLIENT_KEY: the key of a client certificate isn't valid, or belongs to another certificate.
 * - PROXY_URL: a proxy in afc_proxies is invalid.
 * - ANCHORS: afc_trust_options.anchors is invalid.
 * - PINNING: a pin or a pinned certificate of an afc_trust_rule is invalid.
 * - CIPHERS: afc_tls_options.ciphers or cipher_suites names none that OpenSSL supports.
 *
 * AFC_EINVAL, AFC_EUNSUPPORTED
 * - DOH_URL: afc_network_options.doh_url is invalid, or can't be used with other options.
 *
 * AFC_EDNS, AFC_ECONNECT
 * - OFFLINE: this machine has no route to the internet, and the failure is that of a missing route, or of a name that
 *   wasn't found.
 *
 * AFC_ECONNECT
 * - INTERFACE: afc_network_options.interface isn't an interface or an address of this machine.
 *
 * AFC_EDNS
 * - DNS_OVER_HTTPS: the server of DNS over HTTPS didn't find the name, or couldn't be reached.
 *
 * AFC_EREDIRECT
 * - REDIRECT_LIMIT: afc_limits.redirects was exceeded.
 * - REDIRECT_REFUSED: on_redirect refused it.
 *
 * AFC_ETOOBIG
 * - BODY_LIMIT: afc_limits.body_bytes was exceeded.
 * - HEAD_LIMIT: afc_limits.head_bytes or afc_limits.head_count was exceeded.
 * - LINE_LIMIT: a line exceeds libcurl's own limit: 100 KiB in the head, 4 KiB in trailers.
 * - DECODED_LIMIT: afc_limits.decoding_ratio was exceeded.
 * - MESSAGE_LIMIT: a message of a WebSocket exceeds its limit.
 *
 * AFC_EPROTOCOL
 * - CONTENT_CODING: the body can't be decoded: its Content-Encoding isn't known, or it isn't coded like that.
 * - DIGEST: the body doesn't match afc_sink.digest.
 * - DECLARED_DIGEST: the body doesn't match the digest in a field of its response (RFC 9530).
 *
 * AFC_EAUTH
 * - PROXY_CREDENTIALS: the proxy of a tunnel needs credentials, or refused them.
 *
 * AFC_EREPLAY
 * - CREDENTIALS: credentials are required, but the body can't be sent again with them.
 *
 * AFC_ETLS
 * - NOT_TLS: the peer doesn't use TLS on this port.
 * - TLS_VERSION: the peer and this library have no TLS version in common.
 * - CERTIFICATE_REQUIRED: the peer requires a client certificate.
 * - CERTIFICATE_REFUSED: the peer refused the client certificate.
 * - HANDSHAKE_REFUSED: the peer ended the handshake with the alert handshake_failure, which gives no reason.
 *
 * AFC_ETIMEOUT
 * - NO_PONG: the peer of a WebSocket sent no pong.
 * - NO_CLOSE_FRAME: the peer of a WebSocket sent no close frame.
 * - NOT_OPEN: the handshake of a WebSocket took longer than its open_timeout_ms.
 */
#define AFC_REASON_MAP(X)                                                                          \
    X(NONE, 0, "none")                                                                             \
    X(NO_SCHEME, 1, "noScheme")                                                                    \
    X(IPV6_ZONE, 2, "ipv6Zone")                                                                    \
    X(HOST_OVERRIDE, 3, "hostOverride")                                                            \
    X(KEY_PASSWORD, 4, "keyPassword")                                                              \
    X(DNS_OVER_HTTPS, 5, "dnsOverHTTPS")                                                           \
    X(REDIRECT_LIMIT, 6, "redirectLimit")                                                          \
    X(REDIRECT_REFUSED, 7, "redirectRefused")                                                      \
    X(BODY_LIMIT, 8, "bodyLimit")                                                                  \
    X(HEAD_LIMIT, 9, "headLimit")                                                                  \
    X(LINE_LIMIT, 10, "lineLimit")                                                                 \
    X(DECODED_LIMIT, 11, "decodedLimit")                                                           \
    X(MESSAGE_LIMIT, 12, "messageLimit")                                                           \
    X(CONTENT_CODING, 13, "contentCoding")                                                         \
    X(DIGEST, 14, "digest")                                                                        \
    X(PROXY_CREDENTIALS, 15, "proxyCredentials")                                                   \
    X(NOT_TLS, 16, "notTLS")                                                                       \
    X(TLS_VERSION, 17, "tlsVersion")                                                               \
    X(CERTIFICATE_REQUIRED, 18, "certificateRequired")                                             \
    X(CERTIFICATE_REFUSED, 19, "certificateRefused")                                               \
    X(HANDSHAKE_REFUSED, 20, "handshakeRefused")                                                   \
    X(NO_PONG, 21, "noPong")                                                                       \
    X(NO_CLOSE_FRAME, 22, "noCloseFrame")                                                          \
    X(DECLARED_DIGEST, 23, "declaredDigest")                                                       \
    X(OFFLINE, 24, "offline")                                                                      \
    X(NOT_OPEN, 25, "notOpen")                                                                     \
    X(CLIENT_CERTIFICATE, 26, "clientCertificate")                                                 \
    X(CLIENT_KEY, 27, "clientKey")                                                                 \
    X(PROXY_URL, 28, "proxyURL")                                                                   \
    X(ANCHORS, 29, "anchors")                                                                      \
    X(DOH_URL, 30, "dnsOverHTTPSURL")                                                              \
    X(INTERFACE, 31, "interface")                                                                  \
    X(CREDENTIALS, 32, "credentials")                                                              \
    X(PINNING, 33, "pinning")                                                                      \
    X(CIPHERS, 34, "ciphers")

/** A finer distinction within a status; AFC_REASON_NONE for most failures. */
typedef enum AFC_OPEN_ENUM afc_reason {
#define AFC_REASON_ENUMERATOR(identifier, number, name) AFC_REASON_##identifier = (number),
    AFC_REASON_MAP(AFC_REASON_ENUMERATOR)
#undef AFC_REASON_ENUMERATOR
} afc_reason;

/** Size of afc_failure.text in bytes, including the NUL. Longer texts are truncated. */
enum { AFC_FAILURE_TEXT_SIZE = 192 };

/** The description of a failure. */
typedef struct afc_failure {
    /** AFC_OK if nothing failed; all other fields are then 0. Every function with a `failure` sets it. */
    afc_status status;
    afc_timeout timeout;              /**< With AFC_ETIMEOUT: the limit that was reached. */
    afc_trust_reason trust;           /**< With AFC_EUNTRUSTED: the reason. */
    int curl_code;                    /**< The CURLcode of the cause; 0 if there is none. */
    int system_error;                 /**< The errno of the cause; 0 if there is none. */
    char text[AFC_FAILURE_TEXT_SIZE]; /**< One line in English, NUL-terminated, without secrets. */
    afc_reason reason;                /**< A finer distinction, or AFC_REASON_NONE. */
    afc_party party;                  /**< The party that it is about. */
    uint32_t reserved[1];             /**< 0. */
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

/**
 * Returns the name of a reason, such as "redirectLimit"; "none" for an unknown number.
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AFC_API const char *afc_reason_name(afc_reason reason);

AFC_END_DECLS

#endif
