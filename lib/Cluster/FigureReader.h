// Reads figures out of a JSON document: numbers with their units, texts, flags. Knows no cluster.
#pragma once

#include "JsonDocument.h"
#include "JsonLines.h"

#include "llvm/ADT/ArrayRef.h"

#include <optional>

namespace apc {

/// What a number must be: `unit` is what the message says is expected.
struct NumberRule {
  const char *unit;
  double maximum;
  bool integer = false;
};

/// One object of the document, with the way to it.
struct Place {
  const nlohmann::json *value = nullptr;
  JsonPath path;

  Place member(llvm::StringRef key, const nlohmann::json &value) const {
    Place inner{&value, path};
    inner.path.push_back(key.str());
    return inner;
  }
};

/// A figure that the document gives: {{"device", "memory_bytes"}, "16e9", "data sheet"}.
struct GivenFigure {
  JsonPath path;
  std::string value;  ///< JSON text
  std::string source; ///< "" when the document names none
};

/// Reads figures and keeps the first error; after one, every read leaves its target alone.
class FigureReader {
public:
  /// Without `text`, errors name `source` alone: a flag that sets one figure of a document that was read before.
  FigureReader(llvm::StringRef text, llvm::StringRef source) : text(text), source(source) {}

protected:
  using KeyList = llvm::ArrayRef<llvm::StringLiteral>;

  llvm::Error takeError() const;
  void fail(const Place &place, const llvm::Twine &message);
  bool hasFailed() const { return !problem.empty(); }

  bool expectObject(const Place &place, KeyList keys);
  /// The figure under `key`, out of its `{"value": ..., "source": ...}` when it has one; nothing when it is absent,
  /// which is an error when it is `required` (`what` says what is expected).
  std::optional<Place> figure(const Place &object, llvm::StringRef key, const char *what, bool required);
  std::optional<double> number(const Place &place, const NumberRule &rule);
  void readNumber(const Place &object, llvm::StringRef key, double &target, const NumberRule &rule, bool required);
  void readInteger(const Place &object, llvm::StringRef key, int64_t &target, const NumberRule &rule, bool required);
  void readBool(const Place &object, llvm::StringRef key, bool &target);
  void readString(const Place &object, llvm::StringRef key, std::string &target, bool required);

  std::vector<GivenFigure> given; ///< in the order in which they were read

private:
  /// The `source` of a figure that has one, "" for a plain value.
  std::optional<std::string> sourceOf(const Place &place);

  llvm::StringRef text, source;
  std::string problem;
};

/// JSON text for a message, at most 40 characters.
std::string quote(const nlohmann::json &value);

/// 1.04858e+06
std::string shortText(double value);

} // namespace apc
