//! Changes of an element that no other thread comes between.

use super::BodyEmitter;
use crate::emit::prelude::Section;
use crate::emit::text::{Binding, Text};
use crate::simt::function::PointsTo;
use crate::simt::ir::{AtomicOp, Element, Expr, Var};
use crate::simt::scope::MemoryInfo;
use crate::{DType, Dialect};

impl BodyEmitter<'_> {
    pub(super) fn emit_atomic(
        &mut self,
        before: Option<Var>,
        op: AtomicOp,
        element: &Element,
        value: &Expr,
        expected: Option<&Expr>,
    ) {
        let Some(memory) = self.scope.memory(element.memory) else { return };
        if self.checked {
            let at = self.checked_number(element, memory);
            let (value, expected) = (self.value(value), expected.map(|expected| self.value(expected)));
            if let Some(before) = before {
                let (c_type, name) = (self.dialect.value_type(memory.dtype), self.names.var(before));
                self.out.line(&format!("{c_type} {name} = 0;"));
            }
            let (number, index_type) = (self.names.fresh("at"), self.dialect.value_type(DType::U64));
            let first = self.first_element(element.memory);
            let place = Text::atom(format!("{} + {number}", first.code));
            let call = self.atomic(op, memory, &place, &value, expected.as_ref());
            self.out.line(&format!("const {index_type} {number} = {};", at.code));
            let result = before.map_or(String::new(), |before| format!("{} = ", self.names.var(before)));
            return self.out.line(&format!("if ({number} != ~({index_type})0) {result}{};", call.code));
        }
        let place = Text::atom(format!("&{}", self.element(element)));
        let (value, expected) = (self.value(value), expected.map(|expected| self.value(expected)));
        let call = self.atomic(op, memory, &place, &value, expected.as_ref());
        match before {
            Some(before) => {
                let line = format!("{} = {};", self.declaration(before, false), call.code);
                self.out.line(&line);
            }
            None => self.out.line(&format!("{};", call.code)),
        }
    }

    /// The call, which gives what the element held before.
    fn atomic(
        &mut self,
        op: AtomicOp,
        memory: MemoryInfo,
        place: &Text,
        value: &Text,
        expected: Option<&Text>,
    ) -> Text {
        let dtype = memory.dtype;
        let is_float = dtype.is_float();
        match self.dialect {
            Dialect::CudaC => match op {
                AtomicOp::Exchange if dtype == DType::F64 => self.exchange_double("atomicExch", memory, place, value),
                AtomicOp::Min | AtomicOp::Max if is_float => self.float_loop(op, memory, place, value),
                _ => self.cuda_call(op, dtype, place, value, expected),
            },
            Dialect::OpenClC => match op {
                AtomicOp::Exchange if dtype == DType::F64 => self.exchange_double("atom_xchg", memory, place, value),
                AtomicOp::Exchange => self.opencl_call(op, dtype, place, value, expected),
                _ if is_float => self.float_loop(op, memory, place, value),
                _ => self.opencl_call(op, dtype, place, value, expected),
            },
        }
    }

    fn cuda_call(&mut self, op: AtomicOp, dtype: DType, place: &Text, value: &Text, expected: Option<&Text>) -> Text {
        // Which functions take a long long: those of order.
        let is_order = matches!(op, AtomicOp::Min | AtomicOp::Max);
        if dtype == DType::I64 && !is_order {
            let unsigned = self.dialect.value_type(DType::U64);
            let place = Text::atom(format!("({unsigned} *)({})", place.code));
            let [value, expected] = [Some(value), expected].map(|text| text.map(|text| Text::cast(unsigned, text)));
            let value = value.unwrap_or_else(|| Text::atom("0"));
            let call = self.cuda_call(op, DType::U64, &place, &value, expected.as_ref());
            return Text::cast(self.dialect.value_type(dtype), &call);
        }
        let name = match op {
            // There is none of 64 bits.
            AtomicOp::Sub if dtype == DType::U64 => {
                let wide = Text::cast(self.dialect.value_type(DType::U64), value);
                let negated = Text::infix(&Text::atom("0"), "-", &wide, Binding::Sum);
                return Text::call("atomicAdd", &[place, &negated]);
            }
            AtomicOp::Add => "atomicAdd",
            AtomicOp::Sub => "atomicSub",
            AtomicOp::Min => "atomicMin",
            AtomicOp::Max => "atomicMax",
            AtomicOp::And => "atomicAnd",
            AtomicOp::Or => "atomicOr",
            AtomicOp::Xor => "atomicXor",
            AtomicOp::Exchange => "atomicExch",
            AtomicOp::CompareExchange => "atomicCAS",
        };
        match expected {
            Some(expected) => Text::call(name, &[place, expected, value]),
            None => Text::call(name, &[place, value]),
        }
    }

    fn opencl_call(&self, op: AtomicOp, dtype: DType, place: &Text, value: &Text, expected: Option<&Text>) -> Text {
        // The extension's functions of 64 bits begin otherwise.
        let family = if dtype.size_bytes() == 8 { "atom" } else { "atomic" };
        let verb = match op {
            AtomicOp::Add => "add",
            AtomicOp::Sub => "sub",
            AtomicOp::Min => "min",
            AtomicOp::Max => "max",
            AtomicOp::And => "and",
            AtomicOp::Or => "or",
            AtomicOp::Xor => "xor",
            AtomicOp::Exchange => "xchg",
            AtomicOp::CompareExchange => "cmpxchg",
        };
        let name = format!("{family}_{verb}");
        match expected {
            Some(expected) => Text::call(&name, &[place, expected, value]),
            None => Text::call(&name, &[place, value]),
        }
    }

    fn exchange_double(&mut self, name: &str, memory: MemoryInfo, place: &Text, value: &Text) -> Text {
        let bits = Text::call(self.arithmetic.prelude.word("f64_bits"), &[value]);
        let unsigned = self.dialect.value_type(DType::U64);
        let place = Text::atom(format!("({}{unsigned} *)({})", self.address_space(memory.place), place.code));
        let call = Text::call(name, &[&place, &bits]);
        Text::call(self.arithmetic.prelude.word("f64_of_bits"), &[&call])
    }

    /// A loop on the bits of a float, where there is no instruction.
    fn float_loop(&mut self, op: AtomicOp, memory: MemoryInfo, place: &Text, value: &Text) -> Text {
        let dtype = self.arithmetic.prelude.dtype(memory.dtype);
        let next = match op {
            AtomicOp::Add => {
                self.arithmetic.prelude.define(Section::Atomics, format!("LAZULI_SUM({dtype})"));
                "sum"
            }
            _ => {
                self.arithmetic.prelude.define(Section::Floats, format!("LAZULI_FLOAT_ORDER({dtype})"));
                if op == AtomicOp::Min { "minimum" } else { "maximum" }
            }
        };
        let bits = if memory.dtype == DType::F64 { "u64" } else { "u32" };
        let casts = format!("{dtype}_bits, {dtype}_of_bits");
        let (name, line) = match self.dialect {
            Dialect::CudaC => {
                let name = format!("{dtype}_atomic_{next}");
                let line = format!("LAZULI_ATOMIC({name}, {dtype}, {bits}, {casts}, {dtype}_{next})");
                (name, line)
            }
            Dialect::OpenClC => {
                let space = if memory.place == PointsTo::Group { "__local" } else { "__global" };
                let name = format!("{dtype}_atomic_{next}{}", &space[1..]);
                let exchange = if bits == "u64" { "atom_cmpxchg" } else { "atomic_cmpxchg" };
                let line =
                    format!("LAZULI_ATOMIC({name}, {space}, {dtype}, {bits}, {casts}, {exchange}, {dtype}_{next})");
                (name, line)
            }
        };
        self.arithmetic.prelude.define(Section::Atomics, line);
        Text::call(&name, &[place, value])
    }
}
