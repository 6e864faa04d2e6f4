"""The laboratory: public cases, recorded stops, scripted agents and models, a disk that fails, the demo."""
