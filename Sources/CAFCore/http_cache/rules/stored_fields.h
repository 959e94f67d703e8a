/**
 * Which fields of a response are stored (RFC 9111 3.1), and how a later head updates them (RFC 9111 3.2). Pure
 * functions.
 */
#ifndef AFC_HTTP_CACHE_RULES_STORED_FIELDS_H
#define AFC_HTTP_CACHE_RULES_STORED_FIELDS_H

#include "http_cache/rules/cache_control.h"
#include "message/fields.h"

enum {
    /** The most bytes that the names and values of a stored head have together. */
    AFC__STORED_FIELDS_SIZE_MAX = 64 * 1024,
    /** Fields that Connection and no-cache="…" name; a response with more isn't stored, and updates none. */
    AFC__NAMED_FIELDS_MAX = 32
};

/** Returns whether Connection and no-cache="…" name too many fields, those of the connection not counted. */
bool afc__head_names_too_many_fields(const afc_head *head, const afc__http_cache_control *control);

/**
 * Selects the fields of `head` that are stored: neither those of the connection, also those that Connection names, nor
 * those that no-cache="…" names. They refer to the head. AFC_ETOOBIG, AFC_ENOMEM: there is nothing to clear.
 */
afc_status afc__stored_fields_select(afc__field_list *out, const afc_head *head,
                                     const afc__http_cache_control *control);

/**
 * Does the same for fields that the caller gave instead of the received ones, but for those that describe the stored
 * bytes: they stay as they were received.
 */
afc_status afc__stored_fields_edit(afc__field_list *out, const afc_head *received,
                                   const afc_head *edited, const afc__http_cache_control *control);

/**
 * Selects the fields of the response to pass on: those of `stored`, updated by those of a 304, or of a 200 to HEAD.
 * Each that isn't of the connection replaces all of its name, but those that describe the stored bytes, which may be
 * decoded: Content-Encoding, Content-Length, Content-Range. Age and Date aren't those of the stored one in any case:
 * they say when that was received. What no-cache="…" names is only that of the update; afc__stored_fields_select()
 * leaves it out of what is stored. AFC_ETOOBIG, AFC_ENOMEM as there.
 */
afc_status afc__stored_fields_update(afc__field_list *out, const afc_head *stored,
                                     const afc_head *update,
                                     const afc__http_cache_control *control);

#endif
