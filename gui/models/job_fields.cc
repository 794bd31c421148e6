// SPDX-License-Identifier: Apache-2.0
#include "gui/models/job_fields.h"

#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QRegularExpression>
#include <algorithm>

static void load_schema() { Q_INIT_RESOURCE(jobs); }  // resources of static libraries wait to be asked for

namespace superstep::gui {
namespace {

// The schema, and what of it a field says.
class Schema {
 public:
  Schema() {
    load_schema();
    QFile file(":/jobs/schema.json");
    if (file.open(QIODevice::ReadOnly)) root_ = QJsonDocument::fromJson(file.readAll()).object();
  }

  std::vector<JobField> fieldsOf(const char* definition, const QString& prefix) const {
    std::vector<JobField> out;
    add(root_["definitions"].toObject()[definition].toObject(), prefix, out);
    return out;
  }

 private:
  QJsonObject root_;

  QJsonObject resolved(QJsonObject schema) const {
    if (schema.contains("$ref")) {
      const QString name = schema["$ref"].toString().section('/', -1);
      return root_["definitions"].toObject()[name].toObject();
    }
    return schema;
  }

  // Single values only: lists are alternatives for a search.
  void addValues(const QJsonObject& schema, JobField& out) const {
    const QString type = schema["type"].toString();
    for (const QJsonValue& value : schema["enum"].toArray()) out.choices.push_back(value);
    if (type == "boolean") out.choices.insert(out.choices.end(), {QJsonValue(false), QJsonValue(true)});
    if (type == "integer") out.whole = true;
    if (type == "number" && out.most == 0) out.most = schema["maximum"].toDouble();
    for (const char* several : {"allOf", "anyOf"}) {
      for (const QJsonValue& one : schema[several].toArray()) addValues(resolved(one.toObject()), out);
    }
  }

  void add(const QJsonObject& schema, const QString& prefix, std::vector<JobField>& out) const {
    const QJsonObject members = schema["properties"].toObject();
    for (const QString& name : ordered(members.keys())) {
      const QJsonObject member = members[name].toObject();
      if (member.contains("properties")) {
        add(member, prefix + name + '/', out);
        continue;
      }
      JobField field{prefix + name, member["description"].toString()};
      addValues(member, field);
      const auto is_word = [](const QJsonValue& v) { return v.isString(); };
      if (std::any_of(field.choices.begin(), field.choices.end(), is_word))  // false and true stand for two of them
        std::erase_if(field.choices, [&](const QJsonValue& v) { return !is_word(v); });
      out.push_back(std::move(field));
    }
  }

  // Those asked for most, then the others by name.
  static QStringList ordered(QStringList names) {
    static const QStringList first{"pipeline_stages", "tensor_parallel",       "replicas", "placement",
                                   "micro_batch",     "gradient_accumulation", "schedule", "recompute"};
    QStringList out;
    for (const QString& name : first) {
      if (names.removeOne(name)) out << name;
    }
    return out + names;
  }
};

const Schema& schema() {
  static const Schema all;
  return all;
}

}  // namespace

const std::vector<JobField>& plan_fields() {
  static const std::vector<JobField> fields = schema().fieldsOf("plan", "");
  return fields;
}

const JobField* machine_field(const QString& pointer) {
  static const std::vector<JobField> fields = schema().fieldsOf("machine_override", "/");
  for (const JobField& field : fields) {
    if (field.path == pointer) return &field;
  }
  return nullptr;
}

QString field_title(const QString& path) {
  QString out = path.section('/', -1).replace('_', ' ');
  if (!out.isEmpty()) out[0] = out[0].toUpper();
  return out.replace(QRegularExpression("\\b[Ii]pus?\\b"), "IPU")
      .replace(QRegularExpression("^Io\\b"), "IO")
      .replace(" macs ", " MACs ");
}

QString pin_text(const QJsonValue& value) {
  if (value.isBool()) return value.toBool() ? "true" : "false";
  if (value.isDouble()) return QString::number(value.toDouble());
  QStringList items;
  for (const QJsonValue& item : value.toArray()) items << pin_text(item);
  return items.isEmpty() ? value.toString() : items.join(' ');
}

QJsonValue pin_value(const QString& text) {
  static const QRegularExpression between("[\\s,x]+"), separated("[\\s,]+");
  const auto item = [](const QString& word) -> QJsonValue {
    bool is_number = false;
    const double number = word.toDouble(&is_number);
    if (is_number) return number;
    return word == "true" ? QJsonValue(true) : word == "false" ? QJsonValue(false) : QJsonValue(word);
  };
  const bool mesh = QRegularExpression("^[0-9]+x[0-9]+$").match(text.trimmed()).hasMatch();
  const QStringList words = text.split(mesh ? between : separated, Qt::SkipEmptyParts);
  if (words.isEmpty()) return {};
  if (words.size() == 1) return item(words[0]);
  QJsonArray out;
  for (const QString& word : words) out.append(item(word));
  return out;
}

}  // namespace superstep::gui
