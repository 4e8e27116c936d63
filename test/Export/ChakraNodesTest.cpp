// Bytes of traces, by hand from protobuf's encoding.
#include "../../lib/Export/Traces/ChakraNodes.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("a trace of one node of 300 microseconds") {
  ChakraTrace trace;
  CHECK(trace.compute("mm", 299.5e-6) == 1);
  // Metadata: 7 bytes, field 1, 5 bytes. Node: id 1, name, type 4, the attribute is_cpu_op (field 10; its field 27 is
  // false), then duration (field 7) 300 = 0xac 0x02.
  std::string node = std::string("\x08\x01\x12\x02mm\x18\x04", 8) + "\x52\x0e\x0a\x09is_cpu_op" +
                     std::string("\xd8\x01\x00", 3) + "\x38\xac\x02";
  CHECK(trace.take() == "\x07\x0a\x05"
                        "0.0.4" +
                            std::string(1, static_cast<char>(node.size())) + node);
}

TEST_CASE("a second node depends on the first") {
  ChakraTrace one, two;
  one.compute("a", 0);
  size_t length = one.take().size();
  two.compute("a", 0);
  two.compute("b", 0);
  // Field 5, one byte, packed: the id 1.
  CHECK(two.take().substr(length).find(std::string("\x2a\x01\x01", 3)) != std::string::npos);
}
