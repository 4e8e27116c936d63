// Literals, names and long lines.
#include "PythonText.h"

#include "apc/IR/Kernels/Tensor.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

#include <charconv>
#include <cmath>

namespace apc {

std::string torchType(mlir::Type element) {
  if (element.isF64())
    return "torch.float64";
  if (element.isF32())
    return "torch.float32";
  if (element.isF16())
    return "torch.float16";
  if (element.isBF16())
    return "torch.bfloat16";
  auto integer = llvm::dyn_cast<mlir::IntegerType>(element);
  if (!integer)
    return "";
  unsigned width = integer.getWidth();
  if (width == 1)
    return "torch.bool";
  if (integer.isUnsigned())
    return width == 8 ? "torch.uint8" : "";
  return width >= 8 ? llvm::formatv("torch.int{0}", width).str() : "";
}

static std::string joinNumbers(llvm::ArrayRef<int64_t> numbers) {
  return llvm::join(llvm::map_range(numbers, [](int64_t number) { return std::to_string(number); }), ", ");
}

std::string pythonList(llvm::ArrayRef<int64_t> numbers) { return "[" + joinNumbers(numbers) + "]"; }

std::string pythonTuple(llvm::ArrayRef<int64_t> numbers) {
  return "(" + joinNumbers(numbers) + (numbers.size() == 1 ? ",)" : ")");
}

std::string pythonCounted(llvm::ArrayRef<int64_t> numbers) {
  constexpr size_t fewest = 16;
  std::string terms, loops, names = "ijkl";
  std::vector<int64_t> rest = numbers.vec();
  for (char name : names) {
    if (rest.size() < 2)
      break;
    int64_t step = rest[1] - rest[0];
    size_t count = 2;
    while (count < rest.size() && rest[count] - rest[count - 1] == step)
      ++count;
    std::vector<int64_t> heads;
    for (size_t at = 0; at < rest.size(); ++at) {
      if (at % count == 0)
        heads.push_back(rest[at]);
      if (rest[at] != heads.back() + step * static_cast<int64_t>(at % count))
        return pythonList(numbers);
    }
    if (rest.size() % count != 0)
      return pythonList(numbers);
    terms += terms.empty() ? "" : " + ";
    terms += step == 1 ? std::string(1, name) : llvm::formatv("{0} * {1}", step, name).str();
    loops = llvm::formatv(" for {0} in range({1}){2}", name, count, loops);
    rest = std::move(heads);
  }
  if (numbers.size() < fewest || rest.size() != 1)
    return pythonList(numbers);
  return "[" + (rest[0] == 0 ? "" : std::to_string(rest[0]) + " + ") + terms + loops + "]";
}

std::string pythonString(llvm::StringRef text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      quoted += '\\';
    if (c == '\n')
      quoted += "\\n";
    else if (static_cast<unsigned char>(c) < ' ')
      quoted += llvm::formatv("\\x{0:X-2}", static_cast<unsigned>(c)).str();
    else
      quoted += c;
  }
  return quoted + "\"";
}

std::string pythonNumber(double value, bool isSingle) {
  if (std::isnan(value))
    return "float(\"nan\")";
  if (std::isinf(value))
    return value > 0 ? "float(\"inf\")" : "float(\"-inf\")";
  // The shortest text of the greatest float lies above it, as Python reads it.
  isSingle &= std::abs(value) < 1e38;
  char buffer[64];
  auto written = isSingle ? std::to_chars(std::begin(buffer), std::end(buffer), static_cast<float>(value))
                          : std::to_chars(std::begin(buffer), std::end(buffer), value);
  std::string text(buffer, written.ptr);
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

static std::string listOf(mlir::ArrayAttr values) {
  return "[" + llvm::join(llvm::map_range(values, pythonValue), ", ") + "]";
}

template <typename T>
static std::string listOfFloats(llvm::ArrayRef<T> numbers, bool isSingle) {
  auto texts = llvm::map_range(numbers, [&](T number) { return pythonNumber(number, isSingle); });
  return "[" + llvm::join(texts, ", ") + "]";
}

/// The elements of a dim and of those behind it, from `at` on.
static std::string nested(const Tensor &tensor, size_t dim, size_t &at) {
  bool isSingle = tensor.element.getIntOrFloatBitWidth() <= 32;
  if (dim == tensor.dims.size()) {
    size_t index = at++;
    if (tensor.isFloat())
      return pythonNumber(tensor.floats[index], isSingle);
    if (tensor.element.isInteger(1))
      return tensor.ints[index] ? "True" : "False";
    return std::to_string(tensor.ints[index]);
  }
  std::string text = "[";
  for (int64_t index = 0; index < tensor.dims[dim]; ++index)
    text += (index ? ", " : "") + nested(tensor, dim + 1, at);
  return text + "]";
}

static std::string nestedList(mlir::DenseElementsAttr values) {
  Tensor tensor = Tensor::read(values);
  size_t at = 0;
  return nested(tensor, 0, at);
}

std::string pythonValue(mlir::Attribute attribute) {
  if (!attribute)
    return "None";
  return llvm::TypeSwitch<mlir::Attribute, std::string>(attribute)
      .Case([](mlir::UnitAttr) { return std::string("True"); })
      .Case([](mlir::BoolAttr value) { return value.getValue() ? std::string("True") : std::string("False"); })
      .Case([](mlir::IntegerAttr value) { return std::to_string(value.getValue().getSExtValue()); })
      .Case([](mlir::FloatAttr value) {
        return pythonNumber(value.getValueAsDouble(), value.getType().getIntOrFloatBitWidth() <= 32);
      })
      .Case([](mlir::StringAttr value) { return pythonString(value.getValue()); })
      .Case([](mlir::ArrayAttr values) { return listOf(values); })
      .Case([](mlir::DenseElementsAttr values) { return nestedList(values); })
      .Case([](mlir::DenseI64ArrayAttr values) { return pythonList(values.asArrayRef()); })
      .Case([](mlir::DenseF32ArrayAttr values) { return listOfFloats(values.asArrayRef(), true); })
      .Case([](mlir::DenseF64ArrayAttr values) { return listOfFloats(values.asArrayRef(), false); })
      .Case([](mlir::TypeAttr type) { return torchType(type.getValue()); })
      .Default([](mlir::Attribute) { return std::string("None"); });
}

std::optional<std::string> pythonTensor(mlir::DenseElementsAttr value) {
  constexpr int64_t mostElements = 32;
  Tensor tensor = Tensor::read(value);
  std::string rest = ", dtype=" + torchType(value.getElementType()) + ", device=device)";
  size_t at = 0;
  if (value.isSplat() && value.getNumElements() > 1)
    return "torch.full(" + pythonTuple(value.getType().getShape()) + ", " + nested(tensor, tensor.dims.size(), at) +
           rest;
  if (value.getNumElements() > mostElements)
    return std::nullopt;
  return "torch.tensor(" + nestedList(value) + rest;
}

bool isNamePart(char c) { return llvm::isAlnum(c) || c == '_'; }

std::string pythonName(llvm::StringRef text) {
  std::string name;
  char before = '_';
  for (char c : text) {
    bool isNew = llvm::isUpper(c) && (llvm::isLower(before) || llvm::isDigit(before));
    char next = llvm::isAlnum(c) ? llvm::toLower(c) : '_';
    if (isNew && !name.empty() && name.back() != '_')
      name += '_';
    if (next != '_' || (!name.empty() && name.back() != '_'))
      name += next;
    before = c;
  }
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  return name.empty() || llvm::isDigit(name.front()) ? "v_" + name : name;
}

constexpr size_t columns = 120;

/// Names on the left of an assignment, or behind `return`, in brackets, so that the line may be broken.
static std::string bracketNames(std::string line) {
  llvm::StringRef left = llvm::StringRef(line).take_until([](char c) { return c == '(' || c == '='; });
  if (llvm::StringRef(line).starts_with("return ") && llvm::StringRef(line).find_first_of("({") == std::string::npos)
    return "return (" + line.substr(7) + ")";
  if (left.contains(", ") && left.size() < line.size() && line[left.size()] == '=')
    return "(" + left.trim().str() + ") " + line.substr(left.size());
  return line;
}

/// Code broken behind commas.
static std::string wrapCode(const std::string &given, unsigned indent) {
  std::string line = given.size() + indent > columns ? bracketNames(given) : given;
  std::string text, rest = std::string(indent, ' ') + line;
  while (rest.size() > columns) {
    size_t at = rest.rfind(", ", columns - 1), open = rest.find('(');
    // Names on the left have no brackets, so that the line may not end between them.
    if (text.empty() && open < columns && (at == std::string::npos || at < open))
      at = open;
    if (at == std::string::npos || at < indent + 8)
      break;
    text += rest.substr(0, at + 1) + "\n";
    rest = std::string(indent + 8, ' ') + llvm::StringRef(rest).drop_front(at + 1).ltrim().str();
  }
  return text + (rest.find_first_not_of(' ') == std::string::npos ? "" : rest);
}

std::string wrapLine(const std::string &given, unsigned indent) {
  size_t blanks = std::min(given.find_first_not_of(' '), given.size());
  if (blanks > 0)
    return wrapLine(given.substr(blanks), indent + static_cast<unsigned>(blanks));
  auto [code, comment] = llvm::StringRef(given).split("  # ");
  std::string text = wrapCode(code.str(), indent);
  if (comment.empty())
    return text + "\n";
  size_t last = text.size() - (text.rfind('\n') + 1);
  if (last + comment.size() + 4 <= columns)
    return text + "  # " + comment.str() + "\n";
  return std::string(indent, ' ') + "# " + comment.str() + "\n" + text + "\n";
}

std::string PythonNames::make(llvm::StringRef wanted) {
  std::string name = wanted.str();
  for (unsigned number = 2; !taken.insert(name).second; ++number)
    name = llvm::formatv("{0}_{1}", wanted, number).str();
  return name;
}

} // namespace apc
