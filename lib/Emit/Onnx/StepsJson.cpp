// steps.json: the text form of steps.
#include "OnnxSteps.h"

#include "apc/IR/Apc.h"
#include "apc/IR/AttributeNames.h"
#include "apc/IR/CollectivePlaces.h"
#include "apc/IR/Ops/Spmd/Spmd.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include "llvm/ADT/TypeSwitch.h"

namespace apc {

namespace {

class StepWriter {
public:
  StepWriter(JsonWriter &json, const OnnxFunction &function) : json(json), function(function) {}

  void write(const OnnxStep &step) {
    json.oneLine([&] {
      json.object([&](JsonObjectWriter &object) {
        if (!step.op) {
          object("run", step.file);
          object("inputs", named(step.segment.inputs.getArrayRef()));
          object("outputs", named(step.segment.outputs.getArrayRef()));
          return;
        }
        llvm::TypeSwitch<mlir::Operation *>(step.op)
            .Case([&](CollectiveInterface op) { writeCollective(object, op); })
            .Case([&](ShardOffsetOp op) { writeOffset(object, op); })
            .Case([&](mlir::func::CallOp op) { object("call", op.getCallee()); })
            .Case([&](SendOp op) { writeTransfer(object, "send", op.getValue(), op.getTime()); })
            .Case([&](ReceiveOp op) { writeTransfer(object, "receive", op.getValue(), op.getTime()); })
            .Case([&](PartEndOp op) { object("end", op.getPart()); })
            .Case([&](MicroBatchEndOp) { object("end", "micro_batch"); })
            .Default([&](mlir::Operation *op) { // a sum over micro-batches
              object("accumulate", function.names.lookup(op->getResult(0)));
            });
        if (step.op->getNumOperands() > 0)
          object("inputs", named(step.op->getOperands()));
        if (step.op->getNumResults() > 0)
          object("outputs", named(step.op->getResults()));
      });
    });
  }

  std::vector<std::string> named(mlir::ValueRange values) const {
    std::vector<std::string> names;
    for (mlir::Value value : values)
      names.push_back(function.names.lookup(value));
    return names;
  }

private:
  static std::vector<std::string> namesOf(const AxisList &axes, const Mesh &mesh) {
    std::vector<std::string> names;
    for (AxisId axis : axes)
      names.push_back(mesh.axis(axis).name);
    return names;
  }

  static void writePlace(JsonObjectWriter &object, llvm::StringRef end, const CollectivePlace &place) {
    object((end + "_dim").str(), place.dim);
    object((end + "_parts").str(), llvm::ArrayRef<int64_t>(place.parts));
  }

  void writeCollective(JsonObjectWriter &object, CollectiveInterface op) {
    const CoalescedCollective &collective = op.getCollective().getValue();
    const Mesh &mesh = op.getCollective().getMesh().getValue();
    CollectiveKind kind = collective.kind;
    object("collective", op->getName().stripDialect());
    object("axes", namesOf(collective.axes, mesh));
    if (isReduction(kind))
      object("combiner", combinerName(collective.values.front().from.combiner));
    object.list("places", [&] {
      for (const CoalescedCollective::Value &value : collective.values)
        json.object([&](JsonObjectWriter &place) {
          if (kind == CollectiveKind::AllGather || kind == CollectiveKind::AllToAll)
            writePlace(place, "join", joinedPlace(value, mesh));
          if (kind == CollectiveKind::ReduceScatter || kind == CollectiveKind::AllToAll)
            writePlace(place, "cut", cutPlace(value, mesh));
          if (kind == CollectiveKind::Permute)
            place("to", llvm::ArrayRef<int64_t>(permuteTargets(collective, value, mesh)));
        });
    });
  }

  static void writeOffset(JsonObjectWriter &object, ShardOffsetOp op) {
    object("offset", static_cast<int64_t>(op.getSize()));
    object("axes", namesOf(op.getAxes().getValue(), op.getAxes().getMesh().getValue()));
    object("dims", llvm::cast<mlir::RankedTensorType>(op.getType()).getShape());
  }

  static void writeTransfer(JsonObjectWriter &object, llvm::StringRef kind, llvm::StringRef value,
                            llvm::StringRef time) {
    object(kind, value);
    object("each", time);
  }

  JsonWriter &json;
  const OnnxFunction &function;
};

} // namespace

void writeSteps(JsonWriter &json, JsonObjectWriter &functions, const OnnxFunction &function) {
  StepWriter writer(json, function);
  mlir::func::FuncOp own = function.function;
  functions.object(own.getName(), [&](JsonObjectWriter &object) {
    auto oneLine = [&](llvm::StringRef key, const std::vector<std::string> &names) {
      object.key(key);
      json.oneLine([&] { json.value(names); });
    };
    mlir::ValueRange results = own.front().getTerminator()->getOperands();
    oneLine("inputs", writer.named(own.getArguments()));
    oneLine("outputs", writer.named(results));
    std::vector<std::string> names, replaced;
    for (unsigned index = 0; index < results.size(); ++index) {
      auto name = own.getResultAttrOfType<mlir::StringAttr>(index, nameAttribute);
      auto parameter = own.getResultAttrOfType<mlir::StringAttr>(index, replacesAttribute);
      names.push_back(name ? name.str() : "");
      replaced.push_back(parameter ? parameter.str() : "");
    }
    if (own.getName() == "main") {
      oneLine("output_names", names);
      oneLine("replaces", replaced);
    }
    object.list("steps", [&] {
      for (const OnnxStep &step : function.steps)
        writer.write(step);
    });
  });
}

} // namespace apc
