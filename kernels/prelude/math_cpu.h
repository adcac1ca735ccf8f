// f32 functions for OpenCL on CPUs, whose own have branches and calls that keep a compiler from making vectors of the
// work-items around them. These have choices only, compute in f64 and round once: within 0.53 ulp of the value for every f32.
// Polynomials are minimax fits (Remez); the rest is written from the textbook identities, but for the split of a logarithm's
// argument (musl log.c) and the root (FreeBSD s_cbrtf.c).

// a * b + c of polynomials: fused where the hardware does that, which on one device is always or never.
#if defined(FP_FAST_FMA) || defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define F64_MUL_ADD(a, b, c) fma(a, b, c)
#else
#define F64_MUL_ADD(a, b, c) ((a) * (b) + (c))
#endif

// 1.5 * 2^52: adding it to a number below 2^51 rounds that to an integer, which then stands in the low bits.
#define F64_TO_INTEGER 6755399441055744.0

#define F64_LN_2 0.69314718055994531

// x held within bounds.
FN f64 f64_held(f64 x, f64 low, f64 high) {
    x = x > high ? high : x;
    return x < low ? low : x;
}

// 2^k for the k that `shifted`, k + F64_TO_INTEGER, holds in its low bits.
FN f64 f64_power_of_two(f64 shifted) { return f64_of_bits((f64_bits(shifted) + 1023) << 52); }

// 2^r - 1 for |r| <= 1/2, within 2^-32 of itself.
FN f64 f64_exp2m1_near(f64 r) {
    f64 p = F64_MUL_ADD(r, 1.5252720886223654e-05, 0.0001546133214838199);
    p = F64_MUL_ADD(r, p, 0.0013333669455480924);
    p = F64_MUL_ADD(r, p, 0.0096180570314675293);
    p = F64_MUL_ADD(r, p, 0.055504107275865404);
    p = F64_MUL_ADD(r, p, 0.24022650920077043);
    return r * F64_MUL_ADD(r, p, 0.69314718158057188);
}

// 2^x for |x| below 1000.
FN f64 f64_exp2(f64 x) {
    f64 shifted = x + F64_TO_INTEGER;
    f64 power = f64_power_of_two(shifted);
    return F64_MUL_ADD(f64_exp2m1_near(x - (shifted - F64_TO_INTEGER)), power, power);
}

// e^r - 1 for |r| <= ln(2) / 2, within 2^-32 of itself.
FN f64 f64_expm1_near(f64 r) {
    f64 p = F64_MUL_ADD(r, 0.00019841253028280155, 0.0013941015287330688);
    p = F64_MUL_ADD(r, p, 0.0083334029225839816);
    p = F64_MUL_ADD(r, p, 0.041666354325971239);
    p = F64_MUL_ADD(r, p, 0.16666666249393489);
    p = F64_MUL_ADD(r, p, 0.50000000466797601);
    return r * F64_MUL_ADD(r, p, 1.0000000000312206);
}

// e^x for |x| below 700.
FN f64 f64_exp(f64 x) {
    f64 shifted = F64_MUL_ADD(x, 1.4426950408889634, F64_TO_INTEGER);
    f64 power = f64_power_of_two(shifted);
    return F64_MUL_ADD(f64_expm1_near(F64_MUL_ADD(shifted - F64_TO_INTEGER, -F64_LN_2, x)), power, power);
}

// e^x - 1 for |x| below 700.
FN f64 f64_expm1(f64 x) {
    f64 shifted = F64_MUL_ADD(x, 1.4426950408889634, F64_TO_INTEGER);
    f64 power = f64_power_of_two(shifted);
    return F64_MUL_ADD(f64_expm1_near(F64_MUL_ADD(shifted - F64_TO_INTEGER, -F64_LN_2, x)), power, power - 1);
}

// e and m with x = 2^e * m and m about sqrt(1/2) to sqrt(2), of a positive normal number.
FN f64 f64_log_exponent(f64 x) {
    u64 bits = (f64_bits(x) + 0x0009580000000000) >> 52;
    return f64_of_bits(bits | 0x4330000000000000) - 4503599627371519.0;
}

FN f64 f64_log_mantissa(f64 x) {
    u64 bits = (f64_bits(x) + 0x0009580000000000) & 0x000fffffffffffff;
    return f64_of_bits(bits + 0x3fe6a80000000000);
}

// ln(m) for m about sqrt(1/2) to sqrt(2), within 2^-37 of itself.
FN f64 f64_log_near(f64 m) {
    f64 s = (m - 1) / (m + 1), z = s * s;
    f64 p = F64_MUL_ADD(z, 0.23620376551785438, 0.28534835802645814);
    p = F64_MUL_ADD(z, p, 0.40000388239487911);
    p = F64_MUL_ADD(z, p, 0.66666665228807742);
    return s * F64_MUL_ADD(z, p, 2.0000000000085096);
}

// ln(x) of a positive normal number.
FN f64 f64_log(f64 x) { return F64_MUL_ADD(f64_log_exponent(x), F64_LN_2, f64_log_near(f64_log_mantissa(x))); }

// log2(x) of a positive normal number; exact at powers of two.
FN f64 f64_log2(f64 x) { return F64_MUL_ADD(f64_log_near(f64_log_mantissa(x)), 1.4426950408889634, f64_log_exponent(x)); }

// What a logarithm is where its argument is no positive number: `value` otherwise.
FN f32 f32_log_special(f64 x, f64 value) {
    value = x < INFINITY ? value : x;
    value = x > 0 ? value : NAN;
    return (f32)(x == 0 ? -INFINITY : value);
}

FN f32 f32_exp_number(f32 x) { return (f32)f64_exp(f64_held(x, -110, 90)); }

FN f32 f32_exp2_number(f32 x) { return (f32)f64_exp2(f64_held(x, -160, 130)); }

FN f32 f32_expm1_number(f32 x) {
    f32 value = (f32)f64_expm1(f64_held(x, -110, 90));
    return x == 0 ? x : value;
}

FN f32 f32_log_number(f32 x) { return f32_log_special(x, f64_log(x)); }

FN f32 f32_log2_number(f32 x) { return f32_log_special(x, f64_log2(x)); }

FN f32 f32_log10_number(f32 x) { return f32_log_special(x, f64_log(x) * 0.43429448190325183); }

FN f32 f32_log1p_number(f32 x) {
    f64 wide = x;
    f32 far = f32_log_special(1 + wide, f64_log(1 + wide));
    f32 near = (f32)(wide * F64_MUL_ADD(wide, F64_MUL_ADD(wide, 1.0 / 3.0, -0.5), 1.0));
    return fabs(x) < 1e-4f ? near : far;
}

// An angle in quarter turns: x * 2/pi less a multiple of 4, as a whole number of them (in the low bits of *shifted) and the
// rest, from -1/2 to 1/2. For every x: where x has an exponent of 2^51 and more, 2^(27 j) of it are taken into the constant,
// of which a multiple of 4 then makes whole turns. The constants are in two parts of 28 bits, whose products with an f32
// are exact, and the rest.
FN f64 f64_quarter_turns(f32 angle, f64 *shifted) {
    f32 size = fabs(angle);
    bool over1 = size >= 0x1p51f, over2 = size >= 0x1p78f, over3 = size >= 0x1p105f;
    f64 scale = over3 ? 0x1p-81 : over2 ? 0x1p-54 : over1 ? 0x1p-27 : 1.0;
    f64 high = over3 ? -0x1.505c158p+0 : over2 ? 0x1.4a7f09cp+0 : over1 ? -0x1.1b1bbe8p-1 : 0x1.45f306cp-1;
    f64 middle = over3 ? -0x1.6447e48p-28 : over2 ? 0x1.5f47d4cp-28 : over1 ? -0x1.6b01ec4p-28 : 0x1.c9c882ap-29;
    f64 low = over3   ? -0x1.3ad4cd8778df8p-56
              : over2 ? 0x1.377036d8a5665p-56
              : over1 ? -0x1.4170565911f92p-56
                      : 0x1.4fe13abe8fa9ap-59;
    f64 x = angle * scale;
    f64 first = x * high, second = x * middle;
    first = first - 4 * ((first * 0.25 + F64_TO_INTEGER) - F64_TO_INTEGER);
    *shifted = (first + second) + F64_TO_INTEGER;
    return ((first - (*shifted - F64_TO_INTEGER)) + second) + x * low;
}

// The sine of r quarter turns, for |r| <= 1/2.
FN f64 f64_sin_near(f64 r) {
    f64 z = r * r;
    f64 p = F64_MUL_ADD(z, 0.00015819417704280228, -0.0046812602321385371);
    p = F64_MUL_ADD(z, p, 0.079692581789418473);
    p = F64_MUL_ADD(z, p, -0.64596409610016059);
    return r * F64_MUL_ADD(z, p, 1.5707963267877356);
}

FN f64 f64_cos_near(f64 r) {
    f64 z = r * r;
    f64 p = F64_MUL_ADD(z, 0.00090376027454885021, -0.020860162414454847);
    p = F64_MUL_ADD(z, p, 0.25366922561990574);
    p = F64_MUL_ADD(z, p, -1.2337005425852849);
    return F64_MUL_ADD(z, p, 1.0);
}

// The sine `ahead` quarter turns ahead.
FN f32 f32_sin_ahead(f32 x, u64 ahead) {
    f64 shifted;
    f64 r = f64_quarter_turns(x, &shifted);
    u64 k = f64_bits(shifted) + ahead;
    f64 value = (k & 1) == 0 ? f64_sin_near(r) : f64_cos_near(r);
    return (f32)f64_of_bits(f64_bits(value) ^ ((k & 2) << 62));
}

FN f32 f32_sin_number(f32 x) { return f32_sin_ahead(x, 0); }

FN f32 f32_cos_number(f32 x) { return f32_sin_ahead(x, 1); }

FN f32 f32_tan_number(f32 x) {
    f64 shifted;
    f64 r = f64_quarter_turns(x, &shifted);
    f64 sine = f64_sin_near(r), cosine = f64_cos_near(r);
    bool is_odd = (f64_bits(shifted) & 1) != 0;
    return (f32)((is_odd ? -cosine : sine) / (is_odd ? sine : cosine));
}

FN f32 f32_sinh_number(f32 x) {
    f64 less = f64_expm1(f64_held(fabs(x), 0, 100));
    return (f32)copysign(0.5 * (less + less / (less + 1)), (f64)x);
}

FN f32 f32_cosh_number(f32 x) {
    f64 power = f64_exp(f64_held(fabs(x), 0, 100));
    return (f32)(0.5 * (power + 1 / power));
}

FN f32 f32_tanh_number(f32 x) {
    f64 less = f64_expm1(f64_held(2 * fabs((f64)x), 0, 60));
    return (f32)copysign(less / (less + 2), (f64)x);
}

// The angle of a rise over a run, neither below zero.
FN f64 f64_angle(f64 rise, f64 run) {
    bool is_steep = rise > 2.414213562373095 * run, is_large = rise > 0.41421356237309503 * run;
    f64 top = is_steep ? -run : is_large ? rise - run : rise;
    f64 bottom = is_steep ? rise : is_large ? rise + run : run;
    f64 from = is_steep ? 1.5707963267948966 : is_large ? 0.78539816339744831 : 0.0;
    f64 t = top / (bottom == 0 ? 1.0 : bottom), z = t * t;
    f64 p = F64_MUL_ADD(z, 0.047139013197232849, -0.084595942308800604);
    p = F64_MUL_ADD(z, p, 0.11041151638387443);
    p = F64_MUL_ADD(z, p, -0.14281648279161058);
    p = F64_MUL_ADD(z, p, 0.19999886275668341);
    p = F64_MUL_ADD(z, p, -0.33333332133640237);
    return from + t * F64_MUL_ADD(z, p, 0.99999999997927091);
}

FN f32 f32_atan_number(f32 x) { return (f32)copysign(f64_angle(fabs((f64)x), 1), (f64)x); }

FN f32 f32_asin_number(f32 x) {
    f64 a = fabs((f64)x);
    return (f32)copysign(f64_angle(a, sqrt((1 - a) * (1 + a))), (f64)x);
}

FN f32 f32_acos_number(f32 x) {
    f64 a = fabs((f64)x);
    f64 angle = f64_angle(sqrt((1 - a) * (1 + a)), a);
    return (f32)(x < 0 ? 3.1415926535897931 - angle : angle);
}

FN f32 f32_atan2_number(f32 y, f32 x) {
    // In two ways, lest they be paired.
    f64 rise = fabs(y), run = fabs((f64)x);
    bool is_diagonal = rise == run && run == INFINITY;
    f64 angle = f64_angle(is_diagonal ? 1.0 : rise, is_diagonal ? 1.0 : run);
    angle = (f32_bits(x) >> 31) != 0 ? 3.1415926535897931 - angle : angle;
    return (f32)copysign(angle, (f64)y);
}

FN f32 f32_atan2_nan(f32 y, f32 x) { return x; }

FN f32 f32_asinh_number(f32 x) {
    f64 a = fabs((f64)x), z = a * a;
    f64 far = f64_log(a + sqrt(z + 1));
    f64 near = a * F64_MUL_ADD(z, F64_MUL_ADD(z, 3.0 / 40.0, -1.0 / 6.0), 1.0);
    f64 value = a < 1e-2 ? near : far;
    return (f32)copysign(a < INFINITY ? value : a, (f64)x);
}

FN f32 f32_acosh_number(f32 x) {
    f64 wide = x;
    f64 value = f64_log(wide + sqrt((wide - 1) * (wide + 1)));
    value = wide < INFINITY ? value : wide;
    return (f32)(wide < 1 ? NAN : value);
}

FN f32 f32_atanh_number(f32 x) {
    f64 a = fabs((f64)x), z = a * a;
    f64 far = 0.5 * f64_log((1 + a) / (1 - a));
    f64 near = a * F64_MUL_ADD(z, F64_MUL_ADD(z, 1.0 / 5.0, 1.0 / 3.0), 1.0);
    f64 value = a < 1e-2 ? near : far;
    value = a < 1 ? value : NAN;
    return (f32)copysign(a == 1 ? INFINITY : value, (f64)x);
}

// Halley's iteration, as FreeBSD's s_cbrtf.c: from 5 bits to 15 to 45.
FN f64 f64_cbrt_step(f64 root, f64 x) {
    f64 cube = root * root * root;
    return root * ((x + x + cube) / (x + cube + cube));
}

FN f32 f32_cbrt_number(f32 x) {
    f64 a = fabs((f64)x);
    u32 top = (u32)(f64_bits(a) >> 32);
    f64 root = f64_of_bits((u64)(top / 3 + 715094163) << 32);
    root = f64_cbrt_step(f64_cbrt_step(root, a), a);
    return a > 0 && a < INFINITY ? (f32)copysign(root, (f64)x) : x;
}

// Below 1 a polynomial of x^2, else 1 - 2^-P(x).
FN f32 f32_erf_number(f32 x) {
    f64 a = f64_held(fabs((f64)x), 0, 4), z = a * a;
    f64 near = F64_MUL_ADD(z, 7.8538607808451464e-05, -0.00080101934451857972);
    near = F64_MUL_ADD(z, near, 0.0051883276645054771);
    near = F64_MUL_ADD(z, near, -0.026853811923880099);
    near = F64_MUL_ADD(z, near, 0.11283585148349264);
    near = F64_MUL_ADD(z, near, -0.37612625824215418);
    near = a * F64_MUL_ADD(z, near, 1.1283791657267133);
    f64 p = F64_MUL_ADD(a, 3.1302900816502724e-05, -0.00063690862467282892);
    p = F64_MUL_ADD(a, p, 0.0060669339514020301);
    p = F64_MUL_ADD(a, p, -0.036370804615506548);
    p = F64_MUL_ADD(a, p, 0.15641997876542615);
    p = F64_MUL_ADD(a, p, 0.91353820170282318);
    p = F64_MUL_ADD(a, p, 1.6296398889189974);
    p = F64_MUL_ADD(a, p, -0.00027189605841963354);
    f64 far = 1 - f64_exp2(-p);
    return (f32)copysign(a < 1 ? near : far, (f64)x);
}

// e^(-x^2) times a polynomial of (x - 3) / (x + 3).
FN f32 f32_erfc_number(f32 x) {
    f64 a = f64_held(fabs((f64)x), 0, 10.2);
    f64 t = (a - 3) / (a + 3);
    f64 p = F64_MUL_ADD(t, 5.0668173073624968e-06, 6.6681903634101161e-05);
    p = F64_MUL_ADD(t, p, 3.1040329309558254e-05);
    p = F64_MUL_ADD(t, p, -0.00060258151026048841);
    p = F64_MUL_ADD(t, p, 0.00071228271265704444);
    p = F64_MUL_ADD(t, p, 0.0042710814576107526);
    p = F64_MUL_ADD(t, p, -0.024393216233139559);
    p = F64_MUL_ADD(t, p, 0.07166558530281486);
    p = F64_MUL_ADD(t, p, -0.15011588233441972);
    p = F64_MUL_ADD(t, p, 0.24560381224305244);
    p = F64_MUL_ADD(t, p, -0.32623356135012466);
    p = F64_MUL_ADD(t, p, 0.17900115112167753);
    f64 value = p * f64_exp(-a * a);
    return (f32)(x < 0 ? 2 - value : value);
}

FN f32 f32_hypot_number(f32 x, f32 y) {
    f64 a = x, b = y;
    f32 value = (f32)sqrt(a * a + b * b);
    return fabs(x) == INFINITY || fabs(y) == INFINITY ? INFINITY : value;
}

FN f32 f32_hypot_nan(f32 x, f32 y) { return fabs(x) == INFINITY ? INFINITY : y; }

// C's rules, in choices: the power of |x| with the sign of an odd y, NaN for a negative x and a y that is no integer.
FN f32 f32_pow_number(f32 x, f32 y) {
    f32 a = fabs(x), middle = y * 0.5f;
    f64 logarithm = f64_log2(a);
    logarithm = a < INFINITY ? logarithm : (f64)a;
    logarithm = a == 0 ? -INFINITY : logarithm;
    f64 exponent = y * logarithm;
    exponent = y == 0 || a == 1 ? 0.0 : exponent;
    f32 value = (f32)f64_exp2(f64_held(exponent, -160, 130));
    bool is_whole = floor(y) == y, is_odd = is_whole && floor(middle) != middle;
    value = x < 0 && a < INFINITY && !is_whole ? NAN : value;
    return is_odd && (f32_bits(x) >> 31) != 0 ? -value : value;
}

FN f32 f32_pow_nan(f32 x, f32 y) { return x == 1 ? 1.0f : y; }

// The functions under their names. A NaN is sent round each: the branch keeps two calls in blocks of their own, where LLVM
// (SLPVectorizer) would pair their f64 operations, after which no loop over work-items can be made of vectors.
#define LAZULI_OF_NUMBER(F, NUMBER) \
    FN f32 F(f32 x) { return x == x ? NUMBER(x) : x; }

#define LAZULI_OF_NUMBERS(F, NUMBERS, OTHERWISE) \
    FN f32 F(f32 x, f32 y) { return y == y ? NUMBERS(x, y) : OTHERWISE(x, y); }
