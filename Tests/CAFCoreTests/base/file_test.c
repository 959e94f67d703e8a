/* Files read and written as a whole. */
#include "base/file.h"
#include "support/check.h"
#include "support/files.h"
#include "support/torture.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void files_are_read_up_to_the_limit(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "file");
    static char bytes[5000];
    memset(bytes, 'x', sizeof bytes);
    const size_t sizes[] = {0, 1, 1023, 1024, 1025, sizeof bytes};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        size_t size = sizes[i];
        write_file(path, (af_slice){bytes, size});
        for (size_t limit = size > 0 ? size - 1 : 0; limit <= size + 1; limit++) {
            af__buffer text;
            af_failure failure = {0};
            af__buffer_init(&text, limit);
            af_status status = af__read_file(&text, path, AF__FILE_REGULAR, &failure);
            check_status(status, limit >= size ? AF_OK : AF_ETOOBIG);
            if (status == AF_OK) {
                assert_int_equal(text.size, size);
                if (size > 0) assert_memory_equal(text.bytes, bytes, size);
            } else {
                check_contains(failure.text, path);
            }
            af__buffer_clear(&text);
        }
    }
    folder_remove(&folder);
}

static void what_was_read_before_stays_in_front(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "file");
    write_file(path, S("behind"));
    af__buffer text;
    af__buffer_init(&text, 100);
    check_status(af__buffer_append(&text, "before ", 7), AF_OK);
    check_status(af__read_file(&text, path, AF__FILE_REGULAR, NULL), AF_OK);
    check_slice(((af_slice){text.bytes, text.size}), "before behind");
    af__buffer_clear(&text);
    folder_remove(&folder);
}

/** Also a pipe that nobody writes to, which must not be waited for. */
static void what_is_no_file_is_refused(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *pipe = path_in(&folder, "pipe");
    assert_int_equal(mkfifo(pipe, 0600), 0);
    const struct {
        const char *path;
        af__file_kind kind;
        af_status status;
        int error;
    } rows[] = {
        {path_in(&folder, "none"), AF__FILE_REGULAR, AF_EFILE, ENOENT},
        {path_in(&folder, "none"), AF__FILE_ANY, AF_EFILE, ENOENT},
        {folder.path, AF__FILE_REGULAR, AF_EINVAL, 0},
        {folder.path, AF__FILE_ANY, AF_EINVAL, 0},
        {pipe, AF__FILE_REGULAR, AF_EINVAL, 0},
        {"/dev/null", AF__FILE_REGULAR, AF_EINVAL, 0},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        af__buffer text;
        af_failure failure = {0};
        af__buffer_init(&text, 100);
        af_status status = af__read_file(&text, rows[i].path, rows[i].kind, &failure);
        check_status(status, rows[i].status);
        assert_int_equal(failure.system_error, rows[i].error);
        check_contains(failure.text, rows[i].path);
        check_status(af__read_file(&text, rows[i].path, rows[i].kind, NULL), status);
        af__buffer_clear(&text);
    }
    folder_remove(&folder);
}

static void pipes_are_read_where_any_kind_will_do(void **state) {
    (void)state;
    int ends[2];
    char path[32];
    static char bytes[9000];
    memset(bytes, 'x', sizeof bytes);
    for (size_t limit = sizeof bytes - 1; limit <= sizeof bytes; limit++) {
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        assert_int_equal(af__write_all(ends[1], bytes, sizeof bytes), 0);
        close(ends[1]);
        snprintf(path, sizeof path, "/proc/self/fd/%d", ends[0]);
        af__buffer text;
        af__buffer_init(&text, limit);
        af_status status = af__read_file(&text, path, AF__FILE_ANY, NULL);
        check_status(status, limit == sizeof bytes ? AF_OK : AF_ETOOBIG);
        if (status == AF_OK) assert_int_equal(text.size, sizeof bytes);
        af__buffer_clear(&text);
        close(ends[0]);
    }
}

static void writing_says_what_failed(void **state) {
    (void)state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(full >= 0);
    assert_int_equal(af__write_all(full, "x", 1), ENOSPC);
    assert_int_equal(af__write_all(full, NULL, 0), 0);
    close(full);
    assert_int_equal(af__write_all(-1, "x", 1), EBADF);
}

static void memory_may_run_out(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "file");
    write_file(path, S("text"));
    TORTURE(round) {
        af__buffer text;
        af__buffer_init(&text, 100);
        af_status status = af__read_file(&text, path, AF__FILE_REGULAR, NULL);
        assert_true(status == AF_OK || (status == AF_ENOMEM && text.size == 0));
        af__buffer_clear(&text);
    }
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_read_up_to_the_limit),
        cmocka_unit_test(what_was_read_before_stays_in_front),
        cmocka_unit_test(what_is_no_file_is_refused),
        cmocka_unit_test(pipes_are_read_where_any_kind_will_do),
        cmocka_unit_test(writing_says_what_failed),
        cmocka_unit_test(memory_may_run_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
