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

static af__room room_of(af__transfer *transfer) {
    return (af__room){transfer->room, sizeof transfer->room};
}

/**
 * With fields in front of the request's own: the user and password of the URL, as any credential of
 * the first origin's, and the type of a form. Each may be NULL.
 */
static af_status init_with_fields(af__transfer *transfer, const af_request *request, af__url *url,
                                  const char *credentials, const char *content_type,
                                  af_failure *failure) {
    af_header *headers = af__alloc((request->header_count + 2) * sizeof *headers);
    if (headers == NULL) {
        af__url_clear(url);
        return af__fail_memory(failure);
    }
    size_t count = 0;
    if (credentials != NULL) {
        headers[count++] = (af_header){af_slice_of("Authorization"), af_slice_of(credentials),
                                       AF_HEADER_SECRET};
    }
    if (content_type != NULL) {
        headers[count++] = (af_header){af_slice_of("Content-Type"), af_slice_of(content_type), 0};
    }
    if (request->header_count > 0) {
        memcpy(headers + count, request->headers, request->header_count * sizeof *headers);
    }
    af_status status = af__request_head_init(&transfer->request, room_of(transfer), request->method,
                                             url, headers, count + request->header_count, failure);
    af_free(headers);
    return status;
}

static af_status init_with_userinfo(af__transfer *transfer, const af_request *request, af__url *url,
                                    const char *content_type, af_failure *failure) {
    char *credentials = af__basic_credentials(url->userinfo);
    if (credentials == NULL) {
        af__url_clear(url);
        return af__fail_memory(failure);
    }
    af_status status = init_with_fields(transfer, request, url, credentials, content_type, failure);
    af__free_secret(credentials, strlen(credentials));
    return status;
}

af_status af__transfer_init_request(af__transfer *transfer, const af_request *request,
                                    af_failure *failure) {
    af__url url = {0};
    if (request->url == NULL) return af__fail(failure, AF_EINVAL, "the request has no URL");
    if (request->headers == NULL && request->header_count > 0) {
        return af__fail(failure, AF_EINVAL, "the request counts headers but has none");
    }
    af_status status = af__url_parse(&url, af_slice_of(request->url), failure);
    if (status != AF_OK) return status;
    const char *content_type = NULL;
    if (request->body.kind == AF_BODY_MULTIPART && !gives_header(request, "Content-Type")) {
        content_type = af_multipart_get_content_type(request->body.form);
    }
    bool is_spoken_for = request->credentials != NULL || gives_header(request, "Authorization");
    if (url.userinfo != NULL && !is_spoken_for) {
        return init_with_userinfo(transfer, request, &url, content_type, failure);
    }
    if (content_type != NULL) {
        return init_with_fields(transfer, request, &url, NULL, content_type, failure);
    }
    return af__request_head_init(&transfer->request, room_of(transfer), request->method, &url,
                                 request->headers, request->header_count, failure);
}
