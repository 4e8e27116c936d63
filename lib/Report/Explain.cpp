// Why a plan does what it does: for one op, for a group of ops, for the whole.
#include "apc/Report/Summary.h"

#include "CollectiveWords.h"
#include "ExplainValue.h"
#include "NextBest.h"
#include "OpsTable.h"

#include "apc/Plan/LayerNames.h"
#include "apc/Plan/VisiblePlan.h"
#include "apc/Report/ErrorBar.h"
#include "apc/Support/Error.h"
#include "apc/Support/Units.h"
#include "apc/Support/VisibleText.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/GlobPattern.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

namespace apc {

namespace {

/// A choice and the stage that it belongs to.
struct StagedChoice {
  const StagePlan *stage;
  const PlanChoice *choice;
};

std::vector<StagedChoice> choicesOf(const Plan &plan) {
  std::vector<StagedChoice> choices;
  for (const StagePlan &stage : plan.stages)
    for (const PlanChoice &choice : stage.choices)
      choices.push_back({&stage, &choice});
  return choices;
}

std::string listNear(const Plan &plan, llvm::StringRef op) {
  std::vector<std::pair<unsigned, llvm::StringRef>> near;
  for (auto [stage, choice] : choicesOf(plan))
    near.emplace_back(op.edit_distance(choice->op, true, 32), choice->op);
  for (const StagePlan &stage : plan.stages)
    for (const PlanSharding &value : stage.shardings)
      if (value.role == ValueRole::Parameter)
        near.emplace_back(op.edit_distance(value.value, true, 32), value.value);
  std::stable_sort(near.begin(), near.end(), [](const auto &a, const auto &b) { return a.first < b.first; });
  std::vector<std::string> names;
  for (const auto &entry : llvm::ArrayRef(near).take_front(5))
    names.push_back("'" + entry.second.str() + "'");
  return llvm::join(names, ", ");
}

void printMoves(const StagePlan &stage, const PlanChoice &choice, llvm::raw_ostream &os) {
  for (const PlanMove &move : stage.moves) {
    if (!llvm::is_contained(move.users, choice.op))
      continue;
    os << "  waits for     '" << llvm::join(move.values, "', '") << "': " << collectivesText(move.collectives) << ", "
       << formatSeconds(move.seconds);
    if (move.users.size() > 1)
      os << " (shared by " << move.users.size() << " ops, counted at "
         << (move.users.front() == choice.op ? "this one" : move.users.front()) << ")";
    os << "\n";
  }
}

/// The count; with `candidates` the reasons, too.
void printRejections(const PlanRejections &rejections, bool candidates, llvm::raw_ostream &os) {
  unsigned rejected = 0;
  for (const PlanRejections::Reason &reason : rejections.reasons)
    rejected += reason.count;
  os << "  candidates    " << counted(rejections.offered, "strategy") << " offered, " << rejected << " rejected"
     << (rejected && !candidates ? " (--candidates says why)\n" : "\n");
  if (!candidates)
    return;
  for (const PlanRejections::Reason &reason : rejections.reasons)
    os << "    " << reason.count << " x " << reason.reason << " (for instance " << reason.example << ")\n";
}

/// "level.node.bytes_per_second rises above 1.5 times today's (3.75e+10)".
std::string turnText(const TurningPoint &point) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << point.figure << (point.scale < 1 ? " falls below " : " rises above ")
     << llvm::format("%.3g times today's", point.scale);
  if (point.value)
    os << llvm::format(" (%.3g)", *point.value);
  return text;
}

/// Reasons stop when the time limit of the plan is over; ops that have neither runner-up nor factors may be among those
/// that were left. Of the stages of a pipeline no runner-ups are looked for.
llvm::StringRef whyNoRunnerUp(const Plan &plan, const PlanChoice &choice, const PlanRejections &rejections) {
  if (choice.pinned)
    return "the pin leaves no other";
  if (plan.pipeline && rejections.offered > 1)
    return "in the stages of a pipeline they are not looked for";
  bool maySkip = choice.factors.empty() && rejections.offered > 1;
  return maySkip ? "no other strategy is possible here, or the time limit was over before it was looked for"
                 : "no other strategy is possible here";
}

/// The changes of the cluster, one figure at a time, that make the runner-up the better one.
void printTurningPoints(const RunnerUp &runnerUp, llvm::raw_ostream &os) {
  if (runnerUp.extraSeconds <= 0)
    return;
  if (runnerUp.winsIf.empty()) {
    os << "  overtaken if  no single cluster figure, up to 16 times larger or smaller, makes the runner-up faster\n";
    return;
  }
  for (auto [index, point] : llvm::enumerate(runnerUp.winsIf))
    os << (index == 0 ? "  overtaken if  " : "                or ") << turnText(point) << "\n";
}

/// "1.20 ms more". A strategy that is faster by itself was ruled out by the memory limit, or by the end of the time.
std::string moreText(double extraSeconds) {
  if (extraSeconds >= 0)
    return formatSeconds(extraSeconds) + " more";
  return formatSeconds(-extraSeconds) + " less by itself, without regard to memory";
}

void printFactors(const PlanChoice &choice, llvm::raw_ostream &os) {
  for (const FactorChoice &factor : choice.factors) {
    os << "  factor        " << factor.factor << "=" << factor.size << (factor.isCut ? " is cut: " : " is whole: ");
    if (factor.mustBeWhole)
      os << "the operator needs all of it on every device\n";
    else if (factor.other)
      os << (factor.isCut ? "whole" : "cut") << " it would cost " << moreText(factor.other->extraSeconds)
         << ", at best as " << factor.other->strategy.str() << "\n";
    else
      os << "no strategy " << (factor.isCut ? "leaves it whole" : "cuts it") << " here\n";
  }
}

/// "" where the search chose.
llvm::StringRef pinsOf(const PlanChoice &choice) { return choice.pinned ? choice.pinned->by : llvm::StringRef(); }

/// Who decided instead of the search, and what was given up for it.
void printPinned(const PinnedChoice &pinned, llvm::raw_ostream &os) {
  os << "  pinned        by " << pinned.by << "\n";
  if (!pinned.free)
    os << "                without it nothing else is possible here\n";
  else
    os << "                without it " << pinned.free->strategy.str()
       << " is offered: " << moreText(pinned.free->extraSeconds) << ", if everything else stays as it is\n";
}

/// A rule without its FLOPs per point, which say nothing to a reader.
llvm::StringRef readableRule(llvm::StringRef rule) { return rule.split(" flops=").first; }

void explainChoice(const Plan &plan, const StagedChoice &entry, bool candidates, llvm::raw_ostream &os) {
  const StagePlan &stage = *entry.stage;
  const PlanChoice &choice = *entry.choice;
  os << choice.op << " (" << choice.operatorName << ")\n";
  if (!choice.merged.empty())
    os << "  merges        " << llvm::join(choice.merged, ", ") << "\n";
  os << "  rule          " << readableRule(stage.rejections[choice.rejections].rule) << "\n";
  os << "  strategy      " << choice.strategy.str() << ": " << formatSeconds(choice.seconds) << " on each device, "
     << formatSeconds(choice.communicationSeconds) << " of communication before it\n";
  for (const PlanSharding &sharding : stage.shardings)
    if (sharding.producer == choice.op) {
      os << "  result        '" << sharding.value << "' ";
      printSharding(sharding, os);
    }
  printMoves(stage, choice, os);
  if (choice.pinned)
    printPinned(*choice.pinned, os);
  if (choice.runnerUp)
    os << "  runner-up     " << choice.runnerUp->strategy.str() << ": " << moreText(choice.runnerUp->extraSeconds)
       << ", if everything else stays as it is\n";
  if (choice.runnerUp)
    printTurningPoints(*choice.runnerUp, os);
  else
    os << "  runner-up     none: " << whyNoRunnerUp(plan, choice, stage.rejections[choice.rejections]) << "\n";
  printFactors(choice, os);
  printRejections(stage.rejections[choice.rejections], candidates, os);
}

/// The sums over ops that do the same: their cost, and the extra cost of their runner-ups.
struct MatchedOps {
  unsigned count = 0;
  double seconds = 0, communicationSeconds = 0;
  std::optional<double> extraSeconds; ///< none where no op has a runner-up

  void add(const PlanChoice &choice) {
    ++count;
    seconds += choice.seconds;
    communicationSeconds += choice.communicationSeconds;
    if (choice.runnerUp)
      extraSeconds = extraSeconds.value_or(0) + choice.runnerUp->extraSeconds;
  }
};

void printMatched(llvm::StringRef pattern, const MatchedOps &matched, llvm::raw_ostream &os) {
  os << matched.count << " ops " << pattern << " do the same: " << formatSeconds(matched.seconds) << " and "
     << formatSeconds(matched.communicationSeconds) << " of communication together; ";
  if (matched.extraSeconds)
    os << "their runner-ups, one at a time, " << formatSeconds(*matched.extraSeconds) << " more in all; ";
  os << "of these\n";
}

/// The decisions that the smallest changes of the cluster would turn: one line for each group of ops.
void printClosest(const Plan &plan, llvm::raw_ostream &os) {
  struct Close {
    std::string text;
    double distance;
    unsigned count;
  };
  std::vector<Close> closest;
  std::map<std::string, size_t> positions;
  for (auto [stage, choice] : choicesOf(plan)) {
    if (!choice->runnerUp || choice->runnerUp->winsIf.empty())
      continue;
    const TurningPoint &point = choice->runnerUp->winsIf.front();
    std::string text = layerPattern(choice->op) + ": " + choice->runnerUp->strategy.str() + " instead of " +
                       choice->strategy.str() + " if " + turnText(point);
    auto [entry, isNew] = positions.try_emplace(text, closest.size());
    if (isNew)
      closest.push_back({text, std::abs(std::log(point.scale)), 0});
    ++closest[entry->second].count;
  }
  if (closest.empty())
    return;
  std::stable_sort(closest.begin(), closest.end(),
                   [](const Close &a, const Close &b) { return a.distance < b.distance; });
  os << "\nDecisions that the smallest changes of the cluster turn, one op at a time:\n";
  for (const Close &close : llvm::ArrayRef(closest).take_front(8))
    os << "  " << close.count << " x " << close.text << "\n";
}

/// The ops that were not the search's to choose: one line for each group of ops and the pins on them.
void printPinnedGroups(const Plan &plan, llvm::raw_ostream &os) {
  std::map<std::pair<std::string, llvm::StringRef>, unsigned> counts;
  std::vector<std::pair<std::string, llvm::StringRef>> order;
  for (auto [stage, choice] : choicesOf(plan))
    if (choice->pinned && ++counts[{layerPattern(choice->op), pinsOf(*choice)}] == 1)
      order.emplace_back(layerPattern(choice->op), pinsOf(*choice));
  if (!order.empty())
    os << "\nPinned:\n";
  for (const auto &entry : order)
    os << "  " << counts[entry] << " x " << entry.first << " by " << entry.second << "\n";
}

} // namespace

namespace {

/// The ops that match, those that do the same once, by the first of them; false when none matches.
bool explainMatching(const Plan &plan, const llvm::GlobPattern &pattern, bool candidates, llvm::raw_ostream &os) {
  std::vector<std::pair<StagedChoice, MatchedOps>> explained;
  for (const StagedChoice &entry : choicesOf(plan)) {
    if (!pattern.match(entry.choice->op))
      continue;
    auto same = llvm::find_if(explained, [&](const auto &known) {
      return known.first.stage == entry.stage && known.first.choice->strategy == entry.choice->strategy &&
             known.first.choice->rejections == entry.choice->rejections &&
             pinsOf(*known.first.choice) == pinsOf(*entry.choice);
    });
    if (same == explained.end())
      same = explained.insert(explained.end(), {entry, {}});
    same->second.add(*entry.choice);
  }
  for (const auto &[first, matched] : explained) {
    if (matched.count > 1)
      printMatched(layerPattern(first.choice->op), matched, os);
    explainChoice(plan, first, candidates, os);
  }
  return !explained.empty();
}

/// Each parameter once, though several stages may hold it. False when none matches.
bool explainParameters(const Plan &plan, const llvm::GlobPattern &pattern, llvm::raw_ostream &os) {
  llvm::StringSet<> explained;
  for (const StagePlan &stage : plan.stages)
    for (const PlanSharding &value : stage.shardings)
      if (value.role == ValueRole::Parameter && pattern.match(value.value) && explained.insert(value.value).second)
        explainValue(plan, value.value, os);
  return !explained.empty();
}

/// Of a plan and a name as they are shown.
llvm::Error explainVisible(const Plan &plan, llvm::StringRef op, llvm::raw_ostream &os, bool candidates) {
  for (const StagedChoice &entry : choicesOf(plan)) {
    bool isMerged = llvm::is_contained(entry.choice->merged, op);
    if (entry.choice->op != op && !isMerged)
      continue;
    if (isMerged)
      os << op << " is a part of " << entry.choice->op << ":\n";
    explainChoice(plan, entry, candidates, os);
    return llvm::Error::success();
  }
  if (explainValue(plan, op, os))
    return llvm::Error::success();
  llvm::Expected<llvm::GlobPattern> pattern = llvm::GlobPattern::create(op);
  if (!pattern)
    return inputError("'{0}' is neither an op of the plan nor a pattern: {1}", op,
                      takeMessage(pattern.takeError()).second);
  if (!explainMatching(plan, *pattern, candidates, os) && !explainParameters(plan, *pattern, os))
    return inputError("no op of the plan matches '{0}'; near names: {1}", op, listNear(plan, op));
  return llvm::Error::success();
}

} // namespace

llvm::Error explainOp(const Plan &plan, llvm::StringRef op, llvm::raw_ostream &os, bool candidates) {
  return explainVisible(visiblePlan(plan), visibleText(op), os, candidates);
}

void explainPlan(const Plan &stated, llvm::raw_ostream &os, bool allOps) {
  const Plan plan = visiblePlan(stated);
  printSummary(plan, os, allOps);
  std::vector<LayerGroup> groups = longestFirst(layerGroups(plan));
  double all = busySeconds(plan);
  os << "\nWhere the time goes" << (plan.pipeline ? ", of all workers together" : "")
     << (plan.exposedCommunicationSeconds < plan.communicationSeconds ? ", hidden communication included" : "")
     << ":\n";
  for (const LayerGroup &group : llvm::ArrayRef(groups).take_front(10))
    os << "  " << llvm::format("%5.1f %%  ", 100 * group.total() / all) << group.count << " x " << group.pattern
       << " as " << group.strategy << "\n";
  printPinnedGroups(plan, os);
  printClosest(plan, os);
  printTried(plan, os);
  printOpenChoice(plan, os);
}

} // namespace apc
