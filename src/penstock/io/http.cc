#include "penstock/io/http.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "penstock/io/curl_functions_private.h"

namespace penstock {
namespace {

// What open() asks for at once: most small files are then complete.
constexpr std::size_t kFirstBytes = std::size_t{1} << 20;
constexpr double kMaxBackoff = 10;
constexpr double kMaxRetryAfter = 30;
constexpr std::size_t kMaxIdleHandles = 64;
constexpr long kMaxRedirects = 10;

using SteadyClock = std::chrono::steady_clock;

std::mutex g_options_mutex;
HttpOptions& options_locked() {
  static auto* const options = new HttpOptions;
  return *options;
}

/// Connections that wait for their next request. Leaked, as all that threads
/// may still use while the process exits.
struct HandlePool {
  std::mutex mutex;
  std::vector<CURL*> idle;
};
HandlePool* g_pool = nullptr;
HandlePool& pool(const CurlFunctions& curl) {
  static std::once_flag once;
  std::call_once(once, [&] {
    curl.global_init(CURL_GLOBAL_DEFAULT);
    g_pool = new HandlePool;
    // A child of a fork shares the sockets: it must not use them.
    pthread_atfork(nullptr, nullptr, [] { g_pool = new HandlePool; });
  });
  return *g_pool;
}

class Handle {
 public:
  explicit Handle(const CurlFunctions& curl)
      : functions_(curl), pool_(pool(curl)) {
    const std::lock_guard lock(pool_.mutex);
    if (pool_.idle.empty()) {
      curl_ = functions_.init();
    } else {
      curl_ = pool_.idle.back();
      pool_.idle.pop_back();
    }
  }
  ~Handle() {
    if (curl_ == nullptr) return;
    functions_.reset(curl_);  // keeps its connections
    {
      const std::lock_guard lock(pool_.mutex);
      if (pool_.idle.size() < kMaxIdleHandles) {
        pool_.idle.push_back(curl_);
        return;
      }
    }
    functions_.cleanup(curl_);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  CURL* get() const { return curl_; }

 private:
  const CurlFunctions& functions_;
  HandlePool& pool_;
  CURL* curl_;
};

std::optional<std::int64_t> number(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

/// What a server said about the file, in its last response.
struct Reply {
  long status = 0;
  std::int64_t first = -1;   // byte of the file that this response begins with
  std::int64_t total = -1;   // of the whole file
  std::int64_t length = -1;  // of this response
  std::string etag;
  std::string modified;
  double retry_after = 0;

  /// What differs between two versions of the file.
  const std::string& version() const { return etag.empty() ? modified : etag; }
};

/// One exchange: what it wants, and what came.
struct Exchange {
  Reply reply;
  std::int64_t from = 0;
  std::span<std::byte> out;  // where the bytes go ...
  int file = -1;             // ... or the file that takes them
  std::size_t got = 0;
  bool enough = false;     // we ended it: `out` is full
  bool whole = false;      // the server sent the file from its start
  bool misplaced = false;  // it sent other bytes than were asked for
  int write_error = 0;
  std::string why;  // it failed
  double stall_timeout = 0;
  std::optional<SteadyClock::time_point> moved;  // last, once it is connected
  bool stalled = false;
};

std::size_t on_header(char* data, std::size_t size, std::size_t count,
                      void* user) {
  static_cast<Exchange*>(user)->moved = SteadyClock::now();
  Reply& reply = static_cast<Exchange*>(user)->reply;
  const absl::string_view line(data, size * count);
  if (absl::StartsWith(line, "HTTP/")) {
    reply = Reply();  // there may have been a redirect before
    const std::size_t space = line.find(' ');
    if (space != absl::string_view::npos) {
      reply.status = static_cast<long>(
          number({line.data() + space + 1, line.size() - space - 1})
              .value_or(0));
    }
    return size * count;
  }
  const std::size_t colon = line.find(':');
  if (colon == absl::string_view::npos) return size * count;
  const absl::string_view name = line.substr(0, colon);
  const absl::string_view trimmed =
      absl::StripAsciiWhitespace(line.substr(colon + 1));
  const std::string_view value(trimmed.data(), trimmed.size());
  if (absl::EqualsIgnoreCase(name, "content-range")) {
    // "bytes 0-99/1234", "bytes */0"
    const std::size_t slash = value.find('/');
    if (slash != std::string_view::npos) {
      reply.total = number(value.substr(slash + 1)).value_or(-1);
    }
    const std::size_t space = value.find(' ');
    if (space != std::string_view::npos) {
      reply.first = number(value.substr(space + 1)).value_or(-1);
    }
  } else if (absl::EqualsIgnoreCase(name, "content-length")) {
    reply.length = number(value).value_or(-1);
  } else if (absl::EqualsIgnoreCase(name, "etag")) {
    reply.etag = value;
  } else if (absl::EqualsIgnoreCase(name, "last-modified")) {
    reply.modified = value;
  } else if (absl::EqualsIgnoreCase(name, "retry-after")) {
    reply.retry_after = static_cast<double>(number(value).value_or(0));
  }
  return size * count;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count,
                    void* user) {
  Exchange& x = *static_cast<Exchange*>(user);
  x.moved = SteadyClock::now();
  const std::size_t bytes = size * count;
  if (x.reply.status >= 300) return bytes;  // a page about an error
  if (x.reply.status == 200 && x.from > 0) {
    x.whole = true;
    return 0;
  }
  if (x.reply.status == 206 && x.reply.first >= 0 && x.reply.first != x.from) {
    x.misplaced = true;
    return 0;
  }
  if (x.file >= 0) {
    std::size_t done = 0;
    while (done < bytes) {
      const ssize_t n = ::write(x.file, data + done, bytes - done);
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) {
        x.write_error = errno;
        return 0;
      }
      done += static_cast<std::size_t>(n);
    }
    x.got += bytes;
    return bytes;
  }
  const std::size_t take = std::min(bytes, x.out.size() - x.got);
  std::memcpy(x.out.data() + x.got, data, take);
  x.got += take;
  if (take < bytes) {
    x.enough = true;
    return 0;
  }
  return bytes;
}

int on_connected(void* user, char*, char*, int, int) {
  static_cast<Exchange*>(user)->moved = SteadyClock::now();
  return CURL_PREREQFUNC_OK;
}

// libcurl's own limit of speed goes by the mean of the last seconds, and would
// see a transfer that stopped six seconds late.
int on_tick(void* user, curl_off_t, curl_off_t, curl_off_t, curl_off_t) {
  Exchange& x = *static_cast<Exchange*>(user);
  const std::chrono::duration<double> limit(x.stall_timeout);
  x.stalled = x.moved && SteadyClock::now() - *x.moved >= limit;
  return x.stalled ? 1 : 0;
}

bool may_pass(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    // What another answer left on a connection that was kept.
    case CURLE_UNSUPPORTED_PROTOCOL:
    case CURLE_WEIRD_SERVER_REPLY:
      return true;
    default:
      return false;
  }
}
bool may_pass(long status) {
  return status == 408 || status == 425 || status == 429 || status == 500 ||
         status == 502 || status == 503 || status == 504;
}

StatusCode code_of(long status) {
  switch (status) {
    case 401:
    case 403:
      return StatusCode::kPermissionDenied;
    case 404:
    case 410:
      return StatusCode::kNotFound;
    case 416:
      return StatusCode::kOutOfRange;
    default:
      return may_pass(status) ? StatusCode::kUnavailable
                              : StatusCode::kInvalidArgument;
  }
}

class Client {
 public:
  Client(const CurlFunctions& curl, std::string url, HttpOptions options)
      : curl_(curl), url_(std::move(url)), options_(std::move(options)) {}

  std::string name() const { return quoted_name(url_); }

  /// Bytes from `from` on into `out`, or to the end of the file. Sets `reply`
  /// to what the last response said. A server that sends the whole file
  /// instead sets `whole`; only a read from 0 is good then.
  StatusOr<std::size_t> get(std::int64_t from, std::span<std::byte> out,
                            Reply& reply, bool& whole) const {
    std::size_t got = 0;
    std::string version;  // of what was got
    int tries = 0;
    for (;;) {
      Exchange x;
      x.from = from + static_cast<std::int64_t>(got);
      x.out = out.subspan(got);
      const CURLcode code = run(x, true);
      reply = x.reply;
      whole = x.whole || x.reply.status == 200;
      const bool good = x.reply.status == 200 || x.reply.status == 206;
      if (x.whole) return got;
      if (x.misplaced) {
        return make_error(StatusCode::kDataLoss, "cannot read ", name(),
                          ": the server sent bytes from ", x.reply.first,
                          " on, asked for were those from ", x.from);
      }
      if (good && got > 0 && x.reply.version() != version) return changed();
      if (good) version = x.reply.version();
      if (good && whole && code != CURLE_OK && !x.enough) {
        // Cannot be continued: there are no ranges.
        got = 0;
      } else if (good) {
        got += x.got;
        if (code == CURLE_OK || x.enough || got == out.size()) return got;
      }
      if (x.reply.status == 416) return got;
      tries = good && x.got > 0 && !whole ? 1 : tries + 1;
      PS_RETURN_IF_ERROR(wait(tries, code, x));
    }
  }

  Status changed() const {
    return make_error(StatusCode::kDataLoss, name(),
                      " changed while it was read");
  }

  /// The whole file into `file`, from its start again after each failure.
  Status download(int file, Reply& reply) const {
    for (int tries = 1;; ++tries) {
      if (::lseek(file, 0, SEEK_SET) != 0 || ::ftruncate(file, 0) != 0) {
        return failed_to_keep(errno);
      }
      Exchange x;
      x.file = file;
      const CURLcode code = run(x, false);
      reply = x.reply;
      if (x.write_error != 0) return failed_to_keep(x.write_error);
      if (code == CURLE_OK && x.reply.status == 200) {
        return absl::OkStatus();
      }
      PS_RETURN_IF_ERROR(wait(tries, code, x));
    }
  }

 private:
  CURLcode run(Exchange& x, bool ranged) const {
    const Handle handle(curl_);
    CURL* const curl = handle.get();
    if (curl == nullptr) return CURLE_OUT_OF_MEMORY;
    curl_slist* headers = nullptr;
    for (const std::string& header : options_.headers) {
      headers = curl_.slist_append(headers, header.c_str());
    }
    char reason[CURL_ERROR_SIZE] = "";
    curl_.setopt(curl, CURLOPT_URL, url_.c_str());
    curl_.setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    curl_.setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, "http,https");
    curl_.setopt(curl, CURLOPT_FOLLOWLOCATION, 1L);
    curl_.setopt(curl, CURLOPT_MAXREDIRS, kMaxRedirects);
    curl_.setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_.setopt(curl, CURLOPT_USERAGENT, "penstock");
    curl_.setopt(curl, CURLOPT_ERRORBUFFER, reason);
    curl_.setopt(curl, CURLOPT_CONNECTTIMEOUT_MS,
                 static_cast<long>(options_.connect_timeout * 1e3));
    x.stall_timeout = std::max(1.0, options_.stall_timeout);
    curl_.setopt(curl, CURLOPT_NOPROGRESS, 0L);
    curl_.setopt(curl, CURLOPT_XFERINFOFUNCTION, on_tick);
    curl_.setopt(curl, CURLOPT_XFERINFODATA, &x);
    curl_.setopt(curl, CURLOPT_PREREQFUNCTION, on_connected);
    curl_.setopt(curl, CURLOPT_PREREQDATA, &x);
    curl_.setopt(curl, CURLOPT_BUFFERSIZE, 512L << 10);
    curl_.setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_.setopt(curl, CURLOPT_HEADERDATA, &x);
    curl_.setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_.setopt(curl, CURLOPT_WRITEDATA, &x);
    if (headers != nullptr) {
      curl_.setopt(curl, CURLOPT_HTTPHEADER, headers);
    }
    if (!options_.ca_file.empty()) {
      curl_.setopt(curl, CURLOPT_CAINFO, options_.ca_file.c_str());
    }
    std::string range;
    if (ranged) {
      range = absl::StrCat(
          x.from, "-", x.from + static_cast<std::int64_t>(x.out.size()) - 1);
      curl_.setopt(curl, CURLOPT_RANGE, range.c_str());
    }
    const CURLcode code = curl_.perform(curl);
    curl_.slist_free_all(headers);
    if (x.stalled) {
      x.why = absl::StrCat("nothing came for ", x.stall_timeout, " seconds");
      return CURLE_OPERATION_TIMEDOUT;
    }
    x.why = reason[0] != '\0' ? reason : curl_.strerror(code);
    return code;
  }

  /// Sleeps before try number `tries` + 1; an error when there is none.
  Status wait(int tries, CURLcode code, const Exchange& x) const {
    const Reply& reply = x.reply;
    const bool answered = reply.status >= 300;
    const bool again = answered ? may_pass(reply.status) : may_pass(code);
    if (!again || tries > options_.retries) {
      const std::string what =
          answered || code == CURLE_OK
              ? absl::StrCat("the server answered ", reply.status)
              : x.why;
      const StatusCode kind = answered         ? code_of(reply.status)
                              : may_pass(code) ? StatusCode::kUnavailable
                                               : StatusCode::kInvalidArgument;
      if (tries == 1)
        return make_error(kind, "cannot read ", name(), ": ", what);
      return make_error(kind, "cannot read ", name(), ": ", what, " (tried ",
                        tries, " times)");
    }
    double seconds = options_.backoff;
    for (int i = 1; i < tries && seconds < kMaxBackoff; ++i) seconds *= 2;
    seconds = std::min(seconds, kMaxBackoff);
    // Many readers that failed together shall not come back together.
    const auto spread = static_cast<double>(
        std::hash<std::thread::id>()(std::this_thread::get_id()) % 256);
    seconds *= 0.75 + spread / 512;
    seconds = std::max(seconds, std::min(reply.retry_after, kMaxRetryAfter));
    std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    return absl::OkStatus();
  }

  Status failed_to_keep(int error) const {
    return make_error(StatusCode::kResourceExhausted, "cannot keep a copy of ",
                      name(), ": ", std::strerror(error));
  }

  const CurlFunctions& curl_;
  const std::string url_;
  const HttpOptions options_;
};

class HttpFile final : public ReadableFile {
 public:
  static StatusOr<std::unique_ptr<HttpFile>> open(const std::string& url) {
    std::string why;
    const CurlFunctions* const curl = curl_functions(why);
    if (curl == nullptr) {
      return make_error(StatusCode::kUnavailable, "cannot read ",
                        quoted_name(url), ": ", why);
    }
    std::unique_ptr<HttpFile> file(new HttpFile(*curl, url));
    PS_RETURN_IF_ERROR(file->begin());
    return file;
  }
  ~HttpFile() override {
    if (copy_ >= 0) ::close(copy_);
  }

  StatusOr<std::int64_t> size() const override { return size_; }
  bool remote() const override { return true; }

  StatusOr<std::size_t> read_at(std::int64_t offset,
                                std::span<std::byte> out) const override {
    if (offset >= size_ || out.empty()) return 0;
    out = out.first(
        std::min(out.size(), static_cast<std::size_t>(size_ - offset)));
    const auto held = static_cast<std::int64_t>(first_.size());
    if (offset < held) {
      const std::size_t n =
          std::min(out.size(), static_cast<std::size_t>(held - offset));
      std::memcpy(out.data(), first_.data() + offset, n);
      return n;
    }
    if (copy_ >= 0) {
      const ssize_t n = ::pread(copy_, out.data(), out.size(), offset);
      if (n < 0) {
        return make_error(StatusCode::kDataLoss, "cannot read the copy of ",
                          client_.name(), ": ", std::strerror(errno));
      }
      return static_cast<std::size_t>(n);
    }
    Reply reply;
    bool whole = false;
    PS_ASSIGN_OR_RETURN(const std::size_t n,
                        client_.get(offset, out, reply, whole));
    if (whole || reply.version() != version_ ||
        (reply.total >= 0 && reply.total != size_)) {
      return client_.changed();
    }
    if (n == 0) {
      return make_error(StatusCode::kDataLoss, client_.name(),
                        " ends before byte ", offset, " of ", size_);
    }
    return n;
  }

 private:
  HttpFile(const CurlFunctions& curl, const std::string& url)
      : client_(curl, url, http_options()) {}

  Status begin() {
    Reply reply;
    bool whole = false;
    first_.resize(kFirstBytes);
    PS_ASSIGN_OR_RETURN(const std::size_t n,
                        client_.get(0, first_, reply, whole));
    first_.resize(n);
    first_.shrink_to_fit();
    version_ = reply.version();
    // Of an empty file no range can be had; others do not begin behind their
    // end, whatever such a server says.
    const bool refused = reply.status == 416 && reply.total != 0;
    size_ = whole ? reply.length : reply.total;
    if (size_ < 0 && n < kFirstBytes) size_ = static_cast<std::int64_t>(n);
    if (!refused && size_ >= 0 &&
        (!whole || size_ <= static_cast<std::int64_t>(n))) {
      return absl::OkStatus();
    }
    // No ranges, or no size.
    const char* directory = ::getenv("TMPDIR");
    std::string path = absl::StrCat(directory != nullptr ? directory : "/tmp",
                                    "/penstock-XXXXXX");
    copy_ = ::mkostemp(path.data(), O_CLOEXEC);
    if (copy_ < 0) {
      return make_error(StatusCode::kResourceExhausted, "cannot create '", path,
                        "': ", std::strerror(errno));
    }
    ::unlink(path.c_str());
    PS_RETURN_IF_ERROR(client_.download(copy_, reply));
    size_ = ::lseek(copy_, 0, SEEK_END);
    return absl::OkStatus();
  }

  const Client client_;
  std::vector<std::byte> first_;
  std::string version_;
  std::int64_t size_ = 0;
  int copy_ = -1;
};

}  // namespace

void set_http_options(HttpOptions options) {
  const std::lock_guard lock(g_options_mutex);
  options_locked() = std::move(options);
}

HttpOptions http_options() {
  const std::lock_guard lock(g_options_mutex);
  return options_locked();
}

bool is_http(std::string_view name) {
  return absl::StartsWithIgnoreCase(to_absl(name), "http://") ||
         absl::StartsWithIgnoreCase(to_absl(name), "https://");
}

std::string quoted_name(std::string_view name) {
  std::string shown(name);
  if (is_http(name)) {
    if (const std::size_t query = shown.find('?'); query != shown.npos) {
      shown.replace(query, shown.npos, "?...");
    }
    const std::size_t host = shown.find("://") + 3;
    const std::size_t at = shown.rfind('@', shown.find('/', host));
    if (at != shown.npos && at >= host) shown.erase(host, at + 1 - host);
  }
  return "'" + shown + "'";
}

StatusOr<std::unique_ptr<ReadableFile>> open_http(const std::string& url) {
  return HttpFile::open(url);
}

StatusOr<FileInfo> http_info(const std::string& url) {
  PS_ASSIGN_OR_RETURN(const auto file, HttpFile::open(url));
  PS_ASSIGN_OR_RETURN(const std::int64_t size, file->size());
  return FileInfo{size, 0, false};
}

}  // namespace penstock
