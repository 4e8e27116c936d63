// The kinds of rows in the table of settings: how a field of one type is printed and read.
#pragma once

#include "apc/Plan/Settings.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"

#include <charconv>

namespace apc {

/// The fewest digits that read back the same: 0.05.
inline std::string shortestNumber(double number) {
  char digits[32]; // -1.7976931348623157e+308 has 24
  auto [end, code] = std::to_chars(std::begin(digits), std::end(digits), number);
  return {std::begin(digits), end};
}

/// `row` with what makes the field its default.
template <typename T>
Setting withReset(Setting row, T PlanRequest::*field) {
  row.reset = [field](PlanRequest &request) { request.*field = PlanRequest().*field; };
  return row;
}

/// The text as it stands; not empty.
inline Setting textSetting(Setting row, std::string PlanRequest::*field) {
  row.print = [field](const PlanRequest &request) {
    return (request.*field).empty() ? std::vector<std::string>() : std::vector<std::string>{request.*field};
  };
  row.read = [field](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    if (text.empty())
      return inputError("{0}: a text is expected, not an empty one", source);
    request.*field = text.str();
    return llvm::Error::success();
  };
  return withReset(std::move(row), field);
}

inline Setting wholeNumberSetting(Setting row, int64_t PlanRequest::*field, int64_t least, int64_t most) {
  row.print = [field](const PlanRequest &request) { return std::vector<std::string>{std::to_string(request.*field)}; };
  row.read = [=](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    int64_t number = 0;
    if (text.getAsInteger(10, number) || number < least || number > most)
      return inputError("{0}: '{1}': a whole number from {2} to {3} is expected", source, text, least, most);
    request.*field = number;
    return llvm::Error::success();
  };
  return withReset(std::move(row), field);
}

/// A whole number that may be absent; `none` is the text of the absent one, "" where it has none.
inline Setting optionalWholeNumberSetting(Setting row, std::optional<int64_t> PlanRequest::*field, int64_t most,
                                          llvm::StringRef none = "") {
  row.print = [field](const PlanRequest &request) {
    return request.*field ? std::vector<std::string>{std::to_string(*(request.*field))} : std::vector<std::string>();
  };
  row.read = [=](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    int64_t number = 0;
    bool isNone = !none.empty() && text == none;
    if (!isNone && (text.getAsInteger(10, number) || number < 1 || number > most))
      return inputError("{0}: '{1}': a whole number from 1 to {2}{3} is expected", source, text, most,
                        none.empty() ? "" : (" or '" + none + "'").str());
    request.*field = isNone ? std::nullopt : std::optional(number);
    return llvm::Error::success();
  };
  return withReset(std::move(row), field);
}

/// Bytes with or without a unit: 76GiB, 81604378624.
inline Setting bytesSetting(Setting row, std::optional<int64_t> PlanRequest::*field) {
  row.print = [field](const PlanRequest &request) {
    return request.*field ? std::vector<std::string>{std::to_string(*(request.*field))} : std::vector<std::string>();
  };
  row.read = [field](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    llvm::Expected<int64_t> bytes = parseBytes(text, source);
    if (!bytes)
      return bytes.takeError();
    request.*field = *bytes;
    return llvm::Error::success();
  };
  return withReset(std::move(row), field);
}

/// Bytes that may be absent; `none` is the text of the absent ones.
inline Setting optionalBytesSetting(Setting row, std::optional<int64_t> PlanRequest::*field, llvm::StringRef none) {
  row.print = [field](const PlanRequest &request) {
    return request.*field ? std::vector<std::string>{std::to_string(*(request.*field))} : std::vector<std::string>();
  };
  row.read = [=](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    if (text == none) {
      request.*field = std::nullopt;
      return llvm::Error::success();
    }
    llvm::Expected<int64_t> bytes = parseBytes(text, source);
    if (!bytes || *bytes < 0) {
      llvm::consumeError(bytes.takeError());
      return inputError("{0}: '{1}': a number of bytes is expected, as 0 or 25MiB, or '{2}'", source, text, none);
    }
    request.*field = *bytes;
    return llvm::Error::success();
  };
  return withReset(std::move(row), field);
}

/// A number that may be absent, checked by `check`.
inline Setting optionalNumberSetting(Setting row, std::optional<double> PlanRequest::*field,
                                     llvm::Error (*check)(double, const llvm::Twine &)) {
  row.print = [field](const PlanRequest &request) {
    return request.*field ? std::vector<std::string>{shortestNumber(*(request.*field))} : std::vector<std::string>();
  };
  row.read = [=](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    double number = 0;
    if (text.getAsDouble(number))
      return inputError("{0}: '{1}' is no number", source, text);
    if (llvm::Error error = check(number, source + ": " + text))
      return error;
    request.*field = number;
    return llvm::Error::success();
  };
  return withReset(std::move(row), field);
}

/// `check` says of a number whether it may be; it is given the text for its message: "--gap: '7'".
inline Setting numberSetting(Setting row, double PlanRequest::*field,
                             llvm::Error (*check)(double, const llvm::Twine &)) {
  row.print = [field](const PlanRequest &request) { return std::vector<std::string>{shortestNumber(request.*field)}; };
  row.read = [field, check](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    double number = -1; // of texts that are no numbers: no check accepts it
    if (text.getAsDouble(number))
      number = -1;
    if (llvm::Error error = check(number, source + ": '" + text + "'"))
      return error;
    request.*field = number;
    return llvm::Error::success();
  };
  return withReset(std::move(row), field);
}

/// True where it is given.
inline Setting switchSetting(Setting row, bool PlanRequest::*field) {
  row.print = [field](const PlanRequest &request) {
    return std::vector<std::string>{request.*field ? "true" : "false"};
  };
  row.read = [field](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    if (text != "true" && text != "false")
      return inputError("{0}: '{1}': true or false is expected", source, text);
    request.*field = text == "true";
    return llvm::Error::success();
  };
  return withReset(std::move(row), field);
}

/// One of `names`, which are those of the enumerators in their order.
template <typename Enum, size_t Size>
Setting enumSetting(Setting row, Enum PlanRequest::*field, const llvm::StringLiteral (&names)[Size]) {
  llvm::ArrayRef<llvm::StringLiteral> known(names);
  row.print = [field, known](const PlanRequest &request) {
    return std::vector<std::string>{known[static_cast<size_t>(request.*field)].str()};
  };
  row.read = [field, known](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    const auto *found = llvm::find(known, text);
    if (found == known.end())
      return inputError("{0} {1}: accepted are '{2}'", source, text, llvm::join(known, "', '"));
    request.*field = static_cast<Enum>(found - known.begin());
    return llvm::Error::success();
  };
  return withReset(std::move(row), field);
}

/// A value that is read by `parse` and printed by its `str`.
template <typename T>
Setting parsedSetting(Setting row, T PlanRequest::*field,
                      llvm::Expected<T> (*parse)(llvm::StringRef text, llvm::StringRef source)) {
  row.print = [field](const PlanRequest &request) { return std::vector<std::string>{(request.*field).str()}; };
  row.read = [field, parse](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    llvm::Expected<T> value = parse(text, source);
    if (!value)
      return value.takeError();
    request.*field = std::move(*value);
    return llvm::Error::success();
  };
  return withReset(std::move(row), field);
}

/// A list whose items are read by `parse` and printed by their `str`; given anew, it replaces the one before.
template <typename T>
Setting parsedListSetting(Setting row, std::vector<T> PlanRequest::*field,
                          llvm::Expected<T> (*parse)(llvm::StringRef text, llvm::StringRef source)) {
  row.isList = row.replaces = true;
  row.print = [field](const PlanRequest &request) {
    std::vector<std::string> texts;
    for (const T &item : request.*field)
      texts.push_back(item.str());
    return texts;
  };
  row.read = [field, parse](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    llvm::Expected<T> item = parse(text, source);
    if (!item)
      return item.takeError();
    (request.*field).push_back(std::move(*item));
    return llvm::Error::success();
  };
  return withReset(std::move(row), field);
}

inline Setting textListSetting(Setting row, std::vector<std::string> PlanRequest::*field) {
  row.isList = row.replaces = true;
  row.print = [field](const PlanRequest &request) { return request.*field; };
  row.read = [field](PlanRequest &request, llvm::StringRef text, llvm::StringRef source) -> llvm::Error {
    if (text.empty())
      return inputError("{0}: a text is expected, not an empty one", source);
    (request.*field).push_back(text.str());
    return llvm::Error::success();
  };
  return withReset(std::move(row), field);
}

} // namespace apc
