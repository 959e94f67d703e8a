#include "transfer/resume_hop.h"

#include "base/alloc.h"
#include "transfer/transfer_internal.h"

#include <string.h>

static bool is_range_field(const af_header *header) {
    return af__same_name(header->name, "Range") || af__same_name(header->name, "If-Range");
}

static const af_header *find_range_field(const af_request *request) {
    for (size_t i = 0; request->headers != NULL && i < request->header_count; i++) {
        if (is_range_field(&request->headers[i])) return &request->headers[i];
    }
    return NULL;
}

/* ---- Making -------------------------------------------------------------------------------- */

af_status af__transfer_init_sink(af__transfer *transfer, const af_request *request,
                                 const af_task_events *events, af_failure *failure) {
    bool is_get = request->method != NULL && strcmp(request->method, "GET") == 0;
    af__sink_config wish = {
        .options = &request->sink,
        .limit = request->limits.body,
        .may_resume = is_get && !af__source_exists(&transfer->source),
        .is_named_late = events != NULL && events->on_head != NULL,
    };
    af_status status = af__sink_init(&transfer->sink, &wish, failure);
    if (status != AF_OK) return status;
    if (transfer->sink.is_resumable && transfer->coding == AF__CODING_DECODED) {
        transfer->coding = AF__CODING_AVOIDED;
    }
    const af_header *range = find_range_field(request);
    if (range == NULL) return AF_OK;
    if (transfer->sink.is_resumable) {
        return af__fail(failure, AF_EINVAL, "%s can't be set: a resumable download sets it",
                        af__same_name(range->name, "Range") ? "Range" : "If-Range");
    }
    transfer->sink.may_resume = false;
    return AF_OK;
}

/* ---- Asking -------------------------------------------------------------------------------- */

/** The URL of the first hop: redirects may lead elsewhere each time. */
static af_slice asked_url(const af__transfer *transfer) {
    const af_result *result = transfer->result;
    return af_slice_of(result->hop_count > 0 ? result->hops[0].url : transfer->request.url.text);
}

/** The hop that is under way, without the fields of a range, with `extra` ones. */
static af_status copy_request(const af__transfer *transfer, const af_header *extra, size_t count,
                              af__request_head *out, af_failure *failure) {
    const af__request_head *now = &transfer->request;
    af__url url = {0};
    af_status status = af__url_parse(&url, af_slice_of(now->url.text), failure);
    if (status != AF_OK) return status;
    af_header *headers = af__alloc((now->header_count + count) * sizeof *headers);
    if (headers == NULL) {
        af__url_clear(&url);
        return af__fail_memory(failure);
    }
    size_t kept = 0;
    for (size_t i = 0; i < now->header_count; i++) {
        if (!is_range_field(&now->headers[i])) headers[kept++] = now->headers[i];
    }
    for (size_t i = 0; i < count; i++) headers[kept++] = extra[i];
    status = af__request_head_init(out, (af__storage){0}, now->method, &url, headers, kept,
                                   failure);
    out->sends_body = now->sends_body;
    af_free(headers);
    return status;
}

bool af__transfer_ask_for_rest(af__transfer *transfer) {
    if (transfer->range != AF__RANGE_UNSOUGHT) return true;
    af_failure failure = {0};
    af__sink *sink = &transfer->sink;
    transfer->range = AF__RANGE_NONE;
    af_slice url = asked_url(transfer);
    if (af__sink_find_partial(sink, url, &failure) != AF_OK)
        return af__transfer_fail(transfer, &failure);
    if (!af__resume_exists(&sink->file.token)) return true;
    char range[AF__RESUME_RANGE_ROOM];
    af_header fields[2];
    af__request_head request;
    af__resume_ask(&sink->file.token, sink->file.size, range, fields);
    if (copy_request(transfer, fields, 2, &request, &failure) != AF_OK) {
        return af__transfer_fail(transfer, &failure);
    }
    af__request_head_clear(&transfer->request);
    transfer->request = request;
    transfer->range = AF__RANGE_ASKED;
    return true;
}

/* ---- The response -------------------------------------------------------------------------- */

/** After a useless part the whole was asked for: the partial file is kept only if no body comes. */
static af__resume_answer judge_whole(const af__transfer *transfer) {
    int status = transfer->hop.reader->head.status;
    af__resume_answer answer = {AF__RESUME_KEEP, 0, 0, transfer->refusal};
    if (status >= 200 && status <= 299) answer.verdict = AF__RESUME_RESTART;
    if (status == 404 || status == 410) answer.verdict = AF__RESUME_GONE;
    return answer;
}

bool af__transfer_check_partial_response(af__transfer *transfer, bool *is_refused) {
    *is_refused = false;
    if (transfer->range == AF__RANGE_REFUSED) transfer->resume_answer = judge_whole(transfer);
    if (transfer->range != AF__RANGE_ASKED) return true;
    const af__file *file = &transfer->sink.file;
    transfer->resume_answer = af__resume_judge(&file->token, file->size,
                                               &transfer->hop.reader->head, &transfer->hop.framing);
    if (transfer->resume_answer.verdict != AF__RESUME_REFUSE) return true;
    af_failure failure = {0};
    af__request_head *next = af__hop_make_next(&transfer->hop);
    if (next == NULL) return af__transfer_fail_memory(transfer);
    if (copy_request(transfer, NULL, 0, next, &failure) != AF_OK) {
        return af__transfer_fail(transfer, &failure);
    }
    transfer->refusal = transfer->resume_answer.reason;
    transfer->range = AF__RANGE_REFUSED;
    transfer->hop.phase = AF__PHASE_DISCARDING;
    *is_refused = true;
    return true;
}

/** false: the task failed. */
static bool name_file(af__transfer *transfer, const af_response *response) {
    const af_head *head = &transfer->hop.reader->head;
    bool is_success = head->status >= 200 && head->status <= 299;
    bool is_fixed = transfer->range == AF__RANGE_ASKED || transfer->range == AF__RANGE_REFUSED;
    if (response->path == NULL || !is_success || is_fixed) return true;
    af_failure failure = {0};
    af_status status = af__sink_set_path(&transfer->sink, response->path, response->flags,
                                         &failure);
    return status == AF_OK || af__transfer_fail(transfer, &failure);
}

bool af__transfer_open_sink(af__transfer *transfer, const af_response *response) {
    if (!name_file(transfer, response)) return false;
    af_failure failure = {0};
    bool has_answer = transfer->range == AF__RANGE_ASKED || transfer->range == AF__RANGE_REFUSED;
    bool has_body = transfer->hop.framing.kind != AF__FRAMING_NONE;
    af__sink_start start = {
        .head = &transfer->hop.reader->head,
        .framing = &transfer->hop.framing,
        .url = asked_url(transfer),
        .length = has_body ? transfer->hop.framing.length : 0,
        .is_encoded = transfer->hop.framing.is_encoded && transfer->coding != AF__CODING_KEPT,
        .asks_for_range = af__request_head_sends(&transfer->request, af_slice_of("Range")),
        .can_wait = !transfer->hop.shares_connection,
        .answer = has_answer ? &transfer->resume_answer : NULL,
    };
    if (af__sink_open(&transfer->sink, &start, &failure) != AF_OK)
        return af__transfer_fail(transfer, &failure);
    transfer->progress.offset = transfer->sink.offset;
    return true;
}

/* ---- The end ------------------------------------------------------------------------------- */

void af__transfer_report_file(af__transfer *transfer) {
    af__sink *sink = &transfer->sink;
    af_result *result = transfer->result;
    if (sink->kind != AF_SINK_FILE) return;
    result->resume_token = af__sink_copy_token(sink);
    if (result->resume_token == NULL && af__resume_exists(&sink->file.token)) {
        (void)af__transfer_fail_memory(transfer);
    }
    result->download = af__alloc(sizeof *result->download);
    if (result->download == NULL) {
        (void)af__transfer_fail_memory(transfer);
        return;
    }
    *result->download = (af_download){
        .path = sink->file.path,
        .resume_token = result->resume_token != NULL ? result->resume_token : "",
        .resumption = sink->resumption,
        .offset = sink->offset,
        .size = sink->file.size,
        .reason = sink->reason,
    };
    sink->file.path = NULL;
}
