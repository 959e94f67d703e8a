/* Tasks that find no way to their host, in a network of their own: waiting for one, or not. */
#include "support/call.h"
#include "support/network.h"
#include "support/threads.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static bool has_network;

/** Whether there is a route to the loopback. That the link is down is not enough for there to be none. */
static void set_route(bool exists) {
    network_ip(exists ? "rule del pref 5" : "rule add pref 5 to 127.0.0.1 unreachable");
    network_ip(exists ? "-6 rule del pref 5" : "-6 rule add pref 5 to ::1 unreachable");
}

/** A server that there is no route to. */
static int setup(void **state) {
    if (!has_network) return 0;
    *state = fixture_new(NULL, NULL);
    /* Each needs a connection of its own, and so a route. */
    serve(*state, "/", answer(200, "Connection: close", "here"));
    set_route(false);
    return 0;
}

static int setup_with_route(void **state) {
    setup(state);
    if (has_network) set_route(true);
    return 0;
}

static int teardown(void **state) {
    return has_network ? fixture_teardown(state) : 0;
}

static void need_network(void) {
    if (has_network) return;
    print_message("skipped: this machine gives us no network namespace of our own\n");
    skip();
}

static call *waiting_call(fixture *fixture) {
    call *call = call_new(fixture, "/");
    call->request.wait_for_network = true;
    return call;
}

/** Until a task watches the network. */
static void expect_monitor(void) {
    wait_for_threads("af-reach", 1);
}

/** Until no task does. */
static void expect_no_monitor(void) {
    wait_for_threads("af-reach", 0);
}

static void missing_route_is_an_error_by_default(void **state) {
    need_network();
    call *call = call_fetch(*state, "/");
    check_ended(call, AFC_ECONNECT);
    assert_int_equal(call->hop_count, 1);
    assert_int_equal(call->failure.reason, AFC_REASON_OFFLINE);
    assert_int_equal(call->failure.system_error, ENETUNREACH);
    check_contains(call->failure.text, "no route to the internet");
    check_contains(call->failure.text, "Network is unreachable");
    call_free(call);
    set_route(true);
}

static void unknown_name_without_a_route_is_offline(void **state) {
    need_network();
    call *call = call_new(*state, "/");
    call->request.url = "http://no-such-host.invalid/";
    call_perform(call);
    check_ended(call, AFC_EDNS);
    assert_int_equal(call->failure.reason, AFC_REASON_OFFLINE);
    check_contains(call->failure.text, "no route to the internet");
    call_free(call);
    set_route(true);
}

static void task_waits_for_a_route(void **state) {
    need_network();
    call *call = waiting_call(*state);
    call_start(call);
    expect_monitor();
    assert_int_equal(atomic_load(&call->done_count), 0);
    set_route(true);
    call_wait(call);
    check_ended(call, AFC_OK);
    check_slice(call->body, "here");
    assert_true(call->hop_count >= 2);
    assert_int_equal(call->hops[0].status, 0);
    assert_int_equal(call->hops[call->hop_count - 1].status, 200);
    call_free(call);
    expect_no_monitor();
}

static void body_is_sent_when_the_network_appears(void **state) {
    need_network();
    call *call = waiting_call(*state);
    call_send(call, "POST", S("body"));
    call_start(call);
    expect_monitor();
    set_route(true);
    call_wait(call);
    check_ended(call, AFC_OK);
    afts_request *request = afts_copy_request(((fixture *)*state)->server, 0);
    assert_int_equal(request->body_size, 4);
    afts_request_free(request);
    call_free(call);
}

static void task_waits_until_its_name_resolves(void **state) {
    need_network();
    fixture *fixture = *state;
    call *call = waiting_call(fixture);
    const char *port = strrchr(url_of(fixture, ""), ':');
    call->request.url = text_of(fixture, "http://localhost%s/", port);
    call_start(call);
    expect_monitor();
    set_route(true);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void total_time_limit_ends_the_wait(void **state) {
    need_network();
    call *call = waiting_call(*state);
    call->request.timeouts.total_ms = 50;
    call_perform(call);
    check_ended(call, AFC_ETIMEOUT);
    assert_int_equal(call->failure.timeout, AFC_TIMEOUT_TOTAL);
    call_free(call);
    expect_no_monitor();
    set_route(true);
}

static void cancel_ends_the_wait(void **state) {
    need_network();
    for (int way = 0; way < 3; way++) {
        call *call = waiting_call(*state);
        call_start(call);
        expect_monitor();
        if (way == 1) afc_task_suspend(call->task);
        if (way == 2) {
            afc_session_cancel_all(call->session);
        } else {
            afc_task_cancel(call->task);
        }
        call_wait(call);
        check_ended(call, AFC_ECANCELED);
        call_free(call);
        expect_no_monitor();
    }
    set_route(true);
}

static void suspended_task_continues_only_when_resumed(void **state) {
    need_network();
    fixture *fixture = *state;
    call *call = waiting_call(fixture);
    call_start(call);
    expect_monitor();
    afc_task_suspend(call->task);
    set_route(true);
    expect_no_monitor();
    assert_int_equal(afts_server_stats(fixture->server).accepted, 0);
    afc_task_resume(call->task);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
}

static void refused_connection_fails_at_once(void **state) {
    need_network();
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int unused = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(unused, (struct sockaddr *)&address, size), 0);
    assert_int_equal(getsockname(unused, (struct sockaddr *)&address, &size), 0);
    call *call = waiting_call(*state);
    call->request.url = text_of(*state, "http://127.0.0.1:%u/", ntohs(address.sin_port));
    call_perform(call);
    check_ended(call, AFC_ECONNECT);
    assert_int_equal(call->hop_count, 1);
    assert_int_equal(call->failure.reason, AFC_REASON_NONE);
    call_free(call);
    close(unused);
}

/** Without the internet a name may be right; with it, it is tried a few times more. */
static void unknown_name_fails_once_the_internet_is_reachable(void **state) {
    need_network();
    call *call = waiting_call(*state);
    call->request.url = "http://no-such-host.invalid/";
    call_start(call);
    expect_monitor();
    assert_int_equal(atomic_load(&call->done_count), 0);
    network_ip("link add v0 type veth peer name v1");
    network_ip("addr add 192.0.2.1/24 dev v0");
    network_ip("link set v1 up");
    network_ip("link set v0 up");
    /* As much of it as is asked about; no name server, so that every lookup fails at once. */
    network_ip("route add 198.41.0.4 dev v0");
    call_wait(call);
    network_ip("link del v0");
    check_ended(call, AFC_EDNS);
    assert_int_equal(call->failure.reason, AFC_REASON_NONE);
    assert_in_range(call->hop_count, 2, 8);
    call_free(call);
}

static void many_tasks_wait_and_all_complete(void **state) {
    need_network();
    call *calls[100];
    for (int round = 0; round < 3; round++) {
        for (size_t i = 0; i < COUNT_OF(calls); i++) {
            calls[i] = waiting_call(*state);
            call_start(calls[i]);
            if (i % 7 == 0) afc_task_cancel(calls[i]->task);
        }
        expect_monitor();
        set_route(true);
        for (size_t i = 0; i < COUNT_OF(calls); i++) {
            call_wait(calls[i]);
            check_ended(calls[i], i % 7 == 0 ? AFC_ECANCELED : AFC_OK);
            call_free(calls[i]);
        }
        if (round < 2) set_route(false);
    }
}

static void released_session_waits_for_its_tasks(void **state) {
    need_network();
    fixture *fixture = *state;
    call *call = waiting_call(fixture);
    call_start(call);
    expect_monitor();
    afc_session_release(fixture->session);
    fixture->session = NULL;
    set_route(true);
    call_wait(call);
    check_ended(call, AFC_OK);
    call_free(call);
    afc_join_closed_sessions();
}

#define NET_TEST(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#define WITH_ROUTE_TEST(test) cmocka_unit_test_setup_teardown(test, setup_with_route, teardown)

int main(void) {
    const struct CMUnitTest tests[] = {
        NET_TEST(missing_route_is_an_error_by_default),
        NET_TEST(unknown_name_without_a_route_is_offline),
        NET_TEST(task_waits_for_a_route),
        NET_TEST(body_is_sent_when_the_network_appears),
        NET_TEST(task_waits_until_its_name_resolves),
        NET_TEST(total_time_limit_ends_the_wait),
        NET_TEST(cancel_ends_the_wait),
        NET_TEST(suspended_task_continues_only_when_resumed),
        WITH_ROUTE_TEST(refused_connection_fails_at_once),
        WITH_ROUTE_TEST(unknown_name_fails_once_the_internet_is_reachable),
        NET_TEST(many_tasks_wait_and_all_complete),
        NET_TEST(released_session_waits_for_its_tasks),
    };
    has_network = network_enter();
    if (has_network) {
        network_switch("lo", true);
        /* Rules of ours come first now. */
        static const char *const words[] = {"rule add pref 10 lookup local", "rule del pref 0",
                                            "-6 rule add pref 10 lookup local",
                                            "-6 rule del pref 0"};
        for (size_t i = 0; i < COUNT_OF(words); i++) network_ip(words[i]);
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
