/* The files of cookie jars: what is saved, read from other programs, and refused. */
#include "support/check.h"
#include "support/files.h"
#include "support/jar.h"

#include <afcore/hsts.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

static char *read_file(const char *path) {
    static char text[4096];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static afc_cookie_jar *jar_at(const char *path, afc_status expected) {
    afc_cookie_jar *jar;
    afc_cookie_jar_options options = AFC_COOKIE_JAR_OPTIONS_INIT;
    options.path = path;
    check_status(afc_cookie_jar_new(&jar, &options, NULL), expected);
    return jar;
}

/** S19. */
static void jar_file_is_private_and_outlives_the_process(void **state) {
    folder folder;
    (void)state;
    folder_make(&folder);
    const char *path = path_in(&folder, "jar");
    afc_cookie_jar *jar = jar_at(path, AFC_OK);
    const char *url = "https://www.example.test/a/";
    check_status(
        afc_cookie_jar_receive(jar, url, S("a=1; Max-Age=1000; HttpOnly; SameSite=Strict"), NULL),
        AFC_OK);
    check_status(
        afc_cookie_jar_receive(
            jar, url, S("b=x\ty; Max-Age=1000; Secure; Domain=example.test; Path=/"), NULL),
        AFC_OK);
    check_status(afc_cookie_jar_receive(jar, url, S("c=; Max-Age=1000"), NULL), AFC_OK);
    check_status(afc_cookie_jar_receive(jar, url, S("session=1"), NULL), AFC_OK);
    afc_cookie_jar_release(jar);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    char *text = read_file(path);
    check_contains(text, "# Netscape HTTP Cookie File\n");
    check_contains(text, "# SameSite=Strict\n#HttpOnly_www.example.test\tFALSE\t/a\tFALSE\t");
    check_contains(text, ".example.test\tTRUE\t/\tTRUE\t");
    assert_null(strstr(text, "session"));
    jar = jar_at(path, AFC_OK);
    afc_cookie_list *list;
    check_status(afc_cookie_jar_copy(&list, jar, url, NULL), AFC_OK);
    assert_int_equal(list->count, 3);
    assert_int_equal(list->cookies[0].same_site, AFC_SAME_SITE_STRICT);
    assert_true(list->cookies[0].is_http_only && list->cookies[0].is_host_only);
    assert_string_equal(list->cookies[1].value, "");
    assert_string_equal(list->cookies[2].value, "x\ty");
    assert_true(list->cookies[2].is_secure && !list->cookies[2].is_host_only);
    assert_int_equal(list->cookies[2].same_site, AFC_SAME_SITE_UNSET);
    afc_cookie_list_free(list);
    /* Nothing has changed: the file is left alone. */
    unlink(path);
    afc_cookie_jar_release(jar);
    assert_int_not_equal(stat(path, &info), 0);
    folder_remove(&folder);
}

/** As daemon() does it: the file is where the path led when the jar was made. */
static void saves_to_its_file_from_another_folder(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    char former[4096];
    assert_non_null(getcwd(former, sizeof former));
    assert_int_equal(chdir(folder.path), 0);
    afc_cookie_jar_options options = AFC_COOKIE_JAR_OPTIONS_INIT;
    options.path = "jar";
    afc_cookie_jar *jar;
    check_status(afc_cookie_jar_new(&jar, &options, NULL), AFC_OK);
    afc_hsts_options of_hsts = AFC_HSTS_OPTIONS_INIT;
    of_hsts.path = "hosts";
    afc_hsts *hsts;
    check_status(afc_hsts_new(&hsts, &of_hsts, NULL), AFC_OK);
    assert_int_equal(chdir(former), 0);
    afc_cookie cookie = AFC_COOKIE_INIT;
    cookie.domain = "h.test";
    cookie.name = "a";
    cookie.value = "1";
    cookie.expires_s = INT64_C(4102444800);
    check_status(afc_cookie_jar_set(jar, &cookie, NULL), AFC_OK);
    check_status(afc_hsts_add(hsts, "h.test", AFC_HSTS_FOREVER, false, NULL), AFC_OK);
    afc_cookie_jar_release(jar);
    afc_hsts_release(hsts);
    check_contains(read_file(path_in(&folder, "jar")), "h.test");
    check_contains(read_file(path_in(&folder, "hosts")), "h.test");
    folder_remove(&folder);
}

static void exports_what_is_saved_and_session_cookies_on_request(void **state) {
    folder folder;
    afc_bytes text;
    (void)state;
    folder_make(&folder);
    const char *path = path_in(&folder, "jar");
    afc_cookie_jar *jar = jar_new();
    afc_cookie cookie = AFC_COOKIE_INIT;
    cookie.domain = "h.test";
    cookie.name = "a";
    cookie.value = "1";
    cookie.same_site = AFC_SAME_SITE_LAX;
    cookie.is_http_only = true;
    cookie.expires_s = INT64_C(4102444800);
    check_status(afc_cookie_jar_set(jar, &cookie, NULL), AFC_OK);
    cookie.name = "b";
    cookie.is_host_only = false;
    cookie.expires_s = AFC_COOKIE_SESSION;
    cookie.same_site = AFC_SAME_SITE_UNSET;
    check_status(afc_cookie_jar_set(jar, &cookie, NULL), AFC_OK);
    check_status(afc_cookie_jar_save(jar, path, NULL), AFC_OK);
    check_status(afc_cookie_jar_export(jar, false, &text, NULL), AFC_OK);
    const char *saved = read_file(path);
    check_slice(((afc_slice){text.bytes, text.size}), saved);
    assert_string_equal(saved, "# Netscape HTTP Cookie File\n# SameSite=Lax\n"
                               "#HttpOnly_h.test\tFALSE\t/\tFALSE\t4102444800\ta\t1\n");
    afc_free(text.bytes);
    check_status(afc_cookie_jar_export(jar, true, &text, NULL), AFC_OK);
    check_slice(((afc_slice){text.bytes, text.size}),
                "# Netscape HTTP Cookie File\n# SameSite=Lax\n"
                "#HttpOnly_h.test\tFALSE\t/\tFALSE\t4102444800\ta\t1\n"
                "#HttpOnly_.h.test\tTRUE\t/\tFALSE\t0\tb\t1\n");
    afc_free(text.bytes);
    afc_cookie_jar_release(jar);
    jar = jar_new();
    check_status(afc_cookie_jar_export(jar, true, &text, NULL), AFC_OK);
    check_slice(((afc_slice){text.bytes, text.size}), "# Netscape HTTP Cookie File\n");
    afc_free(text.bytes);
    afc_cookie_jar_release(jar);
    folder_remove(&folder);
}

static void unusable_files_are_errors(void **state) {
    folder folder;
    afc_failure failure;
    (void)state;
    folder_make(&folder);
    const char *path = path_in(&folder, "none/jar");
    jar_at(path, AFC_EFILE);
    jar_at(folder.path, AFC_EFILE);
    afc_cookie_jar *jar = jar_new();
    check_status(afc_cookie_jar_save(jar, path, &failure), AFC_EFILE);
    assert_int_not_equal(failure.system_error, 0);
    check_status(afc_cookie_jar_save(jar, NULL, NULL), AFC_EINVAL);
    afc_cookie_jar_release(jar);
    folder_remove(&folder);
}

/** S19: a file is input as any other. */
static void hostile_files_are_read_line_by_line(void **state) {
    folder folder;
    (void)state;
    folder_make(&folder);
    const char *path = path_in(&folder, "jar");
    static const char good[] = "x.test\tFALSE\t/\tFALSE\t99999999999\tgood\t1\n";
    static const char *const bad[] = {
        "",
        "\n\n\t\t\t\n",
        "x.test\n",
        "x.test\tFALSE\t/\tFALSE\n",
        "x.test\tFALSE\t/\tFALSE\tsoon\ta\t1\n",
        "x.test\tFALSE\t/\tFALSE\t.5\ta\t1\n",
        "x.test\tFALSE\t/\tFALSE\t99999999999.5e1\ta\t1\n",
        "x.test\tFALSE\t/\tFALSE\t-1\ta\t1\n",
        "x.test\tFALSE\t/\tFALSE\t99999999999999999999999999999\ta\t1\n",
        "x.test\tFALSE\t/\tFALSE\t9223372036854775808\ta\t1\n",
        "x test\tFALSE\t/\tFALSE\t99999999999\ta\t1\n",
        "x.test\tFALSE\t/\tFALSE\t99999999999\t__Host-a\t1\n",
        "x.test\tFALSE\t/\tFALSE\t99999999999\ta\t\1\n",
        "x.test\tFALSE\t/\tFALSE\t1\texpired\t1\n",
        "# SameSite=\n#HttpOnly_\n#\n",
        "\377\376\n",
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        char text[1024];
        int size = snprintf(text, sizeof text, "%s%s", bad[i], good);
        write_file(path, (afc_slice){text, (size_t)size});
        afc_cookie_jar *jar = jar_at(path, AFC_OK);
        assert_int_equal(jar_count(jar, NULL), 1);
        afc_cookie_jar_release(jar);
        /* Cut anywhere, and with NULs. */
        for (int cut = 0; cut < size; cut++) {
            char saved = text[cut];
            write_file(path, (afc_slice){text, (size_t)cut});
            afc_cookie_jar_release(jar_at(path, AFC_OK));
            text[cut] = '\0';
            write_file(path, (afc_slice){text, (size_t)size});
            afc_cookie_jar_release(jar_at(path, AFC_OK));
            text[cut] = saved;
        }
    }
    folder_remove(&folder);
}

/** They stay in the file when it is saved. */
static void takes_over_what_other_programs_write(void **state) {
    (void)state;
    static const struct {
        const char *line, *saved;
    } rows[] = {
        {".localhost\tTRUE\t/\tFALSE\t4102444800\ta\t1\n",
         "localhost\tFALSE\t/\tFALSE\t4102444800\ta\t1\n"},
        {"127.0.0.1\tTRUE\t/\tFALSE\t4102444800\ta\t1\n",
         "127.0.0.1\tFALSE\t/\tFALSE\t4102444800\ta\t1\n"},
        {"co.uk\tTRUE\t/\tFALSE\t4102444800\ta\t1\n", "co.uk\tFALSE\t/\tFALSE\t4102444800\ta\t1\n"},
        {"LOCALHOST\tFALSE\t/\tFALSE\t4102444800\ta\t1\n",
         "localhost\tFALSE\t/\tFALSE\t4102444800\ta\t1\n"},
        {".X.test\tTRUE\t/\tFALSE\t4102444800\ta\t1\n",
         ".x.test\tTRUE\t/\tFALSE\t4102444800\ta\t1\n"},
        {"x.test\tFALSE\ty\tFALSE\t4102444800\ta\t1\n",
         "x.test\tFALSE\t/\tFALSE\t4102444800\ta\t1\n"},
        {".x.test\ttrue\t/\tfalse\t4102444800\ta\t1\n",
         ".x.test\tTRUE\t/\tFALSE\t4102444800\ta\t1\n"},
        {"x.test\tFALSE\t/\tTrue\t4102444800.25\ta\t1\n",
         "x.test\tFALSE\t/\tTRUE\t4102444800\ta\t1\n"},
        /* As curl writes the end of a cookie with a very large Max-Age. */
        {"x.test\tFALSE\t/\tTRUE\t9223372036854775807\ta\t1\n",
         "x.test\tFALSE\t/\tTRUE\t9223372036854775806\ta\t1\n"},
        /* A cookie of the session. */
        {"x.test\tFALSE\t/\tTRUE\t\ta\t1\n", "x.test\tFALSE\t/\tTRUE\t0\ta\t1\n"},
    };
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "jar");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_bytes text;
        write_file(path, afc_slice_of(rows[i].line));
        afc_cookie_jar *jar = jar_at(path, AFC_OK);
        check_status(afc_cookie_jar_export(jar, true, &text, NULL), AFC_OK);
        afc_cookie_jar_release(jar);
        write_file(path, (afc_slice){text.bytes, text.size});
        afc_free(text.bytes);
        check_contains(read_file(path), rows[i].saved);
    }
    folder_remove(&folder);
}

/** As editors on Windows write it, also in a part of the lines, and without an end of the last one. */
static void file_may_have_lines_that_end_with_cr_lf(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *value; /**< Value of the only cookie; NULL: no cookie. */
        bool is_http_only;
        afc_same_site same_site;
    } rows[] = {
        {"h.test\tFALSE\t/\tFALSE\t0\ta\t1\r\n", "1", false, AFC_SAME_SITE_UNSET},
        {"h.test\tFALSE\t/\tFALSE\t0\ta\t\r\n", "", false, AFC_SAME_SITE_UNSET},
        {"h.test\tFALSE\t/\tFALSE\t0\ta\r\n", "", false, AFC_SAME_SITE_UNSET},
        {"h.test\tFALSE\t/\tFALSE\t0\ta\t1\r", "1", false, AFC_SAME_SITE_UNSET},
        {"# Netscape HTTP Cookie File\r\n\r\n#HttpOnly_h.test\tFALSE\t/\tFALSE\t0\ta\t1\r\n", "1",
         true, AFC_SAME_SITE_UNSET},
        {"# SameSite=Lax\r\nh.test\tFALSE\t/\tFALSE\t0\ta\t1\r\n", "1", false, AFC_SAME_SITE_LAX},
        {"# SameSite=Strict\r\nh.test\tFALSE\t/\tFALSE\t0\ta\t1\n", "1", false,
         AFC_SAME_SITE_STRICT},
        /* Only one CR belongs to the end of a line; a cookie can't have another. */
        {"h.test\tFALSE\t/\tFALSE\t0\ta\t1\r\r\n", NULL, false, AFC_SAME_SITE_UNSET},
    };
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "jar");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        write_file(path, afc_slice_of(rows[i].text));
        afc_cookie_jar *jar = jar_at(path, AFC_OK);
        afc_cookie_list *list;
        check_status(afc_cookie_jar_copy(&list, jar, NULL, NULL), AFC_OK);
        if (list->count != (rows[i].value != NULL))
            fail_msg("row %zu: %zu cookies", i, list->count);
        if (list->count == 1) {
            assert_string_equal(list->cookies[0].value, rows[i].value);
            assert_int_equal(list->cookies[0].is_http_only, rows[i].is_http_only);
            assert_int_equal(list->cookies[0].same_site, rows[i].same_site);
        }
        afc_cookie_list_free(list);
        afc_cookie_jar_release(jar);
    }
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jar_file_is_private_and_outlives_the_process),
        cmocka_unit_test(saves_to_its_file_from_another_folder),
        cmocka_unit_test(exports_what_is_saved_and_session_cookies_on_request),
        cmocka_unit_test(unusable_files_are_errors),
        cmocka_unit_test(hostile_files_are_read_line_by_line),
        cmocka_unit_test(takes_over_what_other_programs_write),
        cmocka_unit_test(file_may_have_lines_that_end_with_cr_lf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
