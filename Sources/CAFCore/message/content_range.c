#include "message/content_range.h"

#include "message/fields.h"

#include <inttypes.h>
#include <stdio.h>

static bool read_range(afc_slice text, afc__byte_range *out, int64_t total) {
    afc_slice first, last;
    return afc__split(text, '-', &first, &last) && afc__parse_length(first, &out->first) &&
           afc__parse_length(last, &out->last) && out->first <= out->last &&
           (total < 0 || out->last < total);
}

afc__content_range afc__content_range_read(const afc_head *head, afc__byte_range *range,
                                           int64_t *total) {
    const afc_header *field = NULL;
    afc_slice unit, rest, part, size;
    for (size_t i = 0; i < head->header_count; i++) {
        if (!afc__same_name(head->headers[i].name, "Content-Range")) continue;
        if (field != NULL) return AFC__CONTENT_RANGE_REPEATED;
        field = &head->headers[i];
    }
    if (field == NULL) return AFC__CONTENT_RANGE_MISSING;
    if (!afc__split(field->value, ' ', &unit, &rest)) return AFC__CONTENT_RANGE_INVALID;
    if (!afc__same_name(unit, "bytes")) return AFC__CONTENT_RANGE_OTHER_UNIT;
    if (!afc__split(rest, '/', &part, &size)) return AFC__CONTENT_RANGE_INVALID;
    *total = AFC_LENGTH_UNKNOWN;
    bool is_unknown = afc__is_same(size, afc_slice_of("*"));
    if (!is_unknown && !afc__parse_length(size, total)) return AFC__CONTENT_RANGE_INVALID;
    if (afc__is_same(part, afc_slice_of("*"))) {
        return is_unknown ? AFC__CONTENT_RANGE_INVALID : AFC__CONTENT_RANGE_UNSATISFIED;
    }
    return read_range(part, range, *total) ? AFC__CONTENT_RANGE_PART : AFC__CONTENT_RANGE_INVALID;
}

void afc__content_range_write(char out[AFC__CONTENT_RANGE_SIZE], afc__byte_range range,
                              int64_t total) {
    snprintf(out, AFC__CONTENT_RANGE_SIZE, "bytes %" PRId64 "-%" PRId64 "/%" PRId64, range.first,
             range.last, total);
}
