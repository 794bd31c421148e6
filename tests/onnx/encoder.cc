// SPDX-License-Identifier: Apache-2.0
#include "tests/onnx/encoder.h"

#include <cmath>

namespace superstep::test {

namespace {

class EncoderMaker {
 public:
  explicit EncoderMaker(const EncoderSpec& spec) : s_(spec), f_(spec.opset), old_(spec.opset < 13) {}

  FileMaker make() {
    f_.input("ids", {s_.batch, s_.sequence}, kInt64).input("mask", {s_.batch, s_.sequence}).output("logits");
    constants();
    std::string x = embedding();
    const std::string mask = score_mask();
    for (std::int64_t i = 0; i < s_.layers; ++i) {
      const std::string at = "/encoder/layer." + std::to_string(i) + "/";
      x = norm(at + "norm1", add(at + "add1", x, attention(at + "attention/", x, mask)));
      x = norm(at + "norm2", add(at + "add2", x, feed_forward(at + "ffn/", x)));
    }
    node("MatMul", {x, weight("/head/decoder", {s_.hidden, s_.vocabulary})}, "logits");
    if (s_.loss) add_loss();
    return f_;
  }

 private:
  std::string node(const std::string& op, const Names& inputs, const std::string& output) {
    f_.node(op, inputs, {output}, output);
    return output;
  }

  std::string weight(const std::string& name, const Extents& shape, float shift = 0) {
    std::int64_t count = 1;
    for (std::int64_t extent : shape) count *= extent;
    std::vector<float> values = numbers(count, ++seed_);
    for (float& v : values) v = 0.5f * v + shift;
    f_.floats(name, shape, values);
    return name;
  }

  void constants() {
    f_.floats("one", {}, {1}).floats("two", {}, {2}).floats("low", {}, {-10000}).floats("epsilon", {}, {1e-5f});
    f_.floats("half", {}, {0.5}).floats("root2", {}, {std::sqrt(2.0f)});
    f_.floats("scale", {}, {std::sqrt(static_cast<float>(s_.hidden / s_.heads))});
    f_.integers("heads", {1}, {s_.heads}).integers("rest", {1}, {-1}).integers("hidden", {1}, {s_.hidden});
    f_.integers("zero", {1}, {0}).integers("two_i", {1}, {2}).integers("middle", {2}, {1, 2});
    f_.integers("split_heads", {4}, {s_.batch, s_.sequence, s_.heads, s_.hidden / s_.heads});
    f_.integers("join_heads", {3}, {s_.batch, s_.sequence, s_.hidden});
    f_.integers("positions", {1, s_.sequence}, counting(s_.sequence));
  }

  static std::vector<std::int64_t> counting(std::int64_t n) {
    std::vector<std::int64_t> values;
    for (std::int64_t i = 0; i < n; ++i) values.push_back(i);
    return values;
  }

  std::string add(const std::string& name, const std::string& a, const std::string& b) {
    return node("Add", {a, b}, name);
  }

  std::string embedding() {
    const std::string words = node("Gather", {weight("words", {s_.vocabulary, s_.hidden}), "ids"}, "/embedding/words");
    const std::string places =
        node("Gather", {weight("places", {s_.sequence, s_.hidden}), "positions"}, "/embedding/places");
    return norm("/embedding/norm", add("/embedding/add", words, places));
  }

  // (1 - mask) * low, [batch, 1, 1, sequence]
  std::string score_mask() {
    std::string wide = "/mask/wide";
    if (old_) f_.node("Unsqueeze", {"mask"}, {wide}, wide).set("axes", Extents{1, 2});
    if (!old_) node("Unsqueeze", {"mask", "middle"}, wide);
    return node("Mul", {node("Sub", {"one", wide}, "/mask/off"), "low"}, "/mask/scores");
  }

  std::string mean(const std::string& name, const std::string& x) {
    f_.node("ReduceMean", {x}, {name}, name).set("axes", Extents{-1}).set("keepdims", 1);
    return name;
  }

  std::string norm(const std::string& name, const std::string& x) {
    const std::string gamma = weight(name + ".gamma", {s_.hidden}, 1), beta = weight(name + ".beta", {s_.hidden});
    if (s_.opset >= 17) {
      f_.node("LayerNormalization", {x, gamma, beta}, {name}, name).set("axis", -1).set("epsilon", 1e-5f);
      return name;
    }
    const std::string centred = node("Sub", {x, mean(name + "/mean", x)}, name + "/centred");
    const std::string variance = mean(name + "/variance", node("Pow", {centred, "two"}, name + "/square"));
    const std::string deviation = node("Sqrt", {add(name + "/shifted", variance, "epsilon")}, name + "/deviation");
    const std::string unit = node("Div", {centred, deviation}, name + "/unit");
    return add(name, node("Mul", {unit, gamma}, name + "/scaled"), beta);
  }

  std::string dense(const std::string& name, const std::string& x, std::int64_t rows, std::int64_t columns) {
    const std::string product = node("MatMul", {x, weight(name + ".weight", {rows, columns})}, name + "/product");
    return add(name, product, weight(name + ".bias", {columns}));
  }

  // The target [batch, sequence, ...] computed from the operand's shape, as exporters of old did.
  std::string computed_target(const std::string& name, const std::string& x, const Names& tail) {
    const std::string shape = node("Shape", {x}, name + "/shape");
    const std::string lead = node("Slice", {shape, "zero", "two_i"}, name + "/lead");
    Names parts{lead};
    parts.insert(parts.end(), tail.begin(), tail.end());
    f_.node("Concat", parts, {name + "/target"}, name + "/target").set("axis", 0);
    return name + "/target";
  }

  std::string transposed(const std::string& name, const std::string& x, const Extents& order) {
    f_.node("Transpose", {x}, {name}, name).set("perm", order);
    return name;
  }

  std::string head_view(const std::string& name, const std::string& x, const Extents& order) {
    const std::string target = old_ ? computed_target(name, x, {"heads", "rest"}) : "split_heads";
    return transposed(name + "/heads", node("Reshape", {x, target}, name + "/apart"), order);
  }

  std::string attention(const std::string& at, const std::string& x, const std::string& mask) {
    Names parts;
    if (old_) {
      const std::string all = dense(at + "qkv", x, s_.hidden, 3 * s_.hidden);
      parts = {at + "q", at + "k", at + "v"};
      f_.node("Split", {all}, parts, at + "split").set("axis", 2);
    } else {
      weight_columns(at + "qkv");
      for (const char* part : {"q", "k", "v"}) parts.push_back(third(at + "qkv", x, part));
    }
    const std::string q = head_view(at + "q2", parts[0], {0, 2, 1, 3}),
                      k = head_view(at + "k2", parts[1], {0, 2, 3, 1});
    const std::string v = head_view(at + "v2", parts[2], {0, 2, 1, 3});
    const std::string scores = node("Div", {node("MatMul", {q, k}, at + "raw"), "scale"}, at + "scaled");
    const std::string masked = add(at + "masked", scores, mask), weights = at + "weights";
    f_.node("Softmax", {masked}, {weights}, weights).set("axis", old_ ? 3 : -1);
    f_.node("Dropout", {weights}, {at + "kept"}, at + "kept");
    const std::string mixed = transposed(at + "mixed", node("MatMul", {at + "kept", v}, at + "context"), {0, 2, 1, 3});
    const std::string target = old_ ? computed_target(at + "joined", mixed, {"hidden"}) : "join_heads";
    return dense(at + "out", node("Reshape", {mixed, target}, at + "joined"), s_.hidden, s_.hidden);
  }

  // The same numbers as dense(name, x, hidden, 3 hidden) has, cut into three layers.
  void weight_columns(const std::string& name) {
    const std::vector<float> w = numbers(3 * s_.hidden * s_.hidden, ++seed_), b = numbers(3 * s_.hidden, ++seed_);
    const char* parts[] = {"q", "k", "v"};
    for (std::int64_t part = 0; part < 3; ++part) {
      std::vector<float> own, bias;
      for (std::int64_t row = 0; row < s_.hidden; ++row) {
        for (std::int64_t i = 0; i < s_.hidden; ++i) {
          own.push_back(0.5f * w[static_cast<std::size_t>((row * 3 + part) * s_.hidden + i)]);
        }
      }
      for (std::int64_t i = 0; i < s_.hidden; ++i)
        bias.push_back(0.5f * b[static_cast<std::size_t>(part * s_.hidden + i)]);
      f_.floats(name + "." + parts[part] + ".weight", {s_.hidden, s_.hidden}, own);
      f_.floats(name + "." + parts[part] + ".bias", {s_.hidden}, bias);
    }
  }

  std::string third(const std::string& name, const std::string& x, const std::string& part) {
    const std::string product = node("MatMul", {x, name + "." + part + ".weight"}, name + "/" + part + "/product");
    return add(name + "/" + part, product, name + "." + part + ".bias");
  }

  // 0.5 x (1 + erf(x / sqrt(2)))
  std::string gelu(const std::string& name, const std::string& x) {
    const std::string erf = node("Erf", {node("Div", {x, "root2"}, name + "/over")}, name + "/erf");
    return node("Mul", {node("Mul", {x, add(name + "/plus", erf, "one")}, name + "/twice"), "half"}, name);
  }

  std::string feed_forward(const std::string& at, const std::string& x) {
    const std::string up = gelu(at + "gelu", dense(at + "up", x, s_.hidden, 4 * s_.hidden));
    return dense(at + "down", up, 4 * s_.hidden, s_.hidden);
  }

  void add_loss() {
    f_.input("labels", {s_.batch, s_.sequence}, kInt64).output("loss");
    f_.integers("rows", {2}, {s_.batch * s_.sequence, s_.vocabulary}).integers("row", {1}, {-1});
    const std::string rows = node("Reshape", {"logits", "rows"}, "/loss/rows");
    const std::string labels = node("Reshape", {"labels", "row"}, "/loss/labels");
    f_.node("SoftmaxCrossEntropyLoss", {rows, labels}, {"loss"}, "loss")
        .set("reduction", "mean")
        .set("ignore_index", -100);
  }

  const EncoderSpec s_;
  FileMaker f_;
  bool old_;
  unsigned seed_ = 0;
};

}  // namespace

FileMaker encoder_file(const EncoderSpec& spec) { return EncoderMaker(spec).make(); }

}  // namespace superstep::test
