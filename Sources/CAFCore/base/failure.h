/**
 * Sets an af_failure.
 */
#ifndef AF_BASE_FAILURE_H
#define AF_BASE_FAILURE_H

#include <afcore/error.h>

/**
 * Sets a failure and returns its status. `failure` may be NULL. All other fields become 0; set known ones
 * (curl_code, system_error, …) afterwards. A long text is truncated at a whole UTF-8 character, and its control
 * characters become '?'. The arguments may point into `failure`.
 */
__attribute__((format(printf, 3, 4))) af_status af__fail(af_failure *failure, af_status status,
                                                         const char *format, ...);

/** Sets AF_ENOMEM, "out of memory", and returns it. */
af_status af__fail_memory(af_failure *failure);

#endif
