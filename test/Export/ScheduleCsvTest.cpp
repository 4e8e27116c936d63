// Lists of schedules as PyTorch's pipelining reads them.
#include "../../lib/Export/PipelineLists.h"
#include "../ValueOf.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

ActionLists lists(llvm::StringRef name, const PipelineCounts &counts) {
  return valueOf(generateActions(*valueOf(findPipelineSchedule(name, counts.chunks)), counts));
}

std::string refusalOf(llvm::Expected<std::string> csv) {
  REQUIRE(!csv);
  return takeMessage(csv.takeError()).second;
}

/// The actions of each row in order, as the lists have them.
std::vector<std::vector<std::string>> cells(llvm::StringRef csv) {
  std::vector<std::vector<std::string>> rows;
  for (llvm::StringRef line : llvm::split(csv.rtrim("\n"), '\n')) {
    rows.emplace_back();
    for (llvm::StringRef cell : llvm::split(line, ','))
      if (!cell.empty())
        rows.back().push_back(cell.str());
  }
  return rows;
}

} // namespace

TEST_CASE("two workers in 1f1b, by hand") {
  CHECK(valueOf(scheduleCsv(lists("1f1b", {2, 2}))) == "0F0,0F1,,0B0,,0B1\n,1F0,1B0,1F1,1B1\n");
}

TEST_CASE("every action of a worker stands in its row, in the order of its list") {
  for (llvm::StringRef name : {"gpipe", "1f1b", "zb-h1", "zb-h2"}) {
    ActionLists own = lists(name, {3, 5});
    auto rows = cells(valueOf(scheduleCsv(own)));
    REQUIRE(rows.size() == 3);
    for (auto [row, slots] : llvm::zip_equal(rows, own.workers)) {
      REQUIRE(row.size() == slots.size());
      for (auto [cell, slot] : llvm::zip_equal(row, slots)) {
        const char letter = "FIWB"[static_cast<size_t>(slot.action.kind)];
        CHECK(cell == std::to_string(slot.action.stage) + letter + std::to_string(slot.action.microBatch));
      }
    }
  }
}

TEST_CASE("chunks have stages of their own, and pairs stand in one cell") {
  CHECK(cells(valueOf(scheduleCsv(lists("zb-v", {2, 2, 2}))))[0].front() == "0F0");
  CHECK(valueOf(scheduleCsv(lists("interleaved", {2, 2, 2}))).find("2F1") != std::string::npos);
  CHECK(valueOf(scheduleCsv(lists("dualpipev", {2, 4, 2}))).find(")OVERLAP_F_B") != std::string::npos);
}

// PyTorch's own tests of its pipelining have two schedules as files in test/distributed/pipelining/artifacts:
// zb1p_2rank_2stagep_compute.csv, which writes B for the gradients of inputs, and dualpipev_4rank_10mb.csv.
TEST_CASE("interleaved-zb and dualpipev are PyTorch's, cell by cell") {
  auto digests = [](llvm::StringRef name, const PipelineCounts &counts) {
    std::vector<std::string> digests;
    for (const std::vector<std::string> &row : cells(valueOf(scheduleCsv(lists(name, counts))))) {
      std::array<uint8_t, 32> hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(llvm::join(row, " ")));
      digests.push_back(llvm::toHex(llvm::ArrayRef(hash).take_front(8), /*LowerCase=*/true));
    }
    return digests;
  };
  CHECK(digests("interleaved-zb", {2, 8, 2}) == std::vector<std::string>{"8570b27122df9ba8", "cedb04cf5b530829"});
  CHECK(digests("dualpipev", {4, 10, 2}) ==
        std::vector<std::string>{"ab495c135475e302", "16a10ece489bd3e1", "0741e66c623252cd", "b8e5127baa2acb32"});
}

TEST_CASE("lists that the CSV has no words for") {
  CHECK(refusalOf(scheduleCsv(lists("chimera", {2, 2, 2}))).find("opposite directions") != std::string::npos);
  CHECK(refusalOf(scheduleCsv(lists("seqpipe", {2, 4, 1, 2}))).find("pieces along the sequence") != std::string::npos);
}
