#include "penstock/io/http.h"

#include <gtest/gtest.h>

#include <thread>

#include "penstock/penstock.h"
#include "tests/support/http_server.h"

namespace penstock {
namespace {

using testing::HttpServer;
using Answer = HttpServer::Answer;
using Request = HttpServer::Request;

class Http : public ::testing::Test {
 protected:
  Http() { set_http_options({.retries = 3, .backoff = 0.001}); }
  ~Http() override { set_http_options({}); }

  static std::string pattern(std::size_t size) {
    std::string bytes(size, '\0');
    for (std::size_t i = 0; i < size; ++i) {
      bytes[i] = static_cast<char>('a' + (i * 31 + i / 251) % 26);
    }
    return bytes;
  }

  static StatusOr<std::string> read_all(const std::string& url) {
    PS_ASSIGN_OR_RETURN(const Tensor bytes, io::read_file(url));
    return std::string(bytes.str());
  }

  HttpServer server_;
};

TEST_F(Http, ASmallFileTakesOneRequest) {
  server_.serve("/small", "hello");
  EXPECT_EQ(*read_all(server_.url("/small")), "hello");
  EXPECT_EQ(server_.requests(), 1);
}

TEST_F(Http, AnEmptyFileIsEmpty) {
  server_.serve("/empty", "");
  EXPECT_EQ(*read_all(server_.url("/empty")), "");
}

TEST_F(Http, ALargeFileIsReadByRanges) {
  const std::string body = pattern(5 << 20);
  server_.serve("/large", body);
  EXPECT_EQ(*read_all(server_.url("/large")), body);
  auto file = open_http(server_.url("/large"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ(*(*file)->size(), 5 << 20);
  EXPECT_TRUE((*file)->remote());
  std::string some(1000, ' ');
  ASSERT_TRUE(read_fully(**file, 3'000'000,
                         {reinterpret_cast<std::byte*>(some.data()), 1000})
                  .ok());
  EXPECT_EQ(some, body.substr(3'000'000, 1000));
  std::byte one{};
  EXPECT_EQ(*(*file)->read_at(5 << 20, {&one, 1}), 0u);
}

TEST_F(Http, ConnectionsAreKept) {
  for (int i = 0; i < 20; ++i) {
    server_.serve(absl::StrCat("/", i), "x");
    EXPECT_EQ(*read_all(server_.url(absl::StrCat("/", i))), "x");
  }
  EXPECT_EQ(server_.requests(), 20);
  EXPECT_EQ(server_.connections(), 1);
}

TEST_F(Http, ACutTransferGoesOnWhereItStopped) {
  const std::string body = pattern(3 << 20);
  server_.serve("/cut", body);
  std::atomic<std::int64_t> sent{0};
  server_.answer_with([&](const Request& request) {
    const std::int64_t wanted = request.last - request.first + 1;
    sent += std::min<std::int64_t>(wanted, 300'000);
    return Answer{.cut = 300'000};
  });
  // Every request is cut, more often than there are retries.
  EXPECT_EQ(*read_all(server_.url("/cut")), body);
  EXPECT_LE(sent.load(), static_cast<std::int64_t>(body.size()));
}

TEST_F(Http, ABusyServerIsAskedAgain) {
  server_.serve("/busy", "at last");
  server_.answer_with([](const Request& request) {
    return Answer{.status = request.number < 3 ? 503 : 0};
  });
  EXPECT_EQ(*read_all(server_.url("/busy")), "at last");
  EXPECT_EQ(server_.requests(), 4);
}

TEST_F(Http, AServerThatStaysBusyIsAnErrorThatSaysSo) {
  server_.serve("/busy", "never");
  server_.answer_with([](const Request&) { return Answer{.status = 503}; });
  const auto read = read_all(server_.url("/busy"));
  EXPECT_EQ(read.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(read.status().message(),
            absl::StrCat("cannot read '", server_.url("/busy"),
                         "': the server answered 503 (tried 4 times)"));
}

TEST_F(Http, WhatCannotPassIsNotTriedAgain) {
  const auto none = read_all(server_.url("/none"));
  EXPECT_EQ(none.status().code(), StatusCode::kNotFound);
  EXPECT_EQ(none.status().message(),
            absl::StrCat("cannot read '", server_.url("/none"),
                         "': the server answered 404"));
  EXPECT_EQ(server_.requests(), 1);
  server_.answer_with([](const Request&) { return Answer{.status = 403}; });
  EXPECT_EQ(read_all(server_.url("/x")).status().code(),
            StatusCode::kPermissionDenied);
  EXPECT_EQ(server_.requests(), 2);
}

TEST_F(Http, AHostThatIsNotThereIsUnavailable) {
  const auto read = read_all("http://127.0.0.1:1/x");
  EXPECT_EQ(read.status().code(), StatusCode::kUnavailable);
}

TEST_F(Http, AStalledTransferIsGivenUpAndTriedAgain) {
  set_http_options({.stall_timeout = 1, .retries = 1, .backoff = 0.001});
  server_.serve("/slow", "fast now");
  server_.answer_with([](const Request& request) {
    return Answer{.stall_ms = request.number == 0 ? 10'000 : 0};
  });
  EXPECT_EQ(*read_all(server_.url("/slow")), "fast now");
  EXPECT_EQ(server_.requests(), 2);
}

TEST_F(Http, AServerWithoutRangesIsReadOnce) {
  const std::string body = pattern(3 << 20);
  server_.serve("/whole", body);
  server_.answer_with([](const Request&) { return Answer{.ranges = false}; });
  auto file = open_http(server_.url("/whole"));
  ASSERT_TRUE(file.ok()) << file.status();
  const int asked = server_.requests();
  for (const std::int64_t at : {0, 2'000'000, 1'100'000, 3'000'000}) {
    std::string some(1000, ' ');
    ASSERT_TRUE(read_fully(**file, at,
                           {reinterpret_cast<std::byte*>(some.data()), 1000})
                    .ok());
    EXPECT_EQ(some, body.substr(static_cast<std::size_t>(at), 1000));
  }
  EXPECT_EQ(server_.requests(), asked);
}

TEST_F(Http, AServerThatRefusesRangesIsReadAsAWhole) {
  server_.answer_with([](const Request& request) {
    return Answer{.status = request.last >= 0 ? 416 : 0};
  });
  for (const std::size_t size : {0, 1'000, 3'000'000}) {
    const std::string path = absl::StrCat("/refused", size);
    server_.serve(path, pattern(size));
    const auto got = read_all(server_.url(path));
    ASSERT_TRUE(got.ok()) << got.status();
    EXPECT_TRUE(*got == pattern(size)) << size << " " << got->size();
  }
}

TEST_F(Http, BytesBehindABodyAreNotTheNextAnswer) {
  server_.serve("/more", "hello");
  server_.serve("/next", "next");
  server_.answer_with([](const Request& request) {
    return Answer{.excess = request.path == "/more" ? "and more" : ""};
  });
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(*read_all(server_.url("/more")), "hello");
    const auto next = read_all(server_.url("/next"));
    ASSERT_TRUE(next.ok()) << next.status();
    EXPECT_EQ(*next, "next");
  }
}

TEST_F(Http, AServerThatDoesNotTellTheSizeIsReadToTheEnd) {
  const std::string body = pattern(2 << 20);
  server_.serve("/whole", body);
  server_.answer_with(
      [](const Request&) { return Answer{.ranges = false, .length = false}; });
  EXPECT_EQ(*read_all(server_.url("/whole")), body);
}

TEST_F(Http, AFileThatChangesMeanwhileIsAnError) {
  server_.serve("/new", pattern(3 << 20));
  server_.answer_with([](const Request& request) {
    return Answer{.etag = absl::StrCat("\"", request.number, "\"")};
  });
  const auto read = read_all(server_.url("/new"));
  EXPECT_EQ(read.status().code(), StatusCode::kDataLoss);
  EXPECT_NE(read.status().message().find("changed while it was read"),
            std::string::npos);
}

TEST_F(Http, AFileThatChangesBetweenTwoTriesIsAnError) {
  const std::string body = pattern(900'000);
  server_.serve("/new", body);
  for (const bool etag : {true, false}) {
    server_.answer_with([&](const Request& request) {
      const std::string version = absl::StrCat(request.number % 2);
      return Answer{
          .cut = request.number % 2 == 0 ? 300'000 : -1,
          .etag = etag ? version : "",
          .more = etag ? "" : absl::StrCat("Last-Modified: ", version, "\r\n")};
    });
    const auto read = read_all(server_.url("/new"));
    EXPECT_EQ(read.status().code(), StatusCode::kDataLoss);
    EXPECT_NE(read.status().message().find("changed while it was read"),
              std::string::npos);
  }
}

TEST_F(Http, OtherBytesThanWereAskedForAreAnError) {
  server_.serve("/large", pattern(3 << 20));
  server_.answer_with([](const Request& request) {
    return Answer{.shift = request.first > 0 ? -1000 : 0};
  });
  const auto read = read_all(server_.url("/large"));
  EXPECT_EQ(read.status().code(), StatusCode::kDataLoss);
  EXPECT_NE(read.status().message().find(
                "the server sent bytes from 1047576 on, asked for were those "
                "from 1048576"),
            std::string::npos)
      << read.status();
}

TEST_F(Http, PasswordsAndSignaturesStayOutOfMessages) {
  std::string url = server_.url("/none?signature=secret");
  url.insert(7, "user:password@");
  const std::string message(read_all(url).status().message());
  EXPECT_EQ(message.find("secret"), std::string::npos) << message;
  EXPECT_EQ(message.find("password"), std::string::npos) << message;
  EXPECT_NE(message.find("/none?..."), std::string::npos) << message;
}

TEST_F(Http, HeadersOfTheUserAreSent) {
  set_http_options({.headers = {"Authorization: Bearer t"}});
  server_.serve("/x", "y");
  std::string seen;
  server_.answer_with([&](const Request& request) {
    seen = request.headers.at("authorization");
    return Answer();
  });
  EXPECT_EQ(*read_all(server_.url("/x")), "y");
  EXPECT_EQ(seen, "Bearer t");
}

TEST_F(Http, ManyThreadsReadOneFile) {
  const std::string body = pattern(4 << 20);
  server_.serve("/shared", body);
  auto file = open_http(server_.url("/shared"));
  ASSERT_TRUE(file.ok());
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) {
        const std::size_t at = static_cast<std::size_t>(t * 10 + i) * 50'000;
        std::string some(40'000, ' ');
        const Status status = read_fully(
            **file, static_cast<std::int64_t>(at),
            {reinterpret_cast<std::byte*>(some.data()), some.size()});
        if (!status.ok() || some != body.substr(at, some.size())) ++wrong;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

TEST_F(Http, DatasetsReadNamesOfTheNet) {
  server_.serve("/a.txt", "one\ntwo\n");
  server_.serve("/b.txt", "three\n");
  // Every other request fails.
  server_.answer_with([](const Request& request) {
    return Answer{.status = request.number % 2 == 0 ? 502 : 0};
  });
  std::vector<std::string> lines;
  for (const Element& line :
       Dataset::text_lines({server_.url("/a.txt"), server_.url("/b.txt")})) {
    lines.emplace_back(line[0].str());
  }
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "three"}));
}

TEST_F(Http, RecordsOfTheNetComeInOrder) {
  std::vector<std::string> urls;
  std::vector<std::string> paths;
  for (int shard = 0; shard < 6; ++shard) {
    const std::string path = absl::StrCat(::testing::TempDir(), "http", shard);
    std::remove(path.c_str());
    {
      io::TFRecordWriter writer(path);
      for (int i = 0; i < 50; ++i) {
        writer.write(absl::StrCat("record ", shard, ".", i));
      }
      writer.close();
    }
    auto bytes = io::read_file(path);
    ASSERT_TRUE(bytes.ok());
    server_.serve(absl::StrCat("/", shard), std::string(bytes->str()));
    paths.push_back(path);
    urls.push_back(server_.url(absl::StrCat("/", shard)));
  }
  server_.answer_with([](const Request& request) {
    return Answer{.cut = request.number == 0 ? 700 : -1};
  });
  const auto records = [](const std::vector<std::string>& files) {
    std::vector<std::string> out;
    for (const Element& e : Dataset::tfrecord(files)) {
      out.emplace_back(e[0].str());
    }
    return out;
  };
  const std::vector<std::string> local = records(paths);
  EXPECT_EQ(local.size(), 300u);
  EXPECT_EQ(records(urls), local);
}

}  // namespace
}  // namespace penstock
