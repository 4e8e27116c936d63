// Syntax errors of JSON in our words.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <string>

namespace apc {

/// The line, counted from 1, that byte `offset` of `text` stands in; the last one for offsets behind the end.
size_t lineOfOffset(llvm::StringRef text, size_t offset);

/// Why a parser stopped after reading `consumed` bytes of `text`, the last of which it could not use:
///   ""            -> "the file is empty"
///   "{\"a\": 1"   -> "the text ends before its brackets are closed"
///   "{\"a\": x}"  -> "'x' is not expected here"
std::string jsonSyntaxProblem(llvm::StringRef text, size_t consumed);

} // namespace apc
