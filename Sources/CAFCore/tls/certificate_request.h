/** A server's request for a client certificate, as the program's callback sees it. */
#ifndef AFC_TLS_CERTIFICATE_REQUEST_H
#define AFC_TLS_CERTIFICATE_REQUEST_H

#include <afcore/tls.h>
#include <openssl/ssl.h>

struct afc_certificate_request {
    SSL *ssl;
    const char *host;
    bool is_decided; /**< The program has decided: the certificates in the options aren't used. */
};

#endif
