#include "trust/ocsp.h"

#include <limits.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/x509v3.h>

/* Maximum clock difference between a responder and this machine, in seconds. */
enum { SKEW_S = 300, STATUS_REQUEST = 5 };

/** Returns whether the certificate requires a stapled response (RFC 7633). */
static bool must_staple(const X509 *certificate) {
    TLS_FEATURE *features = X509_get_ext_d2i(certificate, NID_tlsfeature, NULL, NULL);
    bool is_there = false;
    for (int i = 0; features != NULL && i < sk_ASN1_INTEGER_num(features); i++) {
        if (ASN1_INTEGER_get(sk_ASN1_INTEGER_value(features, i)) == STATUS_REQUEST) is_there = true;
    }
    TLS_FEATURE_free(features);
    ERR_clear_error();
    return is_there;
}

/** What a response says about the chain's first certificate. */
typedef struct ocsp_finding {
    int status; /* V_OCSP_CERTSTATUS_UNKNOWN also if the response is unusable. */
    bool lacks_end;
} ocsp_finding;

/** Returns whether the policy's time is between the two times of a response. */
static bool is_current(const afc_trust_policy *policy, const ASN1_GENERALIZEDTIME *this_update,
                       const ASN1_GENERALIZEDTIME *next_update) {
    time_t now = (time_t)afc__policy_time(policy);
    if (next_update == NULL) return false;
    /* Like OCSP_check_validity(), which only supports the current time. The functions return -2 for an invalid time. */
    int begins = ASN1_TIME_cmp_time_t(this_update, now + SKEW_S);
    int ends = ASN1_TIME_cmp_time_t(next_update, now - SKEW_S);
    int order = ASN1_TIME_compare(this_update, next_update);
    return (begins == -1 || begins == 0) && ends >= 0 && (order == -1 || order == 0);
}

static ocsp_finding read_status(OCSP_BASICRESP *basic, const afc_trust_policy *policy,
                                const afc__verification *verification, X509_STORE *store) {
    ASN1_GENERALIZEDTIME *revoked_at, *this_update, *next_update;
    ocsp_finding found = {V_OCSP_CERTSTATUS_UNKNOWN, false};
    int status, reason;
    if (sk_X509_num(verification->chain) < 2) return found;
    X509 *leaf = sk_X509_value(verification->chain, 0),
         *issuer = sk_X509_value(verification->chain, 1);
    if (OCSP_basic_verify(basic, verification->chain, store, OCSP_PARTIAL_CHAIN) != 1) return found;
    /* The responder chooses the digest with which it names the certificate (CertID, RFC 6960 4.1.1). */
    const EVP_MD *const digests[] = {EVP_sha1(), EVP_sha256()};
    for (size_t i = 0; i < sizeof digests / sizeof *digests; i++) {
        OCSP_CERTID *id = OCSP_cert_to_id(digests[i], leaf, issuer);
        bool is_there = id != NULL &&
                        OCSP_resp_find_status(basic, id, &status, &reason, &revoked_at,
                                              &this_update, &next_update) == 1;
        OCSP_CERTID_free(id);
        if (!is_there) continue;
        /* A revocation counts even if the response has expired. */
        if (status == V_OCSP_CERTSTATUS_REVOKED) return (ocsp_finding){status, false};
        if (next_update == NULL) found.lacks_end = true;
        if (is_current(policy, this_update, next_update)) found.status = status;
    }
    return found;
}

/** Returns the store with the anchors of the chain, which are also those of the response's signer. */
static X509_STORE *store_of(const afc_trust_policy *policy, const afc__verification *verification) {
    X509_STORE *store;
    /* The chain was verified with this store, so it was read. */
    if (!verification->verdict.is_by_pins)
        return afc__policy_store(&store, policy, NULL) == AFC_OK ? store : NULL;
    const afc__trust_host *host = verification->host.text[0] != '\0' ? &verification->host : NULL;
    return afc__policy_rule_for(policy, host)->store;
}

static ocsp_finding verify_response(const afc_trust_policy *policy,
                                    const afc__verification *verification, afc_slice response) {
    ocsp_finding found = {V_OCSP_CERTSTATUS_UNKNOWN, false};
    const unsigned char *at = (const unsigned char *)response.bytes;
    OCSP_RESPONSE *parsed = response.size <= LONG_MAX
                                ? d2i_OCSP_RESPONSE(NULL, &at, (long)response.size)
                                : NULL;
    bool is_good = parsed != NULL &&
                   OCSP_response_status(parsed) == OCSP_RESPONSE_STATUS_SUCCESSFUL;
    OCSP_BASICRESP *basic = is_good ? OCSP_response_get1_basic(parsed) : NULL;
    X509_STORE *store = store_of(policy, verification);
    if (basic != NULL && store != NULL) found = read_status(basic, policy, verification, store);
    OCSP_BASICRESP_free(basic);
    OCSP_RESPONSE_free(parsed);
    ERR_clear_error();
    return found;
}

void afc__trust_check_ocsp(const afc_trust_policy *policy, afc__verification *verification,
                           afc_slice response) {
    if (policy->ocsp == AFC_OCSP_IGNORE || !verification->verdict.is_accepted) return;
    /* A chain that was accepted without a verified path has no issuer who could sign the response. */
    if (!verification->verdict.is_verified) return;
    if (response.size == 0) {
        bool is_missed = policy->ocsp == AFC_OCSP_REQUIRE ||
                         must_staple(sk_X509_value(verification->chain, 0));
        if (!is_missed) return;
        afc__verification_refuse(verification, AFC_TRUST_UNKNOWN_REVOCATION,
                                 X509_V_ERR_OCSP_VERIFY_NEEDED,
                                 "the server sent no OCSP response, but one is required");
        return;
    }
    ocsp_finding found = verify_response(policy, verification, response);
    if (found.status == V_OCSP_CERTSTATUS_GOOD) return;
    if (found.status == V_OCSP_CERTSTATUS_REVOKED) {
        afc__verification_refuse(verification, AFC_TRUST_REVOKED, X509_V_ERR_CERT_REVOKED,
                                 "the certificate is revoked, according to its OCSP response");
    } else {
        afc__verification_refuse(
            verification, AFC_TRUST_UNKNOWN_REVOCATION, X509_V_ERR_OCSP_CERT_UNKNOWN,
            found.lacks_end ? "the server's OCSP response has no nextUpdate, so it "
                              "doesn't confirm its certificate"
                            : "the server's OCSP response doesn't confirm its certificate");
    }
}
