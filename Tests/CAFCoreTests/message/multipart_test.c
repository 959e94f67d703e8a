/* Forms: what goes over the wire byte for byte, what is refused, and running out of memory. */
#include "support/files.h"
#include "support/form.h"
#include "support/torture.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- The wire ------------------------------------------------------------------------------ */

typedef struct row {
    const char *name, *file_name, *type;
    afc_slice bytes;
    const char *headers; /**< As they must come. */
} row;

static void writes_one_part_of_bytes(void **state) {
    (void)state;
    static const row rows[] = {
        {"a", NULL, NULL, ROW_S("1"), "Content-Disposition: form-data; name=\"a\"\r\n"},
        {"", NULL, NULL, ROW_S(""), "Content-Disposition: form-data; name=\"\"\r\n"},
        {"a", "f.txt", "text/plain", ROW_S("x\r\n"),
         "Content-Disposition: form-data; name=\"a\"; filename=\"f.txt\"\r\n"
         "Content-Type: text/plain\r\n"},
        {"a", "", NULL, ROW_S("x"),
         "Content-Disposition: form-data; name=\"a\"; filename=\"\"\r\n"},
        {"a", NULL, "text/plain;charset=utf-8", ROW_S("x"),
         "Content-Disposition: form-data; name=\"a\"\r\n"
         "Content-Type: text/plain;charset=utf-8\r\n"},
        /* A quote is written as %22; a backslash, a percent and UTF-8 as they are. */
        {"\"a\"\"", "\"", NULL, ROW_S("x"),
         "Content-Disposition: form-data; name=\"%22a%22%22\"; filename=\"%22\"\r\n"},
        {"a\\b%22;=\t", "n\xc3\xa4h \xe2\x9c\x82.txt", NULL, ROW_S("x"),
         "Content-Disposition: form-data; name=\"a\\b%22;=\t\"; "
         "filename=\"n\xc3\xa4h \xe2\x9c\x82.txt\"\r\n"},
        {"octets \xff\xfe", NULL, NULL, ROW_S("\0\xff\r\n--C\r\n"),
         "Content-Disposition: form-data; name=\"octets \xff\xfe\"\r\n"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_multipart *form = form_new();
        form_add(form, rows[i].name, rows[i].file_name, rows[i].type, rows[i].bytes);
        char expected[512];
        int size = snprintf(expected, sizeof expected, "--B\r\n%s\r\n", rows[i].headers);
        assert_in_range(size, 1, 256);
        memcpy(expected + size, rows[i].bytes.bytes, rows[i].bytes.size);
        size += (int)rows[i].bytes.size;
        memcpy(expected + size, "\r\n--B--\r\n", 9);
        check_form(form, ((afc_slice){expected, (size_t)size + 9}));
        assert_int_equal(afc_multipart_get_count(form), 1);
        assert_int_equal(afc_multipart_get_part_length(form, 0), rows[i].bytes.size);
        assert_int_equal(afc_multipart_get_part_length(form, 1), AFC_LENGTH_UNKNOWN);
        afc_multipart_free(form);
    }
}

static void writes_parts_of_every_kind(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "note.html");
    write_file(path, S("<p>"));
    static const afc_header headers[] = {{ROW_S("Content-Disposition"), ROW_S("inline"), 0},
                                         {ROW_S("X-A"), ROW_S(""), 0}};
    for (int i = 0; i < 2; i++) {
        script_reader known = {.bytes = S("known"), .piece = 2};
        script_reader unknown = {.bytes = S("not known")};
        afc_multipart *form = form_new();
        form_add(form, "a", NULL, NULL, S("1"));
        form_add_file(form, "f", path);
        form_add_reader(form, "r", &known, 5);
        check_status(afc_multipart_add_raw(form, headers, 2, S("raw"), NULL, NULL, NULL), AFC_OK);
        check_status(afc_multipart_add_raw(form, NULL, 0, S(""), NULL, NULL, NULL), AFC_OK);
        if (i == 1) form_add_reader(form, "u", &unknown, AFC_LENGTH_UNKNOWN);
#define FIVE_PARTS                                                                                 \
    "--B\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1"                                   \
    "\r\n--B\r\nContent-Disposition: form-data; name=\"f\"; filename=\"note.html\"\r\n"            \
    "Content-Type: text/html\r\n\r\n<p>"                                                           \
    "\r\n--B\r\nContent-Disposition: form-data; name=\"r\"\r\n\r\nknown"                           \
    "\r\n--B\r\nContent-Disposition: inline\r\nX-A: \r\n\r\nraw"                                   \
    "\r\n--B\r\n\r\n"
        if (i == 0) {
            check_form(form, S(FIVE_PARTS "\r\n--B--\r\n"));
        } else {
            assert_int_equal(afc_multipart_get_length(form), AFC_LENGTH_UNKNOWN);
            check_form(form,
                       S(FIVE_PARTS "\r\n--B\r\nContent-Disposition: form-data; name=\"u\"\r\n\r\n"
                                    "not known\r\n--B--\r\n"));
        }
        afc_multipart_free(form);
        assert_int_equal(known.releases, 1);
        assert_int_equal(unknown.releases, i);
    }
    folder_remove(&folder);
}

static void form_without_parts_is_its_closing_boundary(void **state) {
    (void)state;
    afc_multipart *form = form_new();
    check_form(form, S("--B--\r\n"));
    afc_multipart_free(form);
}

static void own_headers_follow_the_fixed_ones(void **state) {
    (void)state;
    static const afc_header headers[] = {{ROW_S("X-Second"), ROW_S("2"), 0},
                                         {ROW_S("A-First"), ROW_S("1"), 0}};
    afc_part part = AFC_PART_INIT;
    part.name = S("n");
    part.content_type = S("a/b");
    part.headers = headers;
    part.header_count = 2;
    afc_multipart *form = form_new();
    check_status(afc_multipart_add_bytes(form, &part, S(""), NULL, NULL, NULL), AFC_OK);
    check_form(form, S("--B\r\nContent-Disposition: form-data; name=\"n\"\r\nContent-Type: a/b\r\n"
                       "X-Second: 2\r\nA-First: 1\r\n\r\n\r\n--B--\r\n"));
    afc_multipart_free(form);
}

static void copies_bytes_unless_borrowed(void **state) {
    (void)state;
    char bytes[] = "first";
    script_reader lender = {0};
    afc_part part = AFC_PART_INIT;
    afc_multipart *form = form_new();
    check_status(afc_multipart_add_bytes(form, &part, S(bytes), NULL, NULL, NULL), AFC_OK);
    check_status(
        afc_multipart_add_bytes(form, &part, S(bytes), reader_of(&lender).release, &lender, NULL),
        AFC_OK);
    memcpy(bytes, "later", 5);
    form_contents wire = read_form(form, 100);
    assert_non_null(memmem(wire.bytes, wire.size, "\r\n\r\nfirst\r\n", 11));
    assert_non_null(memmem(wire.bytes, wire.size, "\r\n\r\nlater\r\n", 11));
    free(wire.bytes);
    assert_int_equal(lender.releases, 0);
    afc_multipart_free(form);
    assert_int_equal(lender.releases, 1);
}

/* ---- The boundary -------------------------------------------------------------------------- */

static void boundary_is_random(void **state) {
    (void)state;
    char former[AFC_MULTIPART_BOUNDARY_MAX + 1] = "";
    for (int i = 0; i < 100; i++) {
        afc_multipart *form;
        check_status(afc_multipart_new(&form, NULL, NULL), AFC_OK);
        const char *boundary = afc_multipart_get_boundary(form);
        assert_int_equal(strlen(boundary), 11 + 32);
        assert_string_not_equal(boundary, former);
        assert_string_equal(strchr(afc_multipart_get_content_type(form), '=') + 1, boundary);
        memcpy(former, boundary, strlen(boundary) + 1);
        afc_multipart_free(form);
    }
}

static void checks_the_given_boundary(void **state) {
    (void)state;
    char longest[72];
    memset(longest, 'x', sizeof longest);
    longest[70] = '\0';
    const char *const good[] = {"B", "----WebKitFormBoundary7MA4YWxkTrZu0gW", "a'+_-.Z9", longest};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        afc_multipart *form;
        check_status(afc_multipart_new(&form, good[i], NULL), AFC_OK);
        assert_string_equal(afc_multipart_get_boundary(form), good[i]);
        form_add(form, "a", NULL, NULL, S("1"));
        form_contents wire = read_form(form, 1);
        assert_int_equal(wire.size, afc_multipart_get_length(form));
        free(wire.bytes);
        afc_multipart_free(form);
    }
    longest[70] = 'x';
    longest[71] = '\0';
    const char *const bad[] = {"", "a b", "a\r\n", "a\"b", "a;b", "a:b", "\xc3\xa4", longest};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        afc_multipart *form = (afc_multipart *)1;
        afc_failure failure;
        check_status(afc_multipart_new(&form, bad[i], &failure), AFC_EINVAL);
        assert_null(form);
        check_contains(failure.text, "boundary");
    }
}

static void refuses_boundary_that_occurs_in_a_part(void **state) {
    (void)state;
    afc_multipart *form = form_new();
    afc_part part = AFC_PART_INIT;
    afc_failure failure;
    static const afc_slice bad[] = {ROW_S("--B"), ROW_S("x\r\n--B\r\n"), ROW_S("a--Boat")};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        check_status(afc_multipart_add_bytes(form, &part, bad[i], NULL, NULL, &failure),
                     AFC_EINVAL);
        check_contains(failure.text, "boundary");
    }
    part.file_name = S("--B");
    check_status(afc_multipart_add_bytes(form, &part, S(""), NULL, NULL, &failure), AFC_EINVAL);
    part.file_name = S("-B");
    check_status(afc_multipart_add_bytes(form, &part, S("-\r\n-B--"), NULL, NULL, &failure),
                 AFC_OK);
    assert_int_equal(afc_multipart_get_count(form), 1);
    afc_multipart_trust_boundary(form);
    check_status(afc_multipart_add_bytes(form, &part, S("--B"), NULL, NULL, &failure), AFC_OK);
    afc_multipart_free(form);
}

/* ---- What is refused ----------------------------------------------------------------------- */

static void refuses_control_characters(void **state) {
    (void)state;
    static const afc_slice bad[] = {ROW_S("a\rb"),     ROW_S("\n"),   ROW_S("a\0b"),
                                    ROW_S("\r\nX: y"), ROW_S("\x01"), ROW_S("a\x7f")};
    afc_multipart *form = form_new();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        for (int place = 0; place < 5; place++) {
            script_reader lender = {0};
            afc_header header = {S("X-A"), S("b"), 0};
            afc_part part = AFC_PART_INIT;
            if (place == 0) part.name = bad[i];
            if (place == 1) part.file_name = bad[i];
            if (place == 2) part.content_type = bad[i];
            if (place == 3) header.name = bad[i];
            if (place == 4) header.value = bad[i];
            part.headers = &header;
            part.header_count = 1;
            static const char *const texts[] = {"the name", "the file name", "the content type",
                                                "name of a header", "header X-A"};
            afc_failure failure = {0};
            check_status(afc_multipart_add_bytes(form, &part, S("x"), reader_of(&lender).release,
                                                 &lender, &failure),
                         AFC_EINVAL);
            check_contains(failure.text, texts[place]);
            afc_reader reader = reader_of(&lender);
            check_status(afc_multipart_add_reader(form, &part, &reader, 1, &failure), AFC_EINVAL);
            if (place >= 3) {
                check_status(afc_multipart_add_raw(form, &header, 1, S("x"), reader.release,
                                                   &lender, &failure),
                             AFC_EINVAL);
            }
            assert_int_equal(lender.releases, place >= 3 ? 3 : 2);
        }
    }
    check_form(form, S("--B--\r\n"));
    afc_multipart_free(form);
}

static void refuses_headers_that_the_form_writes(void **state) {
    (void)state;
    static const afc_header bad[] = {{ROW_S("content-disposition"), ROW_S("x"), 0},
                                     {ROW_S("Content-Type"), ROW_S("x/y"), 0},
                                     {ROW_S("X-A"), ROW_S("x"), AFC_HEADER_REMOVE},
                                     {ROW_S(""), ROW_S("x"), 0},
                                     {ROW_S("X A"), ROW_S("x"), 0}};
    afc_multipart *form = form_new();
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        afc_part part = AFC_PART_INIT;
        part.content_type = S("text/plain");
        part.headers = &bad[i];
        part.header_count = 1;
        check_status(afc_multipart_add_bytes(form, &part, S("x"), NULL, NULL, NULL), AFC_EINVAL);
    }
    assert_int_equal(afc_multipart_get_count(form), 0);
    afc_multipart_free(form);
}

static void refuses_invalid_bodies(void **state) {
    (void)state;
    afc_multipart *form = form_new();
    afc_part part = AFC_PART_INIT;
    afc_reader none = {0};
    check_status(afc_multipart_add_file(form, &part, NULL, NULL), AFC_EINVAL);
    check_status(afc_multipart_add_reader(form, &part, NULL, 1, NULL), AFC_EINVAL);
    check_status(afc_multipart_add_reader(form, &part, &none, 1, NULL), AFC_EINVAL);
    script_reader script = {0};
    afc_reader reader = reader_of(&script);
    check_status(afc_multipart_add_reader(form, &part, &reader, -2, NULL), AFC_EINVAL);
    check_status(afc_multipart_add_bytes(form, &part, (afc_slice){NULL, 1}, NULL, NULL, NULL),
                 AFC_EINVAL);
    check_status(
        afc_multipart_add_bytes(form, &part, (afc_slice){NULL, SIZE_MAX}, NULL, NULL, NULL),
        AFC_EINVAL);
    static const afc_part_file files[] = {
        {NULL, 0, -1, -1, {0}},           {"", 0, -1, -1, {0}},
        {"/etc/passwd", -1, -1, -1, {0}}, {"/etc/passwd", 0, -2, -1, {0}},
        {"/etc/passwd", 0, -1, -2, {0}},  {"/etc/passwd", 1, INT64_MAX, -1, {0}}};
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        check_status(afc_multipart_add_file(form, &part, &files[i], NULL), AFC_EINVAL);
    }
    assert_int_equal(afc_multipart_get_count(form), 0);
    afc_multipart_free(form);
    assert_int_equal(script.releases, 1);
}

static void refuses_sizes_without_bytes(void **state) {
    (void)state;
    static const afc_slice none = {NULL, 1};
    static const afc_header headers[] = {{{NULL, 1}, S_INIT("x"), 0}, {S_INIT("X"), {NULL, 1}, 0}};
    static const struct {
        afc_part part;
        const char *reason;
    } cases[] = {
        {{.name = none}, "the name"},
        {{.file_name = none}, "the file name"},
        {{.content_type = none}, "the content type"},
        {{.header_count = 1}, "headers is NULL"},
        {{.headers = &headers[0], .header_count = 1}, "the name of header field 1"},
        {{.headers = &headers[1], .header_count = 1}, "the value of header field 1"},
    };
    afc_multipart *form = form_new();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        afc_part part = cases[i].part;
        afc_failure failure;
        part.size = sizeof part;
        check_status(afc_multipart_add_bytes(form, &part, S("x"), NULL, NULL, &failure),
                     AFC_EINVAL);
        check_contains(failure.text, cases[i].reason);
    }
    check_status(afc_multipart_add_raw(form, NULL, 1, S("x"), NULL, NULL, NULL), AFC_EINVAL);
    assert_int_equal(afc_multipart_get_count(form), 0);
    afc_multipart_free(form);
}

static void refuses_parts_after_reading_began(void **state) {
    (void)state;
    afc_multipart *form = form_new();
    char byte;
    assert_int_equal(afc_multipart_read(form, &byte, 1, NULL), 1);
    afc_part part = AFC_PART_INIT;
    check_status(afc_multipart_add_bytes(form, &part, S("x"), NULL, NULL, NULL), AFC_EINVAL);
    afc_multipart_free(form);
}

/* ---- Limits -------------------------------------------------------------------------------- */

static void limits_parts_and_headers(void **state) {
    (void)state;
    afc_part part = AFC_PART_INIT;
    afc_multipart *form = form_new();
    static char text[AFC_MULTIPART_HEAD_MAX + 1];
    memset(text, 'a', sizeof text);
    part.name = (afc_slice){text, sizeof text};
    check_status(afc_multipart_add_bytes(form, &part, S("x"), NULL, NULL, NULL), AFC_ETOOBIG);
    memset(text, '"', sizeof text);
    part.name.size = sizeof text / 3;
    check_status(afc_multipart_add_bytes(form, &part, S("x"), NULL, NULL, NULL), AFC_ETOOBIG);
    static afc_header headers[AFC_MULTIPART_HEAD_MAX];
    for (size_t i = 0; i < COUNT_OF(headers); i++) headers[i] = (afc_header){S("a"), S("b"), 0};
    part.name = S("a");
    part.headers = headers;
    part.header_count = COUNT_OF(headers);
    check_status(afc_multipart_add_bytes(form, &part, S("x"), NULL, NULL, NULL), AFC_ETOOBIG);
    part.name = (afc_slice){NULL, 5};
    check_status(afc_multipart_add_bytes(form, &part, S("x"), NULL, NULL, NULL), AFC_EINVAL);
    part.name = S("a");
    part.header_count = AFC_MULTIPART_HEAD_MAX / 6;
    check_status(afc_multipart_add_bytes(form, &part, S("x"), NULL, NULL, NULL), AFC_ETOOBIG);
    part.header_count = 0;
    for (int i = 0; i < AFC_MULTIPART_PARTS_MAX; i++) {
        check_status(afc_multipart_add_bytes(form, &part, S("x"), NULL, NULL, NULL), AFC_OK);
    }
    check_status(afc_multipart_add_bytes(form, &part, S("x"), NULL, NULL, NULL), AFC_ETOOBIG);
    afc_multipart_free(form);
}

static void refuses_length_that_overflows(void **state) {
    (void)state;
    afc_multipart *form = form_new();
    afc_part part = AFC_PART_INIT;
    script_reader script = {0};
    afc_reader reader = reader_of(&script);
    check_status(afc_multipart_add_reader(form, &part, &reader, INT64_MAX, NULL), AFC_ETOOBIG);
    check_status(afc_multipart_add_reader(form, &part, &reader, INT64_MAX - 5000, NULL), AFC_OK);
    check_status(afc_multipart_add_reader(form, &part, &reader, 5000, NULL), AFC_ETOOBIG);
    afc_multipart_free(form);
    assert_int_equal(script.releases, 3);
}

/* ---- Memory -------------------------------------------------------------------------------- */

static void out_of_memory_leaves_nothing(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "a.bin");
    write_file(path, S("file"));
    TORTURE(round) {
        script_reader script = {.bytes = S("reader")};
        afc_part part = AFC_PART_INIT;
        afc_part_file file = AFC_PART_FILE_INIT;
        file.path = path;
        afc_multipart *form = NULL;
        size_t tried = 0;
        if (afc_multipart_new(&form, NULL, NULL) == AFC_OK) {
            for (; tried < 5; tried++) {
                afc_reader reader = reader_of(&script);
                (void)!afc_multipart_add_bytes(form, &part, S("bytes"), NULL, NULL, NULL);
                (void)!afc_multipart_add_file(form, &part, &file, NULL);
                (void)!afc_multipart_add_reader(form, &part, &reader, 6, NULL);
            }
            form_contents wire = read_form(form, 10);
            if (wire.end == AFC_READ_END) {
                assert_int_equal(wire.size, afc_multipart_get_length(form));
            } else {
                /* One reader that stands in several parts has given its bytes once. */
                check_status(wire.failure.status, AFC_ESOURCE);
            }
            free(wire.bytes);
        }
        afc_multipart_free(form);
        assert_int_equal(script.releases, tried);
    }
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_one_part_of_bytes),
        cmocka_unit_test(writes_parts_of_every_kind),
        cmocka_unit_test(form_without_parts_is_its_closing_boundary),
        cmocka_unit_test(own_headers_follow_the_fixed_ones),
        cmocka_unit_test(copies_bytes_unless_borrowed),
        cmocka_unit_test(boundary_is_random),
        cmocka_unit_test(checks_the_given_boundary),
        cmocka_unit_test(refuses_boundary_that_occurs_in_a_part),
        cmocka_unit_test(refuses_control_characters),
        cmocka_unit_test(refuses_headers_that_the_form_writes),
        cmocka_unit_test(refuses_invalid_bodies),
        cmocka_unit_test(refuses_sizes_without_bytes),
        cmocka_unit_test(refuses_parts_after_reading_began),
        cmocka_unit_test(limits_parts_and_headers),
        cmocka_unit_test(refuses_length_that_overflows),
        cmocka_unit_test(out_of_memory_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
