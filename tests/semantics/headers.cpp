// The headers of the tests that reuse them (CMakeLists.txt), for a target that can own them.
int main() {}
