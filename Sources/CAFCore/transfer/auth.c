#include "transfer/auth.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "message/challenge.h"
#include "transfer/auth_internal.h"

#include <string.h>

enum {
    /* Answers to one side in one task, whatever it and the caller say. */
    MOST_ROUNDS = 10
};

typedef struct af__auth auth;
typedef struct af__auth_side side;

/* ---- Making -------------------------------------------------------------------------------- */

/** Nothing is sent any more, until there is another challenge. */
static void forget_round(side *side) {
    af__auth_free_field(side);
    af__access_clear(&side->access);
    side->now = NULL;
    side->scheme = side->refused = 0;
}

void af__auth_clear_side(side *side) {
    forget_round(side);
    af__identity_free(side->given);
    af__identity_free(side->answered);
    side->given = side->answered = NULL;
}

static bool make_auth(af__transfer *transfer) {
    if (transfer->auth != NULL) return true;
    auth *auth = transfer->auth = af__zalloc(sizeof *auth);
    if (auth == NULL) return false;
    af__buffer_init(&auth->body, transfer->sink.limit);
    af__head_limits limits = {transfer->limits.head_bytes, transfer->limits.head_count,
                              transfer->limits.informational};
    af__head_reader_init(&auth->tunnel, limits);
    return true;
}

af_status af__transfer_init_auth(af__transfer *transfer, const af_request *request,
                                 const af_task_events *events, af_failure *failure) {
    bool is_asked = events != NULL && events->on_challenge != NULL;
    bool has_own = request->credentials != NULL || request->proxy_credentials != NULL;
    if (!has_own && !is_asked) return AF_OK;
    if (!make_auth(transfer)) return af__fail(failure, AF_ENOMEM, "out of memory");
    auth *auth = transfer->auth;
    af_status status = AF_OK;
    if (request->credentials != NULL) {
        status = af__identity_new(&auth->origin.given, request->credentials,
                                  transfer->outgoing.url.userinfo, failure);
    }
    if (request->proxy_credentials != NULL && status == AF_OK) {
        status = af__identity_new(&auth->proxy.given, request->proxy_credentials, NULL, failure);
    }
    return status;
}

void af__transfer_clear_auth(af__transfer *transfer) {
    auth *auth = transfer->auth;
    if (auth == NULL) return;
    af__auth_clear_side(&auth->origin);
    af__auth_clear_side(&auth->proxy);
    af__head_reader_clear(&auth->tunnel);
    af__buffer_clear(&auth->body);
    af_free(auth);
    transfer->auth = NULL;
}

void af__transfer_leave_origin(af__transfer *transfer) {
    auth *auth = transfer->auth;
    if (auth == NULL) return;
    af__auth_clear_side(&auth->origin);
    auth->origin.failures = 0;
    auth->has_left = true;
}

static unsigned possible_schemes(const af__transfer *transfer) {
    return ~(unsigned)AF__AUTH_ON_CONNECTION | transfer->connection_schemes;
}

af_status af__transfer_allow_schemes(af__transfer *transfer, unsigned schemes,
                                     af_failure *failure) {
    bool has_http_1 = transfer->version != AF_WISH_HTTP_2_PRIOR_KNOWLEDGE &&
                      transfer->version != AF_WISH_HTTP_3;
    transfer->connection_schemes = has_http_1 ? schemes & AF__AUTH_ON_CONNECTION : 0;
    const auth *auth = transfer->auth;
    if (auth == NULL) return AF_OK;
    const af__identity *const given[] = {auth->origin.given, auth->proxy.given};
    for (size_t i = 0; i < sizeof given / sizeof *given; i++) {
        if (given[i] == NULL || given[i]->credentials.schemes == 0) continue;
        if ((given[i]->credentials.schemes & possible_schemes(transfer)) != 0) continue;
        return af__fail(failure, AF_EUNSUPPORTED,
                        "no scheme of authentication that is allowed can be used here");
    }
    return AF_OK;
}

/* ---- Deciding ------------------------------------------------------------------------------ */

/** User and password of a proxy's URL have been sent as Basic. */
static bool take_from_url(af__transfer *transfer) {
    const af__proxy *via = transfer->hop.proxy;
    side *proxy = &transfer->auth->proxy;
    if (via->user == NULL || proxy->given != NULL || proxy->answered != NULL) return true;
    af_credentials credentials = {via->user, via->password, NULL, 0, true};
    af_failure failure = {0};
    if (af__identity_new(&proxy->given, &credentials, NULL, &failure) != AF_OK) {
        return fail(transfer, &failure);
    }
    proxy->now = proxy->given;
    proxy->scheme = AF_AUTH_BASIC;
    return true;
}

/** Who asks with this head; NULL: nobody whom we would answer. */
static side *challenger(const af__transfer *transfer) {
    const auth *auth = transfer->auth;
    int status = auth->is_of_tunnel ? auth->tunnel.head.status : transfer->hop.reader->head.status;
    if (status == UNAUTHORIZED && !auth->is_of_tunnel) return &transfer->auth->origin;
    /* A 407 that didn't come from the proxy is a server's that would like to be one. */
    bool is_proxys = auth->is_of_tunnel ||
                     (af__auth_has_http_proxy(transfer) && !transfer->outgoing.url.is_https);
    bool asks = status == PROXY_AUTHENTICATION_REQUIRED && is_proxys;
    return asks ? &transfer->auth->proxy : NULL;
}

static const af_head *asking_head(const af__transfer *transfer) {
    const auth *auth = transfer->auth;
    return auth->is_of_tunnel ? &auth->tunnel.head : &transfer->hop.reader->head;
}

static void choose(const af__transfer *transfer, const side *side, const af__identity *identity,
                   af__challenge_choice *out) {
    const auth *auth = transfer->auth;
    unsigned possible = possible_schemes(transfer);
    /* It was the process's own identity that was refused, not this user's. */
    possible &= ~(side->refused & AF_AUTH_NEGOTIATE);
    af__challenge_question question = {
        .head = asking_head(transfer),
        .is_proxy = side == &auth->proxy,
        .knows_body = !transfer->outgoing.sends_body ||
                      af__auth_known_body(transfer, side) != NULL || auth->is_of_tunnel,
        .possible = possible,
        .credentials = identity != NULL ? &identity->credentials : NULL,
    };
    af__challenge_choose(&question, out);
}

/** Was the answer right, but the nonce too old for it? Then there is another one. */
static bool is_only_stale(const side *side, const af__challenge_choice *choice) {
    if (side->scheme != AF_AUTH_DIGEST || choice->scheme != AF_AUTH_DIGEST) return false;
    const af_slice old = side->access.terms.nonce, new = choice->terms.nonce;
    return choice->terms.is_stale &&
           (old.size != new.size || memcmp(old.bytes, new.bytes, old.size) != 0);
}

/** Who was sent, or would be. What was given for an origin that was left is gone. */
static const af__identity *candidate(const side *side) {
    return side->now != NULL ? side->now : side->given;
}

/** Whom to propose, with `choice` made for it; NULL: nobody. Notes what was refused. */
static const af__identity *propose(const af__transfer *transfer, side *side,
                                   af__challenge_choice *choice) {
    const af__identity *identity = candidate(side);
    if (identity != NULL) {
        choose(transfer, side, identity, choice);
        if (side->now != NULL && !is_only_stale(side, choice)) {
            side->refused |= side->scheme;
            choose(transfer, side, identity, choice);
        }
        if (choice->scheme != 0 && (choice->scheme & side->refused) == 0) return identity;
        if (side->now != NULL) side->failures++;
    }
    choose(transfer, side, NULL, choice);
    return NULL;
}

/* ---- Telling ------------------------------------------------------------------------------- */

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
typedef struct told {
    af_challenge challenge;
    char *realm, *host;
} told;

static void clear_told(told *told) {
    af_free(told->realm);
    af_free(told->host);
}

static bool describe(af__transfer *transfer, const side *side, const af__identity *proposed,
                     const af__challenge_choice *choice, told *out) {
    const auth *auth = transfer->auth;
    const af__url *url = &transfer->outgoing.url;
    bool is_proxy = side == &auth->proxy;
    out->realm = copy_realm(choice);
    out->host = af__copy_text(is_proxy ? af_slice_of(transfer->hop.proxy->host) : url->host);
    out->challenge = (af_challenge){
        .number = auth->number,
        .scheme = choice->scheme,
        .offered = choice->offered,
        .failures = side->failures,
        .is_proxy = is_proxy,
        .is_https = is_proxy ? transfer->hop.proxy->kind == AF__PROXY_HTTPS : url->is_https,
        .port = is_proxy ? transfer->hop.proxy->port : url->port,
        .host = out->host,
        .url = url->text,
        .realm = out->realm,
        .proposed = proposed != NULL ? &proposed->credentials : NULL,
        .head = asking_head(transfer),
    };
    return (out->realm != NULL && out->host != NULL) || fail_memory(transfer);
}

/** false: the task has failed. */
static bool tell_answered(af__transfer *transfer, const side *side, const af__identity *identity,
                          const af__challenge_choice *choice) {
    if (transfer->events.on_challenge_answered == NULL) return true;
    told told;
    bool is_told = describe(transfer, side, identity, choice, &told);
    if (is_told) {
        count_event(transfer);
        transfer->events.on_challenge_answered(transfer->events.context, &told.challenge);
    }
    clear_told(&told);
    return is_told;
}

/* ---- Answering ----------------------------------------------------------------------------- */

/** A field of the request's own has had its chance. */
static void drop_own_field(af__outgoing *outgoing, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < outgoing->header_count; i++) {
        const af_header header = outgoing->headers[i];
        if (af__same_name(header.name, name)) {
            memset((char *)(uintptr_t)header.value.bytes, 0, header.value.size);
        } else {
            outgoing->headers[count++] = header;
        }
    }
    outgoing->header_count = count;
}

static af__met use(af__transfer *transfer, side *side, const af__identity *identity,
                   const af__challenge_choice *choice) {
    af__access access = {.count = 0};
    if (transfer->outgoing.sends_body && !af__source_can_rewind(&transfer->source)) {
        fail_text(transfer, AF_EREPLAY,
                  "the server asks for credentials and for the request body once more, "
                  "but it can be read only once");
        return AF__MET_FAILED;
    }
    if (choice->scheme == AF_AUTH_DIGEST && af__access_init(&access, &choice->terms) != AF_OK) {
        fail_memory(transfer);
        return AF__MET_FAILED;
    }
    if (!tell_answered(transfer, side, identity, choice)) {
        af__access_clear(&access);
        return AF__MET_FAILED;
    }
    af__auth_free_field(side);
    af__access_clear(&side->access);
    side->access = access;
    side->now = identity;
    side->scheme = choice->scheme;
    side->rounds++;
    drop_own_field(&transfer->outgoing, af__auth_field_name(transfer->auth, side));
    transfer->hop.phase = AF__PHASE_CHALLENGED;
    return AF__MET_REPEAT;
}

/** Takes `identity`. */
static af__met use_answer(af__transfer *transfer, side *side, af__identity *identity) {
    af__challenge_choice choice;
    forget_round(side);
    af__identity_free(side->answered);
    side->answered = identity;
    choose(transfer, side, identity, &choice);
    return choice.scheme != 0 ? use(transfer, side, identity, &choice) : AF__MET_ANSWER;
}

/** What was decided. Takes `identity`. */
static af__met heed(af__transfer *transfer, side *side, af_challenge_answer answer,
                    af__identity *identity) {
    if (answer == AF_CHALLENGE_USE) return use_answer(transfer, side, identity);
    af__identity_free(identity);
    if (answer == AF_CHALLENGE_DEFAULT) {
        af__challenge_choice choice;
        const af__identity *proposed = candidate(side);
        if (proposed == NULL) return AF__MET_ANSWER;
        choose(transfer, side, proposed, &choice);
        bool is_refused = choice.scheme == 0 || (choice.scheme & side->refused) != 0;
        return is_refused ? AF__MET_ANSWER : use(transfer, side, proposed, &choice);
    }
    if (answer == AF_CHALLENGE_CANCEL) {
        fail_text(transfer, AF_ECANCELED, af_status_text(AF_ECANCELED));
    } else {
        fail_text(transfer, AF_EAUTH, "the caller refused to answer the challenge");
    }
    return AF__MET_FAILED;
}

/* ---- Asking -------------------------------------------------------------------------------- */

/** Also where nobody knows the answer: what it says is then DEFAULT. */
static af__met ask(af__transfer *transfer, side *side, const af__identity *proposed,
                   const af__challenge_choice *choice) {
    af_credentials credentials = AF_CREDENTIALS_INIT;
    if (proposed != NULL) credentials = proposed->credentials;
    af_challenge_answer answer = AF_CHALLENGE_FAIL;
    af__identity *identity = NULL;
    told told;
    if (describe(transfer, side, proposed, choice, &told)) {
        count_event(transfer);
        atomic_store(&transfer->awaited, told.challenge.number);
        answer = transfer->events.on_challenge(transfer->events.context, &told.challenge,
                                               &credentials);
        af_failure failure = {0};
        if (answer == AF_CHALLENGE_USE &&
            af__identity_new(&identity, &credentials, NULL, &failure) != AF_OK) {
            fail(transfer, &failure);
        }
    }
    clear_told(&told);
    bool has_failed = transfer->result->failure.status != AF_OK;
    if (!has_failed && answer == AF_CHALLENGE_LATER) {
        transfer->hop.phase = AF__PHASE_AWAITING_ANSWER;
        return AF__MET_ASKED;
    }
    atomic_store(&transfer->awaited, 0);
    return has_failed ? AF__MET_FAILED : heed(transfer, side, answer, identity);
}

static af__met meet(af__transfer *transfer) {
    side *side = challenger(transfer);
    if (side == NULL || side->rounds == MOST_ROUNDS) return AF__MET_ANSWER;
    if (side == &transfer->auth->proxy && !take_from_url(transfer)) return AF__MET_FAILED;
    af__challenge_choice choice;
    const af__identity *proposed = propose(transfer, side, &choice);
    if (choice.offered == 0) return AF__MET_ANSWER;
    transfer->auth->number++;
    if (transfer->events.on_challenge != NULL) return ask(transfer, side, proposed, &choice);
    return proposed != NULL ? use(transfer, side, proposed, &choice) : AF__MET_ANSWER;
}

/** Also one without credentials and nobody to ask has those of its proxy's URL. */
static bool may_answer(const af__transfer *transfer) {
    return transfer->auth != NULL ||
           (af__auth_has_http_proxy(transfer) && transfer->hop.proxy->user != NULL);
}

af__met af__transfer_meet_challenge(af__transfer *transfer) {
    int status = transfer->hop.reader->head.status;
    if (status != UNAUTHORIZED && status != PROXY_AUTHENTICATION_REQUIRED) return AF__MET_ANSWER;
    if (!may_answer(transfer)) return AF__MET_ANSWER;
    if (!make_auth(transfer)) return fail_memory(transfer), AF__MET_FAILED;
    transfer->auth->is_of_tunnel = false;
    return meet(transfer);
}

bool af__transfer_take_tunnel_line(af__transfer *transfer, af_slice line) {
    af_failure failure = {0};
    af__head_step step;
    if (!af__auth_has_http_proxy(transfer) || !may_answer(transfer)) return true;
    if (!make_auth(transfer)) return fail_memory(transfer);
    af__head_reader *tunnel = &transfer->auth->tunnel;
    if (tunnel->state == AF__HEAD_DONE) af__head_reader_reopen(tunnel);
    return af__head_reader_feed(tunnel, line, &step, &failure) == AF_OK || fail(transfer, &failure);
}

void af__transfer_meet_tunnel(af__transfer *transfer) {
    auth *auth = transfer->auth;
    if (auth == NULL || auth->tunnel.state != AF__HEAD_DONE || transfer->hop.reader->bytes != 0)
        return;
    /* The head may be left over from an earlier hop, which went another way. */
    if (!af__auth_has_http_proxy(transfer)) return;
    auth->is_of_tunnel = true;
    (void)meet(transfer);
}

/* ---- While nobody has answered ------------------------------------------------------------- */

af__taken af__transfer_keep_body(af__transfer *transfer, af_slice bytes, int64_t received) {
    auth *auth = transfer->auth;
    if (!transfer->hop.shares_connection) return AF__HELD;
    af_status status = af__buffer_append(&auth->body, bytes.bytes, bytes.size);
    auth->received = received;
    if (status == AF_OK) return AF__TAKEN;
    fail_text(transfer, status, af_status_text(status));
    return AF__STOP;
}

void af__transfer_keep_outcome(af__transfer *transfer, const af__outcome *outcome) {
    transfer->auth->outcome = *outcome;
    transfer->auth->outcome.evidence = NULL;
    transfer->auth->has_outcome = true;
}

bool af__transfer_take_answer(af__transfer *transfer, uint32_t number, af_challenge_answer answer,
                              af__identity *identity) {
    auth *auth = transfer->auth;
    if (auth == NULL || transfer->hop.phase != AF__PHASE_AWAITING_ANSWER ||
        auth->number != number) {
        af__identity_free(identity);
        return false;
    }
    transfer->hop.phase = AF__PHASE_HEAD;
    af__buffer body = auth->body;
    af__buffer_init(&auth->body, transfer->sink.limit);
    af__met met = heed(transfer, challenger(transfer), answer, identity);
    bool is_answer = met == AF__MET_ANSWER && !auth->is_of_tunnel;
    if (met == AF__MET_REPEAT) transfer->hop.discarded = body.size;
    if (is_answer && af__transfer_accept_head(transfer) && body.size > 0) {
        af_slice bytes = {body.bytes, body.size};
        transfer->hop.decoded = 0; /* They were counted when they came. */
        (void)af__transfer_take_body(transfer, bytes, auth->received);
    }
    af__buffer_clear(&body);
    return true;
}

void af__transfer_end_asked(af__transfer *transfer) {
    if (transfer->auth == NULL) return;
    atomic_store(&transfer->awaited, 0);
    if (transfer->auth->has_outcome) (void)af__transfer_resume_hop(transfer);
}

af__next af__transfer_resume_hop(af__transfer *transfer) {
    auth *auth = transfer->auth;
    auth->has_outcome = false;
    return af__transfer_judge_hop(transfer, &auth->outcome);
}
