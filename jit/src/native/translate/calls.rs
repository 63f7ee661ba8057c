//! Calls of functions, methods, builtins and stubs.

use super::{SigKey, Translator, clif_type, namespace, signature};
use crate::ir::{BlockCall, Builtin, FuncId, Op, SelectorId, Ty};
use crate::layout::{CLASS_WORD, VTABLE};
use crate::native::stubs::Stub;
use crate::native::tables::SiteKind;
use cranelift_codegen::ir::{
    AbiParam, Block, BlockArg, ExceptionTable, ExceptionTableData, ExceptionTableItem, ExtFuncData, ExternalName, FuncRef, Inst,
    InstBuilder, MemFlagsData, SigRef, Signature, UserExternalName, Value, types,
};
use cranelift_codegen::isa::CallConv;
use cranelift_entity::EntityRef;

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
    fn sig(&mut self, key: SigKey, make: impl FnOnce(&Self) -> Signature) -> SigRef {
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

    /// Calls a stub without operands. In a `Try` its error goes to the landing pad, and a new block is current afterwards.
    pub(super) fn call_stub(&mut self, stub: Stub, kind: SiteKind) {
        self.mark(kind);
        if self.unwind.is_some() && stub != Stub::Barrier {
            let on = self.cold_block();
            self.try_call_stub(stub, on);
            self.b.switch_to_block(on);
        } else {
            let callee = self.stub(stub);
            self.b.ins().call(callee, &[]);
        }
        self.mark(SiteKind::Runtime);
    }

    /// Ends the block with a call whose error goes to the landing pad.
    pub(super) fn try_call_stub(&mut self, stub: Stub, normal: Block) {
        let callee = self.stub(stub);
        let sig = self.sig(SigKey::Stub, |_| Signature::new(CallConv::PreserveAll));
        let table = self.exception_table(sig, normal, &[]);
        self.b.ins().try_call(callee, &[], table);
    }

    fn exception_table(&mut self, sig: SigRef, normal: Block, normal_args: &[BlockArg]) -> ExceptionTable {
        let (unwind, unwind_args) = self.unwind.clone().expect("a landing pad");
        let dfg = &mut self.b.func.dfg;
        let normal = dfg.block_call(normal, normal_args);
        let unwind = dfg.block_call(unwind, &unwind_args);
        dfg.exception_tables.push(ExceptionTableData::new(sig, normal, [ExceptionTableItem::Default(unwind)]))
    }

    pub(super) fn call(&mut self, op: &Op) -> Option<Value> {
        let (target, args, kind) = self.target(op);
        self.mark(kind);
        let inst: Inst = match target {
            Target::Address(address, sig) => self.b.ins().call_indirect(sig, address, &args),
            Target::Thunk(callee, _) => self.b.ins().call(callee, &args),
        };
        let result = self.b.inst_results(inst).first().copied();
        self.mark(SiteKind::Runtime);
        result
    }

    /// Ends the block with the call of a `Try`.
    pub(super) fn try_call(&mut self, op: &Op, normal: &BlockCall, has_result: bool) {
        let (target, args, kind) = self.target(op);
        self.mark(kind);
        let (block, rest) = self.edge(normal);
        let normal_args: Vec<BlockArg> = has_result.then_some(BlockArg::TryCallRet(0)).into_iter().chain(rest).collect();
        match target {
            Target::Address(address, sig) => {
                let table = self.exception_table(sig, block, &normal_args);
                self.b.ins().try_call_indirect(address, &args, table);
            }
            Target::Thunk(callee, sig) => {
                let table = self.exception_table(sig, block, &normal_args);
                self.b.ins().try_call(callee, &args, table);
            }
        }
    }

    fn target(&mut self, op: &Op) -> (Target, Vec<Value>, SiteKind) {
        let args = |t: &Self, values: &[crate::ir::Value]| values.iter().map(|&v| t.value(v)).collect::<Vec<_>>();
        match op {
            Op::Call { func, args: values, site } => (self.callee(*func), args(self, values), SiteKind::Call(*site)),
            Op::CallVirtual { selector, args: values, site } => {
                let args = args(self, values);
                (self.method(*selector, args[0]), args, SiteKind::Call(*site))
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
        let cell = self.iconst((self.env.cells + 8 * func.index() as u64) as i64);
        Target::Address(self.b.ins().load(types::I64, MemFlagsData::trusted(), cell, 0), sig)
    }

    /// Loading the class word checks the receiver.
    fn method(&mut self, selector: SelectorId, receiver: Value) -> Target {
        let sig = self.sig(SigKey::Selector(selector), |t| {
            let selector = &t.env.module.selectors[selector];
            signature(&selector.params, selector.ret)
        });
        let flags = self.access(receiver, CLASS_WORD);
        let word = self.b.ins().load(types::I32, flags, receiver, CLASS_WORD);
        let descriptor = self.descriptor(word);
        let slot = VTABLE + 8 * self.env.layout.slot[selector] as i32;
        Target::Address(self.b.ins().load(types::I64, MemFlagsData::trusted(), descriptor, slot), sig)
    }
}
