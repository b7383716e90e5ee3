--- W4 from Lua: documents of shape S or R, handed over in calls of `call`.
--
--   open ingest S|R DOCS CALL      makes the documents
--   block N                        N times: a new index, all documents, one
--                                  commit, close; the reader holds the clock
--   close
--
-- The documents are those of bench/shapes.py.

local grebe = require "grebe"

local LETTERS = "abcdefghijklmnopqrstuvwxyz"
local SYLLABLES = {}
for c in ("bcdfghjklmnpqrstvwxz"):gmatch "." do
  for v in ("aeiou"):gmatch "." do SYLLABLES[#SYLLABLES + 1] = c .. v end
end

local state = 1

local function mix(z)
  z = (z ~ (z >> 30)) * 0xBF58476D1CE4E5B9
  z = (z ~ (z >> 27)) * 0x94D049BB133111EB
  return z ~ (z >> 31)
end

local function draw()
  state = state + 0x9E3779B97F4A7C15
  return mix(state)
end

local function below(n) return (draw() >> 33) % n end

local function rank(n)
  local u = (draw() >> 11) * 2.0 ^ -53
  return math.floor(n * u * u * u)
end

local function word(r)
  return SYLLABLES[r // 10000 % 100 + 1] .. SYLLABLES[r // 100 % 100 + 1]
    .. SYLLABLES[r % 100 + 1]
end

local function words(n)
  local out = {}
  for i = 1, n do out[i] = word(rank(20000)) end
  return table.concat(out, " ")
end

local function letters()
  local n, out = 10 + below(55), {}
  while #out < n do
    local x = draw()
    for _ = 1, 13 do
      local rest = (x >> 1) // 13 -- x / 26, unsigned
      local digit = x - 26 * rest + 1
      out[#out + 1] = LETTERS:sub(digit, digit)
      x = rest
    end
  end
  return table.concat(out, "", 1, n)
end

local function make(shape, number)
  local doc = { key = "k" .. number }
  if shape == "S" then
    doc.t0, doc.t1 = words(4), words(4)
  else
    doc.s0, doc.s1 = letters(), letters()
    for _, name in ipairs { "t0", "t1" } do
      local out = {}
      for i = 1, 312 do out[i] = letters() end
      doc[name] = table.concat(out, " ")
    end
  end
  doc.n0, doc.n1, doc.n2 = below(1 << 31), below(1 << 31), draw() >> 11
  return doc
end

local function schema(shape)
  local fields = {
    key = grebe.key(),
    t0 = grebe.text(),
    t1 = grebe.text(),
    n0 = grebe.int(),
    n1 = grebe.int(),
    n2 = grebe.int(),
  }
  if shape == "R" then
    fields.s0, fields.s1 = grebe.keyword(), grebe.keyword()
  end
  return fields
end

local calls, fields, count

local function open(shape, docs, call)
  fields, calls, count = schema(shape), {}, docs
  for i = 0, docs - 1 do
    local at = i // call + 1
    calls[at] = calls[at] or {}
    table.insert(calls[at], make(shape, i))
  end
end

local function once()
  local ix <close> = grebe.open(":memory:", fields)
  for _, part in ipairs(calls) do ix:add_many(part) end
  ix:commit()
  assert(#ix == count, "documents are missing")
end

for line in io.lines() do
  local w = {}
  for part in line:gmatch "%S+" do w[#w + 1] = part end
  if w[1] == "open" then
    open(w[3], math.tointeger(w[4]), math.tointeger(w[5]))
    once()
    print('{"version": "' .. grebe.version .. '"}')
  elseif w[1] == "block" then
    collectgarbage()
    local turns, spent = math.tointeger(w[2]), {}
    for i = 1, turns do
      local began = os.clock()
      once()
      spent[i] = ("%d"):format((os.clock() - began) * 1000000000 // 1)
    end
    print(('{"wall_series": "ingest", "docs": %d, "turns": %d, '
      .. '"series": {"cpu": [%s]}}'):format(
      count * turns, turns, table.concat(spent, ", ")))
  else
    print "{}"
    break
  end
  io.flush()
end
