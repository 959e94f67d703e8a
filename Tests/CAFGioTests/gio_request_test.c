/* Requests: what is sent and received, where callbacks are called, cancelling, errors. */
#include "fetch.h"

#include <string.h>

typedef struct session_fixture {
    fixture *fixture;
    AfgioSession *session;
} session_fixture;

static int session_fixture_setup(void **state) {
    session_fixture *session_fixture = g_new0(struct session_fixture, 1);
    session_fixture->fixture = fixture_new(NULL, NULL);
    session_fixture->session = afgio_session_new();
    *state = session_fixture;
    return 0;
}

static int session_fixture_teardown(void **state) {
    session_fixture *session_fixture = *state;
    g_clear_object(&session_fixture->session);
    fixture_free(session_fixture->fixture);
    g_free(session_fixture);
    return 0;
}

#define SESSION_TEST(test)                                                                         \
    cmocka_unit_test_setup_teardown(test, session_fixture_setup, session_fixture_teardown)

/** Serves a response that comes after the gate "gate" was opened. */
static void serve_later(fixture *fixture, const char *path) {
    afts_script *script = afts_script_new();
    afts_stall(script, "gate");
    afts_respond(script, 200, "", "late", 4);
    serve(fixture, path, script);
}

/* ---- What is sent and received ------------------------------------------------------------- */

static void returns_status_fields_and_body(void **state) {
    session_fixture *session_fixture = *state;
    serve_text(session_fixture->fixture, "/",
               "HTTP/1.1 203 Quite Good\r\nA: 1\r\nB: caf\xe9\r\na: 2\r\nC: caf\xc3\xa9\r\n"
               "Content-Length: 5\r\n\r\nhello");
    fetch *fetch = fetch_url(session_fixture->session, url_of(session_fixture->fixture, "/"));
    check_response(fetch, 203, "hello");
    AfgioResponse *response = fetch->response;
    assert_string_equal(afgio_response_get_reason(response), "Quite Good");
    assert_string_equal(afgio_response_get_url(response), url_of(session_fixture->fixture, "/"));
    assert_string_equal(afgio_response_get_header(response, "a"), "1");
    assert_string_equal(afgio_response_get_header(response, "B"), "caf\xc3\xa9");
    assert_string_equal(afgio_response_get_header(response, "C"), "caf\xc3\xa9");
    assert_null(afgio_response_get_header(response, "D"));
    assert_int_equal(afgio_response_get_n_headers(response), 5);
    const char *name, *value;
    assert_true(afgio_response_get_nth_header(response, 2, &name, &value));
    assert_string_equal(name, "a");
    assert_string_equal(value, "2");
    assert_false(afgio_response_get_nth_header(response, 5, &name, &value));
    assert_null(name);
    assert_null(value);
    assert_null(afgio_response_get_file(response));
    assert_int_equal(afgio_response_get_cache_use(response), AFGIO_CACHE_USE_UNUSED);
    fetch_free(fetch);
}

static void has_properties_of_response(void **state) {
    session_fixture *session_fixture = *state;
    serve(session_fixture->fixture, "/", answer(404, "", "none"));
    fetch *fetch = fetch_url(session_fixture->session, url_of(session_fixture->fixture, "/"));
    check_response(fetch, 404, "none");
    guint status;
    char *reason, *url;
    GBytes *body;
    GFile *file;
    AfgioResumption resumption;
    AfgioCacheUse use;
    g_object_get(fetch->response, "status", &status, "reason", &reason, "url", &url, "body", &body,
                 "file", &file, "resumption", &resumption, "cache-use", &use, NULL);
    assert_int_equal(status, 404);
    assert_string_equal(reason, afgio_response_get_reason(fetch->response));
    assert_string_equal(url, url_of(session_fixture->fixture, "/"));
    assert_int_equal(g_bytes_get_size(body), 4);
    assert_null(file);
    assert_int_equal(resumption, AFGIO_RESUMPTION_NONE);
    assert_int_equal(use, AFGIO_CACHE_USE_UNUSED);
    g_free(reason);
    g_free(url);
    g_bytes_unref(body);
    fetch_free(fetch);
}

static void sends_method_fields_and_body(void **state) {
    session_fixture *session_fixture = *state;
    fetch *fetch = fetch_new(session_fixture->session, "PATCH",
                             url_of(session_fixture->fixture, "/echo"));
    AfgioRequest *request = fetch->request;
    GBytes *body = g_bytes_new_static("{}", 2);
    afgio_request_set_body(request, "application/json", body);
    g_bytes_unref(body);
    afgio_request_set_header(request, "X", "0");
    afgio_request_append_header(request, "x", "1");
    afgio_request_set_header(request, "X", "2");
    afgio_request_append_header(request, "Y", "3");
    afgio_request_append_header(request, "Y", "4");
    afgio_request_set_header(request, "Accept", NULL);
    afgio_request_set_header(request, "Z", NULL);
    afgio_request_append_header(request, "Z", "5");
    fetch_send(fetch, NULL);
    /* It was read: this is for the next time. */
    afgio_request_set_header(request, "X", "changed");
    afgio_request_set_body(request, NULL, NULL);
    fetch_wait(fetch);
    assert_non_null(fetch->response);
    afts_request *seen = afts_copy_request(session_fixture->fixture->server, 0);
    assert_non_null(seen);
    assert_string_equal(seen->method, "PATCH");
    check_slice(((afc_slice){(const char *)seen->body, seen->body_size}), "{}");
    assert_string_equal(afts_request_header(seen, "Content-Type"), "application/json");
    assert_string_equal(afts_request_header(seen, "X"), "2");
    assert_string_equal(afts_request_header(seen, "Y"), "3");
    assert_string_equal(afts_request_header(seen, "Z"), "5");
    assert_null(afts_request_header(seen, "Accept"));
    afts_request_free(seen);
    fetch_free(fetch);
}

static void takes_back_fields_that_are_computed(void **state) {
    session_fixture *session_fixture = *state;
    static const char *const names[] = {"Content-Length", "transfer-encoding"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        fetch *wrong = fetch_new(session_fixture->session, "GET",
                                 url_of(session_fixture->fixture, "/echo"));
        afgio_request_set_header(wrong->request, names[i], "7");
        fetch_send(wrong, NULL);
        fetch_wait(wrong);
        check_error(wrong, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT);
        fetch *right = fetch_new(session_fixture->session, "GET",
                                 url_of(session_fixture->fixture, "/echo"));
        afgio_request_set_header(right->request, names[i], "7");
        afgio_request_set_header(right->request, names[i], NULL);
        afgio_request_set_header(right->request, names[i], NULL);
        fetch_send(right, NULL);
        fetch_wait(right);
        assert_non_null(right->response);
        fetch_free(wrong);
        fetch_free(right);
    }
}

static void answers_a_challenge_with_its_credentials(void **state) {
    session_fixture *session_fixture = *state;
    static const struct {
        const char *user, *password, *field;
        guint status;
    } rows[] = {
        {"user", "pass", "Basic dXNlcjpwYXNz", 200},
        {"user", NULL, "Basic dXNlcjo=", 200},
        {NULL, "pass", "", 401},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        serve(session_fixture->fixture, "/", answer(200, "", "welcome"));
        serve_once(session_fixture->fixture, "/",
                   answer(401, "WWW-Authenticate: Basic realm=\"x\"\r\n", "who?"));
        size_t before = afts_server_stats(session_fixture->fixture->server).requests;
        fetch *fetch = fetch_new(session_fixture->session, "GET",
                                 url_of(session_fixture->fixture, "/"));
        afgio_request_set_credentials(fetch->request, "other", "secret");
        afgio_request_set_credentials(fetch->request, rows[i].user, rows[i].password);
        fetch_send(fetch, NULL);
        /* It was read: this is for the next time. */
        afgio_request_set_credentials(fetch->request, NULL, NULL);
        fetch_wait(fetch);
        assert_non_null(fetch->response);
        assert_int_equal(afgio_response_get_status(fetch->response), rows[i].status);
        assert_string_equal(seen_header(session_fixture->fixture, before, "Authorization"), "");
        if (rows[i].status == 200) {
            assert_string_equal(seen_header(session_fixture->fixture, before + 1, "Authorization"),
                                rows[i].field);
        }
        fetch_free(fetch);
    }
}

static void has_time_limits_of_its_own(void **state) {
    session_fixture *session_fixture = *state;
    serve_later(session_fixture->fixture, "/late");
    gint connect, idle, total;
    g_object_set(session_fixture->session, "total-timeout-ms", 60000, NULL);
    fetch *fetch = fetch_new(session_fixture->session, "GET",
                             url_of(session_fixture->fixture, "/late"));
    g_object_get(fetch->request, "connect-timeout-ms", &connect, "idle-timeout-ms", &idle,
                 "total-timeout-ms", &total, NULL);
    assert_int_equal(connect, -1);
    assert_int_equal(idle, -1);
    assert_int_equal(total, -1);
    g_object_set(fetch->request, "idle-timeout-ms", 50, NULL);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_TIMEOUT);
    check_contains(fetch->error->message, "50 ms");
    fetch_free(fetch);
    fetch = fetch_new(session_fixture->session, "GET", url_of(session_fixture->fixture, "/late"));
    g_object_set(fetch->request, "total-timeout-ms", 51, NULL);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_TIMEOUT);
    fetch_free(fetch);
}

/** No limit, where the session has one that passes at once. */
static void may_have_no_time_limit(void **state) {
    session_fixture *session_fixture = *state;
    serve_later(session_fixture->fixture, "/late");
    g_object_set(session_fixture->session, "total-timeout-ms", 1, "idle-timeout-ms", 1, NULL);
    fetch *fetch = fetch_new(session_fixture->session, "GET",
                             url_of(session_fixture->fixture, "/late"));
    g_object_set(fetch->request, "total-timeout-ms", 0, "idle-timeout-ms", 0, NULL);
    fetch_send(fetch, NULL);
    /* The limits of the session have passed when a request that has them, and was sent later, has ended. */
    struct fetch *limited = fetch_new(session_fixture->session, "GET",
                                      url_of(session_fixture->fixture, "/late"));
    fetch_send(limited, NULL);
    fetch_wait(limited);
    check_error(limited, AFGIO_ERROR, AFGIO_ERROR_TIMEOUT);
    fetch_free(limited);
    afts_release(session_fixture->fixture->server, "gate", AFTS_OPEN);
    fetch_wait(fetch);
    check_response(fetch, 200, "late");
    fetch_free(fetch);
}

static void keeps_properties_of_request(void **state) {
    (void)state;
    AfgioRequest *request = g_object_new(AFGIO_TYPE_REQUEST, NULL);
    char *method, *url;
    GFile *file = g_file_new_for_path("/tmp/file");
    GBytes *body = g_bytes_new_static("1", 1);
    gboolean resume;
    AfgioCachePolicy policy;
    assert_null(afgio_request_get_body(request));
    assert_null(afgio_request_get_destination(request));
    afgio_request_set_destination(request, file, TRUE);
    afgio_request_set_cache_policy(request, AFGIO_CACHE_POLICY_RELOAD);
    g_object_set(request, "body", body, "url", "http://host/", NULL);
    g_object_get(request, "method", &method, "url", &url, "resume", &resume, "cache-policy",
                 &policy, NULL);
    assert_string_equal(method, "GET");
    assert_string_equal(url, "http://host/");
    assert_true(resume);
    assert_int_equal(policy, AFGIO_CACHE_POLICY_RELOAD);
    assert_int_equal(afgio_request_get_cache_policy(request), AFGIO_CACHE_POLICY_RELOAD);
    assert_ptr_equal(afgio_request_get_destination(request), file);
    assert_ptr_equal(afgio_request_get_body(request), body);
    afgio_request_set_destination(request, NULL, FALSE);
    assert_null(afgio_request_get_destination(request));
    g_free(method);
    g_free(url);
    g_bytes_unref(body);
    g_object_unref(file);
    g_object_unref(request);
}

static void reports_url_after_redirect(void **state) {
    session_fixture *session_fixture = *state;
    serve(session_fixture->fixture, "/from", answer(302, "Location: /to\r\n", ""));
    serve(session_fixture->fixture, "/to", answer(200, "", "there"));
    fetch *fetch = fetch_url(session_fixture->session, url_of(session_fixture->fixture, "/from"));
    check_response(fetch, 200, "there");
    assert_string_equal(afgio_response_get_url(fetch->response),
                        url_of(session_fixture->fixture, "/to"));
    fetch_free(fetch);
}

/* Another host is another origin, although the server is the same. */
static void secret_fields_stay_at_their_origin(void **state) {
    session_fixture *session_fixture = *state;
    char *there = g_strdup(url_of(session_fixture->fixture, "/to"));
    char *port = strrchr(there, ':');
    char *location = g_strdup_printf("Location: http://localhost%s\r\n", port);
    serve(session_fixture->fixture, "/from", answer(302, location, ""));
    serve(session_fixture->fixture, "/to", answer(200, "", "there"));
    fetch *fetch = fetch_new(session_fixture->session, "GET",
                             url_of(session_fixture->fixture, "/from"));
    afgio_request_mark_header_secret(fetch->request, "X-KEY");
    afgio_request_set_header(fetch->request, "X-Key", "key");
    afgio_request_set_header(fetch->request, "X-Other", "1");
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    check_response(fetch, 200, "there");
    afts_request *first = afts_copy_request(session_fixture->fixture->server, 0);
    afts_request *second = afts_copy_request(session_fixture->fixture->server, 1);
    assert_non_null(first);
    assert_non_null(second);
    assert_string_equal(afts_request_header(first, "X-Key"), "key");
    assert_null(afts_request_header(second, "X-Key"));
    assert_string_equal(afts_request_header(second, "X-Other"), "1");
    afts_request_free(first);
    afts_request_free(second);
    fetch_free(fetch);
    g_free(location);
    g_free(there);
}

/* ---- Where and when ------------------------------------------------------------------------ */

enum { LARGE_BODY = 300000, FETCHES = 40, THREADS = 4 };

static void reports_progress_before_the_callback(void **state) {
    session_fixture *session_fixture = *state;
    afts_script *script = afts_script_new();
    afts_respond_repeated(script, 200, "", "0123456789", 10, LARGE_BODY / 10);
    serve(session_fixture->fixture, "/", script);
    fetch *fetch = fetch_new(session_fixture->session, "POST",
                             url_of(session_fixture->fixture, "/"));
    GBytes *body = g_bytes_new_static("four", 4);
    afgio_request_set_body(fetch->request, NULL, body);
    g_bytes_unref(body);
    fetch_watch(fetch);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    assert_non_null(fetch->response);
    assert_true(fetch->progress > 0);
    assert_int_equal(fetch->sent, 4);
    assert_int_equal(fetch->sent_total, 4);
    assert_int_equal(fetch->received, LARGE_BODY);
    assert_int_equal(fetch->received_total, LARGE_BODY);
    fetch_free(fetch);
}

static void waits_for_response_and_reports_progress_meanwhile(void **state) {
    session_fixture *session_fixture = *state;
    serve(session_fixture->fixture, "/", answer(200, "", "hello"));
    fetch *fetch = fetch_new(session_fixture->session, "GET",
                             url_of(session_fixture->fixture, "/"));
    fetch_watch(fetch);
    fetch->response = afgio_session_send(fetch->session, fetch->request, NULL, &fetch->error);
    check_response(fetch, 200, "hello");
    assert_true(fetch->progress > 0);
    assert_int_equal(fetch->received, 5);
    fetch->callbacks = 1;
    fetch_free(fetch);
}

static gpointer fetch_many(gpointer pointer) {
    session_fixture *session_fixture = pointer;
    fetch *fetches[FETCHES];
    char url[128];
    afts_server_url(session_fixture->fixture->server, "/", url, sizeof url);
    for (int i = 0; i < FETCHES; i++) {
        fetches[i] = fetch_new(session_fixture->session, "GET", url);
        fetch_watch(fetches[i]);
        fetch_send(fetches[i], NULL);
    }
    guint succeeded = 0;
    for (int i = 0; i < FETCHES; i++) {
        fetch_wait(fetches[i]);
        if (fetches[i]->response != NULL && fetches[i]->misplaced == 0) succeeded++;
        g_clear_object(&fetches[i]->response);
        g_clear_error(&fetches[i]->error);
        g_object_unref(fetches[i]->request);
        g_object_unref(fetches[i]->session);
        g_main_context_unref(fetches[i]->context);
        free(fetches[i]);
    }
    return GUINT_TO_POINTER(succeeded);
}

static void calls_back_on_the_thread_of_each_caller(void **state) {
    session_fixture *session_fixture = *state;
    serve(session_fixture->fixture, "/", answer(200, "", "hello"));
    GThread *threads[THREADS];
    for (int i = 0; i < THREADS; i++)
        threads[i] = g_thread_new("caller", fetch_many, session_fixture);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(GPOINTER_TO_UINT(g_thread_join(threads[i])), FETCHES);
}

typedef struct many {
    AfgioSession *session;
    const char *url;
    guint ended, succeeded; /* Counted on the thread that runs the default context. */
} many;

static void count_response(GObject *session, GAsyncResult *result, gpointer pointer) {
    many *many = pointer;
    AfgioResponse *response = afgio_session_send_finish(AFGIO_SESSION(session), result, NULL);
    if (response != NULL && g_main_context_is_owner(NULL)) many->succeeded++;
    g_clear_object(&response);
    many->ended++;
}

static gpointer send_many(gpointer pointer) {
    many *many = pointer;
    for (int i = 0; i < FETCHES; i++) {
        AfgioRequest *request = afgio_request_new("GET", many->url);
        afgio_session_send_async(many->session, request, NULL, count_response, many);
        g_object_unref(request);
    }
    return NULL;
}

static void calls_back_in_default_context_of_threads_without_one(void **state) {
    session_fixture *session_fixture = *state;
    serve(session_fixture->fixture, "/", answer(200, "", "hello"));
    many many = {session_fixture->session, url_of(session_fixture->fixture, "/"), 0, 0};
    GThread *threads[THREADS];
    assert_true(g_main_context_acquire(NULL));
    for (int i = 0; i < THREADS; i++) threads[i] = g_thread_new("sender", send_many, &many);
    while (many.ended < THREADS * FETCHES) g_main_context_iteration(NULL, TRUE);
    g_main_context_release(NULL);
    for (int i = 0; i < THREADS; i++) g_thread_join(threads[i]);
    assert_int_equal(many.succeeded, THREADS * FETCHES);
}

static void request_keeps_its_session(void **state) {
    session_fixture *session_fixture = *state;
    serve_later(session_fixture->fixture, "/");
    fetch *fetch = fetch_new(session_fixture->session, "GET",
                             url_of(session_fixture->fixture, "/"));
    fetch_send(fetch, NULL);
    g_clear_object(&session_fixture->session);
    g_clear_object(&fetch->session);
    assert_true(afts_wait_stalled(session_fixture->fixture->server, "gate", 1, PATIENCE_MS));
    afts_release(session_fixture->fixture->server, "gate", AFTS_OPEN);
    fetch_wait(fetch);
    check_response(fetch, 200, "late");
    fetch_free(fetch);
}

/* ---- Cancelling ---------------------------------------------------------------------------- */

typedef struct parting {
    AfgioRequest *request; /**< Weak: NULL when it is freed. */
    bool was_there;
    bool has_ended;
} parting;

static void note_request(GObject *session, GAsyncResult *result, gpointer pointer) {
    (void)session;
    (void)result;
    parting *parting = pointer;
    parting->was_there = parting->request != NULL;
    parting->has_ended = true;
}

static void keeps_the_request_until_the_callback_has_returned(void **state) {
    session_fixture *session_fixture = *state;
    serve(session_fixture->fixture, "/", answer(200, "", "text"));
    /* The second is never begun. */
    const char *urls[] = {url_of(session_fixture->fixture, "/"), "ftp://host/"};
    for (size_t i = 0; i < 2; i++) {
        parting parting = {.request = afgio_request_new("GET", urls[i])};
        AfgioRequest *request = parting.request;
        g_object_add_weak_pointer(G_OBJECT(request), (gpointer *)&parting.request);
        afgio_session_send_async(session_fixture->session, request, NULL, note_request, &parting);
        g_object_unref(request);
        while (!parting.has_ended) g_main_context_iteration(NULL, TRUE);
        assert_true(parting.was_there);
        assert_null(parting.request);
    }
}

static void cancels_before_sending(void **state) {
    session_fixture *session_fixture = *state;
    GCancellable *cancellable = g_cancellable_new();
    g_cancellable_cancel(cancellable);
    fetch *fetch = fetch_new(session_fixture->session, "GET",
                             url_of(session_fixture->fixture, "/"));
    fetch_send(fetch, cancellable);
    fetch_wait(fetch);
    check_error(fetch, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    fetch_free(fetch);
    GError *error = NULL;
    AfgioRequest *request = afgio_request_new("GET", url_of(session_fixture->fixture, "/"));
    assert_null(afgio_session_send(session_fixture->session, request, cancellable, &error));
    assert_true(g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED));
    g_error_free(error);
    g_object_unref(request);
    g_object_unref(cancellable);
    assert_int_equal(afts_server_stats(session_fixture->fixture->server).requests, 0);
}

static void cancels_under_way(void **state) {
    session_fixture *session_fixture = *state;
    serve_later(session_fixture->fixture, "/");
    GCancellable *cancellable = g_cancellable_new();
    fetch *fetch = fetch_new(session_fixture->session, "GET",
                             url_of(session_fixture->fixture, "/"));
    fetch_send(fetch, cancellable);
    assert_true(afts_wait_stalled(session_fixture->fixture->server, "gate", 1, PATIENCE_MS));
    g_cancellable_cancel(cancellable);
    fetch_wait(fetch);
    check_error(fetch, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    fetch_free(fetch);
    g_object_unref(cancellable);
}

static gpointer cancel_when_stalled(gpointer pointer) {
    gpointer *both = pointer;
    bool is_stalled = afts_wait_stalled(both[0], "gate", 1, PATIENCE_MS);
    g_cancellable_cancel(both[1]);
    return GINT_TO_POINTER(is_stalled);
}

static void cancels_a_waiting_thread(void **state) {
    session_fixture *session_fixture = *state;
    serve_later(session_fixture->fixture, "/");
    GCancellable *cancellable = g_cancellable_new();
    gpointer both[] = {session_fixture->fixture->server, cancellable};
    GThread *thread = g_thread_new("canceller", cancel_when_stalled, both);
    AfgioRequest *request = afgio_request_new("GET", url_of(session_fixture->fixture, "/"));
    GError *error = NULL;
    assert_null(afgio_session_send(session_fixture->session, request, cancellable, &error));
    assert_true(g_error_matches(error, G_IO_ERROR, G_IO_ERROR_CANCELLED));
    g_error_free(error);
    assert_true(GPOINTER_TO_INT(g_thread_join(thread)));
    g_object_unref(request);
    g_object_unref(cancellable);
}

static void succeeds_if_cancelled_after_the_end(void **state) {
    session_fixture *session_fixture = *state;
    serve(session_fixture->fixture, "/", answer(200, "", "hello"));
    GCancellable *cancellable = g_cancellable_new();
    fetch *fetch = fetch_new(session_fixture->session, "GET",
                             url_of(session_fixture->fixture, "/"));
    fetch_send(fetch, cancellable);
    fetch_wait(fetch);
    g_cancellable_cancel(cancellable);
    check_response(fetch, 200, "hello");
    fetch_free(fetch);
    g_object_unref(cancellable);
}

static gpointer cancel_each(gpointer pointer) {
    GAsyncQueue *queue = pointer;
    for (int i = 0; i < FETCHES; i++) {
        GCancellable *cancellable = g_async_queue_pop(queue);
        g_cancellable_cancel(cancellable);
        g_object_unref(cancellable);
    }
    return NULL;
}

static void ends_once_when_another_thread_cancels(void **state) {
    session_fixture *session_fixture = *state;
    serve(session_fixture->fixture, "/", answer(200, "", "hello"));
    GAsyncQueue *queue = g_async_queue_new();
    GThread *thread = g_thread_new("canceller", cancel_each, queue);
    for (int i = 0; i < FETCHES; i++) {
        GCancellable *cancellable = g_cancellable_new();
        fetch *fetch = fetch_new(session_fixture->session, "GET",
                                 url_of(session_fixture->fixture, "/"));
        g_async_queue_push(queue, g_object_ref(cancellable));
        fetch_watch(fetch);
        fetch_send(fetch, cancellable);
        fetch_wait(fetch);
        if (fetch->response == NULL) check_error(fetch, G_IO_ERROR, G_IO_ERROR_CANCELLED);
        fetch_free(fetch);
        g_object_unref(cancellable);
    }
    g_thread_join(thread);
    g_async_queue_unref(queue);
}

/* ---- Main contexts that are freed too early ------------------------------------------------ */

/** A request whose main context is freed before the callback could be called. */
typedef struct stranded {
    GMainContext *context;
    AfgioRequest *request;     /**< Weak: NULL when it is freed. */
    GCancellable *cancellable; /**< The same. */
    unsigned callbacks;
} stranded;

static void count_callback(GObject *session, GAsyncResult *result, gpointer pointer) {
    (void)session;
    (void)result;
    ((stranded *)pointer)->callbacks++;
}

static void strand(stranded *stranded, session_fixture *session_fixture, const char *url) {
    *stranded = (struct stranded){.context = g_main_context_new(),
                                  .request = afgio_request_new("GET", url),
                                  .cancellable = g_cancellable_new()};
    AfgioRequest *request = stranded->request;
    GCancellable *cancellable = stranded->cancellable;
    g_object_add_weak_pointer(G_OBJECT(request), (gpointer *)&stranded->request);
    g_object_add_weak_pointer(G_OBJECT(cancellable), (gpointer *)&stranded->cancellable);
    g_main_context_push_thread_default(stranded->context);
    afgio_session_send_async(session_fixture->session, request, cancellable, count_callback,
                             stranded);
    g_main_context_pop_thread_default(stranded->context);
    g_object_unref(request);
    g_object_unref(cancellable);
}

/** Frees the main context. The request then holds nothing of the caller any more. */
static void check_ends_with_context(stranded *stranded) {
    assert_non_null(stranded->request);
    g_main_context_unref(stranded->context);
    assert_null(stranded->request);
    assert_null(stranded->cancellable);
    assert_int_equal(stranded->callbacks, 0);
}

static void freed_context_cancels_its_requests(void **state) {
    session_fixture *session_fixture = *state;
    stranded stranded;
    serve_later(session_fixture->fixture, "/");
    strand(&stranded, session_fixture, url_of(session_fixture->fixture, "/"));
    assert_true(afts_wait_stalled(session_fixture->fixture->server, "gate", 1, PATIENCE_MS));
    check_ends_with_context(&stranded);
    afts_release(session_fixture->fixture->server, "gate", AFTS_OPEN);
    assert_true(afts_wait_closed(session_fixture->fixture->server, 1, PATIENCE_MS));
}

static void freed_context_releases_results_that_were_not_taken(void **state) {
    session_fixture *session_fixture = *state;
    stranded stranded;
    serve(session_fixture->fixture, "/", answer(200, "", "hello"));
    /* The second is never begun. */
    const char *urls[] = {url_of(session_fixture->fixture, "/"), "ftp://host/"};
    for (size_t i = 0; i < COUNT_OF(urls); i++) {
        strand(&stranded, session_fixture, urls[i]);
        while (!g_main_context_pending(stranded.context)) g_thread_yield();
        check_ends_with_context(&stranded);
    }
}

/** Sends requests whose main contexts are freed at any point of them. */
static void contexts_may_be_freed_at_any_time(void **state) {
    session_fixture *session_fixture = *state;
    stranded all[FETCHES];
    serve(session_fixture->fixture, "/", answer(200, "", "hello"));
    for (unsigned i = 0; i < FETCHES; i++) {
        strand(&all[i], session_fixture, url_of(session_fixture->fixture, "/"));
        for (unsigned turns = 0; turns < i % 8; turns++) g_thread_yield();
        check_ends_with_context(&all[i]);
    }
}

/** Runs the main context until the request has ended. */
static void wait_inside(AfgioRequest *request, gint64 sent, gint64 sent_total, gint64 received,
                        gint64 received_total, gpointer pointer) {
    (void)request;
    (void)sent;
    (void)sent_total;
    (void)received;
    (void)received_total;
    fetch_wait(pointer);
}

static void progress_handler_may_wait_for_the_end(void **state) {
    session_fixture *session_fixture = *state;
    serve(session_fixture->fixture, "/", answer(200, "", "hello"));
    fetch *fetch = fetch_new(session_fixture->session, "GET",
                             url_of(session_fixture->fixture, "/"));
    g_signal_connect(fetch->request, "progress", G_CALLBACK(wait_inside), fetch);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    check_response(fetch, 200, "hello");
    fetch_free(fetch);
}

static void cancels_all(void **state) {
    session_fixture *session_fixture = *state;
    serve_later(session_fixture->fixture, "/");
    afgio_session_cancel_all(session_fixture->session);
    fetch *one = fetch_new(session_fixture->session, "GET", url_of(session_fixture->fixture, "/"));
    fetch *two = fetch_new(session_fixture->session, "GET", url_of(session_fixture->fixture, "/"));
    fetch_send(one, NULL);
    fetch_send(two, NULL);
    afgio_session_cancel_all(session_fixture->session);
    fetch_wait(one);
    fetch_wait(two);
    check_error(one, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    check_error(two, G_IO_ERROR, G_IO_ERROR_CANCELLED);
    fetch_free(one);
    fetch_free(two);
}

/* ---- Errors -------------------------------------------------------------------------------- */

static void check_fails(session_fixture *session_fixture, const char *method, const char *url,
                        AfgioError code) {
    fetch *fetch = fetch_new(session_fixture->session, method, url);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    check_error(fetch, AFGIO_ERROR, code);
    assert_true(strlen(fetch->error->message) > 0);
    fetch_free(fetch);
}

static void maps_failures_to_errors(void **state) {
    session_fixture *session_fixture = *state;
    /* Bindings find the codes by the name of the domain. */
    assert_string_equal(g_quark_to_string(AFGIO_ERROR), "afgio-error-quark");
    check_fails(session_fixture, "GET", "ftp://host/", AFGIO_ERROR_INVALID_INPUT);
    check_fails(session_fixture, "GET", "", AFGIO_ERROR_INVALID_INPUT);
    check_fails(session_fixture, "NOT A TOKEN", "http://127.0.0.1/", AFGIO_ERROR_INVALID_INPUT);
    serve_text(session_fixture->fixture, "/cut",
               "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello");
    check_fails(session_fixture, "GET", url_of(session_fixture->fixture, "/cut"),
                AFGIO_ERROR_TRUNCATED);
    serve_text(session_fixture->fixture, "/wrong", "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n");
    check_fails(session_fixture, "GET", url_of(session_fixture->fixture, "/wrong"),
                AFGIO_ERROR_PROTOCOL);
    const char *url = url_of(session_fixture->fixture, "/");
    afts_server_stop(session_fixture->fixture->server);
    check_fails(session_fixture, "GET", url, AFGIO_ERROR_CONNECT);
}

/* Declared in internal.h. */
GError *afgio__error_new(const afc_failure *failure);

static void makes_every_message_valid(void **state) {
    (void)state;
    for (int status = -1; status >= AFC_EINTERNAL; status--) {
        afc_failure failure = {.status = (afc_status)status, .text = "cut: \xc3"};
        GError *error = afgio__error_new(&failure);
        assert_true(g_utf8_validate(error->message, -1, NULL));
        g_error_free(error);
    }
}

static void refuses_invalid_requests(void **state) {
    session_fixture *session_fixture = *state;
    fetch *fetch = fetch_new(session_fixture->session, "GET",
                             url_of(session_fixture->fixture, "/"));
    afgio_request_set_header(fetch->request, "A", "one\ntwo");
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT);
    fetch_free(fetch);
    fetch = fetch_new(session_fixture->session, "GET", url_of(session_fixture->fixture, "/"));
    GFile *file = g_file_new_for_uri("resource:///file");
    afgio_request_set_destination(fetch->request, file, FALSE);
    fetch_send(fetch, NULL);
    fetch_wait(fetch);
    check_error(fetch, AFGIO_ERROR, AFGIO_ERROR_INVALID_INPUT);
    check_contains(fetch->error->message, "resource:///file");
    fetch_free(fetch);
    g_object_unref(file);
    assert_int_equal(afts_server_stats(session_fixture->fixture->server).requests, 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        SESSION_TEST(returns_status_fields_and_body),
        SESSION_TEST(has_properties_of_response),
        SESSION_TEST(sends_method_fields_and_body),
        SESSION_TEST(takes_back_fields_that_are_computed),
        SESSION_TEST(answers_a_challenge_with_its_credentials),
        SESSION_TEST(has_time_limits_of_its_own),
        SESSION_TEST(may_have_no_time_limit),
        cmocka_unit_test(keeps_properties_of_request),
        SESSION_TEST(reports_url_after_redirect),
        SESSION_TEST(secret_fields_stay_at_their_origin),
        SESSION_TEST(reports_progress_before_the_callback),
        SESSION_TEST(waits_for_response_and_reports_progress_meanwhile),
        SESSION_TEST(calls_back_on_the_thread_of_each_caller),
        SESSION_TEST(calls_back_in_default_context_of_threads_without_one),
        SESSION_TEST(request_keeps_its_session),
        SESSION_TEST(keeps_the_request_until_the_callback_has_returned),
        SESSION_TEST(cancels_before_sending),
        SESSION_TEST(cancels_under_way),
        SESSION_TEST(cancels_a_waiting_thread),
        SESSION_TEST(succeeds_if_cancelled_after_the_end),
        SESSION_TEST(ends_once_when_another_thread_cancels),
        SESSION_TEST(cancels_all),
        SESSION_TEST(freed_context_cancels_its_requests),
        SESSION_TEST(freed_context_releases_results_that_were_not_taken),
        SESSION_TEST(contexts_may_be_freed_at_any_time),
        SESSION_TEST(progress_handler_may_wait_for_the_end),
        SESSION_TEST(maps_failures_to_errors),
        cmocka_unit_test(makes_every_message_valid),
        SESSION_TEST(refuses_invalid_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
