/* One octet that picks what is read and asked, then a datagram as if it came from the kernel.
   Whatever it says, tables keep their order and a decision names only links that run. */
#include "reachability/tables.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds) {
    if (!holds) abort();
}

static af_link_kind kind_of(void *context, int index, const char *name) {
    (void)context;
    require(strlen(name) < AF_LINK_NAME_SIZE);
    return index % 3 == 0 ? AF_LINK_CELLULAR : AF_LINK_UNKNOWN;
}

static const af__reach_link *find(const af__link_table *table, const char *name) {
    for (size_t i = 0; i < table->link_count; i++) {
        const af__reach_link *link = &table->links[i];
        if (link->is_running && strcmp(link->name, name) == 0) return link;
    }
    return NULL;
}

static void check_decision(const af__link_table *table, const af__reach_address *source) {
    af__reach_route route = {true, *source, {.family = AF_INET, .bytes = {198, 51, 100, 1}}};
    bool is_transient;
    af_reachability state = af__reach_decide(table, &route, 1, &is_transient);
    require(state.status >= AF_REACH_NONE && state.status <= AF_REACH_VIA_WIFI);
    require(!is_transient || state.status == AF_REACH_NONE);
    if (state.link == AF_LINK_UNKNOWN) return;
    require(find(table, state.link_name) != NULL);
    require((state.status == AF_REACH_VIA_WWAN) == (state.link == AF_LINK_CELLULAR));
}

static void check_tables(const af__link_table *table) {
    for (size_t i = 0; i < table->link_count; i++) {
        require(table->links[i].index > 0);
        require(!table->links[i].is_running || table->links[i].is_up);
        for (size_t k = 0; k < i; k++) require(table->links[i].index != table->links[k].index);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || size > 65536) return 0;
    uint8_t choice = data[0];
    af__link_table table;
    af__reach_request request;
    af__link_table_init(&table, kind_of, NULL);
    if (choice & 1) af__link_table_ask(&table, &request);
    af__link_table_take(&table, data + 1, size - 1);
    if (choice & 2) af__link_table_lose(&table);
    af__link_table_ask(&table, &request);
    af__link_table_take(&table, data + 1, size - 1);
    check_tables(&table);
    for (size_t i = 0; i < table.own_count; i++) check_decision(&table, &table.own[i].address);
    af__reach_fingerprint(&table);
    af__link_table_clear(&table);
    return 0;
}
