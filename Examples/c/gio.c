/*
 * gio URL: fetches a URL in a program of GLib with libafcore-gio. The callback is called by the main context.
 */
#include <afcore-gio/afcore-gio.h>

typedef struct outcome {
    GMainLoop *loop;
    int code;
} outcome;

static void on_sent(GObject *session, GAsyncResult *result, gpointer data) {
    outcome *end = data;
    GError *error = NULL;
    AfgioResponse *response = afgio_session_send_finish(AFGIO_SESSION(session), result, &error);
    if (response == NULL) {
        g_printerr("%s\n", error->message);
        g_error_free(error);
    } else {
        GBytes *body = afgio_response_get_body(response);
        g_print("%u, %" G_GSIZE_FORMAT " bytes\n", afgio_response_get_status(response),
                g_bytes_get_size(body));
        g_object_unref(response);
        end->code = 0;
    }
    g_main_loop_quit(end->loop);
}

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    outcome end = {g_main_loop_new(NULL, FALSE), 1};
    AfgioSession *session = g_object_new(AFGIO_TYPE_SESSION, "total-timeout-ms", 60000, NULL);
    AfgioRequest *request = afgio_request_new("GET", argv[1]);
    afgio_session_send_async(session, request, NULL, on_sent, &end);
    g_object_unref(request);
    g_object_unref(session); /* The request under way keeps it. */
    g_main_loop_run(end.loop);
    g_main_loop_unref(end.loop);
    return end.code;
}
