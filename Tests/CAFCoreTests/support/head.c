#include "support/head.h"

#include "message/fields.h"

#include <string.h>

void write_head(written *out, int status, const char *fields) {
    *out = (written){0};
    out->head = (af_head){.status = status, .version = AF_HTTP_1_1, .headers = out->headers};
    while (*fields != '\0') {
        size_t size = strcspn(fields, "\n");
        const char *colon = memchr(fields, ':', size);
        assert_non_null(colon);
        assert_true(out->head.header_count < COUNT_OF(out->headers));
        af_header *header = &out->headers[out->head.header_count++];
        header->name = (af_slice){fields, (size_t)(colon - fields)};
        header->value = af__trim((af_slice){colon + 1, size - header->name.size - 1});
        fields += size + (fields[size] == '\n' ? 1 : 0);
    }
    check_status(af__head_framing(&out->head, false, &out->framing, NULL), AF_OK);
}
