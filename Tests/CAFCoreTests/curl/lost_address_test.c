/* Pooled connections from an address that this machine has lost, in a network of the test's own. */
#include "base/clock.h"
#include "support/call.h"
#include "support/h2.h"
#include "support/network.h"

#include <sched.h>
#include <stdio.h>

typedef enum protocol { PLAIN, TLS, HTTP_2, PROTOCOLS } protocol;

static bool has_network;

/** Sets the address that connections to the server come from. */
static void use_source(const char *address) {
    char words[128];
    snprintf(words, sizeof words,
             "route replace local 127.0.0.1/32 dev lo src %s table local proto kernel scope host",
             address);
    network_ip(words);
}

/** Sends a request that must succeed. Returns whether it was sent on a pooled connection. */
static bool fetch(fixture *fixture, protocol protocol, const char *method,
                  const char *expected_local) {
    call *call = call_new(fixture, "/");
    if (protocol != PLAIN) call->request.url = tls_url(fixture);
    call->request.method = method;
    call->request.timeouts.idle_ms = 20000;
    call_perform(call);
    check_ended(call, AFC_OK);
    const afc_hop *hop = &call->hops[call->hop_count - 1];
    assert_string_equal(hop->local_address, expected_local);
    bool is_reused = hop->is_reused;
    call_free(call);
    return is_reused;
}

/** Only a connection that has rested this long is checked. */
static void rest(void) {
    int64_t end_us = afc__now_us() + 150000;
    while (afc__now_us() < end_us) sched_yield();
}

static void lose_address(protocol protocol, const char *method) {
    network_ip("addr add 192.0.2.1/32 dev lo");
    use_source("192.0.2.1");
    fixture *fixture = protocol == PLAIN ? fixture_new(NULL, NULL)
                       : protocol == TLS ? fixture_new_alpn("http/1.1", NULL)
                                         : h2_fixture(NULL);
    if (protocol == HTTP_2)
        h2_serve(fixture, h2_answer_all, NULL, H2_CLOSE);
    else
        serve(fixture, "/*", answer(200, NULL, "hi"));
    assert_false(fetch(fixture, protocol, method, "192.0.2.1"));
    rest();
    size_t before = count_descriptors();
    assert_true(fetch(fixture, protocol, method, "192.0.2.1"));
    assert_int_equal(count_descriptors(), before);
    rest();
    network_ip("addr del 192.0.2.1/32 dev lo");
    use_source("127.0.0.1");
    assert_false(fetch(fixture, protocol, method, "127.0.0.1"));
    rest();
    assert_true(fetch(fixture, protocol, method, "127.0.0.1"));
    fixture_free(fixture);
}

static void connects_anew_after_the_local_address_was_lost(void **state) {
    (void)state;
    if (!has_network) {
        print_message("skipped: this machine gives us no network namespace of our own\n");
        skip();
    }
    for (protocol protocol = PLAIN; protocol < PROTOCOLS; protocol++) {
        lose_address(protocol, "GET");
        lose_address(protocol, "POST");
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(connects_anew_after_the_local_address_was_lost),
    };
    has_network = network_enter();
    if (has_network) network_switch("lo", true);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
