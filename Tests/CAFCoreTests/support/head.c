#include "support/head.h"

#include "message/fields.h"

#include <string.h>

void make_head(parsed_head *out, int status, const char *fields) {
    *out = (parsed_head){0};
    out->head = (afc_head){.status = status, .version = AFC_HTTP_1_1, .headers = out->headers};
    while (*fields != '\0') {
        size_t size = strcspn(fields, "\n");
        const char *colon = memchr(fields, ':', size);
        assert_non_null(colon);
        assert_true(out->head.header_count < COUNT_OF(out->headers));
        afc_header *header = &out->headers[out->head.header_count++];
        header->name = (afc_slice){fields, (size_t)(colon - fields)};
        header->value = afc__trim((afc_slice){colon + 1, size - header->name.size - 1});
        fields += size + (fields[size] == '\n' ? 1 : 0);
    }
    check_status(afc__head_framing(&out->head, false, &out->framing, NULL), AFC_OK);
}
