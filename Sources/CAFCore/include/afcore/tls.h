/**
 * How a session speaks TLS, and as whom: versions, ciphers, client certificates. Whom it trusts is
 * its policy's to say, see trust.h.
 */
#ifndef AFCORE_TLS_H
#define AFCORE_TLS_H

#include <afcore/base.h>

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
} af_tls_options;

AF_END_DECLS

#endif
