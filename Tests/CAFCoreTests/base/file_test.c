/* Files read and written as a whole. */
#include "base/file.h"
#include "support/check.h"
#include "support/child.h"
#include "support/files.h"
#include "support/torture.h"

#include <afcore/task.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void reads_files_up_to_the_limit(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "file");
    static char bytes[5000];
    memset(bytes, 'x', sizeof bytes);
    const size_t sizes[] = {0, 1, 1023, 1024, 1025, sizeof bytes};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        size_t size = sizes[i];
        write_file(path, (afc_slice){bytes, size});
        for (size_t limit = size > 0 ? size - 1 : 0; limit <= size + 1; limit++) {
            afc__buffer text;
            afc_failure failure = {0};
            afc__buffer_init(&text, limit);
            afc_status status = afc__read_file(&text, path, AFC__FILE_REGULAR, &failure);
            check_status(status, limit >= size ? AFC_OK : AFC_ETOOBIG);
            if (status == AFC_OK) {
                assert_int_equal(text.size, size);
                if (size > 0) assert_memory_equal(text.bytes, bytes, size);
            } else {
                check_contains(failure.text, path);
            }
            afc__buffer_clear(&text);
        }
    }
    folder_remove(&folder);
}

static void appends_to_what_the_buffer_holds(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "file");
    write_file(path, S("behind"));
    afc__buffer text;
    afc__buffer_init(&text, 100);
    check_status(afc__buffer_append(&text, "before ", 7), AFC_OK);
    check_status(afc__read_file(&text, path, AFC__FILE_REGULAR, NULL), AFC_OK);
    check_slice(((afc_slice){text.bytes, text.size}), "before behind");
    afc__buffer_clear(&text);
    folder_remove(&folder);
}

/** Also a pipe without a writer, which must not be waited for. */
static void refuses_what_is_not_a_regular_file(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *pipe = path_in(&folder, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const struct {
        const char *path;
        afc__file_kind kind;
        afc_status status;
        int error;
    } rows[] = {
        {path_in(&folder, "none"), AFC__FILE_REGULAR, AFC_EFILE, ENOENT},
        {path_in(&folder, "none"), AFC__FILE_ANY, AFC_EFILE, ENOENT},
        {folder.path, AFC__FILE_REGULAR, AFC_EINVAL, 0},
        {folder.path, AFC__FILE_ANY, AFC_EINVAL, 0},
        {pipe, AFC__FILE_REGULAR, AFC_EINVAL, 0},
        {"/dev/null", AFC__FILE_REGULAR, AFC_EINVAL, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__buffer text;
        afc_failure failure = {0};
        afc__buffer_init(&text, 100);
        afc_status status = afc__read_file(&text, rows[i].path, rows[i].kind, &failure);
        check_status(status, rows[i].status);
        assert_int_equal(failure.system_error, rows[i].error);
        check_contains(failure.text, rows[i].path);
        check_status(afc__read_file(&text, rows[i].path, rows[i].kind, NULL), status);
        afc__buffer_clear(&text);
    }
    folder_remove(&folder);
}

/** The body of a request: why it can't be read is in the text, "Invalid argument" isn't. */
static void says_what_a_file_to_send_is(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *pipe = path_in(&folder, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const struct {
        const char *path, *text;
        int error;
    } rows[] = {
        {path_in(&folder, "none"), "cannot open", ENOENT},
        {folder.path, "Is a directory", EISDIR},
        {pipe, "it is not a regular file", EINVAL},
        {"/dev/zero", "it is not a regular file", EINVAL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        int descriptor;
        int64_t length;
        afc_failure failure = {0};
        check_status(afc__open_regular(&descriptor, rows[i].path, &length, &failure), AFC_EFILE);
        assert_int_equal(descriptor, -1);
        assert_int_equal(failure.system_error, rows[i].error);
        check_contains(failure.text, rows[i].path);
        check_contains(failure.text, rows[i].text);
    }
    folder_remove(&folder);
}

/** A process that leads its session would get the terminal as its own, and with it the signals of its keys. */
static void opening_a_terminal_does_not_take_it(void **state) {
    (void)state;
    char name[64];
    int terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    assert_int_equal(ptsname_r(terminal, name, sizeof name), 0);
    pid_t child = fork();
    if (child == 0) {
        int descriptor;
        int64_t length;
        bool leads = setsid() >= 0;
        bool is_refused = afc__open_regular(&descriptor, name, &length, NULL) != AFC_OK;
        bool has_terminal = open("/dev/tty", O_RDWR | O_NOCTTY | O_CLOEXEC) >= 0;
        child_exit(leads && is_refused && !has_terminal ? 0 : 1);
    }
    child_check(child);
    close(terminal);
}

static void length_of_files_without_a_real_size_is_unknown(void **state) {
    (void)state;
    static const char *const paths[] = {"/proc/self/status", "/sys/kernel/uevent_seqnum"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        int descriptor;
        int64_t length = 0;
        if (access(paths[i], R_OK) != 0) continue;
        check_status(afc__open_regular(&descriptor, paths[i], &length, NULL), AFC_OK);
        close(descriptor);
        assert_int_equal(length, AFC_LENGTH_UNKNOWN);
    }
}

static void reads_pipes_where_any_kind_is_accepted(void **state) {
    (void)state;
    int ends[2];
    char path[32];
    static char bytes[9000];
    memset(bytes, 'x', sizeof bytes);
    for (size_t limit = sizeof bytes - 1; limit <= sizeof bytes; limit++) {
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(afc__write_all(ends[1], bytes, sizeof bytes), 0);
        close(ends[1]);
        snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
        afc__buffer text;
        afc__buffer_init(&text, limit);
        afc_status status = afc__read_file(&text, path, AFC__FILE_ANY, NULL);
        check_status(status, limit == sizeof bytes ? AFC_OK : AFC_ETOOBIG);
        if (status == AFC_OK) assert_int_equal(text.size, sizeof bytes);
        afc__buffer_clear(&text);
        close(ends[0]);
    }
}

static void failed_write_names_the_error(void **state) {
    (void)state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    assert_int_equal(afc__write_all(full, "x", 1), ENOSPC);
    assert_int_equal(afc__write_all(full, NULL, 0), 0);
    close(full);
    assert_int_equal(afc__write_all(-1, "x", 1), EBADF);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "file");
    write_file(path, S("text"));
    TORTURE(round) {
        afc__buffer text;
        afc__buffer_init(&text, 100);
        afc_status status = afc__read_file(&text, path, AFC__FILE_REGULAR, NULL);
        assert_true(status == AFC_OK || (status == AFC_ENOMEM && text.size == 0));
        afc__buffer_clear(&text);
    }
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_files_up_to_the_limit),
        cmocka_unit_test(appends_to_what_the_buffer_holds),
        cmocka_unit_test(refuses_what_is_not_a_regular_file),
        cmocka_unit_test(says_what_a_file_to_send_is),
        cmocka_unit_test(opening_a_terminal_does_not_take_it),
        cmocka_unit_test(length_of_files_without_a_real_size_is_unknown),
        cmocka_unit_test(reads_pipes_where_any_kind_is_accepted),
        cmocka_unit_test(failed_write_names_the_error),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
