// Records that became strings, parsed a block at a time into columns.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "penstock/graph/operator.h"

namespace penstock::ops {

/// Columns of all `records`; those in `skip` are not looked at, those that
/// cannot be parsed are named in `failed`.
using ParseFn = std::function<Status(
    std::span<const std::string_view> records,
    std::span<const std::int64_t> skip, Block::Columns& columns,
    std::vector<std::pair<std::int64_t, Status>>& failed)>;

/// A transform of (record, offset in its file), one to one: native, without
/// state. Its errors name file, record and offset.
std::shared_ptr<const Transform> make_parse_records(const Structure* structure,
                                                    ParseFn parse);

/// A transform that makes an element of each record by itself.
std::shared_ptr<const Transform> make_parse_each(
    std::function<StatusOr<Element>(std::string_view)> parse);

/// Rows [splits[i], splits[i + 1]) of `values`, as a column.
Column split_column(const Tensor& values,
                    const std::vector<std::int64_t>& splits);

}  // namespace penstock::ops
