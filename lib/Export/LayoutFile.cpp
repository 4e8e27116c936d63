// Readers of other planners' files.
#include "apc/Export/LayoutFile.h"
#include "apc/Support/Error.h"
#include "apc/Support/Json/JsonReader.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <numeric>

namespace apc {

namespace {

/// The numbers of "2,2,1,1".
std::vector<int64_t> numbersOf(JsonReader text) {
  std::vector<int64_t> numbers;
  for (llvm::StringRef word : llvm::split(text.get<std::string>(), ',')) {
    int64_t number = 0;
    if (word.trim().getAsInteger(10, number) || number < 0)
      text.failExpecting("a list of whole numbers, as \"2,2,1,1\",");
    numbers.push_back(number);
  }
  return numbers;
}

/// The one number of a list for each layer.
int64_t sameNumber(JsonReader text) {
  std::vector<int64_t> numbers = numbersOf(text);
  if (!text.hasFailed() && !llvm::all_equal(numbers))
    text.fail("layers differ, and a layout has one degree for all of them; a list of equal numbers is accepted");
  return numbers.empty() ? 0 : numbers.front();
}

/// Layers that are recomputed, which have to be the first ones.
RecomputeSetting recomputeOf(JsonReader text) {
  std::vector<int64_t> flags = numbersOf(text);
  auto count = llvm::count(flags, 1);
  bool areFirst = std::all_of(flags.begin(), flags.begin() + count, [](int64_t flag) { return flag == 1; });
  if (!text.hasFailed() && !areFirst)
    text.fail(
        "layers behind others that keep their values are recomputed; accepted are the first ones, as \"1,1,0,0\"");
  if (count == 0)
    return RecomputeSetting();
  if (count == static_cast<std::ptrdiff_t>(flags.size()))
    return RecomputeSetting(RecomputeChoice::Full);
  return RecomputeSetting(RecomputeChoice::Full, count);
}

LayoutFile readGalvatron(JsonReader root) {
  LayoutFile file;
  file.format = "galvatron";
  ParallelDegrees layout;
  int64_t world = 0, batch = 0, chunks = 0;
  root.at("pp_deg").intoWithin<int64_t>(layout.pipeline, 1, 1 << 20);
  layout.tensor = sameNumber(root.at("tp_sizes_enc"));
  if (std::optional<JsonReader> size = root.find("world_size"))
    size->intoWithin<int64_t>(world, 1, 1 << 20);
  root.at("global_bsz").intoWithin<int64_t>(batch, 1, int64_t(1) << 40);
  root.at("chunks").intoWithin<int64_t>(chunks, 1, int64_t(1) << 40);
  if (auto type = root.find("default_dp_type"))
    layout.zero = type->get<std::string>() == "zero2" ? 2 : 0;
  if (sameNumber(root.at("dp_types_enc")) == 1)
    layout.zero = 3;
  if (auto flags = root.find("use_sp"); flags && sameNumber(*flags) == 1)
    flags->fail("Ulysses' sequence parallelism (1) is none of a layout's; accepted is 0");
  if (auto sizes = root.find("cp_sizes_enc"))
    layout.context = sameNumber(*sizes);
  if (auto flags = root.find("checkpoint"))
    layout.recompute = recomputeOf(*flags);
  if (auto type = root.find("pipeline_type"); type && layout.pipeline > 1)
    layout.schedule = type->get<std::string>() == "gpipe" ? "gpipe" : "1f1b";
  if (root.hasFailed())
    return file;
  int64_t others = layout.tensor * layout.pipeline * layout.context;
  if (others == 0 || world % std::max<int64_t>(others, 1) != 0 || world == 0) {
    root.fail("world_size: a multiple of the layout's pp, tp and cp, " + llvm::Twine(others) + ", is expected");
    return file;
  }
  layout.data = world / others;
  if (batch % (layout.data * chunks) != 0) {
    root.fail("global_bsz: a multiple of chunks and of the ranks of dp, " + llvm::Twine(layout.data * chunks) +
              ", is expected");
    return file;
  }
  layout.microBatch = batch / (layout.data * chunks);
  file.layout = layout;
  file.globalBatch = batch;
  file.devices = world;
  return file;
}

LayoutFile readMindSpore(JsonReader root) {
  LayoutFile file;
  file.format = "mindspore";
  root.at("parallel_strategy_item").forEachMember([&](llvm::StringRef op, JsonReader item) {
    if (item.at("stage").get<int64_t>() != 0)
      item.fail("the op is of another stage than 0; a file without stages is accepted");
    file.ops.push_back({op.str(), item.at("parallel_strategy").get<std::vector<std::vector<int64_t>>>()});
    for (const std::vector<int64_t> &ways : file.ops.back().operands)
      if (llvm::any_of(ways, [](int64_t count) { return count < 1; }))
        item.fail("a dim is cut less than 1 way");
  });
  if (auto layouts = root.find("parallel_layout_item"))
    layouts->forEachMember([&](llvm::StringRef, JsonReader item) {
      auto matrix = item.at("dev_matrix").get<std::vector<int64_t>>();
      file.devices = std::accumulate(matrix.begin(), matrix.end(), int64_t(1), std::multiplies<>());
      if (auto size = item.find("opt_weight_shard_size"); size && size->get<int64_t>() > 1)
        file.cutsStates = true;
    });
  return file;
}

/// The ways of each dim under a placement as "RS(0)": a letter for each dim of the mesh.
std::vector<int64_t> waysOf(JsonReader text, llvm::ArrayRef<int64_t> sizes) {
  std::vector<int64_t> ways;
  std::string placement = text.get<std::string>();
  llvm::StringRef rest = placement;
  for (int64_t size : sizes) {
    uint64_t dim = 0;
    if (rest.consume_front("S(") && !rest.consumeInteger(10, dim) && rest.consume_front(")") && dim < 16) {
      ways.resize(std::max<size_t>(ways.size(), dim + 1), 1);
      ways[dim] *= size;
    } else if (rest.consume_front("P(")) {
      rest = rest.split(')').second;
    } else if (!rest.consume_front("R")) {
      text.failExpecting("a placement, S(dim), P(kind) or R for each dim of the mesh,");
    }
  }
  if (!rest.empty())
    text.failExpecting("a placement for each dim of the mesh, and no more,");
  return ways;
}

LayoutFile readAutoParallel(JsonReader root) {
  LayoutFile file;
  file.format = "autoparallel";
  file.leavesConstantsOut = true;
  auto sizes = root.at("mesh").at("shape").get<std::vector<int64_t>>();
  file.devices = std::accumulate(sizes.begin(), sizes.end(), int64_t(1), std::multiplies<>());
  root.at("nodes").forEach([&](JsonReader node) {
    OperandCuts cuts{node.at("name").get<std::string>(), {}};
    node.at("inputs").forEach(
        [&](JsonReader input) { cuts.operands.push_back(waysOf(input.at("dst_placement"), sizes)); });
    file.ops.push_back(std::move(cuts));
  });
  return file;
}

} // namespace

llvm::Expected<LayoutFile> parseLayoutFile(llvm::StringRef text, llvm::StringRef source) {
  llvm::Expected<JsonDocument> document = JsonDocument::parse(text, source);
  if (!document)
    return document.takeError();
  const JsonValue &root = document->getRoot();
  LayoutFile file;
  if (root.find("tp_sizes_enc"))
    file = readGalvatron(document->root());
  else if (root.find("parallel_strategy_item"))
    file = readMindSpore(document->root());
  else if (root.find("nodes") && root.find("mesh"))
    file = readAutoParallel(document->root());
  else
    return inputError("{0}: it is of no format that is known; accepted are Galvatron's JSON (with tp_sizes_enc), "
                      "MindSpore's strategy file (parallel_strategy_item) and AutoParallel's JSON (mesh and nodes)",
                      source);
  if (llvm::Error error = document->takeError())
    return std::move(error);
  return file;
}

} // namespace apc
