#include "certificate/certificate.h"

#include "base/bytes.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_HOSTS "localhost,127.0.0.1,::1"

static bool set_serial(X509 *x509) {
    uint8_t bytes[16];
    if (RAND_bytes(bytes, sizeof bytes) != 1) return false;
    bytes[0] = (bytes[0] & 0x7F) | 0x40;
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    bool done = number != NULL && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509)) != NULL;
    BN_free(number);
    return done;
}

bool afts__set_time(ASN1_TIME *field, time_t now, int64_t from_now_s) {
    return X509_time_adj_ex(field, (int)(from_now_s / AFTS__DAY_S),
                            (long)(from_now_s % AFTS__DAY_S), &now) != NULL;
}

/** Reads the clock once for both ends: a second may begin between two readings. */
static bool set_validity(X509 *x509, const afts_cert_options *options) {
    bool given = options->not_before_s != 0 || options->not_after_s != 0;
    time_t now = time(NULL);
    return afts__set_time(X509_getm_notBefore(x509), now,
                          given ? options->not_before_s : -AFTS__DAY_S) &&
           afts__set_time(X509_getm_notAfter(x509), now,
                          given ? options->not_after_s : 365 * AFTS__DAY_S);
}

static bool set_subject(X509 *x509, const afts_cert_options *options, const char *hosts) {
    char name[65];
    const char *common = options->common_name;
    if (common == NULL) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(hosts, ","), hosts);
        common = options->authority ? "Test Authority" : *name ? name : "Test";
    }
    return X509_NAME_add_entry_by_txt(X509_get_subject_name(x509), "CN", MBSTRING_UTF8,
                                      (const unsigned char *)common, -1, -1, 0);
}

static bool add_extension(X509 *x509, X509 *issuer, int nid, const char *value) {
    X509V3_CTX context;
    X509V3_set_ctx(&context, issuer, x509, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
    bool done = extension != NULL && X509_add_ext(x509, extension, -1);
    X509_EXTENSION_free(extension);
    return done;
}

static bool add_host(GENERAL_NAMES *names, const char *host) {
    unsigned char address[16];
    char octets[256];
    size_t octet_count = 0;
    bool is_name = strncmp(host, "dns:", 4) == 0;
    if (is_name) host += 4;
    for (const char *at = host; *at && octet_count < sizeof octets; at++) {
        bool nul = at[0] == '\\' && at[1] == '0';
        octets[octet_count++] = nul ? '\0' : *at;
        at += nul;
    }
    bool v4 = !is_name && inet_pton(AF_INET, host, address) == 1;
    bool v6 = !is_name && !v4 && inet_pton(AF_INET6, host, address) == 1;
    ASN1_STRING *value = v4 || v6 ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
    GENERAL_NAME *name = GENERAL_NAME_new();
    const void *bytes = v4 || v6 ? (const void *)address : octets;
    int size = v4 ? 4 : v6 ? 16 : (int)octet_count;
    if (value == NULL || name == NULL || !ASN1_STRING_set(value, bytes, size)) {
        ASN1_STRING_free(value);
        GENERAL_NAME_free(name);
        return false;
    }
    GENERAL_NAME_set0_value(name, v4 || v6 ? GEN_IPADD : GEN_DNS, value);
    if (!sk_GENERAL_NAME_push(names, name)) {
        GENERAL_NAME_free(name);
        return false;
    }
    return true;
}

static bool add_hosts(X509 *x509, const char *hosts) {
    GENERAL_NAMES *names = sk_GENERAL_NAME_new_null();
    bool done = names != NULL;
    while (done && *hosts) {
        size_t size = strcspn(hosts, ",");
        char *host = afts__copy(hosts, size);
        done = host != NULL && add_host(names, host);
        free(host);
        hosts += size + (hosts[size] == ',');
    }
    if (done && sk_GENERAL_NAME_num(names) > 0) {
        done = X509_add1_ext_i2d(x509, NID_subject_alt_name, names, 0, 0) == 1;
    }
    GENERAL_NAMES_free(names);
    return done;
}

static bool add_extensions(X509 *x509, X509 *issuer, const afts_cert_options *options,
                           const char *hosts) {
    bool done = add_extension(x509, issuer, NID_subject_key_identifier, "hash") &&
                add_extension(x509, issuer, NID_authority_key_identifier, "keyid");
    if (options->authority) {
        const char *constraints = options->last_authority ? "critical,CA:TRUE,pathlen:0"
                                                          : "critical,CA:TRUE";
        return done && add_extension(x509, issuer, NID_basic_constraints, constraints) &&
               add_extension(x509, issuer, NID_key_usage,
                             "critical,keyCertSign,cRLSign,digitalSignature") &&
               (options->name_constraints == NULL ||
                add_extension(x509, issuer, NID_name_constraints, options->name_constraints));
    }
    return done && add_extension(x509, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(x509, issuer, NID_key_usage,
                         "critical,digitalSignature,keyEncipherment") &&
           add_extension(x509, issuer, NID_ext_key_usage,
                         options->ocsp_signer ? "OCSPSigning"
                         : options->client    ? "clientAuth"
                                              : "serverAuth") &&
           (!options->must_staple ||
            add_extension(x509, issuer, NID_tlsfeature, "status_request")) &&
           add_hosts(x509, hosts);
}

static void forge(X509 *x509) {
    const ASN1_BIT_STRING *signature = NULL;
    X509_get0_signature(&signature, NULL, x509);
    unsigned char *bytes = (unsigned char *)(uintptr_t)ASN1_STRING_get0_data(signature);
    bytes[ASN1_STRING_length(signature) - 1] ^= 1;
}

static bool fill(afts_cert *cert, const afts_cert_options *options, const afts_cert *issuer) {
    X509 *x509 = cert->x509;
    X509 *above = issuer != NULL ? issuer->x509 : x509;
    const char *hosts = options->hosts != NULL ? options->hosts : DEFAULT_HOSTS;
    const EVP_MD *digest = options->digest != NULL ? EVP_get_digestbyname(options->digest)
                                                   : EVP_sha256();
    bool done = digest != NULL && X509_set_version(x509, X509_VERSION_3) && set_serial(x509) &&
                set_validity(x509, options) && set_subject(x509, options, hosts) &&
                X509_set_issuer_name(x509, X509_get_subject_name(above)) &&
                X509_set_pubkey(x509, cert->key) && add_extensions(x509, above, options, hosts) &&
                X509_sign(x509, issuer != NULL ? issuer->key : cert->key, digest) > 0;
    if (done && options->forged) forge(x509);
    return done;
}

static EVP_PKEY *make_key(const afts_cert_options *options) {
    if (options->key_of != NULL) {
        EVP_PKEY_up_ref(options->key_of->key);
        return options->key_of->key;
    }
    unsigned bits = options->rsa_bits ? options->rsa_bits : 2048;
    return options->rsa ? EVP_RSA_gen(bits) : EVP_EC_gen("P-256");
}

char *afts__copy_bio(BIO *bio) {
    char *bytes = NULL;
    long size = BIO_get_mem_data(bio, &bytes);
    return size > 0 ? afts__copy(bytes, (size_t)size) : NULL;
}

static bool encode_pem(afts_cert *cert) {
    BIO *bio = BIO_new(BIO_s_mem());
    if (bio != NULL && PEM_write_bio_X509(bio, cert->x509)) cert->pem = afts__copy_bio(bio);
    BIO_free(bio);
    bio = BIO_new(BIO_s_mem());
    if (bio != NULL && PEM_write_bio_PKCS8PrivateKey(bio, cert->key, NULL, NULL, 0, NULL, NULL)) {
        cert->key_pem = afts__copy_bio(bio);
    }
    BIO_free(bio);
    return cert->pem != NULL && cert->key_pem != NULL;
}

/** A root isn't presented: clients have it, or don't trust it. */
static bool encode_chain(afts_cert *cert, const afts_cert *issuer) {
    afts__buffer chain = {0};
    const char *above = issuer != NULL && !issuer->is_self_signed ? issuer->chain_pem : "";
    afts__buffer_append_text(&chain, cert->pem);
    afts__buffer_append_text(&chain, above);
    if (!chain.is_invalid) cert->chain_pem = afts__copy(chain.bytes, chain.size);
    afts__buffer_clear(&chain);
    return cert->chain_pem != NULL;
}

uint8_t *afts__take_der(unsigned char *der, int size, size_t *size_out) {
    uint8_t *bytes = size > 0 ? afts__copy(der, (size_t)size) : NULL;
    *size_out = bytes != NULL ? (size_t)size : 0;
    OPENSSL_free(der);
    return bytes;
}

static bool encode_der(afts_cert *cert) {
    unsigned char *der = NULL;
    int size = i2d_X509(cert->x509, &der);
    cert->der = afts__take_der(der, size, &cert->der_size);
    unsigned char *spki = NULL;
    int spki_size = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert->x509), &spki);
    bool hashed = spki_size > 0 && EVP_Digest(spki, (size_t)spki_size, cert->spki_sha256, NULL,
                                              EVP_sha256(), NULL) == 1;
    OPENSSL_free(spki);
    return cert->der != NULL && hashed;
}

void afts__openssl_init(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

afts_cert *afts_cert_new(const afts_cert_options *options, const afts_cert *issuer) {
    afts__openssl_init();
    afts_cert_options defaults = {0};
    if (options == NULL) options = &defaults;
    afts_cert *cert = calloc(1, sizeof *cert);
    if (cert == NULL) return NULL;
    cert->is_self_signed = issuer == NULL;
    cert->x509 = X509_new();
    cert->key = make_key(options);
    if (cert->x509 == NULL || cert->key == NULL || !fill(cert, options, issuer) ||
        !encode_pem(cert) || !encode_chain(cert, issuer) || !encode_der(cert)) {
        afts_cert_free(cert);
        ERR_clear_error();
        return NULL;
    }
    return cert;
}

void afts_cert_free(afts_cert *cert) {
    if (cert == NULL) return;
    X509_free(cert->x509);
    EVP_PKEY_free(cert->key);
    free(cert->pem);
    free(cert->chain_pem);
    free(cert->key_pem);
    free(cert->der);
    free(cert);
}

const char *afts_cert_pem(const afts_cert *cert) {
    return cert->pem;
}

const char *afts_cert_chain_pem(const afts_cert *cert) {
    return cert->chain_pem;
}

const char *afts_cert_key_pem(const afts_cert *cert) {
    return cert->key_pem;
}

const uint8_t *afts_cert_der(const afts_cert *cert, size_t *size) {
    *size = cert->der_size;
    return cert->der;
}

const uint8_t *afts_cert_spki_sha256(const afts_cert *cert) {
    return cert->spki_sha256;
}

uint8_t *afts_cert_pkcs12(const afts_cert *cert, const char *password, size_t *size) {
    unsigned char *der = NULL;
    PKCS12 *file = PKCS12_create(password, "test", cert->key, cert->x509, NULL, 0, 0, 0, 0, 0);
    int der_size = file != NULL ? i2d_PKCS12(file, &der) : 0;
    PKCS12_free(file);
    ERR_clear_error();
    return afts__take_der(der, der_size, size);
}

char *afts_cert_encrypted_key_pem(const afts_cert *cert, const char *password) {
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (bio != NULL && PEM_write_bio_PKCS8PrivateKey(bio, cert->key, EVP_aes_256_cbc(), password,
                                                     (int)strlen(password), NULL, NULL)) {
        text = afts__copy_bio(bio);
    }
    BIO_free(bio);
    ERR_clear_error();
    return text;
}

void afts_bytes_free(void *bytes) {
    free(bytes);
}
