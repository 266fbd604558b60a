#pragma once

#include <string>
#include <vector>

#include "penstock/graph/operator.h"
#include "penstock/io/file.h"

namespace penstock::ops {

/// The directories right under `root`, sorted: the classes.
StatusOr<std::vector<std::string>> image_classes(FileSystem& fs,
                                                 const std::string& root);

/// (path, class number) of each image under a class directory.
StatusOr<std::shared_ptr<const Operator>> make_image_folder(
    const std::string& root, const std::vector<std::string>& extensions,
    FileSystem& fs = FileSystem::local());

}  // namespace penstock::ops
