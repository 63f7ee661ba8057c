//! Which bodies are worth checking: all of the user's, and of the library's those that something may call.
//!
//! A function is reached where it is named; a method where an object of its class may exist and a method of its name is called. Classes whose objects the VM makes
//! itself always exist. What is never reached becomes [`FunctionKind::Unused`](super::hir::FunctionKind).

use super::decls::{BodyState, Checker};
use super::hir::{ClassId, FunId};

/// Methods that the VM or desugared code calls without naming them.
const ALWAYS_CALLED: [&str; 3] = ["equals", "hash", "toString"];

impl<'a> Checker<'a> {
    /// Queues the user's code, and what exists from the start.
    pub fn reach_roots(&mut self) {
        self.called.extend(ALWAYS_CALLED);
        for i in 0..self.functions.len() {
            if self.check_all || !self.functions[i].library {
                self.reach_fun(FunId(i as u32));
            }
        }
        let k = self.known.clone();
        let made_by_the_vm = [
            k.object,
            k.int,
            k.float,
            k.bool,
            k.str,
            k.bytes,
            k.array,
            k.error,
            k.null_error,
            k.bounds_error,
            k.division_error,
            k.cast_error,
            k.stack_overflow_error,
            k.out_of_memory_error,
            k.argument_error,
            k.state_error,
            k.io_error,
        ];
        made_by_the_vm.into_iter().for_each(|class| self.reach_class(class));
    }

    pub fn reach_fun(&mut self, fun: FunId) {
        let info = &mut self.functions[fun.index()];
        if info.state == BodyState::Idle {
            info.state = BodyState::Queued;
            self.queue.push(fun);
        }
    }

    /// A method is called on a value: any override may be meant.
    pub fn reach_method(&mut self, fun: FunId) {
        self.reach_fun(fun);
        let name = &*self.fun(fun).name.text;
        if self.called.insert(name) {
            for i in 0..self.classes.len() {
                if self.classes[i].live {
                    self.reach_named(ClassId(i as u32), name);
                }
            }
        }
    }

    /// Objects of a class may exist.
    pub fn reach_class(&mut self, class: ClassId) {
        if self.class(class).live {
            return;
        }
        self.classes[class.index()].live = true;
        if let Some(constructor) = self.class(class).constructor {
            self.reach_fun(constructor);
        }
        let above = self.class(class).above.clone();
        for fun in self.class(class).methods.clone() {
            if self.called.contains(&*self.fun(fun).name.text) {
                self.reach_fun(fun);
            }
        }
        above.iter().for_each(|&up| self.reach_class(up));
    }

    fn reach_named(&mut self, class: ClassId, name: &str) {
        if let Some(super::decls::Member::Method(fun)) = self.class(class).members.get(name).copied() {
            self.reach_fun(fun);
        }
    }
}
