/* Authentication: which credentials answer which challenge, what each hop then sends, and how often. */
#include "transfer/auth.h"

#include "base/alloc.h"
#include "base/text.h"
#include "message/challenge.h"
#include "message/host.h"
#include "transfer/digest_auth.h"
#include "transfer/transfer.h"

#include <string.h>

enum {
    UNAUTHORIZED = 401,
    PROXY_AUTHENTICATION_REQUIRED = 407,
    /* Maximum number of answers to one target in a task, whatever the target and the caller decide. */
    MAX_ATTEMPTS = 10
};

/** Schemes that authenticate a connection, which libcurl implements. */
enum { AFC__AUTH_ON_CONNECTION = AFC_AUTH_NTLM | AFC_AUTH_NEGOTIATE };

/** The state of the authentication to a target: the origin or a proxy. */
typedef struct auth_target {
    afc__identity *configured;    /**< From the request, or from the proxy's URL. */
    afc__identity *from_callback; /**< The last one from on_challenge. */
    /** One of the two, once it was sent or is about to be; NULL before. */
    const afc__identity *active;
    unsigned scheme;  /**< AFC_AUTH_…, used with `active`. */
    unsigned refused; /**< AFC_AUTH_… bits: tried with `active` and refused. */
    unsigned failures, attempts;
    afc__access access; /**< With AFC_AUTH_DIGEST: the challenge and its state. */
    char *field;        /**< The value of the field that this hop sends, or NULL. A secret. */
} auth_target;

typedef struct afc__auth {
    auth_target origin, proxy;
    /** The proxy that `proxy` is about; NULL if none was used yet. */
    const afc__proxy *proxy_of;
    afc__head_reader connect_response; /**< A proxy's response to CONNECT. */
    uint32_t number;                   /**< Number of the last challenge. */
    /* For AFC__PHASE_AWAITING_ANSWER. */
    afc__buffer body; /**< The body received so far, if keeps_body(). */
    int64_t received; /**< The `received` of afc__auth_keep_body() for its last byte. */
    bool has_outcome; /**< `outcome` is set: the hop has ended. */
    afc__outcome outcome;
} afc__auth;

/* ---- Targets ------------------------------------------------------------------------------- */

/** Returns whether the hop uses an HTTP proxy: only such a proxy sends a 407. */
static bool has_http_proxy(const afc__transfer *transfer) {
    return transfer->hop.proxy != NULL && afc__proxy_speaks_http(transfer->hop.proxy);
}

static const char *field_name(const afc__auth *auth, const auth_target *target) {
    return target == &auth->proxy ? "Proxy-Authorization" : "Authorization";
}

/**
 * Returns the body of the request to this target, for Digest's auth-int, or NULL if there is none, or it isn't in
 * memory.
 */
static const afc_slice *known_body(const afc__transfer *transfer, const auth_target *target) {
    bool is_connect = target == &transfer->auth->proxy && afc__transfer_needs_tunnel(transfer);
    return transfer->request.sends_body && !is_connect ? afc__source_in_memory(&transfer->source)
                                                       : NULL;
}

/** Overwrites and frees the field for this target. */
static void free_field(auth_target *target) {
    if (target->field != NULL) afc__free_secret(target->field, strlen(target->field));
    target->field = NULL;
}

/** Makes the transfer send no credentials to this target until the next challenge. */
static void forget_attempt(auth_target *target) {
    free_field(target);
    afc__access_clear(&target->access);
    target->active = NULL;
    target->scheme = target->refused = 0;
}

static void clear_target(auth_target *target) {
    forget_attempt(target);
    afc__identity_free(target->configured);
    afc__identity_free(target->from_callback);
    target->configured = target->from_callback = NULL;
}

/* ---- Creating ------------------------------------------------------------------------------ */

static bool make_auth(afc__transfer *transfer) {
    if (transfer->auth != NULL) return true;
    afc__auth *auth = transfer->auth = afc__zalloc(sizeof *auth);
    if (auth == NULL) return false;
    afc__buffer_init(&auth->body, transfer->sink.limit);
    afc__head_limits limits = {transfer->limits.head_bytes, transfer->limits.head_count,
                               transfer->limits.informational};
    afc__head_reader_init(&auth->connect_response, limits);
    return true;
}

afc_status afc__transfer_init_auth(afc__transfer *transfer, const afc_request *request,
                                   const afc_task_events *events, afc_failure *failure) {
    bool is_asked = events != NULL && events->on_challenge != NULL;
    bool has_own = request->credentials != NULL || request->proxy_credentials != NULL;
    if (!has_own && !is_asked) return AFC_OK;
    if (!make_auth(transfer)) return afc__fail_memory(failure);
    afc__auth *auth = transfer->auth;
    afc_status status = AFC_OK;
    if (request->credentials != NULL) {
        status = afc__identity_new(&auth->origin.configured, request->credentials,
                                   transfer->request.url.userinfo, failure);
    }
    if (request->proxy_credentials != NULL && status == AFC_OK) {
        status = afc__identity_new(&auth->proxy.configured, request->proxy_credentials, NULL,
                                   failure);
    }
    return status;
}

void afc__transfer_clear_auth(afc__transfer *transfer) {
    afc__auth *auth = transfer->auth;
    if (auth == NULL) return;
    clear_target(&auth->origin);
    clear_target(&auth->proxy);
    afc__head_reader_clear(&auth->connect_response);
    afc__buffer_clear(&auth->body);
    afc_free(auth);
    transfer->auth = NULL;
}

void afc__transfer_leave_origin(afc__transfer *transfer) {
    afc__auth *auth = transfer->auth;
    if (auth == NULL) return;
    clear_target(&auth->origin);
    auth->origin.failures = 0;
}

static unsigned possible_schemes(const afc__transfer *transfer) {
    return ~(unsigned)AFC__AUTH_ON_CONNECTION | transfer->connection_schemes;
}

afc_status afc__transfer_allow_schemes(afc__transfer *transfer, unsigned schemes,
                                       afc_failure *failure) {
    bool has_http_1 = !afc__transfer_forces_http_2(transfer) &&
                      transfer->version != AFC_HTTP_PREFER_3;
    transfer->connection_schemes = has_http_1 ? schemes & AFC__AUTH_ON_CONNECTION : 0;
    const afc__auth *auth = transfer->auth;
    if (auth == NULL) return AFC_OK;
    const afc__identity *const given[] = {auth->origin.configured, auth->proxy.configured};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (given[i] == NULL || given[i]->credentials.schemes == 0) continue;
        if ((given[i]->credentials.schemes & possible_schemes(transfer)) != 0) continue;
        return afc__fail(failure, AFC_EUNSUPPORTED,
                         "none of the allowed authentication schemes is supported here");
    }
    return AFC_OK;
}

/* ---- Deciding ------------------------------------------------------------------------------ */

/**
 * Makes the user and password of the proxy's URL, which the driver has sent as Basic, the configured ones. Returns
 * false if the transfer has failed.
 */
static bool take_from_url(afc__transfer *transfer) {
    const afc__proxy *proxy = transfer->hop.proxy;
    auth_target *target = &transfer->auth->proxy;
    if (proxy->user == NULL || target->configured != NULL || target->from_callback != NULL) {
        return true;
    }
    afc_credentials credentials = {
        .user = proxy->user, .password = proxy->password, .send_preemptively = true};
    afc_failure failure = {0};
    if (afc__identity_new(&target->configured, &credentials, NULL, &failure) != AFC_OK) {
        return afc__transfer_fail(transfer, &failure);
    }
    target->active = target->configured;
    target->scheme = AFC_AUTH_BASIC;
    return true;
}

/** Returns whether the last response was the proxy's to CONNECT: the server's response begins after that. */
static bool is_for_connect(const afc__transfer *transfer) {
    return afc__hop_has_no_response(&transfer->hop);
}

static const afc_head *challenge_head(const afc__transfer *transfer) {
    return is_for_connect(transfer) ? &transfer->auth->connect_response.head
                                    : &transfer->hop.reader->head;
}

/** Returns the target that sent the challenge, or NULL if it may not be answered. */
static auth_target *challenger(const afc__transfer *transfer) {
    bool is_connect = is_for_connect(transfer);
    int status = challenge_head(transfer)->status;
    if (status == UNAUTHORIZED && !is_connect) return &transfer->auth->origin;
    /* An origin server must not obtain proxy credentials by sending a 407. */
    bool is_proxys = is_connect ||
                     (has_http_proxy(transfer) && !afc__transfer_needs_tunnel(transfer));
    bool asks = status == PROXY_AUTHENTICATION_REQUIRED && is_proxys;
    return asks ? &transfer->auth->proxy : NULL;
}

static void choose(const afc__transfer *transfer, const auth_target *target,
                   const afc__identity *identity, afc__challenge_choice *out) {
    const afc__auth *auth = transfer->auth;
    unsigned possible = possible_schemes(transfer);
    /* Negotiate uses the identity of the process, so another user's name doesn't make a difference. */
    possible &= ~(target->refused & AFC_AUTH_NEGOTIATE);
    afc__challenge_question question = {
        .head = challenge_head(transfer),
        .is_proxy = target == &auth->proxy,
        .knows_body = !transfer->request.sends_body || known_body(transfer, target) != NULL ||
                      is_for_connect(transfer),
        .possible = possible,
        .credentials = identity != NULL ? &identity->credentials : NULL,
    };
    afc__challenge_choose(&question, out);
}

/**
 * Returns whether the credentials were right, but the nonce too old (stale=true, RFC 7616 section 3.3). Then the
 * challenge has a new nonce.
 */
static bool is_only_stale(const auth_target *target, const afc__challenge_choice *choice) {
    if (target->scheme != AFC_AUTH_DIGEST || choice->scheme != AFC_AUTH_DIGEST) return false;
    return choice->terms.is_stale && !afc__is_same(target->access.terms.nonce, choice->terms.nonce);
}

/** Returns the identity that was sent, or would be sent first, or NULL. */
static const afc__identity *candidate(const auth_target *target) {
    return target->active != NULL ? target->active : target->configured;
}

/**
 * Returns the identity to propose to on_challenge, or NULL, and sets `*choice` to its scheme and challenge. Records
 * which scheme was refused.
 */
static const afc__identity *propose(const afc__transfer *transfer, auth_target *target,
                                    afc__challenge_choice *choice) {
    const afc__identity *identity = candidate(target);
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

static char *copy_realm(const afc__challenge_choice *choice) {
    afc__buffer realm;
    afc_slice value;
    afc__buffer_init(&realm, AFC__CHALLENGE_MAX + 1);
    afc__challenge_find(&choice->challenge, "realm", &value);
    afc_status status = afc__challenge_unescape(value, &realm);
    if (status == AFC_OK) status = afc__buffer_append(&realm, "", 1);
    if (status == AFC_OK) return realm.bytes;
    afc__buffer_clear(&realm);
    return NULL;
}

/** The argument of the callbacks about challenges, and the memory of its texts. */
typedef struct challenge_info {
    afc_challenge challenge;
    char *realm, *host;
} challenge_info;

static void clear_info(challenge_info *info) {
    afc_free(info->realm);
    afc_free(info->host);
}

static bool describe(afc__transfer *transfer, const auth_target *target,
                     const afc__identity *proposed, const afc__challenge_choice *choice,
                     challenge_info *out) {
    const afc__auth *auth = transfer->auth;
    const afc__url *url = &transfer->request.url;
    bool is_proxy = target == &auth->proxy;
    out->realm = copy_realm(choice);
    out->host = afc__copy_text(is_proxy ? afc_slice_of(transfer->hop.proxy->host) : url->host);
    out->challenge = (afc_challenge){
        .number = auth->number,
        .scheme = choice->scheme,
        .offered = choice->offered,
        .failures = target->failures,
        .is_proxy = is_proxy,
        .is_https = is_proxy ? transfer->hop.proxy->kind == AFC__PROXY_HTTPS : url->is_https,
        .port = is_proxy ? transfer->hop.proxy->port : url->port,
        .host = out->host,
        .url = url->text,
        .realm = out->realm,
        .proposed = proposed != NULL ? &proposed->credentials : NULL,
        .head = challenge_head(transfer),
    };
    return (out->realm != NULL && out->host != NULL) || afc__transfer_fail_memory(transfer);
}

/** Calls on_challenge_accepted. Returns false if the task has failed. */
static bool report_answered(afc__transfer *transfer, const auth_target *target,
                            const afc__identity *identity, const afc__challenge_choice *choice) {
    if (transfer->events.on_challenge_accepted == NULL) return true;
    challenge_info info;
    bool has_info = describe(transfer, target, identity, choice, &info);
    if (has_info) {
        afc__transfer_count_event(transfer);
        transfer->events.on_challenge_accepted(transfer->events.context, &info.challenge);
    }
    clear_info(&info);
    return has_info;
}

/* ---- Answering ----------------------------------------------------------------------------- */

/** Removes the request's own field of this name, as it was refused by the challenge. */
static void drop_own_field(afc__request_head *request, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < request->header_count; i++) {
        const afc_header header = request->headers[i];
        if (afc__same_name(header.name, name)) {
            explicit_bzero((char *)(uintptr_t)header.value.bytes, header.value.size);
        } else {
            request->headers[count++] = header;
        }
    }
    request->header_count = count;
}

static afc_party party_of(const afc__transfer *transfer, const auth_target *target) {
    return target == &transfer->auth->proxy ? AFC_PARTY_PROXY : AFC_PARTY_SERVER;
}

/** Makes the same request be sent again with these credentials. */
static afc__auth_action send_credentials(afc__transfer *transfer, auth_target *target,
                                         const afc__identity *identity,
                                         const afc__challenge_choice *choice) {
    afc__access access = {.count = 0};
    if (transfer->request.sends_body && !afc__source_can_rewind(&transfer->source)) {
        afc_failure failure;
        afc__fail(&failure, AFC_EREPLAY,
                  "the request can't be retried with credentials: its body can be read only once");
        failure.reason = AFC_REASON_CREDENTIALS;
        failure.party = party_of(transfer, target);
        afc__transfer_fail(transfer, &failure);
        return AFC__AUTH_FAIL;
    }
    if (choice->scheme == AFC_AUTH_DIGEST && afc__access_init(&access, &choice->terms) != AFC_OK) {
        afc__transfer_fail_memory(transfer);
        return AFC__AUTH_FAIL;
    }
    if (!report_answered(transfer, target, identity, choice)) {
        afc__access_clear(&access);
        return AFC__AUTH_FAIL;
    }
    free_field(target);
    afc__access_clear(&target->access);
    target->access = access;
    target->active = identity;
    target->scheme = choice->scheme;
    target->attempts++;
    drop_own_field(&transfer->request, field_name(transfer->auth, target));
    afc__hop_enter(&transfer->hop, AFC__PHASE_CHALLENGED);
    return AFC__AUTH_REPEAT;
}

/**
 * Accepts the 401 or 407 as the response, as no offered scheme fits `identity`. Fails instead if only Basic is offered
 * and the user contains a colon, which Basic can't send (RFC 7617 section 2).
 */
static afc__auth_action leave_unanswered(afc__transfer *transfer, const auth_target *target,
                                         const afc__identity *identity) {
    afc__challenge_choice choice;
    if (identity == NULL || !afc__credentials_lack_basic(&identity->credentials)) {
        return AFC__AUTH_ACCEPT;
    }
    choose(transfer, target, identity, &choice);
    if (choice.scheme != 0 || choice.offered != AFC_AUTH_BASIC) return AFC__AUTH_ACCEPT;
    afc_failure failure;
    afc__fail(&failure, AFC_EAUTH,
              "the %s offers only Basic, which doesn't allow a colon in the user name (RFC 7617 2)",
              target == &transfer->auth->proxy ? "proxy" : "server");
    failure.party = party_of(transfer, target);
    afc__transfer_fail(transfer, &failure);
    return AFC__AUTH_FAIL;
}

/** Answers the challenge with credentials from on_challenge. Takes `identity`. */
static afc__auth_action use_answer(afc__transfer *transfer, auth_target *target,
                                   afc__identity *identity) {
    afc__challenge_choice choice;
    forget_attempt(target);
    afc__identity_free(target->from_callback);
    target->from_callback = identity;
    choose(transfer, target, identity, &choice);
    if (choice.scheme == 0) return leave_unanswered(transfer, target, identity);
    return send_credentials(transfer, target, identity, &choice);
}

/** Applies the caller's decision about a challenge. Takes `identity`. */
static afc__auth_action apply_decision(afc__transfer *transfer, auth_target *target,
                                       afc_challenge_decision answer, afc__identity *identity) {
    if (answer == AFC_CHALLENGE_USE) return use_answer(transfer, target, identity);
    afc__identity_free(identity);
    if (answer == AFC_CHALLENGE_DEFAULT) {
        afc__challenge_choice choice;
        const afc__identity *proposed = candidate(target);
        if (proposed == NULL) return AFC__AUTH_ACCEPT;
        choose(transfer, target, proposed, &choice);
        if (choice.scheme == 0) return leave_unanswered(transfer, target, proposed);
        bool is_refused = (choice.scheme & target->refused) != 0;
        return is_refused ? AFC__AUTH_ACCEPT
                          : send_credentials(transfer, target, proposed, &choice);
    }
    if (answer == AFC_CHALLENGE_CANCEL) {
        afc__transfer_fail_text(transfer, AFC_ECANCELED, afc_status_text(AFC_ECANCELED));
    } else if (answer == AFC_CHALLENGE_FAIL) {
        afc__transfer_fail_text(transfer, AFC_EAUTH, "on_challenge refused the challenge");
    } else {
        afc_failure failure;
        afc__fail_returned(&failure, "on_challenge", (int)answer, "AFC_CHALLENGE_…");
        afc__transfer_fail(transfer, &failure);
    }
    return AFC__AUTH_FAIL;
}

/* ---- Asking -------------------------------------------------------------------------------- */

/** Calls on_challenge, even if no credentials are known: the callback may have some. */
static afc__auth_action ask(afc__transfer *transfer, auth_target *target,
                            const afc__identity *proposed, const afc__challenge_choice *choice) {
    afc_credentials credentials = AFC_CREDENTIALS_INIT;
    if (proposed != NULL) credentials = proposed->credentials;
    afc_challenge_decision answer = AFC_CHALLENGE_FAIL;
    afc__identity *identity = NULL;
    challenge_info info;
    if (describe(transfer, target, proposed, choice, &info)) {
        afc__transfer_count_event(transfer);
        atomic_store(&transfer->awaited, info.challenge.number);
        answer = transfer->events.on_challenge(transfer->events.context, &info.challenge,
                                               &credentials);
        afc_failure failure = {0};
        if (answer == AFC_CHALLENGE_USE &&
            afc__identity_new(&identity, &credentials, NULL, &failure) != AFC_OK) {
            afc__transfer_fail(transfer, &failure);
        }
    }
    clear_info(&info);
    bool has_failed = afc__transfer_has_failed(transfer);
    if (!has_failed && answer == AFC_CHALLENGE_LATER) {
        afc__hop_enter(&transfer->hop, AFC__PHASE_AWAITING_ANSWER);
        return AFC__AUTH_AWAIT;
    }
    atomic_store(&transfer->awaited, 0);
    return has_failed ? AFC__AUTH_FAIL : apply_decision(transfer, target, answer, identity);
}

static afc__auth_action handle(afc__transfer *transfer) {
    auth_target *target = challenger(transfer);
    if (target == NULL || target->attempts == MAX_ATTEMPTS) return AFC__AUTH_ACCEPT;
    if (target == &transfer->auth->proxy && !take_from_url(transfer)) return AFC__AUTH_FAIL;
    afc__challenge_choice choice;
    const afc__identity *proposed = propose(transfer, target, &choice);
    if (choice.offered == 0) return AFC__AUTH_ACCEPT;
    transfer->auth->number++;
    if (transfer->events.on_challenge != NULL) return ask(transfer, target, proposed, &choice);
    if (proposed == NULL) return leave_unanswered(transfer, target, candidate(target));
    return send_credentials(transfer, target, proposed, &choice);
}

/** Returns whether there may be credentials: in `auth`, or in the proxy's URL. */
static bool may_answer(const afc__transfer *transfer) {
    return transfer->auth != NULL ||
           (has_http_proxy(transfer) && transfer->hop.proxy->user != NULL);
}

afc__auth_action afc__transfer_handle_challenge(afc__transfer *transfer) {
    int status = transfer->hop.reader->head.status;
    if (status != UNAUTHORIZED && status != PROXY_AUTHENTICATION_REQUIRED) return AFC__AUTH_ACCEPT;
    if (!may_answer(transfer)) return AFC__AUTH_ACCEPT;
    if (!make_auth(transfer)) return afc__transfer_fail_memory(transfer), AFC__AUTH_FAIL;
    return handle(transfer);
}

bool afc__transfer_on_connect_line(afc__transfer *transfer, afc_slice line) {
    afc_failure failure = {0};
    afc__head_step step;
    if (!has_http_proxy(transfer) || !may_answer(transfer)) return true;
    if (!make_auth(transfer)) return afc__transfer_fail_memory(transfer);
    afc__head_reader *reader = &transfer->auth->connect_response;
    if (reader->state == AFC__HEAD_DONE) afc__head_reader_reopen(reader);
    return afc__head_reader_feed(reader, line, &step, &failure) == AFC_OK ||
           afc__transfer_fail(transfer, &failure);
}

void afc__transfer_handle_connect_challenge(afc__transfer *transfer) {
    const afc__auth *auth = transfer->auth;
    if (auth == NULL || auth->connect_response.state != AFC__HEAD_DONE) return;
    /* The head may be left from an earlier hop, which used another route. */
    if (!is_for_connect(transfer) || !has_http_proxy(transfer)) return;
    (void)handle(transfer);
}

/* ---- Sending ------------------------------------------------------------------------------- */

/** Returns the scheme that is used without waiting for a challenge. Returns 0 if no scheme can be. */
static unsigned first_scheme(const afc__transfer *transfer, const afc_credentials *credentials) {
    unsigned fit = afc__credentials_fit(credentials);
    if ((fit & AFC_AUTH_BEARER) != 0) return AFC_AUTH_BEARER;
    if ((fit & AFC_AUTH_BASIC) != 0) return AFC_AUTH_BASIC;
    bool is_only = fit == AFC_AUTH_NTLM || fit == AFC_AUTH_NEGOTIATE;
    return is_only ? fit & transfer->connection_schemes : 0;
}

static void begin_at_once(const afc__transfer *transfer, auth_target *target) {
    const afc__auth *auth = transfer->auth;
    if (target->active != NULL || target->configured == NULL || target->attempts != 0) return;
    const afc_credentials *credentials = &target->configured->credentials;
    afc_slice name = afc_slice_of(field_name(auth, target));
    /* CONNECT has none of the request's own fields. */
    bool is_connect = target == &auth->proxy && afc__transfer_needs_tunnel(transfer);
    bool is_given = !is_connect && afc__request_head_sends(&transfer->request, name);
    if (!credentials->send_preemptively || is_given) return;
    target->scheme = first_scheme(transfer, credentials);
    if (target->scheme != 0) target->active = target->configured;
}

static bool write_digest(afc__transfer *transfer, auth_target *target, const char *method,
                         const char *request_target) {
    const afc_credentials *credentials = &target->active->credentials;
    const afc_slice *body = known_body(transfer, target);
    afc__access_request request = {
        .user = credentials->user,
        .password = credentials->password,
        .method = method,
        .target = request_target,
        .body = body != NULL ? *body : afc_slice_of(""),
    };
    afc_failure failure = {0};
    free_field(target);
    return afc__access_answer(&target->access, &request, &target->field, &failure) == AFC_OK ||
           afc__transfer_fail(transfer, &failure);
}

/**
 * Writes the field for this hop. Digest has a different value for each request, with a count; Basic and Bearer don't
 * change.
 */
static bool write_field(afc__transfer *transfer, auth_target *target, const char *method,
                        const char *request_target) {
    if (target->active == NULL) return true;
    const afc_credentials *credentials = &target->active->credentials;
    switch (target->scheme) {
    case AFC_AUTH_DIGEST:
        return write_digest(transfer, target, method, request_target);
    case AFC_AUTH_BASIC:
        if (target->field != NULL) return true;
        target->field = afc__basic_field(credentials->user, credentials->password);
        break;
    case AFC_AUTH_BEARER:
        if (target->field != NULL) return true;
        target->field = afc__bearer_field(credentials->token);
        break;
    default:
        return true;
    }
    return target->field != NULL || afc__transfer_fail_memory(transfer);
}

bool afc__transfer_prepare_auth(afc__transfer *transfer) {
    afc__auth *auth = transfer->auth;
    if (auth == NULL) return true;
    const afc__request_head *request = &transfer->request;
    begin_at_once(transfer, &auth->origin);
    return write_field(transfer, &auth->origin, request->method, request->url.path.bytes);
}

bool afc__transfer_prepare_proxy_auth(afc__transfer *transfer) {
    afc__auth *auth = transfer->auth;
    if (auth == NULL || !has_http_proxy(transfer)) return true;
    if (auth->proxy_of != NULL && auth->proxy_of != transfer->hop.proxy) {
        clear_target(&auth->proxy);
        auth->proxy.failures = 0;
    }
    auth->proxy_of = transfer->hop.proxy;
    begin_at_once(transfer, &auth->proxy);
    const afc__url *url = &transfer->request.url;
    if (!afc__transfer_needs_tunnel(transfer)) {
        return write_field(transfer, &auth->proxy, transfer->request.method, url->text);
    }
    char target[AFC__HOST_MAX + 16];
    *afc__write_port(afc__host_write(target, url->host), url->port) = '\0';
    return write_field(transfer, &auth->proxy, "CONNECT", target);
}

const afc_credentials *afc__transfer_credentials(const afc__transfer *transfer) {
    if (transfer->auth == NULL) return NULL;
    const afc__identity *identity = candidate(&transfer->auth->origin);
    return identity != NULL ? &identity->credentials : NULL;
}

const char *afc__transfer_authorization(const afc__transfer *transfer) {
    return transfer->auth != NULL ? transfer->auth->origin.field : NULL;
}

const char *afc__transfer_proxy_authorization(const afc__transfer *transfer) {
    bool is_sent = transfer->auth != NULL && has_http_proxy(transfer);
    return is_sent ? transfer->auth->proxy.field : NULL;
}

bool afc__transfer_has_proxy_credentials(const afc__transfer *transfer) {
    const afc__auth *auth = transfer->auth;
    return auth != NULL && (auth->proxy.configured != NULL || auth->proxy.active != NULL);
}

const afc_credentials *afc__transfer_connection_auth(const afc__transfer *transfer,
                                                     afc__auth_receiver receiver,
                                                     unsigned *scheme) {
    bool is_proxy = receiver == AFC__AUTH_TO_PROXY;
    const afc__auth *auth = transfer->auth;
    *scheme = 0;
    if (auth == NULL || (is_proxy && !has_http_proxy(transfer))) return NULL;
    const auth_target *target = is_proxy ? &auth->proxy : &auth->origin;
    if (target->active != NULL) *scheme = target->scheme & AFC__AUTH_ON_CONNECTION;
    return *scheme != 0 ? &target->active->credentials : NULL;
}

static bool authenticates(const afc__transfer *transfer, afc__auth_receiver receiver) {
    unsigned scheme;
    return afc__transfer_connection_auth(transfer, receiver, &scheme) != NULL;
}

bool afc__transfer_authenticates_connection(const afc__transfer *transfer) {
    return authenticates(transfer, AFC__AUTH_TO_ORIGIN);
}

bool afc__transfer_head_is_pending(const afc__transfer *transfer) {
    switch (transfer->hop.reader->head.status) {
    case UNAUTHORIZED:
        return authenticates(transfer, AFC__AUTH_TO_ORIGIN);
    case PROXY_AUTHENTICATION_REQUIRED:
        return authenticates(transfer, AFC__AUTH_TO_PROXY);
    default:
        return false;
    }
}

/* ---- While a challenge waits for its answer ------------------------------------------------ */

/**
 * Returns whether the body is read while the answer is awaited, so that the connection is free for others, such as the
 * request that fetches the credentials. A body for another sink than memory may have to wait for the sink afterwards,
 * too; that of a refused upgrade doesn't.
 */
static bool keeps_body(const afc__transfer *transfer) {
    return transfer->hop.shares_connection || transfer->purpose == AFC__PURPOSE_UPGRADE ||
           (transfer->sink.kind == AFC_SINK_MEMORY &&
            !afc__rate_is_limited(&transfer->receive_rate));
}

afc__flow afc__auth_keep_body(afc__transfer *transfer, afc_slice bytes, int64_t received) {
    afc__auth *auth = transfer->auth;
    if (!keeps_body(transfer)) return AFC__PAUSED;
    const afc__upgrade *upgrade = afc__transfer_get_upgrade(transfer);
    /* on_body would refuse more of it; the challenge can be answered all the same. */
    if (upgrade != NULL && auth->body.size > upgrade->refusal_limit) return AFC__STOP;
    afc_status status = afc__buffer_append(&auth->body, bytes.bytes, bytes.size);
    auth->received = received;
    if (status == AFC_OK) return AFC__CONSUMED;
    afc__transfer_fail_text(transfer, status, afc_status_text(status));
    return AFC__STOP;
}

void afc__auth_keep_outcome(afc__transfer *transfer, const afc__outcome *outcome) {
    transfer->auth->outcome = *outcome;
    transfer->auth->outcome.verification = NULL;
    transfer->auth->has_outcome = true;
}

const afc__outcome *afc__auth_take_outcome(afc__transfer *transfer) {
    afc__auth *auth = transfer->auth;
    if (auth == NULL || !auth->has_outcome) return NULL;
    auth->has_outcome = false;
    return &auth->outcome;
}

bool afc__auth_awaits(const afc__transfer *transfer, uint32_t number) {
    return transfer->hop.phase == AFC__PHASE_AWAITING_ANSWER && transfer->auth->number == number;
}

afc__auth_action afc__auth_on_answer(afc__transfer *transfer, afc_challenge_decision answer,
                                     afc__identity *identity, afc__buffer *body,
                                     int64_t *received) {
    afc__auth *auth = transfer->auth;
    *body = auth->body;
    *received = auth->received;
    afc__buffer_init(&auth->body, transfer->sink.limit);
    afc__hop_enter(&transfer->hop, AFC__PHASE_HEAD);
    return apply_decision(transfer, challenger(transfer), answer, identity);
}
