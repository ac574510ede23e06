#include "fuzz/kernels/generate.h"

#include <algorithm>
#include <string_view>

#include "fuzz/kernels/operations.h"

namespace lockstep::kernel_fuzz {

uint64_t interesting_bits(Random& random, Base base) {
  const unsigned width = bits(base);
  const uint64_t mask = ~0ull >> (64 - width);
  if (is_float(base)) {
    const unsigned mantissa = width == 16 ? 10 : width == 32 ? 23 : 52;
    const uint64_t sign = random.percent(50) ? 1ull << (width - 1) : 0;
    const uint64_t exponents = (mask >> 1) >> mantissa;  // the largest exponent: infinity and NaN
    const uint64_t one = exponents >> 1;
    switch (random.below(8)) {
      case 0:  // zero, the least subnormal, the largest subnormal, the least normal
        return sign | random.pick(std::array<uint64_t, 4>{0, 1, (1ull << mantissa) - 1, 1ull << mantissa});
      case 1:  // infinity, the largest number, NaN
        return sign | random.pick(std::array<uint64_t, 3>{exponents << mantissa, (exponents << mantissa) - 1,
                                                          (exponents << mantissa) | 1ull << (mantissa - 1)});
      case 2:  // any bits
        return random.next() & mask;
      case 3:  // small whole numbers and halves
        return sign | (one + random.below(4)) << mantissa | (uint64_t(random.below(8)) << (mantissa - 3));
      case 4:  // few bits set at the end: rounding
        return sign | (one - 2 + random.below(4)) << mantissa | random.below(4);
      default:  // of usual size
        return sign | ((one - 6 + random.below(12)) << mantissa) | (random.next() & ((1ull << mantissa) - 1));
    }
  }
  switch (random.below(8)) {
    case 0:
      return 0;
    case 1:
      return random.pick(std::array<uint64_t, 5>{1, mask, mask >> 1, (mask >> 1) + 1, 2});
    case 2:
      return ((1ull << random.below(width)) + random.below(3) - 1) & mask;
    case 3:
    case 4:
      return random.below(64) & mask;
    default:
      return random.next() & mask;
  }
}

namespace {

constexpr Type kU32{Base::u32, 1};

class Generator {
 public:
  Generator(uint64_t seed, Size size) : random_(seed), is_small_(size == Size::small) { kernel_.seed = seed; }
  Kernel generate();

 private:
  using Statements = std::vector<Statement>;

  Type random_type();
  Expression expression(Type type, unsigned depth);
  Expression leaf(Type type);
  Expression load(Type type, unsigned depth);
  Expression rearranged(Type type, unsigned depth);
  bool operation(Type type, unsigned depth, Expression& out);
  bool call(Type type, unsigned depth, Expression& out);
  Expression constant(Type type);
  Expression condition(unsigned depth);
  Expression uniform(unsigned depth);
  Expression of(Expression::Kind kind, Type type, uint32_t index = 0) {
    Expression result;
    result.kind = kind;
    result.type = type;
    result.index = index;
    return result;
  }

  Statements statements(unsigned count, unsigned nesting);
  Statement statement(unsigned nesting);
  Statement assignment();
  Statement store();
  Statement control(unsigned nesting);
  bool call_by_pointer(Statement& out);
  uint32_t variable_of(Type type);  // ~0u if there is none
  const std::vector<Variable>& variables() const { return function_ ? scope_ : kernel_.variables; }

  void function(unsigned number);
  Statement phase(unsigned count);
  Statement exchange();
  Statements uniform_statements(unsigned count, unsigned nesting);

  unsigned between(unsigned least, unsigned most, unsigned least_small, unsigned most_small) {
    return is_small_ ? random_.between(least_small, most_small) : random_.between(least, most);
  }

  Random random_;
  const bool is_small_;
  Kernel kernel_;
  Function* function_ = nullptr;
  unsigned function_number_ = 0;
  std::vector<Variable> scope_;  // of the function that is being made
  const Statement* phase_ = nullptr;
  bool only_uniform_ = false;
  std::vector<uint32_t> counters_;  // of the loops round this place
  unsigned loops_ = 0;              // round this place that `break` and `continue` may leave
  bool in_choice_ = false;          // `break` would leave the switch
  uint32_t next_counter_ = 0;
  unsigned cost_ = 1;  // turns of the loops round this place
  int budget_ = 0;     // expressions that may still come: compilers take the most of the time
};

Type Generator::random_type() {
  static constexpr Base kOften[] = {Base::u32, Base::i32, Base::u32, Base::f32, Base::u64,
                                    Base::i64, Base::f16, Base::f64, Base::u16, Base::i16};
  Type type;
  type.base = random_.percent(60) ? random_.pick(kOften) : Base(random_.below(kBaseCount));
  if (random_.percent(30)) type.lanes = random_.pick(std::array<uint8_t, 5>{2, 2, 2, 4, 8});
  return type;
}

Expression Generator::constant(Type type) {
  Expression result = of(Expression::Kind::constant, type);
  const bool same = random_.percent(50);
  for (unsigned i = 0; i < type.lanes; ++i)
    result.lanes[i] = i && same ? result.lanes[0] : interesting_bits(random_, type.base);
  // LLVM 19 inserts a constant -0 of f16 into a vector as +0.
  for (unsigned i = 0; i < type.lanes; ++i)
    if (type.base == Base::f16 && result.lanes[i] == 0x8000) result.lanes[i] = 0x8001;
  // The payload of a NaN is not defined.
  for (unsigned i = 0; i < type.lanes; ++i) {
    if (!is_float(type.base)) continue;
    const unsigned width = bits(type.base), mantissa = width == 16 ? 10 : width == 32 ? 23 : 52;
    const uint64_t infinity = (~0ull >> (65 - width)) >> mantissa << mantissa;
    if ((result.lanes[i] & (~0ull >> (65 - width))) > infinity)
      result.lanes[i] = infinity | 1ull << (mantissa - 1);
  }
  return result;
}

uint32_t Generator::variable_of(Type type) {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < variables().size(); ++i)
    if (variables()[i].type == type) found.push_back(i);
  if (found.empty()) return ~0u;
  return random_.pick(found);
}

Expression Generator::leaf(Type type) {
  using Kind = Expression::Kind;
  if (!function_ && random_.percent(only_uniform_ ? 60 : 15))
    for (unsigned tries = 0; tries < 4; ++tries) {
      const unsigned i = random_.below(kArguments);
      if (type == Type{kArgumentTypes[i], 1}) return of(Kind::argument, type, i);
    }
  if (type == kU32) {
    if (!counters_.empty() && random_.percent(35)) return of(Kind::counter, type, random_.pick(counters_));
    if (!function_ && !only_uniform_ && random_.percent(25)) return of(Kind::local_id, type);
    if (!function_ && random_.percent(10)) return of(Kind::group_id, type);
  }
  if (!only_uniform_ && random_.percent(75)) {
    const uint32_t index = variable_of(type);
    if (index != ~0u) return of(Kind::variable, type, index);
  }
  return constant(type);
}

Expression Generator::load(Type type, unsigned depth) {
  using Kind = Expression::Kind;
  std::vector<Expression> ways;
  if (!function_) {
    ways.push_back(of(Kind::load_input, type));
    if (bytes(type) <= kDynamicBytes && !only_uniform_) ways.push_back(of(Kind::load_output, type));
  }
  if (!function_ && !only_uniform_ && type.lanes == 1) {
    for (uint32_t i = 0; i < kernel_.private_arrays.size(); ++i)
      if (kernel_.private_arrays[i].base == type.base) ways.push_back(of(Kind::load_private, type, i));
    for (uint32_t i = 0; phase_ && i < kernel_.lds_arrays.size(); ++i)
      if (kernel_.lds_arrays[i].base == type.base && phase_->modes[i] < 2)
        for (int weight = 0; weight < 2; ++weight) ways.push_back(of(Kind::load_lds, type, i));
  }
  if (function_ && function_->takes_pointer && type == kU32) ways.push_back(of(Kind::load_pointer, type));
  if (ways.empty()) return leaf(type);
  Expression result = random_.pick(ways);
  result.operands.push_back(expression(kU32, depth - 1));
  return result;
}

Expression Generator::rearranged(Type type, unsigned depth) {
  using Kind = Expression::Kind;
  if (type.lanes == 1) {
    const Type from{type.base, random_.pick(std::array<uint8_t, 3>{2, 4, 8})};
    Expression result = of(random_.percent(70) ? Kind::element : Kind::any_element, type);
    // A vector in memory, as an element is not taken from a value.
    if (result.kind == Kind::any_element) {
      const uint32_t index = variable_of(from);
      if (index == ~0u || only_uniform_)
        result.kind = Kind::element;
      else
        result.operands = {of(Kind::variable, from, index), expression(kU32, depth - 1)};
    }
    if (result.kind == Kind::element) {
      result.index = random_.below(from.lanes);
      result.operands.push_back(expression(from, depth - 1));
    }
    return result;
  }
  switch (random_.below(3)) {
    case 0: {
      Expression result = of(Kind::splat, type);
      result.operands.push_back(expression({type.base, 1}, depth - 1));
      return result;
    }
    case 1: {
      Expression result = of(Kind::swizzle, type, uint32_t(random_.next()));
      const uint8_t lanes = random_.pick(std::array<uint8_t, 3>{2, 4, type.lanes});
      result.operands.push_back(expression({type.base, lanes}, depth - 1));
      return result;
    }
  }
  Expression result = of(Kind::build, type);
  for (unsigned i = 0; i < type.lanes; ++i)
    result.operands.push_back(i < 2 ? expression({type.base, 1}, depth - 1) : leaf({type.base, 1}));
  return result;
}

bool Generator::operation(Type type, unsigned depth, Expression& out) {
  struct Candidate {
    const Operation* operation;
    Type main;
  };
  std::vector<Candidate> candidates;
  for (const Operation& operation : operations()) {
    std::vector<Type> mains;
    const char result = operation.signature[0];
    if (result == 'T') {
      if (operation.bases >> unsigned(type.base) & 1) mains.push_back(type);
    } else if (result == 'C' || operation.bases != 0) {
      for (unsigned base = 0; base < kBaseCount; ++base) {
        const Type main{Base(base), type.lanes};
        if ((operation.bases >> base & 1) && signature_type(operation, 0, main) == type)
          mains.push_back(main);
      }
    } else if (signature_type(operation, 0, kU32) == type) {
      mains.push_back(kU32);
    }
    const bool long_code =
        operation.name == std::string_view("div") || operation.name == std::string_view("rem");
    std::erase_if(mains, [&](Type main) {
      return main.lanes > 1 && (operation.device_shape == Operation::scalar || long_code);
    });
    if (mains.empty()) continue;
    const Type main = random_.pick(mains);
    for (unsigned i = 0; i < operation.weight; ++i) candidates.push_back({&operation, main});
  }
  if (candidates.empty()) return false;
  const Candidate chosen = random_.pick(candidates);
  out = of(Expression::Kind::operation, type);
  out.operation = chosen.operation;
  for (unsigned i = 0; i < operand_count(*chosen.operation); ++i)
    out.operands.push_back(expression(signature_type(*chosen.operation, i + 1, chosen.main), depth - 1));
  return true;
}

bool Generator::call(Type type, unsigned depth, Expression& out) {
  if (cost_ > 8) return false;
  std::vector<uint32_t> found;
  for (uint32_t i = function_ ? function_number_ + 1 : 0; i < kernel_.functions.size(); ++i)
    if (kernel_.functions[i].result == type && !kernel_.functions[i].takes_pointer) found.push_back(i);
  if (found.empty()) return false;
  out = of(Expression::Kind::call, type, random_.pick(found));
  for (const Type parameter : kernel_.functions[out.index].parameters)
    out.operands.push_back(expression(parameter, depth - 1));
  return true;
}

Expression Generator::expression(Type type, unsigned depth) {
  using Kind = Expression::Kind;
  --budget_;
  if (depth == 0 || budget_ <= 0 || random_.percent(15)) return leaf(type);
  const unsigned choice = random_.below(100);
  Expression result;
  if (choice < 12) return load(type, depth);
  if (choice < 24) return rearranged(type, depth);
  if (choice < 34) {
    Type from{Base(random_.below(kBaseCount)), type.lanes};
    if (from == type) from.base = from.base == Base::u32 ? Base::i64 : Base::u32;
    if (from == type) from.base = Base::i16;
    result = of(Kind::convert, type);
    result.operands.push_back(expression(from, depth - 1));
    return result;
  }
  if (choice < 40) {
    std::vector<Type> same;
    for (unsigned base = 0; base < kBaseCount; ++base)
      for (const uint8_t lanes : {1, 2, 4, 8})
        if (bytes({Base(base), lanes}) == bytes(type) && Type{Base(base), lanes} != type)
          same.push_back({Base(base), lanes});
    if (!same.empty()) {
      result = of(Kind::bitcast, type);
      result.operands.push_back(expression(random_.pick(same), depth - 1));
      return result;
    }
  }
  if (choice < 45 && call(type, depth, result)) return result;
  if (operation(type, depth, result)) return result;
  return leaf(type);
}

Expression Generator::condition(unsigned depth) {
  Expression result;
  const Type type{Base(random_.below(kBaseCount)), 1};
  std::vector<const Operation*> compares;
  for (const Operation& operation : operations())
    if (operation.signature[0] == 'C' && (operation.bases >> unsigned(type.base) & 1))
      compares.push_back(&operation);
  result = of(Expression::Kind::operation, kU32);
  result.operation = random_.pick(compares);
  for (unsigned i = 0; i < operand_count(*result.operation); ++i)
    result.operands.push_back(expression(type, depth));
  return result;
}

Statement Generator::assignment() {
  Statement result;
  result.index = random_.below(unsigned(variables().size()));
  const Type type = variables()[result.index].type;
  result.type = type;
  if (type.lanes == 1 || random_.percent(60)) {
    result.kind = Statement::Kind::assign;
    result.expressions.push_back(expression(type, random_.between(2, 5)));
  } else if (random_.percent(60)) {
    result.kind = Statement::Kind::assign_element;
    result.value = random_.below(type.lanes);
    result.expressions.push_back(expression({type.base, 1}, random_.between(1, 4)));
  } else {
    result.kind = Statement::Kind::assign_any;
    result.expressions.push_back(expression(kU32, 2));
    result.expressions.push_back(expression({type.base, 1}, random_.between(1, 3)));
  }
  return result;
}

Statement Generator::store() {
  Statement result;
  if (function_) {
    if (!function_->takes_pointer) return assignment();
    result.kind = Statement::Kind::store_pointer;
    result.expressions = {expression(kU32, 2), expression(kU32, 3)};
    return result;
  }
  std::vector<uint32_t> own, atomic;
  for (uint32_t i = 0; i < kernel_.lds_arrays.size(); ++i) {
    if (phase_->modes[i] == 0) own.push_back(i);
    if (phase_->modes[i] >= 2) atomic.push_back(i);
  }
  const unsigned choice = random_.below(100);
  if (choice < 35 && !own.empty()) {
    result.kind = Statement::Kind::store_lds;
    result.index = random_.pick(own);
    result.type = {kernel_.lds_arrays[result.index].base, 1};
    result.expressions = {expression(kU32, 1), expression(result.type, 3)};
  } else if (choice < 60 && !atomic.empty()) {
    result.kind = Statement::Kind::atomic_lds;
    result.index = random_.pick(atomic);
    result.type = {kernel_.lds_arrays[result.index].base, 1};
    result.expressions = {expression(kU32, 2), expression(result.type, 3)};
  } else if (choice < 75 && !kernel_.private_arrays.empty()) {
    result.kind = Statement::Kind::store_private;
    result.index = random_.below(unsigned(kernel_.private_arrays.size()));
    result.type = {kernel_.private_arrays[result.index].base, 1};
    result.expressions = {expression(kU32, 2), expression(result.type, 3)};
  } else if (choice < 85) {
    result.kind = Statement::Kind::atomic_global;
    result.value = random_.below(kAtomicOperations);
    result.type = {random_.pick(std::array<Base, 4>{Base::i32, Base::u32, Base::i64, Base::u64}), 1};
    result.expressions = {expression(kU32, 1), expression(result.type, 3)};
  } else {
    result.kind = Statement::Kind::store_output;
    result.type = random_type();
    result.expressions = {expression(kU32, 1), expression(result.type, 3)};
  }
  return result;
}

bool Generator::call_by_pointer(Statement& out) {
  if (function_ || cost_ > 8) return false;
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < kernel_.functions.size(); ++i)
    if (kernel_.functions[i].takes_pointer && variable_of(kernel_.functions[i].result) != ~0u)
      found.push_back(i);
  if (found.empty()) return false;
  out.kind = Statement::Kind::call_pointer;
  out.value = random_.pick(found);
  const Function& callee = kernel_.functions[out.value];
  out.index = variable_of(callee.result);
  out.type = callee.result;
  std::vector<std::pair<Statement::Place, uint32_t>> places = {{Statement::Place::output, 0}};
  for (uint32_t i = 0; i < kernel_.private_arrays.size(); ++i)
    if (kernel_.private_arrays[i].base == Base::u32) places.push_back({Statement::Place::private_array, i});
  for (uint32_t i = 0; i < kernel_.lds_arrays.size(); ++i)
    if (kernel_.lds_arrays[i].base == Base::u32 && phase_->modes[i] == 0)
      places.push_back({Statement::Place::lds, i});
  const auto place = random_.pick(places);
  out.place = place.first;
  out.array = place.second;
  for (const Type parameter : callee.parameters) out.expressions.push_back(expression(parameter, 2));
  return true;
}

Statement Generator::control(unsigned nesting) {
  Statement result;
  const unsigned choice = random_.below(100);
  const auto saved_loops = loops_;
  const bool saved_choice = in_choice_;
  if (choice < 40 || cost_ > 30) {
    result.kind = Statement::Kind::branch;
    result.expressions.push_back(condition(2));
    result.bodies.push_back(statements(random_.between(1, 3), nesting + 1));
    result.bodies.emplace_back();
    if (random_.percent(50)) result.bodies[1] = statements(random_.between(1, 3), nesting + 1);
    return result;
  }
  if (choice < 80) {
    const bool at_end = choice >= 65;
    result.kind = at_end ? Statement::Kind::do_loop : Statement::Kind::loop;
    result.value = random_.between(2, 5);
    result.expressions.push_back(at_end ? condition(2) : expression(kU32, 2));
    result.index = next_counter_++;
    const unsigned cost = cost_;
    counters_.push_back(result.index);
    cost_ *= result.value;
    loops_ = 1;
    in_choice_ = false;
    result.bodies.push_back(statements(random_.between(1, 4), nesting + 1));
    counters_.pop_back();
    cost_ = cost;
  } else {
    result.kind = Statement::Kind::choose;
    result.expressions.push_back(expression(kU32, 2));
    result.value = uint32_t(random_.next() & random_.next());
    in_choice_ = true;
    const unsigned cases = random_.between(2, 4);
    for (unsigned i = 0; i < cases; ++i)
      result.bodies.push_back(statements(random_.between(1, 2), nesting + 1));
  }
  loops_ = saved_loops;
  in_choice_ = saved_choice;
  return result;
}

Statement Generator::statement(unsigned nesting) {
  Statement result;
  const unsigned choice = random_.below(100);
  if (choice < 25 && nesting < 3) return control(nesting);
  if (choice < 32 && loops_) {
    result.kind = in_choice_ || random_.percent(50) ? Statement::Kind::next : Statement::Kind::leave;
    result.expressions.push_back(condition(1));
    return result;
  }
  if (choice < 37 && function_) {
    result.kind = Statement::Kind::give_back;
    result.expressions = {condition(1), expression(function_->result, 2)};
    return result;
  }
  if (choice < 42 && call_by_pointer(result)) return result;
  if (choice < 65) return store();
  return assignment();
}

Generator::Statements Generator::statements(unsigned count, unsigned nesting) {
  Statements result;
  for (unsigned i = 0; i < count && (budget_ > 0 || i == 0); ++i) result.push_back(statement(nesting));
  return result;
}

void Generator::function(unsigned number) {
  Function made;
  made.takes_pointer = random_.percent(40);
  made.result = random_.percent(60) ? kU32 : random_type();
  for (unsigned i = random_.between(1, 4); i > 0; --i) made.parameters.push_back(random_type());
  for (unsigned i = random_.between(1, 3); i > 0; --i) made.variables.push_back({random_type(), true});
  scope_.clear();
  for (const Type parameter : made.parameters) scope_.push_back({parameter});
  scope_.insert(scope_.end(), made.variables.begin(), made.variables.end());
  function_ = &made;
  function_number_ = number;
  made.body = statements(random_.between(1, 4), 1);
  made.value = expression(made.result, 2);
  function_ = nullptr;
  kernel_.functions[number] = std::move(made);
}

Statement Generator::phase(unsigned count) {
  Statement result;
  result.kind = Statement::Kind::phase;
  for (const Array& array : kernel_.lds_arrays) {
    const bool whole = array.base >= Base::i32 && array.base <= Base::u64;
    uint8_t mode = random_.percent(45) ? 0 : 1;
    if (whole && random_.percent(25)) mode = uint8_t(2 + random_.below(kAtomicOperations));
    result.modes.push_back(mode);
  }
  phase_ = &result;
  Statements body = statements(count, 0);
  phase_ = nullptr;
  result.bodies.push_back(std::move(body));
  return result;
}

Statement Generator::exchange() {
  Statement result;
  result.kind = Statement::Kind::exchange;
  result.index = variable_of(kU32);
  result.type = kU32;
  do result.exchange = Exchange(random_.below(kExchanges));
  while (result.exchange == Exchange::permlane64 && kernel_.local() % 64 != 0);
  result.value = uint32_t(random_.next() >> 20);
  switch (result.exchange) {
    case Exchange::ds_permute:
      result.value &= 31;
      break;
    case Exchange::ds_swizzle:
      result.value &= 0xffff;
      if (result.value & 0x8000) result.value &= 0x80ff;
      break;
    case Exchange::dpp: {
      static constexpr uint32_t kControls[] = {0x101, 0x102, 0x108, 0x10f, 0x111, 0x114, 0x11f, 0x121,
                                               0x128, 0x12f, 0x140, 0x141, 0x150, 0x157, 0x160, 0x16d};
      const uint32_t control = random_.percent(30) ? random_.below(256) : random_.pick(kControls);
      const uint32_t rows = random_.percent(60) ? 15 : random_.below(16),
                     banks = random_.percent(60) ? 15 : random_.below(16);
      result.value = control | rows << 12 | banks << 16 | random_.below(2) << 20;
      break;
    }
    case Exchange::dpp8:
      result.value &= 0xffffff;
      break;
    default:
      break;
  }
  result.expressions.push_back(expression(kU32, 2));
  if (result.exchange == Exchange::ds_bpermute) result.expressions.push_back(expression(kU32, 2));
  return result;
}

Generator::Statements Generator::uniform_statements(unsigned count, unsigned nesting) {
  Statements result;
  const bool exchanges = kernel_.local() % 32 == 0;
  for (unsigned i = 0; i < count && (budget_ > 0 || i == 0); ++i) {
    const unsigned choice = random_.below(100);
    if (choice < 25 && exchanges) {
      result.push_back(exchange());
    } else if (choice < 35 && nesting < 2 && cost_ < 8) {
      Statement loop;
      loop.kind = Statement::Kind::uniform_loop;
      loop.index = next_counter_++;
      loop.value = random_.between(2, 4);
      counters_.push_back(loop.index);
      const unsigned cost = cost_;
      cost_ *= loop.value;
      loop.bodies.push_back(uniform_statements(random_.between(1, 3), nesting + 1));
      cost_ = cost;
      counters_.pop_back();
      result.push_back(std::move(loop));
    } else if (choice < 43 && nesting < 2) {
      Statement branch;
      branch.kind = Statement::Kind::uniform_branch;
      only_uniform_ = true;
      branch.expressions.push_back(condition(3));
      only_uniform_ = false;
      for (int side = 0; side < 2; ++side)
        branch.bodies.push_back(uniform_statements(random_.between(1, 2), nesting + 1));
      result.push_back(std::move(branch));
    } else {
      result.push_back(phase(between(2, 6, 1, 2)));
    }
  }
  return result;
}

Kernel Generator::generate() {
  static constexpr unsigned kShapes[][2] = {{64, 1}, {64, 1}, {128, 1}, {32, 1}, {96, 1},
                                            {8, 8},  {32, 2}, {33, 1},  {10, 7}, {1, 1}};
  const auto& shape = random_.pick(kShapes);
  kernel_.local_x = shape[0];
  kernel_.local_y = shape[1];
  kernel_.groups = random_.between(1, 3);
  for (unsigned i = 0; i < kArguments; ++i)
    kernel_.arguments[i] = interesting_bits(random_, kArgumentTypes[i]);
  // The float argument is any bits that are no NaN.
  if ((kernel_.arguments[5] & 0x7f800000) == 0x7f800000) kernel_.arguments[5] &= 0xff800000;
  for (unsigned i = 0; i < 3; ++i) kernel_.variables.push_back({kU32});
  for (unsigned i = between(4, 9, 1, 3); i > 0; --i) kernel_.variables.push_back({random_type()});
  for (unsigned i = random_.below(3); i > 0; --i)
    kernel_.private_arrays.push_back(
        {random_.percent(50) ? Base::u32 : Base(random_.below(unsigned(Base::f16)))});
  for (unsigned i = random_.below(4); i > 0; --i)
    kernel_.lds_arrays.push_back(
        {random_.percent(40) ? Base::u32 : Base(random_.below(unsigned(Base::f16)))});
  kernel_.functions.resize(random_.percent(is_small_ ? 15 : 45) ? between(1, 2, 1, 1) : 0);
  const int functions_budget = int(between(10, 30, 3, 8));
  for (size_t i = kernel_.functions.size(); i-- > 0;) {
    budget_ = functions_budget;
    function(unsigned(i));
  }
  budget_ = int(between(20, 120, 4, 20));

  kernel_.body = uniform_statements(between(2, 4, 1, 2), 0);
  Statement last;
  last.kind = Statement::Kind::phase;
  last.modes.assign(kernel_.lds_arrays.size(), 0);
  last.bodies.emplace_back();
  for (uint32_t i = 0; i < kernel_.variables.size(); ++i) {
    Statement dump;
    dump.kind = Statement::Kind::dump;
    dump.index = i;
    dump.type = kernel_.variables[i].type;
    const unsigned size = bytes(dump.type);
    kernel_.output_bytes = (kernel_.output_bytes + size - 1) / size * size;
    dump.value = kernel_.output_bytes;
    kernel_.output_bytes += size;
    last.bodies[0].push_back(std::move(dump));
  }
  // Whatever was left in LDS shows in the part of the output that phases write to.
  for (uint32_t i = 0; i < kernel_.lds_arrays.size(); ++i) {
    Statement store;
    store.kind = Statement::Kind::store_output;
    store.type = {kernel_.lds_arrays[i].base, 1};
    Expression place = of(Expression::Kind::constant, kU32),
               from = of(Expression::Kind::load_lds, store.type, i);
    place.lanes[0] = i;
    from.operands.push_back(constant(kU32));
    store.expressions = {place, from};
    last.bodies[0].push_back(std::move(store));
  }
  kernel_.output_bytes = (kernel_.output_bytes + 63) / 64 * 64;
  kernel_.body.push_back(std::move(last));
  return std::move(kernel_);
}

}  // namespace

Kernel generate(uint64_t seed, Size size) {
  return Generator(seed, size).generate();
}

}  // namespace lockstep::kernel_fuzz
