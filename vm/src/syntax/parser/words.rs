//! Words of other languages, and what stands for them here.
//!
//! In: a name out of the source. Out: a hint, or whether it is one of a kind. None of these words is reserved: the parser looks them up only where a name makes no sense.

/// What stands for a modifier elsewhere, and what to do here.
pub fn modifier_hint(word: &str) -> Option<&'static str> {
    Some(match word {
        "public" | "private" | "protected" | "internal" | "export" | "pub" | "fileprivate" => {
            "everything is visible everywhere: leave it out"
        }
        "open" | "virtual" => "every class and method can be extended and overridden: leave it out",
        "final" | "sealed" => "classes and methods cannot be closed: leave it out",
        "static" => "functions and variables without an object stand at the top level, or in an `object`",
        "const" | "readonly" | "lateinit" | "mutable" => "`let` declares what does not change, `var` what does",
        "data" | "record" => "override `equals`, `hash` and `toString` where they are needed",
        "inline" | "operator" | "infix" | "tailrec" | "external" | "extern" | "synchronized" | "volatile" => "leave it out",
        "async" | "suspend" => "start a thread with `spawn(() => …)`",
        _ => return None,
    })
}

pub fn is_let_word(word: &str) -> bool {
    matches!(word, "val" | "const" | "final" | "auto" | "local" | "my" | "readonly" | "dim")
}

pub fn is_fun_word(word: &str) -> bool {
    matches!(word, "function" | "def" | "func" | "fn" | "proc" | "sub" | "method")
}

/// Words that begin other languages' declarations.
pub fn declaration_hint(word: &str) -> Option<&'static str> {
    Some(match word {
        "enum" => "declare a class for each case with a common base, or `let` constants in an `object`",
        "struct" | "record" => "write `class Point(let x: Int, let y: Int)`",
        "trait" | "protocol" => "write `interface`",
        "impl" | "extension" | "extend" => "methods are declared in the class itself",
        "namespace" | "module" => "write `object Name { … }`",
        "package" => "all files of a program share one namespace: leave it out",
        "using" | "include" | "require" | "use" | "from" => "write `import \"file.lang\"`",
        "type" | "typealias" | "typedef" => "types have one name only",
        _ => return None,
    })
}

/// Words for operators.
pub fn operator_hint(word: &str) -> Option<&'static str> {
    Some(match word {
        "and" => "write `&&`",
        "or" => "write `||`",
        "not" => "write `!`",
        "instanceof" => "write `x is Type`",
        "mod" | "rem" => "write `%`",
        "div" => "write `/`",
        "xor" => "write `^`",
        "shl" => "write `<<`",
        "shr" => "write `>>`",
        "ushr" => "write `>>>`",
        "until" => "write `a..<b`",
        "downTo" => "write `for i in 9..0 step -1`",
        "to" => "write `Pair(a, b)`, or `a..b` for a range",
        _ => return None,
    })
}

/// Words that mean something else than a type before a name.
pub fn is_other_word(word: &str) -> bool {
    declaration_hint(word).is_some()
        || modifier_hint(word).is_some()
        || operator_hint(word).is_some()
        || matches!(word, "new" | "await" | "step")
}

pub fn looks_like_type(word: &str) -> bool {
    own_type(word) != word || word.starts_with(char::is_uppercase)
}

/// This language's name for another's type.
pub fn own_type(ty: &str) -> &str {
    match ty {
        "int" | "integer" | "Integer" | "long" | "Long" | "short" | "byte" | "i32" | "i64" | "usize" | "uint" => "Int",
        "float" | "double" | "Double" | "f32" | "f64" | "number" => "Float",
        "string" | "String" | "str" | "char" => "Str",
        "bool" | "boolean" | "Boolean" => "Bool",
        "void" => "Unit",
        other => other,
    }
}
