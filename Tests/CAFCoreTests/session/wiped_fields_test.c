/* Memory that is used again holds no fields of earlier requests: any of them may be a secret. */
#include "support/call.h"

#include "curl/exchange_state.h"
#include "session/task_internal.h"
#include "transfer/request_head.h"

#include <string.h>

#define SECRET "c2VjcmV0IHRva2Vu"

static bool holds(const void *bytes, size_t size) {
    return bytes != NULL && memmem(bytes, size, SECRET, sizeof SECRET - 1) != NULL;
}

static void recycled_handle_holds_no_fields(void **state) {
    fixture *fixture = *state;
    static const afc_header fields[] = {
        {{"Authorization", 13}, {"Bearer " SECRET, sizeof SECRET + 6}, 0},
        {{"Cookie", 6}, {"session=" SECRET, sizeof SECRET + 7}, 0},
        {{"X-Key", 5}, {SECRET, sizeof SECRET - 1}, AFC_HEADER_SECRET},
    };
    for (size_t i = 0; i <= COUNT_OF(fields); i++) {
        call *call = call_new(fixture, "/");
        call->request.headers = i < COUNT_OF(fields) ? &fields[i] : fields;
        call->request.header_count = i < COUNT_OF(fields) ? 1 : COUNT_OF(fields);
        call_perform(call);
        check_ended(call, AFC_OK);
        assert_string_equal(seen_header(fixture, i, i < COUNT_OF(fields) ? "Host" : "X-Key"),
                            i < COUNT_OF(fields) ? seen_header(fixture, i, "Host") : SECRET);
        call_free(call);
        /* The task was told of its end after that, so no code uses the handle. */
        const afc__exchange *exchange = fixture->session->driver->pool.idle;
        assert_non_null(exchange);
        assert_true(exchange->field_text.capacity > 0);
        assert_false(holds(exchange->field_text.bytes, exchange->field_text.capacity));
    }
}

static void cleared_request_head_holds_no_values(void **state) {
    (void)state;
    static _Alignas(max_align_t) char room[512];
    afc_header field = {{"Authorization", 13}, {SECRET, sizeof SECRET - 1}, 0};
    afc__request_head request;
    afc__url url = {0};
    check_status(afc__url_parse(&url, afc_slice_of("http://h/"), NULL), AFC_OK);
    check_status(afc__request_head_init(&request, (afc__storage){room, sizeof room}, "GET", &url,
                                        &field, 1, NULL),
                 AFC_OK);
    assert_true(holds(room, sizeof room));
    afc__request_head_clear(&request);
    assert_false(holds(room, sizeof room));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(recycled_handle_holds_no_fields),
        cmocka_unit_test(cleared_request_head_holds_no_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
