//! The stable codes of the language's errors. A code is never reused; a new error takes the next free number of its group.
//!
//! Groups: E00 files and tokens, E01 syntax, E02 names, E03 types, E04 classes, E05 flow, mutability and `match`, E06 the program as a whole and its generics.

macro_rules! codes {
    ($($name:ident = $id:literal, $description:literal;)*) => {
        /// What kind of error; prints as `E0101`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Code {
            $(#[doc = concat!($id, ": ", $description)] $name,)*
        }

        impl Code {
            pub const ALL: &'static [Code] = &[$(Code::$name,)*];

            /// `E0101`
            pub fn id(self) -> &'static str {
                match self { $(Code::$name => $id,)* }
            }

            /// One line on what the code means.
            pub fn description(self) -> &'static str {
                match self { $(Code::$name => $description,)* }
            }
        }
    };
}

codes! {
    // Files and tokens.
    FileNotFound = "E0001", "a source file cannot be read";
    NotUtf8 = "E0002", "a source file is not UTF-8 text";
    TooLarge = "E0003", "the source files together are too large";
    UnknownCharacter = "E0004", "a character that begins no token";
    UnclosedComment = "E0005", "a /* comment without its end";
    UnclosedString = "E0006", "a string without its end on the same line";
    BadEscape = "E0007", "an escape sequence that does not exist";
    BadChar = "E0008", "a character literal that is not one character";
    BadNumber = "E0009", "a number that is not written correctly";
    NumberRange = "E0010", "a number too large for its type";
    BadInterpolation = "E0011", "a `$` in a string that begins no `${…}`";

    // Syntax.
    ExpectedToken = "E0101", "something else was expected here";
    ExpectedExpression = "E0102", "an expression was expected here";
    ExpectedType = "E0103", "a type was expected here";
    ExpectedName = "E0104", "a name was expected here";
    ExpectedItem = "E0105", "a declaration was expected here";
    ExpectedMember = "E0106", "a member of a class was expected here";
    ExpectedPattern = "E0107", "a pattern was expected here";
    ExpectedBlock = "E0108", "a block in braces was expected here";
    ExpectedEnd = "E0109", "a statement goes on where it should have ended";
    Unclosed = "E0110", "a bracket that is never closed";
    UnexpectedClose = "E0111", "a closing bracket without an opening one";
    TooDeep = "E0112", "code that is nested too deeply";
    MissingInit = "E0113", "a variable without an initializer";
    BadAssignTarget = "E0114", "something that cannot be assigned to";
    AssignExpression = "E0115", "an assignment where a value is needed";
    ChainedComparison = "E0116", "comparisons and ranges do not chain";
    BadModifier = "E0117", "a modifier that does not belong here";
    ForeignSyntax = "E0118", "syntax of another language";
    KeywordAsName = "E0119", "a keyword used as a name";
    BadSuper = "E0120", "`super` without a method call";
    BadCatch = "E0121", "a `catch` clause that is not written correctly";
    BadFor = "E0122", "a `for` loop that is not written correctly";
    BadLambda = "E0123", "a closure that is not written correctly";
    MissingBody = "E0124", "a function without a body";
    ImportOrder = "E0125", "an import after the first declaration";
    StatementOutside = "E0126", "a statement outside of a function";
    NestedDeclaration = "E0127", "a declaration inside of a function";

    // Names.
    UnknownName = "E0201", "a name that is not declared";
    UnknownType = "E0202", "a type that is not declared";
    UnknownMember = "E0203", "a member that the type does not have";
    Duplicate = "E0204", "a name declared twice";
    NotAValue = "E0205", "the name of a type or namespace used as a value";
    NotAType = "E0206", "a name that is not a type";
    NoThis = "E0207", "`this` or `super` outside of a class";
    NotCallable = "E0208", "a call of something that is no function";
    ImportNotFound = "E0209", "an imported file that does not exist";
    Reserved = "E0210", "something reserved for the library";

    // Types.
    TypeMismatch = "E0301", "a value of the wrong type";
    ArgumentCount = "E0302", "a call with the wrong number of arguments";
    TypeArgumentCount = "E0303", "a type with the wrong number of type arguments";
    BadOperand = "E0304", "an operator that does not work on these types";
    MaybeNull = "E0305", "a value that may be null used as if it were not";
    CannotInfer = "E0306", "a type that cannot be inferred";
    BoundNotMet = "E0307", "a type argument that does not meet its bound";
    ImpossibleCast = "E0308", "a cast or type test that can never succeed";
    NotIterable = "E0309", "a `for` over something that is not iterable";
    NotIndexable = "E0310", "an index on something that has none";
    NoElse = "E0311", "an `if` or `match` used as a value without covering every case";
    RecursiveInference = "E0312", "a function without a result type that calls itself";
    NotAnError = "E0313", "something thrown or caught that is no `Error`";
    UselessSafe = "E0314", "a null test of something that is never null";
    MethodAsValue = "E0315", "a method used as a function value";
    UnitValue = "E0316", "the result of something that gives none";
    NoReturnValue = "E0317", "a `return` that does not fit its function";

    // Classes.
    MissingOverride = "E0401", "a method redefined without `override`";
    NothingToOverride = "E0402", "an `override` without a method to redefine";
    OverrideMismatch = "E0403", "an override with another signature";
    MissingImplementation = "E0404", "an abstract method that is not implemented";
    AbstractInstance = "E0405", "an instance of an abstract class or interface";
    AbstractMember = "E0406", "an abstract method in a class that is not abstract";
    BadBase = "E0407", "a base class or interface that cannot be one";
    InheritanceCycle = "E0408", "a class that is its own base";
    BaseArguments = "E0409", "a base class without, or an interface with, arguments";
    FieldOverride = "E0410", "a field with the name of an inherited member";
    ConflictingDefaults = "E0411", "two interfaces with different defaults for one method";
    GenericMethod = "E0412", "a method with type parameters that is abstract or overridden";
    AbstractSuper = "E0413", "a `super` call of an abstract method";
    UselessDefault = "E0414", "a default in an interface for a method that every class has";

    // Flow, mutability, match.
    AssignImmutable = "E0501", "an assignment to something that cannot change";
    NotInLoop = "E0502", "`break` or `continue` outside of a loop";
    MissingReturn = "E0503", "a function that can end without a result";
    LeavesFinally = "E0504", "a jump out of `finally`";
    MatchNotComplete = "E0505", "a `match` used as a value that does not cover every case";
    UnreachableArm = "E0506", "a `match` arm or `catch` clause that is never reached";
    NotConstant = "E0507", "something that must be a constant";
    ReturnOutside = "E0508", "a `return` outside of a function";
    BadStep = "E0509", "a `step` that is zero";

    // The program and generics.
    NoMain = "E0601", "a program without `fun main()`";
    BadMain = "E0602", "a `main` with parameters or another result";
    InfiniteInstances = "E0603", "generic code that needs itself for ever larger types";
    TooManyInstances = "E0604", "generic code that is instantiated too often";
    TooManyThings = "E0605", "a program beyond one of the VM's limits";
    BrokenLibrary = "E0606", "a library that lacks what the compiler refers to";
    Internal = "E0607", "a mistake in the VM itself";
}

impl Code {
    /// Follows from a declaration that is not there, or that a lost brace has put elsewhere: of a program with errors of syntax it says little.
    pub fn follows_from_gaps(self) -> bool {
        use Code::*;
        matches!(
            self,
            UnknownName
                | UnknownType
                | UnknownMember
                | Duplicate
                | NotAType
                | NoThis
                | ArgumentCount
                | NotIndexable
                | NothingToOverride
                | MissingImplementation
                | MissingReturn
        )
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id())
    }
}
