#include "http_cache/completion.h"

#include "http_cache/rules/ranges.h"
#include "http_cache/rules/validators.h"
#include "message/resume.h"

#include <inttypes.h>
#include <stdio.h>

enum { OK = 200, PARTIAL_CONTENT = 206 };

bool afc__part_is_beginning(const afc__http_cache_meta *meta, uint64_t size) {
    return meta->head.status == PARTIAL_CONTENT && meta->range_start == 0 && meta->flags == 0 &&
           size > 0 && meta->total > 0 && size < (uint64_t)meta->total;
}

bool afc__beginning_is_useful(const afc_head *head, const afc__framing *framing, uint64_t size) {
    bool has_rest = framing->kind == AFC__FRAMING_LENGTH && size > 0 &&
                    size < (uint64_t)framing->length;
    return has_rest && head->status == OK && !framing->is_encoded &&
           afc__strong_validator(head) != NULL && !afc__refuses_ranges(head);
}

size_t afc__rest_fields_write(afc_header out[AFC__REST_FIELDS], char range[AFC__REST_RANGE_SIZE],
                              const afc_head *stored, uint64_t size) {
    size_t count = 0;
    const afc_header *validator = afc__strong_validator(stored);
    snprintf(range, AFC__REST_RANGE_SIZE, "bytes=%" PRIu64 "-", size);
    out[count++] = (afc_header){afc_slice_of("Range"), afc_slice_of(range), 0};
    if (validator != NULL) {
        out[count++] = (afc_header){afc_slice_of("If-Range"), validator->value, 0};
    }
    return count;
}

static bool is_same_version(const afc_head *stored, const afc_head *received) {
    const afc_header *a = afc__strong_validator(stored), *b = afc__strong_validator(received);
    return a != NULL && b != NULL && afc__same_names(a->name, b->name) &&
           afc__is_same(a->value, b->value);
}

bool afc__rest_completes(const afc__http_cache_meta *meta, uint64_t size, const afc_head *received,
                         const afc__framing *framing) {
    afc__byte_range range;
    int64_t total;
    if (received->status != PARTIAL_CONTENT || framing->is_encoded ||
        afc__has_several_ranges(received)) {
        return false;
    }
    if (afc__content_range_read(received, &range, &total) != AFC__CONTENT_RANGE_PART) return false;
    bool is_rest = range.first == (int64_t)size && total == meta->total && range.last == total - 1;
    bool is_whole_rest = framing->kind == AFC__FRAMING_LENGTH &&
                         framing->length == total - range.first;
    return is_rest && is_whole_rest && is_same_version(&meta->head, received);
}
