// The outcome of an export in words and as JSON.
#include "apc/Export/Export.h"
#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/Units.h"
#include "apc/Support/VisibleText.h"

#include "llvm/Support/raw_ostream.h"

namespace apc {

std::string printExportJson(const ExportReport &report) {
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object("target", report.target);
    object("layout", report.layout);
    object("step_seconds", report.stepSeconds);
    object("target_step_seconds", report.targetStepSeconds);
    object("unsaid", report.exported.unsaid);
    object.object("files", [&](JsonObjectWriter &files) {
      for (const ExportedFile &file : report.exported.files)
        if (isUtf8(file.content))
          files(file.name, file.content);
        else
          files.object(file.name, [&](JsonObjectWriter &binary) { binary("bytes", file.content.size()); });
    });
  });
  return json.take() + "\n";
}

void printExport(const ExportReport &report, llvm::raw_ostream &os) {
  os << "target   " << report.target << "\n";
  if (!report.layout.empty())
    os << "layout   " << report.layout << "\n";
  os << "step     " << formatSeconds(report.stepSeconds) << " as planned";
  if (report.targetStepSeconds)
    os << ", " << formatSeconds(*report.targetStepSeconds) << " as " << report.target << " runs it";
  os << "\n";
  for (const std::string &unsaid : report.exported.unsaid)
    os << "unsaid   " << visibleText(unsaid) << "\n";
  if (report.exported.unsaid.empty())
    os << "unsaid   nothing: the target is told all of the plan\n";
}

} // namespace apc
