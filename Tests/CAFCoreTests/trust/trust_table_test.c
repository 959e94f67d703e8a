/*
 * The table of docs/trust.md, cell by cell: evaluated directly, and in handshakes with a server that
 * shows the chain. AF_PRINT_TRUST_TABLE=1 prints it as it is.
 */
#include "support/call.h"
#include "support/chains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/** What stands above a column: a mode, what is pinned, and the switches. */
typedef struct column {
    char pinned[32];
    afc_trust_rule rule;
} column;

static const char *next_word(const char **text, char *word, size_t size) {
    while (**text == ' ') ++*text;
    size_t length = strcspn(*text, " ");
    snprintf(word, size, "%.*s", (int)length, *text);
    *text += length;
    return word;
}

/** "key leaf I": the mode, whose certificate is pinned, I for invalid ones allowed, N for no name. */
static void read_column(column *out, const char *head) {
    char word[32];
    memset(out, 0, sizeof *out);
    next_word(&head, word, sizeof word);
    if (strcmp(word, "key") == 0) out->rule.mode = AFC_PINNING_PUBLIC_KEY;
    if (strcmp(word, "certificate") == 0) out->rule.mode = AFC_PINNING_CERTIFICATE;
    assert_true(out->rule.mode != AFC_PINNING_NONE || strcmp(word, "none") == 0);
    while (next_word(&head, word, sizeof word)[0] != '\0') {
        if (strcmp(word, "I") == 0)
            out->rule.allow_invalid_certificates = true;
        else if (strcmp(word, "N") == 0)
            out->rule.skip_host_check = true;
        else if (strcmp(word, "all") == 0)
            out->rule.match = AFC_PIN_MATCH_ALL;
        else if (strcmp(word, "only") == 0)
            out->rule.match = AFC_PIN_MATCH_LEAF;
        else
            snprintf(out->pinned, sizeof out->pinned, "%s", word);
    }
}

static const char *pem_named(const chains *chains, const char *name) {
    const afts_cert *named[] = {chains->root, chains->intermediate, chains->leaf,
                                chains->untrusted_root, chains->self_signed};
    static const char *const names[] = {"root", "middle", "leaf", "stranger", "lonely"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        if (strcmp(names[i], name) == 0) return afts_cert_pem(named[i]);
    }
    assert_string_equal(name, "");
    return "";
}

static afc_trust_policy *policy_of(const chains *chains, const column *column) {
    afc_trust_options options = AFC_TRUST_OPTIONS_INIT;
    afc_trust_policy *policy;
    char pem[8192];
    options.anchors = afc_slice_of(afts_cert_pem(chains->root));
    options.everywhere = column->rule;
    if (strcmp(column->pinned, "path") == 0) {
        snprintf(pem, sizeof pem, "%s%s%s", pem_named(chains, "leaf"), pem_named(chains, "middle"),
                 pem_named(chains, "root"));
    } else {
        snprintf(pem, sizeof pem, "%s", pem_named(chains, column->pinned));
    }
    options.everywhere.certificates = afc_slice_of(pem);
    check_status(afc_trust_policy_new(&policy, &options, NULL), AFC_OK);
    return policy;
}

/* ---- The table ----------------------------------------------------------------------------- */

enum { MOST_COLUMNS = 24 };

typedef struct table {
    chains *chains;
    column columns[MOST_COLUMNS];
    char heads[MOST_COLUMNS][40];
    size_t column_count, cells, wrong;
    size_t stride; /* Each cell, or each n-th. */
    void *payload;
} table;

/** Trim a cell of a row in place; `*row` moves behind its bar. NULL at the end. */
static char *next_cell(char **row) {
    char *cell = *row, *end = strchr(cell, '|');
    if (end == NULL) return NULL;
    *row = end + 1;
    while (*cell == ' ') cell++;
    while (end > cell && end[-1] == ' ') end--;
    *end = '\0';
    return cell;
}

static void read_heads(table *table, char *row) {
    char *cell;
    table->column_count = 0;
    next_cell(&row);
    next_cell(&row);
    while ((cell = next_cell(&row)) != NULL) {
        assert_true(table->column_count < MOST_COLUMNS);
        snprintf(table->heads[table->column_count], sizeof table->heads[0], "%s", cell);
        read_column(&table->columns[table->column_count++], cell);
    }
}

/** Called for every cell: what is the reason, "ok" if it is accepted? */
typedef const char *judge(table *table, const chain *chain, const char *host, size_t column);

static void check_row(table *table, char *row, judge *judge) {
    const chain *chain = chain_named(table->chains, next_cell(&row));
    const char *host = next_cell(&row);
    bool prints = getenv("AF_PRINT_TRUST_TABLE") != NULL;
    if (prints) print_message("| %s | %s |", chain->name, host);
    for (size_t i = 0; i < table->column_count; i++) {
        const char *expected = next_cell(&row);
        if (table->cells++ % table->stride != 0) continue;
        const char *found = judge(table, chain, host, i);
        if (prints) print_message(" %s |", found);
        if (expected != NULL && strcmp(expected, found) == 0) continue;
        table->wrong++;
        if (!prints) {
            print_error("%s, %s, %s: %s and not %s\n", chain->name, host, table->heads[i], found,
                        expected);
        }
    }
    if (prints) print_message("\n");
}

/** Every table of the page whose first column is called "chain". */
static void check_page(judge *judge, void *payload) {
    char line[4096];
    bool is_inside = false;
    table table = {.chains = chains_new(), .payload = payload, .stride = test_amount(1, 7)};
    FILE *page = fopen(AF_DOCS "/trust.md", "r");
    assert_non_null(page);
    while (fgets(line, sizeof line, page) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, "| chain |", 9) == 0) {
            is_inside = true;
            read_heads(&table, line + 1);
        } else if (line[0] != '|') {
            is_inside = false;
        } else if (is_inside && strncmp(line, "|-", 2) != 0) {
            check_row(&table, line + 1, judge);
        }
    }
    fclose(page);
    chains_free(table.chains);
    assert_true(table.cells > 500);
    assert_int_equal(table.wrong, 0);
}

/* ---- Directly ------------------------------------------------------------------------------ */

static const char *judge_directly(table *table, const chain *chain, const char *host,
                                  size_t column) {
    afc_slice sent[CHAIN_LONGEST];
    afc_trust_policy *policy = policy_of(table->chains, &table->columns[column]);
    afc_trust_report *report;
    chain_slices(chain, sent);
    afc_failure failure;
    afc_status status = afc_trust_evaluate(&report, policy, sent, chain->count, host, &failure);
    assert_non_null(report);
    assert_int_equal(report->is_accepted, status == AFC_OK);
    assert_string_equal(report->host, host);
    assert_true(report->chain_count > 0);
    assert_int_equal(report->chain[0].der.size, sent[0].size);
    assert_int_equal(failure.trust, status == AFC_OK ? AFC_TRUST_ACCEPTED : report->reason);
    const char *reason = status == AFC_OK ? "ok" : afc_trust_reason_name(report->reason);
    afc_trust_report_free(report);
    afc_trust_policy_release(policy);
    return reason;
}

static void documented_table_matches(void **state) {
    (void)state;
    check_page(judge_directly, NULL);
}

/* ---- In handshakes ------------------------------------------------------------------------- */

/** One server for each chain, started when it is needed. */
typedef struct servers {
    const chain *chains[32];
    afts_server *servers[32];
    size_t count;
} servers;

static afts_server *server_of(servers *servers, const chain *chain) {
    for (size_t i = 0; i < servers->count; i++) {
        if (strcmp(servers->chains[i]->name, chain->name) == 0) return servers->servers[i];
    }
    char *pem = chain_pem(chain);
    afts_tls tls = {.chain_pem = pem, .key_pem = afts_cert_key_pem(chain->sent[0])};
    afts_server *server = afts_server_new(&(afts_options){.tls = &tls});
    assert_non_null(server);
    assert_int_equal(afts_server_start(server), 0);
    free(pem);
    servers->chains[servers->count] = chain;
    servers->servers[servers->count++] = server;
    return server;
}

static const char *judge_by_handshake(table *table, const chain *chain, const char *host,
                                      size_t column) {
    afts_server *server = server_of(table->payload, chain);
    size_t before = afts_server_stats(server).requests;
    fixture fixture = {.server = server};
    afc_session_options options = AFC_SESSION_OPTIONS_INIT;
    options.trust = policy_of(table->chains, &table->columns[column]);
    check_status(afc_session_new(&fixture.session, &options, NULL), AFC_OK);
    call *call = call_new(&fixture, "/");
    call->request.url = text_of(&fixture, "https://%s:%u/", host,
                                (unsigned)afts_server_port(server));
    call_perform(call);
    const afc_trust_report *report = afc_result_get_trust(call->result);
    assert_non_null(report);
    bool is_accepted = call->failure.status == AFC_OK;
    assert_int_equal(report->is_accepted, is_accepted);
    if (!is_accepted) assert_int_equal(call->failure.trust, report->reason);
    const char *reason = is_accepted ? "ok" : afc_trust_reason_name(report->reason);
    assert_int_equal(afts_server_stats(server).requests, before + (is_accepted ? 1 : 0));
    call_free(call);
    fixture_close_session(&fixture);
    afc_trust_policy_release(options.trust);
    return reason;
}

static void handshakes_agree_with_the_table(void **state) {
    (void)state;
    servers servers = {.count = 0};
    check_page(judge_by_handshake, &servers);
    for (size_t i = 0; i < servers.count; i++) {
        afts_server *server = servers.servers[i];
        afts_stats stats = afts_server_stats(server);
        /* No byte came through connections that were refused. */
        for (size_t c = 0; c < stats.accepted; c++) {
            afts_connection *connection = afts_copy_connection(server, c);
            assert_non_null(connection);
            assert_int_equal(connection->received_total > 0, connection->requests > 0);
            afts_connection_free(connection);
        }
        afts_server_free(server);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(documented_table_matches),
        cmocka_unit_test(handshakes_agree_with_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
