/** Makes the request of the next hop from a redirect. Loop thread only. */
#ifndef AFC_TRANSFER_REDIRECT_HOP_H
#define AFC_TRANSFER_REDIRECT_HOP_H

#include "message/redirect.h"
#include "transfer/transfer.h"

/**
 * Calls on_redirect, and makes the next request (afc__hop.next) if `plan->follow` is still set then. Returns false if
 * the task has failed.
 */
bool afc__transfer_follow(afc__transfer *transfer, afc__redirect_plan *plan);

/**
 * Fails the transfer because its next hop can't be prepared. After a redirect, AFC_EINVAL and AFC_EUNSUPPORTED become
 * AFC_EREDIRECT, because the caller would take them for errors of the request, of which nothing was sent.
 */
void afc__transfer_fail_unsent(afc__transfer *transfer, const afc_failure *failure);

#endif
