// Tiny models for tests, written as protobuf text and serialised.
#pragma once

#include "apc/Import/Import.h"
#include "apc/Support/Error.h"

#include "OnnxModel.pb.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"

#include <google/protobuf/text_format.h>

#include <catch2/catch.hpp>

#include <initializer_list>

namespace apc::test {

using Names = std::initializer_list<std::string>;

/// `node { op_type: "Add" input: "x" input: "y" output: "z" <more> }`
inline std::string node(const std::string &type, Names inputs, Names outputs, const std::string &more = "") {
  std::string text = "node { op_type: \"" + type + "\"";
  for (const std::string &input : inputs)
    text += " input: \"" + input + "\"";
  for (const std::string &output : outputs)
    text += " output: \"" + output + "\"";
  return text + " " + more + " }\n";
}

/// `x { elem_type shape }`: dims are numbers, names, or "?" for unknown ones. Type 1 is float, 7 int64, 9 bool.
inline std::string value(const std::string &field, const std::string &name, Names dims, int type = 1) {
  std::string text =
      field + " { name: \"" + name + "\" type { tensor_type { elem_type: " + std::to_string(type) + " shape {";
  for (const std::string &dim : dims) {
    bool isNumber = dim.find_first_not_of("-0123456789") == std::string::npos;
    text += dim == "?" ? " dim {}"
            : isNumber ? " dim { dim_value: " + dim + " }"
                       : " dim { dim_param: \"" + dim + "\" }";
  }
  return text + " } } } }\n";
}
inline std::string input(const std::string &name, Names dims, int type = 1) { return value("input", name, dims, type); }
inline std::string output(const std::string &name) { return "output { name: \"" + name + "\" }\n"; }

inline std::string ints(const std::string &name, Names values) {
  std::string text = "attribute { name: \"" + name + "\" type: 7";
  for (const std::string &value : values)
    text += " ints: " + value;
  return text + " } ";
}
inline std::string integer(const std::string &name, int64_t value) {
  return "attribute { name: \"" + name + "\" type: 2 i: " + std::to_string(value) + " } ";
}

/// A graph as an attribute, as branches and bodies are.
inline std::string branch(const std::string &name, const std::string &graph) {
  return "attribute { name: \"" + name + "\" type: 5 g { name: \"" + name + "\" " + graph + "} }\n";
}

/// An int64 initializer.
inline std::string intTensor(const std::string &field, const std::string &name, Names dims, Names values) {
  std::string text = field + " { name: \"" + name + "\" data_type: 7";
  for (const std::string &dim : dims)
    text += " dims: " + dim;
  for (const std::string &value : values)
    text += " int64_data: " + value;
  return text + " }\n";
}
/// A float initializer without data.
inline std::string emptyWeight(const std::string &name, Names dims, int type = 1) {
  std::string text = "initializer { name: \"" + name + "\" data_type: " + std::to_string(type);
  for (const std::string &dim : dims)
    text += " dims: " + dim;
  return text + " }\n";
}

/// The bytes of a model with this graph. `more` are further fields of the model, functions for instance.
inline std::string serialize(const std::string &graph, int64_t opset = 17, const std::string &more = "") {
  onnx::ModelProto model;
  std::string text = "ir_version: 8 graph { name: \"g\"\n" + graph + "}\n" + more;
  if (opset > 0)
    text += "opset_import { version: " + std::to_string(opset) + " }";
  REQUIRE(google::protobuf::TextFormat::ParseFromString(text, &model));
  return model.SerializeAsString();
}

/// A context and the model imported in it.
struct Imported {
  mlir::MLIRContext context{mlir::MLIRContext::Threading::DISABLED};
  ImportReport report;
  mlir::OwningOpRef<mlir::ModuleOp> module;

  /// The module as text, every op with its location.
  std::string text() {
    std::string printed;
    llvm::raw_string_ostream os(printed);
    module->print(os, mlir::OpPrintingFlags().enableDebugInfo(true, false).useLocalScope());
    return printed;
  }
};

/// How often a part stands in a text.
inline size_t countOf(llvm::StringRef text, llvm::StringRef part) { return text.count(part); }

/// Imports and checks the module with MLIR's verifier.
inline std::unique_ptr<Imported> importText(const std::string &bytes, const ImportOptions &options = {}) {
  auto imported = std::make_unique<Imported>();
  auto model = importOnnxBytes(bytes, "model.onnx", options, imported->context);
  if (!model) {
    FAIL(takeMessage(model.takeError()).second);
    return imported;
  }
  imported->module = std::move(model->module);
  imported->report = std::move(model->report);
  REQUIRE(mlir::succeeded(mlir::verify(*imported->module)));
  return imported;
}

/// The message of the input error that importing gives.
inline std::string importError(const std::string &bytes, const ImportOptions &options = {}) {
  mlir::MLIRContext context(mlir::MLIRContext::Threading::DISABLED);
  auto model = importOnnxBytes(bytes, "model.onnx", options, context);
  if (model)
    return "imported";
  auto [fault, message] = takeMessage(model.takeError());
  CHECK(fault == Fault::Input);
  CHECK_THAT(message, Catch::Contains("model.onnx") || Catch::StartsWith("--"));
  return message;
}

} // namespace apc::test
