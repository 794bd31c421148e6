// SPDX-License-Identifier: Apache-2.0
// Statements of SQLite, for the databases of sweep results and of tile plans.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <span>
#include <string>

#include "model/error.h"

namespace superstep {

// Throws Error at `path` with the last failure of SQLite.
[[noreturn]] inline void fail_as_sqlite(sqlite3* handle, const std::string& path) {
  if (sqlite3_errcode(handle) == SQLITE_NOTADB)
    throw Error(path, "found another kind of file, expected a database of SQLite, or no file");
  throw Error(path, std::string("SQLite says: ") + sqlite3_errmsg(handle));
}

// One prepared statement. Parameters are bound, and columns are read, in the order of the text. Throws Error at `path`,
// which must outlive the statement.
class Statement {
 public:
  Statement(sqlite3* handle, const char* sql, const std::string& path) : handle_(handle), path_(path) {
    check(sqlite3_prepare_v2(handle, sql, -1, &statement_, nullptr));
  }
  ~Statement() { sqlite3_finalize(statement_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds the next parameter.
  Statement& operator<<(const std::string& text) {
    check(sqlite3_bind_text(statement_, ++bound_, text.c_str(), static_cast<int>(text.size()), SQLITE_TRANSIENT));
    return *this;
  }
  Statement& operator<<(std::int64_t v) {
    check(sqlite3_bind_int64(statement_, ++bound_, v));
    return *this;
  }
  Statement& operator<<(double v) {
    check(sqlite3_bind_double(statement_, ++bound_, v));
    return *this;
  }
  Statement& operator<<(std::span<const std::uint8_t> bytes) {
    check(sqlite3_bind_blob(statement_, ++bound_, bytes.data(), static_cast<int>(bytes.size()), SQLITE_TRANSIENT));
    return *this;
  }
  // Goes on to the first or next row. Returns false if there is none.
  bool step() {
    const int code = sqlite3_step(statement_);
    if (code != SQLITE_ROW && code != SQLITE_DONE) check(code);
    read_ = 0;
    return code == SQLITE_ROW;
  }
  // Makes the statement ready to run again. Parameters must be bound anew.
  void reset() {
    sqlite3_reset(statement_);
    bound_ = 0;
  }
  // Return the next column of the row. NULL is an empty text, or 0.
  std::string text() {
    const auto* found = reinterpret_cast<const char*>(sqlite3_column_text(statement_, read_++));
    return found ? found : "";
  }
  std::int64_t integer() { return sqlite3_column_int64(statement_, read_++); }
  double number() { return sqlite3_column_double(statement_, read_++); }
  // Returns the next column of the row, valid until the next step() or reset().
  std::span<const std::uint8_t> bytes() {
    const auto* found = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement_, read_));
    return {found, static_cast<std::size_t>(sqlite3_column_bytes(statement_, read_++))};
  }

 private:
  void check(int code) const {
    if (code != SQLITE_OK) fail_as_sqlite(handle_, path_);
  }
  sqlite3* handle_;
  const std::string& path_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0, read_ = 0;
};

// Returns the first column of the first row of a query.
inline std::int64_t single_number(sqlite3* handle, const char* sql, const std::string& path) {
  Statement s(handle, sql, path);
  s.step();
  return s.integer();
}

// Makes a new database with this schema, unless the file is one already. `application` marks the file for SQLite and
// file(1). `expected` names the kind of file in messages. Throws Error when the file is another program's.
inline void claim_database(sqlite3* handle, const std::string& path, std::int64_t application, const char* schema,
                           const std::string& expected) {
  const std::int64_t found = single_number(handle, "PRAGMA application_id", path);
  if (found == application) return;
  if (found != 0 || single_number(handle, "SELECT count(*) FROM sqlite_master", path) > 0)
    throw Error(path, "found another program's database, expected " + expected + ", or no file");
  const std::string sql =
      "BEGIN IMMEDIATE; PRAGMA application_id = " + std::to_string(application) + ";" + schema + "COMMIT;";
  if (sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) fail_as_sqlite(handle, path);
}

}  // namespace superstep
