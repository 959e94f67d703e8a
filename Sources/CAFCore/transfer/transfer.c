#include "transfer/transfer.h"

#include "base/alloc.h"
#include "base/clock.h"
#include "base/failure.h"
#include "base/list.h"
#include "base/sized.h"
#include "body/sink_write.h"
#include "message/route.h"
#include "transfer/auth.h"
#include "transfer/caching/hop_cache.h"
#include "transfer/cookies_hsts.h"
#include "transfer/first_hop.h"
#include "transfer/next_step.h"
#include "transfer/redirect_hop.h"
#include "transfer/response_body.h"
#include "transfer/resume_hop.h"

#include <string.h>

enum {
    PARTIAL_CONTENT = 206,
    EXPECTATION_FAILED = 417,
    LARGE_BODY = 1024 * 1024,
    DEFAULT_PROGRESS_MS = 100,
    MAX_WAITS = 100 /* Each adds a hop to the result. */
};

/* ---- Creating ------------------------------------------------------------------------------ */

static afc_limits with_defaults(afc_limits limits) {
    if (limits.head_bytes == 0) limits.head_bytes = 256 * 1024;
    if (limits.head_count == 0) limits.head_count = 512;
    if (limits.informational == 0) limits.informational = 16;
    if (limits.decoding_ratio == 0) limits.decoding_ratio = 250;
    if (limits.redirects == 0) limits.redirects = 20;
    return limits;
}

static bool make_new_storage(afc__transfer *transfer) {
    afc_result *result = transfer->result;
    if (afc__result_make_storage(result) != AFC_OK) return afc__transfer_fail_memory(transfer);
    afc__result_lend_head(result);
    if (transfer->sink.kind == AFC_SINK_MEMORY) {
        afc__response_storage *storage = result->block->storage;
        afc__storage body = {storage->body, sizeof storage->body};
        afc__buffer_use_storage(&transfer->sink.memory, body);
    }
    return true;
}

/** Makes the storage of the response (afc__response_storage) before its first line, unless it exists. */
static inline bool make_storage(afc__transfer *transfer) {
    return transfer->result->block->storage != NULL || make_new_storage(transfer);
}

static afc_status init_proxy(afc__transfer *transfer, const char *text, afc_failure *failure) {
    if (text == NULL) return AFC_OK;
    transfer->has_own_proxy = true;
    if (text[0] == '\0') return AFC_OK;
    transfer->own_proxy = afc__zalloc(sizeof *transfer->own_proxy);
    if (transfer->own_proxy == NULL) return afc__fail_memory(failure);
    return afc__proxy_parse(transfer->own_proxy, afc_slice_of(text), failure);
}

static afc_status init_socket(afc__transfer *transfer, const char *path, afc_failure *failure) {
    if (path == NULL) return AFC_OK;
    afc_status status = afc__route_check_socket(path, failure);
    if (status != AFC_OK) return status;
    transfer->unix_socket = afc__copy_text(afc_slice_of(path));
    return transfer->unix_socket != NULL ? AFC_OK : afc__fail_memory(failure);
}

/** Returns the mode of Expect: the request's own field Expect, or its removal, overrides `expect`. */
static afc_expect expectation_of(const afc_request *request) {
    for (size_t i = 0; i < request->header_count; i++) {
        const afc_header *header = &request->headers[i];
        if (afc__is_continue_expectation(header)) return AFC_EXPECT_ALWAYS;
        bool is_unwanted = (header->flags & AFC_HEADER_REMOVE) != 0;
        if (is_unwanted && afc__same_name(header->name, "Expect")) return AFC_EXPECT_NEVER;
    }
    return request->expect;
}

static afc_status check_reserved(const afc_request *request, afc_failure *failure) {
    afc_status status = AFC__CHECK_RESERVED(&request->sink, "afc_sink", failure);
    if (status == AFC_OK) {
        status = AFC__CHECK_RESERVED(&request->timeouts, "afc_timeouts", failure);
    }
    if (status == AFC_OK) status = AFC__CHECK_RESERVED(&request->limits, "afc_limits", failure);
    return status;
}

static afc_status check_flags(const afc_request *request, afc_failure *failure) {
    bool has_content = request->body.kind != AFC_BODY_NONE || request->sink.kind != AFC_SINK_MEMORY;
    const unsigned known = AFC_REQUEST_CONNECT_ONLY | AFC_REQUEST_COLLAPSE |
                           AFC_REQUEST_MERGE_COOKIES;
    if ((request->flags & ~known) != 0) {
        return afc__fail(failure, AFC_EUNSUPPORTED, "unknown request flags: 0x%x",
                         (unsigned)request->flags);
    }
    if ((request->flags & AFC_REQUEST_CONNECT_ONLY) != 0 && has_content) {
        return afc__fail(failure, AFC_EINVAL, "connecting only needs no body, and a MEMORY sink");
    }
    return AFC_OK;
}

afc_status afc__transfer_init(afc__transfer *transfer, const afc_request *request,
                              const afc_task_events *events, afc__transfer_counters *counters,
                              afc_failure *failure) {
    memset(transfer, 0, offsetof(afc__transfer, storage));
    transfer->counters = counters;
    afc__transfer_begin(transfer);
    transfer->limits = with_defaults(request->limits);
    transfer->timeouts = request->timeouts;
    transfer->version = request->version;
    transfer->cache_policy = request->cache_policy;
    transfer->collapses = (request->flags & AFC_REQUEST_COLLAPSE) != 0;
    transfer->coding = request->keep_encoding ? AFC__CODING_KEPT : AFC__CODING_DECODED;
    transfer->allow_downgrade = request->allow_downgrade;
    transfer->waits_for_network = request->wait_for_network;
    if ((request->flags & AFC_REQUEST_CONNECT_ONLY) != 0)
        transfer->purpose = AFC__PURPOSE_CONNECTION;
    if (transfer->purpose == AFC__PURPOSE_CONNECTION)
        transfer->cache_policy = AFC_HTTP_CACHE_BYPASS;
    transfer->priority = request->priority;
    transfer->send_rate.per_second = request->max_send_bytes_per_s;
    transfer->receive_rate.per_second = request->max_receive_bytes_per_s;
    uint32_t interval = request->progress_ms != 0 ? request->progress_ms : DEFAULT_PROGRESS_MS;
    transfer->progress_interval_us = (int64_t)interval * 1000;
    transfer->progress = (afc_progress){0, AFC_LENGTH_UNKNOWN, 0, AFC_LENGTH_UNKNOWN, 0};
    afc__sink_zero(&transfer->sink);
    afc_status status = afc__source_init(&transfer->source, &request->body, failure);
    if (status == AFC_OK) {
        status = afc__check_header_pointers(request->headers, request->header_count, failure);
    }
    if (status == AFC_OK) transfer->expect = expectation_of(request);
    if (status == AFC_OK) status = check_reserved(request, failure);
    if (status == AFC_OK && (unsigned)request->expect > AFC_EXPECT_NEVER) {
        status = afc__fail(failure, AFC_EINVAL, "invalid value for expect: %d",
                           (int)request->expect);
    }
    if (status == AFC_OK && (unsigned)request->version > AFC_HTTP_PREFER_3) {
        status = afc__fail(failure, AFC_EINVAL, "invalid value for version: %d",
                           (int)request->version);
    }
    if (status == AFC_OK && (unsigned)request->cache_policy > AFC_HTTP_CACHE_BYPASS) {
        status = afc__fail(failure, AFC_EINVAL, "invalid cache policy: %d",
                           (int)request->cache_policy);
    }
    if (status == AFC_OK) status = check_flags(request, failure);
    if (status == AFC_OK) status = afc__transfer_init_sink(transfer, request, events, failure);
    if (status == AFC_OK) status = init_proxy(transfer, request->proxy, failure);
    if (status == AFC_OK) status = afc__transfer_init_cookies(transfer, request, failure);
    if (status == AFC_OK) status = init_socket(transfer, request->unix_socket, failure);
    if (status == AFC_OK) status = afc__transfer_init_request(transfer, request, failure);
    if (status == AFC_OK) status = afc__transfer_init_auth(transfer, request, events, failure);
    if (status == AFC_OK) {
        transfer->result = afc__result_new();
        if (transfer->result == NULL) status = afc__fail_memory(failure);
    }
    if (status != AFC_OK) {
        afc__transfer_clear(transfer);
        return status;
    }
    transfer->request.sends_body = afc__source_exists(&transfer->source);
    if (events != NULL) transfer->events = *events;
    return AFC_OK;
}

void afc__transfer_await_upgrade(afc__transfer *transfer, const afc__upgrade *upgrade) {
    transfer->purpose = AFC__PURPOSE_UPGRADE;
    transfer->source.lender = &upgrade->lender;
    /* HTTP/2 has no 101 (RFC 9113 section 8.6). 100 (Continue) is about a body, which bytes after a 101 aren't. */
    transfer->version = AFC_HTTP_PREFER_1_1;
    transfer->expect = AFC_EXPECT_NEVER;
    transfer->cache_policy = AFC_HTTP_CACHE_BYPASS;
}

bool afc__transfer_set_validation_only(afc__transfer *transfer, const char *document_host) {
    transfer->purpose = AFC__PURPOSE_VALIDATION;
    if (document_host == NULL) return true;
    transfer->document_host = afc__copy_text(afc_slice_of(document_host));
    return transfer->document_host != NULL;
}

void afc__transfer_begin(afc__transfer *transfer) {
    transfer->cancellations = atomic_load(&transfer->counters->cancellations);
}

void afc__transfer_clear(afc__transfer *transfer) {
    afc__request_head_clear(&transfer->request);
    afc__hop_clear(&transfer->hop);
    afc__source_clear(&transfer->source);
    afc__sink_clear(&transfer->sink);
    afc__transfer_clear_auth(transfer);
    if (transfer->own_proxy != NULL) afc__proxy_clear(transfer->own_proxy);
    afc_free(transfer->own_proxy);
    transfer->own_proxy = NULL;
    afc__transfer_clear_cookies(transfer);
    afc__transfer_clear_hop_cache(transfer);
    afc_free(transfer->unix_socket);
    transfer->unix_socket = NULL;
    afc_result_free(transfer->result);
    transfer->result = NULL;
}

/* ---- Sending ------------------------------------------------------------------------------- */

bool afc__transfer_begin_hop(afc__transfer *transfer) {
    transfer->progress.sent = 0;
    if (!afc__transfer_reset_hop(transfer)) return false;
    afc__transfer_cache_begin_hop(transfer);
    if (!afc__transfer_ask_for_rest(transfer) || !afc__transfer_prepare_auth(transfer))
        return false;
    if (!transfer->request.sends_body) {
        transfer->progress.sent_total = 0;
        return true;
    }
    afc_failure failure = {0};
    if (afc__source_rewind(&transfer->source, &failure) != AFC_OK ||
        afc__source_open(&transfer->source, &failure) != AFC_OK) {
        return afc__transfer_fail(transfer, &failure);
    }
    transfer->progress.sent_total = transfer->source.length;
    /* Reports the total size before anything is sent. */
    if (transfer->progress_due_us == 0) afc__transfer_report_progress(transfer);
    return true;
}

bool afc__transfer_expects(const afc__transfer *transfer) {
    int64_t length = transfer->source.length;
    if (!transfer->request.sends_body || length == 0 || transfer->expect == AFC_EXPECT_NEVER)
        return false;
    return transfer->expect == AFC_EXPECT_ALWAYS || length == AFC_LENGTH_UNKNOWN ||
           length > LARGE_BODY;
}

bool afc__transfer_awaits_continue(const afc__transfer *transfer) {
    return !afc__hop_is_http_2(&transfer->hop) && transfer->source.use == AFC__SOURCE_UNTOUCHED &&
           afc__transfer_expects(transfer);
}

bool afc__transfer_expects_unsent_body(const afc__transfer *transfer) {
    return !afc__hop_in_head(&transfer->hop) && afc__transfer_awaits_continue(transfer);
}

ptrdiff_t afc__transfer_read_body(afc__transfer *transfer, void *buffer, size_t size) {
    /* libcurl also calls this when the other direction is resumed. */
    if (afc__transfer_is_suspended(transfer) || transfer->source.is_waiting) return AFC_READ_AGAIN;
    bool is_limited = afc__rate_is_limited(&transfer->send_rate);
    if (is_limited && afc__rate_is_throttled(&transfer->send_rate, afc__now_us())) {
        return AFC_READ_AGAIN;
    }
    afc_failure failure = {0};
    size = afc__rate_piece(&transfer->send_rate, size);
    ptrdiff_t count = afc__source_read(&transfer->source, buffer, size, &failure);
    if (count > 0) {
        if (is_limited) {
            afc__rate_spend(&transfer->send_rate, (uint64_t)count, afc__now_us());
        }
        transfer->progress.sent += count;
        afc__transfer_report_progress(transfer);
    } else if (count == AFC_READ_FAILED) {
        afc__transfer_fail(transfer, &failure);
    }
    return count;
}

afc_slice afc__transfer_lend_body(const afc__transfer *transfer) {
    bool must_wait = afc__transfer_is_suspended(transfer) ||
                     afc__rate_is_limited(&transfer->send_rate);
    return must_wait ? (afc_slice){NULL, 0} : afc__source_lend(&transfer->source);
}

void afc__transfer_took_body(afc__transfer *transfer, size_t count) {
    afc__source_took(&transfer->source, count);
    transfer->progress.sent += (int64_t)count;
    if (count > 0) afc__transfer_report_progress(transfer);
}

void afc__transfer_set_sent(afc__transfer *transfer, int64_t sent) {
    transfer->progress.sent = sent;
    afc__transfer_report_progress(transfer);
}

bool afc__transfer_rewind_body(afc__transfer *transfer) {
    afc_failure failure = {0};
    if (afc__source_rewind(&transfer->source, &failure) != AFC_OK)
        return afc__transfer_fail(transfer, &failure);
    transfer->progress.sent = 0;
    return true;
}

bool afc__transfer_begin_body(afc__transfer *transfer) {
    /* Before it repeats a request, libcurl rewinds what it has sent, but not what it has only read. */
    return transfer->progress.sent == 0 || afc__transfer_rewind_body(transfer);
}

/* ---- Receiving the head -------------------------------------------------------------------- */

static bool is_head_request(const afc__transfer *transfer) {
    return afc__request_head_is(&transfer->request, "HEAD");
}

/** Handles a 417: returns false, as the exchange ends here, before libcurl repeats the request by itself. */
static bool give_up_expectation(afc__transfer *transfer) {
    if (!afc__source_can_rewind(&transfer->source)) {
        return afc__transfer_fail_text(transfer, AFC_EREPLAY,
                                       "the request can't be retried after a 417: "
                                       "its body can be read only once");
    }
    afc__hop_enter(&transfer->hop, AFC__PHASE_EXPECT_FAILED);
    return false;
}

/** The argument of on_head, and its transfer, for the functions that take an afc_response. */
typedef struct reported_response {
    afc_response response;
    afc__transfer *transfer;
} reported_response;

afc_status afc_response_set_descriptor(afc_response *response, int descriptor) {
    afc__transfer *transfer = AFC__OWNER(response, reported_response, response)->transfer;
    bool is_resuming = transfer->range == AFC__RANGE_ASKED || transfer->range == AFC__RANGE_REFUSED;
    if (transfer->purpose == AFC__PURPOSE_UPGRADE || is_resuming) return AFC_EINVAL;
    return afc__sink_set_descriptor(&transfer->sink, descriptor);
}

afc_http_cache_use afc_response_get_cache_use(const afc_response *response) {
    return afc__transfer_cache_use(
        AFC__OWNER(response, const reported_response, response)->transfer);
}

/** Calls on_head. Returns false if the caller refused the response. */
static bool report_head(afc__transfer *transfer, afc_response *response) {
    if (transfer->events.on_head == NULL) return true;
    afc__transfer_count_event(transfer);
    afc_status status = transfer->events.on_head(transfer->events.context, response);
    if (status == AFC_OK) return true;
    afc_failure failure = {0};
    if (!afc__is_status(status)) {
        afc__fail_returned(&failure, "on_head", status, "AFC_OK or an error");
    } else if (status == AFC_EAGAIN) {
        afc__fail(&failure, status, "on_head returned AFC_EAGAIN: only on_body can wait");
    } else {
        afc__fail(&failure, status, "%s", afc_status_text(status));
    }
    return afc__transfer_fail(transfer, &failure);
}

/** Accepts the final head as that of the task's response. Returns false if the exchange must end. */
static bool accept_head(afc__transfer *transfer) {
    bool is_refused;
    if (!afc__transfer_check_partial_response(transfer, &is_refused) || is_refused)
        return is_refused;
    afc__hop_enter(&transfer->hop, AFC__PHASE_BODY);
    transfer->progress.received_total = transfer->hop.framing.kind == AFC__FRAMING_NONE
                                            ? 0
                                            : transfer->hop.framing.length;
    reported_response reported = {{&transfer->hop.reader->head, transfer->request.url.text, NULL,
                                   transfer->sink.flags, transfer->result},
                                  transfer};
    return report_head(transfer, &reported.response) &&
           afc__transfer_open_sink(transfer, &reported.response);
}

/**
 * Accepts a 101, after which HTTP doesn't frame what follows (RFC 9112 section 6.3). Returns false if the exchange must
 * end.
 */
static bool accept_upgrade(afc__transfer *transfer) {
    const afc__framing *framing = &transfer->hop.framing;
    bool is_framed = framing->length != AFC_LENGTH_UNKNOWN || framing->is_encoded ||
                     afc_head_find(&transfer->hop.reader->head, "Transfer-Encoding") != NULL;
    if (is_framed) {
        return afc__transfer_fail_text(transfer, AFC_EPROTOCOL,
                                       "the 101 has a Content-Length or an encoding");
    }
    transfer->hop.framing.kind = AFC__FRAMING_CLOSE;
    return accept_head(transfer);
}

/** Decides what the complete final head means. Returns false if the exchange must end. */
static bool on_final_head(afc__transfer *transfer) {
    const afc_head *head = &transfer->hop.reader->head;
    afc_failure failure;
    afc__hop_enter(&transfer->hop, AFC__PHASE_HEAD);
    /* Cookies of a cached response were stored when it was received. */
    if (!afc__transfer_is_replaying(transfer) && !afc__transfer_save_cookies(transfer))
        return false;
    if (head->status == EXPECTATION_FAILED && head->version < AFC_HTTP_2 &&
        afc__transfer_expects(transfer)) {
        return give_up_expectation(transfer);
    }
    /* A part of an encoded body can't be decoded. */
    bool is_part = head->status == PARTIAL_CONTENT && !afc__transfer_is_replaying(transfer);
    if (is_part && transfer->coding == AFC__CODING_WHOLE) transfer->coding = AFC__CODING_KEPT;
    if (afc__head_framing(head, is_head_request(transfer), &transfer->hop.framing, &failure) !=
        AFC_OK) {
        return afc__transfer_fail(transfer, &failure);
    }
    if (afc__transfer_is_upgraded(transfer)) return accept_upgrade(transfer);
    if (afc__transfer_cache_head(transfer)) return true;
    if (afc__transfer_has_failed(transfer)) return false;
    afc__redirect_question question = {
        .head = head,
        .url = &transfer->request.url,
        .method = transfer->request.method,
        .has_body = transfer->request.sends_body,
        .followed = transfer->redirects,
        .limit = transfer->limits.redirects,
        .allow_downgrade = transfer->allow_downgrade,
        .is_upgrade = transfer->purpose == AFC__PURPOSE_UPGRADE,
        .wants_https = afc__transfer_wants_https,
        .context = transfer,
        .to_ascii = afc__transfer_to_ascii(transfer),
    };
    afc__redirect_plan plan = {0};
    if (afc__redirect_decide(&question, &plan, &failure) != AFC_OK)
        return afc__transfer_fail(transfer, &failure);
    /* The body of an upgrade is sent with each hop, whatever the status says about bodies. */
    plan.keeps_body = plan.keeps_body || transfer->purpose == AFC__PURPOSE_UPGRADE;
    bool continues = !plan.follow || afc__transfer_follow(transfer, &plan);
    bool follows = plan.follow;
    afc__url_clear(&plan.target);
    if (!continues || follows) return continues;
    switch (afc__transfer_handle_challenge(transfer)) {
    case AFC__AUTH_ACCEPT:
        break;
    case AFC__AUTH_REPEAT:
    case AFC__AUTH_AWAIT:
        return true;
    case AFC__AUTH_FAIL:
        return false;
    }
    return accept_head(transfer);
}

/** Handles the line behind the head of a round of NTLM or Negotiate: another head, or that one was the last. */
static bool take_line_between_rounds(afc__transfer *transfer, afc_slice line) {
    if (!afc__is_status_line(line)) return on_final_head(transfer);
    afc__hop_enter(&transfer->hop, AFC__PHASE_HEAD);
    afc__head_reader_reopen(transfer->hop.reader);
    return true;
}

bool afc__transfer_on_head(afc__transfer *transfer, const afc_head *head) {
    afc_failure failure;
    if (afc__transfer_is_cancelled(transfer) || !make_storage(transfer)) return false;
    if (afc__head_reader_set(transfer->hop.reader, head, &failure) != AFC_OK) {
        return afc__transfer_fail(transfer, &failure);
    }
    return on_final_head(transfer);
}

/** Fails the task for an invalid head, unless a stale response may replace it. Returns false, for callers to return. */
static bool refuse_line(afc__transfer *transfer, const afc_failure *failure) {
    bool is_replaceable = transfer->hop.phase == AFC__PHASE_HEAD &&
                          failure->status == AFC_EPROTOCOL && afc__transfer_may_use_stale(transfer);
    if (!is_replaceable) return afc__transfer_fail(transfer, failure);
    transfer->hop.has_invalid_head = true;
    return false;
}

bool afc__transfer_on_line(afc__transfer *transfer, afc_slice line) {
    afc_failure failure;
    afc__head_step step;
    if (afc__transfer_is_cancelled(transfer)) return false;
    bool is_pending = transfer->hop.phase == AFC__PHASE_HEAD_PENDING;
    if (is_pending && !take_line_between_rounds(transfer, line)) return false;
    if (!make_storage(transfer)) return false;
    if (afc__head_reader_feed(transfer->hop.reader, line, &step, &failure) != AFC_OK) {
        return refuse_line(transfer, &failure);
    }
    switch (step) {
    case AFC__HEAD_MORE:
    case AFC__HEAD_TRAILER:
        return true;
    case AFC__HEAD_INFORMATIONAL:
        if (transfer->events.on_informational != NULL) {
            afc__transfer_count_event(transfer);
            transfer->events.on_informational(transfer->events.context,
                                              &transfer->hop.reader->head);
        }
        return true;
    case AFC__HEAD_FINAL:
        if (!afc__transfer_head_is_pending(transfer)) return on_final_head(transfer);
        afc__hop_enter(&transfer->hop, AFC__PHASE_HEAD_PENDING);
        return true;
    }
    return true;
}

afc__flow afc__transfer_on_body(afc__transfer *transfer, afc_slice bytes, int64_t received) {
    if (afc__transfer_is_cancelled(transfer)) return AFC__STOP;
    bool is_pending = transfer->hop.phase == AFC__PHASE_HEAD_PENDING;
    if (is_pending && !on_final_head(transfer)) return AFC__STOP;
    return afc__transfer_pass_body(transfer, bytes, received);
}

bool afc__transfer_on_answer(afc__transfer *transfer, uint32_t number,
                             afc_challenge_decision answer, afc__identity *identity) {
    afc__buffer body;
    int64_t received;
    if (!afc__auth_awaits(transfer, number)) {
        afc__identity_free(identity);
        return false;
    }
    afc__auth_action action = afc__auth_on_answer(transfer, answer, identity, &body, &received);
    if (action == AFC__AUTH_REPEAT) {
        transfer->hop.discarded = body.size < INT32_MAX ? (uint32_t)body.size : INT32_MAX;
    }
    /* A proxy's response to CONNECT is never passed to the caller. */
    bool is_response = action == AFC__AUTH_ACCEPT && !afc__hop_has_no_response(&transfer->hop);
    if (is_response && accept_head(transfer) && body.size > 0) {
        afc__transfer_pass_kept_body(transfer, afc__buffer_slice(&body), received);
    }
    afc__buffer_clear(&body);
    return true;
}

/* ---- Moving on ----------------------------------------------------------------------------- */

static int64_t body_wakeup(const afc__source *source) {
    return source->is_waiting && source->ready_us != 0 ? source->ready_us : INT64_MAX;
}

static int64_t rate_wakeup(const afc__rate *rate) {
    return rate->wakeup_us != 0 ? rate->wakeup_us : INT64_MAX;
}

int64_t afc__transfer_wakeup(const afc__transfer *transfer) {
    int64_t body = body_wakeup(&transfer->source);
    int64_t sent = rate_wakeup(&transfer->send_rate);
    int64_t received = rate_wakeup(&transfer->receive_rate);
    int64_t rates = sent < received ? sent : received;
    return body < rates ? body : rates;
}

void afc__transfer_stop_waiting(afc__transfer *transfer, int64_t now) {
    if (now >= body_wakeup(&transfer->source)) transfer->source.is_waiting = false;
    if (now >= rate_wakeup(&transfer->send_rate)) transfer->send_rate.wakeup_us = 0;
    if (now >= rate_wakeup(&transfer->receive_rate)) transfer->receive_rate.wakeup_us = 0;
}

/** What a hop has waited for doesn't apply to the next one, nor to a task without a hop. */
static void forget_waits(afc__transfer *transfer) {
    transfer->source.is_waiting = false;
    transfer->source.ready_us = 0;
    transfer->send_rate.wakeup_us = transfer->receive_rate.wakeup_us = 0;
}

bool afc__transfer_waits_for_wake(const afc__transfer *transfer) {
    return transfer->hop.is_held || transfer->source.is_waiting;
}

void afc__transfer_wake(afc__transfer *transfer) {
    transfer->hop.is_held = false;
    afc__transfer_wake_sending(transfer);
}

void afc__transfer_wake_sending(afc__transfer *transfer) {
    transfer->source.is_waiting = false;
    if (transfer->events.on_wake == NULL) return;
    afc__transfer_count_event(transfer);
    transfer->events.on_wake(transfer->events.context);
}

/* ---- Ending -------------------------------------------------------------------------------- */

/** Moves the text out of a URL that isn't needed any more. */
static char *take_text(afc__url *url) {
    char *text = url->text;
    url->text = NULL;
    return text;
}

/** Copies the address of the hop's proxy; NULL without one. Returns false when out of memory. */
static bool copy_proxy(const afc__transfer *transfer, const char **out) {
    char address[AFC__PROXY_ADDRESS_SIZE];
    *out = NULL;
    if (transfer->hop.proxy == NULL) return true;
    afc__proxy_write_address(address, transfer->hop.proxy);
    *out = afc__copy_text(afc_slice_of(address));
    return *out != NULL;
}

static void record_hop(afc__transfer *transfer, const afc__outcome *outcome, bool repeats) {
    afc_hop hop = outcome->hop;
    afc__url *url = &transfer->request.url;
    hop.url = repeats ? afc__copy_text(afc_slice_of(url->text)) : take_text(url);
    hop.location = transfer->hop.location;
    transfer->hop.location = NULL;
    /* Also set for a head that was refused, such as for an invalid redirect or invalid framing. */
    bool has_head = transfer->hop.reader->state == AFC__HEAD_DONE;
    hop.status = has_head ? transfer->hop.reader->head.status : 0;
    hop.version = has_head ? transfer->hop.reader->head.version : AFC_HTTP_UNKNOWN;
    hop.head_received = (int64_t)transfer->hop.reader->bytes;
    hop.is_retried = transfer->is_retry || outcome->hop.is_retried;
    afc__transfer_record_cache(transfer, &hop);
    if (!copy_proxy(transfer, &hop.proxy) || hop.url == NULL) {
        afc_free((char *)(uintptr_t)hop.url);
        afc_free((char *)(uintptr_t)hop.location);
        afc_free((char *)(uintptr_t)hop.proxy);
        afc__transfer_fail_memory(transfer);
    } else if (afc__result_add_hop(transfer->result, &hop) != AFC_OK) {
        afc__transfer_fail_memory(transfer);
    }
    if (hop.received > transfer->progress.received) transfer->progress.received = hop.received;
    /* A body that is read piece by piece was counted already, and without the framing of chunks. */
    if (afc__source_in_memory(&transfer->source) != NULL) transfer->progress.sent = hop.sent;
}

/**
 * Returns whether the hop ended in a way for which a gateway would answer with 502 or 504: the server wasn't reached,
 * or it didn't send a valid head in time. A server that isn't trusted doesn't count as down.
 */
static bool is_down(const afc__transfer *transfer, const afc__outcome *outcome) {
    switch (outcome->failure.status) {
    case AFC_ECONNECT:
    case AFC_EDNS:
    case AFC_ELOST:
    case AFC_EPROTOCOL:
    case AFC_ETIMEOUT: /* The connect or idle limit; the total limit fails the task itself. */
    case AFC_OK:       /* The connection was closed before the end of the head. */
        return true;
    default:
        return transfer->hop.has_invalid_head;
    }
}

static unsigned facts_of(const afc__transfer *transfer, const afc__outcome *outcome) {
    afc_status status = outcome->failure.status;
    bool is_replayable = afc__request_head_is_idempotent(&transfer->request) &&
                         (!transfer->request.sends_body ||
                          afc__source_can_rewind(&transfer->source));
    bool may_be_stale = afc__hop_in_head(&transfer->hop) && is_down(transfer, outcome) &&
                        afc__transfer_may_use_stale(transfer);
    bool may_wait = transfer->waits_for_network && transfer->waits < MAX_WAITS;
    return (afc__transfer_has_failed(transfer) ? AFC__FACT_TASK_FAILED : 0) |
           (status != AFC_OK ? AFC__FACT_HOP_FAILED : 0) |
           (status == AFC_ECONNECT || status == AFC_EDNS ? AFC__FACT_UNREACHABLE : 0) |
           (status == AFC_ELOST ? AFC__FACT_LOST : 0) |
           (outcome->hop.is_reused ? AFC__FACT_REUSED : 0) |
           (outcome->went_away ? AFC__FACT_WENT_AWAY : 0) |
           (afc__hop_has_no_response(&transfer->hop) ? AFC__FACT_NO_RESPONSE : 0) |
           (may_be_stale ? AFC__FACT_MAY_BE_STALE : 0) |
           (transfer->is_retry ? 0 : AFC__FACT_FIRST_TRY) |
           (is_replayable ? AFC__FACT_REPLAYABLE : 0) | (may_wait ? AFC__FACT_MAY_WAIT : 0) |
           (transfer->purpose == AFC__PURPOSE_CONNECTION ? AFC__FACT_CONNECT_ONLY : 0);
}

static void take_next(afc__transfer *transfer) {
    afc__request_head_clear(&transfer->request);
    transfer->request = *transfer->hop.next;
    afc_free(transfer->hop.next);
    transfer->hop.next = NULL;
    transfer->is_retry = false;
    afc__transfer_forget_hop_cache(transfer);
}

static afc__next apply_next_step(afc__transfer *transfer, const afc__outcome *outcome) {
    afc__step step = afc__next_step(transfer->hop.phase, facts_of(transfer, outcome));
    if (step == AFC__STEP_AWAIT_ANSWER) {
        afc__auth_keep_outcome(transfer, outcome);
        return AFC__NEXT_ASK;
    }
    /* Other transfers that wait for this response needn't wait for the network, too. */
    bool repeats_now = afc__step_repeats(step) && step != AFC__STEP_SEND_WHEN_REACHABLE;
    if (!repeats_now) afc__transfer_cache_release(transfer);
    record_hop(transfer, outcome, afc__step_repeats(step));
    if (afc__transfer_has_failed(transfer)) return AFC__NEXT_FINISH;
    switch (step) {
    case AFC__STEP_SEND_NEXT:
        take_next(transfer);
        return AFC__NEXT_HOP;
    case AFC__STEP_SEND_UNANNOUNCED:
        transfer->expect = AFC_EXPECT_NEVER;
        return AFC__NEXT_HOP;
    case AFC__STEP_SEND_CREDENTIALS:
    case AFC__STEP_SEND_AGAIN:
        transfer->is_retry = step == AFC__STEP_SEND_AGAIN;
        return AFC__NEXT_HOP;
    case AFC__STEP_USE_STALE:
        afc__transfer_choose_stale(transfer);
        return AFC__NEXT_HOP;
    case AFC__STEP_USE_STORED:
        return AFC__NEXT_HOP;
    case AFC__STEP_SEND_WHEN_REACHABLE:
        transfer->waits++;
        return AFC__NEXT_WAIT;
    case AFC__STEP_FAIL_AS_HOP:
        afc__transfer_fail(transfer, &outcome->failure);
        break;
    case AFC__STEP_FAIL_NO_RESPONSE:
        afc__transfer_fail_text(transfer, AFC_ELOST,
                                "the connection was closed before any response");
        break;
    case AFC__STEP_FAIL_CUT_HEAD:
        afc__transfer_fail_text(transfer, AFC_EPROTOCOL,
                                "the connection was closed before the end of the head");
        break;
    case AFC__STEP_AWAIT_ANSWER:
    case AFC__STEP_FINISH:
        break;
    }
    return AFC__NEXT_FINISH;
}

afc__next afc__transfer_end_hop(afc__transfer *transfer, const afc__outcome *outcome) {
    forget_waits(transfer);
    afc__transfer_store_hsts(transfer, outcome->verification);
    afc__result_set_verification(transfer->result, outcome->verification);
    if (afc__transfer_is_cancelled(transfer)) {
        afc__transfer_fail_text(transfer, AFC_ECANCELED, afc_status_text(AFC_ECANCELED));
    }
    if (transfer->hop.phase == AFC__PHASE_HEAD_PENDING && outcome->failure.status == AFC_OK) {
        (void)on_final_head(transfer);
    }
    if (outcome->failure.status == AFC_EAUTH) afc__transfer_handle_connect_challenge(transfer);
    bool may_be_cut = outcome->has_doubtful_end && transfer->hop.framing.kind == AFC__FRAMING_CLOSE;
    afc__transfer_cache_end(transfer, outcome->failure.status == AFC_OK && !may_be_cut);
    return apply_next_step(transfer, outcome);
}

afc__next afc__transfer_resume_hop(afc__transfer *transfer) {
    return apply_next_step(transfer, afc__auth_take_outcome(transfer));
}

/** Records the hop of a task that ends while a challenge waits for its answer. */
static void end_challenge(afc__transfer *transfer) {
    atomic_store(&transfer->awaited, 0);
    const afc__outcome *outcome = afc__auth_take_outcome(transfer);
    if (outcome != NULL) (void)apply_next_step(transfer, outcome);
}

/**
 * Returns whether the result gets what was collected in memory. That includes a body that was cut short by the server,
 * a time limit or a cancelled task, but not one that exceeds a limit. If on_head refuses a response with AFC_ECANCELED,
 * nothing was collected.
 */
static bool keeps_body(const afc__transfer *transfer) {
    const afc__sink *sink = &transfer->sink;
    afc_status status = transfer->result->failure.status;
    /* Other sinks collect in the same buffer what they write next. */
    if (sink->kind != AFC_SINK_MEMORY && sink->target != AFC__SINK_TO_MEMORY) return false;
    if (status == AFC_OK) return true;
    bool is_cut_short = status == AFC_ETRUNCATED || status == AFC_ELOST ||
                        status == AFC_EPROTOCOL || status == AFC_ETIMEOUT ||
                        status == AFC_ECANCELED;
    return is_cut_short && afc__hop_in_body(&transfer->hop);
}

/**
 * Returns whether a failed task's result has a head: a redirect that isn't followed tells its target, and a response
 * that asks for the request again (307, 401) is known although the body can't be replayed.
 */
static bool ends_at_head(const afc__transfer *transfer) {
    afc_status status = transfer->result->failure.status;
    bool is_unanswered = status == AFC_EREDIRECT || status == AFC_EREPLAY;
    return is_unanswered && transfer->hop.reader != NULL &&
           transfer->hop.reader->state == AFC__HEAD_DONE;
}

void afc__transfer_finish(afc__transfer *transfer) {
    afc_failure failure = {0};
    afc_result *result = transfer->result;
    end_challenge(transfer);
    if (afc__sink_end(&transfer->sink, result->failure.status, &failure) != AFC_OK) {
        afc__transfer_fail(transfer, &failure);
    }
    if (result->failure.reason == AFC_REASON_DIGEST) afc__transfer_remove_cached(transfer);
    afc__transfer_report_file(transfer);
    result->has_head = ends_at_head(transfer) || afc__hop_in_body(&transfer->hop);
    if (transfer->hop.reader != NULL) afc__head_reader_finish(transfer->hop.reader);
    transfer->hop.reader = NULL;
    result->body_size = afc__sink_body_size(&transfer->sink);
    if (transfer->sink.memory.size > 0 && keeps_body(transfer)) {
        result->body = transfer->sink.memory;
        transfer->sink.memory = (afc__buffer){0};
        /* The memory reserved for Content-Length may be much more than was received. */
        if (result->failure.status != AFC_OK) afc__buffer_shrink(&result->body);
    }
    if (transfer->events.on_progress != NULL) {
        afc__transfer_count_event(transfer);
        transfer->events.on_progress(transfer->events.context, &transfer->progress);
    }
    transfer->result = NULL;
    /* Bodies are freed now, on this thread, and not with the last reference to the task. */
    afc__transfer_clear(transfer);
    if (transfer->events.on_done == NULL) {
        afc_result_free(result);
        return;
    }
    afc__transfer_count_event(transfer);
    transfer->events.on_done(transfer->events.context, result);
}
