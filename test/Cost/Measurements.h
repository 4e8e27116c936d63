// Reads the tables of published measurements beside the tests.
#pragma once

#include "apc/Support/File.h"

#include "llvm/ADT/StringExtras.h"

#include <string>
#include <vector>

/// The rows of Measurements/`name`, without the header; the last column (the source) is cut off.
inline std::vector<std::vector<std::string>> readMeasurements(llvm::StringRef name) {
  std::string text = llvm::cantFail(apc::readFile((APC_COST_MEASUREMENTS "/" + name).str()));
  std::vector<std::vector<std::string>> rows;
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, false);
  for (llvm::StringRef line : llvm::drop_begin(lines)) {
    llvm::SmallVector<llvm::StringRef> cells;
    line.take_until([](char c) { return c == '"'; }).split(cells, ',', -1, false);
    rows.emplace_back(cells.begin(), cells.end());
  }
  return rows;
}

inline double toNumber(const std::string &cell) { return std::stod(cell); }
