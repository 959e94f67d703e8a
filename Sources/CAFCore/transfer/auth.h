/**
 * Authentication on the way of a transfer: which challenge is answered with which credentials, what each
 * hop then sends, and how often.
 */
#ifndef AF_TRANSFER_AUTH_H
#define AF_TRANSFER_AUTH_H

#include "transfer/transfer.h"

/** What somebody's 401 or 407 leads to. */
typedef enum af__met {
    AF__MET_ANSWER, /**< It is the answer. */
    AF__MET_REPEAT, /**< The same again, with credentials. */
    AF__MET_ASKED,  /**< Somebody will say later. */
    AF__MET_FAILED  /**< The task has failed. */
} af__met;

/** Nothing is made for a request that neither has credentials nor wants to be asked. */
af_status af__transfer_init_auth(af__transfer *transfer, const af_request *request,
                                 const af_task_events *events, af_failure *failure);
void af__transfer_clear_auth(af__transfer *transfer);

/**
 * Which schemes whoever carries the transfer can do on a connection (AF_AUTH_NTLM, AF_AUTH_NEGOTIATE).
 * AF_EUNSUPPORTED: the request wants only others.
 */
af_status af__transfer_allow_schemes(af__transfer *transfer, unsigned schemes, af_failure *failure);

/** Before a hop: what the server is sent with it. A failure is the transfer's. */
bool af__transfer_prepare_auth(af__transfer *transfer);

/** The same for the proxy, once it is chosen. Before what is told of it below. */
bool af__transfer_prepare_proxy_auth(af__transfer *transfer);

/** The next hop goes to another origin. */
void af__transfer_leave_origin(af__transfer *transfer);

/** The value of Authorization for this hop; NULL: none of ours. */
const char *af__transfer_authorization(const af__transfer *transfer);

/** The value of Proxy-Authorization; NULL: none of ours. */
const char *af__transfer_proxy_authorization(const af__transfer *transfer);

/** Does a proxy know this transfer by more than its URL? Then nobody else may use the connection. */
bool af__transfer_identifies_to_proxy(const af__transfer *transfer);

/** Who the connection is authenticated for, and how (AF_AUTH_NTLM, AF_AUTH_NEGOTIATE); NULL: nobody. */
const af_credentials *af__transfer_connection_auth(const af__transfer *transfer, unsigned *scheme);

/** The same for the proxy. */
const af_credentials *af__transfer_proxy_connection_auth(const af__transfer *transfer,
                                                         unsigned *scheme);

/** Is this final head perhaps one of several, of which the last counts? */
bool af__transfer_is_between_rounds(const af__transfer *transfer);

/** The final head of the hop is there. */
af__met af__transfer_meet_challenge(af__transfer *transfer);

/** A line of what a proxy says before there is a tunnel. false: end the exchange. */
bool af__transfer_take_tunnel_line(af__transfer *transfer, af_slice line);

/** The proxy made no tunnel, for want of credentials: as AF__MET_…, in the transfer's phase. */
void af__transfer_meet_tunnel(af__transfer *transfer);

/** ASKED: more of the body has come, which waits with us. AF__HELD: it waits on its connection. */
af__taken af__transfer_keep_body(af__transfer *transfer, af_slice bytes, int64_t received);

/** ASKED: the hop is over. Takes the outcome but its evidence. */
void af__transfer_keep_outcome(af__transfer *transfer, const af__outcome *outcome);

/** The task ends while somebody is asked: notes the hop. */
void af__transfer_end_asked(af__transfer *transfer);

/**
 * Somebody has said it. Takes `identity`, which may be NULL. False: nobody waits for the answer of that
 * number.
 */
bool af__transfer_take_answer(af__transfer *transfer, uint32_t number, af_challenge_answer answer,
                              af__identity *identity);

#endif
