/* Response bodies written to descriptors: pipes, sockets, files. Their readers may be slow, or leave. */
#include "body/descriptor.h"
#include "body/sink_write.h"
#include "support/call.h"
#include "support/files.h"
#include "support/h2.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { LARGE = 3 << 20 };

static char content_at(size_t position) {
    return (char)(position * 31 + position / 251);
}

static void serve_large(fixture *fixture, const char *path) {
    static char bytes[LARGE];
    for (size_t i = 0; i < LARGE; i++) bytes[i] = content_at(i);
    afts_script *script = afts_script_new();
    afts_respond(script, 200, NULL, bytes, LARGE);
    serve(fixture, path, script);
}

static call *write_to(fixture *fixture, const char *path, int descriptor) {
    call *call = call_new(fixture, path);
    call->request.sink.kind = AFC_SINK_FD;
    call->request.sink.descriptor = descriptor;
    return call;
}

/** Reads to the end, and compares; returns the number of bytes. */
static size_t read_content(int descriptor) {
    char block[60000];
    size_t done = 0;
    ssize_t count;
    while ((count = read(descriptor, block, sizeof block)) > 0) {
        for (ssize_t i = 0; i < count; i++) {
            if (block[i] != content_at(done + (size_t)i)) fail_msg("wrong byte at %zu", done);
        }
        done += (size_t)count;
    }
    return done;
}

typedef enum channel { PIPE, NONBLOCKING_PIPE, SOCKET, NONBLOCKING_SOCKET, CHANNELS } channel;

static void make_channel(channel channel, int ends[2]) {
    if (channel == PIPE || channel == NONBLOCKING_PIPE) {
        assert_int_equal(pipe(ends), 0);
    } else {
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    }
    if (channel == NONBLOCKING_PIPE || channel == NONBLOCKING_SOCKET)
        fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) | O_NONBLOCK);
}

static void reader_gets_the_whole_body_and_its_end(void **state) {
    fixture *fixture = *state;
    serve_large(fixture, "/large");
    for (channel channel = 0; channel < CHANNELS; channel++) {
        int ends[2];
        make_channel(channel, ends);
        int flags = fcntl(ends[1], F_GETFL);
        call *call = write_to(fixture, "/large", ends[1]);
        call_start(call);
        assert_int_equal(fcntl(ends[1], F_GETFL), flags);
        /* The task has its own. */
        close(ends[1]);
        assert_int_equal(read_content(ends[0]), LARGE);
        call_wait(call);
        check_ended(call, AFC_OK);
        assert_int_equal(afc_result_get_body_size(call->result), LARGE);
        assert_int_equal(call->body.size, 0);
        assert_int_equal(call->progress.received, LARGE);
        assert_int_equal(atomic_load(&call->body_count), 0);
        call_free(call);
        close(ends[0]);
    }
}

/** Whatever its status: what isn't wanted is refused in on_head. */
static void every_status_is_written(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/missing", answer(404, NULL, "none"));
    serve(fixture, "/empty", answer(200, NULL, ""));
    int ends[2];
    char text[8];
    assert_int_equal(pipe(ends), 0);
    static const char *const paths[] = {"/missing", "/empty"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        call *call = write_to(fixture, paths[i], ends[1]);
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], text, sizeof text), 4);
    assert_memory_equal(text, "none", 4);
    assert_int_equal(read(ends[0], text, sizeof text), 0);
    close(ends[0]);
}

/** The server stops when the pipe and the buffers are full; other tasks of the session go on meanwhile. */
static void slow_reader_stops_the_server_and_no_other_task(void **state) {
    fixture *fixture = *state;
    static char block[16 * 1024];
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, NULL, block, sizeof block, AFTS_FOREVER);
    serve(fixture, "/endless", script);
    serve(fixture, "/", answer(200, NULL, "fine"));
    for (channel channel = 0; channel < CHANNELS; channel++) {
        int ends[2];
        make_channel(channel, ends);
        uint64_t before = afts_server_stats(fixture->server).sent;
        call *call = write_to(fixture, "/endless", ends[1]);
        call->request.timeouts.idle_ms = 200;
        call_start(call);
        uint64_t taken = 0;
        for (int i = 0; i < 20; i++) {
            check_fetch(fixture, "/", AFC_OK);
            struct pollfd readable = {.fd = ends[0], .events = POLLIN};
            assert_int_equal(poll(&readable, 1, PATIENCE_MS), 1);
            ssize_t count = read(ends[0], block, sizeof block);
            assert_true(count > 0);
            taken += (uint64_t)count;
        }
        uint64_t sent = afts_server_stats(fixture->server).sent - before;
        assert_true(sent <= taken + buffered_at_most());
        afc_task_cancel(call->task);
        call_wait(call);
        check_ended(call, AFC_ECANCELED);
        call_free(call);
        close(ends[0]);
        close(ends[1]);
    }
}

static void reader_that_leaves_fails_the_task_without_a_signal(void **state) {
    fixture *fixture = *state;
    serve_large(fixture, "/large");
    serve(fixture, "/small", answer(200, NULL, "small"));
    for (channel channel = 0; channel < CHANNELS; channel++) {
        for (int is_late = 0; is_late <= 1; is_late++) {
            int ends[2];
            make_channel(channel, ends);
            if (!is_late) close(ends[0]);
            call *call = write_to(fixture, is_late ? "/large" : "/small", ends[1]);
            call_start(call);
            if (is_late) {
                char byte;
                assert_int_equal(read(ends[0], &byte, 1), 1);
                close(ends[0]);
            }
            call_wait(call);
            check_ended(call, AFC_EFILE);
            /* A socket that is closed with bytes unread is reset. */
            int error = call->failure.system_error;
            assert_true(error == EPIPE || error == ECONNRESET);
            call_free(call);
            close(ends[1]);
        }
    }
}

/** The loop runs on this thread, which hasn't blocked the signal. */
static void driven_session_raises_no_signal(void **state) {
    fixture *fixture = *state;
    serve_large(fixture, "/large");
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    struct sigaction was;
    assert_int_equal(sigaction(SIGPIPE, &(struct sigaction){.sa_handler = SIG_DFL}, &was), 0);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.loop = AFC_LOOP_EXTERNAL;
    afc_session *session;
    check_status(afc_session_new(&session, &options, NULL), AFC_OK);
    call *call = write_to(fixture, "/large", ends[1]);
    call->session = session;
    call_start(call);
    afc_session_release(session);
    while (afc_session_dispatch(session) == AFC_OK) {
        struct pollfd due = {.fd = -1};
        poll(&due, 1, 1);
    }
    call_wait(call);
    check_ended(call, AFC_EFILE);
    assert_int_equal(call->failure.system_error, EPIPE);
    call_free(call);
    close(ends[1]);
    sigaction(SIGPIPE, &was, NULL);
}

static void regular_file_is_written_from_its_position(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve_large(fixture, "/large");
    serve(fixture, "/small", answer(200, NULL, "small"));
    const char *path = path_in(&folder, "file");
    write_file(path, S("before: "));
    int descriptor = open(path, O_WRONLY | O_CLOEXEC);
    assert_int_equal(lseek(descriptor, 0, SEEK_END), 8);
    call *call = write_to(fixture, "/small", descriptor);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_file(path, S("before: small"));
    assert_int_equal(ftruncate(descriptor, 0), 0);
    assert_int_equal(lseek(descriptor, 0, SEEK_SET), 0);
    call = write_to(fixture, "/large", descriptor);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    close(descriptor);
    descriptor = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(read_content(descriptor), LARGE);
    close(descriptor);
    folder_remove(&folder);
}

static void devices_are_written(void **state) {
    fixture *fixture = *state;
    serve_large(fixture, "/large");
    static const struct {
        const char *path;
        afc_status expected;
    } devices[] = {{"/dev/null", AFC_OK}, {"/dev/full", AFC_EFILE}};
    for (size_t i = 0; i < COUNT_OF(devices); i++) {
        int descriptor = open(devices[i].path, O_WRONLY | O_CLOEXEC);
        if (descriptor < 0) continue;
        call *call = write_to(fixture, "/large", descriptor);
        call_perform(call);
        check_ended(call, devices[i].expected);
        if (devices[i].expected != AFC_OK) assert_int_equal(call->failure.system_error, ENOSPC);
        call_free(call);
        close(descriptor);
    }
}

/* One that can't be opened again, such as another user's: poll() finds room, but not how much. */
static void full_terminal_stops_no_thread(void **state) {
    (void)state;
    char bytes[64 * 1024];
    memset(bytes, '\n', sizeof bytes);
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(master >= 0);
    assert_int_equal(grantpt(master), 0);
    assert_int_equal(unlockpt(master), 0);
    afc__output output = {open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC),
                          AFC__OUTPUT_TERMINAL};
    assert_true(output.descriptor >= 0);
    ptrdiff_t written = afc__output_write(&output, bytes, sizeof bytes, NULL);
    assert_in_range(written, 1, sizeof bytes - 1);
    /* After a little was read, there is a little room. */
    assert_true(read(master, bytes, 1000) > 0);
    assert_in_range(afc__output_write(&output, bytes, sizeof bytes, NULL), 0, sizeof bytes - 1);
    afc__output_close(&output);
    close(master);
}

static void beginning_is_written_before_a_failure(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve_text(fixture, "/", "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
    const char *path = path_in(&folder, "file");
    int ends[2];
    char text[16];
    assert_int_equal(pipe(ends), 0);
    int descriptors[] = {ends[1], open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600)};
    for (size_t i = 0; i < COUNT_OF(descriptors); i++) {
        call *call = write_to(fixture, "/", descriptors[i]);
        call_perform(call);
        check_ended(call, AFC_ETRUNCATED);
        assert_int_equal(call->body.size, 0);
        call_free(call);
        close(descriptors[i]);
    }
    assert_int_equal(read(ends[0], text, sizeof text), 5);
    close(ends[0]);
    check_file(path, S("hello"));
    folder_remove(&folder);
}

static void limit_of_the_body_counts(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    call *call = write_to(fixture, "/", ends[1]);
    call->request.limits.body_bytes = 4;
    call_perform(call);
    check_ended(call, AFC_ETOOBIG);
    call_free(call);
    close(ends[0]);
    close(ends[1]);
}

static void refuses_what_can_not_be_written(void **state) {
    fixture *fixture = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    const struct {
        int descriptor;
        unsigned flags;
    } cases[] = {{ends[0], 0}, {-1, 0}, {ends[1], AFC_FILE_SYNC}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        call *call = write_to(fixture, "/", cases[i].descriptor);
        call->request.sink.flags = cases[i].flags;
        check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, NULL),
                     AFC_EINVAL);
        call_free(call);
    }
    close(ends[0]);
    close(ends[1]);
}

/** In every state of the writing: while a block waits, at the end, by a cancel or a time limit. */
/**
 * Starts a task that writes to a pipe until that is full. A time limit that passes before is doubled: a machine may be
 * slow.
 */
static call *start_blocked(fixture *fixture, const char *path, int ends[2], bool is_limited) {
    for (uint32_t total_ms = 300; total_ms < PATIENCE_MS; total_ms *= 2) {
        assert_int_equal(pipe(ends), 0);
        call *call = write_to(fixture, path, ends[1]);
        if (is_limited) call->request.timeouts.total_ms = total_ms;
        call_start(call);
        struct pollfd readable = {.fd = ends[0], .events = POLLIN};
        while (poll(&readable, 1, 1) == 0) {
            if (atomic_load(&call->done_count) > 0) break;
        }
        if (poll(&readable, 1, 0) == 1) return call;
        call_wait(call);
        check_ended(call, AFC_ETIMEOUT);
        call_free(call);
        close(ends[0]);
        close(ends[1]);
    }
    fail();
    return NULL;
}

static void ends_while_it_waits_for_room(void **state) {
    fixture *fixture = *state;
    size_t before = count_descriptors();
    serve_large(fixture, "/large");
    /* All of it is received, and more than a pipe holds. */
    static char some[100 * 1024];
    afts_script *script = afts_script_new();
    afts_respond(script, 200, NULL, some, sizeof some);
    serve(fixture, "/some", script);
    static const char *const paths[] = {"/large", "/some"};
    for (size_t i = 0; i < 2 * COUNT_OF(paths); i++) {
        int ends[2];
        bool cancels = i % 2 == 0;
        call *call = start_blocked(fixture, paths[i / 2], ends, !cancels);
        if (cancels) afc_task_cancel(call->task);
        call_wait(call);
        check_ended(call, cancels ? AFC_ECANCELED : AFC_ETIMEOUT);
        call_free(call);
        close(ends[0]);
        close(ends[1]);
    }
    fixture_close_session(fixture);
    assert_true(count_descriptors() <= before);
}

static const char *chosen_path;

static afc_status choose_file(call *call, afc_response *response) {
    (void)call;
    response->path = chosen_path;
    return AFC_OK;
}

static void on_head_can_choose_a_file_instead(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve(fixture, "/", answer(200, NULL, "hello"));
    chosen_path = path_in(&folder, "file");
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    call *call = write_to(fixture, "/", ends[1]);
    call->at_head = choose_file;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    close(ends[0]);
    check_file(chosen_path, S("hello"));
    folder_remove(&folder);
}

/** A head that announces LARGE bytes, and half of them. */
static void serve_half(fixture *fixture, const char *path) {
    static char bytes[64 + LARGE / 2];
    int head = snprintf(bytes, sizeof bytes, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
                        LARGE);
    for (size_t i = 0; i < LARGE / 2; i++) bytes[(size_t)head + i] = content_at(i);
    serve_bytes(fixture, path, (afc_slice){bytes, (size_t)head + LARGE / 2});
}

static void failure_comes_after_what_was_received(void **state) {
    fixture *fixture = *state;
    serve_half(fixture, "/half");
    for (channel channel = 0; channel < CHANNELS; channel++) {
        int ends[2];
        make_channel(channel, ends);
        call *call = write_to(fixture, "/half", ends[1]);
        call_start(call);
        close(ends[1]);
        assert_int_equal(read_content(ends[0]), LARGE / 2);
        call_wait(call);
        check_ended(call, AFC_ETRUNCATED);
        call_free(call);
        close(ends[0]);
    }
}

/** The transfer has failed, but its reader takes nothing. */
static void ends_although_the_reader_of_a_broken_body_waits(void **state) {
    fixture *fixture = *state;
    static char some[100 * 1024];
    int head = snprintf(some, sizeof some, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", LARGE);
    memset(some + head, 'x', sizeof some - (size_t)head);
    serve_bytes(fixture, "/some", (afc_slice){some, sizeof some});
    for (int i = 0; i < 2; i++) {
        int ends[2];
        bool cancels = i == 0;
        call *call = start_blocked(fixture, "/some", ends, !cancels);
        if (cancels) afc_task_cancel(call->task);
        call_wait(call);
        /* Whichever was noticed first. */
        afc_status status = call->failure.status;
        assert_true(status == AFC_ETRUNCATED || status == (cancels ? AFC_ECANCELED : AFC_ETIMEOUT));
        call_free(call);
        close(ends[0]);
        close(ends[1]);
    }
}

static int chosen_descriptor;

static afc_status choose_descriptor(call *call, afc_response *response) {
    (void)call;
    check_status(afc_response_set_descriptor(response, -1), AFC_EINVAL);
    return afc_response_set_descriptor(response, chosen_descriptor);
}

static void on_head_can_choose_a_descriptor(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve(fixture, "/missing", answer(404, NULL, "none"));
    serve(fixture, "/here", answer(200, NULL, "here"));
    static const char *const paths[] = {"/missing", "/here"};
    static const afc_sink_kind kinds[] = {AFC_SINK_MEMORY, AFC_SINK_CALLBACK, AFC_SINK_FILE};
    for (size_t i = 0; i < COUNT_OF(kinds) * COUNT_OF(paths); i++) {
        int ends[2];
        char text[8];
        assert_int_equal(pipe(ends), 0);
        chosen_descriptor = ends[1];
        call *call = call_new(fixture, paths[i % COUNT_OF(paths)]);
        call->request.sink.kind = kinds[i / COUNT_OF(paths)];
        if (call->request.sink.kind == AFC_SINK_FILE) {
            call->request.sink.path = path_in(&folder, "file");
            call->request.sink.flags = AFC_FILE_KEEP_PARTIAL;
        }
        call->at_head = choose_descriptor;
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(call->body.size, 0);
        assert_int_equal(call->collected_size, 0);
        call_free(call);
        close(ends[1]);
        assert_int_equal(read(ends[0], text, sizeof text), 4);
        assert_memory_equal(text, i % COUNT_OF(paths) == 0 ? "none" : "here", 4);
        assert_int_equal(read(ends[0], text, sizeof text), 0);
        close(ends[0]);
    }
    assert_int_not_equal(access(path_in(&folder, "file"), F_OK), 0);
    folder_remove(&folder);
}

static void on_head_refuses_a_descriptor_for_a_reader(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, "hello"));
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    chosen_descriptor = ends[0];
    call *call = call_new(fixture, "/");
    call->at_head = choose_descriptor;
    call_perform(call);
    check_ended(call, AFC_EINVAL);
    call_free(call);
    close(ends[0]);
    close(ends[1]);
}

/** From a descriptor to another one. */
static void body_goes_from_a_pipe_to_a_pipe(void **state) {
    fixture *fixture = *state;
    int in[2], out[2];
    char text[16];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(out), 0);
    call *call = write_to(fixture, "/echo", out[1]);
    call->request.method = "POST";
    call->request.body.kind = AFC_BODY_FD;
    call->request.body.descriptor = in[0];
    call->request.body.length = AFC_LENGTH_UNKNOWN;
    serve(fixture, "/echo", answer(200, NULL, "answer"));
    call_start(call);
    assert_int_equal(write(in[1], "hello", 5), 5);
    close(in[1]);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_int_equal(read(out[0], text, sizeof text), 6);
    assert_memory_equal(text, "answer", 6);
    close(in[0]);
    close(out[0]);
    close(out[1]);
}

/* ---- The sink alone ------------------------------------------------------------------------ */

/** As much as was kept while a challenge waited comes at once. What there is no room for is written later. */
static void takes_a_large_piece_for_which_room_was_made(void **state) {
    (void)state;
    char *bytes = malloc(LARGE);
    assert_non_null(bytes);
    for (size_t i = 0; i < LARGE; i++) bytes[i] = content_at(i);
    for (int has_room = 0; has_room < 2; has_room++) {
        int ends[2];
        assert_int_equal(pipe(ends), 0);
        afc__sink sink;
        const afc_sink options = {.kind = AFC_SINK_MEMORY};
        const afc__sink_config config = {.options = &options};
        const afc__sink_start start = {.length = AFC_LENGTH_UNKNOWN};
        afc__sink_zero(&sink);
        check_status(afc__sink_init(&sink, &config, NULL), AFC_OK);
        check_status(afc__sink_set_descriptor(&sink, ends[1]), AFC_OK);
        close(ends[1]);
        check_status(afc__sink_open(&sink, &start, NULL), AFC_OK);
        if (has_room) afc__sink_reserve(&sink, LARGE);
        afc_status status = afc__sink_write(&sink, (afc_slice){bytes, LARGE}, NULL);
        check_status(status, has_room ? AFC_OK : AFC_ENOMEM);
        if (has_room) {
            assert_true(afc__sink_is_full(&sink) && afc__sink_has_block(&sink));
            afc__sink_begin_block(&sink);
            bool goes_on = true;
            size_t done = 0;
            while (goes_on) {
                char block[4096];
                ssize_t count = read(ends[0], block, sizeof block);
                assert_true(count > 0);
                assert_memory_equal(block, bytes + done, (size_t)count);
                done += (size_t)count;
                goes_on = afc__sink_do(&sink);
            }
            afc_failure failure;
            check_status(afc__sink_return(&sink, &failure), AFC_OK);
            assert_false(afc__sink_is_full(&sink) || afc__sink_has_block(&sink));
        }
        afc__sink_clear(&sink);
        close(ends[0]);
    }
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(reader_gets_the_whole_body_and_its_end),
        FIXTURE_TEST(every_status_is_written),
        FIXTURE_TEST(slow_reader_stops_the_server_and_no_other_task),
        FIXTURE_TEST(reader_that_leaves_fails_the_task_without_a_signal),
        FIXTURE_TEST(driven_session_raises_no_signal),
        FIXTURE_TEST(regular_file_is_written_from_its_position),
        FIXTURE_TEST(devices_are_written),
        cmocka_unit_test(full_terminal_stops_no_thread),
        FIXTURE_TEST(beginning_is_written_before_a_failure),
        FIXTURE_TEST(failure_comes_after_what_was_received),
        FIXTURE_TEST(ends_although_the_reader_of_a_broken_body_waits),
        FIXTURE_TEST(limit_of_the_body_counts),
        FIXTURE_TEST(refuses_what_can_not_be_written),
        FIXTURE_TEST(ends_while_it_waits_for_room),
        FIXTURE_TEST(on_head_can_choose_a_file_instead),
        FIXTURE_TEST(on_head_can_choose_a_descriptor),
        FIXTURE_TEST(on_head_refuses_a_descriptor_for_a_reader),
        FIXTURE_TEST(body_goes_from_a_pipe_to_a_pipe),
        cmocka_unit_test(takes_a_large_piece_for_which_room_was_made),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
