/* What callers say about the ways to their hosts: checked, and written as libcurl has it. */
#include "base/alloc.h"
#include "message/ip.h"
#include "message/route.h"
#include "support/check.h"
#include "support/torture.h"

#include <stdio.h>

static void writes_overrides_for_libcurl(void **state) {
    (void)state;
    static const struct {
        afc_host_override given;
        const char *expected; /**< NULL: refused. */
        const char *reason;
    } rows[] = {
        {{"example.test", 80, "192.0.2.1", {0}}, "example.test:80:192.0.2.1", NULL},
        {{"EXAMPLE.test.", 443, "192.0.2.1, ::1", {0}}, "example.test:443:192.0.2.1,[::1]", NULL},
        {{"*", 8443, "2001:db8::1", {0}}, "*:8443:[2001:db8::1]", NULL},
        {{"0xC0.0.513", 80, "::1", {0}}, "192.0.2.1:80:[::1]", NULL},
        {{"1.2.3.4.5", 80, "::1", {0}}, NULL, "host"},
        {{"xn--bcher-kva.test", 1, "::", {0}}, "xn--bcher-kva.test:1:[::]", NULL},
        {{"b\xc3\xbc"
          "cher.test",
          80,
          "192.0.2.1",
          {0}},
         NULL,
         "ASCII"},
        {{"", 80, "192.0.2.1", {0}}, NULL, "host"},
        {{"a:80", 80, "192.0.2.1", {0}}, NULL, "host"},
        {{"me@a", 80, "192.0.2.1", {0}}, NULL, "host"},
        {{"a b", 80, "192.0.2.1", {0}}, NULL, "host"},
        {{"a\r\nb", 80, "192.0.2.1", {0}}, NULL, "host"},
        {{"-a,b", 80, "192.0.2.1", {0}}, NULL, "host"},
        {{"+a", 80, "192.0.2.1", {0}}, NULL, "host"},
        {{"[::1]", 80, "192.0.2.1", {0}}, NULL, "host"},
        {{"**", 80, "192.0.2.1", {0}}, NULL, "host"},
        {{NULL, 80, "192.0.2.1", {0}}, NULL, "host"},
        {{"a", 0, "192.0.2.1", {0}}, NULL, "port"},
        {{"a", 80, NULL, {0}}, NULL, "addresses"},
        {{"a", 80, "", {0}}, NULL, "address"},
        {{"a", 80, "192.0.2.1,", {0}}, NULL, "invalid address"},
        {{"a", 80, "b.test", {0}}, NULL, "\"b.test\""},
        {{"a", 80, "[::1]", {0}}, NULL, "invalid address"},
        {{"a", 80, "192.0.2.1:80", {0}}, NULL, "invalid address"},
        {{"a", 80, "::1\n-b:80", {0}}, NULL, "invalid address"},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *line;
        afc_failure failure = {0};
        afc_status status = afc__route_write_override(&line, &rows[i].given, false, &failure);
        if (rows[i].expected == NULL) {
            check_status(status, AFC_EINVAL);
            assert_null(line);
            check_contains(failure.text, rows[i].reason);
            assert_int_equal(failure.reason, AFC_REASON_HOST_OVERRIDE);
        } else {
            check_status(status, AFC_OK);
            assert_string_equal(line, rows[i].expected);
        }
        afc_free(line);
    }
}

static void overrides_absolute_names(void **state) {
    (void)state;
    const afc_host_override rows[] = {
        {"a.test", 80, "::1", {0}}, {"a.test.", 80, "::1", {0}}, {"*", 80, "::1", {0}}};
    const char *const expected[] = {"a.test.:80:[::1]", "a.test.:80:[::1]", "*:80:[::1]"};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *line;
        check_status(afc__route_write_override(&line, &rows[i], true, NULL), AFC_OK);
        assert_string_equal(line, expected[i]);
        afc_free(line);
    }
}

static void never_looks_up_interfaces_as_hosts(void **state) {
    (void)state;
    static const char *const rows[][2] = {
        {"eth0", "if!eth0"},
        {"if!eth0", "if!eth0"},
        {"if!10.0.0.1", "if!10.0.0.1"},
        {"vrf-blue", "if!vrf-blue"},
        {"192.0.2.1", "host!192.0.2.1"},
        {"host!192.0.2.1", "host!192.0.2.1"},
        {"::1", "host!::1"},
        {"host!example.test", NULL},
        {"name.longer.than.a.link.test", NULL},
        {"", NULL},
        {"if!", NULL},
        {"host!", NULL},
        {"eth0:1", NULL},
        {"eth 0", NULL},
        {"eth0\n", NULL},
        {"eth0\x7F", NULL},
        {"fifteen-letters", "if!fifteen-letters"},
        {"sixteen-letters-", NULL},
        {"a/b", NULL},
        {"if!if!a", NULL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        char *text;
        afc_status status = afc__route_write_interface(&text, rows[i][0], NULL);
        check_status(status, rows[i][1] != NULL ? AFC_OK : AFC_EINVAL);
        if (rows[i][1] != NULL) assert_string_equal(text, rows[i][1]);
        afc_free(text);
    }
}

static void dns_servers_are_addresses(void **state) {
    (void)state;
    static const struct {
        const char *list;
        bool is_good;
    } rows[] = {
        {"192.0.2.1", true},
        {"192.0.2.1,192.0.2.2:5353", true},
        {"[2001:db8::1]:53, ::1", true},
        {"", false},
        {",", false},
        {"dns.test", false},
        {"192.0.2.1:0", false},
        {"192.0.2.1:99999", false},
        {"me@192.0.2.1", false},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        check_status(afc__route_check_servers(rows[i].list, NULL),
                     rows[i].is_good ? AFC_OK : AFC_EINVAL);
    }
    char *host;
    uint16_t port;
    check_status(afc__route_write_doh_server(&host, &port, "https://DNS.test:8443/dns-query", NULL),
                 AFC_OK);
    assert_string_equal(host, "dns.test");
    assert_int_equal(port, 8443);
    afc_free(host);
    static const char *const bad[] = {"http://dns.test/", "dns.test", "https://me@dns.test/", "",
                                      "https://dns.test/\r\n"};
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        afc_failure failure;
        check_status(afc__route_write_doh_server(&host, &port, bad[i], &failure), AFC_EINVAL);
        check_status(failure.status, AFC_EINVAL);
        check_contains(failure.text, "the URL of DNS over HTTPS: ");
        assert_int_equal(failure.reason, AFC_REASON_DOH_URL);
        assert_null(host);
    }
}

static void limits_the_path_of_unix_sockets(void **state) {
    (void)state;
    char path[AFC__SOCKET_PATH_MAX + 2];
    memset(path, 'a', sizeof path);
    path[AFC__SOCKET_PATH_MAX] = '\0';
    check_status(afc__route_check_socket(path, NULL), AFC_OK);
    path[AFC__SOCKET_PATH_MAX] = 'a';
    path[AFC__SOCKET_PATH_MAX + 1] = '\0';
    check_status(afc__route_check_socket(path, NULL), AFC_EINVAL);
    check_status(afc__route_check_socket("@name", NULL), AFC_OK);
    check_status(afc__route_check_socket("@", NULL), AFC_EINVAL);
    check_status(afc__route_check_socket("", NULL), AFC_OK);
}

static void recognises_public_addresses(void **state) {
    (void)state;
    static const char *const public[] = {
        "8.8.8.8", "1.1.1.1", "172.32.0.1", "172.15.255.255", "100.63.255.255", "100.128.0.0",
        "192.167.255.255", "198.20.0.0", "223.255.255.255", "2606:4700::1111",
        "2a00:1450::", "::ffff:8.8.8.8", "64:ff9b::808:808", "2002:808:808::", "2001:4860::8888",
        /* Next to special ones. */
        "9.255.255.255", "11.0.0.0", "126.255.255.255", "128.0.0.0", "169.253.255.255",
        "169.255.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0",
        "192.169.0.0", "198.17.255.255", "198.51.99.255", "198.51.101.0", "203.0.112.255",
        "203.0.114.0", "2001:200::", "2001:db7::", "2001:db9::", "2003::", "2000::", "3fff:1000::",
        /* ISATAP, and what looks like it (RFC 5214 6.1). */
        "2606:4700::5efe:808:808", "2606:4700::200:5efe:8.8.8.8", "2606:4700::5eff:a00:1",
        "2606:4700::400:5efe:a00:1", "2606:4700::1:5efe:a00:1", "2606:4700:5efe:a00:1::"};
    static const char *const others[] = {"0.0.0.0",
                                         "10.0.0.1",
                                         "127.0.0.1",
                                         "127.255.255.255",
                                         "169.254.169.254",
                                         "172.16.0.1",
                                         "172.31.255.255",
                                         "192.168.1.1",
                                         "100.64.0.1",
                                         "100.127.255.255",
                                         "192.0.0.1",
                                         "192.0.2.1",
                                         "192.88.99.1",
                                         "198.18.0.1",
                                         "198.19.255.255",
                                         "198.51.100.1",
                                         "203.0.113.1",
                                         "224.0.0.1",
                                         "240.0.0.1",
                                         "255.255.255.255",
                                         "::",
                                         "::1",
                                         "fe80::1",
                                         "fc00::1",
                                         "fd12::1",
                                         "ff02::1",
                                         "2001:db8::1",
                                         "2001::1",
                                         "2001:1ff::1",
                                         "1fff::1",
                                         "4000::1",
                                         "3fff:fff::1",
                                         "3fff::1",
                                         "::ffff:127.0.0.1",
                                         "::ffff:10.0.0.1",
                                         "::ffff:192.168.1.1",
                                         "64:ff9b::192.168.1.1",
                                         "2002:c0a8:101::",
                                         "64:ff9b::7f00:1",
                                         "2002:7f00:1::",
                                         "2002:a00:1::",
                                         "100::1",
                                         "::127.0.0.1",
                                         "64:ff9b:1::1",
                                         "2606:4700::5efe:10.0.0.1",
                                         "2606:4700::5efe:127.0.0.1",
                                         "2606:4700:1:2:0:5efe:c0a8:101",
                                         "2606:4700:1:2:200:5efe:a9fe:a9fe",
                                         "2606:4700::100:5efe:a00:1",
                                         "2606:4700::300:5efe:a00:1",
                                         "fe80::5efe:8.8.8.8",
                                         "2001:db8::200:5efe:8.8.8.8"};
    afc__ip ip;
    for (size_t i = 0; i < COUNT_OF(public); i++) {
        assert_true(afc__ip_parse(&ip, afc_slice_of(public[i])));
        if (!afc__ip_is_public(&ip)) print_error("%s\n", public[i]);
        assert_true(afc__ip_is_public(&ip));
    }
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        assert_true(afc__ip_parse(&ip, afc_slice_of(others[i])));
        if (afc__ip_is_public(&ip)) print_error("%s\n", others[i]);
        assert_false(afc__ip_is_public(&ip));
    }
}

static void any_allocation_may_fail(void **state) {
    (void)state;
    const afc_host_override given = {"example.test", 80, "192.0.2.1,::1", {0}};
    TORTURE(round) {
        char *line, *interface, *host;
        uint16_t port;
        afc_status statuses[] = {
            afc__route_write_override(&line, &given, true, NULL),
            afc__route_write_interface(&interface, "eth0", NULL),
            afc__route_write_doh_server(&host, &port, "https://dns.test/", NULL)};
        for (size_t i = 0; i < COUNT_OF(statuses); i++) {
            assert_true(statuses[i] == AFC_OK || statuses[i] == AFC_ENOMEM);
        }
        afc_free(line);
        afc_free(interface);
        afc_free(host);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_overrides_for_libcurl),
        cmocka_unit_test(overrides_absolute_names),
        cmocka_unit_test(never_looks_up_interfaces_as_hosts),
        cmocka_unit_test(dns_servers_are_addresses),
        cmocka_unit_test(limits_the_path_of_unix_sockets),
        cmocka_unit_test(recognises_public_addresses),
        cmocka_unit_test(any_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
