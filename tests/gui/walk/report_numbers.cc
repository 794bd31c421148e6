// SPDX-License-Identifier: Apache-2.0
#include "tests/gui/walk/report_numbers.h"

#include <google/protobuf/message.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

namespace superstep::gui {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

void each_number(const Message& message, ReportNumbers& out) {
  const auto* access = message.GetReflection();
  const auto* type = message.GetDescriptor();
  for (int i = 0; i < type->field_count(); ++i) {
    const FieldDescriptor* field = type->field(i);
    const int size = field->is_repeated() ? access->FieldSize(message, field) : 1;
    for (int k = 0; k < size; ++k) {
      const bool many = field->is_repeated();
      switch (field->cpp_type()) {
        case FieldDescriptor::CPPTYPE_INT64:
          out.add(many ? access->GetRepeatedInt64(message, field, k) : access->GetInt64(message, field));
          break;
        case FieldDescriptor::CPPTYPE_DOUBLE:
          out.add(many ? access->GetRepeatedDouble(message, field, k) : access->GetDouble(message, field));
          break;
        case FieldDescriptor::CPPTYPE_MESSAGE:
          if (many) {
            each_number(access->GetRepeatedMessage(message, field, k), out);
          } else if (access->HasField(message, field)) {
            each_number(access->GetMessage(message, field), out);
          }
          break;
        default:
          break;
      }
    }
  }
}

void each_number(const nlohmann::json& j, ReportNumbers& out) {
  if (j.is_number_integer()) return out.add(j.get<std::int64_t>());
  if (j.is_number()) return out.add(j.get<double>());
  if (j.is_structured()) {
    for (const auto& part : j) each_number(part, out);
  }
}

}  // namespace

void ReportNumbers::add(std::int64_t value) {
  whole_.insert(value);
  reals_.push_back(static_cast<double>(value));
}

void ReportNumbers::add(double value) {
  if (value == std::floor(value) && std::abs(value) < 9e15) whole_.insert(static_cast<std::int64_t>(value));
  reals_.push_back(value);
}

void ReportNumbers::add(const ReportFile& report) {
  add_index(report.index());
  for (const auto& column : report.index().columns()) {
    if (column.unit() == "text") continue;
    try {
      for (const std::int64_t value : report.column_integers(column.name())) add(value);
    } catch (const std::exception&) {
      for (const double value : report.column_reals(column.name())) add(value);
    }
  }
}

void ReportNumbers::add_index(const report::Index& index) {
  each_number(index, *this);
  units_.insert(units_.end(), {1e3, 1e6, 1e-6, 1.0 / 1024, 1.0 / (1 << 20), 1.0 / (1 << 30), 100});
  if (index.clock_hz() > 0) {
    for (const double unit : {1.0, 1e3, 1e6}) units_.push_back(unit / index.clock_hz());
  }
  double terms = 0;  // the shares of a waterfall are of the sum of its terms
  for (const auto& term : index.waterfall()) terms += term.seconds();
  std::vector<double> wholes{terms, index.plan().step_time_s(), static_cast<double>(index.program().cycles()),
                             static_cast<double>(index.plan().tile_limit_bytes())};
  for (const auto& ipu : index.ipu_classes()) wholes.push_back(static_cast<double>(ipu.tile_limit_bytes()));
  for (const double whole : wholes) {
    if (whole > 0) units_.insert(units_.end(), {1 / whole, 100 / whole});
  }
}

void ReportNumbers::add_json(const std::string& text) {
  if (!text.empty()) each_number(nlohmann::json::parse(text), *this);
}

void ReportNumbers::done() {
  std::sort(reals_.begin(), reals_.end());
  reals_.erase(std::unique(reals_.begin(), reals_.end()), reals_.end());
}

bool ReportNumbers::has(const QVariant& value) const {
  if (value.userType() != QMetaType::Double) return whole_.contains(value.toLongLong());
  return std::binary_search(reals_.begin(), reals_.end(), value.toDouble());
}

bool ReportNumbers::near(double value) const {
  const double slack = std::abs(value) * 1e-15 * 4;
  const auto at = std::lower_bound(reals_.begin(), reals_.end(), value - slack);
  return at != reals_.end() && *at <= value + slack;
}

bool ReportNumbers::has_rounded(double value, int decimals) const {
  const double half = 0.5 * std::pow(10, -decimals) * 1.000001;
  const auto within = [&](double unit) {
    const auto at = std::lower_bound(reals_.begin(), reals_.end(), (value - half) / unit);
    return at != reals_.end() && *at <= (value + half) / unit;
  };
  return within(1) || std::any_of(units_.begin(), units_.end(), within);
}

bool ReportNumbers::has_converted(double value) const {
  return std::any_of(units_.begin(), units_.end(), [&](double unit) { return near(value / unit); });
}

}  // namespace superstep::gui
