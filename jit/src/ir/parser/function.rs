//! Bodies of functions: blocks, instructions, terminators. Result types are left open: they depend on what the whole module declares.

use super::lexer::{Position, Token};
use super::{ParseError, Parser};
use crate::ir::mnemonic::Mnemonic;
use crate::ir::printer::call_site_at;
use crate::ir::*;
use cranelift_entity::EntityRef;

/// A function, and the positions of its instructions for what is checked later.
pub(super) struct Body {
    pub func: Function,
    pub insts: Vec<Position>,
}

impl<'a> Parser<'a> {
    /// `{ in… block… }`, after the signature.
    pub(super) fn body(&mut self, id: FuncId, func: Function) -> Result<Body, ParseError> {
        let mut body = Body { func, insts: Vec::new() };
        self.mark('{')?;
        while self.peek_id("in").is_some() {
            self.inlined(id, &mut body.func)?;
        }
        while !self.eat('}') {
            self.block(id, &mut body)?;
        }
        if body.func.layout.is_empty() {
            return Err(self.error("a body has at least one block"));
        }
        Ok(body)
    }

    /// `in0 fn4 @17 site2 @33`
    fn inlined(&mut self, id: FuncId, func: &mut Function) -> Result<(), ParseError> {
        let next = func.inlined.next_key();
        if self.peek_id("in") != Some(next.as_u32()) {
            return Err(self.expected(&format!("`{next}`")));
        }
        self.bump();
        let entry = Inlined { callee: self.use_id()?, loc: self.loc()?, site: self.site()?, call: self.loc()? };
        self.used_sites.entry(entry.site).or_insert(call_site_at(&func.inlined, id, entry.call));
        func.inlined.push(entry);
        Ok(())
    }

    fn block(&mut self, id: FuncId, body: &mut Body) -> Result<(), ParseError> {
        let at = self.position();
        let block = self.block_id(&mut body.func)?;
        if body.func.blocks[block].terminator.is_some() {
            return Err(ParseError::new(at, format!("{block} stands here twice")));
        }
        body.func.layout.push(block);
        if self.eat('(') {
            self.list(')', |p| {
                let value = p.value(&mut body.func)?;
                p.mark(':')?;
                body.func.values[value] = p.mnemonic("a type (int, float, bool, ref)")?;
                body.func.blocks[block].params.push(value);
                Ok(())
            })?;
        }
        self.mark(':')?;
        while body.func.blocks[block].terminator.is_none() {
            self.line(id, body, block)?;
        }
        Ok(())
    }

    /// An instruction or the terminator.
    fn line(&mut self, id: FuncId, body: &mut Body, block: Block) -> Result<(), ParseError> {
        let at = self.position();
        if let Some(terminator) = self.terminator(&mut body.func)? {
            let loc = self.loc()?;
            if let Terminator::Try { op, .. } = &terminator {
                self.note_site(id, &body.func, op, loc);
            }
            let data = &mut body.func.blocks[block];
            data.terminator = Some(terminator);
            data.terminator_loc = loc;
            return Ok(());
        }
        let mut result = None;
        if self.peek_id("v").is_some() {
            result = Some(self.value(&mut body.func)?);
            self.mark('=')?;
        }
        let op = self.op(&mut body.func)?;
        let loc = self.loc()?;
        self.note_site(id, &body.func, &op, loc);
        let inst = body.func.insts.push(InstData { op, result, loc });
        body.insts.push(at);
        body.func.blocks[block].insts.push(inst);
        Ok(())
    }

    fn note_site(&mut self, caller: FuncId, func: &Function, op: &Op, loc: Loc) {
        if let Op::Call { site, .. } | Op::CallVirtual { site, .. } = op {
            self.used_sites.entry(*site).or_insert(call_site_at(&func.inlined, caller, loc));
        }
    }

    fn terminator(&mut self, func: &mut Function) -> Result<Option<Terminator>, ParseError> {
        let Token::Word(word) = *self.peek() else { return Ok(None) };
        if !matches!(word, "jump" | "branch" | "switch" | "return" | "throw" | "try" | "leave" | "unreachable") {
            return Ok(None);
        }
        self.bump();
        Ok(Some(match word {
            "jump" => Terminator::Jump(self.edge(func)?),
            "branch" => {
                let cond = self.value(func)?;
                self.mark(',')?;
                let then = self.edge(func)?;
                self.mark(',')?;
                Terminator::Branch { cond, then, els: self.edge(func)? }
            }
            "switch" => {
                let index = self.value(func)?;
                self.mark(',')?;
                self.mark('[')?;
                let targets = self.list(']', |p| p.edge(func))?;
                self.mark(',')?;
                Terminator::Switch { index, targets, default: self.edge(func)? }
            }
            "return" => Terminator::Return(self.peek_id("v").is_some().then(|| self.value(func)).transpose()?),
            "throw" => Terminator::Throw(self.value(func)?),
            "try" => {
                let op = self.op(func)?;
                self.keyword("normal")?;
                let normal = self.edge(func)?;
                self.keyword("unwind")?;
                Terminator::Try { op, normal, unwind: self.edge(func)? }
            }
            "leave" => Terminator::Leave { exit: self.bounded_id("exit", "an exit", MAX_EXITS)?, live: self.args(func)? },
            _ => Terminator::Unreachable,
        }))
    }

    fn edge(&mut self, func: &mut Function) -> Result<BlockCall, ParseError> {
        let block = self.block_id(func)?;
        let args = if self.peek() == &Token::Mark('(') { self.args(func)? } else { Args::new() };
        Ok(BlockCall { block, args })
    }

    fn args(&mut self, func: &mut Function) -> Result<Args, ParseError> {
        self.mark('(')?;
        Ok(self.list(')', |p| p.value(func))?.into())
    }

    /// A value's id; the function gets room for it.
    fn value(&mut self, func: &mut Function) -> Result<Value, ParseError> {
        let limit = 100_000 + 16 * self.text_len;
        let value: Value = self.bounded_id("v", "a value", limit)?;
        while !func.values.is_valid(value) {
            func.values.push(Ty::Int);
        }
        Ok(value)
    }

    fn block_id(&mut self, func: &mut Function) -> Result<Block, ParseError> {
        let limit = 1000 + self.text_len;
        let block: Block = self.bounded_id("block", "a block", limit)?;
        while !func.blocks.is_valid(block) {
            func.blocks.push(BlockData::default());
        }
        Ok(block)
    }

    fn bounded_id<T: EntityRef>(&mut self, prefix: &str, what: &str, limit: usize) -> Result<T, ParseError> {
        match self.peek_id(prefix) {
            Some(n) if (n as usize) < limit => {
                self.bump();
                Ok(T::new(n as usize))
            }
            Some(_) => Err(self.error(&format!("the number of {what} this high is surely a slip"))),
            None => Err(self.expected(&format!("{what} ({prefix}0, {prefix}1, …)"))),
        }
    }

    fn op(&mut self, func: &mut Function) -> Result<Op, ParseError> {
        let at = self.position();
        let Token::Word(word) = *self.peek() else { return Err(self.expected("an instruction or terminator")) };
        self.bump();
        if let Some(op) = UnaryOp::from_word(word) {
            return Ok(Op::Unary(op, self.value(func)?));
        }
        if let Some(op) = BinaryOp::from_word(word) {
            let (a, b) = self.two(func)?;
            return Ok(Op::Binary(op, a, b));
        }
        self.op_with_own_syntax(word, func)?.ok_or_else(|| ParseError::new(at, format!("unknown instruction `{word}`")))
    }

    fn op_with_own_syntax(&mut self, word: &str, func: &mut Function) -> Result<Option<Op>, ParseError> {
        Ok(Some(match word {
            "iconst" => Op::IConst(self.int()?),
            "fconst" => Op::FConst(self.float_bits()?),
            "bconst" => Op::BConst(self.bool()?),
            "null" => Op::Null,
            "poll" => Op::Poll,
            "exit_poll" => Op::ExitPoll { exit: self.bounded_id("exit", "an exit", MAX_EXITS)?, live: self.args(func)? },
            "watched_poll" => Op::WatchedPoll { exit: self.bounded_id("exit", "an exit", MAX_EXITS)? },
            "probe" => Op::Probe,
            "str_const" => Op::StrConst(self.use_id()?),
            "icmp" => {
                let cmp = self.mnemonic("a comparison (eq, ne, lt, le, gt, ge, ult)")?;
                let (a, b) = self.two(func)?;
                Op::ICmp(cmp, a, b)
            }
            "fcmp" => {
                let cmp = self.mnemonic("a comparison (eq, ne, lt, le, gt, ge)")?;
                let (a, b) = self.two(func)?;
                Op::FCmp(cmp, a, b)
            }
            "ref_eq" => {
                let (a, b) = self.two(func)?;
                Op::RefEq(a, b)
            }
            "check_bounds" => {
                let (a, b) = self.two(func)?;
                Op::CheckBounds(a, b)
            }
            "check_index" => {
                let (array, index) = self.two(func)?;
                Op::CheckIndex { array, index, length: self.next_value(func)? }
            }
            "select" => {
                let (cond, then) = self.two(func)?;
                Op::Select { cond, then, els: self.next_value(func)? }
            }
            "new" => Op::New(self.use_id()?),
            "new_array" => Op::NewArray(self.use_id()?, self.next_value(func)?),
            "instance_of" => Op::InstanceOf(self.use_id()?, self.next_value(func)?),
            "check_cast" => Op::CheckCast(self.use_id()?, self.next_value(func)?),
            "load_global" => Op::LoadGlobal(self.use_id()?),
            "store_global" => Op::StoreGlobal(self.use_id()?, self.next_value(func)?),
            "has_class" => Op::HasClass(self.use_id()?, self.next_value(func)?),
            "array_len" => Op::ArrayLen(self.value(func)?, self.null()),
            "null_check" => Op::NullCheck(self.value(func)?),
            "load_elem" | "store_elem" => {
                let kind = self.mnemonic("an element kind (int, float, bool, byte, ref)")?;
                let array = self.value(func)?;
                self.mark('[')?;
                let index = self.value(func)?;
                self.mark(']')?;
                if word == "load_elem" {
                    return Ok(Some(Op::LoadElem(kind, array, index)));
                }
                Op::StoreElem(kind, array, index, self.next_value(func)?, self.barrier())
            }
            "load" | "store" | "atomic_load" | "atomic_store" | "atomic_fetch_add" | "atomic_cas" => {
                let object = self.value(func)?;
                self.mark('.')?;
                let field = self.use_id()?;
                match word {
                    "load" => Op::LoadField(field, object, self.null()),
                    "store" => {
                        let (value, null, barrier) = (self.next_value(func)?, self.null(), self.barrier());
                        Op::StoreField { field, object, value, null, barrier }
                    }
                    "atomic_load" => Op::Atomic(AtomicOp::Load, field, object, None),
                    "atomic_store" => Op::Atomic(AtomicOp::Store, field, object, Some(self.next_value(func)?)),
                    "atomic_fetch_add" => Op::Atomic(AtomicOp::FetchAdd, field, object, Some(self.next_value(func)?)),
                    _ => Op::AtomicCas(field, object, self.next_value(func)?, self.next_value(func)?),
                }
            }
            "call" => Op::Call { func: self.use_id()?, args: self.args(func)?, site: self.site()? },
            "call_virtual" => Op::CallVirtual { selector: self.use_id()?, args: self.args(func)?, site: self.site()? },
            "call_builtin" => Op::CallBuiltin { builtin: self.builtin()?, args: self.args(func)? },
            _ => return Ok(None),
        }))
    }

    fn null(&mut self) -> Null {
        if self.eat_word("nonnull") { Null::Never } else { Null::Throws }
    }

    fn barrier(&mut self) -> Barrier {
        if self.eat_word("nobarrier") { Barrier::Elided } else { Barrier::Needed }
    }

    fn eat_word(&mut self, word: &str) -> bool {
        let found = matches!(self.peek(), Token::Word(w) if *w == word);
        if found {
            self.bump();
        }
        found
    }

    fn two(&mut self, func: &mut Function) -> Result<(Value, Value), ParseError> {
        Ok((self.value(func)?, self.next_value(func)?))
    }

    /// `, v1`
    fn next_value(&mut self, func: &mut Function) -> Result<Value, ParseError> {
        self.mark(',')?;
        self.value(func)
    }

    fn site(&mut self) -> Result<CallSiteId, ParseError> {
        let limit = 100_000 + self.text_len;
        self.bounded_id("site", "a call site", limit)
    }

    fn builtin(&mut self) -> Result<Builtin, ParseError> {
        let Token::Word(word) = *self.peek() else { return Err(self.expected("a builtin's name")) };
        let builtin = Builtin::by_name(word).ok_or_else(|| self.error(&format!("no builtin is called `{word}`")))?;
        self.bump();
        Ok(builtin)
    }

    fn bool(&mut self) -> Result<bool, ParseError> {
        let value = match self.peek() {
            Token::Word("true") => true,
            Token::Word("false") => false,
            _ => return Err(self.expected("true or false")),
        };
        self.bump();
        Ok(value)
    }

    fn int(&mut self) -> Result<i64, ParseError> {
        let Token::Number(text) = *self.peek() else { return Err(self.expected("an integer")) };
        let value = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok().map(|bits| bits as i64),
            None => text.parse().ok(),
        };
        let value = value.ok_or_else(|| self.error(&format!("`{text}` is no 64-bit integer")))?;
        self.bump();
        Ok(value)
    }

    fn float_bits(&mut self) -> Result<u64, ParseError> {
        let (Token::Number(text) | Token::Word(text)) = *self.peek() else { return Err(self.expected("a number")) };
        let bits = match text.strip_prefix("0x") {
            Some(hex) => u64::from_str_radix(hex, 16).ok(),
            None if text == "NaN" => Some(f64::NAN.to_bits()),
            None => text.parse::<f64>().ok().filter(|v| !v.is_nan()).map(f64::to_bits),
        };
        let bits = bits.ok_or_else(|| self.error(&format!("`{text}` is no number")))?;
        self.bump();
        Ok(bits)
    }
}
