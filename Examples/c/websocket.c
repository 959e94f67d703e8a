/*
 * websocket URL TEXT...: sends texts over a WebSocket, prints as many messages of the server, and closes it.
 */
#include <afcore/afcore.h>
#include <stdio.h>

typedef struct conversation {
    afc_websocket *socket;
    int missing;
    afc_status status;
} conversation;

static afc_status on_message(void *context, const afc_websocket_message *message) {
    conversation *talk = context;
    printf("%.*s\n", (int)message->bytes.size, message->bytes.bytes);
    if (--talk->missing == 0) {
        afc_websocket_close(talk->socket, AFC_WEBSOCKET_NORMAL, afc_slice_of("done"));
    }
    return AFC_OK; /* AFC_EAGAIN would hold the message until afc_websocket_resume(). */
}

static void on_closed(void *context, const afc_websocket_end *end) {
    ((conversation *)context)->status = end->failure.status;
    if (end->failure.status != AFC_OK) fprintf(stderr, "%s\n", end->failure.text);
    printf("closed with code %u\n", (unsigned)end->code);
}

int main(int argc, char **argv) {
    conversation talk = {NULL, argc - 2, AFC_OK};
    afc_session *session;
    afc_failure failure;
    if (argc < 3) {
        fprintf(stderr, "usage: %s URL TEXT...\n", argv[0]);
        return 2;
    }
    afc_request request = AFC_REQUEST_INIT;
    request.url = argv[1];
    afc_websocket_options options = AFC_WEBSOCKET_OPTIONS_INIT;
    options.ping_interval_ms = 30000; /* Notices a server that has vanished. */
    afc_websocket_events events = AFC_WEBSOCKET_EVENTS_INIT;
    events.context = &talk;
    events.on_message = on_message;
    events.on_closed = on_closed;
    afc_status status = afc_session_new(&session, NULL, &failure);
    if (status == AFC_OK) {
        status = afc_websocket_open(&talk.socket, session, &request, &options, &events, &failure);
        for (int i = 2; i < argc && status == AFC_OK; i++) { /* They wait until it is open. */
            afc_slice text = afc_slice_of(argv[i]);          /* UTF-8, else AFC_EINVAL. */
            afc_status sent = afc_websocket_send(talk.socket, AFC_WEBSOCKET_TEXT, text, 0, NULL);
            if (sent != AFC_OK) fprintf(stderr, "text %d: %s\n", i - 1, afc_status_text(sent));
            if (sent != AFC_OK) afc_websocket_cancel(talk.socket); /* No answer would come. */
        }
        afc_session_release(session);
        afc_join_closed_sessions(); /* A session closes when its sockets have. */
        afc_websocket_release(talk.socket);
    }
    if (status != AFC_OK) fprintf(stderr, "%s\n", failure.text);
    return status == AFC_OK && talk.status == AFC_OK ? 0 : 1;
}
