// Follows a task in a control loop, and prints its key states and the times of the calls.
//
//     follow TASK.json STATES.csv RATE [PUSHES [free]]
//
// STATES.csv has a state in each row, RATE of them a second, and may begin with the names of the
// columns. Each period of the loop pushes the next row. After the last one, the next episode begins
// with the first row, until PUSHES rows were pushed. `free`: without waiting for the periods.
#include <infoatlas/follower.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

using Clock = std::chrono::steady_clock;

struct Table {
  std::vector<std::string> names;
  std::vector<double> values;
  std::size_t width = 0, rows = 0;
};

bool number(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return end != text.c_str() && *end == '\0';
}

Table read(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw std::runtime_error(path + " cannot be opened");
  Table table;
  for (std::string line, cell; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    std::vector<std::string> cells;
    for (std::istringstream row(line); std::getline(row, cell, ',');) cells.push_back(cell);
    if (table.width == 0) table.width = cells.size();
    double value = 0;
    if (table.rows == 0 && table.names.empty() && !cells.empty() && !number(cells[0], value)) {
      table.names = cells;
      continue;
    }
    bool good = cells.size() == table.width;
    for (const std::string& text : cells) {
      good = good && number(text, value);
      table.values.push_back(value);
    }
    if (!good) throw std::runtime_error(path + ": no state: " + line.substr(0, 60));
    ++table.rows;
  }
  if (table.rows == 0) throw std::runtime_error(path + " has no states");
  return table;
}

// The names in the file are those of the task, if both have names.
void compare(const Table& table, const infoatlas_task_info& task) {
  for (std::size_t i = 0; task.column_names && i < table.names.size(); ++i) {
    const std::string name = i < static_cast<std::size_t>(task.columns) ? task.column_names[i] : "";
    if (table.names[i] != name)
      throw std::runtime_error("column " + table.names[i] + " should be " + name);
  }
}

void print(const infoatlas_event& event) {
  std::printf("%s at %.3f s, score %.2f, detected at %.3f s in \"%s\"\n", event.name, event.stamp,
              event.score, event.detected_stamp, event.subtask);
}

void print(std::vector<double>& times, std::int64_t bytes) {
  std::sort(times.begin(), times.end());
  const auto quantile = [&](double q) {
    return times[static_cast<std::size_t>(q * static_cast<double>(times.size() - 1))];
  };
  std::printf("%zu pushes, microseconds: median %.2f, p99 %.2f, p99.9 %.2f, largest %.2f\n",
              times.size(), quantile(0.5), quantile(0.99), quantile(0.999), times.back());
  std::printf("memory of the follower: %lld bytes\n", static_cast<long long>(bytes));
}

void follow(const infoatlas::Task& task, const Table& table, double rate, std::size_t pushes,
            bool free) {
  infoatlas::Follower follower(task, rate);
  infoatlas_subtask subtask;
  const bool tools = task.describe().tools > 0;
  std::vector<double> times(pushes);
  const auto start = Clock::now();
  for (std::size_t i = 0; i < pushes; ++i) {
    const std::size_t row = i % table.rows;
    const double seconds = static_cast<double>(i) / rate;
    if (!free) std::this_thread::sleep_until(start + std::chrono::duration<double>(seconds));
    if (row == 0) follower.reset();
    const auto before = Clock::now();
    const auto events = follower.push(&table.values[row * table.width], table.width, seconds);
    const bool known = tools && follower.subtask(subtask);
    times[i] = std::chrono::duration<double, std::micro>(Clock::now() - before).count();
    for (const infoatlas_event& event : events) print(event);
    if (known && row + 1 == table.rows)
      std::printf("end: \"%s\", task %.0f%%\n", subtask.name, 100 * subtask.task_progress);
  }
  print(times, follower.describe().bytes);
}

int main(int count, char** arguments) try {
  if (count < 4) throw std::runtime_error("follow TASK.json STATES.csv RATE [PUSHES [free]]");
  const infoatlas::Task task(arguments[1]);
  const Table table = read(arguments[2]);
  compare(table, task.describe());
  const std::size_t pushes = count > 4 ? std::strtoull(arguments[4], nullptr, 10) : table.rows;
  follow(task, table, std::atof(arguments[3]), std::max<std::size_t>(pushes, 1), count > 5);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
