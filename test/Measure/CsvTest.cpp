// Tables of comma-separated values, good and malformed.
#include "apc/Measure/Csv.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

using namespace apc;

namespace {

std::string faultOfTable(llvm::StringRef text) {
  CsvTable table;
  llvm::Error error = parseCsv(text, "t.csv", table);
  return error ? takeMessage(std::move(error)).second : "";
}

} // namespace

TEST_CASE("cells in quotes hold commas, quotes and line ends") {
  CsvTable table;
  REQUIRE(
      !parseCsv("id,notes,layers\r\na1,\"two, or \"\"three\"\"\",24\n\na2,\"first\nsecond\", 7 \n", "t.csv", table));
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[0]["notes"] == "two, or \"three\"");
  CHECK(table.rows[0].line() == 2);
  CHECK(table.rows[1]["notes"] == "first\nsecond");
  CHECK(table.rows[1]["layers"] == "7");
  CHECK(table.rows[1].line() == 4);
  CHECK(table.rows[1]["absent"].empty());
  CHECK(table.has("layers"));
  CHECK(!table.has("absent"));
}

TEST_CASE("a last line without its end is a row") {
  CsvTable table;
  REQUIRE(!parseCsv("\xef\xbb\xbfid,n\na,1\nb,", "t.csv", table));
  REQUIRE(table.rows.size() == 2);
  CHECK(table.rows[1]["id"] == "b");
  CHECK(table.rows[1]["n"].empty());
}

TEST_CASE("a dash or 'n/a' is a blank cell") {
  CsvTable table;
  REQUIRE(!parseCsv("id,n,x\na, - ,N/A\nb,-1,none\n", "t.csv", table));
  CHECK(table.rows[0]["n"].empty());
  CHECK(table.rows[0]["x"].empty());
  CHECK(table.rows[1]["n"] == "-1");
  CHECK(table.rows[1]["x"] == "none");
}

TEST_CASE("blank lines, a mark of UTF-8 and capitals in the head do no harm") {
  CsvTable table;
  REQUIRE(!parseCsv("\xef\xbb\xbf\"id\",\"N\"\n\"a\",\"1\"\n", "t.csv", table));
  CHECK(table.rows[0]["id"] == "a");
  CHECK(table.rows[0]["n"] == "1");
  CsvTable late;
  REQUIRE(!parseCsv("\n  \r\nid,n\n\na,1\n", "t.csv", late));
  REQUIRE(late.rows.size() == 1);
  CHECK(late.rows[0]["id"] == "a");
  CHECK(late.rows[0].line() == 5);
  CsvTable ragged;
  REQUIRE(!parseCsv("\na,b\n1\n", "t.csv", ragged));
  CHECK(ragged.rows[0].fault() == "t.csv:3: column 2: the row has 1 cells, and line 2 has 2");
  CHECK(faultOfTable("\na,,b\n") == "t.csv:2: column 2 has no name");
}

TEST_CASE("malformed tables are refused with their place") {
  CHECK(faultOfTable(" \n") == "t.csv: the file is empty; a line of column names is expected");
  CHECK(faultOfTable("a,a\n1,2\n") == "t.csv:1: column 2: the name 'a' stands twice");
  CHECK(faultOfTable("a,,c\n") == "t.csv:1: column 2 has no name");
  CHECK(faultOfTable("a,b\n1,\"2\n3\n") == "t.csv:2: column 2: a quote begins here and does not end");
  CHECK(faultOfTable("a,b\n1,\"2\"3\n") ==
        "t.csv:2: column 2: a comma or the end of the line is expected behind a quote");
  CHECK(faultOfTable("a,b\n1,2\"\n") ==
        "t.csv:2: column 2: a quote in mid-cell; the whole cell stands in quotes, and the quote twice");
}

TEST_CASE("rows of more or fewer cells than the head have a fault with their place; others have none") {
  CsvTable table;
  REQUIRE(!parseCsv("a,b\n1,2\n3\n4,5,6\n7,8\n", "t.csv", table));
  REQUIRE(table.rows.size() == 4);
  CHECK(table.rows[0].fault().empty());
  CHECK(table.rows[1].fault() == "t.csv:3: column 2: the row has 1 cells, and line 1 has 2");
  CHECK(table.rows[1]["b"].empty());
  CHECK(table.rows[2].fault() == "t.csv:4: column 3: the row has 3 cells, and line 1 has 2");
  CHECK(table.rows[3].fault().empty());
  CHECK(table.rows[3]["b"] == "8");
}

TEST_CASE("numbers are read or refused") {
  CsvTable table;
  REQUIRE(!parseCsv("n,x\n12.0,1e-3\nmany,nan\n,\n1.5,2\n", "t.csv", table));
  CHECK(**wholeNumber(table, table.rows[0], "n") == 12);
  CHECK(**realNumber(table, table.rows[0], "x") == Approx(0.001));
  CHECK(!*wholeNumber(table, table.rows[2], "n"));
  auto faultOfNumber = [](auto number) { return number ? "" : takeMessage(number.takeError()).second; };
  CHECK(faultOfNumber(wholeNumber(table, table.rows[1], "n")) == "t.csv:3: column 'n': 'many' is no number");
  CHECK(faultOfNumber(realNumber(table, table.rows[1], "x")) == "t.csv:3: column 'x': 'nan' is no number");
  CHECK(faultOfNumber(wholeNumber(table, table.rows[3], "n")) == "t.csv:5: column 'n': '1.5' is no whole number");
}
