/** What functions of the test server return. */
#ifndef AFTS_STATUS_H
#define AFTS_STATUS_H

/** 0 is success; test for it, the other values may get more. */
typedef enum afts_status {
    AFTS_OK = 0,
    AFTS_EINVAL = -1,    /**< An argument or an option is not valid. */
    AFTS_ENOMEM = -2,    /**< Out of memory. */
    AFTS_ECANCELED = -3, /**< The server is stopping. */
    AFTS_ELOST = -4,     /**< The connection has ended, or a limit was reached. */
    AFTS_ESTARTED = -5,  /**< The server was started before. */
    AFTS_ESYSTEM = -6    /**< A system call failed: see afts_server_error(). */
} afts_status;

#endif
