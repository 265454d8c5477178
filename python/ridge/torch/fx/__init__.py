"""Ridge's operators in a model that is written in PyTorch's: what torch.compile captures, rewritten.

graph     what a captured graph says, however it was written
spelled   what models spell out, in one spelling
patterns  what Ridge replaces, a row each; attention, written, layers, images, pooling: those of their kind
choose    whether that is faster: measured
backend   torch.compile(model, backend="ridge"), accelerate(), report()
"""
