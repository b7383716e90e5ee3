local grebe = require "grebe"

local fields = {
  id = grebe.key(), title = grebe.text "en", raw = grebe.bytes(),
  tags = grebe.keyword { many = true }, year = grebe.int(),
  price = grebe.float(), sold = grebe.bool(), when = grebe.datetime(),
  numbers = grebe.int { many = true }, lang = grebe.keyword { default = "en" },
}

local function opened() return grebe.open(":memory:", fields) end

--- Adds a document of one field and gives back what is read.
local function through(name, value)
  local ix <close> = opened()
  ix:add { id = "k", [name] = value }
  return ix:get("k")[name]
end

local function refused(name, value)
  local ix <close> = opened()
  local ok, err = pcall(ix.add, ix, { id = "k", [name] = value })
  assert.is_false(ok)
  assert.equal("document", err.word)
  assert.equal(name, err.field)
  assert.equal("k", err.key)
  assert.is_false(ix:has "k")
end

describe("values", function()
  after_each(function()
    collectgarbage() collectgarbage()
    assert.equal(0, grebe.live_handles())
  end)

  it("keep all 64 bits of an integer, as an integer", function()
    for _, n in ipairs { math.maxinteger, math.mininteger, 0, -1, 2^53|0 } do
      local back = through("year", n)
      assert.equal(n, back)
      assert.equal("integer", math.type(back))
    end
  end)

  it("take a float for an integer only if it has such a value", function()
    assert.equal("integer", math.type(through("year", 3.0)))
    refused("year", 3.5)
    refused("year", 2^63)
    refused("year", 0/0)
    refused("year", 1/0)
  end)

  it("are not guessed from strings, nor strings from numbers", function()
    refused("year", "1952")
    refused("price", "1.5")
    refused("title", 12)
    refused("tags", 1)
    refused("sold", 1)
    refused("sold", "true")
  end)

  it("keep floats as floats, infinities too, and refuse NaN", function()
    assert.equal("float", math.type(through("price", 2)))
    assert.equal(1.5, through("price", 1.5))
    assert.equal(math.huge, through("price", math.huge))
    refused("price", 0/0)
  end)

  it("keep NUL in strings, bytes and keys", function()
    assert.equal("a\0b", through("tags", "a\0b")[1])
    assert.equal("a\0b", through("title", "a\0b"))
    assert.equal("\255\0\1", through("raw", "\255\0\1"))
    local ix <close> = opened()
    ix:add { id = "x\0y" }
    ix:add { id = "x" }
    ix:commit { soft = true }
    assert.equal(2, #ix)
    assert.equal("x\0y", ix:get("x\0y").id)
    assert.equal("x\0y", ix:search(grebe.q.term("id", "x\0y"))[1].id)
    assert.equal(1, ix:delete "x\0y")
  end)

  it("must be UTF-8 but for bytes", function()
    refused("title", "\xff")
    refused("tags", "\xed\xa0\x80")
  end)

  it("come as dates of milliseconds or of ISO 8601 with an offset", function()
    assert.equal(86400000, through("when", "1970-01-02"))
    assert.equal(-1, through("when", -1))
    assert.equal(0, through("when", "1970-01-01T02:00:00+02:00"))
    assert.equal("integer", math.type(through("when", 5.0)))
    refused("when", "1970-01-01T00:00:00")
    refused("when", "yesterday")
    refused("when", 1.5)
    refused("when", math.maxinteger)
  end)

  it("in a field of many are lists, a scalar a list of one", function()
    assert.same({ "sea" }, through("tags", "sea"))
    assert.same({ "b", "a", "b" }, through("tags", { "b", "a", "b" }))
    assert.same({ 3, 1 }, through("numbers", { 3, 1 }))
    assert.is_nil(through("tags", {}))
    local long = {}
    for i = 1000, 1, -1 do long[i] = i end
    assert.same(long, through("numbers", long))
  end)

  it("refuse lists with holes, names, tables or null in them", function()
    refused("tags", { "a", nil, "c" })
    refused("tags", { [2] = "b" })
    refused("tags", { "a", x = "b" })
    refused("tags", { x = "b" })
    refused("tags", { [1.5] = "b" })
    refused("tags", { "a", { "b" } })
    refused("tags", { "a", grebe.null })
    refused("tags", { "a", 1 })
    refused("year", { 1 })
    refused("title", { a = 1 })
    refused("year", function() end)
  end)

  it("take the default where absent, not where null", function()
    assert.equal("en", through("year", 1) and through("lang", nil))
    assert.is_nil(through("lang", grebe.null))
    assert.equal("grebe.null", tostring(grebe.null))
  end)

  it("refuse unknown fields and names that are no strings", function()
    local ix <close> = opened()
    local _, err = pcall(ix.add, ix, { id = "1", titel = "x" })
    assert.equal("document", err.word)
    assert.equal("titel", err.field)
    _, err = pcall(ix.add, ix, { id = "1", "x" })
    assert.equal("document", err.word)
    for _, wrong in ipairs { 1, "x", true, print } do
      _, err = pcall(ix.add, ix, wrong)
      assert.equal("type", err.word)
    end
  end)

  it("of a table with metamethods are its raw ones", function()
    local ix <close> = opened()
    ix:add(setmetatable({ id = "1" }, {
      __index = function() error "not asked" end,
      __pairs = function() error "not asked" end,
    }))
    assert.same({ id = "1", lang = "en" }, ix:get "1")
  end)
end)

describe("keys", function()
  after_each(function()
    collectgarbage() collectgarbage()
    assert.equal(0, grebe.live_handles())
  end)

  it("are never converted between string and number", function()
    local ix <close> = opened()
    ix:add { id = "1" }
    for _, key in ipairs { 1, 1.5, true, {} } do
      local ok, err = pcall(ix.get, ix, key)
      assert.is_false(ok)
      assert.equal("document", err.word)
    end
    local _, err = pcall(ix.get, ix)
    assert.equal("document", err.word)
  end)

  it("of integers take 1.0 for 1", function()
    local ix <close> = grebe.open(":memory:", { n = grebe.key "int" })
    ix:add { n = 1 }
    ix:add { n = 1.0 }
    ix:commit { soft = true }
    assert.equal(1, #ix)
    assert.equal(1, ix:get(1.0).n)
    assert.equal("integer", math.type(ix:search()[1].id))
    assert.same({ 1 }, ix:search().ids)
    assert.is_false(pcall(ix.get, ix, "1"))
    assert.is_false(pcall(ix.get, ix, 1.5))
  end)

  it("may be missing from the schema: id is nil, ids raises", function()
    local ix <close> = grebe.open(":memory:", { t = grebe.text() })
    ix:add { t = "x" }
    ix:commit { soft = true }
    local hits = ix:search "x"
    assert.is_nil(hits[1].id)
    local _, err = pcall(function() return hits.ids end)
    assert.equal("schema", err.word)
  end)
end)

describe("a schema", function()
  after_each(function()
    collectgarbage() collectgarbage()
    assert.equal(0, grebe.live_handles())
  end)

  it("comes back from an index as it was given", function()
    local ix <close> = opened()
    local back = ix.schema
    assert.equal("en", back.title.analyzer)
    assert.is_true(back.id.key)
    assert.equal("en", back.lang.default)
    assert.is_true(back.tags.many)
    assert.is_false(back.raw.indexed)
    local again <close> = grebe.open(":memory:", back)
    assert.same(back, again.schema)
  end)

  it("takes names of any length and number", function()
    local many = { id = grebe.key() }
    for i = 1, 300 do many["f" .. i] = grebe.int() end
    many[("n"):rep(100)] = grebe.keyword()
    local ix <close> = grebe.open(":memory:", many)
    local doc = { id = "1", [("n"):rep(100)] = "long" }
    for i = 1, 300 do doc["f" .. i] = i end
    ix:add(doc)
    assert.same(doc, ix:get "1")
  end)

  it("refuses what is no field, two keys, bad names and options", function()
    local cases = {
      { { id = "text" }, "schema" }, { { grebe.key() }, "schema" },
      { { a = grebe.key(), b = grebe.key() }, "schema" },
      { { _a = grebe.key() }, "schema" }, { "id", "type" },
      { { a = grebe.int { default = "x" } }, "schema" },
    }
    for _, case in ipairs(cases) do
      local ok, err = pcall(grebe.open, ":memory:", case[1])
      assert.is_false(ok)
      assert.equal(case[2], err.word)
    end
    assert.equal("argument", select(2, pcall(grebe.int, { sotred = 1 })).word)
    assert.equal("type", select(2, pcall(grebe.int, { stored = 1 })).word)
    assert.equal("argument", select(2, pcall(grebe.key, "float")).word)
  end)

  it("grows by add_fields, seen at once and by other handles", function()
    local box <close> = grebe.container()
    local one = box:core("c", { id = grebe.key() })
    local two = box:core "c"
    one:add_fields { note = grebe.text() }
    two:add { id = "1", note = "hello" }
    two:commit { soft = true }
    assert.equal("hello", one:get("1").note)
    assert.equal("hello", one:search("note:hello")[1].note)
    local _, err = pcall(one.add_fields, one, { id = grebe.int() })
    assert.equal("schema", err.word)
  end)
end)
