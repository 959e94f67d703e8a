/* An encoded body that has no end, or that isn't the end: the server's mistake or ours, but never an internal error. */
#include "base/alloc.h"
#include "support/auth_server.h"
#include "support/call.h"

#include <curl/curl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const char gzip[] =
    "\x1F\x8B\x08\0\0\0\0\0\0\xFF\x01\x05\0\xFA\xFFhello\x86\xA6\x10\x36\x05\0\0\0";
static const char zlib[] = "\x78\x01\x01\x05\0\xFA\xFFhello\x06\x2C\x02\x15";
static const char raw_deflate[] = "\x01\x05\0\xFA\xFFhello";
static const char brotli[] = "\x0B\x02\x80hello\x03";
static const char zstd[] = "\x28\xB5\x2F\xFD\x20\x05\x29\0\0hello";
static const char garbage[] = "garbage behind the end";

typedef struct body {
    const char *encoding;
    afc_slice bytes;
    bool is_optional; /**< Not every libcurl decodes it. */
} body;

#define BYTES(array)                                                                               \
    { array, sizeof array - 1 }

static const body bodies[] = {
    {"gzip", BYTES(gzip), false},
    {"deflate", BYTES(zlib), false},
    {"deflate", BYTES(raw_deflate), false},
    {"br", BYTES(brotli), true},
    {"zstd", BYTES(zstd), true},
    /* Some servers send it under that name. */
    {"gzip", BYTES(zlib), false},
};

/** The library decodes some bodies by itself, of those that are collected in memory only Zstandard. */
static const afc_sink_kind sinks[] = {AFC_SINK_MEMORY, AFC_SINK_CALLBACK};

static call *fetch_into(fixture *fixture, afc_sink_kind sink) {
    call *call = call_new(fixture, "/");
    call->request.sink.kind = sink;
    call->keeps_body = sink == AFC_SINK_CALLBACK;
    call_perform(call);
    return call;
}

static void serve_twice(fixture *fixture, const body *body, afc_slice rest, bool waits) {
    afts_script *script = afts_script_new();
    afts_respond_chunked(script, 200, text_of(fixture, "Content-Encoding: %s", body->encoding));
    if (waits) {
        afts_chunk(script, body->bytes.bytes, body->bytes.size);
        afts_stall(script, "rest");
        afts_chunk(script, rest.bytes, rest.size);
    } else {
        char both[128];
        memcpy(both, body->bytes.bytes, body->bytes.size);
        if (rest.size > 0) memcpy(both + body->bytes.size, rest.bytes, rest.size);
        afts_chunk(script, both, body->bytes.size + rest.size);
    }
    afts_last_chunk(script, NULL);
    serve(fixture, "/", script);
}

static void decodes_bodies(void **state) {
    fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        serve_twice(fixture, &bodies[i], (afc_slice){NULL, 0}, false);
        for (size_t sink = 0; sink < COUNT_OF(sinks); sink++) {
            call *call = fetch_into(fixture, sinks[sink]);
            if (!bodies[i].is_optional || call->failure.status == AFC_OK) {
                check_ended(call, AFC_OK);
                check_slice(call->body, "hello");
            }
            call_free(call);
        }
    }
}

static void refuses_bodies_that_are_not_gzip(void **state) {
    fixture *fixture = *state;
    char wrong_sum[sizeof gzip];
    memcpy(wrong_sum, gzip, sizeof gzip);
    wrong_sum[sizeof gzip - 1 - 8] ^= 1;
    const struct {
        afc_slice bytes;
        const char *problem;
    } rows[] = {
        {{garbage, sizeof garbage - 1}, "incorrect header check"},
        {{wrong_sum, sizeof gzip - 1}, "incorrect data check"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const body body = {"gzip", rows[i].bytes, false};
        serve_twice(fixture, &body, (afc_slice){NULL, 0}, false);
        for (size_t sink = 0; sink < COUNT_OF(sinks); sink++) {
            call *call = fetch_into(fixture, sinks[sink]);
            check_ended(call, AFC_EPROTOCOL);
            assert_int_equal(call->failure.reason, AFC_REASON_CONTENT_CODING);
            check_contains(call->failure.text, rows[i].problem);
            call_free(call);
        }
    }
}

/** A window of Zstandard is reserved when its frame begins, whatever comes of it. */
static void refuses_windows_beyond_their_limit(void **state) {
    fixture *fixture = *state;
    static const char *const windows[] = {"\x68", "\x69", "\x88"};
    for (size_t i = 0; i < COUNT_OF(windows) * COUNT_OF(sinks); i++) {
        bool is_allowed = i / COUNT_OF(sinks) == 0;
        char frame[] = "\x28\xB5\x2F\xFD\0-\x29\0\0hello";
        frame[5] = windows[i / COUNT_OF(sinks)][0];
        afts_script *script = afts_script_new();
        afts_respond_chunked(script, 200, "Content-Encoding: zstd");
        for (size_t at = 0; at < sizeof frame - 1; at++) afts_chunk(script, frame + at, 1);
        afts_last_chunk(script, NULL);
        serve(fixture, "/", script);
        call *call = fetch_into(fixture, sinks[i % COUNT_OF(sinks)]);
        check_ended(call, is_allowed ? AFC_OK : AFC_EPROTOCOL);
        check_slice(call->body, is_allowed ? "hello" : "");
        if (!is_allowed) {
            assert_int_equal(call->failure.reason, AFC_REASON_CONTENT_CODING);
            check_contains(call->failure.text, "a window of more than 8 MiB (RFC 9659)");
        }
        call_free(call);
    }
}

/** Each block of 128 KiB is one byte, repeated: four bytes in the frame (RFC 8878 3.1.1.2). */
static void body_of_any_ratio_is_collected_whole(void **state) {
    fixture *fixture = *state;
    enum { BLOCK = 128 * 1024, BLOCKS = 320 };
    char frame[6 + 4 * BLOCKS] = "\x28\xB5\x2F\xFD\0\x68";
    for (size_t i = 0; i < BLOCKS; i++) {
        memcpy(frame + 6 + 4 * i, i + 1 == BLOCKS ? "\x03\0\x10" : "\x02\0\x10", 3);
        frame[6 + 4 * i + 3] = (char)i;
    }
    afts_script *script = afts_script_new();
    afts_respond(script, 200, "Content-Encoding: zstd", frame, sizeof frame);
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.limits.decoding_ratio = UINT32_MAX;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->body.size, BLOCK * BLOCKS);
    for (size_t i = 0; i < call->body.size; i += BLOCK / 4) {
        assert_int_equal(call->body.bytes[i], (char)(i / BLOCK));
    }
    call_free(call);
}

/** Which allocation fails, from the head of the response on. */
static atomic_size_t failing;

static afc_status fail_from_head(call *call, afc_response *response) {
    (void)call;
    (void)response;
    afc__alloc_fail_at(atomic_load(&failing));
    return AFC_OK;
}

/** Nothing but the lack of memory is reported, also by what decodes. libbrotlidec allocates as it does that. */
static void decoding_without_memory_is_no_damage(void **state) {
    enum { BROTLI = 3 };
    fixture *fixture = *state;
    serve_twice(fixture, &bodies[BROTLI], (afc_slice){NULL, 0}, false);
    unsigned failures = 0;
    bool has_failed = true;
    for (size_t n = 1; has_failed; n++) {
        call *call = call_new(fixture, "/");
        call->request.sink.kind = AFC_SINK_CALLBACK;
        call->at_head = fail_from_head;
        atomic_store(&failing, n);
        call_perform(call);
        has_failed = afc__alloc_fail_at(0) >= n;
        check_ended(call, call->failure.status == AFC_ENOMEM ? AFC_ENOMEM : AFC_OK);
        failures += call->failure.status == AFC_ENOMEM;
        call_free(call);
    }
    assert_true(failures >= 1);
}

#if defined(__GLIBC__) && !HAS_ADDRESS_SANITIZER && !HAS_THREAD_SANITIZER
enum { FAILS_REALLOC = true };
static _Thread_local bool lacks_memory;

extern void *__libc_realloc(void *block, size_t size);

/** Takes the place of the C library's, which libcurl's large blocks come from. Fails once. */
void *realloc(void *block, size_t size) {
    if (!lacks_memory) return __libc_realloc(block, size);
    lacks_memory = false;
    return NULL;
}
#else
enum { FAILS_REALLOC = false };
static bool lacks_memory;
#endif

/** Returns whether the realloc() above is called. Valgrind calls its own. */
static bool fails_realloc(void) {
    if (!FAILS_REALLOC) return false;
    void *(*volatile reallocate)(void *, size_t) = realloc;
    lacks_memory = true;
    void *block = reallocate(NULL, 1);
    lacks_memory = false;
    free(block);
    return block == NULL;
}

/** Refuses a piece while no memory is left, so that libcurl can't keep its bytes either. */
static afc_status hold_without_memory(call *call, afc_slice chunk) {
    (void)call;
    (void)chunk;
    lacks_memory = true;
    return AFC_EAGAIN;
}

/** libcurl has the same code for a body that exceeds its limit after decoding. */
static void paused_body_without_memory_exceeds_no_limit(void **state) {
    fixture *fixture = *state;
    if (!fails_realloc()) skip();
    /* A stored block of 32 KiB. What is kept of one read is larger than the blocks of curl/allocator.c. */
    static const char bytes[64 + 32 * 1024] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
                                              "\x1F\x8B\x08\0\0\0\0\0\0\xFF\0\0\x80\xFF\x7F";
    afts_script *script = afts_script_new();
    /* One segment: a first read of the head alone would leave less to keep. */
    afts_send(script, bytes, sizeof bytes);
    serve(fixture, "/", script);
    call *call = call_new(fixture, "/");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = hold_without_memory;
    call_perform(call);
    check_ended(call, AFC_ENOMEM);
    call_free(call);
}

/** Some servers name a coding that only their other responses have. */
static void follows_redirect_with_body_that_is_not_gzip(void **state) {
    fixture *fixture = *state;
    const afc_slice damaged[] = {{garbage, sizeof garbage - 1}, {gzip, sizeof gzip - 1 - 9}};
    serve(fixture, "/target", answer(200, NULL, "there"));
    for (size_t i = 0; i < COUNT_OF(damaged); i++) {
        afts_script *script = afts_script_new();
        afts_respond(script, 302, "Location: /target\r\nContent-Encoding: gzip", damaged[i].bytes,
                     damaged[i].size);
        serve(fixture, "/", script);
        for (size_t sink = 0; sink < COUNT_OF(sinks); sink++) {
            call *call = fetch_into(fixture, sinks[sink]);
            check_ended(call, AFC_OK);
            check_slice(call->body, "there");
            call_free(call);
        }
    }
}

static void check_rest(fixture *fixture, const body *body, afc_slice rest) {
    for (int waits = 0; waits <= 1; waits++) {
        serve_twice(fixture, body, rest, waits);
        call *call = call_new(fixture, "/");
        call->request.sink.kind = AFC_SINK_CALLBACK;
        call_start(call);
        if (waits) {
            assert_true(afts_wait_stalled(fixture->server, "rest", 1, PATIENCE_MS));
            check_fetch(fixture, "/other", AFC_OK);
            afts_release(fixture->server, "rest", 1);
        }
        call_wait(call);
        check_ended(call, AFC_EPROTOCOL);
        assert_true(call->failure.text[0] != '\0');
        call_free(call);
    }
}

/** What one coding makes for the next counts as decoded, too: here a frame of Zstandard that is skipped. */
static void bytes_between_codings_have_the_limit_of_the_ratio(void **state) {
    fixture *fixture = *state;
    /* A stored block with the head of the frame; then each byte of zeros stands for 1,032 bytes of the frame. */
    static const char start[] = "\x1F\x8B\x08\0\0\0\0\0\0\xFF"
                                "\0\x08\0\xF7\xFF\x50\x2A\x4D\x18\xFF\xFF\xFF\x7F"
                                "\xEC\xC1\x81\x00\x00\x00\x00\x80\x20\xD6\xFD\x25\x16\xA9\x0A";
    static char bytes[64 * 1024];
    memcpy(bytes, start, sizeof start - 1);
    afts_script *script = afts_script_new();
    afts_respond(script, 200, "Content-Encoding: zstd, gzip", bytes, sizeof bytes);
    serve(fixture, "/", script);
    for (size_t sink = 0; sink < COUNT_OF(sinks); sink++) {
        call *call = fetch_into(fixture, sinks[sink]);
        check_ended(call, AFC_ETOOBIG);
        assert_int_equal(call->failure.reason, AFC_REASON_DECODED_LIMIT);
        assert_int_equal(call->body.size, 0);
        call_free(call);
    }
}

static void refuses_garbage_behind_encoded_body(void **state) {
    fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        check_rest(fixture, &bodies[i], (afc_slice){garbage, sizeof garbage - 1});
    }
}

/** RFC 1952 2.2. */
static void decodes_all_gzip_members(void **state) {
    fixture *fixture = *state;
    serve_twice(fixture, &bodies[0], bodies[0].bytes, false);
    for (size_t sink = 0; sink < COUNT_OF(sinks); sink++) {
        call *call = fetch_into(fixture, sinks[sink]);
        check_ended(call, AFC_OK);
        check_slice(call->body, "hellohello");
        call_free(call);
    }
}

/* ---- With complete framing ------------------------------------------------------------------ */

/** Serves the first `size` bytes of a body, as if they were the whole: with their length, or in chunks. */
static void serve_cut(fixture *fixture, const body *body, size_t size, bool is_chunked) {
    afts_script *script = afts_script_new();
    const char *field = text_of(fixture, "Content-Encoding: %s", body->encoding);
    if (is_chunked) {
        afts_respond_chunked(script, 200, field);
        if (size > 0) afts_chunk(script, body->bytes.bytes, size);
        afts_last_chunk(script, NULL);
    } else {
        afts_respond(script, 200, field, body->bytes.bytes, size);
    }
    serve(fixture, "/", script);
}

static void reports_encoded_body_that_ends_early(void **state) {
    fixture *fixture = *state;
    for (size_t i = 0; i < COUNT_OF(bodies); i++) {
        for (size_t size = 0; size <= bodies[i].bytes.size; size++) {
            for (size_t row = 0; row < 2 * COUNT_OF(sinks); row++) {
                serve_cut(fixture, &bodies[i], size, row % 2 == 1);
                call *call = fetch_into(fixture, sinks[row / 2]);
                bool is_whole = size == 0 || size == bodies[i].bytes.size;
                check_ended(call, is_whole ? AFC_OK : AFC_ETRUNCATED);
                assert_memory_equal("hello", call->body.bytes, call->body.size);
                if (call->failure.status != AFC_OK) {
                    check_contains(call->failure.text, "of the body ends early");
                }
                call_free(call);
            }
        }
    }
}

/* ---- Of a challenge ------------------------------------------------------------------------ */

typedef struct question {
    call *call;
    atomic_uint count;
    uint32_t number;
} question;

static afc_challenge_decision answer_later(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    call *call = context;
    question *question = call->payload;
    (void)credentials;
    pthread_mutex_lock(&call->lock);
    question->number = challenge->number;
    atomic_fetch_add(&question->count, 1);
    pthread_cond_broadcast(&call->changed);
    pthread_mutex_unlock(&call->lock);
    return AFC_CHALLENGE_LATER;
}

/** Fetches the 401 of a script, and answers its challenge when the body was received. */
static call *fetch_challenged(fixture *fixture, afts_script *script,
                              afc_challenge_decision decision) {
    serve_once(fixture, "/", script);
    serve(fixture, "/", answer(200, NULL, "in"));
    question question = {.call = call_new(fixture, "/")};
    call *call = question.call;
    call->payload = &question;
    call->events.on_challenge = answer_later;
    call_start(call);
    call_wait_for(call, &question.count, 1);
    for (int i = 0; i < 5; i++) check_fetch(fixture, "/other", AFC_OK);
    afc_task_answer_challenge(call->task, question.number, decision, &valid_credentials);
    call_wait(call);
    return call;
}

static call *fetch_encoded_challenge(fixture *fixture, const char *coding, afc_slice bytes,
                                     afc_challenge_decision decision) {
    afts_script *script = afts_script_new();
    const char *fields = text_of(fixture, "WWW-Authenticate: Basic realm=\"r\"\r\n%s", coding);
    afts_respond(script, 401, fields, bytes.bytes, bytes.size);
    return fetch_challenged(fixture, script, decision);
}

/** Only if the 401 is the response, its body matters. */
static void encoding_of_challenge_matters_if_it_is_accepted(void **state) {
    fixture *fixture = *state;
    static const struct {
        const char *coding;
        afc_slice bytes;
        afc_status expected;
        const char *text;
    } rows[] = {
        {"Content-Encoding: gzip", BYTES(gzip), AFC_OK, ""},
        {"Content-Encoding: gzip", {gzip, sizeof gzip - 2}, AFC_ETRUNCATED, "ends early"},
        {"Content-Encoding: gzip", BYTES(garbage), AFC_EPROTOCOL, "incorrect header check"},
        {"Content-Encoding: utf-8", BYTES(garbage), AFC_EPROTOCOL, "\"utf-8\" can't be decoded"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        call *call = fetch_encoded_challenge(fixture, rows[i].coding, rows[i].bytes,
                                             AFC_CHALLENGE_USE);
        check_ended(call, AFC_OK);
        check_slice(call->body, "in");
        call_free(call);
        call = fetch_encoded_challenge(fixture, rows[i].coding, rows[i].bytes,
                                       AFC_CHALLENGE_DEFAULT);
        check_ended(call, rows[i].expected);
        assert_int_equal(status_of(call), 401);
        check_contains(call->failure.text, rows[i].text);
        bool has_reason = rows[i].expected == AFC_EPROTOCOL;
        assert_int_equal(call->failure.reason,
                         has_reason ? AFC_REASON_CONTENT_CODING : AFC_REASON_NONE);
        call_free(call);
    }
}

static void tls_body_of_accepted_challenge_needs_close_notify(void **state) {
    (void)state;
    fixture *fixture = fixture_new_tls();
    for (int is_cut = 0; is_cut <= 1; is_cut++) {
        afts_script *script = afts_script_new();
        afts_send_text(script, "HTTP/1.1 401 Unauthorized\r\nConnection: close\r\n"
                               "WWW-Authenticate: Basic realm=\"r\"\r\n\r\nall or half?");
        if (is_cut)
            afts_close_abruptly(script);
        else
            afts_close(script);
        call *call = fetch_challenged(fixture, script, AFC_CHALLENGE_DEFAULT);
        check_ended(call, is_cut ? AFC_ETRUNCATED : AFC_OK);
        assert_int_equal(status_of(call), 401);
        call_free(call);
    }
    fixture_free(fixture);
}

/* ---- Without a length ---------------------------------------------------------------------- */

/** Serves the first `size` bytes of a gzip body that ends with its connection. */
static void serve_beginning(fixture *fixture, const char *fields, size_t size, size_t piece) {
    afts_script *script = afts_script_new();
    afts_send_text(script, text_of(fixture, "HTTP/1.1 200 OK\r\n%s\r\n\r\n", fields));
    if (size > 0) afts_send_crumbs(script, gzip, size, piece, 0);
    afts_close(script);
    serve(fixture, "/", script);
}

static void gzip_body_is_whole_only_with_its_end(void **state) {
    fixture *fixture = *state;
    size_t whole = sizeof gzip - 1;
    for (size_t size = 1; size <= whole; size++) {
        for (size_t piece = 1; piece <= whole; piece *= 7) {
            serve_beginning(fixture, "Content-Encoding: gzip", size, piece);
            call *call = call_fetch(fixture, "/");
            check_ended(call, size == whole ? AFC_OK : AFC_ETRUNCATED);
            /* Some versions of libcurl pass on what they have decoded of a block before its end. */
            assert_memory_equal("hello", call->body.bytes, call->body.size);
            if (size >= whole - 8) check_slice(call->body, "hello");
            call_free(call);
        }
    }
}

static void end_of_other_bodies_is_that_of_the_connection(void **state) {
    fixture *fixture = *state;
    size_t whole = sizeof gzip - 1;
    static const struct {
        const char *fields;
        size_t cut;
        afc_status expected;
        bool keeps;
    } rows[] = {
        {"Content-Encoding: x-gzip", 1, AFC_ETRUNCATED, false},
        {"Content-Encoding: gzip\r\nContent-Encoding: identity", 1, AFC_ETRUNCATED, false},
        {"Content-Encoding: identity", 1, AFC_OK, false},
        {"Content-Encoding: gzip", 1, AFC_OK, true},
        /* Servers name a coding for a body that they don't have. */
        {"Content-Encoding: gzip", sizeof gzip - 1, AFC_OK, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        serve_beginning(fixture, rows[i].fields, whole - rows[i].cut, whole);
        call *call = call_new(fixture, "/");
        call->request.keep_encoding = rows[i].keeps;
        call_perform(call);
        check_ended(call, rows[i].expected);
        call_free(call);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(decodes_bodies),
        FIXTURE_TEST(refuses_bodies_that_are_not_gzip),
        FIXTURE_TEST(refuses_windows_beyond_their_limit),
        FIXTURE_TEST(body_of_any_ratio_is_collected_whole),
        FIXTURE_TEST(decoding_without_memory_is_no_damage),
        FIXTURE_TEST(paused_body_without_memory_exceeds_no_limit),
        FIXTURE_TEST(follows_redirect_with_body_that_is_not_gzip),
        FIXTURE_TEST(bytes_between_codings_have_the_limit_of_the_ratio),
        FIXTURE_TEST(refuses_garbage_behind_encoded_body),
        FIXTURE_TEST(decodes_all_gzip_members),
        FIXTURE_TEST(reports_encoded_body_that_ends_early),
        FIXTURE_TEST(encoding_of_challenge_matters_if_it_is_accepted),
        cmocka_unit_test(tls_body_of_accepted_challenge_needs_close_notify),
        FIXTURE_TEST(gzip_body_is_whole_only_with_its_end),
        FIXTURE_TEST(end_of_other_bodies_is_that_of_the_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
