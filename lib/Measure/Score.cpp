// Rows beside their predictions.
#include "apc/Measure/Score.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <algorithm>
#include <tuple>

namespace apc {

namespace {

/// The citation without remarks on single cells, which stand behind a semicolon.
std::string sourceOf(const Measurement &row) { return llvm::StringRef(row.source).split(';').first.trim().str(); }

/// The reason without the layout, as far as it is worth reading in a table.
std::string reasonOf(llvm::StringRef message) {
  constexpr size_t longest = 100;
  if (message.starts_with("layout ") && message.contains(": "))
    message = message.split(": ").second;
  return message.take_front(longest).str();
}

/// Messages that differ in numbers alone count together.
std::string withoutNumbers(llvm::StringRef message) {
  std::string text;
  for (char c : message)
    if (!llvm::isDigit(c))
      text += c;
    else if (text.empty() || text.back() != 'N')
      text += 'N';
  return text;
}

void countLeftOut(std::map<std::string, LeftOutRows> &leftOut, const std::string &reason) {
  LeftOutRows &alike = leftOut[withoutNumbers(reason)];
  if (alike.rows++ == 0)
    alike.example = reason;
  alike.areDifferent = alike.areDifferent || alike.example != reason;
}

/// Stages bring bubbles, tensor parallelism collectives between ops.
std::string kindOf(const ParallelDegrees &layout) {
  return layout.pipeline > 1 ? "stages" : layout.tensor > 1 ? "tensor" : "data";
}

double predictedMemory(const Measurement &row, const Prediction &prediction) {
  return static_cast<double>(row.memoryOf == MeasuredDevice::LastStage ? prediction.lastStageBytes
                                                                       : prediction.memoryBytes);
}

/// Rows that are equal but for their micro-batch.
auto keyOfLimit(const Measurement &row) {
  ParallelDegrees layout = row.layout;
  layout.microBatch.reset();
  return std::make_tuple(row.file, sourceOf(row), row.model, layout.str(), row.devices, row.globalBatch, row.cluster,
                         row.overrides, row.runtime, row.precision, row.overlaps, row.widensGradients);
}

/// Rows of one group that differ in their layout alone, and in what trainers run beside kernels with it; rows without a
/// group are in none. The layout decides tables and routes of a model, too (`setTables`, `setRoutes`).
auto keyOfChoice(const Measurement &row) {
  TransformerShape model = row.model;
  model.isTied = false;
  model.routedParts = 1;
  return std::make_tuple(row.file, row.group, sourceOf(row), model, row.devices, row.globalBatch, row.cluster,
                         row.overrides, row.runtime, row.precision);
}

/// Rows of one group, or that are equal but for their micro-batch, by index.
template <typename Key>
using Groups = std::map<Key, std::vector<size_t>>;

class Judge {
public:
  Judge(llvm::ArrayRef<Measurement> rows, llvm::ArrayRef<Prediction> predictions)
      : rows(rows), predictions(predictions) {}

  Score judge();

private:
  SourceScore &scoreOf(const Measurement &row);
  void take(size_t index);
  void choose(const std::string &group, llvm::ArrayRef<size_t> indices);
  void bound(llvm::ArrayRef<size_t> indices);

  llvm::ArrayRef<Measurement> rows;
  llvm::ArrayRef<Prediction> predictions;
  Score score;
};

SourceScore &Judge::scoreOf(const Measurement &row) {
  std::string source = sourceOf(row);
  auto known = llvm::find_if(score.sources, [&](const SourceScore &own) { return own.source == source; });
  if (known != score.sources.end())
    return *known;
  score.sources.emplace_back().source = source;
  return score.sources.back();
}

void Judge::take(size_t index) {
  const Measurement &row = rows[index];
  const Prediction &prediction = predictions[index];
  SourceScore &source = scoreOf(row);
  ++source.rows;
  if (!prediction.isCosted()) {
    countLeftOut(source.leftOut, reasonOf(prediction.failure));
    return;
  }
  ++source.rowsUsed;
  if (row.seconds) {
    source.times.push_back({prediction.seconds, *row.seconds});
    score.residuals.push_back({source.source, kindOf(row.layout), *row.seconds / prediction.seconds});
  }
  if (row.memoryBytes)
    source.memory.push_back({predictedMemory(row, prediction), *row.memoryBytes});
  if (row.boundaryBytes)
    source.boundaries.push_back({static_cast<double>(prediction.boundaryBytes), *row.boundaryBytes});
  score.outOfMemory.add(!prediction.fits(), row.ranOut);
}

void Judge::choose(const std::string &group, llvm::ArrayRef<size_t> indices) {
  auto rankOf = [&](size_t index) { return std::make_pair(!predictions[index].fits(), predictions[index].seconds); };
  auto isPredictedFaster = [&](size_t a, size_t b) { return rankOf(a) < rankOf(b); };
  std::vector<size_t> timed, ranOut;
  for (size_t index : indices)
    if (predictions[index].isCosted())
      (rows[index].ranOut ? ranOut : timed).push_back(index);
  llvm::erase_if(timed, [&](size_t index) { return !rows[index].seconds; });
  if (timed.size() < 2)
    return;
  size_t chosen = *std::min_element(timed.begin(), timed.end(), isPredictedFaster);
  size_t best = *std::min_element(timed.begin(), timed.end(),
                                  [&](size_t a, size_t b) { return *rows[a].seconds < *rows[b].seconds; });
  bool choosesOut =
      llvm::any_of(ranOut, [&](size_t index) { return predictions[index].fits() && isPredictedFaster(index, chosen); });
  score.choices.push_back(
      {group, rows[chosen].id, rows[best].id, *rows[chosen].seconds / *rows[best].seconds, choosesOut});
}

void Judge::bound(llvm::ArrayRef<size_t> indices) {
  std::optional<size_t> ran, ranOut;
  auto batchOf = [&](size_t index) { return rows[index].layout.microBatch.value_or(0); };
  for (size_t index : indices)
    if (!rows[index].ranOut && (!ran || batchOf(index) > batchOf(*ran)))
      ran = index;
  for (size_t index : indices)
    if (rows[index].ranOut && (!ran || batchOf(index) > batchOf(*ran)) &&
        (!ranOut || batchOf(index) < batchOf(*ranOut)))
      ranOut = index;
  if (!ran || !ranOut)
    return;
  auto limit = static_cast<double>(predictions[*ran].memoryLimitBytes);
  double above = static_cast<double>(predictions[*ran].memoryBytes) - limit;
  double below = limit - static_cast<double>(predictions[*ranOut].memoryBytes);
  score.limits.push_back({rows[*ran].id, rows[*ranOut].id, std::max({0.0, above, below}) / limit});
}

Score Judge::judge() {
  Groups<decltype(keyOfChoice(rows.front()))> groups;
  Groups<decltype(keyOfLimit(rows.front()))> alike;
  for (size_t index = 0; index < rows.size(); ++index) {
    take(index);
    if (!rows[index].group.empty())
      groups[keyOfChoice(rows[index])].push_back(index);
    if (predictions[index].isCosted() && (rows[index].seconds || rows[index].ranOut))
      alike[keyOfLimit(rows[index])].push_back(index);
  }
  std::map<std::string, size_t> numParts; // of a group whose rows differ in more than that
  auto nameOf = [&](const Measurement &row) { return row.file + ": " + row.group; };
  for (const auto &[key, indices] : groups)
    ++numParts[nameOf(rows[indices.front()])];
  for (const auto &[key, indices] : groups) {
    const Measurement &first = rows[indices.front()];
    choose(nameOf(first) + (numParts[nameOf(first)] > 1 ? ", " + first.id + " and alike" : ""), indices);
  }
  for (const auto &[key, indices] : alike)
    bound(indices);
  return std::move(score);
}

} // namespace

size_t Score::rows() const {
  size_t sum = 0;
  for (const SourceScore &source : sources)
    sum += source.rows;
  return sum;
}

size_t Score::rowsUsed() const {
  size_t sum = 0;
  for (const SourceScore &source : sources)
    sum += source.rowsUsed;
  return sum;
}

static std::vector<Compared> ofAll(llvm::ArrayRef<SourceScore> sources, std::vector<Compared> SourceScore::*figures) {
  std::vector<Compared> all;
  for (const SourceScore &source : sources)
    llvm::append_range(all, source.*figures);
  return all;
}

std::vector<Compared> Score::times() const { return ofAll(sources, &SourceScore::times); }
std::vector<Compared> Score::memory() const { return ofAll(sources, &SourceScore::memory); }
std::vector<Compared> Score::boundaries() const { return ofAll(sources, &SourceScore::boundaries); }

Score scoreRows(llvm::ArrayRef<Measurement> rows, llvm::ArrayRef<Prediction> predictions) {
  return Judge(rows, predictions).judge();
}

} // namespace apc
