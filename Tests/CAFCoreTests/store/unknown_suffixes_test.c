/* Cookies in a process that finds no list of public suffixes, while others that share the file have one. */
#include "store/suffixes.h"
#include "support/files.h"

#include <afcore/cookie.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** Passes on to libc, but finds no libpsl. */
void *dlopen(const char *name, int flags) {
    static void *(*real)(const char *, int);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "dlopen");
    return name != NULL && strstr(name, "psl") != NULL ? NULL : real(name, flags);
}

static size_t count_sent(afc_cookie_jar *jar, const char *url) {
    afc_cookie_list *list;
    check_status(afc_cookie_jar_copy(&list, jar, url, NULL), AFC_OK);
    size_t count = list->count;
    afc_cookie_list_free(list);
    return count;
}

static void check_lines(const char *path, const char *const *lines, size_t count) {
    char text[2048] = "";
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_true(fread(text, 1, sizeof text - 1, file) > 0);
    fclose(file);
    for (size_t i = 0; i < count; i++) check_contains(text, lines[i]);
}

static afc_cookie_jar *open_jar(const char *path) {
    afc_cookie_jar *jar;
    afc_cookie_jar_options options = AFC_COOKIE_JAR_OPTIONS_INIT;
    options.path = path;
    check_status(afc_cookie_jar_new(&jar, &options, NULL), AFC_OK);
    return jar;
}

static void domain_of_a_file_is_kept_and_sent_to_itself_only(void **state) {
    (void)state;
    static const char line[] = ".example.com\tTRUE\t/\tFALSE\t4000000000\tsid\tsecret\n";
    static const char other[] = "a.test\tFALSE\t/\tFALSE\t4000000000\tone\t1\n";
    static const char *const lines[] = {line, other};
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "jar");
    assert_false(afc__suffixes_are_known());
    write_file(path, afc_slice_of(line));
    afc_cookie_jar *jar = open_jar(path);
    assert_int_equal(count_sent(jar, "http://example.com/"), 1);
    assert_int_equal(count_sent(jar, "http://www.example.com/"), 0);
    /* The file is written when something has changed. */
    afc_cookie cookie = AFC_COOKIE_INIT;
    cookie.name = "one";
    cookie.value = "1";
    cookie.domain = "a.test";
    cookie.path = "/";
    cookie.is_host_only = true;
    cookie.expires_s = 4000000000;
    check_status(afc_cookie_jar_set(jar, &cookie, NULL), AFC_OK);
    afc_cookie_jar_release(jar);
    check_lines(path, lines, COUNT_OF(lines));
    folder_remove(&folder);
}

/** Two cookies of one name would be sent, and one of them never changed again. */
static void server_replaces_the_cookie_of_a_file(void **state) {
    (void)state;
    static const char *const lines[] = {".example.com\tTRUE\t/\tFALSE\t", "\tsid\tnew"};
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "jar");
    write_file(path, S(".example.com\tTRUE\t/\tFALSE\t4000000000\tsid\told\n"));
    afc_cookie_jar *jar = open_jar(path);
    check_status(afc_cookie_jar_receive(jar, "http://example.com/",
                                        S("sid=new; Domain=example.com; Path=/; Max-Age=1000"),
                                        NULL),
                 AFC_OK);
    assert_int_equal(count_sent(jar, "http://example.com/"), 1);
    assert_int_equal(count_sent(jar, "http://www.example.com/"), 0);
    /* A host above may be a public suffix. */
    check_status(afc_cookie_jar_receive(jar, "http://www.example.com/",
                                        S("sid=other; Domain=example.com"), NULL),
                 AFC_EINVAL);
    afc_cookie_jar_release(jar);
    check_lines(path, lines, COUNT_OF(lines));
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(domain_of_a_file_is_kept_and_sent_to_itself_only),
        cmocka_unit_test(server_replaces_the_cookie_of_a_file),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
