// Finds the cases, runs each in its own process, and reports.
#include "apc/Conformance/Conformance.h"

#include "ConformanceCase.h"
#include "Isolate.h"

#include "apc/Search/Algorithms.h"
#include "apc/Support/Error.h"
#include "apc/Support/File.h"

#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"

namespace apc {

namespace {

struct Case {
  std::string name, folder;
};

constexpr llvm::StringLiteral verdictWords[] = {"passed ", "failed ", "skipped"};

llvm::Expected<std::vector<Case>> findCases(const ConformanceOptions &options) {
  llvm::Regex filter(options.filter.value_or("."));
  std::string problem;
  if (!filter.isValid(problem))
    return inputError("--filter '{0}' is no regular expression: {1}", *options.filter, problem);
  std::vector<Case> cases;
  for (const std::string &root : options.folders) {
    if (!llvm::sys::fs::is_directory(root))
      return inputError("{0}: no such folder", root);
    std::error_code error;
    for (llvm::sys::fs::recursive_directory_iterator entry(root, error), end; entry != end && !error;
         entry.increment(error)) {
      if (llvm::sys::path::filename(entry->path()) != "model.onnx")
        continue;
      llvm::StringRef folder = llvm::sys::path::parent_path(entry->path());
      llvm::StringRef name = folder.drop_front(std::min(folder.size(), llvm::StringRef(root).rtrim('/').size()));
      name = name.ltrim('/').empty() ? llvm::sys::path::filename(folder) : name.ltrim('/');
      if (filter.match(name))
        cases.push_back({name.str(), folder.str()});
    }
  }
  llvm::sort(cases,
             [](const Case &a, const Case &b) { return std::tie(a.name, a.folder) < std::tie(b.name, b.folder); });
  if (cases.empty())
    return inputError("no case: no folder below the given ones holds a model.onnx{0}",
                      options.filter ? " whose name matches --filter" : "");
  return cases;
}

CaseResult resultOf(const IsolatedResult &isolated) {
  CaseResult result;
  if (!isolated.failure.empty() || isolated.text.empty()) {
    result.verdict = Verdict::Failed;
    result.text = isolated.failure.empty() ? "gave no result" : isolated.failure;
  } else {
    result.verdict = static_cast<Verdict>(isolated.text[0] - '0');
    result.text = isolated.text.substr(1);
  }
  result.seconds = isolated.seconds;
  return result;
}

std::string escapeXml(llvm::StringRef text) {
  std::string escaped;
  for (char c : text) {
    if (c == '<')
      escaped += "&lt;";
    else if (c == '>')
      escaped += "&gt;";
    else if (c == '&')
      escaped += "&amp;";
    else if (c == '"')
      escaped += "&quot;";
    else
      escaped += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return escaped;
}

std::string junitText(const std::vector<Case> &cases, const std::vector<CaseResult> &results,
                      const ConformanceTotals &totals) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
     << llvm::formatv("<testsuite name=\"conformance\" tests=\"{0}\" failures=\"{1}\" skipped=\"{2}\">\n", cases.size(),
                      totals.failed, totals.skipped);
  for (size_t i = 0; i < cases.size(); ++i) {
    os << llvm::formatv("  <testcase name=\"{0}\" time=\"{1:f3}\"", escapeXml(cases[i].name), results[i].seconds);
    std::string message = escapeXml(results[i].text);
    if (results[i].verdict == Verdict::Failed)
      os << "><failure message=\"" << message << "\"/></testcase>\n";
    else if (results[i].verdict == Verdict::Skipped)
      os << "><skipped message=\"" << message << "\"/></testcase>\n";
    else
      os << "/>\n";
  }
  os << "</testsuite>\n";
  return text;
}

} // namespace

llvm::Expected<ConformanceTotals> runConformance(const ConformanceOptions &options, llvm::raw_ostream &out) {
  for (const std::string &name : options.searches)
    if (auto search = findSearch(name); !search)
      return search.takeError();
  auto cases = findCases(options);
  if (!cases)
    return cases.takeError();
  std::vector<std::optional<CaseResult>> pending(cases->size());
  std::vector<CaseResult> results;
  ConformanceTotals totals;
  unsigned *counts[] = {&totals.passed, &totals.failed, &totals.skipped};
  auto work = [&](size_t index) {
    const std::string &folder = (*cases)[index].folder;
    CaseResult result = options.training ? runTrainingCase(folder, options) : runCase(folder, options);
    return std::to_string(static_cast<int>(result.verdict)) + result.text;
  };
  auto done = [&](size_t index, const IsolatedResult &isolated) {
    pending[index] = resultOf(isolated);
    // In order: a case that ends early waits for those before it.
    while (results.size() < cases->size() && pending[results.size()]) {
      const CaseResult &result = results.emplace_back(*pending[results.size()]);
      auto verdict = static_cast<size_t>(result.verdict);
      ++*counts[verdict];
      out << verdictWords[verdict] << " " << (*cases)[results.size() - 1].name
          << (result.text.empty() ? "" : ": " + result.text) << "\n";
      out.flush();
    }
  };
  out.flush();
  runIsolated(cases->size(), options.jobs, options.timeLimitSeconds, work, done);
  out << llvm::formatv("{0} passed, {1} failed, {2} skipped\n", totals.passed, totals.failed, totals.skipped);
  if (options.junit)
    if (llvm::Error error = writeFileAtomically(*options.junit, junitText(*cases, results, totals)))
      return error;
  return totals;
}

} // namespace apc
