"""What a node holds of its matches: `hotseat.runtime.hosting`."""
