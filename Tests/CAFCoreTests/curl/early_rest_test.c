/*
 * A response that arrives while its request is being sent, of which libcurl has read the head and a part of the body
 * when sending fails: the rest is still in the socket. To make that certain, send() of this program, which libcurl
 * calls, lets the server send the rest and reset the connection before it tries to send.
 */
#include "support/call.h"

#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>

/** The server whose connection is to be reset by the next send(); NULL: send() does nothing else. */
static _Atomic(afts_server *) resetting;

static bool leads_to(int descriptor, const afts_server *server) {
    struct sockaddr_in peer;
    socklen_t size = sizeof peer;
    return server != NULL && getpeername(descriptor, (struct sockaddr *)&peer, &size) == 0 &&
           peer.sin_family == AF_INET && ntohs(peer.sin_port) == afts_server_port(server);
}

ssize_t send(int descriptor, const void *bytes, size_t size, int flags) {
    afts_server *server = atomic_load(&resetting);
    if (leads_to(descriptor, server) &&
        atomic_compare_exchange_strong(&resetting, &server, (afts_server *)NULL)) {
        struct pollfd polled = {.fd = descriptor};
        (void)afts_release(server, "rest", 1);
        /* Without events, only an error or the end of both directions ends the wait. */
        (void)poll(&polled, 1, PATIENCE_MS);
    }
    return sendto(descriptor, bytes, size, flags, NULL, 0);
}

/** Has no bytes until a part of the response's body was received, so that the socket has room for them then. */
static ptrdiff_t read_later(void *context, void *buffer, size_t size) {
    const call *call = context;
    if (atomic_load(&call->body_count) == 0) return AFC_READ_AGAIN;
    memset(buffer, 'x', size);
    return (ptrdiff_t)size;
}

/** Lets the request be sent; the connection is lost then. */
static afc_status continue_sending(call *call, afc_slice chunk) {
    (void)chunk;
    if (atomic_load(&call->body_count) == 0) atomic_store(&resetting, call->payload);
    afc_task_wake(call->task);
    return AFC_OK;
}

static void reads_the_rest_of_an_early_response(void **state) {
    fixture *fixture = *state;
    static const struct {
        const char *head, *rest;
        afc_status expected;
        const char *body;
    } rows[] = {
        {"Content-Length: 10\r\n\r\nhello", "world", AFC_OK, "helloworld"},
        {"Content-Length: 10\r\n\r\nhello", "world, and more", AFC_OK, "helloworld"},
        {"Content-Length: 11\r\n\r\nhello", "world", AFC_ELOST, "helloworld"},
        /* Nothing says whether a reset has cut such a body. */
        {"\r\nhello", "world", AFC_ELOST, "helloworld"},
        /* Only libcurl can read chunks. */
        {"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "5\r\nworld\r\n0\r\n\r\n", AFC_ELOST,
         "hello"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afts_script *script = afts_script_new();
        afts_read_head_only(script);
        afts_send_text(script, text_of(fixture, "HTTP/1.1 200 OK\r\n%s", rows[i].head));
        afts_stall(script, "rest");
        afts_send_text(script, rows[i].rest);
        afts_reset(script);
        serve(fixture, "/", script);
        call *call = call_new(fixture, "/");
        call->request.method = "PUT";
        call->request.expect = AFC_EXPECT_NEVER;
        call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = AFC_LENGTH_UNKNOWN};
        call->request.body.reader = (afc_reader){call, read_later, NULL, NULL};
        call->request.sink.kind = AFC_SINK_CALLBACK;
        call->keeps_body = true;
        call->at_body = continue_sending;
        call->payload = fixture->server;
        call_perform(call);
        check_ended(call, rows[i].expected);
        assert_int_equal(status_of(call), 200);
        check_slice(call->body, rows[i].body);
        call_free(call);
        atomic_store(&resetting, NULL);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(reads_the_rest_of_an_early_response),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
