/** Which script goes with a request or a connection. */
#ifndef AFTS_SERVER_ROUTES_H
#define AFTS_SERVER_ROUTES_H

#include "server/records.h"

typedef struct afts__route {
    struct afts__route *next;
    char *method;
    char *path;
    size_t path_size;
    bool is_prefix;
    size_t times; /**< SIZE_MAX: without limit. */
    afts_script *script;
} afts__route;

typedef struct afts__hook {
    struct afts__hook *next;
    size_t index;
    bool before_tls;
    afts_script *script;
} afts__hook;

/** Each returns a reference, or NULL. The first one notes in the record whether a route matched. */
afts_script *afts__script_for_request(afts_server *server, afts__request_record *record);
afts_script *afts__script_for_connection(afts_server *server, size_t index, bool before_tls);
void afts__routes_clear(afts_server *server);

#endif
