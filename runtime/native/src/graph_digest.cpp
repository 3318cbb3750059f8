#include "graph_digest.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

#include "sha256.h"
#include "wire.h"

namespace infoatlas {

namespace {

// After a change of the model's code (train/infoatlas_train/model), change the stages and insert
// its digest at the first place; tests/native/test_graph.py reports it. Keep earlier digests as
// long as the results are the same.
constexpr std::string_view IMPLEMENTED[] = {
    "b835d9270c05204f12c5832a5e0b2dd953c455a1f964a71ba95b99ce352c0141",
    "0bb425b8dec41c47a9d903aa175f8cd05b4706b115d3043b8dc6467f10d09dd4",
    "abef5b1b6b27892626b0966e7507bb2e0564e7bf5ae499d3bd877bda4dc88d1f",
};

// Numbers of fields, from onnx.proto.
enum { GRAPH = 7, OPSET = 8, FUNCTION = 25 };                        // of a model
enum { OPSET_DOMAIN = 1, OPSET_VERSION = 2 };                        // of an opset
enum { NODE = 1, INITIALIZER = 5, INPUT = 11, OUTPUT = 12, SPARSE = 15 };  // of a graph
enum { NODE_INPUT = 1, NODE_OUTPUT = 2, OPERATOR = 4, ATTRIBUTE = 5, NODE_DOMAIN = 7 };  // of a node
enum { ATTRIBUTE_NAME = 1, F = 2, I = 3, S = 4, FLOATS = 7, INTS = 8, TYPE = 20 };
enum { IS_FLOAT = 1, IS_INT = 2, IS_STRING = 3, IS_FLOATS = 6, IS_INTS = 7 };  // types of attributes
enum { DIMS = 1, DATA_TYPE = 2, TENSOR_NAME = 8, RAW_DATA = 9 };     // of a tensor
enum { VALUE_NAME = 1, VALUE_TYPE = 2, TENSOR_TYPE = 1, ELEMENT_TYPE = 1 };  // of a value

constexpr std::string_view WEIGHTS[] = {"hypernetwork.", "gap."};

[[noreturn]] void refuse(const std::string& what) {
  throw std::runtime_error(what);
}

// SHA-256 of parts, each after its length in 8 bytes.
class Parts {
 public:
  explicit Parts(std::string_view kind) { add(kind); }

  void add(std::string_view part) {
    for (int i = 0; i < 8; ++i) all_ += char(uint64_t(part.size()) >> (8 * i) & 0xff);
    all_ += part;
  }

  std::string digest() const {
    const auto found = sha256(all_);
    return {found.begin(), found.end()};
  }

 private:
  std::string all_;
};

// Appends numbers as text, with commas between them.
void append(std::string& text, uint64_t value) {
  if (!text.empty()) text += ',';
  text += std::to_string(int64_t(value));
}

// A repeated integer, which may be packed.
void append_field(std::string& text, const Reader& field) {
  if (!field.content.at) return append(text, field.value);
  for (Reader packed(field.content); packed.rest.at != packed.rest.end;)
    append(text, packed.integer());
}

struct Attribute {
  std::string name, type, value;

  explicit Attribute(Bytes message) {
    uint64_t kind = 0;
    std::string f(4, '\0'), floats, s, ints;
    std::string i = "0";
    for (Reader field(message); field.next();) {
      switch (field.number) {
        case ATTRIBUTE_NAME: name = field.content.text(); break;
        case F: f = field.content.text(); break;
        case I: i = std::to_string(int64_t(field.value)); break;
        case S: s = field.content.text(); break;
        case FLOATS: floats += field.content.text(); break;
        case INTS: append_field(ints, field); break;
        case TYPE: kind = field.value; break;
      }
    }
    type = std::to_string(kind);
    switch (kind) {
      case IS_FLOAT: value = f; break;
      case IS_INT: value = i; break;
      case IS_STRING: value = s; break;
      case IS_FLOATS: value = floats; break;
      case IS_INTS: value = ints; break;
      default: refuse("the attribute " + name + " is neither a number nor a text");
    }
  }
};

class Graph {
 public:
  explicit Graph(Bytes graph) {
    known_.emplace("", Parts("absent").digest());
    for (Reader field(graph); field.next();) {
      if (field.number == INPUT) input(field.content);
      if (field.number == INITIALIZER) constant(field.content);
      if (field.number == SPARSE) refuse("sparse constants");
    }
    for (Reader field(graph); field.next();)
      if (field.number == NODE) node(field.content);
    for (Reader field(graph); field.next();)
      if (field.number == OUTPUT) outputs.push_back(name_of(field.content));
  }

  const std::string& of(const std::string& name) const {
    const auto found = known_.find(name);
    if (found == known_.end()) refuse("nothing computes " + name);
    return found->second;
  }

  std::vector<std::string> outputs;

 private:
  void define(const std::string& name, std::string digest) {
    if (!known_.emplace(name, std::move(digest)).second) refuse(name + " is defined twice");
  }

  static std::string name_of(Bytes value) {
    std::string name;
    for (Reader field(value); field.next();)
      if (field.number == VALUE_NAME) name = field.content.text();
    return name;
  }

  void input(Bytes value) {
    uint64_t kind = 0;
    for (Reader field(value); field.next();)
      if (field.number == VALUE_TYPE)
        for (Reader type(field.content); type.next();)
          if (type.number == TENSOR_TYPE)
            for (Reader tensor(type.content); tensor.next();)
              if (tensor.number == ELEMENT_TYPE) kind = tensor.value;
    const std::string name = name_of(value);
    Parts parts("input");
    parts.add(name);
    parts.add(std::to_string(kind));
    define(name, parts.digest());
  }

  void constant(Bytes tensor) {
    std::string name, shape;
    uint64_t kind = 0;
    Bytes raw{nullptr, nullptr};
    for (Reader field(tensor); field.next();) {
      switch (field.number) {
        case DIMS: append_field(shape, field); break;
        case DATA_TYPE: kind = field.value; break;
        case TENSOR_NAME: name = field.content.text(); break;
        case RAW_DATA: raw = field.content; break;
      }
    }
    const bool weight = std::any_of(std::begin(WEIGHTS), std::end(WEIGHTS),
                                    [&](std::string_view part) { return name.starts_with(part); });
    Parts parts(weight ? "weight" : "constant");
    if (weight) parts.add(name);
    parts.add(std::to_string(kind));
    parts.add(shape);
    if (!weight) {
      if (!raw.at) refuse("the constant " + name + " is not stored as raw data");
      parts.add(raw.view());
    }
    define(name, parts.digest());
  }

  void node(Bytes message) {
    std::vector<std::string> inputs, results;
    std::vector<Attribute> attributes;
    std::string type, domain;
    for (Reader field(message); field.next();) {
      switch (field.number) {
        case NODE_INPUT: inputs.push_back(field.content.text()); break;
        case NODE_OUTPUT: results.push_back(field.content.text()); break;
        case OPERATOR: type = field.content.text(); break;
        case ATTRIBUTE: attributes.emplace_back(field.content); break;
        case NODE_DOMAIN: domain = field.content.text(); break;
      }
    }
    std::sort(attributes.begin(), attributes.end(),
              [](const Attribute& a, const Attribute& b) { return a.name < b.name; });
    Parts parts("node");
    parts.add(domain);
    parts.add(type);
    parts.add(std::to_string(inputs.size()));
    for (const std::string& name : inputs) parts.add(of(name));
    for (const Attribute& attribute : attributes) {
      parts.add(attribute.name);
      parts.add(attribute.type);
      parts.add(attribute.value);
    }
    const std::string own = parts.digest();
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].empty()) continue;
      Parts output("output");
      output.add(own);
      output.add(std::to_string(i));
      define(results[i], output.digest());
    }
  }

  std::unordered_map<std::string, std::string> known_;  // digest of each value, by name
};

std::string opset(Bytes message) {
  std::string domain, version = "0";
  for (Reader field(message); field.next();) {
    if (field.number == OPSET_DOMAIN) domain = field.content.text();
    if (field.number == OPSET_VERSION) version = std::to_string(int64_t(field.value));
  }
  return domain + ":" + version;
}

// Digest of the structure, 64 hexadecimal digits. Throws std::runtime_error if the graph has
// content that no export has, and Broken.
std::string structure(std::string_view content, const std::string& config) {
  const auto* at = reinterpret_cast<const unsigned char*>(content.data());
  Bytes graph{nullptr, nullptr};
  std::vector<std::string> opsets;
  for (Reader field(Bytes{at, at + content.size()}); field.next();) {
    if (field.number == GRAPH && graph.at) refuse("two graphs");
    if (field.number == GRAPH) graph = field.content;
    if (field.number == OPSET) opsets.push_back(opset(field.content));
    if (field.number == FUNCTION) refuse("functions");
  }
  std::sort(opsets.begin(), opsets.end());
  std::string versions;
  for (const std::string& one : opsets) versions += (versions.empty() ? "" : ",") + one;
  const Graph found(graph);
  Parts parts("graph");
  parts.add(versions);
  parts.add(config);
  for (const std::string& name : found.outputs) {
    parts.add(name);
    parts.add(found.of(name));
  }
  std::string text;
  for (const unsigned char byte : parts.digest())
    for (const int digit : {byte >> 4, byte & 15}) text += "0123456789abcdef"[digit];
  return text;
}

}  // namespace

std::span<const std::string_view> implemented() { return IMPLEMENTED; }

void check_graph(std::string_view content, const std::map<std::string, std::string>& metadata,
                 const std::string& name) {
  const auto entry = [&](const char* key) {
    const auto found = metadata.find(key);
    if (found == metadata.end())
      throw std::runtime_error(name + " does not state which graph it has (" + key +
                               " in its metadata): export the checkpoint again");
    return found->second;
  };
  const std::string stated = entry("infoatlas.graph"), code = entry("infoatlas.code");
  std::string found;
  try {
    found = structure(content, entry("infoatlas.config"));
  } catch (const std::runtime_error& error) {
    throw std::runtime_error(name + " has a graph that no export has: " + error.what());
  } catch (const Broken&) {
    throw std::runtime_error(name + " has a graph that cannot be read: copy it again");
  }
  const auto brief = [](std::string_view digest) { return std::string(digest.substr(0, 12)); };
  if (found != stated)
    throw std::runtime_error(name + " has a graph or a configuration that was changed after its "
                             "export (infoatlas.graph is " + brief(stated) + ", and the graph's "
                             "digest is " + brief(found) + "): export the checkpoint again");
  if (std::find(std::begin(IMPLEMENTED), std::end(IMPLEMENTED), code) == std::end(IMPLEMENTED))
    throw std::runtime_error(name + " has the graph of other code of the model (infoatlas.code is " +
                             brief(code) + ") than this engine computes (" +
                             brief(IMPLEMENTED[0]) + "): install the engine of the checkout that "
                             "exported it, or export the checkpoint again");
}

}  // namespace infoatlas
