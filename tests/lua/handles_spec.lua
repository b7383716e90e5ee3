local grebe = require "grebe"

local function opened(count)
  local ix = grebe.open(":memory:", { id = grebe.key(),
                                      title = grebe.text(),
                                      year = grebe.int() })
  for i = 1, count or 3 do
    ix:add { id = tostring(i), title = "word " .. i, year = i }
  end
  ix:commit { soft = true }
  return ix
end

local function closed_error(call, ...)
  local ok, err = pcall(call, ...)
  assert.is_false(ok)
  assert.equal("closed", err.word)
end

describe("closing", function()
  after_each(function()
    collectgarbage() collectgarbage()
    assert.equal(0, grebe.live_handles())
  end)

  it("an index twice is silent, using it is an error", function()
    local ix = opened()
    assert.is_false(ix.closed)
    ix:close()
    ix:close()
    assert.is_true(ix.closed)
    closed_error(ix.add, ix, { id = "9" })
    closed_error(ix.search, ix, "word")
    closed_error(function() return #ix end)
    assert.equal("grebe.index: closed", tostring(ix))
  end)

  it("an index leaves hits, searchers and snapshots alive", function()
    local ix = opened()
    local hits, searcher, snapshot =
      ix:search "word", ix:searcher(), ix:snapshot()
    ix:close()
    assert.equal("word 1", hits[1].title)
    assert.equal(3, #searcher)
    assert.equal(3, searcher:search("word").total)
    assert.equal("word 2", searcher:get("2").title)
    searcher:close()
    closed_error(searcher.search, searcher, "word")
    snapshot:close()
    local kept = hits[2]
    hits:close()
    hits:close()
    closed_error(function() return hits.total end)
    closed_error(function() return hits[1] end)
    closed_error(function() return kept.title end)
    closed_error(hits.each, hits)
  end)

  it("a block commits an index, an error does not", function()
    local path = os.tmpname()
    os.remove(path)
    do
      local ix <close> = grebe.open(path, { id = grebe.key() })
      ix:add { id = "kept" }
    end
    pcall(function()
      local ix <close> = grebe.open(path)
      ix:add { id = "dropped" }
      error "stop"
    end)
    local ix <close> = grebe.open(path)
    assert.is_true(ix:has "kept")
    assert.is_false(ix:has "dropped")
    ix:close()
    os.execute("rm -r '" .. path .. "'")
  end)

  it("never commits what the collector closes", function()
    local path = os.tmpname()
    os.remove(path)
    local ix = grebe.open(path, { id = grebe.key() })
    ix:add { id = "1" }
    ix = nil -- luacheck: ignore
    collectgarbage() collectgarbage()
    local again <close> = grebe.open(path)
    assert.equal(0, #again)
    again:close()
    os.execute("rm -r '" .. path .. "'")
  end)

  it("a container closes what it gave", function()
    local box = grebe.container()
    local core = box:core("a", { id = grebe.key() })
    core:add { id = "1" }
    assert.same({ "a" }, box:names())
    assert.is_true(box:has "a")
    assert.equal(1, #box)
    box:drop "a"
    closed_error(core.add, core, { id = "2" })
    assert.is_false(box:has "a")
    assert.equal("not_found", select(2, pcall(box.drop, box, "a")).word)
    box:close()
    box:close()
    closed_error(box.names, box)
  end)

  it("works in any order of collection", function()
    for _, order in ipairs { { 1, 2, 3, 4, 5 }, { 5, 4, 3, 2, 1 },
                             { 3, 1, 5, 2, 4 } } do
      local ix = opened()
      local hits = ix:search("word", { facets = "year" })
      local all = { ix, hits, hits[1], ix:searcher(), ix:snapshot() }
      assert.equal(5, #all)
      ix, hits = nil, nil -- luacheck: ignore
      for _, i in ipairs(order) do
        all[i] = nil
        collectgarbage()
      end
    end
  end)

  it("during collection, from finalizers, is harmless", function()
    local ix = opened()
    local hits, seen = ix:search "word", 0
    do
      local bait = { ix = ix, hits = hits } -- luacheck: ignore
      setmetatable(bait, { __gc = function(self)
        seen = seen + #self.hits + #self.ix
        self.ix:add { id = "late" }
        self.ix:close()
        self.ix:close()
        self.hits:close()
      end })
    end
    ix, hits = nil, nil -- luacheck: ignore
    collectgarbage() collectgarbage()
    assert.equal(6, seen)
  end)

  it("by finalizers between any two steps is an error or nothing", function()
    collectgarbage("incremental", 100, 400)
    local ix, hits, searcher
    local left = 0
    local function touch(...) return select("#", ...) end
    local function bait()
      left = left - 1
      if left < 0 then return end
      setmetatable({}, { __gc = function()
        local dice = math.random(12)
        if dice == 1 then pcall(ix.close, ix) end
        if dice == 2 then pcall(hits.close, hits) end
        if dice == 3 then pcall(searcher.close, searcher) end
        pcall(ix.get, ix, "2")
        pcall(function() return hits[2].title end)
        bait()
      end })
    end
    for _ = 1, 60 do
      ix, left = opened(5), 100
      hits, searcher = ix:search "word", ix:searcher()
      for _ = 1, 20 do bait() end
      pcall(function()
        for _ = 1, 5 do
          local options = { where = { "year:[1 TO 9]" }, facets = { "year" },
                            highlight = { title = { pre = "[" } },
                            fields = { "title^2" }, load = { "title" } }
          hits = ix:search("word", options)
          assert(ix:get("1").title == "word 1")
          for i, hit in hits:each() do
            assert(hit.title:match "^word %d$" and i <= 5)
            touch(hit.highlights, hit.id, hit.score, hits:to_tables())
          end
          touch(hits.facets, hits.ids, hits.scores, ix.schema)
          touch(ix:terms "title", searcher:search("word " .. #hits))
          touch(searcher:explain("1", "word"), ix:searcher(), ix:stats())
          ix:add_many { { id = "7", title = "word 7" } }
          ix:commit { soft = true }
        end
      end)
    end
    ix, hits, searcher = nil, nil, nil -- luacheck: ignore
    left = 0
    collectgarbage() collectgarbage()
    collectgarbage("incremental", 200, 100)
  end)

  it("inside add_many's iterator is an error, not a crash", function()
    local ix = opened()
    closed_error(ix.add_many, ix, function()
      ix:close()
      return { id = "x" }
    end)
  end)
end)

describe("abuse", function()
  after_each(function()
    collectgarbage() collectgarbage()
    assert.equal(0, grebe.live_handles())
  end)

  local core = require "grebe.core"

  local function things()
    local ix = opened()
    local dead = opened()
    local old = dead:search "word"
    local box = grebe.container()
    dead:close()
    old:close()
    return { ix, dead, ix:searcher(), ix:snapshot(), ix:search "word", old,
             ix:search("word")[1], grebe.q.all(), grebe.cancel(), box,
             grebe.null, ix:commit(), {}, "word", "", 1, -1, 1.5, 0/0,
             math.huge, true, print, io.stdout, coroutine.create(print),
             { {} }, { a = 1 }, n = 26 }
  end

  it("of every call by every object is an error or a result", function()
    local skip = { fail = true, kind = true, own_source = true, check = true }
    local names = {}
    for name, call in pairs(core) do
      if type(call) == "function" and not skip[name] then
        names[#names + 1] = name
      end
    end
    table.sort(names)
    assert.truthy(#names > 60)
    for _, name in ipairs(names) do
      local all, call = things(), core[name]
      for i = 0, all.n do
        pcall(call, all[i])
        for j = 1, all.n do
          pcall(call, all[i], all[j])
          pcall(call, all[i], all[j], all[j], all[j])
        end
      end
      pcall(call, table.unpack(all, 1, all.n))
    end
  end)

  it("of methods by other objects is an error", function()
    local all = things()
    local other = all[3]
    for _, name in ipairs { "add", "commit", "batch", "snapshot", "stats" } do
      local ok, err = pcall(all[1][name], other)
      assert.is_false(ok)
      assert.equal("type", err.word)
    end
    assert.is_false((pcall(all[1].add, { id = "1" })))
  end)

  it("of metatables is refused", function()
    local ix <close> = opened()
    assert.equal("grebe", getmetatable(ix))
    assert.is_false((pcall(setmetatable, ix, {})))
  end)

  it("of finalizers called by hand is harmless", function()
    local ix = opened()
    local hits = ix:search "word"
    for _, handle in ipairs { ix, hits, hits[1], grebe.q.all() } do
      local collect = debug.getmetatable(handle).__gc
      collect(handle)
      collect(handle)
    end
    collectgarbage()
    closed_error(ix.search, ix, "word")
    assert.is_false((pcall(function() return hits[1] end)))
  end)
end)
