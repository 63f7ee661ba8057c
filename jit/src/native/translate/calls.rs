//! Calls of functions, methods, builtins and stubs.

use super::refs::Spilled;
use super::{SigKey, Translator, clif_type, namespace, signature};
use crate::ir::{self, BlockCall, Builtin, FuncId, Null, Op, SelectorId, Ty};
use crate::layout::{CLASS_WORD, slot_offset};
use crate::native::stubs::Stub;
use crate::native::tables::SiteKind;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, ExceptionTable, ExceptionTableData, ExceptionTableItem, ExtFuncData, ExternalName, FuncRef, Inst,
    InstBuilder, MemFlagsData, SigRef, Signature, UserExternalName, Value, types,
};
use cranelift_codegen::isa::CallConv;

/// What a call goes to.
enum Target {
    /// Through an entry cell or a virtual table.
    Address(Value, SigRef),
    /// A thunk in the code region.
    Thunk(FuncRef, SigRef),
}

fn builtin_signature(builtin: Builtin) -> Signature {
    let described = builtin.signature();
    let mut signature = Signature::new(CallConv::SystemV);
    let param = |ty: Ty| match ty {
        // The C convention wants small integers extended.
        Ty::Bool => AbiParam::new(types::I8).uext(),
        ty => AbiParam::new(clif_type(ty)),
    };
    signature.params.push(AbiParam::new(types::I64));
    signature.params.extend(described.params.iter().map(|&ty| param(ty)));
    signature.returns.extend(described.ret.map(|ty| AbiParam::new(clif_type(ty))));
    signature
}

impl Translator<'_, '_> {
    pub(super) fn sig(&mut self, key: SigKey, make: impl FnOnce(&Self) -> Signature) -> SigRef {
        if let Some(&sig) = self.signatures.get(&key) {
            return sig;
        }
        let signature = make(self);
        let sig = self.b.import_signature(signature);
        self.signatures.insert(key, sig);
        sig
    }

    fn thunk(&mut self, namespace: u32, index: u32, sig: impl FnOnce(&mut Self) -> SigRef) -> FuncRef {
        if let Some(&callee) = self.callees.get(&(namespace, index)) {
            return callee;
        }
        let signature = sig(self);
        let name = self.b.func.declare_imported_user_function(UserExternalName { namespace, index });
        let name = ExternalName::user(name);
        let callee = self.b.import_function(ExtFuncData { name, signature, colocated: true, patchable: false });
        self.callees.insert((namespace, index), callee);
        callee
    }

    fn stub(&mut self, stub: Stub) -> FuncRef {
        self.thunk(namespace::STUB, stub as u32, |t| t.sig(SigKey::Stub, |_| Signature::new(CallConv::PreserveAll)))
    }

    /// In a cold block, calls a stub without operands. In a `Try` its error goes to the landing pad, and a new block is current afterwards.
    pub(super) fn call_stub(&mut self, stub: Stub, kind: SiteKind) {
        if stub.looks_at_calls() {
            self.show_countdown();
        }
        self.mark(kind);
        if stub.is_silent() {
            let callee = self.stub(stub);
            self.b.ins().call(callee, &[]);
        } else {
            let spilled = self.spill_cold();
            if self.unwind.is_some() {
                let on = self.cold_block();
                self.try_call_stub(stub, on, &spilled);
                self.enter(on);
            } else {
                let callee = self.stub(stub);
                let call = self.b.ins().call(callee, &[]);
                self.add_map(call, &spilled);
            }
            self.reload_cold(&spilled);
        }
        if stub.looks_at_calls() {
            self.retake_countdown();
        }
        self.mark(SiteKind::Runtime);
    }

    /// Ends the block with a call whose error goes to the landing pad.
    pub(super) fn try_call_stub(&mut self, stub: Stub, normal: Block, spilled: &Spilled) {
        let callee = self.stub(stub);
        let sig = self.sig(SigKey::Stub, |_| Signature::new(CallConv::PreserveAll));
        let (table, landing) = self.exception_table(sig, normal, &[]);
        let call = self.b.ins().try_call(callee, &[], table);
        self.add_map(call, spilled);
        self.land(landing, spilled);
    }

    /// Also makes the block where errors arrive, for [`Translator::land`].
    fn exception_table(&mut self, sig: SigRef, normal: Block, normal_args: &[BlockArg]) -> (ExceptionTable, Block) {
        let landing = self.cold_block();
        self.b.append_block_param(landing, types::I64);
        let dfg = &mut self.b.func.dfg;
        let normal = dfg.block_call(normal, normal_args);
        let unwind = dfg.block_call(landing, &[BlockArg::TryCallExn(0)]);
        (dfg.exception_tables.push(ExceptionTableData::new(sig, normal, [ExceptionTableItem::Default(unwind)])), landing)
    }

    /// Fills the block where errors arrive: loads what the handler needs, and goes there.
    fn land(&mut self, landing: Block, spilled: &Spilled) {
        let unwind = self.unwind.clone().expect("a `Try`");
        self.enter(landing);
        let error = self.b.block_params(landing)[0];
        self.go_on(&unwind, Some(error), spilled);
    }

    /// Ends a block that a call led to: the references that `to` needs are loaded.
    fn go_on(&mut self, to: &BlockCall, first: Option<Value>, spilled: &Spilled) {
        self.reload_for(to, spilled);
        self.retake_countdown_for(to);
        let block = self.blocks[to.block].expect("no edge leads to the entry");
        let rest = to.args.iter().map(|&arg| {
            let arg = self.live.root(arg);
            match self.variable(arg) {
                Some(variable) => self.b.use_var(variable),
                None => self.plain(arg),
            }
        });
        let args: Vec<BlockArg> = first.into_iter().chain(rest).map(BlockArg::Value).collect();
        self.b.ins().jump(block, &args);
    }

    pub(super) fn call(&mut self, op: &Op) -> Option<Value> {
        let (target, args, kind) = self.target(op);
        self.give_up_countdown_for(op);
        self.mark(kind);
        let spilled = op.is_safepoint().then(|| self.spill());
        let inst: Inst = match target {
            Target::Address(address, sig) => self.b.ins().call_indirect(sig, address, &args),
            Target::Thunk(callee, _) => self.b.ins().call(callee, &args),
        };
        if let Some(spilled) = spilled {
            self.add_map(inst, &spilled);
            self.after_call();
        }
        let result = self.b.inst_results(inst).first().copied();
        self.mark(SiteKind::Runtime);
        result
    }

    /// Ends the block with the call of a `Try`.
    pub(super) fn try_call(&mut self, op: &Op, normal: &BlockCall, has_result: bool) {
        let (target, args, kind) = self.target(op);
        self.give_up_countdown();
        self.mark(kind);
        let spilled = self.spill();
        let on = self.b.create_block();
        let result = has_result.then(|| {
            let ty = op.result_ty(self.env.module, |v| self.source.values[v]).expect("a result");
            self.b.append_block_param(on, clif_type(ty))
        });
        let on_args: Vec<BlockArg> = result.map(|_| BlockArg::TryCallRet(0)).into_iter().collect();
        let (call, landing) = match target {
            Target::Address(address, sig) => {
                let (table, landing) = self.exception_table(sig, on, &on_args);
                (self.b.ins().try_call_indirect(address, &args, table), landing)
            }
            Target::Thunk(callee, sig) => {
                let (table, landing) = self.exception_table(sig, on, &on_args);
                (self.b.ins().try_call(callee, &args, table), landing)
            }
        };
        self.add_map(call, &spilled);
        self.land(landing, &spilled);
        self.enter(on);
        self.go_on(normal, result, &spilled);
    }

    fn target(&mut self, op: &Op) -> (Target, Vec<Value>, SiteKind) {
        let args = |t: &mut Self, values: &[ir::Value]| values.iter().map(|&v| t.value(v)).collect::<Vec<_>>();
        match op {
            Op::Call { func, args: values, site } => (self.callee(*func), args(self, values), SiteKind::Call(*site)),
            Op::CallVirtual { selector, args: values, site } => {
                let args = args(self, values);
                (self.method(*selector, values[0], args[0]), args, SiteKind::Call(*site))
            }
            Op::CallBuiltin { builtin, args: values } => {
                let mut args = args(self, values);
                args.insert(0, self.b.ins().get_pinned_reg(types::I64));
                let mut sig = None;
                let callee =
                    self.thunk(namespace::BUILTIN, *builtin as u32, |t| *sig.insert(t.b.import_signature(builtin_signature(*builtin))));
                let sig = sig.unwrap_or_else(|| self.b.func.dfg.ext_funcs[callee].signature);
                (Target::Thunk(callee, sig), args, SiteKind::Runtime)
            }
            op => panic!("{op:?} is no call"),
        }
    }

    fn callee(&mut self, func: FuncId) -> Target {
        let sig = self.sig(SigKey::Func(func), |t| {
            let callee = &t.env.module.funcs[func];
            signature(&callee.params, callee.ret)
        });
        let cell = self.iconst(self.env.cells.address(func) as i64);
        Target::Address(self.b.ins().load(types::I64, MemFlagsData::trusted(), cell, 0), sig)
    }

    /// Of the function that callers see, whatever this code is.
    pub(super) fn own_signature(&mut self) -> SigRef {
        let callee = &self.env.module.funcs[self.id];
        self.sig(SigKey::Func(self.id), |_| signature(&callee.params, callee.ret))
    }

    /// Loading the class word checks the receiver.
    fn method(&mut self, selector: SelectorId, object: ir::Value, receiver: Value) -> Target {
        let sig = self.sig(SigKey::Selector(selector), |t| {
            let selector = &t.env.module.selectors[selector];
            signature(&selector.params, selector.ret)
        });
        let flags = self.access(object, receiver, CLASS_WORD, Null::Throws);
        let descriptor = self.descriptor(flags, receiver);
        let slot = slot_offset(self.env.layout.slot[selector]);
        Target::Address(self.b.ins().load(types::I64, MemFlagsData::trusted(), descriptor, slot), sig)
    }
}
