/* Request bodies from descriptors: pipes, sockets, files. */
#include "support/call.h"
#include "support/descriptors.h"
#include "support/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static call *send_from(fixture *fixture, int descriptor, int64_t length) {
    call *call = call_new(fixture, "/");
    call->request.method = "PUT";
    call->request.body.kind = AFC_BODY_FD;
    call->request.body.descriptor = descriptor;
    call->request.body.length = length;
    return call;
}

static void check_body_seen(fixture *fixture, size_t index, afc_slice expected) {
    afts_request *request = afts_copy_request(fixture->server, index);
    assert_non_null(request);
    assert_int_equal(request->body_total, expected.size);
    assert_memory_equal(request->body, expected.bytes, expected.size);
    afts_request_free(request);
}

static void put(int descriptor, const char *text) {
    assert_int_equal(write(descriptor, text, strlen(text)), strlen(text));
}

static void sends_a_pipe_to_its_end(void **state) {
    fixture *fixture = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    call *call = send_from(fixture, ends[0], AFC_LENGTH_UNKNOWN);
    call_start(call);
    /* The task has its own. */
    close(ends[0]);
    put(ends[1], "one ");
    put(ends[1], "two");
    close(ends[1]);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_body_seen(fixture, 0, S("one two"));
    assert_string_equal(seen_header(fixture, 0, "Transfer-Encoding"), "chunked");
}

typedef struct feeder {
    int descriptor;
    size_t size, step;
} feeder;

static void *feed(void *context) {
    feeder *feeder = context;
    char bytes[4096];
    memset(bytes, 'x', sizeof bytes);
    for (size_t sent = 0; sent < feeder->size;) {
        size_t size = feeder->size - sent < feeder->step ? feeder->size - sent : feeder->step;
        ssize_t count = write(feeder->descriptor, bytes, size);
        if (count < 0) break;
        sent += (size_t)count;
    }
    close(feeder->descriptor);
    return NULL;
}

static void sends_what_another_thread_writes(void **state) {
    fixture *fixture = *state;
    static const size_t steps[] = {1, 7, 4096};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        int ends[2];
        pthread_t thread;
        assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
        feeder feeder = {ends[1], steps[i] * 3000, steps[i]};
        call *call = send_from(fixture, ends[0], AFC_LENGTH_UNKNOWN);
        call_start(call);
        close(ends[0]);
        assert_int_equal(pthread_create(&thread, NULL, feed, &feeder), 0);
        call_wait(call);
        pthread_join(thread, NULL);
        check_ended(call, AFC_OK);
        assert_int_equal(call->progress.sent, feeder.size);
        call_free(call);
    }
}

static void sends_exactly_the_given_length(void **state) {
    fixture *fixture = *state;
    int ends[2];
    char rest[8];
    assert_int_equal(pipe(ends), 0);
    put(ends[1], "hello, you");
    call *call = send_from(fixture, ends[0], 5);
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->progress.sent_total, 5);
    call_free(call);
    check_body_seen(fixture, 0, S("hello"));
    assert_string_equal(seen_header(fixture, 0, "Content-Length"), "5");
    /* What follows is still there. */
    assert_int_equal(read(ends[0], rest, sizeof rest), 5);
    close(ends[0]);
    close(ends[1]);
}

static void fails_if_it_is_shorter_than_announced(void **state) {
    fixture *fixture = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    put(ends[1], "hello");
    close(ends[1]);
    call *call = send_from(fixture, ends[0], 6);
    call_perform(call);
    check_ended(call, AFC_ESOURCE);
    assert_non_null(strstr(call->failure.text, "shorter"));
    call_free(call);
    close(ends[0]);
}

static void sends_a_regular_file_from_its_position(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    write_file(path_in(&folder, "file"), S("not this, but this"));
    int descriptor = open(path_in(&folder, "file"), O_RDONLY | O_CLOEXEC);
    assert_int_equal(lseek(descriptor, 10, SEEK_SET), 10);
    call *call = send_from(fixture, descriptor, AFC_LENGTH_UNKNOWN);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_body_seen(fixture, 0, S("but this"));
    close(descriptor);
    folder_remove(&folder);
}

static void refuses_what_can_not_be_read(void **state) {
    fixture *fixture = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    const struct {
        int descriptor;
        int64_t length;
        const char *reason;
    } cases[] = {{ends[0], AFC_LENGTH_UNKNOWN, "cannot use descriptor"},
                 {ends[1], -2, "body.length is -2"},
                 {ends[1], 0, "body.length is 0 for AFC_BODY_FD"},
                 {ends[1], 1, "isn't open for reading"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        call *call = send_from(fixture, cases[i].descriptor, cases[i].length);
        afc_failure failure;
        check_status(
            afc_task_new(&call->task, call->session, &call->request, &call->events, &failure),
            AFC_EINVAL);
        check_contains(failure.text, cases[i].reason);
        call_free(call);
    }
    /* A folder can be opened, and fails only when it is read. */
    int folder = open("/", O_RDONLY | O_DIRECTORY);
    call *call = send_from(fixture, folder, 1);
    call_perform(call);
    check_ended(call, AFC_EFILE);
    call_free(call);
    close(folder);
    close(ends[1]);
}

static void is_not_replayed_after_a_redirect(void **state) {
    fixture *fixture = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    put(ends[1], "hello");
    close(ends[1]);
    serve(fixture, "/", answer(307, "Location: /next\r\n", ""));
    call *call = send_from(fixture, ends[0], AFC_LENGTH_UNKNOWN);
    call->request.expect = AFC_EXPECT_NEVER;
    call_perform(call);
    check_ended(call, AFC_EREPLAY);
    call_free(call);
    close(ends[0]);
}

static void ends_while_it_waits_for_input(void **state) {
    fixture *fixture = *state;
    size_t before = count_descriptors();
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    call *cancelled = send_from(fixture, ends[0], AFC_LENGTH_UNKNOWN);
    call *late = send_from(fixture, ends[0], AFC_LENGTH_UNKNOWN);
    late->request.timeouts.total_ms = 100;
    call_start(cancelled);
    call_start(late);
    call_wait(late);
    check_ended(late, AFC_ETIMEOUT);
    afc_task_cancel(cancelled->task);
    call_wait(cancelled);
    check_ended(cancelled, AFC_ECANCELED);
    call_free(cancelled);
    call_free(late);
    close(ends[0]);
    close(ends[1]);
    fixture_close_session(fixture);
    assert_true(count_descriptors() <= before);
}

static void continues_after_suspension(void **state) {
    fixture *fixture = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    call *call = send_from(fixture, ends[0], AFC_LENGTH_UNKNOWN);
    call_start(call);
    afc_task_suspend(call->task);
    put(ends[1], "hello");
    close(ends[1]);
    afc_task_resume(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_body_seen(fixture, 0, S("hello"));
    close(ends[0]);
}

static void needs_a_free_descriptor_for_its_own(void **state) {
    fixture *fixture = *state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    afc_failure failure;
    afc_task *task;
    call *reading = send_from(fixture, ends[0], AFC_LENGTH_UNKNOWN);
    call *writing = call_new(fixture, "/");
    writing->request.sink.kind = AFC_SINK_FD;
    writing->request.sink.descriptor = ends[1];
    call *calls[] = {reading, writing};
    for (size_t i = 0; i < COUNT_OF(calls); i++) {
        const afc_request *request = &calls[i]->request;
        descriptors_deny();
        afc_status status = afc_task_new(&task, fixture->session, request, NULL, &failure);
        descriptors_allow();
        check_status(status, AFC_EFILE);
        assert_int_equal(failure.system_error, EMFILE);
        assert_null(task);
    }
    close(ends[1]);
    call_perform(reading);
    check_ended(reading, AFC_OK);
    call_free(reading);
    close(ends[0]);
    int null = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_true(null >= 0);
    writing->request.sink.descriptor = null;
    call_perform(writing);
    check_ended(writing, AFC_OK);
    call_free(writing);
    close(null);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(sends_a_pipe_to_its_end),
        FIXTURE_TEST(sends_what_another_thread_writes),
        FIXTURE_TEST(sends_exactly_the_given_length),
        FIXTURE_TEST(fails_if_it_is_shorter_than_announced),
        FIXTURE_TEST(sends_a_regular_file_from_its_position),
        FIXTURE_TEST(refuses_what_can_not_be_read),
        FIXTURE_TEST(is_not_replayed_after_a_redirect),
        FIXTURE_TEST(ends_while_it_waits_for_input),
        FIXTURE_TEST(continues_after_suspension),
        FIXTURE_TEST(needs_a_free_descriptor_for_its_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
