/* Hosts that want https: what a field says, what a store remembers, its file, and requests. */
#include "base/alloc.h"
#include "store/hsts.h"
#include "support/call.h"
#include "support/files.h"
#include "support/torture.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOW = 1000000 };

static afc_hsts *make_store(void) {
    afc_hsts *hsts;
    check_status(afc_hsts_new(&hsts, NULL, NULL), AFC_OK);
    return hsts;
}

static void keep(afc_hsts *hsts, const char *host, int64_t age, bool includes_subdomains) {
    const afc__hsts_field field = {age, includes_subdomains};
    check_status(afc__hsts_keep(hsts, host, &field, NOW), AFC_OK);
}

/* ---- The field and the store --------------------------------------------------------------- */

static void parses_strict_transport_security(void **state) {
    (void)state;
    static const int64_t longest = INT64_C(100) * 366 * 86400;
    const struct {
        const char *value;
        int64_t age; /**< -1: ignored. */
        bool includes_subdomains;
    } rows[] = {
        {"max-age=10", 10, false},
        {"Max-Age=\"10\"; INCLUDESUBDOMAINS", 10, true},
        {" includeSubDomains ;; max-age = 10 ; preload; x=y", 10, true},
        {"max-age=0", 0, false},
        {"max-age=99999999999999999999999999999999", longest, false},
        {"max-age=18446744073709551617", longest, false},
        {"max-age=9223372036854775808", longest, false},
        {"", -1, false},
        {"includeSubDomains", -1, false},
        {"max-age", -1, false},
        {"max-age=", -1, false},
        {"max-age=-1", -1, false},
        {"max-age=1x", -1, false},
        {"max-age='1'", -1, false},
        {"max-age=1; max-age=2", -1, false},
        {"max-age=1; includeSubDomains; includeSubDomains", -1, false},
        {"max-age=1; includeSubDomains=no", -1, false},
        {"max-age=1, includeSubDomains", -1, false},
        /* What a quoted string contains is no directive (RFC 6797 6.1). */
        {"max-age=1; x=\"a;includeSubDomains;b\"", 1, false},
        {"max-age=31536000; x=\";max-age=2;\"", 31536000, false},
        {"x=\"a\\\";max-age=2\"; max-age=10; includeSubDomains", 10, true},
        {"x=\"\\\\\"; max-age=10", 10, false},
        {"x=\\; max-age=10", 10, false},
        {"max-age=\"10;\"", -1, false},
        /* Nothing is a directive for certain where a quoted string has no end. */
        {"max-age=10; x=\"", -1, false},
        {"max-age=10; x=\"a; includeSubDomains", -1, false},
        {"max-age=10; x=\"a\\\"", -1, false},
        {"max-age=10; x=\"a\\", -1, false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__hsts_field field;
        bool is_read = afc__hsts_read(&field, afc_slice_of(rows[i].value));
        if (is_read != (rows[i].age >= 0)) print_error("%s\n", rows[i].value);
        assert_int_equal(is_read, rows[i].age >= 0);
        if (!is_read) continue;
        assert_int_equal(field.age, rows[i].age);
        assert_int_equal(field.includes_subdomains, rows[i].includes_subdomains);
    }
}

/** S34: parents and children say only what they say of themselves. */
static void parent_and_child_hosts_have_separate_entries(void **state) {
    (void)state;
    afc_hsts *hsts = make_store();
    keep(hsts, "parent.test", 100, true);
    keep(hsts, "alone.test", 100, false);
    assert_true(afc__hsts_wants(hsts, "parent.test", NOW));
    assert_true(afc__hsts_wants(hsts, "a.b.parent.test", NOW));
    assert_false(afc__hsts_wants(hsts, "notparent.test", NOW));
    assert_false(afc__hsts_wants(hsts, "test", NOW));
    assert_true(afc__hsts_wants(hsts, "alone.test", NOW));
    assert_false(afc__hsts_wants(hsts, "below.alone.test", NOW));
    /* A child that wants it for shorter, or no more, changes nothing for its parent, nor the other way. */
    keep(hsts, "child.parent.test", 10, false);
    assert_true(afc__hsts_wants(hsts, "child.parent.test", NOW + 50));
    keep(hsts, "child.parent.test", 0, false);
    assert_true(afc__hsts_wants(hsts, "child.parent.test", NOW));
    assert_true(afc__hsts_wants(hsts, "parent.test", NOW + 99));
    keep(hsts, "child.parent.test", 200, false);
    keep(hsts, "parent.test", 0, false);
    assert_false(afc__hsts_wants(hsts, "parent.test", NOW));
    assert_true(afc__hsts_wants(hsts, "child.parent.test", NOW));
    assert_false(afc__hsts_wants(hsts, "x.child.parent.test", NOW));
    assert_false(afc__hsts_wants(hsts, "child.parent.test", NOW + 200));
    /* The last field counts. */
    keep(hsts, "alone.test", 100, true);
    assert_true(afc__hsts_wants(hsts, "below.alone.test", NOW));
    keep(hsts, "alone.test", 100, false);
    assert_false(afc__hsts_wants(hsts, "below.alone.test", NOW));
    afc_hsts_release(hsts);
}

static void ignores_addresses_and_invalid_names(void **state) {
    (void)state;
    afc_hsts *hsts = make_store();
    keep(hsts, "10.0.0.1", 100, true);
    keep(hsts, "::1", 100, true);
    assert_false(afc__hsts_wants(hsts, "10.0.0.1", NOW));
    static const char *const bad[] = {
        "10.0.0.1",       "::1", "",     ".",     ".x",         "a b",
        "b\xc3\xbc.test", "a/b", "a..b", "127.1", "0x7f.0.0.1", "1.2.3.4.5"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        check_status(afc_hsts_add(hsts, bad[i], AFC_HSTS_FOREVER, true, NULL), AFC_EINVAL);
        assert_false(afc_hsts_has(hsts, bad[i]));
    }
    check_status(afc_hsts_add(hsts, "EXAMPLE.test.", AFC_HSTS_FOREVER, false, NULL), AFC_OK);
    assert_true(afc_hsts_has(hsts, "example.TEST"));
    assert_int_equal(afc_hsts_remove(hsts, "Example.test."), 1);
    assert_int_equal(afc_hsts_remove(hsts, NULL), 0);
    check_status(afc_hsts_add(hsts, "example.test", AFC_HSTS_FOREVER, false, NULL), AFC_OK);
    check_status(afc_hsts_add(hsts, "example.test", 1, false, NULL), AFC_OK);
    assert_false(afc_hsts_has(hsts, "example.test"));
    afc_hsts_release(hsts);
}

static void limits_the_size_of_stores(void **state) {
    (void)state;
    afc_hsts *hsts;
    afc_hsts_options options = AFC_HSTS_OPTIONS_INIT;
    options.max_hosts = 3;
    check_status(afc_hsts_new(&hsts, &options, NULL), AFC_OK);
    keep(hsts, "a.test", 30, false);
    keep(hsts, "b.test", 10, false);
    keep(hsts, "c.test", 20, false);
    keep(hsts, "d.test", 40, false);
    assert_false(afc__hsts_wants(hsts, "b.test", NOW));
    assert_true(afc__hsts_wants(hsts, "c.test", NOW) && afc__hsts_wants(hsts, "d.test", NOW));
    assert_int_equal(afc_hsts_remove(hsts, NULL), 3);
    afc_hsts_release(hsts);
}

/** Redirects lead through as many names of one site as somebody likes, each to be remembered for ever. */
static void one_site_cannot_evict_hosts_of_others(void **state) {
    (void)state;
    afc_hsts *hsts = make_store();
    keep(hsts, "a.example.org", 10, false);
    for (int i = 0; i < 11000; i++) {
        char host[64];
        snprintf(host, sizeof host, "h%d.evil.co.uk", i);
        keep(hsts, host, 1000 + i, false);
    }
    assert_true(afc__hsts_wants(hsts, "a.example.org", NOW));
    assert_true(afc__hsts_wants(hsts, "h10999.evil.co.uk", NOW));
    assert_false(afc__hsts_wants(hsts, "h0.evil.co.uk", NOW));
    assert_int_equal(afc_hsts_remove(hsts, NULL), 1 + 10000 / 20 + 1);
    afc_hsts_release(hsts);
}

/** A store whose sites may have three hosts each. */
static afc_hsts *make_store_of_small_sites(void) {
    afc_hsts *hsts;
    afc_hsts_options options = AFC_HSTS_OPTIONS_INIT;
    options.max_hosts = 40;
    return afc_hsts_new(&hsts, &options, NULL) == AFC_OK ? hsts : NULL;
}

/** Also after its entries have changed, and some were removed. */
static void full_site_evicts_its_host_that_expires_first(void **state) {
    (void)state;
    afc_hsts *hsts = make_store_of_small_sites();
    keep(hsts, "a.example.org", 30, false);
    keep(hsts, "b.example.org", 10, false);
    keep(hsts, "example.org", 20, false);
    keep(hsts, "other.test", 1, false);
    keep(hsts, "d.example.org", 40, false);
    assert_false(afc__hsts_wants(hsts, "b.example.org", NOW));
    keep(hsts, "example.org", 100, false);
    keep(hsts, "e.example.org", 50, false);
    assert_false(afc__hsts_wants(hsts, "a.example.org", NOW));
    assert_int_equal(afc_hsts_remove(hsts, "d.example.org"), 1);
    keep(hsts, "f.example.org", 60, false);
    assert_true(afc__hsts_wants(hsts, "e.example.org", NOW));
    /* The new one may be the first to expire. */
    keep(hsts, "g.example.org", 5, false);
    assert_false(afc__hsts_wants(hsts, "e.example.org", NOW));
    keep(hsts, "h.example.org", 70, false);
    assert_false(afc__hsts_wants(hsts, "g.example.org", NOW));
    assert_true(afc__hsts_wants(hsts, "example.org", NOW));
    assert_true(afc__hsts_wants(hsts, "other.test", NOW));
    assert_int_equal(afc_hsts_remove(hsts, NULL), 4);
    keep(hsts, "a.example.org", 30, false);
    assert_int_equal(afc_hsts_remove(hsts, NULL), 1);
    afc_hsts_release(hsts);
}

static void keep_numbered(afc_hsts *hsts, unsigned host, unsigned site) {
    char name[32];
    snprintf(name, sizeof name, "h%u.s%u.test", host, site);
    keep(hsts, name, 100, false);
}

/** Its tables grow twice. */
static void growing_store_keeps_the_limits_of_its_sites(void **state) {
    (void)state;
    enum { MOST = 400, OF_SITE = MOST / 20 + 1, SITES = 150, FULL_SITES = 11 };
    afc_hsts *hsts;
    afc_hsts_options options = AFC_HSTS_OPTIONS_INIT;
    options.max_hosts = MOST;
    check_status(afc_hsts_new(&hsts, &options, NULL), AFC_OK);
    for (unsigned i = 0; i < SITES; i++) keep_numbered(hsts, 0, i);
    for (unsigned i = 0; i < FULL_SITES; i++) {
        for (unsigned host = 1; host <= OF_SITE; host++) keep_numbered(hsts, host, i);
    }
    assert_int_equal(afc_hsts_remove(hsts, NULL), SITES - FULL_SITES + FULL_SITES * OF_SITE);
    afc_hsts_release(hsts);
}

static void store_that_cannot_grow_keeps_its_hosts(void **state) {
    (void)state;
    /* As many as the first tables have places. */
    enum { HOSTS = 64 };
    afc_hsts *hsts = make_store();
    for (unsigned i = 0; i < HOSTS; i++) keep_numbered(hsts, 0, i);
    bool has_failed = true;
    for (size_t n = 1; has_failed; n++) {
        afc__alloc_fail_at(n);
        afc_status status = afc_hsts_add(hsts, "last.test", AFC_HSTS_FOREVER, false, NULL);
        has_failed = afc__alloc_fail_at(0) >= n;
        assert_true(status == AFC_OK || (status == AFC_ENOMEM && has_failed));
        for (unsigned i = 0; i < HOSTS; i++) {
            char name[32];
            snprintf(name, sizeof name, "h0.s%u.test", i);
            assert_true(afc__hsts_wants(hsts, name, NOW));
        }
        assert_int_equal(afc_hsts_remove(hsts, "last.test"), status == AFC_OK);
    }
    afc_hsts_release(hsts);
}

/** Adds three hosts of a site; false if memory was out. */
static bool fill_site(afc_hsts *hsts) {
    const char *const hosts[] = {"a.example.org", "b.example.org", "c.example.org"};
    bool is_full = true;
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        int64_t expires_s = AFC_HSTS_FOREVER - 1 - (int64_t)i;
        is_full &= afc_hsts_add(hsts, hosts[i], expires_s, false, NULL) == AFC_OK;
    }
    return is_full;
}

static void full_site_stays_as_it_is_without_memory(void **state) {
    (void)state;
    TORTURE(round) {
        afc_hsts *hsts = make_store_of_small_sites();
        if (hsts == NULL) continue;
        /* It would be the first to go if the store were full. */
        afc_status other = afc_hsts_add(hsts, "other.test", AFC_HSTS_FOREVER / 2, false, NULL);
        if (fill_site(hsts) && other == AFC_OK) {
            afc_status status = afc_hsts_add(hsts, "d.example.org", AFC_HSTS_FOREVER, false, NULL);
            assert_true(status == AFC_OK || status == AFC_ENOMEM);
            assert_int_equal(afc_hsts_has(hsts, "c.example.org"), status != AFC_OK);
            assert_int_equal(afc_hsts_has(hsts, "d.example.org"), status == AFC_OK);
            assert_int_equal(afc_hsts_remove(hsts, "other.test"), 1);
            assert_int_equal(afc_hsts_remove(hsts, NULL), 3);
            /* The host that found no memory isn't counted. */
            if (fill_site(hsts)) assert_int_equal(afc_hsts_remove(hsts, NULL), 3);
        }
        afc_hsts_release(hsts);
    }
}

/* ---- The file ------------------------------------------------------------------------------ */

static afc_hsts *store_at(const char *path) {
    afc_hsts *hsts;
    afc_hsts_options options = AFC_HSTS_OPTIONS_INIT;
    options.path = path;
    check_status(afc_hsts_new(&hsts, &options, NULL), AFC_OK);
    return hsts;
}

static void store_file_outlives_the_process(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "hsts");
    afc_hsts *hsts = store_at(path);
    check_status(afc_hsts_add(hsts, "a.test", AFC_HSTS_FOREVER, true, NULL), AFC_OK);
    check_status(afc_hsts_add(hsts, "b.test", INT64_C(4102444800), false, NULL), AFC_OK);
    check_status(afc_hsts_add(hsts, "c.test", INT64_MAX - 1, false, NULL), AFC_OK);
    afc_hsts_release(hsts);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    assert_int_equal(count_files(&folder), 1);
    hsts = store_at(path);
    assert_true(afc_hsts_has(hsts, "x.a.test"));
    assert_true(afc__hsts_wants(hsts, "b.test", INT64_C(4102444799)));
    assert_false(afc__hsts_wants(hsts, "b.test", INT64_C(4102444800)));
    assert_true(afc_hsts_has(hsts, "c.test"));
    assert_false(afc_hsts_has(hsts, "x.b.test"));
    check_status(afc_hsts_save(hsts, path_in(&folder, "no/where"), NULL), AFC_EFILE);
    afc_hsts_release(hsts);
    hsts = make_store();
    check_status(afc_hsts_save(hsts, NULL, NULL), AFC_EINVAL);
    afc_hsts_release(hsts);
    folder_remove(&folder);
}

static void exports_what_is_saved(void **state) {
    (void)state;
    afc_bytes text;
    afc_hsts *hsts = make_store();
    check_status(afc_hsts_add(hsts, "a.test", AFC_HSTS_FOREVER, true, NULL), AFC_OK);
    check_status(afc_hsts_export(hsts, &text, NULL), AFC_OK);
    check_slice(((afc_slice){text.bytes, text.size}),
                "# Hosts that require https; with a dot, also their subdomains\n"
                ".a.test \"unlimited\"\n");
    afc_free(text.bytes);
    afc_hsts_remove(hsts, NULL);
    check_status(afc_hsts_add(hsts, "b.test", INT64_C(4102444800), false, NULL), AFC_OK);
    check_status(afc_hsts_export(hsts, &text, NULL), AFC_OK);
    check_slice(((afc_slice){text.bytes, text.size}),
                "# Hosts that require https; with a dot, also their subdomains\n"
                "b.test \"21000101 00:00:00\"\n");
    afc_free(text.bytes);
    afc_hsts_release(hsts);
}

static void hostile_files_are_read_line_by_line(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "hsts");
    static const char text[] =
        "# curl's\n.good.test \"unlimited\"\nx.test\n10.0.0.1 \"unlimited\"\n"
        "y.test \"20991301 00:00:00\nz.test \"20200101 00:00:00\"\n\n \n.\n"
        "w.test \"99999999 99:99:99\" more\nlate.test \"20980101 10:20:30\"\n"
        "month.test \"20981301 00:00:00\"\nday.test \"20980230 00:00:00\"\n"
        "hour.test \"20980101 24:00:00\"\n";
    char copy[sizeof text];
    for (size_t cut = 0; cut < sizeof text; cut++) {
        write_file(path, (afc_slice){text, cut});
        afc_hsts *hsts = store_at(path);
        assert_int_equal(afc_hsts_has(hsts, "a.good.test"), cut >= 31);
        assert_false(afc_hsts_has(hsts, "y.test") || afc_hsts_has(hsts, "z.test"));
        assert_false(afc_hsts_has(hsts, "month.test") || afc_hsts_has(hsts, "day.test") ||
                     afc_hsts_has(hsts, "hour.test"));
        unlink(path);
        afc_hsts_release(hsts);
        memcpy(copy, text, sizeof text);
        copy[cut] = '\0';
        write_file(path, (afc_slice){copy, sizeof text - 1});
        afc_hsts_release(store_at(path));
    }
    folder_remove(&folder);
}

/** The store holds forty hosts, and three of each site. */
static void lines_of_full_sites_keep_hosts_that_expire_last(void **state) {
    (void)state;
#define FULL_SITE                                                                                  \
    "a.s.test \"20980101 00:00:00\"\nb.s.test \"20970101 00:00:00\"\n"                             \
    "c.s.test \"20990101 00:00:00\"\n"
    static const struct {
        const char *text;
        const char *hosts; /**< Which of a, b, c and d are in the store. */
    } rows[] = {
        {FULL_SITE, "abc"},
        {FULL_SITE "d.s.test \"20960101 00:00:00\"\n", "abc"},
        {FULL_SITE "d.s.test \"20970101 00:00:00\"\n", "abc"},
        {FULL_SITE "d.s.test \"20970101 00:00:01\"\n", "acd"},
        {FULL_SITE "d.s.test \"unlimited\"\n", "acd"},
        {"d.s.test \"20960101 00:00:00\"\n" FULL_SITE, "abc"},
        /* A line of a host that is in the store already changes its entry: this one has expired. */
        {FULL_SITE "a.s.test \"20200101 00:00:00\"\n", "bc"},
    };
#undef FULL_SITE
    folder folder;
    folder_make(&folder);
    afc_hsts_options options = AFC_HSTS_OPTIONS_INIT;
    options.path = path_in(&folder, "hsts");
    options.max_hosts = 40;
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc_hsts *hsts;
        write_file(options.path, afc_slice_of(rows[i].text));
        check_status(afc_hsts_new(&hsts, &options, NULL), AFC_OK);
        char found[5], *end = found;
        for (char name = 'a'; name <= 'd'; name++) {
            const char host[] = {name, '.', 's', '.', 't', 'e', 's', 't', '\0'};
            if (afc_hsts_has(hsts, host)) *end++ = name;
        }
        *end = '\0';
        assert_string_equal(found, rows[i].hosts);
        afc_hsts_release(hsts);
    }
    folder_remove(&folder);
}

/** As editors on Windows write it, also in a part of the lines, and without an end of the last one. */
static void file_may_have_lines_that_end_with_cr_lf(void **state) {
    (void)state;
    static const struct {
        const char *text;
        const char *host;
        bool has;
    } rows[] = {
        {"a.test \"unlimited\"\r\n", "a.test", true},
        {".a.test \"20990101 00:00:00\"\r\n", "b.a.test", true},
        {"a.test \"unlimited\"\r", "a.test", true},
        {"# curl's\r\n\r\na.test \"unlimited\"\r\n", "a.test", true},
        {"b.test \"unlimited\"\na.test \"unlimited\"\r\n", "a.test", true},
        {"b.test \"unlimited\"\r\na.test \"unlimited\"\n", "a.test", true},
        {"a.test \"20200101 00:00:00\"\r\n", "a.test", false},
        /* Only one CR, and only at the end, belongs to the end of a line. */
        {"a.test \"unlimited\"\r\r\n", "a.test", false},
        {"a.test\r \"unlimited\"\r\n", "a.test", false},
    };
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "hsts");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        write_file(path, afc_slice_of(rows[i].text));
        afc_hsts *hsts = store_at(path);
        if (afc_hsts_has(hsts, rows[i].host) != rows[i].has) fail_msg("row %zu", i);
        afc_hsts_release(hsts);
    }
    folder_remove(&folder);
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    folder folder;
    folder_make(&folder);
    const char *path = path_in(&folder, "hsts");
    afc_hsts_options options = AFC_HSTS_OPTIONS_INIT;
    options.path = path;
    TORTURE(round) {
        afc_hsts *hsts;
        afc_status status = afc_hsts_new(&hsts, &options, NULL);
        if (status == AFC_OK) {
            status = afc_hsts_add(hsts, "a.test", AFC_HSTS_FOREVER, true, NULL);
            assert_true(status == AFC_OK || status == AFC_ENOMEM);
            afc_bytes text;
            status = afc_hsts_export(hsts, &text, NULL);
            assert_true(status == AFC_OK || status == AFC_ENOMEM);
            assert_int_equal(text.bytes != NULL, status == AFC_OK);
            afc_free(text.bytes);
            status = afc_hsts_save(hsts, NULL, NULL);
            assert_true(status == AFC_OK || status == AFC_ENOMEM);
            afc_hsts_release(hsts);
        } else {
            check_status(status, AFC_ENOMEM);
        }
    }
    folder_remove(&folder);
}

/* ---- Requests ------------------------------------------------------------------------------ */

/** A TLS server under the names of a session that has a store. */
typedef struct site {
    fixture *fixture;
    afc_hsts *hsts;
    unsigned port;
} site;

static void use(site *site, afc_trust_rule rule) {
    const uint16_t port = (uint16_t)site->port;
    const afc_host_override override = {"*", port, "127.0.0.1", {0}};
    afc_trust_options trust = AFC_TRUST_OPTIONS_INIT;
    trust.anchors = afc_slice_of(afts_cert_pem(site->fixture->authority));
    trust.everywhere = rule;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.network = (afc_network_options){.overrides = &override, .override_count = 1};
    options.hsts = site->hsts;
    check_status(afc_trust_policy_new(&options.trust, &trust, NULL), AFC_OK);
    fixture_close_session(site->fixture);
    check_status(afc_session_new(&site->fixture->session, &options, NULL), AFC_OK);
    afc_trust_policy_release(options.trust);
}

static site make_site(void) {
    site site = {.fixture = fixture_new_tls(), .hsts = make_store()};
    site.port = (unsigned)strtoul(strrchr(url_of(site.fixture, ""), ':') + 1, NULL, 10);
    use(&site, (afc_trust_rule){0});
    serve(site.fixture, "/", answer(200, NULL, "here"));
    serve(site.fixture, "/hsts",
          answer(200, "Strict-Transport-Security: max-age=1000; includeSubDomains", ""));
    return site;
}

static void end_site(site *site) {
    fixture_close_session(site->fixture);
    afc_hsts_release(site->hsts);
    fixture_free(site->fixture);
}

static void fetch(site *site, const char *scheme, const char *host, const char *path,
                  afc_status expected) {
    call *call = call_new(site->fixture, "/");
    call->request.url = text_of(site->fixture, "%s://%s:%u%s", scheme, host, site->port, path);
    call_perform(call);
    check_ended(call, expected);
    if (expected == AFC_OK) check_contains(afc_result_get_url(call->result), "https://");
    call_free(call);
}

/** Each connection that was made began with a TLS ClientHello, however it ended. */
static void check_all_spoke_tls(fixture *fixture) {
    fixture_close_session(fixture);
    size_t accepted = afts_server_stats(fixture->server).accepted;
    assert_true(accepted > 0);
    assert_true(afts_wait_closed(fixture->server, accepted, PATIENCE_MS));
    for (size_t i = 0; i < accepted; i++) {
        afts_connection *connection = afts_copy_connection(fixture->server, i);
        assert_string_not_equal(connection->sni, "");
        afts_connection_free(connection);
    }
}

/** S34: in the clear a TLS server would have seen something. */
static void upgrades_http_before_a_byte_is_sent(void **state) {
    (void)state;
    site site = make_site();
    fetch(&site, "https", "localhost", "/hsts", AFC_OK);
    assert_true(afc_hsts_has(site.hsts, "localhost"));
    static const char *const hosts[] = {"localhost", "LOCALHOST", "localhost."};
    for (size_t i = 0; i < COUNT_OF(hosts); i++) fetch(&site, "http", hosts[i], "/", AFC_OK);
    /* Its certificate is for no name below it, which is found out over TLS. */
    fetch(&site, "http", "www.localhost", "/", AFC_EUNTRUSTED);
    check_all_spoke_tls(site.fixture);
    end_site(&site);
}

static void upgrades_redirects(void **state) {
    (void)state;
    site site = make_site();
    check_status(afc_hsts_add(site.hsts, "localhost", AFC_HSTS_FOREVER, false, NULL), AFC_OK);
    serve(site.fixture, "/away",
          answer(302, text_of(site.fixture, "Location: http://localhost:%u/", site.port), ""));
    /* Not from https to http, which would be refused. */
    fetch(&site, "https", "localhost", "/away", AFC_OK);
    afc_hsts_remove(site.hsts, NULL);
    fetch(&site, "https", "localhost", "/away", AFC_EREDIRECT);
    end_site(&site);
}

/**
 * A rule that compares no host must not make other sessions insist on https for a host that the certificate doesn't
 * name.
 */
static void ignores_field_of_another_host(void **state) {
    (void)state;
    site site = make_site();
    use(&site, (afc_trust_rule){.skip_host_check = true});
    fetch(&site, "https", "other.test", "/hsts", AFC_OK);
    assert_false(afc_hsts_has(site.hsts, "other.test"));
    fetch(&site, "https", "localhost", "/hsts", AFC_OK);
    assert_true(afc_hsts_has(site.hsts, "localhost"));
    end_site(&site);
}

/** Missed pins that are only reported, or have expired, are as if there were none. */
static void keeps_field_despite_forgiven_pins(void **state) {
    (void)state;
    static const char *const pin = "sha256//AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    const afc_trust_rule rules[] = {
        {.mode = AFC_PINNING_PUBLIC_KEY, .pins = &pin, .pin_count = 1, .report_only = true},
        {.mode = AFC_PINNING_PUBLIC_KEY, .pins = &pin, .pin_count = 1, .expires_s = 1000}};
    for (size_t i = 0; i < COUNT_OF(rules); i++) {
        site site = make_site();
        use(&site, rules[i]);
        fetch(&site, "https", "localhost", "/hsts", AFC_OK);
        assert_true(afc_hsts_has(site.hsts, "localhost"));
        end_site(&site);
    }
}

static void ignores_field_of_unverified_server(void **state) {
    (void)state;
    site site = make_site();
    /* Under a name that the certificate isn't for, let through. */
    use(&site, (afc_trust_rule){.allow_invalid_certificates = true});
    fetch(&site, "https", "other.test", "/hsts", AFC_EUNTRUSTED);
    fetch(&site, "https", "127.0.0.1", "/hsts", AFC_OK);
    assert_int_equal(afc_hsts_remove(site.hsts, NULL), 0);
    end_site(&site);
    fixture *plain = fixture_new(NULL, NULL);
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    afc_hsts *hsts = options.hsts = make_store();
    fixture_close_session(plain);
    check_status(afc_session_new(&plain->session, &options, NULL), AFC_OK);
    serve(plain, "/hsts", answer(200, "Strict-Transport-Security: max-age=1000", ""));
    call *call = call_new(plain, "/hsts");
    char url[64];
    snprintf(url, sizeof url, "http://localhost%s", strrchr(url_of(plain, "/hsts"), ':'));
    call->request.url = url;
    call_perform(call);
    check_ended(call, AFC_OK);
    call_free(call);
    assert_int_equal(afc_hsts_remove(hsts, NULL), 0);
    fixture_free(plain);
    afc_hsts_release(hsts);
}

static void ignores_field_if_an_invalid_chain_was_accepted(void **state) {
    (void)state;
    site site = make_site();
    afts_cert *stranger = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    afts_cert *authority = site.fixture->authority;
    site.fixture->authority = stranger;
    use(&site, (afc_trust_rule){.allow_invalid_certificates = true});
    fetch(&site, "https", "localhost", "/hsts", AFC_OK);
    assert_int_equal(afc_hsts_remove(site.hsts, NULL), 0);
    site.fixture->authority = authority;
    use(&site, (afc_trust_rule){0});
    fetch(&site, "https", "localhost", "/hsts", AFC_OK);
    assert_int_equal(afc_hsts_remove(site.hsts, NULL), 1);
    end_site(&site);
    afts_cert_free(stranger);
}

/** S34: a name written in another script, or with another kind of dot, is the same name. */
static void unicode_hosts_are_upgraded_like_their_a_labels(void **state) {
    (void)state;
    site site = make_site();
    check_status(afc_hsts_add(site.hsts, "xn--bcher-kva.test", AFC_HSTS_FOREVER, false, NULL),
                 AFC_OK);
    check_status(afc_hsts_add(site.hsts, "plain.test", AFC_HSTS_FOREVER, false, NULL), AFC_OK);
    static const char *const hosts[] = {"b\xc3\xbc"
                                        "cher.test",
                                        "B\xc3\x9c"
                                        "cher.test",
                                        "plain\xe3\x80\x82test"};
    for (size_t i = 0; i < COUNT_OF(hosts); i++) {
        call *call = call_new(site.fixture, "/");
        call->request.url = text_of(site.fixture, "http://%s:%u/", hosts[i], site.port);
        call_perform(call);
        /* The certificate is another's; in a locale that can't write the name it is none at all. */
        assert_true(call->failure.status == AFC_EUNTRUSTED || call->failure.status == AFC_EINVAL ||
                    call->failure.status == AFC_EDNS);
        call_free(call);
    }
    check_all_spoke_tls(site.fixture);
    assert_int_equal(afts_server_stats(site.fixture->server).requests, 0);
    end_site(&site);
}

static void refuses_options_of_a_later_version(void **state) {
    (void)state;
    afc_hsts_options options = AFC_HSTS_OPTIONS_INIT;
    afc_hsts *hsts;
    options.reserved = 1;
    check_status(afc_hsts_new(&hsts, &options, NULL), AFC_EUNSUPPORTED);
    assert_null(hsts);
}

int main(void) {
    setlocale(LC_ALL, "C.UTF-8");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parses_strict_transport_security),
        cmocka_unit_test(parent_and_child_hosts_have_separate_entries),
        cmocka_unit_test(ignores_addresses_and_invalid_names),
        cmocka_unit_test(limits_the_size_of_stores),
        cmocka_unit_test(one_site_cannot_evict_hosts_of_others),
        cmocka_unit_test(full_site_evicts_its_host_that_expires_first),
        cmocka_unit_test(growing_store_keeps_the_limits_of_its_sites),
        cmocka_unit_test(store_that_cannot_grow_keeps_its_hosts),
        cmocka_unit_test(full_site_stays_as_it_is_without_memory),
        cmocka_unit_test(store_file_outlives_the_process),
        cmocka_unit_test(exports_what_is_saved),
        cmocka_unit_test(hostile_files_are_read_line_by_line),
        cmocka_unit_test(lines_of_full_sites_keep_hosts_that_expire_last),
        cmocka_unit_test(file_may_have_lines_that_end_with_cr_lf),
        cmocka_unit_test(any_allocation_may_fail),
        cmocka_unit_test(upgrades_http_before_a_byte_is_sent),
        cmocka_unit_test(upgrades_redirects),
        cmocka_unit_test(ignores_field_of_another_host),
        cmocka_unit_test(ignores_field_of_unverified_server),
        cmocka_unit_test(keeps_field_despite_forgiven_pins),
        cmocka_unit_test(ignores_field_if_an_invalid_chain_was_accepted),
        cmocka_unit_test(unicode_hosts_are_upgraded_like_their_a_labels),
        cmocka_unit_test(refuses_options_of_a_later_version),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
