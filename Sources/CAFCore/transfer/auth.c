/* Whose credentials answer which challenge, what each hop then sends, and how often. */
#include "transfer/auth.h"

#include "base/alloc.h"
#include "message/challenge.h"
#include "transfer/digest_auth.h"
#include "transfer/transfer_internal.h"

#include <stdio.h>
#include <string.h>

enum {
    UNAUTHORIZED = 401,
    PROXY_AUTHENTICATION_REQUIRED = 407,
    /* To one target in one task, whatever the target and the caller decide. */
    MOST_ATTEMPTS = 10
};

/** Schemes that authenticate a connection: libcurl's work. */
enum { AF__AUTH_ON_CONNECTION = AF_AUTH_NTLM | AF_AUTH_NEGOTIATE };

/** Authentication to the origin, or to the proxy. */
typedef struct auth_target {
    af__identity *configured;    /**< By the request. */
    af__identity *from_callback; /**< The last that on_challenge gave. */
    const af__identity *active;  /**< Either, once it was sent or is about to be. */
    unsigned scheme;             /**< AF_AUTH_…, of `active`. */
    unsigned refused;            /**< AF_AUTH_…, tried with `active` and refused. */
    unsigned failures, attempts;
    af__access access; /**< With AF_AUTH_DIGEST. */
    char *field;       /**< What this hop sends. A secret. */
} auth_target;

typedef struct af__auth {
    auth_target origin, proxy;
    const af__proxy *proxy_of;        /**< The proxy that `proxy` is about; NULL: none yet. */
    af__head_reader connect_response; /**< A proxy's, to CONNECT. */
    uint32_t number;                  /**< Of the last challenge. */
    /* AWAITING_ANSWER. */
    af__buffer body;  /**< Received so far, on a connection which others share. */
    int64_t received; /**< Bytes on the wire when the last of it came. */
    bool has_outcome; /**< The hop has ended. */
    af__outcome outcome;
} af__auth;

/* ---- Targets ------------------------------------------------------------------------------- */

/** Only a proxy that speaks HTTP sends a 407. */
static bool has_http_proxy(const af__transfer *transfer) {
    return transfer->hop.proxy != NULL && af__proxy_speaks_http(transfer->hop.proxy);
}

static const char *field_name(const af__auth *auth, const auth_target *target) {
    return target == &auth->proxy ? "Proxy-Authorization" : "Authorization";
}

/** The body of a message to this target; NULL: there is none, or it isn't known. */
static const af_slice *known_body(const af__transfer *transfer, const auth_target *target) {
    bool is_connect = target == &transfer->auth->proxy && transfer->request.url.is_https;
    return transfer->request.sends_body && !is_connect ? af__source_in_memory(&transfer->source)
                                                       : NULL;
}

/** Overwrite and free what the hop was to send to this target. */
static void free_field(auth_target *target) {
    if (target->field != NULL) af__free_secret(target->field, strlen(target->field));
    target->field = NULL;
}

/** Send no credentials until the next challenge. */
static void forget_attempt(auth_target *target) {
    free_field(target);
    af__access_clear(&target->access);
    target->active = NULL;
    target->scheme = target->refused = 0;
}

static void clear_target(auth_target *target) {
    forget_attempt(target);
    af__identity_free(target->configured);
    af__identity_free(target->from_callback);
    target->configured = target->from_callback = NULL;
}

/* ---- Creating ------------------------------------------------------------------------------ */

static bool make_auth(af__transfer *transfer) {
    if (transfer->auth != NULL) return true;
    af__auth *auth = transfer->auth = af__zalloc(sizeof *auth);
    if (auth == NULL) return false;
    af__buffer_init(&auth->body, transfer->sink.limit);
    af__head_limits limits = {transfer->limits.head_bytes, transfer->limits.head_count,
                              transfer->limits.informational};
    af__head_reader_init(&auth->connect_response, limits);
    return true;
}

af_status af__transfer_init_auth(af__transfer *transfer, const af_request *request,
                                 const af_task_events *events, af_failure *failure) {
    bool is_asked = events != NULL && events->on_challenge != NULL;
    bool has_own = request->credentials != NULL || request->proxy_credentials != NULL;
    if (!has_own && !is_asked) return AF_OK;
    if (!make_auth(transfer)) return af__fail_memory(failure);
    af__auth *auth = transfer->auth;
    af_status status = AF_OK;
    if (request->credentials != NULL) {
        status = af__identity_new(&auth->origin.configured, request->credentials,
                                  transfer->request.url.userinfo, failure);
    }
    if (request->proxy_credentials != NULL && status == AF_OK) {
        status = af__identity_new(&auth->proxy.configured, request->proxy_credentials, NULL,
                                  failure);
    }
    return status;
}

void af__transfer_clear_auth(af__transfer *transfer) {
    af__auth *auth = transfer->auth;
    if (auth == NULL) return;
    clear_target(&auth->origin);
    clear_target(&auth->proxy);
    af__head_reader_clear(&auth->connect_response);
    af__buffer_clear(&auth->body);
    af_free(auth);
    transfer->auth = NULL;
}

void af__transfer_leave_origin(af__transfer *transfer) {
    af__auth *auth = transfer->auth;
    if (auth == NULL) return;
    clear_target(&auth->origin);
    auth->origin.failures = 0;
}

static unsigned possible_schemes(const af__transfer *transfer) {
    return ~(unsigned)AF__AUTH_ON_CONNECTION | transfer->connection_schemes;
}

af_status af__transfer_allow_schemes(af__transfer *transfer, unsigned schemes,
                                     af_failure *failure) {
    bool has_http_1 = transfer->version != AF_HTTP_PREFER_2_PRIOR_KNOWLEDGE &&
                      transfer->version != AF_HTTP_PREFER_3;
    transfer->connection_schemes = has_http_1 ? schemes & AF__AUTH_ON_CONNECTION : 0;
    const af__auth *auth = transfer->auth;
    if (auth == NULL) return AF_OK;
    const af__identity *const given[] = {auth->origin.configured, auth->proxy.configured};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (given[i] == NULL || given[i]->credentials.schemes == 0) continue;
        if ((given[i]->credentials.schemes & possible_schemes(transfer)) != 0) continue;
        return af__fail(failure, AF_EUNSUPPORTED,
                        "none of the allowed authentication schemes is supported here");
    }
    return AF_OK;
}

/* ---- Deciding ------------------------------------------------------------------------------ */

/** The driver has sent user and password of a proxy's URL as Basic. */
static bool take_from_url(af__transfer *transfer) {
    const af__proxy *proxy = transfer->hop.proxy;
    auth_target *target = &transfer->auth->proxy;
    if (proxy->user == NULL || target->configured != NULL || target->from_callback != NULL) {
        return true;
    }
    af_credentials credentials = {proxy->user, proxy->password, NULL, 0, true};
    af_failure failure = {0};
    if (af__identity_new(&target->configured, &credentials, NULL, &failure) != AF_OK) {
        return af__transfer_fail(transfer, &failure);
    }
    target->active = target->configured;
    target->scheme = AF_AUTH_BASIC;
    return true;
}

/** A hop has a response of its own only after the proxy's to CONNECT, so that one is the last so far. */
static bool is_for_connect(const af__transfer *transfer) {
    return af__hop_is_unanswered(transfer);
}

static const af_head *challenge_head(const af__transfer *transfer) {
    return is_for_connect(transfer) ? &transfer->auth->connect_response.head
                                    : &transfer->hop.reader->head;
}

/** The target whose challenge this is; NULL: none that we would answer. */
static auth_target *challenger(const af__transfer *transfer) {
    bool is_connect = is_for_connect(transfer);
    int status = challenge_head(transfer)->status;
    if (status == UNAUTHORIZED && !is_connect) return &transfer->auth->origin;
    /* A 407 that didn't come from the proxy is a server's that would like to be one. */
    bool is_proxys = is_connect || (has_http_proxy(transfer) && !transfer->request.url.is_https);
    bool asks = status == PROXY_AUTHENTICATION_REQUIRED && is_proxys;
    return asks ? &transfer->auth->proxy : NULL;
}

static void choose(const af__transfer *transfer, const auth_target *target,
                   const af__identity *identity, af__challenge_choice *out) {
    const af__auth *auth = transfer->auth;
    unsigned possible = possible_schemes(transfer);
    /* It was the process's own identity that was refused, not this user's. */
    possible &= ~(target->refused & AF_AUTH_NEGOTIATE);
    af__challenge_question question = {
        .head = challenge_head(transfer),
        .is_proxy = target == &auth->proxy,
        .knows_body = !transfer->request.sends_body || known_body(transfer, target) != NULL ||
                      is_for_connect(transfer),
        .possible = possible,
        .credentials = identity != NULL ? &identity->credentials : NULL,
    };
    af__challenge_choose(&question, out);
}

/** Were the credentials right, but the nonce too old? Then the challenge has a new nonce. */
static bool is_only_stale(const auth_target *target, const af__challenge_choice *choice) {
    if (target->scheme != AF_AUTH_DIGEST || choice->scheme != AF_AUTH_DIGEST) return false;
    const af_slice old = target->access.terms.nonce, new = choice->terms.nonce;
    return choice->terms.is_stale &&
           (old.size != new.size || memcmp(old.bytes, new.bytes, old.size) != 0);
}

/** The identity that was sent, or would be first; NULL: none. */
static const af__identity *candidate(const auth_target *target) {
    return target->active != NULL ? target->active : target->configured;
}

/** The identity to propose, with `choice` made for it; NULL: none. Notes which scheme was refused. */
static const af__identity *propose(const af__transfer *transfer, auth_target *target,
                                   af__challenge_choice *choice) {
    const af__identity *identity = candidate(target);
    if (identity != NULL) {
        choose(transfer, target, identity, choice);
        if (target->active != NULL && !is_only_stale(target, choice)) {
            target->refused |= target->scheme;
            choose(transfer, target, identity, choice);
        }
        if (choice->scheme != 0 && (choice->scheme & target->refused) == 0) return identity;
        if (target->active != NULL) target->failures++;
    }
    choose(transfer, target, NULL, choice);
    return NULL;
}

/* ---- Reporting ----------------------------------------------------------------------------- */

static char *copy_realm(const af__challenge_choice *choice) {
    af__buffer realm;
    af_slice value;
    af__buffer_init(&realm, AF__CHALLENGE_LONGEST + 1);
    af__challenge_find(&choice->challenge, "realm", &value);
    af_status status = af__challenge_unescape(value, &realm);
    if (status == AF_OK) status = af__buffer_append(&realm, "", 1);
    if (status == AF_OK) return realm.bytes;
    af__buffer_clear(&realm);
    return NULL;
}

/** A challenge as callbacks see it. */
typedef struct challenge_info {
    af_challenge challenge;
    char *realm, *host;
} challenge_info;

static void clear_info(challenge_info *info) {
    af_free(info->realm);
    af_free(info->host);
}

static bool describe(af__transfer *transfer, const auth_target *target,
                     const af__identity *proposed, const af__challenge_choice *choice,
                     challenge_info *out) {
    const af__auth *auth = transfer->auth;
    const af__url *url = &transfer->request.url;
    bool is_proxy = target == &auth->proxy;
    out->realm = copy_realm(choice);
    out->host = af__copy_text(is_proxy ? af_slice_of(transfer->hop.proxy->host) : url->host);
    out->challenge = (af_challenge){
        .number = auth->number,
        .scheme = choice->scheme,
        .offered = choice->offered,
        .failures = target->failures,
        .is_proxy = is_proxy,
        .is_https = is_proxy ? transfer->hop.proxy->kind == AF__PROXY_HTTPS : url->is_https,
        .port = is_proxy ? transfer->hop.proxy->port : url->port,
        .host = out->host,
        .url = url->text,
        .realm = out->realm,
        .proposed = proposed != NULL ? &proposed->credentials : NULL,
        .head = challenge_head(transfer),
    };
    return (out->realm != NULL && out->host != NULL) || af__transfer_fail_memory(transfer);
}

/** false: the task has failed. */
static bool report_answered(af__transfer *transfer, const auth_target *target,
                            const af__identity *identity, const af__challenge_choice *choice) {
    if (transfer->events.on_challenge_accepted == NULL) return true;
    challenge_info info;
    bool has_info = describe(transfer, target, identity, choice, &info);
    if (has_info) {
        af__transfer_count_event(transfer);
        transfer->events.on_challenge_accepted(transfer->events.context, &info.challenge);
    }
    clear_info(&info);
    return has_info;
}

/* ---- Answering ----------------------------------------------------------------------------- */

/** Remove the request's own field of this name: the challenge is the response to it. */
static void drop_own_field(af__request_head *request, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        const af_header header = request->headers[i];
        if (af__same_name(header.name, name)) {
            memset((char *)(uintptr_t)header.value.bytes, 0, header.value.size);
        } else {
            request->headers[count++] = header;
        }
    }
    request->header_count = count;
}

static af__auth_action use(af__transfer *transfer, auth_target *target,
                           const af__identity *identity, const af__challenge_choice *choice) {
    af__access access = {.count = 0};
    if (transfer->request.sends_body && !af__source_can_rewind(&transfer->source)) {
        af__transfer_fail_text(transfer, AF_EREPLAY,
                               "the request can't be sent again with credentials: "
                               "its body can be read only once");
        return AF__AUTH_FAIL;
    }
    if (choice->scheme == AF_AUTH_DIGEST && af__access_init(&access, &choice->terms) != AF_OK) {
        af__transfer_fail_memory(transfer);
        return AF__AUTH_FAIL;
    }
    if (!report_answered(transfer, target, identity, choice)) {
        af__access_clear(&access);
        return AF__AUTH_FAIL;
    }
    free_field(target);
    af__access_clear(&target->access);
    target->access = access;
    target->active = identity;
    target->scheme = choice->scheme;
    target->attempts++;
    drop_own_field(&transfer->request, field_name(transfer->auth, target));
    transfer->hop.phase = AF__PHASE_CHALLENGED;
    return AF__AUTH_REPEAT;
}

/** Takes `identity`. */
static af__auth_action use_answer(af__transfer *transfer, auth_target *target,
                                  af__identity *identity) {
    af__challenge_choice choice;
    forget_attempt(target);
    af__identity_free(target->from_callback);
    target->from_callback = identity;
    choose(transfer, target, identity, &choice);
    return choice.scheme != 0 ? use(transfer, target, identity, &choice) : AF__AUTH_ACCEPT;
}

/** Takes `identity`. */
static af__auth_action apply_decision(af__transfer *transfer, auth_target *target,
                                      af_challenge_answer answer, af__identity *identity) {
    if (answer == AF_CHALLENGE_USE) return use_answer(transfer, target, identity);
    af__identity_free(identity);
    if (answer == AF_CHALLENGE_DEFAULT) {
        af__challenge_choice choice;
        const af__identity *proposed = candidate(target);
        if (proposed == NULL) return AF__AUTH_ACCEPT;
        choose(transfer, target, proposed, &choice);
        bool is_refused = choice.scheme == 0 || (choice.scheme & target->refused) != 0;
        return is_refused ? AF__AUTH_ACCEPT : use(transfer, target, proposed, &choice);
    }
    if (answer == AF_CHALLENGE_CANCEL) {
        af__transfer_fail_text(transfer, AF_ECANCELED, af_status_text(AF_ECANCELED));
    } else {
        af__transfer_fail_text(transfer, AF_EAUTH, "on_challenge refused the challenge");
    }
    return AF__AUTH_FAIL;
}

/* ---- Asking -------------------------------------------------------------------------------- */

/** Call on_challenge, also when no credentials are known: it may have some. */
static af__auth_action ask(af__transfer *transfer, auth_target *target,
                           const af__identity *proposed, const af__challenge_choice *choice) {
    af_credentials credentials = AF_CREDENTIALS_INIT;
    if (proposed != NULL) credentials = proposed->credentials;
    af_challenge_answer answer = AF_CHALLENGE_FAIL;
    af__identity *identity = NULL;
    challenge_info info;
    if (describe(transfer, target, proposed, choice, &info)) {
        af__transfer_count_event(transfer);
        atomic_store(&transfer->awaited, info.challenge.number);
        answer = transfer->events.on_challenge(transfer->events.context, &info.challenge,
                                               &credentials);
        af_failure failure = {0};
        if (answer == AF_CHALLENGE_USE &&
            af__identity_new(&identity, &credentials, NULL, &failure) != AF_OK) {
            af__transfer_fail(transfer, &failure);
        }
    }
    clear_info(&info);
    bool has_failed = af__transfer_has_failed(transfer);
    if (!has_failed && answer == AF_CHALLENGE_LATER) {
        transfer->hop.phase = AF__PHASE_AWAITING_ANSWER;
        return AF__AUTH_AWAIT;
    }
    atomic_store(&transfer->awaited, 0);
    return has_failed ? AF__AUTH_FAIL : apply_decision(transfer, target, answer, identity);
}

static af__auth_action handle(af__transfer *transfer) {
    auth_target *target = challenger(transfer);
    if (target == NULL || target->attempts == MOST_ATTEMPTS) return AF__AUTH_ACCEPT;
    if (target == &transfer->auth->proxy && !take_from_url(transfer)) return AF__AUTH_FAIL;
    af__challenge_choice choice;
    const af__identity *proposed = propose(transfer, target, &choice);
    if (choice.offered == 0) return AF__AUTH_ACCEPT;
    transfer->auth->number++;
    if (transfer->events.on_challenge != NULL) return ask(transfer, target, proposed, &choice);
    return proposed != NULL ? use(transfer, target, proposed, &choice) : AF__AUTH_ACCEPT;
}

/** A transfer without `auth` may still have the credentials of its proxy's URL. */
static bool may_answer(const af__transfer *transfer) {
    return transfer->auth != NULL ||
           (has_http_proxy(transfer) && transfer->hop.proxy->user != NULL);
}

af__auth_action af__transfer_handle_challenge(af__transfer *transfer) {
    int status = transfer->hop.reader->head.status;
    if (status != UNAUTHORIZED && status != PROXY_AUTHENTICATION_REQUIRED) return AF__AUTH_ACCEPT;
    if (!may_answer(transfer)) return AF__AUTH_ACCEPT;
    if (!make_auth(transfer)) return af__transfer_fail_memory(transfer), AF__AUTH_FAIL;
    return handle(transfer);
}

bool af__transfer_on_connect_line(af__transfer *transfer, af_slice line) {
    af_failure failure = {0};
    af__head_step step;
    if (!has_http_proxy(transfer) || !may_answer(transfer)) return true;
    if (!make_auth(transfer)) return af__transfer_fail_memory(transfer);
    af__head_reader *reader = &transfer->auth->connect_response;
    if (reader->state == AF__HEAD_DONE) af__head_reader_reopen(reader);
    return af__head_reader_feed(reader, line, &step, &failure) == AF_OK ||
           af__transfer_fail(transfer, &failure);
}

void af__transfer_handle_connect_challenge(af__transfer *transfer) {
    const af__auth *auth = transfer->auth;
    if (auth == NULL || auth->connect_response.state != AF__HEAD_DONE) return;
    /* The head may be left over from an earlier hop, which went another way. */
    if (!is_for_connect(transfer) || !has_http_proxy(transfer)) return;
    (void)handle(transfer);
}

/* ---- Sending ------------------------------------------------------------------------------- */

/** The one scheme that needs no challenge to begin with; 0: there is none. */
static unsigned first_scheme(const af__transfer *transfer, const af_credentials *credentials) {
    unsigned fit = af__credentials_fit(credentials);
    if ((fit & AF_AUTH_BEARER) != 0) return AF_AUTH_BEARER;
    if ((fit & AF_AUTH_BASIC) != 0) return AF_AUTH_BASIC;
    bool is_only = fit == AF_AUTH_NTLM || fit == AF_AUTH_NEGOTIATE;
    return is_only ? fit & transfer->connection_schemes : 0;
}

static void begin_at_once(const af__transfer *transfer, auth_target *target) {
    const af__auth *auth = transfer->auth;
    if (target->active != NULL || target->configured == NULL || target->attempts != 0) return;
    const af_credentials *credentials = &target->configured->credentials;
    af_slice name = af_slice_of(field_name(auth, target));
    if (!credentials->send_preemptively || af__request_head_sends(&transfer->request, name)) return;
    target->scheme = first_scheme(transfer, credentials);
    if (target->scheme != 0) target->active = target->configured;
}

static bool write_digest(af__transfer *transfer, auth_target *target, const char *method,
                         const char *request_target) {
    const af_credentials *credentials = &target->active->credentials;
    const af_slice *body = known_body(transfer, target);
    af__access_request request = {
        .user = credentials->user,
        .password = credentials->password,
        .method = method,
        .target = request_target,
        .body = body != NULL ? *body : af_slice_of(""),
    };
    af_failure failure = {0};
    free_field(target);
    return af__access_answer(&target->access, &request, &target->field, &failure) == AF_OK ||
           af__transfer_fail(transfer, &failure);
}

/** Digest has another value for each request, with a count; Basic and Bearer repeat theirs. */
static bool write_field(af__transfer *transfer, auth_target *target, const char *method,
                        const char *request_target) {
    if (target->active == NULL) return true;
    const af_credentials *credentials = &target->active->credentials;
    switch (target->scheme) {
    case AF_AUTH_DIGEST:
        return write_digest(transfer, target, method, request_target);
    case AF_AUTH_BASIC:
        if (target->field != NULL) return true;
        target->field = af__basic_field(credentials->user, credentials->password);
        break;
    case AF_AUTH_BEARER:
        if (target->field != NULL) return true;
        target->field = af__bearer_field(credentials->token);
        break;
    default:
        return true;
    }
    return target->field != NULL || af__transfer_fail_memory(transfer);
}

bool af__transfer_prepare_auth(af__transfer *transfer) {
    af__auth *auth = transfer->auth;
    if (auth == NULL) return true;
    const af__request_head *request = &transfer->request;
    begin_at_once(transfer, &auth->origin);
    return write_field(transfer, &auth->origin, request->method, request->url.path.bytes);
}

bool af__transfer_prepare_proxy_auth(af__transfer *transfer) {
    af__auth *auth = transfer->auth;
    if (auth == NULL || !has_http_proxy(transfer)) return true;
    if (auth->proxy_of != NULL && auth->proxy_of != transfer->hop.proxy) {
        clear_target(&auth->proxy);
        auth->proxy.failures = 0;
    }
    auth->proxy_of = transfer->hop.proxy;
    begin_at_once(transfer, &auth->proxy);
    const af__url *url = &transfer->request.url;
    if (!url->is_https) {
        return write_field(transfer, &auth->proxy, transfer->request.method, url->text);
    }
    char target[AF__HOST_LONGEST + 16];
    bool is_ipv6 = memchr(url->host.bytes, ':', url->host.size) != NULL;
    snprintf(target, sizeof target, "%s%.*s%s:%u", is_ipv6 ? "[" : "", (int)url->host.size,
             url->host.bytes, is_ipv6 ? "]" : "", (unsigned)url->port);
    return write_field(transfer, &auth->proxy, "CONNECT", target);
}

const char *af__transfer_authorization(const af__transfer *transfer) {
    return transfer->auth != NULL ? transfer->auth->origin.field : NULL;
}

const char *af__transfer_proxy_authorization(const af__transfer *transfer) {
    bool is_sent = transfer->auth != NULL && has_http_proxy(transfer);
    return is_sent ? transfer->auth->proxy.field : NULL;
}

bool af__transfer_identifies_to_proxy(const af__transfer *transfer) {
    const af__auth *auth = transfer->auth;
    return auth != NULL && (auth->proxy.configured != NULL || auth->proxy.active != NULL);
}

const af_credentials *af__transfer_connection_auth(const af__transfer *transfer, bool is_proxy,
                                                   unsigned *scheme) {
    const af__auth *auth = transfer->auth;
    *scheme = 0;
    if (auth == NULL || (is_proxy && !has_http_proxy(transfer))) return NULL;
    const auth_target *target = is_proxy ? &auth->proxy : &auth->origin;
    if (target->active != NULL) *scheme = target->scheme & AF__AUTH_ON_CONNECTION;
    return *scheme != 0 ? &target->active->credentials : NULL;
}

bool af__transfer_head_is_pending(const af__transfer *transfer) {
    unsigned scheme;
    int status = transfer->hop.reader->head.status;
    bool is_proxy = status == PROXY_AUTHENTICATION_REQUIRED;
    return (is_proxy || status == UNAUTHORIZED) &&
           af__transfer_connection_auth(transfer, is_proxy, &scheme) != NULL;
}

/* ---- While a challenge waits for its answer ------------------------------------------------ */

af__flow af__auth_keep_body(af__transfer *transfer, af_slice bytes, int64_t received) {
    af__auth *auth = transfer->auth;
    if (!transfer->hop.shares_connection) return AF__PAUSED;
    af_status status = af__buffer_append(&auth->body, bytes.bytes, bytes.size);
    auth->received = received;
    if (status == AF_OK) return AF__CONSUMED;
    af__transfer_fail_text(transfer, status, af_status_text(status));
    return AF__STOP;
}

void af__auth_keep_outcome(af__transfer *transfer, const af__outcome *outcome) {
    transfer->auth->outcome = *outcome;
    transfer->auth->outcome.verification = NULL;
    transfer->auth->has_outcome = true;
}

const af__outcome *af__auth_take_outcome(af__transfer *transfer) {
    af__auth *auth = transfer->auth;
    if (auth == NULL || !auth->has_outcome) return NULL;
    auth->has_outcome = false;
    return &auth->outcome;
}

bool af__auth_awaits(const af__transfer *transfer, uint32_t number) {
    return transfer->hop.phase == AF__PHASE_AWAITING_ANSWER && transfer->auth->number == number;
}

af__auth_action af__auth_on_answer(af__transfer *transfer, af_challenge_answer answer,
                                   af__identity *identity, af__buffer *body, int64_t *received) {
    af__auth *auth = transfer->auth;
    *body = auth->body;
    *received = auth->received;
    af__buffer_init(&auth->body, transfer->sink.limit);
    transfer->hop.phase = AF__PHASE_HEAD;
    return apply_decision(transfer, challenger(transfer), answer, identity);
}
