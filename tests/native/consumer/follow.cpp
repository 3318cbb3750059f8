// Follows an episode with the C++ classes: states on the standard input, reports in JSON.
//
//     follow TASK.json RATE FOLLOW_ALL    (lines "STAMP VALUE..." or "reset")
#include <infoatlas/follower.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>
#include <string>
#include <vector>

namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return std::isnan(value) ? "null" : text;
}

void print(const infoatlas_event& event) {
  std::cout << "{\"keystate\": " << event.keystate << ", \"step\": " << event.step
            << ", \"detected_step\": " << event.detected_step
            << ", \"stamp\": " << number(event.stamp)
            << ", \"detected_stamp\": " << number(event.detected_stamp)
            << ", \"score\": " << number(event.score) << ", \"subtask\": \"" << event.subtask
            << "\"}";
}

void print(const infoatlas_subtask& subtask) {
  std::cout << "{\"index\": " << subtask.index << ", \"progress\": " << number(subtask.progress)
            << ", \"task_progress\": " << number(subtask.task_progress)
            << ", \"waiting\": " << number(subtask.waiting)
            << ", \"seconds\": " << number(subtask.seconds)
            << ", \"stalled\": " << (subtask.stalled ? "true" : "false") << "}";
}

void report(const infoatlas::Follower& follower, std::int64_t tools,
            const infoatlas::Follower::Events& events) {
  const char* comma = "";
  std::cout << "{\"events\": [";
  for (const infoatlas_event event : events) {
    std::cout << comma;
    print(event);
    comma = ", ";
  }
  std::cout << "], \"subtasks\": [";
  for (std::int64_t tool = 0; tool < tools; ++tool) {
    infoatlas_subtask subtask;
    std::cout << (tool ? ", " : "");
    if (follower.subtask(subtask, tool))
      print(subtask);
    else
      std::cout << "null";
  }
  static const char* const STATES[] = {"running", "done", "failed", "unknown"};
  const infoatlas_outcome outcome = follower.outcome();
  std::cout << "], \"outcome\": {\"state\": \"" << STATES[outcome.state]
            << "\", \"since\": " << outcome.since << ", \"reason\": \"" << outcome.reason
            << "\"}}" << std::endl;
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 4) return 2;
  const infoatlas::Task task{std::string(arguments[1])};
  infoatlas::Follower follower(task, std::atof(arguments[2]), std::atoi(arguments[3]) != 0);
  const std::int64_t tools = task.describe().tools;
  report(follower, tools, {follower.get(), 0});
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::vector<double> values;
    for (std::string word; words >> word;) values.push_back(std::strtod(word.c_str(), nullptr));
    try {
      infoatlas::Follower::Events events{follower.get(), 0};
      if (line == "reset")
        follower.reset();
      else
        events = follower.push(values.data() + 1, static_cast<std::int64_t>(values.size()) - 1,
                               values[0]);
      report(follower, tools, events);
    } catch (const infoatlas::Error& error) {
      std::cout << "{\"refused\": \"" << error.what() << "\"}" << std::endl;
    }
  }
}
