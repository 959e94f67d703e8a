/*
 * How a request is sent. A call has two sides. The loop thread of the core reports news: progress, and at last the end.
 * The caller's side receives them: a GSource in the main context of the caller, or afgio_session_send(), which waits.
 * After the end, the caller's side releases the objects of the caller, on its thread, and the side that finishes last
 * frees the call.
 *
 * The main context owns the source, and a call has no reference to the context. If a context is freed before its calls
 * have ended, their sources are destroyed, which cancels the calls; the loop thread then releases what the core has
 * used until then. A GTask isn't used, because it retains its context, which would retain the source and with it the
 * task.
 */
#include "internal.h"

/* The news that the loop thread reports, as bits. */
enum { NEWS_PROGRESS = 1u << 0, NEWS_END = 1u << 1 };

/* ---- What the callback gets ---------------------------------------------------------------- */

typedef struct AfgioSendResult {
    GObject parent;
    AfgioSession *session;
    AfgioRequest *request; /* Kept until the callback has returned. */
    AfgioResponse *response;
    GError *error;
    GAsyncReadyCallback callback; /* NULL: none. */
    gpointer user_data;
} AfgioSendResult;

typedef struct AfgioSendResultClass {
    GObjectClass parent;
} AfgioSendResultClass;

static GType afgio__send_result_get_type(void);
static void init_interface(gpointer interface, gpointer data);

G_DEFINE_TYPE_WITH_CODE(AfgioSendResult, afgio__send_result, G_TYPE_OBJECT,
                        G_IMPLEMENT_INTERFACE(G_TYPE_ASYNC_RESULT, init_interface))

static GObject *copy_source_object(GAsyncResult *result) {
    return g_object_ref(G_OBJECT(((AfgioSendResult *)result)->session));
}

static gpointer get_user_data(GAsyncResult *result) {
    return ((AfgioSendResult *)result)->user_data;
}

static void init_interface(gpointer interface, gpointer data) {
    GAsyncResultIface *functions = interface;
    (void)data;
    functions->get_source_object = copy_source_object;
    functions->get_user_data = get_user_data;
}

static void send_result_finalize(GObject *object) {
    AfgioSendResult *self = (AfgioSendResult *)object;
    g_object_unref(self->session);
    g_object_unref(self->request);
    g_clear_object(&self->response);
    g_clear_error(&self->error);
    G_OBJECT_CLASS(afgio__send_result_parent_class)->finalize(object);
}

static void afgio__send_result_init(AfgioSendResult *self) {
    (void)self;
}

static void afgio__send_result_class_init(AfgioSendResultClass *class) {
    G_OBJECT_CLASS(class)->finalize = send_result_finalize;
}

static AfgioSendResult *send_result_new(AfgioSession *session, AfgioRequest *request,
                                        GAsyncReadyCallback callback, gpointer user_data) {
    AfgioSendResult *new = g_object_new(afgio__send_result_get_type(), NULL);
    new->session = g_object_ref(session);
    new->request = g_object_ref(request);
    new->callback = callback;
    new->user_data = user_data;
    return new;
}

/* Calls the callback. */
static gboolean deliver(gpointer pointer) {
    AfgioSendResult *self = pointer;
    if (self->callback != NULL)
        self->callback(G_OBJECT(self->session), G_ASYNC_RESULT(self), self->user_data);
    return G_SOURCE_REMOVE;
}

/* ---- Calls --------------------------------------------------------------------------------- */

typedef struct sending {
    gatomicrefcount references; /* One for each side. */
    AfgioRequest *request;
    afgio__request_spec spec;
    afc_session *core;
    afc_task *handle;
    GCancellable *cancellable;    /* NULL: none. */
    gulong cancel_handler;        /* 0 if not connected. */
    AfgioSendResult *send_result; /* NULL for afgio_session_send(). */
    afc_result *result;           /* NULL until on_done; read after the end. */
    GMutex lock;
    GCond changed;
    /* Protected by `lock`. */
    GSource *source;       /* NULL if there is none, or if it was destroyed. */
    unsigned news;         /* NEWS_… bits that the caller's side hasn't received yet. */
    afc_progress progress; /* The latest progress. */
} sending;

/* Releases the members that the core has used, once the task has ended. May be called twice. */
static void call_clear(sending *call) {
    if (call->core == NULL) return;
    afc_result_free(call->result);
    g_clear_pointer(&call->handle, afc_task_release);
    g_clear_pointer(&call->core, afc_session_release);
    afgio__request_spec_clear(&call->spec);
}

/* Releases the reference of one side; the last one frees the call. A reference count is needed because the other side
 * may still be unlocking the mutex under which it has reported the end. */
static void call_unref(sending *call) {
    if (!g_atomic_ref_count_dec(&call->references)) return;
    call_clear(call);
    g_cond_clear(&call->changed);
    g_mutex_clear(&call->lock);
    g_free(call);
}

/* Releases the objects of the caller, on its thread. */
static void call_release_objects(sending *call) {
    if (call->cancel_handler != 0)
        g_signal_handler_disconnect(call->cancellable, call->cancel_handler);
    call->cancel_handler = 0;
    g_clear_object(&call->cancellable);
    g_clear_object(&call->request);
    g_clear_object(&call->send_result);
}

/* Ends the caller's side, after the end of the task. */
static void call_end(sending *call) {
    call_release_objects(call);
    call_clear(call);
    call_unref(call);
}

/* ---- The caller's side --------------------------------------------------------------------- */

/* Takes the response of the request, or returns NULL with its error. */
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
    bool has_progress = (call->news & NEWS_PROGRESS) != 0;
    afc_progress progress = call->progress;
    call->news &= ~(unsigned)NEWS_PROGRESS;
    bool has_ended = call->news != 0 && !has_progress;
    if (has_ended) call->news = 0;
    /* A handler of the progress may run the main context until the call ends, so the end is handled in another
     * iteration. */
    if (call->news != 0 && call->source != NULL) g_source_set_ready_time(call->source, 0);
    g_mutex_unlock(&call->lock);
    if (has_progress) {
        AfgioRequest *request = g_object_ref(call->request);
        afgio__request_emit_progress(request, &progress);
        g_object_unref(request);
    }
    if (!has_ended) return G_SOURCE_CONTINUE;
    AfgioSendResult *result = g_steal_pointer(&call->send_result);
    result->response = take_response(call, &result->error);
    call_release_objects(call);
    call_clear(call);
    deliver(result);
    g_object_unref(result);
    return G_SOURCE_REMOVE;
}

/* Called when the source was destroyed: after the end, or before it because the main context was freed. */
static void on_source_destroyed(gpointer pointer) {
    sending *call = pointer;
    g_mutex_lock(&call->lock);
    call->source = NULL;
    g_mutex_unlock(&call->lock);
    if (call->handle != NULL) afc_task_cancel(call->handle);
    call_release_objects(call);
    call_unref(call);
}

static gboolean dispatch(GSource *source, GSourceFunc callback, gpointer pointer) {
    /* Reset before the news are taken, because later ones make the source ready again. */
    g_source_set_ready_time(source, -1);
    return callback(pointer);
}

/*
 * Attaches a source to the caller's main context. The source takes over the caller's references of `call`, and is ready
 * when there are news.
 */
static void attach_source(sending *call) {
    static GSourceFuncs functions = {.dispatch = dispatch};
    GSource *source = g_source_new(&functions, sizeof *source);
    g_source_set_callback(source, take_news, call, on_source_destroyed);
    g_source_set_name(source, "afcore-gio");
    /* Allows a handler of the progress to run the main context and get the following reports there. */
    g_source_set_can_recurse(source, TRUE);
    call->source = source;
    g_source_attach(source, g_main_context_get_thread_default());
    g_source_unref(source);
}

/* Waits for the end on the calling thread, and emits the progress meanwhile. */
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

/* Reports `news`. The source is valid under the lock: its main context waits for on_source_destroyed(). */
static void report(sending *call, unsigned news, const afc_progress *progress) {
    g_mutex_lock(&call->lock);
    bool is_first = call->news == 0;
    call->news |= news;
    if (progress != NULL) call->progress = *progress;
    if (call->source != NULL && is_first) g_source_set_ready_time(call->source, 0);
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

/* Called last by the core, also for a task that couldn't be created. */
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

/* Creates a call, which isn't started. */
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
    new->spec.core.timeouts = afgio__request_get_timeouts(request,
                                                          afgio__session_get_timeouts(session));
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

/* Starts a call. If it has a source, another thread may end and free it before this function returns. */
static void call_start(sending *call, GCancellable *cancellable) {
    afc_task *handle = afc_task_retain(call->handle);
    if (cancellable != NULL) {
        call->cancellable = g_object_ref(cancellable);
        /* Calls on_cancelled at once if `cancellable` is already cancelled; the task then ends when it is started. */
        call->cancel_handler = g_cancellable_connect(cancellable, G_CALLBACK(on_cancelled),
                                                     afc_task_retain(handle), release_handle);
    }
    if (call->send_result != NULL) attach_source(call);
    afc_task_start(handle);
    afc_task_release(handle);
}

/* Lets the main context call the callback with an error. Takes `result` and `error`. */
static void fail_later(AfgioSendResult *result, GError *error) {
    result->error = error;
    GSource *source = g_idle_source_new();
    g_source_set_priority(source, G_PRIORITY_DEFAULT);
    g_source_set_callback(source, deliver, result, g_object_unref);
    g_source_set_name(source, "afcore-gio");
    g_source_attach(source, g_main_context_get_thread_default());
    g_source_unref(source);
}

void afgio_session_send_async(AfgioSession *self, AfgioRequest *request, GCancellable *cancellable,
                              GAsyncReadyCallback callback, gpointer user_data) {
    g_return_if_fail(AFGIO_IS_SESSION(self));
    g_return_if_fail(AFGIO_IS_REQUEST(request));
    g_return_if_fail(cancellable == NULL || G_IS_CANCELLABLE(cancellable));
    AfgioSendResult *result = send_result_new(self, request, callback, user_data);
    GError *error = NULL;
    sending *call = call_new(self, request, &error);
    if (call == NULL) {
        fail_later(result, error);
        return;
    }
    call->send_result = result;
    call_start(call, cancellable);
}

AfgioResponse *afgio_session_send_finish(AfgioSession *self, GAsyncResult *result, GError **error) {
    g_return_val_if_fail(AFGIO_IS_SESSION(self), NULL);
    g_return_val_if_fail(G_TYPE_CHECK_INSTANCE_TYPE(result, afgio__send_result_get_type()), NULL);
    AfgioSendResult *own = (AfgioSendResult *)result;
    g_return_val_if_fail(own->session == self, NULL);
    g_return_val_if_fail(own->response != NULL || own->error != NULL, NULL);
    if (own->error != NULL) {
        g_propagate_error(error, g_steal_pointer(&own->error));
        return NULL;
    }
    return g_steal_pointer(&own->response);
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
