#include "http_cache/rules/ranges.h"

#include "message/fields.h"

static afc__part_kind read_suffix(afc_slice text, int64_t total, afc__byte_range *out) {
    int64_t size;
    if (!afc__parse_length(text, &size)) return AFC__PART_OTHER;
    if (size == 0 || total == 0) return AFC__PART_UNSATISFIABLE;
    *out = (afc__byte_range){size < total ? total - size : 0, total - 1};
    return AFC__PART_SATISFIABLE;
}

static afc__part_kind read_one(afc_slice text, int64_t total, afc__byte_range *out) {
    static const char unit[] = "bytes=";
    afc_slice first, last;
    if (!afc__begins_with_name(text, unit)) return AFC__PART_OTHER;
    text = (afc_slice){text.bytes + sizeof unit - 1, text.size - (sizeof unit - 1)};
    if (!afc__split(afc__trim(text), '-', &first, &last)) return AFC__PART_OTHER;
    if (first.size == 0) return read_suffix(last, total, out);
    if (!afc__parse_length(first, &out->first)) return AFC__PART_OTHER;
    out->last = total - 1;
    if (last.size > 0) {
        int64_t end;
        if (!afc__parse_length(last, &end) || end < out->first) return AFC__PART_OTHER;
        if (end < out->last) out->last = end;
    }
    return out->first < total ? AFC__PART_SATISFIABLE : AFC__PART_UNSATISFIABLE;
}

afc__part_kind afc__part_read(const afc_header *headers, size_t count, int64_t total,
                              afc__byte_range *out) {
    const afc_header *range = NULL;
    for (size_t i = 0; i < count; i++) {
        const afc_header *header = &headers[i];
        if ((header->flags & AFC_HEADER_REMOVE) != 0 || !afc__same_name(header->name, "Range"))
            continue;
        if (range != NULL) return AFC__PART_OTHER;
        range = header;
    }
    if (range == NULL) return AFC__PART_ABSENT;
    return total < 0 ? AFC__PART_OTHER : read_one(afc__trim(range->value), total, out);
}
