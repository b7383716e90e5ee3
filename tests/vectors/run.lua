--- Runs the behaviour vectors through the Lua module; see README.md.
-- usage: run.lua FOLDER [ID]
local here = arg[0]:match("^(.*)/[^/]*$") or "."
package.path = here .. "/?.lua;" .. package.path
local grebe = require "grebe"
local json = require "json"
json.null = grebe.null
local null = json.null
local values = require "values"
local given, same, subset = values.given, values.same, values.subset
local differ, fields_made = values.differ, values.fields_made

local SPREADS = {
  one = {},
  many = { docs_max = 2, merging = "manual" },
  merged = { docs_max = 3 },
  ordered = { docs_max = 3 },
}
local LAYOUTS = {}
for _, place in ipairs { "memory", "folder" } do
  for _, commit in ipairs { "soft", "hard" } do
    for _, spread in ipairs { "one", "many", "merged", "ordered" } do
      LAYOUTS[#LAYOUTS + 1] = { folder = place == "folder", commit = commit,
                                spread = spread,
                                name = place .. ", " .. commit .. ", "
                                  .. spread }
    end
  end
end
local UNDO = {}

---- one vector in one layout

local World = {}
World.__index = World

function World:start(how, fields)
  self.things.main = nil
  local options = { mode = how.mode, add_fields = how.add_fields }
  for name, value in pairs(SPREADS[self.layout.spread]) do
    options[name] = value
  end
  if options.docs_max then
    options.docs_max = self.docs_max or options.docs_max
  end
  fields = fields and fields ~= null and fields_made(fields) or nil
  local path = self.layout.folder and self.path or ":memory:"
  self.things.main = grebe.open(path, fields, options)
end

function World:thing(step)
  local thing = self.things[step.on or "main"]
  return thing or differ("nothing is named %s", step.on or "main")
end

local function error_compare(wanted, problem)
  if type(problem) ~= "table" or not problem.word then error(problem, 0) end
  local got = { word = problem.word, field = problem.field or "",
                key = problem.key and tostring(problem.key) or "",
                offset = problem.offset }
  local rest = {}
  for name, value in pairs(wanted) do rest[name] = value end
  rest.message = nil
  if not problem.message:find(wanted.message or "", 1, true) then
    differ("the message lacks %s: %s", wanted.message, problem.message)
  end
  subset("error", rest, got)
end

local verbs = {}

function World:run_steps(steps)
  for _, step in ipairs(steps) do
    self.step = self.step + 1
    local verb, argument = json.first(step)
    local run = verbs[verb] or differ("no verb %s", verb)
    if step.error then
      local ok, problem = pcall(run, self, step, argument)
      if ok then differ("%s: an error is expected", verb) end
      if type(problem) == "table" and problem.difference then
        error(problem, 0)
      end
      error_compare(step.error, problem)
    else
      run(self, step, argument)
    end
  end
end

function World:run(vector)
  local wanted = vector.error
  local ok, problem = pcall(self.start, self, vector.open or {}, vector.schema)
  if ok and wanted then differ("open: an error is expected") end
  if not ok and not wanted then error(problem, 0) end
  if not ok then error_compare(wanted, problem) end
  self:run_steps(vector.steps)
  if self.things.main then
    self.things.main:close()
    if self.layout.folder and grebe.exists(self.path) then
      grebe.check(self.path)
    end
  end
end

function World:drop()
  if self.things.main then pcall(self.things.main.close, self.things.main,
                                 false) end
  for name, thing in pairs(self.things) do
    if name ~= "main" then pcall(thing.close, thing, false) end
  end
end

local function info_compare(step, info, before)
  if info.number < before or info.changed and info.number == before then
    differ("the commit number went from %d to %d", before, info.number)
  end
  subset("info", step.info or {}, {
    added = info.added, deleted = info.deleted, syncs = info.syncs,
    changed = info.changed,
  })
end

---- writing

local function overwrite_of(step)
  return { overwrite = step.overwrite ~= false }
end

function verbs.add(world, step, document)
  world:thing(step):add(given(document), overwrite_of(step))
end

function verbs.add_many(world, step, documents)
  local options = overwrite_of(step)
  options.errors = "return"
  options.threads = step.threads
  local rows = {}
  local list = world:thing(step):add_many(given(documents), options)
  for i, row in ipairs(list or {}) do
    rows[i] = { row.position - 1, row.error.field or "", row.error.word }
  end
  same("failures", step.failures or {}, rows)
end

function verbs.fill(world, step, how)
  local i = how[1] - 1
  local options = overwrite_of(step)
  options.threads = step.threads
  world:thing(step):add_many(function()
    i = i + 1
    return i < how[2] and given(how[3], i) or nil
  end, options)
end

function verbs.delete(world, step, key)
  local count = world:thing(step):delete(given(key))
  if step.is ~= nil then same("count", step.is, count) end
end

function verbs.delete_query(world, step, query)
  local index = world:thing(step)
  local count = index:delete_by_query(world:query(index, query))
  if step.is ~= nil then same("count", step.is, count) end
end

function verbs.commit(world, step, kind)
  local index = world:thing(step)
  if kind == "any" then kind = world.layout.commit end
  local spread = world.layout.spread
  if (spread == "merged" or spread == "ordered") and not world.in_batch
     and index:stats().pending > 0 then
    index:merge(spread == "ordered" and { order = "graph" } or nil)
  end
  local before = index:stats().commit_number
  local info = index:commit { soft = kind == "soft",
                              publish = kind ~= "unseen" }
  info_compare(step, info, before)
end

function verbs.rollback(world, step) world:thing(step):rollback() end

function verbs.batch(world, step, steps)
  local index, kind = world:thing(step), step.commit or "any"
  if kind == "any" then kind = world.layout.commit end
  local before = index:stats().commit_number
  local ok, info = pcall(index.batch, index, function()
    world.in_batch = true
    world:run_steps(steps)
    world.in_batch = false
    if step.undo then error(UNDO, 0) end
  end, { soft = kind == "soft" })
  world.in_batch = false
  if ok then
    info_compare(step, info, before)
  elseif info ~= UNDO then
    error(info, 0)
  end
end

function verbs.snapshot(world, step, name)
  world.things[name] = world:thing(step):snapshot()
end

function verbs.restore(world, step, name)
  world:thing(step):restore(world.things[name])
end

function verbs.branch(world, step, name)
  world.things[name] = world:thing(step):branch()
end

function verbs.merge(world, step, order)
  world:thing(step):merge(type(order) == "string" and { order = order } or nil)
end

function verbs.add_fields(world, step, fields)
  world:thing(step):add_fields(fields_made(fields))
end

function verbs.reopen(world, _, how)
  if world.things.main then world.things.main:close(how.commit ~= false) end
  world:start(how, how.schema)
end

function verbs.close(world, step, commit) world:thing(step):close(commit) end

function verbs.stats(world, step, wanted)
  subset("stats", wanted, world:thing(step):stats())
end

function verbs.mark(world) world.marked = world.things.main:stats() end

function verbs.delta(world, _, wanted)
  local now, got = world.things.main:stats(), {}
  for name in pairs(wanted) do got[name] = now[name] - world.marked[name] end
  subset("delta", wanted, got)
end

---- all vectors; verbs that look are in looking.lua

local looking = require "looking"
looking.install(World, verbs)

local function base_folder()
  local base = os.getenv "TMPDIR"
  if not base then
    local file = io.open("/dev/shm/.grebe-vectors", "w")
    base = file and "/dev/shm" or "/tmp"
    if file then
      file:close()
      os.remove "/dev/shm/.grebe-vectors"
    end
  end
  math.randomseed()
  return ("%s/grebe-vectors-%08x"):format(base, math.random(0, 0xffffffff))
end

local tally = { features = {}, order = {}, failures = 0, steps = 0,
                vectors = 0, runs = 0 }

local function feature_of(vector)
  local name = vector.feature or "none"
  if not tally.features[name] then
    tally.features[name] = { vectors = 0, runs = 0, skips = 0 }
    table.insert(tally.order, name)
  end
  return tally.features[name]
end

local function fail_print(vector, world, problem)
  local said = type(problem) == "table"
               and (problem.difference or problem.message) or problem
  tally.failures = tally.failures + 1
  io.stderr:write(("FAILED %s [%s] step %d: %s\n"):format(
    vector.id, world.layout.name, world.step, tostring(said)))
end

local function runs_in_lua(vector)
  if not vector["in"] then return true end
  for _, name in ipairs(vector["in"]) do
    if name == "lua" then return true end
  end
  return false
end

local function vector_run(vector, folder)
  local feature, reference, only_folder = feature_of(vector), {}, false
  if not runs_in_lua(vector) then
    feature.skips = feature.skips + 1
    return
  end
  for _, step in ipairs(vector.steps) do
    only_folder = only_folder or step.reopen ~= nil
  end
  feature.vectors = feature.vectors + 1
  tally.vectors = tally.vectors + 1
  for _, layout in ipairs(LAYOUTS) do
    if layout.folder or not only_folder then
      tally.runs = tally.runs + 1
      local world = setmetatable({
        layout = layout, path = folder .. "/" .. tally.runs, things = {},
        dead = {}, docs_max = vector.docs_max, reference = reference,
        searches = 0, step = 0,
      }, World)
      local ok, problem = pcall(world.run, world, vector)
      if not ok then fail_print(vector, world, problem) end
      world:drop()
      feature.runs = feature.runs + 1
      tally.steps = tally.steps + world.step
      if tally.runs % 400 == 0 then os.execute("rm -rf " .. folder .. "/*") end
    end
  end
end

local function files_of(folder)
  local names, pipe = {}, io.popen("ls '" .. folder .. "'/*.jsonl")
  for name in pipe:lines() do names[#names + 1] = name end
  pipe:close()
  return names
end

local function main(source, wanted)
  local begun, folder = os.time(), base_folder()
  os.execute("mkdir " .. folder)
  for _, name in ipairs(files_of(source)) do
    for line in io.lines(name) do
      local vector = json.decode(line)
      if not wanted or vector.id == wanted then vector_run(vector, folder) end
    end
  end
  os.execute("rm -rf " .. folder)
  for _, name in ipairs(tally.order) do
    local f = tally.features[name]
    print(("%-16s %4d vectors, %5d runs%s"):format(name, f.vectors, f.runs,
      f.skips > 0 and (", %d not in Lua"):format(f.skips) or ""))
  end
  print(("Lua: %d vectors, %d runs in %d layouts, %d steps, %d failures, %d s")
    :format(tally.vectors, tally.runs, #LAYOUTS, tally.steps, tally.failures,
            os.time() - begun))
  return tally.failures == 0 and tally.vectors > 0
end

os.exit(main(arg[1], arg[2]), true)
