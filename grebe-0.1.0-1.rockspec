rockspec_format = "3.0"
package = "grebe"
version = "0.1.0-1"
source = {
   url = "git+file://.",
}
description = {
   summary = "Search engine inside the program: full text, facets, commits",
   detailed = [[
Grebe indexes documents and searches them within the process, in memory or in
a folder, with soft commits that are visible at once and hard commits that are
durable. `luarocks --lua-version 5.4 make` in a checkout builds and installs.
]],
   license = "Apache-2.0",
}
dependencies = {
   "lua ~> 5.4",
}
test_dependencies = {
   "busted",
}
-- Needs cmake, a C compiler, swig and the libraries that CMakeLists.txt names.
build = {
   type = "command",
   build_command = "cmake -S . -B build.luarocks -DCMAKE_BUILD_TYPE=Release "
      .. "-DGREBE_TESTS=OFF -DGREBE_LUA=ON "
      .. "-DGREBE_LUA_INCLUDE=\"$(LUA_INCDIR)\" "
      .. "-DGREBE_LUA_LIBDIR=\"$(LIBDIR)\" "
      .. "-DGREBE_LUA_LUADIR=\"$(LUADIR)\" "
      .. "&& cmake --build build.luarocks --target grebe_lua --parallel",
   install_command = "cmake --install build.luarocks --component lua",
}
test = {
   type = "busted",
   flags = { "--lua=lua5.4", "tests/lua" },
}
