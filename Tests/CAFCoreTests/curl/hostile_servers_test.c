/*
 * More than a hundred servers that send what RFC 9110 and RFC 9112 forbid. None crashes the client, stops it, or gives
 * a later request another response than its own: all share a session, its connections and its handles. What becomes of
 * their own requests is for other tests to say, but for what must never be taken for a body.
 */
#include "support/call.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define END "\r\n\r\n"
#define OK_LINE "HTTP/1.1 200 OK\r\n"
#define FORGED OK_LINE "Content-Length: 6" END "forged"
#define CHUNKED OK_LINE "Transfer-Encoding: chunked" END
#define SIZED OK_LINE "Content-Length: 2" END "hi"

typedef struct row {
    const char *method;
    afc_slice bytes;
    const char *repeated; /**< NULL: nothing. */
    uint64_t count;
    const char *rest;
} row;

#define GET(bytes)                                                                                 \
    { "GET", S_INIT(bytes), NULL, 0, "" }
#define HEAD(bytes)                                                                                \
    { "HEAD", S_INIT(bytes), NULL, 0, "" }
/** With a text that comes many times in between. */
#define LONG(method, bytes, repeated, count, rest)                                                 \
    { method, S_INIT(bytes), repeated, count, rest }
#define POST(bytes)                                                                                \
    { "POST", S_INIT(bytes), NULL, 0, "" }

static const row rows[] = {
    /* Status lines. */
    GET(""),
    GET("\r\n"),
    GET("\r\n\r\n\r\n\r\n" FORGED),
    GET("HTTP"),
    GET("HTTP/1.1"),
    GET("HTTP/1.1" END FORGED),
    GET("HTTP/1.1 " END FORGED),
    GET("HTTP/1.1 2" END FORGED),
    GET("HTTP/1.1 20 OK" END FORGED),
    GET("HTTP/1.1 2000 OK" END FORGED),
    GET("HTTP/1.1 000 Zero" END FORGED),
    GET("HTTP/1.1 099 Low" END FORGED),
    GET("HTTP/1.1 999 High" END FORGED),
    GET("HTTP/1.1 -200 OK" END FORGED),
    GET("HTTP/1.1 +200 OK" END FORGED),
    GET("HTTP/1.1  200 OK" END FORGED),
    GET("HTTP/1.1\t200 OK" END FORGED),
    GET("HTTP/1.1 200\0OK" END FORGED),
    GET("http/1.1 200 OK" END FORGED),
    GET("HTTP/0.9 200 OK" END FORGED),
    GET("HTTP/1.2 200 OK" END FORGED),
    GET("HTTP/2 200 OK\r\nContent-Length: 2" END "hi" FORGED),
    GET("HTTP/3 200 OK\r\nContent-Length: 2" END "hi" FORGED),
    GET("HTTP/1.1.1 200 OK" END FORGED),
    GET("HTTP/11 200 OK" END FORGED),
    GET("ICY 200 OK" END FORGED),
    GET("RTSP/1.0 200 OK" END FORGED),
    GET(" HTTP/1.1 200 OK" END FORGED),
    GET("forged"),
    GET("\0\0\0\0\0\0\0\0\0\0"),
    GET("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"),
    GET("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    GET("GET / HTTP/1.1\r\nHost: client" END),
    LONG("GET", "HTTP/1.1 200 ", "reason", 1000, END FORGED),
    /* Interim responses. */
    GET("HTTP/1.1 100 Continue" END),
    GET("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\nConnection: Upgrade" END FORGED),
    GET("HTTP/1.1 102 Processing\r\nContent-Length: 6" END "forged" SIZED),
    GET("HTTP/1.1 103 Hints\r\nTransfer-Encoding: chunked" END "0" END SIZED),
    LONG("GET", "", "HTTP/1.1 103 Early Hints\r\nLink: <a>" END, 100, SIZED),
    GET("HTTP/1.1 199 What" END "HTTP/1.1 199 What" END "forged" END),
    POST("HTTP/1.1 100 Continue" END FORGED FORGED),
    /* Fields. */
    GET(OK_LINE "\tfolded" END FORGED),
    GET(OK_LINE " Content-Length: 2" END "hi" FORGED),
    GET(OK_LINE "A: b\r\n folded\r\n\tagain\r\nContent-Length: 2" END "hi" FORGED),
    GET(OK_LINE "no colon" END FORGED),
    GET(OK_LINE ": no name" END FORGED),
    GET(OK_LINE "Content-Length : 2" END "hi" FORGED),
    GET(OK_LINE "Content Length: 2" END "hi" FORGED),
    GET(OK_LINE "Content-Length\t: 2" END "hi" FORGED),
    GET(OK_LINE "A\0: b\r\nContent-Length: 2" END "hi" FORGED),
    GET(OK_LINE "A: b\0c\r\nContent-Length: 2" END "hi" FORGED),
    GET(OK_LINE "A: b\rContent-Length: 6" END "forged"),
    GET(OK_LINE "A: \x01\x02\x7f\r\nContent-Length: 2" END "hi" FORGED),
    GET(OK_LINE "\xff\xfe: b\r\nContent-Length: 2" END "hi" FORGED),
    GET("HTTP/1.1 200 OK\nContent-Length: 2\n\nhi" FORGED),
    GET("HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nhi" FORGED),
    GET(OK_LINE "A: b\r\n\n" FORGED),
    LONG("GET", OK_LINE, "A: b\r\n", 1100, "Content-Length: 2" END "hi"),
    LONG("GET", OK_LINE "A: ", "long", 100000, "\r\nContent-Length: 2" END "hi"),
    LONG("GET", OK_LINE, "name", 10000, ": x\r\nContent-Length: 2" END "hi"),
    GET(OK_LINE "A: b\r\n"),
    /* Lengths. */
    GET(OK_LINE "Content-Length: -1" END FORGED),
    GET(OK_LINE "Content-Length: +2" END "hi" FORGED),
    GET(OK_LINE "Content-Length: 0x2" END "hi" FORGED),
    GET(OK_LINE "Content-Length: 2 2" END "hi" FORGED),
    GET(OK_LINE "Content-Length: 2, 2" END "hi" FORGED),
    GET(OK_LINE "Content-Length: 2, 8" END "hi" FORGED),
    GET(OK_LINE "Content-Length: 2\r\nContent-Length: 2" END "hi" FORGED),
    GET(OK_LINE "Content-Length: 2\r\nContent-Length: 8" END "hi" FORGED),
    GET(OK_LINE "Content-Length: 2;x" END "hi" FORGED),
    GET(OK_LINE "Content-Length: 2e0" END "hi" FORGED),
    GET(OK_LINE "Content-Length:" END FORGED),
    GET(OK_LINE "Content-Length: 18446744073709551618" END "hi" FORGED),
    GET(OK_LINE "Content-Length: 99999999999999999999999999999999" END FORGED),
    GET(OK_LINE "Content-Length: 9223372036854775807" END FORGED),
    GET(OK_LINE "Content-Length: two" END "hi" FORGED),
    GET(OK_LINE "Content-Length: 1" END "hi"),
    GET(SIZED FORGED),
    GET(SIZED "\r\n"),
    LONG("GET", SIZED, "forged", 10000, ""),
    GET(OK_LINE "Content-Length: 0" END FORGED),
    /* Transfer codings. */
    GET(OK_LINE "Content-Length: 2\r\nTransfer-Encoding: chunked" END "0" END FORGED),
    GET(OK_LINE "Transfer-Encoding: chunked\r\nContent-Length: 2" END "0" END FORGED),
    GET(OK_LINE "Transfer-Encoding: chunked, chunked" END "0" END FORGED),
    GET(OK_LINE "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked" END "0" END FORGED),
    GET(OK_LINE "Transfer-Encoding: xchunked" END "0" END FORGED),
    GET(OK_LINE "Transfer-Encoding: chunked, identity" END "0" END FORGED),
    GET(OK_LINE "Transfer-Encoding: chunked;q=1" END "0" END FORGED),
    GET(OK_LINE "Transfer-Encoding: \x0b"
                "chunked" END "0" END FORGED),
    GET(OK_LINE "Transfer-Encoding:" END "0" END FORGED),
    GET("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked" END "0" END FORGED),
    GET("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2" END "hi" FORGED),
    /* Chunks. */
    GET(CHUNKED "g\r\nhi\r\n0" END FORGED),
    GET(CHUNKED "-2\r\nhi\r\n0" END FORGED),
    GET(CHUNKED "0x2\r\nhi\r\n0" END FORGED),
    GET(CHUNKED "ffffffffffffffffff\r\nhi\r\n0" END FORGED),
    GET(CHUNKED "7fffffffffffffff\r\nhi\r\n0" END FORGED),
    GET(CHUNKED "2\r\nhiXX0" END FORGED),
    GET(CHUNKED "2\r\nhi0" END FORGED),
    GET(CHUNKED "2\nhi\n0\n\n" FORGED),
    GET(CHUNKED "2 2\r\nhi\r\n0" END FORGED),
    GET(CHUNKED " 2\r\nhi\r\n0" END FORGED),
    LONG("GET", CHUNKED "2;", "extension", 1000, "\r\nhi\r\n0" END FORGED),
    GET(CHUNKED "\r\n2\r\nhi\r\n0" END FORGED),
    GET(CHUNKED "2\r\nhi\r\n"),
    GET(CHUNKED "2\r\nhi\r\n0\r\n"),
    GET(CHUNKED "2\r\nhi\r\n0" END FORGED),
    GET(CHUNKED "2\r\nhi\r\n0" END "x"),
    GET(CHUNKED "0" END FORGED),
    GET(CHUNKED "00000000000000000000000000000000000000000000000" END FORGED),
    GET(CHUNKED "0\r\n\tfolded" END FORGED),
    GET(CHUNKED "0\r\nno colon" END FORGED),
    GET(CHUNKED "0\r\nContent-Length: 6" END "forged"),
    GET(CHUNKED "0\r\n" FORGED),
    GET(CHUNKED "0\r\nA: b\0c" END FORGED),
    LONG("GET", CHUNKED "0\r\n", "A: trailer\r\n", 1000, "\r\n" FORGED),
    /* No body is allowed. */
    GET("HTTP/1.1 204 No Content\r\nContent-Length: 6" END "forged"),
    GET("HTTP/1.1 204 No Content\r\nTransfer-Encoding: chunked" END "6\r\nforged\r\n0" END),
    GET("HTTP/1.1 204 No Content" END FORGED),
    GET("HTTP/1.1 304 Not Modified\r\nContent-Length: 6" END "forged"),
    GET("HTTP/1.1 304 Not Modified" END FORGED FORGED),
    GET("HTTP/1.1 205 Reset Content\r\nContent-Length: 6" END "forged" FORGED),
    HEAD(OK_LINE "Content-Length: 6" END "forged"),
    HEAD(OK_LINE "Transfer-Encoding: chunked" END "6\r\nforged\r\n0" END),
    HEAD(OK_LINE "Content-Length: 0" END FORGED),
    LONG("HEAD", "HTTP/1.1 404 Not Found" END FORGED, "forged", 10000, ""),
    POST("HTTP/1.1 413 Too Large\r\nContent-Length: 0" END FORGED),
    POST("HTTP/1.1 417 Expectation Failed\r\nContent-Length: 0" END FORGED),
    /* Connections. */
    GET(OK_LINE "Connection: close\r\nContent-Length: 2" END "hi" FORGED),
    GET(OK_LINE "Connection: keep-alive, close\r\nContent-Length: 2" END "hi" FORGED),
    GET(OK_LINE "Keep-Alive: timeout=-1, max=0\r\nContent-Length: 2" END "hi" FORGED),
    GET("HTTP/1.1 426 Upgrade Required\r\nUpgrade: HTTP/9\r\nContent-Length: 0" END FORGED),
    GET("HTTP/1.1 408 Request Timeout\r\nContent-Length: 0" END "HTTP/1.1 408 Again" END),
    /* What else is decided by a head. */
    GET("HTTP/1.1 302 Found\r\nLocation: //\r\nContent-Length: 0" END FORGED),
    GET("HTTP/1.1 302 Found\r\nLocation: http://[::1\r\nContent-Length: 6" END "forged"),
    GET("HTTP/1.1 302 Found\r\nLocation: \x01\r\nContent-Length: 0" END FORGED),
    GET("HTTP/1.1 302 Found\r\nLocation: /genuine\r\nLocation: /other\r\nContent-Length: 0" END
            FORGED),
    GET("HTTP/1.1 301 Moved\r\nLocation: gopher://127.0.0.1/\r\nContent-Length: 0" END FORGED),
    GET("HTTP/1.1 401 Who\r\nWWW-Authenticate: \r\nContent-Length: 0" END FORGED),
    GET("HTTP/1.1 401 Who\r\nWWW-Authenticate: Digest nonce=\"\r\nContent-Length: 0" END FORGED),
    GET("HTTP/1.1 407 Who\r\nProxy-Authenticate: Basic\r\nContent-Length: 0" END FORGED),
    GET(OK_LINE "Set-Cookie: =\x7f; Domain=.; Path=\r\nContent-Length: 2" END "hi" FORGED),
    GET(OK_LINE "Strict-Transport-Security: max-age=\"\r\nContent-Length: 2" END "hi" FORGED),
    GET(OK_LINE "Content-Encoding: gzip\r\nContent-Length: 2" END "hi" FORGED),
    GET(OK_LINE "Content-Encoding: gzip, gzip, gzip, gzip, gzip, gzip\r\nContent-Length: 2" END
                "hi" FORGED),
    GET("HTTP/1.1 206 Partial\r\nContent-Range: bytes 9-1/0\r\nContent-Length: 2" END "hi" FORGED),
};

_Static_assert(sizeof rows / sizeof *rows >= 100, "a hundred servers at least");

typedef enum ending {
    STAYS, /**< Goes on to answer as it should, on the same connection. */
    CLOSES,
    RESETS
} ending;

/** All at once: what comes after the next request has been sent would be its response. */
static void send_row(afts_script *script, const row *row) {
    size_t one = row->repeated != NULL ? strlen(row->repeated) : 0;
    size_t size = row->bytes.size + one * row->count + strlen(row->rest);
    char *bytes = malloc(size + 1), *at = bytes;
    assert_non_null(bytes);
    memcpy(at, row->bytes.bytes, row->bytes.size);
    at += row->bytes.size;
    for (uint64_t i = 0; i < row->count; i++, at += one) memcpy(at, row->repeated, one);
    memcpy(at, row->rest, strlen(row->rest));
    afts_send(script, bytes, size);
    free(bytes);
}

static afts_script *hostile(const row *row, ending ending) {
    afts_script *script = afts_script_new();
    send_row(script, row);
    if (ending == CLOSES) afts_close(script);
    if (ending == RESETS) afts_reset(script);
    return script;
}

static call *genuine(fixture *fixture, const char *base) {
    call *call = call_new(fixture, "/genuine");
    if (base != NULL) call->request.url = text_of(fixture, "%sgenuine", base);
    call_start(call);
    return call;
}

static void check_genuine(call *call, size_t index) {
    call_wait(call);
    if (call->failure.status != AFC_OK || call->body.size != 7 ||
        memcmp(call->body.bytes, "genuine", 7) != 0) {
        print_error("after server %zu\n", index);
    }
    check_ended(call, AFC_OK);
    check_slice(call->body, "genuine");
    call_free(call);
}

/** What comes behind a response, or where it has no body, is part of none. */
static bool is_forged(const call *call) {
    bool has_body = strcmp(call->request.method, "HEAD") != 0 && status_of(call) != 204 &&
                    status_of(call) != 304;
    return !has_body && call->body.size > 0;
}

static void check_servers(bool is_tls, ending ending) {
    fixture *fixture = is_tls ? fixture_new_alpn("http/1.1", NULL) : fixture_new(NULL, NULL);
    char base_text[128] = "";
    /* The fixture's own texts are used again too soon. */
    if (is_tls) snprintf(base_text, sizeof base_text, "%s", tls_url(fixture));
    const char *base = is_tls ? base_text : NULL;
    serve(fixture, "/genuine", answer(200, NULL, "genuine"));
    for (size_t i = 0; i < COUNT_OF(rows); i += test_amount_brief(1, 4)) {
        serve(fixture, "/", hostile(&rows[i], ending));
        call *call = call_new(fixture, "/");
        if (is_tls) call->request.url = base;
        call->request.method = rows[i].method;
        if (strcmp(rows[i].method, "POST") == 0) call_send(call, "POST", S("content"));
        call->request.timeouts.idle_ms = 100;
        call_perform(call);
        assert_false(is_forged(call));
        call_free(call);
        struct call *first = genuine(fixture, base), *second = genuine(fixture, base);
        check_genuine(first, i);
        check_genuine(second, i);
    }
    fixture_free(fixture);
}

static void keeps_responses_apart_if_hostile_server_stays(void **state) {
    (void)state;
    check_servers(false, STAYS);
}

static void keeps_responses_apart_if_hostile_server_closes(void **state) {
    (void)state;
    check_servers(false, CLOSES);
}

static void keeps_responses_apart_if_hostile_server_resets(void **state) {
    (void)state;
    check_servers(false, RESETS);
}

static void keeps_responses_apart_if_hostile_tls_server_stays(void **state) {
    (void)state;
    check_servers(true, STAYS);
}

static void keeps_responses_apart_if_hostile_tls_server_closes(void **state) {
    (void)state;
    check_servers(true, CLOSES);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keeps_responses_apart_if_hostile_server_stays),
        cmocka_unit_test(keeps_responses_apart_if_hostile_server_closes),
        cmocka_unit_test(keeps_responses_apart_if_hostile_server_resets),
        cmocka_unit_test(keeps_responses_apart_if_hostile_tls_server_stays),
        cmocka_unit_test(keeps_responses_apart_if_hostile_tls_server_closes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
