-- Books in a folder: written, committed, opened again. ./run lua examples/books.lua
local grebe = require "grebe"
local folder = os.tmpname() .. ".grebe"
do
  local ix <close> = grebe.open(folder, {
    id = grebe.key(), title = grebe.text "en", body = grebe.text "en",
    tags = grebe.keyword { many = true }, year = grebe.int(),
  })
  ix:add { id = "1", title = "The Old Man and the Sea", year = 1952,
           body = "He was an old man who fished alone.", tags = { "sea" } }
  ix:add { id = "2", title = "Moby-Dick", tags = { "sea", "whale" },
           body = "The old whaler hunts the white whale.", year = 1851 }
  ix:add { id = "3", title = "Walden", tags = { "woods" }, year = 1854,
           body = "An old cabin beside the pond." }
  ix:commit { soft = true }                     -- visible, nothing written
  local hits = ix:search("old", { where = "tags:sea", sort = "year",
                                  facets = { "tags" }, highlight = "body" })
  for rank, hit in hits:each() do
    print(rank, hit.year, hit.title, hit.highlights.body[1])
  end
  for _, tag in ipairs(hits.facets.tags) do print(tag.value, tag.count) end
  print("hard commit", ix:commit().bytes, "bytes") -- durable on return
end
local again <close> = grebe.open(folder)
print(("%s holds %d books"):format(folder, #again), again:get("3").title)
again:close()
os.execute("rm -r '" .. folder .. "'" .. " '" .. folder:sub(1, -7) .. "'")
