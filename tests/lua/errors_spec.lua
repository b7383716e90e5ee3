local grebe = require "grebe"

local function opened()
  return grebe.open(":memory:", { id = grebe.key(), title = grebe.text() })
end

describe("errors", function()
  after_each(function()
    collectgarbage() collectgarbage()
    assert.equal(0, grebe.live_handles())
  end)

  it("are tables with word, code, message and the caller's line", function()
    local ix <close> = opened()
    local ok, err = pcall(function() ix:delete_by_query "title:(" end)
    assert.is_false(ok)
    assert.equal("table", type(err))
    assert.equal("syntax", err.word)
    assert.equal(5, err.code)
    assert.equal("integer", math.type(err.offset))
    assert.truthy(err.message:find("line 1", 1, true))
    assert.truthy(err.where:find("errors_spec.lua:", 1, true))
    assert.truthy(tostring(err):find("grebe syntax:", 1, true))
  end)

  it("name the owner of a lock and the differences of schemas", function()
    local path = os.tmpname()
    os.remove(path)
    local ix <close> = grebe.open(path, { id = grebe.key() })
    local _, err = pcall(grebe.open, path)
    assert.equal("locked", err.word)
    assert.equal("integer", math.type(err.pid))
    ix:close()
    _, err = pcall(grebe.open, path, { id = grebe.key "int" })
    assert.equal("schema", err.word)
    os.execute("rm -r '" .. path .. "'")
    _, err = pcall(grebe.open, path)
    assert.equal("not_found", err.word)
  end)

  it("of grebe.parse are returned, but wrong usage raises", function()
    local ix <close> = opened()
    local query, err = grebe.parse("a AND (", ix)
    assert.is_nil(query)
    assert.equal("syntax", err.word)
    query, err = grebe.parse("nofield:x", { t = grebe.text() })
    assert.is_nil(query)
    assert.equal("syntax", err.word)
    assert.equal("t:x", tostring(grebe.parse("x", { t = grebe.text() })))
    assert.equal("type", select(2, pcall(grebe.parse, 1, ix)).word)
    assert.equal("type", select(2, pcall(grebe.parse, "x")).word)
    assert.equal("argument",
                 select(2, pcall(grebe.parse, "x", ix, { opp = 1 })).word)
  end)

  it("come for misspelt options and names", function()
    local ix <close> = opened()
    local calls = {
      function() ix:search("x", { limt = 1 }) end,
      function() ix:commit { sotf = true } end,
      function() ix:add({ id = "1" }, { over = true }) end,
      function() ix:searcher { at = 1 } end,
      function() ix:batch(print, { hard = true }) end,
      function() grebe.open(":memory:", {}, { mod = "r" }) end,
      function() ix:search("x", { facets = { id = { lim = 1 } } }) end,
      function() ix:search("x", { highlight = { title = { a = 1 } } }) end,
      function() grebe.q.range("id", { from = 1 }) end,
      function() grebe.q.bool { may = grebe.q.all() } end,
      function() return ix.nothing end,
      function() ix.nothing = 1 end,
      function() return ix:search().nothing end,
      function() return ix:commit().nothing end,
      function() return grebe.nothing end,
      function() return grebe.q.all().nothing end,
    }
    for i, call in ipairs(calls) do
      local ok, err = pcall(call)
      assert.is_false(ok, i)
      assert.equal("argument", err.word, i)
    end
  end)

  it("come for options of the wrong type or out of range", function()
    local ix <close> = opened()
    local cases = {
      { limit = -1 }, { limit = 1.5 }, { limit = "ten" }, { offset = -1 },
      { total = "some" }, { total = {} }, { timeout = -1 }, { timeout = "1" },
      { op = "xor" }, { sort = 1 }, { sort = { 1 } }, { after = 1 },
      { since = "x" }, { facets = 1 }, { facets = { 1 } },
      { facets = { id = 0 } }, { facets = { id = -1 } }, { highlight = 1 },
      { highlight = { title = 1 } }, { partial = 1 }, { cancel = 1 },
      { load = 1 }, { load = { 1 } }, { where = 1 }, { where = { 1 } },
      { fields = 1 }, { fields = {} }, { fields = { 1 } },
      { fields = { "title^x" } }, { after = "a\0b" }, { sort = "a\0b" },
      { limit = 0/0 }, { timeout = 0/0 },
    }
    for i, options in ipairs(cases) do
      local ok, err = pcall(ix.search, ix, "x", options)
      assert.is_false(ok, i)
      assert.truthy(err.word == "type" or err.word == "argument", i)
    end
    for _, wrong in ipairs { 1, true, print } do
      assert.equal("type", select(2, pcall(ix.search, ix, wrong)).word)
      assert.equal("type", select(2, pcall(ix.search, ix, "x", wrong)).word)
    end
  end)

  it("of a callback pass on unchanged, values of any type", function()
    local ix <close> = opened()
    for _, thrown in ipairs { "text", 12, { mine = true }, print } do
      local ok, err = pcall(ix.batch, ix, function(b)
        b:add { id = "lost" }
        error(thrown, 0)
      end)
      assert.is_false(ok)
      assert.equal(thrown, err)
      assert.is_false(ix:has "lost")
      for threads = 1, 2 do
        ok, err = pcall(ix.add_many, ix, function() error(thrown, 0) end,
                        { threads = threads })
        assert.is_false(ok)
        assert.equal(thrown, err)
      end
    end
    assert.is_false((pcall(ix.batch, ix, function() error(nil) end)))
  end)
end)

describe("a batch", function()
  after_each(function()
    collectgarbage() collectgarbage()
    assert.equal(0, grebe.live_handles())
  end)

  it("commits at its end and returns the report and the results", function()
    local ix <close> = opened()
    local info, a, b = ix:batch(function(inner)
      inner:add { id = "1" }
      assert.equal(0, #ix)
      return "a", nil
    end)
    assert.equal(1, info.added)
    assert.equal("a", a)
    assert.is_nil(b)
    assert.equal(1, #ix)
  end)

  it("refuses to be nested, committed, restored or closed inside", function()
    local ix <close> = opened()
    local snapshot <close> = ix:snapshot()
    local calls = {
      function() ix:batch(print) end, function() ix:commit() end,
      function() ix:restore(snapshot) end, function() ix:close() end,
    }
    ix:batch(function()
      for _, call in ipairs(calls) do
        local ok, err = pcall(call)
        assert.is_false(ok)
        assert.equal("state", err.word)
      end
    end)
    assert.is_false(ix.closed)
  end)

  it("is undone when its function tries to yield", function()
    local ix <close> = opened()
    local thread = coroutine.create(function()
      ix:batch(function() ix:add { id = "1" } coroutine.yield() end)
    end)
    assert.is_false((coroutine.resume(thread)))
    assert.is_false(ix:has "1")
    ix:batch(function() ix:add { id = "2" } end)
    assert.equal(1, #ix)
  end)

  it("is undone on running out of stack", function()
    local ix <close> = opened()
    local function deep() return 1 + deep() end
    assert.is_false((pcall(ix.batch, ix, function()
      ix:add { id = "1" }
      deep()
    end)))
    assert.is_false(ix:has "1")
  end)
end)
