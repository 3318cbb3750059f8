// Reads task files with the checks of Python's `Task.load`, and limits of sizes.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "json.h"
#include "task.h"

namespace infoatlas::follow {
namespace {

using json::Malformed;
using json::Value;

constexpr int64_t FORMAT = 8;
constexpr int64_t MOST_COLUMNS = 1 << 16, MOST_STEPS = 256, MOST_BINS = 1024;
constexpr int64_t MOST_STAMPS = 1 << 20, MOST_WORKING_STEPS = int64_t{1} << 32;
constexpr double NONE = std::numeric_limits<double>::quiet_NaN();

void require(bool good, const std::string& what) {
  if (!good) throw Malformed(what);
}

// A member of an object as `read` makes it; the message of a fault names the member.
template <class Read>
auto member(const Value& object, const char* name, Read read) {
  const Value& value = object[name];
  try {
    return read(value);
  } catch (const Malformed& error) {
    throw Malformed(std::string(name) + ": " + error.what());
  }
}

template <class Read>
auto list(const Value& object, const char* name, Read read) {
  return member(object, name, [&](const Value& value) {
    std::vector<decltype(read(value))> found;
    for (const Value& item : value.array()) found.push_back(read(item));
    return found;
  });
}

enum class Needs { FINITE, POSITIVE, GAPS };  // with gaps, null is NaN

void append(Reals& found, const Value& row, size_t count, Needs needs) {
  require(row.array().size() == count, std::to_string(count) + " numbers are expected");
  for (const Value& value : row.array()) {
    found.push_back(needs == Needs::GAPS && value.null() ? NONE : value.number());
    require(needs != Needs::POSITIVE || found.back() > 0, "numbers above 0 are expected");
  }
}

Reals reals(const Value& object, const char* name, size_t count, Needs needs = Needs::FINITE) {
  return member(object, name, [&](const Value& value) {
    Reals found;
    append(found, value, count, needs);
    return found;
  });
}

Reals matrix(const Value& object, const char* name, size_t rows, size_t columns) {
  return member(object, name, [&](const Value& value) {
    require(value.array().size() == rows, std::to_string(rows) + " rows are expected");
    Reals found;
    for (const Value& row : value.array()) append(found, row, columns, Needs::FINITE);
    return found;
  });
}

double number(const Value& object, const char* name) {
  return member(object, name, [](const Value& value) {
    require(value.number() > 0, "a number above 0 is expected");
    return value.number();
  });
}

double real(const Value& object, const char* name) {
  return member(object, name, [](const Value& value) { return value.number(); });
}

std::vector<bool> flags(const Value& object, const char* name, size_t count) {
  return member(object, name, [&](const Value& value) {
    std::vector<bool> found;
    for (const Value& flag : value.array()) found.push_back(flag.boolean());
    require(found.size() == count, std::to_string(count) + " truth values are expected");
    return found;
  });
}

int64_t integer(const Value& object, const char* name, int64_t least, int64_t most) {
  return member(object, name, [&](const Value& value) { return value.integer(least, most); });
}

Indices indices(const Value& object, const char* name, int64_t count, int64_t least = 0) {
  return list(object, name, [&](const Value& v) { return v.integer(least, count - 1); });
}

std::string text(const Value& object, const char* name) {
  return member(object, name, [](const Value& value) { return value.text(); });
}

// Rows of so many indices below `count`.
Indices rows(const Value& object, const char* name, size_t columns, int64_t count) {
  Indices found;
  for (const Indices& row : list(object, name, [&](const Value& value) {
         require(value.array().size() == columns,
                 std::to_string(columns) + " integers are expected");
         Indices own;
         for (const Value& v : value.array()) own.push_back(v.integer(0, count - 1));
         return own;
       }))
    found.insert(found.end(), row.begin(), row.end());
  return found;
}

Group read_group(const Value& value, int64_t width) {
  static const struct {
    const char* name;
    Kind kind;
    size_t size;
  } KINDS[] = {{"angle", Kind::ANGLE, 1},   {"quaternion", Kind::QUATERNION, 4},
               {"rotation_vector", Kind::VECTOR, 3}, {"euler", Kind::EULER, 3},
               {"matrix", Kind::MATRIX, 9}, {"rotation_6d", Kind::SIX, 6}};
  const std::string name = text(value, "kind");
  const auto known = std::find_if(std::begin(KINDS), std::end(KINDS),
                                  [&](const auto& kind) { return kind.name == name; });
  require(known != std::end(KINDS), "kind: one of a rotation or an angle is expected");
  Group group{known->kind, indices(value, "columns", width), number(value, "turn")};
  const std::set<int64_t> different(group.columns.begin(), group.columns.end());
  require(group.columns.size() == known->size && different.size() == known->size,
          "columns: " + std::to_string(known->size) + " different ones are expected");
  return group;
}

Source read_source(const Value& value, const Coordinates& own) {
  require(value.array().size() == 2, "two integers are expected");
  const int64_t group = value.array()[0].integer(-1, static_cast<int64_t>(own.groups.size()) - 1);
  const int64_t axes = group < 0 ? own.width
                       : own.groups[static_cast<size_t>(group)].kind == Kind::ANGLE ? 1 : 3;
  return {group, value.array()[1].integer(0, axes - 1)};
}

Coordinates read_coordinates(const Value& value) {
  Coordinates own{integer(value, "width", 1, MOST_COLUMNS), {}, {}};
  own.groups = list(value, "groups", [&](const Value& v) { return read_group(v, own.width); });
  own.parts = list(value, "parts", [&](const Value& v) { return read_source(v, own); });
  std::set<std::pair<int64_t, int64_t>> different;
  for (const Source& part : own.parts) different.emplace(part.group, part.axis);
  require(!own.parts.empty() && different.size() == own.parts.size(),
          "parts: different coordinates are expected");
  return own;
}

Timing read_timing(const Value& value) {
  return {integer(value, "stride", 1, MOST_WORKING_STEPS),
          value["rate"].null() ? NONE : number(value, "rate"), number(value, "frequency")};
}

Range range(const Value& object, const char* name) {
  const Reals found = reals(object, name, 2);
  return {found[0], found[1]};
}

StreamRate read_stream(const Value& value) {
  const int64_t first = integer(value, "stamps_for_rate", 2, MOST_STEPS);
  return {integer(value, "stamps_kept", first, MOST_STAMPS), first, range(value, "usual"),
          range(value, "same"), number(value, "averaged")};
}

Window read_window(const Value& value) {
  require(value.array().size() == 2, "two integers are expected");
  return {value.array()[0].integer(1, MOST_STEPS), value.array()[1].integer(1, MOST_STEPS)};
}

Features read_features(const Value& value, size_t coordinates) {
  Features own;
  own.columns = indices(value, "columns", static_cast<int64_t>(coordinates));
  own.windows = list(value, "windows", read_window);
  require(!own.windows.empty(), "windows: at least one is expected");
  const size_t count = own.columns.size();
  own.scale = reals(value, "scale", count, Needs::POSITIVE);
  own.rest = reals(value, "rest", count, Needs::POSITIVE);
  own.centre = reals(value, "centre", count);
  own.gain = reals(value, "gain", count);
  own.weight = reals(value, "weight", count);
  own.clip = number(value, "clip");
  own.fewest = integer(value, "fewest", 0, MOST_STEPS);
  own.widest = own.windows[0];
  for (const Window& window : own.windows)
    own.widest = {std::max(own.widest.before, window.before),
                  std::max(own.widest.after, window.after)};
  return own;
}

Detectors read_detectors(const Value& value, size_t count, size_t tools) {
  Detectors own;
  own.coordinates = member(value, "coordinates", read_coordinates);
  own.timing = member(value, "timing", read_timing);
  own.stream = member(value, "stream", read_stream);
  const size_t width = own.coordinates.parts.size();
  own.features =
      member(value, "features", [&](const Value& v) { return read_features(v, width); });
  const auto features = static_cast<size_t>(own.features.count());
  own.coefficients = matrix(value, "coefficients", count, features);
  own.offset = reals(value, "offset", count);
  own.threshold = reals(value, "threshold", count, Needs::GAPS);
  own.once = flags(value, "once", count);
  own.followed = flags(value, "followed", count);
  own.earliest = rows(value, "earliest", tools, json::MOST_VALUES);
  require(own.earliest.size() == count * tools, "earliest: a row for each key state is expected");
  own.gap = integer(value, "gap", 1, MOST_WORKING_STEPS);
  own.rise = number(value, "rise");
  for (const char* name : {"recall", "delay", "false_reports"})
    reals(value, name, count, Needs::GAPS);
  for (size_t k = 0; k < count; ++k) {
    if (!std::isnan(own.threshold[k])) continue;
    require(!own.followed[k], "threshold: a key state that is followed has none");
    own.threshold[k] = std::numeric_limits<double>::infinity();
  }
  return own;
}

ProgressModel read_model(const Value& value, const Coordinates& coordinates) {
  ProgressModel own;
  own.parts = indices(value, "parts", json::MOST_VALUES);
  own.bins = indices(value, "bins", MOST_BINS + 1, 1);
  require(!own.parts.empty() && own.parts.size() == own.bins.size(),
          "bins: one number for each part is expected");
  size_t count = 0;
  for (const int64_t bins : own.bins) count += static_cast<size_t>(bins);
  require(count <= MOST_BINS, "bins: at most " + std::to_string(MOST_BINS) + " are expected");
  own.pairs = rows(value, "pairs", 6, coordinates.width);
  own.back = integer(value, "back", 1, MOST_STEPS);
  const size_t p = coordinates.parts.size(), m = 5 * own.pairs.size() / 6;
  const size_t q = member(value, "offset", [](const Value& v) { return v.array().size(); });
  require(q > 0, "offset: at least one number is expected");
  own.centre = reals(value, "centre", p);
  own.scale = reals(value, "scale", p, Needs::POSITIVE);
  own.rms = reals(value, "rms", p, Needs::POSITIVE);
  own.centre_between = reals(value, "centre_between", m);
  own.scale_between = reals(value, "scale_between", m, Needs::POSITIVE);
  own.projection = matrix(value, "projection", 2 * p + m, q);
  own.offset = reals(value, "offset", q);
  own.means = matrix(value, "means", count, q);
  own.end = reals(value, "end", q);
  own.before = reals(value, "before", own.parts.size() + 1);
  own.start = reals(value, "start", count);
  double total = 0;
  for (const double share : own.start) {
    require(share >= 0, "start: numbers from 0 are expected");
    total += share;
  }
  require(total > 0, "start: a number above 0 is expected");
  own.moves = rows(value, "moves", 2, static_cast<int64_t>(count));
  own.probabilities = reals(value, "probabilities", own.moves.size() / 2, Needs::POSITIVE);
  own.anywhere = number(value, "anywhere");
  require(own.anywhere < 1, "anywhere: a number below 1 is expected");
  own.temper = number(value, "temper");
  own.certain = number(value, "certain");
  own.near = number(value, "near");
  own.cap = number(value, "cap");
  own.clip = number(value, "clip");
  own.resolution = number(value, "resolution");
  return own;
}

Tool read_tool(const Value& value, const Coordinates& coordinates) {
  Tool own;
  own.model =
      member(value, "model", [&](const Value& v) { return read_model(v, coordinates); });
  const size_t count = own.model.parts.size();
  for (const char* name : {"right", "error"}) reals(value, name, count, Needs::GAPS);
  own.usual = reals(value, "usual", count, Needs::POSITIVE);
  own.followed = flags(value, "followed", count);
  own.limit = member(value, "limit", [](const Value& v) {
    return v.null() ? std::numeric_limits<double>::infinity() : v.number();
  });
  return own;
}

Part read_part(const Value& value) {
  require(value.object().size() == 4, "name, tool, reference and held are expected");
  return {text(value, "name"), text(value, "tool"), text(value, "reference"), text(value, "held")};
}

Gripper read_gripper(const Value& value, int64_t width, int64_t pairs) {
  const auto text_of = [](const Value& v) { return v.text(); };
  Gripper own{text(value, "name"), indices(value, "columns", width), {}, real(value, "zero"),
              number(value, "change"), number(value, "jitter"),
              integer(value, "settle", 1, MOST_WORKING_STEPS), list(value, "usual", text_of),
              {}, {}, {}, indices(value, "pair", pairs, -1),
              indices(value, "part", int64_t{1} << 31)};
  own.weights = reals(value, "weights", own.columns.size());
  const size_t n = own.pair.size();
  require(own.part.size() == n && own.usual.size() == n, "one value for each grasp is expected");
  own.least = reals(value, "least", n);
  own.early = reals(value, "early", n);
  own.slip = reals(value, "slip", n);
  return own;
}

double share(const Value& object, const char* name) {
  return object[name].null() ? NONE : real(object, name);
}

OutcomeModel read_outcome(const Value& value, const Task& task) {
  size_t pairs = 0;
  for (const Tool& tool : task.tools) pairs += tool.model.pairs.size() / 6;
  OutcomeModel own{real(value, "near"), integer(value, "wait", 0, MOST_WORKING_STEPS), text(value, "reason"),
                   share(value, "false_done"), share(value, "found"), {}};
  text(value, "about");
  const auto width = static_cast<int64_t>(task.detectors.coordinates.parts.size());
  own.grippers = list(value, "grippers", [&](const Value& v) {
    return read_gripper(v, width, static_cast<int64_t>(pairs));
  });
  return own;
}

// Each tool has a model of its own parts; tools are in the order of their first parts.
void check_tools(const Task& task) {
  std::vector<std::string> names;
  std::vector<Indices> own;
  for (size_t i = 0; i < task.parts.size(); ++i) {
    const auto at = std::find(names.begin(), names.end(), task.parts[i].tool) - names.begin();
    if (at == static_cast<std::ptrdiff_t>(names.size())) {
      names.push_back(task.parts[i].tool);
      own.emplace_back();
    }
    own[static_cast<size_t>(at)].push_back(static_cast<int64_t>(i));
  }
  require(own.size() == task.tools.size(), "tools: one for each tool of the parts is expected");
  for (size_t i = 0; i < own.size(); ++i)
    require(task.tools[i].model.parts == own[i], "tools: models of other parts");
}

}  // namespace

Task read_task(std::string_view file) {
  const Value value = json::parse(file);
  integer(value, "format", FORMAT, FORMAT);
  const auto name = [](const Value& v) { return v.text(); };
  Task task{list(value, "keystates", name), list(value, "columns", name), {}, {}, {}, 0, {}};
  const size_t count = task.keystates.size();
  const size_t tools = member(value, "subtasks", [](const Value& subtasks) {
    return subtasks.null() ? 0 : subtasks["tools"].array().size();
  });
  task.detectors = member(
      value, "detectors", [&](const Value& v) { return read_detectors(v, count, tools); });
  const Coordinates& coordinates = task.detectors.coordinates;
  require(task.columns.empty() || static_cast<int64_t>(task.columns.size()) == coordinates.width,
          "columns: one name for each column is expected");
  member(value, "subtasks", [&](const Value& subtasks) {
    if (subtasks.null()) return;
    task.parts = list(subtasks, "parts", read_part);
    task.tools =
        list(subtasks, "tools", [&](const Value& v) { return read_tool(v, coordinates); });
    task.stalled = number(subtasks, "stalled");
    check_tools(task);
  });
  task.outcome = member(value, "outcome", [&](const Value& v) { return read_outcome(v, task); });
  return task;
}

}  // namespace infoatlas::follow
