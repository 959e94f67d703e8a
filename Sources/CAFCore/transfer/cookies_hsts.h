/**
 * What a session remembers of its servers, applied to a transfer: cookies, hosts that want https. Loop
 * thread.
 */
#ifndef AFC_TRANSFER_COOKIES_HSTS_H
#define AFC_TRANSFER_COOKIES_HSTS_H

#include "transfer/transfer.h"

/** Copies what the request sets for it. AFC_EINVAL, AFC_ENOMEM. */
afc_status afc__transfer_init_cookies(afc__transfer *transfer, const afc_request *request,
                                      afc_failure *failure);
void afc__transfer_clear_cookies(afc__transfer *transfer);

/** Returns how the session converts hosts; NULL: it doesn't. */
afc__to_ascii *afc__transfer_to_ascii(const afc__transfer *transfer);

/** Returns whether this http URL must be an https one. `transfer` is an afc__transfer. */
bool afc__transfer_wants_https(const void *transfer, const afc__url *url);

/** Stores the Strict-Transport-Security of a hop that has ended. NULL: its server has shown nothing over TLS. */
void afc__transfer_store_hsts(afc__transfer *transfer, const afc__verification *verification);

/** Upgrades the URL of the next hop and chooses its cookies. false: the transfer has failed. */
bool afc__transfer_apply_cookies_and_hsts(afc__transfer *transfer);

/** Makes the next hop's URL an https one if its host wants that. false: the transfer has failed. */
bool afc__transfer_upgrade(afc__transfer *transfer);

/** Stores the cookies of a final head, of a redirect as well. false: the transfer has failed. */
bool afc__transfer_save_cookies(afc__transfer *transfer);

#endif
