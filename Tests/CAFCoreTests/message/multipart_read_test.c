/* Reading a form: files that change, readers that fail, once more from the start, not too fast. */
#include "support/files.h"
#include "support/form.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static void read_bytes(afc_multipart *form, size_t count) {
    char byte;
    while (count-- > 0) assert_int_equal(afc_multipart_read(form, &byte, 1, NULL), 1);
}

/** Reading fails with this status and a text that has `part`, now and again. */
static void check_read_fails(afc_multipart *form, afc_status status, const char *part) {
    for (int i = 0; i < 2; i++) {
        form_contents wire = read_form(form, 7);
        assert_int_equal(wire.end, AFC_READ_FAILED);
        check_status(wire.failure.status, status);
        check_contains(wire.failure.text, part);
        free(wire.bytes);
    }
}

/* ---- Files --------------------------------------------------------------------------------- */

static void path_gives_file_name_and_type(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    static const struct {
        const char *file, *type;
    } rows[] = {{"a.cer", "application/x-x509-ca-cert"},
                {"a.PNG", "image/png"},
                {"a.tar.gz", "application/gzip"},
                {"a", "application/octet-stream"},
                {"a.", "application/octet-stream"},
                {".png", "application/octet-stream"},
                {"a.nosuchthing", "application/octet-stream"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const char *path = path_in(&folder, rows[i].file);
        write_file(path, S("x"));
        afc_multipart *form = form_new();
        form_add_file(form, "f", path);
        char expected[256];
        int size = snprintf(expected, sizeof expected,
                            "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"%s\"\r\n"
                            "Content-Type: %s\r\n\r\nx\r\n--B--\r\n",
                            rows[i].file, rows[i].type);
        check_form(form, ((afc_slice){expected, (size_t)size}));
        afc_multipart_free(form);
    }
    folder_remove(&folder);
}

static void explicit_file_name_and_type_are_used(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    afc_part part = AFC_PART_INIT;
    afc_part_file file = AFC_PART_FILE_INIT;
    part.name = S("f");
    part.file_name = S("other.txt");
    part.content_type = S("x/y");
    file.path = path_in(&folder, "a.png");
    write_file(file.path, S("x"));
    afc_multipart *form = form_new();
    check_status(afc_multipart_add_file(form, &part, &file, NULL), AFC_OK);
    check_form(form,
               S("--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"other.txt\"\r\n"
                 "Content-Type: x/y\r\n\r\nx\r\n--B--\r\n"));
    afc_multipart_free(form);
    folder_remove(&folder);
}

static void reads_ranges_of_files(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "digits");
    write_file(path, S("0123456789"));
    static const struct {
        int64_t offset, length, size;
        const char *bytes; /**< NULL: refused. */
    } rows[] = {
        {0, -1, -1, "0123456789"}, {3, -1, -1, "3456789"}, {3, 4, -1, "3456"}, {3, 4, 10, "3456"},
        {0, -1, 10, "0123456789"}, {10, -1, -1, ""},       {10, 0, -1, ""},    {0, 0, -1, ""},
        {11, -1, -1, NULL},        {8, 3, -1, NULL},       {0, -1, 9, NULL},   {0, -1, 11, NULL},
        {0, 3, 11, NULL}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_multipart *form = form_new();
        afc_part part = AFC_PART_INIT;
        afc_part_file file = {path, rows[i].offset, rows[i].length, rows[i].size, {0}};
        afc_failure failure;
        afc_status status = afc_multipart_add_file(form, &part, &file, &failure);
        check_status(status, rows[i].bytes != NULL ? AFC_OK : AFC_EFILE);
        if (rows[i].bytes != NULL) {
            char expected[256];
            int size = snprintf(expected, sizeof expected,
                                "--B\r\nContent-Disposition: form-data; name=\"\"; "
                                "filename=\"digits\"\r\nContent-Type: application/octet-stream\r\n"
                                "\r\n%s\r\n--B--\r\n",
                                rows[i].bytes);
            check_form(form, ((afc_slice){expected, (size_t)size}));
            assert_int_equal(afc_multipart_get_part_length(form, 0), strlen(rows[i].bytes));
        } else {
            check_contains(failure.text, path);
            assert_int_equal(afc_multipart_get_count(form), 0);
        }
        afc_multipart_free(form);
    }
    folder_remove(&folder);
}

static void refuses_ranges_beyond_the_file(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    static const struct {
        int64_t offset, length, size;
    } rows[] = {{11, AFC_LENGTH_UNKNOWN, AFC_LENGTH_UNKNOWN},
                {11, AFC_LENGTH_UNKNOWN, 10},
                {5, 6, AFC_LENGTH_UNKNOWN},
                {5, 6, 10}};
    write_file(path_in(&folder, "ten"), S("0123456789"));
    afc_multipart *form = form_new();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_part part = AFC_PART_INIT;
        afc_part_file file = AFC_PART_FILE_INIT;
        file.path = path_in(&folder, "ten");
        file.offset = rows[i].offset;
        file.length = rows[i].length;
        file.size = rows[i].size;
        check_status(afc_multipart_add_file(form, &part, &file, NULL), AFC_EFILE);
    }
    assert_int_equal(afc_multipart_get_count(form), 0);
    afc_multipart_free(form);
    folder_remove(&folder);
}

static void refuses_unreadable_files(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    assert_int_equal(mkfifo(path_in(&folder, "pipe"), 0600), 0);
    static const struct {
        const char *name;
        int error;
    } rows[] = {{"missing", ENOENT}, {".", EISDIR}, {"pipe", EINVAL}, {"missing/a", ENOENT}};
    afc_multipart *form = form_new();
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_part part = AFC_PART_INIT;
        afc_part_file file = AFC_PART_FILE_INIT;
        file.path = path_in(&folder, rows[i].name);
        afc_failure failure;
        check_status(afc_multipart_add_file(form, &part, &file, &failure), AFC_EFILE);
        assert_int_equal(failure.system_error, rows[i].error);
        check_contains(failure.text, file.path);
    }
    assert_int_equal(afc_multipart_get_count(form), 0);
    afc_multipart_free(form);
    folder_remove(&folder);
}

static void changed_file_is_an_error(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "a");
    enum { SIZE = 5000 };
    static char bytes[SIZE];
    static const struct {
        off_t size; /**< -1: it vanishes. */
        const char *text;
    } rows[] = {{-1, "cannot open"}, {SIZE - 1, "shorter"}, {0, "shorter"}, {SIZE + 1, "longer"}};
    /* Before it is opened, while it is read, and when all but its end has been read. */
    static const size_t before[] = {10, 1000, 5090};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        for (size_t j = 0; j < COUNT_OF(before); j++) {
            if (j > 0 && rows[i].size < 0) continue; /* An open file can't vanish. */
            if (j == 2 && rows[i].size < SIZE) continue;
            write_file(path, (afc_slice){bytes, SIZE});
            afc_multipart *form = form_new();
            form_add_file(form, "f", path);
            form_add(form, "after", NULL, NULL, S("x"));
            read_bytes(form, before[j]);
            if (rows[i].size < 0)
                assert_int_equal(unlink(path), 0);
            else
                assert_int_equal(truncate(path, rows[i].size), 0);
            check_read_fails(form, AFC_EFILE, rows[i].text);
            /* Once it is as it was, so is the form. */
            write_file(path, (afc_slice){bytes, SIZE});
            check_status(afc_multipart_rewind(form, NULL), AFC_OK);
            form_contents wire = read_form(form, 1000);
            assert_int_equal(wire.end, AFC_READ_END);
            assert_int_equal(wire.size, afc_multipart_get_length(form));
            free(wire.bytes);
            afc_multipart_free(form);
        }
    }
    folder_remove(&folder);
}

static void changed_empty_file_is_an_error(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "a");
    for (int vanishes = 0; vanishes <= 1; vanishes++) {
        write_file(path, S(""));
        afc_multipart *form = form_new();
        form_add_file(form, "f", path);
        if (vanishes)
            assert_int_equal(unlink(path), 0);
        else
            assert_int_equal(truncate(path, 1), 0);
        check_read_fails(form, AFC_EFILE, vanishes ? "cannot open" : "longer");
        afc_multipart_free(form);
    }
    folder_remove(&folder);
}

/** Its size is reported as 0. */
static void reads_file_of_procfs_to_its_end(void **state) {
    (void)state;
    static const char path[] = "/proc/version";
    char bytes[4096], expected[5000];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    assert_in_range(size, 1, sizeof bytes - 1);
    snprintf(expected, sizeof expected,
             "--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"version\"\r\n"
             "Content-Type: application/octet-stream\r\n\r\n%.*s\r\n--B\r\n"
             "Content-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B--\r\n",
             (int)size, bytes);
    afc_multipart *form = form_new();
    form_add_file(form, "f", path);
    form_add(form, "a", NULL, NULL, S("1"));
    assert_int_equal(afc_multipart_get_length(form), AFC_LENGTH_UNKNOWN);
    assert_int_equal(afc_multipart_get_part_length(form, 0), AFC_LENGTH_UNKNOWN);
    for (int i = 0; i < 2; i++) {
        form_contents got = read_form(form, 100);
        assert_int_equal(got.end, AFC_READ_END);
        assert_int_equal(got.size, strlen(expected));
        assert_memory_equal(got.bytes, expected, got.size);
        free(got.bytes);
        check_status(afc_multipart_rewind(form, NULL), AFC_OK);
    }
    afc_multipart_free(form);
    /* A size or a range that was given is the caller's word. */
    const afc_part_file files[] = {{path, 0, AFC_LENGTH_UNKNOWN, 0, {0}},
                                   {path, 0, 1, AFC_LENGTH_UNKNOWN, {0}},
                                   {path, 1, AFC_LENGTH_UNKNOWN, AFC_LENGTH_UNKNOWN, {0}}};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        const afc_part part = AFC_PART_INIT;
        form = form_new();
        check_status(afc_multipart_add_file(form, &part, &files[i], NULL), AFC_EFILE);
        afc_multipart_free(form);
    }
}

static void reads_range_of_growing_file(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    afc_part part = AFC_PART_INIT;
    afc_part_file file = {path_in(&folder, "log"), 2, 3, AFC_LENGTH_UNKNOWN, {0}};
    write_file(file.path, S("abcdef"));
    afc_multipart *form = form_new();
    check_status(afc_multipart_add_file(form, &part, &file, NULL), AFC_OK);
    write_file(file.path, S("abcdefgh"));
    check_form(form, S("--B\r\nContent-Disposition: form-data; name=\"\"; filename=\"log\"\r\n"
                       "Content-Type: application/octet-stream\r\n\r\ncde\r\n--B--\r\n"));
    write_file(file.path, S("abcd"));
    check_status(afc_multipart_rewind(form, NULL), AFC_OK);
    check_read_fails(form, AFC_EFILE, "shorter");
    afc_multipart_free(form);
    folder_remove(&folder);
}

static void opens_one_file_at_a_time(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "a");
    write_file(path, S("x"));
    afc_multipart *form = form_new();
    for (int i = 0; i < 100; i++) form_add_file(form, "f", path);
    /* The lowest free number would be taken by a file that is open. */
    int free_before = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(free_before);
    form_contents wire = read_form(form, 1);
    assert_int_equal(wire.size, afc_multipart_get_length(form));
    free(wire.bytes);
    int free_after = open("/dev/null", O_RDONLY | O_CLOEXEC);
    close(free_after);
    assert_int_equal(free_after, free_before);
    afc_multipart_free(form);
    folder_remove(&folder);
}

/* ---- Readers ------------------------------------------------------------------------------- */

static void reader_may_return_again(void **state) {
    (void)state;
    script_reader script = {.bytes = S("0123456789"), .piece = 3, .again_each = 2};
    afc_multipart *form = form_new();
    form_add_reader(form, "r", &script, 10);
    form_add(form, "a", NULL, NULL, S("1"));
    check_form(form,
               S("--B\r\nContent-Disposition: form-data; name=\"r\"\r\n\r\n0123456789"
                 "\r\n--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--B--\r\n"));
    afc_multipart_free(form);
}

static void returns_ready_bytes_before_a_waiting_reader(void **state) {
    (void)state;
    script_reader script = {.bytes = S("x"), .again_each = 1};
    afc_multipart *form = form_new();
    form_add_reader(form, "r", &script, 1);
    char buffer[1000];
    assert_in_range(afc_multipart_read(form, buffer, sizeof buffer, NULL), 1, 100);
    assert_int_equal(afc_multipart_read(form, buffer, sizeof buffer, NULL), AFC_READ_AGAIN);
    assert_int_equal(afc_multipart_get_delay_us(form), 0);
    script.again_each = 0;
    assert_int_equal(afc_multipart_read(form, buffer, sizeof buffer, NULL), 1 + 9);
    afc_multipart_free(form);
}

static void failing_reader_fails_the_form(void **state) {
    (void)state;
    static const struct {
        size_t size, fails_at;
        int64_t length;
        const char *text;
    } rows[] = {{10, 4, 10, "part 2 failed"},
                {10, 4, AFC_LENGTH_UNKNOWN, "part 2 failed"},
                {9, 0, 10, "part 2 ended before its length"},
                {0, 0, 1, "part 2 ended before its length"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        script_reader script = {.bytes = {"0123456789", rows[i].size},
                                .fails_at = rows[i].fails_at};
        afc_multipart *form = form_new();
        form_add(form, "a", NULL, NULL, S("1"));
        form_add_reader(form, "r", &script, rows[i].length);
        check_read_fails(form, AFC_ESOURCE, rows[i].text);
        afc_multipart_free(form);
        assert_int_equal(script.releases, 1);
    }
}

static ptrdiff_t overflow(void *context, void *buffer, size_t size) {
    (void)context;
    (void)buffer;
    return (ptrdiff_t)size + 1;
}

static void overlong_read_fails_the_form(void **state) {
    (void)state;
    afc_multipart *form = form_new();
    afc_part part = AFC_PART_INIT;
    afc_reader reader = {.read = overflow};
    check_status(afc_multipart_add_reader(form, &part, &reader, AFC_LENGTH_UNKNOWN, NULL), AFC_OK);
    check_read_fails(form, AFC_ESOURCE, "more bytes than requested");
    afc_multipart_free(form);
}

static ptrdiff_t return_invalid_number(void *context, void *buffer, size_t size) {
    (void)context, (void)buffer, (void)size;
    return -7;
}

static void names_the_invalid_number_of_a_reader(void **state) {
    (void)state;
    afc_multipart *form = form_new();
    afc_part part = AFC_PART_INIT;
    afc_reader reader = {.read = return_invalid_number};
    check_status(afc_multipart_add_reader(form, &part, &reader, AFC_LENGTH_UNKNOWN, NULL), AFC_OK);
    check_read_fails(form, AFC_ESOURCE, "the reader of part 1 returned -7: expected");
    afc_multipart_free(form);
}

static void reader_is_never_asked_beyond_its_length(void **state) {
    (void)state;
    script_reader script = {.bytes = S("0123456789")};
    afc_multipart *form = form_new();
    form_add_reader(form, "r", &script, 4);
    check_form(form,
               S("--B\r\nContent-Disposition: form-data; name=\"r\"\r\n\r\n0123\r\n--B--\r\n"));
    afc_multipart_free(form);
}

/* ---- Once more ----------------------------------------------------------------------------- */

static void form_rewinds_from_any_position(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "a");
    write_file(path, S("file"));
    script_reader script = {.bytes = S("reader")};
    afc_multipart *form = form_new();
    form_add(form, "a", NULL, NULL, S("bytes"));
    form_add_file(form, "f", path);
    form_add_reader(form, "r", &script, AFC_LENGTH_UNKNOWN);
    form_contents whole = read_form(form, 100);
    assert_int_equal(whole.end, AFC_READ_END);
    for (size_t stop = 0; stop <= whole.size; stop++) {
        check_status(afc_multipart_rewind(form, NULL), AFC_OK);
        read_bytes(form, stop);
        assert_true(afc_multipart_can_rewind(form));
        check_status(afc_multipart_rewind(form, NULL), AFC_OK);
        form_contents again = read_form(form, 100);
        assert_int_equal(again.size, whole.size);
        assert_memory_equal(again.bytes, whole.bytes, whole.size);
        free(again.bytes);
    }
    free(whole.bytes);
    afc_multipart_free(form);
    folder_remove(&folder);
}

static void rewinds_only_readers_that_were_read(void **state) {
    (void)state;
    script_reader script = {.bytes = S("x"), .reads_once = true};
    afc_multipart *form = form_new();
    form_add(form, "a", NULL, NULL, S("bytes"));
    form_add_reader(form, "r", &script, 1);
    read_bytes(form, 20);
    assert_true(afc_multipart_can_rewind(form));
    check_status(afc_multipart_rewind(form, NULL), AFC_OK);
    free(read_form(form, 100).bytes);
    assert_false(afc_multipart_can_rewind(form));
    afc_failure failure;
    check_status(afc_multipart_rewind(form, &failure), AFC_EREPLAY);
    check_contains(failure.text, "part 2 has no rewind");
    check_read_fails(form, AFC_EREPLAY, "part 2");
    afc_multipart_free(form);
}

static void rewinds_form_whose_reader_had_nothing_yet(void **state) {
    (void)state;
    script_reader script = {.bytes = S("x"), .again_each = 1, .reads_once = true};
    char buffer[1000];
    afc_multipart *form = form_new();
    form_add_reader(form, "r", &script, 1);
    read_bytes(form, 20);
    ptrdiff_t count;
    while ((count = afc_multipart_read(form, buffer, sizeof buffer, NULL)) > 0) continue;
    assert_int_equal(count, AFC_READ_AGAIN);
    assert_true(script.reads > 0);
    assert_true(afc_multipart_can_rewind(form));
    check_status(afc_multipart_rewind(form, NULL), AFC_OK);
    script.again_each = 0;
    free(read_form(form, 100).bytes);
    assert_int_equal(script.position, 1);
    assert_false(afc_multipart_can_rewind(form));
    afc_multipart_free(form);
}

static void reader_may_refuse_to_rewind(void **state) {
    (void)state;
    script_reader script = {.bytes = S("x"), .refuses_rewind = true};
    afc_multipart *form = form_new();
    form_add_reader(form, "r", &script, 1);
    free(read_form(form, 100).bytes);
    assert_true(afc_multipart_can_rewind(form));
    afc_failure failure;
    check_status(afc_multipart_rewind(form, &failure), AFC_EREPLAY);
    check_contains(failure.text, "part 1 failed to rewind");
    afc_multipart_free(form);
}

/* ---- Not too fast -------------------------------------------------------------------------- */

static void throttling_splits_and_delays(void **state) {
    (void)state;
    enum { DELAY_MS = 3600 * 1000 };
    afc_multipart *form = form_new();
    form_add(form, "a", NULL, NULL, S("0123456789"));
    afc_multipart_throttle(form, 16, DELAY_MS);
    char buffer[1000];
    for (int i = 0; i < 2; i++) {
        assert_int_equal(afc_multipart_get_delay_us(form) > 0, i > 0);
        assert_int_equal(afc_multipart_read(form, buffer, sizeof buffer, NULL),
                         i == 0 ? 16 : AFC_READ_AGAIN);
        assert_in_range(afc_multipart_get_delay_us(form), 1, DELAY_MS * (uint64_t)1000);
    }
    /* Kept by a rewind, and the time that it has to wait as well. */
    check_status(afc_multipart_rewind(form, NULL), AFC_OK);
    assert_int_equal(afc_multipart_read(form, buffer, sizeof buffer, NULL), AFC_READ_AGAIN);
    afc_multipart_throttle(form, 16, 0);
    assert_int_equal(afc_multipart_read(form, buffer, sizeof buffer, NULL), 16);
    assert_int_equal(afc_multipart_read(form, buffer, sizeof buffer, NULL), 16);
    afc_multipart_throttle(form, 0, DELAY_MS);
    assert_int_equal(afc_multipart_read(form, buffer, sizeof buffer, NULL),
                     afc_multipart_get_length(form) - 32);
    /* The end is no byte, so it needs no waiting. */
    assert_int_equal(afc_multipart_read(form, buffer, sizeof buffer, NULL), AFC_READ_END);
    afc_multipart_free(form);
}

static void throttled_form_is_complete(void **state) {
    (void)state;
    afc_multipart *form = form_new();
    form_add(form, "a", NULL, NULL, S("0123456789"));
    afc_multipart_throttle(form, 10, 1);
    check_form(form, S("--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n0123456789\r\n"
                       "--B--\r\n"));
    afc_multipart_free(form);
}

/* ---- Into a file --------------------------------------------------------------------------- */

static void writes_form_to_a_file(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "form");
    script_reader script = {.bytes = S("0123456789"), .piece = 4, .again_each = 1};
    afc_multipart *form = form_new();
    form_add_reader(form, "r", &script, 10);
    int descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    afc_failure failure;
    size_t length = (size_t)afc_multipart_get_length(form);
    assert_int_equal(afc_multipart_write(form, descriptor, 10, &failure), 10);
    assert_int_equal(afc_multipart_write(form, descriptor, SIZE_MAX / 2, &failure),
                     length - 10 - 10 - 9);
    assert_int_equal(afc_multipart_write(form, descriptor, 1000, &failure), AFC_READ_AGAIN);
    script.again_each = 0;
    assert_int_equal(afc_multipart_write(form, descriptor, 1000, &failure), 10 + 9);
    assert_int_equal(afc_multipart_write(form, descriptor, 1000, &failure), AFC_READ_END);
    check_file(path, S("--B\r\nContent-Disposition: form-data; name=\"r\"\r\n\r\n0123456789\r\n"
                       "--B--\r\n"));
    close(descriptor);
    check_status(afc_multipart_rewind(form, NULL), AFC_OK);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(afc_multipart_write(form, descriptor, 1000, &failure), AFC_READ_FAILED);
        check_status(failure.status, AFC_EFILE);
        assert_int_equal(failure.system_error, EBADF);
    }
    afc_multipart_free(form);
    folder_remove(&folder);
}

/* SIGPIPE would end the test. */
static void pipe_without_a_reader_is_an_error(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    afc_multipart *form = form_new();
    form_add(form, "a", NULL, NULL, S("1"));
    afc_failure failure;
    assert_int_equal(afc_multipart_write(form, ends[1], 1000, &failure), AFC_READ_FAILED);
    check_status(failure.status, AFC_EFILE);
    assert_int_equal(failure.system_error, EPIPE);
    close(ends[1]);
    afc_multipart_free(form);
}

static void full_disk_is_an_error(void **state) {
    (void)state;
    int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    if (full < 0) skip();
    afc_multipart *form = form_new();
    form_add(form, "a", NULL, NULL, S("1"));
    afc_failure failure;
    assert_int_equal(afc_multipart_write(form, full, 1000, &failure), AFC_READ_FAILED);
    check_status(failure.status, AFC_EFILE);
    assert_int_equal(failure.system_error, ENOSPC);
    close(full);
    afc_multipart_free(form);
}

/** Python's, which takes a form for a MIME message, and therefore CRLF for a line's end. */
static void another_parser_reads_the_same_form(void **state) {
    (void)state;
    if (system("python3 -c 'import email' 2>/dev/null") != 0) skip();
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "form");
    write_file(path_in(&folder, "data.bin"), S("\0\1\xff\r\n--\r\n"));
    afc_multipart *form;
    check_status(afc_multipart_new(&form, NULL, NULL), AFC_OK);
    form_add(form, "plain", NULL, NULL, S("a\r\nb"));
    form_add(form, "t\"ext", "n\xc3\xa4h.txt", "text/plain", S(""));
    form_add_file(form, "file", path_in(&folder, "data.bin"));
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    fprintf(out, "Content-Type: %s\r\n\r\n", afc_multipart_get_content_type(form));
    fflush(out);
    assert_int_equal(afc_multipart_write(form, fileno(out), 10000, NULL),
                     afc_multipart_get_length(form));
    fclose(out);
    static const char script[] =
        "import email, email.policy, sys\n"
        "form = email.message_from_binary_file(open(sys.argv[1], 'rb'), policy=email.policy.HTTP)\n"
        "parts = [(p.get_param('name', header='content-disposition'), p.get_filename(),\n"
        "          p.get_content_type(), p.get_payload(decode=True)) for p in form.iter_parts()]\n"
        "assert not form.defects, form.defects\n"
        "assert parts == [('plain', None, 'text/plain', b'a\\nb'),\n"
        "    ('t%22ext', 'n\\u00e4h.txt', 'text/plain', b''),\n"
        "    ('file', 'data.bin', 'application/octet-stream',\n"
        "     b'\\0\\1\\xff\\n--\\n')], parts\n";
    write_file(path_in(&folder, "check.py"), S(script));
    char command[512];
    snprintf(command, sizeof command, "python3 %s/check.py %s", folder.path, path);
    assert_int_equal(system(command), 0);
    afc_multipart_free(form);
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(path_gives_file_name_and_type),
        cmocka_unit_test(explicit_file_name_and_type_are_used),
        cmocka_unit_test(reads_ranges_of_files),
        cmocka_unit_test(refuses_ranges_beyond_the_file),
        cmocka_unit_test(refuses_unreadable_files),
        cmocka_unit_test(changed_file_is_an_error),
        cmocka_unit_test(changed_empty_file_is_an_error),
        cmocka_unit_test(reads_file_of_procfs_to_its_end),
        cmocka_unit_test(reads_range_of_growing_file),
        cmocka_unit_test(opens_one_file_at_a_time),
        cmocka_unit_test(reader_may_return_again),
        cmocka_unit_test(returns_ready_bytes_before_a_waiting_reader),
        cmocka_unit_test(failing_reader_fails_the_form),
        cmocka_unit_test(overlong_read_fails_the_form),
        cmocka_unit_test(names_the_invalid_number_of_a_reader),
        cmocka_unit_test(reader_is_never_asked_beyond_its_length),
        cmocka_unit_test(form_rewinds_from_any_position),
        cmocka_unit_test(rewinds_only_readers_that_were_read),
        cmocka_unit_test(rewinds_form_whose_reader_had_nothing_yet),
        cmocka_unit_test(reader_may_refuse_to_rewind),
        cmocka_unit_test(throttling_splits_and_delays),
        cmocka_unit_test(throttled_form_is_complete),
        cmocka_unit_test(writes_form_to_a_file),
        cmocka_unit_test(pipe_without_a_reader_is_an_error),
        cmocka_unit_test(full_disk_is_an_error),
        cmocka_unit_test(another_parser_reads_the_same_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
