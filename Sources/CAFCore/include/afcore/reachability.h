/**
 * Is there a way to a host, and over which kind of link? Told when the network changes, without asking
 * any host: nothing is sent but the name lookups of a monitor that was given a name.
 */
#ifndef AFCORE_REACHABILITY_H
#define AFCORE_REACHABILITY_H

#include <afcore/base.h>
#include <afcore/error.h>

AF_BEGIN_DECLS

/** Bytes for the name of a link, its NUL included. */
#define AF_LINK_NAME_SIZE 16

typedef enum AF_OPEN_ENUM af_reach_status {
    AF_REACH_UNKNOWN = -1, /**< Nobody has looked yet. */
    AF_REACH_NONE = 0,     /**< No route, or one over a link that is down. */
    AF_REACH_VIA_WWAN = 1, /**< Over a cellular link. */
    AF_REACH_VIA_WIFI = 2  /**< Over any other: AFNetworking counts wires as WiFi, too. */
} af_reach_status;

/** What the link of a route is, by what the kernel says of it. */
typedef enum AF_OPEN_ENUM af_link_kind {
    AF_LINK_UNKNOWN = 0,
    AF_LINK_LOOPBACK = 1,
    AF_LINK_WIRED = 2, /**< Ethernet, and what behaves like it: bridges, veth. */
    AF_LINK_WIRELESS = 3,
    AF_LINK_CELLULAR = 4,
    AF_LINK_OTHER = 5 /**< Tunnels, PPP. */
} af_link_kind;

typedef struct af_reachability {
    af_reach_status status;
    af_link_kind link;                 /**< AF_LINK_UNKNOWN unless there is a route. */
    char link_name[AF_LINK_NAME_SIZE]; /**< Such as "eth0"; empty if it isn't known. */
} af_reachability;

/**
 * Watches the way to one host. All monitors of a process share one thread, af-reach, which is there
 * while one of them is started, and sleeps in the kernel until the network changes.
 */
typedef struct af_reach_monitor af_reach_monitor;

/** Start from AF_REACH_MONITOR_OPTIONS_INIT. Everything is copied. */
typedef struct af_reach_monitor_options {
    size_t size; /**< sizeof(af_reach_monitor_options), for growth. */
    /**
     * An address, a name of at most 255 bytes, or NULL for the internet as such: a route to
     * addresses that are no neighbour's. A name is looked up on another thread, again whenever the
     * machine's addresses change; a lookup that failed for the moment is repeated a few times. It is
     * reachable when one of its addresses is.
     */
    const char *host;
    /**
     * Called on the monitors' thread: once after every start, then whenever something of `state`
     * has changed. May start, stop and free any monitor; must not block. May be NULL.
     */
    void (*on_change)(void *context, const af_reachability *state);
    /** Called once, when the monitor is freed and no on_change can come any more. May be NULL. */
    void (*drop)(void *context);
    void *context;
} af_reach_monitor_options;

#define AF_REACH_MONITOR_OPTIONS_INIT                                                              \
    { sizeof(af_reach_monitor_options), NULL, NULL, NULL, NULL }

/**
 * Make a monitor. It is not started, and its state is AF_REACH_UNKNOWN. `options` may be NULL.
 *
 * Thread: any.    Owns: `*out` is yours, af_reach_monitor_free(); takes `options->context` when it
 * succeeds, and gives it back to `drop`.
 * Fails: AF_ENOMEM, AF_EINVAL (a host that is empty or too long); `*out` is then NULL. `failure` may be NULL.
 */
AF_API af_status af_reach_monitor_new(af_reach_monitor **out,
                                      const af_reach_monitor_options *options, af_failure *failure);

/**
 * Begin to watch; one that is started begins anew, and tells its state again.
 *
 * Thread: any, also inside callbacks.    Owns: nothing.
 * Fails: AF_ENOMEM, AF_EINTERNAL (no thread or no netlink socket, see failure). `failure` may be NULL.
 */
AF_API af_status af_reach_monitor_start(af_reach_monitor *monitor, af_failure *failure);

/**
 * Watch no more. The state stays what it was. An on_change that is under way on its thread may
 * still be running; no other follows. Never blocks.
 *
 * Thread: any, also inside callbacks.    Owns: nothing.    Fails: never.
 */
AF_API void af_reach_monitor_stop(af_reach_monitor *monitor);

/**
 * What was told last, or would have been without on_change.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API void af_reach_monitor_get_state(const af_reach_monitor *monitor, af_reachability *out);

/**
 * Stop and give back. Never blocks: if on_change is under way, `drop` is called after it, on its
 * thread. NULL is fine.
 *
 * Thread: any, also inside callbacks.    Owns: takes `monitor`.    Fails: never.
 */
AF_API void af_reach_monitor_free(af_reach_monitor *monitor);

/**
 * AFNetworking's words for a status, in English: "Not Reachable", "Reachable via WWAN", "Reachable
 * via WiFi", otherwise "Unknown".
 *
 * Thread: any.    Owns: the text lives forever.    Fails: never.
 */
AF_API const char *af_reach_status_text(af_reach_status status);

AF_END_DECLS

#endif
