/* Copyright 2026 The proemlc_ros Authors
 * SPDX-License-Identifier: Apache-2.0
 *
 * Loaded before the C library (LD_PRELOAD): lets one call that changes files fail, or end the
 * process there. Only calls of the thread that has armed it count.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

static __thread int armed;
static __thread long left, calls;
static int error_number, lasting;

/* nth: which call fails, from 1 on; error: errno, 0 ends the process; stays: all after it too. */
void faults_arm(long nth, int error, int stays) {
  left = nth, error_number = error, lasting = stays, calls = 0, armed = 1;
}

long faults_disarm(void) {
  armed = 0;
  return calls;
}

static int due(void) {
  if (!armed) return 0;
  ++calls;
  --left;
  if (left > 0 || (left < 0 && !lasting)) return 0;
  if (!error_number) _exit(77);
  errno = error_number;
  return 1;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRAP(result, name, parameters, arguments) \
  result name parameters { return due() ? -1 : REAL(name) arguments; }

WRAP(int, fsync, (int file), (file))
WRAP(int, fdatasync, (int file), (file))
WRAP(int, ftruncate, (int file, off_t size), (file, size))
WRAP(int, ftruncate64, (int file, off64_t size), (file, size))
WRAP(int, truncate, (const char *path, off_t size), (path, size))
WRAP(int, truncate64, (const char *path, off64_t size), (path, size))
WRAP(int, rename, (const char *from, const char *to), (from, to))
WRAP(int, link, (const char *from, const char *to), (from, to))
WRAP(int, unlink, (const char *path), (path))
WRAP(int, mkdir, (const char *path, mode_t mode), (path, mode))
WRAP(ssize_t, pwrite, (int file, const void *data, size_t size, off_t at), (file, data, size, at))
WRAP(ssize_t, pwrite64, (int file, const void *data, size_t size, off64_t at),
     (file, data, size, at))
WRAP(ssize_t, write, (int file, const void *data, size_t size), (file, data, size))

#define WRAP_OPEN(name)                                                     \
  int name(const char *path, int flags, ...) {                              \
    va_list more;                                                           \
    va_start(more, flags);                                                  \
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(more, mode_t) : 0; \
    va_end(more);                                                           \
    if ((flags & (O_WRONLY | O_RDWR | O_CREAT)) && due()) return -1;        \
    return REAL(name)(path, flags, mode);                                   \
  }

WRAP_OPEN(open)
WRAP_OPEN(open64)
