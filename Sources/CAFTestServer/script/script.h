/** The steps of a script, and how a connection runs them. */
#ifndef AFTS_SCRIPT_SCRIPT_H
#define AFTS_SCRIPT_SCRIPT_H

#include "caftestserver.h"

#include <stdatomic.h>

typedef enum afts__step_kind {
    AFTS__STEP_RESPOND,
    AFTS__STEP_RESPOND_REPEATED,
    AFTS__STEP_RESPOND_TRUNCATED,
    AFTS__STEP_RESPOND_CHUNKED,
    AFTS__STEP_CHUNK_REPEATED,
    AFTS__STEP_LAST_CHUNK,
    AFTS__STEP_INTERIM,
    AFTS__STEP_ECHO,
    AFTS__STEP_UPGRADE,
    AFTS__STEP_SEND_FRAME,
    AFTS__STEP_ECHO_FRAMES,
    AFTS__STEP_HANDLE,
    AFTS__STEP_SEND_CRUMBS,
    AFTS__STEP_SEND_REPEATED,
    AFTS__STEP_READ_BODY,
    AFTS__STEP_READ_REQUEST,
    AFTS__STEP_READ_BYTES,
    AFTS__STEP_WAIT_PEER_CLOSE,
    AFTS__STEP_PAUSE,
    AFTS__STEP_STALL,
    AFTS__STEP_CLOSE,
    AFTS__STEP_HALF_CLOSE,
    AFTS__STEP_RESET,
    AFTS__STEP_CLOSE_ABRUPTLY
} afts__step_kind;

typedef struct afts__step {
    afts__step_kind kind;
    int status; /**< HTTP status, or the first byte of a frame. */
    unsigned pause_ms;
    size_t crumb;   /**< Bytes per write or read. */
    uint64_t count; /**< Repetitions, or bytes. */
    char *text;     /**< Headers, trailers, or a gate's name. */
    uint8_t *bytes;
    size_t size;
    afts_handler handler;
    void *payload;
    void (*destroy)(void *payload);
} afts__step;

struct afts_script {
    atomic_size_t references;
    bool is_invalid; /**< A builder ran out of memory. */
    bool head_only;
    afts__step *steps;
    size_t count;
    size_t capacity;
};

afts_status afts__script_run(afts_conn *conn, const afts_script *script);

#endif
