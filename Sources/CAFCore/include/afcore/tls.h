/**
 * How a session speaks TLS, and as whom: versions, ciphers, client certificates. Whom it trusts is
 * its policy's to say, see trust.h.
 */
#ifndef AFCORE_TLS_H
#define AFCORE_TLS_H

#include <afcore/error.h>

AF_BEGIN_DECLS

/** The numbers on the wire. Older versions are not spoken (RFC 8996). */
typedef enum af_tls_protocol {
    AF_TLS_DEFAULT = 0, /**< The lowest: TLS 1.2. The highest: what OpenSSL has. */
    AF_TLS_1_2 = 0x0303,
    AF_TLS_1_3 = 0x0304
} af_tls_protocol;

/**
 * A certificate that is shown to servers that ask for one. Either in memory or as files; what is
 * read of them, and copied of the password, is overwritten before its memory is given back.
 */
typedef struct af_client_certificate {
    /**
     * Shown to this host alone, "example.com" or "*.example.com" (one label); NULL: to every one
     * without a certificate of its own.
     */
    const char *host;
    bool includes_subdomains; /**< The names below `host` too, at any depth. */
    /** PEM: the certificate, then those of its authorities; or PKCS #12, with the key. */
    af_slice certificate;
    af_slice key;                            /**< PEM or DER; empty: in `certificate`. */
    const char *certificate_path, *key_path; /**< In place of the two above. */
    const char *password;                    /**< Of the key or the PKCS #12 file; NULL: none. */
} af_client_certificate;

/** A server's question who we are. Lives until the callback that is given it returns. */
typedef struct af_certificate_request af_certificate_request;

/** Answers for servers that ask who we are, when they ask. Zeroed: none. */
typedef struct af_certificate_hook {
    void *context; /**< Must live until the session's on_closed. */
    /**
     * On the session's loop thread, inside a handshake, before anything of the request is sent. Must not
     * block. Unless it calls af_certificate_request_show() or _decline(), the certificate of the
     * options is shown, if there is one for the host. Anything but AF_OK ends the handshake, and is
     * the status of the tasks that waited for it. What was shown is good for the connection, and for
     * those that resume its TLS session.
     */
    af_status (*choose)(void *context, af_certificate_request *request);
} af_certificate_hook;

/** Zeroed: the defaults. */
typedef struct af_tls_options {
    af_tls_protocol min_version, max_version;
    const char *ciphers;       /**< For TLS 1.2, an OpenSSL cipher list; NULL: the system's. */
    const char *cipher_suites; /**< For TLS 1.3; NULL: OpenSSL's. */
    const af_client_certificate *client_certificates;
    size_t client_certificate_count;
    /**
     * Let the environment's SSLKEYLOGFILE have the keys of every connection, where libcurl can do
     * that. Whoever reads that file reads the connections.
     */
    bool logs_keys;
    af_certificate_hook certificate_hook;
} af_tls_options;

/**
 * The host that was connected to, in lower case; an IPv6 address without its brackets.
 *
 * Thread: the callback's.    Owns: nothing, it is the request's.    Fails: never.
 */
AF_API const char *af_certificate_request_get_host(const af_certificate_request *request);

/**
 * How many authorities the server names whose certificates it accepts. 0: it doesn't say.
 *
 * Thread: the callback's.    Owns: nothing.    Fails: never.
 */
AF_API size_t af_certificate_request_get_authority_count(const af_certificate_request *request);

/**
 * The name of one of them, as RFC 4514 writes it, in UTF-8.
 *
 * Thread: the callback's.    Owns: `*out` is yours, af_free().
 * Fails: AF_EINVAL (no such `index`), AF_ENOMEM; `*out` is then NULL.
 */
AF_API af_status af_certificate_request_copy_authority(const af_certificate_request *request,
                                                       size_t index, char **out);

/**
 * Show this one, whatever its `host`. It is read before the return.
 *
 * Thread: the callback's.    Owns: nothing is taken.
 * Fails: as a client certificate of a session's options does; `failure` may be NULL. Nothing is shown then.
 */
AF_API af_status af_certificate_request_show(af_certificate_request *request,
                                             const af_client_certificate *certificate,
                                             af_failure *failure);

/**
 * Show none, also if the options have one for the host.
 *
 * Thread: the callback's.    Owns: nothing.    Fails: never.
 */
AF_API void af_certificate_request_decline(af_certificate_request *request);

AF_END_DECLS

#endif
