#include "reports/page/columns.hpp"

#include "reports/page/pack.hpp"

namespace vicinal::reports {

void Columns::begin(std::string_view name, std::string_view kind, std::size_t count) {
  columns_.push_back(
      {{"name", name}, {"kind", kind}, {"count", count}, {"at", content_.size()}, {"bytes", 0}});
}

void Columns::end() {
  Json& column = columns_.back();
  column["bytes"] = content_.size() - column["at"].get<std::size_t>();
}

void Columns::bytes(std::string_view name, std::string_view bytes) {
  begin(name, "bytes", bytes.size());
  content_ += bytes;
  end();
}

Section Columns::section() const {
  return {name_, columns_, pack(content_)};
}

}  // namespace vicinal::reports
