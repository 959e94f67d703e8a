/* Makes the request of the next hop from a redirect: its fields, the callback's decision, the checks. */
#include "transfer/redirect_hop.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "transfer/auth.h"
#include "transfer/cookies_hsts.h"
#include "transfer/transfer.h"

/**
 * Sets `*headers` to the fields that the next hop may send, without those that must not cross origins, for on_redirect
 * to edit.
 */
static afc_status propose(const afc__transfer *transfer, const afc__redirect_plan *plan,
                          afc_header **headers, size_t *count) {
    const afc__request_head *now = &transfer->request;
    *headers = afc__alloc((now->header_count + 1) * sizeof **headers);
    if (*headers == NULL) return AFC_ENOMEM;
    *count = 0;
    for (size_t i = 0; i < now->header_count; i++) {
        if (afc__redirect_keeps_header(plan, &now->headers[i])) {
            (*headers)[(*count)++] = now->headers[i];
        }
    }
    return AFC_OK;
}

/** Calls on_redirect. Returns true to follow; otherwise the 3xx is the response, or the task has failed. */
static bool ask_callback(afc__transfer *transfer, afc__redirect_plan *plan,
                         afc_redirect *redirect) {
    if (transfer->events.on_redirect == NULL) return true;
    afc__transfer_count_event(transfer);
    afc_failure failure;
    afc_redirect_decision decision = transfer->events.on_redirect(transfer->events.context,
                                                                  redirect);
    switch (decision) {
    case AFC_REDIRECT_FOLLOW:
        return true;
    case AFC_REDIRECT_STOP:
        plan->follow = false;
        return false;
    case AFC_REDIRECT_FAIL:
        afc__fail(&failure, AFC_EREDIRECT, "on_redirect refused the redirect");
        failure.reason = AFC_REASON_REDIRECT_REFUSED;
        return afc__transfer_fail(transfer, &failure);
    }
    afc__fail_returned(&failure, "on_redirect", (int)decision, "AFC_REDIRECT_…");
    return afc__transfer_fail(transfer, &failure);
}

/**
 * Writes the fields that may be sent to the URL that on_redirect has set to `storage`, which has room for all. Returns
 * their number.
 */
static size_t keep_edited(const afc__transfer *transfer, const afc__redirect_plan *plan,
                          const afc_redirect *redirect, const afc__url *url, afc_header *storage) {
    const afc__request_head *now = &transfer->request;
    size_t count = 0;
    for (size_t i = 0; i < redirect->header_count; i++) {
        afc_header header = redirect->headers[i];
        afc__redirect_restore_mark(&header, now->headers, now->header_count);
        if (afc__redirect_keeps_edited(plan, &now->url, url, &header, now->headers,
                                       now->header_count)) {
            storage[count++] = header;
        }
    }
    return count;
}

static afc_status init_next(afc__transfer *transfer, const afc__redirect_plan *plan,
                            const afc_redirect *redirect, afc__url *url, afc_failure *failure) {
    afc_header *headers = afc__alloc((redirect->header_count + 1) * sizeof *headers);
    transfer->hop.location = afc__copy_text(afc_slice_of(url->text));
    afc__request_head *next = afc__hop_make_next(&transfer->hop);
    if (headers == NULL || transfer->hop.location == NULL || next == NULL) {
        afc_free(headers);
        return afc__fail_memory(failure);
    }
    size_t count = keep_edited(transfer, plan, redirect, url, headers);
    const char *method = redirect->method != NULL ? redirect->method : "GET";
    afc_status status = afc__request_head_init(next, (afc__storage){0}, method, url, headers, count,
                                               failure);
    afc_free(headers);
    return status;
}

/**
 * Converts the host of `url`, which on_redirect may have set, to A-labels, and upgrades it to https if HSTS requires
 * that.
 */
static afc_status check_target(const afc__transfer *transfer, const afc__redirect_plan *plan,
                               afc__url *url, afc_failure *failure) {
    afc_status status = afc__url_use_a_labels(url, afc__transfer_to_ascii(transfer), failure);
    if (status != AFC_OK) return status;
    if (!url->is_https && afc__transfer_wants_https(transfer, url)) {
        status = afc__url_upgrade(url, failure);
        if (status != AFC_OK) return status;
    }
    if (transfer->request.url.is_https && !url->is_https && !transfer->allow_downgrade) {
        return afc__fail(failure, AFC_EREDIRECT, "refused a redirect from https to http");
    }
    if (plan->keeps_body && !afc__source_can_rewind(&transfer->source)) {
        return afc__fail(failure, AFC_EREPLAY,
                         "the redirect needs the request body again, but it can be read only once");
    }
    return AFC_OK;
}

static bool make_next(afc__transfer *transfer, const afc__redirect_plan *plan,
                      const afc_redirect *redirect) {
    afc_failure failure = {0};
    afc__url url = {0};
    afc_status status = afc__check_header_pointers(redirect->headers, redirect->header_count,
                                                   &failure);
    if (status == AFC_OK) {
        status = afc__url_parse(&url, afc_slice_of(redirect->url), &failure);
        if (status == AFC_EINVAL) afc__name_failure(&failure, "the URL set by on_redirect", status);
    }
    if (status == AFC_OK) status = check_target(transfer, plan, &url, &failure);
    if (status == AFC_OK) status = init_next(transfer, plan, redirect, &url, &failure);
    afc__url_clear(&url);
    if (status != AFC_OK) return afc__transfer_fail(transfer, &failure);
    if (!afc__url_same_origin(&transfer->request.url, &transfer->hop.next->url)) {
        afc__transfer_leave_origin(transfer);
    }
    transfer->hop.next->sends_body = plan->keeps_body;
    transfer->redirects++;
    afc__hop_enter(&transfer->hop, AFC__PHASE_DISCARDING);
    return true;
}

bool afc__transfer_follow(afc__transfer *transfer, afc__redirect_plan *plan) {
    afc_header *headers;
    size_t count;
    if (propose(transfer, plan, &headers, &count) != AFC_OK) {
        return afc__transfer_fail_memory(transfer);
    }
    afc_redirect redirect = {
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
    bool follows = ask_callback(transfer, plan, &redirect);
    if (follows) make_next(transfer, plan, &redirect);
    afc_free(headers);
    return !afc__transfer_has_failed(transfer);
}

void afc__transfer_fail_unsent(afc__transfer *transfer, const afc_failure *failure) {
    afc_failure refused = *failure;
    bool is_of_url = failure->status == AFC_EINVAL || failure->status == AFC_EUNSUPPORTED;
    /* The server has chosen this URL. To the caller, both statuses mean that nothing was sent. */
    if (is_of_url && transfer->redirects > 0) {
        afc__fail(&refused, AFC_EREDIRECT, "cannot follow the redirect: %s", failure->text);
    }
    afc__transfer_fail(transfer, &refused);
}
