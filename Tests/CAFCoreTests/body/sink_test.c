/* Where the body of an answer goes: memory, a file, events. */
#include "support/call.h"
#include "support/files.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE = 3 << 20 };

static void serve_large(fixture *fixture, const char *path) {
    static char block[1024];
    memset(block, 'a', sizeof block);
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, NULL, block, sizeof block, LARGE / sizeof block);
    serve(fixture, path, script);
}

static bool is_all(afc_slice bytes, char c) {
    for (size_t i = 0; i < bytes.size; i++) {
        if (bytes.bytes[i] != c) return false;
    }
    return true;
}

/* ---- Memory -------------------------------------------------------------------------------- */

static void memory_sink_collects_the_whole_body(void **state) {
    fixture *fixture = *state;
    serve_large(fixture, "/large");
    call *call = call_fetch(fixture, "/large");
    check_ended(call, AFC_OK);
    assert_int_equal(call->body.size, LARGE);
    assert_true(is_all(call->body, 'a'));
    assert_int_equal(afc_result_get_body_size(call->result), LARGE);
    assert_int_equal(call->progress.received, LARGE);
    assert_int_equal(call->progress.received_total, LARGE);
    afc_bytes taken = afc_result_take_body(call->result);
    assert_int_equal(taken.size, LARGE);
    assert_int_equal(afc_result_get_body(call->result).size, 0);
    assert_int_equal(afc_result_take_body(call->result).size, 0);
    call_free(call);
    assert_true(is_all((afc_slice){taken.bytes, taken.size}, 'a'));
    afc_free(taken.bytes);
}

/** Around the size up to which a body lies in its result. */
static void taken_body_outlives_its_result(void **state) {
    fixture *fixture = *state;
    static const size_t sizes[] = {1, 2047, 2048, 2049, 5000};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        char *bytes = malloc(sizes[i]);
        assert_non_null(bytes);
        memset(bytes, 'b', sizes[i]);
        afts_script *script = afts_script_new();
        afts_respond(script, 200, NULL, bytes, sizes[i]);
        serve(fixture, "/sized", script);
        free(bytes);
        call *call = call_fetch(fixture, "/sized");
        check_ended(call, AFC_OK);
        afc_bytes taken = afc_result_take_body(call->result);
        assert_int_equal(afc_result_get_body(call->result).size, 0);
        call_free(call);
        assert_int_equal(taken.size, sizes[i]);
        assert_true(is_all((afc_slice){taken.bytes, taken.size}, 'b'));
        afc_free(taken.bytes);
    }
}

static void empty_body_is_empty(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/", answer(200, NULL, ""));
    call *call = call_fetch(fixture, "/");
    check_ended(call, AFC_OK);
    assert_int_equal(call->body.size, 0);
    afc_bytes taken = afc_result_take_body(call->result);
    assert_int_equal(taken.size, 0);
    afc_free(taken.bytes);
    call_free(call);
}

/* ---- File ---------------------------------------------------------------------------------- */

static call *download(fixture *fixture, const char *path, const char *to) {
    call *call = call_new(fixture, path);
    call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = to};
    call_perform(call);
    return call;
}

static void file_holds_the_whole_body(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve_large(fixture, "/large");
    serve(fixture, "/empty", answer(200, NULL, ""));
    const char *path = path_in(&folder, "got");
    call *call = download(fixture, "/large", path);
    check_ended(call, AFC_OK);
    assert_int_equal(call->body.size, 0);
    assert_int_equal(afc_result_get_body_size(call->result), LARGE);
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_size, LARGE);
    call_free(call);
    call = download(fixture, "/empty", path);
    check_ended(call, AFC_OK);
    call_free(call);
    check_file(path, S(""));
    assert_int_equal(count_files(&folder), 1);
    folder_remove(&folder);
}

static bool seen_while_running;

static afc_status look_for_file(call *call, afc_response *response) {
    (void)response;
    seen_while_running = file_exists(call->payload);
    return AFC_OK;
}

static void file_appears_when_it_is_complete(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    afts_script *script = afts_script_new();
    afts_respond_chunked(script, 200, NULL);
    afts_chunk(script, "first", 5);
    afts_stall(script, "half");
    afts_chunk(script, "second", 6);
    afts_last_chunk(script, NULL);
    serve(fixture, "/", script);
    const char *path = path_in(&folder, "got");
    call *call = call_new(fixture, "/");
    call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = path};
    call->at_head = look_for_file;
    call->payload = (void *)(uintptr_t)path;
    call_start(call);
    assert_true(afts_wait_stalled(fixture->server, "half", 1, PATIENCE_MS));
    call_wait_for(call, &call->head_count, 1);
    assert_false(file_exists(path));
    afts_release(fixture->server, "half", 1);
    call_wait(call);
    check_ended(call, AFC_OK);
    assert_false(seen_while_running);
    call_free(call);
    check_file(path, S("firstsecond"));
    folder_remove(&folder);
}

static void old_file_is_replaced_or_unchanged(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve(fixture, "/new", answer(200, NULL, "new"));
    serve(fixture, "/missing", answer(404, NULL, "no such thing"));
    afts_script *script = afts_script_new();
    afts_respond_truncated(script, 200, NULL, "half", 4, 8);
    serve(fixture, "/half", script);
    const char *path = path_in(&folder, "got");
    write_file(path, S("an older and longer one"));
    call *call = download(fixture, "/missing", path);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 404);
    check_slice(call->body, "no such thing");
    call_free(call);
    check_file(path, S("an older and longer one"));
    call = download(fixture, "/half", path);
    check_ended(call, AFC_ETRUNCATED);
    assert_int_equal(status_of(call), 200);
    call_free(call);
    check_file(path, S("an older and longer one"));
    call = download(fixture, "/new", path);
    check_ended(call, AFC_OK);
    call_free(call);
    check_file(path, S("new"));
    assert_int_equal(count_files(&folder), 1);
    folder_remove(&folder);
}

static afc_status refuse_no_content(call *call, afc_response *response) {
    (void)call;
    return response->head->status == 204 ? AFC_ECANCELED : AFC_OK;
}

static void success_without_a_body_makes_an_empty_file(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "got");
    serve(fixture, "/empty", answer(200, NULL, ""));
    serve_text(fixture, "/none", "HTTP/1.1 204 No Content\r\n\r\n");
    static const char *const paths[] = {"/empty", "/none"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        write_file(path, S("an older one"));
        call *call = download(fixture, paths[i], path);
        check_ended(call, AFC_OK);
        assert_int_equal(afc_result_get_download(call->result)->size, 0);
        call_free(call);
        check_file(path, S(""));
    }
    write_file(path, S("an older one"));
    call *call = call_new(fixture, "/none");
    call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = path};
    call->at_head = refuse_no_content;
    call_perform(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
    check_file(path, S("an older one"));
    folder_remove(&folder);
}

static void failed_download_leaves_nothing(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n12345");
    afts_stall(script, "half");
    afts_reset(script);
    serve(fixture, "/", script);
    for (int cancels = 0; cancels <= 1; cancels++) {
        call *call = call_new(fixture, "/");
        call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = path_in(&folder, "got")};
        call_start(call);
        assert_true(afts_wait_stalled(fixture->server, "half", 1, PATIENCE_MS));
        call_wait_for(call, &call->head_count, 1);
        if (cancels)
            afc_task_cancel(call->task);
        else
            afts_release(fixture->server, "half", 1);
        call_wait(call);
        check_ended(call, cancels ? AFC_ECANCELED : AFC_ELOST);
        call_free(call);
        assert_int_equal(count_files(&folder), 0);
    }
    folder_remove(&folder);
}

static void unwritable_file_is_an_error(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve(fixture, "/", answer(200, NULL, "body"));
    call *call = download(fixture, "/", path_in(&folder, "no/such/folder"));
    check_ended(call, AFC_EFILE);
    assert_true(call->failure.system_error != 0);
    call_free(call);
    assert_int_equal(mkdir(path_in(&folder, "taken"), 0700), 0);
    call = download(fixture, "/", path_in(&folder, "taken"));
    check_ended(call, AFC_EFILE);
    call_free(call);
    assert_int_equal(rmdir(path_in(&folder, "taken")), 0);
    assert_int_equal(count_files(&folder), 0);
    folder_remove(&folder);
}

static void error_body_is_kept_up_to_its_limit(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    static char block[1024];
    memset(block, 'e', sizeof block);
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 500, NULL, block, sizeof block, LARGE / sizeof block);
    serve(fixture, "/", script);
    call *call = download(fixture, "/", path_in(&folder, "got"));
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 500);
    assert_int_equal(call->body.size, 1 << 20);
    assert_true(is_all(call->body, 'e'));
    call_free(call);
    assert_int_equal(count_files(&folder), 0);
    folder_remove(&folder);
}

static void redirect_body_is_discarded(void **state) {
    fixture *fixture = *state;
    folder folder;
    folder_make(&folder);
    serve(fixture, "/from", answer(302, "Location: /to", "moved"));
    serve(fixture, "/to", answer(200, NULL, "arrived"));
    call *call = download(fixture, "/from", path_in(&folder, "got"));
    check_ended(call, AFC_OK);
    assert_int_equal(afc_result_get_body_size(call->result), 7);
    call_free(call);
    check_file(path_in(&folder, "got"), S("arrived"));
    folder_remove(&folder);
}

/* ---- Events -------------------------------------------------------------------------------- */

static void callback_gets_each_byte_in_order(void **state) {
    fixture *fixture = *state;
    serve_large(fixture, "/large");
    call *call = call_new(fixture, "/large");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->keeps_body = true;
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(call->body.size, LARGE);
    assert_true(is_all(call->body, 'a'));
    assert_int_equal(afc_result_get_body_size(call->result), LARGE);
    assert_int_equal(afc_result_get_body(call->result).size, 0);
    assert_int_equal(call->log[0], 'h');
    assert_int_equal(call->log[1], 'b');
    call_free(call);
}

static afc_status say_file(call *call, afc_slice chunk) {
    (void)call, (void)chunk;
    return AFC_EFILE;
}

static afc_status say_unsupported(call *call, afc_response *response) {
    (void)call, (void)response;
    return AFC_EUNSUPPORTED;
}

static void callback_can_end_the_task(void **state) {
    fixture *fixture = *state;
    serve_large(fixture, "/large");
    call *call = call_new(fixture, "/large");
    call->request.sink.kind = AFC_SINK_CALLBACK;
    call->at_body = say_file;
    call_perform(call);
    check_ended(call, AFC_EFILE);
    assert_int_equal(status_of(call), 200);
    assert_int_equal(atomic_load(&call->refused_count), 1);
    call_free(call);
    call = call_new(fixture, "/large");
    call->at_head = say_unsupported;
    call_perform(call);
    check_ended(call, AFC_EUNSUPPORTED);
    assert_int_equal(status_of(call), 200);
    assert_int_equal(call->body.size, 0);
    call_free(call);
}

static void refuses_a_callback_sink_without_on_body(void **state) {
    fixture *fixture = *state;
    static const afc_task_events no_body = AFC_TASK_EVENTS_INIT;
    const afc_task_events *const events[] = {&no_body, NULL};
    for (size_t i = 0; i < COUNT_OF(events); i++) {
        afc_request request = AFC_REQUEST_INIT;
        request.url = url_of(fixture, "/");
        request.sink.kind = AFC_SINK_CALLBACK;
        afc_task *task;
        afc_failure failure;
        assert_int_equal(afc_task_new(&task, fixture->session, &request, events[i], &failure),
                         AFC_EINVAL);
        assert_null(task);
        check_contains(failure.text, "set events.on_body");
    }
}

static void path_needs_the_kind_of_a_file(void **state) {
    fixture *fixture = *state;
    static const afc_sink_kind kinds[] = {AFC_SINK_MEMORY, AFC_SINK_CALLBACK, AFC_SINK_FD};
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        afc_request request = AFC_REQUEST_INIT;
        request.url = url_of(fixture, "/");
        request.sink.kind = kinds[i];
        request.sink.path = "out";
        afc_task *task;
        afc_failure failure;
        check_status(afc_task_new(&task, fixture->session, &request, NULL, &failure), AFC_EINVAL);
        check_contains(failure.text, "sink.path is set but sink.kind isn't AFC_SINK_FILE");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(memory_sink_collects_the_whole_body),
        FIXTURE_TEST(taken_body_outlives_its_result),
        FIXTURE_TEST(empty_body_is_empty),
        FIXTURE_TEST(file_holds_the_whole_body),
        FIXTURE_TEST(file_appears_when_it_is_complete),
        FIXTURE_TEST(old_file_is_replaced_or_unchanged),
        FIXTURE_TEST(success_without_a_body_makes_an_empty_file),
        FIXTURE_TEST(failed_download_leaves_nothing),
        FIXTURE_TEST(unwritable_file_is_an_error),
        FIXTURE_TEST(error_body_is_kept_up_to_its_limit),
        FIXTURE_TEST(redirect_body_is_discarded),
        FIXTURE_TEST(callback_gets_each_byte_in_order),
        FIXTURE_TEST(callback_can_end_the_task),
        FIXTURE_TEST(refuses_a_callback_sink_without_on_body),
        FIXTURE_TEST(path_needs_the_kind_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
