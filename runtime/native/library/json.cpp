#include "json.h"

#include <charconv>
#include <cmath>

namespace infoatlas::json {

int64_t Value::integer(int64_t least, int64_t most) const {
  const double value = number();
  if (value == std::floor(value) && value >= static_cast<double>(least) &&
      value <= static_cast<double>(most))
    return static_cast<int64_t>(value);
  throw Malformed("an integer from " + std::to_string(least) + " to " + std::to_string(most) +
                  " is expected");
}

const Value& Value::operator[](std::string_view name) const {
  for (const auto& [own, value] : object())
    if (own == name) return value;
  throw Malformed("\"" + std::string(name) + "\" is missing");
}

namespace {

// Appends a character as UTF-8.
void append(std::string& text, unsigned code) {
  const auto byte = [&](unsigned value) { text += static_cast<char>(value); };
  if (code < 0x80) return byte(code);
  if (code >= 0x10000) byte(0xf0 | (code >> 18)), byte(0x80 | ((code >> 12) & 0x3f));
  if (code >= 0x800 && code < 0x10000) byte(0xe0 | (code >> 12));
  byte(code < 0x800 ? 0xc0 | (code >> 6) : 0x80 | ((code >> 6) & 0x3f));
  byte(0x80 | (code & 0x3f));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Value all() {
    if (text_.size() > MOST_BYTES) fail("it is larger than 16 MiB");
    Value found = value(0);
    space();
    if (at_ < text_.size()) fail("text after the end");
    return found;
  }

 private:
  [[noreturn]] void fail(const char* what) const {
    throw Malformed(std::string(what) + " at byte " + std::to_string(at_));
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  // The next character that is no white space.
  char space() {
    while (peek() == ' ' || peek() == '\t' || peek() == '\r' || peek() == '\n') ++at_;
    return peek();
  }

  void take(std::string_view word) {
    if (text_.substr(at_, word.size()) != word) fail("no JSON");
    at_ += word.size();
  }

  Value value(int depth) {
    if (depth >= MOST_DEPTH) fail("too many levels");
    if (++values_ > MOST_VALUES) fail("more than a million values");
    switch (space()) {
      case '{': return Value(object(depth));
      case '[': return Value(array(depth));
      case '"': return Value(text());
      case 't': return take("true"), Value(true);
      case 'f': return take("false"), Value(false);
      case 'n': return take("null"), Value();
      default: return Value(number());
    }
  }

  // Whether another element follows; the next character is its first one.
  bool more(char end, bool first) {
    if (space() == end) return ++at_, false;
    if (!first) take(",");
    space();
    return true;
  }

  Value::Array array(int depth) {
    Value::Array found;
    for (take("["); more(']', found.empty());) found.push_back(value(depth + 1));
    return found;
  }

  Value::Object object(int depth) {
    Value::Object found;
    for (take("{"); more('}', found.empty());) {
      if (found.size() == MOST_NAMES) fail("an object of more than 64 names");
      std::string name = text();
      for (const auto& member : found)
        if (member.first == name) fail("a name that occurs twice");
      space();
      take(":");
      found.emplace_back(std::move(name), value(depth + 1));
    }
    return found;
  }

  std::string text() {
    std::string found;
    for (take("\""); peek() != '"';) {
      const auto code = static_cast<unsigned char>(peek());
      if (code < 0x20) fail("text without an end");
      if (code > 0x7e) fail("a character beyond ASCII that is no escape");
      append(found, code == '\\' ? escape() : (++at_, code));
    }
    ++at_;
    return found;
  }

  // The character that an escape stands for.
  unsigned escape() {
    constexpr std::string_view LETTERS = "\"\\/bfnrt", MEANINGS = "\"\\/\b\f\n\r\t";
    take("\\");
    if (const size_t i = LETTERS.find(peek()); i != LETTERS.npos)
      return ++at_, static_cast<unsigned>(MEANINGS[i]);
    const unsigned code = unit();
    if (!code || (code >= 0xdc00 && code < 0xe000)) fail("an escape that is no character");
    if (code < 0xd800 || code >= 0xe000) return code;
    take("\\");
    const unsigned low = unit();
    if (low < 0xdc00 || low >= 0xe000) fail("an escape that is no character");
    return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
  }

  unsigned unit() {
    take("u");
    const std::string_view digits = text_.substr(at_, 4);
    unsigned code = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    if (digits.size() < 4 || read.ptr != digits.data() + 4) fail("no JSON");
    at_ += 4;
    return code;
  }

  double number() {
    const size_t begin = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else {
      digits();
    }
    if (peek() == '.') ++at_, digits();
    if (peek() == 'e' || peek() == 'E') {
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    double found = 0;
    const auto read = std::from_chars(text_.data() + begin, text_.data() + at_, found);
    if (read.ec != std::errc()) fail("a number beyond those of 64 bits");
    return found;
  }

  void digits() {
    if (peek() < '0' || peek() > '9') fail("no JSON");
    while (peek() >= '0' && peek() <= '9') ++at_;
  }

  std::string_view text_;
  size_t at_ = 0, values_ = 0;
};

}  // namespace

Value parse(std::string_view text) { return Parser(text).all(); }

}  // namespace infoatlas::json
