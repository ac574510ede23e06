#include "examples/examples.h"

namespace lockstep::examples {

Example buffer_resource(unsigned) {
  constexpr uint32_t kCount = 1000, kGroup = 128, kGroups = (kCount + kGroup - 1) / kGroup;
  Random random(22);
  const auto input = random.vector(kCount, [](Random& r) { return r.real(-1, 1); });
  std::vector<float> expected(kCount);
  for (uint32_t i = 0; i < kCount; ++i) {
    const float left = i == 0 ? 0 : input[i - 1], right = i + 1 == kCount ? 0 : input[i + 1];
    expected[i] = (left + input[i] + right) * 0.25f;
  }

  constexpr uint32_t kRecord = 48, kRecords = 128;
  const auto records = random.vector(kRecord * kRecords, [](Random& r) { return uint8_t(r.word() >> 24); });
  std::vector<uint8_t> expected_records(records.size());
  struct Move {
    uint32_t from, to, size;
  };
  constexpr Move kMoves[] = {{0, 32, 16}, {16, 0, 12}, {32, 16, 8}, {40, 12, 4}, {46, 24, 2}, {45, 27, 1}};
  for (uint32_t record = 0; record < kRecords; ++record)
    for (const Move& move : kMoves)
      std::memcpy(&expected_records[record * kRecord + move.to], &records[record * kRecord + move.from],
                  move.size);

  Example example{
      .name = "buffer_resource", .language = Language::hip, .source = "buffer_resource/buffer_resource.hip"};
  const Argument buffer_input = example.add_buffer(input),
                 buffer_output = example.add_buffer(std::vector<float>(kCount)),
                 buffer_records = example.add_buffer(records),
                 buffer_copies = example.add_buffer(std::vector<uint8_t>(records.size()));
  example.dispatches = {{.kernel = "buffer_mean",
                         .groups = {kGroups, 1, 1},
                         .group_size = {kGroup, 1, 1},
                         .arguments = {buffer_input, buffer_output, scalar(int32_t(kCount))}},
                        {.kernel = "buffer_widths",
                         .groups = {kRecords / 64, 1, 1},
                         .group_size = {64, 1, 1},
                         .arguments = {buffer_records, buffer_copies, scalar(int32_t(records.size()))}}};
  example.expect(buffer_output, expected);
  example.expect(buffer_copies, expected_records);
  return example;
}

}  // namespace lockstep::examples
