// Tables for a terminal.
#include "apc/Support/TextTable.h"

#include "apc/Support/VisibleText.h"

#include "llvm/Support/Unicode.h"

#include <algorithm>
#include <cassert>

namespace apc {

namespace {

/// Columns on a terminal; bytes for text that is not UTF-8.
size_t displayWidth(llvm::StringRef text) {
  int width = llvm::sys::unicode::columnWidthUTF8(text);
  return width < 0 ? text.size() : static_cast<size_t>(width);
}

} // namespace

void TextTable::addColumn(llvm::StringRef title, Align align) { columns.push_back({title.str(), align}); }

void TextTable::addRow(std::vector<std::string> cells) {
  assert(cells.size() <= columns.size() && "a row has more cells than the table has columns");
  cells.resize(columns.size());
  for (std::string &cell : cells)
    cell = visibleText(cell);
  rows.push_back(std::move(cells));
}

void TextTable::print(llvm::raw_ostream &os, unsigned indent) const {
  std::vector<std::string> titles, dashes;
  std::vector<size_t> widths;
  for (size_t i = 0; i < columns.size(); ++i) {
    titles.push_back(columns[i].title);
    size_t width = displayWidth(columns[i].title);
    for (const auto &row : rows)
      width = std::max(width, displayWidth(row[i]));
    widths.push_back(width);
    dashes.emplace_back(width, '-');
  }
  auto printLine = [&](const std::vector<std::string> &cells) {
    std::string line(indent, ' ');
    for (size_t i = 0; i < cells.size(); ++i) {
      std::string pad(widths[i] - displayWidth(cells[i]), ' ');
      line += i == 0 ? "" : "  ";
      line += columns[i].align == Align::Right ? pad + cells[i] : cells[i] + pad;
    }
    os << llvm::StringRef(line).rtrim(' ') << '\n';
  };
  printLine(titles);
  printLine(dashes);
  for (const auto &row : rows)
    printLine(row);
}

} // namespace apc
