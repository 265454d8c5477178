"""A case: OP:DTYPE:k=v,k=v[:option[=value]]..., the text that Ridge's tests and benchmarks share."""

import dataclasses

_HARNESS = ("fill", "seed", "warp", "place")


@dataclasses.dataclass(frozen=True)
class Case:
    text: str
    op: str
    dtype: str
    sizes: dict
    options: dict  # as texts; a flag's is "1"

    @classmethod
    def parse(cls, text):
        op, *parts = text.split(":")
        if len(parts) < 2 or not all(parts[:2]):
            raise ValueError(f"case '{text}' is not OP:DTYPE:k=v,k=v[:option[=value]]...")
        sizes = {}
        for pair in parts[1].split(","):
            key, equals, value = pair.partition("=")
            if not equals or not value.isdigit():
                raise ValueError(f"case '{text}': size '{pair}' is not key=number")
            sizes[key] = int(value)
        options = {}
        for part in parts[2:]:
            key, equals, value = part.partition("=")
            options[key] = value if equals else "1"
        return cls(text, op, parts[0], sizes, options)

    def __getitem__(self, key):
        if key not in self.sizes:
            raise ValueError(f"case '{self.text}' has no size '{key}'")
        return self.sizes[key]

    def get(self, key, otherwise=None):
        return self.sizes.get(key, otherwise)

    def option(self, key, otherwise=None):
        return self.options.get(key, otherwise)

    def operator_options(self, known):
        """What the operator itself takes; a size that it knows as an option (histogram's bins) is one."""
        sizes = {key: str(value) for key, value in self.sizes.items() if key in known}
        return sizes | {key: value for key, value in self.options.items() if key not in _HARNESS}
