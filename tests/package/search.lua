-- A search with an installed grebe.
local grebe = require "grebe"
local ix <close> = grebe.open(":memory:", {
  id = grebe.key(), title = grebe.text "en",
})
ix:add { id = "1", title = "The Old Man and the Sea" }
ix:commit { soft = true }
local hits = ix:search "men sea"
assert(#hits == 1 and hits[1].id == "1", "the installed grebe finds nothing")
io.stderr:write("   the rock searches\n")
