/**
 * Network reachability: whether there is a route to a host, and over which kind of link. Monitors report
 * changes of the network from the kernel's routing tables (rtnetlink). They send nothing except the
 * lookups of a host name.
 */
#ifndef AFCORE_REACHABILITY_H
#define AFCORE_REACHABILITY_H

#include <afcore/base.h>
#include <afcore/error.h>

AFC_BEGIN_DECLS

/** Size of a link's name in bytes, including the NUL (IFNAMSIZ). */
#define AFC_LINK_NAME_SIZE 16

/** Whether a host is reachable. */
typedef enum AFC_OPEN_ENUM afc_reach_status {
    AFC_REACH_UNKNOWN = -1, /**< Not determined yet. */
    AFC_REACH_NONE = 0,     /**< No route, or only over a link that is down. */
    AFC_REACH_VIA_WWAN = 1, /**< Over a cellular link. */
    AFC_REACH_VIA_WIFI = 2  /**< Over any other link, wired ones included, as in AFNetworking. */
} afc_reach_status;

/** The kind of a route's link, as the kernel reports it. */
typedef enum AFC_OPEN_ENUM afc_link_kind {
    AFC_LINK_UNKNOWN = 0,
    AFC_LINK_LOOPBACK = 1,
    AFC_LINK_WIRED = 2, /**< Ethernet and similar links: bridges, veth. */
    AFC_LINK_WIRELESS = 3,
    AFC_LINK_CELLULAR = 4,
    AFC_LINK_OTHER = 5 /**< Tunnels, PPP. */
} afc_link_kind;

/** The state of a monitor. */
typedef struct afc_reachability {
    afc_reach_status status;
    afc_link_kind link;                 /**< AFC_LINK_UNKNOWN if there is no route. */
    char link_name[AFC_LINK_NAME_SIZE]; /**< Such as "eth0"; empty if unknown. */
    uint32_t reserved[4];               /**< 0. */
} afc_reachability;

/**
 * Monitors the route to one host. All monitors of a process share one thread, `af-reach`, which exists
 * while at least one of them is started and sleeps until the network changes.
 */
typedef struct afc_reach_monitor afc_reach_monitor;

/** Options of a monitor. Start from AFC_REACH_MONITOR_OPTIONS_INIT. All are copied. */
typedef struct afc_reach_monitor_options {
    size_t size; /**< sizeof(afc_reach_monitor_options). */
    /**
     * An address, a name of at most 255 bytes, or NULL for the internet: a route to addresses beyond the
     * local network. 0.0.0.0 and :: mean the internet, too. A name is reachable if one of its addresses is.
     * It is resolved on another thread, and again whenever the addresses of this machine change; temporary
     * failures are retried a few times.
     */
    const char *host;
    /**
     * Called on the monitors' thread: once after each start, then whenever a field of `state` has
     * changed. May start, stop and free any monitor. Must not block. May be NULL.
     */
    void (*on_change)(void *context, const afc_reachability *state);
    /** Called once, after the monitor was freed and no further on_change can follow. May be NULL. */
    void (*release)(void *context);
    void *context; /**< Passed to the callbacks. */
} afc_reach_monitor_options;

#define AFC_REACH_MONITOR_OPTIONS_INIT                                                             \
    { sizeof(afc_reach_monitor_options), NULL, NULL, NULL, NULL }

/**
 * Creates a monitor. It isn't started, and its state is AFC_REACH_UNKNOWN. `options` may be NULL.
 *
 * Thread: any.    Owns: `*out` is yours, afc_reach_monitor_free(); on success takes
 * `options->context`, until `release`.
 * Fails: AFC_ENOMEM, AFC_EINVAL (`host` is empty or too long); `*out` is then NULL.
 */
AFC_API afc_status afc_reach_monitor_new(afc_reach_monitor **out,
                                         const afc_reach_monitor_options *options,
                                         afc_failure *failure);

/**
 * Starts a monitor. If it is already started, it restarts and reports its state again.
 *
 * Thread: any, also inside callbacks.    Owns: nothing.
 * Fails: AFC_ENOMEM, AFC_EINTERNAL (no thread or no netlink socket; see `failure`).
 */
AFC_API afc_status afc_reach_monitor_start(afc_reach_monitor *monitor, afc_failure *failure);

/**
 * Stops a monitor; its state remains. An on_change in progress on the monitors' thread may still be
 * running when this returns; no other follows. Never blocks.
 *
 * Thread: any, also inside callbacks.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_reach_monitor_stop(afc_reach_monitor *monitor);

/**
 * Reads the current state: the one last reported to on_change, if there is one.
 *
 * Thread: any.    Owns: nothing.    Fails: never.
 */
AFC_API void afc_reach_monitor_get_state(const afc_reach_monitor *monitor, afc_reachability *out);

/**
 * Stops and frees a monitor. Never blocks: if on_change is in progress, `release` is called after it, on the
 * monitors' thread. NULL is allowed.
 *
 * Thread: any, also inside callbacks.    Owns: takes `monitor`.    Fails: never.
 */
AFC_API void afc_reach_monitor_free(afc_reach_monitor *monitor);

/**
 * Returns AFNetworking's English text for a status: "Not Reachable", "Reachable via WWAN", "Reachable
 * via WiFi", otherwise "Unknown".
 *
 * Thread: any.    Owns: borrowed, static.    Fails: never.
 */
AFC_API const char *afc_reach_status_text(afc_reach_status status);

AFC_END_DECLS

#endif
