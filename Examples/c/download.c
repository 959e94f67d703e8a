/*
 * download URL PATH: downloads to a file, which appears only when it is complete. Prints the
 * progress on standard error. After an interruption, the next run resumes the download.
 */
#include "example.h"

#include <inttypes.h>
#include <stdio.h>

static void on_progress(void *context, const afc_progress *progress) {
    (void)context;
    int64_t received = progress->offset + progress->received;
    if (progress->received_total == AFC_LENGTH_UNKNOWN) {
        fprintf(stderr, "\r%" PRId64 " bytes", received);
    } else {
        fprintf(stderr, "\r%" PRId64 " of %" PRId64 " bytes", received,
                progress->offset + progress->received_total);
    }
}

static void on_done(void *context, afc_result *result) {
    example_exchange *exchange = context;
    const afc_download *download = afc_result_get_download(result);
    /* The server reports this with a 416, which isn't a failure here. */
    bool is_complete = download != NULL && download->resumption == AFC_RESUMPTION_COMPLETE;
    fputc('\n', stderr);
    if (report_failure(exchange, result)) {
        if (afc_result_get_resume_token(result)[0] != '\0') {
            fprintf(stderr, "%" PRId64 " bytes are kept: run it again to go on\n", download->size);
        }
    } else if (!is_complete && !is_success(result)) {
        fprintf(stderr, "status %d, nothing was written\n", afc_result_get_head(result)->status);
        exchange->code = 1;
    }
    afc_result_free(result);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s URL PATH\n", argv[0]);
        return 2;
    }
    afc_request request = AFC_REQUEST_INIT;
    request.url = argv[1];
    request.sink.kind = AFC_SINK_FILE;
    request.sink.path = argv[2];
    request.sink.flags = AFC_SINK_KEEP_PARTIAL | AFC_SINK_RESUME;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.on_progress = on_progress;
    events.on_done = on_done;
    return perform(&request, &events);
}
