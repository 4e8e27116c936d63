// Liveness and the memory table, by hand and against a sum at every op.
#include "apc/Graph/Memory.h"

#include <catch2/catch.hpp>
#include <limits>
#include <random>

using namespace apc;

namespace {

MemoryTable parameters(int64_t bytes) {
  MemoryTable held;
  held[MemoryCategory::Parameters] = bytes;
  return held;
}

} // namespace

TEST_CASE("the peak of live bytes by hand") {
  // op 0: 4; op 1: 4 + 3; op 2: 3 + 5
  CHECK(peakLiveBytes({{0, 1, 4}, {1, 2, 3}, {2, 2, 5}}) == 8);
  CHECK(peakLiveBytes({}) == 0);
  CHECK(peakLiveBytes({{3, 3, 7}}) == 7);
  // Freed after op 0, made at op 1: never together.
  CHECK(peakLiveBytes({{0, 0, 6}, {1, 1, 6}}) == 6);
  CHECK(peakLiveBytes({{0, 1, 6}, {1, 1, 6}}) == 12);
}

TEST_CASE("the peak is that of a sum at every op") {
  std::mt19937 random(7);
  for (int round = 0; round < 500; ++round) {
    constexpr size_t numOps = 12;
    std::vector<LiveInterval> intervals(random() % 20);
    std::vector<OpMemory> ops(numOps);
    for (LiveInterval &interval : intervals) {
      interval.begin = random() % numOps;
      interval.end = interval.begin + random() % (numOps - interval.begin);
      interval.bytes = random() % 100;
    }
    for (OpMemory &op : ops)
      op = {static_cast<int64_t>(random() % 50), static_cast<int64_t>(random() % 50)};
    int64_t peak = 0, tablePeak = 0;
    for (size_t op = 0; op < numOps; ++op) {
      int64_t live = 0;
      for (const LiveInterval &interval : intervals)
        if (interval.begin <= op && op <= interval.end)
          live += interval.bytes;
      peak = std::max(peak, live);
      tablePeak = std::max(tablePeak, live + ops[op].workspaceBytes + ops[op].communicationBytes);
    }
    CHECK(peakLiveBytes(intervals) == peak);
    CHECK(stepMemory(parameters(1000), intervals, ops).total() == 1000 + tablePeak);
  }
}

TEST_CASE("the table shows the op at which all is largest together") {
  // op 0: 10 live + 1; op 1: 6 live + 7 workspace + 2 buffers = 15; op 2: 6 live.
  MemoryTable table = stepMemory(parameters(100), {{0, 0, 10}, {1, 2, 6}}, {{1, 0}, {7, 2}, {0, 0}});
  CHECK(table[MemoryCategory::Parameters] == 100);
  CHECK(table[MemoryCategory::Activations] == 6);
  CHECK(table[MemoryCategory::Workspace] == 7);
  CHECK(table[MemoryCategory::Communication] == 2);
  CHECK(table[MemoryCategory::Gradients] == 0);
  CHECK(table[MemoryCategory::Optimizer] == 0);
  CHECK(table.total() == 115);
  CHECK(stepMemory(parameters(5), {}, {}).total() == 5);
}

TEST_CASE("sums that no int64 holds are the largest int64") {
  int64_t most = std::numeric_limits<int64_t>::max();
  CHECK(peakLiveBytes({{0, 0, most}, {0, 0, most}}) == most);
  CHECK(stepMemory(parameters(most), {{0, 0, most}}, {{most, most}}).total() == most);
}

TEST_CASE("buffers of a redistribution are what lies between its input and its output") {
  auto collective = [](CollectiveKind kind, int64_t input, int64_t output) {
    Collective collective;
    collective.kind = kind;
    collective.inputBytes = input;
    collective.outputBytes = output;
    return collective;
  };
  CHECK(redistributionBufferBytes({}) == 0);
  CHECK(redistributionBufferBytes({collective(CollectiveKind::AllReduce, 8, 8)}) == 0);
  CHECK(redistributionBufferBytes(
            {collective(CollectiveKind::AllGather, 2, 8), collective(CollectiveKind::AllToAll, 8, 8)}) == 8);
  // The middle collective holds what it reads and what it writes.
  CHECK(redistributionBufferBytes({collective(CollectiveKind::AllGather, 2, 8),
                                   collective(CollectiveKind::AllToAll, 8, 8),
                                   collective(CollectiveKind::ReduceScatter, 8, 2)}) == 16);
}

TEST_CASE("live values count under their own category, beside the bytes that are held") {
  MemoryTable held = parameters(100);
  held[MemoryCategory::Optimizer] = 200;
  MemoryTable table = stepMemory(
      held, {{0, 1, 10}, {1, 1, 5, MemoryCategory::Gradients}, {2, 2, 3, MemoryCategory::Gradients}}, {{}, {}, {}});
  CHECK(table[MemoryCategory::Parameters] == 100);
  CHECK(table[MemoryCategory::Optimizer] == 200);
  CHECK(table[MemoryCategory::Activations] == 10);
  CHECK(table[MemoryCategory::Gradients] == 5);
  CHECK(table.total() == 315);
}

TEST_CASE("every role has a row in the table of roles") {
  for (ValueRole role : {ValueRole::Input, ValueRole::Parameter, ValueRole::Activation, ValueRole::Gradient,
                         ValueRole::OptimizerState, ValueRole::Output}) {
    CHECK(traitsOf(role).role == role);
    CHECK(parseValueRole(valueRoleName(role)) == role);
  }
  CHECK(!parseValueRole("weight"));
  CHECK(traitsOf(ValueRole::OptimizerState).category == MemoryCategory::Optimizer);
  CHECK(traitsOf(ValueRole::Parameter).staysForStep);
  CHECK_FALSE(traitsOf(ValueRole::Gradient).staysForStep);
}

TEST_CASE("the peak names the first op at which the memory is largest") {
  MemoryTable held;
  CHECK(stepPeak(held, {{0, 1, 4}, {1, 2, 3}, {2, 2, 5}}, std::vector<OpMemory>(4)).op == 2);
  CHECK(stepPeak(held, {{0, 3, 4}}, std::vector<OpMemory>(4)).op == 0);
  std::vector<OpMemory> ops(4);
  ops[3].workspaceBytes = 1;
  CHECK(stepPeak(held, {{0, 3, 4}}, ops).op == 3);
}
