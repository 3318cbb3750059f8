// Definitions of the handles of infoatlas.h.
#pragma once

#include <infoatlas/infoatlas.h>

#include <memory>

#include "description.h"
#include "engine.h"
#include "estimator.h"
#include "status.h"

struct infoatlas_model {
  std::shared_ptr<const infoatlas::Model> weights;
  std::shared_ptr<const infoatlas::Description> description;
};

namespace infoatlas {

constexpr int64_t MOST_NUMBERS = 100'000'000;  // in an array

// An estimator with an engine of its own, for at most n samples of d[0] and d[1] coordinates. All
// memory is allocated in the constructor.
struct EstimatorWithEngine {
  EstimatorWithEngine(const infoatlas_model& model, int64_t n, int64_t dx, int64_t dy,
                      const infoatlas_settings& settings);

  // As Estimator::run; more than n samples are refused, too.
  infoatlas_status run(const Samples& samples, infoatlas_estimate& found);

  int64_t n, d[2];
  std::shared_ptr<const Description> description;
  Engine engine;
  Estimator estimator;
};

}  // namespace infoatlas
