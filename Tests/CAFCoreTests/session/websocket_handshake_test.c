/* What the callbacks of a WebSocket see of its handshake, and what they decide about it. */
#include "base/alloc.h"
#include "support/recorded_socket.h"

#include <semaphore.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

/** What the callbacks saw, in order. Written on the loop thread, read after the end. */
typedef struct seen {
    recorded_socket *socket;
    char log[1024];
    char trace[4096];
    afc_redirect_decision redirect;
    afc_challenge_decision challenge;
    uint32_t number; /* Number of the challenge. */
    sem_t is_asked;
} seen;

static void note(seen *seen, const char *what, long number) {
    size_t used = strlen(seen->log);
    snprintf(seen->log + used, sizeof seen->log - used, "%s %ld;", what, number);
}

/* The context of the callbacks is the wire, whose payload is this. */
static seen *seen_of(void *context) {
    return ((recorded_socket *)context)->payload;
}

static afc_redirect_decision on_redirect(void *context, afc_redirect *redirect) {
    seen *seen = seen_of(context);
    note(seen, "redirect", redirect->head->status);
    return seen->redirect;
}

static void on_informational(void *context, const afc_head *head) {
    note(seen_of(context), "informational", head->status);
}

static const char *const user = "user", *const password = "pass";

static afc_challenge_decision on_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    seen *seen = seen_of(context);
    note(seen, "challenge", challenge->head->status);
    credentials->user = user;
    credentials->password = password;
    seen->number = challenge->number;
    sem_post(&seen->is_asked);
    return seen->challenge;
}

static void on_challenge_accepted(void *context, const afc_challenge *challenge) {
    note(seen_of(context), "accepted", challenge->head->status);
}

static void on_trace(void *context, const afc_trace *trace) {
    seen *seen = seen_of(context);
    size_t used = strlen(seen->trace);
    if (trace->kind == AFC_TRACE_CONNECTION) return;
    snprintf(seen->trace + used, sizeof seen->trace - used, "%.*s", (int)trace->bytes.size,
             trace->bytes.bytes);
}

static recorded_socket *watched(fixture *fixture, seen *seen) {
    recorded_socket *socket = socket_new(fixture, "/");
    *seen = (struct seen){.socket = socket, .challenge = AFC_CHALLENGE_USE};
    sem_init(&seen->is_asked, 0, 0);
    socket->payload = seen;
    socket->events.on_redirect = on_redirect;
    socket->events.on_informational = on_informational;
    socket->events.on_challenge = on_challenge;
    socket->events.on_challenge_accepted = on_challenge_accepted;
    return socket;
}

static void end(recorded_socket *socket, seen *seen) {
    socket_free(socket);
    sem_destroy(&seen->is_asked);
}

/** "/" has an early hint and a redirect to "/echo", which asks for credentials once. */
static void serve_way(fixture *fixture) {
    static const char found[] =
        "HTTP/1.1 302 Found\r\nLocation: /echo\r\nContent-Length: 0\r\n\r\n";
    afts_script *script = afts_script_new();
    afts_interim(script, 103, "Link: </a>; rel=preload");
    afts_send(script, found, sizeof found - 1);
    serve(fixture, "/", script);
    serve_echo(fixture, "/echo", NULL);
    serve_once(fixture, "/echo", answer(401, "WWW-Authenticate: Basic realm=\"x\"", "who?"));
}

static void reports_each_step_of_the_handshake(void **state) {
    fixture *fixture = *state;
    seen seen;
    serve_way(fixture);
    recorded_socket *socket = watched(fixture, &seen);
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    socket_close(socket);
    check_log(socket, "open;closed 1000;");
    assert_string_equal(seen.log, "informational 103;redirect 302;challenge 401;accepted 401;");
    assert_string_equal(seen_header(fixture, 2, "Authorization"), "Basic dXNlcjpwYXNz");
    end(socket, &seen);
}

static void redirect_may_be_refused(void **state) {
    fixture *fixture = *state;
    static const struct {
        afc_redirect_decision answer;
        afc_status status;
        const char *text;
    } rows[] = {
        {AFC_REDIRECT_STOP, AFC_EPROTOCOL, "status 302"},
        {AFC_REDIRECT_FAIL, AFC_EREDIRECT, ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        seen seen;
        serve(fixture, "/", answer(302, "Location: /echo", "elsewhere"));
        recorded_socket *socket = watched(fixture, &seen);
        seen.redirect = rows[i].answer;
        socket_open(socket, fixture);
        check_log(socket, "closed 1006;");
        check_status(socket->failure.status, rows[i].status);
        check_contains(socket->failure.text, rows[i].text);
        assert_string_equal(seen.log, "redirect 302;");
        end(socket, &seen);
    }
}

static void challenge_may_be_answered_later(void **state) {
    fixture *fixture = *state;
    seen seen;
    serve_echo(fixture, "/", NULL);
    serve_once(fixture, "/", answer(401, "WWW-Authenticate: Basic realm=\"x\"", "who?"));
    recorded_socket *socket = watched(fixture, &seen);
    seen.challenge = AFC_CHALLENGE_LATER;
    socket_open(socket, fixture);
    sem_wait(&seen.is_asked);
    afc_credentials credentials = AFC_CREDENTIALS_INIT;
    credentials.user = user;
    credentials.password = password;
    check_status(afc_websocket_answer_challenge(socket->socket, seen.number + 1, AFC_CHALLENGE_USE,
                                                &credentials),
                 AFC_EINVAL);
    check_status(afc_websocket_answer_challenge(socket->socket, seen.number, AFC_CHALLENGE_USE,
                                                &credentials),
                 AFC_OK);
    check_status(afc_websocket_answer_challenge(socket->socket, seen.number, AFC_CHALLENGE_USE,
                                                &credentials),
                 AFC_EINVAL);
    socket_wait_for(socket, &socket->open_count, 1);
    socket_close(socket);
    check_log(socket, "open;closed 1000;");
    assert_string_equal(seen.log, "challenge 401;accepted 401;");
    end(socket, &seen);
}

static void challenge_may_be_cancelled(void **state) {
    fixture *fixture = *state;
    seen seen;
    serve(fixture, "/", answer(401, "WWW-Authenticate: Basic realm=\"x\"", "who?"));
    recorded_socket *socket = watched(fixture, &seen);
    seen.challenge = AFC_CHALLENGE_CANCEL;
    socket_open(socket, fixture);
    check_log(socket, "closed 1006;");
    check_status(socket->failure.status, AFC_ECANCELED);
    assert_string_equal(seen.log, "challenge 401;");
    end(socket, &seen);
}

/** Heads, with secrets hidden; but no frames. */
static void trace_shows_the_heads_of_the_handshake(void **state) {
    fixture *fixture = *state;
    seen seen;
    serve_echo(fixture, "/", NULL);
    serve_once(fixture, "/", answer(401, "WWW-Authenticate: Basic realm=\"x\"", "who?"));
    recorded_socket *socket = watched(fixture, &seen);
    socket->events.on_trace = on_trace;
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    socket_send_text(socket, "a message");
    socket_wait_for(socket, &socket->message_count, 1);
    socket_close(socket);
    socket_wait(socket);
    check_contains(seen.trace, "GET / HTTP/1.1\r\n");
    check_contains(seen.trace, "Upgrade: websocket\r\n");
    check_contains(seen.trace, "HTTP/1.1 401");
    check_contains(seen.trace, "Authorization: <hidden>\r\n");
    check_contains(seen.trace, "HTTP/1.1 101");
    assert_null(strstr(seen.trace, "a message"));
    end(socket, &seen);
}

/** A program that was built with the first version of the struct has other memory behind it. */
static void events_of_the_first_version_have_no_handlers(void **state) {
    fixture *fixture = *state;
    seen seen;
    serve_way(fixture);
    recorded_socket *socket = watched(fixture, &seen);
    afc_credentials credentials = AFC_CREDENTIALS_INIT;
    credentials.user = user;
    credentials.password = password;
    socket->request.credentials = &credentials;
    socket->events.size = offsetof(afc_websocket_events, on_redirect);
    socket_open(socket, fixture);
    socket_wait_for(socket, &socket->open_count, 1);
    socket_close(socket);
    check_log(socket, "open;closed 1000;");
    assert_string_equal(seen.log, "");
    end(socket, &seen);
}

static void opening_reports_failed_allocations(void **state) {
    fixture *fixture = *state;
    char url[128];
    serve_echo(fixture, "/", NULL);
    snprintf(url, sizeof url, "ws%s", url_of(fixture, "/") + strlen("http"));
    afc_request request = AFC_REQUEST_INIT;
    request.url = url;
    for (size_t n = 1;; n++) {
        afc_session *session;
        afc_websocket *socket;
        afc_failure failure;
        check_status(afc_session_new(&session, NULL, NULL), AFC_OK);
        afc__alloc_fail_at(n);
        afc_status status = afc_websocket_open(&socket, session, &request, NULL, NULL, &failure);
        size_t made = afc__alloc_fail_at(0);
        check_status(status, made >= n && status != AFC_OK ? AFC_ENOMEM : AFC_OK);
        check_status(failure.status, status);
        if (socket != NULL) afc_websocket_cancel(socket);
        afc_websocket_release(socket);
        afc_session_release(session);
        afc_join_closed_sessions();
        if (made < n) break;
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(reports_each_step_of_the_handshake),
        FIXTURE_TEST(redirect_may_be_refused),
        FIXTURE_TEST(challenge_may_be_answered_later),
        FIXTURE_TEST(challenge_may_be_cancelled),
        FIXTURE_TEST(trace_shows_the_heads_of_the_handshake),
        FIXTURE_TEST(opening_reports_failed_allocations),
        FIXTURE_TEST(events_of_the_first_version_have_no_handlers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
