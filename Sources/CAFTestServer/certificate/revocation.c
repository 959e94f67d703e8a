#include "certificate/certificate.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/pem.h>

/** What a response says, and who signs it. */
typedef struct ocsp_statement {
    const afts_cert *cert, *issuer, *signer;
    afts_ocsp_status status;
    ASN1_TIME *this_update, *next_update; /**< `next_update` NULL: none. */
} ocsp_statement;

static int ocsp_status_number(afts_ocsp_status status) {
    return status == AFTS_OCSP_REVOKED   ? V_OCSP_CERTSTATUS_REVOKED
           : status == AFTS_OCSP_UNKNOWN ? V_OCSP_CERTSTATUS_UNKNOWN
                                         : V_OCSP_CERTSTATUS_GOOD;
}

static bool add_status(OCSP_BASICRESP *basic, const EVP_MD *digest, afts_ocsp_status status,
                       const ocsp_statement *said) {
    OCSP_CERTID *id = OCSP_cert_to_id(digest, said->cert->x509, said->issuer->x509);
    bool revoked = status == AFTS_OCSP_REVOKED;
    bool done = id != NULL &&
                OCSP_basic_add1_status(basic, id, ocsp_status_number(status),
                                       revoked ? OCSP_REVOKED_STATUS_KEYCOMPROMISE : 0,
                                       revoked ? said->this_update : NULL, said->this_update,
                                       said->next_update) != NULL;
    OCSP_CERTID_free(id);
    return done;
}

static bool fill_ocsp(OCSP_BASICRESP *basic, const ocsp_statement *said) {
    bool contradicts = said->status == AFTS_OCSP_CONTRADICTION;
    bool is_by_sha256 = said->status == AFTS_OCSP_GOOD_BY_SHA256;
    return add_status(basic, is_by_sha256 ? EVP_sha256() : EVP_sha1(),
                      contradicts ? AFTS_OCSP_REVOKED : said->status, said) &&
           (!contradicts || add_status(basic, EVP_sha256(), AFTS_OCSP_GOOD, said)) &&
           OCSP_basic_sign(basic, said->signer->x509, said->signer->key, EVP_sha256(), NULL, 0);
}

static uint8_t *encode_ocsp(OCSP_BASICRESP *basic, size_t *size) {
    unsigned char *der = NULL;
    OCSP_RESPONSE *response = OCSP_response_create(OCSP_RESPONSE_STATUS_SUCCESSFUL, basic);
    int der_size = response != NULL ? i2d_OCSP_RESPONSE(response, &der) : 0;
    OCSP_RESPONSE_free(response);
    return afts__take_der(der, der_size, size);
}

/** Both times 0: from an hour ago for a day. */
static uint8_t *make_ocsp(ocsp_statement said, int64_t this_update_s, int64_t next_update_s,
                          size_t *size) {
    bool given = this_update_s != 0 || next_update_s != 0;
    bool ends = next_update_s != AFTS_OCSP_NO_END;
    OCSP_BASICRESP *basic = OCSP_BASICRESP_new();
    ASN1_TIME *this_update = ASN1_TIME_new(), *next_update = ASN1_TIME_new();
    uint8_t *bytes = NULL;
    time_t now = time(NULL);
    said.this_update = this_update;
    said.next_update = ends ? next_update : NULL;
    *size = 0;
    if (basic != NULL && this_update != NULL && next_update != NULL &&
        afts__set_time(this_update, now, given ? this_update_s : -3600) &&
        afts__set_time(next_update, now, given && ends ? next_update_s : AFTS__DAY_S) &&
        fill_ocsp(basic, &said)) {
        bytes = encode_ocsp(basic, size);
    }
    ASN1_TIME_free(this_update);
    ASN1_TIME_free(next_update);
    OCSP_BASICRESP_free(basic);
    ERR_clear_error();
    return bytes;
}

uint8_t *afts_cert_ocsp(const afts_cert *cert, const afts_cert *issuer, afts_ocsp_status status,
                        int64_t this_update_s, int64_t next_update_s, size_t *size) {
    ocsp_statement said = {.cert = cert, .issuer = issuer, .signer = issuer, .status = status};
    return make_ocsp(said, this_update_s, next_update_s, size);
}

uint8_t *afts_cert_ocsp_signed_by(const afts_cert *signer, const afts_cert *cert,
                                  const afts_cert *issuer, size_t *size) {
    ocsp_statement said = {
        .cert = cert, .issuer = issuer, .signer = signer, .status = AFTS_OCSP_GOOD};
    return make_ocsp(said, 0, 0, size);
}

static bool fill_crl(X509_CRL *crl, const afts_cert *issuer, const afts_cert *revoked,
                     bool expired) {
    ASN1_TIME *this_update = ASN1_TIME_new();
    ASN1_TIME *next_update = ASN1_TIME_new();
    X509_REVOKED *entry = revoked != NULL ? X509_REVOKED_new() : NULL;
    time_t now = time(NULL);
    bool done = this_update != NULL && next_update != NULL &&
                afts__set_time(this_update, now, expired ? -AFTS__DAY_S : -3600) &&
                afts__set_time(next_update, now, expired ? -3600 : AFTS__DAY_S) &&
                X509_CRL_set_version(crl, X509_CRL_VERSION_2) &&
                X509_CRL_set_issuer_name(crl, X509_get_subject_name(issuer->x509)) &&
                X509_CRL_set1_lastUpdate(crl, this_update) &&
                X509_CRL_set1_nextUpdate(crl, next_update) && (revoked == NULL || entry != NULL);
    if (done && revoked != NULL) {
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
    if (crl != NULL && bio != NULL && fill_crl(crl, issuer, revoked, expired) &&
        PEM_write_bio_X509_CRL(bio, crl)) {
        text = afts__copy_bio(bio);
    }
    BIO_free(bio);
    X509_CRL_free(crl);
    ERR_clear_error();
    return text;
}
