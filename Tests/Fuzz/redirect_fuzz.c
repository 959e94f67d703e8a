/* One octet that picks the status, the method and the base, then Locations, split by line feeds.
   No answer leads anywhere but to http and https, nor from https to http. */
#include "message/fields.h"
#include "message/redirect.h"

#include <stdlib.h>

/** Anything may come of a conversion. */
static bool to_ascii(char *out, size_t size, afc_slice host) {
    size_t count = 0;
    for (size_t i = 0; i < host.size && count + 1 < size; i++) {
        if ((unsigned char)host.bytes[i] < 128 || i % 2 == 0)
            out[count++] = (char)(host.bytes[i] & 0x7f);
    }
    out[count] = '\0';
    return count != 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST_LOCATIONS = 4 };

static void require(bool holds) {
    if (!holds) abort();
}

static void check_plan(const afc__redirect_question *question, const afc__redirect_plan *plan) {
    require(plan->follow == (plan->target.text != NULL));
    if (!plan->follow) return;
    require(strncmp(plan->target.text, "http", 4) == 0);
    require(plan->target.is_https || !question->url->is_https);
    require(strchr(plan->target.text, '#') == NULL);
    require(!plan->keeps_body || strcmp(plan->method, question->method) == 0);
    static const char authorization[] = "Authorization";
    afc_header credential = {{authorization, sizeof authorization - 1}, {NULL, 0}, 0};
    require(afc__redirect_keeps_header(plan, &credential) != plan->crosses_origin);
}

static size_t split(const char *text, size_t size, afc_header *headers) {
    static const char location[] = "Location";
    size_t count = 0;
    while (size != 0 && count < MOST_LOCATIONS) {
        const char *end = memchr(text, '\n', size);
        size_t taken = end != NULL ? (size_t)(end - text) : size;
        headers[count++] = (afc_header){{location, sizeof location - 1}, {text, taken}, 0};
        size_t skipped = end != NULL ? taken + 1 : taken;
        text += skipped;
        size -= skipped;
    }
    return count;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static const int statuses[] = {301, 302, 303, 307, 308, 300, 304, 200};
    static const char *const methods[] = {"GET", "HEAD", "POST", "PUT"};
    static const char *const bases[] = {"http://h/a/b?c", "https://u:p@[::1]:8443/a/b"};
    if (size == 0) return 0;
    uint8_t choice = data[0];
    afc__url base;
    if (afc__url_parse(&base, afc_slice_of(bases[choice >> 5 & 1]), NULL) != AFC_OK) return 0;
    afc_header headers[MOST_LOCATIONS];
    afc_head head = {.status = statuses[choice & 7], .headers = headers};
    head.header_count = split((const char *)data + 1, size - 1, headers);
    afc__redirect_question question = {.head = &head,
                                       .url = &base,
                                       .method = methods[choice >> 3 & 3],
                                       .has_body = (choice & 0x40) != 0,
                                       .limit = 20,
                                       .is_upgrade = (choice & 0x80) != 0,
                                       .to_ascii = to_ascii};
    afc__redirect_plan plan;
    afc_failure failure;
    afc_status status = afc__redirect_decide(&question, &plan, &failure);
    require(status == AFC_OK || status == AFC_EREDIRECT || status == AFC_ENOMEM);
    check_plan(&question, &plan);
    afc__url_clear(&plan.target);
    afc__url_clear(&base);
    return 0;
}
