/* Files of stores with far more in them than the stores keep: what stays, and at which price. */
#include "base/buffer.h"
#include "store/cookie_jar.h"
#include "store/hsts.h"
#include "support/check.h"
#include "support/files.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { FULL = 50000, HOSTS = 200000, COOKIES = 400000, OF_ONE_DOMAIN = 20000 };

static void append(afc__buffer *text, const char *format, unsigned number) {
    char line[128];
    int size = snprintf(line, sizeof line, format, number, number % 7);
    check_status(afc__buffer_append(text, line, (size_t)size), AFC_OK);
}

static void finish(afc__buffer *text, const char *path) {
    write_file(path, (afc_slice){text->bytes, text->size});
    afc__buffer_clear(text);
}

/* ---- Hosts --------------------------------------------------------------------------------- */

static afc_hsts *hsts_from(const char *path, uint32_t most) {
    afc_hsts *hsts;
    afc_hsts_options options = AFC_HSTS_OPTIONS_INIT;
    options.path = path;
    options.max_hosts = most;
    check_status(afc_hsts_new(&hsts, &options, NULL), AFC_OK);
    return hsts;
}

/** Seconds of 2099: hours, minutes and seconds of one day after the other. */
static void append_host(afc__buffer *text, unsigned number, unsigned end) {
    char line[64];
    unsigned day = end / 86400, second = end % 86400;
    int size = snprintf(line, sizeof line, "%x.t \"209901%02u %02u:%02u:%02u\"\n", number, 1 + day,
                        second / 3600, second / 60 % 60, second % 60);
    check_status(afc__buffer_append(text, line, (size_t)size), AFC_OK);
}

static bool has_host(afc_hsts *hsts, unsigned number) {
    char host[32];
    snprintf(host, sizeof host, "%x.t", number);
    return afc_hsts_has(hsts, host);
}

static void check_last_hosts_stayed(afc_hsts *hsts, const char *what) {
    for (unsigned i = 0; i < HOSTS; i += 97) {
        if (has_host(hsts, i) != (i >= HOSTS - FULL)) print_error("%s: %u\n", what, i);
        assert_int_equal(has_host(hsts, i), i >= HOSTS - FULL);
    }
    /* The one that was nearest to leaving. */
    assert_true(has_host(hsts, HOSTS - FULL));
    assert_int_equal(afc_hsts_remove(hsts, NULL), FULL);
}

/** In whichever order they are written: each later than all before, earlier, and mixed. */
static void full_store_keeps_the_hosts_that_expire_last(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "hsts");
    const unsigned steps[] = {1, HOSTS - 1, 7919};
    for (size_t i = 0; i < COUNT_OF(steps); i++) {
        afc__buffer text;
        afc__buffer_init(&text, 32 * 1024 * 1024);
        for (unsigned number = 0, line = 0; line < HOSTS; line++) {
            append_host(&text, number, number);
            number = (unsigned)(((uint64_t)number + steps[i]) % HOSTS);
        }
        finish(&text, path);
        afc_hsts *hsts = hsts_from(path, FULL);
        check_last_hosts_stayed(hsts, i == 0 ? "upwards" : i == 1 ? "downwards" : "mixed");
        afc_hsts_release(hsts);
    }
    folder_remove(&folder);
}

static void repeated_host_has_the_expiry_of_its_last_line(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "hsts");
    write_file(path, S("a.test \"unlimited\"\nb.test \"20990101 00:00:00\"\n"
                       "a.test \"20980101 00:00:00\"\nc.test \"20970101 00:00:00\"\n"
                       "d.test \"20980601 00:00:00\"\n"));
    afc_hsts *hsts = hsts_from(path, 2);
    assert_true(afc_hsts_has(hsts, "b.test") && afc_hsts_has(hsts, "d.test"));
    assert_int_equal(afc_hsts_remove(hsts, NULL), 2);
    afc_hsts_release(hsts);
    folder_remove(&folder);
}

/** CPU time, which other programs on the machine don't use up. */
static int64_t used_us(void) {
    struct timespec used;
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    return (int64_t)used.tv_sec * 1000000 + used.tv_nsec / 1000;
}

/** A file for a store with `most` entries. */
typedef void fill_file(afc__buffer *text, unsigned most);

static void fill_with_hosts(afc__buffer *text, unsigned most) {
    for (unsigned i = 0; i < 4 * most; i++) append_host(text, i, i);
}

static void fill_with_hosts_of_one_site(afc__buffer *text, unsigned most) {
    for (unsigned i = 0; i < 4 * most; i++)
        append(text, "%x.x.t \"2099010%u 00:00:00\"\n", i * 7 + 1);
}

static void fill_with_cookies(afc__buffer *text, unsigned most) {
    for (unsigned i = 0; i < 4 * most; i++)
        append(text, "%x.t\tFALSE\t/\tFALSE\t4102444800\ta\t%u\n", i);
}

static void load_hsts(const char *path, unsigned most) {
    afc_hsts_release(hsts_from(path, most));
}

static void load_jar(const char *path, unsigned most);

/** The CPU time of loading a file. */
static int64_t time_of_loading(const char *path, fill_file *fill,
                               void (*load)(const char *path, unsigned most), unsigned most) {
    afc__buffer text;
    afc__buffer_init(&text, 32 * 1024 * 1024);
    fill(&text, most);
    finish(&text, path);
    int64_t start = used_us();
    load(path, most);
    return used_us() - start;
}

/**
 * A store that looked through all that it keeps for every line, or had all of it in one place of its table, would take
 * sixteen times as long for four times as much. Caches that are too small for the larger store make it less than twice
 * as slow; the best of three attempts counts, so that a disturbance doesn't.
 */
static void time_of_loading_grows_with_the_file(void **state) {
    (void)state;
    static const struct {
        const char *what;
        fill_file *fill;
        void (*load)(const char *path, unsigned most);
        unsigned most;
    } rows[] = {
        {"hosts", fill_with_hosts, load_hsts, FULL / 32},
        {"hosts of one site", fill_with_hosts_of_one_site, load_hsts, FULL / 8},
        {"cookies", fill_with_cookies, load_jar, FULL / 4},
    };
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "file");
    for (size_t row = 0; row < COUNT_OF(rows); row++) {
        int64_t least = INT64_MAX;
        for (int i = 0; i < 3 && least > 800; i++) {
            int64_t small = time_of_loading(path, rows[row].fill, rows[row].load, rows[row].most);
            int64_t large = time_of_loading(path, rows[row].fill, rows[row].load,
                                            4 * rows[row].most);
            int64_t ratio = large * 100 / (small > 0 ? small : 1);
            if (ratio < least) least = ratio;
        }
        if (least > 800) print_error("%s: %d hundredths\n", rows[row].what, (int)least);
        assert_true(least <= 800);
    }
    folder_remove(&folder);
}

/* ---- Cookies ------------------------------------------------------------------------------- */

static afc_cookie_jar *jar_from(const char *path, uint32_t most) {
    afc_cookie_jar *jar;
    afc_cookie_jar_options options = AFC_COOKIE_JAR_OPTIONS_INIT;
    options.path = path;
    options.max_cookies = most;
    check_status(afc_cookie_jar_new(&jar, &options, NULL), AFC_OK);
    return jar;
}

static void load_jar(const char *path, unsigned most) {
    afc_cookie_jar_release(jar_from(path, most));
}

static void last_lines_of_an_oversized_file_are_kept(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "jar");
    afc__buffer text;
    afc__buffer_init(&text, 32 * 1024 * 1024);
    for (unsigned i = 0; i < COOKIES; i++) {
        append(&text, "%x.t\tFALSE\t/\tFALSE\t4102444800\ta\t%u\n", i);
    }
    finish(&text, path);
    afc_cookie_jar *jar = jar_from(path, 0);
    assert_int_equal(jar->count, 3000);
    afc_cookie_list *list;
    check_status(afc_cookie_jar_copy(&list, jar, NULL, NULL), AFC_OK);
    assert_int_equal(list->count, 3000);
    for (unsigned i = 0; i < list->count; i++) {
        char domain[32];
        snprintf(domain, sizeof domain, "%x.t", COOKIES - 3000 + i);
        assert_string_equal(list->cookies[i].domain, domain);
    }
    afc_cookie_list_free(list);
    afc_cookie_jar_release(jar);
    folder_remove(&folder);
}

static void limits_cookies_per_domain(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "jar");
    afc__buffer text;
    afc__buffer_init(&text, 32 * 1024 * 1024);
    append(&text, "x.t\tFALSE\t/\tFALSE\t4102444800\tfirst%u\t%u\n", 0);
    append(&text, "x.t\tFALSE\t/\tTRUE\t4102444800\tsecure%u\t%u\n", 0);
    for (unsigned i = 0; i < OF_ONE_DOMAIN; i++) {
        append(&text, "x.t\tFALSE\t/\tFALSE\t4102444800\t%x\t%u\n", i);
    }
    finish(&text, path);
    afc_cookie_jar *jar = jar_from(path, 0);
    assert_int_equal(jar->count, 180);
    assert_int_equal(afc_cookie_jar_remove(jar, "first0", NULL, NULL), 0);
    assert_int_equal(afc_cookie_jar_remove(jar, "secure0", NULL, NULL), 1);
    afc_cookie_jar_release(jar);
    folder_remove(&folder);
}

/* ---- While it is used ---------------------------------------------------------------------- */

static void keep(afc_cookie_jar *jar, const char *host, const char *line, int64_t now) {
    const char *why;
    const afc__cookie_site site = {host, S("/"), true};
    check_status(afc__cookie_jar_keep(jar, &site, afc_slice_of(line), now, &why), AFC_OK);
}

static bool has_cookie(afc_cookie_jar *jar, const char *host, int64_t now) {
    char *sent;
    const afc__cookie_site site = {host, S("/"), true};
    check_status(afc__cookie_jar_write(jar, &site, now, (afc_slice){0}, &sent), AFC_OK);
    bool has = sent != NULL;
    afc_free(sent);
    return has;
}

/** Expired ones first, however the one that ended first left; then by use, not by age. */
static void full_jar_evicts_expired_then_unused(void **state) {
    (void)state;
    afc_cookie_jar *jar = jar_from(NULL, 4);
    keep(jar, "a.t", "a=1", 10);
    keep(jar, "b.t", "b=1; Max-Age=5", 10);
    keep(jar, "c.t", "c=1; Max-Age=100", 10);
    keep(jar, "d.t", "d=1; Max-Age=50", 10);
    assert_true(has_cookie(jar, "a.t", 12));
    keep(jar, "e.t", "e=1", 15);
    assert_false(has_cookie(jar, "b.t", 12));
    assert_true(has_cookie(jar, "c.t", 15));
    keep(jar, "d.t", "d=2; Max-Age=500", 15);
    assert_true(has_cookie(jar, "e.t", 15));
    /* None has expired: a.t was not used for longest. */
    keep(jar, "f.t", "f=1", 100);
    assert_false(has_cookie(jar, "a.t", 100));
    keep(jar, "g.t", "g=1", 110);
    assert_int_equal(jar->count, 4);
    assert_true(has_cookie(jar, "d.t", 110) && has_cookie(jar, "e.t", 110));
    assert_true(has_cookie(jar, "f.t", 110) && has_cookie(jar, "g.t", 110));
    afc_cookie_jar_release(jar);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        /* First: if it fails, the others take minutes. */
        cmocka_unit_test(time_of_loading_grows_with_the_file),
        cmocka_unit_test(full_store_keeps_the_hosts_that_expire_last),
        cmocka_unit_test(repeated_host_has_the_expiry_of_its_last_line),
        cmocka_unit_test(last_lines_of_an_oversized_file_are_kept),
        cmocka_unit_test(limits_cookies_per_domain),
        cmocka_unit_test(full_jar_evicts_expired_then_unused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
