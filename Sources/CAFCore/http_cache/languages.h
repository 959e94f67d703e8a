/** Languages of a request and of a response (RFC 9110 12.5.4, 8.5). Pure functions. */
#ifndef AFC_HTTP_CACHE_LANGUAGES_H
#define AFC_HTTP_CACHE_LANGUAGES_H

#include <afcore/message.h>

/**
 * Is a response with this head in the language that the request prefers? Only if it is in one language, and if a single
 * language has the highest weight of Accept-Language, and if these are the same but for their case. "*", ranges that only
 * begin alike, and invalid weights say no.
 */
bool afc__language_is_preferred(const afc_head *head, afc_slice accept_language);

#endif
