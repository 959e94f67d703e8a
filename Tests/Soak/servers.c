#include "servers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void give_up(const char *what) {
    fprintf(stderr, "soak: %s\n", what);
    abort();
}

static afts_server *start(const afts_options *options, afts_handler handler, bool is_h2) {
    afts_server *server = afts_server_new(options);
    afts_script *script = afts_script_new();
    if (!is_h2) afts_read_head_only(script);
    afts_handle(script, handler, NULL, NULL);
    if (is_h2) afts_close(script);
    afts_status status = is_h2 ? afts_on_connection(server, AFTS_EVERY_CONNECTION, script)
                               : afts_fallback(server, script);
    if (status != AFTS_OK || afts_server_start(server) != AFTS_OK)
        give_up("a server doesn't start");
    return server;
}

void servers_start(servers *servers) {
    servers->authority = afts_cert_new(&(afts_cert_options){.authority = true}, NULL);
    servers->leaf = afts_cert_new(NULL, servers->authority);
    if (servers->leaf == NULL) give_up("no certificate");
    afts_tls tls = {.chain_pem = afts_cert_chain_pem(servers->leaf),
                    .key_pem = afts_cert_key_pem(servers->leaf)};
    /* The record would only grow with the run. */
    afts_options options = {.record_limit = 1, .received_limit = 1};
    servers->each[PROTOCOL_PLAIN] = start(&options, serve_h1, false);
    options.tls = &tls;
    servers->each[PROTOCOL_TLS] = start(&options, serve_h1, false);
    tls.alpn = "h2";
    servers->each[PROTOCOL_H2] = start(&options, serve_h2, true);
}

void servers_stop(servers *servers) {
    for (int i = 0; i < PROTOCOL_COUNT; i++) afts_server_free(servers->each[i]);
    afts_cert_free(servers->leaf);
    afts_cert_free(servers->authority);
}

afc_trust_policy *servers_policy(const servers *servers) {
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    afc_trust_policy *policy;
    options.anchors = afc_slice_of(afts_cert_pem(servers->authority));
    if (afc_trust_policy_new(&policy, &options, NULL) != AFC_OK) give_up("no trust policy");
    return policy;
}

void servers_url(const servers *servers, protocol protocol, const soak_plan *plan, char *out,
                 size_t size) {
    char path[PLAN_TEXT_SIZE + 8] = "/soak/";
    plan_write(plan, path + 6);
    afts_server_url(servers->each[protocol], path, out, size);
}
