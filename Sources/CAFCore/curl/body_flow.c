/*
 * Bodies between libcurl and the transfer, and what happens where one of them has to wait.
 *
 * A response body waits in libcurl: CURL_WRITEFUNC_PAUSE stops reading, and libcurl holds what is left of
 * the read. If it decodes the body it decodes all of that read, however much it becomes, and collects it
 * without asking us (pausewrite() in sendf.c; cw-out.c since 8.7), where no limit of ours counts. So as
 * soon as libcurl has returned it is made to pass on what it has collected, and the transfer judges and
 * keeps that: see flush(). What isn't decoded is never longer than the read, and stays where it is.
 */
#include "curl/body_flow.h"

#include "base/failure.h"
#include "curl/early_response.h"
#include "curl/read_pause.h"

/* What libcurl passes on at once, if it has so much (CURL_MAX_WRITE_SIZE). */
enum { LONGEST_CHUNK = 16 * 1024 };

/* ---- Codings ------------------------------------------------------------------------------- */

/**
 * A transfer coding that wasn't asked for. libcurl 7 decodes it, 8.10 and later refuse it, but those in between ignore
 * the field from there on, and pass on what is encoded, or even chunked, as if it were the body.
 */
bool af__exchange_cannot_decode(const af__exchange *exchange) {
    af__transfer *transfer = exchange->transfer;
    if (!af__hop_has_coded_body(transfer)) return false;
    if (curl_version_info(CURLVERSION_NOW)->version_num < 0x080100) return false;
    af_failure failure = {0};
    af__fail(&failure, AF_EPROTOCOL,
             "the body has a transfer coding that the request didn't accept");
    af__transfer_fail(transfer, &failure);
    return true;
}

/* ---- Callbacks ----------------------------------------------------------------------------- */

static void wait_for_transfer(af__exchange *exchange) {
    exchange->has_paused = true;
    exchange->owner.waiting(exchange->owner.context);
}

static void tell_filled(af__exchange *exchange) {
    if (!af__sink_has_block(&exchange->transfer->sink)) return;
    exchange->owner.filled(exchange->owner.context);
}

static void flush_later(af__exchange *exchange) {
    af__driver *driver = exchange->driver;
    if (exchange->flush != AF__FLUSH_NONE) return;
    exchange->flush = AF__FLUSH_DUE;
    exchange->next_to_flush = driver->to_flush;
    driver->to_flush = exchange;
}

/**
 * libcurl passes on what it has collected. The last chunk is shorter, and stays with libcurl: what it
 * still holds keeps it from reading, and from ending the exchange.
 */
static af__flow keep(af__exchange *exchange, af_slice chunk, int64_t received) {
    bool is_last = chunk.size < LONGEST_CHUNK;
    exchange->flush = is_last ? AF__FLUSH_STOPPED : AF__FLUSHING;
    return af__transfer_keep(exchange->transfer, chunk, received, !is_last);
}

/**
 * Bytes on the wire with those of this chunk. Since 8.5.0 libcurl counts what it has read once it was taken; what is
 * decoded on its way can't be counted here.
 */
static int64_t count_received(const af__exchange *exchange, size_t size) {
    curl_off_t received = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
    if (af__hop_is_decoded(exchange->transfer)) return received;
    int64_t passed = exchange->passed + (int64_t)size;
    return passed > received ? passed : received;
}

size_t af__exchange_take_body(char *bytes, size_t one, size_t size, void *context) {
    (void)one;
    af__exchange *exchange = context;
    if (size == 0) return 0;
    int64_t received = count_received(exchange, size);
    af_slice chunk = {bytes, size};
    bool is_flushing = exchange->flush == AF__FLUSHING;
    if (!is_flushing) exchange->last_activity_us = af__loop_now(exchange->driver->loop);
    af__flow flow = is_flushing ? keep(exchange, chunk, received)
                                : af__transfer_on_body(exchange->transfer, chunk, received);
    if (flow != AF__STOP && af__exchange_cannot_decode(exchange)) return 0;
    switch (flow) {
    case AF__CONSUMED:
        exchange->passed += (int64_t)size;
        if (is_flushing) return size;
        tell_filled(exchange);
        exchange->has_whole_answer = af__exchange_is_answered(exchange);
        return exchange->has_whole_answer ? 0 : size;
    case AF__PAUSED:
        wait_for_transfer(exchange);
        if (!is_flushing && af__hop_is_decoded(exchange->transfer)) flush_later(exchange);
        af__reading_stops(exchange);
        return CURL_WRITEFUNC_PAUSE;
    case AF__STOP:
        break;
    }
    return 0;
}

size_t af__exchange_read_body(char *buffer, size_t one, size_t size, void *context) {
    af__exchange *exchange = context;
    exchange->last_activity_us = af__loop_now(exchange->driver->loop);
    ptrdiff_t count = af__transfer_read_body(exchange->transfer, buffer, one * size);
    if (count >= 0) return (size_t)count;
    if (count == AF_READ_AGAIN) {
        wait_for_transfer(exchange);
        return CURL_READFUNC_PAUSE;
    }
    return CURL_READFUNC_ABORT;
}

/* ---- Flushing ------------------------------------------------------------------------------ */

/** The exchange ends without libcurl's doing. */
static void end_with(af__exchange *exchange, CURLcode code) {
    exchange->has_ended = true;
    exchange->code = code;
}

/**
 * Resume, with callbacks that keep what comes; the last one pauses again. libcurl doesn't read in
 * curl_easy_pause(), and not afterwards either as long as it holds something: only then, before 8.6, it
 * sets conn->cselect_bits. If the last chunk was as long as the others it holds nothing, and reads once
 * more at most.
 */
static void flush(af__exchange *exchange) {
    exchange->flush = AF__FLUSHING;
    CURLcode code = curl_easy_pause(exchange->easy, CURLPAUSE_CONT);
    if (code == CURLE_OK && exchange->flush == AF__FLUSHING) {
        code = curl_easy_pause(exchange->easy, CURLPAUSE_RECV);
    }
    exchange->flush = AF__FLUSH_NONE;
    /* Without a connection it has ended, and its message is about to be read. */
    if (code != CURLE_OK && code != CURLE_BAD_FUNCTION_ARGUMENT) end_with(exchange, code);
}

void af__driver_flush(af__driver *driver) {
    while (driver->to_flush != NULL) {
        af__exchange *exchange = driver->to_flush;
        driver->to_flush = exchange->next_to_flush;
        flush(exchange);
        if (!exchange->has_ended) continue;
        exchange->next_broken = driver->broken;
        driver->broken = exchange;
    }
}

void af__exchange_forget_flush(af__exchange *exchange) {
    af__exchange **link = &exchange->driver->broken;
    while (*link != NULL && *link != exchange) link = &(*link)->next_broken;
    if (*link != NULL) *link = exchange->next_broken;
    exchange->next_broken = NULL;
}

af__exchange *af__driver_next_broken(af__driver *driver) {
    af__exchange *exchange = driver->broken;
    if (exchange != NULL) af__exchange_forget_flush(exchange);
    return exchange;
}

/* ---- Going on ------------------------------------------------------------------------------ */

/** Pass on what is kept, as far as it can be. */
static af__flow deliver(af__exchange *exchange) {
    while (af__transfer_has_kept(exchange->transfer)) {
        af__flow flow = af__transfer_deliver(exchange->transfer);
        if (flow != AF__CONSUMED) return flow;
        tell_filled(exchange);
    }
    return AF__CONSUMED;
}

bool af__exchange_resume(af__exchange *exchange) {
    af__flow flow = deliver(exchange);
    if (flow == AF__STOP) {
        end_with(exchange, CURLE_WRITE_ERROR);
        return false;
    }
    if (flow == AF__PAUSED) {
        /* libcurl has nothing to do either, but for a request body that may have something again. */
        if (exchange->has_ended || !exchange->transfer->request.sends_body) return true;
    } else {
        exchange->has_paused = false;
        if (exchange->has_ended) return false;
    }
    /* Bytes that libcurl holds are delivered inside this call and may be held again at once. */
    af__reading_may_begin(exchange);
    CURLcode code = curl_easy_pause(exchange->easy, CURLPAUSE_CONT);
    if (!af__reading_begins(exchange) && code == CURLE_OK) code = CURLE_ABORTED_BY_CALLBACK;
    /* Here libcurl returns the error of a callback instead of ending the transfer with it. */
    if (code != CURLE_OK && code != CURLE_BAD_FUNCTION_ARGUMENT) end_with(exchange, code);
    if (exchange->flush == AF__FLUSH_DUE) {
        /* The only one: what libcurl does in drive() is flushed there. */
        exchange->driver->to_flush = exchange->next_to_flush;
        exchange->flush = AF__FLUSH_NONE;
        if (!exchange->has_ended) flush(exchange);
    }
    return !exchange->has_ended;
}

bool af__exchange_must_deliver(af__exchange *exchange) {
    const af__transfer *transfer = exchange->transfer;
    if (exchange->code != CURLE_OK || af__transfer_has_failed(transfer)) return false;
    if (!af__transfer_has_kept(transfer)) return false;
    wait_for_transfer(exchange);
    return true;
}
