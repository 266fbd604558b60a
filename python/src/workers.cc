#include "workers.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "penstock/base/clock.h"

extern char** environ;

namespace penstock::python {
namespace {

constexpr int kPollMs = 20;
constexpr int kSocketInWorker = 3;
constexpr int kArenaInWorker = 4;

WorkerProgram& program() {
  static auto* instance = new WorkerProgram;
  return *instance;
}

std::int64_t now() { return Clock::real().now(); }

Status spawn_failed(const char* what, int error) {
  return absl::UnavailableError(
      absl::StrCat("worker processes: ", what, ": ", strerror(error)));
}

/// A spawned interpreter at the other end of a socket.
class ProcessLink final : public WorkerLink {
 public:
  ProcessLink(pid_t pid, int socket, Ref<Buffer> slot)
      : pid_(pid), socket_(socket), slot_(std::move(slot)) {}
  ~ProcessLink() override;
  ProcessLink(const ProcessLink&) = delete;
  ProcessLink& operator=(const ProcessLink&) = delete;

  bool send(const Message& message) override;
  Received receive(Message& message, std::int64_t timeout_ns,
                   const std::function<bool()>& cancelled) override;
  bool has_sent() const override;
  std::int64_t row() const override {
    return reinterpret_cast<std::atomic<std::int64_t>*>(slot_->data())
        ->load(std::memory_order_relaxed);
  }
  int process() const override { return pid_; }
  std::string kill() override;

 private:
  pid_t pid_;
  int socket_;
  Ref<Buffer> slot_;
  bool greeted_ = false;
};

StatusOr<std::unique_ptr<WorkerLink>> spawn() {
  PS_ASSIGN_OR_RETURN(Arena * arena, Arena::instance());
  PS_ASSIGN_OR_RETURN(Ref<Buffer> slot, arena->allocate(64));
  auto* progress = new (slot->data()) std::atomic<std::int64_t>(-1);
  (void)progress;
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    return spawn_failed("socketpair", errno);
  }
  // Out of the way of the numbers that the worker expects.
  const int theirs = fcntl(ends[1], F_DUPFD_CLOEXEC, 16);
  const int memory = fcntl(arena->fd(), F_DUPFD_CLOEXEC, 16);
  close(ends[1]);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs, kSocketInWorker);
  posix_spawn_file_actions_adddup2(&actions, memory, kArenaInWorker);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::vector<std::string> arguments = program().argv;
  for (const std::uint64_t number :
       {std::uint64_t{kSocketInWorker}, std::uint64_t{kArenaInWorker},
        static_cast<std::uint64_t>(arena->reserved()), arena->offset_of(*slot),
        static_cast<std::uint64_t>(getpid())}) {
    arguments.push_back(std::to_string(number));
  }
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_t pid = 0;
  const int error = arguments.size() < 6
                        ? EINVAL
                        : posix_spawnp(&pid, argv[0], &actions, &attributes,
                                       argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  close(theirs);
  close(memory);
  if (error != 0) {
    close(ends[0]);
    return spawn_failed("cannot start the interpreter", error);
  }
  return std::make_unique<ProcessLink>(pid, ends[0], std::move(slot));
}

class ProcessTransport final : public WorkerTransport {
 public:
  StatusOr<std::unique_ptr<WorkerLink>> start() override { return spawn(); }
};

ProcessLink::~ProcessLink() {
  if (pid_ > 0) kill();
  if (socket_ >= 0) close(socket_);
}

bool ProcessLink::send(const Message& message) {
  ssize_t sent = 0;
  do {
    sent = ::send(socket_, &message, sizeof(message), MSG_NOSIGNAL);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(sizeof(message));
}

WorkerLink::Received ProcessLink::receive(
    Message& message, std::int64_t timeout_ns,
    const std::function<bool()>& cancelled) {
  std::int64_t seen_row = -2;
  std::int64_t since = now();
  for (;;) {
    pollfd waiting{socket_, POLLIN, 0};
    const int ready = poll(&waiting, 1, kPollMs);
    if (ready > 0) {
      const ssize_t got = recv(socket_, &message, sizeof(message), 0);
      if (got == static_cast<ssize_t>(sizeof(message))) {
        greeted_ = true;
        if (message.kind == Message::kReady) continue;
        return Received::kMessage;
      }
      if (got < 0 && errno == EINTR) continue;
      return Received::kDied;
    }
    if (cancelled && cancelled()) return Received::kCancelled;
    if (timeout_ns <= 0) continue;
    // A worker that still starts has not taken a row yet.
    if (const std::int64_t at = row(); at != seen_row || at < 0) {
      seen_row = at;
      since = now();
    } else if (now() - since > timeout_ns) {
      return Received::kTimeout;
    }
  }
}

bool ProcessLink::has_sent() const {
  pollfd waiting{socket_, POLLIN, 0};
  return greeted_ || poll(&waiting, 1, 0) > 0;
}

std::string ProcessLink::kill() {
  // The cause of its death, if it is dead already; else ours, after a moment
  // for one that closed its socket because it exits.
  int status = 0;
  pid_t done = 0;
  for (int i = 0; i < 20 && done == 0; ++i) {
    done = waitpid(pid_, &status, WNOHANG);
    if (done == 0) {
      pollfd hung{socket_, POLLIN, 0};
      const bool closed = poll(&hung, 1, 0) > 0;
      if (!closed) break;  // alive
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
  }
  const bool ours = done == 0;
  if (ours) {
    ::kill(pid_, SIGKILL);
    do {
      done = waitpid(pid_, &status, 0);
    } while (done < 0 && errno == EINTR);
  }
  pid_ = -1;
  if (ours) return "was ended";
  if (done < 0) return "died";
  if (WIFSIGNALED(status)) {
    const char* name = sigabbrev_np(WTERMSIG(status));
    return absl::StrCat("was killed by SIG", name != nullptr ? name : "?",
                        " (signal ", WTERMSIG(status), ")");
  }
  return absl::StrCat("exited with code ", WEXITSTATUS(status));
}

}  // namespace

void set_worker_program(WorkerProgram p) { program() = std::move(p); }

std::shared_ptr<WorkerTransport> WorkerTransport::processes() {
  return std::make_shared<ProcessTransport>();
}

// --------------------------------------------------------------------------

struct WorkerPool::State {
  // Each holds some 40 MB, and what the function imports.
  static constexpr int kMostWorkers = 128;

  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::unique_ptr<Worker>> idle;
  int total = 0;    // idle, at work or being started
  int at_work = 0;  // acquired
  int waiting = 0;  // in acquire(), and may have one
  int unready = 0;  // acquired, but still starting
  bool launching = false;
  int wanted = 0;  // to be started by the launcher
  Status failure;  // of the last start
  bool down = false;
  std::shared_ptr<WorkerTransport> transport = WorkerTransport::processes();
  int generation = 0;  // renewed so many times

  void launch() {
    for (;;) {
      std::shared_ptr<WorkerTransport> from;
      int born = 0;
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [this] { return wanted > 0; });
        --wanted;
        from = transport;
        born = generation;
      }
      auto link = from->start();
      std::lock_guard lock(mutex);
      if (link.ok() && !down && born == generation) {
        idle.push_back(std::make_unique<Worker>(*std::move(link)));
        idle.back()->generation = born;
      } else {
        --total;
        failure = link.status();
      }
      changed.notify_all();
    }
  }
  int starting() const {
    return total - at_work - static_cast<int>(idle.size());
  }
  void want(int count) {
    total += count;
    wanted += count;
    if (!launching) {
      launching = true;
      std::thread([this] { launch(); }).detach();
    }
    changed.notify_all();
  }
};

WorkerPool::WorkerPool() : state_(new State) {}

struct PoolReset {
  static void run() {
    // The parent's workers are the parent's.
    WorkerPool::instance().state_ = new WorkerPool::State;
  }
};

WorkerPool& WorkerPool::instance() {
  static WorkerPool* pool = [] {
    auto* made = new WorkerPool;
    pthread_atfork(nullptr, nullptr, [] { PoolReset::run(); });
    return made;
  }();
  return *pool;
}

StatusOr<std::unique_ptr<Worker>> WorkerPool::acquire(
    WorkerShare& share, const std::function<bool()>& cancelled) {
  State& s = *state_;
  std::unique_lock lock(s.mutex);
  s.failure = absl::OkStatus();
  if (std::exchange(share.pool, &s) != &s) share.at_work = 0;
  bool waiting = false;
  const auto wait = [&](bool on) {
    if (waiting != on) s.waiting += on ? 1 : -1;
    waiting = on;
  };
  for (;;) {
    const bool may_have = share.at_work < share.most.load();
    wait(may_have);
    Status status;
    if (s.down) status = absl::CancelledError("the interpreter exits");
    if (status.ok() && may_have && !s.idle.empty()) {
      wait(false);
      ++share.at_work;
      ++s.at_work;
      auto worker = std::move(s.idle.front());
      s.idle.pop_front();
      return worker;
    }
    if (status.ok()) status = s.failure;
    // No more at once than can start: the first would be ready with the last.
    const int at_once = static_cast<int>(std::thread::hardware_concurrency());
    if (status.ok() && may_have && s.starting() < s.waiting &&
        s.starting() + s.unready < std::max(1, at_once) &&
        s.total < State::kMostWorkers) {
      s.want(1);
    }
    if (status.ok()) {
      s.changed.wait_for(lock, std::chrono::milliseconds(kPollMs));
      if (cancelled && cancelled()) status = absl::CancelledError("cancelled");
    }
    if (!status.ok()) {
      wait(false);
      return status;
    }
  }
}

void WorkerPool::wait_until_started(const Worker& worker,
                                    const std::function<bool()>& cancelled) {
  if (worker.has_sent()) return;
  State& s = *state_;
  const auto count = [&](int by) {
    std::lock_guard lock(s.mutex);
    s.unready += by;
    s.changed.notify_all();
  };
  count(1);
  while (!worker.has_sent() && !cancelled()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  count(-1);
}

void Worker::forget_gone() {
  for (auto it = functions_.begin(); it != functions_.end();) {
    if (!it->second.expired()) {
      ++it;
      continue;
    }
    Message message;
    message.kind = Message::kForget;
    message.function = it->first;
    link_->send(message);  // of a dead one nothing is left to forget
    it = functions_.erase(it);
  }
}

void WorkerPool::forget_gone() {
  std::lock_guard lock(state_->mutex);
  for (const auto& worker : state_->idle) worker->forget_gone();
}

void WorkerPool::give_back(std::unique_ptr<Worker> worker, WorkerShare& share) {
  State& s = *state_;
  std::lock_guard lock(s.mutex);
  --share.at_work;
  --s.at_work;
  if (s.down || worker->generation != s.generation) {
    --s.total;
    s.changed.notify_all();
    return;
  }
  worker->forget_gone();
  s.idle.push_front(std::move(worker));  // warm caches first
  s.changed.notify_all();
}

void WorkerPool::lost(WorkerShare& share) {
  State& s = *state_;
  std::lock_guard lock(s.mutex);
  --share.at_work;
  --s.at_work;
  --s.total;
  s.changed.notify_all();
}

void WorkerPool::warm(int count) {
  State& s = *state_;
  std::lock_guard lock(s.mutex);
  if (!s.down && s.total < count) s.want(count - s.total);
}

void WorkerPool::set_transport(std::shared_ptr<WorkerTransport> transport) {
  {
    std::lock_guard lock(state_->mutex);
    state_->transport = std::move(transport);
  }
  renew();
}

int WorkerPool::size() const {
  std::lock_guard lock(state_->mutex);
  return state_->total;
}

bool WorkerPool::ready() const {
  std::lock_guard lock(state_->mutex);
  return std::any_of(state_->idle.begin(), state_->idle.end(),
                     [](const auto& worker) { return worker->has_sent(); });
}

void WorkerPool::renew() {
  State& s = *state_;
  std::deque<std::unique_ptr<Worker>> idle;
  {
    std::lock_guard lock(s.mutex);
    ++s.generation;
    idle.swap(s.idle);
    s.total -= static_cast<int>(idle.size());
    s.changed.notify_all();
  }
}

void WorkerPool::shutdown() {
  State& s = *state_;
  std::deque<std::unique_ptr<Worker>> idle;
  {
    std::lock_guard lock(s.mutex);
    s.down = true;
    idle.swap(s.idle);
    s.total -= static_cast<int>(idle.size());
    s.changed.notify_all();
  }
}

}  // namespace penstock::python
