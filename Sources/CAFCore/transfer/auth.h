/**
 * Authentication to the origin server and to proxies: which challenge is answered with which credentials, what each hop
 * then sends, and how often. Loop thread only, unless stated otherwise.
 */
#ifndef AFC_TRANSFER_AUTH_H
#define AFC_TRANSFER_AUTH_H

#include "transfer/transfer.h"

/** What to do about a head, which may be a 401 or 407. */
typedef enum afc__auth_action {
    AFC__AUTH_ACCEPT, /**< The head is that of the response. */
    /** The same request is sent again, with credentials: the phase is CHALLENGED. */
    AFC__AUTH_REPEAT,
    AFC__AUTH_AWAIT, /**< The caller answers later: the phase is AWAITING_ANSWER. */
    AFC__AUTH_FAIL   /**< The task has failed. */
} afc__auth_action;

/**
 * Initialises `transfer->auth`, which stays NULL for a request that has neither credentials nor on_challenge. Fails
 * with AFC_EINVAL or AFC_ENOMEM. Any thread.
 */
afc_status afc__transfer_init_auth(afc__transfer *transfer, const afc_request *request,
                                   const afc_task_events *events, afc_failure *failure);
void afc__transfer_clear_auth(afc__transfer *transfer);

/**
 * Sets the schemes for connections that libcurl implements (AFC_AUTH_NTLM, AFC_AUTH_NEGOTIATE). Fails with
 * AFC_EUNSUPPORTED if the credentials allow only others.
 */
afc_status afc__transfer_allow_schemes(afc__transfer *transfer, unsigned schemes,
                                       afc_failure *failure);

/** Prepares the credentials that the next hop sends to the server. Returns false if the transfer has failed. */
bool afc__transfer_prepare_auth(afc__transfer *transfer);

/** Does the same for the proxy, once it is chosen. Call it before the functions about the proxy below. */
bool afc__transfer_prepare_proxy_auth(afc__transfer *transfer);

/** Returns the credentials for the origin, of the request or from on_challenge, or NULL. */
const afc_credentials *afc__transfer_credentials(const afc__transfer *transfer);

/** Drops the credentials for the origin, as the next hop goes to another one. */
void afc__transfer_leave_origin(afc__transfer *transfer);

/** Returns the value of Authorization for this hop, or NULL; the request's own fields don't count. */
const char *afc__transfer_authorization(const afc__transfer *transfer);

/** Returns the value of Proxy-Authorization for this hop, or NULL; the request's own fields don't count. */
const char *afc__transfer_proxy_authorization(const afc__transfer *transfer);

/**
 * Returns whether the transfer itself has credentials for the proxy: libcurl sends those of a proxy's URL, until they
 * are challenged. Then no other transfer may use the connection.
 */
bool afc__transfer_has_proxy_credentials(const afc__transfer *transfer);

/** The receiver of credentials. */
typedef enum afc__auth_receiver { AFC__AUTH_TO_ORIGIN, AFC__AUTH_TO_PROXY } afc__auth_receiver;

/**
 * Returns the credentials that libcurl authenticates the connection to the receiver with, or NULL, and sets `*scheme`
 * (AFC_AUTH_NTLM or AFC_AUTH_NEGOTIATE).
 */
const afc_credentials *afc__transfer_connection_auth(const afc__transfer *transfer,
                                                     afc__auth_receiver receiver, unsigned *scheme);

/** Returns whether there are such credentials for the connection to the origin. */
bool afc__transfer_authenticates_connection(const afc__transfer *transfer);

/**
 * Returns whether this final head may be followed by that of another round of NTLM or Negotiate; the last one counts.
 */
bool afc__transfer_head_is_pending(const afc__transfer *transfer);

/** Handles the final head of the hop, which may be a challenge. */
afc__auth_action afc__transfer_handle_challenge(afc__transfer *transfer);

/** Handles a line of a proxy's response to CONNECT. Returns false if the exchange must end. */
bool afc__transfer_on_connect_line(afc__transfer *transfer, afc_slice line);

/**
 * Handles a 407 in response to CONNECT, because of which there is no tunnel. What follows is told by the hop's phase.
 */
void afc__transfer_handle_connect_challenge(afc__transfer *transfer);

/* A challenge that waits for its answer: AFC__PHASE_AWAITING_ANSWER. */

/** Keeps more of the body, or returns AFC__PAUSED if the body waits on its connection. */
afc__flow afc__auth_keep_body(afc__transfer *transfer, afc_slice bytes, int64_t received);

/** Keeps the outcome of the hop, which has ended meanwhile. Takes what the outcome owns, except its verification. */
void afc__auth_keep_outcome(afc__transfer *transfer, const afc__outcome *outcome);

/** Returns the kept outcome, once, or NULL. Valid until another one is kept. */
const afc__outcome *afc__auth_take_outcome(afc__transfer *transfer);

/** Returns whether the challenge of this number waits for its answer. */
bool afc__auth_awaits(const afc__transfer *transfer, uint32_t number);

/**
 * Applies the answer to the challenge that waits. Takes `identity`, which may be NULL. Moves the kept part of the body
 * to `*body`, which the caller frees, and sets `*received` to its bytes on the wire.
 */
afc__auth_action afc__auth_on_answer(afc__transfer *transfer, afc_challenge_decision answer,
                                     afc__identity *identity, afc__buffer *body, int64_t *received);

#endif
