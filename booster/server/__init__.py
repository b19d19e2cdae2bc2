"""The doors of a running process: MCP on stdin and stdout, and what other transports share with it."""
