// libinfoatlas under sanitizers: any samples and states, several threads, and damaged files.
//
//     library_program MODEL.onnx SECONDS    (for the readers of damaged files)
#include <infoatlas/infoatlas.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "checksum.h"
#include "description.h"
#include "onnx_file.h"
#include "wire.h"

namespace {

using Random = std::mt19937_64;

void require(bool good, const char* what) {
  if (!good) throw std::logic_error(what);
}

int64_t draw(Random& random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

// Exactly as many values, so that the sanitizer sees what is beyond them.
std::vector<double> values(Random& random, int64_t count, bool any) {
  std::vector<double> found(static_cast<size_t>(count));
  const int64_t kind = draw(random, 0, 5);
  for (double& value : found) {
    value = std::normal_distribution<>()(random);
    if (kind == 0) value = std::round(value);
    if (kind == 1) value *= 1e-310;
    if (kind == 2) value *= 1e300;
    if (kind == 3) value = 1;
    if (kind == 4 && (&value - found.data()) % 2) value = -*(&value - 1);  // copies, if d is even
    if (any && !draw(random, 0, 40)) value = draw(random, 0, 1) ? NAN : INFINITY;
  }
  return found;
}

infoatlas_settings any_settings(Random& random, int64_t dim) {
  infoatlas_settings found{};
  found.threads = draw(random, 1, 3);
  found.slices = draw(random, 0, 6);
  found.k = draw(random, 0, dim);
  found.shifts = draw(random, 0, 1) ? 0 : draw(random, 4, 60);
  found.seed = random();
  return found;
}

void estimators(const infoatlas::Model& model, Random& random) {
  const infoatlas_model_info info = model.describe();
  const int64_t n = draw(random, info.n_min, info.n_min + 60);
  const int64_t dx = draw(random, info.dim, 9 + info.dim), dy = draw(random, info.dim, 30);
  infoatlas::Estimator estimator(model, n, dx, dy, any_settings(random, info.dim));
  for (int round = 0; round < 10; ++round) {
    infoatlas_samples samples{};
    samples.n = draw(random, info.n_min - 1, n + 1);
    const std::vector<double> x = values(random, samples.n * dx, round % 3 == 2),
                              y = values(random, samples.n * dy, round % 3 == 2);
    std::vector<double> resolution = values(random, dx, false);
    for (double& step : resolution) step = std::abs(step);
    samples.x = x.data();
    samples.y = y.data();
    if (round % 2) samples.resolution_x = resolution.data();
    samples.time_series = round % 4 == 0;
    try {
      const infoatlas_estimate found = estimator.run(samples);
      require(std::isfinite(found.mi + found.standard_error + found.pointwise[samples.n - 1]) &&
                  found.mi >= -0.1 && found.standard_error >= 0,
              "an estimate that cannot be");
    } catch (const infoatlas::Error& error) {
      require(error.status() == INFOATLAS_INPUT_ERROR, error.what());
    }
  }
}

void windows(const infoatlas::Model& model, Random& random) {
  const infoatlas_model_info info = model.describe();
  infoatlas_window_settings settings{};
  settings.d = draw(random, info.dim, 12 + info.dim);
  settings.other = draw(random, 0, 1) ? 0 : draw(random, info.dim, 12 + info.dim);
  settings.steps = draw(random, info.n_min, info.n_min + 30);
  settings.lag = draw(random, settings.other ? 0 : 1, 5);
  settings.history = draw(random, 0, 4);
  settings.increments = draw(random, 0, 1) > 0;
  infoatlas::Window window(model, settings, any_settings(random, info.dim));
  int64_t done = 0;
  for (int64_t step = 0; step < 3 * settings.steps; ++step) {
    const std::vector<double> state = values(random, settings.d, !draw(random, 0, 30)),
                              other = values(random, settings.other, false);
    const bool taken = window.push(state.data(), settings.other ? other.data() : nullptr);
    require(taken || window.reason()[0] == 'r', "a state that is left out without a reason");
    if (!draw(random, 0, 60)) window.hole();
    if (!draw(random, 0, 90)) window.lost();
    if (!draw(random, 0, 500)) window.reset();
    infoatlas_estimate found;
    done += step % 5 == 0 && window.run(found);
    require(std::strlen(window.reason()) > 1, "no reason");
  }
}

// The content with some changes, half of them near the end, where the metadata are.
std::string changed(std::string content, Random& random) {
  for (int64_t changes = draw(random, 1, 8); changes > 0; --changes) {
    const auto size = static_cast<int64_t>(content.size());
    const int64_t least = draw(random, 0, 1) ? 0 : std::max<int64_t>(size - 6000, 0);
    content[static_cast<size_t>(draw(random, least, size - 1))] =
        static_cast<char>(draw(random, 0, 255));
  }
  if (!draw(random, 0, 7))
    content.resize(static_cast<size_t>(draw(random, 1, static_cast<int64_t>(content.size()))));
  return content;
}

// The file with its right checksum: refused with a reason, or taken and used.
void damaged_model(const std::string& whole, const std::string& stated, Random& random) {
  std::string content = changed(whole, random);
  const std::string own = infoatlas::checksum(content);
  const size_t at = content.find(stated);
  if (at != std::string::npos && own.size() == stated.size())
    content.replace(at, own.size(), own);
  try {
    const infoatlas::Model model(content.data(), content.size());
    estimators(model, random);
  } catch (const infoatlas::Error& error) {
    require(error.status() == INFOATLAS_FILE_ERROR && std::strlen(error.what()) > 8, error.what());
  }
}

// The metadata and the small weights of a file, which are read in a moment.
std::string thinned(std::string_view whole) {
  constexpr int GRAPH = 7, INITIALIZER = 5;
  constexpr int64_t SMALL = 300;
  const auto bytes = [](std::string_view text) {
    const auto* at = reinterpret_cast<const unsigned char*>(text.data());
    return infoatlas::Bytes{at, at + text.size()};
  };
  const auto message = [](int number, const std::string& content) {
    std::string found;
    for (uint64_t value : {uint64_t(number) << 3 | 2, uint64_t(content.size())}) {
      for (; value >= 128; value >>= 7) found += static_cast<char>(value | 128);
      found += static_cast<char>(value);
    }
    return found + content;
  };
  std::string found;
  for (infoatlas::Reader field(bytes(whole)); field.next();) {
    if (!field.content.at) continue;
    std::string own = field.content.text();
    if (field.number == GRAPH) {
      own.clear();
      for (infoatlas::Reader part(field.content); part.next();)
        if (part.number == INITIALIZER && part.content.end - part.content.at < SMALL)
          own += message(INITIALIZER, part.content.text());
    }
    found += message(field.number, own);
  }
  return found;
}

// The readers alone, of damaged files.
void readers(const std::string& whole, Random& random, double seconds) {
  const std::string small = thinned(whole);
  const auto start = std::chrono::steady_clock::now();
  int64_t tried = 0, taken = 0;
  for (; std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < seconds;
       ++tried) {
    const std::string content = changed(small, random);
    infoatlas::checksum(content);
    try {
      infoatlas::describe(infoatlas::read_onnx(content, "it").metadata, "it");
      ++taken;
    } catch (const std::runtime_error& error) {
      require(std::strlen(error.what()) > 8, "a refusal without a reason");
    }
  }
  std::printf("%ld files of %ld bytes, %ld of them taken\n", long(tried), long(small.size()),
              long(taken));
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return 2;
  try {
    std::ifstream file(arguments[1], std::ios::binary);
    const std::string content{std::istreambuf_iterator<char>(file), {}};
    const infoatlas::Model model{std::string(arguments[1])};
    std::vector<std::thread> threads;
    std::vector<std::string> faults(3);
    for (size_t i = 0; i < faults.size(); ++i)
      threads.emplace_back([&model, &fault = faults[i], i] {
        try {
          Random own(i);
          for (int round = 0; round < 6; ++round) {
            estimators(model, own);
            windows(model, own);
          }
        } catch (const std::exception& error) {
          fault = error.what();
        }
      });
    for (std::thread& thread : threads) thread.join();
    for (const std::string& fault : faults) require(fault.empty(), fault.c_str());
    Random random(1);
    const std::string stated = infoatlas::checksum(content);
    require(content.find(stated) != std::string::npos, "a model without its checksum");
    for (int round = 0; round < 20; ++round) damaged_model(content, stated, random);
    readers(content, random, std::atof(arguments[2]));
    std::printf("%s: nothing found\n", arguments[1]);
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
