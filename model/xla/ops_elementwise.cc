// SPDX-License-Identifier: Apache-2.0
// Functions of single elements, types, and choices.
#include <algorithm>
#include <cmath>
#include <limits>

#include "model/xla/writer.h"

namespace superstep::xla_import {

namespace {

// The shape that a result has where its readers repeat elements: 1 where all operands have 1.
Extents stored_shape(const std::vector<Value>& operands, const Extents& shape) {
  Extents out;
  for (const Value& v : operands) {
    if (v.stored.empty()) continue;
    out.resize(shape.size(), 1);
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (v.stored.at(d) != 1) out[d] = v.stored[d];
    }
  }
  return out;
}

Value lazy(const Call& c, std::string tensor) {
  Value v = c.result(std::move(tensor));
  v.stored = stored_shape(c.operands, v.shape);
  return v;
}

Value known(const Call& c, double number) {
  Value v = c.result("");
  v.stored = {};
  v.number = number;
  return v;
}

// Operands of one shape, but for single numbers in place of any. Throws out_of_range where there are too few.
std::vector<std::string> operands(const Call& c, std::size_t count) {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < count; ++i) {
    const Value& v = c.at(i);
    const bool number = v.shape.empty() || v.stored.empty();
    if (v.shape != c.shape() && !number) throw std::out_of_range("shape");
    names.push_back(c.w.stored(v));
  }
  return names;
}

constexpr double kMostInt32 = std::numeric_limits<std::int32_t>::max();

// What an integer type holds at least.
double most_of(std::int32_t type) {
  return type == kS32 || type == kS64 || type == kU32 || type == kU64 ? kMostInt32 : 127;
}

void refuse_wrapping(std::int32_t type) {
  if (type == kU32 || type == kU64 || type == kU16 || type == kS16)
    throw Refusal{"arithmetic of type " + name_of(type) +
                  ", which wraps around, as of random bits; give its result as an input"};
}

struct Function {
  std::string_view opcode;
  const char* op_type;
};

constexpr Function kUnary[] = {
    {"abs", "Abs"},     {"ceil", "Ceil"}, {"cosine", "Cos"},       {"erf", "Erf"},    {"exponential", "Exp"},
    {"floor", "Floor"}, {"log", "Log"},   {"logistic", "Sigmoid"}, {"negate", "Neg"}, {"round-nearest-even", "Round"},
    {"sign", "Sign"},   {"sine", "Sin"},  {"sqrt", "Sqrt"},        {"tan", "Tan"},    {"tanh", "Tanh"}};
constexpr Function kBinary[] = {{"add", "Add"},      {"divide", "Div"}, {"maximum", "Max"}, {"minimum", "Min"},
                                {"multiply", "Mul"}, {"power", "Pow"},  {"subtract", "Sub"}};
// Of truth values.
constexpr Function kLogical[] = {{"add", "Or"},       {"and", "And"}, {"maximum", "Or"}, {"minimum", "And"},
                                 {"multiply", "And"}, {"or", "Or"},   {"xor", "Xor"}};

template <std::size_t N>
const char* find(const Function (&functions)[N], const std::string& opcode) {
  const auto* at = std::ranges::find(functions, opcode, &Function::opcode);
  return at == std::end(functions) ? nullptr : at->op_type;
}

Value unary(Call& c) {
  refuse_wrapping(c.at(0).type);
  const Value& x = c.at(0);
  if (c.in.opcode() == "negate" && x.number) return known(c, -*x.number);
  return lazy(c, c.w.add(find(kUnary, c.in.opcode()), operands(c, 1)));
}

// Loop counters and the like. None where the result may differ from what the type gives.
std::optional<double> computed(const std::string& op, std::int32_t type, double a, double b) {
  if (op == "maximum") return std::max(a, b);
  if (op == "minimum") return std::min(a, b);
  if (op == "and") return type == kPred ? std::optional(a * b) : std::nullopt;
  if (op == "or") return type == kPred ? std::optional(std::max(a, b)) : std::nullopt;
  if (type != kS32 && type != kS64 && type != kU32 && type != kU64) return std::nullopt;
  const double r = op == "add" ? a + b : op == "subtract" ? a - b : op == "multiply" ? a * b : HUGE_VAL;
  const double least = type == kS32 || type == kS64 ? -kMostInt32 : 0;
  return r >= least && r <= kMostInt32 ? std::optional(r) : std::nullopt;
}

// A sum divided by the number of its terms is a mean, whatever the number of samples.
bool is_mean(const Call& c) {
  return c.in.opcode() == "divide" && c.at(0).mean && c.at(1).number && *c.at(1).number == c.at(0).mean->count;
}

Value binary(Call& c) {
  const std::string& op = c.in.opcode();
  const bool logical = c.type() == kPred;
  const char* op_type = logical ? find(kLogical, op) : find(kBinary, op);
  if (!op_type) throw Refusal{"bits of type " + name_of(c.type()) + "; give what is made of them as an input"};
  const Value &a = c.at(0), &b = c.at(1);
  if (a.number && b.number) {
    if (const auto number = computed(op, c.type(), *a.number, *b.number)) return known(c, *number);
  }
  refuse_wrapping(c.at(0).type);
  if (is_mean(c)) return a.mean->make();
  return lazy(c, c.w.add(op_type, operands(c, 2)));
}

Value remainder(Call& c) {
  refuse_wrapping(c.at(0).type);
  return lazy(c, c.w.add("Mod", operands(c, 2), {{"fmod", std::int64_t{1}}}));
}

Value compare(Call& c) {
  struct Direction {
    std::string_view name;
    const char* op_type;
    bool (*holds)(double, double);
  };
  static constexpr Direction kDirections[] = {
      {"EQ", "Equal", [](double a, double b) { return a == b; }},
      {"NE", "Equal", [](double a, double b) { return a != b; }},
      {"GE", "GreaterOrEqual", [](double a, double b) { return a >= b; }},
      {"GT", "Greater", [](double a, double b) { return a > b; }},
      {"LE", "LessOrEqual", [](double a, double b) { return a <= b; }},
      {"LT", "Less", [](double a, double b) { return a < b; }},
  };
  const auto* direction = std::ranges::find(kDirections, c.in.comparison_direction(), &Direction::name);
  if (direction == std::end(kDirections))
    throw Refusal{"compares by \"" + c.in.comparison_direction() + "\", which is not known"};
  const Value &a = c.at(0), &b = c.at(1);
  if (a.number && b.number) return known(c, direction->holds(*a.number, *b.number));
  std::string tensor = c.w.add(direction->op_type, operands(c, 2));
  if (direction->name == "NE") tensor = c.w.add("Not", {tensor});
  return lazy(c, tensor);
}

Value logical_not(Call& c) {
  if (c.type() != kPred) throw Refusal{"bits of type " + name_of(c.type()) + "; give what is made of them as an input"};
  if (c.at(0).number) return known(c, *c.at(0).number == 0);
  return lazy(c, c.w.add("Not", operands(c, 1)));
}

Value convert(Call& c) {
  const Value& x = c.at(0);
  const bool to_integer = !is_floating(c.type()) && c.type() != kPred;
  if (x.number && (!to_integer || (!is_floating(x.type) && *x.number >= 0 && *x.number <= most_of(c.type()))))
    return known(c, c.type() == kPred ? *x.number != 0 : *x.number);
  const bool is_unsigned = c.type() == kU16 || c.type() == kU32 || c.type() == kU64;
  if (is_unsigned && x.type != kPred && x.type != kU8 && x.type != kU16 && x.type != kU32) refuse_wrapping(c.type());
  std::string tensor = c.w.stored(x);
  if (onnx_type(c.type()) != onnx_type(x.type) || (to_integer && is_floating(x.type)))
    tensor = c.w.add("Cast", {tensor}, {{"to", std::int64_t{onnx_type(c.type())}}});
  Value v = lazy(c, tensor);
  v.counts_along = x.counts_along;
  if (is_floating(x.type) && is_floating(c.type())) v.mean = x.mean;
  return v;
}

Value select(Call& c) {
  if (c.at(0).number) return c.at(*c.at(0).number != 0 ? 1 : 2);
  return lazy(c, c.w.add("Where", operands(c, 3)));
}

Value clamp(Call& c) {
  const std::vector<std::string> names = operands(c, 3);
  return lazy(c, c.w.add("Min", {c.w.add("Max", {names[1], names[0]}), names[2]}));
}

// What ONNX has no operator for.

Value rsqrt(Call& c) { return lazy(c, c.w.add("Pow", {operands(c, 1)[0], c.w.constant(-0.5, c.type())})); }

Value expm1(Call& c) { return lazy(c, c.w.add("Sub", {c.w.add("Exp", operands(c, 1)), c.w.constant(1, c.type())})); }

Value log1p(Call& c) {
  return lazy(c, c.w.add("Log", {c.w.add("Add", {operands(c, 1)[0], c.w.constant(1, c.type())})}));
}

Value cbrt(Call& c) {
  const std::string x = operands(c, 1)[0];
  const std::string root = c.w.add("Pow", {c.w.add("Abs", {x}), c.w.constant(1.0 / 3, c.type())});
  return lazy(c, c.w.add("Mul", {c.w.add("Sign", {x}), root}));
}

Value is_finite(Call& c) {
  const std::string x = operands(c, 1)[0];
  return lazy(c, c.w.add("Not", {c.w.add("Or", {c.w.add("IsInf", {x}), c.w.add("IsNaN", {x})})}));
}

}  // namespace

const std::vector<Row>& elementwise_rows() {
  static const std::vector<Row> rows = [] {
    std::vector<Row> all = {{"and", binary},          {"cbrt", cbrt},           {"clamp", clamp},
                            {"compare", compare},     {"convert", convert},     {"exponential-minus-one", expm1},
                            {"is-finite", is_finite}, {"log-plus-one", log1p},  {"not", logical_not},
                            {"or", binary},           {"remainder", remainder}, {"rsqrt", rsqrt},
                            {"select", select},       {"xor", binary}};
    for (const Function& f : kUnary) all.push_back({f.opcode, unary});
    for (const Function& f : kBinary) all.push_back({f.opcode, binary});
    return all;
  }();
  return rows;
}

}  // namespace superstep::xla_import
