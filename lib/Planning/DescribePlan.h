// A decision in a plan's words.
#pragma once

#include "Decide.h"

namespace apc {

/// A stage as the program runs it: mesh with axes named by where they are, choices, shardings, moves and costs; no
/// reasons.
StagePlan describeProgram(const OpGraph &graph, const Pool &pool, const Candidate &candidate);

/// The same with the axis names of \p mesh, which is the candidate's.
StagePlan describeOn(const Mesh &mesh, const OpGraph &graph, const Pool &pool, const Candidate &candidate);
/// The collectives of a program by kind and by the levels that they cross, longest first.
std::vector<PlanCollectives> describeCollectives(const Pool &pool, const Candidate &candidate);

/// A stage with reasons, and notes on reasons for which there was no time.
struct ReasonedStage {
  StagePlan stage;
  std::vector<std::string> notes;
};

/// The stage of a candidate with reasons: runner-ups, as far as its problem is at hand, rejected strategies, pins.
ReasonedStage describeStage(const PlanningTask &task, const Candidate &candidate, const PlanningProblem *problem);

/// The batch and the settings of a training step; none for inference.
std::optional<PlanTraining> trainingOf(const OpGraph &graph, const PlanRequest &request);

/// `plan` with its speed in terms of the model and of the devices. Its step and its request are known.
Plan withRates(Plan plan, const OpGraph &graph, const Pool &pool);

/// The plan of a decision, with reasons: runner-ups, rejected strategies, pins.
Plan describePlan(const PlanningTask &task, const Decision &decision);

/// The seconds of a program of `graph` if collectives ran beside its ops (`--overlap`), where its step is one of
/// training that takes them in turn; none elsewhere.
std::optional<double> overlappedSeconds(const OpGraph &graph, const Pool &pool, const Candidate &candidate);

/// Rows of `PlanSensitivity` for links, memory bandwidth, memory and compute 20 % down and up, and a note where the
/// user stopped before all were measured.
struct Sensitivity {
  std::vector<PlanSensitivity> rows;
  std::optional<std::string> note;
};
Sensitivity measureSensitivity(const PlanningTask &task, const Candidate &candidate, const Plan &plan);

} // namespace apc
