/** Cookie files: the Netscape format, with SameSite in a comment line before its cookie. */
#ifndef AFC_STORE_COOKIE_FILE_H
#define AFC_STORE_COOKIE_FILE_H

#include "store/cookie_jar.h"

/** Loads a file into the jar; it may have been written by curl or a browser. Invalid lines are skipped. */
afc_status afc__cookie_file_load(afc_cookie_jar *jar, const char *path, int64_t now,
                                 afc_failure *failure);

/**
 * Writes the text of a file with the cookies of the list. Cookies without an expiry are left out or, with
 * `includes_session`, have the time 0. The caller owns `*out` (afc_free()). Fails with AFC_EFILE if the text is too
 * long, or AFC_ENOMEM.
 */
afc_status afc__cookie_file_write(const afc_cookie_list *list, bool includes_session,
                                  afc_bytes *out, afc_failure *failure);

/** Saves the persistent cookies of the list. */
afc_status afc__cookie_file_save(const afc_cookie_list *list, const char *path,
                                 afc_failure *failure);

#endif
