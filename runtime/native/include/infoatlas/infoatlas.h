/* libinfoatlas: mutual information and key states in a control loop, without Python.
 *
 * Each function returns a status; results are written through pointers. If a call fails, what it
 * would have written is unchanged, and infoatlas_last_error() has the reason and the way out. No
 * C++ exception leaves the library.
 *
 * Arrays are float64, row-major, contiguous, and the caller's. They are not kept after a call.
 */
#ifndef INFOATLAS_INFOATLAS_H
#define INFOATLAS_INFOATLAS_H

#include <stddef.h>
#include <stdint.h>

#define INFOATLAS_VERSION "0.2.0"

#if defined(__GNUC__)
#define INFOATLAS_API __attribute__((visibility("default")))
#else
#define INFOATLAS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum infoatlas_status {
  INFOATLAS_OK = 0,
  INFOATLAS_NONE = 1,         /* there is no result yet, which is no error */
  INFOATLAS_INPUT_ERROR = 2,  /* an argument cannot be used */
  INFOATLAS_FILE_ERROR = 3,   /* a file cannot be used, or a model has values that are not finite */
  INFOATLAS_MEMORY_ERROR = 4, /* memory is short */
  INFOATLAS_FAULT = 5         /* a defect of this library: please report it */
} infoatlas_status;

/* Version of the library in use, as INFOATLAS_VERSION; releases with the same first two numbers
 * have the same functions. */
INFOATLAS_API const char *infoatlas_version(void);

/* Why the last failed call of this thread failed; empty if none did. Valid until the next one. */
INFOATLAS_API const char *infoatlas_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
