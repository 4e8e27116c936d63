// Cells of a row as the fields of a measurement; the first reason to leave the row out is kept.
#pragma once

#include "apc/Measure/Csv.h"
#include "apc/Measure/Measurement.h"

namespace apc {

/// Cells of one row. A blank cell that is needed is a reason to leave the row out, and so is text where a number
/// belongs.
class Fields {
public:
  Fields(const CsvTable &table, const CsvRow &row, Measurement &into) : table(table), row(row), into(into) {}

  llvm::StringRef text(llvm::StringRef column) const { return row[column]; }
  std::string lower(llvm::StringRef column) const { return row[column].lower(); }
  /// A number of at least 1; 1 where the row is left out for want of it, or a degree is "none".
  int64_t needed(llvm::StringRef column);
  /// The same with a value for blank cells.
  int64_t whole(llvm::StringRef column, int64_t otherwise, int64_t least = 1);
  /// A figure that predictions are held to, which has to be above 0; none where the cell is blank or not for use.
  std::optional<double> figure(llvm::StringRef column, bool isUsed = true);
  /// "yes", "y", "on", "true" or 1, and "no", "n", "off", "false", 0 or blank, in any case; any other text leaves the
  /// row out.
  bool isYes(llvm::StringRef column);
  /// Keeps the first reason.
  void leaveOut(const std::string &reason);
  bool isLeftOut() const { return !into.leftOut.empty(); }

private:
  template <typename T>
  std::optional<T> readable(llvm::StringRef column, llvm::Expected<std::optional<T>> number);
  int64_t within(llvm::StringRef column, std::optional<int64_t> number, int64_t least);

  const CsvTable &table;
  const CsvRow &row;
  Measurement &into;
};

/// The rows of the two formats.
Measurement readThroughputRow(const CsvTable &table, const CsvRow &row);
Measurement readTestRow(const CsvTable &table, const CsvRow &row);

/// Sets the precision that a cell names; a reason to leave the row out where nothing here trains in it.
void setPrecision(Fields &fields, llvm::StringRef name, Measurement &into);
/// Degrees, batch and devices that do not go together are a reason to leave the row out.
void checkDegrees(Fields &fields, const Measurement &row);
/// Programs with stages keep a tied table twice, in the first stage and in the last, each with gradients and states of
/// its own (NVIDIA/Megatron-LM megatron/model/module.py): the model is then as if it had two.
void setTables(Measurement &row);
/// Each rank of cp routes the tokens of its own part of the sequence, and where experts are whole each rank of tp does.
void setRoutes(Measurement &row);
/// Of a row with experts and degrees: these are whole where that is \p stated, or where ep counts ranks of tp;
/// otherwise tp cuts them as it cuts the rest.
void setTensorOfExperts(Fields &fields, std::optional<int64_t> stated, Measurement &row);
/// Megatron's method "block": the first \p layers of each chunk of each stage are recomputed, and the others keep
/// everything (NVIDIA/Megatron-LM megatron/training/arguments.py, --recompute-num-layers). Of several chunks it has to
/// be all layers or none.
RecomputeSetting settingOfBlock(Fields &fields, int64_t layers, const Measurement &row);
/// Of a test row, whose shape and degrees are set, what its libraries hold beside the program; what is alive between
/// steps is left out where more is alive than parameters, gradients and states.
void setMemoryBeside(Fields &fields, Measurement &into);
/// The cluster of the devices that a row names, by the presets and their figures; a reason where none fits.
void setCluster(Fields &fields, llvm::StringRef hardware, int64_t devicesOfNode, Measurement &into);

/// The runtime that the words of \p text name: a framework, its kernels; none where no word is known. Below ZeRO 3
/// sums of gradients run beside kernels where the framework's do, or the words say so.
void setRuntime(llvm::StringRef text, Measurement &into);
/// Of a row in f32 with cluster and runtime that says TF32 in \p precision or \p notes: its products run so; a reason
/// where no device can.
void setTf32(Fields &fields, llvm::StringRef precision, llvm::StringRef notes, Measurement &into);

} // namespace apc
