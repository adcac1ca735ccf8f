//! The order in which things happen: a value is what it was where it stands, whatever comes after it.

use crate::common::{flat, on_fused};

both! {
    fn blocks_in_expressions(x: i32) -> i32 {
        let mut i = x;
        let a = i + { i += 1; i } * 10;
        let b = i * { i = 3; 2 } + i;
        let c = { i += 1; i } - { i += 1; i } * 2;
        a + b * 100 + c * 10000
    }
}

both! {
    fn second_operands_only_where_asked(x: i32) -> i32 {
        let mut count = 0;
        let a = x > 2 && { count += 1; x < 6 };
        let b = x < 2 || { count += 10; x == 4 };
        let c = (x > 0 && { count += 100; true }) || { count += 1000; false };
        count + (a as i32) * 10000 + (b as i32) * 20000 + (c as i32) * 40000
    }
}

both! {
    fn branches_with_effects(x: i32) -> i32 {
        let mut i = x;
        let a = i + if x > 2 { i = 100; i } else { 7 };
        let b = i + match x { 0 => { i += 1; i } 1 => 5, _ => i };
        a * 1000 + b + i
    }
}

both! {
    fn assignments_at_once(x: i32) -> i32 {
        let (mut a, mut b, mut c) = (x, x + 1, x + 2);
        (a, b) = (b, a);
        (a, b, c) = (c, a, b);
        let mut v = [a, b];
        (v[0], v[1]) = (v[1], v[0]);
        _ = c;
        a + b * 10 + c * 100 + v[0] * 1000 + v[1] * 10000
    }
}

both! {
    fn places_after_values(x: i32) -> i32 {
        let mut v = [0, 0, 0];
        let mut i = 0usize;
        v[i] = x + 3;
        v[i] = { i += 1; x };
        v[i] += { i *= 2; 5 };
        v[{ i -= 1; i }] -= 1;
        v[0] + v[1] * 10 + v[2] * 100 + (i as i32) * 1000
    }
}

/// A device function that writes is called where it stands.
#[lazuli::device]
fn bump(counts: &mut [i32; 1]) -> i32 {
    counts[0] += 1;
    counts[0]
}

#[lazuli::kernel]
fn calls_in_order(out: &mut [i32]) {
    let mut counts = [0; 1];
    out[0] = bump(&mut counts) + 10 * bump(&mut counts) + 100 * counts[0];
    out[1] = counts[0] + 10 * bump(&mut counts);
    out[2] = if false { bump(&mut counts) } else { counts[0] };
}

#[test]
fn values_are_what_they_are_where_they_stand() {
    let ints = [0, 1, 2, 3, 4, 5, 6, 7];
    blocks_in_expressions::check(&ints);
    second_operands_only_where_asked::check(&ints);
    branches_with_effects::check(&ints);
    assignments_at_once::check(&ints);
    places_after_values::check(&ints);
}

#[test]
fn functions_that_write_are_called_in_order() {
    on_fused(|device| {
        let mut out = device.zeros::<i32>(3);
        calls_in_order(&mut out).launch([1], [1]).unwrap();
        assert_eq!(flat(&out), [221, 32, 3]);
    });
}
