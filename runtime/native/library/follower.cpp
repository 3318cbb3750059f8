// The functions of follower.h, and what they do with stamps (tracker.py).
#include <infoatlas/follower.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>

#include "filter.h"
#include "json.h"
#include "status.h"
#include "task.h"

using infoatlas::failed;
using infoatlas::guarded;
using infoatlas::InputError;
using infoatlas::follow::Filter;
using infoatlas::follow::MOST_PARTS;
using infoatlas::follow::Pace;
using infoatlas::follow::Reals;
using infoatlas::follow::Task;

namespace {

constexpr int64_t STAMPS_KEPT = 2000;    // stamps that are kept, of an episode's newest states
constexpr int64_t STAMPS_FOR_RATE = 10;  // first states, from whose stamps the rate is estimated
constexpr double STALLED = 3.0;  // times the longest usual time without progress: a stall

#define TOO_SLOW "a state lasts more than 100 working steps of the demonstrations: push more often"

// A refusal without memory: the arguments of printf.
template <class... Values>
infoatlas_status refused(const char* format, Values... values) noexcept {
  char message[512];
  std::snprintf(message, sizeof message, format, values...);
  return failed(INFOATLAS_INPUT_ERROR, message);
}

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
  std::shared_ptr<const Task> task;
};

// One episode at a time, as KeyStateTracker.
struct infoatlas_follower {
  infoatlas_follower(std::shared_ptr<const Task> own, Pace pace, bool known, bool all)
      : task(std::move(own)), follow_all(all), timed(known),
        filter(*task, all, known ? pace.parts : STAMPS_FOR_RATE * MOST_PARTS),
        stamps(STAMPS_KEPT), waiting(known ? 0 : (STAMPS_FOR_RATE - 1) * width()) {
    filter.reset(pace);
  }

  size_t width() const { return static_cast<size_t>(task->detectors.coordinates.width); }
  bool pace_of_stamps(double stamp);
  void push(const double* state, double stamp);
  infoatlas_subtask subtask(size_t tool) const;

  std::shared_ptr<const Task> task;
  bool follow_all, timed;  // timed: the rate is known
  Filter filter;
  Reals stamps;         // step t is stored in slot t % STAMPS_KEPT
  Reals waiting;        // states until the rate is known, [9, d]
  int64_t held = 0;     // of them
  int64_t count = 0;    // states of the episode
};

// Sets the pace from the stamps of the first ten states; false if they give none.
bool infoatlas_follower::pace_of_stamps(double stamp) {
  const auto& timing = task->detectors.timing;
  double gaps[STAMPS_FOR_RATE - 1];
  for (int64_t i = 0; i + 1 < STAMPS_FOR_RATE; ++i)
    gaps[i] = (i + 2 < STAMPS_FOR_RATE ? stamps[i + 1] : stamp) - stamps[i];
  std::sort(std::begin(gaps), std::end(gaps));
  const double gap = gaps[STAMPS_FOR_RATE / 2 - 1], share = timing.rate * gap;
  if (!(gap > 0) || (share > 0.8 && share < 1.25)) return true;
  const Pace pace = infoatlas::follow::pace(timing, 1 / gap);
  if (pace.parts > MOST_PARTS || std::isinf(1 / gap)) return false;
  filter.reset(pace);
  return true;
}

// Takes a state, or keeps it until the rate of the stream is known; adds to `filter.found`.
void infoatlas_follower::push(const double* state, double stamp) {
  stamps[count++ % STAMPS_KEPT] = stamp;
  timed = timed || std::isnan(stamp) || count == STAMPS_FOR_RATE;
  if (!timed) {
    std::copy_n(state, width(), waiting.data() + held++ * width());
    return;
  }
  for (int64_t i = 0; i < held; ++i) filter.push(waiting.data() + i * width());
  held = 0;
  filter.push(state);
  const char* present = filter.tools.empty() ? "" : subtask(0).name;
  for (infoatlas_event& event : filter.found) {
    event.stamp = stamps[std::max(event.step, count - STAMPS_KEPT) % STAMPS_KEPT];
    event.detected_stamp = stamp;
    event.subtask = present;
  }
}

infoatlas_subtask infoatlas_follower::subtask(size_t tool) const {
  const auto& own = filter.tools[tool];
  const auto& about = task->tools[tool];
  if (own.part < 0 || !(follow_all || about.followed[own.part]))
    return {-1, "", "", "", "", 0, 0, 0, 0, 0};
  const double before = about.before[own.part], after = about.before[own.part + 1];
  const double waited = static_cast<double>(own.waiting) / about.usual[own.part];
  const auto& part = task->parts[about.model.parts[own.part]];
  return {about.model.parts[own.part], part.name.c_str(), part.tool.c_str(),
          part.reference.c_str(), part.held.c_str(), own.progress,
          before + own.progress * (after - before), waited,
          static_cast<double>(own.inside) / task->detectors.timing.frequency, waited > STALLED};
}

infoatlas_status infoatlas_task_load(const char* path, infoatlas_task** task) {
  return guarded([&] {
    require(path && task, "path or task is NULL");
    *task = new infoatlas_task{read(content(path), path)};
    return INFOATLAS_OK;
  });
}

infoatlas_status infoatlas_task_parse(const char* text, size_t size, infoatlas_task** task) {
  return guarded([&] {
    require(text && task, "text or task is NULL");
    *task = new infoatlas_task{read({text, size}, "the text")};
    return INFOATLAS_OK;
  });
}

void infoatlas_task_free(infoatlas_task* task) { delete task; }

size_t infoatlas_task_columns(const infoatlas_task* task) {
  return static_cast<size_t>(task->task->detectors.coordinates.width);
}

size_t infoatlas_task_keystates(const infoatlas_task* task) {
  return task->task->keystates.size();
}

size_t infoatlas_task_tools(const infoatlas_task* task) { return task->task->tools.size(); }

const char* infoatlas_task_column(const infoatlas_task* task, size_t column) {
  const auto& names = task->task->columns;
  return column < names.size() ? names[column].c_str() : "";
}

infoatlas_status infoatlas_follower_create(const infoatlas_task* task, double rate,
                                           int follow_all, infoatlas_follower** follower) {
  return guarded([&] {
    require(task && follower, "task or follower is NULL");
    const auto& timing = task->task->detectors.timing;
    const std::string given = "rate is " + std::to_string(rate) + " Hz";
    require(rate >= 0 && std::isfinite(rate),
            given + ", but has to be states a second, finite and above 0, or 0 if unknown");
    const bool known = std::isnan(timing.rate);
    require(rate == 0 || !known, given + ", and that of the demonstrations is unknown: find the "
            "key states with their rate, or push states at the same rate and pass 0");
    const Pace pace = rate > 0 ? infoatlas::follow::pace(timing, rate) : Pace{timing.stride, 1};
    require(pace.parts <= MOST_PARTS, given + ": " TOO_SLOW);
    *follower = new infoatlas_follower(task->task, pace, rate > 0 || known, follow_all != 0);
    return INFOATLAS_OK;
  });
}

void infoatlas_follower_free(infoatlas_follower* follower) { delete follower; }

infoatlas_status infoatlas_follower_push(infoatlas_follower* follower, const double* state,
                                         size_t columns, double stamp,
                                         const infoatlas_event** events, size_t* count) {
  if (!follower || !state || !events || !count) return refused("an argument is NULL");
  auto& own = *follower;
  if (columns != own.width())
    return refused("state has %zu coordinates, and the key states were found with %zu: pass the "
                   "same ones in the same order", columns, own.width());
  for (size_t i = 0; i < columns; ++i)
    if (!std::isfinite(state[i]))
      return refused("state is %g at coordinate %zu: skip it", state[i], i);
  if (std::isinf(stamp)) return refused("stamp is infinite: pass seconds, or NAN for none");
  const bool tenth = !own.timed && own.held == STAMPS_FOR_RATE - 1 && !std::isnan(stamp);
  if (tenth && !own.pace_of_stamps(stamp))
    return refused("the first ten stamps: " TOO_SLOW);
  own.filter.found.clear();
  own.push(state, stamp);
  *events = own.filter.found.data();
  *count = own.filter.found.size();
  return INFOATLAS_OK;
}

infoatlas_status infoatlas_follower_subtask(const infoatlas_follower* follower, size_t tool,
                                            infoatlas_subtask* subtask) {
  if (!follower || !subtask) return refused("an argument is NULL");
  if (tool >= follower->filter.tools.size())
    return refused("tool is %zu, and there are %zu", tool, follower->filter.tools.size());
  *subtask = follower->subtask(tool);
  return subtask->index < 0 ? INFOATLAS_NONE : INFOATLAS_OK;
}

void infoatlas_follower_reset(infoatlas_follower* follower) {
  follower->filter.reset();
  follower->held = follower->count = 0;
}

int64_t infoatlas_follower_step(const infoatlas_follower* follower) { return follower->count - 1; }

int infoatlas_follower_follows(const infoatlas_follower* follower, size_t keystate) {
  const auto& followed = follower->filter.followed;
  return keystate < followed.size() && followed[keystate];
}

size_t infoatlas_follower_memory(const infoatlas_follower* follower) {
  return sizeof *follower + follower->filter.bytes() +
         8 * (follower->stamps.size() + follower->waiting.size());
}
