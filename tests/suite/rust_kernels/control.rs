//! `if`, `match`, loops, `let`, blocks, and what leaves them.

const INTS: [i32; 12] = [0, 1, 2, 3, 4, 5, 6, 7, 10, -1, -7, 100];
const THIRD: i32 = 3;

both! {
    fn branches(x: i32) -> i32 {
        let sign = if x < 0 { -1 } else if x == 0 { 0 } else { 1 };
        let mut y = x;
        if x > 5 {
            y += 100;
        }
        if x == 2 { y = 7; } else { y *= 2; }
        y + sign * 1000
    }
}

both! {
    fn early(x: i32) -> i32 {
        if x < 0 {
            return -x;
        }
        let y = if x > 50 { return 50 } else { x + 1 };
        if y == 4 { return 44; } else if y == 5 { return 55; }
        y
    }
}

both! {
    fn matches(x: i32) -> i32 {
        let a = match x {
            0 => 10,
            1 | 2 => 20,
            THIRD => 30,
            4..=5 => 40,
            n if n < -5 => n * 2,
            n @ (6 | 7) => n + 60,
            i32::MIN..0 => 80,
            _ => 90,
        };
        let b = match x % 2 == 0 {
            true => 1,
            false => 2,
        };
        let mut c = 0;
        match (a > 20, b) {
            (true, 1) => c = 5,
            (true, other) => c = other * 10,
            (false, _) => {}
        }
        a + b * 1000 + c * 10000
    }
}

both! {
    fn match_that_returns(x: i32) -> i32 {
        match x {
            0 => return 1,
            y if y < 0 => {
                return y;
            }
            y => y + 1,
        }
    }
}

both! {
    fn while_loops(x: i32) -> i32 {
        let mut n = x.abs();
        let mut steps = 0;
        while n > 1 && steps < 200 {
            n = if n % 2 == 0 { n / 2 } else { 3 * n + 1 };
            steps += 1;
        }
        steps
    }
}

both! {
    fn endless(x: i32) -> i32 {
        let mut n = x;
        let mut rounds = 0;
        loop {
            rounds += 1;
            if n > 20 {
                break;
            }
            n += 3;
            if n % 2 == 0 {
                continue;
            }
            rounds += 100;
        }
        rounds + n
    }
}

both! {
    fn endless_until_return(x: i32) -> i32 {
        let mut n = x;
        loop {
            if n > 20 {
                return n;
            }
            n += 7;
        }
    }
}

both! {
    fn ranges(x: i32) -> i32 {
        let mut sum = 0;
        for i in 0..x {
            sum += i;
        }
        for i in -2..=x {
            sum += i * 2;
        }
        for i in (0..x).rev() {
            sum = sum * 3 + i;
        }
        for i in (0..=x).rev() {
            sum = sum % 1000 + i;
        }
        for _ in 0..3 {
            sum += 1;
        }
        for mut i in 0..2 {
            i += 5;
            sum += i;
        }
        sum
    }
}

both! {
    fn steps(x: i32) -> i32 {
        let step = if x > 2 { 3usize } else { 2 };
        let mut code = 0;
        for i in (1..x).step_by(4) {
            code = (code * 7 + i) % 100003;
        }
        for i in (1..=x).step_by(step) {
            code = (code * 7 + i) % 100003;
        }
        for i in (1..x).rev().step_by(step) {
            code = (code * 7 + i) % 100003;
        }
        for i in (1..x + 1).step_by(step).rev() {
            code = (code * 7 + i) % 100003;
        }
        code
    }
}

both! {
    fn edges_of_ranges(x: u8) -> u32 {
        let mut rounds = 0u32;
        for i in x..=u8::MAX {
            rounds += 1 + i as u32;
        }
        for i in (250u8..u8::MAX).step_by(7) {
            rounds += 1000 * i as u32;
        }
        for i in i8::MIN..=i8::MAX {
            rounds += (i as i32 + 200) as u32;
        }
        rounds
    }
}

both! {
    fn nested(x: i32) -> i32 {
        let mut found = -1;
        let mut looked = 0;
        for a in 0..10 {
            for b in 0..10 {
                if b > a {
                    break;
                }
                if (a + b) % 2 == 1 {
                    continue;
                }
                looked += 1;
                if a * b == x {
                    found = a * 100 + b;
                }
            }
        }
        found + looked * 10000
    }
}

both! {
    fn lets(x: i32) -> i32 {
        let y;
        if x > 3 { y = 1; } else { y = 2; }
        let z: i32;
        z = y + x;
        let x = x + 1;
        let x = { let x = x * 2; x + z };
        let (mut a, b): (i32, i32) = (x, z);
        a += b;
        let pair = (a, b);
        let (p, (q, _)) = (pair.0, (pair.1, 5));
        let mut t = (p, q);
        t.0 -= 3;
        t.1 = t.0;
        const TEN: i32 = 10;
        t.0 + t.1 * TEN
    }
}

both! {
    fn arrays(x: i32) -> i32 {
        let mut a = [0; 4];
        let b = [1, 2, x, 4];
        let mut m = [[x; 3]; 2];
        let c = [[1, 2], [3, 4]];
        for i in 0..a.len() {
            a[i] = b[i] * 10;
            m[i / 2][i % 2] += a[i];
        }
        let mut sum = 0;
        for round in 0..2 {
            let mut fresh = [0; 2];
            fresh[round] += 1;
            sum += fresh[0] * 7 + fresh[1] * 11;
            let filled = [x; 2];
            sum += filled[1];
        }
        sum + a[2] + m[0][1] + m[1][0] * 3 + m[1][2] + c[1][0] + m.len() as i32
    }
}

#[test]
fn branches_take_the_way_that_rust_takes() {
    branches::check(&INTS);
    early::check(&INTS);
    matches::check(&INTS);
    match_that_returns::check(&INTS);
}

#[test]
fn loops_go_round_as_often_as_in_rust() {
    while_loops::check(&INTS);
    endless::check(&INTS);
    endless_until_return::check(&INTS);
    nested::check(&INTS);
}

#[test]
fn ranges_have_the_numbers_that_they_have_in_rust() {
    let few = [-3, 0, 1, 2, 3, 4, 5, 6, 7, 13];
    ranges::check(&few);
    steps::check(&few);
    edges_of_ranges::check(&[0, 1, 254, 255]);
}

#[test]
fn variables_tuples_and_arrays_hold_what_they_hold_in_rust() {
    lets::check(&INTS);
    arrays::check(&INTS);
}
