/* Proxies that ask who we are: in the clear, before a tunnel, and who never hears of it. */
#include "support/auth_server.h"
#include "support/call.h"
#include "support/test_proxy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST "Digest realm=\"a proxy\", nonce=\"n%u\", qop=\"auth\", algorithm=SHA-256"

static call *call_via(fixture *fixture, const char *url, const char *proxy,
                      const afc_credentials *credentials) {
    call *call = call_new(fixture, "/");
    call->request.url = url;
    call->request.proxy = proxy;
    call->request.proxy_credentials = credentials;
    return call;
}

/** Returns the URL of the fixture as a proxy. */
static const char *proxy_url(fixture *fixture, const char *userinfo) {
    return text_of(fixture, "http://%s%s", userinfo, url_of(fixture, "") + 7);
}

static void answers_proxy_challenge_of_plain_request(void **state) {
    fixture *fixture = *state;
    static const char *const challenges[] = {"Basic realm=x", DIGEST, "NTLM"};
    for (size_t i = 0; i < COUNT_OF(challenges) - !has_ntlm(); i++) {
        auth_server auth_server = {
            .challenges = {challenges[i]}, .user = "me", .password = "secret", .is_proxy = true};
        const char *url = text_of(fixture, "http://example.test/%zu?q", i);
        auth_server_path(fixture, text_of(fixture, "/%zu", i), &auth_server);
        check_answer(call_via(fixture, url, proxy_url(fixture, ""), &valid_credentials), 200, 2);
        check_answer(call_via(fixture, url, proxy_url(fixture, ""), NULL), 407, 1);
        /* Those of the proxy's URL go out as Basic, and are good for more. */
        check_answer(call_via(fixture, url, proxy_url(fixture, "me:secret@"), NULL), 200,
                     i == 0 ? 1 : 2);
        check_answer(call_via(fixture, url, proxy_url(fixture, "me:wrong@"), NULL),
                     i == 2 ? 200 : 407, i == 0 ? 1 : 2);
    }
}

static void never_sends_server_credentials_to_proxy(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {
        .challenges = {"Basic realm=x"}, .user = "me", .password = "secret", .is_proxy = true};
    auth_server_path(fixture, "/", &auth_server);
    call *call = call_via(fixture, "http://example.test/", proxy_url(fixture, ""), NULL);
    call->request.credentials = &valid_credentials;
    check_answer(call, 407, 1);
    /* A 407 of a server without any proxy is just its answer, and a 401 not the proxy's. */
    call = call_new(fixture, "/");
    call->request.credentials = call->request.proxy_credentials = &valid_credentials;
    check_answer(call, 407, 1);
    struct auth_server server = {
        .challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/server", &server);
    check_answer(
        call_via(fixture, "http://example.test/server", proxy_url(fixture, ""), &valid_credentials),
        401, 1);
    for (size_t i = 0; i < afts_server_stats(fixture->server).requests; i++) {
        assert_string_equal(seen_header(fixture, i, "Authorization"), "");
        assert_string_equal(seen_header(fixture, i, "Proxy-Authorization"), "");
    }
}

static afc_challenge_decision at_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    call *call = context;
    char *seen = call->payload;
    snprintf(seen, 64, "%s %s %s:%u", challenge->is_proxy ? "proxy" : "server", challenge->realm,
             challenge->host, challenge->port);
    *credentials = valid_credentials;
    return challenge->failures == 0 ? AFC_CHALLENGE_USE : AFC_CHALLENGE_DEFAULT;
}

static afc_challenge_decision at_challenge_later(void *context, const afc_challenge *challenge,
                                                 afc_credentials *credentials) {
    call *call = context;
    if (at_challenge(context, challenge, credentials) != AFC_CHALLENGE_USE) {
        return AFC_CHALLENGE_DEFAULT;
    }
    afc_task_answer_challenge(call->task, challenge->number, AFC_CHALLENGE_USE, credentials);
    return AFC_CHALLENGE_LATER;
}

typedef struct tunnel {
    fixture *fixture;
    test_proxy *test_proxy;
    const char *url;
} tunnel;

static tunnel make_tunnel(void) {
    fixture *fixture = fixture_new_tls();
    serve(fixture, "/", answer(200, NULL, "in"));
    const char *url = tls_url(fixture);
    return (tunnel){fixture, test_proxy_new(fixture), url};
}

static void end_tunnel(tunnel *tunnel) {
    fixture_close_session(tunnel->fixture);
    test_proxy_free(tunnel->test_proxy);
    fixture_free(tunnel->fixture);
}

static void answers_proxy_challenge_of_tunnel(void **state) {
    (void)state;
    static const struct {
        const char *challenge, *challenges_accepted;
    } rows[] = {{"Basic realm=\"p\"", "Basic bWU6c2VjcmV0\r\n"},
                {"Digest realm=\"p\", nonce=\"n\", qop=auth", "Digest username=\"me\""},
                {"Basic realm=p, Digest realm=\"p\", nonce=n", "Digest username=\"me\""}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tunnel tunnel = make_tunnel();
        test_proxy_challenge(tunnel.test_proxy, rows[i].challenge, rows[i].challenges_accepted);
        const char *proxy = test_proxy_url(tunnel.test_proxy, "http", NULL);
        check_answer(call_via(tunnel.fixture, tunnel.url, proxy, &valid_credentials), 200, 2);
        assert_null(strstr(test_proxy_request(tunnel.test_proxy, 0), "Proxy-Authorization"));
        check_contains(test_proxy_request(tunnel.test_proxy, 1), rows[i].challenges_accepted);
        assert_string_equal(seen_header(tunnel.fixture, 0, "Proxy-Authorization"), "");
        const char *with_user = test_proxy_url(tunnel.test_proxy, "http", "me:secret");
        check_answer(call_via(tunnel.fixture, tunnel.url, with_user, NULL), 200, i == 0 ? 1 : 2);
        /* Nobody else may use what was authenticated. */
        call *call = call_via(tunnel.fixture, tunnel.url, proxy, NULL);
        call_perform(call);
        check_ended(call, AFC_EAUTH);
        call_free(call);
        end_tunnel(&tunnel);
    }
}

/** The first proxy asks and is answered; a redirect leads to another one, who asks as well. */
static void never_sends_credentials_to_another_proxy(void **state) {
    fixture *first = *state;
    tunnel second = make_tunnel();
    test_proxy_challenge(second.test_proxy, "Basic realm=x", "Basic bWU6c2VjcmV0\r\n");
    serve_once(first, "/from", answer(407, "Proxy-Authenticate: Basic realm=x", "who?"));
    serve(first, "/from", answer(302, text_of(first, "Location: %s", second.url), "moved"));
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.proxies = (afc_proxies){AFC_PROXIES_GIVEN,
                                    proxy_url(first, ""),
                                    test_proxy_url(second.test_proxy, "http", NULL),
                                    NULL,
                                    NULL,
                                    {0}};
    fixture_close_session(first);
    check_status(afc_session_new(&first->session, &options, NULL), AFC_OK);
    call *call = call_via(first, "http://example.test/from", NULL, &valid_credentials);
    call_perform(call);
    check_ended(call, AFC_EAUTH);
    assert_string_equal(seen_header(first, 1, "Proxy-Authorization"), "Basic bWU6c2VjcmV0");
    assert_int_equal(test_proxy_count(second.test_proxy), 1);
    assert_null(strstr(test_proxy_request(second.test_proxy, 0), "Proxy-Authorization"));
    call_free(call);
    fixture_close_session(first);
    end_tunnel(&second);
}

static void digest_covers_the_tunnel_target(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {.challenges = {DIGEST},
                               .user = "me",
                               .password = "secret",
                               .is_proxy = true,
                               .closes = true};
    auth_server_path(fixture, "example.test:443", &auth_server);
    call *call = call_via(fixture, "https://example.test/", proxy_url(fixture, ""),
                          &valid_credentials);
    call_perform(call);
    /* The tunnel leads nowhere. */
    assert_int_not_equal(call->failure.status, AFC_EAUTH);
    assert_int_equal(auth_server.challenges_sent, 1);
    assert_int_equal(auth_server.challenges_accepted, 1);
    check_contains(seen_header(fixture, 1, "Proxy-Authorization"), "uri=\"example.test:443\"");
    call_free(call);
}

static void callback_answers_tunnel_challenge(void **state) {
    (void)state;
    for (int is_later = 0; is_later < 2; is_later++) {
        tunnel tunnel = make_tunnel();
        char seen[64];
        test_proxy_challenge(tunnel.test_proxy, "Basic realm=\"the proxy\"",
                             "Basic bWU6c2VjcmV0\r\n");
        const char *proxy = test_proxy_url(tunnel.test_proxy, "http", NULL);
        call *call = call_via(tunnel.fixture, tunnel.url, proxy, NULL);
        call->events.on_challenge = is_later ? at_challenge_later : at_challenge;
        call->payload = seen;
        check_answer(call, 200, 2);
        check_contains(seen, "proxy the proxy 127.0.0.1:");
        assert_string_equal(strrchr(seen, ':'), strrchr(proxy, ':'));
        /* Refused, it is as if no credentials had been asked for. */
        test_proxy_challenge(tunnel.test_proxy, "Basic realm=\"the proxy\"", "Basic other");
        call = call_via(tunnel.fixture, tunnel.url, proxy, NULL);
        call->events.on_challenge = is_later ? at_challenge_later : at_challenge;
        call->payload = seen;
        call_perform(call);
        check_ended(call, AFC_EAUTH);
        call_free(call);
        end_tunnel(&tunnel);
    }
}

static void limits_heads_of_tunnels(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 407 No\r\n");
    afts_send_repeated(script, "A: b\r\n", 6, AFTS_FOREVER);
    serve(fixture, "example.test:443", script);
    call *call = call_via(fixture, "https://example.test/", proxy_url(fixture, ""),
                          &valid_credentials);
    call_perform(call);
    check_ended(call, AFC_ETOOBIG);
    call_free(call);
}

int main(void) {
    setenv("KRB5_CONFIG", "/dev/null", 1);
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(answers_proxy_challenge_of_plain_request),
        FIXTURE_TEST(never_sends_server_credentials_to_proxy),
        cmocka_unit_test(answers_proxy_challenge_of_tunnel),
        FIXTURE_TEST(never_sends_credentials_to_another_proxy),
        FIXTURE_TEST(digest_covers_the_tunnel_target),
        cmocka_unit_test(callback_answers_tunnel_challenge),
        FIXTURE_TEST(limits_heads_of_tunnels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
