; Colours of a program. Of two patterns the last wins in some editors and the first in others: where two meet, either is right. Numbers and
; booleans have the names of Helix before those of Neovim and tree-sitter.

(call function: (identifier) @function.call)

; Operations and functions of the language.
(call function: (identifier) @function.builtin
  (#any-of? @function.builtin
    "abs" "all" "any" "arange" "argmax" "argmin" "assert" "assume" "atan2" "atomic_add" "atomic_and" "atomic_cas"
    "atomic_max" "atomic_min" "atomic_or" "atomic_xchg" "atomic_xor" "bitcast" "broadcast" "cat" "ceil" "clamp" "close"
    "clz" "cos" "cosh" "cumprod" "cumsum" "dot" "erf" "exp" "exp2" "expm1" "floor" "fma" "full" "index" "insert" "iota"
    "isinf" "isnan" "log" "log1p" "log2" "max" "mean" "merge" "min" "mma" "ones" "pick" "popcount" "print" "prod"
    "random_bits" "reduce" "rename" "round" "rsqrt" "scan" "sigmoid" "sign" "sin" "sinh" "slice" "sort" "split" "sqrt"
    "static_assert" "sum" "tan" "tanh" "topk" "trunc" "view" "where" "zeros"))

(import path: (string) @string.special)
(constant name: (identifier) @constant)
(function name: (identifier) @function)
(kernel name: (identifier) @function)
(graph name: (identifier) @function)
(struct name: (identifier) @type)

(parameter name: (identifier) @variable.parameter)
(named name: (identifier) @variable.parameter)
(field name: (identifier) @variable.member)
(member name: (identifier) @variable.member)
(type name: (identifier) @type)
(cast type: (identifier) @type)
(generic name: (identifier) @type)
(generic bound: (identifier) @type.builtin)

((identifier) @type.builtin
  (#any-of? @type.builtin
    "bool" "i8" "u8" "i16" "u16" "i32" "u32" "i64" "u64" "f4e2m1" "f8e4m3" "f8e5m2" "f16" "bf16" "f32" "f64"))

((identifier) @constant.builtin
  (#any-of? @constant.builtin "inf" "nan" "pi"))

(attribute "@" @attribute name: (identifier) @attribute)

[
  "import" "const" "fn" "kernel" "struct" "graph" "test" "tune" "grid" "axis" "for" "in" "by" "with" "over" "let" "if"
  "else" "as" "and" "or" "not" "out" "inout" "check"
] @keyword

[ (true) (false) ] @constant.builtin.boolean
[ (true) (false) ] @boolean
(integer) @constant.numeric.integer
(integer) @number
(float) @constant.numeric.float
(float) @number.float
(string) @string
(comment) @comment
(doc_comment) @comment.documentation

[ "->" "=>" "==" "!=" "<=" ">=" "<<" ">>" "**" "//" ".." "+" "-" "*" "/" "%" "&" "|" "^" "~" "<" ">" "=" ] @operator
[ "(" ")" "[" "]" "{" "}" ] @punctuation.bracket
[ "," ":" "." ] @punctuation.delimiter
