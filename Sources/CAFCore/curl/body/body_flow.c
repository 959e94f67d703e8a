/*
 * Passes bodies between libcurl and the transfer, and handles back-pressure.
 *
 * A paused response body stays in libcurl: CURL_WRITEFUNC_PAUSE stops reading, and libcurl keeps the rest of the last
 * read. libcurl never decodes it (decoder.h), so what it keeps isn't longer than the read.
 */
#include "curl/body/body_flow.h"

#include "base/clock.h"
#include "base/failure.h"
#include "body/sink_write.h"
#include "curl/body/direct_io.h"
#include "curl/body/early_response.h"
#include "curl/body/read_pause.h"
#include "curl/exchange_state.h"
#include "curl/outcome.h"
#include "transfer/response_body.h"

void afc__body_lists_init(afc__body_lists *lists) {
    afc__list_init(&lists->unwatched);
    afc__list_init(&lists->broken);
}

/* ---- Turns --------------------------------------------------------------------------------- */

static bool is_turn_over(afc__exchange *exchange) {
    return afc__turn_budget_is_spent(&exchange->run.budget, afc__loop_turn(exchange->driver->loop),
                                     1);
}

/**
 * Returns whether the exchange must be paused until the next turn. The first piece of a turn is free and needs no
 * clock, as most responses are one piece. Streams of a shared connection are read together, so one of them can't yield
 * to the others.
 */
static bool must_yield(afc__exchange *exchange) {
    return !exchange->run.is_multiplexed && is_turn_over(exchange);
}

bool afc__exchange_has_yielded(const afc__exchange *exchange) {
    return exchange->run.has_yielded;
}

/* ---- Callbacks ----------------------------------------------------------------------------- */

static void report_waiting(const afc__exchange *exchange) {
    exchange->hop.owner.waiting(exchange->hop.owner.context);
}

static void report_filled(afc__exchange *exchange) {
    if (!afc__sink_has_block(&exchange->hop.transfer->sink)) return;
    exchange->hop.owner.filled(exchange->hop.owner.context);
}

/**
 * Returns the bytes received on the wire, including this chunk. Since 8.5.0 libcurl counts a read only after it was
 * consumed, so this chunk is added.
 */
static int64_t count_received(const afc__exchange *exchange, size_t size) {
    curl_off_t received = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_DOWNLOAD_T, &received);
    int64_t passed = exchange->run.passed + (int64_t)size;
    return passed > received ? passed : received;
}

/** While a challenge waits for its answer, only the hop fails: the body matters only if its response is accepted. */
static afc__flow refuse_encoded(afc__exchange *exchange, afc_failure *failure) {
    afc__transfer *transfer = exchange->hop.transfer;
    if (failure->status == AFC_EPROTOCOL)
        afc__give_reason(failure, AFC_REASON_CONTENT_CODING, AFC_EPROTOCOL);
    if (transfer->hop.phase == AFC__PHASE_AWAITING_ANSWER)
        exchange->own_failure = *failure;
    else
        afc__transfer_fail(transfer, failure);
    return AFC__STOP;
}

static void describe(const afc__decoder *decoder, afc__decoding cause, afc_failure *out) {
    if (cause == AFC__DECODE_NO_MEMORY) {
        afc__fail_memory(out);
    } else if (cause == AFC__DECODE_BEHIND_END) {
        afc__fail(out, AFC_EPROTOCOL, "unexpected bytes behind the encoded body");
    } else {
        afc__fail(out, AFC_EPROTOCOL, "invalid %s: %s", afc__decoder_name(decoder),
                  afc__decoder_problem(decoder));
    }
}

/**
 * Passes on a part of the body. libcurl passes a paused part again, with what was read behind it. The decoder can make
 * any number of pieces of a few bytes, so the exchange yields between two pieces if its turn is over: `*yields` is then
 * true, and the part is paused. A body that is collected in memory, whose size limit ends it soon, doesn't yield on a
 * shared connection, as a pause would make the other exchanges wait.
 */
static afc__flow decode(afc__exchange *exchange, afc_slice chunk, int64_t received, bool *yields) {
    afc__transfer *transfer = exchange->hop.transfer;
    afc__decoder *decoder = exchange->run.decoder;
    bool may_yield = !exchange->run.is_multiplexed || transfer->sink.kind != AFC_SINK_MEMORY;
    for (;;) {
        afc_slice piece;
        afc__decoding result = afc__decoder_next(decoder, chunk, &piece);
        if (result == AFC__DECODED_ALL) return AFC__CONSUMED;
        if (result != AFC__DECODED_PIECE && result != AFC__DECODED_BETWEEN) {
            afc_failure failure;
            describe(decoder, result, &failure);
            return refuse_encoded(exchange, &failure);
        }
        *yields = may_yield && is_turn_over(exchange);
        if (*yields) return AFC__PAUSED;
        if (result == AFC__DECODED_BETWEEN) {
            uint64_t between = afc__decoder_between(decoder);
            if (!afc__transfer_admits_decoded(transfer, between, received)) return AFC__STOP;
            continue;
        }
        afc__flow flow = afc__transfer_on_body(transfer, piece, received);
        if (flow != AFC__CONSUMED) return flow;
        afc__decoder_took_piece(decoder);
        report_filled(exchange);
    }
}

static afc__flow pass_on(afc__exchange *exchange, afc_slice chunk, int64_t received, bool *yields) {
    afc__transfer *transfer = exchange->hop.transfer;
    afc_failure failure;
    if (!afc__transfer_decodes_body(transfer) || afc__hop_discards_body(&transfer->hop))
        return afc__transfer_on_body(transfer, chunk, received);
    if (exchange->run.decoder == NULL &&
        afc__decoder_new(&exchange->run.decoder, &transfer->hop.reader->head, &failure) != AFC_OK)
        return refuse_encoded(exchange, &failure);
    return decode(exchange, chunk, received, yields);
}

size_t afc__exchange_take_body(char *bytes, size_t one, size_t size, void *context) {
    (void)one;
    afc__exchange *exchange = context;
    if (size == 0) return 0;
    int64_t received = count_received(exchange, size);
    afc__exchange_note_activity(exchange);
    bool yields = must_yield(exchange);
    afc__flow flow = yields ? AFC__PAUSED
                            : pass_on(exchange, (afc_slice){bytes, size}, received, &yields);
    switch (flow) {
    case AFC__CONSUMED:
        exchange->run.passed += (int64_t)size;
        report_filled(exchange);
        exchange->early.is_complete = afc__exchange_has_whole_response(exchange);
        return exchange->early.is_complete ? 0 : size;
    case AFC__PAUSED:
        afc__receiving_pauses(exchange);
        if (yields) exchange->run.has_yielded = true;
        report_waiting(exchange);
        return CURL_WRITEFUNC_PAUSE;
    case AFC__STOP:
        break;
    }
    return 0;
}

size_t afc__exchange_read_body(char *buffer, size_t one, size_t size, void *context) {
    afc__exchange *exchange = context;
    afc__exchange_note_activity(exchange);
    ptrdiff_t count = (ptrdiff_t)afc__direct_take_unsent(exchange, buffer, one * size);
    if (count == 0) count = afc__transfer_read_body(exchange->hop.transfer, buffer, one * size);
    if (count >= 0) {
        afc__direct_gave(exchange, (size_t)count);
        return (size_t)count;
    }
    if (count != AFC_READ_AGAIN) return CURL_READFUNC_ABORT;
    afc__sending_waits(exchange);
    exchange->early.is_complete = afc__exchange_has_whole_response(exchange);
    if (exchange->early.is_complete) return CURL_READFUNC_ABORT;
    report_waiting(exchange);
    return CURL_READFUNC_PAUSE;
}

void afc__exchange_report_end(afc__exchange *exchange) {
    if (exchange->broken_node.next != NULL) return;
    afc__list_append(&exchange->driver->bodies.broken, &exchange->broken_node);
}

/* ---- Received without libcurl --------------------------------------------------------------- */

/** Keeps what the transfer didn't consume, and pauses libcurl as if it had passed these bytes on. */
static afc__flow hold_input(afc__exchange *exchange, afc_slice chunk, int64_t received) {
    if (afc__transfer_keep(exchange->hop.transfer, chunk, received) == AFC__STOP) return AFC__STOP;
    afc__receiving_pauses(exchange);
    report_waiting(exchange);
    CURLcode code = curl_easy_pause(exchange->easy, CURLPAUSE_ALL);
    return code == CURLE_OK ? AFC__PAUSED : AFC__STOP;
}

void afc__exchange_take_received(afc__exchange *exchange, afc_slice chunk) {
    int64_t received = exchange->run.passed + (int64_t)chunk.size;
    afc__flow flow = afc__transfer_on_body(exchange->hop.transfer, chunk, received);
    if (flow == AFC__PAUSED) flow = hold_input(exchange, chunk, received);
    if (flow != AFC__STOP) {
        exchange->run.passed += (int64_t)chunk.size;
        return;
    }
    afc__exchange_end_with(exchange, CURLE_WRITE_ERROR);
    afc__exchange_report_end(exchange);
}

/* ---- Pausing ------------------------------------------------------------------------------- */

/** Returns whether the whole request was sent. Never true for a body of unknown length. */
static bool has_sent_all(const afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    if (!transfer->request.sends_body) return true;
    curl_off_t sent = 0;
    curl_easy_getinfo(exchange->easy, CURLINFO_SIZE_UPLOAD_T, &sent);
    return transfer->source.length != AFC_LENGTH_UNKNOWN && sent == transfer->source.length;
}

/**
 * Returns CURLPAUSE_SEND if sending must be paused as long as receiving may be paused again, or 0. For versions of
 * libcurl that read after that (afc__quirks.reads_after_pausing_again): curl_easy_pause() first passes on what libcurl
 * holds, and the receiver may pause again meanwhile. libcurl doesn't read then if sending is paused. That is harmless
 * if the exchange has nothing to send, or is upgraded.
 */
static int sending_to_pause(const afc__exchange *exchange) {
    if (!exchange->driver->quirks.reads_after_pausing_again) return 0;
    bool may_pause = has_sent_all(exchange) || afc__transfer_is_upgraded(exchange->hop.transfer);
    return may_pause ? CURLPAUSE_SEND : 0;
}

/** Returns CURLPAUSE_RECV or CURLPAUSE_RECV_CONT, which makes libcurl's state of receiving equal to ours. */
static int receiving_to_set(const afc__exchange *exchange) {
    return afc__exchange_receiving_is_paused(exchange) ? CURLPAUSE_RECV : CURLPAUSE_RECV_CONT;
}

/** Resumes libcurl. `receiving` is the result of receiving_to_set(), taken before libcurl passes on what it holds. */
static CURLcode resume(afc__exchange *exchange, int receiving) {
    int sending = sending_to_pause(exchange);
    CURLcode code = curl_easy_pause(exchange->easy, receiving | sending);
    if (code != CURLE_OK || sending == 0) return code;
    if (!afc__exchange_waits(exchange)) return curl_easy_pause(exchange->easy, receiving);
    /*
     * Paused again meanwhile. libcurl can't end the exchange before it is resumed, so the sending of a request may stay
     * paused until then; that of an upgraded connection may not.
     */
    bool sends = afc__transfer_is_upgraded(exchange->hop.transfer) &&
                 afc__direct_has_output(exchange);
    return sends ? curl_easy_pause(exchange->easy, CURLPAUSE_RECV) : code;
}

void afc__exchange_leave_lists(afc__exchange *exchange) {
    afc__list_remove(&exchange->broken_node);
    afc__list_remove(&exchange->unwatched_node);
}

afc__exchange *afc__driver_next_broken(afc__driver *driver) {
    afc__node *node = afc__list_first(&driver->bodies.broken);
    if (node == NULL) return NULL;
    afc__exchange *exchange = AFC__OWNER(node, afc__exchange, broken_node);
    afc__list_remove(&exchange->broken_node);
    afc__list_remove(&exchange->unwatched_node);
    return exchange;
}

/* ---- Bodies that wait for 100 (Continue) ---------------------------------------------------- */

enum {
    /* Added to the wait, so that libcurl's own timer usually fires first. */
    AFTER_TIMER_MS = 20,
    /* The time until the next try, if something arrived at the same moment. */
    NEXT_TRY_MS = 100
};

static void wait_for_continue(afc__exchange *exchange, int64_t wait_ms) {
    exchange->run.continue_due_us = afc__now_us() + wait_ms * 1000;
}

void afc__exchange_await_continue(afc__exchange *exchange) {
    exchange->run.continue_due_us = 0;
    if (!exchange->driver->quirks.forgets_waiting_body) return;
    if (!afc__transfer_expects(exchange->hop.transfer)) return;
    wait_for_continue(exchange, exchange->state.expect_ms + AFTER_TIMER_MS);
}

int64_t afc__exchange_continue_due(const afc__exchange *exchange) {
    bool waits = exchange->run.continue_due_us != 0 && !exchange->run.has_ended &&
                 afc__transfer_awaits_continue(exchange->hop.transfer);
    return waits ? exchange->run.continue_due_us : INT64_MAX;
}

/**
 * Sets the wait to 0 and makes libcurl run the exchange, which checks whether the wait is over. A change of what is
 * paused makes it run; receiving stays paused if it was.
 */
bool afc__exchange_send_waiting_body(afc__exchange *exchange) {
    int receiving = receiving_to_set(exchange);
    if (afc__multi_is_broken(&exchange->driver->multi)) return true;
    curl_easy_setopt(exchange->easy, CURLOPT_EXPECT_100_TIMEOUT_MS, 0L);
    exchange->state.expect_ms = 0;
    wait_for_continue(exchange, NEXT_TRY_MS);
    CURLcode code = curl_easy_pause(exchange->easy, receiving | CURLPAUSE_SEND);
    if (code == CURLE_OK) code = curl_easy_pause(exchange->easy, receiving);
    /* CURLE_BAD_FUNCTION_ARGUMENT: the exchange lost its connection, and libcurl's message about its end follows. */
    if (code != CURLE_OK && code != CURLE_BAD_FUNCTION_ARGUMENT)
        afc__exchange_end_with(exchange, code);
    return !exchange->run.has_ended;
}

/* ---- Resuming ------------------------------------------------------------------------------ */

/** Passes on as many of the kept bytes as the transfer accepts. */
static afc__flow deliver(afc__exchange *exchange) {
    while (afc__transfer_has_kept(exchange->hop.transfer)) {
        afc__flow flow = afc__transfer_deliver(exchange->hop.transfer);
        if (flow != AFC__CONSUMED) return flow;
        report_filled(exchange);
    }
    return AFC__CONSUMED;
}

bool afc__exchange_resume(afc__exchange *exchange) {
    exchange->run.has_yielded = false;
    exchange->run.budget = (afc__turn_budget){0};
    /* curl_easy_pause() would use the broken multi handle. The exchange ends once that is replaced. */
    if (afc__multi_is_broken(&exchange->driver->multi)) return true;
    if (afc__direct_send(exchange)) return true;
    afc__flow flow = deliver(exchange);
    if (flow == AFC__STOP) {
        afc__exchange_end_with(exchange, CURLE_WRITE_ERROR);
        return false;
    }
    if (exchange->run.has_ended) return flow == AFC__PAUSED;
    if (flow == AFC__CONSUMED) {
        afc__receiving_resumes(exchange);
    } else if (!exchange->hop.transfer->request.sends_body) {
        /* Receiving stays paused, and without a request body there is nothing else to resume. */
        return true;
    } else if (afc__transfer_is_upgraded(exchange->hop.transfer)) {
        /* What was received without libcurl must be consumed before what libcurl would read. */
        afc__receiving_pauses(exchange);
    } else {
        afc__receiving_falls_behind(exchange);
    }
    afc__sending_resumes(exchange);
    /* libcurl passes on the bytes that it holds inside this call; the exchange may be paused again at once. */
    CURLcode code = resume(exchange, receiving_to_set(exchange));
    if (!afc__reading_begins(exchange) && code == CURLE_OK) code = CURLE_ABORTED_BY_CALLBACK;
    /* Here libcurl returns a callback's error instead of ending the transfer with it. */
    if (code != CURLE_OK && code != CURLE_BAD_FUNCTION_ARGUMENT)
        afc__exchange_end_with(exchange, code);
    return !exchange->run.has_ended;
}

bool afc__exchange_must_deliver(afc__exchange *exchange) {
    const afc__transfer *transfer = exchange->hop.transfer;
    bool is_orderly = exchange->run.code == CURLE_OK ||
                      afc__exchange_is_upgrade_over(exchange, exchange->run.code);
    if (!is_orderly || afc__transfer_has_failed(transfer)) return false;
    if (!afc__transfer_has_kept(transfer)) return false;
    if (!afc__exchange_receiving_is_paused(exchange)) afc__receiving_falls_behind(exchange);
    report_waiting(exchange);
    return true;
}
