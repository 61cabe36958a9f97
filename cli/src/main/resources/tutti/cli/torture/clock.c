/*
 * A clock of a process's own: loaded before the C library (LD_PRELOAD), it adds to the time of day as many seconds as the file
 * TUTTI_CLOCK says, a signed number of eight bytes which may change at any time. Durations, which are of the monotonic clock, stay true. Who
 * waits until a time of day waits by this clock as it is when the wait begins.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *seconds;
static int (*right_clock)(clockid_t, struct timespec *);
static int (*right_wait)(sem_t *, const struct timespec *);
static int (*right_condition)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);

/* No monotonic clock, which counts from a machine's start, has come so far. */
#define TIMES_OF_DAY_BEGIN 1000000000

__attribute__((constructor)) static void begin(void) {
  const char *file = getenv("TUTTI_CLOCK");
  int opened = file ? open(file, O_RDONLY | O_CLOEXEC) : -1;
  right_wait = (int (*)(sem_t *, const struct timespec *)) dlsym(RTLD_NEXT, "sem_timedwait");
  void *condition = dlvsym(RTLD_NEXT, "pthread_cond_timedwait", "GLIBC_2.3.2");
  if (!condition) condition = dlsym(RTLD_NEXT, "pthread_cond_timedwait");
  right_condition = (int (*)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *)) condition;
  right_clock = (int (*)(clockid_t, struct timespec *)) dlsym(RTLD_NEXT, "clock_gettime");
  if (opened >= 0) {
    void *mapped = mmap(0, sizeof *seconds, PROT_READ, MAP_SHARED, opened, 0);
    if (mapped != MAP_FAILED) seconds = mapped;
    close(opened);
  }
}

static int64_t wrong_by(void) {
  return seconds ? *seconds : 0;
}

int clock_gettime(clockid_t clock, struct timespec *to) {
  if (!right_clock) begin();
  int failed = right_clock(clock, to);
  if (!failed && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) to->tv_sec += wrong_by();
  return failed;
}

int gettimeofday(struct timeval *restrict to, void *restrict zone) {
  struct timespec now;
  (void) zone;
  if (clock_gettime(CLOCK_REALTIME, &now)) return -1;
  to->tv_sec = now.tv_sec;
  to->tv_usec = now.tv_nsec / 1000;
  return 0;
}

time_t time(time_t *to) {
  struct timespec now;
  if (clock_gettime(CLOCK_REALTIME, &now)) return (time_t) -1;
  if (to) *to = now.tv_sec;
  return now.tv_sec;
}

int sem_timedwait(sem_t *semaphore, const struct timespec *until) {
  struct timespec then = *until;
  if (!right_wait) begin();
  then.tv_sec -= wrong_by();
  return right_wait(semaphore, &then);
}

int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, const struct timespec *restrict until) {
  struct timespec then = *until;
  if (!right_condition) begin();
  if (then.tv_sec > TIMES_OF_DAY_BEGIN) then.tv_sec -= wrong_by();
  return right_condition(condition, mutex, &then);
}
