/**
 * Selects the fields of a response that are stored (RFC 9111 3.1), and updates them from a later head (RFC 9111 3.2).
 * Pure functions.
 */
#ifndef AFC_HTTP_CACHE_RULES_STORED_FIELDS_H
#define AFC_HTTP_CACHE_RULES_STORED_FIELDS_H

#include "http_cache/rules/cache_control.h"
#include "message/fields.h"

enum {
    /** Maximum size in bytes of all names and values of a stored head. */
    AFC__STORED_FIELDS_SIZE_MAX = 64 * 1024,
    /**
     * Maximum number of fields that Connection and no-cache="…" name. A response with more isn't stored, and updates no
     * stored one.
     */
    AFC__NAMED_FIELDS_MAX = 32
};

/**
 * Returns whether Connection and no-cache="…" name too many fields. Names that aren't stored in any case aren't
 * counted.
 */
bool afc__head_names_too_many_fields(const afc_head *head, const afc__http_cache_control *control);

/**
 * Selects the fields of `head` that are stored: without those of the connection, those that Connection names, and those
 * that no-cache="…" names. They refer to the head. Fails with AFC_ETOOBIG or AFC_ENOMEM: there is nothing to clear
 * then.
 */
afc_status afc__stored_fields_select(afc__field_list *out, const afc_head *head,
                                     const afc__http_cache_control *control);

/**
 * Does the same for a head that the program has edited. Fields that describe the stored bytes (Content-Encoding,
 * Content-Length, Content-Range) are taken from the received head.
 */
afc_status afc__stored_fields_edit(afc__field_list *out, const afc_head *received,
                                   const afc_head *edited, const afc__http_cache_control *control);

/**
 * Selects the fields of the response that is passed on: those of `stored`, updated by those of a 304, or of a 200 to
 * HEAD. Each field of the update replaces all of its name, except for fields of the connection, and for those that
 * describe the stored bytes, which may be decoded: Content-Encoding, Content-Length, Content-Range. Age and Date of
 * `stored` are never kept, as they belong to its receipt. Fields that the update's no-cache="…" names are passed on
 * with this response; afc__stored_fields_select() leaves them out of what is stored. Fails as that function does.
 */
afc_status afc__stored_fields_update(afc__field_list *out, const afc_head *stored,
                                     const afc_head *update,
                                     const afc__http_cache_control *control);

#endif
