/** Makes the head of a request's first hop. Any thread. */
#ifndef AFC_TRANSFER_FIRST_HOP_H
#define AFC_TRANSFER_FIRST_HOP_H

#include "transfer/transfer.h"

/**
 * Makes the head of the first hop from a request, which is checked and copied. Fails with AFC_EINVAL, AFC_EUNSUPPORTED
 * or AFC_ENOMEM.
 */
afc_status afc__transfer_init_request(afc__transfer *transfer, const afc_request *request,
                                      afc_failure *failure);

#endif
