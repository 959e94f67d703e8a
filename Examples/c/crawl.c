/*
 * crawl URL COUNT: fetches URL0, URL1, … up to COUNT of one host. All tasks are started at once: the session queues
 * them and uses a few connections, and a waiting task takes about 2 KiB.
 */
#include <afcore/afcore.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct crawl {
    unsigned long succeeded, refused, failed;
} crawl;

static void on_done(void *context, afc_result *result) {
    crawl *counts = context;
    const afc_failure *failure = afc_result_get_failure(result);
    const afc_head *head = afc_result_get_head(result);
    if (failure->status != AFC_OK) {
        if (counts->failed++ == 0) fprintf(stderr, "%s\n", failure->text);
    } else if (head->status != 200) {
        counts->refused++;
    } else {
        counts->succeeded++;
    }
    afc_result_free(result);
}

int main(int argc, char **argv) {
    crawl counts = {0};
    afc_session *session;
    afc_failure failure;
    if (argc != 3) {
        fprintf(stderr, "usage: %s URL COUNT\n", argv[0]);
        return 2;
    }
    if (afc_session_new(&session, NULL, &failure) != AFC_OK) {
        fprintf(stderr, "%s\n", failure.text);
        return 1;
    }
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = &counts;
    events.on_done = on_done;
    for (long i = 0; i < strtol(argv[2], NULL, 10); i++) {
        char url[4096];
        afc_request request = AFC_REQUEST_INIT;
        snprintf(url, sizeof url, "%s%ld", argv[1], i);
        request.url = url;
        if (afc_task_begin(NULL, session, &request, &events, &failure) != AFC_OK) {
            fprintf(stderr, "%s: %s\n", url, failure.text);
            break;
        }
    }
    afc_session_release(session);
    afc_join_closed_sessions();
    printf("%lu succeeded, %lu refused, %lu failed\n", counts.succeeded, counts.refused,
           counts.failed);
    return counts.failed == 0 ? 0 : 1;
}
