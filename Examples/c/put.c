/*
 * put URL [PATH]: sends a file with PUT, or standard input, whose length is unknown in advance.
 */
#include "example.h"

#include <stdio.h>

/*
 * A reader must not block the session's loop thread. Reading from a pipe may block; here this is
 * acceptable, because the session has a single task. With several tasks, return AFC_READ_AGAIN and
 * call afc_task_wake() later.
 */
static ptrdiff_t read_input(void *context, void *buffer, size_t size) {
    FILE *input = context;
    size_t count = fread(buffer, 1, size, input);
    if (count > 0) {
        return (ptrdiff_t)count;
    }
    return ferror(input) ? AFC_READ_FAILED : AFC_READ_END;
}

static void on_done(void *context, afc_result *result) {
    example_exchange *exchange = context;
    if (!report_failure(exchange, result)) {
        afc_slice body = afc_result_get_body(result);
        fprintf(stderr, "%d\n", afc_result_get_head(result)->status);
        fwrite(body.bytes, 1, body.size, stdout);
        exchange->code = is_success(result) ? 0 : 1;
    }
    afc_result_free(result);
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3) {
        fprintf(stderr, "usage: %s URL [PATH]\n", argv[0]);
        return 2;
    }
    afc_request request = AFC_REQUEST_INIT;
    request.method = "PUT";
    request.url = argv[1];
    if (argc == 3) {
        request.body.kind = AFC_BODY_FILE;
        request.body.path = argv[2];
    } else {
        request.body.kind = AFC_BODY_READER;
        request.body.reader.context = stdin;
        request.body.reader.read = read_input;
        request.body.length = AFC_LENGTH_UNKNOWN;
    }
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.on_done = on_done;
    return perform(&request, &events);
}
