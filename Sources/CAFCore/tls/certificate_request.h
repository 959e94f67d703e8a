/**
 * A server's question who we are, as the program's callback sees it.
 */
#ifndef AF_TLS_CERTIFICATE_REQUEST_H
#define AF_TLS_CERTIFICATE_REQUEST_H

#include <afcore/tls.h>
#include <openssl/ssl.h>

struct af_certificate_request {
    SSL *ssl;
    const char *host;
    bool is_answered; /**< Nothing of the options is to be shown. */
};

#endif
