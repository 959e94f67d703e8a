#include "transfer/resume_hop.h"

#include "base/alloc.h"
#include "transfer/transfer.h"

#include <string.h>

static bool is_range_field(const afc_header *header) {
    return afc__same_name(header->name, "Range") || afc__same_name(header->name, "If-Range");
}

static const afc_header *find_range_field(const afc_request *request) {
    for (size_t i = 0; i < request->header_count; i++) {
        bool is_sent = (request->headers[i].flags & AFC_HEADER_REMOVE) == 0;
        if (is_sent && is_range_field(&request->headers[i])) return &request->headers[i];
    }
    return NULL;
}

/* ---- Making -------------------------------------------------------------------------------- */

afc_status afc__transfer_init_sink(afc__transfer *transfer, const afc_request *request,
                                   const afc_task_events *events, afc_failure *failure) {
    bool is_get = request->method == NULL || strcmp(request->method, "GET") == 0;
    afc__sink_config config = {
        .options = &request->sink,
        .limit = request->limits.body_bytes,
        .memory_limit = request->memory_limit,
        .may_resume = is_get && !afc__source_exists(&transfer->source),
        .is_named_late = events != NULL && events->on_head != NULL,
    };
    afc_status status = afc__sink_init(&transfer->sink, &config, failure);
    if (status != AFC_OK) return status;
    if (request->sink.kind == AFC_SINK_CALLBACK && (events == NULL || events->on_body == NULL)) {
        return afc__fail(failure, AFC_EINVAL,
                         "sink.kind is AFC_SINK_CALLBACK without a callback: set events.on_body");
    }
    if (afc__sink_is_resumable(&transfer->sink) && transfer->coding == AFC__CODING_DECODED) {
        transfer->coding = AFC__CODING_AVOIDED;
    }
    const afc_header *range = find_range_field(request);
    if (range == NULL) return AFC_OK;
    if (afc__sink_is_resumable(&transfer->sink)) {
        return afc__fail(failure, AFC_EINVAL, "%s can't be set: a resumable download sets it",
                         afc__same_name(range->name, "Range") ? "Range" : "If-Range");
    }
    transfer->sink.may_resume = false;
    if (transfer->coding == AFC__CODING_DECODED) transfer->coding = AFC__CODING_WHOLE;
    return AFC_OK;
}

/* ---- Asking -------------------------------------------------------------------------------- */

/** Returns the URL of the first hop, which identifies the download: redirects may lead elsewhere each time. */
static afc_slice asked_url(const afc__transfer *transfer) {
    const afc_result *result = transfer->result;
    return afc_slice_of(result->hop_count > 0 ? result->hops[0].url : transfer->request.url.text);
}

/** Copies the current request, without its fields about ranges, and adds `extra` fields. */
static afc_status copy_request(const afc__transfer *transfer, const afc_header *extra, size_t count,
                               afc__request_head *out, afc_failure *failure) {
    const afc__request_head *now = &transfer->request;
    afc__url url = {0};
    afc_status status = afc__url_parse(&url, afc_slice_of(now->url.text), failure);
    if (status != AFC_OK) return status;
    afc_header *headers = afc__alloc((now->header_count + count) * sizeof *headers);
    if (headers == NULL) {
        afc__url_clear(&url);
        return afc__fail_memory(failure);
    }
    size_t kept = 0;
    for (size_t i = 0; i < now->header_count; i++) {
        if (!is_range_field(&now->headers[i])) headers[kept++] = now->headers[i];
    }
    for (size_t i = 0; i < count; i++) headers[kept++] = extra[i];
    status = afc__request_head_init(out, (afc__storage){0}, now->method, &url, headers, kept,
                                    failure);
    afc_free(headers);
    return status;
}

bool afc__transfer_ask_for_rest(afc__transfer *transfer) {
    if (transfer->range != AFC__RANGE_UNDECIDED) return true;
    afc_failure failure = {0};
    afc__sink *sink = &transfer->sink;
    transfer->range = AFC__RANGE_NONE;
    afc_slice url = asked_url(transfer);
    if (afc__sink_find_partial(sink, url, &failure) != AFC_OK)
        return afc__transfer_fail(transfer, &failure);
    if (!afc__resume_exists(&sink->file.token)) return true;
    char range[AFC__RESUME_RANGE_SIZE];
    afc_header fields[2];
    afc__request_head request;
    afc__resume_ask(&sink->file.token, sink->file.size, range, fields);
    if (copy_request(transfer, fields, 2, &request, &failure) != AFC_OK) {
        return afc__transfer_fail(transfer, &failure);
    }
    afc__request_head_clear(&transfer->request);
    transfer->request = request;
    transfer->range = AFC__RANGE_ASKED;
    return true;
}

/* ---- The response -------------------------------------------------------------------------- */

/**
 * Decides about the response to the request for the whole file, after a useless part. Its status decides whether the
 * partial file is kept, replaced or removed; see afc__resume_decide_whole().
 */
static afc__resume_decision decide_whole(const afc__transfer *transfer) {
    afc__resume_verdict verdict = afc__resume_decide_whole(transfer->hop.reader->head.status);
    return (afc__resume_decision){verdict, 0, 0, transfer->refusal};
}

bool afc__transfer_check_partial_response(afc__transfer *transfer, bool *is_refused) {
    *is_refused = false;
    if (transfer->range == AFC__RANGE_REFUSED) transfer->resume_decision = decide_whole(transfer);
    if (transfer->range != AFC__RANGE_ASKED) return true;
    const afc__file *file = &transfer->sink.file;
    transfer->resume_decision = afc__resume_decide(
        &file->token, file->size, &transfer->hop.reader->head, &transfer->hop.framing);
    if (transfer->resume_decision.verdict != AFC__RESUME_REFUSE) return true;
    afc_failure failure = {0};
    afc__request_head *next = afc__hop_make_next(&transfer->hop);
    if (next == NULL) return afc__transfer_fail_memory(transfer);
    if (copy_request(transfer, NULL, 0, next, &failure) != AFC_OK) {
        return afc__transfer_fail(transfer, &failure);
    }
    transfer->refusal = transfer->resume_decision.reason;
    transfer->range = AFC__RANGE_REFUSED;
    afc__hop_enter(&transfer->hop, AFC__PHASE_DISCARDING);
    *is_refused = true;
    return true;
}

/** Sets the path that on_head has chosen for the file, if any. Returns false if the task has failed. */
static bool name_file(afc__transfer *transfer, const afc_response *response) {
    const afc_head *head = &transfer->hop.reader->head;
    bool is_success = head->status >= 200 && head->status <= 299;
    bool is_fixed = transfer->range == AFC__RANGE_ASKED || transfer->range == AFC__RANGE_REFUSED;
    if (response->path == NULL || !is_success || is_fixed) return true;
    afc_failure failure = {0};
    afc_status status = afc__sink_set_path(&transfer->sink, response->path, response->flags,
                                           &failure);
    if (status == AFC_OK) {
        status = afc__sink_check_partial(&transfer->sink, asked_url(transfer), &failure);
    }
    return status == AFC_OK || afc__transfer_fail(transfer, &failure);
}

bool afc__transfer_open_sink(afc__transfer *transfer, const afc_response *response) {
    if (!name_file(transfer, response)) return false;
    afc_failure failure = {0};
    bool has_decision = transfer->range == AFC__RANGE_ASKED ||
                        transfer->range == AFC__RANGE_REFUSED;
    bool has_body = transfer->hop.framing.kind != AFC__FRAMING_NONE;
    afc__sink_start start = {
        .head = &transfer->hop.reader->head,
        .framing = &transfer->hop.framing,
        .url = asked_url(transfer),
        .length = has_body ? transfer->hop.framing.length : 0,
        .is_encoded = transfer->hop.framing.is_encoded && transfer->coding != AFC__CODING_KEPT,
        .is_head = afc__request_head_is(&transfer->request, "HEAD"),
        .asks_for_range = afc__request_head_sends(&transfer->request, afc_slice_of("Range")),
        .can_wait = !transfer->hop.shares_connection,
        .decision = has_decision ? &transfer->resume_decision : NULL,
    };
    if (afc__sink_open(&transfer->sink, &start, &failure) != AFC_OK)
        return afc__transfer_fail(transfer, &failure);
    transfer->progress.offset = transfer->sink.offset;
    return true;
}

/* ---- The end ------------------------------------------------------------------------------- */

void afc__transfer_report_file(afc__transfer *transfer) {
    afc__sink *sink = &transfer->sink;
    afc_result *result = transfer->result;
    bool has_file = sink->kind == AFC_SINK_FILE &&
                    !afc__request_head_is(&transfer->request, "HEAD");
    if (!has_file) return;
    result->resume_token = afc__sink_copy_token(sink);
    if (result->resume_token == NULL && afc__resume_exists(&sink->file.token)) {
        (void)afc__transfer_fail_memory(transfer);
    }
    result->download = afc__alloc(sizeof *result->download);
    if (result->download == NULL) {
        (void)afc__transfer_fail_memory(transfer);
        return;
    }
    *result->download = (afc_download){
        .path = sink->file.path,
        .resume_token = result->resume_token != NULL ? result->resume_token : "",
        .resumption = sink->resumption,
        .offset = sink->offset,
        .size = sink->file.size,
        .reason = sink->reason,
    };
    sink->file.path = NULL;
}
