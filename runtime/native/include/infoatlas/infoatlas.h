/* libinfoatlas: mutual information and key states in a control loop, without Python.
 *
 * Each function returns a status; results are written through pointers. If a call fails, what it
 * would have written is unchanged, and infoatlas_last_error() has the reason and the way out. No
 * C++ exception leaves the library.
 *
 * Arrays are float64, row-major, contiguous, and the caller's. They are not kept after a call.
 *
 * A structure begins with its size, so that later versions can add fields: in C, begin with
 * `infoatlas_settings settings = INFOATLAS_INIT(infoatlas_settings);`. In C++ the size is set.
 * Fields that an older program does not have are read as 0, and are not written.
 *
 * Only functions that make a handle allocate memory (..._load, ..._read, ..._new); a refusal
 * allocates none. Beside each function:
 *
 *   Real time  yes: it allocates nothing, takes no lock, makes no system call, and its time has a
 *              bound that depends only on the sizes of its handle. If not, why.
 *   Threads    any: calls may overlap, also for one handle. one: one thread at a time for a handle.
 *   Cost       what its time grows with. Times are medians on one core of a shared x86-64 host.
 */
#ifndef INFOATLAS_INFOATLAS_H
#define INFOATLAS_INFOATLAS_H

#include <stddef.h>
#include <stdint.h>

#define INFOATLAS_VERSION "0.3.0"

#if defined(__GNUC__)
#define INFOATLAS_API __attribute__((visibility("default")))
#else
#define INFOATLAS_API
#endif

/* A result that has to be used; compilers warn otherwise. */
#if (defined(__cplusplus) && __cplusplus >= 201703L) || \
    (defined(__STDC_VERSION__) && __STDC_VERSION__ >= 202311L)
#define INFOATLAS_NODISCARD [[nodiscard]]
#elif defined(__GNUC__)
#define INFOATLAS_NODISCARD __attribute__((warn_unused_result))
#else
#define INFOATLAS_NODISCARD
#endif
#define INFOATLAS_CHECKED INFOATLAS_NODISCARD INFOATLAS_API

/* The size of a structure, and zeros. */
#ifdef __cplusplus
#define INFOATLAS_SIZE(type) size_t struct_size = sizeof(type)
#define INFOATLAS_INIT(type) {}
#else
#define INFOATLAS_SIZE(type) size_t struct_size
#define INFOATLAS_INIT(type) {.struct_size = sizeof(type)}
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum infoatlas_status {
  INFOATLAS_OK = 0,
  INFOATLAS_NONE = 1,         /* there is no result yet, which is no error */
  INFOATLAS_INPUT_ERROR = 2,  /* an argument cannot be used */
  INFOATLAS_FILE_ERROR = 3,   /* a file cannot be used, or a model has values that are not finite */
  INFOATLAS_MEMORY_ERROR = 4, /* out of memory */
  INFOATLAS_FAULT = 5         /* a defect of this library: please report it */
} infoatlas_status;

/* Version of the library in use, as INFOATLAS_VERSION; releases with the same first two numbers
 * have the same functions.
 *
 * Real time: yes. Threads: any. Cost: constant. */
INFOATLAS_API const char *infoatlas_version(void);

/* Why the last failed call of this thread failed; empty if none did. Valid until the next one.
 * Messages have a buffer in each thread. If the library was opened by dlopen (as in a plugin), the
 * system allocates it at its first use, so call this function once before a loop in real time.
 *
 * Real time: yes, after the first call of a thread. Threads: any. Cost: constant. */
INFOATLAS_API const char *infoatlas_last_error(void);

/* ---- Models ------------------------------------------------------------------------------------
 *
 * A model holds the weights of an .onnx file. Threads may share it. Estimators and windows keep
 * what they need, so it may be freed before them. */
typedef struct infoatlas_model infoatlas_model;

/* Load a model from a file, or from its content in memory, which is not kept. A file that has
 * changed since it was written is refused (INFOATLAS_FILE_ERROR).
 *
 * Real time: no, allocates. Threads: any. Cost: size of the file; 45 ms for the model edge. */
INFOATLAS_CHECKED infoatlas_status infoatlas_model_load(const char *path, infoatlas_model **model);
INFOATLAS_CHECKED infoatlas_status infoatlas_model_read(const void *content, size_t size,
                                                        infoatlas_model **model);
/* Real time: no, frees memory. Threads: one. Cost: size of the model. */
INFOATLAS_API void infoatlas_model_free(infoatlas_model *model);

typedef struct infoatlas_model_info {
  INFOATLAS_SIZE(struct infoatlas_model_info);
  const char *name, *version; /* valid as long as the model */
  int64_t dim;                /* D, largest width of an unsliced side */
  int64_t n_min, n_max;       /* sample sizes that the model was trained for */
} infoatlas_model_info;

/* Real time: yes. Threads: any. Cost: constant. */
INFOATLAS_CHECKED infoatlas_status infoatlas_model_describe(const infoatlas_model *model,
                                                            infoatlas_model_info *info);

/* ---- Estimators --------------------------------------------------------------------------------
 *
 * An estimator has memory and threads of its own, for samples of fixed widths. */
typedef struct infoatlas_estimator infoatlas_estimator;

typedef enum infoatlas_sides {
  INFOATLAS_SIDES_AUTO = 0, /* both if k is given, else those wider than D */
  INFOATLAS_SIDES_BOTH = 1,
  INFOATLAS_SIDES_X = 2,
  INFOATLAS_SIDES_Y = 3
} infoatlas_sides;

/* The parameters of Python's Estimator; zeros are the defaults. */
typedef struct infoatlas_settings {
  INFOATLAS_SIZE(struct infoatlas_settings);
  int64_t threads; /* CPU threads, the caller's included; 0: two, or one on a single core; fewer are
                    * used if the system allows no more */
  int64_t k;       /* dimensions of a slice; 0: D */
  int64_t slices;  /* if a side is sliced; 0: 40 */
  infoatlas_sides sides;
  int64_t shifts; /* cyclic shifts, at least 4; 0: as the model's metadata say */
  uint64_t seed;  /* of projections, order and shifts */
} infoatlas_settings;

/* Samples of one call, paired by rows. */
typedef struct infoatlas_samples {
  INFOATLAS_SIZE(struct infoatlas_samples);
  const double *x, *y;                       /* [n, dx] and [n, dy], finite */
  int64_t n;                                 /* n_min of the model up to the estimator's n */
  const double *resolution_x, *resolution_y; /* [dx], [dy] smallest difference that has a meaning,
                                              * in the units of the data; null for none */
  int time_series; /* whether rows are in order of time, and depend on their neighbours */
} infoatlas_samples;

/* The fields of Python's Estimate. Arrays belong to the estimator, until its next call. */
typedef struct infoatlas_estimate {
  INFOATLAS_SIZE(struct infoatlas_estimate);
  double mi;             /* nats, mean over slices */
  double standard_error; /* nats, calibrated: mi +- 1.645 of it is about a 90% interval */
  double noise;          /* nats, its part from samples and slices alone */
  double predicted_error, gaussian, beyond_gaussian; /* nats */
  double rank_noise;                                 /* 0 to 1 */
  double effective_samples;
  double rank_x, rank_y; /* dimensions that whitening kept */
  int64_t samples, slices;
  int64_t k;                      /* dimensions of a slice; 0 if unsliced */
  int64_t constant_x, constant_y; /* numbers of constant coordinates, which are left out */
  int64_t redundant_x, redundant_y; /* numbers of coordinates of a sliced side that others determine
                                     * linearly (copies, sums), and which are left out */
  int saturated; /* a linear combination of one side determines one of the other, as in a copy;
                  * nonlinear functions, atoms and heavy tails are not flagged, unlike in Python */
  int degenerate;                 /* all coordinates of a side are constant: mi is 0 */
  int clipped;                    /* a slice was replaced by a bound */
  int autocorrelated;             /* neighbours are similar, and time_series is not set */
  const double *per_slice;        /* [slices] nats */
  const double *pointwise;        /* [samples] nats, in the order of the input */
  const double *influence;        /* [samples] nats */
} infoatlas_estimate;

/* Make an estimator for at most n samples of dx and dy coordinates; `settings` may be null. It
 * evaluates a few samples, so that all memory is allocated.
 *
 * Real time: no, allocates. Threads: any. Cost: six calls of infoatlas_estimator_run. */
INFOATLAS_CHECKED infoatlas_status infoatlas_estimator_new(const infoatlas_model *model, int64_t n,
                                                           int64_t dx, int64_t dy,
                                                           const infoatlas_settings *settings,
                                                           infoatlas_estimator **estimator);
/* Real time: no, frees memory and ends threads. Threads: one. Cost: memory of the estimator. */
INFOATLAS_API void infoatlas_estimator_free(infoatlas_estimator *estimator);

/* Estimate I(x; y).
 *
 * Real time: no, it wakes the other threads and waits for them. Threads: one. Cost: milliseconds to
 * seconds; samples x shifts x slices. */
INFOATLAS_CHECKED infoatlas_status infoatlas_estimator_run(infoatlas_estimator *estimator,
                                                           const infoatlas_samples *samples,
                                                           infoatlas_estimate *estimate);

/* ---- Windows -----------------------------------------------------------------------------------
 *
 * A window keeps the last steps of a stream of states, and estimates the information of a state
 * about its past, I(s_t; s_<t-lag), or about the past of another stream. A coordinate of a sliced
 * side is left out as redundant, or used, for the whole stream, as in Python. */
typedef struct infoatlas_window infoatlas_window;

typedef struct infoatlas_window_settings {
  INFOATLAS_SIZE(struct infoatlas_window_settings);
  int64_t d;                /* coordinates of a state */
  int64_t other;            /* coordinates of a state of the other stream; 0 for one stream */
  int64_t steps;            /* of the window; n_min to n_max of the model */
  int64_t lag;              /* steps; at least 1 for one stream */
  int64_t history;          /* past states in a pair: lag, lag + 1, ... steps back; 0: one */
  int increments;           /* pairs of changes since the step before, instead of states */
  const double *resolution; /* [d] smallest difference that has a meaning; null for none */
  const double *resolution_other; /* [other] */
} infoatlas_window_settings;

/* Make an empty window; `settings` may be null.
 *
 * Real time: no, allocates. Threads: any. Cost: that of infoatlas_estimator_new for its steps. */
INFOATLAS_CHECKED infoatlas_status infoatlas_window_new(const infoatlas_model *model,
                                                        const infoatlas_window_settings *window,
                                                        const infoatlas_settings *settings,
                                                        infoatlas_window **made);
/* Real time: no, frees memory and ends threads. Threads: one. Cost: memory of the window. */
INFOATLAS_API void infoatlas_window_free(infoatlas_window *window);

/* Take the state [d] of the next step, and [other] of the other stream (else null).
 * INFOATLAS_NONE: it has NaN, infinite or very large values, so its step is a hole, and no pair has
 * it; infoatlas_window_reason says which.
 *
 * Real time: yes. Threads: one. Cost: d and history x width of the past; 0.15 us for 41 coordinates. */
INFOATLAS_CHECKED infoatlas_status infoatlas_window_push(infoatlas_window *window,
                                                         const double *state, const double *other);

/* The state of the next step is missing.
 *
 * Real time: yes. Threads: one. Cost: constant. */
INFOATLAS_CHECKED infoatlas_status infoatlas_window_hole(infoatlas_window *window);

/* An unknown number of states is missing: no later pair reaches back beyond this point.
 *
 * Real time: yes. Threads: one. Cost: constant. */
INFOATLAS_CHECKED infoatlas_status infoatlas_window_lost(infoatlas_window *window);

/* Forget all states.
 *
 * Real time: yes. Threads: one. Cost: steps and coordinates of the window. */
INFOATLAS_CHECKED infoatlas_status infoatlas_window_reset(infoatlas_window *window);

/* Estimate from the pairs of the window, oldest first: the newest state's local information is the
 * last value of `pointwise`. INFOATLAS_NONE: the window is not full, or the newest state has no
 * pair, or was already estimated.
 *
 * Real time: no, it wakes the other threads and waits for them. Threads: one. Cost: that of
 * infoatlas_estimator_run for the pairs of the window. */
INFOATLAS_CHECKED infoatlas_status infoatlas_window_run(infoatlas_window *window,
                                                        infoatlas_estimate *estimate);

/* Result of the last call, as "filling: 12 of 100 pairs"; valid until the next one.
 *
 * Real time: yes. Threads: one. Cost: constant. */
INFOATLAS_CHECKED infoatlas_status infoatlas_window_reason(const infoatlas_window *window,
                                                           const char **reason);

#ifdef __cplusplus
}
#endif

#endif
