/* Challenges met on the way: who is asked, what is sent, and what never is. */
#include "support/auth_server.h"
#include "support/call.h"
#include "support/form.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIGEST "Digest realm=\"a place\", nonce=\"n%u\", qop=\"auth\""

static call *call_as(fixture *fixture, const char *path, const afc_credentials *credentials) {
    call *call = call_new(fixture, path);
    call->request.credentials = credentials;
    return call;
}

/* ---- Schemes ------------------------------------------------------------------------------- */

static void answers_each_scheme(void **state) {
    (void)state;
    static const struct {
        const char *challenges[3];
        const char *seen;
    } rows[] = {
        {{"Basic realm=\"x\""}, "Basic bWU6c2VjcmV0"},
        {{"Basic realm=\"x\"", DIGEST}, "Digest username=\"me\", realm=\"a place\", nonce=\"n0\""},
        {{DIGEST ", algorithm=SHA-256"}, "Digest "},
        {{DIGEST ", algorithm=MD5-sess"}, "Digest "},
        {{DIGEST ", algorithm=SHA-256-sess"}, "Digest "},
        {{DIGEST ", algorithm=SHA-512-256"}, "Digest "},
        {{"Digest realm=r, nonce=x%u"}, "Digest "},
        {{"Digest realm=r, nonce=x%u, qop=auth-int, opaque=o"}, "Digest "},
        {{"Digest realm=r, nonce=x%u, qop=auth, userhash=true"}, "Digest "},
        {{"Unknown x=y", "Basic realm=z"}, "Basic "},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        fixture *fixture = fixture_new(NULL, NULL);
        auth_server auth_server = {.user = "me", .password = "secret"};
        memcpy(auth_server.challenges, rows[i].challenges, sizeof rows[i].challenges);
        auth_server_path(fixture, "/a", &auth_server);
        check_answer(call_as(fixture, "/a?b=c", &valid_credentials), 200, 2);
        assert_string_equal(seen_header(fixture, 0, "Authorization"), "");
        check_contains(seen_header(fixture, 1, "Authorization"), rows[i].seen);
        fixture_free(fixture);
    }
}

static void token_answers_only_bearer(void **state) {
    fixture *fixture = *state;
    static const afc_credentials token = {NULL, NULL, "a.b-c", 0, false, {0}};
    auth_server auth_server = {.challenges = {"Basic realm=x, Bearer realm=y"}, .token = "a.b-c"};
    auth_server_path(fixture, "/", &auth_server);
    check_answer(call_as(fixture, "/", &token), 200, 2);
    assert_string_equal(seen_header(fixture, 1, "Authorization"), "Bearer a.b-c");
    check_answer(call_as(fixture, "/", &(afc_credentials){NULL, NULL, "a.b-c", 0, true, {0}}), 200,
                 1);
}

static void returns_401_without_credentials(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {.challenges = {"Basic realm=x"}};
    auth_server_path(fixture, "/", &auth_server);
    check_answer(call_new(fixture, "/"), 401, 1);
    /* Nor is anything sent that doesn't fit. */
    check_answer(call_as(fixture, "/", &(afc_credentials){NULL, NULL, "token", 0, false, {0}}), 401,
                 1);
    check_answer(
        call_as(fixture, "/", &(afc_credentials){"u", "p", NULL, AFC_AUTH_DIGEST, false, {0}}), 401,
        1);
}

static void tries_wrong_credentials_once(void **state) {
    fixture *fixture = *state;
    static const char *const challenges[] = {"Basic realm=x", DIGEST};
    for (size_t i = 0; i < COUNT_OF(challenges); i++) {
        auth_server auth_server = {
            .challenges = {challenges[i]}, .user = "me", .password = "other"};
        auth_server_path(fixture, text_of(fixture, "/%zu", i), &auth_server);
        check_answer(call_as(fixture, text_of(fixture, "/%zu", i), &valid_credentials), 401, 2);
        assert_int_equal(auth_server.challenges_sent, 2);
    }
}

static void preemptive_basic_needs_no_challenge(void **state) {
    fixture *fixture = *state;
    static const afc_credentials at_once = {"me", "secret", NULL, 0, true, {0}};
    auth_server auth_server = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/", &auth_server);
    check_answer(call_as(fixture, "/", &at_once), 200, 1);
    /* Where it is refused, but something stronger asked for, that is answered. */
    struct auth_server strict = {.challenges = {DIGEST}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/strict", &strict);
    check_answer(call_as(fixture, "/strict", &at_once), 200, 2);
    check_contains(seen_header(fixture, 1, "Authorization"), "Basic ");
    check_contains(seen_header(fixture, 2, "Authorization"), "Digest ");
    struct auth_server other = {.challenges = {"Basic realm=x"}, .user = "me", .password = "other"};
    auth_server_path(fixture, "/other", &other);
    check_answer(call_as(fixture, "/other", &at_once), 401, 1);
}

static void uses_userinfo_of_the_url(void **state) {
    fixture *fixture = *state;
    afc_credentials any = AFC_CREDENTIALS_INIT;
    auth_server auth_server = {.challenges = {DIGEST}, .user = "a@b", .password = "c:d"};
    auth_server_path(fixture, "/", &auth_server);
    call *call = call_as(fixture, "/", &any);
    call->request.url = text_of(fixture, "http://a%%40b:c:d@%s", url_of(fixture, "/") + 7);
    check_answer(call, 200, 2);
    assert_string_equal(seen_header(fixture, 0, "Authorization"), "");
}

static void own_authorization_field_takes_precedence(void **state) {
    fixture *fixture = *state;
    static const afc_header own[] = {{ROW_S("authorization"), ROW_S("Own thing"), 0}};
    static const afc_credentials at_once = {"me", "secret", NULL, 0, true, {0}};
    auth_server auth_server = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/", &auth_server);
    call *call = call_as(fixture, "/", &at_once);
    call->request.headers = own;
    call->request.header_count = 1;
    check_answer(call, 200, 2);
    assert_string_equal(seen_header(fixture, 0, "Authorization"), "Own thing");
    assert_string_equal(seen_header(fixture, 1, "Authorization"), "Basic bWU6c2VjcmV0");
}

static void replaces_stale_nonce(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {
        .challenges = {DIGEST}, .user = "me", .password = "secret", .nonce_uses = 1};
    serve(fixture, "/turn", answer(302, "Location: /", ""));
    auth_server_path(fixture, "/", &auth_server);
    check_answer(call_as(fixture, "/", &valid_credentials), 200, 2);
    /* The nonce of the first answer has served; the second is right, and stale. */
    check_answer(call_as(fixture, "/", &valid_credentials), 200, 3);
    check_contains(seen_header(fixture, 3, "Authorization"), "nonce=\"n0\"");
    check_contains(seen_header(fixture, 4, "Authorization"), "nonce=\"n1\"");
}

/** A server that calls every answer stale. */
static void ask_again(afts_conn *conn, const afts_request *request, void *payload) {
    (void)request;
    char headers[128];
    unsigned count = atomic_fetch_add((atomic_uint *)payload, 1);
    snprintf(headers, sizeof headers, "WWW-Authenticate: Digest nonce=n%u, stale=true", count);
    afts_conn_respond(conn, 401, headers, "who?", 4);
}

/** Calling an answer to the same nonce stale, a server would get as many as it likes. */
static void stale_challenge_with_the_same_nonce_refuses_the_credentials(void **state) {
    fixture *fixture = *state;
    serve(fixture, "/",
          answer(401, "WWW-Authenticate: Digest realm=x, nonce=n, stale=true", "who?"));
    check_answer(call_as(fixture, "/", &valid_credentials), 401, 2);
}

static void limits_rounds_of_challenges(void **state) {
    fixture *fixture = *state;
    atomic_uint challenges_sent = 0;
    afts_script *script = afts_script_new();
    afts_handle(script, ask_again, &challenges_sent, NULL);
    serve(fixture, "/", script);
    check_answer(call_as(fixture, "/", &valid_credentials), 401, 11);
}

/* ---- Bodies -------------------------------------------------------------------------------- */

static void replays_bodies(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {.challenges = {"Digest nonce=n%u, qop=\"auth-int,auth\""},
                               .user = "me",
                               .password = "secret"};
    auth_server_path(fixture, "/", &auth_server);
    for (int is_reader = 0; is_reader < 2; is_reader++) {
        script_reader script = {.bytes = S("0123456789")};
        call *call = call_as(fixture, "/", &valid_credentials);
        call_send(call, "POST", S("0123456789"));
        if (is_reader) {
            call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = AFC_LENGTH_UNKNOWN};
            call->request.body.reader = reader_of(&script);
            call->request.expect = AFC_EXPECT_NEVER;
        }
        check_answer(call, 200, 2);
        for (size_t i = 0; i < 2; i++) {
            afts_request *request = afts_copy_request(fixture->server, (size_t)is_reader * 2 + i);
            check_slice(((afc_slice){(const char *)request->body, request->body_size}),
                        "0123456789");
            afts_request_free(request);
        }
    }
}

static void never_cuts_body_that_cannot_be_replayed(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/", &auth_server);
    script_reader script = {.bytes = S("0123456789")};
    call *call = call_as(fixture, "/", &valid_credentials);
    call->request.method = "POST";
    call->request.expect = AFC_EXPECT_NEVER;
    call->request.body = (afc_body){.kind = AFC_BODY_READER, .length = 10};
    call->request.body.reader = reader_of(&script);
    call->request.body.reader.rewind = NULL;
    call_perform(call);
    check_ended(call, AFC_EREPLAY);
    check_contains(call->failure.text, "credentials");
    assert_int_equal(call->failure.reason, AFC_REASON_CREDENTIALS);
    assert_int_equal(call->failure.party, AFC_PARTY_SERVER);
    assert_int_equal(status_of(call), 401);
    assert_int_equal(auth_server.challenges_sent, 1);
    call_free(call);
}

/* ---- Origins ------------------------------------------------------------------------------- */

static void credentials_stay_with_their_origin(void **state) {
    fixture *first = *state;
    fixture *second = fixture_new(NULL, NULL);
    auth_server auth_server = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    static const afc_credentials at_once = {"me", "secret", NULL, 0, true, {0}};
    auth_server_path(first, "/in", &auth_server);
    auth_server_path(second, "/in", &auth_server);
    serve(first, "/away", answer(302, text_of(first, "Location: %s", url_of(second, "/in")), ""));
    serve(first, "/round",
          answer(302, text_of(first, "Location: %s", url_of(second, "/back")), ""));
    serve(second, "/back", answer(302, text_of(first, "Location: %s", url_of(first, "/in")), ""));
    serve(first, "/near", answer(302, "Location: /in", ""));
    check_answer(call_as(first, "/near", &at_once), 200, 2);
    check_answer(call_as(first, "/near", &valid_credentials), 200, 3);
    check_answer(call_as(first, "/away", &at_once), 401, 2);
    check_answer(call_as(first, "/away", &valid_credentials), 401, 2);
    check_answer(call_as(first, "/round", &at_once), 401, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(seen_header(second, i, "Authorization"), "");
    }
    fixture_free(second);
}

static void digest_covers_method_and_target_of_each_hop(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {.challenges = {DIGEST}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/in", &auth_server);
    serve_once(fixture, "/start",
               answer(401,
                      "WWW-Authenticate: Digest realm=\"a place\", "
                      "nonce=\"n0\", qop=auth",
                      ""));
    serve(fixture, "/start", answer(302, "Location: /in", ""));
    check_answer(call_as(fixture, "/start", &valid_credentials), 200, 3);
    check_contains(seen_header(fixture, 1, "Authorization"), "uri=\"/start\"");
    check_contains(seen_header(fixture, 2, "Authorization"), "uri=\"/in\"");
    check_contains(seen_header(fixture, 2, "Authorization"), "nc=00000002");
}

/* ---- Being asked --------------------------------------------------------------------------- */

typedef struct challenges_sent {
    afc_challenge_decision answers[12];
    afc_credentials credentials;
    atomic_uint count;
    unsigned failures;
    bool had_proposal;
    char realm[64];
    bool is_threaded;
    pthread_t thread;
    afc_status late;
    call *call;
    uint32_t number;
} challenges_sent;

static void *answer_later(void *context) {
    challenges_sent *challenges_sent = context;
    call_wait_for(challenges_sent->call, &challenges_sent->count, 1);
    challenges_sent->late = afc_task_answer_challenge(challenges_sent->call->task,
                                                      challenges_sent->number, AFC_CHALLENGE_USE,
                                                      &challenges_sent->credentials);
    return NULL;
}

static afc_challenge_decision at_challenge(void *context, const afc_challenge *challenge,
                                           afc_credentials *credentials) {
    call *call = context;
    challenges_sent *challenges_sent = call->payload;
    unsigned index = atomic_load(&challenges_sent->count);
    challenges_sent->failures = challenge->failures;
    challenges_sent->had_proposal = challenge->proposed != NULL;
    challenges_sent->number = challenge->number;
    snprintf(challenges_sent->realm, sizeof challenges_sent->realm, "%s", challenge->realm);
    if (challenges_sent->credentials.user != NULL) *credentials = challenges_sent->credentials;
    pthread_mutex_lock(&call->lock);
    atomic_fetch_add(&challenges_sent->count, 1);
    pthread_cond_broadcast(&call->changed);
    pthread_mutex_unlock(&call->lock);
    return challenges_sent->answers[index < COUNT_OF(challenges_sent->answers) ? index : 0];
}

static call *call_asking(fixture *fixture, const char *path, challenges_sent *challenges_sent) {
    call *call = call_new(fixture, path);
    call->events.on_challenge = at_challenge;
    call->payload = challenges_sent;
    challenges_sent->call = call;
    return call;
}

static void callback_answers_challenge(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {
        .challenges = {"Basic realm=\"the \\\"place\\\"\""}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/", &auth_server);
    challenges_sent challenges_sent = {.answers = {AFC_CHALLENGE_USE},
                                       .credentials = {.user = "me", .password = "secret"}};
    check_answer(call_asking(fixture, "/", &challenges_sent), 200, 2);
    assert_string_equal(challenges_sent.realm, "the \"place\"");
    assert_int_equal(challenges_sent.count, 1);
    assert_false(challenges_sent.had_proposal);

    struct challenges_sent nothing = {.answers = {AFC_CHALLENGE_DEFAULT}};
    check_answer(call_asking(fixture, "/", &nothing), 401, 1);

    struct challenges_sent default_ = {.answers = {AFC_CHALLENGE_DEFAULT}};
    call *call = call_asking(fixture, "/", &default_);
    call->request.credentials = &valid_credentials;
    check_answer(call, 200, 2);
    assert_true(default_.had_proposal);
}

/** What was refused by one server doesn't count for the next one. */
static void redirect_to_other_origin_forgets_failures(void **state) {
    fixture *fixture = *state;
    struct fixture *other = fixture_new(NULL, NULL);
    for (int i = 0; i < 2; i++)
        serve_once(fixture, "/a", answer(401, "WWW-Authenticate: Basic realm=x", ""));
    serve(fixture, "/a", answer(302, text_of(fixture, "Location: %s", url_of(other, "/b")), ""));
    serve(other, "/b", answer(401, "WWW-Authenticate: Basic realm=y", "who?"));
    challenges_sent challenges_sent = {
        .answers = {AFC_CHALLENGE_USE, AFC_CHALLENGE_USE, AFC_CHALLENGE_DEFAULT},
        .credentials = {.user = "me", .password = "wrong"}};
    call *call = call_asking(fixture, "/a", &challenges_sent);
    call_perform(call);
    check_ended(call, AFC_OK);
    assert_int_equal(status_of(call), 401);
    assert_int_equal(challenges_sent.count, 3);
    assert_string_equal(challenges_sent.realm, "y");
    assert_int_equal(challenges_sent.failures, 0);
    assert_false(challenges_sent.had_proposal);
    call_free(call);
    fixture_free(other);
}

/** Credentials that can't be sent by any of the schemes have failed nowhere. */
static void unsuitable_credentials_are_no_failure(void **state) {
    fixture *fixture = *state;
    static const afc_credentials for_digest = {"me", "secret", NULL, AFC_AUTH_DIGEST, false, {0}};
    serve(fixture, "/", answer(401, "WWW-Authenticate: Basic realm=x", "who?"));
    challenges_sent challenges_sent = {.failures = 9, .answers = {AFC_CHALLENGE_DEFAULT}};
    call *call = call_asking(fixture, "/", &challenges_sent);
    call->request.credentials = &for_digest;
    check_answer(call, 401, 1);
    assert_int_equal(challenges_sent.count, 1);
    assert_int_equal(challenges_sent.failures, 0);
    assert_false(challenges_sent.had_proposal);
}

static void callback_may_answer_again(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/", &auth_server);
    challenges_sent challenges_sent = {.answers = {AFC_CHALLENGE_USE, AFC_CHALLENGE_DEFAULT},
                                       .credentials = {.user = "me", .password = "wrong"}};
    check_answer(call_asking(fixture, "/", &challenges_sent), 401, 2);
    assert_int_equal(challenges_sent.failures, 1);
    assert_false(challenges_sent.had_proposal);
    /* And not for ever. */
    struct challenges_sent stubborn = {.credentials = {.user = "me", .password = "wrong"}};
    for (size_t i = 0; i < COUNT_OF(stubborn.answers); i++) stubborn.answers[i] = AFC_CHALLENGE_USE;
    check_answer(call_asking(fixture, "/", &stubborn), 401, 11);
    assert_int_equal(stubborn.count, 10);
}

static void callback_may_cancel_or_fail(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {.challenges = {"Basic realm=x"}};
    auth_server_path(fixture, "/", &auth_server);
    static const struct {
        afc_challenge_decision answer;
        afc_credentials credentials;
        afc_status expected;
    } rows[] = {
        {AFC_CHALLENGE_CANCEL, AFC_CREDENTIALS_INIT, AFC_ECANCELED},
        {AFC_CHALLENGE_FAIL, AFC_CREDENTIALS_INIT, AFC_EAUTH},
        {AFC_CHALLENGE_USE, {"a\nb", "", NULL, 0, false, {0}}, AFC_EINVAL},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        challenges_sent challenges_sent = {.answers = {rows[i].answer},
                                           .credentials = rows[i].credentials};
        call *call = call_asking(fixture, "/", &challenges_sent);
        call_perform(call);
        check_ended(call, rows[i].expected);
        assert_int_equal(call->head_count, 0);
        assert_int_equal(call->hop_count, 1);
        call_free(call);
    }
}

/** With a body, and without one, so that the exchange is over while somebody thinks. */
static void callback_may_answer_later(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/in", &auth_server);
    serve_once(fixture, "/empty", answer(401, "WWW-Authenticate: Basic realm=x", ""));
    auth_server_path(fixture, "/empty", &auth_server);
    static const char *const paths[] = {"/in", "/empty"};
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        challenges_sent challenges_sent = {.answers = {AFC_CHALLENGE_LATER},
                                           .credentials = {.user = "me", .password = "secret"}};
        call *call = call_asking(fixture, paths[i], &challenges_sent);
        call_start(call);
        assert_int_equal(
            pthread_create(&challenges_sent.thread, NULL, answer_later, &challenges_sent), 0);
        pthread_join(challenges_sent.thread, NULL);
        check_status(challenges_sent.late, AFC_OK);
        check_status(afc_task_answer_challenge(call->task, challenges_sent.number,
                                               AFC_CHALLENGE_USE, &valid_credentials),
                     AFC_EINVAL);
        call_wait(call);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), 200);
        check_status(afc_task_answer_challenge(call->task, challenges_sent.number,
                                               AFC_CHALLENGE_USE, &valid_credentials),
                     AFC_EINVAL);
        call_free(call);
    }
}

/** What an answer needs, such as a token, may come from the same host, of which no more connections are allowed. */
static void task_that_waits_for_its_answer_leaves_the_connection_to_others(void **state) {
    (void)state;
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 1;
    fixture *fixture = fixture_new(NULL, &options);
    auth_server auth_server = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/in", &auth_server);
    serve(fixture, "/token", answer(200, NULL, "token"));
    static const afc_challenge_decision answers[] = {AFC_CHALLENGE_USE, AFC_CHALLENGE_DEFAULT};
    for (size_t i = 0; i < COUNT_OF(answers); i++) {
        challenges_sent challenges_sent = {.answers = {AFC_CHALLENGE_LATER}};
        call *call = call_asking(fixture, "/in", &challenges_sent);
        call_start(call);
        call_wait_for(call, &challenges_sent.count, 1);
        check_fetch(fixture, "/token", AFC_OK);
        check_status(afc_task_answer_challenge(call->task, challenges_sent.number, answers[i],
                                               &valid_credentials),
                     AFC_OK);
        call_wait(call);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), i == 0 ? 200 : 401);
        if (i != 0) check_slice(call->body, "who?");
        call_free(call);
    }
    fixture_free(fixture);
}

/** The body of each challenge is read while its answer is awaited; the last one is the response's. */
static void callback_may_answer_each_challenge_later(void **state) {
    (void)state;
    static const afc_credentials wrong = {"me", "wrong", NULL, 0, false, {0}};
    static const afc_challenge_decision last[] = {AFC_CHALLENGE_USE, AFC_CHALLENGE_DEFAULT};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.max_connections_per_host = 1;
    fixture *fixture = fixture_new(NULL, &options);
    auth_server auth_server = {.challenges = {"Basic realm=x"}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/in", &auth_server);
    serve(fixture, "/token", answer(200, NULL, "token"));
    for (size_t i = 0; i < COUNT_OF(last); i++) {
        challenges_sent challenges_sent = {.answers = {AFC_CHALLENGE_LATER, AFC_CHALLENGE_LATER}};
        call *call = call_asking(fixture, "/in", &challenges_sent);
        call_start(call);
        for (unsigned round = 1; round <= 2; round++) {
            call_wait_for(call, &challenges_sent.count, round);
            /* The connection is free when the body was read. */
            check_fetch(fixture, "/token", AFC_OK);
            assert_int_equal(challenges_sent.failures, round - 1);
            check_status(afc_task_answer_challenge(call->task, challenges_sent.number,
                                                   round == 1 ? AFC_CHALLENGE_USE : last[i],
                                                   round == 1 ? &wrong : &valid_credentials),
                         AFC_OK);
        }
        call_wait(call);
        check_ended(call, AFC_OK);
        assert_int_equal(status_of(call), i == 0 ? 200 : 401);
        check_slice(call->body, i == 0 ? "in" : "who?");
        call_free(call);
    }
    fixture_free(fixture);
}

static void ignores_late_response_of_ended_task(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {.challenges = {"Basic realm=x"}};
    auth_server_path(fixture, "/body", &auth_server);
    serve(fixture, "/empty", answer(401, "WWW-Authenticate: Basic realm=x", ""));
    static const struct {
        const char *path;
        afc_challenge_decision answer;
        afc_status expected;
        const char *body;
    } rows[] = {
        {"/body", AFC_CHALLENGE_DEFAULT, AFC_OK, "who?"},
        {"/empty", AFC_CHALLENGE_DEFAULT, AFC_OK, ""},
        {"/body", AFC_CHALLENGE_CANCEL, AFC_ECANCELED, ""},
        {"/empty", AFC_CHALLENGE_CANCEL, AFC_ECANCELED, ""},
        {"/body", AFC_CHALLENGE_FAIL, AFC_EAUTH, ""},
        {"/empty", AFC_CHALLENGE_FAIL, AFC_EAUTH, ""},
    };
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        challenges_sent challenges_sent = {.answers = {AFC_CHALLENGE_LATER}};
        call *call = call_asking(fixture, rows[i].path, &challenges_sent);
        call_start(call);
        call_wait_for(call, &challenges_sent.count, 1);
        check_status(afc_task_answer_challenge(call->task, 99, rows[i].answer, NULL), AFC_EINVAL);
        check_status(afc_task_answer_challenge(call->task, challenges_sent.number,
                                               AFC_CHALLENGE_LATER, NULL),
                     AFC_EINVAL);
        check_status(
            afc_task_answer_challenge(call->task, challenges_sent.number, AFC_CHALLENGE_USE, NULL),
            AFC_EINVAL);
        check_status(
            afc_task_answer_challenge(call->task, challenges_sent.number, rows[i].answer, NULL),
            AFC_OK);
        call_wait(call);
        check_ended(call, rows[i].expected);
        check_slice(call->body, rows[i].body);
        assert_int_equal(call->hop_count, 1);
        assert_int_equal(call->hops[0].status, 401);
        call_free(call);
    }
}

/** The body is kept while the answer is awaited; how it ended counts if it becomes the response's. */
static void late_answer_does_not_hide_cut_body(void **state) {
    fixture *fixture = *state;
    serve_text(
        fixture, "/cut",
        "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 9\r\n\r\nwho?");
    serve(fixture, "/other", answer(200, NULL, "hi"));
    challenges_sent challenges_sent = {.answers = {AFC_CHALLENGE_LATER}};
    call *call = call_asking(fixture, "/cut", &challenges_sent);
    call_start(call);
    call_wait_for(call, &challenges_sent.count, 1);
    /* Turns of the loop, in which the end is read. */
    for (int i = 0; i < 20; i++) check_fetch(fixture, "/other", AFC_OK);
    check_status(
        afc_task_answer_challenge(call->task, challenges_sent.number, AFC_CHALLENGE_DEFAULT, NULL),
        AFC_OK);
    call_wait(call);
    check_ended(call, AFC_ETRUNCATED);
    assert_int_equal(status_of(call), 401);
    call_free(call);
}

static void cancel_and_time_limit_end_the_wait(void **state) {
    fixture *fixture = *state;
    auth_server auth_server = {.challenges = {"Basic realm=x"}};
    auth_server_path(fixture, "/body", &auth_server);
    serve(fixture, "/empty", answer(401, "WWW-Authenticate: Basic realm=x", ""));
    static const char *const paths[] = {"/body", "/empty"};
    for (size_t i = 0; i < 2 * COUNT_OF(paths); i++) {
        bool is_timed = i >= COUNT_OF(paths);
        challenges_sent challenges_sent = {.answers = {AFC_CHALLENGE_LATER}};
        call *call = call_asking(fixture, paths[i % 2], &challenges_sent);
        if (is_timed) call->request.timeouts.total_ms = 300;
        call_start(call);
        if (!is_timed) {
            call_wait_for(call, &challenges_sent.count, 1);
            afc_task_cancel(call->task);
        }
        call_wait(call);
        check_ended(call, is_timed ? AFC_ETIMEOUT : AFC_ECANCELED);
        check_status(afc_task_answer_challenge(call->task, challenges_sent.number,
                                               AFC_CHALLENGE_USE, &valid_credentials),
                     AFC_EINVAL);
        call_free(call);
    }
}

/* ---- Connections --------------------------------------------------------------------------- */

static void ntlm_connection_is_not_shared(void **state) {
    fixture *fixture = *state;
    if (!has_ntlm()) skip();
    auth_server auth_server = {.challenges = {"NTLM"}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/", &auth_server);
    serve(fixture, "/plain", answer(200, NULL, "in"));
    check_answer(call_as(fixture, "/plain", NULL), 200, 1);
    call *call = call_as(fixture, "/", &valid_credentials);
    call_send(call, "POST", S("content"));
    check_answer(call, 200, 2);
    /* Plain, challenged, and the two rounds of one new connection. */
    afts_request *first = afts_copy_request(fixture->server, 2);
    afts_request *second = afts_copy_request(fixture->server, 3);
    check_contains(afts_request_header(first, "Authorization"), "NTLM TlRMTVNTUAAB");
    check_contains(afts_request_header(second, "Authorization"), "NTLM TlRMTVNTUAAD");
    assert_int_equal(first->connection, second->connection);
    assert_int_equal(first->number, 0);
    check_slice(((afc_slice){(const char *)second->body, second->body_size}), "content");
    afts_request_free(first);
    afts_request_free(second);
    check_answer(call_as(fixture, "/plain", NULL), 200, 1);
    afts_request *last = afts_copy_request(fixture->server, 4);
    assert_int_equal(last->connection, 0);
    assert_string_equal(seen_header(fixture, 4, "Authorization"), "");
    afts_request_free(last);
    assert_int_equal(afts_server_stats(fixture->server).accepted, 2);
}

static void refused_ntlm_returns_401(void **state) {
    fixture *fixture = *state;
    if (!has_ntlm()) skip();
    /* Asks by the second message again and again, whatever comes. */
    serve(fixture, "/", answer(401, "WWW-Authenticate: " NTLM_CHALLENGE, "who?"));
    afc_credentials only = {"me", "secret", NULL, AFC_AUTH_NTLM, true, {0}};
    call *call = call_as(fixture, "/", &only);
    call_perform(call);
    check_ended(call, AFC_EAUTH);
    assert_int_equal(call->head_count, 0);
    call_free(call);
    assert_true(afts_server_stats(fixture->server).requests <= 12);
    /* No second message at all. */
    serve(fixture, "/deaf", answer(401, "WWW-Authenticate: NTLM", "who?"));
    check_answer(call_as(fixture, "/deaf", &only), 401, 1);
    struct auth_server strict = {.challenges = {"NTLM"}};
    auth_server_path(fixture, "/strict", &strict);
    check_answer(call_as(fixture, "/strict", &only), 401, 1);
    check_answer(call_as(fixture, "/strict", &valid_credentials), 401, 2);
    /* And one whose heads together are too long. */
    auth_server auth_server = {.challenges = {"NTLM"}, .user = "me", .password = "secret"};
    auth_server_path(fixture, "/long", &auth_server);
    call = call_as(fixture, "/long", &only);
    call->request.limits.head_count = 3;
    call_perform(call);
    check_ended(call, AFC_ETOOBIG);
    call_free(call);
}

static void negotiate_without_ticket_returns_401(void **state) {
    fixture *fixture = *state;
    if (!has_negotiate()) skip();
    auth_server auth_server = {
        .challenges = {"Negotiate", "Basic realm=x"}, .user = "", .password = ""};
    auth_server_path(fixture, "/", &auth_server);
    afc_credentials only = {"", "", NULL, AFC_AUTH_NEGOTIATE, false, {0}};
    check_answer(call_as(fixture, "/", &only), 401, 2);
    /* It is tried first, and then what is left. */
    afc_credentials ambient = {"", "", NULL, 0, false, {0}};
    check_answer(call_as(fixture, "/", &ambient), 200, 3);
}

int main(void) {
    /* No tickets of whoever runs the tests. */
    setenv("KRB5CCNAME", "FILE:/nonexistent/tickets", 1);
    setenv("KRB5_CONFIG", "/dev/null", 1);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_each_scheme),
        FIXTURE_TEST(token_answers_only_bearer),
        FIXTURE_TEST(returns_401_without_credentials),
        FIXTURE_TEST(tries_wrong_credentials_once),
        FIXTURE_TEST(preemptive_basic_needs_no_challenge),
        FIXTURE_TEST(uses_userinfo_of_the_url),
        FIXTURE_TEST(own_authorization_field_takes_precedence),
        FIXTURE_TEST(replaces_stale_nonce),
        FIXTURE_TEST(stale_challenge_with_the_same_nonce_refuses_the_credentials),
        FIXTURE_TEST(limits_rounds_of_challenges),
        FIXTURE_TEST(replays_bodies),
        FIXTURE_TEST(never_cuts_body_that_cannot_be_replayed),
        FIXTURE_TEST(credentials_stay_with_their_origin),
        FIXTURE_TEST(digest_covers_method_and_target_of_each_hop),
        FIXTURE_TEST(callback_answers_challenge),
        FIXTURE_TEST(redirect_to_other_origin_forgets_failures),
        FIXTURE_TEST(unsuitable_credentials_are_no_failure),
        FIXTURE_TEST(callback_may_answer_again),
        FIXTURE_TEST(callback_may_cancel_or_fail),
        FIXTURE_TEST(callback_may_answer_later),
        cmocka_unit_test(task_that_waits_for_its_answer_leaves_the_connection_to_others),
        cmocka_unit_test(callback_may_answer_each_challenge_later),
        FIXTURE_TEST(ignores_late_response_of_ended_task),
        FIXTURE_TEST(late_answer_does_not_hide_cut_body),
        FIXTURE_TEST(cancel_and_time_limit_end_the_wait),
        FIXTURE_TEST(ntlm_connection_is_not_shared),
        FIXTURE_TEST(refused_ntlm_returns_401),
        FIXTURE_TEST(negotiate_without_ticket_returns_401),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
