// Tables of comma-separated values (RFC 4180), with the place of every row.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace apc {

/// One row of a table: text by the name of the column.
///
///   id,layers,notes
///   a1,24,"two, or ""three"" of them"      row["notes"] == "two, or \"three\" of them"
class CsvRow {
public:
  /// \p columns: of the table, each with its place among the cells; fewer cells count as blank ones.
  CsvRow(const std::map<std::string, size_t> &columns, std::vector<std::string> cells, size_t line,
         std::string fault = "")
      : columns(&columns), cells(std::move(cells)), lineNumber(line), ownFault(std::move(fault)) {
    this->cells.resize(std::max(this->cells.size(), columns.size()));
  }

  /// The cell without blanks around it; empty where the table has no such column, or the cell says "-" or "n/a".
  llvm::StringRef operator[](llvm::StringRef column) const;
  size_t line() const { return lineNumber; } ///< from 1, where the row begins
  /// "t.csv:3: column 2: the row has 1 cells, and line 1 has 2": cells are then not where columns say. Empty: none.
  const std::string &fault() const { return ownFault; }

private:
  const std::map<std::string, size_t> *columns; ///< of the table, which outlives the row
  std::vector<std::string> cells;
  size_t lineNumber;
  std::string ownFault;
};

struct CsvTable {
  std::string source;  ///< for messages: the file
  size_t headLine = 1; ///< where the names of the columns stand, in lower case in `columns`
  std::map<std::string, size_t> columns;
  std::vector<CsvRow> rows; ///< refer to `columns`

  CsvTable() = default;
  CsvTable(const CsvTable &) = delete;
  CsvTable &operator=(const CsvTable &) = delete;

  bool has(llvm::StringRef column) const { return columns.count(column.str()) != 0; }
};

/// Reads a table with a row of column names, in any case; blank lines are skipped. A row with more or fewer cells than
/// the head is a row with a fault. Errors (input) name source, line and column: a quote that does not end or begins in
/// mid-cell, a column without name or with the name of another, an empty file.
llvm::Error parseCsv(llvm::StringRef text, llvm::StringRef source, CsvTable &table);

/// The number of a cell; none where the cell is blank. Thousands of whole numbers may have commas: "32,000". Errors
/// (input) name source, line, column and the text: "t.csv:7: column 'layers': 'many' is no whole number".
llvm::Expected<std::optional<int64_t>> wholeNumber(const CsvTable &table, const CsvRow &row, llvm::StringRef column);
llvm::Expected<std::optional<double>> realNumber(const CsvTable &table, const CsvRow &row, llvm::StringRef column);

} // namespace apc
