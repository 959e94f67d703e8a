/*
 * A process may be killed at any byte of a download: what it leaves is gone on with in another one, to a
 * file of one version, byte for byte.
 */
#include "support/call.h"
#include "support/files.h"
#include "support/range_server.h"

#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { ROUNDS = 50, SIZE = 3000000, KILLS_EACH = 3, COLLECTED = 65536 };

#define OLD_TAG "\"one\""
#define NEW_TAG "\"two\""

static const char *program;

/* ---- The child ----------------------------------------------------------------------------- */

static int download(const char *url, const char *path) {
    /* Not to outlive a test that failed. */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    afc_session *session;
    if (afc_session_new(&session, NULL, NULL) != AFC_OK) return 2;
    afc_request request = AFC_REQUEST_INIT;
    request.url = url;
    request.sink.kind = AFC_SINK_FILE;
    request.sink.path = path;
    request.sink.flags = AFC_FILE_KEEP_PARTIAL | AFC_FILE_RESUME;
    if (afc_task_begin(NULL, session, &request, NULL, NULL) != AFC_OK) return 3;
    for (;;) pause();
}

/* ---- The parent ---------------------------------------------------------------------------- */

static pid_t start_child(const char *url, const char *path) {
    char *arguments[] = {(char *)(uintptr_t)program, (char *)(uintptr_t)url,
                         (char *)(uintptr_t)path, NULL};
    pid_t child;
    assert_int_equal(posix_spawn(&child, program, NULL, NULL, arguments, environ), 0);
    return child;
}

/** Until so much of what was sent is in the file; the last bytes may still be collected in memory. */
static void wait_for_file(const char *part, int64_t size) {
    struct stat facts = {0};
    time_t deadline = time(NULL) + PATIENCE_MS / 1000;
    while (stat(part, &facts) != 0 || facts.st_size < size) {
        assert_true(time(NULL) < deadline);
        sched_yield();
    }
}

/**
 * Kill a download once the server has sent that many bytes: wherever the child is then, or with `part`
 * when it has written what it got.
 */
static void kill_at(range_server *range_server, const char *url, const char *path, int64_t bytes,
                    const char *part) {
    unsigned stops = range_server->stops;
    range_server->stops_after = bytes;
    range_server->waits = true;
    pid_t child = start_child(url, path);
    range_server_wait_stopped(range_server, stops + 1);
    const char *range = range_server_range(range_server);
    int64_t first = range[0] != '\0' ? strtoll(range + 6, NULL, 10) : 0;
    if (part != NULL) wait_for_file(part, first + bytes - COLLECTED);
    assert_int_equal(kill(child, SIGKILL), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    range_server->stops_after = WHOLE;
}

/** What is there is the beginning of one version, and its token is beside it. */
static void check_pair(const char *part, const char *note, const afc_slice versions[2]) {
    if (!file_exists(part)) return;
    FILE *file = fopen(part, "rb");
    assert_non_null(file);
    char *bytes = malloc(SIZE + 1);
    assert_non_null(bytes);
    size_t size = fread(bytes, 1, SIZE + 1, file);
    fclose(file);
    assert_true(size <= SIZE);
    assert_true(memcmp(bytes, versions[0].bytes, size) == 0 ||
                memcmp(bytes, versions[1].bytes, size) == 0);
    assert_true(size == 0 || file_exists(note));
    free(bytes);
}

static call *finish_download(fixture *fixture, const char *path) {
    call *call = call_new(fixture, "/file");
    call->request.sink = (afc_sink){
        .kind = AFC_SINK_FILE, .path = path, .flags = AFC_FILE_KEEP_PARTIAL | AFC_FILE_RESUME};
    call_perform(call);
    check_ended(call, AFC_OK);
    return call;
}

static void run_rounds(bool changes) {
    fixture *fixture = fixture_new(NULL, NULL);
    folder folder;
    folder_make(&folder);
    char *old = make_content(SIZE, 11), *new = make_content(SIZE, 12);
    char path[128], part[128], note[128], url[512];
    snprintf(path, sizeof path, "%s", path_in(&folder, "got"));
    snprintf(part, sizeof part, "%s", path_in(&folder, "got.part"));
    snprintf(note, sizeof note, "%s", path_in(&folder, "got.part.resume"));
    snprintf(url, sizeof url, "%s", url_of(fixture, "/file"));
    range_server range_server;
    afc_slice versions[] = {{old, SIZE}, {new, SIZE}};
    const char *tags[] = {OLD_TAG, NEW_TAG};
    range_server_serve(&range_server, fixture, "/file", versions[0], tags[0]);
    uint64_t random = 20240229;
    unsigned continued = 0;
    for (int i = 0; i < ROUNDS; i++) {
        size_t version = 0;
        range_server_change(&range_server, versions[0], tags[0]);
        /* A server that doesn't look at If-Range must not make a mix of two versions either. */
        range_server.ignores_condition = changes && i % 2 == 1;
        for (int k = 0; k < 1 + i % KILLS_EACH; k++) {
            int64_t bytes = (int64_t)(next_random(&random) % (SIZE / KILLS_EACH));
            /* A server that sends the whole again would begin at another byte than asked for. */
            bool is_sure = i % 4 < 2 && (!changes || k == 0);
            kill_at(&range_server, url, path, bytes, is_sure ? part : NULL);
            check_pair(part, note, versions);
            assert_false(file_exists(path));
            if (changes)
                range_server_change(&range_server, versions[version ^ 1], tags[version ^ 1]);
            if (changes) version ^= 1;
        }
        call *call = finish_download(fixture, path);
        const afc_download *done = afc_result_get_download(call->result);
        if (done->resumption == AFC_RESUMPTION_RESUMED) continued++;
        call_free(call);
        check_file(path, versions[version]);
        assert_int_equal(count_files(&folder), 1);
        assert_int_equal(unlink(path), 0);
    }
    assert_true(changes || continued > ROUNDS / 3);
    fixture_free(fixture);
    folder_remove(&folder);
    free(old);
    free(new);
}

static void resumes_to_the_same_bytes_after_kill(void **state) {
    (void)state;
    run_rounds(false);
}

static void never_mixes_versions_after_kill(void **state) {
    (void)state;
    run_rounds(true);
}

int main(int argc, char **argv) {
    program = argv[0];
    if (argc == 3) return download(argv[1], argv[2]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resumes_to_the_same_bytes_after_kill),
        cmocka_unit_test(never_mixes_versions_after_kill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
