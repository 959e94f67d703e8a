/* One octet that chooses a policy and whether to sign again, then certificates in DER, the length of each in two octets
   before it. Whatever they are, there is a verdict and a report, whose texts are lines. */
#include "authority.h"
#include "input.h"
#include "message/fields.h"

#include <afcore/trust.h>
#include <openssl/err.h>

enum { MOST_CERTIFICATES = 8, POLICIES = 4 };

static void make_policy(afc_trust_policy **out, unsigned kind) {
    static const char *const pins[] = {"sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="};
    unsigned char *root = NULL;
    int size = i2d_X509(authority_root(), &root);
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    options.anchors = (afc_slice){(const char *)root, (size_t)size};
    options.time_s = AUTHORITY_NOW_S;
    options.everywhere.allow_invalid_certificates = kind % 2 != 0;
    options.everywhere.skip_host_check = kind == 1;
    if (kind == 2) {
        options.everywhere.mode = AFC_PINNING_PUBLIC_KEY;
        options.everywhere.pins = pins;
        options.everywhere.pin_count = 1;
        options.everywhere.report_only = true;
    }
    if (kind == 3) {
        options.everywhere.mode = AFC_PINNING_CERTIFICATE;
        options.everywhere.certificates = options.anchors;
    }
    require(afc_trust_policy_new(out, &options, NULL) == AFC_OK);
    OPENSSL_free(root);
}

/** The same certificate by the authority; where it can't be read, as it was. Yours, OPENSSL_free(). */
static afc_slice sign_again(afc_slice given) {
    const unsigned char *at = (const unsigned char *)given.bytes;
    unsigned char *signed_again = NULL;
    X509 *certificate = d2i_X509(NULL, &at, (long)given.size);
    int size = 0;
    if (certificate != NULL &&
        X509_set_issuer_name(certificate, X509_get_subject_name(authority_root())) == 1 &&
        X509_sign(certificate, authority_key(), NULL) > 0) {
        size = i2d_X509(certificate, &signed_again);
    }
    X509_free(certificate);
    ERR_clear_error();
    if (size > 0) return (afc_slice){(const char *)signed_again, (size_t)size};
    OPENSSL_free(signed_again);
    char *copy = OPENSSL_memdup(given.bytes, given.size);
    return (afc_slice){copy, copy != NULL ? given.size : 0};
}

static void check_text(const char *text) {
    require(text != NULL && strchr(text, '\t') == NULL && afc__may_be_sent(afc_slice_of(text)));
}

static void check_report(const afc_trust_report *report, size_t count) {
    check_text(report->text);
    require(report->chain_count >= 1 && report->chain_count <= count + 1);
    for (size_t i = 0; i < report->chain_count; i++) {
        const afc_trust_certificate *certificate = &report->chain[i];
        check_text(certificate->subject);
        check_text(certificate->issuer);
        check_text(certificate->serial);
        check_text(certificate->key);
        check_text(certificate->signature);
        for (size_t k = 0; k < certificate->name_count; k++) check_text(certificate->names[k]);
        require(certificate->der.size > 0 && strlen(certificate->fingerprint) == 64);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static afc_trust_policy *policies[POLICIES];
    static const char *const hosts[] = {"a.test", "10.0.0.1", "::1", NULL};
    afc_slice chain[MOST_CERTIFICATES];
    size_t count = 0;
    input input = {data, size};
    unsigned choice = take_octet(&input);
    afc_trust_policy **policy = &policies[choice % POLICIES];
    if (*policy == NULL) make_policy(policy, choice % POLICIES);
    while (input.size > 0 && count < MOST_CERTIFICATES) {
        size_t wanted = take_octet(&input) << 8;
        wanted |= take_octet(&input);
        afc_slice given = take_bytes(&input, wanted);
        if (given.size == 0) break;
        /* Those that aren't signed again are copied too: a byte too far is then seen. */
        bool is_signed = (choice & 4 << (count > 3 ? 3 : count)) != 0;
        char *copy = is_signed ? NULL : OPENSSL_memdup(given.bytes, given.size);
        chain[count++] = is_signed ? sign_again(given) : (afc_slice){copy, given.size};
    }
    afc_trust_report *report = NULL;
    afc_status status = afc_trust_evaluate(&report, *policy, chain, count, hosts[choice >> 6],
                                           NULL);
    require(status == AFC_OK || status == AFC_EUNTRUSTED || status == AFC_EINVAL);
    require((report != NULL) == (status != AFC_EINVAL));
    if (report != NULL) {
        require(report->is_accepted == (status == AFC_OK));
        check_report(report, count);
    }
    afc_trust_report_free(report);
    for (size_t i = 0; i < count; i++) OPENSSL_free((void *)(uintptr_t)chain[i].bytes);
    return 0;
}
