/* Whom a session trusts, and that a server it doesn't trust never sees a byte of a request. */
#include "support/call.h"

#include <stdlib.h>
#include <string.h>

enum { DAY = 24 * 3600 };

static afts_cert *new_authority(void) {
    afts_cert *authority = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    assert_non_null(authority);
    return authority;
}

/** A server that shows `leaf`, and a session with `policy`. */
static fixture *fixture_showing(const afts_cert *leaf, const afc_trust_options *policy,
                                const afts_tls *more) {
    assert_non_null(leaf);
    afts_tls tls = more != NULL ? *more : (afts_tls){0};
    tls.chain_pem = afts_cert_chain_pem(leaf);
    tls.key_pem = afts_cert_key_pem(leaf);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    check_status(afc_trust_policy_new(&options.trust, policy, NULL), AFC_OK);
    fixture *fixture = fixture_new(&(afts_options){.tls = &tls}, &options);
    afc_trust_policy_release(options.trust);
    return fixture;
}

static afc_trust_options trusting(const afts_cert *anchor) {
    afc_trust_options policy = AFC_TRUST_OPTIONS_INIT;
    policy.anchors = afc_slice_of(afts_cert_pem(anchor));
    return policy;
}

static const char *url_with_host(fixture *fixture, const char *host) {
    return text_of(fixture, "https://%s:%u/secret", host,
                   (unsigned)afts_server_port(fixture->server));
}

/** Fetch with a body and a header that must not be seen by a server that is refused. */
static void check_trust(fixture *fixture, const char *host, afc_trust_reason expected) {
    static const afc_header secret[] = {{{"Authorization", 13}, {"Bearer", 6}, AFC_HEADER_SECRET}};
    call *call = call_new(fixture, "/");
    call->request.url = url_with_host(fixture, host);
    call->request.headers = secret;
    call->request.header_count = 1;
    call_send(call, "POST", S("content"));
    call_perform(call);
    check_ended(call, expected == AFC_TRUST_ACCEPTED ? AFC_OK : AFC_EUNTRUSTED);
    if (call->failure.trust != expected) print_error("%s\n", call->failure.text);
    assert_string_equal(afc_trust_reason_name(call->failure.trust),
                        afc_trust_reason_name(expected));
    call_free(call);
    if (expected == AFC_TRUST_ACCEPTED) return;
    assert_true(afts_wait_open_at_most(fixture->server, 0, PATIENCE_MS));
    assert_int_equal(afts_server_stats(fixture->server).requests, 0);
    afts_connection *connection = afts_copy_connection(fixture->server, 0);
    assert_non_null(connection);
    assert_int_equal(connection->received_total, 0);
    afts_connection_free(connection);
}

/** One leaf of `authority` made by `options`, shown to `policy`. */
static void check_leaf(const afts_cert_options *options, const afts_cert *authority,
                       const afc_trust_options *policy, const char *host,
                       afc_trust_reason expected) {
    afts_cert *leaf = afts_cert_new(options, authority);
    fixture *fixture = fixture_showing(leaf, policy, NULL);
    check_trust(fixture, host, expected);
    fixture_free(fixture);
    afts_cert_free(leaf);
}

/* ---- Chains -------------------------------------------------------------------------------- */

static void trusts_chain_to_anchor(void **state) {
    (void)state;
    afts_cert *authority = new_authority();
    afc_trust_options policy = trusting(authority);
    check_leaf(NULL, authority, &policy, "127.0.0.1", AFC_TRUST_ACCEPTED);
    check_leaf(NULL, authority, &policy, "localhost", AFC_TRUST_ACCEPTED);
    check_leaf(&(afts_cert_options){.rsa = true}, authority, &policy, "127.0.0.1",
               AFC_TRUST_ACCEPTED);
    afts_cert_free(authority);
}

static void accepts_intermediate_as_link_or_anchor(void **state) {
    (void)state;
    afts_cert *root = new_authority();
    afts_cert *middle = afts_cert_new(
        &(afts_cert_options){.authority = true, .common_name = "Middle"}, root);
    assert_non_null(middle);
    afc_trust_options policies[] = {trusting(root), trusting(middle)};
    for (size_t i = 0; i < COUNT_OF(policies); i++) {
        check_leaf(NULL, middle, &policies[i], "127.0.0.1", AFC_TRUST_ACCEPTED);
    }
    afts_cert_free(middle);
    afts_cert_free(root);
}

static void refuses_unknown_root(void **state) {
    (void)state;
    afts_cert *ours = new_authority(), *theirs = new_authority();
    afc_trust_options policy = trusting(ours), system = AFC_TRUST_OPTIONS_INIT;
    check_leaf(NULL, theirs, &policy, "127.0.0.1", AFC_TRUST_UNKNOWN_ISSUER);
    check_leaf(NULL, theirs, &system, "127.0.0.1", AFC_TRUST_UNKNOWN_ISSUER);
    check_leaf(NULL, NULL, &policy, "127.0.0.1", AFC_TRUST_SELF_SIGNED);
    afts_cert_free(ours);
    afts_cert_free(theirs);
}

static void accepts_leaf_as_anchor(void **state) {
    (void)state;
    afts_cert *leaf = afts_cert_new(NULL, NULL);
    assert_non_null(leaf);
    afc_trust_options policy = trusting(leaf);
    fixture *fixture = fixture_showing(leaf, &policy, NULL);
    check_trust(fixture, "127.0.0.1", AFC_TRUST_ACCEPTED);
    fixture_free(fixture);
    afts_cert_free(leaf);
}

static void refuses_certificate_outside_its_validity(void **state) {
    (void)state;
    afts_cert *authority = new_authority();
    afc_trust_options policy = trusting(authority);
    check_leaf(&(afts_cert_options){.not_before_s = -2 * DAY, .not_after_s = -DAY}, authority,
               &policy, "127.0.0.1", AFC_TRUST_EXPIRED);
    check_leaf(&(afts_cert_options){.not_before_s = DAY, .not_after_s = 2 * DAY}, authority,
               &policy, "127.0.0.1", AFC_TRUST_NOT_YET_VALID);
    afts_cert_free(authority);
}

static void refuses_client_certificate_as_server(void **state) {
    (void)state;
    afts_cert *authority = new_authority();
    afc_trust_options policy = trusting(authority);
    check_leaf(&(afts_cert_options){.client = true}, authority, &policy, "127.0.0.1",
               AFC_TRUST_PURPOSE);
    afts_cert_free(authority);
}

/* ---- Names --------------------------------------------------------------------------------- */

static void certificate_must_name_the_host(void **state) {
    (void)state;
    afts_cert *authority = new_authority();
    afc_trust_options policy = trusting(authority);
    static const struct {
        const char *names, *host;
        afc_trust_reason expected;
    } cases[] = {
        {"localhost", "localhost", AFC_TRUST_ACCEPTED},
        {"LOCALHOST", "localhost", AFC_TRUST_ACCEPTED},
        {"localhost", "LocalHost", AFC_TRUST_ACCEPTED},
        {"localhost", "127.0.0.1", AFC_TRUST_WRONG_HOST},
        {"127.0.0.1", "127.0.0.1", AFC_TRUST_ACCEPTED},
        {"127.0.0.1", "localhost", AFC_TRUST_WRONG_HOST},
        {"127.0.0.2", "127.0.0.1", AFC_TRUST_WRONG_HOST},
        {"example.test", "localhost", AFC_TRUST_WRONG_HOST},
        {"*.test.localhost", "a.test.localhost", AFC_TRUST_ACCEPTED},
        {"*.test.localhost", "A.Test.localhost", AFC_TRUST_ACCEPTED},
        {"*.test.localhost", "a.b.test.localhost", AFC_TRUST_WRONG_HOST},
        {"*.test.localhost", "test.localhost", AFC_TRUST_WRONG_HOST},
        {"a*.test.localhost", "ab.test.localhost", AFC_TRUST_WRONG_HOST},
        {"a.*.localhost", "a.test.localhost", AFC_TRUST_WRONG_HOST},
        {"*.localhost", "a.localhost", AFC_TRUST_WRONG_HOST}, /* As wide as a whole top level. */
        {"*", "localhost", AFC_TRUST_WRONG_HOST},
        {"localhost,example.test", "localhost", AFC_TRUST_ACCEPTED},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        check_leaf(&(afts_cert_options){.hosts = cases[i].names}, authority, &policy, cases[i].host,
                   cases[i].expected);
    }
    afts_cert_free(authority);
}

static void ignores_the_common_name(void **state) {
    (void)state;
    afts_cert *authority = new_authority();
    afc_trust_options policy = trusting(authority);
    check_leaf(&(afts_cert_options){.common_name = "localhost", .hosts = ""}, authority, &policy,
               "localhost", AFC_TRUST_WRONG_HOST);
    check_leaf(&(afts_cert_options){.common_name = "localhost", .hosts = "other.test"}, authority,
               &policy, "localhost", AFC_TRUST_WRONG_HOST);
    afts_cert_free(authority);
}

/* ---- Exceptions ---------------------------------------------------------------------------- */

static void accepting_invalid_chains_still_checks_the_name(void **state) {
    (void)state;
    afts_cert *stranger = new_authority();
    afc_trust_options policy = AFC_TRUST_OPTIONS_INIT;
    policy.everywhere.allow_invalid_certificates = true;
    check_leaf(NULL, NULL, &policy, "127.0.0.1", AFC_TRUST_ACCEPTED);
    check_leaf(NULL, stranger, &policy, "localhost", AFC_TRUST_ACCEPTED);
    afts_cert_options expired = {.not_before_s = -2 * DAY, .not_after_s = -DAY};
    check_leaf(&expired, stranger, &policy, "localhost", AFC_TRUST_ACCEPTED);
    afts_cert_options other = {.hosts = "other.test"};
    check_leaf(&other, stranger, &policy, "localhost", AFC_TRUST_WRONG_HOST);
    check_leaf(&other, NULL, &policy, "127.0.0.1", AFC_TRUST_WRONG_HOST);
    policy.everywhere.skip_host_check = true;
    check_leaf(&other, stranger, &policy, "localhost", AFC_TRUST_ACCEPTED);
    afts_cert_free(stranger);
}

static void skipping_the_name_still_checks_the_chain(void **state) {
    (void)state;
    afts_cert *authority = new_authority(), *stranger = new_authority();
    afc_trust_options policy = trusting(authority);
    policy.everywhere.skip_host_check = true;
    afts_cert_options other = {.hosts = "other.test"};
    check_leaf(&other, authority, &policy, "localhost", AFC_TRUST_ACCEPTED);
    check_leaf(&other, stranger, &policy, "localhost", AFC_TRUST_UNKNOWN_ISSUER);
    afts_cert_free(authority);
    afts_cert_free(stranger);
}

/* ---- Versions and sessions ----------------------------------------------------------------- */

static void refuses_old_versions(void **state) {
    (void)state;
    afts_cert *authority = new_authority(), *leaf = afts_cert_new(NULL, authority);
    afc_trust_options policy = trusting(authority);
    static const struct {
        afts_tls_version version;
        const char *ciphers;
        afc_status expected;
    } cases[] = {{AFTS_TLS_1_1, "DEFAULT:@SECLEVEL=0", AFC_ETLS},
                 {AFTS_TLS_1_2, NULL, AFC_OK},
                 {AFTS_TLS_1_3, NULL, AFC_OK}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afts_tls tls = {.min_version = cases[i].version,
                        .max_version = cases[i].version,
                        .ciphers = cases[i].ciphers};
        fixture *fixture = fixture_showing(leaf, &policy, &tls);
        check_fetch(fixture, "/", cases[i].expected);
        assert_int_equal(afts_server_stats(fixture->server).requests, cases[i].expected == AFC_OK);
        fixture_free(fixture);
    }
    afts_cert_free(leaf);
    afts_cert_free(authority);
}

/** Each task in flight has a handle of its own: the second one resumes what the first, which is under way, began. */
static void concurrent_tasks_share_tls_sessions(void **state) {
    (void)state;
    afts_cert *authority = new_authority(), *leaf = afts_cert_new(NULL, authority);
    afc_trust_options policy = trusting(authority);
    /* With TLS 1.3 the first task may not have read its ticket yet. */
    afts_tls tls = {.min_version = AFTS_TLS_1_2, .max_version = AFTS_TLS_1_2};
    fixture *fixture = fixture_showing(leaf, &policy, &tls);
    afts_script *script = afts_script_new();
    afts_stall(script, "/first");
    afts_respond(script, 200, NULL, "ok", 2);
    serve(fixture, "/first", script);
    call *first = call_new(fixture, "/first");
    call_start(first);
    assert_true(afts_wait_stalled(fixture->server, "/first", 1, PATIENCE_MS));
    check_fetch(fixture, "/", AFC_OK);
    afts_release(fixture->server, "/first", 1);
    call_wait(first);
    check_ended(first, AFC_OK);
    call_free(first);
    afts_stats stats = afts_server_stats(fixture->server);
    assert_int_equal(stats.handshakes, 2);
    assert_int_equal(stats.handshakes_resumed, 1);
    fixture_free(fixture);
    afts_cert_free(leaf);
    afts_cert_free(authority);
}

static void resumes_tls_sessions_only_within_a_session(void **state) {
    (void)state;
    afts_cert *authority = new_authority(), *stranger = new_authority();
    afts_cert *leaf = afts_cert_new(NULL, authority);
    afc_trust_options lenient = trusting(authority), strict = trusting(stranger);
    static const afts_tls_version versions[] = {AFTS_TLS_1_2, AFTS_TLS_1_3};
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        afts_tls tls = {.min_version = versions[i], .max_version = versions[i]};
        fixture *fixture = fixture_showing(leaf, &lenient, &tls);
        serve(fixture, "/", answer(200, "Connection: close", "ok"));
        for (int round = 0; round < 3; round++) check_fetch(fixture, "/", AFC_OK);
        afts_stats stats = afts_server_stats(fixture->server);
        assert_int_equal(stats.handshakes, 3);
        assert_int_equal(stats.handshakes_resumed, 2);

        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        check_status(afc_trust_policy_new(&options.trust, &strict, NULL), AFC_OK);
        afc_session *session;
        check_status(afc_session_new(&session, &options, NULL), AFC_OK);
        afc_trust_policy_release(options.trust);
        call *call = call_new(fixture, "/");
        call->session = session;
        call_perform(call);
        check_ended(call, AFC_EUNTRUSTED);
        call_free(call);
        afc_session_release(session);
        assert_int_equal(afts_server_stats(fixture->server).requests, 3);
        fixture_free(fixture);
    }
    afts_cert_free(leaf);
    afts_cert_free(stranger);
    afts_cert_free(authority);
}

static void reuses_connections_over_tls(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    for (int i = 0; i < 5; i++) {
        call *call = call_fetch(fixture, "/");
        check_ended(call, AFC_OK);
        assert_int_equal(call->hops[0].is_reused, i > 0);
        assert_true(i > 0 || call->hops[0].tls_us > 0);
        call_free(call);
    }
    assert_int_equal(afts_server_stats(fixture->server).handshakes, 1);
    fixture_free(fixture);
}

static void refused_server_disturbs_no_other_task(void **state) {
    (void)state;
    fixture *good = fixture_new_tls();
    afts_cert *leaf = afts_cert_new(NULL, NULL);
    afc_trust_options policy = AFC_TRUST_OPTIONS_INIT;
    fixture *bad = fixture_showing(leaf, &policy, NULL);
    for (int i = 0; i < 20; i++) {
        call *call = call_new(good, "/");
        call->request.url = url_of(i % 2 == 0 ? good : bad, "/");
        call_perform(call);
        check_ended(call, i % 2 == 0 ? AFC_OK : AFC_EUNTRUSTED);
        call_free(call);
    }
    assert_int_equal(afts_server_stats(good->server).accepted, 1);
    fixture_free(bad);
    fixture_free(good);
    afts_cert_free(leaf);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trusts_chain_to_anchor),
        cmocka_unit_test(accepts_intermediate_as_link_or_anchor),
        cmocka_unit_test(refuses_unknown_root),
        cmocka_unit_test(accepts_leaf_as_anchor),
        cmocka_unit_test(refuses_certificate_outside_its_validity),
        cmocka_unit_test(refuses_client_certificate_as_server),
        cmocka_unit_test(certificate_must_name_the_host),
        cmocka_unit_test(ignores_the_common_name),
        cmocka_unit_test(accepting_invalid_chains_still_checks_the_name),
        cmocka_unit_test(skipping_the_name_still_checks_the_chain),
        cmocka_unit_test(refuses_old_versions),
        cmocka_unit_test(concurrent_tasks_share_tls_sessions),
        cmocka_unit_test(resumes_tls_sessions_only_within_a_session),
        cmocka_unit_test(reuses_connections_over_tls),
        cmocka_unit_test(refused_server_disturbs_no_other_task),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
