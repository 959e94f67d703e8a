/*
 * download URL PATH: downloads to a file, which appears only when it is complete. After an interruption, the next run
 * resumes the download.
 */
#include <afcore/afcore.h>
#include <stdio.h>

static void on_progress(void *context, const afc_progress *progress) {
    (void)context;
    fprintf(stderr, "\r%lld bytes", (long long)(progress->offset + progress->received));
}

static void on_done(void *context, afc_result *result) {
    const afc_failure *failure = afc_result_get_failure(result);
    const afc_download *download = afc_result_get_download(result);
    const afc_head *head = afc_result_get_head(result);
    *(int *)context = 1;
    if (failure->status != AFC_OK) {
        fprintf(stderr, "\n%s\n", failure->text);
        if (afc_result_get_resume_token(result)[0] != '\0') {
            fprintf(stderr, "%lld bytes are kept: run it again\n", (long long)download->size);
        }
    } else if (head->status / 100 != 2 && download->resumption != AFC_RESUMPTION_COMPLETE) {
        fprintf(stderr, "\nstatus %d, no file\n", head->status);
    } else {
        fprintf(stderr, "\n%lld bytes, %lld of them kept from before\n", (long long)download->size,
                (long long)download->offset);
        *(int *)context = 0;
    }
    afc_result_free(result);
}

int main(int argc, char **argv) {
    afc_session *session;
    afc_failure failure;
    int code = 1;
    if (argc != 3) {
        fprintf(stderr, "usage: %s URL PATH\n", argv[0]);
        return 2;
    }
    afc_request request = AFC_REQUEST_INIT;
    request.url = argv[1];
    request.sink.kind = AFC_SINK_FILE;
    request.sink.path = argv[2];
    request.sink.flags = AFC_FILE_KEEP_PARTIAL | AFC_FILE_RESUME;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = &code;
    events.on_progress = on_progress;
    events.on_done = on_done;
    afc_status status = afc_session_new(&session, NULL, &failure);
    if (status == AFC_OK) {
        status = afc_task_begin(NULL, session, &request, &events, &failure);
        afc_session_release(session);
        afc_join_closed_sessions();
    }
    if (status != AFC_OK) fprintf(stderr, "%s\n", failure.text);
    return code;
}
