"""The generator behind the published streams."""

MASK = 0xFFFFFFFF


class Mulberry32:
    """Mulberry32 (Tommy Ettinger 2017), bit-exact with its JavaScript form; one 32-bit word of state.

    Args:
        seed: Any integer; its low 32 bits are used.
    """

    def __init__(self, seed: int) -> None:
        self.state = seed & MASK
        """The 32-bit word; may be set to go back."""

    def __call__(self) -> float:
        """Return the next number in [0, 1), a multiple of 2^-32."""
        self.state = a = (self.state + 0x6D2B79F5) & MASK
        t = ((a ^ a >> 15) * (1 | a)) & MASK
        t = ((t + (((t ^ t >> 7) * (61 | t)) & MASK)) & MASK) ^ t
        return (t ^ t >> 14) / 4294967296
