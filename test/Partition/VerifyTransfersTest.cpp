// Programs of two stages, by hand: their memory, and the order of their transfers.
#include "../ValueOf.h"

#include "apc/IR/Apc.h"
#include "apc/Partition/VerifyTransfers.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Parser/Parser.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

/// Values of 1 KiB. From F to B h is kept; the backward pass has h, g and d at once; s is a sum.
const char *const first = R"(
func.func @main(%x: tensor<256xf32>) -> tensor<256xf32> {
  %h = "apc.relu"(%x) : (tensor<256xf32>) -> tensor<256xf32>
  apc.send %h "h" "micro_batch" : tensor<256xf32>
  apc.part_end "forward"
  %g = apc.receive "g" "micro_batch" "input" : tensor<256xf32>
  %d = "apc.mul"(%h, %g) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  %s = "apc.accumulate"(%d) : (tensor<256xf32>) -> tensor<256xf32>
  apc.micro_batch_end 3
  return %s : tensor<256xf32>
})";

/// A parameter of 1 KiB; y is kept from F to B.
const char *const second = R"(
func.func @main() {
  %w = apc.parameter "w" "initializer" : tensor<256xf32>
  %h = apc.receive "h" "micro_batch" "input" : tensor<256xf32>
  %y = "apc.mul"(%h, %w) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  apc.part_end "forward"
  %g = "apc.relu"(%y) : (tensor<256xf32>) -> tensor<256xf32>
  apc.send %g "g" "micro_batch" : tensor<256xf32>
  apc.micro_batch_end 3
  return
})";

struct TwoStages {
  explicit TwoStages(const std::string &one, const std::string &two) {
    context.loadDialect<ApcDialect, mlir::func::FuncDialect>();
    program.stages.push_back({mlir::parseSourceString<mlir::ModuleOp>(first, &context), 0, 1});
    program.stages.push_back({mlir::parseSourceString<mlir::ModuleOp>(second, &context), 1, 1});
    REQUIRE(program.stages[0].module);
    REQUIRE(program.stages[1].module);
    program.workers = {actions(0, one), actions(1, two)};
  }
  static std::vector<ProgramAction> actions(unsigned stage, const std::string &text) {
    std::vector<ProgramAction> list;
    for (size_t at = 0; at < text.size(); at += 3)
      list.push_back({static_cast<ProgramPart>(std::string("FIWB").find(text[at])), stage, text[at + 1] - '0'});
    return list;
  }

  mlir::MLIRContext context;
  Program program;
};

constexpr int64_t kibi = 1024;

} // namespace

TEST_CASE("The memory of a worker grows with the micro-batches in flight") {
  // B of stage 0: s, h, g, d, and an h of each other micro-batch in flight.
  // Stage 1 runs one after the other: w with h and y, or with y and g.
  TwoStages flush("F0 F1 F2 B0 B1 B2", "F0 B0 F1 B1 F2 B2");
  CHECK(valueOf(verifyTransfers(flush.program)).peakBytes == std::vector<int64_t>{6 * kibi, 3 * kibi});
  TwoStages soon("F0 F1 B0 F2 B1 B2", "F0 B0 F1 B1 F2 B2");
  CHECK(valueOf(verifyTransfers(soon.program)).peakBytes == std::vector<int64_t>{5 * kibi, 3 * kibi});
  TwoStages single("F0 B0 F1 B1 F2 B2", "F0 B0 F1 B1 F2 B2");
  CHECK(valueOf(verifyTransfers(single.program)).peakBytes == std::vector<int64_t>{4 * kibi, 3 * kibi});
  // Stage 1 keeps every y: w, two of them, and h and y of the third.
  TwoStages late("F0 F1 F2 B0 B1 B2", "F0 F1 F2 B0 B1 B2");
  CHECK(valueOf(verifyTransfers(late.program)).peakBytes == std::vector<int64_t>{6 * kibi, 5 * kibi});
}

TEST_CASE("Micro-batches share a value that is made of constants alone") {
  TwoStages stages("F0 F1 F2 B0 B1 B2", "F0 F1 F2 B0 B1 B2");
  stages.program.stages[1].module = mlir::parseSourceString<mlir::ModuleOp>(R"(
func.func @main() {
  %c = apc.constant dense<1.0> : tensor<256xf32>
  %k = "apc.relu"(%c) : (tensor<256xf32>) -> tensor<256xf32>
  %h = apc.receive "h" "micro_batch" "input" : tensor<256xf32>
  %y = "apc.mul"(%h, %k) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  apc.part_end "forward"
  %g = "apc.mul"(%y, %k) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
  apc.send %g "g" "micro_batch" : tensor<256xf32>
  apc.micro_batch_end 3
  return
})",
                                                                            &stages.context);
  REQUIRE(stages.program.stages[1].module);
  // k, two y of others, and h and y of the third.
  CHECK(valueOf(verifyTransfers(stages.program)).peakBytes[1] == 5 * kibi);
}

TEST_CASE("Sends that wait for their receivers stop at the first crossing") {
  TwoStages flush("F0 F1 F2 B0 B1 B2", "F0 F1 F2 B0 B1 B2"), single("F0 B0 F1 B1 F2 B2", "F0 B0 F1 B1 F2 B2");
  CHECK(valueOf(verifyTransfers(flush.program)).rendezvousDeadlock == "");
  CHECK(valueOf(verifyTransfers(single.program)).rendezvousDeadlock == "");
  TwoStages crossing("F0 F1 B0 F2 B1 B2", "F0 B0 F1 B1 F2 B2");
  TransferProof proof = valueOf(verifyTransfers(crossing.program));
  CHECK(proof.numTransfers == 2);
  CHECK(proof.rendezvousDeadlock ==
        "workers wait for each other: worker 0 at the send of 'h' of micro-batch 1 in F1 of stage 0, worker 1 at the "
        "send of 'g' of micro-batch 0 in B0 of stage 1");
}
