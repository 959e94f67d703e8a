#include "internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool equal_or_both_null(const char *a, const char *b) {
    return a && b ? strcmp(a, b) == 0 : a == b;
}

static void free_route(afts__route *route) {
    afts_script_release(route->script);
    free(route->method);
    free(route->path);
    free(route);
}

static afts__route *make_route(const char *method, const char *path, size_t times,
                               afts_script *script) {
    afts__route *route = calloc(1, sizeof *route);
    if (!route) {
        afts_script_release(script);
        return NULL;
    }
    route->script = script;
    route->times = times;
    route->path_len = strlen(path);
    route->prefix = route->path_len > 0 && path[route->path_len - 1] == '*';
    route->path = afts__copy(path, route->path_len);
    route->method = method ? afts__copy(method, strlen(method)) : NULL;
    if (!route->path || (method && !route->method)) {
        free_route(route);
        return NULL;
    }
    route->path_len -= route->prefix ? 1 : 0;
    return route;
}

// Appends `route` and takes out an unlimited one that it replaces. Lock held.
static afts__route *insert(afts_server *server, afts__route *route) {
    afts__route *replaced = NULL;
    afts__route **end = &server->routes;
    while (*end) {
        afts__route *other = *end;
        if (!replaced && route->times == SIZE_MAX && other->times == SIZE_MAX &&
            strcmp(other->path, route->path) == 0 &&
            equal_or_both_null(other->method, route->method)) {
            replaced = other;
            *end = other->next;
        } else {
            end = &other->next;
        }
    }
    *end = route;
    return replaced;
}

int afts_route_times(afts_server *server, const char *method, const char *path, size_t times,
                     afts_script *script) {
    if (!script || script->broken || !path) {
        afts_script_release(script);
        return path ? -ENOMEM : -EINVAL;
    }
    afts__route *route = make_route(method, path, times, script);
    if (!route) {
        return -ENOMEM;
    }
    pthread_mutex_lock(&server->lock);
    afts__route *replaced = insert(server, route);
    pthread_mutex_unlock(&server->lock);
    if (replaced) {
        free_route(replaced);
    }
    return 0;
}

int afts_route(afts_server *server, const char *method, const char *path, afts_script *script) {
    return afts_route_times(server, method, path, SIZE_MAX, script);
}

int afts_fallback(afts_server *server, afts_script *script) {
    if (!script || script->broken) {
        afts_script_release(script);
        return -ENOMEM;
    }
    pthread_mutex_lock(&server->lock);
    afts_script *previous = server->fallback;
    server->fallback = script;
    pthread_mutex_unlock(&server->lock);
    afts_script_release(previous);
    return 0;
}

static int add_hook(afts_server *server, size_t index, bool before_tls, afts_script *script) {
    afts__hook *hook = script && !script->broken ? calloc(1, sizeof *hook) : NULL;
    if (!hook) {
        afts_script_release(script);
        return -ENOMEM;
    }
    hook->index = index;
    hook->before_tls = before_tls;
    hook->script = script;
    pthread_mutex_lock(&server->lock);
    hook->next = server->hooks;
    server->hooks = hook;
    pthread_mutex_unlock(&server->lock);
    return 0;
}

int afts_on_accept(afts_server *server, size_t index, afts_script *script) {
    return add_hook(server, index, true, script);
}

int afts_on_connection(afts_server *server, size_t index, afts_script *script) {
    return add_hook(server, index, false, script);
}

// The target without scheme, authority and query.
static const char *path_of(const char *target, size_t *len) {
    const char *scheme = strstr(target, "://");
    const char *path = target;
    if (target[0] != '/' && scheme) {
        path = scheme + 3 + strcspn(scheme + 3, "/?");
    }
    *len = strcspn(path, "?");
    return path;
}

static bool matches(const afts__route *route, const char *method, const char *path, size_t len) {
    if (route->times == 0 || (route->method && strcmp(route->method, method) != 0)) {
        return false;
    }
    bool fits = route->prefix ? len >= route->path_len : len == route->path_len;
    return fits && memcmp(route->path, path, route->path_len) == 0;
}

// Whether `a` says more than `b`; of two that say the same the earlier one is kept.
static bool more_specific(const afts__route *a, const afts__route *b) {
    if (a->prefix != b->prefix) {
        return b->prefix;
    }
    if (a->path_len != b->path_len) {
        return a->path_len > b->path_len;
    }
    if (!a->method != !b->method) {
        return a->method != NULL;
    }
    return a->times != SIZE_MAX && b->times == SIZE_MAX;
}

afts_script *afts__script_for_request(afts_server *server, const afts_request *request) {
    size_t len;
    const char *path = path_of(request->target, &len);
    pthread_mutex_lock(&server->lock);
    afts__route *best = NULL;
    for (afts__route *route = server->routes; route; route = route->next) {
        if (matches(route, request->method, path, len) && (!best || more_specific(route, best))) {
            best = route;
        }
    }
    if (best && best->times != SIZE_MAX) {
        best->times--;
    }
    afts_script *script = afts_script_retain(best ? best->script : server->fallback);
    pthread_mutex_unlock(&server->lock);
    return script;
}

afts_script *afts__script_for_connection(afts_server *server, size_t index, bool before_tls) {
    pthread_mutex_lock(&server->lock);
    afts__hook *best = NULL;
    for (afts__hook *hook = server->hooks; hook; hook = hook->next) {
        bool fits = hook->index == index || hook->index == AFTS_EVERY_CONNECTION;
        if (hook->before_tls == before_tls && fits && (!best || best->index > hook->index)) {
            best = hook;
        }
    }
    afts_script *script = afts_script_retain(best ? best->script : NULL);
    pthread_mutex_unlock(&server->lock);
    return script;
}

void afts__free_routes(afts_server *server) {
    while (server->routes) {
        afts__route *route = server->routes;
        server->routes = route->next;
        free_route(route);
    }
    while (server->hooks) {
        afts__hook *hook = server->hooks;
        server->hooks = hook->next;
        afts_script_release(hook->script);
        free(hook);
    }
    afts_script_release(server->fallback);
}
