/* A kernel that should compute c = 2 a, and many ways not to. One macro chooses. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef COMPILE_ERROR
#error this configuration is not supported
#endif
#ifdef COMPILE_MEMORY
#include "/dev/zero"
#endif
#if defined COMPILE_ENDLESS && __INCLUDE_LEVEL__ < 60
#include __FILE__
#include __FILE__
#elif !defined ONCE
#define ONCE

static volatile int zero;
static volatile int *volatile nowhere;

static void rest(void)
{
    for (;;)
        sleep(1);
}

#ifdef STACK_OVERFLOW
static int deeper(volatile char *above)
{
    volatile char frame[4096];
    frame[0] = above[0];
    return deeper(frame) + frame[0];
}
#endif

#ifdef PTHREAD
static void *half(void *a)
{
    float **pair = a;
    for (int i = 0; i < 500; i++)
        pair[1][i] = 2 * pair[0][i];
    return 0;
}
#endif

#ifdef CONSTRUCTOR
__attribute__((constructor)) static void early(void) { *nowhere = 1; }
#endif

#ifdef NO_ENTRY
#define kernel another_name
#endif

void kernel(const float *a, float *c, int n)
{
    static int calls;
    int from = 0;
    calls++;
#if defined NULL_WRITE
    *nowhere = 1;
#elif defined ENDLESS
    for (;;)
        zero = 0;
#elif defined NO_OUTPUT
    return;
#elif defined PARTIAL
    n -= 10;
#elif defined HUGE_PRINT
    for (;;)
        printf("a line of text that says nothing\n");
#elif defined HUGE_FILE
    static char block[65536];
    int fd = open("large.tmp", O_CREAT | O_WRONLY, 0600);
    for (;;)
        if (write(fd, block, sizeof block) < 0)
            break;
#elif defined FORK
    if (fork() == 0)
        rest();
#elif defined DOUBLE_FORK
    if (fork() == 0) {
        setsid();
        if (fork() == 0) {
            setsid();
            signal(SIGTERM, SIG_IGN);
            rest();
        }
        _exit(0);
    }
#elif defined FORK_BOMB
    for (;;)
        fork();
#elif defined FORK_SOME
    for (int i = 0; i < 20; i++)
        if (fork() == 0) {
            setsid();
            if (fork() == 0)
                for (;;)
                    zero = 0;
            rest();
        }
#elif defined EXEC
    execl("/bin/sh", "sh", "-c", "true", (char *)0);
#elif defined SOCKET
    socket(AF_INET, SOCK_STREAM, 0);
#elif defined MEMORY_HOG
    for (;;) {
        volatile char *block = malloc(1 << 20);
        for (int i = 0; i < 1 << 20; i += 4096)
            block[i] = 1;
    }
#elif defined ABORT
    abort();
#elif defined TERMINATE
    fputs("terminate called after throwing an instance of 'std::logic_error'\n", stderr);
    abort();
#elif defined STACK_OVERFLOW
    char top = 0;
    zero = deeper(&top);
#elif defined EXIT_0
    exit(0);
#elif defined EXIT_3
    exit(3);
#elif defined PAST_END
    for (int i = n; i < n + 4096; i++)
        c[i] = 1;
#elif defined JUST_PAST_END
    c[n] = 1;
#elif defined BEFORE_START
    c[-1] = 1;
#elif defined READ_PAST_END
    for (int i = n; i < n + 4096; i++)
        c[0] += a[i];
#elif defined WRITE_INPUT
    ((float *)a)[3] = 1;
#elif defined KILL_PARENT
    kill(getppid(), SIGKILL);
    rest();
#elif defined KILL_ALL
    kill(-1, SIGKILL);
#elif defined CLOSE_FDS
    for (int i = 0; i < 256; i++)
        close(i);
    for (;;)
        zero = 0;
#elif defined DIVIDE
    zero = 7 / zero;
#elif defined ILLEGAL
#if defined __x86_64__
    __asm__ volatile("ud2");
#else
    __builtin_trap();
#endif
#elif defined DEAF
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_BLOCK, &all, 0);
    signal(SIGTERM, SIG_IGN);
    signal(SIGSEGV, SIG_IGN);
    rest();
#elif defined STOP
    raise(SIGSTOP);
#elif defined WRONG
    from = 7;
    for (int i = 0; i < 7; i++)
        c[i] = 3 * a[i] + 1;
#elif defined WRONG_LATER
    if (calls > 1)
        n -= 1, c[n] = 0;
#elif defined NANS
    from = 1;
    c[0] = sqrtf(-1 - a[0]);
#elif defined PTHREAD
    float *pair[2] = {(float *)a, c};
    pthread_t thread;
    if (pthread_create(&thread, 0, half, pair))
        return;
    pthread_join(thread, 0);
    from = 500;
#endif
    for (int i = from; i < n; i++)
        c[i] = 2 * a[i];
}

void expected(const float *a, float *c, int n)
{
    for (int i = 0; i < n; i++)
        c[i] = a[i] + a[i];
}
#endif
