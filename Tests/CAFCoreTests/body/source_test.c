/* Request bodies: where they come from, how they are framed, and what can go wrong with them. */
#include "support/call.h"
#include "support/files.h"

#include <afcore/multipart.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/** Bytes that differ from their neighbours. */
static afc_slice pattern(size_t size) {
    static char bytes[1 << 20];
    assert_true(size <= sizeof bytes);
    if (bytes[1] == 0) {
        for (size_t i = 0; i < sizeof bytes; i++) bytes[i] = (char)(i * 7 + i / 251);
    }
    return (afc_slice){bytes, size};
}

static void check_body_seen(fixture *fixture, size_t index, afc_slice expected) {
    afts_request *request = afts_copy_request(fixture->server, index);
    assert_non_null(request);
    assert_true(request->body_complete);
    assert_int_equal(request->body_total, expected.size);
    if (expected.size > 0) assert_memory_equal(request->body, expected.bytes, expected.size);
    afts_request_free(request);
}

static void count_release(void *context) {
    atomic_fetch_add((atomic_uint *)context, 1);
}

/* ---- Memory -------------------------------------------------------------------------------- */

static void memory_of_any_size_is_sent_whole(void **state) {
    fixture *fixture = *state;
    static const size_t sizes[] = {0, 1, 1000, 64 * 1024, 64 * 1024 + 1, 1 << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        call *call = call_new(fixture, "/");
        call_send(call, "POST", pattern(sizes[i]));
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->progress.sent, sizes[i]);
        assert_int_equal(call->progress.sent_total, sizes[i]);
        call_free(call);
        check_body_seen(fixture, i, pattern(sizes[i]));
        assert_string_equal(seen_header(fixture, i, "Content-Length"),
                            text_of(fixture, "%zu", sizes[i]));
        assert_string_equal(seen_header(fixture, i, "Expect"), "");
        assert_string_equal(seen_header(fixture, i, "Content-Type"), "");
    }
}

static void memory_is_copied_unless_borrowed(void **state) {
    fixture *fixture = *state;
    char bytes[] = "first";
    call *call = call_new(fixture, "/");
    call_send(call, "POST", S(bytes));
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    memcpy(bytes, "later", 5);
    afc_task_start(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_body_seen(fixture, 0, S("first"));
}

static void borrowed_memory_is_released_once(void **state) {
    fixture *fixture = *state;
    static const size_t sizes[] = {5, 1 << 20};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        atomic_uint released = 0;
        call *call = call_new(fixture, "/");
        call_send(call, "PUT", pattern(sizes[i]));
        call->request.body.release = count_release;
        call->request.body.context = &released;
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(atomic_load(&released), 1);
        call_free(call);
        assert_int_equal(atomic_load(&released), 1);
        check_body_seen(fixture, i, pattern(sizes[i]));
    }
}

static void refused_request_releases_borrowed_memory(void **state) {
    fixture *fixture = *state;
    atomic_uint released = 0, dropped = 0;
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = &dropped;
    events.release = count_release;
    request.url = "ftp://127.0.0.1/";
    request.body = (afc_body){
        .kind = AFC_BODY_BYTES, .bytes = S("abc"), .release = count_release, .context = &released};
    afc_task *task;
    afc_failure failure;
    check_status(afc_task_new(&task, fixture->session, &request, &events, &failure), AFC_EINVAL);
    assert_null(task);
    assert_true(failure.text[0] != '\0');
    assert_int_equal(atomic_load(&released), 1);
    assert_int_equal(atomic_load(&dropped), 1);
}

static void unstarted_task_releases_borrowed_memory(void **state) {
    fixture *fixture = *state;
    atomic_uint released = 0;
    call *call = call_new(fixture, "/");
    call_send(call, "PUT", S("abc"));
    call->request.body.release = count_release;
    call->request.body.context = &released;
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                 AFC_OK);
    afc_task_release(call->task);
    call->task = NULL;
    assert_int_equal(atomic_load(&released), 1);
    assert_int_equal(atomic_load(&call->release_count), 1);
    assert_int_equal(atomic_load(&call->done_count), 0);
    call_free(call);
}

/* ---- Files --------------------------------------------------------------------------------- */

static void send_file(call *call, const char *path) {
    call->request.method = "PUT";
    call->request.body = (afc_body){.kind = AFC_BODY_FILE, .path = path};
}

static void sends_files_whole(void **state) {
    fixture *fixture = *state;
    static const size_t sizes[] = {0, 10, 1 << 20};
    folder folder;
    folder_make(&folder);
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        const char *path = path_in(&folder, "body");
        write_file(path, pattern(sizes[i]));
        call *call = call_new(fixture, "/");
        send_file(call, path);
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->progress.sent_total, sizes[i]);
        call_free(call);
        check_body_seen(fixture, i, pattern(sizes[i]));
    }
    folder_remove(&folder);
}

/** Its size is reported as 0. Also after a redirect, which opens it again. */
static void sends_file_of_procfs_to_its_end(void **state) {
    fixture *fixture = *state;
    static const char path[] = "/proc/version";
    char bytes[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    afc_slice expected = {bytes, fread(bytes, 1, sizeof bytes, file)};
    fclose(file);
    assert_in_range(expected.size, 1, sizeof bytes - 1);
    serve(fixture, "/from", answer(307, "Location: /to", ""));
    call *call = call_new(fixture, "/from");
    send_file(call, path);
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->progress.sent, expected.size);
    call_free(call);
    for (size_t i = 0; i < 2; i++) {
        check_body_seen(fixture, i, expected);
        assert_string_equal(seen_header(fixture, i, "Transfer-Encoding"), "chunked");
    }
}

static void unreadable_file_is_an_error(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    static const char *const names[] = {"missing", "."};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        call *call = call_new(fixture, "/");
        send_file(call, path_in(&folder, names[i]));
        call_perform(call);
        check_ended(call, AFC_EFILE);
        assert_true(call->failure.system_error != 0);
        call_free(call);
    }
    call *device = call_new(fixture, "/");
    send_file(device, "/dev/zero");
    call_perform(device);
    check_ended(device, AFC_EFILE);
    call_free(device);
    folder_remove(&folder);
    assert_int_equal(afts_server_stats(fixture->server).requests, 0);
}

/** A file of `size` bytes becomes one of `later` bytes after the server has read the head. */
static call *change_file_while_sending(fixture *fixture, const char *path, off_t size,
                                       off_t later) {
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_stall(script, "head");
    afts_read_body(script);
    afts_respond(script, 200, NULL, "", 0);
    serve(fixture, "/slow", script);
    write_file(path, pattern(1 << 20));
    assert_int_equal(truncate(path, size), 0);
    call *call = call_new(fixture, "/slow");
    send_file(call, path);
    call_start(call);
    assert_true(afts_wait_stalled(fixture->server, "head", 1, PATIENCE_MS));
    assert_int_equal(truncate(path, later), 0);
    afts_release(fixture->server, "head", 1);
    call_wait(call);
    return call;
}

/** A body of one step has no pause. */
static void test_server_reads_a_step_to_its_end(void **state) {
    fixture *fixture = *state;
    enum { STEP = 1 << 20, HOUR_MS = 3600 * 1000 };
    afts_script *script = afts_script_new();
    afts_read_head_only(script);
    afts_read_body_slowly(script, STEP, HOUR_MS);
    afts_respond(script, 200, NULL, "", 0);
    serve(fixture, "/step", script);
    call *call = call_new(fixture, "/step");
    call_send(call, "PUT", pattern(STEP));
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_body_seen(fixture, 0, pattern(STEP));
}

static void shrinking_file_is_an_error(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    /* Sparse, and far larger than what the sockets hold: the end is read after the change. */
    call *call = change_file_while_sending(fixture, path_in(&folder, "body"), 64 << 20, 32 << 20);
    check_ended(call, AFC_EFILE);
    check_contains(call->failure.text, "shorter");
    call_free(call);
    folder_remove(&folder);
}

static void growing_file_is_sent_with_its_first_length(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    call *call = change_file_while_sending(fixture, path_in(&folder, "body"), 1 << 20, 2 << 20);
    check_ended(call, AFC_OK);
    assert_int_equal(call->hops[0].sent, 1 << 20);
    call_free(call);
    folder_remove(&folder);
    check_body_seen(fixture, 0, pattern(1 << 20));
}

/* ---- Readers ------------------------------------------------------------------------------- */

typedef struct reader {
    size_t size, position, piece;
    size_t fails_at; /**< Answers AFC_READ_FAILED from here on. */
    size_t waits_at; /**< Answers AFC_READ_AGAIN here until `is_open`. */
    atomic_bool is_open;
    atomic_uint waited, rewound, released;
    bool cannot_rewind;
    call *call;
} reader;

static ptrdiff_t read_piece(void *context, void *buffer, size_t size) {
    reader *reader = context;
    if (reader->position >= reader->fails_at) return AFC_READ_FAILED;
    if (reader->position >= reader->waits_at && !atomic_load(&reader->is_open)) {
        pthread_mutex_lock(&reader->call->lock);
        atomic_fetch_add(&reader->waited, 1);
        pthread_cond_broadcast(&reader->call->changed);
        pthread_mutex_unlock(&reader->call->lock);
        return AFC_READ_AGAIN;
    }
    size_t left = reader->size - reader->position;
    if (size > reader->piece) size = reader->piece;
    if (size > left) size = left;
    memcpy(buffer, pattern(reader->size).bytes + reader->position, size);
    reader->position += size;
    return (ptrdiff_t)size;
}

static bool rewind_reader(void *context) {
    reader *reader = context;
    atomic_fetch_add(&reader->rewound, 1);
    reader->position = 0;
    return !reader->cannot_rewind;
}

static void release_reader(void *context) {
    atomic_fetch_add(&((reader *)context)->released, 1);
}

static call *call_reading(fixture *fixture, const char *path, reader *reader, int64_t length) {
    call *call = call_new(fixture, path);
    reader->call = call;
    if (reader->piece == 0) reader->piece = 10000;
    if (reader->fails_at == 0) reader->fails_at = SIZE_MAX;
    if (reader->waits_at == 0) reader->waits_at = SIZE_MAX;
    call->request.method = "PUT";
    call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = length};
    call->request.body.reader = (afc_reader){reader, read_piece, rewind_reader, release_reader};
    return call;
}

static void reader_of_known_length_is_not_chunked(void **state) {
    fixture *fixture = *state;
    static const size_t sizes[] = {0, 1, 100000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        reader reader = {.size = sizes[i]};
        call *call = call_reading(fixture, "/", &reader, (int64_t)sizes[i]);
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->progress.sent, sizes[i]);
        call_free(call);
        assert_int_equal(atomic_load(&reader.released), 1);
        check_body_seen(fixture, i, pattern(sizes[i]));
        assert_string_equal(seen_header(fixture, i, "Transfer-Encoding"), "");
    }
}

static void reader_of_unknown_length_is_chunked(void **state) {
    fixture *fixture = *state;
    static const size_t sizes[] = {0, 1, 100000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        reader reader = {.size = sizes[i]};
        call *call = call_reading(fixture, "/", &reader, AFC_LENGTH_UNKNOWN);
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->progress.sent, sizes[i]);
        call_free(call);
        assert_int_equal(atomic_load(&reader.released), 1);
        check_body_seen(fixture, i, pattern(sizes[i]));
        assert_string_equal(seen_header(fixture, i, "Transfer-Encoding"), "chunked");
        assert_string_equal(seen_header(fixture, i, "Content-Length"), "");
    }
}

static void refuses_bytes_of_a_reader_without_a_length(void **state) {
    fixture *fixture = *state;
    reader reader = {.size = 10};
    call *call = call_reading(fixture, "/", &reader, 0);
    call_perform(call);
    check_ended(call, AFC_ESOURCE);
    check_contains(call->failure.text, "body.length is 0");
    check_contains(call->failure.text, "AFC_LENGTH_UNKNOWN");
    call_free(call);
    assert_int_equal(atomic_load(&reader.released), 1);
    assert_int_equal(afts_server_stats(fixture->server).requests, 0);
}

static void refuses_later_bytes_of_a_reader_without_a_length(void **state) {
    fixture *fixture = *state;
    static const size_t sizes[] = {0, 10};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        reader reader = {.size = sizes[i]};
        call *call = call_reading(fixture, "/", &reader, 0);
        reader.waits_at = 0;
        call_start(call);
        call_wait_for(call, &reader.waited, 1);
        atomic_store(&reader.is_open, true);
        afc_task_wake(call->task);
        call_wait(call);
        check_ended(call, sizes[i] == 0 ? AFC_OK : AFC_ESOURCE);
        if (sizes[i] != 0) check_contains(call->failure.text, "body.length is 0");
        call_free(call);
    }
}

static ptrdiff_t return_invalid_number(void *context, void *buffer, size_t size) {
    (void)context, (void)buffer, (void)size;
    return -7;
}

static void names_the_invalid_number_of_a_reader(void **state) {
    fixture *fixture = *state;
    static const int64_t lengths[] = {0, 10, AFC_LENGTH_UNKNOWN};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        call *call = call_new(fixture, "/");
        call->request.method = "POST";
        call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = lengths[i]};
        call->request.body.reader.read = return_invalid_number;
        call_perform(call);
        check_ended(call, AFC_ESOURCE);
        check_contains(call->failure.text, "the reader of the request body returned -7");
        call_free(call);
    }
}

static void waiting_reader_continues_when_woken(void **state) {
    fixture *fixture = *state;
    const int64_t lengths[] = {100000, AFC_LENGTH_UNKNOWN};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        reader reader = {.size = 100000, .waits_at = 30000};
        call *call = call_reading(fixture, "/", &reader, lengths[i]);
        call_start(call);
        call_wait_for(call, &reader.waited, 1);
        afc_task_wake(call->task); /* Too early: it must be asked again, and wait again. */
        call_wait_for(call, &reader.waited, 2);
        atomic_store(&reader.is_open, true);
        afc_task_wake(call->task);
        call_wait(call);
        check_ended(call, AFC_OK);
        call_free(call);
        check_body_seen(fixture, i, pattern(100000));
    }
}

static void reader_may_wait_before_its_first_byte(void **state) {
    fixture *fixture = *state;
    reader reader = {.size = 10};
    call *call = call_reading(fixture, "/", &reader, AFC_LENGTH_UNKNOWN);
    reader.waits_at = 0;
    call_start(call);
    call_wait_for(call, &reader.waited, 1);
    atomic_store(&reader.is_open, true);
    afc_task_wake(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_body_seen(fixture, 0, pattern(10));
}

static void failing_reader_ends_the_task(void **state) {
    fixture *fixture = *state;
    static const size_t places[] = {1, 20000};
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        reader reader = {.size = 100000, .fails_at = places[i]};
        call *call = call_reading(fixture, "/", &reader, 100000);
        call_perform(call);
        check_ended(call, AFC_ESOURCE);
        call_free(call);
        assert_int_equal(atomic_load(&reader.released), 1);
    }
}

static void short_reader_is_an_error(void **state) {
    fixture *fixture = *state;
    reader reader = {.size = 99};
    call *call = call_reading(fixture, "/", &reader, 100);
    call_perform(call);
    check_ended(call, AFC_ESOURCE);
    check_contains(call->failure.text, "shorter");
    call_free(call);
}

/** If a body is too long, nothing is sent that would be taken for the whole. */
static void long_reader_is_an_error(void **state) {
    fixture *fixture = *state;
    reader reader = {.size = 101};
    call *call = call_reading(fixture, "/", &reader, 100);
    call_perform(call);
    check_ended(call, AFC_ESOURCE);
    check_contains(call->failure.text, "longer than its 100 bytes");
    call_free(call);
}

static void reader_that_waits_after_its_length_is_complete(void **state) {
    fixture *fixture = *state;
    reader reader = {.size = 101, .waits_at = 100, .piece = 10};
    call *call = call_reading(fixture, "/", &reader, 100);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_body_seen(fixture, 0, (afc_slice){pattern(101).bytes, 100});
}

/** Claims to have written more than it was asked for. */
static ptrdiff_t overflow(void *context, void *buffer, size_t size) {
    (void)context;
    memset(buffer, 'x', size);
    return (ptrdiff_t)size + 1;
}

static void overlong_read_is_an_error(void **state) {
    fixture *fixture = *state;
    const int64_t lengths[] = {100, AFC_LENGTH_UNKNOWN};
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        call *call = call_new(fixture, "/");
        call->request.method = "POST";
        call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = lengths[i]};
        call->request.body.reader.read = overflow;
        call_perform(call);
        check_ended(call, AFC_ESOURCE);
        check_contains(call->failure.text,
                       i == 0 ? "returned 101 bytes for a buffer of 100" : "bytes for a buffer of");
        call_free(call);
    }
}

/* ---- Once more ----------------------------------------------------------------------------- */

static void redirect_rewinds_the_reader(void **state) {
    fixture *fixture = *state;
    static const int statuses[] = {307, 308};
    for (size_t i = 0; i < COUNT_OF(statuses); i++) {
        reader reader = {.size = 100000};
        serve_once(fixture, "/from", answer(statuses[i], "Location: /to", ""));
        call *call = call_reading(fixture, "/from", &reader, i == 0 ? 100000 : AFC_LENGTH_UNKNOWN);
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->hop_count, 2);
        assert_int_equal(call->progress.sent, 100000);
        call_free(call);
        assert_int_equal(atomic_load(&reader.rewound), 1);
        check_body_seen(fixture, 2 * i, pattern(100000));
        check_body_seen(fixture, 2 * i + 1, pattern(100000));
    }
}

static void redirect_fails_without_replayable_body(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/from", answer(307, "Location: /to", ""));
    for (int refuses = 0; refuses <= 1; refuses++) {
        reader reader = {.size = 1000, .cannot_rewind = refuses != 0};
        call *call = call_reading(fixture, "/from", &reader, 1000);
        if (!refuses) call->request.body.reader.rewind = NULL;
        call_perform(call);
        check_ended(call, AFC_EREPLAY);
        /* A reader is asked to rewind by the next request, which has no response. */
        assert_int_equal(status_of(call), refuses ? 0 : 307);
        if (!refuses) check_slice(field_of(call, "Location"), "/to");
        call_free(call);
        assert_int_equal(atomic_load(&reader.released), 1);
    }
    assert_int_equal(afts_server_stats(fixture->server).requests, 2);
}

static void redirect_replays_files_and_memory(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "body");
    write_file(path, pattern(100000));
    serve(fixture, "/from", answer(307, "Location: /to", ""));
    for (int i = 0; i < 2; i++) {
        call *call = call_new(fixture, "/from");
        if (i == 0)
            send_file(call, path);
        else
            call_send(call, "PUT", pattern(100000));
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        check_body_seen(fixture, 2 * (size_t)i + 1, pattern(100000));
    }
    folder_remove(&folder);
}

static void redirect_without_body_needs_no_replay(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/from", answer(303, "Location: /to", ""));
    reader reader = {.size = 1000};
    call *call = call_reading(fixture, "/from", &reader, 1000);
    call->request.body.reader.rewind = NULL;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_body_seen(fixture, 1, pattern(0));
    assert_string_equal(seen_header(fixture, 1, "Content-Length"), "");
}

static ptrdiff_t never_read(void *context, void *buffer, size_t size) {
    (void)context, (void)buffer, (void)size;
    return AFC_READ_FAILED;
}

/** A body without a kind is refused, and taken, as every body. */
static void body_needs_its_kind(void **state) {
    fixture *fixture = *state;
    atomic_uint released = 0;
    afc_multipart *form;
    check_status(afc_multipart_new(&form, NULL, NULL), AFC_OK);
    const struct {
        afc_body body;
        const char *field, *kind;
    } cases[] = {{{.bytes = S("x")}, "body.bytes is set", "AFC_BODY_BYTES"},
                 {{.path = "x"}, "body.path is set", "AFC_BODY_FILE"},
                 {{.reader = {.read = never_read, .context = &released, .release = count_release}},
                  "body.reader is set",
                  "AFC_BODY_READER"},
                 {{.form = form}, "body.form is set", "AFC_BODY_MULTIPART"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc_request request = AFC_REQUEST_INIT;
        request.url = url_of(fixture, "/");
        request.body = cases[i].body;
        afc_task *task;
        afc_failure failure;
        check_status(afc_task_new(&task, fixture->session, &request, NULL, &failure), AFC_EINVAL);
        check_contains(failure.text, cases[i].field);
        check_contains(failure.text, cases[i].kind);
    }
    assert_int_equal(released, 1);
}

static ptrdiff_t read_once(void *context, void *buffer, size_t size) {
    bool *was_read = context;
    if (*was_read || size == 0) return AFC_READ_END;
    *was_read = true;
    memcpy(buffer, "x", 1);
    return 1;
}

static bool read_again(void *context) {
    *(bool *)context = false;
    return true;
}

/** A form of one part, of which the caller has read `size` bytes. */
static afc_multipart *read_form(const afc_reader *reader, size_t size) {
    afc_multipart *form;
    afc_part part = AFC_PART_INIT;
    char bytes[512];
    check_status(afc_multipart_new(&form, "boundary", NULL), AFC_OK);
    part.name = S("name");
    check_status(afc_multipart_add_reader(form, &part, reader, 1, NULL), AFC_OK);
    assert_true(size <= sizeof bytes);
    for (ptrdiff_t count = 1; size > 0 && count > 0; size -= (size_t)count) {
        count = afc_multipart_read(form, bytes, size, NULL);
    }
    return form;
}

/** From its first byte, wherever the caller stopped, or not at all. */
static void form_that_was_read_is_sent_whole(void **state) {
    fixture *fixture = *state;
    static const char expected[] = "--boundary\r\nContent-Disposition: form-data; "
                                   "name=\"name\"\r\n\r\nx\r\n--boundary--\r\n";
    static const struct {
        size_t size;
        bool (*rewind)(void *context);
        afc_status status;
    } rows[] = {
        {0, NULL, AFC_OK},        {1, NULL, AFC_OK},         {20, NULL, AFC_OK},
        {20, read_again, AFC_OK}, {512, read_again, AFC_OK}, {512, NULL, AFC_EREPLAY},
    };
    size_t sent = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        bool was_read = false;
        const afc_reader reader = {
            .context = &was_read, .read = read_once, .rewind = rows[i].rewind};
        call *call = call_new(fixture, "/");
        call->request.method = "POST";
        call->request.body.kind = AFC_BODY_MULTIPART;
        call->request.body.form = read_form(&reader, rows[i].size);
        call_perform(call);
        check_ended(call, rows[i].status);
        call_free(call);
        if (rows[i].status == AFC_OK) check_body_seen(fixture, sent++, afc_slice_of(expected));
    }
    assert_int_equal(afts_server_stats(fixture->server).requests, sent);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(memory_of_any_size_is_sent_whole),
        FIXTURE_TEST(body_needs_its_kind),
        FIXTURE_TEST(memory_is_copied_unless_borrowed),
        FIXTURE_TEST(borrowed_memory_is_released_once),
        FIXTURE_TEST(refused_request_releases_borrowed_memory),
        FIXTURE_TEST(unstarted_task_releases_borrowed_memory),
        FIXTURE_TEST(sends_files_whole),
        FIXTURE_TEST(sends_file_of_procfs_to_its_end),
        FIXTURE_TEST(unreadable_file_is_an_error),
        FIXTURE_TEST(test_server_reads_a_step_to_its_end),
        FIXTURE_TEST(shrinking_file_is_an_error),
        FIXTURE_TEST(growing_file_is_sent_with_its_first_length),
        FIXTURE_TEST(reader_of_known_length_is_not_chunked),
        FIXTURE_TEST(reader_of_unknown_length_is_chunked),
        FIXTURE_TEST(refuses_bytes_of_a_reader_without_a_length),
        FIXTURE_TEST(refuses_later_bytes_of_a_reader_without_a_length),
        FIXTURE_TEST(names_the_invalid_number_of_a_reader),
        FIXTURE_TEST(waiting_reader_continues_when_woken),
        FIXTURE_TEST(reader_may_wait_before_its_first_byte),
        FIXTURE_TEST(failing_reader_ends_the_task),
        FIXTURE_TEST(short_reader_is_an_error),
        FIXTURE_TEST(long_reader_is_an_error),
        FIXTURE_TEST(reader_that_waits_after_its_length_is_complete),
        FIXTURE_TEST(overlong_read_is_an_error),
        FIXTURE_TEST(form_that_was_read_is_sent_whole),
        FIXTURE_TEST(redirect_rewinds_the_reader),
        FIXTURE_TEST(redirect_fails_without_replayable_body),
        FIXTURE_TEST(redirect_replays_files_and_memory),
        FIXTURE_TEST(redirect_without_body_needs_no_replay),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
