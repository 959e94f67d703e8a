#include "transfer/request_head.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "message/head.h"

#include <string.h>

static afc_slice copy_slice(char **storage, afc_slice from) {
    afc_slice copy = {*storage, from.size};
    if (from.size > 0) memcpy(*storage, from.bytes, from.size);
    *storage += from.size;
    return copy;
}

static afc_status copy_all(afc__request_head *request, afc__storage given_storage,
                           const char *method, const afc_header *headers, size_t count) {
    size_t method_size = strlen(method) + 1;
    size_t size = count * sizeof *headers + method_size;
    for (size_t i = 0; i < count; i++) size += headers[i].name.size + headers[i].value.size;
    if (size <= given_storage.size) {
        request->headers = given_storage.bytes;
    } else {
        request->headers = request->block = afc__alloc(size);
        if (request->block == NULL) return AFC_ENOMEM;
    }
    request->header_count = count;
    char *storage = (char *)(request->headers + count);
    request->method = memcpy(storage, method, method_size);
    storage += method_size;
    for (size_t i = 0; i < count; i++) {
        request->headers[i].name = copy_slice(&storage, headers[i].name);
        request->headers[i].value = copy_slice(&storage, headers[i].value);
        request->headers[i].flags = headers[i].flags;
    }
    return AFC_OK;
}

afc_status afc__request_head_init(afc__request_head *request, afc__storage storage,
                                  const char *method, afc__url *url, const afc_header *headers,
                                  size_t count, afc_failure *failure) {
    *request = (afc__request_head){.url = *url};
    *url = (afc__url){0};
    afc_status status = AFC_OK;
    if (method == NULL || !afc__is_token(afc_slice_of(method))) {
        status = afc__fail(failure, AFC_EINVAL, "the method isn't a token");
    } else if (strcmp(method, "CONNECT") == 0) {
        /* Its target is a host and port, and no response body but a tunnel follows (RFC 9110 section 9.3.6). */
        status = afc__fail(
            failure, AFC_EINVAL,
            "the method can't be CONNECT: tunnels through proxies are opened automatically");
    }
    if (status == AFC_OK) status = afc__check_request_headers(headers, count, failure);
    if (status == AFC_OK && copy_all(request, storage, method, headers, count) != AFC_OK) {
        status = afc__fail_memory(failure);
    }
    if (status != AFC_OK) afc__request_head_clear(request);
    return status;
}

void afc__request_head_clear(afc__request_head *request) {
    afc__url_clear(&request->url);
    for (size_t i = 0; i < request->header_count; i++) {
        const afc_header *header = &request->headers[i];
        /* All values are overwritten: a token is a secret even if it isn't marked as one. */
        explicit_bzero((char *)(uintptr_t)header->value.bytes, header->value.size);
    }
    afc_free(request->block);
    *request = (afc__request_head){0};
}

bool afc__request_head_is_idempotent(const afc__request_head *request) {
    static const char *const methods[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (afc__request_head_is(request, methods[i])) return true;
    }
    return false;
}

bool afc__request_head_sends(const afc__request_head *request, afc_slice name) {
    for (size_t i = 0; i < request->header_count; i++) {
        const afc_header *header = &request->headers[i];
        bool is_removal = (header->flags & AFC_HEADER_REMOVE) != 0;
        if (!is_removal && afc__same_names(header->name, name)) return true;
    }
    return false;
}

bool afc__request_head_mentions(const afc__request_head *request, const char *name) {
    for (size_t i = 0; i < request->header_count; i++) {
        if (afc__same_name(request->headers[i].name, name)) return true;
    }
    return false;
}
