#include "http_cache/stored_fields.h"

typedef struct name_table {
    const char *const *names;
    size_t count;
} name_table;

static bool is_in(const name_table *table, afc_slice name) {
    for (size_t i = 0; i < table->count; i++) {
        if (afc__same_name(name, table->names[i])) return true;
    }
    return false;
}

/** Those that concern a connection or a proxy only (RFC 9110 7.6.1, RFC 9111 3.1). */
static bool is_of_connection(afc_slice name) {
    static const char *const names[] = {"Connection",
                                        "Keep-Alive",
                                        "Proxy-Authenticate",
                                        "Proxy-Authentication-Info",
                                        "Proxy-Authorization",
                                        "Proxy-Connection",
                                        "TE",
                                        "Trailer",
                                        "Transfer-Encoding",
                                        "Upgrade"};
    static const name_table table = {names, sizeof names / sizeof *names};
    return is_in(&table, name);
}

static bool describes_bytes(afc_slice name) {
    static const char *const names[] = {"Content-Encoding", "Content-Length", "Content-Range"};
    static const name_table table = {names, sizeof names / sizeof *names};
    return is_in(&table, name);
}

static bool is_named_by_connection(const afc_head *head, afc_slice name) {
    for (size_t i = 0; i < head->header_count; i++) {
        if (!afc__same_name(head->headers[i].name, "Connection")) continue;
        afc_slice rest = head->headers[i].value, each;
        while (afc__next_member(&rest, &each)) {
            if (afc__same_names(each, name)) return true;
        }
    }
    return false;
}

static bool is_stored(const afc_head *head, const afc__cache_control *control, afc_slice name) {
    return !is_of_connection(name) && !is_named_by_connection(head, name) &&
           !afc__cache_control_hides(control, name);
}

/** What a program adds may have spaces around it; what was received has none. */
static afc_status add_field(afc__fields *out, const afc_header *header) {
    return afc__fields_add(out, header->name, afc__trim(header->value));
}

afc_status afc__stored_fields_add(afc__fields *out, const afc_head *head,
                                  const afc__cache_control *control) {
    afc_status status = AFC_OK;
    for (size_t i = 0; i < head->header_count && status == AFC_OK; i++) {
        const afc_header *header = &head->headers[i];
        if (is_stored(head, control, header->name)) {
            status = add_field(out, header);
        }
    }
    return status;
}

static bool updates(const afc_head *update, const afc__cache_control *control, afc_slice name) {
    return !describes_bytes(name) && is_stored(update, control, name);
}

afc_status afc__stored_fields_edit(afc__fields *out, const afc_head *received,
                                   const afc_head *edited, const afc__cache_control *control) {
    afc_status status = AFC_OK;
    for (size_t i = 0; i < received->header_count && status == AFC_OK; i++) {
        const afc_header *header = &received->headers[i];
        if (describes_bytes(header->name)) {
            status = add_field(out, header);
        }
    }
    for (size_t i = 0; i < edited->header_count && status == AFC_OK; i++) {
        const afc_header *header = &edited->headers[i];
        if (updates(edited, control, header->name) &&
            !is_named_by_connection(received, header->name)) {
            status = add_field(out, header);
        }
    }
    return status;
}

static bool is_replaced(const afc_head *update, const afc__cache_control *control, afc_slice name) {
    if (!updates(update, control, name)) return false;
    for (size_t i = 0; i < update->header_count; i++) {
        if (afc__same_names(update->headers[i].name, name)) return true;
    }
    return false;
}

afc_status afc__stored_fields_update(afc__fields *out, const afc_head *stored,
                                     const afc_head *update, const afc__cache_control *control) {
    afc_status status = AFC_OK;
    for (size_t i = 0; i < stored->header_count && status == AFC_OK; i++) {
        const afc_header *header = &stored->headers[i];
        bool is_hidden = afc__cache_control_hides(control, header->name);
        if (!is_hidden && !is_replaced(update, control, header->name)) {
            status = add_field(out, header);
        }
    }
    for (size_t i = 0; i < update->header_count && status == AFC_OK; i++) {
        const afc_header *header = &update->headers[i];
        if (updates(update, control, header->name)) {
            status = add_field(out, header);
        }
    }
    return status;
}
