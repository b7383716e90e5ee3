-- lua5.4 demo.lua FOLDER: searches the index that Python made, adds to it.
local grebe = require "grebe"

local ix <close> = grebe.open(arg[1])
print(string.format("  %d documents, opened by %s", #ix, _VERSION))

local hits = ix:search("lua bindings", {
  fields = { "name^2", "summary" }, where = "section:libs", limit = 3,
})
for rank, hit in hits:each() do
  print(string.format("  %d  %6.2f  %-26s %s", rank, hit.score, hit.id,
                      hit.doc.summary:sub(1, 36)))
end
print(string.format("  %d found", hits.total))

ix:add {
  id = "grebe", name = "grebe", section = "libs", tags = { "works-with::text" },
  summary = "full-text search inside your process", kib = 1,
}
local info = ix:commit()
print(string.format("  added one, committed: number %d, %d sync%s",
                    info.number, info.syncs, info.syncs == 1 and "" or "s"))
