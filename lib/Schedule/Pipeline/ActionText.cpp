// The text form of action lists.
#include "apc/Schedule/Pipeline/Actions.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

#include <algorithm>

namespace apc {

namespace {

constexpr llvm::StringLiteral kindLetters = "FIWB";

void print(llvm::raw_ostream &os, const PipelineShape &shape, const Action &action) {
  char letter = kindLetters[static_cast<size_t>(action.kind)];
  uint32_t chunk = shape.chunkOf(action.stage);
  os << (chunk == 1 ? llvm::toLower(letter) : letter) << action.microBatch;
  if (shape.pieces > 1)
    os << '.' << action.piece;
  if (chunk > 1)
    os << '@' << chunk;
}

/// An action as it stands in the text: its stage follows when the number of workers is known.
struct ReadAction {
  Action action;
  uint32_t chunk = 0;
};

struct ReadSlot {
  ReadAction action;
  std::optional<ReadAction> beside;
};

constexpr uint32_t mostNumber = (1 << 20) - 1; ///< of a chunk, a micro-batch and a piece

bool takeNumber(llvm::StringRef &text, uint32_t &number) {
  return !text.consumeInteger(10, number) && number <= mostNumber;
}

bool takeAction(llvm::StringRef &text, ReadAction &read) {
  if (text.empty())
    return false;
  size_t kind = kindLetters.find(llvm::toUpper(text.front()));
  if (kind == llvm::StringRef::npos)
    return false;
  read.action.kind = static_cast<ActionKind>(kind);
  read.chunk = llvm::isLower(text.front()) ? 1 : 0;
  text = text.drop_front();
  return takeNumber(text, read.action.microBatch) &&
         (!text.consume_front(".") || takeNumber(text, read.action.piece)) &&
         (!text.consume_front("@") || takeNumber(text, read.chunk));
}

std::optional<ReadSlot> readSlot(llvm::StringRef text) {
  ReadSlot slot;
  bool isPair = text.consume_front("(");
  if (!takeAction(text, slot.action) || (isPair && (!takeAction(text, slot.beside.emplace()) || text != ")")))
    return std::nullopt;
  if (!isPair && !text.empty())
    return std::nullopt;
  return slot;
}

/// "3: r2 F0 B0": the slots of worker 2 on line 3.
llvm::Expected<std::vector<ReadSlot>> readLine(llvm::StringRef line, size_t worker, llvm::StringRef place) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(line, words);
  std::string label = "r" + std::to_string(worker);
  if (words.front() != label)
    return inputError("{0}: a line for worker {1} begins with '{1}', not with '{2}'", place, label, words.front());
  std::vector<ReadSlot> slots;
  for (llvm::StringRef word : llvm::ArrayRef(words).drop_front()) {
    std::optional<ReadSlot> slot = readSlot(word);
    if (!slot)
      return inputError("{0}: '{1}' is no action; actions are F0, I0, W0, B0, f0 of the second chunk, F0.1 of a piece, "
                        "F0@2 of a further chunk, (F1b0) for two at once",
                        place, word);
    slots.push_back(*slot);
  }
  return slots;
}

/// Makes room in the shape for an action.
void include(PipelineShape &shape, const ReadAction &read) {
  shape.chunks = std::max(shape.chunks, read.chunk + 1);
  shape.microBatches = std::max(shape.microBatches, read.action.microBatch + 1);
  shape.pieces = std::max(shape.pieces, read.action.piece + 1);
}

ActionLists placed(const std::vector<std::vector<ReadSlot>> &workers, Placement placement) {
  ActionLists lists{.shape = {.placement = placement, .workers = static_cast<uint32_t>(workers.size())}, .workers = {}};
  for (const std::vector<ReadSlot> &slots : workers)
    for (const ReadSlot &slot : slots) {
      include(lists.shape, slot.action);
      if (slot.beside)
        include(lists.shape, *slot.beside);
    }
  for (uint32_t worker = 0; worker < lists.shape.workers; ++worker) {
    auto place = [&](ReadAction read) {
      read.action.stage = lists.shape.stageOf(worker, read.chunk);
      return read.action;
    };
    std::vector<Slot> &list = lists.workers.emplace_back();
    for (const ReadSlot &slot : workers[worker])
      list.push_back({place(slot.action), slot.beside ? std::optional(place(*slot.beside)) : std::nullopt});
  }
  return lists;
}

} // namespace

std::string printActions(const PipelineShape &shape, llvm::ArrayRef<Slot> slots) {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (const Slot &slot : slots) {
    os << (text.empty() ? "" : " ") << (slot.beside ? "(" : "");
    print(os, shape, slot.action);
    if (!slot.beside)
      continue;
    print(os, shape, *slot.beside);
    os << ')';
  }
  return text;
}

std::string printActionLists(const ActionLists &lists) {
  std::string text;
  for (size_t worker = 0; worker < lists.workers.size(); ++worker)
    text += "r" + std::to_string(worker) + " " + printActions(lists.shape, lists.workers[worker]) + "\n";
  return text;
}

llvm::Expected<ActionLists> parseActionLists(llvm::StringRef text, Placement placement, llvm::StringRef source) {
  llvm::SmallVector<llvm::StringRef> lines;
  text.split(lines, '\n');
  std::vector<std::vector<ReadSlot>> workers;
  for (size_t index = 0; index < lines.size(); ++index) {
    if (lines[index].trim().empty())
      continue;
    std::string place = (source + ":" + llvm::Twine(index + 1)).str();
    llvm::Expected<std::vector<ReadSlot>> slots = readLine(lines[index], workers.size(), place);
    if (!slots)
      return slots.takeError();
    workers.push_back(std::move(*slots));
  }
  if (workers.empty())
    return inputError("{0}: there is no list of actions; the first begins with 'r0'", source);
  ActionLists lists = placed(workers, placement);
  if (llvm::Error error = checkActionLists(lists))
    return inputError("{0}: {1}", source, takeMessage(std::move(error)).second);
  return lists;
}

} // namespace apc
