//! Interfaces and hierarchies of classes.

use crate::program::Generator;
use crate::scope::Scope;
use crate::ty::Ty;

#[derive(Clone, Debug)]
pub struct Member {
    pub name: String,
    pub params: Vec<Ty>,
    pub ret: Option<Ty>,
    pub is_abstract: bool,
}

#[derive(Clone, Debug)]
pub struct FieldInfo {
    pub name: String,
    pub ty: Ty,
    pub mutable: bool,
}

#[derive(Clone, Debug)]
pub struct ClassInfo {
    pub parent: Option<usize>,
    pub is_abstract: bool,
    /// Parameters of the constructor.
    pub header: Vec<Ty>,
    /// Inherited ones first.
    pub fields: Vec<FieldInfo>,
    pub interfaces: Vec<usize>,
    /// Inherited ones first, those of interfaces included. A method calls only those before it on `this`.
    pub methods: Vec<Member>,
    /// Its hierarchy is complete: it may be used as a type, and some class below it can be constructed.
    pub ready: bool,
}

#[derive(Clone, Debug)]
pub struct InterfaceInfo {
    pub methods: Vec<Member>,
    /// Some class that is ready implements it.
    pub ready: bool,
}

impl Generator<'_> {
    pub fn is_below(&self, class: usize, ancestor: usize) -> bool {
        std::iter::successors(Some(class), |&c| self.classes[c].parent).any(|c| c == ancestor)
    }

    /// Classes that can be constructed where `ty` is wanted.
    pub fn constructible(&self, ty: &Ty) -> Vec<usize> {
        let fits = |id: usize| match ty {
            Ty::Class(c) => self.is_below(id, *c),
            Ty::Interface(i) => self.classes[id].interfaces.contains(i),
            _ => false,
        };
        (0..self.classes.len()).filter(|&id| self.classes[id].ready && !self.classes[id].is_abstract && fits(id)).collect()
    }

    pub fn interface(&mut self) {
        let id = self.interfaces.len();
        self.open(format!("interface I{id} {{"));
        let mut methods = Vec::new();
        for _ in 0..1 + self.choices.below(2) {
            let name = self.fresh("m");
            let params: Vec<(String, Ty)> = (0..self.choices.below(3)).map(|_| (self.fresh("p"), self.scalar())).collect();
            let ret = Some(self.scalar());
            let has_body = self.choices.chance(40);
            let mut text = format!("fun {name}{}", Self::signature(&params, &ret));
            if has_body {
                let mut scope = Scope::default();
                params.iter().for_each(|(n, t)| scope.add(n, t.clone(), false, true));
                let value = self.expr(&mut scope, ret.as_ref().unwrap(), 2);
                text += &format!(" = {value}");
            }
            self.line(text);
            methods.push(Member { name, params: params.into_iter().map(|p| p.1).collect(), ret, is_abstract: !has_body });
        }
        self.close("}");
        self.line("");
        self.interfaces.push(InterfaceInfo { methods, ready: false });
    }

    /// A class, some below it, and for each abstract one at least one that can be constructed.
    pub fn hierarchy(&mut self) {
        let first = self.classes.len();
        let is_abstract = self.choices.chance(35);
        self.class(None, is_abstract);
        for _ in 0..self.choices.below(4) {
            let parent = first + self.choices.below(self.classes.len() - first);
            let is_abstract = self.choices.chance(15);
            self.class(Some(parent), is_abstract);
        }
        for id in first..self.classes.len() {
            let has_concrete = |g: &Self| (first..g.classes.len()).any(|c| !g.classes[c].is_abstract && g.is_below(c, id));
            if !has_concrete(self) {
                self.class(Some(id), false);
            }
        }
        for id in first..self.classes.len() {
            self.classes[id].ready = true;
            for i in self.classes[id].interfaces.clone() {
                self.interfaces[i].ready |= !self.classes[id].is_abstract;
            }
        }
    }

    fn class(&mut self, parent: Option<usize>, is_abstract: bool) {
        let id = self.classes.len();
        let inherited = parent.map(|p| self.classes[p].clone());
        let mut info = inherited.clone().unwrap_or(ClassInfo {
            parent: None,
            is_abstract,
            header: vec![],
            fields: vec![],
            interfaces: vec![],
            methods: vec![],
            ready: false,
        });
        (info.parent, info.is_abstract, info.ready, info.header) = (parent, is_abstract, false, vec![]);

        // The header: parameters handed up, then own fields.
        let mut params = Vec::new();
        let mut scope = Scope { vars: self.globals.clone(), ..Scope::default() };
        let mut up = Vec::new();
        for ty in inherited.iter().flat_map(|i| i.header.clone()) {
            if self.choices.chance(60) {
                let name = self.fresh("h");
                params.push(format!("{name}: {ty}"));
                scope.add(&name, ty.clone(), false, false);
                info.header.push(ty);
                up.push(name);
            } else {
                up.push(self.expr(&mut scope, &ty, 1));
            }
        }
        for _ in 0..1 + self.choices.below(2) {
            let (name, ty, mutable) = (self.fresh("a"), self.ty(), self.choices.chance(50));
            params.push(format!("{} {name}: {ty}", if mutable { "var" } else { "let" }));
            scope.add(&name, ty.clone(), false, false);
            info.header.push(ty.clone());
            info.fields.push(FieldInfo { name, ty, mutable });
        }
        let mut supers: Vec<String> = parent.iter().map(|p| format!("C{p}({})", up.join(", "))).collect();
        let mut own_interfaces = Vec::new();
        for i in 0..self.interfaces.len() {
            if !info.interfaces.contains(&i) && self.choices.chance(40) {
                supers.push(format!("I{i}"));
                info.interfaces.push(i);
                own_interfaces.push(i);
                info.methods.extend(self.interfaces[i].methods.clone());
            }
        }
        let supers = if supers.is_empty() { String::new() } else { format!(" : {}", supers.join(", ")) };
        self.open(format!("{}class C{id}({}){supers} {{", if is_abstract { "abstract " } else { "" }, params.join(", ")));
        self.fields(&mut info, &mut scope);
        let inherited_methods = info.methods.len();
        for _ in 0..1 + self.choices.below(3) {
            let member = Member {
                name: self.fresh("m"),
                params: (0..self.choices.below(3)).map(|_| self.ty()).collect(),
                ret: if self.choices.chance(80) { Some(self.ty()) } else { None },
                is_abstract: is_abstract && self.choices.chance(40),
            };
            info.methods.push(member);
        }
        self.classes.push(info);
        self.methods(id, inherited_methods, inherited.as_ref());
        self.object_methods(id);
        self.close("}");
        self.line("");
    }

    fn fields(&mut self, info: &mut ClassInfo, scope: &mut Scope) {
        for _ in 0..self.choices.below(3) {
            let (name, ty, mutable) = (self.fresh("b"), self.ty(), self.choices.chance(70));
            let value = self.expr(scope, &ty, 1);
            self.line(format!("{} {name}: {ty} = {value}", if mutable { "var" } else { "let" }));
            scope.add(&name, ty.clone(), mutable, false);
            info.fields.push(FieldInfo { name, ty, mutable });
        }
        if self.choices.chance(30) {
            self.open("init {");
            self.budget = 3;
            scope.loops = 0;
            self.statements(scope, 2);
            self.close("}");
        }
        self.line("");
    }

    fn methods(&mut self, id: usize, inherited: usize, parent: Option<&ClassInfo>) {
        for i in 0..self.classes[id].methods.len() {
            let member = self.classes[id].methods[i].clone();
            let is_new = i >= inherited;
            if is_new && member.is_abstract {
                let params = self.named(&member.params);
                self.line(format!("abstract fun {}{}", member.name, Self::signature(&params, &member.ret)));
                continue;
            }
            let must = member.is_abstract && !self.classes[id].is_abstract;
            if is_new || must || self.choices.chance(40) {
                let overridden = parent.and_then(|p| p.methods.iter().find(|m| m.name == member.name)).filter(|m| !m.is_abstract);
                self.method(id, i, !is_new, overridden.is_some());
                self.classes[id].methods[i].is_abstract = false;
            }
        }
    }

    fn named(&mut self, types: &[Ty]) -> Vec<(String, Ty)> {
        types.iter().map(|ty| (self.fresh("p"), ty.clone())).collect()
    }

    fn method(&mut self, id: usize, index: usize, overrides: bool, has_super: bool) {
        let Member { name, params, ret, .. } = self.classes[id].methods[index].clone();
        let params = self.named(&params);
        let keyword = if overrides { "override fun" } else { "fun" };
        self.open(format!("{keyword} {name}{} {{", Self::signature(&params, &ret)));
        let mut scope = self.scope(ret.clone());
        scope.this = Some((id, index));
        for f in self.classes[id].fields.clone() {
            scope.add(&format!("this.{}", f.name), f.ty, f.mutable, false);
        }
        params.iter().for_each(|(name, ty)| scope.add(name, ty.clone(), false, true));
        self.line("burn()");
        if has_super && self.choices.chance(50) {
            let args: Vec<String> = params.iter().map(|(_, ty)| self.expr(&mut scope, ty, 1)).collect();
            let call = format!("super.{name}({})", args.join(", "));
            match ret {
                Some(ty) => {
                    let x = self.fresh("x");
                    self.line(format!("let {x}: {ty} = {call}"));
                    scope.add(&x, ty, false, true);
                }
                None => self.line(call),
            }
        }
        self.budget = 2 + self.choices.below(6);
        self.body(&mut scope);
        self.close("}");
        self.line("");
    }

    /// `toString`, and `equals` with `hash`, from fields that print.
    fn object_methods(&mut self, id: usize) {
        let scalars = |f: &&FieldInfo| matches!(f.ty, Ty::Int | Ty::Bool | Ty::Str | Ty::Float);
        let names: Vec<String> = self.classes[id].fields.iter().filter(scalars).map(|f| f.name.clone()).collect();
        if self.choices.chance(60) {
            let parts: Vec<String> = names.iter().map(|n| format!("${{{n}}}")).collect();
            self.line(format!("override fun toString(): Str = \"C{id}({})\"", parts.join(" ")));
        }
        let ints = self.classes[id].fields.iter().filter(|f| matches!(f.ty, Ty::Int | Ty::Str));
        if let Some(key) = ints.map(|f| f.name.clone()).next().filter(|_| self.choices.chance(40)) {
            self.line(format!("override fun equals(other: Object?): Bool = other is C{id} && {key} == other.{key}"));
            self.line(format!("override fun hash(): Int = {key}.hash()"));
        }
    }
}
