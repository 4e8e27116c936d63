// Pins as text and JSON, and what meets them.
#include "apc/Plan/Pins.h"
#include "apc/Support/Error.h"

#include "../ValueOf.h"

#include <catch2/catch.hpp>

using namespace apc;
using Catch::Contains;

namespace {

std::string refusal(llvm::StringRef text) {
  llvm::Expected<Pin> pin = parsePin(text, "--pin");
  if (pin)
    return "accepted: " + pin->str();
  auto [fault, message] = takeMessage(pin.takeError());
  CHECK(fault == Fault::Input);
  return message;
}

/// Does `factor=axes` of a pin allow `given` on 2 nodes of [2, 4] devices?
bool isMet(const std::string &factor, std::initializer_list<unsigned> given) {
  Mesh mesh = valueOf(Mesh::parse("[2 | 2, 4]"));
  AxisList axes;
  for (unsigned axis : given)
    axes.push_back(AxisId(axis));
  Pin pin = valueOf(parsePin("op: " + factor, "test"));
  return pin.factors.at(0).isMetBy(axes, mesh, {"node", "device"});
}

} // namespace

TEST_CASE("pins are read and printed") {
  for (const char *text : {"fc_in/MatMul: b0=node, n=device", "a:b: m=8", "^/h\\.[0-9]+/MatMul$: b1=4@device, ...",
                           "x: n=(2@node device)", "Softmax: replicated", "x: ...", "x: k=1"})
    CHECK(valueOf(parsePin(text, "test")).str() == text);
  Pin pin = valueOf(parsePin("  fc : n = ( 2@node  device ) ,... ", "test"));
  CHECK(pin.str() == "fc: n=(2@node device), ...");
  CHECK(pin.ops == "fc");
  CHECK(pin.open);
}

TEST_CASE("pins that cannot be read say what is accepted") {
  for (auto [text, reason] :
       {std::pair("n=8", "strategy is missing"), std::pair("fc:", "strategy is missing"),
        std::pair(": n=8", "it is empty"), std::pair("f(c: n=8", "no regular expression"),
        std::pair("fc: n", "'n' is no factor=axes"), std::pair("fc: n=0", "'0' in 'n=0'"),
        std::pair("fc: n=8, n=4", "'n' is given twice"), std::pair("fc: n=(8 node)", "are no axes"),
        std::pair("fc: n=node device", "parentheses"), std::pair("fc: ..., n=8", "follow '...'"),
        std::pair("fc: n=(8", "not closed"), std::pair("fc: n=(device", "not closed"),
        std::pair("fc: n=()", "as in 'n=1'"), std::pair("fc: n=8)", "'8)' in 'n=8)'"),
        std::pair("fc: n=99999999999999999999", "are no axes"), std::pair("fc: n=4@", "are no axes"),
        std::pair("fc: n=(node node)", "are no axes")}) {
    INFO(text);
    CHECK_THAT(refusal(text), Contains(reason) && Contains("--pin") && Contains("accepted is 'REGEX: factor=axes"));
  }
}

TEST_CASE("axes meet a pin by ways and levels, not by name") {
  CHECK(isMet("n=8", {1, 2}));
  CHECK(isMet("n=8", {0, 2}));
  CHECK_FALSE(isMet("n=8", {2}));
  CHECK(isMet("n=1", {}));
  CHECK(isMet("n=node", {0}));
  CHECK_FALSE(isMet("n=node", {1}));
  CHECK(isMet("n=device", {1, 2}));
  CHECK_FALSE(isMet("n=device", {2}));
  CHECK(isMet("n=4@device", {2}));
  CHECK_FALSE(isMet("n=4@device", {0, 1}));
  CHECK(isMet("n=(node 2@device)", {0, 1}));
  CHECK_FALSE(isMet("n=(node 2@device)", {0, 2}));
}

TEST_CASE("a file of pins") {
  std::vector<Pin> pins = valueOf(parsePins(
      R"({"pins": [{"ops": "fc", "strategy": "n=8"}, {"ops": "a:b", "strategy": "replicated"}]})", "pins.json"));
  REQUIRE(pins.size() == 2);
  CHECK(pins[0].str() == "fc: n=8");
  CHECK(pins[0].source == "pins.json, pin 1");
  CHECK(pins[1].ops == "a:b");
  for (auto [text, reason] :
       {std::pair("[", "pins.json:1: this is not JSON"), std::pair("[]", "an object with the keys pins is expected"),
        std::pair(R"({"pin": []})", "pin: unknown key, did you mean 'pins'?"),
        std::pair(R"({"pins": [{"ops": "fc"}]})", "pins[0]: 'strategy' is missing"),
        std::pair(R"({"pins": [{"ops": "fc", "strategy": "n"}]})", "pins.json, pin 1: pin 'fc: n': 'n' is no")}) {
    auto [fault, message] = takeMessage(parsePins(text, "pins.json").takeError());
    CHECK(fault == Fault::Input);
    CHECK_THAT(message, Contains(reason));
  }
}
