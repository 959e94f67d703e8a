/**
 * Makes untrusted file names safe for any folder. Pure functions without allocations.
 */
#ifndef AFC_MESSAGE_FILE_NAME_H
#define AFC_MESSAGE_FILE_NAME_H

#include <afcore/message.h>

/** Maximum size of the source text in bytes of UTF-8: that of a path on Linux. */
enum { AFC__FILE_NAME_SOURCE = 4096 };

/** A buffer for a name that is being decoded. */
typedef struct afc__name_text {
    char bytes[AFC__FILE_NAME_SOURCE];
    size_t size;
    bool is_too_long;
} afc__name_text;

/** Appends an octet, or sets `is_too_long`. */
void afc__name_text_add(afc__name_text *text, unsigned char octet);

/** Returns whether the text is well-formed UTF-8. */
bool afc__name_text_is_utf8(const afc__name_text *text);

/** Returns whether the text has a C0 or C1 control or a bidirectional formatting character. */
bool afc__name_text_has_control(const afc__name_text *text);

/** Converts from windows-1252, which browsers use for ISO-8859-1 (WHATWG Encoding), to UTF-8. */
void afc__name_text_from_latin1(afc__name_text *text);

/**
 * Makes a safe name from UTF-8 by the rules of afc_suggest_file_name(); of a path it takes the last component. A name
 * that is too long is shortened, keeps its extension, and gets a hash of the whole name. Returns false if nothing is
 * left.
 */
bool afc__safe_file_name(char name[AFC_FILE_NAME_MAX + 1], const afc__name_text *text);

#endif
