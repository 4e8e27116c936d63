// The files of an emission, as a table and as a document.
#include "apc/Emit/Emit.h"

#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"
#include "apc/Support/VisibleText.h"

namespace apc {

void printEmission(const Emission &emission, llvm::raw_ostream &os) {
  TextTable table;
  table.addColumn("file");
  table.addColumn("size", TextTable::Align::Right);
  constexpr size_t maxListed = 12;
  for (const EmittedFile &file : llvm::ArrayRef(emission.files).take_front(maxListed))
    table.addRow({file.name, formatBytes(static_cast<double>(file.bytes))});
  table.print(os);
  if (emission.files.size() > maxListed)
    os << "and " << emission.files.size() - maxListed << " more\n";
  os << "\n"
     << emission.numParameters << " parameters, " << formatBytes(static_cast<double>(emission.parameterBytesPerRank))
     << " on each rank";
  if (!emission.absent.empty())
    os << "; " << emission.absent.size() << " without data in the model, as '" << visibleText(emission.absent.front())
       << "'";
  for (const std::string &name : emission.opaque)
    os << "\nthe program cannot be run: nobody knows what " << visibleText(name) << " computes";
  os << "\nwritten to " << emission.folder << "\n";
}

std::string printEmissionJson(const Emission &emission) {
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object("folder", emission.folder);
    object.list("files", [&] {
      for (const EmittedFile &file : emission.files)
        json.object([&](JsonObjectWriter &entry) {
          entry("name", file.name);
          entry("bytes", file.bytes);
        });
    });
    object("parameters", static_cast<int64_t>(emission.numParameters));
    object("absent_parameters", emission.absent);
    object("parameter_bytes_per_rank", emission.parameterBytesPerRank);
    object("opaque_operators", emission.opaque);
  });
  return json.take() + "\n";
}

} // namespace apc
