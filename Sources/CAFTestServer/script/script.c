#include "script/script.h"

#include "base/bytes.h"

#include <stdlib.h>
#include <string.h>

afts_script *afts_script_new(void) {
    afts_script *script = calloc(1, sizeof *script);
    if (script != NULL) atomic_init(&script->references, 1);
    return script;
}

afts_script *afts_script_retain(afts_script *script) {
    if (script != NULL) atomic_fetch_add_explicit(&script->references, 1, memory_order_relaxed);
    return script;
}

static void free_step(afts__step *step) {
    if (step->destroy != NULL) step->destroy(step->payload);
    free(step->text);
    free(step->bytes);
}

void afts_script_release(afts_script *script) {
    if (script == NULL ||
        atomic_fetch_sub_explicit(&script->references, 1, memory_order_acq_rel) != 1) {
        return;
    }
    for (size_t i = 0; i < script->count; i++) {
        free_step(&script->steps[i]);
    }
    free(script->steps);
    free(script);
}

static bool reserve(afts_script *script) {
    if (script->count < script->capacity) return true;
    size_t capacity = script->capacity ? script->capacity * 2 : 4;
    afts__step *steps = realloc(script->steps, capacity * sizeof *steps);
    if (steps == NULL) return false;
    script->steps = steps;
    script->capacity = capacity;
    return true;
}

/** Appends a step; its text and bytes are the caller's and copied here. */
static void append(afts_script *script, afts__step step) {
    const char *text = step.text;
    const uint8_t *bytes = step.bytes;
    step.text = afts__copy_text(text);
    step.bytes = bytes != NULL ? afts__copy(bytes, step.size) : NULL;
    bool copied = (text == NULL || step.text != NULL) && (bytes == NULL || step.bytes != NULL);
    if (script == NULL || !copied || !reserve(script)) {
        free_step(&step);
        if (script != NULL) script->is_invalid = true;
        return;
    }
    script->steps[script->count++] = step;
}

void afts_respond(afts_script *script, int status, const char *headers, const void *body,
                  size_t size) {
    append(script, (afts__step){.kind = AFTS__STEP_RESPOND,
                                .status = status,
                                .text = (char *)headers,
                                .bytes = (uint8_t *)body,
                                .size = body != NULL ? size : 0,
                                .count = 1});
}

void afts_respond_repeated(afts_script *script, int status, const char *headers, const void *block,
                           size_t size, uint64_t count) {
    append(script, (afts__step){.kind = AFTS__STEP_RESPOND_REPEATED,
                                .status = status,
                                .text = (char *)headers,
                                .bytes = (uint8_t *)block,
                                .size = block != NULL ? size : 0,
                                .count = count});
}

void afts_respond_truncated(afts_script *script, int status, const char *headers, const void *body,
                            size_t size, uint64_t promised) {
    append(script, (afts__step){.kind = AFTS__STEP_RESPOND_TRUNCATED,
                                .status = status,
                                .text = (char *)headers,
                                .bytes = (uint8_t *)body,
                                .size = body != NULL ? size : 0,
                                .count = promised});
}

void afts_respond_chunked(afts_script *script, int status, const char *headers) {
    append(script, (afts__step){.kind = AFTS__STEP_RESPOND_CHUNKED,
                                .status = status,
                                .text = (char *)headers});
}

void afts_chunk(afts_script *script, const void *bytes, size_t size) {
    afts_chunk_repeated(script, bytes, size, 1);
}

void afts_chunk_repeated(afts_script *script, const void *bytes, size_t size, uint64_t count) {
    append(script, (afts__step){.kind = AFTS__STEP_CHUNK_REPEATED,
                                .bytes = (uint8_t *)bytes,
                                .size = bytes != NULL ? size : 0,
                                .count = count});
}

void afts_last_chunk(afts_script *script, const char *trailers) {
    append(script, (afts__step){.kind = AFTS__STEP_LAST_CHUNK, .text = (char *)trailers});
}

void afts_interim(afts_script *script, int status, const char *headers) {
    append(script,
           (afts__step){.kind = AFTS__STEP_INTERIM, .status = status, .text = (char *)headers});
}

void afts_echo(afts_script *script) {
    append(script, (afts__step){.kind = AFTS__STEP_ECHO});
}

void afts_upgrade(afts_script *script, const char *headers) {
    append(script, (afts__step){.kind = AFTS__STEP_UPGRADE, .text = (char *)headers});
}

void afts_send_frame(afts_script *script, uint8_t first, const void *bytes, size_t size) {
    append(script, (afts__step){.kind = AFTS__STEP_SEND_FRAME,
                                .status = first,
                                .bytes = (uint8_t *)bytes,
                                .size = bytes != NULL ? size : 0});
}

void afts_echo_frames(afts_script *script) {
    append(script, (afts__step){.kind = AFTS__STEP_ECHO_FRAMES});
}

void afts_handle(afts_script *script, afts_handler handler, void *payload,
                 void (*destroy)(void *payload)) {
    append(script, (afts__step){.kind = AFTS__STEP_HANDLE,
                                .handler = handler,
                                .payload = payload,
                                .destroy = destroy});
}

void afts_send(afts_script *script, const void *bytes, size_t size) {
    afts_send_repeated(script, bytes, size, 1);
}

void afts_send_text(afts_script *script, const char *text) {
    afts_send(script, text, text != NULL ? strlen(text) : 0);
}

void afts_send_crumbs(afts_script *script, const void *bytes, size_t size, size_t crumb,
                      unsigned pause_ms) {
    append(script, (afts__step){.kind = AFTS__STEP_SEND_CRUMBS,
                                .bytes = (uint8_t *)bytes,
                                .size = bytes != NULL ? size : 0,
                                .crumb = crumb ? crumb : 1,
                                .pause_ms = pause_ms});
}

void afts_send_repeated(afts_script *script, const void *block, size_t size, uint64_t count) {
    append(script, (afts__step){.kind = AFTS__STEP_SEND_REPEATED,
                                .bytes = (uint8_t *)block,
                                .size = block != NULL ? size : 0,
                                .count = count});
}

void afts_read_head_only(afts_script *script) {
    if (script != NULL) script->head_only = true;
}

void afts_read_body(afts_script *script) {
    afts_read_body_bytes(script, UINT64_MAX);
}

void afts_read_body_slowly(afts_script *script, size_t step, unsigned pause_ms) {
    append(script, (afts__step){.kind = AFTS__STEP_READ_BODY,
                                .crumb = step ? step : 1,
                                .pause_ms = pause_ms,
                                .count = UINT64_MAX});
}

void afts_read_body_bytes(afts_script *script, uint64_t count) {
    append(script, (afts__step){.kind = AFTS__STEP_READ_BODY, .crumb = SIZE_MAX, .count = count});
}

void afts_read_request(afts_script *script) {
    append(script, (afts__step){.kind = AFTS__STEP_READ_REQUEST});
}

void afts_read_bytes(afts_script *script, uint64_t count) {
    append(script, (afts__step){.kind = AFTS__STEP_READ_BYTES, .count = count});
}

void afts_wait_peer_close(afts_script *script) {
    append(script, (afts__step){.kind = AFTS__STEP_WAIT_PEER_CLOSE});
}

void afts_pause(afts_script *script, unsigned milliseconds) {
    append(script, (afts__step){.kind = AFTS__STEP_PAUSE, .pause_ms = milliseconds});
}

void afts_stall(afts_script *script, const char *gate) {
    append(script,
           (afts__step){.kind = AFTS__STEP_STALL, .text = (char *)(gate != NULL ? gate : "")});
}

void afts_close(afts_script *script) {
    append(script, (afts__step){.kind = AFTS__STEP_CLOSE});
}

void afts_half_close(afts_script *script) {
    append(script, (afts__step){.kind = AFTS__STEP_HALF_CLOSE});
}

void afts_reset(afts_script *script) {
    append(script, (afts__step){.kind = AFTS__STEP_RESET});
}

void afts_close_abruptly(afts_script *script) {
    append(script, (afts__step){.kind = AFTS__STEP_CLOSE_ABRUPTLY});
}
