"""The filter program, run by a small interpreter of classic BPF as the kernel would run it."""

import errno
import struct

import pytest

from verifier.syscall_filter import syscall_filter

ALLOWED, KILLED = 0x7FFF_0000, 0x8000_0000
DENIED, UNKNOWN = 0x0005_0000 | errno.EPERM, 0x0005_0000 | errno.ENOSYS
X86_64, AARCH64 = 0xC000_003E, 0xC000_00B7


def decide(program: bytes, number: int, *, audit: int, argument: int = 0) -> int:
    """Return the verdict on one system call."""
    data = struct.pack("<IIQ6Q", number, audit, 0, argument, 0, 0, 0, 0, 0)
    steps = list(struct.iter_unpack("<HBBI", program))
    at = accumulator = 0
    while True:
        operation, yes, no, operand = steps[at]
        at += 1
        if operation == 0x20:
            (accumulator,) = struct.unpack_from("<I", data, operand)
        elif operation == 0x06:
            return int(operand)
        else:
            holds = {0x15: accumulator == operand, 0x35: accumulator >= operand, 0x45: bool(accumulator & operand)}
            at += yes if holds[operation] else no


@pytest.mark.parametrize(
    ("machine", "audit", "read", "memfd", "clone"), [("x86_64", X86_64, 0, 319, 56), ("aarch64", AARCH64, 63, 279, 220)]
)
def test_ordinary_calls_pass_and_dangerous_ones_do_not(
    machine: str, audit: int, read: int, memfd: int, clone: int
) -> None:
    program = syscall_filter(machine)
    assert program is not None

    fork, new_user = 0x0120_0011, 0x1000_0011
    assert decide(program, read, audit=audit) == ALLOWED
    assert decide(program, memfd, audit=audit) == DENIED
    assert decide(program, 425, audit=audit) == DENIED  # io_uring_setup
    assert decide(program, clone, audit=audit, argument=fork) == ALLOWED
    assert decide(program, clone, audit=audit, argument=new_user) == DENIED
    assert decide(program, 435, audit=audit) == UNKNOWN  # clone3


def test_calls_in_the_format_of_another_machine_are_deadly() -> None:
    program = syscall_filter("x86_64")
    assert program is not None

    assert decide(program, 0, audit=0x4000_0003) == KILLED  # i386
    assert decide(program, 0x4000_0000, audit=X86_64) == KILLED  # x32


def test_no_program_is_made_up_for_an_unknown_machine() -> None:
    assert syscall_filter("riscv64") is None
