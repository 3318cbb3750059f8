/* Follows the key states and sub-tasks of a task file in a running episode, as KeyStateTracker of
 * the Python package does.
 *
 * Threads: a task is never changed, and any number of threads may use it. A follower may be used by
 * one thread at a time; followers are independent of each other.
 * Memory: a follower allocates when it is created, and never afterwards: not in a push, nor in a
 * push that fails. Nothing here locks, waits, or reads a clock or a file, except
 * infoatlas_task_load.
 */
#ifndef INFOATLAS_FOLLOWER_H
#define INFOATLAS_FOLLOWER_H

#include <infoatlas/infoatlas.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct infoatlas_task infoatlas_task;
typedef struct infoatlas_follower infoatlas_follower;

/* A key state that was detected. Steps are numbers of states of the episode, from 0. */
typedef struct infoatlas_event {
  int64_t keystate;      /* its number, from 0 */
  const char *name;      /* its name; "" if it has none */
  int64_t step;          /* step of the key state */
  int64_t detected_step; /* step of the detection */
  double stamp;          /* stamps of these steps, s; NaN if they have none */
  double detected_stamp;
  double score;        /* similarity of the motion to that of the demonstrations, 0 to 1 */
  const char *subtask; /* sub-task of the first tool at the detection; "" if it is not known */
} infoatlas_event;

/* Present sub-task of a tool. */
typedef struct infoatlas_subtask {
  int64_t index;          /* its number, from 0; the fields below are empty or 0 if it is -1 */
  const char *name;       /* as "reach cube" */
  const char *tool;       /* the tool that moves */
  const char *reference;  /* its reference object; "world" or "" if there is none */
  const char *held;       /* the object that moves with the tool; "" if none */
  double progress;        /* share of the sub-task's usual duration that has passed, 0 to 1 */
  double task_progress;   /* the same for the task */
  double waiting;         /* time without progress, divided by the longest in demonstrations */
  double seconds;         /* time in this sub-task, s; 0.05 s a working step if no rate is known */
  int64_t stalled;        /* whether `waiting` exceeds 3 */
} infoatlas_subtask;

/* Reads a file of KeyStates.save, or of the option --save of a command. INFOATLAS_FILE_ERROR if it
 * is missing, damaged, of another format, or larger than the limits: 16 MiB, 65,536 columns, 1,024
 * bins a tool, windows of 256 working steps. */
INFOATLAS_API infoatlas_status infoatlas_task_load(const char *path, infoatlas_task **task);

/* The same from `size` bytes of memory; `text` is not kept. */
INFOATLAS_API infoatlas_status infoatlas_task_parse(const char *text, size_t size,
                                                    infoatlas_task **task);

/* Followers keep what they need of a freed task; names are valid while either exists. */
INFOATLAS_API void infoatlas_task_free(infoatlas_task *task);

/* d, the number of columns of a state; of key states; of tools. */
INFOATLAS_API size_t infoatlas_task_columns(const infoatlas_task *task);
INFOATLAS_API size_t infoatlas_task_keystates(const infoatlas_task *task);
INFOATLAS_API size_t infoatlas_task_tools(const infoatlas_task *task);

/* Name of a column; "" if columns have no names, or beyond the last. */
INFOATLAS_API const char *infoatlas_task_column(const infoatlas_task *task, size_t column);

/* A follower before the first state of an episode.
 *
 * rate: states a second (Hz) that are pushed. If it is 0, it is estimated from the stamps of the
 *     first ten states, which are followed together at the tenth. Without stamps, or if the rate of
 *     the demonstrations is not known, it is that of the demonstrations. It has to be above 1/100
 *     of the working steps a second (15 to 30 a second).
 * follow_all: also follow key states and sub-tasks that cannot be followed well; 0 or 1. */
INFOATLAS_API infoatlas_status infoatlas_follower_create(const infoatlas_task *task, double rate,
                                                         int follow_all,
                                                         infoatlas_follower **follower);
INFOATLAS_API void infoatlas_follower_free(infoatlas_follower *follower);

/* Takes the next state [columns] of the episode, and its stamp in seconds (NaN: none).
 *
 * `events` becomes the address of the key states that this state completes, `count` their number,
 * usually 0. They are valid until the next call with this follower. INFOATLAS_INPUT_ERROR if the
 * number of columns is another one or a value is not finite; the episode is unchanged. */
INFOATLAS_API infoatlas_status infoatlas_follower_push(infoatlas_follower *follower,
                                                       const double *state, size_t columns,
                                                       double stamp,
                                                       const infoatlas_event **events,
                                                       size_t *count);

/* Present sub-task of a tool; INFOATLAS_NONE, with the index -1, if it is not known: before the
 * first working step, and in a part that is not followed. */
INFOATLAS_API infoatlas_status infoatlas_follower_subtask(const infoatlas_follower *follower,
                                                          size_t tool, infoatlas_subtask *subtask);

/* Forgets the episode; the next state is the first of a new one. */
INFOATLAS_API void infoatlas_follower_reset(infoatlas_follower *follower);

/* Number of the newest state, from 0; -1 before the first. */
INFOATLAS_API int64_t infoatlas_follower_step(const infoatlas_follower *follower);

/* Whether a key state is reported. */
INFOATLAS_API int infoatlas_follower_follows(const infoatlas_follower *follower, size_t keystate);

/* Bytes that the follower has, without those of the task. */
INFOATLAS_API size_t infoatlas_follower_memory(const infoatlas_follower *follower);

#ifdef __cplusplus
}
#endif

#endif
