"""The catalogues of lies and of honest work: data, played by the real product with a scripted agent."""
