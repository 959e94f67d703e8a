#include "internal.h"

#include <errno.h>

static _Thread_local unsigned handlers_running;

bool afts_in_handler(void) {
    return handlers_running > 0;
}

// A length that doesn't fit is as good as endless.
static uint64_t total_of(uint64_t len, uint64_t count) {
    return len > 0 && count > UINT64_MAX / len ? AFTS_FOREVER : len * count;
}

static int send_crumbs(afts_conn *conn, const afts__step *step) {
    int result = 0;
    for (size_t at = 0; result == 0 && at < step->len; at += step->crumb) {
        size_t left = step->len - at;
        if (at > 0) {
            result = afts__pause(conn, step->pause_ms);
        }
        if (result == 0) {
            result = afts__write(conn, step->bytes + at, left < step->crumb ? left : step->crumb);
        }
        if (left <= step->crumb) {
            break;
        }
    }
    return result;
}

static int read_body(afts_conn *conn, const afts__step *step) {
    uint64_t left = step->count;
    while (left > 0) {
        ssize_t n = afts__read_body_some(conn, step->crumb < left ? step->crumb : (size_t)left);
        if (n <= 0) {
            return (int)n;
        }
        left -= (uint64_t)n;
        int result = step->pause_ms > 0 ? afts__pause(conn, step->pause_ms) : 0;
        if (result != 0) {
            return result;
        }
    }
    return 0;
}

static int read_request(afts_conn *conn) {
    int result = afts__read_head(conn);
    if (result != 0) {
        return result;
    }
    result = afts__continue(conn);
    if (result == 0) {
        result = afts__read_body(conn);
    }
    afts__record_request(conn);
    return result;
}

static int wait_peer_close(afts_conn *conn) {
    uint8_t scratch[4096];
    ssize_t n;
    do {
        n = afts__read(conn, scratch, sizeof scratch);
    } while (n > 0);
    // A reset is what the script waited for, too; the steps that follow will find out.
    return n == -ECANCELED ? -ECANCELED : 0;
}

static int handle(afts_conn *conn, const afts__step *step) {
    handlers_running++;
    step->handler(conn, conn->request ? &conn->request->seen : NULL, step->payload);
    handlers_running--;
    return conn->fd < 0 ? afts__ended(conn) : 0;
}

static int respond_truncated(afts_conn *conn, const afts__step *step) {
    int result = afts__respond(conn, step->status, step->text, step->count, step->bytes, step->len,
                               1);
    if (result == 0) {
        afts__close(conn);
    }
    return result;
}

static int respond_repeated(afts_conn *conn, const afts__step *step) {
    uint64_t total = total_of(step->len, step->count);
    return afts__respond(conn, step->status, step->text, total, step->bytes, step->len,
                         step->count);
}

static int run_answer(afts_conn *conn, const afts__step *step) {
    switch (step->kind) {
    case AFTS__RESPOND:
        return afts__respond(conn, step->status, step->text, step->len, step->bytes, step->len, 1);
    case AFTS__RESPOND_REPEATED:
        return respond_repeated(conn, step);
    case AFTS__RESPOND_TRUNCATED:
        return respond_truncated(conn, step);
    case AFTS__RESPOND_CHUNKED:
        return afts__respond_chunked(conn, step->status, step->text);
    case AFTS__CHUNK_REPEATED:
        return afts__chunk(conn, step->bytes, step->len, step->count);
    case AFTS__LAST_CHUNK:
        return afts__last_chunk(conn, step->text);
    case AFTS__INTERIM:
        return afts__interim(conn, step->status, step->text);
    default:
        return afts__echo(conn);
    }
}

static int run_ending(afts_conn *conn, const afts__step *step) {
    switch (step->kind) {
    case AFTS__CLOSE:
        afts__close(conn);
        return 0;
    case AFTS__HALF_CLOSE:
        afts__half_close(conn);
        return 0;
    case AFTS__RESET:
        afts__reset(conn);
        return 0;
    default:
        afts__close_abruptly(conn);
        return 0;
    }
}

static int run_step(afts_conn *conn, const afts__step *step) {
    switch (step->kind) {
    case AFTS__HANDLE:
        return handle(conn, step);
    case AFTS__SEND_CRUMBS:
        return send_crumbs(conn, step);
    case AFTS__SEND_REPEATED:
        return afts__write_repeated(conn, step->bytes, step->len, step->count);
    case AFTS__READ_BODY:
        return read_body(conn, step);
    case AFTS__READ_REQUEST:
        return read_request(conn);
    case AFTS__READ_BYTES:
        return afts__read_discarding(conn, step->count);
    case AFTS__WAIT_PEER_CLOSE:
        return wait_peer_close(conn);
    case AFTS__PAUSE:
        return afts__pause(conn, step->pause_ms);
    case AFTS__STALL:
        return afts__stall(conn, step->text);
    case AFTS__CLOSE:
    case AFTS__HALF_CLOSE:
    case AFTS__RESET:
    case AFTS__CLOSE_ABRUPTLY:
        return run_ending(conn, step);
    default:
        return run_answer(conn, step);
    }
}

int afts__run(afts_conn *conn, const afts_script *script) {
    int result = 0;
    for (size_t i = 0; result == 0 && i < script->count; i++) {
        result = run_step(conn, &script->steps[i]);
    }
    return result;
}

int afts_conn_run(afts_conn *conn, afts_script *script) {
    if (!script || script->broken) {
        return -ENOMEM;
    }
    return afts__run(conn, script);
}
