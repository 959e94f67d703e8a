/* Downloads that break off and go on: whatever the server answers, the file is one version of it, whole,
   or it is not there. */
#include "support/call.h"
#include "support/files.h"
#include "support/origin.h"

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

typedef struct scene {
    world *world;
    folder folder;
    origin origin;
    char *old, *new;
    const char *path, *part, *note;
} scene;

static afc_slice old_of(const scene *scene) {
    return (afc_slice){scene->old, LARGE};
}

static afc_slice new_of(const scene *scene) {
    return (afc_slice){scene->new, LARGE};
}

static int scene_setup(void **state) {
    scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    scene->world = world_new(NULL, NULL);
    folder_make(&scene->folder);
    scene->old = make_content(LARGE, 1);
    scene->new = make_content(LARGE, 2);
    origin_serve(&scene->origin, scene->world, "/file", old_of(scene), OLD_TAG);
    scene->path = strdup(path_in(&scene->folder, "got"));
    scene->part = strdup(path_in(&scene->folder, "got.part"));
    scene->note = strdup(path_in(&scene->folder, "got.part.resume"));
    *state = scene;
    return 0;
}

static int scene_teardown(void **state) {
    scene *scene = *state;
    world_free(scene->world);
    folder_remove(&scene->folder);
    free(scene->old);
    free(scene->new);
    free((char *)(uintptr_t)scene->path);
    free((char *)(uintptr_t)scene->part);
    free((char *)(uintptr_t)scene->note);
    free(scene);
    return 0;
}

#define SCENE_TEST(test) cmocka_unit_test_setup_teardown(test, scene_setup, scene_teardown)

static call *prepare(scene *scene, const char *path, unsigned flags) {
    call *call = call_new(scene->world, path);
    call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = scene->path, .flags = flags};
    return call;
}

static call *download(scene *scene, unsigned flags) {
    call *call = prepare(scene, "/file", flags);
    call_perform(call);
    return call;
}

/** A download that breaks off at BROKEN_AT and leaves a pair. */
static void break_off(scene *scene) {
    scene->origin.stops_after = BROKEN_AT;
    call *call = download(scene, BOTH);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
    scene->origin.stops_after = WHOLE;
    assert_true(file_exists(scene->part) && file_exists(scene->note));
    assert_false(file_exists(scene->path));
}

static const afc_download *download_of(const call *call) {
    const afc_download *download = afc_result_get_download(call->result);
    assert_non_null(download);
    return download;
}

/** It succeeded, and nothing but the file is there. */
static void check_done(scene *scene, call *call, afc_slice content, afc_resumption resumption) {
    check_ended(call, AFC_OK);
    assert_int_equal(download_of(call)->resumption, resumption);
    assert_int_equal(download_of(call)->size, content.size);
    assert_string_equal(download_of(call)->path, scene->path);
    assert_string_equal(afc_result_get_resume_token(call->result), "");
    call_free(call);
    check_file(scene->path, content);
    assert_int_equal(count_files(&scene->folder), 1);
    struct stat facts;
    mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat(scene->path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0666 & ~mask);
    assert_int_equal(unlink(scene->path), 0);
}

/* ---- Breaking off and going on ------------------------------------------------------------- */

static void resumes_after_broken_connection(void **state) {
    scene *scene = *state;
    scene->origin.stops_after = BROKEN_AT;
    call *call = download(scene, BOTH);
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
    check_file(scene->part, (afc_slice){scene->old, BROKEN_AT});
    struct stat facts;
    assert_int_equal(stat(scene->part, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);
    assert_true(facts.st_blocks * 512 < BROKEN_AT + 65536);
    assert_int_equal(stat(scene->note, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0600);

    scene->origin.stops_after = WHOLE;
    call = download(scene, BOTH);
    assert_string_equal(origin_range(&scene->origin), "bytes=250000-");
    assert_string_equal(origin_condition(&scene->origin), OLD_TAG);
    assert_int_equal(status_of(call), 206);
    assert_int_equal(download_of(call)->offset, BROKEN_AT);
    assert_int_equal(call->progress.offset, BROKEN_AT);
    assert_int_equal(call->progress.received, LARGE - BROKEN_AT);
    assert_int_equal(afc_result_get_body_size(call->result), LARGE - BROKEN_AT);
    check_done(scene, call, old_of(scene), AFC_RESUMPTION_RESUMED);
    assert_string_equal(seen_header(scene->world, 0, "Accept-Encoding"), "identity");
}

static void resumes_as_often_as_it_breaks(void **state) {
    scene *scene = *state;
    scene->origin.stops_after = 100001;
    for (int i = 0; i < 5; i++) {
        call *call = download(scene, BOTH);
        check_ended(call, AFC_ETRUNCATED);
        assert_int_equal(download_of(call)->size, 100001 * (i + 1));
        call_free(call);
    }
    call *call = download(scene, BOTH);
    check_done(scene, call, old_of(scene), AFC_RESUMPTION_RESUMED);
}

static void resumes_body_of_unknown_length(void **state) {
    scene *scene = *state;
    scene->origin.chunks = true;
    break_off(scene);
    check_done(scene, download(scene, BOTH), old_of(scene), AFC_RESUMPTION_RESUMED);
}

static void resumes_by_last_modified(void **state) {
    scene *scene = *state;
    scene->origin.etag = NULL;
    scene->origin.ignores_condition = true;
    scene->origin.fields = "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                           "Date: Mon, 07 Nov 1994 08:49:37 GMT\r\n";
    break_off(scene);
    call *call = download(scene, BOTH);
    assert_string_equal(origin_condition(&scene->origin), "Sun, 06 Nov 1994 08:49:37 GMT");
    check_done(scene, call, old_of(scene), AFC_RESUMPTION_RESUMED);
}

static void keeps_no_part_without_strong_validator(void **state) {
    scene *scene = *state;
    static const struct {
        const char *etag, *fields, *reason;
    } rows[] = {
        {NULL, NULL, "neither ETag"},
        {"W/\"one\"", NULL, "weak"},
        {OLD_TAG, "Accept-Ranges: none\r\n", "no ranges"},
        {NULL, "Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT\r\n", "Date"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        origin_change(&scene->origin, old_of(scene), rows[i].etag);
        scene->origin.fields = rows[i].fields;
        scene->origin.stops_after = BROKEN_AT;
        call *call = download(scene, BOTH);
        check_ended(call, AFC_ETRUNCATED);
        assert_string_equal(afc_result_get_resume_token(call->result), "");
        check_contains(download_of(call)->reason, rows[i].reason);
        call_free(call);
        assert_int_equal(count_files(&scene->folder), 0);
        scene->origin.stops_after = WHOLE;
        check_done(scene, download(scene, BOTH), old_of(scene), AFC_RESUMPTION_NONE);
    }
}

static void keeps_no_part_unless_asked(void **state) {
    scene *scene = *state;
    static const unsigned flags[] = {0, AFC_FILE_SYNC};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        scene->origin.stops_after = BROKEN_AT;
        call *call = download(scene, flags[i]);
        check_ended(call, AFC_ETRUNCATED);
        assert_string_equal(afc_result_get_resume_token(call->result), "");
        call_free(call);
        assert_int_equal(count_files(&scene->folder), 0);
    }
    /* Nor does one who doesn't ask for it go on. */
    break_off(scene);
    call *call = download(scene, AFC_FILE_KEEP_PARTIAL);
    assert_string_equal(origin_range(&scene->origin), "");
    check_done(scene, call, old_of(scene), AFC_RESUMPTION_NONE);
}

static void cancelling_keeps_the_part(void **state) {
    scene *scene = *state;
    scene->origin.stops_after = BROKEN_AT;
    scene->origin.waits = true;
    call *call = prepare(scene, "/file", BOTH);
    call->request.progress_ms = 1;
    call_start(call);
    origin_wait_stopped(&scene->origin, 1);
    call_wait_for(call, &call->head_count, 1);
    afc_task_suspend(call->task);
    afc_task_resume(call->task);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    int64_t size = download_of(call)->size;
    if (size > 0) {
        check_file(scene->part, (afc_slice){scene->old, (size_t)size});
        assert_true(afc_result_get_resume_token(call->result)[0] != '\0');
    } else {
        assert_int_equal(count_files(&scene->folder), 0);
    }
    call_free(call);
    scene->origin.stops_after = WHOLE;
    check_done(scene, download(scene, BOTH), old_of(scene),
               size > 0 ? AFC_RESUMPTION_RESUMED : AFC_RESUMPTION_NONE);
}

static void suspended_download_continues_where_it_was(void **state) {
    scene *scene = *state;
    break_off(scene);
    scene->origin.stops_after = 100000;
    scene->origin.waits = true;
    call *call = prepare(scene, "/file", BOTH);
    call_start(call);
    origin_wait_stopped(&scene->origin, 2);
    for (int i = 0; i < 20; i++) {
        afc_task_suspend(call->task);
        afc_task_resume(call->task);
    }
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    check_file(scene->part, (afc_slice){scene->old, (size_t)download_of(call)->size});
    call_free(call);
    scene->origin.stops_after = WHOLE;
    check_done(scene, download(scene, BOTH), old_of(scene), AFC_RESUMPTION_RESUMED);
}

/* ---- Answers to a range -------------------------------------------------------------------- */

static void changed_file_starts_over(void **state) {
    scene *scene = *state;
    break_off(scene);
    origin_change(&scene->origin, new_of(scene), NEW_TAG);
    call *call = download(scene, BOTH);
    assert_int_equal(status_of(call), 200);
    assert_int_equal(call->hop_count, 1);
    check_contains(download_of(call)->reason, "whole");
    check_done(scene, call, new_of(scene), AFC_RESUMPTION_RESTARTED);
}

/** Reads the first byte of a file; '\0' if there is none. */
static char first_byte_of(const char *path) {
    char byte = '\0';
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    if (fread(&byte, 1, 1, file) != 1) byte = '\0';
    fclose(file);
    return byte;
}

/** A process that is killed then would leave bytes of one version beside the token of another. */
static void start_over_without_a_validator_leaves_no_token(void **state) {
    scene *scene = *state;
    scene->new[0] = (char)(scene->old[0] != 1);
    break_off(scene);
    origin_change(&scene->origin, new_of(scene), NULL);
    scene->origin.stops_after = BROKEN_AT;
    scene->origin.waits = true;
    call *call = prepare(scene, "/file", BOTH);
    call_start(call);
    while (first_byte_of(scene->part) != scene->new[0]) sched_yield();
    assert_false(file_exists(scene->note));
    afc_task_cancel(call->task);
    call_wait(call);
    call_free(call);
    assert_int_equal(count_files(&scene->folder), 0);
}

static void damaged_token_starts_over(void **state) {
    scene *scene = *state;
    static const char *const texts[] = {"junk", "", "afcore-resume 1\n"};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        break_off(scene);
        write_file(scene->note, afc_slice_of(texts[i]));
        call *call = download(scene, BOTH);
        assert_string_equal(origin_range(&scene->origin), "");
        assert_string_equal(download_of(call)->reason, "the resume token is damaged");
        check_done(scene, call, old_of(scene), AFC_RESUMPTION_RESTARTED);
    }
    /* Without a response that is saved, nothing was restarted. */
    break_off(scene);
    write_file(scene->note, S("junk"));
    serve(scene->world, "/file", answer(503, "", "busy"));
    call *call = download(scene, BOTH);
    check_ended(call, AFC_OK);
    assert_int_equal(download_of(call)->resumption, AFC_RESUMPTION_NONE);
    assert_null(download_of(call)->reason);
    call_free(call);
}

static void refuses_part_that_changed_on_disk(void **state) {
    scene *scene = *state;
    break_off(scene);
    origin_change(&scene->origin, new_of(scene), NEW_TAG);
    scene->origin.ignores_condition = true;
    call *call = download(scene, BOTH);
    assert_int_equal(status_of(call), 200);
    assert_int_equal(call->hop_count, 2);
    assert_int_equal(call->hops[0].status, 206);
    assert_null(call->hops[0].location);
    assert_int_equal(atomic_load(&call->head_count), 1);
    assert_string_equal(origin_range(&scene->origin), "");
    check_contains(download_of(call)->reason, "has changed");
    check_done(scene, call, new_of(scene), AFC_RESUMPTION_RESTARTED);
}

static void server_without_ranges_sends_the_whole(void **state) {
    scene *scene = *state;
    break_off(scene);
    scene->origin.ignores_ranges = true;
    check_done(scene, download(scene, BOTH), old_of(scene), AFC_RESUMPTION_RESTARTED);
}

static void restart_can_break_and_resume(void **state) {
    scene *scene = *state;
    break_off(scene);
    origin_change(&scene->origin, new_of(scene), NEW_TAG);
    scene->origin.stops_after = 1000;
    call *call = download(scene, BOTH);
    check_ended(call, AFC_ETRUNCATED);
    assert_int_equal(download_of(call)->size, 1000);
    call_free(call);
    check_file(scene->part, (afc_slice){scene->new, 1000});
    scene->origin.stops_after = WHOLE;
    check_done(scene, download(scene, BOTH), new_of(scene), AFC_RESUMPTION_RESUMED);
}

/** Everything came, but the process was killed before it noticed the end. */
static void make_all_there(scene *scene) {
    break_off(scene);
    FILE *file = fopen(scene->part, "ab");
    assert_non_null(file);
    assert_int_equal(fwrite(scene->old + BROKEN_AT, 1, LARGE - BROKEN_AT, file), LARGE - BROKEN_AT);
    assert_int_equal(fclose(file), 0);
    replace_in_file(scene->note, "received 250000\n", "received 0\n");
}

static void complete_part_is_not_fetched_again(void **state) {
    scene *scene = *state;
    make_all_there(scene);
    call *call = download(scene, BOTH);
    assert_int_equal(status_of(call), 416);
    assert_string_equal(origin_range(&scene->origin), "bytes=600000-");
    assert_int_equal(call->body.size, 0);
    check_done(scene, call, old_of(scene), AFC_RESUMPTION_COMPLETE);
}

static void longer_file_starts_over(void **state) {
    scene *scene = *state;
    make_all_there(scene);
    scene->origin.ignores_condition = true;
    origin_change(&scene->origin, (afc_slice){scene->new, 1000}, NEW_TAG);
    call *call = download(scene, BOTH);
    assert_int_equal(call->hop_count, 2);
    assert_int_equal(call->hops[0].status, 416);
    check_done(scene, call, (afc_slice){scene->new, 1000}, AFC_RESUMPTION_RESTARTED);
}

static void unusable_part_is_requested_again_as_a_whole(void **state) {
    scene *scene = *state;
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
        break_off(scene);
        serve_once(scene->world, "/file",
                   answer(206, text_of(scene->world, "%sETag: " OLD_TAG, fields[i]), "0123456789"));
        call *call = download(scene, BOTH);
        assert_int_equal(call->hop_count, 2);
        assert_string_equal(origin_range(&scene->origin), "");
        check_done(scene, call, old_of(scene), AFC_RESUMPTION_RESTARTED);
    }
}

static void error_after_refused_range_keeps_the_part(void **state) {
    scene *scene = *state;
    break_off(scene);
    serve_once(scene->world, "/file", answer(206, NULL, "x"));
    serve_once(scene->world, "/file", answer(503, NULL, "busy"));
    call *call = download(scene, BOTH);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 503);
    check_slice(call->body, "busy");
    assert_true(afc_result_get_resume_token(call->result)[0] != '\0');
    call_free(call);
    check_done(scene, download(scene, BOTH), old_of(scene), AFC_RESUMPTION_RESUMED);
}

static void unrequested_partial_content_breaks_the_protocol(void **state) {
    scene *scene = *state;
    serve(scene->world, "/part", answer(206, "Content-Range: bytes 0-0/9", "x"));
    call *call = prepare(scene, "/part", BOTH);
    call_perform(call);
    check_ended(call, AFC_EPROTOCOL);
    call_free(call);
    assert_int_equal(count_files(&scene->folder), 0);
}

static void short_range_is_kept_as_part(void **state) {
    scene *scene = *state;
    break_off(scene);
    afts_script *script = afts_script_new();
    afts_respond(script, 206, "Content-Range: bytes 250000-250009/600000\r\nETag: " OLD_TAG,
                 scene->old + BROKEN_AT, 10);
    serve_once(scene->world, "/file", script);
    call *call = download(scene, BOTH);
    check_ended(call, AFC_ETRUNCATED);
    assert_int_equal(download_of(call)->size, BROKEN_AT + 10);
    call_free(call);
    check_done(scene, download(scene, BOTH), old_of(scene), AFC_RESUMPTION_RESUMED);
}

static void overlong_range_voids_the_part(void **state) {
    scene *scene = *state;
    break_off(scene);
    afts_script *script = afts_script_new();
    afts_respond_chunked(script, 206,
                         "Content-Range: bytes 250000-599999/600000\r\nETag: " OLD_TAG);
    afts_chunk(script, scene->old + BROKEN_AT, LARGE - BROKEN_AT);
    afts_chunk(script, "more", 4);
    afts_last_chunk(script, NULL);
    serve_once(scene->world, "/file", script);
    call *call = download(scene, BOTH);
    check_ended(call, AFC_EPROTOCOL);
    call_free(call);
    assert_int_equal(count_files(&scene->folder), 0);
}

static void status_404_removes_the_part_and_other_errors_keep_it(void **state) {
    scene *scene = *state;
    static const int keeping[] = {503, 500, 403, 401, 304, 300};
    for (size_t i = 0; i < COUNT_OF(keeping); i++) {
        break_off(scene);
        serve_once(scene->world, "/file", answer(keeping[i], NULL, ""));
        call *call = download(scene, BOTH);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), keeping[i]);
        assert_true(afc_result_get_resume_token(call->result)[0] != '\0');
        call_free(call);
        check_done(scene, download(scene, BOTH), old_of(scene), AFC_RESUMPTION_RESUMED);
    }
    static const int removing[] = {404, 410};
    for (size_t i = 0; i < COUNT_OF(removing); i++) {
        break_off(scene);
        serve_once(scene->world, "/file", answer(removing[i], NULL, "no such thing"));
        call *call = download(scene, BOTH);
        check_ended(call, AFC_OK);
        check_slice(call->body, "no such thing");
        assert_string_equal(afc_result_get_resume_token(call->result), "");
        call_free(call);
        assert_int_equal(count_files(&scene->folder), 0);
    }
    serve(scene->world, "/missing", answer(404, NULL, "no such thing"));
    call *call = prepare(scene, "/missing", BOTH);
    call_perform(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "no such thing");
    call_free(call);
    assert_int_equal(count_files(&scene->folder), 0);
}

/** Only 200 and 203 have the whole file: others would replace the received bytes with something else. */
static void successes_without_the_file_keep_the_part_and_fail(void **state) {
    scene *scene = *state;
    static const int statuses[] = {201, 202, 204, 205, 207, 226};
    for (size_t i = 0; i < 2 * COUNT_OF(statuses); i++) {
        int status = statuses[i / 2];
        bool is_of_second = i % 2 == 1; /* The useless part is requested again as a whole. */
        break_off(scene);
        if (is_of_second) serve_once(scene->world, "/file", answer(206, NULL, "x"));
        serve_once(scene->world, "/file", answer(status, "ETag: " OLD_TAG, ""));
        call *call = download(scene, BOTH);
        check_ended(call, AFC_EPROTOCOL);
        check_contains(call->failure.text,
                       text_of(scene->world, "a response with status %d", status));
        assert_int_equal(call->hop_count, is_of_second ? 2 : 1);
        assert_true(afc_result_get_resume_token(call->result)[0] != '\0');
        call_free(call);
        assert_true(file_exists(scene->part) && file_exists(scene->note));
        assert_false(file_exists(scene->path));
        check_done(scene, download(scene, BOTH), old_of(scene), AFC_RESUMPTION_RESUMED);
    }
    break_off(scene);
    serve_once(scene->world, "/file", answer(203, NULL, "whole"));
    check_done(scene, download(scene, BOTH), S("whole"), AFC_RESUMPTION_RESTARTED);
}

static void lost_connection_keeps_the_part(void **state) {
    scene *scene = *state;
    static const unsigned flags[] = {BOTH, AFC_FILE_RESUME};
    scene->origin.stops_after = BROKEN_AT;
    call *first = download(scene, AFC_FILE_RESUME);
    check_ended(first, AFC_ETRUNCATED);
    call_free(first);
    scene->origin.stops_after = WHOLE;
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        afts_script *script = afts_script_new();
        afts_reset(script);
        serve_once(scene->world, "/file", script);
        call *call = download(scene, flags[i]);
        check_ended(call, AFC_ELOST);
        afc_resume_info info;
        const char *token = afc_result_get_resume_token(call->result);
        check_status(afc_resume_info_read(&info, afc_slice_of(token), NULL), AFC_OK);
        assert_int_equal(info.received, BROKEN_AT);
        call_free(call);
    }
    check_done(scene, download(scene, BOTH), old_of(scene), AFC_RESUMPTION_RESUMED);
}

static void redirect_keeps_the_range(void **state) {
    scene *scene = *state;
    world *other = world_new(NULL, NULL);
    origin elsewhere;
    origin_serve(&elsewhere, other, "/cdn", old_of(scene), OLD_TAG);
    serve(scene->world, "/start",
          answer(302, text_of(scene->world, "Location: %s", url_of(other, "/cdn")), ""));
    elsewhere.stops_after = BROKEN_AT;
    call *call = prepare(scene, "/start", BOTH);
    call_perform(call);
    check_ended(call, AFC_ETRUNCATED);
    afc_resume_info info;
    const char *token = afc_result_get_resume_token(call->result);
    check_status(afc_resume_info_read(&info, afc_slice_of(token), NULL), AFC_OK);
    check_slice(info.url, call->request.url);
    call_free(call);
    elsewhere.stops_after = WHOLE;
    call = prepare(scene, "/start", BOTH);
    call_perform(call);
    assert_string_equal(origin_range(&elsewhere), "bytes=250000-");
    assert_string_equal(origin_condition(&elsewhere), OLD_TAG);
    check_done(scene, call, old_of(scene), AFC_RESUMPTION_RESUMED);
    world_free(other);
}

static void never_resumes_encoded_content(void **state) {
    scene *scene = *state;
    break_off(scene);
    /* "hello" by gzip, sent though identity was asked for; its digest is that of the encoded bytes. */
    static const unsigned char hello[] = {0x1f, 0x8b, 8,    0,    0,    0,    0, 0, 2,
                                          3,    0xcb, 0x48, 0xcd, 0xc9, 0xc9, 7, 0, 0x86,
                                          0xa6, 0x10, 0x36, 5,    0,    0,    0};
    afts_script *script = afts_script_new();
    afts_respond(script, 200,
                 "Content-Encoding: gzip\r\nETag: " OLD_TAG
                 "\r\nRepr-Digest: sha-256=:47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=:",
                 hello, sizeof hello);
    serve_once(scene->world, "/file", script);
    call *call = download(scene, BOTH);
    check_contains(download_of(call)->reason, "encoded");
    check_done(scene, call, S("hello"), AFC_RESUMPTION_RESTARTED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCENE_TEST(resumes_after_broken_connection),
        SCENE_TEST(resumes_as_often_as_it_breaks),
        SCENE_TEST(resumes_body_of_unknown_length),
        SCENE_TEST(resumes_by_last_modified),
        SCENE_TEST(keeps_no_part_without_strong_validator),
        SCENE_TEST(keeps_no_part_unless_asked),
        SCENE_TEST(cancelling_keeps_the_part),
        SCENE_TEST(suspended_download_continues_where_it_was),
        SCENE_TEST(changed_file_starts_over),
        SCENE_TEST(start_over_without_a_validator_leaves_no_token),
        SCENE_TEST(damaged_token_starts_over),
        SCENE_TEST(refuses_part_that_changed_on_disk),
        SCENE_TEST(server_without_ranges_sends_the_whole),
        SCENE_TEST(restart_can_break_and_resume),
        SCENE_TEST(complete_part_is_not_fetched_again),
        SCENE_TEST(longer_file_starts_over),
        SCENE_TEST(unusable_part_is_requested_again_as_a_whole),
        SCENE_TEST(error_after_refused_range_keeps_the_part),
        SCENE_TEST(unrequested_partial_content_breaks_the_protocol),
        SCENE_TEST(short_range_is_kept_as_part),
        SCENE_TEST(overlong_range_voids_the_part),
        SCENE_TEST(status_404_removes_the_part_and_other_errors_keep_it),
        SCENE_TEST(successes_without_the_file_keep_the_part_and_fail),
        SCENE_TEST(lost_connection_keeps_the_part),
        SCENE_TEST(redirect_keeps_the_range),
        SCENE_TEST(never_resumes_encoded_content),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
