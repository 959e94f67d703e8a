/**
 * Network reachability: whether there is a route to a host, and over which kind of link. Monitors report
 * changes of the network from the kernel's routing tables (rtnetlink). They send nothing except the
 * lookups of a host name.
 */
#ifndef AFCORE_REACHABILITY_H
#define AFCORE_REACHABILITY_H

#include <afcore/base.h>
#include <afcore/error.h>

AF_BEGIN_DECLS

/** Size of a link's name in bytes, including the NUL (IFNAMSIZ). */
#define AF_LINK_NAME_SIZE 16

/** Whether a host is reachable. */
typedef enum AF_OPEN_ENUM af_reach_status {
    AF_REACH_UNKNOWN = -1, /**< Not determined yet. */
    AF_REACH_NONE = 0,     /**< No route, or only over a link that is down. */
    AF_REACH_VIA_WWAN = 1, /**< Over a cellular link. */
    AF_REACH_VIA_WIFI = 2  /**< Over any other link, wired ones included, as in AFNetworking. */
} af_reach_status;

/** The kind of a route's link, as the kernel reports it. */
typedef enum AF_OPEN_ENUM af_link_kind {
    AF_LINK_UNKNOWN = 0,
    AF_LINK_LOOPBACK = 1,
    AF_LINK_WIRED = 2, /**< Ethernet and similar links: bridges, veth. */
    AF_LINK_WIRELESS = 3,
    AF_LINK_CELLULAR = 4,
    AF_LINK_OTHER = 5 /**< Tunnels, PPP. */
} af_link_kind;

/** The state of a monitor. */
typedef struct af_reachability {
    af_reach_status status;
    af_link_kind link;                 /**< AF_LINK_UNKNOWN if there is no route. */
    char link_name[AF_LINK_NAME_SIZE]; /**< Such as "eth0"; empty if unknown. */
} af_reachability;

/**
 * Monitors the route to one host. All monitors of a process share one thread, `af-reach`, which exists
 * while at least one of them is started and sleeps until the network changes.
 */
typedef struct af_reach_monitor af_reach_monitor;

/** Options of a monitor. Start from AF_REACH_MONITOR_OPTIONS_INIT. All are copied. */
typedef struct af_reach_monitor_options {
    size_t size; /**< sizeof(af_reach_monitor_options), for growth. */
    /**
     * An address, a name of at most 255 bytes, or NULL for the internet: a route to addresses beyond the
     * local network. A name is reachable if one of its addresses is. It is resolved on another thread,
     * and again whenever the addresses of this machine change; temporary failures are retried a few times.
     */
    const char *host;
    /**
     * Called on the monitors' thread: once after each start, then whenever a field of `state` has
     * changed. May start, stop and free any monitor. Must not block. May be NULL.
     */
    void (*on_change)(void *context, const af_reachability *state);
    /** Called once, after the monitor was freed and no further on_change can follow. May be NULL. */
    void (*release)(void *context);
    void *context; /**< Passed to the callbacks. */
} af_reach_monitor_options;

#define AF_REACH_MONITOR_OPTIONS_INIT                                                              \
    { sizeof(af_reach_monitor_options), NULL, NULL, NULL, NULL }

/**
 * Creates a monitor. It isn't started, and its state is AF_REACH_UNKNOWN. `options` may be NULL.
 *
 * Thread: any.    Owns: `*out` is yours, af_reach_monitor_free(); on success takes
 * `options->context`, until `release`.
 * Fails: AF_ENOMEM, AF_EINVAL (`host` is empty or too long); `*out` is then NULL. `failure` may be NULL.
 */
AF_API af_status af_reach_monitor_new(af_reach_monitor **out,
                                      const af_reach_monitor_options *options, af_failure *failure);

/**
 * Starts a monitor. If it is already started, it restarts and reports its state again.
 *
 * Thread: any, also inside callbacks.    Owns: nothing.
 * Fails: AF_ENOMEM, AF_EINTERNAL (no thread or no netlink socket; see `failure`). `failure` may be NULL.
 */
AF_API af_status af_reach_monitor_start(af_reach_monitor *monitor, af_failure *failure);

/**
 * Stops a monitor; its state remains. An on_change in progress on the monitors' thread may still be
 * running when this returns; no other follows. Never blocks.
 *
 * Thread: any, also inside callbacks.    Owns: nothing.    Fails: never.
 */
AF_API void af_reach_monitor_stop(af_reach_monitor *monitor);

/**
 * Reads the current state: the one last reported to on_change, if there is one.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AF_API void af_reach_monitor_get_state(const af_reach_monitor *monitor, af_reachability *out);

/**
 * Stops and frees a monitor. Never blocks: if on_change is in progress, `release` is called after it, on the
 * monitors' thread. NULL is allowed.
 *
 * Thread: any, also inside callbacks.    Owns: takes `monitor`.    Fails: never.
 */
AF_API void af_reach_monitor_free(af_reach_monitor *monitor);

/**
 * Returns AFNetworking's English text for a status: "Not Reachable", "Reachable via WWAN", "Reachable
 * via WiFi", otherwise "Unknown".
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AF_API const char *af_reach_status_text(af_reach_status status);

AF_END_DECLS

#endif
