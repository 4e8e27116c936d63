// Comma-separated values, cell by cell.
#include "apc/Measure/Csv.h"

#include "apc/Support/Error.h"
#include "apc/Support/Pattern.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cmath>

namespace apc {

namespace {

/// Walks the text of a table.
class Reader {
public:
  Reader(llvm::StringRef text, llvm::StringRef source) : text(text), source(source) {}

  bool atEnd() const { return position >= text.size(); }
  size_t line() const { return lineNumber; }
  /// The cells up to the end of the line.
  llvm::Expected<std::vector<std::string>> row();

private:
  llvm::Error quoted(std::string &cell, size_t column);
  llvm::Expected<std::string> cell(size_t column);

  llvm::StringRef text, source;
  size_t position = 0, lineNumber = 1;
};

/// The text between quotes; a quote inside stands twice.
llvm::Error Reader::quoted(std::string &cell, size_t column) {
  const size_t begin = lineNumber;
  for (++position; position < text.size(); ++position) {
    if (text[position] == '\n')
      ++lineNumber;
    if (text[position] != '"') {
      cell += text[position];
    } else if (text.substr(position).starts_with("\"\"")) {
      cell += '"';
      ++position;
    } else {
      ++position;
      return llvm::Error::success();
    }
  }
  return inputError("{0}:{1}: column {2}: a quote begins here and does not end", source, begin, column);
}

llvm::Expected<std::string> Reader::cell(size_t column) {
  std::string found;
  if (position < text.size() && text[position] == '"') {
    if (llvm::Error error = quoted(found, column))
      return std::move(error);
    if (position < text.size() && !llvm::StringRef(",\r\n").contains(text[position]))
      return inputError("{0}:{1}: column {2}: a comma or the end of the line is expected behind a quote", source,
                        lineNumber, column);
    return found;
  }
  llvm::StringRef rest = text.substr(position);
  llvm::StringRef own = rest.take_until([](char c) { return c == ',' || c == '\n' || c == '\r'; });
  if (own.contains('"'))
    return inputError("{0}:{1}: column {2}: a quote in mid-cell; the whole cell stands in quotes, and the quote twice",
                      source, lineNumber, column);
  position += own.size();
  return own.str();
}

llvm::Expected<std::vector<std::string>> Reader::row() {
  std::vector<std::string> cells;
  while (true) {
    llvm::Expected<std::string> next = cell(cells.size() + 1);
    if (!next)
      return next.takeError();
    cells.push_back(std::move(*next));
    if (position < text.size() && text[position] == ',') {
      ++position;
      continue;
    }
    if (text.substr(position).starts_with("\r\n"))
      ++position;
    ++position;
    ++lineNumber;
    return cells;
  }
}

bool isBlank(llvm::ArrayRef<std::string> cells) {
  return cells.size() == 1 && llvm::StringRef(cells.front()).trim().empty();
}

llvm::Error readHead(Reader &reader, CsvTable &table) {
  llvm::Expected<std::vector<std::string>> names = reader.row();
  while (names && isBlank(*names) && !reader.atEnd()) {
    table.headLine = reader.line();
    names = reader.row();
  }
  if (!names)
    return names.takeError();
  for (const std::string &cell : *names) {
    std::string name = llvm::StringRef(cell).trim().lower();
    size_t index = table.columns.size();
    if (name.empty())
      return inputError("{0}:{1}: column {2} has no name", table.source, table.headLine, index + 1);
    if (!table.columns.emplace(name, index).second)
      return inputError("{0}:{1}: column {2}: the name '{3}' stands twice", table.source, table.headLine, index + 1,
                        name);
  }
  return llvm::Error::success();
}

llvm::Error wrongNumber(const CsvTable &table, const CsvRow &row, llvm::StringRef column, llvm::StringRef kind) {
  return inputError("{0}:{1}: column '{2}': '{3}' is no {4}", table.source, row.line(), column, row[column], kind);
}

} // namespace

llvm::StringRef CsvRow::operator[](llvm::StringRef column) const {
  auto found = columns->find(column.str());
  llvm::StringRef text = found == columns->end() ? "" : llvm::StringRef(cells[found->second]).trim();
  return text == "-" || text.equals_insensitive("n/a") ? "" : text;
}

llvm::Error parseCsv(llvm::StringRef text, llvm::StringRef source, CsvTable &table) {
  table.source = source.str();
  text.consume_front("\xef\xbb\xbf"); // a mark of UTF-8
  if (text.trim().empty())
    return inputError("{0}: the file is empty; a line of column names is expected", source);
  Reader reader(text, source);
  if (llvm::Error error = readHead(reader, table))
    return error;
  while (!reader.atEnd()) {
    size_t line = reader.line();
    llvm::Expected<std::vector<std::string>> cells = reader.row();
    if (!cells)
      return cells.takeError();
    if (isBlank(*cells))
      continue;
    std::string fault;
    if (cells->size() != table.columns.size())
      fault = llvm::formatv("{0}:{1}: column {2}: the row has {3} cells, and line {4} has {5}", source, line,
                            std::min(cells->size(), table.columns.size()) + 1, cells->size(), table.headLine,
                            table.columns.size())
                  .str();
    table.rows.emplace_back(table.columns, std::move(*cells), line, std::move(fault));
  }
  return llvm::Error::success();
}

/// Digits without commas between thousands: "32000" of "32,000"; other text as it is.
static std::string withoutCommas(llvm::StringRef text) {
  std::string digits = text.str();
  static const Pattern pattern("^[1-9][0-9]?[0-9]?(,[0-9][0-9][0-9])+$");
  if (pattern.match(text))
    llvm::erase(digits, ',');
  return digits;
}

static llvm::Expected<std::optional<double>> numberOf(llvm::StringRef text, const CsvTable &table, const CsvRow &row,
                                                      llvm::StringRef column) {
  double number = 0;
  if (text.empty())
    return std::nullopt;
  if (text.getAsDouble(number) || !std::isfinite(number))
    return wrongNumber(table, row, column, "number");
  return number;
}

llvm::Expected<std::optional<int64_t>> wholeNumber(const CsvTable &table, const CsvRow &row, llvm::StringRef column) {
  llvm::Expected<std::optional<double>> number = numberOf(withoutCommas(row[column]), table, row, column);
  if (!number || !*number)
    return number ? llvm::Expected<std::optional<int64_t>>(std::nullopt) : number.takeError();
  constexpr double most = 1e15;
  if (**number != std::floor(**number) || std::abs(**number) > most)
    return wrongNumber(table, row, column, "whole number");
  return static_cast<int64_t>(**number);
}

llvm::Expected<std::optional<double>> realNumber(const CsvTable &table, const CsvRow &row, llvm::StringRef column) {
  return numberOf(row[column], table, row, column);
}

} // namespace apc
