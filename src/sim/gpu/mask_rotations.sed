# Clang 14 writes a rotation of 64 bits as two shifts, and forgets to take the amount modulo 64, which its own
# optimiser relies on: ~(1 << (i % 64)) comes out as 0 for i >= 64. Shifts of PTX stop at 64, so that both
# are right once the amount is cut. Where a newer Clang does so itself, there is nothing to change.
s/^(\t(shl|shr)\.b64 \t%lhs, %rd[0-9]+), (%r[0-9]+);/\tand.b32 \t%amt2, \3, 63;\n\1, %amt2;/
s/^(\tsub\.u32 \t%amt2, 64), %r[0-9]+;/\1, %amt2;/
