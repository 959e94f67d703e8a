#include "support/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int scene_setup(void **state) {
    scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    scene->world = world_new(NULL, NULL);
    folder_make(&scene->folder);
    scene->content = make_content(LARGE, 3);
    origin_serve(&scene->origin, scene->world, "/file", (afc_slice){scene->content, LARGE}, TAG);
    snprintf(scene->path, sizeof scene->path, "%s", path_in(&scene->folder, "got"));
    snprintf(scene->part, sizeof scene->part, "%s", path_in(&scene->folder, "got.part"));
    snprintf(scene->note, sizeof scene->note, "%s", path_in(&scene->folder, "got.part.resume"));
    *state = scene;
    return 0;
}

int scene_teardown(void **state) {
    scene *scene = *state;
    world_free(scene->world);
    folder_remove(&scene->folder);
    free(scene->content);
    free(scene);
    return 0;
}

call *prepare(scene *scene, const char *path, unsigned flags) {
    call *call = call_new(scene->world, path);
    call->request.sink = (afc_sink){.kind = AFC_SINK_FILE, .path = scene->path, .flags = flags};
    return call;
}

call *download(scene *scene, unsigned flags) {
    call *call = prepare(scene, "/file", flags);
    call_perform(call);
    return call;
}

void break_off(scene *scene) {
    scene->origin.stops_after = BROKEN_AT;
    call *call = download(scene, BOTH);
    check_ended(call, AFC_ETRUNCATED);
    call_free(call);
    scene->origin.stops_after = WHOLE;
    assert_int_equal(count_files(&scene->folder), 2);
}

const char *digest_field(scene *scene, const EVP_MD *type, const char *form, bool is_wrong) {
    unsigned char digest[EVP_MAX_MD_SIZE];
    unsigned char text[128];
    unsigned size;
    EVP_Digest(scene->content, LARGE, digest, &size, type, NULL);
    if (is_wrong) digest[0] ^= 1;
    EVP_EncodeBlock(text, digest, (int)size);
    return text_of(scene->world, form, (char *)text);
}

void check_done(scene *scene, call *call, afc_resumption resumption) {
    check_ended(call, AFC_OK);
    assert_int_equal(afc_result_get_download(call->result)->resumption, resumption);
    call_free(call);
    check_file(scene->path, (afc_slice){scene->content, LARGE});
    assert_int_equal(count_files(&scene->folder), 1);
    assert_int_equal(unlink(scene->path), 0);
}
