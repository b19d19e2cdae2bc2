"""The system calls that a sandboxed program may not make, as a seccomp filter (classic BPF).

Namespaces and limits do most of the work; the filter closes what they leave open: memory that no limit counts (anonymous
files, System V segments), namespaces of one's own (in which a program could mount memory), and parts of the kernel that
no check needs and that have been ways out before (io_uring, bpf, keys, tracing). Everything else is allowed, so that
ordinary programs run. Above: `verifier.sandbox_command`. Below: nothing.
"""

import errno
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_EITHER: Final = {
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "mount_setattr": 442,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "memfd_secret": 447,
}
"""Numbers that all machines share: system calls that are younger than the common table."""

_X86_64: Final = _EITHER | {
    "shmget": 29,
    "semget": 64,
    "msgget": 68,
    "ptrace": 101,
    "pivot_root": 155,
    "chroot": 161,
    "mount": 165,
    "umount2": 166,
    "add_key": 248,
    "request_key": 249,
    "keyctl": 250,
    "unshare": 272,
    "perf_event_open": 298,
    "setns": 308,
    "process_vm_readv": 310,
    "process_vm_writev": 311,
    "memfd_create": 319,
    "bpf": 321,
    "userfaultfd": 323,
}
_AARCH64: Final = _EITHER | {
    "umount2": 39,
    "mount": 40,
    "pivot_root": 41,
    "chroot": 51,
    "unshare": 97,
    "ptrace": 117,
    "msgget": 186,
    "semget": 190,
    "shmget": 194,
    "add_key": 217,
    "request_key": 218,
    "keyctl": 219,
    "perf_event_open": 241,
    "setns": 268,
    "process_vm_readv": 270,
    "process_vm_writev": 271,
    "memfd_create": 279,
    "bpf": 280,
    "userfaultfd": 282,
}
_CLONE3: Final = 435
_NEW_NAMESPACE: Final = 0x7E02_0000
"""The flags of `clone` that ask for a namespace: mount, cgroup, UTS, IPC, user, PID, network."""

_LOAD, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _KILL = 0x7FFF_0000, 0x8000_0000
_NUMBER_AT, _MACHINE_AT, _FIRST_ARGUMENT_AT = 0, 4, 16
"""Offsets in the kernel's `struct seccomp_data`; the lower half of an argument comes first on both machines."""
_X32_CALLS: Final = 0x4000_0000
"""The second table of x86-64 begins here; through it, every number above could be called under another name."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Machine:
    audit: int
    """The kernel's `AUDIT_ARCH_*` constant."""
    clone: int
    denied: Mapping[str, int]


_MACHINES: Final = {
    "x86_64": _Machine(audit=0xC000_003E, clone=56, denied=_X86_64),
    "aarch64": _Machine(audit=0xC000_00B7, clone=220, denied=_AARCH64),
}


def syscall_filter(machine: str) -> bytes | None:
    """Return the filter program for a machine as `platform.machine()` names it; None = no table is known for it.

    Denied calls fail with EPERM; `clone3` with ENOSYS, because its flags cannot be read by a filter and every C library
    then falls back to `clone`. A call in the format of another machine ends the process.
    """
    known = _MACHINES.get(machine)
    if known is None:
        return None
    program = [
        _step(_LOAD, _MACHINE_AT),
        _step(_JUMP_EQUAL, known.audit, yes=1),
        _step(_RETURN, _KILL),
        _step(_LOAD, _NUMBER_AT),
        _step(_JUMP_AT_LEAST, _X32_CALLS, no=1),
        _step(_RETURN, _KILL),
    ]
    for number in sorted(known.denied.values()):
        program += [_step(_JUMP_EQUAL, number, no=1), _step(_RETURN, _failing(errno.EPERM))]
    program += [
        _step(_JUMP_EQUAL, _CLONE3, no=1),
        _step(_RETURN, _failing(errno.ENOSYS)),
        _step(_JUMP_EQUAL, known.clone, no=3),
        _step(_LOAD, _FIRST_ARGUMENT_AT),
        _step(_JUMP_ANY_BIT, _NEW_NAMESPACE, no=1),
        _step(_RETURN, _failing(errno.EPERM)),
        _step(_RETURN, _ALLOW),
    ]
    return b"".join(program)


def _failing(code: int) -> int:
    return 0x0005_0000 | code


def _step(operation: int, operand: int, *, yes: int = 0, no: int = 0) -> bytes:
    """Return one instruction; `yes` and `no` are the instructions that a comparison skips."""
    return struct.pack("<HBBI", operation, yes, no, operand)
