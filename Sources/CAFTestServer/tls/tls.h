/** TLS: a server's context and a connection's handshake. */
#ifndef AFTS_TLS_TLS_H
#define AFTS_TLS_TLS_H

#include "connection/connection.h"

/** AFTS_EINVAL: OpenSSL refuses the options; afts_server.error says why. */
afts_status afts__tls_init(afts_server *server, const afts_tls *tls);
void afts__tls_clear(afts_server *server);
/** AFTS_OK too if the server has no TLS. AFTS_ELOST: the handshake failed; AFTS_ENOMEM. */
afts_status afts__tls_handshake(afts_conn *conn);

/**
 * I/O on a connection's socket without SIGPIPE; NULL when OpenSSL refuses. One for the process, because OpenSSL
 * allows only 127 types.
 */
const BIO_METHOD *afts__tls_bio_method(void);

#endif
