// Builds a cluster from its document and from settings of single figures.
#pragma once

#include "FigureTable.h"
#include "Override.h"
#include "apc/Support/Json/JsonReader.h"

namespace apc {

/// Reads a document, then settings of figures one by one.
class ClusterReader {
public:
  /// Faults are kept by the document.
  void readDocument(JsonReader document);
  /// Sets a figure as if the document said so. Errors start with "--cluster-set KEY=VALUE".
  llvm::Error apply(const Override &setting);
  /// The cluster with its list of figures.
  Cluster take();

  const Cluster &getCluster() const { return cluster; }

private:
  struct Given {
    JsonValue value;
    std::string source;
  };
  /// Figures that exclude each other, told at a figure of the device or, without key, at a level.
  struct Contradiction {
    llvm::StringRef deviceKey;
    size_t level;
    std::string message;
  };

  template <typename Owner>
  void readSection(JsonReader object, FigurePlace place, Owner &owner);
  void readLevels(JsonReader levels);
  void tell(const Contradiction &contradiction, JsonReader document) const;
  template <typename Owner>
  llvm::Error applyTo(Owner &owner, FigurePlace place, const Override &setting);
  void setGiven(FigurePlace place, const Override &setting);

  /// Gives figures that are absent their stand-ins, and finds contradictions.
  std::optional<Contradiction> complete();
  template <typename Owner>
  void completeSection(Owner &owner, FigurePlace place) const;

  Cluster cluster;
  std::map<FigurePlace, Given> given;
};

} // namespace apc
