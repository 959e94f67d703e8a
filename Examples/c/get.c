/*
 * get URL [NAME VALUE]: prints the head of the response and streams its body to standard output as
 * it arrives. The memory use doesn't depend on the size.
 */
#include "example.h"

#include <stdio.h>

static void print_slice(afc_slice slice) {
    fwrite(slice.bytes, 1, slice.size, stdout);
}

static afc_status on_head(void *context, afc_response *response) {
    (void)context;
    const afc_head *head = response->head;
    printf("%d\n", head->status);
    for (size_t i = 0; i < head->header_count; i++) {
        print_slice(head->headers[i].name);
        fputs(": ", stdout);
        print_slice(head->headers[i].value);
        fputc('\n', stdout);
    }
    fputc('\n', stdout);
    return AFC_OK;
}

static afc_status on_body(void *context, afc_slice chunk) {
    (void)context;
    return fwrite(chunk.bytes, 1, chunk.size, stdout) == chunk.size ? AFC_OK : AFC_EFILE;
}

static void on_done(void *context, afc_result *result) {
    report_failure(context, result);
    afc_result_free(result);
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 4) {
        fprintf(stderr, "usage: %s URL [NAME VALUE]\n", argv[0]);
        return 2;
    }
    afc_header header = {{NULL, 0}, {NULL, 0}, 0};
    afc_request request = AFC_REQUEST_INIT;
    request.url = argv[1];
    request.sink.kind = AFC_SINK_CALLBACK;
    if (argc == 4) {
        header.name = afc_slice_of(argv[2]);
        header.value = afc_slice_of(argv[3]);
        request.headers = &header;
        request.header_count = 1;
    }
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.on_head = on_head;
    events.on_body = on_body;
    events.on_done = on_done;
    return perform(&request, &events);
}
