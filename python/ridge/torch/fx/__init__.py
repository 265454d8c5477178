"""Ridge's operators in a model that is written in PyTorch's: what torch.compile captures, rewritten.

graph     what a captured graph says, however it was written
patterns  what Ridge replaces, a row each
choose    whether that is faster: measured
backend   torch.compile(model, backend="ridge"), accelerate(), report()
"""
