#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define KEPT __attribute__((noinline, noclone))

static jmp_buf back;
static pthread_barrier_t both;
static volatile int sink;

KEPT static int factorial(int n) {
    if (n < 2) return 1;
    int below = factorial(n - 1);
    sink += below;
    return n * below;
}

KEPT static void jumps(int n) {
    if (n == 0) {
        if (sink >= 0) longjmp(back, 1);
        return;
    }
    jumps(n - 1);
    sink++;
}

KEPT static void catches(int n) {
    if (n > 0) {
        catches(n - 1);
        sink++;
        return;
    }
    if (setjmp(back) == 0) jumps(2);
    factorial(1);
}

KEPT static int compare(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

KEPT static void sorts(void) {
    int two[2] = {2, 1};
    qsort(two, 2, sizeof *two, compare);
    sink += two[0];
}

KEPT static void *works(void *argument) {
    pthread_barrier_wait(&both);
    factorial(argument ? 3 : 2);
    pthread_barrier_wait(&both);
    return NULL;
}

KEPT static void forks(void) {
    pid_t child = fork();
    if (child == 0) {
        factorial(5);
        exit(0);
    }
    waitpid(child, NULL, 0);
}

KEPT static void leaves(void) {
    exit(3);
}

int main(void) {
    pthread_t threads[2];
    factorial(3);
    catches(1);
    sorts();
    pthread_barrier_init(&both, NULL, 2);
    for (long i = 0; i < 2; i++) pthread_create(&threads[i], NULL, works, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    forks();
    for (int i = 0; i < 40000; i++) factorial(2);
    leaves();
}
