#include "http_cache/rules/invalidation.h"

#include <string.h>

bool afc__method_is_safe(const char *method) {
    static const char *const safe[] = {"GET", "HEAD", "OPTIONS", "TRACE"};
    for (size_t i = 0; i < sizeof safe / sizeof *safe; i++) {
        if (strcmp(method, safe[i]) == 0) return true;
    }
    return false;
}

bool afc__invalidated_url(afc__url *out, const afc__url *request, const afc_head *head,
                          size_t which) {
    static const char *const names[] = {"Location", "Content-Location"};
    const afc_header *field = which < 2 ? afc_head_find(head, names[which]) : NULL;
    if (field == NULL || afc__url_resolve(out, request, field->value, NULL) != AFC_OK) return false;
    if (afc__url_same_origin(out, request)) return true;
    afc__url_clear(out);
    return false;
}

bool afc__content_is_of_url(const afc__url *request, const afc_head *head) {
    afc__url url;
    if (!afc__invalidated_url(&url, request, head, 1)) return false;
    bool is_same = strcmp(url.text, request->text) == 0;
    afc__url_clear(&url);
    return is_same;
}
