// A plan of boxes as tables and as a document.
#include "apc/Checkpoint/Reshard.h"
#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/TextTable.h"
#include "apc/Support/Units.h"
#include "apc/Support/VisibleText.h"

#include "llvm/ADT/STLExtras.h"

namespace apc {

namespace {

/// "4 devices, 2 stages, after 3 steps"
std::string describe(const SavedWeights &saved) {
  std::string text = saved.path + ": " + counted(saved.numRanks(), "device");
  if (saved.hasPipeline)
    text += ", " + counted(static_cast<int64_t>(saved.stages.size()), "stage");
  return text;
}

void printNames(llvm::StringRef title, llvm::ArrayRef<std::string> names, llvm::raw_ostream &os) {
  if (names.empty())
    return;
  os << title << counted(static_cast<int64_t>(names.size()), "tensor") << ", as '" << visibleText(names.front())
     << "'\n";
}

void writeMap(JsonWriter &json, const PieceMap &map) {
  json.object([&](JsonObjectWriter &object) {
    object("element_bytes", map.elementBytes);
    object.list("dims", [&] {
      for (const PieceMap::Dim &dim : map.dims)
        json.object([&](JsonObjectWriter &entry) {
          entry("size", dim.size);
          entry("from_slices", static_cast<int64_t>(dim.from.size()));
          entry("to_slices", static_cast<int64_t>(dim.to.size()));
          entry.list("runs", [&] {
            for (const PieceMap::Run &run : dim.runs)
              json.value(std::vector<int64_t>{run.to, run.from, run.begin, run.count});
          });
        });
    });
  });
}

std::vector<int64_t> placesOf(const SavedTensor &tensor) {
  std::vector<int64_t> places;
  for (std::optional<unsigned> file : tensor.fileOfShard)
    places.push_back(file ? static_cast<int64_t>(*file) : -1);
  return places;
}

void writeParameters(JsonWriter &json, const ReshardPlan &plan) {
  for (auto [stageIndex, stage, sources] : llvm::enumerate(plan.to.stages, plan.sources))
    for (auto [tensor, source] : llvm::zip_equal(stage.tensors, sources))
      if (tensor.isInFiles)
        json.oneLine([&, stageIndex = stageIndex, &tensor = tensor, &source = source] {
          json.object([&](JsonObjectWriter &object) {
            object("name", tensor.name);
            object("map", source.map);
            object("from_stage", source.stage);
            object("from_files", placesOf(plan.from.stages[source.stage].tensors[source.tensor]));
            object("to_stage", stageIndex);
            object("to_files", placesOf(tensor));
          });
        });
}

} // namespace

void printReshard(const ReshardPlan &plan, llvm::StringRef folder, llvm::raw_ostream &os) {
  os << "from  " << describe(plan.from);
  if (plan.from.steps > 0)
    os << ", after " << counted(plan.from.steps, "step");
  os << (plan.isOfPlans ? ", without weights: as a checkpoint of it would be\n" : "\n");
  os << "to    " << describe(plan.to) << "\n\n";
  TextTable table;
  table.addColumn("file");
  for (llvm::StringRef title : {"size", "pieces", "boxes"})
    table.addColumn(title, TextTable::Align::Right);
  constexpr size_t maxListed = 12;
  std::vector<ReshardedFile> files = describeFiles(plan);
  ReshardedFile all{"all " + counted(static_cast<int64_t>(files.size()), "file"), 0, 0, 0};
  auto addRow = [&](const ReshardedFile &file) {
    table.addRow({file.name, formatBytes(static_cast<double>(file.bytes)), std::to_string(file.pieces),
                  std::to_string(file.boxes)});
  };
  for (auto [index, file] : llvm::enumerate(files)) {
    if (index < maxListed)
      addRow(file);
    all.bytes += file.bytes;
    all.pieces += file.pieces;
    all.boxes += file.boxes;
  }
  addRow(all);
  table.print(os);
  os << "\n";
  printNames("left out, because the program does not take them: ", plan.leftOut, os);
  printNames("begin anew, because the source does not have them: ", plan.begun, os);
  if (folder.empty())
    os << "nothing was written; -o DIR writes the checkpoint\n";
  else
    os << "written to " << folder << "\n";
}

std::string printReshardJson(const ReshardPlan &plan, llvm::StringRef folder) {
  JsonWriter json;
  std::vector<ReshardedFile> files = describeFiles(plan);
  int64_t bytes = 0, boxes = 0;
  for (const ReshardedFile &file : files) {
    bytes += file.bytes;
    boxes += file.boxes;
  }
  json.object([&](JsonObjectWriter &object) {
    object("from", plan.from.path);
    object("to", plan.to.path);
    object("written", folder.empty() ? std::optional<std::string>() : folder.str());
    object("steps", plan.to.steps);
    object("bytes", bytes);
    object("boxes", boxes);
    object.list("files", [&] {
      for (const ReshardedFile &file : files)
        json.oneLine([&] {
          json.object([&](JsonObjectWriter &entry) {
            entry("name", file.name);
            entry("bytes", file.bytes);
            entry("pieces", file.pieces);
            entry("boxes", file.boxes);
          });
        });
    });
    object.list("maps", [&] {
      for (const PieceMap &map : plan.maps)
        json.oneLine([&] { writeMap(json, map); });
    });
    object.list("parameters", [&] { writeParameters(json, plan); });
    object("left_out", plan.leftOut);
    object("begin_anew", plan.begun);
  });
  return json.take() + "\n";
}

} // namespace apc
