/**
 * Public suffixes: names like "co.uk" below which everybody can have one. Asked of the libpsl that
 * libcurl brings along; where there is none, every name counts as a suffix for those below it, so that
 * nobody's cookies reach another host. Any thread.
 */
#ifndef AF_STORE_SUFFIXES_H
#define AF_STORE_SUFFIXES_H

#include <afcore/base.h>

/** Is there a list? */
bool af__suffixes_are_known(void);

/** `domain` ends in NUL, in lower case and ASCII. */
bool af__is_public_suffix(const char *domain);

/**
 * What of a host one owner has registered: "example.co.uk" of "a.b.example.co.uk"; of an address, a public suffix and
 * where there is no list, all of it. `host` as above; points into it.
 */
af_slice af__suffixes_site(const char *host);

/** Are both hosts of one site: the same, or with the same name below a public suffix? */
bool af__is_same_site(const char *host, const char *other);

#endif
