/* Proxies that ask who we are: in the clear, before a tunnel, and who never hears of it. */
#include "support/call.h"
#include "support/guard.h"
#include "support/relay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST "Digest realm=\"a proxy\", nonce=\"n%u\", qop=\"auth\", algorithm=SHA-256"

static call *call_via(world *world, const char *url, const char *proxy,
                      const afc_credentials *credentials) {
    call *call = call_new(world, "/");
    call->request.url = url;
    call->request.proxy = proxy;
    call->request.proxy_credentials = credentials;
    return call;
}

/** Of the world as a proxy. */
static const char *proxy_url(world *world, const char *userinfo) {
    return text_of(world, "http://%s%s", userinfo, url_of(world, "") + 7);
}

static void answers_proxy_challenge_of_plain_request(void **state) {
    world *world = *state;
    static const char *const challenges[] = {"Basic realm=x", DIGEST, "NTLM"};
    for (size_t i = 0; i < COUNT_OF(challenges) - !has_ntlm(); i++) {
        guard guard = {
            .challenges = {challenges[i]}, .user = "me", .password = "secret", .is_proxy = true};
        const char *url = text_of(world, "http://example.test/%zu?q", i);
        guard_path(world, text_of(world, "/%zu", i), &guard);
        check_answer(call_via(world, url, proxy_url(world, ""), &me), 200, 2);
        check_answer(call_via(world, url, proxy_url(world, ""), NULL), 407, 1);
        /* Those of the proxy's URL go out as Basic, and are good for more. */
        check_answer(call_via(world, url, proxy_url(world, "me:secret@"), NULL), 200,
                     i == 0 ? 1 : 2);
        check_answer(call_via(world, url, proxy_url(world, "me:wrong@"), NULL), i == 2 ? 200 : 407,
                     i == 0 ? 1 : 2);
    }
}

static void never_sends_server_credentials_to_proxy(void **state) {
    world *world = *state;
    guard guard = {
        .challenges = {"Basic realm=x"}, .user = "me", .password = "secret", .is_proxy = true};
    guard_path(world, "/", &guard);
    call *call = call_via(world, "http://example.test/", proxy_url(world, ""), NULL);
    call->request.credentials = &me;
    check_answer(call, 407, 1);
    /* A 407 of a server without any proxy is just its answer, and a 401 not the proxy's. */
    call = call_new(world, "/");
    call->request.credentials = call->request.proxy_credentials = &me;
    check_answer(call, 407, 1);
    struct guard server = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    guard_path(world, "/server", &server);
    check_answer(call_via(world, "http://example.test/server", proxy_url(world, ""), &me), 401, 1);
    for (size_t i = 0; i < afts_server_stats(world->server).requests; i++) {
        assert_string_equal(seen_header(world, i, "Authorization"), "");
        assert_string_equal(seen_header(world, i, "Proxy-Authorization"), "");
    }
}

static afc_challenge_decision at_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    call *call = context;
    char *seen = call->payload;
    snprintf(seen, 64, "%s %s %s:%u", challenge->is_proxy ? "proxy" : "server", challenge->realm,
             challenge->host, challenge->port);
    *credentials = me;
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
    world *world;
    relay *relay;
    const char *url;
} tunnel;

static tunnel make_tunnel(void) {
    world *world = world_new_tls();
    serve(world, "/", answer(200, NULL, "in"));
    const char *url = tls_url(world);
    return (tunnel){world, relay_new(world), url};
}

static void end_tunnel(tunnel *tunnel) {
    world_close_session(tunnel->world);
    relay_free(tunnel->relay);
    world_free(tunnel->world);
}

static void answers_proxy_challenge_of_tunnel(void **state) {
    (void)state;
    static const struct {
        const char *challenge, *admitted;
    } rows[] = {{"Basic realm=\"p\"", "Basic bWU6c2VjcmV0\r\n"},
                {"Digest realm=\"p\", nonce=\"n\", qop=auth", "Digest username=\"me\""},
                {"Basic realm=p, Digest realm=\"p\", nonce=n", "Digest username=\"me\""}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        tunnel tunnel = make_tunnel();
        relay_challenge(tunnel.relay, rows[i].challenge, rows[i].admitted);
        const char *proxy = relay_url(tunnel.relay, "http", NULL);
        check_answer(call_via(tunnel.world, tunnel.url, proxy, &me), 200, 2);
        assert_null(strstr(relay_seen(tunnel.relay, 0), "Proxy-Authorization"));
        check_contains(relay_seen(tunnel.relay, 1), rows[i].admitted);
        assert_string_equal(seen_header(tunnel.world, 0, "Proxy-Authorization"), "");
        const char *with_user = relay_url(tunnel.relay, "http", "me:secret");
        check_answer(call_via(tunnel.world, tunnel.url, with_user, NULL), 200, i == 0 ? 1 : 2);
        /* Nobody else may use what was authenticated. */
        call *call = call_via(tunnel.world, tunnel.url, proxy, NULL);
        call_perform(call);
        check_ended(call, AFC_EAUTH);
        call_free(call);
        end_tunnel(&tunnel);
    }
}

/** The first proxy asks and is answered; a redirect leads to another one, who asks as well. */
static void never_sends_credentials_to_another_proxy(void **state) {
    world *first = *state;
    tunnel second = make_tunnel();
    relay_challenge(second.relay, "Basic realm=x", "Basic bWU6c2VjcmV0\r\n");
    serve_once(first, "/from", answer(407, "Proxy-Authenticate: Basic realm=x", "who?"));
    serve(first, "/from", answer(302, text_of(first, "Location: %s", second.url), "moved"));
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.proxies = (afc_proxies){AFC_PROXIES_GIVEN,
                                    proxy_url(first, ""),
                                    relay_url(second.relay, "http", NULL),
                                    NULL,
                                    NULL,
                                    {0}};
    world_close_session(first);
    check_status(afc_session_new(&first->session, &options, NULL), AFC_OK);
    call *call = call_via(first, "http://example.test/from", NULL, &me);
    call_perform(call);
    check_ended(call, AFC_EAUTH);
    assert_string_equal(seen_header(first, 1, "Proxy-Authorization"), "Basic bWU6c2VjcmV0");
    assert_int_equal(relay_count(second.relay), 1);
    assert_null(strstr(relay_seen(second.relay, 0), "Proxy-Authorization"));
    call_free(call);
    world_close_session(first);
    end_tunnel(&second);
}

static void digest_covers_the_tunnel_target(void **state) {
    world *world = *state;
    guard guard = {.challenges = {DIGEST},
                   .user = "me",
                   .password = "secret",
                   .is_proxy = true,
                   .closes = true};
    guard_path(world, "example.test:443", &guard);
    call *call = call_via(world, "https://example.test/", proxy_url(world, ""), &me);
    call_perform(call);
    /* The tunnel leads nowhere. */
    assert_int_not_equal(call->failure.status, AFC_EAUTH);
    assert_int_equal(guard.asked, 1);
    assert_int_equal(guard.admitted, 1);
    check_contains(seen_header(world, 1, "Proxy-Authorization"), "uri=\"example.test:443\"");
    call_free(call);
}

static void callback_answers_tunnel_challenge(void **state) {
    (void)state;
    for (int is_later = 0; is_later < 2; is_later++) {
        tunnel tunnel = make_tunnel();
        char seen[64];
        relay_challenge(tunnel.relay, "Basic realm=\"the proxy\"", "Basic bWU6c2VjcmV0\r\n");
        const char *proxy = relay_url(tunnel.relay, "http", NULL);
        call *call = call_via(tunnel.world, tunnel.url, proxy, NULL);
        call->events.on_challenge = is_later ? at_challenge_later : at_challenge;
        call->payload = seen;
        check_answer(call, 200, 2);
        check_contains(seen, "proxy the proxy 127.0.0.1:");
        assert_string_equal(strrchr(seen, ':'), strrchr(proxy, ':'));
        /* Refused, it is as if nobody had been asked. */
        relay_challenge(tunnel.relay, "Basic realm=\"the proxy\"", "Basic other");
        call = call_via(tunnel.world, tunnel.url, proxy, NULL);
        call->events.on_challenge = is_later ? at_challenge_later : at_challenge;
        call->payload = seen;
        call_perform(call);
        check_ended(call, AFC_EAUTH);
        call_free(call);
        end_tunnel(&tunnel);
    }
}

static void limits_heads_of_tunnels(void **state) {
    world *world = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 407 No\r\n");
    afts_send_repeated(script, "A: b\r\n", 6, AFTS_FOREVER);
    serve(world, "example.test:443", script);
    call *call = call_via(world, "https://example.test/", proxy_url(world, ""), &me);
    call_perform(call);
    check_ended(call, AFC_ETOOBIG);
    call_free(call);
}

int main(void) {
    setenv("KRB5_CONFIG", "/dev/null", 1);
    const struct CMUnitTest tests[] = {
        WORLD_TEST(answers_proxy_challenge_of_plain_request),
        WORLD_TEST(never_sends_server_credentials_to_proxy),
        cmocka_unit_test(answers_proxy_challenge_of_tunnel),
        WORLD_TEST(never_sends_credentials_to_another_proxy),
        WORLD_TEST(digest_covers_the_tunnel_target),
        cmocka_unit_test(callback_answers_tunnel_challenge),
        WORLD_TEST(limits_heads_of_tunnels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
