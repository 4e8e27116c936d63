// Memory that a caching allocator takes, by hand.
#include "Blocks/BlockReplay.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

constexpr int64_t gibi = int64_t(1) << 30, memory = 80 * gibi;

/// A program of `numMoments` moments that run once in a step.
BlockProgram programOf(std::vector<BlockUse> uses, size_t numMoments) {
  BlockProgram program;
  program.uses = std::move(uses);
  program.numMoments = program.numRepeated = program.backward = numMoments;
  return program;
}

} // namespace

TEST_CASE("a block that has been cut holds no more what it held") {
  BlockUse large{0, 0, 8 * gibi}, small{1, 3, gibi}, again{2, 2, 8 * gibi};
  CHECK(bytesOfBlocks(programOf({large, small, again}, 4), memory) == 16 * gibi);
  small.begin = 0; // in a segment of its own
  CHECK(bytesOfBlocks(programOf({small, large, again}, 4), memory) == 9 * gibi);
}

TEST_CASE("free neighbours are joined, and segments that are free are given back") {
  BlockUse large{0, 0, 8 * gibi}, half{1, 1, 4 * gibi}, again{2, 2, 8 * gibi};
  CHECK(bytesOfBlocks(programOf({large, half, half, again}, 3), memory) == 8 * gibi);
  CHECK(bytesOfBlocks(programOf({{0, 0, 3 * gibi}, {0, 0, 3 * gibi}, {1, 1, 6 * gibi}}, 2), memory) == 6 * gibi);
}

TEST_CASE("what does not fit as it is takes what is alive") {
  CHECK(bytesOfBlocks(programOf({{0, 1, 8 * gibi}, {1, 1, gibi}}, 2), 8 * gibi) == 9 * gibi);
}

TEST_CASE("what is there before a step is taken first, and little values have pools apart") {
  BlockProgram program = programOf({{0, 0, gibi}, {0, 0, 1000}}, 1);
  program.held = {4 * gibi, 2 * gibi};
  CHECK(bytesOfBlocks(program, memory) == 7 * gibi + (2 << 20));
  program.uses = {{0, 0, 3 << 20}}; // a segment of 20 MiB
  CHECK(bytesOfBlocks(program, memory) == 6 * gibi + (20 << 20));
}

TEST_CASE("gradients that the first micro-batch makes cut the blocks of the next") {
  BlockProgram program = programOf({{0, 0, 8 * gibi}, {1, 2, gibi, /*isOfMicroBatch=*/false}}, 3);
  program.numRepeated = program.backward = 2;
  CHECK(bytesOfBlocks(program, memory) == 8 * gibi);
  program.microBatches = 2;
  CHECK(bytesOfBlocks(program, memory) == 16 * gibi);
}

TEST_CASE("what later micro-batches add to a sum lies beside it while it is added") {
  BlockProgram program = programOf({{0, 1, gibi, /*isOfMicroBatch=*/false}}, 2);
  program.numRepeated = program.backward = 1;
  program.microBatches = 2;
  CHECK(bytesOfBlocks(program, memory) == gibi);
  program.uses.front().addsUp = true;
  CHECK(bytesOfBlocks(program, memory) == 2 * gibi);
  program.microBatches = 1;
  CHECK(bytesOfBlocks(program, memory) == gibi);
}

TEST_CASE("what the first step makes at its end cuts a block that the second needs") {
  BlockProgram program = programOf({{0, 0, 8 * gibi}}, 1);
  program.held = {gibi};
  CHECK(bytesOfBlocks(program, memory) == 9 * gibi);
  program.held.clear();
  program.made = {gibi};
  CHECK(bytesOfBlocks(program, memory) == 16 * gibi);
}

TEST_CASE("what stays goes when the next step begins") {
  BlockProgram program = programOf({{0, 0, 2 * gibi, /*isOfMicroBatch=*/true, /*staysFor=*/2}}, 1);
  program.microBatches = 2;
  CHECK(bytesOfBlocks(program, memory) == 4 * gibi);
}

TEST_CASE("micro-batches in flight hold what they keep for the backward pass") {
  BlockProgram program = programOf({{0, 1, 2 * gibi}}, 2);
  program.backward = 1;
  program.microBatches = 4;
  CHECK(bytesOfBlocks(program, memory) == 2 * gibi);
  program.others = 2;
  CHECK(bytesOfBlocks(program, memory) == 6 * gibi);
}

TEST_CASE("what stays is given back when a later micro-batch has made its own") {
  BlockProgram program = programOf({{0, 0, 2 * gibi, /*isOfMicroBatch=*/true, /*staysFor=*/2}, {1, 1, gibi}}, 2);
  CHECK(bytesOfBlocks(program, memory) == 3 * gibi);
  program.microBatches = 4;
  CHECK(bytesOfBlocks(program, memory) == 6 * gibi);
}
