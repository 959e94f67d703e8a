/**
 * Authentication: which challenge is answered with which credentials, what each hop then sends, and how often.
 */
#ifndef AFC_TRANSFER_AUTH_H
#define AFC_TRANSFER_AUTH_H

#include "transfer/transfer.h"

/** What to do about a head, which may be a 401 or 407. */
typedef enum afc__auth_action {
    AFC__AUTH_ACCEPT, /**< It is the response. */
    AFC__AUTH_REPEAT, /**< Send the same again, with credentials: the phase is CHALLENGED. */
    AFC__AUTH_AWAIT,  /**< The caller answers later: the phase is AWAITING_ANSWER. */
    AFC__AUTH_FAIL    /**< The task has failed. */
} afc__auth_action;

/** Prepares authentication. Creates nothing for a request that has neither credentials nor on_challenge. */
afc_status afc__transfer_init_auth(afc__transfer *transfer, const afc_request *request,
                                   const afc_task_events *events, afc_failure *failure);
void afc__transfer_clear_auth(afc__transfer *transfer);

/**
 * Sets the schemes that libcurl can do on a connection (AFC_AUTH_NTLM, AFC_AUTH_NEGOTIATE).
 * AFC_EUNSUPPORTED: the request wants only others.
 */
afc_status afc__transfer_allow_schemes(afc__transfer *transfer, unsigned schemes,
                                       afc_failure *failure);

/** Prepares the credentials that the server is sent with the next hop. false: the transfer has failed. */
bool afc__transfer_prepare_auth(afc__transfer *transfer);

/** Does the same for the proxy, once it is chosen. Call it before the functions about the proxy below. */
bool afc__transfer_prepare_proxy_auth(afc__transfer *transfer);

/** Returns the credentials for the origin that the request has, or that a callback gave; NULL: none. */
const afc_credentials *afc__transfer_credentials(const afc__transfer *transfer);

/** Drops the credentials for the origin, as the next hop goes to another one. */
void afc__transfer_leave_origin(afc__transfer *transfer);

/** Returns the value of Authorization for this hop; NULL: none of ours. */
const char *afc__transfer_authorization(const afc__transfer *transfer);

/** Returns the value of Proxy-Authorization; NULL: none of ours. */
const char *afc__transfer_proxy_authorization(const afc__transfer *transfer);

/** Returns whether it sends credentials of its own to the proxy. Then no other transfer may use the connection. */
bool afc__transfer_identifies_to_proxy(const afc__transfer *transfer);

/** Whom credentials are for. */
typedef enum afc__auth_receiver { AFC__AUTH_TO_ORIGIN, AFC__AUTH_TO_PROXY } afc__auth_receiver;

/**
 * Returns the credentials for the connection to the origin or the proxy, and their scheme (AFC_AUTH_NTLM,
 * AFC_AUTH_NEGOTIATE); NULL: none.
 */
const afc_credentials *afc__transfer_connection_auth(const afc__transfer *transfer,
                                                     afc__auth_receiver receiver, unsigned *scheme);

/** Returns whether there are such credentials for the connection to the origin. */
bool afc__transfer_authenticates_connection(const afc__transfer *transfer);

/** Returns whether this final head may be one of several, of which the last counts. */
bool afc__transfer_head_is_pending(const afc__transfer *transfer);

/** Handles the final head of the hop, which may be a challenge. */
afc__auth_action afc__transfer_handle_challenge(afc__transfer *transfer);

/** Reads a line of a proxy's response to CONNECT. false: end the exchange. */
bool afc__transfer_on_connect_line(afc__transfer *transfer, afc_slice line);

/** Handles a 407 to CONNECT, which made no tunnel for want of credentials. What follows is the hop's phase. */
void afc__transfer_handle_connect_challenge(afc__transfer *transfer);

/* A challenge that waits for its answer: AFC__PHASE_AWAITING_ANSWER. */

/** Keeps more of the body. AFC__PAUSED: it waits on its connection. */
afc__flow afc__auth_keep_body(afc__transfer *transfer, afc_slice bytes, int64_t received);

/** Keeps the outcome of the hop, which has ended. Takes it but for its verification. */
void afc__auth_keep_outcome(afc__transfer *transfer, const afc__outcome *outcome);

/** Returns that outcome, once; NULL without one. Valid until the next is kept. */
const afc__outcome *afc__auth_take_outcome(afc__transfer *transfer);

/** Returns whether the challenge of this number waits for its answer. */
bool afc__auth_awaits(const afc__transfer *transfer, uint32_t number);

/**
 * Applies the answer to the challenge that waits. Takes `identity`, which may be NULL; `*body` is yours, the part
 * that was kept of it, and `*received` what it took on the wire.
 */
afc__auth_action afc__auth_on_answer(afc__transfer *transfer, afc_challenge_decision answer,
                                     afc__identity *identity, afc__buffer *body, int64_t *received);

#endif
