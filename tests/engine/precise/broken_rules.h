// What a listing breaks of the programming rules.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

#include "tests/machine/test_dispatch.h"

namespace lockstep::machine {

// Of one work-group of one wave; at entry as Dispatch says. Missing waits are another rule's business.
// `is_precise`: in the precise engine, not in that which does nothing but look after rules.
inline std::vector<Finding> broken_rules_of(const std::string& text, unsigned wave_size, bool is_precise) {
  Dispatch d(text, 1, wave_size, wave_size);
  d.options.precise.rules = precise::Rules::warn;
  d.options.precise.exceptions = is_precise;
  const Outcome outcome = d.run();
  EXPECT_FALSE(outcome.fault) << text << ": " << outcome.fault->fault.message;
  std::vector<Finding> findings = outcome.findings;
  std::erase_if(findings,
                [](const Finding& finding) { return finding.rule.find("(guide 5.6)") != std::string::npos; });
  return findings;
}

// Both engines must tell the same.
inline std::vector<Finding> broken_rules_of(const std::string& text, unsigned wave_size = 32) {
  const auto rules_of = [](const std::vector<Finding>& findings) {
    std::vector<std::string> rules;
    for (const Finding& finding : findings)
      rules.push_back(finding.rule + " (" + std::to_string(finding.count) + ")");
    return rules;
  };
  const std::vector<Finding> findings = broken_rules_of(text, wave_size, false);
  EXPECT_EQ(rules_of(findings), rules_of(broken_rules_of(text, wave_size, true))) << text;
  return findings;
}

inline void expect_good(const std::string& text, unsigned wave_size = 32) {
  for (const Finding& finding : broken_rules_of(text, wave_size))
    ADD_FAILURE() << text << "\n  " << finding.rule;
}

// One rule is broken, once, and the report has these words and that chapter.
inline void expect_broken(const std::string& text, const std::string& words, const std::string& chapter,
                          unsigned wave_size = 32) {
  const auto findings = broken_rules_of(text, wave_size);
  ASSERT_EQ(findings.size(), 1u) << text << (findings.size() < 2 ? "" : "\n  " + findings[1].rule);
  EXPECT_NE(findings[0].rule.find(words), std::string::npos) << text << "\n  " << findings[0].rule;
  EXPECT_NE(findings[0].rule.find("guide " + chapter), std::string::npos) << findings[0].rule;
  EXPECT_EQ(findings[0].count, 1u);
}

// A field of an instruction: `width` bits from bit `low` of its 64.
struct EncodedField {
  unsigned low, width;
  uint64_t value;
};
// The instruction with other fields, for what the assembler refuses.
inline std::string encoded(const std::string& text, std::initializer_list<EncodedField> fields,
                           unsigned wave_size = 32) {
  std::vector<uint32_t> words = interpreter::assembled(text, wave_size);
  words.pop_back();  // s_endpgm
  std::string listing = ".long ";
  for (size_t i = 0; i < words.size(); ++i) {
    for (const EncodedField& field : fields)
      for (unsigned bit = 0; bit < field.width; ++bit)
        if ((field.low + bit) / 32 == i) {
          const uint32_t mask = 1u << (field.low + bit) % 32;
          words[i] = field.value >> bit & 1 ? words[i] | mask : words[i] & ~mask;
        }
    char word[16];
    std::snprintf(word, sizeof word, "%s0x%08x", i == 0 ? "" : ", ", words[i]);
    listing += word;
  }
  return listing + "\n";
}

}  // namespace lockstep::machine
