// JSON in and out: what is read, where it stands, what every mistake is answered with, and the bytes that are written.
#include "apc/Support/Json/JsonWriter.h"

#include "ErrorOf.h"
#include "ValueOf.h"
#include "apc/Support/Error.h"

#include <catch2/catch.hpp>

#include <limits>
#include <random>

using namespace apc;

namespace {

enum class Shape : uint8_t { Ring, Tree };
llvm::ArrayRef<llvm::StringLiteral> enumNames(Shape) {
  static constexpr llvm::StringLiteral names[] = {"ring", "tree"};
  return names;
}

struct Axis {
  std::string name;
  int64_t size = 1;
  std::optional<double> seconds;
  Shape shape = Shape::Ring;
};

template <typename Visitor>
void fields(Visitor &visit, Axis &axis) {
  visit("name", axis.name);
  visit("size", axis.size, "devices along the axis");
  visit("seconds", axis.seconds);
  visit.optional("shape", axis.shape);
}

struct Grid {
  std::vector<Axis> axes;
  std::map<std::string, uint32_t> counts;
  bool isOpen = false;
};

template <typename Visitor>
void fields(Visitor &visit, Grid &grid) {
  visit("axes", grid.axes);
  visit("counts", grid.counts);
  visit("open", grid.isOpen);
}

std::string syntaxError(llvm::StringRef text) {
  llvm::Expected<JsonDocument> document = JsonDocument::parse(text, "my.json");
  REQUIRE_FALSE(static_cast<bool>(document));
  return inputErrorOf(document.takeError());
}

JsonDocument parsed(llvm::StringRef text) { return valueOf(JsonDocument::parse(text, "my.json")); }

template <typename T>
T read(llvm::StringRef text) {
  JsonDocument document = parsed(text);
  T value = document.root().get<T>();
  INFO(text.str());
  if (document.hasFailed())
    FAIL(inputErrorOf(document.takeError()));
  return value;
}

template <typename T>
std::string errorIn(llvm::StringRef text) {
  JsonDocument document = parsed(text);
  (void)document.root().get<T>();
  return inputErrorOf(document.takeError());
}

} // namespace

TEST_CASE("values keep their kind, their order and their line") {
  JsonDocument document = parsed("{\"z\": [1, -1, 1.5, 18446744073709551615, 1e20, 99999999999999999999],\n"
                                 " \"a\": {\"text\": \"\\u00e4\\n\"},\n\n \"empty\":\n null}\n");
  llvm::ArrayRef<JsonMember> members = document.getRoot().members();
  REQUIRE(members.size() == 3);
  CHECK(members[0].key == "z");
  using Kind = JsonValue::Kind;
  std::vector<Kind> kinds;
  for (const JsonValue &number : members[0].value.list())
    kinds.push_back(number.kind());
  CHECK(kinds == std::vector{Kind::Unsigned, Kind::Integer, Kind::Real, Kind::Unsigned, Kind::Real, Kind::Real});
  CHECK(members[0].value.list()[3].unsignedInteger() == UINT64_MAX);
  CHECK(members[0].value.list()[5].number() == 1e20);
  CHECK(members[1].value.line == 2);
  CHECK(members[1].value.find("text")->text() == "\xc3\xa4\n");
  CHECK(members[2].value.line == 4);
  CHECK(members[2].value.isNull());
  CHECK(document.pathOf(members[0].value.list()[2]) == "z[2]");
  CHECK(document.pathOf(*members[1].value.find("text")) == "a.text");
  CHECK(document.pathOf(document.getRoot()) == "document");
}

TEST_CASE("lines are counted in lists, behind numbers and across moves of the document") {
  JsonDocument document = parsed("\n[1\n,\n2\n, [\n3]\n]");
  JsonDocument moved = std::move(document);
  llvm::ArrayRef<JsonValue> list = moved.getRoot().list();
  CHECK(moved.getRoot().line == 2);
  CHECK(list[0].line == 2);
  CHECK(list[1].line == 4);
  CHECK(list[2].line == 5);
  CHECK(list[2].list()[0].line == 6);
  moved.root().forEach([](JsonReader item) { (void)item.get<int>(); });
  CHECK(inputErrorOf(moved.takeError()) ==
        "my.json:5: [2]: a whole number from -2147483648 to 2147483647 is expected, not [3]");
}

TEST_CASE("text that is no JSON is refused with the line and in plain words") {
  CHECK(syntaxError("") == "my.json:1: this is not JSON: the file is empty");
  CHECK(syntaxError("{\"a\":\n 1") == "my.json:2: this is not JSON: the text ends before its brackets are closed");
  CHECK(syntaxError("{\"a\":\n\n x}") == "my.json:3: this is not JSON: 'x' is not expected here");
  CHECK(syntaxError("[1] 2") == "my.json:1: this is not JSON: '2' is not expected here");
  CHECK(syntaxError("[NaN]") == "my.json:1: this is not JSON: 'N' is not expected here");
  CHECK(syntaxError("[\"a\tb\"]") ==
        "my.json:1: this is not JSON: byte 0x9 is not expected here; line ends and other control characters in a text "
        "are written with a backslash");
  CHECK(syntaxError("\n[\"\xff\"]") ==
        "my.json:2: this is not JSON: byte 0xff is not expected here; texts are in UTF-8");
  CHECK(syntaxError("[1,\n1e999\n]") == "my.json:2: a number is too large; at most 1.79e308 is accepted");
  CHECK(syntaxError("{\"a\": 1,\n\"\\u0061\": 2}") == "my.json:2: key \"a\" is given twice in one object");
  CHECK(syntaxError("[\n" + std::string(400000, '[') + std::string(400000, ']') + "]") ==
        "my.json:2: brackets are nested more than 16 deep");
}

TEST_CASE("the same key in different objects is no repetition, and brackets side by side are not deep") {
  JsonDocument document = parsed("{\"a\": {\"a\": [{\"b\": 1}, {\"b\": 2}]}, \"b\": {}}");
  CHECK(printJson(document.getRoot(), 0) == "{\"a\":{\"a\":[{\"b\":1},{\"b\":2}]},\"b\":{}}");
  CHECK(parsed(std::string(16, '[') + std::string(16, ']')).getRoot().isList());
  CHECK(parsed("[[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[],[]]").getRoot().list().size() == 18);
}

TEST_CASE("structs are read member by member") {
  Grid grid = read<Grid>(R"({"axes": [{"name": "node", "size": 8.0, "seconds": null, "shape": "tree"},
                                      {"name": "device", "size": 2, "seconds": 1}],
                             "counts": {"AllReduce": 3}, "open": true})");
  REQUIRE(grid.axes.size() == 2);
  CHECK(grid.axes[0].size == 8);
  CHECK_FALSE(grid.axes[0].seconds);
  CHECK(grid.axes[0].shape == Shape::Tree);
  CHECK(grid.axes[1].seconds == 1.0);
  CHECK(grid.axes[1].shape == Shape::Ring);
  CHECK(grid.counts.at("AllReduce") == 3);
  CHECK(grid.isOpen);
}

TEST_CASE("a value of another type is named with its place and what is expected") {
  CHECK(errorIn<Axis>("{\"name\": 5, \"size\": 1, \"seconds\": null}") == "my.json:1: name: a text is expected, not 5");
  CHECK(errorIn<Axis>("{\"name\": \"a\",\n \"size\": 2.5, \"seconds\": null}") ==
        "my.json:2: size: a whole number from -9223372036854775808 to 9223372036854775807 is expected, not 2.5");
  CHECK(errorIn<std::vector<bool>>("[true, \"no\"]") == "my.json:1: [1]: true or false is expected, not \"no\"");
  CHECK(errorIn<std::vector<double>>("{}") == "my.json:1: document: a list is expected, not {}");
  CHECK(errorIn<std::map<std::string, int>>("[]") == "my.json:1: document: an object is expected, not []");
  CHECK(errorIn<double>("null") == "my.json:1: document: a number is expected, not null");
  CHECK(errorIn<uint64_t>("-1") ==
        "my.json:1: document: a whole number from 0 to 18446744073709551615 is expected, not -1");
  CHECK(errorIn<uint8_t>("256") == "my.json:1: document: a whole number from 0 to 255 is expected, not 256");
  CHECK(errorIn<Axis>("{\"name\": \"a\", \"size\": 1, \"seconds\": 1, \"shape\": \"star\"}") ==
        "my.json:1: shape: ring or tree is expected, not \"star\"");
  CHECK(errorIn<Axis>("[\"" + std::string(60, 'a') + "\"]") ==
        "my.json:1: document: an object with the keys name, size, seconds, shape is expected, not [\"" +
            std::string(35, 'a') + "...");
}

TEST_CASE("unknown keys are told before absent ones, with the nearest that is accepted") {
  CHECK(errorIn<Grid>("{\"axes\": [\n{\"name\": \"a\", \"sise\": 1, \"seconds\": null}], \"counts\": {}, \"open\": "
                      "true}") ==
        "my.json:2: axes[0].sise: unknown key, did you mean 'size'? (name, size, seconds, shape are known)");
  CHECK(errorIn<Grid>("{\"axes\": [\n{\"name\": \"a\", \"seconds\": null}], \"counts\": {}, \"open\": true}") ==
        "my.json:2: axes[0]: 'size' is missing");
  JsonDocument document = parsed("{\"a\": {}}");
  CHECK(document.root().at("a").at("b").at("c").get<int>() == 0);
  CHECK(inputErrorOf(document.takeError()) == "my.json:1: a: 'b' is missing");
}

TEST_CASE("the first fault is kept and later reads leave their targets alone") {
  JsonDocument document = parsed("[1, \"two\", 3]");
  std::vector<int> seen;
  document.root().forEach([&](JsonReader item) { seen.push_back(item.get<int>()); });
  CHECK(seen == std::vector{1, 0});
  int untouched = 7;
  JsonReader(document, document.getRoot().list()[2]).into(untouched);
  CHECK(untouched == 7);
  CHECK(llvm::StringRef(inputErrorOf(document.takeError())).starts_with("my.json:1: [1]: "));
  int within = 0;
  JsonDocument number = parsed("9");
  number.root().intoWithin(within, 1, 8);
  CHECK(inputErrorOf(number.takeError()) == "my.json:1: document: a whole number from 1 to 8 is expected, not 9");
}

TEST_CASE("documents are written in the order of the calls") {
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    object("name", "node");
    object.object("empty", [](JsonObjectWriter &) {});
    object("none", nullptr);
    object.list("sizes", [&] {
      json.value(4);
      json.oneLine([&] { json.value(std::vector{1.5, 2.0}); });
      json.oneLine([&] { json.object([](JsonObjectWriter &inner) { inner("a", true); }); });
      json.list([] {});
    });
    object("axis", Axis{"n", 2, 0.5, Shape::Tree});
  });
  const std::string expected = R"({
  "name": "node",
  "empty": {},
  "none": null,
  "sizes": [
    4,
    [1.5,2.0],
    {"a":true},
    []
  ],
  "axis": {
    "name": "n",
    "size": 2,
    "seconds": 0.5,
    "shape": "tree"
  }
})";
  CHECK(json.take() == expected);
}

TEST_CASE("numbers are short and read back the same") {
  CHECK(printJson(std::vector{0.1, 1e9, 1e300, 1e-5, -0.0, 1.0 / 3, 123456.75}, 0) ==
        "[0.1,1000000000.0,1e+300,1e-05,-0.0,0.3333333333333333,123456.75]");
  CHECK(printJson(std::numeric_limits<double>::infinity()) == "null");
  CHECK(printJson(std::vector<int64_t>{INT64_MIN, INT64_MAX}, 0) == "[-9223372036854775808,9223372036854775807]");
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000; ++i) {
    double number = std::ldexp(static_cast<double>(random()), static_cast<int>(random() % 1900) - 1000);
    CHECK(read<double>(printJson(number)) == number);
  }
}

TEST_CASE("texts read back the same, and bytes that are no UTF-8 are replaced") {
  for (std::string text : {"plain", "\"quoted\" \\ back", "line\nend\t\x01", "\xc3\xa4\xe2\x82\xac", "\x7f"})
    CHECK(read<std::string>(printJson(text)) == text);
  CHECK(printJson(std::string("a\xff") + "b") == "\"a\xef\xbf\xbd"
                                                 "b\"");
}

TEST_CASE("a struct that is written is read back") {
  Grid grid{{{"node", 8, 1.5, Shape::Tree}, {"device", 2, std::nullopt, Shape::Ring}}, {{"a", 1}, {"b", 2}}, true};
  for (unsigned indent : {0, 1, 2}) {
    std::string text = printJson(grid, indent);
    CHECK(printJson(read<Grid>(text), indent) == text);
  }
}
