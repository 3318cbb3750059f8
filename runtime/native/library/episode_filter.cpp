#include "episode_filter.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace infoatlas::follow {
namespace {

constexpr double MOST_STRIDE = 1e15;
constexpr int64_t FOREVER = int64_t{1} << 62;  // working steps

size_t values_of(const Task& task) {
  size_t count = task.detectors.coordinates.parts.size();
  for (const Tool& tool : task.tools) count += tool.model.pairs.size() / 2;
  return count;
}

}  // namespace

Pace pace(const Detectors& detectors, double rate) {
  const double ratio = rate / detectors.timing.frequency;
  const auto rounded = [](double v) {
    return std::max<int64_t>(1, std::llrint(std::min(v, MOST_STRIDE)));
  };
  return ratio >= detectors.stream.averaged ? Pace{rounded(ratio), 1} : Pace{1, rounded(1 / ratio)};
}

Filter::Filter(const Task& task, bool follow_all, int64_t most)
    : outcome(task.outcome), followed(task.detectors.followed.begin(), task.detectors.followed.end()), task_(task), pace_{task.detectors.timing.stride, 1},
      path_(task.detectors.coordinates), features_(task.detectors.features),
      width_(task.detectors.coordinates.parts.size()),
      recent_(task.detectors.features.widest.before + task.detectors.features.widest.after + 1,
              width_),
      now_(values_of(task)), kept_(now_.size()), between_(now_.size()),
      earlier_(task.keystates.size()), middle_(earlier_.size()), score_(earlier_.size()),
      free_(earlier_.size()), parts_(free_.size() * task.tools.size()) {
  for (size_t k = 0; follow_all && k < followed.size(); ++k)
    followed[k] = std::isfinite(task.detectors.threshold[k]);
  tools.reserve(task.tools.size());
  for (const Tool& tool : task.tools) tools.emplace_back(tool);
  found.reserve(followed.size() * static_cast<size_t>(most / std::max<int64_t>(task.detectors.gap, 2) + 1));
  reset();
}

void Filter::reset(Pace pace) {
  constexpr double NEVER = -std::numeric_limits<double>::infinity();
  pace_ = pace;
  step = working_ = -1;
  std::fill(kept_.begin(), kept_.end(), 0.0);
  std::fill(earlier_.begin(), earlier_.end(), NEVER);
  std::fill(middle_.begin(), middle_.end(), NEVER);
  std::fill(free_.begin(), free_.end(), 0);
  path_.reset();
  for (ProgressFilter& tool : tools) tool.reset();
  outcome.reset();
}

size_t Filter::bytes() const {
  size_t total = outcome.bytes() + path_.bytes() + features_.bytes() + recent_.bytes() +
                 found.capacity() * sizeof(infoatlas_event) + followed.capacity() +
                 8 * (3 * now_.size() + 4 * free_.size() + parts_.size());
  for (const ProgressFilter& tool : tools) total += sizeof(tool) + tool.bytes();
  return total;
}

void Filter::push(const double* state) {
  ++step;
  path_.push(state, now_.data());
  double* apart = now_.data() + width_;
  for (const Tool& tool : task_.tools)
    for (auto pair = tool.model.pairs.begin(); pair != tool.model.pairs.end(); pair += 6)
      for (int i = 0; i < 3; ++i) *apart++ = state[pair[3 + i]] - state[pair[i]];
  if (pace_.parts > 1) {  // slower than the demonstrations: working steps in between
    if (step == 0) kept_ = now_;
    for (int64_t part = step ? 1 : pace_.parts; part <= pace_.parts; ++part) {
      const double share = static_cast<double>(part) / static_cast<double>(pace_.parts);
      for (size_t i = 0; i < now_.size(); ++i)
        between_[i] = kept_[i] + (now_[i] - kept_[i]) * share;
      advance(between_.data());
    }
    kept_ = now_;
    return;
  }
  for (size_t i = 0; i < now_.size(); ++i) kept_[i] += now_[i];
  if ((step + 1) % pace_.stride) return;
  for (size_t i = 0; i < now_.size(); ++i)
    between_[i] = kept_[i] / static_cast<double>(pace_.stride);
  std::fill(kept_.begin(), kept_.end(), 0.0);
  advance(between_.data());
}

// Takes a working step.
void Filter::advance(const double* path) {
  std::copy_n(path, width_, recent_[++working_]);
  const double* apart = path + width_;
  for (size_t i = 0; i < tools.size(); ++i) {
    tools[i].push(path, apart);
    apart += task_.tools[i].model.pairs.size() / 2;
  }
  outcome.push(path, path + width_, working_, step, tools);
  score();
}

void Filter::score() {
  const Detectors& own = task_.detectors;
  const Window& widest = own.features.widest;
  const int64_t length = std::min(working_ + 1, widest.before + widest.after + 1);
  if (length <= widest.after) return;
  const double* features = features_.compute(recent_, working_, length);
  const auto count = static_cast<size_t>(own.features.count());
  for (size_t k = 0; k < score_.size(); ++k) {
    double sum = 0;
    for (size_t i = 0; i < count; ++i) sum += features[i] * own.coefficients[k * count + i];
    score_[k] = sum + own.offset[k];
  }
  detect();
  std::swap(earlier_, middle_);
  std::swap(middle_, score_);
}

// Key states at the working step before the one of the score.
void Filter::detect() {
  const Detectors& own = task_.detectors;
  const int64_t at = working_ - own.features.widest.after - 1;
  const int64_t recorded =
      pace_.parts > 1 ? (at + pace_.parts - 1) / pace_.parts
                      : at * pace_.stride + (pace_.stride - 1) / 2;
  for (size_t k = 0; k < score_.size(); ++k) {
    const double middle = middle_[k];
    int64_t* parts = parts_.data() + k * tools.size();
    const int64_t* earliest = own.earliest.data() + k * tools.size();
    bool early = false;
    for (size_t i = 0; i < tools.size(); ++i) {
      if (tools[i].part < parts[i]) free_[k] %= FOREVER;  // a retry: a tool went back
      early = early || tools[i].part < earliest[i];
    }
    const bool peak = middle > earlier_[k] + own.rise && middle >= score_[k] - own.rise &&
                      middle > own.threshold[k] && std::isfinite(earlier_[k]);
    if (!followed[k] || !peak || early || at < free_[k]) continue;
    free_[k] = at + own.gap + (own.once[k] ? FOREVER : 0);
    for (size_t i = 0; i < tools.size(); ++i) parts[i] = tools[i].part;
    found.push_back({sizeof(infoatlas_event), static_cast<int64_t>(k),
                     task_.keystates[k].c_str(), recorded, step, 0, 0,
                     std::clamp(middle, 0.0, 1.0), ""});
  }
}

}  // namespace infoatlas::follow
