/**
 * TLS options of a session: versions, ciphers, client certificates. For the verification of servers see
 * trust.h.
 */
#ifndef AFCORE_TLS_H
#define AFCORE_TLS_H

#include <afcore/error.h>

AFC_BEGIN_DECLS

/** TLS versions, with their protocol numbers. Older ones are not supported (RFC 8996). */
typedef enum afc_tls_protocol {
    AFC_TLS_DEFAULT = 0, /**< As minimum: TLS 1.2. As maximum: OpenSSL's newest. */
    AFC_TLS_1_2 = 0x0303,
    AFC_TLS_1_3 = 0x0304
} afc_tls_protocol;

/**
 * A client certificate, sent to servers that request one; in memory or in files. Copies of keys and
 * passwords are overwritten before they are freed.
 */
typedef struct afc_client_certificate {
    /**
     * Host that the certificate is sent to: "example.com" or "*.example.com" (one label). NULL means every host that no
     * other certificate names.
     */
    const char *host;
    bool include_subdomains; /**< Also for subdomains of `host`, at any depth. */
    /** PEM: the certificate, followed by its intermediates; or PKCS #12, which includes the key. */
    afc_slice certificate;
    /** PEM or DER; empty if it is a part of `certificate`. */
    afc_slice key;
    const char *certificate_path, *key_path; /**< Files instead of the two above. */
    const char *password; /**< Password of the key or PKCS #12 data; NULL if there is none. */
    uint64_t reserved[4]; /**< 0. */
} afc_client_certificate;

#define AFC_CLIENT_CERTIFICATE_INIT                                                                \
    {                                                                                              \
        NULL, false, {NULL, 0}, {NULL, 0}, NULL, NULL, NULL, {                                     \
            0                                                                                      \
        }                                                                                          \
    }

/** A server's request for a client certificate. Valid until the callback returns. */
typedef struct afc_certificate_request afc_certificate_request;

/** A callback that chooses a client certificate for each request of a server. If all is 0, there is none. */
typedef struct afc_certificate_handler {
    void *context; /**< Must be valid until the session's on_closed. */
    /**
     * Called on the session's loop thread during a handshake, before the HTTP request is sent. Must not
     * block. May call afc_certificate_request_show() or afc_certificate_request_decline(); otherwise the
     * certificate in afc_tls_options for the host is sent, if there is one. A status other than AFC_OK aborts
     * the handshake and is the result of the tasks that waited for it. The choice is valid for the
     * connection and for connections that resume its TLS session.
     */
    afc_status (*choose)(void *context, afc_certificate_request *request);
} afc_certificate_handler;

/** TLS options of a session. If all is 0, the defaults. */
typedef struct afc_tls_options {
    afc_tls_protocol min_version, max_version; /**< Default: AFC_TLS_DEFAULT. */
    const char *ciphers;       /**< For TLS 1.2, an OpenSSL cipher list; NULL means the system's. */
    const char *cipher_suites; /**< For TLS 1.3, OpenSSL's names; NULL means its default. */
    const afc_client_certificate *client_certificates;
    size_t client_certificate_count;
    /**
     * Writes the TLS keys of every connection to the file that the environment variable SSLKEYLOGFILE
     * names, if libcurl supports it. Anyone with that file can decrypt the connections. Default: false.
     */
    bool write_key_log;
    afc_certificate_handler certificate_handler; /**< Chooses client certificates at run time. */
    uint64_t reserved[6];                        /**< 0. */
} afc_tls_options;

#define AFC_TLS_OPTIONS_INIT                                                                       \
    {                                                                                              \
        AFC_TLS_DEFAULT, AFC_TLS_DEFAULT, NULL, NULL, NULL, 0, false, {NULL, NULL}, {              \
            0                                                                                      \
        }                                                                                          \
    }

/**
 * Returns the host of the connection in lower case; an IPv6 address without brackets.
 *
 * Thread: loop, inside the callback.    Owns: borrowed, lives with `request`.    Fails: never.
 */
AFC_API const char *afc_certificate_request_get_host(const afc_certificate_request *request);

/**
 * Returns the number of certification authorities that the server accepts; 0 if it names none.
 *
 * Thread: loop, inside the callback.    Owns: nothing.    Fails: never.
 */
AFC_API size_t afc_certificate_request_get_authority_count(const afc_certificate_request *request);

/**
 * Copies the name of one of these authorities, in the format of RFC 4514 and UTF-8.
 *
 * Thread: loop, inside the callback.    Owns: `*out` is yours, afc_free().
 * Fails: AFC_EINVAL (invalid `index`), AFC_ENOMEM; `*out` is then NULL.
 */
AFC_API afc_status afc_certificate_request_copy_authority(char **out,
                                                          const afc_certificate_request *request,
                                                          size_t index);

/**
 * Sends this certificate; its `host` is ignored. It is read before the function returns.
 *
 * Thread: loop, inside the callback.    Owns: nothing.
 * Fails: AFC_EINVAL, AFC_EFILE, AFC_ENOMEM, as for afc_tls_options.client_certificates; the choice is then unchanged.
 */
AFC_API afc_status afc_certificate_request_show(afc_certificate_request *request,
                                                const afc_client_certificate *certificate,
                                                afc_failure *failure);

/**
 * Sends no certificate, even if the options have one for the host.
 *
 * Thread: loop, inside the callback.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_certificate_request_decline(afc_certificate_request *request);

AFC_END_DECLS

#endif
