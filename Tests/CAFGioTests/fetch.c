#include "fetch.h"

#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

fetch *fetch_new(AfgioSession *session, const char *method, const char *url) {
    fetch *new = calloc(1, sizeof *new);
    assert_non_null(new);
    new->context = g_main_context_new();
    new->session = g_object_ref(session);
    new->request = afgio_request_new(method, url);
    new->thread = g_thread_self();
    return new;
}

static void on_progress(AfgioRequest *request, gint64 sent, gint64 sent_total, gint64 received,
                        gint64 received_total, gpointer pointer) {
    fetch *fetch = pointer;
    fetch->progress++;
    if (fetch->callbacks > 0) fetch->late_progress++;
    if (g_thread_self() != fetch->thread || request != fetch->request) fetch->misplaced++;
    fetch->sent = sent;
    fetch->sent_total = sent_total;
    fetch->received = received;
    fetch->received_total = received_total;
}

void fetch_watch(fetch *fetch) {
    g_signal_connect(fetch->request, "progress", G_CALLBACK(on_progress), fetch);
}

static void on_sent(GObject *session, GAsyncResult *result, gpointer pointer) {
    fetch *fetch = pointer;
    fetch->callbacks++;
    if (g_thread_self() != fetch->thread) fetch->misplaced++;
    fetch->response = afgio_session_send_finish(AFGIO_SESSION(session), result, &fetch->error);
}

void fetch_send(fetch *fetch, GCancellable *cancellable) {
    g_main_context_push_thread_default(fetch->context);
    afgio_session_send_async(fetch->session, fetch->request, cancellable, on_sent, fetch);
    g_main_context_pop_thread_default(fetch->context);
    assert_int_equal(fetch->callbacks, 0);
}

void fetch_wait(fetch *fetch) {
    while (fetch->callbacks == 0) g_main_context_iteration(fetch->context, TRUE);
    while (g_main_context_iteration(fetch->context, FALSE)) {}
}

fetch *fetch_url(AfgioSession *session, const char *url) {
    fetch *fetch = fetch_new(session, "GET", url);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    return fetch;
}

void fetch_free(fetch *fetch) {
    assert_int_equal(fetch->callbacks, 1);
    assert_int_equal(fetch->misplaced, 0);
    assert_int_equal(fetch->late_progress, 0);
    assert_true((fetch->response == NULL) != (fetch->error == NULL));
    g_clear_object(&fetch->response);
    g_clear_error(&fetch->error);
    g_object_unref(fetch->request);
    g_clear_object(&fetch->session);
    g_main_context_unref(fetch->context);
    free(fetch);
}

void check_response(const fetch *fetch, unsigned status, const char *body) {
    if (fetch->error != NULL) fail_msg("unexpected error: %s", fetch->error->message);
    assert_int_equal(afgio_response_get_status(fetch->response), status);
    gsize size;
    const char *bytes = g_bytes_get_data(afgio_response_get_body(fetch->response), &size);
    check_slice(((afc_slice){bytes, size}), body);
}

void check_error(const fetch *fetch, GQuark domain, int code) {
    assert_null(fetch->response);
    assert_non_null(fetch->error);
    if (!g_error_matches(fetch->error, domain, code))
        fail_msg("%s %d: %s", g_quark_to_string(fetch->error->domain), fetch->error->code,
                 fetch->error->message);
}

static int remove_one(const char *path, const struct stat *facts, int kind, struct FTW *place) {
    (void)facts;
    (void)kind;
    (void)place;
    return remove(path);
}

void remove_tree(const char *path) {
    assert_int_equal(nftw(path, remove_one, 16, FTW_DEPTH | FTW_PHYS), 0);
}
