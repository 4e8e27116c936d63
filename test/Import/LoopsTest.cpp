// Loops and scans, unrolled, and branches and loops on conditions that the caller tells.
#include "ModelText.h"

#include "apc/IR/Program/Repetition.h"

using namespace apc::test;
using Catch::Contains;

namespace {

std::string body(const std::string &graph) {
  return "attribute { name: \"body\" type: 5 g { name: \"body\" " + graph + "} }\n";
}

const std::string yes = "initializer { name: \"yes\" data_type: 9 int32_data: 1 }\n";

std::string trips(const std::string &count) { return intTensor("initializer", "M", {}, {count}); }

/// Inputs of a loop's graph: number of the trip, condition, one carried value of floats.
std::string loopInputs() { return input("i", {}, 7) + input("go", {}, 9) + input("c", {"2", "3"}); }

/// `y, s = Loop(M, go, x)` with x [2, 3] around a graph that adds x once more at each trip.
std::string addingLoop(const std::string &count, const std::string &goesOn = "go") {
  std::string graph = node("Add", {"c", "x"}, {"d"}) + node("Relu", {"d"}, {"e"}) + loopInputs() + output(goesOn) +
                      output("d") + output("e");
  return trips(count) + yes + node("Loop", {"M", "yes", "x"}, {"y", "s"}, "name: \"loop\" " + body(graph)) +
         input("x", {"2", "3"}) + output("y") + output("s");
}

} // namespace

TEST_CASE("a loop of few trips becomes its trips, whose elements stand side by side") {
  std::string text = importText(serialize(addingLoop("3")))->text();
  CHECK(countOf(text, "apc.add") == 3);
  CHECK_THAT(text, Contains("loc(\"loop/0/Add_0\")") && Contains("loc(\"loop/2/Add_0\")") &&
                       !Contains("loc(\"loop/3/Add_0\")") && Contains("tensor<3x2x3xf32>"));
  auto report = importText(serialize(addingLoop("3")))->report;
  CHECK(report.operators == std::map<std::string, int64_t>{{"Add", 3}, {"Loop", 1}, {"Relu", 3}});
}

TEST_CASE("numbers of trips fold, and a condition that follows ends the loop") {
  // 0 + 1 + 2: the trip numbered 2 is the last, for 2 < 2 does not hold behind it.
  std::string graph = node("Add", {"c", "i"}, {"d"}) + node("Less", {"i", "two"}, {"goes"}) +
                      intTensor("initializer", "two", {}, {"2"}) + input("i", {}, 7) + input("go", {}, 9) +
                      input("c", {}, 7) + output("goes") + output("d");
  std::string zero = intTensor("initializer", "zero", {}, {"0"});
  // Exporters write the greatest number where a condition alone ends a loop.
  for (const char *count : {"7", "9223372036854775807", ""}) {
    std::string loop = node("Loop", {*count ? "M" : "", "yes", "zero"}, {"sum"}, body(graph)) +
                       trips(*count ? count : "1") + yes + zero;
    std::string text =
        importText(serialize(loop + node("Add", {"x", "sum"}, {"y"}) + input("x", {"2"}, 7) + output("y")))->text();
    CHECK_THAT(text, Contains("dense<3>") && !Contains("apc.less"));
  }
}

TEST_CASE("a loop without trips passes its values on, and scan outputs are empty") {
  std::string graph = node("Add", {"c", "x"}, {"d"}) + loopInputs() + output("go") + output("d") +
                      value("output", "d2", {"2", "3"}) + node("Relu", {"d"}, {"d2"});
  std::string loop = trips("0") + yes + node("Loop", {"M", "yes", "x"}, {"y", "s"}, body(graph)) +
                     input("x", {"2", "3"}) + node("Concat", {"s", "s"}, {"z"}, integer("axis", 0)) +
                     node("Relu", {"y"}, {"r"}) + output("r") + output("z");
  CHECK_THAT(importText(serialize(loop))->text(), Contains("tensor<0x2x3xf32>") && !Contains("apc.add"));
  CHECK_THAT(importError(serialize(addingLoop("0"))), Contains("makes no trip") && Contains("'e'"));
}

TEST_CASE("trips read one weight, and many of them are alike as layers are") {
  std::string graph = node("MatMul", {"c", "w"}, {"m"}) + node("Cast", {"i"}, {"f"}, integer("to", 1)) +
                      node("Add", {"m", "f"}, {"a"}) + node("Relu", {"a"}, {"d"}) + emptyWeight("w", {"3", "3"}) +
                      loopInputs() + output("go") + output("d");
  std::string loop = trips("12") + yes + node("Loop", {"M", "yes", "x"}, {"y"}, "name: \"loop\" " + body(graph)) +
                     input("x", {"2", "3"}) + output("y");
  auto model = importText(serialize(loop));
  CHECK(countOf(model->text(), "apc.parameter") == 1);
  auto runs = apc::findRepeatedRuns(model->module->lookupSymbol<mlir::func::FuncOp>("main"));
  REQUIRE(!runs.empty());
  CHECK(std::pair(runs.back().period, runs.back().count) == std::pair<size_t, size_t>(4, 12));
}

TEST_CASE("loops that are not known say what would make them so") {
  std::string open = addingLoop("3");
  open.replace(open.find(trips("3")), trips("3").size(), input("M", {}, 7));
  CHECK_THAT(importError(serialize(open)),
             Contains("Loop (loop (trip count 'M' is known at run time only: say --value M=NUMBER"));
  apc::ImportOptions known;
  known.values["M"] = {3};
  CHECK(countOf(importText(serialize(open), known)->text(), "apc.add") == 3);
  CHECK_THAT(importError(serialize(addingLoop("100000000000"))),
             Contains("8 nodes, inputs and outputs each, would make more than 65536"));
  CHECK_THAT(importError(serialize(addingLoop("40000"))),
             Contains("8 nodes, inputs and outputs each, would make more than 65536"));

  std::string graph = node("Add", {"c", "x"}, {"d"}) + node("ReduceMax", {"d"}, {"r"}, integer("keepdims", 0)) +
                      node("Less", {"r", "r"}, {"goes"}) + loopInputs() + output("goes") + output("d");
  std::string loop =
      trips("3") + yes + node("Loop", {"M", "yes", "x"}, {"y"}, body(graph)) + input("x", {"2", "3"}) + output("y");
  CHECK_THAT(importError(serialize(loop)), Contains("condition 'goes' is known at run time only: say --condition "
                                                    "goes=true or =false"));
  apc::ImportOptions options;
  options.conditions["goes"] = true;
  CHECK(countOf(importText(serialize(loop), options)->text(), "apc.add") == 3);
  options.conditions["goes"] = false;
  CHECK(countOf(importText(serialize(loop), options)->text(), "apc.add") == 1);
}

TEST_CASE("graphs of loops that do not fit") {
  std::string small = trips("2") + yes + node("Loop", {"M", "yes", "x"}, {"y"}, body(loopInputs() + output("go"))) +
                      input("x", {"2", "3"}) + output("y");
  CHECK_THAT(importError(serialize(small)), Contains("has 1 outputs; a condition and 1 carried values are needed"));
  std::string few = trips("2") + yes +
                    node("Loop", {"M", "yes", "x"}, {"y"}, body(input("i", {}, 7) + output("i") + output("i"))) +
                    input("x", {"2", "3"}) + output("y");
  CHECK_THAT(importError(serialize(few)), Contains("has 1 inputs, but its node gives 3"));
  CHECK_THAT(importError(serialize(node("Loop", {"x"}, {"y"}, body(loopInputs() + output("go"))) +
                                   input("x", {"2", "3"}) + output("y"))),
             Contains("needs a trip count and a condition"));
  std::string more = trips("2") + yes + input("x", {"2", "3"}) + output("y") +
                     node("Loop", {"M", "yes", "x"}, {"y", "s"}, body(loopInputs() + output("go") + output("c")));
  CHECK_THAT(importError(serialize(more)), Contains("(Loop) has 2 outputs, but its graph 'body' gives 1"));
  std::string absent = trips("2") + yes + input("x", {"2", "3"}) + output("y") +
                       node("Loop", {"M", "yes", "", "x"}, {"y"}, body(loopInputs() + output("go") + output("c")));
  CHECK_THAT(importError(serialize(absent)), Contains("graph 'body' of node"));
  std::string nameless = trips("2") + yes + input("x", {"2", "3"}) + output("y") +
                         node("Loop", {"M", "yes", "x"}, {"y"}, body(loopInputs() + output("go") + output("")));
  CHECK_THAT(importError(serialize(nameless)), Contains("output 1 has no name"));
}

TEST_CASE("operators with a graph are no loops for that") {
  std::string mapped =
      input("x", {"2"}) + output("y") + node("TensorMap", {"x", "x"}, {"y"}, body(input("a", {"2"}) + output("a")));
  CHECK_THAT(importError(serialize(mapped)), Contains("not supported") && Contains("TensorMap"));
}

TEST_CASE("graphs inside of a loop's graph count for each trip") {
  std::string branches;
  for (int i = 0; i < 100; ++i)
    branches += node("Relu", {"c"}, {"r" + std::to_string(i)});
  std::string graph =
      node("If", {"yes"}, {"d"}, branch("then_branch", branches + output("r0")) + branch("else_branch", output("c"))) +
      loopInputs() + output("go") + output("d");
  std::string loop =
      trips("2000") + yes + node("Loop", {"M", "yes", "x"}, {"y"}, body(graph)) + input("x", {"2", "3"}) + output("y");
  CHECK_THAT(importError(serialize(loop)), Contains("106 nodes, inputs and outputs each"));
}

TEST_CASE("constants of many trips do not fill the memory") {
  // Each trip would leave 65,536 new numbers.
  std::string ramp = node("Range", {"zero", "end", "one"}, {"ramp"}) + intTensor("initializer", "zero", {}, {"0"}) +
                     intTensor("initializer", "one", {}, {"1"}) + intTensor("initializer", "end", {}, {"65536"});
  std::string graph = node("Add", {"c", "i"}, {"d"}) + input("i", {}, 7) + input("go", {}, 9) +
                      input("c", {"65536"}, 7) + output("goes") + output("d") + node("Less", {"i", "last"}, {"goes"}) +
                      intTensor("initializer", "last", {}, {"999"});
  std::string loop = ramp + yes + node("Loop", {"", "yes", "ramp"}, {"s"}, body(graph)) +
                     node("Add", {"x", "s"}, {"y"}) + input("x", {"65536"}, 7) + output("y");
  size_t left = countOf(importText(serialize(loop))->text(), "\"apc.add\"");
  CHECK(left > 700);
  CHECK(left < 1000);
}

namespace {

/// `state, list = Scan(h, x)` of h [3] and x, whose elements are added to h.
std::string scan(const std::string &attributes, Names x, Names h = {"3"}, const std::string &first = "") {
  std::string graph = node("Add", {"a", "b"}, {"c"}) + node("Relu", {"c"}, {"d"}) + input("a", {"3"}) +
                      input("b", {"3"}) + output("c") + output("d");
  std::string inputs = first.empty() ? "" : "input: \"\" ";
  return "node { op_type: \"Scan\" name: \"scan\" " + inputs +
         "input: \"h\" input: \"x\" output: \"y\" output: \"s\" " + integer("num_scan_inputs", 1) + attributes +
         body(graph) + "}\n" + input("h", h) + input("x", x) + output("y") + output("s");
}

} // namespace

TEST_CASE("a scan has a trip for each element, along any dim, in either direction") {
  std::string text = importText(serialize(scan("", {"5", "3"})))->text();
  CHECK(countOf(text, "\"apc.add\"") == 5);
  CHECK_THAT(text, Contains("tensor<5x3xf32>") && Contains("loc(\"scan/4/Add_0\")"));
  text = importText(serialize(scan(ints("scan_input_axes", {"-1"}) + ints("scan_output_axes", {"-1"}), {"3", "4"})))
             ->text();
  CHECK_THAT(text, Contains("-> tensor<3x4xf32>") && Contains("axis = 1 : i64"));
  // Backward, the first trip reads the last of the four parts.
  text = importText(serialize(scan(ints("scan_input_directions", {"1"}), {"4", "3"})))->text();
  size_t first = text.find("loc(\"scan/0/Add_0\")"), line = text.rfind('\n', first);
  CHECK_THAT(text, Contains("\"apc.split\""));
  std::string add = text.substr(line, first - line), read = add.substr(add.rfind(", %") + 2);
  size_t made = text.find(read.substr(0, read.find(')')) + " = \"apc.squeeze\"");
  REQUIRE(made != std::string::npos);
  CHECK_THAT(text.substr(made, 60), Contains("#3"));
}

TEST_CASE("the first form of scans has a batch in front of all operands") {
  std::string text = importText(serialize(scan("", {"2", "5", "3"}, {"2", "3"}, "lengths"), 8))->text();
  CHECK(countOf(text, "\"apc.add\"") == 10);
  CHECK_THAT(text, Contains("-> tensor<2x5x3xf32>") && Contains("-> tensor<2x3xf32>"));
}

TEST_CASE("scans that do not fit") {
  std::string few = node("Scan", {"x"}, {"y", "s"}, integer("num_scan_inputs", 1) + body(input("b", {}) + output("b")));
  CHECK_THAT(importError(serialize(few + input("x", {"5"}) + output("y"))),
             Contains("(Scan) has 2 outputs, but its graph 'body' gives 1"));
  std::string uncounted = node("Scan", {"x"}, {"y"}, body(input("b", {}) + output("b")));
  CHECK_THAT(importError(serialize(uncounted + input("x", {"2"}) + output("y"))),
             Contains("(Scan) needs the attribute num_scan_inputs"));
  CHECK_THAT(importError(serialize(scan(ints("scan_input_axes", {"2"}), {"5", "3"}))),
             Contains("scans operand 1 of 2 dims along axis 2"));
  CHECK_THAT(importError(serialize(scan(ints("scan_output_axes", {"4"}), {"5", "3"}))), Contains("along axis 4"));
  CHECK_THAT(importError(serialize(scan("", {"70000", "3"}))),
             Contains("6 nodes, inputs and outputs each, would make more than 65536"));
  CHECK_THAT(importError(serialize(scan("", {"0", "3"}))), Contains("makes no trip"));
}

TEST_CASE("a branch needs names for its outputs") {
  std::string graph =
      node("If", {"yes"}, {"y"}, branch("then_branch", output("")) + branch("else_branch", output("x"))) + yes;
  CHECK_THAT(importError(serialize(graph + input("x", {"2"}) + output("y"))), Contains("output 0 has no name"));
}

TEST_CASE("a condition that nodes compute may be told") {
  std::string graph = node("ReduceMax", {"x"}, {"r"}, integer("keepdims", 0)) + node("Less", {"r", "r"}, {"is_less"}) +
                      node("If", {"is_less"}, {"y"},
                           branch("then_branch", node("Relu", {"x"}, {"t"}) + output("t")) +
                               branch("else_branch", node("Neg", {"x"}, {"e"}) + output("e"))) +
                      input("x", {"2"}) + output("y");
  CHECK_THAT(importError(serialize(graph)), Contains("say --condition is_less=true or =false"));
  apc::ImportOptions options;
  options.conditions["is_less"] = true;
  CHECK_THAT(importText(serialize(graph), options)->text(), Contains("apc.relu") && !Contains("apc.less"));
  options.conditions["is_less"] = false;
  CHECK_THAT(importText(serialize(graph), options)->text(), Contains("apc.neg"));
  options.conditions = {{"is_less", true}, {"r", true}};
  CHECK_THAT(importError(serialize(graph), options), Contains("--condition r: the value is no single bool"));
}
