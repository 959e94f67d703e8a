/* A file with the name of a resume token that isn't one, or that can't be read now. */
#include "support/download_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/** With which errno a token can't be opened; 0: it can. */
static atomic_int open_error;

/** In place of the system's. */
int open(const char *path, int flags, ...) {
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    size_t size = strlen(path), suffix_size = strlen(".part.resume");
    bool is_token = size > suffix_size && strcmp(path + size - suffix_size, ".part.resume") == 0;
    errno = is_token ? atomic_load(&open_error) : 0;
    return errno != 0 ? -1 : (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

static void a_passing_error_keeps_the_pair(void **state) {
    download_fixture *download_fixture = *state;
    static const int errors[] = {EMFILE, ENFILE, EIO};
    interrupt_download(download_fixture);
    for (size_t i = 0; i < COUNT_OF(errors); i++) {
        atomic_store(&open_error, errors[i]);
        call *call = download(download_fixture, KEEP_AND_RESUME);
        atomic_store(&open_error, 0);
        check_ended(call, AFC_EFILE);
        assert_int_equal(call->failure.system_error, errors[i]);
        check_contains(call->failure.text, "cannot read ");
        call_free(call);
        assert_int_equal(count_files(&download_fixture->folder), 2);
    }
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME),
               AFC_RESUMPTION_RESUMED);
}

enum { NAMED = AFC_FILE_KEEP_PARTIAL | AFC_FILE_NO_REPLACE };

/** As for a name that the server has chosen. */
static afc_status name_file(call *call, afc_response *response) {
    download_fixture *download_fixture = call->payload;
    response->path = download_fixture->path;
    response->flags = NAMED;
    return AFC_OK;
}

static call *download_named(download_fixture *download_fixture) {
    call *call = call_new(download_fixture->fixture, "/file");
    call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .flags = NAMED};
    call->at_head = name_file;
    call->payload = download_fixture;
    call_perform(call);
    return call;
}

static void no_replace_keeps_a_file_in_place_of_the_token(void **state) {
    download_fixture *download_fixture = *state;
    write_file(download_fixture->token_path, S("mine"));
    call *call = download_named(download_fixture);
    check_ended(call, AFC_EFILE);
    assert_int_equal(call->failure.system_error, EEXIST);
    check_contains(call->failure.text, download_fixture->token_path);
    call_free(call);
    check_file(download_fixture->token_path, S("mine"));
    assert_int_equal(count_files(&download_fixture->folder), 1);
}

/** A token that another download has left is replaced. */
static void no_replace_takes_the_place_of_a_token(void **state) {
    download_fixture *download_fixture = *state;
    static const char *const texts[] = {"afcore-resume 1\ncut", ""};
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        write_file(download_fixture->token_path, afc_slice_of(texts[i]));
        check_done(download_fixture, download_named(download_fixture), AFC_RESUMPTION_NONE);
    }
}

/** Without a strong validator, a download writes no token. */
static void a_download_without_a_token_removes_none(void **state) {
    download_fixture *download_fixture = *state;
    serve(download_fixture->fixture, "/plain", answer(200, NULL, "body"));
    write_file(download_fixture->token_path, S("mine"));
    call *call = prepare(download_fixture, "/plain", AFC_FILE_KEEP_PARTIAL);
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    check_file(download_fixture->path, S("body"));
    check_file(download_fixture->token_path, S("mine"));
}

static void nothing_replaces_a_file_in_place_of_the_next_token(void **state) {
    download_fixture *download_fixture = *state;
    const char *next = path_in(&download_fixture->folder, "got.part.resume.new");
    write_file(next, S("mine"));
    call *call = download(download_fixture, KEEP_AND_RESUME);
    check_ended(call, AFC_EFILE);
    assert_int_equal(call->failure.system_error, EEXIST);
    call_free(call);
    check_file(next, S("mine"));
    write_file(next, S("afcore-resume 1\n"));
    check_done(download_fixture, download(download_fixture, KEEP_AND_RESUME), AFC_RESUMPTION_NONE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        DOWNLOAD_TEST(a_passing_error_keeps_the_pair),
        DOWNLOAD_TEST(no_replace_keeps_a_file_in_place_of_the_token),
        DOWNLOAD_TEST(no_replace_takes_the_place_of_a_token),
        DOWNLOAD_TEST(a_download_without_a_token_removes_none),
        DOWNLOAD_TEST(nothing_replaces_a_file_in_place_of_the_next_token),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
