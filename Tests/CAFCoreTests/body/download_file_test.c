/* The file of a download: whose it is, where it goes, and what can go wrong with it. */
#include "support/download_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/** Until something of the body is in the file of a download under way. */
static void wait_for_bytes(download_fixture *download_fixture) {
    struct stat facts;
    time_t deadline = time(NULL) + PATIENCE_MS / 1000;
    while (stat(download_fixture->part, &facts) != 0 || facts.st_size == 0) {
        assert_true(time(NULL) < deadline);
        sched_yield();
    }
}

static void check_refused(download_fixture *download_fixture, call *call, int error, size_t files) {
    check_ended(call, AFC_EFILE);
    assert_int_equal(call->failure.system_error, error);
    check_contains(call->failure.text, download_fixture->path);
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), files);
}

/* ---- Whose file it is ---------------------------------------------------------------------- */

typedef void (*tampering)(download_fixture *download_fixture);

static void remove_note(download_fixture *download_fixture) {
    assert_int_equal(unlink(download_fixture->token_path), 0);
}

static void damage_note(download_fixture *download_fixture) {
    assert_int_equal(truncate(download_fixture->token_path, 60), 0);
}

static void open_note_to_all(download_fixture *download_fixture) {
    assert_int_equal(chmod(download_fixture->token_path, 0666), 0);
}

static void link_note(download_fixture *download_fixture) {
    char other[160];
    snprintf(other, sizeof other, "%s.elsewhere", download_fixture->token_path);
    assert_int_equal(rename(download_fixture->token_path, other), 0);
    assert_int_equal(symlink(other, download_fixture->token_path), 0);
}

static void copy_part(download_fixture *download_fixture) {
    char other[160];
    snprintf(other, sizeof other, "%s.copy", download_fixture->part);
    write_file(other, (afc_slice){download_fixture->content, 100});
    assert_int_equal(chmod(other, 0600), 0);
    assert_int_equal(rename(other, download_fixture->part), 0);
}

static void empty_part(download_fixture *download_fixture) {
    assert_int_equal(truncate(download_fixture->part, 0), 0);
}

static void lengthen_part(download_fixture *download_fixture) {
    assert_int_equal(truncate(download_fixture->part, LARGE + 1), 0);
}

static void add_zero_to_part(download_fixture *download_fixture) {
    assert_int_equal(truncate(download_fixture->part, BROKEN_AT + 1), 0);
}

static void fill_part_with_zeros(download_fixture *download_fixture) {
    assert_int_equal(truncate(download_fixture->part, LARGE), 0);
}

static void open_part_to_all(download_fixture *download_fixture) {
    assert_int_equal(chmod(download_fixture->part, 0666), 0);
}

static void ask_for_another_url(download_fixture *download_fixture) {
    char text[4096];
    FILE *file = fopen(download_fixture->token_path, "r+b");
    assert_non_null(file);
    size_t size = fread(text, 1, sizeof text, file);
    char *at = memmem(text, size, "/file", 5);
    assert_non_null(at);
    at[1] = 'F';
    rewind(file);
    fwrite(text, 1, size, file);
    fclose(file);
}

static void never_resumes_a_part_of_another_url(void **state) {
    download_fixture *download_fixture = *state;
    static const tampering ways[] = {
        remove_note,         damage_note,      open_note_to_all,     copy_part,
        empty_part,          add_zero_to_part, fill_part_with_zeros, lengthen_part,
        ask_for_another_url, open_part_to_all};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        interrupt_download(download_fixture);
        ways[i](download_fixture);
        call *call = download(download_fixture, KEEP_AND_RESUME);
        assert_string_equal(range_server_range(&download_fixture->range_server), "");
        bool is_damaged = ways[i] == damage_note;
        check_done(download_fixture, call,
                   is_damaged ? AFC_RESUMPTION_RESTARTED : AFC_RESUMPTION_NONE);
    }
    interrupt_download(download_fixture);
    link_note(download_fixture);
    call *call = download(download_fixture, KEEP_AND_RESUME);
    assert_string_equal(range_server_range(&download_fixture->range_server), "");
    check_ended(call, AFC_OK);
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 2);
}

static void resumes_a_part_that_was_shortened(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    assert_int_equal(truncate(download_fixture->part, BROKEN_AT - 1), 0);
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
               AFC_RESUMPTION_RESUMED);
}

static void refuses_a_part_that_grew_since_its_second_end(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.stops_after = BROKEN_AT / 2;
    for (int i = 0; i < 2; i++) call_free(download(download_fixture, KEEP_AND_RESUME));
    download_fixture->range_server.stops_after = WHOLE;
    add_zero_to_part(download_fixture);
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME), AFC_RESUMPTION_NONE);
}

static void hard_link_to_the_part_keeps_its_bytes(void **state) {
    download_fixture *download_fixture = *state;
    char other[128];
    snprintf(other, sizeof other, "%s", path_in(&download_fixture->folder, "other"));
    write_file(other, S("precious"));
    assert_int_equal(link(other, download_fixture->part), 0);
    call *call = download(download_fixture, KEEP_AND_RESUME);
    check_ended(call, AFC_OK);
    call_free(call);
    check_file(other, S("precious"));
    assert_int_equal(unlink(other), 0);
}

static void check_obstacle(download_fixture *download_fixture, call *call, int error,
                           const char *kind) {
    char text[AFC_FAILURE_TEXT_SIZE];
    snprintf(text, sizeof text, "%s is in place of the partial file: remove %s", kind,
             download_fixture->part);
    assert_string_equal(call->failure.text, text);
    check_refused(download_fixture, call, error, 1);
}

static void leaves_special_files_alone(void **state) {
    download_fixture *download_fixture = *state;
    static const unsigned flags[] = {KEEP_AND_RESUME, AFC_FILE_KEEP_PARTIAL};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        assert_int_equal(symlink("/etc/passwd", download_fixture->part), 0);
        check_obstacle(download_fixture, download(download_fixture, flags[i]), ELOOP,
                       "a symbolic link");
        assert_int_equal(unlink(download_fixture->part), 0);
        assert_int_equal(mkfifo(download_fixture->part, 0600), 0);
        check_obstacle(download_fixture, download(download_fixture, flags[i]), ENOTSUP,
                       "a named pipe");
        assert_int_equal(unlink(download_fixture->part), 0);
        assert_int_equal(mkdir(download_fixture->part, 0700), 0);
        check_obstacle(download_fixture, download(download_fixture, flags[i]), EISDIR, "a folder");
        assert_int_equal(rmdir(download_fixture->part), 0);
    }
}

static void resumes_by_token_without_resume_file(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.stops_after = BROKEN_AT;
    call *first = download(download_fixture, KEEP_AND_RESUME);
    download_fixture->range_server.stops_after = WHOLE;
    remove_note(download_fixture);
    call *call = prepare(download_fixture, "/file", KEEP_AND_RESUME);
    call->request.sink.resume_token = afc_result_get_resume_token(first->result);
    call_perform(call);
    check_done(download_fixture, call, AFC_RESUMPTION_RESUMED);
    /* It is void now; that beside the file is not. */
    interrupt_download(download_fixture);
    call = prepare(download_fixture, "/file", KEEP_AND_RESUME);
    call->request.sink.resume_token = afc_result_get_resume_token(first->result);
    call_perform(call);
    check_done(download_fixture, call, AFC_RESUMPTION_RESUMED);
    call_free(first);
}

static void check_invalid(call *call, const char *text) {
    afc_failure failure;
    check_status(afc_task_new(&call->task, call->session, &call->request, &call->events, &failure),
                 AFC_EINVAL);
    check_contains(failure.text, text);
    call_free(call);
}

static void refuses_options_that_contradict(void **state) {
    download_fixture *download_fixture = *state;
    call *call = prepare(download_fixture, "/file", KEEP_AND_RESUME);
    call->request.sink.resume_token = "afcore-resume 1\nrubbish\n";
    check_invalid(call, "damaged");
    call = prepare(download_fixture, "/file", AFC_FILE_KEEP_PARTIAL);
    call->request.sink.resume_token = "x";
    check_invalid(call, "AFC_FILE_RESUME");
    call = prepare(download_fixture, "/file", 1u << 9);
    check_invalid(call, "flags");
    call = prepare(download_fixture, "/file", 0);
    call->request.sink.path = NULL;
    call->events.on_head = NULL; /* Which could name it. */
    check_invalid(call, "requires a path");
    call = prepare(download_fixture, "/file", 0);
    call->request.sink.path = "/tmp/folder/";
    check_invalid(call, "folder");
    afc_header fields[] = {{S("range"), S("bytes=0-"), 0}, {S("If-Range"), S(TAG), 0}};
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        call = prepare(download_fixture, "/file", KEEP_AND_RESUME);
        call->request.headers = &fields[i];
        call->request.header_count = 1;
        check_invalid(call, i == 0 ? "Range" : "If-Range");
        /* One that is only removed is no range. */
        fields[i].flags = AFC_HEADER_REMOVE;
        call = prepare(download_fixture, "/file", KEEP_AND_RESUME);
        call->request.headers = &fields[i];
        call->request.header_count = 1;
        call_perform(call);
        check_done(download_fixture, call, AFC_RESUMPTION_NONE);
    }
}

static void resumes_only_get_requests(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.stops_after = 1000;
    call *call = prepare(download_fixture, "/file", KEEP_AND_RESUME);
    call_send(call, "POST", S("question"));
    call_perform(call);
    check_ended(call, AFC_ETRUNCATED);
    assert_string_equal(afc_result_get_resume_token(call->result), "");
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 0);
}

static void two_downloads_to_one_path_do_not_mix(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.stops_after = BROKEN_AT;
    download_fixture->range_server.waits = true;
    call *first = prepare(download_fixture, "/file", KEEP_AND_RESUME);
    call_start(first);
    wait_for_bytes(download_fixture);
    check_refused(download_fixture, download(download_fixture, KEEP_AND_RESUME), EBUSY, 2);
    check_refused(download_fixture, download(download_fixture, AFC_FILE_KEEP_PARTIAL), EBUSY, 2);
    afc_task_cancel(first->task);
    call_wait(first);
    check_ended(first, AFC_ECANCELED);
    call_free(first);
    download_fixture->range_server.stops_after = WHOLE;
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
               AFC_RESUMPTION_RESUMED);
}

/* ---- Where it goes ------------------------------------------------------------------------- */

static void refuses_to_replace_existing_file_if_asked(void **state) {
    download_fixture *download_fixture = *state;
    static const unsigned flags[] = {0, KEEP_AND_RESUME};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        write_file(download_fixture->path, S("old"));
        check_refused(download_fixture, download(download_fixture, flags[i] | AFC_FILE_NO_REPLACE),
                      EEXIST, 1);
        check_file(download_fixture->path, S("old"));
        assert_int_equal(unlink(download_fixture->path), 0);
        check_done(download_fixture,
                   download(download_fixture, flags[i] | AFC_FILE_NO_REPLACE | AFC_FILE_SYNC),
                   AFC_RESUMPTION_NONE);
    }
}

/** A folder that can't be read can't be synced; that must be known before the old file is gone. */
static void sync_in_unreadable_folder_keeps_the_old_file(void **state) {
    download_fixture *download_fixture = *state;
    bool is_root = geteuid() == 0;
    write_file(download_fixture->path, S("old"));
    assert_int_equal(chmod(download_fixture->path, 0666), 0);
    assert_int_equal(chmod(download_fixture->folder.path, 0333), 0);
    if (is_root) assert_int_equal(seteuid(65534), 0);
    call *call = download(download_fixture, AFC_FILE_SYNC);
    if (is_root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(download_fixture->folder.path, 0755), 0);
    check_refused(download_fixture, call, EACCES, 1);
    check_file(download_fixture->path, S("old"));
}

/** HEAD has no body, so there is nothing to save. */
static void head_leaves_the_file_alone(void **state) {
    download_fixture *download_fixture = *state;
    static const unsigned flags[] = {0, KEEP_AND_RESUME};
    serve(download_fixture->fixture, "/head", answer(200, NULL, "body"));
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        write_file(download_fixture->path, S("old"));
        call *call = prepare(download_fixture, "/head", flags[i]);
        call->request.method = "HEAD";
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 200);
        assert_null(afc_result_get_download(call->result));
        call_free(call);
        check_file(download_fixture->path, S("old"));
        assert_int_equal(count_files(&download_fixture->folder), 1);
    }
}

static void keeps_file_that_appears_during_the_download(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.stops_after = BROKEN_AT;
    download_fixture->range_server.waits = true;
    call *call = prepare(download_fixture, "/file", KEEP_AND_RESUME | AFC_FILE_NO_REPLACE);
    call_start(call);
    wait_for_bytes(download_fixture);
    write_file(download_fixture->path, S("another file"));
    afc_task_cancel(call->task);
    call_wait(call);
    call_free(call);
    download_fixture->range_server.stops_after = WHOLE;
    check_refused(download_fixture,
                  download(download_fixture, KEEP_AND_RESUME | AFC_FILE_NO_REPLACE), EEXIST, 3);
    check_file(download_fixture->path, S("another file"));
    assert_int_equal(unlink(download_fixture->path), 0);
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
               AFC_RESUMPTION_RESUMED);
}

static void creates_missing_folders_if_asked(void **state) {
    download_fixture *download_fixture = *state;
    static const unsigned flags[] = {0, KEEP_AND_RESUME};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/a/b/got", download_fixture->folder.path);
        call *call = prepare(download_fixture, "/file", flags[i]);
        call->request.sink.path = path;
        call_perform(call);
        check_ended(call, AFC_EFILE);
        assert_int_equal(call->failure.system_error, ENOENT);
        call_free(call);
        call = prepare(download_fixture, "/file", flags[i] | AFC_FILE_MAKE_FOLDERS);
        call->request.sink.path = path;
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        check_file(path, (afc_slice){download_fixture->content, LARGE});
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(path_in(&download_fixture->folder, "a/b")), 0);
        assert_int_equal(rmdir(path_in(&download_fixture->folder, "a")), 0);
    }
}

static void folder_at_the_path_fails_at_once(void **state) {
    download_fixture *download_fixture = *state;
    static const unsigned flags[] = {0, KEEP_AND_RESUME};
    assert_int_equal(mkdir(download_fixture->path, 0700), 0);
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        check_refused(download_fixture, download(download_fixture, flags[i]), EISDIR, 1);
    }
    assert_int_equal(rmdir(download_fixture->path), 0);
}

/** A terminal that only the test knows: what is written there stays there. */
static void writes_to_device_without_replacing_it(void **state) {
    download_fixture *download_fixture = *state;
    static const unsigned flags[] = {0, KEEP_AND_RESUME};
    serve(download_fixture->fixture, "/short", answer(200, "ETag: " TAG, "to a device"));
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
        char name[64], got[64];
        assert_int_equal(ptsname_r(terminal, name, sizeof name), 0);
        int kept = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
        call *call = prepare(download_fixture, "/short", flags[i]);
        assert_int_equal(symlink(name, download_fixture->path), 0);
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        assert_int_equal(read(terminal, got, sizeof got), 11);
        assert_memory_equal(got, "to a device", 11);
        close(kept);
        close(terminal);
        assert_int_equal(count_files(&download_fixture->folder), 1);
        assert_int_equal(unlink(download_fixture->path), 0);
        assert_int_equal(mkfifo(download_fixture->path, 0600), 0);
        check_refused(download_fixture, download(download_fixture, flags[i]), ENOTSUP, 1);
        assert_int_equal(unlink(download_fixture->path), 0);
    }
}

static void fails_if_its_folder_vanishes(void **state) {
    download_fixture *download_fixture = *state;
    static const unsigned flags[] = {0, KEEP_AND_RESUME};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        folder inner, moved;
        folder_make(&inner);
        folder_make(&moved);
        afts_script *script = afts_script_new();
        afts_respond_chunked(script, 200, "ETag: " TAG);
        afts_chunk(script, "first", 5);
        afts_stall(script, "half");
        afts_last_chunk(script, NULL);
        serve(download_fixture->fixture, "/slow", script);
        call *call = prepare(download_fixture, "/slow", flags[i]);
        call->request.sink.path = path_in(&inner, "got");
        call_start(call);
        call_wait_for(call, &call->head_count, 1);
        /* Without flags it has no name that could be seen; it is open once the loop does something else. */
        check_fetch(download_fixture->fixture, "/other", AFC_OK);
        while (flags[i] != 0 && count_files(&inner) < 2) sched_yield();
        assert_int_equal(rename(inner.path, moved.path), 0);
        afts_release(download_fixture->fixture->server, "half", 1);
        call_wait(call);
        check_ended(call, AFC_EFILE);
        assert_int_equal(call->failure.system_error, ENOENT);
        assert_string_equal(afc_result_get_resume_token(call->result), "");
        call_free(call);
        folder_remove(&moved);
    }
}

static void set_file_limit(rlim_t limit, struct rlimit *before) {
    struct rlimit now;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &now), 0);
    if (before != NULL) *before = now;
    now.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &now), 0);
}

static void full_disk_keeps_the_bytes_that_fit(void **state) {
    download_fixture *download_fixture = *state;
    struct rlimit before;
    signal(SIGXFSZ, SIG_IGN);
    set_file_limit(BROKEN_AT, &before);
    download_fixture->range_server.chunks = true;
    check_refused(download_fixture, download(download_fixture, 0), EFBIG, 0);
    call *call = download(download_fixture, KEEP_AND_RESUME);
    assert_int_equal(afc_result_get_download(call->result)->size, BROKEN_AT);
    check_refused(download_fixture, call, EFBIG, 2);
    set_file_limit(before.rlim_cur, NULL);
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
               AFC_RESUMPTION_RESUMED);
    signal(SIGXFSZ, SIG_DFL);
}

static void refuses_length_that_no_disk_can_hold(void **state) {
    download_fixture *download_fixture = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n"
                           "ETag: " TAG "\r\n\r\nsome");
    afts_wait_peer_close(script);
    serve(download_fixture->fixture, "/huge", script);
    call *call = prepare(download_fixture, "/huge", KEEP_AND_RESUME);
    call_perform(call);
    check_ended(call, AFC_EFILE);
    int error = call->failure.system_error;
    assert_true(error == EFBIG || error == ENOSPC);
    assert_int_equal(afc_result_get_download(call->result)->size, 0);
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 0);
}

static void body_limit_includes_resumed_bytes(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    call *call = prepare(download_fixture, "/file", KEEP_AND_RESUME);
    call->request.limits.body_bytes = LARGE - 1;
    call_perform(call);
    check_ended(call, AFC_ETOOBIG);
    call_free(call);
    call = prepare(download_fixture, "/file", KEEP_AND_RESUME);
    call->request.limits.body_bytes = LARGE;
    call_perform(call);
    check_done(download_fixture, call, AFC_RESUMPTION_RESUMED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DOWNLOAD_TEST(never_resumes_a_part_of_another_url),
        DOWNLOAD_TEST(resumes_a_part_that_was_shortened),
        DOWNLOAD_TEST(refuses_a_part_that_grew_since_its_second_end),
        DOWNLOAD_TEST(hard_link_to_the_part_keeps_its_bytes),
        DOWNLOAD_TEST(leaves_special_files_alone),
        DOWNLOAD_TEST(resumes_by_token_without_resume_file),
        DOWNLOAD_TEST(refuses_options_that_contradict),
        DOWNLOAD_TEST(resumes_only_get_requests),
        DOWNLOAD_TEST(two_downloads_to_one_path_do_not_mix),
        DOWNLOAD_TEST(refuses_to_replace_existing_file_if_asked),
        DOWNLOAD_TEST(sync_in_unreadable_folder_keeps_the_old_file),
        DOWNLOAD_TEST(head_leaves_the_file_alone),
        DOWNLOAD_TEST(keeps_file_that_appears_during_the_download),
        DOWNLOAD_TEST(creates_missing_folders_if_asked),
        DOWNLOAD_TEST(folder_at_the_path_fails_at_once),
        DOWNLOAD_TEST(writes_to_device_without_replacing_it),
        DOWNLOAD_TEST(fails_if_its_folder_vanishes),
        DOWNLOAD_TEST(full_disk_keeps_the_bytes_that_fit),
        DOWNLOAD_TEST(refuses_length_that_no_disk_can_hold),
        DOWNLOAD_TEST(body_limit_includes_resumed_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
