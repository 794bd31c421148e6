// SPDX-License-Identifier: Apache-2.0
#include "planner/cost/front_cache.h"

#include <elf.h>
#include <link.h>
#include <sqlite3.h>

#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "model/error.h"
#include "planner/cost/sqlite_statement.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr std::int64_t kApplication = 0x53535443;  // "SSTC": marks the cache's files for SQLite and file(1)

constexpr const char* kSchema = R"(
CREATE TABLE build (id TEXT NOT NULL);
CREATE TABLE fronts (
  chip TEXT NOT NULL, shape TEXT NOT NULL, front BLOB NOT NULL,
  PRIMARY KEY (chip, shape)
) WITHOUT ROWID;
)";

// Returns the build ID from the linker as hexadecimal text, since another build may plan tiles in another way. Empty:
// the program has no build ID.
std::string build_id() {
  std::string id;
  const auto look = [](dl_phdr_info* info, std::size_t, void* out) {
    for (int i = 0; i < info->dlpi_phnum; ++i) {
      const ElfW(Phdr)& header = info->dlpi_phdr[i];
      if (header.p_type != PT_NOTE) continue;
      const char* at = reinterpret_cast<const char*>(info->dlpi_addr + header.p_vaddr);
      const char* const end = at + header.p_memsz;
      const auto padded = [](std::size_t n) { return (n + 3) / 4 * 4; };
      while (at + sizeof(ElfW(Nhdr)) <= end) {
        const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
        const char* const text = at + sizeof *note + padded(note->n_namesz);
        if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4)
          static_cast<std::string*>(out)->assign(text, note->n_descsz);
        at = text + padded(note->n_descsz);
      }
    }
    return 1;  // stops: the first object is the program
  };
  dl_iterate_phdr(look, &id);
  std::string text;
  for (const char c : id) text += "0123456789abcdef"[(c >> 4) & 15], text += "0123456789abcdef"[c & 15];
  return text;
}

// Fields that a front depends on, one after the other as text. The structured bindings below name every field, so that
// a struct with a new field does not compile here.
class FieldText {
 public:
  template <class... Fields>
  FieldText& add(const Fields&... fields) {
    (add_one(fields), ...);
    return *this;
  }
  std::string text() const { return list_.dump(); }

 private:
  json list_ = json::array();
  template <class T>
  void add_one(const T& field) {
    if constexpr (requires { field.value; })
      list_.push_back(field.value);
    else if constexpr (std::is_enum_v<T>)
      list_.push_back(static_cast<std::int64_t>(field));
    else
      list_.push_back(field);
  }
};

std::string key_of(const Chip& chip, std::int64_t tiles, const Calibration& calibration) {
  FieldText text;
  const auto& [name, all_tiles, workers, clock, memory, executable, amp, exchange, launch, control] = chip;
  const auto& [half, mixed, single, channels, block, call, load, estimated] = amp;
  const auto& [send, receive, paired, piece, superstep, fragment, phase] = exchange;
  text.add(tiles, all_tiles, workers, clock, memory, executable, launch, control);
  text.add(half, mixed, single, channels, block, call, load, estimated);
  text.add(send, receive, paired, piece, superstep, fragment, phase);
  for (const FittedConstant& constant : fitted_constants()) text.add(constant.get(calibration));
  return text.text();
}

std::string key_of(const ProductShape& shape, std::int64_t parts) {
  FieldText text;
  const auto& [batch, rows, columns, contracted, halo, distinct, operands, partials, depthwise, window] = shape;
  text.add(parts, batch, rows, columns, contracted, halo, distinct, operands, partials);
  if (depthwise) {
    const auto& [share, read, of_weights] = *depthwise;
    const auto& [own, positions, row, high, wide, stride] = share;
    text.add("depthwise", own, positions, row, high, wide, stride, read, of_weights);
  }
  if (window) {
    const auto& [deep, slides, high, wide, new_high, new_wide, line] = *window;
    text.add("window", deep, slides, high, wide, new_high, new_wide, line);
  }
  return text.text();
}

json to_json(const ProductPlan& plan) {
  const auto& [pg, pm, pn, pk, times, swapped, useful, padding, fixed, arrange, plain, paired, partial, reduce, add,
               temporary, total] = plan;
  return {pg,
          pm,
          pn,
          pk,
          times,
          swapped,
          useful.value,
          padding.value,
          fixed.value,
          arrange.value,
          plain.value,
          paired.value,
          partial.value,
          reduce.value,
          add.value,
          temporary.value,
          total.value};
}

ProductPlan plan_of(const json& j) {
  const auto n = [&](std::size_t i) { return j.at(i).get<std::int64_t>(); };
  return {n(0),         n(1),          n(2),          n(3),         n(4),         j.at(5).get<bool>(),
          Cycles(n(6)), Cycles(n(7)),  Cycles(n(8)),  Cycles(n(9)), Bytes(n(10)), Bytes(n(11)),
          Bytes(n(12)), Cycles(n(13)), Cycles(n(14)), Bytes(n(15)), Cycles(n(16))};
}

}  // namespace

struct FrontCache::State {
  explicit State(std::string file) : path(std::move(file)) {}
  ~State() {
    find.reset();
    sqlite3_close(handle);
  }
  void run(const std::string& sql) const {
    if (sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail_as_sqlite(handle, path);
  }

  std::string path, build = build_id();
  sqlite3* handle = nullptr;
  std::mutex mutex;
  std::unique_ptr<Statement> find;
  using Key = std::pair<std::string, std::string>;  // texts of key_of(): chip and shape
  std::map<Key, std::vector<std::uint8_t>> fresh;   // fronts to be written, as CBOR
};

class FrontCache::Store : public FrontStore {
 public:
  Store(std::shared_ptr<State> state, std::string chip) : state_(std::move(state)), chip_(std::move(chip)) {}

  std::vector<ProductPlan> find(const ProductShape& shape, std::int64_t parts) override {
    std::vector<ProductPlan> front;
    std::vector<std::uint8_t> bytes;
    {
      const std::lock_guard lock(state_->mutex);
      Statement& find = *state_->find;
      find.reset();
      if (!(find << chip_ << key_of(shape, parts)).step()) return {};
      const std::span<const std::uint8_t> found = find.bytes();
      bytes.assign(found.begin(), found.end());
    }
    for (const json& plan : json::from_cbor(bytes)) front.push_back(plan_of(plan));
    return front;
  }

  void add(const ProductShape& shape, std::int64_t parts, const std::vector<ProductPlan>& front) override {
    json list = json::array();
    for (const ProductPlan& plan : front) list.push_back(to_json(plan));
    std::vector<std::uint8_t> bytes = json::to_cbor(list);
    const std::lock_guard lock(state_->mutex);
    state_->fresh[{chip_, key_of(shape, parts)}] = std::move(bytes);
  }

 private:
  std::shared_ptr<State> state_;
  std::string chip_;
};

FrontCache::FrontCache(const std::string& path) : state_(std::make_shared<State>(path)) {
  State& s = *state_;
  if (sqlite3_open(path.c_str(), &s.handle) != SQLITE_OK) fail_as_sqlite(s.handle, s.path);
  sqlite3_busy_timeout(s.handle, 10'000);  // milliseconds to wait for other processes, which write as they end
  claim_database(s.handle, s.path, kApplication, kSchema, "a cache of tile plans");
  Statement known(s.handle, "SELECT count(*) FROM build WHERE id = ?", s.path);
  (known << s.build).step();
  if (known.integer() == 0 || s.build.empty()) {
    known.reset();
    s.run("BEGIN IMMEDIATE; DELETE FROM fronts; DELETE FROM build; INSERT INTO build VALUES ('" + s.build +
          "'); COMMIT;");
  }
  s.find = std::make_unique<Statement>(s.handle, "SELECT front FROM fronts WHERE chip = ? AND shape = ?", s.path);
}
FrontCache::~FrontCache() = default;

std::shared_ptr<FrontStore> FrontCache::of(const Chip& chip, std::int64_t tiles, const Calibration& calibration) {
  return std::make_shared<Store>(state_, key_of(chip, tiles, calibration));
}

void FrontCache::save() {
  State& s = *state_;
  const std::lock_guard lock(s.mutex);
  s.find->reset();
  if (s.fresh.empty()) return;
  s.run("BEGIN IMMEDIATE");
  // Skips the fronts if another build has begun to use the file.
  Statement known(s.handle, "SELECT count(*) FROM build WHERE id = ?", s.path);
  (known << s.build).step();
  const bool ours = known.integer() > 0;
  known.reset();
  if (ours) {
    Statement insert(s.handle, "INSERT OR IGNORE INTO fronts VALUES (?, ?, ?)", s.path);
    for (const auto& [key, front] : s.fresh) {
      insert.reset();
      (insert << key.first << key.second << std::span<const std::uint8_t>(front)).step();
    }
  }
  s.run("COMMIT");
  s.fresh.clear();
}

}  // namespace superstep
