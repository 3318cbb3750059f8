// window MODEL.onnx D < STATES: estimates of a window of float64 states [D], and how often memory
// was allocated by them.
#include <cstdio>
#include <cstdlib>
#include <infoatlas/infoatlas.hpp>
#include <vector>

#include "counted.h"

int main(int count, char** arguments) try {
  if (count != 3) return 2;
  const infoatlas::Model model(arguments[1]);
  infoatlas_window_settings settings{};
  settings.d = std::atoi(arguments[2]);
  settings.steps = 60;
  settings.lag = 2;
  infoatlas::Window window(model, settings);
  try {
    infoatlas::Window(model, infoatlas_window_settings{});
    return 3;
  } catch (const infoatlas::Error& error) {
    if (error.status() != INFOATLAS_INPUT_ERROR) return 4;
  }
  std::vector<double> state(static_cast<std::size_t>(settings.d));
  long within = 0;
  while (std::fread(state.data(), 8, state.size(), stdin) == state.size()) {
    const long before = allocations;
    infoatlas_estimate found;
    const bool there = window.push(state.data()) && window.run(found);
    within += allocations - before;
    if (there)
      std::printf("%.17g %.17g\n", found.mi, found.pointwise[found.samples - 1]);
    else
      std::printf("%s\n", window.reason());
  }
  std::printf("%ld of %ld allocations\n", within, allocations.load());
  return 0;
} catch (const infoatlas::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
