#include "support/auth_server.h"

#include "base/alloc.h"
#include "message/credentials.h"
#include "transfer/digest_auth.h"

#include <curl/curl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const afc_credentials valid_credentials = {"me", "secret", NULL, 0, false, {0}};

/** The challenge as it is told now, with its nonce. */
static void write_challenge(auth_server *auth_server, const char *challenge, char *out,
                            size_t size) {
    const char *mark = strstr(challenge, "%u");
    if (mark == NULL) {
        snprintf(out, size, "%s", challenge);
    } else {
        snprintf(out, size, "%.*s%u%s", (int)(mark - challenge), challenge,
                 atomic_load(&auth_server->nonce), mark + 2);
    }
}

/** The first challenge that `value` is made of. */
static bool read_challenge(const char *value, afc__challenge *out) {
    afc_header header = {S("WWW-Authenticate"), afc_slice_of(value), 0};
    afc_head head = {401, AFC_HTTP_1_1, {NULL, 0}, &header, 1};
    afc__challenge_reader reader;
    afc__challenge_reader_init(&reader, &head, false);
    return afc__challenge_next(&reader, out);
}

/** The answer of a client is read as a challenge is; it has the same form. */
static bool is_right_digest(const auth_server *auth_server, const char *told, const char *answer,
                            const afts_request *request) {
    afc__challenge given, challenge;
    afc__access_terms terms;
    afc__access access;
    afc_slice count, cnonce = {NULL, 0}, qop;
    char *expected = NULL, *nonce = NULL;
    if (!read_challenge(told, &challenge) || !read_challenge(answer, &given)) return false;
    if (!afc__access_terms_read(&challenge, true, &terms)) return false;
    if (!afc__challenge_find(&given, "qop", &qop)) qop = (afc_slice){NULL, 0};
    if (afc__access_init(&access, &terms) != AFC_OK) return false;
    if (afc__challenge_find(&given, "nc", &count)) {
        access.count = (uint32_t)strtoul(count.bytes, NULL, 16) - 1;
    }
    if (afc__challenge_find(&given, "cnonce", &cnonce)) nonce = afc__copy_text(cnonce);
    afc__access_request challenges_sent = {
        .user = auth_server->user,
        .password = auth_server->password,
        .method = request->method,
        .target = request->target,
        .body = {(const char *)request->body, request->body_size},
        .cnonce = nonce,
    };
    bool is_right = afc__access_answer(&access, &challenges_sent, &expected, NULL) == AFC_OK &&
                    strcmp(expected, answer) == 0;
    afc__access_clear(&access);
    afc_free(nonce);
    afc_free(expected);
    return is_right;
}

static bool is_right_field(const char *expected, const char *answer) {
    char *field = (char *)(uintptr_t)expected;
    bool is_right = field != NULL && strcmp(field, answer) == 0;
    if (field != NULL) afc__free_secret(field, strlen(field));
    return is_right;
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/** A nonce may be used up; a right answer to it then gets another one. */
static bool uses_up_nonce(auth_server *auth_server) {
    if (auth_server->nonce_uses == 0 ||
        atomic_fetch_add(&auth_server->answers, 1) < auth_server->nonce_uses) {
        return false;
    }
    atomic_fetch_add(&auth_server->nonce, 1);
    atomic_store(&auth_server->answers, 0);
    return true;
}

static bool offers(const auth_server *auth_server, const char *scheme) {
    for (size_t i = 0; i < COUNT_OF(auth_server->challenges) && auth_server->challenges[i] != NULL;
         i++) {
        if (strstr(auth_server->challenges[i], scheme) != NULL) return true;
    }
    return false;
}

static bool is_known(auth_server *auth_server, const char *answer, const afts_request *request,
                     bool *is_stale) {
    if (answer == NULL) return false;
    if (begins(answer, "Bearer ")) {
        return auth_server->token != NULL &&
               is_right_field(afc__bearer_field(auth_server->token), answer);
    }
    if (auth_server->user == NULL) return false;
    if (begins(answer, "Basic ")) {
        return offers(auth_server, "Basic") &&
               is_right_field(afc__basic_field(auth_server->user, auth_server->password), answer);
    }
    /* What is in such a message is libcurl's business. */
    if (begins(answer, "NTLM TlRMTVNTUAAD")) return true;
    for (size_t i = 0; i < COUNT_OF(auth_server->challenges) && auth_server->challenges[i] != NULL;
         i++) {
        char told[1024];
        write_challenge(auth_server, auth_server->challenges[i], told, sizeof told);
        if (!begins(told, "Digest") || !is_right_digest(auth_server, told, answer, request))
            continue;
        *is_stale = uses_up_nonce(auth_server);
        return !*is_stale;
    }
    return false;
}

static void ask(auth_server *auth_server, afts_conn *conn, bool is_stale, bool begins_ntlm) {
    char headers[4096] = "Content-Type: text/plain";
    const char *name = auth_server->is_proxy ? "Proxy-Authenticate" : "WWW-Authenticate";
    for (size_t i = 0; i < COUNT_OF(auth_server->challenges) && auth_server->challenges[i] != NULL;
         i++) {
        char told[1024];
        write_challenge(auth_server, auth_server->challenges[i], told, sizeof told);
        if (strcmp(told, "NTLM") == 0 && begins_ntlm) {
            snprintf(told, sizeof told, "%s", NTLM_CHALLENGE);
        }
        size_t at = strlen(headers);
        snprintf(headers + at, sizeof headers - at, "\r\n%s: %s%s", name, told,
                 is_stale ? ", stale=true" : "");
    }
    atomic_fetch_add(&auth_server->challenges_sent, 1);
    afts_conn_respond(conn, auth_server->is_proxy ? 407 : 401, headers, "who?", 4);
}

static void watch(afts_conn *conn, const afts_request *request, void *payload) {
    auth_server *auth_server = payload;
    /* Once a client has its answer, the test may be over and the server gone. */
    bool is_stale = false, closes = auth_server->closes;
    const char *answer = afts_request_header(request, auth_server->is_proxy ? "Proxy-Authorization"
                                                                            : "Authorization");
    if (is_known(auth_server, answer, request, &is_stale)) {
        atomic_fetch_add(&auth_server->challenges_accepted, 1);
        afts_conn_respond(conn, 200, NULL, "in", 2);
        if (closes) {
            afts_script *end = afts_script_new();
            afts_close(end);
            afts_conn_run(conn, end);
            afts_script_release(end);
        }
    } else {
        ask(auth_server, conn, is_stale, answer != NULL && begins(answer, "NTLM TlRMTVNTUAAB"));
    }
}

void auth_server_path(fixture *fixture, const char *path, auth_server *auth_server) {
    afts_script *script = afts_script_new();
    afts_handle(script, watch, auth_server, NULL);
    serve(fixture, path, script);
}

void check_answer_at(call *call, int status, size_t requests, const char *file, int line) {
    call_perform(call);
    check_ended_at(call, AFC_OK, file, line);
    _assert_int_equal((unsigned)status_of(call), (unsigned)status, file, line);
    _assert_int_equal(atomic_load(&call->head_count), 1, file, line);
    _assert_int_equal(call->hop_count, requests, file, line);
    check_slice_at(call->body, status == 200 ? "in" : "who?", file, line);
    call_free(call);
}

bool has_negotiate(void) {
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_SPNEGO) != 0;
}

bool has_ntlm(void) {
    return (curl_version_info(CURLVERSION_NOW)->features & CURL_VERSION_NTLM) != 0;
}
