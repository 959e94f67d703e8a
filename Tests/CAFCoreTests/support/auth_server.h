/**
 * A server that requires credentials: it sends challenges, checks the credentials and counts
 * requests.
 */
#ifndef AFC_TESTS_AUTH_SERVER_H
#define AFC_TESTS_AUTH_SERVER_H

#include "support/call.h"

#include <stdatomic.h>

/** Responds 200 "in" to valid credentials, otherwise 401. */
typedef struct auth_server {
    const char *challenges[4]; /**< Each a value of WWW-Authenticate; NULL ends them. */
    const char *user, *password, *token;
    bool is_proxy;       /**< Uses 407 and Proxy-Authenticate instead. */
    bool closes;         /**< Closes the connection after valid credentials. */
    unsigned nonce_uses; /**< Digest answers that a nonce is good for; 0: any number. */
    atomic_uint nonce;   /**< Digest: which one is in use; written into a "%u" of the challenge. */
    atomic_uint answers; /**< That nonce has had. */
    atomic_uint challenges_sent, challenges_accepted;
} auth_server;

/** The user "me" with the password "secret", for any scheme. */
extern const afc_credentials valid_credentials;

/** Responds to every request of `path` by the server. */
void auth_server_path(fixture *fixture, const char *path, auth_server *auth_server);

/** Perform and free: it ends with this status of an authenticating server, told once, after so many requests. */
void check_answer_at(call *call, int status, size_t requests, const char *file, int line);
#define check_answer(call, status, requests)                                                       \
    check_answer_at(call, status, requests, __FILE__, __LINE__)

/** Whether libcurl has NTLM, which its later versions have only where they are built with it. */
bool has_ntlm(void);

/** Whether libcurl was built with GSS-API. */
bool has_negotiate(void);

/** A challenge of NTLM, with which a server answers the first message of a client. */
#define NTLM_CHALLENGE "NTLM TlRMTVNTUAACAAAAAAAAADAAAAABggAAAQIDBAUGBwgAAAAAAAAAAAAAAAAwAAAA"

#endif
