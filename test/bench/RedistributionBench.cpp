// How long redistributions take: the states of a mesh, the searches of one tensor from every sharding that a strategy
// can ask for, a lookup afterwards, a table of all these pairs by RedistributionSeconds, and a single pair from
// nothing.
#include "../Sharding/AllShardings.h"
#include "apc/Sharding/RedistributionSeconds.h"
#include "apc/Sharding/Strategy.h"
#include "apc/Support/Error.h"
#include "apc/Support/TextTable.h"

#include <algorithm>
#include <ctime>

using namespace apc;

namespace {

struct Row {
  const char *mesh;
  llvm::SmallVector<int64_t, 6> dims;
  size_t most = 125; ///< shardings that are taken
};

/// At most `most` of a list, evenly spread.
std::vector<Sharding> sample(const std::vector<Sharding> &all, size_t most) {
  std::vector<Sharding> some;
  size_t count = std::min(all.size(), most);
  for (size_t i = 0; i < count; ++i)
    some.push_back(all[i * all.size() / count]);
  return some;
}

/// Microseconds of the processor, not of the clock on the wall: other programs do not count.
template <typename Work>
double microseconds(const Work &work) {
  std::clock_t start = std::clock();
  work();
  return static_cast<double>(std::clock() - start) * 1e6 / CLOCKS_PER_SEC;
}

/// Latency and bandwidth by the slowest axis; slices are free.
double costOf(const Collective &collective, const Mesh &mesh) {
  if (collective.kind == CollectiveKind::Slice)
    return 0;
  double bytesPerSecond = 300e9;
  for (AxisId axis : collective.axes)
    bytesPerSecond = mesh.axis(axis).level == 0 ? 25e9 : bytesPerSecond;
  auto bytes = static_cast<double>(std::max(collective.inputBytes, collective.outputBytes));
  return 1e-5 + bytes * (collective.kind == CollectiveKind::AllReduce ? 2 : 1) / bytesPerSecond;
}

std::string rounded(double value, const char *format = "%.2f") {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format(format, value);
  return text;
}

/// One row: times are of the best of a few runs, because other programs only ever make them longer.
llvm::Error measure(const Row &row, TextTable &table) {
  llvm::Expected<Mesh> parsed = Mesh::parse(row.mesh);
  if (!parsed)
    return parsed.takeError();
  const Mesh mesh = *parsed;
  TensorShape shape;
  shape.dims.assign(row.dims.begin(), row.dims.end());
  auto cost = [&](const Collective &collective) { return costOf(collective, mesh); };
  std::vector<Sharding> shardings = sample(test::shardingsOf(shape, mesh), row.most);
  double build = 1e30, search = 1e30, lookup = 1e30, together = 1e30, single = 1e30, sink = 0;
  auto allPairs = [&](Redistributor &redistributor) {
    for (const Sharding &from : shardings)
      for (const Sharding &to : shardings)
        sink += *redistributor.seconds(from, to);
  };
  for (int run = 0; run < 5; ++run) {
    std::optional<Redistributor> made;
    build = std::min(build, microseconds([&] { made.emplace(shape, mesh, cost); }));
    Redistributor &redistributor = *made;
    double first = microseconds([&] { allPairs(redistributor); });
    double again = microseconds([&] { allPairs(redistributor); });
    auto numPairs = static_cast<double>(shardings.size() * shardings.size());
    search = std::min(search, (first - again) / static_cast<double>(shardings.size()));
    lookup = std::min(lookup, again / numPairs);
    together = std::min(together, microseconds([&] {
                          RedistributionSeconds(mesh, cost)
                              .between(shape, shardings, shardings,
                                       [&](size_t, RedistributionSeconds::Row row) { sink += *row.front(); });
                        }));
    const Sharding &from = shardings[run % shardings.size()], &to = shardings.back();
    single = std::min(single, microseconds([&] { sink += *Redistributor(shape, mesh, cost).seconds(from, to); }));
  }
  table.addRow({row.mesh, std::to_string(shape.numDims()), std::to_string(shardings.size()), rounded(build, "%.0f"),
                rounded(search), rounded(lookup, "%.3f"), rounded(together, "%.0f"), rounded(single, "%.0f")});
  return sink > 0 ? llvm::Error::success() : internalError("{0}: nothing was costed", row.mesh);
}

} // namespace

int main() {
  TextTable table;
  table.addColumn("mesh");
  for (const char *title :
       {"dims", "shardings", "graph us", "us per search", "us per lookup", "table us", "us single pair"})
    table.addColumn(title, TextTable::Align::Right);
  const Row rows[] = {
      {"[8 | 8]", {64, 512, 1024}},
      {"[8 | 8]", {64, 512, 1024, 128}},
      {"[16, 8 | 8]", {1024, 2048, 12288}},
      {"[2 | 2, 2]", {64, 96, 512, 128}},
      {"[16, 8 | 8]", {1024, 2048, 1024, 1024}},
      {"[16, 8 | 8]", {1024, 2048, 50257, 1000}},
      {"[16, 8 | 4, 2]", {1024, 2048, 12288}},
      {"[16, 8 | 4, 2]", {1024, 2048, 1024, 1024}},
      {"[16, 8 | 4, 2]", {1024, 2048, 1024, 1024, 1024, 1024}},
      {"[2, 2, 2 | 2, 2, 2]", {64, 512, 1024}, 12},
  };
  for (const Row &row : rows)
    if (llvm::Error error = measure(row, table)) {
      llvm::errs() << takeMessage(std::move(error)).second << '\n';
      return 3;
    }
  table.print(llvm::outs());
  return 0;
}
