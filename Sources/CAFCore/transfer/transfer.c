#include "transfer/transfer.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "message/route.h"
#include "transfer/auth.h"
#include "transfer/cookies_hsts.h"
#include "transfer/next_step.h"
#include "transfer/resume_hop.h"
#include "transfer/transfer_internal.h"

#include <string.h>

enum {
    EXPECTATION_FAILED = 417,
    LARGE_BODY = 1024 * 1024,
    DEFAULT_PROGRESS_MS = 100,
    MOST_WAITS = 100 /* Each leaves a hop behind. */
};

/* ---- Creating ------------------------------------------------------------------------------ */

static af_limits with_defaults(af_limits limits) {
    if (limits.head_bytes == 0) limits.head_bytes = 256 * 1024;
    if (limits.head_count == 0) limits.head_count = 512;
    if (limits.informational == 0) limits.informational = 16;
    if (limits.decoding_ratio == 0) limits.decoding_ratio = 250;
    if (limits.redirects == 0) limits.redirects = 20;
    return limits;
}

static bool start_reader(af__transfer *transfer) {
    af_result *result = transfer->result;
    if (af__result_make_block(result) != AF_OK) {
        return af__transfer_fail_memory(transfer);
    }
    transfer->hop.reader = &result->block->reader;
    af__head_limits limits = {transfer->limits.head_bytes, transfer->limits.head_count,
                              transfer->limits.informational};
    af__head_reader_clear(transfer->hop.reader);
    af__head_reader_init(transfer->hop.reader, limits);
    af__result_lend_head(result);
    return true;
}

/** Before the first line of the first response. */
static bool make_room(af__transfer *transfer) {
    af_result *result = transfer->result;
    if (af__result_make_room(result) != AF_OK) return af__transfer_fail_memory(transfer);
    af__result_lend_head(result);
    if (transfer->sink.kind == AF_SINK_MEMORY) {
        af__response_room *room = result->block->room;
        af__storage body = {room->body, sizeof room->body};
        af__buffer_use_storage(&transfer->sink.memory, body);
    }
    return true;
}

static af_status init_proxy(af__transfer *transfer, const char *text, af_failure *failure) {
    if (text == NULL) return AF_OK;
    transfer->has_own_proxy = true;
    if (text[0] == '\0') return AF_OK;
    transfer->own_proxy = af__zalloc(sizeof *transfer->own_proxy);
    if (transfer->own_proxy == NULL) return af__fail_memory(failure);
    return af__proxy_parse(transfer->own_proxy, af_slice_of(text), failure);
}

static af_status init_socket(af__transfer *transfer, const char *path, af_failure *failure) {
    if (path == NULL) return AF_OK;
    if (path[0] != '\0' && transfer->own_proxy != NULL) {
        return af__fail(failure, AF_EINVAL, "proxy and unix_socket can't be combined");
    }
    af_status status = af__route_check_socket(path, failure);
    if (status != AF_OK) return status;
    transfer->unix_socket = af__copy_text(af_slice_of(path));
    return transfer->unix_socket != NULL ? AF_OK : af__fail_memory(failure);
}

/** The request's own field Expect, or its removal, overrides `expect`. */
static af_expect expectation_of(const af_request *request) {
    for (size_t i = 0; i < request->header_count; i++) {
        const af_header *header = &request->headers[i];
        if (af__is_continue_expectation(header)) return AF_EXPECT_ALWAYS;
        bool is_unwanted = (header->flags & AF_HEADER_REMOVE) != 0;
        if (is_unwanted && af__same_name(header->name, "Expect")) return AF_EXPECT_NEVER;
    }
    return request->expect;
}

af_status af__transfer_init(af__transfer *transfer, const af_request *request,
                            const af_task_events *events, atomic_uint_fast64_t *event_counter,
                            af_failure *failure) {
    memset(transfer, 0, offsetof(af__transfer, room));
    transfer->event_counter = event_counter;
    transfer->limits = with_defaults(request->limits);
    transfer->timeouts = request->timeouts;
    transfer->version = request->version;
    transfer->coding = request->keep_encoding ? AF__CODING_KEPT : AF__CODING_DECODED;
    transfer->allow_downgrade = request->allow_downgrade;
    transfer->waits_for_network = request->wait_for_network;
    transfer->priority = request->priority;
    transfer->expect = expectation_of(request);
    transfer->send_rate.per_second = request->max_send_rate;
    transfer->receive_rate.per_second = request->max_receive_rate;
    uint32_t interval = request->progress_ms != 0 ? request->progress_ms : DEFAULT_PROGRESS_MS;
    transfer->progress_interval_us = (int64_t)interval * 1000;
    transfer->progress = (af_progress){0, AF_LENGTH_UNKNOWN, 0, AF_LENGTH_UNKNOWN, 0};
    af__sink_zero(&transfer->sink);
    af_status status = af__source_init(&transfer->source, &request->body, failure);
    if (status == AF_OK && (unsigned)request->expect > AF_EXPECT_NEVER) {
        status = af__fail(failure, AF_EINVAL, "invalid value for expect: %d", (int)request->expect);
    }
    if (status == AF_OK) status = af__transfer_init_sink(transfer, request, events, failure);
    if (status == AF_OK) status = init_proxy(transfer, request->proxy, failure);
    if (status == AF_OK) status = af__transfer_init_store(transfer, request, failure);
    if (status == AF_OK) status = init_socket(transfer, request->unix_socket, failure);
    if (status == AF_OK) status = af__transfer_init_request(transfer, request, failure);
    if (status == AF_OK) status = af__transfer_init_auth(transfer, request, events, failure);
    if (status == AF_OK) {
        transfer->result = af__result_new();
        if (transfer->result == NULL) status = af__fail_memory(failure);
    }
    if (status != AF_OK) {
        af__transfer_clear(transfer);
        return status;
    }
    transfer->request.sends_body = af__source_exists(&transfer->source);
    if (events != NULL) transfer->events = *events;
    return AF_OK;
}

void af__transfer_clear(af__transfer *transfer) {
    af__request_head_clear(&transfer->request);
    af__hop_clear(&transfer->hop);
    af__source_clear(&transfer->source);
    af__sink_clear(&transfer->sink);
    af__transfer_clear_auth(transfer);
    if (transfer->own_proxy != NULL) af__proxy_clear(transfer->own_proxy);
    af_free(transfer->own_proxy);
    transfer->own_proxy = NULL;
    af__transfer_clear_store(transfer);
    af_free(transfer->unix_socket);
    transfer->unix_socket = NULL;
    af_result_free(transfer->result);
    transfer->result = NULL;
}

/* ---- Sending ------------------------------------------------------------------------------- */

bool af__transfer_begin_hop(af__transfer *transfer) {
    af_failure failure = {0};
    af__hop_clear(&transfer->hop);
    transfer->progress.sent = 0;
    if (!start_reader(transfer)) return false;
    if (!af__transfer_apply_cookies_and_hsts(transfer)) return false;
    if (!af__transfer_ask_for_rest(transfer) || !af__transfer_prepare_auth(transfer)) return false;
    if (!transfer->request.sends_body) {
        transfer->progress.sent_total = 0;
        return true;
    }
    if (af__source_rewind(&transfer->source, &failure) != AF_OK ||
        af__source_open(&transfer->source, &failure) != AF_OK) {
        return af__transfer_fail(transfer, &failure);
    }
    transfer->progress.sent_total = transfer->source.length;
    return true;
}

bool af__transfer_expects(const af__transfer *transfer) {
    int64_t length = transfer->source.length;
    if (!transfer->request.sends_body || length == 0 || transfer->expect == AF_EXPECT_NEVER)
        return false;
    return transfer->expect == AF_EXPECT_ALWAYS || length == AF_LENGTH_UNKNOWN ||
           length > LARGE_BODY;
}

bool af__transfer_expects_unsent_body(const af__transfer *transfer) {
    return !af__hop_in_head(transfer) && !af__hop_is_http_2(transfer) &&
           !transfer->source.has_started && af__transfer_expects(transfer);
}

ptrdiff_t af__transfer_read_body(af__transfer *transfer, void *buffer, size_t size) {
    /* libcurl asks again also because of the other direction, or of a resume. */
    if (af__transfer_is_suspended(transfer) || transfer->source.is_waiting) return AF_READ_AGAIN;
    if (af__rate_is_throttled(&transfer->send_rate, af__now_us())) return AF_READ_AGAIN;
    af_failure failure = {0};
    size = af__rate_piece(&transfer->send_rate, size);
    ptrdiff_t count = af__source_read(&transfer->source, buffer, size, &failure);
    if (count > 0) {
        af__rate_spend(&transfer->send_rate, (uint64_t)count, af__now_us());
        transfer->progress.sent += count;
        af__transfer_report_progress(transfer);
    } else if (count == AF_READ_FAILED) {
        af__transfer_fail(transfer, &failure);
    }
    return count;
}

bool af__transfer_rewind_body(af__transfer *transfer) {
    af_failure failure = {0};
    if (af__source_rewind(&transfer->source, &failure) != AF_OK)
        return af__transfer_fail(transfer, &failure);
    transfer->progress.sent = 0;
    return true;
}

bool af__transfer_begin_body(af__transfer *transfer) {
    /* Before it repeats a request libcurl has rewound only what it had sent, not what it had read. */
    return transfer->progress.sent == 0 || af__transfer_rewind_body(transfer);
}

/* ---- Receiving the head -------------------------------------------------------------------- */

static bool is_head_request(const af__transfer *transfer) {
    return strcmp(transfer->request.method, "HEAD") == 0;
}

/** false: the exchange ends here, before libcurl repeats the request by itself. */
static bool give_up_expectation(af__transfer *transfer) {
    if (!af__source_can_rewind(&transfer->source)) {
        return af__transfer_fail_text(transfer, AF_EREPLAY,
                                      "the request can't be retried after a 417: "
                                      "its body can be read only once");
    }
    transfer->hop.phase = AF__PHASE_EXPECT_FAILED;
    return false;
}

/** false: the caller refused the response. */
static bool report_head(af__transfer *transfer, af_response *response) {
    if (transfer->events.on_head == NULL) return true;
    af__transfer_count_event(transfer);
    af_status status = transfer->events.on_head(transfer->events.context, response);
    return status == AF_OK || af__transfer_fail_text(transfer, status, af_status_text(status));
}

/** The final head is that of the response. false: end the exchange. */
static bool accept_head(af__transfer *transfer) {
    bool is_refused;
    if (!af__transfer_check_partial_response(transfer, &is_refused) || is_refused)
        return is_refused;
    transfer->hop.phase = AF__PHASE_BODY;
    transfer->progress.received_total = transfer->hop.framing.kind == AF__FRAMING_NONE
                                            ? 0
                                            : transfer->hop.framing.length;
    af_response response = {&transfer->hop.reader->head, transfer->request.url.text, NULL,
                            transfer->sink.flags, transfer->result};
    return report_head(transfer, &response) && af__transfer_open_sink(transfer, &response);
}

/** It is complete. false: end the exchange. */
static bool on_final_head(af__transfer *transfer) {
    const af_head *head = &transfer->hop.reader->head;
    af_failure failure = {0};
    transfer->hop.phase = AF__PHASE_HEAD;
    if (!af__transfer_save_cookies(transfer)) return false;
    if (head->status == EXPECTATION_FAILED && head->version < AF_HTTP_2 &&
        af__transfer_expects(transfer)) {
        return give_up_expectation(transfer);
    }
    if (af__head_framing(head, is_head_request(transfer), &transfer->hop.framing, &failure) !=
        AF_OK) {
        return af__transfer_fail(transfer, &failure);
    }
    af__redirect_question question = {
        .head = head,
        .url = &transfer->request.url,
        .method = transfer->request.method,
        .has_body = transfer->request.sends_body,
        .followed = transfer->redirects,
        .limit = transfer->limits.redirects,
        .allow_downgrade = transfer->allow_downgrade,
        .wants_https = af__transfer_wants_https,
        .context = transfer,
        .to_ascii = af__transfer_to_ascii(transfer),
    };
    af__redirect_plan plan = {0};
    if (af__redirect_decide(&question, &plan, &failure) != AF_OK)
        return af__transfer_fail(transfer, &failure);
    bool goes_on = !plan.follow || af__transfer_follow(transfer, &plan);
    bool follows = plan.follow;
    af__url_clear(&plan.target);
    if (!goes_on || follows) return goes_on;
    switch (af__transfer_handle_challenge(transfer)) {
    case AF__AUTH_ACCEPT:
        break;
    case AF__AUTH_REPEAT:
    case AF__AUTH_AWAIT:
        return true;
    case AF__AUTH_FAIL:
        return false;
    }
    return accept_head(transfer);
}

/** A round of authentication on the connection is followed by the next, or its head was the last. */
static bool take_line_between_rounds(af__transfer *transfer, af_slice line) {
    static const char mark[] = "HTTP/";
    bool is_next = line.size >= sizeof mark - 1 && memcmp(line.bytes, mark, sizeof mark - 1) == 0;
    if (!is_next) return on_final_head(transfer);
    transfer->hop.phase = AF__PHASE_HEAD;
    af__head_reader_reopen(transfer->hop.reader);
    return true;
}

bool af__transfer_on_line(af__transfer *transfer, af_slice line) {
    af_failure failure;
    af__head_step step;
    if (af__transfer_is_cancelled(transfer)) return false;
    bool is_pending = transfer->hop.phase == AF__PHASE_HEAD_PENDING;
    if (is_pending && !take_line_between_rounds(transfer, line)) return false;
    if (transfer->result->block->room == NULL && !make_room(transfer)) return false;
    if (af__head_reader_feed(transfer->hop.reader, line, &step, &failure) != AF_OK) {
        return af__transfer_fail(transfer, &failure);
    }
    switch (step) {
    case AF__HEAD_MORE:
    case AF__HEAD_TRAILER:
        return true;
    case AF__HEAD_INFORMATIONAL:
        if (transfer->events.on_informational != NULL) {
            af__transfer_count_event(transfer);
            transfer->events.on_informational(transfer->events.context,
                                              &transfer->hop.reader->head);
        }
        return true;
    case AF__HEAD_FINAL:
        if (!af__transfer_head_is_pending(transfer)) return on_final_head(transfer);
        transfer->hop.phase = AF__PHASE_HEAD_PENDING;
        return true;
    }
    return true;
}

af__flow af__transfer_on_body(af__transfer *transfer, af_slice bytes, int64_t received) {
    if (af__transfer_is_cancelled(transfer)) return AF__STOP;
    bool is_pending = transfer->hop.phase == AF__PHASE_HEAD_PENDING;
    if (is_pending && !on_final_head(transfer)) return AF__STOP;
    return af__transfer_pass_body(transfer, bytes, received);
}

bool af__transfer_on_answer(af__transfer *transfer, uint32_t number, af_challenge_answer answer,
                            af__identity *identity) {
    af__buffer body;
    int64_t received;
    if (!af__auth_awaits(transfer, number)) {
        af__identity_free(identity);
        return false;
    }
    af__auth_action action = af__auth_on_answer(transfer, answer, identity, &body, &received);
    if (action == AF__AUTH_REPEAT) transfer->hop.discarded = body.size;
    /* A proxy's response to CONNECT isn't passed to the caller. */
    bool is_response = action == AF__AUTH_ACCEPT && !af__hop_is_unanswered(transfer);
    if (is_response && accept_head(transfer) && body.size > 0) {
        transfer->hop.decoded = 0; /* They were counted when they came. */
        (void)af__transfer_on_body(transfer, (af_slice){body.bytes, body.size}, received);
    }
    af__buffer_clear(&body);
    return true;
}

/* ---- Moving on ----------------------------------------------------------------------------- */

void af__transfer_wake(af__transfer *transfer) {
    transfer->hop.is_held = transfer->source.is_waiting = false;
    if (transfer->events.on_wake == NULL) return;
    af__transfer_count_event(transfer);
    transfer->events.on_wake(transfer->events.context);
}

/* ---- Ending -------------------------------------------------------------------------------- */

/** The text of a URL that isn't needed any more. */
static char *take_text(af__url *url) {
    char *text = url->text;
    url->text = NULL;
    return text;
}

static void record_hop(af__transfer *transfer, const af__outcome *outcome, bool repeats) {
    af_hop hop = outcome->hop;
    af__url *url = &transfer->request.url;
    hop.url = repeats ? af__copy_text(af_slice_of(url->text)) : take_text(url);
    hop.location = transfer->hop.location;
    transfer->hop.location = NULL;
    /* Also of a head that was refused: an invalid redirect, invalid framing. */
    bool has_head = transfer->hop.reader->state == AF__HEAD_DONE;
    hop.status = has_head ? transfer->hop.reader->head.status : 0;
    hop.version = has_head ? transfer->hop.reader->head.version : AF_HTTP_UNKNOWN;
    hop.head_received = (int64_t)transfer->hop.reader->bytes;
    hop.is_retried = transfer->is_retry || outcome->hop.is_retried;
    if (hop.url == NULL) {
        af_free((char *)(uintptr_t)hop.location);
        af__transfer_fail_memory(transfer);
    } else if (af__result_add_hop(transfer->result, &hop) != AF_OK) {
        af__transfer_fail_memory(transfer);
    }
    if (hop.received > transfer->progress.received) transfer->progress.received = hop.received;
    /* What is read piece by piece was counted already, and without the framing of chunks. */
    if (af__source_in_memory(&transfer->source) != NULL) transfer->progress.sent = hop.sent;
}

static unsigned facts_of(const af__transfer *transfer, const af__outcome *outcome) {
    af_status status = outcome->failure.status;
    bool is_replayable = af__request_head_is_idempotent(&transfer->request) &&
                         (!transfer->request.sends_body ||
                          af__source_can_rewind(&transfer->source));
    bool may_wait = transfer->waits_for_network && transfer->waits < MOST_WAITS;
    return (af__transfer_has_failed(transfer) ? AF__FACT_TASK_FAILED : 0) |
           (status != AF_OK ? AF__FACT_HOP_FAILED : 0) |
           (status == AF_ECONNECT || status == AF_EDNS ? AF__FACT_UNREACHABLE : 0) |
           (status == AF_ELOST ? AF__FACT_LOST : 0) |
           (outcome->hop.is_reused ? AF__FACT_REUSED : 0) |
           (af__hop_is_unanswered(transfer) ? AF__FACT_UNANSWERED : 0) |
           (transfer->is_retry ? 0 : AF__FACT_FIRST_TRY) |
           (is_replayable ? AF__FACT_REPLAYABLE : 0) | (may_wait ? AF__FACT_MAY_WAIT : 0);
}

static void take_next(af__transfer *transfer) {
    af__request_head_clear(&transfer->request);
    transfer->request = *transfer->hop.next;
    af_free(transfer->hop.next);
    transfer->hop.next = NULL;
    transfer->is_retry = false;
}

static af__next judge_hop(af__transfer *transfer, const af__outcome *outcome) {
    af__step step = af__next_step(transfer->hop.phase, facts_of(transfer, outcome));
    if (step == AF__STEP_AWAIT_ANSWER) {
        af__auth_keep_outcome(transfer, outcome);
        return AF__NEXT_ASK;
    }
    record_hop(transfer, outcome, af__step_repeats(step));
    if (af__transfer_has_failed(transfer)) return AF__NEXT_FINISH;
    switch (step) {
    case AF__STEP_SEND_NEXT:
        take_next(transfer);
        return AF__NEXT_HOP;
    case AF__STEP_SEND_UNANNOUNCED:
        transfer->expect = AF_EXPECT_NEVER;
        return AF__NEXT_HOP;
    case AF__STEP_SEND_CREDENTIALS:
    case AF__STEP_SEND_AGAIN:
        transfer->is_retry = step == AF__STEP_SEND_AGAIN;
        return AF__NEXT_HOP;
    case AF__STEP_SEND_WHEN_REACHABLE:
        transfer->waits++;
        return AF__NEXT_WAIT;
    case AF__STEP_FAIL_AS_HOP:
        af__transfer_fail(transfer, &outcome->failure);
        break;
    case AF__STEP_FAIL_UNANSWERED:
        af__transfer_fail_text(transfer, AF_ELOST, "the connection was closed before any response");
        break;
    case AF__STEP_FAIL_CUT_HEAD:
        af__transfer_fail_text(transfer, AF_EPROTOCOL,
                               "the connection was closed before the end of the head");
        break;
    case AF__STEP_AWAIT_ANSWER:
    case AF__STEP_FINISH:
        break;
    }
    return AF__NEXT_FINISH;
}

af__next af__transfer_end_hop(af__transfer *transfer, const af__outcome *outcome) {
    af__transfer_store_hsts(transfer, outcome->verification);
    af__result_set_verification(transfer->result, outcome->verification);
    if (atomic_load(&transfer->is_cancelled)) {
        af__transfer_fail_text(transfer, AF_ECANCELED, af_status_text(AF_ECANCELED));
    }
    if (transfer->hop.phase == AF__PHASE_HEAD_PENDING && outcome->failure.status == AF_OK) {
        (void)on_final_head(transfer);
    }
    if (outcome->failure.status == AF_EAUTH) af__transfer_handle_connect_challenge(transfer);
    return judge_hop(transfer, outcome);
}

af__next af__transfer_resume_hop(af__transfer *transfer) {
    return judge_hop(transfer, af__auth_take_outcome(transfer));
}

/** The task ends while a challenge waits for its answer: its hop is recorded all the same. */
static void end_challenge(af__transfer *transfer) {
    atomic_store(&transfer->awaited, 0);
    const af__outcome *outcome = af__auth_take_outcome(transfer);
    if (outcome != NULL) (void)judge_hop(transfer, outcome);
}

void af__transfer_finish(af__transfer *transfer) {
    af_failure failure = {0};
    af_result *result = transfer->result;
    end_challenge(transfer);
    if (af__sink_end(&transfer->sink, result->failure.status, &failure) != AF_OK) {
        af__transfer_fail(transfer, &failure);
    }
    af__transfer_report_file(transfer);
    result->has_head = af__hop_in_body(transfer);
    if (transfer->hop.reader != NULL) af__head_reader_finish(transfer->hop.reader);
    transfer->hop.reader = NULL;
    result->body_size = transfer->sink.written;
    if (result->failure.status == AF_OK && transfer->sink.memory.size > 0) {
        result->body = transfer->sink.memory;
        transfer->sink.memory = (af__buffer){0};
    }
    if (transfer->events.on_progress != NULL) {
        af__transfer_count_event(transfer);
        transfer->events.on_progress(transfer->events.context, &transfer->progress);
    }
    transfer->result = NULL;
    /* Bodies are freed now, on this thread, and not with the last reference to the task. */
    af__transfer_clear(transfer);
    if (transfer->events.on_done == NULL) {
        af_result_free(result);
        return;
    }
    af__transfer_count_event(transfer);
    transfer->events.on_done(transfer->events.context, result);
}
