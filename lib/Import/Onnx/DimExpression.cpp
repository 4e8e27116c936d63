// A recursive-descent parser over the arithmetic of dim expressions.
#include "DimExpression.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>

namespace apc::onnx {

namespace {

/// Parses and evaluates in one go. Once `failed`, values mean nothing.
class Parser {
public:
  Parser(llvm::StringRef text, SymbolValue value) : rest(text), value(value) {}

  std::optional<double> parse() {
    double result = sum();
    skipBlanks();
    if (failed || !rest.empty())
      return std::nullopt;
    return result;
  }

private:
  static constexpr unsigned maxDepth = 64;

  void skipBlanks() { rest = rest.ltrim(); }

  bool take(llvm::StringRef token) {
    skipBlanks();
    return rest.consume_front(token);
  }

  double fail() {
    failed = true;
    return 0;
  }

  double sum() {
    double result = product();
    while (!failed) {
      if (take("+"))
        result += product();
      else if (take("-"))
        result -= product();
      else
        break;
    }
    return result;
  }

  double product() {
    double result = unary();
    while (!failed) {
      if (take("//"))
        result = std::floor(divide(result, unary()));
      else if (take("*"))
        result *= unary();
      else if (take("/"))
        result = divide(result, unary());
      else if (take("%"))
        result = modulo(result, unary());
      else
        break;
    }
    return result;
  }

  double divide(double a, double b) { return b == 0 ? fail() : a / b; }
  double modulo(double a, double b) { return b == 0 ? fail() : a - b * std::floor(a / b); }

  double unary() {
    if (++depth > maxDepth)
      return fail();
    double result = take("-") ? -unary() : atom();
    --depth;
    return result;
  }

  double atom() {
    if (take("(")) {
      double result = sum();
      return take(")") ? result : fail();
    }
    skipBlanks();
    if (rest.empty())
      return fail();
    if (llvm::isDigit(rest.front()))
      return number();
    llvm::StringRef name = rest.take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.' || c == ':'; });
    if (name.empty())
      return fail();
    rest = rest.drop_front(name.size());
    if (take("("))
      return call(name.lower());
    std::optional<double> bound = value(name);
    return bound ? *bound : fail();
  }

  double number() {
    llvm::StringRef digits = rest.take_while([](char c) { return llvm::isDigit(c) || c == '.'; });
    double result = 0;
    if (digits.getAsDouble(result))
      return fail();
    rest = rest.drop_front(digits.size());
    return result;
  }

  double call(llvm::StringRef function) {
    llvm::SmallVector<double, 2> arguments = {sum()};
    while (!failed && take(","))
      arguments.push_back(sum());
    if (failed || !take(")"))
      return fail();
    if (function == "max")
      return *llvm::max_element(arguments);
    if (function == "min")
      return *llvm::min_element(arguments);
    if (function == "mod" && arguments.size() == 2)
      return modulo(arguments[0], arguments[1]);
    if (arguments.size() != 1)
      return fail();
    if (function == "floor")
      return std::floor(arguments[0]);
    if (function == "ceil" || function == "ceiling")
      return std::ceil(arguments[0]);
    return function == "round" ? std::nearbyint(arguments[0]) : fail();
  }

  llvm::StringRef rest;
  SymbolValue value;
  unsigned depth = 0;
  bool failed = false;
};

} // namespace

std::optional<llvm::SmallVector<std::string, 2>> symbolsOf(llvm::StringRef text) {
  llvm::SmallVector<std::string, 2> names;
  // Each name stands for a value of its own, so that no difference of two is zero and nothing divides by it.
  auto collect = [&](llvm::StringRef name) -> std::optional<double> {
    if (!llvm::is_contained(names, name))
      names.push_back(name.str());
    return 7.0 + static_cast<double>(names.size()) / 16;
  };
  if (!Parser(text, collect).parse())
    return std::nullopt;
  return names;
}

std::optional<int64_t> evaluateDim(llvm::StringRef text, SymbolValue value) {
  std::optional<double> result = Parser(text, value).parse();
  constexpr double limit = 9007199254740992.0; // 2^53
  if (!result || !std::isfinite(*result) || *result < 0 || *result > limit)
    return std::nullopt;
  double whole = std::nearbyint(*result);
  if (std::abs(*result - whole) > 1e-6)
    return std::nullopt;
  return static_cast<int64_t>(whole);
}

} // namespace apc::onnx
