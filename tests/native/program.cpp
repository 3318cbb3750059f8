// The engine without Python: under sanitizers with any inputs, and on other processors with known
// results.
//
//     program fuzz MODEL.onnx [SEED]
//     program compare MODEL.onnx RECORDED    (tests/native/record.py writes it)
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <fstream>
#include <iterator>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "engine.h"
#include "pool.h"

namespace {

using infoatlas::Engine;
using Random = std::mt19937_64;

struct Case {
  int64_t batch, n, m;
  std::vector<float> x, y;
  std::vector<int64_t> shifts, sequence;
};

struct Results {
  std::vector<float> mi, pointwise, influence, spread;
  bool operator==(const Results& other) const {  // bits: a NaN is equal to itself
    const auto same = [](const std::vector<float>& a, const std::vector<float>& b) {
      return a.size() == b.size() && !std::memcmp(a.data(), b.data(), 4 * a.size());
    };
    return same(mi, other.mi) && same(pointwise, other.pointwise) &&
           same(influence, other.influence) && same(spread, other.spread);
  }
};

void require(bool good, const std::string& what) {
  if (!good) throw std::logic_error(what);
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  require(file.good(), "cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Every array has exactly its size, so that the sanitizer sees what is beyond it.
Results run(Engine& engine, const Case& c) {
  const auto samples = static_cast<size_t>(c.batch * c.n), batch = static_cast<size_t>(c.batch);
  Results r{std::vector<float>(batch), std::vector<float>(samples), std::vector<float>(samples),
            std::vector<float>(batch)};
  engine.run(c.x.data(), c.y.data(), c.batch, c.n, c.shifts.data(), c.m, c.sequence.data(),
             {r.mi.data(), r.pointwise.data(), r.influence.data(), r.spread.data()});
  return r;
}

int64_t draw(Random& random, int64_t least, int64_t most) {
  return std::uniform_int_distribution<int64_t>(least, most)(random);
}

float value(Random& random, int kind) {
  const auto normal = static_cast<float>(std::normal_distribution<>()(random));
  switch (kind) {
    case 0: return 0;
    case 1: return normal * 1e-40f;  // denormal
    case 2: return normal * 1e30f;
    case 3: return std::round(normal);
    case 4: return draw(random, 0, 50) ? normal : std::numeric_limits<float>::quiet_NaN();
    case 5: return draw(random, 0, 50) ? normal : std::numeric_limits<float>::infinity();
    default: return normal;
  }
}

Case any(Random& random, int64_t dim, int64_t least_shifts, bool ordinary) {
  Case c;
  c.n = draw(random, std::max<int64_t>(8, least_shifts + 1), draw(random, 0, 3) ? 70 : 300);
  c.batch = draw(random, 1, std::max<int64_t>(1, 400 / c.n));
  c.m = draw(random, least_shifts, std::min<int64_t>(c.n - 1, 40));
  const int kind = ordinary ? 9 : static_cast<int>(draw(random, 0, 6));
  const int64_t kept = draw(random, 1, dim);  // the others are padding
  c.x.resize(static_cast<size_t>(c.batch * c.n * dim));
  c.y = c.x;
  for (size_t i = 0; i < c.x.size(); ++i) {
    if (static_cast<int64_t>(i) % dim >= kept) continue;
    c.x[i] = value(random, kind);
    c.y[i] = ordinary || draw(random, 0, 1) ? 0.5f * c.x[i] + value(random, kind) : c.x[i];
  }
  for (int64_t i = 0; i < c.m; ++i) c.shifts.push_back(draw(random, 1, c.n - 1));
  for (int64_t i = 0; i < c.n; ++i) c.sequence.push_back(draw(random, 0, c.n - 1));
  return c;
}

// Samples for `canonicalise`, and what it gives of them.
struct Preparation {
  int64_t n, slices, k[2], width[2];
  std::vector<double> samples[2], projections[2], table;  // no projections: not sliced
};

struct Prepared {
  std::vector<float> sides[2];
  std::vector<double> correlations;
  std::vector<int64_t> ranks[2];
  std::unique_ptr<bool[]> saturated;
  bool operator==(const Prepared& other) const {
    const auto same = [](const auto& a, const auto& b) {
      return a.size() == b.size() &&
             (a.empty() || !std::memcmp(a.data(), b.data(), sizeof(a[0]) * a.size()));
    };
    return same(sides[0], other.sides[0]) && same(sides[1], other.sides[1]) &&
           same(correlations, other.correlations) && ranks[0] == other.ranks[0] &&
           ranks[1] == other.ranks[1] &&
           !std::memcmp(saturated.get(), other.saturated.get(), ranks[0].size());
  }
};

Prepared prepare(Engine& engine, const Preparation& p) {
  const auto slices = static_cast<size_t>(p.slices), dim = static_cast<size_t>(engine.dim());
  const size_t size = slices * static_cast<size_t>(p.n) * dim;
  Prepared r{{std::vector<float>(size), std::vector<float>(size)},
             std::vector<double>(slices * dim),
             {std::vector<int64_t>(slices), std::vector<int64_t>(slices)},
             std::make_unique<bool[]>(slices)};
  const auto side = [&](int i) -> infoatlas::Side {
    return {p.samples[i].data(), p.width[i],
            p.projections[i].empty() ? nullptr : p.projections[i].data(), p.k[i]};
  };
  engine.canonicalise({p.n, p.slices, side(0), side(1), p.table.data()},
                      {r.sides[0].data(), r.sides[1].data(), r.correlations.data(),
                       r.ranks[0].data(), r.ranks[1].data(), r.saturated.get()});
  return r;
}

Preparation any_preparation(Random& random, int64_t dim, bool ordinary) {
  Preparation p;
  p.n = draw(random, 2, draw(random, 0, 2) ? 90 : 700);
  const bool sliced[] = {draw(random, 0, 2) > 0, draw(random, 0, 2) > 0};
  p.slices = sliced[0] || sliced[1] ? draw(random, 0, 12) : 1;
  const int kind = ordinary ? 9 : static_cast<int>(draw(random, 0, 6));
  const double scale = draw(random, 0, 5) ? 1 : draw(random, 0, 1) ? 1e-300 : 1e270;
  for (int i = 0; i < 2; ++i) {
    p.k[i] = draw(random, 1, dim);
    p.width[i] = sliced[i] ? draw(random, 1, 45) : p.k[i];
    for (int64_t j = 0; j < p.n * p.width[i]; ++j)
      p.samples[i].push_back(ordinary ? value(random, 9) : scale * value(random, kind));
    for (int64_t j = 0; sliced[i] && j < std::max<int64_t>(p.slices, 1) * p.k[i] * p.width[i]; ++j)
      p.projections[i].push_back(value(random, 9));
  }
  if (p.k[0] == p.k[1] && !sliced[0] && !sliced[1] && draw(random, 0, 1))
    p.samples[1] = p.samples[0];
  for (int64_t i = 0; i < 2 * p.n - 1; ++i)
    p.table.push_back(static_cast<double>(i - p.n + 1) / static_cast<double>(p.n));
  return p;
}

void preparations(Engine& engine, Engine& one, Random& random) {
  for (int round = 0; round < 150; ++round) {
    const Preparation p = any_preparation(random, engine.dim(), round % 2);
    const Prepared found = prepare(engine, p);
    require(found == prepare(one, p), "another number of threads prepares other bits");
    double previous = 1;
    for (size_t i = 0; round % 2 && i < found.correlations.size(); ++i) {
      const double c = found.correlations[i];
      require(c >= 0 && c <= (i % static_cast<size_t>(engine.dim()) ? previous : 1),
              "correlations that do not descend");
      previous = c;
    }
    for (const auto& side : found.sides)
      for (const float v : side) require(!(round % 2) || std::isfinite(v), "not finite");
  }
  const Preparation p = any_preparation(random, engine.dim(), true);
  const Prepared wanted = prepare(one, p);
  std::vector<std::thread> callers;
  std::vector<int> good(4);
  for (int& count : good) {
    callers.emplace_back([&] {
      for (int round = 0; round < 8; ++round) count += prepare(engine, p) == wanted;
    });
  }
  for (auto& caller : callers) caller.join();
  for (int count : good) require(count == 8, "callers at once prepare other bits");
}

// Bytes that are no model, or nearly one: refused with a sentence, or taken and run.
void damaged(const std::string& whole, Random& random) {
  std::string content = whole;
  if (draw(random, 0, 1)) content.resize(static_cast<size_t>(draw(random, 0, content.size())));
  for (int64_t changes = draw(random, 1, 30); changes > 0 && !content.empty(); --changes) {
    const auto at = static_cast<size_t>(draw(random, 0, content.size() - 1));
    content[at] = static_cast<char>(draw(random, 0, 255));
  }
  try {
    Engine engine(content.data(), content.size(), 1);
    run(engine, any(random, engine.dim(), std::min<int64_t>(engine.least_shifts(), 7), true));
  } catch (const std::runtime_error& error) {
    require(std::strlen(error.what()) > 8, "a refusal without a reason");
  }
}

void pool_tests() {
  infoatlas::Pool pool(4);
  for (int64_t tasks : {0, 1, 3, 4, 1000}) {
    std::vector<int> done(static_cast<size_t>(tasks));
    pool.run(tasks, [&](int64_t i) { ++done[static_cast<size_t>(i)]; });
    for (int count : done) require(count == 1, "a task that ran not once");
  }
  for (int round = 0; round < 20; ++round) {
    std::string caught;
    try {
      pool.run(50, [](int64_t i) {
        if (i == 17) throw std::runtime_error("seventeen");
      });
    } catch (const std::runtime_error& error) {
      caught = error.what();
    }
    require(caught == "seventeen", "an exception that was lost");
  }
  std::vector<int> sums(3);  // callers at once, and calls within calls
  std::vector<std::thread> callers;
  for (int& sum : sums) {
    callers.emplace_back([&pool, &sum] {
      for (int round = 0; round < 50; ++round) {
        std::vector<int> parts(7);
        pool.run(7, [&](int64_t i) { parts[static_cast<size_t>(i)] = static_cast<int>(i); });
        for (int part : parts) sum += part;
      }
    });
  }
  for (auto& caller : callers) caller.join();
  for (int sum : sums) require(sum == 50 * 21, "tasks of another caller");
}

int fuzz(const std::string& path, uint64_t seed) {
  const std::string content = read(path);
  Random random(seed);
  Engine engine(path, 3), one(content.data(), content.size(), 1);
  pool_tests();
  preparations(engine, one, random);
  for (int round = 0; round < 40; ++round) {
    const Case c = any(random, engine.dim(), engine.least_shifts(), round % 2);
    const Results found = run(engine, c);
    require(found == run(one, c), "another number of threads gives other bits");
    if (round % 2) require(std::isfinite(found.mi[0] + found.spread[0]), "mi is not finite");
  }
  std::vector<std::thread> callers;
  const Case c = any(random, engine.dim(), engine.least_shifts(), true);
  const Results wanted = run(one, c);
  std::vector<int> good(4);
  for (int& count : good) {
    callers.emplace_back([&] {
      for (int round = 0; round < 4; ++round) count += run(engine, c) == wanted;
    });
  }
  for (auto& caller : callers) caller.join();
  for (int count : good) require(count == 4, "callers at once give other bits");
  for (int round = 0; round < 60; ++round) damaged(content, random);
  std::printf("%s, %s: nothing found\n", path.c_str(), engine.target());
  return 0;
}

class Reader {
 public:
  explicit Reader(std::string content) : content_(std::move(content)) {}

  template <class T>
  std::vector<T> take(int64_t count) {
    const size_t size = sizeof(T) * static_cast<size_t>(count);
    require(size <= content_.size() - at_, "the recorded file is truncated");
    std::vector<T> found(static_cast<size_t>(count));
    std::memcpy(found.data(), content_.data() + at_, size);
    at_ += size;
    return found;
  }

 private:
  std::string content_;
  size_t at_ = 0;
};

// The largest difference of two arrays in units of what tests/native/test_parity.py admits.
double largest(const std::vector<float>& a, const std::vector<float>& b, double absolute,
               double relative) {
  double found = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double difference = std::abs(double{a[i]} - b[i]) / (absolute + relative * std::abs(b[i]));
    found = difference <= found ? found : difference;  // a NaN stays
  }
  return found;
}

int compare(const std::string& path, const std::string& recorded) {
  Engine engine(path, 2);
  Reader reader(read(recorded));
  bool good = true;
  for (int64_t cases = reader.take<int64_t>(1)[0]; cases > 0; --cases) {
    const auto sizes = reader.take<int64_t>(3);
    Case c{sizes[0], sizes[1], sizes[2], {}, {}, {}, {}};
    c.x = reader.take<float>(c.batch * c.n * engine.dim());
    c.y = reader.take<float>(c.batch * c.n * engine.dim());
    c.shifts = reader.take<int64_t>(c.m);
    c.sequence = reader.take<int64_t>(c.n);
    const auto mi = reader.take<float>(c.batch), pointwise = reader.take<float>(c.batch * c.n);
    const auto influence = reader.take<float>(c.batch * c.n), spread = reader.take<float>(c.batch);
    const Results found = run(engine, c);
    const double parts[] = {
        largest(found.mi, mi, 1e-3, 0), largest(found.pointwise, pointwise, 5e-3, 2e-3),
        largest(found.influence, influence, 5e-3, 2e-3), largest(found.spread, spread, 0, 0.01)};
    std::printf("%s, %s, n %ld, %ld slices: mi %.2f, pointwise %.2f, influence %.2f, spread %.2f\n",
                path.c_str(), engine.target(), static_cast<long>(c.n), static_cast<long>(c.batch),
                parts[0], parts[1], parts[2], parts[3]);
    for (const double part : parts) good = good && part <= 1;
  }
  if (!good) std::fprintf(stderr, "1 is what tests/native/test_parity.py admits\n");
  return good ? 0 : 1;
}

}  // namespace

int main(int count, char** arguments) {
  try {
    const std::string mode = count > 2 ? arguments[1] : "";
    if (mode == "fuzz") return fuzz(arguments[2], count > 3 ? std::stoull(arguments[3]) : 1);
    if (mode == "compare" && count > 3) return compare(arguments[2], arguments[3]);
    std::fprintf(stderr, "program fuzz MODEL [SEED] | program compare MODEL RECORDED\n");
    return 2;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
