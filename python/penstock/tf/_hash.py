"""The hashes of strings by which TensorFlow chooses buckets.

They are part of a model's meaning: a string that is in bucket 7 when the model
is trained must be there when it is used.

    hash64         to_hash_bucket:        MurmurHash64A with a fixed seed
    fingerprint64  to_hash_bucket_fast:   FarmHash's Fingerprint64
    siphash        to_hash_bucket_strong: SipHash-2-4
"""

from __future__ import annotations

_M = (1 << 64) - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F


def _u64(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 8], "little")


def _u32(data: bytes, at: int) -> int:
    return int.from_bytes(data[at : at + 4], "little")


def _right(value: int, by: int) -> int:
    return (value >> by | value << (64 - by)) & _M if by else value


def _mixed(value: int) -> int:
    return value ^ value >> 47


def _pair(u: int, v: int, factor: int) -> int:
    """Two words as one."""
    a = ((u ^ v) * factor) & _M
    a ^= a >> 47
    b = ((v ^ a) * factor) & _M
    b ^= b >> 47
    return b * factor & _M


def _short(s: bytes) -> int:
    n = len(s)
    if n >= 8:
        factor = (_K2 + n * 2) & _M
        a = (_u64(s, 0) + _K2) & _M
        b = _u64(s, n - 8)
        c = (_right(b, 37) * factor + a) & _M
        d = ((_right(a, 25) + b) * factor) & _M
        return _pair(c, d, factor)
    if n >= 4:
        factor = (_K2 + n * 2) & _M
        return _pair(n + (_u32(s, 0) << 3), _u32(s, n - 4), factor)
    if n:
        y = s[0] + (s[n >> 1] << 8)
        z = n + (s[n - 1] << 2)
        return _mixed((y * _K2 ^ z * _K0) & _M) * _K2 & _M
    return _K2


def _to_32(s: bytes) -> int:
    n = len(s)
    factor = (_K2 + n * 2) & _M
    a = _u64(s, 0) * _K1 & _M
    b = _u64(s, 8)
    c = _u64(s, n - 8) * factor & _M
    d = _u64(s, n - 16) * _K2 & _M
    return _pair(
        (_right((a + b) & _M, 43) + _right(c, 30) + d) & _M,
        (a + _right((b + _K2) & _M, 18) + c) & _M,
        factor,
    )


def _to_64(s: bytes) -> int:
    n = len(s)
    factor = (_K2 + n * 2) & _M
    a = _u64(s, 0) * _K2 & _M
    b = _u64(s, 8)
    c = _u64(s, n - 8) * factor & _M
    d = _u64(s, n - 16) * _K2 & _M
    y = (_right((a + b) & _M, 43) + _right(c, 30) + d) & _M
    z = _pair(y, (a + _right((b + _K2) & _M, 18) + c) & _M, factor)
    e = _u64(s, 16) * factor & _M
    f = _u64(s, 24)
    g = (y + _u64(s, n - 32)) * factor & _M
    h = (z + _u64(s, n - 24)) * factor & _M
    return _pair(
        (_right((e + f) & _M, 43) + _right(g, 30) + h) & _M,
        (e + _right((f + a) & _M, 18) + g) & _M,
        factor,
    )


def _weak(s: bytes, at: int, a: int, b: int) -> tuple[int, int]:
    """32 bytes and two words as two words."""
    w, x, y, z = (_u64(s, at + i) for i in (0, 8, 16, 24))
    a = (a + w) & _M
    b = _right((b + a + z) & _M, 21)
    c = a
    a = (a + x + y) & _M
    b = (b + _right(a, 44)) & _M
    return (a + z) & _M, (b + c) & _M


def fingerprint64(s: bytes) -> int:
    """FarmHash's Fingerprint64."""
    n = len(s)
    if n <= 16:
        return _short(s)
    if n <= 32:
        return _to_32(s)
    if n <= 64:
        return _to_64(s)
    seed = 81
    x = seed
    y = (seed * _K1 + 113) & _M
    z = _mixed((y * _K2 + 113) & _M) * _K2 & _M
    v, w = (0, 0), (0, 0)
    x = (x * _K2 + _u64(s, 0)) & _M
    end = (n - 1) // 64 * 64
    last = end + ((n - 1) & 63) - 63
    at = 0
    while at < end:
        x = _right((x + y + v[0] + _u64(s, at + 8)) & _M, 37) * _K1 & _M
        y = _right((y + v[1] + _u64(s, at + 48)) & _M, 42) * _K1 & _M
        x ^= w[1]
        y = (y + v[0] + _u64(s, at + 40)) & _M
        z = _right((z + w[0]) & _M, 33) * _K1 & _M
        v = _weak(s, at, v[1] * _K1 & _M, (x + w[0]) & _M)
        w = _weak(s, at + 32, (z + w[1]) & _M, (y + _u64(s, at + 16)) & _M)
        z, x = x, z
        at += 64
    factor = (_K1 + ((z & 0xFF) << 1)) & _M
    w = ((w[0] + ((n - 1) & 63)) & _M, w[1])
    v = ((v[0] + w[0]) & _M, v[1])
    w = ((w[0] + v[0]) & _M, w[1])
    x = _right((x + y + v[0] + _u64(s, last + 8)) & _M, 37) * factor & _M
    y = _right((y + v[1] + _u64(s, last + 48)) & _M, 42) * factor & _M
    x ^= w[1] * 9 & _M
    y = (y + v[0] * 9 + _u64(s, last + 40)) & _M
    z = _right((z + w[0]) & _M, 33) * factor & _M
    v = _weak(s, last, v[1] * factor & _M, (x + w[0]) & _M)
    w = _weak(s, last + 32, (z + w[1]) & _M, (y + _u64(s, last + 16)) & _M)
    z, x = x, z
    first = (_pair(v[0], w[0], factor) + _mixed(y) * _K0 + z) & _M
    return _pair(first, (_pair(v[1], w[1], factor) + x) & _M, factor)


def hash64(s: bytes, seed: int = 0xDECAFCAFFE) -> int:
    """MurmurHash64A."""
    factor = 0xC6A4A7935BD1E995
    n = len(s)
    h = (seed ^ n * factor) & _M
    whole = n // 8 * 8
    for at in range(0, whole, 8):
        k = _u64(s, at) * factor & _M
        k = (k ^ k >> 47) * factor & _M
        h = (h ^ k) * factor & _M
    if n > whole:
        h = (h ^ int.from_bytes(s[whole:], "little")) * factor & _M
    h = (h ^ h >> 47) * factor & _M
    return h ^ h >> 47


def siphash(s: bytes, first: int, second: int) -> int:
    """SipHash-2-4 under a key of two words."""
    v = [
        first ^ 0x736F6D6570736575,
        second ^ 0x646F72616E646F6D,
        first ^ 0x6C7967656E657261,
        second ^ 0x7465646279746573,
    ]

    def rounds(count: int) -> None:
        a, b, c, d = v
        for _ in range(count):
            a = (a + b) & _M
            b = _right(b, 51) ^ a
            a = _right(a, 32)
            c = (c + d) & _M
            d = _right(d, 48) ^ c
            a = (a + d) & _M
            d = _right(d, 43) ^ a
            c = (c + b) & _M
            b = _right(b, 47) ^ c
            c = _right(c, 32)
        v[:] = a, b, c, d

    tail = len(s) // 8 * 8
    words = [_u64(s, at) for at in range(0, tail, 8)]
    words.append(int.from_bytes(s[tail:], "little") | (len(s) & 0xFF) << 56)
    for word in words:
        v[3] ^= word
        rounds(2)
        v[0] ^= word
    v[2] ^= 0xFF
    rounds(4)
    return v[0] ^ v[1] ^ v[2] ^ v[3]
