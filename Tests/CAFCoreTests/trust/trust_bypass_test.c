/*
 * No verdict of one policy, or of one rule of it, serves another: not by a connection, a TLS session
 * or a recycled handle; and who is refused has seen nothing of the request.
 */
#include "support/authority.h"
#include "support/call.h"

#include <stdio.h>
#include <string.h>

static afts_cert *stranger;

static int make_all(void **state) {
    stranger = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    return make_certificates(state) == 0 && stranger != NULL ? 0 : -1;
}

static int free_all(void **state) {
    afts_cert_free(stranger);
    return free_certificates(state);
}

/** How a server lets sessions be resumed. */
typedef struct kind {
    afts_tls_version version;
    bool no_tickets;
    const char *headers; /**< Whether connections stay open. */
} kind;

static const kind kinds[] = {
    {AFTS_TLS_1_2, false, NULL}, {AFTS_TLS_1_2, false, "Connection: close"},
    {AFTS_TLS_1_2, true, NULL},  {AFTS_TLS_1_2, true, "Connection: close"},
    {AFTS_TLS_1_3, false, NULL}, {AFTS_TLS_1_3, false, "Connection: close"},
    {AFTS_TLS_1_3, true, NULL},  {AFTS_TLS_1_3, true, "Connection: close"},
};

static afts_server *server_of(const kind *kind) {
    afts_tls tls = {.chain_pem = afts_cert_chain_pem(leaf),
                    .key_pem = afts_cert_key_pem(leaf),
                    .min_version = kind->version,
                    .max_version = kind->version,
                    .no_tickets = kind->no_tickets};
    afts_server *server = afts_server_new(&(afts_options){.tls = &tls});
    assert_non_null(server);
    assert_int_equal(afts_server_start(server), 0);
    assert_int_equal(afts_route(server, NULL, "/", answer(200, kind->headers, "ok")), 0);
    return server;
}

static afc_session *session_of(const afc_trust_options *trust) {
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_session *session;
    check_status(afc_trust_policy_new(&options.trust, trust, NULL), AFC_OK);
    check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
    return session;
}

static afc_trust_options strict_trust(void) {
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    trust.anchors = afc_slice_of(afts_cert_pem(stranger));
    return trust;
}

static afc_trust_options lax_trust(void) {
    afc_trust_options trust = strict_trust();
    trust.everywhere.allow_invalid_certificates = true;
    return trust;
}

/** POST with a secret; a refusal must leave no trace of it at the server. */
static void check_post(afts_server *server, afc_session *session, const char *host,
                       afc_trust_reason expected) {
    static const afc_header secret[] = {{{"Authorization", 13}, {"Bearer", 6}, AFC_HEADER_SECRET}};
    fixture fixture = {.server = server, .session = session};
    afts_stats before = afts_server_stats(server);
    call *call = call_new(&fixture, "/");
    call->request.url = text_of(&fixture, "https://%s:%u/", host,
                                (unsigned)afts_server_port(server));
    call->request.headers = secret;
    call->request.header_count = 1;
    call_send(call, "POST", S("a body"));
    call_perform(call);
    bool is_fine = expected == AFC_TRUST_ACCEPTED;
    check_ended(call, is_fine ? AFC_OK : AFC_EUNTRUSTED);
    assert_string_equal(afc_trust_reason_name(call->failure.trust),
                        afc_trust_reason_name(expected));
    const afc_trust_report *report = afc_result_get_trust(call->result);
    assert_non_null(report);
    assert_int_equal(report->is_accepted, is_fine);
    call_free(call);
    afts_stats after = afts_server_stats(server);
    assert_int_equal(after.requests - before.requests, is_fine);
    if (is_fine) return;
    assert_int_equal(after.received, before.received);
    assert_int_equal(after.accepted, before.accepted + 1);
}

static void strict_session_reuses_nothing_of_a_lax_one(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        afc_trust_options lax = lax_trust(), strict = strict_trust();
        afts_server *server = server_of(&kinds[i]);
        afc_session *first = session_of(&lax), *second = session_of(&strict);
        for (int round = 0; round < 3; round++) {
            check_post(server, first, "localhost", AFC_TRUST_ACCEPTED);
            check_post(server, second, "localhost", AFC_TRUST_UNKNOWN_ISSUER);
        }
        /* What was to be walked around is there: the lax session did not shake hands three times. */
        afts_stats stats = afts_server_stats(server);
        bool stays_open = kinds[i].headers == NULL;
        assert_int_equal(stats.handshakes - stats.handshakes_resumed, 1);
        assert_int_equal(stats.handshakes_resumed, stays_open ? 0 : 2);
        afc_session_release(first);
        afc_session_release(second);
        afts_server_free(server);
    }
}

/** One session, one server, two names for it, each with a rule of its own; handles are recycled. */
static void strict_rule_reuses_nothing_of_a_lax_one(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        afc_trust_options trust = strict_trust();
        const afc_trust_rule rule = {.host = "localhost", .allow_invalid_certificates = true};
        trust.rules = &rule;
        trust.rule_count = 1;
        afts_server *server = server_of(&kinds[i]);
        afc_session *session = session_of(&trust);
        for (int round = 0; round < 5; round++) {
            check_post(server, session, "localhost", AFC_TRUST_ACCEPTED);
            check_post(server, session, "127.0.0.1", AFC_TRUST_UNKNOWN_ISSUER);
            check_post(server, session, "LOCALHOST", AFC_TRUST_ACCEPTED);
            check_post(server, session, "127.1", AFC_TRUST_UNKNOWN_ISSUER);
        }
        afc_session_release(session);
        afts_server_free(server);
    }
}

/** S28: a pinned name stays pinned, whichever of its connections and sessions were made first. */
static void checks_pins_on_each_connection(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
        trust.anchors = afc_slice_of(afts_cert_pem(authority));
        const afc_trust_rule rule = {.host = "localhost",
                                     .mode = AFC_PINNING_PUBLIC_KEY,
                                     .certificates = afc_slice_of(afts_cert_pem(stranger))};
        trust.rules = &rule;
        trust.rule_count = 1;
        afts_server *server = server_of(&kinds[i]);
        afc_session *session = session_of(&trust);
        for (int round = 0; round < 3; round++) {
            check_post(server, session, "127.0.0.1", AFC_TRUST_ACCEPTED);
            check_post(server, session, "localhost", AFC_TRUST_PIN);
            check_post(server, session, "LocalHost", AFC_TRUST_PIN);
        }
        afc_session_release(session);
        afts_server_free(server);
    }
}

/** S27: a handshake that ended in a refusal leaves nothing that could be resumed. */
static void refused_server_stays_refused(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        afc_trust_options strict = strict_trust();
        afts_server *server = server_of(&kinds[i]);
        afc_session *session = session_of(&strict);
        for (int round = 0; round < 5; round++) {
            check_post(server, session, "localhost", AFC_TRUST_UNKNOWN_ISSUER);
        }
        assert_int_equal(afts_server_stats(server).handshakes_resumed, 0);
        afc_session_release(session);
        afts_server_free(server);
    }
}

static void redirect_never_reaches_untrusted_server(void **state) {
    (void)state;
    static const int statuses[] = {302, 303, 307, 308};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        afts_server *first = server_of(&kinds[0]), *second = server_of(&kinds[5]);
        char location[128];
        snprintf(location, sizeof location, "Location: https://127.0.0.1:%u/",
                 (unsigned)afts_server_port(second));
        assert_int_equal(afts_route(first, NULL, "/", answer(statuses[i], location, "")), 0);
        afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
        trust.anchors = afc_slice_of(afts_cert_pem(authority));
        const afc_trust_rule rule = {.host = "127.0.0.1", .mode = AFC_PINNING_PUBLIC_KEY};
        trust.rules = &rule;
        trust.rule_count = 1;
        fixture fixture = {.server = first, .session = session_of(&trust)};
        call *call = call_new(&fixture, "/");
        call->request.url = text_of(&fixture, "https://localhost:%u/",
                                    (unsigned)afts_server_port(first));
        call_send(call, "POST", S("a body"));
        call_perform(call);
        check_ended(call, AFC_EUNTRUSTED);
        assert_int_equal(call->failure.trust, AFC_TRUST_PIN);
        assert_int_equal(call->hop_count, 2);
        assert_string_equal(afc_result_get_trust(call->result)->host, "127.0.0.1");
        call_free(call);
        assert_int_equal(afts_server_stats(second).received, 0);
        afc_session_release(fixture.session);
        afts_server_free(first);
        afts_server_free(second);
    }
}

/** Both a connection that is used again and a session that is resumed know what was shown first. */
static void each_result_has_the_chain(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
        trust.anchors = afc_slice_of(afts_cert_pem(authority));
        afts_server *server = server_of(&kinds[i]);
        fixture fixture = {.server = server, .session = session_of(&trust)};
        for (int round = 0; round < 3; round++) {
            call *call = call_fetch(&fixture, "/");
            check_ended(call, AFC_OK);
            const afc_trust_report *report = afc_result_get_trust(call->result);
            assert_non_null(report);
            assert_true(report->is_accepted && report->is_verified);
            assert_int_equal(report->chain_count, 2);
            assert_string_equal(report->host, "127.0.0.1");
            assert_ptr_equal(report, afc_result_get_trust(call->result));
            call_free(call);
        }
        afc_session_release(fixture.session);
        afts_server_free(server);
    }
    fixture *plain = fixture_new(NULL, NULL);
    call *call = call_fetch(plain, "/");
    assert_null(afc_result_get_trust(call->result));
    call_free(call);
    fixture_free(plain);
}

/** What afc_response_get_trust() had to say when the head was there. */
typedef struct shown {
    bool is_there, is_accepted, is_constant;
    char host[64];
} shown;

static afc_status look_at_head(call *call, afc_response *response) {
    shown *shown = call->payload;
    const afc_trust_report *report = afc_response_get_trust(response);
    shown->is_there = report != NULL;
    if (report == NULL) return AFC_OK;
    shown->is_accepted = report->is_accepted;
    shown->is_constant = report == afc_response_get_trust(response);
    snprintf(shown->host, sizeof shown->host, "%s", report->host);
    return AFC_OK;
}

static shown look(fixture *fixture, const char *url) {
    shown shown = {.is_there = false};
    call *call = call_new(fixture, "/");
    call->request.url = url;
    call->request.allow_downgrade = true;
    call->payload = &shown;
    call->at_head = look_at_head;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->head_count, 1);
    const afc_trust_report *last = afc_result_get_trust(call->result);
    assert_int_equal(last != NULL, shown.is_there);
    if (last != NULL) assert_string_equal(last->host, shown.host);
    call_free(call);
    return shown;
}

/** Whoever decides about a body can look at the chain first, and it is that of the server that answers. */
static void on_head_has_the_chain(void **state) {
    (void)state;
    fixture *plain = fixture_new(NULL, NULL);
    serve(plain, "/plain", answer(200, NULL, "here"));
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
        trust.anchors = afc_slice_of(afts_cert_pem(authority));
        afts_server *server = server_of(&kinds[i]);
        fixture fixture = {.server = server, .session = session_of(&trust)};
        unsigned port = afts_server_port(server);
        serve(&fixture, "/away",
              answer(302, text_of(&fixture, "Location: %s", url_of(plain, "/plain")), ""));
        serve(&fixture, "/other",
              answer(302, text_of(&fixture, "Location: https://localhost:%u/", port), ""));
        for (int round = 0; round < 3; round++) {
            shown shown = look(&fixture, text_of(&fixture, "https://127.0.0.1:%u/", port));
            assert_true(shown.is_there && shown.is_accepted && shown.is_constant);
            assert_string_equal(shown.host, "127.0.0.1");
            shown = look(&fixture, text_of(&fixture, "https://127.0.0.1:%u/other", port));
            assert_string_equal(shown.host, "localhost");
            assert_false(
                look(&fixture, text_of(&fixture, "https://127.0.0.1:%u/away", port)).is_there);
        }
        afc_session_release(fixture.session);
        afts_server_free(server);
    }
    fixture_free(plain);
}

/* ---- The handler ------------------------------------------------------------------------------ */

typedef struct witness {
    afc_trust_decision answer;
    afts_server *server;
    uint64_t received; /**< By the server, when the handler was asked. */
    int asked;
} witness;

static afc_trust_decision testify(void *context, const afc_trust_report *report) {
    (void)report;
    witness *witness = context;
    witness->asked++;
    witness->received += afts_server_stats(witness->server).received;
    return witness->answer;
}

static void callback_runs_before_anything_is_sent(void **state) {
    (void)state;
    static const struct {
        afc_trust_decision answer;
        bool is_trusted;
        afc_trust_reason expected;
    } cases[] = {
        {AFC_TRUST_DECISION_KEEP, true, AFC_TRUST_ACCEPTED},
        {AFC_TRUST_DECISION_KEEP, false, AFC_TRUST_UNKNOWN_ISSUER},
        {AFC_TRUST_DECISION_ACCEPT, false, AFC_TRUST_ACCEPTED},
        {AFC_TRUST_DECISION_REFUSE, true, AFC_TRUST_HANDLER},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afts_server *server = server_of(&kinds[4]);
        witness witness = {.answer = cases[i].answer, .server = server};
        afc_trust_options trust = strict_trust();
        if (cases[i].is_trusted) trust.anchors = afc_slice_of(afts_cert_pem(authority));
        trust.handler = (afc_trust_handler){&witness, testify, NULL};
        afc_session *session = session_of(&trust);
        check_post(server, session, "localhost", cases[i].expected);
        assert_int_equal(witness.asked, 1);
        assert_int_equal(witness.received, 0);
        afc_session_release(session);
        afc_join_closed_sessions();
        afts_server_free(server);
    }
}

/**
 * GET without TLS of a server on this machine, under a policy whose rule for "localhost" or, with NULL, for all is
 * this.
 */
static void check_plain(fixture *fixture, afc_trust_rule rule, const char *host,
                        afc_status expected) {
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    if (rule.host == NULL) {
        trust.everywhere = rule;
    } else {
        trust.rules = &rule;
        trust.rule_count = 1;
    }
    struct fixture own = {.server = fixture->server, .session = session_of(&trust)};
    size_t accepted = afts_server_stats(fixture->server).accepted;
    call *call = call_new(&own, "/");
    call->request.url = text_of(fixture, "http://%s:%u/", host,
                                (unsigned)afts_server_port(fixture->server));
    call_perform(call);
    check_ended(call, expected);
    if (expected == AFC_OK) {
        call_free(call);
    } else {
        check_contains(call->failure.text, "pins");
        check_contains(call->failure.text, "https");
        call_free(call);
        assert_int_equal(afts_server_stats(fixture->server).accepted, accepted);
    }
    afc_session_release(own.session);
}

/** S28: without TLS nothing could be compared with the pins. */
static void sends_nothing_without_tls_to_pinned_host(void **state) {
    (void)state;
    fixture *fixture = fixture_new(NULL, NULL);
    afc_slice certificates = afc_slice_of(afts_cert_pem(stranger));
    afc_trust_rule rule = {
        .host = "localhost", .mode = AFC_PINNING_PUBLIC_KEY, .certificates = certificates};
    serve(fixture, "/", answer(200, NULL, "ok"));
    check_plain(fixture, rule, "localhost", AFC_EINVAL);
    check_plain(fixture, rule, "LOCALHOST", AFC_EINVAL);
    check_plain(fixture, rule, "127.0.0.1", AFC_OK);
    rule.report_only = true;
    check_plain(fixture, rule, "localhost", AFC_OK);
    rule.report_only = false;
    rule.expires_s = 1;
    check_plain(fixture, rule, "localhost", AFC_OK);
    rule.expires_s = 0;
    rule.host = NULL;
    check_plain(fixture, rule, "127.0.0.1", AFC_EINVAL);
    fixture_free(fixture);
}

/** After a request was sent, AFC_EINVAL would say that it wasn't. */
static void redirect_without_tls_to_pinned_host_is_refused(void **state) {
    (void)state;
    fixture *fixture = fixture_new(NULL, NULL);
    afc_slice certificates = afc_slice_of(afts_cert_pem(stranger));
    const afc_trust_rule rule = {
        .host = "localhost", .mode = AFC_PINNING_PUBLIC_KEY, .certificates = certificates};
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    trust.rules = &rule;
    trust.rule_count = 1;
    struct fixture own = {.server = fixture->server, .session = session_of(&trust)};
    const char *location = text_of(fixture, "Location: http://localhost:%u/to",
                                   (unsigned)afts_server_port(fixture->server));
    serve(fixture, "/", answer(303, location, ""));
    call *call = call_new(&own, "/");
    call_send(call, "POST", S("a body"));
    call_perform(call);
    check_ended(call, AFC_EREDIRECT);
    check_contains(call->failure.text, "cannot follow the redirect: the trust policy has pins");
    assert_int_equal(call->hop_count, 1);
    assert_int_equal(call->hops[0].status, 303);
    call_free(call);
    assert_int_equal(afts_server_stats(fixture->server).requests, 1);
    afc_session_release(own.session);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strict_session_reuses_nothing_of_a_lax_one),
        cmocka_unit_test(strict_rule_reuses_nothing_of_a_lax_one),
        cmocka_unit_test(checks_pins_on_each_connection),
        cmocka_unit_test(refused_server_stays_refused),
        cmocka_unit_test(redirect_never_reaches_untrusted_server),
        cmocka_unit_test(each_result_has_the_chain),
        cmocka_unit_test(on_head_has_the_chain),
        cmocka_unit_test(callback_runs_before_anything_is_sent),
        cmocka_unit_test(sends_nothing_without_tls_to_pinned_host),
        cmocka_unit_test(redirect_without_tls_to_pinned_host_is_refused),
    };
    return cmocka_run_group_tests(tests, make_all, free_all);
}
