/* What the kernel tells of links and addresses, and what follows for a route; no kernel is asked. */
#include "reachability/netlink.h"
#include "reachability/tables.h"
#include "support/check.h"
#include "support/files.h"
#include "support/rtnetlink.h"
#include "support/torture.h"

#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/if_arp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    UP = IFF_UP | IFF_RUNNING,
    NO_CARRIER = IFF_UP,
    LO = IFF_UP | IFF_RUNNING | IFF_LOOPBACK,
};

static unsigned asked_for_kind;

static afc_link_kind kind_by_name(void *context, int index, const char *name) {
    (void)context;
    (void)index;
    asked_for_kind++;
    if (strncmp(name, "wlan", 4) == 0) return AFC_LINK_WIRELESS;
    return strncmp(name, "wwan", 4) == 0 ? AFC_LINK_CELLULAR : AFC_LINK_UNKNOWN;
}

static void take(afc__link_table *table, const datagram *datagram) {
    afc__link_table_take(table, datagram->bytes, datagram->size);
}

/** Reads everything: the links in `links`, the addresses in `own`. */
static void read_all(afc__link_table *table, const datagram *links, const datagram *own) {
    const datagram *parts[] = {links, own};
    for (size_t i = 0; i < 2; i++) {
        afc__reach_request request;
        assert_true(afc__link_table_ask(table, &request));
        assert_int_equal(request.header.nlmsg_type, i == 0 ? RTM_GETLINK : RTM_GETADDR);
        assert_false(afc__link_table_ask(table, &request));
        take(table, parts[i]);
        datagram done = {.size = 0};
        put_message(&done, NLMSG_DONE, 0, request.header.nlmsg_seq);
        take(table, &done);
    }
}

static const datagram nothing;

static void make_fixture(afc__link_table *table) {
    datagram links = {.size = 0}, own = {.size = 0};
    afc__link_table_init(table, kind_by_name, NULL);
    put_link(&links, false, 1, "lo", ARPHRD_LOOPBACK, LO);
    put_link(&links, false, 2, "eth0", ARPHRD_ETHER, UP);
    put_link(&links, false, 3, "wlan0", ARPHRD_ETHER, UP);
    put_link(&links, false, 4, "wwan0", ARPHRD_NONE, UP);
    put_link(&links, false, 5, "tun0", ARPHRD_NONE, UP);
    put_link(&links, false, 6, "eth1", ARPHRD_ETHER, NO_CARRIER);
    put_link(&links, false, 7, "eth2", ARPHRD_ETHER, 0);
    put_address(&own, false, 1, "127.0.0.1");
    put_address(&own, false, 1, "::1");
    put_address(&own, false, 2, "192.0.2.1");
    put_address(&own, false, 2, "fe80::1");
    put_address(&own, false, 2, "2001:db8::1");
    put_address(&own, false, 3, "192.0.2.3");
    put_address(&own, false, 3, "fe80::1");
    put_address(&own, false, 4, "192.0.2.4");
    put_pair(&own, 5, "192.0.2.5", "192.0.2.50");
    put_address(&own, false, 6, "192.0.2.6");
    put_address(&own, false, 7, "192.0.2.7");
    put_address(&own, false, 7, "192.0.2.1");
    read_all(table, &links, &own);
    assert_int_equal(table->stage, AFC__REACH_KNOWN);
}

static afc__reach_address address_of(const char *text, int scope) {
    afc__reach_address address = {.scope = scope};
    if (text == NULL) return address;
    address.family = strchr(text, ':') != NULL ? AF_INET6 : AF_INET;
    assert_int_equal(inet_pton(address.family, text, address.bytes), 1);
    return address;
}

static afc__reach_route route_from(const char *source, int scope, const char *destination) {
    return (afc__reach_route){.exists = source != NULL,
                              .source = address_of(source, scope),
                              .destination = address_of(destination, 0)};
}

static void route_has_the_kind_of_its_link(void **state) {
    (void)state;
    static const struct {
        const char *source;
        int scope;
        const char *destination;
        afc_reach_status status;
        afc_link_kind kind;
        const char *link;
        bool is_transient;
    } rows[] = {
        {NULL, 0, "198.51.100.1", AFC_REACH_NONE, AFC_LINK_UNKNOWN, "", false},
        {"192.0.2.1", 0, "198.51.100.1", AFC_REACH_VIA_WIFI, AFC_LINK_WIRED, "eth0", false},
        {"2001:db8::1", 0, "2001:db8:1::", AFC_REACH_VIA_WIFI, AFC_LINK_WIRED, "eth0", false},
        {"192.0.2.3", 0, "198.51.100.1", AFC_REACH_VIA_WIFI, AFC_LINK_WIRELESS, "wlan0", false},
        {"192.0.2.4", 0, "198.51.100.1", AFC_REACH_VIA_WWAN, AFC_LINK_CELLULAR, "wwan0", false},
        {"192.0.2.5", 0, "192.0.2.50", AFC_REACH_VIA_WIFI, AFC_LINK_OTHER, "tun0", false},
        /* No carrier: the routes stay, but lead nowhere. Off: they are about to go. */
        {"192.0.2.6", 0, "198.51.100.1", AFC_REACH_NONE, AFC_LINK_UNKNOWN, "", false},
        {"192.0.2.7", 0, "198.51.100.1", AFC_REACH_NONE, AFC_LINK_UNKNOWN, "", true},
        /* The same link-local address on two links. */
        {"fe80::1", 2, "fe80::9", AFC_REACH_VIA_WIFI, AFC_LINK_WIRED, "eth0", false},
        {"fe80::1", 3, "fe80::9", AFC_REACH_VIA_WIFI, AFC_LINK_WIRELESS, "wlan0", false},
        /* To ourselves. */
        {"127.0.0.1", 0, "127.0.0.1", AFC_REACH_VIA_WIFI, AFC_LINK_LOOPBACK, "lo", false},
        {"127.0.0.1", 0, "127.0.0.2", AFC_REACH_VIA_WIFI, AFC_LINK_LOOPBACK, "lo", false},
        {"192.0.2.7", 0, "192.0.2.7", AFC_REACH_VIA_WIFI, AFC_LINK_LOOPBACK, "lo", false},
        {"::1", 0, "::1", AFC_REACH_VIA_WIFI, AFC_LINK_LOOPBACK, "lo", false},
        /* An address that was not told yet. */
        {"203.0.113.1", 0, "198.51.100.1", AFC_REACH_VIA_WIFI, AFC_LINK_UNKNOWN, "", false},
    };
    afc__link_table table;
    make_fixture(&table);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        afc__reach_route route = route_from(rows[i].source, rows[i].scope, rows[i].destination);
        bool is_transient;
        afc_reachability found = afc__reach_decide(&table, &route, 1, &is_transient);
        if (found.status != rows[i].status) print_error("row %zu\n", i);
        assert_int_equal(found.status, rows[i].status);
        assert_int_equal(found.link, rows[i].kind);
        assert_string_equal(found.link_name, rows[i].link);
        assert_int_equal(is_transient, rows[i].is_transient);
    }
    afc__link_table_clear(&table);
}

static void first_usable_route_decides(void **state) {
    (void)state;
    afc__link_table table;
    make_fixture(&table);
    afc__reach_route routes[] = {
        route_from(NULL, 0, "198.51.100.1"), route_from("192.0.2.7", 0, "198.51.100.1"),
        route_from("192.0.2.4", 0, "198.51.100.1"), route_from("192.0.2.1", 0, "198.51.100.1")};
    bool is_transient;
    afc_reachability found = afc__reach_decide(&table, routes, COUNT_OF(routes), &is_transient);
    assert_int_equal(found.status, AFC_REACH_VIA_WWAN);
    assert_false(is_transient);
    found = afc__reach_decide(&table, routes, 2, &is_transient);
    assert_int_equal(found.status, AFC_REACH_NONE);
    assert_true(is_transient);
    found = afc__reach_decide(&table, routes, 0, &is_transient);
    assert_int_equal(found.status, AFC_REACH_NONE);
    afc__link_table_clear(&table);
}

static const char *link_from(afc__link_table *table, const char *source) {
    static char name[AFC_LINK_NAME_SIZE + 8];
    afc__reach_route route = route_from(source, 0, "198.51.100.1");
    bool is_transient;
    afc_reachability found = afc__reach_decide(table, &route, 1, &is_transient);
    snprintf(name, sizeof name, "%d %s", found.status, found.link_name);
    return name;
}

static void applies_changes(void **state) {
    (void)state;
    afc__link_table table;
    make_fixture(&table);
    datagram change = {.size = 0};
    put_link(&change, false, 2, "eth0", ARPHRD_ETHER, NO_CARRIER);
    take(&table, &change);
    assert_string_equal(link_from(&table, "192.0.2.1"), "0 ");
    change.size = 0;
    put_link(&change, false, 2, "lan", ARPHRD_ETHER, UP);
    take(&table, &change);
    assert_string_equal(link_from(&table, "192.0.2.1"), "2 lan");
    change.size = 0;
    put_address(&change, true, 2, "192.0.2.1");
    put_address(&change, true, 7, "192.0.2.1");
    put_address(&change, false, 3, "192.0.2.1");
    take(&table, &change);
    assert_string_equal(link_from(&table, "192.0.2.1"), "2 wlan0");
    change.size = 0;
    put_link(&change, true, 3, "wlan0", ARPHRD_ETHER, 0);
    take(&table, &change);
    assert_string_equal(link_from(&table, "192.0.2.1"), "2 ");
    assert_string_equal(link_from(&table, "192.0.2.3"), "2 ");
    afc__link_table_clear(&table);
}

static void bridge_message_deletes_no_link(void **state) {
    (void)state;
    afc__link_table table;
    make_fixture(&table);
    datagram change = {.size = 0};
    put_link(&change, true, 2, "eth0", ARPHRD_ETHER, 0);
    change.bytes[NLMSG_HDRLEN] = AF_BRIDGE;
    take(&table, &change);
    assert_string_equal(link_from(&table, "192.0.2.1"), "2 eth0");
    afc__link_table_clear(&table);
}

static void reads_the_kind_of_a_link_once(void **state) {
    (void)state;
    afc__link_table table;
    make_fixture(&table);
    unsigned before = asked_for_kind;
    datagram change = {.size = 0};
    put_link(&change, false, 2, "eth0", ARPHRD_ETHER, NO_CARRIER);
    put_link(&change, false, 2, "eth0", ARPHRD_ETHER, UP);
    take(&table, &change);
    assert_int_equal(asked_for_kind, before);
    change.size = 0;
    put_link(&change, false, 2, "wlan9", ARPHRD_ETHER, UP);
    take(&table, &change);
    assert_int_equal(asked_for_kind, before + 1);
    afc__link_table_clear(&table);
}

static void lost_messages_cause_a_reread(void **state) {
    (void)state;
    afc__link_table table;
    make_fixture(&table);
    afc__link_table_lose(&table);
    /* Until then the old facts are the best there are. */
    assert_string_equal(link_from(&table, "192.0.2.1"), "2 eth0");
    datagram links = {.size = 0}, own = {.size = 0};
    put_link(&links, false, 3, "wlan0", ARPHRD_ETHER, UP);
    put_address(&own, false, 3, "192.0.2.1");
    read_all(&table, &links, &own);
    assert_int_equal(table.stage, AFC__REACH_KNOWN);
    assert_string_equal(link_from(&table, "192.0.2.1"), "2 wlan0");
    assert_int_equal(table.link_count, 1);
    assert_int_equal(table.own_count, 1);
    afc__link_table_clear(&table);
}

/** On another socket there is no answer to wait for, and what one of the old would say counts no more. */
static void restart_ignores_old_replies(void **state) {
    (void)state;
    afc__link_table table;
    afc__link_table_init(&table, kind_by_name, NULL);
    afc__reach_request former, request;
    assert_true(afc__link_table_ask(&table, &former));
    assert_false(afc__link_table_ask(&table, &request));
    afc__link_table_restart(&table);
    assert_true(afc__link_table_ask(&table, &request));
    datagram old = {.size = 0};
    put_message(&old, NLMSG_DONE, 0, former.header.nlmsg_seq);
    take(&table, &old);
    assert_int_equal(table.stage, AFC__REACH_READING_LINKS);
    afc__link_table_restart(&table);
    read_all(&table, &nothing, &nothing);
    assert_int_equal(table.stage, AFC__REACH_KNOWN);
    afc__link_table_clear(&table);
}

/** Whatever is lost in the middle of reading: it is read once more, when the kernel has ended. */
static void loss_during_reread_causes_another(void **state) {
    (void)state;
    for (int way = 0; way < 3; way++) {
        afc__link_table table;
        afc__link_table_init(&table, kind_by_name, NULL);
        afc__reach_request request;
        assert_true(afc__link_table_ask(&table, &request));
        datagram part = {.size = 0};
        if (way == 0) afc__link_table_lose(&table);
        if (way == 1) put_message(&part, NLMSG_OVERRUN, 0, 0);
        if (way == 2) put_message(&part, NLMSG_NOOP, NLM_F_DUMP_INTR, 1);
        take(&table, &part);
        assert_false(afc__link_table_ask(&table, &request));
        part.size = 0;
        put_message(&part, NLMSG_DONE, 0, request.header.nlmsg_seq);
        take(&table, &part);
        read_all(&table, &nothing, &nothing);
        assert_int_equal(table.stage, AFC__REACH_KNOWN);
        afc__link_table_clear(&table);
    }
}

static void ignores_end_of_unknown_request(void **state) {
    (void)state;
    afc__link_table table;
    afc__link_table_init(&table, kind_by_name, NULL);
    afc__reach_request request;
    assert_true(afc__link_table_ask(&table, &request));
    datagram part = {.size = 0};
    put_message(&part, NLMSG_DONE, 0, request.header.nlmsg_seq + 1);
    put_message(&part, NLMSG_ERROR, 0, request.header.nlmsg_seq + 1);
    take(&table, &part);
    assert_int_equal(table.stage, AFC__REACH_READING_LINKS);
    afc__link_table_clear(&table);
}

static void refused_requests_are_not_repeated_forever(void **state) {
    (void)state;
    afc__link_table table;
    afc__link_table_init(&table, kind_by_name, NULL);
    afc__reach_request request;
    unsigned times = 0;
    while (afc__link_table_ask(&table, &request)) {
        times++;
        if (times == 1) {
            afc__link_table_refuse(&table);
            continue;
        }
        datagram refusal = {.size = 0};
        put_message(&refusal, NLMSG_ERROR, 0, request.header.nlmsg_seq);
        take(&table, &refusal);
    }
    assert_int_equal(times, 3);
    assert_int_equal(table.stage, AFC__REACH_BROKEN);
    take(&table, &nothing);
    read_all(&table, &nothing, &nothing);
    assert_int_equal(table.stage, AFC__REACH_KNOWN);
    afc__link_table_clear(&table);
}

static void truncated_messages_are_harmless(void **state) {
    (void)state;
    datagram whole = {.size = 0};
    put_link(&whole, false, 2, "eth0", ARPHRD_ETHER, UP);
    put_pair(&whole, 2, "192.0.2.1", "192.0.2.2");
    put_address(&whole, false, 2, "2001:db8::1");
    put_link(&whole, true, 2, "eth0", ARPHRD_ETHER, UP);
    for (size_t size = 0; size <= whole.size; size++) {
        /* Allocated for each size, so that sanitizers see a step beyond. */
        unsigned char *part = malloc(size + 1);
        assert_non_null(part);
        memcpy(part, whole.bytes, size);
        afc__link_table table;
        afc__link_table_init(&table, kind_by_name, NULL);
        afc__link_table_take(&table, part, size);
        afc__link_table_clear(&table);
        free(part);
    }
}

static void out_of_memory_causes_a_reread(void **state) {
    (void)state;
    datagram links = {.size = 0}, own = {.size = 0};
    put_link(&links, false, 2, "eth0", ARPHRD_ETHER, UP);
    put_address(&own, false, 2, "192.0.2.1");
    TORTURE(n) {
        afc__link_table table;
        afc__link_table_init(&table, kind_by_name, NULL);
        afc__reach_request request;
        size_t questions = 0;
        while (afc__link_table_ask(&table, &request)) {
            questions++;
            take(&table, request.header.nlmsg_type == RTM_GETLINK ? &links : &own);
            datagram done = {.size = 0};
            put_message(&done, NLMSG_DONE, 0, request.header.nlmsg_seq);
            take(&table, &done);
        }
        assert_int_equal(table.stage, AFC__REACH_KNOWN);
        /* The lack is met at the links, at the addresses, or not at all. */
        assert_int_equal(questions, n == 1 ? 3 : n == 2 ? 4 : 2);
        assert_string_equal(link_from(&table, "192.0.2.1"), "2 eth0");
        afc__link_table_clear(&table);
    }
}

static void limits_the_number_of_entries(void **state) {
    (void)state;
    afc__link_table table;
    afc__link_table_init(&table, kind_by_name, NULL);
    for (int index = 1; index <= 20000; index++) {
        datagram link = {.size = 0};
        put_link(&link, false, index, "veth", ARPHRD_ETHER, UP);
        take(&table, &link);
    }
    assert_int_equal(table.link_count, 16384);
    afc__link_table_clear(&table);
}

static void fingerprint_changes_with_relevant_addresses(void **state) {
    (void)state;
    afc__link_table table;
    make_fixture(&table);
    uint64_t first = afc__reach_fingerprint(&table);
    datagram change = {.size = 0};
    put_address(&change, false, 1, "127.0.0.9");
    put_address(&change, false, 2, "fe80::77");
    put_address(&change, false, 6, "192.0.2.66");
    put_link(&change, false, 70, "veth70", ARPHRD_ETHER, UP);
    take(&table, &change);
    assert_true(afc__reach_fingerprint(&table) == first);
    change.size = 0;
    put_address(&change, false, 2, "192.0.2.99");
    take(&table, &change);
    assert_true(afc__reach_fingerprint(&table) != first);
    change.size = 0;
    put_address(&change, true, 2, "192.0.2.99");
    take(&table, &change);
    assert_true(afc__reach_fingerprint(&table) == first);
    change.size = 0;
    put_link(&change, false, 2, "eth0", ARPHRD_ETHER, NO_CARRIER);
    take(&table, &change);
    assert_true(afc__reach_fingerprint(&table) != first);
    afc__link_table_clear(&table);
}

/* ---- /sys ---------------------------------------------------------------------------------- */

typedef struct sys_link {
    const char *name, *index, *uevent, *folder;
    afc_link_kind expected;
} sys_link;

static const char *path_of(folder *folder, const sys_link *link, const char *file) {
    static char path[256];
    snprintf(path, sizeof path, "%s/%s/%s", folder->path, link->name, file);
    return path;
}

static void make_link(folder *folder, const sys_link *link) {
    assert_int_equal(mkdir(path_in(folder, link->name), 0700), 0);
    write_file(path_of(folder, link, "ifindex"), afc_slice_of(link->index));
    write_file(path_of(folder, link, "uevent"), afc_slice_of(link->uevent));
    if (link->folder == NULL) return;
    assert_int_equal(mkdir(path_of(folder, link, link->folder), 0700), 0);
}

static void remove_link(folder *folder, const sys_link *link) {
    unlink(path_of(folder, link, "ifindex"));
    unlink(path_of(folder, link, "uevent"));
    if (link->folder != NULL) rmdir(path_of(folder, link, link->folder));
    assert_int_equal(rmdir(path_in(folder, link->name)), 0);
}

static void medium_is_as_reported_by_the_kernel(void **state) {
    (void)state;
    static const sys_link rows[] = {
        {"eth0", "2\n", "INTERFACE=eth0\nIFINDEX=2\n", NULL, AFC_LINK_UNKNOWN},
        {"wlan0", "2\n", "DEVTYPE=wlan\nINTERFACE=wlan0\nIFINDEX=2\n", NULL, AFC_LINK_WIRELESS},
        {"ath0", "2\n", "INTERFACE=ath0\nIFINDEX=2\n", "wireless", AFC_LINK_WIRELESS},
        {"ath1", "2\n", "INTERFACE=ath1\nIFINDEX=2\n", "phy80211", AFC_LINK_WIRELESS},
        {"wwan0", "2\n", "DEVTYPE=wwan\nINTERFACE=wwan0\nIFINDEX=2\n", NULL, AFC_LINK_CELLULAR},
        {"br0", "2\n", "DEVTYPE=bridge\nINTERFACE=br0\nIFINDEX=2\n", NULL, AFC_LINK_UNKNOWN},
        /* Another link of this name, in another network. */
        {"wlan1", "3\n", "DEVTYPE=wlan\nINTERFACE=wlan1\nIFINDEX=3\n", NULL, AFC_LINK_UNKNOWN},
        {"wlan2", "", "", NULL, AFC_LINK_UNKNOWN},
    };
    folder folder;
    folder_make(&folder);
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        make_link(&folder, &rows[i]);
        assert_int_equal(afc__reach_medium(folder.path, 2, rows[i].name), rows[i].expected);
        assert_int_equal(afc__reach_medium(folder.path, 2, "../wlan0"), AFC_LINK_UNKNOWN);
        remove_link(&folder, &rows[i]);
    }
    assert_int_equal(afc__reach_medium(folder.path, 2, "no-such"), AFC_LINK_UNKNOWN);
    assert_int_equal(afc__reach_medium(folder.path, 2, ""), AFC_LINK_UNKNOWN);
    assert_int_equal(afc__reach_medium(folder.path, 2, ".."), AFC_LINK_UNKNOWN);
    folder_remove(&folder);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(route_has_the_kind_of_its_link),
        cmocka_unit_test(first_usable_route_decides),
        cmocka_unit_test(applies_changes),
        cmocka_unit_test(bridge_message_deletes_no_link),
        cmocka_unit_test(reads_the_kind_of_a_link_once),
        cmocka_unit_test(lost_messages_cause_a_reread),
        cmocka_unit_test(restart_ignores_old_replies),
        cmocka_unit_test(loss_during_reread_causes_another),
        cmocka_unit_test(ignores_end_of_unknown_request),
        cmocka_unit_test(refused_requests_are_not_repeated_forever),
        cmocka_unit_test(truncated_messages_are_harmless),
        cmocka_unit_test(out_of_memory_causes_a_reread),
        cmocka_unit_test(limits_the_number_of_entries),
        cmocka_unit_test(fingerprint_changes_with_relevant_addresses),
        cmocka_unit_test(medium_is_as_reported_by_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
