/**
 * The public suffix list: names like "co.uk" under which anyone can register a name. It comes from libpsl, the library
 * that libcurl is linked with. Without libpsl every name counts as a public suffix, so that no cookie reaches another
 * host. Any thread may call these functions.
 */
#ifndef AFC_STORE_SUFFIXES_H
#define AFC_STORE_SUFFIXES_H

#include <afcore/base.h>

/** Returns whether a list is available. */
bool afc__suffixes_are_known(void);

/**
 * Returns whether `domain`, ASCII in lower case and NUL-terminated, is a public suffix. Without a list every name is
 * one.
 */
bool afc__is_public_suffix(const char *domain);

/**
 * Does the same, but without a list no name is a public suffix. For what is only stored, and may be used by a process
 * that has a list.
 */
bool afc__is_known_suffix(const char *domain);

/**
 * Returns the registrable domain of a host: "example.co.uk" for "a.b.example.co.uk". Returns the whole host if it is an
 * address or a public suffix, or without a list. `host` is ASCII in lower case and NUL-terminated; the result points
 * into it.
 */
afc_slice afc__suffixes_site(const char *host);

/**
 * Returns the shortest domain above a host, or the host, that isn't a public suffix: "amazonaws.com" for
 * "a.s3.amazonaws.com", although the registrable domain is the whole host. So all hosts below a domain that isn't a
 * public suffix have the same root. Returns the whole host if it is an address, a public suffix without such a domain
 * above it, or without a list. `host` and the result are as above.
 */
afc_slice afc__suffixes_root(const char *host);

/** Returns whether both hosts belong to the same site: they are equal or have the same registrable domain. */
bool afc__is_same_site(const char *host, const char *other);

#endif
