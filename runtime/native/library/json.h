// A strict reader of JSON (RFC 8259) in ASCII, which is how Python writes task files.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace infoatlas::json {

constexpr size_t MOST_BYTES = 16 << 20;  // of a text
constexpr size_t MOST_VALUES = 1 << 20;  // 40 bytes each
constexpr size_t MOST_NAMES = 64;         // of an object
constexpr int MOST_DEPTH = 16;           // a task file has 8

// A text that is no JSON, or other JSON than expected.
struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A value, with accessors that throw `Malformed` if it is of another kind.
class Value {
 public:
  using Array = std::vector<Value>;
  using Object = std::vector<std::pair<std::string, Value>>;  // names are different

  Value() = default;
  template <class T>
  explicit Value(T value) : content_(std::move(value)) {}

  bool null() const { return std::holds_alternative<std::monostate>(content_); }
  bool boolean() const { return get<bool>("true or false"); }
  double number() const { return get<double>("a number"); }  // finite
  int64_t integer(int64_t least, int64_t most) const;
  const std::string& text() const { return get<std::string>("text"); }
  const Array& array() const { return get<Array>("an array"); }
  const Object& object() const { return get<Object>("an object"); }
  const Value& operator[](std::string_view name) const;  // of an object

 private:
  template <class T>
  const T& get(const char* kind) const {
    if (const T* value = std::get_if<T>(&content_)) return *value;
    throw Malformed(std::string(kind) + " is expected");
  }

  std::variant<std::monostate, bool, double, std::string, Array, Object> content_;
};

// Also refused: equal names in an object, numbers beyond those of 64 bits, the character NUL, and
// what exceeds the limits above.
Value parse(std::string_view text);

}  // namespace infoatlas::json
