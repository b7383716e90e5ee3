--- Queries as objects: grebe.q.term("tags", "sea") & ~grebe.q.all().
local core = require "grebe.core"
core.own_source()

local q = {}

--- Every document, score 1.
q.all = core.query_all
--- No document.
q.none = core.query_none
--- term(field, value): exactly this term or value; nothing is analysed.
q.term = core.query_term
--- match(field, text, op = "or"): analyses the text, joins its terms.
q.match = core.query_match
--- phrase(field, text, slop = 0): the terms in a row, or within `slop` moves.
q.phrase = core.query_phrase
--- prefix(field, value): a term that begins with `value`; score 1.
q.prefix = core.query_prefix
--- range(field, { gte =, gt =, lte =, lt = }); score 1.
q.range = core.query_range
--- exists(field): any value in the field; score 1.
q.exists = core.query_exists
--- boost(query, by): multiplies the scores.
q.boost = core.query_boost
--- constant(query, score): gives every match the same score.
q.constant = core.query_constant
--- dismax({ query, ... }, tie = 0): the best clause's score plus `tie` times
-- the others'.
q.dismax = core.query_dismax

local occurs = {
  { "must", core.MUST }, { "should", core.SHOULD },
  { "must_not", core.MUST_NOT }, { "filter", core.FILTER },
}
local known = { mm = true }
for _, row in ipairs(occurs) do known[row[1]] = true end

local function clauses_add(clauses, name, occur, given)
  if type(given) == "userdata" then given = { given } end
  if type(given) ~= "table" then
    core.fail(core.TYPE, name .. " is a query or a list of such, not "
              .. type(given))
  end
  for _, query in ipairs(given) do
    clauses[#clauses + 1] = occur
    clauses[#clauses + 1] = query
  end
end

--- bool { must =, should =, must_not =, filter =, mm = }: joins clauses, each
-- a query or a list. Without `must` and `filter` one of `should` must match;
-- `mm` asks for that many. Only `must_not`, or nothing: matches nothing.
function q.bool(parts)
  local clauses = {}
  if type(parts) ~= "table" then
    core.fail(core.TYPE, "bool takes a table, not " .. type(parts))
  end
  for name in pairs(parts) do
    if not known[name] then
      core.fail(core.ARGUMENT, "bool has no clause '" .. tostring(name) .. "'")
    end
  end
  for _, row in ipairs(occurs) do
    local given = parts[row[1]]
    if given ~= nil then clauses_add(clauses, row[1], row[2], given) end
  end
  return core.query_bool(clauses, parts.mm)
end

-- query -> { sign, clauses }, so that a chain of one operator stays flat.
local parts_of = setmetatable({}, { __mode = "k" })

local function taken_as(query, sign)
  local parts = parts_of[query]
  if parts and parts.sign == sign then return parts end
  if sign == "&" and parts and parts.sign == "~" then
    return { core.MUST_NOT, parts[1] }
  end
  return { sign == "&" and core.MUST or core.SHOULD, query }
end

local function joined(a, b, sign)
  local parts, positive = { sign = sign }, false
  for _, query in ipairs { a, b } do
    for _, part in ipairs(taken_as(query, sign)) do
      parts[#parts + 1] = part
    end
  end
  for i = 1, #parts, 2 do
    positive = positive or parts[i] ~= core.MUST_NOT
  end
  local clauses = parts
  if not positive then
    clauses = { core.FILTER, core.query_all(), table.unpack(parts) }
  end
  local query = core.query_bool(clauses)
  parts_of[query] = parts
  return query
end

local metatable = core.kind "query"

function metatable.__band(a, b) return joined(a, b, "&") end

function metatable.__bor(a, b) return joined(a, b, "|") end

function metatable.__bnot(query)
  local inverse = core.query_bool { core.FILTER, core.query_all(),
                                    core.MUST_NOT, query }
  parts_of[inverse] = { sign = "~", query }
  return inverse
end

metatable.__tostring = core.query_text

return q
