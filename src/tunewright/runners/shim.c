/* Runs one kernel inside an isolated process: buffers, verification call, timed calls, and a record of what
   went wrong. Compiled once for each task together with a generated header that defines
       static void tw_call(void *entry, void **a);
   which calls the entry function with its own signature. Everything shared with the Python side is an array
   of 64-bit integers; the numbers of the slots are those of native.py. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>
#include <fcntl.h>

#include "tw_call.h"

enum { SCALAR, IN, OUT, INOUT };
enum { /* stages */
    S_START, S_LOADING, S_PREPARING, S_VERIFYING, S_WAITING, S_WARMING, S_TIMING, S_COPYING, S_DONE
};
enum { /* slots of the status page */
    P_STAGE, P_SIGNAL, P_CODE, P_ADDRESS, P_ACCESS, P_ARRAY, P_SIDE, P_SYSCALL, P_SPACE, P_STACK,
    P_SAMPLES, P_CALLS, P_CANARY_ARRAY, P_CANARY_SIDE, P_ERROR, P_CUT
};
enum { /* slots of the job */
    J_ARGS, J_PRISTINE_FD, J_OUTPUT_FD, J_STATUS_FD, J_CHANNEL, J_PRISTINE, J_OUTPUT, J_STATUS,
    J_WARMUP, J_MIN, J_MAX, J_SAMPLING_NS, J_BATCH_NS, J_GUARD, J_DEADLINE_NS,
    J_PRECISION_PPM, /* half the interval of the median, in millionths of it, at which sampling ends */
    J_CUT_NS         /* a call that takes longer ends sampling at once; 0 for never */
};
enum { /* columns of an argument's row */
    A_KIND, A_BYTES, A_FROM, A_TO, A_POISON, A_POISON_AGAIN, A_COLUMNS
};
enum { TEXT_AT = 512, TEXT_BYTES = 512, SAMPLES_AT = 1024, MAX_ARGS = 64, MAX_CALLS = 4096, SINGLE_CALLS = 16 };
#define CANARY 0xC5

struct region {
    unsigned char *low, *start, *end, *high; /* guard | slack | start..end | slack | guard */
    size_t guard;
};

static volatile int64_t *page;
static struct region regions[MAX_ARGS];


static void fail(const char *text)
{
    snprintf((char *)page + TEXT_AT, TEXT_BYTES, "%s", text ? text : "unknown");
    page[P_ERROR] = 1;
    _exit(121);
}

/* 1 read, 2 write, 0 unknown */
static int access_kind(const ucontext_t *context)
{
#if defined(__x86_64__)
    return context->uc_mcontext.gregs[REG_ERR] & 2 ? 2 : 1;
#elif defined(__aarch64__)
    const unsigned char *record = (const unsigned char *)context->uc_mcontext.__reserved;
    for (int i = 0; i < 64; i++) {
        uint32_t magic, size;
        memcpy(&magic, record, 4);
        memcpy(&size, record + 4, 4);
        if (magic == 0 || size < 8)
            return 0;
        if (magic == 0x45535201) {
            uint64_t esr;
            memcpy(&esr, record + 8, 8);
            return esr >> 6 & 1 ? 2 : 1;
        }
        record += size;
    }
    return 0;
#else
    (void)context;
    return 0;
#endif
}

static uintptr_t stack_pointer(const ucontext_t *context)
{
#if defined(__x86_64__)
    return (uintptr_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return (uintptr_t)context->uc_mcontext.sp;
#else
    (void)context;
    return 0;
#endif
}

static int64_t pages_mapped(void)
{
    char text[64];
    int64_t pages = 0;
    int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    for (ssize_t i = 0; i < n && text[i] >= '0' && text[i] <= '9'; i++)
        pages = pages * 10 + text[i] - '0';
    if (fd >= 0)
        close(fd);
    return pages;
}

static void on_signal(int number, siginfo_t *info, void *where)
{
    if (page[P_SIGNAL] == 0) {
        const ucontext_t *context = where;
        page[P_SIGNAL] = number;
        page[P_CODE] = info->si_code;
        page[P_SPACE] = pages_mapped();
        if (number == SIGSYS)
            page[P_SYSCALL] = info->si_syscall;
        if (number == SIGSEGV || number == SIGBUS) {
            unsigned char *address = info->si_addr;
            uintptr_t a = (uintptr_t)address, sp = stack_pointer(context);
            page[P_ADDRESS] = (int64_t)a;
            page[P_ACCESS] = access_kind(context);
            page[P_STACK] = info->si_code > 0 && a + 65536 >= sp && a < sp + (1 << 20);
            for (int i = 0; i < MAX_ARGS; i++) {
                const struct region *r = &regions[i];
                if (r->low == 0 || address < r->low || address >= r->high)
                    continue;
                page[P_ARRAY] = i + 1;
                page[P_SIDE] = address < r->start ? -1 : address >= r->end ? 1 : 0;
                page[P_STACK] = 0;
            }
        }
    }
    signal(number, SIG_DFL);
    raise(number);
}

static void watch_signals(void)
{
    static const int numbers[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGSYS, SIGABRT, SIGTRAP};
    stack_t stack = {0};
    struct sigaction action;
    stack.ss_size = 65536;
    stack.ss_sp = mmap(0, stack.ss_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stack.ss_sp != MAP_FAILED)
        sigaltstack(&stack, 0);
    memset(&action, 0, sizeof action);
    action.sa_sigaction = on_signal;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        sigaction(numbers[i], &action, 0);
}

/* Anonymous memory between inaccessible stretches; the array's end is as close to the upper one as its
   alignment of 64 bytes allows. */
static void allocate(struct region *r, size_t bytes, size_t guard)
{
    size_t unit = (size_t)sysconf(_SC_PAGESIZE), padded = (bytes + 63) / 64 * 64;
    size_t body = (padded + unit - 1) / unit * unit;
    unsigned char *low = mmap(0, guard + body + guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (low == MAP_FAILED || mprotect(low + guard, body, PROT_READ | PROT_WRITE))
        fail("no memory for the kernel's arrays");
    r->guard = guard;
    r->high = low + guard + body + guard;
    r->start = low + guard + body - padded;
    r->end = r->start + bytes;
#ifdef MADV_POPULATE_WRITE
    madvise(low + guard, body, MADV_POPULATE_WRITE); /* only faster; older kernels refuse */
#endif
    memset(low + guard, CANARY, (size_t)(r->start - (low + guard)));
    memset(r->end, CANARY, padded - bytes);
    r->low = low; /* last: a region is looked at only when complete */
}

static void check_canaries(int n, const int64_t (*rows)[A_COLUMNS])
{
    for (int i = 0; i < n; i++) {
        const struct region *r = &regions[i];
        if (rows[i][A_KIND] == SCALAR || page[P_CANARY_ARRAY])
            continue;
        for (const unsigned char *p = r->low + r->guard; p < r->start; p++)
            if (*p != CANARY) {
                page[P_CANARY_ARRAY] = i + 1;
                page[P_CANARY_SIDE] = -1;
            }
        for (const unsigned char *p = r->end; p < r->high - r->guard; p++)
            if (*p != CANARY) {
                page[P_CANARY_ARRAY] = i + 1;
                page[P_CANARY_SIDE] = 1;
            }
    }
}

static void restore(int n, const int64_t (*rows)[A_COLUMNS], const unsigned char *pristine, int again)
{
    for (int i = 0; i < n; i++)
        if (rows[i][A_KIND] == OUT)
            memset(regions[i].start, (int)rows[i][again ? A_POISON_AGAIN : A_POISON], (size_t)rows[i][A_BYTES]);
        else if (rows[i][A_KIND] == INOUT)
            memcpy(regions[i].start, pristine + rows[i][A_FROM], (size_t)rows[i][A_BYTES]);
}

static void hand_over(int n, const int64_t (*rows)[A_COLUMNS], unsigned char *output)
{
    for (int i = 0; i < n; i++)
        if (rows[i][A_KIND] == OUT || rows[i][A_KIND] == INOUT)
            memcpy(output + rows[i][A_TO], regions[i].start, (size_t)rows[i][A_BYTES]);
    check_canaries(n, rows);
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    if (clock_gettime(clock, &t))
        return 0;
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int tell(int channel, char word)
{
    char answer = 0;
    ssize_t n;
    do
        n = write(channel, &word, 1);
    while (n < 0 && errno == EINTR);
    if (n != 1)
        return 0;
    do
        n = read(channel, &answer, 1);
    while (n < 0 && errno == EINTR);
    return n == 1 ? answer : 0;
}

/* Are the results of the last call those that were found right? The output area holds these. */
static int as_verified(int n, const int64_t (*rows)[A_COLUMNS], const unsigned char *output)
{
    for (int i = 0; i < n; i++)
        if ((rows[i][A_KIND] == OUT || rows[i][A_KIND] == INOUT) &&
            memcmp(output + rows[i][A_TO], regions[i].start, (size_t)rows[i][A_BYTES]))
            return 0;
    return 1;
}

/* Compare the results of the last call; where a bit differs from the verified ones the controller decides. */
static int still_right(const int64_t *job, const int64_t (*rows)[A_COLUMNS], unsigned char *output)
{
    int n = (int)job[J_ARGS];
    int64_t stage = page[P_STAGE];
    if (as_verified(n, rows, output))
        return 1;
    page[P_STAGE] = S_COPYING;
    hand_over(n, rows, output);
    page[P_STAGE] = S_WAITING;
    if (tell((int)job[J_CHANNEL], 'C') != 'T')
        return 0;
    page[P_STAGE] = stage;
    return 1;
}

/* Put a sample where it belongs among n sorted ones; then half the width of the 95 % interval of the median, from
   order statistics and the normal approximation of their ranks, as a share of the median. */
static double uncertainty(double *sorted, int64_t n, double sample)
{
    int64_t at = n++, rank = 0;
    for (; at > 0 && sorted[at - 1] > sample; at--)
        sorted[at] = sorted[at - 1];
    sorted[at] = sample;
    while ((double)(n - 2 * rank - 2) * (n - 2 * rank - 2) >= 1.96 * 1.96 * (double)n && 2 * rank + 2 < n)
        rank++;
    double low = sorted[rank], high = sorted[n - 1 - rank], middle = sorted[n / 2];
    return middle > 0 ? (high - low) / 2 / middle : 1;
}

/* Samples until the median is known well enough, the time is over, or another one would pass the deadline.
   Results that differ from the verified ones in any bit are shown to the controller, which may end the job.
   last_ns: what a call took. */
static void time_kernel(const int64_t *job, const int64_t (*rows)[A_COLUMNS], void *entry, void **arguments,
                        const unsigned char *pristine, unsigned char *output, int64_t deadline, int64_t last_ns)
{
    int n = (int)job[J_ARGS];
    int64_t calls = 1, most = job[J_MAX];
    volatile double *wall = (volatile double *)((char *)page + SAMPLES_AT), *cpu = wall + most;
    double *sorted = mmap(0, (size_t)most * sizeof(double), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sorted == MAP_FAILED)
        fail("no memory for the samples");

    page[P_STAGE] = S_WARMING;
    int64_t now = clock_ns(CLOCK_MONOTONIC), warm_until = now + (deadline - now) / 4;
    int64_t warmup = job[J_CUT_NS] && last_ns > job[J_CUT_NS] ? 0 : job[J_WARMUP];
    for (int64_t i = 0; i < warmup && clock_ns(CLOCK_MONOTONIC) + last_ns < warm_until; i++) {
        restore(n, rows, pristine, 1);
        tw_call(entry, arguments);
    }
    while (last_ns < 1000 * job[J_BATCH_NS] && calls < MAX_CALLS) { /* enough calls that the clock's grain does not show */
        int64_t start = clock_ns(CLOCK_MONOTONIC);
        for (int64_t i = 0; i < calls; i++)
            tw_call(entry, arguments);
        if (clock_ns(CLOCK_MONOTONIC) - start >= job[J_BATCH_NS])
            break;
        calls *= 2;
    }
    page[P_CALLS] = calls;
    for (int i = 0; calls > 1 && i < SINGLE_CALLS; i++) { /* samples of many calls show the last one's results only */
        restore(n, rows, pristine, 1);
        tw_call(entry, arguments);
        if (!still_right(job, rows, output))
            return;
    }

    page[P_STAGE] = S_TIMING;
    int64_t begin = clock_ns(CLOCK_MONOTONIC);
    for (int64_t s = 0; s < most; s++) {
        restore(n, rows, pristine, 1);
        int64_t cpu_start = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        int64_t start = clock_ns(CLOCK_MONOTONIC);
        for (int64_t i = 0; i < calls; i++)
            tw_call(entry, arguments);
        int64_t end = clock_ns(CLOCK_MONOTONIC);
        int64_t cpu_end = clock_ns(CLOCK_THREAD_CPUTIME_ID);
        wall[s] = (double)(end - start) / (double)calls;
        cpu[s] = (double)(cpu_end - cpu_start) / (double)calls;
        page[P_SAMPLES] = s + 1;
        int64_t shown = clock_ns(CLOCK_MONOTONIC);
        if (!still_right(job, rows, output))
            return;
        begin += clock_ns(CLOCK_MONOTONIC) - shown; /* looking at it is not sampling */
        if (job[J_CUT_NS] && wall[s] > (double)job[J_CUT_NS]) {
            page[P_CUT] = 1;
            break;
        }
        int enough = uncertainty(sorted, s, wall[s]) * 1e6 <= (double)job[J_PRECISION_PPM];
        if (s + 1 >= job[J_MIN] && (enough || end - begin >= job[J_SAMPLING_NS]))
            break;
        if (end + (end - start) > deadline)
            break;
    }
}

/* The whole job; returns 0 when it went to its end. */
int tw_run(const int64_t *job, const int64_t (*rows)[A_COLUMNS], const char *library, const char *symbol)
{
    int n = (int)job[J_ARGS], channel = (int)job[J_CHANNEL];
    void *arguments[MAX_ARGS];
    const unsigned char *pristine = 0;
    unsigned char *output = 0;

    int64_t deadline = clock_ns(CLOCK_MONOTONIC) + job[J_DEADLINE_NS];
    page = mmap(0, (size_t)job[J_STATUS], PROT_READ | PROT_WRITE, MAP_SHARED, (int)job[J_STATUS_FD], 0);
    if (page == MAP_FAILED)
        return 1;
    watch_signals();

    page[P_STAGE] = S_PREPARING;
    if (job[J_PRISTINE]) {
        pristine = mmap(0, (size_t)job[J_PRISTINE], PROT_READ, MAP_SHARED | MAP_POPULATE, (int)job[J_PRISTINE_FD], 0);
        if (pristine == MAP_FAILED)
            fail("no memory to map the inputs");
    }
    if (job[J_OUTPUT]) {
        output = mmap(0, (size_t)job[J_OUTPUT], PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE,
                      (int)job[J_OUTPUT_FD], 0);
        if (output == MAP_FAILED)
            fail("no memory to map the outputs");
    }
    for (int i = 0; i < n; i++) {
        struct region *r = &regions[i];
        if (rows[i][A_KIND] == SCALAR) {
            arguments[i] = (void *)&rows[i][A_BYTES];
            continue;
        }
        allocate(r, (size_t)rows[i][A_BYTES], (size_t)job[J_GUARD]);
        arguments[i] = r->start;
        if (rows[i][A_KIND] == IN) {
            unsigned char *body = r->low + r->guard;
            memcpy(r->start, pristine + rows[i][A_FROM], (size_t)rows[i][A_BYTES]);
            mprotect(body, (size_t)(r->high - r->guard - body), PROT_READ);
        }
    }

    page[P_STAGE] = S_LOADING;
    void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    if (!handle)
        fail(dlerror());
    void *entry = dlsym(handle, symbol);
    if (!entry)
        fail(dlerror());

    page[P_STAGE] = S_VERIFYING;
    restore(n, rows, pristine, 0);
    int64_t start = clock_ns(CLOCK_MONOTONIC);
    tw_call(entry, arguments);
    int64_t last_ns = clock_ns(CLOCK_MONOTONIC) - start;
    page[P_STAGE] = S_COPYING;
    hand_over(n, rows, output);
    page[P_STAGE] = S_WAITING;
    if (tell(channel, 'V') != 'T') {
        page[P_STAGE] = S_DONE;
        return 0;
    }
    time_kernel(job, rows, entry, arguments, pristine, output, deadline, last_ns);
    page[P_STAGE] = S_COPYING;
    hand_over(n, rows, output);
    page[P_STAGE] = S_DONE;
    tell(channel, 'D');
    return 0;
}
