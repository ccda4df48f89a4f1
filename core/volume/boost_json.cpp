// Boost.JSON is header-only here; its implementation is compiled in this file, once for everybody.
#include <boost/json/src.hpp>
