/* Declared limits: what is beyond them ends the task at once, what is within them never does. */
#include "support/call.h"
#include "support/files.h"

#include <string.h>

/* ---- Bodies -------------------------------------------------------------------------------- */

/** The same ten bytes, framed in each way. */
static void serve_ten(fixture *fixture) {
    serve(fixture, "/length", answer(200, NULL, "0123456789"));
    serve_text(fixture, "/close", "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n0123456789");
    serve_text(fixture, "/chunks",
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
               "4\r\n0123\r\n6\r\n456789\r\n0\r\n\r\n");
}

static void check_limit(fixture *fixture, const char *path, afc_sink sink, uint64_t limit,
                        afc_status expected) {
    call *call = call_new(fixture, path);
    call->request.sink = sink;
    call->request.limits.body_bytes = limit;
    call_perform(call);
    check_ended(call, expected);
    assert_int_equal(status_of(call), 200);
    if (expected == AFC_OK)
        assert_int_equal(afc_result_get_body_size(call->result), 10);
    else
        assert_true(afc_result_get_body_size(call->result) <= limit);
    call_free(call);
}

static void accepts_body_of_exactly_its_limit(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve_ten(fixture);
    static const char *const paths[] = {"/length", "/close", "/chunks"};
    const afc_sink sinks[] = {{.kind = AFC_SINK_MEMORY},
                              {.kind = AFC_SINK_CALLBACK},
                              {.kind = AFC_SINK_FILE, .path = path_in(&folder, "got")}};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        for (size_t j = 0; j < COUNT_OF(sinks); j++) {
            check_limit(fixture, paths[i], sinks[j], 10, AFC_OK);
            check_limit(fixture, paths[i], sinks[j], 9, AFC_ETOOBIG);
            check_limit(fixture, paths[i], sinks[j], 1, AFC_ETOOBIG);
        }
    }
    folder_remove(&folder);
}

static void limit_of_bodies_in_memory_is_not_one_of_others(void **state) {
    fixture *fixture = *state;
    serve_ten(fixture);
    const struct {
        afc_sink_kind kind;
        uint64_t limit, memory_limit;
        afc_status expected;
    } rows[] = {
        {AFC_SINK_MEMORY, 0, 9, AFC_ETOOBIG}, {AFC_SINK_MEMORY, 0, 10, AFC_OK},
        {AFC_SINK_MEMORY, 10, 9, AFC_OK},     {AFC_SINK_MEMORY, 9, 10, AFC_ETOOBIG},
        {AFC_SINK_CALLBACK, 0, 9, AFC_OK},    {AFC_SINK_CALLBACK, 9, 10, AFC_ETOOBIG},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        call *call = call_new(fixture, "/chunks");
        call->request.sink.kind = rows[i].kind;
        call->request.limits.body_bytes = rows[i].limit;
        call->request.memory_limit = rows[i].memory_limit;
        call_perform(call);
        check_ended(call, rows[i].expected);
        call_free(call);
    }
}

static void names_the_limit_and_what_exceeded_it(void **state) {
    fixture *fixture = *state;
    serve_ten(fixture);
    static const struct {
        const char *path;
        afc_limits limits;
        const char *text;
        afc_reason reason;
    } rows[] = {
        {"/length", {.body_bytes = 9}, "the limit of 9 bytes: it has 10", AFC_REASON_BODY_LIMIT},
        {"/chunks",
         {.body_bytes = 3},
         "the limit of 3 bytes: it has at least ",
         AFC_REASON_BODY_LIMIT},
        {"/length", {.head_bytes = 30}, "the limit of 30 bytes", AFC_REASON_HEAD_LIMIT},
        {"/two", {.head_count = 1}, "the limit of 1 fields", AFC_REASON_HEAD_LIMIT},
        {"/early", {.informational = 1}, "more than 1 informational responses", AFC_REASON_NONE},
    };
    serve_text(fixture, "/two", "HTTP/1.1 200 OK\r\nA: 1\r\nContent-Length: 0\r\n\r\n");
    serve_text(fixture, "/early",
               "HTTP/1.1 103 A\r\n\r\nHTTP/1.1 103 B\r\n\r\n"
               "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        call *call = call_new(fixture, rows[i].path);
        call->request.limits = rows[i].limits;
        call_perform(call);
        check_ended(call, AFC_ETOOBIG);
        check_contains(call->failure.text, rows[i].text);
        assert_int_equal(call->failure.reason, rows[i].reason);
        call_free(call);
    }
}

static void endless_body_ends_at_the_limit(void **state) {
    fixture *fixture = *state;
    static const char block[4096];
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, NULL, block, sizeof block, AFTS_FOREVER);
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.limits.body_bytes = 1 << 20;
    call_perform(call);
    check_ended(call, AFC_ETOOBIG);
    call_free(call);
    assert_true(afts_server_stats(fixture->server).sent < 32 << 20);
}

/** Only the first MiB is kept of what isn't the file's, but all of it counts. */
static void endless_body_of_an_error_ends_at_the_limit(void **state) {
    fixture *fixture = *state;
    static const char block[4096];
    folder folder;
    folder_make(&folder);
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 404, NULL, block, sizeof block, AFTS_FOREVER);
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = path_in(&folder, "got")};
    call->request.limits.body_bytes = 3 << 20;
    call_perform(call);
    check_ended(call, AFC_ETOOBIG);
    assert_int_equal(call->failure.reason, AFC_REASON_BODY_LIMIT);
    call_free(call);
    folder_remove(&folder);
    assert_true(afts_server_stats(fixture->server).sent < 64 << 20);
}

static void refuses_declared_length_beyond_the_limit(void **state) {
    fixture *fixture = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\nContent-Length: 100000000000\r\n\r\n");
    afts_stall(script, "no body");
    serve(fixture, "/", script);
    check_fetch(fixture, "/", AFC_ETOOBIG);
}

static void declared_length_reserves_no_memory(void **state) {
    fixture *fixture = *state;
    serve_text(fixture, "/", "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\nshort");
    call *call = call_new(fixture, "/");
    call->request.limits.body_bytes = UINT64_MAX;
    call_perform(call);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
}

static void default_limit_in_memory_is_64_mib(void **state) {
    fixture *fixture = *state;
    serve_text(fixture, "/more", "HTTP/1.1 200 OK\r\nContent-Length: 67108865\r\n\r\nx");
    serve_text(fixture, "/just", "HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\nx");
    check_fetch(fixture, "/more", AFC_ETOOBIG);
    check_fetch(fixture, "/just", AFC_ETRUNCATED);
}

/* ---- Heads --------------------------------------------------------------------------------- */

static void serve_fields(fixture *fixture, const char *path, unsigned count) {
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n");
    for (unsigned i = 1; i < count; i++) afts_send_text(script, "X: y\r\n");
    afts_send_text(script, "\r\n");
    serve(fixture, path, script);
}

static void limits_the_number_of_fields(void **state) {
    fixture *fixture = *state;
    serve_fields(fixture, "/512", 512);
    serve_fields(fixture, "/513", 513);
    check_fetch(fixture, "/512", AFC_OK);
    check_fetch(fixture, "/513", AFC_ETOOBIG);
    serve_fields(fixture, "/5", 5);
    for (uint32_t limit = 4; limit <= 5; limit++) {
        call *call = call_new(fixture, "/5");
        call->request.limits.head_count = limit;
        call_perform(call);
        check_ended(call, limit == 5 ? AFC_OK : AFC_ETOOBIG);
        call_free(call);
    }
}

static void limits_include_trailers_and_informational_heads(void **state) {
    fixture *fixture = *state;
    serve_text(fixture, "/",
               "HTTP/1.1 103 Hints\r\nA: 1\r\nB: 2\r\n\r\n"
               "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
               "2\r\nok\r\n0\r\nC: 3\r\nD: 4\r\n\r\n");
    for (uint32_t limit = 2; limit <= 5; limit++) {
        call *call = call_new(fixture, "/");
        call->request.limits.head_count = limit;
        call_perform(call);
        check_ended(call, limit == 5 ? AFC_OK : AFC_ETOOBIG);
        call_free(call);
    }
}

static void limits_bytes_of_heads(void **state) {
    fixture *fixture = *state;
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    serve_text(fixture, "/", head);
    for (uint32_t less = 0; less <= 1; less++) {
        call *call = call_new(fixture, "/");
        call->request.limits.head_bytes = (uint32_t)strlen(head) - less;
        call_perform(call);
        check_ended(call, less == 0 ? AFC_OK : AFC_ETOOBIG);
        call_free(call);
    }
}

static void limits_endless_heads(void **state) {
    fixture *fixture = *state;
    static char line[1024];
    memset(line, 'v', sizeof line);
    memcpy(line, "X-Long: ", 8);
    memcpy(line + sizeof line - 2, "\r\n", 2);
    static const struct {
        const char *begin;
        size_t skipped, size;
    } floods[] = {
        {"HTTP/1.1 200 OK\r\n", 0, sizeof line}, /* Fields. */
        {"HTTP/1.1 200 OK\r\nX: y", 8, 100},     /* One line without end. */
        {"HTTP/1.1 200 ", 8, 100},               /* A reason without end. */
        {"", 8, 100},                            /* Not even a status line. */
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", 0, sizeof line},
        {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: y", 8, 100},
    };
    for (size_t i = 0; i < COUNT_OF(floods); i++) {
        afts_script *script = afts_script_new();
        afts_send_text(script, floods[i].begin);
        afts_send_repeated(script, line + floods[i].skipped, floods[i].size, AFTS_FOREVER);
        serve(fixture, "/", script);
        call *call = call_fetch(fixture, "/");
        if (i != 3)
            check_ended(call, AFC_ETOOBIG);
        else
            check_ended(call, AFC_EPROTOCOL);
        call_free(call);
    }
    assert_true(afts_server_stats(fixture->server).sent < 64 << 20);
}

static void limits_informational_responses(void **state) {
    fixture *fixture = *state;
    for (unsigned count = 16; count <= 17; count++) {
        afts_script *script = afts_script_new();
        for (unsigned i = 0; i < count; i++) afts_interim(script, i % 2 ? 103 : 100, NULL);
        afts_respond(script, 200, NULL, "ok", 2);
        serve(fixture, "/", script);
        call *call = call_fetch(fixture, "/");
        check_ended(call, count == 16 ? AFC_OK : AFC_ETOOBIG);
        assert_int_equal(atomic_load(&call->informational_count), 16);
        call_free(call);
    }
    afts_script *script = afts_script_new();
    static const char interim[] = "HTTP/1.1 102 Processing\r\n\r\n";
    afts_send_repeated(script, interim, sizeof interim - 1, AFTS_FOREVER);
    serve(fixture, "/forever", script);
    check_fetch(fixture, "/forever", AFC_ETOOBIG);
}

/* ---- Decoding ------------------------------------------------------------------------------ */

/**
 * The beginning of a zlib stream, made by zlib from a run of equal bytes: a block with codes of one
 * bit each. Every byte of zeros that follows stands for 1,032 bytes, without end.
 */
static const char bomb[] = "\x78\xDA\xEC\xC1\x81\x00\x00\x00\x00\x80\x20\xD6\xFD\x25\x16\xA9\x0A";

static void serve_bomb(fixture *fixture, const char *path, uint64_t blocks) {
    static const char zeros[1000];
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n"
                           "Connection: close\r\n\r\n");
    afts_send(script, bomb, sizeof bomb - 1);
    afts_send_repeated(script, zeros, sizeof zeros, blocks);
    afts_close(script);
    serve(fixture, path, script);
}

static void check_decoding(fixture *fixture, uint32_t ratio, uint64_t limit, afc_sink_kind kind,
                           const char *text, afc_reason reason) {
    call *call = call_new(fixture, "/bomb");
    call->request.limits.decoding_ratio = ratio;
    call->request.limits.body_bytes = limit;
    call->request.sink.kind = kind;
    call_perform(call);
    check_ended(call, AFC_ETOOBIG);
    check_contains(call->failure.text, text);
    assert_int_equal(call->failure.reason, reason);
    call_free(call);
}

static void refuses_body_that_decodes_to_too_much(void **state) {
    fixture *fixture = *state;
    serve_bomb(fixture, "/bomb", AFTS_FOREVER);
    check_decoding(fixture, 0, 0, AFC_SINK_MEMORY, "exceeds 250 times its size",
                   AFC_REASON_DECODED_LIMIT);
    check_decoding(fixture, 0, 0, AFC_SINK_CALLBACK, "after decoding: ", AFC_REASON_DECODED_LIMIT);
    check_decoding(fixture, UINT32_MAX, 1 << 20, AFC_SINK_CALLBACK, "exceeds the limit",
                   AFC_REASON_BODY_LIMIT);
    check_decoding(fixture, UINT32_MAX, 100 << 20, AFC_SINK_CALLBACK, "exceeds the limit",
                   AFC_REASON_BODY_LIMIT);
    /* 250 : 1 of what was sent, and what one read may decode to. */
    assert_true(afts_server_stats(fixture->server).sent < 64 << 20);
}

static void small_body_may_decode_to_much(void **state) {
    fixture *fixture = *state;
    static const uint32_t ratios[] = {0, 1};
    serve_bomb(fixture, "/bomb", 1); /* Almost 1 MiB and no end: only the end is missing. */
    for (size_t i = 0; i < COUNT_OF(ratios); i++) {
        call *call = call_new(fixture, "/bomb");
        call->request.sink.kind = AFC_SINK_CALLBACK;
        call->request.limits.decoding_ratio = ratios[i];
        call_perform(call);
        assert_true(call->failure.status != AFC_ETOOBIG);
        assert_true(atomic_load(&call->taken) > 1000000);
        call_free(call);
    }
}

static void refuses_bomb_in_redirect_body(void **state) {
    fixture *fixture = *state;
    static const char zeros[1024];
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 302 Found\r\nLocation: /to\r\nContent-Encoding: deflate\r\n"
                           "Connection: close\r\n\r\n");
    afts_send(script, bomb, sizeof bomb - 1);
    afts_send_repeated(script, zeros, sizeof zeros, AFTS_FOREVER);
    serve(fixture, "/", script);
    check_fetch(fixture, "/", AFC_OK);
    assert_true(afts_server_stats(fixture->server).sent < 16 << 20);
}

static void limits_the_number_of_encodings(void **state) {
    fixture *fixture = *state;
    const char *names = "Content-Encoding: gzip";
    for (int i = 0; i < 30; i++) names = text_of(fixture, "%s, gzip", names);
    serve(fixture, "/", answer(200, names, "x"));
    check_fetch(fixture, "/", AFC_EPROTOCOL);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(accepts_body_of_exactly_its_limit),
        FIXTURE_TEST(limit_of_bodies_in_memory_is_not_one_of_others),
        FIXTURE_TEST(names_the_limit_and_what_exceeded_it),
        FIXTURE_TEST(endless_body_ends_at_the_limit),
        FIXTURE_TEST(endless_body_of_an_error_ends_at_the_limit),
        FIXTURE_TEST(refuses_declared_length_beyond_the_limit),
        FIXTURE_TEST(declared_length_reserves_no_memory),
        FIXTURE_TEST(default_limit_in_memory_is_64_mib),
        FIXTURE_TEST(limits_the_number_of_fields),
        FIXTURE_TEST(limits_include_trailers_and_informational_heads),
        FIXTURE_TEST(limits_bytes_of_heads),
        FIXTURE_TEST(limits_endless_heads),
        FIXTURE_TEST(limits_informational_responses),
        FIXTURE_TEST(refuses_body_that_decodes_to_too_much),
        FIXTURE_TEST(small_body_may_decode_to_much),
        FIXTURE_TEST(refuses_bomb_in_redirect_body),
        FIXTURE_TEST(limits_the_number_of_encodings),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
