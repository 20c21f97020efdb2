// The file pruner on files whose zone maps it was told the layout of: any zone maps, any bytes written over the file.
//
// Promises: only what it knows is left out, twice the same way, and never a file without a footer.
#include <sys/mman.h>
#include <unistd.h>

#include <memory>
#include <string>

#include "engine/prune/file_pruner.hpp"
#include "engine/tables/checksums.hpp"
#include "input.hpp"

namespace {

using namespace lance_arrow;

template <class T>
void append(std::string* to, T number) {
  to->append(reinterpret_cast<const char*>(&number), sizeof number);
}

std::string varint(uint64_t number) {
  std::string found;
  for (; number >= 0x80; number >>= 7) found.push_back(static_cast<char>(number | 0x80));
  return found + static_cast<char>(number);
}

std::string field(int number, const std::string& content) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(content.size()) + content;
}

std::string text(const fuzz::Buffer& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), static_cast<size_t>(bytes.size)};
}

uint32_t crc(const std::string& bytes) {
  return engine::crc32c(0, reinterpret_cast<const uint8_t*>(bytes.data()), static_cast<int64_t>(bytes.size()));
}

constexpr int kWidths[] = {0, 1, 2, 4, 8, 16, 32, 3};
constexpr char kKinds[] = {'i', 'u', 'f', 'd', 'b', 'x', 'z'};

// Columns of one kind each, so that most programs are sound.
std::shared_ptr<Program> any_program(fuzz::Input& input, int num_columns, const char* kinds) {
  auto program = std::make_shared<Program>();
  for (int column = 0; column < num_columns; ++column) program->AddColumn(kinds[column], input.flag());
  for (int64_t count = input.number(0, 4); count > 0; --count) {
    const std::string bytes = text(input.bytes(input.number(0, 64)));
    const int32_t offsets[] = {0, 5, static_cast<int32_t>(input.number(5, 64))};
    const int64_t number = input.number(1, 2);
    BoundArray array{kinds[0], input.one_of(kWidths), 0, nullptr, nullptr, bytes.data(), std::ssize(bytes)};
    if (array.kind == 'b') array.width = 4, array.offsets = reinterpret_cast<const char*>(offsets);
    const int64_t wanted = array.SlotBytes(number);
    if (wanted >= 0 && (array.kind == 'b' || wanted <= std::ssize(bytes))) program->AddLiterals(array, number);
  }
  for (int64_t count = input.number(0, 8); count > 0; --count) {
    program->Add({static_cast<Step>(input.number(-1, 13)), static_cast<int>(input.number(-3, 3)),
                  static_cast<int>(input.number(-3, 3)), static_cast<int>(input.number(0, 1))});
  }
  return program;
}

KnownStream any_layout(fuzz::Input& input, const std::string& stream, int64_t num_zones, char kind) {
  const auto place = [&] { return input.number(-1, 120); };
  KnownStream known;
  known.head = stream.substr(0, static_cast<size_t>(input.number(0, 8)));
  known.size = stream.size() + (input.number(0, 31) == 0);
  known.num_zones = num_zones + (input.number(0, 31) == 0);
  known.kind = input.number(0, 15) == 0 ? input.one_of(kKinds) : kind;
  known.width = input.one_of(kWidths);
  for (KnownStream::Bound* bound : {&known.low, &known.high}) {
    bound->validity = place(), bound->offsets = place(), bound->values = place();
    bound->values_bytes = place();
  }
  for (KnownStream::Count* count : {&known.rows, &known.items, &known.nulls, &known.nans}) {
    count->place = place();
    count->width = input.one_of(kWidths);
  }
  return known;
}

// What Source: container/checksums.py lays out, of one block per buffer.
std::string checksums(const std::vector<std::pair<uint64_t, std::string>>& buffers,
                      const std::vector<std::string>& parts, const std::vector<std::string>& columns) {
  std::string body;
  append<uint16_t>(&body, 1);
  append<uint16_t>(&body, 0);
  append<uint32_t>(&body, 1 << 14);
  append<uint32_t>(&body, static_cast<uint32_t>(buffers.size()));
  append<uint64_t>(&body, buffers.size());
  append<uint32_t>(&body, static_cast<uint32_t>(columns.size()));
  for (const std::string& part : parts) append<uint32_t>(&body, crc(part));
  body.resize(64 - 12);
  for (const auto& [start, bytes] : buffers) append<uint64_t>(&body, start);
  for (const auto& [start, bytes] : buffers) append<uint64_t>(&body, bytes.size());
  for (size_t one = 0; one < buffers.size(); ++one) append<uint64_t>(&body, 0);
  for (const std::string& column : columns) append<uint32_t>(&body, crc(column));
  for (const auto& [start, bytes] : buffers) append<uint32_t>(&body, crc(bytes));
  std::string table = "LANCECRC";
  append<uint32_t>(&table, crc(body));
  return table + body;
}

// A file in memory, with a path as the file pruner wants it.
class MemoryFile {
 public:
  MemoryFile()
      : descriptor_(memfd_create("zones", MFD_CLOEXEC)), path_("/proc/self/fd/" + std::to_string(descriptor_)) {}
  ~MemoryFile() { close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  const std::string& write(const std::string& content) {
    fuzz::require(ftruncate(descriptor_, 0) == 0, "a file in memory is cut");
    const auto size = static_cast<ssize_t>(content.size());
    fuzz::require(pwrite(descriptor_, content.data(), content.size(), 0) == size, "a file in memory is written");
    return path_;
  }

 private:
  int descriptor_;
  std::string path_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fuzz::Input input(data, size);
  const int num_columns = static_cast<int>(input.number(1, 2));
  const bool has_checks = input.flag(), has_sums = input.flag();
  const char kinds[] = {input.one_of(kKinds), input.one_of(kKinds)};
  const auto program = any_program(input, num_columns, kinds);
  if (!program->Seal()) return 0;
  const int64_t rows_per_zone = input.number(1, 50), num_zones = input.number(1, 4);
  const int64_t num_rows = (num_zones - 1) * rows_per_zone + input.number(1, rows_per_zone);
  FilePruner pruner(program, has_checks);

  std::string content;
  std::vector<std::pair<uint64_t, std::string>> buffers;
  std::vector<std::string> columns;
  std::vector<KnownStream> layouts;
  for (int column = 0; column < num_columns; ++column) {
    const std::string stream = text(input.bytes(input.number(0, 160)));
    buffers.emplace_back(content.size(), stream);
    columns.push_back(field(1, field(2, field(1, std::string(1, static_cast<char>('a' + column))))) +
                      field(3, varint(content.size())) + field(4, varint(stream.size())));
    content += stream;
    layouts.push_back(any_layout(input, stream, num_zones, kinds[column]));
    pruner.RegisterStream(column, layouts.back());
    pruner.RegisterEncoding(columns.back(), {static_cast<uint64_t>(rows_per_zone), 0});
  }
  const std::string descriptor = field(1, "schema") + varint(2 << 3) + varint(static_cast<uint64_t>(num_rows));
  pruner.RegisterSchema(
      descriptor, 1,
      {static_cast<uint32_t>(num_columns), num_columns == 1 ? std::vector<int>{0} : std::vector<int>{0, 1}});

  std::string column_table, buffer_table, footer;
  for (const std::string& column : columns) {
    append<uint64_t>(&column_table, content.size());
    append<uint64_t>(&column_table, column.size());
    content += column;
  }
  const auto align = [&] { content.resize((content.size() + engine::kAlignment - 1) & ~(engine::kAlignment - 1)); };
  align();
  append<uint64_t>(&buffer_table, content.size());
  append<uint64_t>(&buffer_table, descriptor.size());
  content += descriptor;
  align();
  const uint64_t sums_place = content.size(), sums_size = 64 + 28 * columns.size() + 4 * columns.size();
  if (has_sums) {
    append<uint64_t>(&buffer_table, sums_place);
    append<uint64_t>(&buffer_table, sums_size);
    content.append(sums_size, '\0');
  }
  append<uint64_t>(&footer, 0);
  append<uint64_t>(&footer, content.size());
  content += column_table;
  append<uint64_t>(&footer, content.size());
  content += buffer_table;
  append<uint32_t>(&footer, has_sums ? 2 : 1);
  append<uint32_t>(&footer, static_cast<uint32_t>(num_columns));
  append<uint16_t>(&footer, 2);
  append<uint16_t>(&footer, 1);
  footer += "LANC";
  content += footer;
  if (has_sums) {
    const std::string table = checksums(buffers, {footer, descriptor, column_table, buffer_table}, columns);
    fuzz::require(table.size() == sums_size, "the checksums have their size");
    content.replace(sums_place, sums_size, table);
  }
  // Written over: places are counted from the end, where everything is that steers.
  for (int64_t count = input.number(0, 3); count > 0; --count) {
    const auto place = static_cast<size_t>(input.number(0, static_cast<int64_t>(content.size()) - 1));
    const std::string bytes = text(input.bytes(input.number(1, 8)));
    content.replace(content.size() - 1 - place, std::min(bytes.size(), place + 1), bytes.substr(0, place + 1));
  }
  if (input.number(0, 15) == 0)
    content = content.substr(static_cast<size_t>(input.number(0, static_cast<int64_t>(content.size()))));

  static MemoryFile file;
  const std::string& path = file.write(content);
  const bool is_excluded = pruner.Excludes(path);
  fuzz::require(pruner.Excludes(path) == is_excluded, "a file is judged twice the same way");
  fuzz::require(pruner.num_asked() == 2 && pruner.num_excluded() == 2 * is_excluded, "a pruner counts");
  const bool is_known =
      std::any_of(layouts.begin(), layouts.end(), [](const KnownStream& one) { return one.IsSound(); });
  fuzz::require(!is_excluded || is_known, "files of unknown layouts are kept");
  fuzz::require(!is_excluded || content.size() >= 40, "files without a footer are kept");
  return 0;
}
