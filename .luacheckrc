std = "lua54"
max_line_length = 80
exclude_files = { "build", ".venv" }
files["examples"] = { max_line_length = 90 }
files["tests/lua"] = { std = "lua54+busted" }
-- Specs hold handles open on purpose, in variables nobody reads.
files["tests/lua"].ignore = { "21./_.*" }
