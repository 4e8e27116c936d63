// A plan: everything decided for one model on one cluster, and why. Values only; named by op and value.
#pragma once

#include "apc/Cost/ProgramPrice.h"

#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace apc {

struct PlanAxis {
  std::string name; ///< "x0"
  int64_t size = 1;
  std::string level; ///< "node", "device": the cluster's name of the level
  unsigned levelIndex = 0;
};

/// A change of one figure of the cluster beyond which an alternative is the better one, the collectives staying as they
/// are: {"level.node.bytes_per_second", 1.5, 37.5e9}.
struct TurningPoint {
  std::string figure; ///< as in `--cluster-set`
  double factor = 1;
  std::optional<double> value; ///< the figure then; none where it has several values (peaks by number format)
};

/// An alternative to a choice and what it would have cost instead, everything else staying as it is.
struct RunnerUp {
  std::string strategy;
  double extraSeconds = 0;
  std::vector<TurningPoint> winsIf = {}; ///< nearest first; figures that matter within a factor of 16
};

/// Whether a factor of an op is cut, and the cheapest strategy that does the other thing: none where there is no other.
/// Experts of a mixture: `{"e", 8, true, false, {"g:data n:model", 0.0012}}`: leaving them whole would cost 1.2 ms
/// more.
struct FactorChoice {
  std::string factor;
  int64_t size = 1;
  bool isCut = false;
  bool mustBeWhole = false; ///< by the operator's rule
  std::optional<RunnerUp> other = std::nullopt;
};

/// A choice that was not the search's.
struct PinnedChoice {
  std::string by; ///< what pins it, and whose pins these are: "pin 'fc_in/MatMul: n=8' (pins.json, pin 2)"
  /// The cheapest strategy that is offered without pins, everything else staying as it is. Its extra seconds
  /// are negative where it is faster than what was pinned. None where there is no other.
  std::optional<RunnerUp> free = std::nullopt;
};

/// What one op does.
struct PlanChoice {
  std::string op;                  ///< ONNX node name
  std::string operatorName;        ///< "matmul"
  std::string strategy;            ///< "b0:x0 n:x1"
  double seconds = 0;              ///< of the op on one device
  double communicationSeconds = 0; ///< of the redistributions of its operands, shared ones at their first user
  int64_t bytes = 0;               ///< of its results on one device
  std::optional<RunnerUp> runnerUp;
  unsigned rejections = 0;                ///< index into Plan::rejections
  std::vector<FactorChoice> factors = {}; ///< those of more than one element; none of ops that move nothing
  std::optional<PinnedChoice> pinned = std::nullopt;
};

/// Why strategies of an operator were not offered: the same for all ops with one rule.
struct PlanRejections {
  std::string rule;     ///< the bound rule
  unsigned offered = 0; ///< strategies that were candidates
  struct Reason {
    std::string reason;
    unsigned count = 0;
    std::string example; ///< one strategy that it ruled out
  };
  std::vector<Reason> reasons;
};

struct PlanSharding {
  std::string value;
  std::string producer; ///< op
  std::string role;     ///< "parameter", "activation", ...
  std::vector<int64_t> shape;
  std::vector<int64_t> localShape;
  std::vector<std::vector<std::string>> dims; ///< axes by dim, major first
  std::vector<std::string> partial;
  unsigned elementBits = 32;
};

/// A collective of the emitted program.
struct PlanMove {
  std::string value;
  std::string target;             ///< the sharding it ends in: "[data, -]"
  std::vector<std::string> users; ///< ops
  std::vector<std::string> steps; ///< "AllReduce{x1}"
  double seconds = 0;
};

struct Baseline {
  std::string name;
  std::optional<double> stepSeconds;
  std::optional<int64_t> memoryBytes;
  bool feasible = false;
  std::string reason; ///< why infeasible, or what it could not use
};

struct PlanTiming {
  double importSeconds = 0, problemSeconds = 0, searchSeconds = 0, totalSeconds = 0;
};

/// What planning again finds when one figure of the cluster is another.
struct PlanSensitivity {
  std::string figure;
  double factor = 1;                 ///< 0.8: a fifth less
  std::optional<double> stepSeconds; ///< none when nothing fits then
  unsigned changedOps = 0;           ///< ops with another strategy than in this plan
  std::string mesh;                  ///< "data=8 (node) model=8 (device)"
  std::string reason;                ///< why nothing fits
};

/// What was asked for, to plan again: `Plan::search` is what won, `search` here what was to be run.
struct PlanSettings {
  std::string cluster; ///< preset or file, as given
  std::string search;  ///< "dp"
  std::optional<int64_t> memoryLimitBytes;
  std::vector<std::string> layouts;                      ///< "dp=8,tp=8"
  std::string parallel = "auto";                         ///< "auto", "data", "semi", "hybrid"
  std::vector<std::string> pins = {};                    ///< "fc_in/MatMul: b0=node, n=device"
  bool ignoresModelShardings = false;                    ///< pins that the model holds were not used
  std::optional<double> timeLimitSeconds = std::nullopt; ///< of the search of one mesh; none: the default
  std::optional<double> gap = std::nullopt;              ///< a share of the optimum to stop at; none: the default

  friend bool operator==(const PlanSettings &, const PlanSettings &) = default;
};

/// The version of this program.
constexpr llvm::StringLiteral programVersion = "0.1.0";

struct Plan {
  static constexpr int version = 1;

  std::string producer = programVersion.str(); ///< the version of the program that made the plan

  std::string modelPath, modelSha256;
  // What the model was imported with, to import it again.
  std::map<std::string, int64_t> dims;    ///< `--dim`
  std::map<std::string, bool> conditions; ///< `--condition`
  std::string parameters;                 ///< regular expression of the inputs that are parameters; "" for none
  std::string cluster;
  std::vector<std::string> clusterOverrides; ///< `--cluster-set`, in order: "device.memory_bytes=40GiB"
  int64_t devices = 0;
  int64_t devicesUsed = 0;
  std::string mode;   ///< "infer"
  std::string search; ///< "dp"
  PlanSettings settings;
  std::vector<PlanAxis> mesh;
  /// That run the program: the devices of the mesh, which may leave some out, and some of which may do nothing of their
  /// own.
  int64_t numRanks() const {
    return std::accumulate(mesh.begin(), mesh.end(), int64_t(1),
                           [](int64_t product, const PlanAxis &axis) { return product * axis.size; });
  }

  double stepSeconds = 0;
  double computeSeconds = 0;
  double communicationSeconds = 0;
  double lowerBoundSeconds = 0;
  double gap = 0;
  std::string status; ///< "optimal", "feasible"
  double flopsPerDevice = 0;

  MemoryTable memory;
  int64_t memoryLimitBytes = 0;
  std::map<std::string, int64_t> communicationBytes; ///< by collective
  std::vector<Baseline> baselines;
  std::vector<PlanChoice> choices;
  std::vector<PlanRejections> rejections;
  std::vector<PlanSharding> shardings;
  std::vector<PlanMove> moves;
  std::vector<PlanSensitivity> sensitivity; ///< when it was asked for
  std::vector<std::string> notes;
  PlanTiming timing;
};

} // namespace apc
