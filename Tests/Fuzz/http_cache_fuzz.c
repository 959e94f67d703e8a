/* What the HTTP cache reads: the fields of a response, and of a request behind an empty line. Whatever comes, ages and
   lifetimes are within their limits, a response fits the request that it was stored for, and its stored fields are
   among those received. */
#include "http_cache/rules/cache_status.h"
#include "http_cache/rules/freshness.h"
#include "http_cache/rules/ranges.h"
#include "http_cache/rules/reuse.h"
#include "http_cache/rules/storability.h"
#include "http_cache/rules/stored_fields.h"
#include "http_cache/rules/validators.h"
#include "http_cache/rules/vary.h"
#include "message/fields.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MOST = 32 };

/* Sun, 06 Nov 1994 08:49:37 GMT */
#define NOW INT64_C(784111777)

static void require(bool holds) {
    if (!holds) abort();
}

/** Takes lines "Name: value" up to an empty one. */
static size_t read_fields(afc_slice *rest, afc_header out[MOST]) {
    size_t count = 0;
    while (rest->size > 0) {
        const char *end = memchr(rest->bytes, '\n', rest->size);
        afc_slice line = {rest->bytes, end != NULL ? (size_t)(end - rest->bytes) : rest->size};
        size_t taken = line.size + (end != NULL ? 1 : 0);
        *rest = (afc_slice){rest->bytes + taken, rest->size - taken};
        if (line.size == 0) break;
        const char *colon = memchr(line.bytes, ':', line.size);
        if (colon == NULL || count == MOST) continue;
        afc_slice name = {line.bytes, (size_t)(colon - line.bytes)};
        afc_slice value = afc__trim((afc_slice){colon + 1, line.size - name.size - 1});
        if (!afc__is_token(name) || !afc__is_field_value(value)) continue;
        out[count++] = (afc_header){name, value, 0};
    }
    return count;
}

static void check_times(const afc_head *head, const afc__http_cache_control *request,
                        const afc__http_cache_control *response) {
    afc__freshness_question question = {head, response, NOW - 1, NOW, false};
    afc__freshness freshness = afc__freshness_of(&question);
    require(freshness.lifetime >= 0 && freshness.lifetime <= AFC__DELTA_MAX);
    require(freshness.initial_age >= 0 && freshness.initial_age <= AFC__DELTA_MAX);
    static const int64_t times[] = {-1, 0, 1, 60, 3600, 100000, AFC__DELTA_MAX};
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        int64_t age = afc__current_age(&freshness, NOW, NOW + times[i]);
        require(age >= 0 && age <= AFC__DELTA_MAX);
        for (int policy = AFC_HTTP_CACHE_PROTOCOL; policy <= AFC_HTTP_CACHE_BYPASS; policy++) {
            afc__reuse_question asked = {request, response, &freshness, age,
                                         (afc_http_cache_policy)policy};
            afc__reuse reuse = afc__reuse_of(&asked);
            if (policy == AFC_HTTP_CACHE_PROTOCOL && reuse == AFC__REUSE_FRESH) {
                require(age < freshness.lifetime);
            }
            (void)afc__reuse_on_error(&asked);
        }
    }
}

static void check_selection(const afc_head *head, const afc_header *fields, size_t count) {
    afc__fields selecting;
    afc__http_cache_request request = {.headers = fields, .header_count = count, .identity = ""};
    afc__fields_init(&selecting, AFC__SELECTING_MAX);
    if (afc__selecting_fields_add(&selecting, head, &request, false) == AFC_OK) {
        afc__fields_bind(&selecting, 0);
        require(afc__selecting_fields_match(selecting.headers, selecting.count, &request));
        request.identity = "other";
        require(!afc__selecting_fields_match(selecting.headers, selecting.count, &request));
    }
    afc__fields_clear(&selecting);
}

static bool has(const afc_head *head, const afc_header *header) {
    for (size_t i = 0; i < head->header_count; i++) {
        bool is_it = afc__is_same(head->headers[i].name, header->name) &&
                     afc__is_same(head->headers[i].value, header->value);
        if (is_it) return true;
    }
    return false;
}

static void check_answer(const afc_head *head, const afc__http_cache_control *control) {
    afc__field_list stored;
    afc__cached_response_head answered;
    require(afc__stored_fields_select(&stored, head, control) == AFC_OK);
    for (size_t i = 0; i < stored.count; i++) require(has(head, &stored.headers[i]));
    afc_head kept = *head;
    kept.headers = stored.headers;
    kept.header_count = stored.count;
    afc__cached_response answer = {
        .kind = AFC__CACHED_RESPONSE_HIT, .head = &kept, .age = 1, .lifetime = 2};
    require(afc__cached_response_make_head(&answered, &answer) == AFC_OK);
    /* One Age, which is the cache's, and its own Cache-Status after those of the servers. */
    require(answered.head.header_count >= 2 && answered.head.header_count <= stored.count + 2);
    const afc_header *age = &answered.head.headers[answered.head.header_count - 2];
    require(afc_head_find(&answered.head, "Age") == age);
    require(afc__is_same(age->value, afc_slice_of("1")));
    afc__cached_response_clear_head(&answered);
    afc__field_list_clear(&stored);
}

static void check_ranges(const afc_head *head, const afc_header *fields, size_t count) {
    afc__byte_range range;
    int64_t total;
    for (int64_t size = 0; size < 1000; size = size * 2 + 1) {
        if (afc__part_read(fields, count, size, &range) != AFC__PART_SATISFIABLE) continue;
        require(range.first >= 0 && range.first <= range.last && range.last < size);
    }
    if (afc__content_range_read(head, &range, &total) != AFC__CONTENT_RANGE_PART) return;
    require(range.first >= 0 && range.first <= range.last && (total < 0 || range.last < total));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    afc_slice rest = {(const char *)data, size};
    afc_header received[MOST], sent[MOST];
    afc_head head = {.status = 200, .version = AFC_HTTP_1_1, .headers = received};
    head.header_count = read_fields(&rest, received);
    size_t count = read_fields(&rest, sent);
    afc__http_cache_control request, response;
    afc__request_control_read(&request, sent, count);
    afc__response_control_read(&response, head.headers, head.header_count);
    afc__storable_question storable = {"GET", &head, &request, &response, false};
    (void)afc__storable_of(&storable);
    (void)afc__condition_of(sent, count, &head, NOW);
    check_times(&head, &request, &response);
    if (!afc__vary_is_any(&head)) check_selection(&head, sent, count);
    check_answer(&head, &response);
    check_ranges(&head, sent, count);
    return 0;
}
