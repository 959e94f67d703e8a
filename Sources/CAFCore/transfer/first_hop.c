/* Makes the head of a request's first hop: defaults, and checks of the input. */
#include "transfer/first_hop.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "message/credentials.h"

#include <string.h>

static const char *method_of(const afc_request *request) {
    return request->method != NULL ? request->method : "GET";
}

static bool gives_header(const afc_request *request, const char *name) {
    for (size_t i = 0; i < request->header_count; i++) {
        if (afc__same_name(request->headers[i].name, name)) return true;
    }
    return false;
}

/**
 * Makes the head, with fields in front of the request's own: the user and password of the URL, which are a credential
 * of the first origin like any other, and the media type of a form. Each may be NULL.
 */
static afc_status init_with_fields(afc__transfer *transfer, const afc_request *request,
                                   afc__url *url, const char *credentials, const char *content_type,
                                   afc_failure *failure) {
    afc__storage storage = {transfer->storage, sizeof transfer->storage};
    const afc_header extra[] = {
        {afc_slice_of("Authorization"), afc_slice_of(credentials), AFC_HEADER_SECRET},
        {afc_slice_of("Content-Type"), afc_slice_of(content_type), 0}};
    size_t count = 0;
    afc_header *headers = afc__alloc((request->header_count + 2) * sizeof *headers);
    if (headers == NULL) {
        afc__url_clear(url);
        return afc__fail_memory(failure);
    }
    if (credentials != NULL) headers[count++] = extra[0];
    if (content_type != NULL) headers[count++] = extra[1];
    for (size_t i = 0; i < request->header_count; i++) headers[count++] = request->headers[i];
    afc_status status = afc__request_head_init(&transfer->request, storage, method_of(request), url,
                                               headers, count, failure);
    afc_free(headers);
    return status;
}

afc_status afc__transfer_init_request(afc__transfer *transfer, const afc_request *request,
                                      afc_failure *failure) {
    afc__url url = {0};
    if (request->url == NULL) return afc__fail(failure, AFC_EINVAL, "the request has no URL");
    afc_status status = afc__url_parse(&url, afc_slice_of(request->url), failure);
    if (status != AFC_OK) return status;
    const char *content_type = NULL;
    if (request->body.kind == AFC_BODY_MULTIPART && !gives_header(request, "Content-Type")) {
        content_type = afc_multipart_get_content_type(request->body.form);
    }
    bool has_own = request->credentials != NULL || gives_header(request, "Authorization");
    char *credentials = NULL;
    if (url.userinfo != NULL && !has_own) {
        status = afc__basic_credentials(&credentials, url.userinfo, failure);
        if (status != AFC_OK) {
            afc__url_clear(&url);
            return status;
        }
    }
    if (credentials == NULL && content_type == NULL) {
        afc__storage storage = {transfer->storage, sizeof transfer->storage};
        return afc__request_head_init(&transfer->request, storage, method_of(request), &url,
                                      request->headers, request->header_count, failure);
    }
    status = init_with_fields(transfer, request, &url, credentials, content_type, failure);
    if (credentials != NULL) afc__free_secret(credentials, strlen(credentials));
    return status;
}
