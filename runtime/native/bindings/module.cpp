// The module infoatlas_native._engine, which checks all arrays.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <pthread.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine.h"
#include "estimator.h"
#include "model_code.h"

namespace nb = nanobind;

namespace {

constexpr int kInterface = 7;  // version of this module for infoatlas_native/__init__.py
constexpr int64_t kLargest = int64_t{1} << 40;  // values in an array, at most: far from overflow

using Input = nb::ndarray<nb::ro, nb::device::cpu>;
using Output = nb::ndarray<nb::device::cpu>;

// A thread that acquires the GIL after Python has ended is terminated by unwinding (up to Python
// 3.13), and C++ then terminates the process. So the end of Python waits for calls that run without
// the GIL, for at most one estimate; calls that begin later keep the GIL. All members are accessed
// with the GIL.
struct Calls {
  int64_t running = 0;  // calls without the GIL
  bool closing = false;
} calls;

class Released {
 public:
  Released() {
    if (calls.closing) return;
    ++calls.running;
    state_ = PyEval_SaveThread();
  }
  ~Released() {
    if (!state_) return;
    PyEval_RestoreThread(state_);
    --calls.running;
  }
  Released(const Released&) = delete;
  Released& operator=(const Released&) = delete;

 private:
  PyThreadState* state_ = nullptr;
};

// Called by Python's module atexit.
void finish_calls() {
  calls.closing = true;
  // A daemon thread keeps its engine until the end of the process, which is no leak.
  nb::set_leak_warnings(false);
  while (calls.running) {
    const nb::gil_scoped_release released;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

std::string text(const int64_t* sizes, size_t count) {
  std::string found = "[";
  for (size_t i = 0; i < count; ++i) {
    found += (i ? ", " : "") + (sizes[i] < 0 ? "any" : std::to_string(sizes[i]));
  }
  return found + "]";
}

template <class T>
const char* type_name() {
  if (std::is_same_v<T, float>) return "float32";
  if (std::is_same_v<T, double>) return "float64";
  return std::is_same_v<T, bool> ? "bool" : "int64";
}

// The values of an array of this type and shape, in C order; a size of -1 stands for any.
template <class T, class Array>
auto values(const Array& array, const char* name, std::initializer_list<int64_t> shape) {
  if (array.dtype() != nb::dtype<T>()) {
    throw nb::value_error((std::string(name) + " is not an array of " + type_name<T>()).c_str());
  }
  bool good = array.ndim() == shape.size();
  int64_t step = 1;  // stride of a dimension, in values
  bool contiguous = true;
  for (size_t i = array.ndim(); good && i-- > 0;) {
    const auto size = static_cast<int64_t>(array.shape(i));
    const int64_t wanted = shape.begin()[i];
    contiguous = contiguous && (size <= 1 || array.stride(i) == step);
    good = (wanted < 0 || size == wanted) && size <= kLargest;
    step *= good ? size : 0;
    good = good && step <= kLargest;
  }
  if (!good) {
    int64_t found[8] = {};
    const size_t count = array.ndim() < 8 ? array.ndim() : 8;
    for (size_t i = 0; i < count; ++i) found[i] = static_cast<int64_t>(array.shape(i));
    throw nb::value_error((std::string(name) + " has shape " + text(found, count) +
                           " instead of " + text(shape.begin(), shape.size()))
                              .c_str());
  }
  const bool empty = step == 0;
  if (!contiguous && !empty) {
    throw nb::value_error((std::string(name) + " is not contiguous").c_str());
  }
  auto* data = array.data();
  using Value = std::conditional_t<std::is_const_v<std::remove_pointer_t<decltype(data)>>,
                                   const T, T>;
  if (!empty && reinterpret_cast<uintptr_t>(data) % alignof(T) != 0) {
    throw nb::value_error((std::string(name) + " is not aligned").c_str());
  }
  return static_cast<Value*>(data);
}

void check_indices(const int64_t* indices, int64_t count, int64_t least, int64_t most,
                   const char* name) {
  for (int64_t i = 0; i < count; ++i) {
    if (indices[i] < least || indices[i] > most) {
      throw nb::value_error((std::string(name) + " holds " + std::to_string(indices[i]) +
                             ", which is not in " + std::to_string(least) + ".." +
                             std::to_string(most))
                                .c_str());
    }
  }
}

void run(infoatlas::Engine& engine, const Input& x, const Input& y, const Input& shifts,
         const Input& sequence, const Output& mi, const Output& pointwise,
         const Output& influence, const Output& spread, const std::optional<Output>& diagnostics) {
  const float* xs = values<float>(x, "x", {-1, -1, engine.dim()});
  const auto batch = static_cast<int64_t>(x.shape(0)), n = static_cast<int64_t>(x.shape(1));
  const float* ys = values<float>(y, "y", {batch, n, engine.dim()});
  const int64_t* steps = values<int64_t>(shifts, "shifts", {-1});
  const auto m = static_cast<int64_t>(shifts.shape(0));
  const int64_t* positions = values<int64_t>(sequence, "sequence", {n});
  const infoatlas::Outputs out{
      values<float>(mi, "mi", {batch}),
      values<float>(pointwise, "pointwise", {batch, n}),
      values<float>(influence, "influence", {batch, n}),
      values<float>(spread, "spread", {batch}),
      diagnostics ? values<float>(*diagnostics, "diagnostics", {batch, engine.diagnostics()})
                  : nullptr,
  };
  check_indices(steps, m, 1, n - 1, "shifts");
  check_indices(positions, n, 0, n - 1, "sequence");
  if (batch == 0) return;
  const Released released;
  engine.run(xs, ys, batch, n, steps, m, positions, out);
}

// One side of `canonicalise`: samples [n, d] and projections [slices, k, d], or none.
infoatlas::Side side(const Input& samples, const std::optional<Input>& projections,
                     const char* name, int64_t n, int64_t slices, int64_t dim) {
  const double* found = values<double>(samples, name, {n, -1});
  const auto width = static_cast<int64_t>(samples.shape(1));
  infoatlas::Side side{found, width, nullptr, width};
  if (projections) {
    const std::string of = std::string("projections of ") + name;
    side.projections = values<double>(*projections, of.c_str(), {slices, -1, width});
    side.k = static_cast<int64_t>(projections->shape(1));
  }
  if (width < 1 || side.k < 1 || side.k > dim) {
    throw nb::value_error((std::string(name) + " has slices of " + std::to_string(side.k) +
                           " coordinates, which is not in 1.." + std::to_string(dim))
                              .c_str());
  }
  return side;
}

void canonicalise(infoatlas::Engine& engine, const Input& x, const Input& y,
                  const std::optional<Input>& projections_x,
                  const std::optional<Input>& projections_y, const Input& score_table,
                  const Output& x_out, const Output& y_out, const Output& correlations,
                  const Output& rank_x, const Output& rank_y, const Output& saturated) {
  values<double>(x, "x", {-1, -1});
  values<bool>(saturated, "saturated", {-1});
  const int64_t dim = engine.dim();
  const auto n = static_cast<int64_t>(x.shape(0));
  const auto slices = static_cast<int64_t>(saturated.shape(0));
  if (n < 2) throw nb::value_error("x has fewer than 2 samples");
  const infoatlas::Pairs pairs{
      n,
      slices,
      side(x, projections_x, "x", n, slices, dim),
      side(y, projections_y, "y", n, slices, dim),
      values<double>(score_table, "score_table", {2 * n - 1}),
  };
  const infoatlas::Canonical out{
      values<float>(x_out, "canonical x", {slices, n, dim}),
      values<float>(y_out, "canonical y", {slices, n, dim}),
      values<double>(correlations, "correlations", {slices, dim}),
      values<int64_t>(rank_x, "rank_x", {slices}),
      values<int64_t>(rank_y, "rank_y", {slices}),
      values<bool>(saturated, "saturated", {slices}),
  };
  const Released released;
  engine.canonicalise(pairs, out);
}

// Estimates of samples, for `Estimator` of infoatlas_rt. It is used by one thread at a time.
struct Estimating {
  nb::object owner;  // keeps the engine
  infoatlas::Estimator estimator;

  // The fields of `Estimate`; None for samples that cannot be used.
  nb::object run(const Input& x, const Input& y, bool time_series,
                 const std::optional<Input>& resolution_x, const std::optional<Input>& resolution_y,
                 const std::optional<std::vector<int64_t>>& redundant_x,
                 const std::optional<std::vector<int64_t>>& redundant_y, const Output& pointwise,
                 const Output& influence) {
    infoatlas::Samples samples{};
    const double* sides[] = {values<double>(x, "x", {-1, -1}),
                             values<double>(y, "y", {int64_t(x.shape(0)), -1})};
    samples.n = int64_t(x.shape(0));
    const Input* given[] = {&x, &y};
    const std::optional<Input>* steps[] = {&resolution_x, &resolution_y};
    const std::optional<std::vector<int64_t>>* known[] = {&redundant_x, &redundant_y};
    std::vector<char> redundant[2];
    for (int i = 0; i < 2; ++i) {
      samples.side[i] = sides[i];
      samples.d[i] = int64_t(given[i]->shape(1));
      if (*steps[i]) samples.resolution[i] = values<double>(**steps[i], "resolution", {samples.d[i]});
      if (!*known[i]) continue;
      const std::vector<int64_t>& out = **known[i];
      check_indices(out.data(), int64_t(out.size()), 0, samples.d[i] - 1, "redundant");
      redundant[i].assign(size_t(samples.d[i]), false);
      for (const int64_t j : out) redundant[i][size_t(j)] = true;
      samples.redundant[i] = redundant[i].data();
    }
    samples.time_series = time_series;
    double* to[] = {values<double>(pointwise, "pointwise", {samples.n}),
                    values<double>(influence, "influence", {samples.n})};
    infoatlas_estimate found;
    infoatlas_status status;
    {
      const Released released;
      status = estimator.run(samples, found);
    }
    if (status != INFOATLAS_OK) return nb::none();
    std::copy_n(found.pointwise, found.samples, to[0]);
    std::copy_n(found.influence, found.samples, to[1]);
    nb::dict all;
    all["mi"] = found.mi;
    all["noise"] = found.noise;
    all["predicted_error"] = found.predicted_error;
    all["gaussian"] = found.gaussian;
    all["beyond_gaussian"] = found.beyond_gaussian;
    all["rank_noise"] = found.rank_noise;
    all["per_slice"] = numbers(found.per_slice, found.slices);
    all["samples"] = found.samples;
    all["effective_samples"] = found.effective_samples;
    all["slices"] = found.slices;
    all["k"] = found.k ? nb::object(nb::int_(found.k)) : nb::none();
    all["saturated"] = found.saturated != 0;
    all["degenerate"] = found.degenerate != 0;
    all["clipped"] = found.clipped != 0;
    all["rank_x"] = found.rank_x;
    all["rank_y"] = found.rank_y;
    all["autocorrelated"] = found.autocorrelated != 0;
    for (int i = 0; i < 2; ++i) {
      const infoatlas::PreparedSide& side = estimator.prepared(i);
      all[i ? "constant_y" : "constant_x"] = coordinates(side.constant);
      all[i ? "redundant_y" : "redundant_x"] = coordinates(side.redundant);
    }
    return all;
  }

  static nb::list numbers(const double* values, int64_t count) {
    nb::list found;
    for (int64_t i = 0; i < count; ++i) found.append(values[i]);
    return found;
  }

  static nb::tuple coordinates(const std::vector<int64_t>& values) {
    nb::list found;
    for (const int64_t value : values) found.append(value);
    return nb::tuple(found);
  }
};

}  // namespace

NB_MODULE(_engine, module) {
  module.attr("INTERFACE") = kInterface;
  nb::list code;
  for (const std::string_view digest : infoatlas::implemented())
    code.append(nb::str(digest.data(), digest.size()));
  module.attr("CODE") = nb::tuple(code);
  module.def("finish_calls", &finish_calls);
  nb::module_::import_("atexit").attr("register")(module.attr("finish_calls"));
  // A child of fork() has none of the parent's threads, so no calls are running.
  pthread_atfork(nullptr, nullptr, [] { calls.running = 0; });
  nb::class_<infoatlas::Engine>(module, "Engine")
      .def(
          "__init__",
          [](infoatlas::Engine* self, const nb::bytes& content, int threads) {
            if (threads < 1) throw nb::value_error("threads has to be at least 1");
            new (self) infoatlas::Engine(content.data(), content.size(), threads);
          },
          nb::arg("content"), nb::arg("threads"))
      .def("run", &run, nb::arg("x"), nb::arg("y"), nb::arg("shifts"), nb::arg("sequence"),
           nb::arg("mi"), nb::arg("pointwise"), nb::arg("influence"), nb::arg("spread"),
           nb::arg("diagnostics").none() = nb::none())
      .def("canonicalise", &canonicalise, nb::arg("x"), nb::arg("y"),
           nb::arg("projections_x").none(), nb::arg("projections_y").none(),
           nb::arg("score_table"), nb::arg("canonical_x"), nb::arg("canonical_y"),
           nb::arg("correlations"), nb::arg("rank_x"), nb::arg("rank_y"), nb::arg("saturated"))
      .def_prop_ro("dim", &infoatlas::Engine::dim)
      .def_prop_ro("diagnostics", &infoatlas::Engine::diagnostics)
      .def_prop_ro("target", &infoatlas::Engine::target)
      .def_prop_ro("threads", &infoatlas::Engine::threads)
      .def_prop_ro("missing_threads", &infoatlas::Engine::missing_threads);
  nb::class_<Estimating>(module, "Estimating")
      .def(
          "__init__",
          [](Estimating* self, nb::object engine, int64_t n_min, int64_t n_max, int64_t shifts,
             int64_t pairs, int64_t k, int64_t slices, int sides, int64_t own_shifts,
             uint64_t seed) {
            infoatlas::Description description{"", "", n_min, n_max, shifts, pairs};
            infoatlas_settings settings{};
            settings.k = k;
            settings.slices = slices;
            settings.sides = static_cast<infoatlas_sides>(sides);
            settings.shifts = own_shifts;
            settings.seed = seed;
            auto& own = nb::cast<infoatlas::Engine&>(engine);
            new (self) Estimating{std::move(engine), {own, description, settings}};
          },
          nb::arg("engine"), nb::arg("n_min"), nb::arg("n_max"), nb::arg("default_shifts"),
          nb::arg("pairs"), nb::arg("k"), nb::arg("slices"), nb::arg("sides"), nb::arg("shifts"),
          nb::arg("seed"))
      .def("run", &Estimating::run, nb::arg("x"), nb::arg("y"), nb::arg("time_series"),
           nb::arg("resolution_x").none(), nb::arg("resolution_y").none(),
           nb::arg("redundant_x").none(), nb::arg("redundant_y").none(), nb::arg("pointwise"),
           nb::arg("influence"))
      .def_prop_ro("seconds", [](const Estimating& self) {
        const auto& own = self.estimator.seconds();
        nb::dict all;
        all["slicing"] = own.slicing;
        all["preprocessing"] = own.preprocessing;
        all["inference"] = own.inference;
        return all;
      });
}
