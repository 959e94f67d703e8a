/*
 * One octet that chooses a request, then what servers answer, through sockets and libcurl to a task: each connection
 * its part, each request its piece. Whatever it is, the task completes once, within its limits.
 */
#include "wire.h"

enum { LARGEST_BODY = 64 * 1024 };

static afc_status on_head(void *context, afc_response *response) {
    wire_run *run = context;
    require(++run->heads == 1 && response->head->status >= 200);
    return AFC_OK;
}

static afc_status on_body(void *context, afc_slice chunk) {
    const wire_run *run = context;
    require(run->heads == 1 && chunk.size > 0);
    return AFC_OK;
}

static void choose(afc_request *request, afc_task_events *events, unsigned choice) {
    static const afc_credentials user = {"u", "p", NULL, 0, false, {0}};
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT"};
    request->method = methods[choice & 3];
    if ((choice & 2) != 0) {
        request->body.kind = AFC_BODY_BYTES;
        request->body.bytes = afc_slice_of("body");
    }
    if ((choice & 4) != 0) {
        request->sink.kind = AFC_SINK_CALLBACK;
        events->on_body = on_body;
    }
    if ((choice & 8) != 0) request->version = AFC_HTTP_PREFER_2_PRIOR_KNOWLEDGE;
    if ((choice & 16) != 0) request->credentials = &user;
    if ((choice & 32) != 0) request->expect = AFC_EXPECT_ALWAYS;
    request->keep_encoding = (choice & 64) != 0;
    request->limits = (afc_limits){LARGEST_BODY, 16 * 1024, 64, 4, 5, 3, {0}};
    request->timeouts = (afc_timeouts){2000, 2000, 4000, {0}};
    events->on_head = on_head;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    input input = {data, size};
    wire_run run = {0};
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    choose(&request, &events, take_octet(&input));
    request.url = "http://a.test/b?c";
    request.unix_socket = wire_listen(take_bytes(&input, input.size), false);
    wire_perform(&run, &request, events);
    return 0;
}
