/**
 * Is this certificate chain accepted, and why not? The only place that decides.
 */
#ifndef AF_TRUST_EVALUATE_H
#define AF_TRUST_EVALUATE_H

#include "trust/anchors.h"

#include <afcore/trust.h>
#include <openssl/x509_vfy.h>

typedef struct af__verdict {
    bool is_accepted;
    af_trust_reason reason; /**< Why not; also set if an invalid chain is let through. */
    int depth;              /**< Of the certificate at fault; 0 is the server's own. */
    char text[128];         /**< One line for people. */
} af__verdict;

/**
 * Judge the chain that the handshake put into `context`. Leaves X509_V_OK in it when accepted, so
 * that nobody downstream judges otherwise.
 */
void af__trust_evaluate(const af__trust *trust, const char *host, X509_STORE_CTX *context,
                        af__verdict *verdict);

#endif
