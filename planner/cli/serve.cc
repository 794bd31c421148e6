// SPDX-License-Identifier: Apache-2.0
// `superstep serve`: reads requests as JSON lines on standard input and writes answers as JSON lines on standard
// output. Tables stay in memory between requests.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <iostream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "model/error.h"
#include "model/json_reader.h"
#include "planner/cli/options.h"
#include "planner/cli/outcome.h"
#include "planner/cli/why.h"

namespace superstep {
namespace {

using nlohmann::json;

struct Request {
  json id;
  std::string line_name;  // "line 3", for messages
  std::string command = "plan";
  json job;
  json why;  // pins of a why question; null: no question
  bool progress = false;
  bool worlds = false;
  OutcomeOptions options;
  std::shared_ptr<std::atomic<bool>> cancelled = std::make_shared<std::atomic<bool>>(false);
};

// Writes answers, one line each; thread-safe.
class Answers {
 public:
  void write(const json& answer) {
    std::lock_guard lock(mutex_);
    std::cout << answer.dump(-1, ' ', false, json::error_handler_t::replace) << "\n" << std::flush;
  }
  void write_error(const json& id, const char* kind, const std::string& message) {
    write({{"id", id}, {"error", message}, {"kind", kind}});
  }

 private:
  std::mutex mutex_;
};

// Reads a line: a request, or a job alone, which is planned.
void read_request(const json& value, Request& request) {
  if (value.is_object() && value.contains("model")) {
    request.job = value;
    return;
  }
  JsonReader r(value, request.line_name);
  const std::vector<std::string> commands = {"plan", "estimate", "cancel"};
  request.command = r.name_or("command", commands, "plan");
  r.raw_or_null("id");  // read before by the caller, because errors carry the id too
  if (request.command == "cancel") {
    if (request.id.is_null()) throw Error(r.at("id"), "found none, expected the id of the request to cancel");
    r.finish();
    return;
  }
  request.job = r.raw("job");
  request.progress = r.boolean_or("progress", false);
  request.worlds = r.boolean_or("worlds", false);
  if (request.command == "plan") {
    request.options.runners_up = r.has("top");
    request.options.top = r.integer_or("top", 1, 100, request.options.top);
    request.options.time_limit = r.number_or("time_limit", 0, 1e6, request.options.time_limit);
    request.options.pareto = r.boolean_or("pareto", request.options.pareto);
    if (const json* why = r.raw_or_null("why")) {
      request.why = *why;
      read_pins(*why, r.at("why"));
    }
  } else {
    request.options.estimate = true;
  }
  r.finish();
}

// The waiting requests and the running request. The reading thread fills the queue, the working thread empties it.
class Queue {
 public:
  void push(Request request) {
    std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(request));
    changed_.notify_one();
  }
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_one();
  }
  // Waits for the next request. Returns false if no more requests will come.
  bool pop(Request& request) {
    std::unique_lock lock(mutex_);
    running_.reset();
    changed_.wait(lock, [&] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) return false;
    request = std::move(waiting_.front());
    waiting_.pop_front();
    running_ = request.cancelled;
    running_id_ = request.id;
    return true;
  }
  // Cancels every request with this id that has no answer yet. Returns false if there is none.
  bool cancel(const json& id) {
    std::lock_guard lock(mutex_);
    bool found = running_ && running_id_ == id;
    if (found) *running_ = true;
    for (Request& r : waiting_) {
      if (r.id != id) continue;
      *r.cancelled = true;
      found = true;
    }
    return found;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Request> waiting_;
  std::shared_ptr<std::atomic<bool>> running_;
  json running_id_;
  bool closed_ = false;
};

class Server {
 public:
  explicit Server(const CommonOptions& common) : common_(common), warm_(common.cache) {
    common_.progress = "", common_.quiet = true;
  }

  int run() {
    std::jthread reader([this] { read(); });
    Request request;
    while (queue_.pop(request)) {
      answer(request);
      save(warm_);
    }
    return kDone;
  }

 private:
  CommonOptions common_;
  Answers answers_;
  Queue queue_;
  WarmTables warm_;

  void read() {
    std::string line;
    for (std::int64_t number = 1; std::getline(std::cin, line); ++number) {
      if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
      Request request;
      request.line_name = "line " + std::to_string(number);
      try {
        const json value = parse_json_text(line, request.line_name);
        if (value.is_object() && value.contains("id")) request.id = value["id"];
        read_request(value, request);
        if (request.command == "cancel")
          answers_.write({{"id", request.id}, {"command", "cancel"}, {"cancelled", queue_.cancel(request.id)}});
        else
          queue_.push(std::move(request));
      } catch (const std::exception& e) {
        answers_.write_error(request.id, "bad_input", e.what());
      }
    }
    queue_.close();
  }

  json result_of(const Request& request) {
    OutcomeOptions options = request.options;
    options.stop = [cancelled = request.cancelled] { return cancelled->load(); };
    using Clock = std::chrono::steady_clock;
    options.progress = [this, &request, last = Clock::time_point()](double share, const std::string& what) mutable {
      if (!request.progress || Clock::now() - last < std::chrono::milliseconds(100)) return;
      last = Clock::now();
      answers_.write({{"id", request.id}, {"progress", share}, {"what", what}});
    };
    Job job = request.job.is_string() ? load_job(request.job.get<std::string>())
                                      : read_job(request.job, request.line_name + ", job");
    if (options.stop()) throw Stopped();
    const Outcome o = solve(std::move(job), options, common_, warm_);
    check_estimated(o);
    json result = to_json(o);
    for (const char* shown : {"best", "closest"}) {
      if (request.worlds && result.contains(shown)) result[shown]["step_time_in_worlds_s"] = o.shown()->worlds;
    }
    if (!request.why.is_null()) result["why"] = to_json(explain_why_not(o, request.why, options, common_, warm_), o);
    return result;
  }

  void answer(const Request& request) {
    try {
      json result = result_of(request);
      result.update({{"id", request.id}, {"command", request.command}});
      answers_.write(result);
    } catch (const Stopped&) {
      answers_.write_error(request.id, "cancelled", "cancelled");
    } catch (const Unsupported& e) {
      answers_.write_error(request.id, "unsupported", e.what());
    } catch (const Error& e) {
      answers_.write_error(request.id, "bad_input", e.what());
    } catch (const std::filesystem::filesystem_error& e) {
      answers_.write_error(request.id, "bad_input", text_of(e));
    } catch (const std::bad_alloc&) {
      answers_.write_error(request.id, "bad_input", "the job needs more memory than this computer has");
    } catch (const std::exception& e) {
      answers_.write_error(request.id, "internal", std::string("internal error, please report: ") + e.what());
    }
  }
};

}  // namespace

void add_serve(CLI::App& app, CommonOptions& common, Run& run) {
  CLI::App* sub = app.add_subcommand(
      "serve", "Answer jobs as JSON lines on standard input and output, with tables kept warm between them");
  sub->add_option("--threads", common.threads, "Threads to use; all cores by default")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  sub->add_flag("--quiet", common.quiet, "As everywhere: what is written are answers alone");
  add_cache(*sub, common);
  sub->callback([&common, &run] { run = [&common] { return Server(common).run(); }; });
}

}  // namespace superstep
