// a * b + c of f16 or bf16, of which the product is exact in f32. The sum's last bit is set where it is not exact, so that
// rounding it to the half type is the one rounding that counts. Products of bf16 past the range of f32 are added at a
// smaller scale; there a c that would vanish still counts as more or less than nothing.
FN f32 f32_odd_mul_add(f32 a, f32 b, f32 c) {
    bool is_big = (f32_bits(a * b) & 0x7fffffff) == 0x7f800000 && (f32_bits(a) & 0x7f800000) != 0x7f800000
        && (f32_bits(b) & 0x7f800000) != 0x7f800000;
    f32 down = is_big ? 5.421010862427522e-20f : 1.0f, up = is_big ? 18446744073709551616.0f : 1.0f; // 2^-64, 2^64
    c = c * down * down == 0 ? c : c * down * down;
    f32 product = (a * down) * (b * down), sum = product + c;
    // The error of the sum (Knuth's TwoSum), exact.
    f32 from_c = sum - product;
    f32 error = (product - (sum - from_c)) + (c - from_c);
    u32 bits = f32_bits(sum);
    bool is_inexact = error != 0 && (bits & 0x7f800000) != 0x7f800000;
    // Toward the error: one step away from zero, or toward it.
    u32 step = (error > 0) == (sum > 0) ? 1u : 0xffffffffu;
    return f32_of_bits(is_inexact && (bits & 1) == 0 ? bits + step : bits) * up * up;
}
