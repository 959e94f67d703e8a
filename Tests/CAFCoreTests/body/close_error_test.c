/* A file system that refuses written bytes only when a file is closed or synced, as NFS and quotas may (close(2)). */
#include "support/download_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/** Whether files are over the quota. */
static atomic_bool is_over;
/** Whether fsync() fails. */
static atomic_bool is_broken;
/** Whether a descriptor can't be copied. */
static atomic_bool lacks_descriptors;

/** The token is written and read beside the file, and isn't refused. */
static bool is_token(int descriptor) {
    char link[64], path[256];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t size = readlink(link, path, sizeof path - 1);
    if (size < 0) return false;
    path[size] = '\0';
    return strstr(path, ".part.resume") != NULL;
}

/** In place of the system's. */
int fsync(int descriptor) {
    if (!atomic_load(&is_broken) || is_token(descriptor))
        return (int)syscall(SYS_fsync, descriptor);
    errno = EIO;
    return -1;
}

/** In place of the system's. */
int fcntl(int descriptor, int command, ...) {
    va_list arguments;
    va_start(arguments, command);
    long argument = va_arg(arguments, long);
    va_end(arguments);
    if (!atomic_load(&lacks_descriptors) || command != F_DUPFD_CLOEXEC)
        return (int)syscall(SYS_fcntl, descriptor, command, argument);
    errno = EMFILE;
    return -1;
}

/** In place of the system's: closes, and fails for a regular file with bytes that was open for writing. */
int close(int descriptor) {
    struct stat facts;
    int flags = fcntl(descriptor, F_GETFL);
    bool is_written = atomic_load(&is_over) && flags >= 0 && (flags & O_ACCMODE) != O_RDONLY &&
                      fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) &&
                      facts.st_size > 0 && !is_token(descriptor);
    int result = (int)syscall(SYS_close, descriptor);
    if (!is_written) return result;
    errno = EDQUOT;
    return -1;
}

static void refused_bytes_fail_the_download_and_keep_the_old_file(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    fixture *fixture = fixture_new(NULL, NULL);
    const char *path = path_in(&folder, "file");
    serve(fixture, "/", answer(200, "ETag: \"one\"", "new content"));
    for (int flags = 0; flags <= AFC_FILE_KEEP_PARTIAL; flags += AFC_FILE_KEEP_PARTIAL) {
        write_file(path, S("old"));
        call *call = call_new(fixture, "/");
        call->request.sink.kind = AFC_SINK_FILE;
        call->request.sink.path = path;
        call->request.sink.flags = (unsigned)flags;
        atomic_store(&is_over, true);
        call_perform(call);
        atomic_store(&is_over, false);
        check_ended(call, AFC_EFILE);
        assert_int_equal(call->failure.system_error, EDQUOT);
        check_file(path, S("old"));
        call_free(call);
    }
    fixture_free(fixture);
    folder_remove(&folder);
}

/** The bytes of the file aren't those that were written, so they must not be resumed. */
static void resumes_nothing_after_lost_bytes(void **state) {
    download_fixture *download_fixture = *state;
    const struct {
        atomic_bool *fault;
        unsigned flags;
        int error;
    } rows[] = {{&is_over, KEEP_AND_RESUME, EDQUOT},
                {&is_broken, KEEP_AND_RESUME | AFC_FILE_SYNC, EIO}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        atomic_store(rows[i].fault, true);
        call *lost = download(download_fixture, rows[i].flags);
        atomic_store(rows[i].fault, false);
        check_ended(lost, AFC_EFILE);
        assert_int_equal(lost->failure.system_error, rows[i].error);
        assert_string_equal(afc_result_get_resume_token(lost->result), "");
        call_free(lost);
        assert_int_equal(count_files(&download_fixture->folder), 0);
        check_done(download_fixture, download(download_fixture, rows[i].flags),
                   AFC_RESUMPTION_NONE);
    }
}

/** An error that is reported when a download breaks off. */
static void keeps_no_partial_file_with_lost_bytes(void **state) {
    download_fixture *download_fixture = *state;
    download_fixture->range_server.stops_after = BROKEN_AT;
    atomic_store(&is_over, true);
    call *call = download(download_fixture, KEEP_AND_RESUME);
    atomic_store(&is_over, false);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
    assert_int_equal(count_files(&download_fixture->folder), 0);
}

static void succeeds_without_a_descriptor_for_the_early_report(void **state) {
    download_fixture *download_fixture = *state;
    atomic_store(&lacks_descriptors, true);
    call *call = download(download_fixture, KEEP_AND_RESUME);
    atomic_store(&lacks_descriptors, false);
    check_done(download_fixture, call, AFC_RESUMPTION_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_bytes_fail_the_download_and_keep_the_old_file),
        DOWNLOAD_TEST(resumes_nothing_after_lost_bytes),
        DOWNLOAD_TEST(keeps_no_partial_file_with_lost_bytes),
        DOWNLOAD_TEST(succeeds_without_a_descriptor_for_the_early_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
