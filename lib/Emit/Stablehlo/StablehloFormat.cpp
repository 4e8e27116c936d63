// Format `stablehlo`: the program of each rank as modules that XLA compiles, and what goes in and out of them.
#include "../Formats.h"
#include "../ProgramMesh.h"
#include "FunctionWriter.h"

#include "apc/Support/Json/JsonWriter.h"

namespace apc {

namespace {

/// Lets a context hold ops of dialects that it does not know, for a while.
class UnregisteredOps {
public:
  explicit UnregisteredOps(mlir::MLIRContext *context)
      : context(context), before(context->allowsUnregisteredDialects()) {
    context->allowUnregisteredDialects();
  }
  ~UnregisteredOps() { context->allowUnregisteredDialects(before); }

private:
  mlir::MLIRContext *context;
  bool before;
};

std::string fileOf(const HloProgram &program) { return (program.name == "step" ? "program" : program.name) + ".mlir"; }

void writeValues(JsonWriter &json, JsonObjectWriter &object, llvm::StringRef key, llvm::ArrayRef<HloValue> values) {
  object.list(key, [&] {
    for (const HloValue &value : values)
      json.oneLine([&] {
        json.object([&](JsonObjectWriter &line) {
          line("kind", value.kind);
          line("name", value.name);
          auto type = llvm::cast<mlir::RankedTensorType>(value.type);
          std::string element;
          llvm::raw_string_ostream(element) << type.getElementType();
          line("shape", type.getShape());
          line("element_type", element);
        });
      });
  });
}

/// parts.json: for each part its file, and what its `main` takes and gives, in order.
std::string printParts(llvm::ArrayRef<HloProgram> programs) {
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object.list("parts", [&] {
      for (const HloProgram &program : programs)
        json.object([&](JsonObjectWriter &part) {
          part("name", program.name);
          part("file", fileOf(program));
          writeValues(json, part, "arguments", program.arguments);
          writeValues(json, part, "results", program.results);
        });
    });
  });
  return json.take() + "\n";
}

} // namespace

llvm::Error emitStablehlo(const EmitRequest &request, AddFile addFile) {
  mlir::ModuleOp program = *request.stage.module;
  llvm::Expected<Mesh> mesh = meshOfProgram(program);
  if (!mesh)
    return mesh.takeError();
  UnregisteredOps unregistered(program.getContext());
  auto programs = writeHloPrograms(program, *mesh);
  if (!programs)
    return programs.takeError();
  for (const HloProgram &part : *programs)
    if (llvm::Error error = addFile(fileOf(part), part.text))
      return error;
  return addFile("parts.json", printParts(*programs));
}

} // namespace apc
