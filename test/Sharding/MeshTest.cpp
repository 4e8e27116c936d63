// Meshes: coordinates, groups (MindSpore's among them), text form, logical meshes.
#include "TestSupport.h"

using namespace apc;
using namespace apc::test;

namespace {

Mesh meshOf(std::initializer_list<int64_t> sizes) {
  std::vector<MeshAxis> axes;
  for (int64_t size : sizes)
    axes.push_back({"a" + std::to_string(axes.size()), size, 0});
  return Mesh(std::move(axes));
}

using Ranks = std::vector<int64_t>;

/// The groups of one rank, axis by axis.
std::vector<Ranks> groupsOf(const Mesh &mesh, int64_t rank) {
  std::vector<Ranks> groups;
  for (unsigned axis = 0; axis < mesh.numAxes(); ++axis)
    groups.push_back(mesh.group(rank, {AxisId(axis)}));
  return groups;
}

std::vector<std::string> texts(const std::vector<Mesh> &meshes) {
  std::vector<std::string> result;
  for (const Mesh &each : meshes)
    result.push_back(each.str());
  return result;
}

} // namespace

TEST_CASE("the groups of a rank on [2,3] are those of MindSpore") {
  CHECK(groupsOf(meshOf({2, 3}), 0) == std::vector<Ranks>{{0, 3}, {0, 1, 2}});
}

TEST_CASE("the groups of a rank on [2,2,3] are those of MindSpore") {
  CHECK(groupsOf(meshOf({2, 2, 3}), 5) == std::vector<Ranks>{{5, 11}, {2, 5}, {3, 4, 5}});
}

TEST_CASE("the groups of a rank on [2,1,4,2] are those of MindSpore") {
  CHECK(groupsOf(meshOf({2, 1, 4, 2}), 5) == std::vector<Ranks>{{5, 13}, {5}, {1, 3, 5, 7}, {4, 5}});
}

TEST_CASE("the groups of a rank on [3,4,2,3,2] are those of MindSpore") {
  CHECK(groupsOf(meshOf({3, 4, 2, 3, 2}), 5) ==
        std::vector<Ranks>{{5, 53, 101}, {5, 17, 29, 41}, {5, 11}, {1, 3, 5}, {4, 5}});
}

TEST_CASE("the holders of the same slice are those of MindSpore") {
  // MindSpore counts axes from the right: map [-1, 0] is our [-, a1], map [1, 0] is [a0, a1].
  Mesh eight = meshOf({4, 2});
  auto holders = [&](llvm::StringRef text, int64_t rank) {
    Sharding layout = sharding(text, eight);
    AxisList idle;
    for (unsigned axis = 0; axis < eight.numAxes(); ++axis)
      if (!llvm::is_contained(layout.usedAxes(), AxisId(axis)))
        idle.push_back(AxisId(axis));
    return eight.group(rank, idle);
  };
  CHECK(holders("[-, a1]", 6) == Ranks{0, 2, 4, 6});
  const int64_t devices[] = {10, 3, 2, 9, 11, 100, 1, 0};
  Ranks named;
  for (int64_t rank : holders("[-, a1]", 7))
    named.push_back(devices[rank]);
  CHECK(named == Ranks{3, 9, 100, 0});
  CHECK(devices[holders("[a0, a1]", 7).front()] == 0);
  CHECK(holders("[a0, a1]", 7).size() == 1);
}

TEST_CASE("groups over several axes are those of MindSpore") {
  CHECK(groupsOf(mesh("[dp=2, tp=4]"), 0) == std::vector<Ranks>{{0, 4}, {0, 1, 2, 3}});
  Mesh cube = mesh("[dp=2, cp=2, tp=2]");
  CHECK(cube.group(0, {AxisId(0), AxisId(1)}) == Ranks{0, 2, 4, 6});
  CHECK(cube.group(0, {AxisId(1), AxisId(0)}) == Ranks{0, 4, 2, 6});
  CHECK(cube.indexInGroup(4, {AxisId(0), AxisId(1)}) == 2);
  CHECK(cube.indexInGroup(4, {AxisId(1), AxisId(0)}) == 1);
}

TEST_CASE("coordinates and ranks are inverse") {
  Mesh odd = meshOf({3, 2, 5});
  for (int64_t rank = 0; rank < odd.numDevices(); ++rank) {
    CHECK(odd.rankOf(odd.coordinates(rank)) == rank);
    AxisList axes{AxisId(2), AxisId(0)};
    CHECK(odd.group(rank, axes)[odd.indexInGroup(rank, axes)] == rank);
  }
}

TEST_CASE("prime meshes of levels") {
  CHECK(Mesh::fromLevels({6, 8}).str() == "[x0=3, x1=2 | x2=2, x3=2, x4=2]");
  CHECK(Mesh::fromLevels({1, 8}).str() == "[| x0=2, x1=2, x2=2]");
  CHECK(Mesh::fromLevels({2, 1, 7}).str() == "[x0=2 | | x1=7]");
  CHECK(Mesh::fromLevels({1}).numDevices() == 1);
  CHECK(Mesh::fromLevels({128, 8}).numDevices() == 1024);
}

TEST_CASE("a mesh is read back from its text") {
  for (const Mesh &each : {Mesh::fromLevels({6, 8}), Mesh::fromLevels({1, 8}), Mesh::fromLevels({2, 1, 7}), Mesh()})
    CHECK(mesh(each.str()) == each);
  CHECK(mesh("[8 | 4, 2]").str() == "[x0=8 | x1=4, x2=2]");
  CHECK(mentions(errorOf(Mesh::parse("[x0=0]")), "'x0=0'"));
  CHECK(mentions(errorOf(Mesh::parse("[x0=2, x0=2]")), "two axes are named x0"));
  CHECK(mentions(errorOf(Mesh::parse("x0=2")), "brackets"));
  CHECK(mentions(errorOf(Mesh::parse("[a=4294967296, b=4294967296]")), "more devices"));
}

TEST_CASE("logical meshes group consecutive axes of one level") {
  Mesh prime = Mesh::fromLevels({8, 4});
  CHECK(texts(logicalMeshes(prime, 2)) == std::vector<std::string>{"[x0=8 | x1=4]"});
  CHECK(texts(logicalMeshes(prime, 3)) ==
        std::vector<std::string>{"[x0=2, x1=4 | x2=4]", "[x0=4, x1=2 | x2=4]", "[x0=8 | x1=2, x2=2]"});
  CHECK(logicalMeshes(prime, 1).size() == 1);
  CHECK(logicalMeshes(prime, 9).front().numAxes() == 5);
  // 1,024 = [128 | 8]: 6 cuts of the first level and 2 of the second.
  auto large = logicalMeshes(Mesh::fromLevels({128, 8}), 3);
  CHECK(large.size() == 8);
  CHECK(large.front().str() == "[x0=2, x1=64 | x2=8]");
  CHECK(large.back().str() == "[x0=128 | x1=4, x2=2]");
  for (const Mesh &each : logicalMeshes(Mesh::fromLevels({128, 8}), 4))
    CHECK(each.numDevices() == 1024);
  CHECK(texts(logicalMeshes(Mesh::fromLevels({1}), 3)) == std::vector<std::string>{"[]"});
}
