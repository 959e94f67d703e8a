/* A server may send anything: every fault ends the task, once, with the right status. */
#include "support/call.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/** One table row: what is sent before the connection closes, and what that is called. */
#define SENT(literal)                                                                              \
    { (literal), sizeof(literal) - 1 }

typedef struct fault {
    afc_slice sent;
    afc_status expected;
} fault;

static void check_faults(fixture *fixture, const fault *faults, size_t count) {
    for (size_t i = 0; i < count; i++) {
        serve_bytes(fixture, "/", faults[i].sent);
        call *call = call_fetch(fixture, "/");
        if (call->failure.status != faults[i].expected) {
            print_error("sent: \"%.*s\"\n", (int)faults[i].sent.size, faults[i].sent.bytes);
        }
        check_ended(call, faults[i].expected);
        if (faults[i].expected != AFC_OK) assert_true(call->failure.text[0] != '\0');
        call_free(call);
    }
    /* Nothing of it may reach the next task on the same session. */
    check_fetch(fixture, "/echo", AFC_OK);
}

/* ---- Heads --------------------------------------------------------------------------------- */

static void refuses_what_is_not_http(void **state) {
    static const fault faults[] = {
        {SENT("SSH-2.0-OpenSSH_9.2\r\n"), AFC_EPROTOCOL},
        {SENT("hello, this is HTTP/0.9"), AFC_EPROTOCOL},
        {SENT("\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/9.9 200 OK\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 99 Low\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 20 Short\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 2000 Long\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 abc Letters\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1  200 Blank\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("http/1.1 200 small\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("\x16\x03\x01\x02\x00\x01\x00\x01\xFC\x03\x03"), AFC_EPROTOCOL},
        {SENT("\x00\x00\x00\x00\x00\x00\x00\x00"), AFC_EPROTOCOL},
    };
    check_faults(*state, faults, COUNT_OF(faults));
}

static void refuses_head_without_end(void **state) {
    static const fault faults[] = {
        {SENT(""), AFC_ELOST},
        /* Before the end of its first line an answer has not begun. */
        {SENT("HTT"), AFC_ELOST},
        {SENT("HTTP/1.1 200"), AFC_ELOST},
        {SENT("HTTP/1.1 200 OK\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 5"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 100 Continue\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 O"), AFC_EPROTOCOL},
    };
    check_faults(*state, faults, COUNT_OF(faults));
}

static void refuses_broken_fields(void **state) {
    static const fault faults[] = {
        {SENT("HTTP/1.1 200 OK\r\nno colon\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\n: no name\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nBad Name: x\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nName : x\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nN\xE9me: x\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nX: a\rb\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\n folded first\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nX: a\r\n b\0c\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nX: a\r\n b\rc\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 O\0K\r\n\r\n"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 O\rK\r\n\r\n"), AFC_EPROTOCOL},
    };
    check_faults(*state, faults, COUNT_OF(faults));
}

/* ---- Framing ------------------------------------------------------------------------------- */

static void refuses_invalid_lengths(void **state) {
    static const fault faults[] = {
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nx"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: +1\r\n\r\nx"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 1.0\r\n\r\nx"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 0x1\r\n\r\nx"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length:\r\n\r\nx"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: one\r\n\r\nx"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 1 1\r\n\r\nx"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nx"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775808\r\n\r\nx"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 18446744073709551617\r\n\r\nx"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy"),
         AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 1, 2\r\n\r\nxy"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n"
              "1\r\nx\r\n0\r\n\r\n"),
         AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 1\r\n\r\n"
              "1\r\nx\r\n0\r\n\r\n"),
         AFC_EPROTOCOL},
    };
    check_faults(*state, faults, COUNT_OF(faults));
}

/** From 8.18.0, libcurl joins folded lines before it reads them and passes them on, so it can't disagree with us. */
static void refuses_folded_framing_that_libcurl_does_not_join(void **state) {
    afc_status folded = libcurl_is_at_least(8, 18) ? AFC_OK : AFC_EPROTOCOL;
    const fault faults[] = {
        {SENT("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n"),
         folded},
        {SENT("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\t\r\n\r\n0\r\n\r\n"), folded},
        {SENT("HTTP/1.1 200 OK\r\nTransfer-Encoding:\r\n gzip\r\n\r\nx"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n 0\r\n\r\n0123456789"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 1,\r\n 2\r\n\r\nxy"), AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding:\r\n chunked\r\n\r\n"
              "1\r\nx\r\n0\r\n\r\n"),
         AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Encoding:\r\n gzip\r\nContent-Length: 8\r\n\r\nnot gzip"),
         AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length:\r\n 1\r\n\r\nx"), folded},
        {SENT("HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 1\r\n\r\nx"), AFC_OK},
    };
    check_faults(*state, faults, COUNT_OF(faults));
}

static void accepts_equal_repeated_lengths(void **state) {
    static const fault faults[] = {
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\nx"), AFC_OK},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 00001\r\n\r\nx"), AFC_OK},
    };
    check_faults(*state, faults, COUNT_OF(faults));
}

#define CHUNKED "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"

static void refuses_broken_chunks(void **state) {
    static const fault faults[] = {
        {SENT(CHUNKED "xyz\r\n"), AFC_EPROTOCOL},
        {SENT(CHUNKED "-1\r\nx\r\n0\r\n\r\n"), AFC_EPROTOCOL},
        {SENT(CHUNKED "\r\n1\r\nx\r\n0\r\n\r\n"), AFC_EPROTOCOL},
        {SENT(CHUNKED "1\r\nxy\r\n0\r\n\r\n"), AFC_EPROTOCOL},
        {SENT(CHUNKED "10000000000000000\r\nx"), AFC_EPROTOCOL},
        {SENT(CHUNKED "ffffffffffffffff\r\nx"), AFC_EPROTOCOL},
        {SENT(CHUNKED "0000000000000000000000000000000001\r\nx\r\n0\r\n\r\n"), AFC_EPROTOCOL},
        {SENT(CHUNKED "0\r\nbroken trailer\r\n\r\n"), AFC_EPROTOCOL},
        {SENT(CHUNKED "0\r\nX: a\0b\r\n\r\n"), AFC_EPROTOCOL},
    };
    check_faults(*state, faults, COUNT_OF(faults));
}

static void reports_truncated_bodies(void **state) {
    static const fault faults[] = {
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), AFC_ETRUNCATED},
        {SENT("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n1234"), AFC_ETRUNCATED},
        {SENT(CHUNKED), AFC_ETRUNCATED},
        {SENT(CHUNKED "5"), AFC_ETRUNCATED},
        {SENT(CHUNKED "5\r\n1234"), AFC_ETRUNCATED},
        {SENT(CHUNKED "5\r\n12345\r\n"), AFC_ETRUNCATED},
        {SENT(CHUNKED "5\r\n12345\r\n0\r\n"), AFC_ETRUNCATED},
    };
    check_faults(*state, faults, COUNT_OF(faults));
}

static void ignores_bytes_after_the_body(void **state) {
    fixture *fixture = *state;
    static const char *const answers[] = {
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nX-Smuggled: 1\r\n"
        "Content-Length: 4\r\n\r\nevil",
        CHUNKED "2\r\nok\r\n0\r\n\r\nHTTP/1.1 200 OK\r\nX-Smuggled: 1\r\nContent-Length: 0\r\n\r\n",
    };
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        afts_script *script = afts_script_new();
        afts_send_text(script, answers[i]);
        serve_once(fixture, "/", script);
        for (int round = 0; round < 2; round++) {
            call *call = call_fetch(fixture, round == 0 ? "/" : "/echo");
            check_ended(call, AFC_OK);
            if (round == 0) check_slice(call->body, "ok");
            check_slice(field_of(call, "X-Smuggled"), "");
            call_free(call);
        }
    }
}

static void long_chunk_extension_is_not_part_of_the_body(void **state) {
    fixture *fixture = *state;
    static char extension[512 * 1024];
    memset(extension, 'e', sizeof extension);
    afts_script *script = afts_script_new();
    afts_send_text(script, CHUNKED "2;");
    afts_send(script, extension, sizeof extension);
    afts_send_text(script, "\r\nok\r\n0\r\n\r\n");
    serve(fixture, "/", script);
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_OK);
    check_slice(call->body, "ok");
    call_free(call);
}

static void refuses_broken_encodings(void **state) {
    static const fault faults[] = {
        {SENT("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\nnot gzip"),
         AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\nContent-Length: 3\r\n\r\n"
              "\xFF\xFF\xFF"),
         AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 3\r\n\r\n\xFF\xFF\xFF"),
         AFC_EPROTOCOL},
        {SENT("HTTP/1.1 200 OK\r\nContent-Encoding: made-up\r\nContent-Length: 2\r\n\r\nok"),
         AFC_EPROTOCOL},
    };
    check_faults(*state, faults, COUNT_OF(faults));
}

/* ---- Connections that break ---------------------------------------------------------------- */

static void reports_reset_as_lost_connection(void **state) {
    fixture *fixture = *state;
    static const char *const before[] = {"",
                                         "HTT",
                                         "HTTP/1.1 200 OK\r\nX: y\r\n",
                                         "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhalf",
                                         CHUNKED "9\r\nhalf",
                                         "HTTP/1.0 200 OK\r\n\r\nhalf"};
    for (size_t i = 0; i < COUNT_OF(before); i++) {
        afts_script *script = afts_script_new();
        afts_send_text(script, before[i]);
        afts_stall(script, "sent");
        afts_reset(script);
        serve(fixture, "/", script);
        call *call = call_new(fixture, "/");
        call_start(call);
        assert_true(afts_wait_stalled(fixture->server, "sent", 1, PATIENCE_MS));
        if (i >= 3) call_wait_for(call, &call->head_count, 1);
        afts_release(fixture->server, "sent", 1);
        call_wait(call);
        check_ended(call, AFC_ELOST);
        assert_int_equal(status_of(call), i >= 3 ? 200 : 0);
        call_free(call);
    }
}

/** Otherwise the server of another test could be found there. */
static void check_port_is_held(uint16_t port) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(descriptor >= 0);
    assert_int_equal(bind(descriptor, (struct sockaddr *)&address, sizeof address), -1);
    assert_int_equal(errno, EADDRINUSE);
    close(descriptor);
}

static void reports_refused_connection(void **state) {
    fixture *fixture = *state;
    afts_server_stop(fixture->server);
    check_port_is_held(afts_server_port(fixture->server));
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_ECONNECT);
    check_contains(call->failure.text, strerror(ECONNREFUSED));
    assert_int_equal(call->failure.system_error, ECONNREFUSED);
    assert_int_equal(call->hop_count, 1);
    assert_int_equal(call->hops[0].status, 0);
    call_free(call);
}

static void reports_unknown_host_name(void **state) {
    fixture *fixture = *state;
    call *call = call_new(fixture, "/");
    call->request.url = "http://no-such-host.invalid/";
    call_perform(call);
    check_ended(call, AFC_EDNS);
    call_free(call);
}

static void reports_connection_closed_at_once(void **state) {
    fixture *fixture = *state;
    for (int resets = 0; resets <= 1; resets++) {
        afts_script *script = afts_script_new();
        if (resets)
            afts_reset(script);
        else
            afts_close(script);
        afts_on_accept(fixture->server, AFTS_EVERY_CONNECTION, script);
        call *call = call_fetch(fixture, "/");
        /* A reset that is fast enough is a connection that was never made. */
        if (!resets || call->failure.status != AFC_ECONNECT) check_ended(call, AFC_ELOST);
        assert_null(call->head);
        call_free(call);
    }
}

static void returns_response_sent_before_the_body_was_read(void **state) {
    fixture *fixture = *state;
    static const char body[2 << 20];
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_respond(script, 413, "Connection: close", "too large", 9);
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call_send(call, "PUT", (afc_slice){body, sizeof body});
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 413);
    check_slice(call->body, "too large");
    call_free(call);
}

static void reset_while_sending_raises_no_signal(void **state) {
    fixture *fixture = *state;
    static const char body[4 << 20];
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_read_body_bytes(script, 1000);
    afts_reset(script);
    serve(fixture, "/", script);
    for (int i = 0; i < 20; i++) {
        call *call = call_new(fixture, "/");
        call_send(call, "PUT", (afc_slice){body, sizeof body});
        call_perform(call);
        check_ended(call, AFC_ELOST);
        call_free(call);
    }
}

static void tls_body_without_length_needs_close_notify(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    for (unsigned i = 0; i < 4; i++) {
        bool says_goodbye = i % 2 == 0, is_reused = i / 2 == 0;
        afts_script *script = afts_script_new();
        afts_send_text(script, "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nall or half?");
        if (says_goodbye)
            afts_close(script);
        else
            afts_close_abruptly(script);
        serve(fixture, "/", script);
        if (is_reused) check_fetch(fixture, "/echo", AFC_OK);
        call *call = call_fetch(fixture, "/");
        check_ended(call, says_goodbye ? AFC_OK : AFC_ETRUNCATED);
        assert_int_equal(status_of(call), 200);
        assert_int_equal(call->hops[0].is_reused, is_reused);
        call_free(call);
    }
    fixture_free(fixture);
}

static void tls_body_of_known_length_needs_no_close_notify(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nall");
    afts_close_abruptly(script);
    serve(fixture, "/", script);
    check_fetch(fixture, "/", AFC_OK);
    fixture_free(fixture);
}

static void refuses_garbage_in_place_of_tls(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    afts_close(script);
    afts_on_accept(fixture->server, AFTS_EVERY_CONNECTION, script);
    check_fetch(fixture, "/", AFC_ETLS);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(refuses_what_is_not_http),
        FIXTURE_TEST(refuses_head_without_end),
        FIXTURE_TEST(refuses_broken_fields),
        FIXTURE_TEST(refuses_invalid_lengths),
        FIXTURE_TEST(accepts_equal_repeated_lengths),
        FIXTURE_TEST(refuses_folded_framing_that_libcurl_does_not_join),
        FIXTURE_TEST(refuses_broken_chunks),
        FIXTURE_TEST(reports_truncated_bodies),
        FIXTURE_TEST(ignores_bytes_after_the_body),
        FIXTURE_TEST(long_chunk_extension_is_not_part_of_the_body),
        FIXTURE_TEST(refuses_broken_encodings),
        FIXTURE_TEST(reports_reset_as_lost_connection),
        FIXTURE_TEST(reports_refused_connection),
        FIXTURE_TEST(reports_unknown_host_name),
        FIXTURE_TEST(reports_connection_closed_at_once),
        FIXTURE_TEST(returns_response_sent_before_the_body_was_read),
        FIXTURE_TEST(reset_while_sending_raises_no_signal),
        cmocka_unit_test(tls_body_without_length_needs_close_notify),
        cmocka_unit_test(tls_body_of_known_length_needs_no_close_notify),
        cmocka_unit_test(refuses_garbage_in_place_of_tls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
