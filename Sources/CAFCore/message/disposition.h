/**
 * The file name in Content-Disposition (RFC 6266, RFC 8187). Pure, without memory.
 */
#ifndef AF_MESSAGE_DISPOSITION_H
#define AF_MESSAGE_DISPOSITION_H

#include "message/file_name.h"

/**
 * The safe name that the value of a Content-Disposition suggests; false if it suggests none. The
 * disposition itself doesn't matter.
 *
 *     attachment; filename="a \"b\".txt"; filename*=UTF-8''na%C3%AFve.txt
 *
 * filename* goes before filename, wherever it stands, and of repeated ones the first that can be
 * read; what can't be is skipped: an unknown charset, broken percent-encoding or UTF-8, a string
 * without its closing quote, a name with nothing safe in it. Octets above 127 in a filename are
 * UTF-8 if they look like it, ISO-8859-1 otherwise. A backslash in front of a letter or digit is a
 * Windows path's, not an escape.
 */
bool af__disposition_file_name(char name[AF_FILE_NAME_MAX + 1], af_slice value);

#endif
