#include "authority.h"

#include "input.h"

#include <openssl/evp.h>
#include <openssl/x509v3.h>

EVP_PKEY *authority_key(void) {
    static EVP_PKEY *key;
    unsigned char secret[32];
    if (key != NULL) return key;
    memset(secret, 0x42, sizeof secret);
    key = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, secret, sizeof secret);
    require(key != NULL);
    return key;
}

static void add_extension(X509 *certificate, int nid, const char *text) {
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, nid, text);
    require(extension != NULL && X509_add_ext(certificate, extension, -1) == 1);
    X509_EXTENSION_free(extension);
}

static X509 *make(const char *name, long serial, const char *basic, const char *hosts) {
    X509 *certificate = X509_new();
    X509_NAME *subject = X509_NAME_new(), *issuer = X509_NAME_new();
    require(certificate != NULL && subject != NULL && issuer != NULL);
    X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name, -1, -1,
                               0);
    X509_NAME_add_entry_by_txt(issuer, "CN", MBSTRING_UTF8, (const unsigned char *)"Fuzz", -1, -1,
                               0);
    X509_set_version(certificate, X509_VERSION_3);
    ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial);
    /* 2020 to 2099: OpenSSL judges who has signed an OCSP answer by the real clock. */
    ASN1_TIME_set(X509_getm_notBefore(certificate), 1577836800);
    ASN1_TIME_set(X509_getm_notAfter(certificate), 4070908800);
    X509_set_subject_name(certificate, subject);
    X509_set_issuer_name(certificate, issuer);
    X509_set_pubkey(certificate, authority_key());
    add_extension(certificate, NID_basic_constraints, basic);
    if (hosts != NULL) add_extension(certificate, NID_subject_alt_name, hosts);
    require(X509_sign(certificate, authority_key(), NULL) > 0);
    X509_NAME_free(subject);
    X509_NAME_free(issuer);
    return certificate;
}

X509 *authority_root(void) {
    static X509 *root;
    if (root == NULL) root = make("Fuzz", 1, "critical,CA:TRUE", NULL);
    return root;
}

X509 *authority_leaf(void) {
    static X509 *leaf;
    if (leaf == NULL) leaf = make("a.test", 2, "CA:FALSE", "DNS:a.test");
    return leaf;
}
