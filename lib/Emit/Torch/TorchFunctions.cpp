// Python functions cut out of their files.
#include "TorchFunctions.h"

#include "PythonText.h"

#include "apc/IR/TorchOps.h"
#include "apc/Support/Error.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

/// Calls `visit` with each identifier of `text`, and where it begins.
template <typename Visit>
void forEachName(llvm::StringRef text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    if (text[at] == '"' || text[at] == '\'') {
      size_t end = text.find(text[at], at + 1);
      at = end == llvm::StringRef::npos ? text.size() : end + 1;
      continue;
    }
    if (!isNamePart(text[at])) {
      ++at;
      continue;
    }
    size_t end = at;
    while (end < text.size() && isNamePart(text[end]))
      ++end;
    if (!llvm::isDigit(text[at]))
      visit(text.slice(at, end), at);
    at = end;
  }
}

/// The same for the names of functions that `text` calls.
template <typename Visit>
void forEachCall(llvm::StringRef text, Visit visit) {
  forEachName(text, [&](llvm::StringRef name, size_t at) {
    if (text.drop_front(at + name.size()).starts_with("(") && (at == 0 || text[at - 1] != '.'))
      visit(name);
  });
}

/// The parameters between the brackets of a `def`.
std::vector<TorchParameter> readParameters(llvm::StringRef text) {
  std::vector<TorchParameter> parameters;
  llvm::SmallVector<llvm::StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef part : parts) {
    auto [declared, standard] = part.split('=');
    auto [name, annotation] = declared.split(':');
    parameters.push_back({name.trim().str(), annotation.trim().str(), standard.trim().str()});
  }
  return parameters;
}

/// The cases of a body that has nothing else; empty otherwise.
std::vector<TorchCase> readCases(llvm::StringRef body) {
  std::vector<TorchCase> cases;
  std::string condition;
  llvm::SmallVector<llvm::StringRef> lines;
  body.split(lines, '\n');
  for (llvm::StringRef line : lines) {
    line = line.trim();
    if (line.empty() || line.starts_with("\"\"\""))
      continue;
    if (line.consume_front("return ") && (cases.empty() || !cases.back().condition.empty()))
      cases.push_back({std::exchange(condition, ""), line.str()});
    else if (condition.empty() && line.consume_front("if ") && line.consume_back(":"))
      condition = line.str();
    else
      return {};
  }
  bool isWhole = !cases.empty() && cases.back().condition.empty() && condition.empty();
  return isWhole ? cases : std::vector<TorchCase>();
}

/// The function whose `def` begins `text`; `text` holds no other one.
llvm::Expected<TorchFunction> readFunction(llvm::StringRef text, llvm::StringRef file) {
  TorchFunction function;
  text = text.rtrim();
  size_t open = text.find('('), close = text.find("):");
  if (open == llvm::StringRef::npos || close == llvm::StringRef::npos)
    return internalError("torch_{0}: '{1}' is no function", file, text.split('\n').first);
  function.name = text.slice(4, open).str();
  function.parameters = readParameters(text.slice(open + 1, close));
  // Annotations are for the emitter alone.
  auto names = llvm::map_range(function.parameters, [](const TorchParameter &parameter) {
    return parameter.name + (parameter.standard.empty() ? "" : "=" + parameter.standard);
  });
  function.text = text.take_front(open + 1).str() + llvm::join(names, ", ") + text.drop_front(close).str();
  function.cases = readCases(text.drop_front(close + 2));
  return function;
}

/// Does a condition hold? `x`, `not x`, `x is None`, `x is not None`, `x == 1`, `x != 1`, `x < 13`, joined by `and`.
/// None where an argument is no literal.
std::optional<bool> holds(llvm::StringRef condition, const llvm::StringMap<std::string> &arguments) {
  llvm::SmallVector<llvm::StringRef> terms;
  condition.split(terms, " and ");
  for (llvm::StringRef term : terms) {
    term = term.trim();
    bool isNegated = term.consume_front("not ");
    llvm::StringRef name = term.take_while(isNamePart), rest = term.drop_front(name.size()).trim();
    auto found = arguments.find(name);
    if (found == arguments.end())
      return std::nullopt;
    llvm::StringRef value = found->second;
    bool isLiteral = value.starts_with("torch.") || value == "None" || value == "True" || value == "False" ||
                     llvm::isDigit(value.front()) || llvm::StringRef("-\"[(").contains(value.front());
    bool isTrue = false;
    if (rest == "is None")
      isTrue = value == "None";
    else if (rest == "is not None")
      isTrue = value != "None";
    else if (!isLiteral)
      return std::nullopt;
    else if (rest.consume_front("=="))
      isTrue = value == rest.trim();
    else if (rest.consume_front("!="))
      isTrue = value != rest.trim();
    else if (int64_t number = 0, bound = 0; rest.consume_front("<") && !value.getAsInteger(10, number))
      isTrue = !rest.trim().getAsInteger(10, bound) && number < bound;
    else
      isTrue =
          value != "None" && value != "False" && value != "0" && value != "0.0" && value != "[]" && value != "\"\"";
    if (isTrue == isNegated)
      return false;
  }
  return true;
}

} // namespace

llvm::Expected<TorchFunctions> TorchFunctions::read() {
  TorchFunctions all;
  constexpr llvm::StringLiteral begin = "\ndef ";
  for (const EmbeddedText &file : torchOps()) {
    llvm::StringRef rest = file.text;
    size_t at = rest.find(begin);
    while (at != llvm::StringRef::npos) {
      rest = rest.drop_front(at + 1);
      at = rest.find(begin);
      auto function = readFunction(rest.take_front(at), file.name);
      if (!function)
        return function.takeError();
      if (!all.byName.try_emplace(function->name, all.functions.size()).second)
        return internalError("{0}: a second function '{1}'", file.name, function->name);
      all.functions.push_back(std::move(*function));
    }
  }
  return all;
}

const TorchFunction *TorchFunctions::find(llvm::StringRef mnemonic) const {
  for (const std::string &name : {mnemonic.str(), mnemonic.str() + "_"})
    if (auto found = byName.find(name); found != byName.end())
      return &functions[found->second];
  return nullptr;
}

std::string TorchFunctions::callThroughModule(llvm::StringRef expression, std::set<std::string> &used) const {
  llvm::StringMap<std::string> called;
  forEachCall(expression, [&](llvm::StringRef name) {
    if (byName.count(name)) {
      used.insert(name.str());
      called[name] = "ops." + name.str();
    }
  });
  return replaceNames(expression, called);
}

std::set<std::string> TorchFunctions::freeNames() const {
  std::set<std::string> names;
  for (const TorchFunction &function : functions)
    for (const TorchCase &one : function.cases)
      forEachName(one.expression, [&](llvm::StringRef name, size_t at) {
        bool isMember = at > 0 && one.expression[at - 1] == '.';
        bool isArgumentName = llvm::StringRef(one.expression).drop_front(at + name.size()).starts_with("=");
        if (!isMember && !isArgumentName &&
            llvm::none_of(function.parameters, [&](const auto &own) { return own.name == name; }))
          names.insert(name.str());
      });
  return names;
}

std::string TorchFunctions::printModule(const std::set<std::string> &names) const {
  std::set<std::string> wanted;
  std::vector<std::string> open(names.begin(), names.end());
  while (!open.empty()) {
    std::string name = std::move(open.back());
    open.pop_back();
    auto found = byName.find(name);
    if (found == byName.end() || !wanted.insert(name).second)
      continue;
    forEachCall(functions[found->second].text, [&](llvm::StringRef used) { open.push_back(used.str()); });
  }
  std::string text = "\"\"\"Operators that are more than one call of PyTorch, on the piece of one device.\"\"\"\n"
                     "import math\n\nimport torch\nimport torch.nn.functional as F\n";
  for (const TorchFunction &function : functions)
    if (wanted.count(function.name))
      text += "\n\n" + function.text + "\n";
  return text;
}

/// The elements of a list of names and calls: "[a, f(b, c)]" -> "a", "f(b, c)".
static std::vector<std::string> elementsOf(llvm::StringRef list) {
  std::vector<std::string> elements(1);
  int depth = 0;
  for (char c : list.drop_front().drop_back()) {
    depth += llvm::StringRef("([{").contains(c) ? 1 : llvm::StringRef(")]}").contains(c) ? -1 : 0;
    if (c == ',' && depth == 0)
      elements.emplace_back();
    else if (c != ' ' || depth > 0)
      elements.back() += c;
  }
  return elements;
}

std::optional<std::string> expressionFor(const TorchFunction &function, const llvm::StringMap<std::string> &arguments) {
  for (const TorchCase &one : function.cases) {
    std::optional<bool> is = one.condition.empty() ? true : holds(one.condition, arguments);
    if (!is)
      return std::nullopt;
    if (*is)
      return replaceNames(one.expression, arguments);
  }
  return std::nullopt;
}

std::string replaceNames(llvm::StringRef expression, const llvm::StringMap<std::string> &replaced) {
  std::string text;
  size_t done = 0;
  forEachName(expression, [&](llvm::StringRef name, size_t at) {
    llvm::StringRef behind = expression.drop_front(at + name.size());
    bool isMember = at > 0 && expression[at - 1] == '.';
    bool isArgumentName = behind.starts_with("=") && !behind.starts_with("==");
    auto found = replaced.find(name);
    if (isMember || isArgumentName || at < done || found == replaced.end())
      return;
    llvm::StringRef value = found->second;
    bool isSpread = at > 0 && expression[at - 1] == '*' && value.starts_with("[");
    text += expression.slice(done, isSpread ? at - 1 : at);
    done = at + name.size();
    unsigned index = 0;
    if (isSpread) {
      text += value.drop_front().drop_back();
    } else if (value.starts_with("[") && behind.starts_with("[") && !behind.drop_front().consumeInteger(10, index)) {
      text += elementsOf(value)[index];
      done += behind.find(']') + 1;
    } else {
      text += value;
    }
  });
  return text + expression.drop_front(done).str();
}

} // namespace apc
