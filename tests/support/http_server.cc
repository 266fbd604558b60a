#include "tests/support/http_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace penstock::testing {
namespace {

bool send_all(int socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (n <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

}  // namespace

HttpServer::HttpServer() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (::bind(listener_, any, length) != 0 || ::listen(listener_, 64) != 0 ||
      ::getsockname(listener_, any, &length) != 0) {
    std::abort();
  }
  port_ = ntohs(address.sin_port);
  acceptor_ = std::thread([this] { accept_all(); });
}

HttpServer::~HttpServer() {
  stopping_ = true;
  ::shutdown(listener_, SHUT_RDWR);
  acceptor_.join();
  ::close(listener_);
  {
    const std::lock_guard lock(mutex_);
    for (const int socket : sockets_) ::shutdown(socket, SHUT_RDWR);
  }
  for (std::thread& thread : threads_) thread.join();
  for (const int socket : sockets_) ::close(socket);
}

void HttpServer::serve(const std::string& path, std::string body) {
  const std::lock_guard lock(mutex_);
  files_[path] = std::move(body);
}

void HttpServer::answer_with(std::function<Answer(const Request&)> answer) {
  const std::lock_guard lock(mutex_);
  answer_ = std::move(answer);
}

std::string HttpServer::url(const std::string& path) const {
  return absl::StrCat("http://127.0.0.1:", port_, path);
}

void HttpServer::accept_all() {
  while (!stopping_) {
    const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) return;
    const int on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    ++connections_;
    const std::lock_guard lock(mutex_);
    sockets_.push_back(socket);
    threads_.emplace_back([this, socket] { talk(socket); });
  }
}

void HttpServer::talk(int socket) {
  std::string in;
  for (;;) {
    std::size_t end = 0;
    while ((end = in.find("\r\n\r\n")) == std::string::npos) {
      char buffer[4096];
      const ssize_t n = ::recv(socket, buffer, sizeof(buffer), 0);
      if (n <= 0) return;
      in.append(buffer, static_cast<std::size_t>(n));
    }
    Request request;
    std::size_t line = in.find("\r\n");
    const std::size_t path = in.find(' ') + 1;
    request.path = in.substr(path, in.find(' ', path) - path);
    while (line < end) {
      const std::size_t next = in.find("\r\n", line + 2);
      const std::string text = in.substr(line + 2, next - line - 2);
      const std::size_t colon = text.find(": ");
      std::string name = text.substr(0, colon);
      std::transform(name.begin(), name.end(), name.begin(), ::tolower);
      request.headers[name] = text.substr(colon + 2);
      line = next;
    }
    in.erase(0, end + 4);
    if (const auto range = request.headers.find("range");
        range != request.headers.end()) {
      long long first = 0;
      long long last = 0;
      if (std::sscanf(range->second.c_str(), "bytes=%lld-%lld", &first,
                      &last) == 2) {
        request.first = first;
        request.last = last;
      }
    }
    ++requests_;
    if (!answer(socket, std::move(request))) {
      ::shutdown(socket, SHUT_RDWR);
      return;
    }
  }
}

bool HttpServer::answer(int socket, Request request) {
  std::string body;
  Answer a;
  bool found = false;
  std::function<Answer(const Request&)> answer;
  {
    const std::lock_guard lock(mutex_);
    request.number = asked_[request.path]++;
    const auto file = files_.find(request.path);
    found = file != files_.end();
    if (found) body = file->second;
    answer = answer_;
  }
  if (answer) a = answer(request);
  int status = a.status;
  const auto total = static_cast<std::int64_t>(body.size());
  std::string range;
  if (status == 0) {
    status = found ? 200 : 404;
    request.first += a.shift;
    request.last += a.shift;
    if (found && request.last >= 0 && a.ranges) {
      if (request.first >= total) {
        status = 416;
        range = absl::StrCat("Content-Range: bytes */", total, "\r\n");
      } else {
        status = 206;
        const std::int64_t last = std::min(request.last, total - 1);
        range = absl::StrCat("Content-Range: bytes ", request.first, "-", last,
                             "/", total, "\r\n");
        body = body.substr(static_cast<std::size_t>(request.first),
                           static_cast<std::size_t>(last - request.first + 1));
      }
    }
  }
  if (status >= 300) body = "an error page";
  std::string head = absl::StrCat("HTTP/1.1 ", status, " .\r\n", range, a.more);
  if (!a.etag.empty()) absl::StrAppend(&head, "ETag: ", a.etag, "\r\n");
  if (a.length) {
    absl::StrAppend(&head, "Content-Length: ", body.size(), "\r\n");
  } else {
    head += "Connection: close\r\n";
  }
  head += "\r\n";
  if (!send_all(socket, head)) return false;
  if (a.stall_ms > 0) {
    for (int ms = 0; ms < a.stall_ms && !stopping_; ms += 10) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  std::string_view send = body;
  const bool cut = a.cut >= 0 && a.cut < static_cast<std::int64_t>(body.size());
  if (cut) send = send.substr(0, static_cast<std::size_t>(a.cut));
  return send_all(socket, send) && !cut && send_all(socket, a.excess) &&
         a.length;
}

}  // namespace penstock::testing
