/** The servers of the soak, one for each protocol. What a request is answered by is in its plan. */
#ifndef AFC_SOAK_SERVERS_H
#define AFC_SOAK_SERVERS_H

#include "plan.h"

#include <afcore/trust.h>
#include <caftestserver.h>

typedef struct servers {
    afts_server *each[PROTOCOL_COUNT];
    afts_cert *authority, *leaf;
} servers;

/** Each is started; the program ends if that fails. */
void servers_start(servers *servers);
void servers_stop(servers *servers);

/** A policy that trusts the servers' authority alone. */
afc_trust_policy *servers_policy(const servers *servers);

/** Writes the URL that leads to the plan's behaviour. */
void servers_url(const servers *servers, protocol protocol, const soak_plan *plan, char *out,
                 size_t size);

/** The handlers: one request over HTTP/1.1, one connection over HTTP/2. */
void serve_h1(afts_conn *conn, const struct afts_request *request, void *payload);
void serve_h2(afts_conn *conn, const struct afts_request *request, void *payload);

/** Ends the program with a message: the soak itself is broken or out of memory. */
_Noreturn void give_up(const char *what);

#endif
