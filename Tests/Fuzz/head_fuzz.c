/* Lines of an answer. Whatever they are, the limits hold, and a complete head points into memory
   that is there. */
#include "message/head.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const af__head_limits limits = {4096, 32, 4};

static void require(bool holds) {
    if (!holds) abort();
}

static void check_fields(const af_header *headers, size_t count) {
    require(count <= limits.count);
    for (size_t i = 0; i < count; i++) {
        require(af__is_token(headers[i].name));
        require(af__is_field_value(headers[i].value));
        require(af__trim(headers[i].value).size == headers[i].value.size);
    }
}

static void check_head(const af_head *head, bool is_final) {
    require(head->status >= 100 && head->status <= 999);
    require(is_final == (head->status >= 200));
    require(af__is_field_value(head->reason));
    check_fields(head->headers, head->header_count);
    af__framing framing;
    af_failure failure;
    bool is_head_request = head->header_count % 2 == 1;
    if (af__head_framing(head, is_head_request, &framing, &failure) != AF_OK) return;
    require(framing.length >= -1);
    require(framing.kind != AF__FRAMING_LENGTH || framing.length >= 0);
    require(!is_head_request || framing.kind == AF__FRAMING_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    af__head_reader reader;
    af__head_reader_init(&reader, limits);
    const char *at = (const char *)data;
    while (size != 0) {
        const char *end = memchr(at, '\n', size);
        af_slice line = {at, end != NULL ? (size_t)(end - at) + 1 : size};
        af__head_step step;
        af_failure failure;
        if (af__head_reader_feed(&reader, line, &step, &failure) != AF_OK) break;
        if (step == AF__HEAD_INFORMATIONAL) check_head(&reader.head, false);
        if (step == AF__HEAD_FINAL) check_head(&reader.head, true);
        require(reader.bytes <= limits.bytes && reader.informational <= limits.informational);
        require(reader.fields.text.capacity <= limits.bytes);
        at += line.size;
        size -= line.size;
    }
    af__head_reader_finish(&reader);
    check_fields(reader.trailers.headers, reader.trailers.count);
    af__head_reader_clear(&reader);
    return 0;
}
