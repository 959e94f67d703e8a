/**
 * Names that a stranger gave, made safe for any folder. Pure, without memory.
 */
#ifndef AF_MESSAGE_FILE_NAME_H
#define AF_MESSAGE_FILE_NAME_H

#include <afcore/message.h>

/** What a name is made from has at most so many bytes of UTF-8; there is no longer path. */
enum { AF__FILE_NAME_SOURCE = 4096 };

/** A name in the making: text as it is decoded. */
typedef struct af__name_text {
    char bytes[AF__FILE_NAME_SOURCE];
    size_t size;
    bool is_too_long;
} af__name_text;

/** Add an octet. */
void af__name_text_add(af__name_text *text, unsigned char octet);

/** Is it well-formed UTF-8? */
bool af__name_text_is_utf8(const af__name_text *text);

/** Has it a character that text is controlled by: one of C0 or C1, or a mark that turns its direction? */
bool af__name_text_has_control(const af__name_text *text);

/** Read what is there as windows-1252, as everybody reads ISO-8859-1. */
void af__name_text_from_latin1(af__name_text *text);

/**
 * A safe name after the rules of af_suggest_file_name(), out of UTF-8; of a path, its last
 * component. The extension is kept where the name is too long. False: nothing is left.
 */
bool af__safe_file_name(char name[AF_FILE_NAME_MAX + 1], const af__name_text *text);

#endif
