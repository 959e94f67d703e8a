#include "http_cache/stored_fields.h"

#include "base/text.h"

/* ---- Names --------------------------------------------------------------------------------- */

#define NAME(text)                                                                                 \
    { (text), sizeof(text) - 1 }

static bool is_in(const afc_slice *names, size_t count, afc_slice name) {
    for (size_t i = 0; i < count; i++) {
        if (afc__same_names(name, names[i])) return true;
    }
    return false;
}

/** Those that concern a connection or a proxy only (RFC 9110 7.6.1, RFC 9111 3.1). */
static bool is_of_connection(afc_slice name) {
    static const afc_slice names[] = {NAME("Close"),
                                      NAME("Connection"),
                                      NAME("Keep-Alive"),
                                      NAME("Proxy-Authenticate"),
                                      NAME("Proxy-Authentication-Info"),
                                      NAME("Proxy-Authorization"),
                                      NAME("Proxy-Connection"),
                                      NAME("TE"),
                                      NAME("Trailer"),
                                      NAME("Transfer-Encoding"),
                                      NAME("Upgrade")};
    return is_in(names, sizeof names / sizeof *names, name);
}

static bool describes_bytes(afc_slice name) {
    static const afc_slice names[] = {NAME("Content-Encoding"), NAME("Content-Length"),
                                      NAME("Content-Range")};
    return is_in(names, sizeof names / sizeof *names, name);
}

static const afc_slice connection = NAME("Connection");

static bool is_named_by(const afc_header *field, afc_slice name) {
    afc_slice rest = field->value, each;
    while (afc__next_member(&rest, &each)) {
        if (afc__same_names(each, name)) return true;
    }
    return false;
}

static bool is_named_by_connection(const afc_head *head, afc_slice name) {
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *field = &head->headers[i];
        if (is_in(&connection, 1, field->name) && is_named_by(field, name)) return true;
    }
    return false;
}

static bool is_stored(const afc_head *head, const afc__http_cache_control *control,
                      afc_slice name) {
    return !is_of_connection(name) && !is_named_by_connection(head, name) &&
           !afc__http_cache_control_hides(control, name);
}

/* ---- Selecting ----------------------------------------------------------------------------- */

/** What a program adds may have spaces around it; what was received has none. */
static void add(afc__field_list *out, const afc_header *header) {
    afc__field_list_add(out, header->name, afc__trim(header->value));
}

/** Ends a selection. */
static afc_status check_size(afc__field_list *list) {
    size_t size = 0;
    for (size_t i = 0; i < list->count; i++) {
        size += list->headers[i].name.size + list->headers[i].value.size;
    }
    if (size <= AFC__STORED_FIELDS_SIZE_MAX) return AFC_OK;
    afc__field_list_clear(list);
    return AFC_ETOOBIG;
}

/** "Close" is no field, and "Keep-Alive" is one of the connection anyway (RFC 9110 9.6, 16.3.1). */
static bool names_known_options(const afc_header *field) {
    static const afc_slice options[] = {NAME("close"), NAME("keep-alive")};
    afc_slice rest = field->value, each;
    while (afc__next_member(&rest, &each)) {
        if (!is_in(options, sizeof options / sizeof *options, each)) return false;
    }
    return true;
}

/** Returns whether Connection or no-cache="…" name other fields. In most heads they don't. */
static bool names_fields(const afc_head *head, const afc__http_cache_control *control) {
    if (control->no_cache_count > 0) return true;
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *field = &head->headers[i];
        if (is_in(&connection, 1, field->name) && !names_known_options(field)) return true;
    }
    return false;
}

afc_status afc__stored_fields_select(afc__field_list *out, const afc_head *head,
                                     const afc__http_cache_control *control) {
    bool names_others = names_fields(head, control);
    afc_status status = afc__field_list_init(out, head->header_count);
    if (status != AFC_OK) return status;
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *header = &head->headers[i];
        bool is_selected = names_others ? is_stored(head, control, header->name)
                                        : !is_of_connection(header->name);
        if (is_selected) add(out, header);
    }
    return check_size(out);
}

static bool updates(const afc_head *update, const afc__http_cache_control *control,
                    afc_slice name) {
    return !describes_bytes(name) && is_stored(update, control, name);
}

afc_status afc__stored_fields_edit(afc__field_list *out, const afc_head *received,
                                   const afc_head *edited, const afc__http_cache_control *control) {
    afc_status status = afc__field_list_init(out, received->header_count + edited->header_count);
    if (status != AFC_OK) return status;
    for (size_t i = 0; i < received->header_count; i++) {
        const afc_header *header = &received->headers[i];
        if (describes_bytes(header->name)) add(out, header);
    }
    for (size_t i = 0; i < edited->header_count; i++) {
        const afc_header *header = &edited->headers[i];
        if (updates(edited, control, header->name) &&
            !is_named_by_connection(received, header->name)) {
            add(out, header);
        }
    }
    return check_size(out);
}

static bool is_replaced(const afc_head *update, const afc__http_cache_control *control,
                        afc_slice name) {
    if (!updates(update, control, name)) return false;
    for (size_t i = 0; i < update->header_count; i++) {
        if (afc__same_names(update->headers[i].name, name)) return true;
    }
    return false;
}

afc_status afc__stored_fields_update(afc__field_list *out, const afc_head *stored,
                                     const afc_head *update,
                                     const afc__http_cache_control *control) {
    afc_status status = afc__field_list_init(out, stored->header_count + update->header_count);
    if (status != AFC_OK) return status;
    for (size_t i = 0; i < stored->header_count; i++) {
        const afc_header *header = &stored->headers[i];
        bool is_hidden = afc__http_cache_control_hides(control, header->name);
        if (!is_hidden && !is_replaced(update, control, header->name)) add(out, header);
    }
    for (size_t i = 0; i < update->header_count; i++) {
        const afc_header *header = &update->headers[i];
        if (updates(update, control, header->name)) add(out, header);
    }
    return check_size(out);
}
