// The first change that helps is made; the search for the next one goes on behind it. Then from other places.
#include "ProgramDescent.h"

#include "apc/Support/Error.h"

#include "llvm/ADT/STLExtras.h"

#include <random>

namespace apc {

namespace {

/// A node and its new choice.
struct Change {
  NodeId node;
  uint32_t choice;
};

class Descent {
public:
  Descent(const PlanningTask &task, const Mesh &mesh, const PlanningProblem &planning, AnsweredProgram from, double end)
      : task(task), mesh(mesh), planning(planning), now(std::move(from)), end(end),
        edges(planning.problem.nodes.size()) {
    for (const Edge &edge : planning.problem.edges)
      for (NodeId node : {edge.from, edge.to})
        edges[node.index()].push_back(&edge);
    for (size_t node = 0; node < planning.problem.nodes.size(); ++node)
      for (size_t choice = 0; choice < planning.choicesOf(NodeId(node)).size(); ++choice)
        changes.push_back({NodeId(node), static_cast<uint32_t>(choice)});
  }

  /// Down from where it begins, then again and again from a place near the best (iterated local search: Lourenco,
  /// Martin and Stuetzle, 2003).
  llvm::Expected<AnsweredProgram> run() {
    if (llvm::Error error = goDown(/*byTwos=*/true))
      return error;
    AnsweredProgram best = now;
    constexpr unsigned mostRounds = 200;
    for (unsigned round = 0; round < mostRounds && !isOver(); ++round) {
      now = best;
      llvm::Expected<bool> isElsewhere = goElsewhere();
      if (!isElsewhere)
        return isElsewhere.takeError();
      if (!*isElsewhere)
        continue;
      if (llvm::Error error = goDown(/*byTwos=*/false))
        return error;
      if (isBetter(now.candidate, best.candidate)) {
        if (llvm::Error error = goDown(/*byTwos=*/true))
          return error;
        best = now;
      }
    }
    return best;
  }

private:
  bool isOver() const { return task.isStopped() || task.control.clock->seconds() >= end; }
  bool fits(const Candidate &candidate) const { return candidate.cost.memory.total() <= task.memoryLimitBytes; }

  /// Fewer bytes until it fits, then fewer seconds.
  bool isBetter(const Candidate &one, const Candidate &other) const {
    if (fits(one) != fits(other))
      return fits(one);
    return fits(one) ? one.seconds() < other.seconds() : one.cost.memory.total() < other.cost.memory.total();
  }

  llvm::Error goDown(bool byTwos) {
    for (bool goesOn = true; goesOn;) {
      llvm::Expected<bool> helped = tryOnes();
      if (helped && !*helped && byTwos)
        helped = tryTwos();
      if (!helped)
        return helped.takeError();
      goesOn = *helped;
    }
    return llvm::Error::success();
  }

  /// Makes some changes by lot, if they go together.
  llvm::Expected<bool> goElsewhere() {
    Assignment answer = now.answer;
    const size_t count = 2 + random() % 3;
    for (size_t index = 0; index < count; ++index) {
      const Change &change = changes[random() % changes.size()];
      answer.strategies[change.node.index()] = change.choice;
    }
    for (size_t node = 0; node < edges.size(); ++node)
      if (!isPossible(answer, NodeId(node)))
        return false;
    llvm::Expected<std::optional<Candidate>> candidate = programOf(answer);
    if (!candidate)
      return candidate.takeError();
    if (*candidate)
      now = {std::move(answer), std::move(**candidate)};
    return candidate->has_value();
  }

  /// True where some change of one node helped. All are tried behind the last one that did.
  llvm::Expected<bool> tryOnes() {
    bool hasHelped = false;
    for (size_t inVain = 0; inVain < changes.size() && !isOver(); ++inVain) {
      llvm::Expected<bool> helps = tryChanges(changes[next]);
      next = (next + 1) % changes.size();
      if (!helps)
        return helps;
      if (*helps)
        inVain = 0;
      hasHelped |= *helps;
    }
    return hasHelped;
  }

  /// The same of two nodes at once.
  llvm::Expected<bool> tryTwos() {
    for (size_t first = 0; first < changes.size(); ++first)
      for (size_t second = first + 1; second < changes.size(); ++second) {
        if (isOver())
          return false;
        if (changes[first].node == changes[second].node)
          continue;
        llvm::Expected<bool> helps = tryChanges({changes[first], changes[second]});
        if (!helps || *helps)
          return helps;
      }
    return false;
  }

  /// Does the program with these changes take the place of the one at hand?
  llvm::Expected<bool> tryChanges(llvm::ArrayRef<Change> made) {
    Assignment answer = now.answer;
    for (const Change &change : made) {
      if (answer[change.node] == change.choice)
        return false;
      answer.strategies[change.node.index()] = change.choice;
    }
    if (!llvm::all_of(made, [&](const Change &change) { return isPossible(answer, change.node); }))
      return false;
    constexpr double perPart = 2; // nanoseconds
    task.spend(perPart * static_cast<double>(planning.problem.nodes.size() + planning.problem.edges.size()));
    const bool mustBeFaster = fits(now.candidate);
    if (mustBeFaster && evaluate(planning.problem, answer).seconds >= now.candidate.seconds()) // the program's sum
      return false;
    llvm::Expected<std::optional<Candidate>> candidate = programOf(answer);
    if (!candidate)
      return candidate.takeError();
    const bool helps = *candidate && isBetter(**candidate, now.candidate);
    if (helps)
      now = {std::move(answer), std::move(**candidate)};
    return helps;
  }

  /// None where strategies of several ops do not go together.
  llvm::Expected<std::optional<Candidate>> programOf(const Assignment &answer) const {
    llvm::Expected<Candidate> candidate = costAnswer(task, mesh, planning, answer);
    if (candidate)
      return std::move(*candidate);
    if (llvm::Error fault = llvm::handleErrors(candidate.takeError(), [](const IncompatibleStrategies &) {}))
      return std::move(fault);
    return std::nullopt;
  }

  bool isPossible(const Assignment &answer, NodeId node) const {
    return llvm::all_of(edges[node.index()], [&](const Edge *edge) {
      return planning.problem.tableOf(*edge).possible(answer[edge->from], answer[edge->to]);
    });
  }

  const PlanningTask &task;
  const Mesh &mesh;
  const PlanningProblem &planning;
  AnsweredProgram now;
  double end;
  std::vector<std::vector<const Edge *>> edges; ///< by node
  std::vector<Change> changes;
  size_t next = 0; ///< of `changes`, to be tried by itself
  std::mt19937_64 random;
};

} // namespace

llvm::Expected<AnsweredProgram> descend(const PlanningTask &task, const Mesh &mesh, const PlanningProblem &planning,
                                        AnsweredProgram from, double end) {
  return Descent(task, mesh, planning, std::move(from), end).run();
}

} // namespace apc
