#include "net/transfer_auth.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "message/challenge.h"
#include "net/digest_access.h"
#include "net/transfer_internal.h"

#include <string.h>

enum {
    UNAUTHORIZED = 401,
    PROXY_AUTHENTICATION_REQUIRED = 407,
    /* Answers to one side in one task, whatever it and the caller say. */
    MOST_ROUNDS = 10,
    ON_CONNECTION = AF_AUTH_NTLM | AF_AUTH_NEGOTIATE
};

/** What is known to and of the server, or the proxy. */
typedef struct af__auth_side {
    af__identity *given;     /**< By the request. */
    af__identity *answered;  /**< The last that on_challenge gave. */
    const af__identity *now; /**< Either, once it was sent or is about to be. */
    unsigned scheme;         /**< AF_AUTH_…, of `now`. */
    unsigned refused;        /**< AF_AUTH_…, with which `now` was of no avail. */
    unsigned failures, rounds;
    af__access access; /**< With AF_AUTH_DIGEST. */
    char *field;       /**< What this hop sends. A secret. */
} af__auth_side;

struct af__auth {
    af__auth_side origin;
    bool has_left;          /**< What the request gives is for an origin that lies behind us. */
    unsigned on_connection; /**< AF_AUTH_…: what can be done of ON_CONNECTION. */
    uint32_t number;        /**< Of the last challenge that was asked about. */
    /* ASKED. */
    af__buffer body; /**< That came on a connection which others share. */
    int64_t received;
    bool has_outcome;
    af__outcome outcome;
};

typedef struct af__auth auth;
typedef struct af__auth_side side;

/* ---- Making -------------------------------------------------------------------------------- */

static bool fail_memory(af__transfer *transfer) {
    return fail_text(transfer, AF_ENOMEM, "out of memory");
}

static void free_field(side *side) {
    if (side->field != NULL) af__free_secret(side->field, strlen(side->field));
    side->field = NULL;
}

/** Nothing is sent any more, until there is another challenge. */
static void forget_round(side *side) {
    free_field(side);
    af__access_clear(&side->access);
    side->now = NULL;
    side->scheme = side->refused = 0;
}

static void clear_side(side *side) {
    forget_round(side);
    af__identity_free(side->given);
    af__identity_free(side->answered);
    side->given = side->answered = NULL;
}

af_status af__transfer_init_auth(af__transfer *transfer, const af_request *request,
                                 const af_task_events *events, af_failure *failure) {
    bool is_asked = events != NULL && events->on_challenge != NULL;
    if (request->credentials == NULL && !is_asked) return AF_OK;
    auth *auth = transfer->auth = af__zalloc(sizeof *auth);
    if (auth == NULL) return af__fail(failure, AF_ENOMEM, "out of memory");
    af__buffer_init(&auth->body, transfer->sink.limit);
    if (request->credentials == NULL) return AF_OK;
    return af__identity_new(&auth->origin.given, request->credentials,
                            transfer->outgoing.url.userinfo, failure);
}

void af__transfer_clear_auth(af__transfer *transfer) {
    auth *auth = transfer->auth;
    if (auth == NULL) return;
    clear_side(&auth->origin);
    af__buffer_clear(&auth->body);
    af_free(auth);
    transfer->auth = NULL;
}

af_status af__transfer_allow_schemes(af__transfer *transfer, unsigned schemes,
                                     af_failure *failure) {
    auth *auth = transfer->auth;
    if (auth == NULL) return AF_OK;
    bool has_http_1 = transfer->version != AF_WISH_HTTP_2_PRIOR_KNOWLEDGE &&
                      transfer->version != AF_WISH_HTTP_3;
    auth->on_connection = has_http_1 ? schemes & ON_CONNECTION : 0;
    const af__identity *given = auth->origin.given;
    if (given == NULL || given->credentials.schemes == 0) return AF_OK;
    unsigned possible = ~(unsigned)ON_CONNECTION | auth->on_connection;
    if ((given->credentials.schemes & possible) != 0) return AF_OK;
    return af__fail(failure, AF_EUNSUPPORTED,
                    "no scheme of authentication that is allowed can be used here");
}

/* ---- Sending ------------------------------------------------------------------------------- */

/** The one scheme that needs no challenge to begin with; 0: there is none. */
static unsigned first_scheme(const auth *auth, const af_credentials *credentials) {
    unsigned fit = af__credentials_fit(credentials);
    if ((fit & AF_AUTH_BEARER) != 0) return AF_AUTH_BEARER;
    if ((fit & AF_AUTH_BASIC) != 0) return AF_AUTH_BASIC;
    bool is_only = fit == AF_AUTH_NTLM || fit == AF_AUTH_NEGOTIATE;
    return is_only ? fit & auth->on_connection : 0;
}

static void begin_at_once(const af__transfer *transfer, auth *auth) {
    side *origin = &auth->origin;
    if (origin->now != NULL || origin->given == NULL || auth->has_left) return;
    const af_credentials *credentials = &origin->given->credentials;
    bool has_own = af__outgoing_sends(&transfer->outgoing, af_slice_of("Authorization"));
    if (!credentials->is_preemptive || has_own || origin->rounds != 0) return;
    origin->scheme = first_scheme(auth, credentials);
    if (origin->scheme != 0) origin->now = origin->given;
}

static bool write_digest(af__transfer *transfer, side *side, const char *method,
                         const char *target) {
    const af_credentials *credentials = &side->now->credentials;
    const af_slice *body = transfer->sends_body ? af__source_in_memory(&transfer->source) : NULL;
    af__access_request request = {
        .user = credentials->user,
        .password = credentials->password,
        .method = method,
        .target = target,
        .body = body != NULL ? *body : af_slice_of(""),
    };
    af_failure failure = {0};
    free_field(side);
    return af__access_answer(&side->access, &request, &side->field, &failure) == AF_OK ||
           fail(transfer, &failure);
}

/** Digest says something else of each request, and counts them. */
static bool write_field(af__transfer *transfer, side *side, const char *method,
                        const char *target) {
    if (side->now == NULL) return true;
    const af_credentials *credentials = &side->now->credentials;
    switch (side->scheme) {
    case AF_AUTH_DIGEST:
        return write_digest(transfer, side, method, target);
    case AF_AUTH_BASIC:
        if (side->field != NULL) return true;
        side->field = af__basic_field(credentials->user, credentials->password);
        break;
    case AF_AUTH_BEARER:
        if (side->field != NULL) return true;
        side->field = af__bearer_field(credentials->token);
        break;
    default:
        return true;
    }
    return side->field != NULL || fail_memory(transfer);
}

bool af__transfer_prepare_auth(af__transfer *transfer) {
    auth *auth = transfer->auth;
    if (auth == NULL) return true;
    const af__outgoing *outgoing = &transfer->outgoing;
    begin_at_once(transfer, auth);
    return write_field(transfer, &auth->origin, outgoing->method, outgoing->url.path.bytes);
}

void af__transfer_leave_origin(af__transfer *transfer) {
    auth *auth = transfer->auth;
    if (auth == NULL) return;
    clear_side(&auth->origin);
    auth->origin.failures = 0;
    auth->has_left = true;
}

const char *af__transfer_authorization(const af__transfer *transfer) {
    return transfer->auth != NULL ? transfer->auth->origin.field : NULL;
}

const af_credentials *af__transfer_connection_auth(const af__transfer *transfer, unsigned *scheme) {
    const auth *auth = transfer->auth;
    *scheme = auth != NULL && auth->origin.now != NULL ? auth->origin.scheme & ON_CONNECTION : 0;
    return *scheme != 0 ? &auth->origin.now->credentials : NULL;
}

bool af__transfer_is_between_rounds(const af__transfer *transfer) {
    unsigned scheme;
    return transfer->reader.head.status == UNAUTHORIZED &&
           af__transfer_connection_auth(transfer, &scheme) != NULL;
}

/* ---- Deciding ------------------------------------------------------------------------------ */

/** Who asks with this head; NULL: nobody whom we would answer. */
static side *challenger(const af__transfer *transfer) {
    int status = transfer->reader.head.status;
    return status == UNAUTHORIZED ? &transfer->auth->origin : NULL;
}

static void choose(const af__transfer *transfer, const side *side, const af__identity *identity,
                   af__challenge_choice *out) {
    const auth *auth = transfer->auth;
    unsigned possible = ~(unsigned)ON_CONNECTION | auth->on_connection;
    /* It was the process's own identity that was refused, not this user's. */
    possible &= ~(side->refused & AF_AUTH_NEGOTIATE);
    af__challenge_question question = {
        .head = &transfer->reader.head,
        .knows_body = !transfer->sends_body || af__source_in_memory(&transfer->source) != NULL,
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

/** Whom to propose, with `choice` made for it; NULL: nobody. Notes what was refused. */
static const af__identity *propose(const af__transfer *transfer, side *side,
                                   af__challenge_choice *choice) {
    const af__identity *identity = side->now;
    if (identity == NULL && !transfer->auth->has_left) identity = side->given;
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

/** A field of the request's own has had its chance. */
static void drop_own_field(af__outgoing *outgoing) {
    size_t count = 0;
    for (size_t i = 0; i < outgoing->header_count; i++) {
        const af_header header = outgoing->headers[i];
        if (af__same_name(header.name, "Authorization")) {
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
    if (transfer->sends_body && !af__source_can_rewind(&transfer->source)) {
        fail_text(transfer, AF_EREPLAY,
                  "the server asks for credentials and for the request body once more, "
                  "but it can be read only once");
        return AF__MET_FAILED;
    }
    if (choice->scheme == AF_AUTH_DIGEST && af__access_init(&access, &choice->terms) != AF_OK) {
        fail_memory(transfer);
        return AF__MET_FAILED;
    }
    free_field(side);
    af__access_clear(&side->access);
    side->access = access;
    side->now = identity;
    side->scheme = choice->scheme;
    side->rounds++;
    drop_own_field(&transfer->outgoing);
    transfer->phase = AF__PHASE_CHALLENGED;
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
        const af__identity *proposed = side->now;
        if (proposed == NULL && !transfer->auth->has_left) proposed = side->given;
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

/** Also where nobody knows the answer: what it says is then DEFAULT. */
static af__met ask(af__transfer *transfer, side *side, const af__identity *proposed,
                   const af__challenge_choice *choice) {
    auth *auth = transfer->auth;
    const af__url *url = &transfer->outgoing.url;
    af_credentials credentials = AF_CREDENTIALS_INIT;
    if (proposed != NULL) credentials = proposed->credentials;
    char *realm = copy_realm(choice), *host = af__copy_text(url->host);
    af_challenge_answer answer = AF_CHALLENGE_FAIL;
    af__identity *identity = NULL;
    if (realm == NULL || host == NULL) {
        fail_memory(transfer);
    } else {
        af_challenge challenge = {
            .number = ++auth->number,
            .scheme = choice->scheme,
            .offered = choice->offered,
            .failures = side->failures,
            .is_https = url->is_https,
            .port = url->port,
            .host = host,
            .realm = realm,
            .proposed = proposed != NULL ? &proposed->credentials : NULL,
            .head = &transfer->reader.head,
        };
        count_event(transfer);
        atomic_store(&transfer->awaited, challenge.number);
        answer = transfer->events.on_challenge(transfer->events.context, &challenge, &credentials);
        af_failure failure = {0};
        if (answer == AF_CHALLENGE_USE &&
            af__identity_new(&identity, &credentials, NULL, &failure) != AF_OK) {
            fail(transfer, &failure);
        }
    }
    af_free(realm);
    af_free(host);
    bool has_failed = transfer->result->failure.status != AF_OK;
    if (!has_failed && answer == AF_CHALLENGE_LATER) {
        transfer->phase = AF__PHASE_ASKED;
        return AF__MET_ASKED;
    }
    atomic_store(&transfer->awaited, 0);
    return has_failed ? AF__MET_FAILED : heed(transfer, side, answer, identity);
}

af__met af__transfer_meet_challenge(af__transfer *transfer) {
    side *side = transfer->auth != NULL ? challenger(transfer) : NULL;
    if (side == NULL || side->rounds == MOST_ROUNDS) return AF__MET_ANSWER;
    af__challenge_choice choice;
    const af__identity *proposed = propose(transfer, side, &choice);
    if (choice.offered == 0) return AF__MET_ANSWER;
    if (transfer->events.on_challenge != NULL) return ask(transfer, side, proposed, &choice);
    return proposed != NULL ? use(transfer, side, proposed, &choice) : AF__MET_ANSWER;
}

/* ---- While nobody has answered ------------------------------------------------------------- */

af__taken af__transfer_keep_body(af__transfer *transfer, af_slice bytes, int64_t received) {
    auth *auth = transfer->auth;
    if (!transfer->shares_connection) return AF__HELD;
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
    if (auth == NULL || transfer->phase != AF__PHASE_ASKED || auth->number != number) {
        af__identity_free(identity);
        return false;
    }
    transfer->phase = AF__PHASE_HEAD;
    af__buffer body = auth->body;
    af__buffer_init(&auth->body, transfer->sink.limit);
    af__met met = heed(transfer, challenger(transfer), answer, identity);
    if (met == AF__MET_REPEAT) transfer->drained = body.size;
    if (met == AF__MET_ANSWER && af__transfer_accept_head(transfer) && body.size > 0) {
        af_slice bytes = {body.bytes, body.size};
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
