/**
 * Applies a session's cookie jar and HSTS store to its transfers. Loop thread only, except
 * afc__transfer_init_cookies().
 */
#ifndef AFC_TRANSFER_COOKIES_HSTS_H
#define AFC_TRANSFER_COOKIES_HSTS_H

#include "transfer/transfer.h"

/** Copies the request's options about cookies. Fails with AFC_EINVAL or AFC_ENOMEM. Any thread. */
afc_status afc__transfer_init_cookies(afc__transfer *transfer, const afc_request *request,
                                      afc_failure *failure);
void afc__transfer_clear_cookies(afc__transfer *transfer);

/** Returns the session's function that converts hosts to A-labels, or NULL. */
afc__to_ascii *afc__transfer_to_ascii(const afc__transfer *transfer);

/** Returns whether this http URL must be upgraded to https. `transfer` is an afc__transfer. */
bool afc__transfer_wants_https(const void *transfer, const afc__url *url);

/**
 * Stores the Strict-Transport-Security field of a hop that has ended, if the chain was verified without a fault.
 * `verification` is NULL if the server has shown no certificate.
 */
void afc__transfer_store_hsts(afc__transfer *transfer, const afc__verification *verification);

/** Upgrades the URL of the next hop if necessary, and sets its cookies. Returns false if the transfer has failed. */
bool afc__transfer_apply_cookies_and_hsts(afc__transfer *transfer);

/** Upgrades the next hop's URL to https if the HSTS store has its host. Returns false if the transfer has failed. */
bool afc__transfer_upgrade(afc__transfer *transfer);

/** Stores the cookies (Set-Cookie) of a final head, even of a redirect. Returns false if the transfer has failed. */
bool afc__transfer_save_cookies(afc__transfer *transfer);

#endif
