//! Whether a space stands between two tokens of one line.

use crate::syntax::parser::expr::prec;
use crate::syntax::parser::{Mark, Role};
use crate::syntax::token::{Token, TokenKind};

/// Between `a` and the token after it, `b`.
pub fn between(a: (Token, Mark), b: (Token, Mark)) -> bool {
    use TokenKind::*;
    let ((a, a_role), (b, b_role)) = ((a.0.kind, a.1.role), (b.0.kind, b.1.role));
    if let Role::Prefix = a_role {
        // `- -x` and `! !x` would be other tokens without it.
        return matches!((a, b), (Minus, Minus | MinusMinus) | (Bang | BangBang, Bang | BangBang));
    }
    if is_tight_operator(a_role) || is_tight_operator(b_role) || (a == Bang && b == Is) {
        return false;
    }
    if matches!(a, LParen | LBracket | Dot | QuestionDot) || a_role == Role::TypeOpen {
        return false;
    }
    match b {
        Colon => b_role == Role::Bases,
        Comma | Semi | Dot | QuestionDot | RParen | RBracket | BangBang if b_role != Role::Prefix => false,
        Question => false,
        _ if matches!(b_role, Role::TypeOpen | Role::TypeClose) => false,
        LParen | LBracket => !is_applied(a, a_role),
        _ => true,
    }
}

/// `a..b`
fn is_tight_operator(role: Role) -> bool {
    role == Role::Binary(prec::RANGE)
}

/// What stands before a `(` or `[` is what it applies to.
fn is_applied(kind: TokenKind, role: Role) -> bool {
    use TokenKind::*;
    match kind {
        Name => role != Role::Step,
        RParen | RBracket | RBrace | This | Super | StrEnd | BangBang => true,
        // The `=` at the end of `>=`, where that was taken apart, is applied to nothing.
        _ => role == Role::TypeClose && !matches!(kind, Ge | ShrEq | UShrEq),
    }
}
