// The functions of follower.h, and what they do with stamps (tracker.py).
#include <infoatlas/follower.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "episode_filter.h"
#include "json.h"
#include "ring.h"
#include "status.h"
#include "task.h"

using infoatlas::give;
using infoatlas::guarded;
using infoatlas::InputError;
using infoatlas::missing;
using infoatlas::refuse;
using infoatlas::unknown_size;
using infoatlas::follow::Filter;
using infoatlas::follow::MOST_PARTS;
using infoatlas::follow::Pace;
using infoatlas::follow::Reals;
using infoatlas::follow::StreamRate;
using infoatlas::follow::Task;

namespace {

#define TOO_SLOW "a state lasts more than 100 working steps of the demonstrations: push more often"

void require(bool good, const std::string& what) {
  if (!good) throw InputError(what);
}

std::shared_ptr<const Task> read(std::string_view text, const std::string& name) {
  try {
    return std::make_shared<const Task>(infoatlas::follow::read_task(text));
  } catch (const infoatlas::json::Malformed& error) {
    throw infoatlas::FileError(name + " is no task file (" + error.what() + "): make one with "
                               "`infoatlas-rt keystates DATA --save FILE.json`");
  }
}

std::string content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw infoatlas::FileError(path + " cannot be opened: check the path");
  std::string text(infoatlas::json::MOST_BYTES + 1, '\0');  // one too many is refused
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad()) throw infoatlas::FileError(path + " cannot be read: check the path");
  text.resize(static_cast<size_t>(file.gcount()));
  return text;
}

}  // namespace

struct infoatlas_task {
  explicit infoatlas_task(std::shared_ptr<const Task> own) : task(std::move(own)) {
    for (const std::string& name : task->columns) columns.push_back(name.c_str());
    for (const std::string& name : task->keystates) keystates.push_back(name.c_str());
  }
  std::shared_ptr<const Task> task;
  std::vector<const char*> columns, keystates;
};

// One episode at a time, as KeyStateTracker.
struct infoatlas_follower {
  infoatlas_follower(std::shared_ptr<const Task> own, Pace pace, bool known, bool all)
      : task(std::move(own)), rates(task->detectors.stream), follow_all(all), timed(known),
        filter(*task, all, known ? pace.parts : rates.stamps_for_rate * MOST_PARTS),
        stamps(rates.stamps_kept, 1), gaps(rates.stamps_for_rate - 1),
        waiting(known ? 0 : (rates.stamps_for_rate - 1) * width()) {
    filter.reset(pace);
  }

  int64_t width() const { return task->detectors.coordinates.width; }
  bool pace_of_stamps(double stamp);
  void push(const double* state, double stamp);
  infoatlas_subtask subtask(size_t tool) const;
  infoatlas_outcome outcome() const;

  std::shared_ptr<const Task> task;
  const StreamRate& rates;
  bool follow_all, timed;  // timed: the rate is known
  Filter filter;
  infoatlas::Ring<double> stamps;
  Reals gaps;           // between the first stamps
  Reals waiting;        // states until the rate is known
  int64_t held = 0;     // of them
  int64_t count = 0;    // states of the episode
};

// Sets the pace from the stamps of the first states; false if they give none.
bool infoatlas_follower::pace_of_stamps(double stamp) {
  const auto& timing = task->detectors.timing;
  for (size_t i = 0; i < gaps.size(); ++i) {
    const auto step = static_cast<int64_t>(i);
    gaps[i] = (i + 1 < gaps.size() ? *stamps[step + 1] : stamp) - *stamps[step];
  }
  std::sort(gaps.begin(), gaps.end());
  const double middle = gaps[gaps.size() / 2];
  double sum = 0, near = 0;  // without pauses and lost states
  for (double each : gaps)
    if (each >= rates.usual.least * middle && each <= rates.usual.most * middle)
      sum += each, ++near;
  const double gap = sum / std::max(near, 1.0), share = timing.rate * gap;
  if (!(gap > 0) || (share > rates.same.least && share < rates.same.most)) return true;
  const Pace pace = infoatlas::follow::pace(task->detectors, 1 / gap);
  if (pace.parts > MOST_PARTS || std::isinf(1 / gap)) return false;
  filter.reset(pace);
  return true;
}

// Takes a state, or keeps it until the rate of the stream is known; adds to `filter.found`.
void infoatlas_follower::push(const double* state, double stamp) {
  *stamps[count++] = stamp;
  timed = timed || std::isnan(stamp) || count == rates.stamps_for_rate;
  if (!timed) {
    std::copy_n(state, width(), waiting.data() + held++ * width());
    return;
  }
  for (int64_t i = 0; i < held; ++i) filter.push(waiting.data() + i * width());
  held = 0;
  filter.push(state);
  const char* present = filter.tools.empty() ? "" : subtask(0).name;
  for (infoatlas_event& event : filter.found) {
    event.stamp = *stamps[std::max(event.step, count - rates.stamps_kept)];
    event.detected_stamp = stamp;
    event.subtask = present;
  }
}

infoatlas_subtask infoatlas_follower::subtask(size_t tool) const {
  const auto& own = filter.tools[tool];
  const auto& about = task->tools[tool];
  if (own.part < 0 || !(follow_all || about.followed[own.part]))
    return {sizeof(infoatlas_subtask), -1, "", "", "", "", 0, 0, 0, 0, 0};
  const double before = about.model.before[own.part], after = about.model.before[own.part + 1];
  const double waited = static_cast<double>(own.waiting) / about.usual[own.part];
  const auto& part = task->parts[about.model.parts[own.part]];
  return {sizeof(infoatlas_subtask), about.model.parts[own.part], part.name.c_str(),
          part.tool.c_str(), part.reference.c_str(), part.held.c_str(), own.progress,
          before + own.progress * (after - before), waited,
          static_cast<double>(own.inside) / task->detectors.timing.frequency,
          waited > task->stalled};
}

infoatlas_outcome infoatlas_follower::outcome() const {
  const auto& own = filter.outcome;
  infoatlas_outcome found{sizeof(infoatlas_outcome), own.state, own.since, "",
                          own.model.false_done, own.model.found};
  if (!filter.begun()) {
    found.state = INFOATLAS_UNKNOWN;
    found.since = -1;
    found.reason = "the episode has not begun";
  } else if (own.state == INFOATLAS_DONE) {
    found.reason = "the state is that of the end of the task";
  } else if (own.state == INFOATLAS_FAILED) {
    found.reason = own.why.data();
  } else if (own.model.wait) {
    found.reason = "the last sub-task has not ended";
  } else {
    found.state = INFOATLAS_UNKNOWN;
    found.reason = own.model.reason.c_str();
  }
  return found;
}

infoatlas_status infoatlas_task_load(const char* path, infoatlas_task** task) {
  if (missing({{path, "path"}, {task, "task"}})) return INFOATLAS_INPUT_ERROR;
  return guarded([&] {
    *task = new infoatlas_task(read(content(path), path));
    return INFOATLAS_OK;
  });
}

infoatlas_status infoatlas_task_read(const void* content, size_t size, infoatlas_task** task) {
  if (missing({{content, "content"}, {task, "task"}})) return INFOATLAS_INPUT_ERROR;
  return guarded([&] {
    *task = new infoatlas_task(read({static_cast<const char*>(content), size}, "the content"));
    return INFOATLAS_OK;
  });
}

void infoatlas_task_free(infoatlas_task* task) { delete task; }

infoatlas_status infoatlas_task_describe(const infoatlas_task* task, infoatlas_task_info* info) {
  if (missing({{task, "task"}, {info, "info"}}) || unknown_size(*info, "info"))
    return INFOATLAS_INPUT_ERROR;
  const Task& own = *task->task;
  const auto size = [](const auto& list) { return static_cast<int64_t>(list.size()); };
  give({sizeof *info, own.detectors.coordinates.width, size(own.keystates), size(own.tools),
        task->columns.empty() ? nullptr : task->columns.data(), task->keystates.data()}, *info);
  return INFOATLAS_OK;
}

infoatlas_status infoatlas_follower_new(const infoatlas_task* task, double rate, int follow_all,
                                        infoatlas_follower** follower) {
  if (missing({{task, "task"}, {follower, "follower"}})) return INFOATLAS_INPUT_ERROR;
  return guarded([&] {
    const auto& timing = task->task->detectors.timing;
    const std::string given = "rate is " + std::to_string(rate) + " Hz";
    require(rate >= 0 && std::isfinite(rate),
            given + ", but has to be states a second, finite and above 0, or 0 if unknown");
    const bool same = std::isnan(timing.rate);
    require(rate == 0 || !same, given + ", and that of the demonstrations is unknown: find the "
            "key states with their rate, or push states at the same rate and pass 0");
    const Pace pace = rate > 0 ? infoatlas::follow::pace(task->task->detectors, rate) : Pace{timing.stride, 1};
    require(pace.parts <= MOST_PARTS, given + ": " TOO_SLOW);
    *follower = new infoatlas_follower(task->task, pace, rate > 0 || same, follow_all != 0);
    return INFOATLAS_OK;
  });
}

void infoatlas_follower_free(infoatlas_follower* follower) { delete follower; }

infoatlas_status infoatlas_follower_push(infoatlas_follower* follower, const double* state,
                                         int64_t columns, double stamp, int64_t* count) {
  if (missing({{follower, "follower"}, {state, "state"}, {count, "count"}}))
    return INFOATLAS_INPUT_ERROR;
  auto& own = *follower;
  if (columns != own.width())
    return refuse(INFOATLAS_INPUT_ERROR,
                  "state has %" PRId64 " coordinates, and the key states were found with %" PRId64
                  ": pass the same ones in the same order", columns, own.width());
  for (int64_t i = 0; i < columns; ++i)
    if (!std::isfinite(state[i]))
      return refuse(INFOATLAS_INPUT_ERROR, "state is %g at coordinate %" PRId64 ": skip it",
                    state[i], i);
  if (std::isinf(stamp))
    return refuse(INFOATLAS_INPUT_ERROR, "stamp is infinite: pass seconds, or NAN for none");
  const bool tenth = !own.timed && own.held == own.rates.stamps_for_rate - 1 && !std::isnan(stamp);
  if (tenth && !own.pace_of_stamps(stamp))
    return refuse(INFOATLAS_INPUT_ERROR, "the first %" PRId64 " stamps: " TOO_SLOW,
                  own.rates.stamps_for_rate);
  own.filter.found.clear();
  own.push(state, stamp);
  *count = static_cast<int64_t>(own.filter.found.size());
  return INFOATLAS_OK;
}

infoatlas_status infoatlas_follower_event(const infoatlas_follower* follower, int64_t index,
                                          infoatlas_event* event) {
  if (missing({{follower, "follower"}, {event, "event"}}) || unknown_size(*event, "event"))
    return INFOATLAS_INPUT_ERROR;
  const auto& found = follower->filter.found;
  if (index < 0 || index >= static_cast<int64_t>(found.size()))
    return refuse(INFOATLAS_INPUT_ERROR,
                  "index is %" PRId64 ", and the last push completed %zu key states, from 0", index,
                  found.size());
  give(found[static_cast<size_t>(index)], *event);
  return INFOATLAS_OK;
}

infoatlas_status infoatlas_follower_subtask(const infoatlas_follower* follower, int64_t tool,
                                            infoatlas_subtask* subtask) {
  if (missing({{follower, "follower"}, {subtask, "subtask"}}) || unknown_size(*subtask, "subtask"))
    return INFOATLAS_INPUT_ERROR;
  const auto tools = static_cast<int64_t>(follower->filter.tools.size());
  if (tool < 0 || tool >= tools)
    return refuse(INFOATLAS_INPUT_ERROR, "tool is %" PRId64 ", and there are %" PRId64 ", from 0",
                  tool, tools);
  const infoatlas_subtask found = follower->subtask(static_cast<size_t>(tool));
  give(found, *subtask);
  return found.index < 0 ? INFOATLAS_NONE : INFOATLAS_OK;
}

infoatlas_status infoatlas_follower_outcome(const infoatlas_follower* follower,
                                            infoatlas_outcome* outcome) {
  if (missing({{follower, "follower"}, {outcome, "outcome"}}) ||
      unknown_size(*outcome, "outcome"))
    return INFOATLAS_INPUT_ERROR;
  give(follower->outcome(), *outcome);
  return INFOATLAS_OK;
}

infoatlas_status infoatlas_follower_reset(infoatlas_follower* follower) {
  if (missing({{follower, "follower"}})) return INFOATLAS_INPUT_ERROR;
  follower->filter.reset();
  follower->filter.found.clear();
  follower->held = follower->count = 0;
  return INFOATLAS_OK;
}

infoatlas_status infoatlas_follower_describe(const infoatlas_follower* follower,
                                             infoatlas_follower_info* info) {
  if (missing({{follower, "follower"}, {info, "info"}}) || unknown_size(*info, "info"))
    return INFOATLAS_INPUT_ERROR;
  const size_t bytes = sizeof *follower + follower->filter.bytes() + follower->stamps.bytes() +
                       8 * (follower->gaps.size() + follower->waiting.size());
  give({sizeof *info, follower->count - 1, static_cast<int64_t>(bytes),
        follower->filter.followed.data()}, *info);
  return INFOATLAS_OK;
}
