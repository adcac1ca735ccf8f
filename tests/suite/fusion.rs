//! What is fused, by the launches, the operations and the bytes that are counted.

use lazuli::prelude::*;
use ndarray::{Array1, Array2, arr1, s};

use crate::common::*;

const N: usize = 5000;

fn counted(device: &Device, n: usize) -> Array<f32> {
    device.from_slice(&(0..n).map(|i| i as f32).collect::<Vec<_>>()).unwrap()
}

fn host(n: usize) -> Array1<f32> {
    Array1::from_iter((0..n).map(|i| i as f32))
}

#[test]
fn a_chain_of_maps_is_one_launch() {
    on_each(|fused, unfused| {
        let right = (host(N) * 2.0 + 1.0).mapv(f32::sqrt) - 3.0;
        let chain = |device: &Device| (counted(device, N) * 2.0 + 1.0).sqrt() - 3.0;
        assert_eq!(launches(fused, || same(&chain(fused), right.clone().into_dyn())), 1);
        assert_eq!(launches(unfused, || same(&chain(unfused), right.clone().into_dyn())), 4);
    });
}

#[test]
fn casts_comparisons_and_choices_are_maps_like_others() {
    on_each(|fused, unfused| {
        let record = |device: &Device| {
            let x = counted(device, N);
            let odd = (x.cast::<i32>() & 1).cast::<bool>();
            odd.select(&x, -&x) + x.gt(100.0).cast::<f32>()
        };
        let right = host(N).mapv(|x| if x as i32 & 1 == 1 { x } else { -x } + f32::from(u8::from(x > 100.0)));
        assert_eq!(launches(fused, || same(&record(fused), right.clone().into_dyn())), 1);
        assert!(launches(unfused, || same(&record(unfused), right.clone().into_dyn())) >= 8);
    });
}

#[test]
fn views_of_data_launch_nothing() {
    on_each(|fused, unfused| {
        for device in [fused, unfused] {
            let x = device.to_device(&host(24).into_shape_with_order((2, 3, 4)).unwrap()).unwrap();
            let made = device.arange(0.0f32, 24.0, 1.0).reshape([2, 3, 4]);
            made.eval().unwrap();
            for x in [x, made] {
                let count = launches(device, || {
                    let cube = host(24).into_shape_with_order((2, 3, 4)).unwrap();
                    same(&x.slice(s![1, .., ..;-2]), cube.slice(s![1, .., ..;-2]).to_owned().into_dyn());
                    same(&x.slice(s![1.., 1..2, 1..;2]), cube.slice(s![1.., 1..2, 1..;2]).to_owned().into_dyn());
                    same(&x.t(), cube.t().to_owned().into_dyn());
                    same(&x.permute(&[1, 2, 0]), cube.view().permuted_axes([1, 2, 0]).to_owned().into_dyn());
                    same(&x.reshape([6, 4]), host(24).into_shape_with_order((6, 4)).unwrap().into_dyn());
                    same(&x.flatten(), host(24).into_dyn());
                    same(&x.flip(1).slice(s![0, 0, ..]), cube.slice(s![0, 2, ..]).to_owned().into_dyn());
                    let wide = cube.broadcast((5, 2, 3, 4)).unwrap().to_owned();
                    same(&x.broadcast_to([5, 2, 3, 4]), wide.into_dyn());
                    assert_eq!(
                        x.insert_axis(1).squeeze().index_axis(0, 1).index_axis(0, -1).slice(s![2]).item().unwrap(),
                        22.0
                    );
                    let mut target = Array2::zeros((3, 4));
                    x.index_axis(0, 1).get_into(&mut target).unwrap();
                    assert_eq!(target, cube.slice(s![1, .., ..]));
                    x.slice(s![.., 0, ..]).eval().unwrap();
                    let _ = format!("{x} {x:?} {} {:?}", x.t(), x.t());
                });
                assert_eq!(count, 0);
            }
        }
    });
}

#[test]
fn printing_launches_nothing() {
    on_every(|device| {
        let x = counted(device, 10);
        let count = launches(device, || {
            let y = &x + 1.0;
            assert!(format!("{y}").contains("not evaluated") && format!("{y:?}").contains("not evaluated"));
            assert!(format!("{x}").contains('9'));
            let _ = y.check();
            let _ = y.explain().unwrap().to_string();
            let _ = y.to_dot().unwrap();
        });
        assert_eq!(count, 0);
    });
}

#[test]
fn views_of_one_array_and_a_product_are_one_launch() {
    on_each(|fused, unfused| {
        let record = |device: &Device| {
            let x = device.to_device(&host(36).into_shape_with_order((6, 6)).unwrap()).unwrap();
            x.slice(s![1..5, ..;2]).t() * x.slice(s![..3, ..;-1]).slice(s![.., 1..5])
        };
        let x = host(36).into_shape_with_order((6, 6)).unwrap();
        let right = &x.slice(s![1..5, ..;2]).t() * &x.slice(s![..3, ..;-1]).slice(s![.., 1..5]);
        assert_eq!(launches(fused, || same(&record(fused), right.clone().into_dyn())), 1);
        assert_eq!(launches(unfused, || same(&record(unfused), right.clone().into_dyn())), 1);
    });
}

/// Call and put prices at a rate of 5 percent and a volatility of 20 percent.
fn black_scholes(spot: &Array<f64>, strike: &Array<f64>, years: &Array<f64>) -> (Array<f64>, Array<f64>) {
    let cdf = |x: &Array<f64>| 0.5 * (x * -0.5f64.sqrt()).erfc();
    let spread = 0.2 * years.sqrt();
    let d1 = ((spot / strike).log() + years * (0.05 + 0.02)) / &spread;
    let d2 = &d1 - &spread;
    let paid = strike * (years * -0.05).exp();
    (spot * cdf(&d1) - &paid * cdf(&d2), &paid * cdf(&-&d2) - spot * cdf(&-&d1))
}

#[test]
fn two_prices_of_black_scholes_are_one_launch() {
    on_each(|fused, unfused| {
        let given = |device: &Device| {
            let of = |f: fn(f64) -> f64| {
                device.from_slice(&(0..N).map(|i| f(i as f64 / N as f64)).collect::<Vec<f64>>()).unwrap()
            };
            (of(|x| 50.0 + 100.0 * x), of(|x| 150.0 - 100.0 * x), of(|x| 0.1 + 2.0 * x))
        };
        let mut prices = Vec::new();
        for (device, right) in [(fused, 1..=1), (unfused, 20..=60)] {
            let (spot, strike, years) = given(device);
            let count = launches(device, || {
                let (call, put) = black_scholes(&spot, &strike, &years);
                prices.push(lazuli::get((&call, &put)).unwrap());
            });
            assert!(right.contains(&count), "{count} launches");
            // Put-call parity.
            let (spot, strike, years) = (values(&spot), values(&strike), values(&years));
            let (call, put) = prices.last().unwrap();
            for i in 0..N {
                let parity = spot[[i]] - strike[[i]] * (-0.05 * years[[i]]).exp();
                assert!((call[[i]] - put[[i]] - parity).abs() < 1e-10, "{i}");
            }
        }
        assert_eq!(prices[0], prices[1], "fused and unfused differ");
    });
}

#[test]
fn two_results_of_different_types_are_one_launch() {
    on_fused(|device| {
        let x = counted(device, N);
        let count = launches(device, || {
            let (large, doubled) = (x.gt(17.5), x.cast::<f64>() * 2.0);
            let (large, doubled) = lazuli::get((&large, &doubled)).unwrap();
            assert_eq!(large, host(N).mapv(|x| x > 17.5).into_dyn());
            assert_eq!(doubled, host(N).mapv(|x| 2.0 * f64::from(x)).into_dyn());
        });
        assert_eq!(count, 1);
    });
}

#[test]
fn a_result_on_the_way_to_another_shares_its_launch() {
    on_fused(|device| {
        let x = counted(device, N);
        let count = launches(device, || {
            let y = &x + 1.0;
            let z = &y * 2.0;
            let (y, z) = lazuli::get((&y, &z)).unwrap();
            assert_eq!(y, (host(N) + 1.0).into_dyn());
            assert_eq!(z, ((host(N) + 1.0) * 2.0).into_dyn());
        });
        assert_eq!(count, 1);
    });
}

#[test]
fn a_short_sum_with_its_producers_and_its_epilogue_is_one_launch() {
    on_each(|fused, unfused| {
        // Small whole numbers, whose sums are exact in any order.
        let record = |device: &Device| ((counted(device, 1000) - 500.0) * 2.0).sum() * 0.5 + 1.0;
        let right = -500.0 + 1.0;
        assert_eq!(launches(fused, || assert_eq!(record(fused).item().unwrap(), right)), 1);
        assert!(launches(unfused, || assert_eq!(record(unfused).item().unwrap(), right)) >= 5);
        let mean = |device: &Device| counted(device, 1001).square().mean().sqrt();
        let (a, b) = (mean(fused), mean(unfused));
        assert_eq!(launches(fused, || a.eval().unwrap()), 1);
        assert_eq!(a.item().unwrap().to_bits(), b.item().unwrap().to_bits());
    });
}

#[test]
fn a_long_sum_is_at_most_two_launches() {
    on_fused(|device| {
        let n = 3_000_001usize;
        let x = device.arange(0i64, n as i64, 1) * 2;
        let count = launches(device, || assert_eq!(x.sum().item().unwrap(), (n * (n - 1)) as i64));
        assert!(count <= 2, "{count} launches");
    });
}

#[test]
fn sums_of_columns_and_of_rows_are_one_launch() {
    on_fused(|device| {
        let (rows, columns) = (300, 400);
        let matrix = host(rows * columns).mapv(|x| (x % 17.0) - 8.0).into_shape_with_order((rows, columns)).unwrap();
        let x = device.to_device(&matrix).unwrap();
        for axis in [0isize, 1] {
            let right = (&matrix * 2.0).sum_axis(ndarray::Axis(axis as usize)) + 1.0;
            let count = launches(device, || same(&((&x * 2.0).sum_axis(axis) + 1.0), right.into_dyn()));
            assert_eq!(count, 1, "axis {axis}");
        }
    });
}

#[test]
fn sibling_reductions_share_their_pass() {
    on_fused(|device| {
        let x = counted(device, 1000);
        let count = launches(device, || {
            let (sum, squares, least, most) = (x.sum(), x.square().sum(), x.min(), x.max());
            let (sum, squares, least, most) = lazuli::get((&sum, &squares, &least, &most)).unwrap();
            assert_eq!((sum[[]], least[[]], most[[]]), (499_500.0, 0.0, 999.0));
            assert!((squares[[]] - 332_833_500.0).abs() <= 64.0);
        });
        assert_eq!(count, 1);
        let matrix = x.reshape([20, 50]);
        for axis in [0, 1] {
            let count = launches(device, || {
                let (sum, squares) = (matrix.sum_axis(axis), matrix.square().sum_axis(axis));
                lazuli::eval((&sum, &squares)).unwrap();
            });
            assert_eq!(count, 1, "axis {axis}");
        }
        // Long ones are split; the chunks share a pass, and so do the ends.
        let x = device.arange(0i64, 1_000_000, 1);
        let count = launches(device, || {
            let (sum, most) = (x.sum(), x.max());
            assert_eq!(lazuli::get((&sum, &most)).unwrap().0[[]], 499_999_500_000);
        });
        assert!(count <= 2, "{count} launches");
    });
}

#[test]
fn what_is_recorded_twice_is_computed_once() {
    on_each(|fused, unfused| {
        for device in [fused, unfused] {
            let (a, b) = (counted(device, N), counted(device, N));
            assert_eq!(operations(&((&a + &b) * (&a + &b))), 2);
            assert_eq!(operations(&((a.exp() + 1.0) / (a.exp() + &b))), 4);
            let right = (host(N) * 2.0).mapv(|x| x * x);
            let twice = (&a + &b) * (&a + &b);
            let count = launches(device, || same(&twice, right.clone().into_dyn()));
            assert_eq!(count, if device.config().fusion { 1 } else { 2 });
            // Views and reductions recorded twice.
            assert_eq!(operations(&(a.slice(s![1..]).sqrt() * a.slice(s![1..]).sqrt())), 2);
            // Across results, too.
            let (p, q) = ((&a + &b).exp(), (&a + &b).exp() * 1.0);
            let count = launches(device, || lazuli::eval((&p, &q)).unwrap());
            assert_eq!(count, if device.config().fusion { 1 } else { 3 });
        }
        let a = counted(fused, 1000);
        let once = launches(fused, || (a.sum() * 2.0).eval().unwrap());
        assert_eq!(launches(fused, || (a.sum() + a.sum()).eval().unwrap()), once);
    });
}

#[test]
fn sixty_doublings_are_sixty_operations() {
    on_each(|fused, unfused| {
        for device in [fused, unfused] {
            let mut x = device.from_slice(&[1.0f64, 3.0]).unwrap();
            for _ in 0..60 {
                x = &x + &x;
            }
            assert_eq!(operations(&x), 60);
            assert_eq!(flat(&x), [2f64.powi(60), 3.0 * 2f64.powi(60)]);
        }
        // A thousand, which no integer could count as a tree.
        let mut x = fused.from_slice(&[1.0f64, 3.0]).unwrap();
        for _ in 0..1000 {
            x = &x + &x;
        }
        assert_eq!(operations(&x), 1000);
        assert_eq!(flat(&x), [2f64.powi(1000), 3.0 * 2f64.powi(1000)]);
    });
}

#[test]
fn a_long_chain_is_cut_into_like_pieces() {
    on_fused(|device| {
        let x = counted(device, 100);
        let mut y = x.clone();
        for _ in 0..500 {
            y = &y * 0.5 + 1.0;
        }
        let (mut launched, mut compiled) = (0, 0);
        compiled += compiles(device, || launched += launches(device, || y.eval().unwrap()));
        let most = device.config().max_operations as u64;
        assert!(launched >= 1000 / most && launched <= 2 * 1000 / most + 1, "{launched} launches");
        assert!(compiled <= 3, "{compiled} compilations of {launched} kernels");
        let mut right = host(100);
        for _ in 0..500 {
            right = right * 0.5 + 1.0;
        }
        same(&y, right.into_dyn());

        // Another length of the chain is cut into the same pieces.
        let compiled = compiles(device, || {
            let mut y = x.clone();
            for _ in 0..900 {
                y = &y * 0.5 + 1.0;
            }
            y.eval().unwrap();
        });
        assert!(compiled <= 2, "{compiled} compilations");
    });
}

/// The mean of a point and its four neighbours, weighted; the border is lost.
fn stencil(x: &Array<f32>) -> Array<f32> {
    let inner = x.slice(s![1..-1, 1..-1]);
    let across = x.slice(s![1..-1, ..-2]) + x.slice(s![1..-1, 2..]);
    let along = x.slice(s![..-2, 1..-1]) + x.slice(s![2.., 1..-1]);
    inner * 0.5 + (across + along) * 0.125
}

#[test]
fn eight_lazy_stencil_steps_do_at_most_twice_the_work_of_eight() {
    on_each(|fused, unfused| {
        let n = 64;
        let matrix = host(n * n).mapv(|x| x % 13.0).into_shape_with_order((n, n)).unwrap();
        let given = fused.to_device(&matrix).unwrap();
        let one = operations(&stencil(&given));
        assert_eq!(one, 6);
        let steps = |x: &Array<f32>| (0..8).fold(x.clone(), |x, _| stencil(&x));
        let eight = steps(&given);
        // Every kernel has less than n * n elements, and the smallest more than half as many.
        let work = operations(&eight);
        assert!(work <= 2 * 8 * one, "{work} operations in kernels, {} recorded", 8 * one);
        assert!(launches(fused, || eight.eval().unwrap()) <= 8);
        let theirs = steps(&unfused.to_device(&matrix).unwrap());
        assert_eq!(values(&eight), values(&theirs));
        let right = (0..8).fold(matrix, |x, _| {
            let (h, w) = x.dim();
            Array2::from_shape_fn((h - 2, w - 2), |(i, j)| {
                let across = x[[i + 1, j]] + x[[i + 1, j + 2]];
                let along = x[[i, j + 1]] + x[[i + 2, j + 1]];
                x[[i + 1, j + 1]] * 0.5 + (across + along) * 0.125
            })
        });
        same(&eight, right.into_dyn());
    });
}

#[test]
fn a_stencil_through_padding_also_stays_within_twice_the_work() {
    on_fused(|device| {
        let n = 40;
        let x = counted(device, n);
        let step = |x: &Array<f32>| {
            let mut padded = device.zeros::<f32>([n + 2]);
            padded.slice_assign(s![1..-1], x);
            (padded.slice(s![..-2]) + padded.slice(s![2..])).sqrt() + x * 0.5
        };
        let one = operations(&step(&x));
        let eight = (0..8).fold(x.clone(), |x, _| step(&x));
        let work = operations(&eight);
        assert!(work <= 2 * 8 * one, "{work} operations in kernels, {} recorded", 8 * one);
        let right = (0..8).fold(host(n), |x, _| {
            let at = |i: i64| if i < 0 || i >= n as i64 { 0.0 } else { x[i as usize] };
            Array1::from_iter((0..n as i64).map(|i| (at(i - 1) + at(i + 1)).sqrt() + x[i as usize] * 0.5))
        });
        same(&eight, right.into_dyn());
    });
}

/// A thousand lengths: all of the small ones, most of them odd, and some long ones.
fn lengths() -> Vec<usize> {
    let mut lengths: Vec<usize> = (0..500).chain((0..498).map(|i| 501 + 38 * i + i % 2)).collect();
    lengths.extend([100_003, 1_000_001]);
    assert_eq!(lengths.len(), 1000);
    lengths
}

#[test]
fn one_expression_at_a_thousand_lengths_compiles_at_most_three_kernels() {
    on_every(|device| {
        let all = host(1_000_001);
        let limit = if device.config().fusion { 3 } else { 9 };
        let compiled = compiles(device, || {
            for n in lengths() {
                let given = all.slice(s![..n]);
                let ours = (device.to_device(&given).unwrap() * 2.0 - 1.0).abs();
                same(&ours, given.mapv(|x| (x * 2.0 - 1.0).abs()).into_dyn());
            }
        });
        assert!(compiled <= limit, "{compiled} compilations");
    });
}

#[test]
fn one_sum_at_a_thousand_lengths_compiles_at_most_three_kernels() {
    on_every(|device| {
        let all: Vec<i64> = (0..1_000_001).collect();
        let compiled = compiles(device, || {
            for n in lengths() {
                let sum = device.from_slice(&all[..n]).unwrap().sum().item().unwrap();
                assert_eq!(sum, (n as i64) * (n as i64 - 1) / 2, "length {n}");
            }
        });
        assert!(compiled <= 3, "{compiled} compilations");
        let ones = vec![1.0f32; 1_000_001];
        let compiled = compiles(device, || {
            for n in lengths() {
                let sum = device.from_slice(&ones[..n]).unwrap().sum().item().unwrap();
                assert_eq!(sum, n as f32, "length {n}");
            }
        });
        assert!(compiled <= 3, "{compiled} compilations");
    });
}

#[test]
fn one_matrix_expression_at_many_shapes_compiles_a_handful() {
    on_fused(|device| {
        let all = host(40 * 40);
        let compiled = compiles(device, || {
            for rows in 0..=20usize {
                for columns in [0usize, 1, 2, 3, 7, 16, 31, 40] {
                    let given = all.slice(s![..rows * columns]).into_shape_with_order((rows, columns)).unwrap();
                    let x = device.to_device(&given).unwrap();
                    same(&(&x + x.slice(s![.., ..;-1])), (&given + &given.slice(s![.., ..;-1])).into_dyn());
                }
            }
        });
        // A unit axis, a broadcast or a merged axis is another pattern; an extent is not.
        assert!(compiled <= 6, "{compiled} compilations");
    });
}

#[test]
fn the_kernel_cache_is_bounded_and_counts_what_it_drops() {
    for name in names() {
        let device = open(name, Config::default().with_kernel_cache(4));
        named(name, || {
            let x = counted(&device, 10);
            let expression = |k: usize| (0..=k).fold(x.clone(), |y, _| y.square() + 1.0);
            let compiled = compiles(&device, || (0..6).for_each(|k| expression(k).eval().unwrap()));
            assert_eq!(compiled, 6);
            let evicted = device.counters().evictions;
            assert!(evicted >= 2, "{evicted} evictions");
            // The last ones are still there.
            assert_eq!(compiles(&device, || expression(5).eval().unwrap()), 0);
            let right = (0..=3).fold(host(10), |y, _| y.mapv(|y| y * y) + 1.0);
            same(&expression(3), right.into_dyn());
        });
    }
}

#[test]
fn a_kernel_that_was_dropped_is_compiled_again() {
    for name in names() {
        let device = open(name, Config::default().with_kernel_cache(2).with_plan_cache(1));
        named(name, || {
            let x = counted(&device, 10);
            let expression = |k: usize| (0..=k).fold(x.clone(), |y, _| y * 0.5 + 1.0);
            for round in 0..3 {
                for k in 0..4 {
                    let right = (0..=k).fold(host(10), |y, _| y * 0.5 + 1.0);
                    same(&expression(k), right.into_dyn());
                }
                assert_eq!(device.counters().compiles, 4 * (round + 1));
            }
            assert!(device.counters().evictions >= 9);
        });
    }
}

#[test]
fn plans_and_kernels_are_found_again() {
    on_every(|device| {
        let x = counted(device, 10);
        let run = |x: &Array<f32>, scale: f32| (x * scale + 1.0).eval().unwrap();
        run(&x, 2.0);
        let before = device.counters();
        run(&x, 3.0);
        run(&counted(device, 10), 4.0);
        let after = device.counters();
        assert_eq!(after.plan_hits, before.plan_hits + 2);
        assert_eq!(after.compiles, before.compiles);
        // Another length: another plan, the same kernels.
        run(&counted(device, 11), 2.0);
        let last = device.counters();
        assert_eq!(last.compiles, after.compiles);
        assert!(last.kernel_hits > after.kernel_hits || last.plan_hits > after.plan_hits);
    });
}

#[test]
fn scalars_of_every_value_share_one_kernel() {
    on_every(|device| {
        let x = counted(device, 10);
        (&x * 2.0 + 3.0).eval().unwrap();
        let compiled = compiles(device, || {
            for value in [0.0, 1.0, -1.0, f32::NAN, f32::INFINITY, 3.0, f32::MIN_POSITIVE / 4.0] {
                (&x * value + 3.0).eval().unwrap();
                (&x * value + value).eval().unwrap();
            }
            for value in [0.0, 1.0, 2.0] {
                (device.full([10], value) * 2.0 + &x).eval().unwrap();
            }
        });
        assert!(compiled <= 2, "{compiled} compilations");
    });
}

#[test]
fn device_memory_returns_when_arrays_are_dropped() {
    on_every(|device| {
        assert_eq!(device.counters().live_bytes, 0);
        {
            let x = counted(device, N);
            let y = (&x + 1.0).sqrt();
            let z = y.slice(s![..;2]).sum();
            lazuli::eval((&y, &z)).unwrap();
            assert!(device.counters().live_bytes >= 2 * 4 * N as u64);
        }
        let counters = device.counters();
        assert_eq!(counters.live_bytes, 0);
        assert!(counters.pooled_bytes > 0);
        device.trim_pool();
        assert_eq!(device.counters().pooled_bytes, 0);
        assert_eq!(counted(device, N).sum_axes(&[0]).shape(), [] as [usize; 0]);
    });
}

#[test]
fn an_evaluated_array_lets_go_of_its_inputs() {
    on_every(|device| {
        let x = counted(device, N);
        let one = device.counters().live_bytes;
        let y = (&x + 1.0).sqrt();
        drop(x);
        assert_eq!(device.counters().live_bytes, one);
        y.eval().unwrap();
        assert_eq!(device.counters().live_bytes, one);
        // A chain that was recorded from it keeps it, and no more.
        let z = &y * 2.0 + 1.0;
        drop(y);
        z.eval().unwrap();
        assert_eq!(device.counters().live_bytes, one);
        // What is recorded but not evaluated on the way lets go, too.
        let x = counted(device, N);
        let middle = &x + 1.0;
        let end = &middle + 1.0;
        drop(x);
        end.eval().unwrap();
        drop(middle);
        assert_eq!(device.counters().live_bytes, 2 * one);
    });
}

#[test]
fn a_loop_of_a_thousand_steps_holds_no_history() {
    on_every(|device| {
        let (mut t, t1) = (device.zeros::<f32>([4]), device.ones::<f32>([4]));
        t1.eval().unwrap();
        let mut level = None;
        for step in 1..=1000 {
            t = 0.1 * &t + (1.0 - 0.1) * &t1;
            t.eval().unwrap();
            let live = device.counters().live_bytes;
            assert_eq!(*level.get_or_insert(live), live, "step {step}");
            let right = match step {
                1 => 0.9,
                2 => 0.99,
                1000 => 1.0,
                _ => continue,
            };
            assert!(flat(&t).iter().all(|value| (value - right).abs() <= 1e-6), "step {step}");
        }
        let counters = device.counters();
        assert!(counters.compiles <= 8 && counters.pooled_bytes <= 1 << 20, "{counters:?}");
    });
}

#[test]
fn intermediate_values_take_no_memory() {
    on_fused(|device| {
        let n = 1 << 20;
        let x = device.from_slice(&vec![1.0f32; n]).unwrap();
        let given = device.counters().live_bytes;
        let y = ((&x * 2.0 + 1.0).sqrt() - x.slice(s![..;-1])).exp();
        y.eval().unwrap();
        assert!(device.counters().peak_bytes <= 2 * given, "{:?}", device.counters());
        // A sum of products stores no product, and a lazy index no index.
        drop(y);
        let peak = device.counters().peak_bytes;
        let dot = (&x * x.flip(0) * device.arange(0.0f32, n as f32, 1.0).gt(-1.0).cast::<f32>()).sum();
        assert_eq!(dot.item().unwrap(), n as f32);
        assert_eq!(device.counters().peak_bytes, peak);
        // A table of distances, reduced.
        let (a, b) = (x.slice(s![..1000]).insert_axis(1), x.slice(s![..1000]).insert_axis(0));
        assert_eq!((a - b).square().sum_axis(1).sum().item().unwrap(), 0.0);
        assert_eq!(device.counters().peak_bytes, peak);
    });
}

#[test]
fn without_fusion_every_operation_launches() {
    on_each(|_, unfused| {
        let x = counted(unfused, 100);
        let cases: [(u64, Array<f32>); 6] = [
            (1, &x + 1.0),
            (3, (&x + 1.0).sqrt() * 2.0),
            (2, x.cast::<f64>().cast::<f32>()),
            (2, x.gt(3.0).select(&x, 0.0)),
            (3, x.slice(s![..;2]).exp().sum() + 1.0),
            (1, {
                let mut y = x.clone();
                y.slice_assign(s![1..5], 7.0);
                y
            }),
        ];
        for (right, array) in cases {
            let count = launches(unfused, || array.eval().unwrap());
            assert!(count >= right, "{count} launches of at least {right}");
            let kernels = unfused.counters().compiles;
            assert!(kernels > 0);
        }
    });
}

#[test]
fn an_explanation_tells_kernels_reasons_and_bytes() {
    on_each(|fused, unfused| {
        let x = counted(fused, N);
        let y = (&x * 2.0 + 1.0).sqrt();
        let explanation = y.explain().unwrap();
        assert_eq!(explanation.kernels.len(), 1);
        let kernel = &explanation.kernels[0];
        assert_eq!((kernel.operations, kernel.bytes), (3, 8 * N as u64));
        assert_eq!(explanation.least_bytes, 8 * N as u64);
        assert!(kernel.at.contains("fusion.rs") && !kernel.reason.is_empty() && !kernel.source.is_empty());
        let text = explanation.to_string();
        assert!(text.contains("1 kernel") && text.contains("asked for") && text.contains("1.00 times"), "{text}");
        y.eval().unwrap();
        assert_eq!(y.explain().unwrap().kernels.len(), 0);
        let dot = (&x * 3.0).to_dot().unwrap();
        assert!(dot.contains("digraph") && dot.contains("cluster"), "{dot}");

        let x = counted(unfused, N);
        let explanation = ((&x * 2.0 + 1.0).sqrt()).explain().unwrap();
        assert_eq!(explanation.kernels.len(), 3);
        assert_eq!(explanation.bytes(), 3 * 8 * N as u64);
        assert!(explanation.to_string().contains("fusion is off"));
        assert!((&x + x.broadcast_to([2, 3])).explain().is_err());
        same(&(&x + 1.0).slice(s![..2]), arr1(&[1.0f32, 2.0]).into_dyn());
    });
}

#[test]
fn a_wide_broadcast_of_a_costly_value_is_stored_once() {
    on_fused(|device| {
        let x = counted(device, 50) * 0.01;
        let y = x.insert_axis(1).exp().broadcast_to([50, 1000]) + device.zeros::<f32>([50, 1000]);
        let explanation = y.explain().unwrap();
        let in_large: usize = explanation.kernels.last().unwrap().operations;
        assert!(explanation.kernels.len() == 2 && in_large <= 2, "{explanation}");
        let right = Array2::from_shape_fn((50, 1000), |(i, _)| i);
        let ours = values(&y);
        for ((i, j), row) in right.indexed_iter() {
            assert!((ours[[i, j]] - (*row as f32 * 0.01).exp()).abs() < 1e-5);
        }
    });
}

#[test]
fn a_little_arithmetic_on_indices_is_computed_where_it_is_read() {
    on_each(|fused, unfused| {
        let record = |device: &Device| {
            let x = device.to_device(&host(300).into_shape_with_order((10, 30)).unwrap()).unwrap();
            let columns = device.arange(0.0f32, 30.0, 1.0) * 2.0 + 1.0;
            let rows = device.linspace(-1.0f32, 1.0, 10).insert_axis(1);
            x * &columns + &rows - columns.flip(0)
        };
        let y = record(fused);
        assert_eq!(launches(fused, || y.eval().unwrap()), 1);
        same(&y, values(&record(unfused)));
        let mask =
            fused.arange(0i32, 30, 1).insert_axis(1).le(fused.arange(0i32, 30, 1)).select(1.0f32, 0.0).sum_axis(1);
        assert_eq!(launches(fused, || mask.eval().unwrap()), 1, "a triangle reads nothing");
        // A function of an index is dear like any other.
        let wave = fused.arange(0.0f32, 30.0, 1.0).sin().broadcast_to([10, 30]) + 1.0;
        assert_eq!(wave.explain().unwrap().kernels.len(), 2);
    });
}
