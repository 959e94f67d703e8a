/**
 * What a session remembers of its servers, applied to a transfer: cookies, hosts that want https. Loop
 * thread.
 */
#ifndef AF_TRANSFER_COOKIES_HSTS_H
#define AF_TRANSFER_COOKIES_HSTS_H

#include "transfer/transfer.h"

/** Copy what the request sets for it. AF_EINVAL, AF_ENOMEM. */
af_status af__transfer_init_store(af__transfer *transfer, const af_request *request,
                                  af_failure *failure);
void af__transfer_clear_store(af__transfer *transfer);

/** How the session converts hosts; NULL: it doesn't. */
af__to_ascii *af__transfer_to_ascii(const af__transfer *transfer);

/** Must this http URL be an https one? `transfer` is an af__transfer. */
bool af__transfer_wants_https(const void *transfer, const af__url *url);

/** A hop has ended; what its server has shown of itself over TLS may be NULL. */
void af__transfer_store_hsts(af__transfer *transfer, const af__verification *verification);

/** Before a hop is sent. A failure is the transfer's. */
bool af__transfer_apply_cookies_and_hsts(af__transfer *transfer);

/** Make the next hop's URL an https one if its host wants that. false: the transfer has failed. */
bool af__transfer_upgrade(af__transfer *transfer);

/** Store the cookies of a final head, of a redirect as well. A failure is the transfer's. */
bool af__transfer_save_cookies(af__transfer *transfer);

#endif
