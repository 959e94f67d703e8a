#include "internal.h"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DAY_S ((int64_t)86400)
#define DEFAULT_HOSTS "localhost,127.0.0.1,::1"

struct afts_cert {
    X509 *x509;
    EVP_PKEY *key;
    bool self_signed;
    char *pem;
    char *chain_pem;
    char *key_pem;
    uint8_t *der;
    size_t der_len;
    uint8_t spki_sha256[32];
};

static bool set_serial(X509 *x509) {
    uint8_t bytes[16];
    if (RAND_bytes(bytes, sizeof bytes) != 1) {
        return false;
    }
    bytes[0] = (bytes[0] & 0x7F) | 0x40;
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    bool done = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(x509));
    BN_free(number);
    return done;
}

static bool set_time(ASN1_TIME *field, time_t now, int64_t from_now_s) {
    return X509_time_adj_ex(field, (int)(from_now_s / DAY_S), (long)(from_now_s % DAY_S), &now);
}

// Both ends from one reading of the clock: a second may begin between two.
static bool set_validity(X509 *x509, const afts_cert_options *options) {
    bool given = options->not_before_s != 0 || options->not_after_s != 0;
    time_t now = time(NULL);
    return set_time(X509_getm_notBefore(x509), now, given ? options->not_before_s : -DAY_S) &&
           set_time(X509_getm_notAfter(x509), now, given ? options->not_after_s : 365 * DAY_S);
}

static bool set_subject(X509 *x509, const afts_cert_options *options, const char *hosts) {
    char name[65];
    const char *common = options->common_name;
    if (!common) {
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
    bool done = extension && X509_add_ext(x509, extension, -1);
    X509_EXTENSION_free(extension);
    return done;
}

static bool add_host(GENERAL_NAMES *names, const char *host) {
    unsigned char address[16];
    char octets[256];
    size_t octet_count = 0;
    for (const char *at = host; *at && octet_count < sizeof octets; at++) {
        bool nul = at[0] == '\\' && at[1] == '0';
        octets[octet_count++] = nul ? '\0' : *at;
        at += nul;
    }
    bool v4 = inet_pton(AF_INET, host, address) == 1;
    bool v6 = !v4 && inet_pton(AF_INET6, host, address) == 1;
    ASN1_STRING *value = v4 || v6 ? ASN1_OCTET_STRING_new() : ASN1_IA5STRING_new();
    GENERAL_NAME *name = GENERAL_NAME_new();
    const void *bytes = v4 || v6 ? (const void *)address : octets;
    int len = v4 ? 4 : v6 ? 16 : (int)octet_count;
    if (!value || !name || !ASN1_STRING_set(value, bytes, len)) {
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
        size_t len = strcspn(hosts, ",");
        char *host = afts__copy(hosts, len);
        done = host && add_host(names, host);
        free(host);
        hosts += len + (hosts[len] == ',');
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
               (!options->name_constraints ||
                add_extension(x509, issuer, NID_name_constraints, options->name_constraints));
    }
    return done && add_extension(x509, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(x509, issuer, NID_key_usage,
                         "critical,digitalSignature,keyEncipherment") &&
           add_extension(x509, issuer, NID_ext_key_usage,
                         options->client ? "clientAuth" : "serverAuth") &&
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
    X509 *above = issuer ? issuer->x509 : x509;
    const char *hosts = options->hosts ? options->hosts : DEFAULT_HOSTS;
    const EVP_MD *digest = options->digest ? EVP_get_digestbyname(options->digest) : EVP_sha256();
    bool done = digest && X509_set_version(x509, X509_VERSION_3) && set_serial(x509) &&
                set_validity(x509, options) && set_subject(x509, options, hosts) &&
                X509_set_issuer_name(x509, X509_get_subject_name(above)) &&
                X509_set_pubkey(x509, cert->key) && add_extensions(x509, above, options, hosts) &&
                X509_sign(x509, issuer ? issuer->key : cert->key, digest) > 0;
    if (done && options->forged) {
        forge(x509);
    }
    return done;
}

static EVP_PKEY *make_key(const afts_cert_options *options) {
    if (options->key_of) {
        EVP_PKEY_up_ref(options->key_of->key);
        return options->key_of->key;
    }
    unsigned bits = options->rsa_bits ? options->rsa_bits : 2048;
    return options->rsa ? EVP_RSA_gen(bits) : EVP_EC_gen("P-256");
}

static char *text_of(BIO *bio) {
    char *bytes = NULL;
    long len = BIO_get_mem_data(bio, &bytes);
    return len > 0 ? afts__copy(bytes, (size_t)len) : NULL;
}

static bool encode_pem(afts_cert *cert) {
    BIO *bio = BIO_new(BIO_s_mem());
    if (bio && PEM_write_bio_X509(bio, cert->x509)) {
        cert->pem = text_of(bio);
    }
    BIO_free(bio);
    bio = BIO_new(BIO_s_mem());
    if (bio && PEM_write_bio_PKCS8PrivateKey(bio, cert->key, NULL, NULL, 0, NULL, NULL)) {
        cert->key_pem = text_of(bio);
    }
    BIO_free(bio);
    return cert->pem && cert->key_pem;
}

// A root isn't presented: clients have it, or don't trust it.
static bool encode_chain(afts_cert *cert, const afts_cert *issuer) {
    afts__buf chain = {0};
    const char *above = issuer && !issuer->self_signed ? issuer->chain_pem : "";
    if (afts__buf_text(&chain, cert->pem) == 0 && afts__buf_text(&chain, above) == 0) {
        cert->chain_pem = afts__copy(chain.data, chain.len);
    }
    afts__buf_free(&chain);
    return cert->chain_pem != NULL;
}

static bool encode_der(afts_cert *cert) {
    unsigned char *der = NULL;
    int len = i2d_X509(cert->x509, &der);
    if (len > 0) {
        cert->der = afts__copy(der, (size_t)len);
        cert->der_len = (size_t)len;
    }
    OPENSSL_free(der);
    unsigned char *spki = NULL;
    int spki_len = i2d_X509_PUBKEY(X509_get_X509_PUBKEY(cert->x509), &spki);
    bool hashed = spki_len > 0 && EVP_Digest(spki, (size_t)spki_len, cert->spki_sha256, NULL,
                                             EVP_sha256(), NULL) == 1;
    OPENSSL_free(spki);
    return cert->der && hashed;
}

/* A client's threads may still be using it when the test process exits. */
void afts__openssl_begin(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}

afts_cert *afts_cert_new(const afts_cert_options *options, const afts_cert *issuer) {
    afts__openssl_begin();
    afts_cert_options defaults = {0};
    options = options ? options : &defaults;
    afts_cert *cert = calloc(1, sizeof *cert);
    if (!cert) {
        return NULL;
    }
    cert->self_signed = !issuer;
    cert->x509 = X509_new();
    cert->key = make_key(options);
    if (!cert->x509 || !cert->key || !fill(cert, options, issuer) || !encode_pem(cert) ||
        !encode_chain(cert, issuer) || !encode_der(cert)) {
        afts_cert_free(cert);
        ERR_clear_error();
        return NULL;
    }
    return cert;
}

void afts_cert_free(afts_cert *cert) {
    if (cert) {
        X509_free(cert->x509);
        EVP_PKEY_free(cert->key);
        free(cert->pem);
        free(cert->chain_pem);
        free(cert->key_pem);
        free(cert->der);
        free(cert);
    }
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

const uint8_t *afts_cert_der(const afts_cert *cert, size_t *len) {
    *len = cert->der_len;
    return cert->der;
}

const uint8_t *afts_cert_spki_sha256(const afts_cert *cert) {
    return cert->spki_sha256;
}

static int ocsp_status_number(afts_ocsp_status status) {
    return status == AFTS_OCSP_GOOD      ? V_OCSP_CERTSTATUS_GOOD
           : status == AFTS_OCSP_REVOKED ? V_OCSP_CERTSTATUS_REVOKED
                                         : V_OCSP_CERTSTATUS_UNKNOWN;
}

typedef struct ocsp_times {
    ASN1_TIME *this_update, *next_update;
} ocsp_times;

static bool add_status(OCSP_BASICRESP *basic, OCSP_CERTID *id, afts_ocsp_status status,
                       const ocsp_times *times) {
    bool revoked = status == AFTS_OCSP_REVOKED;
    bool done = id && OCSP_basic_add1_status(basic, id, ocsp_status_number(status),
                                             revoked ? OCSP_REVOKED_STATUS_KEYCOMPROMISE : 0,
                                             revoked ? times->this_update : NULL,
                                             times->this_update, times->next_update);
    OCSP_CERTID_free(id);
    return done;
}

static bool fill_ocsp(OCSP_BASICRESP *basic, const afts_cert *cert, const afts_cert *issuer,
                      afts_ocsp_status status, const ocsp_times *times) {
    bool contradicts = status == AFTS_OCSP_CONTRADICTION;
    return add_status(basic, OCSP_cert_to_id(EVP_sha1(), cert->x509, issuer->x509),
                      contradicts ? AFTS_OCSP_REVOKED : status, times) &&
           (!contradicts ||
            add_status(basic, OCSP_cert_to_id(EVP_sha256(), cert->x509, issuer->x509),
                       AFTS_OCSP_GOOD, times)) &&
           OCSP_basic_sign(basic, issuer->x509, issuer->key, EVP_sha256(), NULL, 0);
}

static uint8_t *encode_ocsp(OCSP_BASICRESP *basic, size_t *len) {
    unsigned char *der = NULL;
    OCSP_RESPONSE *response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
    int der_len = response ? i2d_OCSP_RESPONSE(response, &der) : 0;
    uint8_t *bytes = der_len > 0 ? afts__copy(der, (size_t)der_len) : NULL;
    *len = bytes ? (size_t)der_len : 0;
    OPENSSL_free(der);
    OCSP_RESPONSE_free(response);
    return bytes;
}

uint8_t *afts_cert_ocsp(const afts_cert *cert, const afts_cert *issuer, afts_ocsp_status status,
                        int64_t this_update_s, int64_t next_update_s, size_t *len) {
    bool given = this_update_s != 0 || next_update_s != 0;
    OCSP_BASICRESP *basic = OCSP_BASICRESP_new();
    ocsp_times times = {ASN1_TIME_new(), ASN1_TIME_new()};
    uint8_t *bytes = NULL;
    time_t now = time(NULL);
    *len = 0;
    if (basic && times.this_update && times.next_update &&
        set_time(times.this_update, now, given ? this_update_s : -3600) &&
        set_time(times.next_update, now, given ? next_update_s : DAY_S) &&
        fill_ocsp(basic, cert, issuer, status, &times)) {
        bytes = encode_ocsp(basic, len);
    }
    ASN1_TIME_free(times.this_update);
    ASN1_TIME_free(times.next_update);
    OCSP_BASICRESP_free(basic);
    ERR_clear_error();
    return bytes;
}

static bool fill_crl(X509_CRL *crl, const afts_cert *issuer, const afts_cert *revoked,
                     bool expired) {
    ASN1_TIME *this_update = ASN1_TIME_new();
    ASN1_TIME *next_update = ASN1_TIME_new();
    X509_REVOKED *entry = revoked ? X509_REVOKED_new() : NULL;
    time_t now = time(NULL);
    bool done = this_update && next_update &&
                set_time(this_update, now, expired ? -DAY_S : -3600) &&
                set_time(next_update, now, expired ? -3600 : DAY_S) &&
                X509_CRL_set_version(crl, X509_CRL_VERSION_2) &&
                X509_CRL_set_issuer_name(crl, X509_get_subject_name(issuer->x509)) &&
                X509_CRL_set1_lastUpdate(crl, this_update) &&
                X509_CRL_set1_nextUpdate(crl, next_update) && (!revoked || entry);
    if (done && revoked) {
        done = X509_REVOKED_set_serialNumber(entry, X509_get_serialNumber(revoked->x509)) &&
               X509_REVOKED_set_revocationDate(entry, this_update) &&
               X509_CRL_add0_revoked(crl, entry);
        entry = done ? NULL : entry;
    }
    X509_REVOKED_free(entry);
    ASN1_TIME_free(this_update);
    ASN1_TIME_free(next_update);
    return done && X509_CRL_sort(crl) && X509_CRL_sign(crl, issuer->key, EVP_sha256()) > 0;
}

char *afts_cert_crl(const afts_cert *issuer, const afts_cert *revoked, bool expired) {
    X509_CRL *crl = X509_CRL_new();
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (crl && bio && fill_crl(crl, issuer, revoked, expired) && PEM_write_bio_X509_CRL(bio, crl)) {
        text = text_of(bio);
    }
    BIO_free(bio);
    X509_CRL_free(crl);
    ERR_clear_error();
    return text;
}

uint8_t *afts_cert_pkcs12(const afts_cert *cert, const char *password, size_t *len) {
    unsigned char *der = NULL;
    PKCS12 *file = PKCS12_create(password, "test", cert->key, cert->x509, NULL, 0, 0, 0, 0, 0);
    int der_len = file ? i2d_PKCS12(file, &der) : 0;
    uint8_t *bytes = der_len > 0 ? afts__copy(der, (size_t)der_len) : NULL;
    *len = bytes ? (size_t)der_len : 0;
    OPENSSL_free(der);
    PKCS12_free(file);
    ERR_clear_error();
    return bytes;
}

char *afts_cert_encrypted_key_pem(const afts_cert *cert, const char *password) {
    BIO *bio = BIO_new(BIO_s_mem());
    char *text = NULL;
    if (bio && PEM_write_bio_PKCS8PrivateKey(bio, cert->key, EVP_aes_256_cbc(), password,
                                             (int)strlen(password), NULL, NULL)) {
        text = text_of(bio);
    }
    BIO_free(bio);
    ERR_clear_error();
    return text;
}

void afts_bytes_free(void *bytes) {
    free(bytes);
}
