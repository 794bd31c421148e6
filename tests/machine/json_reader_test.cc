// SPDX-License-Identifier: Apache-2.0
#include "model/json_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "model/error.h"

namespace superstep {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& e) {
    return e.what();
  }
  return "accepted";
}

std::string parse_message(const std::string& text) {
  return message_of([&] { parse_json_text(text, "job.json"); });
}

TEST(ParseJson, SaysTheByteOfASyntaxError) {
  EXPECT_THAT(parse_message(R"({"a": 1,})"), StartsWith("job.json at byte 9: "));
  EXPECT_THAT(parse_message(""), StartsWith("job.json at byte 1: "));
  EXPECT_THAT(parse_message(R"({"a": NaN})"), StartsWith("job.json at byte 7: "));
  EXPECT_THAT(parse_message("{} {}"), StartsWith("job.json at byte 4: "));
  EXPECT_THAT(parse_message("[\"\xff\"]"), StartsWith("job.json at byte 3: "));
}

TEST(ParseJson, RefusesAKeyThatComesTwice) {
  EXPECT_EQ(parse_message(R"({"a": [0, {"b/c": 1, "b/c": 2}]})"), "job.json#/a/1/b~1c: this key comes twice");
  EXPECT_EQ(parse_message(R"({"a": {"x": 1}, "b": {"x": 1}})"), "accepted");
}

TEST(ParseJson, RefusesDeepNesting) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_EQ(parse_message(nested(200)), "accepted");
  EXPECT_THAT(parse_message(nested(201)), HasSubstr("nested deeper than 200 levels"));
  EXPECT_THAT(parse_message(nested(1'000'000)), HasSubstr("nested deeper than 200 levels"));
}

TEST(ParseJson, RefusesANumberBeyondADouble) {
  EXPECT_THAT(parse_message(R"({"a": 1e999})"), HasSubstr("number overflow"));
}

TEST(ParseJson, SaysWhichFileCannotBeRead) {
  EXPECT_THAT(message_of([] { parse_json_file("no/such.json"); }), HasSubstr("no/such.json: cannot be read: "));
  EXPECT_THAT(message_of([] { parse_json_file("/tmp"); }), HasSubstr("/tmp: is a folder"));
}

class ReaderOf {
 public:
  explicit ReaderOf(const std::string& text)
      : value_(parse_json_text(text, "job.json")), reader(value_, "job.json", "/plan") {}

 private:
  nlohmann::json value_;

 public:
  JsonReader reader;
};

TEST(JsonReader, ReadsWhatIsThere) {
  ReaderOf of(R"({"s": "x", "i": 3, "f": 1.0, "d": 0.5, "b": true, "o": {"k": 1}})");
  EXPECT_EQ(of.reader.text("s"), "x");
  EXPECT_EQ(of.reader.integer("i", 1, 3), 3);
  EXPECT_EQ(of.reader.integer("f", 1, 3), 1);
  EXPECT_EQ(of.reader.number("d", 0, 1), 0.5);
  EXPECT_EQ(of.reader.number("i", 0, 10), 3.0);
  EXPECT_TRUE(of.reader.boolean_or("b", false));
  EXPECT_EQ(of.reader.object("o").integer("k", 0, 1), 1);
  of.reader.finish();
}

TEST(JsonReader, FallsBackOnlyWhenAbsent) {
  ReaderOf of(R"({"i": "3"})");
  EXPECT_EQ(of.reader.integer_or("j", 0, 9, 7), 7);
  EXPECT_EQ(of.reader.text_or("t", "fallback"), "fallback");
  EXPECT_EQ(of.reader.number_or("n", 0, 1, 0.5), 0.5);
  EXPECT_EQ(of.reader.raw_or_null("z"), nullptr);
  EXPECT_THROW(of.reader.integer_or("i", 0, 9, 7), Error);
}

TEST(JsonReader, RefusesWrongNumbers) {
  ReaderOf of(R"({"half": 1.5, "huge": 1e30, "big": 18446744073709551615, "text": "8", "low": -1, "b": true})");
  const auto integer = [&](const char* key) { return message_of([&] { of.reader.integer(key, 0, 64); }); };
  EXPECT_EQ(integer("half"), "job.json#/plan/half: expected an integer from 0 to 64, found 1.5");
  EXPECT_THAT(integer("huge"), HasSubstr("found 1e+30"));
  EXPECT_THAT(integer("big"), HasSubstr("found 18446744073709551615"));
  EXPECT_THAT(integer("text"), HasSubstr("found \"8\""));
  EXPECT_THAT(integer("low"), HasSubstr("found -1"));
  EXPECT_THAT(integer("b"), HasSubstr("found true"));
  EXPECT_THAT(integer("none"), HasSubstr("job.json#/plan: the key \"none\" is missing"));
  EXPECT_THAT(message_of([&] { of.reader.number("huge", 0, 1); }), HasSubstr("expected a number from 0 to 1"));
}

TEST(JsonReader, SaysWhichKeyMayHaveBeenMeantByAMissingOne) {
  ReaderOf of(R"({"modle": {}, "mode": 1})");
  of.reader.raw("mode");  // a name of its own, near as it is
  EXPECT_EQ(message_of([&] { of.reader.object("model"); }),
            "job.json#/plan: the key \"model\" is missing (did you mean \"model\" by \"modle\"?)");
  EXPECT_EQ(message_of([&] { of.reader.raw("machine"); }), "job.json#/plan: the key \"machine\" is missing");
}

TEST(JsonReader, RefusesNumbersThatAreNoNumbersInMemory) {
  const nlohmann::json value{{"nan", std::numeric_limits<double>::quiet_NaN()}};
  JsonReader reader(value, "job.json");
  EXPECT_THROW(reader.number("nan", -1e300, 1e300), Error);
  EXPECT_THROW(reader.integer("nan", -5, 5), Error);
}

TEST(JsonReader, OffersTheNearestName) {
  ReaderOf of(R"({"schedule": "interleave"})");
  const std::vector<std::string> valid{"sequential", "interleaved", "grouped"};
  EXPECT_EQ(message_of([&] { of.reader.name("schedule", valid); }),
            "job.json#/plan/schedule: unknown name \"interleave\" (did you mean \"interleaved\"?)");
  EXPECT_EQ(of.reader.name_or("other", valid, "grouped"), "grouped");
}

TEST(JsonReader, AKeyNobodyAskedForIsAnError) {
  ReaderOf of(R"({"tensor_paralell": 2})");
  of.reader.integer_or("tensor_parallel", 1, 64, 1);
  of.reader.integer_or("replicas", 1, 64, 1);
  EXPECT_EQ(message_of([&] { of.reader.finish(); }),
            "job.json#/plan/tensor_paralell: unknown key (did you mean \"tensor_parallel\"?)");
}

TEST(JsonReader, WantsAnObject) {
  const nlohmann::json list = nlohmann::json::array({1});
  EXPECT_EQ(message_of([&] { JsonReader(list, "job.json", "/plan"); }),
            "job.json#/plan: expected an object, found an array");
}

TEST(Describe, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(describe("abc"), "\"abc\"");
  EXPECT_EQ(describe(nullptr), "null");
  const std::string cut = describe(std::string(38, 'x') + "\u00e9\u00e9");
  EXPECT_EQ(cut, "\"" + std::string(38, 'x') + "...");
}

TEST(PointerToken, EscapesSlashAndTilde) { EXPECT_EQ(pointer_token("a/b~c"), "a~1b~0c"); }

TEST(JsonReader, ListsOfObjectsKnowWhereTheyStand) {
  const nlohmann::json good = {{"rows", {{{"id", "a"}}, {{"id", "b"}}}}};
  JsonReader r(good, "f.json", "/x");
  std::vector<JsonReader> rows = r.objects("rows");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].text("id"), "b");
  EXPECT_EQ(rows[1].here(), "f.json#/x/rows/1");
  r.finish();
  const auto error_of = [](const nlohmann::json& value) {
    return message_of([&] { JsonReader(value, "f.json").objects("rows"); });
  };
  EXPECT_EQ(error_of({{"rows", 3}}), "f.json#/rows: found 3, expected a list");
  EXPECT_EQ(error_of({{"rows", {{{"id", "a"}}, 3}}}), "f.json#/rows/1: expected an object, found 3");
}

}  // namespace
}  // namespace superstep
