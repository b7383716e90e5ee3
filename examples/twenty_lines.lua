local grebe = require "grebe"

local ix <close> = grebe.open(":memory:", { -- or a folder's name
  id = grebe.key(), title = grebe.text "en",
  tags = grebe.keyword { many = true },
})
ix:add { id = "1", title = "The Old Man and the Sea", tags = { "sea", "old" } }
ix:add { id = "2", title = "Twenty Thousand Leagues under the Sea",
         tags = { "sea" } }
ix:add { id = "3", title = "An Old-Fashioned Girl" }
ix:commit { soft = true } -- visible; ix:commit() makes durable too

local hits = ix:search("old sea", { facets = { "tags" },
                                    highlight = { "title" } })
for _, hit in hits:each() do
  print(string.format("%.2f %s %s", hit.score, hit.id, hit.highlights.title[1]))
end
print(hits.total, "found", hits.facets:count("tags", "sea"), "of the sea")

local some = ix:search('title:"old man" OR tags:sea', { where = "-tags:old" })
print(table.concat(some.ids, " "))
ix:delete_by_query "title:girl"
ix:commit { soft = true }
print(#ix .. " left")
