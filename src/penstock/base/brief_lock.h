// Takes a mutex whose critical sections are far shorter than a sleep.
//
// A thread that finds it taken looks again for about a microsecond before it
// sleeps: a wake-up costs ten times that, for the sleeper and for its waker.
#pragma once

#include <mutex>

namespace penstock {

inline std::unique_lock<std::mutex> brief_lock(std::mutex& mutex) {
  constexpr int kLooks = 40;
  for (int i = 0; i < kLooks; ++i) {
    if (mutex.try_lock()) return {mutex, std::adopt_lock};
    for (int pause = 0; pause < 8; ++pause) {
#if defined(__x86_64__) || defined(__i386__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
  }
  return std::unique_lock(mutex);
}

}  // namespace penstock
