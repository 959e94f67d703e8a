/* Versions, ciphers, stapled OCSP answers, client certificates: what a session says of its own TLS. */
#include "support/authority.h"
#include "support/call.h"
#include "support/files.h"
#include "support/torture.h"
#include "tls/certificate_request.h"
#include "tls/sessions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/** A server with `server`, which shows `shown`, and a session that trusts the authority. */
static fixture *fixture_with(const afts_cert *shown, afts_tls server, const afc_tls_options *client,
                             afc_ocsp_mode ocsp) {
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    server.chain_pem = afts_cert_chain_pem(shown);
    server.key_pem = afts_cert_key_pem(shown);
    trust.anchors = afc_slice_of(afts_cert_pem(authority));
    trust.ocsp = ocsp;
    if (client != NULL) options.tls = *client;
    check_status(afc_trust_policy_new(&options.trust, &trust, NULL), AFC_OK);
    fixture *fixture = fixture_new(&(afts_options){.tls = &server}, &options);
    afc_trust_policy_release(options.trust);
    return fixture;
}

static void check_connection(fixture *fixture, size_t i, const char *version, const char *cipher) {
    afts_connection *connection = afts_copy_connection(fixture->server, i);
    assert_non_null(connection);
    assert_string_equal(connection->tls_version, version);
    if (cipher != NULL) assert_string_equal(connection->tls_cipher, cipher);
    afts_connection_free(connection);
}

/* ---- Versions and ciphers (S31) ------------------------------------------------------------ */

static void refuses_versions_outside_the_range(void **state) {
    (void)state;
    static const struct {
        afc_tls_protocol min, max;
        afts_tls_version server;
        const char *expected; /**< NULL: no connection. */
    } cases[] = {
        {AFC_TLS_DEFAULT, AFC_TLS_DEFAULT, AFTS_TLS_1_2, "TLSv1.2"},
        {AFC_TLS_DEFAULT, AFC_TLS_DEFAULT, AFTS_TLS_1_3, "TLSv1.3"},
        {AFC_TLS_DEFAULT, AFC_TLS_DEFAULT, AFTS_TLS_1_1, NULL},
        {AFC_TLS_1_3, AFC_TLS_DEFAULT, AFTS_TLS_1_2, NULL},
        {AFC_TLS_1_3, AFC_TLS_DEFAULT, AFTS_TLS_1_3, "TLSv1.3"},
        {AFC_TLS_1_2, AFC_TLS_1_2, AFTS_TLS_1_3, NULL},
        {AFC_TLS_1_2, AFC_TLS_1_2, AFTS_TLS_ANY, "TLSv1.2"},
        {AFC_TLS_1_2, AFC_TLS_1_3, AFTS_TLS_ANY, "TLSv1.3"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc_tls_options client = {.min_version = cases[i].min, .max_version = cases[i].max};
        afts_tls server = {.min_version = cases[i].server, .max_version = cases[i].server};
        fixture *fixture = fixture_with(leaf, server, &client, AFC_OCSP_IGNORE);
        check_fetch(fixture, "/", cases[i].expected != NULL ? AFC_OK : AFC_ETLS);
        if (cases[i].expected != NULL) check_connection(fixture, 0, cases[i].expected, NULL);
        assert_int_equal(afts_server_stats(fixture->server).requests, cases[i].expected != NULL);
        fixture_free(fixture);
    }
}

static void uses_the_ciphers_of_the_session(void **state) {
    (void)state;
    afc_tls_options client = {.max_version = AFC_TLS_1_2,
                              .ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305"};
    fixture *fixture = fixture_with(leaf, (afts_tls){0}, &client, AFC_OCSP_IGNORE);
    check_fetch(fixture, "/", AFC_OK);
    check_connection(fixture, 0, "TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305");
    fixture_free(fixture);
    client = (afc_tls_options){.cipher_suites = "TLS_CHACHA20_POLY1305_SHA256"};
    fixture = fixture_with(leaf, (afts_tls){0}, &client, AFC_OCSP_IGNORE);
    check_fetch(fixture, "/", AFC_OK);
    check_connection(fixture, 0, "TLSv1.3", "TLS_CHACHA20_POLY1305_SHA256");
    fixture_free(fixture);
}

static void check_refused(const afc_tls_options *tls, afc_status expected, const char *part) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_session *session;
    afc_failure failure;
    options.tls = *tls;
    check_status(afc_session_new(&session, &options, &failure), expected);
    assert_null(session);
    check_contains(failure.text, part);
    if (strcmp(part, "ciphers") == 0) assert_int_equal(failure.reason, AFC_REASON_CIPHERS);
}

static void refuses_options_that_openssl_refuses(void **state) {
    (void)state;
    check_refused(&(afc_tls_options){.ciphers = "no cipher"}, AFC_EINVAL, "ciphers");
    check_refused(&(afc_tls_options){.client_certificate_count = 1}, AFC_EINVAL,
                  "client_certificates is NULL");
    check_refused(&(afc_tls_options){.cipher_suites = "no suite"}, AFC_EINVAL, "ciphers");
    check_refused(&(afc_tls_options){.min_version = (afc_tls_protocol)0x0302}, AFC_EINVAL,
                  "versions");
    check_refused(&(afc_tls_options){.min_version = AFC_TLS_1_3, .max_version = AFC_TLS_1_2},
                  AFC_EINVAL, "versions");
}

/** S33: the environment alone gets no keys. */
static void logs_keys_only_if_asked(void **state) {
    (void)state;
    const char *path = getenv("SSLKEYLOGFILE");
    assert_non_null(path);
    for (int is_asked = 0; is_asked < 2; is_asked++) {
        afc_tls_options client = {.write_key_log = is_asked == 1};
        fixture *fixture = fixture_with(leaf, (afts_tls){0}, &client, AFC_OCSP_IGNORE);
        check_fetch(fixture, "/", AFC_OK);
        fixture_free(fixture);
        FILE *log = fopen(path, "r");
        bool has_keys = log != NULL && fgetc(log) != EOF;
        if (log != NULL) fclose(log);
        if (is_asked == 0) assert_false(has_keys);
    }
    remove(path);
}

/* ---- Stapled answers ----------------------------------------------------------------------- */

enum { NOTHING = -1, STALE = 10, OF_ANOTHER, BROKEN };

static void check_staple(bool promises, int answer, afc_ocsp_mode mode, afts_tls_version version,
                         afc_trust_reason expected) {
    afts_cert *shown = afts_cert_new(&(afts_cert_options){.must_staple = promises}, authority);
    afts_tls server = {.min_version = version, .max_version = version};
    uint8_t *response = NULL;
    if (answer == BROKEN) {
        server.ocsp_response = (const uint8_t *)"no answer";
        server.ocsp_response_size = 9;
    } else if (answer != NOTHING) {
        bool is_stale = answer == STALE;
        response = afts_cert_ocsp(
            answer == OF_ANOTHER ? leaf : shown, authority,
            answer <= AFTS_OCSP_CONTRADICTION ? (afts_ocsp_status)answer : AFTS_OCSP_GOOD,
            is_stale ? -7200 : 0, is_stale ? -3600 : 0, &server.ocsp_response_size);
        assert_non_null(response);
        server.ocsp_response = response;
    }
    fixture *fixture = fixture_with(shown, server, NULL, mode);
    call *call = call_fetch(fixture, "/");
    bool is_fine = expected == AFC_TRUST_ACCEPTED;
    check_ended(call, is_fine ? AFC_OK : AFC_EUNTRUSTED);
    assert_string_equal(afc_trust_reason_name(call->failure.trust),
                        afc_trust_reason_name(expected));
    call_free(call);
    assert_int_equal(afts_server_stats(fixture->server).requests, is_fine);
    fixture_free(fixture);
    afts_bytes_free(response);
    afts_cert_free(shown);
}

static void checks_stapled_ocsp_if_asked(void **state) {
    (void)state;
    static const struct {
        int answer;
        bool promises;
        afc_trust_reason ignored, checked, required;
    } cases[] = {
        {NOTHING, false, AFC_TRUST_ACCEPTED, AFC_TRUST_ACCEPTED, AFC_TRUST_UNKNOWN_REVOCATION},
        {NOTHING, true, AFC_TRUST_ACCEPTED, AFC_TRUST_UNKNOWN_REVOCATION,
         AFC_TRUST_UNKNOWN_REVOCATION},
        {AFTS_OCSP_GOOD, false, AFC_TRUST_ACCEPTED, AFC_TRUST_ACCEPTED, AFC_TRUST_ACCEPTED},
        {AFTS_OCSP_GOOD, true, AFC_TRUST_ACCEPTED, AFC_TRUST_ACCEPTED, AFC_TRUST_ACCEPTED},
        {AFTS_OCSP_REVOKED, false, AFC_TRUST_ACCEPTED, AFC_TRUST_REVOKED, AFC_TRUST_REVOKED},
        {AFTS_OCSP_CONTRADICTION, false, AFC_TRUST_ACCEPTED, AFC_TRUST_REVOKED, AFC_TRUST_REVOKED},
        {AFTS_OCSP_UNKNOWN, false, AFC_TRUST_ACCEPTED, AFC_TRUST_UNKNOWN_REVOCATION,
         AFC_TRUST_UNKNOWN_REVOCATION},
        {STALE, false, AFC_TRUST_ACCEPTED, AFC_TRUST_UNKNOWN_REVOCATION,
         AFC_TRUST_UNKNOWN_REVOCATION},
        {OF_ANOTHER, true, AFC_TRUST_ACCEPTED, AFC_TRUST_UNKNOWN_REVOCATION,
         AFC_TRUST_UNKNOWN_REVOCATION},
        {BROKEN, false, AFC_TRUST_ACCEPTED, AFC_TRUST_UNKNOWN_REVOCATION,
         AFC_TRUST_UNKNOWN_REVOCATION},
    };
    static const afts_tls_version versions[] = {AFTS_TLS_1_2, AFTS_TLS_1_3};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        for (size_t v = 0; v < COUNT_OF(versions); v++) {
            bool promises = cases[i].promises;
            int answer = cases[i].answer;
            check_staple(promises, answer, AFC_OCSP_IGNORE, versions[v], cases[i].ignored);
            check_staple(promises, answer, AFC_OCSP_CHECK, versions[v], cases[i].checked);
            check_staple(promises, answer, AFC_OCSP_REQUIRE, versions[v], cases[i].required);
        }
    }
}

/** So many other handshakes that the verification of the first one is forgotten: all is checked again. */
static void session_with_evicted_verification_is_not_resumed(void **state) {
    (void)state;
    static const afts_tls_version versions[] = {AFTS_TLS_1_2, AFTS_TLS_1_3};
    static const afc_ocsp_mode modes[] = {AFC_OCSP_IGNORE, AFC_OCSP_REQUIRE};
    afts_tls server = {.no_resumption = false};
    uint8_t *response = afts_cert_ocsp(leaf, authority, AFTS_OCSP_GOOD, 0, 0,
                                       &server.ocsp_response_size);
    assert_non_null(response);
    server.ocsp_response = response;
    for (size_t i = 0; i < COUNT_OF(versions) * COUNT_OF(modes); i++) {
        server.min_version = server.max_version = versions[i / COUNT_OF(modes)];
        afts_tls forgetful = server;
        forgetful.no_resumption = true;
        fixture *fixture = fixture_with(leaf, server, NULL, modes[i % COUNT_OF(modes)]);
        struct fixture *other = fixture_with(leaf, forgetful, NULL, modes[i % COUNT_OF(modes)]);
        struct fixture mixed = {.server = other->server, .session = fixture->session};
        serve(fixture, "/", answer(200, "Connection: close", "ok"));
        serve(other, "/", answer(200, "Connection: close", "ok"));
        check_fetch(fixture, "/", AFC_OK);
        for (int n = 0; n < AFC__TLS_SESSIONS; n++) check_fetch(&mixed, "/", AFC_OK);
        check_fetch(fixture, "/", AFC_OK);
        assert_int_equal(afts_server_stats(fixture->server).handshakes_resumed, 0);
        check_fetch(fixture, "/", AFC_OK);
        assert_int_equal(afts_server_stats(fixture->server).handshakes_resumed, 1);
        fixture_free(other);
        fixture_free(fixture);
    }
    afts_bytes_free(response);
}

/** S32: a session is resumed only after a handshake in which the answer was good. */
static void handshake_without_ocsp_response_is_never_resumed(void **state) {
    (void)state;
    static const afts_tls_version versions[] = {AFTS_TLS_1_2, AFTS_TLS_1_3};
    for (size_t v = 0; v < COUNT_OF(versions); v++) {
        afts_tls server = {.min_version = versions[v], .max_version = versions[v]};
        fixture *fixture = fixture_with(leaf, server, NULL, AFC_OCSP_REQUIRE);
        for (int i = 0; i < 3; i++) check_fetch(fixture, "/", AFC_EUNTRUSTED);
        assert_int_equal(afts_server_stats(fixture->server).requests, 0);
        assert_int_equal(afts_server_stats(fixture->server).handshakes_resumed, 0);
        fixture_free(fixture);
    }
}

static void response_without_an_end_confirms_nothing(void **state) {
    (void)state;
    afts_tls server = {0};
    uint8_t *response = afts_cert_ocsp(leaf, authority, AFTS_OCSP_GOOD, -60, AFTS_OCSP_NO_END,
                                       &server.ocsp_response_size);
    assert_non_null(response);
    server.ocsp_response = response;
    fixture *fixture = fixture_with(leaf, server, NULL, AFC_OCSP_CHECK);
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_EUNTRUSTED);
    assert_int_equal(call->failure.trust, AFC_TRUST_UNKNOWN_REVOCATION);
    check_contains(call->failure.text, "no nextUpdate");
    call_free(call);
    fixture_free(fixture);
    afts_bytes_free(response);
}

/** The policy's time applies to the response and to its signer as to the chain. */
static void checks_ocsp_as_of_the_time_of_the_policy(void **state) {
    (void)state;
    enum { DAY = 86400, THEN = -5 * DAY, HOUR = 3600 };
    static const struct {
        int64_t policy_s, this_update_s, next_update_s; /**< From now; 0: now. */
        afc_trust_reason expected;
    } rows[] = {
        {THEN, THEN - HOUR, THEN + HOUR, AFC_TRUST_ACCEPTED},
        {THEN, THEN - HOUR, DAY, AFC_TRUST_ACCEPTED},
        {THEN, -HOUR, DAY, AFC_TRUST_UNKNOWN_REVOCATION},
        {THEN, THEN - 3 * HOUR, THEN - HOUR, AFC_TRUST_UNKNOWN_REVOCATION},
        {THEN, THEN + HOUR, THEN - HOUR, AFC_TRUST_UNKNOWN_REVOCATION},
        /* Clocks may differ by five minutes. */
        {THEN, THEN + 200, THEN + HOUR, AFC_TRUST_ACCEPTED},
        {THEN, THEN - HOUR, THEN - 200, AFC_TRUST_ACCEPTED},
        {0, -HOUR, DAY, AFC_TRUST_EXPIRED},
    };
    /* Valid then, and no more. The authority signs the response itself. */
    const afts_cert_options old = {
        .authority = true, .not_before_s = -9 * DAY, .not_after_s = -2 * DAY};
    afts_cert *signer = afts_cert_new(&old, NULL);
    afts_cert *shown = afts_cert_new(
        &(afts_cert_options){.not_before_s = -9 * DAY, .not_after_s = -2 * DAY}, signer);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afts_tls server = {.chain_pem = afts_cert_chain_pem(shown),
                           .key_pem = afts_cert_key_pem(shown)};
        uint8_t *response = afts_cert_ocsp(shown, signer, AFTS_OCSP_GOOD, rows[i].this_update_s,
                                           rows[i].next_update_s, &server.ocsp_response_size);
        assert_non_null(response);
        server.ocsp_response = response;
        afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
        trust.anchors = afc_slice_of(afts_cert_pem(signer));
        trust.ocsp = AFC_OCSP_REQUIRE;
        if (rows[i].policy_s != 0) trust.time_s = (int64_t)time(NULL) + rows[i].policy_s;
        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        check_status(afc_trust_policy_new(&options.trust, &trust, NULL), AFC_OK);
        fixture *fixture = fixture_new(&(afts_options){.tls = &server}, &options);
        afc_trust_policy_release(options.trust);
        call *call = call_fetch(fixture, "/");
        if (call->failure.trust != rows[i].expected) print_error("row %zu\n", i);
        assert_string_equal(afc_trust_reason_name(call->failure.trust),
                            afc_trust_reason_name(rows[i].expected));
        check_ended(call, rows[i].expected == AFC_TRUST_ACCEPTED ? AFC_OK : AFC_EUNTRUSTED);
        call_free(call);
        fixture_free(fixture);
        afts_bytes_free(response);
    }
    afts_cert_free(shown);
    afts_cert_free(signer);
}

/** An authority that the policy pins, without having it as an anchor. Only its signature is valid for OCSP. */
static void checks_ocsp_of_pinned_authority(void **state) {
    (void)state;
    enum { DAY = 86400, THEN = -5 * DAY };
    static const afts_cert_options old = {
        .authority = true, .not_before_s = -9 * DAY, .not_after_s = -2 * DAY};
    afts_cert *past = afts_cert_new(&old, NULL);
    afts_cert *past_leaf = afts_cert_new(
        &(afts_cert_options){.not_before_s = -9 * DAY, .not_after_s = -2 * DAY}, past);
    afts_cert *other = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    const struct {
        const afts_cert *shown, *pinned, *signer;
        int64_t time_s; /* From now. */
        afts_ocsp_status status;
        afc_trust_reason expected;
        const char *host;
    } rows[] = {
        {leaf, authority, authority, 0, AFTS_OCSP_GOOD, AFC_TRUST_ACCEPTED, NULL},
        {leaf, authority, authority, 0, AFTS_OCSP_GOOD, AFC_TRUST_ACCEPTED, "localhost"},
        {leaf, authority, authority, 0, AFTS_OCSP_REVOKED, AFC_TRUST_REVOKED, "localhost"},
        {leaf, authority, other, 0, AFTS_OCSP_GOOD, AFC_TRUST_UNKNOWN_REVOCATION, NULL},
        {past_leaf, past, past, THEN, AFTS_OCSP_GOOD, AFC_TRUST_ACCEPTED, NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afts_tls server = {.chain_pem = afts_cert_chain_pem(rows[i].shown),
                           .key_pem = afts_cert_key_pem(rows[i].shown)};
        uint8_t *response = afts_cert_ocsp(rows[i].shown, rows[i].signer, rows[i].status,
                                           rows[i].time_s - 60, rows[i].time_s + 60,
                                           &server.ocsp_response_size);
        assert_non_null(response);
        server.ocsp_response = response;
        afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
        afc_trust_rule rule = {.host = rows[i].host};
        afc_trust_rule *pins = rows[i].host != NULL ? &rule : &trust.everywhere;
        pins->mode = AFC_PINNING_CERTIFICATE;
        pins->allow_invalid_certificates = true;
        pins->certificates = afc_slice_of(afts_cert_pem(rows[i].pinned));
        trust.anchors = afc_slice_of(afts_cert_pem(other));
        trust.ocsp = AFC_OCSP_REQUIRE;
        if (rows[i].time_s != 0) trust.time_s = (int64_t)time(NULL) + rows[i].time_s;
        trust.rules = &rule;
        trust.rule_count = rows[i].host != NULL;
        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        check_status(afc_trust_policy_new(&options.trust, &trust, NULL), AFC_OK);
        fixture *fixture = fixture_new(&(afts_options){.tls = &server}, &options);
        afc_trust_policy_release(options.trust);
        call *call = call_new(fixture, "/");
        if (rows[i].host != NULL) call->request.url = tls_url(fixture);
        call_perform(call);
        if (call->failure.trust != rows[i].expected) print_error("row %zu\n", i);
        assert_string_equal(afc_trust_reason_name(call->failure.trust),
                            afc_trust_reason_name(rows[i].expected));
        check_ended(call, rows[i].expected == AFC_TRUST_ACCEPTED ? AFC_OK : AFC_EUNTRUSTED);
        call_free(call);
        fixture_free(fixture);
        afts_bytes_free(response);
    }
    afts_cert_free(past_leaf);
    afts_cert_free(past);
    afts_cert_free(other);
}

/**
 * A resumed handshake shows neither a certificate nor an OCSP response: both were checked in the full
 * one. Without resumption, or with a ticket that the server doesn't know, they are checked again.
 */
static void resumes_session_whose_ocsp_response_was_checked(void **state) {
    (void)state;
    static const struct {
        afc_ocsp_mode mode;
        bool staples, promises;
    } cases[] = {
        {AFC_OCSP_IGNORE, false, false}, {AFC_OCSP_CHECK, false, false},
        {AFC_OCSP_CHECK, true, false},   {AFC_OCSP_CHECK, true, true},
        {AFC_OCSP_REQUIRE, true, false}, {AFC_OCSP_REQUIRE, true, true},
    };
    static const afts_tls_version versions[] = {AFTS_TLS_1_2, AFTS_TLS_1_3};
    enum { ROUNDS = 3 };
    for (size_t i = 0; i < COUNT_OF(cases) * COUNT_OF(versions); i++) {
        bool promises = cases[i / COUNT_OF(versions)].promises;
        afts_cert *shown = afts_cert_new(&(afts_cert_options){.must_staple = promises}, authority);
        afts_tls server = {.min_version = versions[i % COUNT_OF(versions)],
                           .max_version = versions[i % COUNT_OF(versions)]};
        uint8_t *response = afts_cert_ocsp(shown, authority, AFTS_OCSP_GOOD, 0, 0,
                                           &server.ocsp_response_size);
        assert_non_null(response);
        if (cases[i / COUNT_OF(versions)].staples) server.ocsp_response = response;
        fixture *fixture = fixture_with(shown, server, NULL, cases[i / COUNT_OF(versions)].mode);
        serve(fixture, "/", answer(200, "Connection: close", "ok"));
        for (int round = 0; round < ROUNDS; round++) {
            call *call = call_fetch(fixture, "/");
            check_ended(call, AFC_OK);
            /* A resumed connection is as verified as the first one. */
            const afc_trust_report *report = afc_result_get_trust(call->result);
            assert_non_null(report);
            assert_true(report->is_accepted);
            call_free(call);
        }
        afts_stats stats = afts_server_stats(fixture->server);
        assert_int_equal(stats.handshakes, ROUNDS);
        assert_int_equal(stats.handshakes_resumed, ROUNDS - 1);
        fixture_free(fixture);
        afts_bytes_free(response);
        afts_cert_free(shown);
    }
}

/** One session that ignores OCSP can resume, the other, which requires it, starts from nothing. */
static void session_accepted_without_ocsp_is_not_resumed_where_it_is_required(void **state) {
    (void)state;
    static const afts_tls_version versions[] = {AFTS_TLS_1_2, AFTS_TLS_1_3};
    for (size_t v = 0; v < COUNT_OF(versions); v++) {
        afts_tls server = {.min_version = versions[v], .max_version = versions[v]};
        fixture *lax = fixture_with(leaf, server, NULL, AFC_OCSP_IGNORE);
        serve(lax, "/", answer(200, "Connection: close", "ok"));
        fixture *strict = fixture_with(leaf, server, NULL, AFC_OCSP_REQUIRE);
        fixture mixed = {.server = lax->server, .session = strict->session};
        for (int round = 0; round < 2; round++) {
            check_fetch(lax, "/", AFC_OK);
            check_fetch(&mixed, "/", AFC_EUNTRUSTED);
        }
        assert_int_equal(afts_server_stats(lax->server).requests, 2);
        assert_int_equal(afts_server_stats(lax->server).handshakes_resumed, 1);
        fixture_free(strict);
        fixture_free(lax);
    }
}

/* ---- Client certificates (S33) ------------------------------------------------------------- */

static const afts_cert_options of_client = {.client = true, .common_name = "Client", .hosts = ""};

static void check_shown(const afc_tls_options *client, const char *host, const char *subject) {
    static const afts_tls_version versions[] = {AFTS_TLS_1_2, AFTS_TLS_1_3};
    for (size_t v = 0; v < COUNT_OF(versions); v++) {
        afts_tls server = {.min_version = versions[v],
                           .max_version = versions[v],
                           .client_ca_pem = afts_cert_pem(authority)};
        fixture *fixture = fixture_with(leaf, server, client, AFC_OCSP_IGNORE);
        call *call = call_new(fixture, "/");
        call->request.url = text_of(fixture, "https://%s:%u/", host,
                                    (unsigned)afts_server_port(fixture->server));
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        afts_connection *connection = afts_copy_connection(fixture->server, 0);
        assert_string_equal(connection->client_subject, subject);
        afts_connection_free(connection);
        fixture_free(fixture);
    }
}

static void accepts_client_certificate_in_each_format(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    afts_cert *middle = afts_cert_new(
        &(afts_cert_options){.authority = true, .common_name = "Middle"}, authority);
    afts_cert *cert = afts_cert_new(&of_client, middle);
    afc_client_certificate source = {.certificate = afc_slice_of(afts_cert_chain_pem(cert)),
                                     .key = afc_slice_of(afts_cert_key_pem(cert))};
    const afc_tls_options client = {.client_certificates = &source, .client_certificate_count = 1};
    check_shown(&client, "localhost", "/CN=Client");
    check_shown(NULL, "localhost", "");
    char both[8192];
    snprintf(both, sizeof both, "%s%s", afts_cert_key_pem(cert), afts_cert_chain_pem(cert));
    source = (afc_client_certificate){.certificate = afc_slice_of(both)};
    check_shown(&client, "localhost", "/CN=Client");
    char *encrypted = afts_cert_encrypted_key_pem(cert, "open sesame");
    source = (afc_client_certificate){.certificate = afc_slice_of(afts_cert_chain_pem(cert)),
                                      .key = afc_slice_of(encrypted),
                                      .password = "open sesame"};
    check_shown(&client, "localhost", "/CN=Client");
    write_file(path_in(&folder, "cert.pem"), source.certificate);
    write_file(path_in(&folder, "key.pem"), source.key);
    source = (afc_client_certificate){.certificate_path = path_in(&folder, "cert.pem"),
                                      .key_path = path_in(&folder, "key.pem"),
                                      .password = "open sesame"};
    check_shown(&client, "localhost", "/CN=Client");
    size_t size;
    afts_cert *direct = afts_cert_new(&of_client, authority);
    uint8_t *bundle = afts_cert_pkcs12(direct, "secret", &size);
    source = (afc_client_certificate){.certificate = {(const char *)bundle, size},
                                      .password = "secret"};
    check_shown(&client, "localhost", "/CN=Client");
    afts_bytes_free(encrypted);
    afts_bytes_free(bundle);
    afts_cert_free(direct);
    afts_cert_free(cert);
    afts_cert_free(middle);
    folder_remove(&folder);
}

static void host_can_have_its_own_client_certificate(void **state) {
    (void)state;
    static const char *const hosts[] = {NULL, "localhost", "127.0.0.1", "elsewhere.test"};
    static const char *const names[] = {"Any", "Name", "Address", "Elsewhere"};
    afts_cert *certs[COUNT_OF(hosts)];
    afc_client_certificate sources[COUNT_OF(hosts)];
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        afts_cert_options options = of_client;
        options.common_name = names[i];
        certs[i] = afts_cert_new(&options, authority);
        sources[i] = (afc_client_certificate){.host = hosts[i],
                                              .certificate = afc_slice_of(afts_cert_pem(certs[i])),
                                              .key = afc_slice_of(afts_cert_key_pem(certs[i]))};
    }
    afc_tls_options client = {.client_certificates = sources, .client_certificate_count = 4};
    check_shown(&client, "localhost", "/CN=Name");
    check_shown(&client, "LocalHost", "/CN=Name");
    check_shown(&client, "127.0.0.1", "/CN=Address");
    sources[1].host = "*.localhost";
    check_shown(&client, "localhost", "/CN=Any");
    sources[1].host = "localhost";
    client.client_certificates = sources + 3;
    client.client_certificate_count = 1;
    check_shown(&client, "localhost", "");
    for (size_t i = 0; i < COUNT_OF(certs); i++) afts_cert_free(certs[i]);
}

static void refuses_invalid_certificate_or_key_at_once(void **state) {
    (void)state;
    afts_cert *cert = afts_cert_new(&of_client, authority);
    afts_cert *weak = afts_cert_new(
        &(afts_cert_options){.client = true, .rsa = true, .rsa_bits = 512, .hosts = ""}, authority);
    char *encrypted = afts_cert_encrypted_key_pem(cert, "open sesame");
    size_t size;
    uint8_t *bundle = afts_cert_pkcs12(cert, "secret", &size);
    const afc_slice good = afc_slice_of(afts_cert_pem(cert)), file = {(const char *)bundle, size};
    const struct {
        afc_client_certificate source;
        afc_status status;
        const char *part;
    } cases[] = {
        {{.certificate = {NULL, 1}}, AFC_EINVAL, "has a size but no bytes"},
        {{.certificate = good, .key = {NULL, 1}}, AFC_EINVAL, "has a size but no bytes"},
        {{.certificate = S_INIT("no certificate")}, AFC_EINVAL, "invalid client certificate"},
        {{.certificate = good}, AFC_EINVAL, "no private key in"},
        {{.certificate = good, .key = S_INIT("no key")}, AFC_EINVAL, "no private key in"},
        {{.certificate = good, .key = afc_slice_of(afts_cert_key_pem(leaf))},
         AFC_EINVAL,
         "doesn't match"},
        {{.certificate = good, .key = afc_slice_of(encrypted)}, AFC_EINVAL, "password"},
        {{.certificate = good, .key = afc_slice_of(encrypted), .password = "wrong"},
         AFC_EINVAL,
         "password"},
        {{.certificate = file}, AFC_EINVAL, "password"},
        {{.certificate = file, .password = "wrong"}, AFC_EINVAL, "password"},
        {{.certificate_path = "/dev/null/none"}, AFC_EFILE, "/dev/null/none"},
        {{.certificate = good, .key_path = "/dev/null/none"}, AFC_EFILE, "/dev/null/none"},
        {{.certificate_path = "/dev/null"}, AFC_EINVAL, "/dev/null"},
        {{.certificate = afc_slice_of(afts_cert_pem(weak)),
          .key = afc_slice_of(afts_cert_key_pem(weak))},
         AFC_EINVAL,
         "refused"},
        {{.certificate = good, .key = afc_slice_of(afts_cert_key_pem(cert)), .host = "a..b"},
         AFC_EINVAL,
         "host"},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc_tls_options options = {.client_certificates = &cases[i].source,
                                   .client_certificate_count = 1};
        check_refused(&options, cases[i].status, cases[i].part);
    }
    afts_bytes_free(encrypted);
    afts_bytes_free(bundle);
    afts_cert_free(weak);
    afts_cert_free(cert);
}

/** A server that refuses the client says so in an alert, in TLS 1.3 only after the request. */
static void refused_client_certificate_fails_with_tls(void **state) {
    (void)state;
    afts_cert *stranger = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    afts_cert *theirs = afts_cert_new(&of_client, stranger);
    afts_cert_options old = of_client;
    old.not_before_s = -2 * 86400, old.not_after_s = -86400;
    afts_cert *expired = afts_cert_new(&old, authority);
    const afts_cert *shown[] = {NULL, theirs, expired};
    static const afts_tls_version versions[] = {AFTS_TLS_1_2, AFTS_TLS_1_3};
    for (size_t i = 0; i < COUNT_OF(shown) * COUNT_OF(versions); i++) {
        const afts_cert *one = shown[i / COUNT_OF(versions)];
        afts_tls server = {.min_version = versions[i % COUNT_OF(versions)],
                           .max_version = versions[i % COUNT_OF(versions)],
                           .client_ca_pem = afts_cert_pem(authority),
                           .client_certificate_required = true};
        afc_client_certificate source = {0};
        afc_tls_options client = {.client_certificates = &source};
        if (one != NULL) {
            source.certificate = afc_slice_of(afts_cert_pem(one));
            source.key = afc_slice_of(afts_cert_key_pem(one));
            client.client_certificate_count = 1;
        }
        fixture *fixture = fixture_with(leaf, server, &client, AFC_OCSP_IGNORE);
        call *call = call_new(fixture, "/");
        call_send(call, "POST", S("a body"));
        call_perform(call);
        check_ended(call, AFC_ETLS);
        check_contains(call->failure.text, "the server closed the TLS connection");
        /* TLS 1.2 has no alert for a missing certificate. */
        afc_reason missing = server.min_version == AFTS_TLS_1_3 ? AFC_REASON_CERTIFICATE_REQUIRED
                                                                : AFC_REASON_HANDSHAKE_REFUSED;
        assert_int_equal(call->failure.reason,
                         one != NULL ? AFC_REASON_CERTIFICATE_REFUSED : missing);
        call_free(call);
        assert_int_equal(afts_server_stats(fixture->server).requests, 0);
        fixture_free(fixture);
    }
    afts_cert_free(expired);
    afts_cert_free(theirs);
    afts_cert_free(stranger);
}

/* ---- Chosen when a server asks ------------------------------------------------------------- */

/** What the callback shall do, and what it was told; asserted elsewhere than on the loop thread. */
typedef struct chooser {
    const afts_cert *shown; /**< NULL: nothing is said, or with `declines` that there is none. */
    bool declines;
    afc_status status; /**< To return. */
    int asked;
    char host[64], authority[64];
    afc_status beyond, showing;
    afc_failure failure;
    int anchors; /**< Certificates that libcurl read for the connection. */
} chooser;

static int count_anchors(const SSL *ssl) {
    int count = 0;
    STACK_OF(X509_OBJECT) *objects = X509_STORE_get0_objects(
        SSL_CTX_get_cert_store(SSL_get_SSL_CTX(ssl)));
    for (int i = 0; i < sk_X509_OBJECT_num(objects); i++) {
        if (X509_OBJECT_get_type(sk_X509_OBJECT_value(objects, i)) == X509_LU_X509) count++;
    }
    return count;
}

static afc_status choose(void *context, afc_certificate_request *request) {
    chooser *chooser = context;
    char *name = NULL;
    chooser->asked++;
    chooser->anchors += count_anchors(request->ssl);
    size_t count = afc_certificate_request_get_authority_count(request);
    afc_certificate_request_copy_authority(&name, request, 0);
    snprintf(chooser->host, sizeof chooser->host, "%s", afc_certificate_request_get_host(request));
    snprintf(chooser->authority, sizeof chooser->authority, "%zu: %s", count,
             name != NULL ? name : "-");
    afc_free(name);
    chooser->beyond = afc_certificate_request_copy_authority(&name, request, count);
    if (chooser->declines) afc_certificate_request_decline(request);
    if (chooser->shown != NULL) {
        const afc_client_certificate source = {
            .host = "elsewhere.test",
            .certificate = afc_slice_of(afts_cert_pem(chooser->shown)),
            .key = afc_slice_of(afts_cert_key_pem(chooser->shown))};
        chooser->showing = afc_certificate_request_show(request, &source, &chooser->failure);
    }
    return chooser->status;
}

static void callback_chooses_the_client_certificate(void **state) {
    (void)state;
    afts_cert_options named = of_client;
    named.common_name = "Fixed";
    afts_cert *fixed = afts_cert_new(&named, authority);
    named.common_name = "Chosen";
    afts_cert *chosen = afts_cert_new(&named, authority);
    const afc_client_certificate source = {.certificate = afc_slice_of(afts_cert_pem(fixed)),
                                           .key = afc_slice_of(afts_cert_key_pem(fixed))};
    chooser chooser = {.shown = NULL};
    afc_tls_options client = {.certificate_handler = {&chooser, choose}};
    check_shown(&client, "localhost", "");
    assert_int_equal(chooser.asked, 2);
    /* They would cost 30 ms for each connection. */
    assert_int_equal(chooser.anchors, 0);
    assert_string_equal(chooser.host, "localhost");
    assert_string_equal(chooser.authority, "1: CN=Test Authority");
    check_status(chooser.beyond, AFC_EINVAL);
    chooser.shown = chosen;
    check_shown(&client, "LocalHost", "/CN=Chosen");
    check_status(chooser.showing, AFC_OK);
    assert_string_equal(chooser.host, "localhost");
    client.client_certificates = &source;
    client.client_certificate_count = 1;
    check_shown(&client, "localhost", "/CN=Chosen");
    chooser.shown = NULL;
    check_shown(&client, "localhost", "/CN=Fixed");
    chooser.declines = true;
    check_shown(&client, "localhost", "");
    afts_cert_free(chosen);
    afts_cert_free(fixed);
}

static void failing_callback_ends_the_handshake(void **state) {
    (void)state;
    afts_cert *weak = afts_cert_new(
        &(afts_cert_options){.client = true, .rsa = true, .rsa_bits = 512, .hosts = ""}, authority);
    chooser chooser = {.shown = weak};
    static const struct {
        afc_status returned, status;
        const char *text;
    } rows[] = {
        {AFC_ECANCELED, AFC_ECANCELED, "chose no client certificate"},
        {AFC_EAUTH, AFC_EAUTH, "chose no client certificate"},
        {(afc_status)1, AFC_EINVAL, "certificate_handler.choose returned 1: expected AFC_OK"}};
    const afc_tls_options client = {.certificate_handler = {&chooser, choose}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        chooser.status = rows[i].returned;
        afts_tls server = {.client_ca_pem = afts_cert_pem(authority)};
        fixture *fixture = fixture_with(leaf, server, &client, AFC_OCSP_IGNORE);
        call *call = call_new(fixture, "/");
        call->request.url = text_of(fixture, "https://localhost:%u/",
                                    (unsigned)afts_server_port(fixture->server));
        call_perform(call);
        check_ended(call, rows[i].status);
        check_contains(call->failure.text, rows[i].text);
        call_free(call);
        check_status(chooser.showing, AFC_EINVAL);
        check_contains(chooser.failure.text, "OpenSSL refused the client certificate");
        assert_int_equal(afts_server_stats(fixture->server).requests, 0);
        fixture_free(fixture);
    }
    /* What can't be shown leaves no half of it behind. */
    chooser.status = AFC_OK;
    check_shown(&client, "localhost", "");
    afts_cert_free(weak);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    afts_cert *cert = afts_cert_new(&of_client, authority);
    folder folder;
    folder_make(&folder);
    write_file(path_in(&folder, "cert.pem"), afc_slice_of(afts_cert_pem(cert)));
    write_file(path_in(&folder, "key.pem"), afc_slice_of(afts_cert_key_pem(cert)));
    const afc_client_certificate source = {.certificate_path = path_in(&folder, "cert.pem"),
                                           .key_path = path_in(&folder, "key.pem")};
    TORTURE(n) {
        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        options.tls = (afc_tls_options){.ciphers = "ECDHE-ECDSA-CHACHA20-POLY1305",
                                        .cipher_suites = "TLS_CHACHA20_POLY1305_SHA256",
                                        .client_certificates = &source,
                                        .client_certificate_count = 1};
        afc_session *session;
        afc_status status = afc_session_new(&session, &options, NULL);
        assert_true(status == AFC_OK || status == AFC_ENOMEM || status == AFC_EINTERNAL);
        afc_session_release(session);
        afc_join_closed_sessions();
    }
    folder_remove(&folder);
    afts_cert_free(cert);
}

int main(void) {
    char log[] = "/tmp/afcore-keys-XXXXXX";
    int file = mkstemp(log);
    /* Before libcurl is initialised, which is when it looks. */
    if (file < 0 || setenv("SSLKEYLOGFILE", log, 1) != 0) return 1;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(logs_keys_only_if_asked),
        cmocka_unit_test(refuses_versions_outside_the_range),
        cmocka_unit_test(uses_the_ciphers_of_the_session),
        cmocka_unit_test(refuses_options_that_openssl_refuses),
        cmocka_unit_test(checks_stapled_ocsp_if_asked),
        cmocka_unit_test(response_without_an_end_confirms_nothing),
        cmocka_unit_test(checks_ocsp_as_of_the_time_of_the_policy),
        cmocka_unit_test(checks_ocsp_of_pinned_authority),
        cmocka_unit_test(resumes_session_whose_ocsp_response_was_checked),
        cmocka_unit_test(session_accepted_without_ocsp_is_not_resumed_where_it_is_required),
        cmocka_unit_test(session_with_evicted_verification_is_not_resumed),
        cmocka_unit_test(handshake_without_ocsp_response_is_never_resumed),
        cmocka_unit_test(accepts_client_certificate_in_each_format),
        cmocka_unit_test(host_can_have_its_own_client_certificate),
        cmocka_unit_test(refuses_invalid_certificate_or_key_at_once),
        cmocka_unit_test(refused_client_certificate_fails_with_tls),
        cmocka_unit_test(callback_chooses_the_client_certificate),
        cmocka_unit_test(failing_callback_ends_the_handshake),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, make_certificates, free_certificates);
}
