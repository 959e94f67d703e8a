/**
 * Sets an afc_failure.
 */
#ifndef AFC_BASE_FAILURE_H
#define AFC_BASE_FAILURE_H

#include <afcore/error.h>
#include <string.h>

/**
 * Clears a failure, which may be NULL. Functions with a `failure` call it first, so that all fields are 0 after a
 * success.
 */
static inline void afc__clear_failure(afc_failure *failure) {
    if (failure != NULL) memset(failure, 0, sizeof *failure);
}

/**
 * Sets a failure and returns its status. `failure` may be NULL. All other fields become 0; set known ones
 * (curl_code, system_error, …) afterwards. A long text is truncated at a whole UTF-8 character, and its control
 * characters become '?'. The arguments may point into `failure`.
 */
__attribute__((format(printf, 3, 4))) afc_status afc__fail(afc_failure *failure, afc_status status,
                                                           const char *format, ...);

/**
 * Returns how many bytes of a text, at most `most`, are whole UTF-8 characters. For "%.*s" with a text that is cut off
 * there.
 */
int afc__cut(const char *text, size_t most);

/** Adds the reason to a failure that afc__fail() has just set, and returns its status. */
afc_status afc__give_reason(afc_failure *failure, afc_reason reason, afc_status status);

/** Puts a name in front of the text of a failure that was just set, "NAME: text", and returns its status. */
afc_status afc__name_failure(afc_failure *failure, const char *name, afc_status status);

/** Returns whether an errno means that memory or descriptors have run out, which may be temporary. */
bool afc__is_shortage(int error);

/** Returns whether a number that a callback returned is an afc_status. */
bool afc__is_status(int number);

/**
 * Sets AFC_EINVAL, and returns it, for a callback that returned a number that isn't of its type, such as a number of
 * bytes. `accepted` says what it may return.
 */
afc_status afc__fail_returned(afc_failure *failure, const char *callback, int number,
                              const char *accepted);

/**
 * Sets AFC_EFILE with the text "WHAT PATH: text of the errno", and returns it. The middle of a path that is too long is
 * left out.
 */
afc_status afc__fail_file(afc_failure *failure, const char *what, const char *path, int error);

/** Sets AFC_ETIMEOUT for a connection that wasn't established in time. */
void afc__fail_connect_timeout(afc_failure *failure, uint32_t limit_ms);

/** Sets AFC_ENOMEM, "out of memory", and returns it. */
afc_status afc__fail_memory(afc_failure *failure);

#endif
