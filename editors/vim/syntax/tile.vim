" Colours of the tile language. TestEditorWords in cmd/tilec/lsp holds the words against those of the language.
if exists('b:current_syntax')
    finish
endif

syntax keyword tileInclude import
syntax keyword tileDeclaration const fn kernel struct graph tune grid axis let
syntax keyword tileRepeat for in by with over
syntax keyword tileConditional if else
syntax keyword tileWordOperator and or not as
" Words with a meaning in one place only.
syntax match tileDeclaration /^\s*\zstest\ze\s*"/
syntax match tileDeclaration /\<\%(out\|inout\)\ze\s\+\h/
syntax match tileStatement /^\s*\zscheck\ze\s\+[^=[:blank:]]/

syntax keyword tileBoolean true false
syntax keyword tileConstant inf nan pi
syntax keyword tileType bool i8 u8 i16 u16 i32 u32 i64 u64 f4e2m1 f8e4m3 f8e5m2 f16 bf16 f32 f64
syntax match tileType /:\s\@<=\%(float\|int\|any\)\>/

" Operations and functions of the language, where they are called: as other names they are no words of it.
syntax match tileBuiltin /\<\%(abs\|all\|any\|arange\|argmax\|argmin\|assert\|assume\|atan2\|atomic_add\|atomic_and\|atomic_cas\|atomic_max\|atomic_min\|atomic_or\)\ze(/
syntax match tileBuiltin /\<\%(atomic_xchg\|atomic_xor\|bitcast\|broadcast\|cat\|ceil\|clamp\|close\|clz\|cos\|cosh\|cumprod\|cumsum\|dot\|erf\|exp\|exp2\|expm1\|floor\)\ze(/
syntax match tileBuiltin /\<\%(fma\|full\|index\|insert\|iota\|isinf\|isnan\|log\|log1p\|log2\|max\|mean\|merge\|min\|mma\|ones\|pick\|popcount\|print\|prod\|random_bits\)\ze(/
syntax match tileBuiltin /\<\%(reduce\|rename\|round\|rsqrt\|scan\|sigmoid\|sign\|sin\|sinh\|slice\|sort\|split\|sqrt\|static_assert\|sum\|tan\|tanh\|topk\|trunc\|view\)\ze(/
syntax match tileBuiltin /\<\%(where\|zeros\)\ze(/

syntax match tileFunction /\%(\<\%(fn\|kernel\|graph\)\s\+\)\@<=\K\k*/
syntax match tileStructure /\%(\<struct\s\+\)\@<=\K\k*/
syntax match tileAttribute /@\h\w*/
syntax match tileNumber /\<\d[0-9_]*\>/
syntax match tileNumber /\<0\%([xX][0-9a-fA-F_]\+\|[oO][0-7_]\+\|[bB][01_]\+\)\>/
syntax match tileFloat /\<\d[0-9_]*\%(\.\d[0-9_]*\%([eE][-+]\?\d[0-9_]*\)\?\|[eE][-+]\?\d[0-9_]*\)\>/
syntax match tileOperator /->\|=>\|==\|!=\|<=\|>=\|<<\|>>\|\*\*\|\.\.\|[-+*\/%&|^~<>=]/

" `//` begins a comment, unless it stands behind an operand and either touches its operands on both sides or is in brackets that end
" on its line.
syntax match tileComment /\/\/.*$/ contains=tileTodo,@Spell
syntax match tileDocComment /\/\/\/\%(\/\)\@!.*$/ contains=tileTodo,@Spell
syntax match tileOperator /[0-9A-Za-z_)\]}"\u0080-\uffff]\@1<=\/\/[^ \t\/]\@=/
" What may stand between such brackets: no others, or others within three deep.
let s:none = '[^][()"]\|"\%([^"\\]\|\\.\)*"'
let s:one = s:none . '\|[([]\%(' . s:none . '\)*[])]'
let s:two = s:none . '\|[([]\%(' . s:one . '\)*[])]'
let s:three = s:none . '\|[([]\%(' . s:two . '\)*[])]'
execute 'syntax region tileBrackets matchgroup=tileBracket start=/[([]\%(\%(' . s:three . '\)*[])]\)\@=/ end=/[])]/ oneline transparent contains=TOP'
let s:words = 'import\|const\|fn\|kernel\|struct\|graph\|tune\|grid\|axis\|for\|in\|by\|with\|over\|let\|if\|else\|as\|and\|or\|not'
execute 'syntax match tileOperator /\%([0-9A-Za-z_)\]}"\u0080-\uffff]\s*\)\@<=\%(\<\%(' . s:words . '\)\s*\)\@<!\/\/\/\@!/ contained containedin=tileBrackets'

syntax region tileString start=/"/ skip=/\\./ end=/"/ oneline contains=tileEscape,tilePlaceholder,@Spell
syntax match tileEscape /\\\%([abfnrtv\\"]\|x\x\{2}\|u\x\{4}\|U\x\{8}\|\o\{3}\)/ contained
syntax match tilePlaceholder /{\l*}/ contained
syntax keyword tileTodo TODO FIXME contained

highlight default link tileInclude Include
highlight default link tileDeclaration Keyword
highlight default link tileStatement Statement
highlight default link tileRepeat Repeat
highlight default link tileConditional Conditional
highlight default link tileWordOperator Operator
highlight default link tileOperator Operator
highlight default link tileBoolean Boolean
highlight default link tileConstant Constant
highlight default link tileType Type
highlight default link tileBuiltin Function
highlight default link tileFunction Function
highlight default link tileStructure Structure
highlight default link tileAttribute PreProc
highlight default link tileNumber Number
highlight default link tileFloat Float
highlight default link tileComment Comment
highlight default link tileDocComment SpecialComment
highlight default link tileString String
highlight default link tileEscape SpecialChar
highlight default link tilePlaceholder SpecialChar
highlight default link tileTodo Todo

let b:current_syntax = 'tile'
