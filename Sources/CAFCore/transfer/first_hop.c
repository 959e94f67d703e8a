/* From a request to the head of its first hop. */
#include "base/alloc.h"
#include "base/failure.h"
#include "message/credentials.h"
#include "transfer/transfer_internal.h"

#include <string.h>

static bool gives_header(const af_request *request, const char *name) {
    for (size_t i = 0; i < request->header_count; i++) {
        if (af__same_name(request->headers[i].name, name)) return true;
    }
    return false;
}

/**
 * With fields in front of the request's own: the user and password of the URL, as any credential of
 * the first origin's, and the type of a form. Each may be NULL.
 */
static af_status init_with_fields(af__transfer *transfer, const af_request *request, af__url *url,
                                  const char *credentials, const char *content_type,
                                  af_failure *failure) {
    af__storage room = {transfer->room, sizeof transfer->room};
    const af_header extra[] = {
        {af_slice_of("Authorization"), af_slice_of(credentials), AF_HEADER_SECRET},
        {af_slice_of("Content-Type"), af_slice_of(content_type), 0}};
    size_t count = 0;
    af_header *headers = af__alloc((request->header_count + 2) * sizeof *headers);
    if (headers == NULL) {
        af__url_clear(url);
        return af__fail_memory(failure);
    }
    if (credentials != NULL) headers[count++] = extra[0];
    if (content_type != NULL) headers[count++] = extra[1];
    for (size_t i = 0; i < request->header_count; i++) headers[count++] = request->headers[i];
    af_status status = af__request_head_init(&transfer->request, room, request->method, url,
                                             headers, count, failure);
    af_free(headers);
    return status;
}

af_status af__transfer_init_request(af__transfer *transfer, const af_request *request,
                                    af_failure *failure) {
    af__url url = {0};
    if (request->url == NULL) return af__fail(failure, AF_EINVAL, "the request has no URL");
    if (request->headers == NULL && request->header_count > 0) {
        return af__fail(failure, AF_EINVAL, "header_count is set but headers is NULL");
    }
    af_status status = af__url_parse(&url, af_slice_of(request->url), failure);
    if (status != AF_OK) return status;
    const char *content_type = NULL;
    if (request->body.kind == AF_BODY_MULTIPART && !gives_header(request, "Content-Type")) {
        content_type = af_multipart_get_content_type(request->body.form);
    }
    bool has_own = request->credentials != NULL || gives_header(request, "Authorization");
    char *credentials = NULL;
    if (url.userinfo != NULL && !has_own) {
        credentials = af__basic_credentials(url.userinfo);
        if (credentials == NULL) {
            af__url_clear(&url);
            return af__fail_memory(failure);
        }
    }
    if (credentials == NULL && content_type == NULL) {
        af__storage room = {transfer->room, sizeof transfer->room};
        return af__request_head_init(&transfer->request, room, request->method, &url,
                                     request->headers, request->header_count, failure);
    }
    status = init_with_fields(transfer, request, &url, credentials, content_type, failure);
    if (credentials != NULL) af__free_secret(credentials, strlen(credentials));
    return status;
}
