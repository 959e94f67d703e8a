/*
 * What SwiftAF uses of gdk-pixbuf 2 and GObject, under names of its own: `cgdkpixbuf_…`, bound to the libraries'
 * symbols by assembler labels. The libraries' headers lie in folders that only pkg-config knows, and its flags are more
 * than SwiftPM accepts. No name of GLib is declared here, because a program that imports GLib or GTK by a module of its
 * own would then see two declarations of one name, and Clang refuses types that differ between modules.
 *
 * Scripts/checks/swift-traits compiles this file together with the libraries' headers, with CGDKPIXBUF_CHECK defined:
 * the types below are then the libraries' own, and each function must have the type of the one that it is bound to.
 */
#ifndef CGDKPIXBUF_SHIM_H
#define CGDKPIXBUF_SHIM_H

#include <stddef.h>
#include <stdint.h>

#ifdef CGDKPIXBUF_CHECK
typedef GError cgdkpixbuf_error;
typedef GClosure cgdkpixbuf_closure;
typedef GConnectFlags cgdkpixbuf_connect_flags;
typedef GTimeVal cgdkpixbuf_time;
typedef GdkPixbuf cgdkpixbuf_image;
typedef GdkPixbufLoader cgdkpixbuf_loader;
typedef GdkPixbufAnimation cgdkpixbuf_animation;
typedef GdkPixbufAnimationIter cgdkpixbuf_iterator;
typedef GdkColorspace cgdkpixbuf_colorspace;
#else
typedef struct cgdkpixbuf_error cgdkpixbuf_error;
typedef struct cgdkpixbuf_closure cgdkpixbuf_closure;
typedef unsigned int cgdkpixbuf_connect_flags;
typedef struct {
    long tv_sec;
    long tv_usec;
} cgdkpixbuf_time;
typedef struct cgdkpixbuf_image cgdkpixbuf_image;
typedef struct cgdkpixbuf_loader cgdkpixbuf_loader;
typedef struct cgdkpixbuf_animation cgdkpixbuf_animation;
typedef struct cgdkpixbuf_iterator cgdkpixbuf_iterator;
typedef unsigned int cgdkpixbuf_colorspace;
#endif

/* The only colours that gdk-pixbuf has. */
enum { cgdkpixbuf_rgb = 0 };

typedef void (*cgdkpixbuf_callback)(void);
typedef void (*cgdkpixbuf_destroy_closure)(void *data, cgdkpixbuf_closure *closure);
typedef void (*cgdkpixbuf_destroy_pixels)(unsigned char *pixels, void *data);

/* One line from each name to its symbol, which Scripts/checks/swift-traits reads. */
/* clang-format off */
void cgdkpixbuf_free(void *memory) __asm__("g_free");
void cgdkpixbuf_unref(void *object) __asm__("g_object_unref");
unsigned long cgdkpixbuf_connect(void *instance, const char *signal, cgdkpixbuf_callback call, void *data, cgdkpixbuf_destroy_closure destroy, cgdkpixbuf_connect_flags flags) __asm__("g_signal_connect_data");

cgdkpixbuf_loader *cgdkpixbuf_loader_new(const char *type, cgdkpixbuf_error **error) __asm__("gdk_pixbuf_loader_new_with_type");
void cgdkpixbuf_loader_set_size(cgdkpixbuf_loader *loader, int width, int height) __asm__("gdk_pixbuf_loader_set_size");
int cgdkpixbuf_loader_write(cgdkpixbuf_loader *loader, const unsigned char *bytes, size_t count, cgdkpixbuf_error **error) __asm__("gdk_pixbuf_loader_write");
int cgdkpixbuf_loader_close(cgdkpixbuf_loader *loader, cgdkpixbuf_error **error) __asm__("gdk_pixbuf_loader_close");
cgdkpixbuf_image *cgdkpixbuf_loader_image(cgdkpixbuf_loader *loader) __asm__("gdk_pixbuf_loader_get_pixbuf");
cgdkpixbuf_animation *cgdkpixbuf_loader_animation(cgdkpixbuf_loader *loader) __asm__("gdk_pixbuf_loader_get_animation");

int cgdkpixbuf_animation_is_static(cgdkpixbuf_animation *animation) __asm__("gdk_pixbuf_animation_is_static_image");
cgdkpixbuf_iterator *cgdkpixbuf_animation_iterator(cgdkpixbuf_animation *animation, const cgdkpixbuf_time *start) __asm__("gdk_pixbuf_animation_get_iter");
int cgdkpixbuf_iterator_delay(cgdkpixbuf_iterator *iterator) __asm__("gdk_pixbuf_animation_iter_get_delay_time");
cgdkpixbuf_image *cgdkpixbuf_iterator_image(cgdkpixbuf_iterator *iterator) __asm__("gdk_pixbuf_animation_iter_get_pixbuf");
int cgdkpixbuf_iterator_advance(cgdkpixbuf_iterator *iterator, const cgdkpixbuf_time *now) __asm__("gdk_pixbuf_animation_iter_advance");

cgdkpixbuf_image *cgdkpixbuf_image_new(const unsigned char *pixels, cgdkpixbuf_colorspace space, int has_alpha, int bits, int width, int height, int stride, cgdkpixbuf_destroy_pixels destroy, void *data) __asm__("gdk_pixbuf_new_from_data");
cgdkpixbuf_image *cgdkpixbuf_image_oriented(cgdkpixbuf_image *image) __asm__("gdk_pixbuf_apply_embedded_orientation");
void cgdkpixbuf_image_fill(cgdkpixbuf_image *image, uint32_t pixel) __asm__("gdk_pixbuf_fill");
int cgdkpixbuf_image_width(const cgdkpixbuf_image *image) __asm__("gdk_pixbuf_get_width");
int cgdkpixbuf_image_height(const cgdkpixbuf_image *image) __asm__("gdk_pixbuf_get_height");
int cgdkpixbuf_image_channels(const cgdkpixbuf_image *image) __asm__("gdk_pixbuf_get_n_channels");
int cgdkpixbuf_image_stride(const cgdkpixbuf_image *image) __asm__("gdk_pixbuf_get_rowstride");
const unsigned char *cgdkpixbuf_image_pixels(const cgdkpixbuf_image *image) __asm__("gdk_pixbuf_read_pixels");
int cgdkpixbuf_image_save(cgdkpixbuf_image *image, char **bytes, size_t *size, const char *type, char **keys, char **values, cgdkpixbuf_error **error) __asm__("gdk_pixbuf_save_to_bufferv");
/* clang-format on */

/* Signals take untyped functions, which Swift would have to cast. */
typedef void (*cgdkpixbuf_size_prepared)(cgdkpixbuf_loader *loader, int width, int height,
                                         void *context);

static inline void cgdkpixbuf_on_size(cgdkpixbuf_loader *loader, cgdkpixbuf_size_prepared call,
                                      void *context) {
    cgdkpixbuf_connect(loader, "size-prepared", (cgdkpixbuf_callback)call, context, 0,
                       (cgdkpixbuf_connect_flags)0);
}

typedef void (*cgdkpixbuf_area_prepared)(cgdkpixbuf_loader *loader, void *context);

static inline void cgdkpixbuf_on_area(cgdkpixbuf_loader *loader, cgdkpixbuf_area_prepared call,
                                      void *context) {
    cgdkpixbuf_connect(loader, "area-prepared", (cgdkpixbuf_callback)call, context, 0,
                       (cgdkpixbuf_connect_flags)0);
}

typedef void (*cgdkpixbuf_area_updated)(cgdkpixbuf_loader *loader, int x, int y, int width,
                                        int height, void *context);

static inline void cgdkpixbuf_on_update(cgdkpixbuf_loader *loader, cgdkpixbuf_area_updated call,
                                        void *context) {
    cgdkpixbuf_connect(loader, "area-updated", (cgdkpixbuf_callback)call, context, 0,
                       (cgdkpixbuf_connect_flags)0);
}

/* The quality is that of a JPEG, NULL for another type. */
static inline int cgdkpixbuf_save(cgdkpixbuf_image *image, const char *type, char *quality,
                                  char **bytes, size_t *size) {
    char name[] = "quality";
    char *keys[] = {quality ? name : 0, 0}, *values[] = {quality, 0};
    return cgdkpixbuf_image_save(image, bytes, size, type, keys, values, 0);
}

#endif
