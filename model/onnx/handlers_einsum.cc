// SPDX-License-Identifier: Apache-2.0
// Einstein sums: pair by pair as matrix products, each letter summed as soon as nobody reads it any more.
#include <algorithm>
#include <string>

#include "model/onnx/handlers.h"

namespace superstep::onnx_import {

namespace {

// A tensor and the letter of each dimension. The dimensions of an ellipsis are the letters from '0' on.
struct Term {
  TensorId t;
  std::string letters;
};

constexpr char kFirstOfEllipsis = '0';
constexpr std::size_t kMostOfEllipsis = 10;

std::string with_ellipsis(const std::string& text, std::size_t dims) {
  std::string letters;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == ' ') continue;
    if (text.compare(i, 3, "...") == 0) {
      for (std::size_t d = 0; d < dims; ++d)
        letters += static_cast<char>(kFirstOfEllipsis + kMostOfEllipsis - dims + d);
      i += 2;
    } else if (std::isalpha(static_cast<unsigned char>(text[i])) != 0) {
      letters += text[i];
    } else {
      Node::fail("\"" + text + "\" is not an operand of an equation");
    }
  }
  return letters;
}

Shape shape_of(GraphBuilder& b, const Term& term, const std::string& letters) {
  Shape shape;
  for (char c : letters) shape.push_back(b.info(term.t).shape[term.letters.find(c)]);
  return shape;
}

TensorId ordered(GraphBuilder& b, const Term& term, const std::string& letters) {
  std::vector<std::int64_t> order;
  for (char c : letters) order.push_back(static_cast<std::int64_t>(term.letters.find(c)));
  return b.transpose(term.t, order);
}

// A letter that stands twice takes the diagonal.
Term diagonal(GraphBuilder& b, Term term) {
  for (std::size_t i = 0; i < term.letters.size(); ++i) {
    const std::size_t j = term.letters.find(term.letters[i], i + 1);
    if (j == std::string::npos) continue;
    const std::int64_t n = b.info(term.t).shape[i];
    if (b.info(term.t).shape[j] != n) Node::fail("a diagonal of " + to_text(b.info(term.t).shape));
    std::vector<std::int64_t> order, places;
    for (std::size_t d = 0; d < term.letters.size(); ++d) {
      if (d != i && d != j) order.push_back(static_cast<std::int64_t>(d));
    }
    order.push_back(static_cast<std::int64_t>(i));
    order.push_back(static_cast<std::int64_t>(j));
    TensorId t = b.transpose(term.t, order);
    Shape shape = b.info(t).shape;
    shape.pop_back();
    shape.back() = n * n;
    for (std::int64_t k = 0; k < n; ++k) places.push_back(k * (n + 1));
    t = gather_axis(b, b.reshape(t, shape), integer_constant(b, {n}, places),
                    static_cast<std::int64_t>(shape.size()) - 1);
    const char twice = term.letters[i];
    std::erase(term.letters, twice);
    return diagonal(b, {t, term.letters + twice});
  }
  return term;
}

// Letters that are not in `kept` summed.
Term summed(GraphBuilder& b, const Term& term, const std::string& kept) {
  std::vector<std::int64_t> axes;
  std::string letters;
  for (std::size_t d = 0; d < term.letters.size(); ++d) {
    if (kept.find(term.letters[d]) != std::string::npos)
      letters += term.letters[d];
    else
      axes.push_back(static_cast<std::int64_t>(d));
  }
  return axes.empty() ? term : Term{b.reduce("sum", term.t, axes, false), letters};
}

// Extents of 1 beside another extent of the letter, which an ellipsis allows, are widened.
TensorId widened(GraphBuilder& b, const Term& term, const Term& other, const std::string& letters) {
  Shape shape = shape_of(b, term, letters);
  const TensorId t = ordered(b, term, letters);
  for (std::size_t d = 0; d < letters.size(); ++d) {
    const std::size_t at = other.letters.find(letters[d]);
    if (at == std::string::npos || shape[d] != 1) continue;
    shape[d] = b.info(other.t).shape[at];
  }
  return b.expand(t, shape);
}

// Summed over the letters of both that are not in `kept`.
Term product(GraphBuilder& b, const Term& x, const Term& y, const std::string& kept) {
  std::string batch, rows, inner, columns;
  for (char c : x.letters) {
    const bool shared = y.letters.find(c) != std::string::npos;
    (!shared ? rows : kept.find(c) != std::string::npos ? batch : inner) += c;
  }
  for (char c : y.letters) {
    if (x.letters.find(c) == std::string::npos) columns += c;
  }
  const TensorId left = widened(b, x, y, batch + rows + inner), right = widened(b, y, x, batch + inner + columns);
  const Shape a = b.info(left).shape, c = b.info(right).shape;
  const auto extent = [](const Shape& shape, std::size_t begin, std::size_t count) {
    return volume(Shape(shape.begin() + static_cast<std::ptrdiff_t>(begin),
                        shape.begin() + static_cast<std::ptrdiff_t>(begin + count)));
  };
  const std::int64_t outer = extent(a, 0, batch.size()), k = extent(a, batch.size() + rows.size(), inner.size());
  const std::int64_t m = extent(a, batch.size(), rows.size()),
                     n = extent(c, batch.size() + inner.size(), columns.size());
  if (extent(c, batch.size(), inner.size()) != k || extent(c, 0, batch.size()) != outer) {
    Node::fail("extents of " + to_text(b.info(x.t).shape) + " and " + to_text(b.info(y.t).shape) + " differ");
  }
  const TensorId z = b.matmul(b.reshape(left, {outer, m, k}), b.reshape(right, {outer, k, n}));
  Shape shape(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(batch.size() + rows.size()));
  shape.insert(shape.end(), c.end() - static_cast<std::ptrdiff_t>(columns.size()), c.end());
  return {b.reshape(z, shape), batch + rows + columns};
}

// Without an arrow: letters that stand once, in alphabetical order, after those of an ellipsis.
// `all`: the letters of all operands, one after the other.
std::string implied_result(const std::string& all) {
  std::string result;
  for (char c : all) {
    const bool ellipsis = std::isdigit(static_cast<unsigned char>(c)) != 0;
    const bool once = std::count(all.begin(), all.end(), c) == 1;
    if ((once || ellipsis) && result.find(c) == std::string::npos) result += c;
  }
  std::sort(result.begin(), result.end());
  return result;
}

Results einsum(Node& n) {
  GraphBuilder& b = n.b;
  const std::string equation = n.text_attribute("equation", "");
  const std::size_t arrow = equation.find("->");
  std::vector<std::string> texts{""};
  for (char c : equation.substr(0, arrow)) {
    if (c == ',')
      texts.emplace_back();
    else
      texts.back() += c;
  }
  if (texts.size() != n.operands())
    Node::fail("equation \"" + equation + "\" for " + std::to_string(n.operands()) + " operands");
  std::vector<Term> terms;
  std::string given;
  std::size_t ellipsis = 0;
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t letters = with_ellipsis(texts[i], 0).size(), rank = n.shape(i).size();
    const bool open = texts[i].find("...") != std::string::npos;
    if (letters > rank || (letters < rank && !open) || rank - letters > kMostOfEllipsis) {
      Node::fail("\"" + texts[i] + "\" for " + to_text(n.shape(i)));
    }
    if (open) ellipsis = std::max(ellipsis, rank - letters);
    given += with_ellipsis(texts[i], rank - letters);
    terms.push_back(diagonal(b, {n.in(i), with_ellipsis(texts[i], rank - letters)}));
  }
  const std::string result =
      arrow == std::string::npos ? implied_result(given) : with_ellipsis(equation.substr(arrow + 2), ellipsis);
  // Letters that `from` and later terms or the result still read.
  const auto needed = [&](std::size_t from) {
    std::string kept = result;
    for (std::size_t i = from; i < terms.size(); ++i) kept += terms[i].letters;
    return kept;
  };
  Term all = summed(b, terms[0], needed(1));
  for (std::size_t i = 1; i < terms.size(); ++i) {
    const Term next = summed(b, terms[i], all.letters + needed(i + 1));
    all = summed(b, product(b, all, next, needed(i + 1)), needed(i + 1));
  }
  for (char c : result) {
    if (all.letters.find(c) == std::string::npos)
      Node::fail("no operand has '" + std::string(1, c) + "' of the result");
  }
  return {ordered(b, all, result)};
}

constexpr std::size_t kMostTerms = 64;
constexpr Handler kEinsumHandlers[] = {{"Einsum", 12, kMostTerms, einsum}};

}  // namespace

std::span<const Handler> einsum_handlers() { return kEinsumHandlers; }

}  // namespace superstep::onnx_import
