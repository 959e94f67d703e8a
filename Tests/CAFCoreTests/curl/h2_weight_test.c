/* The priority of a request is the weight of its HTTP/2 stream (RFC 7540 5.3.2). */
#include "support/call.h"
#include "support/h2.h"

#include <stdlib.h>

/** A flag of HEADERS: the weight follows the number of another stream. */
enum { H2_PRIORITY = 0x20, WEIGHT_OFFSET = 4, DEFAULT_WEIGHT = 16 };

/** Returns the weight of the stream that the frame opens. */
static unsigned weight_in(const h2_frame *frame) {
    bool has_weight = (frame->flags & H2_PRIORITY) != 0 && frame->size > WEIGHT_OFFSET;
    return has_weight ? frame->payload[WEIGHT_OFFSET] + 1u : DEFAULT_WEIGHT;
}

static void answer_with_weight_as_status(afts_conn *conn, const struct afts_request *request,
                                         void *payload) {
    (void)request, (void)payload;
    h2_peer *peer = malloc(sizeof *peer);
    if (peer != NULL && h2_begin(peer, conn)) {
        uint32_t stream;
        while ((stream = h2_read_request(peer)) != 0) {
            int weight = (int)weight_in(&peer->frame);
            if (!h2_send_head(peer, stream, 400 + weight, H2_END_STREAM)) break;
        }
    }
    free(peer);
}

/** The handle of a request serves the next one, too. */
static void priority_is_weight_of_its_stream_only(void **state) {
    (void)state;
    static const uint8_t priorities[] = {0, 200, 200, 16, 255, 0, 1};
    fixture *fixture = h2_fixture(NULL);
    h2_serve(fixture, answer_with_weight_as_status, NULL, H2_CLOSE);
    for (size_t i = 0; i < COUNT_OF(priorities); i++) {
        call *call = call_new(fixture, "/");
        call->request.priority = priorities[i];
        call_perform(call);
        check_ended(call, AFC_OK);
        int expected = priorities[i] != 0 ? priorities[i] : DEFAULT_WEIGHT;
        assert_int_equal(call->head->status, 400 + expected);
        call_free(call);
    }
    fixture_free(fixture);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(priority_is_weight_of_its_stream_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
