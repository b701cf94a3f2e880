"""One small file a peer; each runs in that peer's environment, where nothing of Thymus can be imported."""
