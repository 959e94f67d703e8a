/*
 * executor URL...: fetches URLs with a session that has its own thread, and handles the results on the main thread,
 * whose queue stands for that of a toolkit. The handlers need no lock.
 */
#include <afcore/afcore.h>
#include <pthread.h>
#include <stdio.h>

typedef struct queue {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    void (*functions[64])(void *argument);
    void *arguments[64];
    unsigned first, last;
} queue;

static bool post(void *context, void (*function)(void *argument), void *argument) {
    queue *calls = context;
    pthread_mutex_lock(&calls->lock);
    calls->functions[calls->last % 64] = function;
    calls->arguments[calls->last++ % 64] = argument;
    pthread_cond_signal(&calls->changed);
    pthread_mutex_unlock(&calls->lock);
    return true;
}

static void on_done(void *context, afc_result *result) {
    const afc_failure *failure = afc_result_get_failure(result);
    if (failure->status == AFC_OK) --*(int *)context;
    printf("%s %s\n", failure->text, afc_result_get_url(result));
    afc_result_free(result);
}

int main(int argc, char **argv) {
    static queue calls = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, {0}, {0}, 0, 0};
    int missing = argc - 1, begun = 0;
    afc_session *session;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.executor = (afc_executor){&calls, post};
    if (argc > 64 || afc_session_new(&session, &options, NULL) != AFC_OK) return 2;
    for (int i = 1; i < argc; i++) {
        afc_request request = AFC_REQUEST_INIT;
        afc_task_events events = AFC_TASK_EVENTS_INIT;
        request.url = argv[i];
        events.context = &missing;
        events.on_done = on_done;
        if (afc_task_begin(NULL, session, &request, &events, NULL) == AFC_OK) begun++;
    }
    afc_session_release(session);
    for (int i = 0; i < begun; i++) { /* One call for each task, as on_progress isn't used. */
        pthread_mutex_lock(&calls.lock);
        while (calls.first == calls.last) pthread_cond_wait(&calls.changed, &calls.lock);
        pthread_mutex_unlock(&calls.lock);
        calls.functions[calls.first % 64](calls.arguments[calls.first % 64]);
        calls.first++;
    }
    afc_join_closed_sessions();
    return missing == 0 ? 0 : 1;
}
