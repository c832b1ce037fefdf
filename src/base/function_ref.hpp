// A function that is called while its owner waits: unlike std::function it copies nothing and allocates nothing.
#pragma once

#include <utility>

namespace vicinal::base {

template <typename Signature>
class FunctionRef;

// Valid as long as what it was made from.
template <typename Result, typename... Arguments>
class FunctionRef<Result(Arguments...)> {
 public:
  template <typename Function>
  FunctionRef(const Function& function)  // NOLINT(google-explicit-constructor)
      : object_(&function), call_([](const void* object, Arguments... arguments) -> Result {
          return (*static_cast<const Function*>(object))(std::forward<Arguments>(arguments)...);
        }) {}
  Result operator()(Arguments... arguments) const {
    return call_(object_, std::forward<Arguments>(arguments)...);
  }

 private:
  const void* object_;
  Result (*call_)(const void*, Arguments...);
};

}  // namespace vicinal::base
