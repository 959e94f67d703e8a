/* Which media type an extension stands for. */
#include "support/check.h"

#include "message/media_types.h"
#include "message/media_types_table.h"

#include <afcore/multipart.h>

static void table_is_sorted_and_complete(void **state) {
    (void)state;
    for (size_t i = 0; i < COUNT_OF(media_types); i++) {
        const afc__media_type *entry = &media_types[i];
        if (i > 0) assert_true(strcmp(media_types[i - 1].extension, entry->extension) < 0);
        assert_string_equal(afc_media_type_of_extension(afc_slice_of(entry->extension)),
                            entry->type);
    }
    assert_true(COUNT_OF(media_types) > 600);
}

static void knows_common_extensions(void **state) {
    (void)state;
    static const struct {
        const char *extension, *type;
    } rows[] = {{"cer", "application/x-x509-ca-cert"},
                {"CER", "application/x-x509-ca-cert"},
                {"JpEg", "image/jpeg"},
                {"png", "image/png"},
                {"json", "application/json"},
                {"pdf", "application/pdf"},
                {"mp4", "video/mp4"},
                {"7z", "application/x-7z-compressed"},
                {"docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
                {"webmanifest", "application/manifest+json"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        assert_string_equal(afc_media_type_of_extension(afc_slice_of(rows[i].extension)),
                            rows[i].type);
    }
}

static void unknown_extension_has_no_type(void **state) {
    (void)state;
    static const afc_slice rows[] = {ROW_S(""),
                                     ROW_S("nosuchthing"),
                                     ROW_S(".png"),
                                     ROW_S("pn"),
                                     ROW_S("anextensionfartoolong"),
                                     ROW_S("png\0"),
                                     ROW_S("\xff"),
                                     {NULL, 0}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) assert_null(afc_media_type_of_extension(rows[i]));
}

static void finds_the_extension_of_paths(void **state) {
    (void)state;
    static const struct {
        const char *path, *name, *type;
    } rows[] = {{"/a/b.png", "b.png", "image/png"},
                {"b.png", "b.png", "image/png"},
                {"/a.png/b", "b", "application/octet-stream"},
                {"/a/.png", ".png", "application/octet-stream"},
                {"/a/..png", "..png", "image/png"},
                {"/a/", "", "application/octet-stream"},
                {"x.tar.gz", "x.tar.gz", "application/gzip"}};
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        check_slice(afc__last_component(rows[i].path), rows[i].name);
        assert_string_equal(afc__media_type_of_path(rows[i].path), rows[i].type);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_sorted_and_complete),
        cmocka_unit_test(knows_common_extensions),
        cmocka_unit_test(unknown_extension_has_no_type),
        cmocka_unit_test(finds_the_extension_of_paths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
