"""What `hotseat replay` does with saved matches: files, tables, checks, exports."""
