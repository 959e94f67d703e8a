/* Monitors in a network of their own, whose links come and go. */
#include "base/clock.h"
#include "reachability/netlink.h"
#include "support/network.h"
#include "support/recording_monitor.h"

#include <afcore/session.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static bool has_network;

/* ---- Faults ---------------------------------------------------------------------------------- */

static atomic_bool fails_once;

/** Passes on to libc, unless the next message is to be lost with an error. */
ssize_t recvmsg(int descriptor, struct msghdr *message, int flags) {
    static ssize_t (*real)(int, struct msghdr *, int);
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, "recvmsg");
    ssize_t count = real(descriptor, message, flags);
    if (count <= 0 || !atomic_exchange(&fails_once, false)) return count;
    errno = EIO;
    return -1;
}

/* ---- Tests ----------------------------------------------------------------------------------- */

/** v0 has an address and the default route, v1 is its other end. */
static int setup(void **state) {
    (void)state;
    if (!has_network) return 0;
    network_ip("link set lo up");
    network_ip("link add v0 type veth peer name v1");
    network_ip("addr add 192.0.2.1/24 dev v0");
    network_ip("link set v1 up");
    network_ip("link set v0 up");
    network_ip("route add default via 192.0.2.2");
    return 0;
}

static int teardown(void **state) {
    (void)state;
    if (!has_network) return 0;
    network_ip("link del v0");
    network_ip("link set lo down");
    afc_join_closed_sessions();
    return 0;
}

static void need_network(void) {
    if (has_network) return;
    print_message("skipped: this machine gives us no network namespace of our own\n");
    skip();
}

static void default_route_reaches_the_internet(void **state) {
    (void)state;
    need_network();
    recording_monitor *recording = recording_monitor_start(NULL);
    afc_reachability now = recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    assert_int_equal(now.link, AFC_LINK_WIRED);
    network_ip("route del default");
    now = recording_monitor_expect(recording, AFC_REACH_NONE, "");
    assert_int_equal(now.link, AFC_LINK_UNKNOWN);
    network_ip("route add default via 192.0.2.2");
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    afc_reach_monitor_get_state(recording->monitor, &now);
    assert_int_equal(now.status, AFC_REACH_VIA_WIFI);
    recording_monitor_free(recording);
}

static void zero_addresses_mean_the_internet(void **state) {
    (void)state;
    need_network();
    recording_monitor *any4 = recording_monitor_start("0.0.0.0");
    recording_monitor *any6 = recording_monitor_start("::");
    recording_monitor_expect(any4, AFC_REACH_VIA_WIFI, "v0");
    recording_monitor_expect(any6, AFC_REACH_VIA_WIFI, "v0");
    network_ip("route del default");
    recording_monitor_expect(any4, AFC_REACH_NONE, "");
    recording_monitor_expect(any6, AFC_REACH_NONE, "");
    recording_monitor_free(any4);
    recording_monitor_free(any6);
}

static void monitor_survives_an_error_of_its_socket(void **state) {
    (void)state;
    need_network();
    recording_monitor *recording = recording_monitor_start(NULL);
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    atomic_store(&fails_once, true);
    network_ip("route del default");
    recording_monitor_expect(recording, AFC_REACH_NONE, "");
    network_ip("route add default via 192.0.2.2");
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    assert_false(atomic_load(&fails_once));
    recording_monitor_free(recording);
}

static void address_needs_only_its_own_route(void **state) {
    (void)state;
    need_network();
    network_ip("route del default");
    recording_monitor *near = recording_monitor_start("192.0.2.9");
    recording_monitor *far = recording_monitor_start("198.51.100.1");
    recording_monitor *own = recording_monitor_start("192.0.2.1");
    recording_monitor_expect(near, AFC_REACH_VIA_WIFI, "v0");
    recording_monitor_expect(far, AFC_REACH_NONE, "");
    recording_monitor_expect(own, AFC_REACH_VIA_WIFI, "lo");
    network_ip("route add 198.51.100.0/24 via 192.0.2.2");
    recording_monitor_expect(far, AFC_REACH_VIA_WIFI, "v0");
    network_ip("route add unreachable 198.51.100.1");
    recording_monitor_expect(far, AFC_REACH_NONE, "");
    recording_monitor_free(near);
    recording_monitor_free(far);
    recording_monitor_free(own);
}

static void reports_lost_carrier(void **state) {
    (void)state;
    need_network();
    recording_monitor *recording = recording_monitor_start(NULL);
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    /* The kernel keeps the routes of a link whose cable is pulled. */
    network_switch("v1", false);
    recording_monitor_expect(recording, AFC_REACH_NONE, "");
    network_switch("v1", true);
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    recording_monitor_free(recording);
}

static void reports_another_link_that_takes_over(void **state) {
    (void)state;
    need_network();
    network_ip("link add w0 type veth peer name w1");
    network_ip("addr add 203.0.113.1/24 dev w0");
    network_ip("link set w1 up");
    network_ip("link set w0 up");
    network_ip("route add default via 203.0.113.2 metric 500");
    recording_monitor *spare = recording_monitor_start("203.0.113.9");
    recording_monitor_expect(spare, AFC_REACH_VIA_WIFI, "w0");
    recording_monitor_free(spare);
    recording_monitor *recording = recording_monitor_start(NULL);
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    size_t report_count = recording_monitor_report_count(recording);
    /* Its route is still there when the kernel says that the link is off. */
    network_switch("v0", false);
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "w0");
    assert_int_equal(recording_monitor_report_count(recording), report_count + 1);
    recording_monitor_free(recording);
    network_ip("link del w0");
}

static void renamed_link_keeps_its_routes(void **state) {
    (void)state;
    need_network();
    recording_monitor *recording = recording_monitor_start("192.0.2.9");
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    network_ip("link set v0 down");
    network_ip("link set v0 name x0");
    network_ip("link set x0 up");
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "x0");
    network_ip("link set x0 down");
    network_ip("link set x0 name v0");
    recording_monitor_free(recording);
}

static void port_that_leaves_its_bridge_stays_a_link(void **state) {
    (void)state;
    need_network();
    recording_monitor *recording = recording_monitor_start("192.0.2.9");
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    network_ip("link add b0 type bridge");
    network_ip("link set v0 master b0");
    network_ip("link set v0 nomaster");
    network_ip("link del b0");
    /* Only a link that is known can be told to be down. */
    network_switch("v1", false);
    recording_monitor_expect(recording, AFC_REACH_NONE, "");
    recording_monitor_free(recording);
}

static void ipv6_alone_is_reachable(void **state) {
    (void)state;
    need_network();
    network_ip("addr del 192.0.2.1/24 dev v0");
    network_ip("addr add 2001:db8::1/64 dev v0 nodad");
    network_ip("route add default via 2001:db8::2");
    recording_monitor *recording = recording_monitor_start(NULL);
    struct recording_monitor *host = recording_monitor_start("2001:db8::9");
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    recording_monitor_expect(host, AFC_REACH_VIA_WIFI, "v0");
    network_switch("v1", false);
    recording_monitor_expect(recording, AFC_REACH_NONE, "");
    recording_monitor_expect(host, AFC_REACH_NONE, "");
    recording_monitor_free(recording);
    recording_monitor_free(host);
}

static void network_change_repeats_the_lookup(void **state) {
    (void)state;
    need_network();
    recording_monitor *local = recording_monitor_start("localhost");
    recording_monitor *none = recording_monitor_start("no-such-host.invalid");
    recording_monitor_expect(local, AFC_REACH_VIA_WIFI, "lo");
    recording_monitor_expect(none, AFC_REACH_NONE, "");
    network_ip("link set lo down");
    recording_monitor_expect(local, AFC_REACH_NONE, "");
    network_ip("addr add 192.0.2.77/24 dev v0");
    network_ip("link set lo up");
    recording_monitor_expect(local, AFC_REACH_VIA_WIFI, "lo");
    recording_monitor_free(local);
    recording_monitor_free(none);
}

static void reports_link_that_goes_down(void **state) {
    (void)state;
    need_network();
    enum { ROUNDS = 100 };
    int64_t longest = 0, total = 0;
    recording_monitor *recording = recording_monitor_start(NULL);
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    for (int i = 0; i < ROUNDS; i++) {
        const char *which = i % 2 == 0 ? "v0" : "v1";
        int64_t before = afc__now_us();
        network_switch(which, false);
        recording_monitor_expect(recording, AFC_REACH_NONE, "");
        int64_t taken = afc__now_us() - before;
        total += taken;
        if (taken > longest) longest = taken;
        network_switch(which, true);
        /* Switching it off took the route with it. */
        if (i % 2 == 0) network_ip("route add default via 192.0.2.2");
        recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    }
    print_message("a link going down was told after %lld us on average, %lld us at most\n",
                  (long long)(total / ROUNDS), (long long)longest);
    recording_monitor_free(recording);
}

/** The system call that a thread of this name is in, as the kernel shows it; false: none now. */
static bool read_call(const char *name, char *out, size_t size) {
    DIR *directory = opendir("/proc/self/task");
    assert_non_null(directory);
    bool found = false;
    struct dirent *entry;
    while (!found && (entry = readdir(directory)) != NULL) {
        char path[300], text[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "re");
        if (file == NULL) continue;
        found = fgets(text, sizeof text, file) != NULL && strstr(text, name) == text;
        fclose(file);
        if (!found) continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/syscall", entry->d_name);
        file = fopen(path, "re");
        if (file == NULL || fgets(out, (int)size, file) == NULL) out[0] = 0;
        if (file != NULL) fclose(file);
    }
    closedir(directory);
    return found;
}

static void idle_thread_has_no_timer(void **state) {
    (void)state;
    need_network();
    recording_monitor *recording = recording_monitor_start(NULL);
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    unsigned long long number, events, room, timeout = 0;
    unsigned descriptor;
    for (int i = 0; i < 100000 && (int)timeout != -1; i++) {
        char text[256];
        assert_true(read_call("af-reach", text, sizeof text));
        if (text[0] == 0) skip(); /* The kernel doesn't show it. */
        if (sscanf(text, "%llu 0x%x 0x%llx 0x%llx 0x%llx", &number, &descriptor, &events, &room,
                   &timeout) != 5) {
            timeout = 0;
        }
        sched_yield();
    }
    assert_int_equal((int)timeout, -1);
    recording_monitor_free(recording);
}

/* A socket with room for next to nothing, and many changes that are not read. */
static void lost_messages_cause_a_reread(void **state) {
    (void)state;
    need_network();
    int descriptor = afc__reach_open();
    assert_true(descriptor >= 0);
    int room = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    for (int i = 0; i < 50; i++) {
        network_switch("v1", false);
        network_switch("v1", true);
    }
    char buffer[32 * 1024];
    ssize_t size;
    bool was_lost = false;
    while ((size = afc__reach_receive(descriptor, buffer, sizeof buffer)) != 0) {
        if (size == -ENOBUFS) was_lost = true;
        assert_true(size > 0 || size == -ENOBUFS);
    }
    assert_true(was_lost);
    close(descriptor);
}

static void many_changes_end_in_the_right_state(void **state) {
    (void)state;
    need_network();
    recording_monitor *recording = recording_monitor_start("192.0.2.9");
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    for (int i = 0; i < 2000; i++) network_switch("v1", i % 2 != 0);
    network_switch("v1", false);
    recording_monitor_expect(recording, AFC_REACH_NONE, "");
    network_switch("v1", true);
    recording_monitor_expect(recording, AFC_REACH_VIA_WIFI, "v0");
    recording_monitor_free(recording);
}

#define NET_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        NET_TEST(default_route_reaches_the_internet),
        NET_TEST(zero_addresses_mean_the_internet),
        NET_TEST(monitor_survives_an_error_of_its_socket),
        NET_TEST(address_needs_only_its_own_route),
        NET_TEST(reports_lost_carrier),
        NET_TEST(reports_another_link_that_takes_over),
        NET_TEST(renamed_link_keeps_its_routes),
        NET_TEST(port_that_leaves_its_bridge_stays_a_link),
        NET_TEST(ipv6_alone_is_reachable),
        NET_TEST(network_change_repeats_the_lookup),
        NET_TEST(reports_link_that_goes_down),
        NET_TEST(idle_thread_has_no_timer),
        NET_TEST(lost_messages_cause_a_reread),
        NET_TEST(many_changes_end_in_the_right_state),
    };
    has_network = network_enter();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
