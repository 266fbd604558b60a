// Files behind http:// and https:// names: read by ranges, many at once.
//
// Thread-safe. Each request takes a connection from a pool, so that one file
// can be read by many threads and one host is not connected to anew for each
// file. What fails in a way that may pass (time-outs, cut connections, busy
// servers) is tried again, from the byte where it stopped. A server that does
// not know ranges sends the whole file once, into an unnamed temporary file.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/io/file.h"

namespace penstock {

struct HttpOptions {
  double connect_timeout = 10;  // seconds
  /// Seconds without a byte after which a request counts as failed.
  double stall_timeout = 30;
  /// Further tries of a request that brought nothing new.
  int retries = 5;
  /// Seconds before the second try; doubled for each further one, up to 10.
  double backoff = 0.1;
  /// "Name: value", sent with every request.
  std::vector<std::string> headers = {};
  /// Certificates to trust instead of the system's; a PEM file.
  std::string ca_file = {};
};

/// Of the process, for files opened from now on.
void set_http_options(HttpOptions options);
HttpOptions http_options();

/// Whether `name` means a file that open_http() reads.
bool is_http(std::string_view name);

/// The name in quotes, for messages: without passwords and signatures.
std::string quoted_name(std::string_view name);

StatusOr<std::unique_ptr<ReadableFile>> open_http(const std::string& url);
/// Size and time of change, as far as the server tells.
StatusOr<FileInfo> http_info(const std::string& url);

}  // namespace penstock
