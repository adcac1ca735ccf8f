//! Kernel IR as text, for `explain()`.

use std::fmt::{self, Display, Write};

use lazuli_codegen::{
    Access, Affine, Coefficient, Expr, IndexOp, IndexOperand, Kernel, Schedule, Span, Stmt, Term, VarType,
};

/// The kernel in a form like Rust: `b` are buffers, `n` sizes, `s` scalars, `i` axes, `v` variables.
pub fn print_kernel(kernel: &Kernel, schedule: Schedule) -> String {
    let mut text = String::new();
    // Writing to a String does not fail.
    let _ = write!(text, "{}", Printed(kernel, schedule));
    text
}

struct Printed<'k>(&'k Kernel, Schedule);

impl Display for Printed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Printed(kernel, schedule) = self;
        write!(f, "kernel {}(", kernel.name)?;
        for (at, buffer) in kernel.buffers.iter().enumerate() {
            let access = match buffer.access {
                Access::Read => "",
                Access::Write => "out ",
                Access::Scratch => "scratch ",
                Access::Counter => "count ",
                Access::Note => "notes ",
            };
            write!(f, "{}{access}b{at}: {}", if at > 0 { ", " } else { "" }, buffer.dtype)?;
        }
        for (at, scalar) in kernel.scalars.iter().enumerate() {
            write!(f, ", s{at}: {scalar}")?;
        }
        match schedule {
            Schedule::Map { .. } | Schedule::Rows { .. } | Schedule::Tile { .. } => {
                writeln!(f, ") {{ // blocks of neighbours")?
            }
            Schedule::Group { tree, .. } => {
                writeln!(f, ") {{ // point by point, {} accumulators", tree.accumulators())?
            }
        }
        write!(f, "  for [")?;
        print_axes(f, kernel, &kernel.parallel)?;
        writeln!(f, "] {{")?;
        print_body(f, kernel, &kernel.body, 2)?;
        writeln!(f, "  }}\n}}")
    }
}

fn print_axes(f: &mut fmt::Formatter<'_>, kernel: &Kernel, axes: &[lazuli_codegen::AxisId]) -> fmt::Result {
    for (at, axis) in axes.iter().enumerate() {
        let extent = kernel.axes.get(axis.0 as usize).map_or(u32::MAX, |axis| axis.extent.0);
        write!(f, "{}i{} < n{extent}", if at > 0 { ", " } else { "" }, axis.0)?;
    }
    Ok(())
}

fn print_body(f: &mut fmt::Formatter<'_>, kernel: &Kernel, body: &[Stmt], depth: usize) -> fmt::Result {
    for stmt in body {
        write!(f, "{:1$}", "", depth * 2)?;
        match stmt {
            Stmt::Let { var, expr } => {
                let kind = match kernel.vars.get(var.0 as usize) {
                    Some(VarType::Value(dtype)) => dtype.name(),
                    _ => "index",
                };
                writeln!(f, "v{}: {kind} = {}", var.0, Shown(expr))?;
            }
            Stmt::Store { buffer, at, value, .. } => writeln!(f, "b{}[{}] = v{}", buffer.0, Place(at), value.0)?,
            Stmt::Combine(own) => {
                write!(f, "combine [")?;
                print_axes(f, kernel, &[own.axis])?;
                writeln!(f, "] in {}", Place(&own.at))?;
                for (fold, buffer) in own.folds.iter().zip(&own.partials) {
                    let indent = depth * 2 + 2;
                    let (result, value) = (fold.result.0, fold.value.0);
                    writeln!(f, "{:indent$}v{result} = {}(v{value} by b{})", "", fold.op.name(), buffer.0)?;
                }
            }
            Stmt::Loop(own) => {
                write!(f, "for [")?;
                print_axes(f, kernel, &own.axes)?;
                write!(f, "]")?;
                if let Span::Chunk { axis, length } = own.span {
                    write!(f, " chunk i{} of n{}", axis.0, length.0)?;
                }
                writeln!(f, " {{")?;
                print_body(f, kernel, &own.body, depth + 1)?;
                writeln!(f, "{:1$}}}", "", depth * 2)?;
            }
            Stmt::Reduce(reduce) => {
                write!(f, "fold [")?;
                print_axes(f, kernel, &reduce.axes)?;
                write!(f, "]")?;
                if let Span::Chunk { axis, length } = reduce.span {
                    write!(f, " chunk i{} of n{}", axis.0, length.0)?;
                }
                writeln!(f, " {{")?;
                print_body(f, kernel, &reduce.body, depth + 1)?;
                for fold in &reduce.folds {
                    let indent = depth * 2 + 2;
                    writeln!(f, "{:indent$}v{} = {}(v{})", "", fold.result.0, fold.op.name(), fold.value.0)?;
                }
                writeln!(f, "{:1$}}}", "", depth * 2)?;
            }
        }
    }
    Ok(())
}

struct Shown<'k>(&'k Expr);

impl Display for Shown<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Expr::Load { buffer, at, .. } => write!(f, "b{}[{}]", buffer.0, Place(at)),
            Expr::Scalar(scalar) => write!(f, "s{}", scalar.0),
            Expr::Zero => f.write_str("0"),
            Expr::Index(affine) => write!(f, "{}", Place(affine)),
            Expr::IndexBinary(op, a, b) => {
                let name = match op {
                    IndexOp::Add => "add",
                    IndexOp::Sub => "sub",
                    IndexOp::Mul => "mul",
                    IndexOp::Div => "div",
                    IndexOp::Rem => "rem",
                    IndexOp::Min => "min",
                    IndexOp::Max => "max",
                };
                write!(f, "{name}({}, {})", Operand(*a), Operand(*b))
            }
            Expr::IndexLess(a, b) => write!(f, "{} < {}", Operand(*a), Operand(*b)),
            Expr::IndexEqual(a, b) => write!(f, "{} == {}", Operand(*a), Operand(*b)),
            Expr::IndexValue(a) | Expr::Cast(a) => write!(f, "v{} as _", a.0),
            Expr::CheckedIndex { value, extent, notes, site } => {
                write!(f, "checked_index(v{}, n{}, b{}[{}..])", value.0, extent.0, notes.0, 2 * site)
            }
            Expr::Unary(op, a) => write!(f, "{}(v{})", op.name(), a.0),
            Expr::Binary(op, a, b) => write!(f, "{}(v{}, v{})", op.name(), a.0, b.0),
            Expr::Call(function, arguments) => {
                let arguments: Vec<String> = arguments.iter().map(|var| format!("v{}", var.0)).collect();
                write!(f, "{}({})", function.name(), arguments.join(", "))
            }
            Expr::MulAdd(a, b, c) => write!(f, "mul_add(v{}, v{}, v{})", a.0, b.0, c.0),
            Expr::Select { condition, on_true, on_false } => {
                write!(f, "if v{} {{ v{} }} else {{ v{} }}", condition.0, on_true.0, on_false.0)
            }
        }
    }
}

struct Operand(IndexOperand);

impl Display for Operand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            IndexOperand::Var(var) => write!(f, "v{}", var.0),
            IndexOperand::Size(size) => write!(f, "n{}", size.0),
            IndexOperand::Zero => f.write_str("0"),
        }
    }
}

struct Place<'k>(&'k Affine);

impl Display for Place<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut first = true;
        let mut plus =
            |f: &mut fmt::Formatter<'_>| if std::mem::take(&mut first) { Ok(()) } else { f.write_str(" + ") };
        for (term, coefficient) in &self.0.terms {
            plus(f)?;
            match term {
                Term::Axis(axis) => match self.0.ahead {
                    Some((ahead, by)) if ahead == *axis => write!(f, "(i{} + {by})", axis.0)?,
                    _ => write!(f, "i{}", axis.0)?,
                },
                Term::Var(var) => write!(f, "v{}", var.0)?,
            }
            if let Coefficient::Size(size) = coefficient {
                write!(f, "*n{}", size.0)?;
            }
        }
        match self.0.offset {
            Some(offset) => {
                plus(f)?;
                write!(f, "n{}", offset.0)
            }
            None if first => f.write_str("0"),
            None => Ok(()),
        }
    }
}
