/* What errors say of a TLS handshake that the peer ended, or couldn't take part in. */
#include "support/call.h"
#include "support/relay.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/** A server and a proxy that speak HTTP where TLS is expected. */
static void peer_without_tls_is_named(void **state) {
    (void)state;
    world *world = world_new(NULL, NULL);
    relay *relay = relay_new(world);
    const char *url = text_of(world, "https://%s", strstr(url_of(world, "/"), "://") + 3);
    for (int is_proxy = 0; is_proxy < 2; is_proxy++) {
        call *call = call_new(world, "/");
        call->request.url = is_proxy ? "http://a.test/" : url;
        if (is_proxy) call->request.proxy = relay_url(relay, "https", NULL);
        call_perform(call);
        check_ended(call, AFC_ETLS);
        assert_int_equal(call->failure.reason, AFC_REASON_NOT_TLS);
        check_contains(call->failure.text, is_proxy ? "the proxy doesn't use TLS on this port ("
                                                    : "the server doesn't use TLS on this port (");
        call_free(call);
    }
    relay_free(relay);
    world_free(world);
}

/** Accepts connections until the listener is shut down; ends each at the first byte. */
typedef struct closer {
    int listener;
    bool resets;
} closer;

static void *close_handshakes(void *context) {
    closer *closer = context;
    int connection;
    while ((connection = accept(closer->listener, NULL, NULL)) >= 0) {
        char hello[4096];
        const struct linger at_once = {.l_onoff = 1};
        /* All of it: a rest that wasn't read makes a close a reset. */
        ssize_t size = recv(connection, hello, sizeof hello, 0);
        if (size > 0 && closer->resets)
            setsockopt(connection, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
        close(connection);
    }
    return NULL;
}

static void connection_closed_in_the_handshake_is_named(void **state) {
    (void)state;
    for (int resets = 0; resets < 2; resets++) {
        struct sockaddr_in address = {.sin_family = AF_INET,
                                      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t size = sizeof address;
        closer closer = {socket(AF_INET, SOCK_STREAM, 0), resets == 1};
        pthread_t thread;
        assert_int_equal(bind(closer.listener, (struct sockaddr *)&address, size), 0);
        assert_int_equal(listen(closer.listener, 8), 0);
        assert_int_equal(getsockname(closer.listener, (struct sockaddr *)&address, &size), 0);
        assert_int_equal(pthread_create(&thread, NULL, close_handshakes, &closer), 0);
        world *world = world_new(NULL, NULL);
        call *call = call_new(world, "/");
        call->request.url = text_of(world, "https://127.0.0.1:%d/", ntohs(address.sin_port));
        call_perform(call);
        check_ended(call, AFC_ETLS);
        check_contains(call->failure.text,
                       "the server closed the connection during the TLS handshake (");
        assert_int_equal(call->failure.reason, AFC_REASON_NONE);
        call_free(call);
        world_free(world);
        shutdown(closer.listener, SHUT_RDWR);
        pthread_join(thread, NULL);
        close(closer.listener);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(peer_without_tls_is_named),
        cmocka_unit_test(connection_closed_in_the_handshake_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
