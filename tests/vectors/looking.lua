--- The verbs of run.lua that look: searches, get, terms, analyze, explain.
local grebe = require "grebe"
local json = require "json"

local values = require "values"
local given, same, differ = values.given, values.same, values.differ
local scores_of = values.scores_of

local looking = {}

function looking.install(World, verbs)

  local nodes = {}

  --- A query from a tree; a text stays one unless it is in a tree.
  function World:query(index, tree)
    if tree == json.null then return nil end
    if type(tree) == "string" or values.only(tree, "$repeat") then
      return given(tree)
    end
    local name, how = json.first(tree)
    return (nodes[name] or differ("no query node %s", name))(self, index, how,
                                                             tree)
  end

  --- A query inside a tree: a text is read strictly.
  function World:part(index, tree)
    local query = self:query(index, tree)
    if type(query) ~= "string" then return query end
    return assert(grebe.parse(query, index))
  end

  function World:parts(index, list)
    local made = {}
    for i, tree in ipairs(list) do made[i] = self:part(index, tree) end
    return made
  end

  function nodes.all() return grebe.q.all() end
  function nodes.none() return grebe.q.none() end
  function nodes.exists(_, _, how) return grebe.q.exists(how) end

  function nodes.term(_, _, how)
    return grebe.q.term(how[1], given(how[2]))
  end

  function nodes.prefix(_, _, how)
    return grebe.q.prefix(how[1], given(how[2]))
  end

  function nodes.match(_, _, how, tree)
    return grebe.q.match(how[1], given(how[2]), tree.op)
  end

  function nodes.phrase(_, _, how, tree)
    return grebe.q.phrase(how[1], given(how[2]), tree.slop)
  end

  function nodes.range(_, _, how)
    local bounds = {}
    for name, value in pairs(how) do
      if name ~= "field" then bounds[name] = given(value) end
    end
    return grebe.q.range(how.field, bounds)
  end

  function nodes.bool(world, index, how)
    local parts = {}
    for name, value in pairs(how) do
      parts[name] = name == "mm" and value or world:parts(index, value)
    end
    return grebe.q.bool(parts)
  end

  function nodes.boost(world, index, how)
    return grebe.q.boost(world:part(index, how[1]), given(how[2]))
  end

  function nodes.constant(world, index, how)
    return grebe.q.constant(world:part(index, how[1]), given(how[2]))
  end

  function nodes.dismax(world, index, how)
    return grebe.q.dismax(world:parts(index, how[1]), how[2])
  end

  local function limit_of(value)
    if value == json.null then return "all" end
    return value
  end

  local function facets_of(facets)
    local made = {}
    for field, how in pairs(facets) do
      if type(how) == "table" then
        made[field] = given(how)
        made[field].limit = limit_of(how.limit)
      else
        made[field] = { limit = limit_of(how) }
      end
    end
    return made
  end

  --- The options of a search.
  function World:asked(step, target)
    local options = {
      fields = step.fields, op = step.op, sort = step.sort,
      limit = limit_of(step.limit), offset = step.offset, after = step.after,
      total = step.total_max, highlight = step.highlight,
      facets = step.facets and facets_of(step.facets),
    }
    local where = step.where
    if type(where) == "table" and not json.firsts[where] then
      options.where = {}
      for i, part in ipairs(where) do
        options.where[i] = self:query(target, part)
      end
    elseif where ~= nil then
      options.where = self:query(target, where)
    end
    if step.since then
      options.since = target:stats().commit_number + step.since
    end
    return options
  end

  local readers = {
    ids = function(hits) return hits.ids end,
    total = function(hits) return hits.total end,
    exact = function(hits) return hits.total_is_exact end,
    hits = function(hits) return #hits end,
    cursor = function(hits) return hits.cursor ~= nil end,
    docs = function(hits) return hits:to_tables() end,
  }

  local function parts_compare(step, hits)
    for field, rows in pairs(step.counts or {}) do
      local got = {}
      for i, row in ipairs(hits.facets:list(field)) do
        got[i] = { row.value, row.count }
      end
      same("facet " .. field, rows, got)
    end
    for field, count in pairs(step.missing or {}) do
      same("missing " .. field, count, hits.facets:missing(field))
    end
    for field, passages in pairs(step.passages or {}) do
      local got = {}
      for rank, hit in hits:each() do got[rank] = hit.highlights[field] end
      same("passages", passages, got)
    end
  end

  function World:compare_hits(step, target, hits)
    for name, read in pairs(readers) do
      if step[name] ~= nil then same(name, given(step[name]), read(hits)) end
    end
    local scores = scores_of(hits)
    if step.scores then
      same("scores", step.scores, scores, values.score_tolerance)
    end
    parts_compare(step, hits)
    local dead = self.dead[step.on] or target:stats().docs_deleted
    self.searches = self.searches + 1
    local past = self.reference[self.searches]
    if not past then
      self.reference[self.searches] = { dead, scores }
    elseif past[1] == dead then
      same("scores beside the first layout", past[2], scores)
    end
  end

  --- The pages by cursor make the one long page.
  local function walk(size, target, query, options)
    options.facets, options.highlight, options.limit = nil, nil, "all"
    local wanted, walked = target:search(query, options).ids, {}
    options.limit = size
    for _ = 0, #wanted do
      local hits = target:search(query, options)
      for _, id in ipairs(hits.ids) do walked[#walked + 1] = id end
      options.after = hits.cursor
      if not options.after then break end
    end
    same("pages", wanted, walked)
  end

  function verbs.search(world, step, text)
    local target = world:thing(step)
    local options = world:asked(step, target)
    local query = world:query(target, text)
    if type(query) == "string" and step.strict then
      local parsed, problem = grebe.parse(query, target, {
        fields = options.fields, op = options.op })
      if not parsed then error(problem, 0) end
      query = parsed
    end
    local hits = target:search(query, options)
    world:compare_hits(step, target, hits)
    if step.page then walk(step.page, target, query, options) end
  end

  function verbs.count(world, step, text)
    local target = world:thing(step)
    local where = world:asked(step, target).where
    same("count", step.is, target:count(world:query(target, text), where))
  end

  function verbs.len(world, step, wanted)
    same("len", wanted, #world:thing(step))
  end

  function verbs.get(world, step, key)
    same("get", given(step.is), world:thing(step):get(given(key)))
  end

  function verbs.terms(world, step, how)
    local rows = {}
    local list = world:thing(step):terms(how[1], given(how[2]), how[3])
    for i, row in ipairs(list) do rows[i] = { row.term, row.docs } end
    same("terms", given(step.is), rows)
  end

  function verbs.analyze(world, step, how)
    local rows = {}
    local list = world:thing(step):analyze(how[1], given(how[2]))
    for i, token in ipairs(list) do
      rows[i] = { token.text, token.position, token.start, token.stop }
    end
    same("analyze", given(step.is), rows)
  end

  function verbs.explain(world, step, how)
    local target = world:thing(step)
    local text = target:explain(given(how[1]), world:query(target, how[2]))
    for _, word in ipairs(step.contains or {}) do
      if not text:find(word, 1, true) then
        differ("explain lacks %s: %s", word, text)
      end
    end
  end

  function verbs.open_searcher(world, step, name)
    local index = world:thing(step)
    local options = { uncommitted = step.uncommitted }
    if step.since then
      options.since = index:stats().commit_number + step.since
    end
    world.dead[name] = index:stats().docs_deleted
    world.things[name] = index:searcher(options)
  end
end

return looking
