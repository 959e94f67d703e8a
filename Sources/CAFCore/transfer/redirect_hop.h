/** From a redirect to the head of the next hop. */
#ifndef AFC_TRANSFER_REDIRECT_HOP_H
#define AFC_TRANSFER_REDIRECT_HOP_H

#include "message/redirect.h"
#include "transfer/transfer.h"

/**
 * Calls on_redirect, and makes the next request if the plan's `follow` is still set then. false: the task has
 * failed.
 */
bool afc__transfer_follow(afc__transfer *transfer, afc__redirect_plan *plan);

/**
 * Fails the transfer because its next hop can't be prepared. What is AFC_EINVAL or AFC_EUNSUPPORTED for the first
 * request is AFC_EREDIRECT after a redirect, when another one was sent before.
 */
void afc__transfer_fail_unsent(afc__transfer *transfer, const afc_failure *failure);

#endif
