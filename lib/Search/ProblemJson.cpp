// The text form of problems and answers. The only file of the room that knows the JSON library.
#include "apc/Search/ProblemJson.h"

#include "apc/Support/Error.h"
#include "apc/Support/Interner.h"
#include "apc/Support/JsonText.h"
#include "apc/Support/StableHash.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <nlohmann/json.hpp>

#include <cmath>
#include <set>

namespace apc {

namespace {

using Json = nlohmann::json;
using OrderedJson = nlohmann::ordered_json;

constexpr llvm::StringLiteral pairsShape = "key 'seconds' must be a list of rows, one for each strategy of 'from', "
                                           "each a list of numbers or null, one for each strategy of 'to'";

struct TableHash {
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
  explicit ProblemReader(llvm::StringRef source) : source(source) {}

  llvm::Expected<Problem> read(const Json &json) {
    if (llvm::Error error = checkKeys(json, "the problem", {"memory_limit_bytes", "nodes", "edges"}))
      return error;
    if (json.contains("memory_limit_bytes") && !json["memory_limit_bytes"].is_null()) {
      int64_t limit = 0;
      if (llvm::Error error = readBytes(json, "memory_limit_bytes", "the problem", limit))
        return error;
      problem.memoryLimitBytes = limit;
    }
    if (!json.contains("nodes") || !json["nodes"].is_array())
      return fail("the problem", "key 'nodes' must be a list of nodes");
    for (const Json &node : json["nodes"])
      if (llvm::Error error = readNode(node))
        return error;
    if (json.contains("edges") && !json["edges"].is_array())
      return fail("the problem", "key 'edges' must be a list of edges");
    if (json.contains("edges"))
      for (const Json &edge : json["edges"])
        if (llvm::Error error = readEdge(edge))
          return error;
    problem.nodeTables = nodeTables.take();
    problem.pairTables = pairTables.take();
    if (llvm::Error error = problem.check())
      return inputError("{0}: {1}", source, takeMessage(std::move(error)).second);
    return std::move(problem);
  }

private:
  llvm::Error fail(llvm::StringRef where, llvm::StringRef what) const {
    return inputError("{0}: {1}: {2}", source, where, what);
  }

  llvm::Error checkKeys(const Json &json, llvm::StringRef where, llvm::ArrayRef<llvm::StringRef> accepted) const {
    if (!json.is_object())
      return fail(where, "an object with the keys " + llvm::join(accepted, ", ") + " is expected");
    for (const auto &item : json.items())
      if (!llvm::is_contained(accepted, llvm::StringRef(item.key())))
        return fail(where, "unknown key '" + item.key() + "'; accepted are " + llvm::join(accepted, ", "));
    return llvm::Error::success();
  }

  llvm::Error readText(const Json &json, const char *key, llvm::StringRef where, std::string &text) const {
    if (!json.contains(key) || !json[key].is_string())
      return fail(where, llvm::formatv("key '{0}' must be a text", key).str());
    text = json[key].get<std::string>();
    return llvm::Error::success();
  }

  /// Whole numbers, also when written as 4.0 or 8e9.
  llvm::Error readBytes(const Json &json, const char *key, llvm::StringRef where, int64_t &bytes) const {
    const Json &value = json[key];
    double number = value.is_number() ? value.get<double>() : -1;
    bool isInteger = value.is_number_integer() && number >= 0 && value.get<uint64_t>() <= uint64_t(INT64_MAX);
    bool isWhole = value.is_number_float() && number == std::floor(number) && number >= 0 && number < 0x1p63;
    if (!isInteger && !isWhole)
      return fail(where, llvm::formatv("key '{0}' must be a whole number of bytes, at least 0", key).str());
    bytes = isInteger ? value.get<int64_t>() : static_cast<int64_t>(number);
    return llvm::Error::success();
  }

  llvm::Error readStrategy(const Json &json, const std::string &where, NodeTable &table) const {
    if (llvm::Error error = checkKeys(json, where, {"name", "seconds", "persistent_bytes", "transient_bytes", "axes"}))
      return error;
    std::string name;
    if (llvm::Error error = readText(json, "name", where, name))
      return error;
    StrategyCost cost;
    if (!json.contains("seconds") || !json["seconds"].is_number())
      return fail(where, "key 'seconds' must be a number of seconds");
    cost.seconds = json["seconds"].get<double>();
    for (auto [key, bytes] :
         {std::pair{"persistent_bytes", &cost.persistentBytes}, std::pair{"transient_bytes", &cost.transientBytes}})
      if (json.contains(key))
        if (llvm::Error error = readBytes(json, key, where, *bytes))
          return error;
    if (llvm::Error error = readAxes(json, where, table))
      return error;
    table.names.push_back(std::move(name));
    table.costs.push_back(cost);
    return llvm::Error::success();
  }

  /// Reads the axes of a strategy, after those of the strategies before it.
  llvm::Error readAxes(const Json &json, const std::string &where, NodeTable &table) const {
    if (!json.contains("axes"))
      return llvm::Error::success();
    auto isDigit = [](const Json &digit) { return digit.is_number_unsigned() && digit.get<uint64_t>() <= UINT32_MAX; };
    if (!json["axes"].is_array() || !llvm::all_of(json["axes"], isDigit))
      return fail(where,
                  "key 'axes' must be a list of whole numbers, one for each axis of the mesh, 0 when it is idle");
    table.axes.push_back(json["axes"].get<std::vector<uint32_t>>());
    return llvm::Error::success();
  }

  llvm::Error readNode(const Json &json) {
    std::string where = llvm::formatv("nodes[{0}]", problem.nodes.size()).str();
    if (llvm::Error error = checkKeys(json, where, {"name", "strategies", "pin", "priority"}))
      return error;
    std::string name;
    if (llvm::Error error = readText(json, "name", where, name))
      return error;
    where = "node '" + name + "'";
    if (!json.contains("strategies") || !json["strategies"].is_array())
      return fail(where, "key 'strategies' must be a list of strategies");
    NodeTable table;
    for (const Json &strategy : json["strategies"])
      if (llvm::Error error =
              readStrategy(strategy, llvm::formatv("{0}, strategies[{1}]", where, table.names.size()), table))
        return error;
    std::set<llvm::StringRef> names;
    for (const std::string &text : table.names)
      if (!names.insert(text).second)
        return fail(where, "two strategies are called '" + text + "'; an answer could not tell them apart");
    nodeByName.try_emplace(name, NodeId(problem.nodes.size()));
    problem.addNode(name, NodeTableId(nodeTables.idOf(std::move(table))));
    return readPlaceInPropagation(json, where, problem.nodes.back());
  }

  llvm::Error readPlaceInPropagation(const Json &json, llvm::StringRef where, Node &node) const {
    if (json.contains("pin"))
      if (llvm::Error error = readText(json, "pin", where, node.pin))
        return error;
    if (!json.contains("priority"))
      return llvm::Error::success();
    const Json &priority = json["priority"];
    if (!priority.is_number_unsigned() || priority.get<uint64_t>() > UINT32_MAX)
      return fail(where, "key 'priority' must be a whole number, at least 0");
    node.priority = priority.get<unsigned>();
    return llvm::Error::success();
  }

  llvm::Error readEnd(const Json &json, const char *key, const std::string &where, NodeId &node) const {
    std::string name;
    if (llvm::Error error = readText(json, key, where, name))
      return error;
    auto found = nodeByName.find(name);
    if (found == nodeByName.end())
      return fail(where, llvm::formatv("key '{0}' names '{1}', which is no node", key, name).str());
    node = found->second;
    return llvm::Error::success();
  }

  /// A list of rows; the first row decides the number of columns.
  llvm::Error readPairs(const Json &json, const std::string &where, PairTable &table) const {
    if (!json.is_array() || json.empty() || !json[0].is_array())
      return fail(where, pairsShape);
    table = PairTable(json.size(), json[0].size());
    for (size_t row = 0; row < json.size(); ++row) {
      if (!json[row].is_array() || json[row].size() != table.columns())
        return fail(where, (pairsShape + llvm::formatv("; row {0} is not like row 0", row)).str());
      for (size_t column = 0; column < table.columns(); ++column) {
        const Json &cell = json[row][column];
        if (!cell.is_null() && !cell.is_number())
          return fail(where, (pairsShape + llvm::formatv("; look at [{0}][{1}]", row, column)).str());
        std::optional<double> seconds;
        if (cell.is_number())
          seconds = cell.get<double>();
        table.set(row, column, seconds);
      }
    }
    return llvm::Error::success();
  }

  llvm::Error readEdge(const Json &json) {
    std::string where = llvm::formatv("edges[{0}]", problem.edges.size()).str();
    if (llvm::Error error = checkKeys(json, where, {"from", "to", "seconds"}))
      return error;
    NodeId from, to;
    if (llvm::Error error = readEnd(json, "from", where, from))
      return error;
    if (llvm::Error error = readEnd(json, "to", where, to))
      return error;
    where = "edge '" + problem.nodes[from.index()].name + "' -> '" + problem.nodes[to.index()].name + "'";
    PairTable table;
    if (!json.contains("seconds"))
      return fail(where, pairsShape);
    if (llvm::Error error = readPairs(json["seconds"], where, table))
      return error;
    problem.addEdge(from, to, PairTableId(pairTables.idOf(std::move(table))));
    return llvm::Error::success();
  }

  llvm::StringRef source;
  Problem problem;
  llvm::StringMap<NodeId> nodeByName;
  HashInterner<NodeTable, TableHash> nodeTables; ///< equal tables are shared
  HashInterner<PairTable, TableHash> pairTables;
};

OrderedJson toJson(const PairTable &table) {
  OrderedJson rows = OrderedJson::array();
  for (size_t row = 0; row < table.rows(); ++row) {
    OrderedJson cells = OrderedJson::array();
    for (size_t column = 0; column < table.columns(); ++column)
      cells.push_back(table.possible(row, column) ? OrderedJson(*table.at(row, column)) : OrderedJson());
    rows.push_back(std::move(cells));
  }
  return rows;
}

OrderedJson toJson(const NodeTable &table) {
  OrderedJson strategies = OrderedJson::array();
  for (auto [index, cost] : llvm::enumerate(table.costs)) {
    strategies.push_back({{"name", table.names[index]},
                          {"seconds", cost.seconds},
                          {"persistent_bytes", cost.persistentBytes},
                          {"transient_bytes", cost.transientBytes}});
    if (!table.axes.empty())
      strategies.back()["axes"] = table.axes[index];
  }
  return strategies;
}

/// Names may hold any bytes; bytes that are not UTF-8 are printed as the replacement character.
std::string dump(const OrderedJson &json, int indent) {
  return json.dump(indent, ' ', /*ensure_ascii=*/false, OrderedJson::error_handler_t::replace);
}

} // namespace

llvm::Expected<Problem> parseProblem(llvm::StringRef json, llvm::StringRef source) {
  try {
    return ProblemReader(source).read(Json::parse(json.begin(), json.end()));
  } catch (const nlohmann::json::parse_error &error) {
    return inputError("{0}:{1}: not a problem in JSON: {2}", source, lineOfOffset(json, error.byte),
                      jsonSyntaxProblem(json, error.byte));
  } catch (const nlohmann::json::exception &) {
    return inputError("{0}: not a problem in JSON: a number is too large; at most 1.79e308 is accepted", source);
  }
}

std::string printProblem(const Problem &problem) {
  OrderedJson json = OrderedJson::object();
  if (problem.memoryLimitBytes)
    json["memory_limit_bytes"] = *problem.memoryLimitBytes;
  json["nodes"] = OrderedJson::array();
  for (const Node &node : problem.nodes) {
    json["nodes"].push_back({{"name", node.name}, {"strategies", toJson(problem.nodeTables[node.table.index()])}});
    if (!node.pin.empty())
      json["nodes"].back()["pin"] = node.pin;
    if (node.priority != 0)
      json["nodes"].back()["priority"] = node.priority;
  }
  json["edges"] = OrderedJson::array();
  for (const Edge &edge : problem.edges)
    json["edges"].push_back({{"from", problem.nodes[edge.from.index()].name},
                             {"to", problem.nodes[edge.to.index()].name},
                             {"seconds", toJson(problem.tableOf(edge))}});
  return dump(json, -1) + "\n";
}

std::string printResult(const Problem &problem, const SearchResult &result, double searchSeconds) {
  OrderedJson json = OrderedJson::object();
  json["status"] = searchStatusName(result.status).str();
  auto orNull = [](bool isKnown, auto value) { return isKnown ? OrderedJson(value) : OrderedJson(); };
  bool hasBound = result.hasAnswer() || result.status == SearchStatus::CutOff;
  json["seconds"] = orNull(result.hasAnswer(), result.seconds);
  json["bytes"] = orNull(result.hasAnswer(), result.bytes);
  json["lower_bound_seconds"] = orNull(hasBound, result.lowerBoundSeconds);
  json["gap"] = orNull(result.hasAnswer(), result.gap());
  if (!result.hasAnswer())
    json["reason"] = result.reason;
  // Appended, not looked up by name: node names are unique, and an ordered map searches from its start.
  OrderedJson::object_t assignment;
  for (auto [index, strategy] : llvm::enumerate(result.assignment.strategies))
    assignment.push_back({problem.nodes[index].name, problem.tableOf(NodeId(index)).names[strategy]});
  json["assignment"] = std::move(assignment);
  if (!result.notes.empty())
    json["notes"] = result.notes;
  json["search_seconds"] = searchSeconds;
  return dump(json, 2) + "\n";
}

} // namespace apc
