// The file of a performance model: JSON, one per host, replaced as a whole.
//
//   {"format": "vicinal performance model", "version": 1, "host": "n42", "runs": [
//     {"codelet": "gemm", "kind": "cpu", "footprint": "9f86d081884c7d65", "bytes": 6291456,
//      "count": 812, "last_ns": [5012345, 5009876]}, ...]}
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string_view>
#include <sys/random.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/file_size_signal.hpp"
#include "machine/performance_model.hpp"

namespace vicinal::machine {

namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "vicinal performance model";
constexpr int kVersion = 1;
constexpr std::size_t kMostFileBytes = std::size_t{64} << 20;
constexpr std::size_t kLongestName = 1000;
constexpr std::int64_t kLongestRun = std::int64_t{1} << 60;  // ns: 36 years

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "localhost";
  std::string text(name.data());
  std::replace(text.begin(), text.end(), '/', '_');
  return text;
}

// --- Reading --------------------------------------------------------------------------------------
// All of these throw, or return what is out of range, for what is not as it is written: the file is then
// ignored as a whole.

struct Malformed {};

void require(bool good) {
  if (!good) throw Malformed{};
}

const json& member(const json& object, const char* name) {
  require(object.is_object());
  const auto found = object.find(name);
  require(found != object.end());
  return *found;
}

const std::string& text_of(const json& object, const char* name) {
  const json& value = member(object, name);
  require(value.is_string());
  return value.get_ref<const std::string&>();
}

std::uint64_t number_of(const json& value, std::uint64_t least, std::uint64_t most) {
  require(value.is_number_unsigned());
  const auto number = value.get<std::uint64_t>();
  require(number >= least && number <= most);
  return number;
}

ProcessorKind kind_of(const std::string& text) {
  for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
    if (text == to_string(static_cast<ProcessorKind>(kind)))
      return static_cast<ProcessorKind>(kind);
  }
  throw Malformed{};
}

Footprint footprint_of(const json& entry) {
  const std::string& text = text_of(entry, "footprint");
  std::uint64_t hash = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, hash, 16);
  require(error == std::errc{} && stop == end);
  return {hash, Bytes{number_of(member(entry, "bytes"), 0, ~std::uint64_t{0})}};
}

RunHistory history_of(const json& entry) {
  const json& last = member(entry, "last_ns");
  require(last.is_array() && !last.empty() && last.size() <= RunHistory::kKept);
  std::vector<Time> runs;
  for (const json& ns : last) {
    runs.push_back({static_cast<std::int64_t>(number_of(ns, 1, kLongestRun))});
  }
  const std::uint64_t count = number_of(member(entry, "count"), 1, ~std::uint64_t{0} / 2);
  require(runs.size() == std::min<std::uint64_t>(count, RunHistory::kKept));
  RunHistory history;
  history.restore(count, runs);
  return history;
}

[[noreturn]] void throw_error(int error) {
  throw std::system_error(error, std::generic_category());
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() { close(); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }
  int close() { return number_ < 0 ? 0 : ::close(std::exchange(number_, -1)); }

 private:
  int number_;
};

// What is no file of measured times, whatever its content.
struct Unsuitable {
  const char* why;
};

// False: there is none. Throws std::system_error, and Unsuitable for what is no regular file (which may block, or
// never end) or is too large.
bool read_text(const std::string& path, std::string& text) {
  // NONBLOCK: a FIFO is not waited for.
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (file.number() < 0) {
    if (errno == ENOENT) return false;
    throw_error(errno);
  }
  struct stat status {};
  if (fstat(file.number(), &status) != 0) throw_error(errno);
  if (!S_ISREG(status.st_mode)) throw Unsuitable{"it is not a regular file"};
  if (status.st_size > static_cast<off_t>(kMostFileBytes)) {
    throw Unsuitable{"it is larger than any of measured times"};
  }
  constexpr std::size_t kPart = std::size_t{64} << 10;
  for (;;) {  // it may grow meanwhile, and what /proc shows has no size
    const std::size_t length = text.size();
    if (length > kMostFileBytes) throw Unsuitable{"it is larger than any of measured times"};
    text.resize(length + kPart);
    const ssize_t got = ::read(file.number(), text.data() + length, kPart);
    const int error = errno;
    text.resize(length + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got == 0) return true;
    if (got < 0 && error != EINTR) throw_error(error);
  }
}

}  // namespace

bool PerformanceModel::parse(const std::string& text, Families& families, std::string& why) {
  const json file = json::parse(text, nullptr, false);
  try {
    require(!file.is_discarded());
    require(text_of(file, "format") == kFormat);
    if (number_of(member(file, "version"), 0, 1'000'000) != kVersion) {
      why = "it is another version's";
      return false;
    }
    if (text_of(file, "host") != host_name()) {
      why = fmt::format("it is that of the host {}", text_of(file, "host").substr(0, 80));
      return false;
    }
    const json& entries = member(file, "runs");
    require(entries.is_array());
    for (const json& entry : entries) {
      const std::string& codelet = text_of(entry, "codelet");
      require(codelet.size() <= kLongestName);
      const ProcessorKind kind = kind_of(text_of(entry, "kind"));
      const Footprint footprint = footprint_of(entry);
      families[static_cast<std::size_t>(kind)][codelet].known[footprint.hash()] = {
          footprint, history_of(entry)};
    }
    return true;
  } catch (const Malformed&) {
    why = "it is no file of measured times";
    return false;
  }
}

PerformanceModel::Reading PerformanceModel::read_file(const std::string& path, Families& families,
                                                      std::string& why) {
  try {
    std::string text;
    if (!read_text(path, text)) return Reading::absent;
    return parse(text, families, why) ? Reading::read : Reading::refused;
  } catch (const Unsuitable& unsuitable) {
    why = unsuitable.why;
  } catch (const std::system_error& error) {
    why = error.code().message();
  }
  return Reading::refused;
}

PerformanceModel::Reading PerformanceModel::read(const std::string& path, std::string& why) {
  Families stored;
  const Reading reading = read_file(path, stored, why);
  if (reading != Reading::read) return reading;
  const std::lock_guard lock(mutex_);
  merge(stored, families_);
  families_ = std::move(stored);
  return reading;
}

// --- Writing --------------------------------------------------------------------------------------

void PerformanceModel::merge(Families& stored, const Families& learned) {
  for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
    for (const auto& [codelet, family] : learned[kind]) {
      auto& known_there = stored[kind][codelet].known;
      for (const auto& [hash, known] : family.known) {
        if (known.history.fresh() == 0) continue;  // of an earlier reading
        const auto there = known_there.find(hash);
        if (there == known_there.end() || there->second.footprint != known.footprint) {
          known_there[hash] = known;
        } else {
          there->second.history = known.history.after(there->second.history);
        }
      }
    }
  }
}

std::string PerformanceModel::to_text(const Families& families) {
  json entries = json::array();
  for (std::size_t kind = 0; kind < kProcessorKinds; ++kind) {
    for (const auto& [codelet, family] : families[kind]) {
      if (codelet.size() > kLongestName) continue;
      for (const auto& [hash, known] : family.known) {
        json last = json::array();
        for (std::size_t i = 0; i < known.history.kept(); ++i) {
          last.push_back(static_cast<std::uint64_t>(known.history.run(i).ns));
        }
        entries.push_back({{"codelet", codelet},
                           {"kind", to_string(static_cast<ProcessorKind>(kind))},
                           {"footprint", fmt::format("{:016x}", hash)},
                           {"bytes", known.footprint.bytes().value},
                           {"count", known.history.count()},
                           {"last_ns", std::move(last)}});
      }
    }
  }
  const json file = {
      {"format", kFormat}, {"version", kVersion}, {"host", host_name()}, {"runs", entries}};
  // A name that is no UTF-8 is not found again, and that is all.
  return file.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

namespace {

// 0, or the error number.
int write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return written < 0 ? errno : EIO;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

// Not mkostemp: what it makes others may not read.
int create_beside(const std::string& path, std::string& name) {
  for (int attempt = 0; attempt < 100; ++attempt) {
    std::uint64_t number = 0;
    if (getrandom(&number, sizeof(number), 0) != sizeof(number)) throw_error(EAGAIN);
    name = fmt::format("{}.{:016x}", path, number);
    const int file = open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file >= 0) return file;
    if (errno != EEXIST) throw_error(errno);
  }
  throw_error(EEXIST);
}

// In one step: who reads at the same time has the old file or the new one. The new one is written under a name that
// nobody could know before, and that did not exist: in a folder that others write, too, a known one may be a link
// to somebody's file.
void replace_file(const std::string& path, const std::string& text) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  const base::NoFileSizeSignal no_signal;
  std::string temporary;
  Descriptor file(create_beside(path, temporary));
  int error = write_all(file.number(), text);
  if (file.close() != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  unlink(temporary.c_str());
  throw_error(error);
}

}  // namespace

bool PerformanceModel::write(const std::string& path, std::string& why) const {
  Families stored;
  if (read_file(path, stored, why) == Reading::refused) return false;
  {
    const std::lock_guard lock(mutex_);
    bool learned = false;
    for (const auto& families : families_) {
      for (const auto& [codelet, family] : families) {
        learned |= std::any_of(family.known.begin(), family.known.end(),
                               [](const auto& known) { return known.second.history.fresh() > 0; });
      }
    }
    if (!learned) return true;
    merge(stored, families_);
  }
  try {
    replace_file(path, to_text(stored));
    return true;
  } catch (const std::system_error& error) {  // also those of std::filesystem
    why = error.code().message();
    return false;
  }
}

std::optional<std::string> performance_model_file(const std::string& folder) {
  std::filesystem::path place = folder;
  if (folder.empty()) {
    const char* const cache = std::getenv("XDG_CACHE_HOME");
    const char* const home = std::getenv("HOME");
    if (cache != nullptr && cache[0] == '/') {  // a relative one is void, the specification says
      place = cache;
    } else if (home != nullptr && home[0] == '/') {
      place = std::filesystem::path(home) / ".cache";
    } else {
      return std::nullopt;
    }
    place = place / "vicinal" / "models";
  }
  return (place / (host_name() + ".json")).string();
}

}  // namespace vicinal::machine
