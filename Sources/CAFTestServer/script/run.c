#include "connection/ending.h"
#include "connection/io.h"
#include "http/request.h"
#include "http/response.h"
#include "http/websocket.h"
#include "script/gate.h"
#include "script/script.h"

/** AFTS_FOREVER if the length doesn't fit. */
static uint64_t total_of(uint64_t size, uint64_t count) {
    return size > 0 && count > UINT64_MAX / size ? AFTS_FOREVER : size * count;
}

static afts_status send_crumbs(afts_conn *conn, const afts__step *step) {
    afts_status status = AFTS_OK;
    for (size_t at = 0; status == AFTS_OK && at < step->size; at += step->crumb) {
        size_t left = step->size - at;
        if (at > 0) status = afts__pause(conn, step->pause_ms);
        if (status == AFTS_OK) {
            status = afts__write(conn, step->bytes + at, left < step->crumb ? left : step->crumb);
        }
        if (left <= step->crumb) break;
    }
    return status;
}

/** Reads this many bytes of the body; `*is_over` if it ended before or with them. */
static afts_status read_piece(afts_conn *conn, size_t size, bool *is_over) {
    *is_over = false;
    while (size > 0) {
        size_t count;
        afts_status status = afts__read_body_some(conn, size, &count);
        if (status != AFTS_OK) return status;
        *is_over = count == 0 || conn->request->seen.body_complete;
        if (*is_over) return AFTS_OK;
        size -= count;
    }
    return AFTS_OK;
}

static afts_status read_body(afts_conn *conn, const afts__step *step) {
    uint64_t left = step->count;
    while (left > 0) {
        bool is_over;
        size_t size = step->crumb < left ? step->crumb : (size_t)left;
        afts_status status = read_piece(conn, size, &is_over);
        if (status != AFTS_OK || is_over) return status;
        left -= size;
        if (step->pause_ms > 0 && left > 0) status = afts__pause(conn, step->pause_ms);
        if (status != AFTS_OK) return status;
    }
    return AFTS_OK;
}

static afts_status read_request(afts_conn *conn) {
    afts_status status = afts__read_head(conn);
    if (status != AFTS_OK) return status;
    status = afts__continue(conn);
    if (status == AFTS_OK) status = afts__read_body(conn);
    afts__record_request(conn);
    return status;
}

static afts_status wait_peer_close(afts_conn *conn) {
    uint8_t scratch[4096];
    size_t count;
    afts_status status;
    do {
        status = afts__read(conn, scratch, sizeof scratch, &count);
    } while (status == AFTS_OK && count > 0);
    /* A reset also ends the wait; the steps that follow fail by themselves. */
    return status == AFTS_ECANCELED ? AFTS_ECANCELED : AFTS_OK;
}

static afts_status handle(afts_conn *conn, const afts__step *step) {
    step->handler(conn, conn->request != NULL ? &conn->request->seen : NULL, step->payload);
    return conn->fd < 0 ? afts__ended(conn) : AFTS_OK;
}

static afts_status respond_truncated(afts_conn *conn, const afts__step *step) {
    afts_status status = afts__respond(conn, step->status, step->text, step->count, step->bytes,
                                       step->size, 1);
    if (status == AFTS_OK) afts__close(conn);
    return status;
}

static afts_status respond_repeated(afts_conn *conn, const afts__step *step) {
    uint64_t total = total_of(step->size, step->count);
    return afts__respond(conn, step->status, step->text, total, step->bytes, step->size,
                         step->count);
}

static afts_status run_response(afts_conn *conn, const afts__step *step) {
    switch (step->kind) {
    case AFTS__STEP_RESPOND:
        return afts__respond(conn, step->status, step->text, step->size, step->bytes, step->size,
                             1);
    case AFTS__STEP_RESPOND_REPEATED:
        return respond_repeated(conn, step);
    case AFTS__STEP_RESPOND_TRUNCATED:
        return respond_truncated(conn, step);
    case AFTS__STEP_RESPOND_CHUNKED:
        return afts__respond_chunked(conn, step->status, step->text);
    case AFTS__STEP_CHUNK_REPEATED:
        return afts__chunk(conn, step->bytes, step->size, step->count);
    case AFTS__STEP_LAST_CHUNK:
        return afts__last_chunk(conn, step->text);
    case AFTS__STEP_INTERIM:
        return afts__interim(conn, step->status, step->text);
    default:
        return afts__echo(conn);
    }
}

static afts_status run_ending(afts_conn *conn, const afts__step *step) {
    switch (step->kind) {
    case AFTS__STEP_CLOSE:
        afts__close(conn);
        break;
    case AFTS__STEP_HALF_CLOSE:
        afts__half_close(conn);
        break;
    case AFTS__STEP_RESET:
        afts__reset(conn);
        break;
    default:
        afts__close_abruptly(conn);
        break;
    }
    return AFTS_OK;
}

static afts_status run_websocket(afts_conn *conn, const afts__step *step) {
    switch (step->kind) {
    case AFTS__STEP_UPGRADE:
        return afts__upgrade(conn, step->text);
    case AFTS__STEP_SEND_FRAME:
        return afts__send_frame(conn, (uint8_t)step->status, step->bytes, step->size);
    default:
        return afts__echo_frames(conn);
    }
}

static afts_status run_step(afts_conn *conn, const afts__step *step) {
    switch (step->kind) {
    case AFTS__STEP_HANDLE:
        return handle(conn, step);
    case AFTS__STEP_SEND_CRUMBS:
        return send_crumbs(conn, step);
    case AFTS__STEP_SEND_REPEATED:
        return afts__write_repeated(conn, step->bytes, step->size, step->count);
    case AFTS__STEP_READ_BODY:
        return read_body(conn, step);
    case AFTS__STEP_READ_REQUEST:
        return read_request(conn);
    case AFTS__STEP_READ_BYTES:
        return afts__read_discarding(conn, step->count);
    case AFTS__STEP_WAIT_PEER_CLOSE:
        return wait_peer_close(conn);
    case AFTS__STEP_PAUSE:
        return afts__pause(conn, step->pause_ms);
    case AFTS__STEP_STALL:
        return afts__stall(conn, step->text);
    case AFTS__STEP_UPGRADE:
    case AFTS__STEP_SEND_FRAME:
    case AFTS__STEP_ECHO_FRAMES:
        return run_websocket(conn, step);
    case AFTS__STEP_CLOSE:
    case AFTS__STEP_HALF_CLOSE:
    case AFTS__STEP_RESET:
    case AFTS__STEP_CLOSE_ABRUPTLY:
        return run_ending(conn, step);
    default:
        return run_response(conn, step);
    }
}

afts_status afts__script_run(afts_conn *conn, const afts_script *script) {
    afts_status status = AFTS_OK;
    for (size_t i = 0; status == AFTS_OK && i < script->count; i++) {
        status = run_step(conn, &script->steps[i]);
    }
    return status;
}

afts_status afts_conn_run(afts_conn *conn, afts_script *script) {
    if (script == NULL || script->is_invalid) return AFTS_ENOMEM;
    return afts__script_run(conn, script);
}
