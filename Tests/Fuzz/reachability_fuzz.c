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

static afc_link_kind kind_of(void *context, int index, const char *name) {
    (void)context;
    require(strlen(name) < AFC_LINK_NAME_SIZE);
    return index % 3 == 0 ? AFC_LINK_CELLULAR : AFC_LINK_UNKNOWN;
}

static const afc__reach_link *find(const afc__link_table *table, const char *name) {
    for (size_t i = 0; i < table->link_count; i++) {
        const afc__reach_link *link = &table->links[i];
        if (link->is_running && strcmp(link->name, name) == 0) return link;
    }
    return NULL;
}

static void check_decision(const afc__link_table *table, const afc__reach_address *source) {
    afc__reach_route route = {.exists = true,
                              .source = *source,
                              .destination = {.family = AF_INET, .bytes = {198, 51, 100, 1}}};
    bool is_transient;
    afc_reachability state = afc__reach_decide(table, &route, 1, &is_transient);
    require(state.status >= AFC_REACH_NONE && state.status <= AFC_REACH_VIA_WIFI);
    require(!is_transient || state.status == AFC_REACH_NONE);
    if (state.link == AFC_LINK_UNKNOWN) return;
    require(find(table, state.link_name) != NULL);
    require((state.status == AFC_REACH_VIA_WWAN) == (state.link == AFC_LINK_CELLULAR));
}

static void check_tables(const afc__link_table *table) {
    for (size_t i = 0; i < table->link_count; i++) {
        require(table->links[i].index > 0);
        require(!table->links[i].is_running || table->links[i].is_up);
        for (size_t k = 0; k < i; k++) require(table->links[i].index != table->links[k].index);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size == 0 || size > 65536) return 0;
    uint8_t choice = data[0];
    afc__link_table table;
    afc__reach_request request;
    afc__link_table_init(&table, kind_of, NULL);
    if (choice & 1) afc__link_table_ask(&table, &request);
    afc__link_table_take(&table, data + 1, size - 1);
    if (choice & 2) afc__link_table_lose(&table);
    afc__link_table_ask(&table, &request);
    afc__link_table_take(&table, data + 1, size - 1);
    check_tables(&table);
    for (size_t i = 0; i < table.own_count; i++) check_decision(&table, &table.own[i].address);
    afc__reach_fingerprint(&table);
    afc__link_table_clear(&table);
    return 0;
}
