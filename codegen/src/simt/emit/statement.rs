//! Statements.

use super::BodyEmitter;
use super::range::{Range, is_constant};
use crate::emit::text::{Binding, Text};
use crate::simt::ir::{Expr, Stmt, Var};
use crate::{BinaryOp, DType, Dialect};

impl BodyEmitter<'_> {
    pub(super) fn emit_statements(&mut self, statements: &[Stmt]) {
        statements.iter().for_each(|stmt| self.emit_statement(stmt));
    }

    fn emit_statement(&mut self, stmt: &Stmt) {
        match stmt {
            Stmt::Let(var, value) => self.emit_let(*var, value),
            Stmt::Declare(var) => {
                let line = format!("{};", self.declaration(*var, true));
                self.out.line(&line);
            }
            Stmt::Assign(var, value) => self.emit_assign(*var, value),
            Stmt::Store(element, value) => self.emit_store(element, value),
            Stmt::Atomic { before, op, element, value, expected } => {
                self.emit_atomic(*before, *op, element, value, expected.as_ref());
            }
            Stmt::Call(function, arguments) => {
                let call = self.call(*function, arguments);
                self.out.line(&format!("{};", call.code));
            }
            Stmt::If { condition, then, otherwise } => self.emit_if(condition, then, otherwise),
            Stmt::For { var, start, end, step, body } => self.emit_for(*var, start, end, *step, body),
            Stmt::Loop(body) => {
                self.out.open("for (;;)");
                self.emit_statements(body);
                self.out.close();
            }
            Stmt::Break | Stmt::Continue | Stmt::Return(_) => {
                let line = self.leaving(stmt).unwrap_or_default();
                self.out.line(&line);
            }
            Stmt::Barrier => self.out.line(match self.dialect {
                Dialect::OpenClC => "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);",
                Dialect::CudaC => "__syncthreads();",
            }),
        }
    }

    /// A statement that leaves the block.
    fn leaving(&mut self, stmt: &Stmt) -> Option<String> {
        match stmt {
            Stmt::Break => Some("break;".to_owned()),
            Stmt::Continue => Some("continue;".to_owned()),
            Stmt::Return(None) => Some("return;".to_owned()),
            Stmt::Return(Some(value)) => Some(format!("return {};", self.value(value).code)),
            _ => None,
        }
    }

    /// A variable's type and name.
    pub(super) fn declaration(&self, var: Var, is_assigned: bool) -> String {
        let dtype = self.scope.variable(var).map_or(DType::Bool, |variable| variable.dtype);
        let known = self.known[var.0 as usize];
        let is_narrow = dtype == DType::U64 && !known.is_wide;
        let c_type = self.dialect.value_type(if is_narrow { DType::U32 } else { dtype });
        let constant = if known.is_constant && !is_assigned { "const " } else { "" };
        format!("{constant}{c_type} {}", self.names.var(var))
    }

    fn emit_let(&mut self, var: Var, value: &Expr) {
        let code = match self.scope.dtype(value) {
            Some(DType::U64) => {
                let index = self.index(value);
                self.know(var, index.range);
                index.text.code
            }
            _ => self.value(value).code,
        };
        let line = format!("{} = {code};", self.declaration(var, false));
        self.out.line(&line);
    }

    /// Remembers what values a u64 has, if it is never assigned.
    fn know(&mut self, var: Var, range: Range) {
        let known = &mut self.known[var.0 as usize];
        if known.is_constant {
            (known.range, known.is_wide) = (range, !range.is_narrow());
        }
    }

    fn emit_assign(&mut self, var: Var, value: &Expr) {
        let dtype = self.scope.dtype(value).unwrap_or(DType::Bool);
        let name = self.names.var(var).to_owned();
        let line = match compound(value, dtype, |expr| *expr == Expr::Var(var)) {
            Some((sign, by)) => format!("{name} {sign} {};", self.value(by).code),
            None => format!("{name} = {};", self.value(value).code),
        };
        self.out.line(&line);
    }

    fn emit_if(&mut self, condition: &Expr, then: &[Stmt], otherwise: &[Stmt]) {
        let head = format!("if ({})", self.value(condition).code);
        if let ([only], []) = (then, otherwise)
            && let Some(line) = self.leaving(only)
        {
            return self.out.line(&format!("{head} {line}"));
        }
        self.out.open(&head);
        self.emit_statements(then);
        let mut rest = otherwise;
        // `else if` for a chain of choices.
        while let [Stmt::If { condition, then, otherwise }] = rest {
            let condition = self.value(condition);
            self.out.reopen(&format!("else if ({})", condition.code));
            self.emit_statements(then);
            rest = otherwise;
        }
        if !rest.is_empty() {
            self.out.reopen("else");
            self.emit_statements(rest);
        }
        self.out.close();
    }

    fn emit_for(&mut self, var: Var, start: &Expr, end: &Expr, step: u64, body: &[Stmt]) {
        let dtype = self.scope.variable(var).map_or(DType::U64, |variable| variable.dtype);
        let name = self.names.var(var).to_owned();
        let (first, past, fits) = match dtype {
            DType::U64 => {
                let (first, past) = (self.index(start), self.index(end));
                let last = Range { low: first.range.low, high: past.range.high.saturating_sub(1) };
                let beyond = past.range.high.saturating_add(step - 1);
                // The counter is narrow only where it stays so when it is past the end.
                let is_narrow = first.range.is_narrow() && Range::up_to(beyond).is_narrow();
                let known = &mut self.known[var.0 as usize];
                (known.range, known.is_wide) = (last, !is_narrow);
                (first.text, past.text, step == 1 || beyond < u64::MAX)
            }
            _ => {
                let fits = step == 1 || never_wraps(end, dtype, step);
                (self.value(start), self.value(end), fits)
            }
        };
        let past = if is_constant(end, &self.known) {
            past
        } else {
            let fixed = self.names.fresh(&format!("{name}_end"));
            let is_narrow = dtype == DType::U64 && !self.known[var.0 as usize].is_wide;
            let c_type = self.dialect.value_type(if is_narrow { DType::U32 } else { dtype });
            self.out.line(&format!("const {c_type} {fixed} = {};", past.code));
            Text::atom(fixed)
        };
        let next = match step {
            1 => format!("{name}++"),
            _ if fits => format!("{name} += {step}"),
            _ => self.bounded_step(&name, &past, dtype, step),
        };
        let condition = Text::infix(&Text::atom(name.clone()), "<", &past, Binding::Relation);
        let declaration = self.declaration(var, true);
        self.out.open(&format!("for ({declaration} = {}; {}; {next})", first.code, condition.code));
        self.emit_statements(body);
        self.out.close();
    }

    /// A step that ends at the end, where adding it might wrap.
    fn bounded_step(&self, name: &str, past: &Text, dtype: DType, step: u64) -> String {
        let otherwise = past.within(Binding::BitOr);
        if dtype == DType::U64 {
            return format!("{name} = {} - {name} > {step} ? {name} + {step} : {otherwise}", past.within(Binding::Sum));
        }
        // The distance to the end is less than 2^64, whatever the type.
        let (unsigned, c_type) = (self.dialect.value_type(DType::U64), self.dialect.value_type(dtype));
        let past = past.within(Binding::Atom);
        format!("{name} = ({unsigned}){past} - ({unsigned}){name} > {step} ? ({c_type})({name} + {step}) : {otherwise}")
    }
}

/// True where a step past a literal end stays in the type.
fn never_wraps(end: &Expr, dtype: DType, step: u64) -> bool {
    let Expr::Literal(end) = end else { return false };
    let width = dtype.size_bytes() as u32 * 8;
    let most = if dtype.is_signed_integer() { u64::MAX >> (65 - width) } else { u64::MAX >> (64 - width) };
    let end = match dtype.is_signed_integer() {
        true => ((end.bits() << (64 - width)) as i64 >> (64 - width)).max(0) as u64,
        false => end.bits() & (u64::MAX >> (64 - width)),
    };
    end.checked_add(step - 1).is_some_and(|beyond| beyond <= most)
}

/// Where `value` is something and another value added to it and so on: the sign of C's compound assignment, and the other. Only
/// where C's own arithmetic is Rust's.
pub(super) fn compound(value: &Expr, dtype: DType, is_itself: impl Fn(&Expr) -> bool) -> Option<(&'static str, &Expr)> {
    let Expr::Binary(op, a, b) = value else { return None };
    let is_float = matches!(dtype, DType::F32 | DType::F64);
    let sign = match op {
        BinaryOp::Add => "+=",
        BinaryOp::Sub => "-=",
        BinaryOp::Mul => "*=",
        BinaryOp::Div if is_float => "/=",
        _ => return None,
    };
    let has_compound = is_float || matches!(dtype, DType::U32 | DType::U64);
    (has_compound && is_itself(a)).then_some((sign, &**b))
}
