-- lua5.4 demo.lua FOLDER: searches the index that Python made, adds to it.
local grebe = require "grebe"

local ix <close> = grebe.open(arg[1])
print(string.format("  %d documents, opened by %s", #ix, _VERSION))

-- The folder holds package records, or the documentation of Python.
local packages = ix.schema.summary ~= nil
local text = packages and "summary" or "doc"
local hits = ix:search(packages and "lua bindings" or "lower case", {
  fields = { "name^2", text }, limit = 3,
})
for rank, hit in hits:each() do
  local line = (hit.doc[text] or ""):gsub("%s+", " ")
  if #line > 34 then line = line:sub(1, 31) .. "..." end
  print(string.format("  %d  %6.2f  %-28s %s", rank, hit.score, hit.id, line))
end
print(string.format("  %d found", hits.total))

ix:add { id = "grebe", name = "grebe", [text] = "search inside your process" }
local info = ix:commit()
print(string.format("  added one, committed: number %d, %d sync%s",
                    info.number, info.syncs, info.syncs == 1 and "" or "s"))
