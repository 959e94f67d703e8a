/* Lines of an answer. Whatever they are, the limits hold, and a complete head points into memory
   that is there. */
#include "message/head.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const afc__head_limits limits = {4096, 32, 4};

static void require(bool holds) {
    if (!holds) abort();
}

static void check_fields(const afc_header *headers, size_t count) {
    require(count <= limits.count);
    for (size_t i = 0; i < count; i++) {
        require(afc__is_token(headers[i].name));
        require(afc__is_field_value(headers[i].value));
        require(afc__trim(headers[i].value).size == headers[i].value.size);
    }
}

static void check_head(const afc_head *head, bool is_final) {
    require(head->status >= 100 && head->status <= 999);
    require(is_final == (head->status >= 200));
    require(afc__is_field_value(head->reason));
    check_fields(head->headers, head->header_count);
    afc__framing framing;
    afc_failure failure;
    bool is_head_request = head->header_count % 2 == 1;
    if (afc__head_framing(head, is_head_request, &framing, &failure) != AFC_OK) return;
    require(framing.length >= -1);
    require(framing.kind != AFC__FRAMING_LENGTH || framing.length >= 0);
    require(!is_head_request || framing.kind == AFC__FRAMING_NONE);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    afc__head_reader reader;
    afc__head_reader_init(&reader, limits);
    const char *at = (const char *)data;
    while (size != 0) {
        const char *end = memchr(at, '\n', size);
        afc_slice line = {at, end != NULL ? (size_t)(end - at) + 1 : size};
        afc__head_step step;
        afc_failure failure;
        if (afc__head_reader_feed(&reader, line, &step, &failure) != AFC_OK) break;
        if (step == AFC__HEAD_INFORMATIONAL) check_head(&reader.head, false);
        if (step == AFC__HEAD_FINAL) check_head(&reader.head, true);
        require(reader.bytes <= limits.bytes && reader.informational <= limits.informational);
        require(reader.fields.text.capacity <= limits.bytes);
        at += line.size;
        size -= line.size;
    }
    afc__head_reader_finish(&reader);
    check_fields(reader.trailers.headers, reader.trailers.count);
    afc__head_reader_clear(&reader);
    return 0;
}
