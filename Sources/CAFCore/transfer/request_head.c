#include "transfer/request_head.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "message/head.h"

#include <string.h>

static af_slice copy_slice(char **room, af_slice from) {
    af_slice copy = {*room, from.size};
    if (from.size > 0) memcpy(*room, from.bytes, from.size);
    *room += from.size;
    return copy;
}

static af_status copy_all(af__request_head *request, af__storage room_given, const char *method,
                          const af_header *headers, size_t count) {
    size_t method_size = strlen(method) + 1;
    size_t size = count * sizeof *headers + method_size;
    for (size_t i = 0; i < count; i++) size += headers[i].name.size + headers[i].value.size;
    if (size <= room_given.size) {
        request->headers = room_given.bytes;
    } else {
        request->headers = request->block = af__alloc(size);
        if (request->block == NULL) return AF_ENOMEM;
    }
    request->header_count = count;
    char *room = (char *)(request->headers + count);
    request->method = memcpy(room, method, method_size);
    room += method_size;
    for (size_t i = 0; i < count; i++) {
        request->headers[i].name = copy_slice(&room, headers[i].name);
        request->headers[i].value = copy_slice(&room, headers[i].value);
        request->headers[i].flags = headers[i].flags;
    }
    return AF_OK;
}

af_status af__request_head_init(af__request_head *request, af__storage room, const char *method,
                                af__url *url, const af_header *headers, size_t count,
                                af_failure *failure) {
    *request = (af__request_head){.url = *url};
    *url = (af__url){0};
    af_status status = AF_OK;
    if (method == NULL || !af__is_token(af_slice_of(method))) {
        status = af__fail(failure, AF_EINVAL, "the method isn't a token");
    }
    if (status == AF_OK) status = af__check_request_headers(headers, count, failure);
    if (status == AF_OK && copy_all(request, room, method, headers, count) != AF_OK) {
        status = af__fail_memory(failure);
    }
    if (status != AF_OK) af__request_head_clear(request);
    return status;
}

void af__request_head_clear(af__request_head *request) {
    af__url_clear(&request->url);
    for (size_t i = 0; i < request->header_count; i++) {
        const af_header *header = &request->headers[i];
        /* All of them: a token is a secret even if it isn't marked as one. */
        explicit_bzero((char *)(uintptr_t)header->value.bytes, header->value.size);
    }
    af_free(request->block);
    *request = (af__request_head){0};
}

bool af__request_head_is_idempotent(const af__request_head *request) {
    static const char *const methods[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(request->method, methods[i]) == 0) return true;
    }
    return false;
}

bool af__request_head_sends(const af__request_head *request, af_slice name) {
    for (size_t i = 0; i < request->header_count; i++) {
        const af_header *header = &request->headers[i];
        bool is_removal = (header->flags & AF_HEADER_REMOVE) != 0;
        if (!is_removal && af__same_names(header->name, name)) return true;
    }
    return false;
}

bool af__request_head_mentions(const af__request_head *request, const char *name) {
    for (size_t i = 0; i < request->header_count; i++) {
        if (af__same_name(request->headers[i].name, name)) return true;
    }
    return false;
}
