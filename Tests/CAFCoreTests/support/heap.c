#include "support/heap.h"

#include "support/check.h"

#include <malloc.h>

size_t heap_in_use(void) {
#if HAS_ADDRESS_SANITIZER || HAS_THREAD_SANITIZER || !defined(__GLIBC__)
    return 0;
#else
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
#endif
}
