/*
 * glib URL: fetches a URL inside a GLib program. Callbacks are called by the main context, so they may use widgets.
 */
#include <afcore/afcore.h>
#include <glib.h>

typedef struct session_source {
    GSource source;
    afc_session *session;
} session_source;

static gboolean dispatch(GSource *source, GSourceFunc on_closed, gpointer loop) {
    afc_session *session = ((session_source *)source)->session;
    if (afc_session_dispatch(session) != AFC_OK) return on_closed(loop);
    int timeout = afc_session_get_timeout_ms(session);
    g_source_set_ready_time(source,
                            timeout < 0 ? -1 : g_get_monotonic_time() + (gint64)timeout * 1000);
    return G_SOURCE_CONTINUE;
}

static gboolean quit(gpointer loop) {
    g_main_loop_quit(loop);
    return G_SOURCE_REMOVE;
}

static void on_done(void *context, afc_result *result) {
    const afc_failure *failure = afc_result_get_failure(result);
    if (failure->status != AFC_OK) g_printerr("%s\n", failure->text);
    if (failure->status == AFC_OK) g_print("%d\n", afc_result_get_head(result)->status);
    *(int *)context = failure->status == AFC_OK ? 0 : 1;
    afc_result_free(result);
}

int main(int argc, char **argv) {
    static GSourceFuncs functions = {.dispatch = dispatch};
    int code = 1;
    GMainLoop *loop = g_main_loop_new(NULL, FALSE);
    GSource *source = g_source_new(&functions, sizeof(session_source));
    afc_session **session = &((session_source *)source)->session;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.loop = AFC_LOOP_EXTERNAL;
    if (argc != 2 || afc_session_new(session, &options, NULL) != AFC_OK) return 2;
    g_source_add_unix_fd(source, afc_session_get_fd(*session), G_IO_IN);
    g_source_set_callback(source, quit, loop, NULL);
    g_source_attach(source, NULL);
    afc_request request = AFC_REQUEST_INIT;
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    request.url = argv[1];
    events.context = &code;
    events.on_done = on_done;
    afc_failure failure;
    afc_status status = afc_task_begin(NULL, *session, &request, &events, &failure);
    if (status != AFC_OK) g_printerr("%s\n", failure.text);
    afc_session_release(*session); /* Closes when the task is done. */
    g_main_loop_run(loop);
    g_source_unref(source);
    g_main_loop_unref(loop);
    return code;
}
