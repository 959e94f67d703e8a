#include "message/redirect.h"

#include "base/failure.h"
#include "base/text.h"
#include "message/fields.h"

static bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/** Finds the Location; empty if there is none. */
static af_status find_location(const af_head *head, af_slice *out, af_failure *failure) {
    *out = (af_slice){NULL, 0};
    for (size_t i = 0; i < head->header_count; i++) {
        const af_header *field = &head->headers[i];
        if (!af__same_name(field->name, "Location")) continue;
        if (out->bytes != NULL && !af__is_same(*out, field->value)) {
            return af__fail(failure, AF_EREDIRECT, "the redirect has conflicting Locations");
        }
        *out = field->value;
    }
    return AF_OK;
}

static bool becomes_get(int status, const char *method) {
    if (status == 303) return strcmp(method, "HEAD") != 0;
    return (status == 301 || status == 302) && strcmp(method, "POST") == 0;
}

static af_status find_target(const af__redirect_question *question, af_slice location, af__url *out,
                             af_failure *failure) {
    af_failure reason;
    af_status status = af__url_resolve(out, question->url, location, &reason);
    if (status == AF_OK) {
        status = af__url_use_a_labels(out, question->to_ascii, &reason);
        if (status != AF_OK) af__url_clear(out);
    }
    if (status == AF_ENOMEM) return af__fail(failure, status, "%s", reason.text);
    if (status != AF_OK) {
        return af__fail(failure, AF_EREDIRECT, "cannot follow the redirect: %s", reason.text);
    }
    if (!out->is_https && question->wants_https != NULL &&
        question->wants_https(question->context, out)) {
        status = af__url_upgrade(out, failure);
        if (status != AF_OK) {
            af__url_clear(out);
            return status;
        }
    }
    if (question->url->is_https && !out->is_https && !question->allow_downgrade) {
        af__url_clear(out);
        return af__fail(failure, AF_EREDIRECT, "refused a redirect from https to http");
    }
    return AF_OK;
}

af_status af__redirect_decide(const af__redirect_question *question, af__redirect_plan *out,
                              af_failure *failure) {
    *out = (af__redirect_plan){0};
    int code = question->head->status;
    if (!is_redirect(code) || question->limit < 0) return AF_OK;
    af_slice location;
    af_status status = find_location(question->head, &location, failure);
    if (status != AF_OK || location.size == 0) return status;
    if (question->followed >= question->limit) {
        return af__fail(failure, AF_EREDIRECT, "more than %d redirects", question->limit);
    }
    status = find_target(question, location, &out->target, failure);
    if (status != AF_OK) return status;
    out->follow = true;
    out->method = becomes_get(code, question->method) ? "GET" : question->method;
    out->keeps_body = question->has_body && code != 303 && out->method == question->method;
    out->crosses_origin = !af__url_same_origin(question->url, &out->target);
    return AF_OK;
}

static bool is_credential(const af_header *header) {
    return (header->flags & AF_HEADER_SECRET) != 0 ||
           af__begins_with_name(header->name, "Proxy-") ||
           af__same_name(header->name, "Authorization") || af__same_name(header->name, "Cookie");
}

static bool describes_body(af_slice name) {
    return af__begins_with_name(name, "Content-") || af__same_name(name, "Digest") ||
           af__same_name(name, "Repr-Digest") || af__same_name(name, "Expect") ||
           af__same_name(name, "Trailer");
}

bool af__redirect_keeps_header(const af__redirect_plan *plan, const af_header *header) {
    if ((header->flags & AF_HEADER_REMOVE) != 0) return true;
    bool is_of_origin = is_credential(header) || af__same_name(header->name, "Host");
    if (plan->crosses_origin && is_of_origin) return false;
    return plan->keeps_body || !describes_body(header->name);
}

static bool is_among(const af_header *header, const af_header *old, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (af__is_same(header->name, old[i].name) && af__is_same(header->value, old[i].value))
            return true;
    }
    return false;
}

bool af__redirect_keeps_edited(const af__redirect_plan *plan, const af__url *from,
                               const af__url *edited, const af_header *header, const af_header *old,
                               size_t old_count) {
    if (plan->crosses_origin || af__url_same_origin(from, edited)) return true;
    af__redirect_plan crossing = {.keeps_body = true, .crosses_origin = true};
    return af__redirect_keeps_header(&crossing, header) || !is_among(header, old, old_count);
}
