/*
 * How a request is sent. A call has two sides: the loop thread of the core reports news, and the caller's side takes them:
 * a source in the main context of the caller, or afgio_session_send(), which waits. The last news are the end. The caller's
 * side then releases what belongs to the caller, on its thread, and the last side frees the call.
 */
#include "internal.h"

/* What the loop thread reports; bits. */
enum { NEWS_PROGRESS = 1u << 0, NEWS_END = 1u << 1 };

typedef struct sending {
    gatomicrefcount references; /* The two sides. */
    AfgioRequest *request;
    afgio__request_spec spec;
    afc_session *core;
    afc_task *handle;
    GCancellable *cancellable; /* NULL: none. */
    gulong cancel_handler;     /* 0: not connected. */
    GTask *task;               /* NULL: afgio_session_send(). */
    afc_result *result;        /* NULL until on_done; read after the end. */
    GMutex lock;
    GCond changed;
    unsigned news;         /* Bits that the caller's side hasn't taken yet. */
    afc_progress progress; /* The newest. */
} sending;

/* A side is done. The other one may still be unlocking the mutex that it was told by. */
static void call_unref(sending *call) {
    if (!g_atomic_ref_count_dec(&call->references)) return;
    g_cond_clear(&call->changed);
    g_mutex_clear(&call->lock);
    g_free(call);
}

/* The caller's side is done. */
static void call_end(sending *call) {
    if (call->cancel_handler != 0)
        g_signal_handler_disconnect(call->cancellable, call->cancel_handler);
    g_clear_object(&call->cancellable);
    afc_result_free(call->result);
    afc_task_release(call->handle);
    afc_session_release(call->core);
    afgio__request_spec_clear(&call->spec);
    g_clear_object(&call->request);
    g_clear_object(&call->task);
    call_unref(call);
}

/* ---- The caller's side --------------------------------------------------------------------- */

/* Returns what the request has ended with. */
static AfgioResponse *take_response(sending *call, GError **error) {
    const afc_failure *failure = afc_result_get_failure(call->result);
    if (failure->status != AFC_OK) {
        g_propagate_error(error, afgio__error_new(failure));
        return NULL;
    }
    AfgioResponse *response = afgio__response_new(call->result, call->spec.destination);
    if (response == NULL)
        g_set_error_literal(error, AFGIO_ERROR, AFGIO_ERROR_INTERNAL, "there is no response");
    return response;
}

static gboolean take_news(gpointer pointer) {
    sending *call = pointer;
    g_mutex_lock(&call->lock);
    unsigned news = call->news;
    afc_progress progress = call->progress;
    call->news = 0;
    g_mutex_unlock(&call->lock);
    if ((news & NEWS_PROGRESS) != 0) afgio__request_emit_progress(call->request, &progress);
    if ((news & NEWS_END) == 0) return G_SOURCE_REMOVE;
    GError *error = NULL;
    AfgioResponse *response = take_response(call, &error);
    GTask *task = g_steal_pointer(&call->task);
    call_end(call);
    if (response != NULL) {
        g_task_return_pointer(task, response, g_object_unref);
    } else {
        g_task_return_error(task, error);
    }
    g_object_unref(task);
    return G_SOURCE_REMOVE;
}

/* Takes progress until the end, on the thread that waits. */
static void wait_for_end(sending *call) {
    unsigned news = 0;
    while ((news & NEWS_END) == 0) {
        g_mutex_lock(&call->lock);
        while (call->news == 0) g_cond_wait(&call->changed, &call->lock);
        news = call->news;
        afc_progress progress = call->progress;
        call->news = 0;
        g_mutex_unlock(&call->lock);
        if ((news & NEWS_PROGRESS) != 0) afgio__request_emit_progress(call->request, &progress);
    }
}

/* ---- The loop thread ----------------------------------------------------------------------- */

/* Reports `news`. One source is enough for all news that aren't taken yet. */
static void report(sending *call, unsigned news, const afc_progress *progress) {
    g_mutex_lock(&call->lock);
    bool is_first = call->news == 0;
    call->news |= news;
    if (progress != NULL) call->progress = *progress;
    if (call->task != NULL && is_first) {
        GSource *source = g_idle_source_new();
        g_source_set_priority(source, g_task_get_priority(call->task));
        g_source_set_callback(source, take_news, call, NULL);
        g_source_set_name(source, "afcore-gio");
        g_source_attach(source, g_task_get_context(call->task));
        g_source_unref(source);
    }
    g_cond_signal(&call->changed);
    g_mutex_unlock(&call->lock);
}

static void on_progress(void *context, const afc_progress *progress) {
    report(context, NEWS_PROGRESS, progress);
}

static void on_done(void *context, afc_result *result) {
    sending *call = context;
    call->result = result;
}

/* The last callback, also of a task that couldn't be made. */
static void on_release(void *context) {
    sending *call = context;
    if (call->result != NULL) report(call, NEWS_END, NULL);
    call_unref(call);
}

/* ---- Sending ------------------------------------------------------------------------------- */

static void on_cancelled(GCancellable *cancellable, afc_task *handle) {
    (void)cancellable;
    afc_task_cancel(handle);
}

static void release_handle(gpointer handle) {
    afc_task_release(handle);
}

/* Makes a call that isn't started yet. */
static sending *call_new(AfgioSession *session, AfgioRequest *request, GError **error) {
    afc_session *core = afgio__session_copy_core(session, error);
    if (core == NULL) return NULL;
    sending *new = g_new0(sending, 1);
    if (!afgio__request_spec_read(&new->spec, request, afgio__session_get_base_url(session),
                                  error)) {
        afc_session_release(core);
        g_free(new);
        return NULL;
    }
    g_atomic_ref_count_init(&new->references);
    g_atomic_ref_count_inc(&new->references);
    g_mutex_init(&new->lock);
    g_cond_init(&new->changed);
    new->core = core;
    new->request = g_object_ref(request);
    new->spec.core.timeouts = afgio__session_get_timeouts(session);
    afc_task_events events = AFC_TASK_EVENTS_INIT;
    events.context = new;
    events.on_done = on_done;
    events.release = on_release;
    if (afgio__request_has_listener(request)) events.on_progress = on_progress;
    afc_failure failure;
    if (afc_task_new(&new->handle, core, &new->spec.core, &events, &failure) != AFC_OK) {
        g_propagate_error(error, afgio__error_new(&failure));
        call_end(new);
        return NULL;
    }
    return new;
}

/* Starts a call. If it has a task, another thread may end it before this function returns. */
static void call_start(sending *call, GCancellable *cancellable) {
    afc_task *handle = afc_task_retain(call->handle);
    if (cancellable != NULL) {
        call->cancellable = g_object_ref(cancellable);
        /* Cancels at once if it is cancelled already: the task then ends when it is started. */
        call->cancel_handler = g_cancellable_connect(cancellable, G_CALLBACK(on_cancelled),
                                                     afc_task_retain(handle), release_handle);
    }
    afc_task_start(handle);
    afc_task_release(handle);
}

void afgio_session_send_async(AfgioSession *self, AfgioRequest *request, GCancellable *cancellable,
                              GAsyncReadyCallback callback, gpointer user_data) {
    g_return_if_fail(AFGIO_IS_SESSION(self));
    g_return_if_fail(AFGIO_IS_REQUEST(request));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));
    GTask *task = g_task_new(self, cancellable, callback, user_data);
    g_task_set_name(task, "afgio_session_send_async");
    /* The call is freed before @callback, which may still use the request. */
    g_task_set_task_data(task, g_object_ref(request), g_object_unref);
    /* What has ended before it was cancelled, such as a download in its place, has succeeded. */
    g_task_set_check_cancellable(task, FALSE);
    GError *error = NULL;
    sending *call = call_new(self, request, &error);
    if (call == NULL) {
        g_task_return_error(task, error);
        g_object_unref(task);
        return;
    }
    call->task = task;
    call_start(call, cancellable);
}

AfgioResponse *afgio_session_send_finish(AfgioSession *self, GAsyncResult *result, GError **error) {
    g_return_val_if_fail(g_task_is_valid(result, self), NULL);
    return g_task_propagate_pointer(G_TASK(result), error);
}

AfgioResponse *afgio_session_send(AfgioSession *self, AfgioRequest *request,
                                  GCancellable *cancellable, GError **error) {
    g_return_val_if_fail(AFGIO_IS_SESSION(self), NULL);
    g_return_val_if_fail(AFGIO_IS_REQUEST(request), NULL);
    g_return_val_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable), NULL);
    sending *call = call_new(self, request, error);
    if (call == NULL) return NULL;
    call_start(call, cancellable);
    wait_for_end(call);
    AfgioResponse *response = take_response(call, error);
    call_end(call);
    return response;
}
