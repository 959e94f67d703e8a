/**
 * Filling in an af_failure.
 */
#ifndef AF_BASE_FAILURE_H
#define AF_BASE_FAILURE_H

#include <afcore/error.h>

/**
 * Describe a failure and return its status. `failure` may be NULL. Every other field becomes 0: set
 * what is known (curl_code, system_error …) afterwards. The text is cut to its room at a whole
 * UTF-8 character, and control characters in it become '?'. The arguments may point into `failure`.
 */
__attribute__((format(printf, 3, 4))) af_status af__fail(af_failure *failure, af_status status,
                                                         const char *format, ...);

/** AF_ENOMEM, which is returned: "out of memory". */
af_status af__fail_memory(af_failure *failure);

#endif
