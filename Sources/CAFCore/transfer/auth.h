/**
 * Authentication: which challenge is answered with which credentials, what each hop then sends, and how often.
 */
#ifndef AF_TRANSFER_AUTH_H
#define AF_TRANSFER_AUTH_H

#include "transfer/transfer.h"

/** What to do about a head, which may be a 401 or 407. */
typedef enum af__auth_action {
    AF__AUTH_ACCEPT, /**< It is the response. */
    AF__AUTH_REPEAT, /**< Send the same again, with credentials: the phase is CHALLENGED. */
    AF__AUTH_AWAIT,  /**< The caller answers later: the phase is AWAITING_ANSWER. */
    AF__AUTH_FAIL    /**< The task has failed. */
} af__auth_action;

/** Creates nothing for a request that has neither credentials nor on_challenge. */
af_status af__transfer_init_auth(af__transfer *transfer, const af_request *request,
                                 const af_task_events *events, af_failure *failure);
void af__transfer_clear_auth(af__transfer *transfer);

/**
 * Set the schemes that libcurl can do on a connection (AF_AUTH_NTLM, AF_AUTH_NEGOTIATE).
 * AF_EUNSUPPORTED: the request wants only others.
 */
af_status af__transfer_allow_schemes(af__transfer *transfer, unsigned schemes, af_failure *failure);

/** Before a hop: what the server is sent with it. A failure is the transfer's. */
bool af__transfer_prepare_auth(af__transfer *transfer);

/** The same for the proxy, once it is chosen. Call it before the functions about the proxy below. */
bool af__transfer_prepare_proxy_auth(af__transfer *transfer);

/** The next hop goes to another origin. */
void af__transfer_leave_origin(af__transfer *transfer);

/** The value of Authorization for this hop; NULL: none of ours. */
const char *af__transfer_authorization(const af__transfer *transfer);

/** The value of Proxy-Authorization; NULL: none of ours. */
const char *af__transfer_proxy_authorization(const af__transfer *transfer);

/** Does it send credentials of its own to the proxy? Then no other transfer may use the connection. */
bool af__transfer_identifies_to_proxy(const af__transfer *transfer);

/** Credentials for the connection to the origin or the proxy, and their scheme (AF_AUTH_NTLM, AF_AUTH_NEGOTIATE); NULL: none. */
const af_credentials *af__transfer_connection_auth(const af__transfer *transfer, bool is_proxy,
                                                   unsigned *scheme);

/** Is this final head perhaps one of several, of which the last counts? */
bool af__transfer_head_is_pending(const af__transfer *transfer);

/** The final head of the hop is there. */
af__auth_action af__transfer_handle_challenge(af__transfer *transfer);

/** A line of a proxy's response to CONNECT. false: end the exchange. */
bool af__transfer_on_connect_line(af__transfer *transfer, af_slice line);

/** The proxy made no tunnel, for want of credentials: as AF__MET_…, in the transfer's phase. */
void af__transfer_handle_connect_challenge(af__transfer *transfer);

/* A challenge that waits for its answer: AF__PHASE_AWAITING_ANSWER. */

/** Keep more of the body. AF__PAUSED: it waits on its connection. */
af__flow af__auth_keep_body(af__transfer *transfer, af_slice bytes, int64_t received);

/** The hop has ended. Takes the outcome but its verification. */
void af__auth_keep_outcome(af__transfer *transfer, const af__outcome *outcome);

/** That outcome, once; NULL: there is none. Valid until the next is kept. */
const af__outcome *af__auth_take_outcome(af__transfer *transfer);

/** Does the challenge of this number wait for its answer? */
bool af__auth_awaits(const af__transfer *transfer, uint32_t number);

/**
 * The challenge that waits has been answered. Takes `identity`, which may be NULL; `*body` is yours, the part
 * that was kept of it, and `*received` what it took on the wire.
 */
af__auth_action af__auth_on_answer(af__transfer *transfer, af_challenge_answer answer,
                                   af__identity *identity, af__buffer *body, int64_t *received);

#endif
