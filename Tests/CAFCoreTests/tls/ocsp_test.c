/* Stapled OCSP responses: whose signature counts, about which certificate, and when (RFC 6960 3.2). */
#include "support/authority.h"
#include "support/call.h"

/** A server that shows `shown` with `response`, whose bytes this frees, for a policy that trusts `anchor`. */
typedef struct stapling {
    const afts_cert *shown, *anchor;
    uint8_t *response; /**< NULL: none. */
    size_t response_size;
    bool allows_invalid;
    afc_ocsp_mode mode;
} stapling;

static void check_stapling(const char *what, stapling given, afc_trust_reason expected) {
    afts_tls server = {.chain_pem = afts_cert_chain_pem(given.shown),
                       .key_pem = afts_cert_key_pem(given.shown),
                       .ocsp_response = given.response,
                       .ocsp_response_size = given.response_size};
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    trust.anchors = afc_slice_of(afts_cert_pem(given.anchor));
    trust.everywhere.allow_invalid_certificates = given.allows_invalid;
    trust.ocsp = given.mode;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    check_status(afc_trust_policy_new(&options.trust, &trust, NULL), AFC_OK);
    fixture *fixture = fixture_new(&(afts_options){.tls = &server}, &options);
    afc_trust_policy_release(options.trust);
    call *call = call_fetch(fixture, "/");
    if (call->failure.trust != expected) print_error("%s\n", what);
    assert_string_equal(afc_trust_reason_name(call->failure.trust),
                        afc_trust_reason_name(expected));
    check_ended(call, expected == AFC_TRUST_ACCEPTED ? AFC_OK : AFC_EUNTRUSTED);
    call_free(call);
    fixture_free(fixture);
    afts_bytes_free(given.response);
}

/** The issuer, or a signer that it has authorized by its extended key usage (RFC 6960 4.2.2.2). */
static void accepts_signature_of_issuer_and_its_responder_only(void **state) {
    (void)state;
    afts_cert *other = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    /* OpenSSL looks for the signer by its name, in the chain first. */
    const afts_cert_options signs = {.common_name = "responder", .ocsp_signer = true};
    afts_cert *responder = afts_cert_new(&signs, authority);
    afts_cert *others_responder = afts_cert_new(&signs, other);
    const struct {
        const char *what;
        const afts_cert *signer;
        afc_trust_reason expected;
    } rows[] = {
        {"the issuer", authority, AFC_TRUST_ACCEPTED},
        {"its responder", responder, AFC_TRUST_ACCEPTED},
        {"the certificate itself", leaf, AFC_TRUST_UNKNOWN_REVOCATION},
        {"an authority of the same name", other, AFC_TRUST_UNKNOWN_REVOCATION},
        {"a responder of that one", others_responder, AFC_TRUST_UNKNOWN_REVOCATION},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        stapling given = {.shown = leaf, .anchor = authority, .mode = AFC_OCSP_CHECK};
        given.response = afts_cert_ocsp_signed_by(rows[i].signer, leaf, authority,
                                                  &given.response_size);
        assert_non_null(given.response);
        check_stapling(rows[i].what, given, rows[i].expected);
    }
    afts_cert_free(others_responder);
    afts_cert_free(responder);
    afts_cert_free(other);
}

static void accepts_id_with_sha256(void **state) {
    (void)state;
    stapling given = {.shown = leaf, .anchor = authority, .mode = AFC_OCSP_REQUIRE};
    given.response = afts_cert_ocsp(leaf, authority, AFTS_OCSP_GOOD_BY_SHA256, 0, 0,
                                    &given.response_size);
    check_stapling("SHA-256", given, AFC_TRUST_ACCEPTED);
}

/** Each of the two times is close enough to now; only their order decides. */
static void refuses_response_that_ends_before_it_begins(void **state) {
    (void)state;
    static const struct {
        int64_t this_update_s, next_update_s;
        afc_trust_reason expected;
    } rows[] = {
        {-100, 100, AFC_TRUST_ACCEPTED},
        {-100, -100, AFC_TRUST_ACCEPTED},
        {100, -100, AFC_TRUST_UNKNOWN_REVOCATION},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        stapling given = {.shown = leaf, .anchor = authority, .mode = AFC_OCSP_CHECK};
        given.response = afts_cert_ocsp(leaf, authority, AFTS_OCSP_GOOD, rows[i].this_update_s,
                                        rows[i].next_update_s, &given.response_size);
        check_stapling("order", given, rows[i].expected);
    }
}

/** A certificate that is an anchor has no issuer that could confirm it. */
static void response_about_an_anchor_confirms_nothing(void **state) {
    (void)state;
    afts_cert *own = afts_cert_new(NULL, NULL);
    stapling given = {.shown = own, .anchor = own, .mode = AFC_OCSP_IGNORE};
    check_stapling("anchor", given, AFC_TRUST_ACCEPTED);
    given.mode = AFC_OCSP_CHECK;
    given.response = afts_cert_ocsp(own, own, AFTS_OCSP_GOOD, 0, 0, &given.response_size);
    check_stapling("anchor with a response", given, AFC_TRUST_UNKNOWN_REVOCATION);
    afts_cert_free(own);
}

static void chain_accepted_without_verification_needs_no_response(void **state) {
    (void)state;
    afts_cert *other = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    stapling given = {.shown = leaf, .anchor = other, .mode = AFC_OCSP_REQUIRE};
    check_stapling("refused", given, AFC_TRUST_UNKNOWN_ISSUER);
    given.allows_invalid = true;
    check_stapling("allowed", given, AFC_TRUST_ACCEPTED);
    afts_cert_free(other);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_signature_of_issuer_and_its_responder_only),
        cmocka_unit_test(accepts_id_with_sha256),
        cmocka_unit_test(refuses_response_that_ends_before_it_begins),
        cmocka_unit_test(response_about_an_anchor_confirms_nothing),
        cmocka_unit_test(chain_accepted_without_verification_needs_no_response),
    };
    return cmocka_run_group_tests(tests, make_certificates, free_certificates);
}
