/* Follows the key states and sub-tasks of a task file in a running episode, as KeyStateTracker of
 * the Python package does.
 *
 * Threads may share a task. Followers are independent, and have no threads of their own.
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
  INFOATLAS_SIZE(struct infoatlas_event);
  int64_t keystate;      /* its number, from 0 */
  const char *name;      /* its name; "" if it has none */
  int64_t step;          /* step of the key state */
  int64_t detected_step; /* step of the detection */
  double stamp;          /* stamps of these steps, s; NaN if they have none */
  double detected_stamp;
  double score;        /* similarity of the motion to that of the demonstrations, 0 to 1 */
  const char *subtask; /* sub-task of the first tool at the detection; "" if it is not known */
} infoatlas_event;

/* Values of `state` of an outcome. */
enum { INFOATLAS_RUNNING, INFOATLAS_DONE, INFOATLAS_FAILED, INFOATLAS_UNKNOWN };

/* Whether an episode is done or has failed, as Outcome of the Python package. */
typedef struct infoatlas_outcome {
  INFOATLAS_SIZE(struct infoatlas_outcome);
  int64_t state;      /* one of INFOATLAS_RUNNING and so on */
  int64_t since;      /* step from which it is so; -1 before the first working step */
  const char *reason; /* why; valid until the next push */
  double false_done;  /* bound of the share of executions that are done > 0.5 s too early; or NaN */
  double found;       /* share of those that are done within 0.5 s of their end; or NaN */
} infoatlas_outcome;

/* Present sub-task of a tool. */
typedef struct infoatlas_subtask {
  INFOATLAS_SIZE(struct infoatlas_subtask);
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

typedef struct infoatlas_task_info {
  INFOATLAS_SIZE(struct infoatlas_task_info);
  int64_t columns;                    /* d, of a state */
  int64_t keystates;                  /* K */
  int64_t tools;                      /* whose sub-tasks are followed */
  const char *const *column_names;    /* [columns]; null if they have none */
  const char *const *keystate_names;  /* [keystates] */
} infoatlas_task_info;

/* Load a task from a file of KeyStates.save or of a command's option --save, or from its content in
 * memory, which is not kept. INFOATLAS_FILE_ERROR: it is missing, damaged, of another format, or
 * larger than 16 MiB, 65,536 columns, 1,024 bins of a tool, or windows of 256 working steps.
 *
 * Real time: no, allocates. Threads: any. Cost: size of the file. */
INFOATLAS_CHECKED infoatlas_status infoatlas_task_load(const char *path, infoatlas_task **task);
INFOATLAS_CHECKED infoatlas_status infoatlas_task_read(const void *content, size_t size,
                                                       infoatlas_task **task);

/* Followers keep what they need, so it may be freed before them.
 *
 * Real time: no, frees memory. Threads: one. Cost: size of the task. */
INFOATLAS_API void infoatlas_task_free(infoatlas_task *task);

/* Sizes and names, which are valid as long as the task.
 *
 * Real time: yes. Threads: any. Cost: constant. */
INFOATLAS_CHECKED infoatlas_status infoatlas_task_describe(const infoatlas_task *task,
                                                           infoatlas_task_info *info);

/* Make a follower, before the first state of an episode.
 *
 * rate: states a second (Hz) that are pushed. If it is 0, it is estimated from the stamps of the
 *     first ten states, which are followed together at the tenth. Without stamps, or if the rate of
 *     the demonstrations is not known, it is that of the demonstrations. A state may last for 100
 *     working steps of the demonstrations, of which there are 15 to 30 a second.
 * follow_all: whether key states and sub-tasks that cannot be followed well are followed, too.
 *
 * Real time: no, allocates. Threads: any. Cost: size of the task. */
INFOATLAS_CHECKED infoatlas_status infoatlas_follower_new(const infoatlas_task *task, double rate,
                                                          int follow_all,
                                                          infoatlas_follower **follower);
/* Real time: no, frees memory. Threads: one. Cost: memory of the follower. */
INFOATLAS_API void infoatlas_follower_free(infoatlas_follower *follower);

/* Take the next state [columns] of the episode, and its stamp in seconds (NAN: none).
 *
 * `count` becomes the number of key states that this state completes, usually 0.
 * INFOATLAS_INPUT_ERROR: the number of columns is another one, or a value is not finite; the
 * episode is unchanged.
 *
 * Real time: yes. Threads: one. Cost: columns, and size of the task at a working step; 1.4 us, and
 * 25 us at a working step, for 41 coordinates and one tool. A state that lasts several working
 * steps costs as many; without a rate, the tenth state costs as much as ten. */
INFOATLAS_CHECKED infoatlas_status infoatlas_follower_push(infoatlas_follower *follower,
                                                           const double *state, int64_t columns,
                                                           double stamp, int64_t *count);

/* A key state that the last push completed: `index` from 0 to its `count` - 1. Texts are valid as
 * long as the follower.
 *
 * Real time: yes. Threads: one. Cost: constant. */
INFOATLAS_CHECKED infoatlas_status infoatlas_follower_event(const infoatlas_follower *follower,
                                                            int64_t index, infoatlas_event *event);

/* Present sub-task of a tool. INFOATLAS_NONE, with the index -1: it is not known, before the first
 * working step and in a part that is not followed.
 *
 * Real time: yes. Threads: one. Cost: constant. */
INFOATLAS_CHECKED infoatlas_status infoatlas_follower_subtask(const infoatlas_follower *follower,
                                                              int64_t tool,
                                                              infoatlas_subtask *subtask);

/* Whether the episode is done or has failed, since when, and why.
 *
 * Real time: yes. Threads: one. Cost: constant. */
INFOATLAS_CHECKED infoatlas_status infoatlas_follower_outcome(const infoatlas_follower *follower,
                                                              infoatlas_outcome *outcome);

/* Forget the episode; the next state is the first of a new one.
 *
 * Real time: yes. Threads: one. Cost: columns, key states and tools. */
INFOATLAS_CHECKED infoatlas_status infoatlas_follower_reset(infoatlas_follower *follower);

typedef struct infoatlas_follower_info {
  INFOATLAS_SIZE(struct infoatlas_follower_info);
  int64_t step;            /* number of the newest state, from 0; -1 before the first */
  int64_t bytes;           /* memory of the follower, without that of the task */
  const uint8_t *followed; /* [K] whether each key state is reported; as long as the follower */
} infoatlas_follower_info;

/* Real time: yes. Threads: one. Cost: tools. */
INFOATLAS_CHECKED infoatlas_status infoatlas_follower_describe(const infoatlas_follower *follower,
                                                               infoatlas_follower_info *info);

#ifdef __cplusplus
}
#endif

#endif
