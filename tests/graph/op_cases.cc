// SPDX-License-Identifier: Apache-2.0
#include "op_cases.h"

namespace superstep {

namespace {

using Ints = std::vector<std::int64_t>;

Attributes attributes(std::vector<std::pair<std::string, AttrValue>> items) {
  Attributes attrs;
  for (auto& [name, value] : items) attrs.set(name, std::move(value));
  return attrs;
}

Operand real(Shape shape, double low = -1.5, double high = 1.5) { return {DType::fp64, std::move(shape), low, high}; }
Operand whole_numbers(Shape shape, double low, double high) { return {DType::int32, std::move(shape), low, high}; }
AttrValue number(std::int64_t v) { return v; }
AttrValue text(const char* v) { return std::string(v); }
AttrValue list(Ints v) { return v; }

void add_unary(std::vector<OpCase>& cases) {
  for (const char* op :
       {"exp",   "expm1",      "tanh",   "sigmoid", "erf",    "relu",          "softplus", "neg",  "abs",
        "sign",  "reciprocal", "square", "sin",     "cos",    "bfloat16",      "atan",     "sinh", "cosh",
        "asinh", "floor",      "ceil",   "round",   "is_nan", "stop_gradient", "copy",     "swish"}) {
    cases.push_back({op, op, {real({3, 5, 4})}, {}});
  }
  for (const char* op : {"log", "sqrt", "rsqrt"}) cases.push_back({op, op, {real({3, 5}, 0.3, 4)}, {}});
  for (const char* op : {"asin", "acos", "atanh"}) cases.push_back({op, op, {real({3, 5}, -0.8, 0.8)}, {}});
  cases.push_back({"tan", "tan", {real({3, 5}, -1, 1)}, {}});
  cases.push_back({"bit_not", "bit_not", {whole_numbers({3, 5}, -9, 9)}, {}});
  cases.push_back({"acosh", "acosh", {real({3, 5}, 1.2, 4)}, {}});
  cases.push_back({"not", "not", {{DType::boolean, {4, 5}, 0, 2}}, {}});
  cases.push_back({"exp_scalar", "exp", {real({})}, {}});
  cases.push_back({"affine", "affine", {real({3, 7})}, attributes({{"scale", -0.5}, {"shift", 2.0}})});
  cases.push_back({"affine_linear", "affine", {real({3, 7})}, attributes({{"scale", 3.0}})});
  cases.push_back({"cast", "cast", {real({3, 7})}, attributes({{"type", text("fp64")}})});
  cases.push_back({"cast_to_half", "cast", {{DType::fp32, {3, 7}}}, attributes({{"type", text("fp16")}})});
  cases.push_back({"cast_from_int", "cast", {whole_numbers({3, 7}, -9, 9)}, attributes({{"type", text("fp32")}})});
  for (const char* form : {"tanh", "none"}) {
    const std::string suffix = std::string("_") + form;
    cases.push_back({"gelu" + suffix, "gelu", {real({4, 6})}, attributes({{"approximate", text(form)}})});
    cases.push_back(
        {"gelu_grad" + suffix, "gelu_grad", {real({4, 6}), real({4, 6})}, attributes({{"approximate", text(form)}})});
  }
  for (const char* op : {"random_uniform", "random_normal"})
    cases.push_back({op, op, {real({4, 3, 5})}, attributes({{"samples", number(4)}, {"key", number(78)}})});
  cases.push_back({"dropout",
                   "dropout",
                   {real({4, 3, 5})},
                   attributes({{"ratio", 0.4}, {"samples", number(4)}, {"key", number(77)}})});
}

void add_binary(std::vector<OpCase>& cases) {
  for (const char* op : {"add", "sub", "mul", "div", "max", "min", "axpby", "equal", "not_equal", "less", "less_equal",
                         "greater", "greater_equal", "mod", "fmod"}) {
    const std::string name = op;
    cases.push_back({name, op, {real({3, 4, 5}), real({3, 4, 5})}, {}});
    cases.push_back({name + "_bias", op, {real({3, 4, 5}), real({5})}, {}});
    cases.push_back({name + "_rows", op, {real({3, 1, 5}), real({4, 1})}, {}});
  }
  for (const char* op : {"bit_and", "bit_or", "bit_xor", "shift_left", "shift_right"})
    cases.push_back({op, op, {whole_numbers({3, 4, 5}, 0, 30), whole_numbers({4, 1}, 0, 9)}, {}});
  cases.push_back({"add_scalar", "add", {real({3, 4}), real({})}, {}});
  cases.push_back({"div_int", "div", {whole_numbers({4, 3}, -9, 9), whole_numbers({3}, 1, 4)}, {}});
  cases.push_back({"pow", "pow", {real({4, 3}, 0.3, 2), real({3}, 0.5, 2)}, {}});
  for (const char* op : {"and", "or", "xor"}) {
    cases.push_back({op, op, {{DType::boolean, {4, 5}, 0, 2}, {DType::boolean, {5}, 0, 2}}, {}});
  }
  for (const char* op : {"relu_grad", "swish_grad"}) cases.push_back({op, op, {real({4, 5}), real({4, 5})}, {}});
  cases.push_back({"trust_ratio",
                   "trust_ratio",
                   {real({2}, 0.5, 2), real({2}, 0.5, 2)},
                   attributes({{"eta", 0.1}, {"decay", 0.2}})});
  cases.push_back({"where", "where", {{DType::boolean, {4, 5}, 0, 2}, real({4, 5}), real({5})}, {}});
}

void add_reduce(std::vector<OpCase>& cases) {
  for (const char* kind : {"sum", "sum_square", "max", "min", "prod"}) {
    const std::string name = std::string("reduce_") + kind;
    cases.push_back({name + "_inner",
                     "reduce",
                     {real({3, 4, 6})},
                     attributes({{"kind", text(kind)}, {"axes", list({2})}, {"keep", number(1)}})});
    cases.push_back(
        {name + "_outer", "reduce", {real({3, 4, 6})}, attributes({{"kind", text(kind)}, {"axes", list({0, 1})}})});
  }
  cases.push_back(
      {"reduce_all", "reduce", {real({3, 4, 6})}, attributes({{"axes", list({0, 1, 2})}, {"scale", 0.25}})});
  cases.push_back({"reduce_half_to_float",
                   "reduce",
                   {{DType::fp16, {5, 7}}},
                   attributes({{"axes", list({1})}, {"type", text("fp32")}})});
}

void add_matmul(std::vector<OpCase>& cases) {
  const auto add = [&](const char* name, Shape a, Shape b, int ta, int tb) {
    cases.push_back({name,
                     "matmul",
                     {real(std::move(a)), real(std::move(b))},
                     attributes({{"transpose_a", number(ta)}, {"transpose_b", number(tb)}})});
  };
  add("matmul", {5, 7}, {7, 6}, 0, 0);
  add("matmul_ta", {7, 5}, {7, 6}, 1, 0);
  add("matmul_tb", {5, 7}, {6, 7}, 0, 1);
  add("matmul_both", {7, 5}, {6, 7}, 1, 1);
  add("matmul_batched", {2, 3, 5, 4}, {2, 3, 4, 6}, 0, 0);
  add("matmul_shared_right", {2, 3, 5}, {5, 4}, 0, 0);
  add("matmul_shared_right_tb", {2, 3, 5}, {4, 5}, 0, 1);
  add("matmul_shared_left", {3, 5}, {2, 5, 4}, 0, 0);
  add("matmul_mixed", {2, 1, 3, 4}, {3, 5, 4}, 0, 1);
  add("matmul_vector", {1, 1, 6}, {6, 3}, 0, 0);
}

void add_layout(std::vector<OpCase>& cases) {
  const auto reshape = [&](const char* name, Shape from, Ints to) {
    cases.push_back({name, "reshape", {real(std::move(from))}, attributes({{"shape", list(std::move(to))}})});
  };
  reshape("reshape_split", {2, 4, 12}, {2, 4, 6, 2});
  reshape("reshape_merge", {4, 3, 2}, {12, 2});
  reshape("reshape_regroup", {6, 4}, {4, 6});
  reshape("reshape_ones", {1, 6, 1, 4}, {6, 4, 1});
  reshape("reshape_scalar", {1, 1}, {});
  reshape("reshape_heads", {2, 3, 24}, {2, 3, 4, 3, 2});
  const auto transpose = [&](const char* name, Shape from, Ints permutation) {
    cases.push_back(
        {name, "transpose", {real(std::move(from))}, attributes({{"permutation", list(std::move(permutation))}})});
  };
  transpose("transpose_matrix", {5, 7}, {1, 0});
  transpose("transpose_heads", {2, 5, 3, 4}, {0, 2, 1, 3});
  transpose("transpose_rotate", {2, 3, 4}, {2, 0, 1});
  cases.push_back({"expand", "expand", {real({3, 1})}, attributes({{"shape", list({2, 3, 4})}})});
  cases.push_back(
      {"slice", "slice", {real({3, 9})}, attributes({{"axis", number(1)}, {"begin", number(2)}, {"end", number(7)}})});
  cases.push_back({"split", "split", {real({3, 9})}, attributes({{"axis", number(1)}, {"sizes", list({2, 4, 3})}})});
  cases.push_back({"concat", "concat", {real({3, 2}), real({3, 4}), real({3, 3})}, attributes({{"axis", number(1)}})});
  cases.push_back({"concat_outer", "concat", {real({3, 2}), real({1, 2})}, attributes({{"axis", number(0)}})});
  cases.push_back({"pad", "pad", {real({3, 4})}, attributes({{"before", list({1, 2})}, {"after", list({0, 3})}})});
  cases.push_back({"pad_value",
                   "pad",
                   {real({3, 4})},
                   attributes({{"before", list({0, 2})}, {"after", list({1, -2})}, {"value", 5.0}})});
}

void add_indexing(std::vector<OpCase>& cases) {
  cases.push_back({"gather", "gather", {real({9, 4}), whole_numbers({2, 5}, 0, 9)}, {}});
  cases.push_back(
      {"gather_axis", "gather", {real({3, 7, 2}), whole_numbers({4}, -7, 7)}, attributes({{"axis", number(1)}})});
  cases.push_back(
      {"gather_last", "gather", {real({3, 7}), whole_numbers({2, 2}, 0, 7)}, attributes({{"axis", number(1)}})});
  cases.push_back({"gather_batched",
                   "gather",
                   {real({3, 7, 4}), whole_numbers({3, 5}, 0, 7)},
                   attributes({{"axis", number(1)}, {"batch_dims", number(1)}})});
  cases.push_back({"gather_scalar", "gather", {real({7, 4}), whole_numbers({}, 0, 7)}, {}});
  cases.push_back({"scatter_add",
                   "scatter_add",
                   {real({2, 5, 4}), whole_numbers({2, 5}, 0, 9)},
                   attributes({{"rows", number(9)}})});
  cases.push_back({"scatter_add_batched",
                   "scatter_add",
                   {real({3, 5, 4}), whole_numbers({3, 5}, 0, 7)},
                   attributes({{"axis", number(1)}, {"batch_dims", number(1)}, {"rows", number(7)}})});
  cases.push_back({"scatter_add_last",
                   "scatter_add",
                   {real({3, 4}), whole_numbers({4}, 0, 6)},
                   attributes({{"axis", number(1)}, {"rows", number(6)}})});
  cases.push_back({"pick", "pick", {real({3, 4, 8}), whole_numbers({3, 4}, -2, 8)}, {}});
  cases.push_back(
      {"place", "place", {real({3, 4}), whole_numbers({3, 4}, -2, 8)}, attributes({{"classes", number(8)}})});
}

void add_conv(std::vector<OpCase>& cases) {
  struct Use {
    const char* name;
    Shape x, w;
    std::int64_t groups;
    Ints strides, dilations, before, after, y;
  };
  const Use uses[] = {
      {"3x3", {2, 3, 6, 7}, {4, 3, 3, 3}, 1, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {6, 7}},
      {"stride2", {1, 3, 7, 8}, {2, 3, 3, 3}, 1, {2, 2}, {1, 1}, {1, 1}, {1, 1}, {4, 4}},
      {"1x1_stride2", {2, 3, 5, 6}, {4, 3, 1, 1}, 1, {2, 2}, {1, 1}, {0, 0}, {0, 0}, {3, 3}},
      {"dilated", {1, 2, 9, 8}, {2, 2, 3, 2}, 1, {1, 2}, {2, 3}, {2, 0}, {1, 1}, {8, 3}},
      {"groups", {2, 6, 5, 5}, {4, 3, 3, 3}, 2, {1, 1}, {1, 1}, {1, 1}, {1, 1}, {5, 5}},
      {"depthwise", {1, 4, 5, 6}, {4, 1, 3, 3}, 4, {2, 1}, {1, 1}, {1, 1}, {1, 1}, {3, 6}},
      {"line", {2, 3, 11}, {2, 3, 4}, 1, {3}, {1}, {2}, {0}, {4}},
      {"cube", {1, 2, 3, 4, 5}, {2, 2, 2, 2, 3}, 1, {1, 1, 2}, {1, 1, 1}, {0, 1, 1}, {0, 0, 1}, {2, 4, 3}},
  };
  for (const Use& u : uses) {
    auto items = [&] {
      return std::vector<std::pair<std::string, AttrValue>>{{"groups", number(u.groups)},
                                                            {"strides", list(u.strides)},
                                                            {"dilations", list(u.dilations)},
                                                            {"pads_begin", list(u.before)},
                                                            {"pads_end", list(u.after)}};
    };
    const std::string name = std::string("conv_") + u.name;
    Shape y{u.x[0], u.w[0]};
    y.insert(y.end(), u.y.begin(), u.y.end());
    cases.push_back({name, "conv", {real(u.x), real(u.w)}, attributes(items())});
    auto back = items();
    back.push_back({"spatial", list(Ints(u.x.begin() + 2, u.x.end()))});
    cases.push_back({name + "_input_grad", "conv_input_grad", {real(y), real(u.w)}, attributes(back)});
    back.back() = {"window", list(Ints(u.w.begin() + 2, u.w.end()))};
    cases.push_back({name + "_weight_grad", "conv_weight_grad", {real(u.x), real(y)}, attributes(back)});
  }
}

void add_pool(std::vector<OpCase>& cases) {
  struct Use {
    const char* name;
    Shape x;
    Ints window, strides, before, after, y;
  };
  const Use uses[] = {
      {"3x3_stride2", {2, 3, 7, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {4, 4}},
      {"2x2", {1, 2, 6, 4}, {2, 2}, {2, 2}, {0, 0}, {0, 0}, {3, 2}},
      {"overlap", {1, 2, 9}, {4}, {1}, {1}, {2}, {9}},
  };
  for (const Use& u : uses) {
    Shape y{u.x[0], u.x[1]};
    y.insert(y.end(), u.y.begin(), u.y.end());
    for (const char* op : {"max_pool", "average_pool"}) {
      std::vector<std::pair<std::string, AttrValue>> items = {{"window", list(u.window)},
                                                              {"strides", list(u.strides)},
                                                              {"pads_begin", list(u.before)},
                                                              {"pads_end", list(u.after)}};
      const std::string name = std::string(op) + "_" + u.name;
      cases.push_back({name, op, {real(u.x)}, attributes(items)});
      items.push_back({"spatial", list(Ints(u.x.begin() + 2, u.x.end()))});
      std::vector<Operand> operands = {real(u.x), real(y)};
      if (std::string(op) == "average_pool") operands.erase(operands.begin());
      cases.push_back({name + "_grad", std::string(op) + "_grad", operands, attributes(items)});
    }
  }
  cases.push_back({"average_pool_counting_pad",
                   "average_pool",
                   {real({1, 2, 5, 5})},
                   attributes({{"window", list({3, 3})},
                               {"pads_begin", list({1, 1})},
                               {"pads_end", list({1, 1})},
                               {"count_include_pad", number(1)}})});
}

void add_scatter(std::vector<OpCase>& cases) {
  for (const char* reduction : {"add", "mul", "max", "min"}) {
    cases.push_back({std::string("scatter_elements_") + reduction,
                     reduction == std::string("add") ? "scatter_elements" : "scatter_join",
                     {real({3, 4, 5}), whole_numbers({3, 6, 5}, -4, 4), real({3, 6, 5})},
                     attributes({{"axis", number(1)}, {"reduction", text(reduction)}})});
  }
  // Which of several updates of an element stays is their order: here one update each.
  cases.push_back(
      {"scatter_elements_none", "scatter_elements", {real({4, 5}), whole_numbers({1, 5}, -4, 4), real({1, 5})}, {}});
  cases.push_back({"scatter_elements_rows",
                   "scatter_elements",
                   {real({4, 5}), whole_numbers({7, 1}, -4, 4), real({7, 5})},
                   attributes({{"reduction", text("add")}})});
  cases.push_back({"top_k", "top_k", {real({3, 6, 2})}, attributes({{"axis", number(1)}, {"k", number(4)}})});
  cases.push_back({"top_k_smallest",
                   "top_k",
                   {real({3, 7})},
                   attributes({{"axis", number(-1)}, {"k", number(2)}, {"largest", number(0)}})});
}

void add_opaque(std::vector<OpCase>& cases) {
  cases.push_back({"deform_columns",
                   "deform_columns",
                   {real({2, 4, 5, 6}), real({2, 8, 4, 5}), real({2, 4, 4, 5})},
                   attributes({{"window", list({2, 2})}, {"offset_groups", number(1)}})});
  for (const char* mode : {"linear", "nearest", "cubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      cases.push_back({std::string("grid_sample_") + mode + "_" + padding,
                       "grid_sample",
                       {real({2, 3, 4, 5}), real({2, 3, 2, 2})},
                       attributes({{"mode", text(mode)}, {"padding", text(padding)}})});
    }
  }
  cases.push_back({"roi_align",
                   "roi_align",
                   {real({2, 3, 6, 6}), real({4, 4}, 0, 5), whole_numbers({4}, 0, 2)},
                   attributes({{"height", number(2)}, {"width", number(3)}, {"sampling_ratio", number(2)}})});
  cases.push_back({"max_pool_places",
                   "max_pool_places",
                   {real({2, 3, 5, 6})},
                   attributes({{"window", list({2, 3})}, {"strides", list({2, 2})}})});
  cases.push_back({"determinant", "determinant", {real({2, 3, 4, 4})}, {}});
  cases.push_back({"tf_idf",
                   "tf_idf",
                   {whole_numbers({3, 9}, 0, 3)},
                   attributes({{"max_length", number(2)},
                               {"max_skip", number(2)},
                               {"counts", list({0, 3})},
                               {"indexes", list({0, 1, 2, 3, 4})},
                               {"pool", list({0, 1, 2, 0, 1, 2, 2})}})});
}

std::vector<OpCase> make_cases() {
  std::vector<OpCase> cases;
  add_unary(cases);
  add_binary(cases);
  add_reduce(cases);
  add_matmul(cases);
  add_layout(cases);
  add_indexing(cases);
  add_conv(cases);
  add_pool(cases);
  add_scatter(cases);
  add_opaque(cases);
  return cases;
}

}  // namespace

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> cases = make_cases();
  return cases;
}

}  // namespace superstep
