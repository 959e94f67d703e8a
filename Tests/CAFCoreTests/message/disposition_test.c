/* Which name an answer suggests for its body, and that it can do no harm. */
#include "support/check.h"

#include <afcore/url.h>

#include "base/buffer.h"
#include "message/disposition.h"
#include "message/media_types.h"

typedef struct row {
    afc_slice value;
    const char *name; /**< NULL: none. */
} row;

static void check_rows(const row *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        char name[AFC_FILE_NAME_MAX + 1] = "untouched";
        bool found = afc__disposition_file_name(name, rows[i].value);
        if (rows[i].name == NULL) {
            if (found) fail_msg("%s: %s", rows[i].value.bytes, name);
        } else if (!found || strcmp(name, rows[i].name) != 0) {
            fail_msg("%s: %s instead of %s", rows[i].value.bytes, found ? name : "nothing",
                     rows[i].name);
        }
    }
}

static void reads_parameters_as_servers_write_them(void **state) {
    (void)state;
    static const row rows[] = {
        {ROW_S("attachment; filename=\"report.pdf\""), "report.pdf"},
        {ROW_S("attachment; filename=report.pdf"), "report.pdf"},
        {ROW_S("ATTACHMENT; FILENAME=\"Report.PDF\""), "Report.PDF"},
        {ROW_S("inline; filename=\"a.txt\""), "a.txt"},
        {ROW_S("form-data; name=\"f\"; filename=\"a.txt\""), "a.txt"},
        {ROW_S("filename=a.txt"), "a.txt"},
        {ROW_S("attachment ;filename = \"a.txt\" ; x=y"), "a.txt"},
        {ROW_S("attachment; filename=my report.pdf"), "my report.pdf"},
        {ROW_S("attachment; filename=\"a;b.txt\"; size=3"), "a;b.txt"},
        {ROW_S("attachment; filename=\"a \\\"b\\\" c.txt\""), "a \"b\" c.txt"},
        {ROW_S("attachment; filename=\"a\\;b.txt\""), "a;b.txt"},
        {ROW_S("attachment; xfilename=no; filename=yes"), "yes"},
        {ROW_S("attachment; x=\"; filename=no\"; filename=yes"), "yes"},
        {ROW_S("attachment; x=\"\\\"; filename=no\"; filename=yes"), "yes"},
        {ROW_S("attachment; filename=first; filename=second"), "first"},
        {ROW_S("attachment; filename=\"\"; filename=second"), "second"},
        {ROW_S("attachment; filename=\"a\"junk; x=y"), "a"},
        {ROW_S("attachment; filename=100%25.txt"), "100%25.txt"},
        {ROW_S("attachment; ; filename=a"), "a"},
        {ROW_S("\"foo; filename=bar;baz\"; filename=qux"), "qux"},
        {ROW_S(" \"a\\\"; filename=bar\" ; filename=qux"), "qux"},
        {ROW_S("x \"; filename=bar\"; filename=qux"), "qux"},
        {ROW_S("\"; filename=bar\"=\"; filename=baz\"; filename=qux"), "qux"},
        {ROW_S("\"foo; filename=bar"), NULL},
        {ROW_S("attachment"), NULL},
        {ROW_S(""), NULL},
        {{NULL, 0}, NULL},
        {ROW_S("attachment; filename"), NULL},
        {ROW_S("attachment; filename="), NULL},
        {ROW_S("attachment; filename=\"\""), NULL},
        {ROW_S("attachment; filename=\"open"), NULL},
        {ROW_S("attachment; filename=\"open\\"), NULL},
        {ROW_S("attachment; filename=\"open\\\""), NULL},
        {ROW_S("attachment; filename=\"open; filename=not-seen"), NULL},
        {ROW_S("\"filename=a\""), NULL},
    };
    check_rows(rows, COUNT_OF(rows));
}

static void prefers_extended_values(void **state) {
    (void)state;
    static const row rows[] = {
        {ROW_S("attachment; filename*=UTF-8''na%C3%AFve%20file.txt"), "na\xC3\xAFve file.txt"},
        {ROW_S("attachment; filename*=utf-8'en'%e2%82%ac.txt"), "\xE2\x82\xAC.txt"},
        {ROW_S("attachment; filename*=UTF-8''%E0%B8%81.txt"), "\xE0\xB8\x81.txt"},
        {ROW_S("attachment; filename*=UTF-8''%F4%8F%BF%BF.txt"), "\xF4\x8F\xBF\xBF.txt"},
        {ROW_S("attachment; filename*=iso-8859-1''%A3.txt"), "\xC2\xA3.txt"},
        {ROW_S("attachment; filename*=ISO-8859-1''%80.txt"), "\xE2\x82\xAC.txt"},
        {ROW_S("attachment; filename=a.txt; filename*=UTF-8''b.txt"), "b.txt"},
        {ROW_S("attachment; filename*=UTF-8''b.txt; filename=a.txt"), "b.txt"},
        {ROW_S("attachment; FILENAME*=UTF-8''b.txt"), "b.txt"},
        {ROW_S("attachment; filename*=\"UTF-8''b%20c.txt\""), "b c.txt"},
        {ROW_S("attachment; filename*=UTF-8''it's"), "it's"},
        {ROW_S("attachment; filename*=UTF-8''a%; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8''a%4; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8''a%zz; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8''%FC; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8''%C0%AFetc; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8''%ED%A0%80; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8''%ED%BF%BF; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8''%F5%80%80%80; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-16''a; filename=b"), "b"},
        {ROW_S("attachment; filename*=''a; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8'a; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8'; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8''; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8''%2E%2E; filename=b"), "b"},
        {ROW_S("attachment; filename*=UTF-8''%FF; filename*=UTF-8''c"), "c"},
        {ROW_S("attachment; filename*0=\"a\"; filename*1=\"b\""), NULL},
    };
    check_rows(rows, COUNT_OF(rows));
}

static void reads_raw_bytes_as_browsers_do(void **state) {
    (void)state;
    static const row rows[] = {
        {ROW_S("attachment; filename=\"\xC3\xA9t\xC3\xA9.txt\""), "\xC3\xA9t\xC3\xA9.txt"},
        {ROW_S("attachment; filename=\"\xE9t\xE9.txt\""), "\xC3\xA9t\xC3\xA9.txt"},
        {ROW_S("attachment; filename=\xE9t\xE9.txt"), "\xC3\xA9t\xC3\xA9.txt"},
        {ROW_S("attachment; filename=\"5\x80.txt\""), "5\xE2\x82\xAC.txt"},
        {ROW_S("attachment; filename=\"\x81\x8D\x8F\x90\x9D.txt\""), "txt"},
        {ROW_S("attachment; filename=\"\xF0\x9F\x93\x84.txt\""), "\xF0\x9F\x93\x84.txt"},
        {ROW_S("attachment; filename=\"\xF0\x9F\x93.txt\""), "\xC3\xB0\xC5\xB8\xE2\x80\x9C.txt"},
    };
    check_rows(rows, COUNT_OF(rows));
}

static void makes_hostile_names_harmless(void **state) {
    (void)state;
    static const row rows[] = {
        {ROW_S("a; filename=\"../../etc/passwd\""), "passwd"},
        {ROW_S("a; filename=\"/etc/passwd\""), "passwd"},
        {ROW_S("a; filename=\"C:\\Users\\me\\new.txt\""), "new.txt"},
        {ROW_S("a; filename=\"..\\\\..\\\\evil.exe\""), "evil.exe"},
        {ROW_S("a; filename*=UTF-8''..%2F..%5Cevil"), "evil"},
        {ROW_S("a; filename=\"dir/\""), NULL},
        {ROW_S("a; filename=\"dir/..\""), NULL},
        {ROW_S("a; filename=\".\""), NULL},
        {ROW_S("a; filename=\"..\""), NULL},
        {ROW_S("a; filename=\". . .\""), NULL},
        {ROW_S("a; filename=\".bashrc\""), "bashrc"},
        {ROW_S("a; filename=\" . .. x\""), "x"},
        {ROW_S("a; filename=\"x. . .\""), "x"},
        {ROW_S("a; filename=\"..x..y..\""), "x..y"},
        {ROW_S("a; filename=\".\x01.\""), NULL},
        {ROW_S("a; filename=\"\x01.\x7F.x\""), "x"},
        {ROW_S("a; filename=\"x.exe\0.txt\""), "x.exe.txt"},
        {ROW_S("a; filename*=UTF-8''x%00%0D%0A%1B.txt"), "x.txt"},
        {ROW_S("a; filename*=UTF-8''x%C2%85.txt"), "x.txt"},
        {ROW_S("a; filename*=UTF-8''x%E2%80%A8y%E2%80%A9.txt"), "xy.txt"},
        {ROW_S("a; filename*=UTF-8''%E2%80%AEgpj.exe"), "gpj.exe"},
        {ROW_S("a; filename*=UTF-8''%E2%81%A6%EF%BB%BF%D8%9Cx"), "x"},
        {ROW_S("a; filename=CON"), "_CON"},
        {ROW_S("a; filename=\"con.tar.gz\""), "_con.tar.gz"},
        {ROW_S("a; filename=\"nul .txt\""), "_nul .txt"},
        {ROW_S("a; filename=aux"), "_aux"},
        {ROW_S("a; filename=Prn.x"), "_Prn.x"},
        {ROW_S("a; filename=COM1"), "_COM1"},
        {ROW_S("a; filename=lpt9.txt"), "_lpt9.txt"},
        {ROW_S("a; filename=\"COM\xC2\xB9.txt\""), "_COM\xC2\xB9.txt"},
        {ROW_S("a; filename=conin$"), "_conin$"},
        {ROW_S("a; filename=.con"), "_con"},
        {ROW_S("a; filename=COM"), "COM"},
        {ROW_S("a; filename=COM10"), "COM10"},
        {ROW_S("a; filename=COMX"), "COMX"},
        {ROW_S("a; filename=console"), "console"},
        {ROW_S("a; filename=xCON"), "xCON"},
    };
    check_rows(rows, COUNT_OF(rows));
}

/** The name for `count` times `unit` between two texts; empty without one. */
static void suggest_long(char *name, const char *before, const char *unit, size_t count,
                         const char *after) {
    afc__buffer value;
    afc__buffer_init(&value, UINT16_MAX);
    assert_int_equal(afc__buffer_append_two(&value, S("a; filename=\""), afc_slice_of(before)),
                     AFC_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(afc__buffer_append(&value, unit, strlen(unit)), AFC_OK);
    }
    assert_int_equal(afc__buffer_append_two(&value, afc_slice_of(after), S("\"")), AFC_OK);
    if (!afc__disposition_file_name(name, (afc_slice){value.bytes, value.size})) name[0] = '\0';
    afc__buffer_clear(&value);
}

/** Returns where the mark of a shortened name begins; fails without one of "~" and 16 digits before `after`. */
static const char *mark_in(const char *name, const char *after) {
    const char *mark = strrchr(name, '~');
    assert_non_null(mark);
    assert_int_equal(strspn(mark + 1, "0123456789abcdef"), 16);
    assert_string_equal(mark + 17, after);
    return mark;
}

static void keeps_shortened_names_apart(void **state) {
    (void)state;
    char one[AFC_FILE_NAME_MAX + 1], other[AFC_FILE_NAME_MAX + 1];
    suggest_long(one, "", "n", 230, "A.txt");
    suggest_long(other, "", "n", 230, "B.txt");
    assert_string_not_equal(one, other);
    assert_memory_equal(one, other, (size_t)(mark_in(one, ".txt") - one));
    suggest_long(other, "", "n", 230, "A.txt");
    assert_string_equal(one, other);
    suggest_long(one, "A", "n", 230, "");
    suggest_long(other, "A", "n", 231, "");
    assert_string_not_equal(one, other);
}

static void cuts_long_names_before_the_extension(void **state) {
    (void)state;
    char name[AFC_FILE_NAME_MAX + 1];
    suggest_long(name, "", "x", AFC_FILE_NAME_MAX - 5, ".txt");
    assert_int_equal(strlen(name), AFC_FILE_NAME_MAX - 1);
    assert_null(strchr(name, '~'));
    suggest_long(name, "", "x", 4000, ".txt");
    assert_int_equal(strlen(name), AFC_FILE_NAME_MAX - 1);
    assert_int_equal(mark_in(name, ".txt")[-1], 'x');
    /* Three bytes each: what is left of the room is no whole character. */
    suggest_long(name, "", "\xE2\x82\xAC", 1000, ".txt");
    assert_int_equal((mark_in(name, ".txt") - name) % 3, 0);
    assert_true(strlen(name) > AFC_FILE_NAME_MAX - 4);
    assert_memory_equal(mark_in(name, ".txt") - 3, "\xE2\x82\xAC", 3);
    suggest_long(name, "x.", "y", 1000, "");
    assert_int_equal(strlen(name), AFC_FILE_NAME_MAX - 1);
    suggest_long(name, "x", ". ", 1000, "yyyyyyyyyyyyyyyyyyyy");
    assert_ptr_equal(mark_in(name, ""), name + 1);
    suggest_long(name, "CON", " ", 1000, "x");
    assert_ptr_equal(mark_in(name, ""), name + 3);
    suggest_long(name, "CON.", "x", 1000, ".txt");
    assert_int_equal(strlen(name), AFC_FILE_NAME_MAX);
    assert_int_equal(mark_in(name, ".txt")[-1], 'x');
    assert_memory_equal(name, "_CON.x", 6);
    suggest_long(name, "", "x", AFC__FILE_NAME_SOURCE + 1, "");
    assert_string_equal(name, "");
    suggest_long(name, "", "\xE9", AFC__FILE_NAME_SOURCE / 2 + 1, "");
    assert_string_equal(name, "");
}

static void uses_the_url_without_a_disposition(void **state) {
    (void)state;
    static const struct {
        const char *disposition, *type, *url, *name;
    } rows[] = {
        {"attachment; filename=a.txt", "text/html", "https://host/b.txt", "a.txt"},
        {"attachment", "text/html", "https://host/b.txt", "b.txt"},
        {"attachment; filename=..", NULL, "https://host/b.txt", "b.txt"},
        {NULL, "text/html", "https://host/d/b.txt?c=/d.txt#/e", "b.txt"},
        {NULL, NULL, "https://host/a%20b%C3%A9.txt", "a b\xC3\xA9.txt"},
        {NULL, NULL, "https://host/%E9.txt", "\xC3\xA9.txt"},
        {NULL, NULL, "https://host/100%.txt", "100%.txt"},
        {NULL, NULL, "https://host/x/..%2F..%5Cetc%2fpasswd", "passwd"},
        {NULL, NULL, "https://host/%2Ebashrc", "bashrc"},
        {NULL, NULL, "https://host/nul%00", "_nul"},
        {NULL, "image/png", "https://host/", "download.png"},
        {NULL, "image/png", "https://host", "download.png"},
        {NULL, "image/png", "https://host?a/b", "download.png"},
        {NULL, "image/png", "https://host/a/", "download.png"},
        {NULL, "image/png", "https://host/%2E%2E", "download.png"},
        {NULL, "Text/HTML ; charset=utf-8", NULL, "download.html"},
        {NULL, "application/octet-stream", NULL, "download"},
        {NULL, "x/unknown", "", "download"},
        {NULL, NULL, NULL, "download"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_header headers[2];
        afc_head head = {.status = 200, .headers = headers};
        if (rows[i].disposition != NULL) {
            headers[head.header_count++] = (afc_header){S("content-disposition"),
                                                        afc_slice_of(rows[i].disposition), 0};
        }
        if (rows[i].type != NULL) {
            headers[head.header_count++] = (afc_header){S("Content-Type"),
                                                        afc_slice_of(rows[i].type), 0};
        }
        char name[AFC_FILE_NAME_MAX + 1];
        afc_suggest_file_name(name, &head, rows[i].url);
        assert_string_equal(name, rows[i].name);
    }
    char name[AFC_FILE_NAME_MAX + 1];
    afc_suggest_file_name(name, NULL, "http://host/a");
    assert_string_equal(name, "a");
}

/** A name that was typed as part of a URL must be the name of the file, or nothing is written. */
static void url_names_a_file_or_gives_a_reason(void **state) {
    (void)state;
    static const struct {
        const char *url, *name, *reason;
    } rows[] = {
        {"http://host/film.mp4", "film.mp4", NULL},
        {"http://host:80/a/b/film.tar.gz?x=/y.z#/w", "film.tar.gz", NULL},
        {"https://ada:se/cret@host/film", "film", NULL},
        {"http://host//film", "film", NULL},
        {"http://host/a%20b%C3%A4.txt", "a b\u00e4.txt", NULL},
        {"http://host/100%+4%4", "100%+4%4", NULL},
        {"http://host/-o", "-o", NULL},
        {"http://host/x?a=b//c", "x", NULL},
        {"http://host/con", "_con", NULL},
        {"http://host/a.", "a", NULL},
        {"http://host", NULL, "is empty"},
        {"http://host/", NULL, "is empty"},
        {"http://host?x=/y", NULL, "is empty"},
        {"http://host#/y", NULL, "is empty"},
        {"http://host/folder/", NULL, "is empty"},
        {"host", NULL, "is empty"},
        {"", NULL, "is empty"},
        {"http://host/..", NULL, "hidden"},
        {"http://host/%2Ebashrc", NULL, "hidden"},
        {"http://host/a%2Fb", NULL, "separator"},
        {"http://host/a%5Cb", NULL, "separator"},
        {"http://host/a%00", NULL, "control character"},
        {"http://host/%1B%5B2J", NULL, "control character"},
        {"http://host/a%C2%85", NULL, "control character"},
        {"http://host/gpj.%E2%80%AEexe", NULL, "control character"},
        {"http://host/%FF%FE", NULL, "UTF-8"},
        {"http://host/%20", NULL, "nothing"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char name[AFC_FILE_NAME_MAX + 1] = "before";
        afc_failure failure = {0};
        afc_status status = afc_url_file_name(name, afc_slice_of(rows[i].url), &failure);
        if (status != (rows[i].name != NULL ? AFC_OK : AFC_EINVAL)) fail_msg("%s", rows[i].url);
        assert_string_equal(name, rows[i].name != NULL ? rows[i].name : "");
        if (rows[i].reason != NULL) check_contains(failure.text, rows[i].reason);
    }
    char name[AFC_FILE_NAME_MAX + 1], longest[5000];
    memset(longest, 'a', sizeof longest);
    memcpy(longest, "http://h/", 9);
    afc_failure failure;
    afc_slice url = {longest, sizeof longest};
    check_status(afc_url_file_name(name, url, &failure), AFC_EINVAL);
    check_contains(failure.text, "too long");
}

static void uses_the_first_field_that_names_a_file(void **state) {
    (void)state;
    const afc_header headers[] = {{S("Content-Disposition"), S("attachment"), 0},
                                  {S("Content-Disposition"), S("attachment; filename=b"), 0},
                                  {S("Content-Disposition"), S("attachment; filename=c"), 0}};
    afc_head head = {.status = 200, .headers = headers, .header_count = 3};
    char name[AFC_FILE_NAME_MAX + 1];
    afc_suggest_file_name(name, &head, "http://host/a");
    assert_string_equal(name, "b");
}

static void adds_the_extension_of_the_media_type(void **state) {
    (void)state;
    assert_string_equal(afc__extension_of_media_type(S("text/plain")), "txt");
    assert_string_equal(afc__extension_of_media_type(S(" IMAGE/JPEG;q=1")), "jpeg");
    assert_null(afc__extension_of_media_type(S("")));
    assert_null(afc__extension_of_media_type((afc_slice){NULL, 0}));
    assert_null(afc__extension_of_media_type(S("text")));
    assert_null(afc__extension_of_media_type(S("text/plain\0")));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_parameters_as_servers_write_them),
        cmocka_unit_test(prefers_extended_values),
        cmocka_unit_test(reads_raw_bytes_as_browsers_do),
        cmocka_unit_test(makes_hostile_names_harmless),
        cmocka_unit_test(cuts_long_names_before_the_extension),
        cmocka_unit_test(keeps_shortened_names_apart),
        cmocka_unit_test(uses_the_url_without_a_disposition),
        cmocka_unit_test(url_names_a_file_or_gives_a_reason),
        cmocka_unit_test(uses_the_first_field_that_names_a_file),
        cmocka_unit_test(adds_the_extension_of_the_media_type),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
