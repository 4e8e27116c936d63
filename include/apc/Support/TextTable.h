// Tables for a terminal: columns padded to their widest cell.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"

#include <string>
#include <vector>

namespace apc {

/// Rows of cells. Numbers read best right-aligned, so each column says which side it leans to.
class TextTable {
public:
  enum class Align { Left, Right };

  void addColumn(llvm::StringRef title, Align align = Align::Left);
  /// Cells beyond the columns are a programming error; missing ones are blank. Line ends and all else that a terminal
  /// would obey are escaped (`visibleText`).
  void addRow(std::vector<std::string> cells);
  /// Two blanks between columns, a rule of dashes below the titles, `indent` blanks before each line.
  void print(llvm::raw_ostream &os, unsigned indent = 0) const;

private:
  struct Column {
    std::string title;
    Align align;
  };
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

} // namespace apc
