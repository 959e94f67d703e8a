/* Files that have no name before they are complete: no other file is in their way, and nothing is left of them. */
#include "support/download_fixture.h"

#include "base/alloc.h"
#include "base/temporary_file.h"
#include "body/download_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static const char *program;

/* ---- By itself ----------------------------------------------------------------------------- */

typedef int (*creation)(const char *path, int *descriptor, char **name, mode_t *mode);

static const creation creations[] = {afc__temporary_create, afc__temporary_create_named};

static void gets_its_final_name_when_published(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "got");
    for (size_t i = 0; i < COUNT_OF(creations) * 4; i++) {
        bool is_there = i & 1, replaces = i & 2;
        if (is_there) write_file(path, (afc_slice){"old", 3});
        int descriptor;
        char *name;
        mode_t mode;
        assert_int_equal(creations[i / 4](path, &descriptor, &name, &mode), 0);
        assert_int_equal(write(descriptor, "new", 3), 3);
        assert_int_equal(count_files(&folder), (size_t)is_there + (name != NULL));
        int error = afc__temporary_rename(descriptor, name, path, replaces);
        assert_int_equal(error, is_there && !replaces ? EEXIST : 0);
        check_file(path, error == 0 ? (afc_slice){"new", 3} : (afc_slice){"old", 3});
        if (error != 0 && name != NULL) assert_int_equal(unlink(name), 0);
        close(descriptor);
        afc_free(name);
        assert_int_equal(count_files(&folder), 1);
        assert_int_equal(unlink(path), 0);
    }
    folder_remove(&folder);
}

static void names_differ(void **state) {
    (void)state;
    enum { MANY = 100 };
    folder folder;
    folder_make(&folder);
    for (int i = 0; i < MANY; i++) {
        int descriptor;
        char *name;
        mode_t mode;
        assert_int_equal(
            afc__temporary_create_named(path_in(&folder, "got"), &descriptor, &name, &mode), 0);
        close(descriptor);
        afc_free(name);
    }
    assert_int_equal(count_files(&folder), MANY);
    folder_remove(&folder);
}

static void reports_what_the_system_refuses(void **state) {
    (void)state;
    int descriptor;
    char *name;
    mode_t mode;
    for (size_t i = 0; i < COUNT_OF(creations); i++) {
        assert_int_equal(creations[i]("/nowhere/at/all", &descriptor, &name, &mode), ENOENT);
    }
    static char path[8192];
    memset(path, 'x', sizeof path - 1);
    for (size_t i = 0; i < COUNT_OF(creations); i++) {
        assert_int_equal(creations[i](path, &descriptor, &name, &mode), ENAMETOOLONG);
    }
}

static void long_names_are_replaced(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    char base[256];
    memset(base, 'x', 255);
    base[255] = '\0';
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder.path, base);
    for (size_t i = 0; i < COUNT_OF(creations) * 2; i++) {
        int descriptor;
        char *name;
        mode_t mode;
        assert_int_equal(creations[i / 2](path, &descriptor, &name, &mode), 0);
        assert_int_equal(afc__temporary_rename(descriptor, name, path, true), 0);
        close(descriptor);
        afc_free(name);
        assert_int_equal(count_files(&folder), 1);
    }
    assert_int_equal(unlink(path), 0);
    folder_remove(&folder);
}

static void named_file_is_private_until_its_end(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "got");
    mode_t former = umask(027);
    afc__file file;
    check_status(afc__file_init(&file, path, 0, false, NULL), AFC_OK);
    assert_int_equal(
        afc__temporary_create_named(path, &file.descriptor, &file.partial_path, &file.mode), 0);
    umask(former);
    file.is_touched = true;
    struct stat facts;
    assert_int_equal(stat(file.partial_path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0600);
    check_status(afc__file_write(&file, "new", 3, NULL), AFC_OK);
    bool goes_on = true;
    check_status(afc__file_finish(&file, false, &goes_on, NULL), AFC_OK);
    assert_false(goes_on);
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(facts.st_mode & 07777, 0640);
    check_file(path, (afc_slice){"new", 3});
    afc__file_clear(&file);
    folder_remove(&folder);
}

/* ---- In downloads -------------------------------------------------------------------------- */

/** As an earlier process of the same number may have left them, all of whose names were numbers too. */
static void ignores_leftovers_of_the_same_process_id(void **state) {
    download_fixture *download_fixture = *state;
    enum { MANY = 200 };
    for (unsigned i = 0; i < MANY; i++) {
        char name[256];
        snprintf(name, sizeof name, "%s.%lx-%x.part", download_fixture->path,
                 (unsigned long)getpid(), i);
        write_file(name, (afc_slice){"x", 1});
    }
    for (int i = 0; i < 2; i++) {
        call *call = download(download_fixture, 0);
        check_ended(call, AFC_OK);
        call_free(call);
        check_file(download_fixture->path, (afc_slice){download_fixture->content, LARGE});
    }
    assert_int_equal(count_files(&download_fixture->folder), MANY + 1);
}

static const int signals[] = {SIGTERM, SIGHUP, SIGKILL, SIGINT};

static int download_forever(const char *url, const char *path) {
    /* Not to outlive a test that failed. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    /* nohup(1), for example, lets its programs ignore SIGHUP. */
    for (size_t i = 0; i < COUNT_OF(signals); i++) signal(signals[i], SIG_DFL);
    afc_session *session;
    if (afc_session_new(&session, NULL, NULL) != AFC_OK) return 2;
    afc_request request = AFC_REQUEST_INIT;
    request.url = url;
    request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = path};
    if (afc_task_begin(NULL, session, &request, NULL, NULL) != AFC_OK) return 3;
    for (;;) pause();
}

static void signals_leave_nothing(void **state) {
    download_fixture *download_fixture = *state;
    if (!has_unnamed_files(&download_fixture->folder)) skip();
    for (size_t i = 0; i < COUNT_OF(signals); i++) {
        unsigned stops = download_fixture->range_server.stops;
        download_fixture->range_server.stops_after = BROKEN_AT;
        download_fixture->range_server.waits = true;
        char *arguments[] = {(char *)(uintptr_t)program,
                             (char *)(uintptr_t)url_of(download_fixture->fixture, "/file"),
                             download_fixture->path, NULL};
        pid_t child;
        assert_int_equal(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
        range_server_wait_stopped(&download_fixture->range_server, stops + 1);
        assert_int_equal(kill(child, signals[i]), 0);
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFSIGNALED(status));
        assert_int_equal(count_files(&download_fixture->folder), 0);
    }
}

/** A server that announces much and sends nothing takes no disk. */
static void declared_length_reserves_no_disk(void **state) {
    download_fixture *download_fixture = *state;
    afts_script *script = afts_script_new();
    afts_send_text(script,
                   "HTTP/1.1 200 OK\r\nETag: " TAG "\r\nContent-Length: 67108864\r\n\r\nshort");
    afts_stall(script, "rest");
    serve(download_fixture->fixture, "/much", script);
    call *call = prepare(download_fixture, "/much", KEEP_AND_RESUME);
    call_start(call);
    call_wait_for(call, &call->head_count, 1);
    check_fetch(download_fixture->fixture, "/other", AFC_OK);
    struct stat facts;
    assert_int_equal(stat(download_fixture->part, &facts), 0);
    assert_true(facts.st_blocks * 512 < 1 << 20);
    afc_task_cancel(call->task);
    call_wait(call);
    check_ended(call, AFC_ECANCELED);
    call_free(call);
}

/** RFC 9110 15.3.7: only a request with Range is answered with a part. */
static void unrequested_part_never_becomes_the_file(void **state) {
    download_fixture *download_fixture = *state;
    const char *fields = "Content-Range: bytes 0-3/1000";
    serve(download_fixture->fixture, "/part", answer(206, fields, "part"));
    afc_header range = {{"Range", 5}, {"bytes=0-3", 9}, 0};
    for (int i = 0; i < 2; i++) {
        bool asks = i == 1;
        write_file(download_fixture->path, (afc_slice){"old", 3});
        call *call = prepare(download_fixture, "/part", 0);
        call->request.headers = &range;
        call->request.header_count = asks;
        call_perform(call);
        check_ended(call, asks ? AFC_OK : AFC_EPROTOCOL);
        check_file(download_fixture->path, asks ? (afc_slice){"part", 4} : (afc_slice){"old", 3});
        assert_int_equal(count_files(&download_fixture->folder), 1);
        call_free(call);
    }
    /* In memory its status says what it is. */
    call *call = call_fetch(download_fixture->fixture, "/part");
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 206);
    call_free(call);
}

int main(int argc, char **argv) {
    program = argv[0];
    if (argc == 3) return download_forever(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gets_its_final_name_when_published),
        cmocka_unit_test(names_differ),
        cmocka_unit_test(reports_what_the_system_refuses),
        cmocka_unit_test(long_names_are_replaced),
        cmocka_unit_test(named_file_is_private_until_its_end),
        DOWNLOAD_TEST(ignores_leftovers_of_the_same_process_id),
        DOWNLOAD_TEST(signals_leave_nothing),
        DOWNLOAD_TEST(declared_length_reserves_no_disk),
        DOWNLOAD_TEST(unrequested_part_never_becomes_the_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
