/* URLs whose hosts are addresses. */
#include "support/call.h"
#include "support/heap.h"

#include <stdio.h>

/** Requests to addresses of loopback where nothing listens. */
static void visit_addresses(fixture *fixture, unsigned first, unsigned count) {
    for (unsigned i = first; i < first + count; i++) {
        char url[64];
        snprintf(url, sizeof url, "http://127.1.%u.%u:1/", i / 200, 1 + i % 200);
        call *call = call_new(fixture, "/");
        call->request.url = url;
        call_perform(call);
        check_ended(call, AFC_ECONNECT);
        call_free(call);
    }
}

/** Each address that libcurl keeps also makes the end of each later transfer take longer. */
static void visited_addresses_are_not_kept(void **state) {
    fixture *fixture = *state;
    visit_addresses(fixture, 0, 100);
    size_t before = heap_in_use();
    visit_addresses(fixture, 100, 1000);
    assert_true(heap_in_use() < before + (size_t)64 * 1024);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(visited_addresses_are_not_kept),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
