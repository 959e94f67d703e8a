/* What a failure is called: by its cause, and not by what libcurl noticed of it. */
#include "support/call.h"
#include "support/h2.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

enum { FEW_FILES = 256, FRAMES = 8000, FRAME_SIZE = 9 };

/** Opens files until there are no more descriptors. */
static size_t take_descriptors(int *taken) {
    size_t count = 0;
    int descriptor;
    while (count < FEW_FILES && (descriptor = open("/dev/null", O_RDONLY | O_CLOEXEC)) >= 0) {
        taken[count++] = descriptor;
    }
    return count;
}

static void reports_too_many_open_files(void **state) {
    fixture *fixture = *state;
    struct rlimit before;
    int taken[FEW_FILES];
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    struct rlimit few = {FEW_FILES, before.rlim_max};
    call *call = call_new(fixture, "/");
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    size_t count = take_descriptors(taken);
    call_perform(call);
    for (size_t i = 0; i < count; i++) close(taken[i]);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    check_ended(call, AFC_ENOMEM);
    assert_int_equal(call->failure.system_error, EMFILE);
    check_contains(call->failure.text, "too many open files");
    call_free(call);
    check_fetch(fixture, "/", AFC_OK);
}

/** The response has no body, whatever its Content-Length says. */
static void head_request_with_body_ends_with_the_head(void **state) {
    (void)state;
    static const size_t sizes[] = {4, 100000};
    static char body[100000];
    for (size_t i = 0; i < 2 * COUNT_OF(sizes); i++) {
        bool is_tls = i >= COUNT_OF(sizes);
        fixture *fixture = is_tls ? fixture_new_tls() : fixture_new(NULL, NULL);
        serve(fixture, "/", answer(200, "Content-Length: 1000", ""));
        serve(fixture, "/moved", answer(302, "Location: /\r\nContent-Length: 1000", ""));
        for (size_t j = 0; j < 2; j++) {
            call *call = call_new(fixture, j == 0 ? "/" : "/moved");
            if (is_tls)
                call->request.url = text_of(fixture, "%s%s", tls_url(fixture),
                                            j == 0 ? "" : "moved");
            call_send(call, "HEAD", (afc_slice){body, sizes[i % COUNT_OF(sizes)]});
            call_perform(call);
            check_ended(call, AFC_OK);
            assert_int_equal(status_of(call), 200);
            assert_int_equal(call->body.size, 0);
            call_free(call);
        }
        check_fetch(fixture, "/other", AFC_OK);
        fixture_free(fixture);
    }
}

static void check_long_field(fixture *fixture, const afc_header *field, afc_status expected) {
    call *call = call_new(fixture, "/");
    call->request.headers = field;
    call->request.header_count = 1;
    call_perform(call);
    check_ended(call, expected);
    if (expected != AFC_OK) check_contains(call->failure.text, "head");
    call_free(call);
}

static void limits_request_heads(void **state) {
    fixture *fixture = *state;
    enum { TOO_LONG = 1500 * 1024 };
    char *value = malloc(TOO_LONG);
    assert_non_null(value);
    memset(value, 'x', TOO_LONG);
    afc_header header = {{"X-Long", 6}, {value, TOO_LONG}, 0};
    check_long_field(fixture, &header, AFC_ETOOBIG);
    /* libcurl 8.13.0 and later leave out a longer field without an error. */
    if (libcurl_is_at_least(8, 13)) {
        header.value.size = 301 * 1024;
        check_long_field(fixture, &header, AFC_ETOOBIG);
    }
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
    /* Below it libcurl takes it, with a body that goes out together with the head. */
    afc_header headers[3];
    for (size_t i = 0; i < COUNT_OF(headers); i++) {
        headers[i] = (afc_header){{"X-Long", 6}, {value, 296 * 1024}, 0};
    }
    afts_script *script = afts_script_new();
    afts_read_bytes(script, 950 * 1024);
    afts_send_text(script, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    afts_wait_peer_close(script);
    afts_on_connection(fixture->server, 0, script);
    call *call = call_new(fixture, "/");
    call_send(call, "POST", (afc_slice){value, 64 * 1024});
    call->request.headers = headers;
    call->request.header_count = COUNT_OF(headers);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    free(value);
}

/** Each wants an answer; a record of TLS has more of them than nghttp2 puts up with. */
static void flood(afts_conn *conn, const struct afts_request *request, void *payload) {
    (void)request, (void)payload;
    h2_peer *peer = malloc(sizeof *peer);
    unsigned char *frames = calloc(FRAMES, FRAME_SIZE);
    if (peer != NULL && frames != NULL && h2_begin(peer, conn) && h2_read_request(peer) != 0) {
        for (size_t i = 0; i < FRAMES; i++) frames[i * FRAME_SIZE + 3] = H2_SETTINGS;
        (void)afts_conn_send(conn, frames, (size_t)FRAMES * FRAME_SIZE);
        while (h2_read(peer)) {}
    }
    free(frames);
    free(peer);
}

static void refuses_http_2_floods(void **state) {
    (void)state;
    fixture *fixture = h2_fixture(NULL);
    h2_serve(fixture, flood, NULL, H2_CLOSE);
    call *call = call_new(fixture, "/");
    call->request.url = tls_url(fixture);
    call_perform(call);
    check_ended(call, AFC_EPROTOCOL);
    assert_null(strstr(call->failure.text, "nghttp2"));
    check_contains(call->failure.text, "HTTP/2");
    call_free(call);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(reports_too_many_open_files),
        cmocka_unit_test(head_request_with_body_ends_with_the_head),
        FIXTURE_TEST(limits_request_heads),
        cmocka_unit_test(refuses_http_2_floods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
