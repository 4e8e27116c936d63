// Sums of products as dot_general.
#include "apc/IR/Hlo/HloWriter.h"

#include "llvm/ADT/StringExtras.h"

namespace apc::hlo {

namespace {

/// A tensor with a letter for each dim.
struct Lettered {
  Hlo tensor;
  std::string letters;
};

std::string listOf(llvm::ArrayRef<size_t> places) {
  return "[" + llvm::join(llvm::map_range(places, [](size_t place) { return std::to_string(place); }), ", ") + "]";
}

/// The tensor without dims whose letter `keeps` does not want.
template <typename Keeps>
Lettered summed(Lettered x, Keeps keeps) {
  HloDims dims;
  std::string letters;
  for (auto [dim, letter] : llvm::enumerate(x.letters))
    if (keeps(letter))
      letters += letter;
    else
      dims.push_back(static_cast<int64_t>(dim));
  return {sum(x.tensor, dims), letters};
}

/// The product of two tensors; letters that `later` has not are summed over.
Lettered product(Lettered a, Lettered b, llvm::StringRef later) {
  a = summed(a, [&](char c) { return later.contains(c) || llvm::StringRef(b.letters).contains(c); });
  b = summed(b, [&](char c) { return later.contains(c) || llvm::StringRef(a.letters).contains(c); });
  llvm::SmallVector<size_t> batchA, batchB, reducedA, reducedB;
  std::string batch, free;
  HloDims dims, freeDims;
  for (auto [dim, letter] : llvm::enumerate(a.letters)) {
    size_t other = b.letters.find(letter);
    int64_t size = a.tensor.size(static_cast<unsigned>(dim));
    if (other == std::string::npos) {
      free += letter, freeDims.push_back(size);
    } else if (later.contains(letter)) {
      batchA.push_back(dim), batchB.push_back(other), batch += letter, dims.push_back(size);
    } else {
      reducedA.push_back(dim), reducedB.push_back(other);
    }
  }
  for (auto [dim, letter] : llvm::enumerate(b.letters))
    if (!llvm::StringRef(a.letters).contains(letter))
      free += letter, freeDims.push_back(b.tensor.size(static_cast<unsigned>(dim)));
  dims.append(freeDims);
  HloWriter &h = *a.tensor.writer;
  Hlo result =
      h.add("stablehlo.dot_general", {a.tensor, b.tensor}, mlir::RankedTensorType::get(dims, a.tensor.element()),
            {h.text("dot_dimension_numbers", "dot<lhs_batching_dimensions = " + listOf(batchA) +
                                                 ", rhs_batching_dimensions = " + listOf(batchB) +
                                                 ", lhs_contracting_dimensions = " + listOf(reducedA) +
                                                 ", rhs_contracting_dimensions = " + listOf(reducedB) + ">")});
  return {result, batch + free};
}

/// The letters that "..." stands for, where it stands; the last letters of the alphabet's capitals.
std::string withoutDots(llvm::StringRef letters, size_t numDims) {
  size_t at = letters.find("...");
  if (at == llvm::StringRef::npos)
    return letters.str();
  size_t count = numDims - (letters.size() - 3);
  std::string dots;
  for (size_t i = 0; i < count; ++i)
    dots += static_cast<char>('Z' - (count - 1 - i));
  return (letters.take_front(at) + dots + letters.drop_front(at + 3)).str();
}

} // namespace

Hlo einsum(llvm::StringRef equation, llvm::ArrayRef<Hlo> operands) {
  HloWriter &h = *operands.front().writer;
  std::string compact;
  llvm::copy_if(equation, std::back_inserter(compact), [](char c) { return c != ' '; });
  auto [left, wanted] = llvm::StringRef(compact).split("->");
  if (!llvm::StringRef(compact).contains("->"))
    return h.refuse("an equation without '->'");
  llvm::SmallVector<llvm::StringRef> texts;
  left.split(texts, ',');
  std::vector<Lettered> terms;
  size_t dots = 0;
  for (auto [text, operand] : llvm::zip_equal(texts, operands)) {
    terms.push_back({operand, withoutDots(text, operand.numDims())});
    if (text.contains("..."))
      dots = std::max(dots, operand.numDims() - (text.size() - 3));
    for (char letter : terms.back().letters)
      if (llvm::count(terms.back().letters, letter) > 1)
        return h.refuse("an equation with a letter twice in one operand");
  }
  std::string result = withoutDots(wanted, wanted.contains("...") ? wanted.size() - 3 + dots : 0);
  Lettered total = terms.front();
  for (size_t i = 1; i < terms.size(); ++i) {
    std::string later = result;
    for (size_t j = i + 1; j < terms.size(); ++j)
      later += terms[j].letters;
    total = product(total, terms[i], later);
  }
  total = summed(total, [&](char c) { return llvm::StringRef(result).contains(c); });
  llvm::SmallVector<int64_t> perm;
  for (char letter : result)
    perm.push_back(static_cast<int64_t>(total.letters.find(letter)));
  return transpose(total.tensor, perm);
}

Hlo matmul(Hlo a, Hlo b) {
  if (a.numDims() == 1 || b.numDims() == 1) {
    if (a.numDims() == 1)
      return einsum(b.numDims() == 1 ? "k,k->" : "k,...kn->...n", {a, b});
    return einsum("...k,k->...", {a, b});
  }
  if (b.numDims() == 2)
    return einsum("...k,kn->...n", {a, b});
  auto batchOf = [](Hlo x) { return x.dims().drop_back(2); };
  // Batches that only one has, or that are repeated, are written out.
  HloDims batch(batchOf(a).size() > batchOf(b).size() ? batchOf(a) : batchOf(b));
  for (Hlo x : {a, b})
    for (auto [dim, size] : llvm::zip(llvm::reverse(batch), llvm::reverse(batchOf(x))))
      dim = std::max(dim, size);
  auto repeated = [&](Hlo x) {
    HloDims dims(batch);
    llvm::append_range(dims, x.dims().take_back(2));
    return broadcast(x, dims);
  };
  return einsum("...mk,...kn->...mn", {repeated(a), repeated(b)});
}

} // namespace apc::hlo
