// Files of measurements in either format.
#include "Fields.h"

#include "apc/Support/Error.h"
#include "apc/Support/File.h"
#include "apc/Support/Parallel.h"

#include "llvm/ADT/StringExtras.h"

namespace apc {

namespace {

using RowReader = Measurement (*)(const CsvTable &, const CsvRow &);

/// A format, and the columns by which it is known.
struct Format {
  std::vector<llvm::StringRef> columns;
  RowReader read;
};

llvm::Expected<RowReader> readerOf(const CsvTable &table) {
  const Format formats[] = {
      {{"id", "model_family", "measured_metric", "iteration_time_s", "micro_batch", "num_devices"}, readThroughputRow},
      {{"id", "model_family", "test_case", "mem_max_before_save_bytes", "micro_batch", "num_devices"}, readTestRow}};
  std::vector<std::string> missing;
  for (const Format &format : formats) {
    auto absent = llvm::find_if(format.columns, [&](llvm::StringRef column) { return !table.has(column); });
    if (absent == format.columns.end())
      return format.read;
    if (!llvm::is_contained(missing, absent->str()))
      missing.push_back(absent->str());
  }
  return inputError("{0}:{1}: columns of neither format of measurements: '{2}' is needed", table.source, table.headLine,
                    llvm::join(missing, "' or '"));
}

} // namespace

/// The row of cells that are not where columns say: left out.
static Measurement faultyRow(const CsvRow &cells) {
  Measurement row;
  row.id = cells["id"].str();
  row.source = "rows that cannot be read"; // no cell can be relied on
  row.leftOut = "more or fewer cells than columns";
  row.unreadable = cells.fault();
  return row;
}

llvm::Expected<std::vector<Measurement>> parseMeasurements(llvm::StringRef text, llvm::StringRef source,
                                                           unsigned numThreads) {
  CsvTable table;
  if (llvm::Error error = parseCsv(text, source, table))
    return std::move(error);
  llvm::Expected<RowReader> read = readerOf(table);
  if (!read)
    return read.takeError();
  std::vector<Measurement> rows(table.rows.size());
  forEach(rows.size(), numThreads, [&](size_t index) {
    const CsvRow &cells = table.rows[index];
    rows[index] = cells.fault().empty() ? (*read)(table, cells) : faultyRow(cells);
    rows[index].file = source.str();
    rows[index].line = cells.line();
  });
  auto isUnreadable = [](const Measurement &row) { return !row.unreadable.empty(); };
  if (!rows.empty() && llvm::all_of(rows, isUnreadable))
    return inputError("{0}; no row of the file can be read", rows.front().unreadable);
  return rows;
}

llvm::Expected<std::vector<Measurement>> readMeasurements(llvm::StringRef path, unsigned numThreads) {
  llvm::Expected<std::string> text = readFile(path);
  return text ? parseMeasurements(*text, path, numThreads) : text.takeError();
}

PlanRequest requestOf(const Measurement &row, llvm::StringRef model) {
  PlanRequest request;
  request.modelPath = model.str();
  request.devices = row.devices;
  request.cluster = row.cluster;
  request.clusterOverrides = row.overrides;
  request.runtime = row.runtime.empty() ? noRuntime.str() : row.runtime;
  request.loss = "cross-entropy";
  request.precision = row.precision;
  request.globalBatch = row.globalBatch;
  // Sums of gradients in 32 bits are the rule beside weights in bf16, and in 16 beside those in fp16.
  const bool isInHalves = row.precision == PrecisionChoice::Bf16 || row.precision == PrecisionChoice::Fp8;
  request.fp32Gradients = isInHalves && row.widensGradients;
  request.overlap = row.overlaps;
  request.layouts = {};
  return request;
}

} // namespace apc
