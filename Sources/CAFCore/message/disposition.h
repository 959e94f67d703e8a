/**
 * The file name in Content-Disposition (RFC 6266, RFC 8187). Pure functions without allocations.
 */
#ifndef AFC_MESSAGE_DISPOSITION_H
#define AFC_MESSAGE_DISPOSITION_H

#include "message/file_name.h"

/**
 * Reads the file name of a Content-Disposition and makes it safe. Returns false if there is none. The disposition type
 * is ignored.
 *
 *     attachment; filename="a \"b\".txt"; filename*=UTF-8''na%C3%AFve.txt
 *
 * filename* takes precedence over filename in any order; if one is repeated, the first valid one is used. Invalid ones
 * are skipped: an unknown charset, invalid percent-encoding or UTF-8, a string without its closing quote, a name
 * without safe characters. Octets above 127 in filename are UTF-8 if they are valid UTF-8, otherwise ISO-8859-1. A
 * backslash before a letter or digit is a separator of a Windows path, not an escape. Declared for tests.
 */
bool afc__disposition_file_name(char name[AFC_FILE_NAME_MAX + 1], afc_slice value);

#endif
