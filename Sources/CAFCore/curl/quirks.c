#include "curl/quirks.h"

#include <curl/curl.h>

afc__quirks afc__quirks_of(unsigned version) {
    enum {
        V8_0_0 = CURL_VERSION_BITS(8, 0, 0),
        V8_1_0 = CURL_VERSION_BITS(8, 1, 0),
        V8_4_0 = CURL_VERSION_BITS(8, 4, 0),
        V8_5_0 = CURL_VERSION_BITS(8, 5, 0),
        V8_6_0 = CURL_VERSION_BITS(8, 6, 0),
        V8_7_0 = CURL_VERSION_BITS(8, 7, 0),
        V8_8_0 = CURL_VERSION_BITS(8, 8, 0),
        V8_9_0 = CURL_VERSION_BITS(8, 9, 0),
        V8_10_0 = CURL_VERSION_BITS(8, 10, 0),
        V8_12_0 = CURL_VERSION_BITS(8, 12, 0),
        V8_13_0 = CURL_VERSION_BITS(8, 13, 0),
        V8_15_0 = CURL_VERSION_BITS(8, 15, 0),
        V8_16_0 = CURL_VERSION_BITS(8, 16, 0),
        V8_18_0 = CURL_VERSION_BITS(8, 18, 0),
        V8_19_0 = CURL_VERSION_BITS(8, 19, 0),
        V8_21_0 = CURL_VERSION_BITS(8, 21, 0),
        V8_22_0 = CURL_VERSION_BITS(8, 22, 0)
    };
    return (afc__quirks){
        .multiplexes = version >= V8_1_0,
        .fails_on_second_clear_request = version < V8_0_0,
        .fails_after_goaway = version < V8_1_0,
        .repeats_without_text_if_refused = version >= V8_8_0 && version < V8_19_0,
        .keeps_closed_hosts = version < V8_10_0,
        .wants_response_first = version >= V8_12_0,
        .alpn_counts_as_response = version >= V8_16_0,
        .frees_lookups_too_early = version >= V8_5_0 && version < V8_9_0,
        .waits_between_addresses = version < V8_4_0,
        .loads_default_anchors = version >= V8_21_0,
        .keeps_broken_connections = version >= V8_22_0,
        .hides_broken_frames = version < V8_1_0,
        .hangs_if_read_buffer_fills = version < V8_1_0,
        .appends_to_freed_field = version < V8_1_0,
        .omits_expect_of_short_bodies = version >= V8_0_0,
        .omits_long_fields = version >= V8_13_0,
        .sends_heads_by_upload_buffer = version < V8_7_0,
        .forgets_waiting_body = version < V8_7_0,
        .sends_unwanted_body = version >= V8_18_0,
        .reads_while_paused = version >= V8_5_0 && version < V8_6_0,
        .reads_after_pausing_again = version >= V8_8_0 && version < V8_15_0,
    };
}
