/* What errors say of a TLS handshake that the peer ended, or couldn't take part in. */
#include "support/call.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/** Accepts connections until it is freed. Answers the first bytes of each with bytes of its own, and closes it. */
typedef struct peer {
    int listener;
    afc_slice answer;
    bool resets;
    pthread_t thread;
    char address[32]; /**< IP:PORT */
} peer;

static void *answer_handshakes(void *context) {
    peer *peer = context;
    int connection;
    while ((connection = accept(peer->listener, NULL, NULL)) >= 0) {
        char hello[4096];
        const struct linger at_once = {.l_onoff = 1};
        /* The whole hello: a rest that wasn't read would make each close a reset. */
        if (recv(connection, hello, sizeof hello, 0) > 0)
            (void)!write(connection, peer->answer.bytes, peer->answer.size);
        if (peer->resets) setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(connection);
    }
    return NULL;
}

static void peer_start(peer *peer, afc_slice answer, bool resets) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    peer->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    peer->answer = answer;
    peer->resets = resets;
    assert_int_equal(bind(peer->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(peer->listener, 8), 0);
    assert_int_equal(getsockname(peer->listener, (struct sockaddr *)&address, &size), 0);
    snprintf(peer->address, sizeof peer->address, "127.0.0.1:%d", ntohs(address.sin_port));
    assert_int_equal(pthread_create(&peer->thread, NULL, answer_handshakes, peer), 0);
}

static void peer_end(peer *peer) {
    shutdown(peer->listener, SHUT_RDWR);
    pthread_join(peer->thread, NULL);
    close(peer->listener);
}

/** Connects to the peer as a server, and as a proxy. */
static void check_named(const char *answer, bool resets, const char *sentence, afc_reason reason) {
    peer peer;
    peer_start(&peer, afc_slice_of(answer), resets);
    for (int is_proxy = 0; is_proxy < 2; is_proxy++) {
        fixture *fixture = fixture_new(NULL, NULL);
        call *call = call_new(fixture, "/");
        const char *url = text_of(fixture, "https://%s", peer.address);
        call->request.url = is_proxy ? "http://a.test/" : url;
        if (is_proxy) call->request.proxy = url;
        call_perform(call);
        check_ended(call, AFC_ETLS);
        check_contains(call->failure.text,
                       text_of(fixture, "the %s %s (", is_proxy ? "proxy" : "server", sentence));
        assert_null(strstr(call->failure.text, " )"));
        assert_int_equal(call->failure.reason, reason);
        assert_int_equal(call->failure.party, is_proxy ? AFC_PARTY_PROXY : AFC_PARTY_SERVER);
        call_free(call);
        fixture_free(fixture);
    }
    peer_end(&peer);
}

static void peer_without_tls_is_named(void **state) {
    (void)state;
    check_named("HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n", false,
                "doesn't use TLS on this port", AFC_REASON_NOT_TLS);
}

static void closed_connection_is_named(void **state) {
    (void)state;
    for (int resets = 0; resets < 2; resets++) {
        check_named("", resets == 1, "closed the connection during the TLS handshake",
                    AFC_REASON_NONE);
    }
}

/** Records of alerts: two bytes behind the header, level and number (RFC 8446 6). */
static void alert_is_named(void **state) {
    (void)state;
    static const struct {
        const char *record, *text;
        afc_reason reason;
    } rows[] = {
        {"\x15\x03\x03\x00\x02\x02\x50", "closed the TLS connection: internal error",
         AFC_REASON_NONE},
        {"\x15\x03\x03\x00\x02\x02\x70", "closed the TLS connection: unrecognized name",
         AFC_REASON_NONE},
        {"\x15\x03\x03\x00\x02\x02\x28", "closed the TLS connection: handshake failure",
         AFC_REASON_HANDSHAKE_REFUSED},
        {"\x15\x03\x03\x00\x02\x02\x46", "uses no allowed version of TLS (",
         AFC_REASON_TLS_VERSION},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        peer peer;
        /* One of its bytes is 0. */
        peer_start(&peer, (afc_slice){rows[i].record, 7}, false);
        fixture *fixture = fixture_new(NULL, NULL);
        call *call = call_new(fixture, "/");
        call->request.url = text_of(fixture, "https://%s", peer.address);
        call_perform(call);
        check_ended(call, AFC_ETLS);
        check_contains(call->failure.text, text_of(fixture, "the server %s", rows[i].text));
        assert_int_equal(call->failure.reason, rows[i].reason);
        call_free(call);
        fixture_free(fixture);
        peer_end(&peer);
    }
}

/** The version that either side refuses: the server by an alert, the client after the server's choice. */
static void version_is_named(void **state) {
    (void)state;
    afts_cert *cert = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    static const struct {
        afts_tls_version server;
        afc_tls_protocol min, max;
    } rows[] = {
        {AFTS_TLS_1_3, AFC_TLS_1_2, AFC_TLS_1_2},
        {AFTS_TLS_1_2, AFC_TLS_1_3, AFC_TLS_1_3},
        {AFTS_TLS_1_1, AFC_TLS_DEFAULT, AFC_TLS_DEFAULT},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afts_tls tls = {.chain_pem = afts_cert_chain_pem(cert),
                        .key_pem = afts_cert_key_pem(cert),
                        .min_version = rows[i].server,
                        .max_version = rows[i].server};
        afc_session_options options = AFC_SESSION_OPTIONS_INIT;
        options.tls = (afc_tls_options){.min_version = rows[i].min, .max_version = rows[i].max};
        fixture *fixture = fixture_new(&(afts_options){.tls = &tls}, &options);
        call *call = call_fetch(fixture, "/");
        check_ended(call, AFC_ETLS);
        check_contains(call->failure.text, "the server uses no allowed version of TLS (");
        assert_int_equal(call->failure.reason, AFC_REASON_TLS_VERSION);
        call_free(call);
        fixture_free(fixture);
    }
    afts_cert_free(cert);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peer_without_tls_is_named),
        cmocka_unit_test(closed_connection_is_named),
        cmocka_unit_test(alert_is_named),
        cmocka_unit_test(version_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
