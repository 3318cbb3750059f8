// Models and estimators of infoatlas.h.
#include <infoatlas/infoatlas.h>

#include <algorithm>
#include <cinttypes>
#include <cmath>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "checksum.h"
#include "estimator_api.h"
#include "model.h"
#include "numpy_random.h"
#include "onnx_file.h"

namespace infoatlas {

namespace {

constexpr int64_t MOST_THREADS = 256;

infoatlas_model* load(std::string_view content, const std::string& name) {
  const OnnxFile file = [&] {
    try {
      return read_onnx(content, name);
    } catch (const std::runtime_error& error) {
      throw FileError(error.what());
    }
  }();
  const auto stated = file.metadata.find("infoatlas.checksum");
  if (stated == file.metadata.end() || stated->second != checksum(content))
    throw FileError(name + " has changed since it was written, or has no checksum "
                           "(infoatlas.checksum in its metadata): copy it again");
  try {
    auto found = std::make_unique<infoatlas_model>();
    found->weights = load_model(content, name);
    found->description =
        std::make_shared<const Description>(describe(found->weights->metadata, name));
    return found.release();
  } catch (const std::runtime_error& error) {
    throw FileError(error.what());
  }
}

int thread_count(int64_t asked) {
  if (asked < 0 || asked > MOST_THREADS)
    throw InputError("threads is " + std::to_string(asked) + ": use 1 to " +
                     std::to_string(MOST_THREADS) + ", or 0 for the default");
  return asked ? int(asked) : int(std::clamp(std::thread::hardware_concurrency(), 1u, 2u));
}

}  // namespace

EstimatorWithEngine::EstimatorWithEngine(const infoatlas_model& model, int64_t n_, int64_t dx,
                                         int64_t dy, const infoatlas_settings& settings)
    : n(n_),
      d{dx, dy},
      description(model.description),
      engine(model.weights, thread_count(settings.threads)),
      estimator(engine, *description, settings) {
  if (n < description->n_min || n > description->n_max)
    throw InputError("n is " + std::to_string(n) + ": use " +
                     std::to_string(description->n_min) + " to " +
                     std::to_string(description->n_max) + ", for which model " +
                     description->name + " was trained");
  if (dx < 1 || dy < 1 || dx > MOST_NUMBERS / n || dy > MOST_NUMBERS / n)
    throw InputError("dx is " + std::to_string(dx) + " and dy is " + std::to_string(dy) +
                     ": use 1 to " + std::to_string(MOST_NUMBERS / n));
  const auto evaluate = [&](const Samples& samples) {
    infoatlas_estimate found;
    const infoatlas_status status = estimator.run(samples, found);
    if (status == INFOATLAS_FILE_ERROR) throw FileError(last_error());
    if (status != INFOATLAS_OK) throw InputError(last_error());
  };
  // Any path through the code is taken once: few samples and many; ties, copies and constants.
  Random random(0, 0);
  std::vector<double> x(size_t(n * dx)), y(size_t(n * dy));
  for (auto* values : {&x, &y})
    for (double& value : *values) value = random.normal();
  Samples few{description->n_min, {x.data(), y.data()}, {dx, dy}, {}, true, {}};
  Samples all = few;
  all.n = n;
  evaluate(few);
  evaluate(all);
  const std::vector<char> none(size_t(std::max(dx, dy)));  // so that copies are used
  for (Samples* some : {&few, &all}) some->redundant[0] = some->redundant[1] = none.data();
  for (int64_t t = 0; t < n; ++t) {
    double *own_x = x.data() + t * dx, *own_y = y.data() + t * dy;
    for (int64_t j = 0; j < dx; ++j) own_x[j] = j % 3 ? std::round(own_x[j / 3]) : own_x[j];
    for (int64_t j = 0; j < dy; ++j) own_y[j] = j % 3 ? std::round(own_x[j % dx]) : own_y[j];
    if (dx > 1) own_x[dx - 1] = 0;
    if (dy > 1) own_y[dy - 1] = 0;
  }
  evaluate(few);
  evaluate(all);
  for (double& value : x) value = std::round(value);
  for (double& value : y) value = std::round(value);
  evaluate(all);
  engine.settle();
}

infoatlas_status EstimatorWithEngine::run(const Samples& samples, infoatlas_estimate& found) {
  if (samples.n > n)
    return refuse(INFOATLAS_INPUT_ERROR,
                  "%" PRId64 " samples are more than the %" PRId64
                  " of this estimator: make it for as many", samples.n, n);
  return estimator.run(samples, found);
}

}  // namespace infoatlas

struct infoatlas_estimator : infoatlas::EstimatorWithEngine {
  using EstimatorWithEngine::EstimatorWithEngine;
};

using infoatlas::give;
using infoatlas::guarded;
using infoatlas::missing;
using infoatlas::unknown_size;
using infoatlas::whole;

const char* infoatlas_version(void) { return INFOATLAS_VERSION; }

const char* infoatlas_last_error(void) { return infoatlas::last_error(); }

infoatlas_status infoatlas_model_load(const char* path, infoatlas_model** model) {
  if (missing({{path, "path"}, {model, "model"}})) return INFOATLAS_INPUT_ERROR;
  return guarded([&] {
    std::string content;
    try {
      content = infoatlas::read_file(path);
    } catch (const std::runtime_error& error) {
      throw infoatlas::FileError(error.what());
    }
    *model = infoatlas::load(content, path);
    return INFOATLAS_OK;
  });
}

infoatlas_status infoatlas_model_read(const void* content, size_t size, infoatlas_model** model) {
  if (missing({{content, "content"}, {model, "model"}})) return INFOATLAS_INPUT_ERROR;
  return guarded([&] {
    *model = infoatlas::load({static_cast<const char*>(content), size}, "the model");
    return INFOATLAS_OK;
  });
}

void infoatlas_model_free(infoatlas_model* model) { delete model; }

infoatlas_status infoatlas_model_describe(const infoatlas_model* model,
                                          infoatlas_model_info* info) {
  if (missing({{model, "model"}, {info, "info"}}) || unknown_size(*info, "info"))
    return INFOATLAS_INPUT_ERROR;
  const infoatlas::Description& own = *model->description;
  give({sizeof *info, own.name.c_str(), own.version.c_str(), model->weights->config.dim, own.n_min,
        own.n_max}, *info);
  return INFOATLAS_OK;
}

infoatlas_status infoatlas_estimator_new(const infoatlas_model* model, int64_t n, int64_t dx,
                                         int64_t dy, const infoatlas_settings* settings,
                                         infoatlas_estimator** estimator) {
  if (missing({{model, "model"}, {estimator, "estimator"}}) ||
      (settings && unknown_size(*settings, "settings")))
    return INFOATLAS_INPUT_ERROR;
  return guarded([&] {
    *estimator = new infoatlas_estimator(*model, n, dx, dy,
                                         settings ? whole(*settings) : infoatlas_settings{});
    return INFOATLAS_OK;
  });
}

void infoatlas_estimator_free(infoatlas_estimator* estimator) { delete estimator; }

infoatlas_status infoatlas_estimator_run(infoatlas_estimator* estimator,
                                         const infoatlas_samples* samples,
                                         infoatlas_estimate* estimate) {
  if (missing({{estimator, "estimator"}, {samples, "samples"}, {estimate, "estimate"}}) ||
      unknown_size(*samples, "samples") || unknown_size(*estimate, "estimate"))
    return INFOATLAS_INPUT_ERROR;
  const infoatlas_samples own = whole(*samples);
  if (missing({{own.x, "x"}, {own.y, "y"}})) return INFOATLAS_INPUT_ERROR;
  return guarded([&] {
    infoatlas_estimate found;
    const infoatlas_status status = estimator->run({own.n,
                                                    {own.x, own.y},
                                                    {estimator->d[0], estimator->d[1]},
                                                    {own.resolution_x, own.resolution_y},
                                                    own.time_series != 0,
                                                    {}},
                                                   found);
    if (status == INFOATLAS_OK) give(found, *estimate);
    return status;
  });
}
