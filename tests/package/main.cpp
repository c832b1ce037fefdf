// Uses an installed Vicinal as a stranger would: the public headers and the library.
#include <vicinal/error.hpp>
#include <vicinal/units.hpp>

int main() {
  try {
    throw vicinal::UsageError("reached");
  } catch (const vicinal::Error&) {
    return vicinal::Bytes{1} + vicinal::Bytes{2} == vicinal::Bytes{3} ? 0 : 1;
  }
}
