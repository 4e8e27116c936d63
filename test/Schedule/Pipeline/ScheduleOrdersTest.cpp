// The exact orders of the schedules, their text form, and the counts that they refuse. Orders are those of published
// figures and of the projects that named the schedules.
#include "EqualWorkers.h"

#include "llvm/ADT/StringExtras.h"

#include <random>

using namespace apc;

namespace {

struct Order {
  const char *schedule;
  PipelineCounts counts; ///< workers, micro-batches, chunks, pieces
  size_t worker;
  const char *text;
};

const Order orders[] = {
    {"1f1b", {4, 8}, 0, "F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7"},
    {"1f1b", {4, 8}, 1, "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7"},
    {"1f1b", {4, 8}, 2, "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7"},
    {"1f1b", {4, 8}, 3, "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7"},
    {"interleaved",
     {4, 8, 2},
     0,
     "F0 F1 F2 F3 f0 f1 f2 f3 F4 F5 F6 b0 F7 b1 f4 b2 f5 b3 f6 B0 f7 B1 B2 B3 b4 b5 b6 b7 B4 B5 B6 B7"},
    {"interleaved",
     {4, 8, 2},
     1,
     "F0 F1 F2 F3 f0 f1 f2 f3 F4 b0 F5 b1 F6 b2 F7 b3 f4 B0 f5 B1 f6 B2 f7 B3 b4 b5 b6 b7 B4 B5 B6 B7"},
    {"interleaved",
     {4, 8, 2},
     2,
     "F0 F1 F2 F3 f0 f1 f2 b0 f3 b1 F4 b2 F5 b3 F6 B0 F7 B1 f4 B2 f5 B3 f6 b4 f7 b5 b6 b7 B4 B5 B6 B7"},
    {"interleaved",
     {4, 8, 2},
     3,
     "F0 F1 F2 F3 f0 b0 f1 b1 f2 b2 f3 b3 F4 B0 F5 B1 F6 B2 F7 B3 f4 b4 f5 b5 f6 b6 f7 b7 B4 B5 B6 B7"},
    {"zb-h1", {4, 8}, 0, "F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 F6 I3 W3 F7 I4 W4 I5 W5 I6 W6 I7 W7"},
    {"zb-h1", {4, 8}, 1, "F0 F1 F2 I0 F3 I1 W0 F4 I2 W1 F5 I3 W2 F6 I4 W3 F7 I5 W4 I6 W5 I7 W6 W7"},
    {"zb-h1", {4, 8}, 2, "F0 F1 I0 F2 I1 F3 I2 W0 F4 I3 W1 F5 I4 W2 F6 I5 W3 F7 I6 W4 I7 W5 W6 W7"},
    {"zb-h1", {4, 8}, 3, "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 F6 I6 W3 F7 I7 W4 W5 W6 W7"},
    {"zb-h2", {4, 8}, 0, "F0 F1 F2 F3 F4 F5 F6 I0 W0 F7 I1 W1 I2 W2 I3 W3 I4 W4 I5 W5 I6 W6 I7 W7"},
    {"zb-h2", {4, 8}, 1, "F0 F1 F2 F3 F4 I0 F5 I1 F6 I2 W0 F7 I3 W1 I4 W2 I5 W3 I6 W4 I7 W5 W6 W7"},
    {"zb-h2", {4, 8}, 2, "F0 F1 F2 I0 F3 I1 F4 I2 F5 I3 F6 I4 W0 F7 I5 W1 I6 W2 I7 W3 W4 W5 W6 W7"},
    {"zb-h2", {4, 8}, 3, "F0 I0 F1 I1 F2 I2 F3 I3 F4 I4 F5 I5 F6 I6 W0 F7 I7 W1 W2 W3 W4 W5 W6 W7"},
    {"zb-v",
     {4, 8, 2},
     0,
     "F0 F1 F2 F3 F4 F5 F6 f0 i0 w0 f1 i1 w1 f2 i2 w2 f3 i3 w3 F7 I0 W0 f4 i4 w4 I1 W1 f5 i5 w5 I2 W2 f6 "
     "i6 w6 I3 W3 f7 i7 w7 I4 W4 I5 W5 I6 W6 I7 W7"},
    {"zb-v",
     {4, 8, 2},
     1,
     "F0 F1 F2 F3 F4 f0 F5 f1 i0 w0 f2 i1 w1 f3 i2 w2 F6 I0 W0 f4 i3 w3 F7 I1 W1 f5 i4 w4 I2 W2 f6 i5 w5 "
     "I3 W3 f7 i6 w6 I4 i7 I5 W4 I6 W5 I7 W6 w7 W7"},
    {"zb-v",
     {4, 8, 2},
     2,
     "F0 F1 F2 f0 F3 f1 F4 f2 i0 w0 f3 i1 w1 F5 I0 W0 f4 i2 w2 F6 I1 W1 f5 i3 w3 F7 I2 W2 f6 i4 w4 I3 W3 "
     "f7 i5 w5 I4 i6 I5 i7 I6 W4 I7 W5 w6 w7 W6 W7"},
    {"zb-v",
     {4, 8, 2},
     3,
     "F0 f0 F1 f1 F2 f2 F3 f3 i0 w0 F4 I0 W0 f4 i1 w1 F5 I1 W1 f5 i2 w2 F6 I2 W2 f6 i3 w3 F7 I3 W3 f7 i4 "
     "w4 I4 i5 I5 i6 I6 i7 I7 W4 w5 w6 w7 W5 W6 W7"},
    {"interleaved-zb",
     {4, 8, 2},
     0,
     "F0 F1 F2 F3 f0 f1 f2 f3 i0 w0 F4 i1 w1 F5 i2 w2 F6 i3 w3 F7 I0 W0 f4 I1 W1 f5 I2 W2 f6 I3 W3 f7 i4 "
     "w4 i5 w5 i6 w6 i7 w7 I4 W4 I5 W5 I6 W6 I7 W7"},
    {"interleaved-zb",
     {4, 8, 2},
     3,
     "F0 F1 F2 F3 f0 i0 f1 i1 f2 i2 f3 i3 w0 F4 I0 w1 F5 I1 w2 F6 I2 w3 F7 I3 W0 f4 i4 W1 f5 i5 W2 f6 i6 "
     "W3 f7 i7 w4 I4 w5 I5 w6 I6 w7 I7 W4 W5 W6 W7"},
    {"dualpipev",
     {4, 8, 2},
     0,
     "F0 F1 F2 F3 F4 F5 F6 f0 i0 w0 f1 i1 w1 f2 i2 w2 f3 (F7b3) (f4B0) b4 (f5B1) b5 (f6B2) b6 (f7B3) b7 I4 "
     "W4 I5 W5 I6 W6 I7 W7"},
    {"dualpipev",
     {4, 8, 2},
     1,
     "F0 F1 F2 F3 F4 f0 F5 f1 i0 w0 f2 i1 w1 f3 (F6b2) (f4B0) (F7b3) (f5B1) b4 (f6B2) b5 (f7B3) b6 B4 i7 "
     "I5 w7 I6 W5 I7 W6 W7"},
    {"dualpipev",
     {4, 8, 2},
     2,
     "F0 F1 F2 f0 F3 f1 F4 f2 i0 w0 f3 (F5b1) (f4B0) (F6b2) (f5B1) (F7b3) (f6B2) b4 (f7B3) b5 B4 b6 I5 i7 "
     "I6 W5 I7 w7 W6 W7"},
    {"dualpipev",
     {4, 8, 2},
     3,
     "F0 f0 F1 f1 F2 f2 F3 f3 F4 b0 (f4B0) (F5b1) (f5B1) (F6b2) (f6B2) (F7b3) (f7B3) b4 B4 b5 B5 i6 I6 i7 "
     "I7 w6 W6 w7 W7"},
    {"dualpipe", {4, 8, 2}, 0, "F0 F1 F2 f0 i0 w0 f1 (F3b1) (f2B0) b2 (f3B1) b3 I2 W2 I3 W3"},
    {"dualpipe", {4, 8, 2}, 1, "F0 f0 F1 f1 F2 b0 (f2B0) (F3b1) (f3B1) b2 B2 i3 I3 w3 W3"},
    {"chimera", {4, 4, 2}, 0, "F0 F1 f0 b0 f1 b1 B0 B1"},
    {"chimera", {4, 4, 2}, 1, "F0 f0 F1 f1 b0 B0 b1 B1"},
    {"chimera", {4, 4, 2}, 2, "f0 F0 f1 F1 B0 b0 B1 b1"},
    {"chimera", {4, 4, 2}, 3, "f0 f1 F0 B0 F1 B1 b0 b1"},
    {"seqpipe", {4, 4, 1, 2}, 0, "F0.0 F0.1 F1.0 F1.1 F2.0 B0.1 F2.1 B0.0 F3.0 B1.1 F3.1 B1.0 B2.1 B2.0 B3.1 B3.0"},
    {"seqpipe", {4, 4, 1, 2}, 3, "F0.0 F0.1 B0.1 F1.0 B0.0 F1.1 B1.1 F2.0 B1.0 F2.1 B2.1 F3.0 B2.0 F3.1 B3.1 B3.0"},
};

/// The error of counts that a schedule refuses.
std::string refusal(llvm::StringRef schedule, const PipelineCounts &counts) {
  llvm::Expected<const PipelineSchedule *> row = findPipelineSchedule(schedule, counts.chunks);
  if (!row)
    return takeMessage(row.takeError()).second;
  llvm::Expected<ActionLists> lists = generateActions(**row, counts);
  return lists ? "accepted" : takeMessage(lists.takeError()).second;
}

std::string parseFault(llvm::StringRef text, Placement placement = Placement::Loop) {
  llvm::Expected<ActionLists> lists = parseActionLists(text, placement, "order.txt");
  return lists ? "accepted" : takeMessage(lists.takeError()).second;
}

/// Counts of all kinds, of which a schedule accepts some.
PipelineCounts randomCounts(const PipelineSchedule &schedule, std::mt19937_64 &random) {
  PipelineCounts counts;
  counts.workers = 1 + random() % 8;
  counts.microBatches = 1 + random() % 24;
  counts.chunks = schedule.leastChunks + random() % std::min(4U, schedule.mostChunks - schedule.leastChunks + 1);
  if (schedule.hasPieces)
    counts.pieces = 1 + random() % 4;
  if (schedule.hasWarmUp && random() % 2)
    counts.warmUpFactor = random() % 4;
  if (random() % 3 == 0)
    counts.groupSize = 1 + random() % 10;
  return counts;
}

/// So many forward actions in front of the first backward one.
size_t warmUpOf(const std::vector<Slot> &slots) {
  size_t count = 0;
  while (slots[count].action.kind == ActionKind::Forward)
    ++count;
  return count - 1; // the last of them belongs to the first pair of 1F1B
}

std::vector<size_t> warmUpsOf(const PipelineCounts &counts, llvm::StringRef schedule) {
  std::vector<size_t> result;
  ActionLists lists = listsOf(schedule, counts);
  for (const std::vector<Slot> &slots : lists.workers)
    result.push_back(warmUpOf(slots));
  return result;
}

} // namespace

TEST_CASE("schedules order their actions as published") {
  for (const Order &order : orders) {
    ActionLists lists = listsOf(order.schedule, order.counts);
    INFO(order.schedule << " worker " << order.worker);
    CHECK(printActions(lists.shape, lists.workers[order.worker]) == order.text);
  }
  CHECK(printActionLists(listsOf("gpipe", {2, 3})) == "r0 F0 F1 F2 B0 B1 B2\nr1 F0 F1 F2 B0 B1 B2\n");
  CHECK(printActionLists(listsOf("bfs", {2, 2, 2})) == "r0 F0 F1 f0 f1 b1 b0 B1 B0\nr1 F0 F1 f0 f1 b1 b0 B1 B0\n");
  CHECK(printActionLists(listsOf("eager-1f1b", {3, 5})) == "r0 F0 F1 F2 F3 F4 B0 B1 B2 B3 B4\n"
                                                           "r1 F0 F1 F2 B0 F3 B1 F4 B2 B3 B4\n"
                                                           "r2 F0 B0 F1 B1 F2 B2 F3 B3 F4 B4\n");
}

TEST_CASE("the second half of DualPipe's workers mirrors the first") {
  ActionLists lists = listsOf("dualpipe", {4, 8, 2});
  for (size_t worker : {2, 3}) {
    std::string mirrored = printActions(lists.shape, lists.workers[3 - worker]);
    for (char &letter : mirrored)
      letter = llvm::isUpper(letter) ? llvm::toLower(letter) : llvm::toUpper(letter);
    CHECK(printActions(lists.shape, lists.workers[worker]) == mirrored);
  }
}

TEST_CASE("warm-ups are those of Megatron-LM") {
  using Counts = std::vector<size_t>;
  CHECK(warmUpsOf({4, 8, 2}, "interleaved") == Counts{10, 8, 6, 4});
  CHECK(warmUpsOf({4, 8}, "1f1b") == Counts{3, 2, 1, 0});
  CHECK(warmUpsOf({8, 16, 6}, "interleaved") == Counts{54, 52, 50, 48, 46, 44, 42, 40});
  std::string chunks, microBatches;
  ActionLists lists = listsOf("interleaved", {2, 5, 2, 1, 3});
  for (const Slot &slot : lists.workers[0])
    if (slot.action.kind == ActionKind::Forward) {
      microBatches += std::to_string(slot.action.microBatch);
      chunks += std::to_string(slot.action.stage / 2);
    }
  CHECK(microBatches == "0120123434");
  CHECK(chunks == "0001110011");
  PipelineCounts deeper{4, 8};
  deeper.warmUpFactor = 2;
  CHECK(listsOf("1f1b", deeper) == listsOf("eager-1f1b", {4, 8}));
}

TEST_CASE("each schedule's lists are whole, read back the same, and come to an end") {
  std::mt19937_64 random(7);
  for (const PipelineSchedule &schedule : allPipelineSchedules()) {
    size_t numAccepted = 0;
    for (size_t draw = 0; draw < 1000; ++draw) {
      PipelineCounts counts = randomCounts(schedule, random);
      llvm::Expected<ActionLists> lists = generateActions(schedule, counts);
      if (!lists) {
        std::string message = takeMessage(lists.takeError()).second;
        CHECK(message.find(schedule.name.data()) != std::string::npos);
        continue;
      }
      ++numAccepted;
      INFO(schedule.name.data() << ", " << counts.workers << " workers, " << counts.microBatches << " micro-batches, "
                                << counts.chunks << " chunks, " << counts.pieces << " pieces, groups of "
                                << counts.groupSize.value_or(0) << ", factor " << counts.warmUpFactor.value_or(9));
      EqualWorkers equal{static_cast<double>(random() % 9), static_cast<double>(random() % 9),
                         static_cast<double>(random() % 9), static_cast<double>(random() % 9)};
      llvm::Expected<PipelineTime> time = simulatePipeline(*lists, workOf(lists->shape, equal));
      if (!time)
        FAIL_CHECK(takeMessage(time.takeError()).second);
      CHECK(valueOf(parseActionLists(printActionLists(*lists), schedule.placement, "text")) == *lists);
    }
    INFO(schedule.name.data());
    CHECK(numAccepted > 40);
  }
}

TEST_CASE("a schedule says the fewest chunks that its name stands for") {
  CHECK(leastChunksOf("zb-h1") == 1);
  CHECK(leastChunksOf("interleaved") == 2);
  CHECK(leastChunksOf("1f1b") == 1); // with two chunks MindSpore's, which is another row
  CHECK_FALSE(leastChunksOf("zigzag"));
}

TEST_CASE("schedules have the names that MindSpore and PyTorch give them") {
  auto nameOf = [](llvm::StringRef name, uint32_t chunks) {
    return valueOf(findPipelineSchedule(name, chunks))->name.str();
  };
  CHECK(nameOf("zero_bubble_v", 2) == "dualpipev");
  CHECK(nameOf("1f1b", 1) == "1f1b");
  CHECK(nameOf("1f1b", 3) == "interleaved");
  CHECK(nameOf("gpipe", 1) == "gpipe");
  CHECK(nameOf("gpipe", 2) == "bfs");
  CHECK(nameOf("seqpipe", 1) == "seqpipe");
  CHECK(nameOf("seqvpp", 2) == "seqvpp");
  CHECK(nameOf("seqsmartvpp", 2) == "seqsmartvpp");
  CHECK(nameOf("zb1p", 2) == "interleaved-zb");
  CHECK(nameOf("zbh1", 1) == "zb-h1");
}

TEST_CASE("counts that a schedule cannot take are refused with those that it could") {
  CHECK(refusal("zigzag", {4, 8}).find("there is no schedule 'zigzag'; there are: gpipe, 1f1b,") == 0);
  CHECK(refusal("zb-v", {4, 8, 3}) == "schedule 'zb-v' has 2 chunks on a worker, not 3");
  CHECK(refusal("zb-h1", {4, 8, 2}) == "schedule 'zb-h1' has 1 chunk on a worker, not 2");
  CHECK(refusal("interleaved", {4, 3, 2}).find("4 micro-batches would do") != std::string::npos);
  CHECK(refusal("interleaved", {4, 10, 2, 1, 5}) == "accepted");
  CHECK(refusal("interleaved", {4, 10, 2, 1, 6}) == "accepted"); // a rest of 4
  CHECK(refusal("interleaved", {4, 10, 2, 1, 3}).find("p <= N") != std::string::npos);
  CHECK(refusal("interleaved", {4, 10, 2, 1, 6, 1}).find("6 or 12 micro-batches would do") != std::string::npos);
  CHECK(refusal("dualpipev", {4, 7, 2}).find("8 micro-batches would do") != std::string::npos);
  CHECK(refusal("dualpipe", {3, 8, 2}).find("an even p") != std::string::npos);
  CHECK(refusal("interleaved-zb", {4, 9, 2}).find("8 or 10 micro-batches would do") != std::string::npos);
  CHECK(refusal("1f1b", {4, 8, 1, 2}).find("seqpipe does") != std::string::npos);
  CHECK(refusal("gpipe", {4, 8, 1, 1, {}, 2}).find("no warm-up") != std::string::npos);
  CHECK(refusal("interleaved", {4, 8, 2, 1, {}, 3}).find("a warm-up factor of 2 at most") != std::string::npos);
  CHECK(refusal("1f1b", {0, 8}).find("1 at least") != std::string::npos);
}

TEST_CASE("interleaved goes through groups of the fewest micro-batches that its numbers allow") {
  CHECK(interleavedSizeOf({4, 8, 2}, /*isShort=*/false) == 4);
  CHECK(interleavedSizeOf({4, 10, 2}, /*isShort=*/false) == 5);
  CHECK(interleavedSizeOf({4, 11, 2}, /*isShort=*/false) == 6); // a rest of 5
  CHECK(interleavedSizeOf({4, 11, 2}, /*isShort=*/true) == 11);
  CHECK(interleavedSizeOf({4, 8, 2, 1, 8}, /*isShort=*/false) == 8);
  for (uint32_t workers = 2; workers <= 5; ++workers)
    for (uint32_t microBatches = workers; microBatches <= 3 * workers + 1; ++microBatches)
      for (uint32_t chunks : {2, 3})
        for (const char *name : {"interleaved", "interleaved-short"}) {
          INFO(name << " " << workers << " workers, " << microBatches << " micro-batches, " << chunks << " chunks");
          const PipelineSchedule *schedule = valueOf(findPipelineSchedule(name, chunks));
          const ActionLists lists = valueOf(generateActions(*schedule, {workers, microBatches, chunks}));
          const bool isShort = schedule->name == "interleaved-short";
          const uint32_t size = interleavedSizeOf({workers, microBatches, chunks}, isShort);
          CHECK(lists.workers == valueOf(generateActions(*schedule, {workers, microBatches, chunks, 1, size})).workers);
          StageWork each;
          each.forwardSeconds = 1, each.inputGradientSeconds = 2;
          PipelineWork work{std::vector<StageWork>(lists.shape.numStages(), each), chainMessages(lists.shape, 0)};
          CHECK(valueOf(simulatePipeline(lists, work)).stepSeconds >= 3.0 * microBatches * chunks);
        }
}

TEST_CASE("the text of lists tells its faults") {
  CHECK(parseFault("r0 F0 B0\nr1 F0 B0\n") == "accepted");
  CHECK(parseFault("r0 F0 f0 b0 B0", Placement::V) == "accepted");
  CHECK(parseFault("") == "order.txt: there is no list of actions; the first begins with 'r0'");
  CHECK(parseFault("r0 F0 B0\n\nr2 F0 B0").find("order.txt:3: a line for worker r1 begins with 'r1', not with 'r2'") ==
        0);
  CHECK(parseFault("r0 F0 X0").find("order.txt:1: 'X0' is no action") == 0);
  CHECK(parseFault("r0 F0 (F1B0 B1").find("order.txt:1: '(F1B0' is no action") == 0);
  CHECK(parseFault("r0 F B0").find("'F' is no action") != std::string::npos);
  CHECK(parseFault("r0 F4294967295 B0").find("is no action") != std::string::npos);
  CHECK(parseFault("r0 F0 B0 B0") == "order.txt: worker 0: B0 has no F before it, or stands there twice");
  CHECK(parseFault("r0 F0 B0\nr1 B0 F0") == "order.txt: worker 1: B0 has no F before it, or stands there twice");
  CHECK(parseFault("r0 F0 I0") == "order.txt: worker 0: micro-batch 0 of chunk 0 has no whole backward pass");
  CHECK(parseFault("r0 F0 F1 F2 B0 B1 B2\nr1 F0 B0") ==
        "order.txt: worker 1: micro-batch 1 of chunk 0 has no whole backward pass");
  CHECK(parseFault("r0 F0 F1 F2 B0 B1 B2\nr1 F0").find("worker 1: 1 slots cannot hold 3 forward") != std::string::npos);
  CHECK(parseFault("r0 F0.0 F0.1 B0.0 B0.1").find("B0.0 runs before the piece behind it") != std::string::npos);
  CHECK(parseFault("r0 F0 (B0F1) B1").find("only F runs beside B or I") != std::string::npos);
}
