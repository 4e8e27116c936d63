// Tables without repeated rows and columns, put together again.
#include "../../lib/Search/Reduce/PairKinds.h"

#include <catch2/catch.hpp>

#include <random>

using namespace apc;

static double cellOf(const PairsByKind &kinds, size_t row, size_t column) {
  return kinds.cells[kinds.rowKindOf[row] * kinds.numColumns + kinds.columnKindOf[column]];
}

TEST_CASE("equal rows and columns are stored once, and every pair is found again") {
  std::mt19937 random(7);
  unsigned numWhole = 0, numGrouped = 0;
  for (unsigned trial = 0; trial < 200; ++trial) {
    size_t numRows = 1 + random() % 40, numColumns = 1 + random() % 40;
    size_t rowKinds = 1 + random() % numRows, columnKinds = 1 + random() % numColumns;
    std::vector<double> matrix;
    for (size_t row = 0; row < numRows; ++row)
      for (size_t column = 0; column < numColumns; ++column)
        matrix.push_back(static_cast<double>(row % rowKinds * 1000 + column % columnKinds));
    PairsByKind kinds = groupKinds(matrix, numRows, numColumns);
    REQUIRE(kinds.numRows == rowKinds);
    REQUIRE(kinds.numColumns == columnKinds);
    std::vector<double> exchanged = transposed(matrix, numRows, numColumns);
    PairsByKind turned = transposed(kinds), shared = transposed(kinds, exchanged);
    for (size_t row = 0; row < numRows; ++row)
      for (size_t column = 0; column < numColumns; ++column) {
        double expected = matrix[row * numColumns + column];
        REQUIRE(cellOf(kinds, row, column) == expected);
        REQUIRE(exchanged[column * numRows + row] == expected);
        REQUIRE(cellOf(turned, column, row) == expected);
        REQUIRE(cellOf(shared, column, row) == expected);
      }
    bool isWhole = rowKinds == numRows && columnKinds == numColumns;
    CHECK((kinds.cells.data() == matrix.data()) == isWhole);
    CHECK((shared.cells.data() == exchanged.data()) == isWhole);
    ++(isWhole ? numWhole : numGrouped);
  }
  CHECK(numWhole > 0);
  CHECK(numGrouped > 100);
}
