/* The file of a download: whose it is, where it goes, and what can go wrong with it. */
#include "support/scene.h"

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
static void wait_for_bytes(scene *scene) {
    struct stat facts;
    time_t deadline = time(NULL) + PATIENCE_MS / 1000;
    while (stat(scene->part, &facts) != 0 || facts.st_size == 0) {
        assert_true(time(NULL) < deadline);
        sched_yield();
    }
}

static void check_refused(scene *scene, call *call, int error, size_t files) {
    check_ended(call, AFC_EFILE);
    assert_int_equal(call->failure.system_error, error);
    check_contains(call->failure.text, scene->path);
    call_free(call);
    assert_int_equal(count_files(&scene->folder), files);
}

/* ---- Whose file it is ---------------------------------------------------------------------- */

typedef void (*tampering)(scene *scene);

static void remove_note(scene *scene) {
    assert_int_equal(unlink(scene->note), 0);
}

static void damage_note(scene *scene) {
    assert_int_equal(truncate(scene->note, 60), 0);
}

static void open_note_to_all(scene *scene) {
    assert_int_equal(chmod(scene->note, 0666), 0);
}

static void link_note(scene *scene) {
    char other[160];
    snprintf(other, sizeof other, "%s.elsewhere", scene->note);
    assert_int_equal(rename(scene->note, other), 0);
    assert_int_equal(symlink(other, scene->note), 0);
}

static void copy_part(scene *scene) {
    char other[160];
    snprintf(other, sizeof other, "%s.copy", scene->part);
    write_file(other, (afc_slice){scene->content, 100});
    assert_int_equal(chmod(other, 0600), 0);
    assert_int_equal(rename(other, scene->part), 0);
}

static void empty_part(scene *scene) {
    assert_int_equal(truncate(scene->part, 0), 0);
}

static void lengthen_part(scene *scene) {
    assert_int_equal(truncate(scene->part, LARGE + 1), 0);
}

static void add_zero_to_part(scene *scene) {
    assert_int_equal(truncate(scene->part, BROKEN_AT + 1), 0);
}

static void fill_part_with_zeros(scene *scene) {
    assert_int_equal(truncate(scene->part, LARGE), 0);
}

static void open_part_to_all(scene *scene) {
    assert_int_equal(chmod(scene->part, 0666), 0);
}

static void ask_for_another_url(scene *scene) {
    char text[4096];
    FILE *file = fopen(scene->note, "r+b");
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
    scene *scene = *state;
    static const tampering ways[] = {
        remove_note,         damage_note,      open_note_to_all,     copy_part,
        empty_part,          add_zero_to_part, fill_part_with_zeros, lengthen_part,
        ask_for_another_url, open_part_to_all};
    for (size_t i = 0; i < COUNT_OF(ways); i++) {
        break_off(scene);
        ways[i](scene);
        call *call = download(scene, BOTH);
        assert_string_equal(origin_range(&scene->origin), "");
        bool is_damaged = ways[i] == damage_note;
        check_done(scene, call, is_damaged ? AFC_RESUMPTION_RESTARTED : AFC_RESUMPTION_NONE);
    }
    break_off(scene);
    link_note(scene);
    call *call = download(scene, BOTH);
    assert_string_equal(origin_range(&scene->origin), "");
    check_ended(call, AFC_OK);
    call_free(call);
    assert_int_equal(count_files(&scene->folder), 2);
}

static void resumes_a_part_that_was_shortened(void **state) {
    scene *scene = *state;
    break_off(scene);
    assert_int_equal(truncate(scene->part, BROKEN_AT - 1), 0);
    check_done(scene, download(scene, BOTH), AFC_RESUMPTION_RESUMED);
}

static void refuses_a_part_that_grew_since_its_second_end(void **state) {
    scene *scene = *state;
    scene->origin.stops_after = BROKEN_AT / 2;
    for (int i = 0; i < 2; i++) call_free(download(scene, BOTH));
    scene->origin.stops_after = WHOLE;
    add_zero_to_part(scene);
    check_done(scene, download(scene, BOTH), AFC_RESUMPTION_NONE);
}

static void hard_link_to_the_part_keeps_its_bytes(void **state) {
    scene *scene = *state;
    char other[128];
    snprintf(other, sizeof other, "%s", path_in(&scene->folder, "other"));
    write_file(other, S("precious"));
    assert_int_equal(link(other, scene->part), 0);
    call *call = download(scene, BOTH);
    check_ended(call, AFC_OK);
    call_free(call);
    check_file(other, S("precious"));
    assert_int_equal(unlink(other), 0);
}

static void check_obstacle(scene *scene, call *call, int error, const char *kind) {
    char text[AFC_FAILURE_TEXT_SIZE];
    snprintf(text, sizeof text, "%s is in place of the partial file: remove %s", kind, scene->part);
    assert_string_equal(call->failure.text, text);
    check_refused(scene, call, error, 1);
}

static void leaves_special_files_alone(void **state) {
    scene *scene = *state;
    static const unsigned flags[] = {BOTH, AFC_FILE_KEEP_PARTIAL};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        assert_int_equal(symlink("/etc/passwd", scene->part), 0);
        check_obstacle(scene, download(scene, flags[i]), ELOOP, "a symbolic link");
        assert_int_equal(unlink(scene->part), 0);
        assert_int_equal(mkfifo(scene->part, 0600), 0);
        check_obstacle(scene, download(scene, flags[i]), ENOTSUP, "a named pipe");
        assert_int_equal(unlink(scene->part), 0);
        assert_int_equal(mkdir(scene->part, 0700), 0);
        check_obstacle(scene, download(scene, flags[i]), EISDIR, "a folder");
        assert_int_equal(rmdir(scene->part), 0);
    }
}

static void resumes_by_token_without_resume_file(void **state) {
    scene *scene = *state;
    scene->origin.stops_after = BROKEN_AT;
    call *first = download(scene, BOTH);
    scene->origin.stops_after = WHOLE;
    remove_note(scene);
    call *call = prepare(scene, "/file", BOTH);
    call->request.sink.resume_token = afc_result_get_resume_token(first->result);
    call_perform(call);
    check_done(scene, call, AFC_RESUMPTION_RESUMED);
    /* It is void now; that beside the file is not. */
    break_off(scene);
    call = prepare(scene, "/file", BOTH);
    call->request.sink.resume_token = afc_result_get_resume_token(first->result);
    call_perform(call);
    check_done(scene, call, AFC_RESUMPTION_RESUMED);
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
    scene *scene = *state;
    call *call = prepare(scene, "/file", BOTH);
    call->request.sink.resume_token = "afcore-resume 1\nrubbish\n";
    check_invalid(call, "damaged");
    call = prepare(scene, "/file", AFC_FILE_KEEP_PARTIAL);
    call->request.sink.resume_token = "x";
    check_invalid(call, "AFC_FILE_RESUME");
    call = prepare(scene, "/file", 1u << 9);
    check_invalid(call, "flags");
    call = prepare(scene, "/file", 0);
    call->request.sink.path = NULL;
    call->events.on_head = NULL; /* Which could name it. */
    check_invalid(call, "requires a path");
    call = prepare(scene, "/file", 0);
    call->request.sink.path = "/tmp/folder/";
    check_invalid(call, "folder");
    afc_header fields[] = {{S("range"), S("bytes=0-"), 0}, {S("If-Range"), S(TAG), 0}};
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        call = prepare(scene, "/file", BOTH);
        call->request.headers = &fields[i];
        call->request.header_count = 1;
        check_invalid(call, i == 0 ? "Range" : "If-Range");
        /* One that is only removed is no range. */
        fields[i].flags = AFC_HEADER_REMOVE;
        call = prepare(scene, "/file", BOTH);
        call->request.headers = &fields[i];
        call->request.header_count = 1;
        call_perform(call);
        check_done(scene, call, AFC_RESUMPTION_NONE);
    }
}

static void resumes_only_get_requests(void **state) {
    scene *scene = *state;
    scene->origin.stops_after = 1000;
    call *call = prepare(scene, "/file", BOTH);
    call_send(call, "POST", S("question"));
    call_perform(call);
    check_ended(call, AFC_ETRUNCATED);
    assert_string_equal(afc_result_get_resume_token(call->result), "");
    call_free(call);
    assert_int_equal(count_files(&scene->folder), 0);
}

static void two_downloads_to_one_path_do_not_mix(void **state) {
    scene *scene = *state;
    scene->origin.stops_after = BROKEN_AT;
    scene->origin.waits = true;
    call *first = prepare(scene, "/file", BOTH);
    call_start(first);
    wait_for_bytes(scene);
    check_refused(scene, download(scene, BOTH), EBUSY, 2);
    check_refused(scene, download(scene, AFC_FILE_KEEP_PARTIAL), EBUSY, 2);
    afc_task_cancel(first->task);
    call_wait(first);
    check_ended(first, AFC_ECANCELED);
    call_free(first);
    scene->origin.stops_after = WHOLE;
    check_done(scene, download(scene, BOTH), AFC_RESUMPTION_RESUMED);
}

/* ---- Where it goes ------------------------------------------------------------------------- */

static void refuses_to_replace_existing_file_if_asked(void **state) {
    scene *scene = *state;
    static const unsigned flags[] = {0, BOTH};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        write_file(scene->path, S("old"));
        check_refused(scene, download(scene, flags[i] | AFC_FILE_NO_REPLACE), EEXIST, 1);
        check_file(scene->path, S("old"));
        assert_int_equal(unlink(scene->path), 0);
        check_done(scene, download(scene, flags[i] | AFC_FILE_NO_REPLACE | AFC_FILE_SYNC),
                   AFC_RESUMPTION_NONE);
    }
}

/** A folder that can't be read can't be synced; that must be known before the old file is gone. */
static void sync_in_unreadable_folder_keeps_the_old_file(void **state) {
    scene *scene = *state;
    bool is_root = geteuid() == 0;
    write_file(scene->path, S("old"));
    assert_int_equal(chmod(scene->path, 0666), 0);
    assert_int_equal(chmod(scene->folder.path, 0333), 0);
    if (is_root) assert_int_equal(seteuid(65534), 0);
    call *call = download(scene, AFC_FILE_SYNC);
    if (is_root) assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(scene->folder.path, 0755), 0);
    check_refused(scene, call, EACCES, 1);
    check_file(scene->path, S("old"));
}

/** HEAD has no body, so there is nothing to save. */
static void head_leaves_the_file_alone(void **state) {
    scene *scene = *state;
    static const unsigned flags[] = {0, BOTH};
    serve(scene->world, "/head", answer(200, NULL, "body"));
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        write_file(scene->path, S("old"));
        call *call = prepare(scene, "/head", flags[i]);
        call->request.method = "HEAD";
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 200);
        assert_null(afc_result_get_download(call->result));
        call_free(call);
        check_file(scene->path, S("old"));
        assert_int_equal(count_files(&scene->folder), 1);
    }
}

static void keeps_file_that_appears_during_the_download(void **state) {
    scene *scene = *state;
    scene->origin.stops_after = BROKEN_AT;
    scene->origin.waits = true;
    call *call = prepare(scene, "/file", BOTH | AFC_FILE_NO_REPLACE);
    call_start(call);
    wait_for_bytes(scene);
    write_file(scene->path, S("somebody was faster"));
    afc_task_cancel(call->task);
    call_wait(call);
    call_free(call);
    scene->origin.stops_after = WHOLE;
    check_refused(scene, download(scene, BOTH | AFC_FILE_NO_REPLACE), EEXIST, 3);
    check_file(scene->path, S("somebody was faster"));
    assert_int_equal(unlink(scene->path), 0);
    check_done(scene, download(scene, BOTH), AFC_RESUMPTION_RESUMED);
}

static void creates_missing_folders_if_asked(void **state) {
    scene *scene = *state;
    static const unsigned flags[] = {0, BOTH};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        char path[160];
        snprintf(path, sizeof path, "%s/a/b/got", scene->folder.path);
        call *call = prepare(scene, "/file", flags[i]);
        call->request.sink.path = path;
        call_perform(call);
        check_ended(call, AFC_EFILE);
        assert_int_equal(call->failure.system_error, ENOENT);
        call_free(call);
        call = prepare(scene, "/file", flags[i] | AFC_FILE_MAKE_FOLDERS);
        call->request.sink.path = path;
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        check_file(path, (afc_slice){scene->content, LARGE});
        assert_int_equal(unlink(path), 0);
        assert_int_equal(rmdir(path_in(&scene->folder, "a/b")), 0);
        assert_int_equal(rmdir(path_in(&scene->folder, "a")), 0);
    }
}

static void folder_at_the_path_fails_at_once(void **state) {
    scene *scene = *state;
    static const unsigned flags[] = {0, BOTH};
    assert_int_equal(mkdir(scene->path, 0700), 0);
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        check_refused(scene, download(scene, flags[i]), EISDIR, 1);
    }
    assert_int_equal(rmdir(scene->path), 0);
}

/** A terminal that only the test knows: what is written there stays there. */
static void writes_to_device_without_replacing_it(void **state) {
    scene *scene = *state;
    static const unsigned flags[] = {0, BOTH};
    serve(scene->world, "/short", answer(200, "ETag: " TAG, "to a device"));
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
        char name[64], got[64];
        assert_int_equal(ptsname_r(terminal, name, sizeof name), 0);
        int kept = open(name, O_RDWR | O_NOCTTY | O_CLOEXEC);
        call *call = prepare(scene, "/short", flags[i]);
        assert_int_equal(symlink(name, scene->path), 0);
        call_perform(call);
        check_ended(call, AFC_OK);
        call_free(call);
        assert_int_equal(read(terminal, got, sizeof got), 11);
        assert_memory_equal(got, "to a device", 11);
        close(kept);
        close(terminal);
        assert_int_equal(count_files(&scene->folder), 1);
        assert_int_equal(unlink(scene->path), 0);
        assert_int_equal(mkfifo(scene->path, 0600), 0);
        check_refused(scene, download(scene, flags[i]), ENOTSUP, 1);
        assert_int_equal(unlink(scene->path), 0);
    }
}

static void fails_if_its_folder_vanishes(void **state) {
    scene *scene = *state;
    static const unsigned flags[] = {0, BOTH};
    for (size_t i = 0; i < COUNT_OF(flags); i++) {
        folder inner, moved;
        folder_make(&inner);
        folder_make(&moved);
        afts_script *script = afts_script_new();
        afts_respond_chunked(script, 200, "ETag: " TAG);
        afts_chunk(script, "first", 5);
        afts_stall(script, "half");
        afts_last_chunk(script, NULL);
        serve(scene->world, "/slow", script);
        call *call = prepare(scene, "/slow", flags[i]);
        call->request.sink.path = path_in(&inner, "got");
        call_start(call);
        call_wait_for(call, &call->head_count, 1);
        /* Without flags it has no name that could be seen; it is open once the loop does something else. */
        check_fetch(scene->world, "/other", AFC_OK);
        while (flags[i] != 0 && count_files(&inner) < 2) sched_yield();
        assert_int_equal(rename(inner.path, moved.path), 0);
        afts_release(scene->world->server, "half", 1);
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
    scene *scene = *state;
    struct rlimit before;
    signal(SIGXFSZ, SIG_IGN);
    set_file_limit(BROKEN_AT, &before);
    scene->origin.chunks = true;
    check_refused(scene, download(scene, 0), EFBIG, 0);
    call *call = download(scene, BOTH);
    assert_int_equal(afc_result_get_download(call->result)->size, BROKEN_AT);
    check_refused(scene, call, EFBIG, 2);
    set_file_limit(before.rlim_cur, NULL);
    check_done(scene, download(scene, BOTH), AFC_RESUMPTION_RESUMED);
    signal(SIGXFSZ, SIG_DFL);
}

static void refuses_length_that_no_disk_can_hold(void **state) {
    scene *scene = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script, "HTTP/1.1 200 OK\r\nContent-Length: 9000000000000000000\r\n"
                           "ETag: " TAG "\r\n\r\nsome");
    afts_wait_peer_close(script);
    serve(scene->world, "/huge", script);
    call *call = prepare(scene, "/huge", BOTH);
    call_perform(call);
    check_ended(call, AFC_EFILE);
    int error = call->failure.system_error;
    assert_true(error == EFBIG || error == ENOSPC);
    assert_int_equal(afc_result_get_download(call->result)->size, 0);
    call_free(call);
    assert_int_equal(count_files(&scene->folder), 0);
}

static void body_limit_includes_resumed_bytes(void **state) {
    scene *scene = *state;
    break_off(scene);
    call *call = prepare(scene, "/file", BOTH);
    call->request.limits.body_bytes = LARGE - 1;
    call_perform(call);
    check_ended(call, AFC_ETOOBIG);
    call_free(call);
    call = prepare(scene, "/file", BOTH);
    call->request.limits.body_bytes = LARGE;
    call_perform(call);
    check_done(scene, call, AFC_RESUMPTION_RESUMED);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SCENE_TEST(never_resumes_a_part_of_another_url),
        SCENE_TEST(resumes_a_part_that_was_shortened),
        SCENE_TEST(refuses_a_part_that_grew_since_its_second_end),
        SCENE_TEST(hard_link_to_the_part_keeps_its_bytes),
        SCENE_TEST(leaves_special_files_alone),
        SCENE_TEST(resumes_by_token_without_resume_file),
        SCENE_TEST(refuses_options_that_contradict),
        SCENE_TEST(resumes_only_get_requests),
        SCENE_TEST(two_downloads_to_one_path_do_not_mix),
        SCENE_TEST(refuses_to_replace_existing_file_if_asked),
        SCENE_TEST(sync_in_unreadable_folder_keeps_the_old_file),
        SCENE_TEST(head_leaves_the_file_alone),
        SCENE_TEST(keeps_file_that_appears_during_the_download),
        SCENE_TEST(creates_missing_folders_if_asked),
        SCENE_TEST(folder_at_the_path_fails_at_once),
        SCENE_TEST(writes_to_device_without_replacing_it),
        SCENE_TEST(fails_if_its_folder_vanishes),
        SCENE_TEST(full_disk_keeps_the_bytes_that_fit),
        SCENE_TEST(refuses_length_that_no_disk_can_hold),
        SCENE_TEST(body_limit_includes_resumed_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
