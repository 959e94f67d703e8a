#include "message/redirect.h"

#include "base/failure.h"
#include "base/text.h"
#include "message/fields.h"

static bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/** Returns whether the method becomes GET (RFC 9110 15.4.2 to 15.4.4). */
static bool becomes_get(int status, const char *method) {
    if (status == 303) return strcmp(method, "HEAD") != 0;
    return (status == 301 || status == 302) && strcmp(method, "POST") == 0;
}

/**
 * Converts the host to A-labels. A host that can't be converted can't be connected to: that is the server's mistake,
 * and so AFC_EREDIRECT.
 */
static afc_status use_a_labels(afc__url *url, afc__to_ascii *to_ascii, afc_failure *failure) {
    afc_status status = afc__url_use_a_labels(url, to_ascii, failure);
    if (status != AFC_OK || to_ascii == NULL || afc__is_ascii(url->host)) return status;
    return afc__fail(failure, AFC_EREDIRECT, "cannot convert the host name \"%.*s\" to ASCII",
                     (int)url->host.size, url->host.bytes);
}

static afc_status find_target(const afc__redirect_question *question, afc_slice location,
                              afc__url *out, afc_failure *failure) {
    afc_failure reason;
    char *mapped = NULL;
    afc_status status = AFC_OK;
    if (question->is_upgrade) status = afc__url_from_websocket(&mapped, location);
    if (status != AFC_OK) return afc__fail_memory(failure);
    if (mapped != NULL) location = afc_slice_of(mapped);
    status = afc__url_resolve(out, question->url, location, &reason);
    afc_free(mapped);
    if (status == AFC_OK) {
        status = use_a_labels(out, question->to_ascii, &reason);
        if (status != AFC_OK) afc__url_clear(out);
    }
    if (status == AFC_ENOMEM) return afc__fail(failure, status, "%s", reason.text);
    if (status != AFC_OK) {
        return afc__fail(failure, AFC_EREDIRECT, "cannot follow the redirect: %s", reason.text);
    }
    if (!out->is_https && question->wants_https != NULL &&
        question->wants_https(question->context, out)) {
        status = afc__url_upgrade(out, failure);
        if (status != AFC_OK) {
            afc__url_clear(out);
            return status;
        }
    }
    if (question->url->is_https && !out->is_https && !question->allow_downgrade) {
        afc__url_clear(out);
        return afc__fail(failure, AFC_EREDIRECT, "refused a redirect from https to http");
    }
    return AFC_OK;
}

afc_status afc__redirect_decide(const afc__redirect_question *question, afc__redirect_plan *out,
                                afc_failure *failure) {
    *out = (afc__redirect_plan){0};
    int code = question->head->status;
    if (!is_redirect(code) || question->limit < 0) return AFC_OK;
    const afc_header *field;
    afc__found found = afc__find_one(question->head, "Location", &field);
    if (found == AFC__FOUND_DIFFERENT) {
        return afc__fail(failure, AFC_EREDIRECT, "the redirect has conflicting Locations");
    }
    if (found == AFC__FOUND_NONE || field->value.size == 0) return AFC_OK;
    if (question->followed >= question->limit) {
        return afc__give_reason(
            failure, AFC_REASON_REDIRECT_LIMIT,
            afc__fail(failure, AFC_EREDIRECT, "more than %d redirects", question->limit));
    }
    afc_status status = find_target(question, field->value, &out->target, failure);
    if (status != AFC_OK) return status;
    out->follow = true;
    out->method = becomes_get(code, question->method) ? "GET" : question->method;
    out->keeps_body = question->has_body && code != 303 && out->method == question->method;
    out->crosses_origin = !afc__url_same_origin(question->url, &out->target);
    return AFC_OK;
}

/** Returns whether a field is meant for one origin, or for its proxy. */
static bool is_of_origin(const afc_header *header) {
    return (header->flags & AFC_HEADER_SECRET) != 0 || afc_header_is_credential(header->name) ||
           afc__begins_with_name(header->name, "Proxy-") || afc__same_name(header->name, "Host");
}

static bool describes_body(afc_slice name) {
    return afc__begins_with_name(name, "Content-") || afc__same_name(name, "Digest") ||
           afc__same_name(name, "Repr-Digest") || afc__same_name(name, "Expect") ||
           afc__same_name(name, "Trailer");
}

bool afc__redirect_keeps_header(const afc__redirect_plan *plan, const afc_header *header) {
    if ((header->flags & AFC_HEADER_REMOVE) != 0) return true;
    if (plan->crosses_origin && is_of_origin(header)) return false;
    return plan->keeps_body || !describes_body(header->name);
}

void afc__redirect_restore_mark(afc_header *header, const afc_header *old, size_t old_count) {
    if ((header->flags & AFC_HEADER_REMOVE) != 0) return;
    for (size_t i = 0; i < old_count; i++) {
        if (!afc__same_names(header->name, old[i].name)) continue;
        header->flags |= old[i].flags & AFC_HEADER_SECRET;
    }
}

/**
 * Returns whether a field would be sent like one of `old`: the case of names doesn't matter, and blanks around values
 * aren't sent.
 */
static bool is_among(const afc_header *header, const afc_header *old, size_t count) {
    afc_slice value = afc__trim(header->value);
    for (size_t i = 0; i < count; i++) {
        if (afc__same_names(header->name, old[i].name) &&
            afc__is_same(value, afc__trim(old[i].value)))
            return true;
    }
    return false;
}

bool afc__redirect_keeps_edited(const afc__redirect_plan *plan, const afc__url *from,
                                const afc__url *edited, const afc_header *header,
                                const afc_header *old, size_t old_count) {
    if (plan->crosses_origin || afc__url_same_origin(from, edited)) return true;
    afc__redirect_plan crossing = {.keeps_body = true, .crosses_origin = true};
    return afc__redirect_keeps_header(&crossing, header) || !is_among(header, old, old_count);
}
