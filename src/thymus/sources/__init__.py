"""Who a source is: what proves it, who controls it, whom it resembles, and who is already known."""
