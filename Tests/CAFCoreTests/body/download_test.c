/* Downloads that break off and go on: whatever the server answers, the file is one version of it, whole,
   or it is not there. */
#include "support/call.h"
#include "support/files.h"
#include "support/range_server.h"

#include <afcore/resume.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE = 600000, BROKEN_AT = 250000, BOTH = AFC_FILE_KEEP_PARTIAL | AFC_FILE_RESUME };

#define OLD_TAG "\"one\""
#define NEW_TAG "\"two\""

typedef struct download_fixture {
    fixture *fixture;
    folder folder;
    range_server range_server;
    char *old, *new;
    const char *path, *part, *note;
} download_fixture;

static afc_slice old_of(const download_fixture *download_fixture) {
    return (afc_slice){download_fixture->old, LARGE};
}

static afc_slice new_of(const download_fixture *download_fixture) {
    return (afc_slice){download_fixture->new, LARGE};
}

static int download_fixture_setup(void **state) {
    download_fixture *download_fixture = calloc(1, sizeof *download_fixture);
    assert_non_null(download_fixture);
    download_fixture->fixture = fixture_new(NULL, NULL);
    folder_make(&download_fixture->folder);
    download_fixture->old = make_content(LARGE, 1);
    download_fixture->new = make_content(LARGE, 2);
    range_server_serve(&download_fixture->range_server, download_fixture->fixture, "/file",
                       old_of(download_fixture), OLD_TAG);
    download_fixture->path = strdup(path_in(&download_fixture->folder, "got"));
    download_fixture->part = strdup(path_in(&download_fixture->folder, "got.part"));
    download_fixture->note = strdup(path_in(&download_fixture->folder, "got.part.resume"));
    *state = download_fixture;
    return 0;
}

static int download_fixture_teardown(void **state) {
    download_fixture *download_fixture = *state;
    fixture_free(download_fixture->fixture);
    folder_remove(&download_fixture->folder);
    free(download_fixture->old);
    free(download_fixture->new);
    free((char *)(uintptr_t)download_fixture->path);
    free((char *)(uintptr_t)download_fixture->part);
    free((char *)(uintptr_t)download_fixture->note);
    free(download_fixture);
    return 0;
}

#define DOWNLOAD_TEST(test)                                                                        \
    cmocka_unit_test_setup_teardown(test, download_fixture_setup, download_fixture_teardown)

static call *prepare(download_fixture *download_fixture, const char *path, unsigned flags) {
    call *call = call_new(download_fixture->fixture, path);
    call->request.sink = (afc_sink){
        .kind = AFC_SINK_FILE, .path = download_fixture->path, .flags = flags};
    return call;
}

static call *download(download_fixture *download_fixture, unsigned flags) {
    call *call = prepare(download_fixture, "/file", flags);
    call_perform(call);
    return call;
}

/** A download that breaks off at BROKEN_AT and leaves a pair. */
static void interrupt_download(download_fixture *download_fixture) {
    download_fixture->range_server.stops_after = BROKEN_AT;
    call *call = download(download_fixture, BOTH);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
    download_fixture->range_server.stops_after = WHOLE;
    assert_true(file_exists(download_fixture->part) && file_exists(download_fixture->note));
    assert_false(file_exists(download_fixture->path));
}

static const afc_download *download_of(const call *call) {
    const afc_download *download = afc_result_get_download(call->result);
    assert_non_null(download);
    return download;
}

/** It succeeded, and nothing but the file is there. */
static void check_done(download_fixture *download_fixture, call *call, afc_slice content,
                       afc_resumption resumption) {
    check_ended(call, AFC_OK);
    assert_int_equal(download_of(call)->resumption, resumption);
    assert_int_equal(download_of(call)->size, content.size);
    assert_string_equal(download_of(call)->path, download_fixture->path);
    assert_string_equal(afc_result_get_resume_token(call->result), "");
    call_free(call);
    check_file(download_fixture->path, content);
    assert_int_equal(count_files(&download_fixture->folder), 1);
    struct stat facts;
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat(download_fixture->path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0666 & ~mask);
    assert_int_equal(unlink(download_fixture->path), 0);
}

/* ---- Breaking off and going on ------------------------------------------------------------- */

static void resumes_after_broken_connection(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.stops_after = BROKEN_AT;
    call *call = download(download_fixture, BOTH);
    check_ended(call, AFC_ETRUNCATED);
    const char *token = afc_result_get_resume_token(call->result);
    afc_resume_info info;
    check_status(afc_resume_info_read(&info, afc_slice_of(token), NULL), AFC_OK);
    assert_int_equal(info.received, BROKEN_AT);
    assert_int_equal(info.total, LARGE);
    check_slice(info.validator, OLD_TAG);
    check_slice(info.url, call->request.url);
    assert_string_equal(download_of(call)->resume_token, token);
    assert_int_equal(download_of(call)->size, BROKEN_AT);
    call_free(call);
    check_file(download_fixture->part, (afc_slice){download_fixture->old, BROKEN_AT});
    struct stat facts;
    assert_int_equal(stat(download_fixture->part, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_true(facts.st_blocks * 512 < BROKEN_AT + 65536);
    assert_int_equal(stat(download_fixture->note, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);

    download_fixture->range_server.stops_after = WHOLE;
    call = download(download_fixture, BOTH);
    assert_string_equal(range_server_range(&download_fixture->range_server), "bytes=250000-");
    assert_string_equal(range_server_condition(&download_fixture->range_server), OLD_TAG);
    assert_int_equal(status_of(call), 206);
    assert_int_equal(download_of(call)->offset, BROKEN_AT);
    assert_int_equal(call->progress.offset, BROKEN_AT);
    assert_int_equal(call->progress.received, LARGE - BROKEN_AT);
    assert_int_equal(afc_result_get_body_size(call->result), LARGE - BROKEN_AT);
    check_done(download_fixture, call, old_of(download_fixture), AFC_RESUMPTION_RESUMED);
    assert_string_equal(seen_header(download_fixture->fixture, 0, "Accept-Encoding"), "identity");
}

static void resumes_as_often_as_it_breaks(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.stops_after = 100001;
    for (int i = 0; i < 5; i++) {
        call *call = download(download_fixture, BOTH);
        check_ended(call, AFC_ETRUNCATED);
        assert_int_equal(download_of(call)->size, 100001 * (i + 1));
        call_free(call);
    }
    call *call = download(download_fixture, BOTH);
    check_done(download_fixture, call, old_of(download_fixture), AFC_RESUMPTION_RESUMED);
}

static void resumes_body_of_unknown_length(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.chunks = true;
    interrupt_download(download_fixture);
    check_done(download_fixture, download(download_fixture, BOTH), old_of(download_fixture),
               AFC_RESUMPTION_RESUMED);
}

static void resumes_by_last_modified(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.etag = NULL;
    download_fixture->range_server.ignores_condition = true;
    download_fixture->range_server.fields = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                                            "Date: Mon, 07 Nov 1994 08:49:37 GMT\r\n";
    interrupt_download(download_fixture);
    call *call = download(download_fixture, BOTH);
    assert_string_equal(range_server_condition(&download_fixture->range_server),
                        "Sun, 06 Nov 1994 08:49:37 GMT");
    check_done(download_fixture, call, old_of(download_fixture), AFC_RESUMPTION_RESUMED);
}

static void keeps_no_part_without_strong_validator(void **state) {
    download_fixture *download_fixture = *state;
    static const struct {
        const char *etag, *fields, *reason;
    } rows[] = {
        {NULL, NULL, "neither ETag"},
        {"W/\"one\"", NULL, "weak"},
        {OLD_TAG, "Accept-Ranges: none\r\n", "no ranges"},
        {NULL, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "Date"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        range_server_change(&download_fixture->range_server, old_of(download_fixture),
                            rows[i].etag);
        download_fixture->range_server.fields = rows[i].fields;
        download_fixture->range_server.stops_after = BROKEN_AT;
        call *call = download(download_fixture, BOTH);
        check_ended(call, AFC_ETRUNCATED);
        assert_string_equal(afc_result_get_resume_token(call->result), "");
        check_contains(download_of(call)->reason, rows[i].reason);
        call_free(call);
        assert_int_equal(count_files(&download_fixture->folder), 0);
        download_fixture->range_server.stops_after = WHOLE;
        check_done(download_fixture, download(download_fixture, BOTH), old_of(download_fixture),
                   AFC_RESUMPTION_NONE);
    }
}

static void keeps_no_part_unless_asked(void **state) {
    download_fixture *download_fixture = *state;
    static const unsigned flags[] = {0, AFC_FILE_SYNC};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        download_fixture->range_server.stops_after = BROKEN_AT;
        call *call = download(download_fixture, flags[i]);
        check_ended(call, AFC_ETRUNCATED);
        assert_string_equal(afc_result_get_resume_token(call->result), "");
        call_free(call);
        assert_int_equal(count_files(&download_fixture->folder), 0);
    }
    /* Nor does one who doesn't ask for it go on. */
    interrupt_download(download_fixture);
    call *call = download(download_fixture, AFC_FILE_KEEP_PARTIAL);
    assert_string_equal(range_server_range(&download_fixture->range_server), "");
    check_done(download_fixture, call, old_of(download_fixture), AFC_RESUMPTION_NONE);
}

static void cancelling_keeps_the_part(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.stops_after = BROKEN_AT;
    download_fixture->range_server.waits = true;
    call *call = prepare(download_fixture, "/file", BOTH);
    call->request.progress_ms = 1;
    call_start(call);
    range_server_wait_stopped(&download_fixture->range_server, 1);
    call_wait_for(call, &call->head_count, 1);
    afc_task_suspend(call->task);
    afc_task_resume(call->task);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    int64_t size = download_of(call)->size;
    if (size > 0) {
        check_file(download_fixture->part, (afc_slice){download_fixture->old, (size_t)size});
        assert_true(afc_result_get_resume_token(call->result)[0] != '\0');
    } else {
        assert_int_equal(count_files(&download_fixture->folder), 0);
    }
    call_free(call);
    download_fixture->range_server.stops_after = WHOLE;
    check_done(download_fixture, download(download_fixture, BOTH), old_of(download_fixture),
               size > 0 ? AFC_RESUMPTION_RESUMED : AFC_RESUMPTION_NONE);
}

static void suspended_download_continues_where_it_was(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    download_fixture->range_server.stops_after = 100000;
    download_fixture->range_server.waits = true;
    call *call = prepare(download_fixture, "/file", BOTH);
    call_start(call);
    range_server_wait_stopped(&download_fixture->range_server, 2);
    for (int i = 0; i < 20; i++) {
        afc_task_suspend(call->task);
        afc_task_resume(call->task);
    }
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    check_file(download_fixture->part,
               (afc_slice){download_fixture->old, (size_t)download_of(call)->size});
    call_free(call);
    download_fixture->range_server.stops_after = WHOLE;
    check_done(download_fixture, download(download_fixture, BOTH), old_of(download_fixture),
               AFC_RESUMPTION_RESUMED);
}

/* ---- Answers to a range -------------------------------------------------------------------- */

static void changed_file_starts_over(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    range_server_change(&download_fixture->range_server, new_of(download_fixture), NEW_TAG);
    call *call = download(download_fixture, BOTH);
    assert_int_equal(status_of(call), 200);
    assert_int_equal(call->hop_count, 1);
    check_contains(download_of(call)->reason, "whole");
    check_done(download_fixture, call, new_of(download_fixture), AFC_RESUMPTION_RESTARTED);
}

/** Returns the first byte of a file; EOF if it is empty, or doesn't exist: a part that starts over is made again. */
static int first_byte_of(const char *path) {
    FILE *file = fopen(path, "rb");
    if (file == NULL) return EOF;
    int byte = fgetc(file);
    fclose(file);
    return byte;
}

/** A process that is killed then would leave bytes of one version beside the token of another. */
static void start_over_without_a_validator_leaves_no_token(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->new[0] = (char)(download_fixture->old[0] != 1);
    interrupt_download(download_fixture);
    range_server_change(&download_fixture->range_server, new_of(download_fixture), NULL);
    download_fixture->range_server.stops_after = BROKEN_AT;
    download_fixture->range_server.waits = true;
    call *call = prepare(download_fixture, "/file", BOTH);
    call_start(call);
    while (first_byte_of(download_fixture->part) != download_fixture->new[0]) sched_yield();
    assert_false(file_exists(download_fixture->note));
    afc_task_cancel(call->task);
    call_wait(call);
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 0);
}

static void damaged_token_starts_over(void **state) {
    download_fixture *download_fixture = *state;
    static const char *const texts[] = {"junk", "", "afcore-resume 1\n"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        interrupt_download(download_fixture);
        write_file(download_fixture->note, afc_slice_of(texts[i]));
        call *call = download(download_fixture, BOTH);
        assert_string_equal(range_server_range(&download_fixture->range_server), "");
        assert_string_equal(download_of(call)->reason, "the resume token is damaged");
        check_done(download_fixture, call, old_of(download_fixture), AFC_RESUMPTION_RESTARTED);
    }
    /* Without a response that is saved, nothing was restarted. */
    interrupt_download(download_fixture);
    write_file(download_fixture->note, S("junk"));
    serve(download_fixture->fixture, "/file", answer(503, "", "busy"));
    call *call = download(download_fixture, BOTH);
    check_ended(call, AFC_OK);
    assert_int_equal(download_of(call)->resumption, AFC_RESUMPTION_NONE);
    assert_null(download_of(call)->reason);
    call_free(call);
}

static void refuses_part_that_changed_on_disk(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    range_server_change(&download_fixture->range_server, new_of(download_fixture), NEW_TAG);
    download_fixture->range_server.ignores_condition = true;
    call *call = download(download_fixture, BOTH);
    assert_int_equal(status_of(call), 200);
    assert_int_equal(call->hop_count, 2);
    assert_int_equal(call->hops[0].status, 206);
    assert_null(call->hops[0].location);
    assert_int_equal(atomic_load(&call->head_count), 1);
    assert_string_equal(range_server_range(&download_fixture->range_server), "");
    check_contains(download_of(call)->reason, "has changed");
    check_done(download_fixture, call, new_of(download_fixture), AFC_RESUMPTION_RESTARTED);
}

static void server_without_ranges_sends_the_whole(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    download_fixture->range_server.ignores_ranges = true;
    check_done(download_fixture, download(download_fixture, BOTH), old_of(download_fixture),
               AFC_RESUMPTION_RESTARTED);
}

static void restart_can_break_and_resume(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    range_server_change(&download_fixture->range_server, new_of(download_fixture), NEW_TAG);
    download_fixture->range_server.stops_after = 1000;
    call *call = download(download_fixture, BOTH);
    check_ended(call, AFC_ETRUNCATED);
    assert_int_equal(download_of(call)->size, 1000);
    call_free(call);
    check_file(download_fixture->part, (afc_slice){download_fixture->new, 1000});
    download_fixture->range_server.stops_after = WHOLE;
    check_done(download_fixture, download(download_fixture, BOTH), new_of(download_fixture),
               AFC_RESUMPTION_RESUMED);
}

/** Everything came, but the process was killed before it noticed the end. */
static void make_all_there(download_fixture *download_fixture) {
    interrupt_download(download_fixture);
    FILE *file = fopen(download_fixture->part, "ab");
    assert_non_null(file);
    assert_int_equal(fwrite(download_fixture->old + BROKEN_AT, 1, LARGE - BROKEN_AT, file),
                     LARGE - BROKEN_AT);
    assert_int_equal(fclose(file), 0);
    replace_in_file(download_fixture->note, "received 250000\n", "received 0\n");
}

static void complete_part_is_not_fetched_again(void **state) {
    download_fixture *download_fixture = *state;
    make_all_there(download_fixture);
    call *call = download(download_fixture, BOTH);
    assert_int_equal(status_of(call), 416);
    assert_string_equal(range_server_range(&download_fixture->range_server), "bytes=600000-");
    assert_int_equal(call->body.size, 0);
    check_done(download_fixture, call, old_of(download_fixture), AFC_RESUMPTION_COMPLETE);
}

static void longer_file_starts_over(void **state) {
    download_fixture *download_fixture = *state;
    make_all_there(download_fixture);
    download_fixture->range_server.ignores_condition = true;
    range_server_change(&download_fixture->range_server, (afc_slice){download_fixture->new, 1000},
                        NEW_TAG);
    call *call = download(download_fixture, BOTH);
    assert_int_equal(call->hop_count, 2);
    assert_int_equal(call->hops[0].status, 416);
    check_done(download_fixture, call, (afc_slice){download_fixture->new, 1000},
               AFC_RESUMPTION_RESTARTED);
}

static void unusable_part_is_requested_again_as_a_whole(void **state) {
    download_fixture *download_fixture = *state;
    static const char *const fields[] = {
        "",
        "Content-Range: bytes 0-9/600000\r\n",
        "Content-Range: bytes 250001-599999/600000\r\n",
        "Content-Range: bytes 250000-599999/600001\r\n",
        "Content-Range: bytes 250000-599999/*\r\n",
        "Content-Range: lines 250000-599999/600000\r\n",
        "Content-Range: rubbish\r\n",
        "Content-Type: multipart/byteranges; boundary=b\r\n",
        "Content-Range: bytes 250000-599999/600000\r\nContent-Encoding: gzip\r\n",
        "Content-Range: bytes 250000-599999/600000\r\nContent-Range: bytes 0-9/600000\r\n",
    };
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        interrupt_download(download_fixture);
        serve_once(download_fixture->fixture, "/file",
                   answer(206, text_of(download_fixture->fixture, "%sETag: " OLD_TAG, fields[i]),
                          "0123456789"));
        call *call = download(download_fixture, BOTH);
        assert_int_equal(call->hop_count, 2);
        assert_string_equal(range_server_range(&download_fixture->range_server), "");
        check_done(download_fixture, call, old_of(download_fixture), AFC_RESUMPTION_RESTARTED);
    }
}

static void error_after_refused_range_keeps_the_part(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    serve_once(download_fixture->fixture, "/file", answer(206, NULL, "x"));
    serve_once(download_fixture->fixture, "/file", answer(503, NULL, "busy"));
    call *call = download(download_fixture, BOTH);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 503);
    check_slice(call->body, "busy");
    assert_true(afc_result_get_resume_token(call->result)[0] != '\0');
    call_free(call);
    check_done(download_fixture, download(download_fixture, BOTH), old_of(download_fixture),
               AFC_RESUMPTION_RESUMED);
}

static void unrequested_partial_content_breaks_the_protocol(void **state) {
    download_fixture *download_fixture = *state;
    serve(download_fixture->fixture, "/part", answer(206, "Content-Range: bytes 0-0/9", "x"));
    call *call = prepare(download_fixture, "/part", BOTH);
    call_perform(call);
    check_ended(call, AFC_EPROTOCOL);
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 0);
}

static void short_range_is_kept_as_part(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    afts_script *script = afts_script_new();
    afts_respond(script, 206, "Content-Range: bytes 250000-250009/600000\r\nETag: " OLD_TAG,
                 download_fixture->old + BROKEN_AT, 10);
    serve_once(download_fixture->fixture, "/file", script);
    call *call = download(download_fixture, BOTH);
    check_ended(call, AFC_ETRUNCATED);
    assert_int_equal(download_of(call)->size, BROKEN_AT + 10);
    call_free(call);
    check_done(download_fixture, download(download_fixture, BOTH), old_of(download_fixture),
               AFC_RESUMPTION_RESUMED);
}

static void overlong_range_voids_the_part(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    afts_script *script = afts_script_new();
    afts_respond_chunked(script, 206,
                         "Content-Range: bytes 250000-599999/600000\r\nETag: " OLD_TAG);
    afts_chunk(script, download_fixture->old + BROKEN_AT, LARGE - BROKEN_AT);
    afts_chunk(script, "more", 4);
    afts_last_chunk(script, NULL);
    serve_once(download_fixture->fixture, "/file", script);
    call *call = download(download_fixture, BOTH);
    check_ended(call, AFC_EPROTOCOL);
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 0);
}

static void status_404_removes_the_part_and_other_errors_keep_it(void **state) {
    download_fixture *download_fixture = *state;
    static const int keeping[] = {503, 500, 403, 401, 304, 300};
    for (size_t i = 0; i < COUNT_OF(keeping); i++) {
        interrupt_download(download_fixture);
        serve_once(download_fixture->fixture, "/file", answer(keeping[i], NULL, ""));
        call *call = download(download_fixture, BOTH);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), keeping[i]);
        assert_true(afc_result_get_resume_token(call->result)[0] != '\0');
        call_free(call);
        check_done(download_fixture, download(download_fixture, BOTH), old_of(download_fixture),
                   AFC_RESUMPTION_RESUMED);
    }
    static const int removing[] = {404, 410};
    for (size_t i = 0; i < COUNT_OF(removing); i++) {
        interrupt_download(download_fixture);
        serve_once(download_fixture->fixture, "/file", answer(removing[i], NULL, "no such thing"));
        call *call = download(download_fixture, BOTH);
        check_ended(call, AFC_OK);
        check_slice(call->body, "no such thing");
        assert_string_equal(afc_result_get_resume_token(call->result), "");
        call_free(call);
        assert_int_equal(count_files(&download_fixture->folder), 0);
    }
    serve(download_fixture->fixture, "/missing", answer(404, NULL, "no such thing"));
    call *call = prepare(download_fixture, "/missing", BOTH);
    call_perform(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "no such thing");
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 0);
}

/** Only 200 and 203 have the whole file: others would replace the received bytes with something else. */
static void successes_without_the_file_keep_the_part_and_fail(void **state) {
    download_fixture *download_fixture = *state;
    static const int statuses[] = {201, 202, 204, 205, 207, 226};
    for (size_t i = 0; i < 2 * COUNT_OF(statuses); i++) {
        int status = statuses[i / 2];
        bool is_of_second = i % 2 == 1; /* The useless part is requested again as a whole. */
        interrupt_download(download_fixture);
        if (is_of_second) serve_once(download_fixture->fixture, "/file", answer(206, NULL, "x"));
        serve_once(download_fixture->fixture, "/file", answer(status, "ETag: " OLD_TAG, ""));
        call *call = download(download_fixture, BOTH);
        check_ended(call, AFC_EPROTOCOL);
        check_contains(call->failure.text,
                       text_of(download_fixture->fixture, "a response with status %d", status));
        assert_int_equal(call->hop_count, is_of_second ? 2 : 1);
        assert_true(afc_result_get_resume_token(call->result)[0] != '\0');
        call_free(call);
        assert_true(file_exists(download_fixture->part) && file_exists(download_fixture->note));
        assert_false(file_exists(download_fixture->path));
        check_done(download_fixture, download(download_fixture, BOTH), old_of(download_fixture),
                   AFC_RESUMPTION_RESUMED);
    }
    interrupt_download(download_fixture);
    serve_once(download_fixture->fixture, "/file", answer(203, NULL, "whole"));
    check_done(download_fixture, download(download_fixture, BOTH), S("whole"),
               AFC_RESUMPTION_RESTARTED);
}

static void lost_connection_keeps_the_part(void **state) {
    download_fixture *download_fixture = *state;
    static const unsigned flags[] = {BOTH, AFC_FILE_RESUME};
    download_fixture->range_server.stops_after = BROKEN_AT;
    call *first = download(download_fixture, AFC_FILE_RESUME);
    check_ended(first, AFC_ETRUNCATED);
    call_free(first);
    download_fixture->range_server.stops_after = WHOLE;
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        afts_script *script = afts_script_new();
        afts_reset(script);
        serve_once(download_fixture->fixture, "/file", script);
        call *call = download(download_fixture, flags[i]);
        check_ended(call, AFC_ELOST);
        afc_resume_info info;
        const char *token = afc_result_get_resume_token(call->result);
        check_status(afc_resume_info_read(&info, afc_slice_of(token), NULL), AFC_OK);
        assert_int_equal(info.received, BROKEN_AT);
        call_free(call);
    }
    check_done(download_fixture, download(download_fixture, BOTH), old_of(download_fixture),
               AFC_RESUMPTION_RESUMED);
}

static void redirect_keeps_the_range(void **state) {
    download_fixture *download_fixture = *state;
    fixture *other = fixture_new(NULL, NULL);
    range_server elsewhere;
    range_server_serve(&elsewhere, other, "/cdn", old_of(download_fixture), OLD_TAG);
    serve(
        download_fixture->fixture, "/start",
        answer(302, text_of(download_fixture->fixture, "Location: %s", url_of(other, "/cdn")), ""));
    elsewhere.stops_after = BROKEN_AT;
    call *call = prepare(download_fixture, "/start", BOTH);
    call_perform(call);
    check_ended(call, AFC_ETRUNCATED);
    afc_resume_info info;
    const char *token = afc_result_get_resume_token(call->result);
    check_status(afc_resume_info_read(&info, afc_slice_of(token), NULL), AFC_OK);
    check_slice(info.url, call->request.url);
    call_free(call);
    elsewhere.stops_after = WHOLE;
    call = prepare(download_fixture, "/start", BOTH);
    call_perform(call);
    assert_string_equal(range_server_range(&elsewhere), "bytes=250000-");
    assert_string_equal(range_server_condition(&elsewhere), OLD_TAG);
    check_done(download_fixture, call, old_of(download_fixture), AFC_RESUMPTION_RESUMED);
    fixture_free(other);
}

/** "hello" by gzip, sent though identity was asked for. */
static const unsigned char hello[] = {0x1f, 0x8b, 8,    0,    0,    0,    0, 0, 2,
                                      3,    0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86,
                                      0xa6, 0x10, 0x36, 5,    0,    0,    0};

static void saves_encoded_content_as_received_if_asked(void **state) {
    download_fixture *download_fixture = *state;
    afts_script *script = afts_script_new();
    afts_respond(script, 200, "Content-Encoding: gzip\r\nETag: " OLD_TAG, hello, sizeof hello);
    serve_once(download_fixture->fixture, "/file", script);
    call *call = prepare(download_fixture, "/file", BOTH);
    call->request.keep_encoding = true;
    call_perform(call);
    check_done(download_fixture, call, (afc_slice){(const char *)hello, sizeof hello},
               AFC_RESUMPTION_NONE);
}

static void never_resumes_encoded_content(void **state) {
    download_fixture *download_fixture = *state;
    interrupt_download(download_fixture);
    /* Its digest is that of the encoded bytes. */
    afts_script *script = afts_script_new();
    afts_respond(script, 200,
                 "Content-Encoding: gzip\r\nETag: " OLD_TAG
                 "\r\nRepr-Digest: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",
                 hello, sizeof hello);
    serve_once(download_fixture->fixture, "/file", script);
    call *call = download(download_fixture, BOTH);
    check_contains(download_of(call)->reason, "encoded");
    check_done(download_fixture, call, S("hello"), AFC_RESUMPTION_RESTARTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DOWNLOAD_TEST(resumes_after_broken_connection),
        DOWNLOAD_TEST(resumes_as_often_as_it_breaks),
        DOWNLOAD_TEST(resumes_body_of_unknown_length),
        DOWNLOAD_TEST(resumes_by_last_modified),
        DOWNLOAD_TEST(keeps_no_part_without_strong_validator),
        DOWNLOAD_TEST(keeps_no_part_unless_asked),
        DOWNLOAD_TEST(cancelling_keeps_the_part),
        DOWNLOAD_TEST(suspended_download_continues_where_it_was),
        DOWNLOAD_TEST(changed_file_starts_over),
        DOWNLOAD_TEST(start_over_without_a_validator_leaves_no_token),
        DOWNLOAD_TEST(damaged_token_starts_over),
        DOWNLOAD_TEST(refuses_part_that_changed_on_disk),
        DOWNLOAD_TEST(server_without_ranges_sends_the_whole),
        DOWNLOAD_TEST(restart_can_break_and_resume),
        DOWNLOAD_TEST(complete_part_is_not_fetched_again),
        DOWNLOAD_TEST(longer_file_starts_over),
        DOWNLOAD_TEST(unusable_part_is_requested_again_as_a_whole),
        DOWNLOAD_TEST(error_after_refused_range_keeps_the_part),
        DOWNLOAD_TEST(unrequested_partial_content_breaks_the_protocol),
        DOWNLOAD_TEST(short_range_is_kept_as_part),
        DOWNLOAD_TEST(overlong_range_voids_the_part),
        DOWNLOAD_TEST(status_404_removes_the_part_and_other_errors_keep_it),
        DOWNLOAD_TEST(successes_without_the_file_keep_the_part_and_fail),
        DOWNLOAD_TEST(lost_connection_keeps_the_part),
        DOWNLOAD_TEST(redirect_keeps_the_range),
        DOWNLOAD_TEST(saves_encoded_content_as_received_if_asked),
        DOWNLOAD_TEST(never_resumes_encoded_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
