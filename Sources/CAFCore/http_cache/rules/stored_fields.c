#include "http_cache/rules/stored_fields.h"

#include "base/text.h"

#include <stdlib.h>

/* ---- Names --------------------------------------------------------------------------------- */

#define NAME(text)                                                                                 \
    { (text), sizeof(text) - 1 }

static bool is_in(const afc_slice *names, size_t count, afc_slice name) {
    for (size_t i = 0; i < count; i++) {
        if (afc__same_names(name, names[i])) return true;
    }
    return false;
}

/** Returns whether a field concerns a connection or a proxy only (RFC 9110 7.6.1, RFC 9111 3.1). */
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

static bool describes_receipt(afc_slice name) {
    static const afc_slice names[] = {NAME("Age"), NAME("Date")};
    return is_in(names, sizeof names / sizeof *names, name);
}

/* ---- Names in other fields ----------------------------------------------------------------- */

/** The names in no-cache="…", followed by those in Connection. They refer to the head. */
typedef struct named_fields {
    afc_slice names[AFC__NAMED_FIELDS_MAX];
    size_t count, hidden_count; /**< All names, and those from no-cache. */
} named_fields;

/**
 * Adds the names in a list, except for fields that aren't stored in any case: most heads name only close and
 * keep-alive. Returns false if there are too many.
 */
static bool add_names(named_fields *out, afc_slice list) {
    afc_slice each;
    while (afc__next_member(&list, &each)) {
        if (each.size == 0 || is_of_connection(each)) continue;
        if (out->count == AFC__NAMED_FIELDS_MAX) return false;
        out->names[out->count++] = each;
    }
    return true;
}

static bool add_names_of_connection(named_fields *out, const afc_head *head) {
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *field = &head->headers[i];
        if (afc__same_name(field->name, "Connection") && !add_names(out, field->value))
            return false;
    }
    return true;
}

/** Reads each list once, as a server may fill a head with them. Returns false if there are too many names. */
static bool read_names(named_fields *out, const afc_head *head,
                       const afc__http_cache_control *control) {
    out->count = 0;
    for (size_t i = 0; i < control->no_cache_count; i++) {
        if (!add_names(out, control->no_cache_fields[i])) return false;
    }
    out->hidden_count = out->count;
    return add_names_of_connection(out, head);
}

bool afc__head_names_too_many_fields(const afc_head *head, const afc__http_cache_control *control) {
    named_fields names;
    return !read_names(&names, head, control);
}

static bool is_hidden(const named_fields *names, afc_slice name) {
    return is_in(names->names, names->hidden_count, name);
}

static bool is_stored(const named_fields *names, afc_slice name) {
    return !is_of_connection(name) && !is_in(names->names, names->count, name);
}

/* ---- Selecting ----------------------------------------------------------------------------- */

/** Adds a field. A value that a program adds may have spaces around it. */
static void add(afc__field_list *out, const afc_header *header) {
    afc__field_list_add(out, header->name, afc__trim(header->value));
}

/** Clears a selection that is too large, and returns AFC_ETOOBIG. */
static afc_status check_size(afc__field_list *list) {
    size_t size = 0;
    for (size_t i = 0; i < list->count; i++) {
        size += list->headers[i].name.size + list->headers[i].value.size;
    }
    if (size <= AFC__STORED_FIELDS_SIZE_MAX) return AFC_OK;
    afc__field_list_clear(list);
    return AFC_ETOOBIG;
}

afc_status afc__stored_fields_select(afc__field_list *out, const afc_head *head,
                                     const afc__http_cache_control *control) {
    named_fields names;
    if (!read_names(&names, head, control)) return AFC_ETOOBIG;
    afc_status status = afc__field_list_init(out, head->header_count);
    if (status != AFC_OK) return status;
    for (size_t i = 0; i < head->header_count; i++) {
        const afc_header *header = &head->headers[i];
        if (is_stored(&names, header->name)) add(out, header);
    }
    return check_size(out);
}

static bool may_edit(const named_fields *names, afc_slice name) {
    return !describes_bytes(name) && is_stored(names, name);
}

afc_status afc__stored_fields_edit(afc__field_list *out, const afc_head *received,
                                   const afc_head *edited, const afc__http_cache_control *control) {
    named_fields names;
    if (!read_names(&names, edited, control) || !add_names_of_connection(&names, received))
        return AFC_ETOOBIG;
    afc_status status = afc__field_list_init(out, received->header_count + edited->header_count);
    if (status != AFC_OK) return status;
    for (size_t i = 0; i < received->header_count; i++) {
        const afc_header *header = &received->headers[i];
        if (describes_bytes(header->name)) add(out, header);
    }
    for (size_t i = 0; i < edited->header_count; i++) {
        const afc_header *header = &edited->headers[i];
        if (may_edit(&names, header->name)) add(out, header);
    }
    return check_size(out);
}

/**
 * Returns whether a field of the update replaces the stored ones of its name; `names` are the update's. Those that
 * no-cache="…" names do, as this response passes them on (RFC 9111 5.2.2.4).
 */
static bool updates(const named_fields *names, afc_slice name) {
    return !describes_bytes(name) && !is_of_connection(name) &&
           !is_in(names->names + names->hidden_count, names->count - names->hidden_count, name);
}

static int compare_names(const void *a, const void *b) {
    afc_slice one = ((const afc_header *)a)->name, other = ((const afc_header *)b)->name;
    if (one.size != other.size) return one.size < other.size ? -1 : 1;
    for (size_t i = 0; i < one.size; i++) {
        int order = (unsigned char)afc__lower(one.bytes[i]) -
                    (unsigned char)afc__lower(other.bytes[i]);
        if (order != 0) return order;
    }
    return 0;
}

/** Collects the fields of an update that replace others, sorted by name for is_replaced(). */
static afc_status sort_updates(afc__field_list *out, const afc_head *update,
                               const named_fields *names) {
    afc_status status = afc__field_list_init(out, update->header_count);
    if (status != AFC_OK) return status;
    for (size_t i = 0; i < update->header_count; i++) {
        const afc_header *header = &update->headers[i];
        if (updates(names, header->name)) afc__field_list_add(out, header->name, header->value);
    }
    if (out->count > 1) qsort(out->headers, out->count, sizeof *out->headers, compare_names);
    return AFC_OK;
}

static bool is_replaced(const afc__field_list *sorted, const afc_header *header) {
    return bsearch(header, sorted->headers, sorted->count, sizeof *header, compare_names) != NULL;
}

afc_status afc__stored_fields_update(afc__field_list *out, const afc_head *stored,
                                     const afc_head *update,
                                     const afc__http_cache_control *control) {
    named_fields names;
    afc__field_list sorted;
    if (!read_names(&names, update, control)) return AFC_ETOOBIG;
    afc_status status = sort_updates(&sorted, update, &names);
    if (status != AFC_OK) return status;
    status = afc__field_list_init(out, stored->header_count + update->header_count);
    for (size_t i = 0; i < stored->header_count && status == AFC_OK; i++) {
        const afc_header *header = &stored->headers[i];
        bool is_kept = !is_hidden(&names, header->name) && !describes_receipt(header->name) &&
                       !is_replaced(&sorted, header);
        if (is_kept) add(out, header);
    }
    afc__field_list_clear(&sorted);
    for (size_t i = 0; i < update->header_count && status == AFC_OK; i++) {
        const afc_header *header = &update->headers[i];
        if (updates(&names, header->name)) add(out, header);
    }
    return status == AFC_OK ? check_size(out) : status;
}
