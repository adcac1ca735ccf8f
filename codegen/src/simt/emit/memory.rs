//! Reads and writes of elements, checked or not.

use super::BodyEmitter;
use crate::emit::prelude::Section;
use crate::emit::text::{Binding, Text};
use crate::simt::function::PointsTo;
use crate::simt::ir::{Element, Expr, Memory};
use crate::simt::scope::MemoryInfo;
use crate::{DType, Dialect};

impl BodyEmitter<'_> {
    /// What an element holds.
    pub(super) fn load(&mut self, element: &Element) -> Text {
        let Some(memory) = self.scope.memory(element.memory) else { return Text::atom("0") };
        let held = if self.checked {
            let at = self.checked_number(element, memory);
            let function = self.checked_function(memory, "load");
            Text::call(&function, &[&self.first_element(element.memory), &at])
        } else {
            Text::atom(self.element(element))
        };
        let value = self.arithmetic.decoded(memory.dtype, held);
        // A bool lies in memory as a byte; a call that gives it is one in C as well.
        match memory.dtype {
            DType::Bool if self.checked => Text::infix(&value, "!=", &Text::atom("0"), Binding::Equality),
            _ => value,
        }
    }

    /// Writes a value to an element.
    pub(super) fn emit_store(&mut self, element: &Element, value: &Expr) {
        let Some(memory) = self.scope.memory(element.memory) else { return };
        let compound = if self.checked || memory.dtype.is_half() { None } else { self.compound(element, value) };
        if let Some((sign, by)) = compound {
            let place = self.element(element);
            let by = self.value(by);
            return self.out.line(&format!("{place} {sign} {};", by.code));
        }
        if self.checked {
            let at = self.checked_number(element, memory);
            let value = self.value(value);
            let value = self.arithmetic.encoded(memory.dtype, &value);
            let function = self.checked_function(memory, "store");
            let call = Text::call(&function, &[&self.first_element(element.memory), &at, &value]);
            return self.out.line(&format!("{};", call.code));
        }
        let place = self.element(element);
        let value = self.value(value);
        let value = self.arithmetic.encoded(memory.dtype, &value);
        self.out.line(&format!("{place} = {};", value.code));
    }

    /// Where a value is the element itself and something added to it: the sign of C's compound assignment, and that.
    fn compound<'e>(&self, element: &Element, value: &'e Expr) -> Option<(&'static str, &'e Expr)> {
        let is_itself = |expr: &Expr| match expr {
            Expr::Load(loaded) => loaded.memory == element.memory && loaded.index == element.index,
            _ => false,
        };
        let is_constant = element.index.iter().all(|index| super::range::is_constant(index, &self.known));
        if !is_constant {
            return None;
        }
        super::statement::compound(value, self.scope.dtype(value)?, is_itself)
    }

    /// An element in C.
    pub(super) fn element(&mut self, element: &Element) -> String {
        let mut code = self.names.memory(element.memory).to_owned();
        for index in &element.index {
            code.push_str(&format!("[{}]", self.index(index).text.code));
        }
        code
    }

    /// The first element of memory, as a pointer.
    pub(super) fn first_element(&self, memory: Memory) -> Text {
        let name = self.names.memory(memory);
        match self.scope.memory(memory).map_or(1, |memory| memory.axes()) {
            1 => Text::atom(name),
            axes => Text::new(format!("&{name}{}", "[0]".repeat(axes)), Binding::Prefix),
        }
    }

    /// The number of an element in its memory, or what stands for none.
    pub(super) fn checked_number(&mut self, element: &Element, memory: MemoryInfo) -> Text {
        self.arithmetic.prelude.section(Section::Note);
        self.arithmetic.prelude.section(Section::Checked);
        let mut arguments: Vec<Text> = element.index.iter().map(|index| self.index(index).text).collect();
        match memory.dims {
            Some(dims) => arguments.extend(dims.iter().map(|extent| Text::atom(extent.to_string()))),
            None => arguments.push(self.length(element.memory).text),
        }
        arguments.push(Text::atom((self.first_site + element.site.0).to_string()));
        arguments.push(Text::atom(self.names.note.clone()));
        Text::call(&format!("element{}", memory.axes()), &arguments.iter().collect::<Vec<_>>())
    }

    /// The function of the prelude that reads or writes an element of such memory.
    fn checked_function(&mut self, memory: MemoryInfo, verb: &str) -> String {
        let stored = memory.dtype.storage();
        let space = match (self.dialect, memory.place) {
            (Dialect::CudaC, _) => "",
            (Dialect::OpenClC, PointsTo::Global) => "__global",
            (Dialect::OpenClC, PointsTo::Group) => "__local",
            (Dialect::OpenClC, PointsTo::Thread) => "__private",
        };
        let name = format!("{}{}_{verb}", stored.name(), space.replacen('_', "", 1));
        let dtype = self.arithmetic.prelude.dtype(stored);
        let line = format!("LAZULI_CHECKED_{}({name}, {space}, {dtype})", verb.to_uppercase());
        self.arithmetic.prelude.define(Section::Checked, line);
        name
    }
}
