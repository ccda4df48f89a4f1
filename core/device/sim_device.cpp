#include "device/sim_device.hpp"

#include <cstring>
#include <memory>
#include <utility>

#include "base/check.hpp"
#include "device/request_check.hpp"

namespace cordwood {

namespace {

/// What a failed read leaves in the caller's memory: not the old content, which might pass for new.
constexpr int kUnreadByte = 0xee;

Error power_error(std::uint64_t offset) {
  return make_error(Errc::kIo, Place::kByte, offset, "the device has no power");
}

DeviceGeometry geometry_of(const SparseImage& image, const SimDeviceOptions& options) {
  CW_CHECK(options.sector_bytes != 0 && (options.sector_bytes & (options.sector_bytes - 1)) == 0);
  CW_CHECK(image.bytes() % options.sector_bytes == 0);
  return {image.bytes(), options.sector_bytes, options.volatile_cache, options.fua,
          options.discard};
}

std::shared_ptr<const std::vector<std::byte>> copy_of(ConstBytes bytes) {
  return std::make_shared<const std::vector<std::byte>>(bytes.begin(), bytes.end());
}

}  // namespace

SimDevice::SimDevice(const SparseImage& image, SimDeviceOptions options)
    : options_(options),
      geometry_(geometry_of(image, options)),
      contents_(image),
      stale_(image),
      model_(image, geometry_),
      recording_{image, geometry_, {}},
      faults_(options.seed) {}

std::string SimDevice::description() const {
  return "simulated, " + std::to_string(geometry_.bytes) + " bytes" +
         (geometry_.volatile_cache ? ", volatile cache" : ", no volatile cache");
}

Result<void> SimDevice::submit(std::span<const IoRequest> requests) {
  TRY(check_requests(geometry_, requests));
  Result<void> result;
  std::uint64_t batch = 0;
  bool any_write = false;
  {
    const std::lock_guard lock(mutex_);
    batch = ++batches_;
    for (const IoRequest& request : requests) {
      any_write = any_write || request.kind == IoRequest::Kind::kWrite;
      const Result<void> one = run(request, batch);
      if (!one && result) result = one;
    }
  }
  // Between the two locks the batch is under way: a flush of another thread does not cover it, and
  // a power cut leaves it unacknowledged.
  const std::lock_guard lock(mutex_);
  if (power_is_cut_) {
    if (result && !requests.empty()) return power_error(requests.front().offset);
    return result;
  }
  if (any_write) {
    DeviceEvent complete;
    complete.kind = DeviceEvent::Kind::kComplete;
    complete.batch = batch;
    record(complete);
  }
  return result;
}

Result<void> SimDevice::flush() {
  DeviceEvent event;
  std::optional<FaultRule> fault;
  {
    const std::lock_guard lock(mutex_);
    if (begin_operation() != Power::kOn) return power_error(0);
    event.called_at = model_.events();
    fault = faults_.hit(FaultRule::On::kFlush, 0, geometry_.bytes);
  }
  const std::lock_guard lock(mutex_);
  if (power_is_cut_) return power_error(0);
  event.kind = fault ? DeviceEvent::Kind::kFlushFailed : DeviceEvent::Kind::kFlush;
  record(event);
  if (fault) return make_error(fault->code, "the flush failed");
  return {};
}

Result<void> SimDevice::discard(std::uint64_t offset, std::uint64_t bytes) {
  TRY(check_range(geometry_, offset, bytes));
  const std::lock_guard lock(mutex_);
  const Power power = begin_operation();
  if (power == Power::kOff) return power_error(offset);
  if (options_.discard) {
    DeviceEvent event;
    event.kind = DeviceEvent::Kind::kDiscard;
    event.fill = options_.discard_fill;
    event.offset = offset;
    event.bytes = bytes;
    event.batch = ++batches_;
    record(event);
    contents_.fill(offset, bytes, options_.discard_fill);
    if (power == Power::kOn) {
      event.kind = DeviceEvent::Kind::kComplete;
      record(event);
    }
  }
  if (power != Power::kOn) return power_error(offset);
  return {};
}

SparseImage SimDevice::contents() const {
  const std::lock_guard lock(mutex_);
  return contents_;
}

std::uint64_t SimDevice::moment() const {
  const std::lock_guard lock(mutex_);
  return model_.events();
}

Recording SimDevice::recording() const {
  CW_CHECK(options_.record);
  const std::lock_guard lock(mutex_);
  return recording_;
}

void SimDevice::restart_recording() {
  const std::lock_guard lock(mutex_);
  CW_CHECK(!power_is_cut_);
  start_over(contents_);
}

void SimDevice::add_fault(const FaultRule& rule) {
  const std::lock_guard lock(mutex_);
  faults_.add(rule);
}

void SimDevice::clear_faults() {
  const std::lock_guard lock(mutex_);
  faults_.clear();
}

std::uint64_t SimDevice::faults_hit() const {
  const std::lock_guard lock(mutex_);
  return faults_.hits();
}

void SimDevice::damage(std::uint64_t offset, ConstBytes bytes) {
  const std::lock_guard lock(mutex_);
  contents_.write(offset, bytes);
  DeviceEvent event;
  event.kind = DeviceEvent::Kind::kDamage;
  event.offset = offset;
  event.bytes = bytes.size();
  event.data = copy_of(bytes);
  record(event);
}

void SimDevice::flip_bit_at_rest(std::uint64_t offset, unsigned bit) {
  std::byte byte{};
  contents().read(offset, {&byte, 1});
  byte ^= static_cast<std::byte>(1u << bit);
  damage(offset, {&byte, 1});
}

void SimDevice::remember_stale() {
  const std::lock_guard lock(mutex_);
  stale_ = contents_;
}

std::uint64_t SimDevice::operations() const {
  const std::lock_guard lock(mutex_);
  return operations_;
}

void SimDevice::cut_power() {
  const std::lock_guard lock(mutex_);
  power_is_cut_ = true;
}

void SimDevice::cut_power_at(std::uint64_t operation) {
  const std::lock_guard lock(mutex_);
  cut_at_ = operation;
}

bool SimDevice::power_is_cut() const {
  const std::lock_guard lock(mutex_);
  return power_is_cut_;
}

std::vector<CacheModel::OpenWrite> SimDevice::open_writes() const {
  const std::lock_guard lock(mutex_);
  return model_.open_writes();
}

SparseImage SimDevice::after_power_cut(std::span<const WriteFate> fates) const {
  const std::lock_guard lock(mutex_);
  return model_.after_power_cut(fates);
}

void SimDevice::restore_power(const SparseImage& medium) {
  CW_CHECK(medium.bytes() == geometry_.bytes);
  const std::lock_guard lock(mutex_);
  start_over(medium);
  power_is_cut_ = false;
  cut_at_.reset();
}

SimDevice::Power SimDevice::begin_operation() {
  const std::uint64_t operation = operations_++;
  if (power_is_cut_) return Power::kOff;
  if (!cut_at_ || operation < *cut_at_) return Power::kOn;
  power_is_cut_ = true;
  return Power::kFailsNow;
}

Result<void> SimDevice::run(const IoRequest& request, std::uint64_t batch) {
  const Power power = begin_operation();
  const bool is_read = request.kind == IoRequest::Kind::kRead;
  if (power == Power::kOn) return is_read ? run_read(request) : run_write(request, batch);
  if (is_read) std::memset(request.data, kUnreadByte, request.bytes);
  if (power == Power::kFailsNow && !is_read) put(request, request.offset, request.bytes, batch);
  return power_error(request.offset);
}

Result<void> SimDevice::run_read(const IoRequest& request) {
  const Bytes into(request.data, request.bytes);
  const auto fault = faults_.hit(FaultRule::On::kRead, request.offset, request.bytes);
  if (fault && fault->action == FaultRule::Action::kFail) {
    std::memset(request.data, kUnreadByte, request.bytes);
    return make_error(fault->code, Place::kByte, request.offset, "the read failed");
  }
  if (fault && fault->action == FaultRule::Action::kStale) {
    stale_.read(request.offset, into);
    return {};
  }
  contents_.read(request.offset, into);
  if (fault && fault->action == FaultRule::Action::kFlipBit && !into.empty()) {
    const std::uint64_t bits = into.size() * 8;
    const std::uint64_t bit = fault->bit ? *fault->bit % bits : faults_.random().below(bits);
    into[bit / 8] ^= static_cast<std::byte>(1u << (bit % 8));
  }
  return {};
}

Result<void> SimDevice::run_write(const IoRequest& request, std::uint64_t batch) {
  const auto fault = faults_.hit(FaultRule::On::kWrite, request.offset, request.bytes);
  std::uint64_t offset = request.offset;
  if (fault) {
    switch (fault->action) {
      case FaultRule::Action::kFail:
        fail_write(request, *fault);
        return make_error(fault->code, Place::kByte, request.offset, "the write failed");
      case FaultRule::Action::kMisdirect: offset = fault->target; break;
      case FaultRule::Action::kLose: return {};
      default: break;
    }
  }
  // A write misdirected to where there is no device is a lost one.
  if (check_range(geometry_, offset, request.bytes)) put(request, offset, request.bytes, batch);
  return {};
}

void SimDevice::fail_write(const IoRequest& request, const FaultRule& fault) {
  const std::uint64_t sectors = request.bytes / geometry_.sector_bytes;
  const bool all = fault.landed == FaultRule::Landed::kAll;
  const bool head = fault.landed == FaultRule::Landed::kHead;
  const std::uint64_t landed = all ? sectors : head ? sectors / 2 : 0;
  if (landed == 0) return;
  put(request, request.offset, landed * geometry_.sector_bytes, DeviceEvent::kNeverCompletes);
}

/// Lets the first bytes of a write reach the device, at an offset that may not be its own.
void SimDevice::put(const IoRequest& request, std::uint64_t offset, std::uint64_t bytes,
                    std::uint64_t batch) {
  const ConstBytes data(request.data, bytes);
  contents_.write(offset, data);
  DeviceEvent event;
  event.kind = DeviceEvent::Kind::kWrite;
  event.fua = request.fua;
  event.offset = offset;
  event.bytes = bytes;
  event.batch = batch;
  event.data = copy_of(data);
  record(std::move(event));
}

void SimDevice::record(DeviceEvent event) {
  model_.apply(event);
  if (options_.record) recording_.events.push_back(std::move(event));
}

void SimDevice::start_over(const SparseImage& medium) {
  contents_ = medium;
  model_ = CacheModel(medium, geometry_);
  recording_ = {medium, geometry_, {}};
}

}  // namespace cordwood
