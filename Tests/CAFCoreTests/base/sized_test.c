/* Structs of programs that were built with other versions of the headers. */
#include "base/sized.h"
#include "support/check.h"

#include <string.h>

/** As of this version; the first one ended with `old`. */
typedef struct options {
    size_t size;
    uint64_t old;
    uint64_t added;
} options;

typedef struct later_options {
    options known;
    uint64_t unknown;
} later_options;

static const options defaults = {sizeof(options), 1, 2};

static const options *read(options *room, const void *given, afc_failure *failure) {
    return afc__sized_read(room, &defaults, given, AFC__SIZED(options, old), "OPTIONS_INIT",
                           failure);
}

static void returns_defaults_for_null(void **state) {
    (void)state;
    options room;
    afc_failure failure;
    assert_ptr_equal(read(&room, NULL, &failure), &defaults);
    check_status(failure.status, AFC_OK);
}

static void returns_struct_of_this_version_itself(void **state) {
    (void)state;
    options room, given = {sizeof given, 7, 8};
    afc_failure failure;
    assert_ptr_equal(read(&room, &given, &failure), &given);
    check_status(failure.status, AFC_OK);
}

static void adds_defaults_to_smaller_struct(void **state) {
    (void)state;
    options room, given = {offsetof(options, added), 7, 8};
    afc_failure failure;
    const options *found = read(&room, &given, &failure);
    check_status(failure.status, AFC_OK);
    assert_int_equal(found->size, sizeof *found);
    assert_int_equal(found->old, 7);
    assert_int_equal(found->added, 2);
}

static void accepts_larger_struct_with_zeros(void **state) {
    (void)state;
    options room;
    later_options given = {{sizeof given, 7, 8}, 0};
    afc_failure failure;
    const options *found = read(&room, &given, &failure);
    check_status(failure.status, AFC_OK);
    assert_int_equal(found->size, sizeof *found);
    assert_int_equal(found->old, 7);
    assert_int_equal(found->added, 8);
}

static void refuses_unknown_field_but_returns_known_ones(void **state) {
    (void)state;
    for (unsigned byte = 0; byte < sizeof(uint64_t); byte++) {
        options room;
        later_options given = {{sizeof given, 7, 8}, UINT64_C(1) << (8 * byte)};
        afc_failure failure;
        const options *found = read(&room, &given, &failure);
        check_status(failure.status, AFC_EUNSUPPORTED);
        assert_non_null(strstr(failure.text, "OPTIONS_INIT"));
        assert_int_equal(found->added, 8);
    }
}

static void refuses_impossible_sizes(void **state) {
    (void)state;
    static const size_t sizes[] = {0,
                                   1,
                                   sizeof(size_t),
                                   offsetof(options, added) - 1,
                                   offsetof(options, added) + 1,
                                   sizeof(options) + 1,
                                   4104,
                                   SIZE_MAX};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        options room, given = {sizes[i], 7, 8};
        afc_failure failure;
        assert_null(read(&room, &given, &failure));
        check_status(failure.status, AFC_EINVAL);
        assert_non_null(strstr(failure.text, "OPTIONS_INIT"));
    }
}

static void refuses_reserved_words_that_are_set(void **state) {
    (void)state;
    struct {
        uint32_t reserved[3];
    } value = {{0}}, *given = &value;
    afc_failure failure = {0};
    check_status(AFC__CHECK_RESERVED(given, "a_struct", &failure), AFC_OK);
    for (size_t i = 0; i < COUNT_OF(value.reserved); i++) {
        memset(&value, 0, sizeof value);
        value.reserved[i] = 1;
        check_status(AFC__CHECK_RESERVED(given, "a_struct", &failure), AFC_EUNSUPPORTED);
        assert_non_null(strstr(failure.text, "a_struct"));
        check_status(AFC__CHECK_RESERVED(given, "a_struct", NULL), AFC_EUNSUPPORTED);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returns_defaults_for_null),
        cmocka_unit_test(returns_struct_of_this_version_itself),
        cmocka_unit_test(adds_defaults_to_smaller_struct),
        cmocka_unit_test(accepts_larger_struct_with_zeros),
        cmocka_unit_test(refuses_unknown_field_but_returns_known_ones),
        cmocka_unit_test(refuses_impossible_sizes),
        cmocka_unit_test(refuses_reserved_words_that_are_set),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
