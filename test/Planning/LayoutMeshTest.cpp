// The place of a layout's degrees on a pool.
#include "../../lib/Planning/Layout/LayoutMesh.h"

#include <catch2/catch.hpp>

using namespace apc;

TEST_CASE("Llama 3 405B's layout for long sequences has tp inside a node, then cp, then dp") {
  Pool worker; // one of 16
  worker.levels.resize(2);
  worker.levels[0].size = 128;
  worker.levels[1].size = 8;
  ParallelDegrees layout;
  layout.data = 8, layout.context = 16, layout.tensor = 8;
  std::optional<LayoutMesh> own = arrangeLayout(worker, layout);
  REQUIRE(own);
  REQUIRE((own->data.size() == 1 && own->context.size() == 1 && own->tensor.size() == 1));
  auto axisOf = [&](const AxisList &axes) { return own->mesh.getAxes()[axes.front().index()]; };
  CHECK((axisOf(own->tensor).level == 1 && axisOf(own->tensor).size == 8));
  CHECK((axisOf(own->context).level == 0 && axisOf(own->context).size == 16));
  CHECK((axisOf(own->data).level == 0 && axisOf(own->data).size == 8));
  CHECK((own->data.front() < own->context.front() && own->context.front() < own->tensor.front()));
}
