// A small HTTP server on loopback whose faults a test chooses.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace penstock::testing {

class HttpServer {
 public:
  struct Request {
    std::string path;
    std::int64_t first = 0;                      // of the range
    std::int64_t last = -1;                      // -1: no range was asked for
    std::map<std::string, std::string> headers;  // names in lower case
    int number = 0;  // of all requests for this path, from 0
  };
  /// How a request is answered; the default is right.
  struct Answer {
    int status = 0;  // 0: 200 or 206, as asked
    bool ranges = true;
    bool length = true;      // says how long the body is
    std::int64_t cut = -1;   // closes after so many bytes of the body
    int stall_ms = 0;        // before the body
    std::int64_t shift = 0;  // sends what lies so far behind what was asked for
    std::string etag = "\"1\"";
    std::string more = {};    // header lines, each with its end
    std::string excess = {};  // what is sent behind the body
  };

  HttpServer();
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  void serve(const std::string& path, std::string body);
  /// Called for every request, by many threads.
  void answer_with(std::function<Answer(const Request&)> answer);
  std::string url(const std::string& path) const;
  int requests() const { return requests_.load(); }
  int connections() const { return connections_.load(); }

 private:
  void accept_all();
  void talk(int socket);
  bool answer(int socket, Request request);

  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  std::atomic<int> requests_{0};
  std::atomic<int> connections_{0};
  std::mutex mutex_;
  std::map<std::string, std::string> files_;
  std::map<std::string, int> asked_;
  std::function<Answer(const Request&)> answer_;
  std::vector<std::thread> threads_;
  std::vector<int> sockets_;
  std::thread acceptor_;
};

}  // namespace penstock::testing
