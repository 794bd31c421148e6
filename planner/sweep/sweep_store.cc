// SPDX-License-Identifier: Apache-2.0
#include "planner/sweep/sweep_store.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/file.h>
#include <unistd.h>
#include <nlohmann/json.hpp>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "model/error.h"
#include "planner/cost/sqlite_statement.h"

namespace superstep {
namespace {

using nlohmann::json;

constexpr std::int64_t kApplication = 0x53535753;  // "SSWS": marks the file for SQLite and file(1)

constexpr const char* kSchema = R"(
CREATE TABLE sweep (question TEXT NOT NULL);
CREATE TABLE items (
  item INTEGER PRIMARY KEY,
  key TEXT NOT NULL UNIQUE,
  grid TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('planned', 'infeasible', 'failed')),
  reason TEXT NOT NULL,
  label TEXT, fits TEXT, plan TEXT,
  global_batch INTEGER,
  samples_per_second REAL, step_time_s REAL, step_time_low_s REAL, step_time_high_s REAL,
  tile_peak_bytes INTEGER, ddr_bytes_per_ipu INTEGER,
  gap REAL,
  seconds REAL NOT NULL
);
)";

PlanStatus status_of(const std::string& name) {
  for (PlanStatus s : {PlanStatus::planned, PlanStatus::infeasible}) {
    if (name == name_of(s)) return s;
  }
  return PlanStatus::failed;
}

}  // namespace

struct SweepStore::Database {
  explicit Database(std::string file) : path(std::move(file)) {}
  ~Database() {
    sqlite3_close(handle);
    if (lock >= 0) close(lock);  // last: closing any descriptor of a file drops SQLite's locks on the file
  }

  // Locks the file for this process. The system frees the lock when the process ends, however it ends. SQLite's own
  // locks last for one transaction, so that other processes can read in between.
  void take_lock() {
    lock = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (lock < 0) throw Error(path, std::string("cannot be written: ") + std::strerror(errno));
    constexpr int kTries = 20;  // a process that was just killed holds the lock until it is gone
    int failed = flock(lock, LOCK_EX | LOCK_NB);
    for (int i = 1; i < kTries && failed != 0 && errno == EWOULDBLOCK; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      failed = flock(lock, LOCK_EX | LOCK_NB);
    }
    if (failed == 0) return;
    if (errno == EWOULDBLOCK)
      throw Error(path, "another process is writing to it; wait until it is done, or give another file with -o");
    throw Error(path, std::string("cannot be locked: ") + std::strerror(errno));
  }
  std::string path;
  sqlite3* handle = nullptr;
  int lock = -1;
};

SweepRow row_of(std::int64_t item, std::string key, json grid, const PlannedJob& planned, double seconds) {
  SweepRow row;
  row.item = item;
  row.key = std::move(key);
  row.grid = std::move(grid);
  row.status = planned.status;
  row.reason = planned.reason;
  row.seconds = seconds;
  if (planned.status != PlanStatus::planned) return row;
  row.label = label(planned.plan);
  row.fits = planned.fits;
  row.plan = to_json(planned.plan);
  row.global_batch = planned.plan.global_batch();
  row.samples_per_second = planned.samples_per_second;
  row.step_seconds = planned.step_seconds;
  row.step_band = planned.step_band;
  row.tile_peak = planned.tile_peak;
  row.ddr_per_ipu = planned.ddr_per_ipu;
  row.gap = planned.gap;
  return row;
}

SweepStore::SweepStore(const std::string& path) : path_(path), database_(new Database(path)) {
  Database& db = *database_;
  if (!path.empty()) db.take_lock();
  if (sqlite3_open(path.empty() ? ":memory:" : path.c_str(), &db.handle) != SQLITE_OK) fail_as_sqlite(db.handle, path_);
  sqlite3_busy_timeout(db.handle, 10'000);  // milliseconds; a reader locks the file while it reads
  claim_database(db.handle, path_, kApplication, kSchema, "results of a sweep");
}
SweepStore::~SweepStore() = default;

json SweepStore::question_or(const json& asked) {
  {
    Statement find(database_->handle, "SELECT question FROM sweep", path_);
    if (find.step()) return json::parse(find.text());
  }
  Statement keep(database_->handle, "INSERT INTO sweep VALUES (?)", path_);
  (keep << asked.dump()).step();
  return asked;
}

void SweepStore::append(const SweepRow& r) {
  const bool planned = r.status == PlanStatus::planned;
  Statement s(database_->handle,
              planned ? "INSERT INTO items (item, key, grid, status, reason, seconds, label, fits, plan, global_batch, "
                        "samples_per_second, step_time_s, step_time_low_s, step_time_high_s, tile_peak_bytes, "
                        "ddr_bytes_per_ipu, gap) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
                      : "INSERT INTO items (item, key, grid, status, reason, seconds) VALUES (?, ?, ?, ?, ?, ?)",
              path_);
  s << r.item << r.key << r.grid.dump() << std::string(name_of(r.status)) << r.reason << r.seconds;
  if (planned) {
    s << r.label << r.fits << r.plan.dump() << r.global_batch << r.samples_per_second << r.step_seconds
      << r.step_band.low << r.step_band.high << r.tile_peak << r.ddr_per_ipu << r.gap;
  }
  s.step();
}

std::vector<SweepRow> SweepStore::rows() const {
  Statement s(database_->handle,
              "SELECT item, key, grid, status, reason, seconds, label, fits, plan, global_batch, samples_per_second, "
              "step_time_s, step_time_low_s, step_time_high_s, tile_peak_bytes, ddr_bytes_per_ipu, gap "
              "FROM items ORDER BY item",
              path_);
  std::vector<SweepRow> all;
  while (s.step()) {
    SweepRow& r = all.emplace_back();
    r.item = s.integer();
    r.key = s.text();
    r.grid = json::parse(s.text());
    r.status = status_of(s.text());
    r.reason = s.text();
    r.seconds = s.number();
    if (r.status != PlanStatus::planned) continue;
    r.label = s.text();
    r.fits = s.text();
    r.plan = json::parse(s.text());
    r.global_batch = s.integer();
    r.samples_per_second = s.number();
    r.step_seconds = s.number();
    r.step_band.low = s.number();
    r.step_band.high = s.number();
    r.tile_peak = s.integer();
    r.ddr_per_ipu = s.integer();
    r.gap = s.number();
  }
  return all;
}

}  // namespace superstep
