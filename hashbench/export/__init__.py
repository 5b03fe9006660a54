"""The hash function of a run as files that need no hashbench: arrays of NumPy, ONNX, or a program of PyTorch."""
