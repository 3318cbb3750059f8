#include "description.h"

#include <cctype>
#include <cstdlib>
#include <stdexcept>

#include "real.h"

namespace infoatlas {

namespace {

constexpr double LARGEST_CONSTANT = 1000, LARGEST_POWER = 4;

class Reader {
 public:
  Reader(const std::map<std::string, std::string>& metadata, const std::string& name)
      : metadata_(metadata), name_(name) {}

  const std::string& text(const std::string& key) const {
    const auto found = metadata_.find("infoatlas." + key);
    if (found == metadata_.end()) refuse(key, "is missing");
    return found->second;
  }

  void expect(const std::string& key, const std::string& value) const {
    if (text(key) != value) refuse(key, "is not " + value + ", which this version reads");
  }

  int64_t number(const std::string& key, int64_t least, int64_t most) const {
    const char* digits = text(key).c_str();
    char* end = nullptr;
    const int64_t found = std::strtoll(digits, &end, 10);
    if (end == digits || *end || found < least || found > most)
      refuse(key, "is not in " + std::to_string(least) + ".." + std::to_string(most));
    return found;
  }

  // {"whole": {"noise": 0.3, ...}, "sliced": {...}}, with the constants in any order.
  Constants constants(const std::string& kind) const {
    const std::string& all = text("calibration");
    const size_t at = all.find('"' + kind + '"');
    const std::string own =
        at == std::string::npos ? "" : all.substr(at, all.find('}', at) - at);
    const auto constant = [&](const char* key, double least, double most) {
      const size_t name = own.find('"' + std::string(key) + '"');
      const size_t colon = name == std::string::npos ? name : own.find(':', name);
      const char* digits = colon == std::string::npos ? "" : own.c_str() + colon + 1;
      char* end = nullptr;
      const double found = read_real(digits, &end);
      if (end == digits || !(found >= least && found <= most))  // (also for NaN)
        refuse("calibration", std::string("has no usable ") + key);
      return found;
    };
    const double most = LARGEST_CONSTANT;
    return {constant("noise", 0, most),    constant("spread", 0, most),
            constant("ceiling", 0, most),  constant("few", -most, most),
            constant("predicted", 0, LARGEST_POWER), constant("beyond", 0, LARGEST_POWER)};
  }

  [[noreturn]] void refuse(const std::string& key, const std::string& why) const {
    throw std::runtime_error(name_ + ": infoatlas." + key + " in its metadata " + why +
                             ": export the model again");
  }

 private:
  const std::map<std::string, std::string>& metadata_;
  const std::string& name_;
};

}  // namespace

Description describe(const std::map<std::string, std::string>& metadata, const std::string& name) {
  const Reader read(metadata, name);
  read.expect("format", "2");
  read.expect("preprocess", "1");
  read.expect("padding", "zeros");
  Description found{read.text("name"),
                    read.text("version"),
                    read.number("n_min", 2, 1'000'000),
                    read.number("n_max", 2, 1'000'000'000),
                    read.number("shifts", LEAST_SHIFTS, 1'000'000),
                    read.number("pairs", 0, 1'000'000'000)};
  if (found.n_max < found.n_min) read.refuse("n_max", "is below n_min");
  if (metadata.count("infoatlas.calibration")) {
    found.calibrated = true;
    found.unsliced = read.constants("whole");
    found.sliced = read.constants("sliced");
  }
  return found;
}

}  // namespace infoatlas
