/* A session that visits thousands of hosts keeps nothing of them, and none of its requests takes longer for it. */
#include "support/call.h"
#include "support/fake_names.h"
#include "support/heap.h"

#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

/* ---- Addresses ----------------------------------------------------------------------------- */

/** Requests to addresses of loopback where nothing listens. */
static void visit_addresses(fixture *fixture, unsigned first, unsigned count) {
    for (unsigned i = first; i < first + count; i++) {
        char url[64];
        snprintf(url, sizeof url, "http://127.1.%u.%u:1/", i / 200, 1 + i % 200);
        call *call = call_new(fixture, "/");
        call->request.url = url;
        call_perform(call);
        check_ended(call, AFC_ECONNECT);
        call_free(call);
    }
}

static void visited_addresses_are_not_kept(void **state) {
    fixture *fixture = *state;
    visit_addresses(fixture, 0, 100);
    size_t before = heap_in_use();
    visit_addresses(fixture, 100, 1000);
    assert_true(heap_in_use() < before + (size_t)64 * 1024);
}

/* ---- Connections --------------------------------------------------------------------------- */

/** A server that allocates nothing, unlike the fixture's, which records what it receives. */
typedef struct plain_server {
    int listener;
    uint16_t port;
    pthread_t thread;
} plain_server;

static bool respond(int connection) {
    static const char response[] = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi";
    char request[1024];
    return recv(connection, request, sizeof request, 0) > 0 &&
           send(connection, response, sizeof response - 1, MSG_NOSIGNAL) > 0;
}

static void *run(void *argument) {
    const plain_server *server = argument;
    struct pollfd polled[256] = {{.fd = server->listener, .events = POLLIN}};
    nfds_t count = 1;
    for (;;) {
        poll(polled, count, -1);
        for (nfds_t i = count - 1; i > 0; i--) {
            if (polled[i].revents == 0 || respond(polled[i].fd)) continue;
            close(polled[i].fd);
            polled[i] = polled[--count];
        }
        if (polled[0].revents == 0 || count == COUNT_OF(polled)) continue;
        int connection = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection < 0) break;
        polled[count++] = (struct pollfd){.fd = connection, .events = POLLIN};
    }
    while (count > 1) close(polled[--count].fd);
    return NULL;
}

static void start(plain_server *server) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(server->listener, 64), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &size), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pthread_create(&server->thread, NULL, run, server), 0);
}

static void stop(plain_server *server) {
    shutdown(server->listener, SHUT_RDWR);
    pthread_join(server->thread, NULL);
    close(server->listener);
}

static void visit_names(fixture *fixture, const plain_server *server, unsigned first,
                        unsigned count) {
    for (unsigned i = first; i < first + count; i++) {
        char url[64];
        snprintf(url, sizeof url, "http://host-%u.test:%u/", i, server->port);
        call *call = call_new(fixture, "/");
        call->request.url = url;
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
    }
}

/** More connections than the session keeps, so that each one makes libcurl close another. */
static void hosts_of_closed_connections_are_not_kept(void **state) {
    fixture *fixture = *state;
    plain_server server;
    start(&server);
    enum { ROUND = 1024 };
    visit_names(fixture, &server, 0, ROUND);
    size_t before = heap_in_use();
    visit_names(fixture, &server, ROUND, ROUND * (unsigned)test_amount(3, 1));
    assert_true(heap_in_use() < before + (size_t)128 * 1024);
    stop(&server);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(visited_addresses_are_not_kept),
        FAKE_NAMES_TEST(hosts_of_closed_connections_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
