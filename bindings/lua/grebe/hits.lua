--- What a search gives back: hits, each hit, facets.
local core = require "grebe.core"
core.own_source()

local metatable, methods, properties = core.kind "hits"

--- for rank, hit in hits:each() do ... end
methods.each = core.hits_each
--- The stored fields of every hit, an array of tables.
methods.to_tables = core.hits_tables
--- Gives the memory back before the collector comes by.
methods.close = core.close

--- Number of documents that matched; #hits is what is on the page.
properties.total = core.hits_total
--- false if counting stopped at the `total` asked for.
properties.total_is_exact = core.hits_total_is_exact
--- Whether a deadline cut the search short.
properties.partial = core.hits_partial
--- Keys and scores of the page: a new array each time.
properties.ids = core.hits_keys
properties.scores = core.hits_scores
--- For `after` of the next page; nil at the end.
properties.cursor = core.hits_cursor
properties.closed = core.closed
--- What the search chose and did; empty unless `plan = true` was given. A table
-- for each pass and segment: pass, pass_reason, method, reason, segment (from
-- 0), docs, windows, blocks, matched, scored, positions, work, and operators
-- of role, kind, field, docs, kept.
properties.plan = core.hits_plan

--- Seconds that the search took.
function properties.took(hits) return core.hits_took_ns(hits) / 1e9 end

function metatable.__len(hits) return core.hits_count(hits) end

function metatable.__tostring(hits)
  if core.closed(hits) then return "grebe.hits: closed" end
  return ("grebe.hits: %d of %d"):format(#hits, core.hits_total(hits))
end

local hit = core.kind "hit"
hit.__pairs = core.hit_pairs
hit.__tostring = core.hit_text

-- Facets: field -> ordered array of { value =, count = }. The arrays stand in
-- [1], the numbers of documents without a value in [2].
local facet_methods = {}
local Facets = { __name = "grebe.facets" }

local function list_of(facets, field)
  local list = rawget(facets, 1)[field]
  if list then return list end
  core.fail(core.ARGUMENT, "no facet of '" .. tostring(field)
            .. "' was asked for")
end

--- Ordered array of a field, also of one that is named like a method.
function facet_methods.list(facets, field) return list_of(facets, field) end

--- How many matches have this value; 0 if it is not listed.
function facet_methods.count(facets, field, value)
  for _, row in ipairs(list_of(facets, field)) do
    if row.value == value then return row.count end
  end
  return 0
end

--- Matches without a value; nil unless asked for with `missing = true`.
function facet_methods.missing(facets, field)
  list_of(facets, field)
  return rawget(facets, 2)[field]
end

function Facets.__index(facets, name)
  return facet_methods[name] or list_of(facets, name)
end

function Facets.__newindex()
  core.fail(core.ARGUMENT, "facets cannot be written to")
end

function Facets.__pairs(facets) return pairs(rawget(facets, 1)) end

--- Facets asked for: hits.facets.tags[1].value, hits.facets:count("tags", v).
function properties.facets(hits)
  return setmetatable({ core.hits_facets(hits) }, Facets)
end
