//! Pieces of C expressions that know how tightly they bind, so that parentheses stand where they are needed and nowhere
//! else. They fix what is computed in which order, and with it every rounding.

/// How tightly an expression binds, loosest first.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Binding {
    Choice,
    Or,
    And,
    BitOr,
    BitXor,
    BitAnd,
    Equality,
    Relation,
    Sum,
    Product,
    Prefix,
    Atom,
}

/// A C expression.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub code: String,
    pub binding: Binding,
}

impl Text {
    pub fn new(code: impl Into<String>, binding: Binding) -> Self {
        Self { code: code.into(), binding }
    }

    pub fn atom(code: impl Into<String>) -> Self {
        Self::new(code, Binding::Atom)
    }

    /// A call of `function`.
    pub fn call(function: &str, arguments: &[&Text]) -> Self {
        let arguments: Vec<&str> = arguments.iter().map(|text| text.code.as_str()).collect();
        Self::atom(format!("{function}({})", arguments.join(", ")))
    }

    /// `left operator right`, evaluated in that order.
    pub fn infix(left: &Text, operator: &str, right: &Text, binding: Binding) -> Self {
        // Comparisons and bit operations chain in ways that readers misread: their operands are sums at the loosest.
        let (left_least, right_least) = match binding {
            Binding::Sum => (Binding::Sum, Binding::Product),
            Binding::Product => (Binding::Product, Binding::Prefix),
            _ => (Binding::Sum, Binding::Sum),
        };
        Self::new(format!("{} {operator} {}", left.within(left_least), right.within(right_least)), binding)
    }

    /// `-x`, `~x` and `!x`.
    pub fn prefix(operator: &str, operand: &Text) -> Self {
        // `- -x` would need a space, so a prefix takes only atoms.
        Self::new(format!("{operator}{}", operand.within(Binding::Atom)), Binding::Prefix)
    }

    /// `(type)x`.
    pub fn cast(to: &str, operand: &Text) -> Self {
        Self::new(format!("({to}){}", operand.within(Binding::Atom)), Binding::Prefix)
    }

    /// `left && right` and `left || right`.
    pub fn logical(left: &Text, operator: &str, right: &Text, binding: Binding) -> Self {
        // A chain of one of them needs no parentheses; compilers warn of the two mixed.
        let left = if left.binding == binding { left.code.clone() } else { left.within(Binding::Equality) };
        Self::new(format!("{left} {operator} {}", right.within(Binding::Equality)), binding)
    }

    /// `left << right` and `left >> right`.
    pub fn shift(left: &Text, operator: &str, right: &Text) -> Self {
        // Compilers warn of a bare sum beside a shift, and readers misread it.
        let [left, right] = [left, right].map(|text| text.within(Binding::Prefix));
        Self::new(format!("{left} {operator} {right}"), Binding::Relation)
    }

    /// `condition ? on_true : on_false`.
    pub fn choice(condition: &Text, on_true: &Text, on_false: &Text) -> Self {
        // clang warns of a bare `a & b` before a question mark.
        let condition = condition.within(Binding::Equality);
        let [on_true, on_false] = [on_true, on_false].map(|text| text.within(Binding::BitOr));
        Self::new(format!("{condition} ? {on_true} : {on_false}"), Binding::Choice)
    }

    /// The code, in parentheses if it binds more loosely than `least`.
    pub fn within(&self, least: Binding) -> String {
        if self.binding < least { format!("({})", self.code) } else { self.code.clone() }
    }
}
