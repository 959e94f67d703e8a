#include "transfer/request_head.h"

#include "base/alloc.h"
#include "base/failure.h"
#include "message/head.h"

#include <string.h>
#include <strings.h>

static af_slice copy_slice(char **room, af_slice from) {
    af_slice copy = {*room, from.size};
    if (from.size > 0) memcpy(*room, from.bytes, from.size);
    *room += from.size;
    return copy;
}

static af_status copy_all(af__outgoing *outgoing, af__room room_given, const char *method,
                          const af_header *headers, size_t count) {
    size_t method_size = strlen(method) + 1;
    size_t size = count * sizeof *headers + method_size;
    for (size_t i = 0; i < count; i++) size += headers[i].name.size + headers[i].value.size;
    if (size <= room_given.size) {
        outgoing->headers = room_given.bytes;
    } else {
        outgoing->headers = outgoing->block = af__alloc(size);
        if (outgoing->block == NULL) return AF_ENOMEM;
    }
    outgoing->header_count = count;
    char *room = (char *)(outgoing->headers + count);
    outgoing->method = memcpy(room, method, method_size);
    room += method_size;
    for (size_t i = 0; i < count; i++) {
        outgoing->headers[i].name = copy_slice(&room, headers[i].name);
        outgoing->headers[i].value = copy_slice(&room, headers[i].value);
        outgoing->headers[i].flags = headers[i].flags;
    }
    return AF_OK;
}

af_status af__outgoing_init(af__outgoing *outgoing, af__room room, const char *method, af__url *url,
                            const af_header *headers, size_t count, af_failure *failure) {
    *outgoing = (af__outgoing){.url = *url};
    *url = (af__url){0};
    af_status status = AF_OK;
    if (method == NULL || !af__is_token(af_slice_of(method))) {
        status = af__fail(failure, AF_EINVAL, "the method is not a token");
    }
    if (status == AF_OK) status = af__check_request_headers(headers, count, failure);
    if (status == AF_OK && copy_all(outgoing, room, method, headers, count) != AF_OK) {
        status = af__fail(failure, AF_ENOMEM, "out of memory");
    }
    if (status != AF_OK) af__outgoing_clear(outgoing);
    return status;
}

void af__outgoing_clear(af__outgoing *outgoing) {
    af__url_clear(&outgoing->url);
    for (size_t i = 0; i < outgoing->header_count; i++) {
        const af_header *header = &outgoing->headers[i];
        /* All of them: a token is a secret also where nobody has marked it as one. */
        explicit_bzero((char *)(uintptr_t)header->value.bytes, header->value.size);
    }
    af_free(outgoing->block);
    *outgoing = (af__outgoing){0};
}

bool af__outgoing_is_idempotent(const af__outgoing *outgoing) {
    static const char *const methods[] = {"GET", "HEAD", "PUT", "DELETE", "OPTIONS", "TRACE"};
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
        if (strcmp(outgoing->method, methods[i]) == 0) return true;
    }
    return false;
}

bool af__outgoing_sends(const af__outgoing *outgoing, af_slice name) {
    for (size_t i = 0; i < outgoing->header_count; i++) {
        const af_header *header = &outgoing->headers[i];
        bool is_removal = (header->flags & AF_HEADER_REMOVE) != 0;
        if (!is_removal && header->name.size == name.size &&
            strncasecmp(header->name.bytes, name.bytes, name.size) == 0) {
            return true;
        }
    }
    return false;
}

bool af__outgoing_mentions(const af__outgoing *outgoing, const char *name) {
    for (size_t i = 0; i < outgoing->header_count; i++) {
        if (af__same_name(outgoing->headers[i].name, name)) return true;
    }
    return false;
}
