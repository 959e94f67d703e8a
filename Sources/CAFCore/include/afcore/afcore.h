/**
 * Includes every public header of libafcore.
 */
#ifndef AFCORE_H
#define AFCORE_H

#include <afcore/auth.h>
#include <afcore/base.h>
#include <afcore/cookie.h>
#include <afcore/error.h>
#include <afcore/hsts.h>
#include <afcore/http_cache.h>
#include <afcore/lru.h>
#include <afcore/message.h>
#include <afcore/multipart.h>
#include <afcore/network.h>
#include <afcore/proxy.h>
#include <afcore/reachability.h>
#include <afcore/request.h>
#include <afcore/result.h>
#include <afcore/resume.h>
#include <afcore/session.h>
#include <afcore/task.h>
#include <afcore/tls.h>
#include <afcore/trace.h>
#include <afcore/trust.h>
#include <afcore/url.h>
#include <afcore/version.h>
#include <afcore/websocket.h>

#endif
