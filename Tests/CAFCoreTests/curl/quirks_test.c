/* What each version of libcurl does differently. */
#include "curl/quirks.h"
#include "support/check.h"

#include <curl/curl.h>
#include <stddef.h>

typedef struct range {
    const char *name;
    size_t member;
    unsigned first, end; /**< The first version that has it, and the first one after it; 0: none. */
} range;

#define V(minor, patch) CURL_VERSION_BITS(8, minor, patch)
#define MEMBER(name) #name, offsetof(afc__quirks, name)

static const range ranges[] = {
    {MEMBER(multiplexes), V(1, 0), 0},
    {MEMBER(fails_on_second_clear_request), 0, V(0, 0)},
    {MEMBER(fails_after_goaway), 0, V(1, 0)},
    {MEMBER(repeats_without_text_if_refused), V(8, 0), V(19, 0)},
    {MEMBER(keeps_closed_hosts), 0, V(10, 0)},
    {MEMBER(wants_response_first), V(12, 0), 0},
    {MEMBER(alpn_counts_as_response), V(16, 0), 0},
    {MEMBER(frees_lookups_too_early), V(5, 0), V(9, 0)},
    {MEMBER(waits_between_addresses), 0, V(4, 0)},
    {MEMBER(loads_default_anchors), V(21, 0), 0},
    {MEMBER(keeps_broken_connections), V(22, 0), 0},
    {MEMBER(hides_broken_frames), 0, V(1, 0)},
    {MEMBER(hangs_if_read_buffer_fills), 0, V(1, 0)},
    {MEMBER(appends_to_freed_field), 0, V(1, 0)},
    {MEMBER(omits_expect_of_short_bodies), V(0, 0), 0},
    {MEMBER(omits_long_fields), V(13, 0), 0},
    {MEMBER(sends_heads_by_upload_buffer), 0, V(7, 0)},
    {MEMBER(forgets_waiting_body), 0, V(7, 0)},
    {MEMBER(sends_unwanted_body), V(18, 0), 0},
    {MEMBER(reads_while_paused), V(5, 0), V(6, 0)},
    {MEMBER(reads_after_pausing_again), V(8, 0), V(15, 0)},
};

static bool has(const afc__quirks *quirks, const range *range) {
    bool value;
    memcpy(&value, (const char *)quirks + range->member, sizeof value);
    return value;
}

static void each_version_has_the_quirks_of_its_range(void **state) {
    (void)state;
    /* A member without a row would not be tested. */
    assert_int_equal(sizeof(afc__quirks), COUNT_OF(ranges) * sizeof(bool));
    for (unsigned minor = 0; minor < 40; minor++) {
        const unsigned versions[] = {CURL_VERSION_BITS(7, 88 + minor, 0), V(minor, 0), V(minor, 1),
                                     V(minor, 255)};
        for (size_t i = 0; i < COUNT_OF(versions); i++) {
            afc__quirks quirks = afc__quirks_of(versions[i]);
            for (size_t k = 0; k < COUNT_OF(ranges); k++) {
                bool expected = versions[i] >= ranges[k].first &&
                                (ranges[k].end == 0 || versions[i] < ranges[k].end);
                if (has(&quirks, &ranges[k]) != expected) {
                    fail_msg("%s of %#x", ranges[k].name, versions[i]);
                }
            }
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_has_the_quirks_of_its_range),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
