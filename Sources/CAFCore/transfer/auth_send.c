/* What each hop says of who we are. */
#include "base/alloc.h"
#include "transfer/auth_internal.h"

#include <stdio.h>
#include <string.h>

typedef struct af__auth auth;
typedef struct af__auth_side side;

void af__auth_free_field(side *side) {
    if (side->field != NULL) af__free_secret(side->field, strlen(side->field));
    side->field = NULL;
}

/** The one scheme that needs no challenge to begin with; 0: there is none. */
static unsigned first_scheme(const af__transfer *transfer, const af_credentials *credentials) {
    unsigned fit = af__credentials_fit(credentials);
    if ((fit & AF_AUTH_BEARER) != 0) return AF_AUTH_BEARER;
    if ((fit & AF_AUTH_BASIC) != 0) return AF_AUTH_BASIC;
    bool is_only = fit == AF_AUTH_NTLM || fit == AF_AUTH_NEGOTIATE;
    return is_only ? fit & transfer->connection_schemes : 0;
}

const char *af__auth_field_name(const auth *auth, const side *side) {
    return side == &auth->proxy ? "Proxy-Authorization" : "Authorization";
}

static void begin_at_once(const af__transfer *transfer, side *side) {
    const auth *auth = transfer->auth;
    if (side->now != NULL || side->given == NULL || side->rounds != 0) return;
    const af_credentials *credentials = &side->given->credentials;
    af_slice name = af_slice_of(af__auth_field_name(auth, side));
    if (!credentials->is_preemptive || af__outgoing_sends(&transfer->outgoing, name)) return;
    side->scheme = first_scheme(transfer, credentials);
    if (side->scheme != 0) side->now = side->given;
}

const af_slice *af__auth_known_body(const af__transfer *transfer, const side *side) {
    bool is_connect = side == &transfer->auth->proxy && transfer->outgoing.url.is_https;
    return transfer->outgoing.sends_body && !is_connect ? af__source_in_memory(&transfer->source)
                                                        : NULL;
}

static bool write_digest(af__transfer *transfer, side *side, const char *method,
                         const char *target) {
    const af_credentials *credentials = &side->now->credentials;
    const af_slice *body = af__auth_known_body(transfer, side);
    af__access_request request = {
        .user = credentials->user,
        .password = credentials->password,
        .method = method,
        .target = target,
        .body = body != NULL ? *body : af_slice_of(""),
    };
    af_failure failure = {0};
    af__auth_free_field(side);
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
    if (!auth->has_left) begin_at_once(transfer, &auth->origin);
    return write_field(transfer, &auth->origin, outgoing->method, outgoing->url.path.bytes);
}

bool af__auth_has_http_proxy(const af__transfer *transfer) {
    return transfer->hop.proxy != NULL && af__proxy_speaks_http(transfer->hop.proxy);
}

bool af__transfer_prepare_proxy_auth(af__transfer *transfer) {
    auth *auth = transfer->auth;
    if (auth == NULL || !af__auth_has_http_proxy(transfer)) return true;
    if (auth->proxy_of != NULL && auth->proxy_of != transfer->hop.proxy) {
        af__auth_clear_side(&auth->proxy);
        auth->proxy.failures = 0;
    }
    auth->proxy_of = transfer->hop.proxy;
    begin_at_once(transfer, &auth->proxy);
    const af__url *url = &transfer->outgoing.url;
    if (!url->is_https) {
        return write_field(transfer, &auth->proxy, transfer->outgoing.method, url->text);
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
    bool is_sent = transfer->auth != NULL && af__auth_has_http_proxy(transfer);
    return is_sent ? transfer->auth->proxy.field : NULL;
}

bool af__transfer_identifies_to_proxy(const af__transfer *transfer) {
    const auth *auth = transfer->auth;
    return auth != NULL && (auth->proxy.given != NULL || auth->proxy.now != NULL);
}

static const af_credentials *on_connection(const side *side, unsigned *scheme) {
    *scheme = side->now != NULL ? side->scheme & AF__AUTH_ON_CONNECTION : 0;
    return *scheme != 0 ? &side->now->credentials : NULL;
}

const af_credentials *af__transfer_connection_auth(const af__transfer *transfer, unsigned *scheme) {
    *scheme = 0;
    return transfer->auth != NULL ? on_connection(&transfer->auth->origin, scheme) : NULL;
}

const af_credentials *af__transfer_proxy_connection_auth(const af__transfer *transfer,
                                                         unsigned *scheme) {
    *scheme = 0;
    bool is_asked = transfer->auth != NULL && af__auth_has_http_proxy(transfer);
    return is_asked ? on_connection(&transfer->auth->proxy, scheme) : NULL;
}

bool af__transfer_is_between_rounds(const af__transfer *transfer) {
    unsigned scheme;
    switch (transfer->hop.reader->head.status) {
    case UNAUTHORIZED:
        return af__transfer_connection_auth(transfer, &scheme) != NULL;
    case PROXY_AUTHENTICATION_REQUIRED:
        return af__transfer_proxy_connection_auth(transfer, &scheme) != NULL;
    default:
        return false;
    }
}
