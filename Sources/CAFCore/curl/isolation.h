/** Hops with a connection of their own. */
#ifndef AFC_CURL_ISOLATION_H
#define AFC_CURL_ISOLATION_H

#include "curl/driver.h"

/** Kinds of isolation: which exchanges may share a connection. */
enum {
    AFC__ISOLATE_NONE = 0,    /**< A shared connection, the default. */
    AFC__ISOLATE_ONE_SHOT = 7 /**< A new one, never reused; 1 to 6: the one of that slot. */
};

/**
 * Takes a slot if this hop must have its own connection. The slot is reserved until it is given
 * back.
 */
unsigned afc__isolation_take(afc__driver *driver, const afc__transfer *transfer);
void afc__isolation_give_back(afc__driver *driver, unsigned slot);

/** Returns whether each request needs its own connection. */
bool afc__must_not_share(const afc__driver *driver, const afc__transfer *transfer);

/** Returns the CURLOPT_SSL_OPTIONS that keep other exchanges off a slot's connection. */
long afc__isolation_options(unsigned slot);

#endif
