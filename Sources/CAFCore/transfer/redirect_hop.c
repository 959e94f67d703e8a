/* From a redirect to the next hop: what it would send, the callback's decision, the checks. */
#include "base/alloc.h"
#include "base/failure.h"
#include "transfer/auth.h"
#include "transfer/cookies_hsts.h"
#include "transfer/transfer_internal.h"

/** What the next hop would send, with the fields that may cross, for the hook to edit. */
static af_status propose(const af__transfer *transfer, const af__redirect_plan *plan,
                         af_header **headers, size_t *count) {
    const af__request_head *now = &transfer->request;
    *headers = af__alloc((now->header_count + 1) * sizeof **headers);
    if (*headers == NULL) return AF_ENOMEM;
    *count = 0;
    for (size_t i = 0; i < now->header_count; i++) {
        if (af__redirect_keeps_header(plan, &now->headers[i])) {
            (*headers)[(*count)++] = now->headers[i];
        }
    }
    return AF_OK;
}

/** true: follow. false: the response stays as it is, or the task has failed. */
static bool ask_hook(af__transfer *transfer, af__redirect_plan *plan, af_redirect *redirect) {
    if (transfer->events.on_redirect == NULL) return true;
    af__transfer_count_event(transfer);
    switch (transfer->events.on_redirect(transfer->events.context, redirect)) {
    case AF_REDIRECT_FOLLOW:
        return true;
    case AF_REDIRECT_STOP:
        plan->follow = false;
        return false;
    case AF_REDIRECT_FAIL:
        break;
    }
    return af__transfer_fail_text(transfer, AF_EREDIRECT, "on_redirect refused the redirect");
}

/** The fields that go to where the hook leads: `room` has place for all that it left. */
static size_t keep_edited(const af__transfer *transfer, const af__redirect_plan *plan,
                          const af_redirect *redirect, const af__url *url, af_header *room) {
    const af__request_head *now = &transfer->request;
    size_t count = 0;
    for (size_t i = 0; i < redirect->header_count; i++) {
        if (af__redirect_keeps_edited(plan, &now->url, url, &redirect->headers[i], now->headers,
                                      now->header_count)) {
            room[count++] = redirect->headers[i];
        }
    }
    return count;
}

static af_status init_next(af__transfer *transfer, const af__redirect_plan *plan,
                           const af_redirect *redirect, af__url *url, af_failure *failure) {
    af_header *headers = af__alloc((redirect->header_count + 1) * sizeof *headers);
    transfer->hop.location = af__copy_text(af_slice_of(url->text));
    af__request_head *next = af__hop_make_next(&transfer->hop);
    if (headers == NULL || transfer->hop.location == NULL || next == NULL) {
        af_free(headers);
        return af__fail_memory(failure);
    }
    size_t count = keep_edited(transfer, plan, redirect, url, headers);
    af_status status = af__request_head_init(next, (af__storage){0}, redirect->method, url, headers,
                                             count, failure);
    af_free(headers);
    return status;
}

/** Gives `url`, which on_redirect may have written, A-labels, and https if HSTS requires that. */
static af_status check_target(const af__transfer *transfer, const af__redirect_plan *plan,
                              af__url *url, af_failure *failure) {
    af_status status = af__url_use_a_labels(url, af__transfer_to_ascii(transfer), failure);
    if (status != AF_OK) return status;
    if (!url->is_https && af__transfer_wants_https(transfer, url)) {
        status = af__url_upgrade(url, failure);
        if (status != AF_OK) return status;
    }
    if (transfer->request.url.is_https && !url->is_https && !transfer->allow_downgrade) {
        return af__fail(failure, AF_EREDIRECT, "refused a redirect from https to http");
    }
    if (plan->keeps_body && !af__source_can_rewind(&transfer->source)) {
        return af__fail(failure, AF_EREPLAY,
                        "the redirect needs the request body again, but it can be read only once");
    }
    return AF_OK;
}

static bool make_next(af__transfer *transfer, const af__redirect_plan *plan,
                      const af_redirect *redirect) {
    af_failure failure = {0};
    af__url url = {0};
    af_status status = af__url_parse(&url, af_slice_of(redirect->url), &failure);
    if (status == AF_OK) status = check_target(transfer, plan, &url, &failure);
    if (status == AF_OK) status = init_next(transfer, plan, redirect, &url, &failure);
    af__url_clear(&url);
    if (status != AF_OK) return af__transfer_fail(transfer, &failure);
    if (!af__url_same_origin(&transfer->request.url, &transfer->hop.next->url)) {
        af__transfer_leave_origin(transfer);
    }
    transfer->hop.next->sends_body = plan->keeps_body;
    transfer->redirects++;
    transfer->hop.phase = AF__PHASE_DISCARDING;
    return true;
}

bool af__transfer_follow(af__transfer *transfer, af__redirect_plan *plan) {
    af_header *headers;
    size_t count;
    if (propose(transfer, plan, &headers, &count) != AF_OK) {
        return af__transfer_fail_memory(transfer);
    }
    af_redirect redirect = {
        .head = &transfer->hop.reader->head,
        .from = transfer->request.url.text,
        .count = transfer->redirects + 1,
        .crosses_origin = plan->crosses_origin,
        .keeps_body = plan->keeps_body,
        .url = plan->target.text,
        .method = plan->method,
        .headers = headers,
        .header_count = count,
    };
    bool follows = ask_hook(transfer, plan, &redirect);
    if (follows) make_next(transfer, plan, &redirect);
    af_free(headers);
    return !af__transfer_has_failed(transfer);
}
