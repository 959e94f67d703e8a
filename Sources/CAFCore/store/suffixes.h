/**
 * The public suffix list: names like "co.uk" under which anyone can register a name. It comes from the libpsl that
 * libcurl is linked with. Without libpsl every name counts as a public suffix, so that no cookie reaches another
 * host. Any thread.
 */
#ifndef AFC_STORE_SUFFIXES_H
#define AFC_STORE_SUFFIXES_H

#include <afcore/base.h>

/** Returns whether a list is available. */
bool afc__suffixes_are_known(void);

/** Returns whether `domain` is a public suffix. NUL-terminated, ASCII in lower case. */
bool afc__is_public_suffix(const char *domain);

/**
 * The same, but without a list no name is one: for what is only stored, and may be used by a process that has a list.
 */
bool afc__is_known_suffix(const char *domain);

/**
 * Returns the registrable domain of a host: "example.co.uk" for "a.b.example.co.uk". For an address, a public
 * suffix, or without a list: the whole host. `host` as above; the result points into it.
 */
afc_slice afc__suffixes_site(const char *host);

/**
 * Returns the shortest domain of a host that isn't a public suffix: for "a.s3.amazonaws.com" "amazonaws.com", though
 * the site is the whole host. So all hosts below a domain that isn't a public suffix have the same one. For an address,
 * a public suffix without such a domain above it, or without a list: the whole host. As above otherwise.
 */
afc_slice afc__suffixes_root(const char *host);

/** Returns whether both hosts belong to the same site: they are equal or have the same registrable domain. */
bool afc__is_same_site(const char *host, const char *other);

#endif
