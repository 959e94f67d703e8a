#include "tls/tls.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "base/sized.h"
#include "base/text.h"
#include "base/turn_budget.h"
#include "tls/certificate_request.h"
#include "tls/client_certificate.h"
#include "tls/sessions.h"
#include "tls/write_guard.h"
#include "trust/evaluate.h"
#include "trust/ocsp.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

/*
 * Number of reads that a connection may always make in a turn, two for each TLS record. A handshake is followed by
 * fewer, which must not be left unread: a connection with unread input isn't reused.
 */
enum { FREE_READS = 64 };

struct afc__tls {
    afc_trust_policy *policy;
    int min_version, max_version;
    char *ciphers, *cipher_suites; /* NULL for the defaults. */
    bool write_key_log;
    afc__tls_identity *identities;
    size_t identity_count;
    afc_certificate_handler handler; /* Called before `identities` are used. */
    afc__tls_sessions sessions;
    uint64_t turn; /* Turns begun by afc__tls_begin_turn(). Loop thread only. */
};

struct afc__tls_peer {
    unsigned references; /* Loop thread only. */
    afc__tls *tls;
    afc__verification *verification; /* The result of verifying the chain; NULL before that. */
    /* Verification of the session that the handshake may resume; NULL if there is none. */
    afc__verification *offered;
    bool lacked_memory;    /* Memory was out, so nothing could be verified. */
    bool got_close_notify; /* The server sent close_notify. */
    bool is_closing;       /* libcurl has sent close_notify. */
    /* Before is_closing, the server ended the connection, or reading or writing failed. */
    bool has_ended;
    bool spoke_last; /* Before is_closing, libcurl wrote something after it last read something. */
    unsigned writes; /* Writes since the last read. */
    bool is_watched; /* Reads and writes are counted; true once the handshake is complete. */
    uint64_t moves;  /* Number of reads and writes that moved bytes. */
    afc__turn_budget budget; /* Limits its reads in a turn. */
    afc_status choice;       /* AFC_OK, unless the handler has stopped the handshake. */
    char choice_text[80];    /* The reason, unless `choice` is AFC_OK. */
    int last_alert; /* The alert with which the server ended the connection; 0 if there is none. */
    const SSL *ssl; /* Set when the handshake is complete; lives as long as the connection. */
    afc__tls_facts facts; /* What was negotiated when the chain was verified. */
    char host[];
};

/* ---- Sessions' policies and connections' peers --------------------------------------------- */

static int context_index = -1;

static void forget_peer(void *parent, void *data, CRYPTO_EX_DATA *all, int index, long number,
                        void *pointer) {
    (void)parent, (void)all, (void)index, (void)number, (void)pointer;
    afc__tls_peer_release(data);
}

/** Makes what all sessions share, once. Returns false if out of memory. */
static bool prepare(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (context_index < 0) {
        context_index = SSL_CTX_get_ex_new_index(0, NULL, NULL, NULL, forget_peer);
    }
    bool is_prepared = context_index >= 0 && afc__tls_guard_init();
    pthread_mutex_unlock(&lock);
    return is_prepared;
}

void afc__tls_init_library(void) {
    afc__openssl_begin();
}

/** Sets the options that are the same for every connection. Returns false if OpenSSL refuses one. */
static bool configure(const afc__tls *tls, SSL_CTX *context) {
    if (tls->policy->security_level != 0) {
        SSL_CTX_set_security_level(context, tls->policy->security_level);
    }
    return SSL_CTX_set_min_proto_version(context, tls->min_version) == 1 &&
           SSL_CTX_set_max_proto_version(context, tls->max_version) == 1 &&
           (tls->ciphers == NULL || SSL_CTX_set_cipher_list(context, tls->ciphers) == 1) &&
           (tls->cipher_suites == NULL ||
            SSL_CTX_set_ciphersuites(context, tls->cipher_suites) == 1);
}

static afc_status read_versions(afc__tls *tls, const afc_tls_options *options,
                                afc_failure *failure) {
    int lowest = options->min_version != 0 ? (int)options->min_version : TLS1_2_VERSION;
    int highest = (int)options->max_version;
    bool is_good = (lowest == TLS1_2_VERSION || lowest == TLS1_3_VERSION) &&
                   (highest == 0 || (highest >= lowest && highest <= TLS1_3_VERSION));
    if (!is_good)
        return afc__fail(
            failure, AFC_EINVAL,
            "invalid TLS versions: expected TLS 1.2 and 1.3, min_version up to max_version");
    tls->min_version = lowest;
    tls->max_version = highest;
    return AFC_OK;
}

static afc_status read_identities(afc__tls *tls, const afc_tls_options *options,
                                  afc_failure *failure) {
    size_t count = options->client_certificate_count;
    afc_status status = AFC__CHECK_RESERVED(options, "afc_tls_options", failure);
    if (status != AFC_OK || count == 0) return status;
    if (options->client_certificates == NULL) {
        return afc__fail(failure, AFC_EINVAL,
                         "client_certificate_count is set but client_certificates is NULL");
    }
    if (count < SIZE_MAX / sizeof *tls->identities) {
        tls->identities = afc__zalloc(count * sizeof *tls->identities);
    }
    if (tls->identities == NULL) return afc__fail_memory(failure);
    for (size_t i = 0; i < count && status == AFC_OK; i++) {
        status = afc__tls_identity_read(&tls->identities[i], &options->client_certificates[i],
                                        failure);
        if (status == AFC_OK) tls->identity_count++;
    }
    return status;
}

/** Tests the options, so that errors are reported now rather than on the first connection. */
static afc_status try_out(const afc__tls *tls, afc_failure *failure) {
    SSL_CTX *context = SSL_CTX_new(TLS_client_method());
    if (context == NULL) return afc__fail_memory(failure);
    afc_status status = AFC_OK;
    if (!configure(tls, context)) {
        status = afc__fail(failure, AFC_EINVAL, "invalid ciphers: OpenSSL supports none of them");
        afc__give_reason(failure, AFC_REASON_CIPHERS, status);
    }
    SSL *ssl = SSL_new(context);
    if (ssl == NULL && status == AFC_OK) status = afc__fail_memory(failure);
    for (size_t i = 0; i < tls->identity_count && status == AFC_OK; i++) {
        if (afc__tls_identity_show(&tls->identities[i], ssl)) continue;
        status = afc__fail(failure, AFC_EINVAL, "OpenSSL refused the client certificate: %s",
                           ERR_reason_error_string(ERR_peek_last_error()));
    }
    SSL_free(ssl);
    SSL_CTX_free(context);
    ERR_clear_error();
    return status;
}

static afc_status read_options(afc__tls *tls, const afc_tls_options *options,
                               afc_failure *failure) {
    afc_status status = read_versions(tls, options, failure);
    if (status != AFC_OK) return status;
    tls->write_key_log = options->write_key_log;
    tls->handler = options->certificate_handler;
    if (options->ciphers != NULL) tls->ciphers = afc__copy_text(afc_slice_of(options->ciphers));
    if (options->cipher_suites != NULL) {
        tls->cipher_suites = afc__copy_text(afc_slice_of(options->cipher_suites));
    }
    bool is_complete = (options->ciphers == NULL || tls->ciphers != NULL) &&
                       (options->cipher_suites == NULL || tls->cipher_suites != NULL);
    if (!is_complete) return afc__fail_memory(failure);
    status = read_identities(tls, options, failure);
    bool is_default = tls->ciphers == NULL && tls->cipher_suites == NULL &&
                      tls->identity_count == 0;
    return status == AFC_OK && !is_default ? try_out(tls, failure) : status;
}

afc_status afc__tls_new(afc__tls **out, afc_trust_policy *policy, const afc_tls_options *options,
                        afc_failure *failure) {
    *out = NULL;
    afc__tls *tls = prepare() ? afc__zalloc(sizeof *tls) : NULL;
    if (tls == NULL) return afc__fail_memory(failure);
    afc_status status = AFC_OK;
    if (policy != NULL)
        tls->policy = afc_trust_policy_retain(policy);
    else
        status = afc_trust_policy_new(&tls->policy, NULL, failure);
    if (status == AFC_OK) status = read_options(tls, options, failure);
    if (status != AFC_OK) {
        afc__tls_free(tls);
        return status;
    }
    *out = tls;
    return AFC_OK;
}

void afc__tls_begin_turn(afc__tls *tls) {
    tls->turn++;
}

bool afc__tls_demands_pin(const afc__tls *tls, afc_slice host) {
    return afc__policy_demands_pin(tls->policy, host);
}

const char *afc__tls_trust_fingerprint(const afc__tls *tls) {
    return tls->policy->fingerprint;
}

void afc__tls_free(afc__tls *tls) {
    if (tls == NULL) return;
    for (size_t i = 0; i < tls->identity_count; i++) afc__tls_identity_clear(&tls->identities[i]);
    afc_free(tls->identities);
    afc_free(tls->ciphers);
    afc_free(tls->cipher_suites);
    afc_trust_policy_release(tls->policy);
    afc__tls_sessions_clear(&tls->sessions);
    afc_free(tls);
}

/* ---- The verdict --------------------------------------------------------------------------- */

/**
 * Returns the host name for comparison with certificates. For an internationalised name only
 * libcurl knows the A-labels, which it has just sent to the server (SNI).
 */
static const char *host_of(const afc__tls_peer *peer, const SSL *ssl) {
    bool is_ascii = afc__is_ascii(afc_slice_of(peer->host));
    const char *sent = is_ascii ? NULL : SSL_get_servername(ssl, TLSEXT_NAMETYPE_host_name);
    return sent != NULL ? sent : peer->host;
}

/**
 * Verifies the chain of a full handshake. Resumed sessions were verified in theirs, by the same
 * policy: they never leave the afc_session. See offer_session().
 */
static int verify(X509_STORE_CTX *context, void *argument) {
    afc__tls_peer *peer = argument;
    const afc_trust_policy *policy = peer->tls->policy;
    SSL *ssl = X509_STORE_CTX_get_ex_data(context, SSL_get_ex_data_X509_STORE_CTX_idx());
    afc__trust_case shown = {host_of(peer, ssl), X509_STORE_CTX_get0_cert(context),
                             X509_STORE_CTX_get0_untrusted(context)};
    afc__verification_release(peer->verification);
    /* libcurl frees the SSL of a handshake that fails before it reports the failure. */
    afc__tls_describe(ssl, &peer->facts);
    afc__verification *verification = peer->verification = afc__trust_evaluate(policy, &shown);
    if (verification == NULL || !afc__trust_run_callback(policy, verification)) {
        peer->lacked_memory = true;
        X509_STORE_CTX_set_error(context, X509_V_ERR_OUT_OF_MEM);
        return 0;
    }
    /* OpenSSL and libcurl use the error in the context. */
    X509_STORE_CTX_set_error(context, verification->verdict.error);
    if (!verification->verdict.is_accepted) return 0;
    if (afc__tls_sessions_add(&peer->tls->sessions, ssl, verification)) return 1;
    peer->lacked_memory = true;
    X509_STORE_CTX_set_error(context, X509_V_ERR_OUT_OF_MEM);
    return 0;
}

/**
 * Decides which session the handshake may resume: one that a full handshake of this policy has
 * accepted, with its OCSP response. Any other is withdrawn, so that a full handshake follows and
 * verify() runs. The verification is retained until the server has chosen, as other handshakes may
 * evict it meanwhile.
 */
static void offer_session(afc__tls_peer *peer, SSL *ssl) {
    afc__verification *known = afc__tls_sessions_find(&peer->tls->sessions, ssl);
    bool is_good = known != NULL && known->verdict.is_accepted;
    afc__verification_release(peer->offered);
    peer->offered = is_good ? afc__verification_retain(known) : NULL;
    if (!is_good && SSL_get0_session(ssl) != NULL) SSL_set_session(ssl, NULL);
}

/** Called when the server has chosen a session. A resumed session gets the verification of its full handshake. */
static void accept_session(afc__tls_peer *peer, const SSL *ssl) {
    bool is_resumed = SSL_session_reused(ssl) == 1 && peer->verification == NULL;
    if (is_resumed)
        peer->verification = peer->offered;
    else
        afc__verification_release(peer->offered);
    peer->offered = NULL;
}

static void judge_staple(afc__tls_peer *peer, SSL *ssl) {
    const afc_trust_policy *policy = peer->tls->policy;
    const char *bytes = NULL;
    long size = SSL_get_tlsext_status_ocsp_resp(ssl, &bytes);
    afc_slice response = {bytes, bytes != NULL && size > 0 ? (size_t)size : 0};
    afc__trust_check_ocsp(policy, peer->verification, response);
    if (peer->verification->verdict.is_accepted) return;
    peer->lacked_memory = !afc__trust_run_callback(policy, peer->verification);
}

/**
 * Checks the stapled OCSP response, or its absence; the last check of the server's certificates.
 * TLS 1.2 doesn't call it when a session is resumed, TLS 1.3 does: OpenSSL calls it after each
 * Finished of the server (tls_process_initial_server_flight()). There is no response then, as it
 * is part of the Certificate message (RFC 8446 4.4.2.1), which a resumed handshake lacks.
 */
static int check_staple(SSL *ssl, void *argument) {
    afc__tls_peer *peer = argument;
    accept_session(peer, ssl);
    if (peer->verification == NULL) return 0;
    /* The verification of a resumed session is shared, and its response was checked in the full handshake. */
    if (SSL_session_reused(ssl) == 0) judge_staple(peer, ssl);
    return peer->verification->verdict.is_accepted ? 1 : 0;
}

static void take_choice(afc__tls_peer *peer, afc_status choice) {
    bool is_status = afc__is_status(choice);
    peer->choice = is_status ? choice : AFC_EINVAL;
    if (is_status) {
        snprintf(peer->choice_text, sizeof peer->choice_text,
                 "the callback chose no client certificate");
    } else {
        snprintf(peer->choice_text, sizeof peer->choice_text,
                 "certificate_handler.choose returned %d: expected AFC_OK or an error",
                 (int)choice);
    }
}

/** Handles the server's request for a client certificate. */
static int show_identity(SSL *ssl, void *argument) {
    afc__tls_peer *peer = argument;
    const afc__tls *tls = peer->tls;
    if (tls->handler.choose != NULL) {
        afc_certificate_request request = {ssl, host_of(peer, ssl), false};
        take_choice(peer, tls->handler.choose(tls->handler.context, &request));
        if (peer->choice != AFC_OK || request.is_decided) return peer->choice == AFC_OK;
    }
    afc__trust_host host;
    if (!afc__trust_host_read(&host, host_of(peer, ssl))) return 1;
    const afc__tls_identity *identity = afc__tls_identity_for(tls->identities, tls->identity_count,
                                                              &host);
    return identity == NULL || afc__tls_identity_show(identity, ssl) ? 1 : 0;
}

/** Returns whether servers send this alert about a client certificate, or a missing one. */
static bool is_about_certificate(int alert) {
    return (alert >= SSL_AD_NO_CERTIFICATE && alert <= SSL_AD_CERTIFICATE_UNKNOWN) ||
           alert == SSL_AD_HANDSHAKE_FAILURE || alert == SSL_AD_UNKNOWN_CA ||
           alert == SSL_AD_ACCESS_DENIED || alert == SSL_AD_DECRYPT_ERROR ||
           alert == SSL_AD_CERTIFICATE_REQUIRED;
}

/**
 * Returns whether the alert has ended the handshake and explains that, as any fatal alert does. For protocol_version,
 * OpenSSL's own text says more.
 */
static bool ends_handshake(const afc__tls_peer *peer, int level, int alert) {
    return peer->ssl == NULL && level == SSL3_AL_FATAL && alert != SSL_AD_PROTOCOL_VERSION;
}

static afc_reason reason_of_alert(int alert) {
    switch (alert) {
    case SSL_AD_CERTIFICATE_REQUIRED:
        return AFC_REASON_CERTIFICATE_REQUIRED;
    /* TLS 1.2 servers send this for a missing certificate, but also if there is no cipher in common. */
    case SSL_AD_HANDSHAKE_FAILURE:
        return AFC_REASON_HANDSHAKE_REFUSED;
    case SSL_AD_BAD_CERTIFICATE:
    case SSL_AD_UNSUPPORTED_CERTIFICATE:
    case SSL_AD_CERTIFICATE_REVOKED:
    case SSL_AD_CERTIFICATE_EXPIRED:
    case SSL_AD_CERTIFICATE_UNKNOWN:
    case SSL_AD_UNKNOWN_CA:
    case SSL_AD_ACCESS_DENIED:
        return AFC_REASON_CERTIFICATE_REFUSED;
    default:
        return AFC_REASON_NONE;
    }
}

/**
 * Records that libcurl found that the connection had ended. When libcurl 8.10.0 or later closes a connection, it sends
 * close_notify and waits for the server's end, which isn't the reason for closing.
 */
static void note_end(afc__tls_peer *peer) {
    if (!peer->is_closing) peer->has_ended = true;
}

/** Reports to OpenSSL that there is no input yet. */
static long defer_read(BIO *bio) {
    BIO_clear_retry_flags(bio);
    BIO_set_retry_read(bio);
    return -1;
}

/** Limits reads, and records an end or an error of the transport; see BIO_set_callback_ex(3). */
static long watch_transport(BIO *bio, int operation, const char *bytes, size_t size, int argument,
                            long number, int result, size_t *processed) {
    (void)bytes, (void)size, (void)argument, (void)number, (void)processed;
    bool is_over = operation == (BIO_CB_READ | BIO_CB_RETURN) ||
                   operation == (BIO_CB_WRITE | BIO_CB_RETURN);
    afc__tls_peer *peer = (afc__tls_peer *)(void *)BIO_get_callback_arg(bio);
    if (operation == BIO_CB_READ &&
        afc__turn_budget_is_spent(&peer->budget, peer->tls->turn, FREE_READS))
        return defer_read(bio);
    if (!is_over) return result;
    if (result > 0) peer->moves++;
    if (result > 0)
        peer->writes = operation == (BIO_CB_READ | BIO_CB_RETURN) ? 0 : peer->writes + 1;
    if (result <= 0 && !BIO_should_retry(bio)) note_end(peer);
    return result;
}

/**
 * Begins to watch the reads and writes of a connection. The peer outlives the BIO: the SSL, whose BIO this is, has a
 * reference to the SSL_CTX, which has one to the peer.
 */
static void begin_watching_transport(afc__tls_peer *peer, const SSL *ssl) {
    BIO *bio = SSL_get_rbio(ssl);
    if (bio == NULL) return;
    BIO_set_callback_arg(bio, (char *)peer);
    BIO_set_callback_ex(bio, watch_transport);
    peer->is_watched = true;
}

/**
 * The info callback of OpenSSL: follows the handshake and records alerts. libcurl's BIO doesn't report the end of file,
 * so OpenSSL can't distinguish a cut connection from a closed one.
 */
static void watch(const SSL *ssl, int where, int value) {
    bool is_done = where == SSL_CB_HANDSHAKE_DONE;
    if (is_done && !afc__tls_is_multiplexed(ssl)) afc__tls_guard((SSL *)(uintptr_t)ssl);
    afc__tls_peer *peer = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index);
    if (peer == NULL) return;
    if (where == SSL_CB_HANDSHAKE_START) offer_session(peer, (SSL *)(uintptr_t)ssl);
    if (where == SSL_CB_HANDSHAKE_DONE) {
        accept_session(peer, ssl);
        peer->ssl = ssl;
        begin_watching_transport(peer, ssl);
    }
    int alert = value & 0xFF;
    if (where == SSL_CB_WRITE_ALERT && alert == SSL_AD_CLOSE_NOTIFY) {
        peer->is_closing = true;
        /* The alert itself was the last of these writes. */
        peer->spoke_last = peer->writes > 1;
    }
    if (where != SSL_CB_READ_ALERT) return;
    if (alert == SSL_AD_CLOSE_NOTIFY) {
        peer->got_close_notify = true;
        note_end(peer);
    }
    if (is_about_certificate(alert) || ends_handshake(peer, value >> 8, alert))
        peer->last_alert = value;
}

afc__tls_peer *afc__tls_prepare(afc__tls *tls, void *ssl_context, const char *host) {
    SSL_CTX *context = ssl_context;
    size_t size = strlen(host) + 1;
    afc__tls_peer *peer = afc__zalloc(sizeof *peer + size);
    if (peer == NULL) return NULL;
    memcpy(peer->host, host, size);
    peer->tls = tls;
    peer->references = 1;
    if (SSL_CTX_set_ex_data(context, context_index, peer) != 1) {
        afc__tls_peer_release(peer);
        return NULL;
    }
    peer->references++;
    /* verify() replaces OpenSSL's own verification. With SSL_VERIFY_NONE its refusal would be ignored. */
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_cert_verify_callback(context, verify, peer);
    /* A body that ends with the connection is complete only if the peer sent close_notify. */
    SSL_CTX_clear_options(context, SSL_OP_IGNORE_UNEXPECTED_EOF);
    SSL_CTX_set_info_callback(context, watch);
    if (tls->policy->ocsp != AFC_OCSP_IGNORE) {
        SSL_CTX_set_tlsext_status_type(context, TLSEXT_STATUSTYPE_ocsp);
        SSL_CTX_set_tlsext_status_cb(context, check_staple);
        SSL_CTX_set_tlsext_status_arg(context, peer);
    }
    if (tls->identity_count > 0 || tls->handler.choose != NULL) {
        SSL_CTX_set_cert_cb(context, show_identity, peer);
    }
    /* libcurl writes key logs to SSLKEYLOGFILE by default. */
    if (!tls->write_key_log) SSL_CTX_set_keylog_callback(context, NULL);
    if (configure(tls, context)) return peer;
    afc__tls_peer_release(peer);
    return NULL;
}

afc__tls_peer *afc__tls_peer_of(void *ssl) {
    afc__tls_peer *peer = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(ssl), context_index);
    return afc__tls_peer_retain(peer);
}

bool afc__tls_is_multiplexed(const void *ssl) {
    const unsigned char *protocol;
    unsigned size;
    SSL_get0_alpn_selected(ssl, &protocol, &size);
    return size == 2 && memcmp(protocol, "h2", 2) == 0;
}

void afc__tls_describe(const void *ssl, afc__tls_facts *out) {
    const unsigned char *protocol;
    unsigned size;
    *out = (afc__tls_facts){.version = SSL_get_version(ssl), .cipher = SSL_get_cipher_name(ssl)};
    SSL_get0_alpn_selected(ssl, &protocol, &size);
    if (size >= sizeof out->alpn) size = sizeof out->alpn - 1;
    if (size > 0) memcpy(out->alpn, protocol, size);
}

bool afc__tls_has_input(const void *ssl) {
    return SSL_has_pending(ssl) == 1;
}

bool afc__tls_peer_has_input(const afc__tls_peer *peer) {
    return peer != NULL && peer->ssl != NULL && afc__tls_has_input(peer->ssl);
}

const afc__tls_facts *afc__tls_peer_get_facts(const afc__tls_peer *peer) {
    return peer != NULL && peer->facts.version != NULL ? &peer->facts : NULL;
}

const void *afc__tls_peer_get_ssl(const afc__tls_peer *peer) {
    return peer != NULL ? peer->ssl : NULL;
}

bool afc__tls_offer_http_1_1(void *ssl_context) {
    /* ALPN's list of names, each after its length (RFC 7301 3.1). */
    static const unsigned char protocols[] = "\x08http/1.1";
    return SSL_CTX_set_alpn_protos(ssl_context, protocols, sizeof protocols - 1) == 0;
}

bool afc__tls_peer_got_close_notify(const afc__tls_peer *peer) {
    return peer != NULL && peer->got_close_notify;
}

bool afc__tls_peer_has_ended(const afc__tls_peer *peer) {
    return peer->has_ended;
}

bool afc__tls_peer_spoke_last(const afc__tls_peer *peer) {
    return peer->is_closing ? peer->spoke_last : peer->writes > 0;
}

bool afc__tls_peer_get_moves(const afc__tls_peer *peer, uint64_t *moves) {
    bool is_known = peer != NULL && peer->is_watched;
    *moves = is_known ? peer->moves : 0;
    return is_known;
}

const char *afc__tls_peer_get_alert(const afc__tls_peer *peer, afc_reason *reason) {
    if (peer == NULL || peer->last_alert == 0) return NULL;
    *reason = reason_of_alert(peer->last_alert & 0xFF);
    /* OpenSSL 3.0 has no text for this alert. */
    if ((peer->last_alert & 0xFF) == SSL_AD_CERTIFICATE_REQUIRED) return "certificate required";
    return SSL_alert_desc_string_long(peer->last_alert);
}

afc__verification *afc__tls_peer_copy_verification(const afc__tls_peer *peer) {
    return peer != NULL ? afc__verification_retain(peer->verification) : NULL;
}

afc__tls_peer *afc__tls_peer_retain(afc__tls_peer *peer) {
    if (peer != NULL) peer->references++;
    return peer;
}

void afc__tls_peer_release(afc__tls_peer *peer) {
    if (peer == NULL || --peer->references != 0) return;
    afc__verification_release(peer->verification);
    afc__verification_release(peer->offered);
    afc_free(peer);
}

afc_status afc__tls_peer_get_verdict(const afc__tls_peer *peer, afc_trust_reason *reason,
                                     const char **text) {
    *reason = AFC_TRUST_OTHER;
    if (peer == NULL) return AFC_OK;
    if (peer->lacked_memory) {
        *text = "out of memory for the certificate chain";
        return AFC_ENOMEM;
    }
    if (peer->choice != AFC_OK) {
        *text = peer->choice_text;
        return peer->choice;
    }
    if (peer->verification == NULL || peer->verification->verdict.is_accepted) return AFC_OK;
    *reason = peer->verification->verdict.reason;
    *text = peer->verification->verdict.text;
    if (peer->verification->verdict.fault != AFC_OK) return peer->verification->verdict.fault;
    return AFC_EUNTRUSTED;
}
