// The rows of the table of schedules that a request names, held against numbers of micro-batches.
#include "apc/Planning/TakenMicroBatches.h"

#include "apc/Schedule/Pipeline/Schedules.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <cstdlib>
#include <utility>
#include <vector>

namespace apc {

namespace {

/// The rows that a request names, each with a number of chunks, on a number of workers.
class NamedRows {
public:
  NamedRows(const PlanRequest &request, int64_t workers) : workers(workers) {
    std::vector<int64_t> chunks{1, 2}; // a name may stand for another row with several chunks
    if (request.chunks.count)
      chunks = {*request.chunks.count};
    for (int64_t count : chunks) {
      auto row = findPipelineSchedule(request.schedule, static_cast<uint32_t>(count));
      if (row && (*row)->placement != Placement::Mirrored) // refused with any micro-batches
        rows.emplace_back(*row, count);
      llvm::consumeError(row.takeError());
    }
  }

  bool areNone() const { return rows.empty(); }
  const PipelineSchedule &first() const { return *rows.front().first; }
  bool take(int64_t microBatches) const {
    return llvm::any_of(
        rows, [&](const auto &row) { return row.first->accepts(countsOf(workers, microBatches, row.second)); });
  }
  bool takeDivisorOf(int64_t number) const {
    for (int64_t own = 1; own <= number / own; ++own)
      if (number % own == 0 && (take(own) || take(number / own)))
        return true;
    return false;
  }

private:
  int64_t workers;
  std::vector<std::pair<const PipelineSchedule *, int64_t>> rows;
};

/// "6 or 9": `each` of the nearest numbers that will do below and above `asked`, at most `reach` away.
std::string nearestTo(int64_t asked, int64_t reach, int64_t each, llvm::function_ref<bool(int64_t)> willDo) {
  std::vector<std::string> found;
  for (int64_t step : {-1, 1})
    for (int64_t own = asked + step; own > 0 && std::abs(own - asked) <= reach; own += step)
      if (willDo(own)) {
        found.push_back(std::to_string(each * own));
        break;
      }
  return llvm::join(found, " or ");
}

/// The batches around \p batch that would do, as multiples of the micro-batch or else of the copies.
std::string nearestBatches(const PlanRequest &request, const NamedRows &rows, int64_t workers, int64_t batch) {
  const int64_t unit = request.microBatch.value_or(copiesOf(request));
  const int64_t reach = 4 * workers + 2; // as far as any row asks for more
  return nearestTo(batch / unit, reach, unit,
                   [&](int64_t units) { return request.microBatch ? rows.take(units) : rows.takeDivisorOf(units); });
}

} // namespace

bool takesMicroBatches(const PlanRequest &request, int64_t workers, int64_t microBatches) {
  const NamedRows rows(request, workers);
  return rows.areNone() || rows.take(microBatches);
}

llvm::Error refusalOfBatch(const PlanRequest &request, int64_t workers, int64_t batch) {
  const NamedRows rows(request, workers);
  std::string refused = "has no such number of micro-batches", others;
  if (request.microBatch) {
    const int64_t asked = batch / *request.microBatch;
    refused = "in " + counted(asked, "micro-batch") + " is refused";
    others = nearestTo(asked, batch, 1, [&](int64_t own) {
      return batch % own == 0 && batch / own % copiesOf(request) == 0 && rows.take(own);
    });
  }
  if (!others.empty())
    others += " micro-batches would do";
  else if (others = nearestBatches(request, rows, workers, batch); !others.empty())
    others = (request.microBatch ? "with the same micro-batch " : "") + ("a global batch of " + others) + " would do";
  return inputError("schedule '{0}' needs {1}; on {2} workers, a global batch of {3} {4}{5}", rows.first().name,
                    rows.first().needs, workers, batch, refused, others.empty() ? "" : ", " + others);
}

} // namespace apc
