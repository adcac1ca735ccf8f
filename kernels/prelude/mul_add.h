// a * b + c of f16 or bf16, of which the product is exact in f32 (but for bf16's beyond the range of f32). The sum's last bit
// is set where it is not exact, so that rounding it to the half type is the one rounding that counts.
FN f32 f32_odd_mul_add(f32 a, f32 b, f32 c) {
    f32 product = a * b, sum = product + c;
    // The error of the sum (Knuth's TwoSum), exact.
    f32 from_c = sum - product;
    f32 error = (product - (sum - from_c)) + (c - from_c);
    u32 bits = f32_bits(sum);
    bool is_inexact = error != 0 && (bits & 0x7f800000) != 0x7f800000;
    // Toward the error: one step away from zero, or toward it.
    u32 step = (error > 0) == (sum > 0) ? 1u : 0xffffffffu;
    return f32_of_bits(is_inexact && (bits & 1) == 0 ? bits + step : bits);
}
