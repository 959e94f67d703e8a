/*
 * Encoded bodies that are not taken: they are decoded no further than they are taken, so they cost little memory, and
 * they are passed on whole, in order and before the end.
 */
#include "support/auth_server.h"
#include "support/call.h"
#include "support/files.h"
#include "support/h2.h"
#include "support/heap.h"
#include "support/stored_blocks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MIB = 1024 * 1024, TASKS = 8, LARGE = 5 * MIB };

/* ---- Encoded bodies ------------------------------------------------------------------------ */

/**
 * The beginning of a zlib stream, made by zlib from a run of equal bytes. Every byte of zeros that follows
 * stands for 1,032 bytes, without end.
 */
static const char bomb[] = "\x78\xDA\xEC\xC1\x81\x00\x00\x00\x00\x80\x20\xD6\xFD\x25\x16\xA9\x0A";

/** 40 KiB on the wire, 40 MiB decoded; then the server waits. */
static void serve_beginning(fixture *fixture, const char *path, afc_slice head, afc_slice body) {
    static char bytes[40 * 1024];
    memset(bytes, 0, sizeof bytes);
    memcpy(bytes, head.bytes, head.size);
    memcpy(bytes + head.size, body.bytes, body.size);
    afts_script *script = afts_script_new();
    /* One segment: a first read of the head alone would decode to nothing that could be too much. */
    afts_send(script, bytes, sizeof bytes);
    afts_stall(script, "bomb");
    serve(fixture, path, script);
}

static void serve_bomb(fixture *fixture, const char *path) {
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n";
    serve_beginning(fixture, path, (afc_slice){head, sizeof head - 1},
                    (afc_slice){bomb, sizeof bomb - 1});
}

/** With the head of gzip instead of zlib's. */
static void serve_gzip_bomb(fixture *fixture) {
    static const char head[] = "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n"
                               "\x1F\x8B\x08\0\0\0\0\0\0\xFF";
    serve_beginning(fixture, "/bomb", (afc_slice){head, sizeof head - 1},
                    (afc_slice){bomb + 2, sizeof bomb - 3});
}

/** 40 MiB of zeros, made by libbrotlienc. */
static const char brotli_zeros[] =
    "\xCB\xFF\xFF\x3F\x00\x24\x00\xE2\xB1\x40\x72\xEF\xFF\xF8\xFF\xFF\x07\x80\x04\x40\x1C"
    "\x16\x80\xEE\xFD\x1F\xFF\xFF\xFF\x00\x90\x00\x88\xC3\x02\xD0\xBD\xFF\xE3\xFF\xFF\x1F"
    "\x00\x12\x00\x71\x58\x00\xBA\xF7\x7F\xF9\xFF\xFF\x07\x40\x02\x20\x0E\x0B\x40\xF7\xFE"
    "\x0F";

enum { ZEROS = 40 * MIB };

static afts_script *zeros_in_brotli(void) {
    afts_script *script = afts_script_new();
    afts_respond(script, 200, "Content-Encoding: br", brotli_zeros, sizeof brotli_zeros - 1);
    return script;
}

/** A frame with a window of 2 MiB, and blocks of 128 KiB that are one byte, repeated (RFC 8878 3.1.1). */
static afts_script *zeros_in_zstd(void) {
    enum { BLOCKS = ZEROS / (128 * 1024) };
    char frame[6 + 4 * BLOCKS] = "\x28\xB5\x2F\xFD\x00\x58";
    for (size_t i = 0; i < BLOCKS; i++) {
        memcpy(frame + 6 + 4 * i, i + 1 == BLOCKS ? "\x03\x00\x10" : "\x02\x00\x10", 4);
    }
    afts_script *script = afts_script_new();
    afts_respond(script, 200, "Content-Encoding: zstd", frame, sizeof frame);
    return script;
}

/** Which coding the servers use. */
static stored_format coding;
static const char *const coding_names[] = {"deflate", "gzip"};

static char *encode(const char *bytes, size_t size, size_t *encoded_size) {
    return stored_blocks(coding, bytes, size, 1000, encoded_size);
}

typedef enum framing { LENGTH, CHUNKS, CLOSE, FRAMINGS } framing;

static afts_script *encoded_answer(framing framing, int status, const char *field, afc_slice body) {
    size_t size;
    char *encoded = encode(body.bytes, body.size, &size), headers[256];
    snprintf(headers, sizeof headers, "Content-Encoding: %s%s%s", coding_names[coding],
             field[0] ? "\r\n" : "", field);
    afts_script *script = afts_script_new();
    if (framing == LENGTH) {
        afts_respond(script, status, headers, encoded, size);
    } else if (framing == CHUNKS) {
        afts_respond_chunked(script, status, headers);
        for (size_t done = 0; done < size; done += 700) {
            afts_chunk(script, encoded + done, size - done < 700 ? size - done : 700);
        }
        afts_last_chunk(script, NULL);
    } else {
        afts_respond_repeated(script, status, headers, encoded, size, 1);
        afts_close(script);
    }
    free(encoded);
    return script;
}

static char *content(size_t size) {
    char *bytes = malloc(size);
    assert_non_null(bytes);
    for (size_t i = 0; i < size; i++) bytes[i] = (char)(i * 31 + i / 251);
    return bytes;
}

/* ---- Waiting ------------------------------------------------------------------------------- */

/** Refuses the first piece once. */
static afc_status hold_once(call *call, afc_slice chunk) {
    (void)chunk;
    return atomic_load(&call->refused_count) == 0 ? AFC_EAGAIN : AFC_OK;
}

/** Refuses each piece once. */
static afc_status hesitate(call *call, afc_slice chunk) {
    (void)chunk;
    return atomic_load(&call->refused_count) <= atomic_load(&call->body_count) ? AFC_EAGAIN
                                                                               : AFC_OK;
}

static afc_status suspend_at_head(call *call, afc_response *response) {
    (void)response;
    afc_task_suspend(call->task);
    return AFC_OK;
}

static call *start_events(fixture *fixture, const char *path,
                          afc_status (*at_body)(call *, afc_slice)) {
    call *call = call_new(fixture, path);
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = at_body;
    call->keeps_body = true;
    return call;
}

/** All that libcurl would still read has been: other tasks have run to their end meanwhile. */
static void let_it_read(fixture *fixture) {
    for (int i = 0; i < 20; i++) check_fetch(fixture, "/other", AFC_OK);
}

/** Wakes a call that hesitates until it has taken this much; then it hesitates again. */
static void take_part(call *call, size_t size) {
    for (unsigned n = 1; atomic_load(&call->taken) < size; n++) {
        afc_task_wake(call->task);
        call_wait_for(call, &call->refused_count, n + 1);
    }
}

/** Wakes a call that hesitates until it has taken its body of this size. */
static void take_all(call *call, size_t size) {
    for (unsigned n = 1; atomic_load(&call->taken) < size; n++) {
        afc_task_wake(call->task);
        call_wait_for(call, &call->body_count, n);
        if (atomic_load(&call->taken) < size) call_wait_for(call, &call->refused_count, n + 1);
    }
}

static void cancel(call *call) {
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

/* ---- Memory and limits --------------------------------------------------------------------- */

/** Nothing is decoded that isn't taken, so the limits are reached only when the body goes on. */
static void paused_bomb_ends_at_body_limit_when_it_goes_on(void **state) {
    fixture *fixture = *state;
    /* Other tasks need a connection, too. */
    enum { FEW = 3 };
    serve_bomb(fixture, "/bomb");
    call *calls[FEW];
    for (int i = 0; i < FEW; i++) {
        calls[i] = start_events(fixture, "/bomb", hold_once);
        calls[i]->request.limits.body_bytes = 1 * MIB;
        call_start(calls[i]);
    }
    for (int i = 0; i < FEW; i++) call_wait_for(calls[i], &calls[i]->refused_count, 1);
    let_it_read(fixture);
    for (int i = 0; i < FEW; i++) {
        assert_int_equal(atomic_load(&calls[i]->done_count), 0);
        afc_task_wake(calls[i]->task);
        call_wait(calls[i]);
        check_ended(calls[i], AFC_ETOOBIG);
        assert_true(atomic_load(&calls[i]->taken) <= MIB);
        call_free(calls[i]);
    }
}

static void paused_bomb_ends_at_decoding_ratio_when_it_goes_on(void **state) {
    fixture *fixture = *state;
    serve_bomb(fixture, "/bomb");
    call *call = start_events(fixture, "/bomb", hold_once);
    call_start(call);
    call_wait_for(call, &call->refused_count, 1);
    afc_task_wake(call->task);
    call_wait(call);
    check_ended(call, AFC_ETOOBIG);
    /* The default ratio of what was received and 32 KiB. */
    assert_true(atomic_load(&call->taken) <= 250 * (40 + 32) * 1024);
    call_free(call);
}

static void suspended_bomb_ends_at_body_limit_when_resumed(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve_bomb(fixture, "/bomb");
    const afc_sink sinks[] = {{.kind = AFC_SINK_MEMORY},
                              {.kind = AFC_SINK_CALLBACK},
                              {.kind = AFC_SINK_FILE, .path = path_in(&folder, "got")}};
    for (size_t i = 0; i < COUNT_OF(sinks); i++) {
        call *call = call_new(fixture, "/bomb");
        call->request.sink = sinks[i];
        call->request.limits.body_bytes = 1 * MIB;
        call->at_head = suspend_at_head;
        check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                     AFC_OK);
        afc_task_start(call->task);
        call_wait_for(call, &call->head_count, 1);
        let_it_read(fixture);
        assert_int_equal(atomic_load(&call->done_count), 0);
        afc_task_resume(call->task);
        call_wait(call);
        check_ended(call, AFC_ETOOBIG);
        call_free(call);
    }
    folder_remove(&folder);
}

/** A paused body takes a read buffer, a read, a piece and the window of its coding. */
static void paused_bodies_keep_what_was_read(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = TASKS + 1;
    fixture *fixture = fixture_new(NULL, &options);
    serve_bomb(fixture, "/bomb");
    check_fetch(fixture, "/other", AFC_OK);
    size_t before = heap_in_use();
    call *calls[TASKS];
    for (int i = 0; i < TASKS; i++) {
        calls[i] = start_events(fixture, "/bomb", call_hold);
        calls[i]->request.limits.decoding_ratio = UINT32_MAX;
        call_start(calls[i]);
    }
    for (int i = 0; i < TASKS; i++) call_wait_for(calls[i], &calls[i]->refused_count, 1);
    let_it_read(fixture);
    size_t kept = heap_in_use() - before;
    print_message("kept for %d tasks: %zu KiB\n", TASKS, kept / 1024);
    assert_true(kept <= TASKS * (size_t)MIB);
    for (int i = 0; i < TASKS; i++) {
        assert_int_equal(atomic_load(&calls[i]->refused_count), 1);
        cancel(calls[i]);
    }
    assert_true(heap_in_use() < before + TASKS * (size_t)MIB / 2);
    fixture_free(fixture);
}

/** A body is decoded as far as it is taken. */
static void paused_gzip_body_keeps_one_piece(void **state) {
    (void)state;
    enum { TAKEN = 3 * MIB, MOST = 2 * MIB };
    fixture *fixture = fixture_new(NULL, NULL);
    serve_gzip_bomb(fixture);
    check_fetch(fixture, "/other", AFC_OK);
    size_t before = heap_in_use();
    call *call = start_events(fixture, "/bomb", hesitate);
    call->keeps_body = false;
    call->request.limits.decoding_ratio = UINT32_MAX;
    call_start(call);
    call_wait_for(call, &call->refused_count, 1);
    let_it_read(fixture);
    print_message("kept of gzip: %zu KiB\n", (heap_in_use() - before) / 1024);
    assert_true(heap_in_use() - before <= MOST);
    take_part(call, TAKEN);
    assert_true(heap_in_use() - before <= MOST);
    cancel(call);
    fixture_free(fixture);
}

/**
 * A response of a thousand bytes can decode to more than any limit of what is kept, and needs no more than its window.
 */
static void paused_body_of_any_ratio_keeps_its_window(void **state) {
    (void)state;
    enum { TAKEN = 3 * MIB };
    for (int i = 0; i < 2; i++) {
        fixture *fixture = fixture_new(NULL, NULL);
        serve(fixture, "/zeros", i == 0 ? zeros_in_brotli() : zeros_in_zstd());
        check_fetch(fixture, "/other", AFC_OK);
        size_t before = heap_in_use();
        call *call = start_events(fixture, "/zeros", hesitate);
        call->keeps_body = false;
        call->request.limits.decoding_ratio = UINT32_MAX;
        call_start(call);
        call_wait_for(call, &call->refused_count, 1);
        let_it_read(fixture);
        take_part(call, TAKEN);
        print_message("kept of zeros: %zu KiB\n", (heap_in_use() - before) / 1024);
        assert_true(heap_in_use() - before <= 6 * MIB);
        cancel(call);
        fixture_free(fixture);
    }
}

static void body_of_any_ratio_arrives_whole(void **state) {
    fixture *fixture = *state;
    for (int i = 0; i < 2; i++) {
        serve(fixture, "/zeros", i == 0 ? zeros_in_brotli() : zeros_in_zstd());
        call *call = start_events(fixture, "/zeros", NULL);
        call->keeps_body = false;
        call->request.limits.decoding_ratio = UINT32_MAX;
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(atomic_load(&call->taken), ZEROS);
        call_free(call);
    }
}

/** A file is written by another thread, which the decoding must not overtake. */
static void gzip_file_takes_all_that_is_decoded(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve_gzip_bomb(fixture);
    call *call = call_new(fixture, "/bomb");
    call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = path_in(&folder, "got")};
    call->request.limits.decoding_ratio = UINT32_MAX;
    call->request.limits.body_bytes = 30 * MIB;
    call_perform(call);
    check_ended(call, AFC_ETOOBIG);
    call_free(call);
    folder_remove(&folder);
}

/** Some versions of libcurl would decode it, and others pass it on as it is. */
static void transfer_coding_is_refused(void **state) {
    fixture *fixture = *state;
    static const char zeros[64 * 1024];
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\nTransfer-Encoding: deflate\r\n\r\n");
    afts_send(script, bomb, sizeof bomb - 1);
    afts_send_repeated(script, zeros, sizeof zeros, AFTS_FOREVER);
    serve(fixture, "/bomb", script);
    call *call = start_events(fixture, "/bomb", NULL);
    call->keeps_body = false;
    call_perform(call);
    check_ended(call, AFC_EPROTOCOL);
    check_contains(call->failure.text, "a transfer coding that the request didn't accept");
    assert_int_equal(atomic_load(&call->taken), 0);
    call_free(call);
    assert_true(afts_server_stats(fixture->server).sent < 64 * MIB);
}

/* ---- Delivery ------------------------------------------------------------------------------ */

/** One piece for each wake, whatever the framing: all of it, in order, then the end. */
static void paused_body_is_delivered_whole(void **state) {
    fixture *fixture = *state;
    static const size_t sizes[] = {1, 100, 20000, 300000};
    for (size_t i = 0; i < COUNT_OF(sizes) * FRAMINGS; i++) {
        size_t size = sizes[i / FRAMINGS];
        char *bytes = content(size);
        serve(fixture, "/",
              encoded_answer((framing)(i % FRAMINGS), 200, "", (afc_slice){bytes, size}));
        call *call = start_events(fixture, "/", hesitate);
        call_start(call);
        call_wait_for(call, &call->refused_count, 1);
        let_it_read(fixture);
        assert_int_equal(atomic_load(&call->done_count), 0);
        take_all(call, size);
        call_wait(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->body.size, size);
        assert_memory_equal(call->body.bytes, bytes, size);
        call_free(call);
        free(bytes);
    }
}

static void suspended_body_is_delivered_whole(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    char *bytes = content(LARGE);
    const afc_sink sinks[] = {{.kind = AFC_SINK_MEMORY},
                              {.kind = AFC_SINK_CALLBACK},
                              {.kind = AFC_SINK_FILE, .path = path_in(&folder, "got")}};
    for (size_t i = 0; i < COUNT_OF(sinks) * FRAMINGS; i++) {
        const afc_sink *sink = &sinks[i / FRAMINGS];
        size_t size = i % 2 != 0 ? LARGE : 10;
        serve(fixture, "/",
              encoded_answer((framing)(i % FRAMINGS), 200, "", (afc_slice){bytes, size}));
        call *call = call_new(fixture, "/");
        call->request.sink = *sink;
        call->at_head = suspend_at_head;
        call->keeps_body = sink->kind == AFC_SINK_CALLBACK;
        check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                     AFC_OK);
        afc_task_start(call->task);
        call_wait_for(call, &call->head_count, 1);
        let_it_read(fixture);
        assert_int_equal(atomic_load(&call->body_count), 0);
        assert_int_equal(atomic_load(&call->done_count), 0);
        afc_task_resume(call->task);
        call_wait(call);
        check_ended(call, AFC_OK);
        if (sink->kind == AFC_SINK_FILE) {
            check_file(sink->path, (afc_slice){bytes, size});
        } else {
            assert_int_equal(call->body.size, size);
            assert_memory_equal(call->body.bytes, bytes, size);
        }
        call_free(call);
    }
    free(bytes);
    folder_remove(&folder);
}

static void throttled_body_is_delivered_whole(void **state) {
    fixture *fixture = *state;
    enum { SIZE = 60000 };
    char *bytes = content(SIZE);
    serve(fixture, "/", encoded_answer(LENGTH, 200, "", (afc_slice){bytes, SIZE}));
    call *call = start_events(fixture, "/", NULL);
    call->request.max_receive_bytes_per_s = 400000;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->body.size, SIZE);
    assert_memory_equal(call->body.bytes, bytes, SIZE);
    call_free(call);
    free(bytes);
}

/** Everything has come, but the last bytes were not taken: the task is still under way. */
/** Its body is refused. On a busy machine the idle limit may be reached before: then once more, with a longer one. */
static call *start_held(fixture *fixture, uint32_t total_ms) {
    for (uint32_t idle_ms = 50; idle_ms < PATIENCE_MS; idle_ms *= 2) {
        call *call = start_events(fixture, "/", call_hold);
        call->request.timeouts.idle_ms = idle_ms;
        call->request.timeouts.total_ms = total_ms != 0 ? total_ms + idle_ms : 0;
        call_start(call);
        if (call_wait_or_end(call, &call->refused_count, 1)) return call;
        check_ended(call, AFC_ETIMEOUT);
        call_free(call);
    }
    fail();
    return NULL;
}

static void end_waits_for_kept_bytes(void **state) {
    fixture *fixture = *state;
    for (int i = 0; i < FRAMINGS * 3; i++) {
        serve(fixture, "/",
              encoded_answer((framing)(i % FRAMINGS), 200, "", (afc_slice){"fine", 4}));
        call *call = start_held(fixture, i / FRAMINGS == 1 ? 2000 : 0);
        let_it_read(fixture);
        if (i / FRAMINGS == 0) {
            cancel(call);
        } else if (i / FRAMINGS == 1) {
            call_wait(call);
            check_ended(call, AFC_ETIMEOUT);
            assert_int_equal(call->failure.timeout, AFC_TIMEOUT_TOTAL);
            call_free(call);
        } else {
            afc_task_wake(call->task);
            call_wait_for(call, &call->refused_count, 2);
            afc_task_suspend(call->task);
            afc_task_wake(call->task);
            let_it_read(fixture);
            assert_int_equal(atomic_load(&call->refused_count), 2);
            cancel(call);
        }
    }
}

static void connection_is_reused_after_kept_end(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", encoded_answer(LENGTH, 200, "", (afc_slice){"fine", 4}));
    for (int i = 0; i < 5; i++) {
        call *call = start_events(fixture, "/", hesitate);
        call_start(call);
        call_wait_for(call, &call->refused_count, 1);
        afc_task_wake(call->task);
        call_wait(call);
        check_ended(call, AFC_OK);
        check_slice(call->body, "fine");
        call_free(call);
    }
    assert_int_equal(afts_server_stats(fixture->server).accepted, 1);
}

/* ---- Beside other work --------------------------------------------------------------------- */

static afc_challenge_decision later(void *context, const afc_challenge *challenge,
                                    afc_credentials *out) {
    (void)out;
    call *call = context;
    atomic_store((atomic_uint *)call->payload, challenge->number);
    return AFC_CHALLENGE_LATER;
}

/** Starts a call, waits for its challenge, and stores the number of that. */
static call *start_challenged(fixture *fixture, atomic_uint *number) {
    call *call = call_new(fixture, "/");
    call->payload = number;
    call->events.on_challenge = later;
    call_start(call);
    while (atomic_load(number) == 0) check_fetch(fixture, "/other", AFC_OK);
    let_it_read(fixture);
    return call;
}

/** The body of a 401 is kept until it is known whether it is the response. */
static void challenged_body_is_kept_until_answered(void **state) {
    fixture *fixture = *state;
    enum { SIZE = 30000 };
    char *bytes = content(SIZE);
    const char *field = "WWW-Authenticate: Basic realm=\"r\"";
    for (int i = 0; i < 2; i++) {
        serve_once(fixture, "/", encoded_answer(LENGTH, 401, field, (afc_slice){bytes, SIZE}));
        serve(fixture, "/", answer(200, NULL, "in"));
        atomic_uint number = 0;
        call *call = start_challenged(fixture, &number);
        assert_int_equal(atomic_load(&call->done_count), 0);
        bool is_answered = i == 0;
        check_status(
            afc_task_answer_challenge(call->task, atomic_load(&number),
                                      is_answered ? AFC_CHALLENGE_USE : AFC_CHALLENGE_DEFAULT,
                                      is_answered ? &valid_credentials : NULL),
            AFC_OK);
        call_wait(call);
        check_ended(call, AFC_OK);
        if (is_answered) {
            check_slice(call->body, "in");
        } else {
            assert_int_equal(status_of(call), 401);
            assert_int_equal(call->body.size, SIZE);
            assert_memory_equal(call->body.bytes, bytes, SIZE);
        }
        call_free(call);
    }
    free(bytes);
}

/** Once the challenge is answered, the rest of its body isn't decoded, and may be anything. */
static void rest_of_challenged_body_is_discarded(void **state) {
    fixture *fixture = *state;
    size_t size;
    char *encoded = encode("0123456789", 10, &size);
    afts_script *script = afts_script_new();
    afts_respond_chunked(script, 401,
                         text_of(fixture,
                                 "WWW-Authenticate: Basic realm=\"r\"\r\nContent-Encoding: %s",
                                 coding_names[coding]));
    afts_chunk(script, encoded, size - 9);
    afts_stall(script, "rest");
    afts_chunk(script, "other bytes", 11);
    afts_last_chunk(script, NULL);
    serve_once(fixture, "/", script);
    serve(fixture, "/", answer(200, NULL, "in"));
    free(encoded);
    atomic_uint number = 0;
    call *call = start_challenged(fixture, &number);
    assert_true(afts_wait_stalled(fixture->server, "rest", 1, PATIENCE_MS));
    check_status(afc_task_answer_challenge(call->task, atomic_load(&number), AFC_CHALLENGE_USE,
                                           &valid_credentials),
                 AFC_OK);
    let_it_read(fixture);
    afts_release(fixture->server, "rest", 1);
    call_wait(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "in");
    call_free(call);
}

typedef struct upload {
    call *call;
    atomic_uint reads;
    atomic_bool may_end;
} upload;

static ptrdiff_t read_slowly(void *context, void *buffer, size_t size) {
    (void)size;
    upload *upload = context;
    unsigned reads = atomic_fetch_add(&upload->reads, 1);
    if (atomic_load(&upload->may_end)) return AFC_READ_END;
    if (reads % 2 != 0) return AFC_READ_AGAIN;
    *(char *)buffer = 'u';
    return 1;
}

/** The request body goes on while bytes of the response are kept. */
static void upload_continues_while_body_is_kept(void **state) {
    fixture *fixture = *state;
    size_t size;
    char *encoded = encode("0123456789", 10, &size);
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_respond_chunked(script, 200,
                         text_of(fixture, "Content-Encoding: %s", coding_names[coding]));
    size_t first = coding == STORED_GZIP ? 17 : 9;
    afts_chunk(script, encoded, first);
    afts_read_body(script);
    afts_chunk(script, encoded + first, size - first);
    afts_last_chunk(script, NULL);
    serve(fixture, "/", script);
    free(encoded);
    upload upload = {0};
    call *call = start_events(fixture, "/", hesitate);
    call->request.method = "POST";
    call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = AFC_LENGTH_UNKNOWN};
    call->request.body.reader = (afc_reader){&upload, read_slowly, NULL, NULL};
    call_start(call);
    call_wait_for(call, &call->refused_count, 1);
    for (unsigned n = 0; n < 10; n++) {
        unsigned before = atomic_load(&upload.reads);
        afc_task_wake(call->task);
        while (atomic_load(&upload.reads) <= before) check_fetch(fixture, "/other", AFC_OK);
    }
    atomic_store(&upload.may_end, true);
    for (unsigned n = 0; atomic_load(&call->release_count) == 0 && n < 10000; n++) {
        afc_task_wake(call->task);
        check_fetch(fixture, "/other", AFC_OK);
    }
    call_wait(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "0123456789");
    call_free(call);
}

/* ---- HTTP/2 -------------------------------------------------------------------------------- */

/** ":status: 200" and "content-encoding" (RFC 7541 6.1, 6.2.2). */
static const afc_slice encoded_heads[] = {{"\x88\x0F\x0B\x07"
                                           "deflate",
                                           11},
                                          {"\x88\x0F\x0B\x04"
                                           "gzip",
                                           8}};

typedef struct h2_body {
    const char *bytes;
    size_t size;
    bool is_open; /**< The server waits instead of ending the stream. */
} h2_body;

static void send_body(afts_conn *conn, const struct afts_request *request, void *payload) {
    (void)request;
    const h2_body *body = payload;
    h2_peer *peer = malloc(sizeof *peer);
    uint32_t stream = peer != NULL && h2_begin(peer, conn) ? h2_read_request(peer) : 0;
    while (stream != 0) {
        h2_send(peer, H2_HEADERS, H2_END_HEADERS, stream, encoded_heads[coding].bytes,
                encoded_heads[coding].size);
        for (size_t done = 0; done < body->size; done += 8000) {
            size_t size = body->size - done < 8000 ? body->size - done : 8000;
            bool is_last = !body->is_open && done + size == body->size;
            h2_send(peer, H2_DATA, is_last ? H2_END_STREAM : 0, stream, body->bytes + done, size);
        }
        stream = h2_read_request(peer);
    }
    free(peer);
}

static void paused_body_is_delivered_whole_over_http2(void **state) {
    (void)state;
    enum { SIZE = 60000 };
    char *bytes = content(SIZE);
    h2_body body = {0};
    char *encoded = encode(bytes, SIZE, &body.size);
    body.bytes = encoded;
    fixture *fixture = h2_fixture(NULL);
    h2_serve(fixture, send_body, &body, H2_CLOSE);
    for (int i = 0; i < 3; i++) {
        call *call = start_events(fixture, "/", hesitate);
        call_start(call);
        call_wait_for(call, &call->refused_count, 1);
        take_all(call, SIZE);
        call_wait(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->body.size, SIZE);
        assert_memory_equal(call->body.bytes, bytes, SIZE);
        call_free(call);
    }
    fixture_free(fixture);
    free(encoded);
    free(bytes);
}

/** Bytes of others on the same connection are no reason to read for a body that is paused. */
static void paused_body_is_delivered_whole_beside_others_over_http2(void **state) {
    (void)state;
    enum { SIZE = 60000 };
    char *bytes = content(SIZE);
    h2_body body = {0};
    char *encoded = encode(bytes, SIZE, &body.size);
    body.bytes = encoded;
    fixture *fixture = h2_fixture(NULL);
    h2_serve(fixture, send_body, &body, H2_CLOSE);
    for (int i = 0; i < 5; i++) {
        call *paused = start_events(fixture, "/", hesitate);
        call_start(paused);
        call_wait_for(paused, &paused->refused_count, 1);
        for (int n = 0; n < 5; n++) check_fetch(fixture, "/", AFC_OK);
        assert_int_equal(atomic_load(&paused->done_count), 0);
        for (unsigned n = 1; atomic_load(&paused->taken) < SIZE; n++) {
            afc_task_wake(paused->task);
            call_wait_for(paused, &paused->body_count, n);
            if (n % 2 != 0) check_fetch(fixture, "/", AFC_OK);
            if (atomic_load(&paused->taken) < SIZE) {
                call_wait_for(paused, &paused->refused_count, n + 1);
            }
        }
        call_wait(paused);
        check_ended(paused, AFC_OK);
        assert_int_equal(paused->body.size, SIZE);
        assert_memory_equal(paused->body.bytes, bytes, SIZE);
        call_free(paused);
    }
    fixture_free(fixture);
    free(encoded);
    free(bytes);
}

static void bomb_ends_at_body_limit_over_http2(void **state) {
    (void)state;
    static char encoded[40 * 1024];
    memcpy(encoded, bomb, sizeof bomb - 1);
    h2_body body = {encoded, sizeof encoded, true};
    fixture *fixture = h2_fixture(NULL);
    h2_serve(fixture, send_body, &body, H2_CLOSE);
    call *call = start_events(fixture, "/", hold_once);
    call->request.limits.body_bytes = 1 * MIB;
    call_start(call);
    call_wait_for(call, &call->refused_count, 1);
    afc_task_wake(call->task);
    call_wait(call);
    check_ended(call, AFC_ETOOBIG);
    assert_true(atomic_load(&call->taken) <= MIB);
    call_free(call);
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest limits[] = {
        FIXTURE_TEST(paused_bomb_ends_at_body_limit_when_it_goes_on),
        FIXTURE_TEST(paused_bomb_ends_at_decoding_ratio_when_it_goes_on),
        FIXTURE_TEST(suspended_bomb_ends_at_body_limit_when_resumed),
        cmocka_unit_test(paused_bodies_keep_what_was_read),
        cmocka_unit_test(paused_gzip_body_keeps_one_piece),
        cmocka_unit_test(paused_body_of_any_ratio_keeps_its_window),
        FIXTURE_TEST(body_of_any_ratio_arrives_whole),
        FIXTURE_TEST(gzip_file_takes_all_that_is_decoded),
        FIXTURE_TEST(transfer_coding_is_refused),
        cmocka_unit_test(bomb_ends_at_body_limit_over_http2),
    };
    const struct CMUnitTest deliveries[] = {
        FIXTURE_TEST(paused_body_is_delivered_whole),
        FIXTURE_TEST(suspended_body_is_delivered_whole),
        FIXTURE_TEST(throttled_body_is_delivered_whole),
        FIXTURE_TEST(end_waits_for_kept_bytes),
        FIXTURE_TEST(connection_is_reused_after_kept_end),
        FIXTURE_TEST(challenged_body_is_kept_until_answered),
        FIXTURE_TEST(rest_of_challenged_body_is_discarded),
        FIXTURE_TEST(upload_continues_while_body_is_kept),
        cmocka_unit_test(paused_body_is_delivered_whole_over_http2),
        cmocka_unit_test(paused_body_is_delivered_whole_beside_others_over_http2),
    };
    int failed = cmocka_run_group_tests(limits, NULL, NULL);
    for (coding = STORED_ZLIB; coding <= STORED_GZIP; coding++) {
        failed += cmocka_run_group_tests(deliveries, NULL, NULL);
    }
    return failed;
}
