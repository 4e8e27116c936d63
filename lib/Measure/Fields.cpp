// Cells as fields.
#include "Fields.h"

#include "apc/Support/Error.h"
#include "apc/Support/Pattern.h"

#include "llvm/ADT/STLExtras.h"

#include <numeric>

namespace apc {

/// No model is larger; greater numbers are slips, and would take the memory of the machine.
static int64_t mostOf(llvm::StringRef column) {
  constexpr int64_t mostLayers = 2048, mostPositions = int64_t(1) << 22, mostWays = int64_t(1) << 15,
                    mostOthers = int64_t(1) << 30;
  if (column.ends_with("layers"))
    return mostLayers;
  if (column.ends_with("seq"))
    return mostPositions;
  bool isWays = llvm::is_contained({"tp", "pp", "vp", "cp", "dp", "ep", "etp", "experts", "topk"}, column);
  return isWays ? mostWays : mostOthers;
}

template <typename T>
std::optional<T> Fields::readable(llvm::StringRef column, llvm::Expected<std::optional<T>> number) {
  if (number)
    return *number;
  std::string message = takeMessage(number.takeError()).second;
  if (into.unreadable.empty())
    into.unreadable = std::move(message);
  leaveOut(column.str() + " cannot be read");
  return std::nullopt;
}

int64_t Fields::within(llvm::StringRef column, std::optional<int64_t> number, int64_t least) {
  if (!number)
    return 1;
  if (*number < least)
    leaveOut(column.str() + " is below " + std::to_string(least));
  else if (*number > mostOf(column))
    leaveOut(column.str() + " is above " + std::to_string(mostOf(column)));
  else
    return *number;
  return 1;
}

/// "none" of a degree is a single way, or a single chunk.
static bool isSingle(llvm::StringRef column, llvm::StringRef text) {
  return llvm::is_contained({"tp", "pp", "vp", "cp", "dp", "ep", "etp"}, column) && text.equals_insensitive("none");
}

int64_t Fields::needed(llvm::StringRef column) {
  if (isSingle(column, text(column)))
    return 1;
  std::optional<int64_t> number = readable(column, wholeNumber(table, row, column));
  if (!number)
    leaveOut("no " + column.str());
  return within(column, number, 1);
}

int64_t Fields::whole(llvm::StringRef column, int64_t otherwise, int64_t least) {
  if (isSingle(column, text(column)))
    return 1;
  std::optional<int64_t> number = readable(column, wholeNumber(table, row, column));
  return number ? within(column, number, least) : otherwise;
}

std::optional<double> Fields::figure(llvm::StringRef column, bool isUsed) {
  std::optional<double> number = readable(column, realNumber(table, row, column));
  if (!number || !isUsed)
    return std::nullopt;
  if (*number > 0)
    return number;
  leaveOut(column.str() + " '" + row[column].str() + "' is not above 0");
  return std::nullopt;
}

bool Fields::isYes(llvm::StringRef column) {
  std::string text = lower(column);
  bool isNo = text.empty() || llvm::is_contained({"no", "n", "off", "false", "0"}, text);
  bool isYes = llvm::is_contained({"yes", "y", "on", "true", "1"}, text);
  if (!isNo && !isYes)
    leaveOut(column.str() + " '" + row[column].str() + "' is neither yes nor no");
  return isYes;
}

void Fields::leaveOut(const std::string &reason) {
  if (into.leftOut.empty())
    into.leftOut = reason;
}

void setPrecision(Fields &fields, llvm::StringRef name, Measurement &into) {
  static const Pattern few("fp4|float4|int8"), fp8("fp8|float8"), fp16("fp16|(^|[^b])float16"), bf16("bf16|bfloat16"),
      half("(^|[^a-z])half($|[^a-z])"), fp32("fp32|tf32|float32");
  if (few.match(name))
    fields.leaveOut("precision of 4 bits, or integers");
  else if (fp8.match(name))
    into.precision = PrecisionChoice::Fp8;
  else if (fp16.match(name))
    into.precision = PrecisionChoice::Fp16;
  else if (bf16.match(name))
    into.precision = PrecisionChoice::Bf16;
  else if (half.match(name))
    into.precision = PrecisionChoice::Fp16;
  else if (fp32.match(name))
    into.precision = PrecisionChoice::Fp32;
  else
    fields.leaveOut(name.empty() ? "no precision" : "precision unknown: " + name.str());
}

void setTables(Measurement &row) { row.model.isTied = row.model.isTied && row.layout.pipeline == 1; }

void setRoutes(Measurement &row) {
  const int64_t partsOfTensor = row.layout.hasWholeExperts() ? row.layout.tensor : 1;
  if (row.model.experts > 0)
    row.model.routedParts = std::gcd(row.layout.context * partsOfTensor, row.model.sequence);
}

void setTensorOfExperts(Fields &fields, std::optional<int64_t> stated, Measurement &row) {
  ParallelDegrees &layout = row.layout;
  if (layout.tensor == 1 || stated == layout.tensor)
    return;
  const int64_t ranks = layout.data * layout.context;
  const bool isImplied = ranks % layout.experts != 0 && ranks * layout.tensor % layout.experts == 0;
  if (!stated && !isImplied)
    return;
  if (stated.value_or(1) != 1)
    fields.leaveOut("tp of experts is neither 1 nor that of the rest");
  else if (!layout.cutsSequences)
    fields.leaveOut("whole experts beside tp without parts of sequences");
  else if (layout.shard)
    fields.leaveOut("parameters are cut over a part of dp beside whole experts");
  else
    layout.expertTensor = 1;
}

void checkDegrees(Fields &fields, const Measurement &row) {
  const ParallelDegrees &layout = row.layout;
  if (layout.numDevices() != row.devices)
    fields.leaveOut("degrees do not multiply to the devices");
  else if (layout.microBatch && row.globalBatch % (*layout.microBatch * layout.data) != 0)
    fields.leaveOut("global batch is no multiple of micro-batch and dp");
  else if (layout.ranksOfExperts() % layout.experts != 0)
    fields.leaveOut("ep does not divide the ranks of experts");
}

} // namespace apc
