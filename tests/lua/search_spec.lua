local grebe = require "grebe"
local q = grebe.q

local function opened()
  local ix = grebe.open(":memory:", {
    id = grebe.key(), title = grebe.text "en", score = grebe.float(),
    tags = grebe.keyword { many = true }, year = grebe.int(),
  })
  ix:add { id = "1", title = "The old man and the sea", year = 1952,
           tags = { "sea", "fish" }, score = 9.5 }
  ix:add { id = "2", title = "The sea wolf", year = 1904, tags = { "sea" } }
  ix:add { id = "3", title = "White fang", year = 1906, tags = { "dog" } }
  ix:commit { soft = true }
  return ix
end

local function ids(hits) return table.concat(hits.ids, " ") end

describe("hits", function()
  after_each(function()
    collectgarbage() collectgarbage()
    assert.equal(0, grebe.live_handles())
  end)

  it("are an array: #, [i], ipairs, each", function()
    local ix <close> = opened()
    local hits = ix:search("sea", { sort = "year" })
    assert.equal(2, #hits)
    assert.equal(2, hits.total)
    assert.is_true(hits.total_is_exact)
    assert.is_false(hits.partial)
    assert.equal("2", hits[1].id)
    assert.is_nil(hits[0])
    assert.is_nil(hits[3])
    assert.is_nil(hits[-1])
    local seen = {}
    for i, hit in ipairs(hits) do seen[i] = hit.id end
    assert.same({ "2", "1" }, seen)
    local inner = 0
    for rank, hit in hits:each() do
      assert.equal(hits[rank].title, hit.title)
      for _ in hits:each() do inner = inner + 1 end
    end
    assert.equal(4, inner)
  end)

  it("of a field named score keep it in doc", function()
    local ix <close> = opened()
    local hit = ix:search("man")[1]
    assert.equal("float", math.type(hit.score))
    assert.not_equal(9.5, hit.score)
    assert.equal(9.5, hit.doc.score)
    assert.same({ "sea", "fish" }, hit.tags)
    assert.is_nil(ix:search("wolf")[1].doc.score)
    local names = {}
    for name in pairs(hit) do names[#names + 1] = name end
    table.sort(names)
    assert.same({ "id", "score", "tags", "title", "year" }, names)
  end)

  it("have integers and floats of their own types", function()
    local ix <close> = opened()
    local hits = ix:search "man"
    assert.equal("integer", math.type(hits[1].year))
    assert.equal("integer", math.type(hits.total))
    assert.equal("float", math.type(hits.scores[1]))
    assert.equal("integer", math.type(ix:stats().docs))
  end)

  it("say how they were found, if asked to", function()
    local ix <close> = opened()
    assert.same({}, ix:search("sea").plan)
    local options = { where = "year:1904", plan = true }
    local plan = ix:search("title:sea", options).plan
    assert.equal(1, #plan)
    local step = plan[1]
    assert.equal("all", step.pass)
    assert.equal("exhaustive", step.method)
    assert.equal(0, step.segment)
    assert.equal(3, step.docs)
    assert.equal(1, step.matched)
    local counts = { "windows", "blocks", "scored", "positions", "work" }
    for _, name in ipairs(counts) do
      assert.equal("integer", math.type(step[name]))
    end
    local roles = {}
    for _, o in ipairs(step.operators) do roles[o.role] = o.kind .. o.kept end
    assert.same({ query = "term", filter = "rangenot worth it" }, roles)
    local total = ix:search("title:sea", { limit = 0, plan = true }).plan
    assert.equal("df", total[1].method)
    assert.equal(2, total[1].matched)
    assert.has_error(function() ix:search("sea", { plan = 5 }) end)
  end)

  it("take the room for what is kept of filters", function()
    local fields = { id = grebe.key(), n = grebe.int() }
    local ix <close> = grebe.open(":memory:", fields, { filter_cache = 65536 })
    assert.equal(0, ix:stats().filter_bytes)
    local none <close> = grebe.open(":memory:", fields, { filter_cache = 0 })
    assert.equal(0, none:stats().filter_hits)
    local ok, err = pcall(grebe.open, ":memory:", fields, { filter_cache = 5 })
    assert.is_false(ok)
    assert.truthy(tostring(err):find("65536 to 1099511627776", 1, true))
  end)

  it("have facets in order, by value and with missing", function()
    local ix <close> = opened()
    ix:add { id = "4" }
    ix:commit { soft = true }
    local hits = ix:search(nil, { limit = 0, facets = {
      "year", tags = { limit = 2, missing = true } } })
    assert.equal(0, #hits)
    local rows = hits.facets.tags
    assert.same({ { value = "sea", count = 2 }, { value = "dog", count = 1 } },
                rows)
    assert.equal(2, hits.facets:count("tags", "sea"))
    assert.equal(0, hits.facets:count("tags", "cat"))
    assert.equal(1, hits.facets:count("year", 1904))
    assert.equal(1, hits.facets:missing "tags")
    assert.equal("integer", math.type(hits.facets.year[1].value))
    assert.is_false((pcall(function() return hits.facets.nothing end)))
    local short = ix:search(nil, { facets = { tags = 1 } }).facets.tags
    assert.equal(1, #short)
    assert.equal("fish", ix:search(nil, {
      facets = { tags = { prefix = "f" } } }).facets.tags[1].value)
    assert.equal("dog", ix:search(nil, {
      facets = { { field = "tags", sort = "value" } } }).facets.tags[1].value)
  end)

  it("have highlights as lists", function()
    local ix <close> = opened()
    local hit = ix:search("sea", { highlight = "title" })[1]
    assert.truthy(hit.highlights.title[1]:find("<em>sea</em>", 1, true))
    hit = ix:search("sea", { highlight = {
      grebe.highlight("title", { pre = "[", post = "]" }) } })[1]
    assert.truthy(hit.highlights.title[1]:find("[sea]", 1, true))
    hit = ix:search("tags:dog", { highlight = { title = true } })[1]
    assert.same({}, hit.highlights.title)
  end)

  it("go on behind a cursor and at a commit", function()
    local ix <close> = opened()
    local options = { sort = "year", limit = 2 }
    local hits = ix:search(nil, options)
    assert.equal("2 3", ids(hits))
    options.after = hits.cursor
    hits = ix:search(nil, options)
    assert.equal("1", ids(hits))
    assert.is_nil(hits.cursor)
    local info = ix:commit()
    assert.equal(3, ix:search({ since = info }).total)
    assert.equal(3, ix:search({ since = info.number }).total)
    local _, err = pcall(ix.search, ix, nil, { since = info.number + 1 })
    assert.equal("conflict", err.word)
  end)

  it("load only the fields asked for", function()
    local ix <close> = opened()
    local hits = ix:search("wolf", { load = { "year", "score" } })
    assert.same({ { year = 1904 } }, hits:to_tables())
    assert.is_nil(hits[1].title)
    local _, err = pcall(ix.search, ix, "x", { load = "nothing" })
    assert.equal("schema", err.word)
  end)

  it("come from a text that can never raise", function()
    local ix <close> = opened()
    for _, text in ipairs { "((", "title:", "nofield:x", "\0", "\255", "" } do
      assert.equal(0, ix:search(text).total)
    end
    assert.equal(3, ix:search().total)
    assert.equal(2, ix:search({ where = "tags:sea" }).total)
    assert.equal(1, ix:search("sea", {
      where = { "tags:sea", q.range("year", { lt = 1950 }) } }).total)
    assert.equal(1, ix:search("sea man", { fields = { "title^2" },
                                           op = "and" }).total)
  end)
end)

describe("queries", function()
  after_each(function()
    collectgarbage() collectgarbage()
    assert.equal(0, grebe.live_handles())
  end)

  it("are joined by & | ~ and print as text", function()
    local ix <close> = opened()
    local sea, fish = q.term("tags", "sea"), q.term("tags", "fish")
    assert.equal("2", ids(ix:search(sea & ~fish)))
    assert.equal("3", ids(ix:search(~sea)))
    assert.equal(3, ix:search(sea | q.term("tags", "dog")).total)
    assert.equal("3", ids(ix:search(~sea & ~fish)))
    assert.equal("+tags:sea -tags:fish", tostring(sea & ~fish))
    local chain = q.none()
    for i = 1, 500 do chain = chain | q.term("year", i) end
    assert.equal(0, ix:search(chain).total)
    assert.is_false((pcall(function() return sea & 1 end)))
  end)

  it("have all constructors", function()
    local ix <close> = opened()
    local cases = {
      { q.all(), 3 }, { q.none(), 0 }, { q.term("year", 1904.0), 1 },
      { q.match("title", "seas men", "or"), 2 },
      { q.match("title", "sea wolf", "and"), 1 },
      { q.phrase("title", "sea wolf"), 1 },
      { q.phrase("title", "man sea", 5), 1 }, { q.prefix("tags", "d"), 1 },
      { q.range("year", { gte = 1904, lt = 1906 }), 1 },
      { q.exists "score", 1 }, { q.boost(q.all(), 2), 3 },
      { q.constant(q.all(), 1.5), 3 },
      { q.dismax({ q.term("tags", "sea"), q.term("tags", "dog") }, 0.1), 3 },
      { q.bool { should = { q.term("tags", "sea"), q.term("tags", "fish") },
                 mm = 2 }, 1 },
      { q.bool { must_not = q.all() }, 0 },
    }
    for i, case in ipairs(cases) do
      assert.equal(case[2], ix:search(case[1]).total, i)
    end
    local _, err = pcall(q.boost, q.all(), -1)
    assert.equal("argument", err.word)
    _, err = pcall(q.range, "year", { gte = 1, gt = 2 })
    assert.equal("argument", err.word)
    _, err = pcall(q.term, "year", {})
    assert.equal("type", err.word)
  end)

  it("end when their flag is set", function()
    local ix <close> = opened()
    local cancel = grebe.cancel()
    cancel:set()
    assert.is_true(cancel:is_set())
    local _, err = pcall(ix.search, ix, "sea", { cancel = cancel })
    assert.equal("cancelled", err.word)
    cancel:clear()
    assert.equal(2, ix:search("sea", { cancel = cancel }).total)
  end)
end)

describe("an index", function()
  after_each(function()
    collectgarbage() collectgarbage()
    assert.equal(0, grebe.live_handles())
  end)

  it("takes many documents from arrays and iterators", function()
    local ix <close> = opened()
    ix:add_many { { id = "4" }, { id = "5" } }
    local n = 5
    ix:add_many(function()
      n = n + 1
      if n <= 100 then return { id = tostring(n) } end
    end)
    ix:add_many(coroutine.wrap(function()
      for i = 101, 110 do coroutine.yield { id = tostring(i) } end
    end))
    ix:commit { soft = true }
    assert.equal(110, #ix)
  end)

  it("tries all of many, then tells the failures", function()
    local ix <close> = opened()
    local docs = { { id = "a" }, { id = "b", year = "x" }, 5,
                   { id = "c", odd = 1 }, { id = "d" } }
    local _, err = pcall(ix.add_many, ix, docs)
    assert.equal("document", err.word)
    assert.equal("year", err.field)
    assert.equal(2, err.added)
    assert.equal(3, #err.failures)
    assert.equal(2, err.failures[1].position)
    assert.equal("b", err.failures[1].key)
    assert.equal(3, #ix:add_many(docs, { errors = "return" }))
    assert.same({ "odd" }, ix:add_many({ { id = "e", odd = 1 } },
                                       { ignore_unknown = true }))
    assert.is_nil(ix:add_many {})
    for _, wrong in ipairs { 1, "x", true } do
      assert.equal("type", select(2, pcall(ix.add_many, ix, wrong)).word)
    end
  end)

  it("deletes, rolls back, restores and branches", function()
    local ix <close> = opened()
    assert.equal(1, ix:delete "1")
    assert.equal(0, ix:delete "1")
    assert.equal(2, ix:delete_many { "2", "3", "4" })
    ix:rollback()
    assert.equal(0, #ix)
    ix:add { id = "1", title = "one" }
    local snapshot <close> = ix:snapshot()
    assert.equal(1, ix:delete_by_query "title:one")
    ix:commit { soft = true }
    assert.equal(0, #ix)
    ix:restore(snapshot)
    ix:restore(snapshot)
    assert.equal(1, #ix)
    local twin <close> = ix:branch()
    twin:add { id = "2" }
    twin:commit()
    assert.equal(2, #twin)
    assert.equal(1, #ix)
    local _, err = pcall(twin.restore, twin, snapshot)
    assert.equal("argument", err.word)
    ix:merge()
    ix:merge { order = "graph", memory_max = 1 << 21 }
    ix:merge { order = "-id" }
    local function refused(options)
      return select(2, pcall(ix.merge, ix, options)).word
    end
    assert.equal("argument", refused { order = "" })
    assert.equal("argument", refused { sort = "x" })
    assert.equal("type", refused { order = {} })
    assert.equal("type", refused("graph"))
  end)

  it("lists terms and tokens, scans and counts", function()
    local ix <close> = opened()
    assert.same({ { term = "sea", docs = 2 } }, ix:terms("tags", "s"))
    assert.equal(2, #ix:terms("tags", "", 2))
    local text = "Überall Seas"
    local token = ix:analyze("title", text)[2]
    assert.equal("sea", token.text)
    assert.equal("Seas", text:sub(token.start + 1, token.stop))
    local seen = {}
    for doc in ix:scan "tags:sea" do seen[#seen + 1] = doc.id end
    assert.same({ "1", "2" }, seen)
    assert.equal(2, ix:count "sea")
    assert.equal(3, ix:count())
    assert.truthy(ix:explain("1", "title:sea"):find "idf")
    assert.equal("missing_key",
                 select(2, pcall(ix.explain, ix, "9", q.all())).word)
    local searcher <close> = ix:searcher()
    ix:add { id = "4" }
    assert.equal(3, #searcher)
    assert.equal(4, #ix:searcher { uncommitted = true })
    assert.is_nil(ix.path)
  end)

  it("in a folder is checked, reopened and read", function()
    local path = os.tmpname()
    os.remove(path)
    assert.is_false(grebe.exists(path))
    local ix <close> = grebe.open(path, { id = grebe.key() })
    ix:add { id = "1" }
    local info = ix:commit()
    assert.truthy(info.syncs >= 1)
    assert.is_true(info.changed)
    assert.equal(path, ix.path)
    local reader <close> = grebe.open(path, nil, { mode = "r" })
    assert.equal(1, #reader)
    assert.equal("read_only",
                 select(2, pcall(reader.add, reader, { id = "2" })).word)
    ix:add { id = "2" }
    ix:commit()
    assert.is_true(reader:refresh())
    assert.equal(2, #reader)
    ix:add_fields { note = grebe.text() }
    ix:add { id = "3", note = "hello" }
    ix:commit()
    assert.equal("hello", reader:search("note:hello")[1].note)
    reader:close()
    ix:close()
    assert.is_true(grebe.exists(path))
    assert.truthy(#grebe.check(path) > 0)
    os.execute("rm -r '" .. path .. "'")
  end)
end)
