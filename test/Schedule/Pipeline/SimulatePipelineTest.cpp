// The simulator against a longest path over a graph of constraints, by hand, and on lists that never end.
#include "LongestPath.h"
#include "RandomPipelines.h"

#include <numeric>

using namespace apc;

TEST_CASE("the simulator and a longest path agree on random pipelines to the last bit") {
  std::mt19937_64 random(11);
  for (size_t draw = 0; draw < 4000; ++draw) {
    RandomPipeline pipeline = randomPipeline(random);
    PipelineTime simulated = valueOf(simulatePipeline(pipeline.lists, pipeline.work));
    std::optional<PipelineTime> longest = timeByLongestPath(pipeline.lists, pipeline.work);
    INFO(pipeline.schedule->name.data() << "\n" << printActionLists(pipeline.lists));
    REQUIRE(longest);
    CHECK(simulated.stepSeconds == longest->stepSeconds);
    CHECK(simulated.spanSeconds == longest->spanSeconds);
    CHECK(simulated.workers == longest->workers);
  }
}

TEST_CASE("a longest path is as long as its step, and no longer than a step of the same lists with other figures") {
  std::mt19937_64 random(13);
  for (size_t draw = 0; draw < 2000; ++draw) {
    RandomPipeline pipeline = randomPipeline(random);
    PipelineSimulator simulator = valueOf(PipelineSimulator::make(pipeline.lists));
    PipelinePath path = valueOf(simulator.longestPath(pipeline.work));
    INFO(pipeline.schedule->name.data() << "\n" << printActionLists(pipeline.lists));
    CHECK(path.secondsOf(pipeline.work) == valueOf(simulator.run(pipeline.work)).stepSeconds);
    for (StageWork &stage : pipeline.work.stages)
      stage = randomStage(random);
    for (StageMessage &message : pipeline.work.messages)
      message.seconds = static_cast<double>(random() % 9);
    CHECK(path.secondsOf(pipeline.work) <= valueOf(simulator.run(pipeline.work)).stepSeconds);
  }
}

TEST_CASE("both find the lists on which workers wait for ever") {
  std::mt19937_64 random(12);
  size_t numStuck = 0;
  for (size_t draw = 0; draw < 1000; ++draw) {
    RandomPipeline pipeline = randomPipeline(random);
    // Neighbours in a list change places, as long as the list stays whole.
    for (std::vector<Slot> &slots : pipeline.lists.workers)
      for (size_t turn = 0; turn < 40; ++turn) {
        size_t place = random() % (slots.size() - 1);
        std::swap(slots[place], slots[place + 1]);
        if (llvm::Error error = checkActionLists(pipeline.lists)) {
          llvm::consumeError(std::move(error));
          std::swap(slots[place], slots[place + 1]);
        }
      }
    llvm::Expected<PipelineTime> simulated = simulatePipeline(pipeline.lists, pipeline.work);
    std::optional<PipelineTime> longest = timeByLongestPath(pipeline.lists, pipeline.work);
    REQUIRE(static_cast<bool>(simulated) == longest.has_value());
    if (simulated) {
      CHECK(simulated->workers == longest->workers);
    } else {
      ++numStuck;
      CHECK(takeMessage(simulated.takeError()).second.find("wait for each other for ever: worker ") !=
            std::string::npos);
    }
  }
  INFO(numStuck);
  CHECK((numStuck > 50 && numStuck < 950));
}

TEST_CASE("links, extras, recomputation and the tail by hand") {
  // Two workers, two micro-batches, 1F1B: r0 F0 F1 B0 B1, r1 F0 B0 F1 B1.
  ActionLists lists = listsOf("1f1b", {2, 2});
  PipelineWork work = workOf(lists.shape, {1, 1, 1, 3});
  auto finishes = [&] {
    PipelineTime time = valueOf(simulatePipeline(lists, work));
    return std::pair(time.workers[0].finishSeconds, time.workers[1].finishSeconds);
  };
  using Pair = std::pair<double, double>;
  // r1: F0 4-5, B0 5-7, F1 7-8, B1 8-10; gradients are back at 10 and 13.
  CHECK(finishes() == Pair{15, 10});
  work.linkMode = LinkMode::Link; // tensors leave at 1 and 4
  CHECK(finishes() == Pair{15, 10});
  work.messages[0].seconds = 7; // at 1 and 8: r1 F0 8-9, B0 9-11, F1 15-16, B1 16-18
  CHECK(finishes() == Pair{27, 18});
  work.linkMode = LinkMode::Latency; // r1 F0 8-9, B0 9-11, F1 11-12, B1 12-14
  CHECK(finishes() == Pair{23, 14});
  work.linkMode = LinkMode::Sender; // r0 sends 1-8 and 9-16; r1 F0 8-9, B0 9-11, sends to 18, F1 18-19, B1 19-21, to 28
  CHECK(finishes() == Pair{30, 28});
  work.linkMode = LinkMode::Latency;
  work.messages[0].seconds = 3;
  work.stages[0].firstForwardExtraSeconds = 10; // everything but r0's F1 follows
  CHECK(finishes() == Pair{25, 20});
  work.stages[0].firstForwardExtraSeconds = 0;
  work.stages[1].lastBackwardExtraSeconds = 10;
  CHECK(finishes() == Pair{25, 20});
  work.stages[1].lastBackwardExtraSeconds = 0;
  work.stages[1].isRecomputed = true; // each of its B takes 3 s
  CHECK(finishes() == Pair{17, 12});
  work.stages[1].isRecomputed = false;
  // r0 ends at 15, r1 at 10. Reductions of 1 s and 8 s, a shared one of 2 s, optimizers of 1 s and 4 s.
  work.stages[0].gradientSyncSeconds = 1, work.stages[1].gradientSyncSeconds = 8;
  work.stages[0].optimizerSeconds = 1, work.stages[1].optimizerSeconds = 4;
  work.tail = PipelineTail{};
  CHECK(finishes() == Pair{17, 22});
  work.tail->tied = TiedStages{0, 1, 2};
  CHECK(finishes() == Pair{21, 24});
  work.tail->tied.reset();
  work.tail->hasBarrier = true;
  CHECK(finishes() == Pair{19, 22});
  // Sums leave r1 at 18, one after the other; r1 goes on.
  work.tail->sums = {{1, 0, 3}};
  CHECK(finishes() == Pair{22, 25});
  work.tail->hasBarrier = false;
  CHECK(finishes() == Pair{22, 22});
  work.tail->sums.push_back({1, 0, 2});
  CHECK(finishes() == Pair{24, 22});
  work.tail->sums = {{0, 0, 9}}; // of one worker
  CHECK(finishes() == Pair{17, 22});
}

TEST_CASE("memory follows the lists") {
  ActionLists lists = valueOf(parseActionLists("r0 F0 F1 I0 W0 B1", Placement::Loop, "text"));
  PipelineWork work;
  work.stages = {StageWork{.activationBytes = 10, .weightActivationBytes = 4, .inputBytes = 1, .staticBytes = 100}};
  auto peak = [&] { return valueOf(simulatePipeline(lists, work)).workers[0].peakBytes; };
  CHECK(peak() == 120);
  work.stages[0].isRecomputed = true; // two inputs, and 9 more for one of them
  CHECK(peak() == 111);
  lists = valueOf(parseActionLists("r0 F0 I0 F1 I1 F2 B2 W0 W1", Placement::Loop, "text"));
  work.stages[0].isRecomputed = false; // 4 + 4 + 10
  CHECK(peak() == 118);
}

TEST_CASE("a worker's memory is that of the counts of its stage, where it has one") {
  std::mt19937_64 random(14);
  for (size_t draw = 0; draw < 600; ++draw) {
    RandomPipeline pipeline = randomPipeline(random);
    const PipelineShape &shape = pipeline.lists.shape;
    PipelineSimulator simulator = valueOf(PipelineSimulator::make(pipeline.lists));
    for (uint32_t stage = 0; stage < shape.numStages(); ++stage) {
      std::vector<StageWork> alone(shape.numStages());
      alone[stage] = pipeline.work.stages[stage];
      int64_t most = 0;
      for (const LiveCounts &counts : simulator.liveCounts(stage))
        most = std::max(most, counts.bytesOf(alone[stage]));
      INFO(pipeline.schedule->name.data() << " stage " << stage << "\n" << printActionLists(pipeline.lists));
      CHECK(simulator.peakBytes(shape.workerOf(stage), alone) == most + alone[stage].staticBytes);
    }
  }
}

TEST_CASE("a worker's memory is that of the counts of its stages at one time") {
  std::mt19937_64 random(15);
  for (size_t draw = 0; draw < 600; ++draw) {
    RandomPipeline pipeline = randomPipeline(random);
    const PipelineShape &shape = pipeline.lists.shape;
    PipelineSimulator simulator = valueOf(PipelineSimulator::make(pipeline.lists));
    for (StageWork &stage : pipeline.work.stages) {
      stage.isRecomputed = false;
      stage.weightActivationBytes = draw % 2 == 0 ? stage.activationBytes : stage.activationBytes / 2;
      stage.staticBytes = 0;
    }
    INFO(printActionLists(pipeline.lists));
    for (uint32_t worker = 0; worker < shape.workers; ++worker) {
      int64_t most = 0;
      for (const std::vector<HeldUnits> &held : simulator.heldTogether(worker)) {
        int64_t bytes = 0;
        for (auto [chunk, units] : llvm::enumerate(held)) {
          const StageWork &stage = pipeline.work.stages[shape.stageOf(worker, static_cast<uint32_t>(chunk))];
          bytes += (units.atBackward + (units.running == HeldUnits::Running::Pass)) * stage.activationBytes;
          bytes += (units.atWeights + (units.running == HeldUnits::Running::Weights)) * stage.weightActivationBytes;
        }
        most = std::max(most, bytes);
      }
      CHECK(most == simulator.peakBytes(worker, pipeline.work.stages));
    }
  }
}

TEST_CASE("chunks do not hold their most micro-batches at once") {
  // The interleaved pipeline of Megatron's 530B model: 35 workers with three chunks each.
  PipelineSimulator simulator = valueOf(PipelineSimulator::make(listsOf("interleaved", {35, 280, 3})));
  uint32_t most = 0, added = 0;
  for (const std::vector<HeldUnits> &held : simulator.heldTogether(0))
    most = std::max(most, std::accumulate(held.begin(), held.end(), 0U,
                                          [](uint32_t sum, const HeldUnits &units) { return sum + units.count(); }));
  for (uint32_t chunk : {0U, 1U, 2U})
    added += simulator.liveCounts(simulator.getShape().stageOf(0, chunk)).front().whole;
  CHECK(most == 139); // 3 (1 + 34 / 105) times 35
  CHECK(added == 174);
}

TEST_CASE("lists that wait for each other are named") {
  ActionLists lists = valueOf(parseActionLists("r0 F0 B0 F1 B1\nr1 F0 F1 B0 B1", Placement::Loop, "text"));
  llvm::Expected<PipelineTime> time = simulatePipeline(lists, workOf(lists.shape, {}));
  REQUIRE(!time);
  CHECK(takeMessage(time.takeError()).second ==
        "the workers wait for each other for ever: worker 0 before B0, worker 1 before F1");
}
