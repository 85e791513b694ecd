"""Studies: a TOML file -> runs -> an engine -> a store -> summaries; and the paper's own study and report."""
