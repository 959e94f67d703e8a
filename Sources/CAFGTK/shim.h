/*
 * What SwiftAF uses of GTK 4 and GLib, under names of its own: `cafgtk_…`, bound to the libraries' symbols by assembler
 * labels. So it needs none of their headers, whose folders only pkg-config knows, and a program can import any other
 * binding of GTK beside it: there is no second declaration of a name, and all of them mean the same pointers.
 *
 * Scripts/checks/gtk-shim compiles this file together with the libraries' headers, with CAFGTK_CHECK defined: the types
 * below are then the libraries' own, and each function must have the type of the one that it is bound to.
 */
#ifndef CAFGTK_SHIM_H
#define CAFGTK_SHIM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef CAFGTK_CHECK
typedef GType cafgtk_type;
typedef GObject cafgtk_object;
typedef GTypeInstance cafgtk_instance;
typedef GClosure cafgtk_closure;
typedef GConnectFlags cafgtk_connect_flags;
typedef GBytes cafgtk_bytes;
typedef GSource cafgtk_source;
typedef GMainContext cafgtk_context;
typedef GIOCondition cafgtk_condition;
typedef GtkWidget cafgtk_widget;
typedef GtkPicture cafgtk_picture;
typedef GtkImage cafgtk_image;
typedef GtkButton cafgtk_button;
typedef GtkOverlay cafgtk_overlay;
typedef GtkBox cafgtk_box;
typedef GtkOrientation cafgtk_orientation;
typedef GtkStateFlags cafgtk_state_flags;
typedef GtkProgressBar cafgtk_progress_bar;
typedef GtkSpinner cafgtk_spinner;
typedef GtkRevealer cafgtk_revealer;
typedef GtkSnapshot cafgtk_snapshot;
typedef GdkPaintable cafgtk_paintable;
typedef GdkTexture cafgtk_texture;
typedef GdkMemoryFormat cafgtk_memory_format;
typedef GdkFrameClock cafgtk_frame_clock;
typedef GtkSettings cafgtk_settings;
typedef graphene_rect_t cafgtk_rect;
typedef graphene_size_t cafgtk_size;
#else
typedef unsigned long cafgtk_type;
typedef struct cafgtk_object cafgtk_object;
typedef struct cafgtk_instance cafgtk_instance;
typedef struct cafgtk_closure cafgtk_closure;
typedef unsigned int cafgtk_connect_flags;
typedef struct cafgtk_bytes cafgtk_bytes;
typedef struct cafgtk_source cafgtk_source;
typedef struct cafgtk_context cafgtk_context;
typedef unsigned int cafgtk_condition;
typedef struct cafgtk_widget cafgtk_widget;
typedef struct cafgtk_picture cafgtk_picture;
typedef struct cafgtk_image cafgtk_image;
typedef struct cafgtk_button cafgtk_button;
typedef struct cafgtk_overlay cafgtk_overlay;
typedef struct cafgtk_box cafgtk_box;
typedef unsigned int cafgtk_orientation;
typedef unsigned int cafgtk_state_flags;
typedef struct cafgtk_progress_bar cafgtk_progress_bar;
typedef struct cafgtk_spinner cafgtk_spinner;
typedef struct cafgtk_revealer cafgtk_revealer;
typedef struct cafgtk_snapshot cafgtk_snapshot;
typedef struct cafgtk_paintable cafgtk_paintable;
typedef struct cafgtk_texture cafgtk_texture;
typedef unsigned int cafgtk_memory_format;
typedef struct cafgtk_frame_clock cafgtk_frame_clock;
typedef struct cafgtk_settings cafgtk_settings;
typedef struct {
    float x, y, width, height;
} cafgtk_rect;
typedef struct {
    float width, height;
} cafgtk_size;
#endif

/* Constants; the check compares them, too. */
enum {
    cafgtk_readable = 1,          /* G_IO_IN */
    cafgtk_priority_default = 0,  /* G_PRIORITY_DEFAULT */
    cafgtk_priority_idle = 200,   /* G_PRIORITY_DEFAULT_IDLE */
    cafgtk_rgba = 5,              /* GDK_MEMORY_R8G8B8A8 */
    cafgtk_horizontal = 0,        /* GTK_ORIENTATION_HORIZONTAL */
    cafgtk_top = 2,               /* GTK_POS_TOP */
    cafgtk_state_active = 1,      /* GTK_STATE_FLAG_ACTIVE */
    cafgtk_state_selected = 4,    /* GTK_STATE_FLAG_SELECTED */
    cafgtk_state_insensitive = 8, /* GTK_STATE_FLAG_INSENSITIVE */
    cafgtk_state_checked = 2048,  /* GTK_STATE_FLAG_CHECKED */
};

typedef void (*cafgtk_callback)(void);
typedef void (*cafgtk_destroy)(void *data);
typedef void (*cafgtk_closure_notify)(void *data, cafgtk_closure *closure);
typedef int (*cafgtk_source_call)(void *data);
typedef int (*cafgtk_tick)(cafgtk_widget *widget, cafgtk_frame_clock *clock, void *data);

/* One line from each name to its symbol, which Scripts/checks/gtk-shim reads. */
/* clang-format off */
void *cafgtk_ref(void *object) __asm__("g_object_ref");
void *cafgtk_ref_sink(void *object) __asm__("g_object_ref_sink");
void cafgtk_unref(void *object) __asm__("g_object_unref");
void *cafgtk_get_data(cafgtk_object *object, const char *key) __asm__("g_object_get_data");
void cafgtk_set_data(cafgtk_object *object, const char *key, void *data, cafgtk_destroy destroy) __asm__("g_object_set_data_full");
void cafgtk_get(void *object, const char *property, ...) __asm__("g_object_get");
int cafgtk_is_a(cafgtk_instance *instance, cafgtk_type type) __asm__("g_type_check_instance_is_a");
const char *cafgtk_instance_type_name(cafgtk_instance *instance) __asm__("g_type_name_from_instance");
const char *cafgtk_type_name(cafgtk_type type) __asm__("g_type_name");
unsigned long cafgtk_connect(void *instance, const char *signal, cafgtk_callback call, void *data, cafgtk_closure_notify destroy, cafgtk_connect_flags flags) __asm__("g_signal_connect_data");
void cafgtk_disconnect(void *instance, unsigned long connection) __asm__("g_signal_handler_disconnect");
cafgtk_bytes *cafgtk_bytes_new(const void *data, size_t size, cafgtk_destroy destroy, void *context) __asm__("g_bytes_new_with_free_func");
void cafgtk_bytes_unref(cafgtk_bytes *bytes) __asm__("g_bytes_unref");
int64_t cafgtk_now(void) __asm__("g_get_monotonic_time");
unsigned int cafgtk_timeout(unsigned int milliseconds, cafgtk_source_call call, void *data) __asm__("g_timeout_add");
int cafgtk_source_remove(unsigned int id) __asm__("g_source_remove");
cafgtk_source *cafgtk_descriptor_source(int descriptor, cafgtk_condition condition) __asm__("g_unix_fd_source_new");
void cafgtk_source_set_callback(cafgtk_source *source, cafgtk_source_call call, void *data, cafgtk_destroy destroy) __asm__("g_source_set_callback");
void cafgtk_source_set_priority(cafgtk_source *source, int priority) __asm__("g_source_set_priority");
unsigned int cafgtk_source_attach(cafgtk_source *source, cafgtk_context *context) __asm__("g_source_attach");

cafgtk_type cafgtk_widget_type(void) __asm__("gtk_widget_get_type");
int cafgtk_widget_scale(cafgtk_widget *widget) __asm__("gtk_widget_get_scale_factor");
cafgtk_settings *cafgtk_widget_settings(cafgtk_widget *widget) __asm__("gtk_widget_get_settings");
int cafgtk_widget_is_mapped(cafgtk_widget *widget) __asm__("gtk_widget_get_mapped");
void cafgtk_widget_set_visible(cafgtk_widget *widget, int visible) __asm__("gtk_widget_set_visible");
cafgtk_state_flags cafgtk_widget_state(cafgtk_widget *widget) __asm__("gtk_widget_get_state_flags");
unsigned int cafgtk_widget_add_tick(cafgtk_widget *widget, cafgtk_tick call, void *data, cafgtk_destroy destroy) __asm__("gtk_widget_add_tick_callback");
void cafgtk_widget_remove_tick(cafgtk_widget *widget, unsigned int id) __asm__("gtk_widget_remove_tick_callback");
int64_t cafgtk_frame_time(cafgtk_frame_clock *clock) __asm__("gdk_frame_clock_get_frame_time");

cafgtk_type cafgtk_picture_type(void) __asm__("gtk_picture_get_type");
cafgtk_widget *cafgtk_picture_new(void) __asm__("gtk_picture_new");
void cafgtk_picture_set(cafgtk_picture *picture, cafgtk_paintable *paintable) __asm__("gtk_picture_set_paintable");
void cafgtk_picture_set_keeps_ratio(cafgtk_picture *picture, int keeps) __asm__("gtk_picture_set_keep_aspect_ratio");
cafgtk_type cafgtk_image_type(void) __asm__("gtk_image_get_type");
void cafgtk_image_set(cafgtk_image *image, cafgtk_paintable *paintable) __asm__("gtk_image_set_from_paintable");

cafgtk_type cafgtk_button_type(void) __asm__("gtk_button_get_type");
cafgtk_widget *cafgtk_button_child(cafgtk_button *button) __asm__("gtk_button_get_child");
void cafgtk_button_set_child(cafgtk_button *button, cafgtk_widget *child) __asm__("gtk_button_set_child");
cafgtk_widget *cafgtk_overlay_new(void) __asm__("gtk_overlay_new");
void cafgtk_overlay_set_child(cafgtk_overlay *overlay, cafgtk_widget *child) __asm__("gtk_overlay_set_child");
void cafgtk_overlay_add(cafgtk_overlay *overlay, cafgtk_widget *child) __asm__("gtk_overlay_add_overlay");
void cafgtk_overlay_measure(cafgtk_overlay *overlay, cafgtk_widget *child, int measured) __asm__("gtk_overlay_set_measure_overlay");
cafgtk_widget *cafgtk_box_new(cafgtk_orientation orientation, int spacing) __asm__("gtk_box_new");
void cafgtk_box_append(cafgtk_box *box, cafgtk_widget *child) __asm__("gtk_box_append");

cafgtk_type cafgtk_progress_bar_type(void) __asm__("gtk_progress_bar_get_type");
void cafgtk_progress_bar_set(cafgtk_progress_bar *bar, double fraction) __asm__("gtk_progress_bar_set_fraction");
double cafgtk_progress_bar_fraction(cafgtk_progress_bar *bar) __asm__("gtk_progress_bar_get_fraction");
cafgtk_type cafgtk_spinner_type(void) __asm__("gtk_spinner_get_type");
cafgtk_widget *cafgtk_spinner_new(void) __asm__("gtk_spinner_new");
void cafgtk_spinner_start(cafgtk_spinner *spinner) __asm__("gtk_spinner_start");
void cafgtk_spinner_stop(cafgtk_spinner *spinner) __asm__("gtk_spinner_stop");
cafgtk_type cafgtk_scrolled_window_type(void) __asm__("gtk_scrolled_window_get_type");
cafgtk_widget *cafgtk_revealer_new(void) __asm__("gtk_revealer_new");
void cafgtk_revealer_set_child(cafgtk_revealer *revealer, cafgtk_widget *child) __asm__("gtk_revealer_set_child");
void cafgtk_revealer_reveal(cafgtk_revealer *revealer, int reveals) __asm__("gtk_revealer_set_reveal_child");

cafgtk_texture *cafgtk_texture_new(int width, int height, cafgtk_memory_format format, cafgtk_bytes *bytes, size_t stride) __asm__("gdk_memory_texture_new");
cafgtk_snapshot *cafgtk_snapshot_new(void) __asm__("gtk_snapshot_new");
void cafgtk_snapshot_append(cafgtk_snapshot *snapshot, cafgtk_texture *texture, const cafgtk_rect *bounds) __asm__("gtk_snapshot_append_texture");
cafgtk_paintable *cafgtk_snapshot_finish(cafgtk_snapshot *snapshot, const cafgtk_size *size) __asm__("gtk_snapshot_free_to_paintable");
/* clang-format on */

/*
 * libdispatch's main queue: the descriptor that is readable while it has work, and the call that does it. They are in
 * no header; CoreFoundation's run loop is built on them.
 */
int cafgtk_main_queue_descriptor(void) __asm__("_dispatch_get_main_queue_handle_4CF");
void cafgtk_main_queue_drain(void *ignored) __asm__("_dispatch_main_queue_callback_4CF");

static inline int cafgtk_is_first_thread(void) {
    return (long)getpid() == syscall(SYS_gettid);
}

/* Whether the user wants things to move. */
static inline int cafgtk_wants_animations(cafgtk_widget *widget) {
    int wants = 1;
    cafgtk_get(cafgtk_widget_settings(widget), "gtk-enable-animations", &wants, (void *)0);
    return wants;
}

/* A descriptor source calls a function of this type, which GLib takes untyped. */
typedef int (*cafgtk_descriptor_call)(int descriptor, cafgtk_condition condition, void *data);

static inline void cafgtk_on_readable(cafgtk_source *source, cafgtk_descriptor_call call) {
    cafgtk_source_set_callback(source, (cafgtk_source_call)(void (*)(void))call, 0, 0);
}

/* Signals take untyped functions, which Swift would have to cast. */
typedef void (*cafgtk_on_signal)(void *instance, void *context);

static inline void cafgtk_connect_plain(void *instance, const char *signal, cafgtk_on_signal call,
                                        void *context, cafgtk_closure_notify destroy) {
    cafgtk_connect(instance, signal, (cafgtk_callback)call, context, destroy,
                   (cafgtk_connect_flags)0);
}

typedef void (*cafgtk_on_number)(void *instance, unsigned int number, void *context);

static inline void cafgtk_connect_number(void *instance, const char *signal, cafgtk_on_number call,
                                         void *context, cafgtk_closure_notify destroy) {
    cafgtk_connect(instance, signal, (cafgtk_callback)call, context, destroy,
                   (cafgtk_connect_flags)0);
}

/* `signal` is `notify::` and the name of a property. Returns the connection. */
typedef void (*cafgtk_on_notify)(void *instance, void *property, void *context);

static inline unsigned long cafgtk_connect_notify(void *instance, const char *signal,
                                                  cafgtk_on_notify call, void *context,
                                                  cafgtk_closure_notify destroy) {
    return cafgtk_connect(instance, signal, (cafgtk_callback)call, context, destroy,
                          (cafgtk_connect_flags)0);
}

#endif
