// The text form of problems and answers.
#include "apc/Search/ProblemJson.h"

#include "apc/Support/Error.h"
#include "apc/Support/Interner.h"
#include "apc/Support/Json/JsonWriter.h"
#include "apc/Support/StableHash.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

#include <set>

namespace apc {

namespace {

struct WrittenTableHash {
  size_t operator()(const NodeTable &table) const {
    StableHash hash;
    for (auto [name, cost] : llvm::zip(table.names, table.costs)) {
      hash.add(llvm::StringRef(name));
      hash.addDouble(cost.seconds);
      hash.add(cost.persistentBytes);
      hash.add(cost.transientBytes);
    }
    for (const std::vector<uint32_t> &axes : table.axes)
      for (uint32_t digit : axes)
        hash.add(digit);
    return hash.value();
  }
  size_t operator()(const PairTable &table) const {
    StableHash hash;
    hash.add(table.columns());
    for (size_t row = 0; row < table.rows(); ++row)
      for (double cell : table.row(row))
        hash.addDouble(cell == cell ? cell : -1);
    return hash.value();
  }
};

class ProblemReader {
public:
  /// Faults are kept by the document.
  Problem read(JsonReader document) {
    document.object([&](JsonObjectReader &object) {
      if (std::optional<JsonReader> limit = object.find("memory_limit_bytes"); limit && !limit->isNull())
        limit->intoWithin(problem.memoryLimitBytes.emplace(), int64_t(0), INT64_MAX);
      if (std::optional<JsonReader> nodes = object.required("nodes"))
        nodes->forEach([&](JsonReader node) { readNode(node); });
      if (std::optional<JsonReader> edges = object.find("edges"))
        edges->forEach([&](JsonReader edge) { readEdge(edge); });
    });
    problem.nodeTables = nodeTables.take();
    problem.pairTables = pairTables.take();
    return std::move(problem);
  }

private:
  static void readStrategy(JsonReader strategy, NodeTable &table) {
    strategy.object([&](JsonObjectReader &object) {
      object("name", table.names.emplace_back());
      StrategyCost &cost = table.costs.emplace_back();
      object("seconds", cost.seconds);
      for (auto [key, bytes] :
           {std::pair("persistent_bytes", &cost.persistentBytes), std::pair("transient_bytes", &cost.transientBytes)})
        if (std::optional<JsonReader> number = object.find(key))
          number->intoWithin(*bytes, int64_t(0), INT64_MAX);
      if (std::optional<JsonReader> axes = object.find("axes"))
        axes->into(table.axes.emplace_back());
    });
  }

  static void readStrategies(JsonReader strategies, NodeTable &table) {
    std::set<std::string> names;
    strategies.forEach([&](JsonReader strategy) {
      readStrategy(strategy, table);
      if (!strategy.hasFailed() && !names.insert(table.names.back()).second)
        strategy.fail("two strategies are called '" + table.names.back() + "'; an answer could not tell them apart");
    });
  }

  void readNode(JsonReader place) {
    Node node;
    NodeTable table;
    place.object([&](JsonObjectReader &object) {
      object("name", node.name);
      if (std::optional<JsonReader> strategies = object.required("strategies"))
        readStrategies(*strategies, table);
      object.optional("pin", node.pin);
      object.optional("priority", node.priority);
      object.optional("hub", node.isHub);
    });
    if (place.hasFailed())
      return;
    nodeByName.try_emplace(node.name, NodeId(problem.nodes.size()));
    node.table = NodeTableId(nodeTables.idOf(std::move(table)));
    problem.nodes.push_back(std::move(node));
  }

  void readEnd(JsonReader end, NodeId &node) const {
    auto name = end.get<std::string>();
    auto found = nodeByName.find(name);
    if (found == nodeByName.end())
      end.fail("'" + name + "' is no node");
    else
      node = found->second;
  }

  /// A list of rows; the first row decides the number of columns.
  static void readPairs(JsonReader pairs, PairTable &table) {
    const JsonValue &value = pairs.value();
    if (!value.isList() || value.list().empty() || !value.list()[0].isList())
      return pairs.failExpecting("a list of rows, one for each strategy of 'from', each a list of numbers or null, one "
                                 "for each strategy of 'to',");
    table = PairTable(value.list().size(), value.list()[0].list().size());
    size_t rowIndex = 0;
    pairs.forEach([&](JsonReader row) {
      if (!row.value().isList() || row.value().list().size() != table.columns())
        return row.failExpecting("a list of " + llvm::Twine(table.columns()) + " numbers or null, as in row 0,");
      size_t column = 0;
      row.forEach([&](JsonReader cell) {
        if (!cell.isNull() && !cell.value().isNumber())
          return cell.failExpecting("a number or null");
        table.set(rowIndex, column++, cell.get<std::optional<double>>());
      });
      ++rowIndex;
    });
  }

  void readEdge(JsonReader place) {
    NodeId from, to;
    PairTable table;
    place.object([&](JsonObjectReader &object) {
      for (auto [key, node] : {std::pair("from", &from), std::pair("to", &to)})
        if (std::optional<JsonReader> end = object.required(key))
          readEnd(*end, *node);
      if (std::optional<JsonReader> pairs = object.required("seconds"))
        readPairs(*pairs, table);
    });
    if (place.hasFailed())
      return;
    problem.addEdge(from, to, PairTableId(pairTables.idOf(std::move(table))));
  }

  Problem problem;
  llvm::StringMap<NodeId> nodeByName;
  HashInterner<NodeTable, WrittenTableHash> nodeTables; ///< equal tables are shared
  HashInterner<PairTable, WrittenTableHash> pairTables;
};

void write(JsonWriter &json, const NodeTable &table) {
  for (auto [index, cost] : llvm::enumerate(table.costs))
    json.object([&](JsonObjectWriter &object) {
      object("name", table.names[index]);
      object("seconds", cost.seconds);
      object("persistent_bytes", cost.persistentBytes);
      object("transient_bytes", cost.transientBytes);
      if (!table.axes.empty())
        object("axes", table.axes[index]);
    });
}

/// A row is a list of seconds; an impossible pair is null, as all numbers that are not finite.
void write(JsonWriter &json, const PairTable &table) {
  for (size_t row = 0; row < table.rows(); ++row)
    json.value(table.row(row));
}

void write(JsonObjectWriter &object, const Problem &problem, const SearchResult &result) {
  object("status", searchStatusName(result.status));
  bool hasBound = result.hasAnswer() || result.status == SearchStatus::CutOff;
  auto orNull = [](bool isKnown, auto value) { return isKnown ? std::optional(value) : std::nullopt; };
  object("seconds", orNull(result.hasAnswer(), result.seconds));
  object("bytes", orNull(result.hasAnswer(), result.bytes));
  object("lower_bound_seconds", orNull(hasBound, result.lowerBoundSeconds));
  object("gap", orNull(result.hasAnswer(), result.gap()));
  if (!result.hasAnswer())
    object("reason", result.reason);
  object.object("assignment", [&](JsonObjectWriter &assignment) {
    for (auto [index, strategy] : llvm::enumerate(result.assignment.strategies))
      assignment(problem.nodes[index].name, problem.tableOf(NodeId(index)).names[strategy]);
  });
  if (!result.notes.empty())
    object("notes", result.notes);
}

} // namespace

llvm::Expected<Problem> parseProblem(llvm::StringRef json, llvm::StringRef source) {
  llvm::Expected<JsonDocument> document = JsonDocument::parse(json, source);
  if (!document)
    return document.takeError();
  Problem problem = ProblemReader().read(document->root());
  if (llvm::Error error = document->takeError())
    return error;
  if (llvm::Error error = problem.check())
    return inputError("{0}: {1}", source, takeMessage(std::move(error)).second);
  return problem;
}

std::string printProblem(const Problem &problem) {
  JsonWriter json(/*indent=*/0);
  json.object([&](JsonObjectWriter &object) {
    if (problem.memoryLimitBytes)
      object("memory_limit_bytes", *problem.memoryLimitBytes);
    object.list("nodes", [&] {
      for (const Node &node : problem.nodes)
        json.object([&](JsonObjectWriter &object) {
          object("name", node.name);
          object.list("strategies", [&] { write(json, problem.nodeTables[node.table.index()]); });
          if (!node.pin.empty())
            object("pin", node.pin);
          if (node.priority != 0)
            object("priority", node.priority);
          if (node.isHub)
            object("hub", true);
        });
    });
    object.list("edges", [&] {
      for (const Edge &edge : problem.edges)
        json.object([&](JsonObjectWriter &object) {
          object("from", problem.nodes[edge.from.index()].name);
          object("to", problem.nodes[edge.to.index()].name);
          object.list("seconds", [&] { write(json, problem.tableOf(edge)); });
        });
    });
  });
  return json.take() + "\n";
}

std::string printResult(const Problem &problem, const SearchResult &result, double searchSeconds) {
  JsonWriter json;
  json.object([&](JsonObjectWriter &object) {
    write(object, problem, result);
    object("search_seconds", searchSeconds);
  });
  return json.take() + "\n";
}

} // namespace apc
