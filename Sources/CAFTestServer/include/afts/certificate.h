/** Certificates made in memory, for TLS tests. */
#ifndef AFTS_CERTIFICATE_H
#define AFTS_CERTIFICATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A certificate with its private key and the chain above it. Immutable. */
typedef struct afts_cert afts_cert;

/**
 * What a certificate says. A zeroed struct is a leaf for localhost, 127.0.0.1 and ::1, valid from
 * a day ago for a year.
 */
typedef struct afts_cert_options {
    /** Subject common name. NULL: the first host. */
    const char *common_name;
    /**
     * Subject alternative names separated by commas: names, wildcards, IP addresses; a 0 after a backslash stands for
     * NUL. "dns:192.0.2.7" is an address as a DNS name. NULL: "localhost,127.0.0.1,::1". "": no alternative name at
     * all. Ignored for an authority.
     */
    const char *hosts;
    /** Validity in seconds from now; both 0: from a day ago for a year. */
    int64_t not_before_s;
    int64_t not_after_s;
    /** May sign other certificates. */
    bool authority;
    /** For TLS clients in place of servers (extended key usage). */
    bool client;
    /** Signs OCSP responses for its issuer (RFC 6960 4.2.2.2), in place of a server's (extended key usage). */
    bool ocsp_signer;
    /** RSA 2048 in place of EC P-256. */
    bool rsa;
    /** Bits of the RSA key. 0: 2048. */
    unsigned rsa_bits;
    /** The digest that is signed, "SHA1" for example. NULL: SHA-256. */
    const char *digest;
    /** An authority that can't make others (path length 0). */
    bool last_authority;
    /** An authority's name constraints in OpenSSL's words: "permitted;DNS:example.test". */
    const char *name_constraints;
    /** The server must staple an OCSP response (RFC 7633). */
    bool must_staple;
    /** A digit of the signature is wrong. */
    bool forged;
    /** Use this certificate's key in place of a fresh one. */
    const afts_cert *key_of;
} afts_cert_options;

/**
 * Makes a certificate with a fresh key. `options` may be NULL; `issuer` NULL makes it self-signed.
 *
 * @return the certificate, freed by afts_cert_free and independent of `issuer`'s life; NULL when
 *         OpenSSL refuses.
 */
afts_cert *afts_cert_new(const afts_cert_options *options, const afts_cert *issuer);

/** Frees a certificate. NULL is fine. */
void afts_cert_free(afts_cert *cert);

/* What is returned below is borrowed from the certificate. */

/** The certificate alone, as PEM. */
const char *afts_cert_pem(const afts_cert *cert);

/**
 * The certificate and its intermediates up to but without the self-signed root, as PEM: what a
 * server presents.
 */
const char *afts_cert_chain_pem(const afts_cert *cert);

/** The private key as PEM (PKCS #8). */
const char *afts_cert_key_pem(const afts_cert *cert);

/** The certificate as DER. */
const uint8_t *afts_cert_der(const afts_cert *cert, size_t *size);

/** SHA-256 of the public key info (what HPKP pinned), 32 bytes. */
const uint8_t *afts_cert_spki_sha256(const afts_cert *cert);

/** What an OCSP responder says about a certificate. */
typedef enum afts_ocsp_status {
    AFTS_OCSP_GOOD = 0,
    AFTS_OCSP_REVOKED = 1,
    AFTS_OCSP_UNKNOWN = 2,
    AFTS_OCSP_CONTRADICTION = 3, /**< Revoked by one form of its id, and good by the other. */
    AFTS_OCSP_GOOD_BY_SHA256 = 4 /**< Good, by an id made with SHA-256 instead of SHA-1. */
} afts_ocsp_status;

#define AFTS_OCSP_NO_END INT64_MAX

/**
 * Makes an OCSP response about `cert`, signed by its `issuer`, for afts_tls.ocsp_response.
 *
 * @param this_update_s,next_update_s seconds from now; both 0: from an hour ago for a day. AFTS_OCSP_NO_END as the
 *     second: the response has no nextUpdate.
 * @return the DER bytes, freed by afts_bytes_free, or NULL when OpenSSL refuses.
 */
uint8_t *afts_cert_ocsp(const afts_cert *cert, const afts_cert *issuer, afts_ocsp_status status,
                        int64_t this_update_s, int64_t next_update_s, size_t *size);

/**
 * Makes such a response about a good certificate, from an hour ago for a day, signed by `signer`, which it contains.
 */
uint8_t *afts_cert_ocsp_signed_by(const afts_cert *signer, const afts_cert *cert,
                                  const afts_cert *issuer, size_t *size);

/**
 * Makes a revocation list of `issuer` as PEM, valid from an hour ago for a day, or, if `expired`,
 * over since an hour. `revoked` is on it, unless NULL.
 *
 * @return the NUL-terminated text, freed by afts_bytes_free, or NULL when OpenSSL refuses.
 */
char *afts_cert_crl(const afts_cert *issuer, const afts_cert *revoked, bool expired);

/**
 * Makes a PKCS #12 file of the certificate and its key.
 *
 * @return the bytes, freed by afts_bytes_free, or NULL when OpenSSL refuses.
 */
uint8_t *afts_cert_pkcs12(const afts_cert *cert, const char *password, size_t *size);

/**
 * The private key as PEM, encrypted.
 *
 * @return the NUL-terminated text, freed by afts_bytes_free, or NULL when OpenSSL refuses.
 */
char *afts_cert_encrypted_key_pem(const afts_cert *cert, const char *password);

/** Frees what the functions above made. NULL is fine. */
void afts_bytes_free(void *bytes);

#ifdef __cplusplus
}
#endif

#endif
