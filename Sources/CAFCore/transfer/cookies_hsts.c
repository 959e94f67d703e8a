#include "transfer/cookies_hsts.h"

#include "base/alloc.h"
#include "base/buffer.h"
#include "base/domain.h"
#include "base/text.h"
#include "message/fields.h"
#include "store/cookie_jar.h"
#include "store/hsts.h"
#include "store/suffixes.h"
#include "transfer/transfer.h"

#include <string.h>
#include <time.h>

/* Maximum number of Set-Cookie fields of a response; the rest is ignored. */
enum { MAX_SET_COOKIES = 50 };

typedef char host_text[AFC__HOST_MAX + 1];

/**
 * Writes a host to `out` as it is compared: A-labels, without a trailing dot. Hosts of URLs are in lower case already.
 * Returns false if it can't be converted.
 */
static bool read_host(const afc__session_stores *stores, afc_slice host, host_text out) {
    if (host.size > AFC__HOST_MAX) return false;
    if (!afc__is_ascii(host)) return stores->to_ascii(out, sizeof(host_text), host);
    host = afc__without_dot(host);
    memcpy(out, host.bytes, host.size);
    out[host.size] = '\0';
    return true;
}

afc__to_ascii *afc__transfer_to_ascii(const afc__transfer *transfer) {
    return transfer->stores != NULL ? transfer->stores->to_ascii : NULL;
}

/* ---- The request's part -------------------------------------------------------------------- */

afc_status afc__transfer_init_cookies(afc__transfer *transfer, const afc_request *request,
                                      afc_failure *failure) {
    afc__url url = {0};
    transfer->ignores_cookies = request->ignore_cookies;
    transfer->merges_cookies = (request->flags & AFC_REQUEST_MERGE_COOKIES) != 0;
    if (request->main_document_url == NULL) return AFC_OK;
    afc_status status = afc__url_parse(&url, afc_slice_of(request->main_document_url), failure);
    if (status == AFC_EINVAL) afc__fail(failure, status, "invalid URL of the main document");
    if (status != AFC_OK) return status;
    transfer->document_host = afc__copy_text(url.host);
    afc__url_clear(&url);
    if (transfer->document_host != NULL) return AFC_OK;
    return afc__fail_memory(failure);
}

void afc__transfer_clear_cookies(afc__transfer *transfer) {
    afc_free(transfer->document_host);
    transfer->document_host = NULL;
}

/* ---- Https only ---------------------------------------------------------------------------- */

bool afc__transfer_wants_https(const void *context, const afc__url *url) {
    const afc__transfer *transfer = context;
    host_text host;
    if (transfer->stores == NULL || transfer->stores->hsts == NULL) return false;
    /* A host that can't be converted can't be looked up in the store, so it must be assumed to be there. */
    if (!read_host(transfer->stores, url->host, host)) return true;
    return afc__hsts_wants(transfer->stores->hsts, host, (int64_t)time(NULL));
}

bool afc__transfer_upgrade(afc__transfer *transfer) {
    afc__url *url = &transfer->request.url;
    if (transfer->stores == NULL || url->is_https || !afc__transfer_wants_https(transfer, url)) {
        return true;
    }
    afc_failure failure = {0};
    return afc__url_upgrade(url, &failure) == AFC_OK || afc__transfer_fail(transfer, &failure);
}

void afc__transfer_store_hsts(afc__transfer *transfer, const afc__verification *verification) {
    host_text host;
    afc__hsts_field field;
    const afc_head *head = &transfer->hop.reader->head;
    bool is_asked = transfer->stores != NULL && transfer->stores->hsts != NULL &&
                    transfer->request.url.is_https;
    if (!is_asked || transfer->hop.reader->state != AFC__HEAD_DONE) return;
    if (!afc__verification_is_faultless(verification)) return;
    for (size_t i = 0; i < head->header_count; i++) {
        if (!afc__same_name(head->headers[i].name, "Strict-Transport-Security")) continue;
        /* The first field counts (RFC 6797 section 8.1). Out of memory, it is ignored this time. */
        bool is_read = afc__hsts_read(&field, head->headers[i].value) &&
                       read_host(transfer->stores, transfer->request.url.host, host);
        if (is_read) afc__hsts_keep(transfer->stores->hsts, host, &field, (int64_t)time(NULL));
        return;
    }
}

/* ---- Cookies ------------------------------------------------------------------------------- */

static bool uses_cookies(const afc__transfer *transfer) {
    return transfer->stores != NULL && transfer->stores->cookies != NULL &&
           !transfer->ignores_cookies;
}

/** Sets `*out` to the site of the URL. The caller's own Host field has no influence on cookies. */
static bool read_site(const afc__transfer *transfer, host_text storage, afc__cookie_site *out) {
    const afc__url *url = &transfer->request.url;
    *out = (afc__cookie_site){storage, url->path, url->is_https};
    return read_host(transfer->stores, url->host, storage);
}

/**
 * Writes the values of the request's Cookie fields as one value, as they must be sent as one field (RFC 6265 section
 * 5.4).
 */
static afc_status join_given(const afc__request_head *request, afc__buffer *out) {
    afc_status status = AFC_OK;
    size_t most = 0;
    afc_slice name = afc_slice_of("Cookie");
    for (size_t i = 0; i < request->header_count; i++) most += request->headers[i].value.size + 2;
    afc__buffer_init(out, most);
    /* Reserved at once, because a growing buffer would leave copies of secrets behind that aren't overwritten. */
    if (most > 0) status = afc__buffer_reserve(out, most);
    for (size_t i = 0; i < request->header_count && status == AFC_OK; i++) {
        const afc_header *header = &request->headers[i];
        if ((header->flags & AFC_HEADER_REMOVE) != 0 || !afc__same_names(header->name, name)) {
            continue;
        }
        afc_slice value = afc__trim(header->value);
        /* A separator behind the last cookie of a field would add an empty cookie. */
        while (value.size > 0 && strchr("; ", value.bytes[value.size - 1]) != NULL) value.size--;
        if (value.size == 0) continue;
        if (out->size > 0) status = afc__buffer_append(out, "; ", 2);
        if (status == AFC_OK) status = afc__buffer_append(out, value.bytes, value.size);
    }
    return status;
}

static bool choose_cookies(afc__transfer *transfer) {
    host_text storage;
    afc__cookie_site site;
    afc__buffer given;
    const afc__request_head *request = &transfer->request;
    bool is_mentioned = afc__request_head_mentions(request, "Cookie");
    bool is_merged = transfer->merges_cookies &&
                     afc__request_head_sends(request, afc_slice_of("Cookie"));
    if (is_mentioned && !is_merged) return true;
    if (!read_site(transfer, storage, &site)) return true;
    afc__buffer_init(&given, 0);
    afc_status status = is_merged ? join_given(request, &given) : AFC_OK;
    if (status == AFC_OK) {
        status = afc__cookie_jar_write(transfer->stores->cookies, &site, (int64_t)time(NULL),
                                       afc__buffer_slice(&given), &transfer->hop.cookies);
    }
    afc__buffer_wipe(&given);
    afc__buffer_clear(&given);
    return status == AFC_OK || afc__transfer_fail_memory(transfer);
}

/** Stores the host of the task's first URL as that of the main document, unless the request has set one. */
static bool remember_document(afc__transfer *transfer) {
    bool is_asked = transfer->stores->cookie_policy == AFC_COOKIES_MAIN_DOCUMENT;
    if (!is_asked || transfer->document_host != NULL) return true;
    transfer->document_host = afc__copy_text(transfer->request.url.host);
    return transfer->document_host != NULL || afc__transfer_fail_memory(transfer);
}

bool afc__transfer_apply_cookies_and_hsts(afc__transfer *transfer) {
    if (transfer->stores == NULL) return true;
    if (!afc__transfer_upgrade(transfer)) return false;
    if (!uses_cookies(transfer)) return true;
    return remember_document(transfer) && choose_cookies(transfer);
}

/** Returns whether the host belongs to the same site as the main document. */
static bool is_of_document(const afc__transfer *transfer, const char *host) {
    host_text document;
    return transfer->document_host != NULL &&
           read_host(transfer->stores, afc_slice_of(transfer->document_host), document) &&
           afc__is_same_site(host, document);
}

static bool keeps_cookies(const afc__transfer *transfer, const char *host) {
    switch (transfer->stores->cookie_policy) {
    case AFC_COOKIES_ALWAYS:
        return true;
    case AFC_COOKIES_MAIN_DOCUMENT:
        return is_of_document(transfer, host);
    case AFC_COOKIES_NEVER:
        break;
    }
    return false;
}

bool afc__transfer_save_cookies(afc__transfer *transfer) {
    host_text storage;
    afc__cookie_site site;
    const char *why;
    unsigned count = 0;
    const afc_head *head = &transfer->hop.reader->head;
    if (!uses_cookies(transfer)) return true;
    if (!read_site(transfer, storage, &site) || !keeps_cookies(transfer, storage)) return true;
    for (size_t i = 0; i < head->header_count && count < MAX_SET_COOKIES; i++) {
        const afc_header *field = &head->headers[i];
        if (!afc__same_name(field->name, "Set-Cookie")) continue;
        count++;
        afc_status status = afc__cookie_jar_keep(transfer->stores->cookies, &site, field->value,
                                                 (int64_t)time(NULL), &why);
        if (status == AFC_ENOMEM) return afc__transfer_fail_memory(transfer);
    }
    return true;
}
