//! Lines of C, indented by the braces around them.

/// The longest line written where there is a choice.
pub(crate) const LINE: usize = 110;

#[derive(Default)]
pub(crate) struct Writer {
    text: String,
    depth: usize,
}

impl Writer {
    pub fn line(&mut self, line: &str) {
        // The preprocessor's lines stand where C's do: an unroll belongs to the loop below it.
        self.text.extend(std::iter::repeat_n("    ", self.depth));
        self.text.push_str(line);
        self.text.push('\n');
    }

    /// A line that opens a block.
    pub fn open(&mut self, head: &str) {
        self.line(&format!("{head} {{"));
        self.depth += 1;
    }

    /// Closes a block and opens another on the same line.
    pub fn reopen(&mut self, head: &str) {
        self.depth -= 1;
        self.line(&format!("}} {head} {{"));
        self.depth += 1;
    }

    /// A block of its own, for the names in it.
    pub fn block(&mut self) {
        self.line("{");
        self.depth += 1;
    }

    pub fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    pub fn finish(&mut self) -> String {
        std::mem::take(&mut self.text)
    }
}
