/* One octet that says whether to sign again, then the answer of an OCSP responder for the authority's leaf. Whatever it
   says: only what the authority has signed, for this certificate, is good. */
#include "authority.h"
#include "input.h"
#include "trust/ocsp.h"

#include <openssl/err.h>
#include <openssl/ocsp.h>

static afc_trust_policy *make_policy(void) {
    afc_trust_policy *policy;
    unsigned char *root = NULL;
    int size = i2d_X509(authority_root(), &root);
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    options.anchors = (afc_slice){(const char *)root, (size_t)size};
    options.time_s = AUTHORITY_NOW_S;
    options.ocsp = AFC_OCSP_CHECK;
    require(afc_trust_policy_new(&policy, &options, NULL) == AFC_OK);
    OPENSSL_free(root);
    return policy;
}

static afc__verification *make_evidence(const afc_trust_policy *policy) {
    STACK_OF(X509) *sent = sk_X509_new_null();
    require(sent != NULL && sk_X509_push(sent, authority_leaf()) > 0);
    afc__trust_case trust_case = {"a.test", authority_leaf(), sent};
    afc__verification *verification = afc__trust_evaluate(policy, &trust_case);
    require(verification != NULL && verification->verdict.is_accepted &&
            verification->verdict.is_verified);
    sk_X509_free(sent);
    return verification;
}

/** The same answer by the authority, without certificates; false: it can't be read. */
static bool sign_again(afc_slice given, unsigned char **out, size_t *out_size) {
    const unsigned char *at = (const unsigned char *)given.bytes;
    OCSP_RESPONSE *answer = d2i_OCSP_RESPONSE(NULL, &at, (long)given.size), *again = NULL;
    OCSP_BASICRESP *basic = answer != NULL ? OCSP_response_get1_basic(answer) : NULL;
    int size = 0;
    if (basic != NULL && OCSP_basic_sign(basic, authority_root(), authority_key(), NULL, NULL,
                                         OCSP_NOCERTS | OCSP_NOTIME) == 1) {
        again = OCSP_response_create(OCSP_response_status(answer), basic);
        if (again != NULL) size = i2d_OCSP_RESPONSE(again, out);
    }
    OCSP_RESPONSE_free(again);
    OCSP_BASICRESP_free(basic);
    OCSP_RESPONSE_free(answer);
    ERR_clear_error();
    *out_size = size > 0 ? (size_t)size : 0;
    return size > 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static afc_trust_policy *policy;
    static afc__verification *verification;
    if (policy == NULL) {
        policy = make_policy();
        verification = make_evidence(policy);
    }
    input input = {data, size};
    bool is_signed = take_octet(&input) % 2 != 0;
    afc_slice answer = take_bytes(&input, input.size);
    unsigned char *again = NULL;
    if (is_signed && sign_again(answer, &again, &answer.size)) answer.bytes = (const char *)again;
    afc__verdict before = verification->verdict;
    afc__trust_check_ocsp(policy, verification, answer);
    const afc__verdict *verdict = &verification->verdict;
    require(verdict->is_accepted || verdict->reason == AFC_TRUST_REVOKED ||
            verdict->reason == AFC_TRUST_UNKNOWN_REVOCATION);
    verification->verdict = before;
    OPENSSL_free(again);
    return 0;
}
