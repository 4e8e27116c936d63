// Pins: strategies that the user fixes for some ops, as data. Every search takes them as constraints.
#pragma once

#include "apc/Sharding/Strategy.h"

#include <string>
#include <vector>

namespace apc {

/// Axes, said without the names that a search gives them: so many ways, a level of the cluster, or so many ways of one.
struct PinnedAxes {
  std::string level; ///< "node"; empty: of any level
  int64_t ways = 0;  ///< 0: all devices of the level

  std::string str() const; ///< "8", "node", "4@device"
  friend bool operator==(const PinnedAxes &, const PinnedAxes &) = default;
};

/// The axes over which one factor is cut. `b0=8`: 8 ways, of whatever levels; `n=device`; `m=(2@node device)`; `k=1`:
/// not cut.
struct PinnedFactor {
  std::string factor;
  std::vector<PinnedAxes> axes; ///< one without level, or any number with one, of different levels

  /// True when `given` of `mesh` are the axes that the pin asks for; `levels` names the levels that the mesh's axes
  /// count.
  bool isMetBy(llvm::ArrayRef<AxisId> given, const Mesh &mesh, llvm::ArrayRef<std::string> levels) const;
  std::string str() const;
  friend bool operator==(const PinnedFactor &, const PinnedFactor &) = default;
};

/// `fc_in/MatMul: b0=node, n=device` on 2 nodes of 4: ops with `fc_in/MatMul` in their names cut b0 2 ways between
/// nodes and n 4 ways inside them, and no other factor. With `...` at the end, factors that are not named are left to
/// the search. `replicated`: nothing is cut.
struct Pin {
  std::string ops; ///< extended regular expression; matches anywhere in a name
  std::vector<PinnedFactor> factors;
  bool open = false;      ///< `...`
  std::string source;     ///< where it is from, for messages: "--pin", "pins.json, pin 2"
  bool isOfInput = false; ///< `ops` matches inputs of the model alone

  std::string str() const; ///< the text form, without the source
  const PinnedFactor *find(llvm::StringRef factor) const;
  friend bool operator==(const Pin &, const Pin &) = default;
};

/// Reads `REGEX: factor=axes, ...`; the last ':' ends the expression. Errors name `source`, the pin, the word and what
/// would be accepted.
llvm::Expected<Pin> parsePin(llvm::StringRef text, llvm::StringRef source);

/// The sharding in which an input of the model arrives: `pixels: d0=8` comes cut 8 ways along its first dim, on every
/// search. `...` and `replicated` as in pins.
struct InputPin {
  std::string input; ///< its name, not an expression
  Pin pin;           ///< on the input of that name

  std::string str() const;
  friend bool operator==(const InputPin &, const InputPin &) = default;
};

/// Reads `NAME: dim=axes, ...`; the last ':' ends the name. Errors as above.
llvm::Expected<InputPin> parseInputPin(llvm::StringRef text, llvm::StringRef source);

/// Reads {"pins": [{"ops": "fc_in/MatMul", "strategy": "b0=node, n=device"}, ...]}. Errors as above.
llvm::Expected<std::vector<Pin>> parsePins(llvm::StringRef json, llvm::StringRef source);

} // namespace apc
